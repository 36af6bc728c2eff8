"""Fijany & Featherstone 2013: the inverse of the mass matrix by way of the constraint forces.

Our copy of the paper has the abstract and the nomenclature only. The letters are those of the
nomenclature; the formulas are derived from it.

𝓗 takes joint accelerations to the accelerations across the joints, and 𝓟ᵀ takes accelerations of
the bodies to those across the joints. 𝓟 takes the forces 𝓕 that act from body to body to the force
on each body:

    𝓟ᵀ V̇ = 𝓗 q̈,   𝓟 𝓕 = 𝓘 V̇,   𝓗ᵀ 𝓕 = τ

The columns of W_i are a basis of the constraint forces of joint i, orthogonal to its axes:
𝓗ᵀ 𝓦 = 0. With W_a = 𝓗 (𝓗ᵀ𝓗)⁻¹ the interbody forces are 𝓕 = 𝓦_a τ + 𝓦 λ. The operator
𝓐 = 𝓟ᵀ 𝓘⁻¹ 𝓟 takes them to accelerations across the joints. It is block tridiagonal on a serial
chain, and so are its parts:

    H_aa = 𝓦_aᵀ 𝓐 𝓦_a,   H_ab = 𝓦_aᵀ 𝓐 𝓦,   H_bb = 𝓦ᵀ 𝓐 𝓦
    λ = −H_bb⁻¹ H_abᵀ τ,   M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ

The constraints project forces on free bodies by Π = 1 − 𝓟 𝓦 H_bb⁻¹ 𝓦ᵀ 𝓟ᵀ 𝓘⁻¹. So both inverses are
products of sparse matrices and the inverse of H_bb, where B takes a force on a frame of the last
link to the forces on all bodies:

    M⁻¹ = 𝓦_aᵀ 𝓟ᵀ Πᵀ 𝓘⁻¹ Π 𝓟 𝓦_a,   Λ⁻¹ = Bᵀ Πᵀ 𝓘⁻¹ Π B

Bodies are ordered from the base. Forces are (moment, force) and accelerations (angular, linear), in
the axes of the declared link frames at their origins O_i. On a tree, 𝓐 has blocks for two joints of
one parent as well. A joint with n degrees of freedom has n columns in H_i and 6 − n in W_i. The
columns of W_i are orthonormal where the axes are; the axis of a helical joint is no unit vector,
and its W_i is any basis. Each link needs an inertia that can be inverted. The moments of a link
that turns about one direction only are completed (`chain.Chain.completed`). The interbody forces,
with which 𝓘 and the mass matrix are compared, have the declared moments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from symgen.papers import rk
from symgen.papers.blocks import (
    Matrix,
    assembled,
    cross_matrix,
    force_shift,
    identity,
    inverse,
    zeros,
)
from symgen.papers.chain import Chain, quaternion_rotation, random_numbers, unit_quaternion
from symgen.papers.comparison import mass_matrix_by_bodies, matrix_determinant, matrix_inverse
from symgen.papers.complement import complement, orthonormal
from symgen.papers.equation import Equation, Letter
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SOURCE = "Fijany & Featherstone 2013"
CONVENTIONS = (
    "Our copy of the paper has the abstract and the nomenclature only; the equations are derived"
    " from them. Forces are (moment, force), accelerations (angular, linear), in the axes of the"
    " declared link frames at their origins O_i."
)
"""Conventions of the letters, for a reader of a derived paper."""


def solve(matrix: Matrix, right: Matrix) -> Matrix:
    """Return X with matrix X = right, for a positive definite matrix, by elimination from its first
    row.

    Over rational functions of a chain the first pivots are the shortest: they belong to the base.
    """
    if isinstance(matrix.content, fmpq_mat) and isinstance(right.content, fmpq_mat):
        return Matrix(matrix.content.solve(right.content), right.shape)
    left, solution = matrix.entries.copy(), right.entries.copy()
    size = len(left)
    for k in range(size):
        for r in range(k + 1, size):
            if left[r, k] != 0:
                share = left[r, k] / left[k, k]
                solution[r] = solution[r] - solution[k] * share
                for c in range(k + 1, size):
                    if left[k, c] != 0:
                        left[r, c] = left[r, c] - left[k, c] * share
    for k in reversed(range(size)):
        for c in range(k + 1, size):
            if left[k, c] != 0:
                solution[k] = solution[k] - solution[c] * left[k, c]
        solution[k] = solution[k] / left[k, k]
    return Matrix.of(solution)


def determinant(matrix: Matrix) -> Any:
    """Return the determinant of a positive definite matrix, by elimination from its first row."""
    return matrix_determinant(Matrix.of(matrix.entries[::-1, ::-1]))


class Operators:
    """The operators of a robot at one state, over the numbers of `chain`."""

    def __init__(self, chain: Chain) -> None:
        fault = chain.completed.inertia_fault()
        if fault is not None:
            raise RequestError(
                f"{SOURCE} need a positive definite inertia of every link, and in '{chain.name}'"
                f" {fault}; use the operators of Rodriguez & Kreutz (paper rk, method riccati)"
            )
        self.chain = chain
        self.links = chain.completed.links
        self.allowed = [len(link.axes) for link in chain.links]
        """Number of degrees of freedom of each joint."""
        self.forbidden = [6 - count for count in self.allowed]
        """Number of constraint forces of each joint."""
        self.six = [6] * len(chain.links)

    # -- blocks ------------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[Array]:
        """P_{i−1,i} of each body: takes a force on the body to its parent."""
        return [force_shift(link.rotation, link.shift) for link in self.links]

    @cached_property
    def constraints(self) -> list[Array]:
        """W_i of each joint, 6 x (6 − n_i)."""
        return [complement(link.axes).T for link in self.links]

    def active(self, i: int) -> Array:
        """Return W_a of joint i, H_i (H_iᵀ H_i)⁻¹: it takes joint forces to forces, 6 x n_i."""
        axes = self.links[i].axes
        return axes.T if orthonormal(axes) else axes.T @ inverse(axes @ axes.T)

    @cached_property
    def inverse_inertias(self) -> list[Array]:
        """I_i⁻¹ of each body."""
        return [inverse(link.inertia) for link in self.links]

    def A_block(self, i: int, j: int) -> Array | None:
        """Return the block of 𝓐 of joints i and j, from the inertias of two bodies; None if it is
        zero.

        It is not zero if i = j, if one joint follows the other, or if both have the same parent
        body.
        """
        parent, parent_of_j = self.links[i].parent, self.links[j].parent
        if i == j:
            block = self.inverse_inertias[i]
            if parent >= 0:
                block = block + self.steps[i].T @ self.inverse_inertias[parent] @ self.steps[i]
            return block
        if parent_of_j == i:
            return -(self.inverse_inertias[i] @ self.steps[j])
        if parent == j:
            return -(self.steps[i].T @ self.inverse_inertias[j])
        if parent == parent_of_j >= 0:
            return self.steps[i].T @ self.inverse_inertias[parent] @ self.steps[j]
        return None

    def part(
        self, i: int, j: int, left: Callable[[int], Array], right: Callable[[int], Array]
    ) -> Array | None:
        """Return the block (i, j) of H_aa, H_ab or H_bb, from that of 𝓐; None if it is zero."""
        block = self.A_block(i, j)
        return None if block is None else left(i).T @ block @ right(j)

    def constraint(self, i: int) -> Array:
        """Return W_i."""
        return self.constraints[i]

    # -- whole operators ---------------------------------------------------------------------------

    @cached_property
    def inertia(self) -> Matrix:
        """𝓘, 6N x 6N."""
        return Matrix.diagonal([link.inertia for link in self.links])

    @cached_property
    def inertia_inverse(self) -> Matrix:
        """𝓘⁻¹, 6N x 6N."""
        return Matrix.diagonal(self.inverse_inertias)

    @cached_property
    def P(self) -> Matrix:
        """𝓟, 6N x 6N: the force on a body is that from its parent less those on its children."""
        blocks: dict[tuple[int, int], Array] = {}
        for i, link in enumerate(self.links):
            blocks[i, i] = identity(6)
            if link.parent >= 0:
                blocks[link.parent, i] = -self.steps[i]
        return assembled(blocks, self.six, self.six)

    @cached_property
    def H(self) -> Matrix:
        """𝓗, 6N x n."""
        return Matrix.diagonal([link.axes.T for link in self.links])

    @cached_property
    def W(self) -> Matrix:
        """𝓦, 6N x (6N − n)."""
        return Matrix.diagonal(self.constraints)

    @cached_property
    def W_a(self) -> Matrix:
        """𝓦_a = 𝓗 (𝓗ᵀ𝓗)⁻¹, 6N x n."""
        return Matrix.diagonal([self.active(i) for i in range(len(self.links))])

    @cached_property
    def A(self) -> Matrix:
        """𝓐 = 𝓟ᵀ 𝓘⁻¹ 𝓟, 6N x 6N."""
        return self.P.T @ self.inertia_inverse @ self.P

    @cached_property
    def H_aa(self) -> Matrix:
        """𝓦_aᵀ 𝓐 𝓦_a, n x n."""
        return self.W_a.T @ self.A @ self.W_a

    @cached_property
    def H_ab(self) -> Matrix:
        """𝓦_aᵀ 𝓐 𝓦, n x (6N − n)."""
        return self.W_a.T @ self.A @ self.W

    @cached_property
    def H_bb(self) -> Matrix:
        """𝓦ᵀ 𝓐 𝓦, (6N − n) x (6N − n)."""
        return self.W.T @ self.A @ self.W

    @cached_property
    def accelerations(self) -> Matrix:
        """V̇ of a unit acceleration of each joint from rest, by recursion from the base, 6N x n."""
        rows: list[Array] = []
        for i, link in enumerate(self.links):
            row = zeros(6, sum(self.allowed))
            start = sum(self.allowed[:i])
            row[:, start : start + self.allowed[i]] = link.axes.T
            if link.parent >= 0:
                row = row + self.steps[i].T @ rows[link.parent]
            rows.append(row)
        return Matrix.of(np.concatenate(rows))

    @cached_property
    def forces(self) -> Matrix:
        """𝓕 of a unit acceleration of each joint from rest, by recursion from the tip, 6N x n; from
        the declared moments.
        """
        twists = self.accelerations.entries
        rows: list[Array] = [
            link.inertia @ twists[6 * i : 6 * i + 6] for i, link in enumerate(self.chain.links)
        ]
        for i in reversed(range(len(rows))):
            parent = self.links[i].parent
            if parent >= 0:
                rows[parent] = rows[parent] + self.steps[i] @ rows[i]
        return Matrix.of(np.concatenate(rows))

    @cached_property
    def M(self) -> Matrix:
        """The mass matrix V̇ᵀ 𝓘 V̇ of the accelerations, n x n."""
        return self.accelerations.T @ self.inertia @ self.accelerations

    @cached_property
    def constraint_forces(self) -> Matrix:
        """λ of a unit acceleration of each joint: the coordinates of 𝓕 along 𝓦, (6N − n) x n."""
        rows = self.forces.entries
        coordinates = []
        for i, W in enumerate(self.constraints):
            along = W.T @ rows[6 * i : 6 * i + 6]
            coordinates.append(along if orthonormal(W.T) else inverse(W.T @ W) @ along)
        return Matrix.of(np.concatenate(coordinates))

    @cached_property
    def M_inverse(self) -> Matrix:
        """H_aa − H_ab H_bb⁻¹ H_abᵀ, n x n."""
        return self.H_aa - self.H_ab @ solve(self.H_bb, self.H_ab.T)

    def projected(self, forces: Matrix) -> Matrix:
        """Return Π times forces on the bodies: the forces less those that constraints cancel."""
        blocked = self.W.T @ self.P.T @ self.inertia_inverse @ forces
        return forces - self.P @ self.W @ solve(self.H_bb, blocked)

    def inverse_by_projection(self, forces: Matrix) -> Matrix:
        """Return Fᵀ Πᵀ 𝓘⁻¹ Π F of forces F on the bodies."""
        projected = self.projected(forces)
        return projected.T @ self.inertia_inverse @ projected

    @cached_property
    def _frame(self) -> tuple[Array, Array]:
        """Rotation and position of a random frame on the last link."""
        source = Random(f"frame/{self.chain.name}")
        rotation = quaternion_rotation(unit_quaternion(*random_numbers(source, 3)))
        return rotation, random_numbers(source, 3)

    @cached_property
    def B(self) -> Matrix:
        """B, 6N x 6: takes a force on the frame of the last link to the forces on all bodies."""
        return assembled({(len(self.links) - 1, 0): force_shift(*self._frame)}, self.six, [6])

    @cached_property
    def loads(self) -> Matrix:
        """Forces on the bodies: the columns of B, and a random force on every body, 6N x 7."""
        column = random_numbers(Random(f"loads/{self.chain.name}"), sum(self.six))
        return Matrix.of_parts([[self.B, Matrix.of(column)]])

    @cached_property
    def Lambda_inverse(self) -> Matrix:
        """Λ⁻¹ = Bᵀ Πᵀ 𝓘⁻¹ Π B, 6 x 6."""
        return self.inverse_by_projection(self.B)

    # -- second ways -------------------------------------------------------------------------------

    @cached_property
    def jacobian(self) -> Matrix:
        """The Jacobian of the frame of the last link, from the poses of all links in the base, 6 x
        n.
        """
        poses, last = self.chain.poses, len(self.links) - 1
        turn = poses[last][0] @ self._frame[0]
        point = poses[last][1] + poses[last][0] @ self._frame[1]
        columns = zeros(6, sum(self.allowed))
        for i in self.chain.ancestors(last):
            R, r = poses[i]
            w, v = R @ self.links[i].axes[:, :3].T, R @ self.links[i].axes[:, 3:].T
            start = sum(self.allowed[:i])
            columns[:, start : start + self.allowed[i]] = np.concatenate(
                [turn.T @ w, turn.T @ (v - cross_matrix(point - r) @ w)]
            )
        return Matrix.of(columns)

    def local(
        self,
        block: Callable[[int, int], Array | None],
        heights: Sequence[int],
        widths: Sequence[int],
    ) -> Matrix:
        """Return the matrix of blocks that are computed one by one."""
        links = range(len(self.links))
        blocks: Mapping[tuple[int, int], Array | None] = {
            (i, j): block(i, j) for i in links for j in links
        }
        return assembled(
            {index: entries for index, entries in blocks.items() if entries is not None},
            heights,
            widths,
        )

    def unit_blocks(self) -> tuple[Matrix, Matrix]:
        """Return 𝓦ᵀ𝓦 of the joints with orthonormal axes, and 1 of the same size."""
        squares = [
            W.T @ W
            for W, link in zip(self.constraints, self.links, strict=True)
            if orthonormal(link.axes)
        ]
        return Matrix.diagonal(squares), Matrix.identity(sum(map(len, squares)))

    @cached_property
    def rk(self) -> rk.Operators:
        """The spatial operators of Rodriguez & Kreutz, from the tip."""
        return rk.Operators(self.chain.completed)

    @cached_property
    def _order(self) -> list[int]:
        """The row of Rodriguez & Kreutz's operators of each row of 𝓟."""
        return [6 * self.rk.position[i] + c for i in range(len(self.links)) for c in range(6)]

    @cached_property
    def _order_of_rk(self) -> list[int]:
        """The row of 𝓟 of each row of Rodriguez & Kreutz's operators."""
        return [6 * i + c for i in self.rk.order for c in range(6)]

    def of_bodies(self, matrix: Matrix) -> Matrix:
        """Return a 6N x 6N operator of Rodriguez & Kreutz in the order of the bodies."""
        return Matrix.of(matrix.entries[np.ix_(self._order, self._order)])

    def accelerations_by_filter(self, forces: Matrix) -> Matrix:
        """Return ψᵀ Hᵀ D⁻¹ H ψ times forces on the bodies, with the operators of Rodriguez &
        Kreutz.
        """
        half = self.rk.H @ self.rk.psi
        columns = range(forces.shape[1])
        carried = half @ Matrix.of(forces.entries[np.ix_(self._order_of_rk, columns)])
        result = half.T @ (self.rk.D_inverse @ carried)
        return Matrix.of(result.entries[np.ix_(self._order, columns)])

    @cached_property
    def volumes(self) -> tuple[Matrix, Matrix]:
        """The numbers det M det(𝓦ᵀ𝓦) and det 𝓘 det H_bb det(𝓗ᵀ𝓗)."""
        left = determinant(self.M)
        right = determinant(self.H_bb)
        for link, W in zip(self.links, self.constraints, strict=True):
            right = right * matrix_determinant(Matrix.of(link.inertia))
            if not orthonormal(link.axes):
                left = left * matrix_determinant(Matrix.of(W.T @ W))
                right = right * matrix_determinant(Matrix.of(link.axes @ link.axes.T))
        return Matrix.column([left]), Matrix.column([right])

    def pivots(self) -> Matrix:
        """Return Π det D(k) det(𝓦ᵀ𝓦), with D(k) of Rodriguez & Kreutz."""
        product: Any = fmpq(1)
        for riccati, link, W in zip(self.rk.riccati, self.links, self.constraints, strict=True):
            product = product * matrix_determinant(Matrix.of(riccati.D))
            if not orthonormal(link.axes):
                product = product * matrix_determinant(Matrix.of(W.T @ W))
        return Matrix.column([product])


