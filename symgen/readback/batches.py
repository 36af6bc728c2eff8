"""Verification of the C of functions for many states: the block function and its two drivers.

The block function, NAME_<function>_block, computes one state per lane. It is interpreted on terms:
each lane must compute the rows of the Program, or the results of the loop program. The drivers,
NAME_<function>_strided and NAME_<function>_batch, copy states into the lanes of a block, call the
block function, and copy its results back. The drivers are interpreted for several numbers of states
in several layouts, with the block function as a single operation. Each state must be read
completely, and the last state must fill the unused lanes. Each result must be stored in its place,
unless the status of its state is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers_from
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from pycparser import c_ast

from symgen.ir.loops import Form, LoopProgram, with_checked_rows
from symgen.ir.program import Bound, Port, Program
from symgen.readback import headers, loops, preprocessor
from symgen.readback.c_machine import (
    Machine,
    Memory,
    Pointer,
    Term,
    Terms,
    array,
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
    of_rows,
    of_steps,
)
from symgen.readback.parsing import parse_declarations
from symgen.readback.required_checks import STATUSES
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS


class BatchText(NamedTuple):
    """Texts of a function for many states: its C file, NAME_lanes.h and NAME_batch.h."""

    source: str
    lanes: str
    header: str


def compare(
    form: Form, text: BatchText, name: str, checked: bool, divisor_bounds: Mapping[int, Bound]
) -> list[str]:
    """List the differences between the text of a function for many states and its form.

    The form is a Program or a loop program. `checked`: the function returns statuses.
    `divisor_bounds` are the certified bounds of divisors, by row.
    """
    try:
        return _Reader(form, text, name, checked, divisor_bounds).differences()
    except ProgramError as error:
        return [str(error)]


class _Reader:
    """Reader of the text of one function for many states."""

    def __init__(
        self,
        form: Form,
        text: BatchText,
        name: str,
        checked: bool,
        divisor_bounds: Mapping[int, Bound],
    ) -> None:
        self.name, self.checked, self.divisor_bounds = name, checked, divisor_bounds
        # The name of a derivative, such as f:jacobian(q,v), has other characters than words.
        function_name = "_".join(re.findall(r"\w+", form.function))
        self.symbol = f"{name}_{function_name}"
        lines = preprocessor.BatchLines(text.source, text.lanes, name, self.symbol, checked)
        self.lines = lines
        angles_per_call = preprocessor.angles_at_once(text.source, name)
        self.sines = f'#include "{name}_sincos.h"' in text.source and not angles_per_call
        if checked and form.looped:
            form = with_checked_rows(form, lambda step: compared_rows(step, self.sines))
        self.form = form
        units = [
            *parse_declarations(lines.lanes, f"{name}_lanes.h"),
            *parse_declarations(lines.source),
        ]
        self.tables = [unit for unit in units if not isinstance(unit, c_ast.FuncDef)]
        functions = {unit.decl.name: unit for unit in units if isinstance(unit, c_ast.FuncDef)}
        if len(functions) + len(self.tables) != len(units):
            raise ProgramError("a function is defined twice")
        for unit in units:
            declared = getattr(unit, "decl", unit)
            shared = declared.name in (f"{self.symbol}_strided", f"{self.symbol}_batch")
            if (declared.storage == ["static"]) == shared:
                required = "must not be static" if shared else "must be static"
                raise ProgramError(f"line {declared.coord.line}: {declared.name} {required}")
        integers = {f"{name}_{status}": value for value, status in enumerate(STATUSES)}
        self.reading = loops.Reading(name, self.symbol, functions, angles_per_call, integers)
        self.header = text.header
        self.stack, work = headers.read_batch(text.header, name)
        self.work = work if form.looped else 0

    def differences(self) -> list[str]:
        """List the differences between the text and the form."""
        differences = [*self.lines.differences]
        for suffix in ("block", "strided", "batch"):
            if f"{self.symbol}_{suffix}" not in self.reading.functions:
                return [*differences, f"there is no function {self.symbol}_{suffix}"]
        functions = self.reading.functions
        differences += headers.batch_differences(self.header, self.name, self.symbol, functions)
        if differences:
            return differences
        block = self._block()
        return list(_driver_differences(self, block))

    def _block(self) -> Block:
        """Return the block. Raises ProgramError unless each lane computes the form."""
        if self.form.looped:
            return _read_loops(self, self.form)
        return _read_rows(self, self.form)

    @property
    def block_function(self) -> Any:
        """Definition of the block function."""
        return self.reading.functions[f"{self.symbol}_block"]

    @property
    def block_symbol(self) -> str:
        """Name of the block function."""
        return f"{self.symbol}_block"


# -- blocks ----------------------------------------------------------------------------------------


def _read_rows(reader: _Reader, program: Program) -> Block:
    """Return the block of a Program. Raises ProgramError unless each lane computes its rows."""
    function = reader.block_function
    status_count = int(reader.checked)

    def run(failing: Mapping[int, int]) -> tuple[loops.RowRun, Comparisons, Memory]:
        machine = reader.reading.machine(terms)
        parameters = loops.parameters_of(machine, function, program, status_count)
        rows = loops.RowRun(machine, function, program, parameters)
        lanes = []
        for lane in range(rows.lanes) if reader.checked else ():
            arguments = loops.argument_terms(program, terms, lane)
            groups = of_rows(
                program, rows.rows[lane], arguments, reader.divisor_bounds, reader.sines
            )
            lanes.append(LaneComparisons(groups))
        comparisons = Comparisons(lanes, failing)
        machine.compare = comparisons if reader.checked else None
        status = Memory("status", [None] * rows.lanes, integers=True)
        terms.sealed = not reader.checked
        rows.call(*([array(status)] if reader.checked else []))
        return rows, comparisons, status

    terms = Terms(REALS[program.real])
    rows, comparisons_made, status = run({})
    rows.require_rows()
    if not reader.checked:
        rows.require_operations()
    if not all(parameter.lanes and parameter.restrict for parameter in rows.parameters):
        raise ProgramError(f"{reader.block_symbol} has an array without lanes, or without restrict")
    _require_statuses(reader, comparisons_made, status, lambda failing: run(failing)[2])
    stack = rows.machine.peak_stack
    return Block(program.inputs, program.outputs, rows.lanes, 0, reader.checked, stack)


def _require_statuses(
    reader: _Reader, comparisons_made: Comparisons, status: Memory, run: Any
) -> None:
    """Raise ProgramError unless a block stores the correct status of each lane.

    `run` interprets the block while the comparisons that are passed to it fail.
    """
    if not reader.checked:
        return
    if not comparisons_made.complete:
        raise ProgramError(f"{reader.block_symbol} lacks a required comparison")
    if set(status.cells) != {STATUSES.index("OK")}:
        raise ProgramError(
            f"{reader.block_symbol} stores a status other than OK although all comparisons hold"
        )

    def statuses(failing: Mapping[int, int]) -> tuple[list[int], bool]:
        return run(failing).cells, False

    for sentence in failing_runs(comparisons_made, statuses, reader.block_symbol, reader.name):
        raise ProgramError(sentence)


def _read_loops(reader: _Reader, form: LoopProgram) -> Block:
    """Return the block of a loop program. Raises ProgramError unless each lane computes it."""
    block = _LoopBlock(reader, form)
    run = block.run({})
    run.require_results()
    _require_statuses(
        reader, run.comparisons, run.status, lambda failing: block.run(failing).status
    )
    cells = run.work.cells
    used = max((at + 1 for at, cell in enumerate(cells) if cell is not None), default=0)
    stack = run.machine.peak_stack + max(step.stack for step in block.steps.values())
    return Block(form.inputs, form.outputs, block.lanes, used, reader.checked, stack, has_work=True)


class _LoopBlock:
    """Block function of a loop program, with the terms of its expected results."""

    def __init__(self, reader: _Reader, form: LoopProgram) -> None:
        self.reader, self.form = reader, form
        self.steps = {
            text.symbol: loops.read_step(text, reader.reading)
            for text in loops.steps_by_symbol(form, f"{reader.symbol}_lanes")
            if text.symbol in reader.reading.functions
        }
        self.lanes = max((step.lanes for step in self.steps.values()), default=1)
        self.terms = Terms(REALS[form.real])
        self.expected_results = [
            loops.expected_results(form, self.terms, lane) for lane in range(self.lanes)
        ]
        self.names = [node.name for node in reader.block_function.decl.type.args.params]
        ports = [port.name for port in (*form.inputs, *form.outputs)]
        names = [name.rstrip("_") for name in self.names[: len(ports)]]
        if names != ports or len(self.names) != len(ports) + 1 + reader.checked:
            raise ProgramError(f"{reader.block_symbol} has the parameters {', '.join(self.names)}")

    def run(self, failing: Mapping[int, int]) -> _LoopBlockRun:
        """Interpret the block function; the comparisons `failing`, by lane, do not hold."""
        return _LoopBlockRun(self, failing)


class _LoopBlockRun:
    """One interpreted call of the block function of a loop program."""

    def __init__(self, block: _LoopBlock, failing: Mapping[int, int]) -> None:
        self.block = block
        reader, form, terms, lanes = block.reader, block.form, block.terms, block.lanes
        terms.line = 0
        checked_lanes = range(lanes) if reader.checked else ()
        self.comparisons = Comparisons(
            [
                _loop_comparisons(form, terms, block.expected_results[lane], lane)
                for lane in checked_lanes
            ],
            failing,
        )
        steps: Mapping[str, Any] = block.steps
        if reader.checked:
            numbers = of_steps(form, reader.sines)
            steps = {
                symbol: GuardedStep(step, self.comparisons, numbers, loops.results_of)
                for symbol, step in steps.items()
            }
        machine = self.machine = reader.reading.machine(terms, steps=steps)
        machine.compare = self.comparisons if reader.checked else None
        loops.add_tables(machine, reader.tables)
        machine.patience = statements_allowed(len(terms.terms))
        arguments = [
            Memory(port.name, loops.cells_of_lanes(port, terms, lanes), True)
            for port in form.inputs
        ]
        self.results = [Memory(port.name, [None] * (port.size * lanes)) for port in form.outputs]
        self.work = Memory(block.names[len(arguments) + len(self.results)], [None] * reader.work)
        self.status = Memory("status", [None] * lanes, integers=True)
        pointers = [array(memory, lanes) for memory in (*arguments, *self.results, self.work)]
        statuses = [array(self.status)] if reader.checked else []
        machine.call(reader.block_symbol, [*pointers, *statuses])

    def require_results(self) -> None:
        """Raise ProgramError if a result differs from that of the loop program."""
        lanes = self.block.lanes
        for port, memory in zip(self.block.form.outputs, self.results, strict=True):
            for at, cell in enumerate(memory.cells):
                k, lane = divmod(at, lanes)
                if cell is not self.block.expected_results[lane][port.name][k]:
                    raise ProgramError(
                        f"lane {lane}: {loops.result_difference(memory.name, k, cell)}"
                    )
        for difference in loops.table_differences(self.machine, self.block.form):
            raise ProgramError(difference)


def _loop_comparisons(
    form: LoopProgram, terms: Terms, expected_results: Mapping[str, Sequence[Term]], lane: int
) -> LaneComparisons:
    """Return the required comparisons of one lane of a loop program."""
    results = frozenset(x for values in expected_results.values() for x in values)
    return LaneComparisons(
        of_arguments(form, loops.argument_terms(form, terms, lane), terms),
        Group("RESULT_NOT_FINITE", finite=results),
        has_parts=bool(form.part_count),
    )


@dataclass
class Block:
    """Block function as the drivers call it: in each lane one operation of the lane's elements."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    lanes: int
    used: int
    """Number of workspace elements that the block function stores to."""
    checked: bool
    stack: int
    """Bytes of the local arrays of the block function."""
    has_work: bool = False
    statuses: Mapping[Term, int] = field(default_factory=dict)
    """Status of each state, by the term of the operation on its elements."""

    def __call__(self, machine: Machine, arguments: Sequence[Pointer], node: Any) -> None:
        """Read the arguments of each lane from memory, and store its results and its status."""
        arrays = self._arrays(machine, arguments, node)
        for lane in range(self.lanes):
            operands = [
                machine.load(pointer.memory, pointer.at + k * self.lanes + lane, node)
                for pointer, port in zip(arrays, self.inputs, strict=False)
                for k in range(port.size)
            ]
            call = machine.terms.of("block", *operands)
            if call not in self.statuses:
                raise machine.refuse(
                    node, f"lane {lane} of the block does not hold all arguments of one state"
                )
            for number, port in enumerate(self.outputs):
                pointer = arrays[len(self.inputs) + number]
                for k in range(port.size):
                    term = machine.terms.of("result", call, number, k)
                    machine.store(pointer.memory, pointer.at + k * self.lanes + lane, term, node)
            if self.checked:
                status = arguments[-1]
                machine.store(status.memory, status.at + lane, self.statuses[call], node)
        if self.has_work:
            work = arrays[-1]
            work.memory.cells[work.at : work.at + self.used] = [None] * self.used

    def _arrays(
        self, machine: Machine, arguments: Sequence[Pointer], node: Any
    ) -> Sequence[Pointer]:
        """Return the arrays of real numbers of a call. Raises ProgramError if one is too small."""
        ports = (*self.inputs, *self.outputs)
        if len(arguments) != len(ports) + self.has_work + self.checked:
            raise machine.refuse(node, f"a block is given {len(arguments)} arguments")
        sizes = [port.size * self.lanes for port in ports] + [self.used] * self.has_work
        arrays = arguments[: len(sizes)]
        for pointer, size in zip(arrays, sizes, strict=True):
            outside = pointer.at < pointer.low or pointer.at + size > pointer.high
            if pointer.shape != (self.lanes,) or pointer.memory.integers or outside:
                raise machine.refuse(
                    node, f"{pointer.memory.name} does not have the elements of a block"
                )
        self._require_disjoint(machine, arrays, sizes, node)
        status = arguments[-1]
        if self.checked and (not status.memory.integers or status.at + self.lanes > status.high):
            raise machine.refuse(node, "the array of statuses is too small for a block")
        return arrays

    @staticmethod
    def _require_disjoint(
        machine: Machine, arrays: Sequence[Pointer], sizes: Sequence[int], node: Any
    ) -> None:
        """Raise ProgramError if two arrays of a block overlap."""
        spans = sorted(
            (id(pointer.memory), pointer.at, pointer.at + size)
            for pointer, size in zip(arrays, sizes, strict=True)
        )
        for (memory, _, end), (next_memory, start, _) in pairwise(spans):
            if memory == next_memory and start < end:
                raise machine.refuse(node, "two arrays of a block overlap")


