"""The certificate of the divisors: D_k ≥ H_kᵀ M_k H_k of the declared, lumped link for all q, less what round-off can take.

There is a pivot for every entry of v. Where a joint has several, the pivot of the link's HᵀMH stands for H_kᵀ M_k H_k (`bodies`).
The bound of the exact number is proved for every configuration (`bodies`), in rationals where axis and pose are rational.
The bound of the computed number is proved over the box of `ranges`, by the better of two analyses: the rows' own forward
errors (`rounding`), and the backward error of the elimination (`elimination`, `backward`). Which row is which D_k is decided by
its value at random states (`recognition`). What cannot be proved is 'no certificate', with the reason.
The matrix of the forces of constraints, A M⁻¹ Aᵀ, has pivots as well; they have a bound where that matrix is damped. A divisor
that is no pivot may be a sum of squares and a constant: then it has a bound by its form (`sum_of_squares`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np

from symgen.certificate.backward import (
    Backward,
    Rates,
    Roots,
    backward,
    closed_root,
    constant_roots,
    share,
)
from symgen.certificate.bodies import Ball, Bodies
from symgen.certificate.boxes import boxes
from symgen.certificate.elimination import NoElimination, read_elimination
from symgen.certificate.intervals import down, summed
from symgen.certificate.ranges import Ranges, declared_ranges
from symgen.certificate.recognition import POSITIVE, Recognition
from symgen.certificate.rounding import Arithmetic, Rounded, needs, propagate
from symgen.certificate.samples import Samples, eliminated
from symgen.certificate.sum_of_squares import least
from symgen.derivation import constants
from symgen.derivation.model.links import declared
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, loop_closure
from symgen.pipeline import contacts as touching
from symgen.reference import contacts
from symgen.reference.arrays import transposed
from symgen.reference.mechanics import Reference
from symgen.reference.minimum_norm import DAMPING
from symgen.reference.precision import Array
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import FUNCTIONS
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
    if constants.is_rational(value):
        return Fraction(int(value.p), int(value.q))
    with constants.precision():
        mantissa, exponent = value.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def upper_bound(value: Any) -> Fraction:
    """The upper end of a ball."""
    with constants.precision():
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
    constraints = find_constraint_pivots(recognised, options) if lacking else None
    if not pivots and constraints is None:
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
    if constraints is not None:
        for floor in _constraint_floors(constraints, bodies, ranges, options, forward, arithmetic):
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


def _constraint_floors(
    constraints: ConstraintPivots,
    bodies: Bodies,
    ranges: Ranges,
    options: ProgramOptions,
    forward: Mapping[int, Rounded],
    arithmetic: Arithmetic,
) -> list[Floor]:
    """Certify the pivots of T: all have one bound, where T is damped."""
    pivots = {row: k for row, k in constraints.recognition.divisors.items() if k is not None}
    mu = (
        least_damping(constraints.recognition, bodies, ranges, options)
        if constraints.damped
        else Fraction(0)
    )
    if not mu > 0:
        why = LOST if constraints.damped else SINGULAR
        return [Floor(row, None, reason=why, what=constraints.what(k)) for row, k in pivots.items()]
    owns = [Own("", "", mu)] * len(constraints.recognition.samples.joints)
    found = _outside_in(
        pivots, owns, forward, _constraint_error(constraints.recognition, mu, forward, arithmetic)
    )
    return [replace(one, joint=None, what=constraints.what(pivots[one.row])) for one in found]


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


# -- pivots of the forces of constraints --
#
# Where the solve is damped: T = S + μ 1, S = A M⁻¹ Aᵀ, μ a part of tr S.
#
# S is positive semidefinite whatever A is. So T ≥ μ, and so are its Schur complements, the pivots, wherever the rows of A depend on
# each other: no pose of a loop, and no set of points that touch, brings one below μ. By Cauchy (A x)_i² ≤ S_ii xᵀMx, hence
#
#     tr S ≥ |a_k|²/M_kk  for each column a_k of A:
#
# of a loop the columns are enclosed over the cells of the box; of a contact those of its own link's joint are constant in length,
# and those of a joint that shifts all that it carries. A row that a switch multiplies by s has s² S_ii + 1 − s on the diagonal.
# Where loops are closed beside contacts, both are among the rows, and tr S is the sum.
#
# The elimination of T is that of a mass matrix whose rows are counted from the last, so that `elimination` reads it and `backward`
# bounds its round-off, with √μ |x_b| for the energies: Σ e² ≤ xᵀTx. What is not damped has no such bound: S is singular where the
# rows of A are dependent, as those of loops and contacts are in some poses.


IDLE = Fraction(3, 2)
"""Least of 3 (1 − s) + s² t over 0 ≤ s ≤ 1, where t ≥ 3/2; where it is less, t is."""
SINGULAR = (
    "it is zero where the rows of A depend on each other; no floor is known, and --checked compares it with the smallest "
    "normal number"
)
"""Why what is not damped has no bound."""
LOST = "no column of A is known to be longer than zero"
"""Why what is damped may have none."""


class ConstraintPivots(NamedTuple):
    """Which rows of a Program are pivots of T, counted from its last row; and whether μ is in it, which else is zero."""

    recognition: Recognition
    damped: bool

    def what(self, k: int) -> str:
        """A pivot, in words."""
        return f"({'damped ' if self.damped else ''}row {len(self.recognition.samples.joints) - k} of A M^-1 A^T)"


@dataclass(frozen=True)
class Damped:
    """T ≥ μ, as `backward` has it; `most` are upper bounds of T_kk."""

    mu: Fraction
    most: Mapping[int, Ball]

    @property
    def joints(self) -> range:
        return range(len(self.most))

    def name(self, k: int) -> str:
        return f"row {len(self.most) - k}"

    def composite(self, k: int) -> Ball:
        return self.most[k]

    def outward(self, k: int) -> list[int]:
        return [*self.joints[k:]]

    def rates(self, k: int) -> Rates:
        root = 1 / flint.arb(constants.rational(self.mu)).sqrt()
        return {b: {b: root} for b in self.outward(k)}

    def locked(self, k: int, rates: Rates) -> Rates:
        return {b: one for b, one in rates.items() if b != k}


def find_constraint_pivots(
    recognition: Recognition, options: ProgramOptions
) -> ConstraintPivots | None:
    """Find the pivots of T in a Program; None where it eliminates no T."""
    function, mechanism, samples = recognition.function, recognition.mechanism, recognition.samples
    if not FUNCTIONS[function].solves_constraints:
        return None
    loops, touched = loop_closure.known(mechanism, function), FUNCTIONS[function].counts("NT")
    damped = (
        touching.solve_count(mechanism, options.contacts)
        if touched
        else loop_closure.solves(mechanism)
    ) > 1
    with samples.scalars.working():
        first = [_of_loops(samples, mechanism, options)] if loops else []
        for others in _of_contacts(recognition, options) if touched else [()]:
            A, switch = (
                np.concatenate(parts, axis=1) for parts in zip(*first, *others, strict=True)
            )
            found = Recognition(
                mechanism, samples.program, options, _eliminating(samples, A, switch, damped)
            )
            if any(joint is not None for joint in found.divisors.values()):
                return ConstraintPivots(found, damped)
    return None


def _eliminating(samples: Samples, A: Array, switch: Array, damped: bool) -> Samples:
    """The same states, T being what is eliminated; `switch` (STATES, m) multiplies the rows of A."""
    A = switch[..., None] * A
    mass = samples.reference.mass_matrix(samples.states["q"], samples.states.get("payload"))
    S = A @ samples.scalars.solve(mass, transposed(A))
    m = S.shape[-1]
    unit = samples.scalars.array(np.eye(m, dtype=int))
    S = S + (1 - switch)[..., None] * unit
    mu = np.trace(S, axis1=-2, axis2=-1) * samples.scalars.constant(
        DAMPING / m if damped else Fraction(0)
    )
    T = (S + mu[..., None, None] * unit)[:, ::-1, ::-1]
    size = max(abs(x).abs_upper() for x in np.diagonal(T, axis1=-2, axis2=-1).ravel())
    return replace(
        samples, elimination=eliminated(T, [[*range(j + 1)] for j in range(m)]), size=size
    )


def _of_loops(
    samples: Samples, mechanism: Mechanism, options: ProgramOptions
) -> tuple[Array, Array]:
    """A at the states, by the formulas that the function has; they need not be closed, since any A will do."""
    jacobian = _jacobian(samples, mechanism, options)
    (port,) = jacobian.outputs
    values = samples.valued(jacobian)
    A = np.array([values[row] for row in port.rows], dtype=object).T.reshape(-1, *port.shape)
    return A, samples.scalars.array(np.ones(A.shape[:-1], dtype=int))


def _jacobian(samples: Samples, mechanism: Mechanism, options: ProgramOptions) -> Program:
    """A as the function has it: derivatives, and what is pulled together, have it beside closed positions too."""
    anywhere = (
        options.baumgarte or derivatives.parse_derivative(samples.program.function) is not None
    )
    return build.build_program(
        mechanism, "constraint_jacobian", None, ProgramOptions(anywhere=anywhere)
    )


def _of_contacts(
    recognition: Recognition, options: ProgramOptions
) -> Iterator[list[tuple[Array, Array]]]:
    """A and the switches of each contact, in the axes of the links that the rows may stand in: a link next to the root, in one of
    the frames that derivations choose."""
    samples = recognition.samples
    reference = Reference(
        recognition.mechanism, samples.scalars, payload=options.payload, contact=options.contact
    )
    A = contacts.jacobian(reference, samples.states["q"])
    switch = np.repeat(samples.states["active"], contacts.AXES, axis=-1)
    for model in recognition.models:
        turned = []
        for place, frame in enumerate(reference.contacts):
            own = slice(contacts.AXES * place, contacts.AXES * (place + 1))
            way = [frame.body, *model.ancestors(frame.body)]
            link = model.links[way[max(len(way) - 2, 0)]]
            axes, _ = samples.in_outer_frame(way[max(len(way) - 2, 0)], link.placement, link.slack)
            turned.append((transposed(axes) @ A[:, own], switch[:, own]))
        yield turned


def least_damping(
    recognition: Recognition, bodies: Bodies, ranges: Ranges, options: ProgramOptions
) -> Fraction:
    """A lower bound of μ over the box; 0 where none is known."""
    function, mechanism, m = recognition.function, bodies.mechanism, len(recognition.samples.joints)
    most = [
        float(np.nextafter(float(bodies.composite(k).upper()), np.inf)) for k in range(mechanism.nv)
    ]
    loops, touched = loop_closure.known(mechanism, function), FUNCTIONS[function].counts("NT")
    trace = (
        _least_of_loops(_jacobian(recognition.samples, mechanism, options), most, ranges)
        if loops
        else Fraction(0)
    )
    return (
        DAMPING
        / m
        * (trace + (_least_of_contacts(mechanism, bodies, most, options) if touched else 0))
    )


def _least_of_loops(jacobian: Program, most: list[float], ranges: Ranges) -> Fraction:
    """The best column over each cell, for tr S."""
    (port,) = jacobian.outputs
    rows = propagate(
        jacobian,
        boxes(jacobian, ranges),
        Arithmetic(jacobian.real),
        wanted=needs(jacobian, port.rows),
    )
    best: Any = np.zeros(1)
    for k in range(len(most)):
        square: Any = np.zeros(1)
        for row in port.rows[k :: len(most)]:
            least = rows[row].exact.least
            square = np.maximum(down(square + np.maximum(down(least * least), 0)), 0)
        best = np.maximum(best, down(square / most[k]))
    return Fraction(max(float(np.min(best)), 0.0))


def _least_of_contacts(
    mechanism: Mechanism, bodies: Bodies, most: list[float], options: ProgramOptions
) -> Fraction:
    """The bound for contacts: each has the bound of one column, or that of its idle rows."""
    if mechanism.coupled:
        return Fraction(0)
    total = Fraction(0)
    with constants.precision():
        model = declared(mechanism)
        for point in map(mechanism.contact, options.contacts):
            lever, best = model.frame_at(point.name, point.body, point.pose).shift, 0.0
            for body in (point.body, *model.ancestors(point.body)):
                for k in bodies.entries(body):
                    column = bodies.column(k)
                    moved = constants.add(column.linear, constants.cross(column.angular, lever))
                    if body == point.body or not bodies.turns(k):
                        square = flint.arb(constants.normalize(constants.dot(moved, moved))).lower()
                        best = max(best, float(down(down(float(square)) / most[k])))
            total += min(Fraction(best), IDLE)
    return total


def _constraint_error(
    recognition: Recognition, mu: Fraction, forward: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Backward | str:
    """The backward error of the elimination of T, or why there is none."""
    try:
        elimination = read_elimination(recognition)
    except NoElimination as why:
        return str(why)
    most = {}
    for k in recognition.samples.joints:
        leaves = elimination.sums[k, k].leaves if (k, k) in elimination.sums else ()
        most[k] = flint.arb(
            float(summed(0.0, *(forward[leaf].exact.size.max() for leaf in leaves)))
        )
    return backward(elimination, Damped(mu, most), forward, arithmetic)
