"""Interbody forces by RK (2.29), tip → base, from the accelerations of FD4, in base axes.

f(k) = φ(k,k−1) f(k−1) + M(k) α(k) + b(k) accelerates link k and its descendants. α contains
−gravity (3.21), so f includes their weights. M(k) must be the link's declared inertia: inertia
moved to the parent would be missing from the wrench across the joint.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector, wrench_to_parent
from symgen.methods.riccati.dynamics import plus, three_sweeps
from symgen.methods.shared.base_axes import wrenches_in_base


def interbody_forces(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return f of each link (NB x 6) at the origin of the frame that its joint moves, in base axes,
    and θ̈ (NV).
    """
    rates, alpha, b = three_sweeps(linkage)
    f = list(b)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "force across its joint, RK (2.29)")
        f[i] = plus(f[i], linkage.inertia[i].momentum(*alpha[i]))  # (2.29)
        linkage.name("f", i, Vector([*f[i][0], *f[i][1]]))
        if link.parent >= 0:
            f[link.parent] = plus(f[link.parent], wrench_to_parent(link.rotation, link.arm, *f[i]))
    return wrenches_in_base(linkage, f), rates
