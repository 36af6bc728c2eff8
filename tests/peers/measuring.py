"""Comparison of contestants: equal results, times of one race, counts of instructions."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cffi
import numpy as np

from symgen.benchmarks.bench import STATES, Timing, race
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from tests.peers.building import HERE, OUT, MissingError, compile_once, stored
from tests.peers.contestants import (
    COUNTED,
    FUNCTIONS,
    GENERATORS,
    NATIVE,
    WAYS,
    Contestant,
    generators,
    libraries,
    symgens,
)

ROUNDS = 45
AGREEMENT = 1e-9
"""Relative to the largest entry, from the reference. MuJoCo turns each inertia to its principal
axes, others do less.
"""
COUNTS = (64, 192)
"""Calls of two runs under valgrind, whose difference leaves out what happens once."""

Absent = dict[str, str]


@dataclass(frozen=True)
class Raced:
    """Times of one contestant (ns a call): of independent calls, and of calls that depend on the
    result of the previous call.
    """

    contestant: Contestant
    many: Timing
    chain: Timing


def states(mechanism: Mechanism, function: str) -> Any:
    """Return the arguments of a function (STATES, width), one state in each row."""
    drawn = draw_states(mechanism, STATES, seed=11)
    return np.ascontiguousarray(
        np.hstack([drawn[name].astype(float) for name in FUNCTIONS[function]])
    )


def everyone(
    mechanism: Mechanism,
    function: str,
    absent: Absent,
    wide: tuple[str, ...] = NATIVE,
    variants: dict[str, tuple[str, ...]] = WAYS,
) -> Iterator[Contestant]:
    """symgen first; a peer that is missing is noted in `absent` by its name."""
    yield from symgens(mechanism, function, wide)
    peers = {
        name: generators(mechanism, function, name, variants) for name in GENERATORS
    } | libraries(mechanism, function, wide)
    for name, contestants in peers.items():
        try:
            yield from contestants
        except MissingError as error:
            absent[f"{name}, {function}" if "function" in str(error) else name] = str(error)


class Loaded:
    """A contestant's loops over the same states."""

    def __init__(self, contestant: Contestant, states: Any, results: int) -> None:
        self.contestant, self.given, self.out = contestant, states, np.zeros(results)
        self._ffi = cffi.FFI()
        self._ffi.cdef(
            "void many(long, long, const double *, double *); "
            "void chain(long, long, const double *, double *, double);"
        )
        # never closed: the destructors of two copies of one C++ library would meet
        self._loops = self._ffi.dlopen(str(contestant.library), os.RTLD_NOW | os.RTLD_NODELETE)

    def _pointers(self, states: Any) -> tuple[int, int, Any, Any]:
        return (
            len(states),
            states.shape[1],
            self._ffi.from_buffer("double[]", states),
            self._ffi.from_buffer("double[]", self.out),
        )

    def answer(self, k: int) -> Any:
        """Return the results at state k."""
        self._loops.many(*self._pointers(self.given[k : k + 1]))
        return self.out.copy()

    def many(self) -> Callable[[], None]:
        states, call = self._pointers(self.given), self._loops.many
        return lambda: call(*states)

    def chain(self) -> Callable[[], None]:
        states, call = self._pointers(self.given), self._loops.chain
        return lambda: call(*states, 0.0)


def raced(
    mechanism: Mechanism,
    function: str,
    contestants: Iterable[Contestant],
    absent: Absent,
    rounds: int = ROUNDS,
) -> list[Raced]:
    """All in one race. Who answers something else is noted in `absent` and not timed."""
    arguments = states(mechanism, function)
    expected = first_answers(mechanism, function)
    size = len(expected[0])
    runs: list[Loaded] = []
    for contestant in contestants:
        loaded = Loaded(contestant, arguments, size)
        error = max(
            np.abs(loaded.answer(k) - right).max() / np.abs(right).max()
            for k, right in enumerate(expected)
        )
        if error <= AGREEMENT:
            runs.append(loaded)
        else:
            absent[f"{contestant.who}, {function}"] = (
                f"its answer is {error:.1e} of the largest entry away"
            )
    race_results = race(
        {
            f"{kind} {run.contestant.who}": getattr(run, kind)()
            for run in runs
            for kind in ("many", "chain")
        },
        rounds,
    )
    return [
        Raced(c := run.contestant, race_results[f"many {c.who}"], race_results[f"chain {c.who}"])
        for run in runs
    ]


def first_answers(mechanism: Mechanism, function: str) -> list[Any]:
    """Return all results at the first three states by the reference, concatenated."""
    drawn = {name: values[:3] for name, values in draw_states(mechanism, STATES, seed=11).items()}
    arguments = {name: drawn[name].astype(float) for name in FUNCTIONS[function]}
    results = Reference(mechanism).evaluate(function, arguments).values()
    return [
        np.concatenate([np.ravel(result[k]) for result in results]).astype(float) for k in range(3)
    ]


def instructions(mechanism: Mechanism, function: str, absent: Absent) -> dict[str, float]:
    """Who → instructions of one call, all that it calls included, counted by callgrind: the mean
    over states.
    """
    arguments = states(mechanism, function)
    file = stored("states.bin", arguments.tobytes())
    counter, _ = compile_once(
        "counter", ["gcc", "-O2", HERE / "counter.c", "-ldl", "-o", OUT], [HERE / "counter.c"]
    )
    variants = {"-O2": ("-O2",), "-O3 AVX2": ("-O3", *COUNTED)}
    counts = {}
    for contestant in everyone(mechanism, function, absent, COUNTED, variants):
        totals = []
        for count in COUNTS:
            command = [
                "valgrind",
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
                counter,
                contestant.library,
                count,
                arguments.shape[1],
                file,
            ]
            try:
                done = subprocess.run(
                    [str(word) for word in command], capture_output=True, text=True, check=False
                )
            except OSError:
                absent["instructions"] = "valgrind is not installed"
                return {}
            collected = re.search(r"Collected : (\d+)", done.stderr)
            if collected is None or done.returncode:
                absent[f"instructions of {contestant.who}"] = (
                    done.stderr.splitlines() or ["no word"]
                )[-1]
                break
            totals.append(int(collected[1]))
        else:
            counts[contestant.who] = (totals[1] - totals[0]) / (COUNTS[1] - COUNTS[0])
    return counts
