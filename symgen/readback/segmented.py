"""The C of a chain in segments, parsed back, is the Segmented.

Each step is read back as rows: of a sweep what one lane does (`symgen.readback.lanes`), of a way across the segments its
function. Everything else, the loops, the table and the places in memory, must be what is printed now, word for word.
"""

from __future__ import annotations

import re

from symgen.errors import ProgramError
from symgen.ir import Program
from symgen.readback.directives import AS_WRITTEN, macros, work
from symgen.readback.disguise import disguises, without_comments
from symgen.readback.lanes import step
from symgen.readback.rows import compare as compare_rows
from symgen.recursion import Sweep, as_function
from symgen.segmented import Segmented

_CLONES = 'target_clones("avx512f", "avx2", "default")'
"""The one place with quotation marks."""
_TEXT = f"""#include <math.h>
#include "NAME.h"
{AS_WRITTEN}#endif
"""


def compare(one: Segmented, text: str, printed: str, name: str, header: str = "") -> list[str]:
    """What keeps the C from being the Segmented; [] when it is.

    `printed` is what symgen prints now, `name` that of the robot, and `header`, if given, NAME.h.
    """
    found = _of_the_header(one, header, printed, name) if header else []
    found += disguises(text.replace(_CLONES, "", 1))
    if without_comments(text).split() != without_comments(printed).split():
        found.append("the text is not what symgen prints")
    for s, stage in enumerate(one.stages, 1):
        if isinstance(stage, Sweep):
            found += _of_a_lane(as_function(stage.steps[0], f"{one.function}_{s}"), text, name)
        else:
            for which, across in (("first", stage.opening), ("other", stage.step)):
                found += _of_a_segment(as_function(across, f"{one.function}_{s}_{which}"), text, name)
    return found


def _of_the_header(one: Segmented, header: str, printed: str, name: str) -> list[str]:
    found = macros(one, header, name, False)
    needed = int(re.findall(r"numbers\[(\d+)\]\)$", printed, re.MULTILINE)[-1])
    if (work(header, name) or 0) < needed:
        found.append(f"the header's array for the function's work has fewer than {needed} numbers")
    return found


def _of_a_lane(program: Program, text: str, name: str) -> list[str]:
    try:
        return compare_rows(program, step(text, name, f"{name}_{program.function}", [port.name for port in program.outputs]))
    except ProgramError as error:
        return [str(error)]


def _of_a_segment(program: Program, text: str, name: str) -> list[str]:
    _, head, behind = without_comments(text).partition(f"static void {name}_{program.function}(")
    if not head:
        return [f"there is no function {name}_{program.function}"]
    body = behind[:behind.index("\n}\n") + 3] if "\n}\n" in behind else behind
    return compare_rows(program, _TEXT.replace("NAME", name) + head.removeprefix("static ") + body)
