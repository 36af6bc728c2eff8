"""Rodriguez & Kreutz 1988, Part I and appendices A and B: spatial operators of a robot.

The mass operator 𝓜 = H φ M φᵀ Hᵀ (3.20) is factored as 𝓜 = (1 + HΦL) D (1 + HΦL)ᵀ (4.11), and
inverted as 𝓜⁻¹ = (1 − HΨL)ᵀ D⁻¹ (1 − HΨL) (4.16). M are the inertias of the links.

Whole operators are ordered as in the paper, from the tip, k = 1, to the base, k = N, so that φ, ψ,
Φ and Ψ are lower block triangular. On a tree, links are ordered so that children precede parents,
and φ(i, j) is zero unless link i carries link j. A joint with n degrees of freedom has n rows in H,
and D(k) is n x n (Appendix B). Methods that return one block take links as symgen counts them, from
0 at the base. Twists are (angular, linear), wrenches (moment, force), in the axes of the declared
link frames at their origins, the points O(k).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

import numpy as np

from symgen.papers.blocks import (
    Matrix,
    assembled,
    cross_matrix,
    force_shift,
    identity,
    inverse,
    zeros,
)
from symgen.papers.chain import Chain, random_numbers
from symgen.papers.comparison import matrix_inverse
from symgen.papers.equation import Equation, Letter
from symgen.papers.stored import stored
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SOURCE = "Rodriguez & Kreutz 1988"
CONVENTIONS = (
    "The paper counts links from the tip, k = 1 … N, so that link k+1 is the parent of link k;"
    " operators begin with the tip. Twists are (angular, linear), wrenches (moment, force), in the"
    " axes of the declared link frames at their origins O(k)."
)
"""Conventions of the letters, for a reader of a derived paper."""
TIP_FIRST = True
"""Whole operators begin with the tip."""


class Riccati(NamedTuple):
    """Solution of the recursion (4.4)-(4.6) for one link."""

    P: Array
    D: Array
    G: Array
    L: Array


class Operators:
    """The spatial operators of a robot at one state, over the numbers of `chain`."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.links = chain.links
        self.order = list(reversed(range(len(chain.links))))
        """The link of each position of an operator: the paper's k = 1 … N."""
        self.position = {link: row_index for row_index, link in enumerate(self.order)}
        self._spans = [len(chain.links[i].axes) for i in self.order]

    # -- blocks, by links counted from the base ----------------------------------------------------

    @cached_property
    def steps(self) -> list[Array]:
        """φ(k+1, k) of each link (2.16): takes a wrench on the link to its parent."""
        return [force_shift(link.rotation, link.shift) for link in self.links]

    @stored
    def articulated(self, i: int) -> Riccati:
        """Return P(k), D(k), G(k) and L(k) of link i, (4.4)-(4.6), (5.12); outer links first."""
        H = self.links[i].axes
        P: Array = self.links[i].inertia
        for child in self.chain.children(i):
            outer = self.articulated(child)
            remainder = outer.P - outer.G @ (self.links[child].axes @ outer.P)
            P = P + self.steps[child] @ remainder @ self.steps[child].T  # (4.5)
        D = H @ P @ H.T  # (4.6)
        try:
            G = P @ H.T @ inverse(D)  # (5.12)
        except RequestError:
            raise RequestError(
                f"{SOURCE} divide by D(k), which is singular for the joint of link"
                f" '{self.links[i].name}' of '{self.chain.name}': in one direction it moves no"
                " inertia while the joints beyond it are free; give the link mass and moments of"
                " inertia, or lock a joint with --lock"
            ) from None
        return Riccati(P, D, G, self.steps[i] @ G)

    @cached_property
    def riccati(self) -> list[Riccati]:
        """P(k), D(k), G(k) and L(k) of each link."""
        return [self.articulated(i) for i in self.order][::-1]  # from the tip: calls do not nest

    def transition(self, i: int) -> Array:
        """Return ψ(k+1, k) = φ(k+1, k) − L(k) H(k) of link i (4.7)."""
        gain: Array = self.articulated(i).L @ self.links[i].axes
        return self.steps[i] - gain

    @cached_property
    def transitions(self) -> list[Array]:
        """ψ(k+1, k) of each link."""
        return [self.transition(i) for i in self.order][::-1]

    @stored
    def composite(self, i: int) -> Array:
        """Return the composite-body inertia of link i: R(k+1) = φ R(k) φᵀ + M(k+1), (a.44) with φ
        for ψ.
        """
        R = self.links[i].inertia
        for child in self.chain.children(i):
            R = R + self.steps[child] @ self.composite(child) @ self.steps[child].T
        return R

    def transition_block(
        self, i: int, j: int, step: Callable[[int], Array], strict: bool = False
    ) -> Array | None:
        """Return the block (i, j) of φ, ψ by their `step`, or, if `strict`, of Φ, Ψ; None if it is
        zero.
        """
        if i not in self.chain.ancestors(j):
            return None
        block, at = identity(6), j
        if strict:
            if i == j:
                return None
            at = self.links[j].parent
        while at != i:
            block, at = step(at) @ block, self.links[at].parent
        return block

    def phi_block(self, i: int, j: int) -> Array | None:
        """Return φ(i, j) (3.1)-(3.3)."""
        return self.transition_block(i, j, lambda k: self.steps[k])

    def mass_block(self, i: int, j: int) -> Array | None:
        """Return H_i φ(i,j) R(j) H_jᵀ if link i carries link j: a block of (3.20)."""
        if i not in self.chain.ancestors(j):
            mirrored = self.mass_block(j, i) if j in self.chain.ancestors(i) else None
            return None if mirrored is None else mirrored.T
        carried: Array = self.phi_block(i, j) @ self.composite(j) @ self.links[j].axes.T
        return self.links[i].axes @ carried

    def factor_block(self, i: int, j: int, step: Callable[[int], Array], sign: int) -> Array | None:
        """Return the block of 1 + H Φ L (sign 1) or 1 − H Ψ L (sign −1)."""
        if i == j:
            return identity(len(self.links[i].axes))
        inner = self.transition_block(i, j, step, strict=True)
        if inner is None:
            return None
        return self.links[i].axes @ inner @ self.articulated(j).L * sign

    def mobility(self, i: int) -> Array:
        """Return Ω(k) of link i: Ω(k) = ψᵀ(k+1,k) Ω(k+1) ψ(k+1,k) + Hᵀ D⁻¹ H, from the base."""
        link = self.links[i]
        Omega = link.axes.T @ inverse(self.articulated(i).D) @ link.axes
        if link.parent >= 0:
            step = self.transition(i)
            Omega = Omega + step.T @ self.mobility(link.parent) @ step
        return Omega

    # -- whole operators ---------------------------------------------------------------------------

    def one(self) -> Matrix:
        """Return the identity of all link wrenches (6N x 6N)."""
        return Matrix.identity(6 * len(self.links))

    def one_of_joints(self) -> Matrix:
        """Return the identity of all joint velocities."""
        return Matrix.identity(sum(self._spans))

    def _diagonal(self, blocks: Sequence[Array]) -> Matrix:
        return Matrix.diagonal([blocks[i] for i in self.order])

    def _square(self, blocks: Mapping[tuple[int, int], Array]) -> Matrix:
        """Return the 6N x 6N operator of these blocks, by links."""
        six = [6] * len(self.links)
        position = self.position
        return assembled({(position[i], position[j]): b for (i, j), b in blocks.items()}, six, six)

    def _transition(self, steps: Sequence[Array], strict: bool = False) -> Matrix:
        """Return (3.4), (5.1) of these steps; if `strict`, (4.9), (4.10), without the innermost
        step of each product.
        """
        blocks: dict[tuple[int, int], Array] = {}
        for j in range(len(self.links)):
            block = identity(6)
            for above, i in enumerate(self.chain.ancestors(j)):
                if above or not strict:
                    blocks[i, j] = block
                    block = steps[i] @ block
        return self._square(blocks)

    @cached_property
    def phi(self) -> Matrix:
        """φ (3.4)."""
        return self._transition(self.steps)

    @cached_property
    def Phi(self) -> Matrix:
        """Φ (4.9)."""
        return self._transition(self.steps, strict=True)

    @cached_property
    def psi(self) -> Matrix:
        """ψ (5.1)."""
        return self._transition(self.transitions)

    @cached_property
    def Psi(self) -> Matrix:
        """Ψ (4.10)."""
        return self._transition(self.transitions, strict=True)

    @cached_property
    def S(self) -> Matrix:
        """The shift from a link to its parent's position (5.2)."""
        links = enumerate(self.links)
        return self._square(
            {(link.parent, i): identity(6) for i, link in links if link.parent >= 0}
        )

    @cached_property
    def H(self) -> Matrix:
        """H (3.5)."""
        return self._diagonal([link.axes for link in self.links])

    @cached_property
    def M(self) -> Matrix:
        """The inertias of the links (3.6)."""
        return self._diagonal([link.inertia for link in self.links])

    @cached_property
    def P(self) -> Matrix:
        """P (4.8)."""
        return self._diagonal([link.P for link in self.riccati])

    @cached_property
    def D(self) -> Matrix:
        """D (4.8)."""
        return self._diagonal([link.D for link in self.riccati])

    @cached_property
    def D_inverse(self) -> Matrix:
        """D⁻¹."""
        return self._diagonal([inverse(link.D) for link in self.riccati])

    @cached_property
    def G(self) -> Matrix:
        """G (5.12)."""
        return self._diagonal([link.G for link in self.riccati])

    @cached_property
    def L(self) -> Matrix:
        """L (4.8)."""
        return self._diagonal([link.L for link in self.riccati])

    @cached_property
    def Delta_phi(self) -> Matrix:
        """Δ_φ (a.4)."""
        return self._diagonal(self.steps)

    @cached_property
    def Delta_psi(self) -> Matrix:
        """Δ_ψ (a.5)."""
        return self._diagonal(self.transitions)

    @cached_property
    def phi_tilde(self) -> Matrix:
        """φ̃ = φ − 1 (a.3)."""
        return self.phi - self.one()

    @cached_property
    def psi_tilde(self) -> Matrix:
        """ψ̃ = ψ − 1 (5.11)."""
        return self.psi - self.one()

    @cached_property
    def mass_matrix(self) -> Matrix:
        """The mass operator 𝓜 = H φ M φᵀ Hᵀ (3.20)."""
        half = self.H @ self.phi
        return half @ self.M @ half.T

    @cached_property
    def innovations(self) -> Matrix:
        """1 + HΦL (4.11)."""
        return self.one_of_joints() + self.H @ self.Phi @ self.L

    @cached_property
    def whitening(self) -> Matrix:
        """1 − HΨL (4.14)."""
        return self.one_of_joints() - self.H @ self.Psi @ self.L

    @cached_property
    def motion(self) -> Motion:
        """A motion with random rates and joint forces, and a random force at a point of the last
        link.
        """
        source = Random(f"motion/{self.chain.name}")
        rates, forces = (
            [random_numbers(source, len(link.axes)) for link in self.links] for _ in range(2)
        )
        phi_of_tip = force_shift(identity(3), random_numbers(source, 3))
        load = phi_of_tip @ random_numbers(source, 6)  # (2.28)
        return Motion(self, rates, forces, {len(self.links) - 1: load})

    # -- definitions in a second way ---------------------------------------------------------------

    @cached_property
    def phi_by_poses(self) -> Matrix:
        """φ of (3.2) from the poses of both links in the base, without products of steps."""
        blocks: dict[tuple[int, int], Array] = {}
        for j, (rotation, origin) in enumerate(self.chain.poses):
            for i in self.chain.ancestors(j):
                base, base_origin = self.chain.poses[i]
                blocks[i, j] = force_shift(base.T @ rotation, base.T @ (origin - base_origin))
        return self._square(blocks)

    @cached_property
    def mass_matrix_by_bodies(self) -> Matrix:
        """Σ_k J_kᵀ M(k) J_k, the kinetic energy of one link after the other."""
        total = zeros(sum(self._spans), sum(self._spans))
        for k in range(len(self.links)):
            columns: dict[int, Array] = {}
            carried = identity(6)
            for i in self.chain.ancestors(k):
                columns[i] = carried.T @ self.links[i].axes.T
                carried = self.steps[i] @ carried
            J = np.concatenate(
                [columns.get(i, zeros(6, len(self.links[i].axes))) for i in self.order], axis=1
            )
            total = total + J.T @ self.links[k].inertia @ J
        return Matrix.of(total)

    @cached_property
    def pivots(self) -> Matrix:
        """The diagonal blocks of the elimination of the mass operator, from the base to the tip."""
        remaining = self.mass_matrix.entries.copy()
        stops = np.cumsum(self._spans)
        blocks: dict[tuple[int, int], Array] = {}
        for row_index in range(len(self._spans)):  # the first position is the tip
            start, end = stops[row_index] - self._spans[row_index], stops[row_index]
            pivot = remaining[start:end, start:end].copy()
            blocks[row_index, row_index] = pivot
            factors = remaining[end:, start:end] @ inverse(pivot)
            remaining[end:, end:] = remaining[end:, end:] - factors @ remaining[start:end, end:]
        return assembled(blocks, self._spans, self._spans)

    @cached_property
    def Omega(self) -> Matrix:
        """The diagonal of ψᵀ Hᵀ D⁻¹ H ψ, by its recursion."""
        return self._diagonal([self.mobility(i) for i in range(len(self.links))])

    def diagonal_of(self, matrix: Matrix) -> Matrix:
        """Return the 6x6 blocks on the diagonal of an operator."""
        entries, starts = matrix.entries, range(0, 6 * len(self.links), 6)
        return Matrix.diagonal([entries[n : n + 6, n : n + 6] for n in starts])


