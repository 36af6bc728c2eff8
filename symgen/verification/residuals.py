"""How far results are from the truth, and what that distance is relative to.

Most results are compared entry by entry. A function that solves with the mass matrix is judged by its residual. Near a singular M
the answer itself is ill-conditioned, but a correct method keeps the residual small. It is judged joint by joint, each against its
own terms.

M⁻¹ is judged entry by entry as well, by what the round-off of M's entries does to it. It is symmetric, and each half of it is
made once. So its columns do not come from one elimination each, and no column has a small residual: an entry may be off by what
M allows, where the rest of its column is off by something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.precision import Array
from symgen.verification.magnitude import above, largest
from symgen.verification.scales.dynamics_derivatives import DERIVATIVES
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import FUNCTIONS

LEAST_ANSWER = 1e-20
"""Share of its terms. An answer no larger than this counts as zero, and is compared with the terms instead."""


NOTHING = 1e-40
"""In SI units. Where every term is zero, as the weight of a balanced wheel, the balls round zero still have a radius."""


class Distance(NamedTuple):
    """Differences (count, …), the size of the terms that they are relative to, and the answer that those terms leave over.

    `weights` bring the differences to the units of `answer` and `terms`, in which joints of all kinds can be compared.
    """

    difference: Array
    size: Array
    """Per state (count,), or per entry (count, …)."""
    answer: Array
    """Its largest magnitude per state (count,)."""
    terms: Array
    """The largest of its terms per state (count,)."""
    weights: Array | float = 1.0

    @property
    def loss(self) -> float:
        """How many times larger the terms are than the answer, at half of the states or more; 1 for an answer of zero."""
        return _usual(self.terms, self._answer)

    @property
    def seen(self) -> float:
        """How far off the result is, relative to the answer (to the terms of a zero), at half of the states or more."""
        return _usual(largest(self.difference * self.weights), self._answer)

    @property
    def _answer(self) -> Array:
        return np.where(self.answer <= LEAST_ANSWER * self.terms, self.terms, self.answer)


def _usual(part: Array, whole: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(part == 0, 0.0, part / whole)
    return float(np.median(np.where(np.isnan(ratio), np.inf, ratio)))


def entries(difference: Array, value: Array, size: Array) -> Distance:
    """Of a result that is compared with its exact `value`, entry by entry of the natural `size` (count, …)."""
    return Distance(difference, size, largest(value), largest(size))


def driven(difference: Array, size: Array, b: Array, truth: Truth) -> Distance:
    """Of a residual M x − b, joint by joint, weighed with 1/√s_j."""
    weights = 1 / truth.scales.roots
    return Distance(difference, size, largest(b * weights), largest(size * weights), weights)


def _forward_dynamics(results: Mapping[str, Array], truth: Truth) -> Distance:
    a, b = results["a"], right(truth, "a")
    return driven(times(truth.mass_matrix, a) - b, truth.scales.driven(a), b, truth)


def _solve(results: Mapping[str, Array], truth: Truth) -> Distance:
    return solved(truth.mass_matrix, results["x"], right(truth, "x"), truth)


def solved(mass: Array, x: Array, b: Array, truth: Truth) -> Distance:
    """M x = b."""
    return driven(
        times(mass, x) - b,
        truth.scales.roots * truth.scales.weighed(x) + np.abs(b.astype(float)),
        b,
        truth,
    )


def _inverse(results: Mapping[str, Array], truth: Truth) -> Distance:
    exact, roots = truth.results("inverse_mass_matrix")["Minv"], truth.scales.roots
    size, weights = truth.scales.inverse(), roots[..., None] * roots[:, None, :]
    return Distance(
        results["Minv"] - exact, size, largest(exact * weights), largest(size * weights), weights
    )


def _columns(by: str, results: Mapping[str, Array], truth: Truth) -> Distance:
    """M ∂a = −∂ID(a), a column for each coordinate. What a is off by, it is off by in ∂ID as well."""
    name, sizes, v = f"da_d{by}", truth.scales, truth.floats["v"]
    found, exact = results[name], truth.results("forward_dynamics_derivatives")[name]
    weights = 1 / sizes.roots[..., None]
    size = sizes.roots[..., None] * (
        sizes.roots[:, None, :] @ np.abs(np.asarray(found, dtype=float))
    )
    size = size + DERIVATIVES[f"dtau_d{by}"](sizes, v, sizes.joint_accelerations())
    b = truth.mass_matrix @ exact
    return Distance(
        truth.mass_matrix @ (found - exact),
        size,
        largest(b * weights),
        largest(size * weights),
        weights,
    )


RESIDUALS = ("a", "x")
"""Results x judged by the residual of M x = b."""
SOLVED: dict[str, Callable[[Mapping[str, Array], Truth], Distance]] = {
    "a": _forward_dynamics,
    "x": _solve,
    "Minv": _inverse,
    "da_dq": partial(_columns, "q"),
    "da_dv": partial(_columns, "v"),
}
"""Results of a function that solves with M: (results over balls, truth) → distance. The rest have a natural size of their own."""


def solves(function: str, result: str) -> bool:
    """Whether a result is judged as SOLVED says. One of a derivative or of loops is not, whatever its name: it has bounds of its
    own; nor is one of contacts."""
    what = FUNCTIONS[function]
    return (
        result in SOLVED
        and what.derivative is None
        and not what.needs_loops
        and not what.counts("NT")
    )


def right(truth: Truth, result: str) -> Array:
    """b of the equation M x = b that a result of RESIDUALS solves, over balls, (count, …) as the result is."""
    if result == "a":
        with truth.scalars.working():
            return np.asarray(truth.balls["tau"] - truth.bias)
    return truth.balls["b"]


def distances(
    function: str,
    results: Mapping[str, Array],
    truth: Truth,
    whole: bool = False,
    bounds: Mapping[str, Array] | None = None,
) -> dict[str, Distance]:
    """One distance a result, in units of its natural size: of each entry, or of the `whole` result's largest.

    `bounds` stand for the sizes of a derivative's results (`symgen.verification.running_error`).
    """
    with truth.scalars.working():
        return {
            name: SOLVED[name](results, truth)
            if solves(function, name)
            else entries(
                values - truth.results(function)[name],
                truth.results(function)[name],
                natural(function, name, truth, whole, bounds),
            )
            for name, values in results.items()
        }


def natural(
    function: str, result: str, truth: Truth, whole: bool, bounds: Mapping[str, Array] | None = None
) -> Array:
    """Sizes of a result, (count, …) as it is. An answer that is a difference of larger terms is judged by the `whole`."""
    if bounds:
        return bounds[result]
    size = truth.scales.of(function, result)
    return (
        np.broadcast_to(largest(size).reshape(-1, *[1] * (size.ndim - 1)), size.shape)
        if whole
        else size
    )


def worst(differences: Array, size: Array) -> tuple[float, int]:
    """Largest relative difference over the states and the state it occurs at: see `by_state`."""
    ratio = by_state(differences, size)
    return float(ratio.max()), int(ratio.argmax())


def by_state(differences: Array, size: Array) -> Array:
    """Largest relative difference at each state (count,); a size of 0 counts as NOTHING, NaN is infinite.

    `size` is one number a state (count,), or one an entry, as many as there are differences.
    """
    each = size.ndim > 1
    found = above(differences) if each else largest(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = found / np.where(size == 0, NOTHING, size)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return np.asarray(ratio.reshape(len(ratio), -1).max(axis=-1))
