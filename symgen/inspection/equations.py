"""Rows as formulas: named equations down to the inputs, or all names substituted. No expression is
expanded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from symgen.inspection.at import Values
from symgen.inspection.names import formula_name
from symgen.ir.program import Program, Row
from symgen.vocabulary.poses import Angle

LONGEST_DENOMINATOR = 30
SHOWN_DIGITS, WORKING_DIGITS = 17, 40
"""Digits of an irrational number: as shown, and while numbers are substituted for inputs."""
MOST_REPEATED = 24
"""Most operations of a row without a name that is substituted more than once."""

_LINK = re.compile(r"link (\d+) \(")

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
    """`named`: (symbol, expression) in order, each in terms of inputs and earlier symbols;
    `entries`: the requested expressions.

    `in_c`: the name in the C of each symbol in `named`, where indices count from 1; "" for a symbol
    t0, t1, … of a row that has no name there. `headings`: the
    step of the derivation that each of them belongs to, with its equation numbers, or "".
    """

    named: tuple[tuple[Any, Any], ...]
    entries: tuple[Any, ...]
    in_c: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()


def needed_rows(derived: Program, targets: Sequence[int]) -> list[int]:
    """Return the rows from which the targets are computed, in order."""
    needed, stack = set(), list(targets)
    while stack:
        r = stack.pop()
        if r not in needed:
            needed.add(r)
            stack.extend(derived.rows[r].args)
    return sorted(needed)


def closed_form_size(derived: Program, targets: Sequence[int], at: Values | None = None) -> int:
    """Return the number of operations in the closed forms of all targets; a subexpression that is a
    number at `at` counts as one.
    """
    values = at or {}
    sizes: dict[int, int] = {}
    numbers: set[int] = set()
    for r in needed_rows(derived, targets):
        row = derived.rows[r]
        is_number = row.op == "const" or (
            row.op == "input" and _input_element(derived, row) in values
        )
        if is_number or (row.args and all(a in numbers for a in row.args)):
            numbers.add(r)
        sizes[r] = 1 if r in numbers else 1 + sum(sizes[a] for a in row.args)
    return sum(sizes[r] for r in targets)


def equations(
    derived: Program,
    targets: Sequence[int],
    at: Values | None = None,
    named: bool = True,
    symbols: Mapping[tuple[str, int], str] | None = None,
) -> Equations:
    """Return the formulas of rows; with `named` False all names are substituted. Inputs in `at` are
    numbers.

    The name of an input (argument, element) is taken from `symbols`, else it is q0, v1, …. Names
    count from 0 (`names`). A row without a name is substituted, except a row of more than
    MOST_REPEATED operations that is used more than once: it is named t0, t1, …, so that the length
    of the equations is proportional to the number of rows.

    A rational number is exact; any other is shown with SHOWN_DIGITS digits.
    """
    numbers, input_names = at or {}, symbols or {}
    values: dict[int, Any] = {}
    named_equations: list[tuple[Any, Any]] = []
    in_c: list[str] = []
    headings: list[str] = []
    target_set, used_names = set(targets), {row.name for row in derived.rows}
    rows = needed_rows(derived, targets)
    uses = Counter(a for r in rows for a in derived.rows[r].args)
    sizes: dict[int, int] = {}
    for r in rows:
        row = derived.rows[r]
        sizes[r] = 1 + sum(sizes[a] for a in row.args)
        if row.op == "const":
            value = number(row.value, WORKING_DIGITS if numbers else SHOWN_DIGITS)
        elif row.op == "input":
            element = _input_element(derived, row)
            value = (
                _angle(numbers[element])
                if element in numbers
                else sp.Symbol(input_names.get(element, f"{element[0]}{element[1]}"), real=True)
            )
        else:
            value = apply_operation(row, values)
            if r in target_set or not _is_angle(value):
                value = _evaluate_irrational(value)
            is_repeated = sizes[r] > MOST_REPEATED and uses[r] > 1 and not value.is_number
            if named and r not in target_set and (row.name or is_repeated):
                name, sign = unsigned_name(row.name, used_names) if row.name else ("", 1)
                symbol = formula_name(name) if name else f"t{in_c.count('')}"
                named_equations.append((sp.Symbol(symbol, real=True), round_numbers(sign * value)))
                in_c.append(name)
                headings.append(_heading(derived, row))
                value = value if value.is_number else sign * named_equations[-1][0]
                sizes[r] = 1
        values[r] = value
    return Equations(
        tuple(named_equations),
        tuple(round_numbers(values[r]) for r in targets),
        tuple(in_c),
        tuple(headings),
    )


def _heading(derived: Program, row: Row) -> str:
    """Return the step of a row; links count from 0, as in the equations, and from 1 in the C."""
    text = derived.steps[row.step] if row.step >= 0 else ""
    return _LINK.sub(lambda match: f"link {int(match[1]) - 1} (", text)


def apply_operation(row: Row, values: Mapping[int, Any]) -> Any:
    """Apply the operation of a row to expressions."""
    return _ACT[row.op](*(values[a] for a in row.args))


def unsigned_name(name: str, used_names: Collection[str]) -> tuple[str, int]:
    """Return (name, sign): the C names a row that holds −x neg_x, a reader sees −x."""
    unsigned = name.removeprefix("neg_")
    return (unsigned, -1) if unsigned != name and unsigned not in used_names else (name, 1)


def _input_element(derived: Program, row: Any) -> tuple[str, int]:
    port, element = row.value
    return derived.inputs[port].name, element


def number(value: Fraction, digits: int = SHOWN_DIGITS) -> Any:
    """Return a rational of the description exactly, and a long fraction of an irrational number as
    a Float.
    """
    if len(str(value.denominator)) <= LONGEST_DENOMINATOR:
        return exact(value)
    return sp.Float(exact(value), digits)


def exact(x: Fraction) -> Any:
    return sp.Rational(x.numerator, x.denominator)


def _angle(angle: Angle) -> Any:
    return exact(angle.radians) + exact(angle.pi) * sp.pi


def _is_angle(value: Any) -> bool:
    """True for a rational plus a rational multiple of π, whose sine and cosine may be exact."""
    has_exact_pi = value.is_number and value.has(sp.pi) and not value.has(sp.Float)
    return bool(has_exact_pi and (value - value.coeff(sp.pi) * sp.pi).is_Rational)


def _evaluate_irrational(value: Any) -> Any:
    """Return an irrational number as a Float: sin(0.3) is not shown as a formula."""
    return (
        value.evalf(WORKING_DIGITS)
        if value.is_number and not value.is_Rational and not value.is_Float
        else value
    )


def round_numbers(value: Any) -> Any:
    """Return the expression with at most SHOWN_DIGITS digits per number."""
    longer = [x for x in value.atoms(sp.Float) if x._prec > _BITS]
    return value.xreplace({x: sp.Float(x, SHOWN_DIGITS) for x in longer}) if longer else value


_BITS = sp.Float(1, SHOWN_DIGITS)._prec
