"""Drives in the recursion: rotor inertia on M's diagonal, joint forces, gravity compensation."""

from __future__ import annotations

from copy import copy
from typing import Any

Vector = list[Any]


def armature(at: Any) -> Vector:
    """Return the armature of each velocity of a `Recursion`."""
    return [at.number(at.mechanism.joints[i].drive.armature) for i, _ in at.mechanism.dofs]


def resisting(at: Any, q: Vector, v: Vector) -> Vector:
    """Return damping v + friction v/√(v² + ε²) + stiffness (q − rest) − gravity compensation."""
    fading, torques = at.number(at.mechanism.friction_speed**2), []
    for speed, (i, of) in zip(v, at.mechanism.dofs, strict=True):
        drive = at.mechanism.joints[i].drive
        force = (
            at.number(drive.damping) * speed
            + at.number(drive.friction) * speed / (speed * speed + fading).sqrt()
        )
        if drive.stiffness:
            force += at.number(drive.stiffness) * (
                q[at.mechanism.q_slices[i].start + of] - at.number(drive.rest)
            )
        torques.append(force)
    return [force - less for force, less in zip(torques, compensated_weight(at, q), strict=True)]


def compensated_weight(at: Any, q: Vector) -> Vector:
    """Return the forces of compensated weight; a payload, listed after declared parts, has none."""
    if not at.mechanism.compensated_parts:
        return list(at.nothing)
    alone, nothing = copy(at), [[at.number(0)] * 3] * 3
    alone.matter = [
        [
            at.matter_of(share.mass * at.number(declared_part.gravcomp), share.centre, nothing)
            for share, declared_part in zip(parts_of_body, body.parts, strict=False)
        ]
        for parts_of_body, body in zip(at.matter, at.mechanism.bodies, strict=True)
    ]
    return list(alone.forces(q, at.nothing, at.nothing, True, False))
