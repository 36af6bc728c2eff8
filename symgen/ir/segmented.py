"""`Segmented`: a function of one chain of like links as sweeps along segments of it, all at the same time, and ways across them.

A sweep is that of a Recursion, but for its start: where a way across the segments gives one, every segment has its own. A way
goes from segment to segment as a sweep does from link to link. What its steps take and give is told by the names of their ports:

    ENDED     what the segment's links handed on at the end of a sweep
    KEPT      what an earlier way has kept of the segment
    CARRIED   what the segment before hands on; the first one on the way has a step of its own, which takes none
    START     what the segment's next sweep starts with
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from symgen.ir.program import Numbers, Program
from symgen.ir.program import check as check_program
from symgen.ir.program import evaluate as evaluate_program
from symgen.ir.recursion import CARRIED, KEPT, TABLE, Kind, Parted, Sweep, deepest
from symgen.support.errors import ProgramError

ENDED, START = "ended", "start"


class Across(NamedTuple):
    """A way across the segments: the step of the first one on the way and that of all others. `takes` is the sweep whose ends it
    is given, `gives` the one whose start it gives, -1 where it gives none."""

    inward: bool
    opening: Program
    step: Program
    takes: int
    gives: int


def even(links: int, segments: int) -> list[int]:
    """The lengths of segments that are as long as each other; the first ones have a link more where they cannot be."""
    short, more = divmod(links, segments)
    return [short + (segment < more) for segment in range(segments)]


@dataclass(frozen=True, repr=False)
class Segmented(Parted):
    """See the module docstring; `check` states the rules.

    `stages` are run in their order; a sweep is told by its number among them. Link i has the constants `tables[i]`. `work` is how
    many numbers each link keeps. `lengths`: the links of each segment, of which none has more than the first; without, as many
    as the others or one more.
    """

    kind: Kind
    tables: tuple[tuple[Fraction, ...], ...]
    stages: tuple[Sweep | Across, ...]
    work: int
    lengths: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def longest(self) -> int:
        """Links of the longest segment."""
        return len(self.links(0))

    def links(self, segment: int) -> range:
        """Those of a segment."""
        return self._links[segment]

    @cached_property
    def _links(self) -> list[range]:
        ends = [0, *accumulate(self.lengths or even(len(self), self.segments))]
        return [range(first, last) for first, last in pairwise(ends)]

    @property
    def of_a_link(self) -> int:
        """mul + add + div of a link, what is done once a segment left out."""
        return sum(
            step.cost for sweep in self.stages if isinstance(sweep, Sweep) for step in sweep.steps
        )

    def times(self) -> list[tuple[int, Program]]:
        """How often each step is taken."""
        found = []
        for stage in self.stages:
            found += (
                [(1, stage.opening), (self.segments - 1, stage.step)]
                if isinstance(stage, Across)
                else [(len(self), stage.steps[0])]
            )
        return found

    @cached_property
    def depth(self) -> int:
        """Operations (neg apart) on the longest chain of dependencies."""
        return deepest(
            self.inputs, lambda arguments, numbers, run: evaluate(self, arguments, numbers, run)
        )

    @property
    def constants(self) -> int:
        """Numbers in the tables of links: a row that only some segments have stands there for all."""
        return self.segments * self.longest * self.kind.width

    def run(self, arguments: Mapping[str, Sequence[Any]], numbers: Numbers) -> dict[str, list[Any]]:
        """`evaluate`."""
        return evaluate(self, arguments, numbers)

    def by(self, change: Any) -> Segmented:
        """The same where `change` has been applied to every step."""
        return replace(
            self,
            stages=tuple(
                one._replace(opening=change(one.opening), step=change(one.step))
                if isinstance(one, Across)
                else replace(one, steps=tuple(map(change, one.steps)))
                for one in self.stages
            ),
        )


def check(one: Segmented) -> Segmented:
    """Check its rules and those of its steps. Returns it unchanged, or raises ProgramError naming the first place that breaks
    one.
    """

    def fail(what: str) -> None:
        raise ProgramError(f"{one.function}/{one.method}: {what}")

    if not 1 <= one.segments <= len(one):
        fail(f"{len(one)} links are not cut into {one.segments} segments")
    if one.lengths and (
        len(one.lengths) != one.segments
        or sum(one.lengths) != len(one)
        or min(one.lengths) < 1
        or max(one.lengths) > one.lengths[0]
    ):
        fail(
            f"segments of {', '.join(map(str, one.lengths))} links are not those of {len(one)} links, the first of the longest"
        )
    if any(len(row) != one.kind.width for row in one.tables):
        fail(f"a link has not {one.kind.width} constants")
    known = {port.name: port.size // len(one) for port in one.inputs}
    given: set[str] = set()
    for s, stage in enumerate(one.stages):
        if isinstance(stage, Sweep):
            sizes = {TABLE: one.kind.width, KEPT: one.work, CARRIED: len(stage.start)} | known
            for port in check_program(stage.steps[0]).inputs:
                if port.size != sizes.get(port.name):
                    fail(f"sweep {s} takes {port.size} of '{port.name}'")
            for port in stage.steps[0].outputs:
                if port.name == CARRIED and port.size != len(stage.start):
                    fail(f"sweep {s} hands on {port.size} numbers, not {len(stage.start)}")
                if port.name == KEPT and stage.first[0] + port.size > one.work:
                    fail(f"sweep {s} keeps more than there is room for")
                if port.name not in (CARRIED, KEPT):
                    given.add(port.name)
            continue
        takes, gives = (
            one.stages[k] if 0 <= k < len(one.stages) else None for k in (stage.takes, stage.gives)
        )
        if (
            not isinstance(takes, Sweep)
            or stage.takes > s
            or (stage.gives >= 0 and not isinstance(gives, Sweep))
        ):
            fail(f"the way {s} goes between no sweeps")
        for step in (stage.opening, stage.step):
            ports = {port.name: port.size for port in check_program(step).outputs}
            if isinstance(gives, Sweep) and ports.get(START) != len(gives.start):
                fail(f"the way {s} does not give what sweep {stage.gives} starts with")
            for port in step.inputs:
                if (
                    port.name == ENDED
                    and isinstance(takes, Sweep)
                    and port.size != len(takes.start)
                ):
                    fail(
                        f"the way {s} takes {port.size} numbers of sweep {stage.takes}, not {len(takes.start)}"
                    )
                if port.name == CARRIED and (
                    step is stage.opening or port.size != ports.get(CARRIED)
                ):
                    fail(f"the way {s} takes what nobody hands on")
    if given != {port.name for port in one.outputs}:
        fail("its results are not those of its steps")
    return one


def evaluate(
    one: Segmented,
    arguments: Mapping[str, Sequence[Any]],
    numbers: Numbers,
    run: Callable[
        [Program, Mapping[str, Sequence[Any]], Numbers], Mapping[str, Sequence[Any]]
    ] = evaluate_program,
) -> dict[str, list[Any]]:
    """Run it over any number type, as `symgen.ir.recursion.evaluate` runs sweeps. Of each link a class has one element of all."""
    work: list[list[Any]] = [[None] * one.work for _ in one.tables]
    kept: list[list[Any]] = [[] for _ in range(one.segments)]
    ended: dict[int, list[list[Any]]] = {}
    starts: dict[int, list[list[Any]]] = {}
    results: dict[str, list[Any]] = {port.name: [None] * port.size for port in one.outputs}
    for s, stage in enumerate(one.stages):
        if isinstance(stage, Sweep):
            ended[s] = []
            for g in range(one.segments):
                before = starts[s][g] if s in starts else [numbers.constant(x) for x in stage.start]
                for i in reversed(one.links(g)) if stage.inward else one.links(g):
                    table = [numbers.constant(x) for x in one.tables[i]]
                    own = {name: [values[i]] for name, values in arguments.items()}
                    found = dict(
                        run(
                            stage.steps[0],
                            own | {TABLE: table, KEPT: work[i], CARRIED: before},
                            numbers,
                        )
                    )
                    before = [*found.pop(CARRIED)]
                    left = [*found.pop(KEPT, ())]
                    work[i][stage.first[0] : stage.first[0] + len(left)] = left
                    for name, (value,) in found.items():
                        results[name][i] = value
                ended[s].append(before)
            continue
        starts[stage.gives] = [[]] * one.segments
        carried: list[Any] | None = None
        for g in reversed(range(one.segments)) if stage.inward else range(one.segments):
            step = stage.opening if carried is None else stage.step
            found = dict(
                run(
                    step,
                    {ENDED: ended[stage.takes][g], KEPT: kept[g], CARRIED: carried or []},
                    numbers,
                )
            )
            carried = [*found[CARRIED]]
            starts[stage.gives][g] = [*found.get(START, ())]
            kept[g] = [*found[KEPT]] if KEPT in found else kept[g]
    return results
