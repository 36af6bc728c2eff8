"""Maps over the elements of a chain in parts, and parallel scans along the elements between two maps.

A map takes a step for each element by itself, row by row. The upsweep combines two runs as soon as both are there, and two pairs
as well, so that a level never holds more than two. The next map goes through the rows the other way, and the downsweep computes
what is known of a row when the map comes to it. The runs of whole parts are combined in the same way, one pair after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from symgen.emission.lowering.chain import GROUP, NUMBERS, ROW, Chain, Table, row_of
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
    copy,
    expression,
)
from symgen.ir.loops import (
    BEFORE,
    CONSTANTS,
    DOWNSWEEP,
    LEFT,
    RESULT_NAMES,
    RIGHT,
    SAVED,
    UPSWEEP,
    LoopProgram,
    ParallelScan,
)
from symgen.ir.program import Program


def _level_rows(rows: int) -> list[int]:
    """Return the number of rows of each level, from the elements up."""
    counts = [rows]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // 2))
    return counts


def _levels_over_parts(tree: ParallelScan, parts: int) -> list[tuple[int, int, int]]:
    """Return the first number, the rows and the numbers of a row of each level: the run, what is known, and what is saved."""
    sizes = [tree.up_size + len(tree.initial)] + [
        tree.up_size + len(tree.initial) + tree.saved_size
    ] * parts
    rows = _level_rows(parts)
    ends = accumulate((count * size for count, size in zip(rows, sizes, strict=False)), initial=0)
    return [*zip(ends, rows, sizes, strict=False)]


class Places(NamedTuple):
    """The first number of a scan's runs, of what is known, and of what pairs save, in a group; and that of the levels over the parts
    in the caller's array.
    """

    runs: int
    known: int
    saved: int
    over: int


class Layout:
    """The caller's array: each group has the rows of its elements and its scans, with two runs a level; the levels over the parts
    stand behind all groups. `group_size` is that of one lane of a group.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.row_size, levels = (
            form.work + 2 * len(form.outputs),
            2 * len(_level_rows(form.longest_part)),
        )
        self.group_size = form.longest_part * self.row_size
        firsts: list[tuple[int, int, int]] = []
        for tree in form.scans:
            known = self.group_size + levels * tree.up_size
            saved = known + levels * len(tree.initial)
            firsts.append((self.group_size, known, saved))
            self.group_size = saved + (form.longest_part - 1) * tree.saved_size
        self.size = form.part_count * self.group_size
        self.places: list[Places] = []
        for tree, first in zip(form.scans, firsts, strict=True):
            self.places.append(Places(*first, self.size))
            over_parts = _levels_over_parts(tree, form.part_count)
            self.size += sum(rows * size for _, rows, size in over_parts)


class _Scan(NamedTuple):
    """A scan: its number in the text, and the steps of a pair as functions of lanes, and of a pair of parts."""

    number: int
    tree: ParallelScan
    places: Places
    up: Program
    down: Program
    up_alone: Program
    down_alone: Program


