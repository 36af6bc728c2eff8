"""A library of one function in Python, in place of compiled C."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cffi
import numpy as np

from symgen.ir.program import Outline, Port
from symgen.machine.building import NO_MEMORY

FFI = cffi.FFI()
X, T, Y, S = Port("x", (2,)), Port("t", ()), Port("y", (2,)), Port("s", ())
STATUS = 3.5
"""A first number of x that a checked function refuses, with the status 5."""


def numbers(pointer: Any, count: int, kind: str = "double") -> Any:
    """Return the memory of C at a pointer as an array."""
    data_type = {"double": "f8", "int": "i4"}[kind]
    size = np.dtype(data_type).itemsize * count
    buffer = FFI.buffer(FFI.cast(f"{kind} *", pointer), size)
    return np.frombuffer(buffer, data_type)


class Library:
    """A library with y = 2 x + t and s = t x₀, or the first of them; calls are recorded."""

    def __init__(self, outputs: int = 2, looped: bool = False, checked: bool = False) -> None:
        self.ffi, self.outputs, self.checked = FFI, outputs, checked
        self.calls: list[tuple[str, int]] = []
        self.memory = True
        self.__name__ = "library"
        self.lib = SimpleNamespace(
            stub_scale=self.state,
            stub_scale_aligned=self.state,
            stub_scale_each=self.each,
            stub_scale_chain=self.chain,
        )
        if looped:
            self.lib.stub_scale_alone = self.state

    def compute(self, x: Any, t: Any, results: Any) -> int:
        if not self.memory:
            return NO_MEMORY
        x, t = x.copy(), t.copy()
        results[0][:] = 2 * x + t
        if self.outputs == 2:
            results[1][:] = t * x[0]
        return 5 if self.checked and x[0] == STATUS else 0

    def state(self, x: Any, t: Any, *results: Any) -> int:
        if x is None or t is None:
            raise TypeError("no pointer")
        x, t = (FFI.new("double[]", a) if isinstance(a, list | tuple) else a for a in (x, t))
        self.calls.append(("state", 1))
        return self.compute(
            numbers(x, 2), numbers(t, 1), [numbers(r, 2 - k) for k, r in enumerate(results)]
        )

    def each(
        self, count: int, x: Any, step_of_x: int, t: Any, step_of_t: int, *others: Any
    ) -> int | None:
        self.calls.append(("each", count))
        all_x = numbers(x, 2 if step_of_x == 0 else 2 * count)
        all_t = numbers(t, 1 if step_of_t == 0 else count)
        assert (step_of_x, step_of_t) == (2 * (step_of_x > 0), 1 * (step_of_t > 0))
        results = others[: self.outputs]
        for i in range(count):
            row = [
                numbers(r, (2 - k) * count)[(2 - k) * i : (2 - k) * (i + 1)]
                for k, r in enumerate(results)
            ]
            status = self.compute(
                all_x[step_of_x * i : step_of_x * i + 2],
                all_t[step_of_t * i : step_of_t * i + 1],
                row,
            )
            if status == NO_MEMORY:
                return status
            if self.checked:
                numbers(others[-1], count, "int")[i] = status
        return 0

    def chain(
        self, count: int, share: float, x: Any, step: int, t: Any, step_of_t: int, *results: Any
    ) -> int:
        self.calls.append(("chain", count))
        assert share == 0
        all_x, all_t = numbers(x, 2 + step * (count - 1)), numbers(t, 1 + step_of_t * (count - 1))
        for i in range(count):
            self.compute(
                all_x[step * i : step * i + 2],
                all_t[step_of_t * i : step_of_t * i + 1],
                [numbers(r, 2 - k) for k, r in enumerate(results)],
            )
        return 0


class Blocks:
    """The library of the same function for blocks of states."""

    def __init__(self, library: Library) -> None:
        self.ffi, self.library = FFI, library
        self.lib = SimpleNamespace(stub_scale_many=self.many)

    def many(self, count: int, *others: Any) -> int:
        self.library.calls.append(("many", count))
        arrays = [others[3 * k : 3 * k + 3] for k in range(2 + self.library.outputs)]

        def state(array: Any, i: int, size: int) -> Any:
            pointer, step, element = array
            first = FFI.cast("double *", pointer) + i * step
            return [first + k * element for k in range(size)]

        for i in range(count):
            x = np.array([p[0] for p in state(arrays[0], i, 2)])
            (t,) = (p[0] for p in state(arrays[1], i, 1))
            for k, p in enumerate(state(arrays[2], i, 2)):
                p[0] = 2 * x[k] + t
            if self.library.outputs == 2:
                state(arrays[3], i, 1)[0][0] = t * x[0]
            if self.library.checked:
                FFI.cast("int *", others[-1])[i] = 5 if x[0] == STATUS else 0
        return 0 if self.library.memory else NO_MEMORY


def outline_of(library: Library, length: int = 10) -> Outline:
    """Return the outline of the library's function."""
    outputs = (Y, S)[: library.outputs]
    return Outline("scale", "test", (X, T), outputs, {"mul": 3}, length, "double")
