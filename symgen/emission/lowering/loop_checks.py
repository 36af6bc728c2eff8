"""Comparisons of a checked loop function.

It compares arguments before the first stage, angles and divisors after the step that computes them,
and results after the last stage. The magnitude of a divisor must be at least the smallest normal
number, because there is no certified lower bound for chains of any length. A divisor must also be
finite: a quotient by an infinite number would be zero. The workspace has the results until all are
found to be finite. In lanes each state has its own status, and all results are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.emission import checks, sincos
from symgen.emission.c_text import C
from symgen.emission.loop_work import SIZE
from symgen.emission.lowering.loop_function import LINK, STATUS, LoopFunction
from symgen.emission.statements import (
    LANE,
    All,
    Assign,
    Blank,
    Block,
    Declare,
    Element,
    For,
    If,
    Statement,
    Value,
    expression,
)
from symgen.emission.writer import live_rows
from symgen.ir import loops as forms
from symgen.ir.loops import CHECKED, WORK, LoopProgram
from symgen.ir.program import POSITIONS, Program
from symgen.vocabulary.reals import Real
from symgen.vocabulary.target import Target


def guarded(form: LoopProgram, target: Target) -> LoopProgram:
    """Return the form with steps that also return the numbers that are compared."""
    return forms.with_checked_rows(form, lambda step: _compared_rows(step, target))


def _compared_rows(step: Program, target: Target) -> list[int]:
    """Return the rows of a step that are compared: guarded rows, and angles of inline sines."""
    return sorted({guard.row for guard in _guards(step)} | _angles(step, target))


def _guards(step: Program) -> list[checks.Guard]:
    """Return the guards of a step's divisors and operands of logarithms and roots."""
    return sorted(checks.guards(step, live_rows(step), {}), key=lambda guard: guard.row)


def _angles(step: Program, target: Target) -> set[int]:
    """Return the angles of a step that must be in the range of the inline sine and cosine."""
    return {*checks.angles(step, live_rows(step))} if target.text.trig == "inline" else set()


@dataclass(frozen=True)
class Status:
    """Status of a function: one number, or an array with one number for each lane."""

    target: Target
    real: Real
    in_lanes: bool

    @property
    def value(self) -> Value:
        """The status of the state, or of one lane."""
        return Element(STATUS, LANE) if self.in_lanes else STATUS

    def macro(self, name: str) -> str:
        """Return the macro of a status."""
        return f"{self.target.name}_{name}"

    def refuse_where(self, fails: Mapping[str, Value]) -> list[Statement]:
        """Return statements that set the status to the first one whose condition in `fails` holds.

        A lane that is already refused keeps its status.
        """
        if self.in_lanes:
            return [self._refuse_lane(name, condition) for name, condition in fails.items()]
        branches: tuple[Statement, ...] | If = ()
        for name, condition in reversed([*fails.items()]):
            branches = If(condition, (Assign(self.value, self.macro(name)),), branches)
        return [branches] if isinstance(branches, If) else []

    def _refuse_lane(self, name: str, fails: Value) -> Statement:
        """Return the statement that sets the status of one lane if the condition `fails` holds."""
        test = expression(f"(({{}} == {self.macro('OK')}) && {{}})", self.value, fails)
        return Assign(self.value, expression(f"{{}} ? {self.macro(name)} : {{}}", test, self.value))


def status_of(loops: LoopFunction) -> Status:
    """Return the status of a loop function."""
    return Status(loops.target, loops.real, loops.lanes > 0)


# -- arguments and results -------------------------------------------------------------------------


def zeros(loops: LoopFunction) -> str:
    """Return the name of the local for the sum of zero times each number."""
    return "none_" if loops.lanes else "none"


def check_arguments(loops: LoopFunction) -> list[Statement]:
    """Return the statements that check the size of the workspace and the arguments.

    Arguments must be finite, and quaternions must have length 1.
    """
    arrays = [(loops.ports[port.name], 0, port.size) for port in loops.form.inputs]
    sums, is_not_finite = _sum_zeros(loops, arrays, "arguments")
    units = _unit_quaternions(loops)
    ok, not_finite, not_unit, too_small = map(
        loops.status, ("OK", "NOT_FINITE", "NOT_UNIT", "NO_WORK")
    )
    if loops.lanes:
        if_finite: Value = ("!(", units, f") ? {not_unit} :\n    {ok}") if units else ok
        status = expression(f"{{}} ? {not_finite} :\n    {{}}", is_not_finite, if_finite)
        return [Blank(), *sums, Assign(loops.lane_of(STATUS), status)]
    compare_units = (If(("!(", units, ")"), (Assign(STATUS, not_unit),)),) if units else ()
    compare = (*sums, If(is_not_finite, (Assign(STATUS, not_finite),), compare_units))
    if loops.threads:
        return [Blank(), Block(compare)]
    is_too_small = f"{SIZE} < {loops.needed_size}"
    return [Blank(), If(is_too_small, (Assign(STATUS, too_small),), compare)]


