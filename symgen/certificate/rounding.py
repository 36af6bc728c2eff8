"""Forward error of a Program, row by row: an enclosure of what each row is, and a bound of how far the computed one is from it.

The standard model (Higham, Accuracy and Stability of Numerical Algorithms, §2.2) with its underflow (2.8): the machine's
x∘y is (x∘y)(1 + δ) + η with |δ| ≤ u, |η| ≤ `underflow`. The recursion over the rows is his running error analysis (§3.3),
carried out in rigorous intervals: over points it is a bound a posteriori, over boxes it is one for every state in them.
Nothing here is observed, everything is proved, under the assumptions that `Arithmetic` states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from symgen.certificate.intervals import HALF_TURN, Interval, down, hypotenuse, summed, times, up
from symgen.certificate.sum_of_squares import least as least_sums
from symgen.certificate.sum_of_squares import shares
from symgen.ir.program import POSITIONS, Program, Row
from symgen.reference.precision import Array
from symgen.vocabulary.reals import REALS

LENGTH = 4
"""Units of round-off. A quaternion that is normalised in its own type misses unit length by less, one that is rounded by one."""


@dataclass(frozen=True)
class Arithmetic:
    """A real type and what is assumed of it: rounding to nearest, no fused operation, no overflow.

    `trig`, `log` and `angle`: the error of the library's sine and cosine, logarithm, atan2, in units in the last place. An ulp of
    a number below 1 is at most `unit`; cos 0 is taken to be exactly 1. `unit_entries` are the entries of positions that are of
    unit quaternions: of these the type holds hardly any, so C is given ones whose length is 1 within LENGTH u. The exact answer
    is that for the unit quaternion along it, whose entries are as near. `rounded_arguments` are those of which the exact answer
    is that for numbers that were rounded to the type.
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
        """The least normal number: no result, gradual or flushed to zero, misses by more below it."""
        return float(REALS[self.real].least)

    def rounded(self, value: Fraction) -> float:
        """The constant as it stands in C, as a float64."""
        return REALS[self.real].rounded(value)

    @property
    def assumptions(self) -> list[str]:
        """What the bounds stand on, in sentences."""
        lengths = [
            f"a quaternion is of unit length within {LENGTH} u; the exact answer is that for the unit quaternion along it"
        ]
        return [
            f"{self.real}: every operation rounded to nearest in this type, u = 2^{round(np.log2(self.unit))}, none contracted "
            "to a fused one; no overflow; underflow gradual or to zero",
            f"sine and cosine within {self.trig:g} ulp of the exact value of the argument",
            f"arguments are numbers of type {self.real}, and the exact answer is that for these numbers",
            *(lengths if self.unit_entries else []),
        ]

    @property
    def of_angles(self) -> str:
        """What is assumed besides where an atan2 is taken."""
        return (
            f"atan2 within {self.angle:g} ulp of the exact value of the arguments; at half a turn, where it jumps, a bound "
            "is that of a whole turn"
        )


@dataclass(frozen=True)
class Rounded:
    """`exact` encloses a row's value; the machine's differs from it by `error` at most."""

    exact: Interval
    error: Array

    @property
    def size(self) -> Array:
        """Largest magnitude of the machine's value."""
        return summed(self.exact.size, self.error)


