"""--base free: a free joint between the world and a root link that is fixed in its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgen.description.quantities import Location, quote
from symgen.description.remarks import WORLD
from symgen.description.tree import Connection, Link, Tree
from symgen.mechanism.joints import joint_type, kinds
from symgen.vocabulary.poses import Z_AXIS

ROOT = "root_joint"
"""Name of the free joint, as in Pinocchio."""


def add_free_root_joint(tree: Tree, root: str, order: Sequence[Connection]) -> Tree:
    """Return `tree` with a new link `world` and a free joint from it to the link `root`.

    `order` lists the joints, parents first. Raises DescriptionError if the root link is named world
    or if the tree already moves on a free joint.
    """
    _refuse_free_joint(root, order)
    if root == WORLD:
        first_joint = next((connection for connection in order if connection.parent == root), None)
        fixed_joint_text = (
            f", to which joint {quote(first_joint.name)} connects {quote(first_joint.child)}"
            if first_joint is not None
            else ""
        )
        raise tree.location.error(
            f"its root link {quote(root)} is the fixed world{fixed_joint_text}",
            "leave out --base free, or remove that link from the description",
        )
    _refuse_used_name("link", WORLD, [link.name for link in tree.links], tree.location)
    _refuse_used_name("joint", ROOT, [connection.name for connection in order], tree.location)
    ground = Link(WORLD, location=tree.location)
    joint = Connection(ROOT, "free", WORLD, root, axis=Z_AXIS, location=tree.location)
    return replace(tree, links=(ground, *tree.links), connections=(joint, *tree.connections))


def _refuse_free_joint(root: str, order: Sequence[Connection]) -> None:
    """Raise DescriptionError if the only joint that moves the tree relative to its root link is a
    free joint.
    """
    fixed_to_root, moving = {root}, []
    for connection in order:
        if connection.parent in fixed_to_root and connection.kind == "fixed":
            fixed_to_root.add(connection.child)
        elif connection.parent in fixed_to_root:
            moving.append(connection)
    if len(moving) == 1 and moving[0].kind in kinds() and joint_type(moving[0].kind).free:
        raise moving[0].location.error(
            "it is a free joint on the root link already", "leave out --base free"
        )


def _refuse_used_name(kind: str, name: str, names: Sequence[str], location: Location) -> None:
    """Raise DescriptionError if the new link or joint has the name of another one."""
    if name in names:
        raise location.error(
            f"--base free adds a {kind} {quote(name)}, but a {kind} of that name exists",
            f"rename the {kind} in the description",
        )
