"""Omissions: what the C of a folder leaves out. They follow from the mechanism, so the canonical
description gives the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symgen.mechanism.mechanism import Mechanism

Omission = dict[str, Any]
"""`kind`, `text` (one sentence) and, for joints, `joints` with what each of them declares."""

NOTED = {"lock": "locked", "snap": "snapped", "warning": "warning", "idle": "idle loop"}
"""Kinds of notes about decisions of a reading, and the kinds of omissions that they become."""


MISSING = "missing"
"""Kind of omission of a function that was named and is too long."""


def omissions(
    mechanism: Mechanism,
    left_out: Mapping[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
) -> list[Omission]:
    """Return everything that the description declares, or a robot has, and the C does not model.

    First come joint data that are not applied (SI units), mimic joints, the fixed base, limits,
    locked and snapped parts, and warnings of the reading. Then come named functions that are
    `missing`, and functions `left_out`, with reasons.
    """
    return [
        *_unapplied(mechanism),
        *_mimic(mechanism),
        _base(mechanism),
        *_limits(mechanism),
        *_noted(mechanism),
        *(
            {"kind": MISSING, "text": why, "functions": [word]}
            for word, why in (missing or {}).items()
        ),
        *_functions(left_out or {}),
    ]


def missing_words(not_modelled: object) -> list[str]:
    """Return the requests that a manifest's list of omissions records as MISSING; empty for
    anything that is no such list.
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
    """Yield mimic joints that move independently."""
    coupled = {
        joint.name: joint.mimic
        for joint in mechanism.joints
        if joint.mimic is not None and not mechanism.coupled
    }
    if coupled:
        joints = {
            name: {"joint": m.joint, "multiplier": float(m.multiplier), "offset": float(m.offset)}
            for name, m in coupled.items()
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
    """Return the omission of the fixed base."""
    mass = float(sum(part.mass for part in mechanism.base_parts))
    carried = f", and the {mass:.12g} kg that are fixed to it have no effect" if mass else ""
    return {
        "kind": "fixed base",
        "text": f"the base {mechanism.base} is fixed in the world{carried}",
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
    """Return the omissions that notes of the reading become."""
    return (
        {"kind": NOTED[note.kind], "text": note.text}
        for note in mechanism.notes
        if note.kind in NOTED
    )


def _functions(left_out: Mapping[str, str]) -> Iterable[Omission]:
    """Yield one entry for all functions with the same reason, apart from the function's own name in
    it.
    """
    reasons: dict[str, list[str]] = {}
    for name, why in left_out.items():
        reasons.setdefault(why.removeprefix(name), []).append(name)
    for why, names in reasons.items():
        text = f"{', '.join(names)}: {why}"
        if why != left_out[names[0]]:  # a sentence that begins with the function
            text = names[0] + why + (f"; likewise {', '.join(names[1:])}" if names[1:] else "")
        yield {"kind": "functions", "text": text, "functions": names}


def _listed(joints: Mapping[str, float]) -> str:
    """Return joints with their numbers in words."""
    return ", ".join(f"{name} {value:.12g}" for name, value in joints.items())
