"""What the declared, lumped links say about motion, in balls: HᵀMH of every joint, and how energy bounds the joints' rates.

All of it is configuration-free. k is an entry of v: let all that moves what k moves be locked, the joints inward and the
earlier velocities of its own joint, and k move at 1. Twice the kinetic energy is a sum over the bodies from k's own outward,
Σ e_b² with e_b² = V_bᵀ M_b V_b. The pivot D_k of M = U D Uᵀ, Rodriguez & Kreutz (4.6), is its least value over the joint's later
velocities and the rates of the joints further out. Of that least value the body's own energy is no more than a part. Hence

    D_k ≥ H_kᵀ M_k H_k                            of a joint of one degree of freedom,
    D_k ≥ the pivot k of the block HᵀMH, eliminated from last to first, of the joint's own body alone, of a joint of several,

when no link outward of k has negative energy. The rotor of a drive, of armature A, moves with its joint alone and has twice the
energy A v²: it counts as part of the body that the joint moves, so that A stands on the diagonal of HᵀMH.
In the recursion's words: P(k) = M(k) + what is carried from outside, (4.5), what is carried is positive semidefinite, and a Schur
complement grows with its matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import flint

from symgen.certificate.columns import Column, block, columns, orthonormal, pivots, travel
from symgen.certificate.mimic import Driven, ancestors, driven, entry, own_ranges, together
from symgen.certificate.ranges import Ranges
from symgen.derivation import constants
from symgen.derivation.model.links import Link, declared, full_matrix
from symgen.mechanism.inertias import is_positive_semidefinite
from symgen.mechanism.mechanism import Mechanism

Ball = Any


class Form(NamedTuple):
    """angular·ω + linear·(velocity of the point `at`), of a body's twist in its frame."""

    angular: Sequence[Ball]
    linear: Sequence[Ball]
    at: Sequence[Ball]


@dataclass(frozen=True)
class Alone:
    """A body that these `columns` of its joint move; `inverse` is that of its HᵀMH."""

    columns: tuple[Column, ...]
    inverse: flint.arb_mat

    def most(self, form: Form) -> Ball:
        """The most of a form of its twist per √(twice its energy)."""
        lever = _cross(form.at, form.linear)
        angular = [x + y for x, y in zip(form.angular, lever, strict=True)]
        taken = [
            _dot(angular, _balls(one.angular)) + _dot(form.linear, _balls(one.linear))
            for one in self.columns
        ]
        n = range(len(taken))
        return _root(
            sum((taken[a] * self.inverse[a, b] * taken[b] for a in n for b in n), flint.arb(0))
        )

    @property
    def longest(self) -> tuple[Ball, Ball]:
        """As much as |ω| and |v| are per √(twice its energy), and more: the roots of the traces."""
        zero, units = [flint.arb(0)] * 3, [_balls(unit) for unit in constants.IDENTITY]
        spins, shifts = (
            [self.most(form) for form in forms]
            for forms in (
                [Form(unit, zero, zero) for unit in units],
                [Form(zero, unit, zero) for unit in units],
            )
        )
        return _length(spins), _length(shifts)


