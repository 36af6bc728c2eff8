"""Assignment of every row of a sample chain to a link and to a sweep.

A row belongs to the link that its comment names, or to that link's child if it is computed from
values of the child alone. A row that reads a value of the parent stands in an outward sweep, a row
that reads a value of the child in an inward one. A row that reads results of a sweep stands in that
sweep or a later one. Sines and cosines that depend on one link alone stand in a first sweep without
a carry: a compiler computes those of many links together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from symgen.ir.program import Program
from symgen.pipeline.loops.cuts import behind
from symgen.support.errors import SymgenError

SINES = 0
"""Sweep of the sines and cosines that depend on one link alone."""


class NotUniform(SymgenError):
    """The links of a sample chain do not have the same rows."""


class Ref(NamedTuple):
    """A row of a link by its number there: of the link itself (`side` 0), of its parent (-1) or of
    its child (1).
    """

    side: int
    row: int


@dataclass(frozen=True)
class Shared:
    """An element of an argument that all links share."""

    port: int
    element: int


@dataclass(frozen=True)
class Own:
    """An element of an argument of one link, by its number among those of the link."""

    port: int
    element: int


Operand = Ref | Fraction | Shared | Own
"""An operand of a row; of a row that is an argument, that argument."""


@dataclass
class LinkRows:
    """The rows of one link, in their order."""

    link: int
    rows: list[int] = field(default_factory=list)
    """Rows of the sample chain."""
    operands: list[tuple[Operand, ...]] = field(default_factory=list)
    refs: list[list[Ref]] = field(default_factory=list)
    """Operands of each row that are rows."""
    sweeps: list[int] = field(default_factory=list)
    """Sweep of each row; even ones go outward, odd ones inward."""

    def local_operands(self) -> list[list[int]]:
        """Return for each row the operands that are rows of the same link."""
        return [[ref.row for ref in refs if not ref.side] for refs in self.refs]

    def local_rows(self) -> list[bool]:
        """Return which rows depend only on constants and arguments of the link."""
        local: list[bool] = []
        for refs in self.refs:
            local.append(all(not ref.side and local[ref.row] for ref in refs))
        return local

    def rows_from(self, side: int, sweep: int) -> set[int]:
        """Return the rows of a neighbour that rows of a sweep read."""
        return {
            ref.row
            for number, refs in zip(self.sweeps, self.refs, strict=True)
            if number == sweep
            for ref in refs
            if ref.side == side
        }


def assign_links(
    chain: Program,
    parents: Sequence[int],
    link_of_comment: Mapping[int, int],
    link_of_input: Mapping[tuple[int, int], int],
) -> list[LinkRows]:
    """Assign every row that a result needs to a link and a sweep.

    Elements of arguments that `link_of_input` does not name are shared by all links. Raises
    NotUniform if a row reads values of links that are no neighbours.
    """
    links = _Assignment(chain, parents, link_of_comment, link_of_input).links
    _postpone(links, parents)
    for link in links:
        local = link.local_rows()
        link.sweeps = [
            SINES if local[k] and chain.rows[r].op in ("sin", "cos") else SINES + 2 + sweep
            for k, (r, sweep) in enumerate(zip(link.rows, link.sweeps, strict=True))
        ]
    return links


class _Assignment:
    """The rows of a sample chain under their links, each in the first sweep that its operands
    allow.
    """

    def __init__(
        self,
        chain: Program,
        parents: Sequence[int],
        link_of_comment: Mapping[int, int],
        link_of_input: Mapping[tuple[int, int], int],
    ) -> None:
        self.chain, self.parents = chain, parents
        self.link_of_comment, self.link_of_input = link_of_comment, link_of_input
        self.inward = _inward_comments(chain.steps, link_of_comment)
        self.links = [LinkRows(i) for i in range(len(parents))]
        self.owner: dict[int, int] = {}
        """Link of each row."""
        self.number: dict[int, int] = {}
        """Number of each row among those of its link."""
        self.shared: dict[int, Operand] = {}
        """Constants, and arguments that all links share."""
        self.first: dict[tuple[int, int], int] = {}
        """First element of each argument and link."""
        for (port, element), link in link_of_input.items():
            self.first[port, link] = min(element, self.first.get((port, link), element))
        live = behind(
            [row.args for row in chain.rows], {r for port in chain.outputs for r in port.rows}
        )
        for r in sorted(live):
            self._assign(r)

    def _assign(self, r: int) -> None:
        """Put a row under its link, with its operands and its sweep."""
        row = self.chain.rows[r]
        if row.op == "const" or (row.op == "input" and row.value not in self.link_of_input):
            self.shared[r] = row.value if row.op == "const" else Shared(*row.value)
            return
        link = self._link_of(r)
        operands: list[Operand] = []
        refs: list[Ref] = []
        sweep, sides = 0, set()
        if row.op == "input":
            port, element = row.value
            operands.append(Own(port, element - self.first[port, link]))
        for a in row.args:
            if a in self.shared:
                operands.append(self.shared[a])
                continue
            side = self._side(r, self.owner[a], link)
            refs.append(Ref(side, self.number[a]))
            operands.append(refs[-1])
            sweep = max(sweep, self.links[self.owner[a]].sweeps[self.number[a]])
            sides.add(side)
        if {-1, 1} <= sides:
            raise NotUniform(f"{self._where(r)} reads values of the parent and of a child")
        if sides & {-1, 1} and sweep % 2 != int(1 in sides):
            sweep += 1
        rows = self.links[link]
        self.owner[r], self.number[r] = link, len(rows.rows)
        rows.rows.append(r)
        rows.operands.append(tuple(operands))
        rows.refs.append(refs)
        rows.sweeps.append(sweep)

    def _link_of(self, r: int) -> int:
        """Return the link that a row belongs to."""
        row = self.chain.rows[r]
        if row.op == "input":
            return self.link_of_input[row.value]
        owners = {self.owner[a] for a in row.args if a not in self.shared}
        named, inward = self.link_of_comment.get(row.step), self.inward.get(row.step, False)
        link = _owner(owners, named, inward, self.parents)
        if link is None and not owners:
            return 0  # rows that all links share stand on the virtual base
        if link is None:
            raise NotUniform(f"{self._where(r)} reads values of links that are no neighbours")
        return link

    def _side(self, r: int, owner: int, link: int) -> int:
        """Return the side on which the link of an operand stands."""
        if owner == link:
            return 0
        if owner == self.parents[link]:
            return -1
        if self.parents[owner] == link:
            return 1
        raise NotUniform(f"{self._where(r)} reads values of links that are no neighbours")

    def _where(self, r: int) -> str:
        chain = self.chain
        return (
            f"a row of the step '{chain.steps[chain.rows[r].step]}' of {chain.function} by"
            f" {chain.method}"
        )


def _postpone(links: Sequence[LinkRows], parents: Sequence[int]) -> None:
    """Move rows that depend only on constants and arguments of their link to the first sweep that
    reads them.
    """
    readers: list[dict[int, int]] = [{} for _ in links]
    """First sweep that reads each row, by link."""
    children: dict[int, int] = {parents[i]: i for i in reversed(range(len(parents)))}

    def read_in(link: int, row: int, sweep: int) -> None:
        readers[link][row] = min(readers[link].get(row, sweep), sweep)

    for i, link in enumerate(links):
        for k, sweep in enumerate(link.sweeps):
            for ref in link.refs[k]:
                if ref.side:
                    read_in(parents[i] if ref.side < 0 else children[i], ref.row, sweep)
    for i, link in enumerate(links):
        local = link.local_rows()
        for k in reversed(range(len(link.rows))):
            if local[k] and k in readers[i]:
                link.sweeps[k] = readers[i][k]
            for ref in link.refs[k]:
                if not ref.side:
                    read_in(i, ref.row, link.sweeps[k])


def _owner(owners: set[int], named: int | None, inward: bool, parents: Sequence[int]) -> int | None:
    """Return the link of a row whose operands belong to `owners`, None if these are no neighbours.

    Of two neighbours it is the one that the sweep visits later: the parent in an inward sweep, the
    child in an outward one, unless the comment names the parent. A row with operands of one link
    belongs to that link, or to the child that an outward comment names.
    """
    if len(owners) > 1:
        near, *far = sorted(owners)
        if len(far) > 1 or parents[far[0]] != near:
            return None
        return near if inward or near == named else far[0]
    if not owners:
        return named
    (only,) = owners
    return named if named is not None and not inward and parents[named] == only else only


def _inward_comments(comments: Sequence[str], link_of: Mapping[int, int]) -> dict[int, bool]:
    """Return for each comment if its sweep goes from child to parent, as the links of equal
    comments beside it show.
    """
    inward: dict[int, bool] = {}
    for comment, link in link_of.items():
        for neighbour, sign in ((comment + 1, 1), (comment - 1, -1)):
            if (
                neighbour in link_of
                and comments[neighbour] == comments[comment]
                and link_of[neighbour] != link
            ):
                inward[comment] = (link_of[neighbour] - link) * sign < 0
                break
    return inward
