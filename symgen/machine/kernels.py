"""One compiled function as Python calls it: what arrays it takes, and how C runs through them.

A call on one state takes a short way: when every argument is an array of the right type and shape, its buffer goes straight to C.
Of numbers, lists and arrays of another type or step that hold one state C takes copies. Everything else (many states, other types,
mistakes) takes the long way, which explains itself. Few states are computed one
after the other; for many the function is compiled once more, for blocks of states (`symgen.machine.batch`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from keyword import iskeyword
from threading import Lock
from types import ModuleType
from typing import Any

from symgen.emission import printer, render
from symgen.ir.ports import operations_text
from symgen.ir.program import Outline, Port
from symgen.machine.arrays import Arrays, array_lines, behind, seen
from symgen.machine.batch import LAYOUTS, Progress, Run, Strided, in_slices, strided
from symgen.machine.blocks import WHEN, Compilation
from symgen.machine.building import NO_MEMORY, RobotBuild
from symgen.support.errors import ArgumentError, StateError
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import ASSEMBLE, PREPARED
from symgen.vocabulary.names import nearest
from symgen.vocabulary.reals import REALS

Call = Callable[..., Any]

FIRST_SHARE = 2_000_000
"""Rows in the first slice of many states, a thousandth of a second and more. From then on the length is measured."""
FEW = 10_000_000
"""Rows that are computed state by state before a function is compiled for blocks of states: a few thousandths of a second."""
_OPTIONS = ("out", "threads", "layout", "status", "progress")

_REFUSED = (
    "",
    "an argument is infinite or not a number; give finite ones",
    "an angle is beyond {farthest} rad, where the own sine and cosine are not proved; take whole turns off",
    "a divisor is too small or not finite at this state; look at the inertias, a payload among them, and at large arguments",
    "a quaternion is not of length 1; divide its four numbers by the root of the sum of their squares; 0 0 0 1 is no turn",
    "the steps from there do not close the loops; start nearer to a closed position",
    "a result, or a number that it is computed from, is too large for the real type; give smaller arguments, or real='double'",
)
"""Reasons by status."""


class Kernel:
    """One compiled function and what it accepts.

    `many` gives its library for blocks of states (None: there is none), `behind` starts to compile that in the background
    (None: it is in the cache). `when` is one of `symgen.machine.blocks.WHEN`.
    """

    def __init__(
        self,
        program: Outline,
        library: Any,
        robot: RobotBuild,
        many: Callable[[], ModuleType | None] | None = None,
        behind: Callable[[], Compilation | None] | None = None,
    ) -> None:
        import numpy

        self.np = numpy
        self.program, self.function = program, program.function
        self.checked = robot.text.checked or self.function == ASSEMBLE
        self.symbol = symbol = robot.target.symbol(self.function)
        self.sizes = robot.sizes
        self.looped = is_loop(library, symbol)
        self.one = getattr(library.lib, f"{symbol}_alone" if self.looped else symbol)
        self.each = getattr(library.lib, f"{symbol}_each")
        self.aligned, self.in_turn = (
            getattr(library.lib, f"{symbol}_aligned"),
            getattr(library.lib, f"{symbol}_chain"),
        )
        self.ffi = library.ffi
        self.real = numpy.dtype(REALS[program.real].numpy)
        self.inputs, self.outputs = program.inputs, program.outputs
        self.arrays = Arrays(program, robot.name, self.sizes, self.checked)
        self._many, self._behind, self.when = many, behind, WHEN[0]
        self._contract = robot.build.contract
        self._compilation: Compilation | None = None
        self._starting = Lock()
        self._blocks: tuple[Any, Any] | None = None
        self._waited = (
            FEW if self._contract else 0
        )  # rows; blocks give other last bits where a*b + c may be contracted

    def _heed(self, code: int | None) -> None:
        """The status of a checked function: StateError where it refuses a state. MemoryError where a loop over links has no place
        for its work.
        """
        if code == NO_MEMORY:
            raise MemoryError(
                f"{self.function}: there is no memory for what it keeps of {self.sizes.NB} links"
            )
        if code:
            raise StateError(f"{self.function} refuses its arguments: {self._why(code)}")

    def _heed_all(self, statuses: Any) -> None:
        """Those of all states."""
        bad = self.np.flatnonzero(statuses)
        if bad.size:
            more = f" and {bad.size - 1} more" if bad.size > 1 else ""
            why = self._why(int(statuses.reshape(-1)[bad[0]]))
            raise StateError(
                f"{self.function} refuses its arguments at state {bad[0]}{more}: {why}"
            )

    @staticmethod
    def _why(status: int) -> str:
        return _REFUSED[status].format(farthest=printer().farthest)

    def call(self) -> Call:
        """The function as the user calls it, a method of the solver, so that it can be pickled as one.

        It is written out for its arguments, as a dataclass writes its __init__: loops and *arguments would double what a call
        costs. `templates/solver/call.py.j2` has the text.
        """
        name, inputs, results = self._python_names()
        text = render("solver", "call.py.j2", function=name, **self._call_context(inputs, results))
        known = self._call_globals(inputs, results)
        exec(text, known)
        call: Call = known[name]
        call.__qualname__, call.__module__, call.__doc__ = f"Solver.{name}", __name__, self._doc()
        return call

    def _python_names(self) -> tuple[str, list[str], list[str]]:
        """Names of the function, its arguments and its results in Python. ArgumentError for one that Python cannot take."""
        # lambda is a word of Python's own
        inputs, results = (
            [f"{port.name}_" if iskeyword(port.name) else port.name for port in ports]
            for ports in (self.inputs, self.outputs)
        )
        function = derivatives.identifier_part(self.function)
        for name in (function, *inputs, *results):
            if not name.isidentifier() or name.startswith("_") or name in _OPTIONS:
                raise ArgumentError(
                    f"'{name}' cannot be the name of a function or an argument; use a plain identifier"
                )
        return function, inputs, results

    def _call_context(self, names: list[str], results: list[str]) -> dict[str, Any]:
        """Names of the template of the call."""
        single = len(results) == 1
        prepared = (
            names[-1] == PREPARED.name
        )  # unless it is given, what the solver's parameters make
        return {
            "names": names,
            "signature": [*names[:-1], f"{names[-1]}=None"] if prepared else names,
            "prepared": prepared,
            "results": results,
            "single": single,
            "index": "[()]" if single and not self.outputs[0].shape else "",
            "checked": self.checked,
            # of one axis, the steps tell a slice, at which from_buffer raises, before it is tried
            "in_order": [
                f"{name}.strides == _strides_{name} and len({name}) == {port.size}"
                if len(port.shape) == 1
                else f"{name}.shape == _shape_{name}"
                for name, port in zip(names, self.inputs, strict=True)
            ],
            "in_place": [f"_from_buffer(_reals, {name})" for name in names],
            "copied": [f"_read_{name}({name})" for name in names],
        }

    def _call_globals(self, names: list[str], results: list[str]) -> dict[str, Any]:
        """Globals of the call: types, shapes, readers of arguments, and the function in C."""
        reals = self.ffi.typeof(f"{self.program.real}[]")
        read = partial(self.ffi.from_buffer, reals)
        known: dict[str, Any] = {
            "_ndarray": self.np.ndarray,
            "_empty": self.np.empty,
            "_real": self.real,
            "_one": self.aligned,
            "_from_buffer": self.ffi.from_buffer,
            "_chars": self.ffi.typeof("char[]"),
            "_reals": reals,
            "_long_road": self.long_road,
            "_are_apart": self.arrays.are_apart,
        }
        for name, port in zip(names, self.inputs, strict=True):
            known[f"_shape_{name}"] = port.shape
            known[f"_strides_{name}"] = (self.real.itemsize,)
            known[f"_read_{name}"] = self.arrays.reader(port, read)
        for name, port in zip(results, self.outputs, strict=True):
            known[f"_shape_out_{name}"] = port.shape
        return known

    def long_road(
        self,
        arguments: tuple[Any, ...],
        out: Any,
        threads: int = 1,
        layout: str = "aos",
        status: Any = None,
        progress: Progress | None = None,
    ) -> Any:
        """A call on anything: convert, broadcast, check, and run through the states in C."""
        # One sequence without calls in between: a call of Python's costs as much as a short function.
        np, across = self.np, nearest(layout, LAYOUTS, "layout") == "soa"
        workers = self.arrays.workers(threads)
        arrays = [
            self.arrays.argument(port, x, across)
            for port, x in zip(self.inputs, arguments, strict=True)
        ]
        lead = self.arrays.common(
            [
                x.shape[: x.ndim - len(port.shape)]
                for port, x in zip(self.inputs, arrays, strict=True)
            ]
        )
        shapes = [p.shape + lead if across else lead + p.shape for p in self.outputs]
        found = (
            [np.empty(shape, self.real) for shape in shapes]
            if out is None
            else self.arrays.results(out, shapes)
        )
        results = [
            behind(np, x, len(p.shape)) if across else x
            for p, x in zip(self.outputs, found, strict=True)
        ]
        statuses = self.arrays.statuses(status, lead)
        if _states(lead):
            self._run_all(arrays, results, statuses, lead, workers, progress)
        if status is None and self.checked:
            self._heed_all(statuses) if lead else self._heed(int(statuses))
        if out is None and not lead:
            found = [result[()] for result in found]
        return found[0] if len(found) == 1 else tuple(found)

    def _run_all(
        self,
        arrays: Sequence[Any],
        results: Sequence[Any],
        statuses: Any,
        lead: tuple[int, ...],
        workers: int,
        progress: Progress | None,
    ) -> None:
        """Compute every state."""
        states = _states(lead)
        pairs = [
            strided(self.np, port, x, lead) for port, x in zip(self.inputs, arrays, strict=True)
        ]
        into = [
            strided(self.np, port, x, lead) for port, x in zip(self.outputs, results, strict=True)
        ]
        pairs = [
            self._apart(port, x, into, lead) for port, x in zip(self.inputs, pairs, strict=True)
        ]
        even = all(x.array.flags.c_contiguous for x in into)
        blocks = bool(lead) and self._has_blocks(states)
        if not even and not blocks:  # state by state into arrays that lie close, and from there
            close = [self.np.empty(x.shape, self.real) for x in results]
            self._run_all(arrays, close, statuses, lead, workers, progress)
            for result, x in zip(results, close, strict=True):
                result[...] = x
            return
        run = (self._in_blocks if blocks else self._one_by_one)(pairs, into, statuses)
        share = self._first_share
        if states <= share and workers == 1:
            run(0, states)
        else:
            in_slices(run, states, share, workers, progress)

    def _has_blocks(self, states: int) -> bool:
        """True if the function is compiled for blocks of states. After FEW rows that is begun, as `when` says."""
        if self._blocks is None and self._many is not None and self.when != "never":
            self._waited += states * self.program.length
            if self._waited >= FEW:
                self._compile_blocks()
        return self._blocks is not None

    def _compile_blocks(self) -> None:
        """Compile for blocks of states now or in the background, and take what has been compiled there."""
        if (
            self.when == "now" or self._contract or self._behind is None
        ):  # contracted blocks have other last bits
            self.prepare()
            return
        with self._starting:
            if self._compilation is None:
                self._compilation = self._behind()
            compilation = self._compilation
        if compilation is None:  # compiled before
            self.prepare()
        elif compilation.ended and compilation.failure:
            self.when = "never"
            compilation.tell()
        elif compilation.ended:
            self.prepare()

    def prepare(self) -> None:
        """See `Solver.prepare`."""
        if (compilation := self._compilation) is not None:
            compilation.wait()
        if self._many is not None and self._blocks is None:
            library = self._many()
            if library is None:
                self._many = None
            else:
                self._blocks = library.ffi, getattr(library.lib, f"{self.symbol}_many")

    def _in_blocks(self, given: Sequence[Strided], into: Sequence[Strided], statuses: Any) -> Run:
        """`run(begin, end)` in blocks of states."""
        assert self._blocks is not None
        ffi, call = self._blocks
        size = self.real.itemsize
        arrays = [
            (x.array.__array_interface__["data"][0], x.state, x.element) for x in (*given, *into)
        ]
        where = None if statuses is None else statuses.__array_interface__["data"][0]

        def run(begin: int, end: int) -> None:
            words: list[Any] = []
            for address, state, element in arrays:
                words += [ffi.cast("void *", address + begin * state * size), state, element]
            if where is not None:
                words.append(ffi.cast("int *", where + begin * statuses.itemsize))
            if call(end - begin, *words) == NO_MEMORY:
                self._heed(NO_MEMORY)

        return run

    def _one_by_one(self, given: Sequence[Strided], into: Sequence[Strided], statuses: Any) -> Run:
        """`run(begin, end)` state by state."""
        np = self.np
        many = [x.state != 0 for x in given]
        flat = [
            np.ascontiguousarray(x.array if each else _first(x.array, port)).reshape(-1, port.size)
            for port, x, each in zip(self.inputs, given, many, strict=True)
        ]
        rows = [x.array.reshape(-1, port.size) for port, x in zip(self.outputs, into, strict=True)]
        return self._in_turn(flat, many, rows, statuses)

    def _in_turn(
        self, given: Sequence[Any], many: Sequence[bool], rows: Sequence[Any], statuses: Any
    ) -> Run:
        """`run(begin, end)` over states one below the other."""
        marks = [] if statuses is None else [statuses.reshape(-1)]

        def run(begin: int, end: int) -> None:
            steps = self._steps(
                [x[begin:end] if each else x for x, each in zip(given, many, strict=True)], many
            )
            found = [self.ffi.cast("int *", self.ffi.from_buffer(x[begin:end])) for x in marks]
            self._heed(
                self.each(end - begin, *steps, *self._into([x[begin:end] for x in rows]), *found)
            )

        return run

    def _apart(
        self, port: Port, x: Strided, into: Sequence[Strided], lead: tuple[int, ...]
    ) -> Strided:
        """An argument over whose later states a result of an earlier one would be stored, copied."""
        return (
            strided(self.np, port, x.array.copy(), lead)
            if self._is_overwritten(x, into, lead)
            else x
        )

    def bind(self, arrays: Sequence[Any]) -> Call:
        """See `Solver.bind`."""
        self._refuse_unbindable(arrays)
        arguments, results = list(arrays[: len(self.inputs)]), arrays[len(self.inputs) :]
        leads = [
            x.shape[: x.ndim - len(port.shape)]
            for port, x in zip(self.inputs, arguments, strict=True)
        ]
        lead = self.arrays.common(leads)
        results = self.arrays.results(
            tuple(results) if len(results) > 1 else results[0],
            [lead + port.shape for port in self.outputs],
        )
        into = [
            strided(self.np, port, x, lead) for port, x in zip(self.outputs, results, strict=True)
        ]
        for port, argument_lead, x in zip(self.inputs, leads, arguments, strict=True):
            if argument_lead != lead and _states(argument_lead) != 1:
                wanted = f"bound arrays hold one state or all of {lead}"
                raise ArgumentError(
                    f"{self.function}: {port.name} has leading shape {argument_lead}; {wanted}"
                )
            if self._is_overwritten(strided(self.np, port, x, lead), into, lead):
                raise ArgumentError(
                    f"{self.function}: {port.name} overlaps a result state by state; bind arrays that are apart"
                )
        return self._run(arguments, results, _states(lead)) if _states(lead) else (lambda: None)

    def _refuse_unbindable(self, arrays: Sequence[Any]) -> None:
        """Raise ArgumentError for too few or too many arrays, and for one that would have to be copied."""
        ports = (*self.inputs, *self.outputs)
        if len(arrays) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise ArgumentError(
                f"{self.function}: {len(arrays)} arrays are bound, but it takes {len(ports)}: {names}"
            )
        for port, x in zip(ports, arrays, strict=True):
            self.arrays.refuse_masked(port, x)
            if not (
                isinstance(x, self.np.ndarray)
                and x.dtype == self.real
                and x.flags.c_contiguous
                and x.flags.aligned
            ):
                raise ArgumentError(
                    f"{self.function}: {port.name} must be a contiguous, aligned "
                    f"{self.real} array to be bound; {seen(x)}"
                )
            self.arrays.check_shape(port, x)

    def chain(self, states: int, arrays: Sequence[Any]) -> Call:
        """See `Solver.chain`."""
        count = len(self.inputs)

        def is_many(port: Port, x: Any) -> bool:
            return getattr(x, "ndim", 0) > len(port.shape)

        first = [
            x[0, ...] if is_many(port, x) else x
            for port, x in zip(self.inputs, arrays, strict=False)
        ]
        self.bind([*first, *arrays[count:]])
        if any(
            len(x) != states or not x.flags.c_contiguous
            for port, x in zip(self.inputs, arrays, strict=False)
            if is_many(port, x)
        ):
            raise ArgumentError(
                f"{self.function}: a chain of {states} states takes one state or {states} of each argument, "
                "contiguous"
            )
        many = [is_many(port, x) for port, x in zip(self.inputs, arrays, strict=False)]
        into = self._into(arrays[count:])

        def chain(first: int, last: int) -> None:
            given = [x[first:last] if each else x for x, each in zip(arrays, many, strict=False)]
            self._heed(self.in_turn(last - first, 0.0, *self._steps(given, many), *into))

        for x in arrays[count:]:
            x[...] = 0  # the first call adds a share of these
        return partial(in_slices, chain, states, self._first_share, 1)

    def _steps(self, arrays: Sequence[Any], many: Sequence[bool]) -> list[Any]:
        """Buffer and step of each argument. The step is 0 where one argument serves all states."""
        given = zip(self.inputs, arrays, many, strict=True)
        return [
            item
            for port, x, each in given
            for item in (self.ffi.from_buffer(x), port.size if each else 0)
        ]

    def _into(self, results: Sequence[Any]) -> list[Any]:
        return [self.ffi.from_buffer(x, require_writable=True) for x in results]

    def _run(self, arrays: Sequence[Any], results: Sequence[Any], states: int) -> Call:
        """The call in C, arguments and buffers bound; the buffers keep their arrays alive."""
        plain = not self.checked and not self.looped
        if states == 1:
            one = partial(
                self.one, *(self.ffi.from_buffer(x) for x in arrays), *self._into(results)
            )
            return one if plain else lambda: self._heed(one())
        many = [x.size > port.size for port, x in zip(self.inputs, arrays, strict=True)]
        if states <= self._first_share and plain:
            return partial(self.each, states, *self._steps(arrays, many), *self._into(results))
        # The states of each array one below the other, in place.
        given = [x.reshape(-1, port.size) for port, x in zip(self.inputs, arrays, strict=True)]
        into = [x.reshape(-1, port.size) for port, x in zip(self.outputs, results, strict=True)]
        statuses = self.np.zeros(states, self.np.intc) if self.checked else None
        run = self._in_turn(given, many, into, statuses)

        def call() -> None:
            in_slices(run, states, self._first_share, 1)
            if self.checked:
                self._heed_all(statuses)

        return call

    @property
    def _first_share(self) -> int:
        return max(1, FIRST_SHARE // self.program.length)

    def _is_overwritten(
        self, x: Strided, results: Sequence[Strided], lead: tuple[int, ...]
    ) -> bool:
        """Whether a result of an earlier state would be stored over a later state of `x`.

        One state is safe, since C reads it whole before it stores; so are arrays that coincide state by state.
        """

        def over(r: Strided) -> bool:
            same = (
                x[1:] == r[1:]
                and x.array.nbytes == r.array.nbytes
                and _place(x.array) == _place(r.array)
            )
            return bool(self.np.may_share_memory(x.array, r.array)) and not same

        return _states(lead) > 1 and any(map(over, results))

    def _doc(self) -> str:
        out = "a tuple of arrays" if len(self.outputs) > 1 else "an array"
        lines = [
            f"{derivatives.identifier_part(self.function)}({', '.join(p.name for p in self.inputs)}, out=None, *, threads=1, "
            f"layout='aos', {'status=None, ' if self.checked else ''}progress=None)",
            "",
            *array_lines(self.program, self.sizes),
            "",
            f"Leading dimensions broadcast together; out is {out} to write to. With layout='soa' they come last, in arguments",
            "and results. An argument is read where it stands if its steps are even, and copied otherwise. So many threads work",
            "at once; progress(done, states) is told of long calls. A state's results have the same bits in any company.",
            f"Method {self.program.method}: {operations_text(self.program)}.",
            "Raises ArgumentError, a ValueError, on a wrong shape or type.",
        ]
        if self.checked:
            lines += [
                f"status, an array of {self.np.dtype('intc')}, is told of each state why it is refused, 0 where it is not.",
                "Without it StateError names the first. The results of those that are not refused are stored all the same.",
            ]
        return "\n".join(lines)


def is_loop(library: Any, symbol: str) -> bool:
    """Whether a function of a library is a loop over links, which has no blocks of states."""
    return hasattr(library.lib, f"{symbol}_alone")


def _first(array: Any, port: Port) -> Any:
    """The first of the states of an array."""
    return array[(0,) * (array.ndim - len(port.shape))]


def _place(array: Any) -> Any:
    return array.__array_interface__["data"]


def _states(lead: tuple[int, ...]) -> int:
    count = 1
    for size in lead:
        count *= size
    return count
