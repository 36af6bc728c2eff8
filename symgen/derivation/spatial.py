"""Spatial algebra of the methods: vectors, rotations, twists, wrenches and inertias over Scalars.

    meaning                        here                RK (1988)        SA             FF (2013)
    ----------------------------   -----------------   --------------   ------------   ----------
    twist of a link                (w, v)              V(k)             t_i            V_i
    wrench on a link               (n, f)              f(k)             w_i            F_i
    rigid shift of a twist         twist_to_child        φᵀ(k+1,k)        B_ij           P_i,jᵀ
    joint motion subspace          H (angular first)   Hᵀ(k)            p_i            H_i
    link inertia                   RigidInertia        M(k)             M_i            I_i
    composite-body inertia         RigidInertia        R(k)             M̃_i            –
    articulated-body inertia       ArticulatedInertia  P(k)             M̂_i            –

Links are numbered base → tip, 1…n in names (RK's k = n+1−i). A twist is (angular, linear) at the
origin of the link's frame in its axes, a wrench is (moment, force) there. `to_parent` transforms
from a link's axes to its parent's, `to_child` back. Sweeps are named as RK name them: outward from
the base to the tips, inward from the tips to the base. Rotations are products of elementary
rotations, applied one after the other, which is cheapest: 4 multiplications and 2 additions per
elementary rotation and vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from symgen.derivation.scalars import Scalar


class Vector(tuple[Scalar, ...]):
    """Three Scalars."""

    __slots__ = ()

    def __new__(cls, entries: Iterable[Scalar]) -> Vector:
        return super().__new__(cls, entries)

    def __add__(self, other: Vector) -> Vector:  # type: ignore[override]
        return Vector([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Vector) -> Vector:
        return Vector([a - b for a, b in zip(self, other, strict=True)])

    def __neg__(self) -> Vector:
        return Vector([-a for a in self])

    def __mul__(self, s: Scalar) -> Vector:  # type: ignore[override]
        return Vector([a * s for a in self])

    def cross(self, b: Vector) -> Vector:
        a = self
        return Vector(
            (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
        )

    def dot(self, b: Vector) -> Scalar:
        return self[0].derivation.dot(self, b)

    @property
    def is_zero(self) -> bool:
        return all(a.is_zero for a in self)


class SplitShift(Vector):
    """A shift in two parts: `inner` in the axes of the link, before its rotation, `outer` in those
    of the parent.

    As a Vector it is the total, outer + R inner. For a link with a twisted axis the total has three
    components, whereas two lengths along two axes are cheaper.
    """

    inner: Vector
    outer: Vector

    def __new__(cls, total: Iterable[Scalar], inner: Vector, outer: Vector) -> SplitShift:
        vector = super().__new__(cls, total)
        assert isinstance(vector, SplitShift)
        vector.inner, vector.outer = inner, outer
        return vector


Matrix = tuple[Vector, Vector, Vector]
"""A 3x3 matrix by rows."""


def transposed(m: Matrix) -> Matrix:
    return (Vector([r[0] for r in m]), Vector([r[1] for r in m]), Vector([r[2] for r in m]))


def times(m: Matrix, v: Vector) -> Vector:
    return Vector([row.dot(v) for row in m])


def plus(a: Matrix, b: Matrix) -> Matrix:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def cross_rows(v: Vector, m: Matrix) -> Matrix:
    """Return ṽ m: the cross product of v with each column."""
    a, b, c = m
    return (c * v[1] - b * v[2], a * v[2] - c * v[0], b * v[0] - a * v[1])


@dataclass(frozen=True)
class Symmetric:
    """A symmetric 3x3 matrix."""

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yy: Scalar
    yz: Scalar
    zz: Scalar

    @property
    def entries(self) -> tuple[Scalar, ...]:
        return (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)

    @property
    def rows(self) -> Matrix:
        return (
            Vector((self.xx, self.xy, self.xz)),
            Vector((self.xy, self.yy, self.yz)),
            Vector((self.xz, self.yz, self.zz)),
        )

    @staticmethod
    def of(m: Matrix) -> Symmetric:
        """Build it from the upper triangle of a matrix that is known to be symmetric."""
        return Symmetric(m[0][0], m[0][1], m[0][2], m[1][1], m[1][2], m[2][2])

    def __add__(self, other: Symmetric) -> Symmetric:
        return Symmetric(*(a + b for a, b in zip(self.entries, other.entries, strict=True)))

    def __sub__(self, other: Symmetric) -> Symmetric:
        return Symmetric(*(a - b for a, b in zip(self.entries, other.entries, strict=True)))

    def apply(self, v: Vector) -> Vector:
        return times(self.rows, v)


def symmetric_outer(a: Vector, b: Vector) -> Symmetric:
    """Return a bᵀ + b aᵀ; on the diagonal b is doubled first, which is free if it is constant."""
    return Symmetric(
        a[0] * (b[0] + b[0]),
        a[0] * b[1] + a[1] * b[0],
        a[0] * b[2] + a[2] * b[0],
        a[1] * (b[1] + b[1]),
        a[1] * b[2] + a[2] * b[1],
        a[2] * (b[2] + b[2]),
    )


class Rotation:
    """A product of 3x3 factors, most of them elementary rotations: x_outer = F1 F2 … x."""

    def __init__(self, factors: Sequence[Matrix]) -> None:
        self.factors = [f for f in factors if not _is_identity(f)]

    @property
    def keeps_z(self) -> bool:
        """True if the rotation maps the z axis to itself or its opposite."""
        return all(factor[2][2].equals(1) or factor[2][2].equals(-1) for factor in self.factors)

    @property
    def spins(self) -> bool:
        """True if the rotation keeps the z axis and contains a variable angle."""
        return self.keeps_z and not all(
            x.is_constant for factor in self.factors for row in factor for x in row
        )

    @property
    def along_z(self) -> int:
        """1, or -1 if z is reversed, for a rotation that keeps the z axis."""
        return prod(-1 if factor[2][2].equals(-1) else 1 for factor in self.factors)

    def transposed(self) -> Rotation:
        """Return the inverse rotation."""
        return Rotation([transposed(factor) for factor in reversed(self.factors)])

    def to_parent(self, v: Vector) -> Vector:
        """Return a vector in the axes of the parent."""
        for factor in reversed(self.factors):
            v = times(factor, v)
        return v

    def to_child(self, v: Vector) -> Vector:
        """Return a vector in the axes of the link."""
        for factor in self.factors:
            v = times(transposed(factor), v)
        return v

    def symmetric_to_parent(self, s: Symmetric) -> Symmetric:
        """Return R S Rᵀ of a symmetric matrix."""
        return Symmetric.of(self.matrix_to_parent(s.rows, symmetric=True))

    def matrix_to_parent(self, m: Matrix, symmetric: bool = False) -> Matrix:
        """Return R m Rᵀ of any 3x3 matrix."""
        for factor in reversed(self.factors):
            m = _rotate_matrix(factor, m, symmetric)
        return m

    def matrix(self, unit: Scalar, zero: Scalar) -> Matrix:
        """Return the rotation as one matrix."""
        columns = [
            self.to_parent(Vector(unit if i == j else zero for i in range(3))) for j in range(3)
        ]
        return transposed((columns[0], columns[1], columns[2]))


NO_ROTATION = Rotation([])
"""The identity."""


def _is_identity(m: Matrix) -> bool:
    return all(m[i][j].equals(1 if i == j else 0) for i in range(3) for j in range(3))


def _axis_of(m: Matrix) -> int | None:
    """Return the coordinate axis of an elementary rotation, None for any other matrix."""
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        if m[axis][axis].equals(1) and all(
            m[x][axis].is_zero and m[axis][x].is_zero for x in (i, j)
        ):
            return axis
    return None


def _rotate_matrix(factor: Matrix, m: Matrix, symmetric: bool) -> Matrix:
    """Return factor m factorᵀ.

    For an elementary rotation (c, s) and the block [[a, b], [e, d]] of m in its plane, let u = s(a
    − d) + c(b + e). The result is [[a − su, cu − e], [cu − b, d + su]]: 4 multiplications instead
    of 8, since trace and skew part are invariant.
    """
    axis = _axis_of(factor)
    if axis is None or (
        factor[(axis + 1) % 3][(axis + 1) % 3].is_constant
        and factor[(axis + 1) % 3][(axis + 1) % 3].is_zero
    ):
        first, second, third = transposed(m)
        half = transposed((times(factor, first), times(factor, second), times(factor, third)))
        return (times(factor, half[0]), times(factor, half[1]), times(factor, half[2]))
    z, x, y = axis, (axis + 1) % 3, (axis + 2) % 3
    c, s = factor[x][x], factor[y][x]
    a, b, e, d = m[x][x], m[x][y], m[y][x], m[y][y]
    u = s * (a - d) + c * (b + e)
    su, cu = s * u, c * u
    out = [[m[i][j] for j in range(3)] for i in range(3)]
    out[x][x], out[y][y], out[x][y] = a - su, d + su, cu - e
    out[y][x] = out[x][y] if symmetric else cu - b
    out[x][z], out[y][z] = c * m[x][z] - s * m[y][z], s * m[x][z] + c * m[y][z]
    if symmetric:
        out[z][x], out[z][y] = out[x][z], out[y][z]
    else:
        out[z][x], out[z][y] = c * m[z][x] - s * m[z][y], s * m[z][x] + c * m[z][y]
    return (Vector(out[0]), Vector(out[1]), Vector(out[2]))


@dataclass(frozen=True)
class RigidInertia:
    """Mass m, first moment h = ∫ρ r, second moment S = ∫ρ r rᵀ (Σ), about the frame's origin;
    `about_z` is I_zz.
    """

    m: Scalar
    h: Vector
    S: Symmetric
    about_z: Scalar

    @staticmethod
    def of(m: Scalar, h: Vector, S: Symmetric) -> RigidInertia:
        return RigidInertia(m, h, S, S.xx + S.yy)

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(
            self.m + other.m, self.h + other.h, self.S + other.S, self.about_z + other.about_z
        )

    def moments(self) -> Symmetric:
        """Return I = tr(Σ)1 − Σ.

        A rotation about z does not change I_zz. Along parallel axes, where Σ_zz often stays
        constant, I_zz is therefore transformed by itself, and the rest of Σ may not be needed.
        """
        S = self.S
        sum_of_squares, tracked = S.xx + S.yy, self.about_z
        zz = S.xx.derivation.either(
            *(tracked, sum_of_squares) if S.zz.is_constant else (sum_of_squares, tracked)
        )
        return Symmetric(S.yy + S.zz, -S.xy, -S.xz, S.xx + S.zz, -S.yz, zz)

    def momentum(self, w: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return (n, f) = inertia · twist (w, v)."""
        return self.moments().apply(w) + self.h.cross(v), v * self.m + w.cross(self.h)

    def to_parent(self, rotation: Rotation, shift: Vector) -> RigidInertia:
        """Return the inertia in the parent's frame: Σ' = RΣRᵀ + h'ℓᵀ + ℓh'ᵀ + m ℓℓᵀ with h' = R h
        (SA 15c).
        """
        if isinstance(shift, SplitShift):
            return self.to_parent(NO_ROTATION, shift.inner).to_parent(rotation, shift.outer)
        h, S = rotation.to_parent(self.h), rotation.symmetric_to_parent(self.S)
        about_z = self.about_z if rotation.keeps_z else S.xx + S.yy
        mixed, product = symmetric_outer(h, shift), h[0] * shift[0] + h[1] * shift[1]
        if rotation.spins:
            arm = rotation.to_child(shift)
            product = product.derivation.either(product, self.h[0] * arm[0] + self.h[1] * arm[1])
        S, about_z = (
            S + mixed,
            product.derivation.either(about_z + (mixed.xx + mixed.yy), about_z + product + product),
        )
        if self.m.is_zero:
            return RigidInertia(self.m, h, S, about_z)
        moment = shift * self.m
        outer = Symmetric(
            *(moment[i] * shift[j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
        )
        return RigidInertia(self.m, h + moment, S + outer, about_z + (outer.xx + outer.yy))

    def articulated(self) -> ArticulatedInertia:
        """Return the inertia as a 6x6 matrix (RK 2.15): [[I, h̃], [−h̃, m 1]]."""
        zero = self.m * 0
        h = self.h
        skew = (
            Vector((zero, -h[2], h[1])),
            Vector((h[2], zero, -h[0])),
            Vector((-h[1], h[0], zero)),
        )
        return ArticulatedInertia(
            self.moments(), skew, Symmetric(self.m, zero, zero, self.m, zero, self.m)
        )


@dataclass(frozen=True)
class ArticulatedInertia:
    """A symmetric 6x6 inertia: moment = A ẇ + B v̇, force = Bᵀ ẇ + C v̇."""

    A: Symmetric
    B: Matrix
    C: Symmetric

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.A + other.A, plus(self.B, other.B), self.C + other.C)

    def entry(self, i: int, j: int) -> Scalar:
        i, j = min(i, j), max(i, j)
        if j < 3:
            return self.A.rows[i][j]
        return self.C.rows[i - 3][j - 3] if i >= 3 else self.B[i][j - 3]

    def apply(self, w: Vector, v: Vector) -> tuple[Vector, Vector]:
        return self.A.apply(w) + times(self.B, v), times(transposed(self.B), w) + self.C.apply(v)

    def to_parent(self, rotation: Rotation, shift: Vector) -> ArticulatedInertia:
        """Return φ P φᵀ (RK 4.5) in the parent's axes: B' = B + ℓ̃C, A' = A + ℓ̃Bᵀ + B'ℓ̃ᵀ."""
        if isinstance(shift, SplitShift):
            return self.to_parent(NO_ROTATION, shift.inner).to_parent(rotation, shift.outer)
        A, B, C = (
            rotation.symmetric_to_parent(self.A),
            rotation.matrix_to_parent(self.B),
            rotation.symmetric_to_parent(self.C),
        )
        after = plus(B, cross_rows(shift, C.rows))
        left = cross_rows(shift, transposed(B))
        right = transposed(cross_rows(shift, transposed(after)))
        return ArticulatedInertia(A + Symmetric.of(left) + Symmetric.of(right), after, C)


@dataclass(frozen=True)
class Mobility:
    """A symmetric 6x6 that maps a wrench to a twist (Ω): ω = A n + B f, v = Bᵀ n + C f, as J M⁻¹ Jᵀ
    does.
    """

    A: Symmetric
    B: Matrix
    C: Symmetric

    def entry(self, i: int, j: int) -> Scalar:
        i, j = min(i, j), max(i, j)
        if j < 3:
            return self.A.rows[i][j]
        return self.C.rows[i - 3][j - 3] if i >= 3 else self.B[i][j - 3]

    def apply(self, n: Vector, f: Vector) -> tuple[Vector, Vector]:
        """Return the twist (w, v) of a wrench (n, f)."""
        return self.A.apply(n) + times(self.B, f), times(transposed(self.B), n) + self.C.apply(f)

    def shifted(self, shift: Vector) -> Mobility:
        """Return φᵀ Ω φ at the point `shift`: B' = B + A ℓ̃, C' = C − ℓ̃ B + B'ᵀ ℓ̃ (φ as in RK
        2.16).
        """
        B = transposed(self.B)
        after = plus(B, cross_rows(-shift, self.A.rows))
        left = cross_rows(-shift, transposed(B))
        right = transposed(cross_rows(-shift, transposed(after)))
        return Mobility(
            self.A, transposed(after), self.C + Symmetric.of(left) + Symmetric.of(right)
        )

    def rotated(self, rotation: Rotation) -> Mobility:
        """Return Ω in the outer axes of the rotation."""
        return Mobility(
            rotation.symmetric_to_parent(self.A),
            rotation.matrix_to_parent(self.B),
            rotation.symmetric_to_parent(self.C),
        )

    def to_child(self, rotation: Rotation, shift: Vector) -> Mobility:
        """Return φᵀ(k+1,k) Ω φ(k+1,k) in the link's axes."""
        return self.shifted(shift).rotated(rotation.transposed())


def wrench_to_parent(
    rotation: Rotation, shift: Vector, n: Vector, f: Vector
) -> tuple[Vector, Vector]:
    """Return φ(k+1,k) · (n, f): in the parent's axes, with the moment about the parent's origin."""
    if isinstance(shift, SplitShift):
        return wrench_to_parent(rotation, shift.outer, n + shift.inner.cross(f), f)
    force = rotation.to_parent(f)
    moment = rotation.to_parent(n) + shift.cross(force)
    if rotation.spins:  # the moment about z is equal in the axes of the link
        about_z = (n[2] + rotation.to_child(shift).cross(f)[2]) * rotation.along_z
        moment = Vector((moment[0], moment[1], about_z.derivation.either(moment[2], about_z)))
    return moment, force


def twist_to_child(
    rotation: Rotation, shift: Vector, w: Vector, v: Vector
) -> tuple[Vector, Vector]:
    """Return φᵀ(k+1,k) · (w, v): at the link's origin, in the link's axes."""
    if isinstance(shift, SplitShift):
        w, v = twist_to_child(rotation, shift.outer, w, v)
        return w, v + w.cross(shift.inner)
    return rotation.to_child(w), rotation.to_child(v + w.cross(shift))
