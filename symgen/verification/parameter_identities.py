"""What a regressor is: what it makes of the declared inertial parameters is the torque, by whichever parameters."""

from __future__ import annotations

import numpy as np

from symgen.reference.parameters import declared
from symgen.verification.calling import Distance, Functions, Identity
from symgen.verification.residuals import times


def _of_the_declared(f: Functions) -> Distance:
    """Y π = tau, with the π of the description."""
    reference, sizes = f.truth.reference if f.exact else f.truth.rough, f.truth.sizes
    pi = declared(reference)
    size = times(sizes.of("regressor", "Y"), np.abs(pi.astype(float))) + sizes.of("inverse_dynamics", "tau")
    return times(f("regressor")["Y"], pi) - f("inverse_dynamics", **f.unladen())["tau"], size


OF_PARAMETERS = (
    Identity("Y π = tau", ("regressor", "inverse_dynamics"), _of_the_declared),
)
