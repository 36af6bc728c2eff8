"""Programs whose rows are recorded again where another function calls them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar, TooManyRows
from symgen.ir.program import Numbers, Port, Program, Row, check, evaluate
from symgen.pipeline import composing
from symgen.pipeline.composing import Inlining, inline_program
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import random_mechanism

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log, math.atan2)
INNER = check(
    Program(
        "f",
        "by_hand",
        (Port("x", (2,)), Port("y", ())),
        (Port("p", (2,), (10, 5)), Port("r", (3,), (12, 13, 0))),
        (
            Row("input", (), (0, 0)),
            Row("input", (), (0, 1)),
            Row("input", (), (1, 0)),
            Row("const", (), Fraction(7, 3)),
            Row("mul", (0, 3), None, "scaled", 0),
            Row("sub", (4, 1), None, "", 0),
            Row("sin", (2,), None, "s", 1),
            Row("cos", (2,), None, "", 1),
            Row("neg", (7,), None, "", 1),
            Row("add", (6, 8), None, "", -1),
            Row("div", (9, 5), None, "ratio", 0),
            Row("mul", (4, 4), None, "", 1),
            Row("sqrt", (11,), None, "", 1),
            Row("atan2", (6, 11), None, "", 1),
        ),
        ("first", "second"),
    )
)


def recorded(stage: str = "") -> tuple[Derivation, tuple[list[Scalar], ...]]:
    """Return the rows of INNER, recorded again with x = (b, a) and y = a b."""
    derivation = Derivation({"in": 2})
    a, b = derivation.inputs["in"]
    return derivation, inline_program(INNER, derivation, [[b, a], [a * b]], stage)


def values_of(derivation: Derivation, entries: Sequence[Scalar], *point: float) -> list[float]:
    program = derivation.freeze("g", "m", [("z", (len(entries),), list(entries))], {"in": (2,)})
    return evaluate(program, {"in": list(point)}, FLOATS)["z"]


def test_an_inlined_program_has_its_values_at_the_given_arguments() -> None:
    with k.precision():
        derivation, results = recorded()
        assert [len(entries) for entries in results] == [2, 3]
        a, b = 0.4, -1.3
        expected = evaluate(INNER, {"x": [b, a], "y": [a * b]}, FLOATS)
        computed = values_of(derivation, [x for entries in results for x in entries], a, b)
        assert computed == pytest.approx([*expected["p"], *expected["r"]])


@pytest.mark.parametrize("stage", ["", "k2"])
def test_comments_and_names_begin_with_the_stage(stage: str) -> None:
    """A comment is repeated where the rows return to its step; rows without one stay under it."""
    with k.precision():
        derivation, _ = recorded(stage)
    prefix = f"{stage}: " if stage else ""
    assert derivation.steps[-4:] == [
        f"{prefix}{text}" for text in ("first", "second", "first", "second")
    ]
    names = {*derivation.names.values()}
    assert names >= {f"{stage}_{name}" if stage else name for name in ("scaled", "s", "ratio")}


def test_a_call_takes_the_arguments_that_are_left_out_from_those_of_the_whole() -> None:
    derivation = Derivation({"x": 2, "y": 1})
    asked: list[str] = []

    def get_program(function: str) -> Program:
        asked.append(function)
        return INNER

    with k.precision():
        robot = Inlining(random_mechanism(1), derivation, get_program)
        (x0, x1), (y,) = derivation.inputs["x"], derivation.inputs["y"]
        (first, _), _ = robot("f")
        (second, _), _ = robot("f", x=[x1, x0], y=[y])
        program = derivation.freeze(
            "g", "m", [("z", (2,), [first, second])], {"x": (2,), "y": (1,)}
        )
    values = evaluate(program, {"x": [0.3, 0.9], "y": [1.1]}, FLOATS)["z"]
    usual, exchanged = (
        evaluate(INNER, {"x": x, "y": [1.1]}, FLOATS)["p"][0] for x in ([0.3, 0.9], [0.9, 0.3])
    )
    assert values == pytest.approx([usual, exchanged])
    assert asked == ["f", "f"]


def test_a_composed_program_has_at_most_the_row_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """The derivation may have four times as many rows."""
    robot = random_mechanism(1)
    specification = FUNCTIONS["kinetic_energy"]

    def powers(count: int) -> Any:
        def results(derivation: Derivation) -> list[Any]:
            (v,) = derivation.inputs["v"]
            total = v
            for _ in range(count):
                total = total * v
            return [("T", (), [total])]

        return results

    def rows(count: int, budget: int) -> int:
        monkeypatch.setattr(composing.derive, "ROW_BUDGET", budget)
        options = ProgramOptions("float")
        program = composing.build_from_results(robot, specification, "m", options, powers(count))
        assert (program.real, program.joints) == ("float", (robot.joints[0].kind,))
        assert [port.name for port in program.inputs] == ["q", "v"]
        return len(program.rows)

    length = rows(20, 100)
    assert rows(20, length) == length
    with pytest.raises(TooManyRows, match=f"{length} rows"):
        rows(20, length - 1)
    monkeypatch.setattr(composing.passes, "run", lambda program: SimpleNamespace(rows=program))
    with pytest.raises(TooManyRows):
        rows(60, 12)
