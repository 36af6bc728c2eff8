"""Accelerations of the links and of a chosen frame under given joint forces, RK FD2 (5.5)-(5.7), in
base axes.

α = λ + φᵀ a of (5.6) contains −gravity (3.21); the results are the true accelerations, without it.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.riccati.dynamics import link_motion
from symgen.methods.shared.base_axes import accelerations_in_base


def link_accelerations(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return α of each link (NB x 6) at its declared frame's origin, and of the chosen frame (6),
    as (ω̇, v̇) in base axes.
    """
    return accelerations_in_base(linkage, *link_motion(linkage))  # (5.6)
