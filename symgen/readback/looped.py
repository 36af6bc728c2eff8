"""The C of a loop over links, parsed back, is the Recursion.

Every static part is the step that its name says, row for row (`symgen.readback.rows`). Every table of constants holds those of
the links of its class, each rounded once. The function that calls the parts is run here, link by link, on terms in place of
numbers (`symgen.readback.term_walk`): each call must be given what `symgen.ir.loops.evaluate` gives the step there, and each
result must be the same term in the end. How the loops are written is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from symgen.ir.loops import (
    ANGLE,
    CHECKED,
    CONSTANTS,
    EPILOGUE,
    WORK,
    LoopProgram,
    angle_of,
    as_function,
    with_checked_rows,
)
from symgen.ir.program import Port, Program
from symgen.readback import preprocessor, prototypes
from symgen.readback.literals import Number, literal, nearest, opposite
from symgen.readback.loop_checks import Heeded, compared, of_arguments, of_results, of_steps
from symgen.readback.parsing import INDEX, Units, part_of, units
from symgen.readback.prototypes import Parameter
from symgen.readback.required_checks import STATUSES, shapes
from symgen.readback.rows import Matcher
from symgen.readback.term_walk import Expected, Memory, Part, Walk, expected
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS, Real

INTEGERS = {"short": 2**15, "int": 2**31}
"""Types of tables of numbers of links, and what they do not hold."""
SEVERAL = 4
"""Comparisons of which each is made to fail in turn, besides the last one."""


def compare(
    recursion: LoopProgram, text: str, header: str = "", seen: str = "", checked: bool = False
) -> list[str]:
    """What keeps the C from being the Recursion, `checked` or not; [] when it is.

    `text`, `header` and `seen` are those of `symgen.readback.rows.compare`. A result has one sentence per difference, with the
    line of the C it stands on.
    """
    try:
        return _Reader(recursion, text, header, units(text, seen), checked).differences()
    except ProgramError as error:
        return [str(error)]


class _Reader:
    """One file."""

    def __init__(
        self, recursion: LoopProgram, text: str, header: str, held: Units, checked: bool
    ) -> None:
        self.text, self.header, self.held, self.checked = text, header, held, checked
        self.real = REALS[recursion.real]
        self.symbol = str(held.function.decl.name)
        self.name = self.symbol.removesuffix(f"_{recursion.function}")
        bounded = f'#include "{self.name}_sincos.h"' in text and not preprocessor.together(
            text, self.name
        )
        self.recursion = with_checked_rows(recursion, compared, bounded) if checked else recursion

    def differences(self) -> list[str]:
        found = preprocessor.directives(self.text, self.name, self.symbol)
        if self.name == self.symbol:
            found.append(
                f"the function is called {self.symbol}, which does not end in _{self.recursion.function}"
            )
        if self.header:
            found += preprocessor.macros(self.recursion, self.header, self.name, self.checked)
        parameters = prototypes.parameters(self.held.function.decl)
        if self.held.declared is not None:
            found += prototypes.differences(
                self.held.declared, self.symbol, parameters, self.checked
            )
        returned = self.held.function.decl.type.type
        wanted = "int" if self.checked else "void"
        if getattr(getattr(returned, "type", None), "names", []) != [wanted]:
            found.append(
                f"{self.symbol} does not return {'a status' if self.checked else 'nothing'}"
            )
        found += self._signature(parameters)
        parts, tables = self._parts(found), self._tables(found)
        return found or self._walked(parameters, parts, tables)

    def _signature(self, parameters: Sequence[Parameter]) -> list[str]:
        """Arguments, results and the array that the caller provides."""
        recursion = self.recursion
        ports = [(True, port) for port in recursion.inputs] + [
            (False, port) for port in recursion.outputs
        ]
        if len(parameters) != len(ports) + 1 + self.checked:
            return [
                f"{self.symbol} has {len(parameters)} parameters, not {len(ports) + 1 + self.checked}"
            ]
        found = []
        for index, ((given, port), shape, (const, real, name, size)) in enumerate(
            zip(ports, shapes(recursion), parameters, strict=False)
        ):
            sizes = {
                str(port.size),
                "*".join(map(str, port.shape)),
                "*".join(f"{self.name}_{s}" if isinstance(s, str) else str(s) for s in shape),
            }
            if (const, real, name.rstrip("_")) != (
                given,
                recursion.real,
                port.name,
            ) or size not in sizes:
                found.append(
                    f"parameter {index} is {'const ' * const}{real} {name}[{size}], not the Recursion's {port.name}"
                )
        if self.checked and parameters[-1][1:2] + parameters[-1][3:] != ("int", ""):
            found.append(
                "the last parameter of a checked loop is not an int, how many numbers the array before it has"
            )
        const, real, name, size = parameters[len(ports)]
        if (
            const
            or real != recursion.real
            or not (size == f"{self.name}_{WORK.upper()}" or INDEX.fullmatch(size))
        ):
            wanted = f"{WORK}[{self.name}_{WORK.upper()}]"
            found.append(
                f"the array for its work is {'const ' * const}{real} {name}[{size}], not {wanted}"
            )
        return found

    # -- parts -----------------------------------------------------------------------------------------------------------------

    def _parts(self, found: list[str]) -> dict[str, Part]:
        """The step of each static part, which says all that it does."""
        steps = self._steps()
        parts = {}
        together = preprocessor.together(self.text, self.name)
        for unit in self.held.held[:-1]:
            if not isinstance(unit, c_ast.FuncDef):
                continue
            part = part_of(unit)
            if part.symbol in parts or part.symbol not in steps:
                found.append(f"{part.symbol} is no step of the Recursion, or stands there twice")
                continue
            step = steps[part.symbol]
            angle = angle_of(step)
            given = angle is not None and part.parameters[-1][2].rstrip("_") == ANGLE
            alone = as_function(angle.program if angle and given else step, self.recursion.function)
            looped = any(statement.kind == "array" for statement in part.statements)
            named = part._replace(symbol=self.symbol)  # by which its sines are called, too
            differences = Matcher(alone, named, self.name, together if looped else 0).differences()
            found += [f"{part.symbol}: {sentence}" for sentence in differences]
            parts[part.symbol] = Part(step, alone, angle, given)
        return parts

    def _steps(self) -> dict[str, Program]:
        """By the name of the part."""
        several = len(self.recursion.link_classes) > 1
        last = (
            {f"{self.symbol}_{EPILOGUE}": self.recursion.epilogue}
            if self.recursion.epilogue
            else {}
        )
        last |= (
            {f"{self.symbol}_{EPILOGUE}_{CHECKED}": self.recursion.epilogue_check}
            if self.recursion.epilogue_check
            else {}
        )
        return last | {
            f"{self.symbol}_{s}_{c}" if several else f"{self.symbol}_{s}": step
            for s, sweep in enumerate(self.recursion.sweeps, 1)
            for c, step in enumerate(sweep.steps, 1)
        }

    # -- tables ----------------------------------------------------------------------------------------------------------------

    def _tables(self, found: list[str]) -> dict[str, Any]:
        """What stands in each table: whole numbers, numbers (Memory), or rows of these."""
        tables: dict[str, Any] = {}
        for unit in self.held.held[:-1]:
            if isinstance(unit, c_ast.FuncDef):
                continue
            kind, sizes = _declared(unit)
            line = unit.coord.line
            if unit.name in tables or not isinstance(unit.init, c_ast.InitList):
                raise ProgramError(f"line {line}: {unit.name} is no table, or stands there twice")
            if kind in INTEGERS and len(sizes) == 1:
                tables[unit.name] = [_whole(node, INTEGERS[kind]) for node in unit.init.exprs]
            elif kind == self.recursion.real and len(sizes) == 1:
                tables[unit.name] = [self._number(node) for node in unit.init.exprs]
            elif kind == self.recursion.real and len(sizes) == 2:
                rows = [
                    [self._number(node) for node in getattr(row, "exprs", [])]
                    for row in unit.init.exprs
                ]
                if any(len(row) != sizes[1] for row in rows):
                    raise ProgramError(
                        f"line {line}: a row of {unit.name} has not {sizes[1]} numbers"
                    )
                tables[unit.name] = rows
                found += self._constants(unit.name, rows, line)
            else:
                raise ProgramError(
                    f"line {line}: {unit.name} is a table of {kind}, which generated code never holds"
                )
            if len(tables[unit.name]) != sizes[0]:
                raise ProgramError(
                    f"line {line}: {unit.name} has {len(tables[unit.name])} rows, not {sizes[0]}"
                )
        return tables

    def _constants(self, name: str, rows: Sequence[Sequence[Number]], line: int) -> list[str]:
        """What a class's table has other than the Recursion."""
        number = re.fullmatch(rf"{self.symbol}_{CONSTANTS}(?:_(\d+))?", name)
        own = int(number[1] or 1) - 1 if number else -1
        links = [i for i, kind in enumerate(self.recursion.class_of) if kind == own]
        if len(links) != len(rows):
            return [f"line {line}: {name} has {len(rows)} rows, of {len(links)} links"]
        exact = [[nearest(x, self.real) for x in self.recursion.constants[i]] for i in links]
        wrong = [
            (i, k)
            for i, row, own in zip(links, rows, exact, strict=True)
            for k, (x, wanted) in enumerate(zip(row, own, strict=False))
            if x != wanted
        ]
        wrong += [
            (i, -1)
            for i, row in zip(links, rows, strict=True)
            if len(row) != len(self.recursion.constants[i])
        ]
        return [f"{name}: constant {k} of link {i} is not the Recursion's" for i, k in wrong]

    def _number(self, node: Any) -> Number:
        return number(node, self.real)

    # -- the function ----------------------------------------------------------------------------------------------------------

    def _walked(
        self, parameters: Sequence[Parameter], parts: dict[str, Part], tables: dict[str, Any]
    ) -> list[str]:
        """What the function does otherwise than the Recursion."""
        wanted = expected(self.recursion)
        walk, arrays = self._run(parameters, parts, tables, wanted, 0)
        found = []
        if len(walk.calls) != len(wanted.calls):
            found.append(f"{self.symbol} calls {len(walk.calls)} steps, not {len(wanted.calls)}")
        results = [
            (array, wanted.results[port.name])
            for array, port in zip(arrays, self._ports, strict=False)
            if port.name in wanted.results
        ]
        for array, terms in results:
            for k, (x, term) in enumerate(zip(array.cells, terms, strict=True)):
                if x != term:
                    found.append(f"{array.name}[{k}] is not what the Recursion gives")
                    break
        if not isinstance(walk, Heeded) or found:
            return found
        if walk.returned:
            return [f"{self.symbol} returns {walk.returned} where all holds"]
        met = walk.met
        for failing in sorted({*range(1, min(len(met), SEVERAL) + 1), len(met)}):
            walk, arrays = self._run(parameters, parts, tables, wanted, failing)
            assert isinstance(walk, Heeded)
            if walk.stored or walk.returned is None or STATUSES[walk.returned] != met[failing - 1]:
                found.append(
                    f"where comparison {failing} does not hold {self.symbol} stores something, or does not say so"
                )
        return found

    @property
    def _ports(self) -> tuple[Port, ...]:
        return (*self.recursion.inputs, *self.recursion.outputs)

    def _run(
        self,
        parameters: Sequence[Parameter],
        parts: dict[str, Part],
        tables: dict[str, Any],
        wanted: Expected,
        failing: int,
    ) -> tuple[Walk, list[Memory]]:
        """One run of the function; comparison number `failing` does not hold, if there is one."""
        arrays = []
        for (const, _, name, _), port in zip(parameters, self._ports, strict=False):
            inside = [
                wanted.terms.of(("input", port.name, k)) if const else None
                for k in range(port.size)
            ]
            arrays.append(Memory(name, inside, not const))
        _, _, held, size = parameters[len(self._ports)]
        arrays.append(Memory(held, [None] * self._work(size), True))
        named = {one.name: one for one in arrays}
        sines = (
            f"{self.name}_sincos",
            f"{self.symbol}_sincos",
        )  # the second is what the text's own macro makes of it
        together = preprocessor.together(self.text, self.name)
        if not self.checked:
            walk = Walk(named, tables, parts, self.real, wanted, self.name, sines, together)
        else:
            walk = Heeded(
                named,
                tables,
                parts,
                self.real,
                wanted,
                self.name,
                sines,
                together,
                size=parameters[-1][2],
                held=held,
                results=tuple(one.name for one in arrays[len(self.recursion.inputs) : -1]),
                owed=of_arguments(self.recursion, wanted, self.real),
                steps=of_steps(self.recursion, self.real),
                of_results=of_results(self.recursion, wanted, self.real),
                failing=failing,
            )
        walk.run(self.held.function.body)
        return walk, arrays

    def _work(self, size: str) -> int:
        """Numbers of the array that the caller provides; where that is not known, as many as may be needed."""
        if INDEX.fullmatch(size):
            return int(size)
        if (told := preprocessor.work(self.header, self.name)) is not None:
            return told
        widest = max((len(sweep.initial) for sweep in self.recursion.sweeps), default=0)
        return (len(self.recursion) + 1) * (self.recursion.work + widest)


