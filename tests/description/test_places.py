"""Poses and numbers as the writers of URDF and MJCF write them: exact while rational, else to 60
digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

from symgen.description.quantities import DIGITS, EXPONENT, number
from symgen.description.writers import _places as places
from symgen.description.writers._decimals import decimal, decimals
from symgen.description.writers._links import sum_of_parts, unused_name
from symgen.mechanism.mechanism import Part
from symgen.vocabulary.poses import (
    X_AXIS,
    Y_AXIS,
    Z_AXIS,
    Angle,
    Pose,
    Rotate,
    Shift,
    Slide,
    Step,
    Turn,
    Vector3,
)


def vector(x: str | int, y: str | int, z: str | int) -> Vector3:
    return Fraction(x), Fraction(y), Fraction(z)


def quaternion(*entries: int) -> Any:
    return tuple(map(fmpq, entries))


def mp(value: Any) -> Any:
    """Return a Fraction, an fmpq or a ball in mpmath."""
    if isinstance(value, arb):
        return mpmath.mpf(value.str(150, radius=False))
    value = Fraction(int(value.p), int(value.q)) if isinstance(value, fmpq) else Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def rotation_matrix(axis: Sequence[Any], angle: Any) -> Any:
    """Return the rotation by an angle about a direction, as the exponential of a skew matrix."""
    x, y, z = axis
    length = mpmath.sqrt(x * x + y * y + z * z)
    skew = mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]]) / length
    return mpmath.eye(3) + mpmath.sin(angle) * skew + (1 - mpmath.cos(angle)) * skew * skew


def rotation_and_shift(pose: Pose) -> tuple[Any, Any]:
    """Return the product of the steps of a pose in mpmath."""
    rotation, shift = mpmath.eye(3), mpmath.zeros(3, 1)
    for step in pose:
        if isinstance(step, Shift):
            shift += rotation * mpmath.matrix(list(map(mp, step.xyz)))
        elif isinstance(step, Slide):
            axis = mpmath.matrix(list(map(mp, step.axis)))
            shift += rotation * axis * (mp(step.distance) / mpmath.norm(axis))
        elif isinstance(step, Turn):
            angle = mp(step.angle.radians) + mp(step.angle.pi) * mpmath.pi
            rotation *= rotation_matrix(list(map(mp, step.axis)), angle)
        else:
            w, *axis = map(mp, step.quaternion)
            if any(axis):
                half = mpmath.atan2(mpmath.norm(mpmath.matrix(axis)), w)
                rotation *= rotation_matrix(axis, 2 * half)
    return rotation, shift


def error(computed: Iterable[Any], expected: Iterable[Any]) -> Any:
    return max(abs(mp(x) - y) for x, y in zip(computed, expected, strict=True))


LONG = Turn(vector(1, -2, "1/2"), Angle(Fraction(1, 3), Fraction(1, 5)))
UNEVEN = Rotate((Fraction(3), Fraction(-1, 2), Fraction(2), Fraction(1, 7)))
QUARTERS: tuple[Step, ...] = tuple(
    Turn(axis, Angle(pi=Fraction(turns, 2)))
    for axis in (X_AXIS, Y_AXIS, Z_AXIS)
    for turns in (-3, -1, 1, 2)
)
POSES: dict[str, Pose] = {
    "identity": (),
    "shift": (Shift(vector(1, "1/3", -2)),),
    "any": (Shift(vector(1, 2, 3)), LONG, Slide(vector(1, 1, 0), Fraction(-2)), UNEVEN),
    "angles of urdf": (
        Turn(Z_AXIS, Angle(Fraction(1, 2))),
        Turn(Y_AXIS, Angle(Fraction(-3, 4))),
        Turn(X_AXIS, Angle(Fraction(2))),
        Shift(vector(0, 1, "0.1")),
    ),
    "angles in another order": (
        Turn(X_AXIS, Angle(Fraction(1, 2))),
        Turn(Z_AXIS, Angle(Fraction(2, 3))),
    ),
    "the same axis twice": (Turn(Z_AXIS, Angle(Fraction(1))), Turn(Z_AXIS, Angle(Fraction(2)))),
    "the y axis twice": (Turn(Y_AXIS, Angle(Fraction(1, 2))), Turn(Y_AXIS, Angle(Fraction(1, 3)))),
    "the reverse of an axis": (Turn(vector(0, 0, -1), Angle(Fraction(2, 5))),),
    "many turns": (Turn(X_AXIS, Angle(Fraction(101))), Turn(Y_AXIS, Angle(Fraction(1)))),
    "a backward look": (Rotate((Fraction(0), Fraction(0), Fraction(0), Fraction(1))),),
    "a half turn": (Rotate((Fraction(0), Fraction(1), Fraction(1), Fraction(0))),),
    "up": (LONG, *(Rotate((Fraction(1), *xyz)) for xyz in (vector(1, 2, 2),)), UNEVEN),
    **{
        f"pitch {sign} with {angle}": (
            Turn(X_AXIS, Angle()),
            Turn(Z_AXIS, Angle(angle)),
            Rotate((Fraction(1), Fraction(0), Fraction(sign), Fraction(0))),
            Turn(X_AXIS, Angle(Fraction(2, 3))),
        )
        for sign in (1, -1)
        for angle in (Fraction(1, 4), Fraction(3), Fraction(-2))
    },
}


@pytest.mark.parametrize("name", POSES)
def test_a_pose_has_the_rotation_and_translation_of_the_product_of_its_steps(name: str) -> None:
    with mpmath.workdps(120):
        rotation, shift = rotation_and_shift(POSES[name])
        versor, translation = places.quaternion_and_shift(POSES[name])
        assert error(translation, shift) < 1e-100
        assert error([x for row in places.matrix(versor) for x in row], rotation) < 1e-100
        assert places.is_rotated(versor) == (mpmath.norm(rotation - mpmath.eye(3)) > 1e-100)


@pytest.mark.parametrize("name", POSES)
def test_roll_pitch_and_yaw_give_the_rotation_of_the_pose(name: str) -> None:
    with mpmath.workdps(120):
        expected, _ = rotation_and_shift(POSES[name])
        roll, pitch, yaw = map(mpmath.mpf, places.roll_pitch_yaw(POSES[name]))
        rotation = (
            rotation_matrix((0, 0, 1), yaw)
            * rotation_matrix((0, 1, 0), pitch)
            * rotation_matrix((1, 0, 0), roll)
        )
        assert mpmath.norm(rotation - expected) < 1e-57  # three angles of 60 digits
        assert max(abs(roll), abs(pitch), abs(yaw)) < 3.2


def test_angles_of_a_steep_pose_are_those_with_roll_zero() -> None:
    steep = places.roll_pitch_yaw(POSES["pitch 1 with 1/4"])
    with mpmath.workdps(120):
        # Rz(1/4) Ry(pi/2) Rx(2/3) = Rz(1/4 - 2/3) Ry(pi/2)
        assert steep[0] == "0"
        assert abs(mpmath.mpf(steep[1]) - mpmath.pi / 2) < 1e-57
        assert abs(mpmath.mpf(steep[2]) + mpmath.mpf(5) / 12) < 1e-57


def test_angles_declared_about_z_y_and_x_are_written_as_declared() -> None:
    def angles(*steps: Step) -> tuple[str, str, str]:
        return places.roll_pitch_yaw(steps)

    z, y, x = (
        Turn(axis, Angle(Fraction(size))) for axis, size in ((Z_AXIS, 7), (Y_AXIS, 2), (X_AXIS, 5))
    )
    assert angles(z, y, x) == ("5", "2", "7")
    assert angles(Shift(X_AXIS), y, Slide(X_AXIS, Fraction(1))) == ("0", "2", "0")
    assert angles(Turn(X_AXIS, Angle(Fraction(-100)))) == ("-100", "0", "0")
    assert angles() == ("0", "0", "0")
    assert angles(Turn(X_AXIS, Angle(Fraction(101))))[0] != "101"  # too long for 60 digits
    # an angle about y beyond a quarter turn is not that of a general pose
    assert angles(*POSES["identity"], y)[1] == "2"
    assert angles(Turn(vector(0, 2, 0), y.angle))[1] != "2"


@pytest.mark.parametrize("turns", ["-7/3", "-1", "-1/2", "1", "3/2", "2", "9/4"])
def test_a_multiple_of_pi_is_written_without_whole_turns(turns: str) -> None:
    angle = Angle(Fraction(1, 8), Fraction(turns))
    (text, *_) = places.roll_pitch_yaw((Turn(X_AXIS, angle),))
    with mpmath.workdps(120):
        half_turns = mp(Fraction(turns))
        while half_turns > 1:
            half_turns -= 2
        while half_turns <= -1:
            half_turns += 2
        assert abs(mpmath.mpf(text) - mpmath.pi * half_turns - mpmath.mpf(1) / 8) < 1e-57


def test_right_angles_and_lengths_of_whole_numbers_stay_exact() -> None:
    for first, second in product(QUARTERS, repeat=2):
        versor, translation = places.quaternion_and_shift(
            (first, Shift(vector(1, 2, "1/3")), second)
        )
        assert all(isinstance(x, fmpq) for x in (*versor, *translation))
        assert places.normalised(versor) == versor
        assert {abs(x) for x in translation} == {1, 2, fmpq(1, 3)}
        entries = [abs(x) for row in places.matrix(versor) for x in row]
        assert sorted(entries) == [0] * 6 + [1] * 3
    _, translation = places.quaternion_and_shift((Slide(vector(3, 0, 4), Fraction(10)),))
    assert translation == (6, 0, 8)
    _, translation = places.quaternion_and_shift((Slide(vector("1/2", "2/3", 0), Fraction(5)),))
    assert translation == (3, 4, 0)
    assert all(isinstance(x, fmpq) for x in translation)


@pytest.mark.parametrize("axis", [X_AXIS, Y_AXIS, Z_AXIS])
def test_a_right_angle_is_a_quaternion_of_ones_and_zeros(axis: Vector3) -> None:
    for turns, cosine, sine in (
        (0, 1, 0),
        (1, 1, 1),
        (2, 0, 1),
        (3, -1, 1),
        (-1, -1, 1),
        (5, 1, 1),
    ):
        versor, _ = places.quaternion_and_shift((Turn(axis, Angle(pi=Fraction(turns, 2))),))
        assert versor == (cosine, *(sine * x for x in map(places.rational, axis)))


def test_rotations_that_cancel_are_no_rotation() -> None:
    axis = vector(1, 2, "1/3")
    there, back = (Turn(axis, Angle(Fraction(sign, 3))) for sign in (1, -1))
    versor, translation = places.quaternion_and_shift((there, Shift(axis), back, Shift(axis)))
    assert not places.is_rotated(versor)
    with mpmath.workdps(120):
        assert error(translation, [2 * mp(x) for x in axis]) < 1e-100


@pytest.mark.parametrize("entry", range(1, 4))
def test_a_quaternion_is_rotated_if_an_entry_of_its_vector_is_not_zero(entry: int) -> None:
    entries = [1, 0, 0, 0]
    assert not places.is_rotated(quaternion(*entries))
    entries[entry] = -1
    assert places.is_rotated(quaternion(*entries))


def test_the_length_of_a_quaternion_is_one_unless_its_entries_are_rational() -> None:
    versor, _ = places.quaternion_and_shift((LONG, UNEVEN))
    unit = places.normalised(versor)
    with mpmath.workdps(120):
        length = mpmath.sqrt(sum(mp(x) ** 2 for x in versor))
        assert error(unit, [mp(x) / length for x in versor]) < 1e-100
        assert abs(length - 1) > 0.01
    assert places.normalised(quaternion(2, 0, 0, 1)) == (2, 0, 0, 1)


def test_a_rational_number_with_a_long_denominator_becomes_a_ball() -> None:
    def shift(bits: int) -> Any:
        step = Shift((Fraction(0), Fraction(0), Fraction(1, 2**bits)))
        return places.quaternion_and_shift((step,))[1][2]

    assert isinstance(shift(3000), fmpq)
    assert isinstance(shift(3999), fmpq)
    assert isinstance(shift(4000), arb)  # 2**4000 has 4001 bits
    assert shift(4000) == arb(2) ** -4000


def test_moments_are_those_of_the_rotated_tensor() -> None:
    moments = tuple(Fraction(n, 7) for n in (5, 1, -2, 6, 3, 8))
    versor = quaternion(1, -2, 3, 1)
    xx, xy, xz, yy, yz, zz = moments
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    rotation = np.array(places.matrix(versor), dtype=object)
    expected = rotation @ np.vectorize(places.rational, otypes=[object])(tensor) @ rotation.T
    assert places.rotate_moments(versor, moments) == tuple(expected[np.triu_indices(3)])
    axis = vector(1, -1, 4)
    rotated = rotation @ np.array([places.rational(x) for x in axis])
    assert places.rotate_direction(versor, axis) == tuple(rotated)
    # a rotation keeps lengths: R Rᵀ = 1
    assert (rotation @ rotation.T == np.eye(3, dtype=int).astype(object)).all()
    assert places.rotate_direction(quaternion(5, 0, 0, 0), axis) == (1, -1, 4)


@pytest.mark.parametrize(
    ("text", "almost"),
    [
        ("1.570796326", True),
        ("-3.14159265", True),
        ("1.57", False),
        ("0.5", False),
        ("0", False),
        ("1.57079632679489661923132169163975144209858469968755291048747", False),
        ("-3.14159265358979323846264338327950288419716939937510582097494", False),
        ("4.7123889803846898576939650749192543262957540990626587314624", False),
    ],
)
def test_an_angle_is_almost_right_if_a_reader_would_change_it(text: str, almost: bool) -> None:
    assert places.is_almost_right_angle(text) == almost


def test_the_working_precision_ends_with_a_function() -> None:
    digits = flint.ctx.dps
    assert places.precise(lambda: flint.ctx.dps)() >= places.WORKING_DIGITS
    assert flint.ctx.dps == digits


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0", "0.5", "-12.25", "1e300", "-1e-300", "123456789", "9" * 60])
def test_a_short_decimal_is_written_exactly(text: str) -> None:
    value = Fraction(text)
    assert decimal(value) == decimal(fmpq(value.numerator, value.denominator)) == text


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1, 10**70, Fraction(1, 10**70), Fraction(7, 10**300)])
def test_a_long_number_is_rounded_to_sixty_digits(sign: int, size: Fraction) -> None:
    for value in (Fraction(1, 3), Fraction(2, 3), Fraction(10**61 + 7, 10**61), Fraction(355, 113)):
        exact = sign * value * size
        text = decimal(exact)
        assert len(text.partition("e")[0].strip("-").replace(".", "").lstrip("0")) <= DIGITS
        # half a unit of the last of 60 digits is at most 5e-60 of the number
        assert abs(number(text) - exact) <= abs(exact) * Fraction(5, 10**60)
    assert decimal(Fraction(1, 3)) == "0." + "3" * 60
    assert decimal(Fraction(-2, 3)) == "-0." + "6" * 59 + "7"


def test_a_tie_of_the_last_digit_is_rounded_to_even() -> None:
    for digits, rounded in ((10**60 + 5, 10**60), (10**60 + 15, 10**60 + 20)):
        assert number(decimal(Fraction(digits, 10**60))) == Fraction(rounded, 10**60)


def test_a_ball_is_written_by_its_midpoint() -> None:
    with flint.ctx.workdps(100):
        root = arb(2).sqrt()
    assert abs(number(decimal(root)) ** 2 - 2) < Fraction(1, 10**58)
    assert decimal(arb(0.25)) == "0.25"


def test_numbers_below_the_least_that_is_read_are_zero() -> None:
    least = Fraction(1, 10**EXPONENT)
    assert decimal(least * Fraction(99, 100)) == decimal(-least * Fraction(99, 100)) == "0"
    assert number(decimal(least)) == least
    assert number(decimal(-least * 3)) == -least * 3


def test_a_whole_number_with_more_digits_than_are_read_has_an_exponent() -> None:
    long = int("123456789" * 8)
    assert number(decimal(long)) == pytest.approx(long, rel=1e-59)
    assert decimal(long).partition("e")[2] == "71"  # 72 digits, one before the point
    assert decimals([1, Fraction(1, 2), -3]) == "1 0.5 -3"


# -- sums of inertias ----------------------------------------------------------------------------


def pseudo_inertia(part: Part) -> Any:
    """Return ∫ p pᵀ dm with p = (x, y, z, 1), in rationals: the sum over the matter of a part."""
    versor, translation = places.quaternion_and_shift(part.pose)
    xx, xy, xz, yy, yz, zz = (places.rational(x) for x in part.moments)
    half = (xx + yy + zz) / 2
    matter = np.full((4, 4), fmpq(0), dtype=object)
    matter[:3, :3] = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    matter[3, 3] = places.rational(part.mass)
    placement = np.full((4, 4), fmpq(0), dtype=object)
    placement[:3, :3], placement[:3, 3], placement[3, 3] = (
        places.matrix(versor),
        translation,
        fmpq(1),
    )
    return placement @ matter @ placement.T


def test_a_sum_of_inertias_has_their_total_mass_first_and_second_moments() -> None:
    moments: Any = tuple(Fraction(n, 9) for n in (5, 1, -2, 6, 3, 8))
    parts = [
        Part("a", (Shift(vector(1, 2, 3)), UNEVEN), Fraction(2), moments, Fraction(1, 2)),
        Part("b", (Shift(vector(0, -1, "1/5")), QUARTERS[1]), Fraction(3), moments, Fraction(1, 2)),
        Part("a", (), Fraction(1, 4), (Fraction(0),) * 6, Fraction(1, 2)),
    ]
    total = sum_of_parts(parts)
    assert (pseudo_inertia(total) == sum(map(pseudo_inertia, parts))).all()
    assert (total.link, total.gravcomp) == ("a", Fraction(1, 2))  # the link of the first part
    assert all(isinstance(step, Shift) for step in total.pose)
    assert sum_of_parts(parts[:1]) is parts[0]
    irrational = sum_of_parts([Part("a", (LONG,), Fraction(2), moments), parts[2]])
    trace = sum(moments[k] for k in (0, 3, 5))
    assert abs(sum(irrational.moments[k] for k in (0, 3, 5)) - trace) < Fraction(1, 10**57)


def test_a_sum_of_inertias_without_mass_keeps_their_moments() -> None:
    moments = (Fraction(1), Fraction(0), Fraction(0), Fraction(2), Fraction(0), Fraction(3))
    parts = [Part("a", pose, Fraction(0), moments) for pose in ((), (Shift(X_AXIS),))]
    total = sum_of_parts(parts)
    assert (total.mass, total.pose) == (0, ())
    assert total.moments == tuple(2 * x for x in moments)
    opposite = [Part("a", (Shift(vector(s, 0, 0)),), Fraction(1)) for s in (1, -1)]
    assert sum_of_parts(opposite).pose == ()
    # turned by an irrational rotation, both offsets are balls whose sum contains zero
    turned = [replace(part, pose=(LONG, *part.pose)) for part in opposite]
    assert sum_of_parts(turned).pose == ()
    assert sum_of_parts(opposite).moments == (0, 0, 0, 2, 0, 2)


def test_an_unused_name_has_the_next_number_and_room_for_it() -> None:
    used_names = {"arm": 1, "arm_3": 1}
    names = [unused_name("arm", used_names) for _ in range(3)]
    assert names == ["arm_2", "arm_4", "arm_5"]
    assert unused_name("hand", used_names) == "hand"
    long = [unused_name("n" * 300, used_names) for _ in range(3)]
    assert [len(name) for name in long] == [192, 194, 194]  # a number may have seven digits
    assert len(set(long)) == 3
    assert max(map(len, long)) <= 200
