"""A robot and its states in other units of mass, length and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import symgen
from symgen.mechanism.mechanism import Mechanism

FACTOR = 4


@dataclass(frozen=True)
class Units:
    """Factors of the figures of a robot and of its states, if the units of mass, length and time
    become smaller.
    """

    mass: int = 1
    length: int = 1
    time: int = 1

    def factor(self, mass: int = 0, length: int = 0, time: int = 0) -> Fraction:
        """Return the factor of a figure with these powers of the units."""
        return (
            Fraction(self.mass) ** mass
            * Fraction(self.length) ** length
            * Fraction(self.time) ** time
        )


USUAL = Units()
UNITS = {
    "mass": Units(mass=FACTOR),
    "length": Units(length=FACTOR),
    "time": Units(time=FACTOR),
}


def cart_and_arm(units: Units = USUAL, *, gravity: int = 1, drives: int = 1) -> Mechanism:
    """Return a cart with an arm, a lift and a ball joint; gravity and drive figures may be
    multiplied.
    """
    energy = {"mass": 1, "length": 2, "time": -2}

    def of(value: str, mass: int = 0, length: int = 0, time: int = 0, times: int = 1) -> Fraction:
        return Fraction(value) * units.factor(mass, length, time) * times

    def lengths(*values: str) -> list[Fraction]:
        return [of(x, length=1) for x in values]

    def inertia(*values: str) -> list[Fraction]:
        return [of(x, 1, 2) for x in values]

    arm = symgen.Robot(
        "cart_and_arm",
        gravity=[of(x, 0, 1, -2, gravity) for x in ("1.5", "-2.5", "-9")],
        friction_speed=of("0.25", time=-1),
    )
    arm.body(
        "cart",
        parent="base",
        type="prismatic",
        axis=(1, 0, 0),
        xyz=lengths("0.1", "0.2", "-0.3"),
        mass=of("3", 1),
        centre=lengths("0.1", "-0.2", "0.05"),
        inertia=inertia("0.5", "0.01", "0.02", "0.6", "-0.03", "0.7"),
        armature=of("0.4", 1, times=drives),
        damping=of("0.8", 1, 0, -1, drives),
        stiffness=of("1.5", 1, 0, -2, drives),
        rest=of("0.3", length=1),
    )
    arm.body(
        "arm",
        parent="cart",
        type="revolute",
        axis=(0, 0, 1),
        xyz=lengths("0.4", "-0.1", "0.2"),
        rpy=("pi/2", 0, 0),
        mass=of("2", 1),
        centre=lengths("0.3", "0.1", "-0.2"),
        inertia=inertia("0.2", "0.02", "-0.01", "0.3", "0.01", "0.25"),
        armature=of("0.1", 1, 2, times=drives),
        damping=of("0.3", 1, 2, -1, drives),
        friction=of("0.5", **energy, times=drives),
        stiffness=of("0.7", **energy, times=drives),
        gravcomp="0.5",
    )
    arm.body(
        "lift",
        parent="arm",
        type="prismatic",
        axis=(0, 1, 0),
        xyz=lengths("0.2", "0.1", "0.3"),
        quaternion=(2, 1, 0, -1),
        mass=of("1.5", 1),
        centre=lengths("-0.1", "0.2", "0.1"),
        inertia=inertia("0.1", "0.002", "0.001", "0.15", "0.003", "0.12"),
    )
    arm.body(
        "hand",
        parent="lift",
        type="spherical",
        xyz=lengths("0.5", "0.2", "0.1"),
        mass=of("1", 1),
        centre=lengths("0.1", "0.15", "-0.05"),
        inertia=inertia("0.02", "0.001", "0.002", "0.03", "-0.001", "0.025"),
    )
    return arm.build()


def scaled(
    name: str, values: Any, mechanism: Mechanism, units: Units, times: Mapping[str, int]
) -> Any:
    """Return the values of an argument in other units, multiplied by `times`; of positions, the
    lengths are multiplied.
    """
    factor = times.get(name, 1)
    metres = np.array(
        [c.unit == "m" for joint in mechanism.joints for c in joint.type.velocities], dtype=int
    )
    length = np.array([units.factor(length=1) if x else 1 for x in metres], dtype=object)
    if name in ("q", "q_next", "q_closed"):
        positions = [c.unit == "m" for joint in mechanism.joints for c in joint.type.positions]
        return values * np.array(
            [units.length * factor if x else 1 for x in positions], dtype=object
        )
    values = values * factor
    if name in ("v", "v_closed", "a", "b"):
        return values * length * units.factor(0, 0, -1 if name.startswith("v") else -2)
    if name == "tau":
        return values * units.factor(1, 2, -2) / length
    if name in ("dt", "instant"):
        return values * units.factor(time=1)
    if name == "wrench":
        return values * np.array(
            [units.factor(1, 2, -2)] * 3 + [units.factor(1, 1, -2)] * 3, dtype=object
        )
    if name in ("pi", "payload"):  # first moments in pi, the mass centre in payload
        powers = [(1, 0)] + [(int(name == "pi"), 1)] * 3 + [(1, 2)] * 6
        numbers = [units.factor(*power) for power in powers] * (values.shape[-1] // 10)
        return values * np.array(numbers, dtype=object)
    return values
