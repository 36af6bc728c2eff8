"""Other ways to compute the values of a Program: exact, as precise, behind no other divisions."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from symgen.ir.passes import _candidates, _search
from symgen.ir.passes._candidates import PRIME, WORSE, Candidates, Limits
from symgen.ir.passes._error_bounds import round_offs
from symgen.ir.passes._network import PRICES, Way
from symgen.ir.passes._pair_matches import PRIME as SMALL
from symgen.ir.passes.eliminate import eliminate
from symgen.ir.passes.fold import fold
from symgen.ir.passes.value_number import value_number
from symgen.ir.program import Program, check
from tests.shared.merging import at_sixty_digits
from tests.shared.pass_programs import (
    POINTS,
    TRIGONOMETRIC,
    drawn_program,
    formulas,
    result_values,
    row_values,
    value_before,
    written,
)

EVERYTHING = range(10**6)


@pytest.fixture
def round_off_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the order of a sum of three change, whatever its terms are at the few states."""
    monkeypatch.setattr(_candidates, "WORSE", 1000.0)


def candidates_of(derived: Program) -> Candidates:
    return Candidates(derived, Limits())


def named(derived: Program) -> dict[str, int]:
    return {row.name: r for r, row in enumerate(derived.rows) if row.name}


def ways_of(candidates: Candidates, target: int, sums: bool = False) -> list[Way]:
    """Return the ways of one target, by operands in use or by a new quantity."""
    return [
        *candidates.single([target], EVERYTHING).get(target, []),
        *candidates.double([target], EVERYTHING, sums).get(target, []),
    ]


def quantity_values(candidates: Candidates) -> list[list[Fraction]]:
    """Return the exact values of all quantities, old and new, at each of POINTS."""
    result = []
    for at in POINTS:
        values = row_values(candidates.program, at)
        for way in candidates.network.way[candidates.first :]:
            assert way is not None
            values.append(way_value(way, values))
        result.append(values)
    return result


def way_value(way: Way, values: list[Fraction]) -> Fraction:
    a, b = values[way.a], values[way.b]
    return way.sign * a * b if way.op == "mul" else way.sign * a + way.second_sign * b


def folded_program(seed: int) -> Program:
    return eliminate(fold(value_number(drawn_program(f"candidates {seed}", size=24, names=3))))


def cost(derived: Program) -> int:
    return eliminate(fold(derived)).cost


@pytest.mark.parametrize("seed", range(10))
def test_every_way_has_the_value_of_its_target(seed: int) -> None:
    candidates = candidates_of(folded_program(seed))
    found_ways = [
        candidates.single(candidates.targets, EVERYTHING),
        candidates.double(candidates.targets, EVERYTHING),
    ]
    values = quantity_values(candidates)
    for ways in found_ways:
        for target, target_ways in ways.items():
            assert len(set(target_ways)) == len(target_ways)
            for way in target_ways:
                assert {way.a, way.b} != set(candidates.network.below[target])
                for at in values:
                    assert way_value(way, at) == at[target]


def price(derived: Program) -> int:
    """Return the price of the operations; a sum or product of constants costs nothing."""
    total = 0
    constant: list[bool] = []
    for op, args, _, _, _ in derived.rows:
        of_constants = op in ("add", "sub", "mul") and all(constant[a] for a in args)
        constant.append(op == "const" or of_constants)
        total += 0 if of_constants else PRICES[op]
    return total


def changed_at_random(candidates: Candidates, random: Random) -> None:
    """Give every target one of its ways, if that makes no cycle."""
    ways = candidates.single(candidates.targets, EVERYTHING)
    for target, more in candidates.double(candidates.targets, EVERYTHING).items():
        ways.setdefault(target, []).extend(more)
    for target in sorted(ways):
        if candidates.network.uses[target]:
            candidates.network.change(target, random.choice(ways[target]))


@pytest.mark.parametrize("seed", range(12))
def test_a_changed_network_is_a_program_with_the_same_results(seed: int) -> None:
    """Names stay or get the prefix of the negative; unneeded rows are left out."""
    derived = folded_program(seed)
    candidates = candidates_of(derived)
    changed_at_random(candidates, Random(seed))
    after, new_rows = candidates.to_program()
    check(after)
    assert result_values(after) == result_values(derived)
    assert price(after) == candidates.network.total
    for at in POINTS:
        old, new = row_values(derived, at), row_values(after, at)
        for value, new_row in zip(old, new_rows, strict=True):
            assert new_row is None or new[new_row[0]] * new_row[1] == value
        meaning = {row.name: old[r] for r, row in enumerate(derived.rows) if row.name}
        for row, value in zip(after.rows, new, strict=True):
            assert not row.name or value == value_before(meaning, row.name)


