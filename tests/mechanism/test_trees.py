"""Trees by indices of parents, and exact inertias, compared with definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from symgen.mechanism.inertias import about_centre, is_positive_semidefinite, second_moments
from symgen.mechanism.trees import children, depths, slices

PARENTS = (-1, 0, 0, -1, 3, 4, 0, 2)
Moments = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]


def test_each_node_is_a_child_of_its_parent_and_the_base_comes_last() -> None:
    children_of = children(PARENTS)
    assert len(children_of) == len(PARENTS) + 1
    assert children_of == ((1, 2, 6), (), (7,), (4,), (5,), (), (), (), (0, 3))
    assert children(()) == ((),)


def test_the_depth_of_a_node_counts_the_nodes_up_to_the_base() -> None:
    def path(node: int) -> int:
        return 0 if node < 0 else 1 + path(PARENTS[node])

    assert depths(PARENTS) == [path(node) for node in range(len(PARENTS))]
    assert depths(PARENTS) == [1, 2, 2, 1, 2, 3, 2, 3]


def test_slices_of_sizes_follow_each_other() -> None:
    numbers = list("abcdef")
    assert [numbers[entries] for entries in slices([2, 0, 1, 3])] == [
        ["a", "b"],
        [],
        ["c"],
        ["d", "e", "f"],
    ]
    assert [(entries.start, entries.stop) for entries in slices([2, 0, 3])] == [
        (0, 2),
        (2, 2),
        (2, 5),
    ]
    assert slices([]) == ()


# -- inertias --------------------------------------------------------------------------------------


def tensor(moments: Moments) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = map(float, moments)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def entries(matrix: np.ndarray) -> Moments:
    xx, xy, xz, yy, yz, zz = (Fraction(x) for x in matrix[np.triu_indices(3)])
    return xx, xy, xz, yy, yz, zz


def test_definiteness_agrees_with_eigenvalues() -> None:
    random = Random(3)
    verdicts = set()
    for _ in range(100):
        square = np.array([[random.randint(-3, 3) for _ in range(3)] for _ in range(3)])
        moments = entries((square + square.T).astype(int).astype(object))
        least = np.linalg.eigvalsh(tensor(moments))[0]
        for slack in (0, 1, 3, 5, 8):
            if abs(least + slack) > 1e-9:
                expected = least + slack > 0
                assert is_positive_semidefinite(moments, Fraction(slack)) == expected
                verdicts.add(expected)
    assert verdicts == {True, False}


def test_singular_matrices_are_semidefinite_and_smaller_ones_are_not() -> None:
    """A matrix v vᵀ has the eigenvalue 0 twice; a smaller multiple of the unit matrix is added."""
    tiny = Fraction(1, 10**40)
    for vector in product((Fraction(0), Fraction(1, 3), Fraction(-2)), repeat=3):
        moments = entries(np.outer(vector, vector))
        assert is_positive_semidefinite(moments)
        assert is_positive_semidefinite(moments, tiny)
        assert not is_positive_semidefinite(moments, -tiny)


@pytest.mark.parametrize("minor", range(7))
def test_each_principal_minor_decides(minor: int) -> None:
    """Three diagonal entries, three minors of two rows, and the determinant: one of them is
    negative.
    """
    zero, unit = Fraction(0), Fraction(1)
    moments = [unit, zero, zero, unit, zero, unit]
    if minor < 3:  # a diagonal entry; with two of them negative, their minor is not
        moments[(0, 3, 5)[minor]] = -unit
    elif minor < 6:
        moments[(1, 2, 4)[minor - 3]] = Fraction(2)
    else:
        moments[1] = moments[2] = Fraction(-3, 4)
        moments[4] = Fraction(-3, 4)
    assert not is_positive_semidefinite(tuple(moments))  # type: ignore[arg-type]
    assert not is_positive_semidefinite((-unit, zero, zero, -unit, zero, zero))
    assert is_positive_semidefinite(tuple(moments), Fraction(2))  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", [1, 2, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_product_of_inertia_without_moments_is_not_definite(entry: int, sign: int) -> None:
    """The determinant is 0, and so is each entry of the diagonal; one minor of two rows is -1."""
    moments = [Fraction(0)] * 6
    moments[entry] = Fraction(sign)
    assert not is_positive_semidefinite(tuple(moments))  # type: ignore[arg-type]
    assert not is_positive_semidefinite(tuple(moments), Fraction(99, 100))  # type: ignore[arg-type]
    assert is_positive_semidefinite(tuple(moments), Fraction(1))  # type: ignore[arg-type]


def test_second_moments_and_moments_about_the_centre_are_those_of_points() -> None:
    """I = ∫ (|p|² 1 − p pᵀ) dm and Σ = ∫ p pᵀ dm of point masses, exactly."""
    random = Random(1)
    masses = [Fraction(random.randint(1, 9)) for _ in range(4)]
    points = [[Fraction(random.randint(-9, 9), 7) for _ in range(3)] for _ in masses]
    mass = sum(masses, Fraction(0))
    centre = [
        sum((m * p[k] for m, p in zip(masses, points, strict=True)), Fraction(0)) / mass
        for k in range(3)
    ]

    def second(origin: list[Fraction]) -> np.ndarray:
        offsets = [np.array(p, dtype=object) - np.array(origin, dtype=object) for p in points]
        products = (m * np.outer(r, r) for m, r in zip(masses, offsets, strict=True))
        return sum(products)  # type: ignore[return-value]

    def inertia(origin: list[Fraction]) -> Moments:
        sigma = second(origin)
        unit = np.array([[Fraction(i == j) for j in range(3)] for i in range(3)], dtype=object)
        return entries(sum(sigma.diagonal()) * unit - sigma)

    about_origin = inertia([Fraction(0)] * 3)
    x, y, z = centre
    assert about_centre(about_origin, mass, (x, y, z)) == inertia(centre)
    assert second_moments(about_origin) == entries(second([Fraction(0)] * 3))
