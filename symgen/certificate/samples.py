"""The rows of a Program, and what the mass matrix is made of, at a few random states: what `recognition` compares.

M(q) comes from the reference, which shares nothing with the Program. From it come the pivots D_k of M = U D Uᵀ (Saha,
(17)-(18); Rodriguez & Kreutz 1988, (4.11)), the reduced entries and the multipliers of the reverse Gaussian elimination (Saha,
(25)-(30)), and the gains (Rodriguez & Kreutz, (5.12)). All numbers are balls of 80 digits and more. This is how
`symgen verify` decides equality as well: two different functions agree there with probability nil, but it is no formal proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from symgen.certificate.mimic import filled
from symgen.derivation.closed_forms import joint_form
from symgen.derivation.constants import Mat3, Vec3, angle_of
from symgen.derivation.model.spin import NO_SPIN, Spin
from symgen.ir.program import Numbers, Port, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import added, cross, times, transposed
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, Scalars, arb, atan2
from symgen.reference.states import draw_derivative_arguments, draw_states
from symgen.vocabulary.options import ProgramOptions

DIGITS, STATES, SEED = 80, 3, 271828
_EQUAL = flint.arb(10) ** -40
"""Of the larger magnitude: two values nearer than this are one."""

Values = tuple[Any, ...]
"""One ball a state."""
Pair = tuple[int, int]


@dataclass(frozen=True)
class Elimination:
    """Of M at the states: `reduced[i, k]` = i_ik^(k) for i ≤ k, its diagonal the pivots, and `factors[i, k]` = α_ik for i < k."""

    reduced: dict[Pair, Values]
    factors: dict[Pair, Values]


@dataclass(frozen=True)
class Samples:
    """The values of all `rows` of `program` and the `elimination` of the mass matrix at the same states."""

    program: Program
    rows: tuple[Values, ...]
    elimination: Elimination
    size: Any
    """The largest entry of M at the states."""
    reference: Reference
    states: dict[str, Array]

    @classmethod
    def drawn(cls, mechanism: Mechanism, program: Program, options: ProgramOptions) -> Samples:
        scalars = arb(
            DIGITS + 5 * mechanism.longest // 4
        )  # an elimination over balls loses about a digit a joint
        states = {
            name: scalars.array(x)
            for name, x in draw_states(
                mechanism,
                STATES,
                SEED,
                options.payload,
                options.wrench,
                {port.name: port.shape for port in program.inputs},
            ).items()
        }
        if "active" in states:  # no switches, which make rows equal that are not
            states["active"] = scalars.array(
                draw_derivative_arguments({"switches": states["active"].shape[1:]}, STATES, SEED)[
                    "switches"
                ]
            )
        reference = Reference(mechanism, scalars, payload=options.payload)
        with scalars.working():
            mass = reference.mass_matrix(states["q"], states.get("payload"))
            size = max(abs(x).abs_upper() for x in np.diagonal(mass, axis1=-2, axis2=-1).ravel())
            found = eliminated(mass, _carriers(mechanism, reference))
            return cls(program, _values(program, states, scalars), found, size, reference, states)

    @property
    def scalars(self) -> Scalars:
        return self.reference.scalars

    @property
    def joints(self) -> range:
        """The rows of the matrix: of M the entries of v."""
        return range(sum(i == k for i, k in self.elimination.reduced))

    def valued(self, program: Program) -> tuple[Values, ...]:
        """Every row of another Program at the same states."""
        return _values(program, self.states, self.scalars)

    def same(self, a: Values, b: Values) -> int:
        """1 where both are the same number at every state, −1 where one is the other's negative, else 0."""
        first, second = abs(float(a[0])), abs(float(b[0]))
        if abs(first - second) > 1e-6 * max(first, second):
            return 0
        with self.scalars.working():
            for sign in (1, -1):
                if all(_near(x, sign * y) for x, y in zip(a, b, strict=True)):
                    return sign
        return 0

    def is_zero(self, a: Values) -> bool:
        """Whether an entry of the elimination vanishes at the states; one whose ball is too wide to say so does not."""
        with self.scalars.working():
            return all(x.contains(0) and abs(x) <= _EQUAL * self.size for x in a)

    def constant(self, values: Values) -> bool:
        """Whether a quantity is the same at all states."""
        return all(self.same(values, (x,) * len(values)) == 1 for x in values)

    def product(self, a: Values, b: Values) -> Values:
        with self.scalars.working():
            return tuple(x * y for x, y in zip(a, b, strict=True))

    def gain(self, k: int, placement: tuple[Mat3, Vec3], slack: Spin = NO_SPIN) -> list[Values]:
        """G_k = P_k H_kᵀ D_k⁻¹ (RK 5.12), moment and force about an origin and in axes at `placement` on the body of k, these
        turned back by `slack` about their z axis.

        P_k H_kᵀ is the momentum of all that joint k carries when k moves at rate 1, those inward are locked and those further
        out are free. Of a joint's several degrees of freedom, the later ones count as further out.
        The reference's Jacobians and the multipliers of M give it: no articulated inertia is asked for.
        """
        with self.scalars.working():
            placed, rates = self.reference.placements(self.states["q"]), self._free_rates(k)
            axes, about = self.in_outer_frame(self.reference.mechanism.dofs[k][0], placement, slack)
            moment, force = 0 * about, 0 * about
            for part in self.reference.parts(self.states.get("payload")):
                support = self.reference.supports[part.body]
                if k in support:
                    at = placed[part.body]
                    centre = at.shift[0] + times(at.turn[0], part.centre)
                    angular, linear = self.reference.columns(part.body, centre, placed)
                    x = np.stack([rates.get(j, 0 * rates[k]) for j in support], axis=-1)
                    push = part.mass[..., None] * times(linear, x)
                    spin = times(
                        at.turn[0],
                        times(part.inertia, times(transposed(at.turn[0]), times(angular, x))),
                    )
                    moment, force = moment + spin + cross(centre - about, push), force + push
            back, pivot = (
                transposed(axes),
                np.array(self.elimination.reduced[k, k], dtype=object)[:, None],
            )
            return [
                tuple(column)
                for vector in (moment, force)
                for column in (times(back, vector) / pivot).T
            ]

    def in_outer_frame(
        self, link: int, placement: tuple[Mat3, Vec3], slack: Spin = NO_SPIN
    ) -> tuple[Array, Array]:
        """The axes (STATES, 3, 3) and the origin (STATES, 3) of a frame on a link at `placement`, its axes turned back by `slack`
        about their z axis."""
        axes, origin = (self.scalars.array(np.array(x, dtype=object)) for x in placement)
        axes = axes if slack.is_zero else axes @ transposed(self._spin_matrix(slack))
        body = self.reference.placements(self.states["q"])[link]
        return body.turn[0] @ axes, body.shift[0] + times(body.turn[0], origin)

    def _spin_matrix(self, spin: Spin) -> Array:
        """Return the turn about z (STATES, 3, 3) by the sum of the joints' angles; a follower's angle is that of its leader."""
        motion = self.reference
        angle = self.scalars.array([0] * STATES) + self.scalars.array([angle_of(*spin.constant)])
        for i, sign in spin.terms:
            place = joint_form(motion.mechanism.joints[i].kind).angle
            assert place is not None
            angle = angle + sign * motion.joint_coordinates(i, self.states["q"])[:, place]
        c, s, zero, one = np.cos(angle), np.sin(angle), 0 * angle, 0 * angle + 1
        return np.stack(
            [np.stack(row, axis=-1) for row in ((c, -s, zero), (s, c, zero), (zero, zero, one))],
            axis=-2,
        )

    def _free_rates(self, k: int) -> dict[int, Array]:
        """By entry of v, the rates of what k carries: 1 for k itself, and x_j = −Σ α_ij x_i, which leaves no momentum along j."""
        one = self.scalars.array([1] * STATES)
        rates = {k: one}
        carriers = _carriers(self.reference.mechanism, self.reference)
        for j in self.joints:
            between = [i for i in carriers[j] if i != j and i in rates]
            if between:
                rates[j] = -added(
                    np.array(self.elimination.factors[i, j], dtype=object) * rates[i]
                    for i in between
                )
        return rates


