"""What is made in the end of what the sweeps carry there: to the base, sums over all links, or to the link that a frame is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from symgen.derivation.table_linkage import PREPARED
from symgen.ir.loops import FINAL_CARRY
from symgen.ir.program import Port, Program, Row
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.isomorphism import Folded
from symgen.pipeline.loops.link_assignment import Group, Ref, Taken, Unlike
from symgen.pipeline.loops.sample_chain import Chain


class Finish(NamedTuple):
    """What makes the results that are one for all, of elements of what each sweep carries to its end: there are the base or the
    frame's link.
    """

    elements: dict[int, tuple[int, ...]]
    program: Program


def finished(
    chain: Chain,
    program: Program,
    fold: Folded,
    middle: range,
    interface: Interface,
    names: Sequence[str],
) -> Finish:
    """These results. Raises Unlike where they are made of anything else."""
    ports = [port for port in program.outputs if port.name in names]
    rows = {r for port in ports for r in port.rows if program.rows[r].op != "const"}
    ghost, tip = fold.groups[0], fold.groups[-1]
    at_base = chain.frame is None
    group = ghost if at_base else tip
    if not rows <= {*group.rows}:
        raise Unlike(
            f"a result of {program.function} by {program.method} is made neither at the base nor at the frame"
        )
    cut = _handed_in(fold, interface) if at_base else _met(chain, program, fold, middle, interface)
    return _Finishing(chain, program, group, cut, at_base).made(ports)


Cut = Callable[[int | Ref], tuple[int, int, int] | None]
"""Of a row of the group, or of one that it takes from further out, the level and the element that it comes by, and its sign."""


def _handed_in(fold: Folded, interface: Interface) -> Cut:
    ghost = fold.groups[0]
    at = {
        ref: level
        for takes, level in zip(ghost.takes, ghost.level, strict=True)
        for ref in takes
        if isinstance(ref, Ref) and ref.side > 0
    }

    def cut(row: int | Ref) -> tuple[int, int, int] | None:
        return (
            (at[row], interface.to_the_ghost(at[row])[row.row], 0) if isinstance(row, Ref) else None
        )

    return cut


def _met(chain: Chain, program: Program, fold: Folded, middle: range, interface: Interface) -> Cut:
    """What the last link would hand on, were there another one: rows that are made as those that such a link hands on, or have
    their names: nothing comes to it from further out.
    """
    own, like = chain.classes[-1], middle[-1]  # which is of that class, as are some before it
    last = fold.groups[-1]
    called = {
        name: row for row in range(len(last.rows)) for name in interface.names(last.link, row)
    }
    pairs = _Pairs(program, fold.groups, chain.classes, middle)
    found: dict[int, tuple[int, int, int]] = {}
    for level in interface.elements:
        if level % 2:
            continue
        for element, row in enumerate(interface.rows(level, own)):
            if row is None:
                continue
            there = [at for at in range(len(last.rows)) if pairs.alike(like, row, last.link, at)]
            for at in [
                *there,
                *(called[name] for name in interface.names(like, row) if name in called),
            ]:
                found.setdefault(at, (level, element, int((own, row) in fold.turned)))

    def cut(row: int | Ref) -> tuple[int, int, int] | None:
        return None if isinstance(row, Ref) else found.get(row)

    return cut


class _Pairs:
    """Rows of two links that are made in the same way, of what their neighbours make in the same way."""

    def __init__(
        self, program: Program, groups: Sequence[Group], classes: Sequence[int], middle: range
    ) -> None:
        self.program, self.groups, self.classes, self.middle = program, groups, classes, middle
        self.known: dict[tuple[int, int, int, int], bool] = {}

    def alike(self, i: int, row: int, j: int, other: int) -> bool:
        """Links between the ends that are of one class have like rows in the same places."""
        if i in self.middle and j in self.middle:
            return self.classes[i] == self.classes[j] and row == other
        key = i, row, j, other
        if key not in self.known:
            one, two = self.groups[i], self.groups[j]
            mine, its = one.takes[row], two.takes[other]
            a, b = self.program.rows[one.rows[row]].op, self.program.rows[two.rows[other]].op
            self.known[key] = (
                a == b
                and len(mine) == len(its)
                and all(self._taken(i, x, j, y) for x, y in zip(mine, its, strict=True))
            )
        return self.known[key]

    def _taken(self, i: int, x: Taken, j: int, y: Taken) -> bool:
        if isinstance(x, Ref) and isinstance(y, Ref):
            return x.side == y.side and self.alike(i + x.side, x.row, j + y.side, y.row)
        return x == y


class _Finishing:
    """The rows behind what is carried to the end."""

    def __init__(
        self, chain: Chain, source: Program, group: Group, cut: Cut, at_base: bool
    ) -> None:
        self.chain, self.source, self.group, self.cut, self.at_base = (
            chain,
            source,
            group,
            cut,
            at_base,
        )
        self.given = chain.at_rest() if at_base else {}
        self.rows: list[Row] = []
        self.at: dict[int | Ref, int] = {}
        self.ended: dict[tuple[int, int], int] = {}
        self.constants: dict[Fraction, int] = {}

    def made(self, ports: Sequence[Port]) -> Finish:
        place = {r: row for row, r in enumerate(self.group.rows)}
        outputs = [
            Port(
                port.name,
                port.shape,
                tuple(
                    self._constant(self.source.rows[r].value)
                    if self.source.rows[r].op == "const"
                    else self._row(place[r])
                    for r in port.rows
                ),
            )
            for port in ports
        ]
        order = {there: place for place, there in enumerate(sorted(self.ended))}
        places = {place: order[there] for there, place in self.ended.items()}
        rows = [
            row._replace(value=(0, places[row.value[1]])) if row.op == "input" else row
            for row in self.rows
        ]
        source, taken = self.source, (Port(FINAL_CARRY, (len(order),)),)
        program = Program(source.function, source.method, taken, tuple(outputs), tuple(rows), ())
        return Finish(
            {level: tuple(e for own, e in order if own == level) for level, _ in order}, program
        )

    def _put(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def _constant(self, value: Fraction) -> int:
        if value not in self.constants:
            self.constants[value] = self._put(Row("const", (), value))
        return self.constants[value]

    def _row(self, row: int | Ref) -> int:
        if row not in self.at:
            self.at[row] = self._made(row)
        return self.at[row]

    def _made(self, row: int | Ref) -> int:
        cut = self.cut(row)
        if cut is not None:
            *what, turned = cut
            found = self._put(
                Row("input", (), (0, self.ended.setdefault((what[0], what[1]), len(self.ended))))
            )
            return self._put(Row("neg", (found,))) if turned else found
        if isinstance(row, Ref):
            raise Unlike(
                f"a result of {self.source.function} by {self.source.method} is made of what its neighbours are"
            )
        source = self.source.rows[self.group.rows[row]]
        if source.op == "input":
            return self._constant(self._known(*source.value))
        args = [self._taken(ref) for ref in self.group.takes[row]]
        return self._put(source._replace(args=tuple(args), name="", step=-1))

    def _taken(self, ref: Taken) -> int:
        if isinstance(ref, Ref):
            return self._row(ref if ref.side else ref.row)
        return self._constant(
            ref if isinstance(ref, Fraction) else self._known(ref.port, ref.element)
        )

    def _known(self, port: int, element: int) -> Fraction:
        """An argument there: what the base is, and of the ghost at rest all that it is given."""
        name = self.source.inputs[port].name
        if name == PREPARED and element >= self.chain.first[-1] and not self.at_base:
            return self.chain.of_the_base(element)
        if not self.at_base or self.chain.widths.get(name) == 0:
            raise Unlike(
                f"a result of {self.source.function} by {self.source.method} is made of '{name}' itself"
            )
        return self.given.get(name, {}).get(element, Fraction(0))
