"""Closed forms typed from textbooks, one set per joint type, and a slow second route to the bias:
Christoffel symbols.

Each oracle declares its own mechanism and gives M, c and g of one state in the textbook's letters.
The formulas use only + − * and the `sine`, `cosine` handed in, so they hold over floats and over
balls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Shift, Turn

Answer = tuple[list[list[Any]], list[Any], list[Any]]


@dataclass(frozen=True)
class ClosedForm:
    """`answer(constant, sine, cosine, q, v)` → M, c (gravity included), g of `mechanism`; `source`
    says where it is printed.
    """

    mechanism: Mechanism
    answer: Callable[..., Answer]
    source: str


def _moments(zz: str) -> tuple[Fraction, ...]:
    """A rod-like tensor that satisfies the triangle inequality; only zz is felt in the plane."""
    return (Fraction(zz) / 2, Fraction(0), Fraction(0), Fraction(zz), Fraction(0), Fraction(zz))


def _shift(x: str, y: str = "0", z: str = "0") -> tuple[Shift, ...]:
    return (Shift((Fraction(x), Fraction(y), Fraction(z))),)


GRAVITY = Fraction(981, 100)
DOWN_Y = (Fraction(0), -GRAVITY, Fraction(0))


def planar_2r() -> ClosedForm:
    """Two revolute joints about z, links along x, gravity along −y."""
    m1, m2, l1, lc1, lc2, i1, i2 = "2.5", "1.75", "0.6", "0.28", "0.31", "0.09", "0.045"
    mechanism = Mechanism(
        "planar_2r",
        (Joint("shoulder", "revolute", BASE), Joint("elbow", "revolute", 0, _shift(l1))),
        (
            Body("upper", (Part("upper", _shift(lc1), Fraction(m1), _moments(i1)),)),
            Body("fore", (Part("fore", _shift(lc2), Fraction(m2), _moments(i2)),)),
        ),
        (Frame("upper", 0), Frame("fore", 1), Frame("tip", 1, _shift("0.5"))),
        gravity=DOWN_Y,
    )

    def answer(constant: Any, sine: Any, cosine: Any, q: Any, v: Any) -> Answer:
        m_1, m_2, l_1, lc_1, lc_2, i_1, i_2, g = (
            constant(Fraction(x)) for x in (m1, m2, l1, lc1, lc2, i1, i2, GRAVITY)
        )
        d11 = (
            m_1 * lc_1 * lc_1
            + m_2 * (l_1 * l_1 + lc_2 * lc_2 + 2 * l_1 * lc_2 * cosine(q[1]))
            + i_1
            + i_2
        )
        d12 = m_2 * (lc_2 * lc_2 + l_1 * lc_2 * cosine(q[1])) + i_2
        d22 = m_2 * lc_2 * lc_2 + i_2
        h = -m_2 * l_1 * lc_2 * sine(q[1])
        phi1 = (m_1 * lc_1 + m_2 * l_1) * g * cosine(q[0]) + m_2 * lc_2 * g * cosine(q[0] + q[1])
        phi2 = m_2 * lc_2 * g * cosine(q[0] + q[1])
        c1 = h * v[1] * v[0] + (h * v[1] + h * v[0]) * v[1]
        c2 = -h * v[0] * v[0]
        return [[d11, d12], [d12, d22]], [c1 + phi1, c2 + phi2], [phi1, phi2]

    return ClosedForm(
        mechanism,
        answer,
        "Spong, Hutchinson & Vidyasagar, Robot Modeling and Control (2006), §7.4, (7.83)-(7.87)",
    )


def cart_pole() -> ClosedForm:
    """A cart along x with a pole that hangs along −y at angle 0, about z, gravity along −y; a
    prismatic and a revolute joint.

    The textbook's point mass is given a moment about its centre, which adds to the pole's diagonal
    entry only.
    """
    mc, mp, length, i = "3.2", "0.7", "0.45", "0.03"
    mechanism = Mechanism(
        "cart_pole",
        (Joint("rail", "prismatic", BASE, axis=X_AXIS), Joint("hinge", "continuous", 0)),
        (
            Body("cart", (Part("cart", (), Fraction(mc)),)),
            Body("pole", (Part("pole", _shift("0", "-" + length), Fraction(mp), _moments(i)),)),
        ),
        (Frame("cart", 0), Frame("pole", 1)),
        gravity=DOWN_Y,
    )

    def answer(constant: Any, sine: Any, cosine: Any, q: Any, v: Any) -> Answer:
        m_c, m_p, l_, i_, g = (constant(Fraction(x)) for x in (mc, mp, length, i, GRAVITY))
        s, c = sine(q[1]), cosine(q[1])
        mass = [[m_c + m_p, m_p * l_ * c], [m_p * l_ * c, m_p * l_ * l_ + i_]]
        gravity = [0 * s, m_p * g * l_ * s]
        return mass, [-m_p * l_ * s * v[1] * v[1], gravity[1]], gravity

    return ClosedForm(
        mechanism, answer, "Tedrake, Underactuated Robotics, chapter 3, the cart-pole's (15)-(16)"
    )


def polar() -> ClosedForm:
    """Craig's RP manipulator: a turn about z, then a slide along the turned x, gravity along −y."""
    m1, m2, l1, i1, i2 = "4.1", "1.3", "0.22", "0.06", "0.02"
    mechanism = Mechanism(
        "polar",
        (
            Joint("turn", "revolute", BASE),
            Joint("reach", "prismatic", 0, axis=(Fraction(3), Fraction(0), Fraction(0))),
        ),
        (
            Body("one", (Part("one", _shift(l1), Fraction(m1), _moments(i1)),)),
            Body("two", (Part("two", (), Fraction(m2), _moments(i2)),)),
        ),
        (Frame("one", 0), Frame("two", 1)),
        gravity=DOWN_Y,
    )

    def answer(constant: Any, sine: Any, cosine: Any, q: Any, v: Any) -> Answer:
        m_1, m_2, l_1, i_1, i_2, g = (constant(Fraction(x)) for x in (m1, m2, l1, i1, i2, GRAVITY))
        d2, zero = q[1], 0 * q[0]
        mass = [[m_1 * l_1 * l_1 + i_1 + i_2 + m_2 * d2 * d2, zero], [zero, m_2 + zero]]
        gravity = [(m_1 * l_1 + m_2 * d2) * g * cosine(q[0]), m_2 * g * sine(q[0])]
        velocity = [2 * m_2 * d2 * v[0] * v[1], -m_2 * d2 * v[0] * v[0]]
        return mass, [velocity[0] + gravity[0], velocity[1] + gravity[1]], gravity

    return ClosedForm(
        mechanism, answer, "Craig, Introduction to Robotics (3rd ed.), example 6.5, (6.85)-(6.89)"
    )


