"""Values of inputs, --at q1=0,q2=pi/2, by the name that formulas print or by the joint's name. No
text is evaluated as code.

A joint with several coordinates has a name for each of them, such as "base.px".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from symgen.description.quantities import angle, rational
from symgen.inspection.request import find_entry, has_several_coordinates
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, UnknownName
from symgen.vocabulary.poses import Angle

Values = dict[tuple[str, int], Angle]
"""(argument, element) -> value; a length or a rate is an Angle without pi."""
NOT_UNIT = Fraction(1, 1000)
"""Tolerance on the squared length of a quaternion: four digits of each entry are enough."""
_INPUT = re.compile(r"(q|v|a|tau|b)(\d{1,6})")


def parse_values(mechanism: Mechanism, text: str) -> Values:
    """Parse "q1=0,q2=pi/2" or "elbow=pi/2".

    Raises ArgumentError or UnknownName for an unknown joint, DescriptionError for an invalid
    number.
    """
    values: Values = {}
    units = [coordinate.unit for joint in mechanism.leading for coordinate in joint.type.positions]
    for assignment in text.split(","):
        name, equals, number = (word.strip() for word in assignment.partition("="))
        if not equals or not name or not number:
            raise ArgumentError(
                f"'{assignment.strip()}' is not an assignment; write --at q0=pi/2,q1=0 or --at"
                " JOINT=0.3"
            )
        key = _parse_input(mechanism, name)
        is_angle = key[0] != "q" or units[key[1]] == "rad"
        value = angle(number) if is_angle else Angle(rational(number))
        if values.setdefault(key, value) != value:
            raise ArgumentError(f"'{name}' is given two values; give it once")
    for first in quaternions(mechanism):
        _check_unit(first, [values.get(("q", first + k)) for k in range(4)])
    return values


def _check_unit(first: int, entries: list[Angle | None]) -> None:
    """Raise ArgumentError if the given entries are not those of a unit quaternion."""
    numbers = [x.radians for x in entries if x is not None]
    square, complete = sum(x * x for x in numbers), len(numbers) == len(entries)
    if complete and not square:
        raise ArgumentError(
            f"q{first} … q{first + 3} are a quaternion x y z w, and four zeros are not a "
            "rotation; write 0, 0, 0, 1 for no rotation"
        )
    if square - 1 > NOT_UNIT or (complete and 1 - square > NOT_UNIT):
        raise ArgumentError(
            f"q{first} … q{first + 3} are a quaternion x y z w, and its length "
            "is not 1; give a unit quaternion"
        )


def quaternions(mechanism: Mechanism) -> list[int]:
    """Return the index in q of the first entry of each unit quaternion x y z w."""
    return [
        joint_slice.start + joint.type.quaternion
        for joint_slice, joint in zip(mechanism.q_slices, mechanism.joints, strict=True)
        if joint.type.quaternion is not None
    ]


def values_from_mapping(
    mechanism: Mechanism, mapping: Mapping[str, str | int | float | Fraction]
) -> Values:
    """Convert {"q1": 0, "q2": "pi/2"} to values; a float stands for the decimal that it prints."""
    return (
        parse_values(
            mechanism, ",".join(f"{name}={_decimal(value)}" for name, value in mapping.items())
        )
        if mapping
        else {}
    )


def _decimal(value: str | int | float | Fraction) -> str:
    return f"{value.numerator}/{value.denominator}" if isinstance(value, Fraction) else str(value)


def _parse_input(mechanism: Mechanism, name: str) -> tuple[str, int]:
    """Return (argument, element) of a name.

    qN is always the coordinate that formulas print as qN; any other name is that of a joint or of a
    joint's coordinate.
    """
    match = _INPUT.fullmatch(name)
    if match is None:
        return "q", find_entry(mechanism, name, mechanism.coordinate_names, "coordinates")
    count, kind = (mechanism.nq, "coordinates") if match[1] == "q" else (mechanism.nv, "velocities")
    if int(match[2]) >= count:
        kind = kind if has_several_coordinates(mechanism) else "joints"
        explanation = (
            f" (NV = {count}; q alone has NQ = {mechanism.nq})"
            if count <= int(match[2]) < mechanism.nq
            else ""
        )
        raise UnknownName(
            f"'{name}' is outside this robot's {kind}; they count from 0 to"
            f" {count - 1}{explanation}"
        )
    return match[1], int(match[2])
