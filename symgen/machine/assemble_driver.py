"""Drivers in C that call several functions of a library: `assemble`, which takes steps until the
loops are closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symgen.ir.program import Outline
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING

USUAL_TURNS = 10
"""Typical number of steps from a slightly open pose to a closed one; the cost of a call is
estimated from it.
"""


def with_drivers(functions: Mapping[str, Outline]) -> dict[str, Outline]:
    """Return these functions, and each driver whose functions are among them."""
    driver = assemble_outline(functions)
    return {**functions, ASSEMBLE: driver} if driver else {**functions}


def assemble_outline(functions: Mapping[str, Outline]) -> Outline | None:
    """Return the driver that closes loops; None if functions that it calls are missing."""
    if not all(name in functions for name in ASSEMBLING):
        return None
    step, move = (functions[name] for name in ASSEMBLING)
    operations_per_call = {
        op: USUAL_TURNS * (count + move.operations.get(op, 0))
        for op, count in step.operations.items()
    }
    return replace(
        step,
        function=ASSEMBLE,
        inputs=move.inputs[:1],
        outputs=(move.outputs[0]._replace(name="q_out"),),
        operations=operations_per_call,
        length=USUAL_TURNS * (step.length + move.length),
    )
