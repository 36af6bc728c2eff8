"""The C of a robot, called on NumPy arrays.

    solver = symgen.compile("panda", ["forward_dynamics", "mass_matrix"])
    a      = solver.forward_dynamics(q, v, tau)                  # (..., NV), leading dimensions broadcast together
    call   = solver.bind("forward_dynamics", q, v, tau, a)       # buffers bound once; call() only computes

A call on one state takes a short road: when every argument is an array of the right type and shape, its buffer goes
straight to C. Everything else (lists, batches, other types, mistakes) takes the long road, which explains itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import partial
from keyword import iskeyword
from os import PathLike
from typing import TYPE_CHECKING, Any

from symgen.backends import c99, render
from symgen.backends._checks import STATUSES
from symgen.building import Build
from symgen.building import load as load_library
from symgen.errors import RequestError, StateError
from symgen.functions import Array
from symgen.ir import Port, Program
from symgen.mechanism import nearest

if TYPE_CHECKING:
    from symgen.mechanism import Mechanism

Call = Callable[..., Any]

_REFUSED = (
    "",
    "an argument is infinite or not a number; give finite ones",
    f"an angle is beyond {c99.RANGE} rad, where the own sine and cosine are not proved; take whole turns off",
    "a divisor is too small at this state; look at the inertias, a payload among them",
)
"""Why, by status."""


def compile(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str = "double",
    *,
    optimize: int = 2,
    native: bool = False,
    contract: bool = False,
    **options: Any,
) -> Solver:
    """Derive, print and compile functions of a robot.

    `robot` is a Mechanism, a built-in name or a path; `functions` are names, or 'name=method' (None: every function).
    `real` is 'double' or 'float'. `optimize`, `native` and `contract` are the compiler's -O level, -march=native and
    leave to contract a*b + c; `options` are those of the generation (frame, payload, wrench, trig, checked …). Raises
    RequestError, DescriptionError or MechanismError as the generation does, and BuildError without a C compiler or Python's
    header. Functions that are `checked` raise StateError at a state that they refuse, the first of several; of what they
    are given to write to, they have then written the states before it.
    """
    from symgen.certificate import checked_floors
    from symgen.generation import Options, programs
    from symgen.loading import load
    from symgen.mechanism import Mechanism

    wanted = None if functions is None else [functions] if isinstance(functions, str) else list(functions)
    known = [field.name for field in fields(Options)]
    for name in options:
        nearest(name, known, "option")
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    build, chosen = Build(optimize, native, contract), Options(real=real, **options)
    derived = programs(mechanism, wanted, chosen)
    bounds = {function: checked_floors(mechanism, program, chosen) for function, program in derived.items()}
    solver = Solver(mechanism.name, derived, mechanism.nq, mechanism.nv, build=build, trig=chosen.trig, mechanism=mechanism,
                    checked=chosen.checked, floors=bounds)
    solver._recipe = (mechanism, wanted, real, build, options)
    return solver


def _compile_again(recipe: tuple[Any, ...]) -> Solver:
    robot, functions, real, build, options = recipe
    return compile(robot, functions, real, optimize=build.optimize, native=build.native, contract=build.contract, **options)


def _from_programs(
    name: str, programs: Mapping[str, Program], nq: int, nv: int, build: Build, trig: str, sources: Mapping[str, str] | None,
    checked: bool,
) -> Solver:
    return Solver(name, programs, nq, nv, build=build, trig=trig, sources=sources, checked=checked)


class Solver:
    """Compiled functions of one robot, one attribute each; see `compile`.

    `functions` are their names, `programs` what was compiled, `mechanism` the robot (None for `from_programs`).
    Solvers hold no state: threads may share one, and C runs without the interpreter's lock. A pickled solver is
    compiled again, or found in the cache, where it is opened.
    """

    def __init__(
        self,
        name: str,
        programs: Mapping[str, Program],
        nq: int,
        nv: int,
        *,
        build: Build | None = None,
        trig: str = "libm",
        mechanism: Mechanism | None = None,
        sources: Mapping[str, str] | None = None,
        checked: bool = False,
        floors: Mapping[str, Mapping[int, Fraction]] | None = None,
    ) -> None:
        if not programs:
            raise RequestError("there is no function to compile; name at least one")
        self.name, self.nq, self.nv, self.mechanism = name, nq, nv, mechanism
        self.programs = dict(programs)
        self.functions = tuple(self.programs)
        self.real = c99.single_real(self.programs.values())
        self._build, self._trig, self._checked = build or Build(), trig, checked
        self._recipe: tuple[Any, ...] | None = None
        self._sources = dict(sources) if sources else None
        target = c99.Target(name, nq, nv, trig, mechanism.source_sha256 if mechanism else "", checked)
        library = load_library(self.programs, target, self._build, sources, floors)
        self._kernels = {f: _Kernel(p, library, target.symbol(f), checked) for f, p in self.programs.items()}
        for function, kernel in self._kernels.items():
            setattr(self, function, kernel.call())

    @classmethod
    def from_programs(
        cls,
        name: str,
        programs: Mapping[str, Program],
        nq: int,
        nv: int,
        *,
        optimize: int = 2,
        native: bool = False,
        contract: bool = False,
        trig: str = "libm",
        sources: Mapping[str, str] | None = None,
        checked: bool = False,
    ) -> Solver:
        """A solver of Programs that are already there, keyed by function; options as for `compile`.

        `sources` replaces the C that would be printed, by function: the files of a generated folder, for example.
        """
        return cls(name, programs, nq, nv, build=Build(optimize, native, contract), trig=trig, sources=sources, checked=checked)

    def bind(self, function: str, *arrays: Any) -> Call:
        """`call()` that computes `function` from its argument arrays into its result arrays, all named here once.

        Every array is contiguous and of the solver's real type, since nothing is copied: change its elements and call
        again. An argument holds one state, or as many as the results. Raises RequestError otherwise.
        """
        return self._kernels[nearest(function, self.functions, "compiled function")].bind(arrays)

    def chain(self, function: str, states: int, *arrays: Any) -> Call:
        """`call()` that computes `function` for `states` states one after the other, each waiting for the one before.

        Arguments are bound as by `bind`, results hold one state and end as the last one's. Nothing is added from call to
        call, yet a processor cannot know that: what is timed is how long an answer takes, not how many fit in a second.
        """
        return self._kernels[nearest(function, self.functions, "compiled function")].chain(states, arrays)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            nearest(name, self.functions, "compiled function")
        except RequestError as error:
            raise AttributeError(f"{error}") from None
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<symgen.Solver {self.name}: NQ = {self.nq}, NV = {self.nv}, {self.real}; {', '.join(self.functions)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is not None:
            return _compile_again, (self._recipe,)
        return _from_programs, (self.name, self.programs, self.nq, self.nv, self._build, self._trig, self._sources,
                                self._checked)


class _Kernel:
    """One compiled function and what it accepts."""

    def __init__(self, program: Program, library: Any, symbol: str, checked: bool) -> None:
        import numpy

        self.np = numpy
        self.program, self.function = program, program.function
        self.one, self.batch = getattr(library.lib, symbol), getattr(library.lib, f"{symbol}_batch")
        if checked:
            self.one, self.batch = self._heeding(self.one), self._heeding(self.batch)
        self.in_turn = getattr(library.lib, f"{symbol}_chain")
        self.ffi = library.ffi
        self.real = numpy.dtype(numpy.float32 if program.real == "float" else numpy.float64)
        self.inputs, self.outputs = program.inputs, program.outputs

    def _heeding(self, call: Call) -> Call:
        """`call`, its status heeded."""
        one = self.one

        def checked(*arguments: Any) -> None:
            if code := call(*arguments):
                state, status = divmod(code, len(STATUSES))
                place = f" at state {state}" if call is not one else ""
                raise StateError(f"{self.function} refuses its arguments{place}: {_REFUSED[status]}")

        return checked

    def call(self) -> Call:
        """The function as the user calls it.

        It is written out for its arguments, as a dataclass writes its __init__: loops and *arguments would double what
        a call costs. `templates/solver/call.py.j2` shows the road.
        """
        names, results = [port.name for port in self.inputs], [port.name for port in self.outputs]
        for name in (self.function, *names, *results):
            if not name.isidentifier() or iskeyword(name) or name.startswith("_") or name == "out":
                raise RequestError(f"'{name}' cannot be the name of a function or an argument; use a plain identifier")
        single = len(results) == 1
        index = "[()]" if single and not self.outputs[0].shape else ""
        context = {"names": names, "results": results, "single": single, "index": index}
        text = render("solver", "call.py.j2", function=self.function, **context)
        known: dict[str, Any] = {"_ndarray": self.np.ndarray, "_empty": self.np.empty, "_real": self.real}
        known |= {"_one": self.one, "_from_buffer": self.ffi.from_buffer, "_chars": self.ffi.typeof("char[]")}
        known |= {"_long_road": self.long_road}
        known |= {f"_shape_{p.name}": p.shape for p in self.inputs} | {f"_shape_out_{p.name}": p.shape for p in self.outputs}
        exec(text, known)
        call: Call = known[self.function]
        call.__qualname__, call.__module__, call.__doc__ = f"Solver.{self.function}", __name__, self._doc()
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
            raise RequestError(f"{self.function}: {len(arrays)} arrays are bound, but it takes {len(ports)}: {names}")
        for port, x in zip(ports, arrays, strict=True):
            if not isinstance(x, self.np.ndarray) or x.dtype != self.real or not x.flags.c_contiguous or not x.flags.aligned:
                raise RequestError(f"{self.function}: {port.name} must be a contiguous {self.real} array to be bound; {_seen(x)}")
            self._check_shape(port, x)
        given, results = list(arrays[: len(self.inputs)]), arrays[len(self.inputs) :]
        leads = [x.shape[: x.ndim - len(port.shape)] for port, x in zip(self.inputs, given, strict=True)]
        lead = self._common(leads)
        results = self._given(tuple(results) if len(results) > 1 else results[0], lead)
        for port, own, x in zip(self.inputs, leads, given, strict=True):
            if own != lead and _states(own) != 1:
                wanted = f"bound arrays hold one state or all of {lead}"
                raise RequestError(f"{self.function}: {port.name} has leading shape {own}; {wanted}")
            if self._is_overwritten(x, results, _states(lead)):
                raise RequestError(f"{self.function}: {port.name} overlaps a result state by state; bind arrays that are apart")
        return self._run(given, results, _states(lead)) if _states(lead) else (lambda: None)

    def chain(self, states: int, arrays: Sequence[Any]) -> Call:
        """See `Solver.chain`."""
        count = len(self.inputs)

        def is_many(port: Port, x: Any) -> bool:
            return getattr(x, "ndim", 0) > len(port.shape)

        self.bind([x[0] if is_many(port, x) else x for port, x in zip(self.inputs, arrays, strict=False)] + [*arrays[count:]])
        if any(len(x) != states for port, x in zip(self.inputs, arrays, strict=False) if is_many(port, x)):
            raise RequestError(f"{self.function}: a chain of {states} states takes one state or {states} of each argument")
        for x in arrays[count:]:
            x[...] = 0   # what the first call adds a share of
        return partial(self.in_turn, states, 0.0, *self._steps(arrays[:count]), *self._into(arrays[count:]))

    def _steps(self, arrays: Sequence[Any]) -> list[Any]:
        """Buffer and step of each argument."""
        given = zip(self.inputs, arrays, strict=True)
        return [item for port, x in given for item in (self.ffi.from_buffer(x), port.size if x.size > port.size else 0)]

    def _into(self, results: Sequence[Any]) -> list[Any]:
        return [self.ffi.from_buffer(x, require_writable=True) for x in results]

    def _run(self, arrays: Sequence[Any], results: Sequence[Any], states: int) -> Call:
        """The call in C, arguments and buffers bound; the buffers keep their arrays alive."""
        into = self._into(results)
        if states == 1:
            return partial(self.one, *(self.ffi.from_buffer(x) for x in arrays), *into)
        return partial(self.batch, states, *self._steps(arrays), *into)

    def _convert(self, port: Port, x: Any) -> Any:
        """`x` as an aligned, contiguous array of the solver's real type, the same one when it is that already."""
        try:
            array = self.np.asarray(x)
        except (ValueError, TypeError) as error:
            raise RequestError(f"{self.function}: {port.name} is no array of numbers ({error})") from None
        if array.dtype.kind not in "iuf":
            raise RequestError(f"{self.function}: {port.name} has dtype {array.dtype}; real numbers ({self.real}) are wanted")
        self._check_shape(port, array)
        return self.np.require(array, self.real, ["C", "A"]).reshape(array.shape)

    def _check_shape(self, port: Port, array: Any) -> None:
        if array.shape[max(array.ndim - len(port.shape), 0) :] != port.shape:
            wanted = ", ".join(["...", *map(str, port.shape)])
            raise RequestError(f"{self.function}: {port.name} has shape {array.shape}; ({wanted}) is wanted")

    def _common(self, leads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return tuple(self.np.broadcast_shapes(*leads))
        except ValueError:
            listed = ", ".join(f"{port.name} {lead}" for port, lead in zip(self.inputs, leads, strict=True))
            raise RequestError(f"{self.function}: leading shapes do not broadcast together: {listed}") from None

    def _given(self, out: Any, lead: tuple[int, ...]) -> list[Any]:
        """The arrays of `out`, each one fit to be written by C."""
        results = [out] if len(self.outputs) == 1 else list(out) if isinstance(out, tuple | list) else [out]
        if len(results) != len(self.outputs):
            names = ", ".join(port.name for port in self.outputs)
            raise RequestError(f"{self.function}: out must be a tuple of {len(self.outputs)} arrays ({names})")
        for k, (port, x) in enumerate(zip(self.outputs, results, strict=True)):
            shape = lead + port.shape
            if not isinstance(x, self.np.ndarray) or x.dtype != self.real or x.shape != shape:
                wanted = f"a {self.real} array of shape {shape}"
                raise RequestError(f"{self.function}: the result {port.name} goes into {wanted}; {_seen(x)}")
            if not (x.flags.c_contiguous and x.flags.aligned and x.flags.writeable):
                raise RequestError(f"{self.function}: the array given for the result {port.name} is not contiguous and writable")
            if any(self.np.may_share_memory(x, other) for other in results[:k]):
                raise RequestError(f"{self.function}: the arrays given for the results overlap; use one array each")
        return results

    def _is_overwritten(self, x: Any, results: Sequence[Any], states: int) -> bool:
        """Whether a result of an earlier state would be stored over a later state of `x`.

        One state is safe, since C reads it whole before it stores; so are arrays that coincide state by state.
        """
        def same(result: Any) -> bool:
            return bool(x.nbytes == result.nbytes and x.__array_interface__["data"] == result.__array_interface__["data"])

        return states > 1 and any(self.np.may_share_memory(x, r) and not same(r) for r in results)

    def _doc(self) -> str:
        arguments, results = c99.describe(self.program)
        out = "a tuple of arrays" if len(results) > 1 else "an array"

        def line(array: Array, port: Port) -> str:
            return f"    {port.name}: ({', '.join(['...', *map(str, port.shape)])}), {array.what}"

        return "\n".join(
            [
                f"{self.function}({', '.join(p.name for p in self.inputs)}, out=None)",
                "",
                "Arguments:",
                *map(line, arguments, self.inputs),
                "Results:",
                *map(line, results, self.outputs),
                "",
                f"Leading dimensions broadcast together; out is {out} to write to.",
                f"Method {self.program.method}: {c99.operations_text(self.program)}.",
                "Raises RequestError on a wrong shape or type.",
            ]
        )


def _states(lead: tuple[int, ...]) -> int:
    count = 1
    for size in lead:
        count *= size
    return count


def _seen(x: Any) -> str:
    """What was given instead, in words."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"a {x.dtype} array of shape {x.shape} was given"
    return f"a {type(x).__name__} was given"
