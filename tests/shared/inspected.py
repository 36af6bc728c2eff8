"""Expected values of the papers' letters from the reference's poses alone: dense matrices, block by
block, over balls.

Everything is in the declared link frames; `Seen` is one robot in one state. `EXPECTED` says of
every letter of every method what its blocks must be; nothing of the derivation is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import flint
import numpy as np

from symgen.inspection.catalogue import choose
from symgen.inspection.entries import answer
from symgen.ir.program import Port
from symgen.mechanism.joints import Sliding
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import axial, skew, transposed
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from tests.shared.robots_for_tests import BALLS, run

Blocks = dict[tuple[int, ...], Array]


def numbers(mechanism: Mechanism, request: str, method: str, state: dict[str, Array]) -> Array:
    """The answer at one state, (rows, columns), 1x1 for a number."""
    formula = answer(mechanism, choose(mechanism, request, method))
    shape = formula.shape or (1, 1)
    derived = replace(formula.program, outputs=(Port("x", shape, formula.rows),))
    return run(derived, {name: value[None] for name, value in state.items()}, BALLS)["x"][0]


def inverse(m: Array) -> Array:
    return np.array(flint.arb_mat(m.tolist()).inv().tolist(), dtype=object)


def stacked(blocks: Blocks, n: int, height: int, width: int) -> Array:
    """Return a matrix of blocks, with zero for each missing block."""
    out = np.array(np.zeros((n * height, n * width), dtype=int), dtype=object)
    for (i, j), block in blocks.items():
        out[i * height : (i + 1) * height, j * width : (j + 1) * width] = block
    return out


class Seen:
    """One robot in one state, q (NQ,), v and a (NV,). What goes by the axis of a joint is of joints
    of one degree.
    """

    def __init__(self, mechanism: Mechanism, state: dict[str, Array]) -> None:
        self.mechanism, self.n, self.state = mechanism, len(mechanism.joints), state
        self.reference = Reference(mechanism, BALLS)
        self.one = BALLS.array(np.eye(6))
        self.placed = self.reference.placements(state["q"], state["v"], state["a"])
        self.R = [at.turn[0] for at in self.placed]
        self.o = [at.shift[0] for at in self.placed]
        self.M = self.reference.mass_matrix(state["q"])
        self.parent = [joint.parent for joint in mechanism.joints]

    def carries(self, i: int, j: int) -> bool:
        """True if link i carries link j or is link j."""
        while j > i:
            j = self.parent[j]
        return i == j

    def pairs(self) -> list[tuple[int, int]]:
        """(i, j) such that i carries j."""
        return [(i, j) for i in range(self.n) for j in range(self.n) if self.carries(i, j)]

    def twist(self, i: int, j: int, at: list[Array] | None = None) -> Array:
        """Twist at a point of j, axes of j, to that of i on the same rigid body; −1 is the base."""
        points = self.o if at is None else at
        (R_i, p_i), (R_j, p_j) = (
            (self.R[x], points[x]) if x >= 0 else (BALLS.array(np.eye(3)), 0 * points[0])
            for x in (i, j)
        )
        E, d = R_i.T @ R_j, R_j.T @ (p_i - p_j)
        return np.block([[E, 0 * E], [-E @ skew(d), E]])

    @cached_property
    def c(self) -> list[Array]:
        """Mass centres in the base, the joint's origin for a massless link."""
        rows = []
        for i in range(self.n):
            own_parts = [part for part in self.reference.parts() if part.body == i]
            mass = sum((part.mass for part in own_parts), flint.arb(0))
            at = self.o[i]
            if mass != 0:
                at = at + self.R[i] @ (sum(part.mass * part.centre for part in own_parts) / mass)
            rows.append(at)
        return rows

    def inertia(self, i: int, at: list[Array] | None = None) -> Array:
        """6x6 about a point of link i (its origin), in its axes."""
        away = 0 * self.o[i] if at is None else self.R[i].T @ (at[i] - self.o[i])
        total = 0 * self.one
        for body_part in (body_part for body_part in self.reference.parts() if body_part.body == i):
            s, m, eye = (
                skew(body_part.centre - away),
                body_part.mass,
                np.array(np.eye(3, dtype=int), dtype=object),
            )
            total = total + np.block([[body_part.inertia - m * s @ s, m * s], [-m * s, m * eye]])
        return total

    def invertible_inertia(self, i: int) -> Array:
        """The inertia, with moments that an inverse needs added about the directions about which a
        link in a plane cannot turn.
        """
        inertia = self.inertia(i)
        moments = self.inertia(i, self.c)[:3, :3]
        if 0 in flint.arb_mat(moments.tolist()).det():
            axis = self.axis(i)[:3]
            square = (axis.T @ axis)[0, 0]
            moment = (axis.T @ moments @ axis)[0, 0] / square
            inertia[:3, :3] += (self.one[:3, :3] - axis @ axis.T / square) * moment
        return inertia

    def axis(self, i: int) -> Array:
        """The twist of a unit rate of joint i at O_i, 6x1."""
        e, turning, sliding = self.reference.axes[i], 0 * self.o[i], 0 * self.o[i]
        for step in self.mechanism.joints[i].motions:
            along = e * self.reference.scalars.constant(step.rate)
            turning, sliding = (
                (turning, sliding + along)
                if isinstance(step, Sliding)
                else (turning + along, sliding)
            )
        return np.concatenate([turning, sliding])[:, None]

    def jacobian(self, i: int, at: list[Array] | None = None) -> Array:
        """6 x n: twist of link i at a point of it, in its axes."""
        points = self.o if at is None else at
        nothing = 0 * self.one[:, :1]
        return np.hstack(
            [
                self.twist(i, j, points) @ self.p(j, points) if self.carries(j, i) else nothing
                for j in range(self.n)
            ]
        )

    def p(self, i: int, at: list[Array] | None = None) -> Array:
        """The twist of a unit joint rate at a point of link i."""
        if at is None:
            return self.axis(i)
        d = self.R[i].T @ (at[i] - self.o[i])
        w, v = self.axis(i)[:3, 0], self.axis(i)[3:, 0]
        return np.concatenate([w, v + skew(w) @ d])[:, None]

    # -- articulated bodies, from inverses of M: no recursion --------------------------------------

    def joints_beyond(self, i: int) -> list[int]:
        return [j for j in range(self.n) if self.carries(i, j) and j != i]

    def articulated(self, i: int, at: list[Array] | None = None) -> Array:
        """The inertia that link i feels of everything that it carries, its joints loose: a Schur
        complement.
        """
        inertia, loose = self.composite(i, at), self.joints_beyond(i)
        if not loose:
            return inertia
        points = self.o if at is None else at
        coupling = np.hstack(
            [self.twist(j, i, points).T @ self.composite(j, at) @ self.p(j, at) for j in loose]
        )
        inner = self.M[np.ix_(loose, loose)]
        return inertia - coupling @ BALLS.solve(inner, transposed(coupling))

    def composite(self, i: int, at: list[Array] | None = None) -> Array:
        points = self.o if at is None else at
        total = self.inertia(i, at)
        for j in self.joints_beyond(i):
            X = self.twist(j, i, points)
            total = total + X.T @ self.inertia(j, at) @ X
        return total

    def gain(self, i: int) -> Array:
        P, p = self.articulated(i), self.axis(i)
        return P @ p / (p.T @ P @ p)[0, 0]

    def phi(self, i: int, j: int) -> Array:
        return self.twist(j, i).T

    def psi(self, i: int, j: int) -> Array:
        """A wrench on link j as felt at link i, the joints from j up to below i loose: 1 − Σ over
        them.
        """
        product = self.one
        while j != i:
            product = (
                self.phi(self.parent[j], j) @ (self.one - self.gain(j) @ self.axis(j).T) @ product
            )
            j = self.parent[j]
        return product

    # -- cut joints --------------------------------------------------------------------------------

    @cached_property
    def across(self) -> Array:
        """6n x 6n: twists of links to twists across joints, at O_i in the axes of link i."""
        blocks: Blocks = {(i, i): self.one for i in range(self.n)}
        blocks |= {(i, p): -self.twist(i, p) for i, p in enumerate(self.parent) if p >= 0}
        return stacked(blocks, self.n, 6, 6)

    @cached_property
    def A(self) -> Array:
        free = stacked(
            {(i, i): inverse(self.invertible_inertia(i)) for i in range(self.n)}, self.n, 6, 6
        )
        return self.across @ free @ self.across.T

    def directions(self, method: str) -> tuple[Array, Array]:
        """Return (W_a, W) as inspected. They are not unique; a separate test checks their
        properties.
        """
        letter = {
            name: numbers(self.mechanism, name, method, {"q": self.state["q"]})
            for name in ("W_a", "W")
        }
        return letter["W_a"], letter["W"]


