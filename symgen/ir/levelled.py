"""`Levelled`: a function of one chain of like links, level by level: places in pairs, those in pairs, and so on, and back.

Place i is joint i and the link before it; the first one's is the base, and the last one's joint is no joint of the robot's. A
step of places is taken by each of them for itself. Between two such steps there is a tree: upward what two neighbours are is put
together to what both are in one, until there is one of all, and downward what is known of both becomes known of each.
What steps take and give is told by the names of their ports:

    TABLE      the constants of the place
    KEPT       the place's row of the work array, or what a tree keeps of two neighbours in one
    RUN        what a place is to the tree behind its step
    FRONT, BEHIND  what the two neighbours are, on the way up; on the way down what becomes known of each
    KNOWN      what the tree before has told the place, or what is known of two neighbours in one

Any other is an argument or a result of the whole function, of which the place has the element of its joint, and with `BEFORE` to
its name that of the joint before. Where there is no such joint an argument is zero. A joint's result is the sum of two, that of
its own place and that of the place behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from symgen.ir.program import Numbers, Program
from symgen.ir.program import check as check_program
from symgen.ir.program import evaluate as evaluate_program
from symgen.ir.recursion import KEPT, TABLE, Kind, Parted, deepest
from symgen.support.errors import ProgramError

RUN, FRONT, BEHIND, KNOWN = "run", "front", "behind", "known"
BEFORE = "_before"


class Tree(NamedTuple):
    """One way up and one down. `start` is what is known of all in one. Of the last place a run is nothing from element `cut` on,
    and what is known from element `told` on, since there it has no joint.
    """

    up: Program
    down: Program
    start: tuple[Fraction, ...]
    cut: int
    told: int

    @property
    def run(self) -> int:
        """Numbers of a run."""
        return _size(self.up.outputs, RUN)

    @property
    def kept(self) -> int:
        """Numbers that are kept of two in one."""
        return _size(self.up.outputs, KEPT)


@dataclass(frozen=True, repr=False)
class Levelled(Parted):
    """See the module docstring; `check` states the rules.

    The steps of places and the trees take turns. Place i has the constants `tables[i]`. Of places there are `segments` times as
    many as the longest has, the last one again and again behind it; each segment has levels of its own, and then the segments
    have. What a step of places keeps goes into the places of the row of work from `first` on.
    """

    kind: Kind
    tables: tuple[tuple[Fraction, ...], ...]
    steps_of_places: tuple[Program, ...]
    first: tuple[int, ...]
    trees: tuple[Tree, ...]
    work: int

    def __len__(self) -> int:
        return len(self.tables) - 1

    @property
    def longest(self) -> int:
        """Places of a segment."""
        return -(-len(self.tables) // self.segments)

    def table(self, place: int) -> tuple[Fraction, ...]:
        """The constants of a place, of those behind the last one too."""
        return self.tables[min(place, len(self))]

    def times(self) -> Iterator[tuple[int, Program]]:
        """How often each step is taken, places behind the last one included."""
        places = self.segments * self.longest
        for step, tree in zip(self.steps_of_places, (*self.trees, None), strict=True):
            yield places, step
            if tree is not None:
                yield places - 1, tree.up
                yield places - 1, tree.down

    @cached_property
    def operations(self) -> dict[str, int]:
        """How many of each of `symgen.ir.program.COUNTED` a call takes, the sums of two places' results included."""
        found = super().operations
        return found | {"add": found["add"] + len(self) * len(self.outputs)}

    @cached_property
    def depth(self) -> int:
        """Operations (neg apart) on the longest chain of dependencies."""
        return deepest(
            self.inputs, lambda arguments, numbers, run: evaluate(self, arguments, numbers, run)
        )

    @property
    def constants(self) -> int:
        """Numbers in the tables of places, those behind the last one included."""
        return self.segments * self.longest * self.kind.width

    def run(self, arguments: Mapping[str, Sequence[Any]], numbers: Numbers) -> dict[str, list[Any]]:
        """`evaluate`."""
        return evaluate(self, arguments, numbers)

    def by(self, change: Any) -> Levelled:
        """The same where `change` has been applied to every step."""
        return replace(
            self,
            steps_of_places=tuple(map(change, self.steps_of_places)),
            trees=tuple(
                tree._replace(up=change(tree.up), down=change(tree.down)) for tree in self.trees
            ),
        )


def _size(ports: Sequence[Any], name: str) -> int:
    return next((port.size for port in ports if port.name == name), 0)


def _elements(step: Program, name: str) -> set[int]:
    """Of an argument those that are read."""
    return {
        row.value[1]
        for row in step.rows
        if row.op == "input" and step.inputs[row.value[0]].name == name
    }


