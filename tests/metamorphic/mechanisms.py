"""Random problems: trees with all features of descriptions, far bases, light and heavy links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Limits, Mechanism, Part
from symgen.vocabulary.poses import (
    X_AXIS,
    Z_AXIS,
    ZERO3,
    Angle,
    Pose,
    Shift,
    Turn,
    Vector3,
    compose,
)
from tests.metamorphic._core import Links
from tests.shared.robots_for_tests import random_mechanism

MOST = 8
"""Largest number of velocities; with twice as many, some derivations take a minute."""


def anything(seed: int) -> tuple[Mechanism, Links]:
    """Draw a mechanism of one to four joints, read from its canonical description, with links."""
    random = Random(f"anything {seed}")
    joints = random.sample(kinds(), random.randint(1, len(kinds())))
    count, seed = random.choice((1, 2, 2, 3, 3, 3, 4)), random.randrange(10**6)
    shape, general = random.choice(("chain", "tree")), random.random() < 0.6
    while (mechanism := random_mechanism(count, seed, shape, joints, general)).nv > MOST:
        count -= 1
    for chance, change in CHANGES:
        if random.random() < chance:
            mechanism = change(mechanism, random)
    mechanism = load(to_toml(mechanism))
    return mechanism, some_links(mechanism, random)


def some_links(mechanism: Mechanism, random: Random) -> Links:
    """Draw the frame and, possibly, links with a payload and with wrenches."""
    names = [frame.name for frame in mechanism.frames]
    links = Links(
        random.choice(names),
        *(random.choice(names) if random.random() < 0.4 else None for _ in range(2)),
    )
    if links.wrench is None or random.random() < 0.5:
        return links
    return replace(links, wrench=tuple(random.sample(names, random.randint(1, min(3, len(names))))))


def _fraction(random: Random, low: float, high: float) -> Fraction:
    return Fraction(random.randint(round(low * 1000), round(high * 1000)), 1000)


def _vector(random: Random, size: float) -> Vector3:
    return (
        _fraction(random, -size, size),
        _fraction(random, -size, size),
        _fraction(random, -size, size),
    )


def _pose(random: Random, size: float) -> Pose:
    x, y, z = _vector(random, 1)
    return Shift(_vector(random, size)), Turn(
        (x, y, z + 2), Angle(_fraction(random, -3, 3), Fraction(random.randint(-2, 2), 4))
    )


def far(mechanism: Mechanism, random: Random) -> Mechanism:
    """Rotate the base and move it a kilometre away."""
    where = _pose(random, 1000)
    return replace(
        mechanism,
        joints=tuple(
            replace(j, pose=compose(where, j.pose)) if j.parent == BASE else j
            for j in mechanism.joints
        ),
    )


def slanted(mechanism: Mechanism, random: Random) -> Mechanism:
    return replace(mechanism, gravity=_vector(random, 10))


def weightless(mechanism: Mechanism, random: Random) -> Mechanism:
    return replace(mechanism, gravity=ZERO3)


def uneven(mechanism: Mechanism, random: Random) -> Mechanism:
    """Give a link a mass of milligrams or of tons."""
    by = Fraction(10) ** random.choice((-6, -4, -2, 2, 4))

    def heavier(part: Part) -> Part:
        xx, xy, xz, yy, yz, zz = (moment * by for moment in part.moments)
        return replace(part, mass=part.mass * by, moments=(xx, xy, xz, yy, yz, zz))

    return _with_body(mechanism, random, lambda parts: tuple(heavier(part) for part in parts))


def empty(mechanism: Mechanism, random: Random) -> Mechanism:
    """Remove the mass of a link."""
    return _with_body(mechanism, random, lambda parts: ())


def laden(mechanism: Mechanism, random: Random) -> Mechanism:
    """Add a point mass to a link."""
    point = Part("stone", (Shift(_vector(random, 0.3)),), _fraction(random, 0.1, 2))
    return _with_body(mechanism, random, lambda parts: (*parts, point))


def crossed(mechanism: Mechanism, random: Random) -> Mechanism:
    """Give a link products of inertia by points on opposite sides of its centre."""
    x, y, z = _vector(random, 0.3)
    points = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)

    def more(part: Part) -> Part:
        xx, xy, xz, yy, yz, zz = (
            moment + point for moment, point in zip(part.moments, points, strict=True)
        )
        return replace(part, moments=(xx, xy, xz, yy, yz, zz))

    return _with_body(mechanism, random, lambda parts: tuple(more(part) for part in parts))


def _with_body(
    mechanism: Mechanism, random: Random, change: Callable[[tuple[Part, ...]], tuple[Part, ...]]
) -> Mechanism:
    """Replace the parts of one body."""
    index = random.randrange(len(mechanism.bodies))
    return replace(
        mechanism,
        bodies=tuple(
            Body(b.name, change(b.parts)) if i == index else b
            for i, b in enumerate(mechanism.bodies)
        ),
    )


def framed(mechanism: Mechanism, random: Random) -> Mechanism:
    """Add a frame on a link and one on the base."""
    more = (
        Frame("tool", random.randrange(len(mechanism.bodies)), _pose(random, 0.5)),
        Frame("spot", BASE, _pose(random, 2)),
    )
    return replace(mechanism, frames=(*mechanism.frames, *more))


def limited(mechanism: Mechanism, random: Random) -> Mechanism:
    """Give joints ranges, some with one end only."""

    def limits() -> Limits:
        low, high = _fraction(random, -2, 0), _fraction(random, 0.1, 2)
        lower, upper = random.choice(((low, high), (low, high), (low, None), (None, high)))
        return Limits(lower, upper, _fraction(random, 0.1, 5), _fraction(random, 1, 90))

    return replace(
        mechanism,
        joints=tuple(
            replace(j, limits=limits()) if j.type.nq == 1 else j for j in mechanism.joints
        ),
    )


def parallel(mechanism: Mechanism, random: Random) -> Mechanism:
    """Make all axes parallel, as in a planar robot."""
    axis = random.choice((X_AXIS, Z_AXIS))

    def along(joint: Joint) -> Joint:
        return replace(
            joint,
            axis=axis if joint.type.directed else Z_AXIS,
            pose=tuple(step for step in joint.pose if isinstance(step, Shift)),
        )

    return replace(mechanism, joints=tuple(along(joint) for joint in mechanism.joints))


CHANGES: tuple[tuple[float, Callable[[Mechanism, Random], Mechanism]], ...] = (
    (0.1, parallel),
    (0.25, uneven),
    (0.3, crossed),
    (0.3, laden),
    (0.1, empty),
    (0.4, framed),
    (0.4, limited),
    (0.3, slanted),
    (0.1, weightless),
    (0.3, far),
)
