"""The equations that contacts solve, as residuals: one sweep outward and one inward, with forces at the points.

Nobody asks for them: forward dynamics with contacts, and impacts, are differentiated by them (`symgen.pipeline.differentiation.implicit`).
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.methods.newton_euler.sweeps import inward_sweep
from symgen.methods.shared.closures import bias_entries, jacobian_rows
from symgen.methods.shared.contacts import AXES, Touching, accelerations, from_base_axes, touching
from symgen.methods.shared.factor import Results
from symgen.methods.shared.loops import borne
from symgen.methods.shared.outward import at_rest, outward_sweep


def contact_equation(linkage: Linkage) -> Results:
    """M a + c − Jᵀ forces by one sweep, less what loops bear; how loops and points accelerate: what contact_forward_dynamics
    solves."""
    contacts = touching(linkage)
    motions = outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"])
    loads = _loaded(linkage, contacts, linkage.inputs["forces"], linkage.loads)
    tau, _ = inward_sweep(linkage, motions, loads)
    rows, a = jacobian_rows(linkage), linkage.inputs["a"]
    left = borne(linkage, rows, tau)
    opening = [
        linkage.dot(row, a) + own for row, own in zip(rows, bias_entries(linkage), strict=True)
    ]
    return left, opening, [x for one in contacts for x in accelerations(linkage, motions, one)]


def impact_equation(linkage: Linkage) -> Results:
    """M (v⁺ − v) − Jᵀ impulses, less what loops bear; how loops and points move at v⁺: what contact_impulse solves."""
    contacts, rest = touching(linkage), at_rest(linkage)
    after = linkage.coupling.followed(linkage.inputs["v_after"])
    change = [x - y for x, y in zip(after, linkage.inputs["v"], strict=True)]
    still = [(linkage.zeros, linkage.zeros) for _ in linkage.links]
    loads = _loaded(linkage, contacts, linkage.inputs["impulses"], still)
    push, _ = inward_sweep(linkage, outward_sweep(linkage, rest, change, gravity=False), loads)
    motions = outward_sweep(linkage, rest, after, gravity=False)
    rows = jacobian_rows(linkage)
    left, opening = borne(linkage, rows, push), [linkage.dot(row, after) for row in rows]
    return (
        left,
        opening,
        [x for one in contacts for x in accelerations(linkage, motions, one, gravity=False)],
    )


def _loaded(
    linkage: Linkage,
    contacts: Sequence[Touching],
    forces: Sequence[Scalar],
    loads: Sequence[tuple[Vector, Vector]],
) -> list[tuple[Vector, Vector]]:
    """What the surroundings exert on each link, with forces at contacts in the axes of the base."""
    found = list(loads)
    for k, one in enumerate(contacts):
        linkage.step(one.frame.link, f"force at {one.frame.name}")
        force = Vector(from_base_axes(linkage, one, forces[AXES * k : AXES * (k + 1)]))
        for i in reversed(one.way[: one.meeting]):
            force = linkage.links[i].rotation.to_child(force)
        n, f = found[one.frame.link]
        found[one.frame.link] = n + linkage.mounted(one.frame)[1].cross(force), f + force
    return found
