"""The tape of a derivative: rows without repetition, structural zeros, comments, and the sweeps
along it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import factorial
from typing import Any

import mpmath
import pytest

from symgen.ir import passes
from symgen.ir.program import EXACT, Numbers, Port, Program, Row, evaluate
from symgen.pipeline import differentiation
from symgen.pipeline.differentiation import shortest
from symgen.pipeline.differentiation._sweeps import pull_back, push_forward
from symgen.pipeline.differentiation._tape import Tape
from symgen.pipeline.differentiation.length import lengths
from symgen.pipeline.differentiation.series import DIGITS, expanded
from symgen.pipeline.differentiation.shortest import WAYS, shortest_derivative
from symgen.support.errors import TooLong
from symgen.vocabulary.derivatives import Derivative


def number(x: Fraction | str | int) -> Any:
    """Return a number to the working precision."""
    exact = Fraction(x)
    return mpmath.mpf(exact.numerator) / exact.denominator


FLOATS = Numbers(number, mpmath.sin, mpmath.cos, mpmath.sqrt, mpmath.log, mpmath.atan2)
X, Y = Row("input", (), (0, 0)), Row("input", (), (0, 1))


def program(*rows: Row, results: tuple[int, ...] | None = None, steps: tuple[str, ...] = ()) -> Any:
    """Return a Program of the argument x of two elements with these rows behind them."""
    rows = (X, Y, *rows)
    results = (len(rows) - 1,) if results is None else results
    return Program(
        "f", "by_hand", (Port("x", (2,)),), (Port("y", (len(results),), results),), rows, steps
    )


SUM_OF_PRODUCT = program(Row("mul", (0, 1)), Row("add", (2, 0)))
"""f(x, y) = x y + x."""


# -- rows ----------------------------------------------------------------------------------------


def test_an_operation_is_recorded_once() -> None:
    tape = Tape(SUM_OF_PRODUCT)
    assert tape.put("mul", 0, 1) == 2
    assert tape.put("mul", 1, 0) == tape.put("mul", 1, 0) == 4
    assert tape.put("sub", 0, 1) == 5
    assert len(tape.rows) == 6


def test_of_two_equal_rows_of_the_program_the_first_is_used() -> None:
    tape = Tape(program(Row("mul", (0, 1)), Row("mul", (0, 1)), Row("add", (2, 3))))
    assert tape.put("mul", 0, 1) == 2


def test_a_constant_is_recorded_once_and_an_unread_row_each_time() -> None:
    tape = Tape(SUM_OF_PRODUCT)
    half = tape.constant(Fraction(1, 2))
    assert tape.constant(Fraction(1, 2)) == half != tape.constant(1)
    assert tape.rows[half] == Row("const", (), Fraction(1, 2), "", -1)
    first, second = tape.unread(), tape.unread()
    assert first != second
    assert tape.rows[first].value == tape.rows[second].value == 0


def test_structural_zeros_take_no_rows() -> None:
    tape = Tape(SUM_OF_PRODUCT)
    assert (tape.plus(None, 1), tape.plus(0, None), tape.plus(None, None)) == (1, 0, None)
    assert (tape.less(0, None), tape.less(None, None)) == (0, None)
    assert (tape.times(None, 1), tape.times(0, None)) == (None, None)
    assert len(tape.rows) == len(SUM_OF_PRODUCT.rows)
    (negative, difference, total, product) = (
        tape.less(None, 1),
        tape.less(0, 1),
        tape.plus(1, 0),
        tape.times(0, 1),
    )
    assert [tape.rows[r][:2] for r in (negative, difference, total, product) if r is not None] == [
        ("neg", (1,)),
        ("sub", (0, 1)),
        ("add", (1, 0)),
        ("mul", (0, 1)),
    ]


def test_new_rows_stand_under_the_prefixed_comment_of_the_row_they_belong_to() -> None:
    original = program(Row("mul", (0, 1), None, "", 0), steps=("first", "second"))
    tape = Tape(original)
    tape.comment("rate of ", original.steps)
    assert tape.steps == ["first", "second", "rate of first", "rate of second"]
    before = tape.put("add", 0, 0)
    tape.under(1)
    second = tape.put("add", 0, 1)
    tape.under(0)
    first = tape.put("add", 1, 0)
    tape.under(-1)
    none = tape.put("add", 1, 1)
    assert [tape.rows[r].step for r in (before, second, first, none)] == [-1, 3, 2, -1]
    tape.comment("weight of ", original.steps)
    assert tape.rows[tape.put("sub", 1, 1)].step == -1
    tape.under(0)
    assert tape.steps[tape.rows[tape.put("sub", 0, 1)].step] == "weight of first"


def test_rows_without_a_new_comment_stand_under_those_of_the_program() -> None:
    tape = Tape(program(Row("mul", (0, 1), None, "", 0), steps=("first", "second")))
    assert tape.rows[tape.put("add", 0, 0)].step == -1
    tape.under(1)
    assert tape.rows[tape.put("add", 0, 1)].step == 1


def test_an_inlined_program_has_the_values_of_the_program() -> None:
    inner = program(
        Row("const", (), Fraction(3)),
        Row("mul", (0, 2)),  # 3 x
        Row("sub", (3, 1)),  # 3 x - y
        Row("neg", (4,)),
        Row("add", (5, 0)),  # y - 2 x
        Row("div", (6, 1)),  # 1 - 2 x / y
        results=(7, 3),
    )
    tape = Tape(SUM_OF_PRODUCT)
    (results,) = tape.inline(inner, [[3, 1]])
    outer = Program(
        "g",
        "by_hand",
        SUM_OF_PRODUCT.inputs,
        (Port("y", (2,), tuple(r for r in results if r is not None)),),
        tuple(tape.rows),
    )
    x, y = Fraction(2), Fraction(5)
    value = x * y + x
    assert evaluate(outer, {"x": [x, y]}, EXACT)["y"] == [1 - 2 * value / y, 3 * value]


def test_an_inlined_program_that_is_linear_takes_structural_zeros() -> None:
    linear = program(
        Row("mul", (0, 1)),  # of a zero
        Row("div", (0, 1)),
        Row("sub", (1, 0)),
        Row("neg", (0,)),
        Row("add", (0, 1)),
        results=(2, 3, 4, 5, 6),
    )
    tape = Tape(SUM_OF_PRODUCT)
    assert tape.inline(linear, [[None, 1]]) == [[None, None, 1, None, 1]]
    assert len(tape.rows) == len(SUM_OF_PRODUCT.rows)


# -- sweeps --------------------------------------------------------------------------------------

OPERATIONS: dict[str, tuple[Row, ...]] = {
    "add": (Row("add", (0, 1)),),
    "sub": (Row("sub", (0, 1)),),
    "neg": (Row("neg", (1,)),),
    "mul": (Row("mul", (0, 1)),),
    "square": (Row("mul", (1, 1)),),
    "div": (Row("div", (0, 1)),),
    "inverse": (Row("const", (), Fraction(1)), Row("div", (2, 1))),
    "sin": (Row("sin", (0,)),),
    "cos": (Row("cos", (0,)),),
    "sqrt": (Row("sqrt", (1,)),),
    "log": (Row("log", (1,)),),
    "atan2": (Row("atan2", (0, 1)),),
    "chain": (Row("mul", (0, 1)), Row("sin", (2,)), Row("div", (3, 0)), Row("sub", (4, 2))),
    **{f"stumpff{k}": (Row(f"stumpff{k}", (1,)),) for k in range(4)},
}


def value_of(original: Program, x: list[Any]) -> Any:
    """Return the first result at x, to the working precision."""
    return evaluate(expanded(original), {"x": x}, FLOATS)["y"][0]


def with_result(original: Program, tape: Tape, row: int) -> Program:
    return Program(
        "df", "by_hand", original.inputs, (Port("y", (1,), (row,)),), tuple(tape.rows), ()
    )


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("argument", [0, 1])
def test_sweeps_give_the_partial_derivative_of_every_operation(name: str, argument: int) -> None:
    """Both sweeps agree with a central difference, whose error is of order step squared."""
    original = program(*OPERATIONS[name])
    point = [Fraction(7, 10), Fraction(13, 10)]
    with mpmath.workdps(40):
        step = Fraction(1, 10**15)
        ahead, behind = (
            [x + sign * step * (k == argument) for k, x in enumerate(point)] for sign in (1, -1)
        )
        values = [value_of(original, [*map(number, x)]) for x in (ahead, behind)]
        slope = (values[0] - values[1]) / number(2 * step)
        at = [*map(number, point)]
        forward = Tape(original)
        change = push_forward(forward, len(original.rows), {argument: forward.constant(1)})[-1]
        backward = Tape(original)
        last = len(original.rows) - 1
        weight = pull_back(backward, 0, last + 1, {last: backward.constant(1)}, [argument])
        if change is None:
            assert not weight
            assert slope == 0
            return
        for tape, row in ((forward, change), (backward, weight[argument])):
            assert abs(value_of(with_result(original, tape, row), at) - slope) < 1e-20


def test_a_sweep_visits_only_the_rows_that_depend_on_what_is_requested() -> None:
    original = program(Row("sin", (1,)), Row("mul", (0, 2)))
    tape = Tape(original)
    weights = pull_back(tape, 0, 4, {3: tape.constant(1)}, [0])
    assert list(weights) == [0]
    assert not any(row.op == "cos" for row in tape.rows)


def test_a_row_with_a_given_change_has_no_other_change() -> None:
    original = program(Row("mul", (0, 1)), Row("add", (2, 0)))
    tape = Tape(original)
    unit = tape.constant(1)
    assert push_forward(tape, 4, {2: unit}) == [None, None, unit, unit]
    assert push_forward(tape, 3, {}) == [None] * 3


# -- estimated lengths and ways --------------------------------------------------------------------


@pytest.mark.parametrize("sent_ways", [(0,), (1,), (0, 1), ()])
def test_a_derivative_from_another_process_is_that_of_this_one(
    sent_ways: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only ways of many rows are sent; what another process did not send is built here."""
    sent: list[int] = []

    def run(jobs: list[Any], to_plain: Any, from_plain: Any) -> dict[int, Any]:
        sent.append(len(jobs))
        return {k: from_plain(json.loads(json.dumps(to_plain(jobs[k]())))) for k in sent_ways}

    original = replace(SUM_OF_PRODUCT, origin="here", rounds=3)
    derivative = Derivative("f", "jacobian", ("x",))
    serial = shortest_derivative(original, derivative, "f:jacobian")
    monkeypatch.setattr(shortest.parallel, "run", run)
    assert shortest_derivative(original, derivative, "f:jacobian") == serial
    assert sent == []
    monkeypatch.setattr(shortest, "MANY", 1)
    received = shortest_derivative(original, derivative, "f:jacobian")
    assert received == serial
    assert (received.origin, received.rounds) == ("here", 3)
    assert sent == [2]
    single = Derivative("f", "jvp", ("x",))
    shortest_derivative(original, single, "f:jvp")
    assert sent == [2]  # of one way nothing is gained


