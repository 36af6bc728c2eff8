"""Printer of C99: one file for each function and one header for all.

The C includes only <math.h> and its own headers, and allocates no memory. A long function calls
static functions, its parts, one after the other (`parts`). A `LoopProgram` calls static functions,
its steps, in loops (`looped`).

`C` spells operations and numbers, `writer` decides which rows become locals, and `templates/c99/`
has the layout of the files. There are parentheses where the grammar of C needs them, and around a
product in a sum, as rule 12.1 of MISRA C:2012 requires.

Results may alias arguments: a function reads all arguments before its first store. A checked
function also makes all comparisons before its first store, which is in the innermost branch, and
returns a status in its last statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symgen.emission import (
    adjustable,
    assembling,
    checks,
    lanes,
    loop_work,
    looped,
    looped_lanes,
    parted,
    render,
)
from symgen.emission import definition as _definition
from symgen.emission import parts as _parts
from symgen.emission import sincos as _sincos
from symgen.emission.backend import Printer
from symgen.emission.c_text import C
from symgen.emission.definition import PrintedFunction, calls, parameters, uses_sincos
from symgen.emission.legend import legend
from symgen.emission.lowering import lane_function, straight_line
from symgen.emission.lowering.lane_function import Vectors
from symgen.emission.writer import SincosFunction
from symgen.ir.loops import Form
from symgen.ir.ports import counts_bodies, frame_and_wrench_counts, single_real, size_definitions
from symgen.ir.program import Bound, Program
from symgen.vocabulary.functions import PREPARED
from symgen.vocabulary.reals import REALS, SINE_ULPS
from symgen.vocabulary.target import Target

NAME = "c99"


def texts(
    programs: Mapping[str, Form],
    target: Target,
    replacements: Mapping[str, str] | None = None,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return the texts of all files by name, headers first.

    The keys of `replacements` and `divisor_bounds` are names of functions.
    """
    files = headers(programs, target)
    for function, program in programs.items():
        text = (replacements or {}).get(function)
        files[target.c_file(function)] = text or source(
            program, target, (divisor_bounds or {}).get(function)
        )
    files |= assembling.files(programs, target)
    return files | (batches(programs, target, divisor_bounds) if target.text.batch else {})


def source(
    program: Form,
    target: Target,
    divisor_bounds: Mapping[int, Bound] | None = None,
    part: int | None = None,
) -> str:
    """Return the text of NAME_<function>.c.

    Raises RequestError if a constant does not fit into the real type. `divisor_bounds` are
    certified lower bounds of divisors, for a checked function. `part` is the approximate number of
    statements of a part; without it, a function with more than `LONGEST` rows has parts of `LINES`
    statements.
    """
    if program.looped:
        if program.part_count:
            return parted.source(program, target)
        return looped.source(program, target)
    sincos_function = _definition.sincos_function(program, target)
    printed = PrintedFunction(
        program, target, divisor_bounds or {}, sincos_function, part or _length(program)
    )
    function = _definition.function(printed)
    preface = render(NAME, "function.c.j2", **target.context, **function)
    return preface + straight_line.text(function, target.name, C, static=False)


def definition(
    program: Program, target: Target, divisor_bounds: Mapping[int, Bound] | None = None
) -> dict[str, Any]:
    """Return the facts of one function for a wrapper whose language has C's statements.

    Every argument is an array. NAME_sincos returns sine and cosine of one angle as a NAME_pair.
    `divisor_bounds` are those of `source`.
    """
    sincos_function = (
        SincosFunction(f"{target.name}_pair", f"{target.name}_sincos")
        if _definition.initial_angles(program)
        else None
    )
    part = _length(program)
    return _definition.function(
        PrintedFunction(program, target, divisor_bounds or {}, sincos_function, part, arrays=True)
    )


def parts(program: Form, target: Target) -> tuple[int, int]:
    """Return the number of parts of a function, and the size of their work array on the stack.

    Both are 0 for a function in one piece.
    """
    part = _length(program)
    if part is None or program.looped:
        return 0, 0
    sincos_function = _definition.sincos_function(program, target)
    function = _definition.function(
        PrintedFunction(program, target, sincos_function=sincos_function, part=part)
    )
    return len(function["parts"]), function["work"]["size"]


def _length(program: Form) -> int | None:
    """Return the length of a part in statements; None for a function in one piece."""
    return _parts.LINES if not program.looped and len(program.rows) > _parts.LONGEST else None


def is_cut(program: Form) -> bool:
    """Return True if the batch function has parts."""
    return not program.looped and len(program.rows) > _parts.LONGEST_OF_MANY


