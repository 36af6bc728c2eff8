"""Identities of the Coriolis matrix: Ṁ − 2C is skew-symmetric, C v = c − g, and the pass with M and
c gives the same C.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import times
from symgen.verification.identities._drives import resistance
from symgen.verification.identities._identity import Distance, Functions, Identity


def _rate_of_the_mass_matrix(f: Functions) -> Distance:
    C, sizes = f("coriolis_matrix")["C"], f.exact_results.scales
    size = sizes.of("coriolis_matrix", "C")
    difference = f.time_derivatives("mass_matrix")["M"] - C - np.swapaxes(C, -1, -2)
    return difference, size + np.swapaxes(
        size, -1, -2
    ) + sizes.mass()  # the slope of M may be zero at a state


def _along_the_velocities(f: Functions) -> Distance:
    C_v, sizes = times(f("coriolis_matrix")["C"], f.states["v"]), f.exact_results.scales
    bias, weight = (
        f("bias_force", **f.at_rest())["c"] - resistance(f, f.states["v"]),
        f("gravity_force")["g"],
    )
    size = times(sizes.of("coriolis_matrix", "C"), np.abs(f.exact_results.floats["v"])) + sizes.of(
        "bias_force", "c"
    )
    return C_v - (bias - weight), size


def _mass(f: Functions) -> Distance:
    return f("mass_matrix_coriolis_and_bias")["M"] - f("mass_matrix")[
        "M"
    ], f.exact_results.scales.mass()


def _coriolis(f: Functions) -> Distance:
    return f("mass_matrix_coriolis_and_bias")["C"] - f("coriolis_matrix")[
        "C"
    ], f.exact_results.scales.of("coriolis_matrix", "C")


def _bias(f: Functions) -> Distance:
    return f("mass_matrix_coriolis_and_bias")["c"] - f("bias_force")[
        "c"
    ], f.exact_results.scales.of("bias_force", "c")


RANK = 5
IDENTITIES = (
    Identity(
        "Ṁ = C + Cᵀ", ("coriolis_matrix", "mass_matrix"), _rate_of_the_mass_matrix, exact_only=True
    ),
    Identity(
        "C v = c − g", ("coriolis_matrix", "bias_force", "gravity_force"), _along_the_velocities
    ),
    Identity("C beside M = C", ("mass_matrix_coriolis_and_bias", "coriolis_matrix"), _coriolis),
    Identity("M beside C = M", ("mass_matrix_coriolis_and_bias", "mass_matrix"), _mass),
    Identity("c beside C = c", ("mass_matrix_coriolis_and_bias", "bias_force"), _bias),
)
