"""MJCF (https://mujoco.readthedocs.io/en/stable/XMLreference.html), a file that MuJoCo compiles.

Joints become hinges, slides, balls and free joints, several in one body if necessary. A screw
cannot be represented and is refused. Neither can velocity limits, the friction speed and unapplied
numbers, which are left out.

MuJoCo requires that a moving body has a mass and three moments of inertia, or is fixed to one that
has. So the joints of massless links in a row are joints of the next body, as in MuJoCo's own
models. Inertia of a fixed body is left out if MuJoCo would refuse it.

Closed loops become `connect` and `weld` between sites at their two ends, and a keyframe from which
they are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.quantities import NOWHERE
from symgen.description.snapping import Snapper
from symgen.description.writers._decimals import decimal, decimals
from symgen.description.writers._drives import (
    omitted_drive_values,
    omitted_friction_speed,
    uniform_values,
)
from symgen.description.writers._links import Link, links, note_motor_links, unused_name
from symgen.description.writers._places import (
    is_rotated,
    normalised,
    quaternion_and_shift,
    rotate_direction,
    rotate_moments,
)
from symgen.description.writers._written import Written, list_all, title
from symgen.description.writers._xml import document, element
from symgen.mechanism.inertias import is_positive_semidefinite, second_moments
from symgen.mechanism.joints import Elementary, Orienting, Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Frame, Joint, Mechanism, Part
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, Vector3, compose, inverse

NAME = "mjcf"
SUFFIXES = (".xml", ".mjcf")
WORLD = "world"
"""MuJoCo's own body; no other body may have this name."""
DEEPEST = 240
"""Largest depth of nested bodies: lxml reads 256 elements, MuJoCo 500."""
_LEAST_ANGLE_CHANGE = 1e-45
_DRIVE = {
    "armature": "armature",
    "damping": "damping",
    "friction": "frictionloss",
    "stiffness": "stiffness",
    "rest": "springref",
}
_CLOSURES = {"point": "connect", "spherical": "connect", "weld": "weld"}
HOME = "home"
"""Name of the keyframe from which loops are closed."""
LEAST = Fraction(1, 10**15)
"""Smallest mass and moment of inertia that MuJoCo accepts (mjMINVAL)."""
_LEAST_PRINCIPAL_MOMENT = Fraction(1, 10**14)
"""Smallest principal moment that MuJoCo accepts if it computes the principal axes itself (mjEPS).
"""
SeatedJoints = list[tuple[Joint, Pose]]
"""Joints of one body, starting at its parent, each with the pose from the body's frame to the
joint's frame.
"""
MujocoJoints = list[tuple[str, str, Vector3 | None]]
"""MuJoCo's joints for one joint: (name, type, axis)."""


def write(mechanism: Mechanism) -> Written:
    """Return the robot as MJCF. RequestError names a joint that MJCF cannot represent."""
    sites = _with_sites(mechanism)
    mechanism = sites.mechanism
    all_links, remarks = links(mechanism, reserved=(WORLD,))
    words = _all_mujoco_joints(mechanism)
    bodies = _bodies(all_links, _joints_along_axes(words))
    almost_right: list[str] = []
    world = _world_content(mechanism, bodies, words, almost_right, sites.names)
    order = _mujoco_order(mechanism, bodies.links[0])
    written_links, plain_joints = (
        {link.name for link in bodies.links},
        _plain_joints(mechanism, words),
    )
    remarks += [
        *bodies.remarks,
        *_joint_remarks(mechanism, words),
        *_order_remarks(mechanism, order),
        *_drive_remarks(mechanism),
        *sites.remarks(written_links, plain_joints),
        *_right_angle_remarks(almost_right),
    ]
    root = element(
        "mujoco",
        {"model": mechanism.name},
        [
            element("compiler", {"angle": "radian", "autolimits": "true"}),
            element("option", {"gravity": decimals(mechanism.gravity)}),
            element("worldbody", {}, world),
            *_section("equality", [*_mimics(mechanism), *sites.equalities(written_links)]),
            *_section("actuator", sites.motors(written_links, plain_joints)),
            *_section("keyframe", sites.keys(order, written_links, plain_joints)),
        ],
    )
    return Written(document(title(mechanism), remarks, root), tuple(remarks))


