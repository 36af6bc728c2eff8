"""What only a recursion along the tree says of links, where joints follow others and there is no such recursion.

The joints' accelerations come from Gᵀ M G, eliminated entry by entry, SA (16)-(30). With them all links move as RK (2.2)-(2.5)
have it, and what moves them crosses their joints, (2.6)-(2.12): of a joint that follows, with the force that makes it follow.
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
    """α of every link (NB x 6) at the origin of its declared frame, and of the chosen frame (6): (ω̇, v̇) in base axes."""
    _, motions = _moving(linkage)
    return accelerations_in_base(
        linkage, [one.omega for one in motions], [(one.alpha, one.accel) for one in motions]
    )


def interbody_forces(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """What crosses the joint of every link (NB x 6) at the origin of the frame that it moves, in base axes, and a (NV)."""
    a, motions = _moving(linkage)
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


def _moving(linkage: Linkage) -> tuple[list[Scalar], list[Motion]]:
    """The accelerations of the joints that lead, and how every link moves with them."""
    (a,) = forward_dynamics(linkage)
    return a, outward_sweep(linkage, linkage.inputs["v"], linkage.coupling.followed(a))
