"""Choose link frames in which little has to be multiplied: modified Denavit-Hartenberg frames read off the axes.

z is the joint's axis. Where two axes follow each other, x lies along their common normal, so that the constant part
between two links is one turn about x and at most one offset along it. Origins of parallel neighbours share a plane
across the axis; behind a sliding joint, whose axis has no place, the child's origin is taken. A link on the base
gets a base frame of its own, which coincides with it at q = 0 but for a turn that lays gravity along an axis. What a joint
without an axis moves, such as a spherical one, keeps its declared frame, since v is given in its axes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model.links import Model, aligned, body_inertia, place
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.support.errors import TooLong

NEARLY_PARALLEL = 0.01
"""sin² of the angle between two axes below which they are treated as parallel in placing origins (about 6 degrees)."""


MOST_JOINTS = 5000
"""Joints that move, of a robot with rows for every link. The sine and cosine of each, and a few rows that use them, already take
half of the 100 000 rows that a Program may have.
"""


def refuse_many_joints(mechanism: Mechanism) -> None:
    """Raise TooLong for more than `MOST_JOINTS`."""
    if len(mechanism.joints) > MOST_JOINTS:
        raise TooLong(
            f"{mechanism.name}: {len(mechanism.joints)} joints move, and symgen writes rows for at most {MOST_JOINTS}; "
            "generate, verify, cost and inspect take --form looped, or lock joints that do not matter with --lock"
        )


class Line(NamedTuple):
    """The axis of a link's heir, in the declared frame of the link.

    `point` is declared, where there is such a point, and `origin` is where the heir's frame starts. What depends on the line
    alone is worked out by `point`: by `origin` it would hang on every link behind, and lose a digit for each.
    """

    point: Vec3
    origin: Vec3
    direction: Vec3


def reframe(mechanism: Mechanism) -> Model:
    """The model of `mechanism` in the chosen frames; `Link.placement` records where they sit in the declared ones."""
    return _reframed(mechanism.uncoupled, k.digits())


@lru_cache(maxsize=32)
def _reframed(mechanism: Mechanism, digits: int) -> Model:
    """At the working precision that `digits` names."""
    n = len(mechanism.joints)
    poses, axes = [], []
    for joint in mechanism.joints:
        with k.speaking_of(f"joint '{joint.name}'"):
            poses.append(k.displacement(joint.pose))
            axes.append(k.unit(k.vector(joint.axis)))
    turns, directed = (
        [getattr(joint.type, of) for joint in mechanism.joints] for of in ("turns", "directed")
    )
    size = [1] * n
    for i in reversed(range(n)):
        if mechanism.joints[i].parent >= 0:
            size[mechanism.joints[i].parent] += size[i]
    heir = [max(mechanism.children(i), key=lambda c: (size[c], -c), default=None) for i in range(n)]

    def child_line(i: int, c: int) -> Line:
        """Joint c's axis in the declared frame of body i."""
        rotation, shift = poses[c]
        direction = k.apply(rotation, axes[c]) if directed[c] else axes[i]
        way = ways[c]
        if way is None:
            point = k.add(k.apply(rotation, origins[c]), shift)
            return Line(point, point, direction)
        return Line(shift, k.add(shift, k.scale(way, direction)), direction)

    origins: list[Vec3] = [k.ORIGIN] * n
    ways: list[Constant | None] = [
        None
    ] * n  # along the joint's axis to the origin, where it is on that
    normals: list[Vec3 | None] = [None] * n
    for i in reversed(range(n)):
        c = heir[i]
        with k.speaking_of(f"link '{mechanism.bodies[i].name}'"):
            if not directed[i]:
                continue
            if c is not None:
                line = child_line(i, c)
                if turns[i]:
                    ways[i] = _way(axes[i], line)
                else:
                    origins[i] = line.origin
                normals[i] = _normal(axes[i], line)
            elif mechanism.joints[i].parent >= 0:
                if turns[i]:
                    ways[i] = _leaf_way(i, mechanism, poses[i], axes, directed)
                else:
                    origins[i] = _mass_centre(mechanism.bodies[i])
            if (way := ways[i]) is not None:
                origins[i] = k.scale(way, axes[i])

    placements: list[tuple[Mat3, Vec3]] = []
    bases: list[tuple[Mat3, Vec3] | None] = []
    for i, joint in enumerate(mechanism.joints):
        with k.speaking_of(f"link '{mechanism.bodies[i].name}'"):
            rotation, shift = poses[i]
            base: tuple[Mat3, Vec3] | None = None
            if not directed[i]:
                frame, base = k.IDENTITY, poses[i] if joint.parent < 0 else None
            elif joint.parent < 0:
                frame = _frame(axes[i], normals[i])
                own = k.product(rotation, frame)
                base = (
                    _level(own, k.vector(mechanism.gravity), turns[i]),
                    k.add(k.apply(rotation, origins[i]), shift),
                )
            elif normals[i] is None:
                frame = _leaf_frame(rotation, axes[i], placements[joint.parent][0])
                frame = (
                    _turned_onto(frame, body_inertia(mechanism.bodies[i]).h) if turns[i] else frame
                )
            else:
                frame = _frame(axes[i], normals[i])
        placements.append((frame, origins[i]))
        bases.append(base)
    model = place(mechanism, placements, bases)
    return model.with_links(list(model.links), "reframe")


