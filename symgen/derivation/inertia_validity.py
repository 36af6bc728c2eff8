"""Whether bodies can have the inertial parameters that came at run time: what must not be negative, and what must be positive.

A mass is not negative, and neither is an eigenvalue of the second moments Σ = ½tr(I)1 − I about the mass centre: no principal
minor of theirs is (Sylvester). Moments are often given to four digits, by which thin bodies are none: Σ is tried with SLACK of
what it is about the origin added to its diagonal. And something has to be carried by every joint.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation import constants as k
from symgen.derivation.model import Model
from symgen.derivation.runtime_inertia import Matter
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Vector

SLACK = k.rational(1) / 2**16


def judged(home: Derivation, matter: Sequence[Matter], given: Sequence[Scalar]) -> list[Scalar]:
    """What must not be negative, of the links and loads whose numbers are given."""
    found: list[Scalar] = []
    for one in matter:
        if isinstance(one.mass, int):
            found.append(given[one.mass])
        if not one.central:
            found += _minors(home, one, given)
    return found


def _minors(home: Derivation, one: Matter, given: Sequence[Scalar]) -> list[Scalar]:
    """The principal minors of Σ about the mass centre, with the slack on its diagonal."""

    def scalar(x: object) -> Scalar:
        return given[x] if isinstance(x, int) else home.constant(x)

    m, c = scalar(one.mass), Vector(scalar(x) for x in one.centre)
    xx, xy, xz, yy, yz, zz = (scalar(x) for x in one.inertia)
    half, h = (xx + yy + zz) * home.constant(k.rational(1) / 2), c * m
    level = half + half * home.constant(SLACK)
    a, b, d = level - xx - h[0] * c[0], level - yy - h[1] * c[1], level - zz - h[2] * c[2]
    p, q, r = -xy - h[0] * c[1], -xz - h[0] * c[2], -yz - h[1] * c[2]
    ab, ad, bd = a * b - p * p, a * d - q * q, b * d - r * r
    return [a, b, d, ab, ad, bd, d * ab - (b * q - p * r) * q - (a * r - p * q) * r]


def carried(home: Derivation, model: Model, own: Sequence[RigidInertia]) -> list[Scalar]:
    """Of every joint the mass that it carries, and with it, where the joint turns, the moments about the links' origins."""
    mass, spread = ([one.m for one in own], [one.m + one.S.xx + one.S.yy + one.S.zz for one in own])
    for i in reversed(range(len(own))):
        if (parent := model.links[i].parent) >= 0:
            mass[parent], spread[parent] = mass[parent] + mass[i], spread[parent] + spread[i]
    return [spread[i] if link.turns else mass[i] for i, link in enumerate(model.links)]
