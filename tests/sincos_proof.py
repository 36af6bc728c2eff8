"""The bound of NAME_sincos.h, proved from its text: `python -m tests.sincos_proof` prints the
figures.

`prove` reads the printed C and follows it statement by statement for |x| <= 2^15, with one rounding
to nearest per operation. (A fused a*b + c rounds once instead of twice, so the bound holds as
well.)

1. `turns`: k is an integer, and r = x - k·pi/2 is small: |r| <= R. For each k the selection is
   exact: `turned` is cos(k·pi/2), `across` is -sin(k·pi/2), and products with 0, 1 and -1 and sums
   with 0 round nothing.
2. `nearest_multiple`: the least distance of a number of the type from k·pi/2: |r| >= r_min if k >
   0.
3. `reduction`: the error of the computed r is at most E(|r|). Every value is α·x + β·k plus
   rounding errors δ, with exact rationals α and β, and is a multiple of a known power of two. A
   value of at most p bits is exact (a generalised Sterbenz lemma); any other value adds a new δ of
   half a unit. Rounding errors that are subtracted again cancel, as in the C.
4. `polynomials`: running error bounds (Higham, Accuracy and Stability, 3.3) over short pieces of
   |r| in ball arithmetic, starting from E.
5. `remainders`: the polynomials compared with the alternating series of sine and cosine, in ball
   arithmetic over the same pieces.

Units are units in the last place of the exact result. Pieces begin at r_min: for a smaller |x|
(k = 0) the C adds less than a quarter of a unit to x and returns x, which is as near to sin x.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import flint
from pycparser import c_ast, c_parser

from symgen.emission.backends import c99
from symgen.emission.sincos import RANGE
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS

PRECISION = {"float": 24, "double": 53}
PIECES = 64
"""Pieces in a binade of |r|; below 2^-8, where one term dominates, a sixteenth as many."""
WORKING = 400

Statements = dict[str, Any]
"""Expression of each local, in order, and of the two results (found.sine, found.cosine)."""


def text(real: str) -> str:
    return c99.sincos(real, c99.Target("arm", Sizes(1, 1, 1), TextOptions("inline")))


def statements(source: str) -> Statements:
    without_comments = re.sub(r"/\*.*?\*/|^ *#.*?$", "", source, flags=re.DOTALL | re.MULTILINE)
    function = c_parser.CParser().parse(without_comments).ext[-1]
    expressions: Statements = {}
    for item in function.body.block_items[1:-1]:
        if isinstance(item, c_ast.Decl):
            expressions[item.name] = item.init
        else:
            expressions[f"found.{item.lvalue.field.name}"] = item.rvalue
    return expressions


def evaluate(node: Any, values: dict[str, Any], numbers: Any) -> Any:
    """Evaluate an expression with the arithmetic `numbers`."""
    if isinstance(node, c_ast.ID):
        return values[node.name]
    if isinstance(node, c_ast.Constant):
        return numbers.literal(Fraction(node.value.removesuffix("f")))
    if isinstance(node, c_ast.UnaryOp) and node.op == "-" and isinstance(node.expr, c_ast.Constant):
        return numbers.literal(-Fraction(node.expr.value.removesuffix("f")))
    if isinstance(node, c_ast.FuncCall):
        return numbers.fabs(evaluate(node.args.exprs[0], values, numbers))
    operation = {"+": "add", "-": "sub", "*": "mul"}[node.op]
    return getattr(numbers, operation)(
        evaluate(node.left, values, numbers), evaluate(node.right, values, numbers)
    )


def run(program: Statements, numbers: Any, start: dict[str, Any], last: str) -> dict[str, Any]:
    """Evaluate the statements up to `last`, except those with values in `start`."""
    values = dict(start)
    for name, expression in program.items():
        if name not in values:
            values[name] = evaluate(expression, values, numbers)
        if name == last:
            break
    return values


@dataclass(frozen=True)
class Machine:
    """Floating-point arithmetic on exact rationals, without overflow, underflow or signed zero."""

    real: str

    def literal(self, value: Fraction) -> Fraction:
        return REALS[self.real].nearest(value)

    def round(self, value: Fraction) -> Fraction:
        if value.denominator == 1 and abs(value) < 2 ** PRECISION[self.real]:
            return value
        unit = 2 * half_unit(abs(value), PRECISION[self.real])
        return round(value / unit) * unit

    def add(self, a: Fraction, b: Fraction) -> Fraction:
        return self.round(a + b)

    def sub(self, a: Fraction, b: Fraction) -> Fraction:
        return self.round(a - b)

    def mul(self, a: Fraction, b: Fraction) -> Fraction:
        return self.round(a * b)

    def fabs(self, a: Fraction) -> Fraction:
        return abs(a)


def rounding(size: Fraction, bits: int) -> Fraction:
    """Bound the rounding error of a number of at most this size, also just above a power of two."""
    half = half_unit(size, bits)
    return max(half / 2, min(half, size - half * 2**bits))


def half_unit(size: Fraction, bits: int) -> Fraction:
    """Return half a unit in the last place of a number of this size."""
    if not size:
        return Fraction(0)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    return Fraction(2) ** (exponent - bits)


def above(ball: flint.arb) -> Fraction:
    """Return a 64-bit rational that is at least the magnitude of every number in the ball."""
    mantissa, exponent = (int(integer) for integer in abs(ball).upper().man_exp())
    spare = max(mantissa.bit_length() - 64, 0)
    return Fraction((mantissa >> spare) + (spare > 0)) * Fraction(2) ** (exponent + spare)


def below(ball: flint.arb) -> Fraction:
    """Return a rational that is at most every number in the positive ball."""
    mantissa, exponent = (int(integer) for integer in ball.lower().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def ball(value: Fraction) -> flint.arb:
    return flint.arb(value.numerator) / value.denominator


# 1. and 2.


def turns(program: Statements, real: str) -> tuple[int, Fraction]:
    """Return (the largest k, R); raise AssertionError if the text has another form."""
    machine, bits = Machine(real), PRECISION[real]
    expression = program["k"]  # ((x*T) + W) - W
    scale, shift = (
        machine.literal(Fraction(node.value.removesuffix("f")))
        for node in (expression.left.left.right, expression.right)
    )
    assert expression.left.right.value == expression.right.value
    assert shift == 3 * Fraction(2) ** (
        bits - 2
    )  # floating-point numbers of this size are integers
    off = half_unit(RANGE * scale, bits) + RANGE * above(ball(scale) - 2 / flint.arb.pi())
    most = math.floor(RANGE * scale + off + Fraction(1, 2))
    for k in range(-most, most + 1):
        values = run(
            program,
            machine,
            {
                name: Fraction(k if name == "k" else 0)
                for name in program
                if name not in ("j", "m", "turned", "across")
            },
            "across",
        )
        assert (values["turned"], values["across"]) == ((1, 0), (0, -1), (-1, 0), (0, 1))[k % 4], k
    return most, above(flint.arb.pi() / 2) * (Fraction(1, 2) + off)


def nearest_multiple(real: str, most: int) -> tuple[Fraction, int]:
    """Return (r_min, its k): r_min <= |x - k·pi/2| for every number x of the type and k >= 1."""
    bits, half, nearest = PRECISION[real], flint.arb.pi() / 2, (Fraction(1), 0)
    for k in range(1, most + 1):
        exponent = math.frexp(k * math.pi / 2)[1] - bits
        scaled = half * k / flint.arb(2) ** exponent
        integer = int((scaled + 0.5).floor().unique_fmpz())
        distance = abs(scaled - integer)
        if distance * flint.arb(2) ** exponent < ball(nearest[0]):
            nearest = below(distance) * Fraction(2) ** exponent, k
    return nearest


# 3.


@dataclass
class Affine:
    """The value α·x + β·k + Σ γᵢ·δᵢ, a multiple of `grid`."""

    x: Fraction = Fraction(0)
    k: Fraction = Fraction(0)
    roundings: dict[int, Fraction] = field(default_factory=dict)
    grid: Fraction = Fraction(0)
    constant: Fraction = Fraction(0)


class Reduction:
    """Arithmetic on `Affine`s for |r| <= `r`, |k| <= `k` and x a multiple of `grid`."""

    def __init__(self, real: str, r: Fraction, k: int, grid: Fraction) -> None:
        self.real, self.bits, self.r, self.most, self.grid = real, PRECISION[real], r, k, grid
        self.half = flint.arb.pi() / 2
        self.sizes: list[Fraction] = []

    def literal(self, value: Fraction) -> Affine:
        return Affine(constant=Machine(self.real).literal(value))

    def size(self, value: Affine) -> Fraction:
        """Bound a value, with x = r + k·pi/2."""
        drift = above(ball(value.x) * self.half + ball(value.k))
        return (
            abs(value.x) * self.r
            + drift * self.most
            + sum(abs(c) * self.sizes[i] for i, c in value.roundings.items())
        )

    def rounded(self, value: Affine, operand: Fraction | None = None) -> Affine:
        """Round a value; the error of a sum is at most each operand, as the other is a number."""
        size = self.size(value)
        if value.grid and size <= value.grid * 2**self.bits:
            return value
        off = rounding(size, self.bits)
        self.sizes.append(off if operand is None else min(off, operand))
        return Affine(
            value.x, value.k, value.roundings | {len(self.sizes) - 1: Fraction(1)}, value.grid
        )

    def mul(self, a: Affine, b: Affine) -> Affine:
        assert (a.x, a.k, a.roundings) == (0, 1, {})  # only k times a literal
        constant = b.constant
        return self.rounded(
            Affine(
                k=constant,
                grid=Fraction(constant.numerator & -constant.numerator, constant.denominator),
            )
        )

    def sub(self, a: Affine, b: Affine) -> Affine:
        roundings = {
            i: c
            for i in {*a.roundings, *b.roundings}
            if (c := a.roundings.get(i, Fraction(0)) - b.roundings.get(i, Fraction(0)))
        }
        return self.rounded(
            Affine(a.x - b.x, a.k - b.k, roundings, min(a.grid, b.grid)),
            min(self.size(a), self.size(b)),
        )

    def errors(self, program: Statements) -> tuple[Fraction, Fraction]:
        """Bound the errors of the computed r and of r - tail against x - k·pi/2."""
        start = {
            "x": Affine(x=Fraction(1), grid=self.grid),
            "k": Affine(k=Fraction(1), grid=Fraction(1)),
            "j": None,
        }
        values = run(program, self, start, "tail")
        r, tail = values["r"], values["tail"]
        without_tail = Affine(
            r.x - tail.x,
            r.k - tail.k,
            {
                i: r.roundings.get(i, Fraction(0)) - tail.roundings.get(i, Fraction(0))
                for i in {*r.roundings, *tail.roundings}
            },
        )
        assert (r.x, tail.x) == (1, 0)
        return self.size(r) - self.r, self.size(without_tail) - self.r


def reduction(program: Statements, real: str, r: Fraction, most: int) -> tuple[Fraction, Fraction]:
    """Return (T, E): largest errors of r and of r - tail over all binades of x with k > 0."""
    bits, errors = PRECISION[real], []
    for exponent in range(-1, RANGE.bit_length()):
        k = min(
            most, math.ceil(Fraction(2) ** (exponent + 1) * Fraction(2, 3) + 1)
        )  # above 2/pi·x + 1/2
        errors.append(Reduction(real, r, k, Fraction(2) ** (exponent - bits + 1)).errors(program))
    return max(t for t, _ in errors), max(e for _, e in errors)


# 4. and 5.


class Computed(NamedTuple):
    """A value over a piece of |r|: the value without rounding, and a bound of its error."""

    ideal: flint.arb
    off: Fraction


@dataclass(frozen=True)
class Running:
    """Arithmetic on `Computed`s; each error includes the smallest float, to cover underflow."""

    real: str

    def literal(self, value: Fraction) -> Computed:
        return Computed(ball(Machine(self.real).literal(value)), Fraction(0))

    def rounded(self, ideal: flint.arb, off: Fraction) -> Computed:
        total = off + rounding(above(ideal) + off, PRECISION[self.real]) + Fraction(1, 2**149)
        return Computed(ideal, Fraction(math.ceil(total * 2**300), 2**300))

    def add(self, a: Computed, b: Computed) -> Computed:
        return self.rounded(a.ideal + b.ideal, a.off + b.off)

    def sub(self, a: Computed, b: Computed) -> Computed:
        return self.rounded(a.ideal - b.ideal, a.off + b.off)

    def unrounded(self, program: Statements, start: dict[str, Any], name: str) -> Fraction:
        """Bound the error of the last statement's sum before its rounding."""
        values = run(
            {key: node for key, node in program.items() if key != name}, self, start, "c_0"
        )
        return sum(
            (
                evaluate(operand, values, self).off
                for operand in (program[name].left, program[name].right)
            ),
            Fraction(0),
        )

    def mul(self, a: Computed, b: Computed) -> Computed:
        return self.rounded(
            a.ideal * b.ideal, above(a.ideal) * b.off + above(b.ideal) * a.off + a.off * b.off
        )


