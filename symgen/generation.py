"""The way through: description → model → method → derivation → Program → passes. `symgen.delivery` goes on to the C."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import asdict, replace
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING

from symgen import constants, methods, passes, shelf
from symgen.constants import LostDigits
from symgen.derivation import Derivation, TooManyRows
from symgen.errors import ArgumentError, MethodRefusal, OutOfReach, RequestError, SymgenError
from symgen.function_names import named
from symgen.functions import FUNCTIONS
from symgen.ir import Program
from symgen.linkage import Linkage
from symgen.loading import load
from symgen.mechanism import Mechanism
from symgen.model import Model, reframe, regroup
from symgen.options import Options as Options
from symgen.plain_program import from_plain, to_plain
from symgen.reals import loses
from symgen.tip import tip as tip

if TYPE_CHECKING:
    from symgen.regularity import Loss

ROW_BUDGET = 50_000
"""Rows of a Program beyond which a C compiler takes a minute and more; a derivation may be four times as long."""
OF_A_CALL = 5
"""Round-offs of constants, of a sine, whatever computes it, and of a logarithm."""
INVERSE_ON_REQUEST_ABOVE = 20
LONG_CHAIN = 20

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done and steps in all."""


def models(mechanism: Mechanism) -> tuple[Model, Model]:
    """(in the chosen frames, and with inertia moved to the parents besides)."""
    return _models(mechanism, constants.digits())


@lru_cache(maxsize=16)
def _models(mechanism: Mechanism, digits: int) -> tuple[Model, Model]:
    """At the working precision that `digits` names."""
    with constants.precision():
        plain = reframe(mechanism)
        return plain, regroup(plain)


@lru_cache(maxsize=64)
def loss(mechanism: Mechanism, payload: str | None) -> Loss | None:
    """Where M has no inverse at any state, or None (see `symgen.regularity`)."""
    from symgen import regularity

    known = shelf.find("loss", mechanism.content, payload)
    if known is not None:
        return regularity.Loss(**known["lost"]) if known["lost"] else None
    found = regularity.loss(mechanism, payload)
    shelf.keep({"lost": found and asdict(found)}, "loss", mechanism.content, payload)
    return found


def refusal(mechanism: Mechanism, function: str, payload: str | None) -> str | None:
    """Why a function cannot be had for this robot, in one sentence; None when it can."""
    lost = loss(mechanism, payload) if FUNCTIONS[function].needs_inverse else None
    return None if lost is None else f"{function} of '{mechanism.name}' divides by {lost.sentence}"


def derive(mechanism: Mechanism, function: str, method: str, options: Options, budget: int = ROW_BUDGET,
           longest: int | None = None, dearest: float | None = None) -> Program:
    """The Program of one function by one method.

    Raises TooManyRows when it has more than `budget` rows, its derivation more than `longest` (four times as many), or more
    than `dearest` operations once nothing is repeated; LostDigits where its constants lose theirs however many they start with.
    """
    return replace(Attempt(mechanism, function, method, options).program(budget, longest, dearest), real=options.real)


