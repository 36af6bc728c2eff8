"""A chain in parts, as the lowering of its stages sees it: names, sizes, and the steps that the stages call.

Every part is a lane of a vector, and as many parts as there are lanes are a group. Row r of a group holds a link of every part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from symgen.emission import definition
from symgen.emission import lanes as _lanes
from symgen.emission.c_text import C
from symgen.emission.lane_steps import braced, lane_step
from symgen.emission.lowering import straight_line
from symgen.emission.statements import (
    FIXED,
    PARALLEL,
    Call,
    Declare,
    For,
    Function,
    Sizes,
    Statement,
    Unused,
    Value,
    in_lanes,
)
from symgen.ir.loops import BEFORE, CONSTANTS, LoopProgram, as_function
from symgen.ir.program import Port, Program
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

NUMBERS, GROUP, ROW = "numbers", "group", "row"
"""The caller's array; the indices of a group, and of a row of a group."""


class Table(NamedTuple):
    """A table of integers about the parts or the levels, with the comment that stands above it, if any."""

    comment: str
    name: str
    rows: Sequence[int | Sequence[int]]

    @property
    def size(self) -> Sizes:
        """Its dimensions."""
        first = self.rows[0]
        return (len(self.rows),) if isinstance(first, int) else (len(self.rows), len(first))

    def context(self) -> dict[str, str]:
        """Return what its template prints."""
        size = "".join(f"[{length}]" for length in self.size)
        rows = [str(row) if isinstance(row, int) else braced(map(str, row)) for row in self.rows]
        return {"comment": self.comment, "name": f"{self.name}{size}", "numbers": braced(rows)}


@dataclass(frozen=True)
class Chain:
    """A form in parts, printed for a target; `numbers` of the caller's array are needed, `group_size` of them by a group."""

    form: LoopProgram
    target: Target
    rows: int
    numbers: int
    group_size: int
    steps: list[dict[str, Any]] = field(default_factory=list)
    """The steps that are taken in lanes, as their template prints them."""
    functions: list[tuple[str, str]] = field(default_factory=list)
    """Name and text of the steps that are straight-line functions."""

    @cached_property
    def symbol(self) -> str:
        """The C name of the function."""
        return self.target.symbol(self.form.function)

    @cached_property
    def lanes(self) -> int:
        """Lanes of a vector."""
        return _lanes.lanes(self.form.real)

    @cached_property
    def groups(self) -> int:
        """Groups of parts."""
        return self.form.part_count // self.lanes

    @cached_property
    def arrays(self) -> list[str]:
        """Arguments and results."""
        return [port.name for port in (*self.form.inputs, *self.form.outputs)]

    @cached_property
    def zero(self) -> str:
        """Zero in the real type."""
        return self.literal(Fraction(0))

    def literal(self, value: Fraction) -> str:
        """Return a number in the real type."""
        return C.literal(value, REALS[self.form.real])

    def step_in_lanes(self, step: Program, name: str, kind: str) -> Program:
        """Return a step as a function of the file that is taken by every lane."""
        function = as_function(step, f"{self.form.function}_{name}")
        self.steps.append(lane_step(function, self.target, kind))
        return function

    def step_alone(self, step: Program, name: str) -> Program:
        """Return a step as a straight-line function of the file."""
        function = as_function(step, f"{self.form.function}_{name}")
        facts = definition.function(definition.PrintedFunction(function, self.target))
        text = straight_line.text(facts, self.target.name, C)
        self.functions.append((facts["symbol"], text))
        return function

    def call(self, step: Program, places: Mapping[str, Value]) -> Call:
        """Return the call of a step: each port is in its place, or in the buffer of its row."""
        ports = [port.name for port in (*step.inputs, *step.outputs)]
        return Call(
            self.target.symbol(step.function),
            tuple(places.get(name, f"own_{name}") for name in ports),
        )

    def pointer(self, name: str, value: Value, pointer: str = FIXED) -> Declare:
        """Return a pointer to real numbers."""
        return Declare(self.form.real, name, value, pointer=pointer)

    def first_row(self, step: Program) -> Declare | None:
        """Return the number of a group's first row in the table of link constants, for a step that takes them."""
        takes = size_of(step.inputs, CONSTANTS) > 0
        return Declare("const int", "first", f"{self.rows}*group") if takes else None

    def buffers(self, ports: Iterable[str]) -> Iterator[Declare]:
        """Give the buffers for a row of arguments and results."""
        line = f"{self.symbol}_LINE"
        return (Declare(self.form.real, f"own_{port}", None, (1,), "", line) for port in ports)

    def unused(self, used: Sequence[str] = ()) -> Iterator[Unused]:
        """Give the arguments and results that a function takes without using them."""
        return (Unused(name) for name in self.arrays if name not in used)

    def over_rows(self, inward: bool, body: Iterable[Statement]) -> For:
        """Return the loop over the rows of a group."""
        if inward:
            return For(ROW, self.rows - 1, 0, tuple(body), step=-1, inclusive=True)
        return For(ROW, 0, self.rows, tuple(body))

    def over_groups(self, names: Iterable[str]) -> Iterator[Statement]:
        """Give the loop that calls functions of a group, at the same time where there are several groups."""
        if self.groups > 1:
            yield PARALLEL
        arguments = (*self.arrays, NUMBERS, GROUP)
        yield For(GROUP, 0, self.groups, tuple(Call(name, arguments) for name in names))

    def function(self, body: Iterable[Statement]) -> Function:
        """Return the function that users call."""
        return Function(self.symbol, self._parameters, tuple(body))

    def group_function(self, name: str, body: Iterable[Statement], comment: str) -> Function:
        """Return the function that runs a stage on one group."""
        parameters = (*self._parameters, Declare("int", GROUP))
        return self.in_lanes(self.static(name, parameters, body, comment))

    def static(
        self, name: str, parameters: Iterable[Declare], body: Iterable[Statement], comment: str
    ) -> Function:
        """Return a function of the file."""
        full = f"{self.symbol}_{name}"
        return Function(full, tuple(parameters), tuple(body), static=True, comment=comment)

    def in_lanes(self, function: Function) -> Function:
        """Return a function of a group: its pointers to real numbers and its buffers are of lanes."""
        arrays = _VECTORS | {f"own_{name}{end}" for name in self.arrays for end in ("", BEFORE)}
        (function_of_lanes,) = in_lanes([function], arrays, self.lanes)
        assert isinstance(function_of_lanes, Function)
        return function_of_lanes

    @cached_property
    def parameter(self) -> Declare:
        """The parameter for the caller's array."""
        return Declare(self.form.real, NUMBERS, size=(self.numbers,))

    @cached_property
    def _parameters(self) -> tuple[Declare, ...]:
        """The parameters of the function that users call."""
        real, size = self.form.real, (len(self.form),)
        return (
            *(Declare(f"const {real}", port.name, size=size) for port in self.form.inputs),
            *(Declare(real, port.name, size=size) for port in self.form.outputs),
            self.parameter,
        )


_VECTORS = frozenset(
    ("work", "before", "behind", "handed", "known", "runs", "told", "run", "front", "both", "kept")
)
"""Pointers to real numbers of a group."""


def row_of(size: int, element: int = 0) -> str:
    """Return the index of the current row in an array of rows of that size, or of one of its elements."""
    product = ROW if size == 1 else f"{size}*{ROW}"
    return f"({product}) + {element}" if element else product


def size_of(ports: Sequence[Port], name: str) -> int:
    """Return the size of a port; 0 where there is none of that name."""
    return next((port.size for port in ports if port.name == name), 0)
