"""Snapping: rotation tokens that stand for multiples of π/2 are read as exact multiples, and every
change is reported.

A printed right angle is never exact: `1.5708` misses π/2 by 3.7e-6, `1.5707963267948966` by
6.1e-17. Read literally, it costs operations (sines of almost zero) and exactness. A plain decimal v
is read as kπ/2 if

    1. |v − kπ/2| ≤ tolerance (1e-8 rad by default), k = 0 included: -4.6e-11 is zero; or
    2. k ≠ 0 and v is kπ/2 rounded or truncated to v's own printed decimals, of which there are at
       least four.

So `1.5708`, `1.57079` and `3.1416` snap, and `1.57` stays `1.57`. `off` disables both rules. A
tolerance replaces only the 1e-8: rule 2 recognises how a writer prints a right angle and measures
no distance. Nothing snaps beyond |v| = 1000. There every second decimal is close to some multiple,
and the unit was probably not radians.

For a quaternion, which counts as one of length one, the same two rules recognise one of the 24
rotations that map axes to axes. It is within the tolerance, or each printed entry is 1, √½ or ½ of
the length. `0.707107 0.707107 0 0` is a right angle.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import pi, remainder, sqrt
from typing import cast

from symgen.description.quantities import (
    DIGITS,
    Location,
    angle,
    angle_text,
    decimal_parts,
    number,
    quote,
)
from symgen.support.errors import ArgumentError, DescriptionError
from symgen.vocabulary.poses import Angle, Quaternion

HALF_PI = (
    Fraction(
        "3.14159265358979323846264338327950288419716939937510"
        "582097494459230781640628620899862803482534211707"
    )
    / 2
)
DEFAULT_TOLERANCE = Fraction(1, 10**8)
_HALF_ROOT = Fraction(
    "0.70710678118654752440084436210484903928483593768847"
    "403658833986899536623923105351942519376716382079"
)
"""√½."""
_LARGEST = 1000
_LEAST_DECIMALS = 4
_FARTHEST_PRINTED = 10**-_LEAST_DECIMALS
"""Upper bound on the distance of a number from what it prints with _LEAST_DECIMALS decimals."""
_ROUND_OFF = 1e-9
"""Far above the round-off of the distance of a number up to _LARGEST from a multiple of π/2 in
doubles.
"""


@dataclass(frozen=True)
class Snap:
    """One rotation that was read as another; `angle_change` is the difference in rad."""

    location: Location
    token: str
    meant: str
    angle_change: float

    @property
    def text(self) -> str:
        return (
            f"{self.location.short}: {self.token} read as {self.meant} (moved by"
            f" {self.angle_change:.1e} rad)"
        )


def snap_tolerance(snap: str | float | Fraction | None) -> Fraction | None:
    """Return the tolerance in rad of the option `snap`; None means off. Raises RequestError."""
    if snap is None or snap == "default":
        return DEFAULT_TOLERANCE
    if isinstance(snap, str) and snap.strip().lower() == "off":
        return None
    try:
        value = snap if isinstance(snap, Fraction) else number(str(snap))
    except DescriptionError:
        value = None
    if value is None or not 0 <= value <= Fraction(1, 10):
        raise ArgumentError(
            f"snap is {quote(snap)}; give 'off' or a tolerance between 0 and 0.1 rad"
        )
    return value


def _snap_cached(token: str, within: Fraction | None) -> Angle | None:
    """Return `snap_token`, cached for short tokens: most files repeat a few of them."""
    return _cached(token, within) if len(token) <= 32 else snap_token(token, within)


def snap_token(token: str, within: Fraction | None = DEFAULT_TOLERANCE) -> Angle | None:
    """Return kπ/2 if the plain decimal `token` is read as that, else None. Exact zeros need no snap
    and give None.
    """
    parts = decimal_parts(token)
    if within is None or parts is None:
        return None
    value = number(token, digits=sys.maxsize)
    if value == 0 or abs(value) > _LARGEST:
        return None
    if abs(remainder(value, pi / 2)) > max(within, _FARTHEST_PRINTED) + _ROUND_OFF:
        return None  # as most angles; neither rule can hold
    turns = round(value / HALF_PI)
    meant = turns * HALF_PI
    decimals = len(parts[2]) - parts[3]
    if abs(value - meant) <= within or (
        decimals >= _LEAST_DECIMALS and value in _printed(meant, decimals)
    ):
        return Angle(pi=Fraction(turns, 2))
    return None


_cached = lru_cache(maxsize=1 << 12)(snap_token)


def _printed(value: Fraction, decimals: int) -> tuple[Fraction, Fraction]:
    """Return `value` rounded and truncated (toward zero) to `decimals` decimals."""
    scale = 10**decimals
    cut = abs(value) * scale // 1
    return round(value * scale) / Fraction(scale), (cut if value > 0 else -cut) / Fraction(scale)


def _right_turn(
    exact: Quaternion, tokens: Sequence[str], within: Fraction | None
) -> Quaternion | None:
    """Return the nearest rotation that maps axes to axes if it is recognised and differs from the
    declared one, else None.
    """
    if within is None:
        return None
    scale = max(map(abs, exact))
    snapped = cast(Quaternion, tuple(Fraction(round(entry / scale)) for entry in exact))
    entries = sum(map(abs, snapped))
    if entries == 3 or (off := _square_of_sine(exact, snapped)) == 0:
        return None  # three equal entries map no axis to an axis
    # 1 and ½ are printed exactly, and differ from the declared quaternion only within the tolerance
    printed = entries == 2 and all(
        _is_printed(token, _HALF_ROOT * sign) for token, sign in zip(tokens, snapped, strict=True)
    )
    return snapped if printed or 4 * off <= within * within else None


def _is_printed(token: str, entry: Fraction) -> bool:
    """True if `token` is `entry`, or `entry` printed to four decimals or more."""
    parts = decimal_parts(token)
    if parts is None:
        return False
    decimals, value = len(parts[2]) - parts[3], number(token, digits=sys.maxsize)
    return value == entry or (decimals >= _LEAST_DECIMALS and value in _printed(entry, decimals))


def _square_of_sine(first: Quaternion, second: Quaternion) -> Fraction:
    """Return the squared sine of the angle between two quaternions, which is half the angle between
    their rotations.
    """
    product = sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))
    return 1 - product * product / (sum(a * a for a in first) * sum(b * b for b in second))


@dataclass
class Snapper:
    """Reads the rotation tokens of one description and records every snap, in reading order."""

    within: Fraction | None = DEFAULT_TOLERANCE
    snaps: list[Snap] = field(default_factory=list)
    chosen: bool = False
    """True if the user or the description chose `within`."""

    def prefer(self, within: Fraction | None) -> None:
        """Adopt the tolerance of a description, unless the user chose one."""
        if not self.chosen:
            self.within, self.chosen = within, True

    def angle(self, token: str, location: Location, digits: int = DIGITS) -> Angle:
        """Return the angle of `token`. Raises DescriptionError for anything else."""
        exact = angle(token, location, digits)
        snapped = _snap_cached(token, self.within)
        if snapped is None:
            return exact
        angle_change = abs(number(token, digits=sys.maxsize) - snapped.pi * 2 * HALF_PI)
        self.snaps.append(Snap(location, token.strip(), angle_text(snapped), float(angle_change)))
        return snapped

    def quaternion(
        self,
        tokens: Sequence[str],
        location: Location,
        read: Callable[[str, Location], Fraction] = number,
    ) -> Quaternion:
        """Return the quaternion w, x, y, z, of any length, of four tokens. Raises DescriptionError
        for anything else.
        """
        w, x, y, z = (read(token, location) for token in tokens)
        exact = (w, x, y, z)
        if not any(exact):
            raise location.error("the quaternion is zero", "give it a direction, such as 1 0 0 0")
        snapped = _right_turn(exact, tokens, self.within)
        if snapped is None:
            return exact
        self.snaps.append(
            Snap(
                location,
                " ".join(token.strip() for token in tokens),
                " ".join(map(str, snapped)),
                2 * sqrt(_square_of_sine(exact, snapped)),
            )
        )
        return snapped
