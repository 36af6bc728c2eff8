"""Implicit differentiation of a solution y(x, b) of G(x, y) = b, as forward dynamics solves inverse
dynamics.

G, y and b may be several results and arguments. A b that is always zero is an argument during the
differentiation, and is removed at the end. G_y dy = db − G_x dx, and b changes y by the inverse of
G_y. So a change of x counts as a change −G_x dx of b, and the weights of x are −G_xᵀ times those of
b. The sweeps through the elimination then differentiate by b only, not by the matrix that is
eliminated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.ir.program import Port, Program
from symgen.pipeline.differentiation import forward, jacobian, reverse
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import pull_back, push_forward
from symgen.pipeline.differentiation._tape import Number, Numbers
from symgen.vocabulary import derivatives


@dataclass(frozen=True)
class Equation:
    """The equation G(x, y) = b of a solution.

    `program` computes b. `unknowns` maps each y as an argument of G to the result of the solution;
    `rights` maps each b as a result of G to the argument of the solution. All other arguments of G
    are arguments of the solution.
    """

    program: Program
    unknowns: Mapping[str, str]
    rights: Mapping[str, str]
    vanishing: tuple[str, ...] = ()
    """The b that are always zero."""
    unasked: tuple[str, ...] = ()
    """The y that are solved for but are not results of the function."""

    def idle(self, by: Sequence[str]) -> set[str]:
        """Return the arguments and results of a derivative by these arguments that are removed at
        the end.
        """
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
        """Return the arguments among `by` that G depends on."""
        return [name for name in by if name in [port.name for port in self.program.inputs]]


def jvp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """Return `forward.jvp` of the solution."""
    draft = Draft(program)
    steps = {
        derivatives.change_name(name): draft.add(
            derivatives.change_name(name), draft.shape(program.inputs[draft.argument_index(name)])
        )
        for name in by
    }
    equation_changes = forward.jvp(equation.program, equation.of(by))
    state_terms = _inline_at_solution(draft, equation, equation_changes, steps)
    right_changes = [
        steps.get(derivatives.change_name(name), _zero_change(draft, name))
        for name in _rights(equation)
    ]
    return draft.program_of(
        function or program.function,
        [
            (derivatives.change_name(port.name), draft.shape(port), change)
            for port, change in zip(
                program.outputs,
                _solution_changes(draft, equation, right_changes, state_terms),
                strict=True,
            )
        ],
    )


def vjp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """Return `reverse.vjp` of the solution."""
    draft = Draft(program)
    rights = {name: draft.argument_index(name) for name in _rights(equation)}
    draft.tape.comment("weight: ", program.steps)
    seeds: dict[int, int] = {}
    for result in program.outputs:
        for row, weight in draft.element_weights(
            result, draft.add(derivatives.weight_name(result.name), draft.shape(result))
        ).items():
            total = draft.tape.plus(seeds.get(row), weight)
            assert total is not None
            seeds[row] = total
    pulls = pull_back(draft.tape, 0, draft.end, seeds, draft.elements(rights.values()))
    weights = {name: draft.argument_weights(argument, pulls) for name, argument in rights.items()}
    equation_weights = reverse.vjp(equation.program, equation.of(by))
    negated = {
        derivatives.weight_name(port.name): [
            draft.tape.less(None, weight_of_right)
            for weight_of_right in weights[equation.rights[port.name]]
        ]
        for port in equation.program.outputs
    }
    all_weights = {
        **dict(
            zip(
                equation.of(by),
                _inline_at_solution(draft, equation, equation_weights, negated),
                strict=True,
            )
        ),
        **weights,
    }
    shapes = {name: draft.shape(program.inputs[draft.argument_index(name)]) for name in by}
    return draft.program_of(
        function or program.function,
        [
            (
                derivatives.weight_name(name),
                shapes[name],
                all_weights.get(name, [None] * Port("", shapes[name]).size),
            )
            for name in by
        ],
    )


def hvp(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """Return `hessian.hvp` of the solution."""
    return forward.jvp(vjp(program, equation, by), by, function)


def by_columns(
    program: Program, equation: Equation, by: Sequence[str], function: str = ""
) -> Program:
    """Return `jacobian.by_columns` of the solution: each column of G's own Jacobian goes through
    the elimination.
    """
    return _column_by_column(
        program, equation, by, function, jacobian.by_columns(equation.program, equation.of(by))
    )


def by_rows(program: Program, equation: Equation, by: Sequence[str], function: str = "") -> Program:
    """Return the Jacobian of the solution, with G's own Jacobian by rows."""
    return _column_by_column(
        program, equation, by, function, jacobian.by_rows(equation.program, equation.of(by))
    )


