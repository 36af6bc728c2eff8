"""Forces λ of closed loops that enforce A a + γ = 0, for any method that factors M."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.shared.closures import bias_entries, jacobian_rows
from symgen.methods.shared.constrained import BorderedFactor
from symgen.methods.shared.factor import Derive, MakeFactor, Results, subtract_bias


def closure_rows(linkage: Linkage) -> list[list[Scalar]]:
    """Return A, reduced to the velocities of the leaders; each row has one entry per velocity."""
    return [linkage.coupling.reduce_forces(row) for row in jacobian_rows(linkage)]


def subtract_closure_forces(
    linkage: Linkage, rows: Sequence[Sequence[Scalar]], joint_forces: Sequence[Scalar]
) -> list[Scalar]:
    """Return the joint forces less Aᵀ λ, where λ is an input."""
    linkage.derivation.step("right-hand sides: joint forces and constraint rows")
    return [
        f - linkage.dot([row[k] for row in rows], linkage.inputs["lambda"])
        for k, f in enumerate(joint_forces)
    ]


def closure_functions(factor: MakeFactor, bias_force: Derive) -> dict[str, Derive]:
    """Return the functions of closed loops of a method that factors M, given the bias force."""

    def bordered_factor(linkage: Linkage) -> BorderedFactor:
        rows = closure_rows(linkage)
        return BorderedFactor(factor(linkage), rows, solves=linkage.solves)

    def constrained_forward_dynamics(linkage: Linkage) -> Results:
        """Return a and λ with M a + c = tau + Aᵀ λ and A a + γ = 0."""
        (c,) = bias_force(linkage)
        free = subtract_bias(linkage, c)
        gamma, drift = bias_entries(linkage, shares_bias_sweep=True), linkage.inputs.get("opening")
        target = gamma if drift is None else [x - d for x, d in zip(gamma, drift, strict=True)]
        return bordered_factor(linkage).constrained_accelerations(free, target)

    def constraint_impulse(linkage: Linkage) -> Results:
        """Return v⁺ and λ with M (v⁺ − v) = Aᵀ λ and A v⁺ = −e A v, where e is Newton's coefficient
        of restitution.
        """
        v, e = linkage.inputs["v"], linkage.inputs["restitution"][0]
        bordered = bordered_factor(linkage)
        rates = linkage.coupling.leader_entries(v)
        linkage.derivation.step("velocities that violate the constraints")
        row_velocities = [linkage.dot(row, rates) for row in bordered.rows]
        gain = linkage.one + e
        impulses = bordered.constraint_forces([-(gain * rate) for rate in row_velocities])
        change = bordered.acceleration_change(impulses)
        return [x + d for x, d in zip(rates, change, strict=True)], impulses

    functions: dict[str, Derive] = {
        derive.__name__: derive for derive in (constrained_forward_dynamics, constraint_impulse)
    }
    return functions | {"loop_solution": constrained_forward_dynamics}


def loop_equation_from(inverse_dynamics: Derive) -> Derive:
    """Return the derivation of loop_equation, given that of inverse dynamics: the residual of
    constrained forward dynamics.
    """

    def loop_equation(linkage: Linkage) -> Results:
        """Return M a + c − Aᵀ λ and A a + γ; they equal tau and zero at a solution."""
        (joint_forces,) = inverse_dynamics(linkage)
        rows, a = closure_rows(linkage), linkage.coupling.leader_entries(linkage.inputs["a"])
        net_forces = subtract_closure_forces(linkage, rows, joint_forces)
        return net_forces, [
            linkage.dot(row, a) + rate
            for row, rate in zip(rows, bias_entries(linkage), strict=True)
        ]

    return loop_equation
