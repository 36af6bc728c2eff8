"""Operations on the longest chain of dependencies of what runs steps many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

from symgen.ir.program import Numbers, Port, Program, Row


def _none(*_: Any) -> Any:
    """No step is run in any other way."""
    raise NotImplementedError


class _Depth:
    """Operations on the longest way to a value."""

    __slots__ = ("ops",)

    def __init__(self, ops: int) -> None:
        self.ops = ops

    def _with(self, other: _Depth) -> _Depth:
        return _Depth(1 + max(self.ops, other.ops))

    __add__ = __mul__ = _with  # where several children meet

    def __lt__(self, other: _Depth) -> bool:
        return self.ops < other.ops

    def __gt__(self, other: _Depth) -> bool:
        return self.ops > other.ops


_DEPTHS = Numbers(lambda _: _Depth(0), *[_none] * 5)


class _Deepening:
    """Steps over whole numbers. What each does is found out once: of every row its port and element, or the rows it takes, and
    what that adds.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Program, list[tuple[str, int, int, int]]]] = {}

    def __call__(
        self, step: Program, own: Mapping[str, Sequence[_Depth]], _: Numbers
    ) -> dict[str, list[_Depth]]:
        if id(step) not in self.known:
            self.known[id(step)] = (
                step,
                [*map(_taken, step.rows, repeat([port.name for port in step.inputs]))],
            )
        ops: list[int] = []
        for name, first, second, more in self.known[id(step)][1]:
            if name:
                ops.append(own[name][first].ops)
            elif first < 0:
                ops.append(0)
            else:
                a, b = ops[first], ops[second]
                ops.append(more + (a if a > b else b))
        return {port.name: [_Depth(ops[r]) for r in port.rows] for port in step.outputs}


def _taken(row: Row, names: Sequence[str]) -> tuple[str, int, int, int]:
    if row.op == "input":
        return names[row.value[0]], row.value[1], 0, 0
    return ("", row.args[0], row.args[-1], int(row.op != "neg")) if row.args else ("", -1, -1, 0)


def deepest(
    inputs: Sequence[Port], evaluated: Callable[..., Mapping[str, Sequence[_Depth]]]
) -> int:
    """Operations on the longest way to a result; `evaluated` runs all steps as it is told, over the numbers that it is given."""
    found = evaluated(
        {port.name: [_Depth(0)] * port.size for port in inputs}, _DEPTHS, _Deepening()
    )
    return max((max(one) for one in found.values() if one), default=_Depth(0)).ops
