"""A function as a `Recursion`: the method is run on a short chain of like links, what repeats is folded, and the table is filled.

The chain stands on a body that moves freely, so that nothing is zero for want of a neighbour. What such a body hands on when it is
at rest, under gravity, is what stands in for the base; for children that are not there it is nothing, and 1 of a product.
"""

from __future__ import annotations


from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen import methods, passes
from symgen.derivation import constants as k
from symgen.derivation.model import Link, Model, reframe, regroup
from symgen.derivation.model.links import NOTHING
from symgen.derivation.scalars import Derivation
from symgen.derivation.tabled import PREPARED, TEN, Columns, Tabled, constants_of
from symgen.errors import OutOfReach
from symgen.functions import FUNCTIONS, Q
from symgen.ir import EXACT, POSITIONS, Port, Program, Row
from symgen.joints import joint_type
from symgen.mechanism import Mechanism
from symgen.options import ProgramOptions
from symgen.programs._cuts import behind
from symgen.programs.folding import Group, Interface, Plan, Ref, folded, grouped, own_of, planned
from symgen.recursion import CARRIED, KEPT, TABLE, Kind, Recursion, Sweep, check

GHOST = "free"
"""The joint of the body that a chain stands on."""
BEHIND = 4
"""Links at the end of a chain that may differ from those before them."""
LIKE = 6
"""Links of a class that follow each other there."""


@dataclass(frozen=True)
class Chain:
    """Of a robot's classes of links a chain of each beside each; link 0 is the ghost, and `classes` number it last."""

    model: Model
    classes: tuple[int, ...]
    columns: tuple[Columns, ...]

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(range(-1, len(self.classes) - 1))

    @property
    def first(self) -> list[int]:
        """Where each link's constants begin in PREPARED."""
        found, at = [], 0
        for own in self.classes:
            found.append(at)
            at += self.columns[own].width
        return [*found, at]


def recursion(mechanism: Mechanism, function: str, method: str, options: ProgramOptions | None = None) -> Recursion:
    """The function by one method, as sweeps. Raises OutOfReach, in one sentence, where its links do not come out the same."""
    options = options or ProgramOptions()
    return k.sharpened(lambda: _recursion(mechanism, function, method, options))


