"""Numbers of a description that may change at run time, by the names that users give them, and a mechanism with other numbers.

LINK.mass (kg), LINK.centre (m, in the link's frame) and LINK.inertia (moments xx xy xz yy yz zz about the origin of that frame,
in its axes, kg·m², as a payload has them); LINK for the three; payload:LINK for a load on a link, of the same three; gravity
(m/s², in the axes of the base); JOINT.armature, .damping, .friction, .stiffness and .rest (`symgen.mechanism.drives`), JOINT for the five.
Lengths and axes are what the C is made of, and stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from symgen.mechanism.drives import GRAVCOMP, WORDS
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.support.errors import ArgumentError, UnknownName, printable
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import ZERO3, Pose, Rotate, Shift, Turn, Vector3, compose, inverse

GRAVITY = "gravity"
PAYLOAD = "payload:"
SIZES = {"mass": 1, "centre": 3, "inertia": 6}
"""Of what a link has, how many numbers."""
UNITS = {
    "mass": "kg",
    "centre": "m, in the axes of the link's frame",
    GRAVITY: "m/s^2, in the axes of the base",
    "inertia": "xx xy xz yy yz zz about the origin of the link's frame, in its axes, kg m^2",
}
DRIVES = {
    "armature": "kg m^2 (kg)",
    "damping": "N m s/rad (N s/m)",
    "friction": "N m (N)",
    "stiffness": "N m/rad (N/m)",
    "rest": "rad (m)",
}
"""The numbers of a drive, where it turns (where it slides)."""
SHOWN = 60
"""Characters of a name in a sentence."""
_NEAR_WORDS = {
    "com": "centre",
    "center": "centre",
    "inertias": "inertia",
    "m": "mass",
    "moments": "inertia",
}
_GEOMETRY = ("origin", "pose", "axis", "length", "rpy", "xyz", "a", "alpha", "d", "theta")


@dataclass(frozen=True)
class Adjustable:
    """One number or vector: its `name`, what of it (`kind`), and the `link` or the `joint` that has it ("" for gravity).

    A `load` is what a link carries, which the description does not know.
    """

    name: str
    kind: str
    link: str = ""
    load: bool = False
    joint: str = ""

    @property
    def size(self) -> int:
        return 1 if self.joint else 3 if self.kind == GRAVITY else SIZES[self.kind]

    @property
    def words(self) -> tuple[str, ...]:
        """Its name in words that names of programs are made of."""
        owner = self.joint or self.link
        return (
            (GRAVITY,)
            if self.kind == GRAVITY
            else (*(("payload",) if self.load else ()), owner, self.kind)
        )

    @property
    def unit(self) -> str:
        return DRIVES[self.kind] if self.joint else UNITS[self.kind]


def adjustables(mechanism: Mechanism, asked: Iterable[str]) -> tuple[Adjustable, ...]:
    """What is asked for, each once, in the order of the description. UnknownName and ArgumentError say what cannot be."""
    words = dict.fromkeys(asked)
    if not words:
        return ()
    known = _known(mechanism)
    wanted: set[str] = set()
    for word in words:
        wanted.update(_resolve(mechanism, word, known))
    parameters = tuple(parameter for parameter in known.values() if parameter.name in wanted)
    compensated = {part.link for part in mechanism.borne}
    for parameter in parameters:
        if parameter.link in compensated and not parameter.load:
            raise ArgumentError(
                f"parameter '{printable(parameter.name, SHOWN)}': part of the weight of link "
                f"'{printable(parameter.link, SHOWN)}' is borne by gravcomp, a constant of the C; leave that out by "
                "--drives, or leave this parameter out"
            )
    _refuse_unapplied(mechanism, [parameter for parameter in parameters if parameter.joint])
    return parameters


def _refuse_unapplied(mechanism: Mechanism, parameters: Sequence[Adjustable]) -> None:
    """Raise ArgumentError where the description declares a number for a drive that is not applied: its parameter would start from
    0 in place of that number. `parameters` are those of joints.
    """
    asked = [(one, mechanism.joints[mechanism.joint_index(one.joint)]) for one in parameters]
    withheld = [
        (one, joint, name)
        for one, joint in asked
        for name, _ in joint.withheld.declared
        if _kind(name) == _kind(one.kind)
    ]
    if withheld:
        parameter, joint, name = withheld[0]
        applied = {_kind(name) for other in mechanism.joints for name, _ in other.drive.declared}
        kinds = (
            applied
            | {_kind(name) for _, _, name in withheld}
            | ({GRAVCOMP} if mechanism.borne else set())
        )
        words = ",".join(word for word in WORDS if word in kinds)
        raise _unapplied(
            parameter,
            joint,
            name,
            getattr(joint.withheld, name),
            f"read the robot with --drives {words} (drives='{words}' in Python)",
        )
    for parameter, joint in asked:
        for name, value in joint.unapplied:
            if _kind(name) == _kind(parameter.kind):
                raise _unapplied(
                    parameter,
                    joint,
                    name,
                    value,
                    f"declare it as the joint's {name}, not as unapplied",
                )


def _kind(name: str) -> str:
    """Return what --drives calls a number of a drive: a rest position goes with the stiffness."""
    return "stiffness" if name == "rest" else name


def _unapplied(
    parameter: Adjustable, joint: Joint, name: str, value: Fraction, remedy: str
) -> ArgumentError:
    return ArgumentError(
        f"parameter '{printable(parameter.name, SHOWN)}': joint '{printable(joint.name, SHOWN)}' declares "
        f"{name} = {float(value):g}, which is not applied; {remedy}, or leave this parameter out"
    )


def _known(mechanism: Mechanism) -> dict[str, Adjustable]:
    """Everything that may be asked for, by name."""
    links = [frame.name for frame in mechanism.frames if frame.body != BASE]
    found = [
        Adjustable(f"{load}{link}.{kind}", kind, link, bool(load))
        for link in links
        for load in ("", PAYLOAD)
        for kind in SIZES
    ]
    driven = [
        Adjustable(f"{joint.name}.{kind}", kind, joint=joint.name)
        for joint in mechanism.joints
        for kind in DRIVES
        if joint.type.nq == joint.type.nv == 1
        or (kind in ("armature", "damping", "friction") and not joint.drive.each)
    ]
    return {one.name: one for one in (*found, Adjustable(GRAVITY, GRAVITY), *driven)}


def _resolve(mechanism: Mechanism, word: str, known: Mapping[str, Adjustable]) -> list[str]:
    """Return the names of the parameters that one word stands for."""
    if word in known:
        return [word]
    whole = [parameter for parameter in known.values() if _owner(parameter.name) == word]
    if whole:  # where a joint is called as its link is, the link is meant
        return [parameter.name for parameter in whole if parameter.joint == whole[0].joint]
    if any(sign in word for sign in "*?["):
        return _matching(mechanism, word, known)
    _refuse(mechanism, word)
    raise AssertionError("refused")


def _owner(name: str) -> str:
    """Return the link, load or joint of a parameter's name."""
    return name.rpartition(".")[0]


