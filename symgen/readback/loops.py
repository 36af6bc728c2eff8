"""Verification of the C of a loop program: each result must be the term that `evaluate` returns.

The function of each step is interpreted separately, on its own arrays: in each lane it must compute
the rows of its Program. A call of a step is then a single operation of the elements that the step
reads. All other statements are interpreted on terms (`symgen.readback.c_machine`): loops, indices,
tables and parallel loops. The verification does not prescribe the order or the form of the loops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.ir.loops import (
    ANGLE,
    BASE_STEP,
    CHECKED,
    EPILOGUE,
    OF_SEGMENTS,
    WORK,
    LoopProgram,
    SequentialScan,
    Sweep,
    angle_of,
    as_function,
    evaluate,
    with_checked_rows,
)
from symgen.ir.program import Numbers, Port, Program
from symgen.readback import preprocessor, prototypes
from symgen.readback.c_machine import (
    Machine,
    Memory,
    Pointer,
    Term,
    Terms,
    array,
    first_difference,
    statements_allowed,
)
from symgen.readback.comparisons import (
    Comparisons,
    Group,
    GuardedStep,
    LaneComparisons,
    compared_rows,
    failing_runs,
    number_compared,
    of_arguments,
    of_steps,
)
from symgen.readback.parsing import INDEX, Units, parse_units
from symgen.readback.required_checks import STATUSES, computed, shapes
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS

NAMES_OF_0_1_0 = {
    "saved": "kept",
    "new_saved": "keeps",
    "carry": "carried",
    "next_carry": "handed",
    "initial_carry": "start",
    "final_carry": "ended",
    "upsweep": "run",
    "downsweep": "known",
    "left": "front",
    "right": "behind",
}
"""Names of a step's arguments and results in texts of symgen 0.1.0, by their present names.

A text may have either name.
"""
EPILOGUE_OF_0_1_0, OF_SEGMENTS_OF_0_1_0 = "last", "alone"
"""Endings of the names of step functions in texts of symgen 0.1.0.

The present endings are EPILOGUE and OF_SEGMENTS. A text may have either ending.
"""


class StepText(NamedTuple):
    """A step, its form as a function with its own arguments, and the function's name in the C."""

    symbol: str
    step: Program
    function: Program


@dataclass(frozen=True)
class Reading:
    """Definitions of one text that all its machines share.

    `name` is that of the robot, `symbol` that of the function in the C.
    """

    name: str
    symbol: str
    functions: Mapping[str, Any]
    angles: int
    """Number of angles of one call of the text's own sine; 0 if its argument is a number."""
    integers: Mapping[str, int]
    code: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)
    """Translated statements and expressions of the text, which its machines share."""

    def machine(self, terms: Terms, **settings: Any) -> Machine:
        """Return a machine for the text."""
        return Machine(
            terms,
            self.functions,
            sines=(f"{self.name}_sincos", f"{self.symbol}_sincos"),
            macros={f"{self.name}_SIN": "sin", f"{self.name}_COS": "cos"},
            angles=self.angles,
            integers=self.integers,
            code=self.code,
            **settings,
        )


# -- steps -----------------------------------------------------------------------------------------


class StepParameter(NamedTuple):
    """A parameter of a step's function."""

    name: str
    size: int
    lanes: int
    """Number of lanes of each element; 0 if all lanes share the elements."""
    restrict: bool
    """True if the parameter is declared `restrict`."""