class Bodies:
    """The bodies of `mechanism`, in frames whose z is the joint's axis and whose origin lies on it (`model.declared`)."""

    def __init__(self, mechanism: Mechanism, ranges: Ranges, payload: str | None = None) -> None:
        """`payload` names the link with a run-time load, which is one that a body can be, within `ranges`."""
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

    def carried(self, i: int) -> list[int]:
        """Body i and all that it carries, ascending."""
        found = {i}
        for b, link in enumerate(self.links):
            if link.parent in found:
                found.add(b)
        return sorted(found)

    def outward(self, k: int) -> list[int]:
        """The entries of v that stay free when all that moves what k moves is locked: k and all further out, ascending."""
        if self.mechanism.coupled:
            return together(self.mechanism, k)
        body, _ = self.mechanism.dofs[k]
        carried = set(self.carried(body))
        return [j for j, (b, _) in enumerate(self.mechanism.dofs) if j >= k and b in carried]

    def column(self, k: int) -> Column:
        body, of = self.mechanism.dofs[k]
        return self.columns[body][of]

    def turns(self, k: int) -> bool:
        return not constants.is_zero(self.column(k).turning)

    def entries(self, body: int) -> range:
        """The entries of v that are the body's joint's own."""
        own = self.mechanism.v_slices[body]
        return range(own.start, own.stop)

    def weakness(self, i: int) -> str | None:
        """Which link on body i can have negative energy; None when there is none. Exact: no slack is given here."""
        for part in self.mechanism.bodies[i].parts:
            if not is_positive_semidefinite(part.moments):
                return f"the inertia of link '{part.link}' is not positive"
        return None

    def own(self, k: int) -> Ball | None:
        """What the body alone meets k with (kg m², kg) when the joint's later velocities are free and the earlier ones locked.

        The pivot of its HᵀMH, eliminated from last to first; of a joint of one degree of freedom HᵀMH itself, which is the
        moment of inertia about the axis, or the mass. None where a later pivot is not known to be positive, or zero.
        """
        found = None
        for body, of, rate in self.alone(k):
            own = self._owns[body][of]
            if own is not None:
                more = (
                    own if rate == 1 else constants.normalize(own * constants.rational(rate * rate))
                )
                found = more if found is None else constants.normalize(found + more)
        return found

    def alone(self, k: int) -> list[Driven]:
        """What k moves against something that stands still when all entries before k are locked: its own body, and what follows
        on other branches. Their energies add up."""
        return [
            one
            for one in driven(self.mechanism)[k]
            if all(entry(self.mechanism, body) < k for body in ancestors(self.mechanism, one.body))
        ]

    def moved(self, k: int) -> list[int]:
        """The bodies that move when all that moves what k moves is locked, ascending."""
        if not self.mechanism.coupled:
            return self.carried(self.mechanism.dofs[k][0])
        return sorted(
            {
                b
                for j in self.outward(k)
                for one in driven(self.mechanism)[j]
                for b in self.carried(one.body)
            }
        )

    def branching(self, k: int) -> str | None:
        """Why what k moves is not all further out than k, where joints follow others; None where it is."""
        if not self.mechanism.coupled:
            return None
        body, _ = self.mechanism.dofs[k]
        if any(entry(self.mechanism, one) >= k for one in ancestors(self.mechanism, body)):
            return f"what carries joint '{self.mechanism.velocity_names[k]}' follows it, or a joint behind it"
        beyond = [j for j in self.outward(k) if self.mechanism.dofs[j][0] not in self.carried(body)]
        return (
            f"'{self.mechanism.velocity_names[beyond[0]]}' is coupled with it from another branch"
            if beyond
            else None
        )

    @cached_property
    def blocks(self) -> list[list[list[Ball]]]:
        """HᵀMH of every body alone, with the armature of its joint."""
        with constants.precision():
            return [
                block(
                    H,
                    link.inertia,
                    [constants.rational(link.drive.at(n).armature) for n in range(len(H))],
                )
                for H, link in zip(self.columns, self.links, strict=True)
            ]

    @cached_property
    def _owns(self) -> list[list[Ball | None]]:
        with constants.precision():
            return [pivots(matrix) for matrix in self.blocks]

    @cached_property
    def central(self) -> list[flint.arb_mat | None]:
        """The inverse of each body's moments about its mass centre; None where there are none, or not known to be positive."""
        with constants.precision():
            return [_inverse_moments(link) for link in self.links]

    def centre(self, i: int) -> list[Ball]:
        return _balls(self.links[i].center)

    # -- how energies bound rates --------------------------------------------------------------------------------------

    def rates(self, k: int) -> dict[int, dict[int, Ball]] | str:
        """|entry j of v| ≤ Σ_c shares[j][c] e_c for every j outward of k, what is inward of k locked; or why not.

        c are bodies. A velocity of joint b is a form g of the twist of b against that of its parent: g = z in the angular part
        for a joint that turns, z in the linear part for one that slides, and where a joint has several, the column of H itself
        (HᵀH = 1). Of a joint with an axis the form is constant in the parent's frame, whatever q. Of one without it turns with
        the body, and stands for the longest that it can be.
        """
        if (why := self.branching(k)) is not None:
            return why
        with constants.precision():
            i, of = self.mechanism.dofs[k]
            moved = self._alone(i, of)
            if isinstance(moved, str):
                return moved
            shares: dict[int, dict[int, Ball]] = {}
            for n, j in enumerate(self.entries(i)[of:]):
                shares[j] = {i: _root(moved.inverse[n, n])}
            for b in self.carried(i)[1:]:
                if not self.entries(b):  # it follows another joint
                    continue
                found = self._rates(b, i, moved)
                if isinstance(found, str):
                    return found
                shares |= dict(zip(self.entries(b), found, strict=True))
            return shares

    def locked(
        self, k: int, rates: Mapping[int, Mapping[int, Ball]]
    ) -> Mapping[int, Mapping[int, Ball]] | None:
        """The same of what is outward of k, which is locked itself: its body stands still, or has the later velocities of its
        joint left. None where there is none."""
        body, _ = self.mechanism.dofs[k]
        if k + 1 in self.entries(body):
            later = self.rates(k + 1)
            return None if isinstance(later, str) else later
        return {
            b: {c: x for c, x in one.items() if c != body} for b, one in rates.items() if b != k
        }

    def _alone(self, i: int, of: int) -> Alone | str:
        """Body i as its joint's velocities from `of` on can move it."""
        n = self.mechanism.joints[i].type.nv - of
        matrix = [row[of:] for row in self.blocks[i][of:]]
        if not all(own is not None and own > 0 for own in self._owns[i][of:]):
            return f"body '{self.links[i].name}' has no inertia about its joint"
        inverse = flint.arb_mat(n, n, [flint.arb(x) for row in matrix for x in row]).inv()
        return Alone(tuple(self.columns[i][of:]), inverse)

    def _rates(self, b: int, i: int, moved: Alone) -> list[dict[int, Ball]] | str:
        """What bounds the velocities of joint b, outward of body i."""
        link, H, directed = self.links[b], self.columns[b], self.mechanism.joints[b].type.directed
        p = link.parent
        for body in (b, p):
            if (body != i or body == b) and self.central[body] is None:
                return f"body '{self.links[body].name}' has no moment of inertia about some axis through its mass centre"
        if len(H) > 1 and not orthonormal(H):
            return f"the velocities of joint '{link.joint}' are not read off its motion one by one"
        found = []
        for column in H:
            if len(H) == 1:
                inner, form = self._alone_inner(b)
            else:
                inner = self._on_body(
                    b, Form(_balls(column.angular), _balls(column.linear), [flint.arb(0)] * 3)
                )
                form = self._inwards(b, column)
            outer = (
                self._any(p, i, moved, column, self.reach[b])
                if not directed
                else moved.most(form)
                if p == i
                else self._on_body(p, form)
            )
            found.append({b: inner, p: outer})
        return found

    def _alone_inner(self, b: int) -> tuple[Ball, Form]:
        """For a joint of one degree of freedom: what its velocity takes of body b, and the form of the parent's twist that it is
        counted from."""
        link, z, zero = (
            self.links[b],
            [flint.arb(0), flint.arb(0), flint.arb(1)],
            [flint.arb(0)] * 3,
        )
        axis = [flint.arb(row[2]) for row in link.rotation]  # z of the joint, in the parent's frame
        if link.turns:
            return self._form(b, z), Form(axis, zero, zero)
        # z·(velocity of b's centre) − z·(velocity, on the parent, of where that centre is); d × z has no q in it
        place = [
            flint.arb(s) + sum(flint.arb(r) * c for r, c in zip(row, self.centre(b), strict=True))
            for s, row in zip(link.shift, link.rotation, strict=True)
        ]
        return 1 / flint.arb(link.inertia.m).sqrt(), Form(zero, axis, place)

    def _inwards(self, b: int, column: Column) -> Form:
        """A form of b's twist along its axis, as one of the parent's. What the joint slides along its axis is no lever."""
        link = self.links[b]
        angular, linear = (
            [
                sum(
                    (flint.arb(r) * x for r, x in zip(row, _balls(part), strict=True)), flint.arb(0)
                )
                for row in link.rotation
            ]
            for part in (column.angular, column.linear)
        )
        return Form(angular, linear, _balls(link.shift))

    def _any(self, p: int, i: int, moved: Alone, column: Column, reach: Ball) -> Ball:
        """The same for a form of the column's length in any direction, linear in the velocity of a point within `reach`."""
        angular, linear = flint.arb(column.turning).sqrt(), flint.arb(column.sliding).sqrt()
        if p == i:
            spin, swift = moved.longest
            return angular * spin + linear * (swift + spin * reach)
        inverse = self.central[p]
        assert inverse is not None
        spin = _root(inverse[0, 0] + inverse[1, 1] + inverse[2, 2])
        far = reach + _length(self.centre(p))
        return angular * spin + linear * _root(
            1 / flint.arb(self.links[p].inertia.m) + spin**2 * far**2
        )

    def _on_body(self, body: int, form: Form) -> Ball:
        """The most of a form of a body's twist per √(twice its energy), the body moving as it likes."""
        if all(x == 0 for x in form.linear):
            return self._form(body, form.angular)
        arm = [x - c for x, c in zip(form.at, self.centre(body), strict=True)]
        lever = [x + y for x, y in zip(form.angular, _cross(arm, form.linear), strict=True)]
        return _root(
            _dot(form.linear, form.linear) / flint.arb(self.links[body].inertia.m)
            + self._form(body, lever) ** 2
        )

    def _form(self, body: int, n: Sequence[Ball]) -> Ball:
        """√(nᵀ I⁻¹ n): the most that n·ω of a body can be per √(twice its energy)."""
        inverse = self.central[body]
        assert inverse is not None
        value = flint.arb(0)
        for r in range(3):
            for c in range(3):
                if not (n[r] == 0 or n[c] == 0):
                    value += n[r] * inverse[r, c] * n[c]
        return _root(value)

    # -- how large M can get -------------------------------------------------------------------------------------------

    @cached_property
    def reach(self) -> list[Ball]:
        """The longest way from the parent's origin to each body's origin, over the joint's range."""
        found = []
        with constants.precision():
            for i, (link, joint) in enumerate(zip(self.links, self.mechanism.joints, strict=True)):
                fixed = _length([flint.arb(x) for x in link.shift])
                found.append(
                    fixed + travel(joint, own_ranges(self.mechanism, self.ranges.of["q"], i))
                )
        return found

    def composite(self, k: int) -> Ball:
        """An upper bound of M_kk over the box: every body carried by k, stretched out. Of several joints the roots add up."""
        first, *more = driven(self.mechanism)[k]
        if not more:
            return self._composite(first.body, self.column(k))
        with constants.precision():
            roots = [
                abs(constants.rational(one.rate))
                * self._composite(one.body, self.columns[one.body][one.of]).sqrt()
                for one in (first, *more)
            ]
            return sum(roots, flint.arb(0)) ** 2

    def _composite(self, i: int, column: Column) -> Ball:
        with constants.precision():
            turning, sliding = flint.arb(column.turning), flint.arb(column.sliding)
            total, away = (
                flint.arb(constants.rational(self.links[i].drive.armature)),
                {i: flint.arb(0)},
            )
            for b in self.carried(i):
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
        """What the run-time load adds to M_kk at most, on a body whose origin is `away` from the axis."""
        assert self.loaded is not None
        mass, *rest = self.ranges.of["payload"]
        m = flint.arb(constants.rational(mass[1]))
        centre = _length(
            [flint.arb(constants.rational(max(abs(low), abs(high)))) for low, high in rest[:3]]
        )
        spread = (
            sum((flint.arb(constants.rational(rest[3 + xx][1])) for xx in (0, 3, 5)), flint.arb(0))
            / 2
        )  # ∫ρ r² = ½ tr I
        far = away + _length([flint.arb(x) for x in constants.displacement(self.loaded.pose)[1]])
        return sliding * m + turning * (spread + 2 * far * m * centre + m * far**2)


def _inverse_moments(link: Link) -> flint.arb_mat | None:
    """J⁻¹ of the moments about the mass centre, infinite about an axis of the frame that J is exactly zero about."""
    if not link.inertia.m > 0:
        return None
    J = _central_moments(link)
    axes = [r for r in range(3) if not all(constants.is_zero(x) for x in J[r])]
    part = _minor(J, axes)
    if not axes or not _is_positive(part):
        return None
    inverse, place = part.inv(), {r: n for n, r in enumerate(axes)}

    def entry(r: int, c: int) -> Ball:
        if r in place and c in place:
            return inverse[place[r], place[c]]
        return flint.arb("inf") if r == c else flint.arb(0)

    return flint.arb_mat(3, 3, [entry(r, c) for r in range(3) for c in range(3)])


def _central_moments(link: Link) -> list[list[constants.Constant]]:
    """J = tr(Σ)1 − Σ about the mass centre, Σ = S − h hᵀ/m."""
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
    """The rows and columns of J of some axes."""
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
    """The root of what is not negative, though its ball may reach below zero."""
    return square.sqrt() if square > 0 else square.abs_upper().sqrt()
