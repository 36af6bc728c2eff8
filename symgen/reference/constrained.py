"""What joints that close loops do, over any scalars: M and c of the tree, bordered by A and γ from power series of the poses.

Where rows say what others do, no force is the only one. The C takes what is left of a damped solve behind some turns of it, and
so does this: of the dense S, by a general linear solve.
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
from symgen.reference.minimum_norm import DAMPING, damped
from symgen.reference.motion import at_precision
from symgen.reference.precision import FLOAT, Array

FEWEST, MOST, MARGIN, LEFT = 3, 8, 10, 1e-16


def solves(mechanism: Mechanism, kind: Callable[..., Any]) -> int:
    """How many damped solves leave nothing of redundant rows that a double holds; one where none is redundant.

    Each leaves μ/(σ + μ) of what a row is off by, σ being the least singular value of S that is not zero. `kind` is
    the class of the reference, from which M comes.
    """
    at = assemble(mechanism)
    if not at.redundant:
        return 1
    floats, q = kind(mechanism, FLOAT), closed_states(mechanism, at, 4, 0)["q"].astype(float)
    A = closing.jacobian(floats, at.kept, q)
    try:
        S = A @ np.linalg.solve(floats.mass_matrix(q), transposed(A))
    except np.linalg.LinAlgError:  # nobody divides by such an M
        return FEWEST
    return turns(S, at.rank)


def turns(S: Array, rank: int) -> int:
    """The same for stacks of S (..., n, n) of that rank."""
    mean = np.trace(S, axis1=-2, axis2=-1) / S.shape[-1]
    least = np.linalg.svd(S, compute_uv=False)[..., rank - 1]
    left = min(float((float(DAMPING) * mean / least).max()) * MARGIN, 0.1)
    return min(MOST, max(FEWEST, int(np.ceil(np.log(LEFT) / np.log(left)))))


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
    if assembled(reference).redundant:
        return damped(reference.scalars, S, right, solves(reference.described, type(reference)))
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
    """a and λ with M a + c = tau + Aᵀ λ and A a + γ = 0, or −K_d A v − K_p C of the gains (..., 2) K_p and K_d.

    `loads` are the run-time `payload` and `wrench`.
    """
    A, Y, S = bordered(reference, q, loads.get("payload"))
    free, kept = reference.forward_dynamics(q, v, tau, **loads), assembled(reference).kept
    asked = times(A, free) + closing.bias(reference, kept, q, v)
    if gains is not None:
        asked = (
            asked
            + gains[..., 1:] * times(A, v)
            + gains[..., :1] * closing.residual(reference, kept, q)
        )
    found = forces(reference, S, -asked)
    return {"a": free + times(Y, found), "lambda": found}


@at_precision
def constraint_impulse(
    reference: Any, q: Array, v: Array, restitution: Array, payload: Array | None = None
) -> dict[str, Array]:
    """v⁺ = v + M⁻¹ Aᵀ λ with A v⁺ = −e A v."""
    A, Y, S = bordered(reference, q, payload)
    found = forces(reference, S, -(1 + restitution)[..., None] * times(A, v))
    return {"v_next": v + times(Y, found), "impulse": found}


@at_precision
def assembly_step(reference: Any, q: Array, damping: Array) -> dict[str, Array]:
    """δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ C and C. J is the slope of C(q ⊕ δ): of rows that are about velocities alone it is zero."""
    kept = assembled(reference).kept
    C, J = closing.residual(reference, kept, q), closing.jacobian(reference, kept, q)
    answered = [
        not isinstance(loop.type.rows[k], Unspun)
        for loop, own in zip(reference.mechanism.loops, kept, strict=True)
        for k in own
    ]
    J, left = J[..., answered, :], C[..., answered]
    S = J @ transposed(J)
    mu = damping * np.trace(S, axis1=-2, axis2=-1)
    S = S + mu[..., None, None] * reference.scalars.array(np.eye(S.shape[-1], dtype=int))
    return {
        "delta": -times(transposed(J), reference.scalars.solve(S, left[..., None])[..., 0]),
        "C": C,
        "turned": closing.turned(reference, q),
    }


def _spread(reference: Any, given: Sequence[int], A: Array) -> tuple[list[int], Array, Array]:
    """The entries of v that are not `given` by them, N (..., NV, NI) with v = N v_i, and G⁻¹ A_dᵀ (..., rank, NL)."""
    nv, columns = reference.mechanism.nv, A[..., given]
    back = reference.scalars.solve(transposed(columns) @ columns, transposed(columns))
    free = [k for k in range(nv) if k not in given]
    N = reference.scalars.array(np.zeros((*A.shape[:-2], nv, len(free))))
    N[..., free, :] = reference.scalars.array(np.eye(len(free), dtype=int))
    N[..., given, :] = -(back @ A[..., free])
    return free, N, back


@at_precision
def reduced_mass_matrix(reference: Any, q: Array, payload: Array | None = None) -> dict[str, Array]:
    """Nᵀ M N."""
    at = assembled(reference)
    _, N, _ = _spread(reference, list(at.given), closing.jacobian(reference, at.kept, q))
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
    """The least tau of what is driven with Nᵀ tau = Nᵀ f, and the least λ with Aᵀ λ = f − tau."""
    at, scalars = assembled(reference), reference.scalars
    given, driven = list(at.passive), list(at.actuated)
    _, N, back = _spread(reference, given, closing.jacobian(reference, at.kept, q))
    f = reference.inverse_dynamics(q, v, a, payload, wrench)
    own = N[..., driven, :]
    tau = times(
        own, scalars.solve(transposed(own) @ own, times(transposed(N), f)[..., None])[..., 0]
    )
    left = f.copy()
    left[..., driven] = left[..., driven] - tau
    return {"tau_independent": tau, "lambda": times(transposed(back), left[..., given])}


def _of(name: str, oracle: Callable[..., Array]) -> Callable[..., dict[str, Array]]:
    return lambda reference, **given: {name: oracle(reference, assembled(reference).kept, **given)}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "constrained_forward_dynamics": constrained_forward_dynamics,
    "constraint_impulse": constraint_impulse,
    "assembly_step": assembly_step,
    "constrained_inverse_dynamics": constrained_inverse_dynamics,
    "reduced_mass_matrix": reduced_mass_matrix,
    "constraint_residual": _of("C", closing.residual),
    "constraint_jacobian": _of("A", closing.jacobian),
    "constraint_bias": _of("gamma", closing.bias),
}
"""One oracle per function: (reference, arguments by name) → results by name."""
