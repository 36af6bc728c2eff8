"""Certificate of the divisors: D_k ≥ H_kᵀ M_k H_k of the declared, lumped link for all q, less a
bound of round-off.

There is one pivot per entry of v. For a joint with several entries, the pivot of the link's HᵀMH
replaces H_kᵀ M_k H_k (`bodies`). The bound of the exact number is proved for every configuration
(`bodies`), in rationals if axis and pose are rational. The bound of the computed number is proved
over the box of `ranges`, by the better of two analyses: the forward errors of the rows
(`rounding`), and the backward error of the elimination (`elimination`, `backward`). Rows are
assigned to D_k by their values at random states (`recognition`). A divisor that cannot be proved
has no certificate, with the reason. The matrix of constraint forces, A M⁻¹ Aᵀ, has pivots too; they
have a bound if the matrix is damped. Another divisor may be a sum of squares and a constant: then
it has a bound by its form (`sum_of_squares`).
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
    relative_error,
)
from symgen.certificate.bodies import Ball, Bodies
from symgen.certificate.boxes import subdivide
from symgen.certificate.elimination import NoElimination, read_elimination
from symgen.certificate.intervals import down, summed
from symgen.certificate.ranges import Ranges, declared_ranges
from symgen.certificate.recognition import POSITIVE, Recognition
from symgen.certificate.rounding import Arithmetic, Rounded, propagate, required_rows
from symgen.certificate.samples import Samples, eliminate
from symgen.certificate.sum_of_squares import positive_bounds
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
"""Digits of a bound: few, so that it prints exactly and does not depend on a library's last digit.
"""


@dataclass(frozen=True)
class OwnInertia:
    """Inertia of one degree of freedom by its own body: `value` = H_kᵀ M_k H_k in kg m² or kg, or
    the pivot of that block.

    `value` is exact or a lower bound; None with the reason. `joint` is the name of the entry of v:
    the joint's name if it has one entry.
    """

    joint: str
    link: str
    value: Fraction | None
    reason: str = ""


@dataclass(frozen=True)
class DivisorCertificate:
    """Certificate of one divisor of a Program.

    `joint` is the entry of v whose pivot row `row` is; None if it is no pivot of M. `exact_bound` ≤
    D_k for all q, and `round_off` bounds the round-off over the box. `lower_bound` = `exact_bound`
    − `round_off` is at most the computed D_k; None, with the reason, if that is not proved. The sum
    of a constant and squares is no pivot: its bound holds in any state, with `round_off` zero.
    `description` names a pivot of another matrix.
    """

    row: int
    joint: int | None
    exact_bound: Fraction | None = None
    round_off: Fraction | None = None
    lower_bound: Fraction | None = None
    reason: str = ""
    description: str = ""

    @property
    def certified(self) -> bool:
        return self.lower_bound is not None


def arithmetic_of(real: str, text: TextOptions = PLAIN) -> Arithmetic:
    """Return the arithmetic of C with these options."""
    return Arithmetic(real, SINE_ULPS[text.trig])


def with_quaternions(arithmetic: Arithmetic, mechanism: Mechanism) -> Arithmetic:
    """Return the arithmetic with the entries of q that belong to unit quaternions."""
    return replace(
        arithmetic,
        unit_entries=frozenset(
            i for first in mechanism.quaternions for i in range(first, first + 4)
        ),
    )


def own_inertias(mechanism: Mechanism, bodies: Bodies | None = None) -> list[OwnInertia]:
    """Return H_kᵀ M_k H_k of each entry of v; None if it is 0, or if energy could be negative
    further out.

    A run-time load is excluded: it can only increase the value.
    """
    bodies = bodies or Bodies(mechanism, declared_ranges(mechanism))
    result = []
    for entry, (name, (i, _)) in enumerate(
        zip(mechanism.velocity_names, mechanism.dofs, strict=True)
    ):
        links = (
            " + ".join(
                mechanism.bodies[driven_body.body].name
                for driven_body in bodies.independent_bodies(entry)
            )
            or mechanism.bodies[i].name
        )
        weakness = next(
            (
                reason
                for b in bodies.moved_bodies(entry)
                if (reason := bodies.weakness(b)) is not None
            ),
            None,
        )
        inertia = bodies.own_inertia(entry)
        value = None if inertia is None else lower_bound(inertia)
        if weakness is not None:
            result.append(OwnInertia(name, links, None, weakness))
        elif value is None or value <= 0:
            result.append(OwnInertia(name, links, None, _why_zero(bodies, entry)))
        else:
            result.append(OwnInertia(name, links, value))
    return result


def _why_zero(bodies: Bodies, entry: int) -> str:
    """Return why H_kᵀ M_k H_k, or the pivot of that block, is zero."""
    if bodies.own_inertia(entry) is None and (reason := bodies.branching(entry)) is not None:
        return reason
    body = bodies.mechanism.dofs[entry][0]
    link = f"link '{bodies.mechanism.bodies[body].name}'"
    if len(bodies.entries(body)) > 1:
        return (
            f"{link} alone can move along '{bodies.mechanism.velocity_names[entry]}' without energy"
        )
    quantity = "moment of inertia about its joint's axis" if bodies.turns(entry) else "mass"
    return f"{link} has no {quantity} of its own"


def lower_bound(value: Any) -> Fraction:
    """Return a constant as a Fraction; an irrational one is rounded down to the lower end of its
    ball.
    """
    if constants.is_rational(value):
        return Fraction(int(value.p), int(value.q))
    with constants.precision():
        mantissa, exponent = value.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def upper_bound(value: Any) -> Fraction:
    """Return the upper end of a ball as a Fraction."""
    with constants.precision():
        return -lower_bound(-flint.arb(value))


def certified_bounds(
    mechanism: Mechanism, program: Program, options: ProgramOptions, text: TextOptions = PLAIN
) -> dict[int, Fraction]:
    """Return {row: bound} of every certified divisor of `program`.

    Over the box of `declared_ranges`, the number that C computes for that row in `program.real` is
    at least the bound, which is positive (kg m² or kg; for other divisors, the row's own unit).

    The proof rests on `samples` (rows are identified by value at random states) and `Arithmetic`
    (assumptions about the machine). Divisors without a certificate, and constant divisors, are
    absent.
    """
    return {
        certificate.row: certificate.lower_bound
        for certificate in certify_divisors(mechanism, program, options, text)
        if certificate.lower_bound is not None
    }


def certify_divisors(
    mechanism: Mechanism,
    program: Program,
    options: ProgramOptions,
    text: TextOptions = PLAIN,
    *,
    ranges: Ranges | None = None,
    arithmetic: Arithmetic | None = None,
) -> list[DivisorCertificate]:
    """Return the certificate of every divisor that is not constant, sorted by row."""
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
    some_uncertified = any(not certificate.certified for certificate in by_form.values())
    constraints = find_constraint_pivots(recognised, options) if some_uncertified else None
    if not pivots and constraints is None:
        return [by_form[row] for row in sorted(by_form)]
    bodies = Bodies(mechanism, ranges, options.payload)
    own_values = own_inertias(mechanism, bodies)
    exact_bounds = {
        row: _float_bounds(exact, bodies.composite(joint))
        for row, joint in pivots.items()
        if (exact := own_values[joint].value) is not None
    }
    forward = propagate(
        program,
        subdivide(program, ranges),
        arithmetic,
        exact_bounds,
        required_rows(program, divisors),
    )
    certified = _certify_pivots(
        pivots, own_values, forward, _backward(recognised, bodies, forward, arithmetic)
    )
    if constraints is not None:
        for certificate in _certify_constraint_pivots(
            constraints, bodies, ranges, options, forward, arithmetic
        ):
            if certificate.row in by_form:
                by_form[certificate.row] = certificate
    return sorted([*by_form.values(), *certified], key=lambda certificate: certificate.row)


def _by_form(program: Program, rows: Sequence[int]) -> dict[int, DivisorCertificate]:
    """Certify divisors that are no pivots of M: a sum of squares and a constant has a bound by its
    form.
    """
    bounds = {row: rounded_down(bound) for row, bound in positive_bounds(program, rows).items()}
    return {
        row: DivisorCertificate(row, None, bounds[row], Fraction(0), bounds[row])
        if row in bounds
        else DivisorCertificate(row, None, reason="it is no pivot of the mass matrix")
        for row in rows
    }


def _certify_pivots(
    pivots: Mapping[int, int],
    own_values: Sequence[OwnInertia],
    forward: Mapping[int, Rounded],
    error: Backward | str,
) -> list[DivisorCertificate]:
    """Return the certificates of pivots by row, from the last joint to the first; a certified pivot
    bounds the round-off of the next.
    """
    result, roots = [], {} if isinstance(error, str) else constant_roots(error)
    for row, joint in sorted(pivots.items(), key=lambda item: item[1], reverse=True):
        certificate = _certify_divisor(row, joint, own_values[joint], forward[row], error, roots)
        if (
            certificate.certified
            and not isinstance(error, str)
            and error.elimination.pivots[joint] == row
        ):
            root = closed_root(error, joint)
            roots = roots if root is None else {**roots, joint: root}
        result.append(certificate)
    return result


def _certify_constraint_pivots(
    constraints: ConstraintPivots,
    bodies: Bodies,
    ranges: Ranges,
    options: ProgramOptions,
    forward: Mapping[int, Rounded],
    arithmetic: Arithmetic,
) -> list[DivisorCertificate]:
    """Certify the pivots of T: all have one bound, if T is damped."""
    pivots = {row: k for row, k in constraints.recognition.divisors.items() if k is not None}
    mu = (
        least_damping(constraints.recognition, bodies, ranges, options)
        if constraints.damped
        else Fraction(0)
    )
    if not mu > 0:
        reason = LOST if constraints.damped else SINGULAR
        return [
            DivisorCertificate(row, None, reason=reason, description=constraints.describe_pivot(k))
            for row, k in pivots.items()
        ]
    own_values = [OwnInertia("", "", mu)] * len(constraints.recognition.samples.joints)
    certified = _certify_pivots(
        pivots,
        own_values,
        forward,
        _constraint_error(constraints.recognition, mu, forward, arithmetic),
    )
    return [
        replace(
            certificate, joint=None, description=constraints.describe_pivot(pivots[certificate.row])
        )
        for certificate in certified
    ]


def _float_bounds(lower: Fraction, upper: Any) -> tuple[float, float]:
    """Return floats outside of both bounds."""
    return float(np.nextafter(float(lower), 0)), float(
        np.nextafter(float(upper_bound(upper)), np.inf)
    )


def _backward(
    recognised: Recognition, bodies: Bodies, forward: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Backward | str:
    """Return the backward error of the elimination, or why there is none."""
    try:
        return backward(read_elimination(recognised), bodies, forward, arithmetic)
    except NoElimination as error:
        return str(error)


def _certify_divisor(
    row: int, joint: int, inertia: OwnInertia, forward: Rounded, error: Backward | str, roots: Roots
) -> DivisorCertificate:
    """Certify a pivot by the better of the two analyses; `roots` are those of the certified joints
    further out.
    """
    exact = inertia.value
    if exact is None:
        return DivisorCertificate(row, joint, reason=inertia.reason)
    if isinstance(error, str):
        eta: Any = error
    elif error.elimination.pivots[joint] != row:
        eta = "another row is the pivot of this joint in the elimination"
    else:
        eta = relative_error(error, joint, roots)
    bounds = (
        [Fraction(forward_error)]
        if np.isfinite(forward_error := float(np.max(forward.error)))
        else []
    )
    if not isinstance(eta, str) and eta < 1:
        bounds.append(upper_bound(eta) * exact)
    lost = min(bounds, default=None)
    if lost is not None and lost < exact:
        return DivisorCertificate(row, joint, exact, lost, rounded_down(exact - lost))
    reason = (
        "no bound of its round-off is known"
        if lost is None
        else f"its round-off is only known to be below {float(lost):.2g}"
    )
    return DivisorCertificate(
        row, joint, exact, lost, None, f"{reason}; {eta}" if isinstance(eta, str) else reason
    )


def rounded_down(value: Fraction) -> Fraction:
    """Return `value` rounded down to _DIGITS digits."""
    digits = _DIGITS
    while value * 10**digits < 10 ** (_DIGITS - 1):
        digits += 1
    return Fraction(int(value * 10**digits), 10**digits)


# -- pivots of the forces of constraints --
#
# If the solve is damped: T = S + μ 1, S = A M⁻¹ Aᵀ, μ a fraction of tr S.
#
# S is positive semidefinite for any A. So T ≥ μ, and so are its Schur complements, the pivots, even
# if the rows of A are
# dependent: in no pose of a closed loop, and for no set of active contacts, is a pivot below μ. By
# Cauchy (A x)_i² ≤ S_ii xᵀMx, hence
#
#     tr S ≥ |a_k|²/M_kk  for each column a_k of A.
#
# For a closed loop the columns are enclosed over the cells of the box. For a contact the columns of
# its own link's joint have constant
# length, and so have those of translations. A row that a switch multiplies by s has s² S_ii + 1 − s
# on the diagonal.
# With closed loops and contacts, both are among the rows, and tr S is the sum.
#
# The elimination of T is that of a mass matrix whose rows are counted from the last, so that
# `elimination` reads it and `backward`
# bounds its round-off, with √μ |x_b| for the energies: Σ e² ≤ xᵀTx. An undamped S has no such
# bound: it is singular where the
# rows of A are dependent, as those of closed loops and contacts are in some poses.


IDLE = Fraction(3, 2)
"""Minimum of 3 (1 − s) + s² t over 0 ≤ s ≤ 1 for t ≥ 3/2; for smaller t the minimum is t."""
SINGULAR = (
    "it is zero where the rows of A depend on each other; no bound is known, and --checked compares"
    " it with the smallest normal number"
)
"""Reason why an undamped matrix has no bound."""
LOST = "no column of A is known to be longer than zero"
"""Reason why a damped matrix may have no bound."""


class ConstraintPivots(NamedTuple):
    """Rows of a Program that are pivots of T, counted from its last row; `damped` is False if μ is
    zero.
    """

    recognition: Recognition
    damped: bool

    def describe_pivot(self, k: int) -> str:
        """Return a description of a pivot."""
        return (
            f"({'damped ' if self.damped else ''}row {len(self.recognition.samples.joints) - k} of"
            " A M^-1 A^T)"
        )


@dataclass(frozen=True)
class Damped:
    """T ≥ μ, with the interface of `backward.Energies`; `most` are upper bounds of T_kk."""

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
        return {b: row for b, row in rates.items() if b != k}


def find_constraint_pivots(
    recognition: Recognition, options: ProgramOptions
) -> ConstraintPivots | None:
    """Find the pivots of T in a Program; None if it eliminates no T."""
    function, mechanism, samples = recognition.function, recognition.mechanism, recognition.samples
    if not FUNCTIONS[function].solves_constraints:
        return None
    loops, has_contacts = (
        loop_closure.depends_on_loops(mechanism, function),
        FUNCTIONS[function].counts("NT"),
    )
    damped = (
        touching.solve_count(mechanism, options.contacts)
        if has_contacts
        else loop_closure.solve_count(mechanism)
    ) > 1
    with samples.scalars.working():
        closure_parts = [_closure_rows(samples, mechanism, options)] if loops else []
        for contact_parts in _contact_rows(recognition, options) if has_contacts else [()]:
            A, switch = (
                np.concatenate(arrays, axis=1)
                for arrays in zip(*closure_parts, *contact_parts, strict=True)
            )
            candidate = Recognition(
                mechanism, samples.program, options, _constraint_samples(samples, A, switch, damped)
            )
            if any(joint is not None for joint in candidate.divisors.values()):
                return ConstraintPivots(candidate, damped)
    return None


def _constraint_samples(samples: Samples, A: Array, switch: Array, damped: bool) -> Samples:
    """Return samples at the same states with T as the eliminated matrix; `switch` (STATES, m)
    multiplies the rows of A.
    """
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
        samples, elimination=eliminate(T, [[*range(j + 1)] for j in range(m)]), size=size
    )


def _closure_rows(
    samples: Samples, mechanism: Mechanism, options: ProgramOptions
) -> tuple[Array, Array]:
    """Return A at the states, by the function's own formulas; the loops may be open, since any A is
    valid.
    """
    jacobian = _jacobian(samples, mechanism, options)
    (port,) = jacobian.outputs
    values = samples.values_of(jacobian)
    A = np.array([values[row] for row in port.rows], dtype=object).T.reshape(-1, *port.shape)
    return A, samples.scalars.array(np.ones(A.shape[:-1], dtype=int))


def _jacobian(samples: Samples, mechanism: Mechanism, options: ProgramOptions) -> Program:
    """Return the Program of A as the function computes it; derivatives and stabilization need it
    for open loops too.
    """
    anywhere = (
        options.baumgarte or derivatives.parse_derivative(samples.program.function) is not None
    )
    return build.build_program(
        mechanism, "constraint_jacobian", None, ProgramOptions(anywhere=anywhere)
    )


def _contact_rows(
    recognition: Recognition, options: ProgramOptions
) -> Iterator[list[tuple[Array, Array]]]:
    """Yield A and the switches of each contact, for each frame choice of the links in whose axes
    the rows may be expressed.
    """
    samples = recognition.samples
    reference = Reference(
        recognition.mechanism, samples.scalars, payload=options.payload, contact=options.contact
    )
    A = contacts.jacobian(reference, samples.states["q"])
    switch = np.repeat(samples.states["active"], contacts.AXES, axis=-1)
    for model in recognition.models:
        rows_and_switches = []
        for index, frame in enumerate(reference.contacts):
            rows = slice(contacts.AXES * index, contacts.AXES * (index + 1))
            path = [frame.body, *model.ancestors(frame.body)]
            link = model.links[path[max(len(path) - 2, 0)]]
            axes, _ = samples.in_outer_frame(
                path[max(len(path) - 2, 0)], link.placement, link.slack
            )
            rows_and_switches.append((transposed(axes) @ A[:, rows], switch[:, rows]))
        yield rows_and_switches


def least_damping(
    recognition: Recognition, bodies: Bodies, ranges: Ranges, options: ProgramOptions
) -> Fraction:
    """Return a lower bound of μ over the box; 0 if none is known."""
    function, mechanism, m = recognition.function, bodies.mechanism, len(recognition.samples.joints)
    mass_bounds = [
        float(np.nextafter(float(bodies.composite(k).upper()), np.inf)) for k in range(mechanism.nv)
    ]
    loops, has_contacts = (
        loop_closure.depends_on_loops(mechanism, function),
        FUNCTIONS[function].counts("NT"),
    )
    trace = (
        _closure_trace_bound(
            _jacobian(recognition.samples, mechanism, options), mass_bounds, ranges
        )
        if loops
        else Fraction(0)
    )
    return (
        DAMPING
        / m
        * (
            trace
            + (_contact_trace_bound(mechanism, bodies, mass_bounds, options) if has_contacts else 0)
        )
    )


def _closure_trace_bound(jacobian: Program, mass_bounds: list[float], ranges: Ranges) -> Fraction:
    """Return a lower bound of tr S of the closed loops, by the best column over each cell."""
    (port,) = jacobian.outputs
    rows = propagate(
        jacobian,
        subdivide(jacobian, ranges),
        Arithmetic(jacobian.real),
        requested_rows=required_rows(jacobian, port.rows),
    )
    best: Any = np.zeros(1)
    for k in range(len(mass_bounds)):
        square: Any = np.zeros(1)
        for row in port.rows[k :: len(mass_bounds)]:
            least = rows[row].exact.least
            square = np.maximum(down(square + np.maximum(down(least * least), 0)), 0)
        best = np.maximum(best, down(square / mass_bounds[k]))
    return Fraction(max(float(np.min(best)), 0.0))


def _contact_trace_bound(
    mechanism: Mechanism, bodies: Bodies, mass_bounds: list[float], options: ProgramOptions
) -> Fraction:
    """Return a lower bound of tr S of the contacts: each has the bound of one column, or that of
    its inactive rows.
    """
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
                    velocity = constants.add(column.linear, constants.cross(column.angular, lever))
                    if body == point.body or not bodies.turns(k):
                        square = flint.arb(
                            constants.normalize(constants.dot(velocity, velocity))
                        ).lower()
                        best = max(best, float(down(down(float(square)) / mass_bounds[k])))
            total += min(Fraction(best), IDLE)
    return total


def _constraint_error(
    recognition: Recognition, mu: Fraction, forward: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Backward | str:
    """Return the backward error of the elimination of T, or why there is none."""
    try:
        elimination = read_elimination(recognition)
    except NoElimination as error:
        return str(error)
    diagonal_bounds = {}
    for k in recognition.samples.joints:
        leaves = elimination.sums[k, k].leaves if (k, k) in elimination.sums else ()
        diagonal_bounds[k] = flint.arb(
            float(summed(0.0, *(forward[leaf].exact.size.max() for leaf in leaves)))
        )
    return backward(elimination, Damped(mu, diagonal_bounds), forward, arithmetic)