# -- drivers of the block function -----------------------------------------------------------------


class Layout(NamedTuple):
    """Strides of an array of states: element k of state i is at `base + i*state + k*element`."""

    state: int
    element: int
    base: int
    room: int
    """Size of the array."""


def _layouts(size: int, count: int) -> dict[str, Layout]:
    """Return the layouts that are tried, by name, for `count` states of `size` elements."""
    states = max(count, 1)
    return {
        "state by state": Layout(size, 1, 0, size * states),
        "element by element": Layout(1, states + 3, 0, size * (states + 3)),
        "dense": Layout(1, states, 0, size * states),
        "apart": Layout(2 * size + 3, 2, 1, (2 * size + 3) * states + 1),
        "backward": Layout(-size, 1, size * (states - 1), size * states),
        "elements backward": Layout(size, -1, size - 1, size * states),
        "far elements": Layout(size * size + 1, size, 0, (size * size + 1) * states),
        "one number": Layout(1, 0, 0, states),
        "shared": Layout(0, 1, 0, size),
    }


RESULT_LAYOUTS = (
    "state by state",
    "element by element",
    "apart",
    "backward",
    "elements backward",
    "far elements",
)
"""Layouts of both arguments and results; the other layouts are those of arguments only."""


class Case(NamedTuple):
    """Call of a driver: the number of states, the layout of each port, and options."""

    states: int
    layouts: tuple[str, ...]
    statuses: bool = True
    """True if the caller passes an array for statuses."""
    in_place: bool = False
    """True if the arrays of results are also those of arguments."""
    batch: bool = False
    """True if NAME_<function>_batch is called, False for NAME_<function>_strided."""


