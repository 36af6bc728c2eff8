"""Derivation of one function of one robot by one method: recorded, frozen into a Program, and run
through all passes.
"""

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
from symgen.derivation.model import (
    Frame,
    Model,
    complete_moments,
    completed_links,
    declared,
    reframe,
    regroup,
)
from symgen.derivation.scalars import Derivation, DivisionByZero, Scalar, TooManyRows
from symgen.description.tip import tip
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.factor import Results
from symgen.pipeline import contacts, loop_closure
from symgen.pipeline.adjusting import Adjusting
from symgen.pipeline.adjusting import make_adjusting as adjusting_of
from symgen.pipeline.base_parameters import base_parameters
from symgen.pipeline.layout import PLAIN, Layout, candidate_layouts
from symgen.support.collector import collector_at_rest
from symgen.support.errors import MethodRefusal, SymgenError
from symgen.vocabulary.arrays import USUAL, Array, Convention, Sizes
from symgen.vocabulary.functions import (
    FUNCTIONS,
    GAINS,
    LINK_ARGUMENTS,
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
"""Factor on the fewest operations after the first passes; within it the later passes may change the
order.
"""
LONG = 30_000
"""Operations after the first passes above which the later passes take minutes; they are then not
run to compare layouts.
"""
ROW_BUDGET = 100_000
"""Maximum number of rows of a Program. A C compiler takes half a minute for this many, and reading
the C back takes as long. A derivation may have four times as many rows, which need a gigabyte of
memory.
"""


def models(mechanism: Mechanism) -> tuple[Model, Model]:
    """Return (the model in the chosen frames, the same model with inertia moved to the parents)."""
    return _models(mechanism, constants.digits())


@lru_cache(maxsize=16)
def _models(mechanism: Mechanism, digits: int) -> tuple[Model, Model]:
    """Return `models` at the working precision of `digits`."""
    with constants.precision():
        reframed = reframe(mechanism)
        return reframed, regroup(reframed)


def frame_starts(mechanism: Mechanism) -> tuple[tuple[float, float, float], ...]:
    """Return the start of each link's chosen frame, in the declared frame of the link (m)."""
    return tuple(
        (constants.as_float(x), constants.as_float(y), constants.as_float(z))
        for x, y, z in (link.placement[1] for link in models(mechanism)[0].links)
    )


def model_in_layout(mechanism: Mechanism, layout: Layout) -> Model:
    """Return the model in a layout: in the chosen frames, or in the declared frames if the layout
    says so.
    """
    with constants.precision():
        return layout.lay(declared(mechanism) if layout.declared else models(mechanism)[0])


def regrouped(mechanism: Mechanism, layout: Layout, forget: bool = True) -> Model:
    """Return the model in a layout, with inertia moved to the parents.

    With `forget`, inertia that cannot change a result is dropped; without it, the total mass is
    preserved.
    """
    return _regrouped(mechanism, layout, forget, constants.digits())


@lru_cache(maxsize=32)
def _regrouped(mechanism: Mechanism, layout: Layout, forget: bool, digits: int) -> Model:
    """Return `regrouped` at the working precision of `digits`."""
    with constants.precision():
        return regroup(model_in_layout(mechanism, layout), forget)


def derive(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    budget: int = ROW_BUDGET,
) -> Program:
    """Derive the Program of one function by one method, with all passes.

    Raises TooManyRows if it has more than `budget` rows, or its derivation more than four times as
    many. Raises LostDigits if its constants lose all digits at any working precision.
    """
    program = Attempt(mechanism, function, method, options).polished(budget)
    return replace(program, real=options.real)


class Attempt:
    """Derivation of one function by one method, run only as far as needed. Results and refusals are
    remembered.

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
        """Rows of the derivation, or a limit that it exceeded; and operations after the removal of
        repeated rows.
        """
        self.begun: list[Program] = []
        """The Program after the first passes, in each layout that may have the fewest operations in
        the end.
        """
        self.finished: Program | None = None
        self._polished: Program | None = None
        self.refused: SymgenError | None = None

    def polished(self, budget: int | None = None) -> Program:
        """Return the Program after all passes, including the last ones, which reduce operations but
        increase depth; see `program`.

        Functions of a rotation in series are expanded after differentiation, and the last passes
        run then.
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
        """Derive the Program in the robot's layouts, and run all passes except the last ones.

        Raises TooManyRows if it has more than `budget` rows, or its derivation more than `longest`
        rows (default four times as many). `dearest` limits the operations after the removal of
        repeated rows in the same way. It also raises the errors of the derivation.
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
                with self._remember_refusals(longest):
                    for layout in self._layouts():
                        recorded = record(
                            self.mechanism,
                            self.function,
                            self.method,
                            self.options,
                            layout,
                            longest,
                        )
                        lengths.append(len(recorded.rows))
                        begun.append(passes.begin(recorded))
                self._keep_shortest(lengths, begun)
            if dearest is not None and self.cost > dearest:
                raise TooManyRows(f"{self.cost} operations")
            finished = self.finished = self.finished or self._finish(budget)
        if len(finished.rows) > budget:
            raise TooManyRows(f"{len(finished.rows)} rows")
        return finished

    @contextmanager
    def _remember_refusals(self, longest: int) -> Iterator[None]:
        """Remember the errors that the derivation raises inside the block, for later calls."""
        try:
            yield
        except TooManyRows:
            self.length = longest + 1
            raise
        except SymgenError as error:
            # a library such as tblib may have taught `copy` to keep tracebacks
            self.refused = copy(error).with_traceback(None)
            raise

    def _keep_shortest(self, lengths: Sequence[int], begun: Sequence[Program]) -> None:
        """Keep the layout with the fewest operations, and those close to it: later passes change a
        count by a few per cent.
        """
        costs = [passes.cost(program) for program in begun]
        least = costs.index(min(costs))
        self.length, self.cost = lengths[least], costs[least]
        close = [
            program for program, cost in zip(begun, costs, strict=True) if cost <= CLOSE * self.cost
        ]
        self.begun = close if self.cost <= LONG else [begun[least]]

    def _finish(self, budget: int) -> Program:
        """Run the later passes on the kept layouts, and drop the arguments that no row reads."""
        length = len(self.begun[0].rows)
        if length > 2 * budget:  # the passes after the first do not halve it
            raise TooManyRows(f"{length} rows")
        prepared = self.begun[0] if self.options.series else passes.shortest_finished(self.begun)
        self.begun = []
        return without_idle(prepared, len(FUNCTIONS[self.function].arguments))

    def _layouts(self) -> tuple[Layout, ...]:
        """Return the layouts to try. A method that factorizes or weighs every link's own inertia
        uses the link's own axes.
        """
        declaration = FUNCTIONS[self.function]
        if declaration.own_inertia or not methods.find(self.method).regroups:
            return (PLAIN,)
        return candidate_layouts(self.mechanism.uncoupled, self.function)


_attempt = lru_cache(maxsize=256)(Attempt)


def attempt(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Attempt:
    """Return the Attempt that this process shares among all real types, and among all methods with
    the same derivation.
    """
    shared = methods.canonical_name(method, function, mechanism)
    options = relevant(
        mechanism, function, replace(options, real=DOUBLE.name, effort=NORMAL, rounds=None)
    )
    return _attempt(mechanism, function, shared, options)


def polished(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Program:
    """Return the result of `derive`; each derivation runs once in a process."""
    shared = attempt(mechanism, function, method, options)
    return replace(shared.polished(), method=method, real=options.real)


def relevant(mechanism: Mechanism, function: str, options: ProgramOptions) -> ProgramOptions:
    """Return the options that change a function's Program, with all others at their defaults, so
    that equal Programs are built once.
    """
    declaration = FUNCTIONS[function]
    axes, order = options.convention if declaration.follows_convention else USUAL
    rows = options.rows if declaration.counts("NK") else None
    return ProgramOptions(
        options.real,
        effort=options.effort,
        rounds=options.rounds if options.effort == HIGH else None,
        frame=frame_names(mechanism, declaration, options) or None,
        jacobian_frame=axes,
        jacobian_order=order,
        task_rows=rows,
        contact=options.contact if declaration.counts("NT") else None,
        divisor_bounds=options.divisor_bounds and function in PREPARING,
        baumgarte=options.baumgarte and GAINS in declaration.depends_on,
        series=options.series and turns_by_series(mechanism, declaration),
        anywhere=(options.anywhere or options.baumgarte)
        and loop_closure.depends_on_loops(mechanism, function),
        **_relevant_at_run_time(function, options),
    )


def _relevant_at_run_time(function: str, options: ProgramOptions) -> dict[str, Any]:
    """Return the options that add run-time arguments to a function: links with a payload or
    wrenches, and parameters.
    """
    declaration = FUNCTIONS[function]
    links = {
        a.name: getattr(options, a.name) for a in declaration.depends_on if a in LINK_ARGUMENTS
    }
    changes = (
        PREPARED in declaration.depends_on or function in PREPARING or declaration.counts("NR")
    )
    return {**links, "parameters": options.parameters if changes else ()}


def turns_by_series(mechanism: Mechanism, declaration: Function) -> bool:
    """True if a function integrates or compares positions, and a joint's rotation has more than one
    coordinate.
    """
    return moves_positions(declaration) and any(
        joint.type.along is not None for joint in mechanism.joints
    )


def moves_positions(declaration: Function) -> bool:
    """True if a function integrates or compares positions."""
    return any("NQ" in result.shape for result in declaration.results) or "q_next" in [
        argument.name for argument in declaration.arguments
    ]


def frame_names(
    mechanism: Mechanism, declaration: Function, options: ProgramOptions
) -> tuple[str, ...]:
    """Return the names of the frames that a function uses, in order: all named ones, the first one,
    or none.
    """
    if not declaration.needs_frame:
        return ()
    named = options.frames or (tip(mechanism),)
    return named if declaration.uses_all_frames else named[:1]


def record(
    mechanism: Mechanism,
    function: str,
    method: str,
    options: ProgramOptions,
    layout: Layout,
    longest: int,
) -> Program:
    """Record the rows of a function by a method, in one layout. The constants have as many digits
    as needed.
    """
    for precision in constants.rising_precisions():
        with precision:
            recording = Recording(mechanism, function, method, options, layout)
            shapes, convention = recording.shapes, recording.convention
            derivation = Derivation({name: prod(shape) for name, shape in shapes.items()}, longest)
            with recording.place_of_errors(derivation):
                linkage = recording.linkage(derivation)
                equations = methods.derivation(method, function)
                results = equations(linkage, recording.frames, convention.order == "linear")
                named = recording.named_results(results)
                program = derivation.freeze(function, method, named, shapes, spare=True)
                return replace(
                    program,
                    quaternions=mechanism.quaternions,
                    convention=convention,
                    joints=tuple(joint.kind for joint in mechanism.leading),
                )
    raise constants.NEVER_REACHED


@dataclass(frozen=True)
class Recording:
    """One function of one robot by one method, in one layout: everything known before the first row
    is recorded.
    """

    declared: Mechanism
    function: str
    method: str
    options: ProgramOptions
    where: Layout

    @cached_property
    def declaration(self) -> Function:
        """Return the function and its arrays."""
        return FUNCTIONS[self.function]

    @cached_property
    def mechanism(self) -> Mechanism:
        """Return the robot, with gravity compensation subtracted from gravity where possible.
        Run-time masses have their full weight.
        """
        can_change = self.options.parameters or self.options.payload is not None
        return (
            with_reduced_gravity(self.declared)
            if self.declaration.weight_by_joints and not can_change
            else self.declared
        )

    @cached_property
    def adjusting(self) -> Adjusting | None:
        """Return the numbers that may change at run time."""
        parameters = self.options.parameters
        return adjusting_of(self.mechanism, parameters) if parameters else None

    @cached_property
    def regroups(self) -> bool:
        """True if the method uses inertia that was moved to the parents.

        Moving inertia changes the wrench across a joint, which includes the link's own weight, but
        no joint force.
        """
        return methods.find(self.method).regroups and not self.declaration.own_inertia

    @cached_property
    def model(self) -> Model:
        """Return the robot's model in the layout, with as little inertia as the function allows."""
        inverts_inertias = methods.find(self.method).inverts_inertias(self.mechanism)
        if self.adjusting and self.adjusting.moves_inertia:
            if inverts_inertias and (links := completed_links(self.mechanism)):
                raise MethodRefusal(
                    f"{self.method} does not take inertias at run time on '{self.mechanism.name}',"
                    f" since the inertia of link '{links[0]}' has no inverse; use another method,"
                    " such as riccati"
                )
            return self.adjusting.lay(self.where)
        bare = self.adjusting.bare if self.adjusting else self.mechanism
        if inverts_inertias:
            with constants.precision():
                return complete_moments(models(bare)[0])
        if not self.regroups:
            return models(bare)[0]
        return regrouped(bare, self.where, forget=not self.declaration.keeps_mass)

    @cached_property
    def closed(self) -> bool:
        """True if the function depends on closed loops of this robot."""
        return loop_closure.depends_on_loops(self.declared, self.function)

    @cached_property
    def convention(self) -> Convention:
        """Return the convention of Jacobians."""
        return self.options.convention if self.declaration.follows_convention else USUAL

    @cached_property
    def frames(self) -> list[Frame]:
        """Return the frames that the function uses."""
        names = frame_names(self.mechanism, self.declaration, self.options)
        return [self.model.frame(self.mechanism, name) for name in names]

    @cached_property
    def links_of(self) -> dict[Array, tuple[str, ...]]:
        """Return the names of links with a run-time payload or wrench, by argument."""
        named = self.options.at_run_time
        return {
            array: named[array.name]
            for array in self.declaration.depends_on
            if array.name in named and array in LINK_ARGUMENTS
        }

    @cached_property
    def base(self) -> BaseParameters | None:
        """Return the base parameters, if the function uses them."""
        if not self.declaration.counts("NR"):
            return None
        mechanism = self.mechanism
        return base_parameters(
            self.adjusting.of_any_gravity(mechanism) if self.adjusting else mechanism
        )

    @cached_property
    def sizes(self) -> Sizes:
        """Return the sizes of all arrays."""
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
        """Return the shapes of the arguments by name, including those at run time and q, which the
        linkage needs.
        """
        arguments = list(self.declaration.arguments)
        arguments += [array.of_each(len(links)) for array, links in self.links_of.items()]
        arguments += [GAINS] if self.options.baumgarte else []
        arguments += [PREPARED] if self.adjusting else []
        arguments += [] if Q in arguments else [Q]
        return {array.name: array.sizes(self.sizes) for array in arguments}

    def linkage(self, derivation: Derivation) -> Linkage:
        """Return the linkage of the model for the method."""
        mechanism, model, options = self.mechanism, self.model, self.options
        frames_by_array = {
            array: [model.frame(mechanism, link) for link in links]
            for array, links in self.links_of.items()
        }
        at_run_time = None
        if self.adjusting:
            at_run_time = self.adjusting.at_run_time(
                self.regroups, forget=not self.declaration.keeps_mass
            )
        linkage = Linkage(
            model,
            derivation,
            self.frames[0] if self.frames else None,
            LoadedFrames(
                frames_by_array[PAYLOAD][0] if PAYLOAD in frames_by_array else None,
                frames_by_array.get(WRENCH, ()),
            ),
            at_run_time,
            Coupling.of(mechanism),
        )
        linkage.jacobian_frame, linkage.base = self.convention.frame, self.base
        linkage.task_rows, linkage.series = options.rows, options.series
        if self.closed:
            loop_closure.configure_linkage(linkage, mechanism, options.anywhere)
        if self.declaration.counts("NT"):
            points = [mechanism.contact(name) for name in options.contacts]
            linkage.contacts = tuple(
                model.frame_at(point.name, point.body, point.pose) for point in points
            )
            linkage.solves = contacts.solve_count(mechanism, options.contacts)
        return linkage

    def named_results(
        self, results: Results
    ) -> list[tuple[str, tuple[int, ...], Sequence[Scalar]]]:
        """Return the results with names and shapes."""
        arrays = [array.of_each(len(self.frames)) for array in self.declaration.results]
        return [
            (array.name, array.sizes(self.sizes), atoms)
            for array, atoms in zip(arrays, results, strict=True)
        ]

    @contextmanager
    def place_of_errors(self, derivation: Derivation) -> Iterator[None]:
        """Add function, robot and method to an error that is raised inside the block. A link
        without inertia refuses the method.
        """
        try:
            yield
        except DivisionByZero:
            if self.adjusting is None:
                raise
            raise MethodRefusal(
                f"{self.method} divides by inertia of a link of '{self.mechanism.name}' that is"
                f" zero for all values of {', '.join(self.options.parameters[:3])}; use another"
                " method, such as riccati"
            ) from None
        except PrecisionLoss as lost:
            raise PrecisionLoss(
                lost.fault,
                lost.location
                or f"{self.function} of '{self.mechanism.name}' by {self.method},"
                f" {derivation.steps[-1]}",
            ) from None


def with_reduced_gravity(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with gravity reduced by the compensated fraction, if all moving parts
    have the same fraction; else itself.
    """
    fractions = {part.gravcomp for body in mechanism.bodies for part in body.parts if part.mass}
    if len(fractions) != 1 or not any(fractions):
        return mechanism
    remaining = 1 - fractions.pop()
    x, y, z = mechanism.gravity
    return replace(
        mechanism.without_gravity_compensation,
        gravity=(remaining * x, remaining * y, remaining * z),
    )


def without_idle(program: Program, argument_count: int) -> Program:
    """Return the Program without the run-time arguments that no row reads.

    They follow the first `argument_count` arguments, which are the function's own.
    """
    read_arguments = {row.value[0] for row in program.rows if row.op == "input"}
    used = [i for i in range(len(program.inputs)) if i < argument_count or i in read_arguments]
    new_index = {old: new for new, old in enumerate(used)}
    rows = (
        row._replace(value=(new_index[row.value[0]], row.value[1])) if row.op == "input" else row
        for row in program.rows
    )
    return replace(program, inputs=tuple(program.inputs[i] for i in used), rows=tuple(rows))
