"""Writer of URDF (https://wiki.ros.org/urdf/XML) with the limits that urdfdom requires of each
joint.

A missing limit that urdfdom requires is written as 1e308, which symgen reads as no limit. URDF
cannot represent gravity, the option --mimic couple, springs and the friction speed; a note in the
file names each that was left out. Screw joints and spherical joints are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.description.assembly import EARTH
from symgen.description.quantities import fraction_text
from symgen.description.writers._decimals import decimal, decimals
from symgen.description.writers._drives import (
    drives_option,
    omitted_drive_values,
    omitted_friction_speed,
    uniform_values,
)
from symgen.description.writers._links import Link, links, note_motor_links, unused_name
from symgen.description.writers._places import (
    is_almost_right_angle,
    quaternion_and_shift,
    roll_pitch_yaw,
)
from symgen.description.writers._written import Written, list_all, title
from symgen.description.writers._xml import document, element
from symgen.mechanism.joints import Turning
from symgen.mechanism.mechanism import Joint, Limits, Mechanism
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Pose

NAME = "urdf"
SUFFIXES = (".urdf",)
UNLIMITED = Fraction(10) ** 308
_TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "free": "floating",
    "planar": "planar",
}
_LIMITED = ("revolute", "prismatic")
"""Joint types that require a <limit>."""
_WITHOUT_AXIS = ("floating",)
_ARMATURE, _ROTOR = "armature", "rotor_inertia"
_DYNAMICS = ("damping", "friction", _ARMATURE, _ROTOR)
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def write(mechanism: Mechanism) -> Written:
    """Return the robot as URDF. RequestError names a joint that URDF cannot represent."""
    for name in (joint.name for joint in mechanism.joints):
        _refuse_macro_name(mechanism, name)
    all_links, sentences = links(mechanism)
    sentences += note_motor_links(all_links)
    joints = [
        *(joint.name for joint in mechanism.joints),
        *(link.fixed_joint for link in all_links),
    ]
    used_names = dict.fromkeys((link.name for link in all_links), 1), dict.fromkeys(joints, 1)
    all_links = [
        written for link in all_links for written in _split_joint(mechanism, link, *used_names)
    ]
    almost_right: list[str] = []
    lines = []
    for link in all_links:
        _refuse_macro_name(mechanism, link.name)
        lines.append(_link(link, almost_right))
    unapplied = _unapplied_names(mechanism)
    lines += [
        _joint(link, almost_right, unapplied) for link in all_links if link.parent is not None
    ]
    sentences += _omissions(mechanism)
    if almost_right:
        sentences.append(
            f"at {list_all(almost_right)} a rotation is almost a right angle; to keep it, read the"
            " file with --snap off"
        )
    root = element("robot", {"name": mechanism.name}, lines)
    return Written(document(title(mechanism), sentences, root), tuple(sentences))


def _refuse_macro_name(mechanism: Mechanism, name: str) -> None:
    """Raise RequestError for a name that xacro would expand."""
    if "${" in name or "$(" in name:
        raise RequestError(
            f"{mechanism.name}: the name '{name}' would be a macro of xacro; choose another name,"
            " or write TOML"
        )


def _split_joint(
    mechanism: Mechanism, link: Link, link_names: dict[str, int], joint_names: dict[str, int]
) -> list[Link]:
    """Return the links that represent a link in URDF: the link itself, or for a cylindrical joint
    two links with one coordinate each, the first massless.

    New names are added to `link_names` and `joint_names`.
    """
    joint = link.joint
    if joint is None or joint.kind in _TYPES:
        return [link]
    kinds = [
        _TYPES["continuous"] if isinstance(step, Turning) else _TYPES["prismatic"]
        for step in joint.about_axis
    ]
    if len(kinds) != joint.type.nq:
        raise RequestError(
            f"{mechanism.name}: joint '{joint.name}' is {joint.kind}, which URDF cannot represent;"
            f" write TOML, or lock it with --lock {joint.name}"
        )
    result: list[Link] = []
    parent, pose = link.parent, link.pose
    for kind, position in zip(kinds, joint.type.positions, strict=True):
        last = len(result) == len(kinds) - 1
        step_joint = replace(
            joint,
            name=unused_name(f"{joint.name}_{position.name}", joint_names),
            kind=kind,
            limits=Limits(),
        )
        name = link.name if last else unused_name(f"{joint.name}_{position.name}", link_names)
        result.append(Link(name, parent, pose, step_joint, link.part if last else None))
        parent, pose = name, ()
    return result


def _link(link: Link, almost_right: list[str]) -> list[str]:
    """Return a <link>."""
    part = link.part
    if part is None:
        return element("link", {"name": link.name})
    moments = dict(zip(_MOMENTS, map(decimal, part.moments), strict=True))
    inertial = element(
        "inertial",
        {},
        [
            *_origin(part.pose, link.name, almost_right),
            element("mass", {"value": decimal(part.mass)}),
            element("inertia", moments),
        ],
    )
    return element("link", {"name": link.name}, [inertial])


def _joint(link: Link, almost_right: list[str], unapplied: Sequence[str]) -> list[str]:
    """Return a <joint>."""
    joint, parent = link.joint, link.parent
    assert parent is not None
    parent_and_child = [element("parent", {"link": parent}), element("child", {"link": link.name})]
    if joint is None:
        inside = [*_origin(link.pose, link.fixed_joint, almost_right), *parent_and_child]
        return element("joint", {"name": link.fixed_joint, "type": "fixed"}, inside)
    urdf_type = _urdf_type(joint)
    inside = [*_origin(link.pose, joint.name, almost_right), *parent_and_child]
    if urdf_type not in _WITHOUT_AXIS:
        inside.append(element("axis", {"xyz": decimals(joint.axis)}))
    inside += _limit(joint.limits, urdf_type in _LIMITED) if joint.type.nq == 1 else []
    if joint.mimic is not None:
        inside.append(
            element(
                "mimic",
                {
                    "joint": joint.mimic.joint,
                    "multiplier": decimal(joint.mimic.multiplier),
                    "offset": decimal(joint.mimic.offset),
                },
            )
        )
    return element(
        "joint", {"name": joint.name, "type": urdf_type}, inside + _dynamics(joint, unapplied)
    )


def _urdf_type(joint: Joint) -> str:
    """Return the URDF type of a joint. A rotating joint without a range is continuous, since a
    revolute joint needs both limits.
    """
    boundless = joint.limits.lower is None and joint.limits.upper is None
    return (
        _TYPES["continuous"]
        if joint.type.nq == 1 and joint.type.turns and boundless
        else _TYPES[joint.kind]
    )


def _origin(pose: Pose, name: str, almost_right: list[str]) -> list[list[str]]:
    """Return the <origin> of a pose; empty for the identity."""
    shift, turns = quaternion_and_shift(pose)[1], roll_pitch_yaw(pose)
    attributes = {"xyz": decimals(shift)} if any(shift) else {}
    if any(turn != "0" for turn in turns):
        attributes["rpy"] = " ".join(turns)
        if any(map(is_almost_right_angle, turns)):
            almost_right.append(name)
    return [element("origin", attributes)] if attributes else []


def _limit(limits: Limits, required: bool) -> list[list[str]]:
    """Return the <limit> of a joint; empty if it is neither declared nor required."""
    limits_by_name = {
        name: getattr(limits, name) for name in ("lower", "upper", "effort", "velocity")
    }
    if not required and not any(value is not None for value in limits_by_name.values()):
        return []
    defaults = {
        "lower": -UNLIMITED if required else None,
        "upper": UNLIMITED if required else None,
        "effort": UNLIMITED,
        "velocity": UNLIMITED,
    }
    values = {
        name: value if value is not None else defaults[name]
        for name, value in limits_by_name.items()
    }
    return [
        element(
            "limit", {name: decimal(value) for name, value in values.items() if value is not None}
        )
    ]


def _unapplied_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the drive parameters that <dynamics> can contain although the robot does not apply
    them.

    When the file is read, --drives applies a parameter at all joints or at none. A parameter that
    the robot applies at some joints must therefore not be written for the others.
    """
    applied = {name for joint in mechanism.joints for name, _ in joint.drive.declared}
    return tuple(
        name
        for name in _DYNAMICS
        if name not in applied and not (name == _ROTOR and _ARMATURE in applied)
    )


