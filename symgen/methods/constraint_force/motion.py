"""Accelerations η across the joints due to velocities, gravity and run-time wrenches.

The constraint-force algorithm cuts every joint, so that each link moves as a free rigid body. The
wrenches F across the joints then obey 𝓐 F = H q̈ + η (`symgen.methods.constraint_force`).

Consider one free link with the angular velocity ω, mass m, mass centre C and inertia J about C. A
run-time wrench has the moment n about C and the force f. The angular acceleration γ of the link
solves J γ = n − ω × J ω, and C has the acceleration f / m. A point of the link at the vector ρ from
C has the acceleration f / m + U ρ, where U = [γ]× + ω ωᵀ − |ω|² 1.

η of a joint is the acceleration of its parent link minus that of its own link, both at the joint,
plus terms of the joint's own velocity (`eta`). It depends on these two links only. Just ω is
computed along the chain, by a sweep or by a prefix scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, Rotation, Symmetric, Vector, times, transposed
from symgen.methods.constraint_force.operator import Body

Omegas = Callable[[Linkage, Sequence[Scalar]], list[Vector]]
"""(linkage, joint rates q̇) → ω of each link in its own axes: `omega_by_sweep` or `omega_by_scan`.
"""


def omega_by_sweep(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """Return ω of each link in its own axes by an outward sweep: ω_i = Q_iᵀ ω_parent + h_i q̇_i.

    Q_i is the rotation matrix from the axes of link i to those of its parent. The columns of h_i
    are the angular parts of the joint's motion subspace.
    """
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
"""(E, w) of one link, or of a segment of consecutive links: ω_last = E ω_before + w.

ω_before belongs to the link before the segment, and ω_last to the last link of the segment.
"""


def omega_by_scan(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """Return ω of each link in its own axes by a prefix scan over the steps (E, w) of the links."""

    def link_step(i: int) -> Step:
        link = linkage.links[i]
        return transposed(link.rotation.matrix(linkage.one, linkage.zero)), link.turning(rates)

    def apply_step(segment: Step, before: Vector | None) -> Vector:
        E, w = segment
        return w if before is None else times(E, before) + w

    def name_segment(i: int, length: int, segment: Step) -> None:
        # Optimization passes do not merge named sums, so the names preserve the depth O(log N).
        linkage.name(f"run{length}", i, segment[1])

    omegas = _prefix_scan(
        linkage, "angular velocity by a prefix scan", link_step, after, apply_step, name_segment
    )
    for i, omega in enumerate(omegas):
        linkage.name("omega", i, omega)
    return omegas


Segment = TypeVar("Segment")
"""A value that combines consecutive links."""
Prefix = TypeVar("Prefix")
"""A value that combines all links from the root to one link."""


def _prefix_scan(
    linkage: Linkage,
    text: str,
    element: Callable[[int], Segment],
    combine: Callable[[Segment, Segment], Segment],
    finish: Callable[[Segment, Prefix | None], Prefix],
    name_segment: Callable[[int, int, Segment], None] = lambda i, length, segment: None,
) -> list[Prefix]:
    """Return the prefix of each link: the combination of all links from the root to that link.

    - `text`: comment of the step in the generated code.
    - `element(i)`: segment of link i alone.
    - `combine(front, behind)`: segment of two consecutive segments, `front` nearer to the base.
    - `finish(segment, before)`: prefix of the last link of a segment; `before` is the prefix of the
      link before the segment, None at the base.
    - `name_segment(i, length, segment)`: gives names to a combined segment that ends at link i.

    Link number n of a path has a segment of 2^k links, where 2^k is the largest power of two that
    divides n. Its prefix is this segment after the prefix of link n − 2^k. A prefix thus combines
    at most ⌊log₂ N⌋ + 1 segments.
    """
    paths = [(*reversed(linkage.model.ancestors(i)), i) for i in range(len(linkage))]
    """Links from the root to each link."""
    segments: dict[tuple[int, int], Segment] = {}
    """Segments by (last link, number of links)."""
    prefixes: list[Prefix] = []
    for i, path in enumerate(paths):
        linkage.step(i, text)
        segments[i, 1] = element(i)
        longest = len(path) & -len(path)  # largest power of two that divides len(path)
        length = 1
        while length < longest:
            segments[i, 2 * length] = combine(
                segments[path[-1 - length], length], segments[i, length]
            )
            length *= 2
            name_segment(i, length, segments[i, length])
        prefixes.append(
            finish(
                segments[i, longest], None if len(path) == longest else prefixes[path[-1 - longest]]
            )
        )
    return prefixes


def after(inner: Step, outer: Step) -> Step:
    """Return the step of two consecutive segments, `inner` nearer to the base than `outer`."""
    return _product(outer[0], inner[0]), times(outer[0], inner[1]) + outer[1]


Axes = Callable[[Linkage], list[Matrix]]
"""linkage → rotation matrix from each link's axes to base axes."""


