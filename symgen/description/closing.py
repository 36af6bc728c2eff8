"""Loops of a tree as declared, to loops between bodies. Whether they can close is not asked here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from symgen.description.lookup import link_hint
from symgen.description.quantities import Place, rounded, shown
from symgen.description.snapping import HALF_PI
from symgen.description.tree import Connection, ExtraFrame, Grip, Tree
from symgen.errors import ArgumentError
from symgen.loops import End, Loop, Start, choice_fault, start_fault
from symgen.mechanism import Joint, Mechanism, Note
from symgen.names import nearest
from symgen.poses import Angle, Pose

Carried = Mapping[str, tuple[int, Pose]]
"""Of each link the body that it ended up on, and the place there of the frame that its joint moves."""
Behind = Callable[[Pose, Pose, Place], Pose]


def closed(tree: Tree, order: Iterable[Connection], carried: Carried, behind: Behind) -> tuple[tuple[Loop, ...], list[Note]]:
    """The loops of a mechanism, and what is to be said of those that are left out.

    A loop both of whose ends stand on one body is left out, with a warning, where locked joints put them there; where they are
    welded it is a mistake, and DescriptionError names it. `order`: parents before children; `behind`: a pose behind another.
    """
    welded: dict[str, str] = {}
    for one in order:
        welded[one.child] = welded.get(one.parent, one.parent) if one.kind == "fixed" else one.child
    frames = {frame.name: frame for frame in tree.frames}
    found: dict[str, Loop] = {}
    names: set[str] = set()
    notes: list[Note] = []
    for loop in tree.loops:
        if loop.name in names:
            raise loop.place.error("this name is already a loop", "give each loop its own name")
        names.add(loop.name)
        (on_first, first), (on_second, second) = (_end(grip, frames, carried, behind) for grip in (loop.first, loop.second))
        if first.body != second.body:
            found[loop.name] = Loop(loop.name, loop.kind, first, second, loop.parameters)
        elif welded.get(on_first, on_first) == welded.get(on_second, on_second):
            what = "a link to itself" if on_first == on_second else f"{shown(on_first)} and {shown(on_second)}, which are welded"
            raise loop.place.error(f"it joins {what}", "name two links that can move against each other")
        else:
            notes.append(Note("warning", f"loop {loop.name} is left out, since locked joints hold {on_first} and {on_second} "
                                         "together; whether it is closed there is not checked"))
    return tuple(found.values()), notes


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
            raise place.error(f"joint {shown(name)} slides there, and a multiple of pi is no length", "write plain numbers")
        found.append((name, tuple(_plain(value) for value in values)))
    wrong = start_fault(found, tree.loops, {name: (of.nq, of.quaternion) for name, of in moving.items()})
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


def _end(grip: Grip, frames: Mapping[str, ExtraFrame], carried: Carried, behind: Behind) -> tuple[str, End]:
    """The link that a declared end is fixed to, and the same on the body that carries it."""
    frame = frames.get(grip.link)
    link, pose = (grip.link, grip.pose) if frame is None else (frame.link, behind(frame.pose, grip.pose, grip.place))
    if link not in carried:
        raise grip.place.error(f"its link {shown(grip.link)} is not declared", link_hint(grip.link, [*carried, *frames]))
    body, place = carried[link]
    return link, End(body, behind(place, pose, grip.place))


def _plain(value: Angle) -> Fraction:
    """A multiple of pi to sixty digits: it is only where a search begins."""
    return value.radians + rounded(2 * HALF_PI * value.pi)
