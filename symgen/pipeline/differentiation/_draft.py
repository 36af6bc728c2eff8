"""A Program that is being differentiated: its rows on a tape, more arguments behind its own, and what moves its positions.

Positions are changed by steps, q ⊕ δ (`symgen.derivation.tangents`), and so are results that are positions. Where they change or
weigh, they are as many numbers as there are velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from symgen.derivation.tangents import rates_from_step, step_from_rates
from symgen.ir.program import POSITIONS, Port, Program
from symgen.mechanism.joints import joint_type
from symgen.pipeline.differentiation._sweeps import pulled
from symgen.pipeline.differentiation._tape import Number, Numbers, Tape
from symgen.support.errors import ArgumentError
from symgen.vocabulary.functions import AT_RUN_TIME

Result = tuple[str, tuple[int, ...], Sequence[Number]]
"""Name, shape and elements."""


class Draft:
    """See the module docstring. `program` is what is differentiated; its rows end at `end` of the `tape`."""

    def __init__(self, program: Program) -> None:
        self.program, self.tape, self.end = program, Tape(program), len(program.rows)
        self.inputs = list(program.inputs)
        self._rows: dict[tuple[int, int], list[int]] = {}
        for i, row in enumerate(program.rows):
            if row.op == "input":
                self._rows.setdefault(row.value, []).append(i)
        types = [joint_type(kind) for kind in program.joints]
        self._of_q, self._of_v = (
            [slice(b - n, b) for n, b in zip(sizes, accumulate(sizes), strict=True)]
            for sizes in ([one.nq for one in types], [one.nv for one in types])
        )

    def which(self, name: str) -> int:
        """The place of an argument; ArgumentError where the Program has none of this name."""
        names = [port.name for port in self.program.inputs]
        if name not in names:
            raise ArgumentError(
                f"{self.program.function} has no argument '{name}' to be differentiated by; it has "
                f"{', '.join(names)}"
            )
        return names.index(name)

    def shape(self, port: Port) -> tuple[int, ...]:
        """Of what an argument or a result changes by."""
        return (self._of_v[-1].stop,) if self._is_moved(port) else port.shape

    def _is_moved(self, port: Port) -> bool:
        return port.name in POSITIONS and bool(self.program.joints)

    # -- arguments -----------------------------------------------------------------------------------------------------

    def add(self, name: str, shape: tuple[int, ...]) -> Numbers:
        """One more argument."""
        self.inputs.append(Port(name, shape))
        return [self.tape.argument(len(self.inputs) - 1, k) for k in range(self.inputs[-1].size)]

    def rows(self, which: int) -> list[int]:
        """Of each element of an argument, a row."""
        for k in range(self.inputs[which].size):
            if (which, k) not in self._rows:
                self._rows[which, k] = [self.tape.argument(which, k)]
        return [self._rows[which, k][0] for k in range(self.inputs[which].size)]

    def changes(self, which: int, step: Sequence[Number]) -> dict[int, int]:
        """By row, what the elements of an argument change by when it changes by that."""
        found = (
            self._forward(rates_from_step, self.rows(which), step, self._of_v)
            if self._is_moved(self.inputs[which])
            else step
        )
        return {
            i: change
            for k, change in enumerate(found)
            if change is not None
            for i in self._rows.get((which, k), ())
            if i < self.end
        }

    def elements(self, which: Iterable[int]) -> list[int]:
        """The rows of these arguments."""
        return [
            i
            for one in which
            for k in range(self.inputs[one].size)
            for i in self._rows.get((one, k), ())
        ]

    def weighs(self, which: int, weights: dict[int, int]) -> Numbers:
        """What an argument weighs, from what its rows do."""
        place, found = self.rows(which), Numbers()
        for k in range(len(place)):
            total: Number = None
            for i in self._rows[which, k]:
                total = self.tape.plus(total, weights.get(i))
            found.append(total)
        return (
            self._backward(rates_from_step, place, found, self._of_v)
            if self._is_moved(self.inputs[which])
            else found
        )

    # -- results -------------------------------------------------------------------------------------------------------

    def changed(self, port: Port, tangents: Sequence[Number]) -> Numbers:
        """What a result changes by, from what the rows do."""
        rates = [tangents[r] for r in port.rows]
        return (
            self._forward(step_from_rates, port.rows, rates, self._of_q)
            if self._is_moved(port)
            else rates
        )

    def weighed(self, port: Port, weights: Sequence[Number]) -> dict[int, int]:
        """By row, the weight of a result's elements when it has that."""
        own = (
            self._backward(step_from_rates, port.rows, weights, self._of_q)
            if self._is_moved(port)
            else weights
        )
        found: dict[int, int] = {}
        for r, weight in zip(port.rows, own, strict=True):
            total = self.tape.plus(found.get(r), weight)
            if total is not None:
                found[r] = total
        return found

    # -- positions -----------------------------------------------------------------------------------------------------

    def _forward(
        self,
        linear: Callable[[str], Program],
        place: Sequence[int],
        given: Sequence[Number],
        parts: Sequence[slice],
    ) -> Numbers:
        """A linear map of every joint's part of `given`, at its own place."""
        found: Numbers = []
        for kind, at, part in zip(self.program.joints, self._of_q, parts, strict=True):
            own = linear(kind)
            some = any(one is not None for one in given[part])
            found += (
                self.tape.inline(own, [place[at], given[part]])[0]
                if some
                else [None] * own.outputs[0].size
            )
        return found

    def _backward(
        self,
        linear: Callable[[str], Program],
        place: Sequence[int],
        weights: Sequence[Number],
        parts: Sequence[slice],
    ) -> Numbers:
        """Its transpose: what each joint's part weighs, where what it becomes has these weights."""
        found: Numbers = []
        taken = 0
        for kind, at, part in zip(self.program.joints, self._of_q, parts, strict=True):
            own = linear(kind)
            given = [self.tape.unread() for _ in range(part.stop - part.start)]
            begin = len(self.tape.rows)
            seeds: dict[int, int] = {}
            mine = weights[taken : taken + own.outputs[0].size]
            taken += len(mine)
            if any(one is not None for one in mine):
                for r, weight in zip(
                    self.tape.inline(own, [place[at], given])[0], mine, strict=True
                ):
                    total = None if r is None else self.tape.plus(seeds.get(r), weight)
                    if r is not None and total is not None:
                        seeds[r] = total
            weighs = pulled(self.tape, begin, len(self.tape.rows), seeds, given)
            found += [weighs.get(one) for one in given]
        return found

    # -- leaving -------------------------------------------------------------------------------------------------------

    def program_of(self, function: str, results: Sequence[Result]) -> Program:
        """The Program of these results, before any pass. New arguments follow the function's own, before those at run time."""
        late = {array.name for array in AT_RUN_TIME}
        old = range(len(self.program.inputs))
        order = [
            *(i for i in old if self.inputs[i].name not in late),
            *range(len(old), len(self.inputs)),
            *(i for i in old if self.inputs[i].name in late),
        ]
        place = {one: k for k, one in enumerate(order)}
        zero = self.tape.constant(0)
        outputs = tuple(
            Port(name, shape, tuple(zero if one is None else one for one in numbers))
            for name, shape, numbers in results
        )
        steps: dict[str, int] = {}  # each comment once, however often a sweep has come to it
        rows = []
        for row in self.tape.rows:
            value = (place[row.value[0]], row.value[1]) if row.op == "input" else row.value
            step = steps.setdefault(self.tape.steps[row.step], len(steps)) if row.step >= 0 else -1
            rows.append(row._replace(value=value, step=step))
        return replace(
            self.program,
            function=function,
            inputs=tuple(self.inputs[i] for i in order),
            outputs=outputs,
            rows=tuple(rows),
            steps=tuple(steps),
            passed_over=(),
        )
