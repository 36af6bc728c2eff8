"""Call of one compiled function from Python: its arrays, and the loops over states in C.

A call on one state takes the short path: if every argument is an array of the right type and shape,
its buffer goes straight to C. Numbers, lists and arrays of another type or step that contain one
state are copied for C. All other calls (many states, other types, mistakes) take the long path,
which explains its errors. A few states are computed one after the other; for many states the
function is compiled a second time, for blocks of states (`symgen.machine.batch`).
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
from symgen.machine.arrays import Arrays, array_lines, describe_argument, move_axes_to_end
from symgen.machine.batch import LAYOUTS, Progress, Run, Strided, in_slices, strided
from symgen.machine.blocks import BLOCK_CHOICES, Compilation
from symgen.machine.building import NO_MEMORY, RobotBuild
from symgen.support.errors import ArgumentError, StateError
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import ASSEMBLE, PREPARED
from symgen.vocabulary.names import nearest
from symgen.vocabulary.reals import REALS

Call = Callable[..., Any]

FIRST_SHARE = 2_000_000
"""Rows in the first slice of many states, a millisecond and more. The length of later slices is
measured.
"""
ROWS_BEFORE_BLOCKS = 10_000_000
"""Rows that are computed state by state before a function is compiled for blocks of states: a few
milliseconds.
"""
_OPTIONS = ("out", "threads", "layout", "status", "progress")

_REFUSED = (
    "",
    "an argument is infinite or not a number; give finite ones",
    (
        "an angle is beyond {farthest} rad, where the inline sine and cosine are not proved;"
        " subtract full turns"
    ),
    (
        "a divisor is too small or not finite at this state; look at the inertias, a payload among"
        " them, and at large arguments"
    ),
    (
        "a quaternion does not have length 1; divide its four numbers by the root of the sum of"
        " their squares; 0 0 0 1 is no rotation"
    ),
    "the steps from the start do not close the loops; start nearer to a closed position",
    (
        "a result, or an intermediate number, is too large for the real type; use smaller"
        " arguments, or real='double'"
    ),
)
"""Reasons by status."""


class Kernel:
    """One compiled function and its accepted arguments.

    `many` returns its library for blocks of states (None: there is none). `behind` starts to
    compile that library in the background (None: it is in the cache). `blocks_when` is one of
    `symgen.machine.blocks.BLOCK_CHOICES`.
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
        self.single_state = getattr(library.lib, f"{symbol}_alone" if self.looped else symbol)
        self.each_state = getattr(library.lib, f"{symbol}_each")
        self.aligned, self.in_turn = (
            getattr(library.lib, f"{symbol}_aligned"),
            getattr(library.lib, f"{symbol}_chain"),
        )
        self.ffi = library.ffi
        self.real = numpy.dtype(REALS[program.real].numpy)
        self.inputs, self.outputs = program.inputs, program.outputs
        self.arrays = Arrays(program, robot.name, self.sizes, self.checked)
        self._many, self._behind, self.blocks_when = many, behind, BLOCK_CHOICES[0]
        self._contract = robot.build.contract
        self._compilation: Compilation | None = None
        self._starting = Lock()
        self._blocks: tuple[Any, Any] | None = None
        self._waited = (
            ROWS_BEFORE_BLOCKS if self._contract else 0
        )  # rows; with contraction of a*b + c, blocks differ in the last bits from single states

    def _raise_for_status(self, code: int | None) -> None:
        """Raise StateError if the status refuses a state, and MemoryError if a looped function has
        no workspace.
        """
        if code == NO_MEMORY:
            raise MemoryError(
                f"{self.function}: there is no memory for its workspace of {self.sizes.NB} links"
            )
        if code:
            raise StateError(f"{self.function} refuses its arguments: {self._why(code)}")

    def _raise_for_statuses(self, statuses: Any) -> None:
        """Raise StateError for the first refused state."""
        bad = self.np.flatnonzero(statuses)
        if bad.size:
            count_phrase = f" and {bad.size - 1} more" if bad.size > 1 else ""
            why = self._why(int(statuses.reshape(-1)[bad[0]]))
            raise StateError(
                f"{self.function} refuses its arguments at state {bad[0]}{count_phrase}: {why}"
            )

    @staticmethod
    def _why(status: int) -> str:
        return _REFUSED[status].format(farthest=printer().farthest)

    def call(self) -> Call:
        """Return the function as the user calls it, a method of the solver, so that it can be
        pickled.

        Its code is written for its arguments, as a dataclass writes its __init__: loops and
        *arguments would double the cost of a call. The text is in `templates/solver/call.py.j2`.
        """
        name, inputs, results = self._python_names()
        text = render("solver", "call.py.j2", function=name, **self._call_context(inputs, results))
        namespace = self._call_globals(inputs, results)
        exec(text, namespace)
        call: Call = namespace[name]
        call.__qualname__, call.__module__, call.__doc__ = f"Solver.{name}", __name__, self._doc()
        return call

    def _python_names(self) -> tuple[str, list[str], list[str]]:
        """Return the names of the function, its arguments and its results in Python.

        Raises ArgumentError for an invalid name.
        """
        # lambda is a keyword of Python
        inputs, results = (
            [f"{port.name}_" if iskeyword(port.name) else port.name for port in ports]
            for ports in (self.inputs, self.outputs)
        )
        function = derivatives.identifier_part(self.function)
        for name in (function, *inputs, *results):
            if not name.isidentifier() or name.startswith("_") or name in _OPTIONS:
                raise ArgumentError(
                    f"'{name}' cannot be the name of a function or an argument; use a plain"
                    " identifier"
                )
        return function, inputs, results

    def _call_context(self, names: list[str], results: list[str]) -> dict[str, Any]:
        """Return the names for the template of the call."""
        single = len(results) == 1
        prepared = (
            names[-1] == PREPARED.name
        )  # the default is computed from the solver's parameters
        return {
            "names": names,
            "signature": [*names[:-1], f"{names[-1]}=None"] if prepared else names,
            "prepared": prepared,
            "results": results,
            "single": single,
            "index": "[()]" if single and not self.outputs[0].shape else "",
            "checked": self.checked,
            # an array of one axis: the steps show a slice, for which from_buffer would raise
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
        """Return the globals of the call: types, shapes, readers of arguments, and the function in
        C.
        """
        reals = self.ffi.typeof(f"{self.program.real}[]")
        view_buffer = partial(self.ffi.from_buffer, reals)
        namespace: dict[str, Any] = {
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
            namespace[f"_shape_{name}"] = port.shape
            namespace[f"_strides_{name}"] = (self.real.itemsize,)
            namespace[f"_read_{name}"] = self.arrays.reader(port, view_buffer)
        for name, port in zip(results, self.outputs, strict=True):
            namespace[f"_shape_out_{name}"] = port.shape
        return namespace

    def long_road(
        self,
        arguments: tuple[Any, ...],
        out: Any,
        threads: int = 1,
        layout: str = "aos",
        status: Any = None,
        progress: Progress | None = None,
    ) -> Any:
        """Run a call on any arguments: convert, broadcast, check, and loop over the states in C."""
        # One sequence without inner calls: a Python call costs as much as a short function.
        np, is_soa = self.np, nearest(layout, LAYOUTS, "layout") == "soa"
        workers = self.arrays.workers(threads)
        arrays = [
            self.arrays.argument(port, x, is_soa)
            for port, x in zip(self.inputs, arguments, strict=True)
        ]
        lead = self.arrays.common(
            [
                x.shape[: x.ndim - len(port.shape)]
                for port, x in zip(self.inputs, arrays, strict=True)
            ]
        )
        shapes = [p.shape + lead if is_soa else lead + p.shape for p in self.outputs]
        outputs = (
            [np.empty(shape, self.real) for shape in shapes]
            if out is None
            else self.arrays.results(out, shapes)
        )
        results = [
            move_axes_to_end(np, x, len(p.shape)) if is_soa else x
            for p, x in zip(self.outputs, outputs, strict=True)
        ]
        statuses = self.arrays.statuses(status, lead)
        if _states(lead):
            self._run_all(arrays, results, statuses, lead, workers, progress)
        if status is None and self.checked:
            self._raise_for_statuses(statuses) if lead else self._raise_for_status(int(statuses))
        if out is None and not lead:
            outputs = [result[()] for result in outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

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
        strided_arguments = [
            strided(self.np, port, x, lead) for port, x in zip(self.inputs, arrays, strict=True)
        ]
        strided_results = [
            strided(self.np, port, x, lead) for port, x in zip(self.outputs, results, strict=True)
        ]
        strided_arguments = [
            self._without_overlap(port, x, strided_results, lead)
            for port, x in zip(self.inputs, strided_arguments, strict=True)
        ]
        all_contiguous = all(x.array.flags.c_contiguous for x in strided_results)
        blocks = bool(lead) and self._has_blocks(states)
        if not all_contiguous and not blocks:  # state by state into contiguous arrays, then copied
            compact = [self.np.empty(x.shape, self.real) for x in results]
            self._run_all(arrays, compact, statuses, lead, workers, progress)
            for result, x in zip(results, compact, strict=True):
                result[...] = x
            return
        run = (self._in_blocks if blocks else self._one_by_one)(
            strided_arguments, strided_results, statuses
        )
        share = self._first_share
        if states <= share and workers == 1:
            run(0, states)
        else:
            in_slices(run, states, share, workers, progress)

    def _has_blocks(self, states: int) -> bool:
        """True if the function is compiled for blocks of states. The compilation starts after
        ROWS_BEFORE_BLOCKS rows, as `blocks_when` says.
        """
        if self._blocks is None and self._many is not None and self.blocks_when != "never":
            self._waited += states * self.program.length
            if self._waited >= ROWS_BEFORE_BLOCKS:
                self._compile_blocks()
        return self._blocks is not None

    def _compile_blocks(self) -> None:
        """Compile for blocks of states now or in the background, and load a finished background
        compilation.
        """
        if (
            self.blocks_when == "now" or self._contract or self._behind is None
        ):  # contracted blocks differ in the last bits
            self.prepare()
            return
        with self._starting:
            if self._compilation is None:
                self._compilation = self._behind()
            compilation = self._compilation
        if compilation is None:  # compiled before
            self.prepare()
        elif compilation.ended and compilation.failure:
            self.blocks_when = "never"
            compilation.warn_of_failure()
        elif compilation.ended:
            self.prepare()

    def prepare(self) -> None:
        """Compile for blocks of states now; see `Solver.prepare`."""
        if (compilation := self._compilation) is not None:
            compilation.wait()
        if self._many is not None and self._blocks is None:
            library = self._many()
            if library is None:
                self._many = None
            else:
                self._blocks = library.ffi, getattr(library.lib, f"{self.symbol}_many")

    def _in_blocks(
        self, arguments: Sequence[Strided], results: Sequence[Strided], statuses: Any
    ) -> Run:
        """Return `run(begin, end)` in blocks of states."""
        assert self._blocks is not None
        ffi, call = self._blocks
        size = self.real.itemsize
        arrays = [
            (x.array.__array_interface__["data"][0], x.state, x.element)
            for x in (*arguments, *results)
        ]
        status_address = None if statuses is None else statuses.__array_interface__["data"][0]

        def run(begin: int, end: int) -> None:
            call_arguments: list[Any] = []
            for address, state, element in arrays:
                call_arguments += [
                    ffi.cast("void *", address + begin * state * size),
                    state,
                    element,
                ]
            if status_address is not None:
                call_arguments.append(ffi.cast("int *", status_address + begin * statuses.itemsize))
            if call(end - begin, *call_arguments) == NO_MEMORY:
                self._raise_for_status(NO_MEMORY)

        return run

    def _one_by_one(
        self, arguments: Sequence[Strided], results: Sequence[Strided], statuses: Any
    ) -> Run:
        """Return `run(begin, end)` state by state."""
        np = self.np
        has_states = [x.state != 0 for x in arguments]
        flat = [
            np.ascontiguousarray(x.array if varies else _first_state(x.array, port)).reshape(
                -1, port.size
            )
            for port, x, varies in zip(self.inputs, arguments, has_states, strict=True)
        ]
        rows = [
            x.array.reshape(-1, port.size) for port, x in zip(self.outputs, results, strict=True)
        ]
        return self._in_turn(flat, has_states, rows, statuses)

    def _in_turn(
        self,
        arguments: Sequence[Any],
        has_states: Sequence[bool],
        rows: Sequence[Any],
        statuses: Any,
    ) -> Run:
        """Return `run(begin, end)` over contiguous states."""
        status_arrays = [] if statuses is None else [statuses.reshape(-1)]

        def run(begin: int, end: int) -> None:
            steps = self._steps(
                [
                    x[begin:end] if varies else x
                    for x, varies in zip(arguments, has_states, strict=True)
                ],
                has_states,
            )
            status_buffers = [
                self.ffi.cast("int *", self.ffi.from_buffer(x[begin:end])) for x in status_arrays
            ]
            self._raise_for_status(
                self.each_state(
                    end - begin, *steps, *self._into([x[begin:end] for x in rows]), *status_buffers
                )
            )

        return run

    def _without_overlap(
        self, port: Port, x: Strided, results: Sequence[Strided], lead: tuple[int, ...]
    ) -> Strided:
        """Return an argument, copied if the results of earlier states would overwrite its later
        states.
        """
        return (
            strided(self.np, port, x.array.copy(), lead)
            if self._is_overwritten(x, results, lead)
            else x
        )

    def bind(self, arrays: Sequence[Any]) -> Call:
        """Bind arrays to a call; see `Solver.bind`."""
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
        strided_results = [
            strided(self.np, port, x, lead) for port, x in zip(self.outputs, results, strict=True)
        ]
        for port, argument_lead, x in zip(self.inputs, leads, arguments, strict=True):
            if argument_lead != lead and _states(argument_lead) != 1:
                expectation = f"bound arrays hold one state or all of {lead}"
                raise ArgumentError(
                    f"{self.function}: {port.name} has leading shape {argument_lead}; {expectation}"
                )
            if self._is_overwritten(strided(self.np, port, x, lead), strided_results, lead):
                raise ArgumentError(
                    f"{self.function}: {port.name} overlaps a result of another state; bind arrays"
                    " that do not overlap"
                )
        return self._run(arguments, results, _states(lead)) if _states(lead) else (lambda: None)

    def _refuse_unbindable(self, arrays: Sequence[Any]) -> None:
        """Raise ArgumentError for a wrong number of arrays, and for an array that would have to be
        copied.
        """
        ports = (*self.inputs, *self.outputs)
        if len(arrays) != len(ports):
            names = ", ".join(port.name for port in ports)
            raise ArgumentError(
                f"{self.function}: {len(arrays)} arrays are bound, but it takes {len(ports)}:"
                f" {names}"
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
                    f"{self.real} array to be bound; {describe_argument(x)}"
                )
            self.arrays.check_shape(port, x)

    def chain(self, states: int, arrays: Sequence[Any]) -> Call:
        """Return a chained call for timing; see `Solver.chain`."""
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
                f"{self.function}: a chain of {states} states takes one state or {states} of each"
                " argument, contiguous"
            )
        has_states = [is_many(port, x) for port, x in zip(self.inputs, arrays, strict=False)]
        result_buffers = self._into(arrays[count:])

        def chain(first: int, last: int) -> None:
            slices = [
                x[first:last] if varies else x
                for x, varies in zip(arrays, has_states, strict=False)
            ]
            self._raise_for_status(
                self.in_turn(last - first, 0.0, *self._steps(slices, has_states), *result_buffers)
            )

        for x in arrays[count:]:
            x[...] = 0  # the first call adds a share of these
        return partial(in_slices, chain, states, self._first_share, 1)

    def _steps(self, arrays: Sequence[Any], has_states: Sequence[bool]) -> list[Any]:
        """Return buffer and step per argument. The step is 0 if one argument serves all states."""
        arguments = zip(self.inputs, arrays, has_states, strict=True)
        return [
            item
            for port, x, varies in arguments
            for item in (self.ffi.from_buffer(x), port.size if varies else 0)
        ]

    def _into(self, results: Sequence[Any]) -> list[Any]:
        return [self.ffi.from_buffer(x, require_writable=True) for x in results]

    def _run(self, arrays: Sequence[Any], results: Sequence[Any], states: int) -> Call:
        """Return the call in C with bound arguments and buffers; the buffers keep their arrays
        alive.
        """
        has_only_states = not self.checked and not self.looped
        if states == 1:
            single_call = partial(
                self.single_state, *(self.ffi.from_buffer(x) for x in arrays), *self._into(results)
            )
            return single_call if has_only_states else lambda: self._raise_for_status(single_call())
        has_states = [x.size > port.size for port, x in zip(self.inputs, arrays, strict=True)]
        if states <= self._first_share and has_only_states:
            return partial(
                self.each_state, states, *self._steps(arrays, has_states), *self._into(results)
            )
        # Views with one row for each state.
        flat_arguments = [
            x.reshape(-1, port.size) for port, x in zip(self.inputs, arrays, strict=True)
        ]
        flat_results = [
            x.reshape(-1, port.size) for port, x in zip(self.outputs, results, strict=True)
        ]
        statuses = self.np.zeros(states, self.np.intc) if self.checked else None
        run = self._in_turn(flat_arguments, has_states, flat_results, statuses)

        def call() -> None:
            in_slices(run, states, self._first_share, 1)
            if self.checked:
                self._raise_for_statuses(statuses)

        return call

    @property
    def _first_share(self) -> int:
        return max(1, FIRST_SHARE // self.program.length)

    def _is_overwritten(
        self, x: Strided, results: Sequence[Strided], lead: tuple[int, ...]
    ) -> bool:
        """True if a result of an earlier state would be stored over a later state of `x`.

        One state is safe, since C reads it completely before it stores; so are arrays that coincide
        state by state.
        """

        def overlaps(r: Strided) -> bool:
            coincides = x[1:] == r[1:] and _data_address(x.array) == _data_address(r.array)
            return bool(self.np.may_share_memory(x.array, r.array)) and not coincides

        return _states(lead) > 1 and any(map(overlaps, results))

    def _doc(self) -> str:
        out = "a tuple of arrays" if len(self.outputs) > 1 else "an array"
        lines = [
            (
                f"{derivatives.identifier_part(self.function)}"
                f"({', '.join(p.name for p in self.inputs)},"
                " out=None, *, threads=1, layout='aos',"
                f" {'status=None, ' if self.checked else ''}progress=None)"
            ),
            "",
            *array_lines(self.program, self.sizes),
            "",
            (
                f"Leading dimensions broadcast together; out is {out} to write to. With"
                " layout='soa' they come last, in arguments"
            ),
            (
                "and results. An argument with regular strides is read in place, any other is"
                " copied. `threads` threads work in"
            ),
            (
                "parallel; long calls report progress(done, states). A state's results do not"
                " depend on the other states."
            ),
            f"Method {self.program.method}: {operations_text(self.program)}.",
            "Raises ArgumentError, a ValueError, on a wrong shape or type.",
        ]
        if self.checked:
            lines += [
                (
                    f"status, an array of {self.np.dtype('intc')}, receives for each state the"
                    " reason of a refusal, or 0."
                ),
                (
                    "Without it StateError names the first refused state. The results of all other"
                    " states are stored."
                ),
            ]
        return "\n".join(lines)


def is_loop(library: Any, symbol: str) -> bool:
    """True if a function of a library is a loop over links, which has no blocks of states."""
    return hasattr(library.lib, f"{symbol}_alone")


def _first_state(array: Any, port: Port) -> Any:
    """Return the first state of an array."""
    return array[(0,) * (array.ndim - len(port.shape))]


def _data_address(array: Any) -> Any:
    return array.__array_interface__["data"]


def _states(lead: tuple[int, ...]) -> int:
    count = 1
    for size in lead:
        count *= size
    return count
