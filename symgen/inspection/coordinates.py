"""Entries of q in canonical forms: joint angles, sliding coordinates and quaternions."""

from __future__ import annotations

from symgen.inspection.request import has_several_coordinates
from symgen.mechanism.mechanism import Mechanism


def angle_indices(mechanism: Mechanism) -> list[int]:
    """Return the indices in q of the angles (rad)."""
    units = [entry.unit for joint in mechanism.leading for entry in joint.type.positions]
    return [index for index, unit in enumerate(units) if unit == "rad"]


def quaternion_indices(mechanism: Mechanism) -> list[tuple[int, ...]]:
    """Return the indices in q of x, y, z and w of every unit quaternion."""
    return [
        tuple(entries.start + joint.type.quaternion + entry for entry in range(4))
        for joint, entries in zip(mechanism.joints, mechanism.q_slices, strict=True)
        if joint.type.quaternion is not None
    ]


def coordinate_notes(
    mechanism: Mechanism, shown: frozenset[int], is_canonical: bool = True
) -> list[str]:
    """Return notes that explain the entries of q that a formula shows, by their indices.

    Robots whose joints have one coordinate each need none: q0 belongs to joint 0.
    """
    if not has_several_coordinates(mechanism):
        return []
    names = mechanism.coordinate_names
    notes = []
    if shown:
        pairs = ", ".join(f"q{index} is {names[index]}" for index in sorted(shown))
        notes.append(f"coordinates count from 0: {pairs}")
    for entries in quaternion_indices(mechanism):
        if not shown.isdisjoint(entries):
            x, y, z, w = (f"q{index}" for index in entries)
            square = f"; {w}**2 is written as 1 - {x}**2 - {y}**2 - {z}**2" if is_canonical else ""
            notes.append(f"{x}, {y}, {z}, {w} are a unit quaternion{square}")
    return notes
