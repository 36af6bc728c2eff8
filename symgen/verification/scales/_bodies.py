"""Masses and levers of the parts relative to the joints that move them, and the resulting sizes of
forces, M, J and accelerations.
"""

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
from symgen.verification.magnitude import largest
from symgen.verification.reference_results import ReferenceResults


class PartSizes(NamedTuple):
    """Sizes of a part relative to the joints that move it.

    `turns` is 1 for a rotating joint, `levers` is (count, k), `inertia` is a norm, and `gravcomp`
    is the magnitude of its gravity compensation.
    """

    joints: list[int]
    turns: Array
    levers: Array
    mass: Array
    inertia: Array
    gravcomp: float = 0.0

    def speeds(self, rates: Array) -> tuple[Array, Array]:
        """Return the sizes (count,) of its rotation rate and of its centre's speed, at rates
        (count, NV) of the joints.
        """
        joint_rates = np.abs(rates)[:, self.joints]
        return (joint_rates * self.turns).sum(axis=-1), (joint_rates * self.levers).sum(axis=-1)


class Bodies:
    """The bodies at the states of `exact_results`, and the sizes that depend on them alone."""

    def __init__(self, exact_results: ReferenceResults) -> None:
        self.exact_results = exact_results
        reference, q = exact_results.rough, exact_results.floats["q"]
        self.placements = reference.placements(q)
        self.gravity = float(np.linalg.norm(reference.gravity))
        self.rates = leverage.rates(reference)
        """Rotation (rad) and translation (m) of the bodies for each unit of v."""
        self.parts: list[PartSizes] = []
        self.arms: list[Array] = []
        """Distances (count, k) of every part's centre from the frames of the bodies on its path:
        the largest from a body or from one further out, for any type of joint.
        """
        for part in reference.parts(exact_results.load):
            at = self.placements[part.body]
            centre = at.shift[0] + (at.turn[0] @ part.centre[..., None])[..., 0]
            support, path = reference.supports[part.body], reference.paths[part.body]
            distances = [
                np.linalg.norm(centre - self.placements[body].shift[0], axis=-1) for body in path
            ]
            by_body = np.stack([np.broadcast_to(x, (len(q),)) for x in distances], axis=-1)
            # A recursion goes joint by joint: in a folded arm that path is longer than the direct
            # distance.
            self.arms.append(np.maximum.accumulate(by_body[:, ::-1], axis=-1)[:, ::-1])
            inertia = np.linalg.norm(part.inertia, axis=(-2, -1))
            self.parts.append(
                PartSizes(
                    support,
                    *leverage.point_levers(reference, part.body, self.arms[-1]),
                    part.mass,
                    inertia,
                    abs(float(part.gravcomp)),
                )
            )

    def transmitted_wrenches(self) -> Iterator[tuple[int, Array, Array]]:
        """Yield (body, moment, force) of every body that transmits an external wrench, (count,)
        each; the moment is about its joint.

        A body that transmits several wrenches occurs several times.
        """
        for frame, wrench in self._wrenches():
            at = self.placements[frame.body]
            point = at.shift[0] + at.turn[0] @ self.exact_results.rough.pose(frame.pose)[1]
            moment, force = (
                np.linalg.norm(wrench[:, :3], axis=-1),
                np.linalg.norm(wrench[:, 3:], axis=-1),
            )
            lever = np.zeros(self.exact_results.count)
            for body in reversed(self.exact_results.rough.paths[frame.body]):
                lever = np.maximum(
                    lever, np.linalg.norm(point - self.placements[body].shift[0], axis=-1)
                )
                yield body, moment + force * lever, force

    def _wrenches(self) -> list[tuple[Frame, Array]]:
        """Return every external wrench (count, 6) on a moving body, and its frame."""
        if not (links := self.exact_results.rough.wrenches):
            return []
        by_frame = self.exact_results.floats["wrench"].reshape(
            self.exact_results.count, len(links), 6
        )
        return [(frame, by_frame[:, k]) for k, frame in enumerate(links) if frame.body != BASE]

    def wrench_torques(self) -> Array:
        """Return the size of Σ Jᵀ wrench (count, NV): each moment, and each force at its distance
        from the joint.
        """
        total = np.zeros(self.exact_results.floats["v"].shape)
        for body, moment, force in self.transmitted_wrenches():
            for k, rotation, translation in leverage.own_rates(self.exact_results.rough, body):
                total[:, k] += rotation * moment + translation * force
        return total

    def forces(self, v: Array, a: Array, wrench: bool = True) -> Array:
        """Return the size of inverse dynamics at (q, v, a), joint by joint (count, NV); of gravity
        alone without `wrench`.
        """
        total = self.wrench_torques() + self.drive_forces(v, a) if wrench else 0 * v
        for part, (force, moment) in zip(self.parts, self._inertial_wrenches(v, a), strict=True):
            total[:, part.joints] += part.levers * force[:, None] + part.turns * moment[:, None]
        return total

    def drive_forces(self, v: Array, a: Array) -> Array:
        """Return the size of the drive forces (count, NV) and of gravity compensation."""
        total = drive_scales.forces(
            self.exact_results.mechanism, self.exact_results.floats["q"], v, a
        )
        for part in (candidate for candidate in self.parts if candidate.gravcomp):
            total[:, part.joints] += (
                part.levers
                * (part.gravcomp * self.gravity * np.abs(np.asarray(part.mass)))[..., None]
            )
        return total

    def wrenches(self, v: Array, a: Array) -> Array:
        """Return the size of the wrenches across the joints at (q, v, a) (count, NB): of a moment
        or a force, whichever is larger.
        """
        total = np.zeros((self.exact_results.count, len(self.exact_results.mechanism.bodies)))
        for _, wrench in self._wrenches():
            total += largest(wrench)[:, None]
        for body, moment, force in self.transmitted_wrenches():
            total[:, body] += np.maximum(moment, force)
        loads = zip(
            self.exact_results.rough.parts(self.exact_results.load),
            self.arms,
            self._inertial_wrenches(v, a),
            strict=True,
        )
        for part, arms, (force, moment) in loads:
            total[:, self.exact_results.rough.paths[part.body]] += (
                np.maximum(1.0, arms) * force[:, None] + moment[:, None]
            )
        return total

    def _inertial_wrenches(self, v: Array, a: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the sizes (count,) of the inertial and gravity force of every part, and of its
        moment.
        """
        for part in self.parts:
            (rate, speed), (turning, moving) = part.speeds(v), part.speeds(a)
            yield (
                part.mass * (moving + 2 * rate * speed + self.gravity),
                part.inertia * (turning + 2 * rate * rate),
            )

    def diagonal(self) -> Array:
        """Return the sizes of the mass matrix's diagonal entries (count, NV). M_jk is at most √(s_j
        s_k).
        """
        total = drive_scales.armature(self.exact_results.mechanism) + np.zeros(
            self.exact_results.floats["v"].shape
        )
        for support, turns, arms, mass, inertia, _ in self.parts:
            total[:, support] += (
                arms * arms * np.asarray(mass)[..., None]
                + turns * turns * np.asarray(inertia)[..., None]
            )
        return total

    @cached_property
    def roots(self) -> Array:
        """Return √s_j (count, NV), the weight of joint j's motion."""
        return np.asarray(np.sqrt(self.diagonal()))

    def weighted_sum(self, x: Array) -> Array:
        """Return Σ √s_j |x_j| per state (count, 1) of a joint-space vector (count, NV)."""
        return np.asarray(
            (self.roots * np.abs(np.asarray(x, dtype=float))).sum(axis=-1, keepdims=True)
        )

    def mass(self) -> Array:
        """Return the size of the mass matrix (count, NV, NV)."""
        return np.asarray(self.roots[:, :, None] * self.roots[:, None, :])

    def jacobian(self, lever: Array | None = None) -> Array:
        """Return the size of the frame's Jacobian (count, 6, NV), angular rows first; the default
        lever is the robot's length.
        """
        turns, slides = np.array(self.rates).T
        linear = turns * (self.length() if lever is None else lever)[:, None] + slides
        angular = np.broadcast_to(turns, linear.shape)
        return np.stack([angular] * 3 + [linear] * 3, axis=1)

    def dynamics_residual(self, a: Array) -> Array:
        """Return the size of M a + c − tau, joint by joint (count, NV)."""
        v = self.exact_results.floats["v"]
        return np.asarray(
            self.roots * self.weighted_sum(a)
            + self.forces(v, 0 * v)
            + np.abs(self.exact_results.floats["tau"])
        )

    def contact_forces(self, A: Array, f: Array) -> Array:
        """Return the size of Aᵀ f, joint by joint (count, NV): its terms, and M times the error of
        M⁻¹ A_kᵀ f_k of each contact.
        """
        A_transposed = transposed(A)
        accelerations = np.abs(self._inverse_mass_matrix() @ A_transposed)
        return np.asarray(
            times(np.abs(A_transposed), np.abs(f))
            + self.roots * self.weighted_sum(times(accelerations, np.abs(f)))
        )

    def determinant_loss(self) -> Array:
        """Return Σ |M⁻¹|_jk s_jk per state (count,): the size of tr(M⁻¹ δM), which is the relative
        error of a determinant.
        """
        return np.asarray(
            np.einsum("sj,sjk,sk->s", self.roots, np.abs(self._inverse_mass_matrix()), self.roots)
        )

    def _inverse_mass_matrix(self) -> Array:
        return np.asarray(self.exact_results.results("inverse_mass_matrix")["Minv"], dtype=float)

    def inverse(self) -> Array:
        """Return the size of M⁻¹ (count, NV, NV): |M⁻¹| S |M⁻¹|, its change when M changes by its
        size S.
        """
        weighted_rows = np.abs(self._inverse_mass_matrix()) @ self.roots[..., None]
        return np.asarray(weighted_rows * np.swapaxes(weighted_rows, -1, -2))

    def inverse_entries(self) -> Array:
        """Return √(M⁻¹_jj) (count, NV). Entry jk of M⁻¹ is at most the product of two of them."""
        inverse = self.exact_results.results("inverse_mass_matrix")["Minv"]
        return np.asarray(np.sqrt(np.abs(np.diagonal(inverse, axis1=-2, axis2=-1).astype(float))))

    def length(self) -> Array:
        """Return the length of the longest path along the bodies, from the first joint on, per
        state (count,), in m.

        It does not depend on the position of the base.
        """
        reach: list[Any] = []
        for index, joint in enumerate(self.exact_results.mechanism.joints):
            if joint.parent == BASE:
                reach.append(np.zeros(self.exact_results.count))
            else:
                step = np.linalg.norm(
                    self.placements[index].shift[0] - self.placements[joint.parent].shift[0],
                    axis=-1,
                )
                reach.append(step + reach[joint.parent])
        tool = 0.0
        if self.exact_results.rough.frame is not None:
            tool = float(
                np.linalg.norm(
                    self.exact_results.rough.pose(self.exact_results.rough.frame.pose)[1]
                )
            )
        return np.asarray(np.max(np.broadcast_arrays(*reach), axis=0) + tool)

    def lever(self) -> Array:
        """Return the size of the lever of a twist in its convention, per state (count,), in m: from
        the frame or the base's origin.
        """
        return self.distance() if self.exact_results.convention.frame == "world" else self.length()

    def distance(self) -> Array:
        """Return the size of the frame's position, per state (count,), in m: its first joint's
        distance from the base, plus a lever.
        """
        frame = self.exact_results.rough.frame
        root = (
            0.0
            if frame is None or frame.body == BASE
            else self.placements[self.exact_results.rough.paths[frame.body][0]].shift[0]
        )
        return np.asarray(np.linalg.norm(np.atleast_2d(root), axis=-1) + self.length())

    def joint_accelerations(self) -> Array:
        """Return the size of the joint accelerations (count, NV): |M⁻¹| times the size of the
        forces.
        """
        residual = self.dynamics_residual(self.exact_results.results("forward_dynamics")["a"])
        return times(np.abs(self._inverse_mass_matrix()), residual)

    def accelerations(self) -> Array:
        """Return the size of the link accelerations (count, NB, 6): those of the joints on the
        link's path, at a lever.
        """
        return np.stack(
            [self.acceleration(body) for body in range(len(self.exact_results.mechanism.bodies))],
            axis=1,
        )

    def acceleration(self, body: int) -> Array:
        """Return the size of a body's acceleration (count, 6)."""
        support = [] if body == BASE else self.exact_results.rough.supports[body]
        speed = np.abs(self.exact_results.floats["v"][:, support]).sum(axis=-1)
        rates = self.joint_accelerations()[:, support].sum(axis=-1) + 2 * speed**2
        linear = np.maximum(1.0, self.length()) * rates + self.gravity
        return np.stack([rates] * 3 + [linear] * 3, axis=-1)

    def tip_acceleration(self) -> Array:
        """Return the size of the frame's acceleration (count, 6)."""
        frame = self.exact_results.rough.frame
        return self.acceleration(BASE if frame is None else frame.body)

    def mobility(self) -> Array:
        """Return the size of J M⁻¹ Jᵀ (count, 6, 6): its change when M or J changes, with X = J M⁻¹
        as the lever.

        A rotation moves points at the distance of the robot's length. The size does not depend on
        the orientation of the base.
        """
        exact_results = self.exact_results
        with exact_results.scalars.working():
            levers = (
                exact_results.reference.jacobian(exact_results.balls["q"])
                @ exact_results.results("inverse_mass_matrix")["Minv"]
            )
        levers = np.linalg.norm(
            np.asarray(levers, dtype=float).reshape(exact_results.count, 2, 3, -1), axis=2
        )
        levers[:, 1] += self.length()[:, None] * levers[:, 0]
        levers = np.repeat(levers, 3, axis=1)
        mass_term = levers @ self.roots[..., None]
        jacobian_term = self.jacobian() @ np.swapaxes(levers, -1, -2)
        return np.asarray(
            mass_term * np.swapaxes(mass_term, -1, -2)
            + jacobian_term
            + np.swapaxes(jacobian_term, -1, -2)
        )
