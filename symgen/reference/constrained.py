"""Constrained dynamics of closed loops over any scalars: M and c of the tree, bordered by A and γ
from power series of the poses.

The forces of redundant rows are not unique. The C code takes the result of a few damped solves, and
so does this module, with a dense S and a general linear solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symgen.mechanism.closures import Unspun
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import closing
from symgen.reference.arrays import times, transposed
from symgen.reference.assembling import Assembly, assemble, closed_states
from symgen.reference.minimum_norm import DAMPING, minimum_norm_forces
from symgen.reference.motion import at_precision
from symgen.reference.precision import FLOAT, Array

FEWEST, MOST, MARGIN, LEFT = 3, 8, 10, 1e-16


def solve_count(mechanism: Mechanism, kind: Callable[..., Any]) -> int:
    """Return the number of damped solves that make the error of redundant rows negligible in
    double; 1 if no row is redundant.

    Each solve leaves a fraction μ/(σ + μ) of a row's error, where σ is the least nonzero singular
    value of S. `kind` is the class of the reference, which gives M.
    """
    assembly = assemble(mechanism)
    if not assembly.redundant:
        return 1
    floats, q = kind(mechanism, FLOAT), closed_states(mechanism, assembly, 4, 0)["q"].astype(float)
    A = closing.jacobian(floats, assembly.kept, q)
    try:
        S = A @ np.linalg.solve(floats.mass_matrix(q), transposed(A))
    except np.linalg.LinAlgError:  # M is singular: the function is refused elsewhere
        return FEWEST
    return solve_count_for(S, assembly.rank)


def solve_count_for(S: Array, rank: int) -> int:
    """Return the number of damped solves for stacks S (..., n, n) of the given rank."""
    mean = np.trace(S, axis1=-2, axis2=-1) / S.shape[-1]
    least = np.linalg.svd(S, compute_uv=False)[..., rank - 1]
    error_factor = min(float((float(DAMPING) * mean / least).max()) * MARGIN, 0.1)
    return min(MOST, max(FEWEST, int(np.ceil(np.log(LEFT) / np.log(error_factor)))))


def constraint_inertia(
    reference: Any, q: Array, payload: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return A (..., NL, NV), M⁻¹ Aᵀ (..., NV, NL) and S = A M⁻¹ Aᵀ (..., NL, NL)."""
    A = closing.jacobian(reference, assembly_of(reference).kept, q)
    M = reference.mass_matrix(q, payload)
    Y = reference.scalars.solve(M, np.broadcast_to(transposed(A), (*M.shape[:-1], A.shape[-2])))
    return A, Y, np.asarray(A @ Y)


def assembly_of(reference: Any) -> Assembly:
    """Return the assembly of the reference's mechanism (cached)."""
    return assemble(reference.mechanism)


def solve_forces(reference: Any, S: Array, right: Array) -> Array:
    """Return λ (..., NL) with S λ = right; for redundant rows, the result of the damped solves."""
    if assembly_of(reference).redundant:
        return minimum_norm_forces(
            reference.scalars, S, right, solve_count(reference.described, type(reference))
        )
    return np.asarray(reference.scalars.solve(S, right[..., None])[..., 0])


@at_precision
def constrained_forward_dynamics(
    reference: Any,
    /,
    q: Array,
    v: Array,
    tau: Array,
    gains: Array | None = None,
    **loads: Array,
) -> dict[str, Array]:
    """Return a and λ with M a + c = tau + Aᵀ λ and A a + γ = 0.

    With gains (..., 2) K_p and K_d, the right-hand side of the second equation is −K_d A v − K_p C.
    `loads` are the run-time `payload` and `wrench`.
    """
    A, Y, S = constraint_inertia(reference, q, loads.get("payload"))
    free, kept_rows = reference.forward_dynamics(q, v, tau, **loads), assembly_of(reference).kept
    target = times(A, free) + closing.bias(reference, kept_rows, q, v)
    if gains is not None:
        target = (
            target
            + gains[..., 1:] * times(A, v)
            + gains[..., :1] * closing.residual(reference, kept_rows, q)
        )
    multipliers = solve_forces(reference, S, -target)
    return {"a": free + times(Y, multipliers), "lambda": multipliers}


@at_precision
def constraint_impulse(
    reference: Any, q: Array, v: Array, restitution: Array, payload: Array | None = None
) -> dict[str, Array]:
    """Return v⁺ = v + M⁻¹ Aᵀ λ with A v⁺ = −e A v."""
    A, Y, S = constraint_inertia(reference, q, payload)
    impulse = solve_forces(reference, S, -(1 + restitution)[..., None] * times(A, v))
    return {"v_next": v + times(Y, impulse), "impulse": impulse}


