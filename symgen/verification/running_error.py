"""How far the C of a derivative may be off at a state: its rows' own bound, worked out beside them.

A derivative has no natural size of its own: its terms are products along every way through the rows. So the bound is the running
error analysis of its rows (`symgen.certificate.rounding`), at each state of a check. Where M is ill-conditioned it grows as the
answer does, and what a division by next to nothing costs is in it. It is a bound for the rows in this order, whatever they mean:
that they mean the derivative is for the algebra to say. A derivative of a step is smooth at every turn, and its size is known.
Its bound is no larger than some round-offs of that size, so that rows which cancel at a small turn are not excused by their own.
"""

from __future__ import annotations

import numpy as np

from symgen.certificate.intervals import Interval
from symgen.certificate.rounding import Arithmetic, propagate
from symgen.emission import printer
from symgen.ir.loops import Form, LoopProgram
from symgen.ir.program import Program
from symgen.reference.precision import Array
from symgen.verification.magnitude import LEAST, largest
from symgen.verification.scales.integration import slopes
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import CLOSED, FUNCTIONS, PREPARING, Function
from symgen.vocabulary.options import PLAIN, TextOptions
from symgen.vocabulary.reals import REALS

CANCELLED = 16
"""Units of eps of the size of a derivative of a step that its rows may lose, whatever they bound: they may not cancel."""


def bounds(program: Form, truth: Truth, text: TextOptions = PLAIN) -> dict[str, Array]:
    """How far each entry of each result may be off, (count, …), in units of eps; infinite where nothing is known.

    For derivatives, what is made of parameters and what loops keep, whose closed states no real type holds: what has natural
    sizes of its own is measured against those, and nothing is given here.
    """
    if isinstance(program, LoopProgram) or not _by_rows(program, truth):
        return {}
    key = (program.function, program.method, program.real, text.trig)
    if key not in truth.bounds or truth.bounds[key][0] is not program:
        truth.bounds[key] = (program, _bounds(program, truth, text))
    return truth.bounds[key][1]


def units(program: Form, truth: Truth) -> dict[str, Array]:
    """One for each entry of a derivative's results: the size of an answer that is zero, in SI units."""
    return (
        {port.name: np.ones((truth.count, *port.shape)) for port in program.outputs}
        if _by_rows(program, truth)
        else {}
    )


def _by_rows(program: Form, truth: Truth) -> bool:
    """Whether it has no natural size: a derivative, what is made of parameters, and what loops keep."""
    if program.function not in FUNCTIONS:
        return False
    what = FUNCTIONS[program.function]
    return what.derivative is not None or program.function in PREPARING or _closed(what, truth)


def _closed(what: Function, truth: Truth) -> bool:
    return what.holds_loops_closed and bool(truth.mechanism.loops)


def _bounds(program: Program, truth: Truth, text: TextOptions) -> dict[str, Array]:
    entries = frozenset(first + k for first in program.quaternions for k in range(4))
    what = FUNCTIONS[program.function]
    rounded = frozenset(
        array.name for array in what.arguments if array.drawn in CLOSED and _closed(what, truth)
    )
    arithmetic = Arithmetic(
        program.real,
        trig=float(printer().ulps[text.trig]),
        unit_entries=entries,
        rounded_arguments=rounded,
    )
    given = truth.arguments(program.function, truth.floats)
    boxes = {
        port.name: [Interval(x, x) for x in given[port.name].reshape(truth.count, -1).T]
        for port in program.inputs
    }
    rows = propagate(program, boxes, arithmetic)
    found = {}
    for port in program.outputs:
        errors = [np.broadcast_to(rows[r].error, (truth.count,)) for r in port.rows]
        found[port.name] = (
            np.stack(errors, axis=-1).reshape(truth.count, *port.shape) / REALS[program.real].eps
        )
    if what.derivative is not None and FUNCTIONS[what.derivative.of].smooth:
        most = CANCELLED * slopes(truth, what.derivative)
        found = {
            name: np.minimum(sizes, most.reshape(-1, *[1] * (sizes.ndim - 1)))
            for name, sizes in found.items()
        }
    least = {name: LEAST * np.maximum(largest(sizes), 1.0) for name, sizes in found.items()}
    return {
        name: np.maximum(sizes, least[name].reshape(-1, *[1] * (sizes.ndim - 1)))
        for name, sizes in found.items()
    }
