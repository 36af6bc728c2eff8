"""Sweeps along the links of each part, and sequential scans across the parts, one after the other.

Two arrays hold the carry of a sweep in turn. Where parts differ in length, the first rows hold links of the longer parts only:
the shorter ones are idle there, and keep their carry. A scan makes of the final carries of one sweep the initial carries of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from symgen.emission.lowering.chain import GROUP, NUMBERS, ROW, Chain, Table, row_of, size_of
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
    INITIAL,
    RESULT_NAMES,
    SAVED,
    LoopProgram,
    SequentialScan,
    Sweep,
)
from symgen.ir.program import Program


class Carry(NamedTuple):
    """The first number of a sweep's carries in the caller's array, and the elements of a carry; there are two a part."""

    first: int
    size: int


class Layout:
    """The caller's array: saved values of links, then carries of sweeps and saved values of scans, in the order of the stages.

    `group_size` is that of one lane of a group.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.group_size = form.longest_part * form.work
        self.size = form.part_count * self.group_size
        self.carries: dict[int, Carry] = {}
        self.saved: dict[int, str] = {}
        """Address of the values that a part saves in a scan: its own, or that of the scan before it."""
        address = ""
        for s, stage in enumerate(form.stages):
            if isinstance(stage, Sweep):
                self.carries[s] = Carry(self.size, len(stage.initial))
                self.size += form.part_count * 2 * len(stage.initial)
            elif isinstance(stage, SequentialScan):
                size = size_of(stage.step.outputs, SAVED)
                address = f"{self.size} + {size}*segment" if size else address
                self.saved[s] = address
                self.size += form.part_count * size


