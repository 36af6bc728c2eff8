"""Rows as statements: values, locals and their names, parentheses and the length of lines."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from symgen.emission.c_text import WIDTH, C
from symgen.emission.language import ATOM, PRODUCT, SUM, UNARY
from symgen.emission.writer import SincosFunction, Spelling, Writer, live_rows
from symgen.ir.program import Numbers, Port, Program, evaluate
from symgen.support.errors import RequestError
from tests.shared.pass_programs import drawn_program, written

CALLS = {name: name for name in ("sin", "cos", "sqrt", "log", "atan2")}
SPELLING = Spelling(C, ["x"], CALLS)
FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
POINT = [0.3, -1.7, 2.9, 0.11, -5.3, 7.7, 0.013, -0.7]


def locals_of(groups: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return name and value of each local, in order."""
    return [(line["name"], line["value"]) for group in groups for line in group["locals"]]


def text_of(formula: str) -> str:
    """Return the text of a formula of the elements a, b … of x, which is the only result."""
    ((_, value),) = locals_of(Writer(written(formula), SPELLING).statements())
    for letter, index in zip("abcdefgh", range(8), strict=True):
        value = value.replace(f"x[{index}]", letter)
    return value


def values_by_text(writer: Writer) -> list[float]:
    """Return the results that the statements give; C and Python mean the same by them."""
    names: dict[str, Any] = {"x": POINT, **{name: getattr(math, name) for name in CALLS}}
    for name, value in locals_of(writer.statements()):
        assert name not in names
        names[name] = eval(value, names)
    rows = [row for port in writer.program.outputs for row in port.rows]
    return [eval(writer.text[row], names) for row in rows]


@pytest.mark.parametrize("seed", range(12))
def test_statements_mean_the_rows_and_write_each_operation_once(seed: int) -> None:
    """Each result has all its bits."""
    derived = drawn_program(f"written {seed}", size=25, names=5)
    writer = Writer(derived, SPELLING)
    before = evaluate(derived, {"x": POINT[:3]}, FLOATS)["y"]
    assert values_by_text(writer) == before
    text = " ".join(value for _, value in locals_of(Writer(derived, SPELLING).statements()))
    live = [derived.rows[r].op for r in live_rows(derived)]
    assert len(re.findall(r" [+-] |[*/]", text)) == sum(
        live.count(op) for op in ("add", "sub", "mul", "div")
    )


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("a + b + c", "a + b + c"),
        ("a + (b + c)", "a + (b + c)"),
        ("a - b - c", "a - b - c"),
        ("a - (b - c)", "a - (b - c)"),
        ("a - (b + c)", "a - (b + c)"),
        ("a * b * c", "a*b*c"),
        ("a * (b * c)", "a*(b*c)"),
        ("a / b / c", "a/b/c"),
        ("a / (b / c)", "a/(b/c)"),
        ("a / (b * c)", "a/(b*c)"),
        ("a * b / c", "a*b/c"),
        ("a * (b + c)", "a*(b + c)"),
        ("(a + b) * c", "(a + b)*c"),
        ("(a - b) / (c - d)", "(a - b)/(c - d)"),
        # products in sums have parentheses
        ("a * b + c", "(a*b) + c"),
        ("a - b / c", "a - (b/c)"),
        ("a * b - c * d", "(a*b) - (c*d)"),
        # signs
        ("-a", "-a"),
        ("-(-a)", "-(-a)"),
        ("-a * b", "-a*b"),
        ("a * -b", "a*(-b)"),
        ("a - -b", "a - (-b)"),
        ("-a - b", "-a - b"),
        ("-(a * b)", "-(a*b)"),
        ("-(a + b)", "-(a + b)"),
        ("-sin(a)", "-sin(a)"),
        # numbers
        ("a * 2", "a*2.0"),
        ("2 * a", "2.0*a"),
        ("a - 0.5", "a - 0.5"),
        # functions
        ("sin(a + b) * cos(a)", "sin(a + b)*cos(a)"),
        ("sqrt(a) + log(b)", "sqrt(a) + log(b)"),
        ("atan2(a - b, c * d)", "atan2(a - b, c*d)"),
        ("sqrt(-a)", "sqrt(-a)"),
    ],
)
def test_parentheses_stand_where_the_grammar_or_the_language_asks_for_them(
    formula: str, text: str
) -> None:
    assert text_of(formula) == text


