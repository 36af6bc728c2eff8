"""Joints that follow each other and turn about axes through one point, as those of a shoulder do: they do not move that point."""

from __future__ import annotations

from dataclasses import dataclass

from symgen.derivation.closed_forms import feels
from symgen.derivation.linkage import Linkage
from symgen.derivation.spatial import SplitShift, Vector


@dataclass(frozen=True)
class Point:
    """A point on the axes of `joints` (degrees of freedom, from the base on); a link's origin is `away` from it, in its axes."""

    joints: tuple[int, ...]
    away: Vector


def meetings(linkage: Linkage) -> list[dict[int, Point]]:
    """Of every link, {degree of freedom that carries it and turns about one axis: its point}."""
    found: list[dict[int, Point]] = []
    for b, link in enumerate(linkage.links):
        linkage.step(b, "its origin, from points that axes go through")
        moved = {
            point.joints: _to_child(linkage, b, point)
            for point in (found[link.parent] if link.parent >= 0 else {}).values()
        }
        if feels(linkage.model.links[b].kind) == "turn":
            last = _through(linkage, b, moved)
            joints = last.joints if last else ()
            own = Point((*joints, link.dof.index), last.away if last else linkage.zeros)
            moved = {name: point for name, point in moved.items() if name != joints} | {
                own.joints: own
            }
        found.append({j: point for point in moved.values() for j in point.joints})
    return found


def _to_child(linkage: Linkage, b: int, point: Point) -> Point:
    """As it is seen from link b, not from its parent."""
    link = linkage.links[b]
    inner, outer = (
        (link.shift.inner, link.shift.outer)
        if isinstance(link.shift, SplitShift)
        else (linkage.zeros, link.shift)
    )
    return Point(point.joints, link.rotation.to_child(point.away + outer) + inner)


def _through(linkage: Linkage, b: int, moved: dict[tuple[int, ...], Point]) -> Point | None:
    """The point of the joint before joint b, seen from link b, where the axis of b goes through it too.

    That of one joint alone may be anywhere on its axis.
    """
    link = linkage.links[b]
    if link.parent < 0 or feels(linkage.model.links[link.parent].kind) != "turn":
        return None
    last = next(
        point
        for point in moved.values()
        if point.joints[-1] == linkage.links[link.parent].dof.index
    )
    if _on_axis(last.away):
        return last
    if len(last.joints) == 1 and _on_axis(link.shift):
        return Point(last.joints, linkage.zeros)
    return None


def _on_axis(v: Vector) -> bool:
    return v[0].is_zero and v[1].is_zero and v[2].is_constant
