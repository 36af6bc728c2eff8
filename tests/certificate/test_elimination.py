"""Reading of single rows as an elimination of matrices of two or three joints with given values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

from symgen.certificate.elimination import (
    Elimination,
    NoElimination,
    Product,
    Sum,
    _check_absent,
    _check_merged,
    _Reader,
    read_elimination,
)
from symgen.certificate.samples import Pair, Samples, eliminate
from symgen.ir.program import Row
from symgen.reference.precision import arb

SCALARS = arb(80)
STATES = 3
Numbers = Sequence[int | Fraction]
FULL: dict[Pair, Numbers] = {
    (0, 0): (90, 80, 70),
    (0, 1): (3, 5, -2),
    (0, 2): (2, -3, 7),
    (1, 1): (30, 40, 50),
    (1, 2): (6, 4, 1),
    (2, 2): (20, 10, 30),
}
"""Entries of a matrix at three states."""


class Rows:
    """Rows of a Program with their values at the states, beside the elimination of a matrix."""

    def __init__(self, matrix: Mapping[Pair, Numbers]) -> None:
        self.matrix, self.n = matrix, 1 + max(k for _, k in matrix)
        self.rows: list[Row] = []
        self.values: list[tuple[Any, ...]] = []

    def _add(self, row: Row, values: Any) -> int:
        with SCALARS.working():
            self.values.append(tuple(values))
        self.rows.append(row)
        return len(self.rows) - 1

    def entry(self, i: int, k: int) -> int:
        """Add a row with the values of an entry of the matrix."""
        return self.numbers(self.matrix[i, k])

    def numbers(self, numbers: Numbers) -> int:
        return self._add(Row("input", ()), (SCALARS.constant(Fraction(x)) for x in numbers))

    def const(self, number: Fraction | int) -> int:
        value = Fraction(number)
        return self._add(Row("const", (), value), [SCALARS.constant(value)] * STATES)

    def __call__(self, op: str, a: int, b: int | None = None) -> int:
        functions: dict[str, Callable[[Any, Any], Any]] = {
            "add": lambda x, y: x + y,
            "sub": lambda x, y: x - y,
            "mul": lambda x, y: x * y,
            "div": lambda x, y: x / y,
            "neg": lambda x, _: -x,
        }
        second = a if b is None else b
        args = (a,) if b is None else (a, b)
        with SCALARS.working():
            pairs = zip(self.values[a], self.values[second], strict=True)
            return self._add(Row(op, args), [functions[op](x, y) for x, y in pairs])

    def recognised(self, pivots: Mapping[int, int]) -> Any:
        """Return the recognition of the rows with the pivots' rows by joint."""
        with SCALARS.working():
            M = np.empty((STATES, self.n, self.n), dtype=object)
            for i in range(self.n):
                for k in range(self.n):
                    numbers = self.matrix.get((min(i, k), max(i, k)), (0,) * STATES)
                    M[:, i, k] = [SCALARS.constant(Fraction(x)) for x in numbers]
            supports = [[i for i in range(k + 1) if (i, k) in self.matrix] for k in range(self.n)]
            samples = Samples(
                SimpleNamespace(),  # type: ignore[arg-type]
                tuple(self.values),
                eliminate(M, supports),
                flint.arb(100),
                SimpleNamespace(scalars=SCALARS),  # type: ignore[arg-type]
                {},
            )
        divisors = {row: joint for joint, row in pivots.items()}
        return SimpleNamespace(rows=self.rows, samples=samples, divisors=divisors | {-1: None})

    def read(self, pivots: Mapping[int, int]) -> Elimination:
        return read_elimination(self.recognised(pivots))

    def refusal(self, pivots: Mapping[int, int]) -> str:
        with pytest.raises(NoElimination) as refused:
            self.read(pivots)
        return str(refused.value)


TWO = {pair: FULL[pair] for pair in ((0, 0), (0, 1), (1, 1))}

# -- one product --


def by_division(rows: Rows, coupling: int, pivot: int) -> int:
    return rows("div", coupling, pivot)


