"""MJCF (https://mujoco.readthedocs.io/en/stable/XMLreference.html), a file that MuJoCo compiles.

Joints are hinges, slides, balls and free joints; what is several of these stands as several in one body. A screw has no word and
is refused. Velocity limits, the speed of friction and numbers that were read and not applied have no place in it either.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from fractions import Fraction

from symgen.description.quantities import NOWHERE
from symgen.description.snapping import Snapper
from symgen.description.writers._decimals import decimal, decimals
from symgen.description.writers._drives import on_friction_speed, on_numbers, uniform
from symgen.description.writers._links import Link, fresh, links
from symgen.description.writers._mujoco import Bodies, Seated, bodies
from symgen.description.writers._mujoco_loops import sited
from symgen.description.writers._places import (
    at_length_one,
    directed,
    is_turned,
    placed,
    turned_moments,
)
from symgen.description.writers._written import Written, listed, title
from symgen.description.writers._xml import document, element
from symgen.mechanism.joints import Elementary, Orienting, Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Joint, Mechanism, Part
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, Vector3

NAME = "mjcf"
SUFFIXES = (".xml", ".mjcf")
WORLD = "world"
"""MuJoCo's own body, that nothing else may be called by."""
DEEPEST = 240
"""Bodies within each other: lxml reads 256 elements, MuJoCo 500."""
_SEEN = 1e-45
_DRIVE = {
    "armature": "armature",
    "damping": "damping",
    "friction": "frictionloss",
    "stiffness": "stiffness",
    "rest": "springref",
}
Words = list[tuple[str, str, Vector3 | None]]
"""(name, type, axis) of MuJoCo's joints for one."""


def write(mechanism: Mechanism) -> Written:
    """The robot as MJCF; RequestError names a joint that MuJoCo has no word for."""
    sites = sited(mechanism)
    mechanism = sites.mechanism
    every, said = links(mechanism, reserved=(WORLD,))
    taken = dict.fromkeys((joint.name for joint in mechanism.joints), 1)
    words = {joint.name: _words(mechanism, joint, taken) for joint in mechanism.joints}
    found = bodies(
        every, {name for name, own in words.items() if all(axis is not None for _, _, axis in own)}
    )
    near = list[str]()
    world = _world(mechanism, found, words, near, sites.names)
    order = _order(mechanism, found.links[0])
    said += (
        found.said
        + _on_joints(mechanism, words)
        + _on_order(mechanism, order)
        + _on_drives(mechanism)
    )
    written = {link.name for link in found.links}
    plain = {
        joint.name
        for joint in mechanism.joints
        if len(words[joint.name]) == 1 and not (_flies(joint) and joint.pose)
    }
    said += sites.said(written, plain)
    if near:
        said.append(
            f"at {listed(near)} something is turned by almost a right angle and not by one; read it with --snap off"
        )
    parts = [
        element("compiler", {"angle": "radian", "autolimits": "true"}),
        element("option", {"gravity": decimals(mechanism.gravity)}),
        element("worldbody", {}, world),
    ]
    equal = [
        _equality(joint)
        for joint in mechanism.joints
        if joint.mimic is not None and joint.mimic.joint in words
    ]
    equal += sites.equalities(written)
    home, motors = sites.keyframe(order, written, plain), sites.motors(written, plain)
    parts += [
        element(name, {}, inside)
        for name, inside in (("equality", equal), ("actuator", motors))
        if inside
    ]
    parts += [home] if home else []
    root = element("mujoco", {"model": mechanism.name}, parts)
    return Written(document(title(mechanism), said, root), tuple(said))


def _world(
    mechanism: Mechanism,
    found: Bodies,
    words: dict[str, Words],
    near: list[str],
    sites: Container[str],
) -> list[list[str]]:
    """What stands in the world: the base and all on it; a free joint must stand there itself."""
    depth: dict[str | None, int] = {None: 0}
    for link in found.links:
        depth[link.name] = depth[link.parent] + 1
    if max(depth.values()) > DEEPEST:
        raise RequestError(
            f"{mechanism.name}: more than {DEEPEST} bodies would stand within each other, which readers of XML do "
            "not take; write URDF or TOML"
        )
    root, done = found.links[0], dict[str, list[str]]()
    outside = [
        link.name
        for link in found.below.get(root.name, [])
        if link.joint is not None and _flies(link.joint)
    ]
    for link in reversed(found.links):  # children before parents
        own = [
            one.name
            for one in found.below.get(link.name, [])
            if link is not root or one.name not in outside
        ]
        if link.name in sites:
            done[link.name] = element(
                "site", {"name": link.name, **_place(link.pose, link.name, near)}
            )
            continue
        done[link.name] = _body(
            link, found.joints.get(link.name, []), [done[name] for name in own], words, near
        )
    if _is_world(root):
        return [done[link.name] for link in found.below.get(root.name, [])]
    return [done[root.name], *(done[name] for name in outside)]