def test_a_negative_constant_is_an_operand_like_a_negated_one() -> None:
    derived = written("2 * a", "b - 2", "2 - b")
    rows = [row._replace(value=-row.value) if row.op == "const" else row for row in derived.rows]
    negative = derived.with_rows(rows, derived.outputs)
    values = [value for _, value in locals_of(Writer(negative, SPELLING).statements())]
    assert values == ["-2.0*x[0]", "x[1] - (-2.0)", "-2.0 - x[1]"]


def test_ranks_say_how_tightly_a_text_binds() -> None:
    derived = written("_s = a + b", "_p = c * d", "_n = -e", "_f = sin(f)", "_s * (_p - (_n + _f))")
    writer = Writer(derived, SPELLING)
    writer.statements()
    first = len("abcdefgh")
    assert [writer.rank[r] for r in range(first, first + 4)] == [SUM, PRODUCT, UNARY, ATOM]
    assert writer.rank[0] == ATOM


# -- locals and names ------------------------------------------------------------------------------


def test_only_rows_that_results_need_are_live() -> None:
    derived = written("_dead = sin(a) * b", "s = c + d", "_also = s * _dead", "s - c")
    assert [derived.rows[r].op for r in live_rows(derived)] == ["input", "input", "add", "sub"]
    assert live_rows(derived.with_rows(derived.rows, [])) == []


def test_named_rows_results_and_rows_of_several_uses_are_locals() -> None:
    derived = written("total = a + b", "_p = a * c", "_q = b * c", "_p * _p - _q", "total / d")
    assert locals_of(Writer(derived, SPELLING).statements()) == [
        ("total", "x[0] + x[1]"),
        ("t1", "x[0]*x[2]"),
        ("out_y_0", "(t1*t1) - (x[1]*x[2])"),
        ("out_y_1", "total/x[3]"),
    ]


def test_results_have_the_names_of_their_elements() -> None:
    derived = written("a + b", "a - b", "a * b", "a / b", "c + d", "a + d")
    rows = derived.outputs[0].rows
    shaped = derived.with_rows(
        derived.rows,
        [Port("M", (2, 2), rows[:4]), Port("s", (), rows[4:5]), Port("v", (1,), rows[5:])],
    )
    names = [name for name, _ in locals_of(Writer(shaped, SPELLING).statements())]
    assert names == ["out_M_0_0", "out_M_0_1", "out_M_1_0", "out_M_1_1", "out_s", "out_v_0"]


def test_a_row_that_is_two_results_has_one_local_and_a_constant_none() -> None:
    derived = written("_p = a * b", "_p", "_p", "3", "a", "s = a + b", "s")
    lines = locals_of(Writer(derived, SPELLING).statements())
    assert lines == [
        ("out_y_3", "x[0]"),
        ("out_y_0", "out_y_3*x[1]"),
        ("s", "out_y_3 + x[1]"),
    ]


def test_names_differ_from_words_of_the_language_arguments_and_each_other() -> None:
    derived = written(
        "x = a + b", "double = a * b", "t1 = a - b", "_p = b * c", "_p * _p", "x * double * t1"
    )
    spelling = replace(SPELLING, reserved_names=["out_y_0"])
    names = [name for name, _ in locals_of(Writer(derived, spelling).statements())]
    assert names == ["x_", "double_", "t1", "t2", "out_y_0_", "out_y_1"]


def test_forced_rows_are_locals() -> None:
    derived = written("_s = a + b", "_n = -c", "_s * (d - _n)")
    s, n = len("abcdefgh"), len("abcdefgh") + 1
    names = [name for name, _ in locals_of(Writer(derived, SPELLING, [s, n, 0]).statements())]
    assert names == ["t1", "t2", "out_y_0"]


def test_statements_are_grouped_under_the_comment_of_their_step() -> None:
    derived = written("s = a + b", "t = s * c", "u = t - s", "u * t", steps=3)
    groups = Writer(derived, SPELLING).statements()
    assert [(g["comment"], [line["name"] for line in g["locals"]]) for g in groups] == [
        ("step 0", ["s"]),
        ("step 1", ["t"]),
        ("step 2", ["u", "out_y_0"]),  # a row without a step stands under the one before
    ]
    assert {line["kind"] for group in groups for line in group["locals"]} == {"double"}
    without_step = Writer(written("a + b"), SPELLING).statements()
    assert [group["comment"] for group in without_step] == [""]


