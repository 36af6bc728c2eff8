"""Proof of a rewriting: every value that is still computed is unchanged, and every result has its
sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.passes._alternatives import results
from symgen.ir.passes._fingerprints import residues
from symgen.ir.passes._signed import SignedRow
from symgen.ir.program import Program
from symgen.support.errors import ProgramError

PROOF_PRIME, PROOF_SEED = 271828182845904539, 2
"""Not the prime and the point by which equal values were found. The prime is near no power of two,
since constants are.
"""


def prove(
    before: Program,
    after: Program,
    new_rows: Sequence[SignedRow | None],
    rewriting: str = "recognized",
) -> None:
    """Prove modulo another prime, at another point, that every row of `before` has the value of its
    new row in `after`.

    A row that is no longer computed has None. `rewriting` describes the rewriting. Raises
    ProgramError naming the first row that fails.
    """
    program_name = f"{before.function}/{before.method}"
    values = residues(PROOF_PRIME, PROOF_SEED, before, after)
    if values is None:
        raise ProgramError(
            f"{program_name}: what was {rewriting} cannot be proved, for it divides by zero"
        )
    old, new = values
    for i, new_row in enumerate(new_rows):
        if new_row is not None and (old[i] - new_row[1] * new[new_row[0]]) % PROOF_PRIME:
            name = f" ('{before.rows[i].name}')" if before.rows[i].name else ""
            raise ProgramError(
                f"{program_name}: row {i}{name} was {rewriting} as what it does not equal"
            )
    result_rows = [
        (a, b)
        for old_port, new_port in zip(results(before), after.outputs, strict=True)
        for a, b in zip(old_port.rows, new_port.rows, strict=True)
    ]
    for a, b in result_rows:
        if old[a] != new[b]:
            raise ProgramError(f"{program_name}: row {a}, a result, has lost its sign")
