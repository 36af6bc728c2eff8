"""What a regressor is: what it makes of the declared inertial parameters is the torque, by whichever parameters."""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.parameters import declared_parameters
from symgen.reference.precision import Array
from symgen.verification.identities._drives import taken
from symgen.verification.identities._identity import Distance, Functions, Identity


def _of_the_declared(f: Functions) -> Distance:
    """Y π = tau, with the π of the description."""
    reference, sizes = f.reference, f.truth.scales
    pi = declared_parameters(reference)
    size = times(sizes.of("regressor", "Y"), np.abs(pi.astype(float))) + sizes.of(
        "inverse_dynamics", "tau"
    )
    return times(f("regressor")["Y"], pi) - _tau_of_the_bodies(f), size


def _tau_of_the_bodies(f: Functions) -> Array:
    """tau without loads, less what the drives take: Y knows bodies alone."""
    return np.asarray(f("inverse_dynamics", **f.unladen())["tau"] - taken(f, f.states["a"]))


def _by_base_parameters(f: Functions) -> Distance:
    """Y_base of the base parameters that any parameters amount to = Y of these."""
    pi, sizes = f.states["pi"], f.truth.scales
    found = times(f("base_regressor")["Y_base"], f("base_parameters")["pi_base"])
    size = times(sizes.of("regressor", "Y"), np.abs(f.truth.floats["pi"])) + times(
        sizes.of("base_regressor", "Y_base"), sizes.of("base_parameters", "pi_base")
    )
    return found - times(f("regressor")["Y"], pi), size


def _of_the_declared_base(f: Functions) -> Distance:
    """Y_base of the description's base parameters = tau."""
    reference, sizes = f.reference, f.truth.scales
    pi = np.broadcast_to(declared_parameters(reference), f.states["pi"].shape)
    base = f("base_parameters", pi=pi)["pi_base"]
    amounts = np.abs(np.asarray(base, dtype=float))
    size = times(sizes.of("base_regressor", "Y_base"), amounts) + sizes.of(
        "inverse_dynamics", "tau"
    )
    return times(f("base_regressor")["Y_base"], base) - _tau_of_the_bodies(f), size


RANK = 6
IDENTITIES = (
    Identity("Y π = tau", ("regressor", "inverse_dynamics"), _of_the_declared),
    Identity(
        "Y_base π_base = tau",
        ("base_regressor", "base_parameters", "inverse_dynamics"),
        _of_the_declared_base,
    ),
    Identity(
        "Y_base π_base = Y π",
        ("base_regressor", "base_parameters", "regressor"),
        _by_base_parameters,
    ),
)
