"""What velocities, gravity and a run-time wrench add to the accelerations across the joints: local to two links once ω is known.

A link of mass centre C that only a wrench (n, f) at C acts on has ω̇ = γ with J γ = n − ω × J ω, C itself the acceleration
f / m, and each of its points ρ (from C) U ρ more, U = [γ]× + ω ωᵀ − |ω|² 1. What is left of the accelerations of two such
links at a joint, in the joint's own directions, is `eta`: 𝓐 F = H q̈ + η. So the one thing to carry along the chain is ω.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symgen.derivation import Scalar
from symgen.linkage import Linkage
from symgen.methods._constraint_force_operator import Body
from symgen.spatial import Matrix, Symmetric, Vector, times, transposed

Omegas = Callable[[Linkage, Sequence[Scalar]], list[Vector]]


def by_sweep(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """ω of every link in its own axes, base → tip: ω_i = Q_iᵀ ω_i−1 + h_i q̇_i."""
    found: list[Vector] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity")
        carried = link.rotation.inward(found[link.parent]) if link.parent >= 0 else linkage.zeros
        found.append(carried + link.H_angular * rates[i])
        linkage.name("omega", i, found[i])
    return found


Step = tuple[Matrix, Vector]
"""(E, w): ω behind = E · ω in front + w, over one link or over a run of links."""


def by_scan(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """The same ω by a prefix scan: runs of 1, 2, 4 … links are put together, and each link takes at most log₂ N runs."""
    ways = [(*reversed(linkage.model.ancestors(i)), i) for i in range(len(linkage))]   # base → link
    runs: dict[tuple[int, int], Step] = {}
    found: dict[int, Vector] = {}
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity by a prefix scan")
        way = ways[i]
        runs[i, 1] = transposed(link.rotation.matrix(linkage.one, linkage.zero)), link.H_angular * rates[i]
        lowest = len(way) & -len(way)
        length = 1
        while length < lowest:
            runs[i, 2 * length] = _after(runs[way[-1 - length], length], runs[i, length])
            length *= 2
            linkage.name(f"run{length}", i, runs[i, length][1])   # a named sum is not merged with the next: it stays shallow
        E, w = runs[i, lowest]
        found[i] = w if len(way) == lowest else times(E, found[way[-1 - lowest]]) + w
        linkage.name("omega", i, found[i])
    return [found[i] for i in range(len(linkage))]


def _after(front: Step, behind: Step) -> Step:
    return _product(behind[0], front[0]), times(behind[0], front[1]) + behind[1]


Turned = Callable[[Linkage, int], Matrix]


def turned_by_sweep(linkage: Linkage, e: int) -> Matrix:
    """The axes of link e in the base, one elementary turn after the other."""
    way = (*reversed(linkage.model.ancestors(e)), e)
    one, zero = linkage.one, linkage.zero
    rows = [Vector(one if i == j else zero for j in range(3)) for i in range(3)]
    linkage.step(e, "its axes in the base")
    base = linkage.constant_rotation(linkage.model.links[way[0]].base_rotation)
    for rotation in (base, *(linkage.links[i].rotation for i in way)):
        rows = [rotation.inward(row) for row in rows]
    return (rows[0], rows[1], rows[2])


def turned_by_scan(linkage: Linkage, e: int) -> Matrix:
    """The same axes by products of pairs, of pairs of pairs, and so on."""
    way = (*reversed(linkage.model.ancestors(e)), e)
    linkage.step(e, "its axes in the base, by products in pairs")
    rotations = [linkage.constant_rotation(linkage.model.links[way[0]].base_rotation), *(linkage.links[i].rotation for i in way)]
    left = [rotation.matrix(linkage.one, linkage.zero) for rotation in rotations]
    while len(left) > 1:
        pairs = [(left[n], left[n + 1]) for n in range(0, len(left) - 1, 2)]
        left = [_product(a, b) for a, b in pairs] + left[2 * len(pairs):]
    return left[0]


def _product(a: Matrix, b: Matrix) -> Matrix:
    over = transposed(b)
    return (times(over, a[0]), times(over, a[1]), times(over, a[2]))


def free_field(J: Symmetric, inverse: Symmetric, omega: Vector, moment: Vector) -> tuple[Vector, Matrix]:
    """(γ, U) of a link that only `moment` about its mass centre acts on."""
    gamma = -inverse.apply(omega.cross(J.apply(omega)) - moment)
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return gamma, (Vector((-(yy + zz), xy - gamma[2], xz + gamma[1])),
                   Vector((xy + gamma[2], -(xx + zz), yz - gamma[0])),
                   Vector((xz - gamma[1], yz + gamma[0], -(xx + yy))))


def eta(linkage: Linkage, bodies: Sequence[Body], omega: Sequence[Vector], rates: Sequence[Scalar]) -> list[list[Scalar]]:
    """η of every joint at O_i in the axes of link i, angular first."""
    fields, pushed = [], []
    for i, body in enumerate(bodies):
        linkage.step(i, "acceleration of the link by itself")
        n, f = linkage.loads[i]
        fields.append(free_field(body.J, body.inverse_J, omega[i], n - body.s.cross(f)))
        pushed.append(f * body.inverse_m)
        linkage.name("gamma", i, fields[i][0])
    found = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "acceleration across the joint that velocities and gravity ask for")
        gamma, U = fields[i]
        turn, slide = link.H_angular * rates[i], link.H_linear * rates[i]
        angular = omega[i].cross(turn) - gamma
        linear = (omega[i] - turn).cross(slide + slide) + times(U, bodies[i].s) - pushed[i]
        if link.parent < 0:
            linear = linear - link.rotation.inward(linkage.gravity[i])   # the base accelerates against gravity
        else:
            outer, field = fields[link.parent]
            angular = angular + link.rotation.inward(outer)
            there = times(field, link.shift - bodies[link.parent].s) + pushed[link.parent]
            linear = linear + link.rotation.inward(there)
        linkage.name("eta", i, Vector([*angular, *linear]))
        found.append([*angular, *linear])
    return found
