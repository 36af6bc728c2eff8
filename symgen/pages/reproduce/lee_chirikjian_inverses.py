"""LC Fig. 2 for whole inverses up to a thousand links.

M⁻¹ is computed by conventional elimination, by LAPACK, and column by column by the O(n) solve.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from symgen.benchmarks.bench import machine_facts
from symgen.machine.compilers import find_compiler
from symgen.machine.solver import Solver
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, doubling_ticks, label_ends, legend_below, slope
from symgen.pages.reproduce._planar import BUILD, compiled_loops, mass
from symgen.reference.precision import Array

TITLE = "Time of the whole inverse of M, dense and by O(n) solves, up to a thousand links"
LINKS = (4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)
FITTED_FROM = 256
"""Smallest number of links of the fits: two octaves, up to the longest chain."""
INVERTED = 2**20
"""Largest number of entries of all matrices in one call of numpy.linalg.inv."""
STACKED = 256
"""Most matrices in one call of numpy.linalg.inv."""
SHORTEST = 0.004
"""Seconds of processor time that a round takes at least."""
ROUNDS = 25
"""Rounds over all sizes. The rounds are interleaved, so that a change of the clock rate affects all
sizes.
"""
SLOW = 0.02
"""Seconds of a call from which it runs in every third round only."""
INVERSE, ELIMINATED, COLUMNS, SOLVE = 1, 2, 3, 4
TIMES = (INVERSE, ELIMINATED, COLUMNS, SOLVE)
"""Positions of the times in a row."""


GAUSS_JORDAN = r"""
void invert(long n, const double *m, double *a) {
    for (long i = 0; i < n * n; i++) a[i] = m[i];
    for (long k = 0; k < n; k++) {
        double *pivot = a + k * n, d = 1 / pivot[k];
        pivot[k] = 1;
        for (long j = 0; j < n; j++) pivot[j] *= d;
        for (long i = 0; i < n; i++) {
            double *row = a + i * n, f = row[k];
            if (i == k) continue;
            row[k] = 0;
            for (long j = 0; j < n; j++) row[j] -= f * pivot[j];
        }
    }
}
"""
"""Gauss-Jordan elimination without blocks, in place; a positive definite matrix needs no search for
pivots.
"""


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: nanoseconds of processor time of the inverses and of one solve."""
    random = np.random.default_rng(2005)
    chains = []
    for done, n in enumerate(links):
        tell(f"{n} links", done, len(links) + ROUNDS)
        chains.append(Contest(n, random))
    for done in range(ROUNDS):
        tell("timing", len(links) + done, len(links) + ROUNDS)
        for chain in chains:
            chain.time(every=done % 3 == 0)
    return _page([chain.row() for chain in chains])


