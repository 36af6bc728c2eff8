"""Folding: rows of a chain of like links into sweeps of steps.

A method has been run on links that are alike (`symgen.derivation.tabled`), and every row belongs to one of them: to the link that
its step is about, or to that link's child where it is made of what the child has alone. Row for row, the links in the middle of
the chain must come out the same; that is checked. A row that takes something of its parent's is part of an outward sweep, one that
takes something of its child's of an inward one, and what takes of what such a sweep gave stands in it or in a later one.

What a later sweep needs of an earlier one is kept, link by link: as few numbers as separate the two, where whatever a table and the
arguments give by sums and products is worked out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from symgen.errors import SymgenError
from symgen.ir import Program, Row
from symgen.programs._cuts import behind, least_cut

DEAR = ("sin", "cos", "sqrt", "log", "atan2", "div")
"""What is not worked out again where it can be kept."""


class Unlike(SymgenError):
    """The links of a chain do not come out the same, row for row."""


class Ref(NamedTuple):
    """A row of a link: of the link itself (`side` 0), of its parent (-1) or its child (1), by its number among that link's."""

    side: int
    row: int


@dataclass
class Group:
    """The rows of one link: `rows` of the chain in their order, what each takes, and the level of the sweep that it stands in,
    even for outward ones."""

    link: int
    rows: list[int] = field(default_factory=list)
    takes: list[tuple[Ref | Fraction, ...]] = field(default_factory=list)
    level: list[int] = field(default_factory=list)


class Folded(NamedTuple):
    """The links of a chain, of each class the link that stands for it, and how many levels there are.

    `turned` are rows that are handed on with the opposite sign, by class; and so is what the first of the links alike is `given`,
    by side and row, where that is 1. `swapped` are the rows of links that take the other operand first.
    """

    groups: list[Group]
    standing: dict[int, int]
    levels: int
    turned: set[tuple[int, int]]
    given: dict[tuple[int, int], int]
    swapped: dict[int, set[int]]


def grouped(chain: Program, parents: Sequence[int], link_of_step: Mapping[int, int], link_of_input: Mapping[tuple[int, int], int],
            ) -> list[Group]:
    """Every live row under the link that it belongs to. Raises Unlike where one takes of links that are no neighbours."""
    live = _live(chain)
    owner: dict[int, int] = {}
    inward = _inward(chain.steps, link_of_step)
    groups = [Group(i) for i in range(len(parents))]
    local: dict[int, int] = {}
    for r, row in enumerate(chain.rows):
        if r not in live or row.op == "const":
            continue
        of = {owner[a] for a in row.args if chain.rows[a].op != "const"}
        own = link_of_input[row.value] if row.op == "input" else _owner(
            of, link_of_step.get(row.step), inward.get(row.step, False), parents)
        if own is None:
            raise Unlike(f"{_where(chain, r)} takes of links that are no neighbours")
        owner[r], local[r] = own, len(groups[own].rows)
        takes: list[Ref | Fraction] = []
        least, sides = 0, set()
        for a in row.args:
            if chain.rows[a].op == "const":
                takes.append(chain.rows[a].value)
                continue
            side = 0 if owner[a] == own else -1 if owner[a] == parents[own] else 1 if parents[owner[a]] == own else None
            if side is None:
                raise Unlike(f"{_where(chain, r)} takes of links that are no neighbours")
            takes.append(Ref(side, local[a]))
            least = max(least, groups[owner[a]].level[local[a]])
            sides.add(side)
        if {-1, 1} <= sides:
            raise Unlike(f"{_where(chain, r)} takes of the parent and of a child at once")
        odd = 1 if 1 in sides else 0
        if sides & {-1, 1} and least % 2 != odd:
            least += 1
        groups[own].rows.append(r)
        groups[own].takes.append(tuple(takes))
        groups[own].level.append(least)
    _put_off(groups, parents)
    return groups


