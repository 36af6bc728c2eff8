"""Sentences of warnings about a request, and the rounds of a search for fewer operations."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import symgen
from symgen.ir.program import Port, Program, Row
from symgen.pipeline import noticing, parallel, search
from symgen.vocabulary.functions import PREPARING
from symgen.vocabulary.options import ProgramOptions

PLAIN = ProgramOptions()


# -- warnings --------------------------------------------------------------------------------------


def test_a_default_frame_among_alike_ones_is_named_with_alternatives() -> None:
    legs = symgen.load("quadruped")
    chosen = noticing.choose_tip(legs)
    ((kind, sentence),) = noticing.name_notices(legs, ["jacobian"], PLAIN, named=True)
    assert kind == noticing.FRAME
    assert sentence == (
        f"jacobian of 'quadruped' uses the frame {chosen.name} ({chosen.why}; alternatives: "
        f"{', '.join(chosen.alike[:3])}); choose another with frame"
    )
    assert len(chosen.alike) >= 3
    ((_, several),) = noticing.name_notices(
        legs, ["jacobian", "forward_kinematics", "gravity_force"], PLAIN, named=True
    )
    assert several.startswith("jacobian, forward_kinematics of 'quadruped' use the frame ")


def test_a_frame_that_is_named_or_unique_or_not_needed_is_no_warning() -> None:
    legs, arm = symgen.load("quadruped"), symgen.load("planar_arm")
    named_frame = ProgramOptions(frame=legs.frames[-1].name)
    for robot, functions, options, named in (
        (legs, ["jacobian"], named_frame, True),
        (legs, ["jacobian"], PLAIN, False),
        (legs, ["gravity_force"], PLAIN, True),
        (legs, [*PREPARING], PLAIN, True),
        (arm, ["jacobian"], PLAIN, True),
        (replace(legs, frames=()), ["jacobian"], PLAIN, True),
    ):
        assert noticing.name_notices(robot, functions, options, named) == []


def test_functions_that_ignore_loops_are_named_together() -> None:
    closed = symgen.load("four_bar")
    loops = ", ".join(loop.name for loop in closed.loops)
    for functions, sentence in (
        (["mass_matrix_solve", "gravity_force"], "mass_matrix_solve of 'four_bar' ignores its"),
        (
            ["mass_matrix_solve", "forward_dynamics"],
            "mass_matrix_solve, forward_dynamics of 'four_bar' ignore its",
        ),
    ):
        for named in (True, False):
            assert noticing.name_notices(closed, functions, PLAIN, named) == [
                (
                    noticing.LOOPS,
                    f"{sentence} loops ({loops}), as if they were open; "
                    f"constrained_forward_dynamics keeps them closed",
                )
            ]
    kept = ["constrained_forward_dynamics", "contact_forward_dynamics", "mass_matrix"]
    assert noticing.name_notices(closed, kept, PLAIN, named=True) == []
    assert noticing.name_notices(symgen.load("planar_arm"), ["forward_dynamics"], PLAIN, True) == []


def test_functions_refused_for_one_reason_share_a_warning() -> None:
    refused = {
        "a": "a of 'x' needs y",
        "b": "b of 'x' needs y",
        "c": "c is long",
        "d": "d of 'x' needs y",
    }
    assert noticing.absence_notices(refused, noticing.MISSING) == [
        ("missing", "missing: a of 'x' needs y; likewise b, d"),
        ("missing", "missing: c is long"),
    ]


def test_at_most_six_further_names_are_listed() -> None:
    for names, text in (
        ("abcdefg", "b, c, d, e, f, g"),
        ("abcdefghi", "b, c, d, e, f, g and 2 more"),
    ):
        refused = {name: f"{name} is long" for name in names}
        assert noticing.absence_notices(refused, noticing.MISSING) == [
            ("missing", f"missing: a is long; likewise {text}")
        ]


def test_refused_functions_are_missing_if_named_and_left_out_otherwise() -> None:
    arm = symgen.load("planar_arm")
    for named, kind in ((True, "missing"), (False, "left out")):
        assert noticing.notices(arm, {}, PLAIN, named, {"a": "a is long"}) == [
            (kind, f"{kind}: a is long")
        ]


def test_a_precision_loss_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = symgen.load("planar_arm")
    program = replace(symgen.program(arm, "gravity_force"), real="float", method="hasty")
    monkeypatch.setattr(noticing, "has_precision_loss", lambda *_: True)
    ((kind, sentence),) = noticing.notices(arm, {"gravity_force": program}, PLAIN, True, {})
    assert kind == noticing.PRECISION
    assert sentence.startswith("gravity_force by hasty has a precision loss in float on this robot")
    monkeypatch.setattr(noticing, "has_precision_loss", lambda *_: False)
    assert noticing.notices(arm, {"gravity_force": program}, PLAIN, True, {}) == []


# -- the search ------------------------------------------------------------------------------------


def powers(count: int) -> Program:
    """Return x to the power of count + 1, by so many products."""
    rows = (Row("input", (), (0, 0)), *(Row("mul", (k, 0)) for k in range(count)))
    return Program("f", "m", (Port("x", ()),), (Port("y", (), (count,)),), rows)


class Rounds:
    """Rounds of a search whose results are given, with the programs and windows that they were
    asked for.
    """

    def __init__(self, *results: Program) -> None:
        self.results = iter(results)
        self.started: list[int] = []
        self.windows: list[range] = []
        self.moves: list[int] = []

    def __call__(
        self, program: Program, limits: Any, random: Random, window: range, moves: int
    ) -> Program:
        self.started.append(program.cost)
        self.windows.append(window)
        self.moves.append(moves)
        return next(self.results, program)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    results_of_rounds = Rounds(powers(9), powers(12), powers(8), powers(7), powers(30))
    monkeypatch.setattr(search.passes, "search_round", results_of_rounds)
    monkeypatch.setattr(search.passes, "replace_opaque_ones", lambda program: program)
    return results_of_rounds


def test_a_round_starts_from_the_best_program_and_restarts_from_the_first(rounds: Rounds) -> None:
    best, done = search._search(powers(10), powers(10), anew=3, most=5)
    assert rounds.started == [10, 9, 9, 10, 7]
    assert rounds.moves == [120] * 5
    assert best == powers(7)
    assert done == 5


def test_the_program_without_a_search_remains_if_it_is_not_longer(rounds: Rounds) -> None:
    best, _ = search._search(powers(10), powers(6), anew=9, most=5)
    assert best == powers(6)


def test_a_search_ends_after_its_rounds_and_says_if_it_ended_early(
    rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two restarts of three rounds, for each window of ten rows."""
    monkeypatch.setattr(search, "ROUNDS", 3)
    monkeypatch.setattr(search, "AGAIN", 2)
    monkeypatch.setattr(search, "SPAN", 10)
    for cost, most, count, recorded in (
        (9, 2, 2, 2),
        (9, 6, 6, None),
        (9, 50, 6, None),
        (9, None, 6, None),
        (10, None, 12, None),
        (20, 12, 12, 12),
    ):
        unsearched = replace(powers(cost), method="known", real="float")
        rounds.started.clear()
        result = search.search_program(powers(cost), unsearched, most)
        assert len(rounds.started) == count
        assert (result.rounds, result.method, result.real) == (recorded, "known", "float")


