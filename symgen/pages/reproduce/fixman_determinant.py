"""det M by Fixman's theorem, LC (8), and ∇ ln det M, for polymer simulation: cost and accuracy
against the number of links.

They are compared with a dense determinant and a dense gradient tr(M⁻¹ ∂M/∂q_i).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Any

import numpy as np

from symgen.benchmarks.bench import STATES, Timing, busy, machine_facts, race
from symgen.description.loading import load
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, doubling_ticks, legend_below, slope
from symgen.pages.reproduce._planar import BUILD, compiled, mass
from symgen.reference.mechanics import ORACLES, Reference
from symgen.reference.precision import Array, arb

TITLE = "ln det M and its gradient by Fixman's theorem against the number of links"
LINKS = (2, 4, 8, 16, 32, 64, 128)
TRUE_STATES, DENSE_GRADIENT_TO = 3, 32
"""States of the error against 60 digits; most links for which ∂M/∂q, n³ numbers a state, is held in
memory.
"""
DIGITS = 60
VALUE, GRADIENT = "mass_matrix_log_determinant", "mass_matrix_log_determinant_gradient"
METHODS = {VALUE: "fixman", GRADIENT: "fixman:planar"}


def mass_matrix_derivatives(q: Array) -> Array:
    """Return ∂M/∂q_k (states, n, n, n), k first: M depends only on differences of absolute angles,
    M = JᵀJ.
    """
    phi, n = np.cumsum(q, axis=-1), q.shape[-1]
    along = np.stack([np.cos(phi), np.sin(phi)], axis=-2)
    points, across = (
        np.cumsum(along, axis=-1),
        np.stack([-along[..., 1, :], along[..., 0, :]], axis=-2),
    )
    lower = np.tril(np.ones((n, n)))

    def levers(x: Array) -> Array:
        """Return the levers (states, 2, point, joint)."""
        joints = np.concatenate([np.zeros((*x.shape[:-1], 1)), x[..., :-1]], axis=-1)
        return np.asarray((x[..., :, None] - joints[..., None, :]) * lower)

    J, derivative = levers(points), np.empty((len(q), n, n, n))
    for k in range(n):  # turning joint k turns all that lies beyond it
        shifted = np.cumsum(across * (np.arange(n) >= k), axis=-1)
        half = np.einsum("skij,skil->sjl", levers(shifted), J)
        derivative[:, k] = half + np.swapaxes(half, -1, -2)
    return derivative


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: operations, nanoseconds and errors of ln det M and of its gradient, and of
    their dense counterparts.
    """
    rows: list[tuple[Any, ...]] = []
    timed: list[Timing] = []
    random = np.random.default_rng(1974)
    for done, n in enumerate(links):
        tell(f"{n} links", done, len(links))
        row, timings = _row(n, random)
        rows.append(row)
        timed += timings
    return _page(rows, timed)


def _row(n: int, random: np.random.Generator) -> tuple[tuple[Any, ...], list[Timing]]:
    """Return the row of the table for n links, and its timings."""
    q = random.uniform(-np.pi, np.pi, (STATES, n))
    solver, M = compiled(n, METHODS), mass(q)
    value, gradient = np.empty(STATES), np.empty((STATES, n))
    contestants: dict[str, Callable[[], None]] = {
        "value": solver.bind(VALUE, q, value),
        "gradient": solver.bind(GRADIENT, q, gradient),
        "slogdet": _slogdet(M),
    }
    dM = mass_matrix_derivatives(q) if n <= DENSE_GRADIENT_TO else None
    if dM is not None:
        contestants["traces"] = _traces(M, dM)
    timings = race(contestants)
    times = {label: timing.median for label, timing in timings.items()}
    true_value, true_gradient = _reference_values(n, q[:TRUE_STATES])
    dense = np.linalg.slogdet(M)[1]
    row = (
        n,
        solver.programs[VALUE].cost,
        solver.programs[GRADIENT].cost,
        times["value"],
        times["slogdet"],
        times["gradient"],
        times.get("traces"),
        _relative_error(value, true_value),
        _relative_error(dense, true_value),
        _relative_error(gradient, true_gradient),
        None
        if dM is None
        else _relative_error(np.einsum("skij,sji->sk", dM, np.linalg.inv(M)), true_gradient),
    )
    return row, [*timings.values()]


