"""Base parameters of matrices whose dependent columns are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import flint
import pytest
from flint import arb

from symgen.derivation import constants as k
from symgen.derivation.base_parameters import BALLS, Independence, independent_columns

F = Fraction


def balls(row: Sequence[Any]) -> list[Any]:
    return [x if isinstance(x, arb) else BALLS.constant(F(x)) for x in row]


def rows_of(
    combinations: Sequence[Sequence[Any]], count: int, rank: int, size: int = 9
) -> list[list[Any]]:
    """Return rows whose column j is a combination, with these numbers, of `rank` random columns."""
    random = Random(5)
    rows = []
    for _ in range(count):
        entries = balls([random.randint(-size, size) for _ in range(rank)])
        rows.append(
            [
                sum((x * y for x, y in zip(entries, balls(column), strict=True)), arb(0))
                for column in combinations
            ]
        )
    return rows


def test_dependent_columns_are_grouped_with_those_before_them() -> None:
    """Columns 0, 1 and 4 are independent; 2 = 2 c0 - c1/3, 3 = 0, 5 = c4 + 7 c0, 6 = -c1."""
    columns = [
        (1, 0, 0),
        (0, 1, 0),
        (2, F(-1, 3), 0),
        (0, 0, 0),
        (0, 0, 1),
        (7, 0, 1),
        (0, -1, 0),
    ]
    with k.precision():
        base = independent_columns([[row] for row in rows_of(columns, 9, 3)], 4)
    assert base.columns == (0, 1, 4)
    assert len(base) == 3
    assert base.terms == (
        {0: 1, 2: 2, 5: 7},
        {1: 1, 2: F(-1, 3), 6: -1},
        {4: 1, 5: 1},
    )
    assert [next(iter(terms)) for terms in base.terms] == list(base.columns)


def test_a_column_that_depends_on_later_ones_is_independent() -> None:
    with k.precision():
        base = independent_columns([rows_of([(1, 1), (1, 0), (0, 1)], 6, 2)], 1)
    assert base.columns == (0, 1)
    # c2 = c0 - c1
    assert base.terms == ({0: 1, 2: 1}, {1: 1, 2: -1})


@pytest.mark.parametrize("enough", [1, 3])
def test_states_are_drawn_until_enough_of_them_give_nothing_new(enough: int) -> None:
    drawn = 0

    def states() -> Iterator[list[list[Any]]]:
        nonlocal drawn
        for row in rows_of([(1, 0), (0, 1)], 50, 2):
            drawn += 1
            yield [row, [arb(0)] * 2]

    with k.precision():
        assert len(independent_columns(states(), enough)) == 2
    assert drawn == 2 + enough


def test_an_idle_state_is_forgotten_after_a_new_row() -> None:
    states = [[[1, 0]], [[2, 0]], [[0, 1]], [[3, 1]], [[4, 1]], [[5, 5]]]
    with k.precision():
        base = independent_columns([[balls(row) for row in rows] for rows in states], 2)
    assert base.columns == (0, 1)


def test_numbers_below_the_accuracy_of_a_row_are_zero() -> None:
    with k.precision():
        for size in (1, 10**30, F(1, 10**30)):
            independence = Independence()
            assert independence.add_row(balls([size, 2 * size]))
            assert not independence.add_row(balls([size, 2 * size * (1 + F(1, 10**43))]))
            assert independence.add_row(balls([size, 2 * size * (1 + F(1, 10**36))]))
        assert not independence.add_row(balls([0, 0]))
        assert not independence.add_row([])


def test_coefficients_are_fractions_with_small_denominators_or_have_55_digits() -> None:
    with k.precision():
        root = arb(2).sqrt()
        short, long = F(1, 10**9 - 1), F(1, 3 * 10**9)
        columns = [(1,), (root,), (short,), (long,), (F(1, 10**39),), (F(1, 10**41),)]
        base = independent_columns([rows_of(columns, 3, 1)], 1)
    (terms,) = base.terms
    assert abs(terms[1] ** 2 - 2) < F(1, 10**53)
    assert terms[2] == short
    assert terms[3] != 0
    assert abs(terms[3] - long) < F(1, 10**50)
    assert 5 not in terms  # below 10⁻⁴⁰


def test_functions_of_balls_enclose_their_values() -> None:
    with flint.ctx.workdps(50):
        third = BALLS.constant(F(1, 3))
        assert (3 * third).overlaps(arb(1))
        for function, inverse in ((BALLS.sqrt, lambda x: x * x), (BALLS.log, arb.exp)):
            assert inverse(function(third)).overlaps(third)
