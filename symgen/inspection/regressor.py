"""M, c, g and tau as linear functions of inertial parameters, at one state: exact over rationals, else over 120-digit balls.

Every link's inertia enters by the ten numbers of PARAMETERS: mass m (kg), first moment h = m c (kg·m) and moments of inertia J
(kg·m², tensor entries) about the origin of its chosen frame, in the axes of that frame. The wrench that a link needs for its
motion (ω, ω̇, acceleration of the origin, gravity included) is f = m a + ω̇ × h + ω × (ω × h), n = h × a + J ω̇ + ω × J ω. Joint
i then takes the share ξᵢᵀ (n, f), with ξᵢ the twist of that link for a unit rate of joint i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import sympy as sp

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import joint_form
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model import Inertia, Link, Model

PARAMETERS = ("J_xx", "J_xy", "J_xz", "J_yz", "J_zz", "h_x", "h_y", "h_z", "J_yy", "m")
"""Parameters of one link, in the order in which they are preferred as base parameters. Later ones are expressed by earlier
ones.
"""
STEPS = 2**20
"""How many values a coordinate is drawn from."""

Matter = tuple[Constant, Vec3, Mat3]
"""(m, h, J)."""
Twist = tuple[Vec3, Vec3]
Entry = tuple[int, ...]


@dataclass(frozen=True)
class State:
    """A joint's cosine, sine and coordinate are independent unknowns of a formula, each drawn for itself; v and a likewise."""

    turn: tuple[tuple[Constant, Constant], ...]
    q: tuple[Constant, ...]
    v: tuple[Constant, ...]
    a: tuple[Constant, ...]


def drawn(n: int, seed: str) -> State:
    """A rational state; each number is one of STEPS in [−2, 2], an angle by t = tan q/2."""
    random = Random(f"structure/{n}/{seed}")

    def number() -> Constant:
        return k.rational(Fraction(4 * random.randrange(STEPS) - 2 * STEPS, STEPS))

    def turn() -> tuple[Constant, Constant]:
        t = number()
        return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)

    return State(
        tuple(turn() for _ in range(n)), *(tuple(number() for _ in range(n)) for _ in range(3))
    )


def moved(state: State, other: State, joint: int) -> State:
    """`state` with one joint where `other` has it."""

    def put(a: tuple[Constant, ...], b: tuple[Constant, ...]) -> tuple[Constant, ...]:
        return (*a[:joint], b[joint], *a[joint + 1 :])

    return replace(state, turn=put(state.turn, other.turn), q=put(state.q, other.q))


def matter(inertia: Inertia) -> Matter:
    """The ten numbers of a link: J = tr(Σ)1 − Σ."""
    xx, xy, xz, yy, yz, zz = inertia.S
    J = [
        [k.settle(yy + zz), -xy, -xz],
        [-xy, k.settle(xx + zz), -yz],
        [-xz, -yz, k.settle(xx + yy)],
    ]
    return (
        inertia.m,
        inertia.h,
        ((J[0][0], J[0][1], J[0][2]), (J[1][0], J[1][1], J[1][2]), (J[2][0], J[2][1], J[2][2])),
    )


def ten(body: Matter) -> tuple[Constant, ...]:
    """In the order of PARAMETERS."""
    m, h, J = body
    return (J[0][0], J[0][1], J[0][2], J[1][2], J[2][2], *h, J[1][1], m)


def units() -> list[Matter]:
    """One parameter 1 and the others 0, in the order of PARAMETERS."""
    nothing: Mat3 = (k.ORIGIN, k.ORIGIN, k.ORIGIN)
    found: list[Matter] = []
    for name in PARAMETERS:
        stem, _, where = name.partition("_")
        at = ["xyz".index(axis) for axis in where]
        if stem == "J":
            rows = [
                [k.ONE if (r, c) in ((at[0], at[1]), (at[1], at[0])) else k.ZERO for c in range(3)]
                for r in range(3)
            ]
            found.append((k.ZERO, k.ORIGIN, tuple(tuple(row) for row in rows)))  # type: ignore[arg-type]
        else:
            found.append(
                (k.ZERO, k.IDENTITY[at[0]], nothing) if stem == "h" else (k.ONE, k.ORIGIN, nothing)
            )
    return found


def entries(model: Model, letter: str) -> list[Entry]:
    """(i, j), i ≤ j, of M, (i,) of a vector."""
    n = len(model.links)
    return (
        [(i, j) for i in range(n) for j in range(i, n)]
        if letter == "M"
        else [(i,) for i in range(n)]
    )


