"""Requirements on every sentence that symgen prints."""

from __future__ import annotations

from symgen.support.errors import SymgenError

LONGEST_SENTENCE = 1000


class Broken(Exception):
    """Violation of a claim about readers or writers."""


def refused(error: SymgenError, name: str) -> str:
    """Return `refused` if the message is one line, not too long, and names the file."""
    sentence = str(error)
    if len(sentence) >= LONGEST_SENTENCE:
        raise Broken(f"a sentence of {len(sentence)} characters: {sentence[:80]!r}")
    if not sentence.isprintable():
        raise Broken(f"a sentence with characters that nobody can print: {sentence!r}")
    if name not in sentence:
        raise Broken(f"a sentence that does not name the file: {sentence!r}")
    return "refused"