def coefficients(program: Statements, real: str, letter: str) -> list[Fraction]:
    """Return the literals of s_0, s_1 … (or c_0 …), the innermost last."""
    machine, literals = Machine(real), {}

    def value(node: Any) -> Fraction:
        return machine.literal(evaluate(node, {}, machine))

    names = sorted(name for name in program if name.startswith(f"{letter}_"))
    for name in names:
        literals[name] = value(program[name].left)
    last = program[names[-1]]
    return [*literals.values(), value(last.right.right) * (-1 if last.op == "-" else 1)]


def remainders(
    program: Statements, real: str
) -> tuple[Callable[[flint.arb], flint.arb], Callable[[flint.arb], flint.arb]]:
    """Return |sine polynomial - sin r| and |cosine polynomial - cos r| as functions of the ball
    |r|.

    sin r = r + r·y·Σ (-1)^(j+1) y^j/(2j+3)!, cos r = 1 - y/2 + y²·Σ (-1)^j y^j/(2j+4)!: alternating
    and falling for y < 1.
    """
    terms = 20

    def distance(
        literals: list[Fraction], series: Callable[[int], Fraction]
    ) -> Callable[[flint.arb], flint.arb]:
        difference = flint.arb_poly(
            [ball((literals[j] if j < len(literals) else 0) - series(j)) for j in range(terms)]
        )
        tail = abs(ball(series(terms)))

        def at(y: flint.arb) -> flint.arb:
            middle = flint.arb(y.mid())
            shifted = difference(
                flint.arb_poly([middle, 1])
            ).coeffs()  # about the middle, so that cancelling terms are gone before the bound
            return sum((abs(c) * y.rad() ** i for i, c in enumerate(shifted)), tail)

        return at

    sine = distance(
        coefficients(program, real, "s"),
        lambda j: Fraction((-1) ** (j + 1), math.factorial(2 * j + 3)),
    )
    cosine = distance(
        coefficients(program, real, "c"), lambda j: Fraction((-1) ** j, math.factorial(2 * j + 4))
    )
    return lambda r: r**3 * sine(r * r), lambda r: r**4 * cosine(r * r)


