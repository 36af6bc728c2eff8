"""A chain in parts in C: NAME_<function>.c, where every part is a lane of a vector.

Saved values, carries and link constants have element k of lane l in x[k][l]. A step of a sweep, of a map or of a pair stands in a
loop over the lanes (`lanes`) and is called row by row; a step of a sequential scan, or of a pair of parts, is a straight-line
function. `lowering` gives the stages; the template holds head, tables and steps. The groups of a stage run at the same time where
the compiler knows OpenMP.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from symgen.emission import lanes as _lanes
from symgen.emission import loop_work, render
from symgen.emission.c_text import C
from symgen.emission.definition import calls
from symgen.emission.lane_steps import angles, braced, refuse, wrapped
from symgen.emission.lowering import parallel_scan, sequential_scan
from symgen.emission.lowering.chain import Chain
from symgen.emission.lowering.lane_function import Vectors
from symgen.emission.lowering.lane_function import text as lane_text
from symgen.emission.print import write
from symgen.emission.statements import check
from symgen.ir.loops import LoopProgram, Sweep
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

Form = LoopProgram


def work(form: Form, checked: bool = False) -> int:
    """Return the numbers of the array that the caller provides."""
    return _layout(form).size


def _layout(form: Form) -> parallel_scan.Layout | sequential_scan.Layout:
    if form.maps:
        return parallel_scan.Layout(form)
    return sequential_scan.Layout(form)


def may_alias(form: Form) -> bool:
    """True if a result may lie over an argument, both from their first elements on: no stage reads behind one that stores.

    Parallel scans store results when all arguments have been read.
    """
    if form.maps:
        return True
    arguments, results = {port.name for port in form.inputs}, {port.name for port in form.outputs}
    steps = [(s, stage.steps[0]) for s, stage in enumerate(form.stages) if isinstance(stage, Sweep)]
    reads = [s for s, step in steps if arguments & {port.name for port in step.inputs}]
    stores = [s for s, step in steps if results & {port.name for port in step.outputs}]
    return max(reads) <= min(stores)


def prototype(form: Form, target: Target) -> dict[str, Any]:
    """Return the facts of the function in the header."""
    return loop_work.with_work(form, target) | {"apart": not may_alias(form)}


def source(form: Form, target: Target) -> str:
    """Return the text of NAME_<function>.c. RequestError if the parts are no whole groups, or the function is to be checked."""
    lanes, layout = _lanes.lanes(form.real), _layout(form)
    refuse(form, form.part_count, lanes, target)
    chain = Chain(form, target, form.longest_part, layout.size, lanes * layout.group_size)
    lowering: parallel_scan.Lowering | sequential_scan.Lowering
    if form.maps:
        lowering = parallel_scan.Lowering(form, chain)
        title = "of {} links, level by level, in {} segments"
        about = "a place is a joint and the link before it, the base's the first one."
    else:
        lowering = sequential_scan.Lowering(form, chain)
        title = "of {} links in {} segments"
        about = f"{form.link_cost} operations a link, and what is done once a segment. Of one link"
    functions = [*lowering.functions()]
    constants = [*_constants(form, lanes)]
    known = {table.name: table.size for table in lowering.tables}
    known |= {f"{chain.symbol}_table": (len(constants), form.link_classes[0].width, lanes)}
    known |= {step["symbol"]: () for step in chain.steps} | {
        name: () for name, _ in chain.functions
    }
    angle_count = angles(chain.steps, lanes, form.real)
    vectors = Vectors(form.real, lanes, target.name, calls(form.real, target))
    return render(
        "c99",
        "parted.c.j2",
        **target.context,
        symbol=chain.symbol,
        title=title.format(len(form), form.part_count),
        method=C.comment(form.method),
        about=about,
        real=form.real,
        lanes=lanes,
        doubles=layout.size,
        width=form.link_classes[0].width,
        constants=wrapped(constants),
        tables=[table.context() for table in lowering.tables],
        steps=chain.steps,
        functions=[text for _, text in chain.functions],
        algorithm=write(check(functions, known), C),
        own_sines=any(step["own_sines"] for step in chain.steps),
        own_loop=any(step["own_loop"] for step in chain.steps),
        angles=angle_count,
        step_functions=lane_text(vectors.steps(chain.steps, chain.symbol)),
    )


def _constants(form: Form, lanes: int) -> Iterator[str]:
    """Give the table of link constants: for each row of a group, the vector of each constant."""
    for first in range(0, form.part_count, lanes):
        for row in range(form.longest_part):
            links = [_constants_of(form, part, row) for part in range(first, first + lanes)]
            yield braced(
                [
                    braced([C.literal(value, REALS[form.real]) for value in vector])
                    for vector in zip(*links, strict=True)
                ]
            )


def _constants_of(form: Form, part: int, row: int) -> tuple[Fraction, ...]:
    """Return the constants in a row of a part; an idle row has those of a link of the part before it."""
    if form.maps:
        return form.constants_of(form.longest_part * part + row)
    links = form.parts[part]
    return form.constants[links[0] - (form.longest_part - len(links)) + row]
