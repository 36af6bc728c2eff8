"""`Model`: frame, joint and inertia of each link, as constants.

Each link i has a frame whose z axis is the axis of joint i. The parent's frame leads to it by the
constant rotation `rotation` and shift `shift`, followed by the joint's own motion along z
(`symgen.mechanism.joints`). For a revolute joint x_parent = rotation Rz(q) x_link + shift, for a
prismatic one x_parent = rotation (x_link + q z) + shift. `placement` is the pose of the link's
frame in the declared body frame, by which results are returned in declared frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model.spin import NO_SPIN, Spin
from symgen.mechanism import trees
from symgen.mechanism.drives import FRICTION_SPEED, NO_DRIVE, Drive
from symgen.mechanism.joints import Sliding, joint_type
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.vocabulary.poses import Pose

Sym3 = tuple[Constant, Constant, Constant, Constant, Constant, Constant]
"""A symmetric 3x3 matrix as (xx, xy, xz, yy, yz, zz)."""


@dataclass(frozen=True)
class Inertia:
    """Mass m, first moment h = ∫ρ r, second moment Σ = ∫ρ r rᵀ about the frame's origin (Σ =
    ½tr(I)1 − I).
    """

    m: Constant
    h: Vec3
    S: Sym3

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(
            k.normalize(self.m + other.m), k.add(self.h, other.h), _plus(self.S, other.S)
        )

    def in_outer_frame(self, rotation: Mat3, shift: Vec3) -> Inertia:
        """Return the inertia in an outer frame, x_outer = rotation x + shift."""
        if rotation is k.IDENTITY:
            h, S = self.h, self.S
        else:
            h, S = k.apply(rotation, self.h), rotated(rotation, self.S)
        if shift is not k.ORIGIN:
            S = _plus(_plus(S, _sum_of_outer(h, shift)), _scaled(self.m, _outer(shift)))
            h = k.add(h, k.scale(self.m, shift))
        return Inertia(self.m, h, S)


ZERO_INERTIA = Inertia(k.ZERO, k.ORIGIN, (k.ZERO,) * 6)


def _plus(a: Sym3, b: Sym3) -> Sym3:
    return tuple(k.normalize(x + y) for x, y in zip(a, b, strict=True))


def _scaled(c: Constant, a: Sym3) -> Sym3:
    return tuple(k.normalize(c * x) for x in a)


def _outer(v: Vec3) -> Sym3:
    x, y, z = v
    return (
        k.normalize(x * x),
        k.normalize(x * y),
        k.normalize(x * z),
        k.normalize(y * y),
        k.normalize(y * z),
        k.normalize(z * z),
    )


def _sum_of_outer(a: Vec3, b: Vec3) -> Sym3:
    """Return a bᵀ + b aᵀ."""
    return tuple(
        k.normalize(a[i] * b[j] + a[j] * b[i])
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )


def full_matrix(s: Sym3) -> Mat3:
    return ((s[0], s[1], s[2]), (s[1], s[3], s[4]), (s[2], s[4], s[5]))


def rotated(rotation: Mat3, s: Sym3) -> Sym3:
    """Return R S Rᵀ."""
    x, y, z = rotation
    a, b, c = k.product(rotation, full_matrix(s))
    return (k.dot(a, x), k.dot(a, y), k.dot(a, z), k.dot(b, y), k.dot(b, z), k.dot(c, z))


def line_inertia(m: Constant, h_z: Constant, s_zz: Constant, axis: Vec3, point: Vec3) -> Inertia:
    """Return the inertia of matter on a line through `point` in direction `axis`, which has no
    effect on a joint about that line.
    """
    S = _plus(
        _plus(_scaled(m, _outer(point)), _scaled(h_z, _sum_of_outer(point, axis))),
        _scaled(s_zz, _outer(axis)),
    )
    return Inertia(m, k.add(k.scale(m, point), k.scale(h_z, axis)), S)


@dataclass(frozen=True)
class Link:
    """One link and the joint that moves it; see the module docstring. `parent` is -1 for a root.

    A root has a base frame of its own, `base_rotation`, `base_shift`: since the base is fixed, each
    root may choose the frame in which its pose is expressed.
    """

    name: str
    joint: str
    kind: str
    parameters: tuple[tuple[str, Constant], ...]
    q: slice
    v: slice
    stride: Constant
    """Translation (m) along the axis per unit of the joint's coordinate (rad or m)."""
    parent: int
    rotation: Mat3
    shift: Vec3
    placement: tuple[Mat3, Vec3]
    inertia: Inertia
    center: Vec3
    gravity: Vec3 = k.ORIGIN
    base_rotation: Mat3 = k.IDENTITY
    base_shift: Vec3 = k.ORIGIN
    drive: Drive = NO_DRIVE
    compensated: Inertia = ZERO_INERTIA
    """The mass with gravity compensation, as points."""
    slack: Spin = NO_SPIN
    """Rotation of the link about its z axis relative to the axes in which its vectors are written
    (`model.share`).
    """

    @property
    def turns(self) -> bool:
        """True if its joint rotates it."""
        return joint_type(self.kind).turns

    @property
    def directed(self) -> bool:
        """True if its joint has an axis; if not, its frame is the declared one."""
        return joint_type(self.kind).directed


