"""RK's equations: proved symbolically for N = 2 and 3, by exact rationals on random chains and on
robots.

In the plane every number is a symbol. In space every joint coordinate and mass is a symbol; for two
links every number except the axes between them. If the printed text has an error, the printed form
must fail by more than 1e-3.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import fmpq

from symgen.description.loading import load
from symgen.papers.blocks import Matrix, assembled, zeros
from symgen.papers.chain import chain as chain_of
from symgen.papers.chain import random_state
from symgen.papers.equation import Equation
from symgen.papers.rk import EQUATIONS, LETTERS, Motion, Operators, Riccati
from symgen.reference.precision import Array
from tests.paper_tables import MOTION as OF_MOTION
from tests.shared.operators import fractions, rational_chain, spatial_chain, symbolic_chain
from tests.shared.robots_for_tests import rationals

RATIONAL = [(1, 0), (2, 0), (3, 0), (3, 1), (5, 0), (8, 0)]
SYMBOLIC = ["two links, symbolically", "three links, symbolically"]
SPATIAL = ["rr", "rp", "pr", "rrr", "rrp", "rpr", "prr"]
"""Joints that turn and slide, tip first."""
BY_NUMBER = {equation.number: equation for equation in EQUATIONS}


@cache
def operators(chain_key: Any) -> Operators:
    if chain_key in SPATIAL:
        return Operators(spatial_chain(chain_key, all_symbols=len(chain_key) == 2))
    if chain_key in SYMBOLIC:
        return Operators(symbolic_chain(2 + SYMBOLIC.index(chain_key)))
    return Operators(rational_chain(*chain_key))


def failing(o: Operators, equations: Iterable[Equation[Operators]] = EQUATIONS) -> list[str]:
    return [equation.number for equation in equations if not equation.holds(o)]


@pytest.mark.parametrize(
    "chain_key",
    [
        pytest.param(c, id=c, marks=[pytest.mark.slow] if len(c) == 3 else [])
        for c in (*SYMBOLIC, *SPATIAL)
    ],
)
def test_every_equation_of_operators_holds_for_all_values_of_the_symbols(chain_key: str) -> None:
    of_operators = [equation for equation in EQUATIONS if equation.number not in OF_MOTION]
    assert failing(operators(chain_key), of_operators) == []


@pytest.mark.parametrize("chain_key", ["rr", "rp", "pr"])
def test_the_four_algorithms_solve_the_equations_of_motion_for_all_values_of_the_symbols(
    chain_key: str,
) -> None:
    o = Operators(spatial_chain(chain_key))
    assert failing(o, [BY_NUMBER[number] for number in sorted(OF_MOTION)]) == []


@pytest.mark.parametrize(
    "chain_key", [pytest.param(c, marks=[pytest.mark.slow] if c[0] == 8 else []) for c in RATIONAL]
)
def test_every_equation_holds_on_random_chains(chain_key: tuple[int, int]) -> None:
    assert failing(operators(chain_key)) == []


@pytest.mark.parametrize(
    "robot", ["planar_arm", "scara", "ur5", "free_body", "spherical_pendulum", "stewart", "bennett"]
)
def test_every_equation_holds_on_robots_trees_and_joints_of_several_coordinates(robot: str) -> None:
    mechanism = load(robot)
    for seed in range(2):
        assert failing(Operators(chain_of(mechanism, random_state(mechanism, seed)))) == []


def test_the_equations_are_all_of_the_appendix() -> None:
    lettered = [6, 7, 8, 9, 10, 11, 12, 13, *range(14, 19), *range(22, 29), *range(32, 44)]
    printed = [*lettered, 45, 46, 47, 48, 50, 51]
    assert {f"(a.{k})" for k in printed} <= set(BY_NUMBER)


CAUGHT = {
    "phi": "(3.3)",
    "Phi": "(a.6)",
    "psi": "(5.3)",
    "Psi": "(5.3)",
    "S": "(5.3)",
    "H": "(5.12)",
    "M": "(a.47)",
    "P": "(a.46)",
    "D": "(4.11)",
    "D_inverse": "(4.16)",
    "G": "(5.12)",
    "L": "(4.7)",
    "Delta_phi": "(a.12)",
    "Delta_psi": "(4.7)",
    "mass_matrix": "(3.20)",
    "innovations": "(4.11)",
    "whitening": "(4.14)",
    "Omega": "Ω(k)",
}
"""An equation that fails if one entry of an operator is changed."""


@pytest.mark.parametrize("letter", CAUGHT)
def test_a_changed_entry_of_an_operator_is_seen(letter: str) -> None:
    o = Operators(rational_chain(3, 1))
    entries = getattr(o, letter).entries.copy()
    row, column = (int(x) for x in np.argwhere(entries != 0)[-1])
    entries[row, column] += fmpq(1, 1000)
    setattr(o, letter, Matrix.of(entries))
    assert CAUGHT[letter] in failing(o)


def test_a_gain_that_is_wrong_everywhere_is_seen() -> None:
    """ψ = φ − L H holds for any L, if ψ is made of it; the second part of (4.7) determines L."""

    class Doubled(Operators):
        def articulated(self, i: int) -> Riccati:
            solution = super().articulated(i)
            return solution._replace(L=solution.L * 2)

    o = Doubled(rational_chain(3, 1))
    assert o.Delta_psi == o.Delta_phi - o.L @ o.H
    assert "(4.7)" in failing(o)


def test_the_inverse_of_omega_is_that_of_the_mass_operator() -> None:
    """A changed mass operator is seen by Ω, which does not take its inverse from (4.16)."""
    o = Operators(rational_chain(3, 1))
    o.mass_matrix = Matrix.of(o.mass_matrix.entries * 2)
    assert "Ω" in failing(o)


CAUGHT_OF_MOTION = {
    "a": "(3.15)",
    "b": "(3.17)",
    "Bf": "(3.17)",
    "V": "(3.12)",
    "theta_ddot": "(3.22)",
    "T_prime": "(3.18)",
    "zeta": "(5.10)",
    "nu": "(5.15)",
    "FD2": "(5.6)",
    "FD3": "(5.10)",
    "FD4": "(5.15)",
}


@pytest.mark.parametrize("letter", CAUGHT_OF_MOTION)
def test_a_changed_entry_of_a_motion_is_seen(letter: str) -> None:
    o = Operators(rational_chain(3, 1))
    entries = getattr(o.motion, letter).entries.copy()
    entries[0, 0] += fmpq(1, 1000)
    setattr(o.motion, letter, Matrix.of(entries))
    assert CAUGHT_OF_MOTION[letter] in failing(o)


# -- errors of the printed text --------------------------------------------------------------------

MOVED = [(2, 0), (3, 1), (5, 0)]
EVERY = pytest.mark.parametrize("chain_key", MOVED)


def misses(printed: Matrix, right: Matrix) -> bool:
    scale = max(abs(x) for x in right.entries.flat)
    return max(abs(x) for x in (printed - right).entries.flat) > fmpq(1, 1000) * scale


def column(blocks: list[Array]) -> Matrix:
    return Matrix.of(np.concatenate(blocks))


@EVERY
def test_the_abstracts_inverse_misses(chain_key: Any) -> None:
    """Part I prints M⁻¹ = (1 − HΦL)ᵀ D⁻¹ (1 − HΦL); it is Ψ that stands there (4.16)."""
    o = operators(chain_key)
    unit = o.one_of_joints()
    printed = unit + unit - o.innovations
    missed = misses(o.mass_matrix @ printed.T @ o.D_inverse @ printed, unit)
    assert missed == (len(o.links) > 2)  # for two links Φ and Ψ are the same


@EVERY
def test_the_loop_must_reach_the_base(chain_key: Any) -> None:
    """(4.4)-(4.6) print k = 2 … N − 1: a base link left at M(N) gives another D(N), another M and
    another determinant.
    """
    o = operators(chain_key)
    D = o.D.entries.copy()
    base = o.links[0]
    D[-1, -1] = (base.axes @ base.inertia @ base.axes.T)[0, 0]
    assert misses(o.innovations @ Matrix.of(D) @ o.innovations.T, o.mass_matrix)


@EVERY
def test_a_base_acceleration_is_shifted_as_a_twist(chain_key: Any) -> None:
    """(3.8) with (3.21): the last block of E is φᵀ(N+1,N), not φ: a uniform field moves every link
    alike, without a turn.
    """
    o = operators(chain_key)
    field = fractions(Random(7), 3)
    uniform: list[Array] = []
    for link in o.links:
        field = link.rotation.T @ field
        uniform.append(np.concatenate([zeros(3), field]))
    everywhere = column(uniform[::-1])
    g = np.concatenate([zeros(3), fractions(Random(7), 3)])
    for block, right in ((o.steps[0].T, True), (o.steps[0], False)):
        a = column([zeros(6)] * (len(o.links) - 1) + [block @ g])
        assert (o.phi.T @ a == everywhere) == right
        half = o.H @ o.phi @ o.M
        assert misses(half @ o.phi.T @ a, half @ everywhere) != right


@EVERY
def test_the_filter_takes_the_bias_free_moments(chain_key: Any) -> None:
    """(4.20) prints ε(k) = T(k) − … for T'(k) − …."""
    o = operators(chain_key)
    m = o.motion
    assert m.smoothed[0] == m.theta_ddot
    printed = m.T - o.H @ m.filtered[1]
    assert misses(printed, m.epsilon)


