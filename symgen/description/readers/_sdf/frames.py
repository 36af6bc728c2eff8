"""The frames of an SDF file: models, links, joints and `frame` elements, each placed in another one, and the ways between them.

A frame has a name in its model (its scope), where `__model__` is the model's own and `inner::name` stands in a model within. What
a pose is relative to where nothing is said: a link, a frame and a model within to the model around, a joint to its child, a frame
that is attached to another to that one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from symgen.description.quantities import Place, shown
from symgen.description.readers._sdf.text import Text
from symgen.vocabulary.poses import Pose, Rotate, Turn, Vector3, compose, inverse, joined, turns

MODEL, WORLD = "__model__", "world"
MOST_STEPS = 1_000_000
"""Steps of all ways between frames together. A way is as long as the row of frames that are each relative to the next."""
_ROUND = (
    "its pose is relative to itself, through others",
    "place it relative to the model or a link",
)


@dataclass(eq=False)
class Frame:
    """One frame: `pose` leads to it from `base`, which the world has none of. `on` is what it moves with."""

    name: str
    kind: str
    place: Place
    base: Frame | None = None
    pose: Pose = ()
    on: Frame | None = None
    depth: int = -1
    """How many frames it is from the world; -1 where that is not known yet."""


@dataclass(eq=False)
class Scope:
    """One model, or the world: its frames by name and the elements that declare them."""

    text: Text
    element: Any
    frame: Frame
    prefix: str = ""
    frames: dict[str, Frame] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    links: list[tuple[Frame, Any]] = field(default_factory=list)
    joints: list[tuple[Frame, Any]] = field(default_factory=list)
    extra: list[tuple[Frame, Any]] = field(default_factory=list)
    placed: tuple[Pose, str] = ((), "")
    """Its pose, and what that is relative to in the scope around."""
    placement: str = ""
    """The frame in it that is placed there, where that is not its own."""
    merged: bool = False
    """Whether its names are those of the scope around as well."""
    merges: list[Scope] = field(default_factory=list)
    """The models whose names are its own as well, and whose models within are."""

    def find(self, name: str, place: Place) -> Frame:
        """The frame of that name. DescriptionError where there is none."""
        scope, rest = self, name
        while True:
            if rest in scope.frames:
                return scope.frames[rest]
            if rest == MODEL:
                return scope.frame
            head, colons, rest = rest.partition("::")
            if not colons or head not in scope.inner:
                close = (
                    get_close_matches(name, list(self.frames)[:1000], n=1, cutoff=0.6)
                    if len(name) < 100
                    else []
                )
                raise place.error(
                    f"{shown(name)} is no link, joint, frame or model here",
                    f"did you mean {shown(close[0])}?" if close else "name one that is declared",
                )
            scope = scope.inner[head]

    @property
    def within(self) -> list[Scope]:
        """The models directly inside, merged ones last."""
        theirs = {id(inner) for merged in self.merges for inner in merged.inner.values()}
        return [*(inner for inner in self.inner.values() if id(inner) not in theirs), *self.merges]

    @property
    def all_scopes(self) -> list[Scope]:
        """This one and those within, outer ones first."""
        found = [self]
        for scope in found:
            found += scope.within
        return found


class Ways:
    """Poses of frames in each other, and what each frame moves with."""

    def __init__(self) -> None:
        self._steps = 0
        self._carried: dict[Frame, Frame] = {}
        self._known: dict[tuple[Frame, Frame], Pose] = {}

    def between(self, start: Frame, end: Frame, place: Place) -> Pose:
        """The pose of `end` in `start`, by the shortest way. DescriptionError: frames in a circle, or too many in a row."""
        self._measure(start)
        self._measure(end)
        tail: list[Pose] = []
        at, known = end, self._known  # frames in a row are each found from the one before
        while (start, at) not in known and at.depth > start.depth and at.base is not None:
            tail.append(at.pose)
            at = at.base
        self._count(len(tail), place)
        pose = known[start, at] if (start, at) in known else self._around(start, at, place)
        for more in reversed(tail):
            pose = joined(pose, more)
        known[start, end] = pose
        return pose

    def _around(self, start: Frame, end: Frame, place: Place) -> Pose:
        """The same by the frame that both stand in."""
        up: list[Pose] = []
        down: list[Pose] = []
        while start is not end:
            if start.depth >= end.depth and start.base is not None:
                up.append(inverse(start.pose))
                start = start.base
            elif end.base is not None:
                down.append(end.pose)
                end = end.base
        self._count(len(up) + len(down), place)
        return compose(*up, *reversed(down))

    def _count(self, frames: int, place: Place) -> None:
        self._steps += 4 * frames
        if self._steps > MOST_STEPS:
            raise place.error(
                f"up to here the ways between frames have more than {MOST_STEPS} steps",
                "place each frame relative to one that is near it",
            )

    def inside(self, model: Frame, frame: Frame) -> Pose:
        """The pose in a model of a frame in it, before the model itself is placed."""
        way: dict[Frame, None] = {}
        at = frame
        while at is not model and at.base is not None:
            if at in way:
                raise at.place.error(*_ROUND)
            way[at] = None
            at = at.base
        return compose(*(one.pose for one in reversed(way)))

    def carrier(self, frame: Frame) -> Frame:
        """The link, or the world, that a frame moves with."""
        way: dict[Frame, None] = {}
        at = frame
        while at.kind not in ("link", "world") and at not in self._carried:
            if at in way:
                raise frame.place.error(
                    "it is attached to itself, through others", "attach it to a link"
                )
            way[at] = None
            if at.on is None:
                raise at.place.error("no link is in it", "declare a link in this model")
            at = at.on
        found = self._carried.get(at, at)
        self._carried.update(dict.fromkeys(way, found))
        return found

    def _measure(self, frame: Frame) -> None:
        way: dict[Frame, None] = {}
        at: Frame | None = frame
        while at is not None and at.depth < 0:
            if at in way:
                raise at.place.error(*_ROUND)
            way[at] = None
            at = at.base
        depth = at.depth if at is not None else -1
        for count, one in enumerate(reversed(way), 1):
            one.depth = depth + count


def at_origin(frame: Frame, way: Pose) -> Frame:
    """A frame at the origin of another one, with the axes of what `way` leads to."""
    turn = turns(way)
    return Frame(frame.name, frame.kind, frame.place, frame, turn, frame.on) if turn else frame


def direction(pose: Pose, vector: Vector3) -> tuple[float, float, float]:
    """A direction that is given behind a pose, as seen before it, of length one; in floating point, to tell directions apart."""
    x, y, z = (float(one) for one in vector)
    for step in reversed(pose):
        if isinstance(step, Turn):
            half, size = float(step.angle) / 2, math.hypot(*map(float, step.axis))
            w, along = math.cos(half), [math.sin(half) * float(one) / size for one in step.axis]
        elif isinstance(step, Rotate):
            size = math.hypot(*map(float, step.quaternion))
            w, *along = (float(one) / size for one in step.quaternion)
        else:
            continue
        a, b, c = along
        s, t, u = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
        x, y, z = x + w * s + b * u - c * t, y + w * t + c * s - a * u, z + w * u + a * t - b * s
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length
