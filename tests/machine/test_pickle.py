"""Pickled solvers work in another process: the pickle contains the library, which is rebuilt if it
cannot be loaded.
"""

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
from symgen.machine.kernels import ROWS_BEFORE_BLOCKS
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


def call_in_new_process(solver: Solver, cache: str, states: np.ndarray = STATES) -> np.ndarray:
    """Return the result of a new interpreter that has the pickle but no compiler."""
    code = (
        "import pickle, sys; f, x = pickle.load(sys.stdin.buffer); pickle.dump(f(*x),"
        " sys.stdout.buffer)"
    )
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
        call_in_new_process(solver, str(tmp_path)), solver.forward_dynamics(*STATES)
    )
    assert {path.suffix for path in tmp_path.iterdir()} == {".so", ".sha256"}


def many_states(solver: Solver) -> np.ndarray:
    """Return so many states that forward dynamics is compiled for blocks of them."""
    length = solver.programs["forward_dynamics"].outline.length
    return np.random.default_rng(6).uniform(-1, 1, (3, ROWS_BEFORE_BLOCKS // length + 1, 2))


def test_a_pickle_has_the_libraries_for_batches_that_exist(solver: Solver) -> None:
    solver.forward_dynamics(*many_states(solver))
    _, _, sent = solver.__reduce__()[1]
    assert set(sent.blocks) == {"forward_dynamics"}
    library = sent.blocks["forward_dynamics"]
    assert library.module != sent.library.module
    assert len(library.data) > 1000


@pytest.mark.slow
def test_a_pickle_contains_the_library_for_batches(solver: Solver, tmp_path: Path) -> None:
    states = many_states(solver)
    expected = solver.forward_dynamics(*states)
    np.testing.assert_array_equal(call_in_new_process(solver, str(tmp_path), states), expected)
    assert len({path.name.partition(".")[0] for path in tmp_path.iterdir()}) == 2


@pytest.fixture(scope="module")
def pickled(solver: Solver) -> Any:
    """Return the arguments of unpickling: constructor, origin and sent libraries."""
    return solver.__reduce__()[1]


@pytest.fixture
def another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache, with no library loaded."""
    monkeypatch.setattr(building, "_LOADED", {})
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("another_machine")
def test_a_library_for_another_platform_is_rebuilt(
    solver: Solver, pickled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, origin, sent = pickled
    foreign = sent._replace(library=sent.library._replace(runs_on=("plan9", "mips", ".so")))
    for content in (foreign, sent._replace(library=None)):
        np.testing.assert_array_equal(
            _unpickled(make, origin, content).forward_dynamics(*STATES),
            solver.forward_dynamics(*STATES),
        )
    monkeypatch.setenv("CC", "/nonexistent")
    with pytest.raises(
        BuildError,
        match=(
            r"the pickled solver of .* is for plan9 mips \.so, and cannot be compiled here: the C"
        ),
    ):
        _unpickled(make, origin, foreign)
    with pytest.raises(
        BuildError,
        match=(
            "came without its library, and cannot be compiled here: the C compiler '/nonexistent'"
        ),
    ):
        _unpickled(make, origin, sent._replace(library=None))


def test_a_library_damaged_in_transit_is_not_loaded(pickled: Any, another_machine: Path) -> None:
    make, origin, sent = pickled
    short = sent._replace(library=sent.library._replace(data=sent.library.data[:-100]))
    with pytest.raises(BuildError, match="was damaged on the way"):
        _unpickled(make, origin, short)
    assert not list(another_machine.iterdir())


@pytest.mark.usefixtures("another_machine")
def test_a_solver_whose_library_was_deleted_can_be_pickled(solver: Solver) -> None:
    make, origin, sent = solver.__reduce__()[1]
    assert (sent.library, sent.blocks) == (None, {})
    np.testing.assert_array_equal(
        _unpickled(make, origin, sent).forward_dynamics(*STATES), solver.forward_dynamics(*STATES)
    )


def test_a_solver_from_programs_can_be_pickled(tmp_path: Path) -> None:
    arm = robot("planar_arm")
    solver = Solver.from_programs(
        "arm", {"forward_dynamics": program("planar_arm", "forward_dynamics", "riccati")}, arm.sizes
    )
    np.testing.assert_array_equal(
        call_in_new_process(solver, str(tmp_path)), solver.forward_dynamics(*STATES)
    )


@pytest.mark.slow
def test_a_pool_of_spawned_workers_gives_equal_results(solver: Solver) -> None:
    """A spawned worker inherits no state."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(solve_state, [solver] * len(STATES[0]), STATES.swapaxes(0, 1)))
    np.testing.assert_array_equal(np.array(results), solver.forward_dynamics(*STATES))


def solve_state(solver: Solver, state: np.ndarray) -> np.ndarray:
    """Compute one state in a worker."""
    return np.asarray(solver.forward_dynamics(*state))
