"""What links hand on to their neighbours in each sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symgen.ir.program import Program
from symgen.pipeline.loops.cuts import behind
from symgen.pipeline.loops.isomorphism import Folded
from symgen.pipeline.loops.link_assignment import Ref, Unlike


class Interface:
    """What links of all classes hand on in each sweep: elements, each a row of every class.

    Links of two classes hand on the same where one row of a third takes it of either. Those at the ends of the chain, which are
    not like the others, are classes of their own: -1 the ghost, -2 the link behind it. `still`: the ghost is the base, of which
    all arguments are nothing.
    """

    def __init__(
        self,
        chain: Program,
        called: Mapping[int, Sequence[str]],
        fold: Folded,
        classes: Sequence[int],
        middle: Sequence[int],
        still: bool,
    ) -> None:
        self._up: dict[tuple[int, int], tuple[int, int]] = {}
        self._chain, self._called, self._fold, self._middle, self._still = (
            chain,
            called,
            fold,
            middle,
            still,
        )
        self.labels = [own if i in middle else -1 - i for i, own in enumerate(classes)]
        taken: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        used: dict[tuple[int, int], set[int]] = {}
        for i in middle:
            for k, takes in enumerate(fold.groups[i].takes):
                for place, ref in enumerate(reversed(takes) if k in fold.swapped[i] else takes):
                    if isinstance(ref, Ref) and ref.side:
                        handed = (self.labels[i + ref.side], ref.row)
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

    def rows(self, level: int, label: int) -> list[int | None]:
        """Of a class, the row that hands on each element of a sweep; None where it is nothing."""
        found: dict[tuple[int, int], int] = {}
        link = self._fold.standing[label] if label >= 0 else -1 - label
        for row in range(len(self._fold.groups[link].rows)):
            found.setdefault(self.root((label, row)), row)
        return [found.get(element) for element in self.elements.get(level, [])]

    def of_the_ghost(self, level: int) -> list[int | None]:
        """Likewise of the ghost: what links alike are given by the one before them. Where that is another, the names that the
        derivation has for both tell it.
        """
        last = self._middle[0] - 1
        if last == 0:
            return self.rows(level, self.labels[0])
        found: list[int | None] = []
        names = {
            name: row
            for row in range(len(self._fold.groups[0].rows))
            for name in self.names(0, row)
        }
        for row in self.rows(level, self.labels[last]):
            own = [] if row is None else self.names(last, row)
            if row is not None and not own and not self._nothing(row, last):
                raise Unlike(
                    f"what the base hands on in {self._chain.function} by {self._chain.method} has no name"
                )
            found.append(next((names[name] for name in own if name in names), None))
        behind_it = {
            ref.row
            for takes, at in zip(
                self._fold.groups[1].takes, self._fold.groups[1].level, strict=True
            )
            for ref in takes
            if isinstance(ref, Ref) and ref.side < 0 and at == level
        }
        if (
            behind_it - set(found) and not self._still
        ):  # what the base at rest gives besides is nothing, or does nothing
            raise Unlike(
                f"what the base hands on in {self._chain.function} by {self._chain.method} is not what links do"
            )
        return found

    def to_the_ghost(self, level: int) -> dict[int, int]:
        """Of rows of the link behind the ghost, which elements they hand on to it: in their order those that others hand on, or
        by their names.
        """
        into = self._taken_from_behind(0, level)
        parent = self._middle[0]
        rows = self._taken_from_behind(parent, level)
        if len(into) != len(rows):  # it takes less: what that is has a name
            called = {name: row for row in rows for name in self.names(parent + 1, row)}
            rows = [
                called[name] for row in into for name in self.names(1, row)[:1] if name in called
            ]
        if len(into) != len(rows):
            raise Unlike(
                f"what the base is given in {self._chain.function} by {self._chain.method} is not what links are"
            )
        others = [
            self.elements[level].index(self.root((self.labels[parent + 1], row))) for row in rows
        ]
        return dict(zip(into, others, strict=True))

    def ending(self, row: int, pivots: bool) -> tuple[int, int]:
        """Of a row of the ghost that sums or multiplies what all links have, the sweep and the element that it comes by. What the
        ghost adds of its own hangs on no other link, unless it is its `pivots` of the mass matrix, which the robot has not.
        """
        group, at = self._fold.groups[0], row
        while True:
            takes = [ref for ref in group.takes[at] if isinstance(ref, Ref)]
            handed = [ref for ref in takes if ref.side > 0]
            same = [ref for ref in takes if not ref.side and self._op(ref.row) == self._op(row)]
            ways = (handed or same[:1]) if pivots else [*handed, *same]
            if len(ways) != 1 or (
                not pivots and self._handed([ref.row for ref in takes if ref not in ways])
            ):
                raise Unlike(
                    f"a result of {self._chain.function} by {self._chain.method} is no sum and no product of the links'"
                )
            if ways[0].side:
                level = group.level[at]
                return level, self.to_the_ghost(level)[ways[0].row]
            at = ways[0].row

    def _handed(self, rows: Sequence[int]) -> bool:
        """Whether any of these rows of the ghost hangs on another link."""
        takes = self._fold.groups[0].takes
        own = [[ref.row for ref in one if isinstance(ref, Ref) and not ref.side] for one in takes]
        return any(
            isinstance(ref, Ref) and ref.side > 0 for row in behind(own, rows) for ref in takes[row]
        )

    def _nothing(self, row: int, link: int) -> bool:
        """Whether it is an argument, where the base has none."""
        return self._still and self._op(row, link) == "input"

    def _op(self, row: int, link: int = 0) -> str:
        return self._chain.rows[self._fold.groups[link].rows[row]].op

    def _taken_from_behind(self, link: int, level: int) -> list[int]:
        group = self._fold.groups[link]
        return sorted(
            {
                ref.row
                for takes, at in zip(group.takes, group.level, strict=True)
                for ref in takes
                if isinstance(ref, Ref) and ref.side > 0 and at == level
            }
        )

    def names(self, link: int, row: int) -> list[str]:
        """What a row was called, without the number of the link."""
        found = []
        for name in self._called.get(self._fold.groups[link].rows[row], ()):
            symbol, *parts = name.split("_")
            if parts and parts[0] == str(link + 1):
                found.append("_".join([symbol, *parts[1:]]))
        return found
