"""`Recursion`: a function of a robot as sweeps along its links, each a straight-line step that is the same for all links alike.

A `Program` has rows for every link; a Recursion has a step for every class of links, and a table with a row of constants a link.
A step is a Program itself. What it takes and gives is told by the names of its ports:

    TABLE     the constants of the link, its row of the table
    KEPT      the link's row of the work array: all of it as an argument, what the sweep leaves there as a result
    CARRIED   what the link before hands on: in an outward sweep the parent, in an inward one the children
    any other an argument or a result of the whole function, of which the link has its own elements

Of several children what they hand on is joined, element by element, by sums or products. Where there is no link before, what
stands in for it is the sweep's `start`: a base at rest, and children of which there are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from symgen.ir.program import COUNTED, POSITIONS, SELDOM, Numbers, Port, Program
from symgen.ir.program import evaluate as evaluate_program
from symgen.ir.recursion.depth import deepest
from symgen.ir.recursion.looped import Looped

TABLE, KEPT, CARRIED, ENDED = "table", "kept", "carried", "ended"
"""The names of a step's ports that are none of the function's, and that of what the last one of all takes."""
GUARD = "guard"
"""That of what a step gives to be compared with something, in a function that is checked."""
WORK = "work"
"""What the C calls the array that its caller provides."""
LAST = "last"
"""What the C calls what makes results of ENDED."""
ANGLE = "angle"
"""What the C calls the angle of a step that keeps nothing but its sine and cosine."""
LEFT = {KEPT: "keeps", CARRIED: "handed"}
"""What the C calls the results of a step whose names its arguments have."""
JOINS = ("add", "mul")
"""How what several children hand on becomes one."""


FRAMES = (
    "a link's frame is its parent's, shifted by x, y, z and turned about z by gamma, x by alpha, z by beta (or offset) and "
    "q; m, hx, Sxx ... are its mass and its first and second moments about the origin"
)
"""What names of a table's columns stand for."""


class Kind(NamedTuple):
    """A class of links: what it is called, how many elements of positions, of velocities and of the table a link has, and what
    those of the table are: several names of one are joined by " = ".
    """

    name: str
    nq: int
    nv: int
    width: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """One way along the links, `inward` from the tips or outward from the base.

    `steps` are those of each class of links. `start` stands in for a link that is not there; `joins` say by which of JOINS what
    several children hand on becomes one, and are empty of an outward sweep. What a step keeps goes into the places of the link's
    row of work from `first` of its class on. A sweep with a `tip` comes to that link and those between it and the base alone, and
    nothing is joined: inward `start` is what the tip is handed.
    """

    inward: bool
    steps: tuple[Program, ...]
    start: tuple[Fraction, ...]
    joins: tuple[str, ...]
    first: tuple[int, ...]
    tip: int = -1


class End(NamedTuple):
    """A result that a sweep carries to its end, or ENDED: elements of what `link` hands on, or of what all roots do where it is
    -1.
    """

    name: str
    sweep: int
    elements: tuple[int, ...]
    link: int = -1