CLOSED_FORMS = {form.__name__: form for form in (planar_2r, cart_pole, polar)}


def christoffel_bias(
    reference: Reference, q: Array, v: Array, step: Fraction = Fraction(1, 10**50)
) -> Array:
    """c of one state (NV,) by the energy route, from M and the potential alone; `reference` works
    over balls.

    c_i = Σ_jk (∂M_ij/∂q_k − ½ ∂M_jk/∂q_i) v_j v_k + ∂V/∂q_i, each derivative a central difference:
    with step 1e-50 in 200 digits its error is of order 1e-100.
    """
    with reference.scalars.working():
        n, h = reference.mechanism.nv, reference.scalars.constant(step)
        derivative, gravity = [], []
        for k in range(n):
            up, down = q.copy(), q.copy()
            up[k], down[k] = q[k] + h, q[k] - h
            derivative.append((reference.mass_matrix(up) - reference.mass_matrix(down)) / (2 * h))
            gravity.append(
                (reference.potential_energy(up) - reference.potential_energy(down)) / (2 * h)
            )
        rate = sum(derivative[k] * v[k] for k in range(n))
        return (
            rate @ v - np.array([v @ derivative[i] @ v for i in range(n)]) / 2 + np.array(gravity)
        )


def random_tree(seed: int, n: int, *, branching: float = 0.3, generic: bool = True) -> Mechanism:
    """A random tree of `n` joints of every kind, one or two parts a body, axes and poses anywhere
    (`generic`) or square.

    Each tensor is Σ m (r²1 − r rᵀ) of six points, so that it belongs to a real body.
    """
    draw = np.random.default_rng(seed)

    def decimal(low: float, high: float) -> Fraction:
        return Fraction(round(float(draw.uniform(low, high)), 3)).limit_denominator(1000)

    def vector(size: float) -> tuple[Fraction, Fraction, Fraction]:
        return decimal(-size, size), decimal(-size, size), decimal(-size, size)

    def pose() -> tuple[Shift | Turn, ...]:
        quarter = [Angle(pi=Fraction(int(draw.integers(0, 4)), 2)) for _ in range(2)]
        if generic:
            quarter = [Angle(decimal(-3, 3)) for _ in range(2)]
        return Shift(vector(0.5)), Turn(Z_AXIS, quarter[0]), Turn(X_AXIS, quarter[1])

    def part(link: str) -> Part:
        points = [vector(0.1) for _ in range(6)]
        mass = decimal(0.2, 3)
        s = [
            [sum((p[i] * p[j] for p in points), Fraction(0)) * mass / 6 for j in range(3)]
            for i in range(3)
        ]
        moments = (
            s[1][1] + s[2][2],
            -s[0][1],
            -s[0][2],
            s[0][0] + s[2][2],
            -s[1][2],
            s[0][0] + s[1][1],
        )
        return Part(link, pose(), mass, moments)

    joints, bodies = [], []
    for i in range(n):
        parent = i - 1 if i == 0 or draw.random() > branching else int(draw.integers(-1, i))
        kind = ("revolute", "continuous", "prismatic")[int(draw.choice(3, p=[0.6, 0.2, 0.2]))]
        axis = vector(1) if generic else (X_AXIS, Y_AXIS, Z_AXIS)[int(draw.integers(3))]
        joints.append(Joint(f"joint{i}", kind, parent, pose(), axis))
        bodies.append(
            Body(f"link{i}", tuple(part(f"link{i}_{k}") for k in range(int(draw.integers(1, 3)))))
        )
    frames = (
        Frame("world", BASE, pose()),
        *(Frame(f"link{i}", i) for i in range(n)),
        Frame("tool", n - 1, pose()),
    )
    return Mechanism(
        f"random{seed}",
        tuple(joints),
        tuple(bodies),
        frames,
        gravity=(Fraction(1), Fraction(-2), Fraction(-9)),
    )
