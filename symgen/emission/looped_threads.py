"""Device functions with loops over links: NAME_<function>.cuh.

Each GPU thread computes one state. The loops, tables and steps are those of the C function for one
state. Element k of an argument, a result or the workspace has index k · stride. The stride is a
parameter, so that adjacent threads can access adjacent addresses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symgen.emission import definition, loop_work
from symgen.emission.definition import PrintedFunction, initial_angles
from symgen.emission.language import Language
from symgen.emission.looped import constant_heads, step_heads, tables_and_loops
from symgen.emission.lowering import straight_line
from symgen.emission.lowering.loop_checks import guarded
from symgen.emission.lowering.loop_function import LoopFunction
from symgen.emission.writer import SincosFunction
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Program
from symgen.support.errors import RequestError
from symgen.vocabulary.target import Target

CONSTANT_MEMORY = 65536
"""Size of a GPU's constant memory in bytes. Larger tables are placed in device memory."""


def function(form: LoopProgram, target: Target, language: Language) -> dict[str, Any]:
    """Return the variables of the template `looped.cuh.j2`.

    Raises RequestError for a method that computes the parts of a chain in SIMD lanes, and if the
    comparisons of a checked function cannot be printed.
    """
    if form.part_count:
        raise RequestError(
            f"{form.function} by {form.method} computes several links of one state in SIMD lanes,"
            " which a GPU thread does not have; leave out --wrap cuda, or use another method"
        )
    loops = LoopFunction(guarded(form, target) if target.checked else form, target, threads=True)
    tables, text = tables_and_loops(loops, language)
    size = sum(table.bytes for table in tables)
    return loop_work.prototype(loops.form, target) | {
        "links": len(form),
        "checks": target.checked,
        "uses_sincos": any(initial_angles(step) for step in loops.functions),
        "step_comments": step_heads(loops),
        "constant_comments": constant_heads(form),
        "tables": tables,
        "bytes": size,
        "memory": "constant" if size <= CONSTANT_MEMORY else "device",
        "work": loop_work.work(form, target.checked),
        "steps": [_step_text(loops, step, language) for step in loops.functions],
        "loops": text,
    }


def _step_text(loops: LoopFunction, step: Program, language: Language) -> str:
    """Return the device function of one step; each call computes sine and cosine of one angle."""
    target = loops.target
    unchecked_target = replace(target, text=replace(target.text, checked=False))
    sincos_function = (
        SincosFunction(f"{target.name}_pair", f"{target.name}_sincos")
        if initial_angles(step)
        else None
    )
    printed = PrintedFunction(step, unchecked_target, sincos_function=sincos_function, arrays=True)
    return straight_line.text(definition.function(printed), unchecked_target.name, language)
