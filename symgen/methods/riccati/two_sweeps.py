"""Forward dynamics in two sweeps, which RK announce at the end of §5 and do not give.

The filter (5.16) needs the biases b(k) (2.23) and a(k) (2.19), which contain angular velocities.
FD4 computes these in a sweep of their own. Here the filter carries every wrench as a polynomial of
degree two in the angular velocity of its link, and the smoother (5.17) computes the velocities and
evaluates the innovations. `symgen.papers.rk_two_sweeps` states the algorithm, (Q1)-(Q10), with its
proof.

A polynomial is written in ω and [ω]×². The point at ℓ on a link accelerates by U ℓ relative to the
origin, with U = [ω̇]× + [ω]×², and the wrench of a rigid body is (the skew part of U Σ, U h). In
terms of ω ωᵀ both would have more coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import (
    NO_ROTATION,
    ArticulatedInertia,
    Matrix,
    RigidInertia,
    Rotation,
    SplitShift,
    Symmetric,
    Vector,
    symmetric_outer,
    times,
    transposed,
    wrench_to_parent,
)
from symgen.methods.riccati.dynamics import Spatial
from symgen.methods.riccati.filter import UPPER, Filter, riccati_sweep


@dataclass(frozen=True)
class Form:
    """The polynomial c + l·ω + ½⟨S, [ω]×²⟩ in an angular velocity ω, with ⟨S, X⟩ = Σ S_ij X_ij."""

    constant: Scalar
    linear: Vector
    square: Symmetric

    @staticmethod
    def of(coefficients: Sequence[Scalar]) -> Form:
        """Build it from its ten coefficients."""
        return Form(coefficients[0], Vector(coefficients[1:4]), Symmetric(*coefficients[4:]))

    @property
    def coefficients(self) -> tuple[Scalar, ...]:
        """The ten coefficients c, l and S."""
        return (self.constant, *self.linear, *self.square.entries)

    def __add__(self, other: Form) -> Form:
        return Form(
            self.constant + other.constant, self.linear + other.linear, self.square + other.square
        )

    def __mul__(self, s: Scalar) -> Form:
        return Form.of([x * s for x in self.coefficients])

    def value(self, omega: Vector, square: Symmetric) -> Scalar:
        """Return the value at ω; `square` is [ω]×²."""
        S, X = self.square, square
        diagonal = Vector((S.xx, S.yy, S.zz)).dot(Vector((X.xx, X.yy, X.zz)))
        mixed = Vector((S.xy, S.xz, S.yz)).dot(Vector((X.xy, X.xz, X.yz)))
        half = self.constant.derivation.constant(Fraction(1, 2))
        return self.constant + self.linear.dot(omega) + (mixed + diagonal * half)


WrenchForm = tuple[Form, ...]
"""The six entries (moment, force) of a wrench as polynomials."""


def forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return θ̈ by one sweep tip → base and one base → tip."""
    filters = riccati_sweep(linkage)
    return (_smoother(linkage, filters, _filter(linkage, filters)),)


# -- tip → base: innovations as polynomials in the angular velocity of their link ------------------


def _filter(linkage: Linkage, filters: Sequence[Filter]) -> list[Form]:
    """Return ε of each degree of freedom, (Q5)-(Q7) for (5.16)."""
    tau, innovations = linkage.inputs["tau"], {}
    z = [
        _with_load(_rigid_form(linkage, i), *linkage.loads[i]) for i in range(len(linkage))
    ]  # (Q3), (2.23)
    for i in reversed(range(len(linkage))):
        link, wrench = linkage.links[i], z[i]
        linkage.step(i, "filter of polynomials in the angular velocity, RK (5.16), (2.23)")
        _name(linkage, i, wrench)
        for dof in reversed(link.dofs):
            epsilon = _innovation(linkage, dof, tau[dof.index], wrench)
            innovations[dof.index] = epsilon
            if link.parent >= 0 or dof.column > 0:
                wrench = _after_joint(linkage, dof, filters[dof.index], wrench, epsilon)
        if link.parent >= 0:
            after = filters[link.dofs[0].index].after
            wrench = _before_joint(linkage, i, wrench, after)  # (Q7)
            moved = _to_parent(link.rotation, link.shift, wrench, after)
            z[link.parent] = tuple(a + b for a, b in zip(z[link.parent], moved, strict=True))
    return [innovations[k] for k in range(len(filters))]


