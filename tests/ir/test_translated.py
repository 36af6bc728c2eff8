"""Programs as Python functions: the same operations on every number type."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from symgen.ir import translated
from symgen.ir.program import EXACT, Numbers, Port, Program, Row, check, evaluate
from symgen.ir.translated import OFTEN, TranslatingRunner, python_function, translate
from tests.shared.pass_programs import POINTS, drawn_program, row_values, written

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)


@pytest.mark.parametrize("seed", range(6))
def test_a_translated_program_has_the_same_values(seed: int) -> None:
    derived = drawn_program(f"translated {seed}", size=20)
    every_row = derived.with_rows(
        derived.rows, [Port("y", (len(derived.rows),), tuple(range(len(derived.rows))))]
    )
    run = translate(every_row, EXACT)
    for at in POINTS:
        assert run({"x": at}) == {"y": row_values(derived, at)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b", 0.5 + 0.25),
        ("a - b", 0.5 - 0.25),
        ("a * b", 0.5 * 0.25),
        ("a / b", 0.5 / 0.25),
        ("-a", -0.5),
        ("3", 3.0),
        ("0.1", 0.1),
        ("sin(a)", math.sin(0.5)),
        ("cos(a)", math.cos(0.5)),
        ("sqrt(a)", math.sqrt(0.5)),
        ("log(a)", math.log(0.5)),
        ("atan2(a, b)", math.atan2(0.5, 0.25)),
        ("a - (b - c) / (a - -b)", 0.5 - (0.25 - 2) / (0.5 + 0.25)),
    ],
)
def test_every_operation_is_translated(text: str, value: float) -> None:
    derived, arguments = written(text), {"x": [0.5, 0.25, 2.0, 0, 0, 0, 0, 0]}
    assert translate(derived, FLOATS)(arguments) == {"y": [value]}
    assert evaluate(derived, arguments, FLOATS) == {"y": [value]}


def test_arguments_and_results_are_found_by_their_names() -> None:
    rows = (
        Row("input", (), (1, 0)),
        Row("input", (), (0, 1)),
        Row("sub", (0, 1)),
    )
    derived = check(
        Program(
            "f",
            "m",
            (Port("first", (2,)), Port("it's", (1,))),
            (Port("d", (2,), (2, 0)), Port("nothing", (0,)), Port("s", (), (1,))),
            rows,
        )
    )
    assert translate(derived, EXACT)({"it's": [5], "first": [1, 2]}) == {
        "d": [3, 5],
        "nothing": [],
        "s": [2],
    }


def test_constants_are_converted_once() -> None:
    converted: list[Fraction] = []

    def constant(value: Fraction) -> float:
        converted.append(value)
        return float(value)

    numbers = Numbers(constant, math.sin, math.cos, math.sqrt, math.log)
    run = translate(written("a * 3 + 0.5"), numbers)
    assert sorted(converted) == [Fraction(1, 2), 3]
    assert run({"x": [2.0] * 8}) == run({"x": [2.0] * 8}) == {"y": [6.5]}
    assert len(converted) == 2


def test_a_program_is_translated_after_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    translations: list[Program] = []

    def recorded_translate(program: Program, numbers: Numbers) -> Any:
        translations.append(program)
        return translate(program, numbers)

    monkeypatch.setattr(translated, "translate", recorded_translate)
    run, often, seldom = TranslatingRunner(), written("a - b"), written("a / b")
    for k in range(1, OFTEN + 4):
        arguments = {"x": [Fraction(k)] + [Fraction(2)] * 7}
        assert run(often, arguments, EXACT) == {"y": [k - 2]}
        if k % 2:
            assert run(seldom, arguments, EXACT) == {"y": [Fraction(k, 2)]}
        assert translations == ([often] if k > OFTEN else [])


def test_a_python_function_returns_expressions_by_name() -> None:
    function = python_function(
        ["x = arguments['a'][0] + offset", "y = 2 * x"],
        {"x": "[x]", "both": "[y, x]"},
        {"offset": 5},
    )
    assert function({"a": [1]}) == {"x": [6], "both": [12, 6]}
