"""Helpers of several commands: JSON, tables of costs, repeated options, shortened lines."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest

from symgen.cli.commands import cost as cost_command
from symgen.cli.commands._sharing import (
    _listed,
    _pairs,
    as_json,
    costs,
    functions,
    locks,
    name_frame,
    shortened,
)
from symgen.description.loading import load
from symgen.machine.cost import Cost, Measured
from symgen.support.errors import RequestError


def reject_constant(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (Fraction(-3, 8), -0.375),
        (Fraction(6, 3), 2.0),
        (float("nan"), None),
        (float("inf"), None),
        (-float("inf"), None),
        (0.0, 0.0),
        (-2.5, -2.5),
        (10**20, 10**20),
        (True, True),
        (None, None),
        ("λ ≤ \n", "λ ≤ \n"),
        ((1, (2, [Fraction(1, 2)])), [1, [2, [0.5]]]),
        ({3: 1, None: 2, (1, 2): 3}, {"3": 1, "None": 2, "(1, 2)": 3}),
        (MappingProxyType({"a": MappingProxyType({"b": (math.nan,)})}), {"a": {"b": [None]}}),
        ([], []),
        ({}, {}),
    ],
    ids=repr,
)
def test_facts_become_json_that_every_reader_accepts(fact: Any, expected: Any) -> None:
    for value, result in ((fact, expected), ({"x": [fact]}, {"x": [expected]})):
        text = as_json(value)
        read = json.loads(text, parse_constant=reject_constant)
        assert read == result
        assert json.dumps(read, indent=2, ensure_ascii=False) == text
    assert type(json.loads(as_json(fact))) is type(expected)


def entry(method: str, depth: int, **operations: int) -> dict[str, Any]:
    zeros = dict.fromkeys(("mul", "add", "div", "sin", "cos"), 0)
    return {"method": method, "operations": zeros | operations, "depth": depth}


def test_a_table_of_costs_has_each_figure_below_its_heading() -> None:
    table_by_function = {
        "f": entry("slow", 17, mul=11, add=12, div=13, sin=100, cos=40),
        "longer_name": entry("m", 5, log=3),
    }
    heading, *lines = [line for line in costs(table_by_function).splitlines() if "--" not in line]
    assert heading.split() == ["function", "method", "mul", "add", "div", "sin+cos", "log", "depth"]
    assert [line.split() for line in lines] == [
        ["f", "slow", "11", "12", "13", "140", "0", "17"],
        ["longer_name", "m", "0", "0", "0", "0", "3", "5"],
    ]
    assert heading.index("method") == lines[0].index("slow") == lines[1].index("m ")
    assert len({len(line.rstrip()) for line in (heading, *lines)}) == 1  # figures end alike
    del table_by_function["longer_name"]
    assert "log" not in costs(table_by_function)


LINE = "the note names alpha, beta; and gamma: with numbers 1.234"


def test_a_shortened_line_has_as_many_complete_words_as_fit() -> None:
    words = LINE.split()
    shown = {
        " ".join(words[:count]).rstrip(",;:") + " …": len(" ".join(words[:count])) + 2
        for count in range(1, len(words))
    }
    for width in range(5, len(LINE)):
        line = shortened(LINE, width)
        assert len(line) <= width
        assert line == max((text for text, size in shown.items() if size <= width), key=len)
    assert shortened(LINE, len(LINE)) == LINE
    assert shortened("x" * 30, 10) == "x" * 30  # one name is never cut


def test_repeated_options_are_read_as_names_and_values() -> None:
    assert _listed(["a, b", "c"]) == ["a", "b", "c"]
    assert (_listed(None), _listed([])) == (None, None)
    assert _pairs(["a:=1", "b:=x:=y", "c:="], "--xacro", ":=") == {"a": "1", "b": "x:=y", "c": ""}
    assert _pairs(["a=1", "a=1"], "--package", "=") == {"a": "1"}
    assert _pairs(None, "--package", "=") == {}
    assert locks(["a=b=0.5", "c"]) == {"a=b": "0.5", "c": None}  # the value follows the last =
    assert locks(["c", "c", "d=1", "d=1"]) == {"c": None, "d": "1"}
    assert functions(["g=m", "f", "f"]) == ["g=m", "f"]
    assert functions(None) is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: _pairs(["a1"], "--xacro", ":="), "'--xacro a1' gives no value to a name"),
        (lambda: _pairs([":=1"], "--xacro", ":="), "write --xacro NAME:=VALUE"),
        (lambda: _pairs(["a=1", "a=2"], "--package", "="), "'--package' gives 'a' two values"),
        (lambda: locks(["=1"]), "'--lock =1' names no joint"),
        (lambda: locks(["a="]), "'--lock a=' names no value"),
        (lambda: locks(["a", "a=1"]), "joint 'a' is locked at two values"),
        (lambda: locks(["a=1", "a"]), "joint 'a' is locked at two values"),
        (lambda: functions(["f="]), "'-f f=' names no method"),
        (lambda: functions(["f", "f=m"]), "'f' is named twice, as 'f' and as 'f=m'"),
    ],
)
def test_a_repeated_option_without_a_clear_meaning_is_refused(call: Any, sentence: str) -> None:
    with pytest.raises(RequestError, match=re.escape(sentence)):
        call()


def notes_on_frames(capsys: pytest.CaptureFixture[str], *arguments: Any) -> list[str]:
    name_frame(*arguments)
    return capsys.readouterr().err.splitlines()


def test_a_note_on_the_frame_is_printed_only_for_functions_that_depend_on_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arm = load("planar_arm")
    assert notes_on_frames(capsys, arm, ["mass_matrix"]) == []
    assert notes_on_frames(capsys, arm, ["mass_matrix", "jacobian"], "link1") == []
    (note,) = notes_on_frames(capsys, arm, ["jacobian=kinematics"])
    assert note.startswith("symgen: note: the frame is ")
    assert note.endswith("--frame LINK chooses another")
    assert notes_on_frames(capsys, arm, None) == [note]


def test_functions_of_one_frame_name_the_first_of_several(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arm, single = load("planar_arm"), ["operational_inertia_inverse"]
    assert notes_on_frames(capsys, arm, single, ("b", "a")) == [
        "symgen: note: operational_inertia_inverse speaks of the first frame alone, b"
    ]
    assert notes_on_frames(capsys, arm, single, ("b",)) == []
    assert notes_on_frames(capsys, arm, ["jacobian"], ("b", "a")) == []
    (note,) = notes_on_frames(capsys, arm, single, "b", ("link", "angular-first"))
    assert "operational_inertia_inverse does not follow --jacobian-frame" in note


# -- the table of symgen cost --

SMALL = Cost("f", "m", (100, 200), (50, 50), 1, 10, 20, 3, (), 30, None, 40)
LARGE = Cost("g", "n", (7, 7), (6, 6), 0, 11, 21, 0, ("cosf", "sinf"), 31, 32, 0, (300, 400))


def table_of_costs(clock: float | None, timed: bool, *measured: Cost) -> list[list[str]]:
    rows = cost_command._table(Measured(measured, 21, 61, 40, ()), clock, timed)
    return [re.split(r"  +", row.strip()) for row in rows if "--" not in row]


def test_the_table_of_costs_has_columns_for_cycles_workspace_and_rate_only_if_they_exist() -> None:
    heading, first, second, total = table_of_costs(None, False, SMALL, LARGE)
    plain = [
        "function",
        "method",
        "instructions",
        "alone",
        "flash",
        "+libm",
        "stack",
        "+libm",
        "ram",
        "needs",
    ]
    assert heading == plain
    assert first == ["f", "m", "100 to 200", "50", "10", "30", "20", "unknown", "3", "nothing"]
    assert second == ["g", "n", "7", "6", "11", "31", "21", "32", "0", "cosf sinf"]
    assert total == ["all", "21", "61"]
    work = Cost(**{**LARGE.__dict__, "work": 476})
    heading, row, _ = table_of_costs(8e6, True, work)
    assert heading == [*plain[:4], "cycles", "alone", *plain[4:9], "work", "rate/s", "needs"]
    assert row[4] == "300 to 400"
    assert row[-4:] == ["0", "476", "20000", "cosf sinf"]


def test_names_in_a_table_of_costs_begin_below_their_headings() -> None:
    long = Cost(**{**LARGE.__dict__, "function": "a_long_name", "method": "a_method:variant"})
    rows = cost_command._table(Measured((SMALL, long), 21, 61, 40, ()), None, False)
    heading, first, second, _ = (row for row in rows if "--" not in row)
    assert [row.index(x) for row, x in ((heading, "function"), (first, "f "))] == [0, 0]
    assert heading.index("method") == first.index("m ") == second.index("a_method")
    assert heading.index("needs") == first.index("nothing") == second.index("cosf")


def test_the_total_of_a_table_of_costs_is_in_the_columns_of_flash() -> None:
    for clock, timed in ((None, False), (1e6, True)):
        rows = cost_command._table(Measured((SMALL, LARGE), 21, 61, 40, ()), clock, timed)
        lines = [row for row in rows if "--" not in row]
        end = lines[0].index("flash") + len("flash")
        assert lines[-1][:end].endswith("21")
        assert lines[-1][: end + len("  +libm")].endswith("61")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x", ""])
def test_a_clock_that_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is not a frequency"):
        cost_command._clock(text)


def test_a_clock_is_a_frequency_in_hertz() -> None:
    assert (cost_command._clock("168e6"), cost_command._clock(None)) == (168e6, None)
    assert cost_command._clock("1e-300") == 1e-300