def _dynamics(joint: Joint, unapplied: Sequence[str]) -> list[list[str]]:
    """Return <dynamics> with damping and friction, of which urdfdom requires one; empty without
    values.
    """
    declared = {name: value for name, value in joint.unapplied if name in unapplied} | dict(
        uniform_values(joint.drive)
    )
    values = {name: declared[name] for name in _DYNAMICS if name in declared}
    if not values:
        return []
    values = {"damping": Fraction(0), "friction": Fraction(0), **values}
    return [element("dynamics", {name: decimal(value) for name, value in values.items()})]


def _omissions(mechanism: Mechanism) -> list[str]:
    """Return sentences on what URDF cannot represent."""
    sentences = []
    if mechanism.gravity != EARTH:
        sentences.append(
            "gravity is left out; read the file with --gravity"
            f" {','.join(map(fraction_text, mechanism.gravity))}"
        )
    if mechanism.coupled:
        sentences.append(
            "the coupling of mimic joints is left out; read the file with --mimic couple"
        )
    driven = tuple(joint for joint in mechanism.joints if joint.drive)
    if any(name in _DYNAMICS for joint in driven for name, _ in joint.drive.declared):
        sentences.append(
            "the choice of applied drives is left out; read the file with --drives"
            f" {drives_option(mechanism.joints)}"
        )
    sentences += omitted_friction_speed(mechanism) + omitted_drive_values(
        mechanism, _DYNAMICS, _unapplied_names(mechanism)
    )
    if mechanism.loops:
        sentences.append(
            "loops are left out, which URDF cannot represent:"
            f" {list_all(loop.name for loop in mechanism.loops)}"
        )
    if mechanism.independent or mechanism.actuated:
        sentences.append(
            "the choice of independent and actuated joints is left out, like the loops"
        )
    if mechanism.compensated_parts:
        sentences.append(
            "the gravcomp of"
            f" {list_all(dict.fromkeys(part.link for part in mechanism.compensated_parts))} is"
            " left out"
        )
    sentences += _changed_types(mechanism.joints)
    return sentences


def _changed_types(joints: Iterable[Joint]) -> list[str]:
    """Return sentences on joints with another type in URDF."""
    split = [joint.name for joint in joints if joint.kind not in _TYPES]
    without_limits = [
        joint.name for joint in joints if joint.type.nq > 1 and joint.limits != Limits()
    ]
    continuous = [
        joint.name
        for joint in joints
        if joint.kind in _TYPES and _urdf_type(joint) != _TYPES[joint.kind]
    ]
    sentences = []
    if split:
        sentences.append(
            "two joints, NAME_angle and NAME_distance, with a massless link between them replace"
            f" {list_all(split)}"
        )
    if without_limits:
        sentences.append(
            f"the limits of {list_all(without_limits)} are left out, since these joints have"
            " several coordinates"
        )
    if continuous:
        sentences.append(
            f"the type of {list_all(continuous)} becomes continuous, since there is no range"
        )
    return sentences
