"""Forward dynamics and M⁻¹ b of one chain of like links by parallel scans: steps of `symgen.methods.constraint_force.levels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model import Model
from symgen.derivation.scalars import Derivation, DivisionByZero
from symgen.derivation.table_linkage import OF_BASE, PREPARED, Columns, Tabled, constants_of
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
    """Build one of FUNCTIONS of a chain by parallel scans over so many parts.

    Raises OutOfReach, in one sentence, if the robot is no chain of like links.
    """
    return k.with_enough_precision(lambda: _build_scan(mechanism, segments, function))


def _build_scan(mechanism: Mechanism, segments: int, function: str) -> LoopProgram:
    def refused(why: str) -> OutOfReach:
        return OutOfReach(
            f"{function} of '{mechanism.name}' by {METHOD} has no looped form, since {why}; take --form unrolled, "
            "or another method"
        )

    model = placed_links(mechanism, regrouped=False)
    if why := chain_fault(model):
        raise refused(why)
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
    """Return the constants of each element: those of the links on both sides of its joint, and of the body before it."""
    rows = [columns.row(row) for row in numbers]
    beyond = columns.row({**numbers[-1], "stiffness": k.ZERO})  # no spring without a joint
    gravity = k.scale(-k.ONE, model.links[0].gravity)
    base = [k.ZERO] * (levels.BODY - 3) + [*gravity]
    bodies = [base, *([*steps.body(row), *k.ORIGIN] for row in rows)]
    return [
        [*before, *row, *body]
        for before, row, body in zip([rows[0], *rows], [*rows, beyond], bodies, strict=True)
    ]


def _no_function(*_: Any) -> Any:
    raise NotUniform("a number of a link is a sine of another")


class _Solve:
    """Steps of M⁻¹ b of a chain whose links have these columns, each derived on two links of it."""

    arguments: tuple[str, ...] = ("q", "b")
    result = "x"
    function = SOLVE
    half_at = 0
    """Place where an element saves numbers with its UPSWEEP value of H_bb."""

    def __init__(self, model: Model, columns: Columns) -> None:
        self.width, self.columns = columns.width, columns
        links = unseen_links(model, [model.links[0].kind] * 2)
        self.model = replace(model, links=tuple(links))
        self.size = size = levels.forbidden(self._linkage({}))
        up_size, valid = levels.run_size(size)
        steps = PairSteps(
            lambda home, left, right: levels.eliminated(home, size, left, right),
            lambda home, saved, forces: levels.forced(home, size, saved, forces),
            up_size,
            levels.kept_size(size),
            2 * size,
        )
        self.scans = [parallel_scan(self.function, METHOD, steps, valid, size)]
        self.inverse = self._step(lambda linkage: {BODY: levels.body(linkage)}, {})
        self.work = 2 * (1 + 2 * size)
        self.maps = self._first_maps()
        across = self._step(self._across, {SAVED: self.work, DOWNSWEEP: 2 * size})
        self.maps.append(Map((self._of_element(across),), (0,)))

    def _first_maps(self) -> list[Map]:
        """Return the maps up to that which gives the UPSWEEP values of H_bb."""
        return [Map((self._of_element(self._step(self._halves, {SAVED: self.work})),), (0,))]

    def _linkage(self, more: Mapping[str, int]) -> Tabled:
        """Return two links with these arguments besides."""
        sizes = dict.fromkeys(self.arguments, 2) | {
            PREPARED: 2 * self.width + sum(OF_BASE.values()),
            BODY: levels.BODY,
            **more,
        }
        return Tabled(self.model, Derivation(sizes), [self.columns] * 2, [0, self.width])

    def _step(self, build: Callable[[Tabled], Results], more: Mapping[str, int]) -> Program:
        """Derive a step on two links with these arguments besides."""
        linkage = self._linkage(more)
        return passes.run(frozen(linkage.home, self.function, METHOD, build(linkage)))

    def _halves(self, linkage: Tabled) -> Results:
        value, saved = levels.halves_of_solve(linkage, linkage.home.inputs[BODY])
        return {UPSWEEP: value, SAVED: saved}

    def _across(self, linkage: Tabled) -> Results:
        saved = linkage.home.inputs[SAVED][self.half_at :]
        near, far = levels.across(linkage.home, self.size, saved, linkage.home.inputs[DOWNSWEEP])
        return {self.result + BEFORE: [near], self.result: [far]}

    def body(self, row: Sequence[k.Constant]) -> list[k.Constant]:
        """Return the numbers of a link that wrenches act on."""
        arguments = {port.name: [k.ZERO] * port.size for port in self.inverse.inputs}
        results = self.inverse.run(arguments | {PREPARED: [*row]}, EXACT)
        return [k.normalize(x) for x in results[BODY]]

    def _of_element(self, step: Program) -> Program:
        """Return a step with the ports of an element, as far as it reads them."""
        names = [port.name for port in step.inputs]
        read: dict[int, tuple[str, int]] = {}
        for i, row in enumerate(step.rows):
            if row.op != "input":
                continue
            name, element = names[row.value[0]], row.value[1]
            if name in self.arguments:
                read[i] = name + ("" if element else BEFORE), 0
            elif name == BODY or (name == PREPARED and element < 2 * self.width):
                read[i] = CONSTANTS, element + 2 * self.width * (name == BODY)
            elif name == PREPARED:
                raise NotUniform("a step of an element depends on the base")
            else:
                read[i] = name, element
        sizes = {CONSTANTS: 2 * self.width + levels.BODY, SAVED: self.work} | {
            port.name: port.size for port in step.inputs if port.name == DOWNSWEEP
        }
        sizes |= {name + suffix: 1 for name in self.arguments for suffix in ("", BEFORE)}
        used = {name for name, _ in read.values()}
        ports = [name for name in sizes if name in used]
        rows = tuple(
            row._replace(value=(ports.index(read[i][0]), read[i][1])) if i in read else row
            for i, row in enumerate(step.rows)
        )
        return replace(step, inputs=tuple(Port(name, (sizes[name],)) for name in ports), rows=rows)


class _Dynamics(_Solve):
    """Steps of forward dynamics: before those of a solve a scan gives angular velocities.

    The first map saves the sine and the cosine of the joint for the others.
    """

    arguments = ("q", "v", "tau")
    result = "a"
    function = DYNAMICS

    def _first_maps(self) -> list[Map]:
        turn = self._step(lambda linkage: {UPSWEEP: levels.turn(linkage)}, {})
        sines = {row.op: i for i, row in enumerate(turn.rows) if row.op in SINES}
        self.half_at, self.work = len(sines), len(sines) + self.work
        if sines:
            port = Port(SAVED, (len(sines),), tuple(sines.values()))
            turn = replace(turn, outputs=(*turn.outputs, port))
        halves = self._step(self._halves, {SAVED: self.work, DOWNSWEEP: 3})
        halves = _with_saved_sines(halves, [*sines])
        steps = PairSteps(levels.turn_of_both, levels.propagate_omega, levels.TURN, levels.TURN, 3)
        self.scans.insert(0, parallel_scan(self.function, METHOD, steps, levels.TURN, 3))
        return [
            Map((self._of_element(turn),), (0,)),
            Map((self._of_element(halves),), (self.half_at,)),
        ]

    def _halves(self, linkage: Tabled) -> Results:
        inputs = linkage.home.inputs
        value, saved = levels.halves(linkage, inputs[BODY], inputs[DOWNSWEEP])
        return {UPSWEEP: value, SAVED: saved}


def _with_saved_sines(step: Program, sines: Sequence[str]) -> Program:
    """Return a step that reads the sines of its joint as saved values."""
    saved = next(number for number, port in enumerate(step.inputs) if port.name == SAVED)
    rows = tuple(
        Row("input", (), (saved, sines.index(row.op)), "", row.step) if row.op in SINES else row
        for row in step.rows
    )
    return passes.run(replace(step, rows=rows))


EXACT = Numbers(k.rational, *[_no_function] * 5)
"""Exact numbers, for constants that are computed from constants."""
