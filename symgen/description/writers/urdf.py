"""URDF (https://wiki.ros.org/urdf/XML), as its specification asks: each joint with the limits that urdfdom demands.

Where the robot declares none, 1e308 stands, which symgen reads as none. Gravity, couplings that are applied, springs and the
speed of friction have no words there; a screw and a spherical joint neither, and such a robot is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.description.assembly import EARTH
from symgen.description.quantities import fraction_text
from symgen.description.writers._decimals import decimal, decimals
from symgen.description.writers._drives import applied, on_friction_speed, on_numbers, uniform
from symgen.description.writers._links import Link, fresh, links, on_motors
from symgen.description.writers._places import almost_right, placed, roll_pitch_yaw
from symgen.description.writers._written import Written, listed, title
from symgen.description.writers._xml import document, element
from symgen.mechanism.joints import Turning
from symgen.mechanism.mechanism import Joint, Limits, Mechanism
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Pose

NAME = "urdf"
SUFFIXES = (".urdf",)
UNLIMITED = Fraction(10) ** 308
_WORDS = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "free": "floating",
    "planar": "planar",
}
_LIMITED = ("revolute", "prismatic")
"""Words that demand a <limit>."""
_WITHOUT_AXIS = ("floating",)
_ARMATURE, _ROTOR = "armature", "rotor_inertia"
_DYNAMICS = ("damping", "friction", _ARMATURE, _ROTOR)
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def write(mechanism: Mechanism) -> Written:
    """The robot as URDF; RequestError names a joint that URDF has no word for."""
    for name in (joint.name for joint in mechanism.joints):
        _refuse_macro(mechanism, name)
    every, said = links(mechanism)
    said += on_motors(every)
    joints = [*(joint.name for joint in mechanism.joints), *(link.fixed_joint for link in every)]
    taken = dict.fromkeys((link.name for link in every), 1), dict.fromkeys(joints, 1)
    every = [one for link in every for one in _in_words(mechanism, link, *taken)]
    near: list[str] = []
    lines = []
    for link in every:
        _refuse_macro(mechanism, link.name)
        lines.append(_link(link, near))
    spare = _spare(mechanism)
    lines += [_joint(link, near, spare) for link in every if link.parent is not None]
    said += _unsaid(mechanism)
    if near:
        said.append(
            f"at {listed(near)} something is turned by almost a right angle and not by one; read it with --snap off"
        )
    root = element("robot", {"name": mechanism.name}, lines)
    return Written(document(title(mechanism), said, root), tuple(said))


def _refuse_macro(mechanism: Mechanism, name: str) -> None:
    if "${" in name or "$(" in name:
        raise RequestError(
            f"{mechanism.name}: the name '{name}' reads as a macro of xacro; give it another, or write TOML"
        )


def _in_words(
    mechanism: Mechanism, link: Link, links: dict[str, int], joints: dict[str, int]
) -> list[Link]:
    """The link; of a cylindrical joint two, the first of which turns and carries nothing. Names are taken as in `fresh`."""
    joint = link.joint
    if joint is None or joint.kind in _WORDS:
        return [link]
    kinds = [
        _WORDS["continuous"] if isinstance(step, Turning) else _WORDS["prismatic"]
        for step in joint.about_axis
    ]
    if len(kinds) != joint.type.nq or any(step.rate != 1 for step in joint.about_axis):
        raise RequestError(
            f"{mechanism.name}: joint '{joint.name}' is {joint.kind}, for which URDF has no word; write TOML, or "
            f"lock it with --lock {joint.name}"
        )
    found: list[Link] = []
    on, pose = link.parent, link.pose
    for kind, position in zip(kinds, joint.type.positions, strict=True):
        last = len(found) == len(kinds) - 1
        own = replace(joint, name=fresh(f"{joint.name}_{position.name}", joints), kind=kind)
        name = link.name if last else fresh(f"{joint.name}_{position.name}", links)
        found.append(Link(name, on, pose, own, link.part if last else None))
        on, pose = name, ()
    return found


def _link(link: Link, near: list[str]) -> list[str]:
    part = link.part
    if part is None:
        return element("link", {"name": link.name})
    moments = dict(zip(_MOMENTS, map(decimal, part.moments), strict=True))
    inertial = element(
        "inertial",
        {},
        [
            *_origin(part.pose, link.name, near),
            element("mass", {"value": decimal(part.mass)}),
            element("inertia", moments),
        ],
    )
    return element("link", {"name": link.name}, [inertial])


def _joint(link: Link, near: list[str], spare: Sequence[str]) -> list[str]:
    joint, parent = link.joint, link.parent or ""
    ends = [element("parent", {"link": parent}), element("child", {"link": link.name})]
    if joint is None:
        inside = [*_origin(link.pose, link.fixed_joint, near), *ends]
        return element("joint", {"name": link.fixed_joint, "type": "fixed"}, inside)
    word = _word(joint)
    inside = [*_origin(link.pose, joint.name, near), *ends]
    if word not in _WITHOUT_AXIS:
        inside.append(element("axis", {"xyz": decimals(joint.axis)}))
    inside += _limit(joint.limits, word in _LIMITED) if joint.type.nq == 1 else []
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
    return element("joint", {"name": joint.name, "type": word}, inside + _dynamics(joint, spare))


def _word(joint: Joint) -> str:
    """A joint that turns without a range is continuous there, where a revolute one must have both ends."""
    boundless = joint.limits.lower is None and joint.limits.upper is None
    return (
        _WORDS["continuous"]
        if joint.type.nq == 1 and joint.type.turns and boundless
        else _WORDS[joint.kind]
    )


def _origin(pose: Pose, where: str, near: list[str]) -> list[list[str]]:
    shift, turns = placed(pose)[1], roll_pitch_yaw(pose)
    given = {"xyz": decimals(shift)} if any(shift) else {}
    if any(turn != "0" for turn in turns):
        given["rpy"] = " ".join(turns)
        if any(map(almost_right, turns)):
            near.append(where)
    return [element("origin", given)] if given else []


def _limit(limits: Limits, demanded: bool) -> list[list[str]]:
    given = {name: getattr(limits, name) for name in ("lower", "upper", "effort", "velocity")}
    if not demanded and not any(value is not None for value in given.values()):
        return []
    instead = {
        "lower": -UNLIMITED if demanded else None,
        "upper": UNLIMITED if demanded else None,
        "effort": UNLIMITED,
        "velocity": UNLIMITED,
    }
    found = {name: value if value is not None else instead[name] for name, value in given.items()}
    return [
        element(
            "limit", {name: decimal(value) for name, value in found.items() if value is not None}
        )
    ]


def _spare(mechanism: Mechanism) -> tuple[str, ...]:
    """What may stand in <dynamics> without being applied: --drives applies a kind at all joints, or at none."""
    applied = {name for joint in mechanism.joints for name, _ in joint.drive.declared}
    return tuple(
        name
        for name in _DYNAMICS
        if name not in applied and not (name == _ROTOR and _ARMATURE in applied)
    )


def _dynamics(joint: Joint, spare: Sequence[str]) -> list[list[str]]:
    """urdfdom demands damping or friction in it."""
    numbers = {name: value for name, value in joint.unapplied if name in spare} | dict(
        uniform(joint.drive)
    )
    found = {name: numbers[name] for name in _DYNAMICS if name in numbers}
    if not found:
        return []
    found = {"damping": Fraction(0), "friction": Fraction(0), **found}
    return [element("dynamics", {name: decimal(value) for name, value in found.items()})]


def _unsaid(mechanism: Mechanism) -> list[str]:
    said = []
    if mechanism.gravity != EARTH:
        said.append(
            f"gravity is left out; read it with --gravity {','.join(map(fraction_text, mechanism.gravity))}"
        )
    if mechanism.coupled:
        said.append("that joints follow those they mimic is left out; read it with --mimic couple")
    driven = tuple(joint for joint in mechanism.joints if joint.drive)
    if any(name in _DYNAMICS for joint in driven for name, _ in joint.drive.declared):
        said.append(
            f"that drives are applied is left out; read it with --drives {applied(mechanism.joints)}"
        )
    said += on_friction_speed(mechanism) + on_numbers(mechanism, _DYNAMICS, _spare(mechanism))
    if mechanism.loops:
        said.append(
            f"loops left out, for which URDF has no word: {listed(loop.name for loop in mechanism.loops)}"
        )
    if mechanism.independent or mechanism.actuated:
        said.append(
            "which joints are independent and which are actuated is left out, as the loops are"
        )
    if mechanism.borne:
        said.append(
            f"the gravcomp of {listed(dict.fromkeys(part.link for part in mechanism.borne))} is left out"
        )
    said += _on_types(mechanism.joints)
    return said


def _on_types(joints: Iterable[Joint]) -> list[str]:
    split = [joint.name for joint in joints if joint.kind not in _WORDS]
    several = [joint.name for joint in joints if joint.type.nq > 1 and joint.limits != Limits()]
    endless = [
        joint.name
        for joint in joints
        if joint.kind in _WORDS and _word(joint) != _WORDS[joint.kind]
    ]
    said = []
    if split:
        said.append(
            f"in place of {listed(split)} stand two joints, NAME_angle and NAME_distance, with a massless link between"
        )
    if several:
        said.append(f"the limits of {listed(several)}, of several coordinates, are left out")
    if endless:
        said.append(f"the type of {listed(endless)}, without a range, is continuous there")
    return said
