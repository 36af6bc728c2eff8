"""The shared vocabulary against its definitions, in exact rational arithmetic: angles are Pythagorean pairs (3/5, 4/5)."""

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
    """Scalars that are inputs with known rational values, and the exact value of whatever is made of them."""

    def __init__(self, seed: int = 0) -> None:
        self.random = Random(seed)
        self.home = Derivation({"x": 120})
        self.values: list[Fraction] = []

    def scalar(self, value: Fraction) -> Scalar:
        self.values.append(value)
        return self.home.inputs["x"][len(self.values) - 1]

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
        self, axis: int, pair: tuple[Fraction, Fraction], known: bool = False
    ) -> tuple[Matrix, Exact]:
        """An elementary turn, of run-time or `known` (constant) sine and cosine."""
        c, s = (self.home.constant(x) for x in pair) if known else (self.scalar(x) for x in pair)
        one, zero = self.home.one, self.home.zero
        x, y, z = (axis + 1) % 3, (axis + 2) % 3, axis
        m: list[list[Any]] = [[zero] * 3 for _ in range(3)]
        e = np.zeros((3, 3), dtype=int) + Fraction(0)
        for r, col, scalar, value in (
            (z, z, one, Fraction(1)),
            (x, x, c, pair[0]),
            (y, y, c, pair[0]),
            (y, x, s, pair[1]),
        ):
            m[r][col], e[r, col] = scalar, value
        m[x][y], e[x, y] = -s, -pair[1]
        return (Vector(m[0]), Vector(m[1]), Vector(m[2])), e

    def rotation(self, what: str) -> tuple[Rotation, Exact]:
        """ "z": a run-time turn about z, "X": a known one about x, "p": a known permutation, "g": a known general one."""
        factors, total = [], np.eye(3, dtype=int) + Fraction(0)
        for n, letter in enumerate(what):
            if letter == "p":
                e = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]) + Fraction(0)
            elif letter == "g":
                e = _quaternion(1, 2, 2, 4)
            else:
                m, e = self.turn("xyz".index(letter.lower()), PAIRS[n % 3], known=letter.isupper())
            if letter in "pg":
                m = tuple(Vector(self.home.constant(x) for x in row) for row in e)  # type: ignore[assignment]
            factors.append(m)
            total = total @ e
        return Rotation(factors), total

    def value(self, scalars: Iterable[Scalar]) -> Exact:
        flat = list(scalars)
        program = self.home.freeze("f", "m", [("y", (len(flat),), flat)], {"x": (120,)})
        return np.array(evaluate(program, {"x": [*self.values, *[None] * 120]}, EXACT)["y"])

    def of(self, m: Matrix) -> Exact:
        return self.value(x for row in m for x in row).reshape(3, 3)

    def six(self, P: ArticulatedInertia) -> Exact:
        """The whole 6x6."""
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
    """φ: a wrench of the link, in its axes, as the parent's (RK 2.14 with the turn)."""
    return np.block([[R, skew(shift) @ R], [0 * R, R]])


def same(found: Exact, expected: Exact) -> bool:
    return found.shape == np.shape(expected) and bool((found == expected).all())


ROTATIONS = ["", "x", "y", "z", "X", "p", "g", "zx", "zXz", "Zxz", "gz", "pz", "xyz", "ZXp"]
ANY_ROTATION = pytest.mark.parametrize("what", ROTATIONS)


def test_the_oracles_rotations_are_rotations() -> None:
    for what in ROTATIONS:
        _, R = Bench().rotation(what)
        assert same(R @ R.T, np.eye(3, dtype=int))


def test_vectors_and_matrices() -> None:
    b = Bench()
    (u, eu), (v, ev), (m, em), (n, en), (s, es) = (
        b.vector(),
        b.vector(),
        b.matrix(),
        b.matrix(),
        b.symmetric(),
    )
    k = b.scalar(Fraction(5, 3))
    for found, expected in (
        (u + v, eu + ev),
        (u - v, eu - ev),
        (-u, -eu),
        (u * k, eu * Fraction(5, 3)),
        (u.cross(v), skew(eu) @ ev),
        (times(m, v), em @ ev),
        (s.apply(v), es @ ev),
    ):
        assert same(b.value(found), expected)
    assert same(b.value([u.dot(v)]), np.array([eu @ ev]))
    assert same(b.of(transposed(m)), em.T)
    assert same(b.of(plus(m, n)), em + en)
    assert same(b.of(cross_rows(v, m)), skew(ev) @ em)
    assert same(b.of((s + s).rows), 2 * es)
    assert same(b.of((s - s).rows), 0 * es)


