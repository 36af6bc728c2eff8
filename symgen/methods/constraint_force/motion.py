"""What velocities, gravity and a run-time wrench add to the accelerations across the joints: local to two links once ω is known.

A link of mass centre C that only a wrench (n, f) at C acts on has ω̇ = γ with J γ = n − ω × J ω, C itself the acceleration
f / m, and each of its points ρ (from C) U ρ more, U = [γ]× + ω ωᵀ − |ω|² 1. What is left of the accelerations of two such
links at a joint, in the joint's own directions, is `eta`: 𝓐 F = H q̈ + η. So the one thing to carry along the chain is ω.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Matrix, Rotation, Symmetric, Vector, times, transposed
from symgen.methods.constraint_force.operator import Body

Omegas = Callable[[Linkage, Sequence[Scalar]], list[Vector]]


def by_sweep(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """ω of every link in its own axes, base → tip: ω_i = Q_iᵀ ω_i−1 + h_i q̇_i."""
    found: list[Vector] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity")
        carried = link.rotation.to_child(found[link.parent]) if link.parent >= 0 else linkage.zeros
        found.append(carried + link.turning(rates))
        linkage.name("omega", i, found[i])
    return found


Step = tuple[Matrix, Vector]
"""(E, w): ω behind = E · ω in front + w, over one link or over a run of links."""


def by_scan(linkage: Linkage, rates: Sequence[Scalar]) -> list[Vector]:
    """The same ω by a prefix scan."""

    def own(i: int) -> Step:
        link = linkage.links[i]
        return transposed(link.rotation.matrix(linkage.one, linkage.zero)), link.turning(rates)

    def ended(run: Step, before: Vector | None) -> Vector:
        E, w = run
        return w if before is None else times(E, before) + w

    def named(
        i: int, length: int, run: Step
    ) -> None:  # a named sum is not merged with the next: it stays shallow
        linkage.name(f"run{length}", i, run[1])

    found = _scanned(linkage, "angular velocity by a prefix scan", own, after, ended, named)
    for i, omega in enumerate(found):
        linkage.name("omega", i, omega)
    return found


Run = TypeVar("Run")
Prefix = TypeVar("Prefix")


def _scanned(
    linkage: Linkage,
    text: str,
    own: Callable[[int], Run],
    joined: Callable[[Run, Run], Run],
    ended: Callable[[Run, Prefix | None], Prefix],
    named: Callable[[int, int, Run], None] = lambda i, length, run: None,
) -> list[Prefix]:
    """A prefix scan from the base: runs of 1, 2, 4 … links are put together, and each link takes at most log₂ N runs."""
    ways = [(*reversed(linkage.model.ancestors(i)), i) for i in range(len(linkage))]  # base → link
    runs: dict[tuple[int, int], Run] = {}
    found: list[Prefix] = []
    for i, way in enumerate(ways):
        linkage.step(i, text)
        runs[i, 1] = own(i)
        lowest = len(way) & -len(way)
        length = 1
        while length < lowest:
            runs[i, 2 * length] = joined(runs[way[-1 - length], length], runs[i, length])
            length *= 2
            named(i, length, runs[i, length])
        found.append(
            ended(runs[i, lowest], None if len(way) == lowest else found[way[-1 - lowest]])
        )
    return found


def after(front: Step, behind: Step) -> Step:
    """Both runs, one behind the other, as one."""
    return _product(behind[0], front[0]), times(behind[0], front[1]) + behind[1]


Axes = Callable[[Linkage], list[Matrix]]


def axes_by_sweep(linkage: Linkage) -> list[Matrix]:
    """The axes of every link in the base, base → tip, one elementary turn after the other."""
    one, zero = linkage.one, linkage.zero
    found: list[Matrix] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "its axes in the base")
        outer = found[link.parent] if link.parent >= 0 else _base_axes(linkage, i).matrix(one, zero)
        rows = [link.rotation.to_child(row) for row in outer]
        found.append((rows[0], rows[1], rows[2]))
        linkage.name("R", i, found[i])
    return found


def axes_by_scan(linkage: Linkage) -> list[Matrix]:
    """The same axes by a prefix scan."""

    def own(i: int) -> Matrix:
        link = linkage.links[i]
        R = link.rotation.matrix(linkage.one, linkage.zero)
        return (
            R
            if link.parent >= 0
            else _product(_base_axes(linkage, i).matrix(linkage.one, linkage.zero), R)
        )

    def ended(run: Matrix, before: Matrix | None) -> Matrix:
        return run if before is None else _product(before, run)

    found = _scanned(linkage, "its axes in the base by a prefix scan", own, _product, ended)
    for i, R in enumerate(found):
        linkage.name("R", i, R)
    return found


def _base_axes(linkage: Linkage, root: int) -> Rotation:
    return linkage.base_axes(root)


Turned = Callable[[Linkage, int], Matrix]


def turned_by_sweep(linkage: Linkage, e: int) -> Matrix:
    """The axes of link e in the base."""
    return axes_by_sweep(linkage)[e]


def turned_by_scan(linkage: Linkage, e: int) -> Matrix:
    """The same axes by products of pairs, of pairs of pairs, and so on."""
    way = (*reversed(linkage.model.ancestors(e)), e)
    linkage.step(e, "its axes in the base, by products in pairs")
    rotations = [_base_axes(linkage, way[0]), *(linkage.links[i].rotation for i in way)]
    left = [rotation.matrix(linkage.one, linkage.zero) for rotation in rotations]
    while len(left) > 1:
        pairs = [(left[n], left[n + 1]) for n in range(0, len(left) - 1, 2)]
        left = [_product(a, b) for a, b in pairs] + left[2 * len(pairs) :]
    return left[0]


def _product(a: Matrix, b: Matrix) -> Matrix:
    over = transposed(b)
    return (times(over, a[0]), times(over, a[1]), times(over, a[2]))


def free_field(
    J: Symmetric, inverse: Symmetric, omega: Vector, moment: Vector
) -> tuple[Vector, Matrix]:
    """(γ, U) of a link that only `moment` about its mass centre acts on."""
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
    """η of every joint at O_i in the axes of link i, angular first."""
    fields, pushed = [], []
    for i, body in enumerate(bodies):
        linkage.step(i, "acceleration of the link by itself")
        n, f = linkage.loads[i]
        fields.append(free_field(body.J, body.inverse_J, omega[i], n - body.s.cross(f)))
        pushed.append(f * body.inverse_m + linkage.push(i))
        linkage.name("gamma", i, fields[i][0])
        linkage.mark("U", i, fields[i][1])
        linkage.mark("push", i, pushed[i])
    found = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "acceleration across the joint that velocities and gravity ask for")
        gamma, U = fields[i]
        turn, slide = link.turning(rates), link.sliding(rates)
        angular = omega[i].cross(turn) - gamma
        linear = (
            (omega[i] - turn).cross(slide + slide)
            + turn.cross(slide)
            + times(U, bodies[i].s)
            - pushed[i]
        )
        if link.parent < 0:
            linear = linear + linkage.against_gravity(i)  # which the base accelerates
        else:
            outer, field = fields[link.parent]
            angular = angular + link.rotation.to_child(outer)
            there = times(field, link.shift - bodies[link.parent].s) + pushed[link.parent]
            linear = linear + link.rotation.to_child(there)
        linkage.name("eta", i, Vector([*angular, *linear]))
        found.append([*angular, *linear])
    return found