def test_some_rows_can_be_written_before_others() -> None:
    derived = written("s = a + b", "t = s * c", "t - s", steps=2)
    writer, first = Writer(derived, SPELLING), len("abcdefgh")
    assert locals_of(writer.statements([0, 1, first])) == [("s", "x[0] + x[1]")]
    rest = writer.statements()
    assert [name for name, _ in locals_of(rest)] == ["t", "out_y_0"]
    assert rest[0]["comment"] == "step 1"
    assert writer.statements() == []


def test_a_constant_with_a_name_is_no_local() -> None:
    assert locals_of(Writer(written("two = 2", "a * two"), SPELLING).statements()) == [
        ("out_y_0", "x[0]*2.0")
    ]


# -- long lines ------------------------------------------------------------------------------------


def lines_of(writer: Writer) -> list[str]:
    return [C.declared("double", name, value) for name, value in locals_of(writer.statements())]


@pytest.mark.parametrize("indent", [0, 4, 8])
def test_lines_stay_within_their_width(indent: int) -> None:
    """A sum of sixty products, all of one use; the longest operands become locals."""
    terms = [f"{'abcdefgh'[k % 8]} * {'hgfedcba'[k * 3 % 8]}" for k in range(60)]
    derived = written(" + ".join(terms), f"sin({' - '.join(terms)}) * a")
    lines = lines_of(Writer(derived, SPELLING, indent=indent))
    assert max(map(len, lines)) <= WIDTH - indent
    assert max(map(len, lines)) > WIDTH - indent - 25
    assert values_by_text(Writer(derived, SPELLING, indent=indent)) == pytest.approx(
        evaluate(derived, {"x": POINT}, FLOATS)["y"], rel=0
    )


@pytest.mark.parametrize("indent", [0, 4, 8])
def test_a_named_row_is_one_line_if_it_fits(indent: int) -> None:
    text = " + ".join(f"x[{k}]" for k in range(8))
    fitting = []
    for length in range(20, 70):
        name = "n" * length
        lines = lines_of(
            Writer(written(f"{name} = {' + '.join('abcdefgh')}", name), SPELLING, indent=indent)
        )
        whole = C.declared("double", name, text)
        assert max(map(len, lines)) <= WIDTH - indent
        fitting.append(len(whole) <= WIDTH - indent)
        assert (lines == [whole]) == fitting[-1]
    assert 0 < sum(fitting) < len(fitting)


def test_a_short_text_is_one_line() -> None:
    derived = written("(a + b) * (c + d) * (e + f)")
    assert len(lines_of(Writer(derived, SPELLING))) == 1


def test_an_inner_expression_is_shorter_than_a_line() -> None:
    """An expression longer than C.inline characters is written in parts before it is an operand."""
    derived = written(f"({' + '.join('abcdefgh' * 3)}) * a")
    writer = Writer(derived, SPELLING)
    values = [value for _, value in locals_of(writer.statements())]
    assert max(map(len, values)) <= max(C.inline, WIDTH)
    assert max(len(text) for text in writer.text.values()) <= C.inline + 10


# -- sines by functions of their own ---------------------------------------------------------------


SINCOS = SincosFunction("arm_turn", "arm_sincos")


def test_sine_and_cosine_of_one_angle_are_one_call() -> None:
    derived = written("sin(a) * cos(a)", "_s = a + b", "cos(_s)", "sin(_s)", "cos(c)")
    lines = locals_of(Writer(derived, replace(SPELLING, sincos_function=SINCOS)).statements())
    assert lines == [
        ("turn_1", "arm_sincos(x[0])"),
        ("out_y_0", "turn_1.sine*turn_1.cosine"),
        ("t1", "x[0] + x[1]"),
        ("turn_2", "arm_sincos(t1)"),
        ("out_y_1", "turn_2.cosine"),
        ("out_y_2", "turn_2.sine"),
        ("turn_3", "arm_sincos(x[2])"),
        ("out_y_3", "turn_3.cosine"),
    ]


