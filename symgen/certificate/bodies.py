"""Energy bounds from the declared, lumped links, in balls: HᵀMH of each joint, and bounds of joint
rates by energy.

All bounds are independent of the configuration. k is an entry of v. Lock all entries that move what
k moves (the joints inward and earlier velocities of its own joint), and let k move at 1. Twice the
kinetic energy is a sum over the bodies from k's own outward, Σ e_b² with e_b² = V_bᵀ M_b V_b. The
pivot D_k of M = U D Uᵀ, Rodriguez & Kreutz (4.6), is its minimum over the joint's later velocities
and the rates of the joints further out. The energy of the own body is a part of that minimum. Hence

    D_k ≥ H_kᵀ M_k H_k      for a joint of one degree of freedom,
    D_k ≥ pivot k of HᵀMH   for a joint of several: the block of its own body, eliminated from last
                            to first,

if no link outward of k has negative energy. The rotor of a drive, of armature A, moves with its
joint only and has twice the energy A v²: it counts as part of the body that the joint moves, so A
is added to the diagonal of HᵀMH. In terms of the recursion: P(k) = M(k) + the inertia carried from
outside, (4.5), which is positive semidefinite, and a Schur complement increases with its matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import flint

from symgen.certificate.columns import Column, columns, joint_inertia, orthonormal, pivots, travel
from symgen.certificate.mimic import (
    DrivenBody,
    ancestors,
    coupled_entries,
    driven_bodies,
    first_entry,
    joint_ranges,
)
from symgen.certificate.ranges import Ranges
from symgen.derivation import constants
from symgen.derivation.model.links import Link, declared, full_matrix
from symgen.mechanism.inertias import is_positive_semidefinite
from symgen.mechanism.mechanism import Mechanism

Ball = Any


class LinearForm(NamedTuple):
    """The linear form angular·ω + linear·(velocity of the point `at`) of a body's twist in its
    frame.
    """

    angular: Sequence[Ball]
    linear: Sequence[Ball]
    at: Sequence[Ball]


@dataclass(frozen=True)
class FreeBody:
    """A body that only these `columns` of its joint move; `inverse` is the inverse of its HᵀMH."""

    columns: tuple[Column, ...]
    inverse: flint.arb_mat

    def largest(self, form: LinearForm) -> Ball:
        """Return the maximum of a form of its twist per √(twice its energy)."""
        lever = _cross(form.at, form.linear)
        angular = [x + y for x, y in zip(form.angular, lever, strict=True)]
        coefficients = [
            _dot(angular, _balls(column.angular)) + _dot(form.linear, _balls(column.linear))
            for column in self.columns
        ]
        n = range(len(coefficients))
        return _root(
            sum(
                (coefficients[a] * self.inverse[a, b] * coefficients[b] for a in n for b in n),
                flint.arb(0),
            )
        )

    @property
    def longest(self) -> tuple[Ball, Ball]:
        """Upper bounds of |ω| and |v| per √(twice its energy): the roots of the traces."""
        zero, units = [flint.arb(0)] * 3, [_balls(unit) for unit in constants.IDENTITY]
        spins, shifts = (
            [self.largest(form) for form in forms]
            for forms in (
                [LinearForm(unit, zero, zero) for unit in units],
                [LinearForm(zero, unit, zero) for unit in units],
            )
        )
        return _length(spins), _length(shifts)


class Bodies:
    """Bodies of `mechanism`, in frames whose z is the joint's axis and whose origin is on it
    (`model.declared`).
    """

    def __init__(self, mechanism: Mechanism, ranges: Ranges, payload: str | None = None) -> None:
        """`payload` names the link with a run-time load; the load is a possible body within
        `ranges`.
        """
        self.mechanism, self.ranges = mechanism, ranges
        self.loaded = None if payload is None else mechanism.frame(payload)
        with constants.precision():
            self.links = declared(mechanism).links
            self.columns = [columns(joint) for joint in mechanism.joints]

    @property
    def joints(self) -> range:
        """The entries of v."""
        return range(self.mechanism.nv)

    def name(self, k: int) -> str:
        return f"joint '{self.mechanism.velocity_names[k]}'"

    def subtree(self, i: int) -> list[int]:
        """Return body i and its descendants, ascending."""
        result = {i}
        for b, link in enumerate(self.links):
            if link.parent in result:
                result.add(b)
        return sorted(result)

    def outward(self, k: int) -> list[int]:
        """Return the entries of v that remain free when all entries that move what k moves are
        locked: k and those further out, ascending.
        """
        if self.mechanism.coupled:
            return coupled_entries(self.mechanism, k)
        body, _ = self.mechanism.dofs[k]
        descendants = set(self.subtree(body))
        return [j for j, (b, _) in enumerate(self.mechanism.dofs) if j >= k and b in descendants]

    def column(self, k: int) -> Column:
        body, index = self.mechanism.dofs[k]
        return self.columns[body][index]

    def turns(self, k: int) -> bool:
        return not constants.is_zero(self.column(k).angular_squared)

    def entries(self, body: int) -> range:
        """Return the entries of v of the body's joint."""
        joint_slice = self.mechanism.v_slices[body]
        return range(joint_slice.start, joint_slice.stop)

    def weakness(self, i: int) -> str | None:
        """Return which part of body i can have negative energy, or None; the test is exact."""
        for part in self.mechanism.bodies[i].parts:
            if not is_positive_semidefinite(part.moments):
                return f"the inertia of link '{part.link}' is not positive"
        return None

    def own_inertia(self, k: int) -> Ball | None:
        """Return the own body's inertia along k (kg m², kg), with the joint's later velocities free
        and the earlier ones locked.

        It is the pivot of its HᵀMH, eliminated from last to first. For one degree of freedom it is
        HᵀMH itself, the moment of inertia about the axis, or the mass. None if a later pivot is not
        known to be positive or zero.
        """
        total = None
        for body, index, rate in self.independent_bodies(k):
            pivot = self._own_pivots[body][index]
            if pivot is not None:
                scaled = (
                    pivot
                    if rate == 1
                    else constants.normalize(pivot * constants.rational(rate * rate))
                )
                total = scaled if total is None else constants.normalize(total + scaled)
        return total

    def independent_bodies(self, k: int) -> list[DrivenBody]:
        """Return the bodies that k moves relative to a fixed parent when all entries before k are
        locked.

        These are its own body and followers on other branches. Their energies add up.
        """
        return [
            driven_body
            for driven_body in driven_bodies(self.mechanism)[k]
            if all(
                first_entry(self.mechanism, body) < k
                for body in ancestors(self.mechanism, driven_body.body)
            )
        ]

    def moved_bodies(self, k: int) -> list[int]:
        """Return the bodies that move when all entries that move what k moves are locked,
        ascending.
        """
        if not self.mechanism.coupled:
            return self.subtree(self.mechanism.dofs[k][0])
        return sorted(
            {
                b
                for j in self.outward(k)
                for driven_body in driven_bodies(self.mechanism)[j]
                for b in self.subtree(driven_body.body)
            }
        )

    def branching(self, k: int) -> str | None:
        """Return why k moves bodies that are not further out than k, which mimic joints can cause;
        None if it does not.
        """
        if not self.mechanism.coupled:
            return None
        body, _ = self.mechanism.dofs[k]
        if any(
            first_entry(self.mechanism, ancestor) >= k
            for ancestor in ancestors(self.mechanism, body)
        ):
            return (
                f"an ancestor of joint '{self.mechanism.velocity_names[k]}' mimics it, or a joint"
                " beyond it"
            )
        beyond = [j for j in self.outward(k) if self.mechanism.dofs[j][0] not in self.subtree(body)]
        return (
            f"'{self.mechanism.velocity_names[beyond[0]]}' is coupled with it from another branch"
            if beyond
            else None
        )

    @cached_property
    def blocks(self) -> list[list[list[Ball]]]:
        """HᵀMH of each single body, with the armature of its joint."""
        with constants.precision():
            return [
                joint_inertia(
                    H,
                    link.inertia,
                    [constants.rational(link.drive.at(n).armature) for n in range(len(H))],
                )
                for H, link in zip(self.columns, self.links, strict=True)
            ]

    @cached_property
    def _own_pivots(self) -> list[list[Ball | None]]:
        with constants.precision():
            return [pivots(matrix) for matrix in self.blocks]

    @cached_property
    def central(self) -> list[flint.arb_mat | None]:
        """Inverse of each body's moments about its mass centre; None if they are not known to be
        positive.
        """
        with constants.precision():
            return [_inverse_moments(link) for link in self.links]

    def centre(self, i: int) -> list[Ball]:
        return _balls(self.links[i].center)

    # -- how energies bound rates ------------------------------------------------------------------

    def rates(self, k: int) -> dict[int, dict[int, Ball]] | str:
        """Return shares with |entry j of v| ≤ Σ_c shares[j][c] e_c for all j outward of k, with
        entries inward locked; or why not.

        c are bodies. A velocity of joint b is a linear form g of the twist of b relative to its
        parent: g = z in the angular part for a rotating joint, z in the linear part for a
        translating one, and for a joint with several velocities the column of H itself (HᵀH = 1).
        If the joint has an axis the form is constant in the parent's frame for all q. Otherwise it
        rotates with the body, and its largest possible length is used.
        """
        if (reason := self.branching(k)) is not None:
            return reason
        with constants.precision():
            i, index = self.mechanism.dofs[k]
            free_body = self._free_body(i, index)
            if isinstance(free_body, str):
                return free_body
            shares: dict[int, dict[int, Ball]] = {}
            for n, j in enumerate(self.entries(i)[index:]):
                shares[j] = {i: _root(free_body.inverse[n, n])}
            for b in self.subtree(i)[1:]:
                if not self.entries(b):  # a follower
                    continue
                joint_shares = self._rates(b, i, free_body)
                if isinstance(joint_shares, str):
                    return joint_shares
                shares |= dict(zip(self.entries(b), joint_shares, strict=True))
            return shares

    def locked(
        self, k: int, rates: Mapping[int, Mapping[int, Ball]]
    ) -> Mapping[int, Mapping[int, Ball]] | None:
        """Return the shares outward of k with k locked: its body is at rest, or moves by the later
        velocities of its joint.

        None if they do not exist.
        """
        body, _ = self.mechanism.dofs[k]
        if k + 1 in self.entries(body):
            later = self.rates(k + 1)
            return None if isinstance(later, str) else later
        return {
            b: {c: x for c, x in row.items() if c != body} for b, row in rates.items() if b != k
        }

    def _free_body(self, i: int, first: int) -> FreeBody | str:
        """Return body i as the velocities of its joint from `first` on can move it, or why not."""
        n = self.mechanism.joints[i].type.nv - first
        matrix = [row[first:] for row in self.blocks[i][first:]]
        if not all(pivot is not None and pivot > 0 for pivot in self._own_pivots[i][first:]):
            return f"body '{self.links[i].name}' has no inertia about its joint"
        inverse = flint.arb_mat(n, n, [flint.arb(x) for row in matrix for x in row]).inv()
        return FreeBody(tuple(self.columns[i][first:]), inverse)

    def _rates(self, b: int, i: int, free_body: FreeBody) -> list[dict[int, Ball]] | str:
        """Return the shares of the velocities of joint b, outward of body i, or why they do not
        exist.
        """
        link, H, has_axis = self.links[b], self.columns[b], self.mechanism.joints[b].type.directed
        p = link.parent
        for body in (b, p):
            if body != i and self.central[body] is None:
                return (
                    f"body '{self.links[body].name}' has no moment of inertia about some axis"
                    " through its mass centre"
                )
        if len(H) > 1 and not orthonormal(H):
            return f"the motion columns of joint '{link.joint}' are not orthonormal"
        shares = []
        for column in H:
            if len(H) == 1:
                inner, form = self._single_rate(b)
            else:
                inner = self._on_body(
                    b, LinearForm(_balls(column.angular), _balls(column.linear), [flint.arb(0)] * 3)
                )
                form = self._form_of_parent(b, column)
            outer = (
                self._any_direction(p, i, free_body, column, self.reach[b])
                if not has_axis
                else free_body.largest(form)
                if p == i
                else self._on_body(p, form)
            )
            shares.append({b: inner, p: outer})
        return shares

    def _single_rate(self, b: int) -> tuple[Ball, LinearForm]:
        """Return for a joint of one degree of freedom the share of body b, and the form of the
        parent's twist that is subtracted.
        """
        link, z, zero = (
            self.links[b],
            [flint.arb(0), flint.arb(0), flint.arb(1)],
            [flint.arb(0)] * 3,
        )
        axis = [flint.arb(row[2]) for row in link.rotation]  # z of the joint, in the parent's frame
        if link.turns:
            return self._form(b, z), LinearForm(axis, zero, zero)
        # z·(velocity of b's centre) − z·(velocity of the parent's point at that centre); d × z does
        # not depend on q
        centre_in_parent = [
            flint.arb(s) + sum(flint.arb(r) * c for r, c in zip(row, self.centre(b), strict=True))
            for s, row in zip(link.shift, link.rotation, strict=True)
        ]
        return 1 / flint.arb(link.inertia.m).sqrt(), LinearForm(zero, axis, centre_in_parent)

    def _form_of_parent(self, b: int, column: Column) -> LinearForm:
        """Return a form of b's twist along its axis as a form of the parent's; translation along
        the axis adds no lever.
        """
        link = self.links[b]
        angular, linear = (
            [
                sum(
                    (flint.arb(r) * x for r, x in zip(row, _balls(direction), strict=True)),
                    flint.arb(0),
                )
                for row in link.rotation
            ]
            for direction in (column.angular, column.linear)
        )
        return LinearForm(angular, linear, _balls(link.shift))

    def _any_direction(
        self, p: int, i: int, free_body: FreeBody, column: Column, reach: Ball
    ) -> Ball:
        """Return the maximum of a form with the column's length in any direction, of the velocity
        of a point within `reach`.
        """
        angular, linear = (
            flint.arb(column.angular_squared).sqrt(),
            flint.arb(column.linear_squared).sqrt(),
        )
        if p == i:
            spin, speed = free_body.longest
            return angular * spin + linear * (speed + spin * reach)
        inverse = self.central[p]
        assert inverse is not None
        spin = _root(inverse[0, 0] + inverse[1, 1] + inverse[2, 2])
        distance = reach + _length(self.centre(p))
        return angular * spin + linear * _root(
            1 / flint.arb(self.links[p].inertia.m) + spin**2 * distance**2
        )

    def _on_body(self, body: int, form: LinearForm) -> Ball:
        """Return the maximum of a form of a body's twist per √(twice its energy), for arbitrary
        motion of the body.
        """
        if all(x == 0 for x in form.linear):
            return self._form(body, form.angular)
        arm = [x - c for x, c in zip(form.at, self.centre(body), strict=True)]
        lever = [x + y for x, y in zip(form.angular, _cross(arm, form.linear), strict=True)]
        return _root(
            _dot(form.linear, form.linear) / flint.arb(self.links[body].inertia.m)
            + self._form(body, lever) ** 2
        )

    def _form(self, body: int, n: Sequence[Ball]) -> Ball:
        """Return √(nᵀ I⁻¹ n): the maximum of n·ω of a body per √(twice its energy)."""
        inverse = self.central[body]
        assert inverse is not None
        value = flint.arb(0)
        for r in range(3):
            for c in range(3):
                if not (n[r] == 0 or n[c] == 0):
                    value += n[r] * inverse[r, c] * n[c]
        return _root(value)

    # -- how large M can get -----------------------------------------------------------------------

    @cached_property
    def reach(self) -> list[Ball]:
        """Largest distance from the parent's to each body's origin, over the joint's range."""
        result = []
        with constants.precision():
            for i, (link, joint) in enumerate(zip(self.links, self.mechanism.joints, strict=True)):
                fixed = _length([flint.arb(x) for x in link.shift])
                result.append(
                    fixed + travel(joint, joint_ranges(self.mechanism, self.ranges.of["q"], i))
                )
        return result

    def composite(self, k: int) -> Ball:
        """Return an upper bound of M_kk over the box, with every body carried by k at its largest
        distance.

        For several joints (a leader with followers) the square roots are added.
        """
        first, *followers = driven_bodies(self.mechanism)[k]
        if not followers:
            return self._composite(first.body, self.column(k))
        with constants.precision():
            roots = [
                abs(constants.rational(driven_body.rate))
                * self._composite(
                    driven_body.body, self.columns[driven_body.body][driven_body.column]
                ).sqrt()
                for driven_body in (first, *followers)
            ]
            return sum(roots, flint.arb(0)) ** 2

    def _composite(self, i: int, column: Column) -> Ball:
        with constants.precision():
            turning, sliding = flint.arb(column.angular_squared), flint.arb(column.linear_squared)
            total, away = (
                flint.arb(constants.rational(self.links[i].drive.armature)),
                {i: flint.arb(0)},
            )
            for b in self.subtree(i):
                link = self.links[b]
                if b != i:
                    away[b] = away[link.parent] + self.reach[b]
                S = link.inertia.S
                spread = flint.arb(
                    constants.normalize(S[0] + S[3] + S[5])
                )  # ∫ρ r² about the body's origin
                m, h = flint.arb(link.inertia.m), _length([flint.arb(x) for x in link.inertia.h])
                total += turning * (spread + 2 * away[b] * h + m * away[b] ** 2) + sliding * m
            if self.loaded is not None and self.loaded.body in away:
                total += self._load(away[self.loaded.body], turning, sliding)
            return total

    def _load(self, away: Ball, turning: Ball, sliding: Ball) -> Ball:
        """Return the largest contribution of the run-time load to M_kk, on a body whose origin is
        `away` from the axis.
        """
        assert self.loaded is not None
        mass, *parameters = self.ranges.of["payload"]
        m = flint.arb(constants.rational(mass[1]))
        centre = _length(
            [
                flint.arb(constants.rational(max(abs(low), abs(high))))
                for low, high in parameters[:3]
            ]
        )
        spread = (
            sum(
                (flint.arb(constants.rational(parameters[3 + xx][1])) for xx in (0, 3, 5)),
                flint.arb(0),
            )
            / 2
        )  # ∫ρ r² = ½ tr I
        distance = away + _length(
            [flint.arb(x) for x in constants.displacement(self.loaded.pose)[1]]
        )
        return sliding * m + turning * (spread + 2 * distance * m * centre + m * distance**2)


