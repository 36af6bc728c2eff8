"""Saha's operation counts for the recursive solve of I θ̈ = τ (SA §6), beside symgen's on equally general DH chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import dh_chain
from symgen.pages.reproduce._page import Page, legend_below
from symgen.pipeline.derive import derive
from symgen.vocabulary.options import ProgramOptions

TITLE = "Operations of the solve I θ̈ = τ against the number of links, printed and counted"
LINKS = tuple(range(3, 31))
BUDGET = 10**6
METHODS = {
    "udut": "Saha's own recursion, at mass centres",
    "udut:links": "the same in link frames",
    "riccati": "Riccati recursion",
    "composite_body": "elimination of M",
}


def printed(n: int) -> tuple[int, int]:
    """Return (multiplications and divisions, additions and subtractions) of SA §6, with the bias computed separately."""
    return 201 * n - 335, 193 * n - 361


def counted(n: int, method: str) -> tuple[int, int]:
    """Return the counts of symgen's Program for a chain with general twists."""
    ops = derive(dh_chain(n), "mass_matrix_solve", method, ProgramOptions(), BUDGET).operations
    return ops["mul"] + ops["div"], ops["add"]


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: counts at each number of links, and the number from which on a recursion is shortest."""
    rows: list[tuple[Any, ...]] = []
    for done, n in enumerate(links):
        tell(f"deriving {n} links", done, len(links))
        rows.append((n, *printed(n), *(x for method in METHODS for x in counted(n, method))))
    columns = (
        "links",
        "printed_mul",
        "printed_add",
        *(f"{method}_{kind}" for method in METHODS for kind in ("mul", "add")),
    )
    pays, at_centres, in_frames = (
        _pays_from(rows, method) for method in ("riccati", "udut", "udut:links")
    )
    last = rows[-1]
    fewest = min(_total(last, method) for method in METHODS)
    below = all(_is_below_printed(row) for row in rows)
    return Page(
        source="S. K. Saha, The UDUᵀ decomposition of manipulator inertia matrix, §6",
        says="The recursion takes 201n − 335 multiplications or divisions and 193n − 361 "
        "additions or subtractions, and needs fewer operations than the O(n³) elimination of M "
        "from n = 12 on.",
        measured=f"symgen's shortest method stays {'below both' if below else 'not below both'} at every "
        f"n from {links[0]} to {links[-1]}; "
        f"at n = {last[0]} it takes {fewest} operations, against {last[1] + last[2]} in the "
        "paper. The Riccati recursion is shorter than elimination "
        f"{_from(pays)}; Saha's recursion {_from(in_frames)} in link frames, {_from(at_centres)} "
        "at the mass centres.",
        differs="Saha counts a recursion for any chain. symgen's counts are those of the "
        "unrolled C of one robot, without "
        "operations on zeros and ones at the first and last links; in the Riccati recursion, "
        "inertia that does not "
        "affect a joint is moved to its parent. Elimination gains from unrolling too. The chains have random "
        "lengths, offsets, twists and full inertias; the counts do not depend on these numbers "
        "as long as no twist "
        "is a right angle.",
        columns=columns,
        rows=tuple(rows),
        notes={
            "links": "n",
            "printed_mul": "201n − 335",
            "printed_add": "193n − 361",
            **{
                f"{m}_mul": f"multiplications and divisions, {label}"
                for m, label in METHODS.items()
            },
            **{f"{m}_add": f"additions and subtractions, {label}" for m, label in METHODS.items()},
        },
        draw=lambda figure: _draw(figure, rows, pays),
        height=6.0,
    )


def _pays_from(rows: Sequence[Sequence[int]], method: str) -> int | None:
    """Return the number of links from which on a method takes fewer operations than elimination of M."""
    shorter = (row[0] for row in rows if _total(row, method) < _total(row, "composite_body"))
    return next(shorter, None)


def _is_below_printed(row: Sequence[int]) -> bool:
    """True if the best method takes fewer multiplications and fewer additions than are printed."""
    best = min((_total(row, method), method) for method in METHODS)[1]
    at = 3 + 2 * list(METHODS).index(best)
    return row[at] < row[1] and row[at + 1] < row[2]


def _from(n: int | None) -> str:
    """Return the number of links in words."""
    return "at none of these n" if n is None else f"from n = {n} on"


def _total(row: Sequence[int], method: str) -> int:
    """Return all operations of a method."""
    at = 3 + 2 * list(METHODS).index(method)
    return row[at] + row[at + 1]


def _draw(figure: Any, rows: Sequence[Sequence[int]], pays: int | None) -> None:
    chart = figure.subplots()
    n = [row[0] for row in rows]
    chart.plot(
        n,
        [row[1] + row[2] for row in rows],
        color="#8a8a8a",
        linestyle="--",
        label="printed by Saha, 394n − 696",
    )
    for (method, label), colour in zip(
        METHODS.items(), ("#c8641e", "#e3a176", "#1f5a94", "#3c8c50"), strict=True
    ):
        chart.plot(
            n,
            [_total(row, method) for row in rows],
            color=colour,
            marker="o",
            markersize=4,
            label=f"{method}: {label}",
        )
    if pays is not None:
        chart.axvline(pays, ymax=0.5, color="#bbbbbb", linewidth=1)
        chart.annotate(
            f"riccati pays from n = {pays}",
            (pays, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(6, 0),
            textcoords="offset points",
            fontsize=12,
        )
    chart.set_xlabel("links n")
    chart.set_ylabel("mul + div + add (count)")
    chart.set_ylim(0, 1.05 * max(row[1] + row[2] for row in rows))
    chart.set_xlim(n[0] - 1, n[-1] + 1)
    legend_below(figure, chart)
