"""MJCF (https://mujoco.readthedocs.io/en/stable/XMLreference.html), a file that MuJoCo compiles.

Joints are hinges, slides, balls and free joints; what is several of these stands as several in one body. A screw has no word and
is refused. Velocity limits, the speed of friction and numbers that were read and not applied have no place in it either.

A body that moves has a mass and three moments of inertia, or is welded to one that has. So the joints of massless links in a row
stand together on the next body, as MuJoCo's own models have them, and inertia of no body that stands still is left out.

Closed loops are `connect` and `weld` between sites at their two ends, and a keyframe where closing them starts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.quantities import NOWHERE
from symgen.description.snapping import Snapper
from symgen.description.writers._decimals import decimal, decimals
from symgen.description.writers._drives import on_friction_speed, on_numbers, uniform
from symgen.description.writers._links import Link, fresh, links, on_motors
from symgen.description.writers._places import (
    at_length_one,
    directed,
    is_turned,
    placed,
    turned_moments,
)
from symgen.description.writers._written import Written, listed, title
from symgen.description.writers._xml import document, element
from symgen.mechanism.inertias import is_positive_semidefinite, second_moments
from symgen.mechanism.joints import Elementary, Orienting, Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Frame, Joint, Mechanism, Part
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, Vector3, compose, inverse

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
_CLOSURES = {"point": "connect", "spherical": "connect", "weld": "weld"}
HOME = "home"
"""The keyframe from which closing the loops starts."""
LEAST = Fraction(1, 10**15)
"""mjMINVAL: what MuJoCo takes for a mass, and for each moment of inertia."""
_LEAST_OF_SIX = Fraction(1, 10**14)
"""mjEPS: what MuJoCo takes for a moment about a principal axis, where it finds that axis itself."""
Seated = list[tuple[Joint, Pose]]
"""The joints of one body, from its parent on, each with the pose that leads from the body's frame to the joint's."""
Words = list[tuple[str, str, Vector3 | None]]
"""(name, type, axis) of MuJoCo's joints for one."""


def write(mechanism: Mechanism) -> Written:
    """Write the robot as MJCF; RequestError names a joint that MuJoCo has no word for."""
    sites = _sited(mechanism)
    mechanism = sites.mechanism
    every, remarks = links(mechanism, reserved=(WORLD,))
    words = _all_words(mechanism)
    bodies = _bodies(every, _along_axes(words))
    near: list[str] = []
    world = _world(mechanism, bodies, words, near, sites.names)
    order = _order(mechanism, bodies.links[0])
    written, plain = {link.name for link in bodies.links}, _plain_joints(mechanism, words)
    remarks += [
        *bodies.remarks,
        *_on_joints(mechanism, words),
        *_on_order(mechanism, order),
        *_on_drives(mechanism),
        *sites.remarks(written, plain),
        *_on_near_right_angles(near),
    ]
    root = element(
        "mujoco",
        {"model": mechanism.name},
        [
            element("compiler", {"angle": "radian", "autolimits": "true"}),
            element("option", {"gravity": decimals(mechanism.gravity)}),
            element("worldbody", {}, world),
            *_section("equality", [*_mimics(mechanism), *sites.equalities(written)]),
            *_section("actuator", sites.motors(written, plain)),
            *_section("keyframe", sites.keys(order, written, plain)),
        ],
    )
    return Written(document(title(mechanism), remarks, root), tuple(remarks))


