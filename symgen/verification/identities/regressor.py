"""Identities of regressors: times the declared inertial parameters they give the torque, in full
and in base parameters.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.parameters import declared_parameters
from symgen.reference.precision import Array
from symgen.verification.identities._drives import drive_forces
from symgen.verification.identities._identity import Distance, Functions, Identity


def _declared_torque(f: Functions) -> Distance:
    """Return the distance Y π − tau, with the π of the description."""
    reference, sizes = f.reference, f.exact_results.scales
    pi = declared_parameters(reference)
    size = times(sizes.of("regressor", "Y"), np.abs(pi.astype(float))) + sizes.of(
        "inverse_dynamics", "tau"
    )
    return times(f("regressor")["Y"], pi) - _tau_of_the_bodies(f), size


def _tau_of_the_bodies(f: Functions) -> Array:
    """Return tau without loads and drive forces: Y describes the bodies alone."""
    return np.asarray(f("inverse_dynamics", **f.unladen())["tau"] - drive_forces(f, f.states["a"]))


def _by_base_parameters(f: Functions) -> Distance:
    """Return the distance Y_base π_base − Y π, for any parameters π."""
    pi, sizes = f.states["pi"], f.exact_results.scales
    torque = times(f("base_regressor")["Y_base"], f("base_parameters")["pi_base"])
    size = times(sizes.of("regressor", "Y"), np.abs(f.exact_results.floats["pi"])) + times(
        sizes.of("base_regressor", "Y_base"), sizes.of("base_parameters", "pi_base")
    )
    return torque - times(f("regressor")["Y"], pi), size


def _declared_base_torque(f: Functions) -> Distance:
    """Return the distance Y_base π_base − tau, with the base parameters of the description."""
    reference, sizes = f.reference, f.exact_results.scales
    pi = np.broadcast_to(declared_parameters(reference), f.states["pi"].shape)
    base = f("base_parameters", pi=pi)["pi_base"]
    magnitudes = np.abs(np.asarray(base, dtype=float))
    size = times(sizes.of("base_regressor", "Y_base"), magnitudes) + sizes.of(
        "inverse_dynamics", "tau"
    )
    return times(f("base_regressor")["Y_base"], base) - _tau_of_the_bodies(f), size


RANK = 6
IDENTITIES = (
    Identity("Y π = tau", ("regressor", "inverse_dynamics"), _declared_torque),
    Identity(
        "Y_base π_base = tau",
        ("base_regressor", "base_parameters", "inverse_dynamics"),
        _declared_base_torque,
    ),
    Identity(
        "Y_base π_base = Y π",
        ("base_regressor", "base_parameters", "regressor"),
        _by_base_parameters,
    ),
)