def _page(rows: Sequence[tuple[Any, ...]], timed: Sequence[Timing]) -> Page:
    """Return the page with this table."""
    last = rows[-1]
    order, steep = (
        slope([log(row[0]) for row in rows[-4:]], [log(row[c]) for row in rows[-4:]])[1]
        for c in (3, 4)
    )
    per_link = last[2] / last[0]
    return Page(
        source="K. Lee, G. S. Chirikjian, 2005, (8), after M. Fixman, 1974",
        says=(
            "det G_aa = det G · det H_bb: the determinant of the mass matrix (for a polymer, "
            "the metric tensor; its logarithm gives the potential that constraints cause) follows "
            "from "
            "the determinant of a band matrix. The paper has no figures."
        ),
        measured=(
            f"ln det M takes {last[1] / last[0]:.1f} operations and one logarithm for each link,"
            f" its gradient {per_link:.1f} and no logarithm. Time grows as n^{order:.2f} against"
            f" n^{steep:.2f} dense; at n = {last[0]}, {last[3]:.0f} ns against {last[4]:.0f} ns,"
            f" and the gradient takes {last[5]:.0f} ns. Errors are at most"
            f" {max(r[7] for r in rows):.1e} (value) and {max(r[9] for r in rows):.1e} (gradient);"
            f" those of the dense computation reach {max(r[8] for r in rows):.1e} and"
            f" {max(r[10] for r in rows if r[10] is not None):.1e}."
        ),
        differs=(
            "The paper's theorem is used as printed; the gradient is symgen's own: only two"
            " entries of H_bb depend on a joint's angle, so that one selected inverse of the band"
            " matrix gives every derivative. The dense computation receives M and ∂M/∂q"
            f" precomputed (∂M/∂q up to n = {DENSE_GRADIENT_TO}). Errors are relative to the"
            f" largest entry, against a reference of {DIGITS} digits."
        ),
        columns=(
            "links",
            "value_operations",
            "gradient_operations",
            "value_ns",
            "slogdet_ns",
            "gradient_ns",
            "dense_gradient_ns",
            "value_error",
            "slogdet_error",
            "gradient_error",
            "dense_gradient_error",
        ),
        rows=tuple(rows),
        notes={
            "links": "n unit masses on unit links",
            "value_operations": "mul + add + div of ln det M, logarithms not counted",
            "gradient_operations": "mul + add + div of ∇ ln det M",
            "value_ns": "nanoseconds a call of ln det M, compiled C",
            "slogdet_ns": "numpy.linalg.slogdet on a precomputed M",
            "gradient_ns": "nanoseconds a call of ∇ ln det M, compiled C",
            "dense_gradient_ns": (
                "tr(M⁻¹ ∂M/∂q_i) for every i on precomputed M and ∂M/∂q, NumPy, up to n ="
                f" {DENSE_GRADIENT_TO}"
            ),
            "value_error": "relative error of ln det M",
            "slogdet_error": "relative error of slogdet",
            "gradient_error": "error of the gradient over its largest entry",
            "dense_gradient_error": "error of the dense gradient over its largest entry",
        },
        draw=lambda figure: _draw(figure, rows),
        height=9.0,
        machine=machine_facts(BUILD, ()),
        busy=busy(timed),
    )


def _slogdet(M: Array) -> Callable[[], None]:
    def run() -> None:
        np.linalg.slogdet(M)

    return run


def _traces(M: Array, dM: Array) -> Callable[[], None]:
    def run() -> None:
        np.einsum("skij,sji->sk", dM, np.linalg.inv(M), optimize=True)

    return run


def _reference_values(n: int, q: Array) -> tuple[Array, Array]:
    """Return both quantities, evaluated over balls."""
    scalars = arb(DIGITS)
    reference = Reference(load(f"planar_point_mass:{n}"), scalars)
    angles = scalars.array(q)
    return tuple(
        next(iter(ORACLES[function](reference, q=angles).values()))
        for function in (VALUE, GRADIENT)
    )  # type: ignore[return-value]


def _relative_error(result: Array, true: Array) -> float:
    """Return the largest error at the first states relative to the largest entry."""
    exact = np.array(true, dtype=float)
    return float(np.abs(result[: len(exact)] - exact).max() / np.abs(exact).max())


def _draw(figure: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Draw times and errors over the number of links."""
    time, error = figure.subplots(2, 1, sharex=True)
    lines = (
        (4, 8, "dense ln det M (slogdet)", "s--", "#e3a176"),
        (6, 10, "dense gradient (NumPy)", "^--", "#c8641e"),
        (3, 7, "ln det M, Fixman", "o-", "#7fa6cc"),
        (5, 9, "gradient, Fixman", "v-", "#1f5a94"),
    )
    for at, off, label, style, colour in lines:
        for chart, column in ((time, at), (error, off)):
            points = [(row[0], row[column]) for row in rows if row[column]]
            chart.loglog(
                [n for n, _ in points], [x for _, x in points], style, color=colour, label=label
            )
    for chart, axis_label in ((time, "time of a call (ns)"), (error, "error (relative)")):
        doubling_ticks(chart.xaxis, [row[0] for row in rows])
        chart.set_ylabel(axis_label)
    error.set_xlabel("links n")
    legend_below(figure, error)
