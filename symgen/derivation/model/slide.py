"""Slide the origin of a link's frame along its joint's axis, to where less has to be multiplied.

A joint does not say where on its axis the frame of its link starts. `reframe` takes the foot of the common normal with the next
axis. A length along the axis may stand before the joint or behind it, and be cheaper on one side.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.derivation import constants as k
from symgen.derivation.constants import Constant
from symgen.derivation.model.links import NOTHING, Model


def level(model: Model, i: int, toward: int) -> Constant:
    """How far (m) link i's origin is, along its z axis, from being level with that of its child `toward`, or with its parent's,
    which is -1."""
    link = model.links[i]
    if not link.directed or (toward < 0 and link.parent < 0):
        return k.ZERO
    return (
        model.links[toward].shift[2]
        if toward >= 0
        else k.settle(-k.dot(k.transpose(link.rotation)[2], link.shift))
    )


def slide(model: Model, i: int, way: Constant) -> Model:
    """The same mechanism, with the origin of link i moved by so much (m) along its z axis."""
    links, link, step = list(model.links), model.links[i], (k.ZERO, k.ZERO, way)
    axes, origin = link.placement
    links[i] = replace(
        link,
        shift=k.add(link.shift, k.apply(link.rotation, step)),
        placement=(axes, k.add(origin, k.apply(axes, step))),
        inertia=link.inertia.seen_from(k.IDENTITY, k.scale(-k.ONE, step)),
        center=k.sub(link.center, step),
        borne=link.borne
        if link.borne is NOTHING
        else link.borne.seen_from(k.IDENTITY, k.scale(-k.ONE, step)),
    )
    for c in model.children(i):
        links[c] = replace(links[c], shift=k.sub(links[c].shift, step))
    return model.with_links(links, "slide")
