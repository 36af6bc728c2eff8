"""The order of the joints of a tree, as `joint_order` asks for it: the file's, Pinocchio's, or one that names the joints.

Pinocchio counts each branch to its end before the next one. Its URDF reader takes the branches of a link in the order of the
names of their joints, byte by byte, since urdfdom keeps joints in a std::map. TOML and CSV, which Pinocchio does not read, are
ordered as a URDF would be. Its MJCF reader takes the branches as declared, and gives every hinge one coordinate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from symgen.description.quantities import shown
from symgen.description.tree import AS_DECLARED, AS_IN_THE_MODEL, BY_NAME, UNKNOWN, Connection, Tree
from symgen.mechanism.joints import joint_type, kinds
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import nearest

FILE, PINOCCHIO = "file", "pinocchio"


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
    """The joints as named; those without coordinates, which need no name, as soon as what carries them is there."""
    known = {connection.name: connection for connection in order}
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"joint_order names joint {shown(twice)} twice; name every joint once")
    for name in names:
        nearest(name, known, "joint")
    missing = [
        connection.name
        for connection in order
        if connection.name in moving and connection.name not in names
    ]
    if missing:
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise ArgumentError(
            f"joint_order leaves out joint {shown(missing[0])}{more}; name every joint that has coordinates"
        )
    above = {connection.child: connection for connection in order}
    placed: dict[str, Connection] = {}
    for name in (*names, *known):
        for connection in _carriers(known[name], above, placed):
            if connection.name != name and connection.name in names and name in names:
                raise ArgumentError(
                    f"joint_order has joint {shown(name)} before {shown(connection.name)}, which carries it; "
                    "name parents before children"
                )
            placed[connection.name] = connection
    return list(placed.values())


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
