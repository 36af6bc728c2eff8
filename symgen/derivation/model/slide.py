"""Shift of a link frame's origin along its joint's axis, to save multiplications.

A joint does not determine the position of its link's origin along the axis. `reframe` takes the
foot of the common normal with the next axis. A length along the axis may be placed before or after
the joint, and may be cheaper on one side.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant
from symgen.derivation.model.links import ZERO_INERTIA, Model


def axial_offset(model: Model, i: int, toward: int) -> Constant:
    """Return the distance (m) along link i's z axis to the plane of its child `toward`'s origin, or
    of its parent's (-1).
    """
    link = model.links[i]
    if not link.directed or (toward < 0 and link.parent < 0):
        return k.ZERO
    return (
        model.links[toward].shift[2]
        if toward >= 0
        else k.normalize(-k.dot(k.transpose(link.rotation)[2], link.shift))
    )


def slide(model: Model, i: int, distance: Constant) -> Model:
    """Return the mechanism with the origin of link i shifted by `distance` (m) along its z axis."""
    links, link, step = list(model.links), model.links[i], (k.ZERO, k.ZERO, distance)
    axes, origin = link.placement
    links[i] = replace(
        link,
        shift=k.add(link.shift, k.apply(link.rotation, step)),
        placement=(axes, k.add(origin, k.apply(axes, step))),
        inertia=link.inertia.in_outer_frame(k.IDENTITY, k.scale(-k.ONE, step)),
        center=k.sub(link.center, step),
        compensated=link.compensated
        if link.compensated is ZERO_INERTIA
        else link.compensated.in_outer_frame(k.IDENTITY, k.scale(-k.ONE, step)),
    )
    for c in model.children(i):
        links[c] = replace(links[c], shift=k.sub(links[c].shift, step))
    return model.with_links(links, "slide")
