"""Syntax of a language of expressions, with which `writer` writes rows as statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from symgen.vocabulary.reals import Real

SUM, PRODUCT, UNARY, ATOM = range(4)
"""Precedence of an expression, from the lowest to the highest."""


@dataclass(frozen=True)
class Language:
    """Syntax of a language.

    - `reserved`: names that no local may have.
    - `operators`: sign with its blanks and precedence of each operation; operators of one
      precedence are left-associative.
    - `literal`: text of a number in a real type. `call`: name of a mathematical function in a real
      type. `comment`: text that is valid in a comment.
    - `declaration`: pattern of the declaration of a local, with {kind}, {name} and {value}.
    - `element`: pattern of an element, with {array} and {index}. `first`: index of the first
      element.
    - `parenthesized`: pairs (outer, inner) of precedences. An operation of the inner precedence is
      in parentheses inside one of the outer precedence, although the grammar needs none.
    - `width`: largest number of columns of a line. `inline`: largest number of columns of an
      expression that is not declared as a local.
    - `storage`: text before the type of a public function, of a static function, and of a part.
    """

    reserved: frozenset[str]
    operators: Mapping[str, tuple[str, int]]
    literal: Callable[[Fraction, Real], str]
    call: Callable[[str, Real], str]
    comment: Callable[[str], str]
    declaration: str
    element: str = "{array}[{index}]"
    first: int = 0
    parenthesized: frozenset[tuple[int, int]] = frozenset()
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
        """Return an element of an array."""
        return self.element.format(array=array, index=index + self.first)

    def declared(self, kind: str, name: str, value: str) -> str:
        """Return the declaration of a local."""
        return self.declaration.format(kind=kind, name=name, value=value)
