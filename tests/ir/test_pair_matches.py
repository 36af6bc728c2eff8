"""The search for sums and products of equal value, compared with all pairs one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from random import Random

import numpy as np
import pytest

from symgen.ir.passes import _pair_matches
from symgen.ir.passes._network import Way
from symgen.ir.passes._pair_matches import ALIKE, MANY, PRIME, double, single

KINDS = (("add", 1), ("add", -1), ("mul", 1))
"""Operation and sign of the second operand."""


COUNT = 14
CHUNKS = (1, 20, 70, 500_000)
"""Numbers of residues compared at once; the matches do not depend on them."""
SEEDS = range(len(CHUNKS))


def unsigned(value: int) -> int:
    return min(value % PRIME, -value % PRIME)


def pairs_of(values: list[int], among: list[int]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield (operation, sign of the second, a, b, value) of all pairs with a value that is not
    zero.
    """
    for a, b in combinations_with_replacement(among, 2):
        for op, sign in KINDS:
            value = values[a] * values[b] if op == "mul" else values[a] + sign * values[b]
            if value % PRIME:
                yield op, sign, a, b, value


def related_values(seed: int) -> list[int]:
    """Return random residues, many of which are sums, differences or products of others."""
    random = Random(seed)
    values = [random.randrange(1, PRIME) for _ in range(6)]
    while len(values) < COUNT - 3:
        a, b, c = random.sample(values, 3)
        inner = random.choice((a + b, a - b, a * b, b - a, -a * b, a + a, a * a))
        value = random.choice((inner, inner, inner + c, c - inner, inner * c, -inner * c)) % PRIME
        if unsigned(value) not in [0, *map(unsigned, values)]:
            values.append(value)
    a, b, c = random.sample(values, 3)
    values.append(-a % PRIME)  # a quantity that two rows compute
    values.append((a * pow(b, -1, PRIME) - a) % PRIME)  # a = b·(a + this)
    values.append((c * pow(b, -1, PRIME) + c) % PRIME)  # c = b·(this − c)
    random.shuffle(values)
    return values


def all_singles(
    values: list[int], targets: list[int], among: list[int]
) -> list[tuple[object, ...]]:
    matches = [
        (t, op, a, b)
        for t in targets
        for op, _, a, b, value in pairs_of(values, among)
        if unsigned(value) == unsigned(values[t]) and t not in (a, b)
    ]
    return sorted(matches)


def all_doubles(
    values: list[int], targets: list[int], among: list[int], sums: bool
) -> set[tuple[int, str, int, frozenset[int], str]]:
    """Return (target, operation, x, operands of y, operation of y) of each t = ±x ± y or ±x·y."""
    inner_pairs = list(pairs_of(values, among))
    matches = set()
    for t in targets:
        for x in among:
            for op, _, a, b, value in inner_pairs:
                if t in (a, b) or (sums and op == "mul"):
                    continue
                rest = {unsigned(values[t] + values[x]), unsigned(values[t] - values[x])} - {0}
                if x != t and unsigned(value) in rest:
                    matches.add((t, "add", x, frozenset((a, b)), op))
                if not sums and x != t and unsigned(value * values[x]) == unsigned(values[t]):
                    matches.add((t, "mul", x, frozenset((a, b)), op))
    return matches


@pytest.mark.parametrize("seed", SEEDS)
def test_all_sums_and_products_of_two_are_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pair_matches, "CHUNK", CHUNKS[seed])
    values = related_values(seed)
    among = [c for c in range(COUNT) if c % 7]
    targets = [c for c in range(COUNT) if c % 3]
    expected = all_singles(values, targets, among)
    assert expected
    assert single(values, targets, among) == expected


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_sums_and_products_with_a_new_pair_are_found(
    seed: int, sums: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pair_matches, "CHUNK", CHUNKS[seed])
    values = related_values(seed)
    targets = [c for c in range(COUNT) if c % 2 == 0]
    among = [c for c in range(COUNT) if c % 7]
    matches = double(values, targets, among, sums)
    assert matches == sorted(matches)
    expected = all_doubles(values, targets, [*targets, *(c for c in among if c % 2)], sums)
    assert expected or sums
    assert {(t, op, x, frozenset((y.a, y.b)), y.op) for t, op, x, y in matches} == expected
    for t, op, x, way in matches:
        if way.op == "mul":
            assert way.second_sign == 1
            inner = way.sign * values[way.a] * values[way.b]
        else:
            inner = way.sign * values[way.a] + way.second_sign * values[way.b]
        outer = (
            {unsigned(values[x] * inner)}
            if op == "mul"
            else {unsigned(values[x] + inner), unsigned(values[x] - inner)}
        )
        assert unsigned(values[t]) in outer


