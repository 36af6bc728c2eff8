"""Bias acceleration J̇ v of a chosen frame, RK (2.2)-(2.7) at a = 0, composed from the frame
inward.

Relative to link i at rest, the frame has the position l, the velocities (w, u), and the
accelerations due to velocities (b, s). Joint i rotates at T and translates at S. It changes them to

    w + T,   u' = u + T × l + S,   b + T × w,   s + T × (u + u')

which is (2.4) and (2.5) relative to the parent. For most joints T is parallel to an axis, so a
product with it costs two multiplications. An outward sweep would multiply by the total velocity
instead.

In the frame's own axes J v is the twist itself, and J̇ v its rate. V of link i is the sum of the
parent's twist and (T, S). At zero joint accelerations its rate is the sum of the parent's rate and
V × (T, S). Carried to the base, it is the rate of the twist at the base's origin, since V × V = 0.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, SplitShift, Vector, twist_to_child, wrench_to_parent
from symgen.methods.shared.poses import base_axes, path_to_frame


def bias_acceleration(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return J̇ v (6) of the frame as (angular, linear) at its origin in base axes, or as
    `jacobian_frame` states.
    """
    frame = linkage.frame
    assert frame is not None
    if linkage.jacobian_frame != "aligned":
        return _twist_rate(linkage, frame)
    if linkage.link_by_link:
        return _outward(linkage, frame)
    rates, i = linkage.inputs["v"], frame.link
    lever, w, u, b, s = linkage.frame_pose(frame)[1], *[linkage.zeros] * 4
    while i >= 0:
        link = linkage.links[i]
        linkage.step(i, f"motion of {frame.name} relative to its parent, RK (2.2)-(2.7)")
        joint_omega, u_before = link.turning(rates), u
        u = u + joint_omega.cross(lever) + link.sliding(rates)
        b, s = b + joint_omega.cross(w), s + joint_omega.cross(u_before + u)
        w = w + joint_omega
        inner, outer = (
            (link.shift.inner, link.shift.outer)
            if isinstance(link.shift, SplitShift)
            else (linkage.zeros, link.shift)
        )
        lever, w, u, b, s = (
            link.rotation.to_parent(vector) for vector in (lever + inner, w, u, b, s)
        )
        lever = lever + outer
        for name, vector in zip("lwubs", (lever, w, u, b, s), strict=True):
            linkage.name(name, i, vector)
        if link.parent < 0:
            base = linkage.base_axes(i)
            b, s = base.to_parent(b), base.to_parent(s)
        i = link.parent
    return ([*b, *s],)


def _outward(linkage: Linkage, frame: Frame) -> tuple[list[Scalar], ...]:
    """Return J̇ v by an outward sweep: the rate of the twist at the frame, plus w × u for axes that
    do not rotate.
    """
    path = path_to_frame(linkage)
    (w, u), (b, s) = _twist(linkage, path)
    rotations = base_axes(linkage)
    linkage.derivation.step(f"motion of {frame.name} in the axes of the base, RK (2.2)-(2.7)")
    lever = linkage.frame_pose(frame)[1]
    s, u = s + b.cross(lever), u + w.cross(lever)
    rotation = rotations[frame.link] if path else Rotation([])
    return ([*rotation.to_parent(b), *rotation.to_parent(s + w.cross(u))],)


def _twist(
    linkage: Linkage, path: list[int]
) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Return (w, u) of the last link of a path in its own axes, and its rate at zero joint
    accelerations.
    """
    rates, (w, u, b, s) = linkage.inputs["v"], [linkage.zeros] * 4
    for i in path:
        link = linkage.links[i]
        linkage.step(i, "twist and velocity-product acceleration, RK (2.2)-(2.7)")
        joint_omega, joint_velocity = link.turning(rates), link.sliding(rates)
        (w, u), (b, s) = (
            twist_to_child(link.rotation, link.shift, *twist) for twist in ((w, u), (b, s))
        )
        b, s = b + w.cross(joint_omega), s + w.cross(joint_velocity) + u.cross(joint_omega)
        w, u = w + joint_omega, u + joint_velocity
        for name, vector in zip("wubs", (w, u, b, s), strict=True):
            linkage.name(name, i, vector)
    return (w, u), (b, s)


def _twist_rate(linkage: Linkage, frame: Frame) -> tuple[list[Scalar], ...]:
    """Return J̇ v with J in the frame's own axes ("local") or at the base's origin ("world")."""
    path = path_to_frame(linkage)
    _, (b, s) = _twist(linkage, path)
    if linkage.jacobian_frame == "local":
        linkage.derivation.step(f"in the axes of {frame.name}")
        b, s = twist_to_child(*linkage.frame_pose(frame), b, s)
        return ([*b, *s],)
    for i in reversed(path):
        linkage.step(i, "velocity-product acceleration in the parent's axes")
        s, b = wrench_to_parent(
            linkage.links[i].rotation, linkage.links[i].shift, s, b
        )  # (v, ω) of a twist transforms like (moment, force) of a wrench
    if path:
        s, b = wrench_to_parent(linkage.base_axes(path[0]), linkage.base_position(path[0]), s, b)
    return ([*b, *s],)
