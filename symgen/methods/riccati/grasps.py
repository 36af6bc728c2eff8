"""Forward dynamics of arms that hold one object: each arm by its own recursion, coupled by one
body.

The equations (G1)-(G6) are symgen's own, derived in `docs/explanation/mathematics.md`; of Rodriguez
and Kreutz, Part II, which treats such arms, only the table of contents was available. The filter
and the smoother of arm i give its accelerations without the object. The recursion base → tip gives
Ω_i = Λ_i⁻¹, the acceleration of its tip per wrench on it. B_i are the directions that its grasp
transmits, as wrenches on the tip. A_i are these directions as forces on the object's joint. e_i are
the accelerations of the grasp's constraint rows. All arms meet at the object, of inertia M_o and
bias force b_o:

    K_i = B_iᵀ Ω_i B_i,    (M_o + Σ A_iᵀ K_i⁻¹ A_i) ẍ = τ_o − b_o − Σ A_iᵀ K_i⁻¹ e_i,
    λ_i = −K_i⁻¹ (e_i + A_i ẍ),

and the effect of λ_i on the arm goes through its filter and its smoother once more. Only 6x6
matrices are factored, however many arms there are, and the object may be massless. But K_i must be
invertible: the tip of an arm must be able to accelerate along all directions that its grasp
transmits. In a pose in which one arm cannot, elimination of A M⁻¹ Aᵀ still works, and this method
fails. So it is chosen by name only.
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
from symgen.methods.riccati.dynamics import angular_velocities as turning
from symgen.methods.riccati.filter import Filter, filtered, riccati_sweep, smoothed
from symgen.methods.riccati.operational import mobility_step
from symgen.methods.shared.closures import (
    ClosedLoop,
    closed_loops,
    frame_motion,
    origin_velocities,
    refuse_without_closures,
)
from symgen.methods.shared.quantities import Block, Entries, Quantity, name_entries
from symgen.methods.shared.task import LDLFactor
from symgen.support.errors import MethodRefusal

NAME = "riccati:grasps"


class Grasp(NamedTuple):
    """One loop between an arm and the object.

    `arm` and `object` are the frames that it joins. For each row, B is the wrench at the origin of
    the arm's frame in its axes, and A the one at the object's frame. `sign` is the sign of the
    arm's motion in the rows; the object's motion has the opposite sign.
    """

    loop: ClosedLoop
    arm: Frame
    object: Frame
    B: list[Spatial]
    A: list[Spatial]
    sign: int


def held_body(mechanism: Mechanism) -> int | None:
    """Return the body that all loops hold, each by another arm; None if no body is held.

    If several bodies qualify, the one with the most degrees of freedom is returned.
    """

    def is_held_by_all(body: int) -> bool:
        if mechanism.joints[body].parent >= 0 or mechanism.children(body):
            return False
        roots = []
        for loop in mechanism.loops:
            end_bodies = [end.body for end in (loop.first, loop.second)]
            if body not in end_bodies:
                return False
            roots.append(_root(mechanism, end_bodies[1 - end_bodies.index(body)]))
        return -1 not in roots and len(set(roots)) == len(roots)

    candidates = [
        body for body in range(len(mechanism.bodies)) if mechanism.loops and is_held_by_all(body)
    ]
    return max(candidates, key=lambda body: mechanism.joints[body].type.nv, default=None)


def _root(mechanism: Mechanism, body: int) -> int:
    while body >= 0 and mechanism.joints[body].parent >= 0:
        body = mechanism.joints[body].parent
    return body


def refuse_without_grasps(mechanism: Mechanism) -> str | None:
    """Return why a robot is refused, or None: it must consist of arms that hold one object."""
    fact = _no_held_body(mechanism)
    return fact and f"{NAME} is for arms that hold one object, and {fact}; use riccati"


def _no_held_body(mechanism: Mechanism) -> str | None:
    if held_body(mechanism) is not None:
        return None
    return (
        f"in '{mechanism.name}' no body on the base without children is held by all closed loops, "
        "each with another arm"
    )


def _no_letters(mechanism: Mechanism) -> str | None:
    """Return why a robot has no letters of grasps, or None."""
    if (reason := refuse_without_closures(mechanism)) is not None:
        return reason
    fact = _no_held_body(mechanism)
    return fact and f"{fact}; S_loops is the matrix of any closed loops"


def constrained_forward_dynamics(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return θ̈ and λ."""
    grasps = _grasps(linkage)
    _require_mobility(linkage, grasps)
    (body,) = {grasp.object.link for grasp in grasps}
    filters = riccati_sweep(linkage)
    free, motion, b = three_sweeps(linkage)  # arms and object without grasps
    motion[body] = _object_bias_acceleration(linkage, body)
    mobilities = [
        LDLFactor.of(linkage.derivation, _tip_mobility(linkage, filters, grasp)) for grasp in grasps
    ]  # K_i of (G4)
    row_accelerations = _subtract_drift(
        linkage, [_row_accelerations(linkage, grasp, motion) for grasp in grasps]
    )  # e_i of (G4)
    object_rows = [_object_rows(linkage, grasp) for grasp in grasps]  # A_i of (G1)
    bias = plus(linkage.inertia[body].momentum(*motion[body]), b[body])
    object_acceleration, forces = _solve_object(
        linkage, body, bias, mobilities, object_rows, row_accelerations
    )  # (G4), (G5)
    loads = [(linkage.zeros, linkage.zeros)] * len(linkage)
    for grasp, forces_of_grasp in zip(grasps, forces, strict=True):
        loads[grasp.arm.link] = _grasp_load(linkage, grasp, forces_of_grasp)
    _, nu = filtered(linkage, filters, [linkage.zero] * len(linkage.dofs), loads)
    change, _ = smoothed(linkage, filters, nu)  # (G6), (4.20), (4.22)
    a = [x + d for x, d in zip(free, change, strict=True)]
    for dof, x in zip(linkage.links[body].dofs, object_acceleration, strict=True):
        a[dof.index] = x
    return a, [x for forces_of_grasp in forces for x in forces_of_grasp]


