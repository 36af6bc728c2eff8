"""WC's body Jacobians and differential operators on SO(3) and SE(3), derived by SymPy.

symgen needs no coordinates of a free body: it works with twists (`methods/fixman/spatial.py`). This is WC's own
route to it, with ZXZ Euler angles (α, β, γ) and Cartesian places, singular where sin β = 0. Rotations stand first in
every six-vector, in the Jacobian and in the inertia alike (WC put them in different orders).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from symgen.derivation.closed_forms import vee

ANGLES = sp.symbols("alpha beta gamma", real=True)
PLACE = sp.symbols("b1:4", real=True)


def about(axis: int, angle: Any) -> Any:
    """R_1 (axis 0) or R_3 (axis 2)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = sp.eye(3)
    turn[i, i] = turn[j, j] = sp.cos(angle)
    turn[j, i], turn[i, j] = sp.sin(angle), -sp.sin(angle)
    return turn


def zxz() -> Any:
    """A = R_3(α) R_1(β) R_3(γ)."""
    alpha, beta, gamma = ANGLES
    return about(2, alpha) * about(0, beta) * about(2, gamma)


def rotation_jacobian(A: Any, q: Sequence[Any] = ANGLES) -> Any:
    """J with ω = J q̇ in body axes: columns vect(Aᵀ ∂A/∂q_i), WC (10); of ZXZ angles (11)."""
    return sp.Matrix.hstack(*(vee(A.T * A.diff(x)).applyfunc(sp.trigsimp) for x in q))  # (10)


def motion_jacobian(A: Any, position: Any, q: Sequence[Any]) -> Any:
    """𝒥 with (ω, v) = 𝒥 q̇ in body axes: columns (H⁻¹ ∂H/∂q_i)^∨, WC (14), in which v = Rᵀ ḃ; (15) for Cartesian b."""
    columns = []
    for x in q:
        omega = vee(A.T * A.diff(x)).applyfunc(sp.trigsimp)
        columns.append(sp.Matrix.vstack(omega, A.T * position.diff(x)))  # (14)
    return sp.Matrix.hstack(*columns)


def derivative_along(f: Any, jacobian: Any, q: Sequence[Any], i: int) -> Any:
    """∂f/∂ξ_i = Σ_j ∂f/∂q_j (𝒥⁻¹)_ji, the derivative of f along body direction i, WC (12), (16), (17)."""
    rates = jacobian.LUsolve(sp.eye(jacobian.rows)[:, i])
    return sp.Add(*(f.diff(x) * rate for x, rate in zip(q, rates, strict=True)))  # (16)


def body_inertia(mass: Any, moments: Any) -> Any:
    """I = I_R ⊕ m 1, rotation first, about the mass centre."""
    return sp.diag(moments, mass * sp.eye(3))


def body_mass_matrix(jacobian: Any, inertia: Any) -> Any:
    """M(q) = 𝒥ᵀ I 𝒥 of one free body: J_Rᵀ I_R J_R and m J_Tᵀ J_T."""
    return jacobian.T * inertia * jacobian


def body_inverse_mass_matrix(jacobian: Any, inertia: Any) -> Any:
    """M⁻¹ = [∂q/∂ξ] I⁻¹ [∂q/∂ξ]ᵀ with ∂q/∂ξ = 𝒥⁻¹, WC (18) and, body by body, (19)."""
    slope = jacobian.inv()  # (18)
    return slope * inertia.inv() * slope.T  # (19)
