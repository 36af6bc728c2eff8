"""Comparisons that checked C makes: in the order of the calls, or in any order within a form in
parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.ir.program import Element, Port, Program
from symgen.readback.c_machine import Term, Terms
from symgen.readback.comparisons import (
    Comparisons,
    Condition,
    Group,
    LaneComparisons,
    Number,
    compared_rows,
    failing_runs,
    number_compared,
    of_a_call,
    of_arguments,
    of_rows,
)
from symgen.readback.parsing import parse_text
from symgen.readback.required_checks import LowerBound
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS
from tests.shared.c_programs import Builder, vector

TERMS = Terms(REALS["double"])
LIMIT = TERMS.constant(Fraction(1, 8))


def divisor(number: int) -> Term:
    return TERMS.of("input", number)


def at_least(number: int) -> Condition:
    return ">=", divisor(number), LIMIT


def lane(has_parts: bool) -> LaneComparisons:
    """Return a lane behind two calls of steps, each with one divisor; in parts, the second one is
    made twice.
    """
    comparisons = LaneComparisons([], has_parts=has_parts)
    for call in (0, 1, 1) if has_parts else (0, 1):
        group = Group("SINGULAR", frozenset({at_least(call)}))
        comparisons.require(TERMS.of("call", call), (call, 0) if has_parts else None, [group])
    return comparisons


def test_comparisons_of_calls_are_made_in_the_order_of_the_calls() -> None:
    comparisons = lane(has_parts=False)
    assert comparisons.decide(at_least(1), "line 2", 0) is None
    assert comparisons.decide(at_least(0), "line 1", 0) is True
    assert not comparisons.all_made
    assert comparisons.decide(at_least(1), "line 2", 0) is True
    assert comparisons.complete
    assert comparisons.outcomes == {}


def test_comparisons_of_a_form_in_parts_are_made_in_any_order_and_once_for_each_call() -> None:
    comparisons = lane(has_parts=True)
    assert comparisons.pending == []
    assert comparisons.decide(at_least(1), "line 2", 0) is True
    assert not comparisons.complete
    assert comparisons.decide(at_least(1), "line 2", 0) is None
    assert comparisons.decide(at_least(0), "line 1", 0) is True
    assert comparisons.complete
    assert comparisons.outcomes == {at_least(1): True, at_least(0): True}
    assert [origin for _, _, origin in comparisons.made] == [(1, 0), (0, 0)]


def test_the_failing_comparison_ends_the_others() -> None:
    comparisons = lane(has_parts=False)
    assert comparisons.decide(at_least(0), "line 1", 1) is False
    assert comparisons.decide(at_least(1), "line 2", 1) is None
    assert comparisons.status == "SINGULAR"


# -- comparisons that follow from arguments and rows -----------------------------------------------


def inputs(name: str, count: int) -> list[Term]:
    return [TERMS.of("argument", name, k) for k in range(count)]


def product(*factors: Term) -> Term:
    return TERMS.of("mul", *factors)


def test_all_arguments_are_finite_and_quaternions_have_unit_length() -> None:
    """Compare the square of a length, less one, with 2⁻²⁰ for q alone: v has no quaternions."""
    q, v = inputs("q", 6), inputs("v", 6)
    form = replace(rows_program(), quaternions=(1,))
    finite, unit = of_arguments(form, {"q": q, "v": v}, TERMS)
    assert finite == Group("NOT_FINITE", finite=frozenset([*q, *v]))
    total = product(q[1], q[1])
    for x in q[2:5]:
        total = TERMS.of("add", total, product(x, x))
    size = TERMS.of("fabs", TERMS.of("sub", total, TERMS.constant(Fraction(1))))
    bound = TERMS.constant(Fraction(1, 2**20))
    assert unit == Group("NOT_UNIT", frozenset({("<=", size, bound)}))
    assert of_arguments(rows_program(), {"q": q}, TERMS) == [finite._replace(finite=frozenset(q))]


def rows_program() -> Program:
    """Return sin(q_0)/q_1, log(q_2), sqrt(q_3) and atan2(q_4, q_5)."""
    builder = Builder("gravity_force", [vector("q", 6)])
    q = [builder.input(0, k) for k in range(6)]
    rows = (
        builder.op("div", builder.op("sin", q[0]), q[1]),
        builder.op("log", q[2]),
        builder.op("sqrt", q[3]),
        builder.op("atan2", builder.op("add", q[4], q[4]), q[5]),
    )
    return builder.program([Port("g", (4,), rows)])


LEAST = TERMS.constant(REALS["double"].least)


def test_the_comparisons_of_a_program_are_those_of_its_rows() -> None:
    program, q = rows_program(), inputs("q", 6)
    rows: dict[int, Term] = {}
    for i, row in enumerate(program.rows):
        operands = [rows[k] for k in row.args]
        rows[i] = q[row.value[1]] if row.op == "input" else TERMS.of(row.op, *operands)
    results = frozenset(rows[i] for i in program.outputs[0].rows)
    by_status = {g.status: g for g in of_rows(program, rows, {"q": q}, {}, sines=True)}
    assert [*by_status] == ["NOT_FINITE", "OUT_OF_RANGE", "DIVISOR", "RESULT_NOT_FINITE"]
    magnitude = {k: TERMS.of("fabs", q[k]) for k in (0, 1)}
    zero = TERMS.constant(Fraction(0))
    in_range = ("<=", magnitude[0], TERMS.constant(Fraction(2**15)))
    assert by_status["OUT_OF_RANGE"].conditions == {in_range}
    assert by_status["DIVISOR"].conditions == {
        (">=", magnitude[1], LEAST),
        (">=", q[2], LEAST),
        (">=", q[3], zero),
    }
    summed = TERMS.of("add", q[4], q[4])
    assert by_status["RESULT_NOT_FINITE"].finite == results | {summed}
    without_sines = of_rows(program, rows, {"q": q}, {1: Fraction(1, 8)}, sines=False)
    assert [group.status for group in without_sines] == [
        "NOT_FINITE",
        "DIVISOR",
        "RESULT_NOT_FINITE",
    ]
    row_of_q_1 = next(i for i, row in enumerate(program.rows) if row.value == (0, 1))
    bounds: dict[int, Any] = {row_of_q_1: Fraction(1, 8)}
    (_, floor, _) = of_rows(program, rows, {"q": q}, bounds, sines=False)
    assert (">=", q[1], TERMS.constant(Fraction(1, 8))) in floor.conditions
    bounds = {row_of_q_1: Element(0, 3)}
    (_, floor, _) = of_rows(program, rows, {"q": q}, bounds, sines=False)
    assert (">=", q[1], q[3]) in floor.conditions


def test_numbers_behind_a_call_are_compared_by_what_they_are() -> None:
    x, y, z = inputs("guard", 3)
    numbers = [
        Number(LowerBound(True, Fraction(1, 8)), False),
        Number(LowerBound(False, Fraction(0)), True),
        Number(None, True),
    ]
    angles, divisors = of_a_call([x, y, z], numbers, TERMS)
    farthest = TERMS.constant(Fraction(2**15))
    in_range = {("<=", TERMS.of("fabs", value), farthest) for value in (y, z)}
    assert angles == Group("OUT_OF_RANGE", frozenset(in_range))
    assert divisors == Group(
        "DIVISOR",
        frozenset({(">=", TERMS.of("fabs", x), LIMIT), (">=", y, TERMS.constant(Fraction(0)))}),
        frozenset({x, y}),
    )
    assert [group.status for group in of_a_call([z], numbers[2:], TERMS)] == ["OUT_OF_RANGE"]
    assert [group.status for group in of_a_call([x], numbers[:1], TERMS)] == ["DIVISOR"]


def test_divisors_and_angles_of_a_step_are_compared() -> None:
    program = rows_program()
    row_of = {row.value[1]: i for i, row in enumerate(program.rows) if row.op == "input"}
    assert compared_rows(program, sines=False) == sorted(row_of[k] for k in (1, 2, 3))
    assert compared_rows(program, sines=True) == sorted(row_of[k] for k in (0, 1, 2, 3))


# -- comparisons that are made ---------------------------------------------------------------------


def zeros(*values: Term) -> Condition:
    """Return the comparison that is true if all values are finite."""
    zero = TERMS.constant(Fraction(0))
    total, *products = [product(zero, value) for value in values]
    for term in products:
        total = TERMS.of("add", total, term)
    return ">=", total, zero


X, Y, Z = inputs("x", 3)


def test_finite_numbers_are_compared_in_one_sum_or_in_several() -> None:
    group = Group("NOT_FINITE", finite=frozenset({X, Y, Z}))
    for conditions in ([zeros(X, Y, Z)], [zeros(Y), zeros(Z, X)], [zeros(X, Y), zeros(Z)]):
        comparisons = LaneComparisons([group])
        for condition in conditions:
            assert not comparisons.all_made
            assert comparisons.decide(condition, "line", 0) is True
        assert comparisons.complete
        assert [status for status, _, _ in comparisons.made] == ["NOT_FINITE"] * len(conditions)


def test_a_sum_of_other_terms_does_not_show_that_numbers_are_finite() -> None:
    group = Group("NOT_FINITE", finite=frozenset({X, Y}))
    zero, unit = TERMS.constant(Fraction(0)), TERMS.constant(Fraction(1))
    _, total, _ = zeros(X, Y)
    for condition in (
        ("<=", total, zero),
        (">=", total, unit),
        (">=", TERMS.of("add", total, X), zero),
        (">=", TERMS.of("add", total, product(unit, X)), zero),
        (">=", TERMS.of("sub", total, product(zero, X)), zero),
        (">=", zero, zero),
        (">=", TERMS.of("add", total, TERMS.of("sub", zero, X)), zero),
        zeros(X, Y, Z),
    ):
        assert LaneComparisons([group]).decide(condition, "line", 0) is None
    padded = (">=", TERMS.of("add", zero, total), zero)
    assert LaneComparisons([group]).decide(padded, "line", 0) is True


def test_a_group_is_finished_before_the_next_one_begins() -> None:
    first = Group("NOT_FINITE", frozenset({at_least(0)}), frozenset({X}))
    second = Group("DIVISOR", frozenset({at_least(1)}))
    ending = Group("RESULT_NOT_FINITE", finite=frozenset({Y}))
    comparisons = LaneComparisons([first, second], ending)
    assert comparisons.decide(at_least(1), "b", 0) is None
    assert comparisons.decide(at_least(0), "a", 0) is True
    assert comparisons.decide(at_least(0), "a", 0) is None, "it is made already"
    assert comparisons.decide(at_least(1), "b", 0) is None
    assert comparisons.decide(zeros(X), "a", 0) is True
    assert not comparisons.all_made
    assert comparisons.decide(zeros(Y), "c", 0) is None
    assert comparisons.decide(at_least(1), "b", 0) is True
    assert comparisons.all_made
    assert not comparisons.complete, "the ending is not made"
    assert comparisons.decide(zeros(Y), "c", 0) is True
    assert comparisons.complete
    assert [status for status, _, _ in comparisons.made] == [
        "NOT_FINITE",
        "NOT_FINITE",
        "DIVISOR",
        "RESULT_NOT_FINITE",
    ]


def test_a_group_that_is_begun_is_not_complete() -> None:
    group = Group("DIVISOR", frozenset({at_least(0)}), frozenset({X}))
    for made, missing in ((zeros(X), at_least(0)), (at_least(0), zeros(X))):
        comparisons = LaneComparisons([group])
        assert comparisons.decide(made, "a", 0) is True
        assert not comparisons.all_made
        assert not comparisons.complete
        assert comparisons.decide(missing, "a", 0) is True
        assert comparisons.complete
        of_parts = LaneComparisons([], has_parts=True)
        of_parts.require(TERMS.of("call", 0), (0, 0), [group])
        assert of_parts.decide(made, "a", 0) is True
        assert not of_parts.complete
        assert of_parts.decide(missing, "a", 0) is True
        assert of_parts.complete


def test_comparisons_behind_calls_come_before_those_that_are_due() -> None:
    comparisons = LaneComparisons([Group("DUE", frozenset({at_least(0)}))])
    comparisons.require(X, None, [Group("BEHIND", frozenset({at_least(1)}))])
    assert not comparisons.all_made
    assert comparisons.decide(at_least(0), "a", 0) is None
    assert comparisons.decide(at_least(1), "b", 0) is True
    assert comparisons.decide(at_least(0), "a", 0) is True
    assert [status for status, _, _ in comparisons.made] == ["BEHIND", "DUE"]


def test_numbers_of_parts_are_finite_in_any_order() -> None:
    comparisons = LaneComparisons([], Group("END", frozenset({at_least(5)})), has_parts=True)
    group = Group("DIVISOR", frozenset({at_least(0)}), frozenset({X, Y}))
    comparisons.require(TERMS.of("call", 0), (3, 1), [group])
    assert comparisons.all_made, "parts are compared at any time before the ending"
    assert comparisons.decide(at_least(5), "end", 0) is None
    assert comparisons.decide(zeros(X, Z), "a", 0) is None
    assert comparisons.decide(zeros(Y), "a", 0) is True
    assert comparisons.decide(at_least(0), "b", 0) is True
    assert comparisons.decide(at_least(5), "end", 0) is None
    assert comparisons.decide(zeros(X), "a", 0) is True
    assert comparisons.decide(at_least(5), "end", 0) is True
    assert [(status, origin) for status, _, origin in comparisons.made] == [
        ("DIVISOR", (3, 1)),
        ("DIVISOR", (3, 1)),
        ("DIVISOR", (3, 1)),
        ("END", None),
    ]


def test_parts_that_are_compared_at_the_same_time_go_on_after_one_has_failed() -> None:
    for continues_after_failure in (False, True):
        comparisons = LaneComparisons(
            [], has_parts=True, continues_after_failure=continues_after_failure
        )
        group = Group("DIVISOR", frozenset({at_least(0), at_least(1)}))
        comparisons.require(TERMS.of("call", 0), (0, 0), [group])
        assert comparisons.decide(at_least(0), "a", 1) is False
        assert comparisons.decide(at_least(1), "a", 1) is (
            True if continues_after_failure else None
        )
        assert comparisons.outcome(at_least(0)) is (False if continues_after_failure else None)
        assert comparisons.outcome(at_least(2)) is None
        assert comparisons.failed


def test_samples_are_the_first_and_the_last_comparison_of_each_place_and_part() -> None:
    comparisons = LaneComparisons([], has_parts=True)
    first, second = object(), object()
    origins = [(1, 0), (1, 0), (1, 1), (1, 0), (1, 1)]
    comparisons.made = [("DIVISOR", first, origin) for origin in origins]
    comparisons.made += [("END", second, None)]
    assert comparisons.samples() == [1, 3, 5, 6]
    comparisons.made = [("DIVISOR", first, None)] * 4
    assert comparisons.samples() == [1, 4]


def test_a_comparison_is_one_of_some_lane() -> None:
    node = node_of_line(1)
    lanes = [LaneComparisons([Group("A", frozenset({at_least(k)}))]) for k in (0, 1)]
    comparisons = Comparisons(lanes, {1: 1})
    assert comparisons(*at_least(1), node) is False
    assert lanes[1].failed
    assert not comparisons.all_made
    assert not comparisons.complete
    assert comparisons(*at_least(0), node) is True
    assert comparisons.all_made
    assert comparisons.complete, "a lane that has failed makes no other comparison"
    with pytest.raises(
        ProgramError, match="line 1: this is not a comparison that the checked func"
    ):
        comparisons(*at_least(0), node)


def test_a_comparison_of_parts_that_is_made_again_has_the_same_outcome() -> None:
    node = node_of_line(1)
    lanes = [LaneComparisons([], has_parts=True) for _ in range(2)]
    comparisons = Comparisons(lanes)
    lanes[1].require(X, (0, 1), [Group("DIVISOR", frozenset({at_least(0)}))])
    assert comparisons(*at_least(0), node) is True
    assert comparisons(*at_least(0), node) is True
    assert len(lanes[1].made) == 1


# -- runs in which a comparison does not hold ------------------------------------------------------


def node_of_line(line: int) -> Any:
    return parse_text("\n" * (line - 1) + "int f(int x) { return x; }")[0].decl


def lanes_of(count: int, comparisons_made: int = 2) -> Comparisons:
    nodes = [node_of_line(line + 4) for line in range(comparisons_made)]
    lanes = [LaneComparisons([]) for _ in range(count)]
    for lane in lanes:
        lane.made = [("DIVISOR", node, None) for node in nodes]
    return Comparisons(lanes)


def true_statuses(count: int) -> Callable[[Mapping[int, int]], tuple[list[int], bool]]:
    return lambda failing: ([3 if lane in failing else 0 for lane in range(count)], False)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_comparison_fails_once_in_some_lane(count: int) -> None:
    runs: list[dict[int, int]] = []

    def run(failing: Mapping[int, int]) -> tuple[list[int], bool]:
        runs.append(dict(failing))
        return true_statuses(count)(failing)

    assert failing_runs(lanes_of(count, 7), run, "arm_f", "arm") == []
    assert sorted(number for failing in runs for number in failing.values()) == [*range(1, 8)]
    assert all(len(failing) <= max(1, count - 1) for failing in runs)
    assert {lane for failing in runs for lane in failing} == set(range(count))


def test_a_wrong_status_or_a_stored_result_is_named_with_its_line() -> None:
    sentence = "if this comparison is false, arm_f stores a result, or its status is not arm_"
    (wrong,) = failing_runs(lanes_of(1), lambda failing: ([0], False), "arm_f", "arm")
    assert wrong == f"line 4: {sentence}DIVISOR"
    (second,) = failing_runs(
        lanes_of(1), lambda failing: ([3 if failing == {0: 1} else 1], False), "arm_f", "arm"
    )
    assert second == f"line 5: {sentence}DIVISOR"
    (stored,) = failing_runs(lanes_of(1), lambda failing: ([3], True), "arm_f", "arm")
    assert stored == f"line 4: {sentence}DIVISOR"
    (of_another,) = failing_runs(lanes_of(2), lambda failing: ([3, 3], False), "arm_f", "arm")
    assert of_another == f"{sentence}OK"
    unequal = lanes_of(2)
    unequal.lanes[1].made = unequal.lanes[1].made[:1]
    assert failing_runs(unequal, true_statuses(2), "arm_f", "arm") == [
        "the lanes of arm_f make different comparisons"
    ]


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        ("size < 70", 70),
        ("size < 70 || size < 70", 70),
        ("size >= 0", 0),
        ("other < 5", None),
        ("size < 70 || size < 71", None),
        ("size < x", None),
        ("size < 1.5", None),
        ("70 > size", None),
    ],
)
def test_a_size_is_compared_with_one_number(condition: str, number: int | None) -> None:
    (function,) = parse_text(f"int f(int size) {{ if ({condition}) {{ return 1; }} return 0; }}")
    if number is not None:
        assert number_compared(function.body, "size") == number
    else:
        with pytest.raises(ProgramError, match="size is not compared with one number"):
            number_compared(function.body, "size")
