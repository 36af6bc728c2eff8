"""NAME_assemble.h and NAME_assemble.c: closed positions by damped Gauss-Newton steps on the loop
closure error C.

This is the only generated function that iterates, at most TURNS times. Two other functions of the
folder, NAME_assembly_step and NAME_integrate, compute each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symgen.emission import render
from symgen.emission.c_text import C
from symgen.ir.loops import Form
from symgen.ir.ports import single_real
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

TURNS = 100
LONGEST = Fraction(1, 2)
"""rad and m that one step may move a joint by."""
DAMPED = Fraction(1, 1000)
"""Factor of the damping, DAMPED · min(1, |C|²)."""
GAIN = Fraction(1, 4)
"""Once the loops are closed, another step follows only if the last one reduced |C|² below GAIN
times its former value.
"""
TOLERANCE = {"double": Fraction(1, 10**12), "float": Fraction(1, 10**5)}
"""Largest |C| (m, rad) of closed loops, by real type: about 10⁴ round-offs of 1 m in double, a few
hundred in float.
"""
FLOOR = 64
"""Least damping in units of round-off, so that redundant rows cause no division by zero."""
STATUSES = {"ASSEMBLED": 0, "NOT_CLOSED": 5}
"""Status codes of NAME_assemble itself; the codes between them are those of checked functions."""
_WHAT = {
    "ASSEMBLED": "the loops are closed at q_out",
    "NOT_CLOSED": "the steps did not close the loops; start nearer to a closed position",
}


def _statuses() -> list[dict[str, Any]]:
    return [
        {"name": status, "value": value, "what": _WHAT[status]}
        for status, value in STATUSES.items()
    ]


def assembles(functions: Mapping[str, Any]) -> bool:
    """Return True if a driver is among these functions."""
    return all(name in functions for name in ASSEMBLING)


def facts(programs: Mapping[str, Form]) -> dict[str, Any]:
    """Return facts for a caller of the driver: `statuses`, the most `turns`, and the `tolerance`
    (m, rad); none without a driver.
    """
    if not assembles(programs):
        return {}
    return {
        "statuses": _statuses(),
        "turns": TURNS,
        "tolerance": float(TOLERANCE[single_real(programs.values())]),
    }


def files(programs: Mapping[str, Form], target: Target) -> dict[str, str]:
    """Both files by name; none where the functions that it calls are not among them."""
    if not assembles(programs):
        return {}
    context = _context(programs, target)
    return {
        f"{target.symbol(ASSEMBLE)}{end}": render("c99", f"assemble{end}.j2", **context)
        for end in (".h", ".c")
    }


def _context(programs: Mapping[str, Form], target: Target) -> dict[str, Any]:
    """Return the facts that the templates print."""
    name = single_real(programs.values())
    real = REALS[name]
    step, move = ASSEMBLING
    numbers = {
        "most": DAMPED,
        "least": FLOOR * Fraction(real.eps),
        "longest": LONGEST,
        "gain": GAIN,
        "zero": Fraction(0),
        "one": Fraction(1),
        "tolerance": TOLERANCE[name],
    }
    return (
        target.context
        | {key: C.literal(value, real) for key, value in numbers.items()}
        | {
            "real": name,
            "rows": programs[step].outputs[1].size,
            "turns": TURNS,
            "statuses": _statuses(),
            "checks": True,
            "fabs": real.libm("fabs"),
            "step": target.symbol(step),
            "move": target.symbol(move),
        }
    )
