"""The stack that a function takes, from what the compiler's -fstack-usage says of every function of its file."""

from __future__ import annotations

import re


def stack(text: str, symbol: str) -> int | None:
    """Bytes of the frames that stand at once, at most; None where `text` does not say. Lines are `place:name TAB bytes TAB kind`.

    The parts of a long function `symbol` stand one after the other. An own sine and cosine that the compiler did not put in place
    is called from it or from a part.
    """
    lines = [line.split("\t") for line in text.splitlines()]
    found = [
        (fields[0].rpartition(":")[2], int(fields[1]))
        for fields in lines
        if len(fields) > 1 and fields[1].isdigit()
    ]
    part = re.compile(
        rf"{symbol}_part_\d+(?:\.\w+)*"
    )  # a copy by the compiler has a dot in its name
    inner = [size for name, size in found if part.fullmatch(name)]
    return (
        sum(size for name, size in found if not part.fullmatch(name)) + max(inner, default=0)
        if found
        else None
    )
