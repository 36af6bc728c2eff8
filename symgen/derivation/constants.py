"""Numbers of a description, exact enough: rationals while they stay rational, balls of 120 digits behind a square root or a sine.

A `Constant` is an `fmpq` (exact) or an `arb` (midpoint and error radius, both from FLINT). Zero and one are decided
by the radius (`settle`), so the structure of a rotation is known before anything is multiplied by it. Rounding
happens once, in a backend; `to_fraction` hands a ball over with 64 digits. Where 120 digits do not tell a sum from zero,
or leave fewer than 64, the whole computation is done again with twice as many (`sharpened`).
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
"""To evaluate a Program over, as many digits as the block has that it happens in."""


class LostDigits(MechanismError):
    """A constant is not known well enough to decide whether it is zero, or to be printed; `place` says where it was met."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(f"{place}: {what}" if place else what)
        self.what, self.place = what, place


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


NEVER_REACHED = AssertionError("the last block of `sharpening` returns or raises")
_digits: ContextVar[int] = ContextVar("digits", default=WORKING_DIGITS)
T = TypeVar("T")


def digits() -> int:
    """The digits that Constants are computed with here: WORKING_DIGITS, or more inside `sharpened`."""
    return _digits.get()


@contextmanager
def precision() -> Iterator[None]:
    """Ball arithmetic at `digits()` inside the block; every computation with Constants happens in one."""
    with flint.ctx.workdps(digits()):
        yield


def sharpening() -> Iterator[AbstractContextManager[None]]:
    """Yield blocks of growing precision for a computation to return from.

    The first has the working precision, each further one twice the digits. A block whose constants lose their digits ends
    without an error, so that the next one is tried; the last raises LostDigits.
    """
    for doublings in range(DOUBLINGS + 1):
        yield _with_digits(WORKING_DIGITS << doublings, last=doublings == DOUBLINGS)


@contextmanager
def _with_digits(count: int, last: bool) -> Iterator[None]:
    """Compute with `count` digits inside the block; LostDigits ends the block quietly unless it is the `last`."""
    before = _digits.set(count)
    try:
        with precision():
            yield
    except LostDigits:
        if last:
            raise
    finally:
        _digits.reset(before)


def sharpened(compute: Callable[[], T]) -> T:
    """Return `compute()` in the first precision that is enough (see `sharpening`)."""
    for sharp_enough in sharpening():
        with sharp_enough:
            return compute()
    raise NEVER_REACHED


@contextmanager
def speaking_of(place: str) -> Iterator[None]:
    """A constant that loses its digits inside the block is said to have done so there."""
    try:
        yield
    except LostDigits as lost:
        raise LostDigits(lost.what, lost.place or place) from None


def rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def settle(value: Constant) -> Constant:
    """The same constant, as an exact 0, 1 or -1 when its ball says so; raises when a ball has lost its digits."""
    if type(value) is fmpq:
        return arb(value) if value.q.bit_length() > _LONGEST_RATIONAL else value
    if not value.contains_integer():  # of nearly all balls one question tells what three would
        return value
    for exact, ball in _UNITS:
        if value.contains(ball):
            if value.rad() > arb(10) ** -50:
                raise LostDigits(
                    f"numbers of the description differ so much in size that {digits()} digits cannot tell a sum from "
                    "zero; look for a misplaced exponent or unit"
                )
            return exact
    return value


def is_zero(value: Constant) -> bool:
    return isinstance(value, fmpq) and value == 0


def whole(value: Constant) -> int | None:
    """0, 1 or -1 where a constant is exactly that, else None."""
    return int(value.p) if isinstance(value, fmpq) and value.q == 1 and abs(value.p) <= 1 else None


def told_by(value: Constant) -> tuple[Any, ...]:
    """What tells constants apart that `to_fraction` gives different fractions of, without making the fraction."""
    if isinstance(value, fmpq):
        return int(value.p), int(value.q)
    return (*value.mid().man_exp(), *value.rad().man_exp()) if value.is_finite() else (str(value),)


_fractions: dict[tuple[Any, ...], Fraction] = {}
MOST_FRACTIONS = 50_000


def fraction_told_by(key: tuple[Any, ...], value: Constant) -> Fraction:
    """`to_fraction` of a value that `key` tells from others: the same constants stand in all derivations of a robot."""
    found = _fractions.get(key)
    if found is None:
        if len(_fractions) >= MOST_FRACTIONS:
            _fractions.clear()
        found = _fractions[key] = to_fraction(value)
    return found


