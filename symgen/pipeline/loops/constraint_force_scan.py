"""Loop programs with parallel scans for forward dynamics and M⁻¹ b of a single chain of like links.

Links are alike if their joints are all of one kind, with one degree of freedom. The chain has one
element for each joint, and a last one behind the tip. Element i comprises joint i and the link
before it (the base for element 0).

A map runs one step for each element by itself. A parallel scan combines neighbouring elements
pairwise (upsweep), and then computes values of the elements from those of the pairs (downsweep).
`symgen.methods.constraint_force.levels` has the equations of the steps; H_bb is the matrix of the
linear system for the constraint forces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model import Model, complete_moments
from symgen.derivation.scalars import Derivation, DivisionByZero
from symgen.derivation.table_linkage import BASE_NUMBERS, PREPARED, Columns, Tabled, constants_of
from symgen.ir import passes
from symgen.ir.loops import (
    BEFORE,
    CONSTANTS,
    DOWNSWEEP,
    SAVED,
    UPSWEEP,
    LinkClass,
    LoopProgram,
    Map,
    check,
    without_unused_constants,
)
from symgen.ir.program import Numbers, Port, Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.constraint_force import levels
from symgen.pipeline.loops.build import placed_links, unlike_links
from symgen.pipeline.loops.chains import (
    ChainSteps,
    PairSteps,
    Results,
    chain_program,
    equal_parts,
    frozen,
    in_turn,
    parallel_scan,
)
from symgen.pipeline.loops.link_assignment import NotUniform
from symgen.pipeline.loops.sample_chain import chain_fault, unseen_links
from symgen.support.errors import OutOfReach

DYNAMICS, SOLVE, METHOD = "forward_dynamics", "mass_matrix_solve", "constraint_force:parallel"
FUNCTIONS = (DYNAMICS, SOLVE)
BODY, SINES = "body", ("cos", "sin")


def build_scan(mechanism: Mechanism, segments: int, function: str = DYNAMICS) -> LoopProgram:
    """Build the loop program of `function`, one of FUNCTIONS, whose elements are divided into
    `segments` parts.

    Raises OutOfReach, with the reason in one sentence, if the robot is not a single chain of like
    links.
    """
    return k.with_enough_precision(lambda: _build_scan(mechanism, segments, function))


def _build_scan(mechanism: Mechanism, segments: int, function: str) -> LoopProgram:
    def refused(why: str) -> OutOfReach:
        return OutOfReach(
            f"{function} of '{mechanism.name}' by {METHOD} has no looped form, since {why}; take"
            " --form unrolled, or another method"
        )

    model = placed_links(mechanism, complete_moments)
    if reason := chain_fault(model):
        raise refused(reason)
    numbers = [constants_of(link) for link in model.links]
    if len({k.is_zero(row["armature"]) for row in numbers}) > 1:
        raise refused("only some of its joints have an armature")
    springs = any(not k.is_zero(row["stiffness"]) for row in numbers)
    columns = Columns.of(numbers, ("stiffness",) if springs else ())
    try:
        steps = (_Dynamics if function == DYNAMICS else _Solve)(model, columns)
    except (NotUniform, DivisionByZero) as error:
        remedy = "--form unrolled, or another method"
        raise unlike_links(mechanism, function, METHOD, str(error), remedy) from None
    constants = _constants(model, numbers, columns, steps)
    chain = ChainSteps(
        LinkClass(model.links[0].kind, 1, 1, len(constants[0])),
        constants,
        in_turn(steps.maps, steps.scans),
        steps.work,
        equal_parts(len(constants), segments),
    )
    arguments, links = steps.arguments, len(model.links)
    form = chain_program(function, METHOD, arguments, steps.result, links, chain)
    return check(without_unused_constants(form))


def _constants(
    model: Model, numbers: Sequence[Mapping[str, k.Constant]], columns: Columns, steps: _Solve
) -> list[list[k.Constant]]:
    """Return one row of constants per element, one more than links.

    Each row has the table row of the link before joint i, that of link i, and the inertia numbers
    (levels.LINK_SIZE) of the link before. The base has no table row, so element 0 repeats the row
    of link 0. The last element has no joint; it repeats the row of the last link.
    """
    rows = [columns.row(row) for row in numbers]
    row_beyond_tip = columns.row({**numbers[-1], "stiffness": k.ZERO})  # no spring without a joint
    upward = k.scale(-k.ONE, model.links[0].gravity)
    base = [k.ZERO] * (levels.LINK_SIZE - 3) + [*upward]  # no wrench moves the base
    bodies = [base, *([*steps.body(row), *k.ORIGIN] for row in rows)]
    return [
        [*before, *row, *body]
        for before, row, body in zip([rows[0], *rows], [*rows, row_beyond_tip], bodies, strict=True)
    ]


def _no_function(*_: Any) -> Any:
    """Raise NotUniform in place of sin, cos, sqrt, log and atan2: constants need exact arithmetic
    only.
    """
    raise NotUniform("a number of a link is a sine of another")


class _Solve:
    """Steps of M⁻¹ b for a chain whose links have the constants `columns`.

    Each step is derived on two neighbouring links of the chain, those on both sides of a joint.
    """

    arguments: tuple[str, ...] = ("q", "b")
    result = "x"
    function = SOLVE
    first_saved = 0
    """Index, among the numbers that an element saves, of the first one from the map of H_bb
    (`_segment`).
    """

    def __init__(self, model: Model, columns: Columns) -> None:
        self.width, self.columns = columns.width, columns
        links = unseen_links(model, [model.links[0].kind] * 2)
        self.model = replace(model, links=tuple(links))
        self.size = size = levels.constrained_directions(self._linkage({}))
        up_size, valid = levels.segment_size(size)
        steps = PairSteps(
            lambda derivation, left, right: levels.combine_segments(derivation, size, left, right),
            lambda derivation, saved, forces: levels.propagate_constraint_forces(
                derivation, size, saved, forces
            ),
            up_size,
            levels.saved_size(size),
            2 * size,
        )
        self.scans = [parallel_scan(self.function, METHOD, steps, valid, size)]
        self.inverse = self._step(lambda linkage: {BODY: levels.first_link_numbers(linkage)}, {})
        self.work = 2 * (1 + 2 * size)
        self.maps = self._first_maps()
        accelerations = self._step(self._accelerations, {SAVED: self.work, DOWNSWEEP: 2 * size})
        self.maps.append(Map((self._of_element(accelerations),), (0,)))

    def _first_maps(self) -> list[Map]:
        """Return the maps before the scan of H_bb: the last one gives each element's UPSWEEP value
        for that scan.
        """
        return [Map((self._of_element(self._step(self._segment, {SAVED: self.work})),), (0,))]

    def _linkage(self, more: Mapping[str, int]) -> Tabled:
        """Return two neighbouring links as a Linkage, with `more` arguments (name: size) in
        addition to the usual ones.
        """
        sizes = dict.fromkeys(self.arguments, 2) | {
            PREPARED: 2 * self.width + sum(BASE_NUMBERS.values()),
            BODY: levels.LINK_SIZE,
            **more,
        }
        return Tabled(self.model, Derivation(sizes), [self.columns] * 2, [0, self.width])

    def _step(self, build: Callable[[Tabled], Results], more: Mapping[str, int]) -> Program:
        """Derive a step: `build` returns its results on two neighbouring links. `more` is as for
        `_linkage`.
        """
        linkage = self._linkage(more)
        return passes.run(frozen(linkage.derivation, self.function, METHOD, build(linkage)))

    def _segment(self, linkage: Tabled) -> Results:
        """Return an element's UPSWEEP value for the scan of H_bb, and the numbers that it saves for
        `_accelerations`.
        """
        value, saved = levels.solve_segment_of_place(linkage, linkage.derivation.inputs[BODY])
        return {UPSWEEP: value, SAVED: saved}

    def _accelerations(self, linkage: Tabled) -> Results:
        """Return an element's contributions to the results of joint i − 1 and of joint i."""
        saved = linkage.derivation.inputs[SAVED][self.first_saved :]
        joint_before, joint = levels.acceleration_terms(
            linkage.derivation, self.size, saved, linkage.derivation.inputs[DOWNSWEEP]
        )
        return {self.result + BEFORE: [joint_before], self.result: [joint]}

    def body(self, row: Sequence[k.Constant]) -> list[k.Constant]:
        """Return the inertia numbers of a link from its table row: levels.LINK_SIZE without the
        prescribed acceleration.
        """
        arguments = {port.name: [k.ZERO] * port.size for port in self.inverse.inputs}
        results = self.inverse.run(arguments | {PREPARED: [*row]}, EXACT)
        return [k.normalize(x) for x in results[BODY]]

    def _of_element(self, step: Program) -> Program:
        """Return a step, derived on two links, with the ports of an element; ports that it does not
        read are left out.

        The argument of the two links becomes that of joint i − 1 (suffix BEFORE) and that of joint
        i. Link constants and inertia numbers become CONSTANTS, the row of the element. Raises
        NotUniform if the step reads a number of the base.
        """
        names = [port.name for port in step.inputs]
        element_of_row: dict[int, tuple[str, int]] = {}
        for i, row in enumerate(step.rows):
            if row.op != "input":
                continue
            name, element = names[row.value[0]], row.value[1]
            if name in self.arguments:
                element_of_row[i] = name + ("" if element else BEFORE), 0
            elif name == BODY or (name == PREPARED and element < 2 * self.width):
                element_of_row[i] = CONSTANTS, element + 2 * self.width * (name == BODY)
            elif name == PREPARED:
                raise NotUniform("a step of an element depends on the base")
            else:
                element_of_row[i] = name, element
        sizes = {CONSTANTS: 2 * self.width + levels.LINK_SIZE, SAVED: self.work} | {
            port.name: port.size for port in step.inputs if port.name == DOWNSWEEP
        }
        sizes |= {name + suffix: 1 for name in self.arguments for suffix in ("", BEFORE)}
        used = {name for name, _ in element_of_row.values()}
        ports = [name for name in sizes if name in used]
        rows = tuple(
            row._replace(value=(ports.index(element_of_row[i][0]), element_of_row[i][1]))
            if i in element_of_row
            else row
            for i, row in enumerate(step.rows)
        )
        return replace(step, inputs=tuple(Port(name, (sizes[name],)) for name in ports), rows=rows)


