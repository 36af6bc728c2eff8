"""The C of a robot, called on NumPy arrays.

    solver = symgen.compile("panda", ["forward_dynamics", "mass_matrix"])
    a      = solver.forward_dynamics(q, v, tau)                  # (..., NV), leading dimensions broadcast together
    call   = solver.bind("forward_dynamics", q, v, tau, a)       # buffers bound once; call() only computes

What arrays a function takes stands in `symgen.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any

from symgen.backends import c99
from symgen.building import Build
from symgen.building import load as load_library
from symgen.errors import ArgumentError, UnknownName
from symgen.ir import Program
from symgen.kernels import Call, Kernel
from symgen.mechanism import nearest

if TYPE_CHECKING:
    from symgen.generation import Options
    from symgen.mechanism import Mechanism


def compile(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str = "double",
    *,
    optimize: int = 2,
    native: bool = False,
    contract: bool = False,
    frame: str | None = None,
    payload: str | None = None,
    wrench: str | None = None,
    trig: str = "libm",
    checked: bool = False,
) -> Solver:
    """Derive, print and compile functions of a robot.

    `robot` is a Mechanism, a built-in name or a path; `functions` are names, or 'name=method' (None: every function).
    `real` is 'double' or 'float'. `optimize`, `native` and `contract` are the compiler's -O level, -march=native and
    leave to contract a*b + c. `frame`, `payload` and `wrench` name links, as in `symgen.program`; `trig` is 'libm', 'macro' or
    'inline'. Raises RequestError, DescriptionError or MechanismError as the generation does, and BuildError without a C
    compiler or Python's header. Functions that are `checked` raise StateError at a state that they refuse, the first of
    several; of what they are given to write to, they have then written the states before it.
    """
    from symgen.certificate import checked_floors
    from symgen.generation import Options, programs
    from symgen.loading import load
    from symgen.mechanism import Mechanism

    wanted = None if functions is None else [functions] if isinstance(functions, str) else list(functions)
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    build, chosen = Build(optimize, native, contract), Options(real, frame, payload, trig, wrench, checked)
    derived = programs(mechanism, wanted, chosen)
    bounds = {function: checked_floors(mechanism, program, chosen) for function, program in derived.items()}
    solver = Solver(mechanism.name, derived, mechanism.nq, mechanism.nv, build=build, trig=chosen.trig, mechanism=mechanism,
                    checked=chosen.checked, floors=bounds)
    solver._recipe = (mechanism, wanted, build, chosen)
    return solver


def _compile_again(recipe: tuple[Mechanism, list[str] | None, Build, Options]) -> Solver:
    robot, functions, build, chosen = recipe
    return compile(robot, functions, chosen.real, optimize=build.optimize, native=build.native, contract=build.contract,
                   frame=chosen.frame, payload=chosen.payload, wrench=chosen.wrench, trig=chosen.trig, checked=chosen.checked)


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
            raise ArgumentError("there is no function to compile; name at least one")
        self.name, self.nq, self.nv, self.mechanism = name, nq, nv, mechanism
        self.programs = dict(programs)
        self.functions = tuple(self.programs)
        self.real = c99.single_real(self.programs.values())
        self._build, self._trig, self._checked = build or Build(), trig, checked
        self._recipe: tuple[Mechanism, list[str] | None, Build, Options] | None = None
        self._sources = dict(sources) if sources else None
        target = c99.Target(name, nq, nv, trig, mechanism.source_sha256 if mechanism else "", checked)
        library = load_library(self.programs, target, self._build, sources, floors)
        self._kernels = {f: Kernel(p, library, target.symbol(f), checked) for f, p in self.programs.items()}
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
        again. An argument holds one state, or as many as the results. Raises ArgumentError, a ValueError, otherwise.
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
        except UnknownName as error:
            raise AttributeError(f"{error}") from None
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<symgen.Solver {self.name}: NQ = {self.nq}, NV = {self.nv}, {self.real}; {', '.join(self.functions)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is not None:
            return _compile_again, (self._recipe,)
        return _from_programs, (self.name, self.programs, self.nq, self.nv, self._build, self._trig, self._sources,
                                self._checked)
