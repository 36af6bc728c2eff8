"""Several inertias of one link as one, since a link of a URDF and a body of MuJoCo has one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq

from symgen.description.quantities import DIGITS
from symgen.description.writers._places import placed, precise, rational, turned_moments
from symgen.mechanism.mechanism import Part
from symgen.vocabulary.poses import Shift


@precise
def combined(parts: Sequence[Part]) -> Part:
    """Mass, centre of mass and moments about it of all together, in the axes of the frame that their poses start at.

    Exact where the poses are rational, else to 60 digits. The same fraction of all their weights is borne.
    """
    if len(parts) == 1:
        return parts[0]
    mass = sum((part.mass for part in parts), Fraction(0))
    places = [placed(part.pose) for part in parts]
    weights = [rational(part.mass) / rational(mass) if mass else fmpq(0) for part in parts]
    centre = [
        sum((share * shift[k] for share, (_, shift) in zip(weights, places, strict=True)), fmpq(0))
        for k in range(3)
    ]
    moments = [fmpq(0)] * 6
    for part, (turned, shift) in zip(parts, places, strict=True):
        x, y, z = (shift[k] - centre[k] for k in range(3))
        about = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        own = turned_moments(turned, part.moments)
        moments = [
            total + one + rational(part.mass) * aside
            for total, one, aside in zip(moments, own, about, strict=True)
        ]
    a, b, c = map(_fraction, centre)
    xx, xy, xz, yy, yz, zz = map(_fraction, moments)
    return Part(
        parts[0].link,
        (Shift((a, b, c)),) if a or b or c else (),
        mass,
        (xx, xy, xz, yy, yz, zz),
        parts[0].gravcomp,
    )


def _fraction(value: Any) -> Fraction:
    """Of a ball, to 60 digits; nothing where it may be zero."""
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    return Fraction(0) if value.contains(0) else Fraction(value.str(DIGITS, radius=False))
