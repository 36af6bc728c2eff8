"""Poses as matrices of doubles, to compare the steps of two readings of one pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgen.vocabulary.poses import Pose, Rotate, Shift, Slide

Matrix = Any
"""numpy.ndarray."""


def rotation_about(axis: Any, angle: float) -> Matrix:
    """Return the rotation matrix of an angle in rad about an axis of any length (Rodrigues)."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(np.asarray(axis, float))
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def rotation_of_quaternion(quaternion: Any) -> Matrix:
    """Return the rotation matrix of a quaternion w, x, y, z of any length: the angle 2 atan2(|v|, w)
    about v.
    """
    w, *v = (float(entry) for entry in quaternion)
    length = float(np.linalg.norm(v))
    return rotation_about(v, 2 * np.arctan2(length, w)) if length else np.eye(3)


def matrix_of(pose: Pose) -> Matrix:
    """Return the 4×4 matrix of a pose."""
    matrix = np.eye(4)
    for step in pose:
        factor = np.eye(4)
        if isinstance(step, Shift):
            factor[:3, 3] = [float(entry) for entry in step.xyz]
        elif isinstance(step, Slide):
            axis = np.array([float(entry) for entry in step.axis])
            factor[:3, 3] = float(step.distance) * axis / np.linalg.norm(axis)
        elif isinstance(step, Rotate):
            factor[:3, :3] = rotation_of_quaternion(step.quaternion)
        else:
            factor[:3, :3] = rotation_about(
                [float(entry) for entry in step.axis], float(step.angle)
            )
        matrix = matrix @ factor
    return matrix
