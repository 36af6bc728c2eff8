"""The hard/soft partition of RK's operators proved in space: the bridge, Fixman's theorem, the invariant Schur complement.

With 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ and W(k) the rows that complete H(k) to an orthonormal basis, H_aa = H𝓐Hᵀ, H_ab = H𝓐𝓦ᵀ and
H_bb = 𝓦𝓐𝓦ᵀ. For N = 2 and 3 joint coordinates and masses are symbols, tan(q/2) for a joint that turns; rationals up to N = 8.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from random import Random
from typing import Any

import numpy as np
import pytest

from symgen.reference.precision import Array
from tests.shared.operators import Operators, rational_chain, spatial_chain
from tests.shared.rational_functions import determinant
from tests.shared.robots_for_tests import rationals

CHAINS = ["rr", "rp", "pr", "rrr", "rrp", "rpr", "prr", (1, 0), (2, 0), (3, 1), (5, 0), (8, 0)]
EVERY = pytest.mark.parametrize("made", [pytest.param(c, id=str(c)) for c in CHAINS])


def inverse(m: Array) -> Array:
    """Invert a small positive definite matrix by Gauss-Jordan elimination."""
    n = len(m)
    rows = np.concatenate([m, np.array(np.eye(n, dtype=int), dtype=object)], axis=1)
    for k in range(n):
        rows[k] = rows[k] * (1 / rows[k, k])
        for r in range(n):
            if r != k:
                rows[r] = rows[r] - rows[k] * rows[r, k]
    return rows[:, n:]


def forbidden(axis: Array) -> Array:
    """W(k), 5 x 6: the other rows of the reflection that swaps H(k), a unit vector, with the third axis."""
    v = axis[0] - np.array([0, 0, 1, 0, 0, 0], dtype=object)
    identity, size = np.array(np.eye(6, dtype=int), dtype=object), v @ v
    reflection = identity if size == 0 else identity - np.outer(v, v) * (Fraction(2) / size)
    return np.delete(reflection, 2, axis=0)


class Partition:
    """𝓐 of a chain and its parts."""

    def __init__(self, o: Operators) -> None:
        self.o, self.W = o, o.diagonal([forbidden(axis) for axis in o.axes])

    @cached_property
    def A(self) -> Array:
        """φ⁻ᵀ 𝓜⁻¹ φ⁻¹ with φ⁻¹ = 1 − SΔ, (a.11)."""
        back = self.o.one() - self.o.S @ self.o.diagonal(list(self.o.steps))
        return back.T @ self.o.diagonal([inverse(m) for m in self.o.inertias]) @ back

    @cached_property
    def aa(self) -> Array:
        return self.o.H @ self.A @ self.o.H.T

    @cached_property
    def ab(self) -> Array:
        return self.o.H @ self.A @ self.W.T

    @cached_property
    def bb(self) -> Array:
        return self.W @ self.A @ self.W.T

    @cached_property
    def forces(self) -> Array:
        """𝓦 φ 𝓜 φᵀ Hᵀ: what the joints do to the links in their forbidden directions, for unit accelerations q̈."""
        return self.W @ self.o.phi @ self.o.M @ self.o.phi.T @ self.o.H.T


@cache
def partition(made: Any) -> Partition:
    return Partition(spatial_chain(made) if isinstance(made, str) else rational_chain(*made))


@EVERY
def test_the_subspaces_are_orthonormal_and_the_operator_is_an_inverse(made: Any) -> None:
    p = partition(made)
    o, N = p.o, p.o.N
    assert (p.W @ p.W.T - o.one(5 * N) == 0).all()
    assert (p.W @ o.H.T == 0).all()
    assert (o.H @ o.H.T - o.one(N) == 0).all()
    assert (p.A @ o.phi @ o.M @ o.phi.T - o.one() == 0).all()


@EVERY
def test_the_bridge(made: Any) -> None:
    """M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ, and −H_bb⁻¹ H_abᵀ τ are the interbody constraint forces that go with q̈ = M⁻¹ τ.

    Both at once, without an inverse: H_bb F = −H_abᵀ M and H_aa M + H_ab F = 1 for the forces F of unit accelerations.
    """
    p = partition(made)
    assert (p.bb @ p.forces + p.ab.T @ p.o.mass == 0).all()
    assert (p.aa @ p.o.mass + p.ab @ p.forces - p.o.one(p.o.N) == 0).all()


@EVERY
def test_the_parts_are_block_tridiagonal(made: Any) -> None:
    p = partition(made)
    for part, rows, columns in ((p.aa, 1, 1), (p.ab, 1, 5), (p.bb, 5, 5)):
        for i in range(p.o.N):
            for j in range(p.o.N):
                block = part[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns]
                assert abs(i - j) <= 1 or (block == 0).all()


@EVERY
def test_fixmans_theorem(made: Any) -> None:
    """det M = det G · det H_bb = Π D(k), with det G = det 𝓜 as (soft, hard) rates are an orthonormal change of twists."""
    p = partition(made)
    metric = pivots = Fraction(1)
    for m, (_, D, _, _) in zip(p.o.inertias, p.o.riccati, strict=True):
        metric, pivots = metric * determinant(m), pivots * D
    assert determinant(p.o.mass) == pivots
    assert metric * determinant(p.bb) == pivots


@EVERY
def test_the_schur_complement_does_not_see_hard_directions_in_the_soft_rows(made: Any) -> None:
    """For soft rows H + K𝓦 the blocks are others, the constraint forces differ by Kᵀ M q̈, the Schur complement is M⁻¹ again."""
    p = partition(made)
    N, mass = p.o.N, p.o.mass
    K = np.array([rationals(Random(f"{r}/{N}"), 5 * N) for r in range(N)], dtype=object)
    soft = p.o.H + K @ p.W
    aa, ab = soft @ p.A @ soft.T, soft @ p.A @ p.W.T
    forces = p.forces - K.T @ mass
    assert not (aa - p.aa == 0).all()
    assert not (ab - p.ab == 0).all()
    assert (p.bb @ forces + ab.T @ mass == 0).all()
    assert (aa @ mass + ab @ forces - p.o.one(N) == 0).all()


def test_a_wrong_bridge_is_seen() -> None:
    """The proofs are not empty: with one entry of 𝓜 changed after 𝓐 was formed nothing above holds."""
    p = Partition(spatial_chain("rr"))
    assert p.A is not None
    p.o.M[0, 0] = p.o.M[0, 0] * 2
    assert not (p.bb @ p.forces + p.ab.T @ p.o.mass == 0).all()
    assert not (p.aa @ p.o.mass + p.ab @ p.forces - p.o.one(2) == 0).all()
