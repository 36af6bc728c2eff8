"""Partial derivatives of each operation, as rows of a tape.

Forward and reverse sweeps use this table: the forward sweep sums the products over a row's
operands, the reverse sweep over a row's uses.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symgen.ir.program import STUMPFF, Row
from symgen.pipeline.differentiation._tape import Number, Tape

Factor = Callable[[], tuple[Number, bool]]
"""Function that records a partial derivative: returns the row of its magnitude, None for 1, and
True if it is negative.
"""


def factors(tape: Tape, row: Row, index: int) -> list[Factor | None]:
    """Return the factor of each operand of a row at this index of the tape; None if the row does
    not depend on the operand.
    """
    return PARTIALS[row.op](tape, index, *row.args) if row.args else []


def _plus_one() -> tuple[Number, bool]:
    return None, False


def _minus_one() -> tuple[Number, bool]:
    return None, True


def _product(tape: Tape, index: int, a: int, b: int) -> list[Factor | None]:
    return [lambda: (b, False), lambda: (a, False)]


def _quotient(tape: Tape, index: int, a: int, b: int) -> list[Factor | None]:
    """Return the factors of d(a/b) = (1/b) da − (a/b)(1/b) db."""

    def inverse() -> int:
        return (
            index
            if tape.rows[a].op == "const" and tape.rows[a].value == 1
            else tape.put("div", tape.constant(1), b)
        )

    return [lambda: (inverse(), False), lambda: (tape.put("mul", index, inverse()), True)]


def _angle(tape: Tape, index: int, y: int, x: int) -> list[Factor | None]:
    """Return the factors of d atan2(y, x) = (x dy − y dx)/(x² + y²)."""

    def share(numerator: int) -> int:
        return tape.put(
            "div", numerator, tape.put("add", tape.put("mul", x, x), tape.put("mul", y, y))
        )

    return [lambda: (share(x), False), lambda: (share(y), True)]


def _stumpff(k: int) -> Callable[[Tape, int, int], list[Factor | None]]:
    """Return the factor c_k' = −(c_{k+1} − k c_{k+2})/2, from the series term by term, without a
    division by y.
    """

    def rate(tape: Tape, y: int) -> int:
        following = tape.put(f"stumpff{k + 1}", y)
        if k == 0:
            return tape.put("mul", tape.constant(Fraction(1, 2)), following)
        second = tape.put("mul", tape.constant(Fraction(k, 2)), tape.put(f"stumpff{k + 2}", y))
        return tape.put("sub", tape.put("mul", tape.constant(Fraction(1, 2)), following), second)

    return lambda tape, index, y: [lambda: (rate(tape, y), True)]


def _arc(tape: Tape, index: int, x: int, c: int) -> list[Factor | None]:
    """Return the factor of d(θ/sin θ) = −(1 − c θ/sin θ)/(1 − c²) dc.

    The quotient is (c₂ − c₃) c₁ (θ/sin θ)⁴, with c_k of θ².
    """

    def rate() -> int:
        y = tape.put("arc_square", x, c)
        first, second, third = (tape.put(f"stumpff{k}", y) for k in (1, 2, 3))
        square = tape.put("mul", index, index)
        return tape.put(
            "mul",
            tape.put("mul", tape.put("sub", second, third), first),
            tape.put("mul", square, square),
        )

    return [None, lambda: (rate(), True)]


def _arc_square(tape: Tape, index: int, x: int, c: int) -> list[Factor | None]:
    """Return the factor of d(θ²) = −2 (θ/sin θ) dc."""
    return [None, lambda: (tape.put("mul", tape.constant(2), tape.put("arc", x, c)), True)]


PARTIALS: dict[str, Callable[..., list[Factor | None]]] = {
    "add": lambda tape, index, a, b: [_plus_one, _plus_one],
    "sub": lambda tape, index, a, b: [_plus_one, _minus_one],
    "neg": lambda tape, index, a: [_minus_one],
    "mul": _product,
    "div": _quotient,
    "sin": lambda tape, index, a: [lambda: (tape.put("cos", a), False)],
    "cos": lambda tape, index, a: [lambda: (tape.put("sin", a), True)],
    "sqrt": lambda tape, index, a: [
        lambda: (tape.put("div", tape.constant(Fraction(1, 2)), index), False)
    ],
    "log": lambda tape, index, a: [lambda: (tape.put("div", tape.constant(1), a), False)],
    "atan2": _angle,
    **{op: _stumpff(k) for k, op in enumerate(STUMPFF)},
    "arc": _arc,
    "arc_square": _arc_square,
    "still": lambda tape, index, a: [None],
}
"""Functions that return the factor of each operand's change for a row, by operation of the row.

Constants and arguments have none: they are seeds.
"""
