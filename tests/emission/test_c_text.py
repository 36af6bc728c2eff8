"""Words of C: text in ASCII, comments that cannot end early, and names of locals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symgen.emission.c_text import C, ascii_text, comment, literal, one_line
from symgen.vocabulary.identifiers import KEYWORDS
from symgen.vocabulary.reals import REALS


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("rad/s²", "rad/s^2"),
        ("M⁻¹", "M^-1"),
        ("10⁻¹²", "10^-12"),
        ("a²b³", "a^2b^3"),
        ("Mᵀ", "M^T"),
        ("θ", "theta"),
        ("Θ", "Theta"),
        ("ά", "alpha"),
        ("Ωω", "Omegaomega"),
        ("für", "fur"),
        ("Łódź", "Lodz"),
        ("q̇ q̈", "qdot qddot"),
        ("x × y · z − 1", "x x y * z - 1"),
        ("a ≤ b ≠ c", "a <= b != c"),
        ("90°", "90 deg"),
        ("∑ √x", "Sum sqrtx"),
        ("½", "1/2"),
        ("手", "<U+624B>"),
        ("😀", "<U+1F600>"),
        ("a\u00a0b\u200bc", "a b c"),
        ("plain /* text", "plain /* text"),
    ],
)
def test_text_in_ascii_has_the_meaning_of_its_signs(text: str, plain: str) -> None:
    assert ascii_text(text) == plain
    assert ascii_text(text).isascii()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a */ b", "a * / b"),
        ("a /* b", "a / * b"),
        ("**//", "** //"),
        ("/*/", "/ * /"),
        ("a\\", "a/"),
        ("??/", "? ?/"),
        ("a\n  b\tc", "a b c"),
        ("  a  ", "a"),
        ("a ×/ b", "a x/ b"),
        ("a ⋅/ b", "a * / b"),
    ],
)
def test_a_comment_cannot_end_early_or_continue_its_line(text: str, line: str) -> None:
    written = comment(text)
    assert written == line
    assert not any(sign in written for sign in ("*/", "/*", "\\", "??", "\n"))


def test_a_line_keeps_the_letters_of_any_alphabet() -> None:
    assert one_line("θ für 手\n·") == "θ für 手 ·"


@pytest.mark.parametrize(
    ("name", "used", "local"),
    [
        ("x", set(), "x"),
        ("x", {"x"}, "x_"),
        ("x", {"x", "x_"}, "x__"),
        ("a b-c", set(), "a_b_c"),
        ("2x", set(), "x2x"),
        ("", set(), "x"),
        ("_", set(), "x_"),
        ("_X", set(), "x_X"),
        ("__x", set(), "x__x"),
        ("_x", set(), "_x"),
        ("int", set(), "int_"),
        ("sin", set(), "sin_"),
        ("y1", set(), "y1_"),
        ("θ", set(), "x_"),
    ],
)
def test_a_local_is_no_reserved_or_used_word(name: str, used: set[str], local: str) -> None:
    assert C.local(name, used) == local
    assert C.local(name, used) not in KEYWORDS | used


def test_elements_declarations_and_literals_of_c() -> None:
    assert C.at("x", 3) == "x[3]"
    assert C.declared("double", "x", "1.0") == "    const double x = 1.0;"
    assert literal(Fraction(1, 10), REALS["double"]) == "0.1"
    assert literal(Fraction(2), REALS["float"]) == "2.0f"
    assert C.call("fabs", REALS["float"]) == "fabsf"