@dataclass(frozen=True, repr=False)
class Recursion(Looped):
    """See the module docstring; `symgen.ir.recursion.checking` states the rules.

    Of link i `parents[i]` is its parent, which stands before it (-1: the base), `of[i]` its class, and `tables[i]` its constants.
    `work` is how many numbers each link has in the work array.
    """

    kinds: tuple[Kind, ...]
    parents: tuple[int, ...]
    of: tuple[int, ...]
    tables: tuple[tuple[Fraction, ...], ...]
    sweeps: tuple[Sweep, ...]
    work: int
    ends: tuple[End, ...] = ()
    last: Program | None = None
    """What makes results, in the end, of ENDED."""
    looked: Program | None = None
    """What gives GUARD of ENDED before that, in a function that is checked."""
    each: tuple[tuple[str, int], ...] = ()
    """Of ports that are no numbers of joints, how many elements a link has; 0 of what is one for all of them."""
    columns: tuple[tuple[str, int], ...] = ()
    """Of results that have a column a degree of freedom, row by row, how many rows: of a link the columns of its joint. What no
    sweep comes to is zero.
    """

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of every link, in their order."""
        found: list[list[int]] = [[] for _ in self.parents]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(i)
        return tuple(map(tuple, found))

    @property
    def serial(self) -> bool:
        """Whether the links are one chain, in its order."""
        return all(parent == i - 1 for i, parent in enumerate(self.parents))

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Of every link its first element of positions, and that of velocities."""
        found, q, v = [], 0, 0
        for own in self.of:
            found.append((q, v))
            q, v = q + self.kinds[own].nq, v + self.kinds[own].nv
        return tuple(found)

    def straight(self, sweep: Sweep) -> bool:
        """Whether each link that a sweep comes to is handed what the one before it hands on."""
        return self.serial or sweep.tip >= 0

    def visited(self, sweep: Sweep) -> Sequence[int]:
        """The links that a sweep comes to, in its order."""
        outward = self.way(sweep.tip) if sweep.tip >= 0 else range(len(self))
        return outward[:: -1 if sweep.inward else 1]

    def way(self, tip: int) -> tuple[int, ...]:
        """The links from the base to that one."""
        found = [tip]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return tuple(reversed(found))

    def classes(self, sweep: Sweep) -> set[int]:
        """Those of the links that a sweep comes to."""
        return {self.of[i] for i in self.visited(sweep)}

    def on_the_way(self, tip: int) -> Recursion:
        """The same where each sweep comes to the links between the base and that one alone, if nothing asks for others."""
        given = {
            port.name for sweep in self.sweeps for step in sweep.steps for port in step.outputs
        }
        alone = {port.name for port in self.outputs} - {name for name, _ in self.columns}
        if given & alone or any(sweep.inward and sweep.tip != tip for sweep in self.sweeps):
            return self
        return replace(self, sweeps=tuple(replace(sweep, tip=tip) for sweep in self.sweeps))

    def elements(self, port: str, link: int) -> Sequence[int]:
        """Those of a function's port that belong to a link, or to all."""
        kind, (q, v) = self.kinds[self.of[link]], self.places[link]
        if rows := self._columns.get(port):
            return [
                row * self._across + column
                for row in range(rows)
                for column in range(v, v + kind.nv)
            ]
        width = self.width(port, kind)
        if port in self._each:
            return range(width * link, width * (link + 1)) if self._each[port] else range(width)
        return range(q, q + width) if port in POSITIONS else range(v, v + width)

    @cached_property
    def _each(self) -> dict[str, int]:
        return dict(self.each)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return dict(self.columns)

    @cached_property
    def _across(self) -> int:
        """Degrees of freedom of all links."""
        return sum(self.kinds[own].nv for own in self.of)

    def width(self, port: str, kind: Kind) -> int:
        """How many elements of a function's port a link of that kind has, or takes."""
        if rows := self._columns.get(port):
            return rows * kind.nv
        if port in self._each:
            return self._each[port] or next(
                one.size for one in (*self.inputs, *self.outputs) if one.name == port
            )
        return kind.nq if port in POSITIONS else kind.nv

    @cached_property
    def operations(self) -> dict[str, int]:
        """How many of each of `symgen.ir.program.COUNTED` a call takes, sums over children included."""
        count = dict.fromkeys(COUNTED, 0)
        for sweep in self.sweeps:
            of = Counter(self.of[i] for i in self.visited(sweep))
            for kind, step in enumerate(sweep.steps):
                times = of[kind]
                for op, number in step.operations.items():
                    if number or op in COUNTED:
                        count[op] = count.get(op, 0) + times * number
            meeting = sum(
                len(own) - 1 for own in (*self.children, self._roots if self.ends else ()) if own
            )
            for join in sweep.joins:
                count[join] += meeting
        for op, number in (self.last.operations if self.last else {}).items():
            count[op] = count.get(op, 0) + number
        return {op: number for op, number in count.items() if number or op not in SELDOM}

    @property
    def _roots(self) -> tuple[int, ...]:
        return tuple(i for i, parent in enumerate(self.parents) if parent < 0)

    @cached_property
    def depth(self) -> int:
        """Operations (neg apart) on the longest chain of dependencies."""
        return deepest(
            self.inputs, lambda arguments, numbers, run: evaluate(self, arguments, numbers, run)
        )

    def run(self, arguments: Mapping[str, Sequence[Any]], numbers: Numbers) -> dict[str, list[Any]]:
        """`evaluate`."""
        return evaluate(self, arguments, numbers)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The steps, and what makes results in the end."""
        return (
            *(step for sweep in self.sweeps for step in sweep.steps),
            *(one for one in (self.looked, self.last) if one),
        )

    @property
    def constants(self) -> int:
        """Numbers in the tables of links."""
        return sum(map(len, self.tables))

    @property
    def length(self) -> int:
        """Rows of the steps of one link of each class."""
        return sum(len(step.rows) for sweep in self.sweeps for step in sweep.steps)

    @property
    def rows_in_all(self) -> int:
        """Rows that a call goes through."""
        return sum(
            len(sweep.steps[self.of[i]].rows) for sweep in self.sweeps for i in self.visited(sweep)
        )

    def __repr__(self) -> str:
        return (
            f"<symgen.Recursion {self.function} by {self.method}: {len(self)} links of {len(self.kinds)} "
            f"class{'es' * (len(self.kinds) > 1)}, {len(self.sweeps)} sweeps, {self.cost} operations, {self.real}>"
        )

    def in_real(self, real: str) -> Recursion:
        """The same in another real type."""
        return replace(self.by(lambda step: replace(step, real=real)), real=real)

    def by(self, change: Any) -> Recursion:
        """The same where `change` has been applied to every step: a pass of `symgen.ir.passes`."""
        return replace(
            self,
            sweeps=tuple(
                replace(sweep, steps=tuple(map(change, sweep.steps))) for sweep in self.sweeps
            ),
            last=self.last and change(self.last),
        )


Form = Program | Looped
"""A function as rows for all links, or as sweeps along them."""


def steps_of(form: Form) -> tuple[Program, ...]:
    """The Programs that hold its rows."""
    return (form,) if isinstance(form, Program) else form.programs


def as_function(step: Program, name: str) -> Program:
    """A step as a function of its own: its results have other names than its arguments, and nothing is without elements."""
    places = [place for place, port in enumerate(step.inputs) if port.size]
    rows = [
        row._replace(value=(places.index(row.value[0]), row.value[1])) if row.op == "input" else row
        for row in step.rows
    ]
    outputs = [
        port._replace(name=LEFT.get(port.name, port.name)) for port in step.outputs if port.size
    ]
    return replace(
        step,
        function=name,
        inputs=tuple(step.inputs[place] for place in places),
        outputs=tuple(outputs),
        rows=tuple(rows),
    )


class Angle(NamedTuple):
    """A step that keeps the sine and the cosine of one angle and does nothing else: the Program whose one result is the angle,
    and of each number that is kept whether it is a "sin" or a "cos".
    """

    program: Program
    kept: tuple[str, ...]


def angle_of(step: Program) -> Angle | None:
    """The angle of such a step; None where a step does anything else, or takes a sine of a sine."""
    rows = step.rows
    kept = [rows[r] for port in step.outputs for r in port.rows]
    if [port.name for port in step.outputs] != [KEPT] or any(
        row.op not in ("sin", "cos") for row in kept
    ):
        return None
    if (
        len(
            {
                rows[row.args[0]].value if rows[row.args[0]].op == "input" else row.args[0]
                for row in kept
            }
        )
        > 1
    ):
        return None
    angle = kept[0].args[0]
    if any(row.op in ("sin", "cos") for row in rows[: angle + 1]):
        return None
    port = Port(ANGLE, (1,), (angle,))
    return Angle(
        replace(step, rows=rows[: angle + 1], outputs=(port,)), tuple(row.op for row in kept)
    )


def evaluate(
    recursion: Recursion,
    arguments: Mapping[str, Sequence[Any]],
    numbers: Numbers,
    run: Callable[
        [Program, Mapping[str, Sequence[Any]], Numbers], Mapping[str, Sequence[Any]]
    ] = evaluate_program,
) -> dict[str, list[Any]]:
    """Run the sweeps over any number type, as `symgen.ir.program.evaluate` runs rows, each step by `run`."""
    work: list[list[Any]] = [[None] * recursion.work for _ in recursion.parents]
    results: dict[str, list[Any]] = {port.name: [None] * port.size for port in recursion.outputs}
    tables = [[numbers.constant(x) for x in row] for row in recursion.tables]
    for name, _ in recursion.columns:
        results[name] = [numbers.constant(Fraction(0))] * len(results[name])
    ended: list[Any] = []
    for s, sweep in enumerate(recursion.sweeps):
        start = [numbers.constant(x) for x in sweep.start]
        handed: list[list[Any]] = [start] * len(recursion)
        behind = start
        for i in recursion.visited(sweep):
            if sweep.tip >= 0:
                before = behind
            elif sweep.inward:
                before = _joined(start, [handed[c] for c in recursion.children[i]], sweep.joins)
            else:
                before = handed[recursion.parents[i]] if recursion.parents[i] >= 0 else start
            step, first = sweep.steps[recursion.of[i]], sweep.first[recursion.of[i]]
            own = {TABLE: tables[i], KEPT: work[i], CARRIED: before}
            for port in step.inputs:
                if port.name not in own:
                    own[port.name] = [
                        arguments[port.name][place] for place in recursion.elements(port.name, i)
                    ]
            for name, values in run(step, own, numbers).items():
                if name == CARRIED:
                    behind = handed[i] = [*values]
                elif name == KEPT:
                    work[i][first : first + len(values)] = values
                elif name != GUARD:
                    for place, value in zip(recursion.elements(name, i), values, strict=True):
                        results[name][place] = value
        for end in recursion.ends:
            if end.sweep == s:
                last = (
                    handed[end.link]
                    if end.link >= 0
                    else _joined(start, [handed[i] for i in recursion._roots], sweep.joins)
                )
                found = [last[e] for e in end.elements]
                if end.name == ENDED:
                    ended += found
                else:
                    results[end.name] = found
    if recursion.looked is not None:
        run(recursion.looked, {ENDED: ended}, numbers)
    if recursion.last is not None:
        results |= {
            name: [*values] for name, values in run(recursion.last, {ENDED: ended}, numbers).items()
        }
    return results


def _joined(start: list[Any], handed: Sequence[list[Any]], joins: Sequence[str]) -> list[Any]:
    """What several links hand on, in one: those that stand last come first, as an inward sweep meets them."""
    if not handed:
        return start
    *rest, total = handed
    for one in reversed(rest):
        total = [
            a + b if join == "add" else a * b for a, b, join in zip(total, one, joins, strict=True)
        ]
    return total


def evaluate_form(
    form: Form, arguments: Mapping[str, Sequence[Any]], numbers: Numbers
) -> dict[str, list[Any]]:
    """`evaluate` of either."""
    return (
        form.run(arguments, numbers)
        if isinstance(form, Looped)
        else evaluate_program(form, arguments, numbers)
    )
