"""Functions of a rotation that are differentiated by series: Stumpff's c_k(y), and θ/sin θ of an
angle given by its cosine.

With the half φ/2 of a rotation and y = |φ/2|², c₀ is cos |φ/2| and c₁ is sin |φ/2|/|φ/2| (Battin,
An Introduction to the Mathematics and Methods of Astrodynamics, on Stumpff functions). The
derivative of each c_k with respect to y is a sum of later ones, so that derivatives of any order
divide by nothing that can be zero. `symgen.pipeline.differentiation.series` expands these functions
into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symgen.mechanism.joints._joint import Equations
from symgen.mechanism.joints._quaternion import SCALE, compose_small_turn, turn_angle_equations


def stumpff(count: int, y: Any) -> Equations:
    """Return the first `count` of Stumpff's functions of y, as the symbols c, s1, s2 and s3."""
    import sympy as sp

    names = sp.symbols("c s1 s2 s3", real=True)[:count]
    return [(name, sp.Function(f"stumpff{k}")(y)) for k, name in enumerate(names)]


def turn_by_series(w: Sequence[Any], dt: Any, count: int) -> Equations:
    """Return the half h of the rotation w dt, `count` of Stumpff's functions of |h|², and the
    quaternion (e, c) of the rotation.
    """
    import sympy as sp

    half, y, s1 = sp.symbols("half y s1", real=True)
    h, e = (sp.symbols(f"{name}_1:4", real=True) for name in ("h", "e"))
    return [
        (half, dt / 2),
        *((component, rate * half) for component, rate in zip(h, w, strict=True)),
        (y, sum(component * component for component in h)),
        *stumpff(count, y),
        *((entry, s1 * component) for entry, component in zip(e, h, strict=True)),
    ]


def split_time(dt: Any) -> Equations:
    """Split dt into `t`, which is constant under differentiation, and `late`, which is zero and
    changes with dt.

    exp(v dt) is exp(v t) followed by exp(v late). The second factor is written to the second order
    in `late`, which suffices for second derivatives. The derivative with respect to dt is then v
    itself, instead of a sum of large terms at large angles.
    """
    import sympy as sp

    t, late = sp.symbols("t late", real=True)
    return [(t, sp.Function("still")(dt)), (late, dt - t)]


def continue_turn(q: Sequence[Any], w: Sequence[Any]) -> list[Any]:
    """Return q ∘ exp(w late/2), to the second order in `late`."""
    import sympy as sp

    step = [rate * sp.Symbol("late", real=True) for rate in w]
    shorter = sum(component * component for component in step) / 8
    return [entry - shorter * x for entry, x in zip(compose_small_turn(q, step), q, strict=True)]


def turn_angle_by_series(turn: Sequence[Any], w: Any) -> Equations:
    """Return θ/sin θ, as the symbol `arc`, and Stumpff's functions of θ², of a rotation 2θ with
    quaternion (u, w).

    `arc` has the sign of w.
    """
    import sympy as sp

    angle, root, whole, first, arc, square = sp.symbols(
        "angle root whole first arc square", real=True
    )
    return [
        *turn_angle_equations(turn, w),
        (whole, angle / root),
        (first, whole * SCALE / 2),
        (arc, sp.Function("arc")(first, w)),
        (square, sp.Function("arc_square")(first, w)),
        *stumpff(4, square),
    ]
