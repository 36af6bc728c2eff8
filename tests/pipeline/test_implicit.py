"""Derivatives of a function by the equation that it solves, compared with those of its own rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from symgen.ir.program import EXACT, Port, Program, Row, check, evaluate
from symgen.pipeline.differentiation import forward, hessian, implicit, jacobian, reverse
from symgen.pipeline.differentiation.implicit import Equation


def arguments_of(*sizes: int) -> list[Row]:
    return [Row("input", (), (k, i)) for k, size in enumerate(sizes) for i in range(size)]


SOLUTION = check(
    Program(
        "solve",
        "by_hand",
        (Port("m", (3,)), Port("b", (2,)), Port("e", ()), Port("idle", (2,))),
        (Port("y", (2,), (16, 13)), Port("z", (), (17,))),
        (
            *arguments_of(3, 2, 1, 2),
            Row("div", (1, 0), None, "alpha", 0),
            Row("mul", (8, 1), None, "", 0),
            Row("sub", (2, 9), None, "pivot", 0),
            Row("mul", (8, 3), None, "", 1),
            Row("sub", (4, 11), None, "", 1),
            Row("div", (12, 10), None, "y_2", 1),
            Row("mul", (1, 13), None, "", 1),
            Row("sub", (3, 14), None, "", 1),
            Row("div", (15, 0), None, "y_1", 1),
            Row("div", (5, 10), None, "z", 1),
        ),
        ("elimination", "solution"),
    )
)
"""y and z with m₀ y₁ + m₁ y₂ = b₁, m₁ y₁ + m₂ y₂ = b₂ and (m₂ − m₁²/m₀) z = e; no result depends on
`idle`.
"""
EQUATION = Equation(
    check(
        Program(
            "equation",
            "by_hand",
            (Port("last", ()), Port("m", (3,)), Port("first", (2,))),
            (Port("lower", (), (15,)), Port("upper", (2,), (8, 11))),
            (
                *arguments_of(1, 3, 2),
                Row("mul", (1, 4)),
                Row("mul", (2, 5)),
                Row("add", (6, 7)),  # m₀ y₁ + m₁ y₂
                Row("mul", (2, 4)),
                Row("mul", (3, 5)),
                Row("add", (9, 10)),  # m₁ y₁ + m₂ y₂
                Row("mul", (2, 2)),
                Row("div", (12, 1)),
                Row("sub", (3, 13)),
                Row("mul", (14, 0)),
            ),
        )
    ),
    {"first": "y", "last": "z"},
    {"lower": "e", "upper": "b"},
)
"""Equations of SOLUTION, in another order and with other names."""
WAYS: dict[str, tuple[Callable[..., Program], Callable[..., Program]]] = {
    "jvp": (implicit.jvp, forward.jvp),
    "vjp": (implicit.vjp, reverse.vjp),
    "hvp": (implicit.hvp, hessian.hvp),
    "by columns": (implicit.by_columns, jacobian.by_columns),
    "by rows": (implicit.by_rows, jacobian.by_rows),
}


def values_of(program: Program, seed: int = 1) -> dict[str, list[Fraction]]:
    """Return the results at arguments that depend on their names alone."""
    values = {}
    for port in program.inputs:
        random = Random(f"{port.name}/{seed}")
        values[port.name] = [Fraction(random.randint(1, 40), 7) for _ in range(port.size)]
    return evaluate(check(program), values, EXACT)


@pytest.mark.parametrize("by", [("m", "b", "e", "idle"), ("m",), ("e",), ("idle", "b")])
@pytest.mark.parametrize("way", WAYS)
def test_derivatives_by_the_equation_are_those_of_the_rows(way: str, by: Sequence[str]) -> None:
    by_equation, of_rows = WAYS[way]
    computed, expected = by_equation(SOLUTION, EQUATION, by, "f:d"), of_rows(SOLUTION, by, "f:d")
    assert computed.function == expected.function == "f:d"
    assert [port.shape for port in computed.outputs] == [port.shape for port in expected.outputs]
    for seed in (1, 2):
        assert values_of(computed, seed) == values_of(expected, seed)
    assert by_equation(SOLUTION, EQUATION, by).function == "solve"


def test_the_equation_depends_on_some_of_the_arguments() -> None:
    assert EQUATION.of(("m", "b", "idle")) == ["m"]
    assert EQUATION.of(("b", "e")) == []


def test_arguments_that_vanish_and_unknowns_that_are_no_results_are_idle() -> None:
    equation = replace(EQUATION, vanishing=("e",), unasked=("z",))
    assert equation.idle(("m", "b")) == {"e", "dz", "z_bar", "dz_dm", "dz_db"}
    assert EQUATION.idle(("m", "b")) == set()


def test_a_program_without_some_arguments_has_zero_for_them() -> None:
    """Results of these names are left out, too."""
    left_out = {"e", "idle", "z", "other"}
    remaining = check(implicit.without(SOLUTION, left_out))
    assert [port.name for port in remaining.inputs] == ["m", "b"]
    assert [port.name for port in remaining.outputs] == ["y"]
    arguments = {"m": [Fraction(x) for x in (2, 1, 3)], "b": [Fraction(5), Fraction(7)]}
    zeros = {"e": [Fraction(0)], "idle": [Fraction(0)] * 2}
    expected = evaluate(SOLUTION, arguments | zeros, EXACT)
    assert evaluate(remaining, arguments, EXACT) == {"y": expected["y"]}
    only_z = check(implicit.without(SOLUTION, {"b", "y"}))
    z = evaluate(only_z, {name: (arguments | zeros)[name] for name in ("m", "e", "idle")}, EXACT)
    assert z == {"z": expected["z"]}
    assert implicit.without(SOLUTION, ()) == SOLUTION
