"""J̇ v of a chosen frame: relative velocities and accelerations composed from the frame inward, RK (2.2)-(2.7) at a = 0.

Of the frame against link i, were that held still, three vectors are known: its place l and its velocities (w, u); and what
velocities alone give of its accelerations (b, s). Joint i, which turns by T and slides by S, adds to them

    w + T,   u' = u + T × l + S,   b + T × w,   s + T × (u + u')

which is (2.4) and (2.5) seen from the parent. T lies along an axis for most joints, so that a product with it costs two
multiplications; the sweep outward multiplies by the velocity of all that comes before.

In the frame's own axes J v is the twist itself, and J̇ v its change: V of link i is what comes from its parent and (T, S), and
changes by what comes from there and V × (T, S) while no rate does. The same change, carried to the base, is that of the twist
at the base's origin, since V does not move V.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, SplitShift, Vector, twist_to_child, wrench_to_parent
from symgen.methods.shared.poses import base_axes, way_to_frame


def bias_acceleration(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """J̇ v (6) of the frame: (angular, linear) at its origin in base axes, unless told."""
    frame = linkage.frame
    assert frame is not None
    if linkage.jacobian_frame != "aligned":
        return _of_the_twist(linkage, frame)
    if linkage.in_turn:
        return _outward(linkage, frame)
    rates, i = linkage.inputs["v"], frame.link
    place, w, u, b, s = linkage.mounted(frame)[1], *[linkage.zeros] * 4
    while i >= 0:
        link = linkage.links[i]
        linkage.step(i, f"motion of {frame.name} against its parent, RK (2.2)-(2.7)")
        turn, before = link.turning(rates), u
        u = u + turn.cross(place) + link.sliding(rates)
        b, s = b + turn.cross(w), s + turn.cross(before + u)
        w = w + turn
        inner, outer = (
            (link.shift.inner, link.shift.outer)
            if isinstance(link.shift, SplitShift)
            else (linkage.zeros, link.shift)
        )
        place, w, u, b, s = (link.rotation.to_parent(one) for one in (place + inner, w, u, b, s))
        place = place + outer
        for name, one in zip("lwubs", (place, w, u, b, s), strict=True):
            linkage.name(name, i, one)
        if link.parent < 0:
            base = linkage.base_axes(i)
            b, s = base.to_parent(b), base.to_parent(s)
        i = link.parent
    return ([*b, *s],)


def _outward(linkage: Linkage, frame: Frame) -> tuple[list[Scalar], ...]:
    """J̇ v from the base outward, where each link hands on what it has: the change of the twist at the frame, with w × u, which
    axes that stand still see."""
    way = way_to_frame(linkage)
    (w, u), (b, s) = _twist(linkage, way)
    rotations = base_axes(linkage)
    linkage.home.step(f"motion of {frame.name} in the axes of the base, RK (2.2)-(2.7)")
    place = linkage.mounted(frame)[1]
    s, u = s + b.cross(place), u + w.cross(place)
    own = rotations[frame.link] if way else Rotation([])
    return ([*own.to_parent(b), *own.to_parent(s + w.cross(u))],)


def _twist(linkage: Linkage, way: list[int]) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """(w, u) of the last of these links in its own axes, and how that changes while no rate does."""
    rates, (w, u, b, s) = linkage.inputs["v"], [linkage.zeros] * 4
    for i in way:
        link = linkage.links[i]
        linkage.step(i, "its twist, and how that changes while no rate does, RK (2.2)-(2.7)")
        turn, slide = link.turning(rates), link.sliding(rates)
        (w, u), (b, s) = (
            twist_to_child(link.rotation, link.shift, *one) for one in ((w, u), (b, s))
        )
        b, s = b + w.cross(turn), s + w.cross(slide) + u.cross(turn)
        w, u = w + turn, u + slide
        for name, one in zip("wubs", (w, u, b, s), strict=True):
            linkage.name(name, i, one)
    return (w, u), (b, s)


def _of_the_twist(linkage: Linkage, frame: Frame) -> tuple[list[Scalar], ...]:
    """J̇ v where J is stated in the frame's own axes ("local") or at the base's origin ("world")."""
    way = way_to_frame(linkage)
    _, (b, s) = _twist(linkage, way)
    if linkage.jacobian_frame == "local":
        linkage.home.step(f"in the axes of {frame.name}")
        b, s = twist_to_child(*linkage.mounted(frame), b, s)
        return ([*b, *s],)
    for i in reversed(way):
        linkage.step(i, "the same as its parent has it")
        s, b = wrench_to_parent(
            linkage.links[i].rotation, linkage.links[i].shift, s, b
        )  # a twist is moved as a wrench is: (v, ω)
    if way:
        s, b = wrench_to_parent(linkage.base_axes(way[0]), linkage.base_place(way[0]), s, b)
    return ([*b, *s],)
