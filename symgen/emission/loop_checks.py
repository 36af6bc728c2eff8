"""Comparisons of a checked loop over links: of arguments before the first sweep, of divisors on the way, of results at the end.

Divisors are compared with the smallest normal number, since of a chain of any length no certified floor is known. They must be
finite as well: a quotient by an infinite number is zero. The caller's array holds all results until they are known to be finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symgen.emission import checks, sincos
from symgen.emission.c_text import C
from symgen.emission.language import Language
from symgen.emission.writer import live_rows
from symgen.ir import recursion as forms
from symgen.ir.program import POSITIONS, Program
from symgen.ir.recursion import GUARD, Recursion, unseen
from symgen.support.errors import RequestError
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def guarded(recursion: Recursion, target: Target) -> Recursion:
    """The same with what is looked at. RequestError where that is not seen in time."""
    if target.text.trig == "inline" and unseen(recursion):
        raise RequestError(
            f"{recursion.function} as a loop over links takes sines of what it finds on its way, which --trig "
            "inline does not check there; take --trig libm, or the unrolled form"
        )
    return forms.guarded(recursion, _compared, target.text.trig == "inline")


def held_at(recursion: Recursion, first: int) -> dict[str, int]:
    """Place in the caller's array where each result is held until all comparisons are made, from place `first` on."""
    found = {}
    for port in recursion.outputs:
        found[port.name] = first
        first += port.size
    return found


def _compared(step: Program) -> list[int]:
    """The rows of a step that are divisors, or that a logarithm or a root is taken of."""
    return [guard.row for guard in _guards(step)]


def _guards(step: Program) -> list[checks.Guard]:
    return sorted(checks.guards(step, live_rows(step), {}), key=lambda guard: guard.row)


def looked_at(
    recursion: Recursion,
    names: Mapping[str, str],
    local: Mapping[str, str],
    held: Mapping[str, int],
    link: str,
    needs: int,
) -> dict[str, Any]:
    """What the template is told of what is looked at before the first sweep, and of results that are `held` at those places;
    `names` are those of ports, `local` those of locals, `link` of what counts; `needs` is how many numbers the array has.
    """
    return {
        **local,
        "nothing": C.literal(Fraction(0), REALS[recursion.real]),
        "units": units(recursion, names),
        "needs": needs,
        "ports": [
            {"last": port.size - 1, "at": f"{names[port.name]}[{link}]"}
            for port in recursion.inputs
            if port.size
        ],
        "held": [
            {
                "last": port.size - 1,
                "to": f"{names[port.name]}[{link}]",
                "from": f"{local['work']}[{held[port.name]} + {link}]",
            }
            for port in recursion.outputs
        ],
    }


def units(recursion: Recursion, names: Mapping[str, str], language: Language = C) -> str:
    """What must hold of quaternions; nothing where there are none."""
    real, found = REALS[recursion.real], []
    for port in recursion.inputs:
        for first in recursion.quaternions if port.name in POSITIONS else ():
            entries = [language.at(names[port.name], k) for k in range(first, first + 4)]
            square = " + ".join(f"({entry}*{entry})" for entry in entries)
            found.append(
                f"{C.call('fabs', real)}({square} - {C.literal(Fraction(1), real)}) <= "
                f"{C.literal(checks.LENGTH[recursion.real], real)}"
            )
    return checks.lines(found, "&&", 12)


def condition(
    step: Program, of: Program, target: Target, status: str, guard: str, language: Language = C
) -> dict[str, Any] | None:
    """What must hold of what a step gives to be looked at, the status where it does not, and the statement that says so; None
    where it gives nothing. `of` is the step that uses them.
    """
    rows = next((port.rows for port in step.outputs if port.name == GUARD), ())
    if not rows:
        return None
    real, known = REALS[step.real], {one.row: one for one in _guards(of)}
    parts, found, zero = [], "DIVISOR", C.literal(Fraction(0), real)
    for k, row in enumerate(rows):
        value, own = language.at(guard, k), known.get(row)
        magnitude = f"{C.call('fabs', real)}({value})"
        if own is None:  # an angle
            found = "OUT_OF_RANGE"
            parts.append(f"{magnitude} <= {C.literal(Fraction(sincos.RANGE), real)}")
        else:
            assert isinstance(own.bound, Fraction)
            compared = magnitude if own.magnitude else value
            parts += [f"{compared} >= {C.literal(own.bound, real)}", f"({zero}*{value}) >= {zero}"]
    said = f"{target.name}_{found}"
    return {
        "size": len(rows),
        "holds": checks.lines(parts, "&&", 16),
        "found": said,
        "statement": f"{status} = {said};",
    }