def _cases(block: Block) -> Iterator[Case]:
    """Yield the calls of drivers that are tried."""
    ports, lanes = len(block.inputs) + len(block.outputs), block.lanes
    results = ("state by state",) * len(block.outputs)
    by_state, by_element = (("state by state",) * ports, ("element by element",) * ports)
    for states in (-1, 0, lanes, 2 * lanes + 1):
        yield Case(states, by_state)
    for states in range(1, lanes + 1):
        yield Case(states, by_element)
    for shift in range(len(RESULT_LAYOUTS)):
        mixed = (RESULT_LAYOUTS[(shift + port) % len(RESULT_LAYOUTS)] for port in range(ports))
        yield Case(lanes + 1, tuple(mixed), statuses=shift % 2 == 0)
    for name in ("shared", "one number"):
        yield Case(lanes + 1, (by_state[0], *(name,) * (len(block.inputs) - 1), *results))
        yield Case(lanes, (by_element[0], *(name,) * (len(block.inputs) - 1), *results))
    yield Case(lanes + 1, by_state, in_place=True)
    yield Case(lanes + 2, by_state, batch=True)
    yield Case(0, by_state, batch=True, statuses=False)


def _driver_differences(reader: _Reader, block: Block) -> Iterator[str]:
    """Yield the first difference of the drivers of a block function, if there is one."""
    strided = reader.reading.functions[f"{reader.symbol}_strided"]
    work_sizes = [reader.work]
    if block.has_work and block.checked:
        names = [node.name for node in strided.decl.type.args.params]
        work_sizes = [number_compared(strided.body, names[-2])]
        if work_sizes[0] > reader.work:
            yield f"the header states a workspace of fewer than {work_sizes[0]} numbers"
            return
        work_sizes += [work_sizes[0] - 1, 0]
    stack = 0
    for case in _cases(block):
        for stated_size in work_sizes:
            call = StatesCall(reader, block, case, work_sizes[0], stated_size)
            sentence = call.difference()
            if sentence:
                yield sentence
                return
            stack = max(stack, call.stack + block.stack)
    if stack > reader.stack:
        yield (
            f"{reader.name}_batch.h states {reader.stack} bytes of stack, but the functions"
            f" use {stack}"
        )


