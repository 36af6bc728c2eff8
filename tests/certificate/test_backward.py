"""Backward error of an elimination of two or three joints with given errors, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import flint
import numpy as np
import pytest

from symgen.certificate.backward import (
    ROUNDINGS,
    Backward,
    Rates,
    _length,
    backward,
    closed_root,
    constant_roots,
    open_root,
    relative_error,
)
from symgen.certificate.bodies import Ball
from symgen.certificate.elimination import Elimination, Product, Sum
from symgen.certificate.intervals import Interval
from symgen.certificate.rounding import Arithmetic, Rounded
from symgen.certificate.samples import Pair

ARITHMETIC = Arithmetic("float")
U = 2.0**-24
"""Unit round-off of float."""
LARGEST = 9.0


def gamma(n: int) -> float:
    return n * U / (1 - n * U)


class Given:
    """Energies of joints in a row: joint k is coupled with all later ones."""

    def __init__(
        self,
        masses: list[float],
        rates: Mapping[int, Mapping[int, float]] | str = "",
        locked: Mapping[int, Mapping[int, float]] | None = None,
    ) -> None:
        self.masses = masses
        self.given_rates, self.given_locked = balls(rates), balls(locked)

    @property
    def joints(self) -> range:
        return range(len(self.masses))

    def name(self, k: int) -> str:
        return f"hinge {k}"

    def composite(self, k: int) -> Ball:
        return flint.arb(self.masses[k])

    def outward(self, k: int) -> list[int]:
        return [*range(k, len(self.masses))]

    def rates(self, k: int) -> Any:
        return self.given_rates

    def locked(self, k: int, rates: Rates) -> Any:
        assert rates is self.given_rates
        return self.given_locked


def balls(rates: Any) -> Any:
    if not isinstance(rates, Mapping):
        return rates
    return {b: {c: flint.arb(x) for c, x in row.items()} for b, row in rates.items()}


def elimination(
    sums: Mapping[Pair, Sum], pivots: Mapping[int, int], merged: frozenset[int] = frozenset()
) -> Elimination:
    return Elimination(pivots, sums, {}, frozenset(), merged)


def error_of(
    bodies: Given, data: Mapping[Pair, float], growth: float, pivots: Mapping[int, int] = {}
) -> Backward:
    """Return errors `data` of the entries, each with γ = `growth`."""
    return Backward(
        elimination(dict.fromkeys(data, Sum()), pivots),
        bodies,
        {pair: flint.arb(x) for pair, x in data.items()},
        {pair: flint.arb(growth) for pair in data},
        flint.arb(LARGEST),
    )


def number(ball: Any) -> float:
    assert not isinstance(ball, str), ball
    assert ball is not None
    return float(ball.mid())


# -- errors of entries --


def rounded(error: list[float], size: float) -> Rounded:
    """Return a row over two cells; `size` is that of the computed values."""
    exact = Interval(np.array([0.0, 0.0]), np.array([size - error[0], size - error[1]]))
    return Rounded(exact, np.array(error))


def test_the_error_of_an_entry_is_that_of_its_leaves_and_of_their_additions() -> None:
    """Two leaves at most two additions deep; of each the worst cell counts. γ counts the additions
    and four roundings of a product.
    """
    rows = {5: rounded([1e-6, 3e-6], 2.0), 7: rounded([0.0, 1e-5], 4.0)}
    sums = {(0, 0): Sum((5, 7), (), 2, 0), (0, 1): Sum((), (), 0, 0)}
    error = backward(elimination(sums, {}), Given([1.0, LARGEST, 4.0]), rows, ARITHMETIC)
    assert number(error.largest) == LARGEST
    expected = 3e-6 + 1e-5 + gamma(2) * (2 + 4)
    assert number(error.data[0, 0]) == pytest.approx(expected, rel=1e-12)
    assert number(error.data[0, 1]) == 0
    assert number(error.gamma[0, 0]) == pytest.approx(gamma(2 + 4), rel=1e-12, abs=0)
    assert number(error.gamma[0, 1]) == pytest.approx(gamma(4), rel=1e-12, abs=0)
    assert ROUNDINGS == 4


def test_underflow_counts_in_every_operation_and_twice_in_products() -> None:
    """Four times the smallest number for each of 3 operations, and for each of 2 products as often
    as twice 1 + 2 · 9.
    """
    product = Product(1, (0, 1), 1, (0, 1), 1)
    sums = {(0, 0): Sum((), (product, product), 1, 3)}
    error = backward(elimination(sums, {}), Given([LARGEST, 1.0]), {}, ARITHMETIC)
    tiny = float(ARITHMETIC.underflow)
    assert 0 < tiny < 1e-37
    expected = 4 * tiny * (3 + 2 * 2 * (1 + 2 * LARGEST))
    assert number(error.data[0, 0]) == pytest.approx(expected, rel=1e-12, abs=0)


# -- roots --


@pytest.mark.parametrize(
    ("mass", "data", "growth", "square"),
    [
        (4.0, 0.5, 0.25, 6.0),
        (4.0, 0.0, 0.0, 4.0),
        (12.0, 1.0, 0.25, 13 / 0.75),
        (12.0, 2.0, 0.25, None),  # more than twice the largest, 18
    ],
)
def test_a_closed_root_is_that_of_the_entry_and_its_error(
    mass: float, data: float, growth: float, square: float | None
) -> None:
    root = closed_root(error_of(Given([mass]), {(0, 0): data}, growth), 0)
    if square is None:
        assert root is None
    else:
        assert number(root) == pytest.approx(sqrt(square), rel=1e-14)


def test_constant_pivots_have_closed_roots() -> None:
    """Joint 1 has a divisor, joint 3 no entry, and that of joint 2 is too large."""
    data = {(0, 0): 0.0, (1, 1): 0.0, (2, 2): 0.0, (0, 2): 5.0}
    roots = constant_roots(error_of(Given([4.0, 4.0, 30.0, 1.0]), data, 0.25, {1: 8}))
    assert roots.keys() == {0}
    assert number(roots[0]) == pytest.approx(sqrt(4 / 0.75))


RATES = {0: {0: 0.5, 1: 0.25}, 1: {1: 2.0}}
"""|v₀| ≤ e₀/2 + e₁/4 and |v₁| ≤ 2 e₁."""
LOCKED = {1: {1: 0.75, 2: 0.25}}
DATA: dict[Pair, float] = {(0, 0): 1 / 16, (0, 1): 1 / 32, (1, 1): 1 / 64}


def test_an_open_root_counts_the_joints_further_out() -> None:
    """η of joint 1 is the norm of Cᵀ E C with C = (3/4, 1/4): a row sum of 3/4 E (3/4 + 1/4). The
    coupling adds ‖C‖ E₀₁, in which t itself stands with γ t₁.
    """
    growth, t1 = 1 / 128, 2.0
    error = error_of(Given([4.0, 1.0], RATES, LOCKED), DATA, growth)
    eta = 0.75 * (1 / 64 + growth * t1**2) * 1.0
    length = sqrt(0.75**2 + 0.25**2)
    share = length * growth * t1 / sqrt(1 - eta)
    expected = (2 + length / 32) / sqrt(1 - eta) / (1 - share)
    roots = {1: flint.arb(t1)}
    root = open_root(error, 0, error.bodies.rates(0), roots)  # type: ignore[arg-type]
    assert number(root) == pytest.approx(expected, rel=1e-13)


def test_an_open_root_without_coupling_is_that_of_its_entry() -> None:
    """The square of 9 is below twice the largest, 18, and that of 25 is above."""
    for mass, expected in ((9.0, 3.0), (25.0, None)):
        error = error_of(Given([mass], RATES, {}), {(0, 0): 1.0}, 0.5)
        root = open_root(error, 0, error.bodies.rates(0), {})  # type: ignore[arg-type]
        assert (None if root is None else number(root)) == expected


EXACT: dict[Pair, float] = {(0, 0): 0.0, (0, 1): 0.0, (1, 1): 0.0}


@pytest.mark.parametrize(
    ("data", "growth", "locked"),
    [
        (DATA, 1 / 128, None),  # the locked joints have no rates
        ({**DATA, (1, 1): 1.5}, 1 / 128, LOCKED),  # η is above 1
        (EXACT, 0.25, {1: {2: 0.9}}),  # so is γ t₁ ‖C‖/√(1 − η)
        (EXACT, 8.0, {1: {2: 0.1}}),  # with the root 2/√0.68/(1 − 1.94) = −2.6
    ],
)
def test_an_open_root_is_unknown_if_errors_are_too_large(
    data: dict[Pair, float], growth: float, locked: Any
) -> None:
    error = error_of(Given([4.0, 1.0], RATES, locked), data, growth)
    roots = {1: flint.arb(2.0)}
    assert open_root(error, 0, error.bodies.rates(0), roots) is None  # type: ignore[arg-type]
    if growth == 0.25:  # 0.9 · 0.25 · 2/√(1 − 0.81) = 1.03, and with a smaller t₁ it is 0.4
        smaller = {1: flint.arb(1.0)}
        assert open_root(error, 0, error.bodies.rates(0), smaller) is not None  # type: ignore[arg-type]


# -- relative errors of pivots --


def test_the_relative_error_of_a_pivot_is_the_norm_of_the_errors_in_rates_of_energy() -> None:
    """The row sums of Cᵀ E C are those of C_ic E_ij Σ C_j."""
    growth, t1 = 1 / 128, 2.0
    error = error_of(Given([4.0, 1.0], RATES, LOCKED), DATA, growth)
    t0 = number(open_root(error, 0, error.bodies.rates(0), {1: flint.arb(t1)}))  # type: ignore[arg-type]
    E00 = 1 / 16 + growth * t0 * t0
    E01 = 1 / 32 + growth * t0 * t1
    E11 = 1 / 64 + growth * t1 * t1
    C = np.array([[0.5, 0.25], [0.0, 2.0]])
    expected = (C.T @ np.array([[E00, E01], [E01, E11]]) @ C).sum(axis=1).max()
    eta = relative_error(error, 0, {1: flint.arb(t1)})
    assert number(eta) == pytest.approx(expected, rel=1e-13)


def test_an_entry_that_the_elimination_lacks_has_no_error() -> None:
    error = error_of(Given([4.0], {0: {0: 0.5}}, {}), {(0, 0): 0.0}, 1 / 128)
    assert number(relative_error(error, 0, {})) == pytest.approx(0.25 * 4 / 128)
    two = error_of(
        Given([4.0, 1.0], {0: {0: 0.5}, 1: {0: 3.0}}, {1: {0: 0.0}}),
        {(0, 0): 0.0, (1, 1): 0.0},
        1 / 128,
    )
    eta = relative_error(two, 0, {1: flint.arb(2.0)})
    assert number(eta) == pytest.approx(0.25 * 4 / 128 + 9 * 4 / 128)


def test_reasons_why_a_pivot_has_no_relative_error() -> None:
    error = error_of(Given([4.0, 1.0], "no rates"), DATA, 0.0)
    assert relative_error(error, 0, {}) == "no rates"
    error = error_of(Given([4.0, 1.0], RATES, LOCKED), DATA, 0.0)
    assert relative_error(error, 0, {}) == "the pivot of hinge 1 has no bound"
    error = error_of(Given([4.0, 1.0], RATES, None), DATA, 0.0)
    reason = relative_error(error, 0, {1: flint.arb(1)})
    assert reason == "round-off of the joints further out is too large"


def test_a_merged_joint_needs_no_pivot() -> None:
    """Joint 1 has no entry, so that nothing is asked of it."""
    error = error_of(Given([4.0, 1.0], {0: {0: 0.5}, 1: {1: 9.0}}, {}), {(0, 0): 0.25}, 0.0)
    assert number(relative_error(error, 0, {})) == pytest.approx(0.25 * 0.25)


def test_lengths_are_taken_over_bodies_with_the_sums_of_all_entries() -> None:
    """(3/4 · 2 + 1 · 4)² + (1/4 · 2)²; entry 2 is in no vector."""
    rates = balls({0: {0: 0.75, 1: 0.25}, 1: {0: 1.0}, 2: {3: 8.0}})
    vector = {0: flint.arb(2), 1: flint.arb(4)}
    assert number(_length(rates, vector)) == pytest.approx(sqrt(5.5**2 + 0.5**2))
    assert number(_length(rates, {})) == 0
