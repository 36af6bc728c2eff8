"""Joints that are locked at a value: the constant displacement that stays of them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symgen.description.quantities import Place, angle_text, fraction_text, rational, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.mechanism.joints import AboutAxis, Turning, joint_type, kinds
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import LockValue
from symgen.vocabulary.poses import Angle, Pose, Slide, Turn, compose


def locked_motions(tree: Tree, lock: Mapping[str, LockValue], snapper: Snapper) -> dict[str, Pose]:
    """The constant displacement of every locked joint."""
    motions: dict[str, Pose] = {}
    moving = {c.name: c for c in tree.connections if c.kind != "fixed"}
    fixed = {c.name for c in tree.connections if c.kind == "fixed"}
    for name, value in lock.items():
        if name in fixed:
            raise ArgumentError(
                f"joint {shown(name)} cannot be locked: it is fixed already; leave it out"
            )
        connection = moving[nearest(name, moving, "joint")]
        place = Place(element=f"lock {name}")
        motions[name] = _motion(connection, value, place, snapper)
    return motions


def _motion(connection: Connection, value: LockValue, place: Place, snapper: Snapper) -> Pose:
    if connection.kind not in kinds():
        if value not in (None, 0, "0", ""):
            raise ArgumentError(
                f"joint {shown(connection.name)} of type {shown(connection.kind)} can be locked at its zero "
                "only; give no value"
            )
        return ()
    of_type = joint_type(connection.kind)
    if of_type.nq > 1:
        if value not in (None, 0, "0", ""):
            raise ArgumentError(
                f"joint {shown(connection.name)} has {of_type.nq} coordinates and is locked at its zero only; "
                "give no value"
            )
        return ()
    at = locked_at(connection, value, place, snapper)
    if isinstance(at, Angle):
        return compose(tuple(_locked(step, connection, at, place) for step in _motions(connection)))
    return compose(tuple(Slide(connection.axis, step.rate * at) for step in _motions(connection)))


def locked_at(
    connection: Connection, value: LockValue, place: Place, snapper: Snapper
) -> Angle | Fraction:
    """The coordinate of a joint of one that is locked at `value`: an angle, or a length in m."""
    if joint_type(connection.kind).positions[0].unit == "rad":
        if isinstance(value, Angle):
            return value
        return Angle(value) if isinstance(value, Fraction) else snapper.angle(_text(value), place)
    if isinstance(value, Angle):
        raise ArgumentError(
            f"joint {shown(connection.name)} slides: lock it at a length in m, not at an angle"
        )
    return value if isinstance(value, Fraction) else rational(_text(value), place)


def _motions(connection: Connection) -> list[AboutAxis]:
    return [
        one
        for one in joint_type(connection.kind).oracle(dict(connection.parameters))
        if isinstance(one, AboutAxis)
    ]


def _locked(step: AboutAxis, connection: Connection, angle: Angle, place: Place) -> Turn | Slide:
    """What an elementary motion of a joint that turns does at an angle; π times a pitch is no ratio."""
    if isinstance(step, Turning):
        return Turn(connection.axis, Angle(step.rate * angle.radians, step.rate * angle.pi))
    if angle.pi:
        raise place.error(
            "it advances as it turns, and a multiple of pi is no length",
            "lock it at an angle in plain rad",
        )
    return Slide(connection.axis, step.rate * angle.radians)


def _text(value: int | float | str | None) -> str:
    return "0" if value is None or value == "" else str(value)


def place_text(motion: Pose) -> str:
    for step in motion:
        if isinstance(step, Turn):
            return f"{angle_text(step.angle)} rad"
        if isinstance(step, Slide):
            return f"{fraction_text(step.distance)} m"
    return "0"
