"""Link accelerations and interbody forces of robots with mimic joints, for which no recursion along
the tree exists.

The joint accelerations solve with Gᵀ M G, eliminated entry by entry, SA (16)-(30). From them follow
the link accelerations, RK (2.2)-(2.5), and the wrenches across the joints, (2.6)-(2.12). The wrench
of a follower includes the force of its mimic constraint.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector, wrench_to_parent
from symgen.methods.composite_body.bias import forward_dynamics
from symgen.methods.shared.base_axes import Spatial, accelerations_in_base, wrenches_in_base
from symgen.methods.shared.motion import Motion, force_and_moment
from symgen.methods.shared.outward import outward_sweep


def link_accelerations(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return α of each link (NB x 6) at its declared frame's origin, and of the chosen frame (6),
    as (ω̇, v̇) in base axes.
    """
    _, motions = _accelerated_motions(linkage)
    return accelerations_in_base(
        linkage,
        [motion.omega for motion in motions],
        [(motion.alpha, motion.accel) for motion in motions],
    )


def interbody_forces(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return the wrench across each joint (NB x 6) at the origin of the frame that it moves, in
    base axes, and a (NV).
    """
    a, motions = _accelerated_motions(linkage)
    f: list[Spatial] = [(linkage.zeros, linkage.zeros)] * len(linkage)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "force across its joint, RK (2.6)-(2.12)")
        n, force = force_and_moment(linkage.inertia[i], motions[i])
        n, force = n - linkage.loads[i][0], force - linkage.loads[i][1]
        for c in linkage.links[i].children:
            child = linkage.links[c]
            n_c, f_c = wrench_to_parent(child.rotation, child.arm, *f[c])
            n, force = n + n_c, force + f_c  # (2.11), (2.12)
        f[i] = n, force
        linkage.name("f", i, Vector([*n, *force]))
    return wrenches_in_base(linkage, f), a


def _accelerated_motions(linkage: Linkage) -> tuple[list[Scalar], list[Motion]]:
    """Return the accelerations of the leaders, and the link motions that follow from them."""
    (a,) = forward_dynamics(linkage)
    return a, outward_sweep(linkage, linkage.inputs["v"], linkage.coupling.expand_rates(a))
