"""Tokens of a text: what stands in it besides comments, layout and words for people.

Two texts of the same tokens mean the same to whatever reads them. String literals are masked, and
so is the version. The keys of JSON stay, as do the texts of a TOML, which are numbers and names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

VERSION = re.compile(r"\b\d+\.\d+\.\d+(?:\.?(?:dev|a|b|rc|post)\d*)?\b")
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_CHARACTER = r"'(?:[^'\\\n]|\\.)*'"
_DOUBLE_DOC = r'""".*?"""'
_SINGLE_DOC = r"'''.*?'''"
_REST = r"[A-Za-z_]\w*|\.?\d(?:[\w.]|(?<=[eEpP])[+-])*|[^\s\w]"


def _splitter(comments: str, strings: str, masked: bool = True) -> Callable[[str], list[str]]:
    """A function from a text to its tokens, by what comments and strings look like."""
    pattern = re.compile(
        f"(?P<comment>{comments})|(?P<string>{strings})|(?P<rest>{_REST})", re.DOTALL
    )

    def split(text: str) -> list[str]:
        tokens = []
        for match in pattern.finditer(text):
            if match.lastgroup == "string":
                tokens.append('""' if masked else match.group())
            elif match.lastgroup == "rest":
                tokens.append(match.group())
        return tokens

    return split


def _json(text: str) -> list[str]:
    """Tokens of JSON: a string before a colon is a key and stays."""
    pattern = re.compile(rf"(?P<key>{_STRING})(?=\s*:)|(?P<string>{_STRING})|(?P<rest>{_REST})")
    return [
        '""' if match.lastgroup == "string" else match.group() for match in pattern.finditer(text)
    ]


_C = _splitter(r"/\*.*?\*/|//[^\n]*", f"{_STRING}|{_CHARACTER}")
_HASH = _splitter(r"\#[^\n]*", f"{_STRING}|{_CHARACTER}")
_PYTHON = _splitter(r"\#[^\n]*", f"{_DOUBLE_DOC}|{_SINGLE_DOC}|{_STRING}|{_CHARACTER}")
_TOML = _splitter(r"\#[^\n]*", f"{_STRING}|{_CHARACTER}", masked=False)
_XML = _splitter(r"<!--.*?-->", f"{_STRING}|{_CHARACTER}", masked=False)
_TEX = _splitter(r"(?<!\\)%[^\n]*", r"(?!)", masked=False)

SPLITTERS: dict[str, Callable[[str], list[str]] | None] = {
    **dict.fromkeys((".c", ".h", ".hpp", ".cpp", ".cu", ".cuh", ".rs", ".js", ".ld", ".S"), _C),
    **dict.fromkeys((".txt", ".cmake", ".mk", ".sh", ".resc", "Makefile"), _HASH),
    ".py": _PYTHON,
    ".toml": _TOML,
    **dict.fromkeys((".urdf", ".xml", ".mjcf", ".sdf"), _XML),
    ".tex": _TEX,
    ".json": _json,
    ".csv": _HASH,
    **dict.fromkeys((".md", ".html", ".said"), None),
}
"""Keys are ends of file names or whole names. None marks texts that are words for people."""


def tokens(name: str, text: str) -> list[str] | None:
    """Return the tokens of a file, or None for prose. KeyError for an unknown kind of file."""
    path = PurePosixPath(name)
    split = SPLITTERS[path.name if path.name in SPLITTERS else path.suffix]
    return None if split is None else split(VERSION.sub("VERSION", text))