class StatesReader(Protocol):
    """Reader of a text with functions for many states."""

    form: Any
    symbol: str
    reading: loops.Reading
    tables: list[Any]


class StatesOperation(Protocol):
    """Function of one state, or of a block of states, that a driver calls.

    The results of each state are one operation of the elements of its arguments.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    checked: bool
    has_work: bool
    statuses: Mapping[Term, int]


class StatesCall:
    """One interpreted call of a function for many states, on arrays of terms.

    `work_size` is the size of the workspace that the function needs, and `stated_size` the argument
    by which the caller states its size.
    """

    def __init__(
        self,
        reader: StatesReader,
        block: StatesOperation,
        case: Case,
        work_size: int,
        stated_size: int,
    ) -> None:
        self.reader, self.block, self.case, self.stated_size = reader, block, case, stated_size
        self.count = max(case.states, 0)
        self.terms = Terms(REALS[reader.form.real])
        self.ports = (*block.inputs, *block.outputs)
        self.layouts = [
            _layouts(port.size, self.count)[name]
            for port, name in zip(self.ports, case.layouts, strict=True)
        ]
        self.memories: list[Memory] = []
        for number, (port, layout) in enumerate(zip(self.ports, self.layouts, strict=True)):
            memory = Memory(port.name, [None] * layout.room, number < len(block.inputs))
            if number < len(block.inputs):
                for i in range(self.count):
                    for k in range(port.size):
                        at = layout.base + i * layout.state + k * layout.element
                        memory.cells[at] = self.element(port, layout, i, k)
            self.memories.append(memory)
        if case.in_place:
            self._lay_results_over_arguments()
        self.work = Memory("work", [None] * min(work_size, stated_size))
        self.refused = stated_size < work_size
        self.stack = 0
        """Bytes of the local arrays of the driver."""
        self.status = Memory("status", [None] * self.count, integers=True)

    def element(self, port: Port, layout: Layout, state: int, k: int) -> Term:
        """Return the term of an element of an argument."""
        return self.terms.of(
            "argument", port.name, k if layout.element else 0, state if layout.state else 0
        )

    def _lay_results_over_arguments(self) -> None:
        """Make each result share the array of an argument of its size, if there is one."""
        free = list(range(len(self.block.inputs)))
        for number in range(len(self.block.inputs), len(self.ports)):
            same_size = [k for k in free if self.ports[k].size == self.ports[number].size]
            if same_size:
                free.remove(same_size[0])
                self.memories[same_size[0]].constant = False
                self.memories[number] = self.memories[same_size[0]]

    def difference(self) -> str:
        """Return a sentence for the first error of the call; "" if the call is correct."""
        calls = [
            self.terms.of(
                "block",
                *(
                    self.element(port, layout, i, k)
                    for port, layout in zip(self.block.inputs, self.layouts, strict=False)
                    for k in range(port.size)
                ),
            )
            for i in range(self.count)
        ]
        statuses = {
            call: (0, 3, 0, 0, 1)[k % 5] if self.block.checked else 0
            for k, call in zip(numbers_from(), dict.fromkeys(calls), strict=False)
        }
        expected = self._expected(calls, statuses)
        returned = self._run(statuses)
        call_name = f"{self.function} of {self.case.states} states"
        for memory, cells, layout in zip(self.memories, expected, self.case.layouts, strict=True):
            for at, (cell, expected_cell) in enumerate(zip(memory.cells, cells, strict=True)):
                if cell is not expected_cell:
                    return (
                        f"{call_name}, {layout}: {memory.name}[{at}] differs from the expected"
                        " number"
                    )
        return self._status_difference(call_name, returned, [statuses[call] for call in calls])

    def _status_difference(self, call_name: str, returned: Any, statuses: Sequence[int]) -> str:
        """Return a sentence if the returned value or the statuses are wrong; else ""."""
        if self.refused:
            statuses = [STATUSES.index("NO_WORK")] * self.count
            if any(cell is not None for cell in self.work.cells):
                return f"{call_name}: a workspace that is too small is stored to"
        if returned != (
            sum(status != STATUSES.index("OK") for status in statuses)
            if self.block.checked
            else None
        ):
            return f"{call_name} returns {returned}"
        stores_statuses = self.block.checked and self.case.statuses
        if self.status.cells != (list(statuses) if stores_statuses else [None] * self.count):
            return f"{call_name}: the statuses are not those of the states"
        return ""

    def _expected(self, calls: Sequence[Term], statuses: Mapping[Term, int]) -> list[list[Any]]:
        """Return the elements that each array must have after the call."""
        expected = {id(memory): [*memory.cells] for memory in self.memories}
        first = len(self.block.inputs)
        for number, port in enumerate(self.block.outputs):
            layout, cells = (
                self.layouts[first + number],
                expected[id(self.memories[first + number])],
            )
            for i, call in enumerate(calls):
                if statuses[call] == STATUSES.index("OK") and not self.refused:
                    for k in range(port.size):
                        at = layout.base + i * layout.state + k * layout.element
                        cells[at] = self.terms.of("result", call, number, k)
        return [expected[id(memory)] for memory in self.memories]

    @property
    def function(self) -> str:
        """Name of the called function."""
        return f"{self.reader.symbol}_{'batch' if self.case.batch else 'strided'}"

    @property
    def elements(self) -> int:
        """Number of elements of one state, arguments and results together."""
        return sum(port.size for port in self.ports)

    def words(self) -> list[Any]:
        """Return the arguments of the call: the number of states, and each array.

        A strided function also has the two strides of each array as arguments.
        """
        arguments: list[Any] = [self.case.states]
        for memory, layout in zip(self.memories, self.layouts, strict=True):
            arguments.append(array(memory)._replace(at=layout.base))
            if not self.case.batch:
                arguments += [layout.state, layout.element]
        return arguments

    def status_words(self) -> list[Any]:
        """Return the argument for the statuses, 0 for no array; empty if the function has none."""
        arguments = [array(self.status) if self.case.statuses else 0]
        return arguments if self.block.checked else []

    def _run(self, statuses: Mapping[Term, int]) -> Any:
        """Interpret the function, and return its value."""
        self.block.statuses = statuses
        block: Any = self.block
        machine = self.reader.reading.machine(
            self.terms, steps={f"{self.reader.symbol}_block": block}
        )
        loops.add_tables(machine, self.reader.tables)
        machine.patience = statements_allowed(self.elements * self.count)
        arguments = self.words()
        if self.block.has_work:
            arguments += [array(self.work), *([self.stated_size] if self.block.checked else [])]
        try:
            returned = machine.call(self.function, [*arguments, *self.status_words()])
            self.stack = machine.peak_stack
            return returned
        except ProgramError as error:
            raise ProgramError(f"{self.function}: {error}") from None