class Motion:
    """A motion of a robot: rates and forces of its joints, and wrenches on its links.

    `rates` and `joint_forces` have one vector per joint, in the order of the links; `load` are
    wrenches by link, at the link's origin: φ(1,0) f(0) (2.28) on the tip. Gravity is that of the
    description. Values are columns in the order of the operators, by the operator form of §3.
    Values whose names end in by_link are computed by the recursions of §2 instead.
    """

    def __init__(
        self,
        o: Operators,
        rates: Sequence[Array],
        joint_forces: Sequence[Array],
        load: Mapping[int, Array],
    ) -> None:
        self.o, self.rates, self.joint_forces, self.load = o, rates, joint_forces, load

    def _column(self, entries_by_link: Sequence[Array]) -> Matrix:
        return Matrix.of(np.concatenate([entries_by_link[i] for i in self.o.order]))

    @stored
    def velocity(self, i: int) -> Array:
        """Return V(k) of link i (2.25)."""
        link = self.o.links[i]
        V: Array = link.axes.T @ self.rates[i]
        if link.parent >= 0:
            V = V + self.o.steps[i].T @ self.velocity(link.parent)
        return V

    def bias_acceleration(self, i: int) -> Array:
        """Return a(k) of (2.19), of (2.32) for a sliding joint; of a root with −gravity (3.21)."""
        link = self.o.links[i]
        joint_velocity = link.axes.T @ self.rates[i]
        turn, slide = joint_velocity[:3], joint_velocity[3:]
        if link.parent >= 0:
            w = self.velocity(link.parent)[:3]
            linear = link.rotation.T @ _cross(w, _cross(w, link.shift))
        else:
            w, linear = zeros(3), -(link.rotation.T @ self.o.chain.gravity)
        w = link.rotation.T @ w  # of the parent, in the axes of the link
        linear = linear + _cross(w, slide) + _cross(w, slide) + _cross(turn, slide)
        return np.concatenate([_cross(w, turn), linear])

    def bias_force(self, i: int) -> Array:
        """Return b(k) of link i (2.23)."""
        link, w = self.o.links[i], self.velocity(i)[:3]
        moments, h = link.inertia[:3, :3], link.mass * link.centre
        return np.concatenate([_cross(w, moments @ w), _cross(w, _cross(w, h))])

    @cached_property
    def bias_accelerations(self) -> list[Array]:
        """a(k) of each link."""
        return [self.bias_acceleration(i) for i in range(len(self.o.links))]

    @cached_property
    def bias_forces(self) -> list[Array]:
        """b(k) of each link."""
        return [self.bias_force(i) for i in range(len(self.o.links))]

    @cached_property
    def theta_dot(self) -> Matrix:
        """θ̇ (3.9)."""
        return self._column(self.rates)

    @cached_property
    def T(self) -> Matrix:
        """T (3.9)."""
        return self._column(self.joint_forces)

    @cached_property
    def a(self) -> Matrix:
        """a (3.10), with gravity (3.21)."""
        return self._column(self.bias_accelerations)

    @cached_property
    def b(self) -> Matrix:
        """b (3.10)."""
        return self._column(self.bias_forces)

    @cached_property
    def Bf(self) -> Matrix:
        """B f(0) (3.7)."""
        return self._column([self.load.get(i, zeros(6)) for i in range(len(self.o.links))])

    @cached_property
    def V(self) -> Matrix:
        """V = φᵀ Hᵀ θ̇ (3.12)."""
        return self.o.phi.T @ self.o.H.T @ self.theta_dot

    @cached_property
    def bias(self) -> Matrix:
        """T̂ = H φ [M φᵀ a + b + B f(0)] (3.23)."""
        o = self.o
        return o.H @ o.phi @ (o.M @ o.phi.T @ self.a + self.b + self.Bf)

    @cached_property
    def T_prime(self) -> Matrix:
        """T′ = T − T̂ (3.22)."""
        return self.T - self.bias

    @cached_property
    def theta_ddot(self) -> Matrix:
        """θ̈ by FD1 (4.18)."""
        o = self.o
        return o.whitening.T @ o.D_inverse @ o.whitening @ self.T_prime

    @cached_property
    def alpha(self) -> Matrix:
        """α = φᵀ Hᵀ θ̈ + φᵀ a (3.15)."""
        o = self.o
        return o.phi.T @ o.H.T @ self.theta_ddot + o.phi.T @ self.a

    @cached_property
    def _accelerations_of_joints(self) -> list[Array]:
        return self._split(self.theta_ddot, [len(link.axes) for link in self.o.links])

    def _split(self, column: Matrix, sizes: Sequence[int]) -> list[Array]:
        """Return the parts of a column by link, from the base."""
        entries, entries_by_link, start = column.entries[:, 0], {}, 0
        for i in self.o.order:
            entries_by_link[i] = entries[start : start + sizes[i]]
            start += sizes[i]
        return [entries_by_link[i] for i in range(len(sizes))]

    @cached_property
    def accelerations_by_link(self) -> Matrix:
        """α(k) (2.26)."""
        result: list[Array] = []
        for i, link in enumerate(self.o.links):
            alpha = link.axes.T @ self._accelerations_of_joints[i] + self.bias_accelerations[i]
            if link.parent >= 0:
                alpha = alpha + self.o.steps[i].T @ result[link.parent]
            result.append(alpha)
        return self._column(result)

    @cached_property
    def forces_by_link(self) -> Matrix:
        """f(k) (2.29)."""
        alphas = self._split(self.alpha, [6] * len(self.o.links))
        result: list[Any] = [None] * len(self.o.links)
        for i in self.o.order:
            f = self.o.links[i].inertia @ alphas[i] + self.bias_forces[i]
            f = f + self.load.get(i, zeros(6))
            for child in self.o.chain.children(i):
                f = f + self.o.steps[child] @ result[child]
            result[i] = f
        return self._column(result)

    @cached_property
    def f(self) -> Matrix:
        """f = φ (M α + b + B f(0)) (3.17)."""
        return self.o.phi @ (self.o.M @ self.alpha + self.b + self.Bf)

    @cached_property
    def epsilon(self) -> Matrix:
        """The innovations ε = (1 − HΨL) T′ of (4.20)."""
        return self.o.whitening @ self.T_prime

    @cached_property
    def filtered(self) -> tuple[Matrix, Matrix]:
        """(ε, ẑ) of the filter (4.19)-(4.20), link by link."""
        o, n = self.o, len(self.o.links)
        forces = self._split(self.T_prime, [len(link.axes) for link in o.links])
        z: list[Array] = [zeros(6) for _ in range(n)]
        epsilon: list[Any] = [None] * n
        for i in o.order:
            for child in o.chain.children(i):
                z[i] = z[i] + o.transitions[child] @ z[child] + o.riccati[child].L @ forces[child]
            epsilon[i] = forces[i] - o.links[i].axes @ z[i]
        return self._column(epsilon), self._column(z)

    @cached_property
    def smoothed(self) -> tuple[Matrix, Matrix]:
        """(θ̈, λ) of the smoother (4.21)-(4.22), link by link."""
        o = self.o
        epsilon = self._split(self.filtered[0], [len(link.axes) for link in o.links])
        rates: list[Array] = []
        smooth: list[Array] = []
        for i, link in enumerate(o.links):
            nu = inverse(o.riccati[i].D) @ epsilon[i]
            inner = smooth[link.parent] if link.parent >= 0 else zeros(6)
            rates.append(nu - o.riccati[i].L.T @ inner)
            smooth.append(o.transitions[i].T @ inner + link.axes.T @ nu)
        return self._column(rates), self._column(smooth)

    @stored
    def filter(self, i: int) -> tuple[Array, Array, Array]:
        """Return z(k), ε(k) and ν(k) of link i (5.16), from the tip."""
        o = self.o
        z = self.bias_forces[i] + self.load.get(i, zeros(6))
        for child in o.chain.children(i):
            P, _, _, L = o.articulated(child)
            outer = self.filter(child)[0]
            z = z + o.transition(child) @ (outer + P @ self.bias_accelerations[child])
            z = z + L @ self.joint_forces[child]
        epsilon = self.joint_forces[i] - o.links[i].axes @ z
        return z, epsilon, inverse(o.articulated(i).D) @ epsilon

    @stored
    def smoother(self, i: int) -> tuple[Array, Array]:
        """Return λ(k) and θ̈(k) of link i (5.17), from the base."""
        o, link = self.o, self.o.links[i]
        nu, a = self.filter(i)[2], self.bias_accelerations[i]
        _, _, G, L = o.articulated(i)
        smooth = link.axes.T @ nu + (identity(6) - G @ link.axes).T @ a
        inner = zeros(6)
        if link.parent >= 0:
            inner = self.smoother(link.parent)[0]
            smooth = smooth + o.transition(i).T @ inner
        return smooth, nu - L.T @ inner - G.T @ a

    def column(self, entries_of_link: Callable[[int], Array]) -> Matrix:
        """Return a column of the operators' order from its part of each link."""
        return self._column([entries_of_link(i) for i in range(len(self.o.links))])

    @cached_property
    def FD2(self) -> Matrix:
        """α of (5.6)."""
        o = self.o
        return o.psi.T @ o.H.T @ o.D_inverse @ o.whitening @ self.T_prime + o.phi.T @ self.a

    @cached_property
    def zeta(self) -> Matrix:
        """ζ = φᵀ a (5.8)."""
        return self.o.phi.T @ self.a

    @cached_property
    def FD3(self) -> Matrix:
        """θ̈ of (5.9), (5.10)."""
        o = self.o
        epsilon = self.T - o.H @ o.psi @ (
            o.S @ o.L @ self.T + o.M @ self.zeta + self.b + self.Bf
        )  # (5.9)
        return o.whitening.T @ o.D_inverse @ epsilon  # (5.10)

    @cached_property
    def nu(self) -> Matrix:
        """ν of (5.14)."""
        o = self.o
        return o.D_inverse @ (
            o.whitening @ self.T
            - o.H @ o.psi_tilde @ o.P @ self.a
            - o.H @ o.psi @ (self.b + self.Bf)
        )

    @cached_property
    def FD4(self) -> Matrix:
        """θ̈ of (5.15)."""
        o = self.o
        gain = (o.one() - o.G @ o.H).T
        return o.whitening.T @ self.nu - o.L.T @ o.Psi.T @ gain @ self.a - o.G.T @ self.a


