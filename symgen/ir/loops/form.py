"""`LoopProgram`: a function of a robot as loops over its links, with its cost and its evaluation
over any number type.

`Form` is such a program, or a Program with rows for all links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate, pairwise, repeat
from typing import Any, ClassVar, Literal

from symgen.ir.loops.depth import deepest
from symgen.ir.loops.stages import (
    BEFORE,
    CARRY,
    CHECKED,
    CONSTANTS,
    DOWNSWEEP,
    FINAL_CARRY,
    INITIAL_CARRY,
    LEFT,
    RIGHT,
    SAVED,
    UPSWEEP,
    Change,
    FinalCarry,
    LinkClass,
    Map,
    ParallelScan,
    SequentialScan,
    Stage,
    Sweep,
)
from symgen.ir.program import COUNTED, POSITIONS, SELDOM, Numbers, Outline, Port, Program
from symgen.ir.translated import TranslatingRunner
from symgen.vocabulary.arrays import USUAL, Convention


@dataclass(frozen=True, repr=False)
class LoopProgram:
    """Stages along the links of a robot, in their order; `symgen.ir.loops.check` states the rules.

    A loop program has one of three layouts. Sweeps go along a tree, or along a chain that is one
    piece. A chain that is cut into parts has sweeps, which run along all parts at the same time,
    and sequential scans across the parts. A chain of elements has maps and parallel scans in turn;
    it has one element more than links, and parts of the same length, where the last element is
    repeated behind the end.
    """

    looped: ClassVar[Literal[True]] = True
    """True: the text has loops over links."""

    function: str
    method: str
    inputs: tuple[Port, ...]
    """Arguments of the function."""
    outputs: tuple[Port, ...]
    """Results of the function, without rows."""
    link_classes: tuple[LinkClass, ...]
    parents: tuple[int, ...]
    """Parent of each link, which stands before it (-1: the base)."""
    class_of: tuple[int, ...]
    """Number of the class of each link."""
    constants: tuple[tuple[Fraction, ...], ...]
    """Constants of each link, or of each element."""
    stages: tuple[Stage, ...]
    work: int
    """Numbers that are saved for each link, or for each element."""
    part_lengths: tuple[int, ...] = ()
    """Links, or elements, of each part of a chain; empty for one piece. The first part is the
    longest.
    """
    final_carries: tuple[FinalCarry, ...] = ()
    epilogue: Program | None = None
    """Step that computes results of FINAL_CARRY, once, after all stages."""
    epilogue_check: Program | None = None
    """Step that gives CHECKED of FINAL_CARRY before the epilogue, in a checked function."""
    per_link: tuple[tuple[str, int], ...] = ()
    """Elements of a link in ports that are no numbers of joints; 0 for a port that all links share.
    """
    columns: tuple[tuple[str, int], ...] = ()
    """Number of rows of each result that has a column for each degree of freedom; columns that no
    sweep gives are zero.
    """
    real: str = field(default="double", kw_only=True)
    convention: Convention = field(default=USUAL, kw_only=True)
    quaternions: tuple[int, ...] = field(default=(), kw_only=True)
    """First element of each unit quaternion among the positions."""
    passed_over: tuple[tuple[str, str], ...] = field(default=(), compare=False, kw_only=True)
    """Rejected methods and the reasons, as in a Program."""
    rounds: int | None = field(default=None, compare=False, kw_only=True)
    """None: no search for fewer operations is made for loops."""

    def __len__(self) -> int:
        """Links."""
        return len(self.parents)

    def __repr__(self) -> str:
        classes = f"{len(self.link_classes)} class{'es' * (len(self.link_classes) > 1)}"
        cut = f" in {self.part_count} parts" if self.part_lengths else ""
        return (
            f"<symgen.LoopProgram {self.function} by {self.method}: {len(self)} links of"
            f" {classes}{cut}, {len(self.stages)} stages, {self.cost} operations, {self.real}>"
        )

    # -- stages ----------------------------------------------------------------------------------

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        """Stages that are sweeps."""
        return tuple(stage for stage in self.stages if isinstance(stage, Sweep))

    @cached_property
    def maps(self) -> tuple[Map, ...]:
        """Stages that are maps."""
        return tuple(stage for stage in self.stages if isinstance(stage, Map))

    @cached_property
    def scans(self) -> tuple[ParallelScan, ...]:
        """Stages that are parallel scans."""
        return tuple(stage for stage in self.stages if isinstance(stage, ParallelScan))

    @property
    def programs(self) -> tuple[Program, ...]:
        """Programs that hold the rows: the steps of all stages, and those of the epilogue."""
        steps = [step for stage in self.stages for step in stage.programs]
        return (*steps, *(step for step in (self.epilogue_check, self.epilogue) if step))

    @property
    def steps(self) -> tuple[str, ...]:
        """Comments of all steps."""
        return tuple(dict.fromkeys(text for step in self.programs for text in step.steps))

    def by(self, change: Change) -> LoopProgram:
        """Return the loop program with every step changed."""
        return replace(
            self,
            stages=tuple(stage.by(change) for stage in self.stages),
            epilogue=self.epilogue and change(self.epilogue),
            epilogue_check=self.epilogue_check and change(self.epilogue_check),
        )

    def without_base_steps(self) -> LoopProgram:
        """Return the loop program whose first link has the steps of its class."""
        stages = [
            replace(stage, base_step=None) if isinstance(stage, Sweep) else stage
            for stage in self.stages
        ]
        return replace(self, stages=tuple(stages))

    def in_real(self, real: str) -> LoopProgram:
        """Return the loop program in another real type, itself in its own."""
        if real == self.real:
            return self
        return replace(self.by(lambda step: step.in_real(real)), real=real)

    def run(self, arguments: Mapping[str, Sequence[Any]], numbers: Numbers) -> dict[str, list[Any]]:
        """Evaluate the function over any number type."""
        return evaluate(self, arguments, numbers)

    # -- links and parts -------------------------------------------------------------------------

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every link, in their order."""
        children: list[list[int]] = [[] for _ in self.parents]
        for link, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(link)
        return tuple(map(tuple, children))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Links on the base."""
        return tuple(link for link, parent in enumerate(self.parents) if parent < 0)

    @cached_property
    def serial(self) -> bool:
        """True if the links are one chain, in its order."""
        return all(parent == link - 1 for link, parent in enumerate(self.parents))

    @property
    def part_count(self) -> int:
        """Parts of the chain; 0 for one piece."""
        return len(self.part_lengths)

    @property
    def at_once(self) -> int:
        """Links that are computed at the same time."""
        return max(1, self.part_count)

    @property
    def longest_part(self) -> int:
        """Links, or elements, of the longest part."""
        return max(self.part_lengths, default=len(self))

    @cached_property
    def parts(self) -> tuple[range, ...]:
        """Links, or elements, of each part."""
        bounds = accumulate(self.part_lengths or (len(self),), initial=0)
        return tuple(range(first, end) for first, end in pairwise(bounds))

    @property
    def element_count(self) -> int:
        """Elements of all parts, with those that repeat the last one; links, in a loop program
        without maps.
        """
        return sum(self.part_lengths) if self.maps else len(self)

    def constants_of(self, element: int) -> tuple[Fraction, ...]:
        """Return the constants of a link or element; those of the last one behind the end."""
        return self.constants[min(element, len(self.constants) - 1)]

    def path_to(self, link: int) -> tuple[int, ...]:
        """Return the links from the base to a link."""
        path = [link]
        while self.parents[path[-1]] >= 0:
            path.append(self.parents[path[-1]])
        return tuple(reversed(path))

    def straight(self, sweep: Sweep) -> bool:
        """True if each link that a sweep visits receives the carry of the link that was visited
        before.
        """
        return self.serial or sweep.only_path_to >= 0

    def visited(self, sweep: Sweep) -> Sequence[int]:
        """Return the links that a sweep visits, in its order."""
        tip = sweep.only_path_to
        outward = self.path_to(tip) if tip >= 0 else range(len(self))
        return outward[:: -1 if sweep.inward else 1]

    def paths(self, sweep: Sweep) -> list[Sequence[int]]:
        """Return the links that a sweep visits, part by part."""
        if not self.part_lengths:
            return [self.visited(sweep)]
        return [links[:: -1 if sweep.inward else 1] for links in self.parts]

    def classes(self, sweep: Sweep) -> set[int]:
        """Return the classes of the links that a sweep visits."""
        return {self.class_of[link] for link in self.visited(sweep)}

    def along_path_to(self, link: int) -> LoopProgram:
        """Return the loop program with sweeps along the path to a link alone, if no result needs
        other links.
        """
        results = {
            port.name for sweep in self.sweeps for step in sweep.steps for port in step.outputs
        }
        shared = {name for name, _ in self.columns} | {
            name for name, width in self.per_link if not width
        }
        of_links = {port.name for port in self.outputs} - shared
        if results & of_links or any(
            sweep.inward and sweep.only_path_to != link for sweep in self.sweeps
        ):
            return self
        return replace(
            self, stages=tuple(replace(sweep, only_path_to=link) for sweep in self.sweeps)
        )

    # -- elements of ports -----------------------------------------------------------------------

    @cached_property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """First element of the positions and of the velocities of every link."""
        offsets, q, v = [], 0, 0
        for number in self.class_of:
            offsets.append((q, v))
            q, v = q + self.link_classes[number].nq, v + self.link_classes[number].nv
        return tuple(offsets)

    def elements(self, port: str, link: int) -> Sequence[int]:
        """Return the elements of a function's port that belong to a link, or to all."""
        link_class, (q, v) = self.link_classes[self.class_of[link]], self.offsets[link]
        if port in self._per_link:
            width = self.width(port, link_class)
            return range(width * link, width * (link + 1)) if self._per_link[port] else range(width)
        if rows := self._columns.get(port):
            return [
                row * self._degrees_of_freedom + column
                for row in range(rows)
                for column in range(v, v + link_class.nv)
            ]
        return range(q, q + link_class.nq) if port in POSITIONS else range(v, v + link_class.nv)

    @cached_property
    def _per_link(self) -> dict[str, int]:
        return dict(self.per_link)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return dict(self.columns)

    @cached_property
    def _degrees_of_freedom(self) -> int:
        return sum(self.link_classes[number].nv for number in self.class_of)

    def width(self, port: str, link_class: LinkClass) -> int:
        """Return how many elements of a function's port a link of a class has, or reads."""
        if rows := self._columns.get(port):
            return rows * link_class.nv
        if port in self._per_link:
            return self._per_link[port] or next(
                each.size for each in (*self.inputs, *self.outputs) if each.name == port
            )
        return link_class.nq if port in POSITIONS else link_class.nv

    # -- cost ------------------------------------------------------------------------------------

    def step_counts(self) -> Iterator[tuple[int, Program]]:
        """Yield how often a call takes each step of the stages, repeated elements included."""
        for stage in self.stages:
            if isinstance(stage, Sweep):
                links = Counter(self.class_of[link] for link in self.visited(stage))
                if stage.base_step:
                    links[self.class_of[0]] -= 1
                    yield 1, stage.base_step
                yield from ((links[number], step) for number, step in enumerate(stage.steps))
            elif isinstance(stage, Map):
                yield self.element_count, stage.steps[0]
            elif isinstance(stage, SequentialScan):
                yield 1, stage.opening
                yield self.part_count - 1, stage.step
            else:
                yield self.element_count - 1, stage.up
                yield self.element_count - 1, stage.down

    @cached_property
    def operations(self) -> dict[str, int]:
        """Operations of a call, by `symgen.ir.program.COUNTED`, with those that combine carries and
        results.
        """
        count = dict.fromkeys(COUNTED, 0)
        once = [(1, self.epilogue)] if self.epilogue else []
        for times, step in (*self.step_counts(), *once):
            for op, number in step.operations.items():
                count[op] = count.get(op, 0) + times * number
        siblings = (*self.children, self.roots if self.final_carries else ())
        pairs = sum(len(links) - 1 for links in siblings if links)
        for sweep in self.sweeps:
            for operation in sweep.combine:
                count[operation] += pairs
        if self.maps:
            count["add"] += len(self) * len(self.outputs)
        return {op: number for op, number in count.items() if number or op not in SELDOM}

    @property
    def cost(self) -> int:
        """mul + add + div of a call."""
        ops = self.operations
        return ops["mul"] + ops["add"] + ops["div"]

    @property
    def link_cost(self) -> int:
        """mul + add + div of all sweeps at one link of the first class."""
        return sum(sweep.steps[0].cost for sweep in self.sweeps)

    @cached_property
    def depth(self) -> int:
        """Operations (neg apart) on the longest chain of dependencies."""
        return deepest(self.inputs, partial(evaluate, self))

    @property
    def rows_in_all(self) -> int:
        """Rows of all steps of the stages that a call takes."""
        return sum(times * len(step.rows) for times, step in self.step_counts())

    @property
    def constant_count(self) -> int:
        """Numbers of the tables in the text; a row that some parts lack is there for all parts."""
        if self.part_lengths:
            return self.part_count * self.longest_part * self.link_classes[0].width
        return sum(map(len, self.constants))

    @property
    def outline(self) -> Outline:
        """Facts that a caller of the function needs."""
        return Outline(
            self.function,
            self.method,
            self.inputs,
            self.outputs,
            self.operations,
            self.rows_in_all,
            self.real,
            self.convention,
        )


