"""Where a frame stands and how it is turned: pos, and one of quat, axisangle, euler, xyaxes, zaxis.

Quaternions, angles and axes stay exact. The lengths of zaxis and xyaxes are square roots, exact where they are fractions.
"""

from __future__ import annotations

from fractions import Fraction

from symgen.description.quantities import Place, rounded
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.roots import root
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
"""Square of a sine below which MuJoCo takes two directions for one line."""


def placed(said: Attributes, settings: Settings) -> Pose:
    """The pose that the attributes of an element say."""
    return compose((Shift(said.vector("pos", ZERO3)),), turned(said, settings))


def turned(said: Attributes, settings: Settings) -> Pose:
    """The turn alone."""
    if "quat" in said:
        return compose(
            (Rotate(settings.snapper.quaternion(said.tokens("quat", 4), said.at("quat"))),)
        )
    if "axisangle" in said:
        tokens = said.tokens("axisangle", 4)
        x, y, z, _ = said.numbers("axisangle", 4)
        if not any((x, y, z)):
            raise said.at("axisangle").error("the axis is zero", "give it a direction")
        return compose((Turn((x, y, z), settings.angle(tokens[3], said, "axisangle")),))
    if "euler" in said:
        return _euler(said, settings)
    if "zaxis" in said:
        return compose(along_z(said.vector("zaxis", ZERO3), said.at("zaxis")))
    if "xyaxes" in said:
        return compose(_by_axes(said.numbers("xyaxes", 6), said.at("xyaxes")))
    return ()


def _euler(said: Attributes, settings: Settings) -> Pose:
    """Axes that ride on the frame turn it behind what is there, those that stay turn it before."""
    found: list[Step] = []
    for token, (axis, rides) in zip(said.tokens("euler", 3), settings.axes, strict=True):
        turn = Turn(axis, settings.angle(token, said, "euler"))
        found = [*found, turn] if rides else [turn, *found]
    return compose(tuple(found))


def along_z(axis: Vector3, place: Place) -> tuple[Step, ...]:
    """The least turn that takes z to `axis`; half a turn about x where it points the other way. DescriptionError: it is zero."""
    x, y, z = axis
    square = x * x + y * y + z * z
    if not square:
        raise place.error("the direction is zero", "give it a length")
    if x * x + y * y < _PARALLEL * square:
        return () if z > 0 else (Turn(X_AXIS, Angle(pi=Fraction(1))),)
    return (Rotate((root(square) + z, -y, x, Fraction(0))),)


def _by_axes(numbers: list[Fraction], place: Place) -> tuple[Step, ...]:
    """The turn whose frame has its x along the first three numbers, and its y in the half plane of the others."""
    x, y = numbers[:3], numbers[3:]
    xx, xy = _dot(x, x), _dot(x, y)
    if not xx:
        raise place.error("the x axis is zero", "give it a direction")
    y = [b - xy / xx * a for a, b in zip(x, y, strict=True)]
    yy = _dot(y, y)
    if not yy:
        raise place.error(
            "the y axis lies along the x axis or is zero", "give it another direction"
        )
    first, second = (
        [entry / length for entry in axis] for axis, length in ((x, root(xx)), (y, root(yy)))
    )
    third = [
        first[1] * second[2] - first[2] * second[1],
        first[2] * second[0] - first[0] * second[2],
        first[0] * second[1] - first[1] * second[0],
    ]
    return (Rotate(quaternion(first, second, third)),)


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((one * other for one, other in zip(a, b, strict=True)), Fraction(0))


def quaternion(x: list[Fraction], y: list[Fraction], z: list[Fraction]) -> Quaternion:
    """Of the turn whose axes these are, of any length: the row of q qᵀ with the largest diagonal."""
    w = (1 + x[0] + y[1] + z[2], y[2] - z[1], z[0] - x[2], x[1] - y[0])
    rows: list[Quaternion] = [
        w,
        (w[1], 1 + x[0] - y[1] - z[2], x[1] + y[0], z[0] + x[2]),
        (w[2], x[1] + y[0], 1 - x[0] + y[1] - z[2], y[2] + z[1]),
        (w[3], z[0] + x[2], y[2] + z[1], 1 - x[0] - y[1] + z[2]),
    ]
    largest = max(range(4), key=lambda k: rows[k][k])
    a, b, c, d = map(rounded, rows[largest])
    return a, b, c, d