def _page(rows: Sequence[tuple[Any, ...]]) -> Page:
    """Return the page with this table."""
    orders = {column: order(rows, column) for column in TIMES}
    last = rows[-1]
    compared = [next((row for row in rows if row[0] >= FITTED_FROM), rows[0]), last]
    rates = [8 / 3 * row[0] ** 3 / row[INVERSE] for row in compared]
    half = next((row for row in rows if 2 * row[0] >= last[0]), rows[0])
    growth = log(last[INVERSE] / half[INVERSE]) / log(last[0] / half[0])
    threads = os.environ.get("OMP_NUM_THREADS", "not limited")
    return Page(
        source=(
            "K. Lee, G. S. Chirikjian, A new perspective on O(n) mass-matrix inversion for "
            "serial revolute manipulators, 2005, Fig. 2"
        ),
        says=(
            "Fig. 2 compares the time to compute the inverse of the mass matrix by the new method"
            " with the conventional O(n³) method. The difference increases significantly as N"
            " becomes large. (Our copy of the paper has the caption of Fig. 2, not its curves.)"
        ),
        measured=(
            f"From n = {FITTED_FROM} on, the inverse by conventional elimination grows as"
            f" n^{orders[ELIMINATED]:.2f}, that by LAPACK as n^{orders[INVERSE]:.2f}, the inverse"
            f" by n solves in O(n) as n^{orders[COLUMNS]:.2f}, and one solve as"
            f" n^{orders[SOLVE]:.2f}. At n = {last[0]} they take {duration(last[ELIMINATED])},"
            f" {duration(last[INVERSE])}, {duration(last[COLUMNS])} and {duration(last[SOLVE])}:"
            f" the inverse by LAPACK takes {last[INVERSE] / last[COLUMNS]:.1f} times as long as the"
            f" n solves and {last[INVERSE] / last[SOLVE]:.0f} times as long as one solve."
            f" {_crossing(rows)}"
        ),
        differs=(
            "The paper gives no processor, no language and no largest N. Forward dynamics needs"
            " M⁻¹ times one vector, which is one solve; a whole inverse has n² entries, so that n"
            " solves cannot grow more slowly than n². Conventional elimination is Gauss-Jordan in"
            " C without blocks. LAPACK is called through numpy.linalg.inv on an M that is computed"
            " before, which favours it. LAPACK takes (8/3) n³ operations, at a rate that rises"
            f" from {rates[0]:.0f} to {rates[1]:.0f} operations a nanosecond between n ="
            f" {compared[0][0]} and {compared[1][0]}; the exponent of its time is therefore below"
            f" 3, and {growth:.2f} in the last octave. The solves are loops over the links in C"
            " (`fixman:planar`), which repeat the elimination of H_bb for each column. Times are"
            f" processor times of the process, the least of {ROUNDS} rounds, which other processes"
            " disturb less than elapsed times. [One solve up to 128 links](lee-chirikjian-fig2.md)"
            " shows unrolled C."
        ),
        columns=(
            "links",
            "inverse_ns",
            "eliminated_ns",
            "inverse_by_solves_ns",
            "solve_ns",
            "inverse_difference",
        ),
        rows=tuple(rows),
        notes={
            "links": "n unit masses on unit links",
            "inverse_ns": (
                "nanoseconds for M⁻¹ of a precomputed M through numpy.linalg.inv, one "
                f"call for up to {STACKED} matrices"
            ),
            "eliminated_ns": "M⁻¹ of the same M by Gauss-Jordan elimination in compiled C",
            "inverse_by_solves_ns": "M⁻¹ as n calls of the solve in O(n), loops in compiled C",
            "solve_ns": "one of these solves, sines and cosines included",
            "inverse_difference": (
                "largest difference of the other inverses from LAPACK's, over the largest entry"
            ),
        },
        draw=lambda figure: _draw(figure, rows, orders),
        height=6.0,
        machine=machine_facts(BUILD, ()) | {"threads of LAPACK": threads},
    )


