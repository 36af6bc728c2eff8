"""Change of the motion of a joint's composite body under a displacement of the joint: (D1) and (D2)
of this folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import Matrix, Vector, times
from symgen.methods.shared.motion import Motion, acceleration_field

Twist = tuple[Vector, Vector]
"""(angular, linear)."""


@dataclass(frozen=True)
class AngularVelocities:
    """ω of a link and ω' of its parent, in the axes of the link."""

    omega: Vector
    before: Vector


def angular_velocities(linkage: Linkage) -> list[AngularVelocities]:
    """Return the angular velocities of each link, base → tip, RK (2.2)."""
    rates = linkage.inputs["v"]
    velocities: list[AngularVelocities] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity, RK (2.2)")
        before = (
            linkage.zeros
            if link.parent < 0
            else link.rotation.to_child(velocities[link.parent].omega)
        )
        velocities.append(AngularVelocities(before + link.turning(rates), before))
        linkage.name("omega", i, velocities[i].omega)
    return velocities


def twice(v: Vector) -> Vector:
    return v + v


def twist_cross(V: Twist, S: Twist) -> Twist:
    """Return V × S = (ω × z, ω × s + v × z)."""
    (omega, v), (z, s) = V, S
    return omega.cross(z), omega.cross(s) + v.cross(z)


def displacements(
    linkage: Linkage, turning: Sequence[AngularVelocities]
) -> tuple[list[Twist], list[Twist]]:
    """Return Ψ̇ of (D1) and Ψ̇ + Φ̇ of (D3) of each degree of freedom, for an observer with v = 0
    at its link's origin.

    If the joint has one degree of freedom, V' × S = V × S, since V − V' is parallel to S.
    """
    displaced: list[Twist] = []
    rate_twists: list[Twist] = []
    for i, link in enumerate(linkage.links):
        link_twist = turning[i].omega, linkage.zeros
        linkage.step(i, "derivative of the velocities with respect to its coordinate, (D1)")
        for dof in link.dofs:
            S = dof.H_angular, dof.H_linear
            after = twist_cross(link_twist, S)
            before = (
                after
                if len(link.dofs) == 1
                else twist_cross((turning[i].before, -link.sliding(linkage.inputs["v"])), S)
            )
            displaced.append(before)
            rate_twists.append((before[0] + after[0], before[1] + after[1]))
            linkage.name("Psidot", dof.index, Vector([*before[0], *before[1]]))
    return displaced, rate_twists


def displacement_accelerations(
    linkage: Linkage, turning: Sequence[AngularVelocities], motions: Sequence[Motion]
) -> list[Twist]:
    """Return Ψ̈ of (D2) of each degree of freedom.

    If the joint has one degree of freedom, the motion of the link gives the same result as that of
    its parent.
    """
    twists: list[Twist] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "derivative of the accelerations with respect to its coordinate, (D2)")
        omega, v, U, a = turning[i].omega, linkage.zeros, motions[i].U, motions[i].accel
        if len(link.dofs) > 1:
            (omega, v), (U, a) = (
                (turning[i].before, -link.sliding(linkage.inputs["v"])),
                parent_acceleration(linkage, i, motions),
            )
        for dof in link.dofs:
            z, s = dof.H_angular, dof.H_linear
            twists.append(
                (Vector(times(U, z)), times(U, s) + a.cross(z) + twice(v.cross(omega.cross(z))))
            )
            linkage.name("Psiddot", dof.index, Vector([*twists[-1][0], *twists[-1][1]]))
    return twists


def parent_acceleration(
    linkage: Linkage, i: int, motions: Sequence[Motion]
) -> tuple[Matrix, Vector]:
    """Return U' and a': the acceleration field of the parent at the origin of link i, in the axes
    of link i.
    """
    link = linkage.links[i]
    if link.parent < 0:
        return Motion.at_rest(linkage).U, linkage.against_gravity(i)
    parent = motions[link.parent]
    field, _ = acceleration_field(
        link.rotation.to_child(parent.omega), link.rotation.to_child(parent.alpha)
    )
    return field, link.rotation.to_child(parent.accel + times(parent.U, link.shift))
