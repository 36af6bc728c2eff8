"""Sine and cosine of NAME_sincos.h, for one angle or in a loop over several angles.

The text for one angle has no branches, tables, calls and integers. The argument x is reduced to r =
x - k·pi/2 in [-pi/4, pi/4] (Cody and Waite). Here pi/2 is the sum of short parts, whose products
with k are exact, and one long part. Polynomials in y = r² compute sine and cosine of r. Products
with 0, 1 and -1, which depend on k modulo 4, select sine and cosine of x from them. Sine and cosine
of one angle share this computation.

By `--trig auto` one loop computes all angles of a call. The number of iterations is constant, and
vectors of 16 bytes divide it without remainder. Therefore gcc vectorises the loop at -O2 for any
x86-64 and AArch64. Each angle has the operations of the function of one angle, and the same bits.
<math.h> then computes the angles beyond the range one by one. The loop detects them by the sum of
the magnitudes of all angles: rounding is monotonic, so that the sum is not less than any magnitude.

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
"""Largest |x| (rad) for which the error bound ULPS holds."""
ULPS = SINE_ULPS["inline"]
"""Error bound in units in the last place of the exact sine or cosine."""
DOMAIN = (5, 8)
"""Fraction 5/8, the end of the interval of y over which the polynomials are fitted.

It is a little more than (pi/4)².
"""


def context(real: str) -> dict[str, Any]:
    """Return the template's facts about the sine and cosine of one real type."""
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
    """Return the number of iterations of the loop: `angles`, rounded up to vectors of 16 bytes."""
    vector = 16 // REALS[real].size
    return -(-angles // vector) * vector


def _horner(letter: str, coefficients: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the statements of Horner's rule, innermost first.

    The statement with number i adds coefficient i to y times the value of the statement before it.
    """
    inner, statements = coefficients[-1], []
    for i in reversed(range(len(coefficients) - 1)):
        sign = "-" if inner.startswith("-") else "+"
        name = f"{letter}_{i}"
        statements.append(
            {"name": name, "value": f"{coefficients[i]} {sign} (y*{inner.removeprefix('-')})"}
        )
        inner = name
    return statements
