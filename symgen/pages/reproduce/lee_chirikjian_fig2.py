"""LC Fig. 2: the time of the O(n) solve with the mass matrix of a planar chain, and of the
conventional O(n³) solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from symgen.benchmarks.bench import STATES, Timing, busy, machine_facts, race
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, doubling_ticks, legend_below, slope
from symgen.pages.reproduce._planar import BUILD, compiled, mass

TITLE = "Time of the planar O(n) solve and of the dense O(n³) solve against the number of links"
LINKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
UNROLLED_TO = 24
"""Links up to which the elimination of M is unrolled as well. Beyond, its C takes a compiler too
long.
"""
FITTED_FROM = 16


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: nanoseconds a solve of compiled fixman, compiled elimination of M, and
    LAPACK with a given M.
    """
    rows: list[tuple[Any, ...]] = []
    timed: list[Timing] = []
    random = np.random.default_rng(2005)
    for done, n in enumerate(links):
        tell(f"timing {n} links", done, len(links))
        row, timings = _row(n, random)
        rows.append(row)
        timed += timings
    return _page(rows, timed)


def _row(n: int, random: np.random.Generator) -> tuple[tuple[Any, ...], list[Timing]]:
    """Return the row of the table for n links, and its timings."""
    q, b = random.uniform(-np.pi, np.pi, (STATES, n)), random.uniform(-1, 1, (STATES, n))
    solver = compiled(n, {"mass_matrix_solve": "fixman"})
    M, x, right = mass(q), np.empty((STATES, n)), np.ascontiguousarray(b[..., None])
    contestants: dict[str, Callable[[], None]] = {
        "fixman": solver.bind("mass_matrix_solve", q, b, x),
        "lapack": _solving(M, right),
        "alone": _one_by_one(M, right),
    }
    if n <= UNROLLED_TO:
        dense = compiled(n, {"mass_matrix_solve": "composite_body"})
        contestants["elimination"] = dense.bind("mass_matrix_solve", q, b, x.copy())
    timings = race(contestants)
    times = {label: timing.median for label, timing in timings.items()}
    call, dense_solve = call_and_state_costs(times["alone"], times["lapack"])
    size = np.abs(M).sum(axis=-1).max(axis=-1) * np.abs(x).max(axis=-1) + np.abs(b).max(axis=-1)
    residual = float((np.abs(M @ x[..., None] - right)[..., 0].max(axis=-1) / size).max())
    row = (
        n,
        times["fixman"],
        times.get("elimination"),
        dense_solve,
        call,
        solver.programs["mass_matrix_solve"].cost,
        residual,
    )
    return row, [*timings.values()]


def _page(rows: Sequence[tuple[Any, ...]], timed: Sequence[Timing]) -> Page:
    """Return the page with this table."""
    lapack, unrolled = _crossing(rows, 3), _crossing(rows, 2)
    order, steep = (_order(rows, column) for column in (1, 3))
    last = rows[-1]
    return Page(
        source=(
            "K. Lee, G. S. Chirikjian, A new perspective on O(n) mass-matrix inversion for "
            "serial revolute manipulators, "
            "2005, Fig. 2"
        ),
        says=(
            "The O(n) method is not effective for very small N, where direct inversion is faster;"
            " its advantage grows significantly with N. (Our copy of the paper has the caption of"
            " Fig. 2, not its curves.)"
        ),
        measured=(
            f"The compiled O(n) solve grows as n^{order:.2f}, LAPACK as n^{steep:.2f} (n ≥"
            f" {FITTED_FROM}). At n = {last[0]}: {last[1]:.0f} ns against {last[3]:.0f} ns,"
            f" {last[3] / last[1]:.0f} times. It is faster than LAPACK {_from(lapack, rows)}, and"
            f" than forming and eliminating M in unrolled C {_from(unrolled, rows)}. The overhead"
            f" of a call of NumPy, {rows[0][4]:.0f} ns, is not included."
        ),
        differs=(
            "The paper times whole inverses in its own implementation. Here one solve is timed,"
            " compiled C against LAPACK through NumPy. The fixed cost of a call of NumPy is"
            f" subtracted (one call for {STATES} states against {STATES} calls for one), and LAPACK"
            " receives M precomputed, which favours the dense side. Unrolled C has no loop"
            " overhead, so that the crossing is at fewer links than that of a library. Between"
            " these sizes LAPACK grows more slowly than n³."
        ),
        columns=(
            "links",
            "fixman_ns",
            "elimination_ns",
            "lapack_ns",
            "numpy_call_ns",
            "fixman_operations",
            "backward_error",
        ),
        rows=tuple(rows),
        notes={
            "links": "n",
            "fixman_ns": "nanoseconds for a solve, O(n), compiled C, sines and cosines included",
            "elimination_ns": (
                f"M formed and eliminated (composite_body), compiled C, up to n = {UNROLLED_TO}"
            ),
            "lapack_ns": (
                "gesv on a precomputed M through numpy.linalg.solve, without the overhead of the"
                " call"
            ),
            "numpy_call_ns": "overhead of a call of numpy.linalg.solve, for any number of states",
            "fixman_operations": "mul + add + div of the O(n) solve",
            "backward_error": "largest ‖M x − b‖ / (‖M‖ ‖x‖ + ‖b‖) of the O(n) solve",
        },
        draw=lambda figure: _draw(figure, rows, unrolled),
        height=6.0,
        machine=machine_facts(BUILD, ()),
        busy=busy(timed),
    )


