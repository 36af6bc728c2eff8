"""URDF (https://wiki.ros.org/urdf/XML): links, joints and inertias. Geometry, materials and plugins are ignored.

Read as the specification and Pinocchio read it: an absent `origin` is the identity, an absent `axis` is (1, 0, 0), an absent
`inertial` means massless, the inertia tensor is about the centre of mass in the axes of the inertial's own `origin` (its rpy
included), `continuous` has one coordinate, a root link is fixed to the world. Where the specification demands something and it is
absent (mass, one of the six moments, a parent), the file is refused. It is never taken as zero.

An error in a number that no answer depends on (limits, couplings, the inertia of a link that stands still, damping and gear
ratios that are not applied) is a note and refuses nothing.

The vocabulary is that of the specification, of urdfdom 6 (versions 1.0 to 1.2), and of what public files have besides: tags of
Gazebo, PyBullet, ros_control and of single makers, none of which describes the rigid bodies.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from symgen.description.asking import NOTHING, Asked, refuse_unheard
from symgen.description.parsing import macros
from symgen.description.parsing.foreign import by_root
from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.parsing.xml import (
    alike,
    full_name,
    is_xacro,
    loose_text,
    parse,
    tag,
    text_of,
    text_without,
)
from symgen.description.quantities import Place, is_writable, number, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Inertial, Link, Tree
from symgen.mechanism.drives import Drive
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Limits, Mimic, Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import (
    X_AXIS,
    Z_AXIS,
    ZERO3,
    Angle,
    Pose,
    Rotate,
    Shift,
    Vector3,
    compose,
    pose,
)

SUFFIXES = (".urdf", ".xml", ".xacro")
ROOTS = ("robot",)
TAKES = ("xacro", "packages")

MOST_ROTORS = 16
"""Ratios and rotor inertias of one transmission that are shown, at each of its joints. No answer depends on them."""
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_NO_LIMIT = 10**300
"""What is printed for no limit at all, since URDF demands a number and knows no infinity: the largest double, or 1e308."""
_ALONG_AN_AXIS = ("revolute", "continuous", "prismatic", "planar")
_IN_OTHER_WORDS = {"floating": "free"}
"""Names of joint types that URDF has other words for."""


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The links and joints that the URDF text `data` declares; DescriptionError names file, line and element.

    A file of macros is a program (https://github.com/ros/xacro/wiki), read as the URDF that the package xacro makes of it, and
    so is a URDF that holds some where the package is there. Lines are then those of the expanded text.
    """
    if file.lower().endswith(".xacro"):
        if not macros.available():
            raise macros.unexpanded(Place(file))
        return _expanded(data, file, snapper, asked, finished=False)
    snaps = len(snapper.snaps)
    try:
        tree = _plain(data, file, snapper, macros.available())
    except macros.Macros:
        del snapper.snaps[snaps:]
        return _expanded(data, file, snapper, asked, finished=True)
    refuse_unheard(asked, (), file)
    return tree


