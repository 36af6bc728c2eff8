"""How large the multipliers of an elimination can get, from what is positive definite. Intervals lose that, and square what
they lost with every joint.

A symmetric positive semidefinite S has S_jk² <= S_jj S_kk. What is left of M behind eliminated joints is one whose diagonal
is at most that of M: α_jk = S_jk/D_k (SA 26-30) has α_jk² <= M_jj/D_k. So is the articulated inertia P, which is at most
the inertia of the link with all that it carries, frozen: G = P Hᵀ D⁻¹ (RK 4.6, 5.12) has G_i² <= P_ii/D. Inertia that a
joint does not feel does not change P Hᵀ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from symgen.derivation import constants as k
from symgen.derivation.model import Model
from symgen.ir import Program

ROUND_OFF = 2
"""Times the exact bound: as much again is left to what rounding adds, which is a few units of it."""


def multiplier_sizes(model: Model, program: Program, ranges: Mapping[str, Sequence[tuple[Fraction | float, Fraction | float]]],
                     floors: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """{row: bound of its magnitude} of the multipliers whose divisor has a floor, those of the last elimination first.

    `model` holds every link's own inertia. `ranges` holds (least, most) of each element of an argument by its name, of which
    the travel of sliding joints counts; `floors` the least of a divisor by row.
    """
    most = carried(model, [float(max(abs(Fraction(low)), abs(Fraction(high)))) for low, high in ranges["q"]])
    found = {}
    for row in reversed(range(len(program.rows))):
        multiplier = re.fullmatch(r"(?:neg_)?(alpha|G)_(\d+)_(\d+)", program.rows[row].name)
        floor = floors.get(_divisor(program, row), Fraction(0)) if multiplier else Fraction(0)
        if multiplier and floor > 0:
            kind, link, element = multiplier[1], int(multiplier[2]) - 1, int(multiplier[3])
            turns = element <= 3 if kind == "G" else model.links[link].turns
            found[row] = Fraction(ROUND_OFF*math.sqrt(most[link][0 if turns else 1]/floor))
    return found


def _divisor(program: Program, row: int) -> int:
    """The row that row x/d or x·(1/d) divides by; -1 when it does neither."""
    op, args = program.rows[row].op, program.rows[row].args
    if op == "neg":
        return _divisor(program, args[0])
    if op == "div":
        return args[1]
    return next((program.rows[a].args[1] for a in args if program.rows[a].op == "div"), -1)


def carried(model: Model, travel: Sequence[float]) -> list[tuple[float, float]]:
    """For each link with all that it carries, in any configuration: at least its moment of inertia about any axis through
    the origin of the link's frame, and its mass; but for rounding."""
    moments, masses = [0.0]*len(model.links), [0.0]*len(model.links)
    for body, link in enumerate(model.links):
        mass, spread = k.as_float(link.inertia.m), sum(k.as_float(link.inertia.S[i]) for i in (0, 3, 5))
        reach, carrier = 0.0, body
        while carrier >= 0:
            # ∫(reach + |r|)² over the body is at most this (Minkowski).
            moments[carrier] += (reach*math.sqrt(mass) + math.sqrt(spread))**2
            masses[carrier] += mass
            outer = model.links[carrier]
            slides = 0.0 if outer.turns else travel[carrier]
            reach += slides + math.sqrt(sum(k.as_float(x)**2 for x in outer.shift))
            carrier = outer.parent
    return list(zip(moments, masses, strict=True))
