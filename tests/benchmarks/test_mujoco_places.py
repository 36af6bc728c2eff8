"""Rotation from symgen's to MuJoCo's axes of a linear velocity."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest

from symgen.benchmarks.peers.mujoco import MujocoPlaces
from tests.shared.robots_for_tests import of_kind, random_mechanism


def test_the_axes_of_a_planar_joint_are_rotated_about_its_normal_by_its_angle() -> None:
    """The normal of the plane is the z axis; the angle is the last coordinate."""
    pytest.importorskip("mujoco")
    arm = random_mechanism(2, 3)
    joints = (of_kind(arm.joints[0], "planar"), *arm.joints[1:])
    places = object.__new__(MujocoPlaces)
    places.mechanism = type("M", (), {"joints": joints})()
    rotation = places._rotation_to_mujoco_axes(0, [7.0, 8.0, 0.4])
    expected = [[cos(0.4), -sin(0.4), 0], [sin(0.4), cos(0.4), 0], [0, 0, 1]]
    assert rotation == pytest.approx(np.array(expected), abs=1e-15)
