"""One function of one robot by one method: its derivation, frozen into a Program, after all passes."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import lru_cache

from symgen import methods
from symgen.derivation import constants
from symgen.derivation.constants import LostDigits
from symgen.derivation.coupling import Coupling
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Model, declared, reframe, regroup
from symgen.derivation.scalars import Derivation, DivisionByZero, TooManyRows
from symgen.description.tip import tip
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import contacts, loop_closure
from symgen.pipeline.adjusting import adjusting as adjusting_of
from symgen.pipeline.base_parameters import base_parameters
from symgen.pipeline.layout import PLAIN, Layout, choices
from symgen.support.errors import MethodRefusal, SymgenError
from symgen.vocabulary.functions import (
    FUNCTIONS,
    GAINS,
    ON_LINKS,
    PAYLOAD,
    PREPARED,
    PREPARING,
    USUAL,
    WRENCH,
    Function,
    Q,
)
from symgen.vocabulary.options import HIGH, NORMAL, ProgramOptions
from symgen.vocabulary.reals import DOUBLE

CLOSE = 1.05
"""Times the fewest operations, after the first passes, within which the passes behind them may change who has fewer."""
LONG = 30_000
"""Operations after the first passes, beyond which those behind take minutes: they are not run to compare layouts."""
ROW_BUDGET = 100_000
"""Most rows of a Program. A C compiler takes half a minute for as many, and reading the C back as long. A derivation may have
four times as many, which is a gigabyte of memory.
"""


def models(mechanism: Mechanism) -> tuple[Model, Model]:
    """(in the chosen frames, the same with inertia moved to the parents)."""
    return _models(mechanism, constants.digits())


@lru_cache(maxsize=16)
def _models(mechanism: Mechanism, digits: int) -> tuple[Model, Model]:
    """At the working precision that `digits` names."""
    with constants.precision():
        plain = reframe(mechanism)
        return plain, regroup(plain)


def starts(mechanism: Mechanism) -> tuple[tuple[float, float, float], ...]:
    """Where the frame of each link starts that was chosen, in the declared frame of the link (m)."""
    return tuple(
        (constants.as_float(x), constants.as_float(y), constants.as_float(z))
        for x, y, z in (link.placement[1] for link in models(mechanism)[0].links)
    )


def laid(mechanism: Mechanism, where: Layout) -> Model:
    """In the chosen frames, placed by a layout; or where the description has the links."""
    with constants.precision():
        return where.lay(declared(mechanism) if where.declared else models(mechanism)[0])


def regrouped(mechanism: Mechanism, where: Layout, forget: bool = True) -> Model:
    """The same with inertia moved to the parents; unless `forget`, none is forgotten: for what counts the mass of all."""
    return _regrouped(mechanism, where, forget, constants.digits())


@lru_cache(maxsize=32)
def _regrouped(mechanism: Mechanism, where: Layout, forget: bool, digits: int) -> Model:
    """At the working precision that `digits` names."""
    with constants.precision():
        return regroup(laid(mechanism, where), forget)


def derive(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    budget: int = ROW_BUDGET,
    longest: int | None = None,
    dearest: float | None = None,
) -> Program:
    """The Program of one function by one method.

    Raises TooManyRows when it has more than `budget` rows, its derivation more than `longest` (four times as many), or more
    than `dearest` operations once nothing is repeated; LostDigits where its constants lose theirs however many they start with.
    """
    attempt = Attempt(mechanism, function, method, options)
    attempt.program(budget, longest, dearest)
    return replace(attempt.polished(budget), real=options.real)


class Attempt:
    """One function by one method, derived as far as anybody has asked for. Results are kept, and so are refusals.

    The answer does not depend on earlier calls: new limits are compared with the same figures.
    """

    def __init__(
        self, mechanism: Mechanism, function: str, method: str, options: ProgramOptions
    ) -> None:
        self.mechanism, self.function, self.method, self.options = (
            mechanism,
            function,
            method,
            options,
        )
        self.length = self.cost = 0
        """Rows of the derivation, or a number that it exceeded; operations once nothing is repeated."""
        self.begun: list[Program] = []
        """After the first passes, in each layout that may turn out the least."""
        self.finished: Program | None = None
        self._polished: Program | None = None
        self.refused: SymgenError | None = None

    def polished(self, budget: int | None = None) -> Program:
        """After all passes and those that come last, which deepen what they shorten; see `program`.

        Functions of a turn in series are taken apart after differentiation, and the passes run then.
        """
        finished = self.program(budget)
        if self.options.series:
            return finished
        if methods.find(self.method).shallow:
            return passes.told(finished)
        if self._polished is None:
            with _collector_at_rest():
                self._polished = passes.told(passes.polish(finished))
        return self._polished

    def program(
        self, budget: int | None = None, longest: int | None = None, dearest: float | None = None
    ) -> Program:
        """See `derive`, before the passes that come last; raises what the derivation raised."""
        budget = budget or ROW_BUDGET
        longest = longest or 4 * budget
        if self.refused is not None:
            raise copy(self.refused)
        if self.length > longest:
            raise TooManyRows(f"the derivation outgrew {longest} rows")
        with _collector_at_rest():
            if not self.begun and self.finished is None:
                self._begin(longest)
            if dearest is not None and self.cost > dearest:
                raise TooManyRows(f"{self.cost} operations")
            if self.finished is None:
                if (
                    len(self.begun[0].rows) > 2 * budget
                ):  # the passes after the first do not halve it
                    raise TooManyRows(f"{len(self.begun[0].rows)} rows")
                prepared = self.begun[0] if self.options.series else passes.least(self.begun)
                self.finished, self.begun = (
                    without_idle(prepared, len(FUNCTIONS[self.function].arguments)),
                    [],
                )
        if len(self.finished.rows) > budget:
            raise TooManyRows(f"{len(self.finished.rows)} rows")
        return self.finished

    def _begin(self, longest: int) -> None:
        try:
            self._lay(longest)
        except TooManyRows:
            self.length = longest + 1
            raise
        except SymgenError as error:
            self.refused = copy(error)  # without its traceback
            raise

    def _lay(self, longest: int) -> None:
        """Derive it in the robot's layouts and the plain one. The passes behind the first change a count by a few per cent, so
        that those are kept whose counts are close.
        """
        lengths, begun = [], []
        for where in self._layouts():
            frozen = _derivation(
                self.mechanism, self.function, self.method, self.options, where, longest
            )
            lengths.append(len(frozen.rows))
            begun.append(passes.begin(frozen))
        costs = [passes.cost(one) for one in begun]
        least = costs.index(min(costs))
        self.length, self.cost = lengths[least], costs[least]
        close = [one for one, cost in zip(begun, costs, strict=True) if cost <= CLOSE * self.cost]
        self.begun = close if self.cost <= LONG else [begun[least]]

    def _layouts(self) -> tuple[Layout, ...]:
        """A method that takes the inertia of every link apart, or bears its weight, has it in the link's own axes."""
        what = FUNCTIONS[self.function]
        if what.own_inertia or not methods.find(self.method).regroups:
            return (PLAIN,)
        return choices(self.mechanism.uncoupled, self.function)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Rest Python's collector. A derivation makes rows by the ten thousand and drops none; collecting takes a third of its
    time.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


