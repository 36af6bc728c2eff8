"""What solves an equation, differentiated by the equation: y(x, b) with G(x, y) = b, as forward dynamics solves inverse dynamics.

G, y and b may be several results and arguments. A b that is always zero is an argument here, and gone in the end.
G_y dy = db − G_x dx, and what b changes y by is the inverse of G_y. So a change of x counts as a change of b by −G_x dx, and the
weights of x are −G_xᵀ times those of b. The sweeps through the elimination then ask for b alone: what it eliminates is not
differentiated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.ir.program import Port, Program
from symgen.pipeline.differentiation import forward, jacobian, reverse
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import pulled, pushed
from symgen.pipeline.differentiation._tape import Number, Numbers
from symgen.vocabulary import derivatives


@dataclass(frozen=True)
class Equation:
    """G(x, y) = b: the Program that gives b, what each y is called among its arguments, by its name as a result of the solution,
    and each b among the arguments of the solution, by its name as a result of G. Its other arguments are those of the solution.
    """

    program: Program
    unknowns: Mapping[str, str]
    rights: Mapping[str, str]
    vanishing: tuple[str, ...] = ()
    """Those b that are always zero."""
    unasked: tuple[str, ...] = ()
    """Those y that are solved for, and are no results in the end."""

    def idle(self, by: Sequence[str]) -> set[str]:
        """Arguments and results of a derivative by these arguments that are gone in the end."""
        named = (
            [
                derivatives.change_name(y),
                derivatives.weight_name(y),
                *(derivatives.derivative_name(y, x) for x in by),
            ]
            for y in self.unasked
        )
        return {*self.vanishing, *(name for names in named for name in names)}

    def of(self, by: Sequence[str]) -> list[str]:
        """Those of some arguments that G depends on."""
        return [name for name in by if name in [port.name for port in self.program.inputs]]


def jvp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `forward.jvp` of what solves the equation."""
    draft = Draft(program)
    steps = {
        derivatives.change_name(name): draft.add(
            derivatives.change_name(name), draft.shape(program.inputs[draft.which(name)])
        )
        for name in by
    }
    moved = forward.jvp(equation.program, equation.of(by))
    spent = _inlined(draft, equation, moved, steps)
    given = [
        steps.get(derivatives.change_name(name), _nothing(draft, name))
        for name in _rights(equation)
    ]
    return draft.program_of(
        function or program.function,
        [
            (derivatives.change_name(port.name), draft.shape(port), change)
            for port, change in zip(
                program.outputs, _solved(draft, equation, given, spent), strict=True
            )
        ],
    )


def vjp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `reverse.vjp`."""
    draft = Draft(program)
    rights = {name: draft.which(name) for name in _rights(equation)}
    draft.tape.comment("weight: ", program.steps)
    seeds: dict[int, int] = {}
    for result in program.outputs:
        for row, weight in draft.weighed(
            result, draft.add(derivatives.weight_name(result.name), draft.shape(result))
        ).items():
            total = draft.tape.plus(seeds.get(row), weight)
            assert total is not None
            seeds[row] = total
    pulls = pulled(draft.tape, 0, draft.end, seeds, draft.elements(rights.values()))
    weights = {name: draft.weighs(which, pulls) for name, which in rights.items()}
    weighing = reverse.vjp(equation.program, equation.of(by))
    spent = {
        derivatives.weight_name(port.name): [
            draft.tape.less(None, one) for one in weights[equation.rights[port.name]]
        ]
        for port in equation.program.outputs
    }
    found = {
        **dict(zip(equation.of(by), _inlined(draft, equation, weighing, spent), strict=True)),
        **weights,
    }
    shapes = {name: draft.shape(program.inputs[draft.which(name)]) for name in by}
    return draft.program_of(
        function or program.function,
        [
            (
                derivatives.weight_name(name),
                shapes[name],
                found.get(name, [None] * Port("", shapes[name]).size),
            )
            for name in by
        ],
    )


def hvp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """As `hessian.hvp`."""
    return forward.jvp(vjp(program, equation, by), by, function)


def by_columns(
    program: Program, equation: Equation, by: Sequence[str], function: str = ""
) -> Program:
    """As `jacobian.by_columns`: each column of G's own Jacobian goes through the elimination."""
    return _column_by_column(
        program, equation, by, function, jacobian.by_columns(equation.program, equation.of(by))
    )


