"""Distances of results from the exact results, and the sizes to which they are relative.

Most results are compared entry by entry. A function that solves with the mass matrix is checked by
its residual: near a singular M the solution is ill-conditioned, but a correct method keeps the
residual small. The residual is checked joint by joint, each relative to its own terms.

M⁻¹ is checked entry by entry, relative to the effect of round-off in M's entries. M⁻¹ is symmetric,
and each half is computed once. So its columns do not come from one elimination each, and no column
has a small residual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.precision import Array
from symgen.verification.exact_results import ExactResults
from symgen.verification.magnitude import largest, upper_magnitudes
from symgen.verification.scales.dynamics_derivatives import DERIVATIVES
from symgen.vocabulary.functions import FUNCTIONS

LEAST_ANSWER = 1e-20
"""Fraction of the terms. A smaller result counts as zero and is compared with its terms."""


SMALLEST_SIZE = 1e-40
"""Least size in SI units. If every term is zero, such as the weight of a balanced wheel, balls
around zero still have a radius.
"""


class Distance(NamedTuple):
    """Differences (count, …), the sizes of the terms to which they are relative, and the size of
    the result.

    `weights` convert the differences to the units of `answer` and `terms`, in which joints of all
    kinds are comparable.
    """

    difference: Array
    size: Array
    """Per state (count,), or per entry (count, …)."""
    answer: Array
    """Largest magnitude of the result per state (count,)."""
    terms: Array
    """Largest magnitude of the terms per state (count,)."""
    weights: Array | float = 1.0

    @property
    def loss(self) -> float:
        """Return the ratio of terms to result, the median over the states; 1 for a zero result."""
        return _median_ratio(self.terms, self._answer)

    @property
    def observed_error(self) -> float:
        """Return the relative error of the result (relative to the terms for a zero result), the
        median over the states.
        """
        return _median_ratio(largest(self.difference * self.weights), self._answer)

    @property
    def _answer(self) -> Array:
        return np.where(self.answer <= LEAST_ANSWER * self.terms, self.terms, self.answer)


def _median_ratio(share: Array, total: Array) -> float:
    """Return the median of part/whole over the states; 0/0 counts as 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(share == 0, 0.0, share / total)
    return float(np.median(np.where(np.isnan(ratio), np.inf, ratio)))


def entrywise_distance(difference: Array, value: Array, size: Array) -> Distance:
    """Return the distance of a result from its exact `value`, entry by entry relative to its
    natural `size` (count, …).
    """
    return Distance(difference, size, largest(value), largest(size))


def jointwise_distance(
    difference: Array, size: Array, b: Array, exact_results: ExactResults
) -> Distance:
    """Return the distance of a residual M x − b, joint by joint, weighted with 1/√s_j."""
    weights = 1 / exact_results.scales.roots
    return Distance(difference, size, largest(b * weights), largest(size * weights), weights)


def _forward_dynamics(results: Mapping[str, Array], exact_results: ExactResults) -> Distance:
    a, b = results["a"], right_hand_side(exact_results, "a")
    return jointwise_distance(
        times(exact_results.mass_matrix, a) - b,
        exact_results.scales.dynamics_residual(a),
        b,
        exact_results,
    )


def _solve(results: Mapping[str, Array], exact_results: ExactResults) -> Distance:
    return solve_distance(
        exact_results.mass_matrix, results["x"], right_hand_side(exact_results, "x"), exact_results
    )


def solve_distance(mass: Array, x: Array, b: Array, exact_results: ExactResults) -> Distance:
    """Return the distance of x from the solution of M x = b."""
    return jointwise_distance(
        times(mass, x) - b,
        exact_results.scales.roots * exact_results.scales.weighted_sum(x) + np.abs(b.astype(float)),
        b,
        exact_results,
    )


def _inverse(results: Mapping[str, Array], exact_results: ExactResults) -> Distance:
    exact, roots = exact_results.results("inverse_mass_matrix")["Minv"], exact_results.scales.roots
    size, weights = exact_results.scales.inverse(), roots[..., None] * roots[:, None, :]
    return Distance(
        results["Minv"] - exact, size, largest(exact * weights), largest(size * weights), weights
    )


