"""Depth of forward dynamics of a main chain with a short side branch at each link, in serial order
and by cyclic reduction.

Fijany and Featherstone's abstract extends the O(log N) algorithm from a chain to such a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log2
from typing import Any

from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import branched_chain
from symgen.pages.reproduce._page import Page, doubling_ticks, label_ends, legend_below, slope
from symgen.pipeline.derive import derive
from symgen.vocabulary.options import ProgramOptions

TITLE = "Depth of forward dynamics of a main chain with short side branches"
LINKS = (2, 4, 8, 16, 32)
LENGTHS = (0, 1, 2)
"""Links of each side branch; 0 is the main chain alone."""
PARALLEL, SERIAL, DENSE = "constraint_force:parallel", "constraint_force", "udut"
METHODS = (PARALLEL, SERIAL, DENSE)
FUNCTION = "forward_dynamics"
FITTED_FROM = 4
"""Smallest main chain of the fit. With two links, no round of cyclic reduction is complete."""
BUDGET = 10**7


def reproduce(
    tell: Progress, links: Sequence[int] = LINKS, lengths: Sequence[int] = LENGTHS
) -> Page:
    """Return the page with the depth of forward dynamics for each length of the side branches and
    each method.
    """
    cases = [(method, length) for method in METHODS for length in lengths]
    depths: dict[tuple[str, int], list[int]] = {}
    for done, (method, length) in enumerate(cases):
        tell(f"deriving {method} with branches of {length}", done, len(cases))
        depths[method, length] = [
            derive(branched_chain(n, length), FUNCTION, method, ProgramOptions(), BUDGET).depth
            for n in links
        ]
    growths = {case: _growth(case[0], links, depths[case]) for case in cases}
    at = links[-1]

    def listed(method: str, length: int) -> str:
        return ", ".join(map(str, depths[method, length]))

    def rates(method: str) -> str:
        return ", ".join(f"{growths[method, length]:.1f}" for length in lengths)

    added = [
        str(depths[PARALLEL, length][-1] - depths[PARALLEL, lengths[0]][-1])
        for length in lengths[1:]
    ]
    branched = lengths[1] if len(lengths) > 1 else lengths[0]
    return Page(
        source=(
            "A. Fijany, R. Featherstone, A new factorization of the mass matrix for optimal "
            "serial and parallel calculation of multibody dynamics, 2013, abstract"
        ),
        says=(
            "The algorithm, serial of O(N) and parallel of O(log N) on O(N) processors, extends to"
            " the forward dynamics of a kinematic tree that consists of a single main chain and any"
            " number of short side branches."
        ),
        measured=(
            f"With {_branches(branched)} at each link of the main chain, cyclic reduction"
            f" ({PARALLEL}) has depth {listed(PARALLEL, branched)} at N ="
            f" {', '.join(map(str, links))}; the same elimination in serial order ({SERIAL})"
            f" {listed(SERIAL, branched)}, and U D Uᵀ of M ({DENSE}) {listed(DENSE, branched)}. For"
            f" branches of length {', '.join(map(str, lengths))}, each doubling of N adds"
            f" {rates(PARALLEL)} to the depth of the parallel form, and each link of the main chain"
            f" adds {rates(SERIAL)} to that of the serial form. At N = {at}, the branches add"
            f" {' and '.join(added) or 'nothing'} to the parallel depth of the chain without"
            " branches, about as much as one doubling of N."
        ),
        differs=(
            "The abstract gives orders and no constants. Depth counts operations on the longest"
            " dependency chain of a Program, with unlimited processors and free communication. All"
            " joints on one link are coupled in H_bb, so that H_bb of the tree is not block"
            " tridiagonal. The elimination therefore removes all branches at once, from their tips"
            " inwards, and then halves the main chain in each round. The serial order visits one"
            " joint after another: with branches of one link it is as deep as for a chain with"
            " twice as many links. U D Uᵀ eliminates the branches side by side; each link of a"
            " branch adds a constant to its depth. The twists are general angles here and ±π/2 in"
            " `fijany-depth`, so that the depths of chains without branches differ slightly at N"
            " = 2."
        ),
        columns=("links", *(_column(*case) for case in cases)),
        rows=tuple((n, *(depths[case][k] for case in cases)) for k, n in enumerate(links)),
        notes={
            "links": "N, links of the main chain, a DH chain with general twists",
            **{
                _column(method, length): (
                    f"depth of {FUNCTION} by {method}, " + f"{_branches(length)} at each link"
                )
                for method, length in cases
            },
        },
        draw=lambda figure: _draw(figure, links, lengths, depths, growths),
        height=8.6,
    )


def _column(method: str, length: int) -> str:
    """Return the name of a column."""
    return f"{method}={length}"


def _growth(method: str, links: Sequence[int], depths: Sequence[int]) -> float:
    """Return the growth of the depth for each doubling in the parallel form, for each link
    otherwise.
    """
    fitted = [(n, d) for n, d in zip(links, depths, strict=True) if n >= FITTED_FROM]
    if len(fitted) < 2:
        fitted = list(zip(links, depths, strict=True))
    return slope([log2(n) if method == PARALLEL else n for n, _ in fitted], [d for _, d in fitted])[
        1
    ]


def steps(links: Sequence[int], depths: Sequence[int]) -> list[float]:
    """Return the growth of the depth for each doubling, from FITTED_FROM links on."""
    return [
        (b - a) / log2(m / n)
        for (n, a), (m, b) in pairwise(zip(links, depths, strict=True))
        if n >= FITTED_FROM
    ]


def _draw(
    figure: Any,
    links: Sequence[int],
    lengths: Sequence[int],
    depths: dict[tuple[str, int], list[int]],
    growths: dict[tuple[str, int], float],
) -> None:
    """Draw the methods with branches of one length, and below them the parallel form with branches
    of each length.
    """
    methods, branches = figure.subplots(2, 1)
    colours = dict(zip(METHODS, ("#1f5a94", "#3c8c50", "#7a5195"), strict=True))
    length = lengths[min(1, len(lengths) - 1)]
    for method, colour in colours.items():
        methods.plot(links, depths[method, length], "o-", color=colour, label=method)
    styles = zip(lengths, ("o:", "s-", "^--"), strict=False)
    for branch, style in styles:
        branches.plot(links, depths[PARALLEL, branch], style, color=colours[PARALLEL])
    methods.set_yscale("log")
    methods.set_title(f"each link of the main chain has {_branches(length)}", loc="left")
    branches.set_title(f"{PARALLEL}, branches of each length", loc="left")
    for chart in (methods, branches):
        chart.set_xscale("log", base=2)
        doubling_ticks(chart.xaxis, links)
        chart.set_ylabel("depth (operations\none after another)")
    branches.set_ylim(0, 1.1 * max(depths[PARALLEL, branch][-1] for branch in lengths))
    branches.set_xlabel("links N of the main chain")
    label_ends(
        methods,
        [
            (
                depths[method, length][-1],
                f"+{growths[method, length]:.0f} a {'doubling' if method == PARALLEL else 'link'}",
                colour,
            )
            for method, colour in colours.items()
        ],
    )
    label_ends(
        branches,
        [
            (depths[PARALLEL, branch][-1], f"{_branches(branch)}", colours[PARALLEL])
            for branch in lengths
        ],
        gap=0.075,
    )
    legend_below(figure, methods)


def _branches(length: int) -> str:
    """Return the branch of a link in words."""
    return f"a branch of {length} link{'s' * (length > 1)}" if length else "no branch"