def by_reciprocal(rows: Rows, coupling: int, pivot: int) -> int:
    return rows("mul", coupling, rows("div", rows.const(1), pivot))


def by_reciprocal_first(rows: Rows, coupling: int, pivot: int) -> int:
    return rows("mul", rows("div", rows.const(1), pivot), coupling)


def negated(rows: Rows, coupling: int, pivot: int) -> int:
    return rows("mul", coupling, rows("div", rows.const(-1), pivot))


@pytest.mark.parametrize("form", [by_division, by_reciprocal, by_reciprocal_first, negated])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("negations", [0, 1, 2])
def test_a_multiplier_may_be_written_in_any_way(
    form: Callable[[Rows, int, int], int], swapped: bool, negations: int
) -> None:
    """D₀ = M₀₀ − α M₀₁: one addition above the leaf and the product, and two operations."""
    rows = Rows(TWO)
    leaf, coupling, pivot = rows.entry(0, 0), rows.entry(0, 1), rows.entry(1, 1)
    alpha = form(rows, coupling, pivot)
    sign = -1 if form is negated else 1
    for _ in range(negations):
        alpha, sign = rows("neg", alpha), -sign
    product = rows("mul", *((coupling, alpha) if swapped else (alpha, coupling)))
    last = rows("sub" if sign > 0 else "add", leaf, product)
    elimination = rows.read({1: pivot, 0: last})
    expected = Product(1, (0, 1), coupling, (0, 1), coupling)
    assert elimination.sums == {
        (0, 0): Sum((leaf,), (expected,), 1, 2),
        (0, 1): Sum((coupling,), (), 0, 0),
        (1, 1): Sum((pivot,), (), 0, 0),
    }
    assert elimination.rows == {(0, 0): last, (0, 1): coupling, (1, 1): pivot}
    assert elimination.pivots == {1: pivot, 0: last}
    assert elimination.joints == {0, 1}
    assert not elimination.exact
    assert not elimination.merged


def test_a_sum_without_products_is_one_leaf() -> None:
    rows = Rows(TWO)
    half = rows.numbers([Fraction(x, 2) for x in TWO[0, 0]])
    leaf = rows("add", half, half)
    coupling, pivot = rows.entry(0, 1), rows.entry(1, 1)
    product = rows("mul", rows("div", coupling, pivot), coupling)
    total = rows("sub", rows("neg", product), rows("neg", leaf))
    (entry_sum,) = [rows.read({1: pivot, 0: total}).sums[0, 0]]
    assert entry_sum.leaves == (leaf,)
    assert (entry_sum.depth, entry_sum.operations) == (1, 2)


MERGED = "the rows do not eliminate the matrix entry by entry"
OTHERS: dict[str, tuple[Callable[[Rows, int, int], int], str]] = {
    "a copy of the pivot": (lambda rows, x, _: rows("div", x, rows.entry(1, 1)), MERGED),
    "its reciprocal": (
        lambda rows, x, _: rows("mul", x, rows("div", rows.const(1), rows.entry(1, 1))),
        MERGED,
    ),
    "given numbers": (
        lambda rows, *_: rows.numbers([Fraction(3, 30), Fraction(5, 40), Fraction(-2, 50)]),
        MERGED,
    ),
    "half over half": (
        lambda rows, x, pivot: rows(
            "mul",
            rows("mul", x, rows.const(Fraction(1, 2))),
            rows("div", rows.const(2), pivot),
        ),
        MERGED,
    ),
    "a copy of the entry": (
        lambda rows, _, pivot: rows("div", rows.entry(0, 1), pivot),
        "entry (1,2) of the elimination is computed twice",
    ),
}


@pytest.mark.parametrize(("multiplier", "reason"), OTHERS.values(), ids=OTHERS)
def test_other_rows_with_the_value_of_a_multiplier_are_no_elimination(
    multiplier: Callable[[Rows, int, int], int], reason: str
) -> None:
    rows = Rows(TWO)
    leaf, coupling, pivot = rows.entry(0, 0), rows.entry(0, 1), rows.entry(1, 1)
    product = rows("mul", multiplier(rows, coupling, pivot), coupling)
    assert rows.refusal({1: pivot, 0: rows("sub", leaf, product)}) == reason


