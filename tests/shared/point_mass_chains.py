"""Planar chains of point masses in exact numbers or symbols, LC's coordinates by hand: what
`fixman`'s derivations are held to.

Lengths and masses are rationals, a direction is given by the tangent of its half angle, so that
sine and cosine are rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import sympy as sp
from sympy.polys.matrices import DomainMatrix

from tests.shared import lee_chirikjian

Rows = list[dict[int, Any]]
Blocks = tuple[DomainMatrix, DomainMatrix, DomainMatrix]


class Chain:
    """A planar chain: lengths, masses and half-angle tangents of the absolute directions, numbers
    or symbols.
    """

    def __init__(self, length: Sequence[Any], mass: Sequence[Any], tangent: Sequence[Any]) -> None:
        self.length, self.mass = list(length), list(mass)
        self.n = len(length)
        self.cosine = [(1 - t * t) / (1 + t * t) for t in tangent]
        self.sine = [2 * t / (1 + t * t) for t in tangent]
        at, self.x = sp.zeros(2, 1), []
        for L, c, s in zip(length, self.cosine, self.sine, strict=True):
            at = at + L * sp.Matrix([c, s])
            self.x.append(at)

    @cached_property
    def bindings(self) -> dict[Any, Any]:
        """Points, masses and lengths, and sin θ_i by way of θ_i (see `settled`)."""
        values = {}
        for i in range(self.n):
            values.update(zip(lee_chirikjian.points(self.n)[i + 1], self.x[i], strict=True))
            values[sp.Symbol(f"m{i + 1}", positive=True)] = self.mass[i]
            values[sp.Symbol(f"L{i + 1}", positive=True)] = self.length[i]
            c, s = (self.cosine[i - 1], self.sine[i - 1]) if i else (1, 0)
            values[sp.sin(sp.Symbol(f"theta{i + 1}", real=True))] = (
                self.sine[i] * c - self.cosine[i] * s
            )
        return values

    def value_at_chain(self, entry: Any) -> Any:
        """An entry at this chain; roots of squares are taken."""
        value = sp.sympify(entry).xreplace(self.bindings)
        return value.replace(
            lambda e: e.is_Pow and not e.exp.is_Integer,
            lambda e: sp.factor(sp.together(e.base)) ** e.exp,
        )

    def field(self, matrix: Any) -> DomainMatrix:
        """Over the rationals, or over quotients of polynomials in this chain's symbols."""
        names = sorted(
            set().union(
                *(sp.sympify(x).free_symbols for x in (*self.length, *self.mass, *self.sine))
            ),
            key=str,
        )
        numbers = sp.QQ.frac_field(*names) if names else sp.QQ
        return DomainMatrix(
            [[numbers.from_sympy(x) for x in row] for row in matrix.tolist()], matrix.shape, numbers
        )

    def rows(self, derived: Rows) -> DomainMatrix:
        """∂a/∂x as an n × 2n matrix."""
        gradients = sp.zeros(self.n, 2 * self.n)
        for i, row in enumerate(derived):
            for k, block in row.items():
                gradients[i, 2 * k - 2], gradients[i, 2 * k - 1] = (
                    self.value_at_chain(block[0]),
                    self.value_at_chain(block[1]),
                )
        return self.field(gradients)

    def jacobian(self) -> DomainMatrix:
        """∂x/∂(θ, L) by hand, LC (14)."""
        jacobian = sp.zeros(2 * self.n, 2 * self.n)
        for k in range(self.n):
            for i in range(k + 1):
                jacobian[2 * k : 2 * k + 2, self.n + i] = sp.Matrix([self.cosine[i], self.sine[i]])
                arm = self.x[k] - (self.x[i - 1] if i else sp.zeros(2, 1))
                jacobian[2 * k : 2 * k + 2, i] = sp.Matrix([-arm[1], arm[0]])
        return self.field(jacobian)

    def masses(self, power: int = 1) -> DomainMatrix:
        return self.field(sp.diag(*(m**power for m in self.mass for _ in (0, 1))))

    def metric(self) -> DomainMatrix:
        """G of (4)."""
        J = self.jacobian()
        return J.transpose() * self.masses() * J

    def mass_matrix(self) -> DomainMatrix:
        """G^aa of (6)."""
        return corner(self.metric(), self.n)

    def gram(self, soft: DomainMatrix, hard: DomainMatrix) -> Blocks:
        """H^aa, H^ab, H^bb of (7)."""
        inverse = self.masses(-1)
        return (
            soft * inverse * soft.transpose(),
            soft * inverse * hard.transpose(),
            hard * inverse * hard.transpose(),
        )


def corner(matrix: DomainMatrix, n: int) -> DomainMatrix:
    return matrix.extract(list(range(n)), list(range(n)))


@cache
def symbolic(n: int) -> Chain:
    """The first link lies along the first axis: nothing depends on where that axis points."""
    return Chain(
        sp.symbols(f"L1:{n + 1}", positive=True),
        sp.symbols(f"m1:{n + 1}", positive=True),
        (sp.S.Zero, *sp.symbols(f"t2:{n + 1}", real=True)),
    )


@cache
def exact(n: int, seed: int = 0) -> Chain:
    """Random rationals; no two neighbouring links in one line, where LC's own form is singular."""
    random = Random(f"{n}/{seed}")

    def draws(count: int) -> list[Any]:
        return [
            sp.Rational(random.randint(1, 9), random.choice((2, 3, 5, 7))) for _ in range(count)
        ]

    tangent = draws(n)
    while any(a in (b, -1 / b) for a, b in pairwise(tangent)):
        tangent = draws(n)
    return Chain(draws(n), draws(n), tangent)


CHAINS = [("symbols 2", 2), *((f"rationals {n}", n) for n in range(1, 9))]


def chain(case: tuple[str, int]) -> Chain:
    return symbolic(case[1]) if case[0].startswith("symbols") else exact(case[1])


EVERY_CHAIN = pytest.mark.parametrize("case", CHAINS, ids=[name for name, _ in CHAINS])


def schur(aa: DomainMatrix, ab: DomainMatrix, bb: DomainMatrix) -> DomainMatrix:
    """(12)."""
    return aa - ab * bb.lu_solve(ab.transpose())
