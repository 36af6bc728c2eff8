"""Constants of a description: exact rationals while possible, and balls of 120 digits after a
square root or a sine.

A `Constant` is an `fmpq` (exact) or an `arb` (midpoint and error radius, both from FLINT).
`normalize` decides zero and one by the radius, so the structure of a rotation is known before
anything is multiplied by it. Rounding happens once, in a backend; `to_fraction` converts a ball
with 64 digits. If 120 digits cannot tell a sum from zero, or leave fewer than 64, the whole
computation is repeated with twice as many digits (`with_enough_precision`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import flint
from flint import arb, fmpq

from symgen.ir.program import Numbers
from symgen.support.errors import MechanismError
from symgen.vocabulary.poses import Angle, Pose, Quaternion, Rotate, Shift, Slide, Turn, Vector3

Constant = Any
"""fmpq or arb; both carry + - * / among themselves."""
BALLS = Numbers(
    lambda x: arb(fmpq(x.numerator, x.denominator)),
    arb.sin,
    arb.cos,
    arb.sqrt,
    arb.log,
    lambda y, x: arb.atan2(y, x),
)
"""Numbers to evaluate a Program over, with the digits of the current precision block."""


class PrecisionLoss(MechanismError):
    """A constant is not known well enough to decide whether it is zero, or to be printed.

    `location` names the link or joint.
    """

    def __init__(self, fault: str, location: str = "") -> None:
        super().__init__(f"{location}: {fault}" if location else fault)
        self.fault, self.location = fault, location


ZERO, ONE = fmpq(0), fmpq(1)
_UNITS = ((ZERO, arb(0)), (ONE, arb(1)), (-ONE, arb(-1)))
WORKING_DIGITS = 120
DOUBLINGS = 4
KEPT_DIGITS = 64
_LONGEST_RATIONAL = (
    4000  # bits; beyond, a rational is carried on as a ball (a general rpy grows 98 digits a link)
)

Vec3 = tuple[Constant, Constant, Constant]
Mat3 = tuple[Vec3, Vec3, Vec3]
IDENTITY: Mat3 = ((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))
ORIGIN: Vec3 = (ZERO, ZERO, ZERO)


NEVER_REACHED = AssertionError("the last block of `rising_precisions` returns or raises")
_digits: ContextVar[int] = ContextVar("digits", default=WORKING_DIGITS)
T = TypeVar("T")


def digits() -> int:
    """Return the current working precision in digits: WORKING_DIGITS, or more inside
    `with_enough_precision`.
    """
    return _digits.get()


@contextmanager
def precision() -> Iterator[None]:
    """Use ball arithmetic of `digits()` digits inside the block; every computation with Constants
    needs such a block.
    """
    with flint.ctx.workdps(digits()):
        yield


def rising_precisions() -> Iterator[AbstractContextManager[None]]:
    """Yield precision blocks for a computation to return from.

    The first has the working precision, each further one twice the digits. A block in which a
    precision loss occurs ends without an error, so that the next one is tried; the last one raises
    PrecisionLoss.
    """
    for doublings in range(DOUBLINGS + 1):
        yield _with_digits(WORKING_DIGITS << doublings, last=doublings == DOUBLINGS)


@contextmanager
def _with_digits(count: int, last: bool) -> Iterator[None]:
    """Compute with `count` digits inside the block; PrecisionLoss ends the block silently unless it
    is the `last`.
    """
    previous = _digits.set(count)
    try:
        with precision():
            yield
    except PrecisionLoss:
        if last:
            raise
    finally:
        _digits.reset(previous)


def with_enough_precision(compute: Callable[[], T]) -> T:
    """Return `compute()` in the first precision that is sufficient (see `rising_precisions`)."""
    for block in rising_precisions():
        with block:
            return compute()
    raise NEVER_REACHED


@contextmanager
def locating_errors(location: str) -> Iterator[None]:
    """Add this location to a PrecisionLoss that is raised inside the block."""
    try:
        yield
    except PrecisionLoss as error:
        raise PrecisionLoss(error.fault, error.location or location) from None


def rational(value: Fraction | int) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def normalize(value: Constant) -> Constant:
    """Return the constant, as an exact 0, 1 or -1 if its ball contains that number.

    Raises PrecisionLoss if the ball is too wide to decide. Long rationals become balls.
    """
    if type(value) is fmpq:
        return arb(value) if value.q.bit_length() > _LONGEST_RATIONAL else value
    if not value.contains_integer():  # one test decides nearly all balls
        return value
    for exact, ball in _UNITS:
        if value.contains(ball):
            if value.rad() > arb(10) ** -50:
                raise PrecisionLoss(
                    f"numbers of the description differ so much in size that {digits()} digits"
                    " cannot tell a sum from zero; look for a misplaced exponent or unit"
                )
            return exact
    return value


def is_zero(value: Constant) -> bool:
    return isinstance(value, fmpq) and value == 0


def unit_value(value: Constant) -> int | None:
    """Return 0, 1 or -1 if a constant is exactly that, else None."""
    return int(value.p) if isinstance(value, fmpq) and value.q == 1 and abs(value.p) <= 1 else None


def identity_key(value: Constant) -> tuple[Any, ...]:
    """Return a key that differs for constants with different fractions, without computing the
    fraction.
    """
    if isinstance(value, fmpq):
        return int(value.p), int(value.q)
    return (*value.mid().man_exp(), *value.rad().man_exp()) if value.is_finite() else (str(value),)


_fractions: dict[tuple[Any, ...], Fraction] = {}
MOST_FRACTIONS = 50_000


def cached_fraction(key: tuple[Any, ...], value: Constant) -> Fraction:
    """Return `to_fraction` of a value with this `identity_key`; all derivations of a robot share
    the same constants.
    """
    fraction = _fractions.get(key)
    if fraction is None:
        if len(_fractions) >= MOST_FRACTIONS:
            _fractions.clear()
        fraction = _fractions[key] = to_fraction(value)
    return fraction


def same_numbers(a: Constant, b: Constant) -> bool:
    """True if two constants have the same `identity_key`."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    return bool(a == b) if type(a) is fmpq else identity_key(a) == identity_key(b)


