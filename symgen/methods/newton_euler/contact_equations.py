"""Residuals of the contact equations: one outward and one inward sweep, with forces at the contact
points.

They are not offered to users: `symgen.pipeline.differentiation.implicit` differentiates contact
dynamics and impacts by them.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.methods.newton_euler.sweeps import inward_sweep
from symgen.methods.shared.closures import bias_entries, jacobian_rows
from symgen.methods.shared.contacts import (
    AXES,
    ContactPath,
    contact_acceleration,
    contact_paths,
    from_base_axes,
)
from symgen.methods.shared.factor import Results
from symgen.methods.shared.loops import subtract_closure_forces
from symgen.methods.shared.outward import outward_sweep, zero_rates


def contact_equation(linkage: Linkage) -> Results:
    """Return the residuals of contact_forward_dynamics.

    They are M a + c − Jᵀ forces less Aᵀ λ, by one sweep; the accelerations of the closure rows; and
    those of the contact points.
    """
    contacts = contact_paths(linkage)
    motions = outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"])
    loads = _loaded(linkage, contacts, linkage.inputs["forces"], linkage.loads)
    tau, _ = inward_sweep(linkage, motions, loads)
    rows, a = jacobian_rows(linkage), linkage.inputs["a"]
    net_forces = subtract_closure_forces(linkage, rows, tau)
    opening = [
        linkage.dot(row, a) + rate for row, rate in zip(rows, bias_entries(linkage), strict=True)
    ]
    return (
        net_forces,
        opening,
        [x for contact in contacts for x in contact_acceleration(linkage, motions, contact)],
    )


def impact_equation(linkage: Linkage) -> Results:
    """Return the residuals of contact_impulse.

    They are M (v⁺ − v) − Jᵀ impulses less Aᵀ λ; the velocities of the closure rows and of the
    contact points at v⁺.
    """
    contacts, zero_velocities = contact_paths(linkage), zero_rates(linkage)
    v_after = linkage.coupling.expand_rates(linkage.inputs["v_after"])
    change = [x - y for x, y in zip(v_after, linkage.inputs["v"], strict=True)]
    no_loads = [(linkage.zeros, linkage.zeros) for _ in linkage.links]
    loads = _loaded(linkage, contacts, linkage.inputs["impulses"], no_loads)
    impulse, _ = inward_sweep(
        linkage, outward_sweep(linkage, zero_velocities, change, gravity=False), loads
    )
    motions = outward_sweep(linkage, zero_velocities, v_after, gravity=False)
    rows = jacobian_rows(linkage)
    net_impulse, opening = (
        subtract_closure_forces(linkage, rows, impulse),
        [linkage.dot(row, v_after) for row in rows],
    )
    return (
        net_impulse,
        opening,
        [
            x
            for contact in contacts
            for x in contact_acceleration(linkage, motions, contact, gravity=False)
        ],
    )


def _loaded(
    linkage: Linkage,
    contacts: Sequence[ContactPath],
    forces: Sequence[Scalar],
    loads: Sequence[tuple[Vector, Vector]],
) -> list[tuple[Vector, Vector]]:
    """Return the external wrench on each link, plus the contact forces, given in base axes."""
    result = list(loads)
    for k, contact in enumerate(contacts):
        linkage.step(contact.frame.link, f"force at {contact.frame.name}")
        force = Vector(from_base_axes(linkage, contact, forces[AXES * k : AXES * (k + 1)]))
        for i in reversed(contact.path[: contact.meeting]):
            force = linkage.links[i].rotation.to_child(force)
        n, f = result[contact.frame.link]
        result[contact.frame.link] = (
            n + linkage.frame_pose(contact.frame)[1].cross(force),
            f + force,
        )
    return result
