"""URDF (https://wiki.ros.org/urdf/XML): links, joints and inertias. Geometry, materials and plugins are ignored.

Read as the specification and Pinocchio read it: an absent `origin` is the identity, an absent `axis` is (1, 0, 0), an absent
`inertial` means massless, the inertia tensor is about the centre of mass in the axes of the inertial's own `origin` (its rpy
included), `continuous` has one coordinate, a root link is fixed to the world. Where the specification demands something and it is
absent (mass, one of the six moments, a parent), the file is refused. It is never taken as zero.

An error in a number that no answer depends on (limits, couplings, the inertia of a link that stands still, damping and gear
ratios that are not applied) is a note and refuses nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from symgen.description.asking import NOTHING, Asked, refuse_unheard
from symgen.description.quantities import Place, number, shown
from symgen.description.readers import _macros
from symgen.description.readers._drives import ATTRIBUTES, OF_TRANSMISSIONS, Said
from symgen.description.readers._foreign import by_root
from symgen.description.readers._xml import alike, is_xacro, parse, tag, text_of
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Inertial, Link, Tree
from symgen.errors import DescriptionError
from symgen.joints import joint_type, kinds
from symgen.mechanism import Limits, Mimic, Note
from symgen.poses import X_AXIS, Z_AXIS, ZERO3, Angle, Pose, Vector3, pose

SUFFIXES = (".urdf", ".xml", ".xacro")
ROOTS = ("robot",)
TAKES = ("xacro", "packages")

MOST_ROTORS = 16
"""Ratios and rotor inertias of one transmission that are shown, at each of its joints. No answer depends on them."""
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_FULL_TURN = 6.2831854
_NO_LIMIT = 10**300
"""What is printed for no limit at all, since URDF demands a number and knows no infinity: the largest double, or 1e308."""
_ALONG_AN_AXIS = ("revolute", "continuous", "prismatic", "planar")
_IN_OTHER_WORDS = {"floating": "free"}
"""Names of joint types that URDF has other words for."""
Read = TypeVar("Read")


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The links and joints that the URDF text `data` declares; DescriptionError names file, line and element.

    A file of macros is a program (https://github.com/ros/xacro/wiki), read as the URDF that the package xacro makes of it, and
    so is a URDF that holds some where the package is there. Lines are then those of the expanded text.
    """
    if file.lower().endswith(".xacro"):
        if not _macros.available():
            raise _macros.unexpanded(Place(file))
        return _expanded(data, file, snapper, asked)
    snaps = len(snapper.snaps)
    try:
        tree = _plain(data, file, snapper, _macros.available())
    except _macros.Macros:
        del snapper.snaps[snaps:]
        return _expanded(data, file, snapper, asked)
    refuse_unheard(asked, (), file)
    return tree


def _expanded(data: bytes, file: str, snapper: Snapper, asked: Asked) -> Tree:
    """The same of what the macros in `data` make. The text that they make is what a hash of the description is of."""
    _, notes = parse(data, file)
    text, remarks = _macros.expanded(text_of(data), file, asked)
    tree = _plain(text.encode(), f"{file} (expanded)", snapper, False)
    return replace(tree, notes=(*notes, *remarks, *tree.notes), read_sha256=hashlib.sha256(text.encode()).hexdigest())


def _plain(data: bytes, file: str, snapper: Snapper, expandable: bool) -> Tree:
    """What stands there. `expandable`: whether Macros is raised where macros stand, or else the sentence that refuses them."""
    root, notes = parse(data, file)
    elements = _Elements(file, snapper, notes, expandable)
    if is_xacro(root):
        raise elements.macros(elements.place(root))
    if tag(root) != "robot":
        raise Place(file, root.sourceline).error(*by_root(tag(root)) or (
            f"the root element is {shown(tag(root))}, not 'robot'", "give a URDF file"))
    children = list(_children(root))
    for element in children:
        if is_xacro(element):
            raise elements.macros(elements.place(element))
    joints = [element for element in children if tag(element) == "joint"]
    still = _standing(joints)
    links = [_link(element, elements, still) for element in children if tag(element) == "link"]
    transmissions: dict[str, Said] = {}
    for element in children:
        if tag(element) == "transmission":
            transmissions.update(_transmission(element, elements))
    connections = tuple(_connection(element, elements, transmissions) for element in joints)
    return Tree(root.get("name", "").strip(), tuple(links), connections, notes=tuple(notes), place=Place(file),
                drives_apply=False)


