"""Identities of closed loops with the dynamics of the tree and with the constraints, at closed
states; with gains, at open states.

The damped solves of the C leave an error of some 1e-18 of redundant rows. Then the constraints must
hold to 1e-15, not to 1e-40.
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


def _largest_rates(A: Array, a: Array) -> Array:
    """Return bounds of the entries of A a (..., NL) for accelerations as large as the largest one.

    The acceleration of a joint that the loops hold still is the small difference of much larger
    terms.
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
    return times(A, a) + gamma, terms(_largest_rates(A, a), gamma)


def _stabilized_constraints(f: Functions) -> Distance:
    """Return the distance A a + γ + K_d A v + K_p C."""
    a, A, gamma = (
        f("constrained_forward_dynamics")["a"],
        f("constraint_jacobian")["A"],
        f("constraint_bias")["gamma"],
    )
    (q, v), gains = (f.states[name] for name in CLOSED), f.states["gains"]
    stabilization = gains[:, 1:] * times(A, v) + gains[:, :1] * f("constraint_residual", q=q)["C"]
    return times(A, a) + gamma + stabilization, terms(_largest_rates(A, a), gamma, stabilization)


def _rebound(f: Functions) -> Distance:
    """Return the distance A v⁺ + e A v."""
    after, A, e = (
        f("constraint_impulse")["v_next"],
        f("constraint_jacobian")["A"],
        f.states["restitution"],
    )
    before = times(A, f.states["v"])
    return times(A, after) + e[:, None] * before, terms(
        np.abs(A) @ np.abs(after)[..., None], before
    )


def _slope(f: Functions) -> Distance:
    """Return dC/dt along v, by central differences with h = 1e-25, minus A v, for the rows that
    constrain positions.
    """
    A = f("constraint_jacobian")["A"]
    reference, q, v = f.exact_results.reference, f.states[CLOSED[0]], f.states["v"]
    h = f.exact_results.scalars.constant(Fraction(1, 10**25))
    zero_time = f.exact_results.scalars.array([0] * len(q))
    residuals = [
        f("constraint_residual", q=integrate(reference, q, v, zero_time + s))["C"] for s in (h, -h)
    ]
    rate = times(A, v)
    positional = np.array(
        [
            not isinstance(loop.type.rows[k], Unspun)
            for loop, kept_rows in zip(
                f.exact_results.mechanism.loops, assembly_of(reference).kept, strict=True
            )
            for k in kept_rows
        ]
    )
    return ((residuals[0] - residuals[1]) / (2 * h) - rate)[:, positional], terms(
        rate, np.abs(A) @ np.abs(v)[..., None]
    )


def _actuated_forces(f: Functions) -> Array:
    """Return the drawn forces of the actuated velocities, and zero for all others (count, NV)."""
    tau, idle = (
        f.states["tau"].copy(),
        [
            k
            for k in range(f.exact_results.mechanism.nv)
            if k not in assembly_of(f.exact_results.reference).actuated
        ],
    )
    tau[:, idle] = 0 * tau[:, idle]
    return np.asarray(tau)


def _inverse_of_forward(f: Functions) -> Distance:
    """Return the distance of the actuated force that inverse dynamics gives from the one that
    caused the motion.
    """
    tau = _actuated_forces(f)
    results = f("constrained_inverse_dynamics", a=f("constrained_forward_dynamics", tau=tau)["a"])
    return results["tau_independent"] - tau[
        :, list(assembly_of(f.exact_results.reference).actuated)
    ], terms(tau, results["lambda"])


def _forward_of_inverse(f: Functions) -> Distance:
    """Return the distance of the acceleration by the minimum-norm forces from the acceleration by
    the drawn forces.

    The last entry tests that the forces have minimum norm: the remainder of the drawn forces is
    orthogonal to them.
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
    """Return the distance vᵢᵀ M_r vᵢ − vᵀ M v."""
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
    return assembly_of(exact_results.reference).redundant > 0


def _open(exact_results: ExactResults) -> bool:
    """True if the states are open positions."""
    return exact_results.baumgarte


def _open_and_redundant(exact_results: ExactResults) -> bool:
    """True if the states are open and rows are redundant only on the loops, so that no
    accelerations satisfy all rows.
    """
    return _open(exact_results) and _redundant(exact_results)


def _overactuated(exact_results: ExactResults) -> bool:
    """True if there are more actuated velocities than degrees of freedom."""
    assembly = assembly_of(exact_results.reference)
    return len(assembly.actuated) > exact_results.mechanism.nv - assembly.rank


def _ambiguous(exact_results: ExactResults) -> bool:
    """True if inverse dynamics cannot return the drawn forces, only those of minimum norm."""
    return _open_and_redundant(exact_results) or _overactuated(exact_results)


def _unambiguous(exact_results: ExactResults) -> bool:
    return _open_and_redundant(exact_results) or not _overactuated(exact_results)


def _not_pulled(exact_results: ExactResults) -> bool:
    return not _open(exact_results) or _redundant(exact_results)


RANK = 8
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
        absent=_not_pulled,
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
        absent=_ambiguous,
    ),
    Identity(
        "constrained FD(least tau) = constrained FD(tau)",
        ("constrained_forward_dynamics", "constrained_inverse_dynamics"),
        _forward_of_inverse,
        exact_only=True,
        damped=_redundant,
        absent=_unambiguous,
    ),
    Identity(
        "vᵢᵀ M_reduced vᵢ = vᵀ M v",
        ("reduced_mass_matrix", "mass_matrix"),
        _energy,
        exact_only=True,
        absent=_open,
    ),
    Identity(
        "dC/dt = A v", ("constraint_residual", "constraint_jacobian"), _slope, exact_only=True
    ),
)
