"""URDF (https://wiki.ros.org/urdf/XML): links, joints and inertias. Geometry, materials and plugins
are ignored.

The reader follows the specification and Pinocchio. An absent `origin` is the identity, an absent
`axis` is (1, 0, 0), and an absent `inertial` means massless. The inertia tensor is about the centre
of mass, in the axes of the inertial's own `origin` (with its rpy). A `continuous` joint has one
coordinate, and a root link is fixed to the world. A file that lacks a required value (mass, one of
the six moments, a parent) is refused; the value is never assumed to be zero.

An error in a number that affects no result is only a note: limits, couplings, the inertia of a
fixed link, damping and gear ratios that are not applied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symgen.description.asking import NO_OPTIONS, FileOptions, refuse_unused_options
from symgen.description.parsing import macros
from symgen.description.parsing.foreign import by_root
from symgen.description.parsing.xml import (
    full_name,
    is_xacro,
    parse,
    tag,
    text_of,
    text_without,
)
from symgen.description.quantities import Location, quote
from symgen.description.readers._urdf.drives import DriveData, read_dynamics, read_transmission
from symgen.description.readers._urdf.elements import FULL_TURN, Elements
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Inertial, Link, Tree
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Limits, Mimic
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Vector3

SUFFIXES = (".urdf", ".xml", ".xacro")
ROOTS = ("robot",)
TAKES = ("xacro", "packages")

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_NO_LIMIT = 10**300
"""Smallest magnitude that is read as no limit. URDF requires a number and has no infinity, so that
files write the largest double, or 1e308.
"""
_TYPES_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
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
    snaps_before = len(snapper.snaps)
    try:
        tree = _read_plain(data, file, snapper, macros.available())
    except macros.Macros:
        del snapper.snaps[snaps_before:]  # those of the expanded text replace them
        return _read_expanded(data, file, snapper, options, finished=True)
    refuse_unused_options(options, (), file)
    return tree


def _read_expanded(
    data: bytes, file: str, snapper: Snapper, options: FileOptions, finished: bool
) -> Tree:
    """Return the tree of the expanded macros in `data`. The hash of the description is that of the
    expanded text.

    `finished` is True for a file without the suffix .xacro. If it is a URDF, calls of macros that
    it does not define are left out.
    """
    root, notes = parse(data, file)
    source = text_of(data)
    undefined_calls = macros.undefined_calls(root) if finished and not is_xacro(root) else []
    if undefined_calls:
        elements = Elements(file, root, snapper, notes, True)
        for call in undefined_calls:
            elements.leave_out_call(call)
        notes, source = elements.notes, text_without(root, undefined_calls)
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
            transmissions.update(read_transmission(element, elements))
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
    """Return the predicate that is True for the name of a link fixed to the root, with only fixed
    joints between them.
    """
    joint_above: dict[str, tuple[str, bool]] = {}  # link: (parent link, True for a fixed joint)
    for joint in joints:
        link_of_role = {
            full_name(child): child.get("link")
            for child in joint
            if full_name(child) in ("parent", "child")
        }
        joint_above[str(link_of_role.get("child"))] = (
            str(link_of_role.get("parent")),
            joint.get("type") == "fixed",
        )

    fixed_links: dict[str, bool] = {}  # results so far, so that each joint is visited once

    def is_fixed(link: str | None) -> bool:
        link_name, path, path_is_fixed = str(link), list[str](), False
        while link_name in joint_above and link_name not in fixed_links:
            fixed_links[link_name] = False  # a cycle of joints contains no root
            path.append(link_name)
            link_name, joint_is_fixed = joint_above[link_name]
            if not joint_is_fixed:
                break
        else:
            path_is_fixed = fixed_links.get(link_name, True)
        fixed_links.update(dict.fromkeys(path, path_is_fixed))
        return fixed_links.get(str(link), path_is_fixed)

    return is_fixed


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
    mass = elements.only_child(inertial, "mass", inertial_location)
    tensor = elements.only_child(inertial, "inertia", inertial_location)
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
    """Return a joint, with the drive that it and its transmission declare."""
    location = elements.location(element)
    elements.check(element, location)
    name = elements.text(element, "name", location)
    urdf_type = elements.text(element, "type", location)
    kind = _JOINT_TYPES.get(urdf_type, urdf_type)
    link_names = []
    for role in ("parent", "child"):
        end = elements.only_child(element, role, location)
        if end is None:
            raise location.error(f"<{role}> is missing", f'add <{role} link="…"/>')
        end_location = location.at(f"{location.element}: {role}", end.sourceline)
        elements.check(end, end_location)
        link_names.append(elements.text(end, "link", end_location))
    axis = _axis(element, kind, location, elements)
    origin = elements.origin(element, location)
    if kind == "fixed":
        return Connection(name, kind, link_names[0], link_names[1], origin, axis, location=location)
    limits = _limits(element, kind, location, elements)
    mimic, unreadable = _mimic(element, location, elements)
    data = read_dynamics(element, location, elements) + transmissions.get(name, DriveData())
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
        unsure=unreadable,
        drive=data.drive,
        read_from=data.read_from,
        faults=data.faults_by_kind,
    )


def _axis(element: Any, kind: str, location: Location, elements: Elements) -> Vector3:
    """Return the axis of a joint; z for a type without axis."""
    axis = X_AXIS
    declared = elements.only_child(element, "axis", location) if kind in _TYPES_WITH_AXIS else None
    if declared is not None:
        axis_location = location.at(f"{location.element}: axis", declared.sourceline)
        elements.check(declared, axis_location)
        axis = elements.vector(declared, "xyz", axis_location)
        if not any(axis):
            raise axis_location.error(
                "the axis is zero", 'give a nonzero axis, such as xyz="0 0 1"'
            )
    if kind == "planar" and axis != Z_AXIS:
        raise location.error(
            f"its axis is {' '.join(f'{float(x):g}' for x in axis)}, but the normal of a planar"
            " joint must be the z axis",
            'rotate its origin and write <axis xyz="0 0 1"/>',
        )
    return Z_AXIS if kind in kinds() and not joint_type(kind).directed else axis


def _limits(element: Any, kind: str, location: Location, elements: Elements) -> Limits:
    """Return the declared limits of position, velocity and effort; none for a joint of several
    coordinates.
    """
    declared = elements.first_child(element, "limit", location)
    known_type = joint_type(kind) if kind in kinds() else None
    has_range = known_type is None or (known_type.limited and known_type.nq == 1)
    if declared is None:
        if known_type is not None and has_range:
            elements.note("info", location, "declares no <limit>; read without limits")
        return Limits()
    limit_location = location.at(f"{location.element}: limit", declared.sourceline)
    elements.check(declared, limit_location)
    if known_type is not None and known_type.nq > 1:
        elements.note(
            "info",
            limit_location,
            f"a {kind} joint has {known_type.nq} coordinates; its limits are left out",
        )
        return Limits()
    lower, upper = (
        _limit(declared, end, "warning" if has_range else "info", limit_location, elements)
        for end in ("lower", "upper")
    )
    velocity, effort = (
        _limit(declared, bound, "info", limit_location, elements)
        for bound in ("velocity", "effort")
    )
    if has_range:
        is_angle = known_type is not None and known_type.turns
        _warn_about_range(declared, (lower, upper), is_angle, limit_location, elements)
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


def _warn_about_range(
    declared: Any,
    limits: tuple[Fraction | None, Fraction | None],
    is_angle: bool,
    location: Location,
    elements: Elements,
) -> None:
    """Warn of a range whose ends are swapped, or seem to be in degrees."""
    lower, upper = limits
    range_text = quote(f"{declared.get('lower')} … {declared.get('upper')}")
    if lower is not None and upper is not None and lower > upper:
        elements.note(
            "warning", location, f"the lower limit is above the upper limit in {range_text}"
        )
    may_be_degrees = any(end is not None and 2 * FULL_TURN < abs(end) <= 720 for end in limits)
    if is_angle and may_be_degrees:
        elements.note(
            "warning",
            location,
            f"{range_text} exceeds two full turns: URDF uses radians, not degrees",
        )


def _mimic(element: Any, location: Location, elements: Elements) -> tuple[Mimic | None, str]:
    """Return the declared mimic relation or None, and a description of its unreadable numbers (""
    if there are none).
    """
    declared = elements.first_child(element, "mimic", location)
    if declared is None:
        return None, ""
    mimic_location = location.at(f"{location.element}: mimic", declared.sourceline)
    elements.check(declared, mimic_location)
    unreadable: list[str] = []

    def coefficient(attribute: str, default: int) -> Fraction:
        if declared.get(attribute) is None:
            return Fraction(default)

        def read() -> Fraction:
            try:
                return elements.number(declared, attribute, mimic_location)
            except DescriptionError as error:
                unreadable.append(f"in its {attribute} {error.what}")
                raise

        return elements.read_or_note(
            read, Fraction(default), "warning", f"read as {default}; no coupling is applied"
        )

    leader = elements.read_or_note(
        lambda: elements.text(declared, "joint", mimic_location),
        "",
        "warning",
        "the coupling is left out",
    )
    if not leader:
        return None, ""
    mimic = Mimic(leader, coefficient("multiplier", 1), coefficient("offset", 0))
    return mimic, "; ".join(unreadable)
