"""Links of a Mechanism: each lumped link becomes a link of its own again, on a fixed joint, with
its frame, name and mass.

Moving links come first in order, then fixed links as declared, so that a reader gets the same
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from flint import fmpq

from symgen.description.quantities import DIGITS
from symgen.description.tree import LONGEST_NAME
from symgen.description.writers._places import (
    precise,
    quaternion_and_shift,
    rational,
    rotate_moments,
)
from symgen.description.writers._written import list_all
from symgen.mechanism.mechanism import BASE, Frame, Joint, Mechanism, Part
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Pose, Shift, compose, inverse

_NUMBER = 8
"""Characters reserved for a number after a name."""
MOVED = "_motor"
"""Suffix of a massless moving link, which carries a link whose frame is not its joint's frame."""


@dataclass(frozen=True)
class Link:
    """One link: `pose` leads from the frame of `parent` (None for the root) to its own at zero
    coordinates.

    A link with `joint` None is fixed there. `part` is its inertia, with a pose from the link's own
    frame.
    """

    name: str
    parent: str | None = None
    pose: Pose = ()
    joint: Joint | None = None
    part: Part | None = None
    fixed_joint: str = ""
    """Name of the fixed joint to its parent."""
    moves: str = ""
    """The link that is fixed to this massless link, for whose frame it exists."""


@dataclass
class _LinkAssembly:
    """State while links are added."""

    mechanism: Mechanism
    frames: dict[str, Frame]
    used_names: dict[str, int]
    joints: dict[str, int]
    links: dict[str, Link] = field(default_factory=dict)
    bodies: dict[int, str] = field(default_factory=dict)
    """Moving link of each body."""
    combined_links: list[str] = field(default_factory=list)


def links(mechanism: Mechanism, reserved: Iterable[str] = ()) -> tuple[list[Link], list[str]]:
    """Return all links, and sentences about their inertias. No link except the root may have a name
    in `reserved`.

    Raises RequestError for a name that XML cannot represent.
    """
    frames = {frame.name: frame for frame in mechanism.frames}
    names = {*frames, mechanism.base, *(body.name for body in mechanism.bodies)}
    joints = [joint.name for joint in mechanism.joints]
    for name in (mechanism.name, *names, *joints):
        if not name.isprintable():
            raise RequestError(
                f"{mechanism.name}: the name {name!r} has characters that XML cannot represent;"
                " choose another name"
            )
    assembly = _LinkAssembly(
        mechanism, frames, dict.fromkeys((*names, *reserved), 1), dict.fromkeys(joints, 1)
    )
    assembly.bodies[BASE] = _add_moving_link(assembly, BASE, mechanism.base, Link(""))
    for index, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True)):
        parent = assembly.bodies[joint.parent]
        assembly.bodies[index] = _add_moving_link(
            assembly, index, body.name, Link("", parent, joint.pose, joint)
        )
    for frame in mechanism.frames:
        if frame.name not in assembly.links:
            _add_fixed_link(assembly, frame.name, frame.body, frame.pose)
    for index, parts in enumerate(
        (mechanism.base_parts, *(body.parts for body in mechanism.bodies)), start=BASE
    ):
        for part in _parts_by_link(assembly, parts):
            _assign_part(assembly, index, part)
    sentences = (
        [f"the inertias of {list_all(assembly.combined_links)} are combined into one"]
        if assembly.combined_links
        else []
    )
    return list(assembly.links.values()), sentences


def note_motor_links(links: Iterable[Link]) -> list[str]:
    """Return a sentence on the massless links that were added."""
    names = list_all(link.moves for link in links if link.moves)
    return (
        [
            f"a massless link NAME{MOVED} is added for {names}, whose frame is not the frame of its"
            " joint"
        ]
        if names
        else []
    )


def _add_moving_link(assembly: _LinkAssembly, body: int, name: str, link: Link) -> str:
    """Add the moving link of a body; with another name if a frame of that name has another pose."""
    frame = assembly.frames.get(name)
    if frame is not None and (frame.body != body or frame.pose):
        link = replace(link, moves=name)
        name = unused_name(name + MOVED, assembly.used_names)
    assembly.links[name] = replace(link, name=name)
    return name


def _add_fixed_link(assembly: _LinkAssembly, name: str, body: int, pose: Pose) -> None:
    """Add a fixed link."""
    joint = unused_name(f"{name}_fixed", assembly.joints)
    assembly.links[name] = Link(name, assembly.bodies[body], pose, fixed_joint=joint)


def _parts_by_link(assembly: _LinkAssembly, parts: Iterable[Part]) -> list[Part]:
    """Return the inertia of each link of a body; several if their gravity compensation differs."""
    groups: dict[tuple[str, Fraction], list[Part]] = {}
    for part in parts:
        groups.setdefault((part.link, part.gravcomp), []).append(part)
    assembly.combined_links += dict.fromkeys(
        name for (name, _), group in groups.items() if len(group) > 1
    )
    return [sum_of_parts(group) for group in groups.values()]


def _assign_part(assembly: _LinkAssembly, body: int, part: Part) -> None:
    """Assign a part to its declared link, or to a new one."""
    moving, link = assembly.bodies[body], assembly.links.get(part.link)
    if link is not None and link.part is None and link.name == moving:
        assembly.links[link.name] = replace(link, part=part)
    elif link is not None and link.part is None and link.joint is None and link.parent == moving:
        assembly.links[link.name] = replace(
            link, part=replace(part, pose=compose(inverse(link.pose), part.pose))
        )
    else:
        name = (
            part.link
            if link is None and part.link not in assembly.used_names
            else unused_name(part.link, assembly.used_names)
        )
        assembly.used_names[name] = 1
        _add_fixed_link(assembly, name, body, ())
        assembly.links[name] = replace(assembly.links[name], part=part)


def unused_name(stem: str, used_names: dict[str, int]) -> str:
    """Return an unused name and record it: `stem`, or `stem` with a number. A long stem is
    shortened so that readers accept it.

    `used_names` has each used name with the last number that was appended to it.
    """
    stem = stem[: LONGEST_NAME - _NUMBER]
    name = stem
    while name in used_names:
        used_names[stem] += 1
        name = f"{stem}_{used_names[stem]}"
    used_names[name] = 1
    return name


# -- several inertias of one link, since a link of a URDF and a body of MuJoCo has one --


@precise
def sum_of_parts(parts: Sequence[Part]) -> Part:
    """Return the sum of several inertias: mass, centre of mass and moments about it, in the frame
    where their poses start.

    Exact if the poses are rational, else to 60 digits. All parts have the same fraction of gravity
    compensation.
    """
    if len(parts) == 1:
        return parts[0]
    mass = sum((part.mass for part in parts), Fraction(0))
    placements = [quaternion_and_shift(part.pose) for part in parts]
    weights = [rational(part.mass) / rational(mass) if mass else fmpq(0) for part in parts]
    centre = [
        sum(
            (fraction * shift[k] for fraction, (_, shift) in zip(weights, placements, strict=True)),
            fmpq(0),
        )
        for k in range(3)
    ]
    moments = [fmpq(0)] * 6
    for part, (rotation, shift) in zip(parts, placements, strict=True):
        x, y, z = (shift[k] - centre[k] for k in range(3))
        about = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        rotated = rotate_moments(rotation, part.moments)
        moments = [
            total + moment + rational(part.mass) * aside
            for total, moment, aside in zip(moments, rotated, about, strict=True)
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
    """Return a number as a Fraction; a ball to 60 digits, or zero if it contains zero, which has no
    digits.
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    return Fraction(value.str(DIGITS, radius=False))
