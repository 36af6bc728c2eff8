"""Saha, The UDUᵀ decomposition of the manipulator inertia matrix: reverse Gaussian elimination, by
recursion.

The inertia matrix I = Tᵀ M T (10), with the decoupled orthogonal complement T = T_l T_d (8), is
factored as I = U D Uᵀ (21). The elements of U and D are those of a Gaussian elimination that starts
from the last column, written with the inertias M̂_ik (34), (35) of articulated bodies.

Twists and wrenches of link i are taken at its mass centre C_i, or at its frame's origin if it has
no mass. They are all in the axes of the base, so that B_ij has no rotation and reads as (4). Links
are ordered as in the paper, from the base to the tip. The paper counts from 1, the methods here
from 0, as symgen does.

The paper has revolute joints. A joint that slides has p_i = [0; e_i], and a helical joint the sum
of both. On a tree, parents precede children. There T_l has the block B_ij only if link j carries
link i, and a sum over i + 1 runs over the children of link i. Each joint has one degree of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from flint import fmpq

from symgen.papers import rk
from symgen.papers.blocks import Matrix, assembled, cross_matrix, identity, inverse, stacked, zeros
from symgen.papers.chain import Chain, random_numbers
from symgen.papers.comparison import mass_matrix_by_bodies
from symgen.papers.equation import Equation, Letter, link_entries
from symgen.papers.stored import stored
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SOURCE = "Saha, UDU^T decomposition"
CONVENTIONS = (
    "The paper counts links from 1. Twists are (angular, linear), wrenches (moment, force), at the"
    " mass centres C_i, in link axes unless a letter says otherwise. On a tree, a sum over i+1 runs"
    " over the children of link i."
)
"""Conventions of the letters, for a reader of a derived paper."""


class Operators:
    """Saha's matrices of a robot at one state, over the numbers of `chain`."""

    def __init__(self, chain: Chain) -> None:
        for link in chain.links:
            if len(link.axes) != 1:
                raise RequestError(
                    f"{SOURCE} needs joints of one degree of freedom, and the joint of link"
                    f" '{link.name}' of '{chain.name}' has {len(link.axes)}; use the operators of"
                    " Rodriguez & Kreutz (paper rk, method riccati)"
                )
        self.chain = chain
        self.links = chain.links
        self.n = len(chain.links)

    # -- positions, (1)-(6) ------------------------------------------------------------------------

    @cached_property
    def c(self) -> list[Array]:
        """The mass centres C_i."""
        return [self.origin(i) + self.d(i) for i in range(self.n)]

    def origin(self, i: int) -> Array:
        """Return the origin of the frame of link i, a point of its joint."""
        return self.chain.poses[i][1]

    def d(self, i: int) -> Array:
        """Return d_i, from the joint of link i to C_i (Fig. 1)."""
        return self.chain.poses[i][0] @ self.links[i].centre

    def r(self, i: int) -> Array:
        """Return r_j of (2b) for the parent j of link i: from C_j, or the base's origin, to the
        joint of link i.
        """
        parent = self.links[i].parent
        return self.origin(i) - self.c[parent] if parent >= 0 else self.origin(i)

    def e(self, i: int) -> Array:
        """Return the angular velocity of a unit rate of joint i: e_i, or zero if it slides."""
        return self.chain.poses[i][0] @ self.links[i].axes[0, :3]

    def slide(self, i: int) -> Array:
        """Return the velocity of the frame's origin of a unit rate of joint i: zero if it is
        revolute.
        """
        return self.chain.poses[i][0] @ self.links[i].axes[0, 3:]

    @stored
    def B(self, i: int, j: int) -> Array:
        """Return B_ij (4), (5): takes the twist at C_j to C_i on one rigid body."""
        return stacked(
            [[identity(3), zeros(3, 3)], [cross_matrix(self.c[j] - self.c[i]), identity(3)]]
        )

    @stored
    def p(self, i: int) -> Array:
        """Return p_i (4): the twist at C_i of a unit rate of joint i."""
        return np.concatenate(
            [self.e(i), cross_matrix(self.e(i)) @ self.d(i) + self.slide(i)], axis=0
        )

    @stored
    def extended_mass(self, i: int) -> Array:
        """Return M_i (12)."""
        R, link = self.chain.poses[i][0], self.links[i]
        return stacked(
            [[R @ link.central @ R.T, zeros(3, 3)], [zeros(3, 3), link.mass * identity(3)]]
        )

    def in_link_axes(self, i: int, inertia: Array) -> Array:
        """Return an inertia at C_i in the axes of link i."""
        R = self.chain.poses[i][0]
        turn = stacked([[R, zeros(3, 3)], [zeros(3, 3), R]])
        rotated: Array = turn.T @ inertia @ turn
        return rotated

    # -- composite and articulated bodies, (15), (31)-(35) -----------------------------------------

    @stored
    def composite(self, i: int) -> Array:
        """Return M̃_i (15a), (15c)."""
        M = self.extended_mass(i)
        for child in self.chain.children(i):
            B = self.B(child, i)
            M = M + B.T @ self.composite(child) @ B
        return M

    def links_on(self, i: int) -> list[int]:
        """Return link i and the links that it carries."""
        return [j for j in range(i, self.n) if i in self.chain.ancestors(j)]

    @stored
    def M_hat(self, i: int, k: int) -> Array:
        """Return M̂_ik (35): composite body i with free joints k … n, and M̂_ii for k ≤ i.

        M̂_{i,i+1} is the articulated-body inertia of link i.
        """
        if k <= i:
            psi = self.psi(i, i)
            return self.articulated(i) - np.outer(psi / self.m_hat(i), psi)
        M = self.extended_mass(i)
        for child in self.chain.children(i):
            B = self.B(child, i)
            M = M + B.T @ self.M_hat(child, max(child, k)) @ B
        return M

    def articulated(self, i: int) -> Array:
        """Return M̂_{i,i+1} (35)."""
        return self.M_hat(i, i + 1)

    @stored
    def psi(self, i: int, k: int) -> Array:
        """Return ψ_ik = B_kiᵀ ψ_k with ψ_k = M̂_{k,k+1} p_k (32), for link k = i or one that link i
        carries.
        """
        momentum: Array = self.articulated(k) @ self.p(k)
        return momentum if i == k else self.B(k, i).T @ momentum

    @stored
    def m_hat(self, k: int) -> Any:
        """Return m̂_k = p_kᵀ ψ_k (32). RequestError if it is zero."""
        m_hat = self.p(k) @ self.psi(k, k)
        if m_hat == 0:
            raise RequestError(
                f"{SOURCE} divides by m̂, which is zero for the joint of link"
                f" '{self.links[k].name}' of '{self.chain.name}': it moves no inertia while the"
                " joints beyond it are free; give the link mass and moments of inertia, or lock a"
                " joint with --lock"
            )
        return m_hat

    @stored
    def psi_hat(self, i: int, k: int) -> Array:
        """Return ψ̂_ik (33), from link k inward: ψ̂_kk = ψ_k / m̂_k, and B_{l,j}ᵀ ψ̂_lk for the
        parent j of link l.
        """
        wrench: Array = self.psi(k, k) / self.m_hat(k)
        for j in self._between(i, k):
            wrench = self.B(j, self.links[j].parent).T @ wrench
        return wrench

    def _between(self, i: int, k: int) -> list[int]:
        """Return the links from k inward to i, without i."""
        path = self.chain.ancestors(k)
        return path[: path.index(i)]

    def alpha(self, i: int, k: int) -> Any:
        """Return α_ik = p_iᵀ ψ̂_ik (31), for a link i that carries link k."""
        return self.p(i) @ self.psi_hat(i, k)

    def eliminated(self, i: int, j: int, k: int) -> Any:
        """Return i_ij⁽ᵏ⁾ = p_iᵀ M̂_ik B_ij p_j (31), for a link j that carries link i, or j = i."""
        return self.p(i) @ self.M_hat(i, k) @ self.B(i, j) @ self.p(j)

    @cached_property
    def _from_the_tip(self) -> range:
        """The links. Before, M̂_{i,i+1} and m̂_i are computed from the tip, so that no call nests
        deeply.
        """
        for i in reversed(range(self.n)):
            self.M_hat(i, i)
        return range(self.n)

    # -- whole matrices ----------------------------------------------------------------------------

    def _pairs(self, strict: bool = False) -> Iterator[tuple[int, int]]:
        """Yield (i, j) for each link i and each link j that carries it, and for j = i unless
        `strict`.
        """
        for i in range(self.n):
            for j in self.chain.ancestors(i)[strict:]:
                yield i, j

    def _six(self, blocks: dict[tuple[int, int], Array]) -> Matrix:
        """Return the 6n x 6n matrix of these blocks."""
        six = [6] * self.n
        return assembled(blocks, six, six)

    def _thin(self, columns: dict[tuple[int, int], Array]) -> Matrix:
        """Return the 6n x n matrix of these columns."""
        blocks = {index: column.reshape(6, 1) for index, column in columns.items()}
        return assembled(blocks, [6] * self.n, [1] * self.n)

    def _numbers(self, entries: dict[tuple[int, int], Any]) -> Matrix:
        """Return the n x n matrix of these entries."""
        array = zeros(self.n, self.n)
        for index, entry in entries.items():
            array[index] = entry
        return Matrix.of(array)

    def one(self) -> Matrix:
        """Return the identity of all joint rates (n x n)."""
        return Matrix.identity(self.n)

    @cached_property
    def T_l(self) -> Matrix:
        """T_l (9a), 6n x 6n."""
        return self._six({(i, j): self.B(i, j) for i, j in self._pairs()})

    @cached_property
    def T_d(self) -> Matrix:
        """T_d (9b), 6n x n."""
        return Matrix.diagonal([self.p(i).reshape(6, 1) for i in range(self.n)])

    @cached_property
    def T(self) -> Matrix:
        """The natural orthogonal complement T_l T_d (8), 6n x n."""
        return self.T_l @ self.T_d

    @cached_property
    def M(self) -> Matrix:
        """diag[M_1, …, M_n] (11)."""
        return Matrix.diagonal([self.extended_mass(i) for i in range(self.n)])

    @cached_property
    def composites(self) -> list[Array]:
        """M̃_i of every link (15)."""
        return [self.composite(i) for i in reversed(range(self.n))][::-1]

    @cached_property
    def M_tilde(self) -> Matrix:
        """M̃ (14): M̃_i B_ij where link j carries link i, and its transpose."""
        blocks: dict[tuple[int, int], Array] = {}
        for i, j in self._pairs():
            blocks[i, j] = self.composites[i] @ self.B(i, j)
            blocks[j, i] = blocks[i, j].T
        return self._six(blocks)

    @cached_property
    def gim(self) -> Matrix:
        """The generalized inertia matrix Tᵀ M T (10), n x n."""
        return self.T.T @ self.M @ self.T

    @cached_property
    def U(self) -> Matrix:
        """U (19): ones on the diagonal, α_ik above it."""
        entries = {(i, k): self.alpha(i, k) for k, i in self._outward(strict=True)}
        return self._numbers(entries | {(i, i): fmpq(1) for i in range(self.n)})

    @cached_property
    def D(self) -> Matrix:
        """diag[m̂_1, …, m̂_n] (20)."""
        return self._numbers({(i, i): self.m_hat(i) for i in self._from_the_tip})

    @cached_property
    def N(self) -> Matrix:
        """diag[M̂_{i,i+1} / m̂_i] (22b)."""
        return Matrix.diagonal([self.articulated(i) / self.m_hat(i) for i in self._from_the_tip])

    def _outward(self, strict: bool = False) -> Iterator[tuple[int, int]]:
        """Yield `_pairs` of links whose articulated inertias are computed."""
        assert self._from_the_tip is not None
        yield from self._pairs(strict)

    def alphas(self, k: int) -> Matrix:
        """Return the column α_k (27)."""
        column = zeros(self.n, 1)
        for i in self.chain.ancestors(k)[1:]:
            column[i, 0] = self.alpha(i, k)
        return Matrix.of(column)

    def selection(self, k: int) -> Matrix:
        """Return the column λ_k (28)."""
        return Matrix.of(identity(self.n)[:, k])

    def E(self, k: int) -> Matrix:
        """Return E_k = 1 − α_k λ_kᵀ (26)-(29)."""
        return self.one() - self.alphas(k) @ self.selection(k).T

    @cached_property
    def elimination(self) -> Matrix:
        """E = E_2 ⋯ E_n (17)."""
        product = self.one()
        for k in range(1, self.n):
            product = product @ self.E(k)
        return product

    def L(self, k: int) -> Matrix:
        """Return L_k by its elements (31): the inertia matrix after the columns n … k are cleared.

        `L(1)` is the paper's L_2, and `L(n)` is the inertia matrix.
        """
        entries = {}
        for i, j in self._outward():
            entries[i, j] = self.eliminated(i, j, max(k, i + 1))
            if i < k:
                entries[j, i] = entries[i, j]
        return self._numbers(entries)

    @property
    def L_2(self) -> Matrix:
        """The lower triangle L_2 of (17)."""
        return self.L(min(1, self.n))

    @cached_property
    def psis(self) -> Matrix:
        """ψ_ik of all links (32), 6n x n."""
        return self._thin({(i, k): self.psi(i, k) for k, i in self._outward()})

    @cached_property
    def psi_hats(self) -> Matrix:
        """ψ̂_ik of all links (33), 6n x n."""
        return self._thin({(i, k): self.psi_hat(i, k) for k, i in self._outward()})

    # -- motion, (2)-(3), (36)-(39) ----------------------------------------------------------------

    def _random(self, stem: str) -> Matrix:
        return Matrix.of(random_numbers(Random(f"{stem}/{self.chain.name}"), self.n))

    @cached_property
    def theta_dot(self) -> Matrix:
        """θ̇ (9c), random."""
        return self._random("rates")

    @cached_property
    def tau(self) -> Matrix:
        """τ (23), random."""
        return self._random("forces")

    @cached_property
    def t(self) -> Matrix:
        """The twists t (7) of θ̇, by (2a) and (2b)."""
        rates = self.theta_dot.entries[:, 0]
        twists: list[tuple[Array, Array]] = []
        for i, link in enumerate(self.links):
            w, velocity = twists[link.parent] if link.parent >= 0 else (zeros(3), zeros(3))
            turn = w + self.e(i) * rates[i]  # (2a)
            velocity = velocity + cross_matrix(w) @ self.r(i) + cross_matrix(turn) @ self.d(i)
            twists.append((turn, velocity + self.slide(i) * rates[i]))  # (2b)
        return Matrix.of(np.concatenate([half for twist in twists for half in twist]))

    def _column(self, entries_by_link: Iterable[Array]) -> Matrix:
        return Matrix.of(np.concatenate(list(entries_by_link)))

    def _entries_by_link(self, column: Matrix) -> list[Array]:
        """Return the parts of a column of twists or wrenches, by link."""
        return list(column.entries.reshape(self.n, 6))

    @cached_property
    def _first_step(self) -> tuple[Matrix, Matrix]:
        """τ̂ and η̃ by (36), (37), from the tip."""
        tau_hat, eta = self.tau.entries[:, 0].copy(), [zeros(6) for _ in range(self.n)]
        assert self._from_the_tip is not None
        for i in reversed(range(self.n)):
            for child in self.chain.children(i):
                eta[i] = eta[i] + self.B(child, i).T @ eta[child]  # (37)
            tau_hat[i] = tau_hat[i] - self.p(i) @ eta[i]  # (36)
            eta[i] = self.psi_hat(i, i) * tau_hat[i] + eta[i]  # below (37)
        return Matrix.of(tau_hat), self._column(eta)

    @cached_property
    def tau_hat(self) -> Matrix:
        """τ̂ (36)."""
        return self._first_step[0]

    @cached_property
    def eta_tilde(self) -> Matrix:
        """η̃_i of every link, below (37)."""
        return self._first_step[1]

    @cached_property
    def tau_tilde(self) -> Matrix:
        """τ̃ = τ̂ / m̂, link by link."""
        tau_hat = self.tau_hat.entries[:, 0]
        return Matrix.column(tau_hat[i] / self.m_hat(i) for i in range(self.n))

    @cached_property
    def _third_step(self) -> tuple[Matrix, Matrix]:
        """θ̈ and μ̃ by (38), (39), from the base."""
        accelerations = self.tau_tilde.entries[:, 0].copy()
        mu: list[Array] = []
        for i, link in enumerate(self.links):
            carried = zeros(6)
            if link.parent >= 0:
                carried = self.B(i, link.parent) @ mu[link.parent]  # (39)
                accelerations[i] = accelerations[i] - self.psi_hat(i, i) @ carried  # (38)
            mu.append(self.p(i) * accelerations[i] + carried)  # below (39)
        return Matrix.of(accelerations), self._column(mu)

    @cached_property
    def theta_ddot(self) -> Matrix:
        """θ̈ (38)."""
        return self._third_step[0]

    @cached_property
    def mu_tilde(self) -> Matrix:
        """μ̃_i of every link, below (39)."""
        return self._third_step[1]

    # -- second ways -------------------------------------------------------------------------------

    def twists_by_link_axes(self, rates: Array) -> Matrix:
        """Return the twists of these rates: velocities of the frames' origins, from link to link in
        link axes.
        """
        velocities: list[tuple[Array, Array]] = []
        column = []
        for i, link in enumerate(self.links):
            w, v = velocities[link.parent] if link.parent >= 0 else (zeros(3), zeros(3))
            v = link.rotation.T @ (v + cross_matrix(w) @ link.shift) + link.axes[0, 3:] * rates[i]
            w = link.rotation.T @ w + link.axes[0, :3] * rates[i]
            velocities.append((w, v))
            R = self.chain.poses[i][0]
            column += [R @ w, R @ (v + cross_matrix(w) @ link.centre)]
        return self._column(column)

    @cached_property
    def T_by_rates(self) -> Matrix:
        """The columns of T, one twist of all links for each unit rate."""
        columns = [self.twists_by_link_axes(row).entries for row in identity(self.n)]
        return Matrix.of(np.concatenate(columns, axis=1))

    def composites_by_sum(self) -> Matrix:
        """Return the M̃_i of (15a), (15b)."""
        totals = []
        for i in range(self.n):
            total = self.extended_mass(i)
            for j in self.links_on(i)[1:]:
                total = total + self.B(j, i).T @ self.extended_mass(j) @ self.B(j, i)
            totals.append(total)
        return Matrix.diagonal(totals)

    def element(self, i: int, j: int) -> Array | None:
        """Return i_ij = p_iᵀ M̃_i B_ij p_j of (16), 1 x 1, with i and j exchanged where link i
        carries link j.

        None if neither link carries the other.
        """
        if j not in self.chain.ancestors(i):
            i, j = j, i
        if j not in self.chain.ancestors(i):
            return None
        return np.array([[self.p(i) @ self.composite(i) @ self.B(i, j) @ self.p(j)]], object)

    def elements(self) -> Matrix:
        """Return the matrix of the elements (16)."""
        pairs = [(i, j) for i in range(self.n) for j in range(self.n)]
        blocks = {(i, j): self.element(i, j) for i, j in pairs}
        return self._numbers({at: block[0, 0] for at, block in blocks.items() if block is not None})

    @cached_property
    def reverse_elimination(self) -> tuple[Matrix, Matrix]:
        """Multipliers and pivots of the elimination of the numbers of the inertia matrix, from its
        last column.
        """
        left, multipliers = self.gim.entries.copy(), identity(self.n)
        for k in reversed(range(self.n)):
            for i in range(k):
                multipliers[i, k] = left[i, k] / left[k, k]
                left[i] = left[i] - left[k] * multipliers[i, k]
        return Matrix.of(multipliers), Matrix.of(left * identity(self.n))

    def _inertias_of(self, inertia: Callable[[int, int], Array]) -> Matrix:
        """Return the 6x6 matrices of all i < k ≤ n + 1, below each other."""
        pairs = [(i, k) for i in reversed(range(self.n)) for k in range(i + 1, self.n + 1)]
        return Matrix.of(np.concatenate([inertia(i, k) for i, k in pairs]))

    def M_hat_by_sum(self, i: int, k: int) -> Array:
        """Return M̂_ik of (34)."""
        total = self.composites[i]
        for j in self._freed(i, k):
            total = total - np.outer(self.psi_hat(i, j), self.psi(i, j))
        return total

    def _freed(self, i: int, k: int) -> list[int]:
        """Return the links from k on that link i carries."""
        return [j for j in self.links_on(i) if j >= k]

    def M_hat_by_energy(self, i: int, k: int) -> Array:
        """Return M̂_ik as the Schur complement of the inertia matrix of the joints k … n in
        composite body i.

        It is the inertia that has the least kinetic energy over the rates of these joints.
        """
        freed = self._freed(i, k)
        if not freed:
            return self.composites[i]
        columns = [self.B(j, i).T @ self.composites[j] @ self.p(j) for j in freed]
        coupling = np.stack(columns, axis=1)
        removed: Array = coupling @ inverse(self.elements_of(freed)) @ coupling.T
        return self.composites[i] - removed

    def elements_of(self, joints: list[int]) -> Array:
        """Return the rows and columns of these joints of the inertia matrix."""
        return self.gim.entries[np.ix_(joints, joints)]

    # -- the bridge to Rodriguez & Kreutz ----------------------------------------------------------

    @cached_property
    def rk(self) -> rk.Operators:
        """Spatial operators of the robot: at the frames' origins, in link axes, from the tip."""
        return rk.Operators(self.chain)

    @cached_property
    def X(self) -> Matrix:
        """Matrix (6n x 6n) from twists of RK to twists at the mass centres in base axes.

        The result is in the order of the paper.
        """
        return self._shift(
            lambda R, s: stacked([[R, zeros(3, 3)], [-R @ cross_matrix(s), R]]), False
        )

    @cached_property
    def X_inverse(self) -> Matrix:
        """Matrix (6n x 6n) from twists at the mass centres in base axes to those of RK."""
        return self._shift(
            lambda R, s: stacked([[R.T, zeros(3, 3)], [cross_matrix(s) @ R.T, R.T]]), True
        )

    def _shift(self, block: Callable[[Array, Array], Array], into: bool) -> Matrix:
        blocks = {}
        for i, (R, _) in enumerate(self.chain.poses):
            at = self.rk.position[i]
            blocks[(at, i) if into else (i, at)] = block(R, self.links[i].centre)
        return self._six(blocks)

    @cached_property
    def reversal(self) -> Matrix:
        """Matrix (n x n) from joint rates of RK, which begin at the tip, to those of the paper."""
        return self._numbers({(i, at): fmpq(1) for i, at in self.rk.position.items()})

    def as_inertias(self, matrix: Matrix) -> Matrix:
        """Return inertias of RK at the mass centres, in base axes."""
        return self.X_inverse.T @ matrix @ self.X_inverse

    def of_joints(self, matrix: Matrix) -> Matrix:
        """Return an n x n operator of RK in the order of the paper."""
        return self.reversal @ matrix @ self.reversal.T


