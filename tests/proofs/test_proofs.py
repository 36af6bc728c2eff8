"""RK's facts, theorem and identities proved: symbolically for N = 2 and 3, by exact rationals on random chains up to N = 8.

In the plane every number is a symbol. In space every joint coordinate and mass is a symbol; for two
links every number except the axes between them. The chains have revolute and prismatic joints.
If the printed text has an error, the printed form must fail by more than 1e-3 and the corrected form must
hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp

from symgen.reference.precision import Array
from tests.shared.operators import Operators, rational_chain, spatial_chain, symbolic_chain
from tests.shared.robots_for_tests import rationals

RATIONAL = [(1, 0), (2, 0), (3, 0), (3, 1), (5, 0), (8, 0)]
SYMBOLIC = ["two links, symbolically", "three links, symbolically"]
SPATIAL = ["rr", "rp", "pr", "rrr", "rrp", "rpr", "prr"]
"""Joints that turn and slide, tip first."""


@cache
def chain(which: Any) -> Operators:
    if which in SPATIAL:
        return spatial_chain(which, whole=len(which) == 2)
    return (
        symbolic_chain(2 + SYMBOLIC.index(which)) if which in SYMBOLIC else rational_chain(*which)
    )


EVERY = pytest.mark.parametrize(
    "made", [pytest.param(c, id=str(c)) for c in (*SYMBOLIC, *SPATIAL, *RATIONAL)]
)
Pair = Callable[[Operators], tuple[Array, Array]]


def tilde(o: Operators, x: Array) -> Array:
    return x - o.one()


def shifts(o: Operators, steps: Any) -> Array:
    """Δ of (a.4), (a.5)."""
    return o.diagonal(list(steps))


IDENTITIES: dict[str, Pair] = {
    "Fact 4.1 (4.11)": lambda o: (o.mass, o.causal @ o.D @ o.causal.T),
    "Fact 4.2 (4.14)": lambda o: (o.causal @ o.whitening, o.one(o.N)),
    "Theorem 4.1 (4.16)": lambda o: (
        o.mass @ o.whitening.T @ o.D_inverse @ o.whitening,
        o.one(o.N),
    ),
    "Identity 5.1 (5.4)": lambda o: (o.whitening @ o.H @ o.phi, o.H @ o.psi),
    "(a.6)": lambda o: (o.Phi, o.phi @ o.S),
    "(a.7)": lambda o: (o.Psi, o.psi @ o.S),
    "(a.8)": lambda o: (o.Psi @ shifts(o, o.transitions), tilde(o, o.psi)),
    "(a.9)": lambda o: (o.Phi @ shifts(o, o.steps), tilde(o, o.phi)),
    "(a.10)": lambda o: (o.psi @ (o.one() - o.S @ shifts(o, o.transitions)), o.one()),
    "(a.11)": lambda o: (o.phi @ (o.one() - o.S @ shifts(o, o.steps)), o.one()),
    "(a.12)": lambda o: (o.L, shifts(o, o.steps) @ o.G),
    "(a.13)": lambda o: (tilde(o, o.phi) @ o.G, o.Phi @ o.L),
    "(a.14)": lambda o: (o.phi, o.psi @ (o.one() + o.S @ o.L @ o.H @ o.phi)),
    "(a.15)": lambda o: (o.psi, (o.one() - o.Psi @ o.L @ o.H) @ o.phi),
    "(a.16)": lambda o: (o.Phi, o.Psi @ (o.one() + o.L @ o.H @ o.Phi)),
    "(a.17)": lambda o: (o.Psi, (o.one() - o.Psi @ o.L @ o.H) @ o.Phi),
    "(a.18)": lambda o: (o.phi - o.psi, o.Psi @ o.L @ o.H @ o.phi),
    "(a.22)": lambda o: (o.phi, (o.one() + o.Phi @ o.L @ o.H) @ o.psi),
    "(a.23)": lambda o: (o.psi, o.phi @ (o.one() - o.S @ o.L @ o.H @ o.psi)),
    "(a.24)": lambda o: (o.Phi, (o.one() + o.Phi @ o.L @ o.H) @ o.Psi),
    "(a.25)": lambda o: (o.Psi, o.Phi @ (o.one() - o.L @ o.H @ o.Psi)),
    "(a.26)": lambda o: (o.Phi @ o.L @ o.H @ o.psi, o.Psi @ o.L @ o.H @ o.phi),
    "(a.27)": lambda o: (o.Phi @ o.L @ o.H @ o.Psi, o.Psi @ o.L @ o.H @ o.Phi),
    "(a.28)": lambda o: (o.phi - o.psi, o.Phi @ o.L @ o.H @ o.psi),
    "(a.32)": lambda o: (o.H @ o.phi, o.causal @ o.H @ o.psi),
    "(a.33)": lambda o: (o.H @ o.Phi, o.causal @ o.H @ o.Psi),
    "(a.34)": lambda o: (o.H @ o.Psi, o.H @ o.Phi @ (o.one() - o.L @ o.H @ o.Psi)),
    "(a.35)": lambda o: (o.H @ o.psi, o.whitening @ o.H @ o.phi),
    "(a.36)": lambda o: (o.H @ o.Psi, o.whitening @ o.H @ o.Phi),
    "(a.37)": lambda o: (o.H @ o.Phi, o.H @ o.Psi @ (o.one() + o.L @ o.H @ o.Phi)),
    "(a.38)": lambda o: (o.H @ o.Phi @ o.L @ o.H @ o.Psi, o.H @ o.Psi @ o.L @ o.H @ o.Phi),
    "(a.39)": lambda o: (o.Phi @ o.L, o.Psi @ o.L @ o.causal),
    "(a.40)": lambda o: (o.Psi @ o.L, (o.one() - o.Psi @ o.L @ o.H) @ o.Phi @ o.L),
    "(a.41)": lambda o: (o.Psi @ o.L, o.Phi @ o.L @ o.whitening),
    "(a.42)": lambda o: (o.Phi @ o.L, (o.one() + o.Phi @ o.L @ o.H) @ o.Psi @ o.L),
    "(a.43)": lambda o: (o.Psi @ o.L @ o.H @ o.Phi @ o.L, o.Phi @ o.L @ o.H @ o.Psi @ o.L),
    "(a.46)": lambda o: (
        o.psi @ o.M @ o.phi.T,
        o.P + tilde(o, o.psi) @ o.P + o.P @ tilde(o, o.phi).T,
    ),
    "(a.47)": lambda o: (
        o.psi @ o.M @ o.psi.T,
        o.P + tilde(o, o.psi) @ o.P + o.P @ tilde(o, o.psi).T,
    ),
    "(a.48)": lambda o: (
        o.phi @ o.M @ o.phi.T,
        o.P
        + tilde(o, o.phi) @ o.P
        + o.P @ tilde(o, o.phi).T
        + tilde(o, o.phi) @ o.P @ o.H.T @ o.D_inverse @ o.H @ o.P @ tilde(o, o.phi).T,
    ),
    "(a.50)": lambda o: (
        o.whitening.T @ o.D_inverse @ o.H @ o.psi @ o.M @ o.phi.T,
        o.whitening.T @ o.D_inverse @ o.H @ tilde(o, o.psi) @ o.P
        + o.L.T @ o.Psi.T @ (o.one() - o.G @ o.H).T
        + o.G.T,
    ),
    "(a.51)": lambda o: (
        o.whitening.T @ o.D_inverse @ o.H @ o.P @ (o.one() + tilde(o, o.phi).T),
        o.L.T @ o.Psi.T @ (o.one() - o.G @ o.H).T + o.G.T,
    ),
    "Ω": lambda o: (
        o.phi.T @ o.H.T @ o.whitening.T @ o.D_inverse @ o.whitening @ o.H @ o.phi,
        o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi,
    ),  # J M⁻¹ Jᵀ between any two links
}


@EVERY
@pytest.mark.parametrize("which", IDENTITIES)
def test_an_identity_holds_exactly(which: str, made: Any) -> None:
    left, right = IDENTITIES[which](chain(made))
    assert left.shape == right.shape
    assert (left - right == 0).all()


def test_the_identities_are_all_of_the_appendix() -> None:
    printed = [
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        *range(14, 19),
        *range(22, 29),
        *range(32, 44),
        46,
        47,
        48,
        50,
        51,
    ]
    assert {f"(a.{k})" for k in printed} <= set(IDENTITIES)


@EVERY
@pytest.mark.parametrize("left", ["phi", "psi"])
def test_lemma_a1_splits_a_product_of_transitions(left: str, made: Any) -> None:
    """r(k+1) = ψ r φᵀ + M (a.44) gives ψ 𝓜 φᵀ = r + ψ̃ r + r φ̃ᵀ (a.45), and the corollary for φ 𝓜 φᵀ."""
    o = chain(made)
    whole, steps = (o.phi, o.steps) if left == "phi" else (o.psi, o.transitions)
    r = [o.inertias[0]]
    for k in range(o.N - 1):
        r.append(steps[k] @ r[k] @ o.steps[k].T + o.inertias[k + 1])  # (a.44)
    diagonal = o.diagonal(r)
    split = diagonal + tilde(o, whole) @ diagonal + diagonal @ tilde(o, o.phi).T  # (a.45)
    assert (whole @ o.M @ o.phi.T - split == 0).all()


@EVERY
def test_omega_is_the_recursion_from_the_base(made: Any) -> None:
    """Ω(k) = ψᵀ(k+1,k) Ω(k+1) ψ(k+1,k) + Hᵀ D⁻¹ H is the diagonal of ψᵀHᵀD⁻¹Hψ."""
    o = chain(made)
    whole, s = o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi, o.size
    Omega = 0 * o.one(s)
    for k in reversed(range(o.N)):
        H = o.axes[k]
        Omega = o.transitions[k].T @ Omega @ o.transitions[k] + H.T @ (
            H * o.divide(1, o.riccati[k][1])
        )
        assert (Omega - whole[k * s : (k + 1) * s, k * s : (k + 1) * s] == 0).all()


# -- the four algorithms -------------------------------------------------------------------------------------------------


class Motion:
    """Random a, b, T, θ̇ and a tip force at a rational chain, with θ̈ and α as (3.19) and (3.15) define them."""

    def __init__(self, o: Operators, seed: int = 0) -> None:
        source = Random(f"motion/{o.N}/{seed}")
        self.a, self.b = (np.array(rationals(source, o.N * 6), dtype=object) for _ in range(2))
        self.T, self.rates = (np.array(rationals(source, o.N), dtype=object) for _ in range(2))
        tip, force = rationals(source, 6), rationals(source, 6)
        self.load = np.array(
            [*np.array(force) + np.array(tip), *[Fraction(0)] * (6 * o.N - 6)], dtype=object
        )  # B f(0)
        self.bias = o.H @ o.phi @ (o.M @ o.phi.T @ self.a + self.b + self.load)  # (3.23)
        self.rest = self.T - self.bias
        self.accelerations = o.whitening.T @ o.D_inverse @ o.whitening @ self.rest
        assert (o.mass @ self.accelerations == self.rest).all()  # (3.22)
        self.alpha = o.phi.T @ o.H.T @ self.accelerations + o.phi.T @ self.a  # (3.15)


MOVED = [(2, 0), (3, 1), (5, 0)]


def misses(printed: Array, right: Array) -> bool:
    scale = max(abs(x) for x in np.ravel(right))
    return max(abs(x) for x in np.ravel(printed - right)) > Fraction(1, 1000) * scale


@pytest.mark.parametrize("made", MOVED)
def test_the_four_algorithms_solve_the_equations_of_motion(made: Any) -> None:
    o = chain(made)
    m = Motion(o)
    assert (
        o.psi.T @ o.H.T @ o.D_inverse @ o.whitening @ m.rest + o.phi.T @ m.a == m.alpha
    ).all()  # FD2 (5.6)
    zeta = o.phi.T @ m.a  # FD3 (5.8)
    epsilon = m.T - o.H @ o.psi @ (o.S @ o.L @ m.T + o.M @ zeta + m.b + m.load)  # (5.9)
    assert (o.whitening.T @ o.D_inverse @ epsilon == m.accelerations).all()  # (5.10)
    # the proof of FD3 prints (1 − HΨL)⁻¹ D⁻¹
    assert misses(o.causal @ o.D_inverse @ epsilon, m.accelerations)
    for transition, right in (
        (o.psi, True),
        (o.phi, False),
    ):  # the proof of FD4 prints φ̃ in the last line for ψ̃
        nu = o.D_inverse @ (
            o.whitening @ m.T
            - o.H @ tilde(o, transition) @ o.P @ m.a
            - o.H @ o.psi @ (m.b + m.load)
        )  # (5.14)
        solutions = (
            o.whitening.T @ nu - o.L.T @ o.Psi.T @ (o.one() - o.G @ o.H).T @ m.a - o.G.T @ m.a
        )  # (5.15)
        assert (solutions == m.accelerations).all() == right
        assert misses(solutions, m.accelerations) != right


@pytest.mark.parametrize("made", MOVED)
def test_the_filter_takes_the_bias_free_moments(made: Any) -> None:
    """(4.19)-(4.22) link by link; (4.20) prints ε(k) = T(k) − … for T'(k) − …."""
    o = chain(made)
    m = Motion(o)

    def by_sweeps(shown: Array) -> Array:
        z, before, nu = np.zeros(6, dtype=int).astype(object), Fraction(0), []
        for k in range(o.N):
            if k:
                z = o.transitions[k - 1] @ z + o.riccati[k - 1][3][:, 0] * before  # (4.20)
            before = m.rest[k]
            nu.append((shown[k] - (o.axes[k] @ z)[0]) / o.riccati[k][1])
        smooth, joint_moments = np.zeros(6, dtype=int).astype(object), []
        for k in reversed(range(o.N)):
            joint_moments.append(nu[k] - o.riccati[k][3][:, 0] @ smooth)  # (4.22)
            smooth = o.transitions[k].T @ smooth + o.axes[k][0] * nu[k]
        return np.array(joint_moments[::-1], dtype=object)

    assert (by_sweeps(m.rest) == m.accelerations).all()
    assert misses(by_sweeps(m.T), m.accelerations)