def alike(a: Constant, b: Constant) -> bool:
    """Tell whether two constants are told by the same numbers (`told_by`)."""
    return a is b or (type(a) is type(b) and told_by(a) == told_by(b))


def is_rational(value: Constant) -> bool:
    """Whether it is known exactly."""
    return isinstance(value, fmpq)


def to_fraction(value: Constant) -> Fraction:
    """Exact for a rational; a ball is rounded to KEPT_DIGITS decimal digits, so equal numbers give equal fractions.

    Raises LostDigits for a ball that does not know so many digits.
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if value.rel_accuracy_bits() < KEPT_DIGITS * 3.33:
        raise LostDigits(
            f"numbers of the description differ so much in size that {digits()} digits leave fewer than {KEPT_DIGITS} of a "
            "constant; look for a misplaced exponent or unit"
        )
    return _decimal_fraction(value.str(KEPT_DIGITS, radius=False))


def _decimal_fraction(text: str) -> Fraction:
    """Return the Fraction of a decimal number as FLINT prints it, in a fraction of the time that `Fraction(text)` takes."""
    mantissa, _, exponent = text.partition("e")
    before, _, behind = mantissa.partition(".")
    digits, power = int(before + behind), int(exponent or 0) - len(behind)
    return Fraction(digits * 10**power) if power >= 0 else Fraction(digits, 10**-power)


def as_float(value: Constant) -> float:
    """To nearest; MechanismError for what is larger than any double."""
    try:
        return float(to_fraction(value))
    except OverflowError:
        raise MechanismError(
            "lengths or masses of the description add up to more than any double holds; look for a misplaced "
            "exponent or unit"
        ) from None


def square_root(value: Constant) -> Constant:
    """√value; exact when value is the square of a rational."""
    if isinstance(value, fmpq):
        p, q = value.p, value.q
        rp, rq = p.isqrt(), q.isqrt()
        if rp * rp == p and rq * rq == q:
            return fmpq(rp, rq)
    return arb(value).sqrt()


def logarithm(value: Constant) -> Constant:
    """ln value; raises where value is not positive."""
    if not value > 0:
        raise MechanismError(
            f"there is no logarithm of {as_float(value):.6g}: a pivot of the mass matrix is not positive; look "
            "for a negative mass or moment of inertia"
        )
    return settle(arb(value).log())


def cosine_sine(angle: Angle) -> tuple[Constant, Constant]:
    """(cos, sin); exact at multiples of π/2."""
    quarter = angle.quarter_turns
    if quarter is not None:
        return ((ONE, ZERO), (ZERO, ONE), (-ONE, ZERO), (ZERO, -ONE))[quarter % 4]
    whole = len(str(int(abs(angle.radians)))) + len(str(int(abs(angle.pi))))
    with flint.ctx.workdps(
        digits() + whole
    ):  # the turns in front of the point take digits of their own
        value = arb(rational(angle.radians)) + rational(angle.pi) * arb.pi()
        cosine, sine = value.cos(), value.sin()
    return settle(cosine), settle(sine)


def add(a: Vec3, b: Vec3) -> Vec3:
    return (settle(a[0] + b[0]), settle(a[1] + b[1]), settle(a[2] + b[2]))


def scale(k: Constant, a: Vec3) -> Vec3:
    return (settle(k * a[0]), settle(k * a[1]), settle(k * a[2]))


def sub(a: Vec3, b: Vec3) -> Vec3:
    return add(a, scale(-ONE, b))


def dot(a: Vec3, b: Vec3) -> Constant:
    return settle(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def cross(a: Vec3, b: Vec3) -> Vec3:
    return (
        settle(a[1] * b[2] - a[2] * b[1]),
        settle(a[2] * b[0] - a[0] * b[2]),
        settle(a[0] * b[1] - a[1] * b[0]),
    )


def unit(a: Vec3) -> Vec3:
    """a / |a|; exact for a direction along an axis or with a rational length."""
    length = square_root(dot(a, a))
    return (settle(a[0] / length), settle(a[1] / length), settle(a[2] / length))


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


def turn(axis: Vec3, cosine: Constant, sine: Constant) -> Mat3:
    """Rodrigues' rotation about the unit vector `axis`."""
    x, y, z = axis
    if whole(x) is not None and whole(y) is not None and whole(z) is not None:
        return _turn_about_coordinate(axis, settle(cosine + ZERO), settle(sine * ONE))
    k = settle(1 - cosine)
    return (
        (settle(cosine + k * x * x), settle(k * x * y - sine * z), settle(k * x * z + sine * y)),
        (settle(k * x * y + sine * z), settle(cosine + k * y * y), settle(k * y * z - sine * x)),
        (settle(k * x * z - sine * y), settle(k * y * z + sine * x), settle(cosine + k * z * z)),
    )


