"""Constraint-space mobility S = A M⁻¹ Aᵀ of closed loops, by elimination of M."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.methods.composite_body.mass_matrix import Elimination
from symgen.methods.shared.closures import jacobian_rows, refuse_without_closures
from symgen.methods.shared.quantities import Block, Entries, Quantity, name_entries


def _S(linkage: Linkage) -> Entries:
    pairs = Elimination(linkage).half_solutions(
        [linkage.coupling.reduce_forces(row) for row in jacobian_rows(linkage)]
    )
    n = len(pairs)
    rows = [
        [linkage.dot(pairs[max(i, j)][0], pairs[min(i, j)][1]) for j in range(n)] for i in range(n)
    ]
    return {(): Block(name_entries(linkage, "S", rows))}


QUANTITIES = {
    "S_loops": Quantity(
        (),
        "NL x NL",
        "accelerations of the constraint rows per unit force on each of them, A M^-1 A^T"
        " (docs/how-to/closed-chains.md)",
        _S,
        refusal=refuse_without_closures,
        of_loops=True,
    ),
}