# -- what the printed text says otherwise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("made", MOVED)
def test_the_abstracts_inverse_misses(made: Any) -> None:
    """Part I prints M⁻¹ = (1 − HΦL)ᵀ D⁻¹ (1 − HΦL); it is Ψ that stands there (4.16)."""
    o = chain(made)
    printed = 2 * o.one(o.N) - o.causal
    if o.N > 2:  # for two links Φ and Ψ are the same
        assert misses(o.mass @ printed.T @ o.D_inverse @ printed, o.one(o.N))
    assert (o.mass @ o.whitening.T @ o.D_inverse @ o.whitening == o.one(o.N)).all()


@pytest.mark.parametrize("made", MOVED)
def test_the_loop_must_reach_the_base(made: Any) -> None:
    """(4.4)-(4.6) print k = 2 … N − 1: a base link left at M(N) gives another D(N), another M and another determinant."""
    o = chain(made)
    D = o.D.copy()
    D[-1, -1] = (o.axes[-1] @ o.inertias[-1] @ o.axes[-1].T)[0, 0]
    assert misses(o.causal @ D @ o.causal.T, o.mass)


@pytest.mark.parametrize("made", MOVED)
def test_a_base_acceleration_is_shifted_as_a_twist(made: Any) -> None:
    """(3.8) with (3.21): the last block of E is φᵀ(N+1,N), not φ: a uniform field moves every link alike, without a turn."""
    o = chain(made)
    g = np.array([0, 0, 0, *rationals(Random(7), 3)], dtype=object)
    uniform = np.concatenate([g] * o.N)
    for block, right in ((o.steps[-1].T, True), (o.steps[-1], False)):
        a = np.concatenate([0 * g] * (o.N - 1) + [block @ g])
        assert (o.phi.T @ a == uniform).all() == right
        assert misses(o.H @ o.phi @ o.M @ o.phi.T @ a, o.H @ o.phi @ o.M @ uniform) != right


