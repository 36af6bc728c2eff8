"""Inspectable quantities of closed loops.

They are the closure error C(q), the constraint Jacobian A and the velocity-product acceleration γ.
While the loops are closed, C(q) = 0, A v = 0 and A a + γ = 0.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.methods.shared.closures import (
    constraint_bias,
    constraint_jacobian,
    constraint_residual,
    refuse_without_closures,
)
from symgen.methods.shared.quantities import Block, Entries, Quantity, name_entries


def _jacobian(linkage: Linkage) -> Entries:
    """Return A as one block, with a column per independent velocity (mimic followers are summed
    into their leaders).
    """
    (entries,) = constraint_jacobian(linkage)
    n = len(linkage.dofs)
    rows = [linkage.coupling.reduce_forces(entries[r : r + n]) for r in range(0, len(entries), n)]
    return {(): Block(name_entries(linkage, "A", rows))}


def _bias(linkage: Linkage) -> Entries:
    """Return γ as one block."""
    (entries,) = constraint_bias(linkage)
    return {(): Block(name_entries(linkage, "gamma", [[x] for x in entries]))}


def _residual(linkage: Linkage) -> Entries:
    """Return C as one block."""
    (entries,) = constraint_residual(linkage)
    return {(): Block(name_entries(linkage, "C", [[x] for x in entries]))}


QUANTITIES = {
    "A_loops": Quantity(
        (),
        "NL x NV",
        "constraint Jacobian of the loops, A v = 0 for closed loops (docs/how-to/closed-chains.md)",
        _jacobian,
        refusal=refuse_without_closures,
        of_loops=True,
    ),
    "gamma": Quantity(
        (),
        "NL x 1",
        "velocity-product acceleration of the constraint rows, A a + gamma = 0 for closed loops"
        " (docs/how-to/closed-chains.md)",
        _bias,
        ("q", "v"),
        refusal=refuse_without_closures,
        of_loops=True,
    ),
    "C_loops": Quantity(
        (),
        "NL x 1",
        "closure error of the constraint rows, m and rad (docs/how-to/closed-chains.md)",
        _residual,
        refusal=refuse_without_closures,
        of_loops=True,
    ),
}
