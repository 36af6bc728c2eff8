"""What solves an equation, differentiated by the equation: y(x, b) with G(x, y) = b, as forward dynamics solves inverse dynamics.

G_y dy = db − G_x dx, and what b changes y by is the inverse of G_y. So a change of x counts as a change of b by −G_x dx, and the
weights of x are −G_xᵀ times those of b. The sweeps through the elimination then ask for b alone: what it eliminates is not
differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from symgen import derivatives
from symgen.differentiation import forward, jacobian, reverse
from symgen.differentiation._draft import Draft
from symgen.differentiation._sweeps import pulled, pushed
from symgen.differentiation._tape import Number, Numbers
from symgen.ir import Port, Program


@dataclass(frozen=True)
class Equation:
    """G(x, y) = b: the Program that gives b, and what y and b are called. Its other arguments are those of the solution."""

    program: Program
    unknown: str
    right: str

    def of(self, by: Sequence[str]) -> list[str]:
        """Those of some arguments that G depends on."""
        return [name for name in by if name in [port.name for port in self.program.inputs]]


def jvp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `forward.jvp` of what solves the equation."""
    draft, right = Draft(program), program.inputs[_right(program, equation)]
    steps = {derivatives.change(name): draft.add(derivatives.change(name), draft.shape(program.inputs[draft.which(name)]))
             for name in by}
    moved = forward.jvp(equation.program, equation.of(by))
    (spent,) = _inlined(draft, equation, moved, steps)
    given = steps.get(derivatives.change(right.name), [None] * right.size)
    return draft.program_of(function or program.function, [
        (derivatives.change(port.name), draft.shape(port), change)
        for port, change in zip(program.outputs, _solved(draft, equation, given, spent), strict=True)])


def vjp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `reverse.vjp`."""
    draft, right = Draft(program), _right(program, equation)
    draft.tape.comment("weight: ", program.steps)
    (result,) = program.outputs
    seeds = draft.weighed(result, draft.add(derivatives.weight(result.name), draft.shape(result)))
    weights = draft.weighs(right, pulled(draft.tape, 0, draft.end, seeds, draft.elements([right])))
    weighing = reverse.vjp(equation.program, equation.of(by))
    spent = [draft.tape.less(None, one) for one in weights]
    inlined = _inlined(draft, equation, weighing, {derivatives.weight(equation.right): spent})
    found = {**dict(zip(equation.of(by), inlined, strict=True)), equation.right: weights}
    shapes = {name: draft.shape(program.inputs[draft.which(name)]) for name in by}
    return draft.program_of(function or program.function, [
        (derivatives.weight(name), shapes[name], found.get(name, [None] * Port("", shapes[name]).size)) for name in by])


def hvp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `hessian.hvp`."""
    return forward.jvp(vjp(program, equation, by), by, function)


def by_columns(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `jacobian.by_columns`: each column of G's own Jacobian goes through the elimination."""
    return _column_by_column(program, equation, by, function, jacobian.by_columns(equation.program, equation.of(by)))


def by_rows(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """The same, of G's own Jacobian by rows."""
    return _column_by_column(program, equation, by, function, jacobian.by_rows(equation.program, equation.of(by)))


def _column_by_column(program: Program, equation: Equation, by: Sequence[str], function: str, own: Program) -> Program:
    draft = Draft(program)
    blocks = dict(zip(equation.of(by), _inlined(draft, equation, own, {}), strict=True))
    found: jacobian.Blocks = {}
    for name, _, step in jacobian.steps(draft, by):
        size, k = len(step), next(i for i, one in enumerate(step) if one is not None)
        spent: Numbers = [None] * draft.program.inputs[_right(program, equation)].size
        given = spent
        if name == equation.right:
            given = step
        elif name in blocks:
            spent = blocks[name][k::size]
        for port, change in zip(program.outputs, _solved(draft, equation, given, spent), strict=True):
            block = found.setdefault((port.name, name), [[] for _ in change])
            for row, one in zip(block, change, strict=True):
                row.append(one)
    return draft.program_of(function or program.function, jacobian.laid_out(draft, by, found))


def _right(program: Program, equation: Equation) -> int:
    return next(i for i, port in enumerate(program.inputs) if port.name == equation.right)


def _inlined(draft: Draft, equation: Equation, other: Program, supplied: Mapping[str, Sequence[Number]]) -> list[Numbers]:
    """The results of a derivative of G, at the solution."""
    solution = {port.name: port.rows for port in draft.program.outputs}
    draft.tape.comment("", other.steps)
    return draft.tape.inline(other, [
        supplied[port.name] if port.name in supplied else
        solution[port.name] if port.name == equation.unknown else draft.rows(draft.which(port.name)) for port in other.inputs])


def _solved(draft: Draft, equation: Equation, given: Sequence[Number], spent: Sequence[Number]) -> list[Numbers]:
    """What the results change by when b changes by `given` − `spent`."""
    draft.tape.comment("change: ", draft.program.steps)
    right = _right(draft.program, equation)
    step = [draft.tape.less(a, b) for a, b in zip(given, spent, strict=True)]
    changes = pushed(draft.tape, draft.end, draft.changes(right, step))
    return [draft.changed(port, changes) for port in draft.program.outputs]