def _column_by_column(
    program: Program,
    equation: Equation,
    by: Sequence[str],
    function: str,
    equation_jacobian: Program,
) -> Program:
    """Return the Jacobian of the solution from G's own Jacobian, column by column."""
    draft = Draft(program)
    inlined = iter(_inline_at_solution(draft, equation, equation_jacobian, {}))
    blocks = {
        (right, name): next(inlined) for right in _rights(equation) for name in equation.of(by)
    }
    blocks_of_results: jacobian.Blocks = {}
    for name, _, step in jacobian.steps(draft, by):
        size, k = len(step), next(i for i, entry in enumerate(step) if entry is not None)
        right_changes = [
            step if name == right else _zero_change(draft, right) for right in _rights(equation)
        ]
        state_terms = [
            blocks[right, name][k::size] if (right, name) in blocks else _zero_change(draft, right)
            for right in _rights(equation)
        ]
        for port, change in zip(
            program.outputs,
            _solution_changes(draft, equation, right_changes, state_terms),
            strict=True,
        ):
            block = blocks_of_results.setdefault((port.name, name), [[] for _ in change])
            for row, entry in zip(block, change, strict=True):
                row.append(entry)
    return draft.program_of(
        function or program.function, jacobian.ordered_results(draft, by, blocks_of_results)
    )


def without(program: Program, names: Collection[str]) -> Program:
    """Return the Program with these arguments set to zero and removed, without these results."""
    removed = {i for i, port in enumerate(program.inputs) if port.name in names}
    remaining_inputs = [i for i in range(len(program.inputs)) if i not in removed]
    new_index = {old: new for new, old in enumerate(remaining_inputs)}
    rows = [
        row
        if row.op != "input"
        else row._replace(op="const", value=Fraction(0))
        if row.value[0] in removed
        else row._replace(value=(new_index[row.value[0]], row.value[1]))
        for row in program.rows
    ]
    outputs = tuple(port for port in program.outputs if port.name not in names)
    return replace(
        program,
        inputs=tuple(program.inputs[i] for i in remaining_inputs),
        outputs=outputs,
        rows=tuple(rows),
    )


def _rights(equation: Equation) -> list[str]:
    """Return the arguments of the solution that are b, in the order of the results of G."""
    return [equation.rights[port.name] for port in equation.program.outputs]


def _zero_change(draft: Draft, name: str) -> Numbers:
    """Return zero changes of an argument."""
    return [None] * draft.program.inputs[draft.argument_index(name)].size


def _inline_at_solution(
    draft: Draft,
    equation: Equation,
    derivative_of_equation: Program,
    supplied: Mapping[str, Sequence[Number]],
) -> list[Numbers]:
    """Return the results of a derivative of G, at the solution."""
    solution = {port.name: port.rows for port in draft.program.outputs}
    draft.tape.comment("", derivative_of_equation.steps)
    return draft.tape.inline(
        derivative_of_equation,
        [
            supplied[port.name]
            if port.name in supplied
            else solution[equation.unknowns[port.name]]
            if port.name in equation.unknowns
            else draft.rows(draft.argument_index(port.name))
            for port in derivative_of_equation.inputs
        ],
    )


def _solution_changes(
    draft: Draft,
    equation: Equation,
    changes_of_right: Sequence[Sequence[Number]],
    state_terms: Sequence[Sequence[Number]],
) -> list[Numbers]:
    """Return changes of the results when each b changes by `changes_of_right` − `state_terms`."""
    draft.tape.comment("change: ", draft.program.steps)
    seeds: dict[int, int] = {}
    for name, right_change, state_term in zip(
        _rights(equation), changes_of_right, state_terms, strict=True
    ):
        step = [draft.tape.less(a, b) for a, b in zip(right_change, state_term, strict=True)]
        seeds |= draft.changes(draft.argument_index(name), step)
    changes = push_forward(draft.tape, draft.end, seeds)
    return [draft.result_changes(port, changes) for port in draft.program.outputs]
