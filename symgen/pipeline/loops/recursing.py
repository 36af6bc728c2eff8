"""A function as a `LoopProgram`: a method is run on a short chain of like links, what repeats is folded, a table is filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import NamedTuple

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.model import Frame, Link, Model, reframe, regroup
from symgen.derivation.model.links import place
from symgen.derivation.scalars import DivisionByZero
from symgen.derivation.table_linkage import GEOMETRY, TEN, Columns, constants_of
from symgen.ir import passes
from symgen.ir.loops import (
    FINAL_CARRY,
    FinalCarry,
    LinkClass,
    LoopProgram,
    Sweep,
    check,
    without_unused_constants,
)
from symgen.ir.program import Port, Program
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.pipeline.loops.epilogue import finished
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.isomorphism import Folded, folded
from symgen.pipeline.loops.link_assignment import Group, Ref, Unlike, grouped
from symgen.pipeline.loops.liveness import Plan, planned, slotted
from symgen.pipeline.loops.numeric_check import sampled
from symgen.pipeline.loops.sample_chain import BEFORE, BEHIND, GHOST, Chain, Run, chained, run
from symgen.pipeline.loops.steps import Step, results_of
from symgen.support.cache import LOG
from symgen.support.errors import MethodRefusal, OutOfReach
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS


def recursion(mechanism: Mechanism, function: str, method: str, frame: str = "") -> LoopProgram:
    """The function by one method, as sweeps; of the `frame` of that name where it is about one. Raises OutOfReach, in one
    sentence, where its links do not come out the same.
    """
    return k.sharpened(lambda: _recursion(mechanism, function, method, frame))


def _recursion(mechanism: Mechanism, function: str, method: str, named: str) -> LoopProgram:
    ports = _ports(mechanism, function, False), _ports(mechanism, function, True)
    regrouped = FUNCTIONS[function].sums_forces and methods.find(method).regroups
    model, numbers = _laid(mechanism, regrouped, any(_widths(function).values()), k.digits())
    frame = model.frame(mechanism, named) if FUNCTIONS[function].needs_frame else None
    trunks = [i for i, link in enumerate(model.links) if link.kind == GHOST]
    if any(model.links[i].parent != BASE for i in trunks):
        raise OutOfReach(
            f"{function} of '{mechanism.name}' has no looped form, since a link behind others moves freely; take "
            "--form unrolled"
        )
    several = bool(trunks) and sum(link.parent == BASE for link in model.links) > 1
    ways = [] if several and len(trunks) == len(model.links) else [[model.links[i] for i in trunks]]
    if (
        several
    ):  # beside other roots, a free root that cannot be what all stand on is a link like any other
        ways.append([])
    refused: OutOfReach | None = None
    for trunk in ways:
        try:
            return _with_trunk(mechanism, function, method, ports, model, numbers, trunk, frame)
        except OutOfReach as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _with_trunk(
    mechanism: Mechanism,
    function: str,
    method: str,
    ports: tuple[tuple[Port, ...], tuple[Port, ...]],
    model: Model,
    numbers: Sequence[Mapping[str, k.Constant]],
    trunk: Sequence[Link],
    frame: Frame | None,
) -> LoopProgram:
    """The function where the links of `trunk`, all that move freely or none, are what the others stand on."""
    (inputs, outputs), widths = ports, _widths(function)
    kinds = tuple(
        dict.fromkeys(link.kind for link in model.links if not trunk or link.kind != GHOST)
    )
    if not kinds:
        raise OutOfReach(
            f"{function} of '{mechanism.name}' has no looped form, since nothing stands on what moves freely; take "
            "--form unrolled"
        )
    of = tuple(kinds.index(link.kind) if link.kind in kinds else len(kinds) for link in model.links)
    if frame is not None and (frame.link < 0 or of[frame.link] == len(kinds)):
        raise OutOfReach(
            f"{function} of '{mechanism.name}' has no looped form, since frame '{frame.name}' stands on no link "
            "with a joint behind the base's; take --form unrolled"
        )
    by_class = [
        [row for row, own in zip(numbers, of, strict=True) if own == c] for c in range(len(kinds))
    ]
    why = ""
    # What is taken for common to all links: less and less, as long as it is zero, or one, to some of them for what stands beside.
    felt = [
        [name for name in TEN if any(not k.is_zero(row[name]) for row in rows)] for rows in by_class
    ]
    for apart in ([()] * len(kinds), [("m",)] * len(kinds), felt, [GEOMETRY + TEN] * len(kinds)):
        # A pitch is in the table even where all have the same one: a constant times what a child hands on would be the child's.
        columns = [
            Columns.of(rows, (*own, *[parameter.name for parameter in joint_type(kind).parameters]))
            for rows, own, kind in zip(by_class, apart, kinds, strict=True)
        ]
        try:
            roots = sum(link.parent == BASE for link in model.links)
            chain = replace(
                chained(model, kinds, columns, trunk, widths, frame),
                rows=_rows(function),
                rooted=len(trunk) == roots == 1 and frame is None,
                on=frame.link if frame else -1,
            )
            found = swept(chain, bool(trunk), run(chain, function, method))
            tables = tuple(
                tuple(k.to_fraction(x) for x in found.columns[own].row(row))
                for row, own in zip(numbers, of, strict=True)
            )
            names = [*kinds, *[GHOST] * bool(trunk)]
            form = LoopProgram(
                function,
                method,
                inputs,
                outputs,
                tuple(
                    LinkClass(name, joint_type(name).nq, joint_type(name).nv, own.width, own.names)
                    for name, own in zip(names, found.columns, strict=False)
                ),
                tuple(link.parent for link in model.links),
                of,
                tables,
                found.sweeps,
                found.work,
                final_carries=found.ends,
                epilogue=found.last,
                per_link=tuple(widths.items()),
                columns=tuple(chain.rows.items()),
                quaternions=mechanism.quaternions,
            ).by(passes.run)
            if frame is not None:
                form = form.along_path_to(frame.link)
            form = check(without_unused_constants(form))
            sampled(form, model, frame)
            return form
        except (Unlike, MethodRefusal, DivisionByZero) as unlike:
            why = str(unlike)
    raise unlike_links(mechanism, function, method, why, "--form unrolled, or another method")


def unlike_links(
    mechanism: Mechanism, function: str, method: str, detail: str, remedy: str
) -> OutOfReach:
    """Return the refusal of a looped form whose links differ; `detail`, which speaks of rows of a sample chain, goes to the log."""
    LOG.info("%s by %s does not repeat link for link: %s", function, method, detail)
    return OutOfReach(
        f"{function} by {method} has no looped form for '{mechanism.name}', since its steps are not the same for "
        f"every link; take {remedy}"
    )


@lru_cache(maxsize=4)
def _laid(
    mechanism: Mechanism, regrouped: bool, placed: bool, digits: int
) -> tuple[Model, list[dict[str, k.Constant]]]:
    """The links and their numbers, at the working precision that `digits` names; if `placed`, of their declared frames too."""
    model = laid(mechanism, regrouped)
    return model, [constants_of(link, placed) for link in model.links]


def laid(mechanism: Mechanism, regrouped: bool) -> Model:
    """The links in the frames that a table has them in: those in which little is multiplied, and of all roots one base. Inertia
    that a joint does not feel is moved to the parent if `regrouped`.
    """
    model = reframe(mechanism)
    if sum(link.parent == BASE for link in model.links) > 1:
        model = place(
            mechanism, [link.placement for link in model.links], [None] * len(model.links)
        )
    return regroup(model) if regrouped else model


def _ports(mechanism: Mechanism, function: str, results: bool) -> tuple[Port, ...]:
    what = FUNCTIONS[function]
    arrays = what.results if results else what.arguments
    if any(_width(array) is None for array in arrays if array.name not in _rows(function)):
        raise OutOfReach(
            f"{function} has no looped form, since not all of its arguments and results are numbers of joints or of "
            "links; take --form unrolled"
        )
    return tuple(Port(array.name, array.sizes(mechanism.sizes)) for array in arrays)


def _width(array: Array) -> int | None:
    """How many elements a link has: -1 of what joints have, 0 of what is one for all; None of what is neither."""
    if array.shape in (("NV",), ("NQ",)):
        return -1
    first, *rest = array.shape or ("",)
    sizes = [size for size in (rest if first == "NB" else array.shape) if isinstance(size, int)]
    if len(sizes) != len(array.shape) - (first == "NB"):
        return None
    return prod(sizes) if first == "NB" else 0


def _widths(function: str) -> dict[str, int]:
    """Of those of its arguments and results that joints do not have."""
    what = FUNCTIONS[function]
    found = {array.name: _width(array) for array in (*what.arguments, *what.results)}
    return {name: width for name, width in found.items() if width is not None and width >= 0}


def _rows(function: str) -> dict[str, int]:
    """Of results with a column a degree of freedom, how many rows they have."""
    return {
        array.name: rows
        for array in FUNCTIONS[function].results
        for rows, across in [array.shape if len(array.shape) == 2 else (0, "")]
        if isinstance(rows, int) and across == "NV"
    }


class Swept(NamedTuple):
    """Numbers that are kept a link, the sweeps, the columns of each class, what is carried to an end, what is made of it there,
    and of each sweep what the ghost calls the elements that it hands on.
    """

    work: int
    sweeps: tuple[Sweep, ...]
    columns: tuple[Columns, ...]
    ends: tuple[FinalCarry, ...]
    last: Program | None
    heads: tuple[tuple[tuple[str, ...], ...], ...]


def swept(chain: Chain, trunks: bool, of: Run) -> Swept:
    """The rows of a chain, folded. Where there are `trunks` the ghost is a class of the robot's."""
    program, link_of, called, seeds = of
    groups = grouped(program, chain.parents, link_of, chain.link_of_input(program))
    fold, middle = _folded(chain, program, groups)
    interface = Interface(program, called, fold, chain.classes, middle, not trunks)
    standing = fold.standing | ({chain.ghost: 0} if trunks else {})
    pivots = FUNCTIONS[program.function].needs_inverse or FUNCTIONS[program.function].by_pivots
    whole = [
        port for port in program.outputs if chain.widths.get(port.name) == 0 and not chain.rooted
    ]
    try:
        whole_rows = {
            port.name: [_row_of_the_ghost(program, groups[0], r) for r in port.rows]
            for port in whole
        }
        ending = {
            name: [interface.ending(row, pivots) for row in rows]
            for name, rows in whole_rows.items()
        }
        if any(len({level for level, _ in several}) > 1 for several in ending.values()):
            raise Unlike(
                f"a result of {program.function} by {program.method} comes to the base by several sweeps"
            )
        ends_at = {
            there: row
            for name, rows in whole_rows.items()
            for there, row in zip(ending[name], rows, strict=True)
        }
        finish = None
    except Unlike:
        if chain.frame is None and (trunks or pivots):  # of which the ghost would be part
            raise
        finish, ending, ends_at = (
            finished(chain, program, fold, middle, interface, [port.name for port in whole]),
            {},
            {},
        )
    plans: dict[int, Plan] = {}

    def handed_by(level: int, own: int) -> list[int | None]:
        return [row for row, _ in _handed(chain, fold, interface, level, own, ends_at)]

    for own, i in standing.items():
        handed = {level: handed_by(level, own) for level in range(fold.levels)}
        at = {r: row for row, r in enumerate(groups[i].rows)}
        results = [
            (at[r], due)
            for rows, due in results_of(chain, program, groups[i]).values()
            for r in rows
            if r in at
        ]
        plans[own] = planned(program, groups[i], fold.levels, handed, results)
    slots = {own: slotted(plan) for own, plan in plans.items()}
    work = max(1 + max(own.values(), default=-1) for own in slots.values())
    sweeps: list[Sweep] = []
    of_level = {}
    for level in range(fold.levels):
        steps = [
            Step(
                chain,
                program,
                groups[standing[own]],
                plans[own],
                level,
                slots[own],
                work,
                interface,
                _handed(chain, fold, interface, level, own, ends_at),
                level == fold.levels - 1,
            )
            for own in sorted(standing)
        ]
        if not any(step.program.rows for step in steps):
            continue
        inward, of_level[level] = level % 2 == 1, len(sweeps)
        seeded = _seeded(interface, fold, level, seeds) if inward else []
        joins = (
            _joins(interface, groups, fold.standing, chain, program, level)
            if inward and not seeded
            else []
        )
        start = (
            seeded or [Fraction(int(join == "mul")) for join in joins]
            if inward
            else _start(chain, program, fold, interface, level)
        )
        sweeps.append(
            Sweep(
                inward,
                tuple(step.program for step in steps),
                tuple(start),
                tuple(joins),
                tuple(step.first for step in steps),
                chain.on if seeded else -1,
            )
        )
    ends = tuple(
        FinalCarry(name, of_level[several[0][0]], tuple(element for _, element in several))
        for name, several in ending.items()
    )
    if finish is not None:
        ends = tuple(
            FinalCarry(FINAL_CARRY, of_level[level], elements, chain.on)
            for level, elements in finish.elements.items()
        )
    heads = [
        tuple(
            tuple(() if row is None else interface.names(0, row))
            for row in interface.of_the_ghost(level)
        )
        if not level % 2
        else ()
        for level in of_level
    ]
    return Swept(work, tuple(sweeps), chain.columns, ends, finish and finish.program, tuple(heads))


