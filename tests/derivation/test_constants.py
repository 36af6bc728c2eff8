"""Products of constants: exact zeros keep rationals exact, and balls contain the exact product."""

from __future__ import annotations

import pytest
from flint import arb, fmpq

from symgen.derivation.constants import ZERO, Constant, dot, precision

THIRD = fmpq(1, 3)


@pytest.mark.parametrize("k", range(3))
def test_a_dot_product_of_rationals_is_rational_where_balls_are_multiplied_by_zero(k: int) -> None:
    """An entry of a rotation is often a ball; the mass centre beside it is often on an axis."""
    with precision():
        a: list[Constant] = [arb(2).sqrt()] * 3
        b: list[Constant] = [ZERO] * 3
        a[k], b[k] = THIRD, fmpq(2)
        product = dot((a[0], a[1], a[2]), (b[0], b[1], b[2]))
    assert type(product) is fmpq
    assert product == 2 * THIRD


def test_a_dot_product_of_balls_contains_the_exact_sum() -> None:
    with precision():
        root = arb(2).sqrt()
        product = dot((root, THIRD, root), (root, ZERO, THIRD))
        assert product.overlaps(2 + root / 3)
        assert float(product.rad()) < 1e-100
    assert dot((root, root, root), (ZERO, ZERO, ZERO)) is ZERO
