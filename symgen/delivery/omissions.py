"""What the C of a folder leaves out. It is read off the mechanism, so that the canonical description gives the same again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symgen.mechanism.mechanism import Mechanism

Omission = dict[str, Any]
"""`kind`, `text` (one sentence) and, where it is about joints, `joints`: what each of them declares."""

NOTED = {"lock": "locked", "snap": "snapped", "warning": "warning", "idle": "idle loop"}
"""Kinds of notes about decisions of a reading, and the kinds of omissions that they become."""


MISSING = "missing"
"""The kind of omission of a function that was asked for by name and is too long."""


def omissions(
    mechanism: Mechanism,
    left_out: Mapping[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
) -> list[Omission]:
    """Everything that the description declares, or a robot has, and the C does not know.

    Data of joints that are not applied (SI units, as declared), mimic joints, the fixed base, limits, what was locked or snapped,
    the reading's warnings, the functions that are `missing` although they were asked for, in the words of the request, and the
    functions `left_out`; of each function the reason.
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
    """The requests that a manifest's list of omissions records as MISSING; empty for anything that is no such list."""
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
    """Damping, friction, rotors and gears, each with the joints that declare it."""
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
        said = "; ".join(
            f"{name} = {m['multiplier']:.12g} {m['joint']} + {m['offset']:.12g}"
            for name, m in joints.items()
        )
        yield {
            "kind": "mimic",
            "text": f"joints that are declared to follow others move freely: {said}",
            "joints": joints,
        }


def _base(mechanism: Mechanism) -> Omission:
    mass = float(sum(part.mass for part in mechanism.base_parts))
    carried = f", and the {mass:.12g} kg that are fixed to it are felt by no joint" if mass else ""
    return {
        "kind": "fixed base",
        "text": f"the base {mechanism.base} stands still in the world{carried}",
    }


def _limits(mechanism: Mechanism) -> Iterable[Omission]:
    joints = {}
    for joint in mechanism.joints:
        ends = (
            (name, getattr(joint.limits, name)) for name in ("lower", "upper", "velocity", "effort")
        )
        if declared := {name: float(value) for name, value in ends if value is not None}:
            joints[joint.name] = declared
    if joints:
        of = len(mechanism.joints) if mechanism.coupled else mechanism.nv
        text = f"limits of position, velocity and effort are declared for {len(joints)} of {of} joints and not enforced"
        yield {"kind": "limits", "text": text, "joints": joints}


def _noted(mechanism: Mechanism) -> Iterable[Omission]:
    return (
        {"kind": NOTED[note.kind], "text": note.text}
        for note in mechanism.notes
        if note.kind in NOTED
    )


def _functions(left_out: Mapping[str, str]) -> Iterable[Omission]:
    """One entry for all functions that are left out for the same reason, each function's own name in it aside."""
    reasons: dict[str, list[str]] = {}
    for name, why in left_out.items():
        reasons.setdefault(why.removeprefix(name), []).append(name)
    for why, names in reasons.items():
        text = f"{', '.join(names)}: {why}"
        if why != left_out[names[0]]:  # a sentence that begins with the function
            text = names[0] + why + (f"; likewise {', '.join(names[1:])}" if names[1:] else "")
        yield {"kind": "functions", "text": text, "functions": names}


def _listed(joints: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.12g}" for name, value in joints.items())