_attempt = lru_cache(maxsize=256)(Attempt)


def relevant(mechanism: Mechanism, function: str, options: ProgramOptions) -> ProgramOptions:
    """Return the options that change a function's Program, others at their defaults: Programs that are alike are built once."""
    what = FUNCTIONS[function]
    links = {a.name: getattr(options, a.name) for a in what.feels if a in ON_LINKS}
    parameters = (
        options.parameters
        if PREPARED in what.feels or function in PREPARING or what.counts("NR")
        else ()
    )
    axes, order = options.convention if what.follows else USUAL
    rows = options.rows if what.counts("NK") else None
    return ProgramOptions(
        options.real,
        effort=options.effort,
        rounds=options.rounds if options.effort == HIGH else None,
        frame=frames(mechanism, what, options) or None,
        jacobian_frame=axes,
        jacobian_order=order,
        task_rows=rows,
        contact=options.contact if what.counts("NT") else None,
        parameters=parameters,
        floors=options.floors and function in PREPARING,
        baumgarte=options.baumgarte and GAINS in what.feels,
        series=options.series and turns_by_series(mechanism, what),
        anywhere=(options.anywhere or options.baumgarte)
        and loop_closure.known(mechanism, function),
        **links,
    )


def turns_by_series(mechanism: Mechanism, what: Function) -> bool:
    """True if a function moves positions, or tells them apart, and a joint turns by more than a coordinate of its own."""
    return moves_positions(what) and any(joint.type.along is not None for joint in mechanism.joints)


