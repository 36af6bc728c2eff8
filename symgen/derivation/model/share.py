"""Let links that turn about parallel axes share the axes in which their vectors are written.

Where joint i turns about an axis parallel to its parent's, a vector need not be turned from one link to the next if both links
are written in the same axes. What turns instead is the constant inertia of a link that is not written in its own axes, by the
sum of the angles between. So a group of links with parallel axes may be written in the axes of any of them, or in those that
its parent has when every joint of the group is at rest. That choice is free for every link. It changes no answer: all that a
method writes is equations between vectors at one instant, which hold in any axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import joint_form
from symgen.derivation.model.links import Model
from symgen.derivation.model.spin import STILL, Spin

GROUND = -1
"""In place of a link: the axes that the parent of the group gives it while no joint of the group turns."""


@dataclass(frozen=True)
class Member:
    """A link in its group, named by the link nearest to the base: turned by `angle` about the z axis of that one, `sign` -1
    where its own z axis points the other way."""

    group: int
    angle: Spin
    sign: int


def members(model: Model) -> list[Member]:
    """Where each link stands in the group of links whose axes are parallel to its own."""
    found: list[Member] = []
    for i, link in enumerate(model.links):
        _, (tilt, across), beta = k.zxz(link.rotation)
        own = Spin((), beta)
        if link.directed and joint_form(link.kind).angle is not None:
            own = own + Spin(((i, 1),))
        parallel = (
            link.parent >= 0
            and link.directed
            and model.links[link.parent].directed
            and k.is_zero(across)
        )
        if not parallel:
            found.append(Member(i, own, 1))
            continue
        outer = found[link.parent]
        sign = outer.sign if tilt == 1 else -outer.sign
        found.append(Member(outer.group, outer.angle + (own if sign > 0 else -own), sign))
    return found


def share(model: Model, axes: Mapping[int, int]) -> Model:
    """The same mechanism, with link i of `axes` written in the axes of link `axes[i]` of its group, or of GROUND.

    Joint i must have an axis.
    """
    if not axes:
        return model.with_links(list(model.links), "share")
    own = members(model)
    links = list(model.links)
    for i, chosen in axes.items():
        member = own[i]
        spin = member.angle - (STILL if chosen == GROUND else own[chosen].angle)
        links[i] = replace(links[i], slack=spin if member.sign > 0 else -spin)
    return model.with_links(links, "share")
