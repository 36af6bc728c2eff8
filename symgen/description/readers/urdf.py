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
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from symgen.description.asking import NOTHING, Asked, refuse_unheard
from symgen.description.parsing import macros
from symgen.description.parsing.drives import ATTRIBUTES, OF_TRANSMISSIONS, Said
from symgen.description.parsing.foreign import by_root
from symgen.description.parsing.xml import full_name, is_xacro, parse, tag, text_of, text_without
from symgen.description.quantities import Place, number, shown
from symgen.description.readers._urdf.elements import FULL_TURN, Elements
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Inertial, Link, Tree
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Limits, Mimic
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS

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
        told_as=said.told_as,
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
