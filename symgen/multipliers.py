"""How large the multipliers of the reverse Gaussian elimination can get, from the positive definiteness of M.

Joints behind k eliminated, what is left of M, called S, is positive definite, its diagonal at most that of M. So
α_jk = S_jk/S_kk (SA 26-30) has α_jk² <= S_jj/S_kk <= M_jj/D_k. Intervals lose this, and square what they lost with every joint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import flint

from symgen.ir import Numbers, Port, Program, evaluate

ROUND_OFF = 2
"""Times the exact bound: as much again is left to what rounding adds, which is a few units of it."""
_DIGITS = 30


def multiplier_sizes(program: Program, ranges: Mapping[str, Sequence[tuple[Fraction | float, Fraction | float]]],
                     floors: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """{row: bound of its magnitude} of the multipliers α_jk whose D_k has a floor, those of the last elimination first.

    `ranges` holds (least, most) of each element of an argument by its name; `floors` the least of D_k by row. Empty for a
    Program that does not eliminate by rows.
    """
    floor = {program.rows[row].name: bound for row, bound in floors.items() if bound > 0}
    diagonal = _largest(program, r"M_(\d+)_\1", ranges)
    found = {}
    for row in reversed(range(len(program.rows))):
        name = re.fullmatch(r"(?:neg_)?alpha_(\d+)_(\d+)", program.rows[row].name)
        if name:
            j, k = name.groups()
            divisor = floor.get(f"D_{k}", floor.get(f"M_{k}_{k}"))
            if divisor and f"M_{j}_{j}" in diagonal:
                found[row] = ROUND_OFF*_root(diagonal[f"M_{j}_{j}"]/divisor)
    return found


def _largest(program: Program, names: str, ranges: Mapping[str, Sequence[tuple[Fraction | float, Fraction | float]]]
             ) -> dict[str, Fraction]:
    """A bound of the magnitude over the ranges of each row whose name fits a pattern, by name."""
    chosen = [i for i, row in enumerate(program.rows) if re.fullmatch(names, row.name)]
    if not chosen:
        return {}
    rows = replace(program, rows=program.rows[:chosen[-1] + 1], outputs=(Port("chosen", (len(chosen),), tuple(chosen)),))
    with flint.ctx.workdps(_DIGITS):
        balls = {port.name: [_ball(*span) for span in ranges[port.name]] for port in program.inputs}
        turns = Numbers(_exact, lambda x: x.sin(), lambda x: x.cos(), lambda x: x.sqrt(), lambda x: x.log())
        values = evaluate(rows, balls, turns)["chosen"]
        return {program.rows[i].name: Fraction(float(abs(value).upper())*(1 + 2**-40))
                for i, value in zip(chosen, values, strict=True) if value.is_finite()}


def _exact(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _ball(low: Fraction | float, high: Fraction | float) -> flint.arb:
    return _exact(Fraction(low)).union(_exact(Fraction(high)))


def _root(value: Fraction) -> Fraction:
    """At least the square root."""
    scaled = value.numerator*10**24//value.denominator + 1
    return Fraction(isqrt(scaled) + 1, 10**12)
