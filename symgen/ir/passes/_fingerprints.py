"""Values of rows modulo a prime at a random point: two formulas that agree there are equal, up to a
chance of 1 in 2^50.

Cosine and sine of an angle are a point of the unit circle modulo the prime. The point of a sum of
angles is the product of the points of the angles, as for complex numbers. So s² + c² = 1 holds, and
sin(a + b) = sin a cos b + cos a sin b.

The elements of a unit quaternion are independent random numbers. So two formulas that are equal
only because of |q| = 1 are not merged, and round-off in |q| does not change a result. A root, a
logarithm and an angle by atan2 are random numbers that depend only on their operands.
"""

from __future__ import annotations

from random import Random

from symgen.ir.program import Program

TRIALS = 3
"""Number of random points that are tried; a point at which a divisor is zero is skipped."""
SUMS = ("add", "sub", "neg")
"""Operations whose result is an angle if their operands are angles."""
CosSin = tuple[int, int]
"""(cos, sin)."""


def residues(prime: int, seed: int, *programs: Program) -> list[list[int]] | None:
    """Return the values of every row of each Program modulo `prime`, all at one point, which
    depends on `seed` alone.

    Return None if a divisor is zero at all of TRIALS points.
    """
    for trial in range(TRIALS):
        point = _Point(prime, f"{seed}/{trial}")
        try:
            return [point.values(program) for program in programs]
        except ValueError:  # no inverse
            continue
    return None


class _Point:
    """Random point, the same for all Programs: the same operation on the same operands has the same
    value in each.
    """

    def __init__(self, prime: int, seed: str) -> None:
        self.prime, self.seed = prime, seed
        self._random_values: dict[tuple[object, ...], int] = {}
        self._inverses: dict[int, int] = {}
        self._cos_sin_of: dict[int, CosSin] = {0: (1, 0)}
        """Cosine and sine by angle: the key is the smaller residue of the angle and its negative.
        For a sum of angles, the first row with that value sets the pair.
        """

    def values(self, program: Program) -> list[int]:
        """Return the value of each row of a Program.

        Raises ValueError if a divisor is zero.
        """
        p, cos_sin = self.prime, self._cos_sin
        random = Random(self.seed)
        inputs = [[random.randrange(p) for _ in range(port.size)] for port in program.inputs]
        rows_of_angles = angle_rows(program)
        values: list[int] = []
        append_value = values.append
        # The most frequent operation is tested first: this loop runs over all rows in every pass.
        for i, (op, args, value, _, _) in enumerate(program.rows):
            if op == "mul":
                append_value(values[args[0]] * values[args[1]] % p)
            elif op == "add" or op == "sub":
                a, b = values[args[0]], values[args[1]]
                b = b if op == "add" else p - b
                append_value((a + b) % p)
                if i in rows_of_angles:
                    self._record_sum(values[i], a, b)
            elif op == "const":
                append_value(value.numerator * self._inverse(value.denominator) % p)
            elif op == "input":
                append_value(inputs[value[0]][value[1]])
            elif op == "neg":
                append_value(-values[args[0]] % p)
            elif op == "div":
                append_value(values[args[0]] * self._inverse(values[args[1]]) % p)
            elif op == "cos":
                append_value(cos_sin(values[args[0]])[0])
            elif op == "sin":
                append_value(cos_sin(values[args[0]])[1])
            else:
                append_value(self._random_value(op, *[values[a] for a in args]))
        return values

    def _inverse(self, number: int) -> int:
        if number not in self._inverses:
            self._inverses[number] = pow(number, -1, self.prime)
        return self._inverses[number]

    def _random_value(self, *key: object) -> int:
        """Return a random number that depends only on the key."""
        if key not in self._random_values:
            self._random_values[key] = Random(f"{self.seed}/{key}").randrange(self.prime)
        return self._random_values[key]

    def _cos_sin(self, angle: int) -> CosSin:
        """Return cosine and sine of an angle; the negative angle has the same cosine and the
        negative sine.
        """
        p = self.prime
        key = min(angle, p - angle)
        if key not in self._cos_sin_of:
            half = self._random_value("tangent", key)
            inverse = self._inverse(1 + half * half)
            self._cos_sin_of[key] = (1 - half * half) * inverse % p, 2 * half * inverse % p
        c, s = self._cos_sin_of[key]
        return (c, s) if key == angle else (c, -s % p)

    def _record_sum(self, angle: int, first: int, second: int) -> None:
        """Record cosine and sine of an angle that is the sum of two others, unless they are
        recorded already.
        """
        p = self.prime
        key = min(angle, p - angle)
        if key not in self._cos_sin_of:
            (c, s), (d, t) = self._cos_sin(first), self._cos_sin(second)
            self._cos_sin_of[key] = (
                (c * d - s * t) % p,
                (s * d + c * t) * (1 if key == angle else -1) % p,
            )


def angle_rows(program: Program) -> set[int]:
    """Return the rows that are angles: operands of a sine or cosine, and the terms of such
    operands.
    """
    rows = program.rows
    result = {row[1][0] for row in rows if row[0] in ("sin", "cos")}
    to_visit = list(result)
    while to_visit:
        row = rows[to_visit.pop()]
        if row.op in SUMS:
            to_visit += [a for a in row.args if a not in result]
            result.update(row.args)
    return result