def _row_of_the_ghost(program: Program, ghost: Group, r: int) -> int:
    if r not in ghost.rows:
        raise Unlike(
            f"a result of {program.function} by {program.method} is no sum and no product that comes to the base"
        )
    return ghost.rows.index(r)


def _handed(
    chain: Chain,
    fold: Folded,
    interface: Interface,
    level: int,
    own: int,
    ends_at: Mapping[tuple[int, int], int],
) -> list[tuple[int | None, int]]:
    """The row of a class that hands on each element of a sweep, None where it is nothing, and whether with the opposite sign."""
    if own != chain.ghost:
        return [(row, int((own, row) in fold.turned)) for row in interface.rows(level, own)]
    if level % 2:  # to the base, which wants to know what ends there
        return [
            (ends_at.get((level, element)), 0)
            for element in range(len(interface.elements.get(level, [])))
        ]
    return [(row, 0) for row in interface.of_the_ghost(level)]


def _folded(chain: Chain, program: Program, groups: list[Group]) -> tuple[Folded, range]:
    """The links that come out the same, of as many as can be."""
    why: Unlike | None = None
    for first in range(1, BEFORE + 1):
        middle = range(first, len(groups) - BEHIND)
        try:
            return folded(program, groups, chain.classes, middle), middle
        except Unlike as unlike:
            why = unlike
    assert why is not None
    raise why


