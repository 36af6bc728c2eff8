"""Comparisons of checked functions: which rows are compared, with what, and how that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.emission import checks
from symgen.emission.c_text import WIDTH, C
from symgen.emission.checks import LENGTH, STATUSES, TERMS, Comparisons, Guard
from symgen.emission.writer import Spelling, live_rows
from symgen.ir.program import Element, Port, Program
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS, SINE_RANGE
from symgen.vocabulary.target import Target
from tests.shared.pass_programs import formula, written
from tests.shared.recursions import TOYS

LEAST = REALS["double"].least
SPELLING = Spelling(C, ["x"], {})


def target(trig: str = "inline", checked: bool = True) -> Target:
    return Target("arm", Sizes(2, 2, 2), TextOptions(trig, checked=checked))


def texts(derived: Program, rows: Sequence[int]) -> list[str]:
    return [formula(derived, row) for row in rows]


def guards_of(
    derived: Program, bounds: dict[int, Any] | None = None
) -> list[tuple[str, bool, Any]]:
    """Return the formula of each guarded row, whether its magnitude is compared, and the bound."""
    return [
        (formula(derived, guard.row), guard.magnitude, guard.bound)
        for guard in checks.guards(derived, live_rows(derived), bounds or {})
    ]


# -- compared rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("a / b", ("b", True, LEAST)),  # of either sign
        ("log(a)", ("a", False, LEAST)),
        ("sqrt(a)", ("a", False, Fraction(0))),
        ("c / (a - b)", ("a - b", True, LEAST)),
    ],
)
def test_divisors_and_operands_of_logarithms_and_roots_are_guarded(
    text: str, guard: tuple[str, bool, Fraction]
) -> None:
    assert guards_of(written(text)) == [guard]
    (single,) = guards_of(written(text).in_real("float"))
    assert single[2] in (0, REALS["float"].least)
    assert (single[2] == 0) == (guard[2] == 0)


def test_a_row_is_guarded_once_as_the_strictest_of_its_uses_needs() -> None:
    """A root alone may be of zero; a divisor that is also the operand of a root is positive."""
    assert guards_of(written("a / b", "c / b")) == [("b", True, LEAST)]
    assert guards_of(written("a / b", "sqrt(b)")) == [("b", False, LEAST)]
    assert guards_of(written("log(b)", "sqrt(b)")) == [("b", False, LEAST)]
    assert guards_of(written("a / b + sqrt(c)", "log(d)")) == [
        ("b", True, LEAST),
        ("c", False, 0),
        ("d", False, LEAST),
    ]


def test_constants_and_rows_that_no_result_needs_are_not_guarded() -> None:
    assert guards_of(written("a / 3", "sqrt(2)", "3 / a - log(2)")) == [("a", True, LEAST)]
    assert guards_of(written("_unused = a / b", "c * d")) == []


def test_a_certified_bound_replaces_the_least_number() -> None:
    derived = written("c / (a - b)", "d / e", "sqrt(f)")
    difference = next(r for r, row in enumerate(derived.rows) if row.op == "sub")
    bounds = {difference: Fraction(1, 8), 5: Element(0, 7)}
    assert guards_of(derived, bounds) == [
        ("a - b", False, Fraction(1, 8)),
        ("e", True, LEAST),
        ("f", False, Element(0, 7)),
    ]


def test_divisors_and_operands_of_atan2_hide_infinite_numbers() -> None:
    derived = written("a / b", "atan2(c, d) * (e / (f + g))", "_unused = a / h")
    assert texts(derived, checks.hiding_rows(derived, live_rows(derived))) == [
        "b",
        "c",
        "d",
        "f + g",
    ]


def test_results_and_what_hides_infinite_numbers_must_be_finite() -> None:
    """Arguments are compared before, and constants are finite; each row is compared once."""
    derived = written("_s = a + b", "_s * c / _s", "_s", "a", "2", "atan2(c - d, a) / 3", "_s")
    assert texts(derived, checks.finite_rows(derived, live_rows(derived))) == [
        "(a + b) * c / (a + b)",
        "a + b",
        "atan2(c - d, a) / 3",
        "c - d",
    ]


def test_angles_are_operands_of_sines_each_once() -> None:
    derived = written("_s = a + b", "sin(_s) * cos(_s)", "cos(c) + sqrt(d)", "_dead = sin(e)", "_s")
    assert texts(derived, checks.angles(derived, live_rows(derived))) == ["a + b", "c"]


def test_ancestors_are_rows_and_all_that_they_are_computed_from() -> None:
    derived = written("_s = a + b", "_p = _s * c", "_q = d * e", "_p - _q")
    s, p, q, result = range(8, 12)
    assert checks.ancestors(derived, [p]) == {0, 1, 2, s, p}
    assert checks.ancestors(derived, [s, q]) == {0, 1, 3, 4, s, q}
    assert checks.ancestors(derived, [result]) == {0, 1, 2, 3, 4, s, p, q, result}
    assert checks.ancestors(derived, []) == set()


def test_only_checked_functions_compare_and_only_inline_sines_have_a_range() -> None:
    derived = written("sin(a) / b", "atan2(c * d, a)")
    assert checks.comparisons(derived, target(checked=False), {}) == Comparisons()
    inline = checks.comparisons(derived, target("inline"), {1: Fraction(1, 2)})
    assert texts(derived, inline.angles) == ["a"]
    assert inline.guards == [Guard(1, False, Fraction(1, 2))]
    assert texts(derived, inline.hiding) == ["b", "c * d", "a"]
    assert texts(derived, inline.finite) == ["sin(a) / b", "atan2(c * d, a)", "c * d"]
    others = checks.comparisons(derived, target("auto"), {1: Fraction(1, 2)})
    assert others == inline._replace(angles=())


# -- conditions ------------------------------------------------------------------------------------


def conditions(derived: Program, compared: Comparisons, results: list[str]) -> dict[str, str]:
    text = {row: f"r{row}" for row in range(len(derived.rows))}
    spelling = replace(SPELLING, inputs=[port.name for port in derived.inputs])
    return checks.conditions(derived, spelling, text, compared, results)


def test_conditions_of_arguments_angles_divisors_and_results() -> None:
    derived = written("sin(a) / b", "sqrt(c)", "d / e")
    compared = Comparisons(
        [0],
        [
            Guard(1, True, Fraction(1, 4)),
            Guard(2, False, Fraction(0)),
            Guard(4, False, Element(0, 3)),
        ],
    )
    condition = conditions(derived, compared, ["y0", "y1"])
    assert condition["zero"] == "0.0"
    assert condition["zeros"].split() == " + ".join(f"(0.0*x[{k}])" for k in range(8)).split()
    assert condition["units"] == ""
    assert condition["ranges"] == f"fabs(r0) <= {C.literal(Fraction(SINE_RANGE), REALS['double'])}"
    assert condition["divisors"] == "(fabs(r1) >= 0.25) && (r2 >= 0.0) && (r4 >= x[3])"
    assert condition["finite"] == "((0.0*y0) + (0.0*y1)) >= 0.0"
    single = conditions(derived.in_real("float"), compared, ["y0"])
    assert single["zero"] == "0.0f"
    assert single["divisors"].split()[0] == "(fabsf(r1)"
    assert single["finite"] == "((0.0f*y0)) >= 0.0f"


def test_quaternions_must_have_about_length_one() -> None:
    derived = written("a")
    floating = replace(
        derived, inputs=(Port("v", (1,)), Port("q", (9,))), quaternions=(3,), rows=derived.rows[:1]
    )
    floating = floating.with_rows(
        [floating.rows[0]._replace(value=(0, 0))], [Port("y", (1,), (0,))]
    )
    for real in ("double", "float"):
        suffix = REALS[real].suffix
        (units,) = [conditions(floating.in_real(real), Comparisons(), [])["units"]]
        square = " + ".join(f"q[{k}]*q[{k}]" for k in range(3, 7))
        most = C.literal(LENGTH[real], REALS[real])
        assert units == f"fabs{suffix}({square} - 1.0{suffix}) <= {most}"
    assert conditions(floating, Comparisons(), [])["zeros"].split()[:3] == [
        "(0.0*v[0])",
        "+",
        "(0.0*q[0])",
    ]


@pytest.mark.parametrize("count", [0, 1, 2, TERMS, TERMS + 1, 2 * TERMS, 2 * TERMS + 3])
def test_numbers_are_finite_if_their_products_with_zero_add_up_to_zero(count: int) -> None:
    """Evaluate the condition: it holds for finite numbers, and not if any is infinite or NaN."""
    names = [f"x{k}" for k in range(count)]
    text = checks._finite(names, "0.0", 16).replace("&&", "and").replace("\n", " ")
    if not count:
        assert text == ""
        return
    assert all(len(part.split("*")) - 1 <= TERMS for part in text.split("and"))
    assert text.count("and") == -(-count // TERMS) - 1
    finite = dict.fromkeys(names, 1e300)
    assert eval(text, dict(finite))
    for name in {names[0], names[-1], names[count // 2]}:
        for value in (float("inf"), float("-inf"), float("nan")):
            assert not eval(text, {**finite, name: value})


def test_a_long_condition_ends_its_lines_between_comparisons() -> None:
    names = [f"a_long_name_of_a_number_{k}" for k in range(50)]
    lines = checks._finite(names, "0.0", 16).split("\n")
    assert len(lines) > 10
    assert max(map(len, lines)) <= WIDTH
    assert max(map(len, lines)) > WIDTH - 40
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {16}
    assert not any(line.strip().startswith(">=") or line.endswith(">=") for line in lines)


def test_parts_of_a_condition_are_joined_over_lines() -> None:
    assert checks.lines([], "&&", 8) == ""
    assert checks.lines(["a > b"], "&&", 8) == "a > b"
    assert checks.lines(["a > b", "c"], "&&", 8) == "(a > b) && (c)"
    parts = [f"number_{k} >= the_least_number_{k}" for k in range(20)]
    lines = checks.lines(parts, "+", 12).split("\n")
    assert max(map(len, lines)) <= WIDTH
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {12}
    assert " ".join(line.strip() for line in lines) == " + ".join(f"({part})" for part in parts)
    assert all(line.count("(") == line.count(")") for line in lines)


# -- statuses --------------------------------------------------------------------------------------


def names_of_statuses(*forms: Any, trig: str = "auto") -> list[str]:
    listed = checks.statuses(iter(forms), target(trig))
    assert all([*STATUSES][status["value"]] == status["name"] for status in listed)
    assert all(STATUSES[status["name"]] == status["what"] for status in listed)
    return [status["name"] for status in listed]


def test_statuses_are_those_that_a_function_can_return() -> None:
    assert names_of_statuses(written("a")) == ["OK", "NOT_FINITE"]
    computes = names_of_statuses(written("a + b"), written("a"))
    assert computes == ["OK", "NOT_FINITE", "RESULT_NOT_FINITE"]
    divides = names_of_statuses(written("a / b"), written("a"))
    assert divides == ["OK", "NOT_FINITE", "DIVISOR", "RESULT_NOT_FINITE"]
    assert names_of_statuses(written("a"), trig="inline") == ["OK", "NOT_FINITE", "OUT_OF_RANGE"]
    floating = replace(written("a"), quaternions=(0,))
    assert names_of_statuses(written("a"), floating) == ["OK", "NOT_FINITE", "NOT_UNIT"]
    assert "NO_WORK" in names_of_statuses(TOYS["sums"]())
    assert "DIVISOR" in names_of_statuses(TOYS["chain"]())
    assert "DIVISOR" not in names_of_statuses(TOYS["sums"]())
    assert checks.statuses([written("a / b")], target(checked=False)) == []
