"""Rates of one joint's coordinates for a step δ: q̇ = Ω(q) δ, and the inverse δ = Ω⁺(q) q̇.

Ω is the first-order part of q ⊕ δ (`symgen.mechanism.joints`). Its columns are orthogonal if a
quaternion has length 1, so Ω⁺ is Ωᵀ with its rows divided by the squares of their lengths: 1/4 for
a rotation, 1 for a translation.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy as sp

from symgen.derivation.scalars import Derivation, lower
from symgen.ir.program import Program
from symgen.mechanism.joints import joint_type
from symgen.support.errors import ProgramError

POSITION, STEP, RATE = "q", "step", "rate"
"""Arguments: coordinates, δ and q̇."""


@cache
def rates_from_step(kind: str) -> Program:
    """Return the Program (q, δ) → q̇ of a joint type."""
    q, rates = _rates(kind)
    return _linear(kind, q, STEP, rates)


@cache
def step_from_rates(kind: str) -> Program:
    """Return the Program (q, q̇) → δ of a joint type, for rates that keep a quaternion's length."""
    q, rates = _rates(kind)
    gram = (rates.T * rates).applyfunc(lambda entry: _on_unit_sphere(kind, q, entry))
    if not gram.is_diagonal() or gram.free_symbols:
        raise ProgramError(f"the steps of joint type '{kind}' are not orthogonal to each other")
    return _linear(kind, q, RATE, gram.inv() * rates.T)


def _rates(kind: str) -> tuple[tuple[Any, ...], Any]:
    """Return the symbols of q, and Ω in terms of them."""
    joint = joint_type(kind)
    q, step = (
        tuple(sp.Symbol(f"{name}_{i}", real=True) for i in range(n))
        for name, n in (("q", joint.nq), ("d", joint.nv))
    )
    return q, sp.Matrix(joint.integrate_first_order(q, step)).jacobian(sp.Matrix(step))


def _on_unit_sphere(kind: str, q: tuple[Any, ...], entry: Any) -> Any:
    first = joint_type(kind).quaternion
    if first is None:
        return sp.trigsimp(entry)
    quaternion = q[first : first + 4]
    return sp.reduced(entry, [sum(x * x for x in quaternion) - 1], *quaternion)[1]


def _linear(kind: str, q: tuple[Any, ...], name: str, matrix: Any) -> Program:
    """Return the Program of matrix(q) times the argument of this name."""
    rows, columns = matrix.shape
    derivation = Derivation({POSITION: len(q), name: columns})
    bindings = dict(zip(q, derivation.inputs[POSITION], strict=True))
    entries = [
        [lower(matrix[i, j], bindings, derivation) for j in range(columns)] for i in range(rows)
    ]
    products = [derivation.dot(row, derivation.inputs[name]) for row in entries]
    return derivation.freeze(
        f"q of {kind}", name, [(name, (rows,), products)], {POSITION: (len(q),), name: (columns,)}
    )
