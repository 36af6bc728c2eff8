"""A loop over links for a thread of a GPU: NAME_<function>.cuh, where each thread goes along the links of a state of its own.

The sweeps, tables and steps are those of the function of one state. Element k of an argument, a result or the workspace is as
many numbers behind the first one as a parameter says, times k: neighbouring threads read neighbouring numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symgen.emission import definition, loop_work
from symgen.emission.definition import PrintedFunction, early
from symgen.emission.language import Language
from symgen.emission.looped import constant_heads, step_heads, tables_and_loops
from symgen.emission.lowering import straight_line
from symgen.emission.lowering.loop_checks import guarded
from symgen.emission.lowering.loop_function import LoopFunction
from symgen.emission.writer import Turn
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Program
from symgen.support.errors import RequestError
from symgen.vocabulary.target import Target

CONSTANT_MEMORY = 65536
"""Bytes of a GPU's constant memory, in which tables stand that it can hold."""


def function(form: LoopProgram, target: Target, language: Language) -> dict[str, Any]:
    """Return the facts of the template `looped.cuh.j2`; RequestError for a chain in parts, or where it cannot be checked."""
    if form.part_count:
        raise RequestError(
            f"{form.function} by {form.method} has the links of one state in the lanes of a processor, and a thread of a "
            "GPU has none; leave out --wrap cuda, or take another method"
        )
    loops = LoopFunction(guarded(form, target) if target.checked else form, target, threads=True)
    tables, text = tables_and_loops(loops, language)
    size = sum(table.bytes for table in tables)
    return loop_work.prototype(loops.form, target) | {
        "links": len(form),
        "checks": target.checked,
        "turns": any(early(step) for step in loops.functions),
        "told": step_heads(loops),
        "numbers": constant_heads(form),
        "tables": tables,
        "bytes": size,
        "memory": "constant" if size <= CONSTANT_MEMORY else "device",
        "work": loop_work.work(form, target.checked),
        "steps": [_step_text(loops, step, language) for step in loops.functions],
        "loops": text,
    }


def _step_text(loops: LoopFunction, step: Program, language: Language) -> str:
    """Return the function of a step, which takes its sines one angle after the other."""
    target = loops.target
    plain = replace(target, text=replace(target.text, checked=False))
    turn = Turn(f"{target.name}_pair", f"{target.name}_sincos") if early(step) else None
    printed = PrintedFunction(step, plain, turn=turn, arrays=True)
    return straight_line.text(definition.function(printed), plain.name, language)
