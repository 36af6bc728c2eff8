"""What MuJoCo asks of a body, and how a robot is made to meet it without becoming another one.

A body that moves has a mass and three moments of inertia, or is welded to one that has. So the joints of massless links in a row
stand together on the next body, as MuJoCo's own models have them, and inertia of no body that stands still is left out.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.writers._links import Link, on_motors
from symgen.description.writers._written import listed
from symgen.mechanism.inertias import is_positive_semidefinite, second_moments
from symgen.mechanism.mechanism import Joint, Part
from symgen.vocabulary.poses import Pose, compose, inverse

LEAST = Fraction(1, 10**15)
"""mjMINVAL: what MuJoCo takes for a mass, and for each moment of inertia."""
_LEAST_OF_SIX = Fraction(1, 10**14)
"""mjEPS: what MuJoCo takes for a moment about a principal axis, where it finds that axis itself."""
Seated = list[tuple[Joint, Pose]]
"""The joints of one body, from its parent on, each with the pose that leads from the body's frame to the joint's."""


@dataclass
class Bodies:
    """Links as MuJoCo's bodies: their `joints` by the link's name; `below`, the links on each; and sentences about the rest."""

    links: list[Link]
    joints: dict[str, Seated]
    below: dict[str | None, list[Link]]
    said: list[str] = field(default_factory=list)


def bodies(every: Sequence[Link], along_axes: Container[str]) -> Bodies:
    """The links of a robot, parents first. `along_axes` are the joints that are hinges and slides alone."""
    seated, joints = _with_own_frames(every, along_axes)
    solid = {link.name for link in seated if link.part is not None and _is_solid(link.part)}
    felt = solid | {
        link.parent
        for link in seated
        if link.joint is None and link.name in solid and link.parent is not None
    }
    found = Bodies([], joints, {}, on_motors(seated))
    kept, gone = _in_one_body(seated, found.joints, felt, along_axes)
    found.links, still = _without_what_stands_still(kept)
    found.below = _below(found.links)
    if gone:
        found.said.append(
            f"without a mass, {listed(gone)} is no body there, and its joint is one of the next body's"
        )
    if still:
        found.said.append(
            f"the inertia of {listed(still)} is left out: it stands still, and MuJoCo does not compile it"
        )
    found.said += _on_refused(found, felt)
    return found


def _with_own_frames(
    every: Sequence[Link], along_axes: Container[str]
) -> tuple[list[Link], dict[str, Seated]]:
    """The links, but for those that were made to move a link whose frame is not its joint's: a body's joint may stand anywhere in
    its frame. And where each does.
    """
    by_name = {link.name: link for link in every}
    takes = {
        link.name: by_name[link.moves]
        for link in every
        if link.moves in by_name
        and link.joint is not None
        and link.joint.name in along_axes
        and by_name[link.moves].parent == link.name
    }
    found: dict[str, Link] = {}
    joints: dict[str, Seated] = {}
    for link in every:
        own = takes.get(link.name, link)
        if own is not link:
            pose = compose(link.pose, own.pose)
            joint, back = link.joint, inverse(own.pose)
            own = replace(own, joint=joint, parent=link.parent, pose=pose)
        else:
            joint, back = link.joint, ()
        if own.name in found:
            continue
        if (above := takes.get(own.parent or "")) is not None:
            own = replace(own, parent=above.name, pose=compose(inverse(above.pose), own.pose))
        found[own.name] = own
        if joint is not None:
            joints[own.name] = [(joint, back)]
    return list(found.values()), joints


def _in_one_body(
    every: Sequence[Link],
    joints: dict[str, Seated],
    felt: Container[str],
    along_axes: Container[str],
) -> tuple[list[Link], list[str]]:
    """The links without those that move and have no mass, whose `joints` go to the next one; and the names of those."""
    below, by_name, gone = _below(every), {link.name: link for link in every}, set[str]()
    for name in [link.name for link in every if link.joint is not None and link.name in felt]:
        link = by_name[name]
        while (above := by_name.get(link.parent or "")) is not None and _is_spare(
            above, below, along_axes
        ):
            joints[name] = [
                (joint, compose(inverse(link.pose), back)) for joint, back in joints.pop(above.name)
            ] + joints[name]
            link = by_name[name] = replace(
                link, parent=above.parent, pose=compose(above.pose, link.pose)
            )
            gone |= {
                above.name,
                *(one.name for one in below.get(above.name, []) if one.joint is None),
            }
    return [by_name[link.name] for link in every if link.name not in gone], [
        link.name for link in every if link.name in gone
    ]


def _below(every: Sequence[Link]) -> dict[str | None, list[Link]]:
    found: dict[str | None, list[Link]] = {}
    for link in every:
        found.setdefault(link.parent, []).append(link)
    return found


def _is_spare(
    link: Link, below: Mapping[str | None, list[Link]], along_axes: Container[str]
) -> bool:
    """Whether a link moves, carries nothing but one more joint, and is moved along or about axes."""
    own = below.get(link.name, [])
    carried = [one.part for one in (link, *own) if one is link or one.joint is None]
    heavy = any(part is not None and (part.mass or any(part.moments)) for part in carried)
    return (
        link.joint is not None
        and link.joint.name in along_axes
        and not heavy
        and sum(one.joint is not None for one in own) == 1
    )


def _without_what_stands_still(every: list[Link]) -> tuple[list[Link], list[str]]:
    """The same without inertia that nothing feels and MuJoCo does not take; and whose it was."""
    root = every[0].name
    odd = {
        link.name
        for link in every
        if link.joint is None and root in (link.name, link.parent) and _is_odd(link.part)
    }
    return [replace(link, part=None) if link.name in odd else link for link in every], sorted(odd)


def _on_refused(found: Bodies, felt: Container[str]) -> list[str]:
    """What MuJoCo refuses to compile, which is written all the same: other readers take it, and so does symgen."""
    light = [link.name for link in found.links if link.joint is not None and link.name not in felt]
    odd = [link.name for link in found.links if _is_odd(link.part)]
    said = [
        (
            light,
            "MuJoCo does not compile this: nothing with a mass and three moments of inertia of its own moves with {}",
        ),
        (odd, "MuJoCo does not compile this: the moments of inertia of {} are those of no body"),
    ]
    return [text.format(listed(names)) for names, text in said if names]


def _is_solid(part: Part) -> bool:
    return part.mass >= LEAST and is_positive_semidefinite(part.moments, -LEAST)


def _is_odd(part: Part | None) -> bool:
    """Whether six moments are not positive definite, or any break the triangle inequality."""
    if part is None:
        return False
    skew = any(
        (part.moments[1], part.moments[2], part.moments[4])
    ) and not is_positive_semidefinite(part.moments, -_LEAST_OF_SIX)
    return skew or not is_positive_semidefinite(second_moments(part.moments), LEAST)
