"""Draft of a derivative: a Program's rows on a tape, additional arguments, and the steps of its
positions.

Positions change by steps, q ⊕ δ (`symgen.derivation.tangents`), and so do results that are
positions. The changes and weights of positions have one number for each velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from symgen.derivation.tangents import rates_from_step, step_from_rates
from symgen.ir.program import POSITIONS, Port, Program
from symgen.mechanism.joints import joint_type
from symgen.pipeline.differentiation._sweeps import pull_back
from symgen.pipeline.differentiation._tape import Number, Numbers, Tape
from symgen.support.errors import ArgumentError
from symgen.vocabulary.functions import AT_RUN_TIME

Result = tuple[str, tuple[int, ...], Sequence[Number]]
"""Name, shape and elements."""


class Draft:
    """Draft of the derivative of `program`, whose rows end at `end` of the `tape`."""

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
            for sizes in ([joint.nq for joint in types], [joint.nv for joint in types])
        )

    def argument_index(self, name: str) -> int:
        """Return the index of an argument. Raises ArgumentError if the Program has no argument of
        this name.
        """
        names = [port.name for port in self.program.inputs]
        if name not in names:
            raise ArgumentError(
                f"{self.program.function} has no argument '{name}' to be differentiated by; it has "
                f"{', '.join(names)}"
            )
        return names.index(name)

    def shape(self, port: Port) -> tuple[int, ...]:
        """Return the shape of the change of an argument or a result."""
        return (self._of_v[-1].stop,) if self._is_moved(port) else port.shape

    def _is_moved(self, port: Port) -> bool:
        return port.name in POSITIONS and bool(self.program.joints)

    # -- arguments ---------------------------------------------------------------------------------

    def add(self, name: str, shape: tuple[int, ...]) -> Numbers:
        """Add an argument and return its elements."""
        self.inputs.append(Port(name, shape))
        return [self.tape.argument(len(self.inputs) - 1, k) for k in range(self.inputs[-1].size)]

    def rows(self, argument: int) -> list[int]:
        """Return the row of each element of an argument."""
        for k in range(self.inputs[argument].size):
            if (argument, k) not in self._rows:
                self._rows[argument, k] = [self.tape.argument(argument, k)]
        return [self._rows[argument, k][0] for k in range(self.inputs[argument].size)]

    def changes(self, argument: int, step: Sequence[Number]) -> dict[int, int]:
        """Return by row the changes of an argument's elements if the argument changes by `step`."""
        changes = (
            self._forward(rates_from_step, self.rows(argument), step, self._of_v)
            if self._is_moved(self.inputs[argument])
            else step
        )
        return {
            i: change
            for k, change in enumerate(changes)
            if change is not None
            for i in self._rows.get((argument, k), ())
            if i < self.end
        }

    def elements(self, arguments: Iterable[int]) -> list[int]:
        """Return the rows of these arguments."""
        return [
            i
            for argument in arguments
            for k in range(self.inputs[argument].size)
            for i in self._rows.get((argument, k), ())
        ]

    def argument_weights(self, argument: int, weights: dict[int, int]) -> Numbers:
        """Return the weights of an argument, from the weights of its rows."""
        positions, totals = self.rows(argument), Numbers()
        for k in range(len(positions)):
            total: Number = None
            for i in self._rows[argument, k]:
                total = self.tape.plus(total, weights.get(i))
            totals.append(total)
        return (
            self._backward(rates_from_step, positions, totals, self._of_v)
            if self._is_moved(self.inputs[argument])
            else totals
        )

    # -- results -----------------------------------------------------------------------------------

    def result_changes(self, port: Port, tangents: Sequence[Number]) -> Numbers:
        """Return the changes of a result, from the changes of the rows."""
        rates = [tangents[r] for r in port.rows]
        return (
            self._forward(step_from_rates, port.rows, rates, self._of_q)
            if self._is_moved(port)
            else rates
        )

    def element_weights(self, port: Port, weights: Sequence[Number]) -> dict[int, int]:
        """Return by row the weights of a result's elements, when the result has these weights."""
        element_weights = (
            self._backward(step_from_rates, port.rows, weights, self._of_q)
            if self._is_moved(port)
            else weights
        )
        totals: dict[int, int] = {}
        for r, weight in zip(port.rows, element_weights, strict=True):
            total = self.tape.plus(totals.get(r), weight)
            if total is not None:
                totals[r] = total
        return totals

    # -- positions ---------------------------------------------------------------------------------

    def _forward(
        self,
        linear: Callable[[str], Program],
        positions: Sequence[int],
        values: Sequence[Number],
        slices: Sequence[slice],
    ) -> Numbers:
        """Return a linear map of every joint's part of `values`, at the joint's position."""
        mapped: Numbers = []
        for kind, at, entries in zip(self.program.joints, self._of_q, slices, strict=True):
            program = linear(kind)
            nonzero = any(value is not None for value in values[entries])
            mapped += (
                self.tape.inline(program, [positions[at], values[entries]])[0]
                if nonzero
                else [None] * program.outputs[0].size
            )
        return mapped

    def _backward(
        self,
        linear: Callable[[str], Program],
        positions: Sequence[int],
        weights: Sequence[Number],
        slices: Sequence[slice],
    ) -> Numbers:
        """Return the transpose of `_forward`: the weights of each joint's part, from the weights of
        its image.
        """
        gradients: Numbers = []
        offset = 0
        for kind, at, entries in zip(self.program.joints, self._of_q, slices, strict=True):
            program = linear(kind)
            unknowns = [self.tape.unread() for _ in range(entries.stop - entries.start)]
            begin = len(self.tape.rows)
            seeds: dict[int, int] = {}
            part_weights = weights[offset : offset + program.outputs[0].size]
            offset += len(part_weights)
            if any(weight is not None for weight in part_weights):
                for r, weight in zip(
                    self.tape.inline(program, [positions[at], unknowns])[0],
                    part_weights,
                    strict=True,
                ):
                    total = None if r is None else self.tape.plus(seeds.get(r), weight)
                    if r is not None and total is not None:
                        seeds[r] = total
            part_gradients = pull_back(self.tape, begin, len(self.tape.rows), seeds, unknowns)
            gradients += [part_gradients.get(unknown) for unknown in unknowns]
        return gradients

    # -- leaving -----------------------------------------------------------------------------------

    def program_of(self, function: str, results: Sequence[Result]) -> Program:
        """Return the Program of these results, before any pass. New arguments follow the function's
        own, before run-time ones.
        """
        run_time = {array.name for array in AT_RUN_TIME}
        originals = range(len(self.program.inputs))
        order = [
            *(i for i in originals if self.inputs[i].name not in run_time),
            *range(len(originals), len(self.inputs)),
            *(i for i in originals if self.inputs[i].name in run_time),
        ]
        new_index = {argument: k for k, argument in enumerate(order)}
        zero = self.tape.constant(0)
        outputs = tuple(
            Port(name, shape, tuple(zero if number is None else number for number in numbers))
            for name, shape, numbers in results
        )
        steps: dict[str, int] = {}  # each comment once, although several sweeps use it
        rows = []
        for row in self.tape.rows:
            value = (new_index[row.value[0]], row.value[1]) if row.op == "input" else row.value
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
