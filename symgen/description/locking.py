"""Locked joints: the constant displacement of a joint at its locked value."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symgen.description.quantities import Location, angle_text, fraction_text, quote, rational
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.mechanism.joints import AboutAxis, Turning, joint_type, kinds
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import LockValue
from symgen.vocabulary.poses import Angle, Pose, Slide, Turn, compose


def locked_motions(tree: Tree, lock: Mapping[str, LockValue], snapper: Snapper) -> dict[str, Pose]:
    """Return the constant displacement of every locked joint, by name. Raises RequestError for a
    joint that cannot be locked.
    """
    motions: dict[str, Pose] = {}
    moving = {c.name: c for c in tree.connections if c.kind != "fixed"}
    fixed = {c.name for c in tree.connections if c.kind == "fixed"}
    for name, value in lock.items():
        if name in fixed:
            raise ArgumentError(
                f"joint {quote(name)} cannot be locked: it is fixed already; remove it from lock"
            )
        connection = moving[nearest(name, moving, "joint")]
        location = Location(element=f"lock {name}")
        motions[name] = _motion(connection, value, location, snapper)
    return motions


def _motion(connection: Connection, value: LockValue, location: Location, snapper: Snapper) -> Pose:
    """Return the displacement of a joint at the value at which it is locked."""
    if connection.kind not in kinds():
        if value not in (None, 0, "0", ""):
            raise ArgumentError(
                f"joint {quote(connection.name)} of type {quote(connection.kind)} can be locked"
                " only at zero; give no value"
            )
        return ()
    of_type = joint_type(connection.kind)
    if of_type.nq > 1:
        if value not in (None, 0, "0", ""):
            raise ArgumentError(
                f"joint {quote(connection.name)} has {of_type.nq} coordinates and can be locked"
                " only at zero; give no value"
            )
        return ()
    position = locked_at(connection, value, location, snapper)
    if isinstance(position, Angle):
        return compose(
            tuple(_step_at(step, connection, position, location) for step in _motions(connection))
        )
    return compose(
        tuple(Slide(connection.axis, step.rate * position) for step in _motions(connection))
    )


def locked_at(
    connection: Connection, value: LockValue, location: Location, snapper: Snapper
) -> Angle | Fraction:
    """Return the coordinate of a locked joint with one coordinate: an angle, or a length in m."""
    if joint_type(connection.kind).positions[0].unit == "rad":
        if isinstance(value, Angle):
            return value
        return (
            Angle(value) if isinstance(value, Fraction) else snapper.angle(_text(value), location)
        )
    if isinstance(value, Angle):
        raise ArgumentError(
            f"joint {quote(connection.name)} slides: lock it at a length in m, not at an angle"
        )
    return value if isinstance(value, Fraction) else rational(_text(value), location)


def _motions(connection: Connection) -> list[AboutAxis]:
    """Return the elementary motions of a joint about its axis."""
    return [
        motion
        for motion in joint_type(connection.kind).elementary_motions(dict(connection.parameters))
        if isinstance(motion, AboutAxis)
    ]


def _step_at(
    step: AboutAxis, connection: Connection, angle: Angle, location: Location
) -> Turn | Slide:
    """Return an elementary motion of a rotating joint at an angle. A multiple of π times a pitch
    would not be rational.
    """
    if isinstance(step, Turning):
        return Turn(connection.axis, Angle(step.rate * angle.radians, step.rate * angle.pi))
    if angle.pi:
        raise location.error(
            "it advances as it rotates, and a multiple of pi is not a length",
            "lock it at an angle in plain rad",
        )
    return Slide(connection.axis, step.rate * angle.radians)


def _text(value: int | float | str | None) -> str:
    return "0" if value is None or value == "" else str(value)


def locked_position_text(motion: Pose) -> str:
    """Return the locked position of a motion as text, with its unit."""
    for step in motion:
        if isinstance(step, Turn):
            return f"{angle_text(step.angle)} rad"
        if isinstance(step, Slide):
            return f"{fraction_text(step.distance)} m"
    return "0"
