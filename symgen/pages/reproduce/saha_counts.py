"""Saha's operation counts for the recursive solve of I θ̈ = τ, beside symgen's on equally general
DH chains.

SA is S. K. Saha, "The UDUᵀ Decomposition of Manipulator Inertia Matrix"; its counts stand in §6.
"""

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
"""Largest number of rows of a Program."""
METHODS = {
    "udut": "Saha's own recursion, at mass centres",
    "udut:links": "the same in link frames",
    "riccati": "Riccati recursion",
    "composite_body": "elimination of M",
}
"""Label of each method. A row of the page has n, Saha's two counts, and two counts per method."""


def printed(n: int) -> tuple[int, int]:
    """Return the numbers of (multiplications and divisions, additions and subtractions) in SA §6,
    without those of the bias force.
    """
    return 201 * n - 335, 193 * n - 361


def counted(n: int, method: str) -> tuple[int, int]:
    """Return the same two numbers of symgen's Program for a chain with general twists."""
    ops = derive(dh_chain(n), "mass_matrix_solve", method, ProgramOptions(), BUDGET).operations
    return ops["mul"] + ops["div"], ops["add"]


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: counts at each number of links, and the number of links from which on each
    recursion needs fewer operations than elimination.
    """
    rows: list[tuple[Any, ...]] = []
    for done, n in enumerate(links):
        tell(f"deriving {n} links", done, len(links))
        counts = (count for method in METHODS for count in counted(n, method))
        rows.append((n, *printed(n), *counts))
    columns = (
        "links",
        "printed_mul",
        "printed_add",
        *(f"{method}_{kind}" for method in METHODS for kind in ("mul", "add")),
    )
    riccati_from, at_centres_from, in_frames_from = (
        _shorter_from(rows, method) for method in ("riccati", "udut", "udut:links")
    )
    last = rows[-1]
    fewest = min(_total(last, method) for method in METHODS)
    below = all(_is_below_printed(row) for row in rows)
    return Page(
        source="S. K. Saha, The UDUᵀ decomposition of manipulator inertia matrix, §6",
        says=(
            "The recursion takes 201n − 335 multiplications or divisions and 193n − 361 "
            "additions or subtractions, and needs fewer operations than the O(n³) elimination of M "
            "from n = 12 on."
        ),
        measured=(
            f"symgen's shortest method stays {'below both' if below else 'not below both'} at every"
            f" n from {links[0]} to {links[-1]}; at n = {last[0]} it takes {fewest} operations,"
            f" against {last[1] + last[2]} in the paper. The Riccati recursion is shorter than"
            f" elimination {_in_words(riccati_from)}; Saha's recursion {_in_words(in_frames_from)}"
            f" in link frames, {_in_words(at_centres_from)} at the mass centres."
        ),
        differs=(
            "Saha counts a recursion for any chain. symgen's counts are those of the unrolled C of"
            " one robot, without operations on zeros and ones at the first and last links; in the"
            " Riccati recursion, inertia that does not affect a joint is moved to its parent."
            " Elimination gains from unrolling too. The chains have random lengths, offsets, twists"
            " and full inertias; the counts do not depend on these numbers as long as no twist is a"
            " right angle."
        ),
        columns=columns,
        rows=tuple(rows),
        notes={
            "links": "n",
            "printed_mul": "201n − 335",
            "printed_add": "193n − 361",
            **{
                f"{method}_mul": f"multiplications and divisions, {label}"
                for method, label in METHODS.items()
            },
            **{
                f"{method}_add": f"additions and subtractions, {label}"
                for method, label in METHODS.items()
            },
        },
        draw=lambda figure: _draw(figure, rows, riccati_from),
        height=6.0,
    )


def _shorter_from(rows: Sequence[Sequence[int]], method: str) -> int | None:
    """Return the least number of links at which a method takes fewer operations than elimination of
    M; None if there is none.
    """
    shorter = (row[0] for row in rows if _total(row, method) < _total(row, "composite_body"))
    return next(shorter, None)


def _counts(row: Sequence[int], method: str) -> tuple[int, int]:
    """Return the two counts of a method in a row of the page."""
    first = 3 + 2 * list(METHODS).index(method)
    return row[first], row[first + 1]


def _is_below_printed(row: Sequence[int]) -> bool:
    """True if the shortest method takes fewer multiplications and additions than SA prints."""
    shortest = min((_total(row, method), method) for method in METHODS)[1]
    multiplications, additions = _counts(row, shortest)
    return multiplications < row[1] and additions < row[2]


def _in_words(n: int | None) -> str:
    """Return the part of a sentence that says from which number of links on."""
    return "at none of these n" if n is None else f"from n = {n} on"


def _total(row: Sequence[int], method: str) -> int:
    """Return the number of all operations of a method in a row of the page."""
    return sum(_counts(row, method))


def _draw(figure: Any, rows: Sequence[Sequence[int]], riccati_from: int | None) -> None:
    """Draw all operations against the number of links, with a line where `riccati` becomes shorter
    than elimination.
    """
    chart = figure.subplots()
    links = [row[0] for row in rows]
    chart.plot(
        links,
        [row[1] + row[2] for row in rows],
        color="#8a8a8a",
        linestyle="--",
        label="printed by Saha, 394n − 696",
    )
    for (method, label), colour in zip(
        METHODS.items(), ("#c8641e", "#e3a176", "#1f5a94", "#3c8c50"), strict=True
    ):
        chart.plot(
            links,
            [_total(row, method) for row in rows],
            color=colour,
            marker="o",
            markersize=4,
            label=f"{method}: {label}",
        )
    if riccati_from is not None:
        chart.axvline(riccati_from, ymax=0.5, color="#bbbbbb", linewidth=1)
        chart.annotate(
            f"riccati pays from n = {riccati_from}",
            (riccati_from, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(6, 0),
            textcoords="offset points",
            fontsize=12,
        )
    chart.set_xlabel("links n")
    chart.set_ylabel("mul + div + add (count)")
    chart.set_ylim(0, 1.05 * max(row[1] + row[2] for row in rows))
    chart.set_xlim(links[0] - 1, links[-1] + 1)
    legend_below(figure, chart)
