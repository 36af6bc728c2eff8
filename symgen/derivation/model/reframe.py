"""Choice of link frames that need few multiplications: modified Denavit-Hartenberg frames from the
axes.

z is the joint's axis. x of a link is parallel to the common normal of its axis and the next one. So
the constant transform between two links is one rotation about x and at most one offset along x.
Origins of links with parallel axes lie in one plane normal to the axis. The axis of a prismatic
joint has no position, so the child's origin is taken. A root link has a base frame of its own,
equal to the link frame at q = 0 up to a rotation that aligns gravity with an axis. A link whose
joint has no axis, such as a spherical one, keeps its declared frame, since v is expressed in its
axes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model.links import Model, body_inertia, build_model, rotation_to_axis
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.support.errors import TooLong

NEARLY_PARALLEL = 0.01
"""sin² of the angle between two axes below which origins are placed as if the axes were parallel
(about 6 degrees).
"""


MOST_JOINTS = 5000
"""Most movable joints of a robot with rows for every link. Sines, cosines and a few rows per joint
already take half of the 100 000 rows that a Program may have.
"""


def refuse_many_joints(mechanism: Mechanism) -> None:
    """Raise TooLong if a mechanism has more than `MOST_JOINTS` joints."""
    if len(mechanism.joints) > MOST_JOINTS:
        raise TooLong(
            f"{mechanism.name}: {len(mechanism.joints)} joints move, and symgen writes rows for at"
            f" most {MOST_JOINTS}; generate, verify, cost and inspect take --form looped, or lock"
            " joints that do not matter with --lock"
        )


class Line(NamedTuple):
    """Axis of a link's main child, in the declared frame of the link.

    `point` is a declared point, if there is one, and `origin` is that of the child's frame. Results
    that depend on the line only use `point`: with `origin` they would depend on all links beyond,
    and lose a digit for each.
    """

    point: Vec3
    origin: Vec3
    direction: Vec3


def reframe(mechanism: Mechanism) -> Model:
    """Return the model of `mechanism` in the chosen frames; `Link.placement` records their poses in
    the declared ones.
    """
    return _reframed(mechanism.uncoupled, k.digits())


@lru_cache(maxsize=32)
def _reframed(mechanism: Mechanism, digits: int) -> Model:
    """Return the model at the working precision that `digits` names."""
    n = len(mechanism.joints)
    poses, axes = [], []
    for joint in mechanism.joints:
        with k.locating_errors(f"joint '{joint.name}'"):
            poses.append(k.displacement(joint.pose))
            axes.append(k.unit(k.vector(joint.axis)))
    turns, directed = (
        [getattr(joint.type, name) for joint in mechanism.joints] for name in ("turns", "directed")
    )
    size = [1] * n
    for i in reversed(range(n)):
        if mechanism.joints[i].parent >= 0:
            size[mechanism.joints[i].parent] += size[i]
    main_child = [
        max(mechanism.children(i), key=lambda c: (size[c], -c), default=None) for i in range(n)
    ]

    def child_line(i: int, c: int) -> Line:
        """Return joint c's axis in the declared frame of body i."""
        rotation, shift = poses[c]
        direction = k.apply(rotation, axes[c]) if directed[c] else axes[i]
        distance = distances[c]
        if distance is None:
            point = k.add(k.apply(rotation, origins[c]), shift)
            return Line(point, point, direction)
        return Line(shift, k.add(shift, k.scale(distance, direction)), direction)

    origins: list[Vec3] = [k.ORIGIN] * n
    distances: list[Constant | None] = [
        None
    ] * n  # along the joint's axis to the origin, if the origin is on the axis
    normals: list[Vec3 | None] = [None] * n
    for i in reversed(range(n)):
        c = main_child[i]
        with k.locating_errors(f"link '{mechanism.bodies[i].name}'"):
            if not directed[i]:
                continue
            if c is not None:
                line = child_line(i, c)
                if turns[i]:
                    distances[i] = _normal_foot(axes[i], line)
                else:
                    origins[i] = line.origin
                normals[i] = _normal(axes[i], line)
            elif mechanism.joints[i].parent >= 0:
                if turns[i]:
                    distances[i] = _leaf_foot(i, mechanism, poses[i], axes, directed)
                else:
                    origins[i] = _mass_centre(mechanism.bodies[i])
            if (distance := distances[i]) is not None:
                origins[i] = k.scale(distance, axes[i])

    placements: list[tuple[Mat3, Vec3]] = []
    bases: list[tuple[Mat3, Vec3] | None] = []
    for i, joint in enumerate(mechanism.joints):
        with k.locating_errors(f"link '{mechanism.bodies[i].name}'"):
            rotation, shift = poses[i]
            base: tuple[Mat3, Vec3] | None = None
            if not directed[i]:
                frame, base = k.IDENTITY, poses[i] if joint.parent < 0 else None
            elif joint.parent < 0:
                frame = _frame(axes[i], normals[i])
                link_axes = k.product(rotation, frame)
                base = (
                    _base_axes(link_axes, k.vector(mechanism.gravity), turns[i]),
                    k.add(k.apply(rotation, origins[i]), shift),
                )
            elif normals[i] is None:
                frame = _leaf_frame(rotation, axes[i], placements[joint.parent][0])
                frame = (
                    _rotate_towards(frame, body_inertia(mechanism.bodies[i]).h)
                    if turns[i]
                    else frame
                )
            else:
                frame = _frame(axes[i], normals[i])
        placements.append((frame, origins[i]))
        bases.append(base)
    model = build_model(mechanism, placements, bases, poses)
    return model.with_links(list(model.links), "reframe")


