"""Symbols of an equation in LaTeX, and their meanings in a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

ACCENT = r"\\(?:dot|ddot|tilde|hat|mathcal)(?![a-zA-Z])\s*"
SCRIPT = r"[_^](?:\{[^{}]*\}|\\[a-zA-Z]+|[A-Za-z0-9])"
LETTER = re.compile(rf"((?:{ACCENT})*(?:\\[a-zA-Z]+|[A-Za-z]))((?:{SCRIPT})*)")
BRACED = re.compile(rf"({ACCENT})\{{([^{{}}]*)\}}")
WORDS = re.compile(r"\\(?:text|mathrm|begin|end)\{[^{}]*\}|\\\\|\\[,;!]")
OF_PARENTHESES = re.compile(rf"(?<=[\])}}]){SCRIPT}")
INDEX = re.compile(r"_\{?[ijkln](?:[+-]\d)?\}?$")
LAYOUT = re.compile(
    r"\\(?:quad|left|right|[bB]ig[lr]?|textstyle|t?frac|[cl]?dots?|times|oplus|approx|le|ge"
    r"|det|sum|prod|sin|cos|cot|exp|partial|vee)$"
)
"""Commands that are no symbols of a paper."""
INDICES = frozenset("ijkln")


def letters(statement: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    r"""Yield each letter with its accents, and its scripts: `\dot q_{k+1}^T` is (`\dot q`,
    (`_{k+1}`, `^T`)).

    Indices and the scripts of parentheses are left out.
    """
    plain = OF_PARENTHESES.sub("", WORDS.sub(" ", statement))
    for match in LETTER.finditer(BRACED.sub(r"\1 \2 ", plain)):
        letter, scripts = _accented(match[1]), tuple(re.findall(SCRIPT, match[2]))
        if not LAYOUT.match(letter) and not (letter in INDICES and not scripts):
            yield letter, scripts


def _accented(text: str) -> str:
    r"""Return a letter with its accents in the usual spelling: `\dot\theta`, `\hat M`,
    `\dot{\mathcal V}`.
    """
    parts: list[str] = re.findall(r"\\[a-zA-Z]+|[A-Za-z]", text)
    letter = parts.pop()
    for n, accent in enumerate(reversed(parts)):
        letter = f"{accent}{{{letter}}}" if n else f"{accent}{' ' * letter.isalpha()}{letter}"
    return letter


def symbols(statement: str, notation: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of the notation that an equation has, in order.

    A letter is looked up with all of its scripts, then with fewer. A subscript that is one index,
    also with a number added to it, may be `_i` in the notation. A letter without a meaning is
    yielded as it is.
    """
    for letter, scripts in letters(statement):
        names = []
        for count in range(len(scripts), -1, -1):
            names.append(letter + "".join(scripts[:count]))
            names.append(letter + "".join(INDEX.sub("_i", script) for script in scripts[:count]))
        yield next((name for name in names if name in notation), letter)
