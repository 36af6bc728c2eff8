"""Spatial vectors, inertias and rotations against their definitions, in exact rational arithmetic.

Cosine and sine of an angle are rational pairs such as (3/5, 4/5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp

from symgen.derivation.closed_forms import twist_transport
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import (
    NO_ROTATION,
    ArticulatedInertia,
    Matrix,
    RigidInertia,
    Rotation,
    SplitShift,
    Symmetric,
    Vector,
    cross_rows,
    plus,
    times,
    transposed,
    twist_to_child,
    wrench_to_parent,
)
from symgen.ir.program import Numbers, evaluate
from tests.shared.robots_for_tests import rationals

EXACT = Numbers(Fraction, Fraction, Fraction, Fraction, Fraction)
PAIRS = [
    (Fraction(3, 5), Fraction(4, 5)),
    (Fraction(-5, 13), Fraction(12, 13)),
    (Fraction(8, 17), Fraction(-15, 17)),
]
Exact = np.ndarray
"""Object array of Fractions."""


class Bench:
    """Scalars that are inputs with rational values, and the exact values of results computed from
    them.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = Random(seed)
        self.derivation = Derivation({"x": 120})
        self.values: list[Fraction] = []

    def scalar(self, value: Fraction) -> Scalar:
        self.values.append(value)
        return self.derivation.inputs["x"][len(self.values) - 1]

    def vector(self) -> tuple[Vector, Exact]:
        values = rationals(self.random, 3)
        return Vector(self.scalar(x) for x in values), np.array(values)

    def matrix(self) -> tuple[Matrix, Exact]:
        rows = [self.vector() for _ in range(3)]
        return (rows[0][0], rows[1][0], rows[2][0]), np.array([values for _, values in rows])

    def symmetric(self) -> tuple[Symmetric, Exact]:
        values = rationals(self.random, 6)
        return Symmetric(*(self.scalar(x) for x in values)), full(values)

    def turn(
        self, axis: int, pair: tuple[Fraction, Fraction], constant: bool = False
    ) -> tuple[Matrix, Exact]:
        """Return a rotation about one axis; cosine and sine are run-time values, or constants if
        `constant`.
        """
        c, s = (
            (self.derivation.constant(x) for x in pair)
            if constant
            else (self.scalar(x) for x in pair)
        )
        unit, zero = self.derivation.one, self.derivation.zero
        x, y, z = (axis + 1) % 3, (axis + 2) % 3, axis
        m: list[list[Any]] = [[zero] * 3 for _ in range(3)]
        e = np.zeros((3, 3), dtype=int) + Fraction(0)
        for r, col, scalar, value in (
            (z, z, unit, Fraction(1)),
            (x, x, c, pair[0]),
            (y, y, c, pair[0]),
            (y, x, s, pair[1]),
        ):
            m[r][col], e[r, col] = scalar, value
        m[x][y], e[x, y] = -s, -pair[1]
        return (Vector(m[0]), Vector(m[1]), Vector(m[2])), e

    def rotation(self, letters: str) -> tuple[Rotation, Exact]:
        """Return a product of rotations: "z" run-time about z, "X" constant about x, "p" a
        permutation, "g" general.
        """
        factors, total = [], np.eye(3, dtype=int) + Fraction(0)
        for n, letter in enumerate(letters):
            if letter == "p":
                e = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]) + Fraction(0)
            elif letter == "g":
                e = _quaternion(1, 2, 2, 4)
            else:
                m, e = self.turn(
                    "xyz".index(letter.lower()), PAIRS[n % 3], constant=letter.isupper()
                )
            if letter in "pg":
                m = tuple(  # type: ignore[assignment]
                    Vector(self.derivation.constant(x) for x in row) for row in e
                )
            factors.append(m)
            total = total @ e
        return Rotation(factors), total

    def value(self, scalars: Iterable[Scalar]) -> Exact:
        flat = list(scalars)
        program = self.derivation.freeze("f", "m", [("y", (len(flat),), flat)], {"x": (120,)})
        return np.array(evaluate(program, {"x": [*self.values, *[None] * 120]}, EXACT)["y"])

    def of(self, m: Matrix) -> Exact:
        return self.value(x for row in m for x in row).reshape(3, 3)

    def six(self, P: ArticulatedInertia) -> Exact:
        """Return the 6x6 matrix of an articulated inertia."""
        A, B, C = self.of(P.A.rows), self.of(P.B), self.of(P.C.rows)
        return np.block([[A, B], [B.T, C]])


