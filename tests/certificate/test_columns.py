"""Energies, pivots and travels of single joints, and inverse moments of single bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

from symgen.certificate.bodies import _central_moments, _inverse_moments, _is_positive
from symgen.certificate.columns import Column, columns, joint_inertia, orthonormal, pivots, travel
from symgen.derivation import constants as k
from symgen.derivation.model.links import Inertia
from symgen.mechanism.joints import joint_type, kinds
from symgen.reference.precision import Array
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.robots_for_tests import of_kind, random_mechanism

SEEDS = pytest.mark.parametrize("seed", range(5))
SMALL = [Fraction(n, 3) for n in range(-6, 7)]
UNIT = np.eye(6, dtype=int) + Fraction(0)
Matter = Sequence[tuple[Fraction, Array]]
"""Point masses and their places."""


def rationals(random: Random, *shape: int) -> Array:
    return np.array([random.choice(SMALL) for _ in range(int(np.prod(shape)))]).reshape(shape)


def vector(values: Any) -> Any:
    return tuple(k.rational(Fraction(x)) for x in values)


def inertia_of_points(matter: Matter) -> Inertia:
    S = sum(m * np.outer(x, x) for m, x in matter)
    return Inertia(
        k.rational(sum((m for m, _ in matter), Fraction(0))),
        vector(sum(m * x for m, x in matter)),
        vector(np.asarray(S)[np.triu_indices(3)]),
    )


def points(random: Random, count: int) -> Matter:
    return [(Fraction(random.randint(1, 5), 2), rationals(random, 3)) for _ in range(count)]


def fractions(matrix: Any) -> Array:
    return np.array([[k.to_fraction(x) for x in row] for row in matrix])


@SEEDS
def test_the_inertia_of_a_joint_is_twice_the_energy_of_its_points(seed: int) -> None:
    """A twist (ω, v) moves a point r by ω × r + v; armatures stand on the diagonal alone."""
    random = Random(seed)
    matter = points(random, 4)
    twists = [(rationals(random, 3), rationals(random, 3)) for _ in range(3)]
    armatures = [Fraction(random.randint(0, 3)) for _ in twists]
    H = [Column(vector(w), vector(v)) for w, v in twists]
    result = joint_inertia(H, inertia_of_points(matter), list(map(k.rational, armatures)))
    speeds = [[np.cross(w, x) + v for _, x in matter] for w, v in twists]
    masses = [m for m, _ in matter]
    expected = [
        [
            sum(m * (x @ y) for m, x, y in zip(masses, a, b, strict=True))
            + (armatures[r] if r == c else 0)
            for c, b in enumerate(speeds)
        ]
        for r, a in enumerate(speeds)
    ]
    assert (fractions(result) == expected).all()
    for column, (w, v) in zip(H, twists, strict=True):
        assert k.to_fraction(column.angular_squared) == w @ w
        assert k.to_fraction(column.linear_squared) == v @ v


def minor(matrix: Array, start: int) -> Fraction:
    block = matrix[start:, start:]
    entries = [flint.fmpq(x.numerator, x.denominator) for x in block.ravel()]
    return k.to_fraction(flint.fmpq_mat(*block.shape, entries).det()) if entries else Fraction(1)


@SEEDS
def test_a_pivot_is_the_ratio_of_trailing_minors(seed: int) -> None:
    random = Random(seed)
    rows = rationals(random, 5, 4)
    matrix = rows.T @ rows + np.diag([Fraction(1)] * 4)
    result = pivots([vector(row) for row in matrix])
    assert [k.to_fraction(x) for x in result if x is not None] == [
        minor(matrix, j) / minor(matrix, j + 1) for j in range(4)
    ]


def test_a_zero_pivot_has_a_zero_row_and_leaves_the_others_as_they_are() -> None:
    rows = [[2, 1, 0, 1], [1, 3, 0, 1], [0, 0, 0, 0], [1, 1, 0, 1]]
    result = pivots([vector(row) for row in rows])
    assert [k.to_fraction(x) for x in result if x is not None] == [Fraction(1), 2, 0, 1]


def test_pivots_before_one_that_is_not_positive_are_unknown() -> None:
    for rows, expected in (
        ([[1, 0, 0], [0, -2, 0], [0, 0, 3]], [None, -2, 3]),
        ([[1, 1], [1, 0]], [None, 0]),
    ):
        result = pivots([vector(row) for row in rows])
        assert [x if x is None else k.to_fraction(x) for x in result] == expected


@SEEDS
def test_columns_are_orthonormal_exactly_if_their_matrix_is(seed: int) -> None:
    random = Random(seed)
    units = [UNIT[n] for n in random.sample(range(6), 3)]
    for scaled, factor in product((None, 0, 2), (1, -1, 2)):
        rows = [row * (factor if n == scaled else 1) for n, row in enumerate(units)]
        H = [Column(vector(row[:3]), vector(row[3:])) for row in rows]
        gram = np.array(rows) @ np.array(rows).T
        assert orthonormal(H) == bool((gram == np.eye(3, dtype=int)).all())
    for turn, slide in ((UNIT[0], UNIT[0] + UNIT[1]), (UNIT[3], UNIT[3] + UNIT[5])):
        rows = [turn, slide]
        assert not orthonormal([Column(vector(row[:3]), vector(row[3:])) for row in rows])


@pytest.mark.parametrize(
    "kind", [kind for kind in kinds() if joint_type(kind).nq == joint_type(kind).nv]
)
def test_columns_are_the_rates_of_the_pose_at_the_origin(kind: str) -> None:
    """In a frame whose z axis is the joint's; a spherical or free joint has no such coordinates."""
    joint = of_kind(replace(random_mechanism(1).joints[0], axis=Z_AXIS), kind)
    step = 1e-5
    for n, column in enumerate(columns(joint)):
        ends = []
        for sign in (1, -1):
            q = [sign * step * (n == i) for i in range(joint_type(kind).nq)]
            rotation, shift = joint_type(kind).pose(q, dict(joint.parameters))
            ends.append(
                (np.array(rotation, dtype=float).reshape(3, 3), np.array(shift, dtype=float))
            )
        rate, linear = ((a - b).squeeze() / (2 * step) for a, b in zip(*ends, strict=True))
        angular = [rate[2, 1], rate[0, 2], rate[1, 0]]
        np.testing.assert_allclose([float(x) for x in column.angular], angular, atol=1e-9)
        np.testing.assert_allclose([float(x) for x in column.linear], linear, atol=1e-9)


