"""Comparisons of checked functions: what a function compares follows from its rows
(`symgen.readback.required_checks`).

A checked function is run once where all comparisons hold, and again where one of them does not:
then it says so and stores no result. A function over lanes makes the comparisons of each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.ir.loops import CHECKED, LoopProgram
from symgen.ir.program import POSITIONS, Bound, Element, Program
from symgen.readback.c_machine import Machine, Pointer, Term, Terms
from symgen.readback.parsing import name_of
from symgen.readback.required_checks import (
    FARTHEST,
    STATUSES,
    Owed,
    angle_rows,
    bounds,
    computed,
    finite,
    length,
)
from symgen.support.errors import ProgramError

Condition = tuple[str, Term, Term]
"""The comparison, and what is compared."""


Origin = tuple[int, int] | None
"""The call of a step and its lane, for a form in parts; else None."""


class Group(NamedTuple):
    """Conditions, numbers that must be finite, and the status where one of them does not hold."""

    status: str
    conditions: AbstractSet[Condition] = frozenset()
    finite: AbstractSet[Term] = frozenset()


def compared(step: Program, sines: bool) -> list[int]:
    """Return the rows of a step that are divisors, or that a logarithm or a root is taken of; with
    `sines` also its angles.
    """
    rows = computed(step)
    return sorted({*bounds(step, rows, {})} | (angle_rows(step, rows) if sines else set()))


# -- what is owed ----------------------------------------------------------------------------------


def of_arguments(
    form: LoopProgram | Program, arguments: Mapping[str, Sequence[Term]], terms: Terms
) -> list[Group]:
    """Return the comparisons of arguments: all are finite, and quaternions have unit length."""
    everything = frozenset(x for values in arguments.values() for x in values)
    unit, bound = terms.constant(Fraction(1)), terms.constant(length(form.real))
    units = set()
    for name, values in arguments.items():
        for first in form.quaternions if name in POSITIONS else ():
            total, *squares = [terms.of("mul", x, x) for x in values[first : first + 4]]
            for square in squares:
                total = terms.of("add", total, square)
            units.add(("<=", terms.of("fabs", terms.of("sub", total, unit)), bound))
    groups = [Group("NOT_FINITE", finite=everything)]
    return [*groups, Group("NOT_UNIT", frozenset(units))] if units else groups


class Number(NamedTuple):
    """A number that a step gives to be compared: the bound of a divisor, and True for an angle of
    the text's own sine.
    """

    owed: Owed | None
    is_angle: bool


def of_steps(form: LoopProgram, sines: bool) -> dict[int, list[Number]]:
    """Return the numbers that each step gives to be compared."""
    numbers: dict[int, list[Number]] = {}
    for step in form.programs:
        for port in step.outputs:
            if port.name == CHECKED:
                user = form.epilogue if step is form.epilogue_check and form.epilogue else step
                rows = computed(user)
                least, angles = bounds(user, rows, {}), angle_rows(user, rows) if sines else set()
                numbers[id(step)] = [Number(least.get(row), row in angles) for row in port.rows]
    return numbers


def of_a_call(values: Sequence[Term], numbers: Sequence[Number], terms: Terms) -> list[Group]:
    """Return the comparisons behind a call of a step that gives certain numbers."""
    pairs = [*zip(values, numbers, strict=True)]
    divisors = [(value, number.owed) for value, number in pairs if number.owed is not None]
    groups = [
        Group(
            "OUT_OF_RANGE",
            frozenset(_in_range(value, terms) for value, number in pairs if number.is_angle),
        ),
        Group(
            "DIVISOR",
            frozenset(_bounded(value, owed, owed.least, terms) for value, owed in divisors),
            frozenset(value for value, _ in divisors),
        ),
    ]
    return [group for group in groups if group.conditions]


def of_rows(
    program: Program,
    rows: Mapping[int, Term],
    arguments: Mapping[str, Sequence[Term]],
    divisor_bounds: Mapping[int, Bound],
    sines: bool,
) -> list[Group]:
    """Return the comparisons of a Program, in order; `sines`: angles must stay in the range of the
    text's own sines.
    """
    terms = next(iter(rows.values())).terms
    elements = list(arguments.values())
    computed_rows = computed(program)
    divisors = set()
    for row, bound in bounds(program, computed_rows, divisor_bounds).items():
        least = bound.least
        limit = elements[least.port][least.element] if isinstance(least, Element) else least
        divisors.add(_bounded(rows[row], bound, limit, terms))
    angles = angle_rows(program, computed_rows) if sines else set()
    groups = [
        *of_arguments(program, arguments, terms),
        Group("OUT_OF_RANGE", frozenset(_in_range(rows[row], terms) for row in angles)),
        Group("DIVISOR", frozenset(divisors)),
        Group(
            "RESULT_NOT_FINITE",
            finite=frozenset(rows[row] for row in finite(program, computed_rows)),
        ),
    ]
    return [group for group in groups if group.conditions or group.finite]


def _in_range(angle: Term, terms: Terms) -> Condition:
    return "<=", terms.of("fabs", angle), terms.constant(FARTHEST)


def _bounded(value: Term, owed: Owed, bound: Any, terms: Terms) -> Condition:
    limit = bound if isinstance(bound, Term) else terms.constant(bound)
    return ">=", terms.of("fabs", value) if owed.magnitude else value, limit


def _times_zero(total: Term) -> set[Term] | None:
    """Return the numbers x of a sum of products 0·x; None for another sum."""
    zero = total.terms.constant(Fraction(0))
    values, open_ = set(), [total]
    while open_:
        term = open_.pop()
        if term.operation == "add":
            open_ += term.operands
        elif term.operation == "mul" and term.operands[0] is zero:
            values.add(term.operands[1])
        elif term is not zero:
            return None
    return values


def _compared_with_zero(condition: Condition) -> set[Term] | None:
    """Return the numbers that a comparison finds to be finite: those of a sum of products 0·x that
    is not less than zero.
    """
    operator, left, right = condition
    if operator != ">=" or right is not left.terms.constant(Fraction(0)):
        return None
    return _times_zero(left)


# -- what is made ----------------------------------------------------------------------------------


@dataclass
class LaneComparisons:
    """The comparisons of one lane of a run: those that are `due`, in order, and the `ending`, when
    all else is done.

    The comparisons behind calls of steps are made before the next call, those of a form in parts in
    any order before the ending: parts are compared at the same time, and a part that is idle may
    take a step of another one, whose numbers it does not compare.
    """

    due: list[Group]
    ending: Group | None = None
    has_parts: bool = False
    """True for a form in parts."""
    goes_on: bool = False
    """True where the parts are compared at the same time: when one has failed the others go on."""
    pending: list[Group] = field(default_factory=list)
    """Comparisons behind calls of steps."""
    open_conditions: dict[Condition, tuple[str, Origin]] = field(default_factory=dict)
    open_finite: dict[Term, tuple[str, Origin]] = field(default_factory=dict)
    """Comparisons behind calls of steps of a form in parts, with their statuses and origins."""
    calls: set[Term] = field(default_factory=set)
    """Calls of steps of a form in parts."""
    outcomes: dict[Any, bool] = field(default_factory=dict)
    """True for each comparison of a form in parts that held. Elements behind the end of a chain
    make some of them again.
    """
    status: str = ""
    origin: Origin = None
    """The status and the origin of the comparisons that are being made."""
    conditions: set[Condition] = field(default_factory=set)
    finite: set[Term] = field(default_factory=set)
    failed: bool = False
    made: list[tuple[str, Any, Origin]] = field(default_factory=list)
    """The status, the place in the text and the origin of each comparison that was made."""

    def take(self, condition: Condition) -> bool:
        """Return True if a comparison is owed now; it is then made."""
        if condition in self.open_conditions:
            self.status, self.origin = self.open_conditions.pop(condition)
            return True
        values = _compared_with_zero(condition)
        if values and values <= self.open_finite.keys():
            (self.status, self.origin), *_ = (self.open_finite.pop(value) for value in values)
            return True
        if self.failed or self.open_conditions or self.open_finite:
            return False
        self.origin = None
        group = self._next()
        if condition in group.conditions:
            self._begin(group)
            self.conditions.remove(condition)
            return True
        if values and values <= group.finite:
            self._begin(group)
            self.finite -= values
            return True
        return False

    def decide(self, condition: Condition, node: Any, failing: int) -> bool | None:
        """Return True if a comparison holds, which number `failing` does not; None for one that is
        not owed.
        """
        if (self.failed and not self.goes_on) or not self.take(condition):
            return None
        self.made.append((self.status, node, self.origin))
        holds = len(self.made) != failing
        self.failed |= not holds
        if self.has_parts:
            self.outcomes[condition] = holds
        return holds

    def outcome(self, condition: Condition) -> bool | None:
        """Return True if a comparison that is made again holds; None for one that was not made, or
        of a lane that is not compared.
        """
        return self.outcomes.get(condition) if self.goes_on or not self.failed else None

    def owe(self, call: Term, origin: Origin, groups: Sequence[Group]) -> None:
        """Add the comparisons behind a call of a step."""
        if not self.has_parts:
            self.pending += groups
        elif call not in self.calls:
            self.calls.add(call)
            for group in groups:
                self.open_conditions |= dict.fromkeys(group.conditions, (group.status, origin))
                self.open_finite |= dict.fromkeys(group.finite, (group.status, origin))

    def _next(self) -> Group:
        """Return what is owed now."""
        if self.conditions or self.finite:
            return Group(self.status, self.conditions, self.finite)
        return next(iter([*self.pending, *self.due, *self._last]), Group(""))

    @property
    def _last(self) -> list[Group]:
        return [] if self.ending is None else [self.ending]

    def _begin(self, group: Group) -> None:
        """Begin with a group of comparisons, if it is not begun."""
        if self.conditions or self.finite:
            return
        if self.pending:
            self.pending.pop(0)
        elif self.due:
            self.due.pop(0)
        else:
            self.ending = None
        self.status = group.status
        self.conditions, self.finite = set(group.conditions), set(group.finite)

    def samples(self) -> list[int]:
        """The first and the last comparison of each place in the text, and of each lane of a call
        in parts one, by number from 1.
        """
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        for number, (_, node, origin) in enumerate(self.made, 1):
            first.setdefault(id(node), number)
            last[id(node)] = number
            if origin is not None:
                first.setdefault(origin, number)
        return sorted({*first.values(), *last.values()})

    @property
    def all_made(self) -> bool:
        """True if all comparisons were made that are owed before a step is called."""
        return not (self.conditions or self.finite or self.pending or self.due)

    @property
    def complete(self) -> bool:
        """True if all comparisons were made that are owed at all."""
        is_open = self.open_conditions or self.open_finite
        return self.all_made and self.ending is None and not is_open


@dataclass
class Comparisons:
    """The comparisons of one run. `failing`: which comparison of a lane does not hold, by number
    from 1.
    """

    lanes: list[LaneComparisons]
    failing: Mapping[int, int] = field(default_factory=dict)

    def __call__(self, operator: str, left: Term, right: Term, node: Any) -> bool:
        """Decide a comparison; ProgramError where the function should not make it at this place."""
        condition = (operator, left, right)
        for number, lane in enumerate(self.lanes):
            holds = lane.decide(condition, node, self.failing.get(number, 0))
            if holds is not None:
                return holds
        for lane in self.lanes:
            holds = lane.outcome(condition)
            if holds is not None:
                return holds
        raise ProgramError(
            f"line {node.coord.line}: this is not a comparison that the checked function needs"
            " here, or it comes too late"
        )

    @property
    def all_made(self) -> bool:
        """True if all comparisons were made that are owed before a step is called."""
        return all(lane.all_made or lane.failed for lane in self.lanes)

    @property
    def complete(self) -> bool:
        """True if all comparisons were made that are owed at all."""
        return all(lane.complete or lane.failed for lane in self.lanes)


@dataclass
class GuardedStep:
    """A step of a checked function, which is called when all is compared that is owed before."""

    step: Any
    comparisons: Comparisons
    owed: Mapping[int, Sequence[Number]]
    results_of: Callable[[Program, Term, Terms], Mapping[int, Sequence[Term]]]

    def __call__(self, machine: Machine, arguments: Sequence[Pointer], node: Any) -> None:
        """Apply the step to memory, and note what is owed behind it."""
        if not self.comparisons.all_made:
            raise machine.refuse(node, "not everything has been compared by here")
        step = self.step.text.step
        calls = self.step(machine, arguments, node)
        if id(step) in self.owed:
            checked_index = next(k for k, port in enumerate(step.outputs) if port.name == CHECKED)
            lanes = self.comparisons.lanes
            has_states = len(lanes) > 1  # else the lanes of a call are parts of one state
            for k, call in enumerate(calls):
                if call.known:  # an idle part takes a step that the form does not
                    values = self.results_of(step, call, machine.terms)[checked_index]
                    groups = of_a_call(values, self.owed[id(step)], machine.terms)
                    origin = None if has_states else (id(node), k)
                    lanes[k if has_states else 0].owe(call, origin, groups)


def number_compared(body: Any, name: str) -> int:
    """Return the one number that a function compares a parameter with; ProgramError where there is
    none or another.
    """
    numbers: set[int] = set()
    nodes = [body]
    while nodes:
        node = nodes.pop()
        nodes += [child for _, child in node.children()]
        if isinstance(node, c_ast.BinaryOp) and name_of(node.left) == name:
            value = getattr(node.right, "value", "")
            numbers.add(int(value) if value.isdigit() else -1)
    if len(numbers) != 1 or min(numbers) < 0:
        raise ProgramError(f"{name} is not compared with one number")
    return numbers.pop()


Failing = Callable[[Mapping[int, int]], tuple[Sequence[int], bool]]
"""A run in which comparisons do not hold: the status of each lane, and True if a result was stored.
"""


def failing_runs(comparisons: Comparisons, run: Failing, symbol: str, name: str) -> list[str]:
    """List what is wrong where comparisons do not hold: the status of the lane says so, and nothing
    is stored.

    In one run each lane but one has a comparison of its own that does not hold.
    """
    lanes, samples = len(comparisons.lanes), comparisons.lanes[0].samples()
    if any(lane.samples() != samples for lane in comparisons.lanes):
        return [f"the lanes of {symbol} make other comparisons"]
    at_once = max(1, lanes - 1)
    for begin in range(0, len(samples), at_once):
        numbers = samples[begin : begin + at_once]
        failing = {(k + begin) % lanes: number for k, number in enumerate(numbers)}
        statuses, stored = run(failing)
        for lane, status in enumerate(statuses):
            number = failing.get(lane, 0)
            expected, node, _ = (
                comparisons.lanes[lane].made[number - 1] if number else ("OK", None, None)
            )
            if stored or status != STATUSES.index(expected):
                line = f"line {node.coord.line}: " if node is not None else ""
                return [
                    f"{line}where this does not hold {symbol} stores something, or its status is"
                    f" not {name}_{expected}"
                ]
    return []
