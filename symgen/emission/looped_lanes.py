"""Batch functions with loops over links: NAME_<function>_batch.c.

Each state of a block is one lane of a vector. The sweeps and tables are those of the function for
one state. A step is a loop over lanes (`lanes`) with the operations of the step for one state, in
the same order. The workspace has the states of a block, the carries of a tree and the saved values
of the links; element k of lane l is x[k][l].
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symgen.emission import lanes as _lanes
from symgen.emission import loop_work, parted
from symgen.emission.blocks import blocks
from symgen.emission.definition import angles_together, calls, parameters
from symgen.emission.lane_steps import angles, lane_step
from symgen.emission.looped import step_heads, tables_and_loops
from symgen.emission.lowering.lane_function import Vectors
from symgen.emission.lowering.lane_function import text as lane_text
from symgen.emission.lowering.loop_checks import guarded
from symgen.emission.lowering.loop_function import LoopFunction
from symgen.ir.loops import CONSTANTS, LoopProgram
from symgen.ir.program import Program
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def work(form: LoopProgram) -> int:
    """Return the size of the workspace.

    It has the arguments, the results and the workspace of each state of a block.
    """
    ports = (*form.inputs, *form.outputs)
    numbers = sum(port.size for port in ports) + loop_work.work(form)
    return _lanes.lanes(form.real) * numbers


def function(form: LoopProgram, target: Target) -> dict[str, Any]:
    """Return the facts of the template `looped_batch.c.j2`."""
    lanes, real = _lanes.lanes(form.real), REALS[form.real]
    facts = parted.block(form, target) if form.part_count else _block(form, target)
    steps = facts["steps"]
    angle_count = angles(steps, lanes, form.real)
    arrays, names = _lanes.driver(form, parameters(form, target))
    offset = lanes * loop_work.work(form)
    for array in arrays:
        array["offset"] = offset
        offset += lanes * int(array["count"])
    vectors = Vectors(form.real, lanes, target.name, calls(form.real, target))
    return (
        loop_work.prototype(form, target)
        | facts
        | {
            "parameters": arrays,
            "driver": names,
            "needs": work(form),
            "count": len(form),
            "stack": real.size * lanes * facts["local"] + max(step["bytes"] for step in steps),
            "checks": target.checked,
            "uses_sincos": any(step["uses_sincos"] for step in steps),
            "uses_sincos_loop": any(step["uses_sincos_loop"] for step in steps),
            "angles": angle_count,
            "step_functions": lane_text(vectors.steps(steps, target.symbol(form.function))),
        }
    )


def _block(form: LoopProgram, target: Target) -> dict[str, Any]:
    """Return the facts of the function of a block of states, for a form without parts.

    `local` is the number of elements of local arrays for one state.
    """
    loops = LoopFunction(
        guarded(form, target) if target.checked else form, target, _lanes.lanes(form.real)
    )
    unchecked_target = replace(target, text=replace(target.text, checked=False))
    steps = [
        lane_step(step, unchecked_target, "", (CONSTANTS,), _uses_sincos_loop(loops, step))
        for step in loops.functions
    ]
    tables, block = tables_and_loops(loops)
    return {
        "steps": steps,
        "step_comments": step_heads(loops),
        "arrays": tables,
        "block": block,
        "local": _local_numbers(loops),
    }


def _local_numbers(loops: LoopFunction) -> int:
    """Return the number of elements of local arrays for one state.

    The local arrays are the two halves of each carry, and the columns of a joint.
    """
    form = loops.form
    columns = [rows * kind.nv for _, rows in form.columns for kind in form.link_classes]
    return sum(2 * len(sweep.initial) for sweep in form.sweeps) + max(columns, default=0)


def _uses_sincos_loop(loops: LoopFunction, program: Program) -> bool:
    """Return True if NAME_sincos.h computes the sines of the step in the function for one state.

    Lanes and the function for one state then have the same bits.
    """
    if angles_together(program):
        return True
    sweeps = [s for (s, _), step in loops.steps.items() if step is program]
    return any(blocks(loops.form, s, loops.target) for s in sweeps)
