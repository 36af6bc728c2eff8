"""The way from a description to Programs: description → model → method → derivation → Program → passes.

`programs` asks for each function's Program, `program` for one. `choose` takes the method, `derive` derives by it.
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
"""Called with what is being done, steps done and steps in all."""
Builder = Callable[[Mechanism, str, str, ProgramOptions], Program]
"""Builds a function of a mechanism by a method."""


def cached(kind: str) -> Callable[[Builder], Builder]:
    """Keep the Programs that a function builds in the cache, under `kind`; rows are kept once for every real type.

    That a Program is too long is kept likewise: to find it out takes as long as to build one. A search that was interrupted is
    kept under the rounds after which it was.
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
    """Return the key of a Program's rows, which depend on the real type only where the methods of what is called do."""
    real = options.real if methods.composers(derivatives.base_function(function)) else DOUBLE.name
    return mechanism.content, function, method, asdict(replace(options, real=real))


@lru_cache(maxsize=64)
def loss(mechanism: Mechanism, payload: str | None) -> RankLoss | None:
    """What makes M singular in every state, else None (see `symgen.reference.singularity`)."""
    from symgen.reference import singularity

    known = cache.find("loss", mechanism.content, payload)
    if known is not None:
        return singularity.RankLoss(**known["lost"]) if known["lost"] else None
    found = singularity.find_rank_loss(mechanism, payload)
    cache.keep({"lost": found and asdict(found)}, "loss", mechanism.content, payload)
    return found


def refusal(mechanism: Mechanism, function: str, payload: str | None) -> str | None:
    """Why a function does not exist for this robot, in one sentence; None when it does."""
    if (
        FUNCTIONS[function].needs_mass
        and not mechanism.mass
        and (payload is None or mechanism.frame(payload).body < 0)
    ):
        return (
            f"{function} of '{mechanism.name}' is about the mass centre, and nothing that moves has a mass; give a link one, "
            "or let it carry a payload"
        )
    if (why := loop_closure.refusal(mechanism, function)) is not None:
        return why
    lost = loss(mechanism, payload) if FUNCTIONS[function].needs_inverse else None
    return None if lost is None else f"{function} of '{mechanism.name}' divides by {lost.sentence}"


@validated_with(RowRequest)
def program(
    robot: Mechanism | str | PathLike[str],
    function: str,
    method: str | None = None,
    real: str = "double",
    **options: Unpack[RowRequest],
) -> Program:
    """One function of one robot as a Program.

    `method` None chooses the one with the fewest operations. `frame` names the link whose pose, Jacobian … is meant, or several
    in a list, of which the results are then stacked; `payload` names the link that carries a load, and `wrench` the one that
    feels an external wrench, or several in a list: each is one more argument (`symgen.vocabulary.functions`). J and J̇ v are stated in the
    axes of the base at the frame's origin, in the frame's own axes there, or at the base's origin (`jacobian_frame` 'aligned',
    'local', 'world'), with the angular or the linear part first (`jacobian_order`). `task_rows` are the rows that
    operational_inertia and dynamically_consistent_inverse are about, 'wx,wy,wz,x,y,z' or numbers from 0; None for all six.
    `contact` names points that may touch something, 'LINK' or 'LINK:x,y,z' in m, or several in a list: those that
    contact_forward_dynamics and contact_impulse are about.
    `parameters` are names of numbers that may change at run time ("LINK.mass", "gravity", "*.inertia"; `symgen.compile`), one
    more argument `prepared`. With `baumgarte` what is about loops holds beside them as well, and constrained_forward_dynamics
    and contact_forward_dynamics take one more argument `gains`, by which open loops are pulled together. `effort` "high" takes
    minutes to find fewer operations for the same method; Ctrl-C ends that with what has been found.
    Raises RequestError for an unknown function, method or link, or a program beyond the row budget.
    """
    request = make_request(robot, [function], options, real=real)
    _asked_for(function)
    found = build_program(request.mechanism, function_named(function), method, request.options)
    warn_each(
        noticing.notices(
            request.mechanism, {found.function: found}, request.options, named=True, refused={}
        )
    )
    return found


def _asked_for(function: str) -> None:
    """RequestError for what derivatives alone are made of."""
    if function in EQUATIONS:
        raise RequestError(
            f"{function} is what derivatives are made of, and no function; name the one that is to be called"
        )


def in_rows(mechanism: Mechanism) -> None:
    """Raise TooLong where a robot has more joints than rows are written for."""
    refuse_many_joints(mechanism)


