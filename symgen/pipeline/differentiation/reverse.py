"""Reverse mode: a vector times a Jacobian, by one sweep from the results to the arguments.

The weight of a quantity is its adjoint: the derivative, by this quantity, of the sum of all results
times their given weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import pull_back
from symgen.vocabulary import derivatives


def vjp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """Return the Program of the weights of the arguments `by`, x_bar of x, before any pass.

    It has the weights of all results as additional arguments, y_bar of y. `function` is its name;
    "" keeps the name of `program`.
    """
    draft = Draft(program)
    draft.tape.comment("weight: ", program.steps)
    result_weights: dict[int, int] = {}  # by row; several results may share a row
    for port in program.outputs:
        given_weights = draft.add(derivatives.weight_name(port.name), draft.shape(port))
        for row, weight in draft.element_weights(port, given_weights).items():
            total = draft.tape.plus(result_weights.get(row), weight)
            assert total is not None
            result_weights[row] = total
    argument_indices = [draft.argument_index(name) for name in by]
    weights = pull_back(draft.tape, 0, draft.end, result_weights, draft.elements(argument_indices))
    return draft.program_of(
        function or program.function,
        [
            (
                derivatives.weight_name(name),
                draft.shape(program.inputs[index]),
                draft.argument_weights(index, weights),
            )
            for name, index in zip(by, argument_indices, strict=True)
        ],
    )
