"""Frames of an SDF file: models, links, joints and `frame` elements, each with a pose in another
frame, and their relative poses.

A frame has a name in its model (its scope); `__model__` is the model's own frame, and `inner::name`
is a frame of a model within. Default references of poses: the enclosing model for a link, a frame
and an inner model; the child for a joint; the other frame for a frame that is attached to one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from symgen.description.quantities import Location, quote
from symgen.description.readers._sdf.text import Text
from symgen.vocabulary.poses import (
    Pose,
    Rotate,
    Turn,
    Vector3,
    compose,
    compose_merged,
    inverse,
    rotation_steps,
)

MODEL, WORLD = "__model__", "world"
MOST_STEPS = 1_000_000
"""Largest number of steps of all relative poses. A relative pose is as long as the row of frames
between both.
"""
_ROUND = (
    "its pose depends on itself through other frames",
    "make it relative to the model or a link",
)


@dataclass(eq=False)
class Frame:
    """One frame: `pose` leads to it from `base`; the world has no base. It moves with the frame
    `attached_to`.
    """

    name: str
    kind: str
    location: Location
    base: Frame | None = None
    pose: Pose = ()
    attached_to: Frame | None = None
    depth: int = -1
    """Number of frames between it and the world; -1 if it is not known yet."""


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
    """Pose of the scope, and the name of the reference frame in the enclosing scope."""
    placement: str = ""
    """Frame in the scope that has this pose, if it is not the frame of the scope."""
    merged: bool = False
    """True if the names of the scope also belong to the enclosing scope."""
    merges: list[Scope] = field(default_factory=list)
    """Merged models: their names and inner models also belong to this scope."""

    def find(self, name: str, location: Location) -> Frame:
        """Return the frame of that name. Raises DescriptionError for an unknown name."""
        scope, remaining_name = self, name
        while True:
            if remaining_name in scope.frames:
                return scope.frames[remaining_name]
            if remaining_name == MODEL:
                return scope.frame
            head, _, remaining_name = remaining_name.partition("::")
            if head not in scope.inner:
                close = get_close_matches(name, list(self.frames)[:1000]) if len(name) < 100 else []
                raise location.error(
                    f"{quote(name)} is not a link, joint, frame or model here",
                    f"did you mean {quote(close[0])}?" if close else "use a declared name",
                )
            scope = scope.inner[head]

    @property
    def within(self) -> list[Scope]:
        """The models directly inside, merged ones last."""
        theirs = {id(inner) for merged in self.merges for inner in merged.inner.values()}
        return [*(inner for inner in self.inner.values() if id(inner) not in theirs), *self.merges]

    @property
    def all_scopes(self) -> list[Scope]:
        """The scope and all its inner scopes, outer scopes first."""
        scopes = [self]
        for scope in scopes:
            scopes += scope.within
        return scopes


class FramePoses:
    """Relative poses of frames, and the link that carries each frame."""

    def __init__(self) -> None:
        self._steps = 0
        self._carriers: dict[Frame, Frame] = {}
        self._cached_poses: dict[tuple[Frame, Frame], Pose] = {}

    def relative_pose(self, start: Frame, end: Frame, location: Location) -> Pose:
        """Return the pose of `end` in `start`. Raises DescriptionError for frames in a circle, or
        too many in a row.
        """
        self._measure(start)
        self._measure(end)
        poses: list[Pose] = []
        frame, cached = (
            end,
            self._cached_poses,
        )  # frames in a row reuse the pose of the previous one
        while (start, frame) not in cached and frame.depth > start.depth:
            poses.append(frame.pose)
            assert frame.base is not None
            frame = frame.base
        self._count(len(poses), location)
        pose = (
            cached[start, frame]
            if (start, frame) in cached
            else self._through_common_base(start, frame, location)
        )
        for step in reversed(poses):
            pose = compose_merged(pose, step)
        cached[start, end] = pose
        return pose

    def _through_common_base(self, start: Frame, end: Frame, location: Location) -> Pose:
        """Return the pose of `end` in `start` through a common base."""
        up: list[Pose] = []
        down: list[Pose] = []
        while start is not end:
            if start.depth >= end.depth:
                assert start.base is not None
                up.append(inverse(start.pose))
                start = start.base
            else:
                assert end.base is not None
                down.append(end.pose)
                end = end.base
        self._count(len(up) + len(down), location)
        return compose(*up, *reversed(down))

    def _count(self, frames: int, location: Location) -> None:
        """Count steps; raise DescriptionError for too many."""
        self._steps += 4 * frames
        if self._steps > MOST_STEPS:
            raise location.error(
                f"the poses between frames have more than {MOST_STEPS} steps up to here",
                "make each frame relative to a nearby one",
            )

    def pose_in_model(self, model: Frame, frame: Frame) -> Pose:
        """Return the pose in a model of one of its frames, before the model itself has a pose."""
        path: dict[Frame, None] = {}
        current = frame
        while current is not model and current.base is not None:
            if current in path:
                raise current.location.error(*_ROUND)
            path[current] = None
            current = current.base
        return compose(*(step.pose for step in reversed(path)))

    def carrier(self, frame: Frame) -> Frame:
        """Return the link, or the world, that carries a frame."""
        path: dict[Frame, None] = {}
        current = frame
        while current.kind not in ("link", "world") and current not in self._carriers:
            if current in path:
                raise frame.location.error(
                    "it is attached to itself through other frames", "attach it to a link"
                )
            path[current] = None
            if current.attached_to is None:
                raise current.location.error("it has no link", "declare a link in this model")
            current = current.attached_to
        link = self._carriers.get(current, current)
        self._carriers.update(dict.fromkeys(path, link))
        return link

    def _measure(self, frame: Frame) -> None:
        """Determine the depth of a frame. Raises DescriptionError for a circle."""
        path: dict[Frame, None] = {}
        current: Frame | None = frame
        while current is not None and current.depth < 0:
            if current in path:
                raise current.location.error(*_ROUND)
            path[current] = None
            current = current.base
        depth = current.depth if current is not None else -1
        for count, unmeasured in enumerate(reversed(path), 1):
            unmeasured.depth = depth + count


def at_origin(frame: Frame, pose: Pose) -> Frame:
    """Return a frame at the origin of `frame`, with the axes of the frame to which `pose` leads."""
    rotation = rotation_steps(pose)
    return (
        Frame(frame.name, frame.kind, frame.location, frame, rotation, frame.attached_to)
        if rotation
        else frame
    )


def direction(pose: Pose, vector: Vector3) -> tuple[float, float, float]:
    """Return a vector after a pose as a unit vector before it, in floating point, to compare
    directions.
    """
    x, y, z = (float(entry) for entry in vector)
    for step in reversed(pose):
        if isinstance(step, Turn):
            half, size = float(step.angle) / 2, math.hypot(*map(float, step.axis))
            w, along = math.cos(half), [math.sin(half) * float(entry) / size for entry in step.axis]
        elif isinstance(step, Rotate):
            size = math.hypot(*map(float, step.quaternion))
            w, *along = (float(entry) / size for entry in step.quaternion)
        else:
            continue
        a, b, c = along
        s, t, u = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
        x, y, z = x + w * s + b * u - c * t, y + w * t + c * s - a * u, z + w * u + a * t - b * s
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length