def is_rational(value: Constant) -> bool:
    """True if the constant is exact."""
    return isinstance(value, fmpq)


def to_fraction(value: Constant) -> Fraction:
    """Return an exact rational as a Fraction, a ball rounded to KEPT_DIGITS decimal digits; equal
    numbers give equal fractions.

    Raises PrecisionLoss if a ball is less accurate than that.
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if value.rel_accuracy_bits() < KEPT_DIGITS * 3.33:
        raise PrecisionLoss(
            f"numbers of the description differ so much in size that {digits()} digits leave fewer"
            f" than {KEPT_DIGITS} of a constant; look for a misplaced exponent or unit"
        )
    return _decimal_fraction(value.str(KEPT_DIGITS, radius=False))


def _decimal_fraction(text: str) -> Fraction:
    """Return the Fraction of a decimal number as FLINT prints it; much faster than
    `Fraction(text)`.
    """
    mantissa, _, exponent = text.partition("e")
    before_point, _, after_point = mantissa.partition(".")
    digits, power = int(before_point + after_point), int(exponent or 0) - len(after_point)
    return Fraction(digits * 10**power) if power >= 0 else Fraction(digits, 10**-power)


def as_float(value: Constant) -> float:
    """Return the nearest float; MechanismError if the value exceeds the range of a double."""
    try:
        return float(to_fraction(value))
    except OverflowError:
        raise MechanismError(
            "lengths or masses of the description add up to more than any double holds; look for a"
            " misplaced exponent or unit"
        ) from None


def square_root(value: Constant) -> Constant:
    """Return √value; exact if the value is the square of a rational."""
    if isinstance(value, fmpq):
        p, q = value.p, value.q
        rp, rq = p.isqrt(), q.isqrt()
        if rp * rp == p and rq * rq == q:
            return fmpq(rp, rq)
    return arb(value).sqrt()


def logarithm(value: Constant) -> Constant:
    """Return ln value; MechanismError if the value is not positive."""
    if not value > 0:
        raise MechanismError(
            f"there is no logarithm of {as_float(value):.6g}: a pivot of the mass matrix is not"
            " positive; look for a negative mass or moment of inertia"
        )
    return normalize(arb(value).log())


def cosine_sine(angle: Angle) -> tuple[Constant, Constant]:
    """Return (cos, sin); exact at multiples of π/2."""
    quarter = angle.quarter_turns
    if quarter is not None:
        return ((ONE, ZERO), (ZERO, ONE), (-ONE, ZERO), (ZERO, -ONE))[quarter % 4]
    extra_digits = len(str(int(abs(angle.radians)))) + len(str(int(abs(angle.pi))))
    with flint.ctx.workdps(digits() + extra_digits):  # large angles need as many digits more
        value = arb(rational(angle.radians)) + rational(angle.pi) * arb.pi()
        cosine, sine = value.cos(), value.sin()
    return normalize(cosine), normalize(sine)


def add(a: Vec3, b: Vec3) -> Vec3:
    return (normalize(a[0] + b[0]), normalize(a[1] + b[1]), normalize(a[2] + b[2]))


def scale(k: Constant, a: Vec3) -> Vec3:
    return (normalize(k * a[0]), normalize(k * a[1]), normalize(k * a[2]))


def sub(a: Vec3, b: Vec3) -> Vec3:
    return add(a, scale(-ONE, b))


def dot(a: Vec3, b: Vec3) -> Constant:
    """Return a · b without the terms of ZERO itself: half of the entries of a chain's rotations
    are.
    """
    a0, a1, a2 = a
    b0, b1, b2 = b
    total = None if a0 is ZERO or b0 is ZERO else a0 * b0
    if not (a1 is ZERO or b1 is ZERO):
        total = a1 * b1 if total is None else total + a1 * b1
    if not (a2 is ZERO or b2 is ZERO):
        total = a2 * b2 if total is None else total + a2 * b2
    return ZERO if total is None else normalize(total)


def cross(a: Vec3, b: Vec3) -> Vec3:
    return (
        normalize(a[1] * b[2] - a[2] * b[1]),
        normalize(a[2] * b[0] - a[0] * b[2]),
        normalize(a[0] * b[1] - a[1] * b[0]),
    )


def unit(a: Vec3) -> Vec3:
    """Return a / |a|; exact for a direction along an axis or with a rational length."""
    length = square_root(dot(a, a))
    return (normalize(a[0] / length), normalize(a[1] / length), normalize(a[2] / length))


def transpose(m: Mat3) -> Mat3:
    return ((m[0][0], m[1][0], m[2][0]), (m[0][1], m[1][1], m[2][1]), (m[0][2], m[1][2], m[2][2]))


def apply(m: Mat3, v: Vec3) -> Vec3:
    return (dot(m[0], v), dot(m[1], v), dot(m[2], v))


def product(a: Mat3, b: Mat3) -> Mat3:
    t = transpose(b)
    return (
        (dot(a[0], t[0]), dot(a[0], t[1]), dot(a[0], t[2])),
        (dot(a[1], t[0]), dot(a[1], t[1]), dot(a[1], t[2])),
        (dot(a[2], t[0]), dot(a[2], t[1]), dot(a[2], t[2])),
    )


def columns(x: Vec3, y: Vec3, z: Vec3) -> Mat3:
    return transpose((x, y, z))


def vector(v: Vector3) -> Vec3:
    return (rational(v[0]), rational(v[1]), rational(v[2]))


def rotation_about(axis: Vec3, cosine: Constant, sine: Constant) -> Mat3:
    """Return Rodrigues' rotation about the unit vector `axis`."""
    x, y, z = axis
    if unit_value(x) is not None and unit_value(y) is not None and unit_value(z) is not None:
        return _rotation_about_coordinate(axis, normalize(cosine), normalize(sine))
    k = normalize(1 - cosine)
    return (
        (
            normalize(cosine + k * x * x),
            normalize(k * x * y - sine * z),
            normalize(k * x * z + sine * y),
        ),
        (
            normalize(k * x * y + sine * z),
            normalize(cosine + k * y * y),
            normalize(k * y * z - sine * x),
        ),
        (
            normalize(k * x * z - sine * y),
            normalize(k * y * z + sine * x),
            normalize(cosine + k * z * z),
        ),
    )


