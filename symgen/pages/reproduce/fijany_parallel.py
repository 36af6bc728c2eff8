"""Forward dynamics of one long chain in parallel: block cyclic reduction and segments beside loops link after link, in time,
memory and digits. That is what the O(log N) of Fijany & Featherstone's abstract comes to on a processor of today.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np

from symgen.benchmarks.bench import STATES, Timing, busy, machine_facts
from symgen.emission import printer
from symgen.ir.program import Numbers
from symgen.ir.recursion import Form, Looped
from symgen.ir.recursion import evaluate_form as evaluate
from symgen.machine.solver import Solver
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import dh_chain
from symgen.pages.reproduce._page import Page, doubling_ticks, legend_below
from symgen.pages.reproduce._planar import BUILD
from symgen.pages.reproduce._threads import THREADS, raced, threads
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
KNOWN = bool(np.finfo(np.longdouble).eps < 1e-18)


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Nanoseconds a link of each method, with one thread and with two, the least of many rounds; bytes a link, depths, errors."""
    rows, timed = list[tuple[Any, ...]](), list[Timing]()
    random = np.random.default_rng(2013)
    setter = threads()
    for done, n in enumerate(links):
        tell(f"{n} links", done, len(links))
        made = dh_chain(n)
        forms = {
            method: build.shaped(made, FUNCTION, method, ProgramOptions(form=LOOPED))
            for method in WHO
            if n >= SHORTEST.get(method, 0)
        }
        state = [random.uniform(-1, 1, (1, n)) for _ in range(3)]
        a, calls = {method: np.empty((1, n)) for method in forms}, dict[str, Callable[[], None]]()
        for method, form in forms.items():
            solver = Solver.from_programs(
                made.name,
                {FUNCTION: form},
                made.sizes,
                optimize=BUILD.optimize,
                threads=setter is not None,
            )
            calls[method] = solver.bind(FUNCTION, *state, a[method])
        alone, shared = raced(calls, PARALLEL, setter)
        timed += [*alone.values(), *shared.values()]
        exact = (
            evaluate(
                forms[SERIAL],
                dict(
                    zip(
                        ("q", "v", "tau"), ([*map(np.longdouble, x[0])] for x in state), strict=True
                    )
                ),
                LONG,
            )["a"]
            if KNOWN
            else None
        )
        rows.append(
            (
                n,
                *(min(alone[m].rounds) * STATES / n if m in alone else None for m in WHO),
                *(min(shared[m].rounds) * STATES / n if m in shared else None for m in PARALLEL),
                *(_bytes(forms[m]) / n if m in forms else None for m in WHO),
                *(forms[m].depth if m in forms else None for m in (SERIAL, LEVELS)),
                *(_off(a[m][0], exact) if m in a and exact else None for m in WHO),
            )
        )
    return _page(rows, timed)


def _bytes(form: Form) -> int:
    """Of tables and of the array that the caller provides."""
    return REALS[form.real].size * (
        printer().work(form) + (form.constants if isinstance(form, Looped) else 0)
    )


def _off(found: Array, exact: Sequence[Any]) -> float:
    return float(np.abs(found - np.array(exact)).max() / np.abs(np.array(exact)).max())


