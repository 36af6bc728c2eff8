"""Physical validity of run-time inertial parameters: quantities that must not be negative, and
quantities that must be positive.

A mass is not negative, and neither is an eigenvalue of the second moments Σ = ½tr(I)1 − I about the
mass centre: no principal minor of Σ is negative (Sylvester). Moments are often given with four
digits, by which thin bodies slightly violate this. So Σ is tested with SLACK times its value about
the origin added to its diagonal. And every joint must carry some mass.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation import constants as k
from symgen.derivation.model import Model
from symgen.derivation.runtime_inertia import BodyInertia
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Vector

SLACK = k.rational(1) / 2**16


def validity_margins(
    derivation: Derivation, matter: Sequence[BodyInertia], parameters: Sequence[Scalar]
) -> list[Scalar]:
    """Return the quantities that must not be negative, for the links and loads with run-time
    parameters.
    """
    margins: list[Scalar] = []
    for body in matter:
        if isinstance(body.mass, int):
            margins.append(parameters[body.mass])
        if not body.central:
            margins += _minors(derivation, body, parameters)
    return margins


def _minors(
    derivation: Derivation, body: BodyInertia, parameters: Sequence[Scalar]
) -> list[Scalar]:
    """Return the principal minors of Σ about the mass centre, with the slack on its diagonal."""

    def scalar(x: object) -> Scalar:
        return parameters[x] if isinstance(x, int) else derivation.constant(x)

    m, c = scalar(body.mass), Vector(scalar(x) for x in body.centre)
    xx, xy, xz, yy, yz, zz = (scalar(x) for x in body.inertia)
    half, h = (xx + yy + zz) * derivation.constant(k.rational(1) / 2), c * m
    half_trace = half + half * derivation.constant(SLACK)
    a, b, d = (
        half_trace - xx - h[0] * c[0],
        half_trace - yy - h[1] * c[1],
        half_trace - zz - h[2] * c[2],
    )
    p, q, r = -xy - h[0] * c[1], -xz - h[0] * c[2], -yz - h[1] * c[2]
    ab, ad, bd = a * b - p * p, a * d - q * q, b * d - r * r
    return [a, b, d, ab, ad, bd, d * ab - (b * q - p * r) * q - (a * r - p * q) * r]


def carried_masses(
    derivation: Derivation, model: Model, inertias: Sequence[RigidInertia]
) -> list[Scalar]:
    """Return for each joint the mass that it carries; for a rotating joint, plus the moments about
    the origins of the links.
    """
    mass, mass_and_moments = (
        [inertia.m for inertia in inertias],
        [inertia.m + inertia.S.xx + inertia.S.yy + inertia.S.zz for inertia in inertias],
    )
    for i in reversed(range(len(inertias))):
        if (parent := model.links[i].parent) >= 0:
            mass[parent], mass_and_moments[parent] = (
                mass[parent] + mass[i],
                mass_and_moments[parent] + mass_and_moments[i],
            )
    return [mass_and_moments[i] if link.turns else mass[i] for i, link in enumerate(model.links)]