Form = Program | LoopProgram
"""A function as rows for all links, or as loops over them."""


def even_lengths(links: int, parts: int) -> tuple[int, ...]:
    """Return the lengths of parts that differ by one link at most, longer parts first."""
    short, longer = divmod(links, parts)
    return tuple(short + (part < longer) for part in range(parts))


# -- evaluation ----------------------------------------------------------------------------------

Run = Callable[[Program, Mapping[str, Sequence[Any]], Numbers], Mapping[str, Sequence[Any]]]
"""Runs one step, as `symgen.ir.program.evaluate` does."""
Values = list[Any]


def evaluate(
    form: LoopProgram,
    arguments: Mapping[str, Sequence[Any]],
    numbers: Numbers,
    run: Run | None = None,
) -> dict[str, list[Any]]:
    """Run all stages over any number type, each step by `run`, and return the results by name."""
    evaluation = _Evaluation(form, arguments, numbers, run or TranslatingRunner())
    for number, stage in enumerate(form.stages):
        if isinstance(stage, Sweep):
            evaluation.sweep(number, stage)
        elif isinstance(stage, Map):
            evaluation.map(stage)
        elif isinstance(stage, SequentialScan):
            evaluation.scan_parts(stage)
        else:
            evaluation.scan_pairs(stage)
    return evaluation.finish()


