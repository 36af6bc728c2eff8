"""Partition in a plane: point masses at the link ends, LC (14)-(25), and rigid links, the extension
that the paper announces.

Soft coordinates are the absolute directions φ_i. The joint angles follow from them: θ̇_i = φ̇_i ∓
φ̇_{i−1} (− if the axes have the same direction). So M⁻¹ = T⁻¹ M_φ⁻¹ T⁻ᵀ with a bidiagonal T⁻¹,
which needs fewer entries than θ: for point masses H^φφ and H^LL are tridiagonal and the diagonal of
H^φL is zero. φ_i is an angle about link i's own z axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar, lower
from symgen.derivation.spatial import Vector
from symgen.methods.fixman.applicability import all_points, same_direction
from symgen.methods.fixman.geometry import (
    COS,
    PLANAR,
    SIN,
    Geometry,
    L,
    U,
    V,
    W,
    bending,
    by_inverses,
    meeting,
    metric,
)
from symgen.methods.fixman.partition import Partition, Pivot
from symgen.support.errors import MethodRefusal


def absolute_forces(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """Return T⁻ᵀ b: the moments on the directions φ_i."""
    moments = list(b)
    for i in reversed(range(len(linkage) - 1)):
        linkage.step(i, "moment on the direction of the link")
        index, next_index = _dof_index(linkage, i), _dof_index(linkage, i + 1)
        moments[index] = b[index] - _signed(b[next_index], linkage.ask_link(same_direction, i + 1))
        linkage.name("b", i, moments[index])
    return moments


def joint_rates(linkage: Linkage, rates: Sequence[Scalar]) -> list[Scalar]:
    """Return T⁻¹ φ̈."""
    result = list(rates)
    for i in range(len(linkage)):
        linkage.name("phi", i, rates[_dof_index(linkage, i)])
    for i in range(1, len(linkage)):
        linkage.step(i, "the rate of its joint")
        index, previous_index = _dof_index(linkage, i), _dof_index(linkage, i - 1)
        result[index] = rates[index] - _signed(
            rates[previous_index], linkage.ask_link(same_direction, i)
        )
    return result


def point_mass_rates(
    linkage: Linkage, partition: Partition, pivots: Sequence[Pivot], b: Sequence[Scalar]
) -> list[Scalar]:
    """Return T⁻¹ times LC (12) of point masses, from the moments on the directions, in three
    sweeps.

    The first sweep, inward, computes the hard forces without the term of the moment before. The
    second, outward, completes them and computes the rates without the contribution of the next
    link. The third, inward, adds that contribution.
    """
    n, dofs = len(linkage), partition.dofs
    moments = [b[index] for (index,) in dofs]
    inner = [
        partition.coupling[i - 1, i][0][0] if i else linkage.zero for i in range(n)
    ]  # H^φL of L_i and the direction before
    outer = [
        partition.coupling[i, i - 1][0][0] if i else linkage.zero for i in range(n)
    ]  # H^φL of the length before and this direction
    soft_coupling = [partition.soft[i, i - 1][0][0] if i else linkage.zero for i in range(n)]
    gain = [pivots[i].gain[i - 1][0][0] if i else linkage.zero for i in range(n)]
    partial = [linkage.zero] * n
    for i in reversed(range(n - 1)):
        linkage.step(
            i + 1, "forces of the hard coordinates without the term of the previous moment, LC (13)"
        )
        by_moment, right = (
            gain[i + 1] * inner[i + 1],
            outer[i + 1] * moments[i + 1] - gain[i + 1] * partial[i + 1],
        )
        linkage.step(
            i, "forces of the hard coordinates without the term of the previous moment, LC (13)"
        )
        partial[i] = right - by_moment * moments[i]  # (13) L_h z = d
    result = [linkage.zero] * len(b)
    rates: list[Scalar] = []
    added, before, force = [linkage.zero] * (n + 1), [linkage.zero] * n, linkage.zero
    for i in range(n):
        linkage.step(
            i, "forces of the hard coordinates, and the rate of the link's direction, LC (13)"
        )
        rate = partition.soft[i, i][0][0] * moments[i]  # (13) c = H^aa b
        right_side = partial[i]
        if i:
            right_side = right_side + inner[i] * moments[i - 1]
            rate = rate + soft_coupling[i] * moments[i - 1] - outer[i] * force  # (13) f = H^ab e
        force = right_side * pivots[i].inverse[0] - (
            gain[i] * force if i else linkage.zero
        )  # (13) U_h e = z
        linkage.name("e", i, force)
        linkage.name("phi", i, rate)
        if i:
            added[i] = soft_coupling[i] * moments[i] - inner[i] * force
            before[i] = rates[i - 1] + added[i]
        rates.append(rate)
    for i in reversed(range(n)):
        linkage.step(i, "the rate of its joint")
        rate = rates[i] + added[i + 1]
        result[dofs[i][0]] = (
            rate - _signed(before[i], linkage.ask_link(same_direction, i)) if i else rate
        )
    return result


def _dof_index(linkage: Linkage, i: int) -> int:
    """Return the degree of freedom that rotates link i in the plane."""
    return linkage.links[i].dofs[-1].index


def _signed(x: Scalar, plus: bool) -> Scalar:
    return x if plus else -x


def planar(linkage: Linkage) -> Partition:
    """Return the partition of a planar chain, as point masses if all links are point masses at
    their ends, else as rigid links.
    """
    if any(
        not drive.armature.is_zero for drive in linkage.drives
    ):  # a run-time armature, which no refusal detects
        raise MethodRefusal(
            "fixman:planar uses the directions of links instead of joint angles, and a joint of"
            f" '{linkage.model.name}' has an armature; use another method, such as riccati"
        )
    if not linkage.ask_model(all_points):
        return rigid_links(linkage)
    if linkage.payload is not None and linkage.payload.link >= 0:
        raise MethodRefusal(
            f"fixman needs '{linkage.model.name}' to be a chain of point masses, and the payload on"
            f" '{linkage.payload.name}' makes a link a rigid body; use another method, such as"
            " riccati"
        )
    return point_masses(linkage)


# -- point masses at the link ends -----------------------------------------------------------------


def point_masses(linkage: Linkage, geometry: Geometry = PLANAR) -> Partition:
    """Return H^φφ, H^φL, H^LL by (23), mass by mass; det G = Π m² L².

    Mass i is the head of link i and the tail of link i + 1.
    """
    derivation, form, bend = (
        linkage.derivation,
        by_inverses(meeting, geometry),
        by_inverses(bending, geometry),
    )
    half = derivation.constant(k.rational(1) / 2)
    result = Partition([[_dof_index(linkage, i)] for i in range(len(linkage))])
    inner: dict[Any, Scalar] = {}
    direction_before = linkage.zeros
    for i, link in enumerate(linkage.links):
        linkage.step(i, "terms of its mass in the blocks of H, LC (23)")
        mass, (length, end_direction) = linkage.inertia[i].m, _end(linkage, i)
        inverses = {U: linkage.one / length, W: linkage.one / mass}
        linkage.name("u", i, inverses[U])
        linkage.name("w", i, inverses[W])
        result.metric[i] = [
            mass * mass * lower(metric(geometry), {L: length}, derivation)
        ]  # below (3), used in (8)
        if i:
            direction = link.rotation.to_parent(end_direction)
            cosine, sine = direction_before.dot(direction), direction_before.cross(direction)[2]
            linkage.name("cos", i, cosine)
            linkage.name("sin", i, sine)
            bindings = inner | {V: inverses[U], COS: cosine, SIN: sine}
            flip = linkage.one if linkage.ask_link(same_direction, i) else -linkage.one
            sense = (linkage.one, linkage.one, flip, linkage.one)
            contribution = [
                [entry(form[r, c], bindings, derivation) * sense[r] * sense[c] for c in range(4)]
                for r in range(4)
            ]
            _gather(result, i, i, [row[2:] for row in contribution[2:]])
            _gather(result, i, i - 1, [row[:2] for row in contribution[2:]])
            result.coupling[i - 1, i] = [[contribution[0][3]]]  # H^φL above the diagonal
            result.bend[i] = {}
            for (r, c), share in (((0, 0), half), ((1, 0), linkage.one), ((1, 1), half)):
                slope = entry(bend[r, c], bindings, derivation) * flip * share
                if not slope.is_zero:
                    result.bend[i][i - 1 + r, i - 1 + c] = [[slope]]
        _gather(
            result,
            i,
            i,
            [[entry(form[r, c], inverses, derivation) for c in (0, 1)] for r in (0, 1)],
        )
        inner, direction_before = inverses, end_direction
    return result


def _gather(result: Partition, i: int, j: int, entries: list[list[Scalar]]) -> None:
    """Add the contribution of a mass between (φ_i, L_i) and (φ_j, L_j), j ≤ i."""
    (soft, coupling), (_, hard) = entries
    if (i, j) in result.hard:
        soft, hard = soft + result.soft[i, j][0][0], hard + result.hard[i, j][0][0]
        coupling = coupling + result.coupling[i, j][0][0]
    result.soft[i, j], result.coupling[i, j], result.hard[i, j] = [[soft]], [[coupling]], [[hard]]


def entry(expression: Any, bindings: Mapping[Any, Scalar], derivation: Derivation) -> Scalar:
    """Lower an expression, multiplying its constants first."""
    constant, moving = expression.as_independent(COS, SIN, as_Add=False)
    return lower(constant, bindings, derivation) * lower(moving, bindings, derivation)


def _end(linkage: Linkage, i: int) -> tuple[Scalar, Vector]:
    """Return the length of link i and the direction of its end in its axes.

    If the end is symbolic or comes from a table, it must lie on a coordinate axis. Then the length
    is its component along that axis, sign included.
    """
    x, y, _ = linkage.end_point(i)
    if x.is_constant and y.is_constant:
        length = k.square_root(k.normalize(x.value * x.value + y.value * y.value))
        return linkage.scalar(length), Vector(
            (
                *(linkage.scalar(k.normalize(component.value / length)) for component in (x, y)),
                linkage.zero,
            )
        )
    nonzero = [component for component in (x, y) if not component.is_zero]
    if len(nonzero) > 1:
        raise MethodRefusal(
            f"fixman would need a square root of symbolic parameters of '{linkage.model.name}';"
            " keep centres and lengths as numbers, or use another method, such as riccati"
        )
    return nonzero[0], Vector(
        [linkage.zero if component.is_zero else linkage.one for component in (x, y)]
        + [linkage.zero]
    )


# -- rigid links -----------------------------------------------------------------------------------


def rigid_links(linkage: Linkage) -> Partition:
    """Return the partition of a chain of planar rigid bodies: (φ, x) of each body at its mass
    centre, two gaps at each pin.

    With r from the mass centre to a pin, the pin has the velocity ẋ + φ̇ z × r. The hard
    coordinates of joint i are the position of its pin on link i less that on link i − 1, in the
    axes of link i. 𝓜⁻¹ = diag(1/I, 1/m, 1/m), so by (7) H^φφ is diagonal, H^φb has two rows of 1/I
    z × r per link, and H^bb is block tridiagonal. det G = Π I m², as |∂ξ/∂(φ, b)| = 1.
    """
    n = len(linkage)
    result = Partition([[_dof_index(linkage, i)] for i in range(n)])
    outer: list[list[Scalar]] = []
    for i in range(n):
        linkage.step(i, "terms of its inertia in the blocks of H, LC (7) with WC (19)")
        body, link = linkage.inertia[i], linkage.links[i]
        inverse_mass = linkage.one / body.m
        centre = Vector((body.h[0] * inverse_mass, body.h[1] * inverse_mass, linkage.zero))
        central_inertia = body.moments().zz - (body.h[0] * centre[0] + body.h[1] * centre[1])
        linkage.name("c", i, centre)
        linkage.name("I", i, central_inertia)
        inverse_inertia = linkage.one / central_inertia
        result.metric[i] = [central_inertia * body.m * body.m]
        tail = _across(linkage, -centre)  # z × r of joint i
        result.soft[i, i] = [[inverse_inertia]]
        result.coupling[i, i] = [[x * inverse_inertia for x in tail[:2]]]
        hard = _pin_mobility(linkage, inverse_mass, inverse_inertia, tail, tail)
        if i > 0:
            half = [link.rotation.to_child(row) for row in _padded(linkage, outer)]
            in_link_axes = [
                link.rotation.to_child(Vector(column)) for column in zip(*half, strict=True)
            ]  # R H_outer Rᵀ
            hard = [[hard[r][c] + in_link_axes[r][c] for c in (0, 1)] for r in (0, 1)]
            result.bend[i] = {
                (i, i): _rotation_derivative(
                    linkage, i, [list(row[:2]) for row in in_link_axes[:2]]
                ),
                (i, i - 1): _rotation_derivative(linkage, i, result.hard[i, i - 1]),
            }
        result.hard[i, i] = hard
        for child in link.children:
            geometry = linkage.links[child]
            head = _across(linkage, geometry.shift - centre)  # z × r of joint i + 1
            outer = _pin_mobility(linkage, inverse_mass, inverse_inertia, head, head)
            cross = _padded(
                linkage, _pin_mobility(linkage, inverse_mass, inverse_inertia, head, tail)
            )
            columns = [geometry.rotation.to_child(Vector(row[c] for row in cross)) for c in (0, 1)]
            result.hard[child, i] = [[-columns[c][r] for c in (0, 1)] for r in (0, 1)]
            result.coupling[i, child] = [
                [-x for x in geometry.rotation.to_child(head * inverse_inertia)[:2]]
            ]
    return result


def _across(linkage: Linkage, r: Vector) -> Vector:
    """Return z × r in the plane."""
    return Vector((-r[1], r[0], linkage.zero))


def _rotation_derivative(linkage: Linkage, i: int, m: list[list[Scalar]]) -> list[list[Scalar]]:
    """Return d(Rᵀ m)/dq_i = −H_i × (Rᵀ m), given Rᵀ m in the axes of link i."""
    columns = [
        Vector((*column, linkage.zero)).cross(linkage.links[i].dof.H_angular)
        for column in zip(*m, strict=True)
    ]
    return [[column[r] for column in columns] for r in (0, 1)]


def _pin_mobility(
    linkage: Linkage, inverse_mass: Scalar, inverse_inertia: Scalar, a: Vector, b: Vector
) -> list[list[Scalar]]:
    """Return (1/m) 1 + (1/I) a bᵀ: the acceleration at a per unit force at b."""
    return [
        [
            a[r] * (b[c] * inverse_inertia) + (inverse_mass if r == c else linkage.zero)
            for c in (0, 1)
        ]
        for r in (0, 1)
    ]


def _padded(linkage: Linkage, m: list[list[Scalar]]) -> list[Vector]:
    return [Vector((*m[0], linkage.zero)), Vector((*m[1], linkage.zero)), linkage.zeros]
