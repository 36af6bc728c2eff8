"""What joints that close loops do, over any scalars: M and c of the tree, bordered by A and γ from power series of the poses.

Where rows say what others do, no force is the only one. The C takes what is left of a damped solve behind some turns of it, and
so does this: of the dense S, by a general linear solve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgen.closures import Unspun
from symgen.reference import closing
from symgen.reference.arrays import times, transposed
from symgen.reference.assembling import DAMPING, Assembly, assemble
from symgen.reference.motion import at_precision
from symgen.reference.precision import Array


def bordered(reference: Any, q: Array, payload: Array | None = None) -> tuple[Array, Array, Array]:
    """A (..., NL, NV), M⁻¹ Aᵀ (..., NV, NL) and S = A M⁻¹ Aᵀ (..., NL, NL)."""
    A = closing.jacobian(reference, assembled(reference).kept, q)
    M = reference.mass_matrix(q, payload)
    Y = reference.scalars.solve(M, np.broadcast_to(transposed(A), (*M.shape[:-1], A.shape[-2])))
    return A, Y, np.asarray(A @ Y)


def assembled(reference: Any) -> Assembly:
    return assemble(reference.mechanism)


def forces(reference: Any, S: Array, right: Array) -> Array:
    """λ (..., NL) with S λ = right, or of redundant rows what the damped solves leave."""
    solve = reference.scalars.solve
    if not assembled(reference).redundant:
        return np.asarray(solve(S, right[..., None])[..., 0])
    count = S.shape[-1]
    mean = np.trace(S, axis1=-2, axis2=-1) / count
    mu = np.asarray(mean * reference.scalars.constant(DAMPING))
    unit = reference.scalars.array(np.eye(count, dtype=int))
    damped = S + mu[..., None, None] * unit
    found = 0 * right
    for _ in range(assembled(reference).solves):
        found = solve(damped, (right + mu[..., None] * found)[..., None])[..., 0]
    return np.asarray(found)


@at_precision
def constrained_forward_dynamics(reference: Any, q: Array, v: Array, tau: Array, payload: Array | None = None,
                                 wrench: Array | None = None) -> dict[str, Array]:
    """a and λ with M a + c = tau + Aᵀ λ and A a + γ = 0."""
    A, Y, S = bordered(reference, q, payload)
    free = reference.forward_dynamics(q, v, tau, payload, wrench)
    found = forces(reference, S, -(times(A, free) + closing.bias(reference, assembled(reference).kept, q, v)))
    return {"a": free + times(Y, found), "lambda": found}


@at_precision
def constraint_impulse(reference: Any, q: Array, v: Array, restitution: Array, payload: Array | None = None) -> dict[str, Array]:
    """v⁺ = v + M⁻¹ Aᵀ λ with A v⁺ = −e A v."""
    A, Y, S = bordered(reference, q, payload)
    found = forces(reference, S, -(1 + restitution)[..., None] * times(A, v))
    return {"v_next": v + times(Y, found), "impulse": found}


@at_precision
def assembly_step(reference: Any, q: Array, damping: Array) -> dict[str, Array]:
    """δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ C and C. J is the slope of C(q ⊕ δ): of rows that are about velocities alone it is zero."""
    kept = assembled(reference).kept
    C, J = closing.residual(reference, kept, q), closing.jacobian(reference, kept, q)
    answered = [not isinstance(loop.type.rows[k], Unspun)
                for loop, own in zip(reference.mechanism.loops, kept, strict=True) for k in own]
    J, left = J[..., answered, :], C[..., answered]
    S = J @ transposed(J)
    mu = damping * np.trace(S, axis1=-2, axis2=-1)
    S = S + mu[..., None, None] * reference.scalars.array(np.eye(S.shape[-1], dtype=int))
    return {"delta": -times(transposed(J), reference.scalars.solve(S, left[..., None])[..., 0]), "C": C}


def _of(name: str, oracle: Callable[..., Array]) -> Callable[..., dict[str, Array]]:
    return lambda reference, **given: {name: oracle(reference, assembled(reference).kept, **given)}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "constrained_forward_dynamics": constrained_forward_dynamics,
    "constraint_impulse": constraint_impulse,
    "assembly_step": assembly_step,
    "constraint_residual": _of("C", closing.residual),
    "constraint_jacobian": _of("A", closing.jacobian),
    "constraint_bias": _of("gamma", closing.bias),
}
"""One oracle per function: (reference, arguments by name) → results by name."""