def _name(linkage: Linkage, i: int, wrench: WrenchForm) -> None:
    """Name coefficients: z constant, zn and zf of ω in moment and force, zww1 … zww6 of [ω]×²."""
    linkage.name("z", i, Vector(form.constant for form in wrench))
    for symbol, forms in (("zn", wrench[:3]), ("zf", wrench[3:])):
        x, y, z = (form.linear for form in forms)
        linkage.name(symbol, i, (x, y, z))
    for row, form in enumerate(wrench, 1):
        linkage.name(f"zww{row}", i, form.square)


def _rigid_form(linkage: Linkage, i: int) -> WrenchForm:
    """Return b(k) of (2.23) as a form: the force [ω]×² h, and the skew part of [ω]×² Σ."""
    inertia: RigidInertia = linkage.inertia[i]
    axes = [Vector(linkage.one if r == c else linkage.zero for c in range(3)) for r in range(3)]
    squares = []
    for r in range(3):
        b, c = (r + 1) % 3, (r + 2) % 3
        squares.append(
            symmetric_outer(inertia.S.rows[b], axes[c])
            - symmetric_outer(inertia.S.rows[c], axes[b])
        )
    squares += [symmetric_outer(inertia.h, axis) for axis in axes]
    return tuple(Form(linkage.zero, linkage.zeros, square) for square in squares)


def _with_load(wrench: WrenchForm, n: Vector, f: Vector) -> WrenchForm:
    """Return the form less a constant wrench: a run-time wrench is −f(0) of (2.28)."""
    return tuple(
        Form(form.constant - entry, form.linear, form.square)
        for form, entry in zip(wrench, (*n, *f), strict=True)
    )


def _innovation(linkage: Linkage, dof: Dof, tau: Scalar, wrench: WrenchForm) -> Form:
    """Return ε = T·1̂ − H Z."""
    H = (*dof.H_angular, *dof.H_linear)
    coefficients = [
        -linkage.dot(H, column)
        for column in zip(*(form.coefficients for form in wrench), strict=True)
    ]
    coefficients[0] = tau + coefficients[0]
    if not tau.is_zero:  # −H z alone would name a row of z
        linkage.name("epsilon", dof.index, coefficients[0])
    return Form.of(coefficients)


def _after_joint(
    linkage: Linkage, dof: Dof, gain: Filter, wrench: WrenchForm, epsilon: Form
) -> WrenchForm:
    """Return Z + G ε. Without an armature H G = 1, so that H (Z + G ε) is T; if H is a unit vector,
    that entry is set.
    """
    H = (*dof.H_angular, *dof.H_linear)
    nonzero = [r for r in range(6) if not H[r].is_zero]
    exact = len(nonzero) == 1 and linkage.drives[dof.index].armature.is_zero
    result = [form + epsilon * G for form, G in zip(wrench, (*gain.G[0], *gain.G[1]), strict=True)]
    if exact and H[nonzero[0]].equals(1):
        zero = linkage.zero
        result[nonzero[0]] = Form.of([linkage.inputs["tau"][dof.index], *[zero] * 9])
    return tuple(result)


def _before_joint(
    linkage: Linkage, i: int, wrench: WrenchForm, after: ArticulatedInertia
) -> WrenchForm:
    """Return (Z + G ε)∘C + (1 − G H) P a without the part of a that the arm causes: a polynomial in
    the parent's angular velocity, in the axes of the link.

    With q = (1 0) Hᵀ θ̇, [w + q]×² = [w]×² + [w]×[q]× + [q]×[w]× + [q]×². `after` is (1 − G H) P.
    """
    rates, link = linkage.inputs["v"], linkage.links[i]
    turn, slide = link.turning(rates), link.sliding(rates)
    half = linkage.scalar(Fraction(1, 2))
    products = Symmetric(
        turn[0] * turn[0] * half,
        turn[0] * turn[1],
        turn[0] * turn[2],
        turn[1] * turn[1] * half,
        turn[1] * turn[2],
        turn[2] * turn[2] * half,
    )
    twist_of_slide, carried = slide + slide, turn.cross(slide)
    result = []
    for form, (angular, linear) in zip(wrench, _inertia_rows(after), strict=True):
        S = form.square
        matrix = Symmetric(-(S.yy + S.zz), S.xy, S.xz, -(S.xx + S.zz), S.yz, -(S.xx + S.yy))
        # p·(w × q) and p·(w × 2s) of a(k) are w·(q × p) and w·(2s × p)
        mixed = times(_plus_cross(matrix.rows, -angular), turn) + twist_of_slide.cross(linear)
        constant = form.constant + form.linear.dot(turn) + linear.dot(carried)
        constant = constant + linkage.dot(matrix.entries, products.entries)
        result.append(Form(constant, form.linear + mixed, S))
    return tuple(result)