def _seeded(
    interface: Interface, fold: Folded, level: int, seeds: Mapping[str, Fraction]
) -> list[Fraction]:
    """What the frame hands inward in place of a link behind its own; nothing where links of all branches do. Raises Unlike where
    some of it comes from there and some from all.
    """
    (own, link), *_ = fold.standing.items()
    rows = interface.rows(level, own)
    found = [
        next((seeds[name] for name in interface.names(link, row) if name in seeds), None)
        if row is not None
        else None
        for row in rows
    ]
    values = [value for value in found if value is not None]
    if values and len(values) < len(found):
        raise Unlike("what comes from the frame and what comes from all links goes in one sweep")
    return values


def _start(
    chain: Chain, program: Program, fold: Folded, interface: Interface, level: int
) -> list[Fraction]:
    """What the base hands on: what the ghost does at rest."""
    given = chain.at_rest()
    ghost, known = fold.groups[0], []
    if not interface.elements.get(level):
        return []
    for r, takes in zip(ghost.rows, ghost.takes, strict=True):
        op, _, value, *_ = program.rows[r]
        if op == "input":
            known.append(given.get(program.inputs[value[0]].name, {}).get(value[1], Fraction(0)))
        else:  # nothing comes from further out
            of = [
                ref
                if isinstance(ref, Fraction)
                else known[ref.row]
                if isinstance(ref, Ref) and not ref.side
                else Fraction(0)
                for ref in takes
            ]
            known.append(_at_rest(op, *of))
    return [Fraction(0) if row is None else known[row] for row in interface.of_the_ghost(level)]