def propagate(
    program: Program,
    boxes: Mapping[str, Sequence[Interval]],
    arithmetic: Arithmetic,
    known: Mapping[int, tuple[float, float]] | None = None,
    wanted: Iterable[int] | None = None,
) -> dict[int, Rounded]:
    """Every row over `boxes` (by argument, one Interval a flat element), or those that the rows `wanted` need.

    `known[r]`: the exact value of row r is known to lie between the two. Where a divisor may be 0 the bounds are infinite.
    """
    supplied = [boxes[port.name] for port in program.inputs]
    needed = range(len(program.rows)) if wanted is None else needs(program, wanted)
    rows: dict[int, Rounded] = {}
    ratios = half_angle_ratios(program)
    shared = shares(program) if ratios else {}
    with np.errstate(all="ignore"):
        for index in needed:
            row = program.rows[index]
            found = (
                _argument(program, row, supplied, arithmetic)
                if row.op == "input"
                else _row(program.rows, row, rows, arithmetic)
            )
            if index in ratios:
                size, error = half_angle_ratio(ratios[index], rows, arithmetic)
                found = Rounded(found.exact.within(size), np.fmin(found.error, error))
            if index in shared:  # what is at most 1, and computed as at most that bound
                found = Rounded(
                    found.exact.within(1.0), np.fmin(found.error, float(shared[index] + 1))
                )
            if known and index in known:
                found = Rounded(found.exact.clipped(*known[index]), found.error)
            rows[index] = found
    return rows


def needs(program: Program, wanted: Iterable[int]) -> list[int]:
    """The rows that `wanted` depend on, themselves included, ascending."""
    found = set(wanted)
    for index in range(max(found, default=-1), -1, -1):
        if index in found:
            found.update(program.rows[index].args)
    return sorted(found)