def _inertia_rows(P: ArticulatedInertia) -> list[Spatial]:
    """Return the six rows of P as (angular, linear) parts."""
    angular, linear = (*P.A.rows, *transposed(P.B)), (*P.B, *P.C.rows)
    return list(zip(angular, linear, strict=True))


def _plus_cross(m: Matrix, v: Vector) -> Matrix:
    """Return m + [v]×."""
    return (
        Vector((m[0][0], m[0][1] - v[2], m[0][2] + v[1])),
        Vector((m[1][0] + v[2], m[1][1], m[1][2] - v[0])),
        Vector((m[2][0] - v[1], m[2][1] + v[0], m[2][2])),
    )


def _to_parent(
    rotation: Rotation, shift: Vector, wrench: WrenchForm, inertia: ArticulatedInertia
) -> WrenchForm:
    """Return φ Z⁺∘E, with the wrench of the acceleration [ω]×² ℓ that the arm causes, (2.19).

    `inertia` is (1 − G H) P, at the end of the arm.
    """
    if isinstance(shift, SplitShift):
        inner = _to_parent(NO_ROTATION, shift.inner, wrench, inertia)
        return _to_parent(rotation, shift.outer, inner, inertia.to_parent(NO_ROTATION, shift.inner))
    n, f = _rotated(rotation, wrench[:3]), _rotated(rotation, wrench[3:])
    columns = _shifted(
        rotation, shift, n, f, [_rotated_variable(rotation, form) for form in wrench[3:]]
    )
    columns[0] = wrench_to_parent(
        rotation,
        shift,
        Vector(form.constant for form in wrench[:3]),
        Vector(form.constant for form in wrench[3:]),
    )
    forms = [Form.of(row) for row in zip(*((*n, *f) for n, f in columns), strict=True)]
    rows = _inertia_rows(inertia.to_parent(rotation, shift))
    return tuple(
        Form(form.constant, form.linear, form.square + symmetric_outer(linear, shift))
        for form, (_, linear) in zip(forms, rows, strict=True)
    )


def _shifted(
    rotation: Rotation,
    shift: Vector,
    n: Sequence[Form],
    f: Sequence[Form],
    unrotated: Sequence[Form],
) -> list[Spatial]:
    """Return the ten wrenches of coefficients with the moment about the parent's origin.

    As in `wrench_to_parent`, the moment about z may be taken in the axes of the link, where the
    force has the entries `unrotated`.
    """
    columns = []
    for moment, force, inner in zip(
        *(zip(*(form.coefficients for form in forms), strict=True) for forms in (n, f, unrotated)),
        strict=True,
    ):
        x, y, z = Vector(moment) + shift.cross(Vector(force))
        if rotation.spins:
            lever = rotation.to_child(shift).cross(Vector(inner))
            about_z = moment[2] + lever[2] * rotation.along_z
            z = about_z.derivation.either(z, about_z)
        columns.append((Vector((x, y, z)), Vector(force)))
    return columns


def _rotated_variable(rotation: Rotation, form: Form) -> Form:
    """Return the form in the angular velocity in the outer axes of a rotation."""
    return Form(
        form.constant, rotation.to_parent(form.linear), rotation.symmetric_to_parent(form.square)
    )


def _rotated(rotation: Rotation, vector: Sequence[Form]) -> list[Form]:
    """Return a vector of three forms in the outer axes of a rotation, which rotates its entries and
    the angular velocity.
    """
    constants = rotation.to_parent(Vector(form.constant for form in vector))
    x, y, z = (form.linear for form in vector)
    linear = rotation.matrix_to_parent((x, y, z))
    squares = [form.square for form in vector]
    for factor in reversed(rotation.factors):
        squares = _rotate_squares(factor, squares)
    return [Form(*coefficients) for coefficients in zip(constants, linear, squares, strict=True)]


