"""The C of a loop over links for many states, parsed back, is the Recursion.

Of each step it is read back what one lane does, row for row (`symgen.readback.lanes`). Everything else, the loops, the tables,
the places in memory and what is compared of a checked function, must be what is printed now, word for word.
"""

from __future__ import annotations

from symgen.ir.loops import CHECKED, EPILOGUE, LoopProgram, as_function, with_checked_rows
from symgen.ir.program import Program
from symgen.readback.lanes import of_a_lane
from symgen.readback.loop_checks import compared
from symgen.readback.preprocessor import CLONES, disguises, without_comments


def compare(
    recursion: LoopProgram, text: str, printed: str, name: str, checked: bool, inline: bool
) -> list[str]:
    """What keeps the C from being the Recursion, `checked` or not, with sines `inline` or not; [] when it is.

    `printed` is what symgen prints now, `name` that of the robot.
    """
    own = with_checked_rows(recursion, compared, inline) if checked else recursion
    found = disguises(text.replace(CLONES, "", 1))
    if without_comments(text).split() != without_comments(printed).split():
        found.append("the text is not what symgen prints")
    for step in _steps(own):
        found += of_a_lane(step, text, name)
    return found


def _steps(recursion: LoopProgram) -> list[Program]:
    """The functions of arrays of lanes."""
    several = len(recursion.link_classes) > 1
    named = [
        (f"{s}_{c}" if several else f"{s}", one)
        for s, sweep in enumerate(recursion.sweeps, 1)
        for c, one in enumerate(sweep.steps, 1)
        if one.outputs and c - 1 in recursion.classes(sweep)
    ]
    named += [
        (number, one)
        for number, one in (
            (EPILOGUE, recursion.epilogue),
            (f"{EPILOGUE}_{CHECKED}", recursion.epilogue_check),
        )
        if one
    ]
    return [as_function(one, f"{recursion.function}_lanes_{number}") for number, one in named]
