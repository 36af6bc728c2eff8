"""XML as text: an element a line, attributes in the order given, nothing that differs from run to run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def element(
    tag: str, attributes: Mapping[str, str] | None = None, inside: Iterable[Sequence[str]] = ()
) -> list[str]:
    """Its lines; `inside` are the lines of its children."""
    said = "".join(f' {name}="{escaped(value)}"' for name, value in (attributes or {}).items())
    children = [f"  {line}" for child in inside for line in child]
    return [f"<{tag}{said}>", *children, f"</{tag}>"] if children else [f"<{tag}{said}/>"]


def document(title: str, sentences: Iterable[str], root: Sequence[str]) -> str:
    """A file: its title and what it does not say as comments, then the root element."""
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


def escaped(value: str) -> str:
    """Text as an attribute holds it."""
    return "".join(_ESCAPES.get(c, c) for c in value)


def _comment(text: str) -> str:
    """Two hyphens would end it: an option stands without, and whatever else has a blank between them."""
    text = re.sub(r"(?<= )--(?=[a-z])", "", text)
    while "--" in text:
        text = text.replace("--", "- -")
    return f"<!-- {text} -->"
