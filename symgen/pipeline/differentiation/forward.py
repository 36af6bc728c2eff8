"""Forward mode: what the results change by when the arguments change by given numbers, a Jacobian times a vector."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import pushed
from symgen.vocabulary import derivatives


def jvp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """The changes of all results, dy of y, by those of the arguments `by`, dx of x. No pass has run over it."""
    draft = Draft(program)
    draft.tape.comment("change: ", program.steps)
    seeds: dict[int, int] = {}
    for name in by:
        which = draft.which(name)
        seeds |= draft.changes(
            which, draft.add(derivatives.change_name(name), draft.shape(program.inputs[which]))
        )
    changes = pushed(draft.tape, draft.end, seeds)
    return draft.program_of(
        function or program.function,
        [
            (derivatives.change_name(port.name), draft.shape(port), draft.changed(port, changes))
            for port in program.outputs
        ],
    )
