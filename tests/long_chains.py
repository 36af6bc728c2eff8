"""Times of looped C for long chains, compared with unrolled C and with Pinocchio.

`python -m tests.long_chains` measures all of them in one run.

With `--write` the tables go into `docs/how-to/long-chains.md`.

The C is timed in C, by a loop that calls one function with one state. Pinocchio is called from
Python, which adds about a microsecond per call, or two nanoseconds per joint. The functions are
timed in turns, and the least time of each counts, so that other load affects all of them.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symgen.benchmarks import bench
from symgen.benchmarks.peers import pinocchio
from symgen.emission.backends import c99
from symgen.ir.loops import Form
from symgen.machine.building import Build, scheduling
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.derive import derive
from symgen.pipeline.loops import recursion
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.robots_for_tests import random_mechanism

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "long-chains.md"
BEGIN, END = "<!-- what `python -m tests.long_chains --write` writes -->\n", "<!-- up to here -->\n"
METHODS = {"forward_dynamics": "riccati", "inverse_dynamics": "newton_euler"}
JOINTS = (7, 100, 500, 1000, 10_000)
UNROLLED_JOINTS, PEER_JOINTS = 7, 500
"""Joints of the chains that are also timed in unrolled form, and with Pinocchio."""
PEERS = RNEA, LOCAL, WORLD = "`rnea`", "`aba` in local frames", "`aba` in the world's frame"
ROUNDS, SLICE = 150, 0.002
"""Number of turns of each function, and the approximate seconds of one turn."""
AGREEMENT = 1e-8
"""Largest difference of results, relative to the largest entry."""

Times = dict[tuple[str, str], float]
"""Nanoseconds per joint, by function and by number of joints, "unrolled" or one of PEERS."""

CALLS = """\
#define _POSIX_C_SOURCE 199309L
#include <time.h>
#include "arm.h"
double seconds(int count, const double *q, const double *v, const double *x,
               double *result, double *work);
double seconds(int count, const double *q, const double *v, const double *x,
               double *result, double *work)
{{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < count; ++i) {{
        arm_{function}(q, v, x, result{work});
    }}
    (void)work;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9*(double)(end.tv_nsec - begin.tv_nsec);
}}
"""


class Contestant:
    """One function of one chain, the calls in a turn, and its least time per joint (ns) so far."""

    def __init__(
        self, joints: int, seconds: Callable[[int], float], result: Callable[[], Any]
    ) -> None:
        self.joints, self.seconds, self.result = joints, seconds, result
        self.least = float("inf")
        self.count = max(1, round(SLICE / max(min(seconds(1) for _ in range(3)), 1e-9)))

    def turn(self) -> None:
        self.seconds(1)  # fill the caches with this function's data
        self.least = min(self.least, self.seconds(self.count) / self.count / self.joints * 1e9)


def flags() -> list[str]:
    """Return the compiler flags of a generated folder."""
    build = Build(optimize=2)
    return [
        "-std=c99",
        *(flag for flag in build.flags if "visibility" not in flag),
        *scheduling(build),
    ]


def state(joints: int) -> dict[str, Any]:
    """Draw a state of a chain; velocities are small, since those of links add up along it."""
    pick = np.random.default_rng(joints)
    sample = {name: pick.uniform(-3, 3, joints) for name in ("q", "v", "a", "tau")}
    return sample | {"v": sample["v"] / joints}


def arguments(function: str, joints: int) -> list[Any]:
    sample = state(joints)
    return [sample["q"], sample["v"], sample["tau" if function == "forward_dynamics" else "a"]]


def in_c(folder: Path, mechanism: Mechanism, form: Form) -> Contestant:
    """Compile a function in a new subfolder."""
    target = c99.Target("arm", mechanism.sizes, TextOptions("auto"))
    subfolder = folder / f"{form.function}_{len(mechanism.joints)}_{type(form).__name__}"
    subfolder.mkdir()
    work = c99.work(form)
    calls = CALLS.format(function=form.function, work=", work" if work else "")
    files = c99.headers({form.function: form}, target) | {
        "function.c": c99.source(form, target),
        "calls.c": calls,
    }
    for name, content in files.items():
        (subfolder / name).write_text(content, encoding="utf-8")
    command = [
        *find_compiler(),
        *flags(),
        "-shared",
        "function.c",
        "calls.c",
        "-o",
        "function.so",
        "-lm",
    ]
    subprocess.run(command, cwd=subfolder, check=True)
    library = ctypes.CDLL(str(subfolder / "function.so"))
    library.seconds.restype = ctypes.c_double
    n = len(mechanism.joints)
    result, numbers = np.zeros(n), np.zeros(max(work, 1))
    buffers = [*arguments(form.function, n), result, numbers]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in buffers]

    def seconds(count: int) -> float:
        assert len(buffers) == len(pointers)  # the pointers stay valid as long as the arrays
        return float(library.seconds(count, *pointers))

    return Contestant(n, seconds, lambda: result)


def of_pinocchio(mechanism: Mechanism) -> tuple[dict[str, Contestant], str]:
    """Return Pinocchio's `rnea`, and `aba` in both conventions, and its version."""
    import pinocchio as pin

    model, _ = pinocchio.built(mechanism)
    data, n = model.createData(), len(mechanism.joints)
    q, v, a = arguments("inverse_dynamics", n)
    tau = arguments("forward_dynamics", n)[2]

    def contestant(call: Callable[[], Any]) -> Contestant:
        def seconds(count: int) -> float:
            begin = time.perf_counter()
            for _ in range(count):
                call()
            return time.perf_counter() - begin

        return Contestant(n, seconds, lambda: np.array(call()))

    return {
        RNEA: contestant(lambda: pin.rnea(model, data, q, v, a)),
        LOCAL: contestant(lambda: pin.aba(model, data, q, v, tau, pin.Convention.LOCAL)),
        WORLD: contestant(lambda: pin.aba(model, data, q, v, tau, pin.Convention.WORLD)),
    }, str(pin.__version__)


