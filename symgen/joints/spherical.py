"""Spherical joint: a unit quaternion x y z w, the body's axes in the joint's frame; v is the angular velocity in the body's axes.

Rodriguez and Kreutz have it in Appendix B. The numbers are those of Pinocchio's JointModelSpherical.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symgen.joints._joint import ANGLE, Elementary, JointType, Numbers, Orienting
from symgen.joints._quaternion import ENTRIES, products, rotation, turn_between, turned, turned_for


def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[Any, Any]:
    """R(q), no shift."""
    import sympy as sp

    return rotation(), sp.zeros(3, 1)


def oracle(p: Numbers) -> tuple[Elementary, ...]:
    """A turn by the quaternion."""
    return (Orienting(0),)


VELOCITIES = tuple(replace(ANGLE, name=f"w{axis}") for axis in "xyz")
JOINT = JointType(ENTRIES, VELOCITIES, pose, oracle, drawn="ball", limited=False, moved=turned, advanced=turned_for,
                  parted=turn_between, steps=products, along=(0, 1, 2), quaternion=0)
