"""Stack of a function, from the compiler's -fstack-usage output for every function of its file."""

from __future__ import annotations

import re


def stack_bytes(text: str, symbol: str) -> int | None:
    """Return the largest number of bytes of simultaneous frames; None if `text` has none. Lines are
    `place:name TAB bytes TAB kind`.

    The frames of the parts of a long function `symbol` exist one after the other. An inline sine
    and cosine that the compiler did not inline is called from the function or from a part.
    """
    lines = [line.split("\t") for line in text.splitlines()]
    frames = [
        (fields[0].rpartition(":")[2], int(fields[1]))
        for fields in lines
        if len(fields) > 1 and fields[1].isdigit()
    ]
    part_name = re.compile(
        rf"{symbol}_part_\d+(?:\.\w+)*"
    )  # a copy by the compiler has a dot in its name
    inner = [size for name, size in frames if part_name.fullmatch(name)]
    return (
        sum(size for name, size in frames if not part_name.fullmatch(name)) + max(inner, default=0)
        if frames
        else None
    )
