"""Pipeline from a description to Programs: description → model → method → derivation → Program →
passes.

`programs` builds the Programs of several functions, `program` of one. `choose` selects the method,
`derive` derives by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import asdict, replace
from functools import lru_cache, partial, wraps
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from symgen import methods
from symgen.derivation.model import refuse_many_joints
from symgen.derivation.scalars import TooManyRows
from symgen.description.arguments import validated_with
from symgen.ir import passes
from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import (
    adjusting,
    choose,
    composing,
    contacts,
    derive,
    differentiation,
    form,
    layout,
    loop_closure,
    noticing,
    parallel,
    search,
    task,
)
from symgen.pipeline.derive import attempt, polished, relevant
from symgen.pipeline.request import Request, make_request
from symgen.pipeline.serialize import from_plain, to_plain
from symgen.support import cache
from symgen.support.errors import (
    ArgumentError,
    MethodRefusal,
    OutOfReach,
    RequestError,
    TooLong,
    warn_each,
)
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import (
    ASSEMBLE,
    ASSEMBLING,
    BY_DEFAULT,
    EQUATIONS,
    FUNCTIONS,
    LOOP_FUNCTIONS,
    PREPARING,
    REGROUP,
)
from symgen.vocabulary.names import function_named
from symgen.vocabulary.options import HIGH, NORMAL, UNROLLED, ProgramOptions, RowRequest, names_of
from symgen.vocabulary.reals import DOUBLE

if TYPE_CHECKING:
    from symgen.reference.singularity import RankLoss

INVERSE_ON_REQUEST_ABOVE = 20
Progress = Callable[[str, int, int], None]
"""Function that is called with a step's description, the number of finished steps, and the number
of all steps.
"""
Builder = Callable[[Mechanism, str, str, ProgramOptions], Program]
"""Function that builds a function of a mechanism by a method."""


def cache_programs(kind: str) -> Callable[[Builder], Builder]:
    """Decorator: keep the Programs that a function builds in the cache, under `kind`; one entry
    serves all real types.

    A refusal as too long is cached as well, since finding it out takes as long as building the
    Program. The result of an interrupted search is cached under its number of rounds.
    """

    def decorate(build: Builder) -> Builder:
        @wraps(build)
        def look_up(
            mechanism: Mechanism, function: str, method: str, options: ProgramOptions
        ) -> Program:
            key = program_key(mechanism, function, method, options)
            facts = cache.find(kind, *key)
            if facts is not None and "refused" in facts:
                raise TooLong(facts["refused"])
            program = facts and from_plain(facts["program"])
            if program and (program.function, program.method) == (function, method):
                return replace(program, real=options.real, rounds=options.rounds)
            try:
                program = build(mechanism, function, method, options)
            except TooLong as error:
                cache.keep({"refused": str(error)}, kind, *key)
                raise
            key = program_key(mechanism, function, method, replace(options, rounds=program.rounds))
            cache.keep({"program": to_plain(replace(program, real=DOUBLE.name))}, kind, *key)
            return program

        return look_up

    return decorate


def program_key(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> tuple[Any, ...]:
    """Return the key of a Program's rows, which depend on the real type only if the methods of
    called functions do.
    """
    real = options.real if methods.composers(derivatives.base_function(function)) else DOUBLE.name
    return mechanism.content, function, method, asdict(replace(options, real=real))


@lru_cache(maxsize=64)
def rank_loss(mechanism: Mechanism, payload: str | None) -> RankLoss | None:
    """Return the joint at which M is singular at every state, else None (see
    `symgen.reference.singularity`).
    """
    from symgen.reference import singularity

    entry = cache.find("loss", mechanism.content, payload)
    if entry is not None:
        return singularity.RankLoss(**entry["lost"]) if entry["lost"] else None
    computed = singularity.find_rank_loss(mechanism, payload)
    cache.keep({"lost": computed and asdict(computed)}, "loss", mechanism.content, payload)
    return computed


def refusal(mechanism: Mechanism, function: str, payload: str | None) -> str | None:
    """Return why a function does not exist for this robot, in one sentence; None if it exists."""
    if (
        FUNCTIONS[function].needs_mass
        and not mechanism.mass
        and (payload is None or mechanism.frame(payload).body < 0)
    ):
        return (
            f"{function} of '{mechanism.name}' needs the mass centre, and no moving link has a"
            " mass; give a moving link a mass, or a payload"
        )
    if (why := loop_closure.refusal(mechanism, function)) is not None:
        return why
    lost = rank_loss(mechanism, payload) if FUNCTIONS[function].needs_inverse else None
    return None if lost is None else f"{function} of '{mechanism.name}' divides by {lost.sentence}"


@validated_with(RowRequest)
def program(
    robot: Mechanism | str | PathLike[str],
    function: str,
    method: str | None = None,
    real: str = "double",
    **options: Unpack[RowRequest],
) -> Program:
    """Return one function of one robot as a Program.

    `method` None selects the one with the fewest operations. `frame` names the link of the pose,
    Jacobian and so on, or several links in a list, whose results are stacked. `payload` names the
    link that carries a load; `wrench` names the link, or links in a list, on which an external
    wrench acts. Each adds an argument (`symgen.vocabulary.functions`).

    `jacobian_frame` selects the axes and the point of J and J̇ v: base axes at the frame's origin
    ('aligned'), the frame's own axes ('local'), or base axes at the base's origin ('world').
    `jacobian_order` is 'angular' or 'linear', the part that comes first. `task_rows` are the rows
    of operational_inertia and dynamically_consistent_inverse, 'wx,wy,wz,x,y,z' or numbers from 0;
    None for all six. `contact` names the contact points of contact_forward_dynamics and
    contact_impulse, 'LINK' or 'LINK:x,y,z' in m, or several in a list.

    `parameters` are names of numbers that may change at run time ("LINK.mass", "gravity",
    "*.inertia"; `symgen.compile`); they add an argument `prepared`. With `baumgarte`, functions of
    closed loops are valid at open positions too, and constrained_forward_dynamics and
    contact_forward_dynamics take an argument `gains` that closes open loops. `effort` "high" takes
    minutes to find fewer operations for the same method; Ctrl-C ends the search with its best
    result.

    Raises RequestError for an unknown function, method or link, or a program beyond the row budget.
    """
    request = make_request(robot, [function], options, real=real)
    _refuse_equations(function)
    built = build_program(request.mechanism, function_named(function), method, request.options)
    warn_each(
        noticing.notices(
            request.mechanism, {built.function: built}, request.options, named=True, refused={}
        )
    )
    return built


def _refuse_equations(function: str) -> None:
    """Raise RequestError for an internal equation of derivatives."""
    if function in EQUATIONS:
        raise RequestError(
            f"{function} is an internal equation of derivatives, not a function; name the function"
            " to be called"
        )


def require_unrollable(mechanism: Mechanism) -> None:
    """Raise TooLong if a robot has more joints than the unrolled form supports."""
    refuse_many_joints(mechanism)


def build_program(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """Return the Program of a function by a method, or by the one with the fewest operations.

    Options that the function does not depend on lead to the same object. Raises the errors of
    `program`.
    """
    refuse_many_joints(mechanism)
    for link in (*options.frames, *names_of(options.payload), *options.wrenches):
        mechanism.frame(link)
    loop_closure.validate(mechanism, options.baumgarte)
    contacts.validate(mechanism, options.contacts)
    if options.parameters:
        options = replace(
            options, parameters=adjusting.parameter_names(mechanism, options.parameters)
        )
    built = _build(mechanism, function, method, relevant(mechanism, function, options))
    if isinstance(built, OutOfReach):
        raise copy(built)  # without the traceback of another call
    if options.series:
        return built
    again = partial(build_program, mechanism, method=built.method, options=options)
    return differentiation.with_origin(built, again)


@lru_cache(maxsize=256)
def _build(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program | OutOfReach:
    """Return the Program, or the error if no method computes it; `options` are the relevant
    options.

    The choice of `choose.best_program` among the methods is cached.
    """
    why = refusal(mechanism, function, options.payload) or task.refusal(
        mechanism, function, options
    )
    if why is not None:
        raise RequestError(why)
    if function in PREPARING:
        return _prepare_parameters(mechanism, function, options)
    if options.effort == HIGH:
        return _search(mechanism, function, method, options)
    if FUNCTIONS[function].derivative is not None:
        try:
            return _differentiate(mechanism, function, method, options)
        except TooLong as error:
            return copy(
                error
            )  # without its traceback, which would keep the long derivation in memory
    if method is not None:
        return _by_method(mechanism, function, method, options)
    usual = _usual_method(mechanism, function, options)
    if usual is not None:
        with suppress(MethodRefusal):  # the function that sets the ranking may need less
            return build_program(mechanism, function, usual, options)
    key = _choice_key(mechanism, function, options)
    choice = cache.find("choice", *key)
    if choice is None:
        try:
            best = choose.best_program(
                mechanism, function, options, lambda: rank_loss(mechanism, options.payload)
            )
            choice = {"method": best.method, "passed_over": best.passed_over}
        except OutOfReach as error:
            choice = {"refused": str(error), "too_long": isinstance(error, TooLong)}
        cache.keep(choice, "choice", *key)
    if "refused" in choice:
        return (TooLong if choice["too_long"] else OutOfReach)(choice["refused"])
    built = build_program(mechanism, function, choice["method"], options)
    return replace(built, passed_over=tuple((name, why) for name, why in choice["passed_over"]))


def _prepare_parameters(
    mechanism: Mechanism, function: str, options: ProgramOptions
) -> Program | OutOfReach:
    """Return the Program of one of PREPARING, which prepare run-time numbers."""
    if not options.parameters:
        return OutOfReach(f"{function} needs run-time numbers; name some with --parameter")
    prepared = adjusting.make_adjusting(mechanism, options.parameters)
    if function != REGROUP:
        return replace(prepared.judge, real=options.real)
    regroup = passes.run(prepared.guarded) if options.divisor_bounds else prepared.regroup
    return replace(regroup, real=options.real)


def _usual_method(mechanism: Mechanism, function: str, options: ProgramOptions) -> str | None:
    """Return the method that needs no comparison: one that composes, or the method of the function
    that sets the ranking.
    """
    for method in methods.composers(function):
        if methods.find(method).refusal(mechanism) is None:
            return method
    ranked_as = FUNCTIONS[function].ranked_as
    return build_program(mechanism, ranked_as, None, options).method if ranked_as else None


def _by_method(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Return the Program by a method. RequestError if it divides by pivots of a singular M."""
    why = methods.find(method).refusal(mechanism)
    if why is not None:
        raise RequestError(why)
    built = _rows_by_method(mechanism, function, method, options)
    if choose.divides_by_pivots(built) and (lost := rank_loss(mechanism, options.payload)):
        raise RequestError(
            f"{function} of '{mechanism.name}' by {method} divides by {lost.sentence}"
        )
    return built


