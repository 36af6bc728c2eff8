"""Forward mode: the changes of the results for given changes of the arguments, a Jacobian times a
vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.program import Program
from symgen.pipeline.differentiation._draft import Draft
from symgen.pipeline.differentiation._sweeps import push_forward
from symgen.vocabulary import derivatives


def jvp(program: Program, by: Sequence[str], function: str = "") -> Program:
    """Return the changes of all results, dy of y, from those of the arguments `by`, dx of x; before
    any pass.
    """
    draft = Draft(program)
    draft.tape.comment("change: ", program.steps)
    seeds: dict[int, int] = {}
    for name in by:
        index = draft.argument_index(name)
        seeds |= draft.changes(
            index, draft.add(derivatives.change_name(name), draft.shape(program.inputs[index]))
        )
    changes = push_forward(draft.tape, draft.end, seeds)
    return draft.program_of(
        function or program.function,
        [
            (
                derivatives.change_name(port.name),
                draft.shape(port),
                draft.result_changes(port, changes),
            )
            for port in program.outputs
        ],
    )