def test_estimated_lengths_count_two_rows_for_each_operand_that_depends() -> None:
    """x y + x has four rows and four operands, of which three depend on x only if y is fixed."""
    both = Program(
        "f",
        "by_hand",
        (Port("x", ()), Port("y", ())),
        (Port("z", (), (3,)),),
        (X, Row("input", (), (1, 0)), Row("mul", (0, 1)), Row("add", (2, 0))),
    )
    assert lengths(both, "jvp", ["x", "y"]) == [4 + 2 * 4]
    assert lengths(both, "vjp", ["x"]) == [4 + 2 * 3]
    assert lengths(both, "vjp", ["y"]) == [4 + 2 * 2]
    # a second derivative has the rows of the first, and four times as many more
    assert lengths(both, "hvp", ["x", "y"]) == [4 + 2 * 4 * (1 + 4)]
    # by columns an operand counts once for each of its directions, by rows once for each result
    assert lengths(both, "jacobian", ["x", "y"]) == [4 + 2 * (1 + 1 + 2 + 1), 4 + 2 * 4]
    assert lengths(both, "jacobian", ["x"]) == [4 + 2 * 3, 4 + 2 * 3]
    assert lengths(both, "jacobian", ["y"]) == [4 + 2 * 2, 4 + 2 * 2]


