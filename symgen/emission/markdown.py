"""Words of Markdown: outside text as it stands, unable to be a link, a tag, emphasis or the end of
a cell.
"""

from __future__ import annotations

import re

from symgen.emission.c_text import one_line


def code(text: str) -> str:
    """`text` on one line as a code span, in which nothing is read but the backticks that end it.

    It is fenced by one backtick more than stand in a row in it. A backslash becomes a slash: none
    can undo what `cell` adds.
    """
    line = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    room = " " if line[:1] == "`" or line[-1:] == "`" or not line else ""
    return f"{fence}{room}{line}{room}{fence}"


def cell(text: str) -> str:
    """Return prose for a cell of a table, where a bar would begin the next one."""
    return code(text).replace("|", "\\|")


def prose(text: str) -> str:
    """`text` on one line as words between others: what Markdown or HTML would read is escaped, and
    no address becomes a link.
    """
    escaped = re.sub(r"([`*\[\]<>&|~#!])", r"\\\1", one_line(text))
    escaped = re.sub(
        r"(?<![^\W_])_|_(?![^\W_])", r"\\_", escaped
    )  # between letters it means nothing
    return re.sub(
        r"\b(www)(?=\.)|:(?=//)", lambda match: match[0] + "\\", escaped, flags=re.IGNORECASE
    )
