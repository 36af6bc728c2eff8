"""A Mechanism as links again: what was lumped stands on a link of its own, by a fixed joint, with its frame, name and mass.

The moving links come first and in order, then the welded ones as they were declared, so that reading them gives the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from flint import fmpq

from symgen.description.quantities import DIGITS
from symgen.description.tree import LONGEST_NAME
from symgen.description.writers._places import placed, precise, rational, turned_moments
from symgen.description.writers._written import listed
from symgen.mechanism.mechanism import BASE, Frame, Joint, Mechanism, Part
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Pose, Shift, compose, inverse

_NUMBER = 8
"""Signs that are left for a number behind a name."""
MOVED = "_motor"
"""Behind a link's name: the massless link that moves where the link's own frame is not that of its joint."""


@dataclass(frozen=True)
class Link:
    """One link: `pose` leads from the frame of `parent` (None: it is the root) to its own at rest; `joint` None welds it there.

    `part` is its inertia, whose pose starts at the link's own frame.
    """

    name: str
    parent: str | None = None
    pose: Pose = ()
    joint: Joint | None = None
    part: Part | None = None
    fixed_joint: str = ""
    """The name of the joint that welds it."""
    moves: str = ""
    """The link that is welded to it, for whose frame it was made."""


@dataclass
class _Work:
    mechanism: Mechanism
    frames: dict[str, Frame]
    taken: dict[str, int]
    joints: dict[str, int]
    links: dict[str, Link] = field(default_factory=dict)
    bodies: dict[int, str] = field(default_factory=dict)
    """Of each body, the link that moves."""
    joined: list[str] = field(default_factory=list)


def links(mechanism: Mechanism, reserved: Iterable[str] = ()) -> tuple[list[Link], list[str]]:
    """(every link, sentences about their inertias). `reserved` are names that no link may have
    but the root.

    RequestError for a name that no XML can hold.
    """
    frames = {frame.name: frame for frame in mechanism.frames}
    names = {*frames, mechanism.base, *(body.name for body in mechanism.bodies)}
    joints = [joint.name for joint in mechanism.joints]
    for name in (mechanism.name, *names, *joints):
        if not name.isprintable():
            raise RequestError(
                f"{mechanism.name}: the name {name!r} has characters that XML does not hold; give it another"
            )
    work = _Work(mechanism, frames, dict.fromkeys((*names, *reserved), 1), dict.fromkeys(joints, 1))
    work.bodies[BASE] = _moving(work, BASE, mechanism.base, Link(""))
    for index, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True)):
        on = work.bodies[joint.parent]
        work.bodies[index] = _moving(work, index, body.name, Link("", on, joint.pose, joint))
    for frame in mechanism.frames:
        if frame.name not in work.links:
            _weld(work, frame.name, frame.body, frame.pose)
    for index, parts in enumerate(
        (mechanism.base_parts, *(body.parts for body in mechanism.bodies)), start=BASE
    ):
        for part in _by_link(work, parts):
            _carry(work, index, part)
    said = [f"the several inertias of {listed(work.joined)} are one there"] if work.joined else []
    return list(work.links.values()), said


def on_motors(every: Iterable[Link]) -> list[str]:
    """Of links that were made to move others."""
    moved = listed(link.moves for link in every if link.moves)
    return (
        [
            f"the frame of {moved} is not that of its joint, so that a massless link NAME{MOVED} moves it"
        ]
        if moved
        else []
    )


def _moving(work: _Work, body: int, name: str, link: Link) -> str:
    """Add the link of a body's own frame, by another name where the frame of that name stands elsewhere."""
    own = work.frames.get(name)
    if own is not None and (own.body != body or own.pose):
        link = replace(link, moves=name)
        name = fresh(name + MOVED, work.taken)
    work.links[name] = replace(link, name=name)
    return name


def _weld(work: _Work, name: str, body: int, pose: Pose) -> None:
    joint = fresh(f"{name}_fixed", work.joints)
    work.links[name] = Link(name, work.bodies[body], pose, fixed_joint=joint)


def _by_link(work: _Work, parts: Iterable[Part]) -> list[Part]:
    """The inertia of each link that a body carries; several where not the same fraction of their weights is borne."""
    found: dict[tuple[str, Fraction], list[Part]] = {}
    for part in parts:
        found.setdefault((part.link, part.gravcomp), []).append(part)
    work.joined += dict.fromkeys(name for (name, _), own in found.items() if len(own) > 1)
    return [combined(own) for own in found.values()]


def _carry(work: _Work, body: int, part: Part) -> None:
    """Give a part to the link it was declared for, or to a new one."""
    moving, link = work.bodies[body], work.links.get(part.link)
    if link is not None and link.part is None and link.name == moving:
        work.links[link.name] = replace(link, part=part)
    elif link is not None and link.part is None and link.joint is None and link.parent == moving:
        work.links[link.name] = replace(
            link, part=replace(part, pose=compose(inverse(link.pose), part.pose))
        )
    else:
        name = (
            part.link
            if link is None and part.link not in work.taken
            else fresh(part.link, work.taken)
        )
        work.taken[name] = 1
        _weld(work, name, body, ())
        work.links[name] = replace(work.links[name], part=part)


def fresh(stem: str, taken: dict[str, int]) -> str:
    """`stem`, or with a number behind it, whichever is free; it is taken then. A long one is cut, so that it can be read.

    `taken` are the names, and of each the number that was last put behind it.
    """
    stem = stem[: LONGEST_NAME - _NUMBER]
    name = stem
    while name in taken:
        taken[stem] = taken.get(stem, 1) + 1
        name = f"{stem}_{taken[stem]}"
    taken[name] = 1
    return name


# -- several inertias of one link, since a link of a URDF and a body of MuJoCo has one --


@precise
def combined(parts: Sequence[Part]) -> Part:
    """Mass, centre of mass and moments about it of all together, in the axes of the frame that their poses start at.

    Exact where the poses are rational, else to 60 digits. The same fraction of all their weights is borne.
    """
    if len(parts) == 1:
        return parts[0]
    mass = sum((part.mass for part in parts), Fraction(0))
    places = [placed(part.pose) for part in parts]
    weights = [rational(part.mass) / rational(mass) if mass else fmpq(0) for part in parts]
    centre = [
        sum((share * shift[k] for share, (_, shift) in zip(weights, places, strict=True)), fmpq(0))
        for k in range(3)
    ]
    moments = [fmpq(0)] * 6
    for part, (turned, shift) in zip(parts, places, strict=True):
        x, y, z = (shift[k] - centre[k] for k in range(3))
        about = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        own = turned_moments(turned, part.moments)
        moments = [
            total + one + rational(part.mass) * aside
            for total, one, aside in zip(moments, own, about, strict=True)
        ]
    a, b, c = map(_fraction, centre)
    xx, xy, xz, yy, yz, zz = map(_fraction, moments)
    return Part(
        parts[0].link,
        (Shift((a, b, c)),) if a or b or c else (),
        mass,
        (xx, xy, xz, yy, yz, zz),
        parts[0].gravcomp,
    )


def _fraction(value: Any) -> Fraction:
    """Of a ball, to 60 digits; nothing where it may be zero."""
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    return Fraction(0) if value.contains(0) else Fraction(value.str(DIGITS, radius=False))
