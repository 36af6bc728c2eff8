"""One function of one robot by one method: its derivation, frozen into a Program, after all passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any

from symgen import methods
from symgen.derivation import constants
from symgen.derivation.base_parameters import BaseParameters
from symgen.derivation.constants import PrecisionLoss
from symgen.derivation.coupling import Coupling
from symgen.derivation.linkage import Linkage
from symgen.derivation.loads import LoadedFrames
from symgen.derivation.model import Frame, Model, declared, reframe, regroup
from symgen.derivation.scalars import Derivation, DivisionByZero, Scalar, TooManyRows
from symgen.description.tip import tip
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.factor import Results
from symgen.pipeline import contacts, loop_closure
from symgen.pipeline.adjusting import Adjusting
from symgen.pipeline.adjusting import adjusting as adjusting_of
from symgen.pipeline.base_parameters import base_parameters
from symgen.pipeline.layout import PLAIN, Layout, choices
from symgen.support.collector import collector_at_rest
from symgen.support.errors import MethodRefusal, SymgenError
from symgen.vocabulary.arrays import USUAL, Array, Convention, Sizes
from symgen.vocabulary.functions import (
    FUNCTIONS,
    GAINS,
    ON_LINKS,
    PAYLOAD,
    PREPARED,
    PREPARING,
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
) -> Program:
    """Derive the Program of one function by one method, with all passes.

    Raises TooManyRows when it has more than `budget` rows, or its derivation more than four times as many; LostDigits where
    its constants lose theirs however many they start with.
    """
    polished = Attempt(mechanism, function, method, options).polished(budget)
    return replace(polished, real=options.real)


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
        """Run all passes, and those that come last, which deepen what they shorten; see `program`.

        Functions of a turn in series are taken apart after differentiation, and the passes run then.
        """
        finished = self.program(budget)
        if self.options.series:
            return finished
        if methods.find(self.method).shallow:
            return passes.replace_opaque_ones(finished)
        if self._polished is None:
            with collector_at_rest():
                self._polished = passes.replace_opaque_ones(passes.polish(finished))
        return self._polished

    def program(
        self,
        budget: int | None = None,
        longest: int | None = None,
        dearest: float | None = None,
    ) -> Program:
        """Derive the Program in the robot's layouts, and run the passes but those that come last.

        Raises TooManyRows when it has more than `budget` rows, its derivation more than `longest` (four times as many), or more
        than `dearest` operations once nothing is repeated; also what the derivation raised.
        """
        budget = budget or ROW_BUDGET
        longest = longest or 4 * budget
        if self.refused is not None:
            raise copy(self.refused)
        if self.length > longest:
            raise TooManyRows(f"the derivation outgrew {longest} rows")
        with collector_at_rest():
            if not self.begun and self.finished is None:
                lengths, begun = [], []
                with self._refusals_kept(longest):
                    for where in self._layouts():
                        recorded = record(
                            self.mechanism, self.function, self.method, self.options, where, longest
                        )
                        lengths.append(len(recorded.rows))
                        begun.append(passes.begin(recorded))
                self._keep_the_least(lengths, begun)
            if dearest is not None and self.cost > dearest:
                raise TooManyRows(f"{self.cost} operations")
            finished = self.finished = self.finished or self._finish(budget)
        if len(finished.rows) > budget:
            raise TooManyRows(f"{len(finished.rows)} rows")
        return finished

    @contextmanager
    def _refusals_kept(self, longest: int) -> Iterator[None]:
        """Keep what the derivation raises inside the block, for later calls."""
        try:
            yield
        except TooManyRows:
            self.length = longest + 1
            raise
        except SymgenError as error:
            self.refused = copy(error)  # without its traceback
            raise

    def _keep_the_least(self, lengths: Sequence[int], begun: Sequence[Program]) -> None:
        """Keep the layout with the fewest operations, and those close to it: the passes behind the first change a count by a
        few per cent.
        """
        costs = [passes.cost(program) for program in begun]
        least = costs.index(min(costs))
        self.length, self.cost = lengths[least], costs[least]
        close = [
            program for program, cost in zip(begun, costs, strict=True) if cost <= CLOSE * self.cost
        ]
        self.begun = close if self.cost <= LONG else [begun[least]]

    def _finish(self, budget: int) -> Program:
        """Run the passes behind the first on what is kept, and drop the arguments that are not read."""
        length = len(self.begun[0].rows)
        if length > 2 * budget:  # the passes after the first do not halve it
            raise TooManyRows(f"{length} rows")
        prepared = self.begun[0] if self.options.series else passes.shortest_finished(self.begun)
        self.begun = []
        return without_idle(prepared, len(FUNCTIONS[self.function].arguments))

    def _layouts(self) -> tuple[Layout, ...]:
        """List the layouts to be tried. A method that takes the inertia of every link apart, or bears its weight, has it in the
        link's own axes.
        """
        what = FUNCTIONS[self.function]
        if what.own_inertia or not methods.find(self.method).regroups:
            return (PLAIN,)
        return choices(self.mechanism.uncoupled, self.function)


_attempt = lru_cache(maxsize=256)(Attempt)


def attempt(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Attempt:
    """Return the Attempt that is shared in this process: by all real types, and by all methods with the same derivation."""
    shared = methods.canonical_name(method, function, mechanism)
    options = relevant(
        mechanism, function, replace(options, real=DOUBLE.name, effort=NORMAL, rounds=None)
    )
    return _attempt(mechanism, function, shared, options)


def polished(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Program:
    """`derive`, with each derivation done once in a process."""
    shared = attempt(mechanism, function, method, options)
    return replace(shared.polished(), method=method, real=options.real)


def relevant(mechanism: Mechanism, function: str, options: ProgramOptions) -> ProgramOptions:
    """Return the options that change a function's Program, others at their defaults: Programs that are alike are built once."""
    what = FUNCTIONS[function]
    axes, order = options.convention if what.follows_convention else USUAL
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
        floors=options.floors and function in PREPARING,
        baumgarte=options.baumgarte and GAINS in what.depends_on,
        series=options.series and turns_by_series(mechanism, what),
        anywhere=(options.anywhere or options.baumgarte)
        and loop_closure.known(mechanism, function),
        **_relevant_at_run_time(function, options),
    )


