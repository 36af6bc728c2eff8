"""Functions of a turn (`symgen.ir.program.BY_SERIES`) taken apart into rows after differentiation, without a branch, for any turn.

Stumpff's functions obey c_k = 1/k! − y c_{k+2}. Up to y = LIMIT the last even and the last odd one are power series, and those
below follow downwards. From LIMIT on they follow upwards from cos √y and sin √y/√y, by divisions by y. The rows hold both parts
at every y: the series at min(y, LIMIT), and what follows from the sine at max(y, LIMIT), less its value at LIMIT. The part on the
far side of LIMIT is constant and cancels. So every function has an error of a few round-offs of 1 at any y ≥ 0, and no divisor is
less than LIMIT.

The series leave out less than 2⁻¹⁴⁶, since a Program is exact to about 44 digits in all real types.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import factorial

from symgen.ir.program import BY_SERIES, STUMPFF, Program, Row
from symgen.pipeline.differentiation._tape import Tape

LIMIT = Fraction(1)
"""y up to which the series are taken: turns of 2 rad."""
QUARTER = Fraction(5, 2)
"""Bound above the square of a quarter turn, the largest θ of an arc."""
LEFT_OUT = Fraction(1, 2**146)
DIGITS = 2**340


def expanded(program: Program) -> Program:
    """Return the Program with every function of a turn written out in rows."""
    if not any(row.op in BY_SERIES for row in program.rows):
        return program
    tape = Tape(program.with_rows((), ()))
    wanted: dict[int, set[int]] = {}
    for row in program.rows:
        if row.op in STUMPFF:
            wanted.setdefault(row.args[0], set()).add(STUMPFF.index(row.op))
    place: list[int] = []
    functions: dict[int, Mapping[int, int]] = {}
    for row in program.rows:
        tape.under(row.step)
        args = tuple(place[a] for a in row.args)
        if row.op in STUMPFF:
            (y,) = row.args
            if y not in functions:
                series = _of_an_arc if program.rows[y].op == "arc_square" else _of_any
                functions[y] = series(tape, args[0], wanted[y])
            place.append(functions[y][STUMPFF.index(row.op)])
        elif row.op in ("arc", "still"):
            place.append(args[0])
        elif row.op == "arc_square":
            x, c = args
            beside = tape.put("sub", tape.constant(1), tape.put("mul", c, c))
            place.append(tape.put("mul", tape.put("mul", x, x), beside))
        else:
            tape.rows.append(Row(row.op, args, row.value, row.name, row.step))
            place.append(len(tape.rows) - 1)
    return program.with_rows(
        tape.rows,
        [port._replace(rows=tuple(place[r] for r in port.rows)) for port in program.outputs],
    )


def _of_an_arc(tape: Tape, y: int, wanted: set[int]) -> dict[int, int]:
    """The functions of the square of an angle up to a quarter turn."""
    return _downwards(tape, y, wanted, QUARTER)


def _of_any(tape: Tape, y: int, wanted: set[int]) -> dict[int, int]:
    """The functions of any y ≥ 0, by the two parts of the module's docstring."""
    half, limit = tape.constant(Fraction(1, 2)), tape.constant(LIMIT)
    beyond = tape.put("sub", y, limit)
    apart = tape.put("sqrt", tape.put("mul", beyond, beyond))
    both = tape.put("add", y, limit)
    least, most = (tape.put("mul", half, tape.put(op, both, apart)) for op in ("sub", "add"))
    near, far = _downwards(tape, least, wanted, LIMIT), _upwards(tape, most, max(wanted))
    return {
        k: tape.put("add", near[k], tape.put("sub", far[k], tape.constant(_rounded(_value(k)))))
        for k in wanted
    }


def _downwards(tape: Tape, y: int, wanted: set[int], limit: Fraction) -> dict[int, int]:
    """c_k of y up to `limit`: the last even and the last odd one by series, and those below them."""
    found: dict[int, int] = {}
    for parity in {k % 2 for k in wanted}:
        of_these = [k for k in wanted if k % 2 == parity]
        last = max(of_these)
        found[last] = _series(tape, y, last, limit)
        for k in range(last - 2, min(of_these) - 1, -2):
            found[k] = tape.put(
                "sub", tape.constant(Fraction(1, factorial(k))), tape.put("mul", y, found[k + 2])
            )
    return found


def _series(tape: Tape, y: int, k: int, limit: Fraction) -> int:
    """Σ (−y)ʲ/(2j + k)!, from the last term that counts."""
    count = next(n for n in range(1, 200) if limit**n / factorial(2 * n + k) < LEFT_OUT)
    total = tape.constant(Fraction(1, factorial(2 * count - 2 + k)))
    for j in range(count - 2, -1, -1):
        total = tape.put(
            "sub", tape.constant(Fraction(1, factorial(2 * j + k))), tape.put("mul", y, total)
        )
    return total


def _upwards(tape: Tape, y: int, last: int) -> dict[int, int]:
    """c_k of y from LIMIT on: c₀ and c₁ by cosine and sine, and those above them."""
    root = tape.put("sqrt", y)
    share = tape.put("div", tape.constant(1), y)
    found = {0: tape.put("cos", root), 1: tape.put("div", tape.put("sin", root), root)}
    for k in range(2, last + 1):
        left = tape.put("sub", tape.constant(Fraction(1, factorial(k - 2))), found[k - 2])
        found[k] = tape.put("mul", left, share)
    return found


@cache
def _value(k: int) -> Fraction:
    """c_k of LIMIT."""
    return sum(((-LIMIT) ** j / factorial(2 * j + k) for j in range(80)), Fraction(0))


def _rounded(x: Fraction) -> Fraction:
    """To 102 digits, as all constants that are no short fractions."""
    return Fraction(round(x * DIGITS), DIGITS)
