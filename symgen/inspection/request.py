"""WHAT as text: a letter, the indices of an entry or a block, and behind a block the place in it: M[1,2], P[2], P[2][0,5]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.vocabulary.arrays import TASK_ROWS
from symgen.vocabulary.names import nearest

_NUMBER = re.compile(r"-?\d{1,6}")
_WHAT = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\[([^\[\]]*)\]\s*)?(?:\[([^\[\]]*)\]\s*)?")


@dataclass(frozen=True)
class Words:
    """A request taken apart: None where no brackets stood."""

    what: str
    letter: str
    indices: tuple[str, ...] | None
    place: tuple[str, ...] | None


def taken_apart(what: str) -> Words | None:
    """None where it is no letter with brackets."""
    found = _WHAT.fullmatch(what)
    if found is None:
        return None
    inside = [
        None if part is None else tuple(word.strip() for word in part.split(","))
        for part in (found[2], found[3])
    ]
    return Words(what.strip(), found[1], inside[0], inside[1])


def counted(words: Words, given: tuple[str, ...], takes: int) -> None:
    """RequestError unless so many indices were given."""
    if len(given) != takes:
        raise ArgumentError(
            f"'{words.what}' has {len(given)} indices, {words.letter} takes {takes}"
        )


def joint(mechanism: Mechanism, text: str) -> int:
    """A joint, or the link that it moves, by its number from 0 or its name."""
    if not _NUMBER.fullmatch(text):
        return mechanism.joint_index(text)
    return _within(text, len(mechanism.joints), "joints")


def velocity(mechanism: Mechanism, text: str) -> int:
    """An entry of v by its number from 0 or its name: its joint's, or "base.vx" of a joint that has several."""
    if not _NUMBER.fullmatch(text):
        return entry(mechanism, text, mechanism.velocity_names, "velocities")
    return _within(text, mechanism.nv, "velocities" if several(mechanism) else "joints")


def entry(mechanism: Mechanism, text: str, names: Sequence[str], what: str) -> int:
    """An entry of q or v (`what`: coordinates or velocities) by its name among `names`."""
    own = [name for name in names if name.startswith(f"{text}.")]
    for joint, follows in zip(mechanism.joints, mechanism.follows, strict=True):
        if joint.name == text and follows is not None:
            leader = mechanism.joints[follows.leader].name
            raise ArgumentError(
                f"joint '{text}' follows '{leader}' and has no {what} of its own; name '{leader}'"
            )
    if text not in names and own and text in (joint.name for joint in mechanism.joints):
        raise ArgumentError(
            f"joint '{text}' has {len(own)} {what}; name one of them: {', '.join(own)}"
        )
    return names.index(
        nearest(
            text,
            names,
            "coordinate"
            if several(mechanism) and what == "coordinates"
            else "velocity"
            if several(mechanism)
            else "joint",
        )
    )


def several(mechanism: Mechanism) -> bool:
    """Whether a joint has several coordinates or velocities, or none of its own, so that its number is none of an entry of q or
    v."""
    return mechanism.coupled or any(
        (joint.type.nq, joint.type.nv) != (1, 1) for joint in mechanism.joints
    )


def refuse_several(mechanism: Mechanism, what: str, instead: str) -> None:
    """RequestError where a joint has several coordinates: `what` is made of one a joint, so take `instead`."""
    for joint, follows in zip(mechanism.joints, mechanism.follows, strict=True):
        if follows is not None:
            raise RequestError(
                f"{what} is for joints of one coordinate each, and joint '{joint.name}' of '{mechanism.name}' "
                f"follows another; {instead}"
            )
        if (joint.type.nq, joint.type.nv) != (1, 1):
            raise RequestError(
                f"{what} is for joints of one coordinate, and joint '{joint.name}' of '{mechanism.name}' has "
                f"{joint.type.nq}; {instead}"
            )


def frame(frames: Sequence[str], text: str) -> int:
    """One of the frames that were named, by its number from 0 or its name."""
    return (
        _within(text, len(frames), "frames")
        if _NUMBER.fullmatch(text)
        else frames.index(nearest(text, frames, "frame"))
    )


def task_row(rows: Sequence[int], text: str) -> int:
    """One of the rows of the task that were asked for, by its number from 0 among these or its name."""
    if _NUMBER.fullmatch(text):
        return _within(text, len(rows), "rows of the task")
    return [TASK_ROWS[row] for row in rows].index(
        nearest(text, [TASK_ROWS[row] for row in rows], "row of the task")
    )


def _within(text: str, count: int, what: str) -> int:
    if not 0 <= int(text) < count:
        raise UnknownName(
            f"index {text} is outside this robot's {what}; they count from 0 to {count - 1}"
        )
    return int(text)


def plain(text: str, size: int, of: str) -> int:
    """A row or a column by its number from 0."""
    if not _NUMBER.fullmatch(text) or not 0 <= int(text) < size:
        raise UnknownName(f"index '{text}' is outside {of}, which counts from 0 to {size - 1}")
    return int(text)
