"""Bounds of round-off, compared with closed forms, and the states at which they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from symgen.ir.passes import _error_bounds
from symgen.ir.passes._error_bounds import NEAR, STATES, round_offs, values_and_errors
from symgen.ir.program import Port, Program
from tests.shared.pass_programs import LETTERS, written

Bound = Callable[[float, float, float], tuple[float, float]]


def at_states(derived: Program) -> list[tuple[list[float], float, float]]:
    """Return the arguments, and value and bound of the first result, at each state."""
    row = derived.outputs[0].rows[0]
    return [
        (values[: len(LETTERS)], values[row], errors[row])
        for values, errors in values_and_errors(derived, [*range(len(LETTERS)), row])
    ]


BOUNDS: dict[str, Bound] = {
    # the rounding of a result or constant r adds |r|; arguments are exact
    "a": lambda a, b, c: (a, 0),
    "-a": lambda a, b, c: (-a, 0),
    "3": lambda a, b, c: (3, 3),
    "a + b": lambda a, b, c: (a + b, abs(a + b)),
    "a - b": lambda a, b, c: (a - b, abs(a - b)),
    "-(a - b)": lambda a, b, c: (b - a, abs(a - b)),
    "a * 3": lambda a, b, c: (a * 3, 2 * abs(a * 3)),
    # the errors of terms add up; a factor multiplies the error of the other
    "a * b + c": lambda a, b, c: (a * b + c, abs(a * b) + abs(a * b + c)),
    "c - a * b": lambda a, b, c: (c - a * b, abs(a * b) + abs(c - a * b)),
    "a * b * c": lambda a, b, c: (a * b * c, 2 * abs(a * b * c)),
    "c * (a - b)": lambda a, b, c: (c * (a - b), 2 * abs(c * (a - b))),
    "(a + b) * (b + c)": lambda a, b, c: ((a + b) * (b + c), 3 * abs((a + b) * (b + c))),
    # so do relative errors of dividend and divisor
    "(a + b) / c": lambda a, b, c: ((a + b) / c, 2 * abs((a + b) / c)),
    "c / (a + b)": lambda a, b, c: (c / (a + b), 2 * abs(c / (a + b))),
    "(a * b) / (b * c)": lambda a, b, c: (a / c, 3 * abs(a / c)),
    # a function multiplies the error by its slope
    "sin(a * b)": lambda a, b, c: (
        math.sin(a * b),
        abs(math.cos(a * b) * a * b) + abs(math.sin(a * b)),
    ),
    "cos(a * b)": lambda a, b, c: (
        math.cos(a * b),
        abs(math.sin(a * b) * a * b) + abs(math.cos(a * b)),
    ),
    "sqrt(a * a)": lambda a, b, c: (abs(a), 1.5 * abs(a)),
    "log(a * a)": lambda a, b, c: (2 * math.log(abs(a)), 1 + abs(2 * math.log(abs(a)))),
    "atan2(a * b, c)": lambda a, b, c: (
        math.atan2(a * b, c),
        abs(c * a * b) / ((a * b) ** 2 + c**2) + abs(math.atan2(a * b, c)),
    ),
    "atan2(c, a * b)": lambda a, b, c: (
        math.atan2(c, a * b),
        abs(c * a * b) / ((a * b) ** 2 + c**2) + abs(math.atan2(c, a * b)),
    ),
}


@pytest.mark.parametrize("text", BOUNDS)
def test_bounds_have_their_closed_form(text: str) -> None:
    states = at_states(written(text))
    assert len(states) == len(STATES)
    for arguments, value, bound in states:
        expected_value, expected_bound = BOUNDS[text](*arguments[:3])
        assert value == pytest.approx(expected_value, rel=1e-12)
        assert bound == pytest.approx(expected_bound, rel=1e-12)


def test_states_are_generic_or_near_a_quarter_turn() -> None:
    derived = written("a")
    first_state, second_state, near = ([arguments] for arguments, _, _ in at_states(derived))
    for (arguments,) in (first_state, second_state):
        assert len({round(abs(x), 6) for x in arguments}) == len(arguments)
        assert all(0.01 < abs(x) <= 1.5 for x in arguments)
        assert min(arguments) < -1 < 1 < max(arguments)
    assert all(abs(x - y) > 0.01 for x, y in zip(first_state[0], second_state[0], strict=True))
    quarters = [round(x / (math.pi / 2)) for x in near[0]]
    assert quarters == [0, 1] * (len(LETTERS) // 2)
    offsets = [x - k * math.pi / 2 for x, k in zip(near[0], quarters, strict=True)]
    assert all(1e-4 < abs(x) <= NEAR / 2 for x in offsets)


def test_no_two_elements_of_two_arguments_are_equal() -> None:
    split = replace(written("a"), inputs=(Port("q", (3,)), Port("x", (5,))))
    arguments = _error_bounds._arguments(split, 0.0)
    assert [len(port) for port in arguments] == [3, 5]
    assert arguments[0] + arguments[1] == _error_bounds._arguments(written("a"), 0.0)[0]


@pytest.mark.parametrize("state", STATES)
def test_quaternions_have_length_one(state: float | None) -> None:
    derived = replace(written("a"), inputs=(Port("q", (9,)),))
    (plain,) = _error_bounds._arguments(derived, state)
    (unit,) = _error_bounds._arguments(replace(derived, quaternions=(2,)), state)
    assert math.hypot(*unit[2:6]) == pytest.approx(1, rel=1e-15)
    assert unit[:2] + unit[6:] == plain[:2] + plain[6:]
    ratios = [x / y for x, y in zip(unit[2:6], plain[2:6], strict=True)]
    assert ratios == pytest.approx([ratios[0]] * 4, rel=1e-12)
    assert ratios[0] > 0


def test_a_state_that_cannot_be_evaluated_is_left_out() -> None:
    """The root of an argument exists where it is positive, √(−a²) and 1/(a − a) at no state."""
    states = [arguments for arguments, _, _ in at_states(written("a"))]
    positive = [sum(arguments[k] > 0 for arguments in states) for k in range(len(LETTERS))]
    argument = next(k for k, count in enumerate(positive) if 0 < count < len(STATES))
    derived = written(f"sqrt({LETTERS[argument]})")
    assert len(round_offs(derived, derived.outputs[0].rows)) == positive[argument]
    for text in ("sqrt(-(a * a))", "1 / (a - a)", "log(a - a)"):
        assert round_offs(written(text), written(text).outputs[0].rows) == []


def test_only_needed_rows_are_evaluated() -> None:
    derived = written("a * b", "1 / (a - a)", "c + a * b")
    result = derived.outputs[0].rows[0]
    (errors, *others) = round_offs(derived, [result])
    assert len(others) == len(STATES) - 1
    finite = [i for i, error in enumerate(errors) if math.isfinite(error)]
    assert finite == [0, 1, result]
    assert len(errors) == len(derived.rows)
    assert round_offs(derived, derived.outputs[0].rows) == []