def _cross(a: Array, b: Array) -> Array:
    return cross_matrix(a) @ b


def _lemma(o: Operators, left: str) -> tuple[Matrix, Matrix]:
    """Return both sides of Lemma A.1 with ψ, or with φ (Corollary A.1), on the left."""
    operator, steps = (o.phi, o.steps) if left == "phi" else (o.psi, o.transitions)
    r: list[Any] = [None] * len(o.links)
    for i in o.order:
        r[i] = o.links[i].inertia
        for child in o.chain.children(i):
            r[i] = r[i] + steps[child] @ r[child] @ o.steps[child].T  # (a.44)
    diagonal = o._diagonal(r)
    return operator @ o.M @ o.phi.T, diagonal + (
        operator - o.one()
    ) @ diagonal + diagonal @ o.phi_tilde.T


EQUATIONS: tuple[Equation[Operators], ...] = (
    Equation(
        "(3.3)",
        r"\phi(i,k) = \phi(i,i-1)\cdots\phi(k+1,k)",
        lambda o: o.phi,
        lambda o: o.phi_by_poses,
        "the left side has the products of steps; the right side has the poses of both links in the"
        " base",
        ("phi",),
    ),
    Equation(
        "(3.12)",
        r"V = \phi^T H^T \dot\theta",
        lambda o: o.motion.V,
        lambda o: o.motion.column(o.motion.velocity),
        "the right side is the recursion (2.25) from the base to the tip",
        ("H", "V"),
    ),
    Equation(
        "(3.15)",
        r"\alpha = \phi^T H^T \ddot\theta + \phi^T a",
        lambda o: o.motion.alpha,
        lambda o: o.motion.accelerations_by_link,
        "the right side is the recursion (2.26) with θ̈ of FD1; a contains gravity (3.21)",
        ("a_bias",),
    ),
    Equation(
        "(3.17)",
        r"f = \phi(M\alpha + b + B f(0))",
        lambda o: o.motion.f,
        lambda o: o.motion.forces_by_link,
        "the right side is the recursion (2.29) from the tip to the base",
        ("inertia", "b_bias"),
    ),
    Equation(
        "(3.18)",
        r"T = H f",
        lambda o: o.H @ o.motion.f,
        lambda o: o.motion.T,
        "the left side has the wrenches of the accelerations that FD1 computes; the right side is"
        " given",
    ),
    Equation(
        "(3.20)",
        r"\mathcal M = H\phi M\phi^T H^T",
        lambda o: o.mass_matrix,
        lambda o: o.mass_matrix_by_bodies,
        "the right side is the sum of the kinetic energies of the links",
        ("composite", "mass_matrix"),
    ),
    Equation(
        "(3.22)",
        r"\mathcal M\ddot\theta = T'",
        lambda o: o.mass_matrix @ o.motion.theta_ddot,
        lambda o: o.motion.T_prime,
        "with θ̈ of FD1 (4.18)",
    ),
    Equation(
        "(4.6)",
        r"D = H P H^T",
        lambda o: o.H @ o.P @ o.H.T,
        lambda o: o.pivots,
        "the right side has the pivots of the elimination of the mass operator, from the tip on",
        ("P", "D"),
    ),
    Equation(
        "(4.7)",
        r"\psi(k+1,k) = \phi(k+1,k) - L(k)H(k),\quad \psi(k+1,k)P(k)H^T(k) = 0",
        lambda o: Matrix.of_parts([[o.Delta_psi, o.Delta_psi @ o.P @ o.H.T]]),
        lambda o: Matrix.of_parts([[o.Delta_phi - o.L @ o.H, Matrix.zeros(*o.H.T.shape)]]),
        "the second part, from the proof of (a.47), determines L: a free joint transmits no force"
        " along its axis",
        ("L", "psi"),
    ),
    Equation(
        "(4.11)",
        r"\mathcal M = (1 + H\Phi L)\,D\,(1 + H\Phi L)^T",
        lambda o: o.mass_matrix,
        lambda o: o.innovations @ o.D @ o.innovations.T,
        "Fact 4.1; the left side is the product (3.20)",
        ("Phi", "innovations"),
    ),
    Equation(
        "(4.14)",
        r"(1 + H\Phi L)^{-1} = 1 - H\Psi L",
        lambda o: o.innovations @ o.whitening,
        lambda o: o.one_of_joints(),
        "Fact 4.2",
        ("Psi", "whitening"),
    ),
    Equation(
        "(4.16)",
        r"\mathcal M^{-1} = (1 - H\Psi L)^T D^{-1} (1 - H\Psi L)",
        lambda o: o.mass_matrix @ o.whitening.T @ o.D_inverse @ o.whitening,
        lambda o: o.one_of_joints(),
        "Theorem 4.1; the abstract of Part I prints Φ for Ψ",
        corrected=True,
    ),
    Equation(
        "(4.20)",
        r"\epsilon(k) = T'(k) - H(k)\hat z(k)",
        lambda o: o.motion.filtered[0],
        lambda o: o.motion.epsilon,
        "the left side is the filter (4.19), (4.20), link by link; the paper prints T(k) for T′(k)",
        corrected=True,
    ),
    Equation(
        "(4.22)",
        r"\ddot\theta(k) = \nu(k) - L^T(k)\lambda(k+1)",
        lambda o: o.motion.smoothed[0],
        lambda o: o.motion.theta_ddot,
        "the left side is the smoother (4.21), (4.22), link by link; the right side is Algorithm"
        " FD1 (4.18)",
    ),
    Equation(
        "(5.3)",
        r"\Psi = \psi S",
        lambda o: o.Psi,
        lambda o: o.psi @ o.S,
        letters=("S",),
    ),
    Equation(
        "(5.4)",
        r"(1 - H\Psi L)H\phi = H\psi",
        lambda o: o.whitening @ o.H @ o.phi,
        lambda o: o.H @ o.psi,
        "Identity 5.1",
    ),
    Equation(
        "(5.6)",
        r"\alpha = \psi^T H^T D^{-1}(1 - H\Psi L)T' + \phi^T a",
        lambda o: o.motion.alpha,
        lambda o: o.motion.FD2,
        "Algorithm FD2; the left side is (3.15) with θ̈ of FD1",
    ),
    Equation(
        "(5.10)",
        r"\ddot\theta = (1 - H\Psi L)^T D^{-1}\bigl(T - H\psi[SLT + M\zeta + b + B f(0)]\bigr)",
        lambda o: o.motion.theta_ddot,
        lambda o: o.motion.FD3,
        "Algorithm FD3; the left side is that of FD1",
    ),
    Equation(
        "(5.12)",
        r"G = P H^T D^{-1}",
        lambda o: o.G @ o.D,
        lambda o: o.P @ o.H.T,
        "shown as G D = P Hᵀ",
        ("G",),
    ),
    Equation(
        "(5.13)",
        r"V = \phi^T H^T\dot\theta",
        lambda o: o.motion.V,
        lambda o: o.motion.column(o.motion.velocity),
        "the paper prints Bᵀφᵀ for φᵀ; the right side is the recursion (2.25)",
        corrected=True,
    ),
    Equation(
        "(5.14)",
        r"\nu = D^{-1}(1 - H\Psi L)T - D^{-1}H\tilde\psi Pa - D^{-1}H\psi[b + B f(0)]",
        lambda o: o.motion.nu,
        lambda o: o.motion.column(lambda i: o.motion.filter(i)[2]),
        "the right side is the filter (5.16), link by link",
        ("z", "epsilon", "nu"),
    ),
    Equation(
        "(5.15)",
        r"\ddot\theta = (1 - H\Psi L)^T\nu - L^T\Psi^T(1 - GH)^T a - G^T a",
        lambda o: o.motion.theta_ddot,
        lambda o: o.motion.FD4,
        "Algorithm FD4; the left side is that of FD1",
    ),
    Equation(
        "(5.17)",
        r"\ddot\theta(k) = \nu(k) - L^T(k)\lambda(k+1) - G^T(k)a(k)",
        lambda o: o.motion.column(lambda i: o.motion.smoother(i)[1]),
        lambda o: o.motion.FD4,
        "the left side is the smoother, link by link; the right side is FD4 (5.15)",
        ("lambda", "theta_ddot"),
    ),
    Equation("(a.6)", r"\Phi = \phi S", lambda o: o.Phi, lambda o: o.phi @ o.S),
    Equation("(a.7)", r"\Psi = \psi S", lambda o: o.Psi, lambda o: o.psi @ o.S),
    Equation(
        "(a.8)",
        r"\Psi\Delta_\psi = \tilde\psi",
        lambda o: o.Psi @ o.Delta_psi,
        lambda o: o.psi_tilde,
        letters=("psi_tilde",),
    ),
    Equation(
        "(a.9)",
        r"\Phi\Delta_\phi = \tilde\phi",
        lambda o: o.Phi @ o.Delta_phi,
        lambda o: o.phi_tilde,
        letters=("phi_tilde",),
    ),
    Equation(
        "(a.10)",
        r"\psi^{-1} = 1 - S\Delta_\psi",
        lambda o: o.psi @ (o.one() - o.S @ o.Delta_psi),
        lambda o: o.one(),
    ),
    Equation(
        "(a.11)",
        r"\phi^{-1} = 1 - S\Delta_\phi",
        lambda o: o.phi @ (o.one() - o.S @ o.Delta_phi),
        lambda o: o.one(),
    ),
    Equation("(a.12)", r"L = \Delta_\phi G", lambda o: o.L, lambda o: o.Delta_phi @ o.G),
    Equation(
        "(a.13)", r"\tilde\phi G = \Phi L", lambda o: o.phi_tilde @ o.G, lambda o: o.Phi @ o.L
    ),
    Equation(
        "(a.14)",
        r"\phi = \psi(1 + SLH\phi)",
        lambda o: o.phi,
        lambda o: o.psi @ (o.one() + o.S @ o.L @ o.H @ o.phi),
    ),
    Equation(
        "(a.15)",
        r"\psi = (1 - \Psi LH)\phi",
        lambda o: o.psi,
        lambda o: (o.one() - o.Psi @ o.L @ o.H) @ o.phi,
    ),
    Equation(
        "(a.16)",
        r"\Phi = \Psi(1 + LH\Phi)",
        lambda o: o.Phi,
        lambda o: o.Psi @ (o.one() + o.L @ o.H @ o.Phi),
    ),
    Equation(
        "(a.17)",
        r"\Psi = (1 - \Psi LH)\Phi",
        lambda o: o.Psi,
        lambda o: (o.one() - o.Psi @ o.L @ o.H) @ o.Phi,
    ),
    Equation(
        "(a.18)",
        r"\phi - \psi = \Psi LH\phi",
        lambda o: o.phi - o.psi,
        lambda o: o.Psi @ o.L @ o.H @ o.phi,
    ),
    Equation(
        "(a.22)",
        r"\phi = (1 + \Phi LH)\psi",
        lambda o: o.phi,
        lambda o: (o.one() + o.Phi @ o.L @ o.H) @ o.psi,
    ),
    Equation(
        "(a.23)",
        r"\psi = \phi(1 - SLH\psi)",
        lambda o: o.psi,
        lambda o: o.phi @ (o.one() - o.S @ o.L @ o.H @ o.psi),
    ),
    Equation(
        "(a.24)",
        r"\Phi = (1 + \Phi LH)\Psi",
        lambda o: o.Phi,
        lambda o: (o.one() + o.Phi @ o.L @ o.H) @ o.Psi,
    ),
    Equation(
        "(a.25)",
        r"\Psi = \Phi(1 - LH\Psi)",
        lambda o: o.Psi,
        lambda o: o.Phi @ (o.one() - o.L @ o.H @ o.Psi),
    ),
    Equation(
        "(a.26)",
        r"\Phi LH\psi = \Psi LH\phi",
        lambda o: o.Phi @ o.L @ o.H @ o.psi,
        lambda o: o.Psi @ o.L @ o.H @ o.phi,
    ),
    Equation(
        "(a.27)",
        r"\Phi LH\Psi = \Psi LH\Phi",
        lambda o: o.Phi @ o.L @ o.H @ o.Psi,
        lambda o: o.Psi @ o.L @ o.H @ o.Phi,
    ),
    Equation(
        "(a.28)",
        r"\phi - \psi = \Phi LH\psi",
        lambda o: o.phi - o.psi,
        lambda o: o.Phi @ o.L @ o.H @ o.psi,
    ),
    Equation(
        "(a.32)",
        r"H\phi = (1 + H\Phi L)H\psi",
        lambda o: o.H @ o.phi,
        lambda o: o.innovations @ o.H @ o.psi,
    ),
    Equation(
        "(a.33)",
        r"H\Phi = (1 + H\Phi L)H\Psi",
        lambda o: o.H @ o.Phi,
        lambda o: o.innovations @ o.H @ o.Psi,
    ),
    Equation(
        "(a.34)",
        r"H\Psi = H\Phi(1 - LH\Psi)",
        lambda o: o.H @ o.Psi,
        lambda o: o.H @ o.Phi @ (o.one() - o.L @ o.H @ o.Psi),
    ),
    Equation(
        "(a.35)",
        r"H\psi = (1 - H\Psi L)H\phi",
        lambda o: o.H @ o.psi,
        lambda o: o.whitening @ o.H @ o.phi,
    ),
    Equation(
        "(a.36)",
        r"H\Psi = (1 - H\Psi L)H\Phi",
        lambda o: o.H @ o.Psi,
        lambda o: o.whitening @ o.H @ o.Phi,
    ),
    Equation(
        "(a.37)",
        r"H\Phi = H\Psi(1 + LH\Phi)",
        lambda o: o.H @ o.Phi,
        lambda o: o.H @ o.Psi @ (o.one() + o.L @ o.H @ o.Phi),
    ),
    Equation(
        "(a.38)",
        r"H\Phi LH\Psi = H\Psi LH\Phi",
        lambda o: o.H @ o.Phi @ o.L @ o.H @ o.Psi,
        lambda o: o.H @ o.Psi @ o.L @ o.H @ o.Phi,
    ),
    Equation(
        "(a.39)",
        r"\Phi L = \Psi L(1 + H\Phi L)",
        lambda o: o.Phi @ o.L,
        lambda o: o.Psi @ o.L @ o.innovations,
    ),
    Equation(
        "(a.40)",
        r"\Psi L = (1 - \Psi LH)\Phi L",
        lambda o: o.Psi @ o.L,
        lambda o: (o.one() - o.Psi @ o.L @ o.H) @ o.Phi @ o.L,
    ),
    Equation(
        "(a.41)",
        r"\Psi L = \Phi L(1 - H\Psi L)",
        lambda o: o.Psi @ o.L,
        lambda o: o.Phi @ o.L @ o.whitening,
    ),
    Equation(
        "(a.42)",
        r"\Phi L = (1 + \Phi LH)\Psi L",
        lambda o: o.Phi @ o.L,
        lambda o: (o.one() + o.Phi @ o.L @ o.H) @ o.Psi @ o.L,
    ),
    Equation(
        "(a.43)",
        r"\Psi LH\Phi L = \Phi LH\Psi L",
        lambda o: o.Psi @ o.L @ o.H @ o.Phi @ o.L,
        lambda o: o.Phi @ o.L @ o.H @ o.Psi @ o.L,
    ),
    Equation(
        "(a.45)",
        r"\psi M\phi^T = r + \tilde\psi r + r\tilde\phi^T",
        lambda o: _lemma(o, "psi")[0],
        lambda o: _lemma(o, "psi")[1],
        "Lemma A.1; r is computed by the recursion (a.44)",
    ),
    Equation(
        "Corollary A.1",
        r"\phi M\phi^T = r + \tilde\phi r + r\tilde\phi^T",
        lambda o: _lemma(o, "phi")[0],
        lambda o: _lemma(o, "phi")[1],
        "Lemma A.1 with φ in place of ψ, in (a.44) too",
    ),
    Equation(
        "(a.46)",
        r"\psi M\phi^T = P + \tilde\psi P + P\tilde\phi^T",
        lambda o: o.psi @ o.M @ o.phi.T,
        lambda o: o.P + o.psi_tilde @ o.P + o.P @ o.phi_tilde.T,
    ),
    Equation(
        "(a.47)",
        r"\psi M\psi^T = P + \tilde\psi P + P\tilde\psi^T",
        lambda o: o.psi @ o.M @ o.psi.T,
        lambda o: o.P + o.psi_tilde @ o.P + o.P @ o.psi_tilde.T,
    ),
    Equation(
        "(a.48)",
        r"\phi M\phi^T = P + \tilde\phi P + P\tilde\phi^T + \tilde\phi PH^TD^{-1}HP\tilde\phi^T",
        lambda o: o.phi @ o.M @ o.phi.T,
        lambda o: (
            o.P
            + o.phi_tilde @ o.P
            + o.P @ o.phi_tilde.T
            + o.phi_tilde @ o.P @ o.H.T @ o.D_inverse @ o.H @ o.P @ o.phi_tilde.T
        ),
    ),
    Equation(
        "(a.50)",
        r"(1 - H\Psi L)^TD^{-1}H\psi M\phi^T = (1 - H\Psi L)^TD^{-1}H\tilde\psi P"
        r" + L^T\Psi^T(1 - GH)^T + G^T",
        lambda o: o.whitening.T @ o.D_inverse @ o.H @ o.psi @ o.M @ o.phi.T,
        lambda o: (
            o.whitening.T @ o.D_inverse @ o.H @ o.psi_tilde @ o.P
            + o.L.T @ o.Psi.T @ (o.one() - o.G @ o.H).T
            + o.G.T
        ),
    ),
    Equation(
        "(a.51)",
        r"(1 - H\Psi L)^TD^{-1}HP(1 + \tilde\phi^T) = L^T\Psi^T(1 - GH)^T + G^T",
        lambda o: o.whitening.T @ o.D_inverse @ o.H @ o.P @ (o.one() + o.phi_tilde.T),
        lambda o: o.L.T @ o.Psi.T @ (o.one() - o.G @ o.H).T + o.G.T,
    ),
    Equation(
        "Ω",
        r"\phi^TH^T\mathcal M^{-1}H\phi = \psi^TH^TD^{-1}H\psi",
        lambda o: o.phi.T @ o.H.T @ matrix_inverse(o.mass_matrix) @ o.H @ o.phi,
        lambda o: o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi,
        "inverse operational-space inertia between any two links, from (3.13), (4.16) and (5.4);"
        " the left side inverts the mass operator by elimination",
    ),
    Equation(
        "Ω(k)",
        r"\Omega(k) = \psi^T(k+1,k)\Omega(k+1)\psi(k+1,k) + H^T D^{-1} H",
        lambda o: o.diagonal_of(o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi),
        lambda o: o.Omega,
        "the left side is the diagonal of ψᵀ Hᵀ D⁻¹ H ψ; the right side is a recursion from the"
        " base",
        ("Omega",),
    ),
)
"""The equations, in the order of the paper."""


