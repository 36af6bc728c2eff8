"""Poses of the declared frames of all links, composed outward."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.methods.kinematics.frames import link_transforms, product


def link_poses(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return R (NB x 3 x 3) and p (NB x 3, m) of the declared frames of all links in the base
    frame.

    The constant position of a root's base frame is added last, so that a distant base causes no
    loss of precision.
    """
    poses = link_transforms(linkage, range(len(linkage)))
    axes: list[Scalar] = []
    origins: list[Scalar] = []
    positions: dict[
        int, tuple[Vector, Vector]
    ] = {}  # the position of the root's base frame, and the vector from there
    for i, (rotation, step) in poses.items():
        link = linkage.links[i]
        linkage.step(i, "declared frame in the base")
        root, offset = (
            (linkage.base_position(i), step) if link.parent < 0 else positions[link.parent]
        )
        offset = offset if link.parent < 0 else offset + step
        positions[i] = root, offset
        back, origin = linkage.declared_frame(i)
        offset = offset + rotation.to_parent(origin)
        axes += [
            x for row in product(linkage, Rotation([*rotation.factors, *back.factors])) for x in row
        ]
        origins += offset + root
    return axes, origins