def _recursion(mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> Recursion:
    model = laid(mechanism, function)
    kinds = tuple(dict.fromkeys(link.kind for link in model.links))
    of = tuple(kinds.index(link.kind) for link in model.links)
    numbers = [constants_of(link) for link in model.links]
    columns = tuple(Columns.of([row for row, own in zip(numbers, of, strict=True) if own == c]) for c in range(len(kinds)))
    chain = _chain(model, kinds, columns)
    program, linkage = _run(chain, mechanism, function, method)
    steps, sweeps = _swept(chain, program, linkage, model)
    tables = tuple(tuple(k.to_fraction(x) for x in columns[own].row(row)) for row, own in zip(numbers, of, strict=True))
    found = Recursion(
        function, method, _ports(mechanism, function, False), _ports(mechanism, function, True),
        tuple(Kind(kind, joint_type(kind).nq, joint_type(kind).nv, own.width) for kind, own in zip(kinds, columns, strict=True)),
        tuple(link.parent for link in model.links), of, tables, sweeps, steps, real=options.real,
        joints=tuple(joint.kind for joint in mechanism.joints))
    return check(found.by(passes.run))


def laid(mechanism: Mechanism, function: str) -> Model:
    """The links in the frames that a table has them in. Inertia stays with its link: moved to the parents it piles up on the
    inner ones, which costs long chains digits.
    """
    return reframe(mechanism)


def _ports(mechanism: Mechanism, function: str, results: bool) -> tuple[Port, ...]:
    what = FUNCTIONS[function]
    arrays = what.results if results else what.arguments
    if any(array.shape not in (("NV",), ("NQ",)) for array in arrays):
        raise OutOfReach(f"{function} has no looped form, since not all of its arguments and results are numbers of joints; take "
                         "--form unrolled")
    return tuple(Port(array.name, array.sizes(mechanism.sizes)) for array in arrays)


# -- the chain -----------------------------------------------------------------------------------------------------------------

def _chain(model: Model, kinds: Sequence[str], columns: Sequence[Columns]) -> Chain:
    """Every class behind every other, twice or more behind itself."""
    walk = [0] * LIKE
    for a in range(len(kinds)):
        for b in range(len(kinds)):
            walk += [a, b, b]
    classes = (len(kinds), *walk, *[walk[-1]] * BEHIND)
    links, q, v = [], 0, 0
    for i, own in enumerate(classes):
        kind = [*kinds, GHOST][own]
        joint = joint_type(kind)
        like = next((link for link in model.links if link.kind == kind), model.links[0])
        links.append(replace(like, name=f"link{i}", kind=kind, q=slice(q, q + joint.nq), v=slice(v, v + joint.nv), parent=i - 1,
                             rotation=k.IDENTITY, shift=k.ORIGIN, inertia=NOTHING, base_rotation=k.IDENTITY))
        q, v = q + joint.nq, v + joint.nv
    return Chain(Model(model.name, tuple(links), model.gravity, friction_speed=model.friction_speed), classes,
                 (*columns, _of_the_ghost(links[0])))


def _of_the_ghost(link: Link) -> Columns:
    """Its inertia is anything, so that it can be divided by."""
    common = {name: value for name, value in constants_of(link).items() if name not in TEN}
    return Columns({**common, **{name: k.ZERO for name in common if name in ("armature", "damping", "friction", "stiffness")}},
                   {name: place for place, name in enumerate(TEN)}, len(TEN))


def _run(chain: Chain, mechanism: Mechanism, function: str, method: str) -> tuple[Program, Tabled]:
    """The rows of the method on the chain."""
    what, links = FUNCTIONS[function], chain.model.links
    nq, nv = links[-1].q.stop, links[-1].v.stop
    arguments = [*what.arguments] + ([] if Q in what.arguments else [Q])
    shapes = {a.name: (nq if a.name in POSITIONS else nv,) for a in arguments} | {PREPARED: (chain.first[-1] + 3,)}
    home = Derivation({name: shape[0] for name, shape in shapes.items()})
    linkage = Tabled(chain.model, home, [chain.columns[own] for own in chain.classes], chain.first)
    build = methods.derivation(method, function)
    results = [(array.name, (len(atoms),), atoms) for array, atoms in zip(what.results, build(linkage), strict=True)]
    return home.freeze(function, method, results, shapes), linkage


def _link_of_input(chain: Chain, program: Program) -> dict[tuple[int, int], int]:
    found = {}
    for p, port in enumerate(program.inputs):
        for i, link in enumerate(chain.model.links):
            own = link.q if port.name in POSITIONS else link.v
            if port.name == PREPARED:
                own = slice(chain.first[i], chain.first[i + 1])
            found |= {(p, e): i for e in range(own.start, own.stop)}
        if port.name == PREPARED:
            found |= {(p, e): 0 for e in range(chain.first[-1], port.size)}
    return found


# -- the sweeps ----------------------------------------------------------------------------------------------------------------

def _swept(chain: Chain, program: Program, linkage: Tabled, model: Model) -> tuple[int, tuple[Sweep, ...]]:
    """Numbers that are kept a link, and the sweeps."""
    groups = grouped(program, chain.parents, linkage.link_of, _link_of_input(chain, program))
    middle = range(1, len(groups) - BEHIND)
    fold = folded(program, groups, chain.classes, middle)
    interface = Interface(groups, chain.parents, chain.classes, middle)
    ghost = len(chain.columns) - 1
    at_rest = _at_rest(chain, program, groups[0], model)
    result_of = {r: (port.name, e) for port in program.outputs for e, r in enumerate(port.rows)}
    used = [level for level in range(fold.levels) if any(level in groups[i].level for i in fold.standing.values())]
    plans: dict[int, Plan] = {}
    for own, i in fold.standing.items():
        group = groups[i]
        handed = {level: interface.rows(level, own, len(group.rows)) for level in range(fold.levels)}
        results = [row for row, r in enumerate(group.rows) if r in result_of]
        plans[own] = planned(program, group, fold.levels, handed, results)
    slots = {own: _slots(plan) for own, plan in plans.items()}
    work = max(1 + max(own.values(), default=-1) for own in slots.values())
    sweeps = []
    for level in used:
        steps, firsts = [], []
        for own in range(ghost):
            step = _Step(chain, program, groups[fold.standing[own]], plans[own], level, slots[own], work, interface, own, result_of)
            steps.append(step.program)
            firsts.append(step.first)
        elements = interface.rows(level, ghost, len(groups[0].rows))
        inward = level % 2 == 1
        joins = _joins(interface, groups, fold.standing, chain, program, level) if inward else ()
        start = [Fraction(int(join == "mul")) for join in joins] if inward else [
            Fraction(0) if row is None else at_rest[row] for row in elements]
        if not any(port.name == CARRIED for step in steps for port in step.inputs):
            start, joins = [], ()
        sweeps.append(Sweep(inward, tuple(steps), tuple(start), tuple(joins), tuple(firsts)))
    return work, tuple(sweeps)


def _at_rest(chain: Chain, program: Program, ghost: Group, model: Model) -> list[Fraction]:
    """What each row of the ghost is where nothing moves, and nothing pushes it from further out."""
    gravity = dict(zip(range(chain.first[-1], chain.first[-1] + 3), map(k.to_fraction, model.links[0].gravity), strict=True))
    straight = {3 + 3: Fraction(1)}   # the quaternion of no turn, x y z w behind the place
    values: list[Fraction] = []
    for r, takes in zip(ghost.rows, ghost.takes, strict=True):
        row = program.rows[r]
        if row.op == "input":
            name = program.inputs[row.value[0]].name
            told = gravity if name == PREPARED else straight if name in POSITIONS else {}
            values.append(told.get(row.value[1], Fraction(0)))
        else:
            of = [ref if isinstance(ref, Fraction) else Fraction(0) if ref.side else values[ref.row] for ref in takes]
            values.append(_EXACTLY[row.op](*of))
    return values


_EXACTLY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
    "div": lambda a, b: a / b if b else Fraction(0),
}


