"""Continuous joint: a revolute joint without limits; one coordinate, not a (cos, sin) pair."""

from __future__ import annotations

from symgen.joints.revolute import TURNS, pose

__all__ = ["TURNS", "pose"]