def pieces(low: Fraction, high: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Cut `low` to `high` into short pieces, with cuts where the sine crosses a power of two."""

    def crossing(power: Fraction) -> Fraction:
        return above(ball(power).asin()) if power < 1 else high

    power = half_unit(low, 1)
    while power < high:
        start, end = crossing(power), crossing(2 * power)
        count = PIECES if power >= Fraction(1, 2**8) else PIECES // 16
        cuts = [start + (end - start) * i / count for i in range(count + 1)]
        yield from ((max(a, low), min(b, high)) for a, b in pairwise(cuts) if b > low and a < high)
        power *= 2


class Proof(NamedTuple):
    """Largest errors of sine and cosine of r in units in the last place, k, r_min, its k, T, E."""

    sine: float
    cosine: float
    most: int
    nearest: float
    nearest_k: int
    reduced: float
    remaining: float

    @property
    def units(self) -> float:
        """Return the bound of both: sin x and cos x are the sine or cosine of r, up to sign."""
        return max(self.sine, self.cosine)


def prove(source: str, real: str) -> Proof:
    """Prove the bound of the C `source`; raise AssertionError if the text has another form."""
    with flint.ctx.workprec(WORKING):
        program, bits = statements(source), PRECISION[real]
        most, largest = turns(program, real)
        nearest, nearest_k = nearest_multiple(real, most)
        assert nearest**2 < Fraction(
            1, 2 ** (bits + 2)
        )  # |x|·x²/6, and half as much again, below a quarter of |x|/2^p
        errors = lru_cache(maxsize=None)(lambda r: reduction(program, real, min(r, largest), most))
        far_sine, far_cosine = remainders(program, real)
        integers = dict.fromkeys(name for name in program if re.fullmatch(r"[kj]|[rw]_\d", name))
        worst = {"sine": Fraction(0), "cosine": Fraction(0)}
        for low, high in pieces(nearest, largest):
            beyond, error = errors(half_unit(high, 1) * 4)  # of the computed r, and of r - tail
            reach, tail = ball(high + beyond), flint.arb(0, 1) * ball(beyond)
            r = ball((low + high) / 2) + flint.arb(0, 1) * ball((high - low) / 2) + tail
            start = integers | {"r": Computed(r, Fraction(0)), "tail": Computed(tail, error)}
            # |sin(r - t) - (sin r - t)| <= |t|·r²/2 and |cos(r - t) - cos r| <= |t|·r, with the
            # larger of |r| and |r - t|.
            cases = {
                "sine": (
                    far_sine(r) + ball(beyond) * reach**2 / 2,
                    ball(low).sin(),
                    ball(high).sin(),
                ),
                "cosine": (far_cosine(r) + ball(beyond) * reach, ball(high).cos(), ball(low).cos()),
            }
            for name, (distance, least, most_of_all) in cases.items():
                off = Running(real).unrounded(program, start, name) + above(distance)
                off += rounding(above(most_of_all) + off, bits)
                worst[name] = max(worst[name], off / (2 * half_unit(below(least), bits)))
        total, remaining = (float(x) for x in errors(largest))
        return Proof(
            float(worst["sine"]),
            float(worst["cosine"]),
            most,
            float(nearest),
            nearest_k,
            total,
            remaining,
        )


if __name__ == "__main__":
    for kind in PRECISION:
        proof = prove(text(kind), kind)
        print(
            f"{kind}: sine {proof.sine:.4f}, cosine {proof.cosine:.4f} units in the last place; |k|"
            f" <= {proof.most}, r off by {proof.reduced:.3g} and r - tail by {proof.remaining:.3g}"
            f" or less; |r| >= {proof.nearest:.6g} (k = {proof.nearest_k})"
        )