def _is_world(root: Link) -> bool:
    """Whether the base is MuJoCo's world, which carries no inertia."""
    return root.name == WORLD and root.part is None


def _body(
    link: Link,
    joints: Seated,
    inside: Iterable[Sequence[str]],
    words: dict[str, Words],
    near: list[str],
) -> list[str]:
    given = {"name": link.name, **_place(link.pose, link.name, near)}
    given |= (
        {"gravcomp": decimal(link.part.gravcomp)}
        if link.part is not None and link.part.gravcomp
        else {}
    )
    moved = [_joint(joint, back, *one) for joint, back in joints for one in words[joint.name]]
    inertial = (
        []
        if link.part is None or not (link.part.mass or any(link.part.moments))
        else [_inertial(link.part, near)]
    )
    return element("body", given, [*moved, *inertial, *inside])


def _place(pose: Pose, where: str, near: list[str]) -> dict[str, str]:
    turned, shift = placed(pose)
    given = {"pos": decimals(shift)} if any(shift) else {}
    if is_turned(turned):
        tokens = list(map(decimal, at_length_one(turned)))
        snapper = Snapper()
        snapper.quaternion(tokens, NOWHERE)
        near += [where for snap in snapper.snaps if snap.moved > _SEEN]
        given["quat"] = " ".join(tokens)
    return given


def _inertial(part: Part, near: list[str]) -> list[str]:
    """MuJoCo takes a quaternion beside three moments, and none beside six."""
    xx, xy, xz, yy, yz, zz = part.moments
    if not (xy or xz or yz):
        given = {
            **_place(part.pose, part.link, near),
            "mass": decimal(part.mass),
            "diaginertia": decimals((xx, yy, zz)),
        }
    else:
        turned, shift = placed(part.pose)
        xx, xy, xz, yy, yz, zz = turned_moments(turned, part.moments)
        given = {
            "pos": decimals(shift),
            "mass": decimal(part.mass),
            "fullinertia": decimals((xx, yy, zz, xy, xz, yz)),
        }
    return element("inertial", {"pos": "0 0 0", **given})


def _words(mechanism: Mechanism, joint: Joint, taken: dict[str, int]) -> Words:
    """The joints that MuJoCo has for one, from the parent on, by names that are not `taken`."""
    if _flies(joint):
        return [(joint.name, "free", None)]
    found = [one for step in joint.motions for one in _elementary(step, joint)]
    if any(not kind for _, kind, _ in found) or len({step.of for step in joint.motions}) < len(
        joint.motions
    ):
        raise RequestError(
            f"{mechanism.name}: joint '{joint.name}' is {joint.kind}, for which MJCF has no word; write TOML, or "
            f"lock it with --lock {joint.name}"
        )
    if len(found) == 1:
        return [(joint.name, kind, axis) for _, kind, axis in found]
    return [
        (fresh(f"{joint.name}_{coordinate}", taken), kind, axis) for coordinate, kind, axis in found
    ]


def _elementary(step: Elementary, joint: Joint) -> Words:
    """Its coordinate in the place of a name; no type where MuJoCo has none."""
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


def _flies(joint: Joint) -> bool:
    """Whether it is MuJoCo's free joint, which stands in the world alone; elsewhere three slides and a ball do the same."""
    return joint.parent == BASE and joint.motions == (Placing(0), Orienting(3))


