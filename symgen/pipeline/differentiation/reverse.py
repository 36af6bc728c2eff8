"""Reverse mode: what each argument weighs when the results have given weights, a vector times a Jacobian."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import pulled
from symgen.vocabulary import derivatives


def vjp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """The weights of the arguments `by`, x_bar of x, by those of all results, y_bar of y. No pass has run over it."""
    draft = Draft(program)
    draft.tape.comment("weight: ", program.steps)
    seeds: dict[int, int] = {}
    for port in program.outputs:
        for r, weight in draft.weighed(
            port, draft.add(derivatives.weight_name(port.name), draft.shape(port))
        ).items():
            total = draft.tape.plus(seeds.get(r), weight)
            assert total is not None
            seeds[r] = total
    wanted = [draft.which(name) for name in by]
    weights = pulled(draft.tape, 0, draft.end, seeds, draft.elements(wanted))
    return draft.program_of(
        function or program.function,
        [
            (
                derivatives.weight_name(name),
                draft.shape(program.inputs[which]),
                draft.weighs(which, weights),
            )
            for name, which in zip(by, wanted, strict=True)
        ],
    )
