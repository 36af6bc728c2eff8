"""Rows as formulas: named equations down to the inputs, or every name substituted back. Nothing is ever expanded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from symgen.inspection.at import Values
from symgen.inspection.names import shown
from symgen.ir.program import Program, Row
from symgen.vocabulary.poses import Angle

LONGEST_DENOMINATOR = 30
SHOWN_DIGITS, WORKING_DIGITS = 17, 40
"""Digits of a number behind a root or a sine: those that are shown, and those while numbers are put in for inputs."""

_ACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": sp.sin,
    "cos": sp.cos,
    "sqrt": sp.sqrt,
    "log": sp.log,
    "atan2": sp.atan2,
}


@dataclass(frozen=True)
class Equations:
    """`named`: (symbol, expression) in order, each over inputs and earlier symbols; `entries`: what was asked for, over both.

    `in_c`: what the C calls a symbol of `named`, where it counts from 1.
    """

    named: tuple[tuple[Any, Any], ...]
    entries: tuple[Any, ...]
    in_c: tuple[str, ...] = ()


def needed(derived: Program, targets: Sequence[int]) -> list[int]:
    """The rows that the targets are computed from, in order."""
    seen, stack = set(), list(targets)
    while stack:
        r = stack.pop()
        if r not in seen:
            seen.add(r)
            stack.extend(derived.rows[r].args)
    return sorted(seen)


def size(derived: Program, targets: Sequence[int], at: Values | None = None) -> int:
    """Operations in the closed forms of all targets together. What is a number at `at` counts as one."""
    given = at or {}
    found: dict[int, int] = {}
    numbers: set[int] = set()
    for r in needed(derived, targets):
        row = derived.rows[r]
        known = row.op == "const" or (row.op == "input" and _place(derived, row) in given)
        if known or (row.args and all(a in numbers for a in row.args)):
            numbers.add(r)
        found[r] = 1 if r in numbers else 1 + sum(found[a] for a in row.args)
    return sum(found[r] for r in targets)


def equations(
    derived: Program,
    targets: Sequence[int],
    at: Values | None = None,
    named: bool = True,
    symbols: Mapping[tuple[str, int], str] | None = None,
) -> Equations:
    """The formulas behind rows; `named` False substitutes every name back. Inputs that `at` gives are numbers.

    An input (argument, element) is called as `symbols` says, else by both: q0, v1. Names count from 0 (`names`).

    A number is exact where it is rational, and shown with SHOWN_DIGITS digits elsewhere.
    """
    given, called = at or {}, symbols or {}
    values: dict[int, Any] = {}
    found, in_c = [], []
    aims, taken = set(targets), {row.name for row in derived.rows}
    for r in needed(derived, targets):
        row = derived.rows[r]
        if row.op == "const":
            value = number(row.value, WORKING_DIGITS if given else SHOWN_DIGITS)
        elif row.op == "input":
            place = _place(derived, row)
            value = (
                _angle(given[place])
                if place in given
                else sp.Symbol(called.get(place, f"{place[0]}{place[1]}"), real=True)
            )
        else:
            value = applied(row, values)
            if r in aims or not _is_angle(value):
                value = _settled(value)
            if named and row.name and r not in aims:
                name, sign = unsigned(row.name, taken)
                found.append((sp.Symbol(shown(name), real=True), shown_number(sign * value)))
                in_c.append(name)
                value = value if value.is_number else sign * found[-1][0]
        values[r] = value
    return Equations(tuple(found), tuple(shown_number(values[r]) for r in targets), tuple(in_c))


def applied(row: Row, values: Mapping[int, Any]) -> Any:
    """An operation of formulas."""
    return _ACT[row.op](*(values[a] for a in row.args))


def unsigned(name: str, taken: Collection[str]) -> tuple[str, int]:
    """A row that holds −x is named neg_x in the C; to a reader it is x. (name, sign)"""
    plain = name.removeprefix("neg_")
    return (plain, -1) if plain != name and plain not in taken else (name, 1)


def _place(derived: Program, row: Any) -> tuple[str, int]:
    port, element = row.value
    return derived.inputs[port].name, element


def number(value: Fraction, digits: int = SHOWN_DIGITS) -> Any:
    """A rational of the description stays one; a 64-digit value behind a root or a sine becomes a Float."""
    if len(str(value.denominator)) <= LONGEST_DENOMINATOR:
        return exact(value)
    return sp.Float(exact(value), digits)


def exact(x: Fraction) -> Any:
    return sp.Rational(x.numerator, x.denominator)


def _angle(angle: Angle) -> Any:
    return exact(angle.radians) + exact(angle.pi) * sp.pi


def _is_angle(value: Any) -> bool:
    """Whether it is a rational and a rational times π, as sums of given angles are: their sines and cosines may be exact."""
    exactly = value.is_number and value.has(sp.pi) and not value.has(sp.Float)
    return bool(exactly and (value - value.coeff(sp.pi) * sp.pi).is_Rational)


def _settled(value: Any) -> Any:
    """A number that is not rational as a Float: a sine of 0.3 is no formula."""
    return (
        value.evalf(WORKING_DIGITS)
        if value.is_number and not value.is_Rational and not value.is_Float
        else value
    )


def shown_number(value: Any) -> Any:
    """The same with no more than SHOWN_DIGITS digits of a number."""
    longer = [x for x in value.atoms(sp.Float) if x._prec > _BITS]
    return value.xreplace({x: sp.Float(x, SHOWN_DIGITS) for x in longer}) if longer else value


_BITS = sp.Float(1, SHOWN_DIGITS)._prec
