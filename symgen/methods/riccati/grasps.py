"""Arms that hold one object: each arm by its own recursion, and one body between them.

Equations (G1)-(G6) are symgen's own, derived in `docs/explanation/mathematics.md`: of Rodriguez and Kreutz, Part II, which is about such
arms, only the contents were at hand. Of arm i the filter and the smoother
give how it would accelerate, were nothing held, and the recursion base → tip gives Ω_i = Λ_i⁻¹, how its tip gives way to a
wrench. B_i are the directions that its grasp transmits, as wrenches on the tip, A_i are the same as the object's joint feels
them, and e_i is how fast the rows of the grasp would open. All arms meet at the object, of inertia M_o and bias force b_o:

    K_i = B_iᵀ Ω_i B_i,    (M_o + Σ A_iᵀ K_i⁻¹ A_i) ẍ = τ_o − b_o − Σ A_iᵀ K_i⁻¹ e_i,    λ_i = −K_i⁻¹ (e_i + A_i ẍ),

and what λ_i does to the arm goes through its filter and its smoother once more. Only 6x6 are taken apart, however many arms
there are, and the object may weigh nothing. But an arm must give way along all that its grasp transmits, or K_i⁻¹ is not there:
in a pose in which one arm cannot, the elimination of A M⁻¹ Aᵀ still stands, and this does not. So it is taken where it is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Mobility, wrench_to_parent
from symgen.derivation.spatial import Symmetric as Symmetric3
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.riccati.dynamics import Spatial, bias_acceleration, plus, three_sweeps
from symgen.methods.riccati.dynamics import velocities as turning
from symgen.methods.riccati.filter import Filter, filtered, riccati_sweep, smoothed
from symgen.methods.riccati.operational import mobility_step
from symgen.methods.shared.closures import Loop, at_frame, loops, velocities
from symgen.methods.shared.task import Symmetric
from symgen.support.errors import MethodRefusal

NAME = "riccati:grasps"


class Grasp(NamedTuple):
    """Of one loop: the frame on the arm and that on the object; of each row the wrench B at the origin of the arm's frame in its
    axes, and A likewise at the object's; and the sign with which rows count the motion of the arm, that of the object being
    counted with the other."""

    loop: Loop
    arm: Frame
    object: Frame
    B: list[Spatial]
    A: list[Spatial]
    sign: int


def held(mechanism: Mechanism) -> int | None:
    """The body that all loops hold, each by another arm; None where there is none. Of several the one that moves most freely."""

    def holds(body: int) -> bool:
        if mechanism.joints[body].parent >= 0 or mechanism.children(body):
            return False
        roots = []
        for loop in mechanism.loops:
            ends = [end.body for end in (loop.first, loop.second)]
            if body not in ends:
                return False
            roots.append(_root(mechanism, ends[1 - ends.index(body)]))
        return -1 not in roots and len(set(roots)) == len(roots)

    found = [body for body in range(len(mechanism.bodies)) if mechanism.loops and holds(body)]
    return max(found, key=lambda body: mechanism.joints[body].type.nv, default=None)


def _root(mechanism: Mechanism, body: int) -> int:
    while body >= 0 and mechanism.joints[body].parent >= 0:
        body = mechanism.joints[body].parent
    return body


def none_held(mechanism: Mechanism) -> str | None:
    """Why a robot is none of arms that hold one object."""
    if held(mechanism) is not None:
        return None
    return (
        f"{NAME} is for arms that hold one object, and in '{mechanism.name}' no body on the base without children of "
        "its own is at one end of all loops, at the other ends of which are arms apart; take riccati"
    )


def constrained_forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """θ̈ and λ."""
    grasps = _grasps(linkage)
    _suited(linkage, grasps)
    (body,) = {one.object.link for one in grasps}
    filters = riccati_sweep(linkage)
    free, motion, b = three_sweeps(linkage)  # of each arm, nothing held
    motion[body] = _at_rest(linkage, body)
    yielding = [_yields(linkage, filters, one) for one in grasps]  # K_i of (G4)
    opening = _drifting(linkage, [_opening(linkage, one, motion) for one in grasps])  # e_i of (G4)
    felt = [_felt(linkage, one) for one in grasps]  # A_i of (G1)
    bias = plus(linkage.inertia[body].momentum(*motion[body]), b[body])
    found, forces = _balanced(linkage, body, bias, yielding, felt, opening)  # (G4), (G5)
    loads = [(linkage.zeros, linkage.zeros)] * len(linkage)
    for one, own in zip(grasps, forces, strict=True):
        loads[one.arm.link] = _load(linkage, one, own)
    _, nu = filtered(linkage, filters, [linkage.zero] * len(linkage.dofs), loads)
    change, _ = smoothed(linkage, filters, nu)  # (G6), (4.20), (4.22)
    a = [x + d for x, d in zip(free, change, strict=True)]
    for dof, x in zip(linkage.links[body].dofs, found, strict=True):
        a[dof.index] = x
    return a, [x for own in forces for x in own]


def _grasps(linkage: Linkage) -> list[Grasp]:
    ends = set.intersection(*({one.first.link, one.second.link} for one in linkage.loops))
    alone = [
        i
        for i in sorted(ends)
        if i >= 0 and linkage.links[i].parent < 0 and not linkage.links[i].children
    ]
    body = max(alone, key=lambda i: len(linkage.links[i].dofs))
    zeros, found = linkage.zeros, []
    for loop in loops(linkage):
        closing, d = loop.closing, loop.off
        first = [
            (row.first, zeros) if row.turns else (d.cross(row.first), row.first)
            for row in loop.directed
        ]
        second = [
            (row.second, zeros) if row.turns else (zeros, row.second) for row in loop.directed
        ]
        if closing.first.link == body:
            found.append(Grasp(loop, closing.second, closing.first, second, first, 1))
        else:
            found.append(Grasp(loop, closing.first, closing.second, first, second, -1))
    return found


def _suited(linkage: Linkage, grasps: Sequence[Grasp]) -> None:
    """MethodRefusal where an arm gives way along less than its grasp transmits."""
    for one in grasps:
        closing = one.loop.closing
        moves, rows = closing.moves[one.arm is closing.second], len(one.B)
        if moves < rows:
            raise MethodRefusal(
                f"{NAME} divides by how an arm gives way, and where the loops are assembled the arm of loop "
                f"'{closing.name}' gives way along {moves} of the {rows} directions that it holds; take riccati"
            )


def _yields(linkage: Linkage, filters: Sequence[Filter], grasp: Grasp) -> Symmetric:
    """K = Bᵀ Ω B, eliminated; Ω by its recursion from the base to the frame."""
    zero, zeros, frame = linkage.zero, linkage.zeros, grasp.arm
    still = Symmetric3(zero, zero, zero, zero, zero, zero)
    Omega = Mobility(still, (zeros, zeros, zeros), still)
    for i in (*reversed(linkage.model.ancestors(frame.link)), frame.link):
        link = linkage.links[i]
        linkage.step(i, "what a wrench on the link moves, from RK (3.13), (4.16), (5.4)")
        Omega = mobility_step(
            linkage, i, Omega.to_child(link.rotation, link.shift), filters
        )  # ψᵀ Ω ψ + Hᵀ D⁻¹ H
    own, origin = linkage.mounted(frame)
    linkage.home.step(
        f"loop {grasp.loop.closing.name}: how the arm gives way to it, B^T Lambda^-1 B"
    )
    Omega = Omega.shifted(origin).turned(own.transposed())
    moved = [Omega.apply(*row) for row in grasp.B]
    lower = [
        [one[0].dot(moved[j][0]) + one[1].dot(moved[j][1]) for j in range(i + 1)]
        for i, one in enumerate(grasp.B)
    ]
    return Symmetric.of(linkage.home, lower)


def _at_rest(linkage: Linkage, body: int) -> Spatial:
    """The acceleration of the object while its joint does not accelerate, a(k) of (2.19), with −gravity in it (3.21)."""
    linkage.step(body, "its acceleration without that of its joint, RK (2.19), (3.21)")
    return bias_acceleration(linkage, body, linkage.zeros, linkage.zeros, linkage.inputs["v"])


def _opening(linkage: Linkage, grasp: Grasp, motion: Sequence[Spatial]) -> list[Scalar]:
    """e: how fast the rows of A v change while the links move so, and with gains what is to pull them back."""
    omega, closing = [own for own, _ in turning(linkage)], grasp.loop.closing
    moved = velocities(linkage, ()) if grasp.loop.slides else [linkage.zeros] * len(linkage)
    return grasp.loop.pulled(
        *(
            at_frame(linkage, frame, omega[frame.link], moved[frame.link], *motion[frame.link])
            for frame in (closing.first, closing.second)
        )
    )


def _drifting(linkage: Linkage, opening: Sequence[list[Scalar]]) -> list[list[Scalar]]:
    """e less what the rows are to accelerate by, where that is an argument."""
    wanted = iter(linkage.inputs.get("opening", [linkage.zero] * sum(map(len, opening))))
    return [[x - next(wanted) for x in own] for own in opening]


def _felt(linkage: Linkage, grasp: Grasp) -> list[list[Scalar]]:
    """A: what the object's joint feels of each row."""
    found = []
    for row in grasp.A:
        n, f = wrench_to_parent(*linkage.mounted(grasp.object), *row)
        found.append(
            [dof.project(n, f) * -grasp.sign for dof in linkage.links[grasp.object.link].dofs]
        )
    return found


