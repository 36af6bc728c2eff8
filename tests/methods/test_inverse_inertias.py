"""Inverse inertias of single links, in exact arithmetic: a derivation's constants stay rational."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Symmetric, Vector
from symgen.methods.constraint_force import operator
from symgen.methods.fixman import spatial
from symgen.reference.precision import Array

SEEDS = pytest.mark.parametrize("seed", range(3))


def rationals(random: Random, count: int) -> list[Fraction]:
    return [Fraction(random.randint(-9, 9), random.randint(1, 5)) for _ in range(count)]


def point_masses(seed: int) -> tuple[Fraction, Array, Array]:
    """Return mass, first and second moments of five point masses."""
    random = Random(seed)
    masses = [Fraction(random.randint(1, 9), 4) for _ in range(5)]
    places = np.array([rationals(random, 3) for _ in masses])
    second = sum(m * np.outer(x, x) for m, x in zip(masses, places, strict=True))
    return sum(masses, Fraction(0)), np.array(masses) @ places, np.asarray(second)


class OneLink(SimpleNamespace):
    """A linkage of one link with a constant inertia."""

    def __init__(self, mass: Fraction, h: Array, S: Array) -> None:
        derivation = Derivation({})
        self.constant = lambda x: derivation.constant(k.rational(x))
        zero = derivation.zero
        inertia = RigidInertia.of(
            self.constant(mass),
            self.vector(h),
            Symmetric(*(self.constant(S[i]) for i in zip(*np.triu_indices(3), strict=True))),
        )
        super().__init__(
            inertia=[inertia],
            one=derivation.one,
            zero=zero,
            zeros=Vector((zero,) * 3),
            step=lambda *_: None,
            mark=lambda *_: None,
        )

    def vector(self, values: Iterable[Fraction]) -> Vector:
        return Vector(self.constant(x) for x in values)


def exact(x: Scalar) -> Fraction:
    assert x.is_constant
    return k.to_fraction(x.value)


def array(rows: Iterable[Sequence[Scalar]]) -> Array:
    return np.array([[exact(x) for x in row] for row in rows])


def skew(v: Array) -> Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]]) + Fraction(0)


def determinant(matrix: Array) -> Fraction:
    entries = [flint.fmpq(x.numerator, x.denominator) for x in matrix.ravel()]
    return k.to_fraction(flint.fmpq_mat(*matrix.shape, entries).det())


UNIT = np.eye(3, dtype=int) + Fraction(0)


def spatial_inertia(mass: Fraction, h: Array, S: Array) -> Array:
    """Return the matrix from (v, ω) to (force, moment) about the frame's origin."""
    moments = UNIT * np.trace(S) - S
    return np.block([[mass * UNIT, -skew(h)], [skew(h), moments]])


@SEEDS
def test_a_mobility_of_fixman_inverts_the_inertia_of_its_link(seed: int) -> None:
    mass, h, S = point_masses(seed)
    linkage: Any = OneLink(mass, h, S)
    P, det = spatial.mobility(linkage, 0)
    B = array(P.B)
    inverse = np.block([[array(P.A.rows), B], [B.T, array(P.C.rows)]])
    inertia = spatial_inertia(mass, h, S)
    assert (inverse @ inertia == np.eye(6, dtype=int)).all()
    assert exact(det) == determinant(inertia)


@SEEDS
def test_a_body_of_the_constraint_force_has_its_inertia_at_the_mass_centre(seed: int) -> None:
    mass, h, S = point_masses(seed)
    linkage: Any = OneLink(mass, h, S)
    (body,) = operator.bodies(linkage)
    centre = h / mass
    central = S - mass * np.outer(centre, centre)
    J = UNIT * np.trace(central) - central
    assert (array([body.s])[0] == centre).all()
    assert exact(body.inverse_m) == 1 / mass
    assert (array(body.J.rows) == J).all()
    assert (array(body.inverse_J.rows) @ J == UNIT).all()
    assert exact(body.determinant) == determinant(spatial_inertia(mass, h, S))


@SEEDS
def test_a_mobility_is_the_acceleration_at_one_point_per_wrench_at_another(seed: int) -> None:
    """Points a and b from the mass centre: X_a diag(J⁻¹, 1/m) X_bᵀ, with X_a = [1 0; −ã 1]."""
    linkage: Any = OneLink(*point_masses(seed))
    (body,) = operator.bodies(linkage)
    a, b = (np.array(rationals(Random(seed + n), 3)) for n in (7, 8))
    blocks = operator.mobility(body, linkage.vector(a), linkage.vector(b), linkage.zero)
    zero = 0 * UNIT
    at_a, at_b = (np.block([[UNIT, zero], [-skew(point), UNIT]]) for point in (a, b))
    centred = np.block([[array(body.inverse_J.rows), zero], [zero, exact(body.inverse_m) * UNIT]])
    matrix = np.block([[array(block) for block in pair] for pair in (blocks[:2], blocks[2:])])
    assert (matrix == at_a @ centred @ at_b.T).all()
