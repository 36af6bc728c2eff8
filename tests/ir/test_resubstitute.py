"""Few rows stand for more, and nothing else changes: not a value, not a name, not a digit; what is interrupted is made again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

import symgen
from symgen.ir import passes
from symgen.ir.passes import _candidates, _search, resubstitute
from symgen.ir.passes._error_bounds import round_offs
from symgen.ir.program import Program, check
from symgen.pipeline import build, derive, search, serialize
from symgen.support.errors import ProgramError, UnknownName
from symgen.vocabulary.options import HIGH, ProgramOptions
from tests.shared.merging import ANGLE, at_sixty_digits, draw_trigonometric_program
from tests.shared.pass_programs import by_hand, ops
from tests.shared.robots_for_tests import BALLS, largest, program, robot, run, states

pytestmark = pytest.mark.usefixtures("finished_here")
_known: dict[tuple[str, str], Program] = {}
SHORT = 2
"""Rounds of a search in a test."""
TELLING = (("ur5", "forward_dynamics"), ("panda", "mass_matrix"), ("free_body", "inverse_dynamics"))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ROUNDS", SHORT)
    monkeypatch.setattr(search, "AGAIN", 1)


def searched(name: str, function: str) -> Program:
    """By SHORT rounds."""
    if (name, function) not in _known:
        _known[name, function] = _searched(name, function)
    return _known[name, function]


def _searched(name: str, function: str) -> Program:
    made = program(name, function)
    finished = derive.attempt(robot(name), function, made.method, ProgramOptions()).program()
    return search.search_program(finished, made, None)


def left(made: Program) -> list[str]:
    return ops(resubstitute(made))


# -- what is found -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "results", "kept"),
    [
        # a x + b x, where a + b is there
        ([("add", 0, 1), ("mul", 0, 2), ("mul", 1, 2), ("add", 4, 5)], [3, 6], ["add", "mul"]),
        # a (b c), where a b is there
        ([("mul", 0, 1), ("mul", 1, 2), ("mul", 4, 0)], [3, 5], ["mul", "mul"]),
        # (a b) c and a b: nothing to gain
        ([("mul", 0, 1), ("mul", 3, 2)], [3, 4], ["mul", "mul"]),
    ],
)
def test_one_row_stands_for_several(
    rows: list[tuple[Any, ...]], results: list[int], kept: list[str]
) -> None:
    assert left(by_hand(results, *rows)) == kept


def test_a_turn_about_an_angle_is_known() -> None:
    """s² x + c² x is x, and x + y takes one row."""
    made = by_hand(
        [10, 11],
        *ANGLE,
        ("mul", 3, 3),
        ("mul", 6, 1),
        ("mul", 4, 4),
        ("mul", 8, 1),
        ("add", 7, 9),
        ("add", 10, 2),
    )
    assert passes.run(made).cost == 1


def test_no_digit_is_lost_for_an_operation() -> None:
    """c² b is not b − s² b, which cancels, though b − s² b is there and one row less."""
    rows = (
        *ANGLE,
        ("mul", 3, 3),
        ("mul", 6, 1),
        ("sub", 1, 7),
        ("mul", 4, 4),
        ("mul", 9, 2),
        ("mul", 10, 1),
        ("mul", 8, 2),
    )
    made = by_hand([11, 12, 8], *rows)
    after = resubstitute(made)
    for old, new in zip(
        round_offs(made, range(len(made.rows))),
        round_offs(after, range(len(after.rows))),
        strict=True,
    ):
        for a, b in zip(made.outputs[0].rows, after.outputs[0].rows, strict=True):
            assert new[b] <= _candidates.WORSE * old[a]


# -- any Program ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(derived=draw_trigonometric_program())
def test_every_result_keeps_its_value(derived: Program) -> None:
    finished = passes.finish(passes.begin(derived))
    after = check(
        passes.search_round(
            finished, passes.Limits(), Random("test"), range(len(finished.rows)), 20
        )
    )
    assert after.cost <= finished.cost
    with BALLS.working():
        before, now = at_sixty_digits(finished), at_sixty_digits(after)
        for old, new in zip(finished.outputs[0].rows, after.outputs[0].rows, strict=True):
            assert now[new].overlaps(before[old])


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("name", "function"), TELLING)
def test_robots_keep_their_answers_and_their_digits(name: str, function: str) -> None:
    """At 60 digits. No result carries more than it may at any of the states, beside the Program before the search."""
    made = program(name, function)
    finished = derive.attempt(robot(name), function, made.method, ProgramOptions()).program()
    after = searched(name, function)
    assert check(after).cost <= made.cost <= finished.cost
    at = states(name, 1, BALLS)
    with BALLS.working():
        for port in made.outputs:
            one, other = (run(p, at, BALLS)[port.name] for p in (finished, after))
            assert largest(one - other) < 1e-50 * max(1.0, largest(one))
    for old, new in zip(
        round_offs(finished, range(len(finished.rows))),
        round_offs(after, range(len(after.rows))),
        strict=True,
    ):
        for before, now in zip(finished.outputs, after.outputs, strict=True):
            assert all(
                new[b] <= 1.0001 * _candidates.WORSE * old[a]
                for a, b in zip(before.rows, now.rows, strict=True)
            )


@pytest.mark.usefixtures("short")
def test_a_search_pays_on_a_robot_and_adds_no_division() -> None:
    made, after = program("ur5", "forward_dynamics"), searched("ur5", "forward_dynamics")
    assert after.cost < made.cost
    assert after.operations["div"] <= made.operations["div"]
    assert {row.name for row in after.rows if row.name}


SAME = """
from symgen.pipeline import search as searching
searching.ROUNDS, searching.AGAIN = 2, 1
import hashlib, symgen
made = symgen.program("scara", "mass_matrix", effort="high")
print(made.cost, hashlib.sha256(repr(made.rows).encode()).hexdigest())
"""


def test_the_same_request_gets_the_same_rows_under_any_hash_seed() -> None:
    here = os.environ | {"SYMGEN_CACHE_PROGRAMS": "off"}
    said = {
        subprocess.run(
            [sys.executable, "-c", SAME],
            env=here | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


# -- planted errors ------------------------------------------------------------------------------------------------------


def test_a_wrong_way_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sign of one way that was taken."""
    anneal = _search.anneal

    def wrong(network: Any, ways: Any, *given: Any) -> None:
        anneal(network, ways, *given)
        c = next(
            c
            for c, way in enumerate(network.way)
            if way is not None and way.op == "add" and network.uses[c]
        )
        network.way[c] = network.way[c]._replace(second_sign=-network.way[c].second_sign)

    made = program("ur5", "mass_matrix")
    monkeypatch.setattr(_search, "anneal", wrong)
    with pytest.raises(
        ProgramError,
        match=r"mass_matrix/composite_body: row \d+.* was computed anew as what it does not equal",
    ):
        resubstitute(made)


