"""Declared poses as quaternion and translation, and as roll, pitch and yaw: exact while rational,
else balls of 500 digits.

A quaternion w, x, y, z may have any length, so that a quarter turn about an axis is 1, 1, 0, 0 and
stays exact. 500 digits hold the sum of the largest and the smallest number that a description
may have, and more than a hundred digits remain.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import flint
from flint import arb, fmpq

from symgen.description.snapping import HALF_PI, snap_token
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
"""Longest denominator of a rational number in bits; a number with a longer one becomes a ball."""
_AS_PRINTED = Fraction(1, 10**50)
"""Bound of the error of an angle that is printed with 60 digits (rad)."""
_MOST_TURNED = 100
"""Angle in rad above which 60 digits do not determine the rotation to 60 digits."""
Constant = Any
"""An fmpq or an arb."""
Vec3 = tuple[Constant, Constant, Constant]
Vec4 = tuple[Constant, Constant, Constant, Constant]
Mat3 = tuple[Vec3, Vec3, Vec3]
P = ParamSpec("P")
T = TypeVar("T")


def precise(compute: Callable[P, T]) -> Callable[P, T]:
    """Return `compute` with the working precision."""

    @wraps(compute)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with flint.ctx.workdps(WORKING_DIGITS):
            return compute(*args, **kwargs)

    return run


@precise
def quaternion_and_shift(pose: Pose) -> tuple[Vec4, Vec3]:
    """Return (quaternion w, x, y, z of any length, translation in m) of a pose."""
    rotation: Vec4 = (fmpq(1), fmpq(0), fmpq(0), fmpq(0))
    shift: Vec3 = (fmpq(0), fmpq(0), fmpq(0))
    for step in pose:
        if isinstance(step, Shift | Slide):
            offset = rotate(rotation, _offset(step))
            shift = (
                _short(shift[0] + offset[0]),
                _short(shift[1] + offset[1]),
                _short(shift[2] + offset[2]),
            )
        else:
            rotation = _product(rotation, _quaternion(step))
    return rotation, shift


@precise
def roll_pitch_yaw(pose: Pose) -> tuple[str, str, str]:
    """Return the angles of R = Rz(yaw) Ry(pitch) Rx(roll) in rad as texts; as declared if the pose
    is such a product.
    """
    declared = _declared_angles(pose)
    if declared is not None:
        roll, pitch, yaw = declared
        return _angle_text(roll), _angle_text(pitch), _angle_text(yaw)
    x, y, z = matrix(quaternion_and_shift(pose)[0])
    across = _short(x[0] * x[0] + y[0] * y[0])
    if not across:  # pitch is a quarter turn, so that roll and yaw share an axis: roll is set to 0
        return "0", decimal(_angle_of(-z[0], fmpq(0))), decimal(_angle_of(-x[1], y[1]))
    pitch = _angle_of(-z[0], arb(across).sqrt())
    return decimal(_angle_of(z[1], z[2])), decimal(pitch), decimal(_angle_of(y[0], x[0]))


def is_almost_right_angle(token: str) -> bool:
    """True if a reader would snap an angle that is not k·pi/2. A multiple of pi/2 is printed with
    all its digits.
    """
    meant = snap_token(token)
    return meant is not None and abs(Fraction(token) - 2 * meant.pi * HALF_PI) > _AS_PRINTED


def is_rotated(quaternion: Vec4) -> bool:
    """True if the rotation of a quaternion is not the identity."""
    return any(quaternion[1:])


@precise
def normalised(quaternion: Vec4) -> Vec4:
    """Return the same rotation: unchanged if all entries are rational, so that a right angle stays
    1 1 0 0, else normalised.
    """
    if all(isinstance(entry, fmpq) for entry in quaternion):
        return quaternion
    length = arb(sum((entry * entry for entry in quaternion), fmpq(0))).sqrt()
    w, x, y, z = (_short(entry / length) for entry in quaternion)
    return w, x, y, z


@precise
def matrix(quaternion: Vec4) -> Mat3:
    """Return R (3, 3) = 1 + 2 (w u× + u× u×) / |q|²."""
    columns = [
        rotate(quaternion, axis)
        for axis in (
            (fmpq(1), fmpq(0), fmpq(0)),
            (fmpq(0), fmpq(1), fmpq(0)),
            (fmpq(0), fmpq(0), fmpq(1)),
        )
    ]
    (a, d, g), (b, e, h), (c, f, i) = columns
    return (a, b, c), (d, e, f), (g, h, i)


@precise
def rotate(quaternion: Vec4, v: Vec3) -> Vec3:
    """Return v + 2 (w u × v + u × (u × v)) / |q|²."""
    w, u = quaternion[0], (quaternion[1], quaternion[2], quaternion[3])
    if not any(u):
        return v
    double = 2 / sum((entry * entry for entry in quaternion), fmpq(0))
    once = _cross(u, v)
    twice = _cross(u, once)
    x, y, z = (_short(v[k] + double * (w * once[k] + twice[k])) for k in range(3))
    return x, y, z


def rotate_direction(quaternion: Vec4, axis: Vector3) -> Vec3:
    """Return a direction after the rotation."""
    return rotate(quaternion, _vector(axis))


@precise
def rotate_moments(quaternion: Vec4, moments: tuple[Fraction, ...]) -> tuple[Constant, ...]:
    """Return (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of the rotated tensor R I Rᵀ."""
    xx, xy, xz, yy, yz, zz = map(rational, moments)
    rows = matrix(quaternion)
    half = [
        [_dot(row, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))] for row in rows
    ]
    return tuple(
        _dot((half[i][0], half[i][1], half[i][2]), rows[j])
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )


def _declared_angles(pose: Pose) -> tuple[Angle, Angle, Angle] | None:
    """Return roll, pitch and yaw if all rotations are about z, then y, then x, as in URDF; else
    None.
    """
    angles = {Z_AXIS: Angle(), Y_AXIS: Angle(), X_AXIS: Angle()}
    allowed = list(angles)
    for step in pose:
        if isinstance(step, Shift | Slide):
            continue
        if (
            not isinstance(step, Turn)
            or step.axis not in allowed
            or abs(step.angle.radians) > _MOST_TURNED
        ):
            return None
        allowed = allowed[allowed.index(step.axis) + 1 :]
        angles[step.axis] = step.angle
    return angles[X_AXIS], angles[Y_AXIS], angles[Z_AXIS]


def _angle_text(angle: Angle) -> str:
    if not angle.pi:
        return decimal(angle.radians)
    half_turns = angle.pi + 2 * ((1 - angle.pi) // 2)  # in (-1, 1]: whole turns have no effect
    return decimal(arb(rational(angle.radians)) + rational(half_turns) * arb.pi())


def _angle_of(sine: Constant, cosine: Constant) -> Constant:
    """Return the angle in (−π, π] from its sine and cosine, or multiples of them."""
    if not sine and cosine > 0:
        return fmpq(0)
    return arb.atan2(arb(sine), arb(cosine))


def _offset(step: Shift | Slide) -> Vec3:
    if isinstance(step, Shift):
        return _vector(step.xyz)
    x, y, z = _vector(step.axis)
    factor = rational(step.distance) / _length(step.axis)
    return _short(factor * x), _short(factor * y), _short(factor * z)


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
    """Return the length of a vector, exact if it is rational."""
    square = rational(sum((x * x for x in axis), Fraction(0)))
    numerator, denominator = square.p.isqrt(), square.q.isqrt()
    return (
        fmpq(numerator, denominator)
        if (numerator * numerator, denominator * denominator) == (square.p, square.q)
        else arb(square).sqrt()
    )


def _short(value: Constant) -> Constant:
    """Return a ball for a rational number with a long denominator, and zero for a ball that
    contains zero, since the precision resolves all numbers of a description.
    """
    if isinstance(value, fmpq):
        return arb(value) if value.q.bit_length() > _LONGEST_RATIONAL else value
    return fmpq(0) if value.contains(0) else value


def rational(value: Fraction) -> Constant:
    """Return the number as an exact fmpq."""
    return fmpq(value.numerator, value.denominator)


def _vector(v: Vector3) -> Vec3:
    return rational(v[0]), rational(v[1]), rational(v[2])


def _cross(a: Vec3, b: Vec3) -> Vec3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _dot(a: Vec3, b: Vec3) -> Constant:
    return _short(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