EQUATIONS: tuple[Equation[Operators], ...] = (
    Equation(
        "accelerations",
        r"\mathcal P^T\dot{\mathcal V} = \mathcal H\ddot q",
        lambda o: o.P.T @ o.accelerations,
        lambda o: o.H,
        "for unit accelerations of the joints, at rest; the accelerations of the bodies are those"
        " of the recursion from the base",
        ("P", "H"),
    ),
    Equation(
        "forces",
        r"\mathcal P\mathcal F = \mathcal I\dot{\mathcal V}",
        lambda o: o.P @ o.forces,
        lambda o: o.inertia @ o.accelerations,
        "the interbody forces are those of the recursion of Newton and Euler from the tip",
        ("inertia",),
    ),
    Equation(
        "joint forces",
        r"\tau = \mathcal H^T\mathcal F",
        lambda o: o.H.T @ o.forces,
        lambda o: o.M,
        "for unit accelerations of the joints, at rest; the right side is M, whose columns are"
        " their joint forces",
    ),
    Equation(
        "M",
        r"M = \mathcal H^T\mathcal P^{-1}\mathcal I\mathcal P^{-T}\mathcal H",
        lambda o: o.M,
        lambda o: mass_matrix_by_bodies(o.chain),
        "the left side is V̇ᵀ 𝓘 V̇ of unit accelerations; the right side is the sum of the kinetic"
        " energies of the links",
    ),
    Equation(
        "W",
        r"\mathcal W^T\mathcal H = 0",
        lambda o: o.W.T @ o.H,
        lambda o: Matrix.zeros(sum(o.forbidden), sum(o.allowed)),
        letters=("W",),
    ),
    Equation(
        "W orthonormal",
        r"\mathcal W^T\mathcal W = 1",
        lambda o: o.unit_blocks()[0],
        lambda o: o.unit_blocks()[1],
        "joints whose axes are no orthonormal vectors are left out",
    ),
    Equation(
        "W_a",
        r"\mathcal W_a^T\mathcal H = 1",
        lambda o: o.W_a.T @ o.H,
        lambda o: Matrix.identity(sum(o.allowed)),
        letters=("W_a",),
    ),
    Equation(
        "interbody forces",
        r"\mathcal F = \mathcal W_a\tau + \mathcal W\lambda",
        lambda o: o.forces,
        lambda o: o.W_a @ o.M + o.W @ o.constraint_forces,
        "for unit accelerations of the joints, at rest: τ are the columns of M, and λ the"
        " coordinates of 𝓕 along 𝓦",
    ),
    Equation(
        "A",
        r"\mathcal A = \mathcal P^T\mathcal I^{-1}\mathcal P",
        lambda o: o.A,
        lambda o: o.local(o.A_block, o.six, o.six),
        "the right side is computed block by block: one for each joint, for two joints that follow"
        " each other, and for two of one parent, so that it is block tridiagonal on a serial chain",
        ("A",),
    ),
    Equation(
        "bridge to RK (3.17)",
        r"\mathcal A^{-1} = \phi\mathcal I\phi^T",
        lambda o: o.A @ o.of_bodies(o.rk.phi @ o.rk.M @ o.rk.phi.T),
        lambda o: Matrix.identity(6 * len(o.links)),
        "shown as 𝓐 𝓐⁻¹ = 1, with the operators of Rodriguez & Kreutz, whose M is 𝓘",
    ),
    Equation(
        "bridge to RK (a.11)",
        r"\mathcal P = \phi^{-1}",
        lambda o: o.P @ o.of_bodies(o.rk.phi_by_poses),
        lambda o: Matrix.identity(6 * len(o.links)),
        "shown as 𝓟 φ = 1, with φ from the poses of two links in the base",
    ),
    Equation(
        "H_aa",
        r"H_{aa} = \mathcal W_a^T\mathcal A\mathcal W_a",
        lambda o: o.H_aa,
        lambda o: o.local(lambda i, j: o.part(i, j, o.active, o.active), o.allowed, o.allowed),
        "the right side has the blocks that the blocks of 𝓐 give, one by one",
        ("H_aa",),
    ),
    Equation(
        "H_ab",
        r"H_{ab} = \mathcal W_a^T\mathcal A\mathcal W",
        lambda o: o.H_ab,
        lambda o: o.local(
            lambda i, j: o.part(i, j, o.active, o.constraint), o.allowed, o.forbidden
        ),
        "the right side has the blocks that the blocks of 𝓐 give, one by one",
        ("H_ab",),
    ),
    Equation(
        "H_bb",
        r"H_{bb} = \mathcal W^T\mathcal A\mathcal W",
        lambda o: o.H_bb,
        lambda o: o.local(
            lambda i, j: o.part(i, j, o.constraint, o.constraint), o.forbidden, o.forbidden
        ),
        "the right side has the blocks that the blocks of 𝓐 give, one by one",
        ("H_bb",),
    ),
    Equation(
        "constraint forces",
        r"H_{bb}\lambda = -H_{ab}^T\tau",
        lambda o: o.H_bb @ o.constraint_forces + o.H_ab.T @ o.M,
        lambda o: Matrix.zeros(sum(o.forbidden), sum(o.allowed)),
        "shown as H_bb λ + H_abᵀ τ = 0 for unit accelerations of the joints, with 𝓕 of the"
        " recursion of Newton and Euler",
    ),
    Equation(
        "joint accelerations",
        r"\ddot q = H_{aa}\tau + H_{ab}\lambda",
        lambda o: o.H_aa @ o.M + o.H_ab @ o.constraint_forces,
        lambda o: Matrix.identity(sum(o.allowed)),
        "for unit accelerations of the joints: the sum is 1",
    ),
    Equation(
        "det M",
        r"\det M = \det\mathcal I\,\det H_{bb}\,"
        r"\frac{\det\mathcal H^T\mathcal H}{\det\mathcal W^T\mathcal W}",
        lambda o: o.volumes[0],
        lambda o: o.volumes[1],
        "Fixman's theorem in space; the quotient is 1 where the axes of every joint are"
        " orthonormal",
    ),
    Equation(
        "bridge to RK (4.6)",
        r"\prod_k\det D(k) = \det\mathcal I\,\det H_{bb}\,"
        r"\frac{\det\mathcal H^T\mathcal H}{\det\mathcal W^T\mathcal W}",
        lambda o: o.pivots(),
        lambda o: o.volumes[1],
        "the pivots D(k) of Rodriguez & Kreutz; the quotient is 1 where the axes of every joint are"
        " orthonormal",
    ),
    Equation(
        "M inverse",
        r"M^{-1} = H_{aa} - H_{ab}H_{bb}^{-1}H_{ab}^T",
        lambda o: o.M @ o.M_inverse,
        lambda o: Matrix.identity(sum(o.allowed)),
        "shown as M M⁻¹ = 1",
    ),
    Equation(
        "Pi",
        r"\Pi\mathcal P\mathcal W = 0",
        lambda o: o.projected(o.P @ o.W),
        lambda o: Matrix.zeros(6 * len(o.links), sum(o.forbidden)),
        "the projection Π = 1 − 𝓟 𝓦 H_bb⁻¹ 𝓦ᵀ 𝓟ᵀ 𝓘⁻¹ removes forces that the constraints exert",
    ),
    Equation(
        "M inverse as a product",
        r"M^{-1} = \mathcal W_a^T\mathcal P^T\Pi^T\mathcal I^{-1}\Pi\mathcal P\mathcal W_a",
        lambda o: o.M @ o.inverse_by_projection(o.P @ o.W_a),
        lambda o: Matrix.identity(sum(o.allowed)),
        "shown as M M⁻¹ = 1",
    ),
    Equation(
        "Lambda inverse",
        r"\Lambda^{-1} = J M^{-1}J^T = B^T\Pi^T\mathcal I^{-1}\Pi B",
        lambda o: o.jacobian @ matrix_inverse(o.M) @ o.jacobian.T,
        lambda o: o.Lambda_inverse,
        "for a frame on the last link; the left side has J from the poses of the links in the base,"
        " and inverts M by elimination",
    ),
    Equation(
        "bridge to RK Ω",
        r"\mathcal I^{-1}\Pi = \psi^TH^TD^{-1}H\psi",
        lambda o: o.inertia_inverse @ o.projected(o.loads),
        lambda o: o.accelerations_by_filter(o.loads),
        "accelerations of all bodies, at rest, by forces on the frame of the last link and by a"
        " random force on every body; the right side has the operators of Rodriguez & Kreutz",
    ),
)
"""The equations from the letters of the nomenclature to the two inverses of the abstract."""


