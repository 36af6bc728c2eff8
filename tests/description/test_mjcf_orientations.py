"""Orientations of MJCF elements, compared with rotation matrices in doubles."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from symgen.description.quantities import Location
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.orientations import (
    orientation_of,
    pose_of,
    quaternion_of_axes,
    rotation_of_z,
)
from symgen.description.readers._mjcf.roots import in_radians, round_long, square_root
from symgen.description.readers._mjcf.settings import Settings, read_settings
from symgen.description.snapping import Snapper
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Angle, Pose, Rotate, Shift, Turn, Vector3
from tests.description.poses_in_floats import Matrix, rotation_about, rotation_of_quaternion
from tests.shared.descriptions import pose_matrix

HERE = Location("robot.xml", 7, "body 'a'")
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")


def settings(**compiler: str) -> Settings:
    section = Element("compiler", compiler, HERE)
    return read_settings(Element("mujoco", {}, HERE, (section,)), Snapper())


def read(attributes: Mapping[str, str], **compiler: str) -> Pose:
    values = {name: (text, HERE) for name, text in attributes.items()}
    return orientation_of(Attributes(HERE, values), settings(**compiler))


def rotation(pose: Pose) -> Matrix:
    return pose_matrix(pose)[:3, :3]


def vector(*numbers: int | str) -> Vector3:
    x, y, z = map(Fraction, numbers)
    return x, y, z


@pytest.mark.parametrize(
    "quaternion",
    [
        (1, 0, 0, 0),
        (0, 1, 0, 0),
        (0, 0, 1, 0),
        (0, 0, 0, 1),
        (5, 1, -2, 3),
        (1, 5, 2, -3),
        (-1, 2, 5, 3),
        (1, -2, 3, 5),
        (0, 3, 5, 1),
        (1, 1, 1, 1),
        (-1, 4, 4, 3),
    ],
)
def test_the_quaternion_of_the_columns_of_a_rotation_matrix_is_its_quaternion(
    quaternion: tuple[int, int, int, int],
) -> None:
    """The entries are exact multiples of those of the quaternion: all have the same ratios."""
    w, x, y, z = (Fraction(entry) for entry in quaternion)
    square = w * w + x * x + y * y + z * z
    columns = [
        [w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)],
        [2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x)],
        [2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z],
    ]
    read_quaternion = quaternion_of_axes(
        *([entry / square for entry in column] for column in columns)
    )
    largest = max(range(4), key=lambda k: abs(quaternion[k]))
    ratio = read_quaternion[largest] / quaternion[largest]
    assert max(map(abs, read_quaternion)) >= 1  # a small row would lose digits
    for entry, declared in zip(read_quaternion, quaternion, strict=True):
        assert abs(entry - ratio * declared) < Fraction(1, 10**55)


@pytest.mark.parametrize(
    "numbers",
    [
        (1, 0, 0, 0, 1, 0),
        (0, 2, 0, -3, 0, 0),
        (1, 2, 3, 4, -5, 6),
        (-1, 0.5, 0.25, 3, -0.2, -1),
        (0, 0, -2, 0, 4, 1),
        (-3, 0.5, 0, 0, -2, 1),
        (0.1, -3, 1, -1, -1, -5),
    ],
)
def test_xyaxes_orthogonalise_the_second_axis(numbers: tuple[float, ...]) -> None:
    x, y = np.array(numbers[:3], float), np.array(numbers[3:], float)
    x /= np.linalg.norm(x)
    y -= x * (x @ y)
    y /= np.linalg.norm(y)
    expected = np.column_stack((x, y, np.cross(x, y)))
    text = " ".join(map(str, numbers))
    assert np.abs(rotation(read({"xyaxes": text})) - expected).max() < 1e-14


def test_xyaxes_of_rational_lengths_stay_exact() -> None:
    """The axes (3, 4, 0)/5 and (-4, 3, 0)/5 are a turn about z of cosine 3/5: the quaternion has
    the ratio w : z = 1 + cos : sin = 2 : 1.
    """
    (step,) = read({"xyaxes": "3 4 0 -4 3 0"})
    assert isinstance(step, Rotate)
    w, x, y, z = step.quaternion
    assert x == y == 0
    assert w == 2 * z


@pytest.mark.parametrize("axis", [(1, 2, 2), (-1, 0.5, -3), (0, 1, 0), (3, 0, -4), (1, 0, 10**6)])
def test_zaxis_is_the_smallest_rotation_of_z_to_a_direction(axis: tuple[float, ...]) -> None:
    direction = np.array(axis, float) / np.linalg.norm(axis)
    about = np.cross([0, 0, 1], direction)
    expected = rotation_about(about, np.arctan2(np.linalg.norm(about), direction[2]))
    text = " ".join(map(str, axis))
    assert np.abs(rotation(read({"zaxis": text})) - expected).max() < 1e-14


def test_a_direction_within_1e_10_of_z_counts_as_z() -> None:
    """MuJoCo treats directions as parallel up to a sine of 1e-10."""
    half_turn = (Turn(X_AXIS, Angle(pi=Fraction(1))),)
    for x, y in (("0", "0"), ("0.9e-10", "0"), ("0", "-0.9e-10"), ("0.7e-10", "0.7e-10")):
        assert rotation_of_z(vector(x, y, 1), HERE) == ()
        assert rotation_of_z(vector(x, y, -1), HERE) == half_turn
    for x, y in (("1.1e-10", "0"), ("0", "-1.1e-10"), ("0.8e-10", "0.8e-10")):
        for z in (1, -1):
            (step,) = rotation_of_z(vector(x, y, z), HERE)
            assert isinstance(step, Rotate)
    # the sine, not the component, is compared: lengths have no influence
    assert rotation_of_z(vector("0.9e-7", 0, 1000), HERE) == ()
    assert rotation_of_z(vector("0.9e-10", 0, "0.001"), HERE) != ()


@pytest.mark.parametrize(
    ("sequence", "factors"),
    [
        ("xyz", "xyz"),
        ("zyx", "zyx"),
        ("yzx", "yzx"),
        ("XYZ", "ZYX"),
        ("ZXY", "YXZ"),
        ("xYz", "Yxz"),
        ("XyZ", "ZXy"),
        ("zxZ", "Zzx"),
    ],
)
def test_a_turn_about_a_fixed_axis_is_the_first_factor_of_all_previous_ones(
    sequence: str, factors: str
) -> None:
    turns = {
        letter: rotation_about(np.eye(3)["xyz".index(letter.lower())], np.deg2rad(angle))
        for letter, angle in zip(sequence, (10, 20, -35), strict=True)
    }
    first, second, third = (turns[letter] for letter in factors)
    pose = read({"euler": "10 20 -35"}, eulerseq=sequence)
    assert np.abs(rotation(pose) - first @ second @ third).max() < 1e-14


def test_angles_are_degrees_or_radians() -> None:
    assert read({"axisangle": "0 0 2 45"}) == (Turn(vector(0, 0, 2), Angle(pi=Fraction(1, 4))),)
    assert read({"axisangle": "0 0 2 0.45"}, angle="radian") == (
        Turn(vector(0, 0, 2), Angle(radians=Fraction("0.45"))),
    )
    assert np.allclose(
        rotation(read({"quat": "3 -1 2 5"})), rotation_of_quaternion((3, -1, 2, 5)), atol=1e-15
    )


def test_an_element_without_orientation_is_only_translated() -> None:
    values = {"pos": ("1 2 3", HERE)}
    assert pose_of(Attributes(HERE, values), settings()) == (Shift(vector(1, 2, 3)),)
    assert pose_of(Attributes(HERE, {}), settings()) == ()
    turned = {**values, "axisangle": ("1 0 0 90", HERE)}
    assert pose_of(Attributes(HERE, turned), settings()) == (
        Shift(vector(1, 2, 3)),
        Turn(X_AXIS, Angle(pi=Fraction(1, 2))),
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"quat": "0 0 0 0"}, "body 'a' quat: the quaternion is zero"),
        ({"axisangle": "0 0 0 30"}, "body 'a' axisangle: the axis is zero; give a nonzero axis"),
        ({"zaxis": "0 0 0"}, "body 'a' zaxis: the direction is zero"),
        ({"xyaxes": "0 0 0 1 0 0"}, "body 'a' xyaxes: the x axis is zero"),
        ({"xyaxes": "1 0 0 0 0 0"}, "the y axis is parallel to the x axis or zero"),
        ({"xyaxes": "1 2 0 -2 -4 0"}, "the y axis is parallel to the x axis or zero"),
        ({"euler": "1 2"}, r"body 'a' euler: it has 2 numbers \('1 2'\)"),
    ],
)
def test_an_orientation_without_a_direction_is_refused(
    attributes: dict[str, str], message: str
) -> None:
    with pytest.raises(DescriptionError, match=rf"robot\.xml:7: .*{message}"):
        read(attributes)


# -- square roots and long numbers -----------------------------------------------------------------


@pytest.mark.parametrize("root", ["0", "1", "12", "5/3", "1e-200", "0.125", "12345678901234567/3"])
def test_the_square_root_of_a_square_is_exact(root: str) -> None:
    assert square_root(Fraction(root) ** 2) == Fraction(root)


@pytest.mark.parametrize(
    "value", ["2", "1/3", "0.5", "8/9", "2e-40", "3e-200", "5e-330", "7e100", "1e307", "4/7"]
)
def test_other_square_roots_have_sixty_digits(value: str) -> None:
    square = Fraction(value)
    root = square_root(square)
    assert root > 0
    assert abs(root * root / square - 1) < Fraction(2, 10**59)


def test_only_long_numbers_are_rounded() -> None:
    """Numbers of up to 300 bits stay exact; π has hardly more digits."""
    for exact in (Fraction(2**300 - 1, 7), Fraction(7, 2**300 - 1), Fraction(1, 3), Fraction(0)):
        assert round_long(exact) == exact
    for long in (Fraction(2**300 + 1, 7), Fraction(7, 2**300 + 1)):
        rounded = round_long(long)
        assert rounded != long
        assert abs(rounded / long - 1) < Fraction(1, 10**59)


def test_an_angle_in_radians_has_sixty_digits_of_pi() -> None:
    long = Fraction(1, 10**100)
    assert in_radians(Angle(radians=long)) == long
    angle = in_radians(Angle(radians=Fraction(1), pi=Fraction(-1, 3)))
    assert abs(angle - (1 - PI / 3)) < Fraction(1, 10**58)
