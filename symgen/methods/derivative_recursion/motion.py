"""What displacing a joint does to the motion of all that it carries: (1) and (2) of `symgen.methods.derivative_recursion`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Matrix, Vector, times, twist_inward
from symgen.methods._motion import Motion, acceleration_field

Twist = tuple[Vector, Vector]
"""(angular, linear)."""


@dataclass(frozen=True)
class Moving:
    """Of one link, at its origin in its axes: its twist V = (ω, v), and that of its parent there, V' = (ω', v')."""

    omega: Vector
    v: Vector
    before: Twist


def velocities(linkage: Linkage) -> list[Moving]:
    """Base → tip: RK (2.2), (2.3), as seen by whom the origin of the root does not pass: no force hangs on who looks on."""
    rates = linkage.inputs["v"]
    found: list[Moving] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity, RK (2.2), (2.3)")
        turn, slide = link.turning(rates), link.sliding(rates)
        if link.parent < 0:
            before = linkage.zeros, -slide
        else:
            parent = found[link.parent]
            before = twist_inward(link.rotation, link.shift, parent.omega, parent.v)
        found.append(Moving(before[0] + turn, before[1] + slide, before))
        linkage.name("omega", i, found[i].omega)
        linkage.name("v", i, found[i].v)
    return found


def crossed(V: Twist, S: Twist) -> Twist:
    """V × S = (ω × z, ω × s + v × z)."""
    (omega, v), (z, s) = V, S
    return omega.cross(z), omega.cross(s) + v.cross(z)


def twice(v: Vector) -> Vector:
    return v + v


def rates(linkage: Linkage, moving: Sequence[Moving]) -> tuple[list[Twist], list[Twist]]:
    """Of every degree of freedom Ψ̇ of (1), and Ψ̇ + Φ̇ of (3).

    Where a joint has one, V' × S = V × S, since V − V' is along S.
    """
    displaced: list[Twist] = []
    driven: list[Twist] = []
    for i, link in enumerate(linkage.links):
        own = moving[i].omega, moving[i].v
        linkage.step(i, "what its displacement changes of velocities, (1)")
        for dof in link.dofs:
            S = dof.H_angular, dof.H_linear
            after = crossed(own, S)
            before = after if len(link.dofs) == 1 else crossed(moving[i].before, S)
            displaced.append(before)
            driven.append((before[0] + after[0], before[1] + after[1]))
            linkage.name("Psidot", dof.index, Vector([*before[0], *before[1]]))
    return displaced, driven


def accelerations(linkage: Linkage, moving: Sequence[Moving], motions: Sequence[Motion]) -> list[Twist]:
    """Of every degree of freedom Ψ̈ of (2). Where a joint has one, the link's own motion serves as its parent's does."""
    found: list[Twist] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "what its displacement changes of accelerations, (2)")
        omega, v, U, a = moving[i].omega, moving[i].v, motions[i].U, motions[i].accel
        if len(link.dofs) > 1:
            (omega, v), (U, a) = moving[i].before, carried(linkage, i, motions)
        for dof in link.dofs:
            z, s = dof.H_angular, dof.H_linear
            found.append((Vector(times(U, z)), times(U, s) + a.cross(z) + twice(v.cross(omega.cross(z)))))
            linkage.name("Psiddot", dof.index, Vector([*found[-1][0], *found[-1][1]]))
    return found


def carried(linkage: Linkage, i: int, motions: Sequence[Motion]) -> tuple[Matrix, Vector]:
    """U' and a': how the parent of link i accelerates at the origin of link i, in its axes."""
    link = linkage.links[i]
    if link.parent < 0:
        return Motion.rest(linkage).U, linkage.against_gravity(i)
    parent = motions[link.parent]
    field, _ = acceleration_field(link.rotation.inward(parent.omega), link.rotation.inward(parent.alpha))
    return field, link.rotation.inward(parent.accel + times(parent.U, link.shift))