def _argument(
    program: Program, row: Row, supplied: Sequence[Sequence[Interval]], arithmetic: Arithmetic
) -> Rounded:
    """An argument, which may be flushed; of a quaternion the exact one is near it."""
    port, entry = row.value
    given, flushed = supplied[port][entry], np.array([arithmetic.underflow])
    if program.inputs[port].name in arithmetic.rounded_arguments:
        off = times(2 * arithmetic.unit, given.size)
        given, flushed = given.widened(off), summed(off, flushed)
    if program.inputs[port].name not in POSITIONS or entry not in arithmetic.unit_entries:
        return Rounded(given, flushed)
    near = LENGTH * arithmetic.unit
    return Rounded(
        Interval(down(given.lo - near), up(given.hi + near)).within(1.0), summed(near, flushed)
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
        return _closed(
            exact,
            np.where((least > 0) & (a.exact.lo >= a.error), up(a.error / least), np.inf),
            arithmetic,
        )
    if row.op == "log":
        lost = down(a.exact.lo - a.error)
        moved = np.where(lost > 0, up(a.error / lost), np.inf)
        exact = a.exact.logarithm()
        return Rounded(
            exact,
            summed(moved, times(2 * arithmetic.log * arithmetic.unit, summed(exact.size, moved))),
        )
    b = rows[row.args[1]]
    if row.op == "atan2":
        return _angle(a, b, arithmetic)
    if row.op in ("add", "sub"):
        turned = _turned(program, row, rows, arithmetic)
        exact = a.exact + b.exact if row.op == "add" else a.exact - b.exact
        if turned is None:
            return _closed(exact, summed(a.error, b.error), arithmetic)
        size, error = turned
        return _closed(exact.within(size), np.minimum(error, summed(a.error, b.error)), arithmetic)
    if row.op == "mul":
        exact = a.exact.squared() if row.args[0] == row.args[1] else a.exact * b.exact
        carried = summed(times(a.error, b.exact.size), times(a.size, b.error))
        if _power_of_two(program, row.args):
            return Rounded(exact, summed(carried, arithmetic.underflow))
        return _closed(exact, carried, arithmetic)
    exact = a.exact / b.exact
    # â/b̂ − a/b = ((â − a) − (a/b)(b̂ − b)) / b̂
    machine = down(b.exact.least - b.error)
    carried = np.where(
        machine > 0, up(summed(a.error, times(exact.size, b.error)) / machine), np.inf
    )
    return _closed(exact, carried, arithmetic)


def _closed(exact: Interval, carried: Array, arithmetic: Arithmetic) -> Rounded:
    """With the operation's own rounding: u of what it would have been without, and the underflow."""
    own = times(arithmetic.unit, summed(exact.size, carried))
    return Rounded(exact, summed(carried, own, arithmetic.underflow))


def _angle(y: Rounded, x: Rounded, arithmetic: Arithmetic) -> Rounded:
    """atan2: where (x, y) is off by e, at r from the origin, its direction is by asin(e/r) ≤ e/(r − e). Where what is computed
    may lie on the other side of the half line at which the angle jumps, or at the origin, it is by a whole turn at most.
    """
    exact = y.exact.angle(x.exact)
    off = hypotenuse(y.error, x.error)
    away = np.asarray(
        down(
            np.sqrt(down(down(y.exact.least * y.exact.least) + down(x.exact.least * x.exact.least)))
        )
    )
    left = down(away - off)
    jumps = y.exact.widened(y.error).cuts(x.exact.widened(x.error)) | ~(left > 0)
    moved = np.where(jumps, 2 * HALF_TURN, up(off / np.where(jumps, 1.0, left)))
    own = times(2 * arithmetic.angle * arithmetic.unit, summed(exact.size, moved))
    return Rounded(exact, summed(moved, own, arithmetic.underflow))


def _constant(value: Fraction, arithmetic: Arithmetic) -> Rounded:
    near = float(value)
    exact = Fraction(near) == value
    low, high = (near, near) if exact else (float(down(near)), float(up(near)))
    missed = abs(Fraction(arithmetic.rounded(value)) - value)
    error = 0.0 if missed == 0 else float(up(up(float(missed))))
    return Rounded(Interval(np.array([low]), np.array([high])), np.array([error]))


def _power_of_two(program: Sequence[Row], args: Sequence[int]) -> bool:
    """Whether one operand is a constant ±2^k: such a product is exact."""
    values = [abs(program[a].value) for a in args if program[a].op == "const"]
    return any(
        v and v.numerator & (v.numerator - 1) == 0 and v.denominator & (v.denominator - 1) == 0
        for v in values
    )


def _turned(
    program: Sequence[Row], row: Row, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> tuple[Array, Array] | None:
    """(size, error without the last rounding) of cos·x ± sin·y, which is no longer than (x, y); None for anything else.

    Intervals alone forget cos² + sin² = 1 and let such a sum grow by √2 at every joint.
    """
    first, second = (program[a] for a in row.args)
    if first.op != "mul" or second.op != "mul":
        return None
    for one, x in (first.args, first.args[::-1]):
        for other, y in (second.args, second.args[::-1]):
            if {program[one].op, program[other].op} == {"sin", "cos"} and program[
                one
            ].args == program[other].args:
                c, s = rows[one], rows[other]
                vx, vy = rows[x], rows[y]
                size = hypotenuse(vx.exact.size, vy.exact.size)
                moved = np.minimum(
                    hypotenuse(vx.error, vy.error),
                    summed(times(c.exact.size, vx.error), times(s.exact.size, vy.error)),
                )
                # ĉx̂ − cx = c(x̂ − x) + (ĉ − c)x̂, and each product is rounded
                slipped = summed(times(c.error, vx.size), times(s.error, vy.size))
                products = np.minimum(
                    hypotenuse(vx.size, vy.size),
                    summed(times(c.exact.size, vx.size), times(s.exact.size, vy.size)),
                )
                own = summed(
                    times(arithmetic.unit, summed(products, slipped)), 2 * arithmetic.underflow
                )
                return size, summed(moved, slipped, own)
    return None


# -- the angle of a turn by its own sine --
#
# The running error of A/r, where A = atan2(2 r w, w² − r²) and r = √S: what a turn is divided by its own sine.
#
# Row by row A and r are both lost where nothing turns: r is as small as its error. But what is computed is A/r of the r that was
# computed, which stands in both, and A/r is smooth in S and w while w keeps its sign. With A = 2θ and S + w² = ρ²,
#
#     |∂(A/r)/∂S| = (θ − sin θ cos θ)/(r³) ≤ (π/2)/ρ³,    |∂(A/r)/∂w| = 2/ρ²,    |A/r| = 2θ/(ρ sin θ) ≤ π/ρ.
#
# The roundings behind S and w are relative ones. Of 2 r w two, and the two of w² − r² are of ρ² at most, which turn A by |sin A| as
# much; then that of atan2, and r's own with a division, or a reciprocal and a product.


_SLOPE = 1.5707963267948970
"""π/2, rounded up."""
_ROUNDINGS = 12
"""Nine at most besides that of atan2; and room for their products, in any type of ten digits or more."""


class HalfAngleRatio(NamedTuple):
    """A row A/r: the rows of S and w, and the least that r is computed as."""

    square: int
    w: int
    least: float


def half_angle_ratios(program: Program) -> dict[int, HalfAngleRatio]:
    """Find every row A/r of a Program."""
    if all(row.op != "atan2" for row in program.rows):
        return {}
    found = {}
    for index, row in enumerate(program.rows):
        parts = _parts(program.rows, row)
        if parts is not None:
            root, square, w = parts
            floor = least_sums(program, [root]).get(root)
            if floor is not None:
                found[index] = HalfAngleRatio(square, w, float(down(float(floor))))
    return found


def _parts(rows: Sequence[Row], row: Row) -> tuple[int, int, int] | None:
    """Find the rows of r, S and w of a row that is A/r, or A·(1/r)."""
    angle, root = (rows[row.args[0]], row.args[1]) if row.op == "div" else _reciprocal(rows, row)
    if angle is None or angle.op != "atan2" or rows[root].op != "sqrt":
        return None
    (square,), (sine, cosine) = rows[root].args, (rows[a] for a in angle.args)
    product, w = _doubled(rows, sine), _squared(rows, cosine, square)
    if product is None or product.op != "mul" or w is None:
        return None
    return (root, square, w) if sorted(product.args) == sorted((root, w)) else None


def _doubled(rows: Sequence[Row], row: Row) -> Row | None:
    """Return x of 2 x."""
    twice = [a for a in row.args if rows[a].value == 2] if row.op == "mul" else []
    return next(rows[a] for a in row.args if a not in twice) if len(twice) == 1 else None


def _squared(rows: Sequence[Row], row: Row, subtracted: int) -> int | None:
    """Return w of w² − S, S being the row that is `subtracted`."""
    if row.op != "sub" or row.args[1] != subtracted:
        return None
    square = rows[row.args[0]]
    is_square = square.op == "mul" and square.args[0] == square.args[1]
    return square.args[0] if is_square else None


def _reciprocal(rows: Sequence[Row], row: Row) -> tuple[Row | None, int]:
    """Return x and r of x·(1/r)."""
    for x, by in (row.args, row.args[::-1]) if row.op == "mul" else ():
        if rows[by].op == "div" and rows[rows[by].args[0]].value == 1:
            return rows[x], rows[by].args[1]
    return None, 0


def half_angle_ratio(
    ratio: HalfAngleRatio, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """Bound the size of A/r and its error; both are infinite where w may change its sign."""
    S, w, underflow = rows[ratio.square], rows[ratio.w], arithmetic.underflow
    low, away = np.maximum(down(S.exact.lo - S.error), 0.0), down(w.exact.least - w.error)
    known = (away > 0) & (down(away * ratio.least) > 4 * underflow)
    away = np.where(known, away, 1.0)
    reach = down(low + down(away * away))  # ρ²
    far = down(np.sqrt(reach))
    size = up(HALF_TURN / far)
    moved = summed(up(times(2.0, w.error) / reach), up(times(_SLOPE, S.error) / down(reach * far)))
    own = times((_ROUNDINGS + 2 * arithmetic.angle) * arithmetic.unit, summed(size, moved))
    flushed = summed(up(summed(up(3 * underflow / reach), underflow) / ratio.least), underflow)
    return np.where(known, size, np.inf), np.where(known, summed(moved, own, flushed), np.inf)
