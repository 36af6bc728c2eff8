"""Which rows of a Program are pivots of the mass matrix, entries of its elimination, or their quotients: told by value.

The pivots D_k of M = U D Uᵀ (Saha 1997, (17)-(18); Rodriguez & Kreutz 1988, (4.11)), the reduced entries and the multipliers of
the reverse Gaussian elimination (Saha, (25)-(30)) are computed from the reference's M(q), which shares nothing with the
Program, in balls of 80 digits and more at a few random states; a row is one of them when its value is at each of these.
This is how `symgen verify` decides equality as well: two different functions agree there with probability nil, but it is no
formal proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from symgen.ir import Numbers, Port, Program, evaluate
from symgen.mechanism import Mechanism
from symgen.options import ProgramOptions
from symgen.reference.mechanics import Reference
from symgen.reference.precision import arb
from symgen.reference.states import draw_states

POSITIVE = ("div", "log", "sqrt")
"""Operations whose last operand must not vanish, or change its sign."""
DIGITS, STATES, SEED = 80, 3, 271828
_EQUAL = flint.arb(10) ** -40
"""Of the larger magnitude: two values nearer than this are one."""

Values = tuple[Any, ...]
"""One ball a state."""
Pair = tuple[int, int]


@dataclass(frozen=True)
class Elimination:
    """Of M at the states: `reduced[i, k]` = i_ik^(k) for i ≤ k, its diagonal the pivots, and `factors[i, k]` = α_ik for i < k."""

    mass: dict[Pair, Values]
    reduced: dict[Pair, Values]
    factors: dict[Pair, Values]


class Told:
    """The rows of `program` at the states, and what of the elimination of `mechanism`'s mass matrix they are."""

    def __init__(self, mechanism: Mechanism, program: Program, options: ProgramOptions) -> None:
        self.program = program
        self.scalars = arb(DIGITS + 5 * mechanism.longest // 4)   # an elimination over balls loses about a digit a joint
        links = {"payload": options.payload, "wrench": options.wrench}
        states = {name: self.scalars.array(x) for name, x in draw_states(mechanism, STATES, SEED, **links).items()}
        everything = replace(program, outputs=(Port("rows", (len(program.rows),), tuple(range(len(program.rows)))),))
        elements = {port.name: list(states[port.name].T) for port in program.inputs}
        with self.scalars.working():
            numbers = Numbers(self.scalars.constant, np.sin, np.cos, np.sqrt, np.log)
            found = evaluate(everything, elements, numbers)["rows"]
            self.rows: list[Values] = [tuple(np.broadcast_to(np.asarray(x, dtype=object), (STATES,))) for x in found]
            reference = Reference(mechanism, self.scalars, payload=options.payload)
            load = states["payload"] if options.payload else None
            mass = reference.mass_matrix(states["q"], load)
            self.size = max(abs(x).abs_upper() for x in np.diagonal(mass, axis1=-2, axis2=-1).ravel())
            self.elimination = _eliminated(mass, reference.supports)

    def same(self, a: Values, b: Values) -> int:
        """1 where both are the same number at every state, −1 where one is the other's negative, else 0."""
        first, second = abs(float(a[0])), abs(float(b[0]))
        if abs(first - second) > 1e-6 * max(first, second):
            return 0
        with self.scalars.working():
            for sign in (1, -1):
                if all(_near(x, sign * y) for x, y in zip(a, b, strict=True)):
                    return sign
        return 0

    def is_zero(self, a: Values) -> bool:
        """Whether an entry of the elimination vanishes at the states; one whose ball is too wide to say so does not."""
        with self.scalars.working():
            return all(x.contains(0) and abs(x) <= _EQUAL * self.size for x in a)

    def divisors(self) -> dict[int, int | None]:
        """{row: joint whose pivot it is, None where it is none} of every row that something is divided by, or whose logarithm
        or root is taken."""
        divided = sorted({row.args[-1] for row in self.program.rows if row.op in POSITIVE and not self.constant(row.args[-1])})
        n = 1 + max(i for i, _ in self.elimination.mass)
        return {d: next((k for k in range(n) if self.same(self.rows[d], self.elimination.reduced[k, k]) == 1), None)
                for d in divided}

    def constant(self, row: int) -> bool:
        return self.program.rows[row].op == "const"


def _near(a: Any, b: Any) -> bool:
    size = max(flint.arb(abs(a)).abs_upper(), flint.arb(abs(b)).abs_upper())
    return bool(abs(a - b) <= _EQUAL * size)


def _eliminated(M: Any, supports: list[list[int]]) -> Elimination:
    """SA (25)-(30) on a tree: M_ij vanishes unless one of i, j carries the other."""
    n = M.shape[-1]
    mass = {(i, j): tuple(M[:, i, j]) for j in range(n) for i in supports[j]}
    rows = {pair: np.array(values, dtype=object) for pair, values in mass.items()}
    factors: dict[Pair, Values] = {}
    for j in reversed(range(n)):
        above = supports[j][:-1]
        for i in above:
            factors[i, j] = tuple(rows[i, j] / rows[j, j])
        for i in above:
            for k in above:
                if i <= k:
                    rows[i, k] = rows[i, k] - np.array(factors[i, j], dtype=object) * rows[k, j]
    return Elimination(mass, {pair: tuple(values) for pair, values in rows.items()}, factors)
