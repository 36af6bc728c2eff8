"""Programs as plain data and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.ir.program import ARITY, Port, Program, Row
from symgen.pipeline.serialize import (
    from_plain,
    outline_from_plain,
    outline_to_plain,
    to_plain,
)
from symgen.vocabulary.arrays import Convention

ROWS = (
    Row("input", (), (0, 1), "x", 1),
    Row("const", (), Fraction(-10, 3), "", 1),
    Row("mul", (0, 1), None, "product", 0),
    Row("input", (), (1, 0)),
    Row("add", (2, 3), None, "", 1),
    Row("neg", (4,), None, "last", 1),
)
PROGRAM = Program(
    "f",
    "m",
    (Port("q", (2,)), Port("dt", ())),
    (Port("J", (1, 2), (4, 5)), Port("e", (), (2,))),
    ROWS,
    ("first", "second"),
    "float",
    (3, 7),
    Convention("local", "linear"),
    ("revolute", "free"),
    (("slow", "it is long"),),
)


def plain() -> Any:
    return json.loads(json.dumps(to_plain(PROGRAM)))


def test_a_program_survives_as_json() -> None:
    again = from_plain(plain())
    assert again == PROGRAM
    assert again is not None
    assert again.passed_over == PROGRAM.passed_over
    assert (again.steps, again.joints, again.quaternions) == (
        PROGRAM.steps,
        PROGRAM.joints,
        PROGRAM.quaternions,
    )


@pytest.mark.parametrize("steps", [(0, 0, 0), (-1, -1, 0), (0, -1, 0), (1, 0, 1), (-1, 1, 1)])
def test_every_row_stays_under_its_step(steps: tuple[int, ...]) -> None:
    rows = tuple(Row("input", (), (0, 0), "", step) for step in steps)
    program = Program("f", "m", (Port("x", ()),), (), rows, ("a", "b"))
    again = from_plain(json.loads(json.dumps(to_plain(program))))
    assert again is not None
    assert [row.step for row in again.rows] == [*steps]


def test_every_operation_survives() -> None:
    operations = [op for op in ARITY if op not in ("const", "input")]
    rows = (
        Row("input", (), (0, 0)),
        Row("const", (), Fraction(7)),
        *(Row(op, (0, 1)[: ARITY[op]]) for op in operations),
    )
    program = Program("f", "m", (Port("x", ()),), (Port("y", (), (3,)),), rows)
    assert from_plain(to_plain(program)) == program


def change(**values: Any) -> Callable[[Any], None]:
    def apply(facts: Any) -> None:
        facts.update(values)

    return apply


def truncated(key: str) -> Callable[[Any], None]:
    def apply(facts: Any) -> None:
        facts[key] = facts[key][:-1]

    return apply


def extended(key: str, item: Any) -> Callable[[Any], None]:
    def apply(facts: Any) -> None:
        facts[key] = [*facts[key], item]

    return apply


@pytest.mark.parametrize(
    "spoil",
    [
        change(function=3),
        change(method=None),
        change(real=["double"]),
        change(operations="c?"),
        change(quaternions=[-1]),
        change(quaternions=[True]),
        change(convention=["local", "sideways"]),
        change(convention=["mine", "linear"]),
        change(convention=["local"]),
        change(joints=[3]),
        change(inputs=[["q", [-2]]]),
        change(inputs=[["q", ["2"]]]),
        change(outputs=[["J", [1, 2], [4]]]),
        change(outputs=[["J", [1], [9]]]),
        change(begins=[["0", 1]]),
        change(begins=[[0, 5]]),
        change(names=[[0, 5]]),
        change(constants=["a/0"]),
        change(constants=["a"]),
        change(steps=[1, 2]),
        change(passed_over=[["slow"]]),
        *map(truncated, ("operands", "constants", "elements", "operations")),
        extended("operands", 0),
        extended("constants", "1/1"),
        extended("elements", [0, 0]),
        lambda facts: facts.pop("rows", facts.pop("names")),
    ],
)
def test_other_data_are_no_program(spoil: Callable[[Any], None]) -> None:
    facts = plain()
    assert from_plain(facts) is not None
    spoil(facts)
    assert from_plain(facts) is None


def test_data_of_another_kind_are_no_program() -> None:
    for facts in (None, [], "text", 3, {}):
        assert from_plain(facts) is None
        assert outline_from_plain(facts) is None


def test_an_outline_survives_as_json() -> None:
    outline = PROGRAM.outline
    facts = json.loads(json.dumps(outline_to_plain(outline)))
    assert outline_from_plain(facts) == outline
    assert outline.length == len(ROWS)
    for position, value in ((0, 3), (2, [["q", [-1]]]), (4, {"mul": -1}), (5, -1), (6, 8)):
        spoiled = [*facts]
        spoiled[position] = value
        assert outline_from_plain(spoiled) is None
    assert outline_from_plain(facts[:-1]) is None


def test_constants_are_exact() -> None:
    tiny = Fraction(1, 3**200)
    rows = (Row("const", (), tiny), Row("const", (), -tiny), Row("const", (), Fraction(2**300)))
    program = replace(PROGRAM, outputs=(), rows=rows, quaternions=())
    assert from_plain(json.loads(json.dumps(to_plain(program)))) == program