class Attempt:
    """One function by one method, as far as somebody has asked for it: what is done is kept, and so is what was refused.

    The answer does not depend on who asked before: limits that are given again are held against the same figures.
    """

    def __init__(self, mechanism: Mechanism, function: str, method: str, options: Options) -> None:
        self.mechanism, self.function, self.method, self.options = mechanism, function, method, options
        self.length = self.cost = 0
        """Rows of the derivation, or a number that it outgrew; operations once nothing is repeated."""
        self.begun: Program | None = None
        self.finished: Program | None = None
        self.refused: SymgenError | None = None

    def program(self, budget: int | None = None, longest: int | None = None, dearest: float | None = None) -> Program:
        """See `derive`; raises what the derivation raised."""
        budget = budget or ROW_BUDGET
        longest = longest or 4 * budget
        if self.refused is not None:
            raise copy(self.refused)
        if self.length > longest:
            raise TooManyRows(f"the derivation outgrew {longest} rows")
        with _collector_at_rest():
            if self.begun is None and self.finished is None:
                self._begin(longest)
            if dearest is not None and self.cost > dearest:
                raise TooManyRows(f"{self.cost} operations")
            if self.finished is None:
                assert self.begun is not None
                if len(self.begun.rows) > 2 * budget:   # the passes behind the first do not halve it
                    raise TooManyRows(f"{len(self.begun.rows)} rows")
                finished = passes.finish(self.begun)
                self.finished, self.begun = _without_idle(finished, len(FUNCTIONS[self.function].arguments)), None
        if len(self.finished.rows) > budget:
            raise TooManyRows(f"{len(self.finished.rows)} rows")
        return self.finished

    def _begin(self, longest: int) -> None:
        try:
            frozen = _derivation(self.mechanism, self.function, self.method, self.options, longest)
        except TooManyRows:
            self.length = longest + 1
            raise
        except SymgenError as error:
            self.refused = copy(error)   # without the frames that it came through
            raise
        self.length = len(frozen.rows)
        self.begun = passes.begin(frozen)
        self.cost = self.begun.cost


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """A derivation makes rows by the ten thousand and drops none: going through them again takes a third of its time."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


_attempt = lru_cache(maxsize=256)(Attempt)


def _once(mechanism: Mechanism, function: str, method: str, options: Options, longest: int | None = None,
          dearest: float | None = None) -> Program:
    """`derive`, each derivation but once in a process: for every real type, and for methods that share it."""
    shared = methods.alike(method, function, mechanism)
    made = _attempt(mechanism, function, shared, options.of_program(mechanism, function))
    return replace(made.program(longest=longest, dearest=dearest), method=method, real=options.real)


def _derivation(mechanism: Mechanism, function: str, method: str, options: Options, longest: int) -> Program:
    """The rows of one method, as it records them, in constants of as many digits as they take."""
    return constants.sharpened(lambda: _recorded(mechanism, function, method, options, longest))


def _recorded(mechanism: Mechanism, function: str, method: str, options: Options, longest: int) -> Program:
    what = FUNCTIONS[function]
    build = methods.derivation(method, function)
    plain, regrouped = models(mechanism)
    # A joint feels no difference after regrouping, but what crosses it does: a wrench bears the link's own weight.
    model = regrouped if methods.regroups(method) and not what.own_inertia else plain
    with constants.precision():
        felt = {a: options.at_run_time[a.name] for a in what.feels if a.name in options.at_run_time}
        arguments = [*what.arguments, *felt]
        shapes = {a.name: a.sizes(mechanism.nq, mechanism.nv) for a in arguments}
        home = Derivation({a.name: _size(shapes[a.name]) for a in arguments}, longest)
        frame = model.frame(mechanism, options.frame or tip(mechanism)) if what.needs_frame else None
        try:
            linkage = Linkage(model, home, frame, **{a.name: model.frame(mechanism, link) for a, link in felt.items()})
            results = build(linkage)
            named = [(r.name, r.sizes(mechanism.nq, mechanism.nv), atoms) for r, atoms in zip(what.results, results, strict=True)]
            return home.freeze(function, method, named, shapes)
        except LostDigits as lost:
            raise LostDigits(lost.what, lost.place or f"{function} of '{mechanism.name}' by {method}, {home.steps[-1]}") from None


def _size(shape: Sequence[int]) -> int:
    total = 1
    for s in shape:
        total *= s
    return total


def _without_idle(program: Program, own: int) -> Program:
    """What is computed without a run-time argument, one behind the function's `own`, does not take it."""
    read = {row.value[0] for row in program.rows if row.op == "input"}
    kept = [i for i in range(len(program.inputs)) if i < own or i in read]
    place = {old: new for new, old in enumerate(kept)}
    rows = (row._replace(value=(place[row.value[0]], row.value[1])) if row.op == "input" else row for row in program.rows)
    return replace(program, inputs=tuple(program.inputs[i] for i in kept), rows=tuple(rows))


def methods_for(mechanism: Mechanism, function: str) -> tuple[str, ...]:
    """The methods that can compute a function of this robot."""
    named(function)
    return tuple(m for m in methods.providers(function) if methods.refusal(m, mechanism) is None)


