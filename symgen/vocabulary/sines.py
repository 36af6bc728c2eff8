"""Constants of the generated sine and cosine (`--trig auto` and `inline`), for each real type.

The generated C reduces an angle x to r = x - k·pi/2 in [-pi/4, pi/4], where k is a whole number.
Two polynomials in y = r² give the sine and the cosine of r. `symgen.emission.sincos` prints this C
code, and `symgen.readback.sines` reads the printed code back. `python -m tests.sincos_constants`
computes the constants.
"""

from __future__ import annotations

from typing import NamedTuple


class Constants(NamedTuple):
    """Constants for one real type, float or double, as literals of C."""

    turns: str
    """2/pi: k is the angle times 2/pi, rounded to a whole number."""
    whole: str
    """1.5·2²³ for float, 1.5·2⁵² for double.

    A number of this size has no fractional bits. Adding and then subtracting `whole` therefore
    rounds a smaller number to a whole number.
    """
    parts: tuple[str, ...]
    """Summands of pi/2: the C subtracts k times each of them from the angle.

    All summands are positive. Each product with k = 0 is then +0, and the angle -0 keeps its sign.
    """
    sine: tuple[str, ...]
    """Coefficients of the polynomial in y for (sin r - r)/r³, constant term first."""
    cosine: tuple[str, ...]
    """Coefficients of the polynomial in y for (cos r - 1 + r²/2)/r⁴, constant term first."""


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
"""Constants by the name of the real type."""