def _normal_foot(axis: Vec3, line: Line) -> Constant:
    """Return the distance along a rotating joint's axis, which passes through 0, at which its frame
    starts.

    It is the foot of the common normal with the axis of the main child.
    """
    normal = k.cross(axis, line.direction)
    sine_squared = k.dot(normal, normal)
    if k.as_float(sine_squared) < NEARLY_PARALLEL:
        # The foot of the normal would be far away, and round-off grows with the square of that
        # distance.
        return k.dot(axis, line.origin)
    # Foot of the common normal: the point of this axis nearest to the line point + t direction.
    return k.normalize(k.dot(k.cross(line.point, line.direction), normal) / sine_squared)


def _normal(axis: Vec3, line: Line) -> Vec3 | None:
    """Return the unit common normal of two axes; for parallel axes, the direction across; None if
    they coincide.
    """
    normal = k.cross(axis, line.direction)
    if any(not k.is_zero(x) for x in normal):
        return k.unit(normal)
    across = k.sub(line.point, k.scale(k.dot(axis, line.point), axis))
    return None if all(k.is_zero(x) for x in across) else k.unit(across)


def _leaf_foot(
    i: int, mechanism: Mechanism, pose: tuple[Mat3, Vec3], axes: list[Vec3], directed: list[bool]
) -> Constant:
    """Return the distance along a rotating leaf's axis to the point nearest to its parent's axis.

    If the parent has no axis, that is the point nearest to the parent's origin.
    """
    rotation, shift = pose
    inverse, parent = k.transpose(rotation), mechanism.joints[i].parent
    point = k.scale(-k.ONE, k.apply(inverse, shift))
    return _normal_foot(
        axes[i], Line(point, point, k.apply(inverse, axes[parent]) if directed[parent] else axes[i])
    )


def _mass_centre(body: Body) -> Vec3:
    """Return the mass centre of a body: the origin of a translating leaf, whose axis has no
    position.
    """
    inertia = body_inertia(body)
    return k.ORIGIN if k.is_zero(inertia.m) else k.scale(1 / inertia.m, inertia.h)


def _leaf_frame(rotation: Mat3, axis: Vec3, parent_frame: Mat3) -> Mat3:
    """Return a frame with x along the common normal with the parent's axis, or parallel to the
    parent's x if the axes are parallel.

    This removes the constant rotation after q. For a rotating leaf, the caller then rotates x to
    the mass centre. That removes h_y from every product, which saves more.
    """
    inverse = k.transpose(rotation)
    x, _, z = k.transpose(parent_frame)
    normal = k.cross(k.apply(inverse, z), axis)
    return _frame(
        axis, k.apply(inverse, x) if all(k.is_zero(n) for n in normal) else k.unit(normal)
    )


def _frame(axis: Vec3, x: Vec3 | None) -> Mat3:
    if x is None:
        return rotation_to_axis(axis)
    return k.columns(x, k.cross(axis, x), axis)


def _rotate_towards(frame: Mat3, v: Vec3) -> Mat3:
    """Return `frame` rotated about z so that v has no y component; unchanged if v is parallel to x
    or y already.
    """
    x, y, z = k.transpose(frame)
    hx, hy = k.dot(x, v), k.dot(y, v)
    if k.is_zero(hx) or k.is_zero(hy):
        return frame
    across = k.unit(k.add(k.scale(hx, x), k.scale(hy, y)))
    return k.columns(across, k.cross(z, across), z)


def _base_axes(link_axes: Mat3, gravity: Vec3, rotates: bool) -> Mat3:
    """Return the axes of a root's base frame: those of the link at q = 0, rotated about z until
    gravity has one component normal to z.
    """
    return _rotate_towards(link_axes, gravity) if rotates else link_axes
