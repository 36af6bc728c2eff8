"""Dynamics of a robot of any length, in linear time: wrenches of the parts, summed from the tips.

About the origin of the base, the wrenches of all bodies that a joint carries are one sum. The joint
force is the product of that sum and the joint's twist there. No transform between frames is needed,
and the numbers have enough digits for the large moments. `symgen.reference.articulated` gives the
accelerations; inverse dynamics of these accelerations must return the applied forces.
"""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.arrays import cross, stacked, times
from symgen.reference.articulated import Articulated
from symgen.reference.drives import add_drive_forces
from symgen.reference.forces import d_alembert_wrench, frame_acceleration
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion, Placement
from symgen.reference.precision import Array


def inverse_dynamics(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """Return tau (..., NV) that accelerates a mechanism by a at (q, v), with gravity and drives."""
    with motion.scalars.working():
        q, v, a = stacked(q, v, a)
        placements = motion.placements(q, v, a)
        tau = motion.scalars.array([0] * motion.mechanism.nv) + 0 * v
        for i, (moment, force) in enumerate(_wrenches(motion, placements)):
            for (angular, linear), (k, rate) in zip(
                motion.twists(i, placements[i].turn[0]), motion.shares[i], strict=True
            ):
                joint_force = (angular * moment).sum(axis=-1) + (linear * force).sum(axis=-1)
                tau[..., k] += (
                    joint_force if rate == 1 else joint_force * motion.scalars.constant(rate)
                )
        return add_drive_forces(motion, tau, q, v, a)


def _wrenches(motion: Motion, placements: list[Placement]) -> list[tuple[Array, Array]]:
    """Return (moment, force), (..., 3) each, across every joint, about the origin of its body's
    frame.
    """
    zero = motion.scalars.array([0, 0, 0])
    sums = [(zero, zero)] * len(placements)
    for part in motion.parts():
        centre, moment, force = d_alembert_wrench(part, placements[part.body], motion.gravity)
        n, f = sums[part.body]
        sums[part.body] = n + moment + cross(centre, force), f + force
    for i in reversed(range(len(placements))):
        n, f = sums[i]
        parent = motion.mechanism.joints[i].parent
        if parent != BASE:
            sums[parent] = sums[parent][0] + n, sums[parent][1] + f
    return [
        (n - cross(placement.shift[0], f), f)
        for placement, (n, f) in zip(placements, sums, strict=True)
    ]


def forward_dynamics_results(
    motion: Motion, at_rest: Articulated, q: Array, v: Array, tau: Array
) -> dict[str, Array]:
    """Return the motion that forces tau (count, NV) cause at (q, v), by name; `at_rest` is the
    robot at q.

    `a` are the joint accelerations, `alpha` (count, NB, 6) the link accelerations, `alpha_tip`
    (count, 6) that of the chosen frame. `F` (count, NB, 6) are the wrenches across the joints, as
    in `symgen.vocabulary.functions`. `left` (count, NV) is the residual: tau minus the inverse
    dynamics of these accelerations.
    """
    with motion.scalars.working():
        a = at_rest.solve(tau - inverse_dynamics(motion, q, v, 0 * v))
        placements = motion.placements(q, v, a)
        shape = (*a.shape[:-1], 6)
        alpha = [np.broadcast_to(frame_acceleration(placement), shape) for placement in placements]
        F = [
            np.broadcast_to(np.concatenate(np.broadcast_arrays(*wrench), axis=-1), shape)
            for wrench in _wrenches(motion, placements)
        ]
        results = {
            "a": a,
            "alpha": np.stack(alpha, axis=-2),
            "F": np.stack(F, axis=-2),
            "left": tau - inverse_dynamics(motion, q, v, a),
        }
        if motion.frame is not None:
            results["alpha_tip"] = np.broadcast_to(
                frame_acceleration(motion.frame_series(placements, q)), shape
            )
        return results


def operational_inertia_inverse(motion: Reference, at_rest: Articulated, q: Array) -> Array:
    """Return J M⁻¹ Jᵀ (count, 6, 6) of the frame, as in `symgen.vocabulary.functions`; `at_rest` is
    the robot at q (count, NQ).
    """
    with motion.scalars.working():
        J = np.broadcast_to(motion.jacobian(q), (len(q), 6, motion.mechanism.nv))
        return np.stack([times(J, at_rest.solve(J[:, row])) for row in range(6)], axis=-1)