def _rotate_squares(factor: Matrix, squares: Sequence[Symmetric]) -> list[Symmetric]:
    """Return Σ_s F_rs F S_s Fᵀ for r = 1, 2, 3: a vector of symmetric matrices in the outer axes of
    F.

    For an elementary rotation about axis k, the entries (k, j) of S_r are a 3x3 matrix with rows r
    and columns j. Its block in the plane of rotation takes 4 multiplications, and not 16.
    """
    rotation = Rotation([factor])
    axis = next((k for k in range(3) if factor[k][k].equals(1)), None)
    if axis is None:
        return _rotate_entries(rotation, [rotation.symmetric_to_parent(S) for S in squares])
    x, y, z = (S.rows[axis] for S in squares)
    with_axis = rotation.matrix_to_parent((x, y, z))
    zero = factor[0][0] * 0
    in_plane = _rotate_entries(
        rotation,
        [
            rotation.symmetric_to_parent(
                Symmetric(
                    *(
                        zero if axis in pair else entry
                        for pair, entry in zip(UPPER, S.entries, strict=True)
                    )
                )
            )
            for S in squares
        ],
    )
    return [
        Symmetric(
            *(
                with_axis[r][sum(pair) - axis] if axis in pair else entry
                for pair, entry in zip(UPPER, in_plane[r].entries, strict=True)
            )
        )
        for r in range(3)
    ]


def _rotate_entries(rotation: Rotation, squares: Sequence[Symmetric]) -> list[Symmetric]:
    """Return Σ_s R_rs S_s: the combinations of three matrices by the rows of a rotation."""
    entries = [
        rotation.to_parent(Vector(column))
        for column in zip(*(S.entries for S in squares), strict=True)
    ]
    return [Symmetric(*row) for row in zip(*entries, strict=True)]


# -- base → tip: velocities, accelerations and the values of the innovations -----------------------


def _smoother(
    linkage: Linkage, filters: Sequence[Filter], innovations: Sequence[Form]
) -> list[Scalar]:
    """Return θ̈ of (5.17), with the angular velocities (2.2) of the same sweep: (Q8)-(Q10)."""
    rates, result = linkage.inputs["v"], []
    motions: list[tuple[Vector, Symmetric, Spatial]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity and smoother, RK (2.2), (5.17)")
        turn, slide = link.turning(rates), link.sliding(rates)
        if link.parent >= 0:
            omega, square, acceleration = motions[link.parent]
            omega = link.rotation.to_child(omega)
            w, v = _acceleration_to_child(linkage, i, omega, square, acceleration)
        else:
            omega, w, v = linkage.zeros, linkage.zeros, linkage.against_gravity(i)  # (3.21)
        w = w + omega.cross(turn)  # (2.19)
        v = v + omega.cross(slide + slide) + turn.cross(slide)  # (2.32) corrected
        omega = omega + turn  # (2.2)
        linkage.name("omega", i, omega)
        square = _squared(omega)
        for dof in link.dofs:
            G_n, G_f = filters[dof.index].G
            nu = filters[dof.index].inverse * innovations[dof.index].value(omega, square)  # (Q8)
            linkage.name("nu", dof.index, nu)
            rate = nu - (G_n.dot(w) + G_f.dot(v))  # (5.17)
            linkage.name("thetaddot", dof.index, rate)
            w, v = w + dof.H_angular * rate, v + dof.H_linear * rate
            result.append(rate)
        motions.append((omega, square, (w, v)))
    return result


def _squared(omega: Vector) -> Symmetric:
    """Return [ω]×² = ω ωᵀ − |ω|² 1."""
    x, y, z = omega
    xx, yy, zz = x * x, y * y, z * z
    return Symmetric(-(yy + zz), x * y, x * z, -(xx + zz), y * z, -(xx + yy))


def _acceleration_to_child(
    linkage: Linkage, i: int, omega: Vector, square: Symmetric, acceleration: Spatial
) -> Spatial:
    """Return φᵀ α + [ω]×² ℓ, the acceleration of the origin of link i as a point of its parent,
    (2.5).

    `square` is [ω]×² of the parent in its own axes, `omega` the parent's ω in the axes of the link.
    """
    link, (w, v) = linkage.links[i], acceleration
    outer = link.shift.outer if isinstance(link.shift, SplitShift) else link.shift
    v = link.rotation.to_child(v + times(_plus_cross(square.rows, w), outer))
    w = link.rotation.to_child(w)
    if isinstance(link.shift, SplitShift):
        inner = link.shift.inner
        v = v + w.cross(inner) + omega.cross(omega.cross(inner))
    return w, v
