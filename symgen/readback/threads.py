"""Verification of a loop program for one thread of a GPU.

The function is interpreted on terms. Each result must be the term of `symgen.ir.loops.evaluate`.
A parameter of the function states the distance between the elements of each array. The interpreter
uses a different distance for each array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from symgen.ir.loops import WORK, LoopProgram, with_checked_rows
from symgen.ir.program import Port
from symgen.readback import loops
from symgen.readback.c_machine import Memory, Term, Terms, array, statements_allowed
from symgen.readback.comparisons import (
    Comparisons,
    Group,
    GuardedStep,
    LaneComparisons,
    compared_rows,
    failing_runs,
    of_arguments,
    of_steps,
)
from symgen.readback.device import Names
from symgen.readback.parsing import parse_declarations
from symgen.readback.required_checks import STATUSES
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS

STRIDES = (7, 11, 13, 17, 19, 23, 29, 31)
"""Distances between the elements of arrays, all different."""


def compare(
    form: LoopProgram, code: str, names: Names, checked: bool, sines: bool, work: int
) -> list[str]:
    """List the differences between the text of a function of one thread and its loop program.

    `code` is the text without directives and qualifiers. `sines`: a checked function compares
    angles with the range of the text's own sines. `work` is the size of a thread's workspace.
    """
    if checked:
        form = with_checked_rows(form, lambda step: compared_rows(step, sines))
    try:
        return _Reader(form, code, names, checked, sines, work).differences()
    except ProgramError as error:
        return [str(error)]


class _Reader:
    """Reader of the text of one loop program for a thread."""

    def __init__(
        self,
        form: LoopProgram,
        code: str,
        names: Names,
        checked: bool,
        sines: bool,
        work: int,
    ) -> None:
        self.form, self.symbol, self.name = form, names.symbol, names.robot
        self.checked, self.sines, self.work = checked, sines, work
        units = parse_declarations(code)
        self.tables = [unit for unit in units if not isinstance(unit, c_ast.FuncDef)]
        functions = {unit.decl.name: unit for unit in units if isinstance(unit, c_ast.FuncDef)}
        if len(functions) + len(self.tables) != len(units):
            raise ProgramError("a function is defined twice")
        for unit in units:
            declared = getattr(unit, "decl", unit)
            shared = declared.name == names.symbol
            if (declared.storage == ["static"]) == shared:
                required = "must not be static" if shared else "must be static"
                raise ProgramError(f"{declared.name} {required}")
        integers = {f"{names.robot}_{status}": value for value, status in enumerate(STATUSES)}
        self.reading = loops.Reading(names.robot, names.symbol, functions, 0, integers)
        self.function = functions[names.symbol]
        self.ports = (*form.inputs, *form.outputs)

    def differences(self) -> list[str]:
        """List the differences of the parameters, the steps and the results."""
        self._require_parameters()
        steps = {
            text.symbol: loops.read_step(text, self.reading)
            for text in loops.steps_by_symbol(self.form, self.symbol)
            if text.symbol in self.reading.functions
        }
        terms = Terms(REALS[self.form.real])
        expected = loops.expected_results(self.form, terms)
        if not self.checked:
            return _Run(self, terms, steps).differences(expected)
        return self._checked_differences(terms, expected, steps)

    def _require_parameters(self) -> None:
        """Raise ProgramError unless the parameters are the arrays with their distances.

        The arrays are the arguments, the results and the workspace.
        """
        machine = self.reading.machine(Terms(REALS[self.form.real]))
        declared = self.function.decl.type.args.params
        names = [*(port.name for port in self.ports), WORK]
        if len(declared) != 2 * len(names):
            raise ProgramError(f"{self.symbol}_device has {len(declared)} parameters")
        for k, (node, distance) in enumerate(zip(declared[::2], declared[1::2], strict=True)):
            kind, constant = machine.kind(node.type), "const" in node.type.type.quals
            is_expected = (
                (kind.base, kind.form, kind.sizes) == (self.form.real, "pointer", ())
                and node.name.rstrip("_") == names[k]
                and constant == (k < len(self.form.inputs))
                and machine.kind(distance.type)[:2] == ("ptrdiff_t", "")
            )
            if not is_expected:
                raise machine.refuse(node, f"{node.name} of {self.symbol}_device is not {names[k]}")

    def _checked_differences(
        self, terms: Terms, expected_results: Mapping[str, Sequence[Term]], steps: Mapping[str, Any]
    ) -> list[str]:
        """List the differences of runs with all comparisons true, then with one of them false."""
        form, numbers = self.form, of_steps(self.form, self.sines)
        arguments = loops.argument_terms(form, terms)
        results = frozenset(x for values in expected_results.values() for x in values)

        def run(failing: Mapping[int, int]) -> tuple[_Run, Comparisons]:
            terms.line = 0
            ending = Group("RESULT_NOT_FINITE", finite=results)
            lane = LaneComparisons(of_arguments(form, arguments, terms), ending)
            comparisons = Comparisons([lane], failing)
            guarded_steps = {
                symbol: GuardedStep(step, comparisons, numbers, loops.results_of)
                for symbol, step in steps.items()
            }
            return _Run(self, terms, guarded_steps, compare=comparisons), comparisons

        first_run, comparisons_made = run({})
        if differences := first_run.differences(expected_results):
            return differences
        if first_run.returned != 0:
            return [
                f"{self.symbol}_device returns {first_run.returned} although all comparisons hold"
            ]
        if not comparisons_made.complete:
            return [f"{self.symbol}_device lacks a required comparison"]

        def statuses(failing: Mapping[int, int]) -> tuple[Sequence[int], bool]:
            failing_run, _ = run(failing)
            return [failing_run.returned], failing_run.stored

        return failing_runs(comparisons_made, statuses, self.symbol, self.name)


@dataclass(eq=False)
class _Array:
    """An array with a distance between its elements: element k is at index k*distance."""

    port: Port
    distance: int
    memory: Memory

    @property
    def elements(self) -> list[Any]:
        """Elements of the array, in order."""
        return list(self.memory.cells[:: self.distance])


class _Run:
    """One interpreted call of the function on terms."""

    def __init__(
        self, reader: _Reader, terms: Terms, steps: Mapping[str, Any], **settings: Any
    ) -> None:
        self.reader = reader
        terms.line = 0
        machine = reader.reading.machine(terms, steps=steps, **settings)
        loops.add_tables(machine, reader.tables)
        machine.patience = statements_allowed(len(terms.terms))
        arguments = loops.argument_terms(reader.form, terms)
        arrays = [
            _spread(port, distance, arguments.get(port.name))
            for port, distance in zip(reader.ports, STRIDES[1:], strict=False)
        ]
        distance = STRIDES[0]
        work = Memory(WORK, [None] * (distance * (reader.work - 1) + 1), role="workspace")
        self.results = arrays[len(reader.form.inputs) :]
        call_arguments: list[Any] = []
        for spread_array in arrays:
            call_arguments += [array(spread_array.memory), spread_array.distance]
        self.returned = machine.call(reader.symbol, [*call_arguments, array(work), distance])

    @property
    def stored(self) -> bool:
        """True if a result was stored."""
        return any(cell is not None for result in self.results for cell in result.memory.cells)

    def differences(self, expected_results: Mapping[str, Sequence[Term]]) -> list[str]:
        """Return a sentence for the first result that differs from the loop program's, or []."""
        for result in self.results:
            name = result.memory.name
            for k, (cell, term) in enumerate(
                zip(result.elements, expected_results[name], strict=True)
            ):
                if cell is not term:
                    return [loops.result_difference(name, k, cell)]
            stored = sum(cell is not None for cell in result.memory.cells)
            if stored != result.port.size:
                return [f"something is stored between the elements of {name}"]
        return []


def _spread(port: Port, distance: int, terms: Sequence[Term] | None) -> _Array:
    """Return the array of an argument with its terms; of a result (None), an empty array."""
    cells: list[Any] = [None] * (distance * (port.size - 1) + 1)
    if terms is not None:
        cells[::distance] = terms
    role = "result" if terms is None else "argument"
    return _Array(port, distance, Memory(port.name, cells, terms is not None, role=role))
