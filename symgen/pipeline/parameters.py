"""The inertial parameters that a description declares, as `regressor` takes them."""

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
    """π (10·NB,) of every moving link in turn: m (kg), m c (3, kg·m) and moments xx xy xz yy yz zz (kg·m²) about the origin of
    its frame, in its axes, what is fixed to it included.

    It is the π of tau = Y π and of `base_parameters`. Raises what `symgen.load` does.
    """
    from symgen.reference.motion import Motion  # NumPy, which a cached Program does without
    from symgen.reference.parameters import declared_parameters

    return declared_parameters(Motion(robot if isinstance(robot, Mechanism) else load(robot)))