def _twists_by_parents(o: Operators) -> Matrix:
    """Return B_ij t_j + p_i θ̇_i of every link."""
    twists, rates = o._entries_by_link(o.t), o.theta_dot.entries[:, 0]
    column = []
    for i, link in enumerate(o.links):
        carried = o.B(i, link.parent) @ twists[link.parent] if link.parent >= 0 else zeros(6)
        column.append(carried + o.p(i) * rates[i])
    return o._column(column)


def _chained(o: Operators, products: bool) -> Matrix:
    """Return B_ij B_jk, or B_ik, of all links where k carries j and j carries i, and B_ii."""
    triples = [(i, j, k) for i, j in o._pairs() for k in o.chain.ancestors(j)]
    blocks = [
        Matrix.of(o.B(i, j)) @ Matrix.of(o.B(j, k)) if products else Matrix.of(o.B(i, k))
        for i, j, k in triples
    ]
    units = [Matrix.of(o.B(i, i) if products else identity(6)) for i in range(o.n)]
    return Matrix.below([*blocks, *units])


def _solved(o: Operators) -> Matrix:
    """Return U τ̂, D τ̃ and Uᵀ θ̈ below each other."""
    return Matrix.below([o.U @ o.tau_hat, o.D @ o.tau_tilde, o.U.T @ o.theta_ddot])


