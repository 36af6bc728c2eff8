"""`Model`: every link's frame, joint and inertia as exact-enough constants.

Each link i has a frame whose z axis is the axis of joint i. The parent's frame leads to it by the constant rotation
`rotation` and shift `shift`, then by the joint's own motion along z (`symgen.mechanism.joints`): for a revolute joint
x_parent = rotation Rz(q) x_link + shift, for a prismatic one x_parent = rotation (x_link + q z) + shift.
`placement` says where the link's frame sits in the declared body frame, so that answers return to declared frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model.spin import STILL, Spin
from symgen.mechanism import trees
from symgen.mechanism.drives import FRICTION_SPEED, NO_DRIVE, Drive
from symgen.mechanism.joints import Sliding, joint_type
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.vocabulary.poses import Pose

Sym3 = tuple[Constant, Constant, Constant, Constant, Constant, Constant]
"""A symmetric 3x3 as (xx, xy, xz, yy, yz, zz)."""


@dataclass(frozen=True)
class Inertia:
    """Mass m, first moment h = ∫ρ r, second moment Σ = ∫ρ r rᵀ about the frame's origin (Σ = ½tr(I)1 − I)."""

    m: Constant
    h: Vec3
    S: Sym3

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(k.settle(self.m + other.m), k.add(self.h, other.h), _plus(self.S, other.S))

    def seen_from(self, rotation: Mat3, shift: Vec3) -> Inertia:
        """The same matter in an outer frame, x_outer = rotation x + shift."""
        if rotation is k.IDENTITY:
            h, S = _settled(self.h), _settled(self.S)
        else:
            h, S = k.apply(rotation, self.h), rotated(rotation, self.S)
        if shift is not k.ORIGIN:
            S = _plus(_plus(S, _sum_of_outer(h, shift)), _scaled(self.m, _outer(shift)))
            h = k.add(h, k.scale(self.m, shift))
        return Inertia(self.m, h, S)


NOTHING = Inertia(k.ZERO, k.ORIGIN, (k.ZERO,) * 6)


def _settled(values: Sequence[Constant]) -> tuple[Constant, ...]:
    return tuple(k.settle(x) for x in values)


def _plus(a: Sym3, b: Sym3) -> Sym3:
    return tuple(k.settle(x + y) for x, y in zip(a, b, strict=True))


def _scaled(c: Constant, a: Sym3) -> Sym3:
    return tuple(k.settle(c * x) for x in a)


def _outer(v: Vec3) -> Sym3:
    x, y, z = v
    return (
        k.settle(x * x),
        k.settle(x * y),
        k.settle(x * z),
        k.settle(y * y),
        k.settle(y * z),
        k.settle(z * z),
    )


def _sum_of_outer(a: Vec3, b: Vec3) -> Sym3:
    """a bᵀ + b aᵀ."""
    return tuple(
        k.settle(a[i] * b[j] + a[j] * b[i])
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )


def full(s: Sym3) -> Mat3:
    return ((s[0], s[1], s[2]), (s[1], s[3], s[4]), (s[2], s[4], s[5]))


def rotated(rotation: Mat3, s: Sym3) -> Sym3:
    """R S Rᵀ."""
    x, y, z = rotation
    a, b, c = k.product(rotation, full(s))
    return (k.dot(a, x), k.dot(a, y), k.dot(a, z), k.dot(b, y), k.dot(b, z), k.dot(c, z))


def rod(m: Constant, h_z: Constant, s_zz: Constant, axis: Vec3, at: Vec3) -> Inertia:
    """Matter spread along a line through `at` in direction `axis`: what a joint about that line cannot feel."""
    S = _plus(
        _plus(_scaled(m, _outer(at)), _scaled(h_z, _sum_of_outer(at, axis))),
        _scaled(s_zz, _outer(axis)),
    )
    return Inertia(m, k.add(k.scale(m, at), k.scale(h_z, axis)), S)


@dataclass(frozen=True)
class Link:
    """One link and the joint that moves it; see the module docstring. `parent` is -1 on the base.

    A link on the base has a base frame of its own, `base_rotation`, `base_shift`: the base does not move, so every
    root may choose where it looks from.
    """

    name: str
    joint: str
    kind: str
    parameters: tuple[tuple[str, Constant], ...]
    q: slice
    v: slice
    stride: Constant
    """How far (m) the joint moves it along the axis for a unit of its coordinate, be that rad or m."""
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
    borne: Inertia = NOTHING
    """The mass that is held up against gravity, as points."""
    slack: Spin = STILL
    """How far the link is turned about its z axis against the axes that its vectors are written in (`model.share`)."""

    @property
    def turns(self) -> bool:
        """Whether its joint turns it."""
        return joint_type(self.kind).turns

    @property
    def directed(self) -> bool:
        """Whether its joint has an axis: else its frame is the declared one."""
        return joint_type(self.kind).directed


@dataclass(frozen=True)
class Frame:
    """A frame fixed to `link` (-1: the base) at (rotation, shift) in the link's frame."""

    name: str
    link: int
    rotation: Mat3
    shift: Vec3


