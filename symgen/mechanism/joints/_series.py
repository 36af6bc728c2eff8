"""Functions of a turn that are differentiated by series: Stumpff's c_k(y), and θ/sin θ of an angle that is given by its cosine.

With the half φ/2 of a turn and y = |φ/2|², cos |φ/2| is c₀ and sin |φ/2|/|φ/2| is c₁ (Battin, An Introduction to the Mathematics
and Methods of Astrodynamics, on Stumpff functions). The slope of each over y is a sum of later ones, so that derivatives of any
order divide by nothing. `symgen.pipeline.differentiation.series` takes them apart into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symgen.mechanism.joints._joint import Equations
from symgen.mechanism.joints._quaternion import SCALE, angled, turned


def stumpff(count: int, y: Any) -> Equations:
    """The first `count` of Stumpff's functions of y, as symbols c, s1, s2 and s3."""
    import sympy as sp

    names = sp.symbols("c s1 s2 s3", real=True)[:count]
    return [(name, sp.Function(f"stumpff{k}")(y)) for k, name in enumerate(names)]


def turning_by_series(w: Sequence[Any], dt: Any, count: int) -> Equations:
    """The half h of the turn w dt, `count` of Stumpff's functions of |h|², and the quaternion (e, c) of the turn."""
    import sympy as sp

    half, y, s1 = sp.symbols("half y s1", real=True)
    h, e = (sp.symbols(f"{name}_1:4", real=True) for name in ("h", "e"))
    return [
        (half, dt / 2),
        *((part, rate * half) for part, rate in zip(h, w, strict=True)),
        (y, sum(part * part for part in h)),
        *stumpff(count, y),
        *((entry, s1 * part) for entry, part in zip(e, h, strict=True)),
    ]


def held(dt: Any) -> Equations:
    """The time as `t`, which does not change, and the time `late` behind it, which is zero and changes with dt.

    exp(v dt) is exp(v t) and then exp(v late). The last is written to the second order in `late`, which suffices for second
    derivatives. So the derivative by dt is v itself, not a sum of large terms where v turns far.
    """
    import sympy as sp

    t, late = sp.symbols("t late", real=True)
    return [(t, sp.Function("still")(dt)), (late, dt - t)]


def continued(q: Sequence[Any], w: Sequence[Any]) -> list[Any]:
    """q ∘ exp(w late/2), to the second order in `late`."""
    import sympy as sp

    step = [rate * sp.Symbol("late", real=True) for rate in w]
    shorter = sum(part * part for part in step) / 8
    return [entry - shorter * x for entry, x in zip(turned(q, step), q, strict=True)]


def angled_by_series(turn: Sequence[Any], w: Any) -> Equations:
    """θ/sin θ of the quaternion (u, w) of a turn 2θ as `arc`, its sign that of w, and Stumpff's functions of θ²."""
    import sympy as sp

    angle, root, whole, first, arc, square = sp.symbols(
        "angle root whole first arc square", real=True
    )
    return [
        *angled(turn, w),
        (whole, angle / root),
        (first, whole * SCALE / 2),
        (arc, sp.Function("arc")(first, w)),
        (square, sp.Function("arc_square")(first, w)),
        *stumpff(4, square),
    ]
