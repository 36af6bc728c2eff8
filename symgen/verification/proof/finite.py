"""Frama-C's Eva over the declared ranges, given the results of the other proofs.

Eva's intervals forget that a mass matrix is positive definite. So it is given the certified floors of the divisors
(`certificate`), how large the multipliers of an elimination can get (`multiplier_sizes`), and that
a share of a length is no longer than it (`symgen.certificate.sum_of_squares`). What it was given is listed.
A divisor without a certificate is not admitted, and the function then counts as not proved.

How large the multipliers of an elimination can get, from what is positive definite. Intervals lose that, and square what
they lost with every joint.

A symmetric positive semidefinite S has S_jk² <= S_jj S_kk. What is left of M behind eliminated joints is one whose diagonal
is at most that of M: α_jk = S_jk/D_k (SA 26-30) has α_jk² <= M_jj/D_k. So is the articulated inertia P, which is at most
the inertia of the link with all that it carries, frozen: G = P Hᵀ D⁻¹ (RK 4.6, 5.12) has G_i² <= P_ii/D. Inertia that a
joint does not feel does not change P Hᵀ. j and k are entries of v: of a joint's several, the later ones are behind.
Which row is a multiplier, and which a gain, `certificate.recognition` decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.certificate.columns import Column, columns, travel
from symgen.certificate.divisors import Floor
from symgen.certificate.mimic import driven_bodies, joint_ranges
from symgen.certificate.ranges import Ranges
from symgen.certificate.recognition import Multiplier, Recognition
from symgen.certificate.sum_of_squares import bounded_shares
from symgen.derivation import constants as k
from symgen.derivation.model import Model
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.verification.proof import eva
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.target import Target

ROUND_OFF = 2
"""Times the exact bound: as much again is left to what rounding adds, which is a few units of it."""

Spans = Mapping[str, Sequence[tuple[Fraction | float, Fraction | float]]]
"""(least, most) of each element of an argument, by its name."""


def finite(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    certified: Mapping[str, Iterable[Floor]],
    ranges: Ranges,
    target: Target,
) -> dict[str, eva.Proof]:
    """What Eva proves of the C of each function over `ranges`; `certified` are the certificates of its divisors.

    Raises ToolMissing without Frama-C.
    """
    lowest = {
        f: {one.row: one.floor for one in found if one.floor is not None}
        for f, found in certified.items()
    }
    sizes = {
        f: bounded_shares(programs[f])
        | multiplier_sizes(
            Recognition(mechanism, programs[f], options), ranges.of, rows, options.payload
        )
        for f, rows in lowest.items()
        if rows
    }
    return eva.prove(programs, target, ranges.of, lowest, sizes)


@dataclass(frozen=True)
class Load:
    """The most that a run-time load can be: it hangs on `link`, `away` from the origin of its frame, and has `mass` and
    `spread` = ∫ρ r² about its own frame."""

    link: int
    away: float
    mass: float
    spread: float


def multiplier_sizes(
    recognised: Recognition,
    ranges: Spans,
    floors: Mapping[int, Fraction],
    payload: str | None = None,
) -> dict[int, Fraction]:
    """{row: bound of its magnitude} of the multipliers whose divisor has a floor, those of the last elimination first.

    Of `ranges`, the travel of sliding joints counts, and the load on the link `payload`; `floors` are the least of divisors by
    row, of which those that are pivots count.
    """
    mechanism, of_each = recognised.mechanism, []
    for model in recognised.models:
        load = None if payload is None else heaviest(mechanism, model, payload, ranges)
        of_each.append(carried(model, travels(mechanism, ranges), load))
    most = [
        (max(moments), max(masses))
        for moments, masses in (zip(*links, strict=True) for links in zip(*of_each, strict=True))
    ]
    of = [columns(joint) for joint in mechanism.joints]
    pivots = recognised.divisors
    least = {
        joint: floor
        for row, floor in floors.items()
        if floor > 0 and (joint := pivots.get(row)) is not None
    }
    found = {}
    for row, what in reversed(recognised.multipliers.items() if least else ()):
        if isinstance(what, Multiplier):
            divided, met = (
                what.over,
                sum(
                    abs(float(one.rate)) * math.sqrt(_met(of[one.body][one.of], *most[one.body]))
                    for one in driven_bodies(mechanism)[what.joint]
                )
                ** 2,
            )
        else:
            divided, met = (
                what.joint,
                most[mechanism.dofs[what.joint][0]][0 if what.element < 3 else 1],
            )
        if divided in least:
            found[row] = Fraction(ROUND_OFF * math.sqrt(met / least[divided]))
    return found


def _met(column: Column, moment: float, mass: float) -> float:
    return moment * k.as_float(column.turning) + mass * k.as_float(column.sliding)


def carried(
    model: Model, travel: Sequence[float], load: Load | None = None
) -> list[tuple[float, float]]:
    """For each link with all that it carries, in any configuration: at least its moment of inertia about any axis through
    the origin of the link's frame, and its mass; but for rounding. `travel` (m): how far each joint moves its link at most."""
    moments, masses = [0.0] * len(model.links), [0.0] * len(model.links)
    matter = [
        Load(
            body,
            0.0,
            k.as_float(link.inertia.m),
            sum(k.as_float(link.inertia.S[i]) for i in (0, 3, 5)),
        )
        for body, link in enumerate(model.links)
    ]
    for one in matter if load is None else [*matter, load]:
        reach, carrier = one.away, one.link
        while carrier >= 0:
            # ∫(reach + |r|)² over the body is at most this (Minkowski).
            moments[carrier] += (reach * math.sqrt(one.mass) + math.sqrt(one.spread)) ** 2
            masses[carrier] += one.mass
            outer = model.links[carrier]
            reach += travel[carrier] + math.sqrt(sum(k.as_float(x) ** 2 for x in outer.shift))
            carrier = outer.parent
    return list(zip(moments, masses, strict=True))


def travels(mechanism: Mechanism, ranges: Spans) -> list[float]:
    """How far (m) each joint moves its link at most."""
    with k.precision():
        return [
            k.as_float(travel(joint, joint_ranges(mechanism, ranges["q"], i)))
            for i, joint in enumerate(mechanism.joints)
        ]


def heaviest(mechanism: Mechanism, model: Model, payload: str, ranges: Spans) -> Load:
    """The load on the link `payload` that is not exceeded within `ranges`: ∫ρ r² is half the trace of its moments."""
    mass, *_, xx, _, _, yy, _, zz = (_largest(one) for one in ranges["payload"])
    with k.precision():
        frame = model.frame(mechanism, payload)
        return Load(
            frame.link,
            math.sqrt(sum(k.as_float(x) ** 2 for x in frame.shift)),
            mass,
            (xx + yy + zz) / 2,
        )


def _largest(one: tuple[Fraction | float, Fraction | float]) -> float:
    return float(max(abs(Fraction(one[0])), abs(Fraction(one[1]))))
