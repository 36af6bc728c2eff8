"""Forward dynamics and M⁻¹ b of one chain of like links as a `Levelled`: steps of `symgen.methods.constraint_force.levels`."""

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
from symgen.ir.levelled import BEFORE, BEHIND, FRONT, KNOWN, RUN, Levelled, Tree, check
from symgen.ir.program import Numbers, Port, Program, Row
from symgen.ir.program import evaluate as evaluate_program
from symgen.ir.recursion import KEPT, TABLE, Kind
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.constraint_force import levels
from symgen.pipeline.loops.link_assignment import Unlike
from symgen.pipeline.loops.recursing import laid, unlike_links, with_table
from symgen.pipeline.loops.sample_chain import UNSEEN, unlike
from symgen.support.errors import OutOfReach

DYNAMICS, SOLVE, METHOD = "forward_dynamics", "mass_matrix_solve", "constraint_force:parallel"
FUNCTIONS = (DYNAMICS, SOLVE)
BODY, TURNS = "body", ("cos", "sin")


def levelled(mechanism: Mechanism, segments: int, function: str = DYNAMICS) -> Levelled:
    """One of FUNCTIONS of a chain, level by level in so many segments. Raises OutOfReach, in one sentence, where it is no chain
    of links that are alike.
    """
    return k.sharpened(lambda: _levelled(mechanism, segments, function))


def _levelled(mechanism: Mechanism, segments: int, function: str) -> Levelled:
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
    found = Levelled(
        function,
        METHOD,
        inputs,
        outputs,
        Kind(model.links[0].kind, 1, 1, len(tables[0])),
        tuple(tuple(k.to_fraction(x) for x in row) for row in tables),
        steps.of_places,
        steps.first,
        steps.trees,
        steps.work,
        segments=segments,
    )
    return check(pruned(found))


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
        self.trees: tuple[Tree, ...] = (Tree(up, down, (Fraction(0),) * 2 * size, cut, size),)
        self.kept, self.work = 0, 2 * (1 + 2 * size)
        before = self._up_to_the_runs()
        across = self._made(self._across, {KEPT: self.work, KNOWN: 2 * size})
        self.of_places = (*before, self._of_a_place(across))
        self.first = (*[0] * (len(before) - 1), self.kept, 0)

    def _up_to_the_runs(self) -> tuple[Program, ...]:
        """The steps of places up to those that give runs of H_bb."""
        return (self._of_a_place(self._made(self._halves, {KEPT: self.work})),)

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
        return {RUN: run, KEPT: kept}

    def _across(self, linkage: Tabled) -> dict[str, list[Scalar]]:
        kept = linkage.home.inputs[KEPT][self.kept :]
        near, far = levels.across(linkage.home, self.size, kept, linkage.home.inputs[KNOWN])
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
                at[i] = TABLE, element + 2 * self.width * (name == BODY)
            elif name == PREPARED:
                raise Unlike("a place asks for what the base is")
            else:
                at[i] = name, element
        sizes = {TABLE: 2 * self.width + levels.BODY, KEPT: self.work} | {
            port.name: port.size for port in step.inputs if port.name == KNOWN
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
        turning = self._made(lambda linkage: {RUN: levels.turn(linkage)}, {})
        sines = {row.op: i for i, row in enumerate(turning.rows) if row.op in TURNS}
        self.sines, self.kept, self.work = [*sines], len(sines), len(sines) + self.work
        if sines:
            turning = replace(
                turning,
                outputs=(*turning.outputs, Port(KEPT, (len(sines),), tuple(sines.values()))),
            )
        halves = self._with_sines(self._made(self._halves, {KEPT: self.work, KNOWN: 3}))
        turns = of_two(
            self.function, METHOD, levels.turn_of_both, levels.turned, levels.TURN, levels.TURN, 3
        )
        self.trees = (Tree(*turns, (Fraction(0),) * 3, levels.TURN, 3), *self.trees)
        return self._of_a_place(turning), self._of_a_place(halves)

    def _halves(self, linkage: Tabled) -> dict[str, list[Scalar]]:
        run, kept = levels.halves(linkage, linkage.home.inputs[BODY], linkage.home.inputs[KNOWN])
        return {RUN: run, KEPT: kept}

    def _with_sines(self, step: Program) -> Program:
        """The same where the sines of the joint between are kept already."""
        kept = next(place for place, port in enumerate(step.inputs) if port.name == KEPT)
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

    return made(up, {FRONT: run, BEHIND: run}, (RUN, KEPT)), made(
        down, {KEPT: kept, KNOWN: known}, (FRONT, BEHIND)
    )


def pruned(one: Levelled) -> Levelled:
    """The same with tables that hold no constant which no step reads."""
    used = sorted(
        {
            row.value[1]
            for step in one.steps_of_places
            for row in step.rows
            if row.op == "input" and step.inputs[row.value[0]].name == TABLE
        }
    )
    steps = tuple(with_table(step, used) for step in one.steps_of_places)
    return replace(
        one,
        kind=one.kind._replace(width=len(used)),
        steps_of_places=steps,
        tables=tuple(tuple(row[place] for place in used) for row in one.tables),
    )
