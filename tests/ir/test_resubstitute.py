"""The pass `resubstitute` and the search: fewer operations, equal values and precision,
interruption.
"""

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
_searched_programs: dict[tuple[str, str], Program] = {}
SHORT = 2
"""Number of rounds of a search in a test."""
SEARCHED = (
    ("ur5", "forward_dynamics"),
    ("panda", "mass_matrix"),
    ("free_body", "inverse_dynamics"),
)


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ROUNDS", SHORT)
    monkeypatch.setattr(search, "AGAIN", 1)


def searched_program(name: str, function: str) -> Program:
    """Return the Program after a search of SHORT rounds, from memory if it was searched before."""
    if (name, function) not in _searched_programs:
        _searched_programs[name, function] = search_anew(name, function)
    return _searched_programs[name, function]


def search_anew(name: str, function: str) -> Program:
    chosen = program(name, function)
    finished = derive.attempt(robot(name), function, chosen.method, ProgramOptions()).program()
    return search.search_program(finished, chosen, None)


def remaining_operations(derived: Program) -> list[str]:
    return ops(resubstitute(derived))


# -- replaced rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "results", "operations"),
    [
        # a x + b x, where a + b is a result
        ([("add", 0, 1), ("mul", 0, 2), ("mul", 1, 2), ("add", 4, 5)], [3, 6], ["add", "mul"]),
        # a (b c), where a b is a result
        ([("mul", 0, 1), ("mul", 1, 2), ("mul", 4, 0)], [3, 5], ["mul", "mul"]),
        # (a b) c and a b: no row can be saved
        ([("mul", 0, 1), ("mul", 3, 2)], [3, 4], ["mul", "mul"]),
    ],
)
def test_one_row_replaces_several(
    rows: list[tuple[Any, ...]], results: list[int], operations: list[str]
) -> None:
    assert remaining_operations(by_hand(results, *rows)) == operations


def padded(first: int, last: int) -> Program:
    """Return a Program of s = x + y and x z + y z = s z, with s in row `first` and the last sum in
    row `last`; unused constants fill the rows between.

    The sine z stands before s.
    """

    def constants(until: int) -> list[tuple[Any, ...]]:
        return [("const", k) for k in range(3 + len(rows), until)]

    rows: list[tuple[Any, ...]] = []
    rows += [*constants(first - 1), ("sin", 2)]
    rows += [("add", 0, 1)]
    rows += constants(last - 2)
    rows += [("mul", 0, first - 1), ("mul", 1, first - 1), ("add", last - 2, last - 1)]
    return by_hand([first, last], *rows)


@pytest.mark.parametrize(
    ("first", "last", "saved"),
    [
        (6, 1099, True),
        (6, 1100, False),
        (1101, 1300, True),
        (3980, 3999, True),
        (3980, 4000, False),
    ],
)
def test_rows_are_compared_in_spans_of_1100_rows_of_programs_up_to_4000(
    first: int, last: int, saved: bool
) -> None:
    """If both sums are in one span, a product replaces three rows."""
    program = padded(first, last)
    assert program.rows[last].op == "add"
    assert remaining_operations(program) == (
        ["add", "mul", "sin"] if saved else ["add", "add", "mul", "mul", "sin"]
    )


def test_a_rotation_is_known_to_keep_lengths() -> None:
    """s² x + c² x equals x, and x + y takes one row."""
    derived = by_hand(
        [10, 11],
        *ANGLE,
        ("mul", 3, 3),
        ("mul", 6, 1),
        ("mul", 4, 4),
        ("mul", 8, 1),
        ("add", 7, 9),
        ("add", 10, 2),
    )
    assert passes.run(derived).cost == 1


def test_an_operation_is_not_saved_at_the_cost_of_precision() -> None:
    """c² b is not replaced by b − s² b, which cancels, though that would save one row."""
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
    derived = by_hand([11, 12, 8], *rows)
    after = resubstitute(derived)
    for old, new in zip(
        round_offs(derived, range(len(derived.rows))),
        round_offs(after, range(len(after.rows))),
        strict=True,
    ):
        for a, b in zip(derived.outputs[0].rows, after.outputs[0].rows, strict=True):
            assert new[b] <= _candidates.WORSE * old[a]


