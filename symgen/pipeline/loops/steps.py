"""Step of one link class in one sweep, as a Program: its rows, the values that it reads, and the
values that it gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.derivation.table_linkage import PREPARED
from symgen.ir.loops import CARRY, CONSTANTS, SAVED
from symgen.ir.program import Port, Program, Row
from symgen.pipeline.loops.cuts import behind
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.link_assignment import LinkRows, NotUniform, Own, Ref, Shared
from symgen.pipeline.loops.liveness import SavedRows
from symgen.pipeline.loops.sample_chain import SampleChain

Carry = Sequence[tuple[int | None, bool]]
"""Row of a link that gives each element of a carry, None for zero, and if it has the opposite sign.
"""


def results_of(
    chain: SampleChain, program: Program, link: LinkRows, shared: bool
) -> dict[str, tuple[list[int], int]]:
    """Return the rows of each result of a link, and the sweep of the last of them; -1 if none is a
    row of the link.

    With `shared` the link gives the results that all links share, too.
    """
    sweep = dict(zip(link.rows, link.sweeps, strict=True))
    rows_of: dict[str, list[int]] = {}
    for name, r in chain.results(program, link.link, shared):
        rows_of.setdefault(name, []).append(r)
    return {
        name: (rows, max((sweep[r] for r in rows if r in sweep), default=-1))
        for name, rows in rows_of.items()
    }


@dataclass(frozen=True)
class ClassPlan:
    """Facts that the steps of one class share: the rows of its example, and the places of the
    values that it saves.
    """

    chain: SampleChain
    program: Program
    """Rows of the sample chain."""
    interface: Interface
    link: LinkRows
    shared: bool
    """True if a link of the class gives the results that all links share."""
    saved: SavedRows
    places: Mapping[int, int]
    work: int
    """Numbers that a link of any class saves."""


class RowWriter:
    """Rows of a step, written one by one."""

    def __init__(self, source: Program) -> None:
        self.source = source
        self.rows: list[Row] = []
        self.constants: dict[Fraction, int] = {}

    def put(self, row: Row) -> int:
        """Write a row and return its number."""
        self.rows.append(row)
        return len(self.rows) - 1

    def constant(self, value: Fraction) -> int:
        """Write a constant once."""
        if value not in self.constants:
            self.constants[value] = self.put(Row("const", (), value))
        return self.constants[value]

    @property
    def title(self) -> str:
        """Function and method of the rows."""
        return f"{self.source.function} by {self.source.method}"


class Step(RowWriter):
    """Step of a class in one sweep: `program`, and the first place where it saves a value."""

    def __init__(self, plan: ClassPlan, sweep: int, carry: Carry, last: bool) -> None:
        super().__init__(plan.program)
        self.plan, self.sweep = plan, sweep
        self.chain, self.interface = plan.chain, plan.interface
        self.link_rows, self.link = plan.link, plan.chain.model.links[plan.link.link]
        read_saved, new = self._saved()
        self.saved_at = plan.places[new[0]] if new else 0
        self.places = {row: plan.places[row] for row in read_saved}
        self.elements = plan.interface.elements.get(sweep, [])
        self.ports: dict[str, int] = {}
        self.written: dict[int, int] = {}
        self.carried: dict[int, int] = {}
        self.shared: dict[Shared | Own, int] = {}
        self.comments: list[str] = []
        self.names: set[str] = set()
        number_of = {r: k for k, r in enumerate(plan.link.rows)}
        # Results that are equal in all states come with the last sweep.
        results = {
            name: rows
            for name, (rows, given_in) in results_of(
                self.chain, self.source, plan.link, plan.shared
            ).items()
            if sweep == given_in or (last and given_in < 0)
        }
        needed_rows = {row for row, _ in carry if row is not None} | {*new}
        needed_rows |= {number_of[r] for rows in results.values() for r in rows if r in number_of}
        for row in sorted(behind(plan.link.local_operands(), needed_rows, read_saved)):
            self._write(row)
        outputs = self._carry_port(carry)
        if new:
            outputs.append(Port(SAVED, (len(new),), tuple(self.written[row] for row in new)))
        for name, rows in results.items():
            values = [self.written[number_of[r]] if r in number_of else self._same(r) for r in rows]
            outputs.append(Port(name, (len(values),), tuple(values)))
        self.program = Program(
            self.source.function,
            self.source.method,
            self._inputs(),
            tuple(outputs),
            tuple(self.rows),
            tuple(self.comments),
        )

    def _saved(self) -> tuple[set[int], list[int]]:
        """Return the rows that the step reads as saved values, and those that it saves, in the
        order of their places.
        """
        saved, places = self.plan.saved.saved, self.plan.places
        read_saved = set(saved[self.sweep])
        after = saved[self.sweep + 1] if self.sweep + 1 < len(saved) else []
        return read_saved, sorted(
            (row for row in after if row not in read_saved), key=places.__getitem__
        )

    # -- ports -----------------------------------------------------------------------------------

    def _carry_port(self, carry: Carry) -> list[Port]:
        """Return the port of the carry; none for a sweep without a carry."""
        if not self.elements:
            return []
        rows = [
            self.constant(Fraction(0))
            if row is None
            else self.put(Row("neg", (self.written[row],)))
            if negated
            else self.written[row]
            for row, negated in carry
        ]
        return [Port(CARRY, (len(rows),), tuple(rows))]

    def _inputs(self) -> tuple[Port, ...]:
        """Return the ports that the rows read."""
        plan = self.plan
        sizes = {
            CONSTANTS: self.chain.columns[self.chain.classes[plan.link.link]].width,
            SAVED: plan.work,
            CARRY: len(self.elements),
        }
        sizes |= {
            port.name: port.size
            for port in self.source.inputs
            if self.chain.widths.get(port.name) == 0
        }
        return tuple(
            Port(name, (sizes.get(name) or self._elements(name).stop - self._elements(name).start,))
            for name in self.ports
        )

    def _elements(self, name: str) -> slice:
        return self.chain.elements_of(name, self.link)

    def _port(self, name: str) -> int:
        return self.ports.setdefault(name, len(self.ports))

    # -- rows ------------------------------------------------------------------------------------

    def _input(self, name: str, element: int) -> int:
        return self.put(Row("input", (), (self._port(name), element)))

    def _same(self, r: int) -> int:
        """Write a result that is equal in all states. Raises NotUniform if it belongs to another
        link.
        """
        row = self.source.rows[r]
        if row.op != "const":
            raise NotUniform(f"a result of a link in {self.title} belongs to another link")
        return self.constant(row.value)

    def _write(self, row: int) -> None:
        """Write a row of the link."""
        if row in self.places:
            self.written[row] = self._input(SAVED, self.places[row])
            return
        source = self.source.rows[self.link_rows.rows[row]]
        if source.op == "input":
            self.written[row] = self._argument(*source.value)
            return
        args = tuple(
            self.constant(operand)
            if isinstance(operand, Fraction)
            else self._shared(operand)
            if not isinstance(operand, Ref)
            else self._carry_element(operand)
            if operand.side
            else self.written[operand.row]
            for operand in self.link_rows.operands[row]
        )
        name, comment = self._name(source.name), self._comment(source.step)
        self.written[row] = self.put(source._replace(args=args, name=name, step=comment))

    def _number_of_base(self, port: int, element: int) -> Fraction | None:
        """Return a number of the base, None for any other argument."""
        if self.source.inputs[port].name != PREPARED or element < self.chain.first[-1]:
            return None
        return self.chain.of_the_base(element)

    def _argument(self, port: int, element: int) -> int:
        """Write an argument of the link."""
        if (number := self._number_of_base(port, element)) is not None:
            return self.constant(number)
        name = self.source.inputs[port].name
        if name == PREPARED:
            return self._input(CONSTANTS, element - self.chain.first[self.link_rows.link])
        return self._input(name, element - self._elements(name).start)

    def _shared(self, operand: Shared | Own) -> int:
        """Write an argument that all links share."""
        if (number := self._number_of_base(operand.port, operand.element)) is not None:
            return self.constant(number)
        if operand not in self.shared:
            name = self.source.inputs[operand.port].name
            self.shared[operand] = self._input(name, operand.element)
        return self.shared[operand]

    def _carry_element(self, ref: Ref) -> int:
        """Write an element of the carry."""
        passed = self.interface.labels[self.link_rows.link + ref.side], ref.row
        if passed[0] == -2 and ref.side > 0:
            element = self.interface.elements_into_base(self.sweep)[ref.row]
        elif self.interface.root(passed) in self.elements:
            element = self.elements.index(self.interface.root(passed))
        else:
            raise NotUniform(f"a link in {self.title} reads values that others do not pass on")
        if element not in self.carried:
            self.carried[element] = self._input(CARRY, element)
        return self.carried[element]

    def _comment(self, step: int) -> int:
        """Return the number of a comment among those of the step."""
        if step < 0:
            return -1
        text = self.source.steps[step]
        if not self.comments or self.comments[-1] != text:
            self.comments.append(text)
        return len(self.comments) - 1

    def _name(self, name: str) -> str:
        """Return a name without the number of the link, or of its degree of freedom."""
        link = self.link
        numbers = {self.link_rows.link + 1, *range(link.v.start + 1, link.v.stop + 1)}
        symbol, *parts = name.removeprefix("neg_").split("_")
        if not parts or not parts[0].isdigit() or int(parts[0]) not in numbers:
            return ""
        short = "_".join([*["neg"] * name.startswith("neg_"), symbol, *parts[1:]])
        if short in self.names:
            return ""
        self.names.add(short)
        return short
