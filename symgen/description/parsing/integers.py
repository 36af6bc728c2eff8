"""Integers of TOML that are no plain decimals: hexadecimal, octal, binary, and figures with underscores between.

TOML's parser gives them as plain integers, so that they are looked for in the text. A number of a description is a plain
decimal in every format.
"""

from __future__ import annotations

import re

from symgen.description.parsing.depth import TOKEN
from symgen.description.quantities import Place, shown

_INTEGER = re.compile(r"-?(0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|[0-9]+(_[0-9]+)+)", re.ASCII)
_OF_A_KEY = re.compile(r"[ \t]*[=.]")


def refuse_integers(text: str, place: Place) -> None:
    """DescriptionError for the first integer that is written otherwise than in plain decimal figures. Keys may be called so."""
    for token in TOKEN.finditer(text):
        written = token["key"]
        if written and _INTEGER.fullmatch(written) and not _OF_A_KEY.match(text, token.end()):
            line = text.count("\n", 0, token.start()) + 1
            raise Place(place.file, line).error(
                f"{shown(written)} is not a plain decimal",
                f"write {shown(_plain(written))}"
                if len(written) <= 40
                else "write its decimal figures",
            )


def _plain(written: str) -> str:
    """Return the integer in plain decimal figures."""
    return str(
        int(written, 0) if written.lstrip("-").startswith(("0x", "0o", "0b")) else int(written)
    )
