"""A numbered equation of a paper: its general form, and both sides as computed for a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from symgen.papers.blocks import Matrix
from symgen.reference.precision import Array

Operators = TypeVar("Operators")


@dataclass(frozen=True)
class Equation(Generic[Operators]):
    """One equation.

    `number` is the number in the paper, `statement` the general form in LaTeX, `says` a sentence
    about it. `left` and `right` compute its two sides from the operators of a robot. The two sides
    share only the operators that the statement names; a definition is computed in a second way
    instead, which `says` explains. `letters` are the letters (`Letter.name`) that a document shows
    with this equation. `corrected` is True if the printed equation has an error, which `says`
    names.
    """

    number: str
    statement: str
    left: Callable[[Operators], Matrix]
    right: Callable[[Operators], Matrix]
    says: str = ""
    letters: tuple[str, ...] = ()
    corrected: bool = False

    def holds(self, operators: Operators) -> bool:
        """True if both sides are equal; exact over exact numbers."""
        return bool(self.left(operators) == self.right(operators))


@dataclass(frozen=True)
class Letter(Generic[Operators]):
    """An operator of a paper, block by block.

    `symbol` is LaTeX, `indices` names the links of a block, which count from 0 at the base, and
    `says` its meaning with the equation. `block` returns a block (an array of one or two
    dimensions), or None if it is zero; `nonzero` says which blocks are not.
    """

    name: str
    symbol: str
    indices: tuple[str, ...]
    says: str
    block: Callable[..., Any]
    nonzero: str = ""


def link_entries(name: str, sizes: int | str = 1) -> Callable[[Any, int], Array | None]:
    """Return the block of a letter that is a column: the entries of a link, or None if it has none.

    `name` is the attribute with the column. `sizes` is the number of entries of every link, or the
    attribute with the number of each.
    """

    def part(o: Any, i: int) -> Array | None:
        counts = [sizes] * len(o.links) if isinstance(sizes, int) else getattr(o, sizes)
        start = sum(counts[:i])
        entries: Array = getattr(o, name).entries[start : start + counts[i]]
        return entries if len(entries) else None

    return part