def batches(
    programs: Mapping[str, Form],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return the texts of the files of batch functions by name, headers first.

    `divisor_bounds` has for each function the bounds that `source` takes.
    """
    real = single_real(programs.values())
    functions = {
        function: _batch(program, target, (divisor_bounds or {}).get(function, {}))
        for function, program in programs.items()
    }
    common = target.context | {"real": real, "lanes": lanes.lanes(real)}
    files = {
        target.batch_header: render(
            NAME,
            "batch.h.j2",
            **common,
            functions=functions.values(),
            bytes=max(facts["stack"] for facts in functions.values()),
            needs=max(facts["needs"] for facts in functions.values()),
        ),
        target.lanes_file: render(NAME, "lanes.h.j2", **common),
    }
    for function, facts in functions.items():
        layout = "looped_batch.c.j2" if programs[function].looped else "batch.c.j2"
        files[target.batch_file(function)] = render(NAME, layout, **common, **facts)
    return files


def driver(program: Form, target: Target) -> dict[str, Any]:
    """Return the facts that a caller of a batch function needs.

    Among them are `parameters` with the names of their strides, names of other locals (`driver`),
    and the size of the workspace (`needs`, 0 without a workspace).
    """
    names = parameters(program, target)
    arrays, driver_names = lanes.driver(program, names)
    return {
        "symbol": target.symbol(program.function),
        "name": target.name,
        "parameters": arrays,
        "driver": driver_names,
        "checked": target.checked,
        "needs": looped_lanes.work(program) if program.looped else 0,
    }


def _batch(program: Form, target: Target, divisor_bounds: Mapping[int, Bound]) -> dict[str, Any]:
    """Return the template's facts about one batch function."""
    if program.looped:
        return looped_lanes.function(program, target)
    # Inline sines have no branch, so that the loops over lanes contain them.
    inline = target.text.trig == "inline"
    sincos_function = _definition.sincos_function(program, target) if inline else None
    part = _parts.LINES_OF_MANY if is_cut(program) else None
    facts = _definition.prototype(program, target)
    facts |= lanes.function(
        PrintedFunction(program, target, divisor_bounds, sincos_function, part),
        [] if inline else _definition.initial_angles(program),
    )
    uses_loop = target.text.trig == "auto" and bool(_definition.angles_together(program))
    facts |= {
        "needs": 0,
        "stack": facts["bytes"],
        "uses_sincos_loop": uses_loop,
        "uses_sincos": uses_loop or sincos_function is not None,
    }
    vectors = Vectors(
        program.real, lanes.lanes(program.real), target.name, calls(program.real, target)
    )
    symbol = target.symbol(program.function)
    return facts | {"block": lane_function.text(vectors.block(facts, symbol))}


def header(programs: Mapping[str, Form], target: Target) -> str:
    """Return the text of NAME.h, which declares all `programs`."""
    real = single_real(programs.values())
    forms = programs.values()
    declarations = [
        loop_work.prototype(form, target) if form.looped else _definition.prototype(form, target)
        for form in forms
    ]
    trig = calls(real, Target(target.name, target.sizes))
    return render(
        NAME,
        "header.h.j2",
        **target.context,
        coordinate_comments=target.coordinate_lines,
        real=real,
        bytes=REALS[real].size,
        sin=trig["sin"],
        cos=trig["cos"],
        functions=declarations,
        no_alias=any(declaration["no_alias"] for declaration in declarations),
        counts_bodies=counts_bodies(programs.values()),
        size_definitions=size_definitions(programs.values()),
        prepared=any(
            port.name == PREPARED.name for form in forms for port in (*form.inputs, *form.outputs)
        ),
        **frame_and_wrench_counts(programs.values()),
        work=max(work(form, target.checked) for form in forms),
        statuses=checks.statuses(programs.values(), target),
        **legend(programs.values()),
    )


def work(form: Form, checked: bool = False) -> int:
    """Return the size of the workspace of a function; 0 without a workspace."""
    return loop_work.work(form, checked) if form.looped else 0


def unscheduled(form: Form) -> bool:
    """Return True if gcc's first instruction scheduling makes the function slower."""
    return form.looped and bool(form.maps)


def forbids_aliasing(form: Form) -> bool:
    """Return True if results may not overlap arguments."""
    return form.looped and not loop_work.may_alias(form)


def headers(programs: Mapping[str, Form], target: Target) -> dict[str, str]:
    """Return the texts of NAME.h and, if a function includes it, of NAME_sincos.h, by name."""
    files = {target.header: header(programs, target)}
    if any(uses_sincos(program, target) for program in programs.values()):
        files[target.sincos_file] = sincos(single_real(programs.values()), target)
    return files


def sincos(real: str, target: Target) -> str:
    """Return the text of NAME_sincos.h."""
    return render(
        NAME,
        "sincos.h.j2",
        **target.context,
        real=real,
        takes_array=target.text.trig == "auto",
        **_sincos.context(real),
    )


BACKEND = Printer(
    name=NAME,
    language=C,
    texts=texts,
    source=source,
    headers=headers,
    sincos=sincos,
    parameters=parameters,
    calls=calls,
    definition=definition,
    parts=parts,
    batches=batches,
    is_cut=is_cut,
    driver=driver,
    lanes=lanes.lanes,
    work=work,
    forbids_aliasing=forbids_aliasing,
    unscheduled=unscheduled,
    adjustable=adjustable.files,
    assembling=assembling.files,
    assembly=assembling.facts,
    ulps=SINE_ULPS,
    farthest=_sincos.RANGE,
    statuses=checks.STATUSES,
)
