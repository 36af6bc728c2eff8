"""What each operation changes by: its partial derivatives, as rows of a tape.

Both ways through the rows read this one table: on from the arguments the products are summed over a row's operands, back from the
results over a row's uses.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symgen.differentiation._tape import Number, Tape
from symgen.ir import Row

Factor = Callable[[], tuple[Number, bool]]
"""Works out a partial derivative: the row of its magnitude, None for 1, and whether it is negative."""


def factors(tape: Tape, row: Row, own: int) -> list[Factor]:
    """By operand of a row, which stands at `own` of the tape."""
    return PARTIALS[row.op](tape, own, *row.args) if row.args else []


def _one() -> tuple[Number, bool]:
    return None, False


def _minus_one() -> tuple[Number, bool]:
    return None, True


def _product(tape: Tape, own: int, a: int, b: int) -> list[Factor]:
    return [lambda: (b, False), lambda: (a, False)]


def _quotient(tape: Tape, own: int, a: int, b: int) -> list[Factor]:
    """d(a/b) = (1/b) da − (a/b)(1/b) db."""
    def inverse() -> int:
        return own if tape.rows[a].op == "const" and tape.rows[a].value == 1 else tape.put("div", tape.constant(1), b)

    return [lambda: (inverse(), False), lambda: (tape.put("mul", own, inverse()), True)]


def _angle(tape: Tape, own: int, y: int, x: int) -> list[Factor]:
    """d atan2(y, x) = (x dy − y dx)/(x² + y²)."""
    def share(of: int) -> int:
        return tape.put("div", of, tape.put("add", tape.put("mul", x, x), tape.put("mul", y, y)))

    return [lambda: (share(x), False), lambda: (share(y), True)]


PARTIALS: dict[str, Callable[..., list[Factor]]] = {
    "add": lambda tape, own, a, b: [_one, _one],
    "sub": lambda tape, own, a, b: [_one, _minus_one],
    "neg": lambda tape, own, a: [_minus_one],
    "mul": _product,
    "div": _quotient,
    "sin": lambda tape, own, a: [lambda: (tape.put("cos", a), False)],
    "cos": lambda tape, own, a: [lambda: (tape.put("sin", a), True)],
    "sqrt": lambda tape, own, a: [lambda: (tape.put("div", tape.constant(Fraction(1, 2)), own), False)],
    "log": lambda tape, own, a: [lambda: (tape.put("div", tape.constant(1), a), False)],
    "atan2": _angle,
}
"""By operation: the factor of each operand's change, of the row `own`. Constants and arguments change by themselves."""
