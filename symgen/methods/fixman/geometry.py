"""What SymPy derives of LC's planar chain: ∂θ/∂x and ∂L/∂x, by differentiating the declared geometry, and the blocks of H.

A chain joins the points x_0 (the base), x_1 … x_N, masses m_1 … m_N. `Geometry` declares what is measured between
points: the length of a link (15) and its direction; everything else here follows. The joint angle θ_i is the
direction of link i less that of link i−1. The rows are those of (∂x/∂q)⁻¹: they divide by lengths alone, so a
straight chain is not singular. What LC print, (19)-(21), holds lengths constant while cos θ is differentiated:
`published_slopes`, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy as sp


def distance(tail: Any, head: Any) -> Any:
    """L_i = ‖x_i − x_{i−1}‖, LC (15)."""
    d = head - tail
    return sp.sqrt(d.dot(d))


def bearing(tail: Any, head: Any) -> Any:
    """The direction of x_i − x_{i−1} against the first axis of the plane: the sum of angles in LC (14)."""
    d = head - tail
    return sp.atan2(d[1], d[0])


@dataclass(frozen=True)
class Geometry:
    """What a link measures between its `tail` and `head` (2-vectors): the soft direction and the hard length."""

    direction: Callable[[Any, Any], Any] = bearing
    length: Callable[[Any, Any], Any] = distance


PLANAR = Geometry()


# -- one mass: what the emitted program is made of ----------------------------------------------------------------------

L, K, COS, SIN, W = sp.symbols("L K c s w", real=True)
"""Lengths of the links inside and outside a mass, cosine and sine of the angle between them, one over the mass."""

U, V = sp.symbols("u v", real=True)
"""One over L and K."""


@cache
def meeting(geometry: Geometry = PLANAR) -> Any:
    """What one point mass adds to H between (φ, L of the link inside it; φ, L of the link outside it), φ being absolute.

    The 4×4 matrix Σ (1/m)(∂a/∂x)(∂b/∂x)ᵀ of (23) at x = the mass, in axes whose first lies along the inner link.
    """
    x, other = (
        sp.Matrix(sp.symbols("x_1 x_2", real=True)),
        sp.Matrix(sp.symbols("y_1 y_2", real=True)),
    )
    inner = {**dict(zip(other, (0, 0), strict=True)), **dict(zip(x, (L, 0), strict=True))}
    outer = {
        **dict(zip(x, (0, 0), strict=True)),
        **dict(zip(other, (K * COS, K * SIN), strict=True)),
    }
    rows = []
    for ends, at in (((other, x), inner), ((x, other), outer)):
        for measure in (geometry.direction, geometry.length):
            f = measure(*ends)
            rows.append(sp.Matrix([[_on_circle(f.diff(c).subs(at, simultaneous=True)) for c in x]]))
    gram = sp.Matrix(4, 4, lambda i, j: W * rows[i].dot(rows[j]))
    return gram.applyfunc(_on_circle)


@cache
def bending(geometry: Geometry = PLANAR) -> Any:
    """d/dθ of what one point mass adds to H^LL, θ being the angle from the link inside it to the link outside it (2×2)."""
    lengths = meeting(geometry).extract([1, 3], [1, 3])
    return lengths.applyfunc(lambda f: f.diff(SIN) * COS - f.diff(COS) * SIN)


@cache
def by_inverses(of: Callable[[Geometry], Any], geometry: Geometry) -> Any:
    """`meeting` or `bending` over one over the lengths, so that nothing is divided where a mass is met."""
    return of(geometry).subs({L: 1 / U, K: 1 / V}, simultaneous=True)


def _on_circle(f: Any) -> Any:
    """One local entry with c² + s² = 1 and the roots of squares of lengths taken."""
    polar = sp.Symbol("t", real=True)
    lengths = {L: sp.Symbol("L", positive=True), K: sp.Symbol("K", positive=True)}
    turned = f.subs({COS: sp.cos(polar), SIN: sp.sin(polar), **lengths}, simultaneous=True)
    settled = sp.trigsimp(sp.cancel(sp.trigsimp(turned)))
    back = {
        sp.cos(polar): COS,
        sp.sin(polar): SIN,
        **{positive: plain for plain, positive in lengths.items()},
    }
    return settled.subs(back, simultaneous=True)


@cache
def slopes(geometry: Geometry = PLANAR) -> Any:
    """∂(φ, L)/∂x of one link by its head, 2×2, over its length L and the cosine and sine of φ; by its tail the negative, (17)."""
    head = sp.Matrix(sp.symbols("x_1 x_2", real=True))
    at = dict(zip(head, (L * COS, L * SIN), strict=True))
    measures = [measure(sp.zeros(2, 1), head) for measure in (geometry.direction, geometry.length)]
    return (
        sp.Matrix(2, 2, lambda r, c: measures[r].diff(head[c]))
        .subs(at, simultaneous=True)
        .applyfunc(_on_circle)
    )


AHEAD = sp.symbols("C S", real=True)
"""Cosine and sine of the direction of the link before, as COS and SIN are of the link's own."""


@cache
def published_slopes() -> Any:
    """LC (21), 3×2: ∂θ_i by x_i−2, x_i−1, x_i, the lengths K of link i − 1 and L of link i held constant while
    cos θ_i = d_i·d_i−1 / (L K) (19) is differentiated; sin θ_i is the cross product of the two directions."""
    p = sp.Matrix(3, 2, sp.symbols("p0:6", real=True))
    before, own = p[1, :] - p[0, :], p[2, :] - p[1, :]
    cosine, sine = own.dot(before) / (L * K), AHEAD[0] * SIN - AHEAD[1] * COS  # (19)
    first = [K * x for x in AHEAD]
    at = dict(zip(p, [0, 0, *first, first[0] + L * COS, first[1] + L * SIN], strict=True))
    return sp.Matrix(
        3, 2, lambda r, c: -cosine.diff(p[r, c]).subs(at, simultaneous=True) / sine
    )  # (20)-(21)


@cache
def metric(geometry: Geometry = PLANAR) -> Any:
    """det of ∂x/∂(φ, L) of one link, squared, over its length `L`: its factor of det G besides m² (LC, below (3))."""
    head = sp.Matrix(sp.symbols("x_1 x_2", real=True))
    both = sp.Matrix(
        [geometry.direction(sp.zeros(2, 1), head), geometry.length(sp.zeros(2, 1), head)]
    )
    slope = both.jacobian(head).subs(dict(zip(head, (L, 0), strict=True)), simultaneous=True)
    return _on_circle(1 / slope.det() ** 2)