@pytest.mark.parametrize("made", MOVED)
def test_the_velocities_of_fd4_are_those_of_every_link(made: Any) -> None:
    """(5.13) prints V = Bᵀ φᵀ Hᵀ θ̇, which is the tip's velocity alone; V = φᵀ Hᵀ θ̇ obeys (2.25)."""
    o = chain(made)
    rates = Motion(o).rates
    V = o.phi.T @ o.H.T @ rates
    outer = np.zeros(6, dtype=int).astype(object)
    for k in reversed(range(o.N)):
        outer = o.steps[k].T @ outer + o.axes[k][0] * rates[k]  # (2.25)
        assert (V[6 * k : 6 * k + 6] == outer).all()
    tip = rational_chain(1, 9).steps[0].T @ V[:6]  # Bᵀ φᵀ Hᵀ θ̇
    assert tip.shape != V.shape
    assert misses(np.concatenate([tip] * o.N), V)


def test_a_point_that_slides_is_accelerated_twice_by_coriolis() -> None:
    """(2.32) prints ω × [ω × ℓ + h θ̇]; differentiating O(k) = ℓ₀ + h θ on a body that turns gives 2 h θ̇."""
    t, w, theta = sp.symbols("t w theta")
    h, l0 = sp.Matrix([sp.Rational(3, 5), 0, sp.Rational(4, 5)]), sp.Matrix([1, 2, 3])
    turn = sp.Matrix(
        [[sp.cos(w * t), -sp.sin(w * t), 0], [sp.sin(w * t), sp.cos(w * t), 0], [0, 0, 1]]
    )
    true = (turn * (l0 + h * theta * t)).diff(t, 2).subs(t, 0)
    omega = sp.Matrix([0, 0, w])
    corrected, printed = (omega.cross(omega.cross(l0) + times * h * theta) for times in (2, 1))
    assert sp.simplify(true - corrected) == sp.zeros(3, 1)
    assert (true - printed).subs({w: 1, theta: 1}).norm() > sp.Rational(1, 1000)


