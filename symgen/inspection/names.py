"""Names in formulas: links, rows and columns count from 0, as in q0 and M[0,0], and are separated;
in the C they count from 1.

The C names a row P_12_11 for entry (1, 1) of P of link 12, and M_12_11 for the entry of links 12
and 11. In a formula the first is P_11_0_0 and the second M_11_10, in LaTeX P_{11,0,0} and
M_{11,10}.
"""

from __future__ import annotations

import re

PAIRS = ("M", "alpha", "L2", "H_tt", "H_tL", "H_LL", "Haa")
"""Letters whose two indices are joints. For all others the last index is a position in a block: a
component, or row and column.
"""
GREEK = frozenset(
    re.findall(
        r"\w+",
        """
    alpha beta gamma delta epsilon zeta eta theta lambda mu nu xi pi rho sigma tau phi psi omega
    Gamma Delta Theta Lambda Sigma Phi Psi Omega""",
    )
)
ACCENTS = ("ddot", "dot", "hat", "tilde")
_INPUT = re.compile(r"([a-z]+)(\d+)")
_LINK = re.compile(r"less(\d+)")


def formula_name(name: str) -> str:
    """Return the name in a formula of a row of a Program: P_12_11 → P_11_0_0."""
    words = name.split("_")
    numbers = [n for n, word in enumerate(words) if word.isdigit()]
    letter = "_".join(words[: numbers[0]]) if numbers else name
    formula_words: list[str] = []
    for n, word in enumerate(words):
        link = _LINK.fullmatch(word)
        if link is not None:
            formula_words.append(f"less{int(link[1]) - 1}")
        elif not word.isdigit():
            formula_words.append(word)
        elif n == numbers[-1] and len(word) == 2 and _in_block(letter, len(numbers)):
            formula_words += [str(int(digit) - 1) for digit in word]
        else:
            formula_words.append(str(int(word) - 1))
    return "_".join(formula_words)


def _in_block(letter: str, indices: int) -> bool:
    """True if the last of this many indices is a position in a block."""
    return indices > 2 or (indices == 2 and letter not in PAIRS)


def latex(name: str) -> str:
    r"""Return a symbol in LaTeX: q0 → q_{0}, P_11_0_0 → P_{11,0,0}, omegadot_3_1 →
    \dot{\omega}_{3,1}, invD_2 → \mathrm{invD}_{2}.
    """
    input_match = _INPUT.fullmatch(name)
    letter, *indices = input_match.groups() if input_match is not None else name.split("_")
    subscript = ",".join(index if len(index) < 3 else rf"\mathrm{{{index}}}" for index in indices)
    return _letter(letter) + (f"_{{{subscript}}}" if indices else "")


def _letter(text: str) -> str:
    if len(text) == 1:
        return text
    if text in GREEK:
        return f"\\{text}"
    for accent in ACCENTS:
        base = text.removesuffix(accent)
        if base != text and (len(base) == 1 or base in GREEK):
            return f"\\{accent}{{{_letter(base)}}}"
    return rf"\mathrm{{{text}}}"
