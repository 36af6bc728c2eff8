"""The way from a description to Programs: description → model → method → derivation → Program → passes.

`programs` asks for each function's Program, `program` for one. `choosing` takes the method, `deriving` derives by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import asdict, replace
from functools import lru_cache, partial
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from symgen import methods
from symgen.derivation.model import refuse_many_joints
from symgen.derivation.scalars import TooManyRows
from symgen.description.arguments import validated_with
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.ir.recursion import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import (
    adjusting,
    chain_rule,
    choose,
    composing,
    contacts,
    derive,
    differentiating,
    loop_closure,
    noticing,
    parallel,
    search,
    task,
)
from symgen.pipeline.derive import before_the_last, felt, once
from symgen.pipeline.form import formed, has_rows_alone
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
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import (
    ASSEMBLE,
    ASSEMBLING,
    BY_DEFAULT,
    EQUATIONS,
    FUNCTIONS,
    OF_LOOPS,
    PREPARING,
    REGROUP,
)
from symgen.vocabulary.names import named
from symgen.vocabulary.options import HIGH, NORMAL, UNROLLED, ProgramOptions, RowRequest, names_of
from symgen.vocabulary.reals import DOUBLE

if TYPE_CHECKING:
    from symgen.reference.singularity import Loss

INVERSE_ON_REQUEST_ABOVE = 20
Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done and steps in all."""


@lru_cache(maxsize=64)
def loss(mechanism: Mechanism, payload: str | None) -> Loss | None:
    """What makes M singular in every state, else None (see `symgen.reference.singularity`)."""
    from symgen.reference import singularity

    known = cache.find("loss", mechanism.content, payload)
    if known is not None:
        return singularity.Loss(**known["lost"]) if known["lost"] else None
    found = singularity.loss(mechanism, payload)
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
    found = made(request.mechanism, named(function), method, request.options)
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