def by_rows(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """The same, of G's own Jacobian by rows."""
    return _column_by_column(
        program, equation, by, function, jacobian.by_rows(equation.program, equation.of(by))
    )


def _column_by_column(
    program: Program, equation: Equation, by: Sequence[str], function: str, own: Program
) -> Program:
    draft = Draft(program)
    inlined = iter(_inlined(draft, equation, own, {}))
    blocks = {
        (right, name): next(inlined) for right in _rights(equation) for name in equation.of(by)
    }
    found: jacobian.Blocks = {}
    for name, _, step in jacobian.steps(draft, by):
        size, k = len(step), next(i for i, one in enumerate(step) if one is not None)
        given = [step if name == right else _nothing(draft, right) for right in _rights(equation)]
        spent = [
            blocks[right, name][k::size] if (right, name) in blocks else _nothing(draft, right)
            for right in _rights(equation)
        ]
        for port, change in zip(
            program.outputs, _solved(draft, equation, given, spent), strict=True
        ):
            block = found.setdefault((port.name, name), [[] for _ in change])
            for row, one in zip(block, change, strict=True):
                row.append(one)
    return draft.program_of(function or program.function, jacobian.laid_out(draft, by, found))


def without(program: Program, names: Collection[str]) -> Program:
    """The Program where these arguments are zero, and no arguments, and these results none."""
    gone = {i for i, port in enumerate(program.inputs) if port.name in names}
    kept = [i for i in range(len(program.inputs)) if i not in gone]
    place = {old: new for new, old in enumerate(kept)}
    rows = [
        row
        if row.op != "input"
        else row._replace(op="const", value=Fraction(0))
        if row.value[0] in gone
        else row._replace(value=(place[row.value[0]], row.value[1]))
        for row in program.rows
    ]
    outputs = tuple(port for port in program.outputs if port.name not in names)
    return replace(
        program, inputs=tuple(program.inputs[i] for i in kept), outputs=outputs, rows=tuple(rows)
    )


def _rights(equation: Equation) -> list[str]:
    """The arguments of the solution that are b, in the order of the results of G."""
    return [equation.rights[port.name] for port in equation.program.outputs]


def _nothing(draft: Draft, name: str) -> Numbers:
    """No change of an argument."""
    return [None] * draft.program.inputs[draft.which(name)].size


def _inlined(
    draft: Draft, equation: Equation, other: Program, supplied: Mapping[str, Sequence[Number]]
) -> list[Numbers]:
    """The results of a derivative of G, at the solution."""
    solution = {port.name: port.rows for port in draft.program.outputs}
    draft.tape.comment("", other.steps)
    return draft.tape.inline(
        other,
        [
            supplied[port.name]
            if port.name in supplied
            else solution[equation.unknowns[port.name]]
            if port.name in equation.unknowns
            else draft.rows(draft.which(port.name))
            for port in other.inputs
        ],
    )


def _solved(
    draft: Draft,
    equation: Equation,
    given: Sequence[Sequence[Number]],
    spent: Sequence[Sequence[Number]],
) -> list[Numbers]:
    """What the results change by when each b changes by `given` − `spent`."""
    draft.tape.comment("change: ", draft.program.steps)
    seeds: dict[int, int] = {}
    for name, more, less in zip(_rights(equation), given, spent, strict=True):
        step = [draft.tape.less(a, b) for a, b in zip(more, less, strict=True)]
        seeds |= draft.changes(draft.which(name), step)
    changes = pushed(draft.tape, draft.end, seeds)
    return [draft.changed(port, changes) for port in draft.program.outputs]
