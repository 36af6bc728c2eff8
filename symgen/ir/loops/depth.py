"""Depth of loop programs: a number type that counts operations, and a runner that translates each step once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symgen.ir.program import Numbers, Port, Program, Row


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
    """Runs steps over depths. The rows of each step are translated once: to an input, or to operands and their cost."""

    def __init__(self) -> None:
        self.translated: dict[int, tuple[Program, list[tuple[str, int, int, int]]]] = {}

    def __call__(
        self, step: Program, arguments: Mapping[str, Sequence[_Depth]], _: Numbers
    ) -> dict[str, list[_Depth]]:
        if id(step) not in self.translated:
            names = [port.name for port in step.inputs]
            self.translated[id(step)] = (step, [_translated(row, names) for row in step.rows])
        depths: list[int] = []
        for name, first, second, cost in self.translated[id(step)][1]:
            if name:
                depths.append(arguments[name][first].operations)
            elif first < 0:
                depths.append(0)
            else:
                a, b = depths[first], depths[second]
                depths.append(cost + (a if a > b else b))
        return {port.name: [_Depth(depths[r]) for r in port.rows] for port in step.outputs}


def _translated(row: Row, names: Sequence[str]) -> tuple[str, int, int, int]:
    """Return the port and element that a row reads, or its operands and the operations that it adds."""
    if row.op == "input":
        return names[row.value[0]], row.value[1], 0, 0
    return ("", row.args[0], row.args[-1], int(row.op != "neg")) if row.args else ("", -1, -1, 0)
