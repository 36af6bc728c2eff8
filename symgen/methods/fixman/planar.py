"""The partition in a plane: LC (14)-(25) for point masses at the link ends, and the extension LC announce, rigid links.

Soft coordinates are the absolute directions φ_i, which the joint angles follow from: θ̇_i = φ̇_i ∓ φ̇_{i−1} (− for axes
that point the same way). So M⁻¹ = T⁻¹ M_φ⁻¹ T⁻ᵀ with a bidiagonal T⁻¹, and less has to be formed than with θ: for
point masses H^φφ and H^LL are tridiagonal and the diagonal of H^φL is empty. φ_i turns about link i's own z axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar, lower
from symgen.derivation.spatial import Vector
from symgen.errors import MethodRefusal
from symgen.methods.fixman.geometry import COS, PLANAR, SIN, Geometry, K, L, W, bending, meeting, metric
from symgen.methods.fixman.partition import Partition
from symgen.methods.fixman.reach import all_points, same_way


def absolute_forces(linkage: Linkage, b: Sequence[Scalar]) -> list[Scalar]:
    """T⁻ᵀ b: the moments on the directions φ_i."""
    found = list(b)
    for i in range(len(b) - 1):
        found[i] = b[i] - _signed(b[i + 1], same_way(linkage.model, i + 1))
    return found


def joint_rates(linkage: Linkage, rates: Sequence[Scalar]) -> list[Scalar]:
    """T⁻¹ φ̈."""
    found = list(rates)
    for i in range(1, len(rates)):
        found[i] = rates[i] - _signed(rates[i - 1], same_way(linkage.model, i))
    return found


def _signed(x: Scalar, plus: bool) -> Scalar:
    return x if plus else -x


def planar(linkage: Linkage) -> Partition:
    """The partition of a planar chain: of point masses where every link is one at its end, else of rigid links."""
    if any(not one.armature.is_zero for one in linkage.drives):   # one that comes at run time, which no refusal sees
        raise MethodRefusal(f"fixman:planar knows the directions of links and no joints, and a joint of '{linkage.model.name}' "
                            "has an armature; take another method, such as riccati")
    if not all_points(linkage.model):
        return rigid_links(linkage)
    if linkage.payload is not None and linkage.payload.link >= 0:
        raise MethodRefusal(f"fixman takes '{linkage.model.name}' as a chain of point masses, and a payload on "
                            f"'{linkage.payload.name}' makes one of them a rigid body; take another method, such as riccati")
    return point_masses(linkage)


# -- point masses at the link ends --------------------------------------------------------------------------------------

def point_masses(linkage: Linkage, geometry: Geometry = PLANAR) -> Partition:
    """H^φφ, H^φL, H^LL by (23), mass by mass: mass i is the head of link i and the tail of link i + 1. det G = Π m² L²."""
    n, home, form, bend = len(linkage), linkage.home, meeting(geometry), bending(geometry)
    half = home.constant(k.rational(1) / 2)
    ends = [_in_plane(linkage, linkage.links[i].shift) for i in range(1, n)] + [_in_plane(linkage, linkage.center(n - 1))]
    lengths = [_length(linkage, end) for end in ends]
    found = Partition()
    for i in range(n):
        linkage.step(i, "its mass in the blocks of H, LC (23)")
        mass = linkage.inertia[i].m
        bindings: dict[Any, Scalar] = {L: lengths[i], W: linkage.one / mass}
        _gather(found, i, i, [[_entry(form[r, c], bindings, home) for c in (0, 1)] for r in (0, 1)])
        found.metric[i] = [mass * mass * lower(metric(geometry), {L: lengths[i]}, home)]     # below (3), used in (8)
        if i + 1 == n:
            break
        direction = linkage.links[i + 1].rotation.outward(ends[i + 1])
        scale = linkage.one / (lengths[i] * lengths[i + 1])
        cosine, sine = ends[i].dot(direction) * scale, ends[i].cross(direction)[2] * scale
        linkage.name("cos", i + 1, cosine)
        linkage.name("sin", i + 1, sine)
        bindings |= {K: lengths[i + 1], COS: cosine, SIN: sine}
        flip = linkage.one if same_way(linkage.model, i + 1) else -linkage.one
        sense = (linkage.one, linkage.one, flip, linkage.one)
        whole = [[_entry(form[r, c], bindings, home) * sense[r] * sense[c] for c in range(4)] for r in range(4)]
        _gather(found, i + 1, i + 1, [row[2:] for row in whole[2:]])
        _gather(found, i + 1, i, [row[:2] for row in whole[2:]])
        found.coupling[i, i + 1] = [[whole[0][3]]]                                          # H^φL above the diagonal
        found.bend[i + 1] = {}
        for (r, c), share in (((0, 0), half), ((1, 0), linkage.one), ((1, 1), half)):
            slope = _entry(bend[r, c], bindings, home) * flip * share
            if not slope.is_zero:
                found.bend[i + 1][i + r, i + c] = [[slope]]
    return found


def _gather(found: Partition, i: int, j: int, entries: list[list[Scalar]]) -> None:
    """Add what a mass gives to (φ_i, L_i) against (φ_j, L_j), j ≤ i."""
    (soft, coupling), (_, hard) = entries
    if (i, j) in found.hard:
        soft, hard = soft + found.soft[i, j][0][0], hard + found.hard[i, j][0][0]
        coupling = coupling + found.coupling[i, j][0][0]
    found.soft[i, j], found.coupling[i, j], found.hard[i, j] = [[soft]], [[coupling]], [[hard]]


def _entry(expression: Any, bindings: dict[Any, Scalar], home: Derivation) -> Scalar:
    """Lowered with its constants multiplied out first."""
    constant, moving = expression.as_independent(COS, SIN, as_Add=False)
    return lower(constant, bindings, home) * lower(moving, bindings, home)


def _in_plane(linkage: Linkage, end: Vector) -> Vector:
    return Vector((end[0], end[1], linkage.zero))


def _length(linkage: Linkage, end: Vector) -> Scalar:
    """|end|; of one that is kept as a symbol its component along an axis, the sign of which the direction takes up."""
    if all(x.is_constant for x in end):
        x, y, _ = (x.value for x in end)
        return linkage.scalar(k.square_root(k.settle(x * x + y * y)))
    along = [x for x in end if not x.is_zero]
    if len(along) > 1:
        raise MethodRefusal(f"fixman needs a root of what is kept as symbols of '{linkage.model.name}'; keep centres and "
                            "lengths as numbers, or take another method, such as riccati")
    return along[0]


# -- rigid links --------------------------------------------------------------------------------------------------------

def rigid_links(linkage: Linkage) -> Partition:
    """The same partition of a chain of planar rigid bodies: a body's (φ, x) at its mass centre, the two gaps at each pin.

    With r from the centre to a pin, the pin moves with ẋ + φ̇ z × r; the hard coordinates of joint i are the place of
    its pin on link i less that on link i − 1, in the axes of link i. 𝓜⁻¹ = diag(1/I, 1/m, 1/m), so by (7) H^φφ is
    diagonal, H^φb has two rows of 1/I z × r a link and H^bb is block tridiagonal. det G = Π I m², as |∂ξ/∂(φ, b)| = 1.
    """
    n = len(linkage)
    found = Partition()
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
        tail = _across(linkage, -centre)                                                    # z × r of joint i
        found.soft[i, i] = [[easier]]
        found.coupling[i, i] = [[x * easier for x in tail[:2]]]
        hard = _pinned(linkage, lighter, easier, tail, tail)
        if i > 0:
            half = [link.rotation.inward(row) for row in _padded(linkage, outer)]
            carried = [link.rotation.inward(Vector(column)) for column in zip(*half, strict=True)]      # R H_outer Rᵀ
            hard = [[hard[r][c] + carried[r][c] for c in (0, 1)] for r in (0, 1)]
            found.bend[i] = {(i, i): _turning(linkage, i, [list(row[:2]) for row in carried[:2]]),
                             (i, i - 1): _turning(linkage, i, found.hard[i, i - 1])}
        found.hard[i, i] = hard
        for child in link.children:
            geometry = linkage.links[child]
            head = _across(linkage, geometry.shift - centre)                                # z × r of joint i + 1
            outer = _pinned(linkage, lighter, easier, head, head)
            cross = _padded(linkage, _pinned(linkage, lighter, easier, head, tail))
            columns = [geometry.rotation.inward(Vector(row[c] for row in cross)) for c in (0, 1)]
            found.hard[child, i] = [[-columns[c][r] for c in (0, 1)] for r in (0, 1)]
            found.coupling[i, child] = [[-x for x in geometry.rotation.inward(head * easier)[:2]]]
    return found


def _across(linkage: Linkage, r: Vector) -> Vector:
    """z × r in the plane."""
    return Vector((-r[1], r[0], linkage.zero))


def _turning(linkage: Linkage, i: int, m: list[list[Scalar]]) -> list[list[Scalar]]:
    """d(Rᵀ m)/dq_i = −H_i × (Rᵀ m), given what has been turned into the axes of link i."""
    columns = [Vector((*column, linkage.zero)).cross(linkage.links[i].dof.H_angular) for column in zip(*m, strict=True)]
    return [[column[r] for column in columns] for r in (0, 1)]


def _pinned(linkage: Linkage, lighter: Scalar, easier: Scalar, a: Vector, b: Vector) -> list[list[Scalar]]:
    """(1/m) 1 + (1/I) a bᵀ: how the place a answers a force at the place b."""
    return [[a[r] * (b[c] * easier) + (lighter if r == c else linkage.zero) for c in (0, 1)] for r in (0, 1)]


def _padded(linkage: Linkage, m: list[list[Scalar]]) -> list[Vector]:
    return [Vector((*m[0], linkage.zero)), Vector((*m[1], linkage.zero)), linkage.zeros]
