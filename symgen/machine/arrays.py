"""The arrays that a compiled function is given: what they must be, and what a wrong one is told."""

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
"""Numbers up to which a list of an array's numbers is read in less time than a copy of the array."""
WIDE = 8
"""Bytes of a Python float."""


def array_lines(program: Outline, sizes: Sizes) -> list[str]:
    """List the arguments and the results of a function for its docstring, with shapes and meanings."""
    arguments, results = describe(program)

    def line(array: Array, port: Port) -> str:
        return f"    {port.name}: ({', '.join(['...', *map(str, port.shape)])}), {meaning(array, sizes)}"

    return [
        "Arguments:",
        *map(line, arguments, program.inputs),
        "Results:",
        *map(line, results, program.outputs),
    ]


class Arrays:
    """Those of one function of a robot with these sizes; `checked` where it has a status for each state."""

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
        """Return `read(x)`: one state as cffi hands it to C, a buffer of the real type, or a list or tuple of numbers.

        cffi converts a short list on the stack of the call, in less time than NumPy copies an array and lends its buffer.
        `read` gives None where `x` is no number, list, tuple or array of real numbers of the shape of `port`. It raises
        OverflowError where a number is too large for the real type.
        """
        ndarray, real, shape, size = self.np.ndarray, self.real, port.shape, port.size
        numbers, listed = self.numbers, len(shape) == 1
        # a Python float is as wide as a double: only of a narrower type would C make an infinity without a word,
        # which struct refuses of standard sizes alone
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
        """True if `out` holds an array of the right type and shape for each result, and no two of them overlap."""
        if type(out) not in (tuple, list) or len(out) != len(self.outputs):
            return False
        fit = all(
            type(x) is self.np.ndarray and x.dtype is self.real and x.shape == port.shape
            for port, x in zip(self.outputs, out, strict=True)
        )
        return fit and not any(self.np.may_share_memory(a, b) for a, b in combinations(out, 2))

    def argument(self, port: Port, x: Any, across: bool) -> Any:
        """`x` as an aligned array of the solver's real type, in place when it is that already. Its last axes are those of one
        state; where they are given `across` the states, first, they are put behind.
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
                f"{self.function}: {port.name} is no array of numbers ({error})"
            ) from None
        if array.dtype.kind not in "iuf":
            raise ArgumentError(
                f"{self.function}: {port.name} has dtype {array.dtype}; real numbers ({self.real}) are wanted"
            )
        if across and array.shape[: len(port.shape)] == port.shape:
            array = behind(self.np, array, len(port.shape))
        elif across:
            wanted = ", ".join([*map(str, port.shape), "..."])
            raise ArgumentError(
                f"{self.function}: {port.name} has shape {array.shape}; ({wanted}) is wanted of layout 'soa'"
            )
        self.check_shape(port, array)
        return self.np.require(array, self.real, ["A"])

    def results(self, out: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """The arrays of `out`, each one fit to be written by C, of these shapes."""
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
                wanted = f"a {self.real} array of shape {shape}"
                raise ArgumentError(
                    f"{self.function}: the result {port.name} goes into {wanted}; {seen(x)}"
                )
            lacks = [
                word
                for word, has in (
                    ("contiguous", x.flags.c_contiguous),
                    ("aligned", x.flags.aligned),
                    ("writable", x.flags.writeable),
                )
                if not has
            ]
            if lacks:
                raise ArgumentError(
                    f"{self.function}: the array given for the result {port.name} is not {lacks[0]}; C writes to "
                    "contiguous, aligned and writable memory, as numpy.empty gives it"
                )
            if any(self.np.may_share_memory(x, other) for other in results[:k]):
                raise ArgumentError(
                    f"{self.function}: the arrays given for the results overlap; use one array each"
                )
        return results

    def statuses(self, status: Any, lead: tuple[int, ...]) -> Any:
        """Where the status of each state goes."""
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
                f"{self.function}: the statuses go into a contiguous, writable {self.np.dtype('intc')} array of "
                f"shape {lead}; {seen(status)}"
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
                f"{self.function}: threads is {threads!r}; it is how many may work at once, 1 or more"
            )
        return workers

    def refuse_masked(self, port: Port, x: Any) -> None:
        if _is_masked(x):
            raise ArgumentError(
                f"{self.function}: {port.name} is a masked array, whose mask C does not see; fill it, as by "
                f"{port.name}.filled(0), or take the states that are whole"
            )

    def check_shape(self, port: Port, array: Any) -> None:
        if array.shape[max(array.ndim - len(port.shape), 0) :] != port.shape:
            self._tell_apart(port, array)
            wanted = ", ".join(["...", *map(str, port.shape)])
            raise ArgumentError(
                f"{self.function}: {port.name} has shape {array.shape}; ({wanted}) is wanted"
            )

    def _tell_apart(self, port: Port, array: Any) -> None:
        """ArgumentError where an array as long as v is given for q, or one as long as q for what goes with v."""
        long = {"NQ": self.sizes.NQ, "NV": self.sizes.NV}
        known = {one.name: one.shape for some in describe(self.program) for one in some}
        for own, other in (("NQ", "NV"), ("NV", "NQ")):
            if array.ndim and known[port.name] == (own,) and array.shape[-1] == long[other]:
                raise ArgumentError(
                    f"{self.function}: {port.name} has {long[other]} numbers, which is {other}; {port.name} of "
                    f"'{self.robot}' has {own} = {long[own]} (a quaternion is four numbers in q and three in v)"
                )


def behind(np: Any, array: Any, axes: int) -> Any:
    """A view whose first axes are the last."""
    return np.moveaxis(array, range(axes), range(-axes, 0))


def seen(x: Any) -> str:
    """What was given instead, in words."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"a {x.dtype} array of shape {x.shape} was given"
    return f"a {type(x).__name__} was given"


def _is_masked(x: Any) -> bool:
    """Whether it is a masked array, or a list that holds one. Where nobody has imported numpy.ma there is none."""
    masked = sys.modules.get("numpy.ma")
    if masked is None:
        return False
    return isinstance(x, masked.MaskedArray) or (
        isinstance(x, list | tuple) and any(map(_is_masked, x))
    )