def _turn_about_coordinate(axis: Vec3, cosine: Constant, sine: Constant) -> Mat3:
    """The rotation about a coordinate axis, to either side."""
    along = next(i for i in range(3) if not is_zero(axis[i]))
    second, third = (along + 1) % 3, (along + 2) % 3
    rows = [[ZERO] * 3 for _ in range(3)]
    rows[along][along] = ONE
    rows[second][second] = rows[third][third] = cosine
    rows[third][second] = sine if axis[along] == 1 else settle(-sine)
    rows[second][third] = settle(-sine) if axis[along] == 1 else sine
    first, middle, last = rows
    return (
        (first[0], first[1], first[2]),
        (middle[0], middle[1], middle[2]),
        (last[0], last[1], last[2]),
    )


def by_quaternion(quaternion: Quaternion) -> Mat3:
    """1 + 2 (w u× + u× u×) / (w² + u·u), u = (x, y, z): no root is taken of a quaternion of any length."""
    w, x, y, z = quaternion
    two = 2 / (w * w + x * x + y * y + z * z)
    return (
        vector((1 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y))),
        vector((two * (x * y + w * z), 1 - two * (x * x + z * z), two * (y * z - w * x))),
        vector((two * (x * z - w * y), two * (y * z + w * x), 1 - two * (x * x + y * y))),
    )


def displacement(pose: Pose) -> tuple[Mat3, Vec3]:
    """(R, r) of a declared pose: x_outer = R x_inner + r."""
    return _displaced(pose, digits(), flint.ctx.prec)


@lru_cache(maxsize=1 << 10)
def _displaced(pose: Pose, digits: int, bits: int) -> tuple[Mat3, Vec3]:
    """At the working precision that `digits` and `bits` name. The links of a chain are often alike."""
    rotation, shift = IDENTITY, ORIGIN
    for step in pose:
        if isinstance(step, Shift):
            shift = add(shift, _turned(rotation, vector(step.xyz)))
        elif isinstance(step, Slide):
            shift = add(
                shift, _turned(rotation, scale(rational(step.distance), unit(vector(step.axis))))
            )
        elif isinstance(step, Turn):
            turned = turn(unit(vector(step.axis)), *cosine_sine(step.angle))
            rotation = turned if rotation is IDENTITY else product(rotation, turned)
        elif isinstance(step, Rotate):
            rotation = product(rotation, by_quaternion(step.quaternion))
    return rotation, shift


def _turned(rotation: Mat3, v: Vec3) -> Vec3:
    return v if rotation is IDENTITY else apply(rotation, v)


def angle_of(cosine: Constant, sine: Constant) -> Constant:
    """The angle in (−π, π] with this cosine and sine."""
    return arb.atan2(arb(sine), arb(cosine))


Turning = tuple[Constant, Constant]
"""(cos, sin) of an angle."""


def zxz(r: Mat3) -> tuple[Turning, Turning, Turning]:
    """(cos, sin) of γ, α, β with r = Rz(γ) Rx(α) Rz(β); γ = 0 wherever that is possible."""
    sine = square_root(settle(r[2][0] * r[2][0] + r[2][1] * r[2][1]))
    if is_zero(settle(sine)):
        flip = r[2][2]
        return (ONE, ZERO), (flip, ZERO), (r[0][0], settle(flip * r[1][0]))
    gamma = (settle(-r[1][2] / sine), settle(r[0][2] / sine))
    beta = (settle(r[2][1] / sine), settle(r[2][0] / sine))
    if is_zero(gamma[1]) and gamma[0] == -1:
        return (ONE, ZERO), (r[2][2], settle(-sine)), (settle(-beta[0]), settle(-beta[1]))
    return gamma, (r[2][2], settle(sine)), beta
