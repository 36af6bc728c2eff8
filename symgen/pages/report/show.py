"""Text of `symgen show`: tree of joints, masses, inertias, and everything that reading changed or
noticed.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from symgen.derivation.constants import with_enough_precision
from symgen.derivation.model import record
from symgen.mechanism.closed_loops import loop_count_suffix as loops_counted
from symgen.mechanism.drives import NUMBERS
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part, first_and_count
from symgen.mechanism.notes import KINDS, combined_notes
from symgen.pipeline import assembly_report, derive
from symgen.pipeline.layout import Layout, layouts
from symgen.support.errors import MechanismError
from symgen.support.tables import table
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, Rotate, Shift, Slide, Vector3

WIDTH = 100
LONGEST, FIRST, LAST = 200, 40, 10
"""A list of more lines than LONGEST is shown by its first and its last: nobody reads ten thousand
of them.
"""
_NAME = 29
_AXES = {
    axis: sign + name
    for name, plus in (("x", X_AXIS), ("y", Y_AXIS), ("z", Z_AXIS))
    for sign, axis in (("", plus), ("-", tuple(-c for c in plus)))
}
_TITLES = {
    "lump": "Lumped",
    "lock": "Locked",
    "info": "Remarks",
    "snap": "Snapped rotations",
    "mimic": "Mimic joints",
    "unapplied": "Read and not applied",
    "namesake": "Folder of the same name",
    "idle": "Loop closures without effect",
    "warning": "Warnings",
}


def show(mechanism: Mechanism, uncut: bool = False) -> str:
    """Return `mechanism` as text of at most 100 columns: tree, inertias, then every note by kind.

    With `uncut`, names are not cut and lines may be longer. Of long lists the first and the last
    lines are shown, with the number of omitted ones.
    """
    mass = sum(float(body.mass) for body in mechanism.bodies)
    head = (
        f"{mechanism.name}: {counted(mechanism)}, {_figure(mass)} kg moving, gravity"
        f" ({_vector(mechanism.gravity)}) m/s²"
    )
    lines = [
        *_wrapped(head, uncut),
        *(_wrapped(f"from {mechanism.source}", uncut) if mechanism.source else []),
        "",
    ]
    names = (_part_name(part, body) for body in mechanism.bodies for part in body.parts)
    room = max([_NAME, *map(len, names)]) if uncut else _NAME
    sections = (*_drives(mechanism, uncut), *_frames(mechanism, uncut))
    table = (
        *_shortened(_tree(mechanism, uncut)),
        *_shortened(_loops(mechanism, uncut)),
        "",
        *_shortened(_inertias(mechanism, room)),
        "",
        *sections,
    )
    lines += table if uncut else [_cut(line, WIDTH) for line in table]
    for kind in KINDS:
        title, texts = _TITLES[kind], combined_notes(mechanism.notes, kind, named=None)
        if kind == "unapplied":
            texts = [text.removeprefix("read and not applied: ") for text in texts]
        if texts:
            lines += ["", f"{title} ({len(texts)})" if len(texts) > 1 else title]
            lines += _shortened(
                [line for text in texts for line in _wrapped(text, uncut, "  ")], "  "
            )
    return "\n".join([*lines, *_closed(mechanism, uncut)]) + "\n"


def _shortened(lines: Iterable[str], indent: str = "") -> list[str]:
    """Return the lines, or the first and the last of many."""
    shown = list(lines)
    if len(shown) <= LONGEST:
        return shown
    return [
        *shown[:FIRST],
        f"{indent}… {len(shown) - FIRST - LAST} more lines, and --json has all …",
        *shown[-LAST:],
    ]


def _closed(mechanism: Mechanism, uncut: bool) -> Iterator[str]:
    """Return the facts of the assembly of the loop closures."""
    if mechanism.loops:
        yield from ("", "Closing the loops")
        for sentence in assembly_report.sentences(mechanism):
            yield from _wrapped(sentence, uncut, "  ")


def counted(mechanism: Mechanism) -> str:
    """Return the number of joints, and of the entries of q and v if these differ."""
    n = len(mechanism.joints)
    counts = (
        (("coordinate", mechanism.nq), ("velocit", mechanism.nv))
        if {mechanism.nq, mechanism.nv} != {n}
        else ()
    )
    words = {"velocit": ("velocity", "velocities")}
    return ", ".join(
        [
            f"{n} joint{'s' * (n != 1)}{loops_counted(mechanism.loops)}",
            *(
                f"{count} {words.get(noun, (noun, noun + 's'))[count != 1]}"
                for noun, count in counts
            ),
        ]
    )


def _recorded(mechanism: Mechanism) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Return `_records`, or nothing if the numbers are too extreme to compute with."""
    try:
        return _records(mechanism)
    except MechanismError:
        return [], {}


