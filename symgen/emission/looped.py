"""A function as a loop over links: NAME_<function>.c with a static part for each step, tables, and the loops that call the parts.

How long the text is does not depend on how many links there are, but for the tables. What the sweeps keep, and in a tree what
links hand on, stands in an array that the caller provides. In a chain what is handed on stays in a local array.

Where all links are of one class and follow each other, the link's number says where everything is. Tables say it otherwise: its
class and its row in the table of that class, its first elements, its parent. What goes in or out of the base has the first row of
what is handed on, link i the row behind i others.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from symgen.emission import definition, render, sincos
from symgen.emission.blocks import Blocks, blocks
from symgen.emission.c_text import WIDTH, C
from symgen.emission.indices import listed, numbered, plus, times
from symgen.emission.loop_checks import condition, guarded, held_at, looked_at
from symgen.emission.loop_work import may_alias, prototype, widest, work
from symgen.emission.writer import Turn
from symgen.ir.ports import operations_text
from symgen.ir.program import POSITIONS, Program
from symgen.ir.recursion import (
    ANGLE,
    CARRIED,
    ENDED,
    FRAMES,
    GUARD,
    KEPT,
    LAST,
    LEFT,
    TABLE,
    End,
    Recursion,
    Sweep,
    as_function,
)
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

__all__ = ["Text", "may_alias", "prototype", "source", "work"]
STATUS, NONE = "status", "none"
"""What the C calls what is returned, and what is zero where all arguments are finite."""
SMALL = 2**15
"""What a table of short numbers does not hold in C."""


def source(recursion: Recursion, target: Target) -> str:
    """The text of NAME_<function>.c. RequestError where it cannot be checked."""
    return Text(guarded(recursion, target) if target.checked else recursion, target).text()


class _Array(NamedTuple):
    """A table of the text: its rows are lines of numbers."""

    kind: str
    name: str
    size: str
    rows: list[str]
    bytes: int


class Text:
    """What `looped.c.j2` says; names of what is static end with `of`."""

    lane = ""
    """What stands behind an element where that is one of several states."""
    indent = 8
    """Of a call where there is one class of links."""

    def __init__(self, recursion: Recursion, target: Target, of: str = "") -> None:
        self.recursion, self.target, self.real = recursion, target, REALS[recursion.real]
        self.said = prototype(recursion, target)
        self.symbol = f"{self.said['symbol']}{of}"
        self.arrays: dict[str, _Array] = {}
        names = [str(p["name"]) for p in self.said["parameters"]]
        self.plain = replace(target, text=replace(target.text, checked=False))
        self.held = held_at(recursion, work(recursion)) if target.checked else {}
        self.work = names[len(recursion.inputs) + len(recursion.outputs)]
        self.names = dict(
            zip((p.name for p in (*recursion.inputs, *recursion.outputs)), names, strict=False)
        )
        self.taken = {*names, *definition.macros(target)}
        self.link, self.place, self.own, self.before, self.rows = map(
            self._local, ("i", "k", "own", "before", "rows")
        )
        self.column = self._local("column") if recursion.columns else ""
        self.count = len(recursion)
        self.status, self.guard = map(self._local, (STATUS, GUARD))
        local = {
            "status": self.status,
            "none": self._local(NONE),
            "guard": self.guard,
            "size": names[-1],
            "work": self.work,
        }
        whole = work(recursion, True)
        self._looked = (
            looked_at(recursion, self.names, local, self.held, self.link, whole)
            if target.checked
            else {}
        )
        self.uniform = len({(kind.nq, kind.nv) for kind in recursion.kinds}) == 1
        self.steps: dict[tuple[int, int], Program] = {}
        self.blocks = self._in_blocks()
        if self.blocks:
            self.block, self.angle, self.turn = map(self._local, ("block", ANGLE, "turn"))
        for s, sweep in enumerate(recursion.sweeps):
            for c, step in enumerate(sweep.steps):
                if step.outputs and c in recursion.classes(sweep):
                    number = f"{s + 1}" if len(recursion.kinds) == 1 else f"{s + 1}_{c + 1}"
                    printed = self.blocks[s].angles[c].program if s in self.blocks else step
                    self.steps[s, c] = as_function(printed, f"{recursion.function}{of}_{number}")
        self.last = recursion.last and as_function(
            recursion.last, f"{recursion.function}{of}_{LAST}"
        )
        self.looked = recursion.looked and as_function(
            recursion.looked, f"{recursion.function}{of}_{LAST}_{GUARD}"
        )
        self.ended = self._local(ENDED) if self.last else ""

    def text(self) -> str:
        recursion = self.recursion
        lanes = self._lanes()
        functions = [
            render(
                "c99",
                "definition.j2",
                **self.plain.context,
                of_parts="static",
                of_all="static ",
                **definition.function(
                    definition.PrintedFunction(step, self.plain, turn=self._turn(step, lanes))
                ),
            )
            for step in (*self.steps.values(), *(one for one in (self.looked, self.last) if one))
        ]
        for c, _ in enumerate(recursion.kinds):
            self._constants(c)
        sweeps = [self._sweep(s, sweep) for s, sweep in enumerate(recursion.sweeps)]
        read = {port.name for step in self.steps.values() for port in step.inputs}
        unread = [
            self.names[port.name]
            for port in recursion.inputs
            if port.name not in read and not self.target.checked
        ]
        uses = bool(self.blocks) or any(
            KEPT in (port.name, *(name for name, left in LEFT.items() if left == port.name))
            for step in self.steps.values()
            for port in (*step.inputs, *step.outputs)
        )
        handed = widest(recursion) > 0
        return render(
            "c99",
            "looped.c.j2",
            **self.target.context,
            **self.said
            | {
                "real": recursion.real,
                "count": self.count,
                "turns": definition.turns(recursion, self.target),
                "angles": lanes,
                "told": self._told(),
                "numbers": self._numbers_told(),
                "ended": self._ended(),
                "arrays": self.arrays.values(),
                "bytes": sum(a.bytes for a in self.arrays.values()),
                "doubles": work(recursion, self.target.checked),
                "functions": functions,
                "sweeps": sweeps,
                "unread": [*unread, *([] if uses or handed else [self.work])],
                "link": self.link,
                "place": self.place,
                "places": handed,
                "blocks": self._of_blocks(),
                "looked": self._looked,
                "going": f"({self.status} == {self.target.name}_OK)" if self.target.checked else "",
                "rows": f"&{self.work}[{recursion.work * self.count}]" if handed else "",
                "handed": self.rows,
            },
        )

    def _in_blocks(self) -> dict[int, Blocks]:
        """The sweeps that take sines of many links at once."""
        found = {
            s: blocks(self.recursion, s, self.target) for s in range(len(self.recursion.sweeps))
        }
        return {s: own for s, own in found.items() if own}

    def _condition(self, step: Program, of: Program) -> dict[str, Any] | None:
        return condition(step, of, self.target, self.status, self.guard)

    def _local(self, name: str) -> str:
        found = C.local(name, self.taken)
        self.taken.add(found)
        return found

    def _told(self) -> list[str]:
        """A line of the head for every step."""
        found = []
        for (s, c), step in self.steps.items():
            way = "inward" if self.recursion.sweeps[s].inward else "outward"
            kind = (
                f", {C.comment(self.recursion.kinds[c].name)}"
                if len(self.recursion.kinds) > 1
                else ""
            )
            own = self.recursion.sweeps[s].steps[c]
            found.append(
                f"{self.target.symbol(step.function)}, {way}{kind}: {operations_text(own)}"
            )
        if self.last:
            found.append(
                f"{self.target.symbol(self.last.function)}, once: {operations_text(self.last)}"
            )
        return found

    def _numbers_told(self) -> list[str]:
        """Lines of the head that say what the numbers of a link's row of the table are."""
        kinds = [kind for kind in self.recursion.kinds if kind.columns]
        several = len(self.recursion.kinds) > 1
        rows = [
            f"A row of the table{f' of links that are {kind.name}' * several}: {', '.join(kind.columns)}."
            for kind in kinds
        ]
        return [
            line
            for row in [*rows, *[f"{FRAMES[0].upper()}{FRAMES[1:]}."] * bool(rows)]
            for line in textwrap.wrap(C.comment(row), WIDTH - 3, break_long_words=False)
        ]

    def _element(self, port: str, index: str) -> str:
        """An element of an argument or a result, or where that is held."""
        if port in self.held:
            return f"{self.work}[{plus(index, self.held[port])}]"
        return f"{self.names[port]}[{index}]"

    def _whole(self, port: str) -> str:
        """The array of an argument or a result, or where that is held."""
        return f"&{self._element(port, '0')}" if port in self.held else self.names[port]

    def _ended(self) -> dict[str, Any] | None:
        """What is made of that which the sweeps carry to their ends."""
        if not self.last:
            return None
        given = ", ".join([self.ended, *(self._whole(port.name) for port in self.last.outputs)])
        call = f"{self.target.symbol(self.last.function)}({given});"
        found = {"name": self.ended, "size": self.last.inputs[0].size, "call": call, "check": None}
        if self.looked and self.recursion.looked and self.recursion.last:
            check = self._condition(self.recursion.looked, self.recursion.last)
            found |= {
                "look": f"{self.target.symbol(self.looked.function)}({self.ended}, {self.guard});",
                "check": check,
            }
        return found

    def _lanes(self) -> int:
        """How many angles a loop over them takes, the same in all steps of the file."""
        turned = [step for step in self.steps.values() if definition.turns(step, self.target)]
        most = max((len(definition.together(step)) for step in turned), default=0)
        own = sincos.lanes(most, self.recursion.real) if self.target.text.trig == "auto" else 0
        return max([own, *(one.lanes for one in self.blocks.values())])

    def _turn(self, step: Program, lanes: int) -> Turn | None:
        """Where a step has its sines from. Of one angle <math.h> serves as well as a loop over a single one."""
        turn = definition.turn_of(step, self.target)
        return turn._replace(lanes=lanes) if turn and turn.lanes else turn

    # -- tables ----------------------------------------------------------------------------------------------------------------

    def _constants(self, c: int) -> None:
        """The table of a class."""
        rows = [
            row
            for row, own in zip(self.recursion.tables, self.recursion.of, strict=True)
            if own == c
        ]
        width = self.recursion.kinds[c].width
        read = {
            port.name for (_, own), step in self.steps.items() if own == c for port in step.inputs
        }
        if rows and width and TABLE in read:
            lines = [f"{{{listed((C.literal(x, self.real) for x in row), 6)}}}" for row in rows]
            name = self._table(c)
            self.arrays[name] = _Array(
                f"{self.real.name}",
                name,
                f"[{len(rows)}][{width}]",
                lines,
                len(rows) * width * self.real.size,
            )

    def _table(self, c: int) -> str:
        return f"{self.symbol}_{TABLE}" + (f"_{c + 1}" if len(self.recursion.kinds) > 1 else "")

    def _numbers(self, what: str, values: Sequence[int]) -> str:
        """The name of a table of numbers of links, which is there from now on."""
        name = f"{self.symbol}_{what}"
        kind, size = ("short", 2) if max(map(abs, values)) < SMALL else ("int", 4)
        self.arrays[name] = _Array(
            kind, name, f"[{len(values)}]", [listed(map(str, values), 4)], len(values) * size
        )
        return name

    def _start(self, s: int, values: Sequence[str]) -> str:
        name = f"{self.symbol}_start_{s + 1}"
        self.arrays[name] = _Array(
            self.real.name,
            name,
            f"[{len(values)}]",
            [listed(values, 4)],
            len(values) * self.real.size,
        )
        return name

    # -- loops -----------------------------------------------------------------------------------------------------------------

    def _sweep(self, s: int, sweep: Sweep) -> dict[str, Any]:
        """One of the loops."""
        recursion = self.recursion
        size = len(sweep.start)
        start = [C.literal(x, self.real) for x in sweep.start]
        own: dict[str, Any] = {
            "inward": sweep.inward,
            "size": size,
            "last": len(recursion.visited(sweep)) - 1,
            "carried": "",
            "start": [],
            "framed": sweep.tip >= 0,
            "zeros": self._zeros(s),
            "branches": self._branches(s),
            "own": "",
            "middle": [],
            "several": len(recursion.kinds) > 1,
            "links": self.blocks[s].links if s in self.blocks else 0,
        }
        ends = [end for end in recursion.ends if end.sweep == s]
        if recursion.straight(sweep) and size:
            carried = self._carried(s)
            own |= {
                "carried": carried,
                "start": [f"{C.at(carried, k)} = {value};" for k, value in enumerate(start)],
            }
            last = recursion.visited(sweep)[-1]
            links = [self._link(end, sweep) for end in ends]
            own["middle"] = [
                {"link": link, "stores": self._stores(end, self._carried(s), 0)}
                for end, link in zip(ends, links, strict=True)
                if link != last
            ]
            own["stores"] = [
                store
                for end, link in zip(ends, links, strict=True)
                if link == last
                for store in self._stores(end, carried, 0)
            ]
        else:
            own |= self._of_tree(s, sweep, start) if size else {}
            own["stores"] = [
                store
                for end in ends
                for store in self._stores(end, self.rows, size * (self._link(end, sweep) + 1))
            ]
        return own

    def _of_tree(self, s: int, sweep: Sweep, start: Sequence[str]) -> dict[str, Any]:
        """What goes from row to row."""
        recursion, size = self.recursion, len(sweep.start)
        parent = f"{self._numbers('parents', recursion.parents)}[{self.link}] + 1"
        joins: list[dict[str, Any]] = []
        found: dict[str, Any] = {
            "from": self._start(s, start),
            "own": self.own,
            "before": self.before,
            "own_row": f"&{self.rows}[{times(size, f'({self.link} + 1)')}]",
            "before_row": f"&{self.rows}[{times(size, f'({parent})')}]",
            "joins": joins,
            "qualifier": "" if sweep.inward else "const ",
        }
        if sweep.inward:
            latest = [-1] * (self.count + 1)
            for i, one in enumerate(recursion.parents):
                latest[one + 1] = i
            name = self._numbers("latest", latest)
            found |= {
                "leaf": f"{name}[{self.link} + 1] < 0",
                "first": f"{name}[{parent}] == {self.link}",
            }
            at = 0
            for join, run in itertools.groupby(sweep.joins):
                length = len([*run])
                joins.append(
                    {"first": at, "end": at + length, "sign": " + " if join == "add" else "*"}
                )
                at += length
        return found

    def _carried(self, s: int) -> str:
        return C.local(f"{CARRIED}_{s + 1}", self.taken)

    def _link(self, end: End, sweep: Sweep) -> int:
        """The link at which a result is there; -1 for the base of a tree, where what its roots hand on is joined."""
        return 0 if end.link < 0 and self.recursion.straight(sweep) else end.link

    def _stores(self, end: End, array: str, first: int) -> list[str]:
        if end.name != ENDED:
            return [
                f"{self._element(end.name, str(k))}{self.lane} = {C.at(array, first + e)}{self.lane};"
                for k, e in enumerate(end.elements)
            ]
        before = self.recursion.ends[: self.recursion.ends.index(end)]
        place = sum(len(one.elements) for one in before if one.name == ENDED)
        return [
            f"{C.at(self.ended, place + k)}{self.lane} = {C.at(array, first + e)}{self.lane};"
            for k, e in enumerate(end.elements)
        ]

    def _branches(self, s: int) -> list[dict[str, Any]]:
        """The call of each class's step, and what stands before it; the last of all classes needs no condition."""
        classes = [c for at, c in self.steps if at == s]
        found: list[dict[str, Any]] = []
        for c in classes:
            before, own = "} else " if found else "", self.recursion.sweeps[s].steps[c]
            last = c == classes[-1] and len(classes) == len(
                self.recursion.classes(self.recursion.sweeps[s])
            )
            test = (
                ""
                if last
                else f"if ({self._numbers('kinds', self.recursion.of)}[{self._at(s)}] == {c}) "
            )
            found.append(
                {
                    "test": before + test,
                    "call": self._call(s, c),
                    "stores": self._kept(s, c),
                    "check": self._condition(own, own),
                    "columns": self._columns(s, c),
                }
            )
        return found

    def _at(self, s: int) -> str:
        """The link that a sweep is at."""
        sweep = self.recursion.sweeps[s]
        if sweep.tip < 0 or self.recursion.serial:
            return self.link
        return f"{self._numbers('way', self.recursion.way(sweep.tip))}[{self.link}]"

    def _columns(self, s: int, c: int) -> dict[str, Any] | None:
        """Of a step that gives columns of a matrix the array that they come in, and where each number goes."""
        for name, rows in self.recursion.columns:
            for port in self.steps[s, c].outputs:
                if port.name == name:
                    wide = port.size // rows
                    across = (
                        self.recursion.outputs[
                            [own.name for own in self.recursion.outputs].index(name)
                        ].size
                        // rows
                    )
                    first = self._first(s, c, name)
                    return {
                        "name": self.column,
                        "size": port.size,
                        "stores": [
                            f"{self._element(name, plus(first, row * across + k))}{self.lane} = "
                            f"{self.column}[{row * wide + k}]{self.lane};"
                            for row in range(rows)
                            for k in range(wide)
                        ],
                    }
        return None

    def _zeros(self, s: int) -> list[dict[str, Any]]:
        """The matrices of which a sweep is the first to give some columns: those that none gives are zero."""

        def given_by(sweep: Sweep) -> set[str]:
            return {
                port.name for c in self.recursion.classes(sweep) for port in sweep.steps[c].outputs
            }

        sweeps = self.recursion.sweeps
        given = given_by(sweeps[s]) & {name for name, _ in self.recursion.columns}
        given -= {name for sweep in sweeps[:s] for name in given_by(sweep)}
        if len(self.recursion.visited(sweeps[s])) == self.count:
            return []
        return [
            {
                "last": port.size - 1,
                "at": f"{self._element(port.name, self.link)}{self.lane}",
                "value": C.literal(Fraction(0), self.real),
            }
            for port in self.recursion.outputs
            if port.name in given
        ]

    def _kept(self, s: int, c: int) -> list[str]:
        """Where the sine and the cosine of a link go, of a sweep in blocks."""
        if s not in self.blocks:
            return []
        row, first = times(self.recursion.work, self._at(s)), self.recursion.sweeps[s].first[c]
        return [
            f"{self.work}[{plus(row, first + k)}] = {self.turn}.{'sine' if op == 'sin' else 'cosine'}[{self._lane}];"
            for k, op in enumerate(self.blocks[s].angles[c].kept)
        ]

    def _of_blocks(self) -> dict[str, str] | None:
        """What is said of all sweeps in blocks; None where there are none."""
        if not self.blocks:
            return None
        return {
            "first": self.block,
            "angle": self.angle,
            "turn": self.turn,
            "nothing": C.literal(Fraction(0), self.real),
        }

    @property
    def _lane(self) -> str:
        """A link's number in its block."""
        return f"{self.link} - {self.block}"

    def _call(self, s: int, c: int) -> str:
        step, sweep = self.steps[s, c], self.recursion.sweeps[s]
        given = [self._given(s, c, sweep, port.name) for port in (*step.inputs, *step.outputs)]
        indent = (
            self.indent
            + 4 * (len(self.recursion.kinds) > 1 and not self.lane)
            + 4 * (s in self.blocks)
        )
        text = f"{self.target.symbol(step.function)}({', '.join(one.replace(' ', chr(0)) for one in given)});"
        lines = textwrap.wrap(
            text, WIDTH - indent, subsequent_indent=" " * 4, break_long_words=False
        )
        return f"\n{' ' * indent}".join(lines).replace("\0", " ")

    def _given(self, s: int, c: int, sweep: Sweep, port: str) -> str:
        """What a step is given for one of its ports."""
        several, i = len(self.recursion.kinds) > 1, self._at(s)
        if port == TABLE:
            row = f"{self._numbers('rows', numbered(self.recursion.of))}[{i}]" if several else i
            return f"{self._table(c)}[{row}]"
        if port == KEPT:
            return f"&{self.work}[{times(self.recursion.work, i)}]"
        if port == LEFT[KEPT]:
            return f"&{self.work}[{plus(times(self.recursion.work, i), sweep.first[c])}]"
        if port in (ANGLE, GUARD):
            return self.guard if port == GUARD else f"&{self.angle}[{self._lane}]"
        if port in (CARRIED, LEFT[CARRIED]):
            if self.recursion.straight(sweep):
                return self._carried(s)
            return self.before if port == CARRIED and not sweep.inward else self.own
        if port in dict(self.recursion.columns):
            return self.column
        if port in dict(self.recursion.each):
            width = dict(self.recursion.each)[port]
            return f"&{self._element(port, times(width, i))}" if width else self._whole(port)
        return f"&{self._element(port, self._first(s, c, port))}"

    def _first(self, s: int, c: int, port: str) -> str:
        """The first of a link's elements of what joints have, or of its columns."""
        kind, places, i = self.recursion.kinds[c], port in POSITIONS, self._at(s)
        if self.uniform:
            return times(kind.nq if places else kind.nv, i)
        firsts = [place[0] if places else place[1] for place in self.recursion.places]
        return f"{self._numbers('q' if places else 'v', firsts)}[{i}]"
