"""URDF (https://wiki.ros.org/urdf/XML): links, joints and inertias. Geometry, materials and plugins
are ignored.

The reader follows the specification and Pinocchio. An absent `origin` is the identity, an absent
`axis` is (1, 0, 0), and an absent `inertial` means massless. The inertia tensor is about the centre
of mass, in the axes of the inertial's own `origin` (with its rpy). A `continuous` joint has one
coordinate, and a root link is fixed to the world. A file that lacks a required value (mass, one of
the six moments, a parent) is refused; the value is never assumed to be zero.

An error in a number that affects no result is only a note: limits, couplings, the inertia of a
fixed link, damping and gear ratios that are not applied.

The vocabulary is that of the specification, of urdfdom 6 (versions 1.0 to 1.2), and of public
files: tags of Gazebo, PyBullet, ros_control and single vendors, none of which describes rigid
bodies.
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

from symgen.description.asking import NO_OPTIONS, FileOptions, refuse_unused_options
from symgen.description.parsing import macros
from symgen.description.parsing.foreign import by_root
from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.parsing.xml import (
    are_equal,
    full_name,
    is_xacro,
    loose_text,
    parse,
    tag,
    text_of,
    text_without,
)
from symgen.description.quantities import Location, is_writable, number, quote
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
"""Largest number of ratios and rotor inertias of one transmission that are shown, at each of its
joints. They affect no result.
"""
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_NO_LIMIT = 10**300
"""Printed instead of no limit, since URDF requires a number and has no infinity: the largest
double, or 1e308.
"""
_ALONG_AN_AXIS = ("revolute", "continuous", "prismatic", "planar")
_JOINT_TYPES = {"floating": "free"}
"""URDF's names of joint types that symgen names differently."""


def read(data: bytes, file: str, snapper: Snapper, options: FileOptions = NO_OPTIONS) -> Tree:
    """Return the links and joints that the URDF text `data` declares. DescriptionError names file,
    line and element.

    A xacro file (https://github.com/ros/xacro/wiki) is expanded by the package xacro, and so is a
    URDF with macros if the package is installed. Lines are then those of the expanded text.
    """
    if file.lower().endswith(".xacro"):
        if not macros.available():
            raise macros.expansion_error(Location(file))
        return _read_expanded(data, file, snapper, options, finished=False)
    snaps = len(snapper.snaps)
    try:
        tree = _read_plain(data, file, snapper, macros.available())
    except macros.Macros:
        del snapper.snaps[snaps:]
        return _read_expanded(data, file, snapper, options, finished=True)
    refuse_unused_options(options, (), file)
    return tree


