"""Loops of a mechanism: joints between two links of its tree, which the tree has no place for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symgen.mechanism.closures import ClosureType, closure, closures
from symgen.vocabulary.poses import Pose

SHOWN = 12
"""Joints that a sentence names."""


@dataclass(frozen=True)
class End:
    """A frame fixed to `body` (-1: the base), at the constant `pose` in its frame."""

    body: int
    pose: Pose = ()


@dataclass(frozen=True)
class Loop:
    """A joint of `kind`, a file of `symgen/mechanism/closures/`, that holds the frame `second` against `first`."""

    name: str
    kind: str
    first: End
    second: End
    parameters: tuple[tuple[str, Fraction], ...] = ()
    """The numbers that its kind asks for, as (name, value)."""

    @property
    def type(self) -> ClosureType:
        return closure(self.kind)

    def describe(self, links: Sequence[str]) -> str:
        """Write the loop in one line; `links` are the names of the bodies and then of the base."""
        numbers = "".join(f", {name} {float(value):g}" for name, value in self.parameters)
        return f"{self.name}: {self.kind} from {links[self.first.body]} to {links[self.second.body]}{numbers}"

    def facts(self, links: Sequence[str]) -> dict[str, Any]:
        """The same for programs."""
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


def counted(loops: Sequence[Loop]) -> str:
    """Behind the number of joints; empty where there are none."""
    return f", {len(loops)} loop{'s' * (len(loops) != 1)}" if loops else ""


Start = tuple[tuple[str, tuple[Fraction, ...]], ...]
"""Of some joints, the coordinates (rad, m, a quaternion of any length) from which the closing of all loops starts."""


def start_fault(
    start: Sequence[tuple[str, tuple[Fraction, ...]]],
    loops: Sequence[object],
    joints: Mapping[str, tuple[int, int | None]],
) -> tuple[str, str] | None:
    """The same of where closing them starts; `joints`: of each how many coordinates it has, and the first of a quaternion."""
    if start and not loops:
        return "a start is declared, and there is no loop to close from it", "leave it out"
    named: set[str] = set()
    for name, values in start:
        where = f"the start of joint '{name}'"
        if name not in joints:
            return (
                f"{where} is declared, and no joint of this name moves",
                f"name some of {', '.join(list(joints)[:SHOWN])}",
            )
        size, quaternion = joints[name]
        if name in named:
            return f"{where} is declared twice", "declare it once"
        named.add(name)
        if len(values) != size:
            return f"{where} has {len(values)} numbers", f"give {size}"
        if quaternion is not None and not any(values[quaternion : quaternion + 4]):
            return f"{where} has a quaternion of zero", "give it a direction, such as 0, 0, 0, 1"
    return None


def choice_fault(
    what: str, names: Sequence[str], loops: Sequence[object], known: Mapping[str, Sequence[int]]
) -> tuple[str, str] | None:
    """The same of the joints that are declared to be `what`; `known`: the entries of v of each joint and of each velocity."""
    if names and not loops:
        return (
            f"{what} joints are declared, and there is no loop to be closed by the others",
            "leave them out",
        )
    taken: set[int] = set()
    for name in names:
        where = f"'{name}' is declared to be {what}"
        if name not in known:
            return (
                f"{where}, and no joint of this name moves",
                f"name some of {', '.join(list(known)[:SHOWN])}",
            )
        if not known[name]:
            return f"{where}, and follows another joint", "name that one"
        if taken & {*known[name]}:
            return f"{where} twice", "name each joint once"
        taken |= {*known[name]}
    return None


def fault(loops: Sequence[Loop], bodies: int) -> tuple[str, str] | None:
    """What is wrong with the loops of a mechanism of so many bodies, and what to do; None where nothing is."""
    named: set[str] = set()
    for loop in loops:
        where = f"loop '{loop.name}'"
        if loop.name in named:
            return f"{where} is there twice", "give each loop its own name"
        named.add(loop.name)
        if loop.kind not in closures():
            return (
                f"{where} is closed by '{loop.kind}', which is no such joint",
                f"take one of {', '.join(closures())}",
            )
        if not all(-1 <= end.body < bodies for end in (loop.first, loop.second)):
            return f"{where} is fixed to a body that does not exist", "name bodies of the mechanism"
        if loop.first.body == loop.second.body:
            return (
                f"{where} joins a link to itself",
                "name two links that can move against each other",
            )
        wanted, given = (
            [p.name for p in loop.type.parameters],
            [name for name, _ in loop.parameters],
        )
        if wanted != given:
            return (
                f"{where} is a {loop.kind} and declares {', '.join(given) or 'no numbers'}",
                f"it takes {', '.join(wanted) or 'none'}",
            )
        if any(value <= 0 for _, value in loop.parameters):
            return (
                f"{where} has a parameter that is not positive",
                "declare it in m, larger than zero",
            )
    return None