class Lowering:
    """The functions and tables of a form, stage by stage."""

    def __init__(self, form: LoopProgram, chain: Chain) -> None:
        self.form, self.chain, self.layout = form, chain, Layout(form)
        self.steps = [
            chain.step_in_lanes(stage.steps[0], f"{s}", "of a place")
            for s, stage in enumerate(form.maps, 1)
        ]
        self.scans = [self._steps(t) for t in range(len(form.scans))]
        rows = _level_rows(chain.rows)
        pairs = accumulate((count // 2 for count in rows), initial=0)
        self.top, self.levels = len(rows) - 1, f"{chain.symbol}_levels"
        self.tables = [
            Table(
                "in a segment, of every level how many rows it has, and how many pairs there are below it",
                self.levels,
                [*zip(rows, pairs, strict=False)],
            )
        ]
        comment = (
            "over the segments, of every level where it begins, its rows, and how long they are"
        )
        for scan in self.scans:
            over = _levels_over_parts(scan.tree, form.part_count)
            self.tables.append(Table(comment, self._over(scan), over))
            comment = ""

    def _steps(self, t: int) -> _Scan:
        """Return a scan with the functions of its steps."""
        tree = self.form.scans[t]
        functions: list[Program] = []
        for name, step in (("up", tree.up), ("down", tree.down)):
            kind = f"{name} a tree, of a pair"
            functions += (
                self.chain.step_in_lanes(step, f"{name}_{t + 1}", kind),
                self.chain.step_alone(step, f"{name}_{t + 1}_alone"),
            )
        up, up_alone, down, down_alone = functions
        return _Scan(t + 1, tree, self.layout.places[t], up, down, up_alone, down_alone)

    def _over(self, scan: _Scan) -> str:
        """Return the name of a scan's table of levels over the parts."""
        return f"{self.chain.symbol}_over_{scan.number}"

    def functions(self) -> Iterator[Function]:
        """Give the functions of each scan, of each map and of the sums, and the one that runs all stages."""
        yield self._count_levels(
            "last",
            expression("(((row % 2) != 0) || (row + 1 == {}))", Element(self.levels, "level", 0)),
            "how many levels a row is the last one of, or the first one: so many are put together when it is there",
        )
        yield self._count_levels("first", "((row % 2) == 0)")
        for scan in self.scans:
            yield self._pair(scan, up=True)
            yield self._pair(scan, up=False)
            yield self._over_parts(scan)
        body: list[Statement] = [Declare("int", GROUP)]
        for s in range(len(self.steps)):
            function = self._map(s)
            yield function
            body += self.chain.over_groups([function.name])
            body += (
                Call(f"{self.chain.symbol}_over_all_{scan.number}", (NUMBERS,))
                for scan in self.scans[s : s + 1]
            )
        sums = self._sums()
        yield sums
        yield self.chain.function((*body, *self.chain.over_groups([sums.name])))

    def _count_levels(self, end: str, holds: Value, comment: str = "") -> Function:
        """Return the function that counts the levels of which a row is the last one, or the first one."""
        body = (
            Declare("int", "level", "0"),
            While(
                expression("(level < {}) && {}", self.top, holds),
                (Assign(ROW, "2", "/="), Assign("level", "1", "+=")),
            ),
            Return("level"),
        )
        name = f"{self.chain.symbol}_{end}_of"
        return Function(name, (Declare("int", ROW),), body, "int", static=True, comment=comment)

    # -- scans -----------------------------------------------------------------------------------------------------------------

    def _pair(self, scan: _Scan, up: bool) -> Function:
        """Return the function that combines a pair of rows of a group, or makes of what is known of both what is known of each."""
        chain, places = self.chain, scan.places
        array, first, size = (
            ("runs", places.runs, scan.tree.up_size)
            if up
            else ("known", places.known, len(scan.tree.initial))
        )
        group = f"({chain.group_size}*group) + {chain.lanes}*"
        pairs_below = Element(self.levels, "level - 1", 1)
        saved = (
            Address(NUMBERS, f"{group}{places.saved}"),
            f"\n    + ({scan.tree.saved_size}*(",
            pairs_below,
            " + pair))",
        )
        pair = (
            chain.pointer("behind", f"front + {size}"),
            chain.pointer("kept", saved),
            chain.call(scan.up if up else scan.down, _PAIR),
        )
        copied = ("both", "front") if up else ("front", "both")
        alone = (Declare("int", "k"), Declare("int", LANE), copy("k", size, *copied))
        body = (
            chain.pointer(array, Address(NUMBERS, f"{group}{first}")),
            chain.pointer("front", f"{array} + ({size}*2*(level - 1))"),
            chain.pointer("both", f"{array} + ({size}*((2*level) + ((row >> level) % 2)))"),
            Declare("const int", "pair", "row >> level"),
            If(expression("(2*pair) + 1 < {}", Element(self.levels, "level - 1", 0)), pair, alone),
        )
        name, comment = (
            (
                "raised",
                "up: two in one of that level, in a group of segments; what has no fellow is handed on",
            )
            if up
            else ("lowered", "down: what is known of both becomes known of each")
        )
        parameters = (chain.parameter, *(Declare("int", index) for index in _PAIR_INDICES))
        return chain.in_lanes(chain.static(f"{name}_{scan.number}", parameters, body, comment))

    def _over_parts(self, scan: _Scan) -> Function:
        """Return the function that scans over the parts, each of which is one row."""
        chain, tree, places = self.chain, scan.tree, scan.places
        run, known = tree.up_size, len(tree.initial)
        levels = _levels_over_parts(tree, self.form.part_count)
        top_known = places.over + levels[-1][0] + run
        saved = f"both + {run + known}"
        pair: dict[str, Value] = {
            UPSWEEP: "both",
            DOWNSWEEP: f"both + {run}",
            SAVED: saved,
            RESULT_NAMES[SAVED]: saved,
        }
        up = pair | {LEFT: "front", RIGHT: "behind"}
        down = pair | {LEFT: f"front + {run}", RIGHT: f"behind + {run}"}
        body: tuple[Statement, ...] = (
            chain.pointer("tree", Address(NUMBERS, places.over)),
            *(Declare("int", index) for index in ("level", "segment", "pair", "k")),
            self._roots(scan, up=True),
            self._over_levels(scan, chain.call(scan.up_alone, up), 1, len(levels)),
            *(
                Assign(Element(NUMBERS, f"{top_known} + {k}"), chain.literal(value))
                for k, value in enumerate(tree.initial)
            ),
            self._over_levels(scan, chain.call(scan.down_alone, down), len(levels) - 1, 0),
            self._roots(scan, up=False),
        )
        comment = "the same over the segments, of which each is one row by now"
        return chain.static(f"over_all_{scan.number}", (chain.parameter,), body, comment)

    def _roots(self, scan: _Scan, up: bool) -> For:
        """Return the loop that copies the run of each part to the levels over the parts, or what is known of it back."""
        lanes, tree, places = self.chain.lanes, scan.tree, scan.places
        run, known = tree.up_size, len(tree.initial)
        size, first = (run, places.runs) if up else (known, places.known)
        group = f"({self.chain.group_size}*(segment / {lanes}))"
        top = f"({lanes}*{first + 2 * self.top * size})"
        root, row = Element("root", f"{lanes}*k"), f"({run + known}*segment) + "
        part = (
            Declare(
                f"const {self.form.real}" if up else self.form.real,
                "root",
                Address(NUMBERS, f"{group} + {top} + (segment % {lanes})"),
                pointer=FIXED,
            ),
            For(
                "k",
                0,
                size,
                (
                    Assign(Element("tree", f"{row}k"), root)
                    if up
                    else Assign(root, Element("tree", f"{row}{run} + k")),
                ),
            ),
        )
        return For("segment", 0, self.form.part_count, part)

    def _over_levels(self, scan: _Scan, call: Call, first: int, last: int) -> For:
        """Return the loop over levels over the parts, and over the pairs of a level."""
        chain = self.chain
        below, size_below = Element("below", 0), Element("below", 2)
        pair = (
            chain.pointer("front", expression("tree + {} + ({}*2*pair)", below, size_below)),
            chain.pointer("behind", expression("front + {}", size_below)),
            chain.pointer(
                "both", expression("tree + {} + ({}*pair)", Element("own", 0), Element("own", 2))
            ),
            call,
        )
        level = (
            Declare("const int", "below", Row(self._over(scan), "level - 1"), pointer=FIXED),
            Declare("const int", "own", Row(self._over(scan), "level"), pointer=FIXED),
            For("pair", 0, Element("own", 1), pair),
        )
        return For("level", first, last, level, 1 if first <= last else -1)

    # -- maps ------------------------------------------------------------------------------------------------------------------

    def _map(self, s: int) -> Function:
        """Return the function that takes a step for each element of a group, with the scans before and behind it."""
        chain, step, inward = self.chain, self.steps[s], s % 2 == 1
        before = self.scans[s - 1] if s else None
        behind = self.scans[s] if s < len(self.scans) else None
        places = self._places(s)
        loads = [port.name for port in step.inputs if port.name not in places]
        body: list[Statement] = [
            chain.pointer("work", Address(NUMBERS, f"{chain.group_size}*group"))
        ]
        if before:
            body.append(chain.pointer("known", f"work + {before.places.known}"))
        if behind:
            body.append(chain.pointer("runs", f"work + {behind.places.runs}"))
        if CONSTANTS in (port.name for port in step.inputs):
            body.append(Declare("const int", "first", f"{chain.rows}*group"))
        body += chain.buffers(loads)
        body += (Declare("int", name) for name in (ROW, "level", *[LANE] * bool(loads)))
        body += chain.unused([name.removesuffix(BEFORE) for name in loads])
        row: list[Statement] = []
        if before:
            row.append(chain.pointer("told", f"known + ({len(before.tree.initial)}*(row % 2))"))
        if behind:
            row.append(chain.pointer("run", f"runs + ({behind.tree.up_size}*(row % 2))"))
        row += self._loads(loads)
        row += self._downsweep(before, "last" if inward else "first") if before else ()
        row.append(chain.call(step, places))
        row += self._upsweep(behind, "first" if inward else "last") if behind else ()
        body.append(chain.over_rows(inward, row))
        way = "inward from the last rows" if inward else "outward from the first rows"
        comment = f"every place for itself, in a group of segments, {way}"
        return chain.group_function(f"placed_{s + 1}", body, comment)

    def _places(self, s: int) -> dict[str, Value]:
        """Return the place of each port of a map that is no argument."""
        row, work = self.layout.row_size, self.form.work
        saved = {SAVED: 0, RESULT_NAMES[SAVED]: self.form.maps[s].saved_at[0]}
        results = [name for port in self.form.outputs for name in (port.name, port.name + BEFORE)]
        saved |= {name: work + k for k, name in enumerate(results)}
        places: dict[str, Value] = {
            name: Address("work", row_of(row, first)) for name, first in saved.items()
        }
        return places | {
            CONSTANTS: Row(f"{self.chain.symbol}_table", "first + row"),
            DOWNSWEEP: "told",
            UPSWEEP: "run",
        }

    def _loads(self, ports: Sequence[str]) -> Iterator[Statement]:
        """Give the loads of arguments of a row: those of each element's joint, and of the joint before; zero where there is none."""
        rows, lanes, count = self.chain.rows, self.chain.lanes, len(self.form)
        if ports:
            yield Declare("const int", "place", f"({rows}*(({lanes}*group) + lane)) + row")
        for port in ports:
            exists, joint = f"(place < {count})", "place"
            if port.endswith(BEFORE):
                exists, joint = f"((place > 0) && (place <= {count}))", "place - 1"
            argument = Element(port.removesuffix(BEFORE), joint)
            value = (f"{exists} ? ", argument, f" : {self.chain.zero}")
            yield Assign(Element(f"own_{port}", 0), value)

    def _downsweep(self, scan: _Scan, end: str) -> Iterator[Statement]:
        """Give the downsweep to a row: from the levels at whose end the row is."""
        symbol, tree = self.chain.symbol, scan.tree
        lower = Call(f"{symbol}_lowered_{scan.number}", (NUMBERS, *_PAIR_INDICES))
        yield For("level", f"{symbol}_{end}_of(row)", 0, (lower,), step=-1)
        yield from self._without_joint(tree, "told", tree.last_valid, len(tree.initial))

    def _upsweep(self, scan: _Scan, end: str) -> Iterator[Statement]:
        """Give the upsweep from a row: to the levels at whose end the row is."""
        symbol, tree = self.chain.symbol, scan.tree
        raised = Call(f"{symbol}_raised_{scan.number}", (NUMBERS, *_PAIR_INDICES))
        yield from self._without_joint(tree, "run", tree.valid, tree.up_size)
        yield For("level", 1, f"{symbol}_{end}_of(row)", (raised,), inclusive=True)

    def _without_joint(
        self, tree: ParallelScan, array: str, first: int, size: int
    ) -> Iterator[Statement]:
        """Give the statement that clears the numbers of the last element from `first` on, where they belong to a joint."""
        if tree.valid == tree.up_size:
            return
        part, row = divmod(len(self.form), self.chain.rows)
        group, lane = divmod(part, self.chain.lanes)
        clear = Assign(Element(array, "k", lane), self.chain.zero)
        yield If(
            f"(group == {group}) && (row == {row})",
            (Declare("int", "k"), For("k", first, size, (clear,))),
            comment="the last place has no joint",
        )

    def _sums(self) -> Function:
        """Return the function that adds the two values of each result: of the joint's element, and of the element behind."""
        chain, row, last = self.chain, self.layout.row_size, self.chain.rows - 1
        lanes, next_part = chain.lanes, "(segment + 1)"
        stores = []
        for k, port in enumerate(self.form.outputs):
            first = self.form.work + 2 * k
            behind = f"({lanes}*{first + 1})"
            in_next_part = (
                f"({chain.group_size}*({next_part} / {lanes})) + {behind} + ({next_part} % {lanes})"
            )
            value = expression(
                f"{{}}\n    + ((row < {last}) ? {{}}\n        : {{}})",
                Element("work", f"({row}*row) + {first}"),
                Element("work", f"({row}*(row + 1)) + {first + 1}"),
                Element(NUMBERS, in_next_part),
            )
            stores.append(Assign(Element(port.name, "place"), value))
        work = Address(NUMBERS, f"{chain.group_size}*group")
        element = (
            Declare("const int", "segment", f"({lanes}*group) + lane"),
            Declare("const int", "place", f"({chain.rows}*segment) + row"),
            If(f"place < {len(self.form)}", tuple(stores)),
        )
        body: tuple[Statement, ...] = (
            Declare(f"const {self.form.real}", "work", work, pointer=FIXED),
            Declare("int", ROW),
            Declare("int", LANE),
            *chain.unused(),
            chain.over_rows(False, element),
        )
        return chain.group_function(
            "met", body, "of every joint the sum of what its two places give"
        )


_PAIR_INDICES = (GROUP, "level", ROW)
_PAIR: dict[str, Value] = {
    LEFT: "front",
    RIGHT: "behind",
    UPSWEEP: "both",
    DOWNSWEEP: "both",
    SAVED: "kept",
    RESULT_NAMES[SAVED]: "kept",
}
"""The array for each port of a step of a pair."""
