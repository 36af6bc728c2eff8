"""Loop programs as functions of a solver: one state, batches, threads, aliasing results, and
missing memory.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from symgen import Solver
from symgen.ir.loops import LoopProgram, evaluate
from symgen.machine import kernels
from symgen.machine.building import NO_MEMORY
from symgen.vocabulary.arrays import Sizes
from tests.shared.c_programs import DOUBLES, gravity
from tests.shared.recursions import TOYS, mixed, sizes

pytestmark = pytest.mark.usefixtures("own_cache")
TOY = TOYS["tree of three classes"]()


@pytest.fixture(scope="module")
def solver(own_cache: object) -> Solver:
    return Solver.from_programs("arm", {"toy": TOY}, sizes(TOY), trig="libm")


def random_states(recursion: LoopProgram, *lead: int) -> dict[str, Any]:
    pick = np.random.default_rng(4)
    return {port.name: pick.uniform(-2, 2, (*lead, port.size)) for port in recursion.inputs}


def results_of(recursion: LoopProgram, arguments: dict[str, Any]) -> list[Any]:
    """Return the results of a loop program at a batch of states."""
    results = [
        evaluate(recursion, {name: [*map(float, x[i])] for name, x in arguments.items()}, DOUBLES)
        for i in range(len(next(iter(arguments.values()))))
    ]
    return [
        np.array([result[port.name] for result in results]).reshape(-1, *port.shape)
        for port in recursion.outputs
    ]


def test_one_state_and_a_batch_equal_the_evaluation(solver: Solver) -> None:
    state = random_states(TOY, 50)
    all_expected = results_of(TOY, state)
    for result, expected in zip(solver.toy(state["q"], state["v"]), all_expected, strict=True):
        assert np.array_equal(result, expected)
    for result, expected in zip(
        solver.toy(state["q"][3], state["v"][3]), all_expected, strict=True
    ):
        assert np.array_equal(result, expected[3])
    repeated = results_of(TOY, state | {"q": state["q"][[3] * 50]})
    for result, expected in zip(solver.toy([*state["q"][3]], state["v"]), repeated, strict=True):
        assert np.array_equal(result, expected)


def test_threads_give_equal_bits(solver: Solver) -> None:
    state = random_states(TOY, 40_000)
    sequential = solver.toy(state["q"], state["v"])
    parallel = solver.toy(state["q"], state["v"], threads=2)
    assert all(np.array_equal(a, b) for a, b in zip(sequential, parallel, strict=True))


def test_bound_arrays_and_a_chain_equal_the_evaluation(solver: Solver) -> None:
    state = random_states(TOY, 5)
    for rows in (slice(1), slice(5)):
        q, v = state["q"][rows].copy(), state["v"][rows].copy()
        tau, det = np.zeros_like(v), np.zeros(len(q))
        solver.bind("toy", q, v, tau, det)()
        assert np.array_equal(tau, results_of(TOY, {"q": q, "v": v})[0])
    tau, det = np.zeros(10), np.zeros(())
    solver.chain("toy", 5, state["q"], state["v"], tau, det)()
    assert np.array_equal(tau, results_of(TOY, state)[0][-1])


def test_a_result_may_alias_an_argument(solver: Solver) -> None:
    """The C of this function does not allow aliasing; the solver allows it for every function."""
    state = random_states(TOY, 4)
    exact = results_of(TOY, state)
    solver.toy(state["q"], state["v"], out=(state["v"], np.zeros(4)))
    assert np.array_equal(state["v"], exact[0])


def test_a_result_may_alias_an_argument_that_is_read_after_it_is_written(solver: Solver) -> None:
    """det is complete after the first pass, and the second pass reads v."""
    state = random_states(TOY, 1)
    exact = results_of(TOY, state)
    v, tau = state["v"][0].copy(), np.zeros(10)
    solver.toy(state["q"][0], v, out=(tau, v[:1].reshape(())))
    assert np.array_equal(tau, exact[0][0])
    assert v[0] == exact[1][0]


@pytest.mark.slow
def test_a_solver_of_a_loop_and_a_program_can_be_pickled(own_cache: object) -> None:
    chain, program = mixed(range(-1, 1), (0, 0)), gravity()
    mixed_solver = Solver.from_programs(
        "arm", {"toy": chain, "gravity_force": program}, Sizes(2, 2, 2)
    )
    q = np.array([0.3, -0.4])
    for solver in (mixed_solver, pickle.loads(pickle.dumps(mixed_solver))):
        assert solver.gravity_force(q).shape == (2,)
        assert np.allclose(
            solver.toy(q, q)[0], results_of(chain, {"q": q[None], "v": q[None]})[0][0], rtol=1e-14
        )


@pytest.mark.slow
def test_a_batch_in_blocks_equals_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Solver.from_programs("arm", {"toy": TOY}, sizes(TOY), trig="libm")
    state = random_states(TOY, 21)
    solver.prepare("toy")
    for result, expected in zip(
        solver.toy(state["q"], state["v"]), results_of(TOY, state), strict=True
    ):
        assert np.array_equal(result, expected)
    tau, _ = solver.toy(state["q"].T.copy(), state["v"].T.copy(), layout="soa")
    assert np.array_equal(tau.T, results_of(TOY, state)[0])
    kernel = solver.kernel(solver.toy)
    assert isinstance(kernel, kernels.Kernel)
    monkeypatch.setattr(kernel, "_blocks", (kernel.ffi, lambda *_: NO_MEMORY))
    with pytest.raises(MemoryError, match="toy: there is no memory"):
        solver.toy(state["q"], state["v"])


def test_missing_memory_raises_a_memory_error(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = random_states(TOY, 4)
    kernel = solver.kernel(solver.toy)
    assert isinstance(kernel, kernels.Kernel)
    monkeypatch.setattr(kernel, "_many", None)
    monkeypatch.setattr(kernel, "_blocks", None)
    monkeypatch.setattr(kernel, "each_state", lambda *_: NO_MEMORY)
    with pytest.raises(MemoryError, match="toy: there is no memory"):
        solver.toy(state["q"], state["v"])


def test_a_workspace_too_large_for_the_machine_raises_a_memory_error() -> None:
    """No machine has so much memory; no array is written before the workspace exists."""
    many = mixed(range(-1, 1), (0, 0))
    vast = replace(many, work=2**44)
    vast.__dict__["depth"] = many.depth  # computing the depth would take as many numbers
    solver = Solver.from_programs("arm", {"toy": vast}, sizes(many), trig="libm")
    with pytest.raises(MemoryError, match="there is no memory"):
        solver.toy(np.zeros(2), np.zeros(2))
