"""What the declared, lumped links say about motion, in balls: HᵀMH of every joint, and how energy bounds the joints' rates.

All of it is configuration-free. Let the joints inward of k be locked and k move at 1. Twice the kinetic energy is a sum
over the bodies outward of k, Σ e_b² with e_b² = V_bᵀ M_b V_b, of which body k alone has H_kᵀ M_k H_k. The pivot D_k
of M = U D Uᵀ, Rodriguez & Kreutz (4.6), is its least value over the rates of the joints further out. Hence

    D_k ≥ H_kᵀ M_k H_k        when no link outward of k has negative energy.

In the recursion's words: P(k) = M(k) + what is carried from outside, (4.5), and what is carried is positive semidefinite.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import flint

from symgen.certificate.ranges import Ranges
from symgen.derivation import constants as k
from symgen.derivation.model.links import Link, declared, full
from symgen.description.inertias import is_positive_semidefinite
from symgen.mechanism import Mechanism

Ball = Any


class Bodies:
    """The bodies of `mechanism`, in frames whose z is the joint's axis and whose origin lies on it (`model.declared`)."""

    def __init__(self, mechanism: Mechanism, ranges: Ranges, payload: str | None = None) -> None:
        """`payload` names the link with a run-time load, which is one that a body can be, within `ranges`."""
        self.mechanism, self.ranges = mechanism, ranges
        self.loaded = None if payload is None else mechanism.frame(payload)
        with k.precision():
            self.links = declared(mechanism).links

    def outward(self, i: int) -> list[int]:
        """Body i and all that it carries, ascending."""
        carried = {i}
        for b, link in enumerate(self.links):
            if link.parent in carried:
                carried.add(b)
        return sorted(carried)

    def turns(self, i: int) -> bool:
        return self.links[i].turns

    @property
    def strides(self) -> list[Ball]:
        """How far (m) each body moves along its joint's axis for a unit of the joint's coordinate, be it rad or m."""
        return [flint.arb(link.stride) for link in self.links]

    def weakness(self, i: int) -> str | None:
        """Which link on body i can have negative energy; None when there is none. Exact: no slack is given here."""
        for part in self.mechanism.bodies[i].parts:
            if not is_positive_semidefinite(part.moments):
                return f"the inertia of link '{part.link}' is not positive"
        return None

    def own(self, i: int) -> Ball:
        """H_iᵀ M_i H_i (kg m², kg): the body's moment of inertia about its joint's axis, or its mass.

        Where it turns and advances by s a unit, moment + s² mass: what the turn moves is at right angles to the axis.
        """
        with k.precision():
            inertia, stride = self.links[i].inertia, self.strides[i]
            moment = k.settle(inertia.S[0] + inertia.S[3])
            if not self.turns(i):
                return inertia.m
            return moment if stride == 0 else flint.arb(moment) + stride**2 * flint.arb(inertia.m)

    @cached_property
    def central(self) -> list[flint.arb_mat | None]:
        """The inverse of each body's moments about its mass centre; None where there are none, or not known to be positive."""
        with k.precision():
            return [_inverse_moments(link) for link in self.links]

    def centre(self, i: int) -> list[Ball]:
        return [flint.arb(x) for x in self.links[i].center]

    # -- how energies bound rates --------------------------------------------------------------------------------------

    def rates(self, i: int) -> dict[int, dict[int, Ball]] | str:
        """|rate of joint b| ≤ Σ_c shares[b][c] e_c for every b outward of i, the joints inward of i locked; or why not.

        rate_b = z·ω_b − z·ω_parent for a joint that turns, the difference of the two bodies' velocities along the axis for one
        that slides; both axes and levers are constant in the parent's frame, whatever q.
        """
        with k.precision():
            own = flint.arb(self.own(i))
            if not own > 0:
                return f"body '{self.links[i].name}' has no inertia about its joint"
            root = 1 / own.sqrt()
            shares: dict[int, dict[int, Ball]] = {i: {i: root}}
            for b in self.outward(i)[1:]:
                found = self._rate(b, i, root)
                if isinstance(found, str):
                    return found
                shares[b] = found
            return shares

    def _rate(self, b: int, i: int, root: Ball) -> dict[int, Ball] | str:
        link = self.links[b]
        p, parent = link.parent, self.links[link.parent]
        for body in (b, p):
            if (body != i or body == b) and self.central[body] is None:
                return f"body '{self.links[body].name}' has no moment of inertia about some axis through its mass centre"
        axis = [flint.arb(row[2]) for row in link.rotation]     # z of the joint, in the parent's frame
        z = [flint.arb(0), flint.arb(0), flint.arb(1)]
        if self.turns(b):
            inner = self._form(b, z)
            outer = self._form(p, axis) if p != i else abs(axis[2]) * root if self.turns(i) else flint.arb(0)
            return {b: inner, p: outer}
        # a slide: z·(velocity of b's centre) − z·(velocity, on the parent, of where that centre is); d × z has no q in it
        place = [flint.arb(s) + sum(flint.arb(r) * c for r, c in zip(row, self.centre(b), strict=True))
                 for s, row in zip(link.shift, link.rotation, strict=True)]
        inner = 1 / flint.arb(link.inertia.m).sqrt()
        if p == i:
            moved = (abs(_dot(axis, _cross(z, place)) if self.turns(i) else 0) + abs(axis[2]) * self.strides[i]) * root
            return {b: inner, p: moved}
        lever = _cross([x - c for x, c in zip(place, self.centre(p), strict=True)], axis)
        return {b: inner, p: (1 / flint.arb(parent.inertia.m) + self._form(p, lever) ** 2).sqrt()}

    def _form(self, body: int, n: list[Ball]) -> Ball:
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
        with k.precision():
            for link, stride, (low, high) in zip(self.links, self.strides, self.ranges.of["q"], strict=True):
                fixed = _length([flint.arb(x) for x in link.shift])
                found.append(fixed + stride * flint.arb(k.rational(max(abs(low), abs(high)))))
        return found

    def composite(self, i: int) -> Ball:
        """An upper bound of M_ii over the box: every body carried by i, stretched out."""
        with k.precision():
            total, away = flint.arb(0), {i: flint.arb(0)}
            for b in self.outward(i):
                link = self.links[b]
                if b != i:
                    away[b] = away[link.parent] + self.reach[b]
                S = link.inertia.S
                spread = flint.arb(k.settle(S[0] + S[3] + S[5]))            # ∫ρ r² about the body's origin
                m, h = flint.arb(link.inertia.m), _length([flint.arb(x) for x in link.inertia.h])
                turning = (spread + 2 * away[b] * h + m * away[b] ** 2) if self.turns(i) else 0
                total += turning + self.strides[i] ** 2 * m
            if self.loaded is not None and self.loaded.body in away:
                total += self._load(away[self.loaded.body], i)
            return total

    def _load(self, away: Ball, i: int) -> Ball:
        """What the run-time load adds to M_ii at most, on a body whose origin is `away` from the axis."""
        assert self.loaded is not None
        mass, *rest = self.ranges.of["payload"]
        m = flint.arb(k.rational(mass[1]))
        along = self.strides[i] ** 2 * m
        if not self.turns(i):
            return along
        centre = _length([flint.arb(k.rational(max(abs(low), abs(high)))) for low, high in rest[:3]])
        spread = sum((flint.arb(k.rational(rest[3 + xx][1])) for xx in (0, 3, 5)), flint.arb(0)) / 2    # ∫ρ r² = ½ tr I
        far = away + _length([flint.arb(x) for x in k.displacement(self.loaded.pose)[1]])
        return along + spread + 2 * far * m * centre + m * far**2