def _carriers(mechanism: Mechanism, reference: Reference) -> list[list[int]]:
    """Of each entry of v, the entries that move what it moves, ascending, itself last; where joints follow others, those that the
    elimination couples it with."""
    if mechanism.coupled:
        return filled(mechanism)
    return [
        [k for k in reference.supports[body] if k <= j]
        for j, (body, _) in enumerate(mechanism.dofs)
    ]


def _near(a: Any, b: Any) -> bool:
    size = max(flint.arb(abs(a)).abs_upper(), flint.arb(abs(b)).abs_upper())
    return bool(abs(a - b) <= _EQUAL * size)


def _values(program: Program, states: dict[str, Array], scalars: Scalars) -> tuple[Values, ...]:
    """Every row of `program` at the states."""
    count = len(program.rows)
    everything = replace(program, outputs=(Port("rows", (count,), tuple(range(count))),))
    elements = {port.name: list(states[port.name].reshape(STATES, -1).T) for port in program.inputs}
    found = evaluate(
        everything, elements, Numbers(scalars.constant, np.sin, np.cos, np.sqrt, np.log, atan2)
    )["rows"]
    return tuple(tuple(np.broadcast_to(np.asarray(x, dtype=object), (STATES,))) for x in found)


def eliminated(M: Array, supports: list[list[int]]) -> Elimination:
    """SA (25)-(30): M_ij, and what is left of it, vanishes but for those that `supports` say of every entry of v."""
    n = M.shape[-1]
    rows = {(i, j): M[:, i, j] for j in range(n) for i in supports[j]}
    factors: dict[Pair, Array] = {}
    for j in reversed(range(n)):
        above = supports[j][:-1]
        for i in above:
            factors[i, j] = rows[i, j] / rows[j, j]
        for i in above:
            for k in above:
                if i <= k:
                    rows[i, k] = rows[i, k] - factors[i, j] * rows[k, j]
    return Elimination(
        *({pair: tuple(values) for pair, values in found.items()} for found in (rows, factors))
    )
