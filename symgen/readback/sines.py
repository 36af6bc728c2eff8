"""Verification of the text's own sine and cosine: NAME_sincos.h, and NAME_sincos.cuh for a GPU.

The text is interpreted on terms. Each result must be the term that `sine_and_cosine` returns for
its angle, with the constants of `symgen.vocabulary.sines`. Some texts use the functions of <math.h>
for angles outside of the range of these constants.
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
"""Numbers of angles with which a loop over all angles is tried."""
_GUARD = """\
#ifndef NAME_SINCOS_END
#define NAME_SINCOS_END
#include <math.h>
#endif
"""
"""Directives of a file, in order."""


def sine_and_cosine(x: Term, real: str) -> tuple[Term, Term]:
    """Return the sine and cosine of an angle as terms.

    The angle x is reduced to r - tail in [-pi/4, pi/4] by k quarter turns (Cody and Waite).
    `cosine_of_turns` and `minus_sine_of_turns` belong to the k quarter turns.
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
    tail = k * number(constants.parts[exact])
    for part in constants.parts[exact + 1 :]:
        previous_angle, reduced_angle = reduced_angle, subtract(reduced_angle, tail)
        rounding_error = subtract(subtract(previous_angle, reduced_angle), tail)
        tail = subtract(k * number(part), rounding_error)
    y = reduced_angle * reduced_angle
    sine = reduced_angle + subtract(
        reduced_angle * ((y * _polynomial(y, constants.sine, number)) + number(0)), tail
    )
    cosine = number(1) + (
        y * subtract(y * _polynomial(y, constants.cosine, number), number(Fraction(1, 2)))
    )
    m = subtract(number(4) * j, k)
    cosine_of_turns = subtract(number(1), terms.of("fabs", m))
    minus_sine_of_turns = m * (number(1) + cosine_of_turns)
    return (
        subtract(cosine_of_turns * sine, minus_sine_of_turns * cosine),
        (cosine_of_turns * cosine) + (minus_sine_of_turns * sine),
    )


def _polynomial(y: Term, coefficients: Sequence[str], number: Any) -> Term:
    """Return a polynomial in y by Horner's rule; the coefficients are in ascending order."""
    *lower, highest = coefficients
    operation = "sub" if highest.startswith("-") else "add"
    value: Term = number(highest.removeprefix("-"))
    for coefficient in reversed(lower):
        value = y.terms.of(operation, number(coefficient), y * value)
        operation = "add"
    return value


class Case(NamedTuple):
    """A call: the number of angles, and the indices of the angles that are outside of the range."""

    angles: int
    far: frozenset[int] = frozenset()


