"""The canonical description: a Mechanism, as snapped and lumped, written out in symgen's own TOML without loss.

`load` of this text gives an equal mechanism (its source hash apart); that is what `symgen verify FOLDER` relies on.
The same mechanism gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from hashlib import sha256

from symgen.description.namesakes import KIND
from symgen.description.quantities import angle_text, fraction_text
from symgen.mechanism.closed_loops import End, Start
from symgen.mechanism.mechanism import BASE, Joint, Mechanism, Part
from symgen.vocabulary.poses import ZERO3, Pose, Rotate, Shift, Turn, Vector3

_BARE_DIGITS = 15


def to_toml(mechanism: Mechanism) -> str:
    """`mechanism` in the format of `symgen.description.readers.toml`: decimals as declared, `p/q` where no decimal terminates."""
    frames = {frame.name: frame for frame in mechanism.frames}
    lines = [
        "# The canonical description: rotations snapped, fixed and locked joints lumped, every number exact (SI units).",
        f"name = {text(mechanism.name)}",
        *([f"source = {text(mechanism.source)}"] if mechanism.source else []),
        f"source_sha256 = {text(mechanism.source_sha256)}",
        f"gravity = {vector(mechanism.gravity)}",
        'snap = "off"',
        *(['mimic = "couple"'] if mechanism.coupled else []),
        *(
            [f"friction_speed = {number(mechanism.friction_speed)}"]
            if any(j.drive.friction for j in mechanism.joints)
            else []
        ),
        *([f"start = {_start(mechanism.start)}"] if mechanism.start else []),
        *(
            f"{what} = [{', '.join(map(text, names))}]"
            for what, names in (
                ("independent", mechanism.independent),
                ("actuated", mechanism.actuated),
            )
            if names
        ),
        "",
        "[base]",
        f"name = {text(mechanism.base)}",
    ]
    for part in mechanism.base_parts:
        lines += _part("base.part", part, mechanism.base)
    for index, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True)):
        parent = mechanism.base if joint.parent == BASE else mechanism.bodies[joint.parent].name
        lines += ["", "[[body]]", f"name = {text(body.name)}", f"parent = {text(parent)}"]
        own = frames.get(body.name)
        if own is not None and own.body == index and own.pose:
            lines.append(f"frame = {steps(own.pose)}")
        lines += ["[body.joint]", *_joint(joint)]
        for part in body.parts:
            lines += _part("body.part", part, body.name)
    named = {mechanism.base} | {body.name for body in mechanism.bodies}
    for frame in mechanism.frames:
        if frame.name not in named:
            on = mechanism.base if frame.body == BASE else mechanism.bodies[frame.body].name
            lines += ["", "[[frame]]", f"name = {text(frame.name)}", f"body = {text(on)}"]
            lines += [f"steps = {steps(frame.pose)}"] if frame.pose else []
    for loop in mechanism.loops:
        lines += ["", "[[loop]]", f"name = {text(loop.name)}", f"type = {text(loop.kind)}"]
        lines += [f"{name} = {number(value)}" for name, value in loop.parameters]
        lines += [
            f"first = {_end(loop.first, mechanism)}",
            f"second = {_end(loop.second, mechanism)}",
        ]
    for note in (note for note in mechanism.notes if note.kind != KIND):  # of this place alone
        lines += ["", "[[note]]", f"kind = {text(note.kind)}", f"text = {text(note.text)}"]
    # An edit leaves this hash unchanged, so it shows that the file is no longer what was first read.
    lines.insert(
        lines.index("[base]") - 1,
        f"text_sha256 = {text(sha256(chr(10).join(lines).encode()).hexdigest())}",
    )
    return "\n".join(lines) + "\n"


def number(value: Fraction) -> str:
    """A bare TOML number when any reader would keep all its digits, else the exact text in quotes."""
    plain = fraction_text(value)
    bare = "/" not in plain and sum(c.isdigit() for c in plain.partition("e")[0]) <= _BARE_DIGITS
    return plain if bare else f'"{plain}"'


def vector(values: Iterable[Fraction]) -> str:
    """An array of exact numbers."""
    return "[" + ", ".join(number(v) for v in values) + "]"


def steps(pose: Pose) -> str:
    """A displacement as an array of its exact steps."""
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
    """A TOML basic string."""
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
            f"mimic = {{ joint = {text(joint.mimic.joint)}, multiplier = {number(joint.mimic.multiplier)}, "
            f"offset = {number(joint.mimic.offset)} }}"
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


def _part(header: str, part: Part, on: str) -> list[str]:
    lines = [f"[[{header}]]"] + ([f"link = {text(part.link)}"] if part.link != on else [])
    lines.append(f"mass = {number(part.mass)}")
    centre = _only_shift(part.pose)
    if centre is None:
        lines.append(f"steps = {steps(part.pose)}")
    elif centre != ZERO3:
        lines.append(f"centre = {vector(centre)}")
    lines += [f"inertia = {vector(part.moments)}"] if any(part.moments) else []
    return [*lines, f"gravcomp = {number(part.gravcomp)}"] if part.gravcomp else lines


def _end(end: End, mechanism: Mechanism) -> str:
    on = mechanism.base if end.body == BASE else mechanism.bodies[end.body].name
    return f"{{ link = {text(on)}{f', steps = {steps(end.pose)}' if end.pose else ''} }}"


def _start(start: Start) -> str:
    return "{ " + ", ".join(f"{text(joint)} = {vector(values)}" for joint, values in start) + " }"


def _only_shift(pose: Pose) -> Vector3 | None:
    if not pose:
        return ZERO3
    return pose[0].xyz if len(pose) == 1 and isinstance(pose[0], Shift) else None