def _rotation_about_coordinate(axis: Vec3, cosine: Constant, sine: Constant) -> Mat3:
    """Return the rotation about a coordinate axis or its opposite."""
    index = next(i for i in range(3) if not is_zero(axis[i]))
    second, third = (index + 1) % 3, (index + 2) % 3
    rows = [[ZERO] * 3 for _ in range(3)]
    rows[index][index] = ONE
    rows[second][second] = rows[third][third] = cosine
    rows[third][second] = sine if axis[index] == 1 else normalize(-sine)
    rows[second][third] = normalize(-sine) if axis[index] == 1 else sine
    first, middle, last = rows
    return (
        (first[0], first[1], first[2]),
        (middle[0], middle[1], middle[2]),
        (last[0], last[1], last[2]),
    )


def quaternion_rotation(quaternion: Quaternion) -> Mat3:
    """Return 1 + 2 (w u× + u× u×) / (w² + u·u), u = (x, y, z); it needs no square root for a
    quaternion of any length.
    """
    w, x, y, z = quaternion
    two = 2 / (w * w + x * x + y * y + z * z)
    return (
        vector((1 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y))),
        vector((two * (x * y + w * z), 1 - two * (x * x + z * z), two * (y * z - w * x))),
        vector((two * (x * z - w * y), two * (y * z + w * x), 1 - two * (x * x + y * y))),
    )


