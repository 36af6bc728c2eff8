"""Exact numbers of the papers: rational functions, dual numbers, complements of axes, and words
about equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from symgen.papers.complement import complement, orthonormal
from symgen.papers.dual import Dual, constants, dual_parts, duals
from symgen.papers.identities import (
    COMPARED_DIGITS,
    Agreement,
    EquationResult,
    Identities,
    PaperResult,
)
from symgen.papers.rational_functions import (
    SHORT_FACTOR,
    Functions,
    TooManyProducts,
    determinant,
)

# -- rational functions --


def value(function: Any, point: dict[str, Fraction]) -> Fraction:
    """Return the value of a rational function at a point, from its numerator and denominator."""
    above, below = function.fraction()
    numbers = [fmpq(x.numerator, x.denominator) for x in point.values()]
    quotient = above(*numbers) / below(*numbers)
    return Fraction(int(quotient.p), int(quotient.q))


def test_operations_of_rational_functions_are_those_of_their_values() -> None:
    """Random sums, differences, products and quotients of two symbols and numbers."""
    field, random = Functions(["x", "y"]), Random(3)
    point = {"x": Fraction(2, 3), "y": Fraction(-5, 7)}
    numbers: list[tuple[Any, Fraction]] = list(zip(field.symbols(), point.values(), strict=True))
    numbers += [(field.number(3), Fraction(3)), (field.number(Fraction(1, 2)), Fraction(1, 2))]
    constants_of_python: list[tuple[Any, Fraction]] = [
        (2, Fraction(2)), (Fraction(3, 4), Fraction(3, 4)), (fmpq(1, 5), Fraction(1, 5)),
        (0, Fraction(0)), (1, Fraction(1)),
    ]  # fmt: skip
    for _ in range(60):
        (a, u) = random.choice(numbers)
        (b, w) = random.choice(numbers + constants_of_python)
        results = [(a + b, u + w), (b + a, u + w), (a - b, u - w), (b - a, w - u), (a * b, u * w)]
        results += [(b * a, u * w), (-a, -u)]
        if w:
            results.append((a / b, u / w))
        if u:
            results.append((b / a, w / u))
        for result, expected in results:
            if isinstance(result, int):
                assert result == expected
            else:
                assert value(result, point) == expected
        result, expected = random.choice(results)
        if not isinstance(result, int) and len(result.above) < 12:
            numbers.append((result, expected))


def test_sums_cancel_to_lowest_terms_over_irreducible_factors() -> None:
    field = Functions(["x", "y"])
    x, y = field.symbols()
    difference = 1 / (x * x - y * y)
    assert len(field.factors) == 2
    assert difference.powers in ((1, 1), (1, 1, 0))
    total = difference * (x - y)
    assert total.lowest().powers.count(1) == 1
    assert total == 1 / (x + y)
    assert 1 / (x + y) + 1 / (x - y) == 2 * x * difference
    whole = (x * x - y * y) / (x - y)
    assert whole.lowest().powers == ()
    assert whole == x + y
    assert whole != x - y
    assert (whole - (x + y)) == 0
    assert (1 / (x * x * x)).powers[-1] == 3
    assert whole != "x + y"
    assert x != y
    assert field.number(2) == 2


def test_a_function_of_long_factors_is_the_fraction_of_its_polynomials() -> None:
    field = Functions(["x"])
    (x,) = field.symbols()
    inverse = field.inverse((x + 1) * (x + 1) / (x * 3))
    above, below = inverse.fraction()
    (t,) = field.ring.gens()
    assert above * (t + 1) ** 2 == 3 * t * below
    assert field.inverse(inverse) == (x + 1) * (x + 1) / (x * 3)


@pytest.mark.parametrize(("limit", "is_enough"), [(6, True), (5, False), (None, True)])
def test_products_of_terms_are_counted_and_limited(limit: int | None, is_enough: bool) -> None:
    """(x + 1)(x + y + 1) has 2 · 3 products."""
    field = Functions(["x", "y"], limit)
    x, y = field.symbols()
    if is_enough:
        _ = (x + 1) * (x + y + 1)
        assert field.products == 6
    else:
        with pytest.raises(TooManyProducts, match="more than 5 products of terms"):
            _ = (x + 1) * (x + y + 1)


def test_inverses_and_sums_of_fractions_count_their_products() -> None:
    """Factoring three terms counts as nine products, a quotient by a short factor as none."""
    field = Functions(["x", "y"])
    x, y = field.symbols()
    inverse = 1 / (x + y + 1)
    assert field.products == 3 * 3
    field.products = 0
    _ = inverse + x  # x (x + y + 1)
    assert field.products == 3
    field.products = 0
    _ = x + inverse
    assert field.products == 3
    field.products = 0
    _ = inverse + inverse
    assert field.products == 0
    names = [f"x{k}" for k in range(SHORT_FACTOR + 1)]
    long_field = Functions(names)
    total = sum(long_field.symbols()[1:], long_field.symbols()[0])
    reciprocal = 1 / total
    long_field.products = 0
    _ = reciprocal + reciprocal  # one division of one term by nine
    assert long_field.products == SHORT_FACTOR + 1


def test_a_product_with_an_array_is_taken_entry_by_entry() -> None:
    field = Functions(["x"])
    (x,) = field.symbols()
    array = np.array([1, 2], dtype=object)
    assert list(x * array) == [x, 2 * x]
    assert list(array * x + x) == [2 * x, 3 * x]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_determinant_is_that_of_leibniz(n: int) -> None:
    random = np.random.default_rng(n)
    root = random.integers(-3, 4, (n, n))
    matrix = root @ root.T + np.eye(n, dtype=int)
    if n > 2:
        matrix[0, 2] = matrix[2, 0] = 0  # an entry that is not met
    exact = np.array([[fmpq(int(x)) for x in row] for row in matrix], dtype=object)
    expected = 0
    for columns in permutations(range(n)):
        inversions = sum(a > b for i, a in enumerate(columns) for b in columns[i + 1 :])
        term = (-1) ** inversions
        for row, column in enumerate(columns):
            term *= int(matrix[row, column])
        expected += term
    assert determinant(exact) == expected


# -- dual numbers --


def test_dual_numbers_have_the_derivative_of_a_rational_function() -> None:
    """f = (3 x² − 2/x + x⁻³ (1 − x)) / (x + 4), by exact differences of its parts."""
    x = fmpq(2, 3)
    t = Dual(x, fmpq(1))
    above = 3 * t * t - 2 / t + t ** (-3) * (1 - t)
    below = t + 4
    function = above / below
    a = 3 * x**2 - 2 / x + x ** (-3) * (1 - x)
    slope = 6 * x + 2 / x**2 - 3 * x ** (-4) * (1 - x) - x ** (-3)
    assert function.value == a / (x + 4)
    assert function.slope == slope / (x + 4) - a / (x + 4) ** 2
    assert (5 - t).slope == -1
    assert (t - 5).slope == 1
    assert (-t).value == -x


@pytest.mark.parametrize("power", range(-3, 5))
def test_the_slope_of_a_power_is_that_of_the_rule(power: int) -> None:
    x = fmpq(3, 5)
    result = Dual(x, fmpq(2)) ** power
    if power == 0:
        assert result == 1
    else:
        assert (result.value, result.slope) == (x**power, 2 * power * x ** (power - 1))


def test_dual_numbers_are_equal_in_value_and_slope() -> None:
    number = Dual(fmpq(1), fmpq(2))
    assert number == Dual(fmpq(1), fmpq(2))
    assert number != Dual(fmpq(1), fmpq(3))
    assert number != Dual(fmpq(2), fmpq(2))
    assert Dual(fmpq(1), fmpq(0)) == 1


def test_arrays_of_dual_numbers_have_values_and_slopes_entry_by_entry() -> None:
    values = np.array([[fmpq(1), fmpq(2)], [fmpq(3), fmpq(4)]], dtype=object)
    numbers = duals(values, 10 * values)
    assert (dual_parts(numbers) == 10 * values).all()
    assert (dual_parts(constants(values)) == 0).all()
    assert (dual_parts(numbers @ numbers) == 20 * (values @ values)).all()
    number = Dual(fmpq(3), fmpq(1))
    assert list(dual_parts(number * values[0])) == [1, 2]
    assert list(dual_parts(number + values[0])) == [1, 1]
    assert list(dual_parts(number - values[0])) == [1, 1]
    assert list(dual_parts(number / values[0])) == [1, fmpq(1, 2)]
    assert list(dual_parts([number, fmpq(5)])) == [1, 0]
    assert dual_parts(fmpq(7)) == 0
    assert dual_parts(number) == 1


# -- complements --


def rows(*lists: Any) -> Any:
    return np.array([[fmpq(x) if isinstance(x, int) else x for x in row] for row in lists])


def orthonormal_axes() -> Iterator[Any]:
    """Yield coordinates, slanted axes that turn or slide, and pairs of them."""
    unit = [[int(i == k) for i in range(6)] for k in range(6)]
    a, b = fmpq(3, 5), fmpq(4, 5)
    slanted = [
        [a, b, 0, 0, 0, 0],
        [0, a, -b, 0, 0, 0],
        [0, 0, 0, a, 0, b],
        [fmpq(2, 3), fmpq(1, 3), fmpq(-2, 3), 0, 0, 0],
    ]
    for axis in unit + slanted:
        yield rows(axis)
    yield rows(unit[2], unit[5])
    yield rows(slanted[0], slanted[2])
    yield rows([a, b, 0, 0, 0, 0], [-b, a, 0, 0, 0, 0])
    yield rows(*unit[:3])
    yield rows(*unit)


@pytest.mark.parametrize("axes", list(orthonormal_axes()), ids=str)
def test_orthonormal_axes_have_an_orthonormal_complement(axes: Any) -> None:
    others = complement(axes)
    assert others.shape == (6 - len(axes), 6)
    assert orthonormal(np.concatenate([axes, others]))


def test_the_complement_of_coordinates_are_the_other_coordinates() -> None:
    others = complement(rows([0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]))
    assert (others == rows(*[[int(i == k) for i in range(6)] for k in (0, 1, 3, 4)])).all()


def test_a_slanted_axis_is_exchanged_with_the_third_or_the_sixth_coordinate() -> None:
    """The other coordinates that the axis does not have stay as they are."""
    a, b = fmpq(3, 5), fmpq(4, 5)
    turning = complement(rows([a, b, 0, 0, 0, 0]))
    assert (turning[2:] == rows(*[[int(i == k) for i in range(6)] for k in (3, 4, 5)])).all()
    sliding = complement(rows([0, 0, 0, a, b, 0]))
    assert (sliding[:3] == rows(*[[int(i == k) for i in range(6)] for k in (0, 1, 2)])).all()


@pytest.mark.parametrize(
    "axes",
    [
        [[0, 0, 1, 0, 0, 2]],
        [[0, 3, 1, 0, 5, 2]],
        [[1, 1, 0, 0, 0, 0], [1, -1, 0, 0, 0, 2], [0, 0, 0, 2, 0, 0]],
    ],
)
def test_helical_axes_have_independent_rows_that_are_orthogonal_to_them(axes: Any) -> None:
    axes = rows(*axes)
    assert not orthonormal(axes)
    others = complement(axes)
    assert others.shape == (6 - len(axes), 6)
    assert (others @ axes.T == 0).all()
    whole = np.concatenate([axes, others])
    assert determinant(whole @ whole.T) != 0


def test_rows_are_orthonormal_by_length_and_angle() -> None:
    a, b = fmpq(3, 5), fmpq(4, 5)
    assert orthonormal(rows([a, b, 0, 0, 0, 0], [-b, a, 0, 0, 0, 0]))
    assert not orthonormal(rows([a, b, 0, 0, 0, 0], [b, a, 0, 0, 0, 0]))
    assert not orthonormal(rows([1, 1, 0, 0, 0, 0]))


# -- words about equations --


def results(*outcomes: tuple[tuple[int, ...], bool | None]) -> PaperResult:
    equations = tuple(
        EquationResult(f"({k})", f"a = {k}", "says", fails, symbolically)
        for k, (fails, symbolically) in enumerate(outcomes, 1)
    )
    return PaperResult("RK", "Rodriguez", equations)


@pytest.mark.parametrize(
    ("fails", "symbolically", "holds", "for_every_state"),
    [
        ((), None, True, False),
        ((), False, True, True),
        ((), True, False, False),
        ((2,), None, False, False),
    ],
)
def test_an_equation_holds_unless_it_fails_at_a_state_or_in_symbols(
    fails: tuple[int, ...], symbolically: bool | None, holds: bool, for_every_state: bool
) -> None:
    (result,) = results((fails, symbolically)).equations
    assert result.holds == holds
    assert result.facts() == {
        "number": "(1)", "statement": "a = 1", "holds": holds, "for_every_state": for_every_state,
    }  # fmt: skip


def test_the_lines_of_a_paper_count_its_equations_and_name_those_that_fail() -> None:
    paper = results(((), False), ((), None), ((1,), None), ((), True))
    assert (paper.symbolic, paper.holding) == (2, 2)
    assert list(paper.lines()) == [
        "RK  Rodriguez: 2 of 4 hold; 2 of them for every state",
        "    (1) (2)",
        "    FAILS: (3)  a = 3",
        "    FAILS: (4)  a = 4",
    ]
    numeric = results(((), None))
    assert next(numeric.lines()) == "RK  Rodriguez: 1 of 1 hold"
    refused = PaperResult("LC", "Lee", (), "no chain")
    assert list(refused.lines()) == ["LC  not available: no chain"]
    assert refused.facts()["not_available"] == "no chain"
    assert numeric.facts()["not_available"] is None


def test_numbers_of_equations_are_wrapped_without_a_break_inside_one() -> None:
    equations = tuple(EquationResult(f"(4.{k}) left", "", "", (), None) for k in range(30))
    _, *lines = PaperResult("RK", "source", equations).lines()
    assert len(lines) > 1
    assert all(len(line) <= 4 + 96 for line in lines)
    assert all(line.startswith("    (4.") and line.endswith(" left") for line in lines)


def test_programs_agree_from_a_number_of_digits_on() -> None:
    agreements = [Agreement("mass_matrix", "H", COMPARED_DIGITS - k) for k in (0, 1)]
    assert [agreement.holds for agreement in agreements] == [True, False]
    proved, failing = (
        Identities("arm", states, rounded, (results(((), None)),), tuple(programs), left_out)
        for states, rounded, programs, left_out in (
            (1, False, agreements[:1], ""),
            (4, True, agreements, "drives are left out"),
        )
    )
    assert (proved.holds, failing.holds) == (True, False)
    assert not Identities("arm", 1, False, (results(((0,), None)),), ()).holds
    text, longer = str(proved), str(failing)
    assert text.startswith("equations of the papers on 'arm', exact rationals at 1 random state\n")
    assert "at 4 random states" in longer
    assert ("irrational" in text, "irrational" in longer) == (False, True)
    assert "  drives are left out" in longer.splitlines()
    assert longer.count("FAILS") == 1
    assert "programs" not in str(Identities("arm", 1, False, (), ()))
    facts = failing.facts()
    assert (facts["left_out"], facts["rotations_rounded"]) == ("drives are left out", True)
    assert proved.facts()["left_out"] is None
    assert [p["digits"] for p in facts["programs"]] == [COMPARED_DIGITS, COMPARED_DIGITS - 1]