Expected = Callable[[Seen], Blocks]


def each(f: Callable[[Seen, int], Array]) -> Expected:
    return lambda links: {(i,): f(links, i) for i in range(links.n)}


def along_paths(
    f: Callable[[Seen, int, int], Array], inward: bool = False, strict: bool = False
) -> Expected:
    """Blocks (i, j) where i carries j; inward: where j carries i."""

    def blocks(links: Seen) -> Blocks:
        return {
            (j, i) if inward else (i, j): f(links, *((j, i) if inward else (i, j)))
            for i, j in links.pairs()
            if not (strict and i == j)
        }

    return blocks


def rows_and_columns(matrix: Callable[[Seen], Array], height: int, width: int) -> Expected:
    """The blocks of a dense matrix whose two joints sit on one link."""

    def share_link(links: Seen, i: int, j: int) -> bool:
        above = links.parent
        return i == j or above[i] == j or above[j] == i or above[i] == above[j] >= 0

    def blocks(links: Seen) -> Blocks:
        dense = matrix(links)
        return {
            (i, j): dense[i * height : (i + 1) * height, j * width : (j + 1) * width]
            for i in range(links.n)
            for j in range(links.n)
            if share_link(links, i, j)
        }

    return blocks


def _reduced(letter: str) -> Expected:
    def matrix(links: Seen) -> Array:
        W_a, W = links.directions("constraint_force")
        left, right = {"H_aa": (W_a, W_a), "H_ab": (W_a, W), "H_bb": (W, W)}[letter]
        return left.T @ links.A @ right

    return rows_and_columns(matrix, *{"H_aa": (1, 1), "H_ab": (1, 5), "H_bb": (5, 5)}[letter])


