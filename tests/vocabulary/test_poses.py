"""Declared poses: their products, inverses and rotations, compared with 4×4 matrices."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

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
    compose,
    compose_merged,
    inverse,
    pose,
    rotation_steps,
)
from tests.shared.descriptions import pose_matrix


def point(x: int, y: int, z: int) -> Vector3:
    return Fraction(x), Fraction(y), Fraction(z)


def quarter(count: int) -> Angle:
    return Angle(pi=Fraction(count, 2))


STEPS: tuple[Step, ...] = (
    *(Shift(point(*xyz)) for xyz in ((1, 2, 3), (-1, -2, -3), (0, 0, 0), (0, 0, 1))),
    *(Turn(axis, quarter(sign)) for axis in (X_AXIS, Z_AXIS) for sign in (1, -1)),
    Turn(point(1, 1, 0), Angle(Fraction(1, 3))),
    Turn(point(1, 1, 0), Angle(Fraction(-1, 3))),
    Turn(Y_AXIS, Angle()),
    Slide(point(3, 0, 4), Fraction(2)),
    Slide(point(3, 0, 4), Fraction(0)),
    Rotate((Fraction(1), Fraction(2), Fraction(-1), Fraction(3))),
    Rotate((Fraction(-2), Fraction(0), Fraction(0), Fraction(0))),
    Rotate((Fraction(1), Fraction(1), Fraction(0), Fraction(0))),
    Rotate((Fraction(1), Fraction(0), Fraction(0), Fraction(-1))),
)
"""Steps of which many are inverse to each other, or the identity."""


def random_poses(seed: int) -> tuple[Pose, Pose]:
    random = Random(seed)
    first, second = (tuple(random.choices(STEPS, k=random.randint(0, 7))) for _ in range(2))
    return first, second


def same_displacement(first: Pose, second: Pose) -> bool:
    # entries below 30; some twenty roundings
    return bool(np.abs(pose_matrix(first) - pose_matrix(second)).max() < 1e-12)


def can_be_merged(first: Step, second: Step) -> bool:
    return (isinstance(first, Shift) and isinstance(second, Shift)) or (
        isinstance(first, Turn) and isinstance(second, Turn) and first.axis == second.axis
    )


def test_a_product_has_no_identity_and_no_two_steps_that_can_be_merged() -> None:
    identities = [step for step in STEPS if same_displacement((step,), ())]
    assert len(identities) == 4
    for seed in range(60):
        first, second = random_poses(seed)
        product = compose(first, second)
        assert same_displacement(product, first + second)
        assert not any(step in identities for step in product)
        assert not any(can_be_merged(*steps) for steps in pairwise(product))


def test_a_product_of_merged_poses_is_that_of_all_their_steps() -> None:
    for seed in range(60):
        first, second = map(compose, random_poses(seed))
        assert compose_merged(first, second) == compose(first, second)
    there = compose((STEPS[0], STEPS[4], STEPS[3], STEPS[6]))
    assert len(there) == 4
    assert compose_merged(there, inverse(there)) == ()
    assert compose_merged((STEPS[11], *there), inverse(there)) == (STEPS[11],)
    assert compose_merged(there[1:], inverse(there)) == inverse(there[:1])
    assert compose_merged((), there) == compose_merged(there, ()) == there


def test_merged_steps_add_their_translations_or_angles() -> None:
    assert compose((Shift(point(1, 2, 4)), Shift(point(8, 16, 32)))) == (Shift(point(9, 18, 36)),)
    turns = (Turn(Y_AXIS, Angle(Fraction(1), Fraction(2))), Turn(Y_AXIS, Angle(Fraction(4))))
    assert compose(turns) == (Turn(Y_AXIS, Angle(Fraction(5), Fraction(2))),)


def test_steps_that_meet_after_others_have_cancelled_are_merged() -> None:
    turn = Turn(X_AXIS, quarter(1))
    steps = (Shift(point(1, 0, 0)), turn, *inverse((turn,)), Shift(point(0, 1, 0)))
    assert compose(steps) == (Shift(point(1, 1, 0)),)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_times_its_inverse_is_the_identity(step: Step) -> None:
    assert same_displacement((step, *inverse((step,))), ())


def test_an_inverse_has_the_inverse_steps_in_reverse_order() -> None:
    for seed in range(20):
        steps, _ = random_poses(seed)
        assert same_displacement(steps + inverse(steps), ())
        assert inverse(inverse(steps)) == steps


def test_the_rotation_of_a_pose_has_its_axes_and_no_translation() -> None:
    for seed in range(20):
        steps, _ = random_poses(seed)
        expected = pose_matrix(steps)
        expected[:3, 3] = 0
        assert np.abs(pose_matrix(rotation_steps(steps)) - expected).max() < 1e-12
    turn = Turn(X_AXIS, quarter(1))
    assert rotation_steps((turn, Shift(point(1, 0, 0)), turn)) == (Turn(X_AXIS, quarter(2)),)


def test_the_pose_of_urdf_shifts_and_then_turns_by_roll_pitch_and_yaw_about_fixed_axes() -> None:
    roll, pitch, yaw = Angle(Fraction(1, 2)), Angle(Fraction(-2, 3)), Angle(Fraction(5, 4))
    matrix = np.eye(4)
    # R = Rz(yaw) Ry(pitch) Rx(roll), entry by entry
    (cr, sr), (cp, sp), (cy, sy) = (
        (math.cos(float(angle)), math.sin(float(angle))) for angle in (roll, pitch, yaw)
    )
    matrix[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    matrix[:3, 3] = 1, 2, 3
    assert np.abs(pose_matrix(pose(point(1, 2, 3), (roll, pitch, yaw))) - matrix).max() < 1e-15
    assert pose() == ()
    assert pose(rpy=(Angle(), Angle(), yaw)) == (Turn(Z_AXIS, yaw),)
    assert list(map(list, (X_AXIS, Y_AXIS, Z_AXIS))) == np.eye(3).tolist()


def test_an_angle_is_the_sum_of_its_radians_and_its_multiple_of_pi() -> None:
    angle = Angle(Fraction(1, 4), Fraction(-3))
    assert float(angle) == 0.25 - 3 * math.pi
    assert angle + Angle(Fraction(2), Fraction(5)) == Angle(Fraction(9, 4), Fraction(2))
    assert -angle == Angle(Fraction(-1, 4), Fraction(3))
    assert (angle + -angle).is_zero
    assert not Angle(Fraction(1)).is_zero
    assert not Angle(pi=Fraction(1)).is_zero
    assert not angle.is_zero


def test_quarter_turns_are_counted_if_the_angle_is_a_multiple_of_half_pi() -> None:
    assert [quarter(count).quarter_turns for count in (-3, 0, 1, 8)] == [-3, 0, 1, 8]
    for angle in (Angle(pi=Fraction(1, 4)), Angle(pi=Fraction(2, 3))):
        assert angle.quarter_turns is None
    # no rational number of radians is a multiple of pi/2
    assert Angle(Fraction(1), Fraction(1, 2)).quarter_turns is None
    assert Angle(Fraction(1)).quarter_turns is None