def _put_off(groups: Sequence[Group], parents: Sequence[int]) -> None:
    """What a link's table and arguments give alone stands in the first sweep that asks for it."""
    asked: list[dict[int, int]] = [{} for _ in groups]
    for i in reversed(range(len(groups))):   # what a child asks for is known before; what a parent asks for is added here
        for k, takes in enumerate(groups[i].takes):
            for ref in takes:
                if isinstance(ref, Ref) and ref.side < 0:
                    _sooner(asked[parents[i]], ref.row, groups[i].level[k])
    children: dict[int, int] = {parents[i]: i for i in reversed(range(len(parents)))}
    for i, group in enumerate(groups):
        for k, takes in enumerate(group.takes):
            for ref in takes:
                if isinstance(ref, Ref) and ref.side > 0:
                    _sooner(asked[children[i]], ref.row, group.level[k])
    for group, first in zip(groups, asked, strict=True):
        plain: list[bool] = []
        for takes in group.takes:
            plain.append(all(not isinstance(ref, Ref) or (not ref.side and plain[ref.row]) for ref in takes))
        for k in reversed(range(len(group.rows))):
            if plain[k] and k in first:
                group.level[k] = first[k]
            for ref in group.takes[k]:
                if isinstance(ref, Ref) and not ref.side:
                    _sooner(first, ref.row, group.level[k])


def _sooner(first: dict[int, int], row: int, level: int) -> None:
    first[row] = min(first.get(row, level), level)


def _live(chain: Program) -> set[int]:
    wanted = {r for port in chain.outputs for r in port.rows}
    for r in range(len(chain.rows) - 1, -1, -1):
        if r in wanted:
            wanted.update(chain.rows[r].args)
    return wanted


def _owner(of: set[int], label: int | None, inward: bool, parents: Sequence[int]) -> int | None:
    """Of two neighbours that a row is made of the one that the sweep comes to later: the parent where it goes inward, the child
    where it goes outward. What is made of one alone is that one's, but for what an outward step makes of its link's parent. None
    where the links are no neighbours.
    """
    if len(of) > 1:
        near, *far = sorted(of)
        return None if len(far) > 1 or parents[far[0]] != near else near if inward else far[0]
    if not of:
        return label
    (only,) = of
    return label if label is not None and not inward and parents[label] == only else only


def _inward(steps: Sequence[str], link_of: Mapping[int, int]) -> dict[int, bool]:
    """Whether the sweep that a step is part of goes from child to parent: its link and that of the next step with the same words,
    or of the one before, tell."""
    found: dict[int, bool] = {}
    for step, link in link_of.items():
        for other, sign in ((step + 1, 1), (step - 1, -1)):
            if other in link_of and steps[other] == steps[step] and link_of[other] != link:
                found[step] = (link_of[other] - link) * sign < 0
                break
    return found


def _where(chain: Program, r: int) -> str:
    return f"a row of the step '{chain.steps[chain.rows[r].step]}' of {chain.function} by {chain.method}"


def folded(chain: Program, groups: list[Group], classes: Sequence[int], parents: Sequence[int], middle: Sequence[int]) -> Folded:
    """The links of `middle` by class, which must be the same but for signs; `classes` are those of all links."""
    standing: dict[int, int] = {}
    likeness: dict[int, Likeness] = {}
    results = {r for port in chain.outputs for r in port.rows}
    for i in middle:
        first = standing.setdefault(classes[i], i)
        where = f"links {first + 1} and {i + 1}"
        likeness[i] = found = _alike(chain, groups[first], groups[i], where)
        if any(found.rows[row] for row, r in enumerate(groups[i].rows) if r in results):
            raise Unlike(f"{where} of {chain.function} by {chain.method} have results of opposite signs")
    turned: dict[tuple[int, int], int] = {}
    for i in middle:
        for (side, row), sign in likeness[i].handed.items():
            there = parents[i] if side < 0 else i + 1
            if there in likeness:
                sign ^= likeness[there].rows[row]
                if turned.setdefault((classes[there], row), sign) != sign:
                    raise Unlike(f"what links hand on in {chain.function} by {chain.method} has no sign of its own")
    levels = 1 + max(level for i in standing.values() for level in groups[i].level)
    return Folded(groups, standing, levels, {handed for handed, sign in turned.items() if sign}, likeness[middle[0]].handed,
                  {i: likeness[i].swapped for i in middle})