EQUATIONS: tuple[Equation[Operators], ...] = (
    Equation(
        "(2)",
        r"\omega_i = \omega_j + \dot\theta_i e_i,\quad "
        r"\dot c_i = \dot c_j + \omega_j\times r_j + \omega_i\times d_i",
        lambda o: o.t,
        lambda o: o.twists_by_link_axes(o.theta_dot.entries[:, 0]),
        "the right side has the velocities of the frames' origins, from link to link in link axes,"
        " and takes them to the mass centres; a joint that slides adds its rate to ċ_i alone",
    ),
    Equation(
        "(3)",
        r"t_i = B_{ij}t_j + p_i\dot\theta_i",
        lambda o: o.t,
        _twists_by_parents,
        "the left side is (2)",
        ("p",),
    ),
    Equation(
        "(4)",
        r"B_{ij} = \begin{bmatrix} 1 & O \\ C_{ij} & 1\end{bmatrix}",
        lambda o: o.T_l,
        lambda o: o.X @ o.rk.phi.T @ o.X_inverse,
        "the left side is T_l, whose blocks are B_ij; the right side is φᵀ of Rodriguez & Kreutz"
        " (3.3), products of steps in link axes, taken to the mass centres",
        ("B",),
    ),
    Equation(
        "(6)",
        r"B_{ij}B_{jk} = B_{ik},\quad B_{ii} = 1",
        lambda o: _chained(o, True),
        lambda o: _chained(o, False),
        "for all links on a path, below each other",
    ),
    Equation(
        "(8)",
        r"t = T\dot\theta,\quad T = T_l T_d",
        lambda o: o.T,
        lambda o: o.T_by_rates,
        "the columns of the right side are the twists of unit rates, from link to link in link"
        " axes",
        ("T_l", "T_d", "T"),
    ),
    Equation(
        "(10)",
        r"I = T^T M T",
        lambda o: o.gim,
        lambda o: mass_matrix_by_bodies(o.chain),
        "the right side is the sum of the kinetic energies of the links",
        ("gim",),
    ),
    Equation(
        "(12)",
        r"M_i = \begin{bmatrix} I_i & O \\ O & m_i 1\end{bmatrix}",
        lambda o: o.M,
        lambda o: o.as_inertias(o.rk.M),
        "the right side is M(k) of Rodriguez & Kreutz (2.15), taken to the mass centres",
        ("extended_mass",),
    ),
    Equation(
        "(13)",
        r"I = T_d^T\tilde M T_d",
        lambda o: o.gim,
        lambda o: o.T_d.T @ o.M_tilde @ o.T_d,
        "the left side is (10); M̃ has the blocks of (14)",
    ),
    Equation(
        "(14)",
        r"\tilde M = T_l^T M T_l",
        lambda o: o.M_tilde,
        lambda o: o.T_l.T @ o.M @ o.T_l,
        "the left side has the blocks M̃_i B_ij, with M̃_i of (15)",
    ),
    Equation(
        "(15)",
        r"\tilde M_i = M_i + B_{i+1,i}^T\tilde M_{i+1}B_{i+1,i} = M_i + \sum_{l=i+1}^n B_{li}^T M_l"
        r" B_{li}",
        lambda o: Matrix.diagonal(o.composites),
        lambda o: o.composites_by_sum(),
        "the left side is the recursion (15c), the right side the sum (15b)",
        ("Mtilde",),
    ),
    Equation(
        "(16)",
        r"i_{ij} = p_i^T\tilde M_i B_{ij}p_j\quad (i\ge j)",
        lambda o: o.gim,
        lambda o: o.elements(),
        "the left side is (10); the paper prints the range i = 1, …, j, and the expression is the"
        " element for i ≥ j",
        corrected=True,
    ),
    Equation(
        "(17)",
        r"E I = L_2,\quad E = E_2\cdots E_n",
        lambda o: o.elimination @ o.gim,
        lambda o: o.L_2,
        "the right side has the elements (31)",
        ("E", "L", "L2"),
    ),
    Equation(
        "(18)",
        r"E_k^{-1} = 1 + \alpha_k\lambda_k^T",
        lambda o: Matrix.below(
            o.E(k) @ (o.one() + o.alphas(k) @ o.selection(k).T) for k in range(o.n)
        ),
        lambda o: Matrix.below(o.one() for _ in range(o.n)),
        "for all k, below each other",
    ),
    Equation(
        "(19)",
        r"U = E^{-1}",
        lambda o: o.elimination @ o.U,
        lambda o: o.one(),
        "shown as E U = 1, with U by its elements α_ik",
        ("U",),
    ),
    Equation(
        "(20)",
        r"L_2 = D L,\quad L = U^T",
        lambda o: o.L_2,
        lambda o: o.D @ o.U.T,
        "the left side has the elements (31)",
        ("D",),
    ),
    Equation(
        "(21)",
        r"I = U D U^T",
        lambda o: o.gim,
        lambda o: o.U @ o.D @ o.U.T,
        "the left side is (10)",
    ),
    Equation(
        "(22a)",
        r"U = 1 + T_d^T(T_l - 1)^T N T_d",
        lambda o: o.U,
        lambda o: o.one() + o.T_d.T @ (o.T_l.T - Matrix.identity(6 * o.n)) @ o.N @ o.T_d,
        "the left side has the elements α_ik",
        ("N",),
    ),
    Equation(
        "(22b)",
        r"N = \mathrm{diag}[\hat M_{12}/\hat m_1,\dots,\hat M_{n,n+1}/\hat m_n]",
        lambda o: o.T_d.T @ o.N @ o.T_d,
        lambda o: o.one(),
        "shown as T_dᵀ N T_d = 1: each block N_i has p_iᵀ N_i p_i = 1",
    ),
    Equation(
        "(23)",
        r"I\ddot\theta = \tau",
        lambda o: o.gim @ o.theta_ddot,
        lambda o: o.tau,
        "with θ̈ of (38); the paper computes the known part of τ while θ̇ = 0, and means θ̈ = 0",
        corrected=True,
    ),
    Equation(
        "(24)",
        r"U\hat\tau = \tau,\quad D\tilde\tau = \hat\tau,\quad U^T\ddot\theta = \tilde\tau",
        _solved,
        lambda o: Matrix.below([o.tau, o.tau_hat, o.tau_tilde]),
        "with τ̂ of (36) and θ̈ of (38)",
        ("tau_tilde",),
    ),
    Equation(
        "(30)",
        r"L_k = E_k L_{k+1},\quad L_{n+1} = I",
        lambda o: Matrix.below(o.L(k) for k in reversed(range(o.n))),
        lambda o: Matrix.below(
            o.E(k) @ (o.L(k + 1) if k + 1 < o.n else o.gim) for k in reversed(range(o.n))
        ),
        "for all k, below each other; each L_k by its elements (31)",
    ),
    Equation(
        "(31)",
        r"\alpha_{ik} = p_i^T\hat\psi_{ik},\quad i_{ij}^{(k)} = p_i^T\hat M_{ik}B_{ij}p_j",
        lambda o: o.U,
        lambda o: o.reverse_elimination[0],
        "the left side is U, with the elements α_ik; the right side has the multipliers of the"
        " elimination of the numbers of I from the last column; (30) checks the elements of L_k",
        ("alpha",),
    ),
    Equation(
        "(32)",
        r"\psi_k = \hat M_{k,k+1}p_k,\quad \psi_{ik} = B_{ki}^T\psi_k,\quad \hat m_k = p_k^T\psi_k",
        lambda o: o.D,
        lambda o: o.reverse_elimination[1],
        "the left side is D, with the elements m̂_k; the right side has the pivots of that"
        " elimination",
        ("psi", "mhat"),
    ),
    Equation(
        "(33)",
        r"\hat\psi_k = \psi_k/\hat m_k,\quad \hat\psi_{ik} = \psi_{ik}/\hat m_k",
        lambda o: o.psi_hats @ o.D,
        lambda o: o.psis,
        "shown as ψ̂_ik m̂_k = ψ_ik; the left side takes ψ̂_k inward from link to link",
        ("psihat",),
    ),
    Equation(
        "(34)",
        r"\hat M_{ik} = \tilde M_i - \sum_{l=k}^n\hat\psi_{il}\psi_{il}^T",
        lambda o: o._inertias_of(o.M_hat),
        lambda o: o._inertias_of(o.M_hat_by_sum),
        "the left side is the recursion (35)",
        ("M_hat",),
    ),
    Equation(
        "(35)",
        r"\hat M_{ik} = M_i + B_{i+1,i}^T\hat M_{i+1,k}B_{i+1,i},\quad "
        r"\hat M_{kk} = \hat M_{k,k+1} - \hat\psi_k\psi_k^T",
        lambda o: o._inertias_of(o.M_hat),
        lambda o: o._inertias_of(o.M_hat_by_energy),
        "the left side is this recursion; the right side is the Schur complement of the joints k,"
        " …, n in the inertia of composite body i",
        ("Mhat",),
    ),
    Equation(
        "(36)",
        r"\hat\tau_i = \tau_i - p_i^T\tilde\eta_{i,i+1}",
        lambda o: o.tau_hat,
        lambda o: o.elimination @ o.tau,
        "the left side is this recursion, from the tip; the right side is E_2 ⋯ E_n τ",
        letters=("tau_hat",),
    ),
    Equation(
        "(37)",
        r"\tilde\eta_{i,i+1} = B_{i+1,i}^T\tilde\eta_{i+1},\quad "
        r"\tilde\eta_i = \hat\psi_i\hat\tau_i + \tilde\eta_{i,i+1}",
        lambda o: o.eta_tilde,
        lambda o: o.T_l.T @ o.N @ o.T_d @ o.tau_hat,
        "the left side is this recursion, from the tip; the right side is T_lᵀ N T_d τ̂",
        ("eta_tilde",),
    ),
    Equation(
        "(38)",
        r"\ddot\theta_i = \tilde\tau_i - \hat\psi_i^T\tilde\mu_{i,i-1}",
        lambda o: o.theta_ddot,
        lambda o: o.elimination.T @ o.tau_tilde,
        "the left side is this recursion, from the base; the right side is Eᵀ τ̃",
        letters=("theta_ddot",),
    ),
    Equation(
        "(39)",
        r"\tilde\mu_{i,i-1} = B_{i,i-1}\tilde\mu_{i-1},\quad "
        r"\tilde\mu_i = p_i\ddot\theta_i + \tilde\mu_{i,i-1}",
        lambda o: o.mu_tilde,
        lambda o: o.T @ o.theta_ddot,
        "the left side is this recursion, from the base; the right side is T θ̈",
        ("mu_tilde",),
    ),
    Equation(
        "bridge to RK (3.5)",
        r"T_d = X H^T J",
        lambda o: o.T_d,
        lambda o: o.X @ o.rk.H.T @ o.reversal.T,
        "the right side takes the axes of Rodriguez & Kreutz to the mass centres, in the order of"
        " Saha",
    ),
    Equation(
        "bridge to RK (4.4)",
        r"[\hat\psi_{ik}] = X^{-T}\phi G J",
        lambda o: o.psi_hats,
        lambda o: o.X_inverse.T @ o.rk.phi @ o.rk.G @ o.reversal.T,
        "the vectors ψ̂_k are the Kalman gains G(k) of Rodriguez & Kreutz",
    ),
    Equation(
        "bridge to RK (4.5)",
        r"\mathrm{diag}[\hat M_{i,i+1}] = X^{-T}P X^{-1}",
        lambda o: Matrix.diagonal([o.articulated(i) for i in o._from_the_tip]),
        lambda o: o.as_inertias(o.rk.P),
        "the inertias M̂_{i,i+1} are the articulated-body inertias P(k) of Rodriguez & Kreutz",
    ),
    Equation(
        "bridge to RK (4.6)",
        r"\mathrm{diag}[\hat m_i] = J D J",
        lambda o: o.D,
        lambda o: o.of_joints(o.rk.D),
        "the scalars m̂_i are D(k) of Rodriguez & Kreutz",
    ),
    Equation(
        "bridge to RK (4.11)",
        r"U = J(1 + H\Phi L)J",
        lambda o: o.U,
        lambda o: o.of_joints(o.rk.innovations),
        "reverse Gaussian elimination is the innovations factorization of Rodriguez & Kreutz; L is"
        " theirs",
    ),
    Equation(
        "bridge to RK (4.14)",
        r"E = J(1 - H\Psi L)J",
        lambda o: o.elimination,
        lambda o: o.of_joints(o.rk.whitening),
        "the product E of the eliminations is the whitening filter of Rodriguez & Kreutz; L is"
        " theirs",
    ),
)
"""The equations in the order of the paper, and those that lead to Rodriguez & Kreutz."""


