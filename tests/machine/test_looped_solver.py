"""A loop over links as a solver's function: one state, many, threads, results over arguments, and no memory for its work."""

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


def states(recursion: LoopProgram, *lead: int) -> dict[str, Any]:
    pick = np.random.default_rng(4)
    return {port.name: pick.uniform(-2, 2, (*lead, port.size)) for port in recursion.inputs}


def answers(recursion: LoopProgram, given: dict[str, Any]) -> list[Any]:
    """Of states one below the other."""
    found = [
        evaluate(recursion, {name: [*map(float, x[i])] for name, x in given.items()}, DOUBLES)
        for i in range(len(next(iter(given.values()))))
    ]
    return [
        np.array([one[port.name] for one in found]).reshape(-1, *port.shape)
        for port in recursion.outputs
    ]


def test_one_state_and_many(solver: Solver) -> None:
    given = states(TOY, 50)
    wanted = answers(TOY, given)
    for found, exact in zip(solver.toy(given["q"], given["v"]), wanted, strict=True):
        assert np.array_equal(found, exact)
    for found, exact in zip(solver.toy(given["q"][3], given["v"][3]), wanted, strict=True):
        assert np.array_equal(found, exact[3])
    of_one = answers(TOY, given | {"q": given["q"][[3] * 50]})
    for found, exact in zip(solver.toy([*given["q"][3]], given["v"]), of_one, strict=True):
        assert np.array_equal(found, exact)


def test_threads(solver: Solver) -> None:
    given = states(TOY, 40_000)
    alone = solver.toy(given["q"], given["v"])
    together = solver.toy(given["q"], given["v"], threads=2)
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_bound_arrays_and_a_chain(solver: Solver) -> None:
    given = states(TOY, 5)
    for own in (slice(1), slice(5)):
        q, v = given["q"][own].copy(), given["v"][own].copy()
        tau, det = np.zeros_like(v), np.zeros(len(q))
        solver.bind("toy", q, v, tau, det)()
        assert np.array_equal(tau, answers(TOY, {"q": q, "v": v})[0])
    tau, det = np.zeros(10), np.zeros(())
    solver.chain("toy", 5, given["q"], given["v"], tau, det)()
    assert np.array_equal(tau, answers(TOY, given)[0][-1])


def test_a_result_over_an_argument(solver: Solver) -> None:
    """The C does not promise it of this function; the solver does of every one."""
    given = states(TOY, 4)
    exact = answers(TOY, given)
    solver.toy(given["q"], given["v"], out=(given["v"], np.zeros(4)))
    assert np.array_equal(given["v"], exact[0])


def test_beside_a_program_and_sent(own_cache: object) -> None:
    chain, program = mixed(range(-1, 1), (0, 0)), gravity()
    both = Solver.from_programs("arm", {"toy": chain, "gravity_force": program}, Sizes(2, 2, 2))
    q = np.array([0.3, -0.4])
    for one in (both, pickle.loads(pickle.dumps(both))):
        assert one.gravity_force(q).shape == (2,)
        assert np.allclose(
            one.toy(q, q)[0], answers(chain, {"q": q[None], "v": q[None]})[0][0], rtol=1e-14
        )


def test_many_states_go_through_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Solver.from_programs("arm", {"toy": TOY}, sizes(TOY), trig="libm")
    given = states(TOY, 21)
    one.prepare("toy")
    for found, exact in zip(one.toy(given["q"], given["v"]), answers(TOY, given), strict=True):
        assert np.array_equal(found, exact)
    tau, _ = one.toy(given["q"].T.copy(), given["v"].T.copy(), layout="soa")
    assert np.array_equal(tau.T, answers(TOY, given)[0])
    kernel = one.kernel(one.toy)
    assert isinstance(kernel, kernels.Kernel)
    monkeypatch.setattr(kernel, "_blocks", (kernel.ffi, lambda *_: NO_MEMORY))
    with pytest.raises(MemoryError, match="toy: there is no memory"):
        one.toy(given["q"], given["v"])


def test_no_memory_is_a_sentence(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    given = states(TOY, 4)
    kernel = solver.kernel(solver.toy)
    assert isinstance(kernel, kernels.Kernel)
    monkeypatch.setattr(kernel, "_many", None)
    monkeypatch.setattr(kernel, "_blocks", None)
    monkeypatch.setattr(kernel, "each", lambda *_: NO_MEMORY)
    with pytest.raises(MemoryError, match="toy: there is no memory"):
        solver.toy(given["q"], given["v"])


def test_too_much_work_is_refused_by_the_machine() -> None:
    """As much as no machine has: nothing is touched before it is there."""
    many = mixed(range(-1, 1), (0, 0))
    vast = replace(many, work=2**44)
    vast.__dict__["depth"] = many.depth  # which would be worked out over as many numbers
    one = Solver.from_programs("arm", {"toy": vast}, sizes(many), trig="libm")
    with pytest.raises(MemoryError, match="there is no memory"):
        one.toy(np.zeros(2), np.zeros(2))
