"""The sine and cosine that a text brings with it, interpreted: NAME_sincos.h, and NAME_sincos.cuh
for a GPU.

Each result is the term that `sine_and_cosine` states of its angle, by the constants of
`symgen.vocabulary.sines`. Angles beyond the range of these have the sine and cosine of the
language's own library, where the text says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.readback.c_machine import (
    Machine,
    Memory,
    Reference,
    Term,
    Terms,
    array,
    statements_allowed,
)
from symgen.readback.parsing import parse_text
from symgen.readback.preprocessor import disguises, without_comments
from symgen.readback.required_checks import FARTHEST
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.sines import CONSTANTS

COUNTS = (1, 2, 5)
"""Numbers of angles that a loop over all of them is tried with."""
_GUARD = """\
#ifndef NAME_SINCOS_END
#define NAME_SINCOS_END
#include <math.h>
#endif
"""
"""All directives of a file."""


def sine_and_cosine(x: Term, real: str) -> tuple[Term, Term]:
    """Return the sine and cosine of an angle as terms.

    x is brought to r - tail in [-pi/4, pi/4] by k quarter turns (Cody and Waite). `turned` and
    `across` are the cosine of these and minus their sine.
    """
    terms, constants = x.terms, CONSTANTS[real]

    def number(value: str | Fraction | int) -> Term:
        return terms.constant(Fraction(str(value).removesuffix(REALS[real].suffix)))

    def subtract(left: Term, right: Term) -> Term:
        return terms.of("sub", left, right)

    whole = number(constants.whole)
    k = subtract((x * number(constants.turns)) + whole, whole)
    j = subtract((k * number(Fraction(1, 4))) + whole, whole)
    exact = 1 if len(constants.parts) == 3 else 2  # differences that need no correction
    reduced_angle = x
    for part in constants.parts[:exact]:
        reduced_angle = subtract(reduced_angle, k * number(part))
    taken = k * number(constants.parts[exact])
    for part in constants.parts[exact + 1 :]:
        before, reduced_angle = reduced_angle, subtract(reduced_angle, taken)
        taken = subtract(k * number(part), subtract(subtract(before, reduced_angle), taken))
    tail = taken
    y = reduced_angle * reduced_angle
    sine = reduced_angle + subtract(
        reduced_angle * ((y * _polynomial(y, constants.sine, number)) + number(0)), tail
    )
    cosine = number(1) + (
        y * subtract(y * _polynomial(y, constants.cosine, number), number(Fraction(1, 2)))
    )
    m = subtract(number(4) * j, k)
    turned = subtract(number(1), terms.of("fabs", m))
    across = m * (number(1) + turned)
    return (
        subtract(turned * sine, across * cosine),
        (turned * cosine) + (across * sine),
    )


def _polynomial(y: Term, coefficients: Sequence[str], number: Any) -> Term:
    """Return a polynomial in y by Horner's rule, from its coefficients in rising order."""
    *lower, highest = coefficients
    operation = "sub" if highest.startswith("-") else "add"
    value: Term = number(highest.removeprefix("-"))
    for coefficient in reversed(lower):
        value = y.terms.of(operation, number(coefficient), y * value)
        operation = "add"
    return value


class Case(NamedTuple):
    """A call: the number of angles, and those of them that are beyond the range."""

    angles: int
    far: frozenset[int] = frozenset()


@dataclass
class _Text:
    """A text with a sine and cosine of its own."""

    name: str
    real: str
    units: list[Any]

    def __post_init__(self) -> None:
        self.functions: dict[str, Any] = {}
        self.types: dict[str, Any] = {}
        for unit in self.units:
            if isinstance(unit, c_ast.FuncDef):
                name, table, content = unit.decl.name, self.functions, unit
            else:
                name, table, content = unit.name, self.types, getattr(unit.type, "type", None)
            if name in table or not isinstance(content, c_ast.FuncDef | c_ast.Struct):
                raise ProgramError(f"line {unit.coord.line}: {name} does not belong there")
            table[name] = content

    def require(self, functions: Sequence[str], kind: str) -> None:
        """Raise ProgramError where other functions are there, or another type than that of a sine
        and a cosine.
        """
        for names, expected in ((self.functions, functions), (self.types, [kind])):
            if sorted(names) != sorted(expected):
                raise ProgramError(
                    f"{', '.join(sorted(names))} are there, not {', '.join(sorted(expected))}"
                )
        fields = sorted(member.name for member in self.types[kind].decls or ())
        if fields != ["cosine", "sine"]:
            raise ProgramError(f"{kind} holds {', '.join(fields)}, not a sine and a cosine")
        for function in self.functions.values():
            if function.decl.storage != ["static"]:
                raise ProgramError(f"{function.decl.name} is not static")

    def differences(self, case: Case, several: bool, far: str) -> Iterator[str]:
        """List the results that are not the sine and cosine of their angle. `far`: "libm" or ""
        beyond the range.
        """
        terms = Terms(REALS[self.real])
        angles = [terms.of("angle", k) for k in range(case.angles)]
        machine = Machine(
            terms,
            self.functions,
            integers={f"{self.name}_ANGLES": case.angles},
            compare=_Comparisons(terms, angles, case.far) if far else None,
            externals={REALS[self.real].libm("sincos"): _sincos},
            patience=statements_allowed(case.angles),
        )
        machine.structs = {
            kind: partial(machine.struct, kind, declared) for kind, declared in self.types.items()
        }
        argument: Any = array(Memory("angle", [*angles], True)) if several else angles[0]
        returned = machine.call(f"{self.name}_sincos", [argument])
        for k, angle in enumerate(angles):
            results = [returned[field] for field in ("sine", "cosine")]
            if several:
                results = [result.memory.cells[k] for result in results]
            expected = [*sine_and_cosine(angle, self.real)]
            if far and (k in case.far or far == "alone"):
                expected = [terms.of(operation, angle) for operation in ("sin", "cos")]
            for field, result, term in zip(("sine", "cosine"), results, expected, strict=True):
                if result is not term:
                    yield f"the {field} of angle {k} of {case.angles} is computed otherwise"


