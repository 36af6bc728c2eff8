"""Rotation matrices of doubles, to compare with poses that are read."""

from __future__ import annotations

from typing import Any

import numpy as np

Matrix = Any
"""numpy.ndarray."""


def rotation_about(axis: Any, angle: float) -> Matrix:
    """Return the rotation matrix of an angle in rad about an axis of any length (Rodrigues)."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(np.asarray(axis, float))
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def rotation_of_quaternion(quaternion: Any) -> Matrix:
    """Return the rotation matrix of a quaternion w, x, y, z of any length: the angle 2 atan2(|v|,
    w) about v.
    """
    w, *v = (float(entry) for entry in quaternion)
    length = float(np.linalg.norm(v))
    return rotation_about(v, 2 * np.arctan2(length, w)) if length else np.eye(3)
