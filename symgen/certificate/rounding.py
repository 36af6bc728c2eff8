"""Forward error of a Program, row by row: an enclosure of each row, and a bound of the error of its
computed value.

The standard model (Higham, Accuracy and Stability of Numerical Algorithms, §2.2) with its underflow
(2.8): the machine's x∘y is (x∘y)(1 + δ) + η with |δ| ≤ u, |η| ≤ `underflow`. The recursion over the
rows is his running error analysis (§3.3), in rigorous intervals: over points it is an a posteriori
bound, over boxes a bound for every state in them. Everything is proved, not observed, under the
assumptions that `Arithmetic` states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from symgen.certificate.intervals import HALF_TURN, Interval, down, hypotenuse, summed, times, up
from symgen.certificate.sum_of_squares import bounded_shares
from symgen.certificate.sum_of_squares import positive_bounds as least_sums
from symgen.ir.program import POSITIONS, Program, Row
from symgen.reference.precision import Array
from symgen.vocabulary.reals import REALS

LENGTH = 4
"""Units of round-off. The length of a quaternion that is normalised in its own type differs from 1
by less.
"""


@dataclass(frozen=True)
class Arithmetic:
    """A real type and its assumptions: rounding to nearest, no fused operation, no overflow.

    `trig`, `log` and `angle`: the errors of the library's sine and cosine, logarithm, and atan2, in
    units in the last place. An ulp of a number below 1 is at most `unit`; cos 0 is assumed to be
    exactly 1. `unit_entries` are the entries of positions that belong to unit quaternions. The type
    contains hardly any unit quaternion exactly, so the length of the inputs is 1 within LENGTH u.
    The exact result is that of the unit quaternion along the input, whose entries are as close. For
    `rounded_arguments` the exact result is that of the numbers before they were rounded to the
    type.
    """

    real: str
    trig: float = 1.0
    log: float = 1.0
    angle: float = 2.0
    unit_entries: frozenset[int] = frozenset()
    rounded_arguments: frozenset[str] = frozenset()

    @property
    def unit(self) -> float:
        """u, the unit round-off: half the distance from 1 to the next number."""
        return REALS[self.real].unit

    @property
    def underflow(self) -> float:
        """The least normal number: below it, the error of a result, gradual or flushed to zero, is
        at most this number.
        """
        return float(REALS[self.real].least)

    def rounded(self, value: Fraction) -> float:
        """Return a constant as it appears in C, as a float64."""
        return REALS[self.real].rounded(value)

    @property
    def assumptions(self) -> list[str]:
        """The assumptions of the bounds, in sentences."""
        lengths = [
            f"the length of a quaternion is 1 within {LENGTH} u; exact results are those of the"
            " normalized quaternion"
        ]
        return [
            (
                f"{self.real}: every operation rounded to nearest in this type, u ="
                f" 2^{round(np.log2(self.unit))}, none contracted to a fused one; no overflow;"
                " underflow gradual or to zero"
            ),
            f"sine and cosine within {self.trig:g} ulp of the exact value of the argument",
            f"arguments are numbers of type {self.real}; exact results are those of these numbers",
            *(lengths if self.unit_entries else []),
        ]

    @property
    def of_angles(self) -> str:
        """The additional assumption for an atan2."""
        return (
            f"atan2 within {self.angle:g} ulp of the exact value of the arguments; at half a turn,"
            " where it jumps, a bound is that of a whole turn"
        )


@dataclass(frozen=True)
class Rounded:
    """`exact` encloses a row's value; the computed value differs from it by at most `error`."""

    exact: Interval
    error: Array

    @property
    def size(self) -> Array:
        """Largest magnitude of the computed value."""
        return summed(self.exact.size, self.error)