def test_a_product_may_not_be_added_nor_counted_twice() -> None:
    rows = Rows(TWO)
    leaf, coupling, pivot = rows.entry(0, 0), rows.entry(0, 1), rows.entry(1, 1)
    product = rows("mul", rows("div", coupling, pivot), coupling)
    numbers = zip(*(TWO[pair] for pair in TWO), strict=True)
    larger = rows.numbers([m + Fraction(x) ** 2 / d for m, x, d in numbers])  # M₀₀ + P
    twice = rows("sub", rows("sub", larger, product), product)
    assert rows.refusal({1: pivot, 0: twice}) == "entry (1,1) has a product twice"
    added = rows("add", rows("sub", rows("sub", leaf, product), product), product)
    assert "product twice" in rows.refusal({1: pivot, 0: added})
    numbers = zip(*(TWO[pair] for pair in TWO), strict=True)
    smaller = rows.numbers([m - 2 * Fraction(x) ** 2 / d for m, x, d in numbers])
    assert rows.refusal({1: pivot, 0: rows("add", smaller, product)}) == MERGED


@pytest.mark.parametrize("first", [True, False])
def test_depths_are_those_of_nested_additions(first: bool) -> None:
    """((x − P) + y) + z, with the sums on either side."""
    rows = Rows(TWO)
    x, y = rows.numbers([1, 2, 3]), rows.numbers([2, 1, 7])
    z = rows.numbers([m - a - b for m, a, b in zip(TWO[0, 0], (1, 2, 3), (2, 1, 7), strict=True)])
    coupling, pivot = rows.entry(0, 1), rows.entry(1, 1)
    total = rows("sub", x, rows("mul", rows("div", coupling, pivot), coupling))
    for leaf in (y, z):
        total = rows("add", *((total, leaf) if first else (leaf, total)))
    entry_sum = rows.read({1: pivot, 0: total}).sums[0, 0]
    assert entry_sum.leaves == ((x, y, z) if first else (z, y, x))
    assert (entry_sum.depth, entry_sum.operations) == (3, 4)


# -- several products --


def full(order: str = "left") -> tuple[Rows, dict[str, int], dict[int, int]]:
    """Return the elimination of a full matrix of three joints, its rows by name, and the pivots."""
    rows, at = Rows(FULL), {}
    for i, k in FULL:
        at[f"M{i}{k}"] = rows.entry(i, k)
    for i in (0, 1):
        at[f"a{i}2"] = rows("div", at[f"M{i}2"], at["M22"])
    at["D1"] = rows("sub", at["M11"], rows("mul", at["a12"], at["M12"]))
    # α₁₂ M₀₂ and α₀₂ M₁₂ have one value
    coupling = ("a12", "M02") if order == "left" else ("a02", "M12")
    at["R01"] = rows("sub", at["M01"], rows("mul", *(at[x] for x in coupling)))
    outer = rows("mul", at["a02"], at["M02"])
    inner = rows("mul", rows("div", at["R01"], at["D1"]), at["R01"])
    at["D0"] = (
        rows("sub", rows("sub", at["M00"], outer), inner)
        if order == "left"
        else rows("sub", at["M00"], rows("add", inner, outer))
    )
    return rows, at, {2: at["M22"], 1: at["D1"], 0: at["D0"]}


