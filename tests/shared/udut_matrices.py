"""The matrices of SA as matrices, over any field (Fraction, SymPy, balls, floats): to look at and to prove with.

`udut` computes the same by recursion and never forms them. A serial chain is given in one set of axes, base → tip:
`Body` i (counted from 1 in the paper, from 0 here) has its mass centre at `c`, its joint's axis through c − d along `e`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import truediv
from typing import Any

Number = Any
Matrix = list[list[Number]]


@dataclass(frozen=True)
class Body:
    """One link: mass centre `c` (3), `d` (3) from the joint to it, joint axis `e` (3), mass `m`, tensor `I` (3x3) about c."""

    c: Sequence[Number]
    d: Sequence[Number]
    e: Sequence[Number]
    m: Number
    I: Sequence[Sequence[Number]]  # noqa: E741 - the paper's letter
    turns: bool = True

    @cached_property
    def p(self) -> Matrix:
        """p_i = [e; e × d] of a revolute joint, [0; e] of a sliding one (4); 6x1."""
        e, d = self.e, self.d
        lever = [e[1] * d[2] - e[2] * d[1], e[2] * d[0] - e[0] * d[2], e[0] * d[1] - e[1] * d[0]]
        return [[x] for x in ([*e, *lever] if self.turns else [0, 0, 0, *e])]  # (4)

    @cached_property
    def M(self) -> Matrix:
        """The extended mass (12); 6x6."""
        return [
            [self.I[r][c] if r < 3 and c < 3 else self.m if r == c else 0 for c in range(6)]
            for r in range(6)
        ]  # (12)


def times(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [
        [
            added(
                x * y for x, y in zip(row, column, strict=True) if not (_nothing(x) or _nothing(y))
            )
            for column in columns
        ]
        for row in a
    ]


def added(terms: Iterable[Number]) -> Number:
    total: Number = 0
    for term in terms:
        total = total + term
    return total


def _nothing(x: Number) -> bool:
    return isinstance(x, int) and x == 0


def plus(a: Matrix, b: Matrix) -> Matrix:
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def minus(a: Matrix, b: Matrix) -> Matrix:
    return [[x - y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def scaled(a: Matrix, s: Number) -> Matrix:
    return [[x * s for x in row] for row in a]


def transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def identity(n: int) -> Matrix:
    return [[1 if r == c else 0 for c in range(n)] for r in range(n)]


def stacked(blocks: Sequence[Sequence[Matrix]]) -> Matrix:
    """One matrix out of rows of blocks."""
    return [[x for block in row for x in block[r]] for row in blocks for r in range(len(row[0]))]


def diagonal(blocks: Sequence[Matrix]) -> Matrix:
    """diag[…] of equally large blocks."""
    rows, columns = len(blocks[0]), len(blocks[0][0])
    nothing = [[0] * columns for _ in range(rows)]
    return stacked(
        [
            [block if i == j else nothing for j in range(len(blocks))]
            for i, block in enumerate(blocks)
        ]
    )


class Chain:
    """A serial chain and everything that SA says of its generalized inertia matrix. Indices count from 0.

    `divide(a, b)` is a / b in the field that the entries belong to (ints are only 0 and 1 of it).
    """

    def __init__(
        self, bodies: Sequence[Body], divide: Callable[[Number, Number], Number] = truediv
    ) -> None:
        self.bodies, self.n, self._divide = list(bodies), len(bodies), divide
        self._articulated: dict[tuple[int, int], Matrix] = {}

    # -- the decoupled orthogonal complement ------------------------------------------------------------------------------

    def B(self, i: int, j: int) -> Matrix:
        """B_ij (4): takes the twist at C_j to C_i on one rigid body; C_ij is the cross-product tensor of c_j − c_i."""
        x, y, z = (a - b for a, b in zip(self.bodies[j].c, self.bodies[i].c, strict=True))
        C = [[0, -z, y], [z, 0, -x], [-y, x, 0]]  # (5)
        return [
            [(1 if r == c else 0) if c >= 3 or r < 3 else C[r - 3][c] for c in range(6)]
            for r in range(6)
        ]  # (4)

    def p(self, i: int) -> Matrix:
        return self.bodies[i].p

    @cached_property
    def T_l(self) -> Matrix:
        """6n x 6n, lower block triangular (9a)."""
        nothing = [[0] * 6 for _ in range(6)]
        return stacked(
            [[self.B(i, j) if i >= j else nothing for j in range(self.n)] for i in range(self.n)]
        )  # (9a)

    @cached_property
    def T_d(self) -> Matrix:
        """6n x n, block diagonal (9b)."""
        return diagonal([body.p for body in self.bodies])  # (9b)

    @cached_property
    def mass(self) -> Matrix:
        """diag[M_1, …, M_n] (11)."""
        return diagonal([body.M for body in self.bodies])  # (11)

    @cached_property
    def gim(self) -> Matrix:
        """The generalized inertia matrix as a product of operators (10)."""
        T = times(self.T_l, self.T_d)  # (8)
        return times(transposed(T), times(self.mass, T))  # (10)

    # -- composite bodies -------------------------------------------------------------------------------------------------

    @cached_property
    def composites(self) -> list[Matrix]:
        """M̃_i: links i … n frozen to one body, seen from C_i."""
        inertias = [body.M for body in self.bodies]
        for i in reversed(range(self.n - 1)):
            B = self.B(i + 1, i)
            inertias[i] = plus(
                self.bodies[i].M, times(transposed(B), times(inertias[i + 1], B))
            )  # (15a), (15c)
        return inertias

    def composite_by_sum(self, i: int) -> Matrix:
        """M̃_i as the sum over the links that it freezes (15a-b)."""
        total = self.bodies[i].M
        for body in range(i + 1, self.n):
            total = plus(
                total,
                times(transposed(self.B(body, i)), times(self.bodies[body].M, self.B(body, i))),
            )  # (15b)
        return total

    def element(self, i: int, j: int) -> Number:
        """i_ij = p_iᵀ M̃_i B_ij p_j, for i ≥ j (the printed range of (16) is the other triangle)."""
        return times(
            transposed(self.p(i)), times(self.composites[i], times(self.B(i, j), self.p(j)))
        )[0][0]  # (16)

    # -- articulated bodies -----------------------------------------------------------------------------------------------

    def articulated(self, i: int, k: int) -> Matrix:
        """M̂_ik for i < k (i ≤ k − 1) and M̂_kk, by recursion; M̂_{i,i+1} is the articulated-body inertia of link i (35)."""
        if (i, k) not in self._articulated:
            if i == k:
                inertias = minus(
                    self.articulated(k, k + 1),
                    times(self.psi_hat(k, k), transposed(self.psi(k, k))),
                )  # under (35)
            elif i == self.n - 1:
                inertias = self.bodies[i].M
            else:
                B = self.B(i + 1, i)
                inner = self.articulated(i + 1, k)
                inertias = plus(self.bodies[i].M, times(transposed(B), times(inner, B)))  # (35)
            self._articulated[i, k] = inertias
        return self._articulated[i, k]

    def articulated_by_sum(self, i: int, k: int) -> Matrix:
        """M̂_ik = M̃_i − Σ ψ̂_il ψ_ilᵀ over l = k … n (34)."""
        total = self.composites[i]
        for body in range(k, self.n):
            total = minus(
                total, times(self.psi_hat(i, body), transposed(self.psi(i, body)))
            )  # (34)
        return total

    def psi(self, i: int, k: int) -> Matrix:
        """ψ_ik = B_kiᵀ M̂_{k,k+1} p_k; ψ_kk is ψ_k (32)."""
        return times(transposed(self.B(k, i)), times(self.articulated(k, k + 1), self.p(k)))  # (32)

    def m_hat(self, k: int) -> Number:
        """m̂_k = p_kᵀ ψ_k, the inertia of articulated body k about its joint (32)."""
        return times(transposed(self.p(k)), self.psi(k, k))[0][0]  # (32)

    def psi_hat(self, i: int, k: int) -> Matrix:
        """ψ̂_ik = ψ_ik / m̂_k (33)."""
        return scaled(self.psi(i, k), self._divide(1, self.m_hat(k)))  # (33)

    # -- the decomposition ------------------------------------------------------------------------------------------------

    def alpha(self, i: int, k: int) -> Number:
        """α_ik = p_iᵀ ψ̂_ik (31)."""
        return times(transposed(self.p(i)), self.psi_hat(i, k))[0][0]  # (31)

    def eliminated(self, i: int, j: int, k: int) -> Number:
        """i_ij⁽ᵏ⁾ = p_iᵀ M̂_ik B_ij p_j for k > i ≥ j: the GIM after columns n … k (31)."""
        return times(
            transposed(self.p(i)), times(self.articulated(i, k), times(self.B(i, j), self.p(j)))
        )[0][0]  # (31)

    def E(self, k: int) -> Matrix:
        """E_k = 1 − α_k λ_kᵀ (26)-(29)."""
        return [
            [(1 if r == c else 0) if c != k or r >= k else -self.alpha(r, k) for c in range(self.n)]
            for r in range(self.n)
        ]  # (26)-(29)

    def L(self, k: int) -> Matrix:
        """L_k = E_k L_{k+1}, L_{n+1} = I (30); L(1) counted from 0 is the paper's L_2."""
        return self.gim if k == self.n else times(self.E(k), self.L(k + 1))  # (30)

    @cached_property
    def U(self) -> Matrix:
        """Ones on the diagonal, α_ik above it (19)."""
        return [
            [self.alpha(r, c) if r < c else 1 if r == c else 0 for c in range(self.n)]
            for r in range(self.n)
        ]  # (18), (19)

    @cached_property
    def D(self) -> Matrix:
        """diag[m̂_1, …, m̂_n] (20)."""
        return [
            [self.m_hat(r) if r == c else 0 for c in range(self.n)] for r in range(self.n)
        ]  # (20)

    @cached_property
    def N(self) -> Matrix:
        """diag[M̂_{i,i+1} / m̂_i] (22b)."""
        return diagonal(
            [
                scaled(self.articulated(i, i + 1), self._divide(1, self.m_hat(i)))
                for i in range(self.n)
            ]
        )  # (22b)

    @cached_property
    def U_by_operators(self) -> Matrix:
        """U = 1 + T_dᵀ (T_l − 1)ᵀ N T_d (22a)."""
        strictly = minus(self.T_l, identity(6 * self.n))
        middle = times(transposed(strictly), times(self.N, self.T_d))
        return plus(identity(self.n), times(transposed(self.T_d), middle))  # (22a)