@cache_programs("program")
def _rows_by_method(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Return a function's Program, derived by its method or composed of Programs that it calls."""
    compose = methods.composition(method, function)
    try:
        if compose is None:
            return polished(mechanism, function, method, options)
        return composing.compose_program(
            mechanism, function, method, compose, options, _builder_of_called(mechanism, options)
        )
    except TooManyRows:
        raise TooLong(
            f"{function} of '{mechanism.name}' by {method} needs more than {derive.ROW_BUDGET}"
            " rows; use another method, or lock joints that do not matter with --lock"
        ) from None


def _builder_of_called(mechanism: Mechanism, options: ProgramOptions) -> Callable[[str], Program]:
    """Return the function that builds, by name, the Programs that a composition calls."""
    return lambda function: build_program(mechanism, function, None, options)


def _choice_key(mechanism: Mechanism, function: str, options: ProgramOptions) -> tuple[Any, ...]:
    """Return the cache key of the choice of a method; `options` are the relevant options."""
    return (*program_key(mechanism, function, None, options), options.real)


def _takes_long(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> bool:
    """True if it is certain at once that several methods of a function must be compared first."""
    if method is not None or options.parameters or FUNCTIONS[function].derivative is not None:
        return False
    if cache.stamp() is None:  # without a cache, earlier derivations of this process are unknown
        return False
    key = _choice_key(mechanism, function, relevant(mechanism, function, options))
    return layout.is_known(mechanism.uncoupled) and not cache.is_kept("choice", *key)


def _differentiate(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """Return a derivative: of the function's rows by a method, or by its own recursion if that is
    shorter.
    """
    derivative = FUNCTIONS[function].derivative
    assert derivative is not None
    recursion = differentiation.RECURSION
    if method == recursion and method not in methods.providers(derivative.of):
        return _by_recursion(mechanism, function, recursion, options)
    options_of_rows = replace(
        options, anywhere=loop_closure.depends_on_loops(mechanism, derivative.of)
    )
    base = build_program(mechanism, derivative.of, method, replace(options_of_rows, series=True))
    differentiation.require_arguments(base, derivative, options.at_run_time)
    of_rows = _derivative_of_rows(mechanism, function, base.method, options_of_rows)
    if method is not None or differentiation.recursive(derivative) is None:
        return of_rows
    with suppress(OutOfReach):
        of_recursion = _by_recursion(mechanism, function, recursion, options)
        return min(of_rows, of_recursion, key=lambda program: program.cost)
    return of_rows


@cache_programs("program")
def _by_recursion(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Return a derivative, extracted from the function that has it among its results."""
    derivative = FUNCTIONS[function].derivative
    assert derivative is not None
    source = differentiation.recursive(derivative)
    if source is None:
        raise RequestError(
            f"method '{method}' does not compute {derivative.name}; request it without a method"
        )
    return differentiation.extract_derivative(
        build_program(mechanism, source, method, options), derivative
    )


@cache_programs("program")
def _derivative_of_rows(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Return the derivative of a function's rows: by the chain rule, by the equation that it
    solves, or row by row.
    """
    derivative = FUNCTIONS[function].derivative
    assert derivative is not None
    compose = methods.composition(method, derivative.of)
    if (
        compose is not None
        and derivative.mode == "jacobian"
        and differentiation.of_steps(derivative)
    ):
        try:
            return differentiation.by_chain_rule(
                mechanism,
                derivative,
                method,
                compose,
                options,
                _builder_of_called(mechanism, options),
            )
        except TooManyRows:
            raise TooLong(
                f"{function} of '{mechanism.name}' needs more than {derive.ROW_BUDGET} rows;"
                f" request {derivative.of}:vjp or {derivative.of}:jvp, which are a row or a column"
                " at a time"
            ) from None
    solved = FUNCTIONS[derivative.of].solves
    if solved is None or _redundant(mechanism, derivative.of, options):
        base = build_program(mechanism, derivative.of, method, replace(options, series=True))
        return differentiation.differentiate(base, derivative)
    series = replace(options, series=True) if solved.solution == derivative.of else options
    base = build_program(mechanism, solved.solution, method, series)
    # one equation for all real types, like the cache entry
    equation = build_program(mechanism, solved.equation, None, replace(options, real=DOUBLE.name))
    return differentiation.differentiate(base, derivative, equation)


def _redundant(mechanism: Mechanism, function: str, options: ProgramOptions) -> bool:
    """True if a function's forces are redundant: then they solve no equation."""
    specification = FUNCTIONS[function]
    return (specification.counts("NT") and contacts.redundant(mechanism, options.contacts)) or (
        specification.needs_loops and loop_closure.assembly(mechanism).redundant > 0
    )


def _search(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """Return the Program by the default method, with fewer operations if a search finds some."""
    usual = build_program(mechanism, function, method, _without_search(options))
    searched = _searched_rows(mechanism, function, usual.method, options)
    return replace(searched, passed_over=usual.passed_over)


def _without_search(options: ProgramOptions) -> ProgramOptions:
    return replace(options, effort=NORMAL, rounds=None)


@cache_programs("program")
def _searched_rows(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Search for fewer operations of a function by its method."""
    usual = build_program(mechanism, function, method, _without_search(options))
    is_derived = (
        FUNCTIONS[function].derivative is None and methods.composition(method, function) is None
    )
    start = attempt(mechanism, function, method, options).program() if is_derived else usual
    return replace(search.search_program(start, usual, options.rounds), passed_over=())


def requested(
    mechanism: Mechanism, functions: Iterable[str] | None, payload: str | None = None
) -> dict[str, str | None]:
    """Return {function: method or None} from names such as "mass_matrix" or
    "forward_dynamics=riccati".

    "assemble" stands for the functions that it calls. None means every default function that this
    robot can have: without those on request, those that divide by a singular M, and the inverse
    above INVERSE_ON_REQUEST_ABOVE joints. Raises OutOfReach if the robot's loops cannot be closed.
    """
    if functions is None:
        if mechanism.loops:
            loop_closure.assembly(
                mechanism
            )  # raises: loops that do not close are an error in the description
        usual = (*BY_DEFAULT, *(LOOP_FUNCTIONS if mechanism.loops else ()))
        chosen: dict[str, str | None] = {
            name: None for name in usual if refusal(mechanism, name, payload) is None
        }
        if mechanism.nv > INVERSE_ON_REQUEST_ABOVE:
            chosen.pop("inverse_mass_matrix", None)
        return chosen
    chosen = {}
    for item in [functions] if isinstance(functions, str) else functions:
        name, _, method = item.partition("=")
        if item == ASSEMBLE:
            chosen = dict.fromkeys(ASSEMBLING) | chosen
        elif item.startswith((f"{ASSEMBLE}=", f"{ASSEMBLE}:")):
            raise ArgumentError(
                f"{ASSEMBLE} calls other functions, and has no method and no derivative; request "
                f"{ASSEMBLE} alone, or {ASSEMBLING[0]}"
            )
        else:
            chosen[function_named(name)] = method or None
            _refuse_equations(name)
    if not chosen:
        raise ArgumentError(
            "no function is named; name one, or pass None for every function that the robot has"
        )
    return chosen


def build_form(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Form:
    """Return a function in the requested form: a Program, or loops over links."""
    if (refused := refusal(mechanism, function, options.payload)) is not None:
        raise RequestError(refused)
    looped_form = form.choose_looped_form(mechanism, function, method, options)
    if looped_form is None:
        return build_program(mechanism, function, method, options)
    if form.prefers_rows(looped_form, options):
        with suppress(TooLong):  # few rows a link, but too many joints for the unrolled form
            return build_program(mechanism, function, method, options)
    return looped_form


def programs(
    mechanism: Mechanism,
    functions: Iterable[str] | None = None,
    options: ProgramOptions | None = None,
) -> dict[str, Program]:
    """Return the unrolled Programs of the requested functions in the order of
    `symgen.vocabulary.functions`; None: all default ones.
    """
    names = None if functions is None else tuple(functions)
    unrolled = replace(options or ProgramOptions(), form=UNROLLED)
    forms = programs_and_refusals(Request(mechanism, names, unrolled))[0]
    return {
        name: form_of_function
        for name, form_of_function in forms.items()
        if not form_of_function.looped
    }


def _report_step(progress: Progress | None, done: int, total: int, message: str) -> None:
    if progress is not None:
        progress(message, done, total)


def programs_and_refusals(
    request: Request, progress: Progress | None = None, each_by_itself: bool = False
) -> tuple[dict[str, Form], dict[str, str]]:
    """Return (Programs or LoopPrograms; functions that could not be built, each with its sentence).

    With functions None, the refusals are all functions that cannot be built. With named functions,
    they are those that are too long, unless the request is `strict`. With `each_by_itself`,
    parameters are laid out for each Program separately (`with_parameters`), and functions that the
    robot does not have are left out. Raises OutOfReach if no function is left, and for any other
    named function that is out of reach.
    """
    mechanism, options = request.mechanism, request.options
    methods = requested(mechanism, request.functions, options.payload)
    names = list(FUNCTIONS.in_order(methods))
    jobs = [partial(build_form, mechanism, name, methods[name], options) for name in names]

    def report(first: int, later: int = 0) -> None:
        _report_step(progress, first + later, len(names), f"deriving {names[first + later]}")

    built: dict[str, Form] = {}
    refused: dict[str, str] = {}
    in_parallel = options.effort == NORMAL and form.is_unrolled_only(mechanism, options)
    start = perf_counter()
    with ExitStack() as stack:
        for position, name in enumerate(names):
            if in_parallel and (
                perf_counter() - start > parallel.WORTH
                or (position == 0 and _takes_long(mechanism, name, methods[name], options))
            ):
                stack.enter_context(cache.in_memory())
                parallel.run(jobs[position:], partial(report, position))
                in_parallel = False
            report(position)
            try:
                with search.announcing(partial(_report_step, progress, position, len(names))):
                    built[name] = jobs[position]()
            except OutOfReach as error:
                needed = request.functions is not None and (
                    request.strict or not isinstance(error, TooLong)
                )
                if needed or len(refused) + 1 == len(methods):
                    raise
                refused[name] = str(error)
    if each_by_itself:
        return built, refused
    return with_parameters(built, mechanism, options), refused | _unavailable_functions(request)


def _unavailable_functions(request: Request) -> dict[str, str]:
    """Return the default functions that the robot does not have, each with its sentence; empty if
    functions are named.
    """
    mechanism, payload = request.mechanism, request.options.payload
    usual = (*BY_DEFAULT, *(LOOP_FUNCTIONS if mechanism.loops else ()))
    if request.functions is not None:
        return {}
    return {name: why for name in usual if (why := refusal(mechanism, name, payload)) is not None}


def with_parameters(
    built: Mapping[str, Form], mechanism: Mechanism, options: ProgramOptions
) -> dict[str, Form]:
    """Return the Programs with those that prepare parameters, and with `prepared` reduced to the
    elements that are read.

    Raises ArgumentError if no Program depends on a parameter.
    """
    if not options.parameters:
        return dict(built)
    preparing = {name: build_program(mechanism, name, None, options) for name in PREPARING}
    floor_elements = (
        adjusting.make_adjusting(mechanism, options.parameters).prepared.least.values()
        if options.divisor_bounds
        else ()
    )
    unrolled = {
        name: form_of_function
        for name, form_of_function in built.items()
        if not form_of_function.looped
    }  # the looped form has no parameters
    all_programs = adjusting.share_parameters({**unrolled, **preparing}, floor_elements)
    if not all_programs[REGROUP].outputs[0].size:
        raise ArgumentError(
            f"no requested function ({', '.join(built)}) depends on"
            f" {', '.join(options.parameters)}; leave --parameter out, or request a function that"
            " does"
        )
    return {
        name: program_of_function
        for name, program_of_function in all_programs.items()
        if program_of_function.outputs
    }
