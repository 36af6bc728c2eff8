"""Geometry of Lee & Chirikjian's planar chain: ∂θ/∂x, ∂L/∂x and the blocks of H, which SymPy
derives from the declared geometry.

A chain connects the points x_0 (the base) and x_1 … x_N, with masses m_1 … m_N. `Geometry` declares
the length of a link, LC (15), and its direction; all other expressions here follow by
differentiation. The joint angle θ_i is the direction of link i less that of link i−1. The rows are
those of (∂x/∂q)⁻¹: they divide by lengths only, so a straight chain is not singular. The published
rows, LC (19)-(21), hold lengths constant while cos θ is differentiated;
`published_coordinate_gradients` has them for comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy as sp


def distance(tail: Any, head: Any) -> Any:
    """Return L_i = ‖x_i − x_{i−1}‖, LC (15)."""
    d = head - tail
    return sp.sqrt(d.dot(d))


def bearing(tail: Any, head: Any) -> Any:
    """Return the direction of x_i − x_{i−1} relative to the first axis of the plane: the sum of
    angles in LC (14).
    """
    d = head - tail
    return sp.atan2(d[1], d[0])


@dataclass(frozen=True)
class Geometry:
    """Coordinates of a link between its `tail` and `head` (2-vectors): the soft direction and the
    hard length.
    """

    direction: Callable[[Any, Any], Any] = bearing
    length: Callable[[Any, Any], Any] = distance


PLANAR = Geometry()


# -- one mass: expressions of the emitted program --------------------------------------------------

L, K, COS, SIN, W = sp.symbols("L K c s w", real=True)
"""Lengths of the links before and after a mass, cosine and sine of the angle between them, inverse
of the mass.
"""

U, V = sp.symbols("u v", real=True)
"""Inverses of L and K."""


@cache
def meeting(geometry: Geometry = PLANAR) -> Any:
    """Return the contribution of one point mass to H between (φ, L) of the link before it and (φ,
    L) of the link after it.

    φ is the absolute direction. The result is the 4×4 matrix Σ (1/m)(∂a/∂x)(∂b/∂x)ᵀ of (23) at x =
    the mass, in axes whose first lies along the link before it.
    """
    x, y = (
        sp.Matrix(sp.symbols("x_1 x_2", real=True)),
        sp.Matrix(sp.symbols("y_1 y_2", real=True)),
    )
    inner = {**dict(zip(y, (0, 0), strict=True)), **dict(zip(x, (L, 0), strict=True))}
    outer = {
        **dict(zip(x, (0, 0), strict=True)),
        **dict(zip(y, (K * COS, K * SIN), strict=True)),
    }
    rows = []
    for tail_and_head, at in (((y, x), inner), ((x, y), outer)):
        for measure in (geometry.direction, geometry.length):
            coordinate = measure(*tail_and_head)
            rows.append(
                sp.Matrix([[_on_circle(coordinate.diff(c).subs(at, simultaneous=True)) for c in x]])
            )
    gram = sp.Matrix(4, 4, lambda i, j: W * rows[i].dot(rows[j]))
    return gram.applyfunc(_on_circle)


@cache
def bending(geometry: Geometry = PLANAR) -> Any:
    """Return d/dθ of the contribution of one point mass to H^LL (2×2); θ is the angle between the
    links before and after it.
    """
    lengths = meeting(geometry).extract([1, 3], [1, 3])
    return lengths.applyfunc(lambda f: f.diff(SIN) * COS - f.diff(COS) * SIN)


@cache
def by_inverses(derive: Callable[[Geometry], Any], geometry: Geometry) -> Any:
    """Return `meeting` or `bending` in terms of inverse lengths, so that the generated code has no
    division per mass.
    """
    return derive(geometry).subs({L: 1 / U, K: 1 / V}, simultaneous=True)


def _on_circle(f: Any) -> Any:
    """Return an expression simplified by c² + s² = 1 and positive lengths."""
    polar = sp.Symbol("t", real=True)
    lengths = {L: sp.Symbol("L", positive=True), K: sp.Symbol("K", positive=True)}
    in_angle = f.subs({COS: sp.cos(polar), SIN: sp.sin(polar), **lengths}, simultaneous=True)
    simplified = sp.trigsimp(sp.cancel(sp.trigsimp(in_angle)))
    back = {
        sp.cos(polar): COS,
        sp.sin(polar): SIN,
        **{positive: symbol for symbol, positive in lengths.items()},
    }
    return simplified.subs(back, simultaneous=True)


@cache
def coordinate_gradients(geometry: Geometry = PLANAR) -> Any:
    """Return ∂(φ, L)/∂x of one link by its head (2×2), in terms of L and cosine and sine of φ; by
    its tail, the negative, (17).
    """
    head = sp.Matrix(sp.symbols("x_1 x_2", real=True))
    at = dict(zip(head, (L * COS, L * SIN), strict=True))
    measures = [measure(sp.zeros(2, 1), head) for measure in (geometry.direction, geometry.length)]
    return (
        sp.Matrix(2, 2, lambda r, c: measures[r].diff(head[c]))
        .subs(at, simultaneous=True)
        .applyfunc(_on_circle)
    )


AHEAD = sp.symbols("C S", real=True)
"""Cosine and sine of the direction of the link before; COS and SIN are those of the link itself."""


@cache
def published_coordinate_gradients() -> Any:
    """Return LC (21), 3×2: ∂θ_i by x_i−2, x_i−1, x_i.

    The lengths K of link i − 1 and L of link i are held constant while cos θ_i = d_i·d_i−1 / (L K),
    (19), is differentiated; sin θ_i is the cross product of the two directions.
    """
    p = sp.Matrix(3, 2, sp.symbols("p0:6", real=True))
    before, direction = p[1, :] - p[0, :], p[2, :] - p[1, :]
    cosine, sine = direction.dot(before) / (L * K), AHEAD[0] * SIN - AHEAD[1] * COS  # (19)
    first = [K * x for x in AHEAD]
    at = dict(zip(p, [0, 0, *first, first[0] + L * COS, first[1] + L * SIN], strict=True))
    return sp.Matrix(
        3, 2, lambda r, c: -cosine.diff(p[r, c]).subs(at, simultaneous=True) / sine
    )  # (20)-(21)


@cache
def metric(geometry: Geometry = PLANAR) -> Any:
    """Return (det ∂x/∂(φ, L))² of one link in terms of its length: its factor of det G besides m²
    (LC, below (3)).
    """
    head = sp.Matrix(sp.symbols("x_1 x_2", real=True))
    coordinates = sp.Matrix(
        [geometry.direction(sp.zeros(2, 1), head), geometry.length(sp.zeros(2, 1), head)]
    )
    slope = coordinates.jacobian(head).subs(dict(zip(head, (L, 0), strict=True)), simultaneous=True)
    return _on_circle(1 / slope.det() ** 2)