def _dq_dxi(links: Seen) -> Blocks:
    W_a, W = links.directions("constraint_force")
    blocks: Blocks = {}
    for i, p in enumerate(links.parent):
        basis = np.hstack(
            [W_a[6 * i : 6 * i + 6, i : i + 1], W[6 * i : 6 * i + 6, 5 * i : 5 * i + 5]]
        ).T
        blocks[i, i] = basis
        if p >= 0:
            blocks[i, p] = -basis @ links.twist(i, p)
    return blocks


def _schur_alpha(links: Seen, i: int, k: int) -> Array:
    """Return α_ik: the force at joint i per force at joint k if joint k accelerates with all joints
    beyond it free.
    """
    P = links.articulated(k, links.c)
    p_i, p_k = links.p(i, links.c), links.p(k, links.c)
    return (links.twist(k, i, links.c) @ p_i).T @ P @ p_k / (p_k.T @ P @ p_k)[0, 0]


def _psi_hat(links: Seen, i: int, k: int) -> Array:
    P, p = links.articulated(k, links.c), links.p(k, links.c)
    return links.twist(k, i, links.c).T @ P @ p / (p.T @ P @ p)[0, 0]


def _factor(links: Seen, k: int) -> Array:
    E = np.array(np.eye(links.n, dtype=int), dtype=object)
    for i in range(k):
        if links.carries(i, k):
            E[i, k] = -_schur_alpha(links, i, k)[0, 0]
    return E


def _eliminated(links: Seen) -> Array:
    E = np.array(np.eye(links.n, dtype=int), dtype=object)
    for k in range(1, links.n):
        E = E @ _factor(links, k)
    return E @ links.M


def _pivot(links: Seen, i: int) -> Array:
    return links.axis(i).T @ links.articulated(i) @ links.axis(i)


def _B(links: Seen, i: int, j: int) -> Array:
    turn = np.kron(np.eye(2, dtype=int), links.R[j].T @ links.R[i])
    return turn @ links.twist(i, j, links.c)


def _spin(links: Seen, i: int) -> Array:
    r0, r1, r2 = links.placed[i].turn
    return (r0.T @ axial(2 * (r2 @ r0.T) + r1 @ r1.T))[:, None]


def _acceleration(links: Seen, i: int) -> Array:
    """v̇ − g of the origin."""
    return (links.R[i].T @ (2 * links.placed[i].shift[2] - links.reference.gravity))[:, None]


