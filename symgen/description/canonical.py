"""The canonical description: a Mechanism, snapped and lumped, written in symgen's own TOML without
loss.

`load` of this text gives an equal mechanism (except for its source hash); `symgen verify FOLDER`
relies on that. Equal mechanisms give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256

from symgen.description.namesakes import KIND
from symgen.description.quantities import angle_text, fraction_text
from symgen.mechanism.closed_loops import End, Start
from symgen.mechanism.mechanism import Joint, Mechanism, Part
from symgen.vocabulary.poses import ZERO3, Pose, Rotate, Shift, Turn, Vector3

_BARE_DIGITS = 15


@lru_cache(maxsize=1)
def to_toml(mechanism: Mechanism) -> str:
    """Return `mechanism` in the format of `symgen.description.readers.toml`: decimals as declared,
    `p/q` if no decimal terminates.
    """
    head = _head(mechanism)
    robot = [
        "",
        *_base(mechanism),
        *_bodies(mechanism),
        *_frames(mechanism),
        *_loops(mechanism),
        *_notes(mechanism),
    ]
    # An edit leaves this hash unchanged, so that a reader detects edited files.
    digest = sha256("\n".join((*head, *robot)).encode()).hexdigest()
    return "\n".join((*head, f"text_sha256 = {text(digest)}", *robot)) + "\n"


def _head(mechanism: Mechanism) -> list[str]:
    """Return the keys at the top, before any table."""
    lines = [
        (
            "# The canonical description: rotations snapped, fixed and locked joints lumped, every"
            " number exact (SI units)."
        ),
        f"name = {text(mechanism.name)}",
    ]
    if mechanism.source:
        lines.append(f"source = {text(mechanism.source)}")
    lines += [
        f"source_sha256 = {text(mechanism.source_sha256)}",
        f"gravity = {vector(mechanism.gravity)}",
        'snap = "off"',
    ]
    if mechanism.coupled:
        lines.append('mimic = "couple"')
    if any(joint.drive.friction for joint in mechanism.joints):
        lines.append(f"friction_speed = {number(mechanism.friction_speed)}")
    if mechanism.start:
        lines.append(f"start = {_start(mechanism.start)}")
    for key, joints in (
        ("independent", mechanism.independent),
        ("actuated", mechanism.actuated),
    ):
        if joints:
            lines.append(f"{key} = [{', '.join(map(text, joints))}]")
    return lines


def _base(mechanism: Mechanism) -> list[str]:
    lines = ["[base]", f"name = {text(mechanism.base)}"]
    for part in mechanism.base_parts:
        lines += _part("base.part", part, mechanism.base)
    return lines


def _bodies(mechanism: Mechanism) -> list[str]:
    frames = {frame.name: frame for frame in mechanism.frames}
    lines = []
    for index, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True)):
        parent = mechanism.body_names[joint.parent]
        lines += ["", "[[body]]", f"name = {text(body.name)}", f"parent = {text(parent)}"]
        frame = frames.get(body.name)
        if frame is not None and frame.body == index and frame.pose:
            lines.append(f"frame = {steps(frame.pose)}")
        lines += ["[body.joint]", *_joint(joint)]
        for part in body.parts:
            lines += _part("body.part", part, body.name)
    return lines


def _frames(mechanism: Mechanism) -> list[str]:
    """Return the frames other than those of the base and the bodies."""
    carriers = set(mechanism.body_names)
    lines = []
    for frame in mechanism.frames:
        if frame.name not in carriers:
            carrier = mechanism.body_names[frame.body]
            lines += ["", "[[frame]]", f"name = {text(frame.name)}", f"body = {text(carrier)}"]
            lines += [f"steps = {steps(frame.pose)}"] if frame.pose else []
    return lines


def _loops(mechanism: Mechanism) -> list[str]:
    lines = []
    for loop in mechanism.loops:
        lines += ["", "[[loop]]", f"name = {text(loop.name)}", f"type = {text(loop.kind)}"]
        lines += [f"{name} = {number(value)}" for name, value in loop.parameters]
        lines += [
            f"first = {_loop_end(loop.first, mechanism)}",
            f"second = {_loop_end(loop.second, mechanism)}",
        ]
    return lines


def _notes(mechanism: Mechanism) -> list[str]:
    """Return the notes, without those about the folder in which the robot was read."""
    lines = []
    for note in mechanism.notes:
        if note.kind != KIND:
            lines += ["", "[[note]]", f"kind = {text(note.kind)}", f"text = {text(note.text)}"]
    return lines


def number(value: Fraction) -> str:
    """Return a bare TOML number if any reader keeps all its digits, else exact text in quotes."""
    exact_text = fraction_text(value)
    bare = "/" not in exact_text and (
        len(exact_text) <= _BARE_DIGITS
        or sum(c.isdigit() for c in exact_text.partition("e")[0]) <= _BARE_DIGITS
    )
    return exact_text if bare else f'"{exact_text}"'


def vector(values: Iterable[Fraction]) -> str:
    """Return an array of exact numbers."""
    return "[" + ", ".join(number(v) for v in values) + "]"


def steps(pose: Pose) -> str:
    """Return a displacement as an array of its exact steps."""
    written = []
    for step in pose:
        if isinstance(step, Shift):
            written.append(f"{{ shift = {vector(step.xyz)} }}")
        elif isinstance(step, Turn):
            written.append(f'{{ turn = "{angle_text(step.angle)}", axis = {vector(step.axis)} }}')
        elif isinstance(step, Rotate):
            written.append(f"{{ quaternion = {vector(step.quaternion)} }}")
        else:
            written.append(f"{{ slide = {number(step.distance)}, axis = {vector(step.axis)} }}")
    return "[" + ", ".join(written) + "]"


def text(value: str) -> str:
    """Return a TOML basic string."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return (
        '"'
        + "".join(escapes.get(c, c if c.isprintable() else f"\\U{ord(c):08x}") for c in value)
        + '"'
    )


