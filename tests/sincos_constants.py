"""Constants of symgen/vocabulary/sines.py: `python -m tests.sincos_constants` prints them.

Parts of pi/2: each part has as few bits as make its product with every k exact; the last part is a
full number. Polynomials: interpolation at the zeros of a Chebyshev polynomial, shifted so that its
outermost zero is y = 0, where the error is zero anyway; then every coefficient is rounded once. The
result is within a bit of the optimum. The proof of the bound does not rely on this:
`tests.sincos_proof` takes the printed literals.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from symgen.emission.c_text import literal
from symgen.emission.sincos import DOMAIN, RANGE
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.sines import Constants

BITS = {"float": 24, "double": 53}
PARTS = {"float": 4, "double": 2}
"""Number of short parts: the rounding of k times the last part is small against the least r."""
DEGREES = {"float": (2, 2), "double": (5, 5)}
WORKING = 400


def quarter_turns() -> int:
    """Return the largest k for |x| <= RANGE; rounding may move x/(pi/2) to the next integer."""
    return int((flint.arb(RANGE) * 2 / flint.arb.pi()).ceil().unique_fmpz())


def exact(ball: flint.arb) -> Fraction:
    """Return the midpoint of a ball, rounded down to a multiple of 2^-380."""
    return Fraction(int((ball.mid() * flint.arb(2) ** 380).floor().unique_fmpz()), 2**380)


def parts(real: str) -> list[Fraction]:
    """Split pi/2 into parts n/2^m with n*k < 2^bits for every k, and a remainder."""
    remainder, largest, terms = (
        exact(flint.arb.pi() / 2),
        (2 ** BITS[real] - 1) // quarter_turns(),
        [],
    )
    for _ in range(PARTS[real]):
        unit = Fraction(1)
        while remainder / unit >= largest + 1:
            unit *= 2
        while 2 * remainder / unit < largest + 1:
            unit /= 2
        terms.append(remainder // unit * unit)
        remainder -= terms[-1]
    return [*terms, remainder]


def nodes(count: int) -> list[flint.arb]:
    top = flint.arb(DOMAIN[0]) / DOMAIN[1]
    zeros = [(flint.arb.pi() * (2 * i + 1) / (2 * count + 2)).cos() for i in range(count + 1)]
    return [top * (z - zeros[-1]) / (1 - zeros[-1]) for z in zeros[:-1]]


def coefficients(function: str, degree: int) -> list[Fraction]:
    """Return the coefficients of (sin r - r)/r³ or (cos r - 1 + r²/2)/r⁴ in y = r²."""
    nodes_ = nodes(degree + 1)
    roots = [y.sqrt() for y in nodes_]
    values = {
        "sine": [(r.sin() - r) / r**3 for r in roots],
        "cosine": [(r.cos() - 1 + r * r / 2) / r**4 for r in roots],
    }[function]
    powers = flint.arb_mat(
        degree + 1, degree + 1, [y**j for y in nodes_ for j in range(degree + 1)]
    )
    solved = powers.solve(flint.arb_mat(degree + 1, 1, values))
    return [exact(solved[j, 0]) for j in range(degree + 1)]


def constants(real: str) -> Constants:
    with flint.ctx.workprec(WORKING):
        sine, cosine = (
            coefficients(name, degree)
            for name, degree in zip(("sine", "cosine"), DEGREES[real], strict=True)
        )
        numbers = (
            [exact(2 / flint.arb.pi())],
            [Fraction(3 * 2 ** (BITS[real] - 2))],
            parts(real),
            sine,
            cosine,
        )
        turns, shift, *groups = [tuple(literal(x, REALS[real]) for x in group) for group in numbers]
        return Constants(*turns, *shift, *groups)


if __name__ == "__main__":
    for kind in BITS:
        print(f'    "{kind}": {constants(kind)},')
