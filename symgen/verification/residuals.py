"""How far results are from the truth, and what that distance is measured against.

Most results are compared entry by entry. What solves with the mass matrix is judged by its residual: near a singular
M the answer itself is ill-conditioned, and the residual is what a correct method keeps small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from symgen.precision import Array
from symgen.verification.truth import Truth, largest, norm

Distance = tuple[Array, Array]
"""Differences (count, …) and, per state, the size (count,) that they are relative to."""


def times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _forward_dynamics(results: Mapping[str, Array], truth: Truth) -> Distance:
    mass, a, tau = truth.mass_matrix, results["a"], truth.balls["tau"]
    size = norm(mass) * norm(a) + truth.sizes.of("bias_force", "c") + norm(tau)
    return times(mass, a) + truth.bias - tau, size


def _solve(results: Mapping[str, Array], truth: Truth) -> Distance:
    mass, x, b = truth.mass_matrix, results["x"], truth.balls["b"]
    return times(mass, x) - b, norm(mass) * norm(x) + norm(b)


def _inverse(results: Mapping[str, Array], truth: Truth) -> Distance:
    mass, inverse = truth.mass_matrix, results["Minv"]
    return mass @ inverse - np.eye(truth.mechanism.nv, dtype=int), norm(mass) * norm(inverse)


RESIDUALS: dict[str, Callable[[Mapping[str, Array], Truth], Distance]] = {
    "forward_dynamics": _forward_dynamics,
    "mass_matrix_solve": _solve,
    "inverse_mass_matrix": _inverse,
}
"""Functions judged by residual: (results over balls, truth) → distance; the rest are compared with the reference."""

VANISHING = 1e-20
"""An answer this small a part of its terms is a zero, and is compared with the terms instead."""


def distances(function: str, results: Mapping[str, Array], truth: Truth) -> list[Distance]:
    """One distance a result, relative to the largest magnitude in the result (its natural size where it vanishes)."""
    with truth.scalars.working():
        if function in RESIDUALS:
            return [RESIDUALS[function](results, truth)]
        exact = truth.results(function)
        return [
            (results[name] - value, np.maximum(largest(value), VANISHING * truth.sizes.of(function, name)))
            for name, value in exact.items()
        ]


def worst(differences: Array, size: Array) -> tuple[float, int]:
    """Largest relative difference over the states and the state it occurs at; 0/0 is a difference of 0, NaN is infinite."""
    found = largest(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(found == 0, 0.0, found / size)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return float(ratio.max()), int(ratio.argmax())