def _matching(mechanism: Mechanism, pattern: str, known: Mapping[str, Adjustable]) -> list[str]:
    """Return the parameters that match a pattern: gravity, those of links with mass, and numbers of drives that are declared."""
    matching = [
        parameter
        for parameter in known.values()
        if not parameter.load
        and any(fnmatchcase(name, pattern) for name in (parameter.name, _owner(parameter.name)))
    ]
    heavy = _links_with_mass(mechanism)
    applied = _drive_names(mechanism, lambda joint: joint.drive.declared)
    names = [
        parameter.name
        for parameter in matching
        if parameter.link in heavy or parameter.kind == GRAVITY or parameter.name in applied
    ]
    if not names:  # `adjustables` refuses what is not applied, with the reason
        unapplied = _drive_names(
            mechanism, lambda joint: (*joint.withheld.declared, *joint.unapplied)
        )
        names = [parameter.name for parameter in matching if parameter.name in unapplied]
    if not names:
        raise UnknownName(
            f"no parameter matches '{printable(pattern, SHOWN)}'; there are LINK.mass, LINK.centre, LINK.inertia, "
            "LINK and gravity, where LINK is a link that moves and has a mass, and JOINT.damping and the like, "
            "where JOINT has such a drive"
        )
    return names


def _links_with_mass(mechanism: Mechanism) -> set[str]:
    parts = (part for body in mechanism.bodies for part in body.parts)
    return {part.link for part in parts if part.mass or any(part.moments)}


def _drive_names(
    mechanism: Mechanism, numbers: Callable[[Joint], Iterable[tuple[str, Fraction]]]
) -> set[str]:
    """Return JOINT.KIND of each of a joint's `numbers`."""
    return {f"{joint.name}.{kind}" for joint in mechanism.joints for kind, _ in numbers(joint)}


def _refuse(mechanism: Mechanism, word: str) -> None:
    """Raise RequestError with the reason why a word names no parameter."""
    subject = f"parameter '{printable(word, SHOWN)}'"
    stem = word.removeprefix(PAYLOAD)
    owner, _, kind = stem.rpartition(".")
    links = {frame.name: frame.body for frame in mechanism.frames}
    joints = [joint.name for joint in mechanism.joints]
    link = stem if stem in links else owner
    if links.get(link) == BASE:
        raise ArgumentError(
            f"{subject}: link '{link}' is fixed to the base, so that no joint feels it; leave it out"
        )
    if kind in _GEOMETRY and (owner in links or owner in joints):
        raise ArgumentError(
            f"{subject}: lengths and axes are constants of the C; change the description and generate it again"
        )
    if owner in links:
        name = word[: word.rindex(".")]
        near = _NEAR_WORDS.get(kind.lower())
        raise UnknownName(
            f"{subject}: a link has {name}.mass, .centre and .inertia"
            + (f"; did you mean '{name}.{near}'?" if near else "")
        )
    if owner in joints:
        raise UnknownName(
            f"{subject}: a joint has {owner}.{', .'.join(DRIVES)}, the last two only where it has one coordinate, and "
            "none where its numbers differ from velocity to velocity"
        )
    movable = [name for name, body in links.items() if body != BASE]
    subject_name = owner if kind in (*SIZES, *DRIVES) and owner else stem
    nearest(subject_name, [*movable, *joints, GRAVITY], "link, joint or parameter")


