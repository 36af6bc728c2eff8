"""A sine and cosine of our own: NAME_sincos.h, text without a branch, a table, a call or an integer; and the same in a loop.

x is brought to r = x - k·pi/2 in [-pi/4, pi/4] (Cody and Waite): pi/2 is a sum of short parts, whose products with k are
exact, and one long part. Polynomials in y = r² give the sine and the cosine of r, and k modulo 4 says by products with
0, 1 and -1 which of the two goes where. Sine and cosine of one angle share all of this.

The loop is over all angles of a call at once (`--trig auto`): how often it runs is known to the compiler, and a whole number of
vectors of 16 bytes, so that gcc vectorises it at -O2 for any x86-64 and AArch64. Each operation is the same, and so are the bits.
Angles beyond the range are then given to <math.h>, each for itself. That one is among them shows in the sum of their sizes, which
is no less than any of them: rounding keeps the order, and nothing negative is added.

`python -m tests.sincos_constants` computes what stands in `CONSTANTS`. `tests/sincos_proof.py` proves the bound `ULPS` from
the printed text.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from symgen.emission.c_text import literal
from symgen.vocabulary.reals import REALS, SINE_RANGE, SINE_ULPS

RANGE = SINE_RANGE
"""The largest |x| (rad) for which the bound holds."""
ULPS = SINE_ULPS["inline"]
"""The bound: units in the last place of the exact sine or cosine."""
DOMAIN = (5, 8)
"""The polynomials are fitted over y from 0 to 5/8, a little more than (pi/4)²."""


class Constants(NamedTuple):
    """Literals of one real type: 2/pi; 3/2 of the power of two from which on there are no bits behind the point; the parts
    of pi/2, all positive, so that they leave the sign of a zero alone; (sin r - r)/r³ and (cos r - 1 + r²/2)/r⁴ in y, from the
    constant term on."""

    turns: str
    whole: str
    parts: tuple[str, ...]
    sine: tuple[str, ...]
    cosine: tuple[str, ...]


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


def context(real: str) -> dict[str, Any]:
    """What the template says about one real type."""
    known = CONSTANTS[real]
    numbers = {
        name: literal(Fraction(value), REALS[real])
        for name, value in (
            ("zero", "0"),
            ("one", "1"),
            ("four", "4"),
            ("half", "1/2"),
            ("quarter", "1/4"),
        )
    }
    return (
        numbers
        | known._asdict()
        | {
            "farthest": literal(Fraction(RANGE), REALS[real]),
            **{name: REALS[real].libm(name) for name in ("fabs", "sin", "cos")},
            "short": len(known.parts) > 3,
            "sine": _horner("s", known.sine),
            "cosine": _horner("c", known.cosine),
        }
    )


def lanes(angles: int, real: str) -> int:
    """How often the loop over that many angles runs: a whole number of vectors of 16 bytes."""
    together = 16 // REALS[real].size
    return -(-angles // together) * together


def _horner(letter: str, coefficients: tuple[str, ...]) -> list[dict[str, str]]:
    """The statements of Horner's rule, innermost first: the i-th is coefficient i and y times what stands before."""
    last, found = coefficients[-1], []
    for i in reversed(range(len(coefficients) - 1)):
        sign = "-" if last.startswith("-") else "+"
        name = f"{letter}_{i}"
        found.append(
            {"name": name, "value": f"{coefficients[i]} {sign} (y*{last.removeprefix('-')})"}
        )
        last = name
    return found