@dataclass(frozen=True)
class Frame:
    """A frame fixed to `link` (-1: the base), at (rotation, shift) in the link's frame."""

    name: str
    link: int
    rotation: Mat3
    shift: Vec3


@dataclass(frozen=True)
class Model:
    """Links of a robot, parents before children. `changes` names the passes that were applied."""

    name: str
    links: tuple[Link, ...]
    gravity: Vec3
    changes: tuple[str, ...] = ()
    friction_speed: Fraction = FRICTION_SPEED

    def children(self, i: int) -> tuple[int, ...]:
        return self._children[i]

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        """The `children` of each link, and last those of the base, which is link -1."""
        return trees.children([link.parent for link in self.links])

    def ancestors(self, i: int) -> tuple[int, ...]:
        """Return the ancestors of link i, from its parent to the root."""
        result = []
        while (i := self.links[i].parent) >= 0:
            result.append(i)
        return tuple(result)

    def with_links(self, links: list[Link], change: str) -> Model:
        return replace(self, links=tuple(links), changes=(*self.changes, change))

    def frame(self, mechanism: Mechanism, name: str) -> Frame:
        """Return a declared frame in the axes of this model's links."""
        frame = mechanism.frame(name)
        return self.frame_at(name, frame.body, frame.pose)

    def frame_at(self, name: str, body: int, pose: Pose) -> Frame:
        """Return the frame at a declared `pose` in the frame of a body (-1: the base), in the axes
        of this model's links.
        """
        rotation, shift = k.displacement(pose)
        if body < 0:
            return Frame(name, -1, rotation, shift)
        axes, origin = self.links[body].placement
        inverse = k.transpose(axes)
        return Frame(
            name, body, k.product(inverse, rotation), k.apply(inverse, k.sub(shift, origin))
        )


def centred_inertia(part: Part) -> Inertia:
    """Return the inertia of a declared part about its mass centre in its own axes, with Σ in place
    of moments.
    """
    xx, xy, xz, yy, yz, zz = (k.rational(x) for x in part.moments)
    half = (xx + yy + zz) / 2
    return Inertia(
        k.rational(part.mass), k.ORIGIN, (half - xx, -xy, -xz, half - yy, -yz, half - zz)
    )


def _part_inertia(part: Part) -> Inertia:
    """Return the inertia of a declared part about its body's frame."""
    return centred_inertia(part).in_outer_frame(*k.displacement(part.pose))


def body_inertia(body: Body) -> Inertia:
    if not body.parts:
        return ZERO_INERTIA
    first, *further_inertias = map(_part_inertia, body.parts)
    return sum(further_inertias, first)


def compensated_body(body: Body) -> Body:
    """Return the gravity-compensated mass of a body, as one point mass per part."""
    return Body(
        body.name,
        tuple(
            Part(part.link, part.pose, part.gravcomp * part.mass)
            for part in body.parts
            if part.gravcomp
        ),
    )