def _columns(by: str, results: Mapping[str, Array], exact_results: ExactResults) -> Distance:
    """Return the distance of ∂a from the solution of M ∂a = −∂ID(a), a column for each coordinate.

    An error of a appears in ∂ID as well, so its size is included.
    """
    name, sizes, v = f"da_d{by}", exact_results.scales, exact_results.floats["v"]
    columns, exact = results[name], exact_results.results("forward_dynamics_derivatives")[name]
    weights = 1 / sizes.roots[..., None]
    size = sizes.roots[..., None] * (
        sizes.roots[:, None, :] @ np.abs(np.asarray(columns, dtype=float))
    )
    size = size + DERIVATIVES[f"dtau_d{by}"](sizes, v, sizes.joint_accelerations())
    b = exact_results.mass_matrix @ exact
    return Distance(
        exact_results.mass_matrix @ (columns - exact),
        size,
        largest(b * weights),
        largest(size * weights),
        weights,
    )


RESIDUALS = ("a", "x")
"""Results x that are checked by the residual of M x = b."""
SOLVED: dict[str, Callable[[Mapping[str, Array], ExactResults], Distance]] = {
    "a": _forward_dynamics,
    "x": _solve,
    "Minv": _inverse,
    "da_dq": partial(_columns, "q"),
    "da_dv": partial(_columns, "v"),
}
"""Results of functions that solve with M: (results over balls, exact results) → distance. All
others have a natural size.
"""


def is_solved(function: str, result: str) -> bool:
    """True if a result is checked by its entry of SOLVED.

    A result of the same name of a derivative, of closed loops or of contacts is not: these have
    their own bounds.
    """
    specification = FUNCTIONS[function]
    return (
        result in SOLVED
        and specification.derivative is None
        and not specification.needs_loops
        and not specification.counts("NT")
    )


def right_hand_side(exact_results: ExactResults, result: str) -> Array:
    """Return b of the equation M x = b that a result of RESIDUALS solves, over balls, (count, …)
    like the result.
    """
    if result == "a":
        with exact_results.scalars.working():
            return np.asarray(exact_results.balls["tau"] - exact_results.bias)
    return exact_results.balls["b"]


def distances(
    function: str,
    results: Mapping[str, Array],
    exact_results: ExactResults,
    by_largest: bool = False,
    bounds: Mapping[str, Array] | None = None,
) -> dict[str, Distance]:
    """Return one distance for each result, relative to its natural size: of each entry, or of the
    largest entry if `by_largest`.

    `bounds` replace the sizes of a derivative's results (`symgen.verification.running_error`).
    """
    with exact_results.scalars.working():
        return {
            name: SOLVED[name](results, exact_results)
            if is_solved(function, name)
            else entrywise_distance(
                values - exact_results.results(function)[name],
                exact_results.results(function)[name],
                natural_size(function, name, exact_results, by_largest, bounds),
            )
            for name, values in results.items()
        }


def natural_size(
    function: str,
    result: str,
    exact_results: ExactResults,
    by_largest: bool,
    bounds: Mapping[str, Array] | None = None,
) -> Array:
    """Return the sizes of a result, (count, …) like the result; with `by_largest`, its largest size
    everywhere.

    `by_largest` is for methods whose result is a difference of larger terms.
    """
    if bounds:
        return bounds[result]
    size = exact_results.scales.of(function, result)
    return (
        np.broadcast_to(largest(size).reshape(-1, *[1] * (size.ndim - 1)), size.shape)
        if by_largest
        else size
    )


def largest_ratio(differences: Array, size: Array) -> tuple[float, int]:
    """Return the largest relative difference over the states, and its state."""
    ratio = largest_ratio_by_state(differences, size)
    return float(ratio.max()), int(ratio.argmax())


def largest_ratio_by_state(differences: Array, size: Array) -> Array:
    """Return the largest relative difference at each state (count,). A size of 0 counts as
    SMALLEST_SIZE; NaN counts as infinite.

    `size` is one number a state (count,), or one an entry of the differences.
    """
    entrywise = size.ndim > 1
    magnitudes = upper_magnitudes(differences) if entrywise else largest(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = magnitudes / np.where(size == 0, SMALLEST_SIZE, size)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return np.asarray(ratio.reshape(len(ratio), -1).max(axis=-1))