def asked(
    model: Model, letter: str, state: State, bodies: Sequence[Sequence[Matter]]
) -> dict[Entry, list[list[Constant]]]:
    """What M, c, g or tau holds for each of `bodies[b]` alone on link b: entry → link → body → number."""
    found = {entry: [[k.ZERO] * len(there) for there in bodies] for entry in entries(model, letter)}
    rates: list[dict[int, Twist]] = []
    motions: list[tuple[Vec3, Vec3, Vec3]] = []
    for b, link in enumerate(model.links):
        frame = _Crossing(link, state, b)
        at = {
            j: frame.to_child(*twist)
            for j, twist in (rates[link.parent].items() if link.parent >= 0 else ())
        }
        at[b] = (frame.turn, frame.slide)
        rates.append(at)
        motions.append(_motion(letter, link, frame, motions, state, b))
        for number, body in enumerate(bodies[b]):
            if letter == "M":
                for j in at:
                    n, f = _wrench(body, (k.ORIGIN, *at[j]))
                    for i in at:
                        if i <= j:
                            found[i, j][b][number] = k.settle(
                                k.dot(at[i][0], n) + k.dot(at[i][1], f)
                            )
            else:
                n, f = _wrench(body, motions[b])
                for i in at:
                    found[i,][b][number] = k.settle(k.dot(at[i][0], n) + k.dot(at[i][1], f))
    return found


class _Crossing:
    """From the parent's frame to a link's at a state: x_parent = rotation x_link + shift, and the joint's unit rate."""

    def __init__(self, link: Link, state: State, b: int) -> None:
        form = joint_form(link.kind)
        c, s = state.turn[b]
        declared = {form.parameters[name]: _number(value) for name, value in link.parameters}
        slid = _rational(form.shift.subs({form.q[0]: _number(state.q[b]), **declared}))
        H = _rational(form.motion_subspace.subs(declared))
        self.shift = k.add(link.shift, k.apply(link.rotation, (slid[0], slid[1], slid[2])))
        self.back = k.transpose(
            k.product(link.rotation, k.turn(k.IDENTITY[2], c, s)) if link.turns else link.rotation
        )
        self.turn, self.slide = (H[0], H[1], H[2]), (H[3], H[4], H[5])

    def to_child(self, w: Vec3, v: Vec3) -> Twist:
        return k.apply(self.back, w), k.apply(self.back, k.add(v, k.cross(w, self.shift)))


def _number(value: Constant) -> Any:
    return sp.Rational(int(value.p), int(value.q))


def _rational(column: Any) -> tuple[Constant, ...]:
    return tuple(k.rational(Fraction(int(x.p), int(x.q))) for x in column)


def _motion(
    letter: str,
    link: Link,
    frame: _Crossing,
    before: Sequence[tuple[Vec3, Vec3, Vec3]],
    state: State,
    b: int,
) -> tuple[Vec3, Vec3, Vec3]:
    """(ω, ω̇, acceleration of the origin less gravity) in the link's axes. For c, a is left out; for g, v as well."""
    v = state.v[b] if letter in ("c", "tau") else k.ZERO
    a = state.a[b] if letter == "tau" else k.ZERO
    w, dw, acc = (
        before[link.parent]
        if link.parent >= 0
        else (k.ORIGIN, k.ORIGIN, k.scale(-k.ONE, link.gravity))
    )
    here = k.add(acc, k.add(k.cross(dw, frame.shift), k.cross(w, k.cross(w, frame.shift))))
    carried, turning, sliding = (
        k.apply(frame.back, w),
        k.scale(v, frame.turn),
        k.scale(v, frame.slide),
    )
    spin = k.add(k.add(k.apply(frame.back, dw), k.scale(a, frame.turn)), k.cross(carried, turning))
    pull = k.add(
        k.add(k.apply(frame.back, here), k.scale(a, frame.slide)),
        k.cross(carried, k.scale(k.rational(2), sliding)),
    )
    return k.add(carried, turning), spin, pull


def _wrench(body: Matter, motion: tuple[Vec3, Vec3, Vec3]) -> tuple[Vec3, Vec3]:
    (m, h, J), (w, dw, acc) = body, motion
    f = k.add(k.scale(m, acc), k.add(k.cross(dw, h), k.cross(w, k.cross(w, h))))
    return k.add(k.cross(h, acc), k.add(k.apply(J, dw), k.cross(w, k.apply(J, w)))), f
