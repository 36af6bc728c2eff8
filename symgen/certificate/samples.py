"""Values of a Program's rows, and the elimination of the mass matrix, at a few random states, for
`recognition`.

M(q) is computed by the reference, which shares no code with the Program. From it follow the pivots
D_k of M = U D Uᵀ (Saha, (17)-(18); Rodriguez & Kreutz 1988, (4.11)), the reduced entries and the
multipliers of the reverse Gaussian elimination (Saha, (25)-(30)), and the gains (Rodriguez &
Kreutz, (5.12)). All numbers are balls of at least 80 digits. `symgen verify` decides equality in
the same way: two different functions agree there with probability zero, but it is no formal proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from symgen.certificate.mimic import filled_pattern
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
"""Relative tolerance: two values closer than this are equal."""

Values = tuple[Any, ...]
"""One ball per state."""
Pair = tuple[int, int]


@dataclass(frozen=True)
class Elimination:
    """Elimination of M at the states: `reduced[i, k]` = i_ik^(k) for i ≤ k, with the pivots on its
    diagonal, and `factors[i, k]` = α_ik, i < k.
    """

    reduced: dict[Pair, Values]
    factors: dict[Pair, Values]


@dataclass(frozen=True)
class Samples:
    """Values of all `rows` of `program`, and the `elimination` of the mass matrix, at the same
    states.
    """

    program: Program
    rows: tuple[Values, ...]
    elimination: Elimination
    size: Any
    """The largest entry of M at the states."""
    reference: Reference
    states: dict[str, Array]

    @classmethod
    def at_random_states(
        cls, mechanism: Mechanism, program: Program, options: ProgramOptions
    ) -> Samples:
        scalars = arb(
            DIGITS + 5 * mechanism.longest // 4
        )  # an elimination over balls loses about one digit per joint
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
        if "active" in states:  # values 0 and 1 would make different rows equal
            states["active"] = scalars.array(
                draw_derivative_arguments({"switches": states["active"].shape[1:]}, STATES, SEED)[
                    "switches"
                ]
            )
        reference = Reference(mechanism, scalars, payload=options.payload)
        with scalars.working():
            mass = reference.mass_matrix(states["q"], states.get("payload"))
            size = max(abs(x).abs_upper() for x in np.diagonal(mass, axis1=-2, axis2=-1).ravel())
            elimination = eliminate(mass, _carriers(mechanism, reference))
            return cls(
                program, _values(program, states, scalars), elimination, size, reference, states
            )

    @property
    def scalars(self) -> Scalars:
        return self.reference.scalars

    @property
    def joints(self) -> range:
        """The rows of the matrix; for M the entries of v."""
        return range(sum(i == k for i, k in self.elimination.reduced))

    def values_of(self, program: Program) -> tuple[Values, ...]:
        """Return the values of every row of another Program at the same states."""
        return _values(program, self.states, self.scalars)

    def same(self, a: Values, b: Values) -> int:
        """Return 1 if both are equal at every state, −1 if one is the negative of the other, else
        0.
        """
        first, second = abs(float(a[0])), abs(float(b[0]))
        if abs(first - second) > 1e-6 * max(first, second):
            return 0
        with self.scalars.working():
            for sign in (1, -1):
                if all(_are_close(x, sign * y) for x, y in zip(a, b, strict=True)):
                    return sign
        return 0

    def is_zero(self, a: Values) -> bool:
        """True if an entry of the elimination vanishes at the states; False if its ball is too wide
        to decide.
        """
        with self.scalars.working():
            return all(x.contains(0) and abs(x) <= _EQUAL * self.size for x in a)

    def constant(self, values: Values) -> bool:
        """True if a quantity is equal at all states."""
        return all(self.same(values, (x,) * len(values)) == 1 for x in values)

    def product(self, a: Values, b: Values) -> Values:
        with self.scalars.working():
            return tuple(x * y for x, y in zip(a, b, strict=True))

    def gain(self, k: int, placement: tuple[Mat3, Vec3], slack: Spin = NO_SPIN) -> list[Values]:
        """Return G_k = P_k H_kᵀ D_k⁻¹ (RK 5.12), moment and force in the frame at `placement` on
        the body of k.

        The axes of that frame are rotated back by `slack` about their z axis. P_k H_kᵀ is the
        momentum of the descendants of joint k when k moves at rate 1, with joints inward locked and
        those further out free. Later degrees of freedom of the same joint count as further out. The
        momentum follows from the reference's Jacobians and the multipliers of M, without an
        articulated inertia.
        """
        with self.scalars.working():
            placements, rates = self.reference.placements(self.states["q"]), self._free_rates(k)
            axes, reference_point = self.in_outer_frame(
                self.reference.mechanism.dofs[k][0], placement, slack
            )
            moment, force = 0 * reference_point, 0 * reference_point
            for part in self.reference.parts(self.states.get("payload")):
                support = self.reference.supports[part.body]
                if k in support:
                    placement_ = placements[part.body]
                    centre = placement_.shift[0] + times(placement_.turn[0], part.centre)
                    angular, linear = self.reference.columns(part.body, centre, placements)
                    x = np.stack([rates.get(j, 0 * rates[k]) for j in support], axis=-1)
                    linear_momentum = part.mass[..., None] * times(linear, x)
                    angular_momentum = times(
                        placement_.turn[0],
                        times(
                            part.inertia, times(transposed(placement_.turn[0]), times(angular, x))
                        ),
                    )
                    moment, force = (
                        moment
                        + angular_momentum
                        + cross(centre - reference_point, linear_momentum),
                        force + linear_momentum,
                    )
            inverse, pivot = (
                transposed(axes),
                np.array(self.elimination.reduced[k, k], dtype=object)[:, None],
            )
            return [
                tuple(column)
                for vector in (moment, force)
                for column in (times(inverse, vector) / pivot).T
            ]

    def in_outer_frame(
        self, link: int, placement: tuple[Mat3, Vec3], slack: Spin = NO_SPIN
    ) -> tuple[Array, Array]:
        """Return axes (STATES, 3, 3) and origin (STATES, 3) of a frame on a link at `placement`.

        The axes are rotated back by `slack` about their z axis.
        """
        axes, origin = (self.scalars.array(np.array(x, dtype=object)) for x in placement)
        axes = axes if slack.is_zero else axes @ transposed(self._spin_matrix(slack))
        body = self.reference.placements(self.states["q"])[link]
        return body.turn[0] @ axes, body.shift[0] + times(body.turn[0], origin)

    def _spin_matrix(self, spin: Spin) -> Array:
        """Return the rotation about z (STATES, 3, 3) by the sum of the joints' angles; a follower's
        angle is that of its leader.
        """
        motion = self.reference
        angle = self.scalars.array([0] * STATES) + self.scalars.array([angle_of(*spin.constant)])
        for i, sign in spin.terms:
            coordinate = joint_form(motion.mechanism.joints[i].kind).angle
            assert coordinate is not None
            angle = angle + sign * motion.joint_coordinates(i, self.states["q"])[:, coordinate]
        c, s, zero, unit = np.cos(angle), np.sin(angle), 0 * angle, 0 * angle + 1
        return np.stack(
            [np.stack(row, axis=-1) for row in ((c, -s, zero), (s, c, zero), (zero, zero, unit))],
            axis=-2,
        )

    def _free_rates(self, k: int) -> dict[int, Array]:
        """Return the rates of the entries further out: 1 for k itself, and x_j = −Σ α_ij x_i, which
        leaves no momentum along j.
        """
        unit = self.scalars.array([1] * STATES)
        rates = {k: unit}
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
    """Return for each entry of v the entries of the joints that carry it, ascending, with the entry
    itself last. With mimic joints, these are the entries that the elimination couples with it.
    """
    if mechanism.coupled:
        return filled_pattern(mechanism)
    return [
        [k for k in reference.supports[body] if k <= j]
        for j, (body, _) in enumerate(mechanism.dofs)
    ]


def _are_close(a: Any, b: Any) -> bool:
    size = max(flint.arb(abs(a)).abs_upper(), flint.arb(abs(b)).abs_upper())
    return bool(abs(a - b) <= _EQUAL * size)


def _values(program: Program, states: dict[str, Array], scalars: Scalars) -> tuple[Values, ...]:
    """Return the values of every row of `program` at the states."""
    count = len(program.rows)
    all_rows = replace(program, outputs=(Port("rows", (count,), tuple(range(count))),))
    elements = {port.name: list(states[port.name].reshape(STATES, -1).T) for port in program.inputs}
    values = evaluate(
        all_rows, elements, Numbers(scalars.constant, np.sin, np.cos, np.sqrt, np.log, atan2)
    )["rows"]
    return tuple(tuple(np.broadcast_to(np.asarray(x, dtype=object), (STATES,))) for x in values)


def eliminate(M: Array, supports: list[list[int]]) -> Elimination:
    """Return the elimination of M, SA (25)-(30); the nonzero entries are given by `supports` for
    every entry of v.
    """
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
        *({pair: tuple(values) for pair, values in table.items()} for table in (rows, factors))
    )
