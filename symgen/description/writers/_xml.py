"""XML as text: one element per line, attributes in the given order; the same output in each run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def element(
    tag: str, attributes: Mapping[str, str], inside: Iterable[Sequence[str]] = ()
) -> list[str]:
    """Return the lines of an element; `inside` has the lines of its children."""
    attribute_text = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    children = [f"  {line}" for child in inside for line in child]
    return (
        [f"<{tag}{attribute_text}>", *children, f"</{tag}>"]
        if children
        else [f"<{tag}{attribute_text}/>"]
    )


def document(title: str, sentences: Iterable[str], root: Sequence[str]) -> str:
    """Return a file: its title and the omissions as comments, then the root element."""
    return (
        "\n".join(
            [
                '<?xml version="1.0" encoding="UTF-8"?>',
                *(_comment(line) for line in (title, *sentences)),
                *root,
            ]
        )
        + "\n"
    )


def escape(value: str) -> str:
    """Return text as the value of an attribute."""
    return "".join(_ESCAPES.get(c, c) for c in value)


def _comment(text: str) -> str:
    """Return a comment. Two hyphens would end it: they are removed from options, and separated by a
    space elsewhere.
    """
    text = re.sub(r"(?<= )--(?=[a-z])", "", text)
    while "--" in text:
        text = text.replace("--", "- -")
    return f"<!-- {text} -->"