@ANY_ROTATION
def test_a_rotation_turns_vectors_both_ways(what: str) -> None:
    b = Bench()
    rotation, R = b.rotation(what)
    v, ev = b.vector()
    assert same(b.value(rotation.to_parent(v)), R @ ev)
    assert same(b.value(rotation.to_child(v)), R.T @ ev)
    assert same(b.of(rotation.matrix(b.home.one, b.home.zero)), R)


@ANY_ROTATION
def test_a_rotation_turns_matrices_on_both_sides(what: str) -> None:
    b = Bench()
    rotation, R = b.rotation(what)
    (m, em), (s, es) = b.matrix(), b.symmetric()
    assert same(b.of(rotation.matrix_to_parent(m)), R @ em @ R.T)
    assert same(b.of(rotation.symmetric_to_parent(s).rows), R @ es @ R.T)


def test_an_elementary_turn_of_a_symmetric_matrix_costs_four_multiplications_in_its_plane() -> None:
    b = Bench()
    rotation, _ = b.rotation("z")
    s, _ = b.symmetric()
    before = len(b.home.rows)
    rotation.symmetric_to_parent(s)
    assert [op for op, _, _ in b.home.rows[before:]].count(
        "mul"
    ) == 8  # 4 in the plane, 4 for the column across it


def rigid(b: Bench, massless: bool = False) -> tuple[RigidInertia, Exact]:
    """A rigid inertia and its 6x6 matrix by definition, [[tr(Σ)1 − Σ, h̃], [−h̃, m 1]] (RK 2.15)."""
    m = Fraction(0) if massless else Fraction(7, 2)
    (h, eh), (S, eS) = b.vector(), b.symmetric()
    made = RigidInertia.of(b.home.zero if massless else b.scalar(m), h, S)
    one = np.eye(3, dtype=int)
    return made, np.block([[np.trace(eS) * one - eS, skew(eh)], [-skew(eh), m * one]])


def moved(matrix: Exact, R: Exact, shift: Exact) -> Exact:
    """The same matter seen from the parent: φ M φᵀ."""
    return phi(R, shift) @ matrix @ phi(R, shift).T


@pytest.mark.parametrize("massless", [False, True])
def test_a_rigid_inertia_is_its_six_by_six(massless: bool) -> None:
    b = Bench()
    inertia, expected = rigid(b, massless)
    (w, ew), (v, ev) = b.vector(), b.vector()
    assert same(b.six(inertia.articulated()), expected)
    n, f = inertia.momentum(w, v)
    assert same(b.value([*n, *f]), expected @ np.concatenate([ew, ev]))
    assert same(b.of(inertia.moments().rows), expected[:3, :3])


@pytest.mark.parametrize("massless", [False, True])
@ANY_ROTATION
def test_a_rigid_inertia_moves_as_its_definition(what: str, massless: bool) -> None:
    b = Bench()
    (rotation, R), (shift, es), (inertia, matrix) = b.rotation(what), b.vector(), rigid(b, massless)
    assert same(b.six(inertia.to_parent(rotation, shift).articulated()), moved(matrix, R, es))


def test_rigid_inertias_add() -> None:
    b = Bench()
    (one, first), (two, second) = rigid(b), rigid(b, massless=True)
    (rotation, R), (shift, es) = b.rotation("zx"), b.vector()
    assert same(b.six((one + two).articulated()), first + second)
    assert same(
        b.six((two + one).to_parent(rotation, shift).articulated()), moved(first + second, R, es)
    )


def articulated(b: Bench) -> tuple[ArticulatedInertia, Exact]:
    (A, eA), (B, eB), (C, eC) = b.symmetric(), b.matrix(), b.symmetric()
    return ArticulatedInertia(A, B, C), np.block([[eA, eB], [eB.T, eC]])


@ANY_ROTATION
def test_an_articulated_inertia_moves_as_phi_p_phi_transposed(what: str) -> None:
    b = Bench()
    (rotation, R), (shift, es), (P, matrix) = b.rotation(what), b.vector(), articulated(b)
    assert same(b.six(P.to_parent(rotation, shift)), moved(matrix, R, es))


def test_an_articulated_inertia_by_entries_products_and_sums() -> None:
    b = Bench()
    (P, one), (Q, two) = articulated(b), articulated(b)
    (w, ew), (v, ev) = b.vector(), b.vector()
    n, f = P.apply(w, v)
    assert same(b.value([*n, *f]), one @ np.concatenate([ew, ev]))
    assert same(b.value(P.entry(i, j) for i in range(6) for j in range(6)).reshape(6, 6), one)
    assert same(b.six(P + Q), one + two)


