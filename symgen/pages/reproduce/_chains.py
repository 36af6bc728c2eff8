"""Revolute chains by standard Denavit-Hartenberg parameters, with exact fractions and full inertias."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.vocabulary.poses import Z_AXIS, Angle, pose

GRID = 1000
POINTS = 5
"""Point masses of a link: enough for a tensor without a zero; every set of them satisfies the triangle inequality."""


def dh_chain(n: int, twists: str = "general", seed: int = 0) -> Mechanism:
    """Return `n` links with random offsets d, lengths a and twists: "general", "square" (multiples of π/2) or "right" (±π/2)."""
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
