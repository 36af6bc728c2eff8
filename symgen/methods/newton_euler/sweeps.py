"""Recursive Newton-Euler, RK (2.1)-(2.13), in link frames; (2.24)-(2.30) is the same recursion on
twists and wrenches.

The acceleration of a point r of link k is v̇ + U r with U = [ω̇]× + ω ωᵀ − |ω|² 1. So (2.6), (2.9),
(2.10) and the middle of (2.12) become: force = m v̇ + U h, moment about O(k) = the skew part of U
Σ, plus h × v̇. If the inertia that a joint does not depend on is moved to its parent, the moment
needs 13 to 15 multiplications per link instead of 24. A run-time wrench on a link is −f(0) of
(2.28): the paper's f(0) is exerted by the tip on the surroundings. A prismatic joint follows (2.31)
and (2.32) as corrected: ω × [ω × ℓ + 2 h θ̇], where ℓ includes the translation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector, wrench_to_parent
from symgen.methods.shared.motion import Motion, force_and_moment
from symgen.methods.shared.outward import outward_sweep, zero_rates
from symgen.methods.shared.quantities import Entries, Quantity, column


def inward_sweep(
    linkage: Linkage, motions: Sequence[Motion], loads: Sequence[tuple[Vector, Vector]] = ()
) -> tuple[list[Scalar], list[tuple[Vector, Vector]]]:
    """Return tau, and the (moment, force) on each link and its descendants at the link's origin in
    its axes: (2.8)-(2.13), tip → base.

    `loads` are the external wrenches on the links; none if empty.
    """
    n = len(linkage)
    moments: list[Vector] = [linkage.zeros] * n
    forces: list[Vector] = [linkage.zeros] * n
    tau = zero_rates(linkage)
    for i in reversed(range(n)):
        link = linkage.links[i]
        linkage.step(i, "force and moment, RK (2.6), (2.9)-(2.13)")
        moment, force = force_and_moment(linkage.inertia[i], motions[i])
        if loads:
            moment, force = moment - loads[i][0], force - loads[i][1]  # f(0), (2.28), (3.16)
        for c in link.children:
            child = linkage.links[c]
            n_c, f_c = wrench_to_parent(child.rotation, child.arm, moments[c], forces[c])
            moment, force = moment + n_c, force + f_c  # (2.11), (2.12)
        linkage.name("N", i, moment)
        linkage.name("F", i, force)
        moments[i], forces[i] = moment, force
        for dof in link.dofs:
            tau[dof.index] = dof.project(moment, force)  # (2.13)
            linkage.name("tau", dof.index, tau[dof.index])
    return tau, list(zip(moments, forces, strict=True))


def inverse_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return tau from q, v, a."""
    return (
        inward_sweep(
            linkage, outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"]), linkage.loads
        )[0],
    )


def bias_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return c = C(q, v) v + g − Jᵀ wrench by the sweeps at q̈ = 0, RK (3.23)."""
    return (
        inward_sweep(
            linkage, outward_sweep(linkage, linkage.inputs["v"], zero_rates(linkage)), linkage.loads
        )[0],
    )


def gravity_force(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return g by the sweeps at rest."""
    return (
        inward_sweep(linkage, outward_sweep(linkage, zero_rates(linkage), zero_rates(linkage)))[0],
    )


def mass_matrix(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return M = H φ 𝓜 φᵀ Hᵀ (3.20) column by column: the torques of a unit acceleration at rest
    without gravity.
    """
    n = len(linkage.dofs)
    columns = []
    for j in range(n):
        unit = [linkage.one if i == j else linkage.zero for i in range(n)]
        columns.append(
            inward_sweep(linkage, outward_sweep(linkage, zero_rates(linkage), unit, gravity=False))[
                0
            ]
        )
        columns[j][j] = columns[j][j] + linkage.drives[j].armature
    return ([columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)],)


def _motion_quantity(vector_of: Callable[[Motion], Vector], meaning: str) -> Quantity:
    def derive(linkage: Linkage) -> Entries:
        motions = outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"])
        return {(i,): column((vector_of(motion),), i) for i, motion in enumerate(motions)}

    return Quantity(("k",), "3x1", meaning, derive, ("q", "v", "a"), is_matrix=False)


QUANTITIES = {
    "omega": _motion_quantity(lambda motion: motion.omega, "angular velocity of link k, RK (2.2)"),
    "omegadot": _motion_quantity(
        lambda motion: motion.alpha, "angular acceleration of link k, RK (2.4)"
    ),
    "vdot": _motion_quantity(
        lambda motion: motion.accel, "acceleration of the origin of link k minus gravity, RK (2.5)"
    ),
}
