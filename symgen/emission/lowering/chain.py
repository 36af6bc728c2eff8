"""Chains in parts for the lowering of stages: names, sizes, and the steps that the stages call.

In the function for one state each part is one lane of a vector, and as many parts as lanes form a
group; row r of a group has one link of each part. In the function for a block of states each state
is one lane, and each part is a group.

A checked function for one state skips the stages after a refusal. Each part of a group has its own
status; the first status other than OK becomes the status of the function. In a block all states
execute all stages, and each state has its own status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from symgen.emission import definition
from symgen.emission import lanes as _lanes
from symgen.emission.c_text import C
from symgen.emission.lane_steps import braced, lane_step, wrapped
from symgen.emission.loop_work import SIZE, work
from symgen.emission.lowering import loop_tables, straight_line
from symgen.emission.lowering.loop_checks import (
    Status,
    check_arguments,
    check_results,
    check_step,
    zeros,
)
from symgen.emission.lowering.loop_function import (
    LINK,
    NEXT_CARRY,
    STATUS,
    WRITTEN,
    LoopFunction,
)
from symgen.emission.part_layout import layout, size_of
from symgen.emission.statements import (
    FIXED,
    LANE,
    PARALLEL,
    Address,
    Assign,
    Blank,
    Call,
    Declare,
    Element,
    For,
    Function,
    If,
    Return,
    Statement,
    Unused,
    Value,
    body,
    expression,
    in_lanes,
    integers,
)
from symgen.ir.loops import (
    BEFORE,
    CARRY,
    CHECKED,
    CONSTANTS,
    FINAL_CARRY,
    INITIAL_CARRY,
    SAVED,
    WORK,
    LoopProgram,
    as_function,
)
from symgen.ir.program import Program
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

GROUP, ROW, SEGMENT = "group", "row", "segment"
"""Names of the indices of a group, of a row of a group, and of a part."""
GROUP_WORK, LOCAL = "group_work", "local_"
"""Name of the workspace of a group, and prefix of the names of buffers.

