"""Frama-C's Eva over the declared ranges, with the results of the other proofs as admitted bounds.

Eva's intervals forget that a mass matrix is positive definite. So Eva gets three kinds of bounds:
certified lower bounds of the divisors (`certificate`), upper bounds of the multipliers of an
elimination (`multiplier_sizes`), and shares of a length that are at most 1
(`symgen.certificate.sum_of_squares`). The report lists all of them. A divisor without a certificate
is not admitted, and its function then counts as not proved.

The bounds of the multipliers follow from positive definiteness, which intervals lose; the loss is
squared with every joint. A symmetric positive semidefinite S has S_jk² <= S_jj S_kk. The remainder
of M after an elimination of joints has a diagonal of at most that of M: α_jk = S_jk/D_k (SA, the
paper of the method `udut`, 26-30) has α_jk² <= M_jj/D_k. The articulated inertia P is at most the
inertia of the link with all that it carries, with locked joints: G = P Hᵀ D⁻¹ (RK, Rodriguez and
Kreutz 1988, 4.6, 5.12) has G_i² <= P_ii/D. Inertia along which the joint cannot move does not
change P Hᵀ. j and k are entries of v; of a joint's several entries, the later ones are eliminated
first. `certificate.recognition` decides which row is a multiplier and which a gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.certificate.columns import Column, columns, travel
from symgen.certificate.divisors import DivisorCertificate
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
"""Factor on the exact bounds, which leaves room for the few ulps that rounding adds."""

Spans = Mapping[str, Sequence[tuple[Fraction | float, Fraction | float]]]
"""(least, most) of each element of an argument, by its name."""


def prove_finite(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    certified: Mapping[str, Iterable[DivisorCertificate]],
    ranges: Ranges,
    target: Target,
) -> dict[str, eva.Proof]:
    """Return Eva's result for the C of each function over `ranges`; `certified` are the
    certificates of its divisors.

    Raises ToolMissing without Frama-C.
    """
    lowest = {
        f: {
            certificate.row: certificate.lower_bound
            for certificate in certificates
            if certificate.lower_bound is not None
        }
        for f, certificates in certified.items()
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
    """Upper bounds of a run-time load on `link`.

    `away` (m) is its distance from the origin of the link's frame, `mass` (kg) its mass, and
    `spread` = ∫ρ r² about its own frame.
    """

    link: int
    away: float
    mass: float
    spread: float


def multiplier_sizes(
    recognised: Recognition,
    ranges: Spans,
    divisor_bounds: Mapping[int, Fraction],
    payload: str | None = None,
) -> dict[int, Fraction]:
    """Return {row: bound of its magnitude} of the multipliers whose divisor has a bound, those of
    the last elimination first.

    Of `ranges`, only the travel of sliding joints and the load on the link `payload` are used.
    `divisor_bounds` are lower bounds of divisors by row; only those of pivots are used.
    """
    mechanism, by_model = recognised.mechanism, []
    for model in recognised.models:
        load = None if payload is None else heaviest(mechanism, model, payload, ranges)
        by_model.append(carried_inertias(model, travels(mechanism, ranges), load))
    largest_inertias = [
        (max(moments), max(masses))
        for moments, masses in (zip(*links, strict=True) for links in zip(*by_model, strict=True))
    ]
    columns_by_joint = [columns(joint) for joint in mechanism.joints]
    pivots = recognised.divisors
    smallest_pivots = {
        joint: lower_bound
        for row, lower_bound in divisor_bounds.items()
        if lower_bound > 0 and (joint := pivots.get(row)) is not None
    }
    bounds = {}
    for row, multiplier in reversed(recognised.multipliers.items() if smallest_pivots else ()):
        if isinstance(multiplier, Multiplier):
            pivot_joint, diagonal = (
                multiplier.over,
                sum(
                    abs(float(driven_joint.rate))
                    * math.sqrt(
                        _column_inertia(
                            columns_by_joint[driven_joint.body][driven_joint.column],
                            *largest_inertias[driven_joint.body],
                        )
                    )
                    for driven_joint in driven_bodies(mechanism)[multiplier.joint]
                )
                ** 2,
            )
        else:
            pivot_joint, diagonal = (
                multiplier.joint,
                largest_inertias[mechanism.dofs[multiplier.joint][0]][
                    0 if multiplier.element < 3 else 1
                ],
            )
        if pivot_joint in smallest_pivots:
            bounds[row] = Fraction(ROUND_OFF * math.sqrt(diagonal / smallest_pivots[pivot_joint]))
    return bounds


def _column_inertia(column: Column, moment: float, mass: float) -> float:
    """Return the inertia along one column of H."""
    return moment * k.as_float(column.angular_squared) + mass * k.as_float(column.linear_squared)


def carried_inertias(
    model: Model, travel: Sequence[float], load: Load | None = None
) -> list[tuple[float, float]]:
    """Return upper bounds for each link with all that it carries, in any configuration, up to
    rounding.

    They are its moment of inertia about any axis through the origin of the link's frame, and its
    mass. `travel` (m) is the largest displacement of each joint.
    """
    moments, masses = [0.0] * len(model.links), [0.0] * len(model.links)
    loads = [
        Load(
            body,
            0.0,
            k.as_float(link.inertia.m),
            sum(k.as_float(link.inertia.S[i]) for i in (0, 3, 5)),
        )
        for body, link in enumerate(model.links)
    ]
    for load_entry in loads if load is None else [*loads, load]:
        reach, carrier = load_entry.away, load_entry.link
        while carrier >= 0:
            # ∫(reach + |r|)² over the body is at most this (Minkowski).
            moments[carrier] += (
                reach * math.sqrt(load_entry.mass) + math.sqrt(load_entry.spread)
            ) ** 2
            masses[carrier] += load_entry.mass
            outer = model.links[carrier]
            reach += travel[carrier] + math.sqrt(sum(k.as_float(x) ** 2 for x in outer.shift))
            carrier = outer.parent
    return list(zip(moments, masses, strict=True))


def travels(mechanism: Mechanism, ranges: Spans) -> list[float]:
    """Return the largest displacement (m) of each joint."""
    with k.precision():
        return [
            k.as_float(travel(joint, joint_ranges(mechanism, ranges["q"], i)))
            for i, joint in enumerate(mechanism.joints)
        ]


def heaviest(mechanism: Mechanism, model: Model, payload: str, ranges: Spans) -> Load:
    """Return the largest load on the link `payload` within `ranges`: ∫ρ r² is half the trace of its
    moments.
    """
    mass, *_, xx, _, _, yy, _, zz = (_largest(entry_range) for entry_range in ranges["payload"])
    with k.precision():
        frame = model.frame(mechanism, payload)
        return Load(
            frame.link,
            math.sqrt(sum(k.as_float(x) ** 2 for x in frame.shift)),
            mass,
            (xx + yy + zz) / 2,
        )


def _largest(entry_range: tuple[Fraction | float, Fraction | float]) -> float:
    return float(max(abs(Fraction(entry_range[0])), abs(Fraction(entry_range[1]))))
