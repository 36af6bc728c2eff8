"""What each joint feels of its own link alone: a bound from below of its pivot of M, which takes no look at other links.

The pivot of a joint is what it feels once every joint behind it is free, D = hᵀ P h + A. With I of its own link, P − I is what
its children make it meet, which is never negative where no link's inertia is. So D is at least hᵀ I h + A, whatever hangs on it
and in every state, and M has an inverse where that is more than nothing at every joint. Of a joint of several degrees of freedom
it is the pivots of Hᵀ I H + A, since an elimination of more leaves more (Horn and Johnson, Matrix Analysis, 7.7).

The same holds of a few links together, with all others gone: a joint that moves a link without mass feels what its child is.

All is rational, but for axes turned by an angle. Of moments in such axes the least is taken, which is at least
4 det / tr²: det = λ₁λ₂λ₃ with λ₂λ₃ at most (tr/2)². A centre behind a turn is not looked for, nor is its part then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from flint import arb, fmpq

from symgen.mechanism.joints import Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.vocabulary.poses import Pose, Shift, Slide, Vector3

Exact = Any
"""An fmpq."""
Three = tuple[Exact, Exact, Exact]
Twist = tuple[Three, Three]
"""Angular and linear part of a degree of freedom; those of a joint with an axis are times the length of what is declared."""
_ZERO, _ONE = fmpq(0), fmpq(1)
_STILL: Three = (_ZERO, _ZERO, _ZERO)
_UNITS: tuple[Three, ...] = ((_ONE, _ZERO, _ZERO), (_ZERO, _ONE, _ZERO), (_ZERO, _ZERO, _ONE))
FARTHEST = 13
"""No state is drawn with a coordinate beyond it (rad, m): four times the usual range of an angle."""


def least(joint: Joint, body: Body) -> list[Exact]:
    """For each degree of freedom of the joint, from its last to its first, what it feels at least (kg m², kg)."""
    twists, square = _twists(joint)
    met = [[_ZERO] * len(twists) for _ in twists]
    for part in body.parts:
        centre, turned = _centre(part.pose)
        if centre is None:
            continue
        mass, moments = _exact(part.mass), tuple(map(_exact, part.moments))
        if turned:
            one = _least(moments)
            moments = (one, _ZERO, _ZERO, one, _ZERO, one)
        xx, xy, xz, yy, yz, zz = moments
        for i, (w, v) in enumerate(twists):
            x, y, z = _moved(w, v, centre)
            a, b, c = w
            spun = (xx * a + xy * b + xz * c, xy * a + yy * b + yz * c, xz * a + yz * b + zz * c)
            for j, (w_j, v_j) in enumerate(twists[: i + 1]):
                other = _moved(w_j, v_j, centre)
                met[i][j] += mass * (x * other[0] + y * other[1] + z * other[2]) + _dot(spun, w_j)
    for i in range(len(twists)):
        for j in range(i + 1):
            met[i][j] = met[j][i] = met[i][j] / square
        met[i][i] += _exact(joint.drive.armature)
    found = []
    for k in reversed(range(len(twists))):
        pivot = met[k][k]
        found.append(pivot)
        if not pivot > 0:
            return [*found, *[_ZERO] * k]
        for i in range(k):
            for j in range(k):
                met[i][j] -= met[i][k] * met[k][j] / pivot
    return found


def _twists(joint: Joint) -> tuple[list[Twist], Exact]:
    """Of each degree of freedom, in the body's axes; and what their products are to be divided by."""
    kind = joint.type
    if kind.along is not None:
        return [
            (_UNITS[along], _STILL) if velocity.unit == "rad" else (_STILL, _UNITS[along])
            for along, velocity in zip(kind.along, kind.velocities, strict=True)
        ], _ONE
    found: list[Twist] = [(_STILL, _STILL) for _ in range(kind.nv)]
    x, y, z = axis = _vector(joint.axis)
    for step in joint.about_axis:
        (w, v), rate = found[step.of], _exact(step.rate)
        more = (rate * x, rate * y, rate * z)
        found[step.of] = (w, _sum(v, more)) if isinstance(step, Sliding) else (_sum(w, more), v)
    return found, _dot(axis, axis)


def _centre(pose: Pose) -> tuple[Three | None, bool]:
    """Where a part's centre is, or None where that takes more than a sum; and whether its axes are turned."""
    shift, turned = _STILL, False
    for step in pose:
        if isinstance(step, Slide) or (turned and isinstance(step, Shift)):
            return None, turned
        if isinstance(step, Shift):
            shift = _sum(shift, _vector(step.xyz))
        else:
            turned = True
    return shift, turned


def _least(moments: Sequence[Exact]) -> Exact:
    """No principal moment is smaller."""
    xx, _, _, yy, _, zz = moments
    trace = xx + yy + zz
    return 4 * _determinant(moments) / (trace * trace) if trace else _ZERO


