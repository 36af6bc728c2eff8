"""Escaping of text from outside for Markdown: no link, tag, emphasis or end of a table cell."""

from __future__ import annotations

import re

from symgen.emission.c_text import one_line


def code(text: str) -> str:
    """Return `text` on one line as a code span, in which Markdown interprets only backticks.

    Its fence has one more backtick than the longest run of backticks in the text. A backslash
    becomes a slash, so that the backslashes of `cell` keep their meaning.
    """
    line = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    padding = " " if line[:1] == "`" or line[-1:] == "`" or not line else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def cell(text: str) -> str:
    """Return `text` as a code span for a table cell, where a bar would start the next cell."""
    return code(text).replace("|", "\\|")


def prose(text: str) -> str:
    """Return `text` on one line for a sentence.

    Signs of Markdown and HTML are escaped, and no address becomes a link.
    """
    escaped = re.sub(r"([`*\[\]<>&|~#!])", r"\\\1", one_line(text))
    # An underscore between letters or digits is no sign of Markdown.
    escaped = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", escaped)
    return re.sub(
        r"\b(www)(?=\.)|:(?=//)", lambda match: match[0] + "\\", escaped, flags=re.IGNORECASE
    )
