"""Rotation tokens that were meant as multiples of π/2 become exactly that, and every such change is reported.

A printed right angle is never exact: `1.5708` misses π/2 by 3.7e-6, `1.5707963267948966` by 6.1e-17. Taken literally it costs
operations (sines of almost zero) and exactness. A plain decimal v is read as kπ/2 when

    1. |v − kπ/2| ≤ tolerance (1e-8 rad unless asked otherwise), k = 0 included: -4.6e-11 is zero; or
    2. k ≠ 0 and v is kπ/2 rounded or truncated to v's own printed decimals, of which there are at least four.

So `1.5708`, `1.57079` and `3.1416` snap, and `1.57` stays `1.57`. `off` switches both rules off. A tolerance replaces only the
1e-8, because rule 2 measures no distance: it recognises how a writer prints a right angle. Beyond |v| = 1000 nothing snaps. There
every second decimal is near some multiple, and radians were hardly meant.

Of a quaternion, which is made of length one exactly, the same two rules tell one of the 24 turns that take axes to axes: it is
nearer than the tolerance, or each entry is 1, √½ or ½ of it as printed. `0.707107 0.707107 0 0` is a right angle as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import sqrt
from typing import cast

from symgen.description.quantities import (
    DIGITS,
    Place,
    angle,
    angle_text,
    decimal_parts,
    number,
    shown,
)
from symgen.support.errors import ArgumentError, DescriptionError
from symgen.vocabulary.poses import Angle, Quaternion

HALF_PI = (
    Fraction(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707"
    )
    / 2
)
DEFAULT_TOLERANCE = Fraction(1, 10**8)
_HALF_ROOT = Fraction(
    "0.70710678118654752440084436210484903928483593768847403658833986899536623923105351942519376716382079"
)
"""√½."""
_LARGEST = 1000
_LEAST_DECIMALS = 4


@dataclass(frozen=True)
class Snap:
    """One rotation that was read as another, which it `moved` by that many rad."""

    place: Place
    token: str
    meant: str
    moved: float

    @property
    def text(self) -> str:
        return (
            f"{self.place.short}: {self.token} read as {self.meant} (moved by {self.moved:.1e} rad)"
        )


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
        raise ArgumentError(
            f"snap is {shown(snap)}; give 'off' or a tolerance between 0 and 0.1 rad"
        )
    return value


def _as_meant(token: str, within: Fraction | None) -> Angle | None:
    """`snapped`, remembered of short tokens: in most files the same few stand everywhere."""
    return _remembered(token, within) if len(token) <= 32 else snapped(token, within)


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
    if abs(value - meant) <= within or (
        turns and decimals >= _LEAST_DECIMALS and value in _printed(meant, decimals)
    ):
        return Angle(pi=Fraction(turns, 2))
    return None


_remembered = lru_cache(maxsize=1 << 12)(snapped)


def _printed(value: Fraction, decimals: int) -> tuple[Fraction, Fraction]:
    """`value` rounded and truncated (toward zero) to `decimals` decimals."""
    scale = 10**decimals
    cut = abs(value) * scale // 1
    return round(value * scale) / Fraction(scale), (cut if value > 0 else -cut) / Fraction(scale)


_RIGHT_TURNS = [
    cast(Quaternion, tuple(map(Fraction, entries)))
    for entries in product((-1, 0, 1), repeat=4)
    if sum(map(abs, entries)) in (1, 2, 4)
]
"""The turns that take axes to axes, each twice."""


def _right_turn(
    exact: Quaternion, tokens: Sequence[str], within: Fraction | None
) -> Quaternion | None:
    """The nearest of those where it is meant and is not what stands there already."""
    scale = max(map(abs, exact))
    rough = [round(entry / scale, 2) for entry in exact]
    if within is None or not all(
        abs(entry) < Fraction(1, 10) or abs(entry) > Fraction(9, 10) for entry in rough
    ):
        return None
    meant = cast(Quaternion, tuple(Fraction(round(entry)) for entry in rough))
    if meant not in _RIGHT_TURNS or (off := _square_of_sine(exact, meant)) == 0:
        return None
    entry = {1: Fraction(1), 2: _HALF_ROOT, 4: Fraction(1, 2)}[int(sum(map(abs, meant)))]
    printed = any(meant[1:]) and all(
        _is_printed(token, entry * sign) for token, sign in zip(tokens, meant, strict=True)
    )
    return meant if printed or 4 * off <= within * within else None


def _is_printed(token: str, entry: Fraction) -> bool:
    parts = decimal_parts(token)
    if parts is None:
        return False
    decimals, value = len(parts[2]) - parts[3], number(token, digits=10**6)
    return value == entry or (decimals >= _LEAST_DECIMALS and value in _printed(entry, decimals))


def _square_of_sine(one: Quaternion, other: Quaternion) -> Fraction:
    """Of the angle between two quaternions, which is half of that between their turns."""
    along = sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))
    return 1 - along * along / (sum(a * a for a in one) * sum(b * b for b in other))


@dataclass
class Snapper:
    """Reads the rotation tokens of one description and remembers every snap, in reading order."""

    within: Fraction | None = DEFAULT_TOLERANCE
    snaps: list[Snap] = field(default_factory=list)
    asked: bool = False
    """True if the user or the description chose `within`."""

    def prefer(self, within: Fraction | None) -> None:
        """Adopt the tolerance that a description asks for, unless the user chose one."""
        if not self.asked:
            self.within, self.asked = within, True

    def angle(self, token: str, place: Place, digits: int = DIGITS) -> Angle:
        """The angle that `token` stands for; DescriptionError when it is no angle."""
        exact = angle(token, place, digits)
        meant = _as_meant(token, self.within)
        if meant is None:
            return exact
        moved = abs(number(token, digits=10**6) - meant.pi * 2 * HALF_PI)
        self.snaps.append(Snap(place, token.strip(), angle_text(meant), float(moved)))
        return meant

    def quaternion(
        self, tokens: Sequence[str], place: Place, read: Callable[[str, Place], Fraction] = number
    ) -> Quaternion:
        """The quaternion w, x, y, z of any length that four tokens stand for; DescriptionError when they are none."""
        w, x, y, z = (read(token, place) for token in tokens)
        exact = (w, x, y, z)
        if not any(exact):
            raise place.error("the quaternion is zero", "give it a direction, such as 1 0 0 0")
        meant = _right_turn(exact, tokens, self.within)
        if meant is None:
            return exact
        self.snaps.append(
            Snap(
                place,
                " ".join(token.strip() for token in tokens),
                " ".join(map(str, meant)),
                2 * sqrt(_square_of_sine(exact, meant)),
            )
        )
        return meant