def propagate(
    program: Program,
    boxes: Mapping[str, Sequence[Interval]],
    arithmetic: Arithmetic,
    exact_bounds: Mapping[int, tuple[float, float]] | None = None,
    requested_rows: Iterable[int] | None = None,
) -> dict[int, Rounded]:
    """Return every row over `boxes` (by argument, one Interval per flat element), or only those
    that `requested_rows` depend on.

    `known[r]` has bounds of the exact value of row r. If a divisor may be 0 the bounds are
    infinite.
    """
    supplied = [boxes[port.name] for port in program.inputs]
    indices = (
        range(len(program.rows))
        if requested_rows is None
        else required_rows(program, requested_rows)
    )
    rows: dict[int, Rounded] = {}
    ratios = half_angle_ratios(program)
    shared = bounded_shares(program) if ratios else {}
    with np.errstate(all="ignore"):
        for index in indices:
            row = program.rows[index]
            rounded = (
                _argument(program, row, supplied, arithmetic)
                if row.op == "input"
                else _row(program.rows, row, rows, arithmetic)
            )
            if index in ratios:
                size, error = half_angle_ratio(ratios[index], rows, arithmetic)
                rounded = Rounded(rounded.exact.within(size), np.fmin(rounded.error, error))
            if index in shared:  # the exact value is at most 1, the computed one at most the bound
                rounded = Rounded(
                    rounded.exact.within(1.0), np.fmin(rounded.error, float(shared[index] + 1))
                )
            if exact_bounds and index in exact_bounds:
                rounded = Rounded(rounded.exact.clipped(*exact_bounds[index]), rounded.error)
            rows[index] = rounded
    return rows


def required_rows(program: Program, requested_rows: Iterable[int]) -> list[int]:
    """Return the rows that `requested_rows` depend on, themselves included, ascending."""
    result = set(requested_rows)
    for index in range(max(result, default=-1), -1, -1):
        if index in result:
            result.update(program.rows[index].args)
    return sorted(result)


def _argument(
    program: Program, row: Row, supplied: Sequence[Sequence[Interval]], arithmetic: Arithmetic
) -> Rounded:
    """Return an argument, which may be flushed to zero; the exact entry of a quaternion is close to
    the given one.
    """
    port, entry = row.value
    interval, flushed = supplied[port][entry], np.array([arithmetic.underflow])
    if program.inputs[port].name in arithmetic.rounded_arguments:
        rounding = times(2 * arithmetic.unit, interval.size)
        interval, flushed = interval.widened(rounding), summed(rounding, flushed)
    if program.inputs[port].name not in POSITIONS or entry not in arithmetic.unit_entries:
        return Rounded(interval, flushed)
    tolerance = LENGTH * arithmetic.unit
    return Rounded(
        Interval(down(interval.lo - tolerance), up(interval.hi + tolerance)).within(1.0),
        summed(tolerance, flushed),
    )


