"""Which link every row of a chain belongs to, and in which sweep it stands.

A row belongs to the link that its step is about, or to that link's child where it is made of what the child has alone. A row that
takes something of its parent's is part of an outward sweep, one that takes something of its child's of an inward one, and what
takes of what such a sweep gave stands in it or in a later one. Sines and cosines of what a link has by itself stand before all
else, in a sweep that carries nothing: those of many links can be taken together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from symgen.ir.program import Program
from symgen.support.errors import SymgenError

SINES = 0
"""The level of the sines and cosines that stand before all else."""


class Unlike(SymgenError):
    """The links of a chain do not come out the same, row for row."""


class Ref(NamedTuple):
    """A row of a link: of the link itself (`side` 0), of its parent (-1) or its child (1), by its number among that link's."""

    side: int
    row: int


@dataclass(frozen=True)
class Shared:
    """An element of an argument that is the same for all links."""

    port: int
    element: int


@dataclass(frozen=True)
class Own:
    """An element of an argument that is the link's, by its number among those of the link."""

    port: int
    element: int


Taken = Ref | Fraction | Shared | Own
"""What a row takes; one that is an argument takes that."""


@dataclass
class Group:
    """The rows of one link: `rows` of the chain in their order, what each takes, and the level of the sweep that it stands in,
    even for outward ones."""

    link: int
    rows: list[int] = field(default_factory=list)
    takes: list[tuple[Taken, ...]] = field(default_factory=list)
    level: list[int] = field(default_factory=list)


def grouped(
    chain: Program,
    parents: Sequence[int],
    link_of_step: Mapping[int, int],
    link_of_input: Mapping[tuple[int, int], int],
) -> list[Group]:
    """Every live row under the link that it belongs to; what `link_of_input` does not know is the same for all. Raises Unlike
    where a row takes of links that are no neighbours.
    """
    live = _live(chain)
    owner: dict[int, int] = {}
    inward = _inward(chain.steps, link_of_step)
    groups = [Group(i) for i in range(len(parents))]
    local: dict[int, int] = {}
    alike: dict[int, Taken] = {}
    first: dict[tuple[int, int], int] = {}
    for (port, element), link in link_of_input.items():
        first[port, link] = min(element, first.get((port, link), element))
    for r, row in enumerate(chain.rows):
        if r not in live:
            continue
        if row.op == "const" or (row.op == "input" and row.value not in link_of_input):
            alike[r] = row.value if row.op == "const" else Shared(*row.value)
            continue
        of = {owner[a] for a in row.args if a not in alike}
        own = (
            link_of_input[row.value]
            if row.op == "input"
            else _owner(of, link_of_step.get(row.step), inward.get(row.step, False), parents)
        )
        if own is None and not of:
            own = 0  # what is the same for all is made where they stand
        if own is None:
            raise Unlike(f"{_where(chain, r)} takes of links that are no neighbours")
        owner[r], local[r] = own, len(groups[own].rows)
        takes: list[Taken] = (
            [Own(row.value[0], row.value[1] - first[row.value[0], own])]
            if row.op == "input"
            else []
        )
        least, sides = 0, set()
        for a in row.args:
            if a in alike:
                takes.append(alike[a])
                continue
            side = (
                0
                if owner[a] == own
                else -1
                if owner[a] == parents[own]
                else 1
                if parents[owner[a]] == own
                else None
            )
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
    for group in groups:
        alone = _alone(group)
        group.level = [
            SINES if alone[k] and chain.rows[r].op in ("sin", "cos") else SINES + 2 + level
            for k, (r, level) in enumerate(zip(group.rows, group.level, strict=True))
        ]
    return groups


def _put_off(groups: Sequence[Group], parents: Sequence[int]) -> None:
    """What a link's table and arguments give alone stands in the first sweep that asks for it."""
    asked: list[dict[int, int]] = [{} for _ in groups]
    for i in reversed(
        range(len(groups))
    ):  # what a child asks for is known before; what a parent asks for is added here
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
        plain = _alone(group)
        for k in reversed(range(len(group.rows))):
            if plain[k] and k in first:
                group.level[k] = first[k]
            for ref in group.takes[k]:
                if isinstance(ref, Ref) and not ref.side:
                    _sooner(first, ref.row, group.level[k])


def _alone(group: Group) -> list[bool]:
    """Which rows are made of the link's table and arguments alone."""
    found: list[bool] = []
    for takes in group.takes:
        found.append(
            all(not isinstance(ref, Ref) or (not ref.side and found[ref.row]) for ref in takes)
        )
    return found


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
    where it goes outward, unless the step is about the parent. What is made of one alone is that one's, but for what an outward
    step makes of its link's parent. None where the links are no neighbours.
    """
    if len(of) > 1:
        near, *far = sorted(of)
        if len(far) > 1 or parents[far[0]] != near:
            return None
        return near if inward or near == label else far[0]
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