def test_a_long_search_has_forty_rounds_in_each_of_three_starts() -> None:
    assert (search.ROUNDS, search.AGAIN, search.SPAN) == (40, 3, 1300)


def test_windows_lie_within_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long Program is searched in windows, a short one as a whole."""
    monkeypatch.setattr(search, "SPAN", 10)
    monkeypatch.setattr(search.passes, "replace_opaque_ones", lambda program: program)
    for cost, starts in ((14, {*range(6)}), (9, {0}), (3, {0})):
        without_result = Rounds()
        monkeypatch.setattr(search.passes, "search_round", without_result)
        search._search(powers(cost), powers(cost), anew=10, most=60)
        assert {window.start for window in without_result.windows} == starts
        assert all(window.stop - window.start == 10 for window in without_result.windows)


def test_improvements_are_announced(rounds: Rounds) -> None:
    announced: list[str] = []
    with search.announcing(announced.append):
        search._search(powers(10), powers(10), anew=9, most=4)
    assert announced == [
        "searching f: 10 operations",
        "searching f: 10 → 9 operations",
        "searching f: 10 → 8 operations",
        "searching f: 10 → 7 operations",
    ]
    search._search(powers(10), powers(10), anew=9, most=1)
    assert len(announced) == 4


# -- processes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "count"), [("1", 1), ("3", 3), ("8", 8), ("99", 8), ("0", 5), ("x", 5), ("", 5)]
)
def test_the_number_of_processes_is_set_or_that_of_the_processor(
    monkeypatch: pytest.MonkeyPatch, setting: str, count: int
) -> None:
    monkeypatch.setenv("SYMGEN_PROCESSES", setting)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {*range(5)})
    assert parallel.processes() == count
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {*range(50)})
    assert parallel.processes() == (8 if count == 5 else count)
    monkeypatch.setattr(parallel.sys, "platform", "darwin")
    assert parallel.processes() == 1
