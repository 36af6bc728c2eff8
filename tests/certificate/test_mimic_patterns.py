"""Coupled entries of v of robots with mimic joints, judged by the numbers of the mass matrix."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from symgen.certificate.mimic import (
    ancestors,
    coupled_entries,
    driven_bodies,
    filled_pattern,
    first_entry,
    joint_ranges,
    mass_matrix_pattern,
)
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from tests.shared.mimic_robots import anyhow
from tests.shared.robots_for_tests import random_mechanism

MECHANISMS = [
    *(anyhow(seed) for seed in (0, 1, 2, 3, 4, 5, 6, 7, 9, 10)),
    random_mechanism(6, 1, "tree"),
    random_mechanism(4, 2, "tree", ("revolute", "planar", "cylindrical")),
]
ANY_ROBOT = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)


def mass_matrix(mechanism: Mechanism) -> Array:
    q = np.random.default_rng(0).uniform(-1, 1, (1, mechanism.nq))
    M: Array = Reference(mechanism, FLOAT).mass_matrix(q)[0]
    return M


def rows_of(nonzero: Array) -> list[list[int]]:
    """Return the columns of the nonzero elements up to the diagonal."""
    return [[j for j in range(i + 1) if nonzero[i, j]] for i in range(len(nonzero))]


def is_present(M: Array) -> Array:
    return np.abs(M) > 1e-12 * np.abs(M).max()


@ANY_ROBOT
def test_the_pattern_contains_every_nonzero_element_of_the_mass_matrix(
    mechanism: Mechanism,
) -> None:
    """With one coordinate a joint and no mimic joints, every element inside is nonzero, too."""
    M = mass_matrix(mechanism)
    pattern = [list(row) for row in mass_matrix_pattern(mechanism)]
    inside = np.zeros_like(M, dtype=bool)
    for i, row in enumerate(pattern):
        inside[i, row] = inside[row, i] = True
    assert not is_present(M)[~inside].any()
    if not mechanism.coupled and mechanism.nv == len(mechanism.joints):
        assert (is_present(M) == inside).all()


@ANY_ROBOT
def test_the_filled_pattern_is_that_of_the_elimination(mechanism: Mechanism) -> None:
    """Elimination with random numbers in the pattern, from the last row, fills no other element."""
    random = np.random.default_rng(1)
    n = mechanism.nv
    A = np.zeros((n, n))
    for i, row in enumerate(mass_matrix_pattern(mechanism)):
        for j in row:
            A[i, j] = A[j, i] = random.uniform(1, 2) + 20 * (i == j)
    nonzero = A != 0
    for j in reversed(range(n)):
        A[:j, :j] -= np.outer(A[:j, j], A[j, :j]) / A[j, j]
        nonzero[:j, :j] |= A[:j, :j] != 0
    assert filled_pattern(mechanism) == rows_of(nonzero)


@ANY_ROBOT
def test_coupled_entries_are_connected_in_the_trailing_block(mechanism: Mechanism) -> None:
    """Powers of the matrix of nonzero elements connect all entries between which a path leads."""
    n = mechanism.nv
    adjacent = np.zeros((n, n), dtype=int)
    for i, row in enumerate(mass_matrix_pattern(mechanism)):
        adjacent[i, row] = adjacent[row, i] = 1
    for k in range(n):
        block = adjacent[k:, k:]
        reached = np.linalg.matrix_power(block, n)[0]
        assert coupled_entries(mechanism, k) == [k + int(j) for j in np.flatnonzero(reached)]


@ANY_ROBOT
def test_entries_drive_their_own_joint_and_its_followers(mechanism: Mechanism) -> None:
    """One unit of an entry moves the joints of its bodies at their rates, by exact differences."""
    bodies = driven_bodies(mechanism)
    drivers: dict[int, list[int]] = {}
    for k, row in enumerate(bodies):
        assert row[0] == (*mechanism.dofs[k], 1)
        for driven in row:
            drivers.setdefault(driven.body, []).append(k)
    for body, coupling in enumerate(mechanism.joint_couplings):
        entries = drivers[body]
        assert first_entry(mechanism, body) == entries[0]
        if coupling is None:
            assert len(entries) == mechanism.joints[body].type.nv
            continue
        (k,) = entries
        (driven,) = [each for each in bodies[k] if each.body == body]
        ends = (Fraction(1, 3), Fraction(4, 3))
        at_ends = [joint_ranges(mechanism, [(end, end)] * mechanism.nq, body)[0][0] for end in ends]
        assert driven.rate == at_ends[1] - at_ends[0]
        assert driven.column == 0
        path = ancestors(mechanism, body)
        assert all(
            mechanism.joints[a].parent == b for a, b in zip([body, *path], path, strict=False)
        )
        assert mechanism.joints[path[-1] if path else body].parent < 0


@ANY_ROBOT
def test_a_follower_has_the_range_of_its_multiples(mechanism: Mechanism) -> None:
    random = Random(4)
    ends = [
        sorted(Fraction(random.randint(-9, 9), 7) for _ in range(2)) for _ in range(mechanism.nq)
    ]
    q = [(low, high) for low, high in ends]
    for joint, coupling in enumerate(mechanism.joint_couplings):
        ranges = joint_ranges(mechanism, q, joint)
        if coupling is None:
            assert ranges == q[mechanism.q_slices[joint]]
            continue
        values = [
            coupling.multiplier * end + coupling.offset
            for end in q[mechanism.q_slices[coupling.leader].start]
        ]
        assert ranges == [(min(values), max(values))]