@dataclass
class _Comparisons:
    """The comparisons of angles with the range of the text's own sine: of each angle, or of a sum
    of their magnitudes.
    """

    terms: Terms
    angles: Sequence[Term]
    far: frozenset[int]

    def __call__(self, operator: str, left: Term, right: Term, node: Any) -> bool:
        """Decide a comparison; ProgramError where it is another one."""
        sizes = {self.terms.of("fabs", angle): k for k, angle in enumerate(self.angles)}
        if operator == "<=" and right is self.terms.constant(FARTHEST):
            if left in sizes:
                return sizes[left] not in self.far
            if _addends(left) == set(sizes):
                return not self.far
        raise ProgramError(
            f"line {node.coord.line}: this is not a comparison of angles with the range"
        )


def _addends(total: Term) -> set[Term]:
    """Return the terms of a sum, zeros left out."""
    zero, addends, open_ = total.terms.constant(Fraction(0)), set(), [total]
    while open_:
        term = open_.pop()
        if term.operation == "add":
            open_ += term.operands
        elif term is not zero:
            addends.add(term)
    return addends


def _sincos(machine: Machine, arguments: Sequence[Any], node: Any) -> None:
    """Store the library's sine and cosine of an angle."""
    angle, *fields = arguments
    if not isinstance(angle, Term) or [type(field) for field in fields] != [Reference] * 2:
        raise machine.strange(node)
    for field, operation in zip(fields, ("sin", "cos"), strict=True):
        field.fields[field.name] = machine.terms.of(operation, angle)


# -- files -----------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def compare(text: str, name: str, real: str, several: bool) -> tuple[str, ...]:
    """List what keeps NAME_sincos.h from being the sine and cosine, of `several` angles at once or
    of one.
    """
    kind, far = (f"{name}_turns", "libm") if several else (f"{name}_pair", "")
    code = without_comments(text)
    functions = (f"{name}_sincos",)
    return (*_differences(code, name, real, functions, kind, far, "H"), *disguises(text))


def compare_device(text: str, name: str, real: str, trig: str) -> list[str]:
    """List what keeps NAME_sincos.cuh from being the sine and cosine of a text for a GPU by
    `--trig`.

    By `auto` angles beyond the range have the library's sine and cosine, by `inline` all have the
    text's own, otherwise the library's.
    """
    code = without_comments(text)
    functions = [f"{name}_sincos"]
    for function, attribute in ((f"{name}_far", "__noinline__"), (f"{name}_sincos", "inline")):
        begin = f"static __device__ {attribute} {name}_pair {function}("
        if trig == "auto" and function not in functions:
            functions.append(function)
        code = code.replace(begin, f"static {name}_pair {function}(", 1)
    if strange := re.search(r"\b(?:__\w+|inline)\b", code):
        return [f"{strange[0]} is not at its place in generated code"]
    far = {"auto": "libm", "inline": ""}.get(trig, "alone")
    kind = f"{name}_pair"
    return _differences(code, name, real, functions, kind, far, "CUH") or disguises(text)


def _differences(
    code: str, name: str, real: str, functions: Sequence[str], kind: str, far: str, end: str
) -> list[str]:
    """List the differences of a text without comments."""
    directives = [
        " ".join(line.split()) for line in code.splitlines() if line.lstrip().startswith("#")
    ]
    if directives != _GUARD.replace("NAME", name).replace("END", end).splitlines():
        return ["its directives are other than those of generated headers"]
    several = kind.endswith("_turns")
    try:
        units = parse_text(re.sub(r"^[ \t]*#.*$", "", code, flags=re.MULTILINE))
        text = _Text(name, real, units)
        text.require(functions, kind)
        for count in COUNTS if several else (1,):
            cases = [Case(count)]
            if far == "libm":
                chosen = {frozenset({0}), frozenset({count - 1}), frozenset(range(count))}
                cases += [Case(count, angles) for angles in chosen]
            for case in cases:
                for sentence in text.differences(case, several, far):
                    return [sentence]
    except ProgramError as error:
        return [str(error)]
    return []