def _declared(unit: Any) -> tuple[str, list[int]]:
    """The type and the sizes of a table; ProgramError for what is no constant array."""
    sizes, inner = [], unit.type if isinstance(unit, c_ast.Decl) else None
    while isinstance(inner, c_ast.ArrayDecl):
        size = getattr(inner.dim, "value", "")
        sizes.append(int(size) if INDEX.fullmatch(size) else 0)
        inner = inner.type
    if (
        not isinstance(inner, c_ast.TypeDecl)
        or inner.quals != ["const"]
        or not sizes
        or not all(sizes)
    ):
        raise ProgramError(
            f"line {unit.coord.line}: {getattr(unit, 'name', '')} is no constant table of known size"
        )
    return " ".join(getattr(inner.type, "names", ["?"])), sizes


def _whole(node: Any, limit: int) -> int:
    """A whole number of a table."""
    negative = isinstance(node, c_ast.UnaryOp) and node.op == "-"
    value = getattr(node.expr if negative else node, "value", "")
    if not INDEX.fullmatch(value) or int(value) >= limit:
        raise ProgramError(f"line {node.coord.line}: a number of a table is none")
    return -int(value) if negative else int(value)


def number(node: Any, real: Real) -> Number:
    """A literal, with its sign."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "-" and isinstance(node.expr, c_ast.Constant):
        return opposite(number(node.expr, real))
    found = literal(node.value, real) if isinstance(node, c_ast.Constant) else None
    if found is None:
        raise ProgramError(f"line {node.coord.line}: this is no literal of the type {real.name}")
    return found