def _standing(joints: Iterable[Any]) -> Callable[[str | None], bool]:
    """Whether a link stands still: only fixed joints lead from the root to it."""
    above: dict[str, tuple[str, bool]] = {}
    for joint in joints:
        ends = {tag(child): child.get("link") for child in _children(joint) if tag(child) in ("parent", "child")}
        above[str(ends.get("child"))] = str(ends.get("parent")), joint.get("type") == "fixed"

    known: dict[str, bool] = {}

    def still(link: str | None) -> bool:
        at, way, verdict = str(link), list[str](), False
        while at in above and at not in known:
            known[at] = False   # who comes by again goes in a ring, where no root is
            way.append(at)
            at, fixed = above[at]
            if not fixed:
                break
        else:
            verdict = known.get(at, True)
        known.update(dict.fromkeys(way, verdict))
        return known.get(str(link), verdict)
    return still


class _Elements:
    """Reads attributes with their place; collects notes and snaps of one file."""

    def __init__(self, file: str, snapper: Snapper, notes: list[Note], expandable: bool) -> None:
        self.file, self.snapper, self.notes, self.expandable = file, snapper, notes, expandable

    def macros(self, place: Place) -> Exception:
        """What to raise where macros stand."""
        return _macros.Macros() if self.expandable else _macros.unexpanded(place)

    def note(self, kind: str, place: Place, text: str) -> None:
        """One more note about a place."""
        self.notes.append(Note(kind, f"{place.short}: {text}"))

    def spare(self, read: Callable[[], Read], instead: Read, kind: str, consequence: str) -> Read:
        """What `read` gives. Where the text is malformed, `instead` and a note: this is for numbers that no answer depends on."""
        try:
            return read()
        except DescriptionError as error:
            self.note(kind, Place(error.file, error.line, error.element), f"{error.what}; {consequence}")
            return instead

    def of_drive(self, read: Callable[[], Fraction], nothing: Fraction) -> tuple[Fraction, DescriptionError | None]:
        """A number of a drive, or `nothing` and what is wrong with it: a refusal where it is to be applied, else a note."""
        try:
            return read(), None
        except DescriptionError as error:
            self.note("info", Place(error.file, error.line, error.element), f"{error.what}; it would not be applied")
            return nothing, error

    def place(self, element: Any, inside: str = "") -> Place:
        name = element.get("name")
        label = tag(element) + (f" {shown(name)}" if name is not None else "")
        return Place(self.file, element.sourceline, f"{inside}: {label}" if inside else label)

    def text(self, element: Any, attribute: str, place: Place) -> str:
        value = element.get(attribute)
        if value is None:
            raise place.error(f"the attribute '{attribute}' is missing", f"write {attribute}=\"…\"")
        if "${" in value or "$(" in value:
            raise self.macros(place)
        return str(value)

    def number(self, element: Any, attribute: str, place: Place) -> Fraction:
        return number(self.text(element, attribute, place), place.at(f"{place.element} {attribute}"))

    def three(self, element: Any, attribute: str, place: Place) -> list[str]:
        text = self.text(element, attribute, place)
        tokens = text.split()
        if "," in text:
            raise place.error(f"{attribute} {shown(text)} has commas", "write three numbers separated by spaces")
        if len(tokens) != 3:
            raise place.error(f"{attribute} has {len(tokens)} numbers ({shown(' '.join(tokens))})",
                              "write three numbers separated by spaces")
        return tokens

    def vector(self, element: Any, attribute: str, place: Place) -> Vector3:
        x, y, z = (number(t, place.at(f"{place.element} {attribute}")) for t in self.three(element, attribute, place))
        return x, y, z

    def one(self, parent: Any, name: str, place: Place) -> Any:
        """The one child of that name, or None. A second one with the same content is a remark.

        A second inertial, mass or inertia is refused, since they may be meant to add.
        """
        children = list(_children(parent))
        for child in children:
            if is_xacro(child):
                raise self.macros(self.place(child, place.element))
        found = [child for child in children if tag(child) == name]
        for other in found[1:]:
            here = place.at(place.element, other.sourceline)
            if name in ("inertial", "mass", "inertia") or not alike(found[0], other):
                raise here.error(f"<{name}> stands twice", "keep one of the two")
            self.note("info", here, f"<{name}> stands twice and says the same; read once")
        return found[0] if found else None

    def first(self, parent: Any, name: str, place: Place) -> Any:
        """The first child of that name, as the field's readers take it. This is for elements that no answer depends on."""
        found = [child for child in _children(parent) if tag(child) == name]
        if any(not alike(found[0], other) for other in found[1:]):
            self.note("warning", place.at(place.element, found[1].sourceline), f"<{name}> stands twice; the first one is read")
        return found[0] if found else None

    def origin(self, parent: Any, place: Place) -> Pose:
        element = self.one(parent, "origin", place)
        if element is None:
            return ()
        here = place.at(f"{place.element}: origin", element.sourceline)
        xyz = self.vector(element, "xyz", here) if element.get("xyz") is not None else ZERO3
        rpy = (Angle(), Angle(), Angle())
        if element.get("rpy") is not None:
            roll, pitch, yaw = (self.snapper.angle(t, here.at(f"{here.element} rpy")) for t in self.numbers(element, "rpy", here))
            rpy = roll, pitch, yaw
            if max(abs(float(a)) for a in rpy) > _FULL_TURN:
                self.note("warning", here, f"rpy {shown(element.get('rpy'))} exceeds a full turn: are these degrees? "
                                           "URDF means radians")
        return pose(xyz, rpy)

    def numbers(self, element: Any, attribute: str, place: Place) -> list[str]:
        """Three tokens, each a plain decimal: URDF knows no `pi/2`."""
        tokens = self.three(element, attribute, place)
        for token in tokens:
            number(token, place.at(f"{place.element} {attribute}"))
        return tokens


