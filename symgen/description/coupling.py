"""Mimic joints that follow their leaders: refusals, and followers that are locked together with
their leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symgen.description.locking import locked_at
from symgen.description.quantities import quote
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.mechanism.coupling import mimic_chain
from symgen.mechanism.joints import joint_type, kinds
from symgen.support.errors import DescriptionError
from symgen.vocabulary.options import LockValue
from symgen.vocabulary.poses import Angle

MIMIC_CHOICES = ("independent", "refuse", "couple")
"""Treatments of mimic joints."""
REMEDY = "lock it, or read mimic joints with --mimic independent"


def locked_with_leaders(
    tree: Tree, lock: Mapping[str, LockValue], snapper: Snapper
) -> dict[str, LockValue]:
    """Return `lock` and the followers of locked joints, each with its own value (rad or m).

    A joint that is locked by name keeps its value and follows no joint. Raises DescriptionError for
    a joint that cannot follow: in a circle, with several degrees of freedom, or with a leader that
    is unknown, fixed, or has several.
    """
    joints = {joint.name: joint for joint in tree.connections}
    locked = dict(lock)
    mimics = {
        name: None if joint.kind == "fixed" else joint.mimic for name, joint in joints.items()
    }
    for joint in tree.connections:
        chain, circle = mimic_chain(joint.name, mimics, locked)
        if circle:
            raise _cannot_follow(
                joint,
                f"in a circle ({' → '.join(map(str, circle))})",
                "make one of them independent",
            )
        for name in reversed(chain):
            _lock_with_leader(joints[name], joints, locked, snapper)
            mimics[name] = None
    return locked


def _lock_with_leader(
    follower: Connection,
    joints: Mapping[str, Connection],
    locked: dict[str, LockValue],
    snapper: Snapper,
) -> None:
    """Lock a follower if its leader is locked. The status of the leader is already known."""
    mimic = follower.mimic
    assert mimic is not None
    if follower.unsure:
        raise follower.location.error(
            f"it mimics joint {quote(mimic.joint)}, but {follower.unsure}", "correct the number"
        )
    leader = joints.get(mimic.joint)
    if leader is None:
        raise _cannot_follow(follower, "which is not declared", REMEDY)
    if leader.kind == "fixed":
        raise _cannot_follow(follower, "which is fixed", REMEDY)
    for joint in (follower, leader):
        if joint.kind in kinds() and (joint_type(joint.kind).nq, joint_type(joint.kind).nv) != (
            1,
            1,
        ):
            raise _cannot_follow(
                follower, f"but {quote(joint.name)} has more than one degree of freedom", REMEDY
            )
    if not mimic.multiplier:
        locked[follower.name] = mimic.offset
    elif leader.name in locked and leader.kind in kinds():
        leader_value = locked_at(leader, locked[leader.name], leader.location, snapper)
        locked[follower.name] = _follower_value(
            follower, mimic.multiplier, mimic.offset, leader_value
        )


def _follower_value(
    follower: Connection, multiplier: Fraction, offset: Fraction, leader_value: Angle | Fraction
) -> Angle | Fraction:
    """Return the value of a joint whose leader is locked at `leader_value`."""
    if isinstance(leader_value, Fraction):
        return multiplier * leader_value + offset
    if follower.kind in kinds() and joint_type(follower.kind).positions[0].unit == "rad":
        return Angle(multiplier * leader_value.radians + offset, multiplier * leader_value.pi)
    if leader_value.pi:
        raise follower.location.error(
            "it slides, and its leader is locked at a multiple of pi, which is not a length",
            "lock the leader at an angle in plain rad",
        )
    return multiplier * leader_value.radians + offset


def _cannot_follow(follower: Connection, why: str, hint: str) -> DescriptionError:
    """Return the error that a joint cannot follow its leader."""
    assert follower.mimic is not None
    return follower.location.error(f"it mimics joint {quote(follower.mimic.joint)}, {why}", hint)