def _section(name: str, inside: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the section as the only element of a list; an empty list if it has no content."""
    return [element(name, {}, inside)] if inside else []


def _all_mujoco_joints(mechanism: Mechanism) -> dict[str, MujocoJoints]:
    """Return MuJoCo's joints for each joint of the robot, by its name."""
    used_names = dict.fromkeys((joint.name for joint in mechanism.joints), 1)
    return {joint.name: _mujoco_joints(mechanism, joint, used_names) for joint in mechanism.joints}


def _joints_along_axes(words: Mapping[str, MujocoJoints]) -> set[str]:
    """Return the names of joints that consist only of hinges and slides."""
    return {
        name for name, joints in words.items() if all(axis is not None for _, _, axis in joints)
    }


def _plain_joints(mechanism: Mechanism, words: Mapping[str, MujocoJoints]) -> set[str]:
    """Return the names of joints with the same coordinates in MuJoCo."""
    return {
        joint.name
        for joint in mechanism.joints
        if len(words[joint.name]) == 1 and not (_is_free_on_world(joint) and joint.pose)
    }


def _mimics(mechanism: Mechanism) -> list[list[str]]:
    """Return an equality for each mimic joint."""
    names = {joint.name for joint in mechanism.joints}
    return [
        _equality(joint)
        for joint in mechanism.joints
        if joint.mimic is not None and joint.mimic.joint in names
    ]


def _right_angle_remarks(almost_right: Sequence[str]) -> list[str]:
    if not almost_right:
        return []
    return [
        f"at {list_all(almost_right)} a rotation is almost a right angle; to keep it, read the file"
        " with --snap off"
    ]


def _world_content(
    mechanism: Mechanism,
    bodies: _Bodies,
    words: dict[str, MujocoJoints],
    almost_right: list[str],
    site_names: Container[str],
) -> list[list[str]]:
    """Return the content of the world: the base with all bodies on it, or next to free joints,
    which must be on the world.
    """
    depth: dict[str | None, int] = {None: 0}
    for link in bodies.links:
        depth[link.name] = depth[link.parent] + 1
    if max(depth.values()) > DEEPEST:
        raise RequestError(
            f"{mechanism.name}: bodies would be nested more than {DEEPEST} deep, which readers of"
            " XML refuse; write URDF or TOML"
        )
    root, elements = bodies.links[0], dict[str, list[str]]()
    outside = [
        link.name
        for link in bodies.children.get(root.name, [])
        if link.joint is not None and _is_free_on_world(link.joint)
    ]
    for link in reversed(bodies.links):  # children before parents
        inner = [
            child.name for child in bodies.children.get(link.name, []) if child.name not in outside
        ]
        if link.name in site_names:
            elements[link.name] = element(
                "site", {"name": link.name, **_pose_attributes(link.pose, link.name, almost_right)}
            )
            continue
        elements[link.name] = _body(
            link,
            bodies.joints.get(link.name, []),
            [elements[name] for name in inner],
            words,
            almost_right,
        )
    if _is_world(root):
        return [elements[link.name] for link in bodies.children.get(root.name, [])]
    return [elements[root.name], *(elements[name] for name in outside)]


def _is_world(root: Link) -> bool:
    """True if the base is MuJoCo's world, which has no inertia."""
    return root.name == WORLD and root.part is None


def _body(
    link: Link,
    joints: SeatedJoints,
    inside: Iterable[Sequence[str]],
    words: dict[str, MujocoJoints],
    almost_right: list[str],
) -> list[str]:
    """Return a <body>."""
    attributes = {"name": link.name, **_pose_attributes(link.pose, link.name, almost_right)}
    attributes |= (
        {"gravcomp": decimal(link.part.gravcomp)}
        if link.part is not None and link.part.gravcomp
        else {}
    )
    joint_elements = [
        _joint(joint, back, *word) for joint, back in joints for word in words[joint.name]
    ]
    inertial = (
        []
        if link.part is None or not (link.part.mass or any(link.part.moments))
        else [_inertial(link.part, almost_right)]
    )
    return element("body", attributes, [*joint_elements, *inertial, *inside])


def _pose_attributes(pose: Pose, name: str, almost_right: list[str]) -> dict[str, str]:
    """Return the attributes of a pose."""
    rotation, shift = quaternion_and_shift(pose)
    attributes = {"pos": decimals(shift)} if any(shift) else {}
    if is_rotated(rotation):
        tokens = list(map(decimal, normalised(rotation)))
        snapper = Snapper()
        snapper.quaternion(tokens, NOWHERE)
        almost_right += [name for snap in snapper.snaps if snap.angle_change > _LEAST_ANGLE_CHANGE]
        attributes["quat"] = " ".join(tokens)
    return attributes


def _inertial(part: Part, almost_right: list[str]) -> list[str]:
    """Return an <inertial>. MuJoCo accepts a quaternion with three moments, but not with six."""
    xx, xy, xz, yy, yz, zz = part.moments
    if not (xy or xz or yz):
        attributes = {
            **_pose_attributes(part.pose, part.link, almost_right),
            "mass": decimal(part.mass),
            "diaginertia": decimals((xx, yy, zz)),
        }
    else:
        rotation, shift = quaternion_and_shift(part.pose)
        xx, xy, xz, yy, yz, zz = rotate_moments(rotation, part.moments)
        attributes = {
            "pos": decimals(shift),
            "mass": decimal(part.mass),
            "fullinertia": decimals((xx, yy, zz, xy, xz, yz)),
        }
    return element("inertial", {"pos": "0 0 0", **attributes})


def _mujoco_joints(mechanism: Mechanism, joint: Joint, used_names: dict[str, int]) -> MujocoJoints:
    """Return MuJoCo's joints for one joint, starting at the parent, with unused names."""
    if _is_free_on_world(joint):
        return [(joint.name, "free", None)]
    joints = [
        mujoco_joint for step in joint.motions for mujoco_joint in _elementary_joint(step, joint)
    ]
    if any(not kind for _, kind, _ in joints) or len({step.of for step in joint.motions}) < len(
        joint.motions
    ):
        raise RequestError(
            f"{mechanism.name}: joint '{joint.name}' is {joint.kind}, which MJCF cannot represent;"
            f" write TOML, or lock it with --lock {joint.name}"
        )
    if len(joints) == 1:
        return [(joint.name, kind, axis) for _, kind, axis in joints]
    return [
        (unused_name(f"{joint.name}_{coordinate}", used_names), kind, axis)
        for coordinate, kind, axis in joints
    ]


def _elementary_joint(step: Elementary, joint: Joint) -> MujocoJoints:
    """Return MuJoCo's joint for an elementary motion, with the name of its coordinate; without a
    type if there is none.
    """
    names = [position.name for position in joint.type.positions]
    match step:
        case Turning(of, 1):
            return [(names[of], "hinge", joint.axis)]
        case Sliding(of, 1):
            return [(names[of], "slide", joint.axis)]
        case Placing(of, axes):
            return [(names[of + k], "slide", (X_AXIS, Y_AXIS, Z_AXIS)[k]) for k in range(axes)]
        case Orienting():
            return [("turn", "ball", None)]
    return [("", "", None)]


def _is_free_on_world(joint: Joint) -> bool:
    """True if the joint is MuJoCo's free joint, which must be on the world. Elsewhere three slides
    and a ball replace it.
    """
    return joint.parent == BASE and joint.motions == (Placing(0), Orienting(3))


def _joint(joint: Joint, pose: Pose, name: str, kind: str, axis: Vector3 | None) -> list[str]:
    """Return a <joint>."""
    rotation, shift = quaternion_and_shift(pose)
    attributes = {"name": name, "type": kind, **({"pos": decimals(shift)} if any(shift) else {})}
    attributes |= (
        {}
        if axis is None
        else {"axis": decimals(rotate_direction(rotation, axis) if is_rotated(rotation) else axis)}
    )
    if joint.type.nq == 1:
        attributes |= {"range": decimals(_range(joint))} if _range(joint) else {}
        effort = joint.limits.effort
        attributes |= (
            {"actuatorfrcrange": decimals((-effort, effort))}
            if effort is not None and effort > 0
            else {}
        )
    return element(
        "joint",
        attributes | {_DRIVE[name]: decimal(value) for name, value in uniform_values(joint.drive)},
    )


def _range(joint: Joint) -> tuple[Fraction, ...]:
    """Return both ends of a range that MuJoCo accepts, else ()."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return (
        (lower, upper)
        if joint.type.limited and lower is not None and upper is not None and lower < upper
        else ()
    )


def _equality(joint: Joint) -> list[str]:
    """Return the equality of a mimic joint."""
    assert joint.mimic is not None
    coefficients = (joint.mimic.offset, joint.mimic.multiplier, *[Fraction(0)] * 3)
    return element(
        "joint",
        {"joint1": joint.name, "joint2": joint.mimic.joint, "polycoef": decimals(coefficients)},
    )


JointPredicate = Callable[[Joint, Mapping[str, MujocoJoints]], bool]
"""A predicate: True if a remark applies to a joint, given MuJoCo's joints for each joint of the
robot.
"""
_JOINT_REMARKS: tuple[tuple[JointPredicate, str], ...] = (
    (
        lambda joint, words: len(words[joint.name]) > 1,
        "several joints of one body, each with the name of its coordinate, replace {}",
    ),
    (
        lambda joint, words: len(words[joint.name]) > 1 and not joint.type.directed,
        "the velocities of {} are along the axes of its frame, not along those of the body",
    ),
    (
        lambda joint, words: _is_free_on_world(joint) and bool(joint.pose),
        (
            "the position and the quaternion of {} are relative to the world, not to the frame of"
            " the joint"
        ),
    ),
    (
        lambda joint, words: joint.limits.velocity is not None,
        "the velocity limit of {} is left out",
    ),
    (
        lambda joint, words: bool(joint.limits.text) and not _range(joint),
        "the range of {} is left out, since MuJoCo has no such range or it lacks two ends in order",
    ),
    (
        lambda joint, words: joint.limits.effort is not None and joint.limits.effort <= 0,
        "the effort limit of {} is left out, since MuJoCo requires a positive one",
    ),
    (
        lambda joint, words: joint.mimic is not None and joint.mimic.joint not in words,
        "the coupling of {} to a missing joint is left out",
    ),
    (
        lambda joint, words: joint.mimic is not None and joint.mimic.joint in words,
        "the coupling of {} becomes an equality, which MuJoCo's solver enforces softly",
    ),
)


def _joint_remarks(mechanism: Mechanism, words: Mapping[str, MujocoJoints]) -> list[str]:
    """Return remarks on joints that are changed or left out."""
    remarks = []
    for applies, text in _JOINT_REMARKS:
        names = [joint.name for joint in mechanism.joints if applies(joint, words)]
        remarks += [text.format(list_all(names))] if names else []
    if mechanism.coupled:
        remarks.append(
            "the coupling of mimic joints is left out; read the file with --mimic couple"
        )
    return remarks


def _mujoco_order(mechanism: Mechanism, root: Link) -> list[int]:
    """Return the order of joints in MuJoCo: branch by branch, with free joints after a base that is
    a body.
    """
    order: list[int] = []
    waiting = list(reversed(mechanism.children(BASE)))
    waiting.sort(key=lambda i: not _is_world(root) and not _is_free_on_world(mechanism.joints[i]))
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(mechanism.children(order[-1]))
    return order


def _order_remarks(mechanism: Mechanism, order: list[int]) -> list[str]:
    """Return a remark on the order of joints if it changes."""
    if order == sorted(order):
        return []
    return [
        f"the order of joints is {', '.join(mechanism.joints[i].name for i in order)} in MuJoCo,"
        " branch by branch"
    ]


def _drive_remarks(mechanism: Mechanism) -> list[str]:
    """Return remarks on drives."""
    with_armature = [
        joint.name
        for joint in mechanism.joints
        if joint.drive.armature and not joint.type.directed and joint.type.slides
    ]
    world_axes_remark = (
        f"the armature of {list_all(with_armature)} acts along fixed axes in MuJoCo, and along the"
        " body's axes in symgen"
    )
    with_friction = [joint.name for joint in mechanism.joints if joint.drive.friction]
    remarks = (
        [f"the friction of {list_all(with_friction)} sticks in MuJoCo, and is smooth in symgen"]
        if with_friction
        else []
    )
    remarks += [world_axes_remark] if with_armature else []
    return (
        remarks
        + omitted_friction_speed(mechanism)
        + omitted_drive_values(mechanism, (*_DRIVE,), ())
    )


# -- bodies that MuJoCo compiles --


@dataclass
class _Bodies:
    """Links as MuJoCo's bodies: `joints` by the name of the link; `children` of each link; remarks
    on omissions.
    """

    links: list[Link]
    joints: dict[str, SeatedJoints]
    children: dict[str | None, list[Link]]
    remarks: list[str] = field(default_factory=list)


def _bodies(all_links: Sequence[Link], along_axes: Container[str]) -> _Bodies:
    """Return the links of a robot, parents first. `along_axes` are the joints that consist only of
    hinges and slides.
    """
    own_links, joints = _with_own_frames(all_links, along_axes)
    solid = {link.name for link in own_links if link.part is not None and _is_solid(link.part)}
    with_mass = solid | {
        link.parent
        for link in own_links
        if link.joint is None and link.name in solid and link.parent is not None
    }
    bodies = _Bodies([], joints, {}, note_motor_links(own_links))
    remaining, removed = _merge_massless_links(own_links, bodies.joints, with_mass, along_axes)
    bodies.links, fixed = _without_fixed_inertia(remaining)
    bodies.children = _children_by_link(bodies.links)
    if removed:
        bodies.remarks.append(
            f"without a mass, {list_all(removed)} is not a body, and its joint belongs to the next"
            " body"
        )
    if fixed:
        bodies.remarks.append(
            f"the inertia of {list_all(fixed)} is left out: the link is fixed, and MuJoCo would"
            " refuse the inertia"
        )
    bodies.remarks += _refusal_remarks(bodies, with_mass)
    return bodies


def _with_own_frames(
    all_links: Sequence[Link], along_axes: Container[str]
) -> tuple[list[Link], dict[str, SeatedJoints]]:
    """Return the links, and the joints of each with their poses in its frame.

    Massless links that were added only for a link's frame are removed, since a joint of MuJoCo may
    have any pose in its body.
    """
    by_name = {link.name: link for link in all_links}
    replaced_by: dict[str | None, Link] = {
        link.name: by_name[link.moves]
        for link in all_links
        if link.moves in by_name
        and link.joint is not None
        and link.joint.name in along_axes
        and by_name[link.moves].parent == link.name
    }
    links_by_name: dict[str, Link] = {}
    joints: dict[str, SeatedJoints] = {}
    for link in all_links:
        new_link = replaced_by.get(link.name, link)
        if new_link is not link:
            pose = compose(link.pose, new_link.pose)
            joint, back = link.joint, inverse(new_link.pose)
            new_link = replace(new_link, joint=joint, parent=link.parent, pose=pose)
        else:
            joint, back = link.joint, ()
        if new_link.name in links_by_name:
            continue
        if (new_parent := replaced_by.get(new_link.parent)) is not None:
            new_link = replace(
                new_link,
                parent=new_parent.name,
                pose=compose(inverse(new_parent.pose), new_link.pose),
            )
        links_by_name[new_link.name] = new_link
        if joint is not None:
            joints[new_link.name] = [(joint, back)]
    return list(links_by_name.values()), joints


def _merge_massless_links(
    all_links: Sequence[Link],
    joints: dict[str, SeatedJoints],
    with_mass: Container[str],
    along_axes: Container[str],
) -> tuple[list[Link], list[str]]:
    """Return the links without moving massless ones, whose `joints` go to the next link; and the
    names of the removed links.
    """
    children_by_link = _children_by_link(all_links)
    by_name: dict[str | None, Link] = {link.name: link for link in all_links}
    merged: set[str] = set()
    for name in [
        link.name for link in all_links if link.joint is not None and link.name in with_mass
    ]:
        parent = by_name[by_name[name].parent]
        while _is_removable(parent, children_by_link, along_axes):
            by_name[name] = _merge(by_name[name], parent, joints)
            merged |= {parent.name, *_fixed_children(parent, children_by_link)}
            parent = by_name[parent.parent]
    remaining = [by_name[link.name] for link in all_links if link.name not in merged]
    return remaining, [link.name for link in all_links if link.name in merged]


def _fixed_children(link: Link, children: Mapping[str | None, list[Link]]) -> list[str]:
    """Return the links that are fixed to a link."""
    return [child.name for child in children.get(link.name, []) if child.joint is None]


def _merge(link: Link, parent: Link, joints: dict[str, SeatedJoints]) -> Link:
    """Return the link on the parent of the link above, with the joints of both."""
    moved_joints = [
        (joint, compose(inverse(link.pose), back)) for joint, back in joints.pop(parent.name)
    ]
    joints[link.name] = moved_joints + joints[link.name]
    return replace(link, parent=parent.parent, pose=compose(parent.pose, link.pose))


def _children_by_link(all_links: Sequence[Link]) -> dict[str | None, list[Link]]:
    """Return the children of each link."""
    children: dict[str | None, list[Link]] = {}
    for link in all_links:
        children.setdefault(link.parent, []).append(link)
    return children


def _is_removable(
    link: Link, children_by_link: Mapping[str | None, list[Link]], along_axes: Container[str]
) -> bool:
    """True for a moving massless link with one child joint, whose own joint consists of hinges and
    slides.
    """
    children_of_link = children_by_link.get(link.name, [])
    link_inertias = [
        item.part for item in (link, *children_of_link) if item is link or item.joint is None
    ]
    has_mass = any(
        inertia is not None and (inertia.mass or any(inertia.moments)) for inertia in link_inertias
    )
    return (
        link.joint is not None
        and link.joint.name in along_axes
        and not has_mass
        and sum(item.joint is not None for item in children_of_link) == 1
    )


def _without_fixed_inertia(all_links: list[Link]) -> tuple[list[Link], list[str]]:
    """Return the links without inertia of fixed links that MuJoCo would refuse; and the names of
    those links.
    """
    root = all_links[0].name
    refused = {
        link.name
        for link in all_links
        if link.joint is None
        and root in (link.name, link.parent)
        and _is_refused_inertia(link.part)
    }
    return [
        replace(link, part=None) if link.name in refused else link for link in all_links
    ], sorted(refused)


def _refusal_remarks(bodies: _Bodies, with_mass: Container[str]) -> list[str]:
    """Return remarks on what MuJoCo refuses to compile. It is written anyway, since other readers
    accept it.
    """
    massless = [
        link.name for link in bodies.links if link.joint is not None and link.name not in with_mass
    ]
    implausible = [link.name for link in bodies.links if _is_refused_inertia(link.part)]
    texts = [
        (
            massless,
            "MuJoCo does not compile this: no mass with three moments of inertia moves with {}",
        ),
        (
            implausible,
            "MuJoCo does not compile this: no body can have the moments of inertia of {}",
        ),
    ]
    return [text.format(list_all(names)) for names, text in texts if names]


def _is_solid(part: Part) -> bool:
    """True if MuJoCo accepts the mass and moments of a moving body."""
    return part.mass >= LEAST and is_positive_semidefinite(part.moments, -LEAST)


def _is_refused_inertia(part: Part | None) -> bool:
    """True if six moments are not positive definite, or any break the triangle inequality."""
    if part is None:
        return False
    not_definite = any(
        (part.moments[1], part.moments[2], part.moments[4])
    ) and not is_positive_semidefinite(part.moments, -_LEAST_PRINCIPAL_MOMENT)
    return not_definite or not is_positive_semidefinite(second_moments(part.moments), LEAST)


# -- closed loops --


@dataclass(frozen=True)
class _Sites:
    """A robot with a frame at each end of the loops that MuJoCo can represent; `site_names` has
    their names by loop.
    """

    mechanism: Mechanism
    site_names: dict[str, tuple[str, str]]

    @property
    def names(self) -> set[str]:
        return {name for pair in self.site_names.values() for name in pair}

    def equalities(self, written: set[str]) -> list[list[str]]:
        """Return an element for each loop whose two ends are among the `written` links."""
        return [
            element(
                _CLOSURES[loop.kind],
                {
                    "name": loop.name,
                    "site1": self.site_names[loop.name][0],
                    "site2": self.site_names[loop.name][1],
                },
            )
            for loop in self.mechanism.loops
            if self._is_written(loop.name, written)
        ]

    def keys(
        self, order: Sequence[int], written: set[str], plain_joints: set[str]
    ) -> list[list[str]]:
        """Return the keyframe from which loops are closed, joints in MuJoCo's `order`; empty if a
        joint is not among `plain_joints`.
        """
        mechanism = self.mechanism
        if not self._has_start(written, plain_joints):
            return []
        declared, qpos = dict(mechanism.start), list[Fraction]()
        for joint in (mechanism.joints[k] for k in order):
            values = declared.get(joint.name, joint.type.neutral)
            if (at := joint.type.quaternion) is not None:  # MuJoCo has w x y z
                values = (*values[:at], values[at + 3], *values[at : at + 3])
            qpos += values
        return [element("key", {"name": HOME, "qpos": decimals(qpos)})]

    def motors(self, written: set[str], plain_joints: set[str]) -> list[list[str]]:
        """Return an element for each actuated joint."""
        return [
            element("motor", {"name": name, "joint": name})
            for name in self.mechanism.actuated
            if self._is_driven(name, written, plain_joints)
        ]

    def _is_driven(self, name: str, written: set[str], plain_joints: set[str]) -> bool:
        """True if MuJoCo can represent that the joint is actuated: a hinge or a slide, in a robot
        with written loops.
        """
        return (
            name in plain_joints
            and len(self.mechanism.velocities_of[name]) == 1
            and any(self._is_written(loop.name, written) for loop in self.mechanism.loops)
        )

    def _is_written(self, loop: str, written: set[str]) -> bool:
        """True if both ends of a loop are written."""
        return loop in self.site_names and {*self.site_names[loop]} <= written

    def _has_start(self, written: set[str], plain_joints: set[str]) -> bool:
        mechanism = self.mechanism
        return (
            bool(mechanism.start)
            and all(joint.name in plain_joints for joint in mechanism.joints)
            and any(self._is_written(loop.name, written) for loop in mechanism.loops)
        )

    def remarks(self, written: set[str], plain_joints: set[str]) -> list[str]:
        """Return remarks on loops that are changed or left out."""
        mechanism = self.mechanism
        omitted = [
            loop.name for loop in mechanism.loops if not self._is_written(loop.name, written)
        ]
        soft = [loop.name for loop in mechanism.loops if self._is_written(loop.name, written)]
        remarks = (
            [
                "loops are left out, since MuJoCo can only connect points and weld bodies:"
                f" {list_all(omitted)}"
            ]
            if omitted
            else []
        )
        remarks += [f"loops that MuJoCo's solver enforces softly: {list_all(soft)}"] if soft else []
        start_omitted = bool(mechanism.start) and not self._has_start(written, plain_joints)
        remarks += (
            ["the coordinates from which loops are closed are left out"] if start_omitted else []
        )
        not_driven = [
            name for name in mechanism.actuated if not self._is_driven(name, written, plain_joints)
        ]
        remarks += [f"the actuation of {list_all(not_driven)} is left out"] if not_driven else []
        return remarks + (
            [f"the choice of independent joints is left out: {list_all(mechanism.independent)}"]
            if mechanism.independent
            else []
        )


def _with_sites(mechanism: Mechanism) -> _Sites:
    """Return the robot with the sites of its loops."""
    used_names = dict.fromkeys((frame.name for frame in mechanism.frames), 1)
    frames: list[Frame] = []
    site_names: dict[str, tuple[str, str]] = {}
    for loop in (loop for loop in mechanism.loops if loop.kind in _CLOSURES):
        names = (
            unused_name(f"{loop.name}_first", used_names),
            unused_name(f"{loop.name}_second", used_names),
        )
        frames += [
            Frame(name, end.body, end.pose)
            for name, end in zip(names, (loop.first, loop.second), strict=True)
        ]
        site_names[loop.name] = names
    return _Sites(
        replace(mechanism, frames=(*mechanism.frames, *frames)) if frames else mechanism, site_names
    )
