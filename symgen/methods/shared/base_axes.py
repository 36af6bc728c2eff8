"""Link accelerations and joint wrenches in base axes, from those in the axes of each link."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.methods.shared.poses import base_axes

Spatial = tuple[Vector, Vector]


def shift_acceleration(alpha: Spatial, omega: Vector, shift: Vector) -> Spatial:
    """Return φᵀ(1,0) α(1) + a(0), RK (5.7): the acceleration of another point of the same link."""
    w, v = alpha
    return w, v + w.cross(shift) + omega.cross(omega.cross(shift))  # (5.7), (2.7)


def accelerations_in_base(
    linkage: Linkage, omega: Sequence[Vector], alpha: Sequence[Spatial]
) -> tuple[list[Scalar], ...]:
    """Return α of every link (NB x 6) at its declared frame's origin, and of the chosen frame (6).

    Each α is (ω̇, v̇) in base axes. The argument `alpha` contains −gravity, RK (3.21); the results
    do not.
    """
    frame = linkage.frame
    assert frame is not None
    rotations = base_axes(linkage)

    def in_base(i: int, point: Vector) -> list[Scalar]:
        w, v = shift_acceleration(alpha[i], omega[i], point)
        root = (i, *linkage.model.ancestors(i))[-1]
        return [
            *rotations[i].to_parent(w),
            *(rotations[i].to_parent(v) + linkage.gravity_in_base(root)),
        ]  # adding gravity undoes (3.21)

    result: list[Scalar] = []
    for i in range(len(linkage)):
        linkage.step(i, "acceleration in the base, RK (5.6), (3.21)")
        result += in_base(i, linkage.declared_frame(i)[1])
    linkage.derivation.step(f"acceleration of frame {frame.name}, RK (5.7)")
    return result, [linkage.zero] * 6 if frame.link < 0 else in_base(
        frame.link, linkage.frame_pose(frame)[1]
    )


def wrenches_in_base(linkage: Linkage, f: Sequence[Spatial]) -> list[Scalar]:
    """Return the wrench across each joint (NB x 6) in base axes.

    Its reference point is the origin of the frame that the joint moves.
    """
    rotations = base_axes(linkage)
    result: list[Scalar] = []
    for i in range(len(linkage)):
        linkage.step(i, "force across its joint in the base")
        n = f[i][0] + f[i][1].cross(linkage.declared_frame(i)[1])
        result += [*rotations[i].to_parent(n), *rotations[i].to_parent(f[i][1])]
    return result