class Contest:
    """Three inverses and one solve of a chain of n links, and the least processor time of each."""

    def __init__(self, n: int, random: np.random.Generator) -> None:
        states = max(1, min(STACKED, INVERTED // n**2))
        q = random.uniform(-np.pi, np.pi, (states, n))
        self.n, self.mass = n, mass(q)
        self.inverse, self.eliminated = np.empty((n, n)), np.empty((n, n))
        solver, unit_vectors, x = compiled_loops(n), np.eye(n), np.empty((1, n))
        self.calls: dict[int, tuple[Callable[[], Any], int]] = {
            INVERSE: (lambda: np.linalg.inv(self.mass), states),
            ELIMINATED: (_eliminating(self.mass[0], self.eliminated), 1),
            COLUMNS: (column_by_column(solver, q[:1], unit_vectors, self.inverse), 1),
            SOLVE: (solver.bind("mass_matrix_solve", q[:1], unit_vectors[:1], x), 1),
        }
        self.repeats = {column: _repeats(call) for column, (call, _) in self.calls.items()}
        self.least = dict.fromkeys(self.calls, float("inf"))

    def time(self, every: bool = True) -> None:
        """Run a round of each call; without `every`, of those that take less than SLOW seconds."""
        for column, (call, states) in self.calls.items():
            if not every and self.least[column] * states > SLOW * 1e9:
                continue
            nanoseconds = processor_time(call, self.repeats[column]) / states
            self.least[column] = min(self.least[column], nanoseconds)

    def row(self) -> tuple[Any, ...]:
        """Return the row of the table."""
        dense = np.linalg.inv(self.mass[0])
        difference = max(
            float(np.abs(inverse - dense).max() / np.abs(dense).max())
            for inverse in (self.inverse, self.eliminated)
        )
        return (self.n, *self.least.values(), difference)


def _repeats(call: Callable[[], Any]) -> int:
    """Return how many calls take SHORTEST seconds of processor time."""
    call()
    repeats = 1
    while processor_time(call, repeats) * repeats < SHORTEST * 1e9:
        repeats *= 2
    return repeats


def processor_time(call: Callable[[], Any], repeats: int) -> float:
    """Return nanoseconds of processor time of a call, the mean of `repeats` calls."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats * 1e9


@cache
def _gauss_jordan() -> Any:
    """Return the compiled elimination."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "invert.c", Path(folder) / "invert.so"
        source.write_text(GAUSS_JORDAN)
        subprocess.run(
            [*find_compiler(), "-O3", "-shared", "-fPIC", str(source), "-o", str(library)],
            check=True,
            capture_output=True,
        )
        function = ctypes.CDLL(str(library)).invert
    function.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = None
    return function


def _eliminating(M: Array, inverse: Array) -> Callable[[], None]:
    """Return a function that writes the inverse of M by Gauss-Jordan elimination."""
    function, n = _gauss_jordan(), len(M)
    source, result = M.ctypes.data, inverse.ctypes.data  # both arrays outlive the calls

    def run() -> None:
        function(n, source, result)

    return run


def column_by_column(
    solver: Solver, q: Array, unit_vectors: Array, inverse: Array
) -> Callable[[], None]:
    """Return a function that fills `inverse` by one call of the solver for each unit vector."""
    calls = [
        solver.bind("mass_matrix_solve", q, unit_vectors[k : k + 1], inverse[k : k + 1])
        for k in range(len(unit_vectors))
    ]

    def run() -> None:
        for call in calls:
            call()

    return run


def order(rows: Sequence[Sequence[Any]], column: int) -> float:
    """Return the exponent of n in a column, from FITTED_FROM links on."""
    fitted = [row for row in rows if row[0] >= FITTED_FROM]
    if len(fitted) < 2:
        fitted = list(rows)
    return slope([log(row[0]) for row in fitted], [log(row[column]) for row in fitted])[1]


def duration(nanoseconds: float) -> str:
    """Return a time in ms or µs with three digits."""
    if nanoseconds >= 1e6:
        return f"{nanoseconds / 1e6:.3g} ms"
    return f"{nanoseconds / 1e3:.3g} µs"


def _crossing(rows: Sequence[Sequence[Any]]) -> str:
    """Return a sentence with the number of links from which the n solves are faster; empty if there
    is none.
    """
    ratios = [(row[0], row[INVERSE] / row[COLUMNS]) for row in rows]
    for (n, before), (m, after) in pairwise(ratios):
        if before <= 1 < after:
            links = n * (m / n) ** (-log(before) / (log(after) - log(before)))
            return f"The n solves are faster from n ≈ {links:.0f} on."
    return ""


def _draw(figure: Any, rows: Sequence[Sequence[Any]], orders: dict[int, float]) -> None:
    """Draw the times over the number of links, with lines of the slopes 3, 2 and 1 through the last
    points.
    """
    chart = figure.subplots()
    lines = (
        (ELIMINATED, "M⁻¹ by conventional elimination, compiled C", "^-", "#3c8c50", 3),
        (INVERSE, "M⁻¹ by LAPACK", "s-", "#c8641e", 3),
        (COLUMNS, "M⁻¹ as n solves in O(n), compiled C", "v-", "#7a5195", 2),
        (SOLVE, "one solve in O(n), compiled C", "o-", "#1f5a94", 1),
    )
    n = rows[-1][0]
    for column, label, style, colour, power in lines:
        chart.loglog(
            [row[0] for row in rows],
            [row[column] for row in rows],
            style,
            color=colour,
            label=label,
        )
        guide = [row[0] for row in rows if row[0] >= n / 32]
        chart.plot(
            guide,
            [rows[-1][column] * (x / n) ** power for x in guide],
            "--",
            color="#8a8a8a",
            linewidth=1.2,
            label="slopes 3, 2 and 1" if power == 1 else None,
        )
    doubling_ticks(chart.xaxis, [row[0] for row in rows if row[0] & (row[0] - 1) == 0])
    chart.set_xlabel("links n")
    chart.set_ylabel("processor time (ns)")
    label_ends(
        chart,
        [
            (rows[-1][column], f"n^{orders[column]:.2f}", colour)
            for column, _, _, colour, _ in lines
        ],
    )
    legend_below(figure, chart)
