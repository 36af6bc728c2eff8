"""Frames at the feet of a legged robot."""

from __future__ import annotations

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
