"""The constraint-force factorization: proved over symbols in space, by exact rationals on chains,
trees and robots.

For two and three links joint coordinates and masses are symbols, tan(q/2) for a joint that turns.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from symgen import methods
from symgen.derivation.model.definite import find_indefinite_body
from symgen.description.loading import load
from symgen.papers.blocks import Matrix, identity, inverse, zeros
from symgen.papers.chain import chain as chain_of
from symgen.papers.chain import random_state
from symgen.papers.complement import orthonormal
from symgen.papers.equation import Equation
from symgen.papers.ff import EQUATIONS, LETTERS, Operators, solve
from symgen.support.errors import RequestError
from tests.shared.operators import fractions, rational_chain, spatial_chain
from tests.shared.robots_for_tests import ONE_DEGREE, random_mechanism

TWO, THREE = ["rr", "rp", "pr"], ["rrr", "rrp", "rpr", "prr"]
"""Joints that turn and slide, tip first."""
RATIONAL = [(1, 0), (2, 0), (3, 1), (5, 0), (8, 0)]
CHAINS = [pytest.param(chain_key, id=str(chain_key)) for chain_key in (*TWO, *THREE, *RATIONAL)]
ROBOTS = [
    "scara",
    "ur5",
    "bennett",
    "four_bar",
    "slider_crank",
    "free_body",
    "spherical_pendulum",
    "panda",
    pytest.param("quadruped", marks=pytest.mark.slow),
    pytest.param("two_pandas_bar", marks=pytest.mark.slow),
]
BY_NUMBER = {equation.number: equation for equation in EQUATIONS}
AFTER_INVERSE = list(BY_NUMBER).index("det M")
"""Equations from this one on eliminate H_bb."""
WITHOUT_INVERSE = EQUATIONS[:AFTER_INVERSE]


@cache
def operators(chain_key: Any) -> Operators:
    return Operators(
        spatial_chain(chain_key) if isinstance(chain_key, str) else rational_chain(*chain_key)
    )


def failing(o: Operators, equations: tuple[Equation[Operators], ...] = EQUATIONS) -> list[str]:
    return [equation.number for equation in equations if not equation.holds(o)]


# -- the equations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chain_key", ["rp", "pr", pytest.param("rr", marks=pytest.mark.slow)])
def test_every_equation_holds_for_all_values_of_the_symbols_of_two_links(chain_key: str) -> None:
    assert failing(operators(chain_key)) == []


@pytest.mark.parametrize("chain_key", ["rr", *THREE])
def test_constraint_forces_solve_the_chain_for_all_values_of_the_symbols(chain_key: str) -> None:
    """H_bb λ = −H_abᵀ M and H_aa M + H_ab λ = 1, so M⁻¹ is the Schur complement, without any
    inverse.
    """
    assert failing(operators(chain_key), WITHOUT_INVERSE) == []


@pytest.mark.slow
@pytest.mark.parametrize("chain_key", THREE)
def test_fixmans_theorem_holds_for_all_values_of_the_symbols_of_three_links(chain_key: str) -> None:
    """Π det D(k) = det 𝓘 det H_bb; det M is the same product by (4.11) of Rodriguez & Kreutz."""
    assert BY_NUMBER["bridge to RK (4.6)"].holds(operators(chain_key))


@pytest.mark.parametrize("chain_key", RATIONAL)
def test_every_equation_holds_on_random_chains(chain_key: tuple[int, int]) -> None:
    assert failing(operators(chain_key)) == []


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("robot", ROBOTS)
def test_every_equation_holds_on_robots(robot: str, seed: int) -> None:
    mechanism = load(robot)
    assert failing(Operators(chain_of(mechanism, random_state(mechanism, seed)))) == []


@pytest.mark.parametrize(
    "joints", [("revolute",), ONE_DEGREE, ("free", "cylindrical", "spherical", "planar")]
)
def test_every_equation_holds_on_trees(joints: tuple[str, ...]) -> None:
    o = Operators(chain_of(random_mechanism(5, 2, "tree", joints)))
    assert [link.parent for link in o.links] != list(range(-1, 4))
    assert failing(o) == []


def test_axes_of_helical_joints_have_a_complement_that_is_not_orthonormal() -> None:
    o = Operators(chain_of(random_mechanism(3, 1, joints=("helical",))))
    assert not any(orthonormal(W.T) for W in o.constraints)
    assert failing(o) == []


def test_letters_of_the_equations_can_be_shown() -> None:
    names = {letter.name for letter in LETTERS} | set(methods.find("constraint_force").quantities)
    assert {letter for equation in EQUATIONS for letter in equation.letters} <= names


def test_letters_are_blocks_of_the_operators() -> None:
    o = Operators(chain_of(random_mechanism(4, 2, "tree", ONE_DEGREE)))
    letters = {letter.name: letter.block for letter in LETTERS}
    assert o.local(lambda i, j: letters["P"](o, i, j), o.six, o.six) == o.P
    for name, operator in (("inertia", o.inertia), ("H", o.H)):
        blocks = [letters[name](o, i) for i in range(len(o.links))]
        assert Matrix.diagonal(blocks) == operator


# -- pattern ---------------------------------------------------------------------------------------


def blocks_that_are_not_zero(o: Operators, matrix: Matrix, size: int) -> set[tuple[int, int]]:
    links, entries = range(len(o.links)), matrix.entries
    return {
        (i, j)
        for i in links
        for j in links
        if (entries[i * size : (i + 1) * size, j * size : (j + 1) * size] != 0).any()
    }


@pytest.mark.parametrize("chain_key", ["rrr", "prr", (5, 0), (8, 0)])
def test_the_operators_of_a_serial_chain_are_block_tridiagonal(chain_key: Any) -> None:
    o = operators(chain_key)
    for matrix, size in ((o.A, 6), (o.H_aa, 1), (o.H_bb, 5)):
        assert all(abs(i - j) <= 1 for i, j in blocks_that_are_not_zero(o, matrix, size))
    coupling = o.H_ab.entries
    for i in range(len(o.links)):
        for j in range(len(o.links)):
            assert abs(i - j) <= 1 or (coupling[i, 5 * j : 5 * j + 5] == 0).all()


def test_joints_of_one_parent_couple() -> None:
    o = Operators(chain_of(random_mechanism(6, 2, "tree")))
    parents = [link.parent for link in o.links]
    coupled = {
        (i, j)
        for i in range(6)
        for j in range(6)
        if i == j or parents[i] == j or parents[j] == i or parents[i] == parents[j] >= 0
    }
    assert any(parents[i] == parents[j] for i, j in coupled if i != j)
    assert blocks_that_are_not_zero(o, o.A, 6) == coupled


# -- the Schur complement --------------------------------------------------------------------------


@pytest.mark.parametrize("chain_key", CHAINS)
def test_the_schur_complement_does_not_see_hard_directions_in_the_soft_rows(chain_key: Any) -> None:
    """With 𝓦_a + 𝓦 K the blocks are others, λ is less by K τ, and the Schur complement is M⁻¹
    again.
    """
    o = operators(chain_key)
    soft, hard = sum(o.allowed), sum(o.forbidden)
    source = Random(f"hard directions/{chain_key}")
    K = Matrix.of(np.array([fractions(source, soft) for _ in range(hard)], dtype=object))
    W_a = o.W_a + o.W @ K
    aa, ab = W_a.T @ o.A @ W_a, W_a.T @ o.A @ o.W
    assert aa != o.H_aa
    assert ab != o.H_ab
    constraint_forces = o.constraint_forces - K @ o.M
    assert o.H_bb @ constraint_forces + ab.T @ o.M == Matrix.of(zeros(hard, soft))
    assert aa @ o.M + ab @ constraint_forces == Matrix.of(identity(soft))


@pytest.mark.parametrize("robot", ["scara", "quadruped"])
def test_interbody_forces_come_first_and_accelerations_follow_from_them(robot: str) -> None:
    """λ = −H_bb⁻¹ H_abᵀ τ and 𝓕 = 𝓦_a τ + 𝓦 λ give V̇ = 𝓘⁻¹ 𝓟 𝓕, as joints allow: M q̈ = τ."""
    o = Operators(chain_of(load(robot)))
    tau = Matrix.of(fractions(Random(robot), sum(o.allowed)))
    minus = Matrix.of(zeros(sum(o.forbidden), 1))
    constraint_forces = minus - solve(o.H_bb, o.H_ab.T @ tau)
    forces = o.W_a @ tau + o.W @ constraint_forces
    across = o.P.T @ o.inertia_inverse @ o.P @ forces
    accelerations = o.W_a.T @ across
    assert o.H @ accelerations == across
    assert o.M @ accelerations == tau


def test_the_solver_of_rational_functions_is_that_of_rationals() -> None:
    o = operators((3, 1))
    entries = o.H_bb.entries
    exact = solve(o.H_bb, o.H_ab.T)
    by_elimination = solve(Matrix(entries, entries.shape), o.H_ab.T)
    assert exact == by_elimination
    assert exact == Matrix.of(inverse(entries)) @ o.H_ab.T


# -- planted errors --------------------------------------------------------------------------------

CAUGHT = {
    "inertia": "forces",
    "inertia_inverse": "A",
    "P": "accelerations",
    "H": "accelerations",
    "W": "H_bb",
    "W_a": "W_a",
    "A": "bridge to RK (3.17)",
    "H_aa": "H_aa",
    "H_ab": "H_ab",
    "H_bb": "det M",
    "accelerations": "accelerations",
    "forces": "forces",
    "M": "M",
    "constraint_forces": "constraint forces",
    "M_inverse": "M inverse",
    "B": "Lambda inverse",
    "Lambda_inverse": "Lambda inverse",
    "jacobian": "Lambda inverse",
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


CAUGHT_IN_BLOCKS = {
    "active": "W_a",
    "A_block": "A",
    "part": "H_bb",
    "projected": "Pi",
    "inverse_by_projection": "M inverse as a product",
}


@pytest.mark.parametrize("method", CAUGHT_IN_BLOCKS)
def test_a_changed_block_is_seen(method: str) -> None:
    o = Operators(rational_chain(3, 1))
    right: Callable[..., Any] = getattr(o, method)

    def changed(*arguments: Any) -> Any:
        block = right(*arguments)
        if block is None:
            return None
        entries = (block.entries if isinstance(block, Matrix) else block).copy()
        entries.flat[0] += fmpq(1, 1000)
        return Matrix.of(entries) if isinstance(block, Matrix) else entries

    setattr(o, method, changed)
    assert CAUGHT_IN_BLOCKS[method] in failing(o)


@pytest.mark.parametrize("number", ["steps", "constraints", "inverse_inertias"])
def test_a_changed_block_of_a_link_is_seen(number: str) -> None:
    caught = {
        "steps": "bridge to RK (a.11)",
        "constraints": "W orthonormal",
        "inverse_inertias": "bridge to RK (3.17)",
    }
    o = Operators(rational_chain(3, 1))
    getattr(o, number)[1][0, 0] += fmpq(1, 1000)
    assert caught[number] in failing(o)


def test_an_inertia_that_changes_after_the_operator_was_formed_is_seen() -> None:
    o = Operators(spatial_chain("pr"))
    assert o.A is not None
    entries = o.inertia.entries.copy()
    entries[2, 2] = entries[2, 2] * 2
    o.inertia = Matrix.of(entries)
    assert {"forces", "M", "det M", "M inverse"} <= set(failing(o))


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("robot", "reason"),
    [
        ("planar_point_mass:3", "in 'planar_point_mass' link 'link1' is a point mass"),
        ("puma560", "in 'puma560' link 'link1' has no mass"),
        ("stewart", "in 'stewart' link 'leg1_cross' has no mass"),
    ],
)
@pytest.mark.filterwarnings("ignore:link link1 has moments of inertia but no mass")
def test_inertias_that_cannot_be_inverted_are_refused_by_name(robot: str, reason: str) -> None:
    mechanism = load(robot)
    with pytest.raises(RequestError, match=reason):
        Operators(chain_of(mechanism))
    body, why = find_indefinite_body(mechanism) or ("", "")
    assert f"link '{body}'" in reason
    assert reason.endswith(why)


def test_a_system_of_numbers_without_a_matrix_type_is_solved_by_elimination() -> None:
    """The matrix has ones and zeros beside its diagonal; the solution is checked by a product."""
    left = np.array(
        [[4, 1, 0, -1], [1, 3, 1, 0], [0, 1, 5, 1], [-1, 0, 1, 2]], dtype=object
    ) * Fraction(1)
    right = np.array([[1, 0], [2, 1], [0, -3], [5, 1]], dtype=object) * Fraction(1)
    solution = solve(Matrix.of(left), Matrix.of(right)).entries
    assert (left @ solution == right).all()
