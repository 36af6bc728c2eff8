"""How the coordinates of one joint change when it is moved by δ: rows of q̇ = Ω(q) δ, and of δ = Ω⁺(q) q̇ back from it.

Ω is what q ⊕ δ says to the first order (`symgen.mechanism.joints`). Its columns are orthogonal where a quaternion has length 1, so that
Ω⁺ is Ωᵀ with its rows divided by the squares of their lengths: 1/4 of a turn, 1 of a way.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy as sp

from symgen.derivation.scalars import Derivation, lower
from symgen.ir.program import Program
from symgen.mechanism.joints import joint_type
from symgen.support.errors import ProgramError

PLACE, STEP, RATE = "q", "step", "rate"
"""Arguments: coordinates, δ and q̇."""


@cache
def moving(kind: str) -> Program:
    """(q, δ) → q̇ of a joint type."""
    q, rates = _rates(kind)
    return _linear(kind, q, STEP, rates)


@cache
def telling(kind: str) -> Program:
    """(q, q̇) → δ of a joint type: which step a change of the coordinates is, that keeps a quaternion's length."""
    q, rates = _rates(kind)
    gram = (rates.T * rates).applyfunc(lambda entry: _on_the_sphere(kind, q, entry))
    if not gram.is_diagonal() or gram.free_symbols:
        raise ProgramError(
            f"the steps of a joint of type '{kind}' are not at right angles to each other"
        )
    return _linear(kind, q, RATE, gram.inv() * rates.T)


def _rates(kind: str) -> tuple[tuple[Any, ...], Any]:
    """The symbols of q, and Ω over them."""
    joint = joint_type(kind)
    q, step = (
        tuple(sp.Symbol(f"{name}_{i}", real=True) for i in range(n))
        for name, n in (("q", joint.nq), ("d", joint.nv))
    )
    return q, sp.Matrix(joint.moved(q, step)).jacobian(sp.Matrix(step))


def _on_the_sphere(kind: str, q: tuple[Any, ...], entry: Any) -> Any:
    first = joint_type(kind).quaternion
    if first is None:
        return sp.trigsimp(entry)
    own = q[first : first + 4]
    return sp.reduced(entry, [sum(x * x for x in own) - 1], *own)[1]


def _linear(kind: str, q: tuple[Any, ...], name: str, matrix: Any) -> Program:
    """matrix(q) times the argument of this name, first to last."""
    rows, columns = matrix.shape
    home = Derivation({PLACE: len(q), name: columns})
    known = dict(zip(q, home.inputs[PLACE], strict=True))
    entries = [[lower(matrix[i, j], known, home) for j in range(columns)] for i in range(rows)]
    found = [home.dot(row, home.inputs[name]) for row in entries]
    return home.freeze(
        f"q of {kind}", name, [(name, (rows,), found)], {PLACE: (len(q),), name: (columns,)}
    )
