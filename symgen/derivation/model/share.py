"""Frame sharing: links with parallel axes write their vectors in common axes.

If joint i rotates about an axis parallel to its parent's, vectors need no rotation from one link to
the next when both links are written in the same axes. Instead, the constant inertia of a link that
is not written in its own axes is rotated, by the sum of the angles between. A group of links with
parallel axes may be written in the axes of any of them. It may also be written in the axes that its
parent defines when every joint of the group is at zero. The choice is free for every link. It
changes no result: a method's equations relate vectors at one instant, and hold in any axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import joint_form
from symgen.derivation.model.links import Model
from symgen.derivation.model.spin import NO_SPIN, Spin

GROUND = -1
"""Stands for the axes that the parent of a group defines when every joint of the group is at zero.
"""


@dataclass(frozen=True)
class Member:
    """A link in its group, which is named by the link nearest to the base.

    The link is rotated by `angle` about the z axis of that link; `sign` is -1 if its own z axis is
    opposite.
    """

    group: int
    angle: Spin
    sign: int


def members(model: Model) -> list[Member]:
    """Return each link's membership in the group of links with axes parallel to its own."""
    result: list[Member] = []
    for i, link in enumerate(model.links):
        _, (tilt, across), beta = k.zxz(link.rotation)
        rotation = Spin((), beta)
        if link.directed and joint_form(link.kind).angle is not None:
            rotation = rotation + Spin(((i, 1),))
        parallel = (
            link.parent >= 0
            and link.directed
            and model.links[link.parent].directed
            and k.is_zero(across)
        )
        if not parallel:
            result.append(Member(i, rotation, 1))
            continue
        parent_member = result[link.parent]
        sign = parent_member.sign if tilt == 1 else -parent_member.sign
        result.append(
            Member(
                parent_member.group,
                parent_member.angle + (rotation if sign > 0 else -rotation),
                sign,
            )
        )
    return result


def share(model: Model, axes: Mapping[int, int]) -> Model:
    """Return the mechanism with link i of `axes` written in the axes of link `axes[i]` of its
    group, or of GROUND.

    Joint i must have an axis.
    """
    if not axes:
        return model.with_links(list(model.links), "share")
    group_members = members(model)
    links = list(model.links)
    for i, chosen in axes.items():
        member = group_members[i]
        spin = member.angle - (NO_SPIN if chosen == GROUND else group_members[chosen].angle)
        links[i] = replace(links[i], slack=spin if member.sign > 0 else -spin)
    return model.with_links(links, "share")
