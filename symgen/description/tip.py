"""The default frame of `forward_kinematics`, `jacobian` and the like: what a user means by the end of an arm.

1. A link that is named for it: a grasp or tool centre point, else a tool, end effector, flange, hand, gripper. The last word of
the name counts; sides, numbers and words such as 'link' or 'base' do not. So 'left_hand_palm_link' is one, and 'left_hand_camera'
is not. Of links named alike, the one that the most joints move is taken; the two jaws of a gripper are no tips.

2. Else the last link before a gripper's fingers: a body with two or more short branches.

3. Else the end of the longest chain. On one body, a link without mass is taken before one with mass, since it exists to name a
place. Of several the last declared one is taken. A sensor or a part of a gripper comes last.

A link that a mimic joint moves is never a tip, nor is the base. Where links are alike (two arms, four legs), the first declared
is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from symgen.mechanism.mechanism import BASE, Frame, Mechanism
from symgen.support.errors import RequestError

WORDS = (
    ("tcp", "grasp", "grasping", "grasptarget"),
    ("tool",),
    ("ee", "eef", "effector"),
    ("flange",),
    ("hand", "palm"),
    ("gripper",),
)
"""Words that name a tip, the most telling first."""
ASIDE = frozenset(
    (
        "link",
        "frame",
        "base",
        "body",
        "stator",
        "center",
        "centre",
        "point",
        "arm",
        "left",
        "right",
        "l",
        "r",
    )
)
"""Words after the telling one that change nothing."""
PARTS = frozenset(
    (
        "accelerometer",
        "camera",
        "collision",
        "depth",
        "ft",
        "gyrometer",
        "imu",
        "laser",
        "led",
        "optical",
        "range",
        "rgb",
        "sensor",
        "finger",
        "fingertip",
        "index",
        "inner",
        "jaw",
        "knuckle",
        "little",
        "middle",
        "motor",
        "outer",
        "pad",
        "pinky",
        "ring",
        "thumb",
    )
)
"""Words for sensors, and for what grasps. Such a link is no tip as long as there is another."""
LONGEST_FINGER = 5
"""Joints of a branch that may still be a finger."""


class Tip(NamedTuple):
    """The chosen frame, why it was chosen, and the frames that are like it on other arms or legs."""

    name: str
    why: str
    alike: tuple[str, ...] = ()


def tip(mechanism: Mechanism) -> str:
    """The name of the chosen frame."""
    return choose(mechanism).name


@lru_cache(maxsize=64)
def choose(mechanism: Mechanism) -> Tip:
    """The chosen frame; RequestError for a mechanism that names no link."""
    if not mechanism.frames:
        raise RequestError(
            f"{mechanism.name} names no link, so there is no frame to speak of; declare one"
        )
    depth = _depths(mechanism)
    tips = [frame for frame in mechanism.frames if depth.get(frame.body, 0) > 0]
    if not tips:
        return Tip(
            mechanism.frames[0].name,
            "the only choice, since no link but those behind a mimic joint moves",
        )
    return _named(mechanism, tips, depth) or _unnamed(mechanism, tips, depth)


def _depths(mechanism: Mechanism) -> dict[int, int]:
    """How many joints move each body, without those beyond a mimic joint."""
    depth = {BASE: 0}
    for body, joint in enumerate(mechanism.joints):
        if joint.mimic is None and joint.parent in depth:
            depth[body] = depth[joint.parent] + 1
    return depth


def _by_body(tips: list[Frame]) -> dict[int, list[Frame]]:
    on: dict[int, list[Frame]] = {}
    for frame in tips:
        on.setdefault(frame.body, []).append(frame)
    return on


def _named(mechanism: Mechanism, tips: list[Frame], depth: dict[int, int]) -> Tip | None:
    """By a telling name, else None."""
    on = _by_body(tips)
    for words in WORDS:
        found = {frame.body for frame in tips if _telling(frame.name) in words}
        parent = {body: mechanism.joints[body].parent for body in found}
        beside = Counter(parent.values())
        jaws = {body for body in found if parent[body] != BASE and beside[parent[body]] > 1}
        ends = sorted(found - jaws)
        if ends:
            deepest = max(depth[body] for body in ends)
            chosen = [
                _best(mechanism, [f for f in on[body] if _telling(f.name) in words])
                for body in ends
                if depth[body] == deepest
            ]
            return Tip(chosen[0], f"its name says '{_telling(chosen[0])}'", tuple(chosen[1:]))
    return None


def _unnamed(mechanism: Mechanism, tips: list[Frame], depth: dict[int, int]) -> Tip:
    """By the shape of the tree."""
    on = _by_body(tips)
    ends: dict[int, str] = {}
    deepest = max(depth[body] for body in on)
    height, branches = _heights(mechanism), Counter(mechanism.parents)
    for leaf in (body for body in sorted(on) if depth[body] == deepest):
        hand = _before_fingers(mechanism, leaf, depth, height, branches)
        if hand is not None and hand in on:
            ends.setdefault(hand, "the last link before it branches")
        else:
            ends.setdefault(leaf, "the end of the longest chain")
    chosen = [_best(mechanism, on[body]) for body in ends]
    return Tip(chosen[0], next(iter(ends.values())), tuple(chosen[1:]))


def _heights(mechanism: Mechanism) -> list[int]:
    """The most joints from each body to the end of a branch."""
    height = [0] * len(mechanism.joints)
    for body in reversed(range(len(mechanism.joints))):
        parent = mechanism.joints[body].parent
        if parent != BASE:
            height[parent] = max(height[parent], height[body] + 1)
    return height


def _before_fingers(
    mechanism: Mechanism,
    leaf: int,
    depth: dict[int, int],
    height: list[int],
    branches: Counter[int],
) -> int | None:
    """The body nearest to the base, on the way to `leaf`, that carries nothing but two or more fingers."""
    hand, body = None, leaf
    while body != BASE and height[body] <= LONGEST_FINGER:  # heights grow on the way to the base
        if branches[body] > 1 and height[body] <= depth[body]:
            hand = body
        body = mechanism.joints[body].parent
    return hand


def _best(mechanism: Mechanism, frames: list[Frame]) -> str:
    """Of frames on one body: first no sensor and no part of a gripper, then without mass, then the last declared."""
    heavy = {
        part.link
        for frame in frames
        for part in mechanism.bodies[frame.body].parts
        if part.mass > 0
    }
    return max(
        enumerate(frames),
        key=lambda f: (not PARTS & set(_split(f[1].name)), f[1].name not in heavy, f[0]),
    )[1].name


def _telling(name: str) -> str:
    """The last word of a name that tells something, '' for the name of a sensor."""
    words = [word for word in _split(name) if not word.isdigit()]
    while len(words) > 1 and words[-1] in ASIDE:
        words.pop()
    return (
        ""
        if not words or PARTS & set(words) or (words[-1] == "effector" and "end" not in words)
        else words[-1]
    )


def _split(name: str) -> list[str]:
    """'r_gripper_toolFrame2' → r, gripper, tool, frame, 2."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
