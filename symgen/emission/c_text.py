"""Words of C: literals rounded once, locals that collide with nothing, and comments that cannot end
early.

A comment is ASCII, so that it reads the same under every compiler, editor and code page. Signs of
mathematics and Greek letters get a name, letters with marks lose their marks, and every other
character is written by its number.
"""

from __future__ import annotations

import unicodedata
from fractions import Fraction

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
    """`text` on one line of printable characters of any alphabet, unable to end a comment or to
    continue a line.
    """
    line = "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")
    # The slashes are parted as often as needed: '**//' must not become '*/' by one replacement.
    while "*/" in line or "/*" in line:
        line = line.replace("*/", "* /").replace("/*", "/ *")
    return " ".join(line.replace("??", "? ?").split())


def literal(value: Fraction, real: Real) -> str:
    """The shortest decimal that reads back as `value` rounded once to `real`, suffixed f for float:
    '0.1', '2.0f'.
    """
    return f"{real.shortest(value)}{real.suffix}"


_SIGNS = {
    "·": "*",
    "×": "x",
    "⋅": "*",
    "−": "-",
    "‐": "-",
    "‑": "-",
    "–": "-",
    "—": "-",
    "±": "+-",
    "÷": "/",
    "⁄": "/",
    "√": "sqrt",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "→": "->",
    "←": "<-",
    "↔": "<->",
    "∞": "inf",
    "∂": "d",
    "Σ": "Sum",
    "∑": "Sum",
    "°": " deg",
    "‖": "||",
    "⊕": "(+)",
    "⊖": "(-)",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "ß": "ss",
    "ẞ": "SS",
    "Æ": "AE",
    "æ": "ae",
    "Ø": "O",
    "ø": "o",
    "Œ": "OE",
    "œ": "oe",
    "Ł": "L",
    "ł": "l",
    "Đ": "D",
    "đ": "d",
    "ı": "i",
    "Þ": "Th",
    "þ": "th",
    "ð": "d",
    "Ð": "D",
}
"""Replacements of characters that Unicode does not decompose."""
_ABOVE = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵀ", "0123456789+-nT", strict=True))
_DOTS = {"\u0307": "dot", "\u0308": "ddot"}
"""Time derivatives, on a letter that has no such form of its own."""


def ascii_text(text: str) -> str:
    """`text` in ASCII: 'rad/s²' -> 'rad/s^2', 'M⁻¹' -> 'M^-1', 'θ' -> 'theta', 'für' -> 'fur', '手'
    -> '<U+624B>'.
    """
    if text.isascii():
        return text
    words: list[str] = []
    above = False
    for sign in text:
        raised = _ABOVE.get(sign)
        words.append(f"{'' if above else '^'}{raised}" if raised else _plain(sign))
        above = raised is not None
    return "".join(words)


def _plain(sign: str) -> str:
    """One character."""
    if sign.isascii():
        return sign
    if sign in _SIGNS:
        return _SIGNS[sign]
    name = unicodedata.name(sign, "").split()
    if name[:1] == ["GREEK"] and "LETTER" in name:
        letter = name[name.index("LETTER") + 1]  # with its marks, if any, left out
        return letter.capitalize() if "CAPITAL" in name else letter.lower()
    if unicodedata.combining(sign):
        return _DOTS.get(sign, "")
    parts = unicodedata.normalize("NFKD", sign)
    if parts != sign:
        return "".join("" if unicodedata.combining(part) else _plain(part) for part in parts)
    return " " if sign.isspace() or not sign.isprintable() else f"<U+{ord(sign):04X}>"


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
"""Parentheses around a product in a sum are MISRA C:2012's, rule 12.1; nothing of <math.h> is
hidden by a local.
"""
