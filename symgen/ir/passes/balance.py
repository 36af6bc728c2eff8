"""Multiply large factors by small ones: (a·b)·c becomes (a·c)·b if a·b would leave the range of a
float.

det G of Fixman's theorem has six factors per link, and det H^bb cancels most of it. Multiplied in
order they leave the range, though det M does not. The sizes of factors are evaluated at two states.
A product that stays well within the range there is not changed.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count
from statistics import fmean

from symgen.ir.passes._error_bounds import GOLDEN
from symgen.ir.passes.rewrite import Rewriter, leaves, uses
from symgen.ir.program import Numbers, Port, Program, Row, evaluate

WITHIN = 96
"""Safe binary orders of magnitude above and below 1: a float has 126, and other states have other
sizes.
"""
PART = 64
"""Binary orders of magnitude of the parts of a constant that is beyond those."""
FEW = 5
"""Number of factors below which a product is not balanced.

With fewer factors, one of them would need a third of that size. Only constants have such a size, so
that most Programs are skipped.
"""

Sizes = tuple[float, ...]
"""log2 of a magnitude at each state; not finite if it is zero or no double."""
Factor = tuple[int, int | Fraction]
"""(quarters of a binary order of magnitude, an old row or a constant)."""


def balance(program: Program) -> Program:
    """Return the Program with the factors of endangered products in another order, and their
    constants in parts.
    """
    if _short(program):
        return program
    rows, inner = program.rows, _inner_products(program)
    products = _whole_products(rows, inner)
    sizes = _sizes(program) if products else []
    spread = {i: factors for i in products if (factors := _endangered(rows, i, inner, sizes))}
    if not spread:
        return program
    out = Rewriter(program)
    for i, row in enumerate(rows):
        out.new_index.append(_product(out, spread[i], row) if i in spread else out.keep(row))
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
    """Return whether every product has fewer than FEW factors, and no constant has a third of the
    safe size.
    """
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
    """True if a row is a constant of that many binary orders of magnitude, or of one less."""
    return (
        row[0] == "const"
        and bool(row[2])
        and abs(row[2].numerator.bit_length() - row[2].denominator.bit_length()) > orders
    )


def _sizes(program: Program) -> list[Sizes]:
    """Return the size of every row at two states without symmetry: only the first argument nonzero,
    and all arguments.
    """
    all_rows_program = program.with_rows(
        program.rows, [Port("", (len(program.rows),), tuple(range(len(program.rows))))]
    )
    numbers = Numbers(_double, math.sin, math.cos, math.sqrt, math.log)
    result = []
    for nonzero_count in {1, len(program.inputs)}:
        generic = (1 / 8 + k * GOLDEN % 1 for k in count(1))
        state = {
            port.name: [next(generic) * (n < nonzero_count) for _ in range(port.size)]
            for n, port in enumerate(program.inputs)
        }
        with suppress(
            ArithmeticError, ValueError
        ):  # for instance a division by zero: this state gives no sizes
            sizes: list[float] = []
            for row, value in zip(
                program.rows, evaluate(all_rows_program, state, numbers)[""], strict=True
            ):
                if row.op == "mul":  # the product of two doubles may overflow
                    sizes.append(sizes[row.args[0]] + sizes[row.args[1]])
                else:
                    sizes.append(
                        _order(row.value)
                        if row.op == "const"
                        else math.log2(abs(value))
                        if value
                        else -math.inf
                    )
            result.append(sizes)
    return list(zip(*result, strict=True)) or [()] * len(program.rows)


def _endangered(
    rows: tuple[Row, ...], top: int, inner: list[bool], sizes: list[Sizes]
) -> list[Factor]:
    """Return the factors of a product, if a part of them has a much larger or smaller product than
    all; else [].
    """
    factors = [r for _, r in leaves(rows, top, ("mul",), inner.__getitem__)]
    finite_states = [
        k for k in range(len(sizes[top])) if all(math.isfinite(sizes[r][k]) for r in factors)
    ]
    varying_factors = [r for r in factors if rows[r].op != "const"]

    def reach(indices: Iterable[int]) -> float:
        return max((abs(sizes[r][k]) for r in indices for k in finite_states), default=0.0)

    if not finite_states or reach({*factors, *_partial(rows, top, inner)}) <= max(
        WITHIN, reach([top, *varying_factors])
    ):
        return []
    varying: list[Factor] = [
        (round(4 * fmean(sizes[r][k] for k in finite_states)), r) for r in varying_factors
    ]
    return varying + _constant_factors(rows[r].value for r in factors if rows[r].op == "const")


def _constant_factors(constants: Iterable[Fraction]) -> list[Factor]:
    """Return the product of constants, in parts of safe size."""
    product = math.prod(constants, start=Fraction(1))
    return [(round(4 * _order(factor)), factor) for factor in _split_constant(product)]


def _partial(rows: tuple[Row, ...], top: int, inner: list[bool]) -> list[int]:
    """Return the rows of a product that multiply only some of its factors."""
    result, to_visit = [], [top]
    while to_visit:
        below = [a for a in rows[to_visit.pop()].args if inner[a]]
        result += below
        to_visit += below
    return result


def _split_constant(constant: Fraction) -> list[Fraction]:
    """Return a constant as a product of powers of two and a number of about their size."""
    if constant == 1:
        return []
    size = _order(constant)
    count = 1 if abs(size) <= WITHIN else math.ceil(abs(size) / PART)
    power = Fraction(2) ** round(size / count)
    return [power] * (count - 1) + [constant / power ** (count - 1)]


def _product(out: Rewriter, factors: list[Factor], top: Row) -> int:
    """Multiply the smallest by the largest, repeatedly: no partial product is larger than a factor
    or than the whole.
    """
    remaining: list[tuple[int, int]] = []
    for size, factor in factors:
        insort(
            remaining,
            (
                size,
                out.put(Row("const", (), factor))
                if isinstance(factor, Fraction)
                else out.new_index[factor],
            ),
        )
    while len(remaining) > 1:
        (low, a), (high, b) = remaining.pop(0), remaining.pop()
        insort(
            remaining,
            (
                low + high,
                out.put(Row("mul", (b, a), None, "" if remaining else top.name, top.step)),
            ),
        )
    return remaining[0][1]


def _order(value: Fraction) -> float:
    """Return log2 |value|, for values of any size."""
    top, bottom = abs(value.numerator), value.denominator
    shift = top.bit_length() - bottom.bit_length()
    return (
        math.log2(top / (bottom << shift) if shift > 0 else (top << -shift) / bottom) + shift
        if top
        else -math.inf
    )


def _double(value: Fraction) -> float:
    """Return the nearest double; infinity if there is none."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