def _relevant_at_run_time(function: str, options: ProgramOptions) -> dict[str, Any]:
    """Return the options that add run-time arguments to a function: links with a payload or wrenches, and parameters."""
    what = FUNCTIONS[function]
    links = {a.name: getattr(options, a.name) for a in what.depends_on if a in ON_LINKS}
    changes = PREPARED in what.depends_on or function in PREPARING or what.counts("NR")
    return {**links, "parameters": options.parameters if changes else ()}


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
    return named if what.uses_all_frames else named[:1]


def record(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    where: Layout,
    longest: int,
) -> Program:
    """Record the rows of a function by a method, in one layout. The constants have as many digits as they need."""
    for sharp_enough in constants.rising_precisions():
        with sharp_enough:
            recording = Recording(mechanism, function, method, options, where)
            shapes, convention = recording.shapes, recording.convention
            home = Derivation({name: prod(shape) for name, shape in shapes.items()}, longest)
            with recording.place_of_errors(home):
                linkage = recording.linkage(home)
                equations = methods.derivation(method, function)
                results = equations(linkage, recording.frames, convention.order == "linear")
                named = recording.named(results)
                program = home.freeze(function, method, named, shapes, spare=True)
                return replace(
                    program,
                    quaternions=mechanism.quaternions,
                    convention=convention,
                    joints=tuple(joint.kind for joint in mechanism.leading),
                )
    raise constants.NEVER_REACHED