A buffer has the elements of an argument or a result for one row of all lanes.
"""
STATUSES = "statuses"
"""Name of the array with the statuses of all parts."""


class Table(NamedTuple):
    """Table of integers about parts or levels; the text has its `comment` above it."""

    comment: str
    name: str
    rows: Sequence[int | Sequence[int]]

    @property
    def size(self) -> tuple[int, ...]:
        """The dimensions of the table."""
        first = self.rows[0]
        return (len(self.rows),) if isinstance(first, int) else (len(self.rows), len(first))

    @property
    def plain(self) -> loop_tables.Table:
        """The table without its comment, as a table of `loop_tables`."""
        rows = [str(row) if isinstance(row, int) else braced(map(str, row)) for row in self.rows]
        return loop_tables.Table("int", self.name, self.size, tuple(wrapped([", ".join(rows)])))

    def context(self) -> dict[str, str]:
        """Return the facts of the table for its template."""
        size = "".join(f"[{length}]" for length in self.size)
        rows = [str(row) if isinstance(row, int) else braced(map(str, row)) for row in self.rows]
        return {"comment": self.comment, "name": f"{self.name}{size}", "numbers": braced(rows)}


@dataclass(frozen=True)
class Chain:
    """A form in parts as a function for one state, or for a block of states if `states`.

    The steps of the form of a checked function also return the numbers that are compared.
    """

    form: LoopProgram
    target: Target
    states: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)
    """Facts of the steps with lanes, for their template."""
    functions: list[tuple[str, str]] = field(default_factory=list)
    """Names and texts of the steps that are straight-line functions."""

    @cached_property
    def loops(self) -> LoopFunction:
        """The form as a loop function, for the parts that both kinds of forms share."""
        return LoopFunction(self.form, self.target, self.lane_count if self.states else 0)

    @cached_property
    def name(self) -> str:
        """The C name of the function for one state."""
        return self.target.symbol(self.form.function)

    @cached_property
    def symbol(self) -> str:
        """The prefix of the names of tables, stages and steps."""
        return self.target.symbol(self.loops.function)

    @cached_property
    def checked(self) -> bool:
        """True for a function for one state that returns a status."""
        return self.target.checked and not self.states

    @cached_property
    def lane_count(self) -> int:
        """The number of lanes of a vector."""
        return _lanes.lanes(self.form.real)

    @cached_property
    def parts_per_group(self) -> int:
        """The number of parts of a group."""
        return 1 if self.states else self.lane_count

    @cached_property
    def group_count(self) -> int:
        """The number of groups."""
        return self.form.part_count // self.parts_per_group

    @cached_property
    def rows_per_group(self) -> int:
        """The number of rows of a group."""
        return self.form.longest_part

    @cached_property
    def group_size(self) -> int:
        """The number of elements of a group in the workspace."""
        return self.parts_per_group * layout(self.form).group_size

    @cached_property
    def constants_table(self) -> str:
        """The name of the table of link constants."""
        return f"{self.symbol}_{CONSTANTS}"

    @cached_property
    def arrays(self) -> list[str]:
        """The names of arguments and results."""
        return [port.name for port in (*self.form.inputs, *self.form.outputs)]

    @cached_property
    def zero(self) -> str:
        """The literal of zero."""
        return self.literal(Fraction(0))

    def literal(self, value: Fraction) -> str:
        """Return the literal of a number."""
        return C.literal(value, REALS[self.form.real])

    # -- steps -----------------------------------------------------------------------------------

    @cached_property
    def _unchecked_target(self) -> Target:
        """The target of steps, which have no comparisons."""
        return replace(self.target, text=replace(self.target.text, checked=False))

    def step_in_lanes(
        self, step: Program, name: str, kind: str, use_sincos_loop: bool = True
    ) -> Program:
        """Return a step as a static function with lanes, and add its facts to `steps`.

        With `use_sincos_loop` the loop of NAME_sincos.h computes its sines, if the file has it.
        """
        function = as_function(step, f"{self.loops.function}_{name}")
        shared_ports = (CONSTANTS,) if self.states else ()
        self.steps.append(
            lane_step(function, self._unchecked_target, kind, shared_ports, use_sincos_loop)
        )
        return function

    def scalar_step(self, step: Program, name: str, kind: str) -> Program:
        """Return a step without lanes of parts as a function, and add it to the file.

        It is a straight-line function for one state, and has lanes for a block of states.
        """
        if self.states:
            return self.step_in_lanes(step, name, kind, use_sincos_loop=False)
        function = as_function(step, f"{self.loops.function}_{name}")
        facts = definition.function(definition.PrintedFunction(function, self._unchecked_target))
        text = straight_line.text(facts, self.target.name, C)
        self.functions.append((facts["symbol"], text))
        return function

    def call(
        self,
        step: Program,
        arrays: Mapping[str, Value],
        scalar: bool = False,
        only_where: Value = "",
    ) -> tuple[Statement, ...]:
        """Return the call of a step, followed by the comparisons of a checked function.

        `arrays` has the arrays of ports; other ports are buffers. Lanes in which `only_where` does
        not hold are not compared. A `scalar` step has no lanes of parts.
        """
        ports = [port.name for port in (*step.inputs, *step.outputs)]
        arguments = [
            CHECKED if name == CHECKED else arrays.get(name, f"{LOCAL}{name}") for name in ports
        ]
        call = Call(self.target.symbol(step.function), tuple(arguments))
        status = Status(self.target, REALS[self.form.real], self.states or not scalar)
        declared, compare = check_step(status, step, step, only_where)
        return (*declared, call, *compare)

    def is_guarded(self, *steps: Program) -> bool:
        """Return True if a checked function compares numbers of one of the steps."""
        return any(size_of(step.outputs, CHECKED) for step in steps)

    # -- statements ------------------------------------------------------------------------------

    def pointer(self, name: str, value: Value, pointer: str = FIXED) -> Declare:
        """Return the declaration of a pointer to real numbers."""
        return Declare(self.form.real, name, value, pointer=pointer)

    def first_row(self, step: Program) -> Declare | None:
        """Return the declaration of the group's first row in the table of link constants.

        Return None for a step that reads no link constants.
        """
        reads_constants = size_of(step.inputs, CONSTANTS) > 0
        if not reads_constants:
            return None
        return Declare("const int", "first_row", f"{self.rows_per_group}*group")

    def buffers(self, ports: Iterable[str]) -> Iterator[Declare]:
        """Yield the declarations of the buffers of arguments and results."""
        line = f"{self.name}_LINE"
        return (Declare(self.form.real, f"{LOCAL}{port}", None, (1,), "", line) for port in ports)

    def unused(self, used_arrays: Sequence[str] = ()) -> Iterator[Unused]:
        """Yield the arguments and results that a function does not use."""
        return (Unused(name) for name in self.arrays if name not in used_arrays)

    def over_rows(self, inward: bool, body: Iterable[Statement]) -> For:
        """Return the loop over the rows of a group."""
        if inward:
            return For(ROW, self.rows_per_group - 1, 0, tuple(body), step=-1, inclusive=True)
        return For(ROW, 0, self.rows_per_group, tuple(body))

    def in_group(self, first: int) -> str:
        """Return the index in the workspace of an element of the current group."""
        return f"({self.group_size}*group) + {self.per_group(str(first))}"

    def per_group(self, number: str) -> str:
        """Return `number`, times the number of parts of a group."""
        return number if self.states else f"{self.parts_per_group}*{number}"

    @property
    def part(self) -> str:
        """The number of the part that a lane of the current group has."""
        return GROUP if self.states else f"({self.parts_per_group}*group) + {LANE}"

    # -- functions -------------------------------------------------------------------------------

    @property
    def is_ok(self) -> str:
        """The condition that no state is refused; empty text if no stage is skipped."""
        return self.loops.is_ok

    def over_groups(self, functions: Iterable[Function]) -> tuple[Statement, ...]:
        """Return the loop that calls functions for each group.

        Several groups of parts in lanes run in parallel. A checked function then sets its status.
        """
        calls, compares = [], False
        for function in functions:
            takes_status = any(parameter.name == STATUS for parameter in function.parameters)
            compares |= takes_status
            status = (self._statuses,) if takes_status else ()
            calls.append(Call(function.name, (*self._arguments, WORK, GROUP, *status)))
        parallel = PARALLEL if self.group_count > 1 and not self.states else None
        loop = body(parallel, For(GROUP, 0, self.group_count, tuple(calls)))
        if not self.checked:
            return loop
        first = expression(f"({self.is_ok}) ? {{}} : {STATUS}", Element(STATUSES, SEGMENT))
        fold = For(SEGMENT, 0, self.form.part_count, (Assign(STATUS, first),))
        return body(If(self.is_ok, loop), fold if compares else None)

    @cached_property
    def _statuses(self) -> Value:
        """The argument of a group's function with the statuses of its parts, or of all states."""
        return STATUS if self.states else Address(STATUSES, f"{self.parts_per_group}*group")

    @cached_property
    def _arguments(self) -> list[Value]:
        """The arguments and results of a group's function.

        The results of a checked function are in the workspace until all are found to be finite.
        """
        results = [self.loops.array(port.name) for port in self.form.outputs]
        return [*(port.name for port in self.form.inputs), *results]

    def function(self, counters: Sequence[str], stages: Iterable[Statement]) -> Function:
        """Return the function that users call, or the function of a block of states.

        `counters` are the integer locals of its stages.
        """
        if self.states:
            return self._block(counters, stages)
        macro = f"{self.target.name}_{WORK.upper()}"
        parameters = (*self._parameters[:-1], replace(self.parameter, size=(macro,)))
        if not self.checked:
            return Function(self.name, parameters, body(integers(*counters), stages))
        guarded = self.is_guarded(*self.form.programs)
        names = dict.fromkeys([*counters, *[SEGMENT] * guarded, LINK])
        ok = Assign(Element(STATUSES, SEGMENT), self.loops.status("OK"))
        statements = body(
            Declare("int", STATUSES, size=(self.form.part_count,)) if guarded else None,
            Declare("int", STATUS, self.loops.status("OK")),
            integers(*names),
            check_arguments(self.loops),
            For(SEGMENT, 0, self.form.part_count, (ok,)) if guarded else None,
            self._after_blank(stages),
            check_results(self.loops),
            Return(STATUS),
        )
        return Function(self.name, (*parameters, Declare("int", SIZE)), statements, "int")

    @staticmethod
    def _after_blank(stages: Iterable[Statement]) -> tuple[Statement, ...]:
        """Return statements after an empty line."""
        first, *further = stages
        return (first, *further) if isinstance(first, Blank) else (Blank(), first, *further)

    def _block(self, counters: Sequence[str], stages: Iterable[Statement]) -> Function:
        """Return the function of a block of states."""
        checked, loops, zero_sum = self.target.checked, self.loops, zeros(self.loops)
        finite = "zero if all arguments are finite, else NaN"
        statements = body(
            Declare(self.form.real, zero_sum, size=(self.lane_count,), comment=finite)
            if checked
            else None,
            integers(*dict.fromkeys([*counters, *[LINK, LANE] * checked])),
            check_arguments(loops) if checked else None,
            self._after_blank(stages) if checked else stages,
            check_results(loops) if checked else None,
        )
        status = [Declare("int", STATUS, size=(self.lane_count,))] * checked
        comment = f"One block of {self.lane_count} states."
        function = Function(
            f"{self.name}_block",
            (*self._parameters, *status),
            statements,
            static=True,
            comment=comment,
        )
        return self.in_lanes(function)

    def group_function(
        self, name: str, body: Iterable[Statement], comment: str, guarded: bool
    ) -> Function:
        """Return the function that runs a stage for one group.

        A `guarded` function has a parameter for the statuses of the lanes.
        """
        parameters = (*self._parameters, Declare("int", GROUP), *self.status_parameter(guarded))
        return self.static(name, parameters, body, comment)

    def status_parameter(self, guarded: bool) -> tuple[Declare, ...]:
        """Return the parameter for the statuses of the lanes of a `guarded` function."""
        return (Declare("int", STATUS, size=(self.lane_count,)),) if guarded else ()

    def static(
        self,
        name: str,
        parameters: Iterable[Declare],
        body: Iterable[Statement],
        comment: str,
        in_lanes: bool = True,
        returns: str = "void",
    ) -> Function:
        """Return a static function, with lanes if `in_lanes` or in a block of states."""
        symbol = f"{self.symbol}_{name}"
        function = Function(
            symbol, tuple(parameters), tuple(body), returns, static=True, comment=comment
        )
        return self.in_lanes(function) if in_lanes or self.states else function

    def in_lanes(self, function: Function) -> Function:
        """Return a function whose pointers to real numbers and buffers have lanes."""
        arrays = _VECTORS | {f"{LOCAL}{name}{end}" for name in self.arrays for end in ("", BEFORE)}
        if self.states:
            arrays |= _STATES | {*self.arrays}
        (function_of_lanes,) = in_lanes([function], arrays, self.lane_count)
        assert isinstance(function_of_lanes, Function)
        return function_of_lanes

    @cached_property
    def parameter(self) -> Declare:
        """The parameter for the workspace."""
        size = "" if self.states else work(self.form, self.checked)
        return Declare(self.form.real, WORK, size=(size,))

    @cached_property
    def _parameters(self) -> tuple[Declare, ...]:
        """The parameters of the function: arguments, results and the workspace."""
        real = self.form.real
        size, const = ("", "") if self.states else (len(self.form), "const ")
        return (
            *(Declare(f"{const}{real}", port.name, size=(size,)) for port in self.form.inputs),
            *(Declare(real, port.name, size=(size,)) for port in self.form.outputs),
            self.parameter,
        )


_VECTORS = frozenset((GROUP_WORK, SAVED, CARRY, NEXT_CARRY, WRITTEN, CHECKED)) | {
    *("upsweeps", "downsweeps", "upsweep", "downsweep", "left", "right", "combined")
}
"""Names of pointers and arrays with lanes: reals of a group, and numbers that are compared."""
_STATES = frozenset((WORK, INITIAL_CARRY, FINAL_CARRY, "tree", "root"))
"""Names of arrays of reals that have lanes in a block of states only."""


def row_of(size: int, element: int = 0) -> str:
    """Return the index of an element of the current row, in an array of rows of `size` elements."""
    product = ROW if size == 1 else f"{size}*{ROW}"
    return f"({product}) + {element}" if element else product
