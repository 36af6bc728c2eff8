"""Validation of the tree of links and joints, and the order of its joints (`joint_order`): the
file's, Pinocchio's, or a list.

Pinocchio numbers each branch to its end before the next one. Its URDF reader takes the branches of
a link in the order of the names of their joints, byte by byte, since urdfdom keeps joints in a
std::map. TOML and CSV, which Pinocchio cannot read, are ordered as a URDF would be. Its MJCF reader
takes the branches as declared, and gives every hinge one coordinate.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from symgen.description.lookup import link_hint
from symgen.description.quantities import Location, quote
from symgen.description.tree import (
    AS_DECLARED,
    AS_IN_THE_MODEL,
    BY_NAME,
    LONGEST_NAME,
    UNKNOWN,
    Connection,
    Link,
    Tree,
    refuse_many,
)
from symgen.mechanism.joints import joint_type
from symgen.support.errors import ArgumentError
from symgen.support.lists import shortened_list
from symgen.vocabulary.names import nearest

FILE, PINOCCHIO = "file", "pinocchio"


def validate_names(tree: Tree) -> None:
    """Raise DescriptionError for too many elements of a kind, and for a name that is empty, too
    long or not printable.
    """
    inertials = [inertial for link in tree.links for inertial in link.inertials]
    elements = (
        ("links", tree.links),
        ("joints", tree.connections),
        ("frames", tree.frames),
        ("loops", tree.loops),
    )
    for kind, group in (*elements, ("inertias", inertials)):
        refuse_many(len(group), kind, tree.location)
    _validate_name(tree.name, tree.location)
    for _, group in elements:
        for element in group:
            _validate_name(element.name, element.location)
    for inertial in inertials:
        if inertial.link:
            _validate_name(inertial.link, inertial.location)


def _validate_name(name: str, location: Location) -> None:
    """Raise DescriptionError for a name that is empty, too long or not printable."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise location.error(
            f"{quote(name)} is not a valid name", f"give 1 to {LONGEST_NAME} printable characters"
        )


def parents_first(tree: Tree) -> tuple[list[Connection], str]:
    """Return the joints, parents before children and otherwise as declared, and the name of the
    root link.

    Raises DescriptionError if the links and joints form no tree.
    """
    links = _links_by_name(tree)
    joint_above = _joints_by_child(tree, links)
    roots = [name for name in links if name not in joint_above]
    if not links:
        raise tree.location.error("no link is declared", "declare at least two links and a joint")
    # A graph without a root consists of cycles, which are reported below.
    if len(roots) > 1:
        listed = shortened_list(map(quote, roots), 2, separator=" and ")
        raise links[roots[1]].location.error(
            f"there are {len(roots)} root links ({listed})", "join all but one to a parent link"
        )
    order = _reachable(tree.connections, roots)
    if len(order) < len(tree.connections):
        reached = {connection.name for connection in order}
        stuck = next(c for c in tree.connections if c.name not in reached)
        raise stuck.location.error(
            "no root link reaches it, because of a cycle of joints",
            "remove one of the joints in the cycle",
        )
    return order, roots[0]


def _links_by_name(tree: Tree) -> dict[str, Link]:
    """Return the links by name. Raises DescriptionError for a repeated name."""
    links: dict[str, Link] = {}
    for link in tree.links:
        if link.name in links:
            raise link.location.error(
                f"this name is already a link{_line(links[link.name].location)}",
                "give each link its own name",
            )
        links[link.name] = link
    return links


def _joints_by_child(tree: Tree, links: Mapping[str, Link]) -> dict[str, Connection]:
    """Return the joint above each link. Raises DescriptionError for a joint with a wrong end, or a
    link with two parents.
    """
    joints: dict[str, Connection] = {}
    joint_above: dict[str, Connection] = {}
    for connection in tree.connections:
        if connection.name in joints:
            raise connection.location.error(
                f"this name is already a joint{_line(joints[connection.name].location)}",
                "give each joint its own name",
            )
        joints[connection.name] = connection
        for role, name in (("parent", connection.parent), ("child", connection.child)):
            if name not in links:
                raise connection.location.error(
                    f"its {role} link {quote(name)} is not declared", link_hint(name, links)
                )
        if connection.parent == connection.child:
            raise connection.location.error(
                f"it joins link {quote(connection.child)} to itself", "name another parent or child"
            )
        if connection.child in joint_above:
            raise connection.location.error(
                f"link {quote(connection.child)} already has a parent through joint"
                f" {quote(joint_above[connection.child].name)}",
                "remove one of the two joints, or write TOML, where a [[loop]] closes it",
            )
        joint_above[connection.child] = connection
    return joint_above


def _line(location: Location) -> str:
    """Return the line of an element as a suffix; "" if it is not known."""
    return f" at line {location.line}" if location.line is not None else ""