def test_each_element_of_an_argument_is_a_direction_and_each_result_a_row() -> None:
    """y = (x₀ x₁, sin(x₀ x₁)): the product has two directions, and is read by both results."""
    original = program(Row("mul", (0, 1)), Row("sin", (2,)), results=(2, 3))
    assert lengths(original, "jacobian", ["x"]) == [
        4 + 2 * (1 + 1 + 2),
        4 + 2 * (2 + 2 + 1),
    ]


def test_arguments_have_directions_of_their_own() -> None:
    """In sin(x y z) the last operand depends on three directions."""
    original = Program(
        "f",
        "by_hand",
        tuple(Port(name, ()) for name in "xyz"),
        (Port("w", (), (5,)),),
        (
            *(Row("input", (), (k, 0)) for k in range(3)),
            Row("mul", (0, 1)),
            Row("mul", (3, 2)),  # three directions
            Row("sin", (4,)),
        ),
    )
    assert lengths(original, "jacobian", ["x", "y", "z"])[0] == 6 + 2 * (1 + 1 + 2 + 1 + 3)


def test_the_shorter_way_to_a_jacobian_is_taken() -> None:
    """A product of many numbers is differentiated by rows, and iterated sines of one number by
    columns.
    """
    count = 6
    product = [Row("input", (), (0, k)) for k in range(count)]
    for k in range(1, count):
        product.append(Row("mul", (len(product) - 1 if k > 1 else 0, k)))
    sines = [Row("input", (), (0, 0)), *(Row("sin", (k,)) for k in range(count))]
    shorter = []
    for rows, results in ((product, (len(product) - 1,)), (sines, (*range(1, count + 1),))):
        size = sum(row.op == "input" for row in rows)
        original = Program(
            "f", "m", (Port("x", (size,)),), (Port("y", (len(results),), results),), tuple(rows)
        )
        ways = [passes.run(way(original, ("x",), "f:jacobian")).cost for way in WAYS["jacobian"]]
        derivative = Derivative("f", "jacobian", ("x",))
        assert shortest_derivative(original, derivative, "f:jacobian").cost == min(ways)
        shorter.append(ways[0] - ways[1])
    assert shorter[0] > 0 >= shorter[1]


