"""Many states at once, by everybody's own way to share them out: their answers compared, their
times taken in one race.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import cffi
import numpy as np

import symgen
from symgen.benchmarks.bench import STATES, race
from symgen.mechanism.mechanism import Mechanism
from tests.peers.building import MissingError
from tests.peers.contestants import CROWD, FUNCTIONS, NATIVE, Contestant, generators, libraries
from tests.peers.measuring import AGREEMENT, Absent, first_answers, states

THREADS = (1, 2)
ROUNDS = 15
QUICK = {"-O3 native": ("-O3", *NATIVE)}
OPENMP = ("-fopenmp",)
os.environ.setdefault(
    "OMP_WAIT_POLICY", "passive"
)  # threads that turn while they wait take the processor from who comes next

Way = tuple[str, int, Callable[[], Any], Callable[[], Any]]
"""Who, of how many states a run is, the run, and its results, a state a row."""


def timed(mechanism: Mechanism, function: str, absent: Absent) -> dict[str, float]:
    """Who → nanoseconds a state. Who answers something else is noted in `absent` and not timed."""
    states_of_crowd = np.tile(states(mechanism, function), (CROWD // STATES, 1))
    expected = np.array(first_answers(mechanism, function))
    runs: dict[str, Callable[[], None]] = {}
    counts: dict[str, int] = {}
    for label, count, run, answer in _everyone(
        mechanism, function, states_of_crowd, expected.shape[1], absent
    ):
        run()
        error = (
            np.abs(np.asarray(answer())[: len(expected)] - expected).max() / np.abs(expected).max()
        )
        if error <= AGREEMENT:
            runs[label], counts[label] = run, count
        else:
            absent[f"{label}, {function} of a crowd"] = (
                f"its answer is {error:.1e} of the largest entry away"
            )
    return {
        label: round(timing.median * STATES / counts[label], 1)
        for label, timing in race(runs, ROUNDS).items()
    }


def _everyone(
    mechanism: Mechanism, function: str, states_of_crowd: Any, size: int, absent: Absent
) -> Iterator[Way]:
    yield from _symgen(mechanism, function, states_of_crowd)
    peers = {"CasADi": generators(mechanism, function, "CasADi", QUICK, OPENMP)}
    peers |= libraries(mechanism, function, more=OPENMP)
    for name, variants in peers.items():
        try:
            for variant in variants:
                yield from _loops(variant, states_of_crowd, size)
        except MissingError as error:
            absent[name] = str(error)
    try:
        yield from _jax(mechanism, function, states_of_crowd)
    except ImportError as error:
        absent["symgen in JAX"] = f"not installed ({error.name})"


def _arguments(mechanism: Mechanism, function: str, states_of_crowd: Any) -> list[Any]:
    """q and what else the function takes, each an array of its own."""
    stops = [mechanism.nq + k * mechanism.nv for k in range(len(FUNCTIONS[function]) - 1)]
    return [np.ascontiguousarray(x) for x in np.split(states_of_crowd, stops, axis=1)]


def _symgen(mechanism: Mechanism, function: str, states_of_crowd: Any) -> Iterator[Way]:
    solver = symgen.compile(mechanism, [function])
    solver.prepare(function)
    arguments, call = _arguments(mechanism, function, states_of_crowd), getattr(solver, function)
    out = call(*arguments)
    for threads in THREADS:
        yield (
            f"symgen, solver, {_spelt(threads)}",
            len(states_of_crowd),
            lambda n=threads: call(*arguments, out=out, threads=n),
            lambda: out.reshape(len(states_of_crowd), -1),
        )


def _loops(contestant: Contestant, states_of_crowd: Any, size: int) -> Iterator[Way]:
    """OpenMP over the calls, as `loops.h` has it."""
    ffi, out = cffi.FFI(), np.zeros((len(states_of_crowd), size))
    ffi.cdef("void crowd(long, long, const double *, long, double *, int);")
    crowd = ffi.dlopen(str(contestant.library), os.RTLD_NOW | os.RTLD_NODELETE).crowd
    words = (
        len(states_of_crowd),
        states_of_crowd.shape[1],
        ffi.from_buffer("double[]", states_of_crowd),
        size,
        ffi.from_buffer("double[]", out),
    )
    for threads in THREADS:
        yield (
            f"{contestant.who}, {_spelt(threads)}",
            len(states_of_crowd),
            lambda n=threads: crowd(*words, n),
            lambda: out,
        )


def _jax(mechanism: Mechanism, function: str, states_of_crowd: Any) -> Iterator[Way]:
    """symgen's function as JAX calls it."""
    import jax

    import symgen.jax

    jax.config.update("jax_enable_x64", True)
    call = jax.jit(getattr(symgen.jax.functions(mechanism, [function]), function))
    arguments = [jax.numpy.asarray(x) for x in _arguments(mechanism, function, states_of_crowd)]
    yield (
        "symgen, in JAX",
        len(states_of_crowd),
        lambda: call(*arguments).block_until_ready(),
        lambda: np.asarray(call(*arguments)).reshape(len(states_of_crowd), -1),
    )


def _spelt(threads: int) -> str:
    return "one thread" if threads == 1 else "two threads"
