"""--base free: a root link that stands still in its description gets a free joint to the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgen.description.quantities import shown
from symgen.description.remarks import WORLD
from symgen.description.tree import Connection, Link, Tree
from symgen.mechanism.joints import joint_type, kinds
from symgen.vocabulary.poses import Z_AXIS

ROOT = "root_joint"
"""The name of the free joint, as Pinocchio has it."""


def freed(tree: Tree, root: str, order: Sequence[Connection]) -> Tree:
    """`tree` with its `root` link moved by a free joint on a new link `world`; `order` are its joints, parents first.

    DescriptionError where the root is the world already, or where it floats.
    """
    first = next((connection for connection in order if connection.parent == root), None)
    still, moving = {root}, []
    for connection in order:
        if connection.parent in still and connection.kind == "fixed":
            still.add(connection.child)
        elif connection.parent in still:
            moving.append(connection)
    if len(moving) == 1 and moving[0].kind in kinds() and joint_type(moving[0].kind).free:
        raise moving[0].place.error(
            "it is a free joint on the root link already", "leave out --base free"
        )
    if root == WORLD:
        held = (
            f", and joint {shown(first.name)} holds {shown(first.child)} to it"
            if first is not None
            else ""
        )
        raise tree.place.error(
            f"its root link is {shown(root)}, which stands for what never moves{held}",
            "leave out --base free, or take that link out of the description",
        )
    for what, names in (
        ("link", [link.name for link in tree.links]),
        ("joint", [c.name for c in order]),
    ):
        taken = WORLD if what == "link" else ROOT
        if taken in names:
            raise tree.place.error(
                f"--base free adds a {what} {shown(taken)}, and there is one of that name",
                "rename it",
            )
    ground = Link(WORLD, place=tree.place)
    joint = Connection(ROOT, "free", WORLD, root, axis=Z_AXIS, place=tree.place)
    return replace(tree, links=(ground, *tree.links), connections=(joint, *tree.connections))
