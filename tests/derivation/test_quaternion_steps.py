"""Poses by quaternions: exact, equal to rotations about an axis, and snapped to right angles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.derivation.constants import displacement, precision
from symgen.description.canonical import to_toml
from symgen.description.quantities import Location
from symgen.description.snapping import Snapper
from symgen.reference.mechanics import Reference
from symgen.support.errors import ArgumentError, DescriptionError
from symgen.vocabulary.poses import Angle, Rotate, Turn

ARM = """
name = "skewed"
[[body]]
name = "upper"
parent = "base"
mass = 2
centre = [0.1, 0.2, 0.05]
inertia = [0.1, 0.01, 0.02, 0.2, 0.03, 0.25]
[body.joint]
name = "a"
type = "revolute"
axis = [0, 0, 1]
steps = [{ quaternion = [0.9, "1/3", -0.2, 0.1] }, { shift = [0.1, 0, 0.2] }]
[[body]]
name = "fore"
parent = "upper"
[body.joint]
name = "b"
type = "revolute"
axis = [0, 1, 0]
steps = [{ shift = [0.3, 0, 0] }, { quaternion = [0.7071, 0, 0.7071, 0] }]
[[body.part]]
mass = 1
inertia = [0.01, 0, 0, 0.02, 0, 0.03]
steps = [{ shift = [0, 0.1, 0] }, { quaternion = [1, 2, 3, 4] }]
"""
HERE = Location("f", 1, "x")


@pytest.mark.parametrize(
    ("quaternion", "axis", "turns"),
    [
        ((2, 2, 0, 0), (1, 0, 0), "1/2"),
        ((-3, -3, -3, -3), (1, 1, 1), "2/3"),
        ((0, 0, 5, 0), (0, 1, 0), "1"),
    ],
)
def test_a_quaternion_equals_the_rotation_about_its_axis(
    quaternion: tuple[int, ...], axis: tuple[int, ...], turns: str
) -> None:
    w, x, y, z = map(Fraction, quaternion)
    a, b, c = map(Fraction, axis)
    with precision():
        rotation, _ = displacement((Rotate((w, x, y, z)),))
        expected_rotation, _ = displacement((Turn((a, b, c), Angle(pi=Fraction(turns))),))
    entries = [
        (float(p), float(q))
        for row, expected in zip(rotation, expected_rotation, strict=True)
        for p, q in zip(row, expected, strict=True)
    ]
    assert all(value == pytest.approx(expected, abs=1e-15) for value, expected in entries)
    assert {value for value, _ in entries} <= {-1.0, 0.0, 1.0}


def test_a_robot_with_quaternions_passes_verification_and_survives_conversion() -> None:
    robot = symgen.load(ARM)
    assert symgen.verify(robot, functions=["mass_matrix", "inverse_dynamics"]).passed
    again = symgen.load(to_toml(robot))
    assert (again.joints, again.bodies, again.frames) == (robot.joints, robot.bodies, robot.frames)


def test_the_length_of_a_quaternion_has_no_effect_and_its_signs_have() -> None:
    def mass_matrix(text: str) -> list[float]:
        return [
            float(x) for x in Reference(symgen.load(text)).mass_matrix(np.array([0.3, 0.4])).ravel()
        ]

    meant = mass_matrix(ARM)
    assert mass_matrix(ARM.replace("[1, 2, 3, 4]", "[0.5, 1, 1.5, 2]")) == pytest.approx(
        meant, rel=1e-15
    )
    assert mass_matrix(ARM.replace("[1, 2, 3, 4]", "[1, 2, 3, -4]")) != pytest.approx(
        meant, rel=1e-3
    )


@pytest.mark.parametrize(
    ("tokens", "meant"),
    [
        ("0.707107 0.707106 0 0", (1, 1, 0, 0)),
        ("-0.70711 0 0 0.7071", (-1, 0, 0, 1)),
        ("0.5 0.5 0.4999999999 -0.5", (1, 1, 1, -1)),
        ("1 0 0 1e-10", (1, 0, 0, 0)),
        ("0 1e-9 -1 0", (0, 0, -1, 0)),
    ],
)
def test_a_rounded_right_angle_is_snapped(tokens: str, meant: tuple[int, ...]) -> None:
    snapper = Snapper()
    assert snapper.quaternion(tokens.split(), HERE) == meant
    text = f"line 1, x: {tokens} read as {' '.join(map(str, meant))}"
    assert [snap.text.partition(" (")[0] for snap in snapper.snaps] == [text]
    off = Snapper(None)
    assert off.quaternion(tokens.split(), HERE) != meant
    assert not off.snaps


@pytest.mark.parametrize(
    "tokens",
    ["0.707107 0.707107 0 0", "1 0 0 0.0001", "0.5 0.5 0.499 -0.5", "0.7071 0.70 0 0", "3 1 0 0"],
)
def test_other_rotations_are_not_snapped(tokens: str) -> None:
    snapper = Snapper()
    assert snapper.quaternion(tokens.split(), HERE) == tuple(map(Fraction, tokens.split()))
    assert not snapper.snaps


def test_a_zero_or_incomplete_quaternion_is_refused() -> None:
    with pytest.raises(DescriptionError, match="the quaternion is zero; give it a direction"):
        symgen.load(ARM.replace("[1, 2, 3, 4]", "[0, 0, 0, 0]"))
    with pytest.raises(DescriptionError, match="not an array of 4 numbers"):
        symgen.load(ARM.replace("[1, 2, 3, 4]", "[1, 2, 3]"))


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        ({"model": "a"}, "--model"),
        ({"xacro": {"a": "b"}}, "--xacro"),
        ({"packages": {"a": "b"}}, "--package"),
    ],
)
def test_an_option_without_meaning_for_a_format_is_refused(
    option: dict[str, Any], flag: str
) -> None:
    with pytest.raises(
        ArgumentError, match=f"{flag} has no meaning for a file such as 'panda.toml'"
    ):
        symgen.load("panda", **option)
