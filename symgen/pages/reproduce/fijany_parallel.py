"""Forward dynamics of one long chain in parallel: block cyclic reduction and segments beside serial
loops, in time, memory and digits.

It shows what the O(log N) of Fijany and Featherstone's abstract gives on a processor of today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np

from symgen.benchmarks.bench import STATES, Timing, busy, machine_facts
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.ir.program import Numbers
from symgen.machine.solver import Solver
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import dh_chain
from symgen.pages.reproduce._page import Page, doubling_ticks, legend_below
from symgen.pages.reproduce._planar import BUILD
from symgen.pages.reproduce._threads import THREADS, Setter, raced, threads
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.vocabulary.options import LOOPED, ProgramOptions
from symgen.vocabulary.reals import REALS

TITLE = "Forward dynamics of one long chain in parallel: time, memory and digits"
LINKS = (16, 64, 256, 1024, 4096, 16384)
FUNCTION = "forward_dynamics"
SERIAL, CUT, LEVELS, SEGMENTS = (
    "riccati",
    "constraint_force",
    "constraint_force:parallel",
    "riccati:segments",
)
WHO = {SERIAL: "serial", CUT: "cut", LEVELS: "levels", SEGMENTS: "segments"}
PARALLEL = (LEVELS, SEGMENTS)
SHORTEST = {SEGMENTS: 32}
"""Links that a method needs at least."""
LONG = Numbers(
    lambda x: np.longdouble(x.numerator) / np.longdouble(x.denominator),
    np.sin,
    np.cos,
    np.sqrt,
    np.log,
    np.arctan2,
)
"""Numbers of 64 binary digits where the processor has them."""
Facts = Mapping[str, Any]
KNOWN = bool(np.finfo(np.longdouble).eps < 1e-18)


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: nanoseconds a link of each method, with one and two threads, bytes a link,
    depths, errors.
    """
    rows, timed = list[tuple[Any, ...]](), list[Timing]()
    random = np.random.default_rng(2013)
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
    chain = dh_chain(n)
    forms = {
        method: build.build_form(chain, FUNCTION, method, ProgramOptions(form=LOOPED))
        for method in WHO
        if n >= SHORTEST.get(method, 0)
    }
    state = [random.uniform(-1, 1, (1, n)) for _ in range(3)]
    results = {method: np.empty((1, n)) for method in forms}
    calls: dict[str, Callable[[], None]] = {}
    for method, form in forms.items():
        solver = Solver.from_programs(
            chain.name,
            {FUNCTION: form},
            chain.sizes,
            optimize=BUILD.optimize,
            threads=setter is not None,
        )
        calls[method] = solver.bind(FUNCTION, *state, results[method])
    single, parallel = raced(calls, PARALLEL, setter)
    errors = _errors(results, forms[SERIAL], state)
    times, bytes_ = _nanoseconds_a_link(single, n), {m: _bytes(f) / n for m, f in forms.items()}
    row = (
        n,
        *map(times.get, WHO),
        *map(_nanoseconds_a_link(parallel, n).get, PARALLEL),
        *map(bytes_.get, WHO),
        *(forms[method].depth for method in (SERIAL, LEVELS)),
        *map(errors.get, WHO),
    )
    return row, [*single.values(), *parallel.values()]


def _nanoseconds_a_link(timings: Mapping[str, Timing], links: int) -> dict[str, float]:
    """Return the least of many rounds, by method."""
    return {method: min(timing.rounds) * STATES / links for method, timing in timings.items()}


def _errors(results: Mapping[str, Array], serial: Form, state: Sequence[Array]) -> dict[str, float]:
    """Return the error of each method's acceleration against serial sweeps in 64 binary digits;
    empty without such numbers.
    """
    if not KNOWN:
        return {}
    named = zip(("q", "v", "tau"), ([*map(np.longdouble, x[0])] for x in state), strict=True)
    exact = serial.run(dict(named), LONG)["a"]
    return {method: _off(result[0], exact) for method, result in results.items()}


def _bytes(form: Form) -> int:
    """Return the bytes of tables and of the caller's workspace."""
    return REALS[form.real].size * (printer().work(form) + form.constant_count)


def _off(result: Array, exact: Sequence[Any]) -> float:
    return float(np.abs(result - np.array(exact)).max() / np.abs(np.array(exact)).max())


COLUMNS = (
    "links",
    *(f"{label}_ns" for label in WHO.values()),
    *(f"{WHO[method]}_{THREADS}_ns" for method in PARALLEL),
    *(f"{label}_bytes" for label in WHO.values()),
    "serial_depth",
    "levels_depth",
    *(f"{label}_error" for label in WHO.values()),
)


def _spread(rows: Sequence[Facts], column: str, reference: str) -> str:
    """Return the smallest and largest ratio of two columns, with the number of links of the
    smallest.
    """
    ratios = {
        row["links"]: row[column] / row[reference] for row in rows if row[column] and row[reference]
    }
    if not ratios:
        return "not measured"
    least = min(ratios, key=lambda n: ratios[n])
    return f"{ratios[least]:.2f} (at {least}) to {max(ratios.values()):.2f}"


def _greatest(rows: Sequence[Facts], column: str) -> str:
    """Return the largest number of a column."""
    numbers = [row[column] for row in rows if row[column] is not None]
    return f"{max(numbers):.0e}" if numbers else "not measured"