def _at_rest(op: str, a: Fraction, b: Fraction = Fraction(0)) -> Fraction:
    """An operation there, where whatever would be divided by nothing comes from further out, and is nothing. Raises Unlike."""
    if op in ("sin", "cos") and not a:
        return Fraction(int(op == "cos"))
    if op == "div":
        return a / b if b else Fraction(0)
    exactly: Mapping[str, Callable[[], Fraction]] = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "neg": lambda: -a,
        "log": lambda: Fraction(0),
    }
    if op not in exactly:
        raise Unlike(f"the base hands on the {op} of something")
    return exactly[op]()


def _joins(
    interface: Interface,
    groups: Sequence[Group],
    standing: Mapping[int, int],
    chain: Chain,
    program: Program,
    level: int,
) -> list[str]:
    """How what several children hand on becomes one: a sum, but for a product that goes from link to link."""
    products = set()
    for i in standing.values():
        factors: list[set[tuple[int, int]]] = [set() for _ in groups[i].rows]
        for row, (r, takes) in enumerate(zip(groups[i].rows, groups[i].takes, strict=True)):
            if program.rows[r].op != "mul":
                continue
            for ref in (
                one for one in takes if isinstance(one, Ref)
            ):  # a joint of several degrees multiplies several
                if ref.side > 0:
                    factors[row].add(interface.root((interface.labels[i + 1], ref.row)))
                elif not ref.side:
                    factors[row] |= factors[ref.row]
            element = interface.root((chain.classes[i], row))
            if element in factors[row]:
                products.add(element)
    return [
        "mul" if element in products else "add" for element in interface.elements.get(level, [])
    ]
