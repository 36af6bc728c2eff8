"""Change of the motion of all that a joint carries when it is displaced: (D1) and (D2) of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Matrix, Vector, times
from symgen.methods.shared.motion import Motion, acceleration_field

Twist = tuple[Vector, Vector]
"""(angular, linear)."""


@dataclass(frozen=True)
class Turning:
    """Of one link, in its axes: ω, and ω' of its parent."""

    omega: Vector
    before: Vector


def turnings(linkage: Linkage) -> list[Turning]:
    """Base → tip: RK (2.2)."""
    rates = linkage.inputs["v"]
    found: list[Turning] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity, RK (2.2)")
        before = (
            linkage.zeros if link.parent < 0 else link.rotation.to_child(found[link.parent].omega)
        )
        found.append(Turning(before + link.turning(rates), before))
        linkage.name("omega", i, found[i].omega)
    return found


def twice(v: Vector) -> Vector:
    return v + v


def crossed(V: Twist, S: Twist) -> Twist:
    """V × S = (ω × z, ω × s + v × z)."""
    (omega, v), (z, s) = V, S
    return omega.cross(z), omega.cross(s) + v.cross(z)


def displacements(linkage: Linkage, turning: Sequence[Turning]) -> tuple[list[Twist], list[Twist]]:
    """Return Ψ̇ of (D1) and Ψ̇ + Φ̇ of (D3) for every degree of freedom, seen by whom the origin of its link does not pass: v = 0.

    Where a joint has one, V' × S = V × S, since V − V' is along S.
    """
    displaced: list[Twist] = []
    driven: list[Twist] = []
    for i, link in enumerate(linkage.links):
        own = turning[i].omega, linkage.zeros
        linkage.step(i, "what its displacement changes of velocities, (D1)")
        for dof in link.dofs:
            S = dof.H_angular, dof.H_linear
            after = crossed(own, S)
            before = (
                after
                if len(link.dofs) == 1
                else crossed((turning[i].before, -link.sliding(linkage.inputs["v"])), S)
            )
            displaced.append(before)
            driven.append((before[0] + after[0], before[1] + after[1]))
            linkage.name("Psidot", dof.index, Vector([*before[0], *before[1]]))
    return displaced, driven


def accelerations(
    linkage: Linkage, turning: Sequence[Turning], motions: Sequence[Motion]
) -> list[Twist]:
    """Return Ψ̈ of (D2) of every degree of freedom. Of a joint with one, the link's own motion serves as its parent's does."""
    found: list[Twist] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "what its displacement changes of accelerations, (D2)")
        omega, v, U, a = turning[i].omega, linkage.zeros, motions[i].U, motions[i].accel
        if len(link.dofs) > 1:
            (omega, v), (U, a) = (
                (turning[i].before, -link.sliding(linkage.inputs["v"])),
                carried(linkage, i, motions),
            )
        for dof in link.dofs:
            z, s = dof.H_angular, dof.H_linear
            found.append(
                (Vector(times(U, z)), times(U, s) + a.cross(z) + twice(v.cross(omega.cross(z))))
            )
            linkage.name("Psiddot", dof.index, Vector([*found[-1][0], *found[-1][1]]))
    return found


def carried(linkage: Linkage, i: int, motions: Sequence[Motion]) -> tuple[Matrix, Vector]:
    """U' and a': how the parent of link i accelerates at the origin of link i, in its axes."""
    link = linkage.links[i]
    if link.parent < 0:
        return Motion.rest(linkage).U, linkage.against_gravity(i)
    parent = motions[link.parent]
    field, _ = acceleration_field(
        link.rotation.to_child(parent.omega), link.rotation.to_child(parent.alpha)
    )
    return field, link.rotation.to_child(parent.accel + times(parent.U, link.shift))
