"""Verification of the comparisons that a checked function makes when it is interpreted.

The required comparisons follow from the rows (`symgen.readback.required_checks`). A checked
function is interpreted once with all comparisons true, and again with one comparison false: then it
must return the status of this comparison and store no result. A function over lanes makes the
comparisons of each lane.
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
    LowerBound,
    angle_rows,
    bounds,
    computed,
    finite,
    unit_length_tolerance,
)
from symgen.support.errors import ProgramError

Condition = tuple[str, Term, Term]
"""A comparison: its operator, and its left and right operand."""


Origin = tuple[int, int] | None
"""Call of a step and its lane in a form in parts; None in other forms."""


class Group(NamedTuple):
    """Comparisons with one status, which the function returns if one of them is false."""

    status: str
    conditions: AbstractSet[Condition] = frozenset()
    finite: AbstractSet[Term] = frozenset()
    """Numbers that must be finite."""


def compared_rows(step: Program, sines: bool) -> list[int]:
    """Return the rows of a step that a checked function compares, ascending.

    These are divisors, operands of logarithms and roots, and, with `sines`, angles.
    """
    rows = computed(step)
    return sorted({*bounds(step, rows, {})} | (angle_rows(step, rows) if sines else set()))


# -- required comparisons --------------------------------------------------------------------------


def of_arguments(
    form: LoopProgram | Program, arguments: Mapping[str, Sequence[Term]], terms: Terms
) -> list[Group]:
    """Return the required comparisons of arguments: finite elements, and unit quaternions."""
    elements = frozenset(x for values in arguments.values() for x in values)
    unit, bound = terms.constant(Fraction(1)), terms.constant(unit_length_tolerance(form.real))
    units = set()
    for name, values in arguments.items():
        for first in form.quaternions if name in POSITIONS else ():
            total, *squares = [terms.of("mul", x, x) for x in values[first : first + 4]]
            for square in squares:
                total = terms.of("add", total, square)
            units.add(("<=", terms.of("fabs", terms.of("sub", total, unit)), bound))
    groups = [Group("NOT_FINITE", finite=elements)]
    return [*groups, Group("NOT_UNIT", frozenset(units))] if units else groups


class Number(NamedTuple):
    """Comparisons of one number that a step returns.

    `lower_bound` is that of a divisor, or None. `is_angle` is True for an angle of the text's own
    sine.
    """

    lower_bound: LowerBound | None
    is_angle: bool


def of_steps(form: LoopProgram, sines: bool) -> dict[int, list[Number]]:
    """Return the numbers that each step returns for comparisons, by the identity of the step."""
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
    """Return the required comparisons after a call of a step, of the `values` that it returned."""
    pairs = [*zip(values, numbers, strict=True)]
    divisors = [
        (value, number.lower_bound) for value, number in pairs if number.lower_bound is not None
    ]
    groups = [
        Group(
            "OUT_OF_RANGE",
            frozenset(_in_range(value, terms) for value, number in pairs if number.is_angle),
        ),
        Group(
            "DIVISOR",
            frozenset(_bounded(value, bound, bound.least, terms) for value, bound in divisors),
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
    """Return the required comparisons of a Program, in order.

    `sines`: angles must be in the range of the text's own sines.
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


def _bounded(value: Term, bound: LowerBound, least: Any, terms: Terms) -> Condition:
    limit = least if isinstance(least, Term) else terms.constant(least)
    return ">=", terms.of("fabs", value) if bound.magnitude else value, limit


def _times_zero(total: Term) -> set[Term] | None:
    """Return the numbers x of a sum of products 0·x; None for any other sum."""
    zero = total.terms.constant(Fraction(0))
    values, addends = set(), [total]
    while addends:
        term = addends.pop()
        if term.operation == "add":
            addends += term.operands
        elif term.operation == "mul" and term.operands[0] is zero:
            values.add(term.operands[1])
        elif term is not zero:
            return None
    return values