LETTERS: tuple[Letter[Operators], ...] = (
    Letter(
        "extended_mass",
        "M",
        ("i",),
        "inertia of link i at C_i, in link axes, (12)",
        lambda o, i: o.in_link_axes(i, o.extended_mass(i)),
    ),
    Letter(
        "gim",
        "I",
        ("i", "j"),
        "generalized inertia matrix, (16)",
        lambda o, i, j: o.element(i, j),
        "one of the two links carries the other, or i = j",
    ),
    Letter(
        "M_hat",
        r"\hat M",
        ("i", "k"),
        "inertia of composite body i with free joints k … n at C_i, in link axes, (34), (35)",
        lambda o, i, k: o.in_link_axes(i, o.M_hat(i, k)) if k >= i else None,
        "k ≥ i",
    ),
    Letter(
        "N",
        "N",
        ("i",),
        "M̂_{i,i+1} / m̂_i, in link axes, (22b)",
        lambda o, i: o.in_link_axes(i, o.articulated(i) / o.m_hat(i)),
    ),
    Letter(
        "L",
        "L",
        ("k",),
        "the inertia matrix after the columns n … k are cleared, (30), (31)",
        lambda o, k: o.L(k).entries,
    ),
    *(
        Letter(name, symbol, ("i",), says, link_entries(name, size))
        for name, symbol, size, says in (
            ("tau_hat", r"\hat\tau", 1, "U⁻¹ τ, (36)"),
            ("tau_tilde", r"\tilde\tau", 1, "τ̂ / m̂, (24)"),
            ("theta_ddot", r"\ddot\theta", 1, "joint accelerations by the forces τ, (38)"),
            ("eta_tilde", r"\tilde\eta", 6, "wrench at C_i, in base axes, below (37)"),
            ("mu_tilde", r"\tilde\mu", 6, "acceleration at C_i by θ̈, in base axes, below (39)"),
        )
    ),
)
"""Matrices that `udut` does not derive, block by block. Links count from 0 at the base."""

