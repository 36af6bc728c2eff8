"""A sine and cosine of our own: NAME_sincos.h, text without a branch, a table, a call or an
integer; and the same in a loop.

x is brought to r = x - k·pi/2 in [-pi/4, pi/4] (Cody and Waite): pi/2 is a sum of short parts,
whose products with k are exact, and one long part. Polynomials in y = r² give the sine and the
cosine of r, and k modulo 4 says by products with 0, 1 and -1 which of the two goes where. Sine and
cosine of one angle share all of this.

The loop is over all angles of a call at once (`--trig auto`): how often it runs is known to the
compiler, and a whole number of vectors of 16 bytes, so that gcc vectorises it at -O2 for any x86-64
and AArch64. Each operation is the same, and so are the bits. Angles beyond the range are then given
to <math.h>, each for itself. That one is among them shows in the sum of their sizes, which is no
less than any of them: rounding keeps the order, and nothing negative is added.

`python -m tests.sincos_constants` computes the constants in `symgen.vocabulary.sines`.
`tests/sincos_proof.py` proves the bound `ULPS` from the printed text.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symgen.emission.c_text import literal
from symgen.vocabulary.reals import REALS, SINE_RANGE, SINE_ULPS
from symgen.vocabulary.sines import CONSTANTS

RANGE = SINE_RANGE
"""The largest |x| (rad) for which the bound holds."""
ULPS = SINE_ULPS["inline"]
"""The bound: units in the last place of the exact sine or cosine."""
DOMAIN = (5, 8)
"""The polynomials are fitted over y from 0 to 5/8, a little more than (pi/4)²."""


def context(real: str) -> dict[str, Any]:
    """Return the facts of the template about one real type."""
    constants = CONSTANTS[real]
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
        | constants._asdict()
        | {
            "farthest": literal(Fraction(RANGE), REALS[real]),
            **{name: REALS[real].libm(name) for name in ("fabs", "sin", "cos")},
            "short": len(constants.parts) > 3,
            "sine": _horner("s", constants.sine),
            "cosine": _horner("c", constants.cosine),
        }
    )


def lanes(angles: int, real: str) -> int:
    """How often the loop over that many angles runs: a whole number of vectors of 16 bytes."""
    together = 16 // REALS[real].size
    return -(-angles // together) * together


def _horner(letter: str, coefficients: tuple[str, ...]) -> list[dict[str, str]]:
    """The statements of Horner's rule, innermost first: the i-th is coefficient i and y times what
    stands before.
    """
    last, statements = coefficients[-1], []
    for i in reversed(range(len(coefficients) - 1)):
        sign = "-" if last.startswith("-") else "+"
        name = f"{letter}_{i}"
        statements.append(
            {"name": name, "value": f"{coefficients[i]} {sign} (y*{last.removeprefix('-')})"}
        )
        last = name
    return statements