@lru_cache(maxsize=64)
def _direction(axis: Vector3, digits: int, bits: int) -> Vec3:
    """Return the unit vector of a declared axis at the working precision that `digits` and `bits`
    name.
    """
    return unit(vector(axis))


def displacement(pose: Pose) -> tuple[Mat3, Vec3]:
    """Return (R, r) of a declared pose: x_outer = R x_inner + r."""
    return _displaced(pose, digits(), flint.ctx.prec)


@lru_cache(maxsize=1 << 10)
def _displaced(pose: Pose, digits: int, bits: int) -> tuple[Mat3, Vec3]:
    """Return the displacement at the working precision that `digits` and `bits` name; cached, since
    links of a chain are often equal.
    """
    rotation, shift = IDENTITY, ORIGIN
    for step in pose:
        if isinstance(step, Shift):
            shift = add(shift, _rotate(rotation, vector(step.xyz)))
        elif isinstance(step, Slide):
            direction = _direction(step.axis, digits, bits)
            shift = add(shift, _rotate(rotation, scale(rational(step.distance), direction)))
        elif isinstance(step, Turn):
            step_rotation = rotation_about(
                _direction(step.axis, digits, bits), *cosine_sine(step.angle)
            )
            rotation = step_rotation if rotation is IDENTITY else product(rotation, step_rotation)
        elif isinstance(step, Rotate):
            rotation = product(rotation, quaternion_rotation(step.quaternion))
    return rotation, shift


def _rotate(rotation: Mat3, v: Vec3) -> Vec3:
    return v if rotation is IDENTITY else apply(rotation, v)


def angle_of(cosine: Constant, sine: Constant) -> Constant:
    """Return the angle in (−π, π] with this cosine and sine."""
    return arb.atan2(arb(sine), arb(cosine))


CosineSine = tuple[Constant, Constant]
"""(cos, sin) of an angle."""


def zxz(r: Mat3) -> tuple[CosineSine, CosineSine, CosineSine]:
    """Return (cos, sin) of γ, α, β with r = Rz(γ) Rx(α) Rz(β); γ = 0 wherever possible."""
    sine = square_root(normalize(r[2][0] * r[2][0] + r[2][1] * r[2][1]))
    if is_zero(normalize(sine)):
        flip = r[2][2]
        return (ONE, ZERO), (flip, ZERO), (r[0][0], normalize(flip * r[1][0]))
    gamma = (normalize(-r[1][2] / sine), normalize(r[0][2] / sine))
    beta = (normalize(r[2][1] / sine), normalize(r[2][0] / sine))
    if is_zero(gamma[1]) and gamma[0] == -1:
        return (ONE, ZERO), (r[2][2], normalize(-sine)), (normalize(-beta[0]), normalize(-beta[1]))
    return gamma, (r[2][2], normalize(sine)), beta
