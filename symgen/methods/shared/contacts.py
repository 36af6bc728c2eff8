"""Contact forces that keep active contact points at rest, for any factorization of M.

A point fixed to link i has the acceleration v̇ + U r of a rigid body's field
(`symgen.methods.shared.motion`). The outward sweep of the bias force computes that field anyway, so
no Jacobian is differentiated. The rows of A are the velocities of the point per unit of each entry
of v. Acceleration and rows are expressed in the axes of the link that follows the root on the path
to the contact. There, a free root and its descendants meet with few products; base axes, or the
axes of the contact's own link, need more. Forces are rotated to base axes once.

Rows of closed loops (`symgen.methods.shared.closures`) precede those of contacts, and are always
active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, SplitShift, Vector, times
from symgen.methods.shared.closures import bias_entries
from symgen.methods.shared.constrained import BorderedFactor
from symgen.methods.shared.factor import Derive, MakeFactor, Results, subtract_bias
from symgen.methods.shared.loops import closure_rows
from symgen.methods.shared.motion import Motion
from symgen.methods.shared.outward import outward_sweep, zero_rates

AXES = 3


class ContactPath(NamedTuple):
    """A contact and the links from its own link (first) to the root (last).

    Its vectors are in the axes of link `path[meeting]`.
    """

    frame: Frame
    path: list[int]

    @property
    def meeting(self) -> int:
        """Index of the link after the root, or of the root if the root carries the contact."""
        return max(len(self.path) - 2, 0)


def contact_paths(linkage: Linkage) -> list[ContactPath]:
    """Return the path of each contact of a linkage."""
    return [
        ContactPath(frame, [frame.link, *linkage.model.ancestors(frame.link)])
        for frame in linkage.contacts
    ]


def contact_rows(linkage: Linkage, contact: ContactPath) -> list[list[Scalar]]:
    """Return the three rows of A of a contact, each with one entry per velocity."""
    columns = _columns(linkage, contact)
    rows = [
        [columns[k][axis] if k in columns else linkage.zero for k in range(len(linkage.dofs))]
        for axis in range(AXES)
    ]
    return [linkage.coupling.reduce_forces(row) for row in rows]


def _columns(linkage: Linkage, contact: ContactPath) -> dict[int, Vector]:
    """Return the velocity of the contact point per unit of each velocity on its path.

    Tipward of the meeting link the columns are rotated inward link by link. Baseward of it the axes
    are rotated to each link instead.
    """
    _, lever = linkage.frame_pose(contact.frame)
    columns: dict[int, Vector] = {}
    unit, zero = linkage.one, linkage.zero
    axes = [Vector((unit, zero, zero)), Vector((zero, unit, zero)), Vector((zero, zero, unit))]
    for position, i in enumerate(contact.path):
        link = linkage.links[i]
        linkage.step(i, f"columns of the Jacobian at {contact.frame.name}")
        for dof in link.dofs:
            velocity = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = (
                velocity
                if position <= contact.meeting
                else Vector([axis.dot(velocity) for axis in axes])
            )
        if link.parent < 0:
            break
        if position < contact.meeting:
            columns = {k: link.rotation.to_parent(column) for k, column in columns.items()}
        else:
            axes = [link.rotation.to_parent(axis) for axis in axes]
        inner, outer = (
            (link.shift.inner, link.shift.outer)
            if isinstance(link.shift, SplitShift)
            else (linkage.zeros, link.shift)
        )
        lever = link.rotation.to_parent(lever + inner) + outer
    return columns


def contact_acceleration(
    linkage: Linkage, motions: Sequence[Motion], contact: ContactPath, gravity: bool = True
) -> Vector:
    """Return the acceleration of the contact point for these link motions.

    `gravity` is True if the motions contain −gravity.
    """
    motion, (_, lever) = motions[contact.frame.link], linkage.frame_pose(contact.frame)
    linkage.step(contact.frame.link, f"acceleration of {contact.frame.name}")
    acceleration = motion.accel + times(motion.U, lever)
    for i in contact.path[: contact.meeting]:
        acceleration = linkage.links[i].rotation.to_parent(acceleration)
    if not gravity:
        return acceleration
    upward = linkage.against_gravity(contact.path[-1])
    for i in reversed(contact.path[contact.meeting : -1]):
        upward = linkage.links[i].rotation.to_child(upward)
    return acceleration - upward


def in_base_axes(linkage: Linkage, contact: ContactPath, force: Sequence[Scalar]) -> list[Scalar]:
    """Return a force, given in the axes of the meeting link, in base axes."""
    return list(_rotation_to_base(linkage, contact).to_parent(Vector(force)))


def from_base_axes(linkage: Linkage, contact: ContactPath, force: Sequence[Scalar]) -> list[Scalar]:
    """Return a force, given in base axes, in the axes of the meeting link."""
    return list(_rotation_to_base(linkage, contact).to_child(Vector(force)))


def _rotation_to_base(linkage: Linkage, contact: ContactPath) -> Rotation:
    root = contact.path[-1]
    factors = [*linkage.base_axes(root).factors]
    for i in reversed(contact.path[contact.meeting :]):
        factors += linkage.links[i].rotation.factors
    return Rotation(factors)


def constraint_rows(linkage: Linkage) -> list[list[Scalar]]:
    """Return A: the rows of closed loops, then those of contacts."""
    return [
        *closure_rows(linkage),
        *(row for contact in contact_paths(linkage) for row in contact_rows(linkage, contact)),
    ]


def contact_functions(factor: MakeFactor, bias_force: Derive) -> dict[str, Derive]:
    """Return the contact functions of a method that factors M, given the bias force."""

    def forces_in_base(linkage: Linkage, forces: Sequence[Scalar]) -> list[Scalar]:
        linkage.derivation.step("forces in the axes of the base")
        return [
            x
            for k, contact in enumerate(contact_paths(linkage))
            for x in in_base_axes(linkage, contact, forces[AXES * k : AXES * (k + 1)])
        ]

    def solve_constraints(
        linkage: Linkage,
        free: Sequence[Scalar],
        A: Sequence[Sequence[Scalar]],
        gamma: Sequence[Scalar],
    ) -> Results:
        """Return the accelerations that `free` causes, the closure forces, and the contact forces
        in base axes.

        The inputs `opening` and `drift` are accelerations of the constraints that are to remain;
        they default to zero.
        """
        active = [is_active for is_active in linkage.inputs["active"] for _ in range(AXES)]
        closure_count = len(A) - len(active)
        drift = [*linkage.inputs.get("opening", []), *linkage.inputs.get("drift", [])] or [
            linkage.zero
        ] * len(A)
        target = [x - d for x, d in zip(gamma, drift, strict=True)]
        bordered = BorderedFactor(
            factor(linkage), A, [*[linkage.one] * closure_count, *active], linkage.solves
        )
        change, forces = bordered.constrained_accelerations(free, target)
        return change, forces[:closure_count], forces_in_base(linkage, forces[closure_count:])

    def contact_solution(linkage: Linkage) -> Results:
        """Return a, λ and contact forces with M a + c = tau + Aᵀ (λ, forces).

        The rows of closed loops and of active contacts have A a + γ = 0.
        """
        (c,) = bias_force(linkage)
        free = subtract_bias(linkage, c)
        motions = outward_sweep(linkage, linkage.inputs["v"], zero_rates(linkage))
        gamma = [
            x
            for contact in contact_paths(linkage)
            for x in contact_acceleration(linkage, motions, contact)
        ]
        return solve_constraints(
            linkage,
            free,
            constraint_rows(linkage),
            [*bias_entries(linkage, shares_bias_sweep=True), *gamma],
        )

    def impact_solution(linkage: Linkage) -> Results:
        """Return v⁺, λ and contact impulses with M (v⁺ − v) = Aᵀ (λ, impulses).

        The rows of closed loops and of active contacts have A v⁺ = 0.
        """
        v, A = linkage.derivation.inputs["v"], constraint_rows(linkage)
        linkage.derivation.step("velocities of the contacts")
        gamma = [linkage.dot(row, v) for row in A]
        change, *impulses = solve_constraints(
            linkage, linkage.inputs.get("push", [linkage.zero] * len(v)), A, gamma
        )
        linkage.derivation.step("velocities after the impact")
        return [x + y for x, y in zip(v, change, strict=True)], *impulses

    def contact_forward_dynamics(linkage: Linkage) -> Results:
        """Return a and the contact forces."""
        a, _, forces = contact_solution(linkage)
        return a, forces

    def contact_impulse(linkage: Linkage) -> Results:
        """Return v⁺ and the contact impulses."""
        v_after, _, impulses = impact_solution(linkage)
        return v_after, impulses

    return {
        derive.__name__: derive
        for derive in (contact_forward_dynamics, contact_impulse, contact_solution, impact_solution)
    }
