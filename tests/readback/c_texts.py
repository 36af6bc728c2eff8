"""Short C texts on the machine that reads C, and the numbers that its terms stand for."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from pycparser import c_ast

from symgen.readback import loops
from symgen.readback.c_machine import Machine, Memory, Pointer, Term, Terms, array
from symgen.readback.parsing import parse_text
from symgen.vocabulary.reals import DOUBLE, Real

TYPES = ("ptrdiff_t", "arm_pair", "arm_turns", "grid", "stream")
"""Names that are types in the texts."""
OPERATIONS: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": math.sqrt,
    "log": math.log,
    "fabs": abs,
    "atan2": math.atan2,
}


@cache
def declarations(text: str) -> tuple[Any, ...]:
    """Return the declarations of a text, in which some names are types."""
    types = "".join(f"typedef int {name};" for name in TYPES)
    return tuple(parse_text(types + text)[len(TYPES) :])


def machine(text: str, real: Real = DOUBLE, **settings: Any) -> Machine:
    """Return a machine for the functions and the tables of a text."""
    units = declarations(text)
    functions = {unit.decl.name: unit for unit in units if isinstance(unit, c_ast.FuncDef)}
    made = Machine(Terms(real), functions, sines=("arm_sincos",), **settings)
    loops.add_tables(made, [unit for unit in units if not isinstance(unit, c_ast.FuncDef)])
    return made


def inputs(terms: Terms, name: str, count: int) -> list[Any]:
    """Return the terms of the elements of an argument."""
    return [terms.of("input", name, k) for k in range(count)]


def argument(terms: Terms, name: str, count: int) -> Pointer:
    """Return an array of so many elements that may only be read."""
    return array(Memory(name, inputs(terms, name, count), constant=True, role="argument"))


def empty(name: str, count: int, role: str = "result", integers: bool = False) -> Pointer:
    """Return an array that nothing was stored to."""
    return array(Memory(name, [None] * count, role=role, integers=integers))


def number(term: Term, values: Mapping[str, Sequence[float]]) -> float:
    """Return the number of a term, computed in the arithmetic of the processor."""
    if term.operation == "const":
        negative, magnitude = term.operands[0]
        return math.copysign(float(magnitude), -1.0 if negative else 1.0)
    if term.operation == "input":
        name, k = term.operands
        return float(values[name][k])
    numbers = [number(operand, values) for operand in term.operands]
    return OPERATIONS[term.operation](*numbers)
