"""Words of C: literals rounded once, locals that collide with nothing, and comments that cannot end early."""

from __future__ import annotations

from fractions import Fraction

from symgen.emission.ascii import ascii_text
from symgen.emission.language import PRODUCT, SUM, Language
from symgen.vocabulary.identifiers import KEYWORDS, MACROS, MATH
from symgen.vocabulary.reals import Real

WIDTH = 110
"""Columns that a generated line stays within."""


def comment(text: str) -> str:
    """`text` on one line of printable ASCII, unable to end a comment or to continue a line."""
    return one_line(
        ascii_text(text)
    )  # in this order: what a sign is written as may be half of a comment's end


def one_line(text: str) -> str:
    """`text` on one line of printable characters of any alphabet, unable to end a comment or to continue a line."""
    plain = "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")
    # The slashes are parted as often as needed: '**//' must not become '*/' by one replacement.
    while "*/" in plain or "/*" in plain:
        plain = plain.replace("*/", "* /").replace("/*", "/ *")
    return " ".join(plain.replace("??", "? ?").split())


def literal(value: Fraction, real: Real) -> str:
    """The shortest decimal that reads back as `value` rounded once to `real`, suffixed f for float: '0.1', '2.0f'."""
    return f"{real.shortest(value)}{real.suffix}"


C = Language(
    reserved=KEYWORDS | MACROS | MATH,
    operators={
        "mul": ("*", PRODUCT),
        "div": ("/", PRODUCT),
        "add": (" + ", SUM),
        "sub": (" - ", SUM),
    },
    literal=literal,
    call=lambda name, real: real.libm(name),
    comment=comment,
    declaration="    const {kind} {name} = {value};",
    apart=frozenset([(SUM, PRODUCT)]),
    width=WIDTH,
)
"""Parentheses around a product in a sum are MISRA C:2012's, rule 12.1; nothing of <math.h> is hidden by a local."""
