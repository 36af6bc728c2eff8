"""The certificate of the divisors: D_k ≥ H_kᵀ M_k H_k of the declared, lumped link for all q, less what round-off can take.

There is a pivot for every entry of v. Where a joint has several, the pivot of the link's HᵀMH stands for H_kᵀ M_k H_k (`bodies`).
The bound of the exact number is proved for every configuration (`bodies`), in rationals where axis and pose are rational.
The bound of the computed number is proved over the box of `ranges`, by the better of two analyses: the rows' own forward
errors (`rounding`), and the backward error of the elimination (`elimination`, `backward`). Which row is which D_k is decided by
its value at random states (`recognition`). What cannot be proved is 'no certificate', with the reason.
Pivots of what forces of constraints feel have a bound where that is damped (`held`). A divisor that is no pivot may be a sum of
squares and a constant: then it has a bound by its form (`squares`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from symgen.certificate import constraint_pivots
from symgen.certificate.backward import (
    Backward,
    Roots,
    backward,
    closed_root,
    constant_roots,
    share,
)
from symgen.certificate.bodies import Bodies
from symgen.certificate.boxes import boxes
from symgen.certificate.elimination import NoElimination, read_elimination
from symgen.certificate.ranges import Ranges, declared_ranges
from symgen.certificate.recognition import POSITIVE, Recognition
from symgen.certificate.rounding import Arithmetic, Rounded, needs, propagate
from symgen.certificate.sum_of_squares import least
from symgen.derivation import constants as k
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.reals import SINE_ULPS

_DIGITS = 6
"""Of a bound, so that it prints exactly and does not hang on a library's last digit."""


@dataclass(frozen=True)
class Own:
    """What one degree of freedom has by its body: `value` = H_kᵀ M_k H_k in kg m² or kg, or the pivot of that block, exact or
    a lower bound; None with the reason. `joint` is the name of the entry of v: the joint's, where it has but one."""

    joint: str
    link: str
    value: Fraction | None
    reason: str = ""


@dataclass(frozen=True)
class Floor:
    """The certificate of one divisor of a Program.

    `joint` (an entry of v; None: no pivot) says whose pivot row `row` is. `exact` ≤ D_k for all q, `lost` bounds the round-off
    over the box, and `floor` = `exact` − `lost` ≤ the computed D_k; None with the reason where that is not proved. A sum of
    squares and a constant is no pivot, and has its bound in any state, with nothing `lost`. A pivot of another matrix says so in
    `what`.
    """

    row: int
    joint: int | None
    exact: Fraction | None = None
    lost: Fraction | None = None
    floor: Fraction | None = None
    reason: str = ""
    what: str = ""

    @property
    def certified(self) -> bool:
        return self.floor is not None


def arithmetic_of(real: str, text: TextOptions = PLAIN) -> Arithmetic:
    """The arithmetic of C with these options."""
    return Arithmetic(real, SINE_ULPS[text.trig])


def with_quaternions(arithmetic: Arithmetic, mechanism: Mechanism) -> Arithmetic:
    """The same for the arguments of `mechanism`, some of whose q are unit quaternions."""
    return replace(
        arithmetic,
        unit_entries=frozenset(
            i for first in mechanism.quaternions for i in range(first, first + 4)
        ),
    )


def own_inertias(mechanism: Mechanism, bodies: Bodies | None = None) -> list[Own]:
    """H_kᵀ M_k H_k of every entry of v, with 'no certificate' (None) where it is 0 or energy could be negative further out.

    A run-time load is no part of it: it can only add.
    """
    bodies = bodies or Bodies(mechanism, declared_ranges(mechanism))
    found = []
    for entry, (name, (i, _)) in enumerate(
        zip(mechanism.velocity_names, mechanism.dofs, strict=True)
    ):
        links = (
            " + ".join(mechanism.bodies[one.body].name for one in bodies.alone(entry))
            or mechanism.bodies[i].name
        )
        weak = next(
            (why for b in bodies.moved(entry) if (why := bodies.weakness(b)) is not None), None
        )
        own = bodies.own(entry)
        value = None if own is None else lower_bound(own)
        if weak is not None:
            found.append(Own(name, links, None, weak))
        elif value is None or value <= 0:
            found.append(Own(name, links, None, _lacking(bodies, entry)))
        else:
            found.append(Own(name, links, value))
    return found