def _grasps(linkage: Linkage) -> list[Grasp]:
    common_links = set.intersection(
        *({closing.first.link, closing.second.link} for closing in linkage.loops)
    )
    candidates = [
        i
        for i in sorted(common_links)
        if i >= 0 and linkage.links[i].parent < 0 and not linkage.links[i].children
    ]
    body = max(candidates, key=lambda i: len(linkage.links[i].dofs))
    zeros, grasps = linkage.zeros, []
    for loop in closed_loops(linkage):
        closing, d = loop.closing, loop.closed_difference
        first = [
            (row.first, zeros) if row.angular else (d.cross(row.first), row.first)
            for row in loop.directed_rows
        ]
        second = [
            (row.second, zeros) if row.angular else (zeros, row.second)
            for row in loop.directed_rows
        ]
        if closing.first.link == body:
            grasps.append(Grasp(loop, closing.second, closing.first, second, first, 1))
        else:
            grasps.append(Grasp(loop, closing.first, closing.second, first, second, -1))
    return grasps


def _require_mobility(linkage: Linkage, grasps: Sequence[Grasp]) -> None:
    """Raise MethodRefusal if an arm has lower mobility at its tip than its grasp constrains."""
    for grasp in grasps:
        closing = grasp.loop.closing
        rank, rows = closing.moves[grasp.arm is closing.second], len(grasp.B)
        if rank < rows:
            raise MethodRefusal(
                f"{NAME} divides by the mobility of each arm, and the arm of loop '{closing.name}'"
                f" is singular in the assembled pose (rank {rank} of {rows}); use riccati"
            )


