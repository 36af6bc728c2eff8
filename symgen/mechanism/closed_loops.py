"""Loop closures of a mechanism: joints between links of its tree that are no edges of the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symgen.mechanism.closures import ClosureType, closure, closures
from symgen.vocabulary.poses import Pose

SHOWN = 12
"""Number of joints that a message names."""


@dataclass(frozen=True)
class End:
    """A frame fixed to `body` (-1: the base), at the constant `pose` in its frame."""

    body: int
    pose: Pose = ()


@dataclass(frozen=True)
class Loop:
    """A loop closure of a `kind` (a file of `symgen/mechanism/closures/`) that constrains the frame
    `second` relative to `first`.
    """

    name: str
    kind: str
    first: End
    second: End
    parameters: tuple[tuple[str, Fraction], ...] = ()
    """Parameters of the closure type, as (name, value)."""

    @property
    def type(self) -> ClosureType:
        return closure(self.kind)

    def describe(self, links: Sequence[str]) -> str:
        """Describe the loop in one line; `links` has the names of the bodies, then of the base."""
        numbers = "".join(f", {name} {float(value):g}" for name, value in self.parameters)
        return (
            f"{self.name}: {self.kind} from {links[self.first.body]} to"
            f" {links[self.second.body]}{numbers}"
        )

    def facts(self, links: Sequence[str]) -> dict[str, Any]:
        """Return the loop as a dictionary for manifests; `links` as in `describe`."""
        return {
            "name": self.name,
            "type": self.kind,
            "first": links[self.first.body],
            "second": links[self.second.body],
            **(
                {"parameters": {name: float(value) for name, value in self.parameters}}
                if self.parameters
                else {}
            ),
        }


def loop_count_suffix(loops: Sequence[Loop]) -> str:
    """Return the number of loops as a suffix of the number of joints; empty if there are none."""
    return f", {len(loops)} loop{'s' * (len(loops) != 1)}" if loops else ""


Start = tuple[tuple[str, tuple[Fraction, ...]], ...]
"""Coordinates of some joints (rad, m, a quaternion of any length) from which all loops are closed.
"""


def start_fault(
    start: Sequence[tuple[str, tuple[Fraction, ...]]],
    loops: Sequence[object],
    joints: Mapping[str, tuple[int, int | None]],
) -> tuple[str, str] | None:
    """Return (fault, remedy) of a declared start, or None if it is valid.

    `joints` has, by name, the number of coordinates of a joint and the index of the first entry of
    its quaternion.
    """
    if start and not loops:
        return "a start is declared, but the mechanism has no closed loop", "remove the start"
    named: set[str] = set()
    for name, values in start:
        subject = f"the start of joint '{name}'"
        if name not in joints:
            return (
                f"{subject} is declared, but no moving joint has this name",
                f"use names of {', '.join(list(joints)[:SHOWN])}",
            )
        size, quaternion = joints[name]
        if name in named:
            return f"{subject} is declared twice", "declare it once"
        named.add(name)
        if len(values) != size:
            return f"{subject} has {len(values)} numbers", f"give {size}"
        if quaternion is not None and not any(values[quaternion : quaternion + 4]):
            return f"{subject} has a quaternion of zero", "give it a direction, such as 0, 0, 0, 1"
    return None


def choice_fault(
    role: str,
    names: Sequence[str],
    loops: Sequence[object],
    velocities: Mapping[str, Sequence[int]],
) -> tuple[str, str] | None:
    """Return (fault, remedy) of the joints that are declared to be `role`, or None if they are
    valid.

    `velocities` has the entries of v of each joint and of each velocity, by name.
    """
    if names and not loops:
        return (
            f"{role} joints are declared, but the mechanism has no closed loop",
            "remove the declaration",
        )
    chosen: set[int] = set()
    for name in names:
        subject = f"'{name}' is declared to be {role}"
        if name not in velocities:
            return (
                f"{subject}, but no moving joint has this name",
                f"use names of {', '.join(list(velocities)[:SHOWN])}",
            )
        if not velocities[name]:
            return f"{subject}, but it is a mimic joint", "name its leader"
        if chosen & {*velocities[name]}:
            return f"{subject} twice", "name each joint once"
        chosen |= {*velocities[name]}
    return None


def fault(loops: Sequence[Loop], bodies: int) -> tuple[str, str] | None:
    """Return (fault, remedy) of the loops of a mechanism with this number of bodies, or None if
    they are valid.
    """
    named: set[str] = set()
    for loop in loops:
        subject = f"loop '{loop.name}'"
        if loop.name in named:
            return f"{subject} is declared twice", "give each loop its own name"
        named.add(loop.name)
        if loop.kind not in closures():
            return (
                f"{subject} has the unknown type '{loop.kind}'",
                f"use one of {', '.join(closures())}",
            )
        if not all(-1 <= end.body < bodies for end in (loop.first, loop.second)):
            return (
                f"{subject} is fixed to a body that does not exist",
                "name bodies of the mechanism",
            )
        if loop.first.body == loop.second.body:
            return (
                f"{subject} joins a link to itself",
                "name two links that can move against each other",
            )
        required = [parameter.name for parameter in loop.type.parameters]
        declared = [name for name, _ in loop.parameters]
        if required != declared:
            return (
                f"{subject} is a {loop.kind} and declares {', '.join(declared) or 'no parameters'}",
                f"this type takes {', '.join(required) or 'none'}",
            )
        if any(value <= 0 for _, value in loop.parameters):
            return (
                f"{subject} has a parameter that is not positive",
                "declare it in m, larger than zero",
            )
    return None
