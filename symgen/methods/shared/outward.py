"""Outward sweep of the link motions, RK (2.1)-(2.5), in link frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from symgen.derivation.linkage import Linkage, LinkGeometry
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.methods.shared.motion import Motion, acceleration_field, origin_acceleration


def outward_sweep(
    linkage: Linkage,
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    gravity: bool = True,
    resting: Collection[int] = (),
) -> list[Motion]:
    """Return the motion of each link, base → tip, RK (2.1)-(2.5).

    `resting` links are taken to be at rest; their ancestors must be among them.
    """
    motions: list[Motion] = []
    parallel: list[tuple[Vector, Scalar] | None] = []
    base = Motion.at_rest(linkage)  # (2.1) without gravity
    for i, link in enumerate(linkage.links):
        if i in resting:
            motions.append(base)
            parallel.append(None)
            continue
        parent = base if link.parent < 0 else motions[link.parent]
        linkage.step(i, "velocity and acceleration, RK (2.2)-(2.5)")
        parent_omega = link.rotation.to_child(parent.omega)
        turn = link.turning(v)
        omega = parent_omega + turn  # (2.2)
        before = link.rotation.to_child(parent.alpha)
        alpha = before + link.turning(a) + parent_omega.cross(turn)  # (2.4)
        group = parallel[link.parent] if link.parent >= 0 else None
        if group and link.rotation.keeps_z and turns_about_z(link):
            before, rate = (
                link.rotation.to_child(group[0]),
                group[1] * link.rotation.along_z + turn[2],
            )
            across = (
                before[0] + omega[1] * rate,
                before[1] - omega[0] * rate,
            )  # (2.4) summed over the group
            alpha = Vector(
                (
                    *[
                        full.derivation.either(full, summed)
                        for full, summed in zip(alpha[:2], across, strict=True)
                    ],
                    alpha[2],
                )
            )
            parallel.append((before, rate))
        else:
            parallel.append((before, turn[2]) if turns_about_z(link) else None)
        U, squares = acceleration_field(omega, alpha)
        accel = origin_acceleration(linkage, i, parent, U)  # (2.5)
        if link.parent < 0 and gravity:
            accel = linkage.against_gravity(i) + accel  # (2.1)
        slide = link.sliding(v)
        # (2.32) corrected; a joint that turns and slides in several directions turns its own slide
        accel = accel + link.sliding(a) + parent_omega.cross(slide + slide) + turn.cross(slide)
        linkage.name("omega", i, omega)
        linkage.name("omegadot", i, alpha)
        linkage.name("vdot", i, accel)
        linkage.name("U", i, U)
        motions.append(Motion(omega, alpha, accel, U, squares))
    return motions


def turns_about_z(link: LinkGeometry) -> bool:
    """True if the joint of the link rotates it about z only, or not at all."""
    return all(dof.H_angular[0].is_zero and dof.H_angular[1].is_zero for dof in link.dofs)


def zero_rates(linkage: Linkage) -> list[Scalar]:
    """Return zero for each degree of freedom."""
    return [linkage.zero] * len(linkage.dofs)