@at_precision
def assembly_step(reference: Any, q: Array, damping: Array) -> dict[str, Array]:
    """Return δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ C, and C.

    J is the derivative of C(q ⊕ δ). It is zero for rows that constrain velocities only, so these
    rows are left out.
    """
    kept_rows = assembly_of(reference).kept
    C, J = closing.residual(reference, kept_rows, q), closing.jacobian(reference, kept_rows, q)
    positional = [
        not isinstance(loop.type.rows[k], Unspun)
        for loop, rows in zip(reference.mechanism.loops, kept_rows, strict=True)
        for k in rows
    ]
    J, positional_residual = J[..., positional, :], C[..., positional]
    S = J @ transposed(J)
    mu = damping * np.trace(S, axis1=-2, axis2=-1)
    S = S + mu[..., None, None] * reference.scalars.array(np.eye(S.shape[-1], dtype=int))
    return {
        "delta": -times(
            transposed(J), reference.scalars.solve(S, positional_residual[..., None])[..., 0]
        ),
        "C": C,
        "turned": closing.misalignment(reference, q),
    }


def _null_space_basis(
    reference: Any, eliminated: Sequence[int], A: Array
) -> tuple[list[int], Array, Array]:
    """Return the independent entries of v, N (..., NV, NI) with v = N v_i, and (A_dᵀ A_d)⁻¹ A_dᵀ
    (..., rank, NL).

    `eliminated` are the entries of v that A determines from the independent ones; A_d are their
    columns.
    """
    nv, columns = reference.mechanism.nv, A[..., eliminated]
    pseudoinverse = reference.scalars.solve(transposed(columns) @ columns, transposed(columns))
    independent = [k for k in range(nv) if k not in eliminated]
    N = reference.scalars.array(np.zeros((*A.shape[:-2], nv, len(independent))))
    N[..., independent, :] = reference.scalars.array(np.eye(len(independent), dtype=int))
    N[..., eliminated, :] = -(pseudoinverse @ A[..., independent])
    return independent, N, pseudoinverse


@at_precision
def reduced_mass_matrix(reference: Any, q: Array, payload: Array | None = None) -> dict[str, Array]:
    """Return Nᵀ M N."""
    assembly = assembly_of(reference)
    _, N, _ = _null_space_basis(
        reference, list(assembly.eliminated), closing.jacobian(reference, assembly.kept, q)
    )
    return {"M_reduced": transposed(N) @ reference.mass_matrix(q, payload) @ N}


@at_precision
def constrained_inverse_dynamics(
    reference: Any,
    q: Array,
    v: Array,
    a: Array,
    payload: Array | None = None,
    wrench: Array | None = None,
) -> dict[str, Array]:
    """Return the minimum-norm actuated tau with Nᵀ tau = Nᵀ f, and the minimum-norm λ with Aᵀ λ = f
    − tau.
    """
    assembly, scalars = assembly_of(reference), reference.scalars
    passive, actuated = list(assembly.passive), list(assembly.actuated)
    _, N, pseudoinverse = _null_space_basis(
        reference, passive, closing.jacobian(reference, assembly.kept, q)
    )
    f = reference.inverse_dynamics(q, v, a, payload, wrench)
    N_actuated = N[..., actuated, :]
    tau = times(
        N_actuated,
        scalars.solve(transposed(N_actuated) @ N_actuated, times(transposed(N), f)[..., None])[
            ..., 0
        ],
    )
    remainder = f.copy()
    remainder[..., actuated] = remainder[..., actuated] - tau
    return {
        "tau_independent": tau,
        "lambda": times(transposed(pseudoinverse), remainder[..., passive]),
    }


def _single_result(name: str, oracle: Callable[..., Array]) -> Callable[..., dict[str, Array]]:
    """Return an oracle that names the single result of a constraint function."""
    return lambda reference, **arguments: {
        name: oracle(reference, assembly_of(reference).kept, **arguments)
    }


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "constrained_forward_dynamics": constrained_forward_dynamics,
    "constraint_impulse": constraint_impulse,
    "assembly_step": assembly_step,
    "constrained_inverse_dynamics": constrained_inverse_dynamics,
    "reduced_mass_matrix": reduced_mass_matrix,
    "constraint_residual": _single_result("C", closing.residual),
    "constraint_jacobian": _single_result("A", closing.jacobian),
    "constraint_bias": _single_result("gamma", closing.bias),
}
"""One oracle per function: (reference, arguments by name) → results by name."""