class Lowering:
    """The functions and tables of a form, stage by stage."""

    def __init__(self, form: LoopProgram, chain: Chain) -> None:
        self.form, self.chain, self.layout = form, chain, Layout(form)
        self.scanned = {stage.gives for stage in form.stages if isinstance(stage, SequentialScan)}
        idle = [form.longest_part - len(form.parts[part]) for part in range(form.part_count)]
        first = [form.parts[part][0] - rows for part, rows in enumerate(idle)]
        self.idle, symbol = max(idle), chain.symbol
        self.tables = [
            Table("of every segment the link in the first row", f"{symbol}_places", first)
        ]
        if self.idle:
            comment = "and how many of the first rows are none of its own"
            self.tables.append(Table(comment, f"{symbol}_idle", idle))

    def functions(self) -> Iterator[Function]:
        """Give a function for each sweep, and the one that runs all stages."""
        stages: list[Statement] = [*integers(GROUP, "segment", "k")]
        for _, together in groupby(enumerate(self.form.stages), lambda stage: type(stage[1])):
            stages.append(Blank())
            names = []
            for s, stage in together:
                if isinstance(stage, SequentialScan):
                    stages += self._scan(s, stage)
                elif isinstance(stage, Sweep):
                    function = self._sweep(s, stage)
                    names.append(function.name)
                    yield function
            stages += self.chain.over_groups(names) if names else ()
        yield self.chain.function(stages)

    # -- sweeps ----------------------------------------------------------------------------------------------------------------

    def _sweep(self, s: int, sweep: Sweep) -> Function:
        """Return the function of a sweep along the parts of one group."""
        chain, idle, carry = self.chain, self.idle, self.layout.carries[s]
        kind = "inward" if sweep.inward else "outward"
        step = chain.step_in_lanes(sweep.steps[0], f"{s + 1}", kind)
        used = {port.name for port in (*step.inputs, *step.outputs)}
        buffers = [name for name in chain.arrays if name in used]
        initial = () if s in self.scanned else sweep.initial
        group = body(
            chain.pointer("work", Address(NUMBERS, f"{chain.group_size}*group")),
            chain.pointer("before", Address(NUMBERS, self._of_group(carry)), POINTER),
            chain.pointer("behind", f"before + {carry.size}", POINTER),
            self._numbers_of_parts("places") if buffers else None,
            chain.first_row(step),
            chain.buffers(buffers),
            integers(LANE) if buffers or idle or initial else None,
            integers(ROW),
            body(*integers("k"), self._numbers_of_parts("idle")) if idle else None,
            chain.unused(buffers),
            (Assign(Element("before", k), chain.literal(x)) for k, x in enumerate(initial)),
            chain.over_rows(sweep.inward, self._row(sweep, step)),
        )
        ends = "inward, from the segments' last" if sweep.inward else "outward, from their first"
        return chain.group_function(f"swept_{s + 1}", group, f"{ends} links: one group of segments")

    def _row(self, sweep: Sweep, step: Program) -> tuple[Statement, ...]:
        """Return what a sweep does in one row: loads, the step, stores, and the exchange of the two carries."""
        arrays = self.chain.arrays
        loads = [port.name for port in step.inputs if port.name in arrays]
        stores = [port.name for port in step.outputs if port.name in arrays]
        link = expression("{} + row", Element("places", LANE))
        return body(
            self.chain.pointer("handed", "behind"),
            (Assign(Element(f"own_{name}", 0), Element(name, link)) for name in loads),
            self.chain.call(step, self._places(sweep)),
            self._carry_of_idle_parts(sweep) if self.idle else None,
            self._stores(stores, link) if stores else None,
            Assign("behind", "before"),
            Assign("before", "handed"),
        )

    def _of_group(self, carry: Carry) -> str:
        """Return the index of the first carry of a group in the caller's array."""
        return f"{carry.first} + {2 * carry.size * self.chain.lanes}*group"

    def _numbers_of_parts(self, table: str) -> Declare:
        """Return the pointer to the numbers of the parts of a group in a table."""
        address = Address(f"{self.chain.symbol}_{table}", f"{self.chain.lanes}*group")
        return Declare("const int", table, address, pointer=FIXED)

    def _places(self, sweep: Sweep) -> dict[str, Value]:
        """Return the place of each port that is neither an argument nor a result."""
        return {
            CONSTANTS: Row(f"{self.chain.symbol}_table", "first + row"),
            SAVED: Address("work", row_of(self.form.work)),
            RESULT_NAMES[SAVED]: Address("work", row_of(self.form.work, sweep.saved_at[0])),
            CARRY: "before",
            RESULT_NAMES[CARRY]: "behind",
        }

    def _carry_of_idle_parts(self, sweep: Sweep) -> If:
        """Return the statement by which idle parts keep their carry."""
        before, behind = Element("before", "k"), Element("behind", "k")
        carry = expression("(row < {}) ? {} : {}", Element("idle", LANE), before, behind)
        return If(
            f"row < {self.idle}", (For("k", 0, len(sweep.initial), (Assign(behind, carry),)),)
        )

    def _stores(self, results: Sequence[str], link: Value) -> tuple[Statement, ...]:
        """Return the stores of a row of results, without those of idle parts."""
        stores = tuple(Assign(Element(name, link), Element(f"own_{name}", 0)) for name in results)
        return (
            (If(expression("row >= {}", Element("idle", LANE)), stores),) if self.idle else stores
        )

    # -- scans -----------------------------------------------------------------------------------------------------------------

    def _scan(self, s: int, scan: SequentialScan) -> tuple[Statement, ...]:
        """Return the loop over the parts."""
        chain, real, lanes, carries = (
            self.chain,
            self.form.real,
            self.chain.lanes,
            self.layout.carries,
        )
        opening = chain.step_alone(scan.opening, f"{s + 1}_first")
        step = chain.step_alone(scan.step, f"{s + 1}_other")
        carried = size_of(scan.step.outputs, CARRY)
        taken, given = (
            carries[scan.takes],
            carries.get(scan.gives) if size_of(scan.step.outputs, INITIAL) else None,
        )
        final = f"({chain.rows % 2 * taken.size} + k)"
        parts = self.form.part_count
        first, last, by = (parts - 1, 0, -1) if scan.inward else (0, parts, 1)
        part = body(
            Declare("const int", LANE, f"segment % {lanes}"),
            chain.pointer("held", Address(NUMBERS, saved))
            if (saved := self.layout.saved[s])
            else None,
            Assign(GROUP, f"segment / {lanes}"),
            For("k", 0, taken.size, (Assign(Element("ended", "k"), self._carry(taken, final)),)),
            If(
                f"segment == {first}",
                (chain.call(opening, _SCANNED),),
                (chain.call(step, _SCANNED),),
            ),
            copy("k", carried, "carried", "handed"),
            For("k", 0, given.size, (Assign(self._carry(given, "k"), Element("start", "k")),))
            if given
            else None,
        )
        comment = "which the first one does not take"
        across = body(
            Declare(real, "ended", size=(taken.size,)),
            Declare(real, "carried", "{0.0}", (carried,), comment=comment),
            Declare(real, "handed", size=(carried,)),
            Declare(real, "start", size=(given.size,)) if given else None,
            For("segment", first, last, part, by, inclusive=scan.inward),
        )
        return Comment(f"across the segments, {'inward' if scan.inward else 'outward'}"), Block(
            across
        )

    def _carry(self, carry: Carry, k: str) -> Element:
        """Return element k of the carry of the current part."""
        return Element(NUMBERS, f"{self._of_group(carry)} + {self.chain.lanes}*{k} + lane")


_SCANNED: dict[str, Value] = {
    FINAL_CARRY: "ended",
    CARRY: "carried",
    SAVED: "held",
    RESULT_NAMES[CARRY]: "handed",
    RESULT_NAMES[SAVED]: "held",
    INITIAL: "start",
}
"""The array for each port of a step of a scan."""
