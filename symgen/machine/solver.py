"""The C of a robot, called on NumPy arrays.

    solver = symgen.compile("panda", ["forward_dynamics", "mass_matrix"])
    a      = solver.forward_dynamics(q, v, tau)                  # (..., NV), leading dimensions broadcast together
    call   = solver.bind("forward_dynamics", q, v, tau, a)       # buffers bound once; call() only computes

What arrays a function takes stands in `symgen.machine.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from os import PathLike
from types import MethodType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

from symgen.description.arguments import validated_with
from symgen.ir.ports import single_real
from symgen.ir.program import Bound, Outline
from symgen.ir.recursion import Form, Parted
from symgen.machine.assemble_driver import assembling
from symgen.machine.blocks import WHEN, Compilation
from symgen.machine.building import Build, Packed, depends, load_many, opened, packed, unpacked
from symgen.machine.building import load as load_library
from symgen.machine.kernels import Call, Kernel
from symgen.machine.parameters import Parameters, by_name, described
from symgen.support import cache
from symgen.support.errors import ArgumentError, BuildError, warn_each
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import ASSEMBLE, JUDGE, REGROUP, Sizes
from symgen.vocabulary.names import nearest, no_attribute
from symgen.vocabulary.options import HOST, PLAIN, Option, ProgramChoices, TextChoices, TextOptions
from symgen.vocabulary.target import Target


class Sent(NamedTuple):
    """Contents of a pickled solver, with which it needs no compiler where it arrives."""

    name: str
    outlines: dict[str, Outline]
    sizes: Sizes
    text: TextOptions
    build: Build
    library: Packed | None
    blocks: dict[str, Packed]
    """By function."""
    defaults: dict[str, tuple[float, ...]]
    now: dict[str, Any]
    """The parameters as they were set."""
    when: str
    """When functions are compiled for blocks of states."""


if TYPE_CHECKING:
    from types import ModuleType

    from symgen.mechanism.mechanism import Mechanism
    from symgen.pipeline.request import Request

    Recipe = tuple[Request, Build]


class SolverRequest(ProgramChoices, TextChoices, total=False):
    """Options of `symgen.compile`."""

    optimize: Annotated[int, Option(2, "the compiler's -O level", metavar="LEVEL")]
    native: Annotated[bool, Option(False, "compile for this processor (-march=native)")]
    contract: Annotated[bool, Option(False, "leave to the compiler to contract a*b + c")]
    blocks: Annotated[
        str,
        Option(
            WHEN[0],
            "when a function is compiled for blocks of states",
            metavar="background|now|never",
        ),
    ]


@validated_with(SolverRequest)
def compile(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str = "double",
    **options: Unpack[SolverRequest],
) -> Solver:
    """Derive, print and compile functions of a robot.

    `robot` is a Mechanism, a built-in name or a path; `functions` are names, or 'name=method' (None: every function).
    `real` is 'double' or 'float'. `optimize`, `native` and `contract` are the compiler's -O level, -march=native and
    leave to contract a*b + c. `frame`, `payload` and `wrench` name links, `jacobian_frame` and `jacobian_order` say how J and
    J̇ v are stated, `task_rows` what Λ and J̄ are about, `contact` points that may touch something, `effort` how long fewer
    operations are sought, and `baumgarte` that open loops are pulled together, as in `symgen.program`; `form` as in
    `symgen.generate`; `parameters` name numbers that may change afterwards, in `solver.parameters`: LINK.mass, LINK.centre (m)
    and LINK.inertia (about the origin of the link's frame, in its axes), LINK for the three, payload:LINK, gravity, or a pattern
    such as '*.mass'. `trig` is one of `symgen.vocabulary.options.TRIG`. Raises RequestError, DescriptionError or MechanismError as the
    generation does, and BuildError without a C compiler or Python's header; warns as `symgen.pipeline.noticing` says. `checked`
    functions raise StateError at a state that they refuse, the first of several, unless given an array for each `status`.
    `blocks` says when a function that was asked for thousands of states is compiled for blocks of them: in the "background" by
    another process, while calls go on state by state; "now", in that call, which then takes seconds to minutes; or "never", but
    by `Solver.prepare`. With `contract` it is always now, since blocks have other last bits there.
    """
    from symgen.pipeline.request import make_request

    recipe = (
        make_request(robot, functions, options, real=real),
        Build(options["optimize"], options["native"], options["contract"]),
    )
    solver = _found(recipe) or _made(recipe)
    solver._choose_blocks(options["blocks"])
    warn_each(solver._notices)
    return solver


def _found(recipe: Recipe) -> Solver | None:
    """The solver whose library was built before and is in the cache. Nothing is derived, printed or compiled."""
    from symgen.pipeline.serialize import outline_from_plain

    known = cache.find("solver", *_key(recipe))
    outlines = None if known is None else [outline_from_plain(one) for one in known["functions"]]
    library = opened(known["library"]) if known and outlines and None not in outlines else None
    if library is None or outlines is None or known is None:
        return None
    solver = Solver.__new__(Solver)
    (request, build), mechanism = recipe, recipe[0].mechanism
    named = {one.function: one for one in outlines if one is not None}
    solver._hold(mechanism.name, named, mechanism.sizes, build, request.text, library)
    solver.mechanism, solver._recipe = mechanism, recipe
    solver._defaults = {name: tuple(numbers) for name, numbers in known["parameters"].items()}
    solver._notices = [tuple(notice) for notice in known["notices"]]
    return solver


def _made(recipe: Recipe) -> Solver:
    from symgen.certificate import checked_floors
    from symgen.pipeline.build import programs_and_refusals
    from symgen.pipeline.noticing import notices
    from symgen.pipeline.serialize import outline_to_plain

    request, build = recipe
    mechanism, options, text = request.mechanism, request.options, request.text
    derived, refused = programs_and_refusals(request)
    bounds = checked_floors(mechanism, derived, options, text)
    solver = Solver(
        mechanism.name,
        derived,
        mechanism.sizes,
        build=build,
        text=text,
        mechanism=mechanism,
        floors=bounds,
    )
    solver._recipe = recipe
    solver._defaults = described(mechanism, options)
    solver._notices = notices(mechanism, derived, options, request.functions is not None, refused)
    plain = [outline_to_plain(program.outline) for program in derived.values()]
    if all(program.rounds is None for program in derived.values()):  # else a search was interrupted
        cache.keep(
            {
                "library": solver._library,
                "functions": plain,
                "parameters": solver._defaults,
                "notices": solver._notices,
            },
            "solver",
            *_key(recipe),
        )
    return solver


def _key(recipe: Recipe) -> tuple[Any, ...]:
    request, build = recipe
    return (
        request.mechanism.content,
        request.mechanism.source_sha256,
        request.functions,
        asdict(request.options),
        asdict(request.text),
        depends(build),
    )


def _arrived(make: Callable[..., Solver], origin: tuple[Any, ...], sent: Sent) -> Solver:
    """A solver that was sent: with its libraries, or compiled here where they are for another platform."""
    library = sent.library and unpacked(sent.library, sent.build)
    if library is None:
        try:
            return make(*origin)
        except BuildError as error:
            there = (
                f" is for {' '.join(sent.library.runs_on[:3])}"
                if sent.library
                else " came without its library"
            )
            raise BuildError(
                f"the solver of '{sent.name}' that was sent{there}, and cannot be compiled here: {error}"
            ) from None
    solver = Solver.__new__(Solver)
    given = make is _from_programs and origin[-1] is not None
    solver._hold(sent.name, sent.outlines, sent.sizes, sent.build, sent.text, library, given)
    if make is _compile_again:
        (solver._recipe,) = origin
        solver.mechanism = origin[0][0].mechanism
    else:
        solver._programs, solver._sources = origin[1], origin[-1]
    solver._defaults = sent.defaults
    solver._choose_blocks(sent.when)
    for name, value in sent.now.items():
        solver.parameters[name] = value
    for function, one in sent.blocks.items():
        if unpacked(one, sent.build) is not None:
            solver._named[function] = one.module
    return solver


def _compile_again(recipe: Recipe) -> Solver:
    return _found(recipe) or _made(recipe)


def _from_programs(
    name: str,
    programs: Mapping[str, Form],
    sizes: Sizes,
    build: Build,
    text: TextOptions,
    sources: Mapping[str, str] | None,
) -> Solver:
    return Solver(name, programs, sizes, build=build, text=text, sources=sources)


class Solver:
    """Compiled functions of one robot, one attribute each; see `compile`.

    `functions` are their names, `programs` what was compiled, `mechanism` the robot (None for `from_programs`).
    Solvers hold no state but `parameters`: threads may share one, and C runs without the interpreter's lock. A pickled solver,
    and a pickled method of one, takes its compiled library along. Where that is for another platform it is compiled again.
    """

    mechanism: Mechanism | None
    _recipe: Recipe | None
    _sources: dict[str, str] | None
    _programs: dict[str, Form] | None
    _floors: Mapping[str, Mapping[int, Bound]] | None
    _parameters: Parameters | None
    _defaults: dict[str, tuple[float, ...]]
    _notices: list[tuple[str, str]]

    def __init__(
        self,
        name: str,
        programs: Mapping[str, Form],
        sizes: Sizes,
        *,
        build: Build | None = None,
        text: TextOptions = PLAIN,
        mechanism: Mechanism | None = None,
        sources: Mapping[str, str] | None = None,
        floors: Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> None:
        if not programs:
            raise ArgumentError("there is no function to compile; name at least one")
        target = Target(name, sizes, text, mechanism.source_sha256 if mechanism else "")
        single_real(programs.values())
        library = load_library(programs, target, build or Build(), sources, floors)
        outlines = {function: program.outline for function, program in programs.items()}
        self._hold(
            name, outlines, sizes, build or Build(), text, library, given=sources is not None
        )
        self.mechanism, self._sources, self._programs = (
            mechanism,
            dict(sources) if sources else None,
            dict(programs),
        )
        self._floors = floors

    def _hold(
        self,
        name: str,
        outlines: Mapping[str, Outline],
        sizes: Sizes,
        build: Build,
        text: TextOptions,
        library: ModuleType,
        given: bool = False,
    ) -> None:
        """Set everything except where the C came from; of C that was `given` there is none for blocks of states."""
        self.name, self.sizes = name, sizes
        self.mechanism = None
        self.functions = tuple(outlines)
        self.real = next(iter(outlines.values())).real
        self._build, self._text, self._library = build, text, library.__name__
        self._recipe = self._sources = self._programs = None
        symbol = Target(name, sizes, text).symbol
        self._floors, self._parameters, self._defaults, self._notices = None, None, {}, []
        self._when = WHEN[0]
        self._named: dict[str, str] = {}  # of the libraries for blocks of states, by function
        many = {f: None if given else partial(self._blocks, f) for f in outlines}
        behind = {f: partial(self._compile_behind, f) for f in outlines}
        self._kernels = {
            f: Kernel(
                one,
                library,
                symbol(f),
                text.checked,
                name,
                sizes,
                many[f],
                build.contract,
                behind[f],
            )
            for f, one in outlines.items()
        }
        for function, kernel in self._kernels.items():
            setattr(self, derivatives.symbol(function), MethodType(kernel.call(), self))
        if (driver := assembling(outlines)) is not None:
            setattr(
                self,
                ASSEMBLE,
                MethodType(
                    Kernel(driver, library, symbol(ASSEMBLE), True, name, sizes).call(), self
                ),
            )

    def _blocks(self, function: str) -> ModuleType | None:
        """The library of a function for many states: from the cache, where its name is known, else built. None of one chain in
        lanes.
        """
        library = opened(self._named.get(function, ""))
        if library is None:
            library = self._blocks_by_recipe(function)
        if library is not None:
            self._named[function] = library.__name__
        return library

    def _choose_blocks(self, when: str) -> None:
        """Say when functions are compiled for blocks of states, one of `symgen.machine.blocks.WHEN`."""
        self._when = nearest(when, WHEN, "choice of blocks")
        for kernel in self._kernels.values():
            kernel.when = self._when

    def _compile_behind(self, function: str) -> Compilation | None:
        """Begin to compile a function for blocks of states in the background; None if the cache has the library."""
        if opened(self._named.get(function, "")) is not None:  # it came with a pickled solver
            return None
        with suppress(BuildError):  # there is no compiler, which the compilation tells
            known = (
                None
                if self._recipe is None
                else cache.find("blocks", function, *_key(self._recipe))
            )
            if known and opened(known["library"]) is not None:
                return None
        return Compilation(self, function, self._named)

    def _blocks_by_recipe(self, function: str) -> ModuleType | None:
        key = None if self._recipe is None else ("blocks", function, *_key(self._recipe))
        known = None if key is None else cache.find(*key)
        library = opened(known["library"]) if known else None
        if library is None:
            target = Target(
                self.name,
                self.sizes,
                self._text,
                (self.mechanism and self.mechanism.source_sha256) or "",
            )
            program = self.programs[function]
            if isinstance(program, Parted):
                return None
            library = load_many(program, target, self._build, self._bounds(function))
            if key is not None:
                cache.keep({"library": library.__name__}, *key)
        return library

    def _bounds(self, function: str) -> Mapping[int, Bound]:
        """The certified bounds of a checked function's divisors."""
        if self._floors is not None or self._recipe is None:
            return (self._floors or {}).get(function, {})
        from symgen.certificate import checked_floors

        request = self._recipe[0]
        needed = {
            name: self.programs[name] for name in (function, REGROUP) if name in self.programs
        }
        return checked_floors(request.mechanism, needed, request.options, request.text)[function]

    @property
    def parameters(self) -> Parameters:
        """The numbers that may change, by name (`symgen.machine.parameters`); ArgumentError where the solver has none."""
        if self._parameters is None:
            if not self._defaults:
                raise ArgumentError(
                    "no number of this solver may change; name some in symgen.compile(…, parameters=[…])"
                )
            judge = by_name(self._kernels[JUDGE]) if JUDGE in self._kernels else None
            self._parameters = Parameters(
                self._defaults, self.real, by_name(self._kernels[REGROUP]), judge
            )
        return self._parameters

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.sizes.NQ

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.sizes.NV

    @property
    def programs(self) -> dict[str, Form]:
        """What was compiled, by function. For a solver from the cache it is looked up when it is needed."""
        if self._programs is None:
            from symgen.pipeline.build import programs_and_refusals

            assert self._recipe is not None
            self._programs = programs_and_refusals(self._recipe[0])[0]
        return self._programs

    @classmethod
    def from_programs(
        cls,
        name: str,
        programs: Mapping[str, Form],
        sizes: Sizes,
        *,
        optimize: int = 2,
        native: bool = False,
        contract: bool = False,
        trig: str = HOST,
        sources: Mapping[str, str] | None = None,
        checked: bool = False,
        threads: bool = False,
        blocks: str = WHEN[0],
    ) -> Solver:
        """A solver of Programs that are already there, keyed by function; options as for `compile`.

        `sources` replaces the C that would be printed, by function: the files of a generated folder, for example. `threads`:
        groups of segments of one chain are shared out to threads of OpenMP, where there are several.
        """
        build, text = Build(optimize, native, contract, threads), TextOptions(trig, checked=checked)
        solver = cls(name, programs, sizes, build=build, text=text, sources=sources)
        solver._choose_blocks(blocks)
        return solver

    def kernel(self, call: Call) -> Kernel | None:
        """What is behind one of the solver's calls; None for anything else."""
        own = (
            self._kernels[f] for f in self.functions if getattr(self, derivatives.symbol(f)) == call
        )
        return next(own, None)

    def bind(self, function: str, *arrays: Any) -> Call:
        """`call()` that computes `function` from its argument arrays into its result arrays, all named here once.

        Every array is contiguous and of the solver's real type, since nothing is copied: change its elements and call
        again. An argument holds one state, or as many as the results. Raises ArgumentError, a ValueError, otherwise.
        """
        return self._kernels[nearest(function, self.functions, "compiled function")].bind(arrays)

    def prepare(self, function: str) -> None:
        """Compile a function for blocks of states now, which takes seconds to minutes, or wait for that in the background.

        Otherwise it happens when there have been some thousands of states, as `blocks` of `symgen.compile` says.
        """
        self._kernels[nearest(function, self.functions, "compiled function")].prepare()

    def chain(self, function: str, states: int, *arrays: Any) -> Call:
        """`call()` that computes `function` for `states` states one after the other, each waiting for the one before.

        Arguments are bound as by `bind`, results hold one state and end as the last one's. Nothing is added from call to
        call, yet a processor cannot know that: what is timed is how long an answer takes, not how many fit in a second.
        """
        return self._kernels[nearest(function, self.functions, "compiled function")].chain(
            states, arrays
        )

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(name, self.functions, "compiled function")

    def __repr__(self) -> str:
        return f"<symgen.Solver {self.name}: NQ = {self.nq}, NV = {self.nv}, {self.real}; {', '.join(self.functions)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        outlines = {function: kernel.program for function, kernel in self._kernels.items()}
        blocks = {function: packed(module, self._build) for function, module in self._named.items()}
        sent = Sent(
            self.name,
            outlines,
            self.sizes,
            self._text,
            self._build,
            packed(self._library, self._build),
            {function: found for function, found in blocks.items() if found is not None},
            self._defaults,
            dict(self._parameters or {}),
            self._when,
        )
        if self._recipe is not None:
            return _arrived, (_compile_again, (self._recipe,), sent)
        programs = self.name, self.programs, self.sizes, self._build, self._text, self._sources
        return _arrived, (_from_programs, programs, sent)

    def __dask_tokenize__(self) -> tuple[str, str]:
        """Its name among Dask's keys: the library's, which is a hash of all that it is made of."""
        return type(self).__name__, self._library