def _joint(joint: Joint, back: Pose, name: str, kind: str, axis: Vector3 | None) -> list[str]:
    turned, shift = placed(back)
    given = {"name": name, "type": kind, **({"pos": decimals(shift)} if any(shift) else {})}
    given |= (
        {}
        if axis is None
        else {"axis": decimals(directed(turned, axis) if is_turned(turned) else axis)}
    )
    if joint.type.nq == 1:
        given |= {"range": decimals(_range(joint))} if _range(joint) else {}
        effort = joint.limits.effort
        given |= (
            {"actuatorfrcrange": decimals((-effort, effort))}
            if effort is not None and effort > 0
            else {}
        )
    return element(
        "joint", given | {_DRIVE[name]: decimal(value) for name, value in uniform(joint.drive)}
    )


def _range(joint: Joint) -> tuple[Fraction, ...]:
    """Both ends of a range that MuJoCo takes, else nothing."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return (
        (lower, upper)
        if joint.type.limited and lower is not None and upper is not None and lower < upper
        else ()
    )


def _equality(joint: Joint) -> list[str]:
    assert joint.mimic is not None
    coefficients = (joint.mimic.offset, joint.mimic.multiplier, *[Fraction(0)] * 3)
    return element(
        "joint",
        {"joint1": joint.name, "joint2": joint.mimic.joint, "polycoef": decimals(coefficients)},
    )


def _on_joints(mechanism: Mechanism, words: dict[str, Words]) -> list[str]:
    """How joints, their order and their ranges are said otherwise, or not at all."""
    joints = mechanism.joints
    split = [joint.name for joint in joints if len(words[joint.name]) > 1]
    across = [one.name for one in joints if one.name in split and not one.type.directed]
    rates = [one.name for one in joints if one.limits.velocity is not None]
    ends = [
        one.name
        for one in joints
        if (one.limits.lower, one.limits.upper) != (None, None) and not _range(one)
    ]
    away = [one.name for one in joints if _flies(one) and one.pose]
    weak = [one.name for one in joints if one.limits.effort is not None and one.limits.effort <= 0]
    mimics = [one.name for one in joints if one.mimic is not None and one.mimic.joint in words]
    lost = [one.name for one in joints if one.mimic is not None and one.mimic.joint not in words]
    said = [
        (split, "in place of {} stand several joints of one body, each named for its coordinate"),
        (
            across,
            "the velocities of {} are along the axes of its frame, not along those of the body",
        ),
        (
            away,
            "the place and the quaternion of {} count from the world there, not from the frame of the joint",
        ),
        (rates, "the velocity limit of {} is left out"),
        (
            ends,
            "the range of {} is left out, since it means nothing there or does not have two ends in order",
        ),
        (
            weak,
            "the effort limit of {} is left out, since MuJoCo takes none that is not above zero",
        ),
        (lost, "that {} mimics a joint that is not there is left out"),
        (
            mimics,
            "that {} mimics another is an equality there, which MuJoCo applies in its solver, and softly",
        ),
    ]
    coupled = (
        ["that joints follow those they mimic is left out; read it with --mimic couple"]
        if mechanism.coupled
        else []
    )
    return [text.format(listed(names)) for names, text in said if names] + coupled


def _order(mechanism: Mechanism, root: Link) -> list[int]:
    """MuJoCo counts each branch to its end before the next; free joints stand behind a base that is a body."""
    order: list[int] = []
    waiting = list(reversed(mechanism.children(BASE)))
    waiting.sort(key=lambda i: not _is_world(root) and not _flies(mechanism.joints[i]))
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(mechanism.children(order[-1]))
    return order


def _on_order(mechanism: Mechanism, order: list[int]) -> list[str]:
    if order == sorted(order):
        return []
    return [
        f"the order of joints is {', '.join(mechanism.joints[i].name for i in order)} there, each branch to its end"
    ]


def _on_drives(mechanism: Mechanism) -> list[str]:
    drifting = [
        one.name
        for one in mechanism.joints
        if one.drive.armature and not one.type.directed and one.type.slides
    ]
    along = f"the armature of {listed(drifting)} is felt along axes that do not turn there, and along the body's in symgen"
    smooth = [joint.name for joint in mechanism.joints if joint.drive.friction]
    said = (
        [f"the friction of {listed(smooth)} sticks there, and is smooth in symgen"]
        if smooth
        else []
    )
    said += [along] if drifting else []
    return said + on_friction_speed(mechanism) + on_numbers(mechanism, (*_DRIVE,), ())