def _quickest(rows: Sequence[Facts], ending: str) -> str:
    """Return the fastest method at each number of links; `ending` is that of the columns of
    parallel methods.
    """
    quickest = []
    for row in rows:
        times = {label: row.get(f"{label}{ending}", row[f"{label}_ns"]) for label in WHO.values()}
        label = min((time, label) for label, time in times.items() if time)[1]
        quickest.append(f"{row['links']} {label}")
    return ", ".join(quickest)


def _deeper(rows: Sequence[Facts]) -> str:
    """Return the growth of the depth of the levels in a doubling of the links."""
    steps = [
        (b["levels_depth"] - a["levels_depth"]) / log2(b["links"] / a["links"])
        for a, b in pairwise(rows)
    ]
    if not steps:
        return "what one length does not tell"
    return f"{sum(steps) / len(steps):.1f} operations with each doubling of N"


def _notes() -> dict[str, str]:
    """Return the meaning of each column."""
    times = {
        f"{label}_ns": f"nanoseconds a link by `{method}`, one thread, the least of many rounds"
        for method, label in WHO.items()
    }
    threaded = {
        f"{WHO[method]}_{THREADS}_ns": (
            f"likewise, {THREADS} threads; a group of segments is a thread's"
        )
        for method in PARALLEL
    }
    sizes = {
        f"{label}_bytes": f"bytes a link of tables and of the caller's array by `{method}`"
        for method, label in WHO.items()
    }
    depths = {
        "serial_depth": "longest chain of operations of the serial sweeps",
        "levels_depth": "and of the levels",
    }
    errors = {
        f"{label}_error": f"largest error of `{method}`, of the largest acceleration"
        for method, label in WHO.items()
    }
    links = {"links": "N, a DH chain with general twists"}
    return links | times | threaded | sizes | depths | errors


def _page(cells: list[tuple[Any, ...]], timed: list[Timing]) -> Page:
    """Return the page: the paper's statement, the measurement, the table and the picture."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in cells]
    labels, last, two = [*WHO.values()], rows[-1], f"_{THREADS}_ns"
    bytes_of = [f"{last[f'{label}_bytes']:.0f}" for label in labels if last[f"{label}_bytes"]]
    return Page(
        source=(
            "A. Fijany, R. Featherstone, A new factorization of the mass matrix for optimal "
            "serial and parallel calculation "
            "of multibody dynamics, 2013, abstract"
        ),
        says=(
            "The factorization gives a serial algorithm of O(N) and a parallel one of O(log N) "
            "on O(N) processors."
        ),
        measured=(
            "In looped form, the longest chain of dependent operations of cyclic reduction grows"
            f" by {_deeper(rows)}, that of the serial sweeps with N. Time as a fraction of that of"
            f" the serial sweeps: cyclic reduction {_spread(rows, 'levels_ns', 'serial_ns')}, with"
            f" {THREADS} threads {_spread(rows, f'levels{two}', 'serial_ns')}; segments"
            f" {_spread(rows, 'segments_ns', 'serial_ns')} and"
            f" {_spread(rows, f'segments{two}', 'serial_ns')}; the serial form of the same"
            f" factorization {_spread(rows, 'cut_ns', 'serial_ns')}. Fastest with one thread:"
            f" {_quickest(rows, '_ns')}; with {THREADS}: {_quickest(rows, two)}. At {last['links']}"
            f" links the tables and the workspace take {', '.join(bytes_of)} bytes for each link"
            f" ({', '.join(labels)}), and for all lengths the errors are at most"
            f" {', '.join(_greatest(rows, f'{label}_error') for label in labels)}."
        ),
        differs=(
            "The paper gives orders for as many processors as links. Here the lanes of one"
            " processor's vectors, and threads, share one chain; sines and cosines are included."
            " Cyclic reduction takes more than four times the operations of the serial sweeps, so"
            " that it needs more than four lanes or threads to be faster. Riccati's recursion in"
            " segments takes twice the operations and keeps its precision. Constraint forces lose"
            " some digits, because accelerations are sums of larger terms there. A short chain"
            " leaves most lanes of its last levels idle, and its segments are combined in sequence."
        ),
        columns=COLUMNS,
        rows=tuple(cells),
        notes=_notes(),
        draw=lambda figure: _draw(figure, rows),
        height=9.0,
        machine=machine_facts(BUILD, ()),
        busy=busy(timed),
    )


def _draw(figure: Any, rows: Sequence[Facts]) -> None:
    """Draw times and errors over the number of links."""
    time, error = figure.subplots(2, 1)
    links = [row["links"] for row in rows]
    styles = {
        "serial": ("Riccati, link after link", "#1f5a94"),
        "cut": ("constraint forces, link after link", "#7a5195"),
        "levels": ("constraint forces, by levels", "#3c8c50"),
        "segments": ("Riccati, in segments", "#c8641e"),
    }
    for label, (style_label, colour) in styles.items():
        for name, mark, curve_label in (
            (f"{label}_ns", "o-", style_label),
            (f"{label}_{THREADS}_ns", "s--", f"{style_label}, {THREADS} threads"),
        ):
            if any(row.get(name) for row in rows):
                time.plot(links, [row[name] for row in rows], mark, color=colour, label=curve_label)
        error.plot(links, [row[f"{label}_error"] for row in rows], "o-", color=colour)
    for chart, style_label in (
        (time, "time a link (ns)"),
        (error, "error of q̈, of its largest entry"),
    ):
        chart.set_xscale("log", base=2)
        doubling_ticks(chart.xaxis, links)
        chart.set_ylabel(style_label)
    time.set_ylim(bottom=0)
    error.set_yscale("log")
    error.set_xlabel("links N")
    legend_below(figure, time)