def best(mechanism: Mechanism, function: str, options: Options) -> Program:
    """By the method with the fewest operations for this robot (mul + add + div; ties by name) that does not lose its digits."""
    alike = FUNCTIONS[function].ranked_as
    if alike:
        return _once(mechanism, function, _program(mechanism, alike, None, options).method, options)
    found: Program | None = None
    lost: dict[str, str] = {}
    weighed: list[str] = []
    longest = dearest = None
    seen, hopeless = set(), []
    # What takes all constraint forces apart is long, and of a long chain so is what pairs every joint with every other: they
    # come last, when there is something shorter to measure them by.
    long = mechanism.nv > LONG_CHAIN

    def order(name: str) -> tuple[bool, bool, str]:
        return methods.differs(name, mechanism), long and not methods.sweeps(name), name

    for method in sorted(methods_for(mechanism, function), key=order):
        reading = methods.reading(method, function, mechanism)
        if reading in seen:   # a variant that shares another's derivation
            continue
        seen.add(reading)
        if _loses(mechanism, method, options, 1):
            hopeless.append(method)
            continue
        try:
            candidate = _once(mechanism, function, method, options, longest, dearest)
        except (TooManyRows, MethodRefusal) as error:   # a method may decline a payload, which its refusal does not see
            weighed.append(f"{method} left ({error})")
            continue
        except LostDigits as error:
            lost[method] = str(error)
            continue
        if _loses(mechanism, method, options, candidate.depth):
            hopeless.append(method)
            continue
        weighed.append(f"{method} {candidate.cost}")
        if found is None or (candidate.cost, method) < (found.cost, found.method):
            found = candidate
            # The passes take away a quarter of a derivation, of a short one up to three quarters. What is longer than
            # this has not been seen to end up the shortest (tests hold that on every built-in robot), and is left.
            longest = 400 + len(candidate.rows) * 4 // 3
            # The passes after the first take up to a seventh of the operations away; what is dearer by a third is left.
            dearest = 20 + candidate.cost * 4 / 3
    for method in hopeless if found is None else ():   # the only ones there are: `verify` says what they are worth
        with suppress(TooManyRows, MethodRefusal, LostDigits):
            return _once(mechanism, function, method, options)
    if found is None:
        if lost:
            raise OutOfReach(next(iter(lost.values())))
        raise OutOfReach(
            f"{function} of '{mechanism.name}' ({mechanism.nv} joints) needs more than {ROW_BUDGET} rows by every method; "
            "lock joints that do not matter with --lock, or ask for other functions with -f"
        )
    weighed += [f"{method} left (it would lose its digits here)" for method in (*hopeless, *lost)]
    shelf.LOG.info("%s by %s, the fewest operations: %s", function, found.method, ", ".join(weighed))
    return replace(found, passed_over=tuple(lost.items()))


def _loses(mechanism: Mechanism, method: str, options: Options, depth: int) -> bool:
    """Whether the answer of a method that takes constraints away loses its digits in `depth` operations, as `verify` has it."""
    if not methods.differs(method, mechanism):
        return False
    from symgen.free_bodies import freedom  # NumPy, which a cached Program does without

    return loses((depth + OF_A_CALL) * freedom(mechanism, options.payload), options.real)


def loses_digits(mechanism: Mechanism, made: Program, payload: str | None) -> bool:
    """Whether a Program's method takes so much of this robot's constraints away that no digit of the answer can be relied on."""
    return _loses(mechanism, made.method, Options(real=made.real, payload=payload), made.depth)


def program(robot: Mechanism | str | PathLike[str], function: str, method: str | None = None, real: str = "double",
            frame: str | None = None, payload: str | None = None, trig: str = "libm", wrench: str | None = None) -> Program:
    """One function of one robot as a Program.

    `method` None chooses the one with the fewest operations. `frame` names the link whose pose, Jacobian … is meant; `payload`
    and `wrench` name those that carry a load and feel an external wrench, each one more argument (`symgen.functions`).
    Raises RequestError for an unknown function, method or link, or a program beyond the row budget.
    """
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    return _program(mechanism, named(function), method, Options(real, frame, payload, trig, wrench))


def _program(mechanism: Mechanism, function: str, method: str | None, options: Options) -> Program:
    for link in options.at_run_time.values():
        mechanism.frame(link)
    found = _asked(mechanism, function, method, replace(options.of_program(mechanism, function), real=options.real))
    if isinstance(found, str):
        raise OutOfReach(found)
    return found