@dataclass
class StepFunction:
    """Verified function of a step: it computes the rows of the step's Program in each lane."""

    text: StepText
    parameters: list[StepParameter]
    lanes: int
    gives_angle: bool
    """True if the function returns an angle in place of its sine and cosine."""
    stack: int = 0
    """Bytes of the local arrays of the function."""

    @cached_property
    def reads(self) -> list[tuple[int, int]]:
        """Elements of arguments on which a result depends, as (argument, index)."""
        return elements_read(self.text.function)

    @cached_property
    def results(self) -> list[tuple[int, int]]:
        """Index of each output with elements, and index of its parameter."""
        outputs = [output for output, port in enumerate(self.text.step.outputs) if port.size]
        first = len(self.text.function.inputs)
        return [(output, first + k) for k, output in enumerate(outputs)]

    def __call__(self, machine: Machine, arguments: Sequence[Pointer], node: Any) -> list[Term]:
        """Apply the step to memory; return the term of the call for each lane."""
        self._validate(machine, arguments, node)
        terms, step = machine.terms, self.text.step
        calls = []
        for lane in range(self.lanes or 1):
            operands = []
            for port, k in self.reads:
                pointer, lanes = arguments[port], self.parameters[port].lanes
                at = pointer.at + (k * lanes + lane if lanes else k)
                operands.append(machine.load(pointer.memory, at, node))
            calls.append(call_of(step, operands, terms))
        for lane, call in enumerate(calls):
            results = (
                {0: [terms.of("angle", call)]}
                if self.gives_angle
                else results_of(step, call, terms)
            )
            for output, parameter in self.results:
                pointer, lanes = arguments[parameter], self.parameters[parameter].lanes
                for k, term in enumerate(results[output]):
                    at = pointer.at + (k * lanes + lane if lanes else k)
                    machine.store(pointer.memory, at, term, node)
        return calls

    def _validate(self, machine: Machine, arguments: Sequence[Pointer], node: Any) -> None:
        """Raise ProgramError if an array is too small, or a result overlaps another array."""
        if len(arguments) != len(self.parameters):
            raise machine.refuse(node, f"{self.text.symbol} is given {len(arguments)} arguments")
        passed = node.args.exprs if node.args else ()
        for pointer, parameter, argument in zip(arguments, self.parameters, passed, strict=True):
            shape = (parameter.lanes,) if parameter.lanes else ()
            size = parameter.size * (parameter.lanes or 1)
            is_whole_local = pointer.memory.role == "local" and isinstance(argument, c_ast.ID)
            if is_whole_local and pointer.high - pointer.at != size:
                raise machine.refuse(
                    node,
                    f"{pointer.memory.name} has {pointer.high - pointer.at} numbers, but"
                    f" {parameter.name} has another size",
                )
            if (
                pointer.shape != shape
                or pointer.at < pointer.low
                or pointer.at + size > pointer.high
                or pointer.memory.integers
            ):
                raise machine.refuse(
                    node,
                    f"{pointer.memory.name}[{pointer.at}] and the following elements do not match"
                    f" {parameter.name} of {self.text.symbol}",
                )
        for _, result in self.results:
            for k, parameter in enumerate(self.parameters):
                if k != result and self._overlap(arguments, result, k):
                    raise machine.refuse(
                        node,
                        f"{self.text.symbol} stores {self.parameters[result].name} over"
                        f" {parameter.name}",
                    )

    def _overlap(self, arguments: Sequence[Pointer], result: int, parameter: int) -> bool:
        """True if a result overlaps another result, or elements of an argument that are read.

        A result that is not declared `restrict` may overlap an argument.
        """
        first, second = arguments[result], arguments[parameter]
        if first.memory is not second.memory:
            return False
        stored, used = self.parameters[result], self.parameters[parameter]
        is_argument = parameter < len(self.text.function.inputs)
        if is_argument and not stored.restrict:
            return False  # the function reads all arguments before it stores a result
        shift = first.at - second.at
        disjoint = shift >= used.size * (used.lanes or 1) or -shift >= stored.size * (
            stored.lanes or 1
        )
        if disjoint:
            return False
        lanes = self.lanes or 1
        if shift % lanes or stored.lanes != used.lanes:
            return True
        used_elements = (
            {k for port, k in self.reads if port == parameter} if is_argument else range(used.size)
        )
        return any(k - shift // lanes in range(stored.size) for k in used_elements)


def elements_read(program: Program) -> list[tuple[int, int]]:
    """Return the elements of arguments on which a result depends, as sorted (argument, index)."""
    rows = program.rows
    return sorted({rows[i].value for i in computed(program) if rows[i].op == "input"})


def call_of(step: Program, operands: Sequence[Term], terms: Terms) -> Term:
    """Return the term of a call of a step; `operands` are the elements that the step reads."""
    return terms.of(("step", id(step)), *operands)


def results_of(step: Program, call: Term, terms: Terms) -> dict[int, list[Term]]:
    """Return the results of a call of a step, by the index of the output.

    If a step saves only the sine and the cosine of one angle, both are operations on this angle.
    Then its function in the C may return either the angle, or the sine and the cosine.
    """
    angle = angle_of(step)
    if angle is not None:
        return {0: [terms.of(op, terms.of("angle", call)) for op in angle.operations]}
    return {
        output: [terms.of("result", call, output, k) for k in range(port.size)]
        for output, port in enumerate(step.outputs)
    }


def read_step(text: StepText, reading: Reading) -> StepFunction:
    """Return the function of a step. Raises ProgramError unless it computes the step's rows."""
    function = reading.functions[text.symbol]
    names = [parameter.name for parameter in function.decl.type.args.params]
    angle = angle_of(text.step)
    gives_angle = angle is not None and names[-1].rstrip("_") == ANGLE
    program = text.function
    if angle is not None and gives_angle:
        program = as_function(angle.program, text.function.function)
    machine = reading.machine(Terms(REALS[program.real]))
    parameters = parameters_of(machine, function, program)
    run = RowRun(machine, function, program, parameters)
    machine.terms.sealed = True
    run.call()
    run.require_rows()
    run.require_operations()
    text = text._replace(function=program)
    return StepFunction(text, parameters, run.lanes, gives_angle, machine.peak_stack)


def parameters_of(
    machine: Machine, function: Any, program: Program, extra_count: int = 0
) -> list[StepParameter]:
    """Return the parameters of a function that are the ports of a Program.

    `extra_count` other parameters follow them. Raises ProgramError for other declarations.
    """
    symbol, ports = function.decl.name, (*program.inputs, *program.outputs)
    declared = function.decl.type.args.params
    if len(declared) != len(ports) + extra_count:
        raise machine.refuse(
            function.decl,
            f"{symbol} has {len(declared)} parameters, not {len(ports) + extra_count}",
        )
    parameters = []
    for node, port in zip(declared, ports, strict=False):
        kind = machine.kind(node.type)
        restrict = "restrict" in getattr(node.type, "dim_quals", ())
        size, *lanes = [length or 0 for length in kind.sizes] or [0]
        if (
            kind.form != "array"
            or kind.base != program.real
            or len(lanes) > 1
            or node.name.rstrip("_") not in (port.name, NAMES_OF_0_1_0.get(port.name))
            or size != port.size
        ):
            raise machine.refuse(node, f"{node.name} of {symbol} is not {port.name}[{port.size}]")
        parameters.append(StepParameter(node.name, port.size, lanes[0] if lanes else 0, restrict))
    if len({parameter.lanes for parameter in parameters} - {0}) > 1:
        raise machine.refuse(
            function.decl, f"the arrays of {symbol} have different numbers of lanes"
        )
    return parameters


class RowRun:
    """One interpreted call of a function on its own arrays, compared with rows lane by lane."""

    def __init__(
        self,
        machine: Machine,
        function: Any,
        program: Program,
        parameters: Sequence[StepParameter],
    ) -> None:
        self.machine, self.program, self.parameters = machine, program, parameters
        self.symbol = function.decl.name
        self.lanes = max((parameter.lanes for parameter in parameters), default=0)
        terms = machine.terms
        terms.line = 0
        self.memories = []
        for port, parameter in zip((*program.inputs, *program.outputs), parameters, strict=True):
            size = port.size * (parameter.lanes or 1)
            memory = Memory(parameter.name, [None] * size, role="result")
            if port in program.inputs:
                memory.constant, memory.role = True, "argument"
                memory.cells = cells_of_lanes(port, terms, parameter.lanes or 1)
            self.memories.append(memory)
        self.rows = [
            terms_of_rows(program, self.memories, parameters, lane, terms)
            for lane in range(self.lanes or 1)
        ]
        none_overlap = all(parameter.restrict for parameter in parameters)
        machine.aliased = "" if none_overlap else "anyhow"
        machine.patience = statements_allowed(len(terms.terms))

    def call(self, *extra_arguments: Any) -> None:
        """Interpret the function."""
        pointers = [
            array(memory, *((parameter.lanes,) if parameter.lanes else ()))
            for memory, parameter in zip(self.memories, self.parameters, strict=True)
        ]
        try:
            self.machine.call(self.symbol, [*pointers, *extra_arguments])
        except ProgramError as error:
            raise ProgramError(f"{self.symbol}: {error}") from None

    def require_rows(self) -> None:
        """Raise ProgramError if a result is not the term of its row."""
        first = len(self.program.inputs)
        for port, memory, parameter in zip(
            self.program.outputs, self.memories[first:], self.parameters[first:], strict=True
        ):
            for k, row in enumerate(port.rows):
                for lane, rows in enumerate(self.rows):
                    cell = memory.cells[k * parameter.lanes + lane if parameter.lanes else k]
                    if cell is not rows[row]:
                        stored = "never stored" if cell is None else "another row"
                        lane_index = f"[{lane}]" if parameter.lanes else ""
                        raise ProgramError(
                            f"{self.symbol}: {memory.name}[{k}]{lane_index} is {stored}, not row"
                            f" {row} of the Program"
                        )

    def require_operations(self) -> None:
        """Raise ProgramError if the numbers of operations of the C and of the rows differ."""
        performed = self.machine.terms.operations
        expected = (self.lanes or 1) * operations_of(self.program)
        if performed != expected:
            raise ProgramError(
                f"{self.symbol} does {performed} operations where the Program does {expected}"
            )


def terms_of_rows(
    program: Program,
    memories: Sequence[Memory],
    parameters: Sequence[StepParameter],
    lane: int,
    terms: Terms,
) -> dict[int, Term]:
    """Return the term of each computed row, for one lane."""
    rows: dict[int, Term] = {}
    for i in computed(program):
        op, args, value, _, _ = program.rows[i]
        if op == "input":
            port, k = value
            lanes = parameters[port].lanes
            rows[i] = memories[port].cells[k * lanes + lane if lanes else k]
        else:
            rows[i] = terms.row(op, value, [rows[a] for a in args])
    return rows


def operations_of(program: Program) -> int:
    """Return the number of operations that a machine counts for the rows of a Program.

    Constants and their negatives, arguments, sines and cosines are not counted.
    """
    count = 0
    constants: set[int] = set()
    for i in computed(program):
        op, args = program.rows[i].op, program.rows[i].args
        if op == "const" or (op == "neg" and args[0] in constants):
            constants.add(i)
        elif op not in ("input", "sin", "cos"):
            count += 1
    return count


# -- the loop program ------------------------------------------------------------------------------


def argument_terms(
    form: LoopProgram | Program, terms: Terms, lane: int = 0
) -> dict[str, list[Term]]:
    """Return the terms of the elements of each argument, in one lane."""
    return {
        port.name: [terms.of("argument", port.name, k, lane) for k in range(port.size)]
        for port in form.inputs
    }


def cells_of_lanes(port: Port, terms: Terms, lanes: int) -> list[Term]:
    """Return the elements of an argument in an array of so many lanes."""
    return [
        terms.of("argument", port.name, k, lane) for k in range(port.size) for lane in range(lanes)
    ]


def expected_results(form: LoopProgram, terms: Terms, lane: int = 0) -> dict[str, list[Term]]:
    """Return the terms of the elements of each result, in one lane."""

    def run(
        step: Program, arguments: Mapping[str, Sequence[Any]], _: Numbers
    ) -> dict[str, list[Any]]:
        if id(step) not in reads:
            reads[id(step)] = elements_read(step)
        operands = [arguments[step.inputs[port].name][k] for port, k in reads[id(step)]]
        call = call_of(step, operands, terms)
        results = results_of(step, call, terms)
        return {port.name: results[output] for output, port in enumerate(step.outputs)}

    def refuse(*_: Any) -> Any:
        raise ProgramError("a step is run by itself")

    reads: dict[int, list[tuple[int, int]]] = {}
    numbers = Numbers(terms.constant, refuse, refuse, refuse, refuse)
    arguments = argument_terms(form, terms, lane)
    return evaluate(form, arguments, numbers, run)


def steps_by_symbol(form: LoopProgram, symbol: str) -> Iterator[StepText]:
    """Yield each step of a loop program with each name that its function may have in the C."""
    for endings, step in _steps_by_endings(form):
        for ending in endings:
            function = as_function(step, f"{form.function}_{ending}")
            yield StepText(f"{symbol}_{ending}", step, function)


def _steps_by_endings(form: LoopProgram) -> Iterator[tuple[tuple[str, ...], Program]]:
    """Yield each step with the endings that the name of its function may have."""
    if form.maps:
        for s, form_map in enumerate(form.maps, 1):
            yield (f"{s}",), form_map.steps[0]
        for t, scan in enumerate(form.scans, 1):
            for direction, step in (("up", scan.up), ("down", scan.down)):
                yield (f"{direction}_{t}",), step
                of_segments = (OF_SEGMENTS, OF_SEGMENTS_OF_0_1_0)
                yield tuple(f"{direction}_{t}_{ending}" for ending in of_segments), step
        return
    several = len(form.link_classes) > 1
    for s, stage in enumerate(form.stages, 1):
        if isinstance(stage, SequentialScan):
            yield (f"{s}_first",), stage.opening
            yield (f"{s}_other",), stage.step
        elif isinstance(stage, Sweep):
            for c, step in enumerate(stage.steps, 1):
                yield (f"{s}_{c}" if several else f"{s}",), step
            if stage.base_step:
                yield (f"{s}_{BASE_STEP}",), stage.base_step
    epilogues = (EPILOGUE, EPILOGUE_OF_0_1_0)
    if form.epilogue:
        yield epilogues, form.epilogue
    if form.epilogue_check:
        yield tuple(f"{epilogue}_{CHECKED}" for epilogue in epilogues), form.epilogue_check


def compare(
    form: LoopProgram, text: str, header: str = "", preprocessed: str = "", checked: bool = False
) -> list[str]:
    """List the differences between the C and the loop program; empty if they agree.

    `text`, `header` and `preprocessed` are those of `symgen.readback.rows.compare`. `checked`: the
    function returns a status.
    """
    symbols = re.findall(r"^(?:void|int) (\w+)\(", text, re.MULTILINE)
    if not symbols:
        return ["the C has no function"]
    symbol = symbols[-1]
    name = symbol.removesuffix(f"_{form.function}")
    lines = preprocessor.Lines(text, name, symbol, checked)
    differences = [*lines.differences]
    if name == symbol:
        differences.append(
            f"the function is called {symbol}, which does not end in _{form.function}"
        )
    if header:
        differences += preprocessor.macros(form, header, name, checked)
    try:
        units = parse_units(lines.text, preprocessed)
        if units.function.decl.name != symbol:
            return [*differences, f"{symbol} is not the function with external linkage"]
        reader = _Reader(form, units, lines, name, header, checked)
        differences += reader.signature()
        return differences or reader.differences()
    except ProgramError as error:
        return [*differences, str(error)]


class _Reader:
    """Reader of the text of one loop program."""

    def __init__(
        self,
        form: LoopProgram,
        units: Units,
        lines: preprocessor.Lines,
        name: str,
        header: str,
        checked: bool,
    ) -> None:
        self.units, self.name, self.header, self.checked = units, name, header, checked
        self.function = units.function
        self.symbol = str(units.function.decl.name)
        self.parameters = prototypes.parameters(units.function.decl)
        angles_per_call = preprocessor.angles_at_once(lines.raw, name)
        self.sines = f'#include "{name}_sincos.h"' in lines.raw and not angles_per_call
        if checked:
            form = with_checked_rows(form, lambda step: compared_rows(step, self.sines))
        self.form = form
        integers = sizes_by_name(form, name) | {f"{name}_ANGLES": angles_per_call}
        integers[f"{name}_{WORK.upper()}"] = 0  # declared size of a parameter, which C ignores
        if checked:
            integers |= {f"{name}_{status}": value for value, status in enumerate(STATUSES)}
        functions = {
            unit.decl.name: unit for unit in units.declarations if isinstance(unit, c_ast.FuncDef)
        }
        self.reading = Reading(name, self.symbol, functions, angles_per_call, integers)

    @property
    def ports(self) -> tuple[Port, ...]:
        """Ports of the arguments, then of the results."""
        return (*self.form.inputs, *self.form.outputs)

    def signature(self) -> list[str]:
        """List the differences of the parameters and of the prototype."""
        differences = []
        if self.units.header_prototypes is not None:
            differences += prototypes.differences(
                self.units.header_prototypes, self.symbol, self.parameters, self.checked
            )
        returned = getattr(self.function.decl.type.type, "type", None)
        if getattr(returned, "names", []) != ["int" if self.checked else "void"]:
            status = "a status" if self.checked else "nothing"
            differences.append(f"{self.symbol} does not return {status}")
        count = len(self.ports) + 1 + self.checked
        if len(self.parameters) != count:
            return [
                *differences,
                f"{self.symbol} has {len(self.parameters)} parameters, not {count}",
            ]
        return differences + self._port_differences() + self._work_differences()

    def _port_differences(self) -> list[str]:
        """List the differences of the arguments and results."""
        differences = []
        for k, (port, shape) in enumerate(zip(self.ports, shapes(self.form), strict=True)):
            const, real, parameter, size = self.parameters[k]
            sizes = {
                str(port.size),
                "*".join(map(str, port.shape)),
                "*".join(f"{self.name}_{s}" if isinstance(s, str) else str(s) for s in shape),
            }
            expected = (k < len(self.form.inputs), self.form.real, port.name)
            if (const, real, parameter.rstrip("_")) != expected or size not in sizes:
                differences.append(
                    f"parameter {k} is {'const ' * const}{real} {parameter}[{size}], not"
                    f" {port.name}"
                )
        return differences

    def _work_differences(self) -> list[str]:
        """List the differences of the workspace, and of its size."""
        differences = []
        const, real, parameter, size = self.parameters[len(self.ports)]
        macro = f"{self.name}_{WORK.upper()}"
        if const or real != self.form.real or not (size == macro or INDEX.fullmatch(size)):
            differences.append(
                f"the workspace parameter is {'const ' * const}{real} {parameter}[{size}], not"
                f" [{macro}]"
            )
        stated = preprocessor.work(self.header, self.name) or 0
        if self.header and size == macro and not stated:
            differences.append(f"the header does not define {macro}")
        if self.header and INDEX.fullmatch(size) and stated < int(size):
            differences.append(f"the header states a workspace of fewer than {size} numbers")
        if self.checked and self.parameters[-1][1:2] + self.parameters[-1][3:] != ("int", ""):
            differences.append(
                "the last parameter of a checked function is not an int, the size of the array"
                " before it has"
            )
        return differences

    def differences(self) -> list[str]:
        """List the differences of the steps and of the results."""
        steps, differences = {}, []
        for text in steps_by_symbol(self.form, self.symbol):
            if text.symbol in self.reading.functions:
                try:
                    steps[text.symbol] = read_step(text, self.reading)
                except ProgramError as error:
                    differences.append(str(error))
        if differences:
            return differences
        terms = Terms(REALS[self.form.real])
        expected = expected_results(self.form, terms)
        if self.checked:
            return self._checked_differences(terms, expected, steps)
        run = Run(self, terms, steps, self._work_size())
        run.call()
        return run.differences(expected)

    def _checked_differences(
        self,
        terms: Terms,
        expected_results: Mapping[str, Sequence[Term]],
        steps: Mapping[str, StepFunction],
    ) -> list[str]:
        """List the differences of runs of a checked function.

        In the first run all comparisons are true. Then the workspace is too small. Then one
        comparison is false in each run.
        """
        form = self.form
        numbers = of_steps(form, self.sines)
        arguments = argument_terms(form, terms)
        results = frozenset(x for values in expected_results.values() for x in values)

        def checked_run(size: int, failing: Mapping[int, int]) -> tuple[int, Run, Comparisons]:
            terms.line = 0
            lane = LaneComparisons(
                of_arguments(form, arguments, terms),
                Group("RESULT_NOT_FINITE", finite=results),
                has_parts=bool(form.part_count),
                continues_after_failure=bool(form.part_count),
            )
            comparisons = Comparisons([lane], failing)
            guarded_steps = {
                symbol: GuardedStep(step, comparisons, numbers, results_of)
                for symbol, step in steps.items()
            }
            run = Run(self, terms, guarded_steps, size, compare=comparisons)
            return run.call(size), run, comparisons

        work_size = number_compared(self.function.body, self.parameters[-1][2])
        returned, run, comparisons_made = checked_run(work_size, {})
        differences = run.differences(expected_results)
        stated_size = preprocessor.work(self.header, self.name)
        if stated_size is not None and stated_size < work_size:
            differences.append(f"the header states a workspace of fewer than {work_size} numbers")
        if differences:
            return differences
        if returned != 0:
            return [f"{self.symbol} returns {returned} although all comparisons hold"]
        if not comparisons_made.complete:
            return ["the function lacks a required comparison"]
        for small_size in {0, work_size - 1}:
            returned, run, _ = checked_run(small_size, {})
            written = any(cell is not None for cell in run.work.cells)
            if returned != STATUSES.index("NO_WORK") or run.stored or written:
                return [f"{self.symbol} does not refuse an array of {small_size} numbers"]

        def statuses(failing: Mapping[int, int]) -> tuple[Sequence[int], bool]:
            returned, run, _ = checked_run(work_size, failing)
            return [returned], run.stored

        return failing_runs(comparisons_made, statuses, self.symbol, self.name)

    def _work_size(self) -> int:
        """Return the size of the workspace; an upper bound if neither C nor header states it."""
        size = self.parameters[len(self.ports)][3]
        if INDEX.fullmatch(size):
            return int(size)
        stated_size = preprocessor.work(self.header, self.name)
        if stated_size is not None:
            return stated_size
        form = self.form
        if form.part_count:
            ports = [port for step in form.programs for port in (*step.inputs, *step.outputs)]
            elements = 2 * form.part_count * (form.longest_part + form.longest_part.bit_length())
            return elements * (form.work + sum(port.size for port in ports))
        widest = max((len(sweep.initial) for sweep in form.sweeps), default=0)
        return (len(form) + 1) * (form.work + widest)


class Run:
    """One interpreted call of a function on terms, with a workspace of `work_size` numbers."""

    def __init__(
        self,
        reader: _Reader,
        terms: Terms,
        steps: Mapping[str, Any],
        work_size: int,
        **settings: Any,
    ) -> None:
        self.reader, self.terms = reader, terms
        terms.line = 0
        self.machine = reader.reading.machine(terms, steps=steps, **settings)
        add_tables(
            self.machine, [u for u in reader.units.declarations if not isinstance(u, c_ast.FuncDef)]
        )
        self.results: dict[str, Memory] = {}
        self.arguments = []
        for port, (const, _, name, _) in zip(reader.ports, reader.parameters, strict=False):
            cells: list[Any] = [None] * port.size
            if const:
                cells = argument_terms(reader.form, terms)[port.name]
            memory = Memory(name, cells, const, role="argument" if const else "result")
            self.arguments.append(array(memory))
            if not const:
                self.results[port.name] = memory
        name = reader.parameters[len(reader.ports)][2]
        self.work = Memory(name, [None] * work_size, role="workspace")
        self.arguments.append(array(self.work))
        self.machine.aliased = "aligned" if reader.form.part_count else ""
        self.machine.patience = statements_allowed(len(terms.terms))

    def call(self, *extra_arguments: Any) -> Any:
        """Interpret the function; return its value."""
        return self.machine.call(self.reader.symbol, [*self.arguments, *extra_arguments])

    @property
    def stored(self) -> bool:
        """True if a result was stored."""
        return any(cell is not None for memory in self.results.values() for cell in memory.cells)

    def differences(self, expected_results: Mapping[str, Sequence[Term]]) -> list[str]:
        """Return a sentence for the first result that differs from the loop program's.

        If there is none, return the differences of the tables.
        """
        for port in self.reader.form.outputs:
            memory = self.results[port.name]
            for k, (cell, term) in enumerate(
                zip(memory.cells, expected_results[port.name], strict=True)
            ):
                if cell is not term:
                    return [result_difference(memory.name, k, cell)]
        return table_differences(self.machine, self.reader.form)


def add_tables(machine: Machine, declarations: Sequence[Any]) -> None:
    """Add the constant tables of a text to a machine."""
    for unit in declarations:
        kind = machine.kind(unit.type)
        if kind.form != "array" or unit.init is None or unit.name in machine.tables:
            raise machine.refuse(unit, f"{unit.name} is not a table, or is defined twice")
        table = machine.new_array(unit, kind)
        if not table.memory.constant or len(unit.init.exprs) != kind.sizes[0]:
            raise machine.refuse(unit, f"{unit.name} is not const, or has a wrong number of rows")
        machine.tables[unit.name] = table


def table_differences(machine: Machine, form: LoopProgram) -> list[str]:
    """List the tables with a number that is not a constant of a link.

    Results do not show such an error if the steps of the first link do not read a constant.
    """
    if not any(sweep.base_step for sweep in form.sweeps):
        return []
    rows = (*form.constants, *(sweep.initial for sweep in form.sweeps))
    numbers = {machine.terms.constant(number) for row in rows for number in row}
    return [
        f"{name} has a number that is not a constant of a link"
        for name, table in machine.tables.items()
        if not table.memory.integers and not numbers.issuperset(table.memory.cells)
    ]


def result_difference(name: str, k: int, cell: Term | None) -> str:
    """Return a sentence about a result that differs from the loop program's."""
    if cell is None:
        return f"the result {name}[{k}] is never stored"
    first = first_difference(cell)
    if first.known:
        return f"{name}[{k}] holds a number that belongs to another result, or is stored too early"
    cause = (
        f"{first.note} is called with other numbers than the loop program passes to it"
        if first.note
        else "another number is computed"
    )
    return f"{name}[{k}] differs from the loop program: line {first.line}: {cause}"


def sizes_by_name(form: LoopProgram, name: str) -> dict[str, int]:
    """Return the sizes of arguments and results that have a name in the C, by this name."""
    ports = (*form.inputs, *form.outputs)
    return {
        f"{name}_{symbol}": size
        for port, shape in zip(ports, shapes(form), strict=True)
        for size, symbol in zip(port.shape, shape, strict=True)
        if isinstance(symbol, str)
    }
