"""Position and orientation of a frame: pos, and one of quat, axisangle, euler, xyaxes, zaxis.

Quaternions, angles and axes stay exact. The lengths of zaxis and xyaxes are square roots, exact if
they are fractions.
"""

from __future__ import annotations

from fractions import Fraction

from symgen.description.quantities import Location, round_to_digits
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.roots import square_root
from symgen.description.readers._mjcf.settings import Settings
from symgen.vocabulary.poses import (
    X_AXIS,
    ZERO3,
    Angle,
    Pose,
    Quaternion,
    Rotate,
    Shift,
    Step,
    Turn,
    Vector3,
    compose,
)

_PARALLEL = Fraction(1, 10**20)
"""Squared sine below which MuJoCo treats two directions as one line."""


def pose_of(attributes: Attributes, settings: Settings) -> Pose:
    """Return the pose of an element."""
    return compose((Shift(attributes.vector("pos", ZERO3)),), orientation_of(attributes, settings))


def orientation_of(attributes: Attributes, settings: Settings) -> Pose:
    """Return the orientation of an element."""
    if "quat" in attributes:
        return compose(
            (
                Rotate(
                    settings.snapper.quaternion(attributes.tokens("quat", 4), attributes.at("quat"))
                ),
            )
        )
    if "axisangle" in attributes:
        tokens = attributes.tokens("axisangle", 4)
        x, y, z, _ = attributes.numbers("axisangle", 4)
        if not any((x, y, z)):
            raise attributes.at("axisangle").error("the axis is zero", "give a nonzero axis")
        return compose((Turn((x, y, z), settings.angle(tokens[3], attributes, "axisangle")),))
    if "euler" in attributes:
        return _euler(attributes, settings)
    if "zaxis" in attributes:
        return compose(rotation_of_z(attributes.vector("zaxis", ZERO3), attributes.at("zaxis")))
    if "xyaxes" in attributes:
        return compose(_rotation_of_axes(attributes.numbers("xyaxes", 6), attributes.at("xyaxes")))
    return ()


def _euler(attributes: Attributes, settings: Settings) -> Pose:
    """Return the rotation of Euler angles. Rotations about moving axes are applied after the
    previous ones, those about fixed axes before.
    """
    steps: list[Step] = []
    for token, (axis, moves) in zip(attributes.tokens("euler", 3), settings.axes, strict=True):
        turn = Turn(axis, settings.angle(token, attributes, "euler"))
        steps = [*steps, turn] if moves else [turn, *steps]
    return compose(tuple(steps))


def rotation_of_z(axis: Vector3, location: Location) -> tuple[Step, ...]:
    """Return the smallest rotation that takes z to `axis`; half a turn about x for the opposite
    direction. Raises DescriptionError for zero.
    """
    x, y, z = axis
    square = x * x + y * y + z * z
    if not square:
        raise location.error("the direction is zero", "give a nonzero direction")
    if x * x + y * y < _PARALLEL * square:
        return () if z > 0 else (Turn(X_AXIS, Angle(pi=Fraction(1))),)
    return (Rotate((square_root(square) + z, -y, x, Fraction(0))),)


def _rotation_of_axes(numbers: list[Fraction], location: Location) -> tuple[Step, ...]:
    """Return the rotation of a frame with x along the first three numbers, and y in the half plane
    of the others.
    """
    x, y = numbers[:3], numbers[3:]
    xx, xy = _dot(x, x), _dot(x, y)
    if not xx:
        raise location.error("the x axis is zero", "give a nonzero axis")
    y = [b - xy / xx * a for a, b in zip(x, y, strict=True)]
    yy = _dot(y, y)
    if not yy:
        raise location.error(
            "the y axis is parallel to the x axis or zero", "give another direction"
        )
    x_axis, y_axis = (
        [entry / length for entry in axis]
        for axis, length in ((x, square_root(xx)), (y, square_root(yy)))
    )
    z_axis = [
        x_axis[1] * y_axis[2] - x_axis[2] * y_axis[1],
        x_axis[2] * y_axis[0] - x_axis[0] * y_axis[2],
        x_axis[0] * y_axis[1] - x_axis[1] * y_axis[0],
    ]
    return (Rotate(quaternion_of_axes(x_axis, y_axis, z_axis)),)


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def quaternion_of_axes(x: list[Fraction], y: list[Fraction], z: list[Fraction]) -> Quaternion:
    """Return the quaternion of the rotation with these axes, of any length: the row of q qᵀ with
    the largest diagonal entry.
    """
    w = (1 + x[0] + y[1] + z[2], y[2] - z[1], z[0] - x[2], x[1] - y[0])
    rows: list[Quaternion] = [
        w,
        (w[1], 1 + x[0] - y[1] - z[2], x[1] + y[0], z[0] + x[2]),
        (w[2], x[1] + y[0], 1 - x[0] + y[1] - z[2], y[2] + z[1]),
        (w[3], z[0] + x[2], y[2] + z[1], 1 - x[0] - y[1] + z[2]),
    ]
    largest = max(range(4), key=lambda k: rows[k][k])
    a, b, c, d = map(round_to_digits, rows[largest])
    return a, b, c, d