def _link(element: Any, elements: _Elements, still: Callable[[str | None], bool]) -> Link:
    place = elements.place(element)
    name = elements.text(element, "name", place)

    def inertials() -> tuple[Inertial, ...]:
        return _inertials(element, place, elements)

    if still(name):   # nothing moves it, so its inertia is in no answer
        return Link(name, elements.spare(inertials, (), "warning", "its inertia is left out: it stands still"),
                    place)
    return Link(name, inertials(), place)


def _inertials(element: Any, place: Place, elements: _Elements) -> tuple[Inertial, ...]:
    inertial = elements.one(element, "inertial", place)
    if inertial is None:
        return ()
    here = place.at(f"{place.element}: inertial", inertial.sourceline)
    mass, tensor = elements.one(inertial, "mass", here), elements.one(inertial, "inertia", here)
    for name, found in (("mass", mass), ("inertia", tensor)):
        if found is None:
            raise here.error(f"<{name}> is missing", f"add <{name} …/>, or remove <inertial> if the link is massless")
    at_mass = here.at(f"{here.element}: mass", mass.sourceline)
    at_tensor = here.at(f"{here.element}: inertia", tensor.sourceline)
    moments = tuple(elements.number(tensor, name, at_tensor) for name in _MOMENTS)
    value = elements.number(mass, "value", at_mass)
    if not value and not any(moments):   # the place of a massless inertial is in no answer
        return (Inertial(value, moments, (), at_mass),)
    return (Inertial(value, moments, elements.origin(inertial, here), at_mass),)


def _connection(element: Any, elements: _Elements, transmissions: dict[str, Said]) -> Connection:
    place = elements.place(element)
    name, kind = elements.text(element, "name", place), elements.text(element, "type", place)
    kind = _IN_OTHER_WORDS.get(kind, kind)
    ends = []
    for role in ("parent", "child"):
        end = elements.one(element, role, place)
        if end is None:
            raise place.error(f"<{role}> is missing", f"add <{role} link=\"…\"/>")
        ends.append(elements.text(end, "link", place.at(f"{place.element}: {role}", end.sourceline)))
    axis = X_AXIS
    declared = elements.one(element, "axis", place) if kind in _ALONG_AN_AXIS else None
    if declared is not None:
        here = place.at(f"{place.element}: axis", declared.sourceline)
        axis = elements.vector(declared, "xyz", here)
        if not any(axis):
            raise here.error("the axis is zero", "give it a direction, for example xyz=\"0 0 1\"")
    if kind == "planar" and axis != Z_AXIS:
        raise place.error(f"its axis is {' '.join(f'{float(x):g}' for x in axis)}, and symgen's planar joints have their plane's "
                          "normal along z", 'turn its origin and write <axis xyz="0 0 1"/>')
    axis = Z_AXIS if kind in kinds() and not joint_type(kind).directed else axis
    origin = elements.origin(element, place)
    if kind == "fixed":
        return Connection(name, kind, ends[0], ends[1], origin, axis, place=place)
    limits, (mimic, unsure) = _limits(element, kind, place, elements), _mimic(element, place, elements)
    said = _dynamics(element, place, elements) + transmissions.get(name, Said())
    return Connection(name, kind, ends[0], ends[1], origin, axis, limits, mimic, said.numbers, place, unsure=unsure,
                      drive=said.drive, told_as=said.told_as, faults=said.faulty)