def test_two_rows_of_one_argument_are_one_angle() -> None:
    derived = written("sin(a)", "b * cos(a)")
    again = replace(derived, rows=(*derived.rows, derived.rows[0]))
    rows = list(again.rows)
    cosine = next(r for r, row in enumerate(rows) if row.op == "cos")
    moved = [*rows[:8], rows[0], *rows[8:-1]]
    moved = [
        row._replace(args=tuple(a + (a >= 8) for a in row.args)) if r > 8 else row
        for r, row in enumerate(moved)
    ]
    moved[cosine + 1] = moved[cosine + 1]._replace(args=(8,))
    outputs = [Port("y", (2,), tuple(r + 1 for r in derived.outputs[0].rows))]
    lines = locals_of(
        Writer(
            derived.with_rows(moved, outputs), replace(SPELLING, sincos_function=SINCOS)
        ).statements()
    )
    assert [value for _, value in lines if "sincos" in value] == ["arm_sincos(x[0])"]


def several_angles(lanes: int) -> tuple[Program, Writer, list[int]]:
    derived = written("_s = a + b", "sin(_s) + cos(a)", "cos(_s) * sin(a)", "sin(c)", steps=1)
    sincos_function = SincosFunction("arm_turns", "arm_sincos_4", "ANGLES", lanes)
    angles = [len("abcdefgh"), 0]
    return derived, Writer(derived, replace(SPELLING, sincos_function=sincos_function)), angles


@pytest.mark.parametrize("lanes", [2, 4])
def test_angles_of_several_lanes_are_given_at_once(lanes: int) -> None:
    """Idle lanes get zeros; an angle that is not among those given keeps its call."""
    _, writer, angles = several_angles(lanes)
    writer.write_sines(angles, [0, 1, *angles])
    lines = locals_of(writer.statements())
    zeros = ", 0.0" * (lanes - 2)
    assert lines == [
        ("t1", "x[0] + x[1]"),
        ("angle[ANGLES]", f"{{t1, x[0]{zeros}}}"),
        ("turn", "arm_sincos_4(angle)"),
        ("out_y_0", "turn.sine[0] + turn.cosine[1]"),
        ("out_y_1", "turn.cosine[0]*turn.sine[1]"),
        ("out_y_2", "sin(x[2])"),
    ]


def test_angles_given_at_once_stand_under_the_step_of_their_sines() -> None:
    derived = written("sin(c)", "_s = a + b", "sin(_s) * cos(a)", steps=3)
    sum_row = next(r for r, row in enumerate(derived.rows) if row.op == "add")
    sincos_function = SincosFunction("arm_turns", "arm_sincos_2", "ANGLES", 2)
    writer = Writer(derived, replace(SPELLING, sincos_function=sincos_function))
    writer.write_sines([sum_row, 0], [0, 1, sum_row])
    groups = writer.statements()
    assert [(group["comment"], group["locals"][0]["name"]) for group in groups] == [
        ("step 2", "angle[ANGLES]"),
        ("step 0", "out_y_0"),
        ("step 2", "out_y_1"),
    ]


def test_long_angles_stand_on_lines_of_their_own() -> None:
    writer = Writer(written("a"), SPELLING, indent=4)
    short, long = ["x" * 10] * 2, ["x" * 50] * 2
    assert writer._listed(short) == f"{{{short[0]}, {short[1]}}}"
    margin = " " * 12
    assert writer._listed(long) == f"{{\n{margin}{long[0]},\n{margin}{long[1]}\n{margin[4:]}}}"
    limit = ["x" * (C.inline // 2 - 2)] * 2
    assert "\n" not in writer._listed(limit)
    assert "\n" in writer._listed([*limit[:1], limit[0] + "x"])


# -- refusals --------------------------------------------------------------------------------------


def test_a_constant_divisor_that_is_zero_in_the_real_type_is_refused() -> None:
    tiny = written("a / 1e-60")
    Writer(tiny, SPELLING).statements()
    with pytest.raises(RequestError, match="f divides by a constant that is zero as a float; use"):
        Writer(tiny.in_real("float"), SPELLING).statements()
    Writer(written("1e-60 / a").in_real("float"), SPELLING).statements()
    Writer(written("a / 1e-30").in_real("float"), SPELLING).statements()
