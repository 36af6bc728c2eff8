"""Compiled C of a robot, called on NumPy arrays.

    solver = symgen.compile("panda", ["forward_dynamics", "mass_matrix"])
    # (..., NV), leading dimensions broadcast together
    a = solver.forward_dynamics(q, v, tau)
    # buffers bound once; call() only computes
    call = solver.bind("forward_dynamics", q, v, tau, a)

`symgen.machine.kernels` defines the arrays that a function takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from os import PathLike
from types import MethodType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict, Unpack

from symgen.description.arguments import validated_with
from symgen.ir.loops import Form
from symgen.ir.ports import single_real
from symgen.ir.program import Bound, Outline
from symgen.machine.assemble_driver import assemble_outline
from symgen.machine.blocks import BLOCK_CHOICES, Compilation
from symgen.machine.building import (
    Build,
    Packed,
    RobotBuild,
    library_dependencies,
    load_many,
    open_cached,
    pack_library,
    unpack_library,
)
from symgen.machine.building import load as load_library
from symgen.machine.kernels import Call, Kernel
from symgen.support import cache
from symgen.support.errors import ArgumentError, BuildError, warn_each
from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import ASSEMBLE, JUDGE, PREPARED, REGROUP
from symgen.vocabulary.names import nearest, no_attribute
from symgen.vocabulary.options import Option, ProgramChoices, TextChoices, TextOptions, values_of


class Sent(NamedTuple):
    """Contents of a pickled solver, which needs no compiler when it is loaded."""

    robot: RobotBuild
    outlines: dict[str, Outline]
    library: Packed | None
    blocks: dict[str, Packed]
    """Libraries for blocks of states, by function."""
    defaults: dict[str, tuple[float, ...]]
    parameters: dict[str, Any]
    """The parameters as they were set."""
    blocks_when: str
    """Condition under which functions are compiled for blocks of states."""


if TYPE_CHECKING:
    from types import ModuleType

    from symgen.mechanism.mechanism import Mechanism
    from symgen.pipeline.request import Request
    from symgen.vocabulary.options import ProgramOptions

    Recipe = tuple[Request, Build]


class BuildChoices(TypedDict, total=False):
    """Options of the compilation of functions that are called from Python."""

    optimize: Annotated[int, Option(2, "the compiler's -O level", metavar="LEVEL")]
    native: Annotated[bool, Option(False, "compile for this processor (-march=native)")]
    contract: Annotated[bool, Option(False, "leave to the compiler to contract a*b + c")]
    blocks: Annotated[
        str,
        Option(
            BLOCK_CHOICES[0],
            "when a function is compiled for blocks of states",
            metavar="background|now|never",
        ),
    ]


class SolverRequest(ProgramChoices, TextChoices, BuildChoices, total=False):
    """Options of `symgen.compile`."""


class ProgramsRequest(TextChoices, BuildChoices, total=False):
    """Options of `Solver.from_programs`."""

    threads: Annotated[
        bool,
        Option(False, "share groups of segments of one chain out to OpenMP's threads"),
    ]


@validated_with(SolverRequest)
def compile(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str = "double",
    **options: Unpack[SolverRequest],
) -> Solver:
    """Derive, print and compile functions of a robot, and return them as a Solver.

    `robot` is a Mechanism, a built-in name or a path. `functions` are names, or 'name=method'
    (None: every function). `real` is 'double' or 'float'. `optimize`, `native` and `contract` are
    the compiler's -O level, -march=native and the contraction of a*b + c.

    As in `symgen.program`: `frame`, `payload` and `wrench` name links, `jacobian_frame` and
    `jacobian_order` are the convention of J and J̇ v, `task_rows` are the rows of Λ and J̄, and
    `contact` names contact points. `effort` is the length of the search for fewer operations, and
    `baumgarte` adds gains that close open loops. `form` is as in `symgen.generate`. `trig` is one
    of `symgen.vocabulary.options.TRIG`.

    `parameters` name numbers that may change afterwards, in `solver.parameters`. A name is
    LINK.mass, LINK.centre (m) or LINK.inertia (about the origin of the link's frame, in its axes),
    LINK for the three, payload:LINK, gravity, or a pattern such as '*.mass'.

    `checked` functions raise StateError at a refused state, the first of several, unless each call
    gets an array for its `status`. `blocks` selects when a function that is called on thousands of
    states is compiled for blocks of states. "background" compiles in another process, while calls
    continue state by state; "now" compiles in that call, which takes seconds to minutes; "never"
    leaves it to `Solver.prepare`. With `contract` it is always "now", since blocks then differ in
    the last bits.

    Raises RequestError, DescriptionError or MechanismError as `symgen.generate` does, and
    BuildError without a C compiler or Python's header. Issues the warnings of
    `symgen.pipeline.noticing`.
    """
    from symgen.pipeline.request import make_request

    recipe = (
        make_request(robot, functions, options, real=real),
        values_of(Build, options),
    )
    solver = _cached_solver(recipe) or _build_solver(recipe)
    solver._choose_blocks(options["blocks"])
    warn_each(solver._notices)
    return solver


def _cached_solver(recipe: Recipe) -> Solver | None:
    """Return the solver whose library is in the cache; nothing is derived, printed or compiled.
    None if it is not cached.
    """
    from symgen.pipeline.serialize import outline_from_plain

    entry = cache.find("solver", *_key(recipe))
    if entry is None:
        return None
    outlines = [outline_from_plain(outline) for outline in entry["functions"]]
    named = {outline.function: outline for outline in outlines if outline is not None}
    library = open_cached(entry["library"]) if len(named) == len(outlines) else None
    if library is None:
        return None
    solver = Solver.__new__(Solver)
    mechanism = recipe[0].mechanism
    solver._hold(named, _robot_build(recipe), library)
    solver.mechanism, solver._recipe = mechanism, recipe
    solver._defaults = {name: tuple(numbers) for name, numbers in entry["parameters"].items()}
    solver._notices = [tuple(notice) for notice in entry["notices"]]
    return solver


def _build_solver(recipe: Recipe) -> Solver:
    """Return a newly derived, printed and compiled solver, and put it into the cache."""
    from symgen.certificate import checked_bounds
    from symgen.pipeline.build import programs_and_refusals
    from symgen.pipeline.noticing import notices
    from symgen.pipeline.serialize import outline_to_plain

    request = recipe[0]
    mechanism, options, text = request.mechanism, request.options, request.text
    derived, refused = programs_and_refusals(request)
    bounds = checked_bounds(mechanism, derived, options, text)
    solver = Solver(derived, _robot_build(recipe), mechanism, divisor_bounds=bounds)
    solver._recipe = recipe
    solver._defaults = default_parameters(mechanism, options)
    solver._notices = notices(mechanism, derived, options, request.functions is not None, refused)
    serialized_outlines = [outline_to_plain(program.outline) for program in derived.values()]
    if all(program.rounds is None for program in derived.values()):  # else a search was interrupted
        cache.keep(
            {
                "library": solver._library,
                "functions": serialized_outlines,
                "parameters": solver._defaults,
                "notices": solver._notices,
            },
            "solver",
            *_key(recipe),
        )
    return solver


def _robot_build(recipe: Recipe) -> RobotBuild:
    request, build = recipe
    mechanism = request.mechanism
    return RobotBuild(mechanism.name, mechanism.sizes, build, request.text, mechanism.source_sha256)


def _key(recipe: Recipe) -> tuple[Any, ...]:
    request, build = recipe
    return (
        request.mechanism.content,
        request.mechanism.source_sha256,
        request.functions,
        asdict(request.options),
        asdict(request.text),
        library_dependencies(build),
    )


def _unpickled(make: Callable[..., Solver], origin: tuple[Any, ...], sent: Sent) -> Solver:
    """Return a solver that was unpickled: with its libraries, or compiled here if they are for
    another platform.
    """
    build = sent.robot.build
    library = sent.library and unpack_library(sent.library, build)
    if library is None:
        try:
            return make(*origin)
        except BuildError as error:
            reason = (
                f" is for {' '.join(sent.library.runs_on[:3])}"
                if sent.library
                else " came without its library"
            )
            raise BuildError(
                f"the pickled solver of '{sent.robot.name}'{reason}, and cannot be compiled here:"
                f" {error}"
            ) from None
    solver = Solver.__new__(Solver)
    has_own_text = make is not _from_programs or origin[-1] is None
    solver._hold(sent.outlines, sent.robot, library, has_own_text)
    if make is _compile_again:
        (solver._recipe,) = origin
        solver.mechanism = origin[0][0].mechanism
    else:
        solver._programs, _, solver._sources = origin
    solver._defaults = sent.defaults
    solver._choose_blocks(sent.blocks_when)
    for name, value in sent.parameters.items():
        solver.parameters[name] = value
    for function, packed_library in sent.blocks.items():
        if unpack_library(packed_library, build) is not None:
            solver._named[function] = packed_library.module
    return solver


def _compile_again(recipe: Recipe) -> Solver:
    return _cached_solver(recipe) or _build_solver(recipe)


def _from_programs(
    programs: Mapping[str, Form], robot: RobotBuild, sources: Mapping[str, str] | None
) -> Solver:
    return Solver(programs, robot, sources=sources)


class Solver:
    """Compiled functions of one robot, one attribute each; see `compile`.

    `functions` are their names, `programs` their Programs, `mechanism` the robot (None for
    `from_programs`). A solver has no state except `parameters`: threads may share one, and C runs
    without the interpreter's lock. A pickled solver, and a pickled method of one, includes its
    compiled library. On another platform it is compiled again.
    """

    mechanism: Mechanism | None
    _recipe: Recipe | None
    _sources: dict[str, str] | None
    _programs: dict[str, Form] | None
    _divisor_bounds: Mapping[str, Mapping[int, Bound]] | None
    _parameters: Parameters | None
    _defaults: dict[str, tuple[float, ...]]
    _notices: list[tuple[str, str]]

    def __init__(
        self,
        programs: Mapping[str, Form],
        robot: RobotBuild,
        mechanism: Mechanism | None = None,
        *,
        sources: Mapping[str, str] | None = None,
        divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> None:
        if not programs:
            raise ArgumentError("there is no function to compile; name at least one")
        single_real(programs.values())
        library = load_library(programs, robot.target, robot.build, sources, divisor_bounds)
        outlines = {function: program.outline for function, program in programs.items()}
        self._hold(outlines, robot, library, has_own_text=sources is None)
        self.mechanism, self._programs = mechanism, dict(programs)
        self._sources = dict(sources) if sources else None
        self._divisor_bounds = divisor_bounds

    def _hold(
        self,
        outlines: Mapping[str, Outline],
        robot: RobotBuild,
        library: ModuleType,
        has_own_text: bool = True,
    ) -> None:
        """Set all attributes except the source of the C. Only symgen's own text is compiled for
        blocks of states.
        """
        self.name, self.sizes = robot.name, robot.sizes
        self.mechanism = None
        self.functions = tuple(outlines)
        self.real = next(iter(outlines.values())).real
        self._robot, self._library = robot, library.__name__
        self._recipe = self._sources = self._programs = None
        self._divisor_bounds, self._parameters, self._defaults, self._notices = None, None, {}, []
        self._blocks_when = BLOCK_CHOICES[0]
        self._named: dict[str, str] = {}  # names of the libraries for blocks of states, by function
        self._kernels = {
            function: Kernel(
                outline,
                library,
                robot,
                partial(self._blocks, function) if has_own_text else None,
                partial(self._compile_behind, function),
            )
            for function, outline in outlines.items()
        }
        for function, kernel in self._kernels.items():
            setattr(self, derivatives.identifier_part(function), MethodType(kernel.call(), self))
        if (driver := assemble_outline(outlines)) is not None:
            setattr(self, ASSEMBLE, MethodType(Kernel(driver, library, robot).call(), self))

    def _blocks(self, function: str) -> ModuleType | None:
        """Return the library of a function for blocks of states, from the cache or newly built.
        None for one chain in lanes.
        """
        library = open_cached(self._named.get(function, ""))
        if library is None:
            library = self._blocks_by_recipe(function)
        if library is not None:
            self._named[function] = library.__name__
        return library

    def _choose_blocks(self, blocks_when: str) -> None:
        """Set when functions are compiled for blocks of states, one of
        `symgen.machine.blocks.BLOCK_CHOICES`.
        """
        self._blocks_when = nearest(blocks_when, BLOCK_CHOICES, "choice of blocks")
        for kernel in self._kernels.values():
            kernel.blocks_when = self._blocks_when

    def _compile_behind(self, function: str) -> Compilation | None:
        """Start to compile a function for blocks of states in the background; None if the cache has
        the library.
        """
        if open_cached(self._named.get(function, "")) is not None:  # a pickled solver included it
            return None
        with suppress(BuildError):  # without a compiler, the compilation reports the error
            entry = (
                None
                if self._recipe is None
                else cache.find("blocks", function, *_key(self._recipe))
            )
            if entry and open_cached(entry["library"]) is not None:
                return None
        return Compilation(self, function, self._named)

    def _blocks_by_recipe(self, function: str) -> ModuleType | None:
        key = None if self._recipe is None else ("blocks", function, *_key(self._recipe))
        entry = None if key is None else cache.find(*key)
        library = open_cached(entry["library"]) if entry else None
        if library is None:
            program, robot = self.programs[function], self._robot
            library = load_many(program, robot.target, robot.build, self._bounds(function))
            if key is not None:
                cache.keep({"library": library.__name__}, *key)
        return library

    def _bounds(self, function: str) -> Mapping[int, Bound]:
        """Return the certified bounds of a checked function's divisors."""
        if self._divisor_bounds is not None or self._recipe is None:
            return (self._divisor_bounds or {}).get(function, {})
        from symgen.certificate import checked_bounds

        request = self._recipe[0]
        needed = {
            name: self.programs[name] for name in (function, REGROUP) if name in self.programs
        }
        return checked_bounds(request.mechanism, needed, request.options, request.text)[function]

    @property
    def parameters(self) -> Parameters:
        """Return the adjustable numbers, by name. Raises ArgumentError if the solver has none."""
        if self._parameters is None:
            if not self._defaults:
                raise ArgumentError(
                    "no number of this solver may change; name some in symgen.compile(…,"
                    " parameters=[…])"
                )
            judge = named_call(self._kernels[JUDGE]) if JUDGE in self._kernels else None
            self._parameters = Parameters(
                self._defaults, self.real, named_call(self._kernels[REGROUP]), judge
            )
        return self._parameters

    @property
    def nq(self) -> int:
        """Return the number of coordinates."""
        return self.sizes.NQ

    @property
    def nv(self) -> int:
        """Return the number of velocities."""
        return self.sizes.NV

    @property
    def programs(self) -> dict[str, Form]:
        """Return the compiled Programs by function. A solver from the cache looks them up when they
        are needed.
        """
        if self._programs is None:
            from symgen.pipeline.build import programs_and_refusals

            assert self._recipe is not None
            self._programs = programs_and_refusals(self._recipe[0])[0]
        return self._programs

    @classmethod
    @validated_with(ProgramsRequest)
    def from_programs(
        cls,
        name: str,
        programs: Mapping[str, Form],
        sizes: Sizes,
        *,
        sources: Mapping[str, str] | None = None,
        **options: Unpack[ProgramsRequest],
    ) -> Solver:
        """Return a solver of existing Programs, keyed by function; options as for `compile`.

        `sources` replaces the C that would be printed, by function, for example by the files of a
        generated folder. `threads`: OpenMP threads share the groups of segments of one chain.
        """
        build, text = values_of(Build, options), values_of(TextOptions, options)
        solver = cls(programs, RobotBuild(name, sizes, build, text), sources=sources)
        solver._choose_blocks(options["blocks"])
        return solver

    def kernel(self, call: Call) -> Kernel | None:
        """Return the Kernel of one of the solver's calls; None for any other object."""
        matching = (
            self._kernels[f]
            for f in self.functions
            if getattr(self, derivatives.identifier_part(f)) == call
        )
        return next(matching, None)

    def bind(self, function: str, *arrays: Any) -> Call:
        """Return `call()` that computes `function` from bound argument arrays into bound result
        arrays.

        Every array must be contiguous and of the solver's real type, since nothing is copied:
        change its elements and call again. An argument has one state, or as many as the results.
        Raises ArgumentError, a ValueError, otherwise.
        """
        return self._kernels[nearest(function, self.functions, "compiled function")].bind(arrays)

    def prepare(self, function: str) -> None:
        """Compile a function for blocks of states now, which takes seconds to minutes, or wait for
        the background compilation.

        Otherwise it happens after some thousands of states, as `blocks` of `symgen.compile` says.
        """
        self._kernels[nearest(function, self.functions, "compiled function")].prepare()

    def chain(self, function: str, states: int, *arrays: Any) -> Call:
        """Return `call()` that computes `function` for `states` states in sequence, each dependent
        on the one before.

        Arguments are bound as by `bind`; results have one state and end as the last one's. The
        dependence adds zero, but the processor cannot know that: the time is the latency of a
        result, not the throughput.
        """
        return self._kernels[nearest(function, self.functions, "compiled function")].chain(
            states, arrays
        )

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(name, self.functions, "compiled function")

    def __repr__(self) -> str:
        return (
            f"<symgen.Solver {self.name}: NQ = {self.nq}, NV = {self.nv}, {self.real};"
            f" {', '.join(self.functions)}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        outlines = {function: kernel.program for function, kernel in self._kernels.items()}
        build = self._robot.build
        blocks = {function: pack_library(module, build) for function, module in self._named.items()}
        sent = Sent(
            self._robot,
            outlines,
            pack_library(self._library, build),
            {function: library for function, library in blocks.items() if library is not None},
            self._defaults,
            dict(self._parameters or {}),
            self._blocks_when,
        )
        if self._recipe is not None:
            return _unpickled, (_compile_again, (self._recipe,), sent)
        return _unpickled, (_from_programs, (self.programs, self._robot, self._sources), sent)

    def __dask_tokenize__(self) -> tuple[str, str]:
        """Return the name among Dask's keys: the library's, which is a hash of all its inputs."""
        return type(self).__name__, self._library


# -- numbers that may change --


_NEVER_NEGATIVE = ("mass", "armature", "damping", "friction", "stiffness")
Results = Callable[[Any], dict[str, Any]]
"""Return the results of one function by name, for parameters of shape (..., NG)."""


class Parameters(MutableMapping[str, Any]):
    """Arrays by name, of shape (..., size), or (...) for one number; leading dimensions broadcast
    with those of states.

        solver = symgen.compile("panda", ["inverse_dynamics"], parameters=["panda_hand", "gravity"])
        solver.parameters["panda_hand.mass"] = 1.1
        tau = solver.inverse_dynamics(q, v, a)

    The numbers are validated and regrouped when the next function needs them. They are the mutable
    part of the solver: threads that need different numbers use separate solvers, or pass a function
    its argument `prepared`. Numbers cannot be deleted; `reset` restores the description's numbers.
    """

    def __init__(
        self,
        defaults: Mapping[str, tuple[float, ...]],
        real: str,
        regroup: Results,
        judge: Results | None,
    ) -> None:
        import numpy as np

        self._np, self._regroup, self._judge = np, regroup, judge
        self._defaults = {
            name: np.array(numbers if len(numbers) > 1 else numbers[0], real)
            for name, numbers in defaults.items()
        }
        self._values = dict(self._defaults)
        self._prepared: Any = None

    def __getitem__(self, name: str) -> Any:
        array = self._values[nearest(name, self._values, "parameter")].view()
        array.flags.writeable = False  # a change in place would have no effect
        return array

    def __setitem__(self, name: str, value: Any) -> None:
        default = self._defaults[nearest(name, self._values, "parameter")]
        try:
            array = self._np.array(value, dtype=default.dtype)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"parameter '{name}' must be numbers, not {type(value).__name__}"
            ) from None
        if default.ndim and (not array.ndim or array.shape[-1] != default.shape[0]):
            raise ArgumentError(
                f"parameter '{name}' must have shape (..., {default.shape[0]}); it has"
                f" {array.shape}"
            )
        self._values[name], self._prepared = array, None

    def __delitem__(self, name: str) -> None:
        raise ArgumentError(
            f"parameter '{name}' cannot be deleted; parameters.reset() restores the description's"
            " numbers"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self._values.items())
        return f"<symgen parameters: {values}>"

    def reset(self) -> None:
        """Restore the description's numbers."""
        self._values, self._prepared = dict(self._defaults), None

    def take(self, link: str, pi: Any) -> None:
        """Set the ten numbers of a link from inertial parameters (..., 10) of a regressor.

        They are m, m c (3), and moments xx xy xz yy yz zz about the origin of the link's frame.
        Raises ArgumentError if one of mass, centre and inertia may not change.
        """
        names = [f"{link}.{kind}" for kind in ("mass", "centre", "inertia")]
        for name in names:
            nearest(name, self._values, "parameter")
        pi = self._np.asarray(pi, self._defaults[names[0]].dtype)
        if not pi.ndim or pi.shape[-1] != 10:
            raise ArgumentError(
                f"the inertial parameters of '{link}' must have shape (..., 10); they have"
                f" {pi.shape}"
            )
        mass = pi[..., 0]
        nonzero_mass = self._np.where(mass == 0, 1, mass)[..., None]
        for name, value in zip(
            names, (mass, pi[..., 1:4] / nonzero_mass, pi[..., 4:]), strict=True
        ):
            self[name] = value

    @property
    def prepared(self) -> Any:
        """Return the array (..., NS) that functions take. Raises ArgumentError if no body can have
        such numbers.
        """
        if self._prepared is None:
            np = self._np
            columns = [
                value if self._defaults[name].ndim else value[..., None]
                for name, value in self._values.items()
            ]
            try:
                lead = np.broadcast_shapes(*(column.shape[:-1] for column in columns))
            except ValueError:
                shapes = ", ".join(
                    f"'{name}' {value.shape}" for name, value in self._values.items()
                )
                raise ArgumentError(f"the parameters do not broadcast together: {shapes}") from None
            numbers = np.concatenate(
                [np.broadcast_to(column, (*lead, column.shape[-1])) for column in columns], axis=-1
            )
            self._refuse(numbers)
            self._prepared = self._regroup(numbers)[PREPARED.name]
        return self._prepared

    def _refuse(self, numbers: Any) -> None:
        np = self._np
        for name, value in self._values.items():
            if not np.isfinite(value).all():
                raise ArgumentError(
                    f"parameter '{name}' is infinite or not a number; set it to a number"
                )
            if name.rpartition(".")[2] in _NEVER_NEGATIVE and (value < 0).any():
                raise ArgumentError(f"parameter '{name}' is negative; it must be zero or more")
        if self._judge is None:
            return
        judged = self._judge(numbers)
        if "judged" in judged and not (judged["judged"] >= 0).all():
            names = (
                ", ".join(name for name in self._values if name.endswith(".inertia"))
                or "the masses"
            )
            raise ArgumentError(
                f"no body can have such moments of inertia about its mass centre; check {names},"
                " which are about the origins of the links' frames"
            )
        if "carried" in judged and not (judged["carried"] > 0).all():
            raise ArgumentError(
                "with these parameters a joint carries no mass, and the mass matrix is singular;"
                " give a link a mass"
            )


def default_parameters(
    mechanism: Mechanism, options: ProgramOptions
) -> dict[str, tuple[float, ...]]:
    """Return the description's numbers for the parameters, by name."""
    if not options.parameters:
        return {}
    from symgen.pipeline.adjusting import make_adjusting

    adjusting = make_adjusting(mechanism, options.parameters)
    numbers = iter(adjusting.defaults)
    return {
        parameter.name: tuple(float(next(numbers)) for _ in range(parameter.size))
        for parameter in adjusting.parameters
    }


def named_call(kernel: Any) -> Callable[[Any], dict[str, Any]]:
    """Return the compiled function of the parameters as a call whose results come by name."""

    def call(parameters: Any) -> dict[str, Any]:
        results = kernel.long_road((parameters,), None)
        return dict(
            zip(
                (port.name for port in kernel.outputs),
                results if isinstance(results, tuple) else (results,),
                strict=True,
            )
        )

    return call