NOTATION = {
    r"\omega": "angular velocity of a link, (1)",
    r"\dot\theta": "joint rates, (9c)",
    "e_i": "unit vector along the axis of joint i",
    r"\dot c": "velocity of the mass centre C_i, (1)",
    "r": "vector from C_j to the joint of link i, whose parent is link j, (2b)",
    "d": "vector from the joint of link i to C_i, (2b)",
    "t": "twists of the links at their mass centres, (1), (7)",
    "B": "takes the twist at C_j to C_i on one rigid body, (4)",
    "p": "twist at C_i of a unit rate of joint i, (4)",
    "O": "zeros",
    "C": "matrix of the cross product with c_j − c_i, (5)",
    "T": "natural orthogonal complement, (8)",
    "T_l": "the blocks B_ij where link j carries link i, and 1 on the diagonal, (9a)",
    "T_d": "the vectors p_i on the diagonal, (9b)",
    "I_i": "moments of inertia of link i about C_i, (12)",
    "M": "inertias M_i of the links at their mass centres, (11), (12)",
    "m": "mass of link i",
    r"\tilde M": "inertias of the composite bodies, (14), (15)",
    "i_{ij}": "element of I, (16); i_ij⁽ᵏ⁾ is that of L_k, (31)",
    "E": (
        "product of the elementary upper triangular matrices E_k, which clear column k, (17),"
        " (26)-(29)"
    ),
    "L": "unit lower triangular matrix Uᵀ, (20)",
    "L_i": "the inertia matrix after the columns n … k are cleared, (30), (31)",
    "L_2": "the inertia matrix after all columns are cleared, lower triangular, (17)",
    r"\alpha": "multipliers α_ik of the elimination, (31), and their columns α_k, (27)",
    r"\lambda": "column k of 1, (28)",
    "U": "unit upper triangular matrix of the α_ik, (19)",
    "D": "the pivots m̂_k on the diagonal, (20)",
    r"\hat m": "inertia of articulated body k along the axis of joint k, (32)",
    r"\psi": "momentum of articulated body k at a unit rate of joint k; ψ_ik is that at C_i, (32)",
    r"\hat\psi": "ψ divided by m̂_k, (33)",
    r"\tau": "joint forces, (23)",
    "X": (
        "takes twists at the frames' origins in link axes, from the tip, to the mass centres in"
        " base axes"
    ),
    "J": "reverses the order of the joints",
    "H": "joint axes of Rodriguez & Kreutz (3.5)",
    r"\phi": "shifts of Rodriguez & Kreutz (3.4)",
    "G": "Kalman gains of Rodriguez & Kreutz (5.12)",
    "P": "articulated-body inertias of Rodriguez & Kreutz (4.5)",
    r"\Phi": "shifts of Rodriguez & Kreutz (4.9)",
    r"\Psi": "shifts across free joints of Rodriguez & Kreutz (4.10)",
}
"""Meaning of the symbols of `EQUATIONS` that are no letters, and of those that are derived by
`udut`.
"""