@lru_cache(maxsize=256)
def _asked(mechanism: Mechanism, function: str, method: str | None, options: Options) -> Program | str:
    """The Program, or why no method makes it: that is found out once as well."""
    refused = refusal(mechanism, function, options.payload)
    if refused is not None:
        raise RequestError(refused)
    if method is None:
        return _chosen(mechanism, function, options)
    why = methods.refusal(method, mechanism)
    if why is not None:
        raise RequestError(why)
    key = _key(mechanism, function, method, options)
    known = shelf.find("program", *key)
    if known is not None and "refused" in known:
        raise RequestError(known["refused"])
    found = known and from_plain(known["program"])
    if found and (found.function, found.method) == (function, method):
        return replace(found, real=options.real)
    try:
        derived = _once(mechanism, function, method, options)
    except TooManyRows:
        refused = (f"{function} of '{mechanism.name}' by {method} needs more than {ROW_BUDGET} rows; "
                   "take another method or lock joints that do not matter with --lock")
        shelf.keep({"refused": refused}, "program", *key)
        raise RequestError(refused) from None
    shelf.keep({"program": to_plain(replace(derived, real="double"))}, "program", *key)
    return derived


def _chosen(mechanism: Mechanism, function: str, options: Options) -> Program | str:
    """`best`, as it was chosen before: the method, and by that the Program; a sentence where there is none."""
    key = (*_key(mechanism, function, None, options), options.real)
    known = shelf.find("choice", *key)
    if known is None:
        try:
            found = best(mechanism, function, options)
        except OutOfReach as error:
            shelf.keep({"refused": str(error)}, "choice", *key)
            return str(error)
        shelf.keep({"method": found.method, "passed_over": found.passed_over}, "choice", *key)
        plain = to_plain(replace(found, real="double", passed_over=()))
        shelf.keep({"program": plain}, "program", *_key(mechanism, function, found.method, options))
        return found
    if "refused" in known:
        return str(known["refused"])
    passed_over = tuple((method, why) for method, why in known["passed_over"])
    return replace(_program(mechanism, function, known["method"], options), passed_over=passed_over)


def _key(mechanism: Mechanism, function: str, method: str | None, options: Options) -> tuple[str | None, ...]:
    return mechanism.content, function, method, options.frame, options.payload, options.wrench


def requested(mechanism: Mechanism, functions: Iterable[str] | None, payload: str | None = None) -> dict[str, str | None]:
    """{function: method or None} from names like "mass_matrix" or "forward_dynamics=riccati".

    None means every function that this robot can have: without those that divide by a singular M, and without the
    inverse above INVERSE_ON_REQUEST_ABOVE joints.
    """
    if functions is None:
        chosen: dict[str, str | None] = {name: None for name in FUNCTIONS if refusal(mechanism, name, payload) is None}
        if mechanism.nv > INVERSE_ON_REQUEST_ABOVE:
            chosen.pop("inverse_mass_matrix", None)
        return chosen
    chosen = {}
    for item in functions:
        name, _, method = item.partition("=")
        chosen[named(name)] = method or None
    if not chosen:
        raise ArgumentError("no function is named; name one, or give None for every function that the robot has")
    return chosen


def programs(mechanism: Mechanism, functions: Iterable[str] | None = None, options: Options | None = None) -> dict[str, Program]:
    """The Programs of the requested functions, in the order of `symgen.functions`; with None, those within reach."""
    return programs_and_refusals(mechanism, functions, options)[0]


def programs_and_refusals(mechanism: Mechanism, functions: Iterable[str] | None, options: Options | None = None,
                          progress: Progress | None = None) -> tuple[dict[str, Program], dict[str, str]]:
    """(Programs, and with functions None those that no method makes, each with the sentence that says so).

    Raises OutOfReach where nothing is left, or where what was asked for by name is out of reach.
    """
    options = options or Options()
    wanted = requested(mechanism, functions, options.payload)
    made: dict[str, Program] = {}
    refused: dict[str, str] = {}
    for name in (name for name in FUNCTIONS if name in wanted):
        if progress is not None:
            progress(f"deriving {name}", len(made) + len(refused), len(wanted))
        try:
            made[name] = _program(mechanism, name, wanted[name], options)
        except OutOfReach as error:
            if functions is not None or (len(refused) + 1 == len(wanted)):
                raise
            refused[name] = str(error)
    return made, refused
