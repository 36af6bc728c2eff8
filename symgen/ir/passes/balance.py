"""Multiply large factors by small ones: (a·b)·c becomes (a·c)·b where a·b would leave the range of a float on its way.

det G of Fixman's theorem has six factors a link, and det H^bb takes most of it back. Multiplied one behind the other they leave
the range, though det M stays within it. How large a factor is, is seen at two states. A product that keeps well within the
range there is left as it stands.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count
from statistics import fmean

from symgen.ir.passes.rewrite import Rewriter, leaves, uses
from symgen.ir.program import Numbers, Port, Program, Row, evaluate

WITHIN = 96
"""Binary orders of magnitude on either side of 1 that are safe: a float has 126, and other states have other sizes."""
PART = 64
"""A constant beyond those is multiplied in parts of about so many."""
FEW = 5
"""Of fewer factors, one alone would be a third of that, and only constants are: most Programs need no closer look."""
GOLDEN = (math.sqrt(5) - 1) / 2

Sizes = tuple[float, ...]
"""log2 of a magnitude at each state; not finite where it is zero or no double."""
Factor = tuple[int, int | Fraction]
"""(quarters of a binary order of magnitude, an old row or a constant)."""


def balance(program: Program) -> Program:
    """The same Program, with the factors of endangered products in another order and their constants in parts."""
    if _short(program):
        return program
    rows, inner = program.rows, _inner_products(program)
    whole = _whole_products(rows, inner)
    sizes = _sizes(program) if whole else []
    spread = {i: factors for i in whole if (factors := _endangered(rows, i, inner, sizes))}
    if not spread:
        return program
    out = Rewriter(program)
    for i, row in enumerate(rows):
        out.place.append(_product(out, spread[i], row) if i in spread else out.keep(row))
    return out.finish()


def _inner_products(program: Program) -> list[bool]:
    """True for each product that one other product alone uses."""
    rows, used = program.rows, uses(program)
    inner = [False] * len(rows)
    for row in rows:
        if row.op == "mul":
            for a in row.args:
                inner[a] = rows[a].op == "mul" and used[a] == 1
    return inner


def _whole_products(rows: Sequence[Row], inner: list[bool]) -> list[int]:
    """Products of three factors or more, or of a constant beyond the safe range."""
    return [
        i
        for i, row in enumerate(rows)
        if row.op == "mul"
        and not inner[i]
        and any(inner[a] or _beyond(rows[a], WITHIN - 1) for a in row.args)
    ]


def _short(program: Program) -> bool:
    """Whether every product has less than FEW factors, and no constant is a third of what is safe."""
    factors: list[int] = []
    for row in program.rows:
        op, args = row[0], row[1]
        if op == "mul":
            factors.append(factors[args[0]] + factors[args[1]])
            if factors[-1] >= FEW:
                return False
        else:
            factors.append(1)
            if op == "const" and _beyond(row, WITHIN / 3):
                return False
    return True


def _beyond(row: Row, orders: float) -> bool:
    """Whether a row is a constant of so many binary orders of magnitude, or of one less."""
    return (
        row[0] == "const"
        and bool(row[2])
        and abs(row[2].numerator.bit_length() - row[2].denominator.bit_length()) > orders
    )


def _sizes(program: Program) -> list[Sizes]:
    """Of every row, at a state without symmetry: with its first argument alone, and with all of them."""
    whole = program.with_rows(
        program.rows, [Port("", (len(program.rows),), tuple(range(len(program.rows))))]
    )
    numbers = Numbers(_double, math.sin, math.cos, math.sqrt, math.log)
    found = []
    for given in {1, len(program.inputs)}:
        generic = (1 / 8 + k * GOLDEN % 1 for k in count(1))
        state = {
            port.name: [next(generic) * (n < given) for _ in range(port.size)]
            for n, port in enumerate(program.inputs)
        }
        with suppress(
            ArithmeticError, ValueError
        ):  # a division by zero, say: this state tells nothing
            sizes: list[float] = []
            for row, value in zip(program.rows, evaluate(whole, state, numbers)[""], strict=True):
                if row.op == "mul":  # where the product of two doubles is none
                    sizes.append(sizes[row.args[0]] + sizes[row.args[1]])
                else:
                    sizes.append(
                        _order(row.value)
                        if row.op == "const"
                        else math.log2(abs(value))
                        if value
                        else -math.inf
                    )
            found.append(sizes)
    return list(zip(*found, strict=True)) or [()] * len(program.rows)


def _endangered(
    rows: tuple[Row, ...], top: int, inner: list[bool], sizes: list[Sizes]
) -> list[Factor]:
    """The factors of a product, where some of them multiplied are far larger or smaller than all of them; else none."""
    factors = [r for _, r in leaves(rows, top, ("mul",), inner.__getitem__)]
    known = [k for k in range(len(sizes[top])) if all(math.isfinite(sizes[r][k]) for r in factors)]
    given = [r for r in factors if rows[r].op != "const"]

    def reach(places: Iterable[int]) -> float:
        return max((abs(sizes[r][k]) for r in places for k in known), default=0.0)

    if not known or reach({*factors, *_partial(rows, top, inner)}) <= max(
        WITHIN, reach([top, *given])
    ):
        return []
    varying: list[Factor] = [(round(4 * fmean(sizes[r][k] for k in known)), r) for r in given]
    return varying + _constant_factors(rows[r].value for r in factors if rows[r].op == "const")


def _constant_factors(constants: Iterable[Fraction]) -> list[Factor]:
    """The product of constants, in parts that are safe."""
    product = math.prod(constants, start=Fraction(1))
    return [(round(4 * _order(part)), part) for part in _parts(product)]


def _partial(rows: tuple[Row, ...], top: int, inner: list[bool]) -> list[int]:
    """The rows of a product in which only some of its factors are multiplied."""
    found, waiting = [], [top]
    while waiting:
        below = [a for a in rows[waiting.pop()].args if inner[a]]
        found += below
        waiting += below
    return found


def _parts(constant: Fraction) -> list[Fraction]:
    """A constant as a product: powers of two, and a number of about their size."""
    if constant == 1:
        return []
    size = _order(constant)
    pieces = 1 if abs(size) <= WITHIN else math.ceil(abs(size) / PART)
    power = Fraction(2) ** round(size / pieces)
    return [power] * (pieces - 1) + [constant / power ** (pieces - 1)]


def _product(out: Rewriter, factors: list[Factor], top: Row) -> int:
    """The smallest by the largest, again and again: nothing on the way is larger than a factor or than all of them."""
    left: list[tuple[int, int]] = []
    for size, factor in factors:
        insort(
            left,
            (
                size,
                out.put(Row("const", (), factor))
                if isinstance(factor, Fraction)
                else out.place[factor],
            ),
        )
    while len(left) > 1:
        (low, a), (high, b) = left.pop(0), left.pop()
        insort(
            left,
            (low + high, out.put(Row("mul", (b, a), None, "" if left else top.name, top.step))),
        )
    return left[0][1]


def _order(value: Fraction) -> float:
    """log2 |value|, however large or small."""
    top, bottom = abs(value.numerator), value.denominator
    shift = top.bit_length() - bottom.bit_length()
    return (
        math.log2(top / (bottom << shift) if shift > 0 else (top << -shift) / bottom) + shift
        if top
        else -math.inf
    )


def _double(value: Fraction) -> float:
    """The nearest double, infinite where there is none."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