@pytest.mark.parametrize("order", ["left", "right"])
def test_every_entry_has_the_products_of_the_joints_further_out(order: str) -> None:
    rows, at, pivots = full(order)
    elimination = rows.read(pivots)
    M02, M12, R01 = (at[name] for name in ("M02", "M12", "R01"))
    diagonal = Product(2, (0, 2), M02, (0, 2), M02)
    last = Product(1, (0, 1), R01, (0, 1), R01)
    factor, entry = ((1, 2), (0, 2)) if order == "left" else ((0, 2), (1, 2))
    side = Product(
        2, factor, M12 if order == "left" else M02, entry, M02 if order == "left" else M12
    )
    products = (diagonal, last) if order == "left" else (last, diagonal)
    assert elimination.sums == {
        (0, 0): Sum((at["M00"],), products, 2, 4),
        (0, 1): Sum((at["M01"],), (side,), 1, 2),
        (1, 1): Sum((at["M11"],), (Product(2, (1, 2), M12, (1, 2), M12),), 1, 2),
        (0, 2): Sum((M02,), (), 0, 0),
        (1, 2): Sum((M12,), (), 0, 0),
        (2, 2): Sum((at["M22"],), (), 0, 0),
    }
    assert elimination.sums[0, 0].over == {1, 2}


@pytest.mark.parametrize("absent", [(0, 2), (1, 2)])
def test_entries_of_joints_that_are_not_coupled_have_no_products(absent: Pair) -> None:
    """A leaf may be a product of further numbers."""
    matrix = {pair: numbers for pair, numbers in FULL.items() if pair != absent}
    rows = Rows(matrix)
    inner_joint = 1 if absent == (0, 2) else 0
    M00, M11, M22 = (rows.entry(k, k) for k in range(3))
    M01 = rows("mul", rows.numbers([Fraction(x, 2) for x in FULL[0, 1]]), rows.const(2))
    side = rows.entry(inner_joint, 2)
    outer = rows("mul", rows("div", side, M22), side)
    D1 = rows("sub", M11, outer) if inner_joint == 1 else M11
    inner = rows("mul", rows("div", M01, D1), M01)
    D0 = rows("sub", M00, inner)
    if inner_joint == 0:
        D0 = rows("sub", D0, outer)
    elimination = rows.read({2: M22, 1: D1, 0: D0})
    assert elimination.sums[0, 1] == Sum((M01,), (), 0, 0)
    over = {pair: set(entry_sum.over) for pair, entry_sum in elimination.sums.items()}
    assert over[inner_joint, inner_joint] == ({2} if inner_joint == 1 else {1, 2})
    assert over[1 - inner_joint, 1 - inner_joint] == ({1} if inner_joint == 1 else set())


# -- constant pivots --

COSINES = (Fraction(1, 2), Fraction(3, 5), Fraction(-4, 5))
CONSTANT: dict[Pair, Numbers] = {
    (0, 0): (90, 80, 70),
    (0, 1): tuple(4 * c for c in COSINES),
    (1, 1): (4, 4, 4),
}
"""The outer pivot is 4, and α is a cosine."""


def test_a_multiple_of_the_multiplier_is_an_entry_over_a_constant_pivot() -> None:
    for swapped in (False, True):
        rows = Rows(CONSTANT)
        leaf, cosine, four = rows.entry(0, 0), rows.numbers(COSINES), rows.const(4)
        entry = rows("mul", *((four, cosine) if swapped else (cosine, four)))
        total = rows("sub", leaf, rows("mul", cosine, entry))
        elimination = rows.read({0: total})
        assert elimination.sums == {
            (0, 0): Sum((leaf,), (Product(1, (0, 1), entry, (0, 1), entry),), 1, 2),
            (0, 1): Sum((entry,), (), 0, 0),
            (1, 1): Sum((), (), 0, 0),
        }
        assert elimination.exact == {(1, 1)}
        assert elimination.pivots == {0: total}
        assert elimination.joints == {0, 1}
        assert not elimination.merged


@pytest.mark.parametrize("swapped", [False, True])
def test_an_entry_times_a_constant_is_its_multiplier(swapped: bool) -> None:
    rows = Rows(CONSTANT)
    leaf, entry, quarter = rows.entry(0, 0), rows.entry(0, 1), rows.const(Fraction(1, 4))
    alpha = rows("mul", *((quarter, entry) if swapped else (entry, quarter)))
    total = rows("sub", leaf, rows("mul", alpha, entry))
    elimination = rows.read({0: total})
    assert elimination.sums[0, 0].products == (Product(1, (0, 1), entry, (0, 1), entry),)
    assert elimination.rows[0, 1] == entry


