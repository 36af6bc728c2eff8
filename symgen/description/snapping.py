"""Rotation tokens that were meant as multiples of π/2 become exactly that, and every such change is reported.

A printed right angle is never exact: `1.5708` misses π/2 by 3.7e-6, `1.5707963267948966` by 6.1e-17. Taken literally it costs
operations (sines of almost zero) and exactness. A plain decimal v is read as kπ/2 when

    1. |v − kπ/2| ≤ tolerance (1e-8 rad unless asked otherwise), k = 0 included: -4.6e-11 is zero; or
    2. k ≠ 0 and v is kπ/2 rounded or truncated to v's own printed decimals, of which there are at least four.

So `1.5708`, `1.57079` and `3.1416` snap, and `1.57` stays `1.57`. `off` switches both rules off. A tolerance replaces only the
1e-8, because rule 2 measures no distance: it recognises how a writer prints a right angle. Beyond |v| = 1000 nothing snaps. There
every second decimal is near some multiple, and radians were hardly meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from symgen.description.quantities import DIGITS, Place, angle, angle_text, decimal_parts, number, shown
from symgen.errors import ArgumentError, DescriptionError
from symgen.poses import Angle

HALF_PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707") / 2
DEFAULT_TOLERANCE = Fraction(1, 10**8)
_LARGEST = 1000
_LEAST_DECIMALS = 4


@dataclass(frozen=True)
class Snap:
    """One rotation token that was read as a multiple of π/2."""

    place: Place
    token: str
    value: Angle

    @property
    def text(self) -> str:
        moved = abs(number(self.token, digits=10**6) - self.value.pi * 2 * HALF_PI)
        return f"{self.place.short}: {self.token} read as {angle_text(self.value)} (moved by {float(moved):.1e} rad)"


def tolerance(snap: str | float | Fraction | None) -> Fraction | None:
    """The tolerance in rad that the option `snap` asks for; None means off. Raises RequestError."""
    if snap is None or snap == "default":
        return DEFAULT_TOLERANCE
    if isinstance(snap, str) and snap.strip().lower() == "off":
        return None
    try:
        value = snap if isinstance(snap, Fraction) else number(str(snap))
    except DescriptionError:
        value = Fraction(-1)
    if not 0 <= value <= Fraction(1, 10):
        raise ArgumentError(f"snap is {shown(snap)}; give 'off' or a tolerance between 0 and 0.1 rad")
    return value


def snapped(token: str, within: Fraction | None = DEFAULT_TOLERANCE) -> Angle | None:
    """kπ/2 when the plain decimal `token` is read as that, else None (also for exact zeros, which need no snap)."""
    parts = decimal_parts(token)
    if within is None or parts is None:
        return None
    value = number(token, digits=10**6)
    if value == 0 or abs(value) > _LARGEST:
        return None
    turns = round(value / HALF_PI)
    meant = turns * HALF_PI
    decimals = len(parts[2]) - parts[3]
    if abs(value - meant) <= within or (turns and decimals >= _LEAST_DECIMALS and value in _printed(meant, decimals)):
        return Angle(pi=Fraction(turns, 2))
    return None


def _printed(value: Fraction, decimals: int) -> tuple[Fraction, Fraction]:
    """`value` rounded and truncated (toward zero) to `decimals` decimals."""
    scale = 10**decimals
    cut = abs(value) * scale // 1
    return round(value * scale) / Fraction(scale), (cut if value > 0 else -cut) / Fraction(scale)


@dataclass
class Snapper:
    """Reads the rotation tokens of one description and remembers every snap, in reading order."""

    within: Fraction | None = DEFAULT_TOLERANCE
    snaps: list[Snap] = field(default_factory=list)
    asked: bool = False
    """Whether the user chose `within`; if so a description's own wish does not count."""

    def prefer(self, within: Fraction | None) -> None:
        """Adopt the tolerance that a description asks for, unless the user chose one."""
        if not self.asked:
            self.within = within

    def angle(self, token: str, place: Place, digits: int = DIGITS) -> Angle:
        """The angle that `token` stands for; DescriptionError when it is no angle."""
        exact = angle(token, place, digits)
        meant = snapped(token, self.within)
        if meant is None:
            return exact
        self.snaps.append(Snap(place, token.strip(), meant))
        return meant