def _P_block(o: Operators, i: int, j: int) -> Array | None:
    if i == j:
        return identity(6)
    return -o.steps[j] if o.links[j].parent == i else None


NEAR = "i = j, one joint follows the other, or both have the same parent"
LETTERS: tuple[Letter[Operators], ...] = (
    Letter(
        "inertia",
        r"\mathcal I",
        ("i",),
        "inertia of body i at O_i",
        lambda o, i: o.links[i].inertia,
    ),
    Letter(
        "P",
        r"\mathcal P",
        ("i", "j"),
        "takes interbody forces to the forces on the bodies",
        _P_block,
        "i = j, or body i is the parent of body j",
    ),
    Letter("H", "H", ("i",), "axes of joint i", lambda o, i: o.links[i].axes.T),
    Letter(
        "W_a", "W_a", ("i",), "forces of unit joint forces, H (HᵀH)⁻¹", lambda o, i: o.active(i)
    ),
    Letter(
        "A",
        r"\mathcal A",
        ("i", "j"),
        "accelerations across joint i by forces across joint j, of free bodies",
        lambda o, i, j: o.A_block(i, j),
        NEAR,
    ),
    Letter(
        "H_aa",
        "H_{aa}",
        ("i", "j"),
        "block of 𝓐 between the joint forces of joints i and j",
        lambda o, i, j: o.part(i, j, o.active, o.active),
        NEAR,
    ),
)
"""The operators, by links. W, H_ab and H_bb depend on the choice of W, and are those that
`constraint_force` derives.
"""

