"""URDF (https://wiki.ros.org/urdf/XML): links, joints and inertias; geometry, materials and plugins are passed over.

Read as the specification and Pinocchio read it: an absent `origin` is the identity, an absent `axis` is (1, 0, 0), an
absent `inertial` means massless, the inertia tensor is about the centre of mass in the axes of the inertial's own
`origin` (its rpy included), `continuous` has one coordinate, a root link is fixed to the world. What is absent
although the specification demands it (mass, one of the six moments, a parent) is refused, never taken as zero.

The file is data: a DOCTYPE is refused, so that no entity exists; the network and external files are never asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from lxml import etree

from symgen.mechanism import X_AXIS, ZERO3, Angle, Limits, Mimic, Note, Pose, Vector3, pose
from symgen.quantities import Place, number, shown
from symgen.snapping import Snapper
from symgen.tree import Connection, Inertial, Link, Tree

SUFFIXES = (".urdf",)

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_FULL_TURN = 6.2831854
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def read(data: bytes, file: str, snapper: Snapper) -> Tree:
    """The links and joints that the URDF text `data` declares; DescriptionError names file, line and element."""
    root = _parse(data, file)
    place = Place(file)
    if _tag(root) != "robot":
        raise place.at("", root.sourceline).error(f"the root element is {shown(_tag(root))}, not 'robot'",
                                                  "give a URDF file; SDF and MJCF are other formats")
    notes: list[Note] = []
    elements = _Elements(file, snapper, notes)
    links, joints, transmissions = [], [], {}
    for element in _children(root):
        if _is_xacro(element):
            raise _xacro(elements.place(element), file)
        if _tag(element) == "link":
            links.append(_link(element, elements))
        elif _tag(element) == "transmission":
            transmissions.update(_transmission(element, elements))
        elif _tag(element) == "joint":
            joints.append(element)
    connections = tuple(_connection(element, elements, transmissions) for element in joints)
    return Tree(root.get("name", "").strip(), tuple(links), connections, notes=tuple(notes), place=place)


def _parse(data: bytes, file: str) -> Any:
    place = Place(file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise place.error(f"byte {error.start} is not UTF-8 text", "save the file as UTF-8") from None
    doctype = re.search(r"<!\s*(DOCTYPE|ENTITY)", _COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text), re.IGNORECASE)
    if doctype is not None:
        line = text[: text.find(doctype[0])].count("\n") + 1
        raise Place(file, line).error("a DOCTYPE or entity declaration is not accepted in a description",
                                      "remove it and write the values out")
    # The encoding is forced, so that a declaration such as UTF-7 cannot hide what the line above looks for.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
                             recover=False, remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        reason = re.sub(r", line \d+, column \d+.*", "", str(error.msg or "it ends early"), flags=re.DOTALL)
        raise Place(file, error.lineno or None).error(f"not well-formed XML: {shown(reason, 100)[1:-1]}",
                                                      "check that the file is complete and is a URDF") from None
    if root is None:
        raise place.error("the file holds no XML element", "give a URDF file")
    return root


class _Elements:
    """Reads attributes with their place; collects notes and snaps of one file."""

    def __init__(self, file: str, snapper: Snapper, notes: list[Note]) -> None:
        self.file, self.snapper, self.notes = file, snapper, notes

    def place(self, element: Any, inside: str = "") -> Place:
        name = element.get("name")
        label = _tag(element) + (f" {shown(name)}" if name is not None else "")
        return Place(self.file, element.sourceline, f"{inside}: {label}" if inside else label)

    def text(self, element: Any, attribute: str, place: Place) -> str:
        value = element.get(attribute)
        if value is None:
            raise place.error(f"the attribute '{attribute}' is missing", f"write {attribute}=\"…\"")
        if "${" in value or "$(" in value:
            raise _xacro(place, self.file)
        return str(value)

    def number(self, element: Any, attribute: str, place: Place) -> Fraction:
        return number(self.text(element, attribute, place), place.at(f"{place.element} {attribute}"))

    def three(self, element: Any, attribute: str, place: Place) -> list[str]:
        tokens = self.text(element, attribute, place).split()
        if len(tokens) != 3:
            raise place.error(f"{attribute} has {len(tokens)} numbers ({shown(' '.join(tokens))})",
                              "write three numbers separated by spaces")
        return tokens

    def vector(self, element: Any, attribute: str, place: Place) -> Vector3:
        x, y, z = (number(t, place.at(f"{place.element} {attribute}")) for t in self.three(element, attribute, place))
        return x, y, z

    def one(self, parent: Any, tag: str, place: Place) -> Any:
        found = [child for child in _children(parent) if _tag(child) == tag]
        if len(found) > 1:
            raise place.at(place.element, found[1].sourceline).error(f"<{tag}> stands twice", "keep one of the two")
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
                self.notes.append(Note("warning", f"{here.short}: rpy {shown(element.get('rpy'))} exceeds a full turn: "
                                                  "are these degrees? URDF means radians"))
        return pose(xyz, rpy)

    def numbers(self, element: Any, attribute: str, place: Place) -> list[str]:
        """Three tokens, each a plain decimal: URDF knows no `pi/2`."""
        tokens = self.three(element, attribute, place)
        for token in tokens:
            number(token, place.at(f"{place.element} {attribute}"))
        return tokens


def _link(element: Any, elements: _Elements) -> Link:
    place = elements.place(element)
    name = elements.text(element, "name", place)
    inertial = elements.one(element, "inertial", place)
    if inertial is None:
        return Link(name, (), place)
    here = place.at(f"{place.element}: inertial", inertial.sourceline)
    mass, tensor = elements.one(inertial, "mass", here), elements.one(inertial, "inertia", here)
    for tag, found in (("mass", mass), ("inertia", tensor)):
        if found is None:
            raise here.error(f"<{tag}> is missing", f"add <{tag} …/>, or remove <inertial> if the link is massless")
    at_mass = here.at(f"{here.element}: mass", mass.sourceline)
    at_tensor = here.at(f"{here.element}: inertia", tensor.sourceline)
    moments = tuple(elements.number(tensor, name, at_tensor) for name in _MOMENTS)
    mass_value = elements.number(mass, "value", at_mass)
    return Link(name, (Inertial(mass_value, moments, elements.origin(inertial, here), at_mass),), place)


def _connection(element: Any, elements: _Elements, transmissions: dict[str, list[tuple[str, Fraction]]]) -> Connection:
    place = elements.place(element)
    name, kind = elements.text(element, "name", place), elements.text(element, "type", place)
    ends = []
    for role in ("parent", "child"):
        end = elements.one(element, role, place)
        if end is None:
            raise place.error(f"<{role}> is missing", f"add <{role} link=\"…\"/>")
        ends.append(elements.text(end, "link", place.at(f"{place.element}: {role}", end.sourceline)))
    axis = X_AXIS
    declared = elements.one(element, "axis", place)
    if declared is not None and kind != "fixed":
        here = place.at(f"{place.element}: axis", declared.sourceline)
        axis = elements.vector(declared, "xyz", here)
        if not any(axis):
            raise here.error("the axis is zero", "give it a direction, for example xyz=\"0 0 1\"")
    limits = Limits() if kind == "fixed" else _limits(element, kind, place, elements)
    return Connection(name, kind, ends[0], ends[1], elements.origin(element, place), axis, limits,
                      _mimic(element, place, elements),
                      _dynamics(element, place, elements) + tuple(transmissions.get(name, ())), place)


def _limits(element: Any, kind: str, place: Place, elements: _Elements) -> Limits:
    declared = elements.one(element, "limit", place)
    if declared is None:
        if kind in ("revolute", "prismatic"):
            elements.notes.append(Note("info", f"{place.short}: declares no <limit>; read without limits"))
        return Limits()
    here = place.at(f"{place.element}: limit", declared.sourceline)
    values: dict[str, Fraction | None] = {}
    for attribute in ("lower", "upper", "velocity", "effort"):
        token = declared.get(attribute)
        endless = token is not None and token.strip().lower().lstrip("+-") in ("inf", "infinity")
        values[attribute] = None if token is None or endless else elements.number(declared, attribute, here)
    lower, upper = values["lower"], values["upper"]
    span = f"{declared.get('lower')} … {declared.get('upper')}"
    if lower is not None and upper is not None and lower > upper:
        elements.notes.append(Note("warning", f"{here.short}: in {shown(span)} the lower limit is above the upper one"))
    if kind == "revolute" and any(v is not None and 2 * _FULL_TURN < abs(v) <= 720 for v in (lower, upper)):
        elements.notes.append(Note("warning", f"{here.short}: {shown(span)} exceeds two full turns: are these degrees? "
                                              "URDF means radians"))
    return Limits(lower, upper, values["velocity"], values["effort"])


def _mimic(element: Any, place: Place, elements: _Elements) -> Mimic | None:
    declared = elements.one(element, "mimic", place)
    if declared is None:
        return None
    here = place.at(f"{place.element}: mimic", declared.sourceline)
    factor = elements.number(declared, "multiplier", here) if declared.get("multiplier") is not None else Fraction(1)
    offset = elements.number(declared, "offset", here) if declared.get("offset") is not None else Fraction(0)
    return Mimic(elements.text(declared, "joint", here), factor, offset)


def _dynamics(element: Any, place: Place, elements: _Elements) -> tuple[tuple[str, Fraction], ...]:
    """Damping, friction and rotor data that the joint declares and that are not zero."""
    declared = elements.one(element, "dynamics", place)
    if declared is None:
        return ()
    here = place.at(f"{place.element}: dynamics", declared.sourceline)
    names = ("damping", "friction", "armature", "rotor_inertia")
    values = [(name, elements.number(declared, name, here)) for name in names if declared.get(name) is not None]
    return tuple((name, value) for name, value in values if value)


def _transmission(element: Any, elements: _Elements) -> dict[str, list[tuple[str, Fraction]]]:
    """Rotor data of the transmission, under the name of the one joint it drives."""
    place = elements.place(element)
    found: list[tuple[str, Fraction]] = []
    for tag, name, neutral in (("mechanicalReduction", "gear ratio", 1), ("motorInertia", "rotor inertia", 0)):
        for item in element.iter("{*}" + tag):
            value = number(item.text or "", place.at(f"{place.element}: {tag}", item.sourceline))
            if value != neutral:
                found.append((name, value))
    names = {j.get("name") for j in element.iter("{*}joint")}
    # The same ratio can stand at the joint and at its motor; two joints driven by one differential have two ratios.
    different = list(dict.fromkeys(found))
    repeats = [sum(n == name for n, _ in different[:i]) for i, (name, _) in enumerate(different)]
    named = [(name + (f" {k + 1}" if k else ""), value) for (name, value), k in zip(different, repeats, strict=True)]
    return {name: named for name in names if name and named}


def _children(element: Any) -> Iterator[Any]:
    return (child for child in element if isinstance(child.tag, str))


def _tag(element: Any) -> str:
    return str(etree.QName(element).localname)


def _is_xacro(element: Any) -> bool:
    return "xacro" in (etree.QName(element).namespace or "")


def _xacro(place: Place, file: str) -> Exception:
    out = file.rsplit("/", 1)[-1].split(".")[0] or "robot"
    return place.error("it holds xacro macros, which must be expanded first", f"run: xacro {file} -o {out}.expanded.urdf")
