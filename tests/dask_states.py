"""Times of `symgen.dask.map` on a local cluster: `python -m tests.dask_states --states 1e8`.

Panda's forward dynamics at random states is followed by inverse dynamics, which must return the
torques. No complete array exists in memory: each chunk is drawn, computed, compared and released.
`--write` puts the figures, and estimates for a hundred machines, into docs/how-to/dask.md.
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
"""Number of arrays: q, v, tau, a and the recomputed tau, each of seven numbers per state."""
MACHINES = 100
FEW, SMALL = 400, 100
"""Numbers of chunks and of states per chunk for measuring the rate of the scheduler."""


@dataclass(frozen=True)
class Figures:
    """Figures measured for `states` states in chunks of `chunk`."""

    states: int
    chunk: int
    workers: int
    load: float
    """Load of the machine before the measurement."""
    start: float
    """Seconds until the workers are ready."""
    seconds: float
    alone: float
    """Seconds per state for forward and inverse dynamics in one process, without Dask."""
    tasks: int
    memory: int
    """Peak memory of one worker (bytes)."""
    limit: int
    worst: float
    """The largest difference of a torque, Nm."""
    passed_on: float
    """Tasks per second that the scheduler distributes if they take almost no time."""

    def elsewhere(self, states: int, machines: int) -> tuple[float, float]:
        """Estimate seconds of the workers and of the one scheduler on `machines` such machines."""
        return (
            self.seconds * states / self.states / machines,
            self.tasks * states / self.states / self.passed_on,
        )

    def keeps_up(self, machines: int) -> int:
        """Return the least chunk size (two digits, rounded up) at which the scheduler keeps up."""
        work, scheduler = self.elsewhere(self.states, machines)
        least = self.chunk * scheduler / work
        digit = 10 ** max(0, int(math.log10(least)) - 1)
        return -int(-least // digit) * digit


def residual(solver: symgen.Solver, states: int, chunk: int, seed: int = 16) -> Any:
    """Return the Dask graph of max |ID(q, v, FD(q, v, tau)) − tau|."""
    rng = da.random.default_rng(seed)
    q, v, tau = (
        rng.uniform(-1, 1, (states, solver.nv), chunks=(chunk, solver.nv)) for _ in range(3)
    )
    a = symgen.dask.map(solver.forward_dynamics, q, v, tau)
    return abs(symgen.dask.map(solver.inverse_dynamics, q, v, a) - tau).max()


def count_tasks(graph: Any) -> int:
    return len(dict(dask.optimize(graph)[0].__dask_graph__()))


def peak_memory() -> int:
    """Return the peak memory of this process (bytes)."""
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


def timed(graph: Any) -> tuple[float, float]:
    """Return the seconds and the result of computing a graph."""
    start = perf_counter()
    answer = float(graph.compute())
    return perf_counter() - start, answer


def seconds_without_dask(solver: symgen.Solver, states: int) -> float:
    """Return the best of five times (s per state)."""
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
    load, seconds_per_state = os.getloadavg()[0], seconds_without_dask(solver, 100_000)
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
        ).compute()  # this first run has sent the solver to each worker
        small_graph = residual(solver, FEW * SMALL, SMALL, seed=2)
        passed_on = count_tasks(small_graph) / timed(small_graph)[0]
        graph = residual(solver, states, chunk)
        count = count_tasks(graph)
        start = perf_counter()
        under_way = client.persist(graph)
        progress(under_way, notebook=False)
        worst = float(under_way.compute())
        seconds = perf_counter() - start
        print()
        memory = max(client.run(peak_memory).values())
    return Figures(
        states,
        chunk,
        workers,
        load,
        started,
        seconds,
        seconds_per_state,
        count,
        memory,
        limit,
        worst,
        passed_on,
    )


def table(figures: Figures) -> str:
    """Return the figures, and estimates of 10⁸ and 10¹⁰ states on a hundred machines."""
    lines = [
        (
            f"Measured on {date.today()} on {platform.machine()} with Python"
            f" {platform.python_version()}, Dask {dask.__version__} and {figures.workers} workers"
            f" of one thread on this machine, where {figures.load:.1f} other processes were at work"
            " before:"
        ),
        "",
        "| | |",
        "|---|---|",
        f"| states of Panda, in chunks of {figures.chunk:,} | {figures.states:,} |",
        f"| the arrays, which are never whole | {figures.states * ARRAYS * 7 * 8 / 1e9:.1f} GB |",
        f"| time, with {figures.start:.1f} s of start before it | {figures.seconds:.1f} s |",
        (
            "| states a second: drawn, forward, inverse, compared |"
            f" {figures.states / figures.seconds:,.0f} |"
        ),
        (
            "| a worker's time for a state |"
            f" {figures.workers * figures.seconds / figures.states * 1e9:,.0f} ns |"
        ),
        f"| forward and inverse dynamics of a state, timed alone | {figures.alone * 1e9:,.0f} ns |",
        (
            f"| the most memory of a worker, of {figures.limit / 1e6:,.0f} MB that it may take |"
            f" {figures.memory / 1e6:,.0f} MB |"
        ),
        f"| the largest difference of a torque | {figures.worst:.1e} Nm |",
        f"| tasks in this graph | {figures.tasks:,} |",
        (
            "| tasks of next to nothing that the scheduler passes on in a second |"
            f" {figures.passed_on:,.0f} |"
        ),
        "",
    ]
    for states, name in ((10**8, "10⁸"), (10**10, "10¹⁰")):
        work, scheduler = figures.elsewhere(states, MACHINES)
        lines.append(
            f"- {name} states on {MACHINES} machines like this one, {MACHINES * figures.workers}"
            f" workers: {work:,.1f} s of work for each, {scheduler:,.1f} s for the one scheduler."
            " The longer of the two is what it takes."
        )
    lines.append(
        "- The scheduler keeps up with so many workers where a chunk has"
        f" {figures.keeps_up(MACHINES):,} states."
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
    arguments = parser.parse_args()
    figures = table(
        measured(
            int(arguments.states), int(arguments.chunk), arguments.workers, int(arguments.memory)
        )
    )
    print(figures, end="")
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
        PAGE.write_text(between.sub(lambda _: f"{BEGIN}\n{figures}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
