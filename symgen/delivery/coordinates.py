"""Entries of q and v per joint for README, header and manifest, if joints have several or none."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from symgen.ir.program import POSITIONS
from symgen.mechanism.mechanism import Joint, Mechanism


def several(mechanism: Mechanism) -> bool:
    """True if a joint has more than one entry of q or v, or follows another one and has none."""
    return mechanism.coupled or any(_several(joint) for joint in mechanism.joints)


def followed(mechanism: Mechanism, index: int) -> dict[str, object]:
    """Return the manifest's entry of the leader of a joint; empty for a joint with its own
    coordinate.
    """
    if (coupling := mechanism.joint_couplings[index]) is None:
        return {}
    return {
        "mimic": {
            "joint": mechanism.joints[coupling.leader].name,
            "multiplier": float(coupling.multiplier),
            "offset": float(coupling.offset),
        }
    }


def entry_names(joint: Joint) -> dict[str, list[str]]:
    """Return the manifest's names of a joint's entries, in order; empty if it has one."""
    kind = joint.type
    return (
        {
            f"{key}_names": [entry.name for entry in kind_entries]
            for key, kind_entries in (("q", kind.positions), ("v", kind.velocities))
        }
        if _several(joint)
        else {}
    )


def entries(mechanism: Mechanism) -> list[dict[str, str]]:
    """Return for each joint the `unit` of its first coordinate, and its entries of `q` and `v` in
    words.
    """
    return [
        {"unit": joint.type.positions[0].unit} | _joint_entries(mechanism, index)
        for index, joint in enumerate(mechanism.joints)
    ]


def _joint_entries(mechanism: Mechanism, index: int) -> dict[str, str]:
    """Return the entries of a joint in words, or the leader's entries for a follower."""
    if (coupling := mechanism.joint_couplings[index]) is None:
        joint = mechanism.joints[index]
        return {
            "q": _of_q(joint, mechanism.q_slices[index].start),
            "v": _of_v(joint, mechanism.v_slices[index].start),
        }
    position, rate = (
        f"{letter}[{slices[coupling.leader].start}]"
        for letter, slices in (("q", mechanism.q_slices), ("v", mechanism.v_slices))
    )
    unit = mechanism.joints[index].type.positions[0].unit
    return {
        "q": f"none: {coupling.of(position)} ({unit})",
        "v": f"none: {coupling._replace(offset=Fraction(0)).of(rate)}",
    }


def quaternions(mechanism: Mechanism) -> str:
    """Return the entries of q that are unit quaternions, as "q[3..6], q[7..10]"; empty if there are
    none.
    """
    return ", ".join(
        _span("q", entries_of_q.start + joint.type.quaternion, 4)
        for entries_of_q, joint in zip(mechanism.q_slices, mechanism.joints, strict=True)
        if joint.type.quaternion is not None
    )


def at_rest(mechanism: Mechanism, argument: str) -> dict[str, str]:
    """Return what a sample of C and of C++ writes for an argument: zeros, and for positions the
    neutral pose, which is not zero.
    """
    neutral = (
        [x for joint in mechanism.leading for x in joint.type.neutral]
        if argument in POSITIONS
        else []
    )
    shown = neutral[: max((k + 1 for k, x in enumerate(neutral) if x), default=0)]
    listed = ", ".join(map(str, shown))
    return {"c": f"{{{listed or '0'}}}", "cpp": f"{{{listed}}}"}


def linear_first(mechanism: Mechanism) -> str:
    """Return the entries of v with the linear velocity of a joint before the angular one, unlike a
    six-vector.
    """
    return ", ".join(
        _span("v", entries_of_v.start, entries_of_v.stop - entries_of_v.start)
        for entries_of_v, joint in zip(mechanism.v_slices, mechanism.joints, strict=True)
        if not joint.type.directed
        and len({velocity.unit for velocity in joint.type.velocities}) > 1
    )


def rates(mechanism: Mechanism) -> bool:
    """True if every entry of v is the rate of an entry of q."""
    return all(joint.type.directed for joint in mechanism.joints)