def check(one: Levelled) -> Levelled:
    """Check its rules and those of its steps. Returns it unchanged, or raises ProgramError naming the first place that breaks
    one.
    """

    def fail(what: str) -> None:
        raise ProgramError(f"{one.function}/{one.method}: {what}")

    if one.segments < 1 or one.segments & one.segments - 1:
        fail(f"{one.segments} segments are no power of two")
    if len(one.tables) < 2 or any(len(row) != one.kind.width for row in one.tables):
        fail(f"a place has not {one.kind.width} constants")
    if len(one.steps_of_places) != len(one.trees) + 1 or len(one.first) != len(one.steps_of_places):
        fail("the steps of places and the trees do not take turns")
    arguments = {name for port in one.inputs for name in (port.name, port.name + BEFORE)}
    results = [name for port in one.outputs for name in (port.name, port.name + BEFORE)]
    for s, (step, first) in enumerate(zip(one.steps_of_places, one.first, strict=True)):
        takes = {
            TABLE: one.kind.width,
            KEPT: one.work,
            KNOWN: len(one.trees[s - 1].start) if s else 0,
        }
        for port in check_program(step).inputs:
            if port.size != takes.get(port.name, int(port.name in arguments)):
                fail(f"step {s} takes {port.size} of '{port.name}'")
        last = s == len(one.trees)
        gives = [port.name for port in step.outputs if port.name != KEPT]
        if first + _size(step.outputs, KEPT) > one.work:
            fail(f"step {s} keeps more than there is room for")
        if _elements(step, KEPT) & {*range(first, first + _size(step.outputs, KEPT))}:
            fail(f"step {s} keeps over what it takes")
        if sorted(gives) != (sorted(results) if last else [RUN]):
            fail(f"step {s} gives {', '.join(gives)}")
        if not last and _size(step.outputs, RUN) != one.trees[s].run:
            fail(f"step {s} gives no run of its tree")
    for tree in one.trees:
        known, size = len(tree.start), tree.run
        wanted = (
            (tree.up.inputs, {FRONT: size, BEHIND: size}),
            (tree.up.outputs, {RUN: size, KEPT: tree.kept}),
            (tree.down.inputs, {KEPT: tree.kept, KNOWN: known}),
            (tree.down.outputs, {FRONT: known, BEHIND: known}),
        )
        check_program(tree.up), check_program(tree.down)
        for ports, sizes in wanted:
            if {port.name: port.size for port in ports} != sizes:
                fail("a tree's steps do not take and give what they should")
        if not (
            0 < tree.cut <= size
            and 0 < tree.told <= known
            and (tree.cut < size) == (tree.told < known)
        ):
            fail("the last place is cut where it has no elements")
    return one


Run = Callable[[Program, Mapping[str, Sequence[Any]], Numbers], Mapping[str, Sequence[Any]]]


def evaluate(
    one: Levelled,
    arguments: Mapping[str, Sequence[Any]],
    numbers: Numbers,
    run: Run = evaluate_program,
) -> dict[str, list[Any]]:
    """Run it over any number type, as `symgen.ir.recursion.evaluate` runs sweeps."""
    n, places, nothing = len(one), range(one.segments * one.longest), numbers.constant(Fraction(0))
    work: list[list[Any]] = [[None] * one.work for _ in places]
    tables = [[numbers.constant(x) for x in row] for row in one.tables]
    known: list[list[Any]] = [[] for _ in places]
    parts = {
        name: [[nothing] * 2 for _ in range(n + 1)] for name in (port.name for port in one.outputs)
    }
    for s, (step, first) in enumerate(zip(one.steps_of_places, one.first, strict=True)):
        runs = []
        for place in places:
            own = {TABLE: tables[min(place, n)], KEPT: work[place], KNOWN: known[place]}
            for name, values in arguments.items():
                own[name] = [values[place] if place < n else nothing]
                own[name + BEFORE] = [values[place - 1] if 0 < place <= n else nothing]
            found = dict(run(step, {port.name: own[port.name] for port in step.inputs}, numbers))
            left = [*found.get(KEPT, ())]
            work[place][first : first + len(left)] = left
            runs.append([*found.get(RUN, ())])
            for name, of_joint in parts.items() if s == len(one.trees) else ():
                if place < n:
                    of_joint[place][0] = found[name][0]
                if 0 < place <= n:
                    of_joint[place - 1][1] = found[name + BEFORE][0]
        if s < len(one.trees):
            tree = one.trees[s]
            runs[n][tree.cut :] = [nothing] * (tree.run - tree.cut)
            known = _through(one, tree, runs, numbers, run)
            known[n][tree.told :] = [nothing] * (len(tree.start) - tree.told)
    return {name: [own + other for own, other in of_joint[:n]] for name, of_joint in parts.items()}


def _through(
    one: Levelled, tree: Tree, runs: list[list[Any]], numbers: Numbers, run: Run
) -> list[list[Any]]:
    """What a tree makes known of every place."""
    found: list[list[Any]] = []
    start = [numbers.constant(x) for x in tree.start]
    segments = [
        _raised(tree, runs[at : at + one.longest], numbers, run)
        for at in range(0, len(runs), one.longest)
    ]
    whole = _raised(tree, [runs[0] for *_, (runs, _) in segments], numbers, run)
    for levels, known in zip(segments, _lowered(tree, whole, start, numbers, run), strict=True):
        found += _lowered(tree, levels, known, numbers, run)
    return found


Levels = list[tuple[list[list[Any]], list[list[Any]]]]
"""From the places up, of each level its runs, and what was kept of pairs of the level below."""


def _raised(tree: Tree, runs: list[list[Any]], numbers: Numbers, run: Run) -> Levels:
    levels: Levels = [(runs, [])]
    while len(runs) > 1:
        pairs = [
            run(tree.up, {FRONT: runs[k], BEHIND: runs[k + 1]}, numbers)
            for k in range(0, len(runs) - 1, 2)
        ]
        runs = [[*pair[RUN]] for pair in pairs] + runs[2 * len(pairs) :]
        levels.append((runs, [[*pair[KEPT]] for pair in pairs]))
    return levels


def _lowered(
    tree: Tree, levels: Levels, start: list[Any], numbers: Numbers, run: Run
) -> list[list[Any]]:
    known = [start]
    for _, kept in reversed(levels[1:]):
        below: list[list[Any]] = []
        for own, told in zip(kept, known, strict=False):
            found = run(tree.down, {KEPT: own, KNOWN: told}, numbers)
            below += [[*found[FRONT]], [*found[BEHIND]]]
        known = below + known[len(kept) :]
    return known
