"""Inverse dynamics of a robot of any length, in a time that grows with it: what the parts resist, summed from the tips.

About the origin of the base the wrenches of all that a joint carries are one sum, and its force is what that sum does along the
joint's twist there. Nothing is carried from frame to frame, and the numbers have digits enough for the large moments.
"""

from __future__ import annotations

from symgen.mechanism import BASE
from symgen.reference.arrays import cross, stacked
from symgen.reference.drives import with_forces
from symgen.reference.forces import d_alembert
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def inverse_dynamics(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """tau (..., NV) that makes the mechanism accelerate by a at (q, v), gravity and drives at work."""
    with motion.scalars.working():
        q, v, a = stacked(q, v, a)
        placed = motion.placements(q, v, a)
        nothing = motion.scalars.array([0, 0, 0])
        sums = [(nothing, nothing)] * len(placed)
        for part in motion.parts():
            centre, moment, force = d_alembert(part, placed[part.body], motion.gravity)
            n, f = sums[part.body]
            sums[part.body] = n + moment + cross(centre, force), f + force
        out = motion.scalars.array([0] * motion.mechanism.nv) + 0 * v
        for i in reversed(range(len(placed))):
            n, f = sums[i]
            parent = motion.mechanism.joints[i].parent
            if parent != BASE:
                sums[parent] = sums[parent][0] + n, sums[parent][1] + f
            about = n - cross(placed[i].shift[0], f)
            for (turning, sliding), (k, rate) in zip(motion.twists(i, placed[i].turn[0]), motion.shares[i], strict=True):
                felt = (turning * about).sum(axis=-1) + (sliding * f).sum(axis=-1)
                out[..., k] += felt if rate == 1 else felt * motion.scalars.constant(rate)
        return with_forces(motion, out, q, v, a)