def _inverse_moments(link: Link) -> flint.arb_mat | None:
    """J⁻¹ of the moments about the mass centre, infinite about an axis of the frame that J is exactly zero about."""
    inertia = link.inertia
    if not inertia.m > 0:
        return None
    h, S = inertia.h, full(inertia.S)
    central = [[k.settle(S[r][c] - h[r] * h[c] / inertia.m) for c in range(3)] for r in range(3)]
    trace = central[0][0] + central[1][1] + central[2][2]
    J = [[k.settle((trace if r == c else k.ZERO) - central[r][c]) for c in range(3)] for r in range(3)]
    kept = [r for r in range(3) if not all(k.is_zero(x) for x in J[r])]
    part = flint.arb_mat(len(kept), len(kept), [flint.arb(J[r][c]) for r in kept for c in kept])
    minors = [flint.arb_mat(n, n, [part[r, c] for r in range(n) for c in range(n)]).det() for n in range(1, len(kept) + 1)]
    if not kept or not all(minor > 0 for minor in minors):      # Sylvester
        return None
    inverse, place = part.inv(), {r: n for n, r in enumerate(kept)}
    return flint.arb_mat(3, 3, [inverse[place[r], place[c]] if r in place and c in place else
                                flint.arb("inf") if r == c else flint.arb(0) for r in range(3) for c in range(3)])


def _dot(a: list[Ball], b: list[Ball]) -> Ball:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: list[Ball], b: list[Ball]) -> list[Ball]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _length(v: list[Ball]) -> Ball:
    return _root(_dot(v, v))


def _root(square: Ball) -> Ball:
    """The root of what is not negative, though its ball may reach below zero."""
    return square.sqrt() if square > 0 else square.abs_upper().sqrt()