CARRIES = "link i carries link j, or i = j"
LETTERS: tuple[Letter[Operators], ...] = (
    Letter("H", "H", ("k",), "joint axes, (3.5)", lambda o, k: o.links[k].axes),
    Letter(
        "inertia", "M", ("k",), "inertia of a link, (2.15), (3.6)", lambda o, k: o.links[k].inertia
    ),
    Letter(
        "phi",
        r"\phi",
        ("i", "j"),
        "takes a wrench on link j to link i, (3.1)-(3.4)",
        lambda o, i, j: o.phi_block(i, j),
        CARRIES,
    ),
    Letter(
        "phi_tilde",
        r"\tilde\phi",
        ("i", "j"),
        "φ − 1, (a.3)",
        lambda o, i, j: None if i == j else o.phi_block(i, j),
        "link i carries link j",
    ),
    Letter(
        "V",
        "V",
        ("k",),
        "velocity of a link, (2.25), (3.12)",
        lambda o, k: o.motion.velocity(k),
    ),
    Letter(
        "a_bias",
        "a",
        ("k",),
        "bias acceleration with gravity, (2.19), (2.32), (3.21)",
        lambda o, k: o.motion.bias_acceleration(k),
    ),
    Letter("b_bias", "b", ("k",), "bias force, (2.23)", lambda o, k: o.motion.bias_force(k)),
    Letter(
        "composite",
        "R",
        ("k",),
        "composite-body inertia, (a.44) with φ",
        lambda o, k: o.composite(k),
    ),
    Letter(
        "mass_matrix",
        r"\mathcal M",
        ("i", "j"),
        "mass operator, (3.20)",
        lambda o, i, j: o.mass_block(i, j),
        "one of the two links carries the other, or i = j",
    ),
    Letter(
        "P", "P", ("k",), "articulated-body inertia, (4.4), (4.5)", lambda o, k: o.articulated(k).P
    ),
    Letter("D", "D", ("k",), "its joint projection, (4.6)", lambda o, k: o.articulated(k).D),
    Letter("G", "G", ("k",), "gain, P Hᵀ D⁻¹, (5.12)", lambda o, k: o.articulated(k).G),
    Letter("L", "L", ("k",), "gain on the parent, φ G, (4.4)", lambda o, k: o.articulated(k).L),
    Letter(
        "psi",
        r"\psi",
        ("i", "j"),
        "φ across free joints, (4.7), (5.1)",
        lambda o, i, j: o.transition_block(i, j, o.transition),
        CARRIES,
    ),
    Letter(
        "psi_tilde",
        r"\tilde\psi",
        ("i", "j"),
        "ψ − 1, (5.11)",
        lambda o, i, j: None if i == j else o.transition_block(i, j, o.transition),
        "link i carries link j",
    ),
    Letter(
        "Phi",
        r"\Phi",
        ("i", "j"),
        "φ S, (4.9)",
        lambda o, i, j: o.transition_block(i, j, lambda k: o.steps[k], strict=True),
        "link i carries link j",
    ),
    Letter(
        "Psi",
        r"\Psi",
        ("i", "j"),
        "ψ S, (4.10), (5.3)",
        lambda o, i, j: o.transition_block(i, j, o.transition, strict=True),
        "link i carries link j",
    ),
    Letter(
        "S",
        "S",
        ("i", "j"),
        "takes a link to its parent, (5.2)",
        lambda o, i, j: identity(6) if o.links[j].parent == i else None,
        "link i is the parent of link j",
    ),
    Letter(
        "innovations",
        r"(1 + H\Phi L)",
        ("i", "j"),
        "1 + H Φ L, (4.11)",
        lambda o, i, j: o.factor_block(i, j, lambda k: o.steps[k], 1),
        CARRIES,
    ),
    Letter(
        "whitening",
        r"(1 - H\Psi L)",
        ("i", "j"),
        "1 − H Ψ L, (4.14)",
        lambda o, i, j: o.factor_block(i, j, o.transition, -1),
        CARRIES,
    ),
    Letter("z", "z", ("k",), "filtered wrench, (5.16)", lambda o, k: o.motion.filter(k)[0]),
    Letter(
        "epsilon", r"\epsilon", ("k",), "innovation, (5.16)", lambda o, k: o.motion.filter(k)[1]
    ),
    Letter("nu", r"\nu", ("k",), "D⁻¹ ε, (5.16)", lambda o, k: o.motion.filter(k)[2]),
    Letter(
        "lambda",
        r"\lambda",
        ("k",),
        "smoothed acceleration, (4.22), (5.17)",
        lambda o, k: o.motion.smoother(k)[0],
    ),
    Letter(
        "theta_ddot",
        r"\ddot\theta",
        ("k",),
        "joint acceleration by FD4, (5.17)",
        lambda o, k: o.motion.smoother(k)[1],
    ),
    Letter(
        "Omega",
        r"\Omega",
        ("k",),
        "acceleration of link k per unit wrench on it, from (3.13), (4.16), (5.4)",
        lambda o, k: o.mobility(k),
    ),
)
"""Operators block by block. Links count from 0 at the base. V, a, b, z, ε, ν, λ and θ̈ depend on
the motion.
"""

NOTATION = {
    r"\dot\theta": "joint rates, (3.9)",
    r"\ddot\theta": "joint accelerations",
    r"\alpha": "accelerations of the links less gravity, (2.14), (3.10)",
    "f": "wrenches that act on the links across their joints, (2.29)",
    "B": "takes the wrench f(0) on the tip to link 1, (3.7)",
    "T": "joint forces, (3.9); T′ are those without the bias T̂ (3.23)",
    r"\hat z": "filtered wrench of bias-free forces, (4.20)",
    r"\zeta": "bias accelerations of the links, φᵀ a, (5.8)",
    r"\Delta_\phi": "the steps φ(k+1,k) on the diagonal, (a.4)",
    r"\Delta_\psi": "the steps ψ(k+1,k) on the diagonal, (a.5)",
    "r": "block diagonal matrix of (a.44)",
}
"""Meaning of the symbols of `EQUATIONS` that are no letters."""
