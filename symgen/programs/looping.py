"""A function as a `Recursion`: the method is run on a short chain of like links, what repeats is folded, and the table is filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from symgen import passes
from symgen.derivation import constants as k
from symgen.derivation.model import Link, Model, reframe
from symgen.derivation.model.links import place
from symgen.derivation.tabled import GEOMETRY, PREPARED, TEN, Columns, Tabled, constants_of
from symgen.errors import OutOfReach
from symgen.functions import FUNCTIONS
from symgen.ir import Port, Program
from symgen.joints import joint_type
from symgen.mechanism import BASE, Mechanism
from symgen.options import ProgramOptions
from symgen.programs._chains import BEFORE, BEHIND, GHOST, Chain, chained, run
from symgen.programs._steps import Step
from symgen.programs.folding import Folded, Group, Interface, Plan, Ref, Unlike, folded, grouped, planned
from symgen.recursion import CARRIED, Kind, Recursion, Sweep, check


def recursion(mechanism: Mechanism, function: str, method: str, options: ProgramOptions | None = None) -> Recursion:
    """The function by one method, as sweeps. Raises OutOfReach, in one sentence, where its links do not come out the same."""
    options = options or ProgramOptions()
    return k.sharpened(lambda: _recursion(mechanism, function, method, options))


def _recursion(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Recursion:
    inputs, outputs = _ports(mechanism, function, False), _ports(mechanism, function, True)
    model = laid(mechanism)
    trunks = [i for i, link in enumerate(model.links) if link.kind == GHOST]
    if any(model.links[i].parent != BASE for i in trunks):
        raise OutOfReach(f"{function} of '{mechanism.name}' has no looped form, since a link behind others moves freely; take "
                         "--form unrolled")
    kinds = tuple(dict.fromkeys(link.kind for link in model.links if link.kind != GHOST))
    of = tuple(kinds.index(link.kind) if link.kind != GHOST else len(kinds) for link in model.links)
    numbers = [constants_of(link) for link in model.links]
    by_class = [[row for row, own in zip(numbers, of, strict=True) if own == c] for c in range(len(kinds))]
    last = ""
    for columns in ([Columns.of(rows) for rows in by_class], [Columns.of(rows, GEOMETRY + TEN) for rows in by_class]):
        try:
            work, sweeps, widths = _swept(model, kinds, columns, function, method)
            break
        except Unlike as unlike:   # what is the same of some links is zero for their neighbours: as if it were not the same
            last = str(unlike)
    else:
        raise OutOfReach(f"{function} by {method} has no looped form for '{mechanism.name}': {last}")
    rows = [*columns, Columns.of_the_ghost(numbers[trunks[0]] if trunks else constants_of(model.links[0]))]
    tables = tuple(tuple(k.to_fraction(x) for x in rows[own].row(row)) for row, own in zip(numbers, of, strict=True))
    names = [*kinds, *[GHOST] * bool(trunks)]
    found = Recursion(
        function, method, inputs, outputs,
        tuple(Kind(kind, joint_type(kind).nq, joint_type(kind).nv, width) for kind, width in zip(names, widths, strict=False)),
        tuple(link.parent for link in model.links), of, tables, sweeps, work, real=options.real,
        joints=tuple(joint.kind for joint in mechanism.joints))
    return check(found.by(passes.run))


def laid(mechanism: Mechanism) -> Model:
    """The links in the frames that a table has them in: those in which little is multiplied, and of all roots one base. Inertia
    stays with its link: moved to the parents it piles up on the inner ones, which costs long chains digits.
    """
    model = reframe(mechanism)
    if sum(link.parent == BASE for link in model.links) == 1:
        return model
    return place(mechanism, [link.placement for link in model.links], [None] * len(model.links))


def _ports(mechanism: Mechanism, function: str, results: bool) -> tuple[Port, ...]:
    what = FUNCTIONS[function]
    arrays = what.results if results else what.arguments
    if any(array.shape not in (("NV",), ("NQ",)) for array in arrays):
        raise OutOfReach(f"{function} has no looped form, since not all of its arguments and results are numbers of joints; take "
                         "--form unrolled")
    return tuple(Port(array.name, array.sizes(mechanism.sizes)) for array in arrays)


def _swept(model: Model, kinds: Sequence[str], columns: Sequence[Columns], function: str,
           method: str) -> tuple[int, tuple[Sweep, ...], list[int]]:
    """Numbers that are kept a link, the sweeps, and how many columns each class has."""
    trunks = [link for link in model.links if link.kind == GHOST]
    chain = chained(model, kinds, columns, trunks[0] if trunks else None)
    program, linkage = run(chain, function, method)
    groups = grouped(program, chain.parents, linkage.link_of, chain.link_of_input(program))
    fold, middle = _folded(chain, program, groups)
    interface = Interface(fold, chain.parents, chain.classes, middle)
    standing = fold.standing | ({chain.ghost: 0} if trunks else {})
    result_of = {r: (port.name, e) for port in program.outputs for e, r in enumerate(port.rows)}
    plans: dict[int, Plan] = {}
    for own, i in standing.items():
        handed = {level: interface.rows(level, own, len(groups[i].rows)) for level in range(fold.levels)}
        results = [row for row, r in enumerate(groups[i].rows) if r in result_of]
        plans[own] = planned(program, groups[i], fold.levels, handed, results)
    slots = {own: _slots(plan) for own, plan in plans.items()}
    work = max(1 + max(own.values(), default=-1) for own in slots.values())
    sweeps = []
    for level in range(fold.levels):
        steps = [Step(chain, program, groups[standing[own]], plans[own], level, slots[own], work, interface, own, result_of, fold.turned)
                 for own in sorted(standing)]
        if not any(step.program.rows for step in steps):
            continue
        inward = level % 2 == 1
        joins = _joins(interface, groups, fold.standing, chain, program, level) if inward else []
        start = [Fraction(int(join == "mul")) for join in joins] if inward else _start(
            chain, program, fold, interface, level, middle[0] - 1, model)
        if all(port.name != CARRIED for step in steps for port in step.program.inputs):
            start, joins = [], []
        sweeps.append(Sweep(inward, tuple(step.program for step in steps), tuple(start), tuple(joins),
                            tuple(step.first for step in steps)))
    return work, tuple(sweeps), [own.width for own in chain.columns]


def _folded(chain: Chain, program: Program, groups: list[Group]) -> tuple[Folded, range]:
    """The links that come out the same, of as many as can be."""
    why: Unlike | None = None
    for first in range(1, BEFORE + 1):
        middle = range(first, len(groups) - BEHIND)
        try:
            return folded(program, groups, chain.classes, chain.parents, middle), middle
        except Unlike as unlike:
            why = unlike
    assert why is not None
    raise why


def _start(chain: Chain, program: Program, fold: Folded, interface: Interface, level: int, last: int,
           model: Model) -> list[Fraction]:
    """What the base hands on: what link `last` of the chain does where all up to it are at rest."""
    given = chain.at_rest(last, next(link.gravity for link in model.links if link.parent == BASE))
    known: dict[tuple[int, int], Fraction] = {}
    for group in fold.groups[:last + 1]:
        for row, (r, takes) in enumerate(zip(group.rows, group.takes, strict=True)):
            op, _, value, *_ = program.rows[r]
            if op == "input":
                known[group.link, row] = given.get(program.inputs[value[0]].name, {}).get(value[1], Fraction(0))
            else:   # nothing comes from further out
                of = [ref if isinstance(ref, Fraction) else Fraction(0) if ref.side > 0 else known[group.link + ref.side, ref.row]
                      for ref in takes]
                known[group.link, row] = _AT_REST[op](*of)
    handed = interface.rows(level, chain.classes[last], len(fold.groups[last].rows))
    return [Fraction(0) if row is None else known[last, row] * (1 - 2*fold.given.get((-1, row), 0)) for row in handed]


def _of_nothing(op: str) -> Callable[[Fraction], Fraction]:
    def of(x: Fraction) -> Fraction:
        if x:
            raise Unlike(f"the {op} of what is not zero at rest")
        return Fraction(int(op == "cos"))
    return of


_AT_REST: Mapping[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
    "div": lambda a, b: a / b if b else Fraction(0), "sin": _of_nothing("sin"), "cos": _of_nothing("cos"),
    "log": lambda a: Fraction(0), "sqrt": lambda a: a,
}


def _joins(interface: Interface, groups: Sequence[Group], standing: Mapping[int, int], chain: Chain, program: Program,
           level: int) -> list[str]:
    """How what several children hand on becomes one: a sum, but for a product that goes from link to link."""
    products = set()
    for i in standing.values():
        for row, (r, takes) in enumerate(zip(groups[i].rows, groups[i].takes, strict=True)):
            element = interface.root((chain.classes[i], row))
            handed = [interface.root((chain.classes[i + 1], ref.row)) for ref in takes if isinstance(ref, Ref) and ref.side > 0]
            if program.rows[r].op == "mul" and element in handed:
                products.add(element)
    return ["mul" if element in products else "add" for element in interface.elements.get(level, [])]


def _slots(plan: Plan) -> dict[int, int]:
    """Of each row that is kept its place in the link's row of work: what is needed longest comes first, and what is kept next
    stands behind what still is."""
    last = {row: level for level, rows in enumerate(plan.kept) for row in rows}
    slots: dict[int, int] = {}
    for level in range(1, len(plan.kept)):
        new = sorted((row for row in plan.kept[level] if row not in slots), key=lambda row: (-last[row], row))
        first = 1 + max((slots[row] for row in slots if last[row] >= level), default=-1)
        slots |= {row: first + place for place, row in enumerate(new)}
    return slots


__all__ = ["PREPARED", "Link", "Tabled", "recursion"]
