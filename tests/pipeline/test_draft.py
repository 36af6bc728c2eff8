"""Arguments and results of derivatives: rows that read an element twice, and the order of ports."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from symgen.ir.passes.value_number import value_number
from symgen.ir.program import EXACT, Port, Program, Row, check, evaluate
from symgen.pipeline.differentiation import forward, hessian, jacobian, reverse
from symgen.support.errors import ArgumentError

READ_TWICE = check(
    Program(
        "f",
        "by_hand",
        (Port("x", (3,)), Port("payload", (2,)), Port("y", ())),
        (Port("r", (3,), (8, 8, 0)), Port("s", (), (9,))),
        (
            Row("input", (), (0, 0)),
            Row("input", (), (0, 1)),
            Row("input", (), (0, 0)),
            Row("input", (), (2, 0)),
            Row("input", (), (1, 1)),
            Row("input", (), (2, 0)),
            Row("mul", (0, 1), None, "", 0),
            Row("mul", (2, 3), None, "", 1),
            Row("add", (6, 7), None, "", 0),  # x₀ x₁ + x₀ y
            Row("mul", (5, 4), None, "", 1),  # y times the second number of the payload
        ),
        ("first", "second"),
    )
)
"""Two rows read x₀ and two read y; none reads x₂ and the first number of the payload. Two elements
of r are one row, and the third is an argument.
"""
WAYS: dict[str, Callable[..., Program]] = {
    "jvp": forward.jvp,
    "vjp": reverse.vjp,
    "hvp": hessian.hvp,
    "by columns": jacobian.by_columns,
    "by rows": jacobian.by_rows,
}


def values_of(program: Program) -> dict[str, list[Fraction]]:
    """Return the results at arguments that depend on their names alone."""
    values = {}
    for port in program.inputs:
        random = Random(port.name)
        values[port.name] = [Fraction(random.randint(1, 40), 7) for _ in range(port.size)]
    return evaluate(check(program), values, EXACT)


@pytest.mark.parametrize("by", [("x", "y"), ("y",), ("payload", "x")])
@pytest.mark.parametrize("way", WAYS)
def test_an_element_that_two_rows_read_is_one_argument(way: str, by: tuple[str, ...]) -> None:
    once = value_number(READ_TWICE)
    assert len(once.rows) == len(READ_TWICE.rows) - 2
    assert values_of(WAYS[way](READ_TWICE, by)) == values_of(WAYS[way](once, by))


def test_derivatives_are_those_of_the_formulas() -> None:
    """r = (x₀ x₁ + x₀ y, the same, x₀) and s = y p₂."""
    x, y, p = [Fraction(n) for n in (2, 3, 5)], Fraction(7), [Fraction(11), Fraction(13)]
    point = {"x": x, "y": [y], "payload": p}
    by_x, by_y = [[x[1] + y, x[0], 0]] * 2 + [[1, 0, 0]], [x[0], x[0], 0]
    for way in (jacobian.by_columns, jacobian.by_rows):
        results = evaluate(way(READ_TWICE, ("x", "y")), point, EXACT)
        assert results == {
            "dr_dx": [entry for row in by_x for entry in row],
            "dr_dy": by_y,
            "ds_dx": [0, 0, 0],
            "ds_dy": [p[1]],
        }
    weights = {"r_bar": [Fraction(n) for n in (2, 3, 4)], "s_bar": [Fraction(5)]}
    assert evaluate(reverse.vjp(READ_TWICE, ("x", "y")), point | weights, EXACT) == {
        "x_bar": [5 * (x[1] + y) + 4, 5 * x[0], 0],
        "y_bar": [5 * x[0] + 5 * p[1]],
    }


def test_new_arguments_stand_before_those_at_run_time() -> None:
    """`payload` is one of those, wherever the Program has it."""
    names = [port.name for port in forward.jvp(READ_TWICE, ("x", "y")).inputs]
    assert names == ["x", "y", "dx", "dy", "payload"]
    names = [port.name for port in hessian.hvp(READ_TWICE, ("y",)).inputs]
    assert names == ["x", "y", "r_bar", "s_bar", "dy", "payload"]


def test_each_comment_stands_once_and_rows_keep_theirs() -> None:
    derivative = forward.jvp(READ_TWICE, ("x",), "f:jvp")
    assert derivative.function == "f:jvp"
    assert [*derivative.steps] == [*dict.fromkeys(derivative.steps)]
    comments = [derivative.steps[row.step] for row in derivative.rows if row.step >= 0]
    assert {"first", "second", "change: first", "change: second"} == {*comments}


def test_an_unknown_argument_is_refused_with_those_that_exist() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"^f has no argument 'z' to be differentiated by; it has x, payload, y$",
    ):
        forward.jvp(READ_TWICE, ("z",))
