"""What a later sweep needs of an earlier one is kept, link by link: as few numbers as separate the two.

Whatever a table and the arguments give by sums and products is worked out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from symgen.ir.program import Program
from symgen.pipeline.loops.cuts import behind, least_cut
from symgen.pipeline.loops.link_assignment import Group, Ref

DEAR = ("sin", "cos", "sqrt", "log", "atan2", "div")
"""What is not worked out again where it can be kept."""


@dataclass(frozen=True)
class Plan:
    """Of one class: by level the rows that its step ends in, and those that have been kept before it."""

    ends: list[list[int]]
    kept: list[list[int]]


def planned(
    chain: Program,
    group: Group,
    levels: int,
    handed: Mapping[int, Sequence[int | None]],
    results: Iterable[tuple[int, int]],
) -> Plan:
    """What each level's step has to know and what it leaves: as few numbers as can be. `results` are rows and the levels that
    give them.
    """
    dear = [chain.rows[r].op in DEAR for r in group.rows]
    around = [any(isinstance(ref, Ref) and ref.side for ref in takes) for takes in group.takes]
    own = own_of(group)
    ends: list[list[int]] = []
    for level in range(levels):
        wanted = [k for k in range(len(own)) if around[k] and group.level[k] == level]
        wanted += [row for row in handed.get(level, ()) if row is not None]
        wanted += [row for row, due in results if due == level]
        ends.append(list(dict.fromkeys(wanted)))
    kept: list[list[int]] = [[] for _ in range(levels + 1)]
    for level in range(levels - 1, 0, -1):
        earlier = {k for k in range(len(own)) if group.level[k] < level}
        needed = behind(own, {*ends[level], *kept[level + 1]}, earlier) & earlier
        kept[level] = least_cut(own, {k for k in earlier if around[k] or dear[k]}, needed)
    return Plan(ends, kept[:levels])


def own_of(group: Group) -> list[list[int]]:
    """What each row takes of its own link."""
    return [
        [ref.row for ref in takes if isinstance(ref, Ref) and not ref.side] for takes in group.takes
    ]


def slotted(plan: Plan) -> dict[int, int]:
    """Of each row that is kept its place in the link's row of work: what is needed longest comes first, and what a step keeps
    stands behind what it takes, so that in C neither may be where the other one is.
    """
    last = {row: level for level, rows in enumerate(plan.kept) for row in rows}
    slots: dict[int, int] = {}
    for level in range(1, len(plan.kept)):
        new = sorted(
            (row for row in plan.kept[level] if row not in slots), key=lambda row: (-last[row], row)
        )
        taken = {slots[row] for row in slots if last[row] >= level - 1}
        first = next(place for place in count() if not taken & {*range(place, place + len(new))})
        slots |= {row: first + place for place, row in enumerate(new)}
    return slots
