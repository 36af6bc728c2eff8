"""Syntax of a request: a letter, the indices of an entry or a block, and the position in a block:
M[1,2], P[2], P[2][0,5]. A name with a comma or a bracket is in double quotes: M["arm, left",0].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.vocabulary.arrays import TASK_ROWS
from symgen.vocabulary.names import nearest

_NUMBER = re.compile(r"-?\d{1,6}")
_INDEX = r'\s*(?:"(?:[^"]|"")*"\s*|[^\[\],"\s][^\[\],]*)?'
_INDICES = rf"(?:\[({_INDEX}(?:,{_INDEX})*)\]\s*)?"
_ONE_INDEX = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*)),')
_WHAT = re.compile(rf"\s*([A-Za-z]\w*)\s*{_INDICES}{_INDICES}")


@dataclass(frozen=True)
class Words:
    """A parsed request; None where brackets are missing."""

    what: str
    letter: str
    indices: tuple[str, ...] | None
    position: tuple[str, ...] | None


def parse_request(what: str) -> Words | None:
    """Parse a request; None if it is not a letter with brackets."""
    match = _WHAT.fullmatch(what)
    if match is None:
        return None
    index_lists = [
        None if index_list is None else _split(index_list) for index_list in (match[2], match[3])
    ]
    return Words(what.strip(), match[1], index_lists[0], index_lists[1])


def _split(indices: str) -> tuple[str, ...]:
    """Split indices at commas outside double quotes; a quote in a quoted name is written twice."""
    return tuple(
        quoted.replace('""', '"') or unquoted.strip()
        for quoted, unquoted in _ONE_INDEX.findall(f"{indices},")
    )


def check_index_count(words: Words, indices: tuple[str, ...], expected: int) -> None:
    """Raise RequestError unless the number of indices is right."""
    if len(indices) != expected:
        raise ArgumentError(
            f"'{words.what}' has {len(indices)} indices, {words.letter} takes {expected}"
        )


def parse_joint(mechanism: Mechanism, text: str) -> int:
    """Return the index of a joint, or of the link that it moves, from its number or name."""
    if not _NUMBER.fullmatch(text):
        return mechanism.joint_index(text)
    return _within(text, len(mechanism.joints), "joints")


def parse_velocity(mechanism: Mechanism, text: str) -> int:
    """Return the index of an entry of v, from its number or name: the joint's name, or "base.vx"
    for a joint that has several.
    """
    if not _NUMBER.fullmatch(text):
        return find_entry(mechanism, text, mechanism.velocity_names, "velocities")
    return _within(
        text, mechanism.nv, "velocities" if has_several_coordinates(mechanism) else "joints"
    )


def find_entry(mechanism: Mechanism, text: str, names: Sequence[str], entry_kind: str) -> int:
    """Return the index of an entry of q or v (`entry_kind`: coordinates or velocities) by its name
    among `names`.
    """
    entries_of_joint = [name for name in names if name.startswith(f"{text}.")]
    for joint, coupling in zip(mechanism.joints, mechanism.joint_couplings, strict=True):
        if joint.name == text and coupling is not None:
            leader = mechanism.joints[coupling.leader].name
            raise ArgumentError(
                f"joint '{text}' mimics '{leader}' and has no {entry_kind} of its own; name"
                f" '{leader}'"
            )
    if (
        text not in names
        and entries_of_joint
        and text in (joint.name for joint in mechanism.joints)
    ):
        raise ArgumentError(
            f"joint '{text}' has {len(entries_of_joint)} {entry_kind}; name one of them:"
            f" {', '.join(entries_of_joint)}"
        )
    return names.index(
        nearest(
            text,
            names,
            "coordinate"
            if has_several_coordinates(mechanism) and entry_kind == "coordinates"
            else "velocity"
            if has_several_coordinates(mechanism)
            else "joint",
        )
    )


def has_several_coordinates(mechanism: Mechanism) -> bool:
    """True if joint numbers are no indices of q or v: a joint has several coordinates, several
    velocities, or mimics another.
    """
    return mechanism.coupled or any(
        (joint.type.nq, joint.type.nv) != (1, 1) for joint in mechanism.joints
    )


def refuse_several(mechanism: Mechanism, subject: str, instead: str) -> None:
    """Raise RequestError if a joint has several coordinates or mimics another; `instead` is the
    remedy.
    """
    for joint, coupling in zip(mechanism.joints, mechanism.joint_couplings, strict=True):
        if coupling is not None:
            raise RequestError(
                f"{subject} needs joints of one coordinate each, and joint '{joint.name}' of"
                f" '{mechanism.name}' mimics another; {instead}"
            )
        if (joint.type.nq, joint.type.nv) != (1, 1):
            raise RequestError(
                f"{subject} needs joints of one coordinate, and joint '{joint.name}' of"
                f" '{mechanism.name}' has {joint.type.nq}; {instead}"
            )


def parse_frame(frames: Sequence[str], text: str) -> int:
    """Return the index of one of the named frames, from its number or name."""
    return (
        _within(text, len(frames), "frames")
        if _NUMBER.fullmatch(text)
        else frames.index(nearest(text, frames, "frame"))
    )


def parse_task_row(rows: Sequence[int], text: str) -> int:
    """Return the index of one of the requested task rows, by its number among them or its name."""
    if _NUMBER.fullmatch(text):
        return _within(text, len(rows), "rows of the task")
    return [TASK_ROWS[row] for row in rows].index(
        nearest(text, [TASK_ROWS[row] for row in rows], "row of the task")
    )


def _within(text: str, count: int, collection: str) -> int:
    if not 0 <= int(text) < count:
        raise UnknownName(
            f"index {text} is outside this robot's {collection}; they count from 0 to {count - 1}"
        )
    return int(text)


def parse_index(text: str, size: int, of: str) -> int:
    """Return the index of a row or a column."""
    if not _NUMBER.fullmatch(text) or not 0 <= int(text) < size:
        raise UnknownName(f"index '{text}' is outside {of}, which counts from 0 to {size - 1}")
    return int(text)
