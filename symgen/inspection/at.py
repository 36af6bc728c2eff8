"""--at q1=0,q2=pi/2: numbers for inputs, by the name that formulas print or by the joint's. Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from symgen.description.quantities import angle, rational
from symgen.errors import ArgumentError, UnknownName
from symgen.joints import Coordinate
from symgen.mechanism import Mechanism
from symgen.poses import Angle

Values = dict[tuple[str, int], Angle]
"""(argument, element) -> its value; a length or a rate is an Angle without pi."""
_INPUT = re.compile(r"(q|v|a|tau|b)(\d{1,6})")


def values(mechanism: Mechanism, text: str) -> Values:
    """"q1=0,q2=pi/2" or "elbow=pi/2"; RequestError for what is no joint, DescriptionError for what is no number."""
    found: Values = {}
    for part in text.split(","):
        name, equals, number = (word.strip() for word in part.partition("="))
        if not equals or not name or not number:
            raise ArgumentError(f"'{part.strip()}' is no value; write --at q0=pi/2,q1=0 or --at JOINT=0.3")
        place = _input(mechanism, name)
        turning = place[0] != "q" or _of_q(mechanism)[place[1]].unit == "rad"
        value = angle(number) if turning else Angle(rational(number))
        if found.setdefault(place, value) != value:
            raise ArgumentError(f"'{name}' is given two values; give it once")
    return found


def of_mapping(mechanism: Mechanism, given: Mapping[str, str | int | float | Fraction]) -> Values:
    """{"q1": 0, "q2": "pi/2"}; a float stands for the decimal that it prints."""
    return values(mechanism, ",".join(f"{name}={_decimal(value)}" for name, value in given.items())) if given else {}


def _decimal(value: str | int | float | Fraction) -> str:
    return f"{value.numerator}/{value.denominator}" if isinstance(value, Fraction) else str(value)


def _of_q(mechanism: Mechanism) -> list[Coordinate]:
    return [coordinate for joint in mechanism.joints for coordinate in joint.type.positions]


def _input(mechanism: Mechanism, name: str) -> tuple[str, int]:
    """qN is always the coordinate that formulas print as qN; any other name is a joint's."""
    found = _INPUT.fullmatch(name)
    if found is None:
        return "q", mechanism.joint_index(name)
    if int(found[2]) >= mechanism.nv:
        raise UnknownName(f"'{name}' is outside this robot's joints; they count from 0 to {mechanism.nv - 1}")
    return found[1], int(found[2])
