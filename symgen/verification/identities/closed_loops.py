"""Identities of the functions of closed loops.

M, c and the constraint rows A a + γ = 0 are those of the tree and of the loop closures. The states
are closed: the positions satisfy the constraints. With the gains of a stabilization (Baumgarte),
they are open.

Redundant constraint rows are solved with damping, which leaves a relative error of about 1e-18.
For such robots the identities must hold to 1e-15, not to 1e-40.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.mechanism.closures import Unspun
from symgen.reference.arrays import times, transposed
from symgen.reference.constrained import assembly_of
from symgen.reference.integrate import integrate
from symgen.reference.precision import Array
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities._identity import Distance, Functions, Identity, terms
from symgen.vocabulary.functions import CLOSED


def _balance(f: Functions) -> Distance:
    """Return the distance M a + c − tau − Aᵀ λ."""
    results, A = f("constrained_forward_dynamics"), f("constraint_jacobian")["A"]
    q, v = (f.states[name] for name in CLOSED)
    required = f("inverse_dynamics", q=q, v=v, a=results["a"])["tau"]
    constraint_forces, tau = times(transposed(A), results["lambda"]), f.states["tau"]
    return required - tau - constraint_forces, terms(required, tau, constraint_forces)


def _bound_of_constraint_accelerations(A: Array, a: Array) -> Array:
    """Return upper bounds (..., NL) on the entries of A a, from the largest entry of a.

    The individual entries of a are no measure of the terms: the acceleration of a joint that the
    loops immobilize is a small difference of much larger terms.
    """
    largest = np.abs(np.asarray(a, dtype=float)).max(axis=-1, keepdims=True)
    return np.asarray(np.abs(np.asarray(A, dtype=float)).sum(axis=-1) * largest)


def _constraints_hold(f: Functions) -> Distance:
    """Return the distance A a + γ."""
    a, A, gamma = (
        f("constrained_forward_dynamics")["a"],
        f("constraint_jacobian")["A"],
        f("constraint_bias")["gamma"],
    )
    return times(A, a) + gamma, terms(_bound_of_constraint_accelerations(A, a), gamma)


def _stabilized_constraints(f: Functions) -> Distance:
    """Return the distance A a + γ + K_d A v + K_p C."""
    a, A, gamma = (
        f("constrained_forward_dynamics")["a"],
        f("constraint_jacobian")["A"],
        f("constraint_bias")["gamma"],
    )
    (q, v), gains = (f.states[name] for name in CLOSED), f.states["gains"]
    stabilization = gains[:, 1:] * times(A, v) + gains[:, :1] * f("constraint_residual", q=q)["C"]
    return times(A, a) + gamma + stabilization, terms(
        _bound_of_constraint_accelerations(A, a), gamma, stabilization
    )


def _rebound(f: Functions) -> Distance:
    """Return the distance A v⁺ + e A v."""
    v_next, A, e = (
        f("constraint_impulse")["v_next"],
        f("constraint_jacobian")["A"],
        f.states["restitution"],
    )
    rates_before = times(A, f.states["v"])
    return times(A, v_next) + e[:, None] * rates_before, terms(
        np.abs(A) @ np.abs(v_next)[..., None], rates_before
    )


def _residual_rate(f: Functions) -> Distance:
    """Return the distance dC/dt − A v, with dC/dt along v by central differences of h = 1e-25.

    Rows that constrain velocities only (`Unspun`) are excluded: A v is not the rate of a residual.
    """
    A = f("constraint_jacobian")["A"]
    reference, q, v = f.exact_results.reference, f.states[CLOSED[0]], f.states["v"]
    h = f.exact_results.scalars.constant(Fraction(1, 10**25))
    zero_time = f.exact_results.scalars.array([0] * len(q))
    residuals = [
        f("constraint_residual", q=integrate(reference, q, v, zero_time + dt))["C"]
        for dt in (h, -h)
    ]
    rate = times(A, v)
    constrains_positions = np.array(
        [
            not isinstance(loop.type.rows[k], Unspun)
            for loop, kept_rows in zip(
                f.exact_results.mechanism.loops, assembly_of(reference).kept, strict=True
            )
            for k in kept_rows
        ]
    )
    return ((residuals[0] - residuals[1]) / (2 * h) - rate)[:, constrains_positions], terms(
        rate, np.abs(A) @ np.abs(v)[..., None]
    )


def _actuated_forces(f: Functions) -> Array:
    """Return the random forces of the states, with zero for velocities that are not actuated
    (count, NV).
    """
    tau = f.states["tau"].copy()
    actuated = assembly_of(f.exact_results.reference).actuated
    unactuated = [k for k in range(f.exact_results.mechanism.nv) if k not in actuated]
    tau[:, unactuated] = 0 * tau[:, unactuated]
    return np.asarray(tau)


def _inverse_of_forward(f: Functions) -> Distance:
    """Return the distance of the actuated forces that inverse dynamics returns from the forces that
    caused the motion.
    """
    tau, actuated = _actuated_forces(f), list(assembly_of(f.exact_results.reference).actuated)
    a = f("constrained_forward_dynamics", tau=tau)["a"]
    results = f("constrained_inverse_dynamics", a=a)
    return results["tau_independent"] - tau[:, actuated], terms(tau, results["lambda"])


def _forward_of_inverse(f: Functions) -> Distance:
    """Return the distance of the acceleration under the forces of inverse dynamics from the
    acceleration under the original forces.

    Inverse dynamics returns the minimum-norm forces. The last entry tests this property: the
    original forces minus the minimum-norm forces are orthogonal to the minimum-norm forces.
    """
    tau, actuated = _actuated_forces(f), list(assembly_of(f.exact_results.reference).actuated)
    a = f("constrained_forward_dynamics", tau=tau)["a"]
    results = f("constrained_inverse_dynamics", a=a)
    minimum_norm = 0 * tau
    minimum_norm[:, actuated] = results["tau_independent"]
    again = f("constrained_forward_dynamics", tau=minimum_norm)["a"]
    orthogonality = ((tau - minimum_norm) * minimum_norm).sum(axis=-1)[:, None]
    size = terms(a, again, *(force * force for force in (tau, minimum_norm, results["lambda"])))
    return np.concatenate([again - a, orthogonality], axis=-1), size


def _energy(f: Functions) -> Distance:
    """Return the distance vᵢᵀ M_r vᵢ − vᵀ M v, with vᵢ the independent velocities."""
    q, v = (f.states[name] for name in CLOSED)
    independent = [
        k
        for k in range(f.exact_results.mechanism.nv)
        if k not in assembly_of(f.exact_results.reference).eliminated
    ]
    full, reduced = (
        times(M, rates) * rates
        for M, rates in (
            (f("mass_matrix", q=q)["M"], v),
            (f("reduced_mass_matrix")["M_reduced"], v[:, independent]),
        )
    )
    return (reduced.sum(axis=-1) - full.sum(axis=-1))[:, None], terms(full, reduced)


def _redundant(exact_results: ExactResults) -> bool:
    """True if some constraint rows are redundant."""
    return assembly_of(exact_results.reference).redundant > 0


def _open(exact_results: ExactResults) -> bool:
    """True if the states are open: gains are given, and the positions violate the constraints."""
    return exact_results.baumgarte


def _open_and_redundant(exact_results: ExactResults) -> bool:
    """True if the states are open and rows are redundant. Rows are redundant at closed states only,
    so that no acceleration satisfies all rows.
    """
    return _open(exact_results) and _redundant(exact_results)


def _overactuated(exact_results: ExactResults) -> bool:
    """True if there are more actuated velocities than degrees of freedom."""
    assembly = assembly_of(exact_results.reference)
    return len(assembly.actuated) > exact_results.mechanism.nv - assembly.rank


def _inverse_is_not_unique(exact_results: ExactResults) -> bool:
    """True if inverse dynamics need not return the original forces: no acceleration satisfies all
    rows, or several forces cause the same motion.
    """
    return _open_and_redundant(exact_results) or _overactuated(exact_results)


def _minimum_norm_is_untested(exact_results: ExactResults) -> bool:
    """True if the identity of the minimum-norm forces is not checked.

    No acceleration satisfies all rows, or the original forces are the only ones that cause the
    motion, so that `_inverse_of_forward` tests them.
    """
    return _open_and_redundant(exact_results) or not _overactuated(exact_results)


def _not_stabilized(exact_results: ExactResults) -> bool:
    """True without gains, or if no acceleration satisfies all stabilized rows."""
    return not _open(exact_results) or _redundant(exact_results)


RANK = 8
"""Position among the files of identities, which are checked by increasing rank."""
IDENTITIES = (
    Identity(
        "M a + c = tau + Aᵀ λ",
        ("constrained_forward_dynamics", "constraint_jacobian", "inverse_dynamics"),
        _balance,
        exact_only=True,
    ),
    Identity(
        "A a + γ = 0",
        ("constrained_forward_dynamics", "constraint_jacobian", "constraint_bias"),
        _constraints_hold,
        exact_only=True,
        damped=_redundant,
        absent=_open,
    ),
    Identity(
        "A a + γ + K_d A v + K_p C = 0",
        (
            "constrained_forward_dynamics",
            "constraint_jacobian",
            "constraint_bias",
            "constraint_residual",
        ),
        _stabilized_constraints,
        exact_only=True,
        absent=_not_stabilized,
    ),
    Identity(
        "A v⁺ = −e A v",
        ("constraint_impulse", "constraint_jacobian"),
        _rebound,
        exact_only=True,
        damped=_redundant,
        absent=_open_and_redundant,
    ),
    Identity(
        "constrained ID(constrained FD(tau)) = tau",
        ("constrained_forward_dynamics", "constrained_inverse_dynamics"),
        _inverse_of_forward,
        exact_only=True,
        damped=_redundant,
        absent=_inverse_is_not_unique,
    ),
    Identity(
        "constrained FD(minimum-norm tau) = constrained FD(tau)",
        ("constrained_forward_dynamics", "constrained_inverse_dynamics"),
        _forward_of_inverse,
        exact_only=True,
        damped=_redundant,
        absent=_minimum_norm_is_untested,
    ),
    Identity(
        "vᵢᵀ M_reduced vᵢ = vᵀ M v",
        ("reduced_mass_matrix", "mass_matrix"),
        _energy,
        exact_only=True,
        absent=_open,
    ),
    Identity(
        "dC/dt = A v",
        ("constraint_residual", "constraint_jacobian"),
        _residual_rate,
        exact_only=True,
    ),
)
