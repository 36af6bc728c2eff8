"""Comparisons of a checked function (`--checked`): arguments, angles, divisors and results.

The function makes them before it stores a result. They rely on infinity and NaN as defined by IEEE
754; a compiler with -ffast-math, which assumes that no number is NaN, removes them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from symgen.emission import sincos
from symgen.emission.c_text import WIDTH
from symgen.emission.writer import Spelling, live_rows
from symgen.ir.loops import Form
from symgen.ir.program import Bound, Element, Program
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

STATUSES = {
    "OK": "the results are stored",
    "NOT_FINITE": "an argument is infinite or not a number",
    "OUT_OF_RANGE": "an angle is too large for the inline sine and cosine (--trig inline)",
    "DIVISOR": "a divisor, or the argument of a logarithm or a root, is too small or not finite",
    "NOT_UNIT": "a quaternion does not have length 1",
    "NO_WORK": "the workspace has too few numbers",
    "RESULT_NOT_FINITE": (
        "a result, or a number that it is computed from, is infinite or not a number"
    ),
}
"""Meaning of each status of a checked function, in the order of their values 0, 1, …

The name of a status in C is NAME_OK etc.
"""
TERMS = 32
"""Largest number of terms of a sum; some parsers reject longer sums as nested too deeply."""


LENGTH = {"double": Fraction(1, 2**20), "float": Fraction(1, 2**12)}
"""Largest difference between 1 and the squared length of a quaternion, by real type."""


class Guard(NamedTuple):
    """Condition that `row`, or its magnitude if `magnitude` is True, is at least `bound`."""

    row: int
    magnitude: bool
    bound: Bound


def guards(
    program: Program, live: Sequence[int], divisor_bounds: Mapping[int, Bound]
) -> list[Guard]:
    """Return the guards of divisors and of operands of logarithms and roots, one for each row.

    `divisor_bounds` are certified bounds of rows. The bound of a divisor without a certified bound
    is the smallest normal number, for its magnitude.
    """
    operations_by_row: dict[int, set[str]] = {}
    for i in live:
        op, args = program.rows[i].op, program.rows[i].args
        if op in ("div", "log", "sqrt") and program.rows[args[-1]].op != "const":
            operations_by_row.setdefault(args[-1], set()).add(op)
    least = REALS[program.real].least
    return [
        Guard(
            row,
            row not in divisor_bounds and ops == {"div"},
            divisor_bounds.get(row, Fraction(0) if ops == {"sqrt"} else least),
        )
        for row, ops in operations_by_row.items()
    ]


class Comparisons(NamedTuple):
    """Rows that a checked function compares before it stores; all are empty without checks.

    - `angles`: rows whose magnitude must be within the range of the inline sine and cosine.
    - `guards`: guards of divisors and of operands of logarithms and roots.
    - `hiding`: operands that may be infinite although the result is finite.
    - `finite`: rows that must be finite.
    """

    angles: Sequence[int] = ()
    guards: Sequence[Guard] = ()
    hiding: Sequence[int] = ()
    finite: Sequence[int] = ()


def comparisons(
    program: Program, target: Target, divisor_bounds: Mapping[int, Bound]
) -> Comparisons:
    """Return the comparisons of a function; `divisor_bounds` are certified bounds of rows."""
    if not target.checked:
        return Comparisons()
    live = live_rows(program)
    return Comparisons(
        angles(program, live) if target.text.trig == "inline" else (),
        guards(program, live, divisor_bounds),
        hiding_rows(program, live),
        finite_rows(program, live),
    )


def finite_rows(program: Program, live: Iterable[int]) -> list[int]:
    """Return the rows that must be finite, each once: results and the rows of `hiding_rows`.

    Constants are omitted, and so are arguments, which the function compares earlier.
    """
    results = [row for port in program.outputs for row in port.rows]
    compared_rows = dict.fromkeys([*results, *hiding_rows(program, live)])
    return [row for row in compared_rows if program.rows[row].op not in ("const", "input")]


def hiding_rows(program: Program, live: Iterable[int]) -> list[int]:
    """Return operands that may be infinite although the result is finite.

    These are divisors and both operands of atan2.
    """
    operands: list[int] = []
    for i in live:
        op, args = program.rows[i].op, program.rows[i].args
        operands += args if op == "atan2" else args[1:] if op == "div" else ()
    return operands


def angles(program: Program, live: Iterable[int]) -> list[int]:
    """Return the operands of sines and cosines, each once."""
    return list(
        dict.fromkeys(program.rows[i].args[0] for i in live if program.rows[i].op in ("sin", "cos"))
    )


def ancestors(program: Program, rows: Iterable[int]) -> set[int]:
    """Return rows and all rows that they depend on."""
    visited: set[int] = set()
    pending = list(rows)
    while pending:
        row = pending.pop()
        if row not in visited:
            visited.add(row)
            pending += program.rows[row].args
    return visited


def conditions(
    program: Program,
    spelling: Spelling,
    text: Mapping[int, str],
    compared: Comparisons,
    results: Iterable[str],
) -> dict[str, str]:
    """Return the conditions of a checked function as text, by name.

    `text` has the text of each row, `results` the texts of the numbers that must be finite. An
    empty text is no condition.
    """
    language, real = spelling.language, REALS[program.real]

    def number(value: Fraction | int) -> str:
        return language.literal(Fraction(value), real)

    def magnitude(value: str) -> str:
        return f"{language.call('fabs', real)}({value})"

    def element(port: int, index: int) -> str:
        return language.at(spelling.inputs[port], index)

    def length_error(port: int, first: int) -> str:
        """Return the text of the difference between 1 and the squared length of a quaternion."""
        entries = [element(port, k) for k in range(first, first + 4)]
        square = " + ".join(f"{entry}*{entry}" for entry in entries)
        return magnitude(f"{square} - {number(1)}")

    def comparison(guard: Guard) -> str:
        value, least = text[guard.row], guard.bound
        left = magnitude(value) if guard.magnitude else value
        right = element(*least) if isinstance(least, Element) else number(least)
        return f"{left} >= {right}"

    zeros = [
        f"{number(0)}*{element(i, k)}"
        for i, port in enumerate(program.inputs)
        for k in range(port.size)
    ]
    units = [
        f"{length_error(port, first)} <= {number(LENGTH[program.real])}"
        for port, first in program.unit_quaternions
    ]
    ranges = [f"{magnitude(text[row])} <= {number(sincos.RANGE)}" for row in compared.angles]
    return {
        "zero": number(0),
        "zeros": lines(zeros, "+", 8),
        "units": lines(units, "&&", 8),
        "ranges": lines(ranges, "&&", 8),
        "divisors": lines([comparison(guard) for guard in compared.guards], "&&", 12),
        "finite": _finite(list(results), number(0), 16),
    }


def _finite(numbers: Sequence[str], zero: str, indent: int) -> str:
    """Return the condition that all `numbers` are finite; "" without numbers.

    The sum of their products with zero is zero if all are finite, and NaN otherwise.
    """
    products = [f"({zero}*{x})" for x in numbers]
    sums = [
        f"({' + '.join(products[k : k + TERMS])}) >= {zero}" for k in range(0, len(products), TERMS)
    ]
    joined = " && ".join(f"({part})" for part in sums) if len(sums) > 1 else "".join(sums)
    wrapped = textwrap.wrap(
        joined.replace(" >= ", "\0>=\0"), WIDTH - indent, break_long_words=False
    )
    return f"\n{' ' * indent}".join(wrapped).replace("\0", " ")


def statuses(forms: Iterable[Form], target: Target) -> list[dict[str, Any]]:
    """Return `name`, `value` and meaning (`what`) of each status that the functions can return."""
    forms = list(forms)
    divides = any(guards(step, live_rows(step), {}) for form in forms for step in form.programs)
    computes = any(finite_rows(step, live_rows(step)) for form in forms for step in form.programs)
    returned = {
        "OK",
        "NOT_FINITE",
        *(["RESULT_NOT_FINITE"] if computes else []),
        *(["OUT_OF_RANGE"] if target.text.trig == "inline" else []),
        *(["DIVISOR"] if divides else []),
        *(["NOT_UNIT"] if any(form.quaternions for form in forms) else []),
        *(["NO_WORK"] if any(form.looped for form in forms) else []),
    }
    return [
        {"name": name, "value": value, "what": meaning}
        for value, (name, meaning) in enumerate(STATUSES.items())
        if name in returned and target.checked
    ]


def lines(parts: Sequence[str], operator: str, indent: int) -> str:
    """Return `parts` joined by an operator, on lines with an indentation.

    Several parts are in parentheses, and a line ends only between two parts.
    """
    grouped = [f"({part})" for part in parts] if len(parts) > 1 else parts
    joined = f" {operator} ".join(part.replace(" ", "\0") for part in grouped)
    return f"\n{' ' * indent}".join(
        textwrap.wrap(joined, WIDTH - indent, break_long_words=False)
    ).replace("\0", " ")
