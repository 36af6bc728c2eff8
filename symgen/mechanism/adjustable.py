"""Parameters of a description that can change at run time, by name, and mechanisms with other
values of them.

    LINK.mass          kg
    LINK.centre        m, in the link's frame
    LINK.inertia       moments xx xy xz yy yz zz about the origin of that frame, in its axes, kg·m²
                       (as in a payload)
    LINK               these three
    payload:LINK       the same three for a load on a link
    gravity            m/s², in the axes of the base
    JOINT.armature, .damping, .friction, .stiffness, .rest     see `symgen.mechanism.drives`
    JOINT              these five

Lengths and axes are constants of the generated C and cannot change.
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
"""Number of values of each parameter of a link."""
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
"""Parameters of a drive, with the units of a rotating joint (of a sliding joint)."""
SHOWN = 60
"""Number of characters of a name in a message."""
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
    """One parameter: its `name`, its `kind`, and its `link` or `joint` ("" for gravity).

    A `load` is carried by a link and is not part of the description.
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
        """The parts of its name, from which names in programs are built."""
        owner = self.joint or self.link
        return (
            (GRAVITY,)
            if self.kind == GRAVITY
            else (*(("payload",) if self.load else ()), owner, self.kind)
        )

    @property
    def unit(self) -> str:
        return DRIVES[self.kind] if self.joint else UNITS[self.kind]


def adjustable_parameters(mechanism: Mechanism, names: Iterable[str]) -> tuple[Adjustable, ...]:
    """Return the requested parameters, each once, in the order of the description.

    Raises UnknownName for a name without a parameter and ArgumentError for a parameter that cannot
    change.
    """
    words = dict.fromkeys(names)
    if not words:
        return ()
    parameters_by_name = _all_parameters(mechanism)
    selected: set[str] = set()
    for word in words:
        selected.update(_resolve(mechanism, word, parameters_by_name))
    parameters = tuple(
        parameter for parameter in parameters_by_name.values() if parameter.name in selected
    )
    compensated = {part.link for part in mechanism.compensated_parts}
    for parameter in parameters:
        if parameter.link in compensated and not parameter.load:
            raise ArgumentError(
                f"parameter '{printable(parameter.name, SHOWN)}': link"
                f" '{printable(parameter.link, SHOWN)}' has gravity compensation (gravcomp), a"
                " constant of the C; leave gravcomp out with --drives, or remove this parameter"
            )
    _refuse_unapplied(mechanism, [parameter for parameter in parameters if parameter.joint])
    return parameters


def _refuse_unapplied(mechanism: Mechanism, parameters: Sequence[Adjustable]) -> None:
    """Raise ArgumentError if the description declares a value for a drive that is not applied.

    The parameter would start from 0 instead of the declared value. `parameters` are those of
    joints.
    """
    driven = [
        (parameter, mechanism.joints[mechanism.joint_index(parameter.joint)])
        for parameter in parameters
    ]
    withheld = [
        (parameter, joint, name)
        for parameter, joint in driven
        for name, _ in joint.withheld.declared
        if _kind(name) == _kind(parameter.kind)
    ]
    if withheld:
        parameter, joint, name = withheld[0]
        applied = {_kind(name) for joint in mechanism.joints for name, _ in joint.drive.declared}
        kinds = (
            applied
            | {_kind(name) for _, _, name in withheld}
            | ({GRAVCOMP} if mechanism.compensated_parts else set())
        )
        words = ",".join(word for word in WORDS if word in kinds)
        raise _unapplied(
            parameter,
            joint,
            name,
            getattr(joint.withheld, name),
            f"read the robot with --drives {words} (drives='{words}' in Python)",
        )
    for parameter, joint in driven:
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
    """Return the kind of a drive value in the option --drives: a rest position belongs to the
    stiffness.
    """
    return "stiffness" if name == "rest" else name


def _unapplied(
    parameter: Adjustable, joint: Joint, name: str, value: Fraction, remedy: str
) -> ArgumentError:
    return ArgumentError(
        f"parameter '{printable(parameter.name, SHOWN)}': joint '{printable(joint.name, SHOWN)}'"
        f" declares {name} = {float(value):g}, which is not applied; {remedy}, or remove this"
        " parameter"
    )


