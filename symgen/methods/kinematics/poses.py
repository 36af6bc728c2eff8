"""Poses of all links: the transforms composed outward, each link's frame as its joint's declaration moves it."""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.methods.kinematics.frames import placed, product


def link_poses(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """R (NB x 3 x 3) and p (NB x 3) of the declared frames of all links in the base.

    Where a root's base frame stands is added last, so that a base far away costs the steps of a link no digit.
    """
    poses = placed(linkage, range(len(linkage)))
    axes: list[Scalar] = []
    origins: list[Scalar] = []
    reached: dict[
        int, tuple[Vector, Vector]
    ] = {}  # the place of the root's base frame, and the way from there
    for i, (rotation, step) in poses.items():
        link = linkage.links[i]
        linkage.step(i, "declared frame in the base")
        root, way = (linkage.base_place(i), step) if link.parent < 0 else reached[link.parent]
        way = way if link.parent < 0 else way + step
        reached[i] = root, way
        back, origin = linkage.declared_frame(i)
        way = way + rotation.to_parent(origin)
        axes += [
            x for row in product(linkage, Rotation([*rotation.factors, *back.factors])) for x in row
        ]
        origins += way + root
    return axes, origins
