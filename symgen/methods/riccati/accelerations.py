"""Accelerations of the links and of a chosen frame under given joint forces, RK FD2 (5.5)-(5.7), turned into base axes.

α = λ + φᵀ a of (5.6) carries −gravity from the base on (3.21); what is returned is the true acceleration, without it.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.riccati.dynamics import link_motion
from symgen.methods.shared.base_axes import accelerations_in_base


def link_accelerations(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """α of every link (NB x 6) at the origin of its declared frame, and of the chosen frame (6): (ω̇, v̇) in base axes."""
    return accelerations_in_base(linkage, *link_motion(linkage))  # (5.6)
