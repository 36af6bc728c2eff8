"""Comparisons of a checked loop function: of arguments before the first stage, of angles and
divisors on the way, of results at the end.

A divisor must have at least the magnitude of the smallest normal number, since no certified lower
bound is known for chains of any length. A divisor must be finite as well: a quotient by an infinite
number is zero. The workspace holds all results until they are known to be finite. In lanes each
state has a status of its own, and all results are stored.
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
    """Return the form whose steps also give the numbers that are compared."""
    return forms.with_checked_rows(form, lambda step: _compared_rows(step, target))


def _compared_rows(step: Program, target: Target) -> list[int]:
    """Return the rows of a step that are compared: divisors, and the angles of the text's own sine
    and cosine.
    """
    return sorted({guard.row for guard in _guards(step)} | _angles(step, target))


def _guards(step: Program) -> list[checks.Guard]:
    """Return the divisors of a step, and its operands of logarithms and roots."""
    return sorted(checks.guards(step, live_rows(step), {}), key=lambda guard: guard.row)


def _angles(step: Program, target: Target) -> set[int]:
    """Return the angles of a step that must be in the range of the text's own sine and cosine."""
    return {*checks.angles(step, live_rows(step))} if target.text.trig == "inline" else set()


@dataclass(frozen=True)
class Status:
    """The status that a function keeps: a number, or one for each lane of a vector."""

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
        """Set the status whose condition holds, the first one of several; in lanes, only of a lane
        without another status.
        """
        if self.in_lanes:
            return [self._refuse_lane(name, condition) for name, condition in fails.items()]
        chosen: tuple[Statement, ...] | If = ()
        for name, condition in reversed([*fails.items()]):
            chosen = If(condition, (Assign(self.value, self.macro(name)),), chosen)
        return [chosen] if isinstance(chosen, If) else []

    def _refuse_lane(self, name: str, fails: Value) -> Statement:
        """Set the status of one lane where a condition fails."""
        test = expression(f"(({{}} == {self.macro('OK')}) && {{}})", self.value, fails)
        return Assign(self.value, expression(f"{{}} ? {self.macro(name)} : {{}}", test, self.value))


def status_of(loops: LoopFunction) -> Status:
    """Return where a loop function keeps its status."""
    return Status(loops.target, loops.real, loops.lanes > 0)


# -- arguments and results -------------------------------------------------------------------------


def zeros(loops: LoopFunction) -> str:
    """Return the local for a sum of zeros."""
    return "none_" if loops.lanes else "none"


def check_arguments(loops: LoopFunction) -> list[Statement]:
    """Set the status where the workspace is too small, an argument is not finite, or a quaternion
    is not of length 1.
    """
    arrays = [(loops.ports[port.name], 0, port.size) for port in loops.form.inputs]
    sums, is_not_finite = _sum_zeros(loops, arrays, "arguments")
    units = _unit_quaternions(loops)
    ok, not_finite, not_unit, too_small = map(
        loops.status, ("OK", "NOT_FINITE", "NOT_UNIT", "NO_WORK")
    )
    if loops.lanes:
        otherwise: Value = ("!(", units, f") ? {not_unit} :\n    {ok}") if units else ok
        verdict = expression(f"{{}} ? {not_finite} :\n    {{}}", is_not_finite, otherwise)
        return [Blank(), *sums, Assign(loops.lane_of(STATUS), verdict)]
    compare_units = (If(("!(", units, ")"), (Assign(STATUS, not_unit),)),) if units else ()
    compare = (*sums, If(is_not_finite, (Assign(STATUS, not_finite),), compare_units))
    if loops.threads:
        return [Blank(), Block(compare)]
    is_too_small = f"{SIZE} < {loops.needed_size}"
    return [Blank(), If(is_too_small, (Assign(STATUS, too_small),), compare)]


def check_results(loops: LoopFunction) -> list[Statement]:
    """Set the status where a result is not finite; of one state, store the results where all are
    finite.
    """
    arrays = [
        (
            WORK if loops.result_places else loops.ports[p.name],
            loops.result_places.get(p.name, 0),
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
    """Add up zero times each element of arrays; return the statements, and the condition that an
    element is not finite.

    An array is a name, its first element, and the number of its elements.
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
    """Return the array for the numbers of a step that are compared, and the comparisons that follow
    the step's call.

    `user` is the step that divides by these numbers. Only lanes where the condition `only_where`
    holds are compared. Both lists are empty for a step without such numbers.
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
    declared = Declare(real.name, CHECKED, size=(len(rows),))
    only = ("(", only_where, ") && ") if only_where else ()
    fails: dict[str, Value] = {
        name: (*only, "!(", All(tuple(conditions), 16), ")")
        for name, conditions in (("OUT_OF_RANGE", ranges), ("DIVISOR", divisors))
        if conditions
    }
    return [declared], status.refuse_where(fails)
