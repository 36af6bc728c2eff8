"""Text of C: literals that are rounded once, and comments that text from outside cannot end.

A comment is ASCII, so that it is the same under every compiler, editor and code page. Signs of
mathematics and Greek letters become names, letters with marks lose their marks, and other
characters become their numbers in Unicode.
"""

from __future__ import annotations

import unicodedata
from fractions import Fraction

from symgen.emission.language import PRODUCT, SUM, Language
from symgen.vocabulary.identifiers import KEYWORDS, MACROS, MATH
from symgen.vocabulary.reals import Real

WIDTH = 110
"""Largest number of columns of a generated line."""


def comment(text: str) -> str:
    """Return `text` in ASCII on one line, which neither ends a comment nor continues a line."""
    # In this order: the replacement of a sign may be one half of the end of a comment.
    return one_line(ascii_text(text))


def one_line(text: str) -> str:
    """Return `text` on one line of printable characters.

    The line neither ends a comment nor continues a line.
    """
    line = "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")
    # The replacement is repeated until the text has no pair of signs that begins or ends a comment.
    while "*/" in line or "/*" in line:
        line = line.replace("*/", "* /").replace("/*", "/ *")
    return " ".join(line.replace("??", "? ?").split())


def literal(value: Fraction, real: Real) -> str:
    """Return the shortest decimal that a compiler reads as `value` rounded to `real`.

    A literal of a float has the suffix f: '0.1', '2.0f'.
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
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵀ", "0123456789+-nT", strict=True))
_DOTS = {"\u0307": "dot", "\u0308": "ddot"}
"""Names of combining marks of time derivatives."""


def ascii_text(text: str) -> str:
    """Return `text` in ASCII.

    Examples: 'rad/s²' -> 'rad/s^2', 'M⁻¹' -> 'M^-1', 'θ' -> 'theta', 'für' -> 'fur', '手' ->
    '<U+624B>'.
    """
    if text.isascii():
        return text
    words: list[str] = []
    after_superscript = False
    for sign in text:
        superscript = _SUPERSCRIPTS.get(sign)
        caret = "" if after_superscript else "^"
        words.append(f"{caret}{superscript}" if superscript else _plain(sign))
        after_superscript = superscript is not None
    return "".join(words)


def _plain(sign: str) -> str:
    """Return one character in ASCII."""
    if sign.isascii():
        return sign
    if sign in _SIGNS:
        return _SIGNS[sign]
    name = unicodedata.name(sign, "").split()
    if name[:1] == ["GREEK"] and "LETTER" in name:
        letter = name[name.index("LETTER") + 1]  # without marks
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
    parenthesized=frozenset([(SUM, PRODUCT)]),
    width=WIDTH,
)
"""Syntax of C.

A product in a sum is in parentheses, as rule 12.1 of MISRA C:2012 requires. No local hides a name
of <math.h>.
"""
