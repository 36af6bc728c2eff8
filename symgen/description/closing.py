"""Loops of a tree as declared, to loops between bodies. Whether they can close is not asked here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from symgen.description.lookup import link_hint
from symgen.description.quantities import Place, rounded, shown
from symgen.description.snapping import HALF_PI
from symgen.description.tree import Closing, ExtraFrame, Grip, Tree
from symgen.mechanism.closed_loops import End, Loop, Start, choice_fault, start_fault
from symgen.mechanism.mechanism import Joint, Mechanism, Note
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import Angle, Pose

Carried = Mapping[str, tuple[int, Pose]]
"""Of each link the body that it ended up on, and the place there of the frame that its joint moves."""
Behind = Callable[[Pose, Pose, Place], Pose]


def closed(
    tree: Tree, carried: Carried, behind: Behind, moving: Callable[[], Mechanism]
) -> tuple[tuple[Loop, ...], list[Note]]:
    """The loops of a mechanism that constrain something, and what is to be said of those that do not.

    A loop is left out if both of its frames are on one body, with a warning where they are apart, or if they stay together
    however the joints move. `moving` makes the mechanism without its loops; `behind` puts a pose behind another.
    """
    frames = {frame.name: frame for frame in tree.frames}
    found: dict[str, tuple[Closing, Loop]] = {}
    for loop in tree.loops:
        if loop.name in found:
            raise loop.place.error("this name is already a loop", "give each loop its own name")
        (on_first, first), (on_second, second) = (
            _end(grip, frames, carried, behind) for grip in (loop.first, loop.second)
        )
        if on_first == on_second:
            raise loop.place.error(
                "it joins a link to itself", "name two links that can move against each other"
            )
        found[loop.name] = loop, Loop(loop.name, loop.kind, first, second, loop.parameters)
    if not found:
        return (), []
    from symgen.reference.rounding import (
        ROUNDED,
        idle,
    )  # NumPy, which a description without loops does without

    apart, notes = idle(moving(), [loop for _, loop in found.values()]), []
    for name, size in apart.items():
        declared, between = found[name]
        if (
            size > ROUNDED and between.first.body != between.second.body
        ):  # no pose closes it, which whoever assembles says
            continue
        del found[name]
        said = (
            f"loop {name} constrains nothing and is left out: no joint moves its frame on {declared.second.link} against its "
            f"frame on {declared.first.link}"
        )
        notes.append(
            Note("idle", said)
            if size <= ROUNDED
            else Note(
                "warning",
                f"{said}, and they are apart by {size:.2g} rad or parts of the robot's size",
            )
        )
    return tuple(loop for _, loop in found.values()), notes


def started(tree: Tree, joints: Sequence[Joint], loops: Sequence[Loop]) -> Start:
    """Where closing them starts, in the order of the joints; of joints that are locked nothing is left.

    DescriptionError: a joint has no such coordinates, or there is none of that name.
    """
    place = tree.place.at("start")
    moving = {joint.name: joint.type for joint in joints}
    gone = {one.name for one in tree.connections} - moving.keys()
    found: list[tuple[str, tuple[Fraction, ...]]] = []
    for name, values in tree.start:
        if name in gone:
            continue
        turns = [one.unit == "rad" for one in moving[name].positions] if name in moving else []
        if any(value.pi for value, turn in zip(values, turns, strict=False) if not turn):
            raise place.error(
                f"joint {shown(name)} slides there, and a multiple of pi is no length",
                "write plain numbers",
            )
        found.append((name, tuple(_plain(value) for value in values)))
    wrong = start_fault(
        found, tree.loops, {name: (of.nq, of.quaternion) for name, of in moving.items()}
    )
    if wrong is not None:
        raise place.error(*wrong)
    at = {name: k for k, name in enumerate(moving)}
    return tuple(sorted(found, key=lambda one: at[one[0]])) if loops else ()


def chosen(what: str, tree: Tree, asked: Sequence[str] | None, made: Mechanism) -> tuple[str, ...]:
    """The joints that are to be `what`, "independent" or "actuated", as asked or as the description has them, in their order.

    Of joints that are locked nothing is left, and whoever follows another stands for that one. DescriptionError, or UnknownName
    of what was asked for: there is none of that name; ArgumentError: there is no loop.
    """
    known = made.velocities_of
    gone = {one.name for one in tree.connections} - known.keys()
    found: dict[str, None] = {}
    for name in getattr(tree, what) if asked is None else asked:
        if name in gone:
            continue
        if asked is not None:
            nearest(name, known, "joint")
        joint = next((k for k, one in enumerate(made.joints) if one.name == name), -1)
        follows = made.follows[joint] if joint >= 0 else None
        found[name if follows is None else made.joints[follows.leader].name] = None
    wrong = choice_fault(what, [*found], tree.loops, known)
    if wrong is not None and asked is not None:
        raise ArgumentError("; ".join(wrong))
    if wrong is not None:
        raise tree.place.at(what).error(*wrong)
    return tuple(sorted(found, key=lambda one: known[one])) if made.loops else ()


def _end(
    grip: Grip, frames: Mapping[str, ExtraFrame], carried: Carried, behind: Behind
) -> tuple[str, End]:
    """The link that a declared end is fixed to, and the same on the body that carries it."""
    frame = frames.get(grip.link)
    link, pose = (
        (grip.link, grip.pose)
        if frame is None
        else (frame.link, behind(frame.pose, grip.pose, grip.place))
    )
    if link not in carried:
        raise grip.place.error(
            f"its link {shown(grip.link)} is not declared",
            link_hint(grip.link, [*carried, *frames]),
        )
    body, place = carried[link]
    return link, End(body, behind(place, pose, grip.place))


def _plain(value: Angle) -> Fraction:
    """A multiple of pi to sixty digits: it is only where a search begins."""
    return value.radians + rounded(2 * HALF_PI * value.pi)
