"""Polynomials on regions of integer points, compared with sums over all points of a small box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from symgen.inspection.general.formulas import Affine, Polynomial
from symgen.inspection.general.regions import (
    NARROW,
    Constraint,
    Piece,
    Region,
    _antidifference,
    _power_sum,
    _substituted,
    at_least,
    equal,
    piece,
    plus,
    sum_out,
    vanishes,
)

Values = Mapping[str, int]
SIZE = 4
X, Y, ONE = Affine("x", 0), Affine("y", 0), Affine("", 1)
POLYNOMIAL = {
    ("x", "x"): Fraction(2),
    ("x", "y"): Fraction(-1),
    ("y",): Fraction(3),
    (): Fraction(1, 2),
}


def points(names: str, size: int = SIZE) -> Iterable[dict[str, int]]:
    """Yield the points of a box, and zero for the name of zero."""
    for values in product(range(-1, size + 2), repeat=len(names)):
        yield {"": 0, **dict(zip(names, values, strict=True))}


def holds(constraint: Constraint, values: Values) -> bool:
    return values[constraint.left] - values[constraint.right] >= constraint.least


def value_of(terms: Any, values: Values) -> Fraction:
    items = terms.items() if isinstance(terms, Mapping) else terms
    return Polynomial(tuple(items)).at(values)


def value_of_piece(item: Piece, values: Values) -> Fraction:
    inside = all(holds(constraint, values) for constraint in item.constraints)
    return value_of(item.polynomial, values) if inside else Fraction(0)


def box(names: str, size: int = SIZE) -> list[Constraint]:
    """Return the constraints 0 ≤ x ≤ size of each name."""
    return [
        constraint
        for name in names
        for constraint in (Constraint(name, "", 0), Constraint("", name, -size))
    ]


def random_constraints(random: Random, names: str, count: int) -> list[Constraint]:
    return [
        Constraint(left, right, random.randint(-2, 2))
        for left, right in (random.sample(["", *names], 2) for _ in range(count))
    ]


# -- constraints and pieces ------------------------------------------------------------------------


def test_a_constraint_or_its_opposite_holds_at_each_point() -> None:
    for least in (-1, 0, 2):
        constraint = Constraint("x", "y", least)
        for at in points("xy"):
            assert holds(constraint, at) != holds(constraint.opposite(), at)


def test_a_constraint_compares_two_indices_with_a_margin() -> None:
    first, second = Affine("x", 2), Affine("y", -1)
    for at, margin in product(points("xy"), (-1, 0, 1)):
        assert holds(at_least(first, second, margin), at) == (at["x"] + 2 >= at["y"] - 1 + margin)
        assert all(holds(x, at) for x in equal(first, second)) == (at["x"] + 2 == at["y"] - 1)
    assert at_least(first, second) == at_least(first, second, 0)
    assert plus(Affine("x", 2), -5) == Affine("x", -3)


def test_a_piece_has_no_trivial_constraint_and_no_like_terms() -> None:
    constraint = Constraint("x", "y", 1)
    item = piece(
        [Constraint("x", "x", 0), constraint, Constraint("", "", -3), constraint],
        {("y", "x"): Fraction(2), ("x", "y"): Fraction(1), ("x",): Fraction(0)},
    )
    assert item == Piece((constraint,), ((("x", "y"), Fraction(3)),))
    assert piece([constraint, Constraint("x", "x", 1)], POLYNOMIAL) is None
    as_polynomial = Polynomial(tuple(POLYNOMIAL.items()))
    assert piece([], as_polynomial) == piece([], POLYNOMIAL)
    doubled = Piece((constraint,), ((("x",), Fraction(3)),)).scaled(Fraction(-2))
    assert doubled == Piece((constraint,), ((("x",), Fraction(-6)),))


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(5))
def test_sums_of_powers_are_polynomials(degree: int) -> None:
    coefficients = _power_sum(degree)
    assert len(coefficients) == degree + 2
    for m in range(5):
        value = sum(x * m**power for power, x in enumerate(coefficients))
        assert value == sum(k**degree for k in range(m + 1))


def test_differences_of_an_antidifference_are_the_polynomial() -> None:
    total = _antidifference(POLYNOMIAL, "x")
    for at in points("xy"):
        before = {**at, "x": at["x"] - 1}
        assert value_of(total, at) - value_of(total, before) == value_of(POLYNOMIAL, at)


@pytest.mark.parametrize("index", [Affine("y", 3), Affine("z", -2), Affine("", 5), Affine("y", 0)])
def test_an_index_is_substituted_for_a_name(index: Affine) -> None:
    changed = _substituted(POLYNOMIAL, "x", index)
    assert all("x" not in names and names == tuple(sorted(names)) for names in changed)
    for at in points("yz"):
        assert value_of(changed, at) == value_of(POLYNOMIAL, {**at, "x": index.at(at)})


def test_a_sum_over_a_variable_has_the_values_of_its_terms() -> None:
    """Bounds that compete or are equal, and a variable that is fixed by two of them."""
    random = Random(5)
    chosen = [
        [Constraint("x", "y", 0), Constraint("x", "", 1), Constraint("y", "x", -2)],
        [Constraint("x", "", 1), Constraint("x", "y", 0), Constraint("", "x", -3)],
        [Constraint("x", "", 0), Constraint("", "x", -3), Constraint("y", "x", 0)],
        [Constraint("x", "", 0), Constraint("y", "x", -1), Constraint("", "x", -3)],
        [Constraint("x", "y", 1), Constraint("y", "x", -1), Constraint("x", "", 1)],
        [Constraint("x", "y", 1), Constraint("y", "x", -1), Constraint("", "x", -2)],
        [Constraint("x", "y", 0), Constraint("x", "", 2), Constraint("", "y", -3), *box("x")],
    ]
    for constraints in (*chosen, *(
        [*box("x"), *random_constraints(random, "xy", 3)] for _ in range(20)
    )):  # fmt: skip
        original = piece(constraints, POLYNOMIAL)
        assert original is not None
        pieces = sum_out(original, "x")
        assert all("x" not in (c.left, c.right) for item in pieces for c in item.constraints)
        assert all(item.polynomial for item in pieces)
        for at in points("y"):
            expected = sum(value_of_piece(original, {**at, "x": x}) for x in range(-8, SIZE + 9))
            assert sum(value_of_piece(item, at) for item in pieces) == expected, constraints


def test_one_piece_of_a_sum_has_each_point() -> None:
    """The greatest lower bound is the first of those that are equal."""
    lower = [Constraint("x", "y", 0), Constraint("x", "", 1), Constraint("x", "z", 0)]
    upper = [Constraint("", "x", -3), Constraint("z", "x", -3)]
    original = piece([*lower, *upper], {(): Fraction(1)})
    assert original is not None
    pieces = sum_out(original, "x")
    for at in points("yz"):
        count = sum(value_of_piece(original, {**at, "x": x}) for x in range(-8, 15))
        values = [value_of_piece(item, at) for item in pieces]
        assert [x for x in values if x] == ([count] if count else [])


# -- regions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_region_knows_the_bounds_of_all_differences(seed: int) -> None:
    """They are those of its points; a region without points is empty."""
    random = Random(seed)
    for _ in range(4):
        constraints = [*box("xy", 3), *random_constraints(random, "xy", 3)]
        random.shuffle(constraints)
        region = Region(constraints)
        inside = [at for at in points("xy") if all(holds(x, at) for x in constraints)]
        assert region.is_empty == (not inside)
        for left, right in product(("", "x", "y"), repeat=2):
            if inside and left != right:
                least = min(at[left] - at[right] for at in inside)
                assert region.bounds[left, right] == least
            for least in (-2, 0, 1):
                item = Constraint(left, right, least)
                assert region.implies(item) == all(holds(item, at) for at in inside)
                assert region.excludes(item) == (not any(holds(item, at) for at in inside))


def test_a_difference_without_a_bound_is_not_implied() -> None:
    region = Region([Constraint("x", "y", 2)])
    assert region.bounds == {("x", "y"): 2}
    assert region.implies(Constraint("x", "y", 2))
    assert not region.implies(Constraint("x", "y", 3))
    assert not region.implies(Constraint("y", "x", -9))
    assert not region.implies(Constraint("z", "x", -9))
    assert Region().implies(Constraint("x", "x", 0))
    assert not Region().implies(Constraint("x", "x", 1))
    assert Region([Constraint("x", "x", 1)]).is_empty
    assert not Region([Constraint("x", "x", 0)]).is_empty


def test_a_part_of_a_region_leaves_the_region_as_it_is() -> None:
    region = Region(box("x"))
    part = region.with_constraint(Constraint("x", "y", 1))
    assert "y" not in region.names
    assert ("x", "y") not in region.bounds
    assert part.bounds["", "y"] == 1 - SIZE
    empty = region.with_constraint(Constraint("x", "", SIZE + 1))
    assert empty.is_empty
    assert empty.with_constraint(Constraint("y", "", 0)).is_empty
    assert not region.is_empty


def test_variables_with_a_fixed_difference_are_one_variable() -> None:
    region = Region([*equal(X, Affine("y", 2)), *equal(Affine("z", 0), ONE)])
    terms = {("x", "x"): Fraction(1), ("y", "z"): Fraction(-4), ("w",): Fraction(1)}
    reduced = region.reduced(terms)
    assert {name for names in reduced for name in names} == {"w", "x"}
    for at in points("xw"):
        full = {**at, "y": at["x"] - 2, "z": 1}
        assert value_of(reduced, at) == value_of(terms, full)
    loose = Region([Constraint("x", "y", 2), Constraint("y", "x", -3)])
    assert loose.reduced(terms) == terms


def test_the_narrowest_difference_is_divided() -> None:
    """One value is cut off from it; differences that are fixed or wide are not divided."""
    region = Region([*box("x", 6), Constraint("y", "x", 1), Constraint("x", "y", -3)])
    split = region.narrowest()
    assert split is not None
    assert {split.left, split.right} == {"x", "y"}
    parts = [region.with_constraint(item) for item in (split, split.opposite())]
    widths = [-part.bounds["x", "y"] - part.bounds["y", "x"] for part in parts]
    assert sorted(widths) == [0, 1]
    for size in (NARROW, NARROW + 1):
        assert (Region(box("x", size)).narrowest() is None) == (size > NARROW)
    assert Region(equal(X, Y)).narrowest() is None
    assert Region([Constraint("x", "y", 0)]).narrowest() is None


def test_a_sum_of_pieces_vanishes_or_does_not() -> None:
    """x on x ≥ y and on x < y, minus x everywhere; x² − x on 0 ≤ x ≤ 1."""
    x, minus = ((("x",), Fraction(1)),), ((("x",), Fraction(-1)),)
    above, below = Constraint("x", "y", 0), Constraint("x", "y", 0).opposite()
    parts = [Piece((above,), x), Piece((below,), x), Piece((), minus)]
    assert vanishes(Region(), parts)
    for missing in range(3):
        assert not vanishes(Region(), parts[:missing] + parts[missing + 1 :])
    assert vanishes(Region([above]), [parts[0], parts[2]])
    assert not vanishes(Region([above]), [parts[1], parts[2]])
    square = Piece((), ((("x", "x"), Fraction(1)), (("x",), Fraction(-1))))
    assert vanishes(Region(box("x", 1)), [square])
    assert not vanishes(Region(box("x", 2)), [square])
    assert not vanishes(Region(), [square])
    assert vanishes(Region([Constraint("x", "x", 1)]), [square])
    assert vanishes(Region(), [])