@EVERY
def test_the_proof_of_fd3_prints_another_inverse(chain_key: Any) -> None:
    o = operators(chain_key)
    m = o.motion
    epsilon = m.T - o.H @ o.psi @ (o.S @ o.L @ m.T + o.M @ m.zeta + m.b + m.Bf)
    assert misses(o.innovations @ o.D_inverse @ epsilon, m.theta_ddot)


@EVERY
def test_the_proof_of_fd4_prints_phi_tilde(chain_key: Any) -> None:
    o = operators(chain_key)
    m = o.motion
    nu = o.D_inverse @ (
        o.whitening @ m.T - o.H @ o.phi_tilde @ o.P @ m.a - o.H @ o.psi @ (m.b + m.Bf)
    )
    gain = (o.one() - o.G @ o.H).T
    assert misses(o.whitening.T @ nu - o.L.T @ o.Psi.T @ gain @ m.a - o.G.T @ m.a, m.theta_ddot)


@EVERY
def test_the_velocities_of_fd4_are_those_of_every_link(chain_key: Any) -> None:
    """(5.13) prints V = Bᵀ φᵀ Hᵀ θ̇, the tip's velocity alone; V = φᵀ Hᵀ θ̇ obeys (2.25)."""
    o = operators(chain_key)
    V = o.motion.V
    tip = rational_chain(1, 9)
    B = Operators(tip).steps[0]
    printed = B.T @ V.entries[:6, 0]
    assert printed.shape[0] != V.shape[0]
    assert misses(column([printed] * len(o.links)), V)


