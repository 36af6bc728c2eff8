"""Robots whose functions have a looped form, and the number types they are evaluated in."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

from flint import arb

import symgen
from symgen.ir.program import Numbers
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from tests.shared.robots_for_tests import (
    flat_chain,
    of_kind,
    planar_rods,
    point_mass_arm,
    random_mechanism,
)

NUMBERS = Numbers(
    lambda x: arb(x.numerator) / x.denominator,
    arb.sin,
    arb.cos,
    arb.sqrt,
    arb.log,
    lambda y, x: arb.atan2(y, x),
)


@cache
def robot(name: str) -> Mechanism:
    if name == "chain":
        return random_mechanism(6, 1)
    if name == "tree":
        return random_mechanism(9, 3, "tree")
    if name == "mixed":
        return random_mechanism(7, 2, "tree", joints=("revolute", "prismatic"))
    if name == "sorts":
        return chains(("revolute", -1), ("spherical", 0), ("prismatic", 1), ("spherical", 2))
    if name == "roots":  # two free bodies
        return chains(
            ("free", -1), ("revolute", 0), ("free", -1), ("revolute", 2), ("prismatic", -1)
        )
    if name == "chains":  # one free body
        return chains(("prismatic", -1), ("revolute", 0), ("free", -1), ("revolute", 2))
    if name == "planes":
        return random_mechanism(5, 3, joints=("planar", "revolute"))
    if name == "screws":  # helical joints have the same pitch; prismatic joints come first
        mechanism = random_mechanism(5, 3, joints=("prismatic", "helical"))
        return replace(
            mechanism,
            joints=tuple(
                replace(
                    joint, parameters=tuple((key, Fraction(1, 50)) for key, _ in joint.parameters)
                )
                for joint in mechanism.joints
            ),
        )
    if name == "threads":  # each of a pitch of its own
        mechanism = random_mechanism(5, 3, joints=("helical",))
        return replace(
            mechanism,
            joints=tuple(
                replace(joint, parameters=(("pitch", Fraction(i + 1, 50)),))
                for i, joint in enumerate(mechanism.joints)
            ),
        )
    if name == "flat":
        return flat_chain(6)
    if name == "rods":
        return planar_rods(7)
    if name == "points":
        return point_mass_arm(*(Fraction(random, 10) for random in (7, 12, 3, 25, 9, 11)))
    if name == "turned":  # each axis against the one before
        mechanism = robot("points")
        return replace(
            mechanism,
            joints=tuple(
                replace(joint, axis=(0, 0, Fraction((-1) ** i)))
                for i, joint in enumerate(mechanism.joints)
            ),
        )
    if name == "driven":
        mechanism, random = random_mechanism(5, 4), Random(5)
        return replace(
            mechanism,
            joints=tuple(
                replace(
                    joint, drive=Drive(*(Fraction(random.randint(1, 99), 100) for _ in range(4)))
                )
                for joint in mechanism.joints
            ),
        )
    if name in ("beside", "balls"):
        kinds = (
            {"ball": "free", "second": "free"}
            if name == "balls"
            else {"ball": "free", "first": "revolute"}
        )
        bodies = [
            f'[[body]]\nname = "{body}"\nparent = "base"\nmass = {n}\ncentre = [0.1, 0.02, 0.03]\n'
            f'inertia = [0.02, 0, 0, 0.03, 0, 0.025]\njoint = {{ name = "j{n}", type = "{kind}", '
            f"xyz = [0.{n}, -0.2, 0.{n + 4}], "
            f"rpy = [0.3, 0.{n}, 0.1]{AXIS * (kind == 'revolute')} }}\n"
            for n, (body, kind) in enumerate(kinds.items(), 1)
        ]
        return symgen.load(f'name = "{name}"\n' + "".join(bodies))
    return symgen.load(name)


def chains(*links: tuple[str, int]) -> Mechanism:
    """Links by the kind of their joint and by their parent."""
    mechanism = random_mechanism(len(links), 5)
    joints = (
        replace(of_kind(joint, kind), parent=parent)
        for joint, (kind, parent) in zip(mechanism.joints, links, strict=True)
    )
    return replace(mechanism, name="chains", joints=tuple(joints))


AXIS = ", axis = [0, 0, 1]"