def _row(
    program: Sequence[Row], row: Row, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Rounded:
    if row.op == "const":
        return _constant(row.value, arithmetic)
    a = rows[row.args[0]]
    if row.op == "neg":
        return Rounded(-a.exact, a.error)
    if row.op in ("sin", "cos"):
        exact = a.exact.sine() if row.op == "sin" else a.exact.cosine()
        return Rounded(exact, summed(a.error, arithmetic.trig * arithmetic.unit))
    if row.op == "sqrt":
        exact = a.exact.sqrt()
        # |√x̂ − √x| = |x̂ − x| / (√x̂ + √x), where x̂ is not negative either
        least = down(exact.lo + Interval(down(a.exact.lo - a.error), a.exact.hi).sqrt().lo)
        return _add_rounding(
            exact,
            np.where((least > 0) & (a.exact.lo >= a.error), up(a.error / least), np.inf),
            arithmetic,
        )
    if row.op == "log":
        least_computed = down(a.exact.lo - a.error)
        argument_error = np.where(least_computed > 0, up(a.error / least_computed), np.inf)
        exact = a.exact.logarithm()
        return Rounded(
            exact,
            summed(
                argument_error,
                times(2 * arithmetic.log * arithmetic.unit, summed(exact.size, argument_error)),
            ),
        )
    b = rows[row.args[1]]
    if row.op == "atan2":
        return _angle(a, b, arithmetic)
    if row.op in ("add", "sub"):
        rotation = _planar_rotation(program, row, rows, arithmetic)
        exact = a.exact + b.exact if row.op == "add" else a.exact - b.exact
        if rotation is None:
            return _add_rounding(exact, summed(a.error, b.error), arithmetic)
        size, error = rotation
        return _add_rounding(
            exact.within(size), np.minimum(error, summed(a.error, b.error)), arithmetic
        )
    if row.op == "mul":
        exact = a.exact.squared() if row.args[0] == row.args[1] else a.exact * b.exact
        propagated = summed(times(a.error, b.exact.size), times(a.size, b.error))
        if _power_of_two(program, row.args):
            return Rounded(exact, summed(propagated, arithmetic.underflow))
        return _add_rounding(exact, propagated, arithmetic)
    exact = a.exact / b.exact
    # â/b̂ − a/b = ((â − a) − (a/b)(b̂ − b)) / b̂
    machine = down(b.exact.least - b.error)
    propagated = np.where(
        machine > 0, up(summed(a.error, times(exact.size, b.error)) / machine), np.inf
    )
    return _add_rounding(exact, propagated, arithmetic)


def _add_rounding(exact: Interval, propagated: Array, arithmetic: Arithmetic) -> Rounded:
    """Return the row with the operation's own rounding added: u times the result, and the
    underflow.
    """
    rounding = times(arithmetic.unit, summed(exact.size, propagated))
    return Rounded(exact, summed(propagated, rounding, arithmetic.underflow))


def _angle(y: Rounded, x: Rounded, arithmetic: Arithmetic) -> Rounded:
    """Return atan2 with its error.

    If (x, y) at distance r from the origin is off by e, its direction is off by asin(e/r) ≤ e/(r −
    e). If the computed point may be at the origin, or across the half line where the angle jumps,
    the error is at most 2π.
    """
    exact = y.exact.angle(x.exact)
    distance_error = hypotenuse(y.error, x.error)
    distance = np.asarray(
        down(
            np.sqrt(down(down(y.exact.least * y.exact.least) + down(x.exact.least * x.exact.least)))
        )
    )
    margin = down(distance - distance_error)
    jumps = y.exact.widened(y.error).cuts(x.exact.widened(x.error)) | ~(margin > 0)
    propagated = np.where(jumps, 2 * HALF_TURN, up(distance_error / np.where(jumps, 1.0, margin)))
    rounding = times(2 * arithmetic.angle * arithmetic.unit, summed(exact.size, propagated))
    return Rounded(exact, summed(propagated, rounding, arithmetic.underflow))


def _constant(value: Fraction, arithmetic: Arithmetic) -> Rounded:
    nearest = float(value)
    exact = Fraction(nearest) == value
    low, high = (nearest, nearest) if exact else (float(down(nearest)), float(up(nearest)))
    rounding_error = abs(Fraction(arithmetic.rounded(value)) - value)
    error = 0.0 if rounding_error == 0 else float(up(up(float(rounding_error))))
    return Rounded(Interval(np.array([low]), np.array([high])), np.array([error]))


def _power_of_two(program: Sequence[Row], args: Sequence[int]) -> bool:
    """True if one operand is a constant ±2^k: such a product is exact."""
    values = [abs(program[a].value) for a in args if program[a].op == "const"]
    return any(
        v and v.numerator & (v.numerator - 1) == 0 and v.denominator & (v.denominator - 1) == 0
        for v in values
    )


def _planar_rotation(
    program: Sequence[Row], row: Row, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> tuple[Array, Array] | None:
    """Return (size, error without the last rounding) of cos·x ± sin·y, which is at most the length
    of (x, y); None for other rows.

    Plain intervals ignore cos² + sin² = 1 and let such a sum grow by √2 at every joint.
    """
    first, second = (program[a] for a in row.args)
    if first.op != "mul" or second.op != "mul":
        return None
    for cosine_row, x in (first.args, first.args[::-1]):
        for sine_row, y in (second.args, second.args[::-1]):
            if {program[cosine_row].op, program[sine_row].op} == {"sin", "cos"} and program[
                cosine_row
            ].args == program[sine_row].args:
                c, s = rows[cosine_row], rows[sine_row]
                vx, vy = rows[x], rows[y]
                size = hypotenuse(vx.exact.size, vy.exact.size)
                vector_error = np.minimum(
                    hypotenuse(vx.error, vy.error),
                    summed(times(c.exact.size, vx.error), times(s.exact.size, vy.error)),
                )
                # ĉx̂ − cx = c(x̂ − x) + (ĉ − c)x̂, and each product is rounded
                coefficient_error = summed(times(c.error, vx.size), times(s.error, vy.size))
                products = np.minimum(
                    hypotenuse(vx.size, vy.size),
                    summed(times(c.exact.size, vx.size), times(s.exact.size, vy.size)),
                )
                rounding = summed(
                    times(arithmetic.unit, summed(products, coefficient_error)),
                    2 * arithmetic.underflow,
                )
                return size, summed(vector_error, coefficient_error, rounding)
    return None


# -- the angle of a rotation divided by its sine --
#
# Running error of A/r, where A = atan2(2 r w, w² − r²) and r = √S: a rotation angle divided by its
# sine.
#
# Row by row, A and r lose all precision near zero rotation: r is as small as its error. But A/r is
# computed from one computed r, which is in both, and A/r is smooth in S and w while w keeps its
# sign. With A = 2θ and S + w² = ρ²,
#
#     |∂(A/r)/∂S| = (θ − sin θ cos θ)/(r³) ≤ (π/2)/ρ³,
#     |∂(A/r)/∂w| = 2/ρ²,    |A/r| = 2θ/(ρ sin θ) ≤ π/ρ.
#
# The roundings after S and w are relative. There are two in 2 r w, and two in w² − r², at most u ρ²
# each, which change A by |sin A| times as much. Then follow that of atan2, and that of r with a
# division, or a reciprocal and a product.


_SLOPE = 1.5707963267948970
"""π/2, rounded up."""
_ROUNDINGS = 12
"""Upper bound of the number of roundings, without that of atan2, for types of at least ten digits.

There are at most nine roundings; the rest is a margin for their products.
"""


class HalfAngleRatio(NamedTuple):
    """A row A/r: the rows of S and w, and the least computed value of r."""

    square: int
    w: int
    least: float


def half_angle_ratios(program: Program) -> dict[int, HalfAngleRatio]:
    """Find every row A/r of a Program."""
    if all(row.op != "atan2" for row in program.rows):
        return {}
    ratios = {}
    for index, row in enumerate(program.rows):
        ratio_rows = _match_half_angle_ratio(program.rows, row)
        if ratio_rows is not None:
            root, square, w = ratio_rows
            floor = least_sums(program, [root]).get(root)
            if floor is not None:
                ratios[index] = HalfAngleRatio(square, w, float(down(float(floor))))
    return ratios


def _match_half_angle_ratio(rows: Sequence[Row], row: Row) -> tuple[int, int, int] | None:
    """Return the rows of r, S and w of a row that is A/r, or A·(1/r); else None."""
    angle, root = (rows[row.args[0]], row.args[1]) if row.op == "div" else _reciprocal(rows, row)
    if angle is None or angle.op != "atan2" or rows[root].op != "sqrt":
        return None
    (square,), (sine, cosine) = rows[root].args, (rows[a] for a in angle.args)
    product, w = _doubled(rows, sine), _squared(rows, cosine, square)
    if product is None or product.op != "mul" or w is None:
        return None
    return (root, square, w) if sorted(product.args) == sorted((root, w)) else None


def _doubled(rows: Sequence[Row], row: Row) -> Row | None:
    """Return x if the row is 2 x."""
    factors = [a for a in row.args if rows[a].value == 2] if row.op == "mul" else []
    return next(rows[a] for a in row.args if a not in factors) if len(factors) == 1 else None


def _squared(rows: Sequence[Row], row: Row, subtracted: int) -> int | None:
    """Return w if the row is w² − S, where S is the row `subtracted`."""
    if row.op != "sub" or row.args[1] != subtracted:
        return None
    square = rows[row.args[0]]
    is_square = square.op == "mul" and square.args[0] == square.args[1]
    return square.args[0] if is_square else None


def _reciprocal(rows: Sequence[Row], row: Row) -> tuple[Row | None, int]:
    """Return x and r if the row is x·(1/r)."""
    for x, factor in (row.args, row.args[::-1]) if row.op == "mul" else ():
        if rows[factor].op == "div" and rows[rows[factor].args[0]].value == 1:
            return rows[x], rows[factor].args[1]
    return None, 0


def half_angle_ratio(
    ratio: HalfAngleRatio, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """Bound the size of A/r and its error; both are infinite where w may change its sign."""
    S, w, underflow = rows[ratio.square], rows[ratio.w], arithmetic.underflow
    low, w_least = np.maximum(down(S.exact.lo - S.error), 0.0), down(w.exact.least - w.error)
    is_bounded = (w_least > 0) & (down(w_least * ratio.least) > 4 * underflow)
    w_least = np.where(is_bounded, w_least, 1.0)
    radius_squared = down(low + down(w_least * w_least))  # ρ²
    radius = down(np.sqrt(radius_squared))
    size = up(HALF_TURN / radius)
    propagated = summed(
        up(times(2.0, w.error) / radius_squared),
        up(times(_SLOPE, S.error) / down(radius_squared * radius)),
    )
    rounding = times(
        (_ROUNDINGS + 2 * arithmetic.angle) * arithmetic.unit, summed(size, propagated)
    )
    flushed = summed(
        up(summed(up(3 * underflow / radius_squared), underflow) / ratio.least), underflow
    )
    return np.where(is_bounded, size, np.inf), np.where(
        is_bounded, summed(propagated, rounding, flushed), np.inf
    )
