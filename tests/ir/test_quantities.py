"""Quantities of rows of equal value, and the choice among the rows that compute one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from symgen.ir.passes import _choose
from symgen.ir.passes._choose import FUNCTION, PRICES, Ways
from symgen.ir.passes._fingerprints import residues
from symgen.ir.passes._quantities import Quantities
from symgen.ir.program import Program
from tests.shared.pass_programs import (
    TRIGONOMETRIC,
    by_hand,
    drawn_program,
    written,
)

PRIME = 314159265358979347
SEEDS = range(12)


def values_of(derived: Program) -> list[int]:
    values = residues(PRIME, 1, derived)
    assert values is not None
    return values[0]


def quantities_of(derived: Program) -> Quantities:
    return Quantities(derived, values_of(derived), PRIME)


def named(derived: Program) -> dict[str, int]:
    """Return the rows by their names."""
    return {row.name: r for r, row in enumerate(derived.rows) if row.name}


def check_records(derived: Program, quantities: Quantities) -> None:
    """Compare operands and users of quantities with the rows."""
    users: list[set[int]] = [set() for _ in derived.rows]
    for r, row in enumerate(derived.rows):
        assert quantities.reads[r] == tuple(quantities.of[a] for a in row.args)
        for a in row.args:
            users[quantities.of[a]].add(quantities.of[r])
    # a user that was merged with another quantity before may still be recorded
    assert all(u <= set(r) for u, r in zip(users, quantities.users, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_equal_or_opposite_value_are_one_quantity(seed: int) -> None:
    derived = drawn_program(f"quantities {seed}", size=20, operations=TRIGONOMETRIC)
    values, quantities = values_of(derived), quantities_of(derived)
    first_row: dict[int, int] = {}
    for r, row in enumerate(derived.rows):
        key = min(values[r], PRIME - values[r])
        c, sign = quantities.of[r], quantities.sign[r]
        assert (values[r] - sign * values[c]) % PRIME == 0
        if row.op == "neg":
            a = row.args[0]
            assert (c, sign) == (quantities.of[a], -quantities.sign[a])
        else:
            assert c == first_row.setdefault(key, r)
    check_records(derived, quantities)
    users: list[set[int]] = [set() for _ in derived.rows]
    for r, operands in enumerate(quantities.reads):
        for a in operands:
            users[a].add(quantities.of[r])
    assert [set(recorded) for recorded in quantities.users] == users


@pytest.mark.parametrize("seed", SEEDS)
def test_constants_are_those_of_the_program_and_zero_and_one(seed: int) -> None:
    derived = drawn_program(f"constants {seed}", size=20, operations=TRIGONOMETRIC)
    values, quantities = values_of(derived), quantities_of(derived)
    expected: dict[int, Fraction] = {}
    for r, row in enumerate(derived.rows):
        c = quantities.of[r]
        if row.op == "const":
            expected[c] = row.value * quantities.sign[r]
        elif values[c] in (0, 1, PRIME - 1) and row.op != "neg":
            expected[c] = Fraction({0: 0, 1: 1}.get(values[c], -1))
    assert quantities.constants == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_ways_are_different_operations_that_do_not_use_the_quantity(seed: int) -> None:
    derived = drawn_program(f"ways {seed}", size=24, operations=TRIGONOMETRIC)
    quantities = quantities_of(derived)
    for c, ways in quantities.ways.items():
        assert c not in quantities.constants
        assert len(ways) > 1
        assert all(quantities.of[row] == c for row in ways)
        assert all(c not in quantities.reads[row] for row in ways)
        keys = [(derived.rows[row].op, tuple(quantities.operands(row))) for row in ways]
        assert len(set(keys)) == len(keys)


def test_a_value_is_repeated_if_it_is_computed_twice_or_negated_for_use() -> None:
    for formulas, repeated in (
        (("a + b", "a * b", "-a"), False),
        (("a + b", "b + a"), True),
        (("a - b", "b - a"), True),
        (("-a * b",), True),
        (("sin(-a)",), True),
        (("a / a",), True),
        (("a - a",), True),
        (("1 + a", "a * 2"), False),
        (("cos(a) * cos(a) + sin(a) * sin(a)",), True),
    ):
        assert quantities_of(written(*formulas)).repeated == repeated


def test_equal_operations_are_one_way() -> None:
    """a·b and b·a, or (a − b) and −(b − a), are the same operation."""
    for formulas, count in (
        (("s = a * (b + c)", "t = a * b + a * c", "u = (c + b) * a", "v = a * c + a * b"), 2),
        (("s = a - (b - c)", "t = a + (c - b)", "u = (a + c) - b", "v = (b - c) - a"), 2),
        (("s = a / (b * c)", "t = a / b / c", "u = a / (c * b)"), 2),
        (("s = -a * b", "t = a * -b", "u = a * b"), 1),
    ):
        derived = written(*formulas, "s")
        quantities = quantities_of(derived)
        s = named(derived)["s"]
        assert len(quantities.ways.get(s, [s])) == count
        assert quantities.ways.get(s, [s])[0] == s


def test_operands_have_signs_and_the_second_of_a_difference_a_minus() -> None:
    derived = written("s = a - b", "t = b - a", "u = c - t", "v = c + t", "w = t * c", "w")
    quantities, row = quantities_of(derived), named(derived)
    s = row["s"]
    assert quantities.operands(s) == [(0, 1), (1, -1)]
    assert quantities.operands(row["u"]) == [(2, 1), (s, 1)]
    assert quantities.operands(row["v"]) == [(2, 1), (s, -1)]
    assert quantities.operands(row["w"]) == [(s, -1), (2, 1)]


def test_a_quotient_of_opposite_values_is_minus_one() -> None:
    derived = written("m = (a - b) / (b - a)", "n = (a - b) / (a - b)", "m", "n")
    quantities, row = quantities_of(derived), named(derived)
    assert quantities.constants == {row["m"]: -1}
    assert quantities.of[row["n"]] == row["m"]


def test_rows_set_apart_are_quantities_of_their_own() -> None:
    """s, t, u and x, y, z compute one value each; −t is read."""
    derived = written(
        "s = a * (b + c)",
        "x = d - (e - f)",
        "y = (d + f) - e",
        "t = a * b + a * c",
        "_n = -t",
        "v = _n * d",
        "u = a * 2 * ((b + c) * 0.5)",
        "z = (d - e) + f",
        "v",
    )
    quantities, row = quantities_of(derived), named(derived)
    s, t, u, x, y, z = (row[name] for name in "stuxyz")
    negation = derived.rows[row["v"]].args[0]
    assert quantities.of[t] == quantities.of[negation] == s
    assert quantities.reads[row["v"]] == (s, 3)
    assert list(quantities.ways.items()) == [(x, [x, y, z]), (s, [s, t, u])]
    quantities.set_apart({t})
    assert (quantities.of[t], quantities.sign[t]) == (t, 1)
    assert (quantities.of[negation], quantities.sign[negation]) == (t, -1)
    assert quantities.reads[row["v"]] == (t, 3)
    assert list(quantities.ways.items()) == [(x, [x, y, z]), (s, [s, u])]
    assert row["v"] in quantities.users[t]
    check_records(derived, quantities)
    quantities.set_apart({y, u})
    assert quantities.ways == {x: [x, z]}
    check_records(derived, quantities)


def repetitive_program(seed: int) -> Program:
    """Return a Program in which most values are computed in two or three ways."""
    random = Random(seed)
    rows: list[tuple[object, ...]] = []
    values = [0, 1, 2]

    def put(op: str, a: int, b: int) -> int:
        rows.append((op, a, b))
        return 2 + len(rows)

    while len(rows) < 40:
        x, y, z = random.choices(values, k=3)
        if random.random() < 0.5:
            x, y, z = random.choices(values[-6:], k=3)
        kind = random.choice(("sum", "product", "both"))
        if kind == "sum":
            equal = [put("add", put("sub", x, y), z), put("sub", x, put("sub", y, z))]
        elif kind == "product":
            equal = [put("mul", put("mul", x, y), z), put("mul", x, put("mul", y, z))]
        else:
            equal = [
                put("add", put("mul", x, y), put("mul", x, z)),
                put("mul", x, put("add", y, z)),
            ]
        random.shuffle(equal)
        values.append(equal[0])
    return by_hand(random.sample(values[3:], 4), *rows)


# -- choice ----------------------------------------------------------------------------------------


def price(quantities: Quantities, chosen: dict[int, int], results: Sequence[int]) -> float:
    """Return the price of all that results need; infinite if that contains a cycle."""
    order: list[int] = []
    state: dict[int, int] = {}

    def visit(c: int) -> bool:
        if state.get(c) == 1:
            return False
        if state.get(c) == 2:
            return True
        state[c] = 1
        if c not in quantities.constants and not all(
            visit(a) for a in quantities.reads[chosen.get(c, c)]
        ):
            return False
        state[c] = 2
        order.append(c)
        return True

    if not all(visit(c) for c in results):
        return math.inf
    return sum(
        PRICES.get(quantities.rows[chosen.get(c, c)].op, FUNCTION)
        for c in order
        if c not in quantities.constants
    )


def results_of(derived: Program, quantities: Quantities) -> list[int]:
    return [quantities.of[r] for port in derived.outputs for r in port.rows]


def check_choice(quantities: Quantities, ways: Ways, results: list[int]) -> None:
    """Compare what a choice records with the rows that are chosen."""
    chosen = ways.chosen
    used: set[int] = set()
    to_visit = list(results)
    while to_visit:
        c = to_visit.pop()
        if c not in used:
            used.add(c)
            if c not in quantities.constants:
                to_visit += quantities.reads[chosen.get(c, c)]
    uses = [results.count(c) for c in range(len(quantities.of))]
    for c in used - set(quantities.constants):
        for a in quantities.reads[chosen.get(c, c)]:
            uses[a] += 1
            assert ways._place[a] < ways._place[c]
    assert ways._uses == uses
    assert all(row in quantities.ways[c] for c, row in chosen.items())


@pytest.mark.parametrize("seed", range(20))
def test_no_single_change_saves_operations(seed: int) -> None:
    """All rows are equally precise here, so that every way may be chosen."""
    derived = repetitive_program(seed)
    quantities = quantities_of(derived)
    results = results_of(derived, quantities)
    ways = Ways(quantities, results, [[1.0] * len(derived.rows)])
    assert not ways.bad
    check_choice(quantities, ways, results)
    now = price(quantities, ways.chosen, results)
    assert now <= price(quantities, {}, results)
    for c, rows in quantities.ways.items():
        for row in rows:
            assert price(quantities, {**ways.chosen, c: row}, results) >= now


SHARED_SUM = (
    "x = a * c",
    "r = x + b * c",
    "_r = (a + b) * c",
    "y = a * d",
    "s = y + b * d",
    "_s = (a + b) * d",
)
CHEAPEST = (
    # a product of a sum that is needed anyway
    (("s = a + b", "t = a * c + b * c", "u = s * c", "s", "t"), 2),
    # one product of either kind is shared, the other result follows from it
    (("p = (a * b) * c", "q = a * (b * c)", "b * c", "p"), 2),
    # an operation is saved though both ways exist first in the more expensive form
    (("t = a * b + a * c", "u = a * (b + c)", "t", "t + d"), 3),
    # a division costs two operations
    (("q = a / b / c", "r = a / (b * c)", "q", "b * c"), 3),
    (("s = a * b * (1 / c)", "t = a * (b / c)", "s", "b / c"), 3),
    (("x = sin(a + a)", "y = 2 * (sin(a) * cos(a))", "x", "sin(a) * cos(a)"), 22),
    (("x = 2 * (sin(a) * cos(a))", "y = sin(a + a)", "x"), 11),
    # (a + b)·c and (a + b)·d save an operation only together
    ((*SHARED_SUM, "x", "r", "y", "s"), 5),
    # with a third product, whose way by a + b costs more
    (
        (
            *SHARED_SUM,
            "v = a * e",
            "w = b * e",
            "z = v + w",
            "(a + b) * 2 * (e * 0.5)",
            "x",
            "r",
            "y",
            "s",
            "v",
            "w",
            "z",
        ),
        8,
    ),
)


@pytest.mark.parametrize(("formulas", "expected"), CHEAPEST)
def test_the_cheapest_rows_are_chosen(formulas: tuple[str, ...], expected: int) -> None:
    """Compare with all choices."""
    derived = written(*formulas)
    quantities = quantities_of(derived)
    results = results_of(derived, quantities)
    ways = Ways(quantities, results, [[1.0] * len(derived.rows)])
    check_choice(quantities, ways, results)
    all_prices = [
        price(quantities, dict(zip(quantities.ways, rows, strict=True)), results)
        for rows in product(*quantities.ways.values())
    ]
    assert price(quantities, ways.chosen, results) == min(all_prices) == expected


def test_less_precise_rows_are_not_chosen_to_save_operations() -> None:
    derived = written("t = a * b + a * c", "u = a * (b + c)", "t")
    quantities, row = quantities_of(derived), named(derived)
    t, u = row["t"], row["u"]
    for bound, chosen in ((1.0, u), (1.29, u), (1.31, t), (10.0, t)):
        errors = [[1.0] * len(derived.rows) for _ in range(2)]
        errors[1][u] = bound
        assert Ways(quantities, [t], errors).chosen.get(t, t) == chosen
    errors[1][u], errors[1][t] = 1.0, 10.0
    assert Ways(quantities, [t], errors).chosen == {t: u}


def test_a_spare_row_is_chosen_only_if_it_saves_operations_and_is_precise() -> None:
    derived = written("t = a * b + a * c", "u = a * (b + c)", "t", "a * b", "a * c")
    quantities, row = quantities_of(derived), named(derived)
    t, u = row["t"], row["u"]
    results = results_of(derived, quantities)
    bounds = [[1.0] * len(derived.rows)]
    for needed, chosen in (([t], u), (results, t)):
        assert Ways(quantities, needed, bounds, {u}).chosen.get(t, t) == chosen
    bounds[0][u] = 0.1  # not for its precision
    assert Ways(quantities, results, bounds, {u}).chosen.get(t, t) == t
    assert Ways(quantities, results, bounds).chosen == {t: u}
    bounds[0][u] = 1.4
    assert Ways(quantities, [t], bounds, {u}).chosen.get(t, t) == t


@pytest.mark.parametrize(
    ("errors", "good"),
    [
        ([[1.0, 1.2, 2.0]], [0, 1]),
        ([[1.2, 1.0, 2.0]], [1, 0]),
        ([[1.0, 1.2, 2.0], [2.0, 1.0, 1.0]], [1]),
        ([[1.0, 2.0, 4.0], [4.0, 2.0, 1.0]], [1]),
        ([[1.0, 2.0, 9.0], [2.0, 1.0, 9.0]], [0]),
        ([[1.0, 1.3, 1.31]], [0, 1]),
        ([[0.0, 0.0, 1e-9]], [0, 1]),
        ([[0.0, 0.0, 0.0]], [0, 1, 2]),
        ([[1.0, math.inf, 1.0]], []),
        ([[1.0, 1.0, 1.0], [math.nan, 1.0, 1.0]], []),
        ([], []),
    ],
)
def test_good_ways_have_about_the_least_round_off_at_every_state(
    errors: list[list[float]], good: list[int]
) -> None:
    assert _choose._good([0, 1, 2], errors) == good


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_alternatives_as_good_as_the_best_are_kept(unit: float) -> None:
    errors = [
        [unit * x for x in state]
        for state in ([1.0, 2.0, 1.2, 1.4, 1.25], [3.0, 1.0, 1.29, 1.0, 1.4])
    ]
    assert _choose._as_good([0, 1], [2, 3, 4], errors) == [2]
    assert _choose._as_good([0, 1], [2, 3, 4], errors[:1]) == [2, 4]
    assert _choose._as_good([], [2, 3, 4], errors) == []
    assert _choose._as_good([1], [], errors) == []


def test_formulas_of_rows_that_form_a_cycle_are_not_chosen_together() -> None:
    """s = t + b and t = s − b: each of s and t could be computed from the other."""
    derived = written(
        "s = a + b", "t = a + c", "u = t + (b - c)", "v = s - (b - c)", "s", "t", "u", "v"
    )
    quantities = quantities_of(derived)
    results = results_of(derived, quantities)
    ways = Ways(quantities, results, [[1.0] * len(derived.rows)])
    check_choice(quantities, ways, results)
    assert price(quantities, ways.chosen, results) == 2
    row = named(derived)
    assert ways._reassign(row["s"], row["u"])
    assert not ways._reassign(row["t"], row["v"])
    assert ways._reassign(row["s"], row["s"])
    assert ways._reassign(row["t"], row["v"])
    assert not ways._reassign(row["s"], row["u"])


@pytest.mark.parametrize("seed", range(5))
def test_changes_are_made_unless_they_make_a_cycle(seed: int) -> None:
    """Compare prices, uses and the order of quantities after random changes."""
    derived, random = repetitive_program(seed), Random(seed)
    quantities = quantities_of(derived)
    results = results_of(derived, quantities)
    ways = Ways(quantities, results, [[1.0] * len(derived.rows)])
    everything = range(len(quantities.of))
    for _ in range(60):
        c = random.choice(list(quantities.ways))
        row = random.choice(quantities.ways[c])
        before, chosen = price(quantities, ways.chosen, results), dict(ways.chosen)
        makes_cycle = math.isinf(price(quantities, {**chosen, c: row}, [c]))
        used = bool(ways._uses[c])
        added = ways._change(c, row)
        now = price(quantities, ways.chosen, results)
        assert (added is None) == makes_cycle
        assert ways.chosen == (chosen if makes_cycle else {**chosen, c: row})
        assert now == before + (added or 0)
        check_choice(quantities, ways, results)
        for d in everything:
            assert all(ways._place[a] < ways._place[d] for a in ways._below[d])
        assert used or not added


@pytest.mark.parametrize("seed", range(6))
def test_changes_that_save_nothing_are_taken_back(seed: int) -> None:
    derived, random = repetitive_program(20 + seed), Random(seed)
    quantities = quantities_of(derived)
    results = results_of(derived, quantities)
    ways = Ways(quantities, results, [[1.0] * len(derived.rows)])
    for k in range(30):
        for c in random.sample(list(quantities.ways), 3):
            ways._change(c, random.choice(quantities.ways[c]))
        before, chosen = price(quantities, ways.chosen, results), dict(ways.chosen)
        quantity = random.choice(list(quantities.ways))
        rows = {
            c: random.choice(quantities.ways[c]) for c in random.sample(list(quantities.ways), 3)
        }
        changed = (
            ways._change_together(rows)
            if k % 2
            else ways._change_if_shorter(quantity, quantities.ways[quantity])
        )
        now = price(quantities, ways.chosen, results)
        assert (now < before) == changed
        if not changed:
            assert {c: ways.chosen.get(c, c) for c in chosen} == chosen
        check_choice(quantities, ways, results)


def test_unused_quantities_that_several_ways_need_are_shared() -> None:
    """a + b serves two ways of results, and a·2 one of them."""
    derived = written(
        "r = a * c + b * c",
        "_r = (a + b) * c",
        "s = 2 * (a * d) + b * 2 * d",
        "_s = (a + b) * (2 * d)",
        "r",
        "s",
    )
    quantities, row = quantities_of(derived), named(derived)
    r, s = row["r"], row["s"]
    ways = Ways(quantities, [r, s], [[1.0] * len(derived.rows)])
    for c in (r, s):
        ways._change(c, c)
    second_way = {c: rows[1] for c, rows in quantities.ways.items()}
    assert ways._sharing(quantities.ways) == [{r: second_way[r], s: second_way[s]}]
    assert ways._sharing({r: quantities.ways[r]}) == []
    a_plus_b = quantities.reads[second_way[r]][0]
    assert ways._unused([a_plus_b, 0]) == {a_plus_b}
    assert ways._unused(list(quantities.reads[r])) == set()
    assert ways._change_together({r: second_way[r], s: second_way[s]})
    assert ways._sharing(quantities.ways) == []