def _tip_mobility(linkage: Linkage, filters: Sequence[Filter], grasp: Grasp) -> list[list[Scalar]]:
    """Return the lower triangle of K = Bᵀ Ω B; Ω follows by its recursion from the base to the
    frame.
    """
    zero, zeros, frame = linkage.zero, linkage.zeros, grasp.arm
    zero_matrix = Symmetric3(zero, zero, zero, zero, zero, zero)
    Omega = Mobility(zero_matrix, (zeros, zeros, zeros), zero_matrix)
    for i in (*reversed(linkage.model.ancestors(frame.link)), frame.link):
        link = linkage.links[i]
        linkage.step(i, "acceleration per unit wrench on the link, from RK (3.13), (4.16), (5.4)")
        Omega = mobility_step(
            linkage, i, Omega.to_child(link.rotation, link.shift), filters
        )  # ψᵀ Ω ψ + Hᵀ D⁻¹ H
    mount, origin = linkage.frame_pose(frame)
    linkage.derivation.step(
        f"loop {grasp.loop.closing.name}: acceleration of the arm per unit constraint force, B^T"
        " Lambda^-1 B"
    )
    Omega = Omega.shifted(origin).rotated(mount.transposed())
    accelerations = [Omega.apply(*row) for row in grasp.B]
    return [
        [row[0].dot(accelerations[j][0]) + row[1].dot(accelerations[j][1]) for j in range(i + 1)]
        for i, row in enumerate(grasp.B)
    ]


def _object_bias_acceleration(linkage: Linkage, body: int) -> Spatial:
    """Return the acceleration of the object at zero joint accelerations, a(k) of (2.19), with
    −gravity (3.21).
    """
    linkage.step(body, "acceleration of the link at zero joint acceleration, RK (2.19), (3.21)")
    return bias_acceleration(linkage, body, linkage.zeros, linkage.zeros, linkage.inputs["v"])


def _row_accelerations(linkage: Linkage, grasp: Grasp, motion: Sequence[Spatial]) -> list[Scalar]:
    """Return e: the rates of the rows of A v for these accelerations of the links, stabilized if
    there are gains.
    """
    omega, closing = [link_omega for link_omega, _ in turning(linkage)], grasp.loop.closing
    velocities = (
        origin_velocities(linkage, ()) if grasp.loop.slides else [linkage.zeros] * len(linkage)
    )
    return grasp.loop.stabilized_row_rates(
        *(
            frame_motion(
                linkage, frame, omega[frame.link], velocities[frame.link], *motion[frame.link]
            )
            for frame in (closing.first, closing.second)
        )
    )


def _subtract_drift(
    linkage: Linkage, row_accelerations: Sequence[list[Scalar]]
) -> list[list[Scalar]]:
    """Return e less the accelerations that the rows are to keep, if these are an input."""
    drift = iter(linkage.inputs.get("opening", [linkage.zero] * sum(map(len, row_accelerations))))
    return [[x - next(drift) for x in row] for row in row_accelerations]


def _object_rows(linkage: Linkage, grasp: Grasp) -> list[list[Scalar]]:
    """Return A: the force of each row on the object's joint."""
    rows = []
    for row in grasp.A:
        n, f = wrench_to_parent(*linkage.frame_pose(grasp.object), *row)
        rows.append(
            [dof.project(n, f) * -grasp.sign for dof in linkage.links[grasp.object.link].dofs]
        )
    return rows


def _grasp_load(linkage: Linkage, grasp: Grasp, forces: Sequence[Scalar]) -> Spatial:
    """Return the grasp's negative wrench on the arm's link, as the filter needs it: RK (2.28)."""
    linkage.derivation.step(f"loop {grasp.loop.closing.name}: constraint force on the arm")
    total = (linkage.zeros, linkage.zeros)
    for (n, f), force in zip(grasp.B, forces, strict=True):
        total = plus(total, (n * force, f * force))
    n, f = wrench_to_parent(*linkage.frame_pose(grasp.arm), *total)
    return (-n, -f) if grasp.sign > 0 else (n, f)