NOTATION = {
    r"\dot{\mathcal V}": "accelerations of the bodies, from rest",
    r"\mathcal H": "axes H_i of the joints on the diagonal",
    r"\ddot q": "joint accelerations",
    r"\mathcal F": "forces that act from body to body",
    r"\tau": "joint forces",
    "M": "mass matrix",
    "W": "basis of the constraint forces of joint i",
    r"\mathcal W": "bases W_i of the constraint forces of the joints, on the diagonal",
    r"\mathcal W_a": "forces of unit joint forces, 𝓗 (𝓗ᵀ𝓗)⁻¹",
    r"\lambda": "constraint forces, in the bases W_i",
    r"\phi": "shifts of Rodriguez & Kreutz (3.4)",
    r"\psi": "shifts across free joints of Rodriguez & Kreutz (5.1)",
    "H": "axes of joint i; in the bridge to RK those of Rodriguez & Kreutz (3.5)",
    "H_{ab}": "block of 𝓐 between joint forces and constraint forces",
    "H_{bb}": "block of 𝓐 between constraint forces",
    "D": "articulated-body inertias along the joint axes, of Rodriguez & Kreutz (4.6)",
    r"\Pi": "projection of forces on free bodies to those that the constraints do not cancel",
    r"\Lambda": "operational-space inertia of a frame on the last link",
    "J": "Jacobian of that frame",
    "B": "takes a force on that frame to the forces on all bodies",
}
"""Meaning of the symbols of `EQUATIONS` that are no letters, and of those that `constraint_force`
derives.
"""