@pytest.mark.parametrize("seed", range(3))
def test_the_proof_of_lemma_a1_sums_psi_m_phi_transposed(seed: int) -> None:
    """r(k) = Σ φ(k,j) M(j) ψᵀ(k,j) as printed misses the diagonal of ψ 𝓜 φᵀ; Σ ψ(k,j) M(j) φᵀ(k,j) is that diagonal.

    ψ and φ are any two transitions here. With the ψ of the filter r is symmetric and the two sums agree.
    """
    random, links, size = Random(seed), 4, 2

    def square() -> Array:
        return np.array([rationals(random, size) for _ in range(size)], dtype=object)

    def transition() -> list[list[Array]]:
        """The blocks x(k,j) for k ≥ j of a transition, by the semi-group property."""
        steps = [square() for _ in range(links - 1)]
        identity = np.array(
            [[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object
        )
        blocks: list[list[Array]] = []
        for k in range(links):
            blocks.append([steps[k - 1] @ blocks[k - 1][j] for j in range(k)] + [identity])
        return blocks

    psi, phi, inertias = transition(), transition(), [square() for _ in range(links)]
    inertias = [m + m.T for m in inertias]
    recursion = [inertias[0]]
    for k in range(1, links):
        recursion.append(psi[k][k - 1] @ recursion[k - 1] @ phi[k][k - 1].T + inertias[k])  # (a.44)
    holds, printed = (
        [sum(left[k][j] @ inertias[j] @ right[k][j].T for j in range(k + 1)) for k in range(links)]
        for left, right in ((psi, phi), (phi, psi))
    )
    assert all((a == b).all() for a, b in zip(holds, recursion, strict=True))
    assert misses(printed[-1], recursion[-1])


@pytest.mark.parametrize("made", MOVED)
def test_the_proof_of_identity_a7_has_phi_tilde(made: Any) -> None:
    """P + ψ̃ P + P φᵀ "from (a.45)" is P more than ψ 𝓜 φᵀ; the last term is P φ̃ᵀ, by (a.46)."""
    o = chain(made)
    whole = o.psi @ o.M @ o.phi.T
    assert misses(o.P + tilde(o, o.psi) @ o.P + o.P @ o.phi.T, whole)
    assert (o.P + tilde(o, o.psi) @ o.P + o.P @ tilde(o, o.phi).T == whole).all()


def test_the_rates_of_euler_parameters_are_four_and_no_inverse_of_themselves() -> None:
    """(b.3): q̇ = Λ ω with Λ 4×3 and ω = π q̇ with π 3×4, so that π Λ = 1, Λ π ≠ 1, and "π⁻¹ = π" cannot be meant."""
    x, y, z, w = q = sp.Matrix([1, 2, 4, 2]) / 5
    u = sp.Matrix([x, y, z])
    rates = sp.Matrix.vstack(w * sp.eye(3) + u.hat(), -u.T) / 2
    back = 4 * rates.T
    assert (rates.shape, back.shape) == ((4, 3), (3, 4))
    assert back * rates == sp.eye(3)
    assert rates * back == sp.eye(4) - q * q.T