def _determinant(m: Sequence[Exact]) -> Exact:
    xx, xy, xz, yy, yz, zz = m
    return xx * (yy * zz - yz * yz) - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy)


def _physical(part: Part) -> bool:
    """Whether its moments are those of an inertia, so that adding it takes nothing away."""
    xx, xy, xz, yy, yz, zz = moments = tuple(map(_exact, part.moments))
    if part.mass < 0 or xx < 0 or yy < 0 or zz < 0:
        return False
    return not (xy or xz or yz) or (
        xx * yy >= xy * xy
        and xx * zz >= xz * xz
        and yy * zz >= yz * yz
        and _determinant(moments) >= 0
    )


class Load(NamedTuple):
    """Bounds from above of all that a body carries: mass, the sum of all moments, and how far from its origin a centre can be."""

    mass: Any
    moments: Any
    reach: Any


def most(mechanism: Mechanism, payload: str | None) -> list[Any]:
    """Of each joint, a bound from above of M's diagonal entries: what it feels with all other joints held, in any state drawn."""
    loads = [Load(arb(0), arb(0), arb(0)) for _ in mechanism.bodies]
    if payload is not None and (at := mechanism.frame(payload)).body != BASE:
        loads[at.body] = Load(arb(4), arb(4), _length(at.pose) + 1)  # no more is drawn
    found = []
    for i in reversed(range(len(loads))):
        joint, load = mechanism.joints[i], loads[i]
        for part in mechanism.bodies[i].parts:
            xx, _, _, yy, _, zz = part.moments
            load = _both(load, Load(_ball(part.mass), _ball(xx + yy + zz), _length(part.pose)))
        slides = sum(
            (
                step.axes if isinstance(step, Placing) else abs(step.rate)
                for step in joint.motions
                if isinstance(step, Placing | Sliding)
            ),
            Fraction(0),
        )
        turning = 1 + sum(
            (abs(step.rate) for step in joint.about_axis if isinstance(step, Turning)), Fraction(0)
        )
        far = load.reach * _ball(turning) + _ball(1 + slides)
        found.append(
            load.mass * far * far
            + load.moments * _ball(turning * turning)
            + _ball(joint.drive.armature)
        )
        if joint.parent != BASE:
            out = load.reach + _length(joint.pose) + FARTHEST * _ball(slides)
            loads[joint.parent] = _both(loads[joint.parent], Load(load.mass, load.moments, out))
    return found[::-1]


def _both(a: Load, b: Load) -> Load:
    return Load(a.mass + b.mass, a.moments + b.moments, a.reach.max(b.reach))


def _length(pose: Pose) -> Any:
    return _ball(
        sum(
            (
                sum(map(abs, step.xyz), Fraction(0))
                if isinstance(step, Shift)
                else abs(step.distance)
                for step in pose
                if isinstance(step, Shift | Slide)
            ),
            Fraction(0),
        )
    )


def _exact(value: Fraction) -> Exact:
    return fmpq(value.numerator, value.denominator)


def _vector(xyz: Vector3) -> Three:
    x, y, z = xyz
    return _exact(x), _exact(y), _exact(z)


def _ball(value: Fraction | int) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def physical(mechanism: Mechanism) -> bool:
    """Whether no link has an inertia that nothing has: then more links never mean a smaller pivot."""
    return all(_physical(part) for body in mechanism.bodies for part in body.parts)


def together(mechanism: Mechanism, unsure: Sequence[int]) -> Iterator[tuple[Mechanism, list[int]]]:
    """For bodies that do not feel enough alone, those that hang together as a mechanism on the base, each with its children; and
    which body of the whole each is. Where nothing feels enough that is the whole itself.
    """
    open_, seen = set(unsure), set[int]()
    for root in sorted(open_):
        if root in seen:
            continue
        own, waiting = [], [root]
        while waiting:
            body = waiting.pop()
            own.append(body)
            if body in open_:
                seen.add(body)
                waiting += mechanism.children(body)
        own.sort()
        place = {body: k for k, body in enumerate(own)}
        joints = tuple(
            replace(
                mechanism.joints[body],
                mimic=None,
                parent=place.get(mechanism.joints[body].parent, BASE),
            )
            for body in own
        )
        yield Mechanism(mechanism.name, joints, tuple(mechanism.bodies[body] for body in own)), own


def _moved(w: Three, v: Three, centre: Three) -> Three:
    """v + w × centre."""
    (a, b, c), (x, y, z) = w, centre
    return v[0] + b * z - c * y, v[1] + c * x - a * z, v[2] + a * y - b * x


def _sum(a: Three, b: Three) -> Three:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _dot(a: Three, b: Three) -> Exact:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
