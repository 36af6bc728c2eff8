"""Which entries of a quantity are zero, which are numbers, and which move: what `--plot` draws."""

from __future__ import annotations

from symgen.errors import RequestError
from symgen.inspection.catalogue import choose
from symgen.inspection.entries import answer
from symgen.inspection.equations import needed
from symgen.mechanism import Mechanism

ZERO, NUMBER, MOVES = 0, 1, 2


def pattern(mechanism: Mechanism, what: str, method: str | None = None, frame: str | None = None) -> tuple[str, list[list[int]]]:
    """(what was asked for, ZERO, NUMBER or MOVES row by row); RequestError for a single number."""
    found = answer(mechanism, choose(mechanism, what, method), frame)
    if not found.shape:
        raise RequestError(f"{found.label} is one number, which makes no picture; ask for a block or the whole matrix")
    moving: set[int] = set()
    for r in needed(found.program, found.rows):
        row = found.program.rows[r]
        if row.op == "input" or any(a in moving for a in row.args):
            moving.add(r)
    height, width = found.shape
    kinds = [MOVES if r in moving else ZERO if found.program.rows[r].value == 0 else NUMBER for r in found.rows]
    return found.label, [kinds[r * width:(r + 1) * width] for r in range(height)]