def test_an_unchanged_network_is_the_same_program() -> None:
    derived = eliminate(written("s = a + b", "t = s * (c - 2)", "sin(t) / s", "-(t * d)", steps=4))
    after, new_rows = candidates_of(derived).to_program()
    assert formulas(after) == ["sin((a + b) * (c - 2)) / (a + b)", "-((a + b) * (c - 2) * d)"]
    assert [(row.op, row.name, row.step) for row in after.rows if row.args] == [
        (row.op, row.name, row.step) for row in derived.rows if row.args
    ]
    assert [row for row in new_rows if row is None] == []


def test_operands_are_quantities_in_use_that_are_not_zero() -> None:
    derived = written("s = a - b", "z = s + (b - a)", "t = z * c", "sin(t)", "-s")
    candidates, row = candidates_of(derived), named(derived)
    assert {0, 1, 2, row["s"]} <= set(candidates.operands)
    assert not {3, row["z"], row["t"]} & set(candidates.operands)
    assert row["s"] in candidates.targets
    assert not {0, 1, 2} & set(candidates.targets)


def test_angles_are_no_targets() -> None:
    """The sum s and its term a·b are angles, the product s·c is none."""
    derived = written("p = a * b", "s = p + c", "t = s * c", "sin(s) + t")
    row, candidates = named(derived), candidates_of(derived)
    assert candidates.targets == [row["t"], derived.outputs[0].rows[0]]
    assert candidates.is_sum(row["s"])
    assert not candidates.is_sum(row["t"])
    assert not candidates.is_sum(0)


def test_a_sum_is_a_product_by_a_sum_that_exists() -> None:
    derived = written("s = a + b", "t = a * c + b * c", "s", "t")
    candidates, row = candidates_of(derived), named(derived)
    assert candidates.single([row["t"]], EVERYTHING) == {row["t"]: [Way("mul", 2, row["s"])]}
    assert candidates.single([row["t"]], range(row["s"])) == {}
    assert candidates.single([row["t"]], {row["t"], row["s"], 2}) == {
        row["t"]: [Way("mul", 2, row["s"])]
    }
    assert candidates.single([], EVERYTHING) == {}


def test_a_value_that_does_not_change_with_a_sign_has_the_sign_in_its_way() -> None:
    derived = written(
        "s = a - b", "t = b * c - a * c", "u = d - s", "v = (b + d) - a", "s", "t", "u", "v"
    )
    candidates, row = candidates_of(derived), named(derived)
    s, t, u, v = row["s"], row["t"], row["u"], row["v"]
    assert Way("mul", 2, s, -1) in candidates.single([t], EVERYTHING)[t]
    singles = candidates.single([v], EVERYTHING)[v]
    assert [way for way in singles if s in (way.a, way.b)] == [Way("add", 3, s, 1, -1)]
    assert u in candidates.targets


@pytest.mark.usefixtures("round_off_of_any_size")
def test_a_new_quantity_is_a_sum_or_a_product_of_two() -> None:
    """(a + b)·c of a·c + b·c; only with `sums` is it left out."""
    derived = written("t = a * c + b * c", "t")
    candidates, row = candidates_of(derived), named(derived)
    t = row["t"]
    new = candidates.double([t], EVERYTHING)[t]
    inner = {candidates.network.way[way.b]: way for way in new if way.a == 2}
    outer = inner[Way("add", 0, 1)]
    assert (outer.op, outer.sign) == ("mul", 1)
    assert candidates.double([t], EVERYTHING, sums=True) == {}
    sum_of_three = written("t = (a + b) + c", "t")
    t = named(sum_of_three)["t"]
    found_ways = candidates_of(sum_of_three)
    new = found_ways.double([t], EVERYTHING, sums=True)[t]
    pairs = {
        frozenset((w.a, w.b)) for w in found_ways.network.way[found_ways.first :] if w is not None
    }
    assert {way.op for way in new} == {"add"}
    assert pairs == {frozenset((1, 2)), frozenset((0, 2))}