def _all_parameters(mechanism: Mechanism) -> dict[str, Adjustable]:
    """Return all parameters of a mechanism, by name."""
    links = [frame.name for frame in mechanism.frames if frame.body != BASE]
    of_links = [
        Adjustable(f"{load}{link}.{kind}", kind, link, bool(load))
        for link in links
        for load in ("", PAYLOAD)
        for kind in SIZES
    ]
    of_drives = [
        Adjustable(f"{joint.name}.{kind}", kind, joint=joint.name)
        for joint in mechanism.joints
        for kind in DRIVES
        if joint.type.nq == joint.type.nv == 1
        or (kind in ("armature", "damping", "friction") and not joint.drive.each)
    ]
    return {
        parameter.name: parameter
        for parameter in (*of_links, Adjustable(GRAVITY, GRAVITY), *of_drives)
    }


def _resolve(
    mechanism: Mechanism, word: str, parameters_by_name: Mapping[str, Adjustable]
) -> list[str]:
    """Return the names of the parameters that one word selects."""
    if word in parameters_by_name:
        return [word]
    owned = [
        parameter for parameter in parameters_by_name.values() if _owner(parameter.name) == word
    ]
    of_link = [parameter for parameter in owned if not parameter.joint]
    if owned:  # where a joint is called as its link is, the link is meant
        return [parameter.name for parameter in of_link or owned]
    if any(sign in word for sign in "*?["):
        return _match_pattern(mechanism, word, parameters_by_name)
    _refuse_unknown(mechanism, word)
    raise AssertionError("refused")


def _owner(name: str) -> str:
    """Return the link, load or joint in a parameter's name."""
    return name.rpartition(".")[0]


def _match_pattern(
    mechanism: Mechanism, pattern: str, parameters_by_name: Mapping[str, Adjustable]
) -> list[str]:
    """Return the parameters that match a pattern: gravity, parameters of links with mass, and
    declared drive values.
    """
    matching = [
        parameter
        for parameter in parameters_by_name.values()
        if not parameter.load
        and any(fnmatchcase(name, pattern) for name in (parameter.name, _owner(parameter.name)))
    ]
    links_with_mass = _links_with_mass(mechanism)
    applied = _drive_names(mechanism, lambda joint: joint.drive.declared)
    names = [
        parameter.name
        for parameter in matching
        if parameter.link in links_with_mass
        or parameter.kind == GRAVITY
        or parameter.name in applied
    ]
    if not names:  # `adjustable_parameters` refuses unapplied drives, with the reason
        unapplied = _drive_names(
            mechanism, lambda joint: (*joint.withheld.declared, *joint.unapplied)
        )
        names = [parameter.name for parameter in matching if parameter.name in unapplied]
    if not names:
        raise UnknownName(
            f"no parameter matches '{printable(pattern, SHOWN)}'; use LINK.mass, LINK.centre,"
            " LINK.inertia or LINK for a moving link with mass, gravity, or JOINT.damping and the"
            " like for a joint with such a drive"
        )
    return names


def _links_with_mass(mechanism: Mechanism) -> set[str]:
    parts = (part for body in mechanism.bodies for part in body.parts)
    return {part.link for part in parts if part.mass or any(part.moments)}


def _drive_names(
    mechanism: Mechanism, numbers: Callable[[Joint], Iterable[tuple[str, Fraction]]]
) -> set[str]:
    """Return JOINT.KIND for each of the `numbers` of each joint."""
    return {f"{joint.name}.{kind}" for joint in mechanism.joints for kind, _ in numbers(joint)}


def _refuse_unknown(mechanism: Mechanism, word: str) -> None:
    """Raise RequestError with the reason why a word names no parameter."""
    subject = f"parameter '{printable(word, SHOWN)}'"
    stem = word.removeprefix(PAYLOAD)
    owner, _, kind = stem.rpartition(".")
    links = {frame.name: frame.body for frame in mechanism.frames}
    joints = [joint.name for joint in mechanism.joints]
    link = stem if stem in links else owner
    if links.get(link) == BASE:
        raise ArgumentError(
            f"{subject}: link '{link}' is fixed to the base, so that no joint force depends on it;"
            " remove this parameter"
        )
    if kind in _GEOMETRY and (owner in links or owner in joints):
        raise ArgumentError(
            f"{subject}: lengths and axes are constants of the C; change the description and"
            " generate the C again"
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
            f"{subject}: a joint has {owner}.{', .'.join(DRIVES)}; the last two need a joint with"
            " one coordinate, and all need a drive with the same values for each velocity"
        )
    movable = [name for name, body in links.items() if body != BASE]
    subject_name = owner if kind in (*SIZES, *DRIVES) and owner else stem
    nearest(subject_name, [*movable, *joints, GRAVITY], "link, joint or parameter")


