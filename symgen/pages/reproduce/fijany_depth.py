"""Depth against the number of links: linear for serial forms, logarithmic for block cyclic
reduction.

That is the O(log N) on O(N) processors of Fijany and Featherstone's abstract, for a Program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log2
from typing import Any

from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import dh_chain
from symgen.pages.reproduce._page import Page, doubling_ticks, label_ends, legend_below, slope
from symgen.pipeline.derive import derive
from symgen.vocabulary.options import ProgramOptions

TITLE = (
    "Depth of forward dynamics against the number of links, serial and by block cyclic reduction"
)
LINKS = (2, 4, 8, 16, 32, 64, 128, 256)
SERIAL = ("constraint_force", "riccati", "udut")
PARALLEL = "constraint_force:parallel"
FUNCTIONS = ("forward_dynamics", "operational_inertia_inverse")
FITTED_FROM = 16
"""Smallest number of links of the fit; below it, the first and last links weigh too much."""
BUDGET = 10**7


def reproduce(
    tell: Progress, links: Sequence[int] = LINKS, functions: Sequence[str] = FUNCTIONS
) -> Page:
    """Return the page with depths of q̈ and of Λ⁻¹ for every method."""
    cases = [(function, method) for function in functions for method in (PARALLEL, *SERIAL)]
    depths: dict[tuple[str, str], list[int]] = {}
    for done, (function, method) in enumerate(cases):
        tell(f"deriving {function} by {method}", done, len(cases))
        depths[function, method] = [
            derive(dh_chain(n, "right"), function, method, ProgramOptions(), BUDGET).depth
            for n in links
        ]
    fits = {case: _fit(case[1], links, measured) for case, measured in depths.items()}
    grown = "; ".join(
        f"{function}: {fits[function, PARALLEL][1]:.1f} for each doubling, "
        f"{_steps(links, depths[function, PARALLEL])}"
        for function in functions
    )
    linear = "; ".join(
        f"{function}: " + ", ".join(f"{m} {fits[function, m][1]:.1f}" for m in SERIAL)
        for function in functions
    )
    at = links[-1]
    depth_comparison = "; ".join(
        f"{depths[function, PARALLEL][-1]} against {min(depths[function, m][-1] for m in SERIAL)}"
        for function in functions
    )
    return Page(
        source=(
            "A. Fijany, R. Featherstone, A new factorization of the mass matrix for optimal "
            "serial and parallel calculation "
            "of multibody dynamics, 2013, abstract"
        ),
        says=(
            "The factorization gives a serial algorithm of O(N) and a parallel one of O(log N) "
            "on O(N) processors, "
            "for forward dynamics and for Λ⁻¹."
        ),
        measured=(
            f"Cyclic reduction ({PARALLEL}) adds a constant depth with each doubling of N"
            f" ({grown}); every serial method adds a constant depth with each link ({linear}). At N"
            f" = {at}: {depth_comparison} operations in sequence (parallel against serial)."
        ),
        differs=(
            "Depth counts operations on the longest dependency chain of a Program, with unlimited"
            " processors and free communication. The abstract of the paper gives orders and no"
            " constants. All of forward dynamics is counted: angular velocities by a prefix scan,"
            " then the reduction. The elimination of a 5×5 pivot within one block is sequential;"
            " its depth is the constant of each doubling. On one core the parallel form is slower,"
            " because it has more operations."
        ),
        columns=("links", *(f"{function}={method}" for function, method in cases)),
        rows=tuple((n, *(depths[case][k] for case in cases)) for k, n in enumerate(links)),
        notes={
            "links": "N, a DH chain with twists of ±π/2",
            **{f"{f}={m}": f"depth of {f} by {m}" for f, m in cases},
        },
        draw=lambda figure: _draw(figure, links, functions, depths, fits),
        height=4.0 * len(functions) + 1,
    )


def _fit(method: str, links: Sequence[int], depths: Sequence[int]) -> tuple[float, float]:
    """Return (a, b) of a + b log₂ N for the parallel form, of a + b N for the others."""
    fitted = [(n, d) for n, d in zip(links, depths, strict=True) if n >= FITTED_FROM] or list(
        zip(links, depths, strict=True)
    )
    return slope([log2(n) if method == PARALLEL else n for n, _ in fitted], [d for _, d in fitted])


def _steps(links: Sequence[int], depths: Sequence[int]) -> str:
    """Return the growth of the depth in each doubling from FITTED_FROM, in words."""
    steps = [
        b - a for (n, a), (_, b) in pairwise(zip(links, depths, strict=True)) if n >= FITTED_FROM
    ]
    return f"steps {min(steps)} to {max(steps)}" if steps else "no doubling measured"


def _draw(
    figure: Any,
    links: Sequence[int],
    functions: Sequence[str],
    depths: dict[tuple[str, str], list[int]],
    fits: dict[tuple[str, str], tuple[float, float]],
) -> None:
    charts = figure.subplots(len(functions), 1, squeeze=False)[:, 0]
    colours = dict(
        zip((PARALLEL, *SERIAL), ("#1f5a94", "#3c8c50", "#c8641e", "#7a5195"), strict=True)
    )
    for chart, function in zip(charts, functions, strict=True):
        for method, colour in colours.items():
            a, b = fits[function, method]
            chart.plot(links, depths[function, method], "o", color=colour, label=method)
            fine = [links[0] * (links[-1] / links[0]) ** (k / 200) for k in range(201)]
            line = [(n, a + b * (log2(n) if method == PARALLEL else n)) for n in fine]
            line = [(n, d) for n, d in line if d > 0]
            chart.plot([n for n, _ in line], [d for _, d in line], color=colour, linewidth=1)
        chart.set_xscale("log", base=2)
        chart.set_yscale("log")
        doubling_ticks(chart.xaxis, links)
        chart.set_ylim(
            0.7 * min(min(depths[function, m]) for m in colours),
            1.5 * max(max(depths[function, m]) for m in colours),
        )
        chart.set_title(function, loc="left")
        chart.set_ylabel("depth (operations\none after another)")
        growths = {
            m: f"+{fits[function, m][1]:.0f} a {'doubling' if m == PARALLEL else 'link'}"
            for m in colours
        }
        label_ends(
            chart, [(depths[function, m][-1], growths[m], colour) for m, colour in colours.items()]
        )
    charts[-1].set_xlabel("links N")
    legend_below(figure, charts[-1])