@dataclass
class _Text:
    """Parsed text of a sine and cosine: its functions and types by name."""

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
                raise ProgramError(
                    f"line {unit.coord.line}: {name} is not a function or a struct, or is"
                    " defined twice"
                )
            table[name] = content

    def require(self, functions: Sequence[str], kind: str) -> None:
        """Raise ProgramError unless the text defines exactly these functions and this type."""
        for names, expected in ((self.functions, functions), (self.types, [kind])):
            if sorted(names) != sorted(expected):
                raise ProgramError(
                    f"{', '.join(sorted(names))} are defined, not {', '.join(sorted(expected))}"
                )
        fields = sorted(member.name for member in self.types[kind].decls or ())
        if fields != ["cosine", "sine"]:
            raise ProgramError(f"{kind} holds {', '.join(fields)}, not a sine and a cosine")
        for function in self.functions.values():
            if function.decl.storage != ["static"]:
                raise ProgramError(f"{function.decl.name} is not static")

    def differences(self, case: Case, several: bool, far: str) -> Iterator[str]:
        """Yield the results that are not the sine and cosine of their angle.

        `far` is "libm" if angles outside of the range have the sine and cosine of <math.h>, "alone"
        if all angles have them, and "" if no angle has them.
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
                    yield (
                        f"the {field} of angle {k} of {case.angles} differs from the verified"
                        " computation"
                    )


@dataclass
class _Comparisons:
    """Results of comparisons of angles with the range of the text's own sine.

    The text may compare the magnitude of each angle, or the sum of the magnitudes. The angles `far`
    are outside of the range.
    """

    terms: Terms
    angles: Sequence[Term]
    far: frozenset[int]

    def __call__(self, operator: str, left: Term, right: Term, node: Any) -> bool:
        """Return the result of a comparison. Raises ProgramError for any other comparison."""
        magnitudes = {self.terms.of("fabs", angle): k for k, angle in enumerate(self.angles)}
        if operator == "<=" and right is self.terms.constant(FARTHEST):
            if left in magnitudes:
                return magnitudes[left] not in self.far
            if _addends(left) == set(magnitudes):
                return not self.far
        raise ProgramError(
            f"line {node.coord.line}: this is not a comparison of angles with the range"
        )


def _addends(total: Term) -> set[Term]:
    """Return the terms of a sum, without zeros."""
    zero, addends, unvisited = total.terms.constant(Fraction(0)), set(), [total]
    while unvisited:
        term = unvisited.pop()
        if term.operation == "add":
            unvisited += term.operands
        elif term is not zero:
            addends.add(term)
    return addends


def _sincos(machine: Machine, arguments: Sequence[Any], node: Any) -> None:
    """Store the sine and cosine of an angle in fields, as `sincos` of the C library does."""
    angle, *fields = arguments
    if not isinstance(angle, Term) or [type(field) for field in fields] != [Reference] * 2:
        raise machine.strange(node)
    for field, operation in zip(fields, ("sin", "cos"), strict=True):
        field.fields[field.name] = machine.terms.of(operation, angle)


# -- files -----------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def compare(text: str, name: str, real: str, several: bool) -> tuple[str, ...]:
    """List the differences between NAME_sincos.h and the verified sine and cosine.

    `several`: the function takes an array of angles, not one angle.
    """
    kind, far = (f"{name}_turns", "libm") if several else (f"{name}_pair", "")
    code = without_comments(text)
    functions = (f"{name}_sincos",)
    return (*_differences(code, name, real, functions, kind, far, "H"), *disguises(text))


def compare_device(text: str, name: str, real: str, trig: str) -> list[str]:
    """List the differences between NAME_sincos.cuh and the verified sine and cosine for a GPU.

    `trig` is the value of `--trig`. With `auto` angles outside of the range have the sine and
    cosine of <math.h>. With `inline` all angles have the text's own sine and cosine, and with any
    other value all have those of <math.h>.
    """
    code = without_comments(text)
    functions = [f"{name}_sincos"]
    for function, attribute in ((f"{name}_far", "__noinline__"), (f"{name}_sincos", "inline")):
        declaration = f"static __device__ {attribute} {name}_pair {function}("
        if trig == "auto" and function not in functions:
            functions.append(function)
        code = code.replace(declaration, f"static {name}_pair {function}(", 1)
    if strange := re.search(r"\b(?:__\w+|inline)\b", code):
        return [f"{strange[0]} is not at its place in generated code"]
    far = {"auto": "libm", "inline": ""}.get(trig, "alone")
    kind = f"{name}_pair"
    return _differences(code, name, real, functions, kind, far, "CUH") or disguises(text)


def _differences(
    code: str, name: str, real: str, functions: Sequence[str], kind: str, far: str, end: str
) -> list[str]:
    """List the differences of a text without comments.

    `kind` is the type of the function's result, and `end` the ending of the include guard.
    """
    directives = [
        " ".join(line.split()) for line in code.splitlines() if line.lstrip().startswith("#")
    ]
    if directives != _GUARD.replace("NAME", name).replace("END", end).splitlines():
        return ["its directives differ from those of generated headers"]
    several = kind.endswith("_turns")
    try:
        units = parse_text(re.sub(r"^[ \t]*#.*$", "", code, flags=re.MULTILINE))
        text = _Text(name, real, units)
        text.require(functions, kind)
        for count in COUNTS if several else (1,):
            cases = [Case(count)]
            if far == "libm":
                far_angles = {frozenset({0}), frozenset({count - 1}), frozenset(range(count))}
                cases += [Case(count, angles) for angles in far_angles]
            for case in cases:
                for sentence in text.differences(case, several, far):
                    return [sentence]
    except ProgramError as error:
        return [str(error)]
    return []