def _records(mechanism: Mechanism) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Return `symgen.derivation.model.record` of the frames of the C: those of most functions, and
    those of single functions.
    """
    by_function = layouts(mechanism)

    def of(layout: Layout) -> list[dict[str, Any]]:
        return with_enough_precision(
            lambda: record(
                derive.model_in_layout(mechanism, layout),
                derive.regrouped(mechanism, layout),
                dict(layout.axes),
            )
        )

    return of(by_function.general), {
        function: of(where) for function, where in by_function.by_function
    }


def _loops(mechanism: Mechanism, uncut: bool) -> Iterator[str]:
    """Return a line for each loop closure, below the tree, and where closing starts."""
    yield from (f"loop {loop.describe(mechanism.body_names)}" for loop in mechanism.loops)
    if mechanism.start:
        start = ", ".join(f"{joint} {_vector(values)}" for joint, values in mechanism.start)
        yield from _wrapped(f"closing starts at {start}", uncut)
    for role, names in (("independent", mechanism.independent), ("actuated", mechanism.actuated)):
        if names:
            yield from _wrapped(f"{role}: {', '.join(names)}", uncut)


def _drives(mechanism: Mechanism, uncut: bool) -> Iterator[str]:
    """Return the applied drives, a line a joint, and the links with gravity compensation; empty if
    there are none.
    """
    rows: list[tuple[object, ...]] = [("drives (SI)", *NUMBERS)]
    for joint in mechanism.joints:
        if joint.drive:
            rows.append(
                (
                    joint.name,
                    *(
                        ",".join(_figure(float(x)) for x in joint.drive.numbers(name))
                        for name in NUMBERS
                    ),
                )
            )
    if len(rows) > 1:
        yield from _shortened(table(rows, texts=(0,)))
        if any(joint.drive.friction for joint in mechanism.joints):
            yield (
                "friction is friction·v/√(v² + ε²) with ε ="
                f" {_figure(float(mechanism.friction_speed))}"
            )
    if mechanism.compensated_parts:
        yield from _shortened(
            _wrapped(
                "compensated fraction of the weight (gravcomp): "
                + ", ".join(
                    f"{_figure(float(part.gravcomp))} of {part.link}"
                    for part in mechanism.compensated_parts
                ),
                uncut,
            )
        )
    if len(rows) > 1 or mechanism.compensated_parts:
        yield ""


def _frames(mechanism: Mechanism, uncut: bool) -> Iterator[str]:
    """Return the chosen link frames and the inertial parameters in them."""
    try:
        entries, single = _records(mechanism)
    except MechanismError as error:
        yield f"frames of the C: none, since {error}"
        return
    rows: list[tuple[object, ...]] = [
        ("frames chosen (m, deg)", "shift x", "y", "z", "gamma", "alpha", "q +", "parameters kept")
    ]
    for entry in entries:
        angles = (_figure(math.degrees(entry[a])) for a in ("gamma", "alpha", "offset"))
        rows.append(
            (
                entry["link"],
                *(_figure(x) for x in entry["shift"]),
                *angles,
                " ".join(entry["kept"]) or "none",
            )
        )
    yield from _shortened(table(rows, texts=(0, 7)))
    for sentence in (*_shared_axes(entries), *_frames_by_function(entries, single)):
        yield from _wrapped(sentence, uncut)
    if not all(joint.type.directed for joint in mechanism.joints):
        yield "where a joint has no axis, 'q +' is a turn about z that its own motion follows"
    yield (
        "results refer to the declared frames; inertia that does not affect a joint's motion was"
        " moved to its parent"
    )


def _shared_axes(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return a sentence about links whose numbers are in axes of other links."""
    elsewhere = [
        f"{entry['link']} in those of {entry['written_in'] or 'the base'}"
        for entry in entries
        if entry["written_in"] != entry["link"]
    ]
    if elsewhere:
        yield "written in axes that other links share: " + ", ".join(elsewhere)


