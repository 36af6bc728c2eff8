"""A language with expressions, as far as the writer of statements must know it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from symgen.vocabulary.reals import Real

SUM, PRODUCT, UNARY, ATOM = range(4)
"""How tightly an expression binds."""


@dataclass(frozen=True)
class Language:
    """How rows are spelt.

    No local is called as one of `reserved`. `operators` hold, by operation, the sign with the
    blanks around it and how tightly it binds; what binds alike is grouped from the left. (around,
    inside) in `apart`: an operation that stands in parentheses inside another one though the
    grammar asks for none. `declaration` is the line of a local: {kind}, {name}, {value}. `element`
    is that of an array: {array}, {index}, which counts from `first`. A line stays within `width`
    columns, and an expression of more than `inline` becomes a local of its own. `storage` stands
    before the type of a function: a public one, a static one, and a part of one.
    """

    reserved: frozenset[str]
    operators: Mapping[str, tuple[str, int]]
    literal: Callable[[Fraction, Real], str]
    call: Callable[[str, Real], str]
    comment: Callable[[str], str]
    declaration: str
    element: str = "{array}[{index}]"
    first: int = 0
    apart: frozenset[tuple[int, int]] = frozenset()
    width: int = 110
    inline: int = 80
    storage: Mapping[str, str] = field(
        default_factory=lambda: {"public": "", "static": "static ", "part": "static "}
    )

    def local(self, name: str, used_names: Container[str]) -> str:
        """Return a local name derived from `name` that is neither reserved nor in `used_names`."""
        text = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if text[:1].isdigit() or re.match(r"_([A-Z_]|$)", text) or not text:
            text = f"x{text}"
        while text in self.reserved or text in used_names:
            text += "_"
        return text

    def at(self, array: str, index: int) -> str:
        """An element of an array."""
        return self.element.format(array=array, index=index + self.first)

    def declared(self, kind: str, name: str, value: str) -> str:
        """The line of a local."""
        return self.declaration.format(kind=kind, name=name, value=value)
