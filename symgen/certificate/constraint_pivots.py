"""Pivots of what forces of constraints feel, where the solve is damped: T = S + μ 1, S = A M⁻¹ Aᵀ, μ a part of tr S.

S is positive semidefinite whatever A is. So T ≥ μ, and so are its Schur complements, the pivots, wherever the rows of A depend on
each other: no pose of a loop, and no set of points that touch, brings one below μ. By Cauchy (A x)_i² ≤ S_ii xᵀMx, hence

    tr S ≥ |a_k|²/M_kk  for each column a_k of A:

of a loop the columns are enclosed over the cells of the box; of a contact those of its own link's joint are constant in length,
and those of a joint that shifts all that it carries. A row that a switch multiplies by s has s² S_ii + 1 − s on the diagonal.
Where loops are closed beside contacts, both are among the rows, and tr S is the sum.

The elimination of T is that of a mass matrix whose rows are counted from the last, so that `elimination` reads it and `backward`
bounds its round-off, with √μ |x_b| for the energies: Σ e² ≤ xᵀTx. What is not damped has no such bound: S is singular where the
rows of A are dependent, as those of loops and contacts are in some poses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np

from symgen.certificate.backward import Backward, Rates, backward
from symgen.certificate.bodies import Ball, Bodies
from symgen.certificate.boxes import boxes
from symgen.certificate.elimination import NoElimination, read_elimination
from symgen.certificate.intervals import down, summed
from symgen.certificate.ranges import Ranges
from symgen.certificate.recognition import Recognition
from symgen.certificate.rounding import Arithmetic, Rounded, needs, propagate
from symgen.certificate.samples import Samples, eliminated
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
from symgen.vocabulary.options import ProgramOptions

IDLE = Fraction(3, 2)
"""Least of 3 (1 − s) + s² t over 0 ≤ s ≤ 1, where t ≥ 3/2; where it is less, t is."""
SINGULAR = (
    "it is zero where the rows of A depend on each other; no floor is known, and --checked compares it with the smallest "
    "normal number"
)
"""Why what is not damped has no bound."""
LOST = "no column of A is known to be longer than zero"
"""Why what is damped may have none."""


class Felt(NamedTuple):
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


def felt(recognition: Recognition, options: ProgramOptions) -> Felt | None:
    """None where a Program eliminates no T."""
    function, mechanism, samples = recognition.function, recognition.mechanism, recognition.samples
    if not FUNCTIONS[function].solves_constraints:
        return None
    loops, touched = loop_closure.known(mechanism, function), FUNCTIONS[function].counts("NT")
    damped = (
        touching.solves(mechanism, options.contacts) if touched else loop_closure.solves(mechanism)
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
                return Felt(found, damped)
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
    anywhere = options.baumgarte or derivatives.told(samples.program.function) is not None
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
            axes, _ = samples.seen_from(way[max(len(way) - 2, 0)], link.placement, link.slack)
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
    """Of tr S: over each cell the best column."""
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
    """Likewise: each contact has what one column gives it, or what its idle rows have."""
    if mechanism.coupled:
        return Fraction(0)
    total = Fraction(0)
    with constants.precision():
        model = declared(mechanism)
        for point in map(mechanism.contact, options.contacts):
            lever, best = model.placed(point.name, point.body, point.pose).shift, 0.0
            for body in (point.body, *model.ancestors(point.body)):
                for k in bodies.entries(body):
                    column = bodies.column(k)
                    moved = constants.add(column.linear, constants.cross(column.angular, lever))
                    if body == point.body or not bodies.turns(k):
                        square = flint.arb(constants.settle(constants.dot(moved, moved))).lower()
                        best = max(best, float(down(down(float(square)) / most[k])))
            total += min(Fraction(best), IDLE)
    return total


def error_of(
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