@pytest.mark.parametrize("kind", kinds())
def test_a_joint_moves_the_origin_of_its_body_at_most_by_its_travel(kind: str) -> None:
    """A joint that slides along axes reaches its travel at a corner of its ranges."""
    joint = of_kind(random_mechanism(1).joints[0], kind)
    random = Random(1)
    nq, parameters = joint_type(kind).nq, dict(joint.parameters)
    ranges = [sorted(random.choice(SMALL) + n for n in (-1, Fraction(1, 2))) for _ in range(nq)]
    bound = travel(joint, [(low, high) for low, high in ranges])
    squares = []
    for corner in product(*ranges):
        _, shift = joint_type(kind).pose(corner, parameters)
        squares.append(sum(float(x) ** 2 for x in shift))
    assert max(squares) <= float((bound**2).upper()) * (1 + 1e-12)
    if not joint_type(kind).turns or (nq > 1 and kind != "planar"):
        np.testing.assert_allclose(max(squares), float(bound**2), atol=1e-12)


@SEEDS
def test_inverse_moments_invert_the_moments_about_the_mass_centre(seed: int) -> None:
    matter = points(Random(seed), 5)
    mass = sum((m for m, _ in matter), Fraction(0))
    centre = sum(m * x for m, x in matter) / mass
    J = sum(
        m * (np.eye(3, dtype=int) * (r @ r) - np.outer(r, r))
        for m, x in matter
        for r in [x - centre]
    )
    link: Any = SimpleNamespace(inertia=inertia_of_points(matter))
    assert (fractions(_central_moments(link)) == J).all()
    inverse = _inverse_moments(link)
    assert inverse is not None
    entries = flint.arb_mat(
        3, 3, [flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in np.asarray(J).ravel()]
    )
    unit = inverse * entries
    assert all(unit[r, c].contains(int(r == c)) for r in range(3) for c in range(3))


@pytest.mark.parametrize("axis", range(3))
def test_a_rod_has_an_infinite_inverse_moment_about_its_own_axis(axis: int) -> None:
    """Two masses 2 kg, 1 m to each side: J = 4 about the other axes."""
    along = np.array([Fraction(int(n == axis)) for n in range(3)])
    beside = np.array([Fraction(3), Fraction(-1), Fraction(2)])
    link: Any = SimpleNamespace(
        inertia=inertia_of_points([(Fraction(2), beside + s * along) for s in (1, -1)])
    )
    inverse = _inverse_moments(link)
    assert inverse is not None
    for r, c in product(range(3), repeat=2):
        if r == c == axis:
            assert not inverse[r, c].is_finite()
        else:
            assert inverse[r, c].contains(flint.fmpq(int(r == c), 4))
            assert inverse[r, c].is_finite()


def test_bodies_without_positive_moments_have_no_inverse() -> None:
    """No mass, one point, and a rod along no axis of the frame, whose moments are singular."""
    slanted = [(Fraction(2), np.array([Fraction(s)] * 3)) for s in (1, -1)]
    for matter in (
        [(Fraction(0), rationals(Random(1), 3))],
        [(Fraction(2), rationals(Random(1), 3))],
        slanted,
    ):
        link: Any = SimpleNamespace(inertia=inertia_of_points(matter))
        assert _inverse_moments(link) is None


@SEEDS
def test_a_matrix_is_positive_exactly_if_its_eigenvalues_are(seed: int) -> None:
    random = Random(seed)
    for size, shift in product((1, 2, 3), range(-6, 7, 2)):
        rows = rationals(random, size, size)
        matrix = (rows + rows.T + shift * np.eye(size, dtype=int)).astype(float)
        eigenvalues = np.linalg.eigvalsh(matrix)
        if np.abs(eigenvalues).min() > 1e-9:
            balls = flint.arb_mat(size, size, matrix.ravel().tolist())
            assert _is_positive(balls) == bool((eigenvalues > 0).all())
