"""Floating base by --base free: a free joint between the world and the root link of a description
that fixes this link.
"""

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

    `order` lists the joints, parents first. Raises DescriptionError if the root link is called
    world, if the description already has a floating base, or if the name of the new link or joint
    is used.
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
    """Raise DescriptionError if the description already has a floating base.

    This is the case if exactly one joint leads from the root link, and from the links fixed to it,
    to moving links, and if that joint is free.
    """
    fixed_to_root, moving_joints = {root}, []
    for connection in order:
        if connection.parent in fixed_to_root and connection.kind == "fixed":
            fixed_to_root.add(connection.child)
        elif connection.parent in fixed_to_root:
            moving_joints.append(connection)
    if len(moving_joints) != 1 or moving_joints[0].kind not in kinds():
        return
    if joint_type(moving_joints[0].kind).free:
        raise moving_joints[0].location.error(
            "it is a free joint on the root link already", "leave out --base free"
        )


def _refuse_used_name(kind: str, name: str, names: Sequence[str], location: Location) -> None:
    """Raise DescriptionError if the name of the new link or joint is among the used `names`."""
    if name in names:
        raise location.error(
            f"--base free adds a {kind} {quote(name)}, but a {kind} of that name exists",
            f"rename the {kind} in the description",
        )