@pytest.mark.parametrize(
    ("estimates", "chosen", "in_parallel"),
    [
        ((100, 100), [0, 1], False),
        ((100, 300), [0, 1], False),
        ((100, 301), [0], False),
        ((301, 100), [1], False),
        ((20_000, 20_000), [0, 1], False),
        ((20_001, 20_002), [0, 1], True),
        ((90_000, 20_001), [1], False),
    ],
)
def test_a_way_of_three_times_the_estimated_rows_is_not_tried(
    monkeypatch: pytest.MonkeyPatch,
    estimates: tuple[int, int],
    chosen: list[int],
    in_parallel: bool,
) -> None:
    """Above 20 000 rows, several ways are worth separate processes."""
    original = program(Row("mul", (0, 1)))
    tried: list[int] = []
    sent: list[int] = []

    def way(number: int) -> Callable[..., Program]:
        def differentiated(*_: Any) -> Program:
            tried.append(number)
            return original

        return differentiated

    def run(jobs: Sequence[Any], **_: Any) -> dict[int, Any]:
        sent.append(len(jobs))
        return {}

    monkeypatch.setattr(shortest, "lengths", lambda *_: list(estimates))
    monkeypatch.setitem(shortest.WAYS, "jacobian", (way(0), way(1)))
    monkeypatch.setattr(shortest.parallel, "run", run)
    shortest_derivative(original, Derivative("f", "jacobian", ("x",)), "f:jacobian")
    assert tried == chosen
    assert sent == ([2] if in_parallel else [])