def _way(axis: Vec3, line: Line) -> Constant:
    """How far along its axis, which passes through 0, the frame of a link that turns starts, given its heir's axis."""
    both = k.cross(axis, line.direction)
    square = k.dot(both, both)
    if k.as_float(square) < NEARLY_PARALLEL:
        # The foot of the normal would lie far away, and round-off grows with the square of that distance.
        return k.dot(axis, line.origin)
    # Foot of the common normal: the point of this axis nearest to the line point + t direction.
    return k.settle(k.dot(k.cross(line.point, line.direction), both) / square)


def _normal(axis: Vec3, line: Line) -> Vec3 | None:
    """Unit common normal of two axes; for parallel ones the way across; None for one and the same line."""
    both = k.cross(axis, line.direction)
    if any(not k.is_zero(x) for x in both):
        return k.unit(both)
    across = k.sub(line.point, k.scale(k.dot(axis, line.point), axis))
    return None if all(k.is_zero(x) for x in across) else k.unit(across)


def _leaf_way(
    i: int, mechanism: Mechanism, pose: tuple[Mat3, Vec3], axes: list[Vec3], directed: list[bool]
) -> Constant:
    """That of a leaf that turns: the point of its axis nearest to its parent's axis, or to its parent's origin where there is no
    axis."""
    rotation, shift = pose
    back, parent = k.transpose(rotation), mechanism.joints[i].parent
    point = k.scale(-k.ONE, k.apply(back, shift))
    return _way(
        axes[i], Line(point, point, k.apply(back, axes[parent]) if directed[parent] else axes[i])
    )


def _mass_centre(body: Body) -> Vec3:
    """Where a leaf starts that slides: its axis has no place."""
    inertia = body_inertia(body)
    return k.ORIGIN if k.is_zero(inertia.m) else k.scale(1 / inertia.m, inertia.h)


def _leaf_frame(rotation: Mat3, axis: Vec3, parent_frame: Mat3) -> Mat3:
    """x along the common normal with the parent's axis, or as the parent's where they are parallel.

    That would spare the constant turn after q; x through the centre of mass, which a turning leaf gets after this, spares h_y
    in every product, which is worth more.
    """
    back = k.transpose(rotation)
    x, _, z = k.transpose(parent_frame)
    nodes = k.cross(k.apply(back, z), axis)
    return _frame(axis, k.apply(back, x) if all(k.is_zero(n) for n in nodes) else k.unit(nodes))


def _frame(axis: Vec3, x: Vec3 | None) -> Mat3:
    if x is None:
        return aligned(axis)
    return k.columns(x, k.cross(axis, x), axis)


def _turned_onto(frame: Mat3, v: Vec3) -> Mat3:
    """`frame` turned about z until v has no y component; left alone where v already lies along x or y."""
    x, y, z = k.transpose(frame)
    hx, hy = k.dot(x, v), k.dot(y, v)
    if k.is_zero(hx) or k.is_zero(hy):
        return frame
    across = k.unit(k.add(k.scale(hx, x), k.scale(hy, y)))
    return k.columns(across, k.cross(z, across), z)


def _level(own: Mat3, gravity: Vec3, turning: bool) -> Mat3:
    """The base frame of a root link: its own frame at q = 0, turned about z until gravity has one component across z."""
    return _turned_onto(own, gravity) if turning else own