def _joint(joint: Joint) -> list[str]:
    lines = [f"name = {text(joint.name)}", f"type = {text(joint.kind)}"]
    lines += [f"axis = {vector(joint.axis)}"] if joint.type.directed else []
    lines += [f"{name} = {number(value)}" for name, value in joint.parameters]
    if joint.pose:
        lines.append(f"steps = {steps(joint.pose)}")
    limits = [(n, getattr(joint.limits, n)) for n in ("lower", "upper", "velocity", "effort")]
    declared = [f"{n} = {number(v)}" for n, v in limits if v is not None]
    if declared:
        lines.append(f"limits = {{ {', '.join(declared)} }}")
    if joint.mimic is not None:
        lines.append(
            f"mimic = {{ joint = {text(joint.mimic.joint)}, multiplier ="
            f" {number(joint.mimic.multiplier)}, offset = {number(joint.mimic.offset)} }}"
        )
    for name, _ in joint.drive.declared:
        values = joint.drive.numbers(name)
        lines.append(f"{name} = {number(values[0]) if len(values) == 1 else vector(values)}")
    if joint.unapplied:
        lines.append(
            "unapplied = { "
            + ", ".join(f"{text(n)} = {number(v)}" for n, v in joint.unapplied)
            + " }"
        )
    return lines


def _part(header: str, part: Part, link: str) -> list[str]:
    lines = [f"[[{header}]]"] + ([f"link = {text(part.link)}"] if part.link != link else [])
    lines.append(f"mass = {number(part.mass)}")
    centre = _only_shift(part.pose)
    if centre is None:
        lines.append(f"steps = {steps(part.pose)}")
    elif centre != ZERO3:
        lines.append(f"centre = {vector(centre)}")
    lines += [f"inertia = {vector(part.moments)}"] if any(part.moments) else []
    return [*lines, f"gravcomp = {number(part.gravcomp)}"] if part.gravcomp else lines


def _loop_end(end: End, mechanism: Mechanism) -> str:
    link = mechanism.body_names[end.body]
    return f"{{ link = {text(link)}{f', steps = {steps(end.pose)}' if end.pose else ''} }}"


def _start(start: Start) -> str:
    return "{ " + ", ".join(f"{text(joint)} = {vector(values)}" for joint, values in start) + " }"


def _only_shift(pose: Pose) -> Vector3 | None:
    if not pose:
        return ZERO3
    return pose[0].xyz if len(pose) == 1 and isinstance(pose[0], Shift) else None
