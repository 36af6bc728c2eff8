"""Every row of a Program over states, as a machine with a unit round-off of one's own would compute
it, as badly as it may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from symgen.certificate.rounding import Arithmetic
from symgen.ir.program import Program
from symgen.reference.precision import Array


@dataclass(frozen=True)
class Coarse(Arithmetic):
    """An arithmetic with few digits, in which an error term that is left out shows."""

    bits: int = 10

    @property
    def unit(self) -> float:
        return 2.0**-self.bits

    def rounded(self, value: object) -> float:
        return float(coarse(np.array(float(value)), self.bits))  # type: ignore[arg-type]


def coarse(x: Array, bits: int) -> Array:
    """x rounded to `bits` binary digits."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2.0**bits), exponent - bits)


def _power_of_two(value: object) -> bool:
    return isinstance(value, Fraction) and abs(float(value)) == 2.0 ** round(
        np.log2(abs(float(value)) or 1.0)
    )


def rows(
    program: Program,
    arguments: Mapping[str, Array],
    arithmetic: Arithmetic,
    seed: int | None = None,
) -> list[Array]:
    """The value of every row, (count,) each. `seed` None: rounded to nearest as in `Coarse`; else
    every operation errs by u one way or the other, as the standard model allows, and a sine or
    cosine by the ulps it is given.

    Float64 stands for exact numbers: u must be large against 2^-53.
    """
    random = None if seed is None else np.random.default_rng(seed)
    count = len(next(iter(arguments.values())))
    u = arithmetic.unit

    def off(x: Array, size: float = 1.0) -> Array:
        if random is None:
            return (
                coarse(x, arithmetic.bits)
                if isinstance(arithmetic, Coarse)
                else x.astype(np.float32).astype(float)
            )
        return x * (1 + size * u * random.choice((-1.0, 1.0), count))

    act = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    values: list[Array] = []
    for op, args, value, _, _ in program.rows:
        a = [values[i] for i in args]
        if op == "const":
            values.append(np.full(count, arithmetic.rounded(value)))
        elif op == "input":
            values.append(
                arguments[program.inputs[value[0]].name]
                .reshape(count, -1)[:, value[1]]
                .astype(float)
            )
        elif op == "neg":
            values.append(-a[0])
        elif op in act:
            exact = act[op](*a)
            values.append(
                exact
                if op == "mul" and any(_power_of_two(program.rows[i].value) for i in args)
                else off(exact)
            )
        elif op in ("sin", "cos"):
            exact = np.sin(a[0]) if op == "sin" else np.cos(a[0])
            values.append(
                off(exact)
                if random is None
                else exact + arithmetic.trig * u * random.choice((-1.0, 1.0), count)
            )
        elif op == "atan2":
            values.append(off(np.arctan2(*a), arithmetic.angle))
        else:
            values.append(off(np.sqrt(a[0]) if op == "sqrt" else np.log(a[0])))
    return values
