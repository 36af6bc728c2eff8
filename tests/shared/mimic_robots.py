"""Robots with mimic joints."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

from symgen.mechanism.coupling import Mimic, mimic_chain
from symgen.mechanism.mechanism import Mechanism
from tests.shared.robots_for_tests import ONE_DEGREE, random_mechanism

GRIPPER = """
name = "gripper"
gravity = [0.5, -1.2, "-9.81"]
mimic = "couple"
base = { name = "palm" }

[[body]]
name = "wrist"
parent = "palm"
mass = 0.8
centre = [0.02, 0.01, 0.05]
inertia = [0.002, 0.0001, 0.0002, 0.0025, 0, 0.001]
joint = { name = "roll", type = "revolute", axis = [0.1, 0, 1], xyz = [0, 0, 0.1]\
, limits = { lower = -2, upper = 2 } }

[[body]]
name = "left"
parent = "wrist"
mass = 0.2
centre = [0.01, 0.002, 0.03]
inertia = [0.0002, 0, 0.00001, 0.0003, 0, 0.0001]
joint = { name = "knuckle", type = "revolute", axis = [0, 1, 0], xyz = [0.03, 0, 0.1]\
, limits = { lower = 0, upper = 0.8 } }

[[body]]
name = "left_pad"
parent = "left"
mass = 0.1
centre = [0.004, 0.001, 0.02]
inertia = [0.0001, 0, 0, 0.0001, 0, 0.00005]
[body.joint]
name = "left_tip"
type = "revolute"
axis = [0, 1, 0]
xyz = [0.01, 0, 0.06]
mimic = { joint = "knuckle", multiplier = -1 }

[[body]]
name = "right"
parent = "wrist"
mass = 0.25
centre = [-0.01, 0.003, 0.03]
inertia = [0.0003, 0, 0, 0.0003, 0, 0.0001]
[body.joint]
name = "other_knuckle"
type = "revolute"
axis = [0.2, -1, 0]
xyz = [-0.03, 0, 0.1]
limits = { lower = 0.05, upper = 0.5, velocity = 1.5 }
mimic = { joint = "knuckle", multiplier = 0.75, offset = 0.05 }

[[body]]
name = "rack"
parent = "palm"
mass = 0.15
centre = [0, 0.01, 0.02]
inertia = [0.0001, 0, 0, 0.0002, 0, 0.0001]
[body.joint]
name = "slide"
type = "prismatic"
axis = [1, 0, 0.3]
xyz = [0.1, 0.02, 0]
mimic = { joint = "other_knuckle", multiplier = 0.1, offset = -0.002 }
"""
"""A follower on its leader's link, one beside it, and one that slides after the latter on another
branch.
"""


def anyhow(seed: int) -> Mechanism:
    random = Random(seed)
    size, shape = random.randint(3, 6), random.choice(["tree", "chain"])
    uncoupled = random_mechanism(size, seed, shape, ONE_DEGREE, general=random.random() < 0.5)
    names = [joint.name for joint in uncoupled.joints]
    mimics: dict[str, Mimic | None] = dict.fromkeys(names)
    for _ in range(random.randint(1, len(names) - 2)):
        factor = Fraction(
            random.choice([1, -1, 2, -3, random.randint(1, 9)]), random.choice([1, 1, 4])
        )
        trial = {
            **mimics,
            random.choice(names): Mimic(
                random.choice(names), factor, Fraction(random.randint(-3, 3), 10)
            ),
        }
        mimics = mimics if any(mimic_chain(name, trial)[1] for name in names) else trial
    return replace(
        uncoupled,
        joints=tuple(replace(joint, mimic=mimics[joint.name]) for joint in uncoupled.joints),
        coupled=True,
    )
