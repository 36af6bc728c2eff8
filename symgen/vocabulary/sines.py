"""Constants of the generated sine and cosine (`--trig auto` and `inline`), for each real type.

An angle is reduced to r in [-pi/4, pi/4], and two polynomials in y = r² give its sine and cosine.
`symgen.emission.sincos` prints that, and `symgen.readback.sines` reads it. `python -m
tests.sincos_constants` computes the constants.
"""

from __future__ import annotations

from typing import NamedTuple


class Constants(NamedTuple):
    """Literals of one real type."""

    turns: str
    """2/pi."""
    whole: str
    """1.5 times the power of two from which on a number has no fractional bits."""
    parts: tuple[str, ...]
    """Summands of pi/2. All are positive, so that they keep the sign of a zero."""
    sine: tuple[str, ...]
    """Coefficients of (sin r - r)/r³ in y, from the constant term on."""
    cosine: tuple[str, ...]
    """Coefficients of (cos r - 1 + r²/2)/r⁴ in y, from the constant term on."""


CONSTANTS = {
    "float": Constants(
        turns="0.63661975f",
        whole="12582912.0f",
        parts=("1.5703125f", "0.00048351288f", "3.138557e-07f", "6.070877e-11f", "6.223372e-14f"),
        sine=("-0.16666654f", "0.008332146f", "-0.00019512943f"),
        cosine=("0.041666653f", "-0.0013887701f", "2.4472842e-05f"),
    ),
    "double": Constants(
        turns="0.6366197723675814",
        whole="6755399441055744.0",
        parts=("1.5707963267923333", "2.5633441515905732e-12", "3.9455541665632055e-24"),
        sine=(
            "-0.1666666666666663",
            "0.00833333333332168",
            "-0.00019841269829195643",
            "2.755731347206708e-06",
            "-2.5050722627378766e-08",
            "1.5894682018259656e-10",
        ),
        cosine=(
            "0.041666666666666644",
            "-0.00138888888888816",
            "2.4801587294034563e-05",
            "-2.7557315626171496e-07",
            "2.0875890271757554e-09",
            "-1.136796430280546e-11",
        ),
    ),
}
