"""LC Fig. 2 up to a hundred thousand links, by loops: the solve with M in sweeps, in segments and
in levels; and Fixman's correction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from symgen.benchmarks.bench import STATES, Timing, busy, machine_facts
from symgen.description.loading import load
from symgen.machine.solver import Solver
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, legend_below
from symgen.pages.reproduce._planar import BUILD
from symgen.pages.reproduce._threads import THREADS, Setter, raced, threads
from symgen.pipeline import build
from symgen.reference.planar_chain import gradient, log_determinant, solution
from symgen.reference.precision import Array
from symgen.vocabulary.options import LOOPED, ProgramOptions

TITLE = "Time a link of the planar solve and of Fixman's correction, up to a hundred thousand links"
LINKS = (100, 1000, 10_000, 100_000)
SOLVE, VALUE, GRADIENT = (
    "mass_matrix_solve",
    "mass_matrix_log_determinant",
    "mass_matrix_log_determinant_gradient",
)
SERIAL = "fixman:planar"
PARALLEL = {"segments": "fixman:segments", "levels": "fixman:parallel"}
"""Methods of the solve that share it among lanes and threads."""


def compiled(n: int, shared: bool) -> dict[str, Solver]:
    """Return the chain of n links, compiled: the sweeps under SERIAL, and the solve by each of
    PARALLEL, threaded if `shared`.
    """
    mechanism = load(f"planar_point_mass:{n}")
    options = ProgramOptions(form=LOOPED)
    methods = {SERIAL: dict.fromkeys((SOLVE, VALUE, GRADIENT), SERIAL)} | {
        label: {SOLVE: m} for label, m in PARALLEL.items()
    }
    several = {
        label: {f: build.build_form(mechanism, f, m, options) for f, m in functions.items()}
        for label, functions in methods.items()
    }
    return {
        label: Solver.from_programs(
            mechanism.name,
            programs,
            mechanism.sizes,
            optimize=BUILD.optimize,
            threads=shared and label in PARALLEL,
        )
        for label, programs in several.items()
    }


COLUMNS = (
    "links",
    "solve_ns",
    *(f"{label}_ns" for label in PARALLEL),
    "value_ns",
    "gradient_ns",
    *(f"{label}_{THREADS}_ns" for label in PARALLEL),
    "solve_error",
    *(f"{label}_error" for label in PARALLEL),
    "value_error",
    "gradient_error",
)


def _time(last: Mapping[str, Any], first: Mapping[str, Any], column: str) -> str:
    """Return in words a time of the longest chain, and its ratio to that of the shorter chain."""
    if not last[column]:
        return "not measured"
    return f"{last[column]:.3g} ns a link, {last[column] / first[column]:.2f} times"


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: nanoseconds a link, and errors against continuants in 200 bits."""
    rows: list[tuple[Any, ...]] = []
    timed: list[Timing] = []
    random = np.random.default_rng(2005)
    setter = threads()
    for done, n in enumerate(links):
        tell(f"{n} links", done, len(links))
        row, timings = _row(n, random, setter)
        rows.append(row)
        timed += timings
    return _page(rows, timed)


def _row(
    n: int, random: np.random.Generator, setter: Setter | None
) -> tuple[tuple[Any, ...], list[Timing]]:
    """Return the row of the table for n links, and its timings."""
    q, b = random.uniform(-np.pi, np.pi, (1, n)), random.uniform(-1, 1, (1, n))
    solvers = compiled(n, setter is not None)
    serial = solvers[SERIAL]
    x = {label: np.empty((1, n)) for label in ("solve", *PARALLEL)}
    value, force = np.empty(1), np.empty((1, n))
    calls: dict[str, Callable[[], None]] = {"solve": serial.bind(SOLVE, q, b, x["solve"])}
    calls |= {label: solvers[label].bind(SOLVE, q, b, x[label]) for label in PARALLEL}
    calls |= {
        "value": serial.bind(VALUE, q, value),
        "gradient": serial.bind(GRADIENT, q, force),
    }
    # nanoseconds, as if a call were for so many states
    single_thread, timings = raced(calls, PARALLEL, setter)
    exact, exact_value = solution(q[0], b[0]), log_determinant(q[0])
    row = (
        n,
        *(single_thread[label].median * STATES / n for label in calls),
        *(timings[label].median * STATES / n if label in timings else None for label in PARALLEL),
        *(_off(results[0], exact) for results in x.values()),
        abs(float(value[0]) - exact_value) / abs(exact_value),
        _off(force[0], gradient(q[0])),
    )
    return row, [*single_thread.values(), *timings.values()]


