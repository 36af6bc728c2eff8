"""Joints that mimic others, where they are to follow them: what is refused, and which are locked with their leader."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symgen.description.locking import locked_at
from symgen.description.quantities import shown
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.mechanism.coupling import row
from symgen.mechanism.joints import joint_type, kinds
from symgen.support.errors import DescriptionError
from symgen.vocabulary.options import LockValue
from symgen.vocabulary.poses import Angle

WAYS = ("independent", "refuse", "couple")
"""What may be done with joints that mimic others."""
INSTEAD = "lock it, or read mimic joints as independent"


def locked_with_leaders(
    tree: Tree, lock: Mapping[str, LockValue], snapper: Snapper
) -> dict[str, LockValue]:
    """`lock`, and the joints that stand still because what they follow does, each at its own value (rad or m).

    A joint that is locked by name stays where it was asked to be and follows nothing. Raises DescriptionError for a joint that
    cannot follow: in a circle, of several degrees of freedom, or after one that is unknown, fixed or of several.
    """
    joints = {one.name: one for one in tree.connections}
    found = dict(lock)
    mimics = {
        name: None if name in lock or one.kind == "fixed" else one.mimic
        for name, one in joints.items()
    }
    for one in tree.connections:
        way, round_ = row(one.name, mimics, found)
        if round_:
            raise _refused(
                one,
                f"in a circle ({' → '.join(map(str, round_))})",
                "let one of them move by itself",
            )
        for name in reversed(way):
            _settle(joints[name], joints, found, snapper)
            mimics[name] = None
    return found


def _settle(
    one: Connection, joints: Mapping[str, Connection], found: dict[str, LockValue], snapper: Snapper
) -> None:
    """Lock it with its leader, of which is known whether it is locked."""
    mimic = one.mimic
    assert mimic is not None
    if one.unsure:
        raise one.place.error(
            f"it is to follow joint {shown(mimic.joint)}, and {one.unsure}", "correct the number"
        )
    leader = joints.get(mimic.joint)
    if leader is None:
        raise _refused(one, "which is not declared", INSTEAD)
    if leader.kind == "fixed":
        raise _refused(one, "which is fixed", INSTEAD)
    for which in (one, leader):
        if which.kind in kinds() and (joint_type(which.kind).nq, joint_type(which.kind).nv) != (
            1,
            1,
        ):
            raise _refused(
                one, f"and {shown(which.name)} has more than one degree of freedom", INSTEAD
            )
    if not mimic.multiplier:
        found[one.name] = mimic.offset
    elif leader.name in found and leader.kind in kinds():
        at = locked_at(leader, found[leader.name], leader.place, snapper)
        found[one.name] = _followed(one, mimic.multiplier, mimic.offset, at)


def _followed(
    one: Connection, multiplier: Fraction, offset: Fraction, at: Angle | Fraction
) -> Angle | Fraction:
    """Where a joint stands whose leader is locked `at` a value."""
    if isinstance(at, Fraction):
        return multiplier * at + offset
    if one.kind in kinds() and joint_type(one.kind).positions[0].unit == "rad":
        return Angle(multiplier * at.radians + offset, multiplier * at.pi)
    if at.pi:
        raise one.place.error(
            "it slides after a joint that is locked at a multiple of pi, which is no length",
            "lock that joint at an angle in plain rad",
        )
    return multiplier * at.radians + offset


def _refused(one: Connection, why: str, hint: str) -> DescriptionError:
    assert one.mimic is not None
    return one.place.error(f"it is to follow joint {shown(one.mimic.joint)}, {why}", hint)
