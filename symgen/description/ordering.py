"""The tree of links and joints: that it is one, and the order of its joints that `joint_order` asks for.

The order is the file's, Pinocchio's, or one that names the joints.

Pinocchio counts each branch to its end before the next one. Its URDF reader takes the branches of a link in the order of the
names of their joints, byte by byte, since urdfdom keeps joints in a std::map. TOML and CSV, which Pinocchio does not read, are
ordered as a URDF would be. Its MJCF reader takes the branches as declared, and gives every hinge one coordinate.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from symgen.description.lookup import link_hint
from symgen.description.quantities import Place, shown
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
from symgen.mechanism.joints import joint_type, kinds
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import nearest

FILE, PINOCCHIO = "file", "pinocchio"


def validate_names(tree: Tree) -> None:
    """Raise DescriptionError for too many elements of a kind, and for a name that is empty, too long or not printable."""
    inertials = [inertial for link in tree.links for inertial in link.inertials]
    elements = (
        ("links", tree.links),
        ("joints", tree.connections),
        ("frames", tree.frames),
        ("loops", tree.loops),
    )
    for what, several in (*elements, ("inertias", inertials)):
        refuse_many(len(several), what, tree.place)
    _validate_name(tree.name, tree.place)
    for _, several in elements:
        for element in several:
            _validate_name(element.name, element.place)
    for inertial in inertials:
        if inertial.link:
            _validate_name(inertial.link, inertial.place)


def _validate_name(name: str, place: Place) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise place.error(
            f"{shown(name)} is no usable name", f"give 1 to {LONGEST_NAME} printable characters"
        )


def parents_first(tree: Tree) -> tuple[list[Connection], str]:
    """Return the joints parent before child, else as declared, and the name of the root link.

    DescriptionError where the links and joints form no tree.
    """
    links = _links_by_name(tree)
    above = _joints_by_child(tree, links)
    roots = [name for name in links if name not in above]
    if not links:
        raise tree.place.error("no link is declared", "declare at least two links and a joint")
    # An isolated root is reported only when there is a choice; a graph without any root is all cycle.
    if len(roots) > 1:
        listed = " and ".join(shown(name) for name in roots[:2]) + (
            f" and {len(roots) - 2} more" if len(roots) > 2 else ""
        )
        raise links[roots[1]].place.error(
            f"there are {len(roots)} root links ({listed})", "join all but one to a parent link"
        )
    order = _reachable(tree.connections, roots)
    if len(order) < len(tree.connections):
        reached = {connection.name for connection in order}
        stuck = next(c for c in tree.connections if c.name not in reached)
        raise stuck.place.error(
            "no root link reaches it, because of a cycle of joints",
            "remove one of the joints in the cycle",
        )
    return order, roots[0]


def _links_by_name(tree: Tree) -> dict[str, Link]:
    links: dict[str, Link] = {}
    for link in tree.links:
        if link.name in links:
            raise link.place.error(
                f"this name is already a link{_line(links[link.name].place)}",
                "give each link its own name",
            )
        links[link.name] = link
    return links


def _joints_by_child(tree: Tree, links: Mapping[str, Link]) -> dict[str, Connection]:
    """Return the joint above each link; raise DescriptionError where a joint joins no two links, or a link has two parents."""
    joints: dict[str, Connection] = {}
    above: dict[str, Connection] = {}
    for connection in tree.connections:
        if connection.name in joints:
            raise connection.place.error(
                f"this name is already a joint{_line(joints[connection.name].place)}",
                "give each joint its own name",
            )
        joints[connection.name] = connection
        for role, name in (("parent", connection.parent), ("child", connection.child)):
            if name not in links:
                raise connection.place.error(
                    f"its {role} link {shown(name)} is not declared", link_hint(name, links)
                )
        if connection.parent == connection.child:
            raise connection.place.error(
                f"it joins link {shown(connection.child)} to itself", "name another parent or child"
            )
        if connection.child in above:
            raise connection.place.error(
                f"link {shown(connection.child)} already has a parent through joint {shown(above[connection.child].name)}",
                "remove one of the two joints, or write TOML, where a [[loop]] closes it",
            )
        above[connection.child] = connection
    return above


def _line(place: Place) -> str:
    return f" at line {place.line}" if place.line is not None else ""


def _reachable(connections: Sequence[Connection], roots: Sequence[str]) -> list[Connection]:
    """Return the joints that paths from `roots` reach, parent before child, else as declared."""
    below: dict[str, list[tuple[int, Connection]]] = {}
    for index, connection in enumerate(connections):
        below.setdefault(connection.parent, []).append((index, connection))
    waiting = [item for root in roots for item in below.get(root, [])]
    heapq.heapify(waiting)
    order: list[Connection] = []
    while waiting:
        _, connection = heapq.heappop(waiting)
        order.append(connection)
        for item in below.get(connection.child, []):
            heapq.heappush(waiting, item)
    return order


def ordered(
    tree: Tree, order: Sequence[Connection], asked: str | Sequence[str], moving: Collection[str]
) -> list[Connection]:
    """The joints of a tree in the order that is `asked` for, parents first.

    `order`: the joints as declared, parents first; `moving`: the names of those that have coordinates. ArgumentError names a
    joint that is missing, named twice, before its parent, or of other coordinates in Pinocchio; UnknownName an unknown one.
    """
    if asked == FILE:
        return list(order)
    if asked == PINOCCHIO:
        if tree.pinocchio_order == UNKNOWN:
            raise ArgumentError(
                f"{tree.place.file}: Pinocchio's order is not known of this format; give joint_order a list of "
                "the joints, parents first"
            )
        if tree.pinocchio_order != AS_DECLARED:
            _refuse_other_coordinates(order, moving)
        if tree.pinocchio_order == AS_IN_THE_MODEL:
            return list(order)
        return _depth_first(order, sort=tree.pinocchio_order == BY_NAME)
    return _as_named(order, [asked] if isinstance(asked, str) else asked, moving)


def _refuse_other_coordinates(order: Sequence[Connection], moving: Collection[str]) -> None:
    """ArgumentError for a joint that has the cosine and the sine of an angle in Pinocchio."""
    for connection in order:
        if connection.name in moving and connection.kind in kinds():
            of_type = joint_type(connection.kind)
            if (
                not of_type.limited
                and of_type.quaternion is None
                and any(one.unit == "rad" for one in of_type.positions)
            ):
                raise ArgumentError(
                    f"joint {shown(connection.name)} is {connection.kind}: in Pinocchio's q its angle is two "
                    "numbers, cosine and sine; lock it, or give joint_order a list of the joints in Pinocchio's "
                    "order and hand over its angle"
                )


def _depth_first(order: Sequence[Connection], sort: bool) -> list[Connection]:
    """Each branch to its end; the branches of a link by the names of their joints if `sort`, else as declared."""
    below: dict[str, list[Connection]] = {}
    for connection in order:
        below.setdefault(connection.parent, []).append(connection)
    if sort:
        for branches in below.values():
            branches.sort(key=lambda connection: connection.name.encode())
    children = {connection.child for connection in order}
    root = next(
        (connection.parent for connection in order if connection.parent not in children), ""
    )
    waiting, found = list(reversed(below.get(root, []))), []
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(below.get(found[-1].child, []))
    return found


def _as_named(
    order: Sequence[Connection], names: Sequence[str], moving: Collection[str]
) -> list[Connection]:
    """Return the joints as named; those without coordinates, which need no name, follow as soon as their parents are placed."""
    joints = {connection.name: connection for connection in order}
    _refuse_wrong_names(names, joints, moving)
    above = {connection.child: connection for connection in order}
    placed: dict[str, Connection] = {}
    for name in (*names, *joints):
        for connection in _carriers(joints[name], above, placed):
            if connection.name != name and connection.name in names and name in names:
                raise ArgumentError(
                    f"joint_order has joint {shown(name)} before {shown(connection.name)}, which carries it; "
                    "name parents before children"
                )
            placed[connection.name] = connection
    return list(placed.values())


def _refuse_wrong_names(
    names: Sequence[str], joints: Mapping[str, Connection], moving: Collection[str]
) -> None:
    """Raise RequestError for a joint that is named twice, is unknown, or has coordinates and is not named."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"joint_order names joint {shown(twice)} twice; name every joint once")
    for name in names:
        nearest(name, joints, "joint")
    missing = [name for name in joints if name in moving and name not in names]
    if missing:
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise ArgumentError(
            f"joint_order leaves out joint {shown(missing[0])}{more}; name every joint that has coordinates"
        )


def _carriers(
    connection: Connection, above: Mapping[str, Connection], placed: Mapping[str, Connection]
) -> list[Connection]:
    """The joint and those that carry it and are not yet placed, the first one first."""
    found = []
    nearer: Connection | None = connection
    while nearer is not None and nearer.name not in placed:
        found.append(nearer)
        nearer = above.get(nearer.parent)
    return found[::-1]