def test_a_derivative_of_four_times_the_row_budget_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Program may have 100 000 rows; the passes leave at least a quarter of the recorded rows."""
    estimates = [500_000, 400_000]
    monkeypatch.setattr(differentiation, "lengths", lambda *_: estimates)
    monkeypatch.setattr(differentiation, "shortest_derivative", lambda *_: SUM_OF_PRODUCT)
    derivative = Derivative("mass_matrix", "jacobian", ("q",))
    assert differentiation.differentiate(SUM_OF_PRODUCT, derivative) is SUM_OF_PRODUCT
    estimates[1] += 1
    with pytest.raises(TooLong, match="needs about 400001 rows, more than 100000"):
        differentiation.differentiate(SUM_OF_PRODUCT, derivative)


# -- functions of rotations ----------------------------------------------------------------------


@pytest.mark.parametrize("k", range(8))
@pytest.mark.parametrize("y", ["0", "0.1", "0.999", "1", "1.001", "7", "90"])
def test_a_function_of_a_rotation_is_its_power_series(k: int, y: str) -> None:
    """c_k(y) = Σ (−y)ʲ/(2j + k)!, to 40 digits of 1 on both sides of y = 1."""
    original = program(Row(f"stumpff{k}", (0,)))
    with mpmath.workdps(90):
        at = number(y)
        series = mpmath.fsum((-at) ** j / mpmath.factorial(2 * j + k) for j in range(80))
        assert abs(value_of(original, [at, at]) - series) < mpmath.mpf(10) ** -40


def test_a_series_has_only_significant_terms() -> None:
    """The first left out term of c₀ at y = 1 is 1/38!, the first factorial beyond 2¹⁴⁶."""
    assert factorial(36) < 2**146 < factorial(38)
    rows = expanded(program(Row("stumpff0", (0,)))).rows
    factors = {Fraction(1, factorial(2 * j)) for j in range(30)}
    recorded = {row.value for row in rows if row.op == "const"} & factors
    assert min(recorded) == Fraction(1, factorial(36))


def test_constants_of_functions_of_rotations_have_at_most_102_digits() -> None:
    """Constants other than inverse factorials are multiples of 2⁻³⁴⁰, which is about 10⁻¹⁰²."""
    rows = expanded(program(Row("stumpff1", (0,)), Row("stumpff2", (0,)), Row("add", (2, 3)))).rows
    exact = {Fraction(1, factorial(j)) for j in range(60)} | {Fraction(1, 2)}
    rounded = [row.value for row in rows if row.op == "const" and row.value not in exact]
    assert len(rounded) == 2
    assert all(DIGITS == 2**340 and DIGITS % value.denominator == 0 for value in rounded)
    assert 10**102 < DIGITS < 10**103


def test_no_divisor_of_a_function_of_a_rotation_is_below_one() -> None:
    """Divisors are max(y, 1) and its root, also at y = 0."""
    original = expanded(program(Row("stumpff3", (0,))))
    divisors = [row.args[1] for row in original.rows if row.op == "div"]
    assert divisors
    every = Program(
        "f",
        "by_hand",
        original.inputs,
        (Port("y", (len(divisors),), tuple(divisors)),),
        original.rows,
    )
    for y in (0, 0.5, 1, 4):
        values = evaluate(every, {"x": [mpmath.mpf(y), 0]}, FLOATS)["y"]
        assert all(value in (max(y, 1), mpmath.sqrt(max(y, 1))) for value in values)


def test_functions_of_the_angle_of_an_arc_are_series_alone() -> None:
    """The square of such an angle is at most that of a quarter turn, so no division is needed."""
    original = program(
        Row("arc_square", (0, 1)),
        Row("stumpff1", (2,)),
        Row("arc", (0, 1)),
        Row("still", (0,)),
        results=(2, 3, 4, 5),
    )
    with mpmath.workdps(60):
        for angle in ("0.2", "1.5"):
            theta = number(angle)
            x, c = theta / mpmath.sin(theta), mpmath.cos(theta)
            rows = expanded(original)
            assert not any(row.op in ("div", "sqrt") for row in rows.rows)
            square, sine, arc, still = evaluate(rows, {"x": [x, c]}, FLOATS)["y"]
            assert abs(square - theta**2) < mpmath.mpf(10) ** -50
            assert abs(sine - mpmath.sin(theta) / theta) < mpmath.mpf(10) ** -40
            assert (arc, still) == (x, x)


def test_functions_of_one_angle_share_their_rows() -> None:
    both = expanded(program(Row("stumpff1", (0,)), Row("stumpff3", (0,)), results=(2, 3)))
    alone = [expanded(program(Row(f"stumpff{k}", (0,)))) for k in (1, 3)]
    assert len(both.rows) < sum(len(each.rows) for each in alone) - 20
    assert all(a < len(both.rows) for a, _ in pairwise(both.outputs[0].rows))