def build_program(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """Build the Program of a function by a method, or by the one with the fewest operations.

    Programs of options that the function does not depend on are the same object. Raises what `program` raises.
    """
    refuse_many_joints(mechanism)
    for link in (*options.frames, *names_of(options.payload), *options.wrenches):
        mechanism.frame(link)
    loop_closure.validate(mechanism, options.baumgarte)
    contacts.validate(mechanism, options.contacts)
    if options.parameters:
        options = replace(options, parameters=adjusting.named(mechanism, options.parameters))
    built = _build(mechanism, function, method, relevant(mechanism, function, options))
    if isinstance(built, OutOfReach):
        raise copy(built)  # without the traceback of another call
    if options.series:
        return built
    again = partial(build_program, mechanism, method=built.method, options=options)
    return differentiation.remembered(built, again)


@lru_cache(maxsize=256)
def _build(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program | OutOfReach:
    """Build the Program, or return why no method computes it; `options` are those that the function depends on.

    The choice among the methods, by `choose.best`, is kept.
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
            return copy(error)  # without its traceback, which holds on to all that was too long
    if method is not None:
        return _by_method(mechanism, function, method, options)
    usual = _usual_method(mechanism, function, options)
    if usual is not None:
        with suppress(MethodRefusal):  # the function that it is ranked as needs less
            return build_program(mechanism, function, usual, options)
    key = _choice_key(mechanism, function, options)
    choice = cache.find("choice", *key)
    if choice is None:
        try:
            best = choose.best(
                mechanism, function, options, lambda: loss(mechanism, options.payload)
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
    """Build one of PREPARING, by which numbers change at run time."""
    if not options.parameters:
        return OutOfReach(
            f"{function} is there where numbers may change at run time; name some with --parameter"
        )
    prepared = adjusting.adjusting(mechanism, options.parameters)
    if function != REGROUP:
        return replace(prepared.judge, real=options.real)
    regroup = passes.run(prepared.guarded) if options.floors else prepared.regroup
    return replace(regroup, real=options.real)


def _usual_method(mechanism: Mechanism, function: str, options: ProgramOptions) -> str | None:
    """Return the method that is taken without a comparison: one that composes, or that of the function it is ranked as."""
    for method in methods.composers(function):
        if methods.find(method).refusal(mechanism) is None:
            return method
    ranked_as = FUNCTIONS[function].ranked_as
    return build_program(mechanism, ranked_as, None, options).method if ranked_as else None


def _by_method(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Build the Program by a method. RequestError where it divides by pivots of a singular M: det M is 0 there, by others."""
    why = methods.find(method).refusal(mechanism)
    if why is not None:
        raise RequestError(why)
    built = _rows_by_method(mechanism, function, method, options)
    if choose.divides_by_pivots(built) and (lost := loss(mechanism, options.payload)):
        raise RequestError(
            f"{function} of '{mechanism.name}' by {method} divides by {lost.sentence}"
        )
    return built


@cached("program")
def _rows_by_method(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Derive a function by its method, or compose it of the Programs that it calls."""
    compose = methods.composition(method, function)
    try:
        if compose is None:
            return polished(mechanism, function, method, options)
        return composing.composed(
            mechanism, function, method, compose, options, _called(mechanism, options)
        )
    except TooManyRows:
        raise TooLong(
            f"{function} of '{mechanism.name}' by {method} needs more than {derive.ROW_BUDGET} rows; "
            "take another method or lock joints that do not matter with --lock"
        ) from None


def _called(mechanism: Mechanism, options: ProgramOptions) -> Callable[[str], Program]:
    """Return what builds the Programs that a composition calls, by name."""
    return lambda function: build_program(mechanism, function, None, options)


def _choice_key(mechanism: Mechanism, function: str, options: ProgramOptions) -> tuple[Any, ...]:
    """Return the key of the choice of a method; `options` are those that the function depends on."""
    return (*program_key(mechanism, function, None, options), options.real)


def _takes_long(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> bool:
    """True if it is plain at once that methods of a function have to be compared, and that nothing else comes before."""
    if method is not None or options.parameters or FUNCTIONS[function].derivative is not None:
        return False
    if cache.stamp() is None:  # who knows what this process has derived before
        return False
    key = _choice_key(mechanism, function, relevant(mechanism, function, options))
    return layout.is_known(mechanism.uncoupled) and not cache.is_kept("choice", *key)


def _differentiate(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """Build a derivative: of the function's rows by that method, or by a recursion of its own where that is shorter."""
    wanted = FUNCTIONS[function].derivative
    assert wanted is not None
    recursion = differentiation.RECURSION
    if method == recursion and method not in methods.providers(wanted.of):
        return _by_recursion(mechanism, function, recursion, options)
    options_of_rows = replace(options, anywhere=loop_closure.known(mechanism, wanted.of))
    base = build_program(mechanism, wanted.of, method, replace(options_of_rows, series=True))
    differentiation.require_arguments(base, wanted, options.at_run_time)
    of_rows = _of_rows(mechanism, function, base.method, options_of_rows)
    if method is not None or differentiation.recursive(wanted) is None:
        return of_rows
    with suppress(OutOfReach):
        of_recursion = _by_recursion(mechanism, function, recursion, options)
        return min(of_rows, of_recursion, key=lambda program: program.cost)
    return of_rows


@cached("program")
def _by_recursion(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Take a derivative out of the function that has it among its results."""
    wanted = FUNCTIONS[function].derivative
    assert wanted is not None
    whole = differentiation.recursive(wanted)
    if whole is None:
        raise RequestError(
            f"method '{method}' does not compute {wanted.name}; write it without a method"
        )
    return differentiation.out_of(build_program(mechanism, whole, method, options), wanted)


@cached("program")
def _of_rows(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Program:
    """Differentiate a function's rows: by the chain rule, by the equation that it solves, or row by row."""
    wanted = FUNCTIONS[function].derivative
    assert wanted is not None
    compose = methods.composition(method, wanted.of)
    if compose is not None and wanted.mode == "jacobian" and differentiation.of_steps(wanted):
        try:
            return differentiation.by_chain_rule(
                mechanism, wanted, method, compose, options, _called(mechanism, options)
            )
        except TooManyRows:
            raise TooLong(
                f"{function} of '{mechanism.name}' needs more than {derive.ROW_BUDGET} rows; ask for "
                f"{wanted.of}:vjp or {wanted.of}:jvp, which are a row or a column at a time"
            ) from None
    solved = FUNCTIONS[wanted.of].solves
    if solved is None or _redundant(mechanism, wanted.of, options):
        base = build_program(mechanism, wanted.of, method, replace(options, series=True))
        return differentiation.differentiate(base, wanted)
    series = replace(options, series=True) if solved.solution == wanted.of else options
    base = build_program(mechanism, solved.solution, method, series)
    # the same in every real type, as what is kept is
    equation = build_program(mechanism, solved.equation, None, replace(options, real=DOUBLE.name))
    return differentiation.differentiate(base, wanted, equation)


def _redundant(mechanism: Mechanism, function: str, options: ProgramOptions) -> bool:
    """True if forces that do nothing are among its answers: these solve no equation."""
    what = FUNCTIONS[function]
    return (what.counts("NT") and contacts.redundant(mechanism, options.contacts)) or (
        what.needs_loops and loop_closure.assembly(mechanism).redundant > 0
    )


def _search(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """Build the Program by the method that is taken without a search, of fewer operations where some are found."""
    usual = build_program(mechanism, function, method, _without_search(options))
    found = _searched_rows(mechanism, function, usual.method, options)
    return replace(found, passed_over=usual.passed_over)


def _without_search(options: ProgramOptions) -> ProgramOptions:
    return replace(options, effort=NORMAL, rounds=None)


@cached("program")
def _searched_rows(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> Program:
    """Search for fewer operations of a function by its method."""
    usual = build_program(mechanism, function, method, _without_search(options))
    is_derived = (
        FUNCTIONS[function].derivative is None and methods.composition(method, function) is None
    )
    start = attempt(mechanism, function, method, options).program() if is_derived else usual
    return replace(search.searched(start, usual, options.rounds), passed_over=())


def requested(
    mechanism: Mechanism, functions: Iterable[str] | None, payload: str | None = None
) -> dict[str, str | None]:
    """{function: method or None} from names like "mass_matrix" or "forward_dynamics=riccati"; "assemble" is those it calls.

    None means every function that this robot can have: without those that are made on request, those that divide by a singular
    M, and the inverse above INVERSE_ON_REQUEST_ABOVE joints. OutOfReach where the robot's loops cannot be closed.
    """
    if functions is None:
        if mechanism.loops:
            loop_closure.assembly(
                mechanism
            )  # a robot whose loops do not close is not what it was meant to be
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
                f"{ASSEMBLE} goes round other functions, and has no method and no derivative of its own; ask for "
                f"{ASSEMBLE} alone, or for {ASSEMBLING[0]}"
            )
        else:
            chosen[function_named(name)] = method or None
            _asked_for(name)
    if not chosen:
        raise ArgumentError(
            "no function is named; name one, or give None for every function that the robot has"
        )
    return chosen


def build_form(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Form:
    """Build a function in the form that the options ask for: as a Program, or as loops over links."""
    if (refused := refusal(mechanism, function, options.payload)) is not None:
        raise RequestError(refused)
    loops = form.loops_instead(mechanism, function, method, options)
    if loops is None:
        return build_program(mechanism, function, method, options)
    if form.prefers_rows(loops, options):
        with suppress(TooLong):  # few rows a link, of more joints than rows are written for
            return build_program(mechanism, function, method, options)
    return loops


def programs(
    mechanism: Mechanism,
    functions: Iterable[str] | None = None,
    options: ProgramOptions | None = None,
) -> dict[str, Program]:
    """Programs, never loops, of the requested functions in the order of `symgen.vocabulary.functions`; with None, of those within reach."""
    names = None if functions is None else tuple(functions)
    unrolled = replace(options or ProgramOptions(), form=UNROLLED)
    found = programs_and_refusals(Request(mechanism, names, unrolled))[0]
    return {name: one for name, one in found.items() if isinstance(one, Program)}


def _tell(progress: Progress | None, done: int, total: int, what: str) -> None:
    if progress is not None:
        progress(what, done, total)


def programs_and_refusals(
    request: Request, progress: Progress | None = None, each_by_itself: bool = False
) -> tuple[dict[str, Form], dict[str, str]]:
    """(Programs, or Recursions where loops are taken; functions that are not made, each with its sentence).

    With functions None these are all that cannot be made; of functions that are named, those that are too long, unless it is `strict`.
    With `each_by_itself` parameters are laid out for each Program alone (`with_parameters`), and functions that the robot does not
    have are left out. Raises OutOfReach where nothing is left, and for any other function that is named and out of reach.
    """
    mechanism, options = request.mechanism, request.options
    wanted = requested(mechanism, request.functions, options.payload)
    names = list(FUNCTIONS.in_order(wanted))
    jobs = [partial(build_form, mechanism, name, wanted[name], options) for name in names]

    def tell(first: int, later: int = 0) -> None:
        _tell(progress, first + later, len(names), f"deriving {names[first + later]}")

    found: dict[str, Form] = {}
    refused: dict[str, str] = {}
    in_parallel = options.effort == NORMAL and form.has_rows_alone(mechanism, options)
    start = perf_counter()
    with ExitStack() as stack:
        for position, name in enumerate(names):
            if in_parallel and (
                perf_counter() - start > parallel.WORTH
                or (position == 0 and _takes_long(mechanism, name, wanted[name], options))
            ):
                stack.enter_context(cache.in_memory())
                parallel.run(jobs[position:], partial(tell, position))
                in_parallel = False
            tell(position)
            try:
                with search.telling(partial(_tell, progress, position, len(names))):
                    found[name] = jobs[position]()
            except OutOfReach as error:
                needed = request.functions is not None and (
                    request.strict or not isinstance(error, TooLong)
                )
                if needed or len(refused) + 1 == len(wanted):
                    raise
                refused[name] = str(error)
    if each_by_itself:
        return found, refused
    return with_parameters(found, mechanism, options), refused | _never_made(request)


def _never_made(request: Request) -> dict[str, str]:
    """Return the default functions that the robot does not have, each with its sentence; none where functions are named."""
    mechanism, payload = request.mechanism, request.options.payload
    usual = (*BY_DEFAULT, *(LOOP_FUNCTIONS if mechanism.loops else ()))
    if request.functions is not None:
        return {}
    return {name: why for name in usual if (why := refusal(mechanism, name, payload)) is not None}


def with_parameters(
    found: Mapping[str, Form], mechanism: Mechanism, options: ProgramOptions
) -> dict[str, Form]:
    """Add what prepares parameters, if any, and cut `prepared` to what is read; ArgumentError where no Program depends on one."""
    if not options.parameters:
        return dict(found)
    preparing = {name: build_program(mechanism, name, None, options) for name in PREPARING}
    least = (
        adjusting.adjusting(mechanism, options.parameters).prepared.least.values()
        if options.floors
        else ()
    )
    feeling = {
        name: one for name, one in found.items() if isinstance(one, Program)
    }  # loops have no parameters
    whole = adjusting.together({**feeling, **preparing}, least)
    if not whole[REGROUP].outputs[0].size:
        raise ArgumentError(
            f"none of {', '.join(found)} feels {', '.join(options.parameters)}; leave --parameter out, or ask "
            "for a function that does"
        )
    return {name: one for name, one in whole.items() if one.outputs}