def _read_expanded(
    data: bytes, file: str, snapper: Snapper, options: FileOptions, finished: bool
) -> Tree:
    """Return the tree of the expanded macros in `data`. The hash of the description is that of the
    expanded text.

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
    text, remarks = macros.expand_macros(source, file, options)
    tree = _read_plain(text.encode(), f"{file} (expanded)", snapper, False)
    return replace(
        tree,
        notes=(*notes, *remarks, *tree.notes),
        read_sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _read_plain(data: bytes, file: str, snapper: Snapper, expandable: bool) -> Tree:
    """Return the tree of a URDF. Macros raise `Macros` if they are `expandable`, else the error
    that refuses them.
    """
    root, notes = parse(data, file)
    if is_xacro(root):
        raise (
            macros.Macros()
            if expandable
            else macros.expansion_error(Location(file, root.sourceline))
        )
    if full_name(root) != "robot":
        raise Location(file, root.sourceline).error(
            *by_root(tag(root))
            or (f"the root element is {quote(full_name(root))}, not 'robot'", "give a URDF file")
        )
    elements = Elements(file, root, snapper, notes, expandable)
    location = elements.location(root)
    children = list(elements.children(root, location))
    elements.check(root, location)
    joints = [element for element in children if full_name(element) == "joint"]
    is_fixed = _fixed_links(joints)
    links = [
        _link(element, elements, is_fixed) for element in children if full_name(element) == "link"
    ]
    transmissions: dict[str, DriveData] = {}
    for element in children:
        if full_name(element) == "transmission":
            transmissions.update(_transmission(element, elements))
    connections = tuple(_connection(element, elements, transmissions) for element in joints)
    return Tree(
        root.get("name", "").strip(),
        tuple(links),
        connections,
        notes=tuple(elements.notes),
        location=Location(file),
        drives_apply=False,
    )


def _fixed_links(joints: Iterable[Any]) -> Callable[[str | None], bool]:
    """Return a predicate: True for a link that is fixed, because only fixed joints lead from the
    root to it.
    """
    joint_above: dict[str, tuple[str, bool]] = {}
    for joint in joints:
        link_of_role = {
            full_name(child): child.get("link")
            for child in joint
            if isinstance(child.tag, str) and full_name(child) in ("parent", "child")
        }
        joint_above[str(link_of_role.get("child"))] = (
            str(link_of_role.get("parent")),
            joint.get("type") == "fixed",
        )

    verdicts: dict[str, bool] = {}

    def still(link: str | None) -> bool:
        link_name, path, verdict = str(link), list[str](), False
        while link_name in joint_above and link_name not in verdicts:
            verdicts[link_name] = False  # a cycle of joints contains no root
            path.append(link_name)
            link_name, fixed = joint_above[link_name]
            if not fixed:
                break
        else:
            verdict = verdicts.get(link_name, True)
        verdicts.update(dict.fromkeys(path, verdict))
        return verdicts.get(str(link), verdict)

    return still


def _link(element: Any, elements: Elements, is_fixed: Callable[[str | None], bool]) -> Link:
    """Return a link with its inertias."""
    location = elements.location(element)
    name = elements.text(element, "name", location)

    def inertials() -> tuple[Inertial, ...]:
        elements.check(element, location)
        return _inertials(element, location, elements)

    if is_fixed(name):  # its inertia affects no result
        return Link(
            name,
            elements.read_or_note(
                inertials, (), "warning", "its inertia is left out: the link is fixed"
            ),
            location,
        )
    return Link(name, inertials(), location)


def _inertials(element: Any, location: Location, elements: Elements) -> tuple[Inertial, ...]:
    """Return the inertia of a link; empty without one."""
    inertial = elements.only_child(element, "inertial", location)
    if inertial is None:
        return ()
    inertial_location = location.at(f"{location.element}: inertial", inertial.sourceline)
    elements.check(inertial, inertial_location)
    mass, tensor = (
        elements.only_child(inertial, "mass", inertial_location),
        elements.only_child(inertial, "inertia", inertial_location),
    )
    for name, child in (("mass", mass), ("inertia", tensor)):
        if child is None:
            raise inertial_location.error(
                f"<{name}> is missing",
                f"add <{name} …/>, or remove <inertial> if the link is massless",
            )
    mass_location = inertial_location.at(f"{inertial_location.element}: mass", mass.sourceline)
    tensor_location = inertial_location.at(
        f"{inertial_location.element}: inertia", tensor.sourceline
    )
    elements.check(mass, mass_location)
    elements.check(tensor, tensor_location)
    moments = tuple(elements.number(tensor, name, tensor_location) for name in _MOMENTS)
    value = elements.number(mass, "value", mass_location)
    if not value and not any(moments):  # the pose of a massless inertial affects no result
        return (Inertial(value, moments, (), mass_location),)
    return (Inertial(value, moments, elements.origin(inertial, inertial_location), mass_location),)


def _connection(
    element: Any, elements: Elements, transmissions: dict[str, DriveData]
) -> Connection:
    """Return a joint."""
    location = elements.location(element)
    elements.check(element, location)
    name, kind = elements.text(element, "name", location), elements.text(element, "type", location)
    kind = _JOINT_TYPES.get(kind, kind)
    link_names = []
    for role in ("parent", "child"):
        end = elements.only_child(element, role, location)
        if end is None:
            raise location.error(f"<{role}> is missing", f'add <{role} link="…"/>')
        element_location = location.at(f"{location.element}: {role}", end.sourceline)
        elements.check(end, element_location)
        link_names.append(elements.text(end, "link", element_location))
    axis = X_AXIS
    declared = elements.only_child(element, "axis", location) if kind in _ALONG_AN_AXIS else None
    if declared is not None:
        element_location = location.at(f"{location.element}: axis", declared.sourceline)
        elements.check(declared, element_location)
        axis = elements.vector(declared, "xyz", element_location)
        if not any(axis):
            raise element_location.error(
                "the axis is zero", 'give a nonzero axis, such as xyz="0 0 1"'
            )
    if kind == "planar" and axis != Z_AXIS:
        raise location.error(
            f"its axis is {' '.join(f'{float(x):g}' for x in axis)}, but the normal of a planar joint must be the z axis",
            'rotate its origin and write <axis xyz="0 0 1"/>',
        )
    axis = Z_AXIS if kind in kinds() and not joint_type(kind).directed else axis
    origin = elements.origin(element, location)
    if kind == "fixed":
        return Connection(name, kind, link_names[0], link_names[1], origin, axis, location=location)
    limits, (mimic, unsure) = (
        _limits(element, kind, location, elements),
        _mimic(element, location, elements),
    )
    data = _dynamics(element, location, elements) + transmissions.get(name, DriveData())
    return Connection(
        name,
        kind,
        link_names[0],
        link_names[1],
        origin,
        axis,
        limits,
        mimic,
        data.numbers,
        location,
        unsure=unsure,
        drive=data.drive,
        read_from=data.read_from,
        faults=data.faults_by_kind,
    )


def _limits(element: Any, kind: str, location: Location, elements: Elements) -> Limits:
    """Return the limits of a joint; none for a joint of several coordinates."""
    declared = elements.first_child(element, "limit", location)
    of_type = joint_type(kind) if kind in kinds() else None
    ranged = of_type is None or (of_type.limited and of_type.nq == 1)
    if declared is None:
        if of_type is not None and ranged:
            elements.note("info", location, "declares no <limit>; read without limits")
        return Limits()
    limit_location = location.at(f"{location.element}: limit", declared.sourceline)
    elements.check(declared, limit_location)
    if of_type is not None and of_type.nq > 1:
        elements.note(
            "info",
            limit_location,
            f"a {kind} joint has {of_type.nq} coordinates; its limits are left out",
        )
        return Limits()
    lower, upper = (
        _limit(declared, end, "warning" if ranged else "info", limit_location, elements)
        for end in ("lower", "upper")
    )
    velocity, effort = (
        _limit(declared, bound, "info", limit_location, elements)
        for bound in ("velocity", "effort")
    )
    if ranged:
        turns = of_type is not None and of_type.turns
        _remark_on_range(declared, (lower, upper), turns, limit_location, elements)
    return Limits(lower, upper, velocity, effort)


def _limit(
    declared: Any, attribute: str, note_kind: str, location: Location, elements: Elements
) -> Fraction | None:
    """Return one limit; None if it is absent, infinite or malformed."""
    token = declared.get(attribute)
    if token is None or token.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return None
    value = elements.read_or_note(
        lambda: elements.number(declared, attribute, location), None, note_kind, "read as no limit"
    )
    return None if value is not None and abs(value) >= _NO_LIMIT else value


def _remark_on_range(
    declared: Any,
    limits: tuple[Fraction | None, Fraction | None],
    turns: bool,
    location: Location,
    elements: Elements,
) -> None:
    """Warn of a range whose ends are swapped, or seem to be in degrees."""
    lower, upper = limits
    span = quote(f"{declared.get('lower')} … {declared.get('upper')}")
    if lower is not None and upper is not None and lower > upper:
        elements.note("warning", location, f"the lower limit is above the upper limit in {span}")
    far = any(end is not None and 2 * FULL_TURN < abs(end) <= 720 for end in limits)
    if turns and far:
        elements.note(
            "warning",
            location,
            f"{span} exceeds two full turns: URDF uses radians, not degrees",
        )


def _mimic(element: Any, location: Location, elements: Elements) -> tuple[Mimic | None, str]:
    """Return the declared mimic relation, and a description of its unreadable numbers."""
    declared = elements.first_child(element, "mimic", location)
    if declared is None:
        return None, ""
    mimic_location = location.at(f"{location.element}: mimic", declared.sourceline)
    elements.check(declared, mimic_location)
    unsure: list[str] = []

    def factor(attribute: str, absent: int) -> Fraction:
        if declared.get(attribute) is None:
            return Fraction(absent)

        def read() -> Fraction:
            try:
                return elements.number(declared, attribute, mimic_location)
            except DescriptionError as error:
                unsure.append(f"in its {attribute} {error.what}")
                raise

        return elements.read_or_note(
            read, Fraction(absent), "warning", f"read as {absent}; no coupling is applied"
        )

    joint = elements.read_or_note(
        lambda: elements.text(declared, "joint", mimic_location),
        "",
        "warning",
        "the coupling is left out",
    )
    mimic = Mimic(joint, factor("multiplier", 1), factor("offset", 0)) if joint else None
    return mimic, "; ".join(unsure)


# -- drives --
#
# Forms in public files, as their own readers interpret them:
#
#     <dynamics damping friction>, in some files with armature or rotor_inertia,
#     <transmission> with mechanicalReduction and, rarely, motorInertia, as text,
#     <transmission> with <drake:gear_ratio value=""/> and <drake:rotor_inertia value=""/> (Drake).
#
# A rotor of inertia J behind a gear of ratio n is an armature of n²·J. It needs one J and at most
# one n: the ratios of a differential, whose joints share motors, give no diagonal matrix.


def _dynamics(element: Any, location: Location, elements: Elements) -> DriveData:
    """Return nonzero damping, friction and rotor data that the joint declares."""
    declared = elements.first_child(element, "dynamics", location)
    if declared is None:
        return DriveData()
    dynamics_location = location.at(f"{location.element}: dynamics", declared.sourceline)
    elements.check(declared, dynamics_location)
    numbers, faults = [], []
    for name in ATTRIBUTES:
        if declared.get(name) is not None:
            value, fault = elements.drive_number(
                partial(elements.number, declared, name, dynamics_location), Fraction(0)
            )
            numbers += [(name, value)] if value else []
            faults += [(name, fault)] if fault else []
    return DriveData(tuple(numbers), tuple(faults))


def _transmission(element: Any, elements: Elements) -> dict[str, DriveData]:
    """Return the rotor data of a transmission, by the name of each joint that it drives."""
    location = elements.location(element)
    numbers, faults = _rotor_data(element, location, elements)
    # A joint and its motor can declare the same ratio; two joints of a differential have two ratios.
    different = list(dict.fromkeys(numbers))
    if len(different) > MOST_ROTORS:
        elements.note(
            "info",
            location,
            f"only the first {MOST_ROTORS} of its {len(different)} ratios and inertias are shown",
        )
    data = DriveData(_with_counts(different[:MOST_ROTORS]), tuple(faults))
    if not data.numbers and not data.faults:
        return {}
    joints = {joint.get("name") for joint in element.iter("{*}joint")}
    return {name: data for name in joints if name}


def _rotor_data(
    element: Any, location: Location, elements: Elements
) -> tuple[list[tuple[str, Fraction]], list[tuple[str, DescriptionError]]]:
    """Return all gear ratios and rotor inertias in a transmission, and the errors of malformed
    ones.
    """
    numbers, faults = [], []
    inside = [item for item in element.iter() if isinstance(item.tag, str)]
    for kind, name, neutral in TRANSMISSION_NUMBERS:
        for item in inside:
            if tag(item).rpartition(":")[2] != kind:
                continue
            number_location = location.at(f"{location.element}: {kind}", item.sourceline)
            text = item.text or "" if item.get("value") is None else item.get("value")
            value, fault = elements.drive_number(
                partial(number, text, number_location), Fraction(neutral)
            )
            numbers += [(name, value)] if value != neutral else []
            faults += [(name, fault)] if fault else []
    return numbers, faults


def _with_counts(numbers: Iterable[tuple[str, Fraction]]) -> tuple[tuple[str, Fraction], ...]:
    """Append a count to each name from its second use on: "gear ratio", "gear ratio 2"."""
    count: Counter[str] = Counter()
    counted = []
    for name, value in numbers:
        count[name] += 1
        counted.append((f"{name} {count[name]}" if count[name] > 1 else name, value))
    return tuple(counted)


ATTRIBUTES = ("damping", "friction", "armature", "rotor_inertia")
"""Attributes of <dynamics>."""
TRANSMISSION_NUMBERS = (
    ("mechanicalReduction", "gear ratio", 1),
    ("gear_ratio", "gear ratio", 1),
    ("motorInertia", "rotor inertia", 0),
    ("rotor_inertia", "rotor inertia", 0),
)
"""Tuples (element, name of the number, neutral value)."""
_KINDS = {"damping": "damping", "friction": "friction"}


@dataclass(frozen=True)
class DriveData:
    """Numbers of a drive by name, as they are reported if they are not applied; `faults` has the
    errors of malformed ones.
    """

    numbers: tuple[tuple[str, Fraction], ...] = ()
    faults: tuple[tuple[str, DescriptionError], ...] = ()

    def __add__(self, other: DriveData) -> DriveData:
        return DriveData((*self.numbers, *other.numbers), (*self.faults, *other.faults))

    @property
    def drive(self) -> Drive:
        """The drive of these numbers."""
        drive_values: dict[str, Any] = {
            name: value for name, value in self.numbers if name in _KINDS
        }
        return Drive(**drive_values, armature=self._armature)

    @property
    def read_from(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """For each kind of drive, the names of the numbers from which it is computed."""
        declared_kinds = [(kind, (kind,)) for kind, _ in self.drive.declared if kind in _KINDS]
        declared = any(name == "armature" for name, _ in self.numbers)
        rotor = tuple(
            name
            for name, _ in self.numbers
            if _is_name(name, "rotor inertia") or _is_name(name, "gear ratio")
        )
        return (
            *declared_kinds,
            *([("armature", ("armature",) if declared else rotor)] if self._armature else []),
        )

    @property
    def faults_by_kind(self) -> tuple[tuple[str, DescriptionError], ...]:
        """Errors by kind of drive; errors of a gear ratio only if there is a rotor inertia."""
        rotor = any(_is_name(name, "rotor inertia") for name, _ in (*self.numbers, *self.faults))
        return tuple(
            (_KINDS.get(name, "armature"), fault)
            for name, fault in self.faults
            if rotor or not _is_name(name, "gear ratio")
        )

    @property
    def _armature(self) -> Fraction:
        declared = [value for name, value in self.numbers if name == "armature"]
        if declared:
            return declared[0]
        rotors, ratios = (
            [value for name, value in self.numbers if _is_name(name, quantity)]
            for quantity in ("rotor inertia", "gear ratio")
        )
        if len(rotors) != 1 or len(ratios) > 1:
            return Fraction(0)
        armature = rotors[0] * ratios[0] ** 2 if ratios else rotors[0]
        return armature if is_writable(armature) else Fraction(0)


def _is_name(name: str, quantity: str) -> bool:
    """True if a name is `quantity`, or `quantity` with a count."""
    stem, _, count = name.rpartition(" ")
    return name.replace("_", " ") == quantity or (stem == quantity and count.isdigit())


# -- vocabulary --


_LOOP = (
    "which symgen does not read from a URDF",
    "write the robot in TOML, where a [[loop]] closes it",
)
_DRAKE = (
    "it is a joint type of Drake that URDF does not have",
    "write it as a <joint> of URDF, or the robot in TOML",
)
_MISPLACED = "it is not read directly in a <link>", "move it into the link's <inertial>"
_NO_POSE = (
    "URDF gives the pose of a link or joint only by <origin>",
    'write <origin xyz="x y z" rpy="roll pitch yaw"/>',
)
_NOT_IN_JOINT = (
    "it is not read directly in a <joint>",
    'write <dynamics damping="…" friction="…"/>',
)
_PLACES = dict.fromkeys(
    ("orientation", "pose", "position", "rotation", "rpy", "transform", "translation", "xyz"),
    _NO_POSE,
)
_WEIGHTS = dict.fromkeys(("mass", "inertia"), _MISPLACED)
_DRIVES = dict.fromkeys(("damping", "friction"), _NOT_IN_JOINT)


def _closed(*names: str, passes: tuple[str, ...] = ()) -> Kind:
    """Return the vocabulary of an element without children whose attributes affect the dynamics."""
    return Kind(Words(names, passes, closed=True), Words(closed=True))


KINDS = {
    "robot": Kind(
        Words(("name", "version")),
        Words(
            ("link", "joint", "transmission"),
            ("material", "gazebo", "sensor", "ros2_control"),
            refused={
                "loop": (f"a <loop> of URDF+ closes a kinematic loop, {_LOOP[0]}", _LOOP[1]),
                "loop_joint": (f"a <loop_joint> closes a kinematic loop, {_LOOP[0]}", _LOOP[1]),
                "constraint": (
                    f"a <constraint> of URDF+ closes a kinematic loop, {_LOOP[0]}",
                    _LOOP[1],
                ),
                "coupling": (
                    f"a <coupling> of URDF+ ties joints together, {_LOOP[0]}",
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
"""Vocabulary of each element. `K` to `mu_viscous` are controller parameters in the files of one
vendor.
"""


FULL_TURN = 6.2831854
QUATERNIONS_SINCE = (1, 1)
"""First version with `quat_xyzw`."""
_VERSIONS = ((1, 0), (1, 1), (1, 2))
_VERSION = re.compile(r"\s*([0-9]{1,4})\.([0-9]{1,4})\s*", re.ASCII)
Result = TypeVar("Result")


class Elements:
    """Reader of attributes with their locations; collects the notes of one file.

    `expandable`: True if the package xacro is installed to expand macros. Calls of macros that the
    text does not define are left out.
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
        """All notes, those on omitted names last."""
        return [*self._notes, *self.unread.notes()]

    def macros(self, location: Location) -> Exception:
        """Return the exception to raise for macros."""
        return macros.Macros() if self.expandable else macros.expansion_error(location)

    def note(self, kind: str, location: Location, text: str) -> None:
        """Add a note about a location."""
        self._notes.append(Note(kind, f"{location.short}: {text}"))

    def read_or_note(
        self, read: Callable[[], Result], instead: Result, kind: str, consequence: str
    ) -> Result:
        """Return the result of `read`; if the text is malformed, `instead` and a note. No result
        depends on such numbers.
        """
        try:
            return read()
        except DescriptionError as error:
            self.note(
                kind,
                Location(error.file, error.line, error.element),
                f"{error.what}; {consequence}",
            )
            return instead

    def drive_number(
        self, read: Callable[[], Fraction], neutral: Fraction
    ) -> tuple[Fraction, DescriptionError | None]:
        """Return (number, None), or (`neutral`, error) with a note if the text is malformed; the
        error is raised if the number is applied.
        """
        try:
            return read(), None
        except DescriptionError as error:
            self.note(
                "info",
                Location(error.file, error.line, error.element),
                f"{error.what}; it would not be applied",
            )
            return neutral, error

    def location(self, element: Any, inside: str = "") -> Location:
        """Return the location of an element."""
        name = element.get("name")
        label = full_name(element) + (f" {quote(name)}" if name is not None else "")
        return Location(self.file, element.sourceline, f"{inside}: {label}" if inside else label)

    def check(self, element: Any, location: Location) -> None:
        """Refuse content of an element that is not read and could change the robot; note other
        content that is left out.
        """
        name = full_name(element)
        kind = KINDS[name]
        self.unread.check(kind, name, element.attrib, location)
        for child in self.children(element, location):
            if full_name(child) not in kind.children:
                self.unread.child(
                    kind,
                    name,
                    full_name(child),
                    self.location(child, location.element if name != "robot" else ""),
                )
        self.unread.words(kind, name, loose_text(element), location)

    def children(self, element: Any, location: Location) -> Iterator[Any]:
        """Yield the elements inside, without undefined calls of macros. Raises Macros, or a
        refusal, for any other macro.
        """
        for child in element:
            if not isinstance(child.tag, str):
                continue
            if not is_xacro(child):
                yield child
            elif child in self._left_out:
                self.leave_out_call(child)
            else:
                raise self.macros(self.location(child, location.element))

    def leave_out_call(self, element: Any) -> None:
        """Note that a call of a macro is left out."""
        name = tag(element).rpartition(":")[2]
        self.unread.leave_out(
            f"<xacro:{name}> calls a macro that the file does not define, and is left out",
            self.location(element),
        )

    def text(self, element: Any, attribute: str, location: Location) -> str:
        """Return an attribute; raise DescriptionError if it is missing."""
        value = element.get(attribute)
        if value is None:
            raise location.error(
                f"the attribute '{attribute}' is missing", f'write {attribute}="…"'
            )
        if "${" in value or "$(" in value:
            raise self.macros(location)
        return str(value)

    def number(self, element: Any, attribute: str, location: Location) -> Fraction:
        """Return the number of an attribute."""
        return number(
            self.text(element, attribute, location), location.at(f"{location.element} {attribute}")
        )

    def tokens(
        self, element: Any, attribute: str, location: Location, size: str = "three"
    ) -> list[str]:
        """Return the three or four numbers of an attribute as written, each a plain decimal: URDF
        has no `pi/2`.
        """
        text = self.text(element, attribute, location)
        tokens = text.split()
        if "," in text:
            raise location.error(
                f"{attribute} {quote(text)} has commas", f"write {size} numbers separated by spaces"
            )
        if len(tokens) != {"three": 3, "four": 4}[size]:
            raise location.error(
                f"{attribute} has {len(tokens)} numbers ({quote(' '.join(tokens))})",
                f"write {size} numbers separated by spaces",
            )
        for token in tokens:
            number(token, location.at(f"{location.element} {attribute}"))
        return tokens

    def vector(self, element: Any, attribute: str, location: Location) -> Vector3:
        """Return the three numbers of an attribute."""
        x, y, z = map(number, self.tokens(element, attribute, location))
        return x, y, z

    def only_child(self, parent: Any, name: str, location: Location) -> Any:
        """Return the only child of that name, or None. A second child with the same content is only
        noted.

        A second inertial, mass or inertia is refused, since it may be meant as an addition.
        """
        named = [child for child in self.children(parent, location) if full_name(child) == name]
        for duplicate in named[1:]:
            duplicate_location = location.at(location.element, duplicate.sourceline)
            if name in ("inertial", "mass", "inertia") or not are_equal(named[0], duplicate):
                raise duplicate_location.error(f"<{name}> appears twice", "keep one of the two")
            self.note(
                "info",
                duplicate_location,
                f"<{name}> appears twice with the same content; read once",
            )
        return named[0] if named else None

    def first_child(self, parent: Any, name: str, location: Location) -> Any:
        """Return the first child of that name, as other readers do. For elements on which no result
        depends.
        """
        named = [child for child in self.children(parent, location) if full_name(child) == name]
        if any(not are_equal(named[0], duplicate) for duplicate in named[1:]):
            self.note(
                "warning",
                location.at(location.element, named[1].sourceline),
                f"<{name}> appears twice; the first one is read",
            )
        return named[0] if named else None

    def origin(self, parent: Any, location: Location) -> Pose:
        """Return the pose of `origin`: a translation, and a rotation by `rpy` or, from version 1.1,
        by `quat_xyzw`.
        """
        element = self.only_child(parent, "origin", location)
        if element is None:
            return ()
        origin_location = location.at(f"{location.element}: origin", element.sourceline)
        self.check(element, origin_location)
        xyz = (
            self.vector(element, "xyz", origin_location)
            if element.get("xyz") is not None
            else ZERO3
        )
        if element.get("quat_xyzw") is not None:
            if self.version < QUATERNIONS_SINCE:
                self.unread.leave_out(
                    "quat_xyzw needs URDF version 1.1 and is left out",
                    origin_location,
                    'write <robot version="1.1" …> to use it',
                )
            elif element.get("rpy") is not None:
                raise origin_location.error("it has both rpy and quat_xyzw", "keep one of the two")
            else:
                return self._quaternion_pose(xyz, element, origin_location)
        rpy = (Angle(), Angle(), Angle())
        if element.get("rpy") is not None:
            roll, pitch, yaw = (
                self.snapper.angle(t, origin_location.at(f"{origin_location.element} rpy"))
                for t in self.tokens(element, "rpy", origin_location)
            )
            rpy = roll, pitch, yaw
            if max(abs(float(a)) for a in rpy) > FULL_TURN:
                self.note(
                    "warning",
                    origin_location,
                    f"rpy {quote(element.get('rpy'))} exceeds a full turn: URDF uses radians, not degrees",
                )
        return pose(xyz, rpy)

    def _quaternion_pose(self, xyz: Vector3, element: Any, location: Location) -> Pose:
        """Return a translation and the rotation of a quaternion of any length. A zero quaternion is
        no rotation, as in urdfdom.
        """
        x, y, z, w = self.tokens(element, "quat_xyzw", location, "four")
        if not any(map(number, (x, y, z, w))):
            self.note("warning", location, "its quat_xyzw is zero and is read as no rotation")
            return compose((Shift(xyz),))
        return compose(
            (
                Shift(xyz),
                Rotate(
                    self.snapper.quaternion(
                        (w, x, y, z), location.at(f"{location.element} quat_xyzw")
                    )
                ),
            )
        )

    def _version(self, root: Any) -> tuple[int, int]:
        """Return the declared version; 1.0 without one. Raises DescriptionError for an unknown
        version.
        """
        declared = root.get("version")
        if declared is None:
            return _VERSIONS[0]
        match = _VERSION.fullmatch(declared)
        version = (int(match[1]), int(match[2])) if match is not None else None
        if version not in _VERSIONS:
            versions = ", ".join(f"{major}.{minor}" for major, minor in _VERSIONS)
            raise self.location(root).error(
                f"{quote(declared)} is not a version of URDF (versions: {versions})",
                "write one of them, or omit the version for 1.0",
            )
        return version
