"""A solver that is sent to another process works there: what is pickled is the recipe, and the C is found or made again."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.machine.solver import Solver
from tests.robots_for_tests import program, robot

ROOT = Path(__file__).resolve().parent.parent
STATES = np.random.default_rng(5).uniform(-1, 1, (3, 6, 2))


@pytest.fixture(scope="module")
def solver() -> Solver:
    return symgen.compile("planar_arm", ["forward_dynamics", "mass_matrix=composite_body"], optimize=1)


def elsewhere(solver: Solver, cache: str) -> np.ndarray:
    """The answer of a new interpreter that has nothing but the pickle (and, where `cache` is empty, has to compile)."""
    code = "import pickle, sys; s, x = pickle.load(sys.stdin.buffer); pickle.dump(s.forward_dynamics(*x), sys.stdout.buffer)"
    environment = {**os.environ, "SYMGEN_CACHE": cache, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((solver, STATES)), env=environment,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return np.asarray(pickle.loads(done.stdout))


def test_a_solver_works_in_a_new_interpreter_with_an_empty_cache(solver: Solver, tmp_path: Path) -> None:
    np.testing.assert_array_equal(elsewhere(solver, str(tmp_path)), solver.forward_dynamics(*STATES))
    assert {path.suffix for path in tmp_path.iterdir()} == {".so", ".sha256"}


def test_a_solver_of_given_programs_does_as_well(tmp_path: Path) -> None:
    arm = robot("planar_arm")
    own = Solver.from_programs("arm", {"forward_dynamics": program("planar_arm", "forward_dynamics", "riccati")}, arm.sizes)
    np.testing.assert_array_equal(elsewhere(own, str(tmp_path)), own.forward_dynamics(*STATES))


def test_a_pool_of_spawned_workers_shares_the_work(solver: Solver) -> None:
    """Spawned, so that a worker inherits nothing."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(answer, [solver] * len(STATES[0]), STATES.swapaxes(0, 1)))
    np.testing.assert_array_equal(np.array(found), solver.forward_dynamics(*STATES))


def answer(solver: Solver, state: np.ndarray) -> np.ndarray:
    """One state, in a worker."""
    return np.asarray(solver.forward_dynamics(*state))