@dataclass(frozen=True)
class Recording:
    """One function of one robot by one method, in one layout: all that is known before the first row is recorded."""

    declared: Mechanism
    function: str
    method: str
    options: ProgramOptions
    where: Layout

    @cached_property
    def what(self) -> Function:
        """The function and its arrays."""
        return FUNCTIONS[self.function]

    @cached_property
    def mechanism(self) -> Mechanism:
        """The robot, its gravity compensation taken off gravity where that is possible. Run-time masses have weight of their own."""
        can_change = self.options.parameters or self.options.payload is not None
        return (
            lightened(self.declared)
            if self.what.weight_by_joints and not can_change
            else self.declared
        )

    @cached_property
    def adjusting(self) -> Adjusting | None:
        """The numbers that may change at run time."""
        parameters = self.options.parameters
        return adjusting_of(self.mechanism, parameters) if parameters else None

    @cached_property
    def regroups(self) -> bool:
        """True if the method takes inertia that was moved to the parents: it changes the wrench across a joint, which bears the
        link's own weight, and nothing that a joint feels.
        """
        return methods.find(self.method).regroups and not self.what.own_inertia

    @cached_property
    def model(self) -> Model:
        """The robot laid out, with as little inertia as the answer allows."""
        if self.adjusting and self.adjusting.moves_inertia:
            return self.adjusting.lay(self.where)
        bare = self.adjusting.bare if self.adjusting else self.mechanism
        if not self.regroups:
            return models(bare)[0]
        return regrouped(bare, self.where, forget=not self.what.keeps_mass)

    @cached_property
    def closed(self) -> bool:
        """True if the function is about closed loops of this robot."""
        return loop_closure.known(self.declared, self.function)

    @cached_property
    def convention(self) -> Convention:
        """How Jacobians are stated."""
        return self.options.convention if self.what.follows_convention else USUAL

    @cached_property
    def frames(self) -> list[Frame]:
        """The frames that the function speaks of."""
        names = frames(self.mechanism, self.what, self.options)
        return [self.model.frame(self.mechanism, name) for name in names]

    @cached_property
    def links_of(self) -> dict[Array, tuple[str, ...]]:
        """The names of links with a payload or wrench at run time, by argument."""
        named = self.options.at_run_time
        return {
            array: named[array.name]
            for array in self.what.depends_on
            if array.name in named and array in ON_LINKS
        }

    @cached_property
    def base(self) -> BaseParameters | None:
        """The base parameters, where the function is about them."""
        if not self.what.counts("NR"):
            return None
        mechanism = self.mechanism
        return base_parameters(
            self.adjusting.of_any_gravity(mechanism) if self.adjusting else mechanism
        )

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of all arrays."""
        return self.mechanism.sizes._replace(
            NF=len(self.frames),
            NW=len(self.options.wrenches),
            NR=0 if self.base is None else len(self.base),
            NK=len(self.options.rows),
            NT=len(self.options.contacts),
            NS=self.adjusting.prepared.size if self.adjusting else 0,
            **(loop_closure.sizes(self.mechanism) if self.closed else {}),
        )

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arguments by name, those at run time and q included: q lays out a linkage, and is idle in the end."""
        arguments = list(self.what.arguments)
        arguments += [array.of_each(len(links)) for array, links in self.links_of.items()]
        arguments += [GAINS] if self.options.baumgarte else []
        arguments += [PREPARED] if self.adjusting else []
        arguments += [] if Q in arguments else [Q]
        return {array.name: array.sizes(self.sizes) for array in arguments}

    def linkage(self, home: Derivation) -> Linkage:
        """Lay the model out for the method."""
        mechanism, model, options = self.mechanism, self.model, self.options
        at = {
            array: [model.frame(mechanism, link) for link in links]
            for array, links in self.links_of.items()
        }
        at_run_time = None
        if self.adjusting:
            at_run_time = self.adjusting.at_run_time(self.regroups, forget=not self.what.keeps_mass)
        linkage = Linkage(
            model,
            home,
            self.frames[0] if self.frames else None,
            LoadedFrames(at[PAYLOAD][0] if PAYLOAD in at else None, at.get(WRENCH, ())),
            at_run_time,
            Coupling.of(mechanism),
        )
        linkage.jacobian_frame, linkage.base = self.convention.frame, self.base
        linkage.task_rows, linkage.series = options.rows, options.series
        if self.closed:
            loop_closure.lay(linkage, mechanism, options.anywhere)
        if self.what.counts("NT"):
            points = [mechanism.contact(name) for name in options.contacts]
            linkage.contacts = tuple(
                model.frame_at(point.name, point.body, point.pose) for point in points
            )
            linkage.solves = contacts.solve_count(mechanism, options.contacts)
        return linkage

    def named(self, results: Results) -> list[tuple[str, tuple[int, ...], Sequence[Scalar]]]:
        """Name and shape the results."""
        arrays = [array.of_each(len(self.frames)) for array in self.what.results]
        return [
            (array.name, array.sizes(self.sizes), atoms)
            for array, atoms in zip(arrays, results, strict=True)
        ]

    @contextmanager
    def place_of_errors(self, home: Derivation) -> Iterator[None]:
        """Name function, robot and method in an error raised inside the block; a link without inertia refuses the method."""
        try:
            yield
        except DivisionByZero:
            if self.adjusting is None:
                raise
            raise MethodRefusal(
                f"{self.method} divides by inertia of a link of '{self.mechanism.name}' that is zero whatever "
                f"{', '.join(self.options.parameters[:3])} are; take another method, such as riccati"
            ) from None
        except PrecisionLoss as lost:
            raise PrecisionLoss(
                lost.what,
                lost.location
                or f"{self.function} of '{self.mechanism.name}' by {self.method}, {home.steps[-1]}",
            ) from None


def lightened(mechanism: Mechanism) -> Mechanism:
    """The same, where gravity is less by what is borne, if that is the same fraction of all that moves; else itself."""
    fractions = {part.gravcomp for body in mechanism.bodies for part in body.parts if part.mass}
    if len(fractions) != 1 or not any(fractions):
        return mechanism
    left = 1 - fractions.pop()
    x, y, z = mechanism.gravity
    return replace(mechanism.without_gravity_compensation, gravity=(left * x, left * y, left * z))


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
