"""The parts as the joints that carry them move them, and the sizes of forces, M, J and accelerations that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from symgen.mechanism.mechanism import BASE, Frame
from symgen.reference.arrays import times, transposed
from symgen.reference.precision import Array
from symgen.verification import drive_scales
from symgen.verification import levers as leverage
from symgen.verification.exact import ExactAnswers
from symgen.verification.magnitude import largest


class Resisting(NamedTuple):
    """A part as the joints that carry it feel it: `turns` is 1 where a joint turns, `levers` is (count, k), `inertia` a norm;
    `gravcomp` is the magnitude of its gravity compensation."""

    joints: list[int]
    turns: Array
    levers: Array
    mass: Array
    inertia: Array
    gravcomp: float = 0.0

    def moving(self, rates: Array) -> tuple[Array, Array]:
        """Sizes (count,) of how fast it turns and of how fast its centre moves, at rates (count, NV) of the joints."""
        own = np.abs(rates)[:, self.joints]
        return (own * self.turns).sum(axis=-1), (own * self.levers).sum(axis=-1)


class Bodies:
    """The bodies at the states of `truth`, and the sizes that depend on them alone."""

    def __init__(self, truth: ExactAnswers) -> None:
        self.truth = truth
        reference, q = truth.rough, truth.floats["q"]
        self.placed = reference.placements(q)
        self.gravity = float(np.linalg.norm(reference.gravity))
        self.rates = leverage.rates(reference)
        """(rad, m) that each unit of v turns and slides its bodies by."""
        self.parts: list[Resisting] = []
        self.arms: list[Array] = []
        """Distances (count, k) of every part's centre from the frames of the bodies on its way out, or of one further out where
        that is farther, whatever their joints' type."""
        for part in reference.parts(truth.load):
            at = self.placed[part.body]
            centre = at.shift[0] + (at.turn[0] @ part.centre[..., None])[..., 0]
            support, way = reference.supports[part.body], reference.paths[part.body]
            far = [np.linalg.norm(centre - self.placed[body].shift[0], axis=-1) for body in way]
            apart = np.stack([np.broadcast_to(x, (len(q),)) for x in far], axis=-1)
            # A recursion goes out and back joint by joint: where the arm is folded, that is farther than the way across.
            self.arms.append(np.maximum.accumulate(apart[:, ::-1], axis=-1)[:, ::-1])
            inertia = np.linalg.norm(part.inertia, axis=(-2, -1))
            self.parts.append(
                Resisting(
                    support,
                    *leverage.felt(reference, part.body, self.arms[-1]),
                    part.mass,
                    inertia,
                    abs(float(part.gravcomp)),
                )
            )

    def exerted(self) -> Iterator[tuple[int, Array, Array]]:
        """(body, moment, force) of every body that carries a wrench, (count,) each: about its joint, and as it is. What several
        wrenches exert on a body comes as often.
        """
        for on, wrench in self._wrenches():
            at = self.placed[on.body]
            point = at.shift[0] + at.turn[0] @ self.truth.rough.pose(on.pose)[1]
            moment, force = (
                np.linalg.norm(wrench[:, :3], axis=-1),
                np.linalg.norm(wrench[:, 3:], axis=-1),
            )
            arm = np.zeros(self.truth.count)
            for body in reversed(self.truth.rough.paths[on.body]):
                arm = np.maximum(arm, np.linalg.norm(point - self.placed[body].shift[0], axis=-1))
                yield body, moment + force * arm, force

    def _wrenches(self) -> list[tuple[Frame, Array]]:
        """Every wrench that a joint carries, (count, 6), and its frame."""
        if not (links := self.truth.rough.wrenches):
            return []
        each = self.truth.floats["wrench"].reshape(self.truth.count, len(links), 6)
        return [(on, each[:, k]) for k, on in enumerate(links) if on.body != BASE]

    def pushed(self) -> Array:
        """Size of Σ Jᵀ wrench (count, NV): each one's moment, and its force at the distance from the joint."""
        total = np.zeros(self.truth.floats["v"].shape)
        for body, moment, force in self.exerted():
            for k, turning, sliding in leverage.own_rates(self.truth.rough, body):
                total[:, k] += turning * moment + sliding * force
        return total

    def forces(self, v: Array, a: Array, wrench: bool = True) -> Array:
        """Size of inverse dynamics at (q, v, a), joint by joint (count, NV); of gravity alone without `wrench`."""
        total = self.pushed() + self.resisting(v, a) if wrench else 0 * v
        for part, (force, moment) in zip(self.parts, self._resistance(v, a), strict=True):
            total[:, part.joints] += part.levers * force[:, None] + part.turns * moment[:, None]
        return total

    def resisting(self, v: Array, a: Array) -> Array:
        """Size of what the drives resist with (count, NV), and of the weight that is borne."""
        total = drive_scales.forces(self.truth.mechanism, self.truth.floats["q"], v, a)
        for part in (one for one in self.parts if one.gravcomp):
            total[:, part.joints] += (
                part.levers
                * (part.gravcomp * self.gravity * np.abs(np.asarray(part.mass)))[..., None]
            )
        return total

    def wrenches(self, v: Array, a: Array) -> Array:
        """Size of the wrenches across the joints at (q, v, a) (count, NB): of a moment or a force, whichever is larger."""
        total = np.zeros((self.truth.count, len(self.truth.mechanism.bodies)))
        for _, wrench in self._wrenches():
            total += largest(wrench)[:, None]
        for body, moment, force in self.exerted():
            total[:, body] += np.maximum(moment, force)
        loads = zip(
            self.truth.rough.parts(self.truth.load), self.arms, self._resistance(v, a), strict=True
        )
        for part, arms, (force, moment) in loads:
            total[:, self.truth.rough.paths[part.body]] += (
                np.maximum(1.0, arms) * force[:, None] + moment[:, None]
            )
        return total

    def _resistance(self, v: Array, a: Array) -> Iterator[tuple[Array, Array]]:
        """Sizes (count,) of what every part resists with: a force at its centre and a moment."""
        for part in self.parts:
            (rate, speed), (turning, moving) = part.moving(v), part.moving(a)
            yield (
                part.mass * (moving + 2 * rate * speed + self.gravity),
                part.inertia * (turning + 2 * rate * rate),
            )

    def diagonal(self) -> Array:
        """Sizes of the mass matrix' diagonal entries (count, NV). That of M_jk is at most the root of the product of two of
        them.
        """
        total = drive_scales.armature(self.truth.mechanism) + np.zeros(self.truth.floats["v"].shape)
        for support, turns, arms, mass, inertia, _ in self.parts:
            total[:, support] += (
                arms * arms * np.asarray(mass)[..., None]
                + turns * turns * np.asarray(inertia)[..., None]
            )
        return total

    @cached_property
    def roots(self) -> Array:
        """√s_j (count, NV): the weight of joint j's motion."""
        return np.asarray(np.sqrt(self.diagonal()))

    def weighed(self, x: Array) -> Array:
        """Σ √s_j |x_j| per state (count, 1) of a joint-space vector (count, NV)."""
        return np.asarray(
            (self.roots * np.abs(np.asarray(x, dtype=float))).sum(axis=-1, keepdims=True)
        )

    def mass(self) -> Array:
        """Size of the mass matrix (count, NV, NV)."""
        return np.asarray(self.roots[:, :, None] * self.roots[:, None, :])

    def jacobian(self, lever: Array | None = None) -> Array:
        """Size of the frame's Jacobian (count, 6, NV), angular first: a lever is no longer than the robot, unless told."""
        turns, slides = np.array(self.rates).T
        moved = turns * (self.length() if lever is None else lever)[:, None] + slides
        angular = np.broadcast_to(turns, moved.shape)
        return np.stack([angular] * 3 + [moved] * 3, axis=1)

    def driven(self, a: Array) -> Array:
        """Size of M a + c − tau, joint by joint (count, NV)."""
        v = self.truth.floats["v"]
        return np.asarray(
            self.roots * self.weighed(a) + self.forces(v, 0 * v) + np.abs(self.truth.floats["tau"])
        )

    def contact_forces(self, A: Array, f: Array) -> Array:
        """Size of Aᵀ f, joint by joint (count, NV): its terms, and the error of M⁻¹ A_kᵀ f_k of each contact times M."""
        back = transposed(A)
        moved = np.abs(self._inverse_mass_matrix() @ back)
        return np.asarray(
            times(np.abs(back), np.abs(f)) + self.roots * self.weighed(times(moved, np.abs(f)))
        )

    def determinant_loss(self) -> Array:
        """Σ |M⁻¹|_jk s_jk per state (count,): the size of tr(M⁻¹ δM), which is the relative error of a determinant."""
        return np.asarray(
            np.einsum("sj,sjk,sk->s", self.roots, np.abs(self._inverse_mass_matrix()), self.roots)
        )

    def _inverse_mass_matrix(self) -> Array:
        return np.asarray(self.truth.results("inverse_mass_matrix")["Minv"], dtype=float)

    def inverse(self) -> Array:
        """Size of M⁻¹ (count, NV, NV): |M⁻¹| S |M⁻¹|, how it changes when M changes by its size S."""
        moved = np.abs(self._inverse_mass_matrix()) @ self.roots[..., None]
        return np.asarray(moved * np.swapaxes(moved, -1, -2))

    def inverse_entries(self) -> Array:
        """√(M⁻¹_jj) (count, NV). An entry jk of M⁻¹ is no larger than the product of two of them."""
        inverse = self.truth.results("inverse_mass_matrix")["Minv"]
        return np.asarray(np.sqrt(np.abs(np.diagonal(inverse, axis1=-2, axis2=-1).astype(float))))

    def length(self) -> Array:
        """Longest way along the bodies from the first joint on, per state (count,), in m. It does not depend on where the base
        stands.
        """
        reach: list[Any] = []
        for index, joint in enumerate(self.truth.mechanism.joints):
            if joint.parent == BASE:
                reach.append(np.zeros(self.truth.count))
            else:
                step = np.linalg.norm(
                    self.placed[index].shift[0] - self.placed[joint.parent].shift[0], axis=-1
                )
                reach.append(step + reach[joint.parent])
        tool = 0.0
        if self.truth.rough.frame is not None:
            tool = float(np.linalg.norm(self.truth.rough.pose(self.truth.rough.frame.pose)[1]))
        return np.asarray(np.max(np.broadcast_arrays(*reach), axis=0) + tool)

    def lever(self) -> Array:
        """Size of the lever of a twist as it is stated, per state (count,), in m: from the frame, or from the base's origin."""
        return self.distance() if self.truth.convention.frame == "world" else self.length()

    def distance(self) -> Array:
        """Size of the frame's place, per state (count,), in m: the distance of its first joint from the base, and a lever."""
        frame = self.truth.rough.frame
        root = (
            0.0
            if frame is None or frame.body == BASE
            else self.placed[self.truth.rough.paths[frame.body][0]].shift[0]
        )
        return np.asarray(np.linalg.norm(np.atleast_2d(root), axis=-1) + self.length())

    def joint_accelerations(self) -> Array:
        """Size of the joints' accelerations (count, NV): M⁻¹ times the size of the forces."""
        driven = self.driven(self.truth.results("forward_dynamics")["a"])
        return times(np.abs(self._inverse_mass_matrix()), driven)

    def accelerations(self) -> Array:
        """Size of the links' accelerations (count, NB, 6): those of the joints that carry a link, at a lever."""
        return np.stack(
            [self.acceleration(body) for body in range(len(self.truth.mechanism.bodies))], axis=1
        )

    def acceleration(self, body: int) -> Array:
        """Size of a body's acceleration (count, 6)."""
        support = [] if body == BASE else self.truth.rough.supports[body]
        speed = np.abs(self.truth.floats["v"][:, support]).sum(axis=-1)
        rates = self.joint_accelerations()[:, support].sum(axis=-1) + 2 * speed**2
        moved = np.maximum(1.0, self.length()) * rates + self.gravity
        return np.stack([rates] * 3 + [moved] * 3, axis=-1)

    def tip_acceleration(self) -> Array:
        """Size of the frame's acceleration (count, 6)."""
        frame = self.truth.rough.frame
        return self.acceleration(BASE if frame is None else frame.body)

    def mobility(self) -> Array:
        """Size of J M⁻¹ Jᵀ (count, 6, 6): its change when M or J changes, with X = J M⁻¹ as the lever. What turns moves what is
        as far away as the robot is long. No turn of the base changes this size.
        """
        truth = self.truth
        with truth.scalars.working():
            levers = (
                truth.reference.jacobian(truth.balls["q"])
                @ truth.results("inverse_mass_matrix")["Minv"]
            )
        levers = np.linalg.norm(
            np.asarray(levers, dtype=float).reshape(truth.count, 2, 3, -1), axis=2
        )
        levers[:, 1] += self.length()[:, None] * levers[:, 0]
        levers = np.repeat(levers, 3, axis=1)
        weighed = levers @ self.roots[..., None]
        bent = self.jacobian() @ np.swapaxes(levers, -1, -2)
        return np.asarray(weighed * np.swapaxes(weighed, -1, -2) + bent + np.swapaxes(bent, -1, -2))
