"""Sweeps along the links of each part, and sequential scans over the parts.

A step reads the carry of a sweep from one array and writes it to another; then the arrays are
exchanged. If parts differ in length, the first rows have links of the longer parts only: the
shorter parts are idle there and keep their carry. A scan computes the initial carries of a sweep
from the final carries of another sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from symgen.emission.lowering.chain import (
    GROUP,
    GROUP_WORK,
    LOCAL,
    ROW,
    SEGMENT,
    Chain,
    Table,
    row_of,
)
from symgen.emission.lowering.loop_function import NEXT_CARRY, WRITTEN
from symgen.emission.part_layout import Carry, SweepLayout, size_of
from symgen.emission.statements import (
    FIXED,
    LANE,
    POINTER,
    Address,
    Assign,
    Blank,
    Block,
    Comment,
    Declare,
    Element,
    For,
    Function,
    If,
    Row,
    Statement,
    Value,
    body,
    copy,
    expression,
    integers,
)
from symgen.ir.loops import (
    CARRY,
    CONSTANTS,
    FINAL_CARRY,
    INITIAL_CARRY,
    RESULT_NAMES,
    SAVED,
    WORK,
    SequentialScan,
    Sweep,
)
from symgen.ir.program import Program

FIRST_LINKS = "first_links"
"""Name of the table of the links in the first row, and of the pointer to those of a group."""


class Lowering:
    """The functions and tables of a form, stage by stage."""

    def __init__(self, chain: Chain) -> None:
        self.form = form = chain.form
        self.chain, self.layout = chain, SweepLayout(form)
        self.scanned_sweeps = {
            stage.gives for stage in form.stages if isinstance(stage, SequentialScan)
        }
        idle = [form.longest_part - len(form.parts[part]) for part in range(form.part_count)]
        first = [form.parts[part][0] - rows for part, rows in enumerate(idle)]
        self.idle, symbol = max(idle), chain.symbol
        self.tables = [
            Table("for each segment: the link in the first row", f"{symbol}_{FIRST_LINKS}", first)
        ]
        if self.idle:
            comment = "number of leading rows that belong to another segment"
            self.tables.append(Table(comment, f"{symbol}_idle", idle))

    def functions(self) -> Iterator[Function]:
        """Yield a function for each sweep, then the function that runs all stages."""
        stages: list[Statement] = []
        for _, run in groupby(enumerate(self.form.stages), lambda stage: type(stage[1])):
            stages.append(Blank())
            sweeps = []
            for s, stage in run:
                if isinstance(stage, SequentialScan):
                    stages += self._scan(s, stage)
                elif isinstance(stage, Sweep):
                    sweeps.append(self._sweep(s, stage))
            yield from sweeps
            stages += self.chain.over_groups(sweeps) if sweeps else ()
        lane = [LANE] * self.chain.states
        yield self.chain.function([GROUP, SEGMENT, "k", *lane], stages)

    # -- sweeps ------------------------------------------------------------------------------------

    def _sweep(self, s: int, sweep: Sweep) -> Function:
        """Return the function of a sweep along the parts of one group."""
        chain, idle, carry = self.chain, self.idle, self.layout.carries[s]
        kind = "inward" if sweep.inward else "outward"
        step = chain.step_in_lanes(sweep.steps[0], f"{s + 1}", kind)
        used_arrays = [
            port.name for port in (*step.inputs, *step.outputs) if port.name in chain.arrays
        ]
        buffers = [name for name in used_arrays if self._is_buffered(step, name)]
        initial = () if s in self.scanned_sweeps else sweep.initial
        guarded = chain.is_guarded(step)
        results = {port.name for port in step.outputs}
        has_lane_loop = idle or initial or guarded or not results.isdisjoint(buffers)
        group = body(
            chain.pointer(GROUP_WORK, Address(WORK, f"{chain.group_size}*group")),
            chain.pointer(CARRY, Address(WORK, self._of_group(carry)), POINTER),
            chain.pointer(NEXT_CARRY, f"{CARRY} + {carry.size}", POINTER),
            self._numbers_of_parts(FIRST_LINKS) if buffers else None,
            chain.first_row(step),
            chain.buffers(buffers),
            integers(LANE) if has_lane_loop else None,
            integers(ROW),
            body(integers("k"), self._numbers_of_parts("idle")) if idle else None,
            chain.unused(used_arrays),
            (Assign(Element(CARRY, k), chain.literal(x)) for k, x in enumerate(initial)),
            chain.over_rows(sweep.inward, self._row(sweep, step)),
        )
        direction = "inward, from the last" if sweep.inward else "outward, from the first"
        comment = f"{direction} link of one {'segment' if chain.states else 'group of segments'}"
        return chain.group_function(f"sweep_{s + 1}", group, comment, guarded)

    def _is_buffered(self, step: Program, name: str) -> bool:
        """Return True if a step accesses an argument or a result through a buffer.

        In the function for one state, the elements of a row are not contiguous. In a block of
        states they are, but the results of idle parts must not be stored.
        """
        return not self.chain.states or (self.idle > 0 and name in [p.name for p in step.outputs])

    def _row(self, sweep: Sweep, step: Program) -> tuple[Statement, ...]:
        """Return the statements for a row: loads, the step, stores, and the exchange of carries."""
        chain = self.chain
        arrays = [name for name in chain.arrays if self._is_buffered(step, name)]
        loads = [port.name for port in step.inputs if port.name in arrays]
        stores = [port.name for port in step.outputs if port.name in arrays]
        link = expression("{} + row", self._number_of_part(FIRST_LINKS))
        array_of_port = self._arrays(sweep)
        array_of_port |= {name: Address(name, link) for name in chain.arrays if name not in arrays}
        return body(
            chain.pointer(WRITTEN, NEXT_CARRY),
            self._loads(loads, link),
            chain.call(step, array_of_port, only_where=self._has_link if self.idle else ""),
            self._carry_of_idle_parts(sweep) if self.idle else None,
            self._stores(stores, link) if stores else None,
            Assign(NEXT_CARRY, CARRY),
            Assign(CARRY, WRITTEN),
        )

    def _loads(self, arguments: Sequence[str], link: Value) -> Iterator[Assign]:
        """Yield the loads of arguments for one row, one statement for each lane.

        gcc at -O2 builds one vector from such statements. A loop would have eight stores and a load
        of the vector, which waits until the last store has left the pipeline.
        """
        if self.chain.states:
            yield from (
                Assign(Element(f"{LOCAL}{name}", 0), Element(name, link)) for name in arguments
            )
            return
        for name in arguments:
            for lane in map(str, range(self.chain.parts_per_group)):
                part_link = expression("{} + row", Element(FIRST_LINKS, lane))
                yield Assign(Element(f"{LOCAL}{name}", 0, lane), Element(name, part_link))

    def _of_group(self, carry: Carry) -> str:
        """Return the index in the workspace of the current group's first carry."""
        return f"{carry.first} + {2 * carry.size * self.chain.parts_per_group}*group"

    def _numbers_of_parts(self, table: str) -> Declare | None:
        """Return the declaration of a pointer to the entries of the group's parts in a table."""
        if self.chain.states:
            return None
        address = Address(f"{self.chain.symbol}_{table}", f"{self.chain.parts_per_group}*group")
        return Declare("const int", table, address, pointer=FIXED)

    def _number_of_part(self, table: str) -> Element:
        """Return the entry of a lane's part in a table."""
        if self.chain.states:
            return Element(f"{self.chain.symbol}_{table}", GROUP)
        return Element(table, LANE)

    @property
    def _has_link(self) -> Value:
        """The condition that the part of a lane has a link in the current row."""
        return expression("row >= {}", self._number_of_part("idle"))

    def _arrays(self, sweep: Sweep) -> dict[str, Value]:
        """Return the array of each port that is neither an argument nor a result."""
        return {
            CONSTANTS: Row(self.chain.constants_table, "first_row + row"),
            SAVED: Address(GROUP_WORK, row_of(self.form.work)),
            RESULT_NAMES[SAVED]: Address(GROUP_WORK, row_of(self.form.work, sweep.saved_at[0])),
            CARRY: CARRY,
            NEXT_CARRY: NEXT_CARRY,
        }

    def _carry_of_idle_parts(self, sweep: Sweep) -> If:
        """Return the statement with which idle parts keep their carry."""
        carry, next_carry = Element(CARRY, "k"), Element(NEXT_CARRY, "k")
        idle = self._number_of_part("idle")
        kept_carry = expression("(row < {}) ? {} : {}", idle, carry, next_carry)
        return If(
            f"row < {self.idle}",
            (For("k", 0, len(sweep.initial), (Assign(next_carry, kept_carry),)),),
        )

    def _stores(self, results: Sequence[str], link: Value) -> tuple[Statement, ...]:
        """Return the stores of results for one row, without those of idle parts."""
        stores = tuple(
            Assign(Element(name, link), Element(f"{LOCAL}{name}", 0)) for name in results
        )
        return (If(self._has_link, stores),) if self.idle else stores

    # -- scans -------------------------------------------------------------------------------------

    def _scan(self, s: int, scan: SequentialScan) -> tuple[Statement, ...]:
        """Return the statements of a scan: a comment and the loop over the parts."""
        chain, real, carries = self.chain, self.form.real, self.layout.carries
        direction = "inward" if scan.inward else "outward"
        kind = f"across the segments, {direction}"
        opening = chain.scalar_step(scan.opening, f"{s + 1}_first", f"{kind}, first segment")
        step = chain.scalar_step(scan.step, f"{s + 1}_other", f"{kind}, other segments")
        carry_size = size_of(scan.step.outputs, CARRY)
        read_carry = carries[scan.takes]
        written_carry = (
            carries.get(scan.gives) if size_of(scan.step.outputs, INITIAL_CARRY) else None
        )
        final = f"({chain.rows_per_group % 2 * read_carry.size} + k)"
        parts = self.form.part_count
        first, last, increment = (parts - 1, 0, -1) if scan.inward else (0, parts, 1)
        part = body(
            None
            if chain.states
            else Declare("const int", LANE, f"segment % {chain.parts_per_group}"),
            chain.pointer(SAVED, Address(WORK, saved)) if (saved := self.layout.saved[s]) else None,
            Assign(GROUP, SEGMENT if chain.states else f"segment / {chain.parts_per_group}"),
            For(
                "k",
                0,
                read_carry.size,
                (Assign(Element(FINAL_CARRY, "k"), self._carry(read_carry, final)),),
            ),
            If(
                f"segment == {first}",
                chain.call(opening, _SCAN_ARRAYS, scalar=True),
                chain.call(step, _SCAN_ARRAYS, scalar=True),
            ),
            copy("k", carry_size, CARRY, NEXT_CARRY),
            For(
                "k",
                0,
                written_carry.size,
                (Assign(self._carry(written_carry, "k"), Element(INITIAL_CARRY, "k")),),
            )
            if written_carry
            else None,
        )
        carry = Declare(real, CARRY, size=(carry_size,))
        if not chain.states:
            comment = "the first segment has no predecessor"
            carry = replace(carry, value=f"{{{chain.zero}}}", comment=comment)
        statements = body(
            Declare(real, FINAL_CARRY, size=(read_carry.size,)),
            carry,
            Declare(real, NEXT_CARRY, size=(carry_size,)),
            Declare(real, INITIAL_CARRY, size=(written_carry.size,)) if written_carry else None,
            For(
                SEGMENT, first, last, part, increment, inclusive=scan.inward, condition=chain.is_ok
            ),
        )
        return Comment(kind), Block(statements)

    def _carry(self, carry: Carry, k: str) -> Element:
        """Return element k of the carry of the current part."""
        index = f"{self._of_group(carry)} + {self.chain.per_group(k)}"
        return Element(WORK, index if self.chain.states else f"{index} + {LANE}")


_SCAN_ARRAYS: dict[str, Value] = {
    **{name: name for name in (FINAL_CARRY, CARRY, SAVED, NEXT_CARRY, INITIAL_CARRY)},
    RESULT_NAMES[SAVED]: SAVED,
}
"""The array of each port of a scan's step."""