def adjusted(mechanism: Mechanism, values: Mapping[str, Sequence[Fraction]]) -> Mechanism:
    """The mechanism with these numbers, by the names of `adjustables`: described anew."""
    gravity = values.get(GRAVITY)
    if gravity is not None:
        x, y, z = gravity
        mechanism = replace(mechanism, gravity=(x, y, z))
    bodies = list(mechanism.bodies)
    for frame in mechanism.frames:
        own = {kind: values[name] for kind in SIZES if (name := f"{frame.name}.{kind}") in values}
        load = {
            kind: values[name]
            for kind in SIZES
            if (name := f"{PAYLOAD}{frame.name}.{kind}") in values
        }
        if own:
            bodies[frame.body] = _changed(
                bodies[frame.body], frame, part_of(mechanism, frame.name), own
            )
        if load:
            (mass,), centre, inertia = (
                load.get(kind, (Fraction(0),) * size) for kind, size in SIZES.items()
            )
            part = _about_the_origin(
                f"load of {frame.name}", frame.pose, mass, _vector(centre), inertia
            )
            bodies[frame.body] = replace(
                bodies[frame.body], parts=(*bodies[frame.body].parts, part)
            )
    joints = []
    for joint in mechanism.joints:
        driven: dict[str, Any] = {
            kind: values[name][0] for kind in DRIVES if (name := f"{joint.name}.{kind}") in values
        }
        joints.append(replace(joint, drive=replace(joint.drive, **driven)) if driven else joint)
    return replace(mechanism, bodies=tuple(bodies), joints=tuple(joints))


def part_of(mechanism: Mechanism, link: str) -> Part:
    """The inertia that a link declares, or one of nothing. ArgumentError where it declares several."""
    frame = mechanism.frame(link)
    found = [part for part in mechanism.bodies[frame.body].parts if part.link == link]
    if len(found) > 1:
        raise ArgumentError(
            f"link '{link}' declares {len(found)} inertias; declare one, so that its mass is one number"
        )
    return found[0] if found else Part(link, frame.pose, Fraction(0))


def declared_centre(mechanism: Mechanism, link: str, load: bool) -> tuple[Fraction, Vector3]:
    """The mass (kg) that a description declares for a link, and its centre (m) in the axes of its frame; of a load nothing."""
    if load:
        return Fraction(0), ZERO3
    part = part_of(mechanism, link)
    return part.mass, placed_in(mechanism.frame(link), part)[0]


def placed_in(frame: Frame, part: Part) -> tuple[Vector3, Pose]:
    """The centre of a part in the axes of a frame at its origin (m), and the turns from those axes to the part's."""
    steps = compose(inverse(frame.pose), part.pose)
    shift = steps[0].xyz if steps and isinstance(steps[0], Shift) else ZERO3
    turns = steps[1:] if steps and isinstance(steps[0], Shift) else steps
    if not all(isinstance(step, Turn | Rotate) for step in turns):
        raise ArgumentError(
            f"link '{part.link}' declares its inertia in a way that its numbers cannot be changed in; declare "
            "the mass centre in the axes of the link"
        )
    return shift, turns


def _vector(numbers: Sequence[Fraction]) -> Vector3:
    x, y, z = numbers
    return (x, y, z)


def _changed(body: Body, frame: Frame, old: Part, own: Mapping[str, Sequence[Fraction]]) -> Body:
    """A body where the part of one link has other numbers. Without another inertia the moments about the centre stay."""
    centre, turns = placed_in(frame, old)
    mass = own["mass"][0] if "mass" in own else old.mass
    centre = _vector(own["centre"]) if "centre" in own else centre
    if "inertia" in own:
        new = _about_the_origin(old.link, frame.pose, mass, centre, own["inertia"])
    else:
        new = Part(old.link, compose(frame.pose, (Shift(centre), *turns)), mass, old.moments)
    return replace(body, parts=(*(part for part in body.parts if part.link != old.link), new))


def _about_the_origin(
    link: str, pose: Pose, mass: Fraction, centre: Vector3, inertia: Sequence[Fraction]
) -> Part:
    """A part of moments about the origin of a frame, in its axes: by Steiner's theorem about its centre."""
    x, y, z = centre
    xx, xy, xz, yy, yz, zz = inertia
    moments = (
        xx - mass * (y * y + z * z),
        xy + mass * x * y,
        xz + mass * x * z,
        yy - mass * (x * x + z * z),
        yz + mass * y * z,
        zz - mass * (x * x + y * y),
    )
    return Part(link, compose(pose, (Shift(centre),)), mass, moments)
