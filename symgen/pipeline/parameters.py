"""Inertial parameters that a description declares, in the form of `regressor`."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from symgen.description.arguments import validated
from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from symgen.reference.precision import Array


@validated
def inertial_parameters(robot: Mechanism | str | PathLike[str]) -> Array:
    """Return π (10·NB,) of every moving link in order.

    A link has ten numbers: m (kg), m c (3, kg·m) and moments xx xy xz yy yz zz (kg·m²). The moments
    are about the origin of the link's frame, in its axes. The numbers include the links that are
    fixed to it. It is the π of tau = Y π and of `base_parameters`. Raises the errors of
    `symgen.load`.
    """
    from symgen.reference.motion import Motion  # NumPy, which a cached Program does without
    from symgen.reference.parameters import declared_parameters

    return declared_parameters(Motion(robot if isinstance(robot, Mechanism) else load(robot)))