def check_results(loops: LoopFunction) -> list[Statement]:
    """Return the statements that check whether all results are finite.

    The function for one state then stores the results if its status is OK.
    """
    arrays = [
        (
            WORK if loops.result_offsets else loops.ports[p.name],
            loops.result_offsets.get(p.name, 0),
            p.size,
        )
        for p in loops.form.outputs
    ]
    sums, is_not_finite = _sum_zeros(loops, arrays, "results")
    compare = (*sums, *status_of(loops).refuse_where({"RESULT_NOT_FINITE": is_not_finite}))
    if loops.lanes:
        return [Blank(), *compare]
    statements: list[Statement] = [Blank(), If(loops.is_ok, compare)]
    for port, (array, first, size) in zip(loops.form.outputs, arrays, strict=True):
        store = Assign(Element(loops.ports[port.name], LINK), Element(array, f"{first} + {LINK}"))
        statements += [Blank(), For(LINK, 0, size - 1, (store,), 1, True, loops.is_ok)]
    return statements


def _sum_zeros(
    loops: LoopFunction, arrays: Sequence[tuple[str, int, int]], array_kind: str
) -> tuple[list[Statement], Value]:
    """Return the statements that add zero times each element of arrays, and the condition that an
    element is not finite.

    An array consists of a name, the index of its first element, and the number of elements.
    """
    total, zero = loops.lane_of(zeros(loops)), loops.zero
    comment = f"zero if all {array_kind} are finite, else NaN"
    sums: list[Statement] = [Declare(loops.form.real, zeros(loops), zero, comment=comment)]
    if loops.lanes:
        sums = [Assign(total, zero, comment=comment if array_kind == "results" else "")]
    for name, first, size in arrays:
        element = Element(name, f"{first} + {LINK}" if first else LINK)
        term = Assign(total, expression("{} + ({}*{})", total, zero, element))
        sums += [For(LINK, 0, size - 1, (term,), inclusive=True)] if size else []
    return sums, expression("!({} >= {})", total, zero)


def _unit_quaternions(loops: LoopFunction) -> All | None:
    """Return the condition that all quaternions have length 1; None without quaternions."""
    unit = C.literal(Fraction(1), loops.real)
    tolerance = C.literal(checks.LENGTH[loops.form.real], loops.real)
    squares = " + ".join(["({}*{})"] * 4)
    pattern = f"{C.call('fabs', loops.real)}({squares} - {unit}) <= {tolerance}"
    conditions = []
    for port in loops.form.inputs:
        for first in loops.form.quaternions if port.name in POSITIONS else ():
            entries = [Element(loops.ports[port.name], str(first + k // 2)) for k in range(8)]
            conditions.append(expression(pattern, *entries))
    return All(tuple(conditions), 12) if conditions else None


# -- divisors and angles ---------------------------------------------------------------------------


def check_step(
    status: Status, step: Program, user: Program, only_where: Value = ""
) -> tuple[list[Statement], list[Statement]]:
    """Return the array of the numbers that are compared, and the comparisons after the step's call.

    `user` is the step that divides by these numbers. Lanes in which the condition `only_where` does
    not hold are not compared. Both lists are empty for a step without such numbers.
    """
    rows = next((port.rows for port in step.outputs if port.name == CHECKED), ())
    if not rows:
        return [], []
    real, angles = status.real, _angles(user, status.target)
    guards = {guard.row: guard for guard in _guards(user)}
    zero, magnitude = C.literal(Fraction(0), real), f"{C.call('fabs', real)}({{}})"
    ranges: list[Value] = []
    divisors: list[Value] = []
    for k, row in enumerate(rows):
        number = Element(CHECKED, str(k))
        if row in angles:
            limit = C.literal(Fraction(sincos.RANGE), real)
            ranges.append(expression(f"{magnitude} <= {limit}", number))
        if row in guards:
            bound = guards[row].bound
            assert isinstance(bound, Fraction)
            pattern = f"{magnitude if guards[row].magnitude else '{}'} >= {{}}"
            divisors.append(expression(pattern, number, C.literal(bound, real)))
            divisors.append(expression(f"({zero}*{{}}) >= {zero}", number))
    declaration = Declare(real.name, CHECKED, size=(len(rows),))
    restriction = ("(", only_where, ") && ") if only_where else ()
    fails: dict[str, Value] = {
        name: (*restriction, "!(", All(tuple(conditions), 16), ")")
        for name, conditions in (("OUT_OF_RANGE", ranges), ("DIVISOR", divisors))
        if conditions
    }
    return [declaration], status.refuse_where(fails)
