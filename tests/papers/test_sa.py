"""Saha's equations: proved over symbols in the plane and in space, by exact rationals on chains,
trees and robots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from symgen import methods
from symgen.description.loading import load
from symgen.papers import rk
from symgen.papers.blocks import Matrix, zeros
from symgen.papers.chain import Chain, random_state
from symgen.papers.chain import chain as chain_of
from symgen.papers.identities import ball_state
from symgen.papers.sa import EQUATIONS, LETTERS, Operators
from symgen.reference.mechanics import Reference
from symgen.reference.precision import arb
from symgen.support.errors import RequestError
from tests.shared.operators import rational_chain, spatial_chain, symbolic_chain
from tests.shared.robots_for_tests import ONE_DEGREE, largest, random_mechanism

PLANAR = {"two links in the plane": 2, "three links in the plane": 3}
"""Chains in which every number is a symbol."""
SPATIAL = ["rr", "rp", "pr", "rrp", "rpr", "prr"]
"""Joints that turn and slide, tip first; joint coordinates and masses are symbols."""
RATIONAL = [(n, seed) for n in (1, 2, 3, 5, 8) for seed in range(2 if n < 8 else 1)]
BALLS = arb(60)


@cache
def operators(chain_key: Any) -> Operators:
    if chain_key in PLANAR:
        return Operators(symbolic_chain(PLANAR[chain_key]))
    return Operators(
        spatial_chain(chain_key) if chain_key in SPATIAL else rational_chain(*chain_key)
    )


def failing(o: Operators) -> list[str]:
    return [equation.number for equation in EQUATIONS if not equation.holds(o)]


def misses(printed: Matrix, right: Matrix) -> bool:
    scale = max(abs(x) for x in right.entries.flat)
    return bool(max(abs(x) for x in (printed - right).entries.flat) > fmpq(1, 1000) * scale)


# -- the equations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chain_key",
    [
        pytest.param(c, id=c, marks=[pytest.mark.slow] if len(c) == 3 else [])
        for c in (*PLANAR, *SPATIAL)
    ],
)
def test_every_equation_holds_for_all_values_of_the_symbols(chain_key: str) -> None:
    assert failing(operators(chain_key)) == []


@pytest.mark.parametrize("chain_key", RATIONAL)
def test_every_equation_holds_on_random_chains(chain_key: tuple[int, int]) -> None:
    assert failing(operators(chain_key)) == []


@pytest.mark.parametrize(
    "robot",
    [
        "planar_arm",
        "planar_point_mass",
        "scara",
        "puma560",
        "ur5",
        "bennett",
        "four_bar",
        "slider_crank",
        pytest.param("panda", marks=pytest.mark.slow),
        pytest.param("two_pandas_bar", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:link link1 has moments of inertia but no mass")
def test_every_equation_holds_on_robots(robot: str) -> None:
    mechanism = load(robot)
    for seed in range(2):
        assert failing(Operators(chain_of(mechanism, random_state(mechanism, seed)))) == []


@pytest.mark.parametrize("seed", range(3))
def test_every_equation_holds_on_trees_with_joints_of_every_type(seed: int) -> None:
    o = Operators(chain_of(random_mechanism(6, seed, "tree", ONE_DEGREE)))
    assert [link.parent for link in o.links] != list(range(-1, 5))
    assert failing(o) == []


def test_the_equations_are_those_of_the_paper_in_its_order() -> None:
    printed = [equation.number for equation in EQUATIONS if equation.number.startswith("(")]
    numbers = [2, 3, 4, 6, 8, 10, *range(12, 22), "22a", "22b", 23, 24, *range(30, 40)]
    assert printed == [f"({number})" for number in numbers]


def test_letters_of_the_equations_can_be_shown() -> None:
    names = {letter.name for letter in LETTERS} | set(methods.find("udut").quantities)
    assert {letter for equation in EQUATIONS for letter in equation.letters} <= names


# -- planted errors --------------------------------------------------------------------------------

CAUGHT = {
    "T_l": "(4)",
    "T_d": "bridge to RK (3.5)",
    "T": "(8)",
    "M": "(12)",
    "M_tilde": "(14)",
    "gim": "(10)",
    "U": "(31)",
    "D": "(32)",
    "N": "(22a)",
    "elimination": "(19)",
    "psis": "(33)",
    "psi_hats": "bridge to RK (4.4)",
    "t": "(2)",
    "tau_hat": "(36)",
    "tau_tilde": "(24)",
    "theta_ddot": "(23)",
    "eta_tilde": "(37)",
    "mu_tilde": "(39)",
}
"""An equation that fails if one entry of a whole matrix is changed."""


@pytest.mark.parametrize("letter", CAUGHT)
def test_a_changed_entry_of_a_matrix_is_seen(letter: str) -> None:
    o = Operators(rational_chain(3, 1))
    entries = getattr(o, letter).entries.copy()
    row, column = (int(x) for x in np.argwhere(entries != 0)[-1])
    entries[row, column] += fmpq(1, 1000)
    setattr(o, letter, Matrix.of(entries))
    assert CAUGHT[letter] in failing(o)


CAUGHT_IN_BLOCKS = {
    "B": ((2, 1), "(6)"),
    "p": ((2,), "(8)"),
    "d": ((1,), "(2)"),
    "r": ((1,), "(2)"),
    "e": ((1,), "(2)"),
    "slide": ((1,), "(8)"),
    "extended_mass": ((1,), "(12)"),
    "composite": ((1,), "(15)"),
    "M_hat": ((1, 2), "(34)"),
    "articulated": ((1,), "bridge to RK (4.5)"),
    "psi": ((0, 2), "(33)"),
    "m_hat": ((1,), "(32)"),
    "psi_hat": ((0, 1), "(33)"),
    "alpha": ((0, 2), "(31)"),
    "eliminated": ((1, 0, 2), "(30)"),
    "E": ((1,), "(17)"),
    "L": ((2,), "(30)"),
    "element": ((2, 1), "(16)"),
}
"""Indices of a block, and an equation that fails if its first entry is changed."""


@pytest.mark.parametrize("letter", CAUGHT_IN_BLOCKS)
def test_a_changed_block_is_seen(letter: str) -> None:
    o = Operators(rational_chain(3, 1))
    changed_indices, number = CAUGHT_IN_BLOCKS[letter]
    right: Callable[..., Any] = getattr(o, letter)

    def changed(*indices: int) -> Any:
        block = right(*indices)
        if indices != changed_indices:
            return block
        if isinstance(block, fmpq):
            return block + fmpq(1, 1000)
        entries = (block.entries if isinstance(block, Matrix) else block).copy()
        entries.flat[0] += fmpq(1, 1000)
        return Matrix.of(entries) if isinstance(block, Matrix) else entries

    setattr(o, letter, changed)
    assert number in failing(o)


# -- errors of the printed text --------------------------------------------------------------------


@pytest.mark.parametrize("chain_key", [(2, 0), (3, 0), (5, 1), (8, 0)])
def test_the_printed_ranges_of_16_miss(chain_key: tuple[int, int]) -> None:
    """(16) prints i = 1 … j, where p_iᵀ M̃_i B_ij p_j is not the element."""
    o = operators(chain_key)
    entries = zeros(o.n, o.n)
    for j in range(o.n):
        for i in range(j + 1):
            entries[i, j] = o.p(i) @ o.composite(i) @ o.B(i, j) @ o.p(j)
            entries[j, i] = entries[i, j]
    assert misses(Matrix.of(entries), o.gim)


@pytest.mark.parametrize("chain_key", [(2, 0), (3, 1), (5, 0)])
def test_the_forces_of_23_are_those_of_inverse_dynamics_without_accelerations(
    chain_key: tuple[int, int],
) -> None:
    """The words above (24) print θ̇ = 0 where θ̈ = 0 holds: then centrifugal and Coriolis forces
    are missing.
    """
    o = Operators(rational_chain(*chain_key))
    motion = o.rk.motion
    at_rest = rk.Motion(o.rk, [zeros(1)] * o.n, motion.joint_forces, motion.load)
    accelerations = []
    for forces in (motion.T_prime, at_rest.T_prime):
        solved = Operators(o.chain)
        solved.tau = o.reversal @ forces
        accelerations.append(solved.theta_ddot)
    right = o.reversal @ motion.theta_ddot
    assert accelerations[0] == right
    assert misses(accelerations[1], right)


# -- properties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chain_key", [*PLANAR, "rr", (5, 0)])
def test_an_articulated_body_yields_to_its_own_joint(chain_key: Any) -> None:
    """M̂_kk p_k = 0."""
    o = operators(chain_key)
    for k in range(o.n):
        assert all(x == 0 for x in o.M_hat(k, k) @ o.p(k))


@pytest.mark.parametrize("chain_key", [*PLANAR, (8, 0)])
def test_the_elimination_leaves_a_lower_triangle(chain_key: Any) -> None:
    o = operators(chain_key)
    eliminated = (o.elimination @ o.gim).entries
    assert all(eliminated[i, k] == 0 for k in range(o.n) for i in range(k))


def test_the_numbers_are_those_of_the_reference() -> None:
    """The inertia matrix is M, Π m̂_k its determinant, and composite ≥ articulated ≥ the link
    alone.
    """
    mechanism = random_mechanism(6, seed=4, joints=("revolute", "prismatic"))
    with BALLS.working():
        q = BALLS.array(np.linspace(-1, 1, 6))
        o = Operators(chain_of(mechanism, ball_state(mechanism, list(q))))
        M = Reference(mechanism, BALLS).evaluate("mass_matrix", {"q": q})["M"].reshape(6, 6)
        assert largest(o.gim.entries - M) < 1e-45
        assert largest((o.U @ o.D @ o.U.T).entries - M) < 1e-45
        D = np.diag(o.D.entries).astype(float)
        assert np.isclose(np.prod(D), np.linalg.det(M.astype(float)), rtol=1e-10)
        for i in range(6):
            composite, articulated, link = (
                body.astype(float)
                for body in (o.composite(i), o.articulated(i), o.extended_mass(i))
            )
            assert np.linalg.eigvalsh(composite - articulated).min() > -1e-10
            assert np.linalg.eigvalsh(articulated - link).min() > -1e-10


def test_letters_are_blocks_of_the_matrices_in_link_axes() -> None:
    o = Operators(chain_of(random_mechanism(4, 2, "tree", ONE_DEGREE)))
    letters = {letter.name: letter.block for letter in LETTERS}
    for i in range(o.n):
        for j in range(o.n):
            block = letters["gim"](o, i, j)
            assert (0 if block is None else block[0, 0]) == o.gim.entries[i, j]
        assert (o.links[i].axes @ letters["N"](o, i) @ o.links[i].axes.T).shape == (1, 1)
        link = o.links[i]
        assert (letters["extended_mass"](o, i)[:3, :3] == link.central).all()
        assert letters["M_hat"](o, i, i - 1) is None
        for k in range(i + 1, o.n):
            # The trace of the linear part does not depend on the axes.
            block = letters["M_hat"](o, i, k)
            assert np.trace(block[3:, 3:]) == np.trace(o.M_hat(i, k)[3:, 3:])
        assert Matrix.of(letters["L"](o, i)) == o.L(i)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ["free_body", "spherical_pendulum", "quadruped"])
def test_joints_of_several_degrees_of_freedom_are_refused(robot: str) -> None:
    with pytest.raises(RequestError, match="needs joints of one degree of freedom, and the joint"):
        Operators(chain_of(load(robot)))


def test_a_joint_that_moves_no_inertia_is_refused_by_name() -> None:
    two_links = rational_chain(2, 0)
    tip = replace(
        two_links.links[1],
        mass=fmpq(0),
        centre=zeros(3),
        central=zeros(3, 3),
        inertia=zeros(6, 6),
    )
    o = Operators(Chain("massless", (two_links.links[0], tip), zeros(3), False))
    with pytest.raises(
        RequestError, match=r"m̂, which is zero for the joint of link 'link1' of 'massless'"
    ):
        _ = o.D
