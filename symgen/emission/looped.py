"""Functions with loops over links: NAME_<function>.c.

The file has a static function for each step, tables, and the loops that call the steps. The length
of the text, except for the tables, does not depend on the number of links. The workspace has the
saved values of the links, and the carries of a tree. The carry along a chain is a local array.

In a chain whose links are of one class, the number of a link is the index of its constants and
elements. Otherwise tables have the class of a link, its row in the constants of the class, its
first elements and its parent. The first carry of a tree is that of the base; the carry of link i
has index i + 1.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace

from symgen.emission import definition, render
from symgen.emission.c_text import WIDTH, C
from symgen.emission.language import Language
from symgen.emission.loop_work import may_alias, prototype, work
from symgen.emission.lowering import straight_line
from symgen.emission.lowering.loop_checks import guarded
from symgen.emission.lowering.loop_function import BASE, LoopFunction
from symgen.emission.lowering.loop_tables import Table
from symgen.emission.lowering.sweep import lower
from symgen.emission.print import write
from symgen.emission.statements import check
from symgen.ir.loops import FRAMES, LoopProgram
from symgen.ir.ports import operations_text
from symgen.ir.program import Program
from symgen.vocabulary.target import Target

__all__ = ["may_alias", "prototype", "source", "tables_and_loops", "work"]


def source(form: LoopProgram, target: Target) -> str:
    """Return the text of NAME_<function>.c. Raises RequestError if the form cannot be checked."""
    loops = LoopFunction(guarded(form, target) if target.checked else form, target)
    tables, function = tables_and_loops(loops)
    return render(
        "c99",
        "looped.c.j2",
        **target.context,
        **prototype(loops.form, target)
        | {
            "count": len(form),
            "uses_sincos": definition.uses_sincos(loops.form, target),
            "angles": loops.angle_count,
            "step_comments": step_heads(loops),
            "constant_comments": constant_heads(form),
            "arrays": tables,
            "bytes": sum(table.bytes for table in tables),
            "work_size": work(form, target.checked),
            "steps": [_step_text(loops, step) for step in loops.functions],
            "loops": function,
        },
    )


def tables_and_loops(loops: LoopFunction, language: Language = C) -> tuple[list[Table], str]:
    """Return the tables of a loop function, and the text of its loops."""
    function = lower(loops)
    tables = list(loops.link_tables.tables.values())
    name = loops.target.name
    file_names: dict[str, tuple[int | str, ...]] = {table.name: table.size for table in tables}
    file_names |= dict.fromkeys(map(loops.symbol, loops.functions), ())
    file_names |= dict.fromkeys([*definition.macros(loops.target), f"{name}_sincos"], ())
    check([function], file_names)
    return tables, write([function], language)


def _step_text(loops: LoopFunction, step: Program) -> str:
    """Return the text of a step's static function; <math.h> computes the sine of a single angle."""
    unchecked_target = replace(loops.target, text=replace(loops.target.text, checked=False))
    sincos_function = definition.sincos_function(step, loops.target)
    if sincos_function and sincos_function.angle_count:
        sincos_function = sincos_function._replace(angle_count=loops.angle_count)
    printed = definition.PrintedFunction(step, unchecked_target, sincos_function=sincos_function)
    return straight_line.text(definition.function(printed), unchecked_target.name, C)


def step_heads(loops: LoopFunction) -> list[str]:
    """Return a line about each step for the comment at the start of the file.

    It has the direction of the step's sweep and its number of operations.
    """
    form, heads = loops.form, []
    for (s, c), step in loops.steps.items():
        direction = "inward" if form.sweeps[s].inward else "outward"
        kind = f", {C.comment(form.link_classes[c].name)}" if len(form.link_classes) > 1 else ""
        if c == BASE:
            kind = ", first link"
        operations = operations_text(loops.step_of(s, c))
        heads.append(f"{loops.symbol(step)}, {direction}{kind}: {operations}")
    if loops.epilogue:
        heads.append(f"{loops.symbol(loops.epilogue)}, once: {operations_text(loops.epilogue)}")
    return heads


def constant_heads(form: LoopProgram) -> list[str]:
    """Return lines about the link constants for the comment at the start of the file.

    They have the names of the constants in a row of each table.
    """
    kinds = [kind for kind in form.link_classes if kind.columns]
    rows = [
        f"Link constants{f' of a {kind.name} link' * (len(form.link_classes) > 1)}, one row of the"
        f" table: {', '.join(kind.columns)}."
        for kind in kinds
    ]
    if rows:
        rows.append(f"{FRAMES[0].upper()}{FRAMES[1:]}.")
    return [
        line
        for row in rows
        for line in textwrap.wrap(C.comment(row), WIDTH - 3, break_long_words=False)
    ]
