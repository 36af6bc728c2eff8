"""The proof of a rewriting: every value that is still there is what it was, and every result has its sign."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.passes._alternatives import results
from symgen.ir.passes._fingerprints import residues
from symgen.ir.passes._signed import Place
from symgen.ir.program import Program
from symgen.support.errors import ProgramError

PROOF_PRIME, PROOF_SEED = 271828182845904539, 2
"""Another prime and another point than those by which equal values were found. Near no power of two, as constants are such."""


def prove(
    before: Program, after: Program, places: Sequence[Place | None], what: str = "recognized"
) -> None:
    """That every row of `before` stands at its place in `after` (None: nowhere): modulo another prime, at another point.

    Raises ProgramError naming the first row that does not.
    """
    here = f"{before.function}/{before.method}"
    values = residues(PROOF_PRIME, PROOF_SEED, before, after)
    if values is None:
        raise ProgramError(f"{here}: what was {what} cannot be proved, for it divides by zero")
    old, new = values
    for i, place in enumerate(places):
        if place is not None and (old[i] - place[1] * new[place[0]]) % PROOF_PRIME:
            name = f" ('{before.rows[i].name}')" if before.rows[i].name else ""
            raise ProgramError(f"{here}: row {i}{name} was {what} as what it does not equal")
    ends = [
        (a, b)
        for one, other in zip(results(before), after.outputs, strict=True)
        for a, b in zip(one.rows, other.rows, strict=True)
    ]
    for a, b in ends:
        if old[a] != new[b]:
            raise ProgramError(f"{here}: row {a}, a result, has lost its sign")
