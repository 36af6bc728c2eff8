"""What joints that close loops do, of whoever takes M apart: forces λ that keep A a + γ = 0."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.closures import bias_entries, jacobian_rows
from symgen.methods.shared.constrained import Held
from symgen.methods.shared.factor import Derive, Results, TakeApart, less_the_bias


def felt_rows(linkage: Linkage) -> list[list[Scalar]]:
    """A of the joints that lead, each row as long as v."""
    return [linkage.coupling.felt(row) for row in jacobian_rows(linkage)]


def borne(
    linkage: Linkage, rows: Sequence[Sequence[Scalar]], driven: Sequence[Scalar]
) -> list[Scalar]:
    """What the forces λ of the rows of loops leave of those that drive."""
    linkage.home.step("what loops bear, and how they would open")
    return [
        f - linkage.dot([row[k] for row in rows], linkage.inputs["lambda"])
        for k, f in enumerate(driven)
    ]


def of_loops(factor: TakeApart, bias_force: Derive) -> dict[str, Derive]:
    """Given the bias force."""

    def held(linkage: Linkage) -> Held:
        rows = felt_rows(linkage)
        return Held(factor(linkage), rows, solves=linkage.solves)

    def constrained_forward_dynamics(linkage: Linkage) -> Results:
        """a and λ with M a + c = tau + Aᵀ λ and A a + γ = 0."""
        (c,) = bias_force(linkage)
        free = less_the_bias(linkage, c)
        gamma, drift = bias_entries(linkage, beside=True), linkage.inputs.get("opening")
        wanted = gamma if drift is None else [x - d for x, d in zip(gamma, drift, strict=True)]
        return held(linkage).driven(free, wanted)

    def constraint_impulse(linkage: Linkage) -> Results:
        """v⁺ and λ with M (v⁺ − v) = Aᵀ λ and A v⁺ = −e A v, Newton's restitution e."""
        v, e = linkage.inputs["v"], linkage.inputs["restitution"][0]
        bordered = held(linkage)
        rates = linkage.coupling.leading(v)
        linkage.home.step("velocities that the loops do not allow")
        lost = [linkage.dot(row, rates) for row in bordered.rows]
        stopped = linkage.one + e
        impulses = bordered.forces([-(stopped * one) for one in lost])
        change = bordered.moved(impulses)
        return [x + d for x, d in zip(rates, change, strict=True)], impulses

    own: dict[str, Derive] = {
        derive.__name__: derive for derive in (constrained_forward_dynamics, constraint_impulse)
    }
    return own | {"loop_solution": constrained_forward_dynamics}


def equation_of(inverse_dynamics: Derive) -> Derive:
    """loop_equation of whoever computes inverse dynamics: what constrained forward dynamics solves."""

    def loop_equation(linkage: Linkage) -> Results:
        """M a + c − Aᵀ λ and A a + γ, which are tau and zero."""
        (driven,) = inverse_dynamics(linkage)
        rows, a = felt_rows(linkage), linkage.coupling.leading(linkage.inputs["a"])
        left = borne(linkage, rows, driven)
        return left, [
            linkage.dot(row, a) + own for row, own in zip(rows, bias_entries(linkage), strict=True)
        ]

    return loop_equation
