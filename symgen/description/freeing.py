"""--base free: a root link that stands still in its description gets a free joint to the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgen.description.quantities import Place, shown
from symgen.description.remarks import WORLD
from symgen.description.tree import Connection, Link, Tree
from symgen.mechanism.joints import joint_type, kinds
from symgen.vocabulary.poses import Z_AXIS

ROOT = "root_joint"
"""The name of the free joint, as Pinocchio has it."""


def freed(tree: Tree, root: str, order: Sequence[Connection]) -> Tree:
    """Return `tree` with its `root` link moved by a free joint on a new link `world`; `order` are its joints, parents first.

    DescriptionError where the root is the world already, or where it floats.
    """
    _refuse_free_joint(root, order)
    if root == WORLD:
        first = next((connection for connection in order if connection.parent == root), None)
        held = (
            f", and joint {shown(first.name)} holds {shown(first.child)} to it"
            if first is not None
            else ""
        )
        raise tree.place.error(
            f"its root link is {shown(root)}, which stands for what never moves{held}",
            "leave out --base free, or take that link out of the description",
        )
    _refuse_taken("link", WORLD, [link.name for link in tree.links], tree.place)
    _refuse_taken("joint", ROOT, [connection.name for connection in order], tree.place)
    ground = Link(WORLD, place=tree.place)
    joint = Connection(ROOT, "free", WORLD, root, axis=Z_AXIS, place=tree.place)
    return replace(tree, links=(ground, *tree.links), connections=(joint, *tree.connections))


def _refuse_free_joint(root: str, order: Sequence[Connection]) -> None:
    """Raise DescriptionError where a free joint is all that moves the tree against its root link."""
    fixed_to_root, moving = {root}, []
    for connection in order:
        if connection.parent in fixed_to_root and connection.kind == "fixed":
            fixed_to_root.add(connection.child)
        elif connection.parent in fixed_to_root:
            moving.append(connection)
    if len(moving) == 1 and moving[0].kind in kinds() and joint_type(moving[0].kind).free:
        raise moving[0].place.error(
            "it is a free joint on the root link already", "leave out --base free"
        )


def _refuse_taken(what: str, name: str, names: Sequence[str], place: Place) -> None:
    if name in names:
        raise place.error(
            f"--base free adds a {what} {shown(name)}, and there is one of that name",
            "rename it",
        )
