"""One link's share of a sweep as a Program: its rows, what it takes and what it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from symgen.derivation.table_linkage import PREPARED
from symgen.ir.loops import CARRY, CONSTANTS, SAVED
from symgen.ir.program import Port, Program, Row
from symgen.pipeline.loops.cuts import behind
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.link_assignment import Group, Own, Ref, Shared, Unlike
from symgen.pipeline.loops.liveness import Plan, own_of
from symgen.pipeline.loops.sample_chain import Chain


def results_of(chain: Chain, program: Program, group: Group) -> dict[str, tuple[list[int], int]]:
    """Of each result that is a link's own the rows of the chain, and the level that gives them, which is that of the last of
    them; -1 where none is the link's.
    """
    level = dict(zip(group.rows, group.level, strict=True))
    found: dict[str, list[int]] = {}
    for name, r in chain.results(program, group.link):
        found.setdefault(name, []).append(r)
    return {
        name: (rows, max((level[r] for r in rows if r in level), default=-1))
        for name, rows in found.items()
    }


class Step:
    """What a link of a class does in one sweep, as a Program, and the first place that it keeps something in."""

    def __init__(
        self,
        chain: Chain,
        program: Program,
        group: Group,
        plan: Plan,
        level: int,
        slots: Mapping[int, int],
        work: int,
        interface: Interface,
        handed: Sequence[tuple[int | None, int]],
        last: bool,
    ) -> None:
        self.chain, self.source, self.group, self.level, self.interface = (
            chain,
            program,
            group,
            level,
            interface,
        )
        self.link = chain.model.links[group.link]
        self.labels = {side: interface.labels[group.link + side] for side in (-1, 1)}
        before = set(plan.kept[level])
        after = plan.kept[level + 1] if level + 1 < len(plan.kept) else []
        new = sorted((row for row in after if row not in before), key=slots.__getitem__)
        self.first = slots[new[0]] if new else 0
        self.slots = {row: slots[row] for row in before}
        self.elements = interface.elements.get(level, [])
        at = {r: row for row, r in enumerate(group.rows)}
        # What is the same in all states comes with the last.
        given = {
            name: rows
            for name, (rows, due) in results_of(chain, program, group).items()
            if level == due or (last and due < 0)
        }
        results = [at[r] for rows in given.values() for r in rows if r in at]
        self.rows: list[Row] = []
        self.ports: dict[str, int] = {}
        self.at: dict[int, int] = {}
        self.carried: dict[int, int] = {}
        self.alike: dict[Shared | Own, int] = {}
        self.constants: dict[Fraction, int] = {}
        self.steps: list[str] = []
        self.names: set[str] = set()
        takes = own_of(group)
        for row in sorted(
            behind(takes, {*(h for h, _ in handed if h is not None), *new, *results}, before)
        ):
            self._add(row)
        outputs = []
        if self.elements:
            carried = [
                self._zero()
                if h is None
                else self._put(Row("neg", (self.at[h],)))
                if sign
                else self.at[h]
                for h, sign in handed
            ]
            outputs.append(Port(CARRY, (len(carried),), tuple(carried)))
        if new:
            outputs.append(Port(SAVED, (len(new),), tuple(self.at[row] for row in new)))
        for name, rows in given.items():
            found = [self.at[at[r]] if r in at else self._same(r) for r in rows]
            outputs.append(Port(name, (len(found),), tuple(found)))
        sizes = {
            CONSTANTS: chain.columns[chain.classes[group.link]].width,
            SAVED: work,
            CARRY: len(self.elements),
        }
        sizes |= {
            port.name: port.size for port in program.inputs if chain.widths.get(port.name) == 0
        }
        inputs = [
            Port(name, (sizes.get(name) or self._own(name).stop - self._own(name).start,))
            for name in self.ports
        ]
        self.program = Program(
            program.function,
            program.method,
            tuple(inputs),
            tuple(outputs),
            tuple(self.rows),
            tuple(self.steps),
        )

    def _own(self, name: str) -> slice:
        return self.chain.own(name, self.link)

    def _port(self, name: str) -> int:
        return self.ports.setdefault(name, len(self.ports))

    def _put(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def _same(self, r: int) -> int:
        """A result that is the same in all states. Raises Unlike where it is another link's."""
        row = self.source.rows[r]
        if row.op != "const":
            raise Unlike(
                f"a result of a link in {self.source.function} by {self.source.method} is another's"
            )
        return self._constant(row.value)

    def _zero(self) -> int:
        return self._constant(Fraction(0))

    def _constant(self, value: Fraction) -> int:
        if value not in self.constants:
            self.constants[value] = self._put(Row("const", (), value))
        return self.constants[value]

    def _add(self, row: int) -> None:
        """Row number `row` of the link."""
        if row in self.slots:
            self.at[row] = self._put(Row("input", (), (self._port(SAVED), self.slots[row])))
            return
        source = self.source.rows[self.group.rows[row]]
        if source.op == "input" and (known := self._of_the_base(*source.value)) is not None:
            self.at[row] = self._constant(known)
            return
        if source.op == "input":
            self.at[row] = self._put(Row("input", (), self._input(*source.value)))
            return
        args = []
        for ref in self.group.takes[row]:
            if isinstance(ref, Fraction):
                args.append(self._constant(ref))
            elif not isinstance(ref, Ref):
                args.append(self._shared(ref))
            elif ref.side:
                args.append(self._carried(ref))
            else:
                args.append(self.at[ref.row])
        self.at[row] = self._put(
            source._replace(
                args=tuple(args), name=self._name(source.name), step=self._step(source.step)
            )
        )

    def _of_the_base(self, port: int, element: int) -> Fraction | None:
        """What there is to know of the base, of which there is one; None of anything else."""
        if self.source.inputs[port].name != PREPARED or element < self.chain.first[-1]:
            return None
        return self.chain.of_the_base(element)

    def _shared(self, ref: Shared | Own) -> int:
        if (known := self._of_the_base(ref.port, ref.element)) is not None:
            return self._constant(known)
        if ref not in self.alike:
            self.alike[ref] = self._put(
                Row("input", (), (self._port(self.source.inputs[ref.port].name), ref.element))
            )
        return self.alike[ref]

    def _input(self, port: int, element: int) -> tuple[int, int]:
        name = self.source.inputs[port].name
        if name == PREPARED:
            return self._port(CONSTANTS), element - self.chain.first[self.group.link]
        return self._port(name), element - self._own(name).start

    def _carried(self, ref: Ref) -> int:
        handed = (self.labels[ref.side], ref.row)
        if handed[0] == -2 and ref.side > 0:
            element = self.interface.to_the_ghost(self.level)[ref.row]
        elif self.interface.root(handed) in self.elements:
            element = self.elements.index(self.interface.root(handed))
        else:
            raise Unlike(
                f"a link in {self.source.function} by {self.source.method} takes what others do not hand on"
            )
        if element not in self.carried:
            self.carried[element] = self._put(Row("input", (), (self._port(CARRY), element)))
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
        symbol, *parts = name.removeprefix("neg_").split("_")
        if not parts or not parts[0].isdigit() or int(parts[0]) not in numbers:
            return ""
        short = "_".join([*["neg"] * name.startswith("neg_"), symbol, *parts[1:]])
        if short in self.names:
            return ""
        self.names.add(short)
        return short