def made(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """`program` of a mechanism, with all that changes it in one piece."""
    refuse_many_joints(mechanism)
    for link in (*options.frames, *names_of(options.payload), *options.wrenches):
        mechanism.frame(link)
    loop_closure.settled(mechanism, options.baumgarte)
    contacts.settled(mechanism, options.contacts)
    if options.parameters:
        options = replace(options, parameters=adjusting.named(mechanism, options.parameters))
    found = _asked(
        mechanism,
        function,
        method,
        replace(
            felt(mechanism, function, options),
            real=options.real,
            effort=options.effort,
            rounds=options.rounds,
        ),
    )
    if isinstance(found, OutOfReach):
        raise copy(found)  # without the traceback of another call
    return (
        found
        if options.series
        else differentiating.remembered(
            found, partial(made, mechanism, method=found.method, options=options)
        )
    )


@lru_cache(maxsize=256)
def _asked(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program | OutOfReach:
    """The Program, or why no method makes it. Both are worked out once."""
    refused = refusal(mechanism, function, options.payload) or task.refusal(
        mechanism, function, options
    )
    if refused is not None:
        raise RequestError(refused)
    if function in PREPARING:
        if not options.parameters:
            return OutOfReach(
                f"{function} is there where numbers may change at run time; name some with --parameter"
            )
        own = adjusting.adjusting(mechanism, options.parameters)
        if function == REGROUP and options.floors:
            return replace(passes.run(own.guarded), real=options.real)
        return replace(own.regroup if function == REGROUP else own.judge, real=options.real)
    if options.effort == HIGH:
        return _searched(mechanism, function, method, options)
    if FUNCTIONS[function].derivative is not None:
        return _differentiated(mechanism, function, method, options)
    unasked = method is None
    if method is None:
        alike = FUNCTIONS[function].ranked_as
        composers = [
            one
            for one in methods.composers(function)
            if methods.find(one).refusal(mechanism) is None
        ]
        if not alike and not composers:
            return _chosen(mechanism, function, options)
        method = composers[0] if composers else made(mechanism, alike, None, options).method
    why = methods.find(method).refusal(mechanism)
    if why is not None:
        raise RequestError(why)
    key = _key(mechanism, function, method, options)
    known = cache.find("program", *key)
    if known is not None and "refused" in known:
        raise TooLong(known["refused"])
    found = known and from_plain(known["program"])
    if found and (found.function, found.method) == (function, method):
        return _dividing_by_something(mechanism, replace(found, real=options.real), options)
    try:
        compose = methods.composition(method, function)
        derived = (
            once(mechanism, function, method, options)
            if compose is None
            else composing.composed(
                mechanism,
                function,
                method,
                compose,
                options,
                lambda called: made(mechanism, called, None, options),
            )
        )
    except MethodRefusal:
        if not unasked:
            raise
        return _chosen(mechanism, function, options)  # the function that it is ranked as needs less
    except TooManyRows:
        refused = (
            f"{function} of '{mechanism.name}' by {method} needs more than {derive.ROW_BUDGET} rows; "
            "take another method or lock joints that do not matter with --lock"
        )
        cache.keep({"refused": refused}, "program", *key)
        raise TooLong(refused) from None
    cache.keep({"program": to_plain(replace(derived, real=DOUBLE.name))}, "program", *key)
    return _dividing_by_something(mechanism, derived, options)


def _differentiated(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """The derivative of a function: of its rows by that method, or by a recursion of its own where that is shorter."""
    wanted = FUNCTIONS[function].derivative
    assert wanted is not None
    if method == differentiating.RECURSION and method not in methods.providers(
        wanted.of
    ):  # else of the rows of that function
        return _by_recursion(mechanism, wanted, options)
    found = _of_rows(mechanism, wanted, method, options)
    if method is not None or differentiating.recursive(wanted) is None:
        return found
    with suppress(OutOfReach):
        return min(found, _by_recursion(mechanism, wanted, options), key=lambda one: one.cost)
    return found


def _by_recursion(mechanism: Mechanism, wanted: Derivative, options: ProgramOptions) -> Program:
    """Out of the function that has it among its results, kept as well."""
    whole = differentiating.recursive(wanted)
    if whole is None:
        raise RequestError(
            f"method '{differentiating.RECURSION}' does not compute {wanted.name}; write it without a method"
        )
    key = _key(mechanism, wanted.name, differentiating.RECURSION, options)
    known = cache.find("program", *key)
    found = known and from_plain(known["program"])
    if found and (found.function, found.method) == (wanted.name, differentiating.RECURSION):
        return replace(found, real=options.real)
    found = differentiating.out_of(
        made(mechanism, whole, differentiating.RECURSION, options), wanted
    )
    cache.keep({"program": to_plain(replace(found, real=DOUBLE.name))}, "program", *key)
    return found


def _of_rows(
    mechanism: Mechanism, wanted: Derivative, method: str | None, options: ProgramOptions
) -> Program:
    """By the rows of the function, kept as the function's own Program is."""
    function, options = (
        wanted.name,
        replace(options, anywhere=loop_closure.known(mechanism, wanted.of)),
    )
    base = made(mechanism, wanted.of, method, replace(options, series=True))
    differentiating.require_arguments(base, wanted, options.at_run_time)
    key = _key(mechanism, function, base.method, options)
    known = cache.find("program", *key)
    found = known and from_plain(known["program"])
    if found and (found.function, found.method) == (function, base.method):
        return replace(found, real=options.real)
    compose = methods.composition(base.method, wanted.of)
    if compose is not None and wanted.mode == "jacobian" and differentiating.of_steps(wanted):
        try:
            found = chain_rule.jacobian(
                mechanism,
                wanted,
                base.method,
                compose,
                options,
                lambda called: made(mechanism, called, None, options),
            )
        except TooManyRows:
            raise TooLong(
                f"{function} of '{mechanism.name}' needs more than {derive.ROW_BUDGET} rows; ask for "
                f"{wanted.of}:vjp or {wanted.of}:jvp, which are a row or a column at a time"
            ) from None
        cache.keep({"program": to_plain(replace(found, real=DOUBLE.name))}, "program", *key)
        return found
    solved, equation = FUNCTIONS[wanted.of].solves, None
    if solved is not None and not _redundant(mechanism, wanted.of, options):
        base = (
            base
            if solved.solution == wanted.of
            else made(mechanism, solved.solution, base.method, options)
        )
        # the same in every real type, as what is kept is
        equation = made(mechanism, solved.equation, None, replace(options, real=DOUBLE.name))
    found = differentiating.differentiate(base, wanted, equation)
    cache.keep({"program": to_plain(replace(found, real=DOUBLE.name))}, "program", *key)
    return found


def _redundant(mechanism: Mechanism, function: str, options: ProgramOptions) -> bool:
    """Whether forces that do nothing are among its answers: these solve no equation."""
    what = FUNCTIONS[function]
    return (what.counts("NT") and contacts.redundant(mechanism, options.contacts)) or (
        what.of_loops and loop_closure.assembly(mechanism).redundant > 0
    )


def _searched(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Program:
    """The Program by the method that is taken without a search, of fewer operations where some are found; kept."""
    plain = made(mechanism, function, method, replace(options, effort=NORMAL, rounds=None))
    key = _key(mechanism, function, plain.method, options)
    known = cache.find("program", *key)
    found = known and from_plain(known["program"])
    if found and (found.function, found.method) == (function, plain.method):
        return replace(
            found, real=options.real, passed_over=plain.passed_over, rounds=options.rounds
        )
    made_of_others = (
        FUNCTIONS[function].derivative is not None
        or methods.composition(plain.method, function) is not None
    )
    finished = (
        plain if made_of_others else before_the_last(mechanism, function, plain.method, options)
    )
    found = search.searched(finished, plain, options.rounds)
    kept = _key(mechanism, function, plain.method, replace(options, rounds=found.rounds))
    cache.keep(
        {"program": to_plain(replace(found, real=DOUBLE.name, passed_over=()))}, "program", *kept
    )
    return found


def _dividing_by_something(
    mechanism: Mechanism, found: Program, options: ProgramOptions
) -> Program:
    """The Program. RequestError where the pivots of a singular M are among what it divides by: det M is 0 there, by others."""
    if choose.divides_by_pivots(found) and (lost := loss(mechanism, options.payload)):
        raise RequestError(
            f"{found.function} of '{mechanism.name}' by {found.method} divides by {lost.sentence}"
        )
    return found


def _chosen(mechanism: Mechanism, function: str, options: ProgramOptions) -> Program | OutOfReach:
    """The result of `best`, kept: the method, and with it the Program. An error with its sentence where no method is left."""
    key = (*_key(mechanism, function, None, options), options.real)
    known = cache.find("choice", *key)
    if known is None:
        try:
            found = choose.best(
                mechanism, function, options, lambda: loss(mechanism, options.payload)
            )
        except OutOfReach as error:
            cache.keep(
                {"refused": str(error), "too_long": isinstance(error, TooLong)}, "choice", *key
            )
            return error
        cache.keep({"method": found.method, "passed_over": found.passed_over}, "choice", *key)
        plain = to_plain(replace(found, real=DOUBLE.name, passed_over=()))
        cache.keep({"program": plain}, "program", *_key(mechanism, function, found.method, options))
        return found
    if "refused" in known:
        return (TooLong if known["too_long"] else OutOfReach)(known["refused"])
    passed_over = tuple((method, why) for method, why in known["passed_over"])
    return replace(made(mechanism, function, known["method"], options), passed_over=passed_over)


def _key(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> tuple[Any, ...]:
    """Of the rows, which are the same in every real type but where the methods of what is called depend on it."""
    real = options.real if methods.composers(derivatives.of(function)) else DOUBLE.name
    return mechanism.content, function, method, asdict(replace(options, real=real))


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
        usual = (*BY_DEFAULT, *(OF_LOOPS if mechanism.loops else ()))
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
            chosen[named(name)] = method or None
            _asked_for(name)
    if not chosen:
        raise ArgumentError(
            "no function is named; name one, or give None for every function that the robot has"
        )
    return chosen


def shaped(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Form:
    """Likewise `made`, in the form that is asked for (`symgen.pipeline.form`)."""
    if (refused := refusal(mechanism, function, options.payload)) is not None:
        raise RequestError(refused)
    return formed(
        mechanism, function, method, options, lambda: made(mechanism, function, method, options)
    )


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
    request: Request, progress: Progress | None = None
) -> tuple[dict[str, Form], dict[str, str]]:
    """(Programs, or Recursions where loops are taken; functions that are not made, each with its sentence).

    With functions None these are all that cannot be made; of functions that are named, those that are too long, unless it is `strict`.
    Raises OutOfReach where nothing is left, and for any other function that is named and out of reach.
    """
    mechanism, options = request.mechanism, request.options
    found, refused = one_by_one(request, progress)
    if request.functions is None:
        usual = (*BY_DEFAULT, *(OF_LOOPS if mechanism.loops else ()))
        refused |= {
            name: why
            for name in usual
            if (why := refusal(mechanism, name, options.payload)) is not None
        }
    return together(found, mechanism, options), refused


def one_by_one(
    request: Request, progress: Progress | None = None
) -> tuple[dict[str, Form], dict[str, str]]:
    """`programs_and_refusals`, each Program as it is by itself (`together`)."""
    mechanism, options = request.mechanism, request.options
    wanted = requested(mechanism, request.functions, options.payload)
    names = list(FUNCTIONS.in_order(wanted))

    def derive(name: str) -> Form:
        tell = partial(_tell, progress, names.index(name), len(names))
        tell(f"deriving {name}")
        with search.telling(tell):
            return shaped(mechanism, name, wanted[name], options)

    found: dict[str, Form] = {}
    refused: dict[str, str] = {}
    in_parallel = options.effort == NORMAL and has_rows_alone(mechanism, options)
    start = perf_counter()
    with ExitStack() as stack:
        for position, name in enumerate(names):
            if in_parallel and perf_counter() - start > parallel.WORTH:
                stack.enter_context(cache.in_memory())
                parallel.run([partial(derive, later) for later in names[position:]])
                in_parallel = False
            try:
                found[name] = derive(name)
            except OutOfReach as error:
                needed = request.functions is not None and (
                    request.strict or not isinstance(error, TooLong)
                )
                if needed or len(refused) + 1 == len(wanted):
                    raise
                refused[name] = str(error)
    return found, refused


def together(
    found: Mapping[str, Form], mechanism: Mechanism, options: ProgramOptions
) -> dict[str, Form]:
    """Add what prepares parameters, if any, and cut `prepared` to what is read; ArgumentError where no Program depends on one."""
    if not options.parameters:
        return dict(found)
    preparing = {name: made(mechanism, name, None, options) for name in PREPARING}
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
