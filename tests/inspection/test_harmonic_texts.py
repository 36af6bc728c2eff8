"""Texts of numbers, angles and sums in multi-angle forms, and how long sums are broken or
shortened.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from symgen.inspection.harmonic_text import (
    DIGITS,
    LINE_COLUMNS,
    LONGEST_LINE,
    LONGEST_RATIO,
    LONGEST_RUN,
    LONGEST_SUM,
    latex_lines,
    number,
    runs,
)
from symgen.inspection.multiangle import MOST, MultiAngle
from symgen.inspection.printing import visible_width
from symgen.support.errors import RequestError


@pytest.mark.parametrize(
    ("x", "text", "latex", "c"),
    [
        ("3", "3", "3", "3.0"),
        ("0.05", "0.05", "0.05", "0.05"),
        ("12.5", "12.5", "12.5", "12.5"),
        ("1/3", "1/3", r"\frac{1}{3}", "1.0/3.0"),
        (
            f"{LONGEST_RATIO - 1}/{LONGEST_RATIO - 3}",
            "999999/999997",
            r"\frac{999999}{999997}",
            "999999.0/999997.0",
        ),
        (f"1/{LONGEST_RATIO + 1}", "9.9999900000100006e-07", None, "9.9999900000100006e-07"),
        (f"{LONGEST_RATIO}/3", "333333.33333333331", None, "333333.33333333331"),
        ("1e-17", "0.00000000000000001", None, None),
        ("1e-18", "1.0000000000000001e-18", r"1.0000000000000001 \cdot 10^{-18}", None),
        ("12345678901234567", "12345678901234567", None, "12345678901234567.0"),
        (f"1{'0' * 17}", "1e+17", r"1 \cdot 10^{17}", "1e+17"),
    ],
)
def test_a_number_is_a_short_decimal_a_short_ratio_or_rounded(
    x: str, text: str, latex: str | None, c: str | None
) -> None:
    value = Fraction(x)
    assert number(value) == number(value, "python") == text
    assert float(Fraction(text)) == float(value)
    assert latex is None or number(value, "latex") == latex
    assert c is None or number(value, "c") == c


def test_a_rounded_number_without_a_point_has_one_in_c() -> None:
    """The number has 17 digits before the point and is no decimal of 17 digits."""
    value = Fraction(37037036703703701 * 3 + 1, 3)
    assert re.fullmatch(r"\d{17}", number(value))
    assert number(value, "c") == number(value) + ".0"


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([1] * LONGEST_RUN, []),
        ([1] * (LONGEST_RUN + 1), [(0, LONGEST_RUN)]),
        ([0, *[2] * 9, 1], [(1, 9)]),
        ([*[0] * 9, *[1] * 8], [(9, 16)]),
        ([*[-1] * 8, *[1] * 8], [(0, 7), (8, 15)]),
        ([1, 2] * 9, []),
    ],
)
def test_runs_of_more_than_seven_equal_multiples_are_abbreviated(
    index: list[int], expected: list[tuple[int, int]]
) -> None:
    assert runs(index) == expected
    assert len(expected) == len(re.findall(r"q\d+:", str(form({tuple(index): 1}))))


def form(waves: dict[tuple[int, ...], Any], sine: bool = False) -> MultiAngle:
    return MultiAngle.of({((index, sine), ()): Fraction(x) for index, x in waves.items()})


def test_a_long_run_is_one_symbol_beside_the_other_angles() -> None:
    index = (1, *[-2] * 8, 3)
    whole = form({index: 1}, sine=True)
    assert whole.text() == "sin(q0 - 2*q1:8 + 3*q9)"
    assert whole.text("latex") == r"\sin\left(q_{0} - 2 q_{1:8} + 3 q_{9}\right)"
    assert whole.text("python") == f"sin(q0 - {' - '.join(f'2*q{i}' for i in range(1, 9))} + 3*q9)"


def with_symbols(*terms: tuple[Any, tuple[tuple[str, int], ...]], k: int = 1) -> MultiAngle:
    return MultiAngle.of({(((k,), False), symbols): Fraction(x) for x, symbols in terms})


@pytest.mark.parametrize(
    ("whole", "text", "latex", "c"),
    [
        (form({(1,): 1}), "cos(q0)", r"\cos\left(q_{0}\right)", "cos(q0)"),
        (form({(1,): -1}), "-cos(q0)", r"-\cos\left(q_{0}\right)", "-cos(q0)"),
        (form({(2,): -3}), "-3*cos(2*q0)", r"-3 \cos\left(2 q_{0}\right)", "-3.0*cos(2*q0)"),
        (form({(0,): -4}), "-4", "-4", "-4.0"),
        (form({}), "0", "0", "0"),
        (with_symbols((1, (("v1", 2),)), k=0), "v1**2", "v_{1}^{2}", "v1*v1"),
        (
            with_symbols((-2, (("v0", 1), ("v1", 1)))),
            "-2*v0*v1*cos(q0)",
            r"-2 v_{0} v_{1} \cos\left(q_{0}\right)",
            "-2.0*v0*v1*cos(q0)",
        ),
        (
            with_symbols((1, (("v0", 1),)), (-3, (("v1", 1),))),
            "(v0 - 3*v1)*cos(q0)",
            r"\left(v_{0} - 3 v_{1}\right) \cos\left(q_{0}\right)",
            "(v0 - 3.0*v1)*cos(q0)",
        ),
        (
            with_symbols((-1, (("v0", 1),)), (-3, (("v1", 1),)), k=0),
            "-v0 - 3*v1",
            "-v_{0} - 3 v_{1}",
            "-v0 - 3.0*v1",
        ),
        (  # roots come before other symbols
            with_symbols((2, (("m", 1), ("sqrt(3)", 1)))),
            "2*sqrt(3)*m*cos(q0)",
            r"2 \sqrt{3} m \cos\left(q_{0}\right)",
            "2.0*sqrt(3.0)*m*cos(q0)",
        ),
    ],
)
def test_texts_of_terms(whole: MultiAngle, text: str, latex: str, c: str) -> None:
    assert whole.text() == whole.text("python") == text
    assert whole.text("latex") == latex
    assert whole.text("c") == c


def test_roots_with_long_numbers_are_one_decimal() -> None:
    """All digits of 0.5 + 0.25√2 are printed, those of a long fraction are not."""
    short = with_symbols(("1/2", ()), ("1/4", (("sqrt(2)", 1),)))
    assert short.text() == "(0.5 + 0.25*sqrt(2))*cos(q0)"
    long = with_symbols(("1/2", ()), (Fraction(1, 10**6 + 3), (("sqrt(2)", 1),)))
    assert re.fullmatch(r"0\.5000014142093\d+\*cos\(q0\)", long.text())
    mixed = with_symbols(
        (Fraction(1, 10**6 + 3), (("sqrt(2)", 1),)), ("1/4", (("m", 1), ("sqrt(2)", 1)))
    )
    assert re.fullmatch(r"\(0\.25\*sqrt\(2\)\*m \+ 1\.41420\d+e-06\)\*cos\(q0\)", mixed.text())
    digits = with_symbols((Fraction(10**DIGITS + 1), (("sqrt(2)", 1),)))
    assert "sqrt" not in digits.text()


def many(count: int) -> MultiAngle:
    """Return a form of a number and count − 1 cosines, with coefficients 1 to count."""
    return form({(k,): k + 1 for k in range(count)})


def test_a_sum_is_shortened_to_its_largest_terms_with_the_number_of_the_others() -> None:
    assert "…" not in many(MOST).text()
    lines = many(MOST + 1).text().splitlines()
    assert lines[0] == f"{MOST + 1}*cos({MOST}*q0)"
    assert lines[1] == f"  + {MOST}*cos({MOST - 1}*q0)"
    assert len(lines) == MOST + 1
    # a constant is one harmonic, a cosine is two
    harmonics = 2 * MOST + 1
    assert lines[-1] == f"  + … 1 more term ({harmonics} harmonics in {MOST + 1} cosines and sines)"
    assert many(MOST + 5).text().splitlines()[-1].startswith("  + … 5 more terms (")
    latex = many(MOST + 2).text("latex")
    assert r"+ \cdots \text{ 2 more terms }" in latex
    assert latex.startswith("\\begin{aligned}\n& 22 \\cos")
    assert many(MOST + 1).text(full=True) == " + ".join(
        ["1", "2*cos(q0)", *(f"{k + 1}*cos({k}*q0)" for k in range(2, MOST + 1))]
    )
    for format, language in (("python", "Python"), ("c", "C")):
        with pytest.raises(RequestError, match=rf"has {MOST + 1} terms, .* not valid {language};"):
            many(MOST + 1).text(format)


def test_a_long_python_sum_is_in_groups_of_a_hundred() -> None:
    whole = many(2 * LONGEST_SUM + 1)
    text = whole.text("python", full=True)
    groups = [group for group in text.split(") + (") if "cos" in group]
    assert [group.count(" + ") + 1 for group in groups] == [LONGEST_SUM, LONGEST_SUM, 1]
    assert "(1 + 2*cos" not in many(LONGEST_SUM).text("python", full=True)
    assert whole.text("c", full=True).count("(") == 2 * LONGEST_SUM


def test_a_long_sum_in_latex_has_lines_of_limited_width() -> None:
    assert "aligned" not in many(LONGEST_LINE).text("latex", full=True)
    text = many(LONGEST_LINE + 1).text("latex", full=True)
    lines = text.splitlines()[1:-1]
    assert len(lines) > 1
    widths = [visible_width(line.removeprefix("& ").removesuffix(r" \\")) for line in lines]
    assert max(widths) <= LINE_COLUMNS
    assert min(widths[:-1]) > LINE_COLUMNS / 2
    assert "".join(lines).count("cos") == LONGEST_LINE


def test_a_wide_coefficient_is_divided_between_lines() -> None:
    symbols = [((f"v{i}", 1), (f"v{i + 1}", 1)) for i in range(12)]
    wide = with_symbols(*((Fraction(k + 2), pair) for k, pair in enumerate(symbols)))
    lines = latex_lines(wide)
    assert len(lines) > 1
    assert lines[0].startswith("(2 v_{0} v_{1}")
    assert lines[-1].endswith(r") \cos\left(q_{0}\right)")
    assert max(map(visible_width, lines)) <= LINE_COLUMNS
    joined = " ".join(lines)
    assert all(rf"{k + 2} v_{{{k}}} v_{{{k + 1}}}" in joined for k in range(12))
    constant = with_symbols(*((Fraction(k + 2), pair) for k, pair in enumerate(symbols)), k=0)
    assert " ".join(latex_lines(constant)) == constant.text("latex")
    assert latex_lines(MultiAngle(())) == ["0"]
    assert latex_lines(form({(1,): -2})) == [r"-2 \cos\left(q_{0}\right)"]
