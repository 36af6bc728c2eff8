"""Assembly of closed loops: NAME_assemble.h and NAME_assemble.c.

NAME_assemble computes closed positions by damped Gauss-Newton steps on the loop closure error C. It
is the only generated function that iterates, at most MOST_STEPS times. NAME_assembly_step and
NAME_integrate, which are functions of the folder, compute each step.
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

MOST_STEPS = 100
"""Largest number of steps."""
LONGEST_STEP = Fraction(1, 2)
"""Largest displacement (rad, m) of a joint in one step."""
DAMPING_FACTOR = Fraction(1, 1000)
"""Factor of the damping, DAMPING_FACTOR · min(1, |C|²)."""
GAIN = Fraction(1, 4)
"""Closed loops get a further step only if the last step multiplied |C|² by less than GAIN."""
TOLERANCE = {"double": Fraction(1, 10**12), "float": Fraction(1, 10**5)}
"""Largest |C| (m, rad) of closed loops, by real type.

It is about 10⁴ round-offs of 1 m in double, and a few hundred in float.
"""
LEAST_DAMPING = 64
"""Least damping in units of round-off. It avoids a division by zero with redundant rows of C."""
STATUSES = {"ASSEMBLED": 0, "NOT_CLOSED": 5}
"""Statuses of NAME_assemble; it can also return the statuses 1 … 4 of the checked functions."""
_MEANINGS = {
    "ASSEMBLED": "the loops are closed at q_out",
    "NOT_CLOSED": "the steps did not close the loops; start nearer to a closed position",
}


def _statuses() -> list[dict[str, Any]]:
    """Return `name`, `value` and meaning (`what`) of each status."""
    return [
        {"name": status, "value": value, "what": _MEANINGS[status]}
        for status, value in STATUSES.items()
    ]


def assembles(functions: Mapping[str, Any]) -> bool:
    """Return True if the `functions` include all that NAME_assemble calls."""
    return all(name in functions for name in ASSEMBLING)


def facts(programs: Mapping[str, Form]) -> dict[str, Any]:
    """Return the facts that a caller of NAME_assemble needs; none without that function.

    They are its `statuses`, the largest number of steps (`turns`) and the `tolerance` (m, rad). The
    manifest of a folder also has them.
    """
    if not assembles(programs):
        return {}
    return {
        "statuses": _statuses(),
        "turns": MOST_STEPS,
        "tolerance": float(TOLERANCE[single_real(programs.values())]),
    }


def files(programs: Mapping[str, Form], target: Target) -> dict[str, str]:
    """Return the texts of both files by name; none without the functions that they call."""
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
    step, integrate = ASSEMBLING
    numbers = {
        "damping_factor": DAMPING_FACTOR,
        "least_damping": LEAST_DAMPING * Fraction(real.eps),
        "longest_step": LONGEST_STEP,
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
            "most_steps": MOST_STEPS,
            "statuses": _statuses(),
            "checks": True,
            "fabs": real.libm("fabs"),
            "step_symbol": target.symbol(step),
            "integrate_symbol": target.symbol(integrate),
        }
    )