def _reachable(connections: Sequence[Connection], roots: Sequence[str]) -> list[Connection]:
    """Return the joints on paths from `roots`, parents before children, else as declared."""
    child_joints: dict[str, list[tuple[int, Connection]]] = {}
    for index, connection in enumerate(connections):
        child_joints.setdefault(connection.parent, []).append((index, connection))
    waiting = [item for root in roots for item in child_joints.get(root, [])]
    heapq.heapify(waiting)
    order: list[Connection] = []
    while waiting:
        _, connection = heapq.heappop(waiting)
        order.append(connection)
        for item in child_joints.get(connection.child, []):
            heapq.heappush(waiting, item)
    return order


def order_joints(
    tree: Tree,
    order: Sequence[Connection],
    joint_order: str | Sequence[str],
    moving: Collection[str],
) -> list[Connection]:
    """Return the joints of a tree in the order `joint_order`, parents first.

    `order` has the joints as declared, parents first; `moving` has the names of those with
    coordinates. Raises ArgumentError for a joint that is missing, repeated, before its parent, or
    represented by other coordinates in Pinocchio. Raises UnknownName for an unknown joint.
    """
    if joint_order == FILE:
        return list(order)
    if joint_order == PINOCCHIO:
        if tree.pinocchio_order == UNKNOWN:
            raise ArgumentError(
                f"{tree.location.file}: Pinocchio's order is unknown for this format; give"
                " joint_order as a list of the joints, parents first"
            )
        if tree.pinocchio_order != AS_DECLARED:
            _refuse_other_coordinates(order, moving)
        if tree.pinocchio_order == AS_IN_THE_MODEL:
            return list(order)
        return _depth_first(order, sort=tree.pinocchio_order == BY_NAME)
    return _as_named(order, [joint_order] if isinstance(joint_order, str) else joint_order, moving)


def _refuse_other_coordinates(order: Sequence[Connection], moving: Collection[str]) -> None:
    """Raise ArgumentError for a joint whose angle Pinocchio represents by its cosine and sine."""
    for connection in order:
        if connection.name in moving:
            of_type = joint_type(connection.kind)
            if not of_type.limited and any(
                coordinate.unit == "rad" for coordinate in of_type.positions
            ):
                raise ArgumentError(
                    f"joint {quote(connection.name)} is {connection.kind}: in Pinocchio's q its"
                    " angle is two numbers, cosine and sine; lock it, or give joint_order as a"
                    " list of the joints in Pinocchio's order and pass its angle"
                )


def _depth_first(order: Sequence[Connection], sort: bool) -> list[Connection]:
    """Return the joints branch by branch, each to its end; branches by the names of their joints if
    `sort`, else as declared.
    """
    child_joints: dict[str, list[Connection]] = {}
    for connection in order:
        child_joints.setdefault(connection.parent, []).append(connection)
    if sort:
        for branches in child_joints.values():
            branches.sort(key=lambda connection: connection.name.encode())
    children = {connection.child for connection in order}
    root = next(
        (connection.parent for connection in order if connection.parent not in children), ""
    )
    waiting, visited = list(reversed(child_joints.get(root, []))), []
    while waiting:
        visited.append(waiting.pop())
        waiting += reversed(child_joints.get(visited[-1].child, []))
    return visited


def _as_named(
    order: Sequence[Connection], names: Sequence[str], moving: Collection[str]
) -> list[Connection]:
    """Return the joints as named. A joint without coordinates needs no name and follows once its
    parents are ordered.
    """
    joints = {connection.name: connection for connection in order}
    _refuse_wrong_names(names, joints, moving)
    joint_above = {connection.child: connection for connection in order}
    ordered: dict[str, Connection] = {}
    for name in (*names, *joints):
        for connection in _carriers(joints[name], joint_above, ordered):
            if connection.name != name and connection.name in names:
                raise ArgumentError(
                    f"joint_order has joint {quote(name)} before {quote(connection.name)}, its"
                    " ancestor; name parents before children"
                )
            ordered[connection.name] = connection
    return list(ordered.values())


def _refuse_wrong_names(
    names: Sequence[str], joints: Mapping[str, Connection], moving: Collection[str]
) -> None:
    """Raise RequestError for a joint that is named twice or unknown, or has coordinates and is not
    named.
    """
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ArgumentError(
            f"joint_order names joint {quote(repeated)} twice; name every joint once"
        )
    for name in names:
        nearest(name, joints, "joint")
    missing = [name for name in joints if name in moving and name not in names]
    if missing:
        raise ArgumentError(
            f"joint_order leaves out joint {shortened_list(map(quote, missing), 1)}; name every"
            " joint that has coordinates"
        )


def _carriers(
    connection: Connection, joint_above: Mapping[str, Connection], ordered: Mapping[str, Connection]
) -> list[Connection]:
    """Return the joint and those joints between it and the base that are not yet ordered, base
    first.
    """
    chain = []
    joint: Connection | None = connection
    while joint is not None and joint.name not in ordered:
        chain.append(joint)
        joint = joint_above.get(joint.parent)
    return chain[::-1]
