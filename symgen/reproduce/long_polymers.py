"""LC Fig. 2 to a hundred thousand links, by loops: the solve with M, in turn and in segments; and Fixman's correction there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symgen.description.loading import load
from symgen.machine.solver import Solver
from symgen.measuring.bench import STATES, Timing, busy, machine_facts, race
from symgen.options import LOOPED, ProgramOptions
from symgen.programs import making
from symgen.reference.planar_chain import gradient, log_determinant, solution
from symgen.reference.precision import Array
from symgen.reproduce import Progress
from symgen.reproduce._page import Page, legend_below
from symgen.reproduce._planar import BUILD

TITLE = "Time a link of the planar solve and of Fixman's correction, up to a hundred thousand links"
LINKS = (100, 1000, 10_000, 100_000)
SOLVE, VALUE, GRADIENT = "mass_matrix_solve", "mass_matrix_log_determinant", "mass_matrix_log_determinant_gradient"
SERIAL, SEGMENTS = "fixman:planar", "fixman:segments"


def compiled(n: int) -> tuple[Solver, Solver]:
    """The chain of n links: what is swept in turn, and the solve in segments, each with its own arrays."""
    made = load(f"planar_point_mass:{n}")
    options = ProgramOptions(form=LOOPED)
    methods = (dict.fromkeys((SOLVE, VALUE, GRADIENT), SERIAL), {SOLVE: SEGMENTS})
    several = ({f: making.shaped(made, f, method, options) for f, method in own.items()} for own in methods)
    first, second = (Solver.from_programs(made.name, programs, made.sizes, optimize=BUILD.optimize) for programs in several)
    return first, second


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Nanoseconds a link, and errors beside continuants in 200 bits."""
    rows: list[tuple[Any, ...]] = []
    timed: list[Timing] = []
    random = np.random.default_rng(2005)
    for done, n in enumerate(links):
        tell(f"{n} links", done, len(links))
        q, b = random.uniform(-np.pi, np.pi, (1, n)), random.uniform(-1, 1, (1, n))
        whole, parted = compiled(n)
        x, a, value, force = (np.empty(shape) for shape in ((1, n), (1, n), (1,), (1, n)))
        calls: dict[str, Callable[[], None]] = {
            "solve": whole.bind(SOLVE, q, b, x), "segments": parted.bind(SOLVE, q, b, a),
            "value": whole.bind(VALUE, q, value), "gradient": whole.bind(GRADIENT, q, force)}
        timings = race(calls)   # nanoseconds, as if a call were for so many states
        timed += timings.values()
        exact, wanted = solution(q[0], b[0]), log_determinant(q[0])
        rows.append((n, *(timings[who].median*STATES/n for who in calls), _off(x[0], exact), _off(a[0], exact),
                     abs(float(value[0]) - wanted)/abs(wanted), _off(force[0], gradient(q[0]))))
    last, first = rows[-1], next((row for row in rows if row[0] >= 1000), rows[0])

    def ratio(column: int) -> str:
        return f"{last[column]/first[column]:.2f}"

    return Page(
        source="K. Lee, G. S. Chirikjian, 2005, Fig. 2 and (7), (8), (18)",
        says="The advantage of the O(n) way grows significantly as N does. (Our copy of the paper has Fig. 2's caption, not its "
             "curves.) No figures of Fixman's potential are given.",
        found=f"At {last[0]} links the solve takes {last[1]:.0f} ns a link, {ratio(1)} times what it takes at {first[0]}; in "
              f"segments {last[2]:.1f} ns, {ratio(2)} times. ln det M takes {last[3]:.0f} and its gradient {last[4]:.0f} ns a "
              f"link, {ratio(3)} and {ratio(4)} times. Of all sizes the "
              f"errors are at most {max(row[5] for row in rows):.0e} (solve), {max(row[6] for row in rows):.0e} (in segments), "
              f"{max(row[7] for row in rows):.0e} (ln det M) and {max(row[8] for row in rows):.0e} (its gradient), of the "
              "largest entry.",
        differs="What is timed are loops over links by the paper's partition, of which (12) is tridiagonal here, link after link "
                "and in segments of the chain, each in a lane of a vector (`fixman:segments`). The exact answers are continuants "
                "in 200 bits (`symgen/reference/planar_chain.py`), which share nothing with the C.",
        columns=("links", "solve_ns", "segments_ns", "value_ns", "gradient_ns", "solve_error", "segments_error", "value_error",
                 "gradient_error"),
        rows=tuple(rows),
        notes={"links": "n", "solve_ns": "nanoseconds a link of M x = b by loops, compiled C, sines and cosines included",
               "segments_ns": "of the same by `fixman:segments`, one thread",
               "value_ns": "of ln det M", "gradient_ns": "of its gradient, Fixman's force",
               "solve_error": "largest error of x, of its largest entry", "segments_error": "likewise, in segments",
               "value_error": "error of ln det M, of its value",
               "gradient_error": "largest error of the gradient, of its largest entry"},
        draw=lambda figure: _draw(figure, rows), height=6.0, machine=machine_facts(BUILD, ()), busy=busy(timed),
    )


def _off(found: Array, exact: Array) -> float:
    return float(np.abs(found - exact).max()/np.abs(exact).max())


def _draw(figure: Any, rows: Sequence[Sequence[Any]]) -> None:
    chart = figure.subplots()
    for column, label, style, colour in ((1, "M x = b, link after link", "o-", "#1f5a94"),
                                         (2, "the same in segments, one thread", "s-", "#c8641e"),
                                         (4, "gradient of ln det M", "^-", "#3c8c50"), (3, "ln det M", "v-", "#8a5aa8")):
        chart.semilogx([row[0] for row in rows], [row[column] for row in rows], style, color=colour, label=label)
    chart.set_ylim(0, 1.15*max(max(row[1:5]) for row in rows))
    chart.set_xticks([row[0] for row in rows], [f"{row[0]:,}" for row in rows])
    chart.minorticks_off()
    chart.set_xlabel("links n")
    chart.set_ylabel("time a link (ns)")
    legend_below(figure, chart)