def _frames_by_function(
    entries: Sequence[Mapping[str, Any]], single: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[str]:
    """Return sentences about functions with fewer operations in frames of their own."""
    for function, special_entries in single.items():
        different = [
            _otherwise(general, special)
            for general, special in zip(entries, special_entries, strict=True)
            if general != special
        ]
        yield f"{function} counts less in frames of its own: " + ", ".join(different)


def _otherwise(general: Mapping[str, Any], single: Mapping[str, Any]) -> str:
    """Return the frame of a link in the layout of one function, in words."""
    at = (
        f" at ({', '.join(_figure(x) for x in single['shift'])})"
        if single["shift"] != general["shift"]
        else ""
    )
    axes = ""
    if single["written_in"] != general["written_in"]:
        axes = (
            " in its own axes"
            if single["written_in"] == single["link"]
            else f" in those of {single['written_in'] or 'the base'}"
        )
    return (
        f"{single['link']}{at}{axes}"
        if at or axes
        else f"{single['link']} with {' '.join(single['kept']) or 'nothing'}"
    )


def facts(mechanism: Mechanism) -> dict[str, Any]:
    """Return the same facts for programs: plain dicts, lists, texts and floats (SI units); centres
    in the body's frame.
    """
    general, by_function = _recorded(mechanism)
    return {
        "robot": mechanism.name,
        "source": mechanism.source,
        "source_sha256": mechanism.source_sha256,
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "gravity": [float(component) for component in mechanism.gravity],
        "base": mechanism.base,
        "joints": [_joint_facts(mechanism, index) for index in range(len(mechanism.joints))],
        "bodies": [
            {
                "name": body.name,
                "mass": float(body.mass),
                "parts": [_part_facts(part) for part in body.parts],
            }
            for body in mechanism.bodies
        ],
        "base_parts": [_part_facts(part) for part in mechanism.base_parts],
        "frames": [
            {
                "name": frame.name,
                "body": _body_name(mechanism, frame.body),
                "body_index": frame.body,
            }
            for frame in mechanism.frames
        ],
        **_loop_facts(mechanism),
        "computed_in": general,
        "computed_in_by_function": by_function,
        "notes": [{"kind": note.kind, "text": note.text} for note in mechanism.notes],
    }


def _body_name(mechanism: Mechanism, body: int) -> str:
    """Return the name of a body by its index, or of the base."""
    return mechanism.base if body == BASE else mechanism.bodies[body].name


def _joint_facts(mechanism: Mechanism, index: int) -> dict[str, Any]:
    """Return one joint: type, links, entries of q and v, limits, drive, and unapplied numbers."""
    joint = mechanism.joints[index]
    limits = _limits(joint)
    return {
        "name": joint.name,
        "type": joint.kind,
        "parameters": {name: float(value) for name, value in joint.parameters},
        "parent": _body_name(mechanism, joint.parent),
        "child": mechanism.bodies[index].name,
        "q": first_and_count(mechanism.q_slices[index]),
        "v": first_and_count(mechanism.v_slices[index]),
        **_entries(joint),
        "axis": [float(component) for component in joint.axis] if joint.type.directed else None,
        "limits": {name: None if value is None else float(value) for name, value in limits},
        "mimic": _mimic_facts(joint),
        "drive": _drive_facts(joint),
        "unapplied": {name: float(value) for name, value in joint.unapplied},
        **_follows(mechanism, index),
    }


def _mimic_facts(joint: Joint) -> dict[str, Any] | None:
    """Return leader, multiplier and offset as declared."""
    mimic = joint.mimic
    if mimic is None:
        return None
    return {
        "joint": mimic.joint,
        "multiplier": float(mimic.multiplier),
        "offset": float(mimic.offset),
    }


def _drive_facts(joint: Joint) -> dict[str, float | list[float]]:
    """Return the declared numbers of the drive; a list if the velocities of the joint differ."""
    numbers = {name: [*map(float, joint.drive.numbers(name))] for name, _ in joint.drive.declared}
    return {name: values if len(values) > 1 else values[0] for name, values in numbers.items()}


def _loop_facts(mechanism: Mechanism) -> dict[str, Any]:
    """Return the loop closures, and the independent and actuated joints, if there are any."""
    loops = [loop.facts(mechanism.body_names) for loop in mechanism.loops]
    facts = {
        "loops": loops,
        "independent": list(mechanism.independent),
        "actuated": list(mechanism.actuated),
    }
    return {key: values for key, values in facts.items() if values}


def _follows(mechanism: Mechanism, index: int) -> dict[str, Any]:
    """Return the leader of a follower, with composed rows; empty for a joint with its own
    coordinate.
    """
    if (coupling := mechanism.joint_couplings[index]) is None:
        return {}
    return {
        "follows": {
            "joint": mechanism.joints[coupling.leader].name,
            "multiplier": float(coupling.multiplier),
            "offset": float(coupling.offset),
        }
    }


def _entries(joint: Joint) -> dict[str, list[str]]:
    """Return the names of a joint's entries of q and v, if it has several."""
    kind = joint.type
    named = {"q_names": kind.positions, "v_names": kind.velocities}
    return (
        {key: [entry.name for entry in entries_of_joint] for key, entries_of_joint in named.items()}
        if max(kind.nq, kind.nv) > 1
        else {}
    )


def _part_facts(part: Part) -> dict[str, Any]:
    axes, centre = _frame_at(part.pose)
    return {
        "link": part.link,
        "mass": float(part.mass),
        "centre": list(centre),
        "axes": [list(row) for row in axes],
        "moments": [float(m) for m in part.moments],
        **({"gravcomp": float(part.gravcomp)} if part.gravcomp else {}),
    }


def _limits(joint: Joint) -> list[tuple[str, Any]]:
    return [
        (name, getattr(joint.limits, name)) for name in ("lower", "upper", "velocity", "effort")
    ]


def _tree(mechanism: Mechanism, uncut: bool) -> list[str]:
    """Return one line a joint. An only child stays in its parent's column, so that a long chain
    keeps its width.
    """
    rows = [
        (
            mechanism.base,
            "base",
            "",
            f"{_figure(sum(float(p.mass) for p in mechanism.base_parts))} kg",
        )
    ]
    digits = len(str(len(mechanism.joints) - 1))
    for prefix, index in _branches(mechanism):
        joint, body = mechanism.joints[index], mechanism.bodies[index]
        joint_text = f"{joint.kind}{f' {_axis(joint.axis)}' * joint.type.directed}{_numbers(joint)}"
        rows.append(
            (
                f"{prefix}{index:>{digits}} {joint.name} → {body.name}",
                joint_text,
                _range(mechanism, index),
                f"{_figure(float(body.mass))} kg",
            )
        )
    room = [max(len(row[i]) for row in rows) for i in range(4)]
    room[0] = max(20, room[0] if uncut else min(room[0], WIDTH - sum(room[1:]) - 6))
    return [
        "  ".join(
            (_cut(a, room[0]).ljust(room[0]), b.ljust(room[1]), c.ljust(room[2]), d.rjust(room[3]))
        )
        for a, b, c, d in rows
    ]


def _branches(mechanism: Mechanism) -> Iterator[tuple[str, int]]:
    """Return (prefix of box characters, joint index), each parent before its children."""
    children: dict[int, list[int]] = {i: [] for i in range(BASE, len(mechanism.joints))}
    for i, parent in enumerate(mechanism.parents):
        children[parent].append(i)
    stack = [("", "", BASE)]  # (prefix of this line, prefix of the lines below it, body)
    while stack:
        first, indent, body = stack.pop()
        if body != BASE:
            yield first, body
        below = children[body]
        only = len(below) == 1
        for position, child in reversed(list(enumerate(below))):
            if only:
                stack.append((f"{indent}", indent, child))
            else:
                last = position == len(below) - 1
                stack.append(
                    (indent + ("└─" if last else "├─"), indent + ("  " if last else "│ "), child)
                )


def _part_name(part: Part, body: Body) -> str:
    """Return the name of a part, with the body that carries it if that is another."""
    return part.link if part.link == body.name else f"  {part.link} on {body.name}"


def _inertias(mechanism: Mechanism, room: int) -> list[str]:
    """Return every part: mass, centre in its body's frame, moments about the centre in its axes;
    `room` columns for its name.
    """
    lines = [
        f"{'inertias (kg, m, kg m²)':{room + 1}}{'mass':>10}{'centre in the body':>27}"
        f"{'Ixx':>11}{'Iyy':>11}{'Izz':>11}"
    ]
    for body in mechanism.bodies:
        for part in body.parts:
            if not part.mass and not any(part.moments):
                continue
            axes, centre = _frame_at(part.pose)
            xx, xy, xz, yy, yz, zz = (f"{float(m):.4g}" for m in part.moments)
            where = "".join(f"{c:9.4f}" if abs(c) < 1000 else f"{c:9.1e}" for c in centre)
            name, mass = _cut(_part_name(part, body), room), _figure(float(part.mass))
            lines.append(f"{name:{room + 1}}{mass:>10}{where}{xx:>11}{yy:>11}{zz:>11}")
            axes_note = "" if _is_identity(axes) else "moments in axes of its own"
            if part.moments[1] or part.moments[2] or part.moments[4]:
                lines.append(
                    f"    {axes_note:{room + 5}}{'Ixy Ixz Iyz':>29}{xy:>11}{xz:>11}{yz:>11}"
                )
            elif axes_note:
                lines.append(f"    {axes_note}")
    return lines


def _axis(axis: Vector3) -> str:
    return (
        _AXES.get(axis)
        or "(" + ", ".join(f"{float(c):.3g}" if abs(c) > 5e-4 else "0" for c in axis) + ")"
    )


def _vector(values: Iterable[Any]) -> str:
    return ", ".join(_figure(float(v)) for v in values)


def _figure(value: float) -> str:
    return f"{value:.6g}"


def _numbers(joint: Joint) -> str:
    """Return the numbers that a joint's type declares besides the axis."""
    return "".join(f", {name} {_figure(float(value))}" for name, value in joint.parameters)


def _range(mechanism: Mechanism, index: int) -> str:
    joint, limits, coupling = (
        mechanism.joints[index],
        mechanism.ranges[index],
        mechanism.joint_couplings[index],
    )
    if coupling is not None:
        return f"= {coupling.of(mechanism.joints[coupling.leader].name)}"
    if joint.type.nq > 1 or (
        limits.lower is None and limits.upper is None
    ):  # a range is one coordinate's
        return "no limits" if joint.type.limited else "unlimited"
    low, high = ("" if v is None else f"{float(v):.4g}" for v in (limits.lower, limits.upper))
    return f"{low} … {high} {joint.type.positions[0].unit}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrapped(text: str, uncut: bool, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_on_hyphens=False,
        break_long_words=not uncut,
    )


