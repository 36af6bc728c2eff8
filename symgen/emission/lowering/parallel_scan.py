"""Maps over the elements of a chain in parts, and the parallel scans between two maps.

A map calls a step for each row; the elements are independent of each other. The upsweep combines
the values of two rows, and of two pairs, as soon as both are computed, so that a level never stores
more than two values. The next map visits the rows in reverse order, and the downsweep computes the
value of a row when the map comes to it. The upsweep values of the parts are combined in the same
way, one pair after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, count, pairwise
from typing import NamedTuple

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
from symgen.emission.lowering.loop_function import STATUS
from symgen.emission.part_layout import ScanLayout, ScanOffsets, level_rows, levels_over_parts
from symgen.emission.statements import (
    FIXED,
    LANE,
    Address,
    Assign,
    Call,
    Declare,
    Element,
    For,
    Function,
    If,
    Return,
    Row,
    Statement,
    Value,
    While,
    body,
    copy,
    expression,
    integers,
)
from symgen.ir.loops import (
    BEFORE,
    CONSTANTS,
    DOWNSWEEP,
    LEFT,
    OF_SEGMENTS,
    RESULT_NAMES,
    RIGHT,
    SAVED,
    UPSWEEP,
    WORK,
    ParallelScan,
)
from symgen.ir.program import Program


class _Scan(NamedTuple):
    """A scan: its number in the text, its offsets in the workspace, and its steps as functions.

    `up` and `down` are steps of a pair of rows, with lanes; `up_of_segments` and `down_of_segments`
    are steps of a pair of parts. In a block of states the two kinds are the same functions.
    """

    number: int
    tree: ParallelScan
    offsets: ScanOffsets
    up: Program
    down: Program
    up_of_segments: Program
    down_of_segments: Program


class Lowering:
    """The functions and tables of a form, stage by stage."""

    def __init__(self, chain: Chain) -> None:
        self.form = form = chain.form
        self.chain, self.layout = chain, ScanLayout(form)
        self.steps = [
            chain.step_in_lanes(stage.steps[0], f"{s}", "one row")
            for s, stage in enumerate(form.maps, 1)
        ]
        self.scans = [self._steps(t) for t in range(len(form.scans))]
        rows = level_rows(chain.rows_per_group)
        pairs = accumulate((count // 2 for count in rows), initial=0)
        self.top_level, self.levels = len(rows) - 1, f"{chain.symbol}_levels"
        self.tables = [
            Table(
                "for each level in a segment: number of rows, and number of pairs below the level",
                self.levels,
                [*zip(rows, pairs, strict=False)],
            )
        ]
        comment = (
            "for each level over the segments: first number, number of rows, and length of a row"
        )
        for scan in self.scans:
            levels = levels_over_parts(scan.tree, form.part_count)
            self.tables.append(Table(comment, self._segment_levels(scan), levels))
            comment = ""

    def _steps(self, t: int) -> _Scan:
        """Return a scan with the functions of its steps."""
        tree = self.form.scans[t]
        functions: list[Program] = []
        for name, step in (("up", tree.up), ("down", tree.down)):
            kind = f"{name}sweep of a pair"
            in_lanes = self.chain.step_in_lanes(step, f"{name}_{t + 1}", kind)
            name_of_segments = f"{name}_{t + 1}_{OF_SEGMENTS}"
            functions += (
                in_lanes,
                in_lanes
                if self.chain.states
                else self.chain.scalar_step(step, name_of_segments, kind),
            )
        up, up_of_segments, down, down_of_segments = functions
        return _Scan(
            t + 1, tree, self.layout.offsets[t], up, down, up_of_segments, down_of_segments
        )

    def _segment_levels(self, scan: _Scan) -> str:
        """Return the name of a scan's table of levels over the parts."""
        return f"{self.chain.symbol}_segment_levels_{scan.number}"

    def functions(self) -> Iterator[Function]:
        """Yield the functions of scans, maps and sums, then the function that runs all stages."""
        chain, stages = self.chain, body()
        last = expression("(((row % 2) != 0) || (row + 1 == {}))", Element(self.levels, "level", 0))
        comment = (
            "number of levels at which the row is the last or first row of a pair: that many pairs"
            " are combined there"
        )
        yield self._count_levels("last", last, comment)
        if len(self.scans) > 1:
            yield self._count_levels("first", "((row % 2) == 0)", "")
        for scan in self.scans:
            yield self._pair(scan, up=True)
            yield self._pair(scan, up=False)
            yield self._scan_over_parts(scan)
        for s, (previous_scan, next_scan) in enumerate(pairwise((None, *self.scans, None))):
            function = self._map(s, previous_scan, next_scan)
            yield function
            stages += chain.over_groups([function])
            if next_scan:
                stages += self._call_scan_over_parts(next_scan)
        sums = self._sums()
        yield sums
        yield chain.function([GROUP], (*stages, *chain.over_groups([sums])))

    def _count_levels(self, end: str, holds: Value, comment: str) -> Function:
        """Return the function that counts the levels at which a row is at the `end` of a pair.

        The `end` is "first" or "last"; `holds` is its condition for one level.
        """
        up = (Assign(ROW, "2", "/="), Assign("level", "1", "+="))
        count = While(expression("(level < {}) && {}", self.top_level, holds), up)
        return Function(
            self._levels_as(end),
            (*integers(ROW),),
            (Declare("int", "level", "0"), count, Return("level")),
            "int",
            static=True,
            comment=comment,
        )

    def _levels_as(self, end: str) -> str:
        """Return the name of the function that counts levels; `end` is "first" or "last"."""
        return f"{self.chain.symbol}_levels_as_{end}"

    # -- scans -------------------------------------------------------------------------------------

    def _pair(self, scan: _Scan, up: bool) -> Function:
        """Return the upsweep (`up`) or the downsweep of a pair of rows as a function.

        The upsweep combines the values of the two rows. The downsweep computes their values from
        that of the pair.
        """
        chain, offsets, tree = self.chain, scan.offsets, scan.tree
        if up:
            name, array, first, size = "upsweep", "upsweeps", offsets.upsweeps, tree.up_size
            step, copied = scan.up, ("combined", "left")
            comment = (
                "upsweep: combine the pairs of a level, in a group of segments; a value without a"
                " partner is copied"
            )
        else:
            name, array, first, size = (
                "downsweep",
                "downsweeps",
                offsets.downsweeps,
                len(tree.initial),
            )
            step, copied = scan.down, ("left", "combined")
            comment = "downsweep: from the values of a pair compute those of each partner"
        rows_below, pairs_below = (Element(self.levels, "level - 1", column) for column in (0, 1))
        saved = expression(
            f"{{}}\n    + ({tree.saved_size}*({{}} + pair))",
            Address(WORK, chain.in_group(offsets.saved)),
            pairs_below,
        )
        guarded = chain.is_guarded(step)
        pair = body(
            chain.pointer("right", f"left + {size}"),
            chain.pointer(SAVED, saved),
            integers(LANE) if guarded else None,
            chain.call(step, _PAIR),
        )
        single = body(integers("k", LANE), copy("k", size, *copied))
        statements = (
            chain.pointer(array, Address(WORK, chain.in_group(first))),
            chain.pointer("left", f"{array} + ({size}*2*(level - 1))"),
            chain.pointer("combined", f"{array} + ({size}*((2*level) + ((row >> level) % 2)))"),
            Declare("const int", "pair", "row >> level"),
            If(expression("(2*pair) + 1 < {}", rows_below), pair, single),
        )
        parameters = (
            chain.parameter,
            *integers(*_PAIR_INDICES),
            *chain.status_parameter(guarded),
        )
        return chain.static(f"{name}_{scan.number}", parameters, statements, comment)

    def _scan_over_parts(self, scan: _Scan) -> Function:
        """Return the function of the scan over the parts; a part is one row of the first level."""
        chain, tree = self.chain, scan.tree
        levels = levels_over_parts(tree, self.form.part_count)
        up_size, row_size = tree.up_size, levels[0][2]
        root_downsweep = scan.offsets.over_parts + levels[-1][0] + up_size
        saved = f"combined + {row_size}"
        guarded = chain.is_guarded(scan.up, scan.down)
        status = guarded and not chain.states
        pair = {
            UPSWEEP: "combined",
            DOWNSWEEP: f"combined + {up_size}",
            SAVED: saved,
            RESULT_NAMES[SAVED]: saved,
        }
        up = pair | {LEFT: "left", RIGHT: "right"}
        down = pair | {LEFT: f"left + {up_size}", RIGHT: f"right + {up_size}"}
        statements = body(
            chain.pointer("tree", Address(WORK, scan.offsets.over_parts)),
            Declare("int", STATUS, chain.loops.status("OK")) if status else None,
            integers("level", "segment", "pair", "k"),
            integers(LANE) if chain.states else None,
            self._roots(scan, up=True),
            self._over_levels(
                scan, chain.call(scan.up_of_segments, up, scalar=True), 1, len(levels)
            ),
            (
                Assign(Element(WORK, f"{root_downsweep} + {k}"), chain.literal(value))
                for k, value in enumerate(tree.initial)
            ),
            self._over_levels(
                scan, chain.call(scan.down_of_segments, down, scalar=True), len(levels) - 1, 0
            ),
            self._roots(scan, up=False),
            Return(STATUS) if status else None,
        )
        comment = "the same over the segments, each now a single row"
        parameters = (chain.parameter, *chain.status_parameter(guarded and chain.states))
        name, returns = f"over_segments_{scan.number}", "int" if status else "void"
        return chain.static(name, parameters, statements, comment, False, returns)

    def _call_scan_over_parts(self, scan: _Scan) -> tuple[Statement, ...]:
        """Return the call of the scan over the parts.

        The function for one state returns a status if it compares numbers.
        """
        chain, name = self.chain, f"{self.chain.symbol}_over_segments_{scan.number}"
        guarded = chain.is_guarded(scan.up, scan.down)
        if chain.states or not guarded:
            call: Statement = Call(name, (WORK, *[STATUS] * guarded))
        else:
            call = Assign(STATUS, f"{name}({WORK})")
        return (If(chain.is_ok, (call,)),) if chain.is_ok else (call,)

    def _roots(self, scan: _Scan, up: bool) -> For:
        """Return the loop that copies values between the parts and the levels over the parts.

        It copies the upsweep value of each part to the levels (`up`), or the downsweep value back.
        """
        chain, up_size, downsweep_size = self.chain, scan.tree.up_size, len(scan.tree.initial)
        first, size = (
            (scan.offsets.upsweeps, up_size) if up else (scan.offsets.downsweeps, downsweep_size)
        )
        top = first + 2 * self.top_level * size
        address = Address(WORK, f"({chain.group_size}*segment) + {top}")
        if not chain.states:
            part = f"({chain.group_size}*(segment / {chain.parts_per_group}))"
            top_of_part = f"({chain.per_group(str(top))}) + (segment % {chain.parts_per_group})"
            address = Address(WORK, f"{part} + {top_of_part}")
        row = Element(
            "tree", f"({up_size + downsweep_size}*segment) + {'' if up else f'{up_size} + '}k"
        )
        root = Element("root", chain.per_group("k"))
        kind = f"const {self.form.real}" if up and not chain.states else self.form.real
        statements = (
            Declare(kind, "root", address, pointer=FIXED),
            For("k", 0, size, (Assign(row, root) if up else Assign(root, row),)),
        )
        condition = "" if up else self._condition(scan)
        return For("segment", 0, self.form.part_count, statements, condition=condition)

    def _condition(self, scan: _Scan) -> str:
        """Return the condition of loops over parts: no refusal; empty if no number is compared."""
        return self.chain.is_ok if self.chain.is_guarded(scan.up, scan.down) else ""

    def _over_levels(self, scan: _Scan, call: Iterable[Statement], first: int, last: int) -> For:
        """Return the loop over the levels over the parts, and over the pairs of each level."""
        pointer = self.chain.pointer
        condition = self._condition(scan)
        (first_below, size_below), (first_current, pairs, size) = (
            [Element(array, k) for k in columns]
            for array, columns in (("below", (0, 2)), ("current", (0, 1, 2)))
        )
        pair = (
            pointer("left", expression("tree + {} + ({}*2*pair)", first_below, size_below)),
            pointer("right", expression("left + {}", size_below)),
            pointer("combined", expression("tree + {} + ({}*pair)", first_current, size)),
            *call,
        )
        table = self._segment_levels(scan)
        level = (
            Declare("const int", "below", Row(table, "level - 1"), pointer=FIXED),
            Declare("const int", "current", Row(table, "level"), pointer=FIXED),
            For("pair", 0, pairs, pair, condition=condition),
        )
        step = 1 if first <= last else -1
        return For("level", first, last, level, step, condition=condition)

    # -- maps --------------------------------------------------------------------------------------

    def _map(self, s: int, previous_scan: _Scan | None, next_scan: _Scan | None) -> Function:
        """Return the function of a map over the rows of a group.

        It includes the downsweep of the scan before the map, and the upsweep of the scan after it.
        """
        chain, step, inward = self.chain, self.steps[s], s % 2 == 1
        arrays = self._arrays(s)
        loads = [port.name for port in step.inputs if port.name not in arrays]
        start, end = ("last", "first") if inward else ("first", "last")
        steps = (
            step,
            *([previous_scan.down] if previous_scan else ()),
            *([next_scan.up] if next_scan else ()),
        )
        guarded, cleared = (
            chain.is_guarded(*steps),
            chain.states and self._has_last(previous_scan, next_scan),
        )
        row = body(
            chain.pointer(DOWNSWEEP, f"downsweeps + ({len(previous_scan.tree.initial)}*(row % 2))")
            if previous_scan
            else None,
            chain.pointer(UPSWEEP, f"upsweeps + ({next_scan.tree.up_size}*(row % 2))")
            if next_scan
            else None,
            self._loads(loads),
            self._downsweep(previous_scan, start) if previous_scan else None,
            chain.call(step, arrays),
            self._upsweep(next_scan, end) if next_scan else None,
        )
        statements = body(
            chain.pointer(GROUP_WORK, Address(WORK, f"{chain.group_size}*group")),
            chain.pointer("downsweeps", f"{GROUP_WORK} + {previous_scan.offsets.downsweeps}")
            if previous_scan
            else None,
            chain.pointer("upsweeps", f"{GROUP_WORK} + {next_scan.offsets.upsweeps}")
            if next_scan
            else None,
            chain.first_row(step),
            chain.buffers(loads),
            integers(ROW, "level"),
            integers(LANE) if loads or chain.is_guarded(step) or cleared else None,
            chain.unused([name.removesuffix(BEFORE) for name in loads]),
            chain.over_rows(inward, row),
        )
        direction = "inward from the last rows" if inward else "outward from the first rows"
        group = "segment" if chain.states else "group of segments"
        comment = f"map over the rows of a {group}, {direction}"
        return chain.group_function(f"map_{s + 1}", statements, comment, guarded)

    def _arrays(self, s: int) -> dict[str, Value]:
        """Return the array of each port of map `s` that is no argument."""
        results = (name for port in self.form.outputs for name in (port.name, port.name + BEFORE))
        first_elements = {SAVED: 0, RESULT_NAMES[SAVED]: self.form.maps[s].saved_at[0]}
        first_elements |= {name: self.form.work + k for k, name in enumerate(results)}
        rows: dict[str, Value] = {
            name: Address(GROUP_WORK, row_of(self.layout.row_size, first))
            for name, first in first_elements.items()
        }
        constants = Row(self.chain.constants_table, "first_row + row")
        return rows | {CONSTANTS: constants, DOWNSWEEP: DOWNSWEEP, UPSWEEP: UPSWEEP}

    def _loads(self, ports: Sequence[str]) -> Iterator[Statement]:
        """Yield the loads of a row's arguments: elements of its joint, or of the joint before.

        The buffer is zero if that joint does not exist.
        """
        rows, part, joints = self.chain.rows_per_group, self.chain.part, len(self.form)
        if ports:
            number = part if self.chain.states else f"({part})"
            yield Declare("const int", "joint", f"({rows}*{number}) + row")
        for port in ports:
            exists, joint = f"(joint < {joints})", "joint"
            if port.endswith(BEFORE):
                exists, joint = f"((joint > 0) && (joint <= {joints}))", "joint - 1"
            argument = Element(port.removesuffix(BEFORE), joint)
            value = (f"{exists} ? ", argument, f" : {self.chain.zero}")
            yield Assign(Element(f"{LOCAL}{port}", 0), value)

    def _downsweep(self, scan: _Scan, end: str) -> Iterator[Statement]:
        """Yield the downsweep to a row: the levels at which the row is at the `end` of a pair."""
        symbol, tree = self.chain.symbol, scan.tree
        status = [STATUS] * self.chain.is_guarded(scan.down)
        split = Call(f"{symbol}_downsweep_{scan.number}", (WORK, *_PAIR_INDICES, *status))
        yield For("level", f"{self._levels_as(end)}(row)", 0, (split,), step=-1)
        yield from self._without_joint(tree, DOWNSWEEP, tree.last_valid, len(tree.initial))

    def _upsweep(self, scan: _Scan, end: str) -> Iterator[Statement]:
        """Yield the upsweep from a row: the levels at which the row is at the `end` of a pair."""
        symbol, tree = self.chain.symbol, scan.tree
        status = [STATUS] * self.chain.is_guarded(scan.up)
        combine = Call(f"{symbol}_upsweep_{scan.number}", (WORK, *_PAIR_INDICES, *status))
        yield from self._without_joint(tree, UPSWEEP, tree.valid, tree.up_size)
        yield For("level", 1, f"{self._levels_as(end)}(row)", (combine,), inclusive=True)

    def _without_joint(
        self, tree: ParallelScan, array: str, first: int, size: int
    ) -> Iterator[Statement]:
        """Yield the statement that sets the last element's numbers of a joint to zero.

        The last element has no joint. Its numbers of a joint begin at index `first`; none is
        yielded for a scan without such numbers.
        """
        if tree.valid < tree.up_size:
            part, row = divmod(len(self.form), self.chain.rows_per_group)
            group, lane = divmod(part, self.chain.parts_per_group)
            column = None if self.chain.states else lane
            clear = For("k", first, size, (Assign(Element(array, "k", column), self.chain.zero),))
            yield If(
                f"(group == {group}) && (row == {row})",
                body(integers("k"), clear),
                comment="the last row has no joint",
            )

    @staticmethod
    def _has_last(*scans: _Scan | None) -> bool:
        """Return True if a scan has numbers of a joint, which the last element lacks."""
        return any(scan is not None and scan.tree.valid < scan.tree.up_size for scan in scans)

    def _sums(self) -> Function:
        """Return the function that adds the two values of each result.

        They are the values of the joint's element and of the next element.
        """
        chain, row_size, lanes = self.chain, self.layout.row_size, self.chain.parts_per_group
        stores = []
        for first, port in zip(count(self.form.work, 2), self.form.outputs, strict=False):
            next_part = f"({chain.group_size}*(group + 1)) + {first + 1}"
            if not chain.states:
                part = f"({chain.group_size}*((segment + 1) / {lanes}))"
                next_part = (
                    f"{part} + ({chain.per_group(str(first + 1))}) + ((segment + 1) % {lanes})"
                )
            value = expression(
                f"{{}}\n    + ((row < {chain.rows_per_group - 1}) ? {{}}\n        : {{}})",
                Element(GROUP_WORK, f"({row_size}*row) + {first}"),
                Element(GROUP_WORK, f"({row_size}*(row + 1)) + {first + 1}"),
                Element(WORK, next_part),
            )
            stores.append(Assign(Element(port.name, "joint"), value))
        group_work = Address(WORK, f"{chain.group_size}*group")
        segment = None if chain.states else Declare("const int", SEGMENT, chain.part)
        row = body(
            segment,
            Declare(
                "const int",
                "joint",
                f"({chain.rows_per_group}*{SEGMENT if segment else GROUP}) + row",
            ),
            If(f"joint < {len(self.form)}", tuple(stores)),
        )
        kind = self.form.real if chain.states else f"const {self.form.real}"
        statements = body(
            Declare(kind, GROUP_WORK, group_work, pointer=FIXED),
            integers(ROW, LANE),
            chain.unused([port.name for port in self.form.outputs] if chain.states else []),
            chain.over_rows(False, row),
        )
        comment = "for each joint the sum of the values of its two rows"
        return chain.group_function("sums", statements, comment, False)


_PAIR_INDICES = (GROUP, "level", ROW)
_PAIR: dict[str, Value] = {
    LEFT: "left",
    RIGHT: "right",
    UPSWEEP: "combined",
    DOWNSWEEP: "combined",
    SAVED: SAVED,
    RESULT_NAMES[SAVED]: SAVED,
}
"""The array of each port of a pair's step."""