class Likeness(NamedTuple):
    """How a link is like another: which of its rows, and which of what its neighbours hand on, have the opposite sign (1), and
    which rows take the other operand first."""

    rows: list[int]
    handed: dict[tuple[int, int], int]
    swapped: set[int]


def _alike(chain: Program, one: Group, other: Group, where: str) -> Likeness:
    """`other` row by row as `one`, but for signs, which stand for each row as a sum modulo 2: bit 0, and a bit for what each
    neighbour hands on. Raises Unlike.
    """
    def unlike(why: str) -> Unlike:
        return Unlike(f"{where} of {chain.function} by {chain.method} differ: {why}")

    if len(one.rows) != len(other.rows):
        raise unlike(f"{len(one.rows)} and {len(other.rows)} rows")
    bits: dict[tuple[int, int], int] = {}
    signs: list[int] = []
    equations: list[int] = []
    swapped: set[int] = set()
    met: dict[tuple[int, int], int] = {}

    def sign(x: Ref | Fraction) -> int:
        if isinstance(x, Fraction):
            return 0
        return signs[x.row] if not x.side else 2 << bits.setdefault((x.side, x.row), len(bits))

    def same(x: Ref | Fraction, y: Ref | Fraction) -> bool:
        return x == y or (isinstance(x, Ref) and isinstance(y, Ref) and x.side == y.side != 0)

    for k, (mine, its) in enumerate(zip(one.takes, other.takes, strict=True)):
        a, b = chain.rows[one.rows[k]].op, chain.rows[other.rows[k]].op
        minus, less = int(a == "sub"), int(b == "sub")
        sums = {a, b} <= {"add", "sub"}
        if (a != b and not sums) or one.level[k] != other.level[k]:
            raise unlike(f"row {k} is {a} and {b}")
        straight = all(same(x, y) for x, y in zip(mine, its, strict=True))
        crossed = len(its) == 2 and a != "div" and same(mine[0], its[1]) and same(mine[1], its[0])
        if crossed and (not straight or any(isinstance(y, Ref) and isinstance(x, Ref) and met.get((y.side, y.row), x.row) != x.row
                                            for x, y in zip(mine, its, strict=True))):
            straight, its = False, (its[1], its[0])
            swapped.add(k)
        elif not straight:
            raise unlike(f"row {k} ({a}) takes {mine} and {its}")
        met |= {(y.side, y.row): x.row for x, y in zip(mine, its, strict=True) if isinstance(x, Ref) and isinstance(y, Ref) and y.side}
        if sums:
            first, second = sign(its[0]), sign(its[1]) ^ minus ^ less
            if not straight:   # its second operand stands first
                first, second = sign(its[0]) ^ less, sign(its[1]) ^ minus
            equations.append(first ^ second)
            signs.append(first)
        elif a in ("mul", "div"):
            signs.append(sign(its[0]) ^ sign(its[1]))
        elif a in ("neg", "sin"):
            signs.append(sign(its[0]))
        else:
            if a not in ("cos", "input"):
                equations += [sign(x) for x in its]
            signs.append(0)
    known = _solved(equations)
    if known is None:
        raise unlike("their signs")
    return Likeness([_value(x, known) for x in signs], {handed: known.get(bit + 1, 0) for handed, bit in bits.items()}, swapped)


def _solved(equations: Iterable[int]) -> dict[int, int] | None:
    """Of sums modulo 2 that are 0 the bits, by place; those that may be either are 0. None where there are none."""
    rows: dict[int, int] = {}
    for equation in equations:
        while equation > 1:
            top = equation.bit_length() - 1
            if top not in rows:
                rows[top] = equation
                break
            equation ^= rows[top]
        if equation == 1:
            return None
    known: dict[int, int] = {}
    for top in sorted(rows):
        known[top] = _value(rows[top] ^ (1 << top), known)
    return known