def _moving(links: Seen, k: int, rates: Array) -> Array:
    """The wrench at O_k, in the axes of link k, that moves all it carries at these rates, no rate
    changing, without gravity.
    """
    placed = links.reference.placements(links.state["q"], rates, 0 * rates)
    spread, force = 0 * links.R[k], 0 * links.o[k]
    for body_part in links.reference.parts():
        if links.carries(k, body_part.body):
            at = placed[body_part.body]
            R, faster = at.turn[0], 2 * at.turn[2]
            x, xdd = (
                at.shift[0] + R @ body_part.centre - links.o[k],
                2 * at.shift[2] + faster @ body_part.centre,
            )
            second = (
                np.trace(body_part.inertia) / 2 * np.array(np.eye(3, dtype=int), dtype=object)
                - body_part.inertia
            )
            force = force + body_part.mass * xdd
            spread = (
                spread + body_part.mass * np.outer(xdd, x) + faster @ second @ R.T
            )  # sum of accelerations by places
    moment = axial(spread - spread.T)
    return np.concatenate([links.R[k].T @ moment, links.R[k].T @ force])[:, None]


def _change(links: Seen, k: int) -> Array:
    """A quarter of what joint k adds to that, all beyond it frozen, when it moves."""
    beyond = [j == k or j in links.joints_beyond(k) for j in range(links.n)]
    frozen = np.where(beyond, 0 * links.state["v"], links.state["v"])
    moving = np.where(np.arange(links.n) == k, links.state["v"], frozen)
    return (_moving(links, k, moving) - _moving(links, k, frozen)) / 4


def _changes_beyond(links: Seen, i: int) -> Array:
    return sum(
        (links.phi(i, k) @ _change(links, k) for k in links.joints_beyond(i)), 0 * links.one[:, :1]
    )


EXPECTED: dict[tuple[str, str], Expected] = {
    ("composite_body", "dw"): each(_change),
    ("composite_body", "Gamma"): each(_changes_beyond),
    ("riccati", "P"): each(lambda links, i: links.articulated(i)),
    ("riccati", "D"): each(_pivot),
    ("riccati", "G"): each(lambda links, i: links.gain(i)),
    ("riccati", "L"): each(lambda links, i: links.phi(links.parent[i], i) @ links.gain(i)),
    ("riccati", "H"): each(lambda links, i: links.axis(i).T),
    ("riccati", "phi"): along_paths(lambda links, i, j: links.phi(i, j)),
    ("riccati", "psi"): along_paths(lambda links, i, j: links.psi(i, j)),
    ("riccati", "Omega"): each(
        lambda links, i: links.jacobian(i) @ BALLS.solve(links.M, transposed(links.jacobian(i)))
    ),
    ("udut", "B"): along_paths(_B, inward=True),
    ("udut", "p"): each(lambda links, i: links.p(i, links.c)),
    ("udut", "T_l"): along_paths(lambda links, i, j: links.twist(i, j, links.c), inward=True),
    ("udut", "T_d"): each(lambda links, i: links.p(i, links.c)),
    ("udut", "T"): along_paths(
        lambda links, i, j: links.jacobian(i, links.c)[:, j : j + 1], inward=True
    ),
    ("udut", "Mtilde"): each(lambda links, i: links.composite(i, links.c)),
    ("udut", "Mhat"): each(lambda links, i: links.articulated(i, links.c)),
    ("udut", "mhat"): each(_pivot),
    ("udut", "psi"): along_paths(
        lambda links, i, k: _psi_hat(links, i, k) * _pivot(links, k)[0, 0]
    ),
    ("udut", "psihat"): along_paths(_psi_hat),
    ("udut", "alpha"): along_paths(_schur_alpha, strict=True),
    ("udut", "U"): along_paths(_schur_alpha),
    ("udut", "D"): each(_pivot),
    ("udut", "E"): each(_factor),
    ("udut", "L2"): along_paths(
        lambda links, i, j: _eliminated(links)[i : i + 1, j : j + 1], inward=True
    ),
    ("constraint_force", "I_inv"): each(lambda links, i: inverse(links.invertible_inertia(i))),
    ("constraint_force", "A"): rows_and_columns(lambda links: links.A, 6, 6),
    **{("constraint_force", letter): _reduced(letter) for letter in ("H_aa", "H_ab", "H_bb")},
    **{("fixman", letter): _reduced(letter) for letter in ("H_aa", "H_ab", "H_bb")},
    ("fixman", "dq_dxi"): _dq_dxi,
    ("newton_euler", "omega"): each(
        lambda links, i: axial(links.R[i].T @ links.placed[i].turn[1])[:, None]
    ),
    ("newton_euler", "omegadot"): each(_spin),
    ("newton_euler", "vdot"): each(_acceleration),
}
"""(method, letter) -> its blocks. What is not here is proved by an identity in
test_inspection_quantities.
"""
