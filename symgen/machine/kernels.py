"""One compiled function as Python calls it: what arrays it takes, and how C runs through them.

A call on one state takes a short way: when every argument is an array of the right type and shape, its buffer goes straight to C.
Everything else (lists, batches, other types, mistakes) takes the long way, which explains itself. A batch is run in slices of a
fifth of a second, since Python reacts to Ctrl-C only when C has returned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from keyword import iskeyword
from time import perf_counter
from typing import Any

from symgen import derivatives
from symgen.backends import printer, render
from symgen.backends._ports import describe, meaning, operations_text
from symgen.errors import ArgumentError, StateError
from symgen.functions import Array, Sizes
from symgen.ir import Outline, Port
from symgen.reals import REALS

Call = Callable[..., Any]

SHARE = 0.2
"""Seconds that C may run before Python checks for an interruption."""
FIRST_SHARE = 2_000_000
"""Rows in the first slice of a batch, a thousandth of a second and more. From then on the length is measured."""

_REFUSED = (
    "",
    "an argument is infinite or not a number; give finite ones",
    "an angle is beyond {farthest} rad, where the own sine and cosine are not proved; take whole turns off",
    "a divisor is too small at this state; look at the inertias, a payload among them",
    "a quaternion is not of length 1; divide its four numbers by the root of the sum of their squares; 0 0 0 1 is no turn",
)
"""Reasons by status."""


class Kernel:
    """One compiled function and what it accepts."""

    def __init__(self, program: Outline, library: Any, symbol: str, checked: bool, robot: str, sizes: Sizes) -> None:
        import numpy

        self.np = numpy
        self.program, self.function, self.checked = program, program.function, checked
        self.robot, self.sizes = robot, sizes
        self.one, self.batch = getattr(library.lib, symbol), getattr(library.lib, f"{symbol}_batch")
        self.aligned, self.in_turn = getattr(library.lib, f"{symbol}_aligned"), getattr(library.lib, f"{symbol}_chain")
        self.ffi = library.ffi
        self.real = numpy.dtype(REALS[program.real].numpy)
        self.inputs, self.outputs = program.inputs, program.outputs

    def _heed(self, code: int | None, first: int | None = None) -> None:
        """The status of a checked function: StateError where it refuses a state, counted from `first` in a batch."""
        if code:
            state, status = divmod(code, len(printer().statuses))
            why = _REFUSED[status].format(farthest=printer().farthest)
            place = "" if first is None else f" at state {first + state}"
            raise StateError(f"{self.function} refuses its arguments{place}: {why}")

    def call(self) -> Call:
        """The function as the user calls it.

        It is written out for its arguments, as a dataclass writes its __init__: loops and *arguments would double what a call
        costs. `templates/solver/call.py.j2` has the text.
        """
        names, results = [port.name for port in self.inputs], [port.name for port in self.outputs]
        own = derivatives.symbol(self.function)
        for name in (own, *names, *results):
            if not name.isidentifier() or iskeyword(name) or name.startswith("_") or name == "out":
                raise ArgumentError(f"'{name}' cannot be the name of a function or an argument; use a plain identifier")
        single = len(results) == 1
        index = "[()]" if single and not self.outputs[0].shape else ""
        context = {"names": names, "results": results, "single": single, "index": index}
        text = render("solver", "call.py.j2", function=own, **context)
        known: dict[str, Any] = {"_ndarray": self.np.ndarray, "_empty": self.np.empty, "_real": self.real}
        known |= {"_one": self.aligned, "_from_buffer": self.ffi.from_buffer, "_chars": self.ffi.typeof("char[]")}
        known |= {"_long_road": self.long_road}
        known |= {f"_shape_{p.name}": p.shape for p in self.inputs} | {f"_shape_out_{p.name}": p.shape for p in self.outputs}
        exec(text, known)
        call: Call = known[own]
        call.__qualname__, call.__module__, call.__doc__ = f"Solver.{own}", __name__, self._doc()
        return call

    def long_road(self, arguments: tuple[Any, ...], out: Any) -> Any:
        """A call on anything: convert, broadcast, check, and loop over the states in C."""
        np = self.np
        arrays = [self._convert(port, x) for port, x in zip(self.inputs, arguments, strict=True)]
        leads = [x.shape[: x.ndim - len(port.shape)] for port, x in zip(self.inputs, arrays, strict=True)]
        lead = self._common(leads)
        results = [np.empty(lead + p.shape, self.real) for p in self.outputs] if out is None else self._given(out, lead)
        for k, (port, own) in enumerate(zip(self.inputs, leads, strict=True)):
            if own != lead and _states(own) != 1:
                arrays[k] = np.ascontiguousarray(np.broadcast_to(arrays[k], lead + port.shape))
            if out is not None and self._is_overwritten(arrays[k], results, _states(lead)):
                arrays[k] = arrays[k].copy()
        if _states(lead):
            self._run(arrays, results, _states(lead))()
        if out is None and not lead:
            results = [result[()] for result in results]
        return results[0] if len(results) == 1 else tuple(results)

    def bind(self, arrays: Sequence[Any]) -> Call:
        """See `Solver.bind`."""
        ports = (*self.inputs, *self.outputs)
        if len(arrays) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise ArgumentError(f"{self.function}: {len(arrays)} arrays are bound, but it takes {len(ports)}: {names}")
        for port, x in zip(ports, arrays, strict=True):
            self._refuse_masked(port, x)
            if not isinstance(x, self.np.ndarray) or x.dtype != self.real or not x.flags.c_contiguous or not x.flags.aligned:
                raise ArgumentError(f"{self.function}: {port.name} must be a contiguous, aligned "
                                    f"{self.real} array to be bound; {_seen(x)}")
            self._check_shape(port, x)
        given, results = list(arrays[: len(self.inputs)]), arrays[len(self.inputs) :]
        leads = [x.shape[: x.ndim - len(port.shape)] for port, x in zip(self.inputs, given, strict=True)]
        lead = self._common(leads)
        results = self._given(tuple(results) if len(results) > 1 else results[0], lead)
        for port, own, x in zip(self.inputs, leads, given, strict=True):
            if own != lead and _states(own) != 1:
                wanted = f"bound arrays hold one state or all of {lead}"
                raise ArgumentError(f"{self.function}: {port.name} has leading shape {own}; {wanted}")
            if self._is_overwritten(x, results, _states(lead)):
                raise ArgumentError(f"{self.function}: {port.name} overlaps a result state by state; bind arrays that are apart")
        return self._run(given, results, _states(lead)) if _states(lead) else (lambda: None)

    def chain(self, states: int, arrays: Sequence[Any]) -> Call:
        """See `Solver.chain`."""
        count = len(self.inputs)

        def is_many(port: Port, x: Any) -> bool:
            return getattr(x, "ndim", 0) > len(port.shape)

        first = [x[0, ...] if is_many(port, x) else x for port, x in zip(self.inputs, arrays, strict=False)]
        self.bind([*first, *arrays[count:]])
        if any(len(x) != states or not x.flags.c_contiguous for port, x in zip(self.inputs, arrays, strict=False)
               if is_many(port, x)):
            raise ArgumentError(f"{self.function}: a chain of {states} states takes one state or {states} of each argument, "
                                "contiguous")
        many = [is_many(port, x) for port, x in zip(self.inputs, arrays, strict=False)]
        into = self._into(arrays[count:])

        def chain(first: int, last: int) -> None:
            given = [x[first:last] if each else x for x, each in zip(arrays, many, strict=False)]
            self.in_turn(last - first, 0.0, *self._steps(given, many), *into)

        for x in arrays[count:]:
            x[...] = 0   # the first call adds a share of these
        return partial(self._in_shares, chain, states)

    def _steps(self, arrays: Sequence[Any], many: Sequence[bool]) -> list[Any]:
        """Buffer and step of each argument. The step is 0 where one argument serves all states."""
        given = zip(self.inputs, arrays, many, strict=True)
        return [item for port, x, each in given for item in (self.ffi.from_buffer(x), port.size if each else 0)]

    def _into(self, results: Sequence[Any]) -> list[Any]:
        return [self.ffi.from_buffer(x, require_writable=True) for x in results]

    def _run(self, arrays: Sequence[Any], results: Sequence[Any], states: int) -> Call:
        """The call in C, arguments and buffers bound; the buffers keep their arrays alive."""
        if states == 1:
            one = partial(self.one, *(self.ffi.from_buffer(x) for x in arrays), *self._into(results))
            return one if not self.checked else lambda: self._heed(one())
        many = [x.size > port.size for port, x in zip(self.inputs, arrays, strict=True)]
        if states <= self._first_share:
            all_of_them = partial(self.batch, states, *self._steps(arrays, many), *self._into(results))
            return all_of_them if not self.checked else lambda: self._heed(all_of_them(), 0)
        # The states of each array one below the other, in place.
        given = [x.reshape(-1, port.size) for port, x in zip(self.inputs, arrays, strict=True)]
        into = [x.reshape(-1, port.size) for port, x in zip(self.outputs, results, strict=True)]

        def batch(first: int, last: int) -> None:
            steps = self._steps([x[first:last] if each else x for x, each in zip(given, many, strict=True)], many)
            self._heed(self.batch(last - first, *steps, *self._into([x[first:last] for x in into])), first)

        return partial(self._in_shares, batch, states)

    @property
    def _first_share(self) -> int:
        return max(1, FIRST_SHARE // self.program.length)

    def _in_shares(self, run: Callable[[int, int], None], states: int) -> None:
        """`run(first, last)` over all states. Python reacts to a signal between two slices."""
        first, share = 0, self._first_share
        while first < states:
            start, last = perf_counter(), min(first + share, states)
            run(first, last)
            first = last
            share = max(1, int(share * min(8.0, SHARE / max(perf_counter() - start, 1e-6))))

    def _convert(self, port: Port, x: Any) -> Any:
        """`x` as an aligned, contiguous array of the solver's real type, the same one when it is that already."""
        self._refuse_masked(port, x)
        try:
            array = self.np.asarray(x)
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"{self.function}: {port.name} is no array of numbers ({error})") from None
        if array.dtype.kind not in "iuf":
            raise ArgumentError(f"{self.function}: {port.name} has dtype {array.dtype}; real numbers ({self.real}) are wanted")
        self._check_shape(port, array)
        return self.np.require(array, self.real, ["C", "A"]).reshape(array.shape)

    def _refuse_masked(self, port: Port, x: Any) -> None:
        if _is_masked(x):
            raise ArgumentError(f"{self.function}: {port.name} is a masked array, whose mask C does not see; fill it, as by "
                                f"{port.name}.filled(0), or take the states that are whole")

    def _check_shape(self, port: Port, array: Any) -> None:
        if array.shape[max(array.ndim - len(port.shape), 0) :] != port.shape:
            self._tell_apart(port, array)
            wanted = ", ".join(["...", *map(str, port.shape)])
            raise ArgumentError(f"{self.function}: {port.name} has shape {array.shape}; ({wanted}) is wanted")

    def _tell_apart(self, port: Port, array: Any) -> None:
        """ArgumentError where an array as long as v is given for q, or one as long as q for what goes with v."""
        long = {"NQ": self.sizes.NQ, "NV": self.sizes.NV}
        known = {one.name: one.shape for some in describe(self.program) for one in some}
        for own, other in (("NQ", "NV"), ("NV", "NQ")):
            if array.ndim and known[port.name] == (own,) and array.shape[-1] == long[other]:
                raise ArgumentError(f"{self.function}: {port.name} has {long[other]} numbers, which is {other}; {port.name} of "
                                    f"'{self.robot}' has {own} = {long[own]} (a quaternion is four numbers in q and three in v)")

    def _common(self, leads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return tuple(self.np.broadcast_shapes(*leads))
        except ValueError:
            listed = ", ".join(f"{port.name} {lead}" for port, lead in zip(self.inputs, leads, strict=True))
            raise ArgumentError(f"{self.function}: leading shapes do not broadcast together: {listed}") from None

    def _given(self, out: Any, lead: tuple[int, ...]) -> list[Any]:
        """The arrays of `out`, each one fit to be written by C."""
        results = [out] if len(self.outputs) == 1 else list(out) if isinstance(out, tuple | list) else [out]
        if len(results) != len(self.outputs):
            names = ", ".join(port.name for port in self.outputs)
            raise ArgumentError(f"{self.function}: out must be a tuple of {len(self.outputs)} arrays ({names})")
        for k, (port, x) in enumerate(zip(self.outputs, results, strict=True)):
            self._refuse_masked(port, x)
            shape = lead + port.shape
            if not isinstance(x, self.np.ndarray) or x.dtype != self.real or x.shape != shape:
                wanted = f"a {self.real} array of shape {shape}"
                raise ArgumentError(f"{self.function}: the result {port.name} goes into {wanted}; {_seen(x)}")
            lacks = [word for word, has in (("contiguous", x.flags.c_contiguous), ("aligned", x.flags.aligned),
                                            ("writable", x.flags.writeable)) if not has]
            if lacks:
                raise ArgumentError(f"{self.function}: the array given for the result {port.name} is not {lacks[0]}; C writes to "
                                    "contiguous, aligned and writable memory, as numpy.empty gives it")
            if any(self.np.may_share_memory(x, other) for other in results[:k]):
                raise ArgumentError(f"{self.function}: the arrays given for the results overlap; use one array each")
        return results

    def _is_overwritten(self, x: Any, results: Sequence[Any], states: int) -> bool:
        """Whether a result of an earlier state would be stored over a later state of `x`.

        One state is safe, since C reads it whole before it stores; so are arrays that coincide state by state.
        """
        def same(result: Any) -> bool:
            return bool(x.nbytes == result.nbytes and x.__array_interface__["data"] == result.__array_interface__["data"])

        return states > 1 and any(self.np.may_share_memory(x, r) and not same(r) for r in results)

    def _doc(self) -> str:
        arguments, results = describe(self.program)
        out = "a tuple of arrays" if len(results) > 1 else "an array"

        def line(array: Array, port: Port) -> str:
            return f"    {port.name}: ({', '.join(['...', *map(str, port.shape)])}), {meaning(array, self.sizes)}"

        return "\n".join(
            [
                f"{derivatives.symbol(self.function)}({', '.join(p.name for p in self.inputs)}, out=None)",
                "",
                "Arguments:",
                *map(line, arguments, self.inputs),
                "Results:",
                *map(line, results, self.outputs),
                "",
                f"Leading dimensions broadcast together; out is {out} to write to.",
                f"Method {self.program.method}: {operations_text(self.program)}.",
                "Raises ArgumentError, a ValueError, on a wrong shape or type.",
            ]
        )


def _states(lead: tuple[int, ...]) -> int:
    count = 1
    for size in lead:
        count *= size
    return count


def _is_masked(x: Any) -> bool:
    """Whether it is a masked array, or a list that holds one. Where nobody has imported numpy.ma there is none."""
    masked = sys.modules.get("numpy.ma")
    if masked is None:
        return False
    return isinstance(x, masked.MaskedArray) or (isinstance(x, list | tuple) and any(map(_is_masked, x)))


def _seen(x: Any) -> str:
    """What was given instead, in words."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"a {x.dtype} array of shape {x.shape} was given"
    return f"a {type(x).__name__} was given"