class _Evaluation:
    """Values of one evaluation: the workspace, the carries, and the results so far."""

    def __init__(
        self,
        form: LoopProgram,
        arguments: Mapping[str, Sequence[Any]],
        numbers: Numbers,
        run: Run,
    ) -> None:
        self.form, self.arguments, self.numbers, self.run = form, arguments, numbers, run
        self.zero = numbers.constant(Fraction(0))
        self.constants = [self._constants(row) for row in form.constants]
        self.work: list[Values] = [[None] * form.work for _ in range(form.element_count)]
        self.results: dict[str, Values] = {port.name: [None] * port.size for port in form.outputs}
        for name, _ in form.columns:
            self.results[name] = [self.zero] * len(self.results[name])
        self.ended: Values = []
        """Final carries for the epilogue."""
        parts = range(max(1, form.part_count))
        self.final: dict[int, list[Values]] = {}
        """Final carry of each part, by sweep."""
        self.initial: dict[int, list[Values]] = {}
        """Initial carry of each part, by sweep; without an entry that of the sweep itself."""
        self.saved: list[Values] = [[] for _ in parts]
        """Numbers that a sequential scan saved for each part."""
        self.upsweep: list[Values] = []
        self.downsweep: list[Values] = [[] for _ in self.work]
        self.joint_parts = {
            port.name: [[self.zero] * 2 for _ in form.parents] for port in form.outputs if form.maps
        }
        """Contributions of the two elements of each joint to each result of a map."""

    def _constants(self, values: Sequence[Fraction]) -> Values:
        return [self.numbers.constant(x) for x in values]

    # -- sweeps along the links ------------------------------------------------------------------

    def sweep(self, number: int, sweep: Sweep) -> None:
        """Visit the links of every part, and take the final carries."""
        form, initial = self.form, self._constants(sweep.initial)
        carries: list[Values] = [initial] * len(form)
        paths = form.paths(sweep)
        straight = form.straight(sweep)
        self.final[number] = []
        for carry, links in zip(self.initial.get(number, repeat(initial)), paths, strict=False):
            for link in links:
                if not straight:
                    carry = self._carry_into(sweep, link, carries, initial)
                carry = carries[link] = self._visit(sweep, link, carry)
            self.final[number].append(carry)
        for final in form.final_carries:
            if final.sweep == number:
                self._take_final(final, sweep, carries, initial)

    def _carry_into(
        self, sweep: Sweep, link: int, carries: Sequence[Values], initial: Values
    ) -> Values:
        """Return the carry that a link of a tree receives."""
        if sweep.inward:
            children = [carries[child] for child in self.form.children[link]]
            return combined(initial, children, sweep.combine)
        parent = self.form.parents[link]
        return carries[parent] if parent >= 0 else initial

    def _visit(self, sweep: Sweep, link: int, carry: Values) -> Values:
        """Run the step of one link and return its carry; a step without one passes on what it
        received.
        """
        form, link_class = self.form, self.form.class_of[link]
        step, saved_at = sweep.step_of(link, link_class), sweep.saved_at[link_class]
        arguments = {CONSTANTS: self.constants[link], SAVED: self.work[link], CARRY: carry}
        for port in step.inputs:
            if port.name not in arguments:
                values = self.arguments[port.name]
                arguments[port.name] = [
                    values[element] for element in form.elements(port.name, link)
                ]
        for name, values in self.run(step, arguments, self.numbers).items():
            if name == CARRY:
                carry = [*values]
            elif name == SAVED:
                self.work[link][saved_at : saved_at + len(values)] = values
            elif name != CHECKED:
                for element, value in zip(form.elements(name, link), values, strict=True):
                    self.results[name][element] = value
        return carry

    def _take_final(
        self, final: FinalCarry, sweep: Sweep, carries: Sequence[Values], initial: Values
    ) -> None:
        """Store a final carry as a result, or for the epilogue."""
        carry = (
            carries[final.link]
            if final.link >= 0
            else combined(initial, [carries[root] for root in self.form.roots], sweep.combine)
        )
        values = [carry[element] for element in final.elements]
        if final.name == FINAL_CARRY:
            self.ended += values
        else:
            self.results[final.name] = values

    # -- scans across the parts ------------------------------------------------------------------

    def scan_parts(self, scan: SequentialScan) -> None:
        """Pass a carry from part to part."""
        parts = range(self.form.part_count)
        initial: list[Values] = [[] for _ in parts]
        carry: Values | None = None
        for part in reversed(parts) if scan.inward else parts:
            arguments = {
                FINAL_CARRY: self.final[scan.takes][part],
                SAVED: self.saved[part],
                CARRY: carry or [],
            }
            step = scan.opening if carry is None else scan.step
            results = self.run(step, arguments, self.numbers)
            carry = [*results[CARRY]]
            initial[part] = [*results.get(INITIAL_CARRY, ())]
            if SAVED in results:
                self.saved[part] = [*results[SAVED]]
        if scan.gives >= 0:
            self.initial[scan.gives] = initial

    # -- maps, and scans over pairs of elements --------------------------------------------------

    def map(self, stage: Map) -> None:
        """Run the step of every element."""
        n, step, saved_at = len(self.form), stage.steps[0], stage.saved_at[0]
        self.upsweep = []
        for element, work in enumerate(self.work):
            arguments = {
                CONSTANTS: self.constants[min(element, n)],
                SAVED: work,
                DOWNSWEEP: self.downsweep[element],
            }
            for name, values in self.arguments.items():
                arguments[name] = [values[element] if element < n else self.zero]
                arguments[name + BEFORE] = [values[element - 1] if 0 < element <= n else self.zero]
            results = self.run(
                step, {port.name: arguments[port.name] for port in step.inputs}, self.numbers
            )
            saved = [*results.get(SAVED, ())]
            work[saved_at : saved_at + len(saved)] = saved
            self.upsweep.append([*results.get(UPSWEEP, ())])
            for name, joints in self.joint_parts.items():
                if name in results and element < n:
                    joints[element][0] = results[name][0]
                if name + BEFORE in results and 0 < element <= n:
                    joints[element - 1][1] = results[name + BEFORE][0]

    def scan_pairs(self, scan: ParallelScan) -> None:
        """Scan the elements of every part, and the parts themselves."""
        n, longest = len(self.form), self.form.longest_part
        values = self.upsweep
        values[n][scan.valid :] = [self.zero] * (scan.up_size - scan.valid)
        parts = [
            self._up(scan, values[first : first + longest])
            for first in range(0, len(values), longest)
        ]
        root = self._up(scan, [values[0] for *_, (values, _) in parts])
        initial = self._constants(scan.initial)
        self.downsweep = []
        for levels, value in zip(parts, self._down(scan, root, initial), strict=True):
            self.downsweep += self._down(scan, levels, value)
        unused = len(scan.initial) - scan.last_valid
        self.downsweep[n][scan.last_valid :] = [self.zero] * unused

    def _up(self, scan: ParallelScan, values: list[Values]) -> Levels:
        """Combine pairs of elements until one is left."""
        levels: Levels = [(values, [])]
        while len(values) > 1:
            pairs = [
                self.run(scan.up, {LEFT: values[k], RIGHT: values[k + 1]}, self.numbers)
                for k in range(0, len(values) - 1, 2)
            ]
            values = [[*pair[UPSWEEP]] for pair in pairs] + values[2 * len(pairs) :]
            levels.append((values, [[*pair[SAVED]] for pair in pairs]))
        return levels

    def _down(self, scan: ParallelScan, levels: Levels, value: Values) -> list[Values]:
        """Return the DOWNSWEEP value of every element, from that of all together."""
        values = [value]
        for _, saved in reversed(levels[1:]):
            below: list[Values] = []
            for pair, value_of_pair in zip(saved, values, strict=False):
                results = self.run(scan.down, {SAVED: pair, DOWNSWEEP: value_of_pair}, self.numbers)
                below += [[*results[LEFT]], [*results[RIGHT]]]
            values = below + values[len(saved) :]
        return values

    # -- results ---------------------------------------------------------------------------------

    def finish(self) -> dict[str, list[Any]]:
        """Run the epilogue and return all results."""
        form = self.form
        if form.maps:
            return {
                name: [first + second for first, second in joints]
                for name, joints in self.joint_parts.items()
            }
        arguments = {FINAL_CARRY: self.ended}
        if form.epilogue_check is not None:
            self.run(form.epilogue_check, arguments, self.numbers)
        if form.epilogue is not None:
            results = self.run(form.epilogue, arguments, self.numbers)
            self.results |= {name: [*values] for name, values in results.items()}
        return self.results


Levels = list[tuple[list[Values], list[Values]]]
"""UPSWEEP values of each level from the elements up, and the numbers saved for each pair of the
level below.
"""


def combined(initial: Values, carries: Sequence[Values], combine: Sequence[str]) -> Values:
    """Combine the carries of several children, last child first; `initial` without children."""
    if not carries:
        return initial
    *others, total = carries
    for carry in reversed(others):
        total = [
            a + b if operation == "add" else a * b
            for a, b, operation in zip(total, carry, combine, strict=True)
        ]
    return total
