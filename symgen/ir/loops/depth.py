"""Depth of loop programs: a number type that counts operations, and a runner that translates each
step once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symgen.ir.loops.stages import GIVEN_BY_STEPS
from symgen.ir.program import Numbers, Port, Program
from symgen.ir.translated import Translated, python_function


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

    def __gt__(self, other: _Depth) -> bool:
        return self.operations > other.operations


def _no_function(*_: Any) -> Any:
    raise NotImplementedError


_OF_CONSTANTS = _Depth(0)
_DEPTHS = Numbers(lambda _: _OF_CONSTANTS, *[_no_function] * 5)


class _DepthOfSteps:
    """Runs steps over depths; each step is translated once."""

    def __init__(self) -> None:
        self.translated: dict[int, tuple[Program, Translated]] = {}

    def __call__(
        self, step: Program, arguments: Mapping[str, Sequence[_Depth]], _: Numbers
    ) -> dict[str, list[_Depth]]:
        if id(step) not in self.translated:
            self.translated[id(step)] = step, _translate(step)
        return self.translated[id(step)][1](arguments)


def _translate(step: Program) -> Translated:
    """Return a Python function of the depths of a step's arguments; depths that are the same at
    every link are numbers in it.
    """
    statements: list[str] = []
    depths: list[int | str] = []
    """Depth of each row, or the variable that holds it if the row depends on what another step
    gives.
    """
    for r, row in enumerate(step.rows):
        depth: int | str = 0
        if row.op == "input":
            name, element = step.inputs[row.value[0]].name, row.value[1]
            if name in GIVEN_BY_STEPS:
                depth = f"r{r}"
                statements.append(f"{depth} = arguments[{name!r}][{element}].operations")
        elif row.args:
            first, second = depths[row.args[0]], depths[row.args[-1]]
            depth = _deeper(first, second)
            if row.op != "neg":
                if isinstance(depth, int):
                    depth += 1
                else:
                    statements.append(f"r{r} = 1 + {depth}")
                    depth = f"r{r}"
        depths.append(depth)
    results = {
        port.name: f"[{', '.join(f'depth({depths[r]})' for r in port.rows)}]"
        for port in step.outputs
    }
    return python_function(statements, results, {"depth": _Depth})


def _deeper(first: int | str, second: int | str) -> int | str:
    """Return the larger of two depths: a number, or an expression if one of them is a variable."""
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    if second in (0, first):
        return first
    if first == 0:
        return second
    return f"({first} if {first} > {second} else {second})"