def test_residues_that_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modulo 10007 most proposals are accidents, and none is taken."""
    for module in (_candidates, sys.modules["symgen.ir.passes._pair_matches"]):
        monkeypatch.setattr(module, "SMALL" if module is _candidates else "PRIME", 10007)
    made = program("ur5", "mass_matrix")
    assert resubstitute(made).cost <= made.cost


# -- what a user asks for ------------------------------------------------------------------------------------------------


def interrupted(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the round behind so many."""
    whole: Callable[..., Program] = passes.search_round
    rounds: list[int] = []

    def once(*given: Any) -> Program:
        rounds.append(1)
        if len(rounds) == after + 1:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(passes, "search_round", once)


@pytest.mark.usefixtures("short")
def test_what_is_interrupted_is_kept_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        interrupted(1, patch)
        stopped = _searched("ur5", "mass_matrix")
    assert check(stopped).rounds == 1
    made = program("ur5", "mass_matrix")
    finished = derive.attempt(robot("ur5"), "mass_matrix", made.method, ProgramOptions()).program()
    assert search.search_program(finished, made, 1).rows == stopped.rows
    assert search.search_program(finished, made, None).rounds is None


@pytest.mark.usefixtures("short")
def test_a_folder_of_an_interrupted_search_is_made_again_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    build._build.cache_clear()
    with monkeypatch.context() as patch:
        interrupted(1, patch)
        manifest = symgen.generate("scara", tmp_path / "out", ["mass_matrix"], effort="high")
    assert (manifest["options"]["effort"], manifest["functions"]["mass_matrix"]["rounds"]) == (
        "high",
        1,
    )
    assert "--effort high" in manifest["command"]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == manifest
    build._build.cache_clear()
    report = symgen.verify(tmp_path / "out", compiled=False)
    assert report.passed, str(report)


def test_an_effort_is_named_right() -> None:
    with pytest.raises(UnknownName, match="effort"):
        ProgramOptions(effort="hihg")
    assert ProgramOptions(effort=HIGH) != ProgramOptions()


def test_a_program_without_its_rounds_is_kept_on_the_shelf() -> None:
    made = program("scara", "mass_matrix")
    assert serialize.from_plain(json.loads(json.dumps(serialize.to_plain(made)))) == made
