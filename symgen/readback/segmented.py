"""The C of a chain in segments, parsed back, is the loop program.

Each step is read back as rows: of a sweep, of places and of a pair of them what one lane does (`symgen.readback.lanes`), of what
is done across the segments its function. Everything else, the loops, the table and the places in memory, must be what is printed
now, word for word.
"""

from __future__ import annotations

import re

from symgen.ir.loops import LoopProgram, SequentialScan, Sweep, as_function
from symgen.ir.program import Program
from symgen.readback.lanes import of_a_lane
from symgen.readback.preprocessor import (
    AS_WRITTEN,
    CLONES,
    disguises,
    macros,
    without_comments,
    work,
)
from symgen.readback.rows import compare as compare_rows

_TEXT = f"""#include <math.h>
#include "NAME.h"
{AS_WRITTEN}#endif
"""


def compare(one: LoopProgram, text: str, printed: str, name: str, header: str = "") -> list[str]:
    """What keeps the C from being that form; [] when it is.

    `printed` is what symgen prints now, `name` that of the robot, and `header`, if given, NAME.h.
    """
    found = _of_the_header(one, header, printed, name) if header else []
    found += disguises(text.replace(CLONES, "", 1))
    if without_comments(text).split() != without_comments(printed).split():
        found.append("the text is not what symgen prints")
    in_lanes, alone = _steps(one)
    for step_of_all in in_lanes:
        found += of_a_lane(step_of_all, text, name)
    for step_of_one in alone:
        found += _of_a_segment(step_of_one, text, name)
    return found


def _steps(one: LoopProgram) -> tuple[list[Program], list[Program]]:
    """The functions of arrays of lanes, and those of one segment."""
    in_lanes, alone = [], []
    if one.maps:
        in_lanes += [
            as_function(stage.steps[0], f"{one.function}_{s}")
            for s, stage in enumerate(one.maps, 1)
        ]
        for t, tree in enumerate(one.scans, 1):
            for way, step_of_two in (("up", tree.up), ("down", tree.down)):
                in_lanes.append(as_function(step_of_two, f"{one.function}_{way}_{t}"))
                alone.append(as_function(step_of_two, f"{one.function}_{way}_{t}_alone"))
        return in_lanes, alone
    for s, stage in enumerate(one.stages, 1):
        if isinstance(stage, Sweep):
            in_lanes.append(as_function(stage.steps[0], f"{one.function}_{s}"))
        elif isinstance(stage, SequentialScan):
            alone += [
                as_function(across, f"{one.function}_{s}_{which}")
                for which, across in (("first", stage.opening), ("other", stage.step))
            ]
    return in_lanes, alone


def _of_the_header(one: LoopProgram, header: str, printed: str, name: str) -> list[str]:
    found = macros(one, header, name, False)
    needed = int(re.findall(r"numbers\[(\d+)\]\)$", printed, re.MULTILINE)[-1])
    if (work(header, name) or 0) < needed:
        found.append(f"the header's array for the function's work has fewer than {needed} numbers")
    return found


def _of_a_segment(program: Program, text: str, name: str) -> list[str]:
    _, head, behind = without_comments(text).partition(f"static void {name}_{program.function}(")
    if not head:
        return [f"there is no function {name}_{program.function}"]
    body = behind[: behind.index("\n}\n") + 3] if "\n}\n" in behind else behind
    return compare_rows(program, _TEXT.replace("NAME", name) + head.removeprefix("static ") + body)