def _quaternion(w: int, x: int, y: int, z: int) -> Exact:
    n = Fraction(1, w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1 - 2 * n * (y * y + z * z), 2 * n * (x * y - w * z), 2 * n * (x * z + w * y)],
            [2 * n * (x * y + w * z), 1 - 2 * n * (x * x + z * z), 2 * n * (y * z - w * x)],
            [2 * n * (x * z - w * y), 2 * n * (y * z + w * x), 1 - 2 * n * (x * x + y * y)],
        ]
    )


def full(s: Sequence[Fraction]) -> Exact:
    return np.array([[s[0], s[1], s[2]], [s[1], s[3], s[4]], [s[2], s[4], s[5]]])


def skew(v: Exact) -> Exact:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) + Fraction(0)


def phi(R: Exact, shift: Exact) -> Exact:
    """Return φ, which maps a wrench in link axes to the parent's axes (Rodriguez and Kreutz
    (2.14)).
    """
    return np.block([[R, skew(shift) @ R], [0 * R, R]])


def equal(values: Exact, expected: Exact) -> bool:
    return values.shape == np.shape(expected) and bool((values == expected).all())


ROTATIONS = ["", "x", "y", "z", "X", "p", "g", "zx", "zXz", "Zxz", "gz", "pz", "xyz", "ZXp"]
ANY_ROTATION = pytest.mark.parametrize("letters", ROTATIONS)


def test_the_expected_rotations_are_orthonormal() -> None:
    for letters in ROTATIONS:
        _, R = Bench().rotation(letters)
        assert equal(R @ R.T, np.eye(3, dtype=int))


def test_operations_on_vectors_and_matrices_equal_numpy() -> None:
    b = Bench()
    (u, eu), (v, ev), (m, em), (n, en), (s, es) = (
        b.vector(),
        b.vector(),
        b.matrix(),
        b.matrix(),
        b.symmetric(),
    )
    k = b.scalar(Fraction(5, 3))
    for scalars, expected in (
        (u + v, eu + ev),
        (u - v, eu - ev),
        (-u, -eu),
        (u * k, eu * Fraction(5, 3)),
        (u.cross(v), skew(eu) @ ev),
        (times(m, v), em @ ev),
        (s.apply(v), es @ ev),
    ):
        assert equal(b.value(scalars), expected)
    assert equal(b.value([u.dot(v)]), np.array([eu @ ev]))
    assert equal(b.of(transposed(m)), em.T)
    assert equal(b.of(plus(m, n)), em + en)
    assert equal(b.of(cross_rows(v, m)), skew(ev) @ em)
    assert equal(b.of((s + s).rows), 2 * es)
    assert equal(b.of((s - s).rows), 0 * es)


@ANY_ROTATION
def test_a_rotation_maps_vectors_to_parent_and_to_child(letters: str) -> None:
    b = Bench()
    rotation, R = b.rotation(letters)
    v, ev = b.vector()
    assert equal(b.value(rotation.to_parent(v)), R @ ev)
    assert equal(b.value(rotation.to_child(v)), R.T @ ev)
    assert equal(b.of(rotation.matrix(b.derivation.one, b.derivation.zero)), R)


@ANY_ROTATION
def test_a_rotation_maps_matrices_to_the_parent(letters: str) -> None:
    b = Bench()
    rotation, R = b.rotation(letters)
    (m, em), (s, es) = b.matrix(), b.symmetric()
    assert equal(b.of(rotation.matrix_to_parent(m)), R @ em @ R.T)
    assert equal(b.of(rotation.symmetric_to_parent(s).rows), R @ es @ R.T)


def test_rotating_a_symmetric_matrix_about_one_axis_costs_eight_multiplications() -> None:
    b = Bench()
    rotation, _ = b.rotation("z")
    s, _ = b.symmetric()
    before = len(b.derivation.rows)
    rotation.symmetric_to_parent(s)
    assert [op for op, _, _ in b.derivation.rows[before:]].count(
        "mul"
    ) == 8  # 4 for entries in the plane, 4 for the normal column


def rigid_inertia(b: Bench, massless: bool = False) -> tuple[RigidInertia, Exact]:
    """Return a rigid inertia and its 6x6 matrix [[tr(Σ)1 − Σ, h̃], [−h̃, m 1]] (Rodriguez and
    Kreutz (2.15)).
    """
    m = Fraction(0) if massless else Fraction(7, 2)
    (h, eh), (S, eS) = b.vector(), b.symmetric()
    inertia = RigidInertia.of(b.derivation.zero if massless else b.scalar(m), h, S)
    identity = np.eye(3, dtype=int)
    return inertia, np.block([[np.trace(eS) * identity - eS, skew(eh)], [-skew(eh), m * identity]])