def _limits(element: Any, kind: str, place: Place, elements: _Elements) -> Limits:
    declared = elements.first(element, "limit", place)
    of_type = joint_type(kind) if kind in kinds() else None
    ranged = of_type is None or (of_type.limited and of_type.nq == 1)
    if declared is None:
        if of_type is not None and ranged:
            elements.note("info", place, "declares no <limit>; read without limits")
        return Limits()
    here = place.at(f"{place.element}: limit", declared.sourceline)

    def limit(attribute: str) -> Fraction | None:
        token = declared.get(attribute)
        if token is None or token.strip().lower().lstrip("+-") in ("inf", "infinity"):
            return None
        worth = "warning" if ranged and attribute in ("lower", "upper") else "info"
        value = elements.spare(lambda: elements.number(declared, attribute, here), None, worth, "read as no limit")
        return None if value is not None and abs(value) >= _NO_LIMIT else value

    if of_type is not None and of_type.nq > 1:
        elements.note("info", here, f"a {kind} joint has {of_type.nq} coordinates; its limits are left out")
        return Limits()
    lower, upper, velocity, effort = (limit(attribute) for attribute in ("lower", "upper", "velocity", "effort"))
    span = shown(f"{declared.get('lower')} … {declared.get('upper')}")
    if ranged and lower is not None and upper is not None and lower > upper:
        elements.note("warning", here, f"in {span} the lower limit is above the upper one")
    far = any(v is not None and 2 * _FULL_TURN < abs(v) <= 720 for v in (lower, upper))
    if of_type is not None and ranged and of_type.turns and far:
        elements.note("warning", here, f"{span} exceeds two full turns: are these degrees? URDF means radians")
    return Limits(lower, upper, velocity, effort)


def _mimic(element: Any, place: Place, elements: _Elements) -> tuple[Mimic | None, str]:
    """What is declared, and what of it cannot be read."""
    declared = elements.first(element, "mimic", place)
    if declared is None:
        return None, ""
    here = place.at(f"{place.element}: mimic", declared.sourceline)
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

        return elements.spare(read, Fraction(absent), "warning", f"shown as {absent}; no coupling is applied")

    joint = elements.spare(lambda: elements.text(declared, "joint", here), "", "warning", "the coupling is left out")
    found = Mimic(joint, factor("multiplier", 1), factor("offset", 0)) if joint else None
    return found, "; ".join(unsure)


def _dynamics(element: Any, place: Place, elements: _Elements) -> Said:
    """Damping, friction and rotor data that the joint declares and that are not zero."""
    declared = elements.first(element, "dynamics", place)
    if declared is None:
        return Said()
    here = place.at(f"{place.element}: dynamics", declared.sourceline)
    found, faults = [], []
    for name in ATTRIBUTES:
        if declared.get(name) is not None:
            value, fault = elements.of_drive(partial(elements.number, declared, name, here), Fraction(0))
            found += [(name, value)] if value else []
            faults += [(name, fault)] if fault else []
    return Said(tuple(found), tuple(faults))


def _transmission(element: Any, elements: _Elements) -> dict[str, Said]:
    """Rotor data of the transmission, under the name of the one joint it drives."""
    place = elements.place(element)
    found: list[tuple[str, Fraction]] = []
    faults = []
    inside = [item for item in element.iter() if isinstance(item.tag, str)]
    for kind, name, neutral in OF_TRANSMISSIONS:
        for item in (one for one in inside if tag(one).rpartition(":")[2] == kind):
            here = place.at(f"{place.element}: {kind}", item.sourceline)
            text = item.text or "" if item.get("value") is None else item.get("value")
            value, fault = elements.of_drive(partial(number, text, here), Fraction(neutral))
            found += [(name, value)] if value != neutral else []
            faults += [(name, fault)] if fault else []
    names = {j.get("name") for j in element.iter("{*}joint")}
    # The same ratio can stand at the joint and at its motor; two joints driven by one differential have two ratios.
    different = list(dict.fromkeys(found))
    if len(different) > MOST_ROTORS:
        elements.note("info", place, f"of its {len(different)} ratios and inertias the first {MOST_ROTORS} are shown")
    count: Counter[str] = Counter()
    named = []
    for name, value in different[:MOST_ROTORS]:
        count[name] += 1
        named.append((name + (f" {count[name]}" if count[name] > 1 else ""), value))
    return {name: Said(tuple(named), tuple(faults)) for name in names if name and (named or faults)}


def _children(element: Any) -> Iterator[Any]:
    return (child for child in element if isinstance(child.tag, str))