def call_and_state_costs(alone: float, stacked: float) -> tuple[float, float]:
    """Return (cost of a call, cost of a state) in ns, from ns a state in calls for one state and
    for STATES states.
    """
    state = (STATES * stacked - alone) / (STATES - 1)
    return alone - state, state


def _solving(M: Any, right: Any) -> Callable[[], None]:
    def run() -> None:
        np.linalg.solve(M, right)

    return run


def _one_by_one(M: Any, right: Any) -> Callable[[], None]:
    pairs = list(zip(M, right, strict=True))

    def run() -> None:
        for matrix, column in pairs:
            np.linalg.solve(matrix, column)

    return run


def _crossing(rows: Sequence[Sequence[Any]], column: int) -> float | None:
    """Return where a column's time exceeds that of fixman, by a line between logarithms; None if it
    always does.
    """
    points = [(row[0], row[column] / row[1]) for row in rows if row[column] is not None]
    for (n, before), (m, after) in pairwise(points):
        if before <= 1 < after:
            return float(n * (m / n) ** (-log(before) / (log(after) - log(before))))
    return None


def _from(crossing: float | None, rows: Sequence[Sequence[Any]]) -> str:
    return f"at every n from {rows[0][0]} on" if crossing is None else f"from n ≈ {crossing:.1f} on"


def _order(rows: Sequence[Sequence[Any]], column: int) -> float:
    fitted = [row for row in rows if row[0] >= FITTED_FROM] or list(rows)
    return slope([log(row[0]) for row in fitted], [log(row[column]) for row in fitted])[1]


def _draw(figure: Any, rows: Sequence[Sequence[Any]], unrolled: float | None) -> None:
    """Draw the times over the number of links."""
    chart = figure.subplots()
    for column, label, style, colour in (
        (3, "O(n³): LAPACK on a ready M (NumPy's call apart)", "s-", "#c8641e"),
        (2, "O(n³): M formed and eliminated, compiled C", "^-", "#3c8c50"),
        (1, "O(n): Fixman's partition, compiled C", "o-", "#1f5a94"),
    ):
        points = [(row[0], row[column]) for row in rows if row[column] is not None]
        chart.loglog(
            [n for n, _ in points], [t for _, t in points], style, color=colour, label=label
        )
    last = rows[-1]
    for column, power in ((3, 3), (1, 1)):
        # a third of a decade below the last doubling of its line
        abscissae = [last[0] / 2, last[0]]
        chart.plot(
            abscissae,
            [last[column] / 2.2 * (n / last[0]) ** power for n in abscissae],
            "--",
            color="#8a8a8a",
            linewidth=1.5,
        )
        chart.annotate(
            f"slope {power}",
            (abscissae[0] * 2**0.5, last[column] / 2.2 / 2 ** (power / 2)),
            xytext=(4, -6),
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=12,
            color="#5a5a5a",
        )
    low, high = 0.5 * min(row[1] for row in rows), 2 * max(row[3] for row in rows)
    if unrolled is not None:
        chart.axvline(unrolled, color="#bbbbbb", linewidth=1)
        chart.annotate(
            f"n ≈ {unrolled:.1f}: from here on O(n) beats\nM formed and eliminated in C",
            (unrolled, low),
            xytext=(6, 8),
            textcoords="offset points",
            ha="left",
            va="bottom",
            fontsize=12,
        )
    doubling_ticks(chart.xaxis, [row[0] for row in rows if row[0] not in (3, 6, 12, 24, 48, 96)])
    chart.set_ylim(low, high)
    chart.set_xlabel("links n")
    chart.set_ylabel("time of a solve (ns)")
    legend_below(figure, chart)
