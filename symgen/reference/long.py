"""Dynamics of a robot of any length, in a time that grows with it: what the parts resist, summed from the tips.

About the origin of the base the wrenches of all that a joint carries are one sum, and its force is what that sum does along the
joint's twist there. Nothing is carried from frame to frame, and the numbers have digits enough for the large moments. What
forces accelerate is found by `symgen.reference.articulated` and believed where it asks for these forces.
"""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.arrays import cross, stacked, times
from symgen.reference.articulated import Articulated
from symgen.reference.drives import with_forces
from symgen.reference.forces import acceleration, d_alembert
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion, Placement
from symgen.reference.precision import Array


def inverse_dynamics(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """tau (..., NV) that makes the mechanism accelerate by a at (q, v), gravity and drives at work."""
    with motion.scalars.working():
        q, v, a = stacked(q, v, a)
        placed = motion.placements(q, v, a)
        out = motion.scalars.array([0] * motion.mechanism.nv) + 0 * v
        for i, (moment, force) in enumerate(_wrenches(motion, placed)):
            for (turning, sliding), (k, rate) in zip(
                motion.twists(i, placed[i].turn[0]), motion.shares[i], strict=True
            ):
                felt = (turning * moment).sum(axis=-1) + (sliding * force).sum(axis=-1)
                out[..., k] += felt if rate == 1 else felt * motion.scalars.constant(rate)
        return with_forces(motion, out, q, v, a)


def _wrenches(motion: Motion, placed: list[Placement]) -> list[tuple[Array, Array]]:
    """(moment, force) (..., 3) that every joint carries, about the origin of its body's frame."""
    nothing = motion.scalars.array([0, 0, 0])
    sums = [(nothing, nothing)] * len(placed)
    for part in motion.parts():
        centre, moment, force = d_alembert(part, placed[part.body], motion.gravity)
        n, f = sums[part.body]
        sums[part.body] = n + moment + cross(centre, force), f + force
    for i in reversed(range(len(placed))):
        n, f = sums[i]
        parent = motion.mechanism.joints[i].parent
        if parent != BASE:
            sums[parent] = sums[parent][0] + n, sums[parent][1] + f
    return [(n - cross(one.shift[0], f), f) for one, (n, f) in zip(placed, sums, strict=True)]


def caused(
    motion: Motion, at_rest: Articulated, q: Array, v: Array, tau: Array
) -> dict[str, Array]:
    """What forces tau (count, NV) cause at (q, v): accelerations `a` of the joints, `alpha` (count, NB, 6) of the links' frames
    and `alpha_tip` (count, 6) of the chosen one, and the wrenches `F` (count, NB, 6) across the joints, as
    `symgen.vocabulary.functions` has
    them; `left` (count, NV) is what tau is more than these accelerations ask for. `at_rest` is the robot at q.
    """
    with motion.scalars.working():
        a = at_rest.solve(tau - inverse_dynamics(motion, q, v, 0 * v))
        placed = motion.placements(q, v, a)
        shape = (*a.shape[:-1], 6)
        alpha = [np.broadcast_to(acceleration(one), shape) for one in placed]
        F = [
            np.broadcast_to(np.concatenate(np.broadcast_arrays(*one), axis=-1), shape)
            for one in _wrenches(motion, placed)
        ]
        found = {
            "a": a,
            "alpha": np.stack(alpha, axis=-2),
            "F": np.stack(F, axis=-2),
            "left": tau - inverse_dynamics(motion, q, v, a),
        }
        if motion.frame is not None:
            found["alpha_tip"] = np.broadcast_to(
                acceleration(motion.frame_series(placed, q)), shape
            )
        return found


def operational_inertia_inverse(motion: Reference, at_rest: Articulated, q: Array) -> Array:
    """J M⁻¹ Jᵀ (count, 6, 6) of the frame, as `symgen.vocabulary.functions` has it; `at_rest` is the robot at q (count, NQ)."""
    with motion.scalars.working():
        J = np.broadcast_to(motion.jacobian(q), (len(q), 6, motion.mechanism.nv))
        return np.stack([times(J, at_rest.solve(J[:, row])) for row in range(6)], axis=-1)
