"""The default frame of `forward_kinematics`, `jacobian` and similar functions: the end of an arm.

1. A link with the name of a tool: a grasp or tool centre point, else a tool, end effector, flange,
hand, gripper. The last word of the name counts; sides, numbers and words such as 'link' or 'base'
are skipped. So 'left_hand_palm_link' is a tool, and 'left_hand_camera' is not. Among links with the
same word, the one behind the most joints is chosen. The two jaws of a gripper are excluded.

2. Otherwise the last link before a gripper's fingers: a body with two or more short branches.

3. Otherwise the end of the longest chain. On one body, a link without mass is preferred, since it
exists to name a point. Among several, the last declared is chosen. Sensors and parts of a gripper
come last.

Links of a mimic joint, such as fingers, and links of the base, are chosen only if no other link
moves. A link beyond a mimic joint, such as the flange of a palletizer, may be chosen if it has a
joint of its own. Among equal links (two arms, four legs), the first declared is chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from symgen.mechanism.mechanism import BASE, Frame, Mechanism
from symgen.support.errors import RequestError

TOOL_WORDS = (
    ("tcp", "grasp", "grasping", "grasptarget"),
    ("tool",),
    ("ee", "eef", "effector"),
    ("flange",),
    ("hand", "palm"),
    ("gripper",),
)
"""Words in the names of tools, the most specific first."""
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
"""Words after the tool word that are skipped."""
PART_WORDS = frozenset(
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
"""Words for sensors and for parts of a gripper. A link with such a word is chosen only if there is
no other.
"""
LONGEST_FINGER = 5
"""Largest number of joints in a branch that counts as a finger."""


class Tip(NamedTuple):
    """The chosen frame, the reason, and equal frames on other arms or legs."""

    name: str
    why: str
    alike: tuple[str, ...] = ()


def tip(mechanism: Mechanism) -> str:
    """Return the name of the default frame."""
    return choose_tip(mechanism).name


@lru_cache(maxsize=64)
def choose_tip(mechanism: Mechanism) -> Tip:
    """Return the default frame. Raises RequestError for a mechanism without named links."""
    if not mechanism.frames:
        raise RequestError(f"{mechanism.name} has no named link to use as a frame; declare one")
    depth = _depths(mechanism)
    tips = [
        frame
        for frame in mechanism.frames
        if frame.body != BASE and mechanism.joints[frame.body].mimic is None
    ]
    if not tips:
        return Tip(
            mechanism.frames[0].name,
            "the only choice, since no link but those behind a mimic joint moves",
        )
    return _tip_by_name(mechanism, tips, depth) or _tip_by_shape(mechanism, tips, depth)


def _depths(mechanism: Mechanism) -> dict[int, int]:
    """Return the number of joints on the path from the base to each body, without mimic joints."""
    depth = {BASE: 0}
    for body, joint in enumerate(mechanism.joints):
        depth[body] = depth[joint.parent] + (joint.mimic is None)
    return depth


def _by_body(tips: list[Frame]) -> dict[int, list[Frame]]:
    frames_of_body: dict[int, list[Frame]] = {}
    for frame in tips:
        frames_of_body.setdefault(frame.body, []).append(frame)
    return frames_of_body


def _tip_by_name(mechanism: Mechanism, tips: list[Frame], depth: dict[int, int]) -> Tip | None:
    """Return the default frame by its name, or None."""
    frames_of = _by_body(tips)
    for words in TOOL_WORDS:
        bodies = {frame.body for frame in tips if _tool_word(frame.name) in words}
        parent = {body: mechanism.joints[body].parent for body in bodies}
        siblings = Counter(parent.values())
        jaws = {body for body in bodies if parent[body] != BASE and siblings[parent[body]] > 1}
        end_bodies = sorted(bodies - jaws)
        if end_bodies:
            deepest = max(depth[body] for body in end_bodies)
            chosen = [
                _best(mechanism, [f for f in frames_of[body] if _tool_word(f.name) in words])
                for body in end_bodies
                if depth[body] == deepest
            ]
            return Tip(chosen[0], f"its name says '{_tool_word(chosen[0])}'", tuple(chosen[1:]))
    return None


def _tip_by_shape(mechanism: Mechanism, tips: list[Frame], depth: dict[int, int]) -> Tip:
    """Return the default frame by the shape of the tree."""
    frames_of = _by_body(tips)
    reasons: dict[int, str] = {}
    deepest = max(depth[body] for body in frames_of)
    height, branches = _heights(mechanism), Counter(mechanism.parents)
    for leaf in (body for body in sorted(frames_of) if depth[body] == deepest):
        hand = _before_fingers(mechanism, leaf, depth, height, branches)
        if hand is not None and hand in frames_of:
            reasons.setdefault(hand, "the last link before it branches")
        else:
            reasons.setdefault(leaf, "the end of the longest chain")
    chosen = [_best(mechanism, frames_of[body]) for body in reasons]
    return Tip(chosen[0], next(iter(reasons.values())), tuple(chosen[1:]))


def _heights(mechanism: Mechanism) -> list[int]:
    """Return the number of joints from each body to the end of its longest branch."""
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
    """Return the hand on the path from the base to `leaf`: the first body with two or more short
    branches (fingers); None without fingers.

    A short branch has at most as many joints as the arm that carries it.
    """
    hand, body = None, leaf
    while body != BASE and height[body] <= LONGEST_FINGER:  # heights grow on the way to the base
        if branches[body] > 1 and height[body] <= depth[body]:
            hand = body
        body = mechanism.joints[body].parent
    return hand


def _best(mechanism: Mechanism, frames: list[Frame]) -> str:
    """Return the best frame of one body: no sensor or part of a gripper, then without mass, then
    the last declared.
    """
    with_mass = {
        part.link
        for frame in frames
        for part in mechanism.bodies[frame.body].parts
        if part.mass > 0
    }
    return max(
        enumerate(frames),
        key=lambda f: (not PART_WORDS & set(_split(f[1].name)), f[1].name not in with_mass, f[0]),
    )[1].name


def _tool_word(name: str) -> str:
    """Return the last word of a name that is not skipped; "" for the name of a sensor."""
    words = [word for word in _split(name) if not word.isdigit()]
    while len(words) > 1 and words[-1] in ASIDE:
        words.pop()
    return (
        ""
        if not words or PART_WORDS & set(words) or (words[-1] == "effector" and "end" not in words)
        else words[-1]
    )


def _split(name: str) -> list[str]:
    """Return the words of a name: 'r_gripper_toolFrame2' gives r, gripper, tool, frame, 2."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