def _solve_object(
    linkage: Linkage,
    body: int,
    bias: Spatial,
    mobilities: Sequence[LDLFactor],
    object_rows: Sequence[list[list[Scalar]]],
    row_accelerations: Sequence[list[Scalar]],
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Return ẍ of the object, given its bias force, and λ of each grasp."""
    dofs, inertia = linkage.links[body].dofs, linkage.inertia[body]
    linkage.step(body, "inertia of the object, and the forces on it, RK (2.15), (3.17)")
    momenta = [inertia.momentum(dof.H_angular, dof.H_linear) for dof in dofs]
    lower = [[dofs[i].project(*momenta[j]) for j in range(i + 1)] for i in range(len(dofs))]
    for row, dof in zip(lower, dofs, strict=True):
        row[-1] = row[-1] + linkage.drives[dof.index].armature
    right = [linkage.inputs["tau"][dof.index] - dof.project(*bias) for dof in dofs]
    halves = []
    for K, A, e in zip(mobilities, object_rows, row_accelerations, strict=True):
        linkage.step(body, "inertia and forces that an arm adds to the object")
        columns = [K.forward([row[k] for row in A], f"A_{k + 1}") for k in range(len(dofs))]  # (G5)
        _, scaled_error = K.forward(e, "e")
        halves.append((columns, scaled_error))
        for i, (column, _) in enumerate(columns):
            right[i] = right[i] - linkage.dot(column, scaled_error)
            for j in range(i + 1):
                lower[i][j] = lower[i][j] + linkage.dot(column, columns[j][1])
    linkage.step(body, "acceleration of the object, and the constraint forces on it")
    acceleration = LDLFactor.of(linkage.derivation, lower).solve(right, "x")
    forces = []
    for K, (columns, scaled_error) in zip(mobilities, halves, strict=True):
        right_side = [
            -(x + linkage.dot([column[r] for _, column in columns], acceleration))
            for r, x in enumerate(scaled_error)
        ]
        forces.append(K.back_substitute(right_side, "lambda"))  # (G4)
    return acceleration, forces


def _K(linkage: Linkage) -> Entries:
    """Return diag(K_i) of (G4) as one block."""
    grasps, filters = _grasps(linkage), riccati_sweep(linkage)
    blocks = [_tip_mobility(linkage, filters, grasp) for grasp in grasps]
    size, first = sum(map(len, blocks)), 0
    rows = [[linkage.zero] * size for _ in range(size)]
    for block in blocks:
        for i, row in enumerate(block):
            for j, x in enumerate(row):
                rows[first + i][first + j] = rows[first + j][first + i] = x
        first += len(block)
    return {(): Block(name_entries(linkage, "K", rows))}


def _e(linkage: Linkage) -> Entries:
    """Return all e_i of (G4) as one block."""
    grasps = _grasps(linkage)
    (body,) = {grasp.object.link for grasp in grasps}
    _, motion, _ = three_sweeps(linkage)
    motion[body] = _object_bias_acceleration(linkage, body)
    rows = [[x] for grasp in grasps for x in _row_accelerations(linkage, grasp, motion)]
    return {(): Block(name_entries(linkage, "e", rows))}


QUANTITIES = {
    "K_loops": Quantity(
        (),
        "NL x NL",
        "accelerations of each arm's constraint rows per unit force on them, the object held still:"
        " diag(B_i^T Omega_i B_i) of symgen's (G4)",
        _K,
        refusal=_no_letters,
        of_loops=True,
    ),
    "e_loops": Quantity(
        (),
        "NL x 1",
        "accelerations at which the constraint rows would open, without constraint forces and joint"
        " accelerations of the object, symgen's (G4)",
        _e,
        ("q", "v", "tau"),
        refusal=_no_letters,
        of_loops=True,
    ),
}