def _joins(interface: Interface, groups: Sequence[Group], standing: Mapping[int, int], chain: Chain, program: Program,
           level: int) -> list[str]:
    """How what several children hand on becomes one: a sum, but for a product that goes from link to link."""
    products = set()
    for i in standing.values():
        for k, (r, takes) in enumerate(zip(groups[i].rows, groups[i].takes, strict=True)):
            element = interface.root((chain.classes[i], k))
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


class _Step:
    """What a link of a class does in one sweep, as a Program, and the first place that it keeps something in."""

    def __init__(self, chain: Chain, program: Program, group: Group, plan: Plan, level: int, slots: Mapping[int, int], work: int,
                 interface: Interface, own: int, result_of: Mapping[int, tuple[str, int]]) -> None:
        self.chain, self.source, self.group, self.level, self.interface = chain, program, group, level, interface
        self.link = chain.model.links[group.link]
        self.classes = {-1: chain.classes[group.link - 1], 1: chain.classes[group.link + 1]}
        before = set(plan.kept[level])
        after = plan.kept[level + 1] if level + 1 < len(plan.kept) else []
        new = sorted((row for row in after if row not in before), key=slots.__getitem__)
        self.first = slots[new[0]] if new else 0
        self.slots = {row: slots[row] for row in before}
        self.elements = interface.elements.get(level, [])
        handed = interface.rows(level, own, len(group.rows))
        results = [row for row, r in enumerate(group.rows) if r in result_of and group.level[row] == level]
        self.rows: list[Row] = []
        self.ports: dict[str, int] = {}
        self.at: dict[int, int] = {}
        self.carried: dict[int, int] = {}
        self.constants: dict[Fraction, int] = {}
        self.steps: list[str] = []
        takes = own_of(group)
        for row in sorted(behind(takes, {*(h for h in handed if h is not None), *new, *results}, before)):
            self._add(row)
        outputs = []
        if self.elements:
            outputs.append(Port(CARRIED, (len(self.elements),), tuple(self._zero() if h is None else self.at[h] for h in handed)))
        if new:
            outputs.append(Port(KEPT, (len(new),), tuple(self.at[row] for row in new)))
        by_name: dict[str, list[int]] = {}
        for row in sorted(results, key=lambda row: result_of[group.rows[row]]):
            by_name.setdefault(result_of[group.rows[row]][0], []).append(self.at[row])
        outputs += [Port(name, (len(rows),), tuple(rows)) for name, rows in by_name.items()]
        sizes = {TABLE: chain.columns[own].width, KEPT: work, CARRIED: len(self.elements)}
        inputs = [Port(name, (sizes.get(name) or self._own(name).stop - self._own(name).start,)) for name in self.ports]
        self.program = Program(program.function, program.method, tuple(inputs), tuple(outputs), tuple(self.rows),
                               tuple(self.steps))

    def _own(self, name: str) -> slice:
        return self.link.q if name in POSITIONS else self.link.v

    def _port(self, name: str) -> int:
        return self.ports.setdefault(name, len(self.ports))

    def _put(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def _zero(self) -> int:
        return self._constant(Fraction(0))

    def _constant(self, value: Fraction) -> int:
        if value not in self.constants:
            self.constants[value] = self._put(Row("const", (), value))
        return self.constants[value]

    def _add(self, row: int) -> None:
        """Row number `row` of the link."""
        if row in self.slots:
            self.at[row] = self._put(Row("input", (), (self._port(KEPT), self.slots[row])))
            return
        source = self.source.rows[self.group.rows[row]]
        if source.op == "input":
            self.at[row] = self._put(Row("input", (), self._input(*source.value)))
            return
        args = []
        for ref in self.group.takes[row]:
            if isinstance(ref, Fraction):
                args.append(self._constant(ref))
            elif ref.side:
                args.append(self._carried(ref))
            else:
                args.append(self.at[ref.row])
        self.at[row] = self._put(source._replace(args=tuple(args), name=self._name(source.name), step=self._step(source.step)))

    def _input(self, port: int, element: int) -> tuple[int, int]:
        name = self.source.inputs[port].name
        if name == PREPARED:
            return self._port(TABLE), element - self.chain.first[self.group.link]
        return self._port(name), element - self._own(name).start

    def _carried(self, ref: Ref) -> int:
        element = self.elements.index(self.interface.root((self.classes[ref.side], ref.row)))
        if element not in self.carried:
            self.carried[element] = self._put(Row("input", (), (self._port(CARRIED), element)))
        return self.carried[element]

    def _step(self, step: int) -> int:
        if step < 0:
            return -1
        text = self.source.steps[step]
        if not self.steps or self.steps[-1] != text:
            self.steps.append(text)
        return len(self.steps) - 1

    def _name(self, name: str) -> str:
        """Without the number of the link, or of its degree of freedom where it has one."""
        numbers = {self.group.link + 1, *range(self.link.v.start + 1, self.link.v.stop + 1)}
        parts = name.split("_")
        place = next((at for at, part in enumerate(parts) if part.isdigit() and int(part) in numbers), None)
        if place is None:
            return ""
        return "_".join(parts[:place] + parts[place + 1:])


