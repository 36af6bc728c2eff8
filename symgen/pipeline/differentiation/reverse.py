"""Reverse mode: the weights of the arguments for given weights of the results, a vector times a
Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import pull_back
from symgen.vocabulary import derivatives


def vjp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """Return the weights of the arguments `by`, x_bar of x, from those of all results, y_bar of y;
    before any pass.
    """
    draft = Draft(program)
    draft.tape.comment("weight: ", program.steps)
    seeds: dict[int, int] = {}
    for port in program.outputs:
        for r, weight in draft.element_weights(
            port, draft.add(derivatives.weight_name(port.name), draft.shape(port))
        ).items():
            total = draft.tape.plus(seeds.get(r), weight)
            assert total is not None
            seeds[r] = total
    argument_indices = [draft.argument_index(name) for name in by]
    weights = pull_back(draft.tape, 0, draft.end, seeds, draft.elements(argument_indices))
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
