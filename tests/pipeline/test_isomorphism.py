"""Signs of rows of isomorphic links, which are systems of sums modulo 2, and order of operands."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from symgen.pipeline.loops.isomorphism import Signs, _order
from symgen.pipeline.loops.link_assignment import Operand, Own, Ref, Shared

BITS = 5


@pytest.mark.parametrize("seed", range(40))
def test_the_bits_solve_every_sum_if_any_bits_do(seed: int) -> None:
    """All 32 settings of five bits are the judge."""
    random = Random(seed)
    sums = [
        ([k for k in range(BITS) if random.random() < 0.5], random.randint(0, 1))
        for _ in range(random.randint(1, 6))
    ]
    signs = Signs()
    for terms, value in sums:
        equation = value
        for k in terms:
            equation ^= signs.bit(k)
        signs.equations.append(equation)
    solvable = any(
        all(sum(bits[k] for k in terms) % 2 == value for terms, value in sums)
        for bits in product((0, 1), repeat=BITS)
    )
    ones = signs.solve()
    assert (ones is not None) == solvable
    if ones is not None:
        solution = [int(ones & signs.bit(k) != 0) for k in range(BITS)]
        assert all(sum(solution[k] for k in terms) % 2 == value for terms, value in sums)


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
VALUES: list[Operand] = [HALF, THIRD, Shared(1, 0), Own(0, 1), Ref(0, 2), Ref(0, 3)]
"""Operands that agree only if they are equal."""


def test_operands_without_a_neighbour_agree_in_the_order_in_which_they_are_equal() -> None:
    for a, b, c, d in product(VALUES, repeat=4):
        expected, operands = (a, b), (c, d)
        straight, crossed = expected == operands, expected == operands[::-1]
        assert _order(expected, operands, {}, True) == (0 if straight else 1 if crossed else None)
        assert _order(expected, operands, {}, False) == (0 if straight else None)
    for a, b in product(VALUES, repeat=2):
        assert _order((a,), (b,), {}, True) == (0 if a == b else None)


def test_values_of_one_neighbour_agree_whatever_their_rows() -> None:
    """Another neighbour's value, or a value of the link itself, does not agree with them."""
    for x, y in product((-1, 0, 1), repeat=2):
        expected, operands = (Ref(x, 4), HALF), (Ref(y, 7), HALF)
        agree = x == y != 0
        assert _order(expected, operands, {}, True) == (0 if agree else None)
        assert _order(expected, operands[::-1], {}, True) == (1 if agree else None)
        assert _order(expected, operands[::-1], {}, False) is None
        assert _order(expected[:1], operands[:1], {}, True) == (0 if agree else None)


@pytest.mark.parametrize("side", [-1, 1])
def test_earlier_partners_decide_where_both_orders_agree(side: int) -> None:
    """Rows 4 and 5 of the example's neighbour, and rows 7 and 8 of the link's neighbour."""
    expected, operands = (Ref(side, 4), Ref(side, 5)), (Ref(side, 7), Ref(side, 8))
    for first, second in product((None, 4, 5), repeat=2):
        partners: dict[Operand, Operand] = {
            ref: Ref(side, row)
            for ref, row in zip(operands, (first, second), strict=True)
            if row is not None
        }
        as_before = first in (None, 4) and second in (None, 5)
        assert _order(expected, operands, partners, True) == (0 if as_before else 1)
        assert _order(expected, operands, partners, False) == 0
    elsewhere: dict[Operand, Operand] = {
        Ref(-side, 7): Ref(-side, 5),
        Ref(-side, 8): Ref(-side, 4),
    }
    assert _order(expected, operands, elsewhere, True) == 0


def test_partners_do_not_change_the_only_order_that_agrees() -> None:
    expected, operands = (Ref(1, 4), Ref(0, 2)), (Ref(1, 7), Ref(0, 2))
    for partner in (4, 5):
        assert _order(expected, operands, {operands[0]: Ref(1, partner)}, True) == 0
        assert _order(expected, operands[::-1], {operands[0]: Ref(1, partner)}, True) == 1