def _lacking(bodies: Bodies, entry: int) -> str:
    """That H_kᵀ M_k H_k is zero, or the pivot of that block."""
    if bodies.own(entry) is None and (why := bodies.branching(entry)) is not None:
        return why
    body = bodies.mechanism.dofs[entry][0]
    link = f"link '{bodies.mechanism.bodies[body].name}'"
    if len(bodies.entries(body)) > 1:
        return (
            f"{link} alone can move along '{bodies.mechanism.velocity_names[entry]}' without energy"
        )
    what = "moment of inertia about its joint's axis" if bodies.turns(entry) else "mass"
    return f"{link} has no {what} of its own"


def lower_bound(value: Any) -> Fraction:
    """A constant as a Fraction, rounded down to the ball's lower end where it is not rational."""
    if k.is_rational(value):
        return Fraction(int(value.p), int(value.q))
    with k.precision():
        mantissa, exponent = value.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def upper_bound(value: Any) -> Fraction:
    """The upper end of a ball."""
    with k.precision():
        return -lower_bound(-flint.arb(value))


def divisor_floors(
    mechanism: Mechanism, program: Program, options: ProgramOptions, text: TextOptions = PLAIN
) -> dict[int, Fraction]:
    """{row: bound} of every certified divisor of `program`: over the box of `declared_ranges`, the number that C computes for
    that row in `program.real` is no less than the bound (kg m² or kg, of what is no pivot the row's own unit), which is positive.

    Proved but for what stands in `samples` (rows are told by value at random states) and `Arithmetic` (the assumptions about the
    machine). Divisors without a certificate, and those that are constants, are absent.
    """
    return {
        floor.row: floor.floor
        for floor in floors(mechanism, program, options, text)
        if floor.floor is not None
    }


def floors(
    mechanism: Mechanism,
    program: Program,
    options: ProgramOptions,
    text: TextOptions = PLAIN,
    *,
    ranges: Ranges | None = None,
    arithmetic: Arithmetic | None = None,
) -> list[Floor]:
    """The certificate of every divisor that is no constant, by row; see `divisor_floors`."""
    if all(row.op not in POSITIVE for row in program.rows):
        return []
    ranges = ranges or declared_ranges(
        mechanism, wrenches=len(options.wrenches) or 1, contacts=len(options.contacts)
    )
    arithmetic = with_quaternions(arithmetic or arithmetic_of(program.real, text), mechanism)
    recognised = Recognition(mechanism, program, options)
    divisors = recognised.divisors
    pivots = {row: joint for row, joint in divisors.items() if joint is not None}
    by_form = _by_form(program, [row for row, joint in divisors.items() if joint is None])
    lacking = any(not floor.certified for floor in by_form.values())
    felt = constraint_pivots.felt(recognised, options) if lacking else None
    if not pivots and felt is None:
        return [by_form[row] for row in sorted(by_form)]
    bodies = Bodies(mechanism, ranges, options.payload)
    owns = own_inertias(mechanism, bodies)
    known = {
        row: _between(exact, bodies.composite(joint))
        for row, joint in pivots.items()
        if (exact := owns[joint].value) is not None
    }
    forward = propagate(
        program, boxes(program, ranges), arithmetic, known, needs(program, divisors)
    )
    found = _outside_in(pivots, owns, forward, _backward(recognised, bodies, forward, arithmetic))
    if felt is not None:
        for floor in _of_forces(felt, bodies, ranges, options, forward, arithmetic):
            if floor.row in by_form:
                by_form[floor.row] = floor
    return sorted([*by_form.values(), *found], key=lambda floor: floor.row)