def test_a_point_that_slides_is_accelerated_twice_by_coriolis() -> None:
    """(2.32) prints ω × [ω × ℓ + h θ̇]; differentiating O(k) = ℓ₀ + h θ on a body that turns gives
    2 h θ̇.
    """
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
    """r(k) = Σ φ(k,j) M(j) ψᵀ(k,j) as printed misses the diagonal of ψ 𝓜 φᵀ; Σ ψ(k,j) M(j) φᵀ(k,j)
    is that diagonal.

    ψ and φ are any two transitions here. With the ψ of the filter r is symmetric and the two sums
    agree.
    """
    random, links, size = Random(seed), 4, 2

    def square() -> Array:
        return np.array([rationals(random, size) for _ in range(size)], dtype=object)

    def transition() -> list[list[Array]]:
        """The blocks x(k,j) for k ≥ j of a transition, by the semi-group property."""
        steps = [square() for _ in range(links - 1)]
        unit = np.array(
            [[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object
        )
        blocks: list[list[Array]] = []
        for k in range(links):
            blocks.append([steps[k - 1] @ blocks[k - 1][j] for j in range(k)] + [unit])
        return blocks

    psi, phi, inertias = transition(), transition(), [square() for _ in range(links)]
    inertias = [m + m.T for m in inertias]
    recursion = [inertias[0]]
    for k in range(1, links):
        recursion.append(psi[k][k - 1] @ recursion[k - 1] @ phi[k][k - 1].T + inertias[k])  # (a.44)
    corrected, printed = (
        [sum(left[k][j] @ inertias[j] @ right[k][j].T for j in range(k + 1)) for k in range(links)]
        for left, right in ((psi, phi), (phi, psi))
    )
    assert all((a == b).all() for a, b in zip(corrected, recursion, strict=True))
    gap = max(abs(x) for x in (printed[-1] - recursion[-1]).flat)
    assert gap > max(abs(x) for x in recursion[-1].flat) / 1000


@EVERY
def test_the_proof_of_identity_a7_has_phi_tilde(chain_key: Any) -> None:
    """P + ψ̃ P + P φᵀ "from (a.45)" is P more than ψ 𝓜 φᵀ; the last term is P φ̃ᵀ, by (a.46)."""
    o = operators(chain_key)
    assert misses(o.P + o.psi_tilde @ o.P + o.P @ o.phi.T, o.psi @ o.M @ o.phi.T)


def test_the_rates_of_euler_parameters_are_four_and_no_inverse_of_themselves() -> None:
    """(b.3): q̇ = Λ ω with Λ 4×3 and ω = π q̇ with π 3×4, so that π Λ = 1, Λ π ≠ 1, and "π⁻¹ = π"
    cannot be meant.
    """
    x, y, z, w = q = sp.Matrix([1, 2, 4, 2]) / 5
    u = sp.Matrix([x, y, z])
    rates = sp.Matrix.vstack(w * sp.eye(3) + u.hat(), -u.T) / 2
    velocities = 4 * rates.T
    assert (rates.shape, velocities.shape) == ((4, 3), (3, 4))
    assert velocities * rates == sp.eye(3)
    assert rates * velocities == sp.eye(4) - q * q.T


def test_appendix_b_has_six_by_six_blocks_of_d_for_a_free_base() -> None:
    mechanism = load("quadruped")
    o = Operators(chain_of(mechanism))
    P, D, G, _ = o.riccati[0]
    assert D.shape == (6, 6)
    assert failing(o, [BY_NUMBER[n] for n in ("(4.6)", "(4.11)", "(4.16)", "(5.12)")]) == []
    # D of the base is its articulated inertia in the order of its velocities, linear first.
    swap = [3, 4, 5, 0, 1, 2]
    assert (P[np.ix_(swap, swap)] == D).all()
    assert (G @ D @ G.T == P).all()


def test_a_motion_takes_rates_and_forces_of_the_user() -> None:
    """With rates zero and no load, b is zero and T̂ is the moment of gravity: of the planar arm at
    rest, g of inspect.
    """
    mechanism = load("planar_arm")
    o = Operators(chain_of(mechanism))
    at_rest = Motion(o, [zeros(1)] * 2, [zeros(1)] * 2, {})
    assert all(x == 0 for x in at_rest.b.entries.flat)
    assert at_rest.bias == o.H @ o.phi @ o.M @ o.phi.T @ at_rest.a
    assert any(x != 0 for x in at_rest.bias.entries.flat)


WHOLE = {
    "H": "H",
    "inertia": "M",
    "phi": "phi",
    "phi_tilde": "phi_tilde",
    "mass_matrix": "mass_matrix",
    "P": "P",
    "D": "D",
    "G": "G",
    "psi": "psi",
    "psi_tilde": "psi_tilde",
    "Phi": "Phi",
    "Psi": "Psi",
    "S": "S",
    "innovations": "innovations",
    "whitening": "whitening",
    "Omega": "Omega",
    "V": "V",
    "a_bias": "a",
    "b_bias": "b",
    "epsilon": "epsilon_of_T",
    "nu": "nu",
    "theta_ddot": "FD4",
}
"""Letter -> the whole operator, or the column of the motion."""


@pytest.mark.parametrize("robot", ["scara", "quadruped"])
def test_blocks_of_a_letter_are_those_of_the_whole_operator(robot: str) -> None:
    o = Operators(chain_of(load(robot)))
    spans = [len(link.axes) for link in o.links]
    computed_operators = {"epsilon_of_T": o.D @ o.motion.nu}
    for letter in LETTERS:
        if letter.name not in WHOLE:
            continue
        name = WHOLE[letter.name]
        expected = computed_operators.get(name) or getattr(o, name, None) or getattr(o.motion, name)
        blocks = {}
        for indices in product(range(len(o.links)), repeat=len(letter.indices)):
            block = letter.block(o, *indices)
            if block is not None:
                row = o.position[indices[0]]
                column = o.position[indices[-1]] if expected.shape[1] > 1 else 0
                blocks[row, column] = np.asarray(block).reshape(len(block), -1)
        heights, widths = (
            [6] * len(o.links) if size == 6 * len(o.links) else [spans[i] for i in o.order]
            for size in expected.shape
        )
        if expected.shape[1] == 1:
            widths = [1]
        assert assembled(blocks, heights, widths) == expected, letter.name


def test_letters_without_a_whole_operator_are_the_recursions() -> None:
    """L takes a wrench to the parent, R is composite, and z, λ are those of the filter and the
    smoother.
    """
    o = Operators(chain_of(load("scara")))
    by_name = {letter.name: letter for letter in LETTERS}
    without_operator = {"composite", "L", "z", "lambda"}
    assert without_operator | set(WHOLE) == set(by_name)
    for k in range(len(o.links)):
        assert (by_name["L"].block(o, k) == o.steps[k] @ o.articulated(k)[2]).all()
        z, smooth = by_name["z"].block(o, k), by_name["lambda"].block(o, k)
        assert (z == o.motion.filter(k)[0]).all()
        assert (smooth == o.motion.smoother(k)[0]).all()
        total = sum(
            o.phi_block(k, j) @ o.links[j].inertia @ o.phi_block(k, j).T
            for j in range(k, len(o.links))
        )
        assert (by_name["composite"].block(o, k) == total).all()