def _load(linkage: Linkage, grasp: Grasp, forces: Sequence[Scalar]) -> Spatial:
    """Less the wrench on the arm's link, as the filter has it: RK (2.28)."""
    linkage.home.step(f"loop {grasp.loop.closing.name}: what it exerts on the arm")
    total = (linkage.zeros, linkage.zeros)
    for (n, f), force in zip(grasp.B, forces, strict=True):
        total = plus(total, (n * force, f * force))
    n, f = wrench_to_parent(*linkage.mounted(grasp.arm), *total)
    return (-n, -f) if grasp.sign > 0 else (n, f)


def _balanced(
    linkage: Linkage,
    body: int,
    bias: Spatial,
    yielding: Sequence[Symmetric],
    felt: Sequence[list[list[Scalar]]],
    opening: Sequence[list[Scalar]],
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """ẍ of the object, whose bias force is given, and λ of every grasp."""
    own, inertia = linkage.links[body].dofs, linkage.inertia[body]
    linkage.step(body, "its own inertia, and the forces on it, RK (2.15), (3.17)")
    moved = [inertia.momentum(dof.H_angular, dof.H_linear) for dof in own]
    lower = [[own[i].project(*moved[j]) for j in range(i + 1)] for i in range(len(own))]
    for row, dof in zip(lower, own, strict=True):
        row[-1] = row[-1] + linkage.drives[dof.index].armature
    right = [linkage.inputs["tau"][dof.index] - dof.project(*bias) for dof in own]
    halves = []
    for K, A, e in zip(yielding, felt, opening, strict=True):
        linkage.step(body, "what an arm adds to its inertia and its forces")
        columns = [K.reduced([row[k] for row in A], f"A_{k + 1}") for k in range(len(own))]  # (G5)
        _, weighed = K.reduced(e, "e")
        halves.append((columns, weighed))
        for i, (one, _) in enumerate(columns):
            right[i] = right[i] - linkage.dot(one, weighed)
            for j in range(i + 1):
                lower[i][j] = lower[i][j] + linkage.dot(one, columns[j][1])
    linkage.step(body, "its acceleration, and the forces that hold it")
    found = Symmetric.of(linkage.home, lower).solve(right, "x")
    forces = []
    for K, (columns, weighed) in zip(yielding, halves, strict=True):
        rest = [
            -(x + linkage.dot([column[r] for _, column in columns], found))
            for r, x in enumerate(weighed)
        ]
        forces.append(K.back(rest, "lambda"))  # (G4)
    return found, forces