def _inverse_moments(link: Link) -> flint.arb_mat | None:
    """Return J⁻¹ of the moments about the mass centre; infinite about a frame axis about which J is
    exactly zero.
    """
    if not link.inertia.m > 0:
        return None
    J = _central_moments(link)
    axes = [r for r in range(3) if not all(constants.is_zero(x) for x in J[r])]
    block = _minor(J, axes)
    if not axes or not _is_positive(block):
        return None
    inverse, position = block.inv(), {r: n for n, r in enumerate(axes)}

    def entry(r: int, c: int) -> Ball:
        if r in position and c in position:
            return inverse[position[r], position[c]]
        return flint.arb("inf") if r == c else flint.arb(0)

    return flint.arb_mat(3, 3, [entry(r, c) for r in range(3) for c in range(3)])


def _central_moments(link: Link) -> list[list[constants.Constant]]:
    """Return J = tr(Σ)1 − Σ about the mass centre, Σ = S − h hᵀ/m."""
    m, h, S = link.inertia.m, link.inertia.h, full_matrix(link.inertia.S)
    central = [[constants.normalize(S[r][c] - h[r] * h[c] / m) for c in range(3)] for r in range(3)]
    trace = central[0][0] + central[1][1] + central[2][2]
    return [
        [
            constants.normalize((trace if r == c else constants.ZERO) - central[r][c])
            for c in range(3)
        ]
        for r in range(3)
    ]


def _minor(J: list[list[constants.Constant]], axes: Sequence[int]) -> flint.arb_mat:
    """Return the rows and columns of J of some axes."""
    return flint.arb_mat(len(axes), len(axes), [flint.arb(J[r][c]) for r in axes for c in axes])


def _is_positive(matrix: flint.arb_mat) -> bool:
    """True if all leading minors are positive (Sylvester)."""
    return all(
        flint.arb_mat(n, n, [matrix[r, c] for r in range(n) for c in range(n)]).det() > 0
        for n in range(1, matrix.nrows() + 1)
    )


def _balls(vector: Sequence[Any]) -> list[Ball]:
    return [flint.arb(x) for x in vector]


def _dot(a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Sequence[Ball], b: Sequence[Ball]) -> list[Ball]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _length(v: Sequence[Ball]) -> Ball:
    return _root(_dot(v, v))


def _root(square: Ball) -> Ball:
    """Return the root of a nonnegative number, whose ball may extend below zero."""
    return square.sqrt() if square > 0 else square.abs_upper().sqrt()