def in_parent_axes(matrix: Exact, R: Exact, shift: Exact) -> Exact:
    """Return an inertia in the parent's axes: φ M φᵀ."""
    return phi(R, shift) @ matrix @ phi(R, shift).T


@pytest.mark.parametrize("massless", [False, True])
def test_a_rigid_inertia_equals_its_matrix(massless: bool) -> None:
    b = Bench()
    inertia, expected = rigid_inertia(b, massless)
    (w, ew), (v, ev) = b.vector(), b.vector()
    assert equal(b.six(inertia.articulated()), expected)
    n, f = inertia.momentum(w, v)
    assert equal(b.value([*n, *f]), expected @ np.concatenate([ew, ev]))
    assert equal(b.of(inertia.moments().rows), expected[:3, :3])


@pytest.mark.parametrize("massless", [False, True])
@ANY_ROTATION
def test_a_rigid_inertia_in_the_parent_equals_phi_m_phi_transposed(
    letters: str, massless: bool
) -> None:
    b = Bench()
    (rotation, R), (shift, es), (inertia, matrix) = (
        b.rotation(letters),
        b.vector(),
        rigid_inertia(b, massless),
    )
    assert equal(
        b.six(inertia.to_parent(rotation, shift).articulated()), in_parent_axes(matrix, R, es)
    )


def test_sums_of_rigid_inertias_equal_sums_of_matrices() -> None:
    b = Bench()
    (first_inertia, first), (second_inertia, second) = (
        rigid_inertia(b),
        rigid_inertia(b, massless=True),
    )
    (rotation, R), (shift, es) = b.rotation("zx"), b.vector()
    assert equal(b.six((first_inertia + second_inertia).articulated()), first + second)
    assert equal(
        b.six((second_inertia + first_inertia).to_parent(rotation, shift).articulated()),
        in_parent_axes(first + second, R, es),
    )


def articulated_inertia(b: Bench) -> tuple[ArticulatedInertia, Exact]:
    (A, eA), (B, eB), (C, eC) = b.symmetric(), b.matrix(), b.symmetric()
    return ArticulatedInertia(A, B, C), np.block([[eA, eB], [eB.T, eC]])


@ANY_ROTATION
def test_an_articulated_inertia_in_the_parent_equals_phi_p_phi_transposed(letters: str) -> None:
    b = Bench()
    (rotation, R), (shift, es), (P, matrix) = (
        b.rotation(letters),
        b.vector(),
        articulated_inertia(b),
    )
    assert equal(b.six(P.to_parent(rotation, shift)), in_parent_axes(matrix, R, es))


def test_entries_products_and_sums_of_articulated_inertias_equal_matrices() -> None:
    b = Bench()
    (P, first), (Q, second) = articulated_inertia(b), articulated_inertia(b)
    (w, ew), (v, ev) = b.vector(), b.vector()
    n, f = P.apply(w, v)
    assert equal(b.value([*n, *f]), first @ np.concatenate([ew, ev]))
    assert equal(b.value(P.entry(i, j) for i in range(6) for j in range(6)).reshape(6, 6), first)
    assert equal(b.six(P + Q), first + second)


@ANY_ROTATION
def test_wrench_to_parent_and_twist_to_child_are_transposes(letters: str) -> None:
    """φ and its transpose keep the power n·ω + f·v."""
    b = Bench()
    (rotation, R), (shift, es) = b.rotation(letters), b.vector()
    (n, en), (f, ef), (w, ew), (v, ev) = (b.vector() for _ in range(4))
    outer_n, outer_f = wrench_to_parent(rotation, shift, n, f)
    inner_w, inner_v = twist_to_child(rotation, shift, w, v)
    wrench, twist = b.value([*outer_n, *outer_f]), b.value([*inner_w, *inner_v])
    assert equal(wrench, phi(R, es) @ np.concatenate([en, ef]))
    assert equal(twist, phi(R, es).T @ np.concatenate([ew, ev]))
    assert wrench @ np.concatenate([ew, ev]) == np.concatenate([en, ef]) @ twist


def test_a_structural_zero_moment_costs_no_row() -> None:
    """A constant quarter turn permutes the moments of a diagonal inertia."""
    b = Bench()
    rotation, _ = b.rotation("p")
    values = [b.scalar(Fraction(x)) for x in (2, 3, 4)]
    zero = b.derivation.zero
    before = len(b.derivation.rows)
    turned = rotation.symmetric_to_parent(
        Symmetric(values[0], zero, zero, values[1], zero, values[2])
    )
    assert len(b.derivation.rows) == before
    assert [x.row for x in (turned.xx, turned.yy, turned.zz)] == [
        values[2].row,
        values[0].row,
        values[1].row,
    ]


