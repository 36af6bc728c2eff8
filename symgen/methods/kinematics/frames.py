"""Pose and Jacobian of a chosen frame: transforms composed base → tip, and J = Bᵀ φᵀ Hᵀ (RK 3.13)
in base axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, SplitShift, Vector, times, transposed
from symgen.methods.shared.poses import base_axes, path_to_frame


def link_transforms(linkage: Linkage, links: Iterable[int]) -> dict[int, tuple[Rotation, Vector]]:
    """Return for each of these links, parents first: its rotation to base axes, and the vector from
    its parent's origin to its own.

    The vectors are in base axes. The vector of a root starts at the position of its own base frame
    (`Link.base_shift`).
    """
    poses: dict[int, tuple[Rotation, Vector]] = {}
    for i in links:
        link = linkage.links[i]
        linkage.step(i, "pose in the base")
        rotation = linkage.base_axes(i) if link.parent < 0 else poses[link.parent][0]
        step = rotation.to_parent(link.shift)
        # Collapse the rotation to one matrix, so that each link rotates three columns instead of
        # applying all factors before it.
        rotation = Rotation([rotation.matrix(linkage.one, linkage.zero), *link.rotation.factors])
        rotation = Rotation([product(linkage, rotation)])
        linkage.name("R", i, rotation.matrix(linkage.one, linkage.zero))
        poses[i] = (rotation, step)
    return poses


def _poses(linkage: Linkage) -> tuple[dict[int, tuple[Rotation, Vector]], tuple[Rotation, Vector]]:
    """Return `link_transforms` of the links on the path to the frame, and the transform of the
    frame.
    """
    frame = linkage.frame
    assert frame is not None
    poses = link_transforms(linkage, path_to_frame(linkage))
    rotation = poses[frame.link][0] if poses else Rotation([])
    linkage.derivation.step(f"frame {frame.name}")
    mount, shift = linkage.frame_pose(frame)
    step = rotation.to_parent(shift)
    rotation = Rotation([*rotation.factors, *mount.factors])
    return poses, (Rotation([product(linkage, rotation)]), step)


def product(linkage: Linkage, rotation: Rotation) -> tuple[Vector, Vector, Vector]:
    """Return the product of the factors as one matrix, computed row by row."""
    unit, zero = linkage.one, linkage.zero
    rows = [Vector(unit if i == j else zero for j in range(3)) for i in range(3)]
    for factor in rotation.factors:
        inverse = transposed(factor)
        rows = [times(inverse, row) for row in rows]
    return (rows[0], rows[1], rows[2])


def forward_kinematics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return R (3x3) and p (3, m) of the frame in the base frame."""
    poses, (rotation, step) = _poses(linkage)
    origin = linkage.zeros
    for i, (_, shift) in poses.items():
        origin = origin + shift
        linkage.name("p", i, origin)
    origin = origin + step
    for i in poses:
        if linkage.links[i].parent < 0:
            origin = origin + linkage.base_position(i)
    return [x for row in rotation.matrix(linkage.one, linkage.zero) for x in row], list(origin)


def jacobian(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return J (6 x NV) of the frame, angular rows first; columns off its path are zero.

    J is in base axes at the frame's origin, or as `jacobian_frame` states. The levers from the
    joints to the frame are summed from the frame inward. As differences of two positions in the
    base they would lose precision far from the base's origin.
    """
    if linkage.jacobian_frame != "aligned":
        return (spatial if linkage.jacobian_frame == "world" else local)(linkage)
    if linkage.link_by_link:
        return _jacobian_link_by_link(linkage)
    poses, (_, lever) = _poses(linkage)
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    for i, (rotation, step) in reversed(poses.items()):
        linkage.step(i, "column of the Jacobian, RK (3.13)")
        link = linkage.links[i]
        linkage.name("l", i, lever)
        for dof in link.dofs:
            w = rotation.to_parent(dof.H_angular)
            columns[dof.index] = [*w, *(rotation.to_parent(dof.H_linear) + w.cross(lever))]
        lever = step + lever
    return (_by_rows(columns),)


def local(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return J in the axes of the frame at its origin; these axes and the lever are carried inward
    from link to link.
    """
    frame = linkage.frame
    assert frame is not None
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    mount, lever = linkage.frame_pose(frame)
    axes: Sequence[Vector] = transposed(mount.matrix(linkage.one, linkage.zero))
    for i in reversed(path_to_frame(linkage)):
        link = linkage.links[i]
        linkage.step(i, f"column of the Jacobian in the axes of {frame.name}, RK (3.13)")
        for dof in link.dofs:
            velocity = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = [
                *(axis.dot(dof.H_angular) for axis in axes),
                *(axis.dot(velocity) for axis in axes),
            ]
        axes = [link.rotation.to_parent(axis) for axis in axes]
        lever = _from_parent(linkage, i, lever)
        linkage.name("E", i, (axes[0], axes[1], axes[2]))
        linkage.name("l", i, lever)
    return (_by_rows(columns),)


def _jacobian_link_by_link(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return `jacobian` by an inward sweep that carries the lever to the frame in the axes of each
    link.
    """
    frame, axes = linkage.frame, base_axes(linkage)
    assert frame is not None
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    lever = linkage.frame_pose(frame)[1]
    linkage.mark_frame_seed("l", lever)
    for i in reversed(path_to_frame(linkage)):
        linkage.step(i, "column of the Jacobian, RK (3.13)")
        for dof in linkage.links[i].dofs:
            velocity = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = [*axes[i].to_parent(dof.H_angular), *axes[i].to_parent(velocity)]
        lever = _from_parent(linkage, i, lever)
        linkage.name("l", i, lever)
    return (_by_rows(columns),)


def _from_parent(linkage: Linkage, i: int, lever: Vector) -> Vector:
    """Return a point's position from the parent of link i in the parent's axes; `lever` is its
    position from link i in its axes.
    """
    link = linkage.links[i]
    inner, outer = (
        (link.shift.inner, link.shift.outer)
        if isinstance(link.shift, SplitShift)
        else (linkage.zeros, link.shift)
    )
    return link.rotation.to_parent(lever + inner) + outer


def spatial(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return J in base axes at the base's origin; it depends only on the link of the frame."""
    poses = link_transforms(linkage, path_to_frame(linkage))
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    origin = linkage.zeros
    for i, (rotation, step) in poses.items():
        linkage.step(i, "column of the Jacobian at the base's origin, RK (3.13)")
        link = linkage.links[i]
        origin = origin + step if link.parent >= 0 else linkage.base_position(i) + step
        linkage.name("p", i, origin)
        for dof in link.dofs:
            w = rotation.to_parent(dof.H_angular)
            columns[dof.index] = [*w, *(rotation.to_parent(dof.H_linear) + origin.cross(w))]
    return (_by_rows(columns),)


def _by_rows(columns: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return [column[r] for r in range(6) for column in columns]