def axes_by_sweep(linkage: Linkage) -> list[Matrix]:
    """Return the rotation matrix from each link's axes to base axes by an outward sweep.

    Each link multiplies the matrix of its parent by its elementary rotations, one after the other.
    """
    unit, zero = linkage.one, linkage.zero
    rotations: list[Matrix] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "axes of the link in the base")
        parent_rotation = (
            rotations[link.parent]
            if link.parent >= 0
            else _base_axes(linkage, i).matrix(unit, zero)
        )
        rows = [link.rotation.to_child(row) for row in parent_rotation]
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
    """Return the rotation from the axes of a root link's base frame to base axes."""
    return linkage.base_axes(root)


LinkAxes = Callable[[Linkage, int], Matrix]
"""(linkage, link) → rotation matrix from the link's axes to base axes."""


def link_axes_by_sweep(linkage: Linkage, e: int) -> Matrix:
    """Return the rotation matrix from link e's axes to base axes."""
    return axes_by_sweep(linkage)[e]


def link_axes_by_scan(linkage: Linkage, e: int) -> Matrix:
    """Return the rotation matrix from link e's axes to base axes.

    The rotation matrices of the links on the path are multiplied in pairs, so that the depth is
    O(log N).
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
    """Return the product a b of two 3x3 matrices."""
    columns = transposed(b)
    return (times(columns, a[0]), times(columns, a[1]), times(columns, a[2]))


def free_field(
    J: Symmetric, inverse: Symmetric, omega: Vector, moment: Vector
) -> tuple[Vector, Matrix]:
    """Return (γ, U) of a free link under `moment` n about its mass centre (see the module).

    `J` and its `inverse` are about the mass centre. All vectors are in the axes of the link.
    """
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
    """Return η (6 numbers) of each joint at O_i, the origin of link i, in the axes of link i.

    The angular part is first. `omega` is the angular velocity of each link in its own axes.
    """
    fields, accelerations = [], []  # (γ, U) of each link; acceleration of its mass centre
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
        # velocity of the link relative to its parent
        joint_omega, joint_velocity = link.turning(rates), link.sliding(rates)
        angular = omega[i].cross(joint_omega) - gamma
        linear = (
            (omega[i] - joint_omega).cross(joint_velocity + joint_velocity)
            + joint_omega.cross(joint_velocity)
            + times(U, bodies[i].s)
            - accelerations[i]
        )
        if link.parent < 0:
            # an upward acceleration of the base replaces gravity
            linear = linear + linkage.against_gravity(i)
        else:
            parent_gamma, parent_U = fields[link.parent]
            angular = angular + link.rotation.to_child(parent_gamma)
            linear_at_joint = (
                times(parent_U, link.shift - bodies[link.parent].s) + accelerations[link.parent]
            )
            linear = linear + link.rotation.to_child(linear_at_joint)
        linkage.name("eta", i, Vector([*angular, *linear]))
        result.append([*angular, *linear])
    return result
