"""The partition in a plane: LC (14)-(25) for point masses at the link ends, and the extension LC announce, rigid links.

Soft coordinates are the absolute directions φ_i, which the joint angles follow from: θ̇_i = φ̇_i ∓ φ̇_{i−1} (− for axes
that point the same way). So M⁻¹ = T⁻¹ M_φ⁻¹ T⁻ᵀ with a bidiagonal T⁻¹, and less has to be formed than with θ: for
point masses H^φφ and H^LL are tridiagonal and the diagonal of H^φL is empty. φ_i turns about link i's own z axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar, lower
from symgen.derivation.spatial import Vector
from symgen.methods.fixman.applicability import all_points, same_way
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
    """T⁻ᵀ b: the moments on the directions φ_i."""
    found = list(b)
    for i in reversed(range(len(linkage) - 1)):
        linkage.step(i, "the moment on its direction")
        own, outer = _turn(linkage, i), _turn(linkage, i + 1)
        found[own] = b[own] - _signed(b[outer], linkage.like(same_way, i + 1))
        linkage.name("b", i, found[own])
    return found


def joint_rates(linkage: Linkage, rates: Sequence[Scalar]) -> list[Scalar]:
    """T⁻¹ φ̈."""
    found = list(rates)
    for i in range(len(linkage)):
        linkage.name("phi", i, rates[_turn(linkage, i)])
    for i in range(1, len(linkage)):
        linkage.step(i, "the rate of its joint")
        own, inner = _turn(linkage, i), _turn(linkage, i - 1)
        found[own] = rates[own] - _signed(rates[inner], linkage.like(same_way, i))
    return found


def rates_in_turn(
    linkage: Linkage, partition: Partition, pivots: Sequence[Pivot], b: Sequence[Scalar]
) -> list[Scalar]:
    """T⁻¹ times LC (12) of point masses, from moments on directions, in fewer ways along the chain than (13) takes in its order:
    inward the forces of hard coordinates as far as known without the link before, outward those forces and the rates, each but
    for what the next link adds, and inward what that is.
    """
    n, one = len(linkage), partition.dofs
    moment = [b[own] for (own,) in one]
    inner = [
        partition.coupling[i - 1, i][0][0] if i else linkage.zero for i in range(n)
    ]  # of L_i and the direction before
    outer = [
        partition.coupling[i, i - 1][0][0] if i else linkage.zero for i in range(n)
    ]  # of L before and this direction
    beside = [partition.soft[i, i - 1][0][0] if i else linkage.zero for i in range(n)]
    gain = [pivots[i].gain[i - 1][0][0] if i else linkage.zero for i in range(n)]
    known = [linkage.zero] * n
    for i in reversed(range(n - 1)):
        linkage.step(i + 1, "forces of the hard coordinates but for the moment before, LC (13)")
        by_moment, asked = (
            gain[i + 1] * inner[i + 1],
            outer[i + 1] * moment[i + 1] - gain[i + 1] * known[i + 1],
        )
        linkage.step(i, "forces of the hard coordinates but for the moment before, LC (13)")
        known[i] = asked - by_moment * moment[i]  # (13) L_h z = d
    found = [linkage.zero] * len(b)
    rates: list[Scalar] = []
    added, before, force = [linkage.zero] * (n + 1), [linkage.zero] * n, linkage.zero
    for i in range(n):
        linkage.step(i, "forces of the hard coordinates, and the rate of its direction, LC (13)")
        rate = partition.soft[i, i][0][0] * moment[i]  # (13) c = H^aa b
        whole = known[i]
        if i:
            whole = whole + inner[i] * moment[i - 1]
            rate = rate + beside[i] * moment[i - 1] - outer[i] * force  # (13) f = H^ab e
        force = whole * pivots[i].inverse[0] - (
            gain[i] * force if i else linkage.zero
        )  # (13) U_h e = z
        linkage.name("e", i, force)
        linkage.name("phi", i, rate)
        if i:
            added[i] = beside[i] * moment[i] - inner[i] * force
            before[i] = rates[i - 1] + added[i]
        rates.append(rate)
    for i in reversed(range(n)):
        linkage.step(i, "the rate of its joint")
        rate = rates[i] + added[i + 1]
        found[one[i][0]] = rate - _signed(before[i], linkage.like(same_way, i)) if i else rate
    return found


def _turn(linkage: Linkage, i: int) -> int:
    """The degree of freedom that turns link i in the plane."""
    return linkage.links[i].dofs[-1].index


def _signed(x: Scalar, plus: bool) -> Scalar:
    return x if plus else -x


def planar(linkage: Linkage) -> Partition:
    """The partition of a planar chain: of point masses where every link is one at its end, else of rigid links."""
    if any(
        not one.armature.is_zero for one in linkage.drives
    ):  # one that comes at run time, which no refusal sees
        raise MethodRefusal(
            f"fixman:planar knows the directions of links and no joints, and a joint of '{linkage.model.name}' "
            "has an armature; take another method, such as riccati"
        )
    if not linkage.told(all_points):
        return rigid_links(linkage)
    if linkage.payload is not None and linkage.payload.link >= 0:
        raise MethodRefusal(
            f"fixman takes '{linkage.model.name}' as a chain of point masses, and a payload on "
            f"'{linkage.payload.name}' makes one of them a rigid body; take another method, such as riccati"
        )
    return point_masses(linkage)


# -- point masses at the link ends --------------------------------------------------------------------------------------


def point_masses(linkage: Linkage, geometry: Geometry = PLANAR) -> Partition:
    """H^φφ, H^φL, H^LL by (23), mass by mass: mass i is the head of link i and the tail of link i + 1. det G = Π m² L²."""
    home, form, bend = linkage.home, by_inverses(meeting, geometry), by_inverses(bending, geometry)
    half = home.constant(k.rational(1) / 2)
    found = Partition([[_turn(linkage, i)] for i in range(len(linkage))])
    inner: dict[Any, Scalar] = {}
    before = linkage.zeros
    for i, link in enumerate(linkage.links):
        linkage.step(i, "its mass in the blocks of H, LC (23)")
        mass, (length, ahead) = linkage.inertia[i].m, _end(linkage, i)
        own = {U: linkage.one / length, W: linkage.one / mass}
        linkage.name("u", i, own[U])
        linkage.name("w", i, own[W])
        found.metric[i] = [
            mass * mass * lower(metric(geometry), {L: length}, home)
        ]  # below (3), used in (8)
        if i:
            direction = link.rotation.to_parent(ahead)
            cosine, sine = before.dot(direction), before.cross(direction)[2]
            linkage.name("cos", i, cosine)
            linkage.name("sin", i, sine)
            bindings = inner | {V: own[U], COS: cosine, SIN: sine}
            flip = linkage.one if linkage.like(same_way, i) else -linkage.one
            sense = (linkage.one, linkage.one, flip, linkage.one)
            whole = [
                [entry(form[r, c], bindings, home) * sense[r] * sense[c] for c in range(4)]
                for r in range(4)
            ]
            _gather(found, i, i, [row[2:] for row in whole[2:]])
            _gather(found, i, i - 1, [row[:2] for row in whole[2:]])
            found.coupling[i - 1, i] = [[whole[0][3]]]  # H^φL above the diagonal
            found.bend[i] = {}
            for (r, c), share in (((0, 0), half), ((1, 0), linkage.one), ((1, 1), half)):
                slope = entry(bend[r, c], bindings, home) * flip * share
                if not slope.is_zero:
                    found.bend[i][i - 1 + r, i - 1 + c] = [[slope]]
        _gather(found, i, i, [[entry(form[r, c], own, home) for c in (0, 1)] for r in (0, 1)])
        inner, before = own, ahead
    return found


def _gather(found: Partition, i: int, j: int, entries: list[list[Scalar]]) -> None:
    """Add what a mass gives to (φ_i, L_i) against (φ_j, L_j), j ≤ i."""
    (soft, coupling), (_, hard) = entries
    if (i, j) in found.hard:
        soft, hard = soft + found.soft[i, j][0][0], hard + found.hard[i, j][0][0]
        coupling = coupling + found.coupling[i, j][0][0]
    found.soft[i, j], found.coupling[i, j], found.hard[i, j] = [[soft]], [[coupling]], [[hard]]


def entry(expression: Any, bindings: Mapping[Any, Scalar], home: Derivation) -> Scalar:
    """Lowered with its constants multiplied out first."""
    constant, moving = expression.as_independent(COS, SIN, as_Add=False)
    return lower(constant, bindings, home) * lower(moving, bindings, home)


def _end(linkage: Linkage, i: int) -> tuple[Scalar, Vector]:
    """How long link i is, and which way its end lies in its axes. Of an end that is kept as a symbol, or stands in a table, it is
    the component along an axis, the sign of which the direction takes up.
    """
    x, y, _ = linkage.end(i)
    if x.is_constant and y.is_constant:
        length = k.square_root(k.settle(x.value * x.value + y.value * y.value))
        return linkage.scalar(length), Vector(
            (*(linkage.scalar(k.settle(one.value / length)) for one in (x, y)), linkage.zero)
        )
    along = [one for one in (x, y) if not one.is_zero]
    if len(along) > 1:
        raise MethodRefusal(
            f"fixman needs a root of what is kept as symbols of '{linkage.model.name}'; keep centres and "
            "lengths as numbers, or take another method, such as riccati"
        )
    return along[0], Vector(
        [linkage.zero if one.is_zero else linkage.one for one in (x, y)] + [linkage.zero]
    )


# -- rigid links --------------------------------------------------------------------------------------------------------


def rigid_links(linkage: Linkage) -> Partition:
    """The same partition of a chain of planar rigid bodies: a body's (φ, x) at its mass centre, the two gaps at each pin.

    With r from the centre to a pin, the pin moves with ẋ + φ̇ z × r; the hard coordinates of joint i are the place of
    its pin on link i less that on link i − 1, in the axes of link i. 𝓜⁻¹ = diag(1/I, 1/m, 1/m), so by (7) H^φφ is
    diagonal, H^φb has two rows of 1/I z × r a link and H^bb is block tridiagonal. det G = Π I m², as |∂ξ/∂(φ, b)| = 1.
    """
    n = len(linkage)
    found = Partition([[_turn(linkage, i)] for i in range(n)])
    outer: list[list[Scalar]] = []
    for i in range(n):
        linkage.step(i, "its inertia in the blocks of H, LC (7) with WC (19)")
        body, link = linkage.inertia[i], linkage.links[i]
        lighter = linkage.one / body.m
        centre = Vector((body.h[0] * lighter, body.h[1] * lighter, linkage.zero))
        about = body.moments().zz - (body.h[0] * centre[0] + body.h[1] * centre[1])
        linkage.name("c", i, centre)
        linkage.name("I", i, about)
        easier = linkage.one / about
        found.metric[i] = [about * body.m * body.m]
        tail = _across(linkage, -centre)  # z × r of joint i
        found.soft[i, i] = [[easier]]
        found.coupling[i, i] = [[x * easier for x in tail[:2]]]
        hard = _pinned(linkage, lighter, easier, tail, tail)
        if i > 0:
            half = [link.rotation.to_child(row) for row in _padded(linkage, outer)]
            carried = [
                link.rotation.to_child(Vector(column)) for column in zip(*half, strict=True)
            ]  # R H_outer Rᵀ
            hard = [[hard[r][c] + carried[r][c] for c in (0, 1)] for r in (0, 1)]
            found.bend[i] = {
                (i, i): _turning(linkage, i, [list(row[:2]) for row in carried[:2]]),
                (i, i - 1): _turning(linkage, i, found.hard[i, i - 1]),
            }
        found.hard[i, i] = hard
        for child in link.children:
            geometry = linkage.links[child]
            head = _across(linkage, geometry.shift - centre)  # z × r of joint i + 1
            outer = _pinned(linkage, lighter, easier, head, head)
            cross = _padded(linkage, _pinned(linkage, lighter, easier, head, tail))
            columns = [geometry.rotation.to_child(Vector(row[c] for row in cross)) for c in (0, 1)]
            found.hard[child, i] = [[-columns[c][r] for c in (0, 1)] for r in (0, 1)]
            found.coupling[i, child] = [[-x for x in geometry.rotation.to_child(head * easier)[:2]]]
    return found


def _across(linkage: Linkage, r: Vector) -> Vector:
    """z × r in the plane."""
    return Vector((-r[1], r[0], linkage.zero))


def _turning(linkage: Linkage, i: int, m: list[list[Scalar]]) -> list[list[Scalar]]:
    """d(Rᵀ m)/dq_i = −H_i × (Rᵀ m), given what has been turned into the axes of link i."""
    columns = [
        Vector((*column, linkage.zero)).cross(linkage.links[i].dof.H_angular)
        for column in zip(*m, strict=True)
    ]
    return [[column[r] for column in columns] for r in (0, 1)]


def _pinned(
    linkage: Linkage, lighter: Scalar, easier: Scalar, a: Vector, b: Vector
) -> list[list[Scalar]]:
    """(1/m) 1 + (1/I) a bᵀ: how the place a answers a force at the place b."""
    return [
        [a[r] * (b[c] * easier) + (lighter if r == c else linkage.zero) for c in (0, 1)]
        for r in (0, 1)
    ]


def _padded(linkage: Linkage, m: list[list[Scalar]]) -> list[Vector]:
    return [Vector((*m[0], linkage.zero)), Vector((*m[1], linkage.zero)), linkage.zeros]