Matrix = tuple[tuple[float, ...], ...]


def _frame_at(pose: Pose) -> tuple[Matrix, tuple[float, ...]]:
    """Return the (axes, origin) of a `pose`, in floating point, for display only."""
    axes: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    origin: tuple[float, ...] = (0.0, 0.0, 0.0)
    for step in pose:
        if isinstance(step, Shift):
            move = tuple(float(c) for c in step.xyz)
        elif isinstance(step, Rotate):
            w, *u = (float(c) for c in step.quaternion)
            length = math.hypot(*u)
            axes = _product(axes, _turn(tuple(c / length for c in u), 2 * math.atan2(length, w)))
            continue
        else:
            length = math.hypot(*(float(c) for c in step.axis))
            unit = tuple(float(c) / length for c in step.axis)
            if isinstance(step, Slide):
                move = tuple(c * float(step.distance) for c in unit)
            else:
                axes = _product(axes, _turn(unit, float(step.angle)))
                continue
        origin = tuple(
            o + sum(a * m for a, m in zip(row, move, strict=True))
            for o, row in zip(origin, axes, strict=True)
        )
    return axes, origin


def _turn(unit: tuple[float, ...], angle: float) -> Matrix:
    """Return the rotation matrix, by Rodrigues' formula."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = unit
    k = 1 - c
    return (
        (c + k * x * x, k * x * y - s * z, k * x * z + s * y),
        (k * x * y + s * z, c + k * y * y, k * y * z - s * x),
        (k * x * z - s * y, k * y * z + s * x, c + k * z * z),
    )


def _product(a: Matrix, b: Matrix) -> Matrix:
    return tuple(
        tuple(sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)) for i in range(3)
    )


def _is_identity(axes: Matrix) -> bool:
    return all(abs(axes[i][j] - (i == j)) < 1e-12 for i in range(3) for j in range(3))
