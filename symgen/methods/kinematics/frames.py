"""Pose and Jacobian of a chosen frame: the transforms composed base → tip, and J = Bᵀ φᵀ Hᵀ (RK 3.13) in base axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, SplitShift, Vector, times, transposed
from symgen.methods.shared.poses import base_axes, way_to_frame


def placed(linkage: Linkage, which: Iterable[int]) -> dict[int, tuple[Rotation, Vector]]:
    """(rotation in the base, step from its parent's origin to its own) of these links, parents first, all in base axes.

    The step of a root starts where its own base frame stands (`Link.base_shift`), not at the base.
    """
    poses: dict[int, tuple[Rotation, Vector]] = {}
    for i in which:
        link = linkage.links[i]
        linkage.step(i, "pose in the base")
        rotation = linkage.base_axes(i) if link.parent < 0 else poses[link.parent][0]
        step = rotation.to_parent(link.shift)
        # Collapsed to one matrix, so that each link turns three columns and not all factors before it.
        rotation = Rotation([rotation.matrix(linkage.one, linkage.zero), *link.rotation.factors])
        rotation = Rotation([product(linkage, rotation)])
        linkage.name("R", i, rotation.matrix(linkage.one, linkage.zero))
        poses[i] = (rotation, step)
    return poses


def _poses(linkage: Linkage) -> tuple[dict[int, tuple[Rotation, Vector]], tuple[Rotation, Vector]]:
    """`placed` of the links on the way, then likewise of the frame."""
    frame = linkage.frame
    assert frame is not None
    poses = placed(linkage, way_to_frame(linkage))
    rotation = poses[frame.link][0] if poses else Rotation([])
    linkage.home.step(f"frame {frame.name}")
    own, shift = linkage.mounted(frame)
    step = rotation.to_parent(shift)
    rotation = Rotation([*rotation.factors, *own.factors])
    return poses, (Rotation([product(linkage, rotation)]), step)


def product(linkage: Linkage, rotation: Rotation) -> tuple[Vector, Vector, Vector]:
    """The product of the factors, row by row: each row is turned inward, factor after factor."""
    one, zero = linkage.one, linkage.zero
    rows = [Vector(one if i == j else zero for j in range(3)) for i in range(3)]
    for factor in rotation.factors:
        back = transposed(factor)
        rows = [times(back, row) for row in rows]
    return (rows[0], rows[1], rows[2])


def forward_kinematics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """R (3x3) and p (3) of the frame in the base."""
    poses, (rotation, step) = _poses(linkage)
    origin = linkage.zeros
    for i, (_, shift) in poses.items():
        origin = origin + shift
        linkage.name("p", i, origin)
    origin = origin + step
    for i in poses:
        if linkage.links[i].parent < 0:
            origin = origin + linkage.base_place(i)
    return [x for row in rotation.matrix(linkage.one, linkage.zero) for x in row], list(origin)


def jacobian(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """J (6 x NV): angular rows first, base axes, at the frame's origin (unless told); columns off the way are zero.

    The levers from the joints to the frame are added up from the frame inwards, each from its own steps alone. As a difference of
    two points in the base they would lose what both are away from it.
    """
    if linkage.jacobian_frame != "aligned":
        return (spatial if linkage.jacobian_frame == "world" else local)(linkage)
    if linkage.in_turn:
        return _in_turn(linkage)
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
    """J in the axes of the frame, at its origin: these axes and the lever are carried inwards, from link to link."""
    frame = linkage.frame
    assert frame is not None
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    own, lever = linkage.mounted(frame)
    axes: Sequence[Vector] = transposed(own.matrix(linkage.one, linkage.zero))
    for i in reversed(way_to_frame(linkage)):
        link = linkage.links[i]
        linkage.step(i, f"column of the Jacobian in the axes of {frame.name}, RK (3.13)")
        for dof in link.dofs:
            moved = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = [
                *(axis.dot(dof.H_angular) for axis in axes),
                *(axis.dot(moved) for axis in axes),
            ]
        axes = [link.rotation.to_parent(axis) for axis in axes]
        lever = _from_parent(linkage, i, lever)
        linkage.name("E", i, (axes[0], axes[1], axes[2]))
        linkage.name("l", i, lever)
    return (_by_rows(columns),)


def _in_turn(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """`jacobian` where the next link tells each one where the frame is, in that one's axes."""
    frame, axes = linkage.frame, base_axes(linkage)
    assert frame is not None
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    lever = linkage.mounted(frame)[1]
    linkage.handed_by_frame("l", lever)
    for i in reversed(way_to_frame(linkage)):
        linkage.step(i, "column of the Jacobian, RK (3.13)")
        for dof in linkage.links[i].dofs:
            moved = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = [*axes[i].to_parent(dof.H_angular), *axes[i].to_parent(moved)]
        lever = _from_parent(linkage, i, lever)
        linkage.name("l", i, lever)
    return (_by_rows(columns),)


def _from_parent(linkage: Linkage, i: int, lever: Vector) -> Vector:
    """What is so far from link i, in its axes, from its parent in that one's."""
    link = linkage.links[i]
    inner, outer = (
        (link.shift.inner, link.shift.outer)
        if isinstance(link.shift, SplitShift)
        else (linkage.zeros, link.shift)
    )
    return link.rotation.to_parent(lever + inner) + outer


def spatial(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """J in the axes of the base, at its origin: of the link that the frame is fixed to, wherever on it the frame is."""
    poses = placed(linkage, way_to_frame(linkage))
    columns = [[linkage.zero] * 6 for _ in linkage.dofs]
    origin = linkage.zeros
    for i, (rotation, step) in poses.items():
        linkage.step(i, "column of the Jacobian at the base's origin, RK (3.13)")
        link = linkage.links[i]
        origin = origin + step if link.parent >= 0 else linkage.base_place(i) + step
        linkage.name("p", i, origin)
        for dof in link.dofs:
            w = rotation.to_parent(dof.H_angular)
            columns[dof.index] = [*w, *(rotation.to_parent(dof.H_linear) + origin.cross(w))]
    return (_by_rows(columns),)


def _by_rows(columns: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return [column[r] for r in range(6) for column in columns]