def moves_positions(what: Function) -> bool:
    """True if a function moves positions, or tells them apart."""
    return any("NQ" in one.shape for one in what.results) or "q_next" in [
        one.name for one in what.arguments
    ]


def frames(mechanism: Mechanism, what: Function, options: ProgramOptions) -> tuple[str, ...]:
    """The names of the frames that a function speaks of, in their order: all, the first, or none."""
    if not what.needs_frame:
        return ()
    named = options.frames or (tip(mechanism),)
    return named if what.needs_frames else named[:1]


def polished(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Program:
    """`derive`, with each derivation done once in a process: for every real type, and for all methods that share it."""
    return replace(
        _shared(mechanism, function, method, options).polished(), method=method, real=options.real
    )


def unpolished(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    longest: int | None = None,
    dearest: float | None = None,
) -> Program:
    """`polished` before the passes that come last, which change a count by a few per cent."""
    made = _shared(mechanism, function, method, options)
    return replace(made.program(longest=longest, dearest=dearest), method=method, real=options.real)


def _shared(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Attempt:
    shared = methods.alike(method, function, mechanism)
    options = relevant(
        mechanism, function, replace(options, real=DOUBLE.name, effort=NORMAL, rounds=None)
    )
    return _attempt(mechanism, function, shared, options)


def _derivation(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    where: Layout,
    longest: int,
) -> Program:
    """The rows of one method, as it records them. The constants have as many digits as they need."""
    return constants.sharpened(
        lambda: _recorded(mechanism, function, method, options, where, longest)
    )


def _recorded(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    where: Layout,
    longest: int,
) -> Program:
    what, closed = FUNCTIONS[function], loop_closure.known(mechanism, function)
    if (
        what.weight_by_joints and not options.parameters and options.payload is None
    ):  # those have weight of their own
        mechanism = lightened(mechanism)
    build = methods.derivation(method, function)
    regroups = methods.find(method).regroups and not what.own_inertia
    adjusting = adjusting_of(mechanism, options.parameters) if options.parameters else None
    model = _suited(adjusting.bare if adjusting else mechanism, what, regroups, where)
    if adjusting and adjusting.moves_inertia:
        model = adjusting.lay(where)
    with constants.precision():
        meant = [model.frame(mechanism, name) for name in frames(mechanism, what, options)]
        loaded = {
            a: options.at_run_time[a.name]
            for a in what.feels
            if a.name in options.at_run_time and a in ON_LINKS
        }
        arguments = [*what.arguments, *(a.of_each(len(links)) for a, links in loaded.items())]
        arguments += [GAINS] if options.baumgarte else []
        arguments += [PREPARED] if adjusting else []
        arguments += [] if Q in arguments else [Q]  # what a linkage is laid out by, idle in the end
        base = (
            base_parameters(adjusting.of_any_gravity(mechanism) if adjusting else mechanism)
            if what.counts("NR")
            else None
        )
        sizes = mechanism.sizes._replace(
            NF=len(meant),
            NW=len(options.wrenches),
            NR=0 if base is None else len(base),
            NK=len(options.rows),
            NT=len(options.contacts),
            NS=adjusting.prepared.size if adjusting else 0,
            **(loop_closure.sizes(mechanism) if closed else {}),
        )
        shapes = {a.name: a.sizes(sizes) for a in arguments}
        home = Derivation({a.name: _size(shapes[a.name]) for a in arguments}, longest)
        stated = options.convention if what.follows else USUAL
        try:
            at = {
                a: [model.frame(mechanism, link) for link in links] for a, links in loaded.items()
            }
            carried = at[PAYLOAD][0] if PAYLOAD in at else None
            at_run_time = (
                adjusting.at_run_time(regroups, forget=not what.keeps_mass) if adjusting else None
            )
            linkage = Linkage(
                model,
                home,
                meant[0] if meant else None,
                carried,
                at.get(WRENCH, ()),
                at_run_time,
                Coupling.of(mechanism),
            )
            linkage.jacobian_frame, linkage.base, linkage.task_rows = (
                stated.frame,
                base,
                options.rows,
            )
            linkage.series = options.series
            if closed:
                loop_closure.lay(linkage, mechanism, options.anywhere)
            if what.counts("NT"):
                points = [mechanism.contact(one) for one in options.contacts]
                linkage.contacts = tuple(
                    model.placed(one.name, one.body, one.pose) for one in points
                )
                linkage.solves = contacts.solves(mechanism, options.contacts)
            results = methods.of_each(build, linkage, meant, stated.order == "linear")
            laid = [result.of_each(len(meant)) for result in what.results]
            named = [
                (r.name, r.sizes(sizes), atoms) for r, atoms in zip(laid, results, strict=True)
            ]
            found = home.freeze(function, method, named, shapes, spare=True)
            return replace(
                found,
                quaternions=mechanism.quaternions,
                convention=stated,
                joints=tuple(joint.kind for joint in mechanism.leading),
            )
        except DivisionByZero:
            if adjusting is None:
                raise
            raise MethodRefusal(
                f"{method} divides by inertia of a link of '{mechanism.name}' that is zero whatever "
                f"{', '.join(options.parameters[:3])} are; take another method, such as riccati"
            ) from None
        except LostDigits as lost:
            raise LostDigits(
                lost.what,
                lost.place or f"{function} of '{mechanism.name}' by {method}, {home.steps[-1]}",
            ) from None


def lightened(mechanism: Mechanism) -> Mechanism:
    """The same, where gravity is less by what is borne, if that is the same fraction of all that moves; else itself."""
    fractions = {part.gravcomp for body in mechanism.bodies for part in body.parts if part.mass}
    if len(fractions) != 1 or not any(fractions):
        return mechanism
    left = 1 - fractions.pop()
    x, y, z = mechanism.gravity
    return replace(mechanism.unborne, gravity=(left * x, left * y, left * z))


def _suited(mechanism: Mechanism, what: Function, regroups: bool, where: Layout) -> Model:
    """With as little inertia as the answer allows.

    Regrouping changes nothing that a joint feels, but it changes the wrench across it, which bears the link's own weight.
    """
    if not regroups:
        return models(mechanism)[0]
    return regrouped(mechanism, where, forget=not what.keeps_mass)


def _size(shape: Sequence[int]) -> int:
    total = 1
    for s in shape:
        total *= s
    return total


def without_idle(program: Program, own: int) -> Program:
    """Drop the run-time arguments that no row reads. They come after the `own` arguments of the function."""
    read = {row.value[0] for row in program.rows if row.op == "input"}
    kept = [i for i in range(len(program.inputs)) if i < own or i in read]
    place = {old: new for new, old in enumerate(kept)}
    rows = (
        row._replace(value=(place[row.value[0]], row.value[1])) if row.op == "input" else row
        for row in program.rows
    )
    return replace(program, inputs=tuple(program.inputs[i] for i in kept), rows=tuple(rows))
