"""LC's rows ∂θ/∂x, ∂L/∂x and the blocks of H of a whole planar chain, by SymPy: the exact ones and
those that LC print.

symgen takes one mass at a time (`symgen.methods.fixman.geometry`); this is the whole, to compare
with.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from symgen.methods.fixman.geometry import PLANAR, Geometry

Entries = dict[tuple[int, int], Any]
"""The entries of a matrix that are not zero, indices from 0."""


def points(n: int) -> list[Any]:
    """x_0 … x_n as pairs of symbols; x_0 is the origin."""
    return [
        sp.zeros(2, 1),
        *(sp.Matrix(sp.symbols(f"x{i}_1 x{i}_2", real=True)) for i in range(1, n + 1)),
    ]


def position_of_point(n: int) -> dict[Any, Any]:
    """The coordinates of x_1 … x_n by the joint angles theta1 … and lengths L1 …, LC (14)."""
    theta = sp.symbols(f"theta1:{n + 1}", real=True)
    length = sp.symbols(f"L1:{n + 1}", positive=True)
    positions: dict[Any, Any] = {}
    at = sp.zeros(2, 1)
    for i, x in enumerate(points(n)[1:]):
        phi = sp.Add(*theta[: i + 1])
        at = at + length[i] * sp.Matrix([sp.cos(phi), sp.sin(phi)])  # (14)
        positions.update(zip(x, at, strict=True))
    return positions


def exact_rows(
    n: int, geometry: Geometry = PLANAR
) -> tuple[list[dict[int, Any]], list[dict[int, Any]]]:
    """(∂θ_i/∂x_l, ∂L_i/∂x_l) as {l: row}, link by link from 0, points numbered from 1: the rows of
    (∂x/∂q)⁻¹.
    """
    x = points(n)
    soft: list[dict[int, Any]] = []
    hard: list[dict[int, Any]] = []
    for i in range(1, n + 1):
        theta = geometry.direction(x[i - 1], x[i])
        if i > 1:
            theta = theta - geometry.direction(x[i - 2], x[i - 1])
        soft.append(_gradient(theta, x, range(max(i - 2, 1), i + 1)))
        hard.append(
            _gradient(geometry.length(x[i - 1], x[i]), x, range(max(i - 1, 1), i + 1))
        )  # (17), (18)
    return soft, hard


def _gradient(f: Any, x: list[Any], at: range) -> dict[int, Any]:
    rows = {k: sp.Matrix([[f.diff(x[k][0]), f.diff(x[k][1])]]) for k in at}
    return {k: row for k, row in rows.items() if not row.is_zero_matrix}


def published_rows(n: int, as_printed: bool = False) -> list[dict[int, Any]]:
    """∂θ_i/∂x_j of LC (20)-(21): cos θ_i = d_i·d_{i−1} / (L_i L_{i−1}) differentiated with the
    lengths held constant.

    Over the symbols of `points`, theta_i and L_i. Each row differs from the exact one by multiples
    of ∂L only, so the Schur complement (12) is the same. Singular where sin θ_i = 0. Link 1 is
    measured from x_{−1} = −e_1. `as_printed` keeps the slip in the last term of (21), d_{i−1} for
    d_i.
    """
    theta = sp.symbols(f"theta1:{n + 1}", real=True)
    length = (sp.S.One, *sp.symbols(f"L1:{n + 1}", positive=True))
    x = [sp.Matrix([-1, 0]), *points(n)]
    gradients = []
    for i in range(1, n + 1):
        variables = sp.Matrix(3, 2, sp.symbols("p0:6", real=True))
        p = [variables[k, :].T for k in range(3)]  # x_{i−2}, x_{i−1}, x_i
        cosine = (p[2] - p[1]).dot(p[1] - p[0]) / (length[i] * length[i - 1])  # (19)
        point_by_variable = dict(
            zip(variables, [c for k in range(3) for c in x[i - 1 + k]], strict=True)
        )
        rows = {}
        for k in range(3):
            if i - 2 + k < 1:
                continue
            slope = sp.Matrix([[cosine.diff(p[k][0]), cosine.diff(p[k][1])]])  # (20)
            if as_printed and k == 0:
                slope = (p[1] - p[0]).T * -1 / (length[i] * length[i - 1])  # (21) as printed
            rows[i - 2 + k] = (-slope / sp.sin(theta[i - 1])).subs(
                point_by_variable, simultaneous=True
            )  # (21)
        gradients.append(rows)
    return gradients


def block(left: list[dict[int, Any]], right: list[dict[int, Any]]) -> Entries:
    """Σ_l (1/m_l) (∂a_i/∂x_l)(∂b_j/∂x_l)ᵀ, LC (23): the entries whose coordinates share a point."""
    entries: Entries = {}
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            shared = sorted(a.keys() & b.keys())
            total = sp.Add(*(a[k].dot(b[k]) / sp.Symbol(f"m{k}", positive=True) for k in shared))
            if total != 0:
                entries[i, j] = total
    return entries


def theta_blocks(n: int, geometry: Geometry = PLANAR) -> tuple[Entries, Entries, Entries]:
    """H^θθ (diagonals −2 … 2), H^θL (−2 … 1), H^LL (−1 … 1) of n links, LC (22)-(24), over the
    symbols of `points`.
    """
    soft, hard = exact_rows(n, geometry)
    return block(soft, soft), block(soft, hard), block(hard, hard)
