"""Steps of a loop over links as functions of arrays with lanes, and the rows of their tables."""

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
    use_sincos_loop: bool = True,
) -> dict[str, Any]:
    """Return the template's facts about a step; `description` names it in the head of the file.

    All lanes share the arrays of `shared_ports`. By `--trig auto` NAME_sincos.h computes the sines
    with `use_sincos_loop`, and <math.h> without.
    """
    inline = target.text.trig == "inline"
    sincos_function = definition.sincos_function(step, target) if inline else None
    printed = definition.PrintedFunction(step, target, sincos_function=sincos_function)
    initial_angles = [] if inline else definition.initial_angles(step)
    names = printed.names
    facts = _lanes.function(
        printed, initial_angles, [names[port] for port in shared_ports if port in names]
    )
    uses_loop = use_sincos_loop and target.text.trig == "auto" and len(initial_angles) > 0
    facts |= {
        "symbol": target.symbol(step.function),
        "uses_sincos_loop": uses_loop,
        "uses_sincos": sincos_function is not None or uses_loop,
        "comment": f"{description}: {operations_text(step)}",
    }
    for array, port in zip(facts["parameters"], (*step.inputs, *step.outputs), strict=True):
        array["qualifier"] = "const " if port.name == CONSTANTS else ""
    return facts


def angles(steps: Sequence[dict[str, Any]], lanes: int, real: str) -> int:
    """Return the number of angles of the file's loop over sines: the largest of all steps.

    A step with fewer angles pads them with zeros: the function sets `padding`, `padded_angles` and
    `bytes` of each step.
    """
    count = max((step["angles"] for step in steps if step["uses_sincos_loop"]), default=lanes)
    for step in steps:
        missing = count - step["angles"] if step["uses_sincos_loop"] else 0
        step["padding"] = C.literal(Fraction(0), REALS[real]) if missing else ""
        step["padded_angles"] = step["angles"] + missing
        step["bytes"] += 3 * missing * REALS[real].size
    return int(count)


def wrapped(rows: Sequence[str]) -> list[str]:
    """Return the rows of a table, divided into lines of at most WIDTH columns."""
    return ["\n     ".join(textwrap.wrap(row, WIDTH - 5, break_long_words=False)) for row in rows]


def braced(items: Iterable[str]) -> str:
    """Return the initializer of an array."""
    return "{" + ", ".join(items) + "}"
