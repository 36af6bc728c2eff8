"""Declared poses as quaternion and shift, and as roll, pitch and yaw: exact while they stay rational, else balls of 500 digits.

A quaternion w, x, y, z may have any length, so that a quarter turn about an axis is 1, 1, 0, 0 and stays exact. So many digits
leave more than a hundred behind sums of numbers of any size that a description can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import flint
from flint import arb, fmpq

from symgen.description.snapping import HALF_PI, snapped
from symgen.description.writers._decimals import decimal
from symgen.vocabulary.poses import (
    X_AXIS,
    Y_AXIS,
    Z_AXIS,
    Angle,
    Pose,
    Rotate,
    Shift,
    Slide,
    Turn,
    Vector3,
)

WORKING_DIGITS = 500
_LONGEST_RATIONAL = 4000
"""Bits; beyond, a rational is carried on as a ball."""
_AS_PRINTED = Fraction(1, 10**50)
"""An angle of any size that is met, printed with 60 digits, is off by less (rad)."""
_MOST_TURNED = 100
"""rad; of a larger angle 60 digits are not those of what it turns."""
Constant = Any
"""fmpq or arb."""
Vec3 = tuple[Constant, Constant, Constant]
Vec4 = tuple[Constant, Constant, Constant, Constant]
Mat3 = tuple[Vec3, Vec3, Vec3]
P = ParamSpec("P")
T = TypeVar("T")


def precise(compute: Callable[P, T]) -> Callable[P, T]:
    """`compute` at the working digits."""

    @wraps(compute)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with flint.ctx.workdps(WORKING_DIGITS):
            return compute(*args, **kwargs)

    return run


@precise
def placed(pose: Pose) -> tuple[Vec4, Vec3]:
    """(the quaternion w, x, y, z of any length, the shift in m) of a pose."""
    turned: Vec4 = (fmpq(1), fmpq(0), fmpq(0), fmpq(0))
    shift: Vec3 = (fmpq(0), fmpq(0), fmpq(0))
    for step in pose:
        if isinstance(step, Shift | Slide):
            moved = rotated(turned, _offset(step))
            shift = (
                _short(shift[0] + moved[0]),
                _short(shift[1] + moved[1]),
                _short(shift[2] + moved[2]),
            )
        else:
            turned = _product(turned, _quaternion(step))
    return turned, shift


@precise
def roll_pitch_yaw(pose: Pose) -> tuple[str, str, str]:
    """Of R = Rz(yaw) Ry(pitch) Rx(roll), as texts in rad; as declared where the pose turns by such angles."""
    declared = _declared(pose)
    if declared is not None:
        roll, pitch, yaw = declared
        return _angle_text(roll), _angle_text(pitch), _angle_text(yaw)
    x, y, z = matrix(placed(pose)[0])
    across = _short(x[0] * x[0] + y[0] * y[0])
    if (
        not across
    ):  # pitch is a quarter turn: roll and yaw turn about one axis, and all of it is put into yaw
        return "0", decimal(_turned_by(-z[0], fmpq(0))), decimal(_turned_by(-x[1], y[1]))
    pitch = _turned_by(-z[0], arb(across).sqrt())
    return decimal(_turned_by(z[1], z[2])), decimal(pitch), decimal(_turned_by(y[0], x[0]))


def almost_right(token: str) -> bool:
    """Whether a reader would snap an angle that is not meant as k·pi/2: one that is, is printed with all its digits."""
    meant = snapped(token)
    return meant is not None and abs(Fraction(token) - 2 * meant.pi * HALF_PI) > _AS_PRINTED


def is_turned(turned: Vec4) -> bool:
    """Whether a quaternion turns anything."""
    return any(turned[1:])


@precise
def at_length_one(turned: Vec4) -> Vec4:
    """The same turn: as it is where all entries are rational, so that a right angle stays 1 1 0 0, else of length one."""
    if all(isinstance(entry, fmpq) for entry in turned):
        return turned
    length = arb(sum((entry * entry for entry in turned), fmpq(0))).sqrt()
    w, x, y, z = (_short(entry / length) for entry in turned)
    return w, x, y, z


@precise
def matrix(turned: Vec4) -> Mat3:
    """R (3, 3) = 1 + 2 (w u× + u× u×) / |q|²."""
    columns = [
        rotated(turned, axis)
        for axis in (
            (fmpq(1), fmpq(0), fmpq(0)),
            (fmpq(0), fmpq(1), fmpq(0)),
            (fmpq(0), fmpq(0), fmpq(1)),
        )
    ]
    (a, d, g), (b, e, h), (c, f, i) = columns
    return (a, b, c), (d, e, f), (g, h, i)


@precise
def rotated(turned: Vec4, v: Vec3) -> Vec3:
    """v + 2 (w u × v + u × (u × v)) / |q|²."""
    w, u = turned[0], (turned[1], turned[2], turned[3])
    if not any(u):
        return v
    double = 2 / sum((entry * entry for entry in turned), fmpq(0))
    once = _cross(u, v)
    twice = _cross(u, once)
    x, y, z = (_short(v[k] + double * (w * once[k] + twice[k])) for k in range(3))
    return x, y, z


def directed(turned: Vec4, axis: Vector3) -> Vec3:
    """A direction in the axes outside."""
    return rotated(turned, _vector(axis))


@precise
def turned_moments(turned: Vec4, moments: tuple[Fraction, ...]) -> tuple[Constant, ...]:
    """(Ixx, Ixy, Ixz, Iyy, Iyz, Izz) in the axes outside of a tensor that is turned: R I Rᵀ."""
    xx, xy, xz, yy, yz, zz = map(rational, moments)
    rows = matrix(turned)
    half = [
        [_dot(row, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))] for row in rows
    ]
    return tuple(
        _dot((half[i][0], half[i][1], half[i][2]), rows[j])
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )


def _declared(pose: Pose) -> tuple[Angle, Angle, Angle] | None:
    """Roll, pitch and yaw where all turns are about z, then y, then x, as URDF has them; else None."""
    angles = {Z_AXIS: Angle(), Y_AXIS: Angle(), X_AXIS: Angle()}
    waiting = list(angles)
    for step in pose:
        if isinstance(step, Shift | Slide):
            continue
        if (
            not isinstance(step, Turn)
            or step.axis not in waiting
            or abs(step.angle.radians) > _MOST_TURNED
        ):
            return None
        waiting = waiting[waiting.index(step.axis) + 1 :]
        angles[step.axis] = step.angle
    return angles[X_AXIS], angles[Y_AXIS], angles[Z_AXIS]


def _angle_text(angle: Angle) -> str:
    if not angle.pi:
        return decimal(angle.radians)
    turns = angle.pi + 2 * ((1 - angle.pi) // 2)  # in (-1, 1]: whole turns do nothing
    return decimal(arb(rational(angle.radians)) + rational(turns) * arb.pi())


def _turned_by(sine: Constant, cosine: Constant) -> Constant:
    """The angle in (−π, π] of which these are sine and cosine, or in the same ratio."""
    if not sine and cosine > 0:
        return fmpq(0)
    return arb.atan2(arb(sine), arb(cosine))


def _offset(step: Shift | Slide) -> Vec3:
    if isinstance(step, Shift):
        return _vector(step.xyz)
    x, y, z = _vector(step.axis)
    part = rational(step.distance) / _length(step.axis)
    return _short(part * x), _short(part * y), _short(part * z)


def _quaternion(step: Turn | Rotate) -> Vec4:
    if isinstance(step, Rotate):
        w, x, y, z = map(rational, step.quaternion)
        return w, x, y, z
    x, y, z = _vector(step.axis)
    quarters = step.angle.quarter_turns
    if quarters is not None:
        cosine, sine = (
            (fmpq(1), fmpq(0)),
            (fmpq(1), fmpq(1)),
            (fmpq(0), fmpq(1)),
            (fmpq(-1), fmpq(1)),
        )[quarters % 4]
    else:
        half = (arb(rational(step.angle.radians)) + rational(step.angle.pi) * arb.pi()) / 2
        cosine, sine = half.cos(), half.sin()
    return (
        _short(cosine * _length(step.axis)),
        _short(sine * x),
        _short(sine * y),
        _short(sine * z),
    )


def _product(a: Vec4, b: Vec4) -> Vec4:
    (p, *u), (q, *v) = a, b
    x, y, z = _cross((u[0], u[1], u[2]), (v[0], v[1], v[2]))
    return (
        _short(p * q - u[0] * v[0] - u[1] * v[1] - u[2] * v[2]),
        _short(p * v[0] + q * u[0] + x),
        _short(p * v[1] + q * u[1] + y),
        _short(p * v[2] + q * u[2] + z),
    )


def _length(axis: Vector3) -> Constant:
    """Exact where it is rational."""
    square = rational(sum((x * x for x in axis), Fraction(0)))
    above, below = square.p.isqrt(), square.q.isqrt()
    return (
        fmpq(above, below)
        if (above * above, below * below) == (square.p, square.q)
        else arb(square).sqrt()
    )


def _short(value: Constant) -> Constant:
    """The same; a ball that may be zero is, since so many digits tell all that a description can hold."""
    if isinstance(value, fmpq):
        return arb(value) if value.q.bit_length() > _LONGEST_RATIONAL else value
    return fmpq(0) if value.contains(0) else value


def rational(value: Fraction) -> Constant:
    """Exactly."""
    return fmpq(value.numerator, value.denominator)


def _vector(v: Vector3) -> Vec3:
    return rational(v[0]), rational(v[1]), rational(v[2])


def _cross(a: Vec3, b: Vec3) -> Vec3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _dot(a: Vec3, b: Vec3) -> Constant:
    return _short(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
