"""C99: one function a file, a header for all; includes nothing but <math.h> and headers of its own,
and allocates nothing.

A long function calls static parts of its own, one after the other (`_parts`). A `LoopProgram` calls
its own in loops (`_looped`).

How C spells a row stands in `C`; which rows become locals is decided by `_writer`, and
`templates/c99/` holds the layout. Parentheses are written where C's grammar would group otherwise,
and around a product in a sum, as MISRA C:2012 asks (rule 12.1).

Outputs may alias inputs: every input is read into a local before the first store. What a checked
function checks, it checks before that as well, and returns how it went: one way out, no store but
in the innermost branch.
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
from symgen.emission.writer import Turn
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
    """Return every file of the functions by name, headers first; `replacements` and
    `divisor_bounds` are by function.
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
    """The text of NAME_<function>.c; RequestError when a constant does not fit into the real type.

    `divisor_bounds` are certified lower bounds of rows that are divisors, for a checked function.
    `part` is how many statements a part has, about; None: a short function stays in one piece, and
    a long one is cut as `_parts` says.
    """
    if program.looped:
        if program.part_count:
            return parted.source(program, target)
        return looped.source(program, target)
    turn = _definition.turn_of(program, target)
    printed = PrintedFunction(program, target, divisor_bounds or {}, turn, part or _length(program))
    function = _definition.function(printed)
    preface = render(NAME, "function.c.j2", **target.context, **function)
    return preface + straight_line.text(function, target.name, C, static=False)


def definition(
    program: Program, target: Target, divisor_bounds: Mapping[int, Bound] | None = None
) -> dict[str, Any]:
    """The facts of one function in a language with C's statements that brings its own sines: those
    of an angle are a NAME_pair, which NAME_sincos gives, and every argument is an array;
    `divisor_bounds` as `source` has them.
    """
    turn = (
        Turn(f"{target.name}_pair", f"{target.name}_sincos")
        if _definition.initial_angles(program)
        else None
    )
    part = _length(program)
    return _definition.function(
        PrintedFunction(program, target, divisor_bounds or {}, turn, part, arrays=True)
    )


def parts(program: Form, target: Target) -> tuple[int, int]:
    """Return the number of parts of a function and the numbers that they share on the stack; (0, 0)
    if it is not partitioned.
    """
    part = _length(program)
    if part is None or program.looped:
        return 0, 0
    turn = _definition.turn_of(program, target)
    function = _definition.function(PrintedFunction(program, target, turn=turn, part=part))
    return len(function["parts"]), function["work"]["size"]


def _length(program: Form) -> int | None:
    """Return the length of a part in statements; None if the function is not partitioned."""
    return _parts.LINES if not program.looped and len(program.rows) > _parts.LONGEST else None


def is_cut(program: Form) -> bool:
    """True if the function for many states is partitioned."""
    return not program.looped and len(program.rows) > _parts.LONGEST_OF_MANY


def batches(
    programs: Mapping[str, Form],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return the files of the functions for many states by name, headers first; `divisor_bounds` as
    in `source`, by function.
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
    """Return the facts that a caller of a function for many states needs.

    They are `symbol`, `parameters` with the names of their strides, `driver`, and `needs`, the
    numbers in the workspace (0 without one).
    """
    names = parameters(program, target)
    arrays, driven = lanes.driver(program, names)
    return {
        "symbol": target.symbol(program.function),
        "name": target.name,
        "parameters": arrays,
        "driver": driven,
        "checked": target.checked,
        "needs": looped_lanes.work(program) if program.looped else 0,
    }


def _batch(program: Form, target: Target, divisor_bounds: Mapping[int, Bound]) -> dict[str, Any]:
    """Return the template's facts about one function for many states."""
    if program.looped:
        return looped_lanes.function(program, target)
    inline = target.text.trig == "inline"  # without a branch, in the loop over the states
    turn = _definition.turn_of(program, target) if inline else None
    part = _parts.LINES_OF_MANY if is_cut(program) else None
    facts = _definition.prototype(program, target)
    facts |= lanes.function(
        PrintedFunction(program, target, divisor_bounds, turn, part),
        [] if inline else _definition.initial_angles(program),
    )
    loop = target.text.trig == "auto" and bool(_definition.angles_together(program))
    facts |= {
        "needs": 0,
        "stack": facts["bytes"],
        "uses_sincos_loop": loop,
        "uses_sincos": loop or turn is not None,
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
        bodies=counts_bodies(programs.values()),
        counted=size_definitions(programs.values()),
        prepared=any(
            port.name == PREPARED.name for form in forms for port in (*form.inputs, *form.outputs)
        ),
        **frame_and_wrench_counts(programs.values()),
        work=max(work(form, target.checked) for form in forms),
        statuses=checks.statuses(programs.values(), target),
        **legend(programs.values()),
    )


def work(form: Form, checked: bool = False) -> int:
    """Return the numbers in the workspace of a function, `checked` or not; 0 without one."""
    return loop_work.work(form, checked) if form.looped else 0


def unscheduled(form: Form) -> bool:
    """True if gcc's first scheduling makes the function slower."""
    return form.looped and bool(form.maps)


def forbids_aliasing(form: Form) -> bool:
    """True if results may not overlap arguments."""
    return form.looped and not loop_work.may_alias(form)


def headers(programs: Mapping[str, Form], target: Target) -> dict[str, str]:
    """Return headers by name: NAME.h, and NAME_sincos.h if functions compute their own sines."""
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
        loop=target.text.trig == "auto",
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