# -- all Programs ----------------------------------------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize(("name", "function"), SEARCHED)
def test_results_of_robots_keep_their_values_and_their_precision(name: str, function: str) -> None:
    """Compare values at 60 digits, and bounds of round-off with those before the search."""
    chosen = program(name, function)
    finished = derive.attempt(robot(name), function, chosen.method, ProgramOptions()).program()
    after = searched_program(name, function)
    assert check(after).cost <= chosen.cost <= finished.cost
    at = states(name, 1, BALLS)
    with BALLS.working():
        for port in chosen.outputs:
            value_before, value_after = (run(p, at, BALLS)[port.name] for p in (finished, after))
            assert largest(value_before - value_after) < 1e-50 * max(1.0, largest(value_before))
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


@pytest.mark.usefixtures("short_search")
def test_a_search_saves_operations_and_adds_no_division() -> None:
    chosen, after = program("ur5", "forward_dynamics"), searched_program("ur5", "forward_dynamics")
    assert after.cost < chosen.cost
    assert after.operations["div"] <= chosen.operations["div"]
    assert {row.name for row in after.rows if row.name}


PRINT_ROWS = """
from symgen.pipeline import search as searching
searching.ROUNDS, searching.AGAIN = 2, 1
import hashlib, symgen
made = symgen.program("scara", "mass_matrix", effort="high")
print(made.cost, hashlib.sha256(repr(made.rows).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_request_gets_the_same_rows_under_any_hash_seed() -> None:
    environment = os.environ | {"SYMGEN_CACHE_PROGRAMS": "off"}
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_ROWS],
            env=environment | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


# -- planted errors --------------------------------------------------------------------------------


def test_a_formula_with_a_wrong_sign_is_refused_by_the_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted error is one sign of one chosen sum."""
    anneal = _search.anneal

    def anneal_with_a_wrong_sign(network: Any, ways: Any, *arguments: Any) -> None:
        anneal(network, ways, *arguments)
        c = next(
            c
            for c, way in enumerate(network.way)
            if way is not None and way.op == "add" and network.uses[c]
        )
        network.way[c] = network.way[c]._replace(second_sign=-network.way[c].second_sign)

    derived = program("ur5", "mass_matrix")
    monkeypatch.setattr(_search, "anneal", anneal_with_a_wrong_sign)
    with pytest.raises(
        ProgramError,
        match=r"mass_matrix/composite_body: row \d+.* was computed anew as what it does not equal",
    ):
        resubstitute(derived)


def test_residues_that_collide_do_not_stop_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modulo 10007, most proposals are equal by chance only; the pass must reject those."""
    for module in (_candidates, sys.modules["symgen.ir.passes._pair_matches"]):
        monkeypatch.setattr(module, "SMALL" if module is _candidates else "PRIME", 10007)
    derived = program("ur5", "mass_matrix")
    assert resubstitute(derived).cost <= derived.cost


# -- requests of users -----------------------------------------------------------------------------


def interrupt_search(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C in the round that follows `after` rounds."""
    search_round: Callable[..., Program] = passes.search_round
    rounds: list[int] = []

    def search_round_or_interrupt(*arguments: Any) -> Program:
        rounds.append(1)
        if len(rounds) == after + 1:
            raise KeyboardInterrupt
        return search_round(*arguments)

    monkeypatch.setattr(passes, "search_round", search_round_or_interrupt)


@pytest.mark.usefixtures("short_search")
def test_an_interrupted_search_is_repeated_from_its_number_of_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        interrupt_search(1, patch)
        interrupted_search = search_anew("ur5", "mass_matrix")
    assert check(interrupted_search).rounds == 1
    chosen = program("ur5", "mass_matrix")
    finished = derive.attempt(
        robot("ur5"), "mass_matrix", chosen.method, ProgramOptions()
    ).program()
    assert search.search_program(finished, chosen, 1).rows == interrupted_search.rows
    assert search.search_program(finished, chosen, None).rounds is None


@pytest.mark.usefixtures("short_search")
def test_a_folder_of_an_interrupted_search_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    build._build.cache_clear()
    with monkeypatch.context() as patch:
        interrupt_search(1, patch)
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


def test_an_unknown_effort_is_refused() -> None:
    with pytest.raises(UnknownName, match="effort"):
        ProgramOptions(effort="hihg")
    assert ProgramOptions(effort=HIGH) != ProgramOptions()


def test_a_program_of_a_finished_search_is_serialized_without_loss() -> None:
    derived = program("scara", "mass_matrix")
    assert serialize.from_plain(json.loads(json.dumps(serialize.to_plain(derived)))) == derived