def adjust_mechanism(mechanism: Mechanism, values: Mapping[str, Sequence[Fraction]]) -> Mechanism:
    """Return the mechanism with these values of its parameters, by the names of
    `adjustable_parameters`.
    """
    gravity = values.get(GRAVITY)
    if gravity is not None:
        x, y, z = gravity
        mechanism = replace(mechanism, gravity=(x, y, z))
    bodies = list(mechanism.bodies)
    for frame in mechanism.frames:
        of_link = {
            kind: values[name] for kind in SIZES if (name := f"{frame.name}.{kind}") in values
        }
        of_load = {
            kind: values[name]
            for kind in SIZES
            if (name := f"{PAYLOAD}{frame.name}.{kind}") in values
        }
        if of_link:
            bodies[frame.body] = _with_values(
                bodies[frame.body], frame, declared_part(mechanism, frame.name), of_link
            )
        if of_load:
            (mass,), centre, inertia = (
                of_load.get(kind, (Fraction(0),) * size) for kind, size in SIZES.items()
            )
            part = _part_from_frame_moments(
                f"load of {frame.name}", frame.pose, mass, _vector(centre), inertia
            )
            bodies[frame.body] = replace(
                bodies[frame.body], parts=(*bodies[frame.body].parts, part)
            )
    joints = []
    for joint in mechanism.joints:
        of_drive: dict[str, Any] = {
            kind: values[name][0] for kind in DRIVES if (name := f"{joint.name}.{kind}") in values
        }
        joints.append(replace(joint, drive=replace(joint.drive, **of_drive)) if of_drive else joint)
    return replace(mechanism, bodies=tuple(bodies), joints=tuple(joints))


def declared_part(mechanism: Mechanism, link: str) -> Part:
    """Return the inertia that a link declares, or one of zero mass. Raises ArgumentError for
    several inertias.
    """
    frame = mechanism.frame(link)
    parts = [part for part in mechanism.bodies[frame.body].parts if part.link == link]
    if len(parts) > 1:
        raise ArgumentError(f"link '{link}' declares {len(parts)} inertias; declare one inertia")
    return parts[0] if parts else Part(link, frame.pose, Fraction(0))


def declared_centre(mechanism: Mechanism, link: str, load: bool) -> tuple[Fraction, Vector3]:
    """Return the declared mass (kg) of a link and its mass centre (m) in the axes of the link's
    frame; zeros for a load.
    """
    if load:
        return Fraction(0), ZERO3
    part = declared_part(mechanism, link)
    return part.mass, centre_and_rotation(mechanism.frame(link), part)[0]


def centre_and_rotation(frame: Frame, part: Part) -> tuple[Vector3, Pose]:
    """Return a part's mass centre in the axes of a frame at its origin (m), and the rotations from
    those axes to the part's.
    """
    steps = compose(inverse(frame.pose), part.pose)
    shift = steps[0].xyz if steps and isinstance(steps[0], Shift) else ZERO3
    rotations = steps[1:] if steps and isinstance(steps[0], Shift) else steps
    if not all(isinstance(step, Turn | Rotate) for step in rotations):
        raise ArgumentError(
            f"link '{part.link}' places its mass centre along an axis, so that its inertia cannot"
            " change at run time; declare the mass centre as x, y, z in the axes of the link"
        )
    return shift, rotations


def _vector(numbers: Sequence[Fraction]) -> Vector3:
    x, y, z = numbers
    return (x, y, z)


def _with_values(
    body: Body, frame: Frame, old: Part, values: Mapping[str, Sequence[Fraction]]
) -> Body:
    """Return the body with other values for the part of one link.

    If `values` has no inertia, the moments about the mass centre stay.
    """
    centre, rotations = centre_and_rotation(frame, old)
    mass = values["mass"][0] if "mass" in values else old.mass
    centre = _vector(values["centre"]) if "centre" in values else centre
    if "inertia" in values:
        new = _part_from_frame_moments(old.link, frame.pose, mass, centre, values["inertia"])
    else:
        new = Part(old.link, compose(frame.pose, (Shift(centre), *rotations)), mass, old.moments)
    return replace(body, parts=(*(part for part in body.parts if part.link != old.link), new))


def _part_from_frame_moments(
    link: str, pose: Pose, mass: Fraction, centre: Vector3, inertia: Sequence[Fraction]
) -> Part:
    """Return a part from moments about the origin of a frame, in the frame's axes (Steiner's
    theorem).
    """
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
