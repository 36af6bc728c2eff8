"""Inverse dynamics differentiated, and forward dynamics by it: ∂FD = −M⁻¹ ∂ID at the acceleration that the forces cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector, wrench_to_parent
from symgen.methods.derivative_recursion.bodies import Wrench, added
from symgen.methods.derivative_recursion.recursion import Recursion, Square
from symgen.methods.shared.elimination import Eliminated, full
from symgen.methods.shared.factor import less_the_bias


def inverse_dynamics_derivatives(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """∂τ/∂q, ∂τ/∂v and M at (q, v, a)."""
    found = Recursion(linkage)
    return _flat(found.by_q(linkage.inputs["a"])), _flat(found.by_rates), full(linkage, found.mass)


def forward_dynamics_derivatives(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """∂a/∂q, ∂a/∂v and M⁻¹ at (q, v, tau), a solve a column: (D14)."""
    found = Recursion(linkage)
    apart = Eliminated(linkage, found.mass)
    c = linkage.coupling.felt(bias_force(linkage, found))
    a = apart.solve(less_the_bias(linkage, c))
    for index, ai in enumerate(a):
        linkage.home.name(f"a_{index + 1}", ai)
    slopes = [
        linkage.coupling.felt_both(one)
        for one in (found.by_q(linkage.coupling.followed(a)), found.by_rates)
    ]
    solved = [
        _columns([apart.solve([-x for x in column]) for column in _columns(one)]) for one in slopes
    ]
    return _flat(solved[0]), _flat(solved[1]), apart.inverse()


def bias_force(linkage: Linkage, found: Recursion) -> list[Scalar]:
    """c = ½ ∂τ/∂v v + g − Jᵀ wrench: what of it is due to v is quadratic in v, (D13)."""
    v, half = linkage.inputs["v"], linkage.scalar(k.rational(1) / 2)
    linkage.home.step("bias force, (D13)")
    moved = [linkage.dot(row, v) * half for row in found.by_v]
    pull: list[Vector] = []
    loads: list[Wrench] = list(linkage.loads)
    for i in reversed(range(len(linkage))):
        for c in linkage.links[i].children:
            loads[i] = added(
                loads[i],
                wrench_to_parent(linkage.links[c].rotation, linkage.links[c].arm, *loads[c]),
            )
    for i, link in enumerate(linkage.links):
        linkage.step(i, "gravity on the composite body, and loads")
        pull.append(
            linkage.against_gravity(i)
            if link.parent < 0
            else link.rotation.to_child(pull[link.parent])
        )
        n, f = found.composite[i].momentum(linkage.zeros, pull[i])
        for dof in link.dofs:
            moved[dof.index] = moved[dof.index] + dof.project(n - loads[i][0], f - loads[i][1])
            linkage.name("c", dof.index, moved[dof.index])
    return moved


def _flat(rows: Iterable[Sequence[Scalar]]) -> list[Scalar]:
    return [x for row in rows for x in row]


def _columns(rows: Square) -> Square:
    return [list(column) for column in zip(*rows, strict=True)]
