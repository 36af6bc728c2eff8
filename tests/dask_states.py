"""Very many states by `symgen.dask.map` on a local cluster, timed: `python -m tests.dask_states --states 1e8`.

Panda's forward dynamics at random states, and inverse dynamics of what comes out, which has to give the torques again. No array
is ever whole: what is drawn, computed and compared of a chunk is given up before the next. `--write` puts the figures, and what
follows from them for a hundred machines, into docs/how-to/dask.md.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, progress

import symgen

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "dask.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
ARRAYS = 5
"""q, v, tau, a, and tau again: of seven numbers a state each."""
MACHINES = 100
FEW, SMALL = 400, 100
"""Chunks, and states in each, by which is seen how many tasks the scheduler passes on when they cost nothing."""


@dataclass(frozen=True)
class Figures:
    """What was measured of `states` in chunks of `chunk`."""

    states: int
    chunk: int
    workers: int
    load: float
    """Processes that were at work on the machine before."""
    start: float
    """Seconds until there are workers."""
    seconds: float
    alone: float
    """Seconds for one state's forward and inverse dynamics in one process, without Dask."""
    tasks: int
    memory: int
    """The most bytes that one worker had at a time."""
    limit: int
    worst: float
    """The largest difference of a torque, Nm."""
    passed_on: float
    """Tasks of next to nothing that go through the scheduler in a second."""

    def elsewhere(self, states: int, machines: int) -> tuple[float, float]:
        """Seconds for so many states on so many machines like this one: of the workers, and of the one scheduler."""
        return (
            self.seconds * states / self.states / machines,
            self.tasks * states / self.states / self.passed_on,
        )

    def keeps_up(self, machines: int) -> int:
        """States in a chunk from which on the workers take longer than the scheduler, to two digits and upwards."""
        work, scheduler = self.elsewhere(self.states, machines)
        least = self.chunk * scheduler / work
        digit = 10 ** max(0, int(math.log10(least)) - 1)
        return -int(-least // digit) * digit


def residual(solver: symgen.Solver, states: int, chunk: int, seed: int = 16) -> Any:
    """The largest |ID(q, v, FD(q, v, tau)) − tau|, as a graph."""
    rng = da.random.default_rng(seed)
    q, v, tau = (
        rng.uniform(-1, 1, (states, solver.nv), chunks=(chunk, solver.nv)) for _ in range(3)
    )
    a = symgen.dask.map(solver.forward_dynamics, q, v, tau)
    return abs(symgen.dask.map(solver.inverse_dynamics, q, v, a) - tau).max()


def tasks(graph: Any) -> int:
    return len(dict(dask.optimize(graph)[0].__dask_graph__()))


def most_memory() -> int:
    """The most bytes that this process has had in memory."""
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


def timed(graph: Any) -> tuple[float, float]:
    """Seconds, and the answer."""
    start = perf_counter()
    answer = float(graph.compute())
    return perf_counter() - start, answer


def alone(solver: symgen.Solver, states: int) -> float:
    """The best of five times, a state."""
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, (3, states, solver.nv))
    a, again = np.empty_like(q), np.empty_like(q)
    times = []
    for _ in range(5):
        start = perf_counter()
        solver.forward_dynamics(q, v, tau, out=a)
        solver.inverse_dynamics(q, v, a, out=again)
        times.append(perf_counter() - start)
    return min(times) / states


def measured(states: int, chunk: int, workers: int, limit: int) -> Figures:
    solver = symgen.compile("panda", ["forward_dynamics", "inverse_dynamics"])
    load, one = os.getloadavg()[0], alone(solver, 100_000)
    start = perf_counter()
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        started = perf_counter() - start
        residual(
            solver, workers * SMALL, SMALL, seed=1
        ).compute()  # the solver is on each worker now
        quick = residual(solver, FEW * SMALL, SMALL, seed=2)
        passed_on = tasks(quick) / timed(quick)[0]
        whole = residual(solver, states, chunk)
        count = tasks(whole)
        start = perf_counter()
        under_way = client.persist(whole)
        progress(under_way, notebook=False)
        worst = float(under_way.compute())
        seconds = perf_counter() - start
        print()
        memory = max(client.run(most_memory).values())
    return Figures(
        states, chunk, workers, load, started, seconds, one, count, memory, limit, worst, passed_on
    )


def table(of: Figures) -> str:
    """The figures, and what a hundred machines would take for 10⁸ and for 10¹⁰ states."""
    lines = [
        f"Measured on {date.today()} on {platform.machine()} with Python {platform.python_version()}, Dask {dask.__version__} "
        f"and {of.workers} workers of one thread on this machine, where {of.load:.1f} other processes were at work before:",
        "",
        "| | |",
        "|---|---|",
        f"| states of Panda, in chunks of {of.chunk:,} | {of.states:,} |",
        f"| the arrays, which are never whole | {of.states * ARRAYS * 7 * 8 / 1e9:.1f} GB |",
        f"| time, with {of.start:.1f} s of start before it | {of.seconds:.1f} s |",
        f"| states a second: drawn, forward, inverse, compared | {of.states / of.seconds:,.0f} |",
        f"| a worker's time for a state | {of.workers * of.seconds / of.states * 1e9:,.0f} ns |",
        f"| forward and inverse dynamics of a state, timed alone | {of.alone * 1e9:,.0f} ns |",
        f"| the most memory of a worker, of {of.limit / 1e6:,.0f} MB that it may take | {of.memory / 1e6:,.0f} MB |",
        f"| the largest difference of a torque | {of.worst:.1e} Nm |",
        f"| tasks in this graph | {of.tasks:,} |",
        f"| tasks of next to nothing that the scheduler passes on in a second | {of.passed_on:,.0f} |",
        "",
    ]
    for states, name in ((10**8, "10⁸"), (10**10, "10¹⁰")):
        work, scheduler = of.elsewhere(states, MACHINES)
        lines.append(
            f"- {name} states on {MACHINES} machines like this one, {MACHINES * of.workers} workers: {work:,.1f} s of "
            f"work for each, {scheduler:,.1f} s for the one scheduler. The longer of the two is what it takes."
        )
    lines.append(
        f"- The scheduler keeps up with so many workers where a chunk has {of.keeps_up(MACHINES):,} states."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.dask_states", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--states", type=float, default=1e8)
    parser.add_argument("--chunk", type=float, default=5e5, help="states in a chunk")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=float, default=1e9, help="bytes that a worker may take")
    parser.add_argument(
        "--write", action="store_true", help="rewrite the figures in docs/how-to/dask.md"
    )
    given = parser.parse_args()
    found = table(measured(int(given.states), int(given.chunk), given.workers, int(given.memory)))
    print(found, end="")
    if given.write:
        text = PAGE.read_text(encoding="utf-8")
        between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
        PAGE.write_text(between.sub(lambda _: f"{BEGIN}\n{found}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