def _page(rows: Sequence[tuple[Any, ...]], timed: Sequence[Timing]) -> Page:
    """Return the page with this table."""
    two, columns = f"_{THREADS}_ns", COLUMNS
    last = dict(zip(columns, rows[-1], strict=True))
    long = next((row for row in rows if row[0] >= 1000), rows[0])
    first = dict(zip(columns, long, strict=True))
    time_of = partial(_time, last, first)

    def most(column: str) -> str:
        return f"{max(row[columns.index(column)] for row in rows):.0e}"

    return Page(
        source="K. Lee, G. S. Chirikjian, 2005, Fig. 2 and (7), (8), (18)",
        says=(
            "The advantage of the O(n) method grows significantly with N. (Our copy of the "
            "paper has the caption of "
            "Fig. 2, not its curves.) The paper has no figures for Fixman's potential."
        ),
        measured=(
            f"At {last['links']} links the solve takes {time_of('solve_ns')} what it takes at"
            f" {first['links']}; in segments {time_of('segments_ns')}, and level by level"
            f" {time_of('levels_ns')}. With {THREADS} threads: in segments"
            f" {time_of('segments' + two)}, level by level {time_of('levels' + two)}. ln det M:"
            f" {time_of('value_ns')}, and its gradient: {time_of('gradient_ns')}. For all sizes the"
            f" errors are at most {most('solve_error')} (solve), {most('segments_error')} (in"
            f" segments), {most('levels_error')} (level by level), {most('value_error')} (ln det M)"
            f" and {most('gradient_error')} (its gradient), of the largest entry."
        ),
        differs=(
            "Timed are loops over links with the paper's partition, for which (12) is tridiagonal:"
            " link after link, in segments of the chain with one segment in each lane of a vector"
            " (`fixman:segments`), and by cyclic reduction in such segments (`fixman:parallel`)."
            " The exact results are continuants in 200 bits (`symgen/reference/planar_chain.py`),"
            " which share no code with the C."
        ),
        columns=columns,
        rows=tuple(rows),
        notes={
            "links": "n",
            "solve_ns": (
                "nanoseconds a link of M x = b by loops, compiled C, sines and cosines included"
            ),
            "segments_ns": "of the same by `fixman:segments`, one thread",
            "levels_ns": "of the same by `fixman:parallel`, one thread",
            "value_ns": "of ln det M",
            "gradient_ns": "of its gradient, Fixman's force",
            **{
                label + two: f"of {SOLVE} by `{method}`, {THREADS} threads"
                for label, method in PARALLEL.items()
            },
            "solve_error": "largest error of x, of its largest entry",
            "segments_error": "likewise, in segments",
            "levels_error": "likewise, level by level",
            "value_error": "error of ln det M, of its value",
            "gradient_error": "largest error of the gradient, of its largest entry",
        },
        draw=lambda figure: _draw(figure, rows),
        height=6.0,
        machine=machine_facts(BUILD, ()),
        busy=busy(timed),
    )


def _off(result: Array, exact: Array) -> float:
    """Return the largest relative error."""
    return float(np.abs(result - exact).max() / np.abs(exact).max())


def _draw(figure: Any, rows: Sequence[Sequence[Any]]) -> None:
    chart = figure.subplots()
    for column, label, style, colour in (
        (1, "M x = b, link after link", "o-", "#1f5a94"),
        (2, "the same in segments, one thread", "s-", "#c8641e"),
        (3, "level by level, one thread", "D-", "#b03a5b"),
        (5, "gradient of ln det M", "^-", "#3c8c50"),
        (4, "ln det M", "v-", "#8a5aa8"),
    ):
        chart.semilogx(
            [row[0] for row in rows],
            [row[column] for row in rows],
            style,
            color=colour,
            label=label,
        )
    chart.set_ylim(0, 1.15 * max(max(row[1:6]) for row in rows))
    chart.set_xticks([row[0] for row in rows], [f"{row[0]:,}" for row in rows])
    chart.minorticks_off()
    chart.set_xlabel("links n")
    chart.set_ylabel("time a link (ns)")
    legend_below(figure, chart)