def test_a_pivot_of_one_has_its_entries_for_multipliers() -> None:
    unit: dict[Pair, Numbers] = {**CONSTANT, (0, 1): COSINES, (1, 1): (1, 1, 1)}
    rows = Rows(unit)
    leaf, entry = rows.entry(0, 0), rows.entry(0, 1)
    elimination = rows.read({0: rows("sub", leaf, rows("mul", entry, entry))})
    assert elimination.sums[0, 0].products == (Product(1, (0, 1), entry, (0, 1), entry),)


def test_a_joint_whose_products_are_part_of_the_leaves_is_merged() -> None:
    """The reduced entry itself is a leaf: M₀₀ − 4 c²."""
    rows = Rows(CONSTANT)
    numbers = [m - 4 * c * c for m, c in zip(CONSTANT[0, 0], COSINES, strict=True)]
    total = rows.numbers(numbers)
    elimination = rows.read({0: total})
    assert elimination.merged == {1}
    assert elimination.sums == {(0, 0): Sum((total,), (), 0, 0)}
    assert elimination.joints == {0}
    assert not elimination.exact


def test_products_over_a_divided_pivot_may_not_be_missing() -> None:
    rows = Rows(TWO)
    numbers = [m - Fraction(c) ** 2 / d for m, c, d in zip(*(TWO[p] for p in TWO), strict=True)]
    total, pivot = rows.numbers(numbers), rows.entry(1, 1)
    assert rows.refusal({0: total, 1: pivot}) == MERGED


STEPS: dict[Pair, Numbers] = {
    (0, 0): (90, 80, 70),
    (0, 1): (3, 5, -2),
    (0, 2): tuple(4 * c for c in COSINES),
    (1, 1): (30, 40, 50),
    (1, 2): (2, 2, 2),
    (2, 2): (4, 4, 4),
}
"""The last pivot is 4, and joint 1 has the constant multiplier 1/2 over it."""


def stepped(inner_constant: bool) -> tuple[Rows, dict[str, int], dict[int, int]]:
    """Return an elimination in which the product of joint 1 over joint 2, 1, is part of a leaf, and
    those of joint 0 are not.
    """
    matrix = STEPS if inner_constant else {**STEPS, (1, 2): (2, 3, 2)}
    rows, at = Rows(matrix), {}
    side = matrix[1, 2]
    reduced = [m - Fraction(x) ** 2 / 4 for m, x in zip(matrix[1, 1], side, strict=True)]
    at["D1"] = rows.numbers(reduced)
    cosine, four = rows.numbers(COSINES), rows.const(4)
    at["M02"] = rows("mul", cosine, four)
    alpha = (
        rows.const(Fraction(1, 2))
        if inner_constant
        else rows("mul", rows.entry(1, 2), rows.const(Fraction(1, 4)))
    )
    at["M01"], at["M00"] = rows.entry(0, 1), rows.entry(0, 0)
    at["R01"] = rows("sub", at["M01"], rows("mul", alpha, at["M02"]))
    outer = rows("mul", cosine, at["M02"])
    inner = rows("mul", rows("div", at["R01"], at["D1"]), at["R01"])
    at["D0"] = rows("sub", rows("sub", at["M00"], outer), inner)
    return rows, at, {1: at["D1"], 0: at["D0"]}


def test_a_constant_product_may_be_part_of_a_leaf() -> None:
    rows, at, pivots = stepped(True)
    elimination = rows.read(pivots)
    assert elimination.exact == {(2, 2), (1, 2)}
    assert not elimination.merged
    assert elimination.sums[1, 1] == Sum((at["D1"],), (), 0, 0)
    assert elimination.sums[1, 2] == elimination.sums[2, 2] == Sum()
    constant = Product(2, (1, 2), None, (0, 2), at["M02"])
    assert elimination.sums[0, 1] == Sum((at["M01"],), (constant,), 1, 2)


