"""Signs of rows of isomorphic links: systems of sums modulo 2."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from symgen.pipeline.loops.isomorphism import Signs

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
