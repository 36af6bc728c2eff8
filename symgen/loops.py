"""Loops of a mechanism: joints between two links of its tree, which the tree has no place for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.closures import ClosureType, closure, closures
from symgen.poses import Pose


@dataclass(frozen=True)
class End:
    """A frame fixed to `body` (-1: the base), at the constant `pose` in its frame."""

    body: int
    pose: Pose = ()


@dataclass(frozen=True)
class Loop:
    """A joint of `kind`, a file of `symgen/closures/`, that holds the frame `second` against `first`."""

    name: str
    kind: str
    first: End
    second: End
    parameters: tuple[tuple[str, Fraction], ...] = ()
    """The numbers that its kind asks for, as (name, value)."""

    @property
    def type(self) -> ClosureType:
        return closure(self.kind)


def fault(loops: Sequence[Loop], bodies: int) -> tuple[str, str] | None:
    """What is wrong with the loops of a mechanism of so many bodies, and what to do; None where nothing is."""
    for k, loop in enumerate(loops):
        where = f"loop '{loop.name}'"
        if loop.name in [other.name for other in loops[:k]]:
            return f"{where} is there twice", "give each loop its own name"
        if loop.kind not in closures():
            return f"{where} is closed by '{loop.kind}', which is no such joint", f"take one of {', '.join(closures())}"
        if not all(-1 <= end.body < bodies for end in (loop.first, loop.second)):
            return f"{where} is fixed to a body that does not exist", "name bodies of the mechanism"
        if loop.first.body == loop.second.body:
            return f"{where} joins a link to itself", "name two links that can move against each other"
        wanted, given = [p.name for p in loop.type.parameters], [name for name, _ in loop.parameters]
        if wanted != given:
            return (f"{where} is a {loop.kind} and declares {', '.join(given) or 'no numbers'}",
                    f"it takes {', '.join(wanted) or 'none'}")
        if any(value <= 0 for _, value in loop.parameters):
            return f"{where} has a parameter that is not positive", "declare it in m, larger than zero"
    return None