class _Dynamics(_Solve):
    """Steps of forward dynamics: a scan for the angular velocities of the links, then a map and a
    scan as for M⁻¹ b.

    The first map saves the sine and the cosine of the joint angle, which the second map reads.
    """

    arguments = ("q", "v", "tau")
    result = "a"
    function = DYNAMICS

    def _first_maps(self) -> list[Map]:
        rotation = self._step(lambda linkage: {UPSWEEP: levels.rotation_step(linkage)}, {})
        sines = {row.op: i for i, row in enumerate(rotation.rows) if row.op in SINES}
        self.first_saved, self.work = len(sines), len(sines) + self.work
        if sines:
            port = Port(SAVED, (len(sines),), tuple(sines.values()))
            rotation = replace(rotation, outputs=(*rotation.outputs, port))
        segment = self._step(self._segment, {SAVED: self.work, DOWNSWEEP: 3})
        segment = _with_saved_sines(segment, [*sines])
        steps = PairSteps(
            levels.combine_rotations,
            levels.propagate_omega,
            levels.ROTATION_SIZE,
            levels.ROTATION_SIZE,
            3,
        )
        self.scans.insert(0, parallel_scan(self.function, METHOD, steps, levels.ROTATION_SIZE, 3))
        return [
            Map((self._of_element(rotation),), (0,)),
            Map((self._of_element(segment),), (self.first_saved,)),
        ]

    def _segment(self, linkage: Tabled) -> Results:
        inputs = linkage.derivation.inputs
        value, saved = levels.segment_of_place(linkage, inputs[BODY], inputs[DOWNSWEEP])
        return {UPSWEEP: value, SAVED: saved}


def _with_saved_sines(step: Program, sines: Sequence[str]) -> Program:
    """Return a step that reads the sine and the cosine of its joint as saved values, instead of
    computing them.

    `sines` lists the saved functions ("cos", "sin"), in the order in which they are saved.
    """
    saved = next(number for number, port in enumerate(step.inputs) if port.name == SAVED)
    rows = tuple(
        Row("input", (), (saved, sines.index(row.op)), "", row.step) if row.op in SINES else row
        for row in step.rows
    )
    return passes.run(replace(step, rows=rows))


EXACT = Numbers(k.rational, *[_no_function] * 5)
"""Exact arithmetic without functions, in which a step computes constants from constants."""