def of_header(mechanism: Mechanism) -> tuple[str, ...]:
    """Return lines of the C header, in ASCII and without the user's names; empty if every joint has
    one entry.
    """
    if not several(mechanism):
        return ()
    lines = [
        "A joint of one coordinate has one entry of q and one of v, in the order of the joints,"
        " from joint 0. Other joints:"
    ]
    if mechanism.coupled:
        lines = [
            "Mimic joints (followers) have no entries of q and v. Entries of the other joints,"
            " counted from 0:"
        ]
    for index, (joint, words) in enumerate(zip(mechanism.joints, entries(mechanism), strict=True)):
        if _several(joint):
            lines += [f"  joint {index}, {joint.kind}: {words['q']}", f"    {words['v']}"]
        elif mechanism.coupled:
            lines.append(f"  joint {index}, {joint.kind}: {words['q']}")
    lines.append("a and tau have the entries of v.")
    if mechanism.coupled:
        lines.append(
            "tau of a leader includes the forces of its followers, each times the factor of the"
            " follower."
        )
    if listed := linear_first(mechanism):
        lines.append(
            f"The linear part is first in {listed}; in other vectors of six the angular part is"
            " first."
        )
    if listed := quaternions(mechanism):
        lines.append(
            f"The functions assume unit quaternions: normalize {listed} after each integration"
            " step. 0, 0, 0, 1 is the identity."
        )
    return tuple(lines)


def _several(joint: Joint) -> bool:
    """True if a joint has more than one entry of q or v."""
    return max(joint.type.nq, joint.type.nv) > 1


def _of_q(joint: Joint, first: int) -> str:
    """Return a joint's entries of q in words."""
    kind = joint.type
    if not _several(joint):
        return f"{_span('q', first, 1)} ({kind.positions[0].unit})"
    vector_count = kind.nq if kind.quaternion is None else kind.quaternion
    phrases, entry = [], 0
    for (placed, unit), run in groupby(
        kind.positions[:vector_count],
        lambda position: (not kind.directed and position.unit == "m", position.unit),
    ):
        names = [position.name for position in run]
        if placed:
            phrases.append(
                f"{_span('q', first + entry, len(names))} place"
                f" {' '.join(name[-1] for name in names)} ({unit})"
            )
        else:
            phrases += [
                f"{_span('q', first + entry + k, 1)} {name} ({unit})"
                for k, name in enumerate(names)
            ]
        entry += len(names)
    if kind.quaternion is not None:
        phrases.append(f"{_span('q', first + entry, 4)} unit quaternion x y z w")
    return ", ".join(phrases)


def _of_v(joint: Joint, first: int) -> str:
    """Return a joint's entries of v in words."""
    kind = joint.type
    if kind.along is None:
        return f"{_span('v', first, kind.nv)} {'the rates' if kind.nv > 1 else 'its rate'}"
    phrases, entry = [], 0
    for unit, run in groupby(
        zip(kind.velocities, kind.along, strict=True), lambda velocity: velocity[0].rate_unit
    ):
        axes = ["xyz"[axis] for _, axis in run]
        velocity_kind = "linear" if unit == "m/s" else "angular"
        phrases.append(
            f"{_span('v', first + entry, len(axes))} {velocity_kind} velocity {' '.join(axes)}"
            f" ({unit})"
        )
        entry += len(axes)
    return ", ".join([*phrases, "in the body's axes"])


def _span(letter: str, first: int, count: int) -> str:
    """Return the entries of an array, such as "q[3..6]"."""
    return f"{letter}[{first}]" if count == 1 else f"{letter}[{first}..{first + count - 1}]"


def mentioned(mechanism: Mechanism, results: Sequence[str]) -> dict[str, object]:
    """Return the names of the README's template about q and v; `results` are the names of the
    functions' results.
    """
    return {
        "several": several(mechanism),
        "coupled": mechanism.coupled,
        "quaternions": quaternions(mechanism),
        "linear_first": linear_first(mechanism),
        "turns_back": "delta" in results and not rates(mechanism),
        "along_v": "grad" in results and not rates(mechanism),
        "rates": rates(mechanism),
    }
