"""Rotation about a z axis by a sum of joint angles and a constant, as along parallel axes."""

from __future__ import annotations

from dataclasses import dataclass, field

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant


@dataclass(frozen=True)
class Spin:
    """Rotation by Σ sign · (angle of link's joint) + the constant angle of (cosine, sine); `terms`
    are (link, sign) in order.
    """

    terms: tuple[tuple[int, int], ...] = ()
    constant: tuple[Constant, Constant] = field(default=(k.ONE, k.ZERO))

    def __add__(self, other: Spin) -> Spin:
        counted = dict(self.terms)
        for link, sign in other.terms:
            counted[link] = counted.get(link, 0) + sign
        (a, b), (c, d) = self.constant, other.constant
        rotation = (k.normalize(a * c - b * d), k.normalize(b * c + a * d))
        return Spin(tuple((link, sign) for link, sign in sorted(counted.items()) if sign), rotation)

    def __neg__(self) -> Spin:
        cosine, sine = self.constant
        return Spin(tuple((link, -sign) for link, sign in self.terms), (cosine, k.normalize(-sine)))

    def __sub__(self, other: Spin) -> Spin:
        return self + -other

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def is_zero(self) -> bool:
        """True if the rotation is the identity."""
        return not self.terms and self.constant[0] == 1


NO_SPIN = Spin()