def _page(rows: list[tuple[Any, ...]], timed: list[Timing]) -> Page:
    whos = [*WHO.values()]
    columns = (
        "links",
        *(f"{who}_ns" for who in whos),
        *(f"{WHO[m]}_{THREADS}_ns" for m in PARALLEL),
        *(f"{who}_bytes" for who in whos),
        "serial_depth",
        "levels_depth",
        *(f"{who}_error" for who in whos),
    )
    at = {name: place for place, name in enumerate(columns)}

    def spread(one: str, other: str) -> str:
        found = {
            row[0]: row[at[one]] / row[at[other]] for row in rows if row[at[one]] and row[at[other]]
        }
        if not found:
            return "not measured"
        least = min(found, key=lambda n: found[n])
        return f"{found[least]:.2f} (at {least}) to {max(found.values()):.2f}"

    def most(name: str) -> str:
        known = [row[at[name]] for row in rows if row[at[name]] is not None]
        return f"{max(known):.0e}" if known else "not measured"

    def quickest(threads: int) -> str:
        by = {}
        for row in rows:
            times = {
                who: row[at[name]]
                for who in whos
                for name in (
                    f"{who}_{threads}_ns"
                    if threads > 1 and f"{who}_{threads}_ns" in at
                    else f"{who}_ns",
                )
            }
            by[row[0]] = min((time, who) for who, time in times.items() if time)[1]
        return ", ".join(f"{n} {who}" for n, who in by.items())

    steps = [
        (b[at["levels_depth"]] - a[at["levels_depth"]]) / log2(b[0] / a[0])
        for a, b in pairwise(rows)
    ]
    deeper = (
        f"{sum(steps) / len(steps):.1f} operations a doubling"
        if steps
        else "what one length does not tell"
    )
    last = rows[-1]
    two = f"_{THREADS}_ns"
    bytes_of = [f"{last[at[f'{who}_bytes']]:.0f}" for who in whos if last[at[f"{who}_bytes"]]]
    return Page(
        source="A. Fijany, R. Featherstone, A new factorization of the mass matrix for optimal serial and parallel calculation "
        "of multibody dynamics, 2013, abstract",
        says="The factorization gives a serial algorithm of O(N) and a parallel one of O(log N) on O(N) processors.",
        found=f"As loops over levels, cyclic reduction's longest chain of operations grows by {deeper}, that of the serial "
        f"sweeps with N. Of the time of the serial sweeps it takes {spread('levels_ns', 'serial_ns')}, with {THREADS} "
        f"threads {spread(f'levels{two}', 'serial_ns')}; segments {spread('segments_ns', 'serial_ns')} and "
        f"{spread(f'segments{two}', 'serial_ns')}; the serial form of the same factorization "
        f"{spread('cut_ns', 'serial_ns')}. Quickest with one thread: {quickest(1)}; with {THREADS}: {quickest(THREADS)}. "
        f"At {last[0]} links tables and work are {', '.join(bytes_of)} bytes a link ({', '.join(whos)}), and of all "
        f"lengths the errors at most {', '.join(most(f'{who}_error') for who in whos)}.",
        differs="The paper counts orders on as many processors as links. Here the lanes of one processor's vectors, and "
        "threads, share one chain; sines and cosines are included. Cyclic reduction takes more than four times the "
        "operations of the serial sweeps, so that it needs more than four lanes or threads to win. Riccati's recursion "
        "in segments takes twice the operations and keeps its digits, of which constraint forces lose some: "
        "accelerations are sums of larger terms there. A short chain leaves most lanes of its last levels idle, and is "
        "put together over the segments one after the other.",
        columns=columns,
        rows=tuple(rows),
        notes={"links": "N, a DH chain with general twists"}
        | {
            f"{WHO[m]}_ns": f"nanoseconds a link by `{m}`, one thread, the least of many rounds"
            for m in WHO
        }
        | {
            f"{WHO[m]}_{THREADS}_ns": f"likewise, {THREADS} threads; a group of segments is a thread's"
            for m in PARALLEL
        }
        | {
            f"{WHO[m]}_bytes": f"bytes a link of tables and of the caller's array by `{m}`"
            for m in WHO
        }
        | {
            "serial_depth": "longest chain of operations of the serial sweeps",
            "levels_depth": "and of the levels",
        }
        | {f"{WHO[m]}_error": f"largest error of `{m}`, of the largest acceleration" for m in WHO},
        draw=lambda figure: _draw(figure, rows, at),
        height=9.0,
        machine=machine_facts(BUILD, ()),
        busy=busy(timed),
    )


def _draw(figure: Any, rows: Sequence[Sequence[Any]], at: dict[str, int]) -> None:
    time, error = figure.subplots(2, 1)
    links = [row[0] for row in rows]
    styles = {
        "serial": ("Riccati, link after link", "#1f5a94"),
        "cut": ("constraint forces, link after link", "#7a5195"),
        "levels": ("constraint forces, by levels", "#3c8c50"),
        "segments": ("Riccati, in segments", "#c8641e"),
    }
    for who, (label, colour) in styles.items():
        for name, mark, what in (
            (f"{who}_ns", "o-", label),
            (f"{who}_{THREADS}_ns", "s--", f"{label}, {THREADS} threads"),
        ):
            if name in at and any(row[at[name]] for row in rows):
                time.plot(links, [row[at[name]] for row in rows], mark, color=colour, label=what)
        error.plot(links, [row[at[f"{who}_error"]] for row in rows], "o-", color=colour)
    for chart, label in ((time, "time a link (ns)"), (error, "error of q̈, of its largest entry")):
        chart.set_xscale("log", base=2)
        doubling_ticks(chart.xaxis, links)
        chart.set_ylabel(label)
    time.set_ylim(bottom=0)
    error.set_yscale("log")
    error.set_xlabel("links N")
    legend_below(figure, time)
