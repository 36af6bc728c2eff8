"""Points that touch something, of whoever takes M apart: forces that hold them still while contacts are active.

The acceleration of a point fixed to link i is that of a rigid body's field, v̇ + U r (`symgen.methods.shared.motion`), which the sweep
of the bias force has already: there is no derivative of a Jacobian. The rows of A are the velocities of the point for a unit of
each entry of v. Both stand in the axes of the link next to the root on the way to the contact. There, a free root and what hangs
on it meet with few products; in the axes of the base, or of the contact's own link, there are more. Forces are turned to the axes
of the base once.

Joints that close loops (`symgen.methods.shared.closures`) have their rows before those of contacts, and always hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Rotation, SplitShift, Vector, times
from symgen.methods.shared.closures import bias_entries
from symgen.methods.shared.constrained import Held
from symgen.methods.shared.factor import Derive, Results, TakeApart, less_the_bias
from symgen.methods.shared.loops import felt_rows
from symgen.methods.shared.motion import Motion
from symgen.methods.shared.outward import at_rest, outward_sweep

AXES = 3


class Touching(NamedTuple):
    """A contact: the links that carry it, its own first and its root last. Its vectors are in the axes of link `way[meeting]`."""

    frame: Frame
    way: list[int]

    @property
    def meeting(self) -> int:
        """Next to the root, or the root where it carries the contact itself."""
        return max(len(self.way) - 2, 0)


def touching(linkage: Linkage) -> list[Touching]:
    """Every contact of a linkage."""
    return [
        Touching(frame, [frame.link, *linkage.model.ancestors(frame.link)])
        for frame in linkage.contacts
    ]


def rows(linkage: Linkage, contact: Touching) -> list[list[Scalar]]:
    """Three rows of A, each as long as v."""
    columns = _columns(linkage, contact)
    found = [
        [columns[k][axis] if k in columns else linkage.zero for k in range(len(linkage.dofs))]
        for axis in range(AXES)
    ]
    return [linkage.coupling.felt(row) for row in found]


def _columns(linkage: Linkage, contact: Touching) -> dict[int, Vector]:
    """How fast each degree of freedom on the way moves the point. What is moved outside of the meeting is turned to its axes link
    by link; inside of it, the axes are turned to each link.
    """
    _, lever = linkage.mounted(contact.frame)
    columns: dict[int, Vector] = {}
    one, zero = linkage.one, linkage.zero
    axes = [Vector((one, zero, zero)), Vector((zero, one, zero)), Vector((zero, zero, one))]
    for place, i in enumerate(contact.way):
        link = linkage.links[i]
        linkage.step(i, f"what its joint moves at {contact.frame.name}")
        for dof in link.dofs:
            moved = dof.H_linear + dof.H_angular.cross(lever)
            columns[dof.index] = (
                moved if place <= contact.meeting else Vector([axis.dot(moved) for axis in axes])
            )
        if link.parent < 0:
            break
        if place < contact.meeting:
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


def accelerations(
    linkage: Linkage, motions: Sequence[Motion], contact: Touching, gravity: bool = True
) -> Vector:
    """Of the point where the links move so; `gravity` says whether that is in them."""
    motion, (_, lever) = motions[contact.frame.link], linkage.mounted(contact.frame)
    linkage.step(contact.frame.link, f"acceleration of {contact.frame.name}")
    found = motion.accel + times(motion.U, lever)
    for i in contact.way[: contact.meeting]:
        found = linkage.links[i].rotation.to_parent(found)
    if not gravity:
        return found
    still = linkage.against_gravity(contact.way[-1])
    for i in reversed(contact.way[contact.meeting : -1]):
        still = linkage.links[i].rotation.to_child(still)
    return found - still


def in_base_axes(linkage: Linkage, contact: Touching, force: Sequence[Scalar]) -> list[Scalar]:
    """A force from the axes of the meeting to those of the base."""
    return list(_turn(linkage, contact).to_parent(Vector(force)))


def from_base_axes(linkage: Linkage, contact: Touching, force: Sequence[Scalar]) -> list[Scalar]:
    """And back."""
    return list(_turn(linkage, contact).to_child(Vector(force)))


def _turn(linkage: Linkage, contact: Touching) -> Rotation:
    root = contact.way[-1]
    factors = [*linkage.base_axes(root).factors]
    for i in reversed(contact.way[contact.meeting :]):
        factors += linkage.links[i].rotation.factors
    return Rotation(factors)


def held_rows(linkage: Linkage) -> list[list[Scalar]]:
    """A: the rows of loops, then those of contacts."""
    return [*felt_rows(linkage), *(row for one in touching(linkage) for row in rows(linkage, one))]


def of_contacts(factor: TakeApart, bias_force: Derive) -> dict[str, Derive]:
    """What whoever solves with M computes of contacts, given the bias force."""

    def turned(linkage: Linkage, forces: Sequence[Scalar]) -> list[Scalar]:
        linkage.home.step("forces in the axes of the base")
        return [
            x
            for k, one in enumerate(touching(linkage))
            for x in in_base_axes(linkage, one, forces[AXES * k : AXES * (k + 1)])
        ]

    def driven(
        linkage: Linkage,
        free: Sequence[Scalar],
        A: Sequence[Sequence[Scalar]],
        gamma: Sequence[Scalar],
    ) -> Results:
        """What `free` causes, the forces of loops, and those of contacts. What opens and drifts stands still where it is no
        argument."""
        active = [holds for holds in linkage.inputs["active"] for _ in range(AXES)]
        always = len(A) - len(active)
        drift = [*linkage.inputs.get("opening", []), *linkage.inputs.get("drift", [])] or [
            linkage.zero
        ] * len(A)
        wanted = [x - d for x, d in zip(gamma, drift, strict=True)]
        bordered = Held(factor(linkage), A, [*[linkage.one] * always, *active], linkage.solves)
        change, found = bordered.driven(free, wanted)
        return change, found[:always], turned(linkage, found[always:])

    def contact_solution(linkage: Linkage) -> Results:
        """a, λ and forces with M a + c = tau + Aᵀ (λ, forces), and A a + γ = 0 of loops, and where a contact is active."""
        (c,) = bias_force(linkage)
        free = less_the_bias(linkage, c)
        motions = outward_sweep(linkage, linkage.inputs["v"], at_rest(linkage))
        gamma = [x for one in touching(linkage) for x in accelerations(linkage, motions, one)]
        return driven(
            linkage, free, held_rows(linkage), [*bias_entries(linkage, beside=True), *gamma]
        )

    def impact_solution(linkage: Linkage) -> Results:
        """v⁺, λ and impulses with M (v⁺ − v) = Aᵀ (λ, impulses), and A v⁺ = 0 of loops, and where a contact is active."""
        v, A = linkage.home.inputs["v"], held_rows(linkage)
        linkage.home.step("velocities of the contacts")
        gamma = [linkage.dot(row, v) for row in A]
        change, *found = driven(
            linkage, linkage.inputs.get("push", [linkage.zero] * len(v)), A, gamma
        )
        linkage.home.step("velocities after the impact")
        return [x + y for x, y in zip(v, change, strict=True)], *found

    def contact_forward_dynamics(linkage: Linkage) -> Results:
        """a and forces."""
        a, _, forces = contact_solution(linkage)
        return a, forces

    def contact_impulse(linkage: Linkage) -> Results:
        """v⁺ and impulses."""
        after, _, impulses = impact_solution(linkage)
        return after, impulses

    return {
        derive.__name__: derive
        for derive in (contact_forward_dynamics, contact_impulse, contact_solution, impact_solution)
    }