@dataclass(frozen=True)
class Model:
    """All links, parents before children. `changes` names the passes that were applied."""

    name: str
    links: tuple[Link, ...]
    gravity: Vec3
    changes: tuple[str, ...] = ()
    friction_speed: Fraction = FRICTION_SPEED

    def children(self, i: int) -> tuple[int, ...]:
        return self._carried[i]

    @cached_property
    def _carried(self) -> tuple[tuple[int, ...], ...]:
        """`children` of every link, and last of the base, which is link -1."""
        return trees.children([link.parent for link in self.links])

    def ancestors(self, i: int) -> tuple[int, ...]:
        """Parents of i from the nearest to the root."""
        found = []
        while (i := self.links[i].parent) >= 0:
            found.append(i)
        return tuple(found)

    def with_links(self, links: list[Link], change: str) -> Model:
        return replace(self, links=tuple(links), changes=(*self.changes, change))

    def frame(self, mechanism: Mechanism, name: str) -> Frame:
        """A declared frame in the axes of this model's links."""
        frame = mechanism.frame(name)
        return self.placed(name, frame.body, frame.pose)

    def placed(self, name: str, body: int, pose: Pose) -> Frame:
        """The frame at a declared `pose` in that of a body (-1: the base), likewise."""
        rotation, shift = k.displacement(pose)
        if body < 0:
            return Frame(name, -1, rotation, shift)
        axes, origin = self.links[body].placement
        back = k.transpose(axes)
        return Frame(name, body, k.product(back, rotation), k.apply(back, k.sub(shift, origin)))


def centred_inertia(part: Part) -> Inertia:
    """A declared part about its mass centre, in its own axes: moments turned into Σ."""
    xx, xy, xz, yy, yz, zz = (k.rational(x) for x in part.moments)
    half = (xx + yy + zz) / 2
    return Inertia(
        k.rational(part.mass), k.ORIGIN, (half - xx, -xy, -xz, half - yy, -yz, half - zz)
    )


def _part_inertia(part: Part) -> Inertia:
    """A declared part, about its body's frame."""
    return centred_inertia(part).seen_from(*k.displacement(part.pose))


def body_inertia(body: Body) -> Inertia:
    total = NOTHING
    for part in body.parts:
        total = total + _part_inertia(part)
    return total


def borne_of(body: Body) -> Body:
    """What of a body is held up against gravity: a point for each part."""
    return Body(
        body.name,
        tuple(
            Part(part.link, part.pose, part.gravcomp * part.mass)
            for part in body.parts
            if part.gravcomp
        ),
    )


def inertia_of(body: Body, placement: tuple[Mat3, Vec3]) -> Inertia:
    """Of a body about the origin of a frame that sits there in its declared one, in its axes."""
    axes, origin = placement
    return (
        body_inertia(body)
        .seen_from(k.IDENTITY, k.scale(-k.ONE, origin))
        .seen_from(k.transpose(axes), k.ORIGIN)
    )


def declared(mechanism: Mechanism) -> Model:
    """The mechanism in frames that share origin with the declared body frames, z turned onto each joint's axis."""
    placements = [(aligned(k.unit(k.vector(joint.axis))), k.ORIGIN) for joint in mechanism.joints]
    return place(mechanism, placements, [None] * len(placements))


def aligned(axis: Vec3) -> Mat3:
    """Some rotation whose z column is `axis`; a signed permutation when the axis lies along a coordinate axis."""
    if k.is_zero(axis[0]) and k.is_zero(axis[1]):
        x = (k.ONE, k.ZERO, k.ZERO)
    elif k.is_zero(axis[2]):
        x = (k.ZERO, k.ZERO, k.ONE)
    else:
        x = k.unit(k.cross((k.ZERO, k.ZERO, k.ONE), axis))
    return k.columns(x, k.cross(axis, x), axis)


def place(
    mechanism: Mechanism, placements: list[tuple[Mat3, Vec3]], bases: list[tuple[Mat3, Vec3] | None]
) -> Model:
    """The model whose link frames sit at `placements` in the declared body frames.

    `bases[i]`, for a root link, is where its base frame sits in the declared base (None: the declared base itself).
    """
    gravity = k.vector(mechanism.gravity)
    links: list[Link] = []
    for i, body in enumerate(mechanism.bodies):
        with k.speaking_of(f"link '{body.name}'"):
            links.append(_placed(mechanism, i, placements, bases[i], gravity))
    return Model(mechanism.name, tuple(links), gravity, friction_speed=mechanism.friction_speed)


def _placed(
    mechanism: Mechanism,
    i: int,
    placements: list[tuple[Mat3, Vec3]],
    base: tuple[Mat3, Vec3] | None,
    gravity: Vec3,
) -> Link:
    joint, body = mechanism.joints[i], mechanism.bodies[i]
    rotation, shift = k.displacement(joint.pose)
    axes, origin = placements[i]
    outer = placements[joint.parent] if joint.parent >= 0 else base or (k.IDENTITY, k.ORIGIN)
    back = k.transpose(outer[0])
    there = k.sub(k.add(k.apply(rotation, origin), shift), outer[1])
    inertia = inertia_of(body, placements[i])
    center = k.ORIGIN if k.is_zero(inertia.m) else k.scale(1 / inertia.m, inertia.h)
    return Link(
        name=body.name,
        joint=joint.name,
        kind=joint.kind,
        parameters=tuple((name, k.rational(value)) for name, value in joint.parameters),
        q=mechanism.uncoupled.q_slices[i],
        v=mechanism.uncoupled.v_slices[i],
        stride=k.settle(
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
        rotation=k.product(back, k.product(rotation, axes)),
        shift=k.apply(back, there),
        placement=placements[i],
        inertia=inertia,
        center=center,
        gravity=k.apply(back, gravity) if joint.parent < 0 else k.ORIGIN,
        base_rotation=outer[0] if joint.parent < 0 else k.IDENTITY,
        base_shift=outer[1] if joint.parent < 0 else k.ORIGIN,
        drive=joint.drive,
        borne=inertia_of(borne_of(body), placements[i])
        if any(part.gravcomp for part in body.parts)
        else NOTHING,
    )