def test_a_new_quantity_has_no_value_that_exists() -> None:
    """In t = (a + b)·c + d no new row a + b is proposed, since that row exists."""
    derived = written("s = a + b", "t = s + c", "s", "t")
    candidates = candidates_of(derived)
    candidates.double(candidates.targets, EVERYTHING)
    new = candidates.network.way[candidates.first :]
    assert Way("add", 0, 1) not in new
    assert Way("add", 1, 0) not in new
    values = quantity_values(candidates)[0]
    assert len({abs(value) for value in values}) == len(values)


def test_a_value_and_its_negative_have_one_key() -> None:
    for value in (1, 12345, PRIME // 2, PRIME - 2):
        assert _candidates._key(value) == _candidates._key(PRIME - value)
    assert len({_candidates._key(value) for value in range(1, 50)}) == 49


# -- divisions -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("round_off_of_any_size")
@pytest.mark.parametrize(
    ("formulas", "allowed"),
    [
        # t = a·c without a division is not a quotient times b·c
        (("x = a / b", "y = b * c", "t = a * c", "x", "y"), False),
        (("x = sqrt(a)", "y = x * b", "t = x * (b * c)", "y"), True),
        # of one reciprocal: a product may become another product
        (("r = 1 / b", "y = a * r", "x = c", "t = (a * c) * r", "y"), True),
        # a sum of quotients may become a quotient of a sum, not the other way round
        (("r = 1 / b", "x = a * r", "y = c * r", "t = (a + c) * r", "x", "y"), False),
        (("r = 1 / b", "x = r", "y = a + c", "t = a * r + c * r", "x", "y"), True),
        # of two reciprocals: the one of the target alone
        (("r = 1 / b", "x = a * r", "y = b * c", "t = a * c", "x", "y"), False),
    ],
)
def test_no_value_gets_behind_divisions_that_it_was_not_behind(
    formulas: tuple[str, ...], allowed: bool
) -> None:
    derived = written(*formulas, "t")
    row = {"x": 2, **named(derived)}
    candidates = candidates_of(derived)
    behind = {r for r, r_row in enumerate(derived.rows) if r_row.op in ("div", "sqrt")}
    for r, r_row in enumerate(derived.rows):
        if behind & set(r_row.args):
            behind.add(r)
    ways = candidates.single([row["t"]], EVERYTHING).get(row["t"], [])
    assert any({way.a, way.b} & behind for way in ways) == allowed


@pytest.mark.usefixtures("round_off_of_any_size")
def test_only_sums_of_quotients_are_computed_as_sums_of_quotients() -> None:
    """A product of a reciprocal r stays a product; a sum of products of r may be another sum."""
    sums_of_quotients = {}
    for text in ("(a + c) * r * d", "a * d * r + c * d * r"):
        derived = written("r = 1 / b", f"t = {text}", "a * r", "c * r", "r", "t", "a * d * r")
        row, candidates = named(derived), candidates_of(derived)
        network, behind = candidates.network, {row["r"]}
        ways = candidates.double([row["t"]], EVERYTHING)[row["t"]]
        for c in range(len(network.way)):
            if behind & set(network.below[c]):
                behind.add(c)
        inner = {c for c in behind if c >= candidates.first and candidates.is_sum(c)}
        sums_of_quotients[text] = [
            (way.op == "add" and bool({way.a, way.b} & behind), way.b in inner) for way in ways
        ]
    product, sum_of_products = sums_of_quotients.values()
    assert not any(any(kinds) for kinds in product)
    assert any(is_of_sum for _, is_of_sum in sum_of_products)


def test_every_division_has_a_bit_of_its_own() -> None:
    limits = Limits()
    bits = [limits.division(value) for value in (7, 9, 7, 11, 9)]
    assert bits == [1, 2, 1, 4, 2]


# -- precision -------------------------------------------------------------------------------------


def test_a_way_that_loses_digits_is_not_proposed() -> None:
    """c² = 1 − s² cancels near a quarter turn; s² = 1 − c² cancels near zero."""
    derived = written("s = sin(a) * sin(a)", "c = cos(a) * cos(a)", "s * b", "c * d", "1 - a")
    row, candidates = named(derived), candidates_of(derived)
    constant_row = next(r for r, r_row in enumerate(derived.rows) if r_row.op == "const")
    for target, complement in ((row["s"], row["c"]), (row["c"], row["s"])):
        ways = ways_of(candidates, target)
        assert ways
        assert not [way for way in ways if constant_row in (way.a, way.b)]
        assert not candidates._fits(target, Way("add", constant_row, complement, 1, -1))
        assert candidates._fits(target, candidates.before[target] or Way("", 0, 0))


def test_changes_that_lose_digits_are_undone() -> None:
    derived = written("s = sin(a) * sin(a)", "c = cos(a) * cos(a)", "s * b", "c * d", "1 - a")
    row, candidates = named(derived), candidates_of(derived)
    constant_row = next(r for r, r_row in enumerate(derived.rows) if r_row.op == "const")
    candidates._learn()
    harmless = derived.outputs[0].rows[0]
    candidates.network.change(row["c"], Way("add", constant_row, row["s"], 1, -1))
    candidates.network.change(harmless, Way("mul", 1, row["s"]))
    assert candidates._first_inaccurate() == row["c"]
    candidates.restore()
    assert candidates.network.way[row["c"]] == candidates.before[row["c"]]
    assert candidates.network.way[harmless] == Way("mul", 1, row["s"])
    assert candidates._first_inaccurate() is None


def test_losses_of_several_changes_add_up() -> None:
    """The sine of a value that has lost digits has lost them, too."""
    derived = written(
        "s = sin(a) * sin(a)", "c = cos(a) * cos(a)", "f = sqrt(c)", "g = f * b", "s", "g", "1 - a"
    )
    row, candidates = named(derived), candidates_of(derived)
    constant_row = next(r for r, r_row in enumerate(derived.rows) if r_row.op == "const")
    candidates._learn()
    candidates.limits.errors.pop(_candidates._key(candidates._v[row["c"]]))
    candidates.network.change(row["c"], Way("add", constant_row, row["s"], 1, -1))
    assert candidates._first_inaccurate() == row["f"]
    candidates.restore()
    assert candidates.network.way[row["c"]] == candidates.before[row["c"]]


@pytest.mark.parametrize("seed", range(8))
def test_restored_programs_keep_values_and_precision(seed: int) -> None:
    derived = eliminate(
        value_number(drawn_program(f"restored {seed}", size=24, names=9, operations=TRIGONOMETRIC))
    )
    candidates = candidates_of(derived)
    changed_at_random(candidates, Random(seed))
    candidates.restore()
    after, _ = candidates.to_program()
    before_rows, after_rows = derived.outputs[0].rows, after.outputs[0].rows
    old, new = at_sixty_digits(derived), at_sixty_digits(after)
    assert all(old[a].overlaps(new[b]) for a, b in zip(before_rows, after_rows, strict=True))
    for old_errors, new_errors in zip(
        round_offs(derived, before_rows), round_offs(after, after_rows), strict=True
    ):
        for a, b in zip(before_rows, after_rows, strict=True):
            assert new_errors[b] <= 1.0001 * WORSE * old_errors[a]


def test_the_first_program_that_computed_a_value_limits_its_round_off() -> None:
    """c² is found_ways by 1 − s² if a Program with that row was learned before, with the same
    limits.
    """
    precise = written("s = sin(a) * sin(a)", "c = cos(a) * cos(a)", "s", "c", "1 - a")
    imprecise = written("s = sin(a) * sin(a)", "c = 1 - s", "s", "c")
    c = named(precise)["c"]
    constant_row = next(r for r, row in enumerate(precise.rows) if row.op == "const")
    for learned, is_way in (([imprecise], True), ([precise, imprecise], False)):
        limits = Limits()
        for program in learned:
            Candidates(program, limits)._learn()
        ways = Candidates(precise, limits).single([c], EVERYTHING)[c]
        assert any(constant_row in (way.a, way.b) for way in ways) == is_way


def test_values_without_bounds_have_no_other_ways() -> None:
    """log(a − a) is no double at any state."""
    derived = written("s = a + b", "t = a * c + b * c", "s", "t", "log(a - a)")
    candidates = candidates_of(derived)
    assert ways_of(candidates, named(derived)["t"]) == []
    candidates.restore()
    assert formulas(candidates.to_program()[0]) == formulas(derived)


def test_a_program_that_divides_by_zero_is_not_changed() -> None:
    derived = written("s = a + b", "t = a * c + b * c", "s", "t", "a / (b - b)")
    assert not candidates_of(derived).usable
    assert candidates_of(written("a / b")).usable
    assert _search.improve(derived, Limits(), Random(1), EVERYTHING, 5, thorough=True) is derived


@pytest.mark.parametrize("seed", range(4))
def test_values_and_bounds_of_ways_are_those_of_their_rows(seed: int) -> None:
    derived = drawn_program(
        f"bounds {seed}", size=30, operations=("add", "sub", "mul", "sub", "neg")
    )
    candidates = candidates_of(derived)
    candidates.double(candidates.targets, EVERYTHING)
    candidates._learn()
    compared = 0
    for c, way in enumerate(candidates.network.way):
        if way is not None:
            value, residue = candidates._value(way), candidates._residue(way, candidates._v, PRIME)
            error = candidates._error(way, value, candidates._errors)
            assert value == pytest.approx(candidates._values[c], rel=1e-12, abs=1e-300)
            assert error == pytest.approx(candidates._errors[c], rel=1e-12, abs=1e-300)
            assert residue == candidates._v[c]
            assert candidates._residue(way, candidates._small, SMALL) == candidates._small[c]
            compared += 1
    assert compared > 15


def test_the_nearest_change_is_undone_first_below_and_then_above() -> None:
    derived = written("p = a * b", "q = p + c", "r = q * d", "s = r + e", "t = s * f", "t")
    row, candidates = named(derived), candidates_of(derived)
    network = candidates.network

    def changed() -> set[str]:
        return {name for name, r in row.items() if network.way[r] != candidates.before[r]}

    for name in "pqst":
        way = network.way[row[name]]
        assert way is not None
        network.change(row[name], way._replace(a=way.b, b=way.a))
    for expected in ("pst", "st", "t", ""):
        assert candidates._restore_near(row["r"])
        assert changed() == set(expected)
    assert not candidates._restore_near(row["r"])


def test_changes_of_what_is_not_needed_are_not_undone() -> None:
    derived = written("p = a * b", "q = p + c", "r = d * e", "u = r + p", "q")
    row, candidates = named(derived), candidates_of(derived)
    way = candidates.network.way[row["u"]]
    assert way is not None
    candidates.network.change(row["u"], way._replace(a=way.b, b=way.a))
    assert not candidates._restore_near(row["q"])


# -- the search ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("round_off_of_any_size")
@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize(
    ("formulas_before", "thorough_cost", "quick_cost"),
    [
        # a product of a sum that exists
        (("s = a + b", "s", "a * c + b * c"), 2, 2),
        # a product of a new sum: only a thorough search adds the row
        (("a * c + b * c",), 2, 3),
        # a sum of three with a sum that exists
        (("a + b", "(a + c) + b"), 2, 2),
        # three sums of three, of which a new sum of two saves one operation: a quick search adds
        # no row for a value of two operations, but one for a value of three
        (("(a + c) + b", "(d + a) + b", "(e + a) + b"), 4, 6),
        (("a - d", "(a + b) - (c + d)"), 3, 3),
        (("a * b", "c - d"), 2, 2),
    ],
)
def test_a_round_finds_the_obvious_saving(
    formulas_before: tuple[str, ...], thorough_cost: int, quick_cost: int, thorough: bool
) -> None:
    derived = written(*formulas_before)
    after = _search.improve(derived, Limits(), Random(2), EVERYTHING, 60, thorough)
    assert cost(after) == (thorough_cost if thorough else quick_cost)
    assert result_values(after) == result_values(derived)


def test_only_rows_of_a_span_are_compared() -> None:
    derived = written("s = a + b", "s", "t = a * c + b * c", "t")
    last = named(derived)["t"]
    for span, expected in ((range(last + 1), 2), (range(last), 4), (range(8, 9), 4)):
        after = _search.improve(derived, Limits(), Random(2), span, 60, thorough=True)
        assert cost(after) == expected


@pytest.mark.usefixtures("round_off_of_any_size")
def test_a_quick_search_adds_no_rows_to_a_program_longer_than_its_span() -> None:
    """Row 0 is an argument that is not read; the other rows are in both spans."""
    derived = written("b - e", "(b + c) - (d + e)")
    for span, thorough, expected in (
        (range(len(derived.rows)), False, 3),
        (range(1, len(derived.rows)), False, 4),
        (range(1, len(derived.rows)), True, 3),
    ):
        after = _search.improve(derived, Limits(), Random(2), span, 60, thorough)
        assert cost(after) == expected


@pytest.mark.parametrize("seed", range(6))
def test_a_round_costs_no_more_and_repeats_itself(seed: int) -> None:
    derived = folded_program(100 + seed)
    once, again = (
        _search.improve(derived, Limits(), Random(seed), EVERYTHING, 8, thorough=True)
        for _ in range(2)
    )
    assert once.rows == again.rows
    assert cost(once) <= cost(derived)
    assert result_values(once) == result_values(derived)
