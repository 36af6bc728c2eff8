"""Equations of the rows of a Program, their sizes, and the notes and limits of a reading."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from symgen.inspection import reading as module
from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.equations import (
    LONGEST_DENOMINATOR,
    MOST_REPEATED,
    SHOWN_DIGITS,
    Equations,
    closed_form_size,
    equations,
    needed_rows,
    number,
    round_numbers,
    unsigned_name,
)
from symgen.inspection.multiangle import MOST, MultiAngle
from symgen.inspection.printing import (
    DEEPEST,
    print_equations,
    print_expression,
    print_grid,
    visible_width,
)
from symgen.inspection.reading import FormulaOptions, Reading, Recursive, read, render
from symgen.ir.program import Port, Program, Row
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Angle
from tests.shared.robots_for_tests import robot

Q0, Q1 = (sp.Symbol(name, real=True) for name in ("q0", "q1"))
STEPS = ("link 2 (arm): step", "link 12 (tip): step")


def program_of(*rows: Row) -> Program:
    """Return a Program whose result is the last row."""
    result = Port("x", (), (len(rows) - 1,))
    return Program("f", "m", (Port("q", (2,)), Port("v", (2,))), (result,), rows, STEPS)


def q(element: int) -> Row:
    return Row("input", (), (0, element))


def constant(x: Any, name: str = "") -> Row:
    return Row("const", (), Fraction(x), name)


PRODUCT = program_of(
    q(0),  # 0
    Row("cos", (0,), None, "c_1", 0),  # 1
    constant("0.25"),  # 2
    Row("mul", (1, 2), None, "P_12_11", 1),  # 3
    q(1),  # 4
    Row("sin", (4,)),  # 5
    Row("add", (3, 3), None, "neg_T_1"),  # 6
    Row("sub", (6, 3)),  # 7, which no other row needs
    Row("mul", (6, 1)),  # 8
)


def test_only_rows_behind_the_targets_are_needed() -> None:
    assert needed_rows(PRODUCT, [8]) == [0, 1, 2, 3, 6, 8]
    assert needed_rows(PRODUCT, [5, 2]) == [2, 4, 5]


def test_the_size_of_a_closed_form_counts_every_use_and_numbers_once() -> None:
    """cos q0 has 2 operations and an input; 0.25 cos q0 has 4, twice that 9, times cos q0 12."""
    assert closed_form_size(PRODUCT, [1]) == 2
    assert closed_form_size(PRODUCT, [3]) == 4
    assert closed_form_size(PRODUCT, [8]) == 12
    assert closed_form_size(PRODUCT, [8, 3]) == 16
    assert closed_form_size(PRODUCT, [8], {("q", 0): Angle()}) == 1
    assert closed_form_size(PRODUCT, [8], {("q", 1): Angle()}) == 12


def test_named_rows_are_equations_and_others_are_substituted() -> None:
    result = equations(PRODUCT, [8])
    symbols = {str(symbol): expression for symbol, expression in result.named}
    c, P, T = (sp.Symbol(name, real=True) for name in ("c_0", "P_11_0_0", "T_0"))
    assert symbols == {"c_0": sp.cos(Q0), "P_11_0_0": c / 4, "T_0": -2 * P}
    assert result.entries == (-T * c,)  # the row neg_T_1 holds −T
    assert result.in_c == ("c_1", "P_12_11", "T_1")
    assert result.headings == ("link 1 (arm): step", "link 11 (tip): step", "")
    closed = equations(PRODUCT, [8], named=False)
    assert closed.named == ()
    assert sp.simplify(closed.entries[0] - sp.cos(Q0) ** 2 / 2) == 0
    # a requested row is no named equation
    assert str(equations(PRODUCT, [3]).named) == str(((c, sp.cos(Q0)),))


def test_inputs_are_numbers_at_a_pose_or_have_other_symbols() -> None:
    at_third = {("q", 0): Angle(pi=Fraction(1, 3))}
    (entry,) = equations(PRODUCT, [8], at_third, named=False).entries
    assert entry == sp.Rational(1, 8)
    named_numbers = [value for _, value in equations(PRODUCT, [8], at_third).named]
    assert named_numbers == [sp.Rational(1, 2), sp.Rational(1, 8), -sp.Rational(1, 4)]
    (sine,) = equations(PRODUCT, [5], {("q", 1): Angle(Fraction(3, 10))}).entries
    assert sine.is_Float
    assert sine == pytest.approx(float(sp.sin(0.3)))
    assert len(str(sine).removeprefix("0.")) == SHOWN_DIGITS
    (named,) = equations(PRODUCT, [5], symbols={("q", 1): "reach"}).entries
    assert named == sp.sin(sp.Symbol("reach", real=True))
    whole_turn = program_of(q(0), constant(2), Row("add", (0, 1)), Row("cos", (2,)))
    (cosine,) = equations(whole_turn, [3], {("q", 0): Angle(pi=Fraction(1))}).entries
    assert cosine == pytest.approx(-sp.cos(2).evalf(20))


@pytest.mark.parametrize("length", [MOST_REPEATED, MOST_REPEATED + 1])
def test_a_long_row_that_is_used_twice_is_named(length: int) -> None:
    """A sum of `length` operations and its square."""
    rows = [q(0)]
    while len(rows) < length:
        rows.append(Row("neg", (len(rows) - 1,)))
    rows.append(Row("mul", (length - 1, length - 1)))
    result = equations(program_of(*rows), [length])
    names = [str(symbol) for symbol, _ in result.named]
    assert names == (["t0"] if length > MOST_REPEATED else [])
    assert result.in_c == ("",) * len(names)
    once = program_of(*rows[:-1], Row("neg", (length - 1,)))
    assert equations(once, [length]).named == ()


def test_a_name_with_neg_is_read_without_it_unless_both_exist() -> None:
    assert unsigned_name("neg_x", {"neg_x"}) == ("x", -1)
    assert unsigned_name("neg_x", {"neg_x", "x"}) == ("neg_x", 1)
    assert unsigned_name("x", {"x"}) == ("x", 1)


def test_numbers_with_long_denominators_are_rounded() -> None:
    short, long = Fraction(1, 10 ** (LONGEST_DENOMINATOR - 1)), Fraction(1, 10**LONGEST_DENOMINATOR)
    assert number(short) == sp.Rational(1, 10 ** (LONGEST_DENOMINATOR - 1))
    assert number(long).is_Float
    many = sp.Float("0.12345678901234567890123", 23)
    assert str(round_numbers(many * Q0)) == "0.12345678901234568*q0"
    assert round_numbers(Q0 / 3) == Q0 / 3


# -- printing --------------------------------------------------------------------------------------


def test_grids_in_every_format() -> None:
    rows = [["1", "-x"], ["long", "0"], ["2", "3"]]
    assert print_grid(rows, "text") == "⎡1     -x⎤\n⎢long  0 ⎥\n⎣2     3 ⎦"
    assert print_grid(rows[:2], "text") == "⎡1     -x⎤\n⎣long  0 ⎦"
    assert print_grid(rows[:1], "text") == "[1  -x]"
    assert print_grid(rows, "c") == "{1, -x, long, 0, 2, 3}"
    assert print_grid(rows, "python") == "[[1, -x], [long, 0], [2, 3]]"
    assert print_grid(rows[:2], "latex") == (r"\begin{bmatrix}1 & -x \\ long & 0\end{bmatrix}")


@pytest.mark.parametrize("depth", [DEEPEST, DEEPEST + 1])
def test_the_deepest_nesting_is_allowed_in_code(depth: int) -> None:
    expression = Q0
    for _ in range(depth):
        expression = sp.sin(expression, evaluate=False)
    assert print_expression(expression, "text").count("(") == depth
    if depth == DEEPEST:
        assert print_expression(expression, "c").count("(") == depth
        return
    for format, language in (("c", "C"), ("python", "Python")):
        with pytest.raises(
            RequestError, match=f"nests {depth} parentheses, more than {language} is sure"
        ):
            print_expression(expression, format)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Q0 / 8, "0.125*q0"),
        (-Q0 * sp.Rational(5, 2), "-2.5*q0"),
        (Q0 / 3, "q0/3"),
        (Q0 ** sp.Rational(3, 2), "q0**(3/2)"),
        (sp.Rational(1, 2) ** Q0, "0.5**q0"),
        (sp.Rational(7, 6) + Q0, "q0 + 7/6"),
        (sp.Rational(1, 1250) * Q0, "0.0008*q0"),
        (sp.Integer(-12), "-12"),
        (sp.Integer(2**19) * Q0, f"{2**19}*q0"),
        (sp.Rational(1, 2**19), f"{Fraction(1, 2**19) * 10**19 // 1}e"),
    ],
)
def test_rationals_are_decimals_if_they_end(expression: Any, text: str) -> None:
    if text.endswith("e"):  # all digits are printed
        text = f"0.{text[:-1].rjust(19, '0')}"
    assert print_expression(expression, "text") == text


def test_the_result_of_named_equations_has_another_name_than_they_have() -> None:
    x = sp.Symbol("P_2_0_0", real=True)
    named = ((x, sp.Integer(1)), (sp.Symbol("c", real=True), sp.cos(Q0)))
    matrix = sp.Matrix([[x, 2]])

    def printed(label: str, format: str) -> str:
        return print_equations(named, label, matrix, format, "declared").splitlines()[-1]

    assert printed("P[2]", "c") == "const double P_2_declared[2] = {P_2_0_0, 2.0};"
    assert printed("P[2]", "python") == "P_2_declared = [[P_2_0_0, 2]]"
    assert printed("P[3]", "python") == "P_3 = [[P_2_0_0, 2]]"
    assert printed("c", "c").startswith("const double c_declared[2]")
    assert printed("P[2]", "text") == "P[2] = [P_2_0_0  2]"
    assert print_equations(named, "y", sp.cos(Q0), "c", "r").splitlines() == [
        "const double P_2_0_0 = 1.0;",
        "const double c = cos(q0);",
        "const double y = cos(q0);",
    ]


def test_a_heading_is_printed_once_above_its_equations() -> None:
    named = tuple((sp.Symbol(name), sp.Integer(1)) for name in "abcde")
    headings = ["first", "first", "", "second", "first"]
    lines = print_equations(named, "y", sp.Integer(2), "text", "r", headings, ["a: b"]).splitlines()
    assert lines == [
        "# a: b",
        *("# first", "a = 1", "b = 1", "c = 1", "# second", "d = 1", "# first", "e = 1", "y = 2"),
    ]
    latex = print_equations(named[:1], "y", sp.Integer(2), "latex", "r", ["50% of a_b"])
    assert r"& \text{50\% of a\_b}" in latex


def test_the_width_of_latex_counts_what_is_seen() -> None:
    assert visible_width(r"\left(q_{0}\right)") == len("(q0)")
    assert visible_width(r"\alpha \cos 2^{3}") == len("acos23") + len("x") - 1


# -- notes of a reading ----------------------------------------------------------------------------


def test_a_count_is_exact_up_to_fifteen_digits() -> None:
    assert module._count(10**15 - 1) == "9" * 15
    assert module._count(10**15) == "1.0e+15"
    assert module._count(87 * 10**189) == "8.7e+190"


def test_the_form_of_an_entry_depends_on_its_number_of_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm = robot("planar_arm")
    limited = read(arm, "tau[1]", options=FormulaOptions(closed_up_to=2))
    assert isinstance(limited.value, Recursive)
    (note,) = (note for note in limited.notes if "operations" in note)
    words = re.fullmatch(
        r"tau\[1\] has (\d+) operations in closed form, so named equations are shown; "
        "--form closed prints one formula",
        note,
    )
    assert words is not None
    size = int(words[1])
    assert size > 2
    for limit, is_closed in ((size, True), (size - 1, False)):
        value = read(arm, "tau[1]", options=FormulaOptions(closed_up_to=limit)).value
        assert isinstance(value, sp.Expr) == is_closed
    closed = FormulaOptions("closed", closed_up_to=2)  # the limit is that of a form by size
    assert isinstance(read(arm, "tau[1]", options=closed).value, sp.Expr)
    monkeypatch.setattr(module, "CLOSED_AT_MOST", size)
    assert isinstance(read(arm, "tau[1]", options=FormulaOptions("closed")).value, sp.Expr)
    monkeypatch.setattr(module, "CLOSED_AT_MOST", size - 1)
    with pytest.raises(RequestError, match=rf"the closed form of tau\[1\] has {size} operations"):
        read(arm, "tau[1]", options=FormulaOptions("closed"))
    notes = read(arm, "tau[1]", options=FormulaOptions(closed_up_to=2)).notes
    assert any(note.endswith("so named equations are shown") for note in notes)
    assert isinstance(read(arm, "tau[1]", options=FormulaOptions("recursive")).value, Recursive)


def named_equations(**in_c: str) -> Equations:
    named = tuple((sp.Symbol(symbol), sp.Integer(1)) for symbol in in_c)
    return Equations(named, (), tuple(in_c.values()))


def test_the_numbering_of_names_is_explained_by_an_example() -> None:
    """The example is a name with many indices, and one that has the same sign in the C."""
    formulas = named_equations(c_0="c_1", P_0_0_1="P_1_12", Q_0_0_0_0="neg_Q_1_1_1_1")
    (note,) = module._numbering(formulas, "; frames", False)
    assert note.startswith("names in equations count links, rows and columns from 0")
    assert note.endswith("the C counts them from 1, and calls P_0_0_1 P_1_12; frames")
    (several,) = module._numbering(formulas, "", True)
    assert "links, velocities, rows and columns" in several
    shared = module._numbering(named_equations(t0="", t1="", c_0="c_1"), "", False)
    assert shared[0] == "parts that several equations share, without a letter: t0, t1"
    assert len(shared) == 2
    assert module._numbering(named_equations(t0=""), "", False) == [
        "parts that several equations share, without a letter: t0"
    ]
    assert module._numbering(named_equations(), "", False) == []


def sum_of(count: int) -> MultiAngle:
    return MultiAngle.of({(((k,), False), ()): Fraction(1) for k in range(count)})


def test_shortened_and_abbreviated_terms_are_noted_where_they_are_printed() -> None:
    long, short = sum_of(MOST + 1), sum_of(MOST)
    angles = MultiAngle.of({(((1,) * 9, False), ()): Fraction(1)})
    for entries, is_long in (
        ((long,), True),
        ((short, Quotient(short, long)), True),
        ((short,), False),
    ):
        value = Canonical("x", (), entries)
        reading = Reading(value, ("first",))
        words = f"the {MOST} largest terms of each sum are shown; --full prints all terms"
        notes = module._displayed(reading, value, "text", False).notes
        assert notes[0] == "first"
        assert [note.startswith(words) for note in notes[1:]] == [True] * is_long
        assert module._displayed(reading, value, "text", True).notes == ("first",)
        assert module._displayed(reading, value, "c", False).notes == ("first",)
    run = Canonical("x", (), (angles,))
    assert module._displayed(Reading(run, ()), run, "latex", True).notes == (
        "q0:8 is q0 + q1 + … + q8",
    )


def test_includes_and_imports_are_noted_for_code_that_calls_functions() -> None:
    assert module._needed_imports(None, "cos(q0)*2", "c") == ["this takes: #include <math.h>"]
    assert module._needed_imports(None, "cos(q0)*2", "python") == [
        "this takes: from math import cos"
    ]
    assert module._needed_imports(None, "q0*2", "c") == []
    assert module._needed_imports(None, "cos(q0)", "text") == []
    equations_of_row = Recursive("x", (), Q0)
    assert module._needed_imports(equations_of_row, "cos(q0)", "python") == []
    assert module._needed_imports(equations_of_row, "cos(q0)", "c") != []


def test_a_long_entry_says_that_its_largest_terms_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm = robot("planar_arm")
    words = "largest terms of the multi-angle form are shown; --full prints all terms"
    assert not any(words in note for note in render(arm, "M[0,0]")[1])
    monkeypatch.setattr("symgen.inspection.multiangle.MOST", 1)
    assert any(words in note for note in render(arm, "M[0,0]")[1])
    assert not any(words in note for note in render(arm, "M[0,0]", full=True)[1])


@pytest.mark.parametrize("what", ["M[0,0]", "M", "Minv"])
def test_a_multi_angle_form_takes_no_pose(what: str) -> None:
    at = {("q", 1): Angle()}
    with pytest.raises(RequestError, match="so --at does not apply; use --form closed"):
        read(robot("planar_arm"), what, options=FormulaOptions("multiangle", at=at))
    assert read(robot("planar_arm"), "M[0,0]", options=FormulaOptions(at=at)).value == sp.Rational(
        9, 4
    )


def test_an_entry_is_a_multi_angle_form_unless_a_method_or_a_pose_is_named() -> None:
    """M[0,0] = 1.75 + 0.5 cos q1."""
    arm = robot("planar_arm")
    assert render(arm, "M[0,0]")[0] == "1.75 + 0.5*cos(q1)"
    for reading in (
        render(arm, "M[0,0]", "composite_body"),
        render(arm, "M[0,0]", options=FormulaOptions("closed")),
    ):
        text = reading[0]
        assert text != "1.75 + 0.5*cos(q1)"
        assert sp.simplify(sp.sympify(text) - sp.sympify("1.75 + 0.5*cos(q1)")) == 0
    assert render(arm, "M[0,0]", options=FormulaOptions(at={("q", 1): Angle()}))[0] == "2.25"
    assert render(arm, "M[0,0]", options=FormulaOptions("recursive"))[0].count("=") > 1
