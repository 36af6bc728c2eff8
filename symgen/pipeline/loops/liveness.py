"""Values that a link saves for later sweeps: as few numbers as separate the sweeps.

Sums and products of constants and arguments are computed again instead of being saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from symgen.ir.program import Program
from symgen.pipeline.loops.cuts import behind, least_cut
from symgen.pipeline.loops.link_assignment import LinkRows

EXPENSIVE = ("sin", "cos", "sqrt", "log", "atan2", "div")
"""Operations that are not computed again if their value can be saved."""


@dataclass(frozen=True)
class SavedRows:
    """Rows of one class that each sweep computes, and rows whose values were saved before it."""

    computed: list[list[int]]
    saved: list[list[int]]


def plan_saved(
    chain: Program,
    link: LinkRows,
    sweeps: int,
    carries: Mapping[int, Sequence[int | None]],
    results: Iterable[tuple[int, int]],
) -> SavedRows:
    """Choose the rows that each sweep saves: as few as possible.

    `carries` are the rows that each sweep passes on; `results` are rows and the sweeps that give
    them.
    """
    expensive = [chain.rows[r].op in EXPENSIVE for r in link.rows]
    from_neighbours = [any(ref.side for ref in link.refs[k]) for k in range(len(link.rows))]
    operands = link.local_operands()
    computed: list[list[int]] = []
    for sweep in range(sweeps):
        rows = [k for k, number in enumerate(link.sweeps) if from_neighbours[k] and number == sweep]
        rows += [row for row in carries.get(sweep, ()) if row is not None]
        rows += [row for row, given_in in results if given_in == sweep]
        computed.append(list(dict.fromkeys(rows)))
    saved: list[list[int]] = [[] for _ in range(sweeps + 1)]
    for sweep in range(sweeps - 1, 0, -1):
        earlier = {k for k, number in enumerate(link.sweeps) if number < sweep}
        needed = behind(operands, {*computed[sweep], *saved[sweep + 1]}, earlier) & earlier
        candidates = {k for k in earlier if from_neighbours[k] or expensive[k]}
        saved[sweep] = least_cut(operands, candidates, needed)
    return SavedRows(computed, saved[:sweeps])


def place_saved(plan: SavedRows) -> dict[int, int]:
    """Return the place of each saved row in the link's row of the workspace.

    Values that are needed longest come first. The values that a step saves stand behind those that
    it reads, so that in C no argument overlaps a result.
    """
    last = {row: sweep for sweep, rows in enumerate(plan.saved) for row in rows}
    places: dict[int, int] = {}
    for sweep in range(1, len(plan.saved)):
        new = sorted(
            (row for row in plan.saved[sweep] if row not in places),
            key=lambda row: (-last[row], row),
        )
        occupied = {places[row] for row in places if last[row] >= sweep - 1}
        first = next(first for first in count() if not occupied & {*range(first, first + len(new))})
        places |= {row: first + k for k, row in enumerate(new)}
    return places
