"""Text of any alphabet in ASCII: what stands in a comment of C reads the same under every compiler, editor and code page.

Signs of mathematics and Greek letters get a name, letters with marks lose their marks, and what is left over is written by its
number. Nothing else than comments needs this: identifiers of C are made of ASCII in the first place.
"""

from __future__ import annotations

import unicodedata

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
"""What Unicode does not take apart by itself."""
_ABOVE = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵀ", "0123456789+-nT", strict=True))
_DOTS = {"\u0307": "dot", "\u0308": "ddot"}
"""Time derivatives, on a letter that has no such form of its own."""


def ascii_text(text: str) -> str:
    """`text` in ASCII: 'rad/s²' -> 'rad/s^2', 'M⁻¹' -> 'M^-1', 'θ' -> 'theta', 'für' -> 'fur', '手' -> '<U+624B>'."""
    if text.isascii():
        return text
    found: list[str] = []
    above = False
    for sign in text:
        raised = _ABOVE.get(sign)
        found.append(f"{'' if above else '^'}{raised}" if raised else _plain(sign))
        above = raised is not None
    return "".join(found)


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
