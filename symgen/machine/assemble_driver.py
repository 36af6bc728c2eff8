"""What goes round functions of a library in C, as its callers see it: `assemble`, which takes steps until loops are closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symgen.ir.program import Outline
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING

USUAL_TURNS = 10
"""Steps from a pose that is a little open until nothing is gained: what a call takes is reckoned by them."""


def with_drivers(functions: Mapping[str, Outline]) -> dict[str, Outline]:
    """These functions, and each driver whose functions are among them."""
    driver = assembling(functions)
    return {**functions, ASSEMBLE: driver} if driver else {**functions}


def assembling(functions: Mapping[str, Outline]) -> Outline | None:
    """The driver that closes loops; None where functions that it calls are missing."""
    if not all(name in functions for name in ASSEMBLING):
        return None
    step, move = (functions[name] for name in ASSEMBLING)
    each = {
        op: USUAL_TURNS * (count + move.operations.get(op, 0))
        for op, count in step.operations.items()
    }
    return replace(
        step,
        function=ASSEMBLE,
        inputs=move.inputs[:1],
        outputs=(move.outputs[0]._replace(name="q_out"),),
        operations=each,
        length=USUAL_TURNS * (step.length + move.length),
    )
