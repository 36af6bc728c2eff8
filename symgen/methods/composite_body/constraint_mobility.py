"""S = A M⁻¹ Aᵀ: the mobility that the forces of joints which close loops meet, by elimination of M."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.methods.composite_body.mass_matrix import Elimination
from symgen.methods.shared.closures import jacobian_rows, no_loops
from symgen.methods.shared.quantities import Block, Entries, Quantity, named


def _S(linkage: Linkage) -> Entries:
    pairs = Elimination(linkage).halves(
        [linkage.coupling.felt(row) for row in jacobian_rows(linkage)]
    )
    n = len(pairs)
    rows = [
        [linkage.dot(pairs[max(i, j)][0], pairs[min(i, j)][1]) for j in range(n)] for i in range(n)
    ]
    return {(): Block(named(linkage, "S", rows))}


QUANTITIES = {
    "S_loops": Quantity(
        (),
        "NL x NL",
        "how the rows accelerate by forces on them, A M^-1 A^T (docs/how-to/closed-chains.md)",
        _S,
        refusal=no_loops,
        of_loops=True,
    ),
}
