"""Revolute chains by standard Denavit-Hartenberg parameters, with exact fractions and full
inertias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.vocabulary.poses import Z_AXIS, Angle, pose

GRID = 1000
MASS, LENGTH = Fraction(1), Fraction(1)
MOMENTS = (Fraction(1, 100), Fraction(1, 12), Fraction(1, 12))
"""Mass, length and principal moments about the mass centre of a link of `rod_chain`: a rod along x
with a finite radius.
"""
POINTS = 5
"""Point masses of a link: enough for a tensor without a zero; every set of them satisfies the
triangle inequality.
"""


def dh_chain(n: int, twists: str = "general", seed: int = 0) -> Mechanism:
    """Return `n` links with random offsets d, lengths a and twists: "general", "square" (multiples
    of π/2) or "right" (±π/2).
    """
    random = Random(f"dh/{n}/{twists}/{seed}")

    def decimal(low: float, high: float) -> Fraction:
        return Fraction(random.randint(round(low * GRID), round(high * GRID)), GRID)

    def twist() -> Angle:
        if twists == "general":
            return Angle(radians=decimal(0.2, 1.3) * random.choice((-1, 1)))
        return Angle(pi=Fraction(random.choice((-1, 1) if twists == "right" else (-1, 0, 1, 2)), 2))

    joints, bodies = [], []
    for i in range(n):
        d, a = decimal(0.1, 0.5), decimal(0.1, 0.5)
        before = pose((a, Fraction(0), d), (twist(), Angle(), Angle())) if i else ()
        joints.append(Joint(f"joint{i}", "revolute", i - 1, before, Z_AXIS))
        bodies.append(Body(f"link{i}", (_solid(f"link{i}", random),)))
    frames = tuple(Frame(body.name, i) for i, body in enumerate(bodies))
    return Mechanism(f"dh_chain_{n}", tuple(joints), tuple(bodies), frames)


def rod_chain(twists: Sequence[int]) -> Mechanism:
    """Return like rods. `twists[i]` (degrees) rotates the axis of joint i about rod i − 1; the
    first entry is not used.
    """
    joints, bodies = [], []
    x, y, z = MOMENTS
    zero = Fraction(0)
    for i, degrees in enumerate(twists):
        twist = Angle(pi=Fraction(degrees, 180))
        before = pose((LENGTH, zero, zero), (twist, Angle(), Angle())) if i else ()
        joints.append(Joint(f"joint{i}", "revolute", i - 1, before, Z_AXIS))
        rod = Part(f"link{i}", pose((LENGTH / 2, zero, zero)), MASS, (x, zero, zero, y, zero, z))
        bodies.append(Body(f"link{i}", (rod,)))
    return Mechanism(f"rod_chain_{len(bodies)}", tuple(joints), tuple(bodies))


def branched_chain(n: int, length: int, twists: str = "general") -> Mechanism:
    """Return a main chain of `n` links with a side branch of `length` links at each link; its links
    are those of `dh_chain`.
    """
    period = 1 + length
    chain = dh_chain(period * n, twists)
    parents = [-1, *(i - 1 if i % period else i - period for i in range(1, period * n))]
    joints = tuple(
        replace(joint, parent=parent) for joint, parent in zip(chain.joints, parents, strict=True)
    )
    return replace(chain, joints=joints, name=f"dh_chain_{n}_branches_{length}")


def _solid(link: str, random: Random) -> Part:
    """Return point masses as one part: mass, mass centre and tensor about it."""
    masses = [Fraction(random.randint(200, 2000), GRID) for _ in range(POINTS)]
    points = [[Fraction(random.randint(-300, 300), GRID) for _ in range(3)] for _ in range(POINTS)]
    total = sum(masses, Fraction(0))
    x, y, z = (
        sum((m * p[k] for m, p in zip(masses, points, strict=True)), Fraction(0)) / total
        for k in range(3)
    )
    S = [[Fraction(0)] * 3 for _ in range(3)]
    for m, p in zip(masses, points, strict=True):
        arm = (p[0] - x, p[1] - y, p[2] - z)
        for r in range(3):
            for c in range(3):
                S[r][c] += m * arm[r] * arm[c]
    moments = (
        S[1][1] + S[2][2],
        -S[0][1],
        -S[0][2],
        S[0][0] + S[2][2],
        -S[1][2],
        S[0][0] + S[1][1],
    )
    return Part(link, pose((x, y, z)), total, moments)