def _by_form(program: Program, rows: Sequence[int]) -> dict[int, Floor]:
    """Certify divisors that are no pivots of M: a sum of squares and a constant has a bound by its form."""
    bounds = {row: rounded_down(bound) for row, bound in least(program, rows).items()}
    return {
        row: Floor(row, None, bounds[row], Fraction(0), bounds[row])
        if row in bounds
        else Floor(row, None, reason="it is no pivot of the mass matrix")
        for row in rows
    }


def _outside_in(
    pivots: Mapping[int, int],
    owns: Sequence[Own],
    forward: Mapping[int, Rounded],
    error: Backward | str,
) -> list[Floor]:
    """The certificates of pivots by row, from the last joint to the first: each that has one bounds the round-off of the next."""
    found, roots = [], {} if isinstance(error, str) else constant_roots(error)
    for row, joint in sorted(pivots.items(), key=lambda item: item[1], reverse=True):
        floor = _floor(row, joint, owns[joint], forward[row], error, roots)
        if (
            floor.certified
            and not isinstance(error, str)
            and error.elimination.pivots[joint] == row
        ):
            root = closed_root(error, joint)
            roots = roots if root is None else {**roots, joint: root}
        found.append(floor)
    return found


def _of_forces(
    felt: constraint_pivots.Felt,
    bodies: Bodies,
    ranges: Ranges,
    options: ProgramOptions,
    forward: Mapping[int, Rounded],
    arithmetic: Arithmetic,
) -> list[Floor]:
    """Those of the pivots of what forces of constraints feel: all have one bound, where that is damped."""
    pivots = {row: k for row, k in felt.recognition.divisors.items() if k is not None}
    mu = (
        constraint_pivots.least_damping(felt.recognition, bodies, ranges, options)
        if felt.damped
        else Fraction(0)
    )
    if not mu > 0:
        why = constraint_pivots.LOST if felt.damped else constraint_pivots.SINGULAR
        return [Floor(row, None, reason=why, what=felt.what(k)) for row, k in pivots.items()]
    owns = [Own("", "", mu)] * len(felt.recognition.samples.joints)
    found = _outside_in(
        pivots, owns, forward, constraint_pivots.error_of(felt.recognition, mu, forward, arithmetic)
    )
    return [replace(one, joint=None, what=felt.what(pivots[one.row])) for one in found]


def _between(least: Fraction, most: Any) -> tuple[float, float]:
    """Floats outside of both."""
    return float(np.nextafter(float(least), 0)), float(
        np.nextafter(float(upper_bound(most)), np.inf)
    )


def _backward(
    recognised: Recognition, bodies: Bodies, forward: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Backward | str:
    """The backward error of the elimination, or why there is none."""
    try:
        return backward(read_elimination(recognised), bodies, forward, arithmetic)
    except NoElimination as why:
        return str(why)


def _floor(
    row: int, joint: int, own: Own, forward: Rounded, error: Backward | str, roots: Roots
) -> Floor:
    """By the better of the two analyses; `roots` are those of the joints further out that are certified."""
    exact = own.value
    if exact is None:
        return Floor(row, joint, reason=own.reason)
    if isinstance(error, str):
        eta: Any = error
    elif error.elimination.pivots[joint] != row:
        eta = "another row is the pivot of this joint in the elimination"
    else:
        eta = share(error, joint, roots)
    bounds = [Fraction(most)] if np.isfinite(most := float(np.max(forward.error))) else []
    if not isinstance(eta, str) and eta < 1:
        bounds.append(upper_bound(eta) * exact)
    lost = min(bounds, default=None)
    if lost is not None and lost < exact:
        return Floor(row, joint, exact, lost, rounded_down(exact - lost))
    reason = (
        "no bound of its round-off is known"
        if lost is None
        else f"its round-off is only known to be below {float(lost):.2g}"
    )
    return Floor(
        row, joint, exact, lost, None, f"{reason}; {eta}" if isinstance(eta, str) else reason
    )


def rounded_down(value: Fraction) -> Fraction:
    """`value` rounded down to _DIGITS digits."""
    digits = _DIGITS
    while value * 10**digits < 10 ** (_DIGITS - 1):
        digits += 1
    return Fraction(int(value * 10**digits), 10**digits)