def test_without_targets_there_are_no_matches() -> None:
    assert single([1, 2, 3], [], [0, 1, 2]) == []
    assert double([1, 2, 3], [], [0, 1, 2]) == []
    assert double([5], [0], [0]) == []
    assert single([5, 7], [0], []) == []


def pairs_with_sum(total: int, count: int, first: int) -> tuple[list[int], list[int]]:
    """Return values of which consecutive two have this sum, and their indices."""
    random = Random(7)
    values = []
    for _ in range(count):
        x = random.randrange(PRIME)
        values += [x, (total - x) % PRIME]
    return values, list(range(first, first + 2 * count))


def test_the_number_of_pairs_of_equal_value_is_limited() -> None:
    """t + x equals ALIKE + 3 other sums, and t/x as many."""
    t, x = 1234567, 7654321
    others, indices = pairs_with_sum(t + x, ALIKE + 3, 2)
    matches = double([t, x, *others], [0], [1, *indices], sums=True)
    ways = [way for _, _, operand, way in matches if operand == 1]
    assert len(ways) == ALIKE - 1  # t + x itself is one of the pairs
    assert ways == [Way("add", i, i + 1, 1, 1) for i in indices[::2][: ALIKE - 1]]
    others, indices = pairs_with_sum(t * pow(x, -1, PRIME) % PRIME, ALIKE + 3, 2)
    matches = double([t, x, *others], [0], [1, *indices])
    ways = [way for _, op, operand, way in matches if operand == 1 and op == "mul"]
    assert ways == [Way("add", i, i + 1, 1, 1) for i in indices[::2][:ALIKE]]


def test_the_number_of_ways_of_a_target_is_limited() -> None:
    """t = x·(y/x) for more than MANY quantities x: the first ones are used, of each target."""
    random = Random(3)
    count, targets = MANY + 10, [1000003, 7000003]
    xs = [random.randrange(1, PRIME) for _ in range(count)]
    values = list(targets)
    for x in xs:
        values.append(x)
        values += [t * pow(x, -1, PRIME) - 5 for t in targets]
    values = [value % PRIME for value in values]
    values.append(5)
    five = len(values) - 1
    matches = double(values, [0, 1], list(range(2, len(values))))
    for t in (0, 1):
        ways = [(op, x, way) for target, op, x, way in matches if target == t]
        assert len(ways) == MANY
        expected = [("mul", 2 + 3 * k, Way("add", 3 + 3 * k + t, five, 1, 1)) for k in range(count)]
        products = [way for way in ways if way[0] == "mul"]
        assert [way for way in expected if way in products] == expected[: len(products)]
    assert matches == sorted(matches)


def test_a_hash_table_finds_its_values_and_few_others() -> None:
    """With n values in a table of 2^18 cells, about n of 2^18 other values are found by chance."""
    random = np.random.default_rng(1)
    values, others = (random.integers(1, PRIME // 2, size, dtype=np.int32) for size in (200, 2**18))
    table = _pair_matches._Table(values)
    assert table.hits(values).tolist() == list(range(200))
    assert 100 < len(table.hits(others)) < 300


def test_a_hash_table_grows_with_the_number_of_values() -> None:
    """With 2^17 values, at most one cell in four is used."""
    random = np.random.default_rng(1)
    values, others = (random.integers(1, PRIME // 2, 2**17, dtype=np.int32) for _ in range(2))
    table = _pair_matches._Table(values)
    assert 0.04 < len(table.hits(others)) / len(others) < 0.2


def test_residues_are_replaced_by_the_lesser_of_them_and_their_negatives() -> None:
    values = [3, PRIME - 3, PRIME // 2, PRIME // 2 + 1, 0]
    residues = _pair_matches._UnsignedResidues(values, [1, 0, 3, 2, 4])
    assert residues.wide.tolist() == residues.values.tolist() == [3, 3, *[PRIME // 2] * 2, 0]
    assert residues.negated == [True, False, True, False, False]