@pytest.mark.parametrize("constant", [True, False])
def test_a_constant_multiplier_may_have_no_other_row(constant: bool) -> None:
    """Joint 1 has a product over the entry 2 that another product has as the constant 1/2; a row of
    that entry has to be a constant, too.
    """
    rows = Rows(STEPS)
    entry, half = rows.const(2) if constant else rows.entry(1, 2), rows.const(Fraction(1, 2))
    cosine, four, quarter = rows.numbers(COSINES), rows.const(4), rows.const(Fraction(1, 4))
    M02 = rows("mul", cosine, four)
    square = rows("mul", rows("mul", entry, quarter), entry)
    D1 = rows("sub", rows.entry(1, 1), square)
    R01 = rows("sub", rows.entry(0, 1), rows("mul", half, M02))
    outer, inner = rows("mul", cosine, M02), rows("mul", rows("div", R01, D1), R01)
    D0 = rows("sub", rows("sub", rows.entry(0, 0), outer), inner)
    if constant:
        assert rows.read({1: D1, 0: D0}).exact == {(1, 2), (2, 2)}
    else:
        reason = "entry (2,3) of the elimination is computed twice"
        assert rows.refusal({1: D1, 0: D0}) == reason


def test_a_product_that_varies_may_not_be_merged_in_part() -> None:
    rows, _, pivots = stepped(False)
    reason = "products of the elimination are merged with entry (2,2) only in part"
    assert rows.refusal(pivots) == reason


# -- merged and absent entries --


def hand_made(
    rows: Rows, sums: Sequence[Pair], merged: Sequence[int] = (), exact: Sequence[Pair] = ()
) -> tuple[_Reader, Elimination]:
    elimination = Elimination(
        {}, dict.fromkeys(sums, Sum()), {}, frozenset(exact), frozenset(merged)
    )
    return _Reader(rows.recognised({})), elimination


def test_a_merged_joint_has_no_entry() -> None:
    rows = Rows(CONSTANT)
    _check_merged(*hand_made(rows, [(0, 0)], [1]))
    with pytest.raises(NoElimination, match="a constant pivot is merged only in part"):
        _check_merged(*hand_made(rows, [(0, 0), (0, 1)], [1]))


def test_a_merged_joint_comes_before_all_that_it_is_coupled_with() -> None:
    """The joints are eliminated from the last to the first."""
    _check_merged(*hand_made(Rows(FULL), [(0, 0)], [1, 2]))
    with pytest.raises(NoElimination, match="pivot 2 is merged before pivot 3"):
        _check_merged(*hand_made(Rows(FULL), [(0, 0), (2, 2)], [1]))
    apart = {**FULL, (1, 2): (0, 0, 0)}
    _check_merged(*hand_made(Rows(apart), [(0, 0), (2, 2)], [1]))


def test_an_absent_entry_has_no_products() -> None:
    """R₀₁ has the product of M₀₂ and M₁₂, so that it may be left out only with one of them."""
    entries = [(0, 0), (1, 1), (2, 2), (0, 2), (1, 2)]
    with pytest.raises(NoElimination, match=r"entry \(1,2\) is left out although it has products"):
        _check_absent(*hand_made(Rows(FULL), entries))
    _check_absent(*hand_made(Rows(FULL), [*entries, (0, 1)]))
    _check_absent(*hand_made(Rows(FULL), entries[:-1]))
    _check_absent(*hand_made(Rows(FULL), entries, exact=[(0, 2), (1, 2)]))
    with pytest.raises(NoElimination, match=r"entry \(1,2\) is left out"):
        _check_absent(*hand_made(Rows(FULL), [*entries, (0, 1)], exact=[(0, 1)]))
    with pytest.raises(NoElimination, match=r"entry \(1,2\) is left out"):
        _check_absent(*hand_made(Rows(FULL), entries, exact=[(0, 2)]))