def _section(name: str, inside: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the section as the only element of a list; an empty list where it holds nothing."""
    return [element(name, {}, inside)] if inside else []


def _all_words(mechanism: Mechanism) -> dict[str, Words]:
    """Return MuJoCo's joints for each joint of the robot, by its name."""
    taken = dict.fromkeys((joint.name for joint in mechanism.joints), 1)
    return {joint.name: _words(mechanism, joint, taken) for joint in mechanism.joints}


def _along_axes(words: Mapping[str, Words]) -> set[str]:
    """Return the names of joints that are hinges and slides alone."""
    return {
        name for name, several in words.items() if all(axis is not None for _, _, axis in several)
    }


def _plain_joints(mechanism: Mechanism, words: Mapping[str, Words]) -> set[str]:
    """Return the names of joints whose coordinates count in MuJoCo as in the robot."""
    return {
        joint.name
        for joint in mechanism.joints
        if len(words[joint.name]) == 1 and not (_flies(joint) and joint.pose)
    }


def _mimics(mechanism: Mechanism) -> list[list[str]]:
    """Write an equality for each joint that mimics another."""
    names = {joint.name for joint in mechanism.joints}
    return [
        _equality(joint)
        for joint in mechanism.joints
        if joint.mimic is not None and joint.mimic.joint in names
    ]


def _on_near_right_angles(near: Sequence[str]) -> list[str]:
    if not near:
        return []
    return [
        f"at {listed(near)} something is turned by almost a right angle and not by one; read it with --snap off"
    ]


def _world(
    mechanism: Mechanism,
    found: _Bodies,
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


Holds = Callable[[Joint, Mapping[str, Words]], bool]
"""True if a remark holds for a joint, by MuJoCo's joints for each joint of the robot."""
_ON_JOINTS: tuple[tuple[Holds, str], ...] = (
    (
        lambda joint, words: len(words[joint.name]) > 1,
        "in place of {} stand several joints of one body, each named for its coordinate",
    ),
    (
        lambda joint, words: len(words[joint.name]) > 1 and not joint.type.directed,
        "the velocities of {} are along the axes of its frame, not along those of the body",
    ),
    (
        lambda joint, words: _flies(joint) and bool(joint.pose),
        "the place and the quaternion of {} count from the world there, not from the frame of the joint",
    ),
    (
        lambda joint, words: joint.limits.velocity is not None,
        "the velocity limit of {} is left out",
    ),
    (
        lambda joint, words: bool(joint.limits.text) and not _range(joint),
        "the range of {} is left out, since it means nothing there or does not have two ends in order",
    ),
    (
        lambda joint, words: joint.limits.effort is not None and joint.limits.effort <= 0,
        "the effort limit of {} is left out, since MuJoCo takes none that is not above zero",
    ),
    (
        lambda joint, words: joint.mimic is not None and joint.mimic.joint not in words,
        "that {} mimics a joint that is not there is left out",
    ),
    (
        lambda joint, words: joint.mimic is not None and joint.mimic.joint in words,
        "that {} mimics another is an equality there, which MuJoCo applies in its solver, and softly",
    ),
)


def _on_joints(mechanism: Mechanism, words: Mapping[str, Words]) -> list[str]:
    """Remark on joints that are written otherwise, or not at all."""
    remarks = []
    for holds, text in _ON_JOINTS:
        names = [joint.name for joint in mechanism.joints if holds(joint, words)]
        remarks += [text.format(listed(names))] if names else []
    if mechanism.coupled:
        remarks.append(
            "that joints follow those they mimic is left out; read it with --mimic couple"
        )
    return remarks


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


# -- bodies that MuJoCo compiles --


@dataclass
class _Bodies:
    """Links as MuJoCo's bodies: their `joints` by the link's name; `below`, the links on each; and remarks on the rest."""

    links: list[Link]
    joints: dict[str, Seated]
    below: dict[str | None, list[Link]]
    remarks: list[str] = field(default_factory=list)


def _bodies(every: Sequence[Link], along_axes: Container[str]) -> _Bodies:
    """The links of a robot, parents first. `along_axes` are the joints that are hinges and slides alone."""
    seated, joints = _with_own_frames(every, along_axes)
    solid = {link.name for link in seated if link.part is not None and _is_solid(link.part)}
    felt = solid | {
        link.parent
        for link in seated
        if link.joint is None and link.name in solid and link.parent is not None
    }
    found = _Bodies([], joints, {}, on_motors(seated))
    kept, gone = _in_one_body(seated, found.joints, felt, along_axes)
    found.links, still = _without_what_stands_still(kept)
    found.below = _below(found.links)
    if gone:
        found.remarks.append(
            f"without a mass, {listed(gone)} is no body there, and its joint is one of the next body's"
        )
    if still:
        found.remarks.append(
            f"the inertia of {listed(still)} is left out: it stands still, and MuJoCo does not compile it"
        )
    found.remarks += _on_refused(found, felt)
    return found


def _with_own_frames(
    every: Sequence[Link], along_axes: Container[str]
) -> tuple[list[Link], dict[str, Seated]]:
    """The links, but for those that were made to move a link whose frame is not its joint's: a body's joint may stand anywhere in
    its frame. And where each does.
    """
    by_name = {link.name: link for link in every}
    takes = {
        link.name: by_name[link.moves]
        for link in every
        if link.moves in by_name
        and link.joint is not None
        and link.joint.name in along_axes
        and by_name[link.moves].parent == link.name
    }
    found: dict[str, Link] = {}
    joints: dict[str, Seated] = {}
    for link in every:
        own = takes.get(link.name, link)
        if own is not link:
            pose = compose(link.pose, own.pose)
            joint, back = link.joint, inverse(own.pose)
            own = replace(own, joint=joint, parent=link.parent, pose=pose)
        else:
            joint, back = link.joint, ()
        if own.name in found:
            continue
        if (above := takes.get(own.parent or "")) is not None:
            own = replace(own, parent=above.name, pose=compose(inverse(above.pose), own.pose))
        found[own.name] = own
        if joint is not None:
            joints[own.name] = [(joint, back)]
    return list(found.values()), joints


def _in_one_body(
    every: Sequence[Link],
    joints: dict[str, Seated],
    felt: Container[str],
    along_axes: Container[str],
) -> tuple[list[Link], list[str]]:
    """Return the links without those that move and have no mass, whose `joints` go to the next link; and the names of those."""
    below, by_name, merged = _below(every), {link.name: link for link in every}, set[str]()
    for name in [link.name for link in every if link.joint is not None and link.name in felt]:
        above = by_name.get(by_name[name].parent or "")
        while above is not None and _is_spare(above, below, along_axes):
            by_name[name] = _merged(by_name[name], above, joints)
            merged |= {above.name, *_welded(above, below)}
            above = by_name.get(above.parent or "")
    kept = [by_name[link.name] for link in every if link.name not in merged]
    return kept, [link.name for link in every if link.name in merged]


def _welded(link: Link, below: Mapping[str | None, list[Link]]) -> list[str]:
    """List the links that are welded to a link."""
    return [child.name for child in below.get(link.name, []) if child.joint is None]


def _merged(link: Link, above: Link, joints: dict[str, Seated]) -> Link:
    """Return the link on the parent of the link above, whose joints become its own."""
    moved = [(joint, compose(inverse(link.pose), back)) for joint, back in joints.pop(above.name)]
    joints[link.name] = moved + joints[link.name]
    return replace(link, parent=above.parent, pose=compose(above.pose, link.pose))


def _below(every: Sequence[Link]) -> dict[str | None, list[Link]]:
    found: dict[str | None, list[Link]] = {}
    for link in every:
        found.setdefault(link.parent, []).append(link)
    return found


def _is_spare(
    link: Link, below: Mapping[str | None, list[Link]], along_axes: Container[str]
) -> bool:
    """Whether a link moves, carries nothing but one more joint, and is moved along or about axes."""
    own = below.get(link.name, [])
    carried = [one.part for one in (link, *own) if one is link or one.joint is None]
    heavy = any(part is not None and (part.mass or any(part.moments)) for part in carried)
    return (
        link.joint is not None
        and link.joint.name in along_axes
        and not heavy
        and sum(one.joint is not None for one in own) == 1
    )


def _without_what_stands_still(every: list[Link]) -> tuple[list[Link], list[str]]:
    """The same without inertia that nothing feels and MuJoCo does not take; and whose it was."""
    root = every[0].name
    odd = {
        link.name
        for link in every
        if link.joint is None and root in (link.name, link.parent) and _is_odd(link.part)
    }
    return [replace(link, part=None) if link.name in odd else link for link in every], sorted(odd)


def _on_refused(found: _Bodies, felt: Container[str]) -> list[str]:
    """What MuJoCo refuses to compile, which is written all the same: other readers take it, and so does symgen."""
    light = [link.name for link in found.links if link.joint is not None and link.name not in felt]
    odd = [link.name for link in found.links if _is_odd(link.part)]
    said = [
        (
            light,
            "MuJoCo does not compile this: nothing with a mass and three moments of inertia of its own moves with {}",
        ),
        (odd, "MuJoCo does not compile this: the moments of inertia of {} are those of no body"),
    ]
    return [text.format(listed(names)) for names, text in said if names]


def _is_solid(part: Part) -> bool:
    return part.mass >= LEAST and is_positive_semidefinite(part.moments, -LEAST)


def _is_odd(part: Part | None) -> bool:
    """Whether six moments are not positive definite, or any break the triangle inequality."""
    if part is None:
        return False
    skew = any(
        (part.moments[1], part.moments[2], part.moments[4])
    ) and not is_positive_semidefinite(part.moments, -_LEAST_OF_SIX)
    return skew or not is_positive_semidefinite(second_moments(part.moments), LEAST)


# -- closed loops --


@dataclass(frozen=True)
class _Sites:
    """A robot with a frame at each end of those loops that MuJoCo has a word for; `ends` of each loop, by name."""

    mechanism: Mechanism
    ends: dict[str, tuple[str, str]]

    @property
    def names(self) -> set[str]:
        return {name for pair in self.ends.values() for name in pair}

    def equalities(self, written: set[str]) -> list[list[str]]:
        """Elements of those loops both of whose ends are among the links that are `written`."""
        return [
            element(
                _CLOSURES[loop.kind],
                {
                    "name": loop.name,
                    "site1": self.ends[loop.name][0],
                    "site2": self.ends[loop.name][1],
                },
            )
            for loop in self.mechanism.loops
            if self._is_said(loop.name, written)
        ]

    def keys(self, order: Sequence[int], written: set[str], plain: set[str]) -> list[list[str]]:
        """Write where closing starts, joints in MuJoCo's `order`; nothing where one is not `plain`, and counts otherwise there."""
        mechanism = self.mechanism
        if not self._starts(written, plain):
            return []
        declared, qpos = dict(mechanism.start), list[Fraction]()
        for joint in (mechanism.joints[k] for k in order):
            values = declared.get(joint.name, joint.type.neutral)
            if (at := joint.type.quaternion) is not None:  # w x y z there
                values = (*values[:at], values[at + 3], *values[at : at + 3])
            qpos += values
        return [element("key", {"name": HOME, "qpos": decimals(qpos)})]

    def motors(self, written: set[str], plain: set[str]) -> list[list[str]]:
        """Elements of the joints that are driven."""
        return [
            element("motor", {"name": name, "joint": name})
            for name in self.mechanism.actuated
            if self._drives(name, written, plain)
        ]

    def _drives(self, name: str, written: set[str], plain: set[str]) -> bool:
        """Whether MuJoCo has it that this is driven: a hinge or a slide, where a loop is said there."""
        return (
            name in plain
            and len(self.mechanism.velocities_of[name]) == 1
            and any(self._is_said(loop.name, written) for loop in self.mechanism.loops)
        )

    def _is_said(self, loop: str, written: set[str]) -> bool:
        return loop in self.ends and {*self.ends[loop]} <= written

    def _starts(self, written: set[str], plain: set[str]) -> bool:
        mechanism = self.mechanism
        return (
            bool(mechanism.start)
            and all(joint.name in plain for joint in mechanism.joints)
            and any(self._is_said(loop.name, written) for loop in mechanism.loops)
        )

    def remarks(self, written: set[str], plain: set[str]) -> list[str]:
        """What of the loops is not said there, or otherwise."""
        mechanism = self.mechanism
        lost = [loop.name for loop in mechanism.loops if not self._is_said(loop.name, written)]
        soft = [loop.name for loop in mechanism.loops if self._is_said(loop.name, written)]
        found = (
            [f"loops left out, since MuJoCo connects points and welds bodies alone: {listed(lost)}"]
            if lost
            else []
        )
        found += [f"loops that MuJoCo's solver holds softly there: {listed(soft)}"] if soft else []
        unsaid = bool(mechanism.start) and not self._starts(written, plain)
        found += ["where closing the loops starts is left out"] if unsaid else []
        idle = [name for name in mechanism.actuated if not self._drives(name, written, plain)]
        found += [f"that {listed(idle)} are actuated is left out"] if idle else []
        return found + (
            [f"which joints are independent is left out: {listed(mechanism.independent)}"]
            if mechanism.independent
            else []
        )


def _sited(mechanism: Mechanism) -> _Sites:
    """The robot with its sites."""
    taken = dict.fromkeys((frame.name for frame in mechanism.frames), 1)
    frames: list[Frame] = []
    ends: dict[str, tuple[str, str]] = {}
    for loop in (loop for loop in mechanism.loops if loop.kind in _CLOSURES):
        names = fresh(f"{loop.name}_first", taken), fresh(f"{loop.name}_second", taken)
        frames += [
            Frame(name, end.body, end.pose)
            for name, end in zip(names, (loop.first, loop.second), strict=True)
        ]
        ends[loop.name] = names
    return _Sites(
        replace(mechanism, frames=(*mechanism.frames, *frames)) if frames else mechanism, ends
    )
