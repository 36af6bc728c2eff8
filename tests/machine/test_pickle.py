"""A solver that is sent to another process works there: its library goes along, and is made again where it cannot be loaded."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.machine import building
from symgen.machine.kernels import FEW
from symgen.machine.solver import Solver, _unpickled
from symgen.support.errors import BuildError
from tests.shared.robots_for_tests import program, robot

ROOT = Path(__file__).resolve().parents[2]
STATES = np.random.default_rng(5).uniform(-1, 1, (3, 6, 2))


@pytest.fixture(scope="module")
def solver() -> Solver:
    return symgen.compile(
        "planar_arm", ["forward_dynamics", "mass_matrix=composite_body"], optimize=1, blocks="now"
    )


def elsewhere(solver: Solver, cache: str, states: np.ndarray = STATES) -> np.ndarray:
    """The answer of a new interpreter that has nothing but the pickle, and no compiler."""
    code = "import pickle, sys; f, x = pickle.load(sys.stdin.buffer); pickle.dump(f(*x), sys.stdout.buffer)"
    environment = {
        **os.environ,
        "SYMGEN_CACHE": cache,
        "PYTHONPATH": str(ROOT),
        "CC": "/nonexistent",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((solver.forward_dynamics, states)),
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return np.asarray(pickle.loads(done.stdout))


def test_a_solver_works_in_a_new_interpreter_with_an_empty_cache(
    solver: Solver, tmp_path: Path
) -> None:
    np.testing.assert_array_equal(
        elsewhere(solver, str(tmp_path)), solver.forward_dynamics(*STATES)
    )
    assert {path.suffix for path in tmp_path.iterdir()} == {".so", ".sha256"}


def test_the_library_for_many_states_goes_along_where_there_is_one(
    solver: Solver, tmp_path: Path
) -> None:
    states = np.random.default_rng(6).uniform(
        -1, 1, (3, FEW // solver.programs["forward_dynamics"].outline.length + 1, 2)
    )
    expected = solver.forward_dynamics(*states)
    np.testing.assert_array_equal(elsewhere(solver, str(tmp_path), states), expected)
    assert len({path.name.partition(".")[0] for path in tmp_path.iterdir()}) == 2


@pytest.fixture(scope="module")
def pickled(solver: Solver) -> Any:
    """What the solver is made of again: how, of what, and what goes along."""
    return solver.__reduce__()[1]


@pytest.fixture
def another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is loaded here yet, and its cache is empty."""
    monkeypatch.setattr(building, "_LOADED", {})
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("another_machine")
def test_a_library_for_another_platform_is_made_again(
    solver: Solver, pickled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, origin, sent = pickled
    foreign = sent._replace(library=sent.library._replace(runs_on=("plan9", "mips", ".so")))
    for one in (foreign, sent._replace(library=None)):
        np.testing.assert_array_equal(
            _unpickled(make, origin, one).forward_dynamics(*STATES),
            solver.forward_dynamics(*STATES),
        )
    monkeypatch.setenv("CC", "/nonexistent")
    with pytest.raises(
        BuildError,
        match=r"the pickled solver of .* is for plan9 mips \.so, and cannot be compiled here: the C",
    ):
        _unpickled(make, origin, foreign)
    with pytest.raises(
        BuildError,
        match="came without its library, and cannot be compiled here: the C compiler '/nonexistent'",
    ):
        _unpickled(make, origin, sent._replace(library=None))


def test_a_library_that_was_damaged_on_the_way_is_not_loaded(
    pickled: Any, another_machine: Path
) -> None:
    make, origin, sent = pickled
    short = sent._replace(library=sent.library._replace(data=sent.library.data[:-100]))
    with pytest.raises(BuildError, match="was damaged on the way"):
        _unpickled(make, origin, short)
    assert not list(another_machine.iterdir())


@pytest.mark.usefixtures("another_machine")
def test_a_solver_whose_library_was_deleted_can_still_be_sent(solver: Solver) -> None:
    make, origin, sent = solver.__reduce__()[1]
    assert (sent.library, sent.blocks) == (None, {})
    np.testing.assert_array_equal(
        _unpickled(make, origin, sent).forward_dynamics(*STATES), solver.forward_dynamics(*STATES)
    )


def test_a_solver_of_given_programs_does_as_well(tmp_path: Path) -> None:
    arm = robot("planar_arm")
    own = Solver.from_programs(
        "arm", {"forward_dynamics": program("planar_arm", "forward_dynamics", "riccati")}, arm.sizes
    )
    np.testing.assert_array_equal(elsewhere(own, str(tmp_path)), own.forward_dynamics(*STATES))


def test_a_pool_of_spawned_workers_shares_the_work(solver: Solver) -> None:
    """Spawned, so that a worker inherits nothing."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(answer, [solver] * len(STATES[0]), STATES.swapaxes(0, 1)))
    np.testing.assert_array_equal(np.array(found), solver.forward_dynamics(*STATES))


def answer(solver: Solver, state: np.ndarray) -> np.ndarray:
    """One state, in a worker."""
    return np.asarray(solver.forward_dynamics(*state))
