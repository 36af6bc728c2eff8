"""Accelerations η across the joints due to velocities, gravity and run-time wrenches; local to two
links once ω is known.

Let a link with mass centre C be subject to a wrench (n, f) at C only. Then ω̇ = γ with J γ = n − ω
× J ω, and C has the acceleration f / m. A point at ρ from C has the acceleration U ρ in addition, U
= [γ]× + ω ωᵀ − |ω|² 1. The difference of the accelerations of two such links at their joint, in the
joint's directions, is `eta`: 𝓐 F = H q̈ + η. Only ω is carried along the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, Rotation, Symmetric, Vector, times, transposed
from symgen.methods.constraint_force.operator import Body

Omegas = Callable[[Linkage, Sequence[Scalar]], list[Vector]]


def omega_by_sweep(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """Return ω of each link in its own axes, base → tip: ω_i = Q_iᵀ ω_i−1 + h_i q̇_i."""
    omegas: list[Vector] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity")
        parent_omega = (
            link.rotation.to_child(omegas[link.parent]) if link.parent >= 0 else linkage.zeros
        )
        omegas.append(parent_omega + link.turning(rates))
        linkage.name("omega", i, omegas[i])
    return omegas


Step = tuple[Matrix, Vector]
"""(E, w) of one link or of a segment of links: ω after it = E · ω before it + w."""


def omega_by_scan(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """Return ω of each link in its own axes by a prefix scan."""

    def link_step(i: int) -> Step:
        link = linkage.links[i]
        return transposed(link.rotation.matrix(linkage.one, linkage.zero)), link.turning(rates)

    def apply_step(segment: Step, before: Vector | None) -> Vector:
        E, w = segment
        return w if before is None else times(E, before) + w

    def name_segment(i: int, length: int, segment: Step) -> None:
        # Passes do not merge named sums, so the scan stays shallow.
        linkage.name(f"run{length}", i, segment[1])

    omegas = _prefix_scan(
        linkage, "angular velocity by a prefix scan", link_step, after, apply_step, name_segment
    )
    for i, omega in enumerate(omegas):
        linkage.name("omega", i, omega)
    return omegas


Segment = TypeVar("Segment")
Prefix = TypeVar("Prefix")


def _prefix_scan(
    linkage: Linkage,
    text: str,
    element: Callable[[int], Segment],
    combine: Callable[[Segment, Segment], Segment],
    finish: Callable[[Segment, Prefix | None], Prefix],
    name_segment: Callable[[int, int, Segment], None] = lambda i, length, segment: None,
) -> list[Prefix]:
    """Return the prefix of each link by a prefix scan from the base.

    Segments of 1, 2, 4 … links are combined. Each link takes at most log₂ N segments.
    """
    paths = [(*reversed(linkage.model.ancestors(i)), i) for i in range(len(linkage))]  # base → link
    segments: dict[tuple[int, int], Segment] = {}
    prefixes: list[Prefix] = []
    for i, path in enumerate(paths):
        linkage.step(i, text)
        segments[i, 1] = element(i)
        lowest = len(path) & -len(path)
        length = 1
        while length < lowest:
            segments[i, 2 * length] = combine(
                segments[path[-1 - length], length], segments[i, length]
            )
            length *= 2
            name_segment(i, length, segments[i, length])
        prefixes.append(
            finish(
                segments[i, lowest], None if len(path) == lowest else prefixes[path[-1 - lowest]]
            )
        )
    return prefixes


def after(front: Step, behind: Step) -> Step:
    """Return the step of two consecutive segments."""
    return _product(behind[0], front[0]), times(behind[0], front[1]) + behind[1]


Axes = Callable[[Linkage], list[Matrix]]


def axes_by_sweep(linkage: Linkage) -> list[Matrix]:
    """Return the rotation matrix from each link's axes to base axes, base → tip, one elementary
    rotation after the other.
    """
    unit, zero = linkage.one, linkage.zero
    rotations: list[Matrix] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "axes of the link in the base")
        outer = (
            rotations[link.parent]
            if link.parent >= 0
            else _base_axes(linkage, i).matrix(unit, zero)
        )
        rows = [link.rotation.to_child(row) for row in outer]
        rotations.append((rows[0], rows[1], rows[2]))
        linkage.name("R", i, rotations[i])
    return rotations


def axes_by_scan(linkage: Linkage) -> list[Matrix]:
    """Return the rotation matrix from each link's axes to base axes by a prefix scan."""

    def link_axes(i: int) -> Matrix:
        link = linkage.links[i]
        R = link.rotation.matrix(linkage.one, linkage.zero)
        return (
            R
            if link.parent >= 0
            else _product(_base_axes(linkage, i).matrix(linkage.one, linkage.zero), R)
        )

    def apply_axes(segment: Matrix, before: Matrix | None) -> Matrix:
        return segment if before is None else _product(before, segment)

    rotations = _prefix_scan(
        linkage, "its axes in the base by a prefix scan", link_axes, _product, apply_axes
    )
    for i, R in enumerate(rotations):
        linkage.name("R", i, R)
    return rotations