def inertia_of(body: Body, placement: tuple[Mat3, Vec3]) -> Inertia:
    """Return the inertia of a body in a frame with this placement in the declared body frame."""
    axes, origin = placement
    return (
        body_inertia(body)
        .in_outer_frame(k.IDENTITY, k.scale(-k.ONE, origin))
        .in_outer_frame(k.transpose(axes), k.ORIGIN)
    )


def declared(mechanism: Mechanism) -> Model:
    """Return the model in frames that share their origins with the declared body frames, with z
    along each joint's axis.
    """
    placements = [
        (rotation_to_axis(k.unit(k.vector(joint.axis))), k.ORIGIN) for joint in mechanism.joints
    ]
    return build_model(mechanism, placements, [None] * len(placements))


def rotation_to_axis(axis: Vec3) -> Mat3:
    """Return a rotation whose z column is `axis`; a signed permutation if the axis is parallel to a
    coordinate axis.
    """
    if k.is_zero(axis[0]) and k.is_zero(axis[1]):
        x = (k.ONE, k.ZERO, k.ZERO)
    elif k.is_zero(axis[2]):
        x = (k.ZERO, k.ZERO, k.ONE)
    else:
        x = k.unit(k.cross((k.ZERO, k.ZERO, k.ONE), axis))
    return k.columns(x, k.cross(axis, x), axis)


def build_model(
    mechanism: Mechanism,
    placements: list[tuple[Mat3, Vec3]],
    bases: list[tuple[Mat3, Vec3] | None],
    poses: Sequence[tuple[Mat3, Vec3]] = (),
) -> Model:
    """Return the model whose link frames have these `placements` in the declared body frames.

    `bases[i]` of a root link is the pose of its base frame in the declared base; None means the
    declared base itself. `poses` are the displacements of the joints, if the caller has them.
    """
    poses = poses or [k.displacement(joint.pose) for joint in mechanism.joints]
    gravity = k.vector(mechanism.gravity)
    links: list[Link] = []
    for i, body in enumerate(mechanism.bodies):
        with k.locating_errors(f"link '{body.name}'"):
            links.append(_build_link(mechanism, i, placements, bases[i], poses[i], gravity))
    return Model(mechanism.name, tuple(links), gravity, friction_speed=mechanism.friction_speed)


def _build_link(
    mechanism: Mechanism,
    i: int,
    placements: list[tuple[Mat3, Vec3]],
    base: tuple[Mat3, Vec3] | None,
    pose: tuple[Mat3, Vec3],
    gravity: Vec3,
) -> Link:
    joint, body = mechanism.joints[i], mechanism.bodies[i]
    (rotation, shift), (axes, origin) = pose, placements[i]
    parent_frame = placements[joint.parent] if joint.parent >= 0 else base or (k.IDENTITY, k.ORIGIN)
    inverse = k.transpose(parent_frame[0])
    offset = k.sub(k.add(k.apply(rotation, origin), shift), parent_frame[1])
    inertia = inertia_of(body, placements[i])
    center = k.ORIGIN if k.is_zero(inertia.m) else k.scale(1 / inertia.m, inertia.h)
    return Link(
        name=body.name,
        joint=joint.name,
        kind=joint.kind,
        parameters=tuple((name, k.rational(value)) for name, value in joint.parameters),
        q=mechanism.uncoupled.q_slices[i],
        v=mechanism.uncoupled.v_slices[i],
        stride=k.normalize(
            sum(
                (
                    abs(k.rational(step.rate))
                    for step in joint.about_axis
                    if isinstance(step, Sliding)
                ),
                k.ZERO,
            )
        ),
        parent=joint.parent,
        rotation=k.product(inverse, k.product(rotation, axes)),
        shift=k.apply(inverse, offset),
        placement=placements[i],
        inertia=inertia,
        center=center,
        gravity=k.apply(inverse, gravity) if joint.parent < 0 else k.ORIGIN,
        base_rotation=parent_frame[0] if joint.parent < 0 else k.IDENTITY,
        base_shift=parent_frame[1] if joint.parent < 0 else k.ORIGIN,
        drive=joint.drive,
        compensated=inertia_of(compensated_body(body), placements[i])
        if any(part.gravcomp for part in body.parts)
        else ZERO_INERTIA,
    )
