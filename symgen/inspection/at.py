"""--at q1=0,q2=pi/2: numbers for inputs, by the name that formulas print or by the joint's. Nothing is evaluated.

Of a joint with several coordinates each has a name of its own, as "base.px".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from symgen.description.quantities import angle, rational
from symgen.inspection.request import entry, several
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, UnknownName
from symgen.vocabulary.poses import Angle

Values = dict[tuple[str, int], Angle]
"""(argument, element) -> its value; a length or a rate is an Angle without pi."""
NOT_UNIT = Fraction(1, 1000)
"""How far the square of a quaternion's length may be from 1: four digits of each entry are near enough."""
_INPUT = re.compile(r"(q|v|a|tau|b)(\d{1,6})")


def values(mechanism: Mechanism, text: str) -> Values:
    """ "q1=0,q2=pi/2" or "elbow=pi/2"; RequestError for what is no joint, DescriptionError for what is no number."""
    found: Values = {}
    units = [coordinate.unit for joint in mechanism.leading for coordinate in joint.type.positions]
    for part in text.split(","):
        name, equals, number = (word.strip() for word in part.partition("="))
        if not equals or not name or not number:
            raise ArgumentError(
                f"'{part.strip()}' is no value; write --at q0=pi/2,q1=0 or --at JOINT=0.3"
            )
        place = _input(mechanism, name)
        turning = place[0] != "q" or units[place[1]] == "rad"
        value = angle(number) if turning else Angle(rational(number))
        if found.setdefault(place, value) != value:
            raise ArgumentError(f"'{name}' is given two values; give it once")
    for first in quaternions(mechanism):
        _check_unit(first, [found.get(("q", first + k)) for k in range(4)])
    return found


def _check_unit(first: int, entries: list[Angle | None]) -> None:
    """Raise ArgumentError if the entries that are given are those of no unit quaternion."""
    given = [x.radians for x in entries if x is not None]
    square, complete = sum(x * x for x in given), len(given) == len(entries)
    if complete and not square:
        raise ArgumentError(
            f"q{first} … q{first + 3} are a quaternion x y z w, and four zeros are none; write "
            "0, 0, 0, 1 where nothing is turned"
        )
    if square - 1 > NOT_UNIT or (complete and 1 - square > NOT_UNIT):
        raise ArgumentError(
            f"q{first} … q{first + 3} are a quaternion x y z w whose length would not be 1, and the formulas "
            "are those of unit quaternions; give it the length 1"
        )


def quaternions(mechanism: Mechanism) -> list[int]:
    """The first entry of q of every unit quaternion x y z w."""
    return [
        own.start + joint.type.quaternion
        for own, joint in zip(mechanism.q_slices, mechanism.joints, strict=True)
        if joint.type.quaternion is not None
    ]


def of_mapping(mechanism: Mechanism, given: Mapping[str, str | int | float | Fraction]) -> Values:
    """{"q1": 0, "q2": "pi/2"}; a float stands for the decimal that it prints."""
    return (
        values(mechanism, ",".join(f"{name}={_decimal(value)}" for name, value in given.items()))
        if given
        else {}
    )


def _decimal(value: str | int | float | Fraction) -> str:
    return f"{value.numerator}/{value.denominator}" if isinstance(value, Fraction) else str(value)


def _input(mechanism: Mechanism, name: str) -> tuple[str, int]:
    """qN is always the coordinate that formulas print as qN; any other name is a joint's, or that of one of its coordinates."""
    found = _INPUT.fullmatch(name)
    if found is None:
        return "q", entry(mechanism, name, mechanism.coordinate_names, "coordinates")
    count, what = (mechanism.nq, "coordinates") if found[1] == "q" else (mechanism.nv, "velocities")
    if int(found[2]) >= count:
        what = what if several(mechanism) else "joints"
        more = (
            f" (NV = {count}; q alone has NQ = {mechanism.nq})"
            if count <= int(found[2]) < mechanism.nq
            else ""
        )
        raise UnknownName(
            f"'{name}' is outside this robot's {what}; they count from 0 to {count - 1}{more}"
        )
    return found[1], int(found[2])
