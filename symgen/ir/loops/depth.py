"""Depth of loop programs: a number type that counts operations, and a runner that translates each step once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symgen.ir.loops.stages import GIVEN_BY_STEPS
from symgen.ir.program import Numbers, Port, Program


def deepest(inputs: Sequence[Port], evaluate: Callable[..., Mapping[str, Sequence[_Depth]]]) -> int:
    """Return the number of operations (neg apart) on the longest chain of dependencies.

    `evaluate` runs the function over the numbers, and each step by the runner, that it is given.
    """
    arguments = {port.name: [_Depth(0)] * port.size for port in inputs}
    results = evaluate(arguments, _DEPTHS, _DepthOfSteps())
    deepest_values = (max(values) for values in results.values() if values)
    return max(deepest_values, default=_Depth(0)).operations


class _Depth:
    """A value of which only the number of operations before it is known."""

    __slots__ = ("operations",)

    def __init__(self, operations: int) -> None:
        self.operations = operations

    def _with(self, operand: _Depth) -> _Depth:
        return _Depth(1 + max(self.operations, operand.operations))

    __add__ = __mul__ = _with  # where several children meet

    def __lt__(self, other: _Depth) -> bool:
        return self.operations < other.operations

    def __gt__(self, other: _Depth) -> bool:
        return self.operations > other.operations


def _no_function(*_: Any) -> Any:
    raise NotImplementedError


_OF_CONSTANTS = _Depth(0)
_DEPTHS = Numbers(lambda _: _OF_CONSTANTS, *[_no_function] * 5)


class _DepthOfSteps:
    """Runs steps over depths; each step is translated once."""

    def __init__(self) -> None:
        self.translated: dict[int, tuple[Program, _DepthOfStep]] = {}

    def __call__(
        self, step: Program, arguments: Mapping[str, Sequence[_Depth]], _: Numbers
    ) -> dict[str, list[_Depth]]:
        if id(step) not in self.translated:
            self.translated[id(step)] = step, _DepthOfStep(step)
        return self.translated[id(step)][1](arguments)


class _DepthOfStep:
    """The depths of the rows of one step, those that are the same at every link computed once."""

    def __init__(self, step: Program) -> None:
        self.outputs = step.outputs
        self.depths: list[int] = []
        """Depth of each row; 0 for a row of `inputs` or `rows`."""
        self.inputs: dict[str, list[tuple[int, int]]] = {}
        """Rows that read what another step gives, and the elements, by port."""
        self.rows: list[tuple[int, int, int, int]] = []
        """Rows that depend on `inputs`: row, operands, and the operations that the row adds."""
        varying: set[int] = set()
        for r, row in enumerate(step.rows):
            depth = 0
            if row.op == "input":
                name, element = step.inputs[row.value[0]].name, row.value[1]
                if name in GIVEN_BY_STEPS:
                    self.inputs.setdefault(name, []).append((r, element))
                    varying.add(r)
            elif row.args:
                first, second, cost = row.args[0], row.args[-1], int(row.op != "neg")
                if varying.isdisjoint(row.args):
                    depth = cost + max(self.depths[first], self.depths[second])
                else:
                    self.rows.append((r, first, second, cost))
                    varying.add(r)
            self.depths.append(depth)

    def __call__(self, arguments: Mapping[str, Sequence[_Depth]]) -> dict[str, list[_Depth]]:
        depths = self.depths.copy()
        for name, reads in self.inputs.items():
            values = arguments[name]
            for r, element in reads:
                depths[r] = values[element].operations
        for r, first, second, cost in self.rows:
            a, b = depths[first], depths[second]
            depths[r] = cost + (a if a > b else b)
        return {port.name: [_Depth(depths[r]) for r in port.rows] for port in self.outputs}
