"""How deep TOML is nested and how long its keys are, told before it is parsed: the parser calls itself for each array within
another, and takes the square of a key's parts in time and memory.
"""

from __future__ import annotations

import re

from symgen.description.quantities import Place

DEEPEST = 64
"""Arrays and inline tables within each other. A description needs four."""
MOST_PARTS = 16
"""Parts of a dotted key. A description needs three."""

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\[^\n])*+"?|'[^'\n]*+'?)"""
TOKEN = re.compile(
    rf"""
    (?:\"{{3}} (?:[^"\\]++ | \\. | "(?!""))*+ (?:"{{3,5}} | \Z)
     | '{{3}} (?:[^']++ | '(?!''))*+ (?:'{{3,5}} | \Z)
     | \# [^\n]*+)
    | (?P<key> {_PART} (?:[ \t]*+ \. [ \t]*+ {_PART})*+)
    | (?P<opens> [\[{{]) | (?P<closes> [\]}}])
""",
    re.VERBOSE | re.DOTALL,
)
"""No alternative goes back, and one that does not end takes all that is left, so that this takes as long as the text is."""


def refuse_deep(text: str, place: Place) -> None:
    """DescriptionError for brackets within brackets, or parts of a key, beyond what is read. What is no TOML is let pass."""
    depth = 0
    for token in TOKEN.finditer(text):
        if token["opens"]:
            depth += 1
        elif token["closes"]:
            depth = max(0, depth - 1)
        elif (
            token["key"]
            and token["key"].count(".") >= MOST_PARTS
            and len(re.findall(_PART, token["key"])) > MOST_PARTS
        ):
            raise _at(token, place).error(
                f"a key has more than {MOST_PARTS} parts with a '.' between them",
                "write tables in brackets",
            )
        if depth > DEEPEST:
            raise _at(token, place).error(
                f"its arrays or tables are nested more than {DEEPEST} deep",
                "write the description flat",
            )


def _at(token: re.Match[str], place: Place) -> Place:
    return Place(place.file, token.string.count("\n", 0, token.start()) + 1)