def _expanded(data: bytes, file: str, snapper: Snapper, asked: Asked, finished: bool) -> Tree:
    """The tree of what the macros in `data` make. The text that they make is what a hash of the description is of.

    In a `finished` URDF, calls of macros that it does not define are left out.
    """
    root, notes = parse(data, file)
    source, calls = (
        text_of(data),
        macros.undefined_calls(root) if finished and not is_xacro(root) else [],
    )
    if calls:
        elements = Elements(file, root, snapper, notes, True)
        for call in calls:
            elements.leave_out_call(call)
        notes, source = elements.notes, text_without(root, calls)
    text, remarks = macros.expanded(source, file, asked)
    tree = _plain(text.encode(), f"{file} (expanded)", snapper, False)
    return replace(
        tree,
        notes=(*notes, *remarks, *tree.notes),
        read_sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _plain(data: bytes, file: str, snapper: Snapper, expandable: bool) -> Tree:
    """What stands there. `expandable`: whether Macros is raised where macros stand, or else the sentence that refuses them."""
    root, notes = parse(data, file)
    if is_xacro(root):
        raise macros.Macros() if expandable else macros.unexpanded(Place(file, root.sourceline))
    if full_name(root) != "robot":
        raise Place(file, root.sourceline).error(
            *by_root(tag(root))
            or (f"the root element is {shown(full_name(root))}, not 'robot'", "give a URDF file")
        )
    elements = Elements(file, root, snapper, notes, expandable)
    place = elements.place(root)
    children = list(elements.children(root, place))
    elements.check(root, place)
    joints = [element for element in children if full_name(element) == "joint"]
    still = _standing(joints)
    links = [
        _link(element, elements, still) for element in children if full_name(element) == "link"
    ]
    transmissions: dict[str, Said] = {}
    for element in children:
        if full_name(element) == "transmission":
            transmissions.update(_transmission(element, elements))
    connections = tuple(_connection(element, elements, transmissions) for element in joints)
    return Tree(
        root.get("name", "").strip(),
        tuple(links),
        connections,
        notes=tuple(elements.notes),
        place=Place(file),
        drives_apply=False,
    )


def _standing(joints: Iterable[Any]) -> Callable[[str | None], bool]:
    """Whether a link stands still: only fixed joints lead from the root to it."""
    above: dict[str, tuple[str, bool]] = {}
    for joint in joints:
        ends = {
            full_name(child): child.get("link")
            for child in joint
            if isinstance(child.tag, str) and full_name(child) in ("parent", "child")
        }
        above[str(ends.get("child"))] = str(ends.get("parent")), joint.get("type") == "fixed"

    known: dict[str, bool] = {}

    def still(link: str | None) -> bool:
        at, way, verdict = str(link), list[str](), False
        while at in above and at not in known:
            known[at] = False  # who comes by again goes in a ring, where no root is
            way.append(at)
            at, fixed = above[at]
            if not fixed:
                break
        else:
            verdict = known.get(at, True)
        known.update(dict.fromkeys(way, verdict))
        return known.get(str(link), verdict)

    return still


def _link(element: Any, elements: Elements, still: Callable[[str | None], bool]) -> Link:
    place = elements.place(element)
    name = elements.text(element, "name", place)

    def inertials() -> tuple[Inertial, ...]:
        elements.check(element, place)
        return _inertials(element, place, elements)

    if still(name):  # nothing moves it, so its inertia is in no answer
        return Link(
            name,
            elements.spare(inertials, (), "warning", "its inertia is left out: it stands still"),
            place,
        )
    return Link(name, inertials(), place)


def _inertials(element: Any, place: Place, elements: Elements) -> tuple[Inertial, ...]:
    inertial = elements.one(element, "inertial", place)
    if inertial is None:
        return ()
    here = place.at(f"{place.element}: inertial", inertial.sourceline)
    elements.check(inertial, here)
    mass, tensor = elements.one(inertial, "mass", here), elements.one(inertial, "inertia", here)
    for name, found in (("mass", mass), ("inertia", tensor)):
        if found is None:
            raise here.error(
                f"<{name}> is missing",
                f"add <{name} …/>, or remove <inertial> if the link is massless",
            )
    at_mass = here.at(f"{here.element}: mass", mass.sourceline)
    at_tensor = here.at(f"{here.element}: inertia", tensor.sourceline)
    elements.check(mass, at_mass)
    elements.check(tensor, at_tensor)
    moments = tuple(elements.number(tensor, name, at_tensor) for name in _MOMENTS)
    value = elements.number(mass, "value", at_mass)
    if not value and not any(moments):  # the place of a massless inertial is in no answer
        return (Inertial(value, moments, (), at_mass),)
    return (Inertial(value, moments, elements.origin(inertial, here), at_mass),)


def _connection(element: Any, elements: Elements, transmissions: dict[str, Said]) -> Connection:
    place = elements.place(element)
    elements.check(element, place)
    name, kind = elements.text(element, "name", place), elements.text(element, "type", place)
    kind = _IN_OTHER_WORDS.get(kind, kind)
    ends = []
    for role in ("parent", "child"):
        end = elements.one(element, role, place)
        if end is None:
            raise place.error(f"<{role}> is missing", f'add <{role} link="…"/>')
        here = place.at(f"{place.element}: {role}", end.sourceline)
        elements.check(end, here)
        ends.append(elements.text(end, "link", here))
    axis = X_AXIS
    declared = elements.one(element, "axis", place) if kind in _ALONG_AN_AXIS else None
    if declared is not None:
        here = place.at(f"{place.element}: axis", declared.sourceline)
        elements.check(declared, here)
        axis = elements.vector(declared, "xyz", here)
        if not any(axis):
            raise here.error("the axis is zero", 'give it a direction, for example xyz="0 0 1"')
    if kind == "planar" and axis != Z_AXIS:
        raise place.error(
            f"its axis is {' '.join(f'{float(x):g}' for x in axis)}, and symgen's planar joints have their plane's "
            "normal along z",
            'turn its origin and write <axis xyz="0 0 1"/>',
        )
    axis = Z_AXIS if kind in kinds() and not joint_type(kind).directed else axis
    origin = elements.origin(element, place)
    if kind == "fixed":
        return Connection(name, kind, ends[0], ends[1], origin, axis, place=place)
    limits, (mimic, unsure) = (
        _limits(element, kind, place, elements),
        _mimic(element, place, elements),
    )
    said = _dynamics(element, place, elements) + transmissions.get(name, Said())
    return Connection(
        name,
        kind,
        ends[0],
        ends[1],
        origin,
        axis,
        limits,
        mimic,
        said.numbers,
        place,
        unsure=unsure,
        drive=said.drive,
        read_from=said.read_from,
        faults=said.faulty,
    )


def _limits(element: Any, kind: str, place: Place, elements: Elements) -> Limits:
    """Read the limits of a joint; of a joint of several coordinates none."""
    declared = elements.first(element, "limit", place)
    of_type = joint_type(kind) if kind in kinds() else None
    ranged = of_type is None or (of_type.limited and of_type.nq == 1)
    if declared is None:
        if of_type is not None and ranged:
            elements.note("info", place, "declares no <limit>; read without limits")
        return Limits()
    here = place.at(f"{place.element}: limit", declared.sourceline)
    elements.check(declared, here)
    if of_type is not None and of_type.nq > 1:
        elements.note(
            "info", here, f"a {kind} joint has {of_type.nq} coordinates; its limits are left out"
        )
        return Limits()
    lower, upper = (
        _limit(declared, end, "warning" if ranged else "info", here, elements)
        for end in ("lower", "upper")
    )
    velocity, effort = (
        _limit(declared, bound, "info", here, elements) for bound in ("velocity", "effort")
    )
    if ranged:
        turns = of_type is not None and of_type.turns
        _remark_on_range(declared, (lower, upper), turns, here, elements)
    return Limits(lower, upper, velocity, effort)


def _limit(
    declared: Any, attribute: str, note_kind: str, place: Place, elements: Elements
) -> Fraction | None:
    """Read one limit; None where it is absent, infinite or malformed."""
    token = declared.get(attribute)
    if token is None or token.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return None
    value = elements.spare(
        lambda: elements.number(declared, attribute, place), None, note_kind, "read as no limit"
    )
    return None if value is not None and abs(value) >= _NO_LIMIT else value


def _remark_on_range(
    declared: Any,
    ends: tuple[Fraction | None, Fraction | None],
    turns: bool,
    place: Place,
    elements: Elements,
) -> None:
    """Warn of a range whose ends are swapped, or seem to be in degrees."""
    lower, upper = ends
    span = shown(f"{declared.get('lower')} … {declared.get('upper')}")
    if lower is not None and upper is not None and lower > upper:
        elements.note("warning", place, f"in {span} the lower limit is above the upper one")
    far = any(end is not None and 2 * FULL_TURN < abs(end) <= 720 for end in ends)
    if turns and far:
        elements.note(
            "warning",
            place,
            f"{span} exceeds two full turns: are these degrees? URDF means radians",
        )


def _mimic(element: Any, place: Place, elements: Elements) -> tuple[Mimic | None, str]:
    """What is declared, and what of it cannot be read."""
    declared = elements.first(element, "mimic", place)
    if declared is None:
        return None, ""
    here = place.at(f"{place.element}: mimic", declared.sourceline)
    elements.check(declared, here)
    unsure: list[str] = []

    def factor(attribute: str, absent: int) -> Fraction:
        if declared.get(attribute) is None:
            return Fraction(absent)

        def read() -> Fraction:
            try:
                return elements.number(declared, attribute, here)
            except DescriptionError as error:
                unsure.append(f"in its {attribute} {error.what}")
                raise

        return elements.spare(
            read, Fraction(absent), "warning", f"shown as {absent}; no coupling is applied"
        )

    joint = elements.spare(
        lambda: elements.text(declared, "joint", here), "", "warning", "the coupling is left out"
    )
    found = Mimic(joint, factor("multiplier", 1), factor("offset", 0)) if joint else None
    return found, "; ".join(unsure)


# -- drives --
#
# Formats that people have, each as its own reader takes it:
#
#     <dynamics damping friction>, and in some files armature or rotor_inertia beside them,
#     <transmission> with mechanicalReduction and, seldom, motorInertia: texts,
#     the same with <drake:gear_ratio value=""/> and <drake:rotor_inertia value=""/> at its actuator, Drake's.
#
# A rotor of inertia J behind a gear of ratio n is an armature of n²·J. It takes one J and at most one n: the ratios of a
# differential, whose joints share motors, make no diagonal.


def _dynamics(element: Any, place: Place, elements: Elements) -> Said:
    """Damping, friction and rotor data that the joint declares and that are not zero."""
    declared = elements.first(element, "dynamics", place)
    if declared is None:
        return Said()
    here = place.at(f"{place.element}: dynamics", declared.sourceline)
    elements.check(declared, here)
    found, faults = [], []
    for name in ATTRIBUTES:
        if declared.get(name) is not None:
            value, fault = elements.of_drive(
                partial(elements.number, declared, name, here), Fraction(0)
            )
            found += [(name, value)] if value else []
            faults += [(name, fault)] if fault else []
    return Said(tuple(found), tuple(faults))


def _transmission(element: Any, elements: Elements) -> dict[str, Said]:
    """Read the rotor data of a transmission, under the name of each joint that it drives."""
    place = elements.place(element)
    numbers, faults = _rotor_data(element, place, elements)
    # The same ratio can stand at the joint and at its motor; two joints driven by one differential have two ratios.
    different = list(dict.fromkeys(numbers))
    if len(different) > MOST_ROTORS:
        elements.note(
            "info",
            place,
            f"of its {len(different)} ratios and inertias the first {MOST_ROTORS} are shown",
        )
    data = Said(_counted(different[:MOST_ROTORS]), tuple(faults))
    if not data.numbers and not data.faults:
        return {}
    joints = {joint.get("name") for joint in element.iter("{*}joint")}
    return {name: data for name in joints if name}


def _rotor_data(
    element: Any, place: Place, elements: Elements
) -> tuple[list[tuple[str, Fraction]], list[tuple[str, DescriptionError]]]:
    """Read all gear ratios and rotor inertias inside a transmission, and what is wrong with those that are malformed."""
    numbers, faults = [], []
    inside = [item for item in element.iter() if isinstance(item.tag, str)]
    for kind, name, neutral in OF_TRANSMISSIONS:
        for item in inside:
            if tag(item).rpartition(":")[2] != kind:
                continue
            here = place.at(f"{place.element}: {kind}", item.sourceline)
            text = item.text or "" if item.get("value") is None else item.get("value")
            value, fault = elements.of_drive(partial(number, text, here), Fraction(neutral))
            numbers += [(name, value)] if value != neutral else []
            faults += [(name, fault)] if fault else []
    return numbers, faults


def _counted(numbers: Iterable[tuple[str, Fraction]]) -> tuple[tuple[str, Fraction], ...]:
    """Put a count behind each name from its second use on: "gear ratio", "gear ratio 2"."""
    count: Counter[str] = Counter()
    counted = []
    for name, value in numbers:
        count[name] += 1
        counted.append((f"{name} {count[name]}" if count[name] > 1 else name, value))
    return tuple(counted)


ATTRIBUTES = ("damping", "friction", "armature", "rotor_inertia")
"""Attributes of <dynamics>."""
OF_TRANSMISSIONS = (
    ("mechanicalReduction", "gear ratio", 1),
    ("gear_ratio", "gear ratio", 1),
    ("motorInertia", "rotor inertia", 0),
    ("rotor_inertia", "rotor inertia", 0),
)
"""(element, what it is called, the number that says nothing)."""
_KINDS = {"damping": "damping", "friction": "friction"}


@dataclass(frozen=True)
class Said:
    """Numbers by name, as they are reported where they are not applied; `faults` of those that are malformed, by name."""

    numbers: tuple[tuple[str, Fraction], ...] = ()
    faults: tuple[tuple[str, DescriptionError], ...] = ()

    def __add__(self, other: Said) -> Said:
        return Said((*self.numbers, *other.numbers), (*self.faults, *other.faults))

    @property
    def drive(self) -> Drive:
        """Return the drive of these numbers."""
        plain: dict[str, Any] = {name: value for name, value in self.numbers if name in _KINDS}
        return Drive(**plain, armature=self._armature)

    @property
    def read_from(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """For each kind of drive, the names of the numbers that it was made of."""
        made = [(kind, (kind,)) for kind, _ in self.drive.declared if kind in _KINDS]
        declared = any(name == "armature" for name, _ in self.numbers)
        rotor = tuple(
            name
            for name, _ in self.numbers
            if _is(name, "rotor inertia") or _is(name, "gear ratio")
        )
        return (
            *made,
            *([("armature", ("armature",) if declared else rotor)] if self._armature else []),
        )

    @property
    def faulty(self) -> tuple[tuple[str, DescriptionError], ...]:
        """By kind of drive; of a gear only where there is a rotor behind it."""
        rotor = any(_is(name, "rotor inertia") for name, _ in (*self.numbers, *self.faults))
        return tuple(
            (_KINDS.get(name, "armature"), fault)
            for name, fault in self.faults
            if rotor or not _is(name, "gear ratio")
        )

    @property
    def _armature(self) -> Fraction:
        declared = [value for name, value in self.numbers if name == "armature"]
        if declared:
            return declared[0]
        rotors, ratios = (
            [value for name, value in self.numbers if _is(name, what)]
            for what in ("rotor inertia", "gear ratio")
        )
        if len(rotors) != 1 or len(ratios) > 1:
            return Fraction(0)
        found = rotors[0] * ratios[0] ** 2 if ratios else rotors[0]
        return found if is_writable(found) else Fraction(0)


def _is(name: str, what: str) -> bool:
    """True if a name is that one, or that one with a number from the second on."""
    stem, _, count = name.rpartition(" ")
    return name.replace("_", " ") == what or (stem == what and count.isdigit())


# -- vocabulary --


_LOOP = "symgen does not read it from a URDF", "write the robot in TOML, where a [[loop]] closes it"
_DRAKE = (
    "it is a joint of Drake's own, which URDF has not",
    "write it as a <joint> of URDF, or the robot in TOML",
)
_MISPLACED = "it stands at a <link>, where nothing reads it", "move it into the link's <inertial>"
_PLACE = (
    "the place of a link or joint is not given so in a URDF",
    'write <origin xyz="x y z" rpy="roll pitch yaw"/>',
)
_OF_DYNAMICS = (
    "it stands at a <joint>, where nothing reads it",
    'write <dynamics damping="…" friction="…"/>',
)
_PLACES = dict.fromkeys(
    ("orientation", "pose", "position", "rotation", "rpy", "transform", "translation", "xyz"),
    _PLACE,
)
_WEIGHTS = dict.fromkeys(("mass", "inertia"), _MISPLACED)
_DRIVES = dict.fromkeys(("damping", "friction"), _OF_DYNAMICS)


def _closed(*names: str, passes: tuple[str, ...] = ()) -> Kind:
    """An element without children whose attributes decide the dynamics."""
    return Kind(Words(names, passes, closed=True), Words(closed=True))


KINDS = {
    "robot": Kind(
        Words(("name", "version")),
        Words(
            ("link", "joint", "transmission"),
            ("material", "gazebo", "sensor", "ros2_control"),
            refused={
                "loop": (f"a <loop> of URDF+ closes a kinematic loop, and {_LOOP[0]}", _LOOP[1]),
                "loop_joint": (f"a <loop_joint> closes a kinematic loop, and {_LOOP[0]}", _LOOP[1]),
                "constraint": (
                    f"a <constraint> of URDF+ closes a kinematic loop, and {_LOOP[0]}",
                    _LOOP[1],
                ),
                "coupling": (
                    f"a <coupling> of URDF+ ties joints together, and {_LOOP[0]}",
                    "write <mimic> at the joint that follows, or a [[loop]] in TOML",
                ),
                "drake:joint": _DRAKE,
            },
        ),
    ),
    "link": Kind(
        Words(("name",), ("type",), refused=_WEIGHTS | _PLACES),
        Words(
            ("inertial",),
            (
                "visual",
                "collision",
                "collision_checking",
                "contact",
                "self_collision_checking",
                "self_filter",
                "sensor",
                "surface",
            ),
            refused=_WEIGHTS | _PLACES,
        ),
    ),
    "inertial": Kind(Words(closed=True), Words(("origin", "mass", "inertia"), closed=True)),
    "origin": _closed("xyz", "rpy", "quat_xyzw"),
    "mass": _closed("value"),
    "inertia": _closed("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "joint": Kind(
        Words(("name", "type"), ("dont_collapse",), refused=_PLACES | _DRIVES),
        Words(
            ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics"),
            ("calibration", "safety_controller"),
            refused=_PLACES | _DRIVES,
        ),
    ),
    "parent": _closed("link"),
    "child": _closed("link"),
    "axis": _closed("xyz", passes=("rpy",)),
    "mimic": _closed("joint", "multiplier", "offset"),
    "limit": Kind(
        Words(
            ("lower", "upper", "velocity", "effort"),
            ("acceleration", "deceleration", "jerk", "command_effort", "current", "gear_velocity"),
        )
    ),
    "dynamics": Kind(Words(ATTRIBUTES, ("D", "K", "mu_coulomb", "mu_viscous"))),
}
"""Element -> what it may hold. `K` to `mu_viscous` are the controller's numbers in the files of one maker."""


FULL_TURN = 6.2831854
QUATERNIONS_SINCE = (1, 1)
"""The version from which `quat_xyzw` counts."""
_VERSIONS = ((1, 0), (1, 1), (1, 2))
_VERSION = re.compile(r"\s*([0-9]{1,4})\.([0-9]{1,4})\s*", re.ASCII)
Read = TypeVar("Read")


class Elements:
    """Reads attributes with their place; collects notes and snaps of one file.

    `expandable`: True if the package xacro is there to expand macros. Calls of macros that the text does not define are left out.
    """

    def __init__(
        self, file: str, root: Any, snapper: Snapper, notes: list[Note], expandable: bool
    ) -> None:
        self.file, self.snapper, self.expandable = file, snapper, expandable
        self.unread = Unread("a URDF")
        self._notes = notes
        self._left_out = set(macros.undefined_calls(root))
        self.version = self._version(root)

    @property
    def notes(self) -> list[Note]:
        """All notes, those on what is left out last."""
        return [*self._notes, *self.unread.notes()]

    def macros(self, place: Place) -> Exception:
        """Return the exception to raise where macros stand."""
        return macros.Macros() if self.expandable else macros.unexpanded(place)

    def note(self, kind: str, place: Place, text: str) -> None:
        """One more note about a place."""
        self._notes.append(Note(kind, f"{place.short}: {text}"))

    def spare(self, read: Callable[[], Read], instead: Read, kind: str, consequence: str) -> Read:
        """Return what `read` gives, or `instead` and a note where the text is malformed. No answer depends on such numbers."""
        try:
            return read()
        except DescriptionError as error:
            self.note(
                kind, Place(error.file, error.line, error.element), f"{error.what}; {consequence}"
            )
            return instead

    def of_drive(
        self, read: Callable[[], Fraction], nothing: Fraction
    ) -> tuple[Fraction, DescriptionError | None]:
        """A number of a drive, or `nothing` and what is wrong with it: a refusal where it is to be applied, else a note."""
        try:
            return read(), None
        except DescriptionError as error:
            self.note(
                "info",
                Place(error.file, error.line, error.element),
                f"{error.what}; it would not be applied",
            )
            return nothing, error

    def place(self, element: Any, inside: str = "") -> Place:
        name = element.get("name")
        label = full_name(element) + (f" {shown(name)}" if name is not None else "")
        return Place(self.file, element.sourceline, f"{inside}: {label}" if inside else label)

    def check(self, element: Any, place: Place) -> None:
        """Refuse what an element holds that is not read and would change the robot; note what else is left out."""
        name = full_name(element)
        kind = KINDS[name]
        self.unread.check(kind, name, element.attrib, place)
        for child in self.children(element, place):
            if full_name(child) not in kind.children:
                self.unread.child(
                    kind,
                    name,
                    full_name(child),
                    self.place(child, place.element if name != "robot" else ""),
                )
        self.unread.words(kind, name, loose_text(element), place)

    def children(self, element: Any, place: Place) -> Iterator[Any]:
        """Yield the elements inside, without undefined calls of macros. Raises Macros, or a refusal, at any other macro."""
        for child in element:
            if not isinstance(child.tag, str):
                continue
            if not is_xacro(child):
                yield child
            elif child in self._left_out:
                self.leave_out_call(child)
            else:
                raise self.macros(self.place(child, place.element))

    def leave_out_call(self, element: Any) -> None:
        """Note that a call of a macro is left out."""
        name = tag(element).rpartition(":")[2]
        self.unread.leave_out(
            f"<xacro:{name}> calls a macro that the file does not define, and is left out",
            self.place(element),
        )

    def text(self, element: Any, attribute: str, place: Place) -> str:
        value = element.get(attribute)
        if value is None:
            raise place.error(f"the attribute '{attribute}' is missing", f'write {attribute}="…"')
        if "${" in value or "$(" in value:
            raise self.macros(place)
        return str(value)

    def number(self, element: Any, attribute: str, place: Place) -> Fraction:
        return number(
            self.text(element, attribute, place), place.at(f"{place.element} {attribute}")
        )

    def tokens(self, element: Any, attribute: str, place: Place, size: str = "three") -> list[str]:
        """The three or four numbers of an attribute as they are written, each a plain decimal: URDF knows no `pi/2`."""
        text = self.text(element, attribute, place)
        tokens = text.split()
        if "," in text:
            raise place.error(
                f"{attribute} {shown(text)} has commas", f"write {size} numbers separated by spaces"
            )
        if len(tokens) != {"three": 3, "four": 4}[size]:
            raise place.error(
                f"{attribute} has {len(tokens)} numbers ({shown(' '.join(tokens))})",
                f"write {size} numbers separated by spaces",
            )
        for token in tokens:
            number(token, place.at(f"{place.element} {attribute}"))
        return tokens

    def vector(self, element: Any, attribute: str, place: Place) -> Vector3:
        x, y, z = map(number, self.tokens(element, attribute, place))
        return x, y, z

    def one(self, parent: Any, name: str, place: Place) -> Any:
        """The one child of that name, or None. A second one with the same content is a remark.

        A second inertial, mass or inertia is refused, since they may be meant to add.
        """
        named = [child for child in self.children(parent, place) if full_name(child) == name]
        for again in named[1:]:
            here = place.at(place.element, again.sourceline)
            if name in ("inertial", "mass", "inertia") or not alike(named[0], again):
                raise here.error(f"<{name}> stands twice", "keep one of the two")
            self.note("info", here, f"<{name}> stands twice and says the same; read once")
        return named[0] if named else None

    def first(self, parent: Any, name: str, place: Place) -> Any:
        """The first child of that name, as the field's readers take it. This is for elements that no answer depends on."""
        named = [child for child in self.children(parent, place) if full_name(child) == name]
        if any(not alike(named[0], again) for again in named[1:]):
            self.note(
                "warning",
                place.at(place.element, named[1].sourceline),
                f"<{name}> stands twice; the first one is read",
            )
        return named[0] if named else None

    def origin(self, parent: Any, place: Place) -> Pose:
        """The pose that `origin` says: a shift, and a turn by `rpy` or, from version 1.1, by `quat_xyzw`."""
        element = self.one(parent, "origin", place)
        if element is None:
            return ()
        here = place.at(f"{place.element}: origin", element.sourceline)
        self.check(element, here)
        xyz = self.vector(element, "xyz", here) if element.get("xyz") is not None else ZERO3
        if element.get("quat_xyzw") is not None:
            if self.version < QUATERNIONS_SINCE:
                self.unread.leave_out(
                    "quat_xyzw counts from version 1.1 of URDF and is left out",
                    here,
                    'write <robot version="1.1" …> if it is meant',
                )
            elif element.get("rpy") is not None:
                raise here.error("it is turned by rpy and by quat_xyzw", "keep one of the two")
            else:
                return self._turned(xyz, element, here)
        rpy = (Angle(), Angle(), Angle())
        if element.get("rpy") is not None:
            roll, pitch, yaw = (
                self.snapper.angle(t, here.at(f"{here.element} rpy"))
                for t in self.tokens(element, "rpy", here)
            )
            rpy = roll, pitch, yaw
            if max(abs(float(a)) for a in rpy) > FULL_TURN:
                self.note(
                    "warning",
                    here,
                    f"rpy {shown(element.get('rpy'))} exceeds a full turn: are these degrees? "
                    "URDF means radians",
                )
        return pose(xyz, rpy)

    def _turned(self, xyz: Vector3, element: Any, place: Place) -> Pose:
        """A shift, and the turn of a quaternion of any length. One of length zero is no turn, as in urdfdom."""
        x, y, z, w = self.tokens(element, "quat_xyzw", place, "four")
        if not any(map(number, (x, y, z, w))):
            self.note("warning", place, "its quat_xyzw is zero, and is read as no turn")
            return compose((Shift(xyz),))
        return compose(
            (
                Shift(xyz),
                Rotate(
                    self.snapper.quaternion((w, x, y, z), place.at(f"{place.element} quat_xyzw"))
                ),
            )
        )

    def _version(self, root: Any) -> tuple[int, int]:
        """The version that the root says; 1.0 without one. DescriptionError: there is no such version."""
        said = root.get("version")
        if said is None:
            return _VERSIONS[0]
        match = _VERSION.fullmatch(said)
        version = (int(match[1]), int(match[2])) if match is not None else None
        if version not in _VERSIONS:
            known = ", ".join(f"{major}.{minor}" for major, minor in _VERSIONS)
            raise self.place(root).error(
                f"{shown(said)} is no version of URDF (versions: {known})",
                "write one of them, or leave it out, which means 1.0",
            )
        return version