def measured() -> tuple[Times, str]:
    """Return the times and Pinocchio's version."""
    contestants: dict[tuple[str, str], Contestant] = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in JOINTS:
            mechanism = random_mechanism(n, 1)
            for function, method in METHODS.items():
                print(f"  {function} of {n} joints", file=sys.stderr, flush=True)
                contestants[function, f"{n}"] = in_c(
                    Path(folder), mechanism, recursion(mechanism, function, method)
                )
                if n == UNROLLED_JOINTS:
                    unrolled = derive(mechanism, function, method, ProgramOptions())
                    contestants[function, "unrolled"] = in_c(Path(folder), mechanism, unrolled)
                    agree(contestants[function, "unrolled"], contestants[function, f"{n}"])
        peers, version = of_pinocchio(random_mechanism(PEER_JOINTS, 1))
        for name, contestant in peers.items():
            function = "inverse_dynamics" if name == RNEA else "forward_dynamics"
            contestants[function, name] = contestant
            agree(contestant, contestants[function, f"{PEER_JOINTS}"])
        for _ in range(ROUNDS):
            for contestant in contestants.values():
                contestant.turn()
    return {key: contestant.least for key, contestant in contestants.items()}, version


def agree(first: Contestant, second: Contestant) -> None:
    """Assert that two functions compute the same results."""
    a, b = first.result(), second.result()
    assert np.abs(a - b).max() <= AGREEMENT * np.abs(b).max(), np.abs(a - b).max() / np.abs(b).max()


def ratios(times: Times) -> list[tuple[str, float, float]]:
    """Return the bounded ratios: description, value and bound."""
    forward, inverse = (
        {label: x for (of, label), x in times.items() if of == function} for function in METHODS
    )
    best = min(forward[LOCAL], forward[WORLD])
    return [
        (
            f"forward dynamics of {PEER_JOINTS} joints, of the quicker of Pinocchio's `aba`",
            forward[f"{PEER_JOINTS}"] / best,
            0.30,
        ),
        (
            f"inverse dynamics of {PEER_JOINTS} joints, of Pinocchio's `rnea`",
            inverse[f"{PEER_JOINTS}"] / inverse[RNEA],
            0.20,
        ),
        (
            f"forward dynamics of {UNROLLED_JOINTS} joints, of the unrolled C",
            forward[f"{UNROLLED_JOINTS}"] / forward["unrolled"],
            1.25,
        ),
        (
            f"inverse dynamics of {UNROLLED_JOINTS} joints, of the unrolled C",
            inverse[f"{UNROLLED_JOINTS}"] / inverse["unrolled"],
            1.25,
        ),
        (
            "forward dynamics a joint, of 10000 joints to 100",
            forward["10000"] / forward["100"],
            1.15,
        ),
        (
            "inverse dynamics a joint, of 10000 joints to 100",
            inverse["10000"] / inverse["100"],
            1.15,
        ),
    ]


def text(times: Times, version: str) -> str:
    """Return the tables of the page."""

    def row(*cells: object) -> str:
        return f"| {' | '.join(map(str, cells))} |"

    titles = {function: function.replace("_", " ") for function in METHODS}
    lines = [
        "Nanoseconds a joint, the least of many turns:\n",
        row("loops over the links", *(f"{n} joints" for n in JOINTS)),
        "|---" + "|---:" * len(JOINTS) + "|",
    ]
    lines += [
        row(titles[function], *(f"{times[function, str(n)]:.1f}" for n in JOINTS))
        for function in METHODS
    ]
    lines += ["", row("others", "nanoseconds a joint"), "|---|---:|"]
    lines += [
        row(
            f"{titles[function]} of {UNROLLED_JOINTS} joints, unrolled",
            f"{times[function, 'unrolled']:.1f}",
        )
        for function in METHODS
    ]
    lines += [
        row(f"Pinocchio's {name}, {PEER_JOINTS} joints", f"{x:.0f}")
        for (_, name), x in times.items()
        if name in PEERS
    ]
    lines += ["", row("ratio", "is", "aim"), "|---|---:|---:|"]
    lines += [
        row(description, f"{ratio:.2f}", f"{bound:.2f}")
        for description, ratio, bound in ratios(times)
    ]
    facts = bench.machine_facts(Build(optimize=2), ())
    compiler = facts["compiler"].partition(" -")[0]
    lines += [
        "",
        (
            f"{facts['processor']}; {facts['system']}; {compiler} with `{' '.join(flags())}`;"
            f" symgen {facts['symgen']}; Pinocchio {version}, from Python."
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long_chains", description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/how-to/long-chains.md")
    options = parser.parse_args()
    tables = text(*measured())
    print(tables)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, after_begin = page.partition(BEGIN)
        PAGE.write_text(
            before + BEGIN + "\n" + tables + "\n" + END + after_begin.partition(END)[2],
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # skip the destructors of Pinocchio's library, which may crash
