"""Omissions of a generated folder: parts of the robot that the C does not model, and functions that
the folder lacks.

The omissions follow from the mechanism. So a folder that is generated again from its canonical
description has the same omissions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symgen.mechanism.mechanism import Mechanism

Omission = dict[str, Any]
"""`kind`, `text` (one sentence) and, if joints are concerned, `joints` with the declared data of
each.
"""

KINDS_BY_NOTE = {"lock": "locked", "snap": "snapped", "warning": "warning", "idle": "idle loop"}
"""Kinds of a mechanism's notes that become omissions, and the kinds of these omissions."""

MISSING = "missing"
"""Kind of omission of a function that the user named and that is too long to generate."""


def omissions(
    mechanism: Mechanism,
    left_out: Mapping[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
) -> list[Omission]:
    """Return the omissions of a mechanism and of the requested functions.

    First come joint data that are not applied (SI units), mimic joints, the fixed base, limits,
    locked joints, snapped angles, loop closures that constrain nothing, and warnings of the reader.
    Then come functions that the user named and that are `missing`, and other functions that are
    `left_out`; both map functions to reasons.
    """
    return [
        *_unapplied(mechanism),
        *_mimic(mechanism),
        _base(mechanism),
        *_limits(mechanism),
        *_noted(mechanism),
        *(
            {"kind": MISSING, "text": reason, "functions": [function]}
            for function, reason in (missing or {}).items()
        ),
        *_functions(left_out or {}),
    ]


def missing_words(not_modelled: object) -> list[str]:
    """Return the functions that the entry `not_modelled` of a manifest records as MISSING.

    The manifest may be edited: an entry of another form counts as empty.
    """
    entries = (
        [entry for entry in not_modelled if isinstance(entry, dict)]
        if isinstance(not_modelled, list)
        else []
    )
    return [
        str(word)
        for entry in entries
        if entry.get("kind") == MISSING and isinstance(entry.get("functions"), list)
        for word in entry["functions"]
    ]


def _unapplied(mechanism: Mechanism) -> Iterable[Omission]:
    """Yield damping, friction, rotors and gears, each with the joints that declare it."""
    for kind in dict.fromkeys(name for joint in mechanism.joints for name, _ in joint.unapplied):
        joints = {
            joint.name: float(dict(joint.unapplied)[kind])
            for joint in mechanism.joints
            if kind in dict(joint.unapplied)
        }
        yield {
            "kind": kind,
            "text": f"{kind} is declared and not applied: {_listed(joints)}",
            "joints": joints,
        }


def _mimic(mechanism: Mechanism) -> Iterable[Omission]:
    """Yield one omission for the mimic joints, if they are modelled as independent joints."""
    uncoupled = {
        joint.name: joint.mimic
        for joint in mechanism.joints
        if joint.mimic is not None and not mechanism.coupled
    }
    if uncoupled:
        joints = {
            name: {"joint": m.joint, "multiplier": float(m.multiplier), "offset": float(m.offset)}
            for name, m in uncoupled.items()
        }
        relations = "; ".join(
            f"{name} = {m['multiplier']:.12g} {m['joint']} + {m['offset']:.12g}"
            for name, m in joints.items()
        )
        yield {
            "kind": "mimic",
            "text": f"mimic joints are modelled as independent joints: {relations}",
            "joints": joints,
        }


def _base(mechanism: Mechanism) -> Omission:
    """Return the omission of the base's motion."""
    mass = float(sum(part.mass for part in mechanism.base_parts))
    mass_text = f", and the {mass:.12g} kg that are fixed to it have no effect" if mass else ""
    return {
        "kind": "fixed base",
        "text": f"the base {mechanism.base} is fixed in the world{mass_text}",
    }


def _limits(mechanism: Mechanism) -> Iterable[Omission]:
    """Yield the declared limits, which the C does not enforce."""
    joints = {}
    for joint in mechanism.joints:
        limits = (
            (name, getattr(joint.limits, name)) for name in ("lower", "upper", "velocity", "effort")
        )
        if declared := {name: float(value) for name, value in limits if value is not None}:
            joints[joint.name] = declared
    if joints:
        joint_count = len(mechanism.joints) if mechanism.coupled else mechanism.nv
        text = (
            f"limits of position, velocity and effort are declared for {len(joints)} of"
            f" {joint_count} joints and not enforced"
        )
        yield {"kind": "limits", "text": text, "joints": joints}


def _noted(mechanism: Mechanism) -> Iterable[Omission]:
    """Return the omissions that the mechanism's notes report."""
    return (
        {"kind": KINDS_BY_NOTE[note.kind], "text": note.text}
        for note in mechanism.notes
        if note.kind in KINDS_BY_NOTE
    )


def _functions(left_out: Mapping[str, str]) -> Iterable[Omission]:
    """Yield one omission for each reason, with all functions that are left out for it.

    A reason may be a sentence that begins with the name of its function. Such reasons are compared
    without the name.
    """
    functions_by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        functions_by_reason.setdefault(reason.removeprefix(name), []).append(name)
    for reason, names in functions_by_reason.items():
        text = f"{', '.join(names)}: {reason}"
        if reason != left_out[names[0]]:  # a sentence that begins with the function's name
            text = names[0] + reason + (f"; likewise {', '.join(names[1:])}" if names[1:] else "")
        yield {"kind": "functions", "text": text, "functions": names}


def _listed(joints: Mapping[str, float]) -> str:
    """Return a text with each joint and its number."""
    return ", ".join(f"{name} {value:.12g}" for name, value in joints.items())