@ANY_ROTATION
def test_wrench_to_parent_and_twist_to_child_are_transposes(what: str) -> None:
    """φ and φᵀ as matrices, so that power n·ω + f·v is the same on both sides of the shift."""
    b = Bench()
    (rotation, R), (shift, es) = b.rotation(what), b.vector()
    (n, en), (f, ef), (w, ew), (v, ev) = (b.vector() for _ in range(4))
    outer_n, outer_f = wrench_to_parent(rotation, shift, n, f)
    inner_w, inner_v = twist_to_child(rotation, shift, w, v)
    wrench, twist = b.value([*outer_n, *outer_f]), b.value([*inner_w, *inner_v])
    assert same(wrench, phi(R, es) @ np.concatenate([en, ef]))
    assert same(twist, phi(R, es).T @ np.concatenate([ew, ev]))
    assert wrench @ np.concatenate([ew, ev]) == np.concatenate([en, ef]) @ twist


def test_a_known_zero_moment_costs_nothing() -> None:
    """Structure is seen through: a diagonal inertia about a constant quarter turn is a permutation of its moments."""
    b = Bench()
    rotation, _ = b.rotation("p")
    values = [b.scalar(Fraction(x)) for x in (2, 3, 4)]
    zero = b.home.zero
    before = len(b.home.rows)
    turned = rotation.symmetric_to_parent(
        Symmetric(values[0], zero, zero, values[1], zero, values[2])
    )
    assert len(b.home.rows) == before
    assert [x.row for x in (turned.xx, turned.yy, turned.zz)] == [
        values[2].row,
        values[0].row,
        values[1].row,
    ]


@ANY_ROTATION
def test_a_shift_in_two_moves_as_the_whole_does(what: str) -> None:
    bench = Bench(seed=11)
    rotation, R = bench.rotation(what)
    (inner, a), (outer, b) = bench.vector(), bench.vector()
    split = SplitShift(outer + rotation.to_parent(inner), inner, outer)
    across = phi(R, b + R @ a)
    assert same(bench.value(split), b + R @ a)
    (n, n_), (f, f_), (w, w_), (v, v_) = (bench.vector() for _ in range(4))
    moment, force = wrench_to_parent(rotation, split, n, f)
    angular, linear = twist_to_child(rotation, split, w, v)
    assert same(bench.value([*moment, *force]), across @ np.concatenate([n_, f_]))
    assert same(bench.value([*angular, *linear]), across.T @ np.concatenate([w_, v_]))
    (A, A_), (B, B_), (C, C_), (h, _), (S, _) = (
        bench.symmetric(),
        bench.matrix(),
        bench.symmetric(),
        bench.vector(),
        bench.symmetric(),
    )
    moved = ArticulatedInertia(A, B, C).to_parent(rotation, split)
    assert same(bench.six(moved), across @ np.block([[A_, B_], [B_.T, C_]]) @ across.T)
    body = RigidInertia.of(bench.scalar(Fraction(7, 3)), h, S)
    assert same(
        bench.six(body.to_parent(rotation, split).articulated()),
        across @ bench.six(body.articulated()) @ across.T,
    )


def test_the_shift_of_a_twist_is_the_derived_transport() -> None:
    """The shift that methods call is B_ij of SA (4) as SymPy derives it; its transpose shifts wrenches."""
    B, c = twist_transport()
    home = Derivation({"x": 9})
    x = rationals(Random(3), 9)
    shift, w, v = (Vector(home.inputs["x"][k : k + 3]) for k in (0, 3, 6))
    moved = twist_to_child(NO_ROTATION, shift, w, v)
    moment, force = wrench_to_parent(NO_ROTATION, shift, w, v)
    made = home.freeze(
        "test", "test", [("y", (12,), [*moved[0], *moved[1], *moment, *force])], {"x": (9,)}
    )
    y = evaluate(made, {"x": x}, EXACT)["y"]
    numbers = {
        symbol: -sp.Rational(s.numerator, s.denominator) for symbol, s in zip(c, x[:3], strict=True)
    }  # c = c_j − c_i
    derived = B.subs(numbers)
    sixes = sp.Matrix([sp.Rational(s.numerator, s.denominator) for s in x[3:]])
    for shifted, matrix in ((y[:6], derived), (y[6:], derived.T)):
        assert list(matrix * sixes) == [sp.Rational(s.numerator, s.denominator) for s in shifted]
