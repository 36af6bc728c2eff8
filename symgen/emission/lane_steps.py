"""A step that is taken by every lane of a vector: a function of arrays of lanes, and the table that
it reads.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

from symgen.emission import definition
from symgen.emission import lanes as _lanes
from symgen.emission.c_text import WIDTH, C
from symgen.ir.loops import CONSTANTS
from symgen.ir.ports import operations_text
from symgen.ir.program import Program
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def lane_step(
    step: Program,
    target: Target,
    description: str,
    shared_ports: Collection[str] = (),
    own_sines: bool = True,
) -> dict[str, Any]:
    """Return the facts of a step for the template; `description` names it in the head of the file.

    All lanes share the `shared_ports`. By `--trig auto` the sines are the text's own with
    `own_sines`, or those of <math.h>.
    """
    inline = target.text.trig == "inline"
    turn = definition.turn_of(step, target) if inline else None
    printed = definition.PrintedFunction(step, target, turn=turn)
    initial_angles = [] if inline else definition.initial_angles(step)
    names = printed.names
    facts = _lanes.function(
        printed, initial_angles, [names[port] for port in shared_ports if port in names]
    )
    loop = own_sines and target.text.trig == "auto" and len(initial_angles) > 0
    facts |= {
        "symbol": target.symbol(step.function),
        "own_loop": loop,
        "own_sines": turn is not None or loop,
        "comment": f"{description}: {operations_text(step)}",
    }
    for array, port in zip(facts["parameters"], (*step.inputs, *step.outputs), strict=True):
        array["qualifier"] = "const " if port.name == CONSTANTS else ""
    return facts


def angles(steps: Sequence[dict[str, Any]], lanes: int, real: str) -> int:
    """How many angles the file's own loop over them takes, which is as many as a step has at most.
    One that has fewer gives zeros besides.
    """
    count = max((step["angles"] for step in steps if step["own_loop"]), default=lanes)
    for step in steps:
        idle = count - step["angles"] if step["own_loop"] else 0
        step["nothing"] = C.literal(Fraction(0), REALS[real]) if idle else ""
        step["all_angles"] = step["angles"] + idle
        step["bytes"] += 3 * idle * REALS[real].size
    return int(count)


def wrapped(rows: Sequence[str]) -> list[str]:
    """Rows of a table, none too wide."""
    return ["\n     ".join(textwrap.wrap(row, WIDTH - 5, break_long_words=False)) for row in rows]


def braced(items: Iterable[str]) -> str:
    """Numbers of an array."""
    return "{" + ", ".join(items) + "}"