@ANY_ROTATION
def test_a_split_shift_equals_the_whole_shift(letters: str) -> None:
    bench = Bench(seed=11)
    rotation, R = bench.rotation(letters)
    (inner, a), (outer, b) = bench.vector(), bench.vector()
    split = SplitShift(outer + rotation.to_parent(inner), inner, outer)
    across = phi(R, b + R @ a)
    assert equal(bench.value(split), b + R @ a)
    (n, n_), (f, f_), (w, w_), (v, v_) = (bench.vector() for _ in range(4))
    moment, force = wrench_to_parent(rotation, split, n, f)
    angular, linear = twist_to_child(rotation, split, w, v)
    assert equal(bench.value([*moment, *force]), across @ np.concatenate([n_, f_]))
    assert equal(bench.value([*angular, *linear]), across.T @ np.concatenate([w_, v_]))
    (A, A_), (B, B_), (C, C_), (h, _), (S, _) = (
        bench.symmetric(),
        bench.matrix(),
        bench.symmetric(),
        bench.vector(),
        bench.symmetric(),
    )
    in_parent = ArticulatedInertia(A, B, C).to_parent(rotation, split)
    assert equal(bench.six(in_parent), across @ np.block([[A_, B_], [B_.T, C_]]) @ across.T)
    body = RigidInertia.of(bench.scalar(Fraction(7, 3)), h, S)
    assert equal(
        bench.six(body.to_parent(rotation, split).articulated()),
        across @ bench.six(body.articulated()) @ across.T,
    )


def test_the_shift_of_a_twist_equals_the_derived_transport() -> None:
    """twist_to_child equals B_ij of Saha (4), derived by SymPy; wrench_to_parent equals its
    transpose.
    """
    B, c = twist_transport()
    derivation = Derivation({"x": 9})
    x = rationals(Random(3), 9)
    shift, w, v = (Vector(derivation.inputs["x"][k : k + 3]) for k in (0, 3, 6))
    shifted_twist = twist_to_child(NO_ROTATION, shift, w, v)
    moment, force = wrench_to_parent(NO_ROTATION, shift, w, v)
    program = derivation.freeze(
        "test",
        "test",
        [("y", (12,), [*shifted_twist[0], *shifted_twist[1], *moment, *force])],
        {"x": (9,)},
    )
    y = evaluate(program, {"x": x}, EXACT)["y"]
    numbers = {
        symbol: -sp.Rational(s.numerator, s.denominator) for symbol, s in zip(c, x[:3], strict=True)
    }  # c = c_j − c_i
    derived = B.subs(numbers)
    sixes = sp.Matrix([sp.Rational(s.numerator, s.denominator) for s in x[3:]])
    for shifted, matrix in ((y[:6], derived), (y[6:], derived.T)):
        assert list(matrix * sixes) == [sp.Rational(s.numerator, s.denominator) for s in shifted]


class SecondAtoms(Derivation):
    """A derivation that takes the second of two atoms of equal value."""

    def either(self, first: Scalar, second: Scalar) -> Scalar:
        return super().either(second, first)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("letters", ["", "x", "z", "zx", "Xz", "zXz"])
def test_both_forms_of_the_moment_about_z_are_equal(letters: str, second: bool) -> None:
    b = Bench()
    if second:
        b.derivation = SecondAtoms({"x": 120})
    (rotation, R), (shift, es), (inertia, matrix) = (
        b.rotation(letters),
        b.vector(),
        rigid_inertia(b),
    )
    moved = inertia.to_parent(rotation, shift)
    expected = in_parent_axes(matrix, R, es)[:3, :3]
    assert b.value([moved.about_z])[0] == expected[2, 2]
    assert equal(b.of(moved.moments().rows), expected)
    again = moved.to_parent(rotation, shift)
    expected = in_parent_axes(in_parent_axes(matrix, R, es), R, es)[:3, :3]
    assert b.value([again.about_z])[0] == expected[2, 2]


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sine", [1, -1])
def test_a_constant_quarter_turn_about_an_axis_costs_no_operation(axis: int, sine: int) -> None:
    b = Bench()
    factor, R = b.turn(axis, (Fraction(0), Fraction(sine)), constant=True)
    rotation, (m, em), (s, es) = Rotation([factor]), b.matrix(), b.symmetric()
    before = len(b.derivation.rows)
    turned_matrix, turned = rotation.matrix_to_parent(m), rotation.symmetric_to_parent(s)
    assert len(b.derivation.rows) == before
    assert equal(b.of(turned_matrix), R @ em @ R.T)
    assert equal(b.of(turned.rows), R @ es @ R.T)