def _compared_with_zero(condition: Condition) -> set[Term] | None:
    """Return the numbers that a comparison shows to be finite; None for any other comparison.

    The comparison is `0·x + 0·y + … >= 0`, which is false if one of the numbers is not finite.
    """
    operator, left, right = condition
    if operator != ">=" or right is not left.terms.constant(Fraction(0)):
        return None
    return _times_zero(left)


# -- comparisons of a run --------------------------------------------------------------------------


@dataclass
class LaneComparisons:
    """Required comparisons of one lane of a run, and those that the function made.

    The function makes the comparisons in `due` in order, and those in `ending` last. It makes the
    comparisons of a call of a step before it calls the next step. In a form in parts it makes them
    in any order before those in `ending`, because the parts run in parallel. An idle part may
    compute a step of another part without comparing its numbers.
    """

    due: list[Group]
    ending: Group | None = None
    has_parts: bool = False
    """True for a form in parts."""
    continues_after_failure: bool = False
    """True if parts run in parallel: after a comparison of one is false the others continue."""
    pending: list[Group] = field(default_factory=list)
    """Comparisons of calls of steps that the function has not begun."""
    open_conditions: dict[Condition, tuple[str, Origin]] = field(default_factory=dict)
    open_finite: dict[Term, tuple[str, Origin]] = field(default_factory=dict)
    """Missing comparisons of calls of steps of a form in parts, with their statuses and origins."""
    calls: set[Term] = field(default_factory=set)
    """Calls of steps of a form in parts."""
    outcomes: dict[Any, bool] = field(default_factory=dict)
    """Results of the comparisons of a form in parts.

    The function repeats some of these comparisons for elements after the end of a chain.
    """
    status: str = ""
    origin: Origin = None
    """Status and origin of the group of comparisons that the function has begun."""
    conditions: set[Condition] = field(default_factory=set)
    finite: set[Term] = field(default_factory=set)
    """Missing comparisons of that group."""
    failed: bool = False
    """True after a comparison was false."""
    made: list[tuple[str, Any, Origin]] = field(default_factory=list)
    """Status, node and origin of each comparison that the function made."""

    def take(self, condition: Condition) -> bool:
        """Return True if a comparison is required now, and remove it from the missing ones."""
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
        """Return the result of a required comparison; None for one that is not required now.

        Comparison number `failing` of the lane, counted from 1, is false; all others are true.
        """
        if (self.failed and not self.continues_after_failure) or not self.take(condition):
            return None
        self.made.append((self.status, node, self.origin))
        holds = len(self.made) != failing
        self.failed |= not holds
        if self.has_parts:
            self.outcomes[condition] = holds
        return holds

    def outcome(self, condition: Condition) -> bool | None:
        """Return the result of a comparison that is repeated; None if it was not made before.

        The result is None after a comparison of the lane was false, unless parts run in parallel.
        """
        return (
            self.outcomes.get(condition)
            if self.continues_after_failure or not self.failed
            else None
        )

    def require(self, call: Term, origin: Origin, groups: Sequence[Group]) -> None:
        """Add the required comparisons of a call of a step."""
        if not self.has_parts:
            self.pending += groups
        elif call not in self.calls:
            self.calls.add(call)
            for group in groups:
                self.open_conditions |= dict.fromkeys(group.conditions, (group.status, origin))
                self.open_finite |= dict.fromkeys(group.finite, (group.status, origin))

    def _next(self) -> Group:
        """Return the group of comparisons that is required now; an empty group if there is none."""
        if self.conditions or self.finite:
            return Group(self.status, self.conditions, self.finite)
        return next(iter([*self.pending, *self.due, *self._last]), Group(""))

    @property
    def _last(self) -> list[Group]:
        return [] if self.ending is None else [self.ending]

    def _begin(self, group: Group) -> None:
        """Begin the next group of comparisons, unless one has begun."""
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
        """Return the numbers of comparisons, from 1, that are made false in turn.

        They are the first and the last comparison of each node, and one comparison of each lane of
        each call of a form in parts.
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
        """True if the function made all comparisons that it must make before it calls a step."""
        return not (self.conditions or self.finite or self.pending or self.due)

    @property
    def complete(self) -> bool:
        """True if the function made all required comparisons."""
        is_open = self.open_conditions or self.open_finite
        return self.all_made and self.ending is None and not is_open


@dataclass
class Comparisons:
    """Required and made comparisons of one run, lane by lane.

    `failing` is the number, from 1, of the false comparison of a lane, by lane.
    """

    lanes: list[LaneComparisons]
    failing: Mapping[int, int] = field(default_factory=dict)

    def __call__(self, operator: str, left: Term, right: Term, node: Any) -> bool:
        """Return the result of a comparison. Raises ProgramError if it is not required now."""
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
        """True if the function made all comparisons that it must make before it calls a step."""
        return all(lane.all_made or lane.failed for lane in self.lanes)

    @property
    def complete(self) -> bool:
        """True if the function made all required comparisons."""
        return all(lane.complete or lane.failed for lane in self.lanes)


@dataclass
class GuardedStep:
    """A step of a checked function: all comparisons of earlier calls must precede its call."""

    step: Any
    comparisons: Comparisons
    numbers: Mapping[int, Sequence[Number]]
    results_of: Callable[[Program, Term, Terms], Mapping[int, Sequence[Term]]]

    def __call__(self, machine: Machine, arguments: Sequence[Pointer], node: Any) -> None:
        """Apply the step to memory, and add the required comparisons of this call."""
        if not self.comparisons.all_made:
            raise machine.refuse(node, "a required comparison is missing before this call")
        step = self.step.text.step
        calls = self.step(machine, arguments, node)
        if id(step) in self.numbers:
            checked_index = next(k for k, port in enumerate(step.outputs) if port.name == CHECKED)
            lanes = self.comparisons.lanes
            has_states = len(lanes) > 1  # otherwise the lanes of a call are parts of one state
            for k, call in enumerate(calls):
                if call.known:  # an idle part may compute a step that the form does not have
                    values = self.results_of(step, call, machine.terms)[checked_index]
                    groups = of_a_call(values, self.numbers[id(step)], machine.terms)
                    origin = None if has_states else (id(node), k)
                    lanes[k if has_states else 0].require(call, origin, groups)


def number_compared(body: Any, name: str) -> int:
    """Return the number that a function compares a parameter with.

    Raises ProgramError if there is no such number, or several.
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
"""Function that runs a text with false comparisons, by lane.

It returns the status of each lane, and True if a result was stored.
"""


def failing_runs(comparisons: Comparisons, run: Failing, symbol: str, name: str) -> list[str]:
    """List the errors of runs with a false comparison: a wrong status, or a stored result.

    In one run each lane except one has a false comparison.
    """
    lanes, samples = len(comparisons.lanes), comparisons.lanes[0].samples()
    if any(lane.samples() != samples for lane in comparisons.lanes):
        return [f"the lanes of {symbol} make different comparisons"]
    samples_per_run = max(1, lanes - 1)
    for first in range(0, len(samples), samples_per_run):
        numbers = samples[first : first + samples_per_run]
        failing = {(k + first) % lanes: number for k, number in enumerate(numbers)}
        statuses, stored = run(failing)
        for lane, status in enumerate(statuses):
            number = failing.get(lane, 0)
            expected, node, _ = (
                comparisons.lanes[lane].made[number - 1] if number else ("OK", None, None)
            )
            if stored or status != STATUSES.index(expected):
                line = f"line {node.coord.line}: " if node is not None else ""
                return [
                    f"{line}if this comparison is false, {symbol} stores a result, or its status is"
                    f" not {name}_{expected}"
                ]
    return []
