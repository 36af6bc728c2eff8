"""Arrays of a compiled function: requirements, conversions, and messages for wrong ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from operator import index
from struct import Struct
from typing import Any

from symgen.ir.ports import describe, meaning
from symgen.ir.program import Outline, Port
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import Array, Sizes
from symgen.vocabulary.reals import REALS

SHORT = 16
"""Numbers up to which a list of an array's numbers is read faster than a copy of the array."""
WIDE = 8
"""Bytes of a Python float."""


def array_lines(program: Outline, sizes: Sizes) -> list[str]:
    """Return the arguments and the results of a function for its docstring, with shapes and
    meanings.
    """
    arguments, results = describe(program)

    def line(array: Array, port: Port) -> str:
        return (
            f"    {port.name}: ({', '.join(['...', *map(str, port.shape)])}),"
            f" {meaning(array, sizes)}"
        )

    return [
        "Arguments:",
        *map(line, arguments, program.inputs),
        "Results:",
        *map(line, results, program.outputs),
    ]


class Arrays:
    """Arrays of one function of a robot with these sizes; `checked` if the function has a status
    for each state.
    """

    def __init__(self, program: Outline, robot: str, sizes: Sizes, checked: bool) -> None:
        import numpy

        self.np = numpy
        self.program, self.function, self.checked = program, program.function, checked
        self.robot, self.sizes = robot, sizes
        self.real = numpy.dtype(REALS[program.real].numpy)
        self.inputs, self.outputs = program.inputs, program.outputs
        self.numbers = frozenset(
            (
                int,
                float,
                *(numpy.dtype(code).type for code in numpy.typecodes["AllInteger"] + "efdg"),
            )
        )

    def reader(self, port: Port, from_buffer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return `read(x)`, which gives one state as cffi passes it to C: a buffer of the real
        type, or a list or tuple of numbers.

        cffi converts a short list on the stack of the call, faster than NumPy copies an array and
        exports its buffer. `read` returns None if `x` is not a number, list, tuple or array of real
        numbers of the shape of `port`. It raises OverflowError if a number is too large for the
        real type.
        """
        ndarray, real, shape, size = self.np.ndarray, self.real, port.shape, port.size
        numbers, listed = self.numbers, len(shape) == 1
        # A Python float is a double. In a narrower type C would silently make an infinity, which
        # struct refuses for
        # standard sizes.
        narrow = Struct(f"={size}{real.char}").pack if real.itemsize < WIDE else None
        short = listed and size <= SHORT

        def read(x: Any) -> Any:
            # One switch over kinds of arguments, without calls: it runs at every call from Python.
            kind = type(x)
            if kind is ndarray:
                dtype = x.dtype
                if x.shape != shape or dtype.kind not in "iuf":
                    return None
                if dtype is real and x.flags.c_contiguous:
                    return from_buffer(x)
                exact = dtype is real or (narrow is None and dtype.itemsize <= WIDE)
                return x.tolist() if short and exact else from_buffer(x.astype(real, "C"))
            if kind in numbers and not shape:
                x = (x,)
            elif not (
                listed
                and (kind is list or kind is tuple)
                and len(x) == size
                and numbers.issuperset(map(type, x))
            ):
                return None
            if narrow is not None:
                narrow(*x)
            return x

        return read

    def are_apart(self, out: Any) -> bool:
        """True if `out` has an array of the right type and shape for each result, and no two of
        them overlap.
        """
        if type(out) not in (tuple, list) or len(out) != len(self.outputs):
            return False
        fit = all(
            type(x) is self.np.ndarray and x.dtype is self.real and x.shape == port.shape
            for port, x in zip(self.outputs, out, strict=True)
        )
        return fit and not any(self.np.may_share_memory(a, b) for a, b in combinations(out, 2))

    def argument(self, port: Port, x: Any, across: bool) -> Any:
        """Return `x` as an aligned array of the solver's real type, in place if possible. Its last
        axes are those of one state.

        With `across` (layout "soa"), the axes of one state come first in `x` and are moved to the
        end.
        """
        self.refuse_masked(port, x)
        try:
            array = (
                self.np.from_dlpack(x)
                if hasattr(x, "__dlpack__") and not hasattr(x, "__array__")
                else self.np.asarray(x)
            )
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                f"{self.function}: {port.name} is not an array of numbers ({error})"
            ) from None
        if array.dtype.kind not in "iuf":
            raise ArgumentError(
                f"{self.function}: {port.name} has dtype {array.dtype}; it must have real numbers"
                f" ({self.real})"
            )
        if across and array.shape[: len(port.shape)] == port.shape:
            array = move_axes_to_end(self.np, array, len(port.shape))
        elif across:
            expected_shape = ", ".join([*map(str, port.shape), "..."])
            raise ArgumentError(
                f"{self.function}: {port.name} has shape {array.shape}; layout 'soa' needs"
                f" ({expected_shape})"
            )
        self.check_shape(port, array)
        return self.np.require(array, self.real, ["A"])

    def results(self, out: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """Return the arrays of `out`, which must be writable by C and have these shapes."""
        results = (
            [out]
            if len(self.outputs) == 1
            else list(out)
            if isinstance(out, tuple | list)
            else [out]
        )
        if len(results) != len(self.outputs):
            names = ", ".join(port.name for port in self.outputs)
            raise ArgumentError(
                f"{self.function}: out must be a tuple of {len(self.outputs)} arrays ({names})"
            )
        for k, (port, x, shape) in enumerate(zip(self.outputs, results, shapes, strict=True)):
            self.refuse_masked(port, x)
            if not isinstance(x, self.np.ndarray) or x.dtype != self.real or x.shape != shape:
                expectation = f"a {self.real} array of shape {shape}"
                raise ArgumentError(
                    f"{self.function}: the result {port.name} goes into {expectation};"
                    f" {describe_argument(x)}"
                )
            lacks = [
                word
                for word, is_set in (
                    ("contiguous", x.flags.c_contiguous),
                    ("aligned", x.flags.aligned),
                    ("writable", x.flags.writeable),
                )
                if not is_set
            ]
            if lacks:
                raise ArgumentError(
                    f"{self.function}: the array given for the result {port.name} is not"
                    f" {lacks[0]}; C writes to contiguous, aligned and writable memory; use an"
                    " array from numpy.empty"
                )
            if any(self.np.may_share_memory(x, earlier) for earlier in results[:k]):
                raise ArgumentError(
                    f"{self.function}: the arrays given for the results overlap; use one array each"
                )
        return results

    def statuses(self, status: Any, lead: tuple[int, ...]) -> Any:
        """Return the array for the status of each state."""
        if status is None or not self.checked:
            return self.np.zeros(lead, self.np.intc) if self.checked else None
        if (
            not isinstance(status, self.np.ndarray)
            or status.dtype != self.np.intc
            or status.shape != lead
            or not status.flags.c_contiguous
            or not status.flags.writeable
        ):
            raise ArgumentError(
                f"{self.function}: the statuses go into a contiguous, writable"
                f" {self.np.dtype('intc')} array of shape {lead}; {describe_argument(status)}"
            )
        return status

    def common(self, leads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return tuple(self.np.broadcast_shapes(*leads))
        except ValueError:
            listed = ", ".join(
                f"{port.name} {lead}" for port, lead in zip(self.inputs, leads, strict=True)
            )
            raise ArgumentError(
                f"{self.function}: leading shapes do not broadcast together: {listed}"
            ) from None

    def workers(self, threads: int) -> int:
        try:
            workers = index(threads)
        except TypeError:
            workers = 0
        if workers < 1:
            raise ArgumentError(
                f"{self.function}: threads is {threads!r}; it must be the number of parallel"
                " threads, 1 or more"
            )
        return workers

    def refuse_masked(self, port: Port, x: Any) -> None:
        if _is_masked(x):
            raise ArgumentError(
                f"{self.function}: {port.name} is a masked array, whose mask C does not see; fill"
                f" it, as by {port.name}.filled(0), or select the states without masked entries"
            )

    def check_shape(self, port: Port, array: Any) -> None:
        if array.shape[max(array.ndim - len(port.shape), 0) :] != port.shape:
            self._refuse_confused_lengths(port, array)
            expected_shape = ", ".join(["...", *map(str, port.shape)])
            raise ArgumentError(
                f"{self.function}: {port.name} has shape {array.shape}; it must have"
                f" ({expected_shape})"
            )

    def _refuse_confused_lengths(self, port: Port, array: Any) -> None:
        """Raise ArgumentError if an array of the length of v is passed for q, or one of the length
        of q for a velocity.
        """
        long = {"NQ": self.sizes.NQ, "NV": self.sizes.NV}
        shapes = {
            array_of_port.name: array_of_port.shape
            for ports in describe(self.program)
            for array_of_port in ports
        }
        for expected, actual in (("NQ", "NV"), ("NV", "NQ")):
            if array.ndim and shapes[port.name] == (expected,) and array.shape[-1] == long[actual]:
                raise ArgumentError(
                    f"{self.function}: {port.name} has {long[actual]} numbers, which is {actual};"
                    f" {port.name} of '{self.robot}' has {expected} = {long[expected]} (a"
                    " quaternion is four numbers in q and three in v)"
                )


def move_axes_to_end(np: Any, array: Any, axes: int) -> Any:
    """Return a view whose first axes are moved to the end."""
    return np.moveaxis(array, range(axes), range(-axes, 0))


def describe_argument(x: Any) -> str:
    """Return a description of a wrong argument."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"a {x.dtype} array of shape {x.shape} was given"
    return f"a {type(x).__name__} was given"


def _is_masked(x: Any) -> bool:
    """True for a masked array, or a list that contains one. If numpy.ma is not imported there is
    none.
    """
    masked = sys.modules.get("numpy.ma")
    if masked is None:
        return False
    return isinstance(x, masked.MaskedArray) or (
        isinstance(x, list | tuple) and any(map(_is_masked, x))
    )
