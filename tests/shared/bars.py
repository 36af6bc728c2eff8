"""Small robots of bars: a chain of like ones, and a pendulum with round figures."""

from __future__ import annotations

from typing import Any

import symgen
from symgen.mechanism.mechanism import Mechanism


def chain_of_bars(count: int, **numbers: Any) -> symgen.Robot:
    """Return a chain of like bars on parallel revolute joints; `numbers` are those of each body."""
    robot = symgen.Robot("bars", gravity=(0, 0, "-9.81"))
    for i in range(count):
        figures = {
            "xyz": (1, 0, 0),
            "mass": 1,
            "centre": ("0.5", 0, 0),
            "inertia": ("0.1", 0, 0, "0.1", 0, "0.1"),
            **numbers,
        }
        parent = f"bar{i - 1}" if i else "base"
        robot.body(f"bar{i}", parent=parent, type="revolute", axis=(0, 0, 1), **figures)
    return robot


def pendulum() -> Mechanism:
    """Return a pendulum of mass 3 at a distance of 1/2, 2 above the base, with moments of inertia
    of 1/4 and gravity 10.
    """
    robot = symgen.Robot("pendulum", gravity=(0, -10, 0)).body(
        "bob",
        parent="base",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(0, 0, 2),
        mass=3,
        centre=("0.3", "0.4", 0),
        inertia=("0.25", 0, 0, "0.25", 0, "0.25"),
    )
    return robot.build()