def _base_axes(linkage: Linkage, root: int) -> Rotation:
    return linkage.base_axes(root)


LinkAxes = Callable[[Linkage, int], Matrix]


def link_axes_by_sweep(linkage: Linkage, e: int) -> Matrix:
    """Return the rotation matrix from link e's axes to base axes."""
    return axes_by_sweep(linkage)[e]


def link_axes_by_scan(linkage: Linkage, e: int) -> Matrix:
    """Return the rotation matrix from link e's axes to base axes, by pairwise products in O(log N)
    depth.
    """
    path = (*reversed(linkage.model.ancestors(e)), e)
    linkage.step(e, "axes of the link in the base, by pairwise products")
    rotations = [_base_axes(linkage, path[0]), *(linkage.links[i].rotation for i in path)]
    factors = [rotation.matrix(linkage.one, linkage.zero) for rotation in rotations]
    while len(factors) > 1:
        pairs = [(factors[n], factors[n + 1]) for n in range(0, len(factors) - 1, 2)]
        factors = [_product(a, b) for a, b in pairs] + factors[2 * len(pairs) :]
    return factors[0]


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = transposed(b)
    return (times(columns, a[0]), times(columns, a[1]), times(columns, a[2]))


def free_field(
    J: Symmetric, inverse: Symmetric, omega: Vector, moment: Vector
) -> tuple[Vector, Matrix]:
    """Return (γ, U) of a link subject to `moment` about its mass centre."""
    gamma = -inverse.apply(omega.cross(J.apply(omega)) - moment)
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return gamma, (
        Vector((-(yy + zz), xy - gamma[2], xz + gamma[1])),
        Vector((xy + gamma[2], -(xx + zz), yz - gamma[0])),
        Vector((xz - gamma[1], yz + gamma[0], -(xx + yy))),
    )


def eta(
    linkage: Linkage, bodies: Sequence[Body], omega: Sequence[Vector], rates: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Return η of each joint at O_i in the axes of link i, angular part first."""
    fields, accelerations = [], []
    for i, body in enumerate(bodies):
        linkage.step(i, "acceleration of the free link")
        n, f = linkage.loads[i]
        fields.append(free_field(body.J, body.inverse_J, omega[i], n - body.s.cross(f)))
        accelerations.append(f * body.inverse_m + linkage.prescribed_acceleration(i))
        linkage.name("gamma", i, fields[i][0])
        linkage.mark("U", i, fields[i][1])
        linkage.mark("push", i, accelerations[i])
    result = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "acceleration across the joint from velocities and gravity")
        gamma, U = fields[i]
        joint_omega, joint_velocity = link.turning(rates), link.sliding(rates)
        angular = omega[i].cross(joint_omega) - gamma
        linear = (
            (omega[i] - joint_omega).cross(joint_velocity + joint_velocity)
            + joint_omega.cross(joint_velocity)
            + times(U, bodies[i].s)
            - accelerations[i]
        )
        if link.parent < 0:
            linear = linear + linkage.against_gravity(i)  # the base accelerates by −gravity
        else:
            parent_gamma, parent_field = fields[link.parent]
            angular = angular + link.rotation.to_child(parent_gamma)
            linear_at_joint = (
                times(parent_field, link.shift - bodies[link.parent].s) + accelerations[link.parent]
            )
            linear = linear + link.rotation.to_child(linear_at_joint)
        linkage.name("eta", i, Vector([*angular, *linear]))
        result.append([*angular, *linear])
    return result
