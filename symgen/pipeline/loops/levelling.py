"""Forward dynamics and M⁻¹ b of one chain of like links as a `LoopProgram`: steps of `symgen.methods.constraint_force.levels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model import Model
from symgen.derivation.scalars import Derivation, DivisionByZero, Scalar
from symgen.derivation.table_linkage import OF_BASE, PREPARED, Columns, Tabled, constants_of
from symgen.ir import passes
from symgen.ir.loops import (
    BEFORE,
    CONSTANTS,
    DOWNSWEEP,
    LEFT,
    RIGHT,
    SAVED,
    UPSWEEP,
    LinkClass,
    LoopProgram,
    Map,
    ParallelScan,
    Stage,
    check,
    without_unused_constants,
)
from symgen.ir.program import Numbers, Port, Program, Row
from symgen.ir.program import evaluate as evaluate_program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.constraint_force import levels
from symgen.pipeline.loops.link_assignment import Unlike
from symgen.pipeline.loops.recursing import laid, unlike_links
from symgen.pipeline.loops.sample_chain import UNSEEN, unlike
from symgen.support.errors import OutOfReach

DYNAMICS, SOLVE, METHOD = "forward_dynamics", "mass_matrix_solve", "constraint_force:parallel"
FUNCTIONS = (DYNAMICS, SOLVE)
BODY, TURNS = "body", ("cos", "sin")


def levelled(mechanism: Mechanism, segments: int, function: str = DYNAMICS) -> LoopProgram:
    """One of FUNCTIONS of a chain, level by level in so many segments. Raises OutOfReach, in one sentence, where it is no chain
    of links that are alike.
    """
    return k.sharpened(lambda: _levelled(mechanism, segments, function))


def _levelled(mechanism: Mechanism, segments: int, function: str) -> LoopProgram:
    def refused(why: str) -> OutOfReach:
        return OutOfReach(
            f"{function} of '{mechanism.name}' by {METHOD} has no looped form, since {why}; take --form unrolled, "
            "or another method"
        )

    model = laid(mechanism, regrouped=False)
    if why := unlike(model):
        raise refused(why)
    numbers = [constants_of(link) for link in model.links]
    if len({k.is_zero(row["armature"]) for row in numbers}) > 1:
        raise refused("only some of its joints have an armature")
    springs = any(not k.is_zero(row["stiffness"]) for row in numbers)
    columns = Columns.of(numbers, ("stiffness",) if springs else ())
    try:
        steps = (_Moving if function == DYNAMICS else _Solving)(model, columns)
    except (Unlike, DivisionByZero) as error:
        raise unlike_links(
            mechanism, function, METHOD, str(error), "--form unrolled, or another method"
        ) from None
    rows = [columns.row(own) for own in numbers]
    behind = columns.row(
        numbers[-1] | {"stiffness": k.ZERO}
    )  # where there is no joint no spring pulls
    bodies = [steps.body(row) for row in rows]
    gravity = model.links[0].gravity
    base = [k.ZERO] * (levels.BODY - 3) + [*k.scale(-k.ONE, gravity)]
    tables = [
        [*before, *row, *own]
        for before, row, own in zip(
            [rows[0], *rows],
            [*rows, behind],
            [base, *([*own, *k.ORIGIN] for own in bodies)],
            strict=True,
        )
    ]
    inputs, outputs = (
        tuple(Port(name, (len(model.links),)) for name in names)
        for names in (steps.arguments, [steps.result])
    )
    found = LoopProgram(
        function,
        METHOD,
        inputs,
        outputs,
        (LinkClass(model.links[0].kind, 1, 1, len(tables[0])),),
        tuple(range(-1, len(model.links) - 1)),
        (0,) * len(model.links),
        tuple(tuple(k.to_fraction(x) for x in row) for row in tables),
        in_turn(steps.maps, steps.scans),
        steps.work,
        part_lengths=(-(-len(tables) // segments),) * segments,
    )
    return check(without_unused_constants(found))


def _none(*_: Any) -> Any:
    raise Unlike("a number of a link is a sine of another")


class _Solving:
    """The steps of M⁻¹ b of a chain whose links have these columns, each made on two links of it. What a place keeps when it has
    its run of H_bb stands from the number `kept` on.
    """

    arguments: tuple[str, ...] = ("q", "b")
    result = "x"
    function = SOLVE

    def __init__(self, model: Model, columns: Columns) -> None:
        self.width, links = columns.width, []
        for i in range(2):
            links.append(
                replace(
                    model.links[0],
                    name=f"link{i}",
                    q=slice(i, i + 1),
                    v=slice(i, i + 1),
                    parent=i - 1,
                    rotation=UNSEEN,
                    shift=UNSEEN,
                    inertia=UNSEEN,
                    center=UNSEEN,
                    placement=UNSEEN,
                    gravity=UNSEEN,
                    base_shift=UNSEEN,
                )
            )
        self.columns, self.model = columns, replace(model, links=tuple(links))
        self.size = size = levels.forbidden(self._linkage({}))
        (run, cut), kept = levels.run_size(size), levels.kept_size(size)
        up, down = of_two(
            self.function,
            METHOD,
            lambda home, front, behind: levels.eliminated(home, size, front, behind),
            lambda home, own, known: levels.forced(home, size, own, known),
            run,
            kept,
            2 * size,
        )
        self.inverse = self._made(lambda linkage: {BODY: levels.body(linkage)}, {})
        self.scans: tuple[ParallelScan, ...] = (
            ParallelScan(up, down, (Fraction(0),) * 2 * size, cut, size),
        )
        self.kept, self.work = 0, 2 * (1 + 2 * size)
        before = self._up_to_the_runs()
        across = self._made(self._across, {SAVED: self.work, DOWNSWEEP: 2 * size})
        steps = (*before, self._of_a_place(across))
        saved_at = (*[0] * (len(before) - 1), self.kept, 0)
        self.maps = [Map((step,), (at,)) for step, at in zip(steps, saved_at, strict=True)]

    def _up_to_the_runs(self) -> tuple[Program, ...]:
        """The steps of places up to those that give runs of H_bb."""
        return (self._of_a_place(self._made(self._halves, {SAVED: self.work})),)

    def _linkage(self, more: Mapping[str, int]) -> Tabled:
        sizes = dict.fromkeys(self.arguments, 2) | {
            PREPARED: 2 * self.width + sum(OF_BASE.values()),
            BODY: levels.BODY,
            **more,
        }
        return Tabled(self.model, Derivation(sizes), [self.columns] * 2, [0, self.width])

    def _made(
        self, build: Callable[[Tabled], dict[str, list[Scalar]]], more: Mapping[str, int]
    ) -> Program:
        """What `build` makes on two links, where there are `more` arguments."""
        linkage = self._linkage(more)
        results = [(name, (len(atoms),), atoms) for name, atoms in build(linkage).items()]
        shapes = {name: (size,) for name, size in linkage.home.sizes.items()}
        return passes.run(linkage.home.freeze(self.function, METHOD, results, shapes))

    def _halves(self, linkage: Tabled) -> dict[str, list[Scalar]]:
        run, kept = levels.halves_of_solve(linkage, linkage.home.inputs[BODY])
        return {UPSWEEP: run, SAVED: kept}

    def _across(self, linkage: Tabled) -> dict[str, list[Scalar]]:
        kept = linkage.home.inputs[SAVED][self.kept :]
        near, far = levels.across(linkage.home, self.size, kept, linkage.home.inputs[DOWNSWEEP])
        return {self.result + BEFORE: [near], self.result: [far]}

    def body(self, row: Sequence[k.Constant]) -> list[k.Constant]:
        """The numbers of a link that wrenches act on."""
        given = {port.name: [k.ZERO] * port.size for port in self.inverse.inputs} | {
            PREPARED: [*row]
        }
        return [k.settle(x) for x in evaluate_program(self.inverse, given, EXACTLY)[BODY]]

    def _of_a_place(self, step: Program) -> Program:
        """The same with the ports of a place, of which it has those that it reads."""
        names = [port.name for port in step.inputs]
        at: dict[int, tuple[str, int]] = {}
        for i, row in enumerate(step.rows):
            if row.op != "input":
                continue
            name, element = names[row.value[0]], row.value[1]
            if name in self.arguments:
                at[i] = name + ("" if element else BEFORE), 0
            elif name == BODY or (name == PREPARED and element < 2 * self.width):
                at[i] = CONSTANTS, element + 2 * self.width * (name == BODY)
            elif name == PREPARED:
                raise Unlike("a place asks for what the base is")
            else:
                at[i] = name, element
        sizes = {CONSTANTS: 2 * self.width + levels.BODY, SAVED: self.work} | {
            port.name: port.size for port in step.inputs if port.name == DOWNSWEEP
        }
        sizes |= {name + which: 1 for name in self.arguments for which in ("", BEFORE)}
        found = [name for name in sizes if name in {name for name, _ in at.values()}]
        rows = tuple(
            row._replace(value=(found.index(at[i][0]), at[i][1])) if i in at else row
            for i, row in enumerate(step.rows)
        )
        return replace(step, inputs=tuple(Port(name, (sizes[name],)) for name in found), rows=rows)


class _Moving(_Solving):
    """Those of forward dynamics: before them angular velocities come by a tree. `sines` are those of the joint between that the
    first step keeps for the others.
    """

    arguments = ("q", "v", "tau")
    result = "a"
    function = DYNAMICS

    def _up_to_the_runs(self) -> tuple[Program, ...]:
        turning = self._made(lambda linkage: {UPSWEEP: levels.turn(linkage)}, {})
        sines = {row.op: i for i, row in enumerate(turning.rows) if row.op in TURNS}
        self.sines, self.kept, self.work = [*sines], len(sines), len(sines) + self.work
        if sines:
            turning = replace(
                turning,
                outputs=(*turning.outputs, Port(SAVED, (len(sines),), tuple(sines.values()))),
            )
        halves = self._with_sines(self._made(self._halves, {SAVED: self.work, DOWNSWEEP: 3}))
        turns = of_two(
            self.function, METHOD, levels.turn_of_both, levels.turned, levels.TURN, levels.TURN, 3
        )
        self.scans = (ParallelScan(*turns, (Fraction(0),) * 3, levels.TURN, 3), *self.scans)
        return self._of_a_place(turning), self._of_a_place(halves)

    def _halves(self, linkage: Tabled) -> dict[str, list[Scalar]]:
        run, kept = levels.halves(
            linkage, linkage.home.inputs[BODY], linkage.home.inputs[DOWNSWEEP]
        )
        return {UPSWEEP: run, SAVED: kept}

    def _with_sines(self, step: Program) -> Program:
        """The same where the sines of the joint between are kept already."""
        kept = next(place for place, port in enumerate(step.inputs) if port.name == SAVED)
        return passes.run(
            replace(
                step,
                rows=tuple(
                    Row("input", (), (kept, self.sines.index(row.op)), "", row.step)
                    if row.op in TURNS
                    else row
                    for row in step.rows
                ),
            )
        )


EXACTLY = Numbers(k.rational, *[_none] * 5)
"""To make constants of constants."""

OfTwo = Callable[
    [Derivation, Sequence[Scalar], Sequence[Scalar]], tuple[list[Scalar], list[Scalar]]
]


def of_two(
    function: str, method: str, up: OfTwo, down: OfTwo, run: int, kept: int, known: int
) -> tuple[Program, Program]:
    """The steps of a tree."""

    def made(of: OfTwo, taken: dict[str, int], given: Sequence[str]) -> Program:
        home = Derivation(taken)
        results = [
            (name, (len(atoms),), atoms)
            for name, atoms in zip(given, of(home, *home.inputs.values()), strict=True)
        ]
        return passes.run(
            home.freeze(function, method, results, {name: (size,) for name, size in taken.items()})
        )

    return made(up, {LEFT: run, RIGHT: run}, (UPSWEEP, SAVED)), made(
        down, {SAVED: kept, DOWNSWEEP: known}, (LEFT, RIGHT)
    )


def in_turn(maps: Sequence[Map], scans: Sequence[ParallelScan]) -> tuple[Stage, ...]:
    """Return maps with a scan between every two of them."""
    pairs = zip(maps, scans, strict=False)
    return (*(stage for pair in pairs for stage in pair), maps[-1])
