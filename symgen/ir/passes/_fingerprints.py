"""Rows modulo a prime, at a point drawn at random: two formulas that agree there are the same, but for a chance of 1 in 2^50.

Sine and cosine of an angle are a point of the unit circle modulo the prime, and angles add as those points are multiplied. So
s² + c² = 1 holds, and sin(a + b) is sin a cos b + cos a sin b. A unit quaternion is four numbers like any others: nothing follows
from |q| = 1, so that what is computed stays what it was for a q that round-off has moved off the sphere. A root, a logarithm and
an angle by atan2 are numbers drawn for their operands.
"""

from __future__ import annotations

from random import Random

from symgen.ir.program import Program

TRIALS = 3
"""Points that are tried where one makes a divisor zero."""
SUMS = ("add", "sub", "neg")
"""What makes an angle of angles."""
Turn = tuple[int, int]
"""(cos, sin)."""


def residues(prime: int, seed: int, *programs: Program) -> list[list[int]] | None:
    """The values of every row of each Program modulo `prime`, all at one point, which depends on `seed` alone.

    None where a divisor is zero at all of TRIALS points.
    """
    for trial in range(TRIALS):
        point = _Point(prime, f"{seed}/{trial}")
        try:
            return [point.values(program) for program in programs]
        except ValueError:  # no inverse
            continue
    return None


class _Point:
    """A point: what is drawn for whatever Programs ask of it. The same operation on the same operands is the same in all."""

    def __init__(self, prime: int, seed: str) -> None:
        self.prime, self.seed = prime, seed
        self._drawn: dict[tuple[object, ...], int] = {}
        self._inverses: dict[int, int] = {}
        self._turns: dict[int, Turn] = {0: (1, 0)}
        """By angle; of two that are opposite, by the smaller. As the first sum says of which it is the value."""

    def values(self, program: Program) -> list[int]:
        """Raises ValueError where a divisor is zero."""
        p, turn = self.prime, self._turn
        random = Random(self.seed)
        inputs = [[random.randrange(p) for _ in range(port.size)] for port in program.inputs]
        turned = angles(program)
        values: list[int] = []
        put = values.append
        # One switch over operations, the most frequent first: it runs once a row of each pass.
        for i, (op, args, value, _, _) in enumerate(program.rows):
            if op == "mul":
                put(values[args[0]] * values[args[1]] % p)
            elif op == "add" or op == "sub":
                a, b = values[args[0]], values[args[1]]
                b = b if op == "add" else p - b
                put((a + b) % p)
                if i in turned:
                    self._know(values[i], a, b)
            elif op == "const":
                put(value.numerator * self._inverse(value.denominator) % p)
            elif op == "input":
                put(inputs[value[0]][value[1]])
            elif op == "neg":
                put(-values[args[0]] % p)
            elif op == "div":
                put(values[args[0]] * self._inverse(values[args[1]]) % p)
            elif op == "cos":
                put(turn(values[args[0]])[0])
            elif op == "sin":
                put(turn(values[args[0]])[1])
            else:
                put(self._drawn_for(op, *[values[a] for a in args]))
        return values

    def _inverse(self, number: int) -> int:
        if number not in self._inverses:
            self._inverses[number] = pow(number, -1, self.prime)
        return self._inverses[number]

    def _drawn_for(self, *key: object) -> int:
        """A number for this key, always the same."""
        if key not in self._drawn:
            self._drawn[key] = Random(f"{self.seed}/{key}").randrange(self.prime)
        return self._drawn[key]

    def _turn(self, angle: int) -> Turn:
        """Of an angle; the sine of the opposite angle is the opposite."""
        p = self.prime
        key = min(angle, p - angle)
        if key not in self._turns:
            half = self._drawn_for("tangent", key)
            share = self._inverse(1 + half * half)
            self._turns[key] = (1 - half * half) * share % p, 2 * half * share % p
        c, s = self._turns[key]
        return (c, s) if key == angle else (c, -s % p)

    def _know(self, angle: int, first: int, second: int) -> None:
        """That an angle is the sum of two others, unless something is known of it."""
        p = self.prime
        key = min(angle, p - angle)
        if key not in self._turns:
            (c, s), (d, t) = self._turn(first), self._turn(second)
            self._turns[key] = (
                (c * d - s * t) % p,
                (s * d + c * t) * (1 if key == angle else -1) % p,
            )


def angles(program: Program) -> set[int]:
    """The rows whose sine or cosine is taken, and the rows that those are sums of."""
    rows = program.rows
    found = {row[1][0] for row in rows if row[0] in ("sin", "cos")}
    waiting = list(found)
    while waiting:
        row = rows[waiting.pop()]
        if row.op in SUMS:
            waiting += [a for a in row.args if a not in found]
            found.update(row.args)
    return found