def _value(x: int, known: Mapping[int, int]) -> int:
    return (x & 1) ^ sum(known.get(bit, 0) for bit in range(1, x.bit_length()) if x >> bit & 1) % 2


# -- what is handed on ---------------------------------------------------------------------------------------------------------

class Interface:
    """What links of all classes hand on in each sweep: elements, each a row of every class.

    Links of two classes hand on the same where one row of a third takes it of either.
    """

    def __init__(self, fold: Folded, parents: Sequence[int], classes: Sequence[int], of: Iterable[int]) -> None:
        self._up: dict[tuple[int, int], tuple[int, int]] = {}
        taken: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        used: dict[tuple[int, int], set[int]] = {}
        children = {parents[i]: i for i in range(len(parents))}
        for i in of:
            for k, takes in enumerate(fold.groups[i].takes):
                for place, ref in enumerate(reversed(takes) if k in fold.swapped[i] else takes):
                    if isinstance(ref, Ref) and ref.side:
                        there = parents[i] if ref.side < 0 else children[i]
                        handed = (classes[there], ref.row)
                        taken.setdefault((classes[i], k, place), []).append(handed)
                        used.setdefault(handed, set()).add(fold.groups[i].level[k])
        for several in taken.values():
            for one in several[1:]:
                self._join(several[0], one)
        self.elements: dict[int, list[tuple[int, int]]] = {}
        """By sweep: of each element the row that stands for it."""
        for handed, levels in used.items():
            for level in levels:
                elements = self.elements.setdefault(level, [])
                if self.root(handed) not in elements:
                    elements.append(self.root(handed))
        for elements in self.elements.values():
            elements.sort()

    def root(self, handed: tuple[int, int]) -> tuple[int, int]:
        while handed in self._up:
            handed = self._up[handed]
        return handed

    def _join(self, one: tuple[int, int], other: tuple[int, int]) -> None:
        one, other = sorted((self.root(one), self.root(other)))
        if one != other:
            self._up[other] = one

    def rows(self, level: int, cls: int, count: int) -> list[int | None]:
        """Of a class with `count` rows, that which hands on each element of a sweep."""
        found: dict[tuple[int, int], int] = {}
        for row in range(count):
            found.setdefault(self.root((cls, row)), row)
        return [found.get(element) for element in self.elements.get(level, [])]


# -- what is kept --------------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Plan:
    """Of one class: by level the rows that its step ends in, and those that have been kept before it."""

    ends: list[list[int]]
    kept: list[list[int]]


def planned(chain: Program, group: Group, levels: int, handed: Mapping[int, Sequence[int | None]], results: Iterable[int]) -> Plan:
    """What each level's step has to know and what it leaves: as few numbers as can be."""
    dear = [chain.rows[r].op in DEAR for r in group.rows]
    around = [any(isinstance(ref, Ref) and ref.side for ref in takes) for takes in group.takes]
    own = own_of(group)
    ends: list[list[int]] = []
    for level in range(levels):
        wanted = [k for k in range(len(own)) if around[k] and group.level[k] == level]
        wanted += [row for row in handed.get(level, ()) if row is not None]
        wanted += [row for row in results if group.level[row] == level]
        ends.append(list(dict.fromkeys(wanted)))
    kept: list[list[int]] = [[] for _ in range(levels + 1)]
    for level in range(levels - 1, 0, -1):
        earlier = {k for k in range(len(own)) if group.level[k] < level}
        needed = behind(own, {*ends[level], *kept[level + 1]}, earlier) & earlier
        kept[level] = least_cut(own, {k for k in earlier if around[k] or dear[k]}, needed)
    return Plan(ends, kept[:levels])


def own_of(group: Group) -> list[list[int]]:
    """What each row takes of its own link."""
    return [[ref.row for ref in takes if isinstance(ref, Ref) and not ref.side] for takes in group.takes]
