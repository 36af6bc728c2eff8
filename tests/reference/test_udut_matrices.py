"""SA's matrices, (4)-(35), proved: by exact rational arithmetic on random chains, symbolically on short ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.polys.rings import ring

from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from tests.shared.operators import rotation
from tests.shared.robots_for_tests import random_mechanism, rationals
from tests.shared.udut_matrices import Body, Chain, diagonal, identity, times, transposed


def rational_body(source: Random) -> Body:
    """A body anywhere, turned anyhow, on a joint of either kind."""
    R, half = rotation(source), [Fraction(source.randint(1, 9), 7) for _ in range(3)]
    spread = [half[1] + half[2], half[0] + half[2], half[0] + half[1]]
    inertia = times(
        times(R, [[spread[r] if r == c else Fraction(0) for c in range(3)] for r in range(3)]),
        transposed(R),
    )
    axis = [row[2] for row in rotation(source)]
    return Body(
        rationals(source, 3),
        rationals(source, 3),
        axis,
        Fraction(source.randint(1, 9), 5),
        inertia,
        source.random() < 0.7,
    )


class Symbols:
    """Polynomials over as many symbols as asked for, and over a symbol for each m̂_k, which may have negative powers."""

    def __init__(self, n: int) -> None:
        self.ring, *free = ring(
            [f"s{i}" for i in range(5 * n)] + [f"m{k}" for k in range(n)], sp.QQ
        )
        self.pivots, self._next = free[-n:], iter(free[:-n])

    def new(self, count: int) -> list[Any]:
        return [next(self._next) for _ in range(count)]

    def divide(self, a: Any, b: Any) -> Any:
        """a / b for a b that is one of the m̂_k."""
        assert b in self.pivots
        ((powers, _),) = b.terms()
        return a * self.ring.term_new(tuple(-x for x in powers), 1)

    def body(self, first: bool) -> Body:
        """A link that turns about z, with symbols for its numbers, but for I_zz, which is 0."""
        c = [0, 0, 0] if first else [*self.new(2), 0]
        return Body(c, [*self.new(2), 0], [0, 0, 1], self.new(1)[0], [[0] * 3] * 3)

    def chain(self, n: int) -> Chain:
        """Tip → base, I_zz of each link chosen so that m̂_k is its symbol: no generality is lost, m̂_k is linear in it."""
        bodies: list[Body] = []
        for k in reversed(range(n)):
            body = self.body(k == 0)
            rest = Chain([body, *bodies], self.divide).m_hat(0)
            tensor = [list(row) for row in body.I]
            tensor[2][2] = self.pivots[k] - rest
            bodies.insert(0, replace(body, I=tensor))
        return Chain(bodies, self.divide)


SYMBOLIC = {"two links in the plane": 2, "three links in the plane": 3}
RATIONAL = [(n, seed) for n in (1, 2, 3, 5, 8) for seed in range(2 if n < 8 else 1)]
CHAINS = [*SYMBOLIC, *RATIONAL]


@cache
def chain(which: str | tuple[int, int]) -> tuple[Chain, Callable[[Any], Any]]:
    """A chain and what brings its numbers to a normal form."""
    if isinstance(which, str):
        symbols = Symbols(SYMBOLIC[which])
        return symbols.chain(SYMBOLIC[which]), symbols.ring
    n, seed = which
    source = Random(f"saha/{n}/{seed}")
    return Chain([rational_body(source) for _ in range(n)]), Fraction


EVERY = pytest.mark.parametrize("made", [pytest.param(c, id=str(c)) for c in CHAINS])


def same(made: Any, a: Any, b: Any) -> bool:
    """Equality of numbers, or entry by entry of matrices."""
    normal = chain(made)[1]
    if not isinstance(a, list):
        return bool(normal(a - b) == 0)
    return all(
        normal(x - y) == 0 for r, s in zip(a, b, strict=True) for x, y in zip(r, s, strict=True)
    )


@EVERY
def test_the_composite_bodies_give_the_elements_of_the_gim(made: Any) -> None:
    """(14)-(16) is (10)."""
    it, _ = chain(made)
    for i in range(it.n):
        assert same(made, it.composites[i], it.composite_by_sum(i))  # (15a-b) = (15c)
        for j in range(i + 1):
            assert same(made, it.element(i, j), it.gim[i][j])  # (16)
            assert same(made, it.element(i, j), it.gim[j][i])


@EVERY
def test_the_reverse_elimination_leaves_a_lower_triangle(made: Any) -> None:
    """(17)-(19), (30): E I = L_2, each E_k clears column k and (31) says what is left."""
    it, _ = chain(made)
    lower, total, left = identity(it.n), identity(it.n), it.gim
    for k in reversed(range(1, it.n)):
        E = it.E(k)
        left, total = times(E, left), times(E, total)  # (30)
        assert same(made, left, it.L(k))
        for i in range(k):
            assert same(made, left[i][k], 0)
            for j in range(i + 1):
                assert same(made, left[i][j], it.eliminated(i, j, k))  # (31)
        assert same(
            made,
            times(
                E,
                [
                    [2 * a - b for a, b in zip(r, s, strict=True)]
                    for r, s in zip(lower, E, strict=True)
                ],
            ),
            lower,
        )
    assert same(made, times(total, it.gim), left)  # (17)
    assert same(made, times(total, it.U), lower)  # (19)


@EVERY
def test_the_gim_is_u_d_u_transposed(made: Any) -> None:
    """(20)-(22): L_2 = D Uᵀ, I = U D Uᵀ, and U out of the operators."""
    it, _ = chain(made)
    below = it.L(1) if it.n > 1 else it.gim
    assert same(made, below, times(it.D, transposed(it.U)))  # (20)
    assert same(made, it.gim, times(it.U, times(it.D, transposed(it.U))))  # (21)
    assert same(made, it.U, it.U_by_operators)  # (22)


@EVERY
def test_articulated_bodies_by_recursion_and_by_sum(made: Any) -> None:
    """(34) is (35), and an articulated body yields to its own joint: M̂_kk p_k = 0."""
    it, _ = chain(made)
    for i in range(it.n):
        for k in range(max(i, 1), it.n):  # the paper's k = n … 2
            assert same(made, it.articulated(i, k), it.articulated_by_sum(i, k))  # (34), (35)
        if i:
            assert same(made, times(it.articulated(i, i), it.p(i)), [[0]] * 6)


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_the_printed_ranges_of_16_miss(n: int) -> None:
    """Printed for i ≤ j; p_iᵀ M̃_i B_ij p_j is the element for i ≥ j only."""
    it = Chain([rational_body(Random(f"{n}/{i}")) for i in range(n)])
    size = max(abs(x) for row in it.gim for x in row)
    assert (
        max(abs(it.element(i, j) - it.gim[i][j]) for j in range(n) for i in range(j))
        > Fraction(1, 1000) * size
    )


def test_the_numbers_are_those_of_the_reference() -> None:
    """A chain as it was declared, in the base's axes: gim is M, Π m̂ its determinant, and the readings of a link are inertias."""
    mechanism = random_mechanism(6, seed=4, joints=("revolute", "prismatic"))
    reference, q = Reference(mechanism, FLOAT), np.linspace(-1, 1, 6)
    placed, bodies = reference.placements(q), []
    for part, joint, at in zip(reference.parts(), mechanism.joints, placed, strict=True):
        turn, lever = at.turn[0], at.turn[0] @ part.centre
        axis = (
            turn
            @ np.array([float(x) for x in joint.axis])
            / np.linalg.norm([float(x) for x in joint.axis])
        )
        bodies.append(
            Body(
                list(at.shift[0] + lever),
                list(lever),
                list(axis),
                float(part.mass),
                (turn @ part.inertia @ turn.T).tolist(),
                joint.kind != "prismatic",
            )
        )
    it = Chain(bodies)
    M = reference.mass_matrix(q)
    assert np.allclose(np.array(it.gim), M, rtol=0, atol=1e-12 * np.abs(M).max())
    assert np.isclose(np.prod([it.m_hat(k) for k in range(6)]), np.linalg.det(M), rtol=1e-10)
    assert np.allclose(
        np.array(it.U) @ np.array(it.D) @ np.array(it.U).T, M, rtol=0, atol=1e-12 * np.abs(M).max()
    )
    for i in range(
        6
    ):  # freezing joints can only add inertia: composite ≥ articulated ≥ the link alone
        composite, articulated = (
            np.array(x, dtype=float) for x in (it.composites[i], it.articulated(i, i + 1))
        )
        assert np.linalg.eigvalsh(composite - articulated).min() > -1e-10
        assert np.linalg.eigvalsh(articulated - np.array(bodies[i].M, dtype=float)).min() > -1e-10
    assert np.allclose(np.array(it.mass), np.array(diagonal([b.M for b in bodies])))
