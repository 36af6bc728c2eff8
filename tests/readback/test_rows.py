"""Short C texts, written by hand, against the rows of a Program: each slip has its sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.ir.program import Port, Program
from symgen.readback import preprocessor
from symgen.readback.rows import compare
from symgen.vocabulary.functions import PREPARED
from tests.shared.c_programs import Builder, vector


def program(real: str = "double") -> Program:
    """Return g_0 = (sqrt(t + 1/2) - v_0)/t and g_1 = -(t cos q_1) of t = s cos q_0, s = sin q_0."""
    builder = Builder("gravity_force", [vector("q"), vector("v")], real)
    q_0, q_1, v_0 = builder.input(0, 0), builder.input(0, 1), builder.input(1, 0)
    s = builder.op("sin", q_0, name="s")
    t = builder.op("mul", s, builder.op("cos", q_0), name="t")
    root = builder.op("sqrt", builder.op("add", t, builder.const("1/2")))
    first = builder.op("div", builder.op("sub", root, v_0), t)
    second = builder.op("neg", builder.op("mul", t, builder.op("cos", q_1)))
    return builder.program([Port("g", (2,), (first, second))])


PROGRAM = program()
F = "arm_gravity_force"
REFUSAL, FINITE = (
    preprocessor.refusal(checked).replace("NAME", "arm") for checked in (False, True)
)
HEAD = '#include <math.h>\n#include "arm.h"\n'
SINES = '#define arm_sincos arm_gravity_force_sincos\n#include "arm_sincos.h"\n'
SIGNATURE = "arm_gravity_force(const double q[arm_NQ], const double v[2], double g[arm_NV])\n"
PLAIN = f"""{HEAD}{REFUSAL}void {SIGNATURE}{{
    const double s = sin(q[0]);
    const double t = s*cos(q[0]);
    g[0] = (sqrt(t + 0.5) - v[0])/t;
    g[1] = -(t*cos(q[1]));
}}
"""
TURNED = f"""{HEAD}{SINES}{REFUSAL}void {SIGNATURE}{{
    const arm_pair turn_1 = arm_sincos(q[0]);
    const double s = turn_1.sine;
    const double t = s*turn_1.cosine;
    const arm_pair turn_2 = arm_gravity_force_sincos(q[1]);
    const double x = -(t*turn_2.cosine);
    g[0] = (sqrt(t + 0.5) - v[0])/t;
    g[1] = x;
}}
"""
LOOPED = f"""{HEAD}#define arm_ANGLES 4
{SINES}{REFUSAL}void {SIGNATURE}{{
    const double angle[arm_ANGLES] = {{q[0], q[1], 0.0, 0.0}};
    const arm_turns turn = arm_sincos(angle);
    const double s = turn.sine[0];
    const double t = s*turn.cosine[0];
    const double x = -(t*turn.cosine[1]);
    g[0] = (sqrt(t + 0.5) - v[0])/t;
    g[1] = x;
}}
"""
CHECKED = f"""{HEAD}{SINES}{FINITE}int {SIGNATURE}{{
    int status = arm_OK;
    const double none = (0.0*q[0]) + (0.0*q[1]) + (0.0*v[0]) + (0.0*v[1]);
    if (!(none >= 0.0)) {{
        status = arm_NOT_FINITE;
    }} else if (!((fabs(q[0]) <= 32768.0) && (fabs(q[1]) <= 32768.0))) {{
        status = arm_OUT_OF_RANGE;
    }} else {{
        const arm_pair turn_1 = arm_sincos(q[0]);
        const double s = turn_1.sine;
        const arm_pair turn_2 = arm_sincos(q[1]);
        const double t = s*turn_1.cosine;
        const double u = t + 0.5;
        const double x = (sqrt(u) - v[0])/t;
        const double y = -(t*turn_2.cosine);
        if (!((u >= 0.0) && (fabs(t) >= 2.2250738585072014e-308))) {{
            status = arm_DIVISOR;
        }} else if (!(((0.0*x) + (0.0*y) + (0.0*t)) >= 0.0)) {{
            status = arm_RESULT_NOT_FINITE;
        }} else {{
            g[0] = x;
            g[1] = y;
        }}
    }}
    return status;
}}
"""


def differences(text: str, form: Program = PROGRAM, checked: bool = False) -> list[str]:
    return compare(form, text, checked={} if checked else None)


def test_the_texts_are_the_program() -> None:
    for text in (PLAIN, TURNED, LOOPED):
        assert differences(text) == []
    assert differences(CHECKED, checked=True) == []
    for text in (PLAIN, TURNED, LOOPED):
        in_float = re.sub(r"double", "float", re.sub(r"(0\.[05])", r"\1f", text))
        in_float = re.sub(r"\b(sin|cos|sqrt)\(", r"\1f(", in_float)
        assert differences(in_float, program("float")) == []
    macros = PLAIN.replace("cos(", "arm_COS(").replace("sin(", "arm_SIN(")
    assert differences(macros) == []


def changed_line(text: str, changed: str, offset: int | None) -> str:
    """Return "line N: " of the first line that two texts differ in, or so many lines behind it."""
    if offset is None:
        return ""
    pairs = zip(text.splitlines(), changed.splitlines(), strict=False)
    return f"line {1 + offset + next(k for k, (old, new) in enumerate(pairs) if old != new)}: "


NO_ROW = "no row of the Program is this"
PLAIN_ERRORS = [
    ("s*cos(q[0])", "cos(q[0])*s", 0, f"t: {NO_ROW} mul of these operands"),
    ("- v[0])", "+ v[0])", 0, f"g[0]: {NO_ROW} add of these operands"),
    ("t + 0.5", "t - 0.5", 0, f"g[0]: {NO_ROW} sub of these operands"),
    ("v[0])/t", "v[0])*t", 0, f"g[0]: {NO_ROW} mul of these operands"),
    ("-(t*", "(t*", None, "g[1] stores another row than the Program's row {second}"),
    ("t + 0.5", "t + 0.25", 0, "g[0]: no constant of the Program is the literal 0.25"),
    ("t + 0.5", "t + -0.5", 0, "g[0]: no constant of the Program is the literal -0.5"),
    ("t + 0.5", "t + 0.5f", 0, "g[0]: the literal 0.5f is not of the type double"),
    ("v[0])", "v[1])", 0, f"g[0]: {NO_ROW.replace('this', 'v[1]')}"),
    ("v[0])", "v[2])", 0, "g[0]: no row of the Program is v[2]"),
    ("v[0])", "w[0])", 0, "g[0]: w[0] is not an element of an argument"),
    ("v[0])", "g[0])", 0, "g[0]: g[0] is not an element of an argument"),
    ("v[0])", "v[i])", 0, "g[0]: v[?] is not an element of an argument"),
    ("v[0])", "v)", 0, "g[0]: v is not a local that is declared before"),
    ("s*cos", "t*cos", 0, "t: t is not a local that is declared before"),
    ("sqrt(t + 0.5)", "abs(t + 0.5)", 0, "g[0]: an expression (FuncCall) that generated code n"),
    ("sqrt(t + 0.5)", "sqrt(t, 0.5)", 0, "g[0]: an expression (FuncCall) that generated code n"),
    ("sqrt(t + 0.5)", "sqrt()", 0, "g[0]: an expression (FuncCall) that generated code never"),
    ("t + 0.5", "t % 0.5", 0, "g[0]: an expression (BinaryOp) that generated code never holds"),
    ("t + 0.5", "+t + 0.5", 0, "g[0]: an expression (UnaryOp) that generated code never holds"),
    ("= s*cos", "= s.sine*cos", 0, "t: an expression (StructRef) that generated code never"),
    ("t = s", "t2 = s", 1, "g[0]: t is not a local that is declared before"),
    (
        "const double t",
        "double t",
        0,
        "t is declared as double, is declared twice, or follows a store",
    ),
    (
        "const double t",
        "const float t",
        0,
        "t is declared as const float, is declared twice, or follows a st",
    ),
    (
        "s = sin",
        "q = sin",
        0,
        "q is declared as const double, is declared twice, or follows a store",
    ),
    (
        "    g[0] =",
        "    const double s = sin(q[0]);\n    g[0] =",
        0,
        "s is declared as const double, is declared twice, or follows a store",
    ),
    (
        "    g[1] =",
        "    const double k = sin(q[0]);\n    g[1] =",
        0,
        "k is declared as const double, is declared twice, or follows a store",
    ),
    ("    g[1] =", "    g[0] = t;\n    g[1] =", 0, "g[0] is stored twice, or is not an element"),
    ("    g[1] =", "    g[2] = t;\n    g[1] =", 0, "g[2] is stored twice, or is not an element"),
    ("    g[1] =", "    q[0] = t;\n    g[1] =", 0, "q[0] is stored twice, or is not an element"),
    ("    g[1] =", "    double k[2];\n    g[1] =", 0, "k is not at its place in generated code"),
    ("    g[1] =", "    (int)v;\n    g[1] =", 0, "v is cast to int"),
    (
        "    g[1] =",
        "    (void)v;\n    g[1] =",
        None,
        "(void)v although v is read or is not an argum",
    ),
    (
        "    g[1] =",
        "    (void)g;\n    g[1] =",
        None,
        "(void)g although g is read or is not an argum",
    ),
    ("    g[0] = (sqrt(t + 0.5) - v[0])/t;\n", "", None, "g[0] is never stored"),
    ("s = sin(q[0])", "s = cos(q[0])", 0, "s is not the Program's row {s} of that name"),
    (
        "sin(q[0]);\n",
        "sin(q[0]);\n    const double k = sin(q[0]);\n",
        None,
        "the C does 11 operations where the Program does 10",
    ),
    ("v[2]", "v[3]", None, "parameter 1 is const double v[3], not the Program's v"),
    ("v[2]", "v_[3]", None, "parameter 1 is const double v_[3], not the Program's v"),
    ("const double v[2]", "double v[2]", None, "parameter 1 is double v[2], not the Program's v"),
    (
        "const double v[2]",
        "const float v[2]",
        None,
        "parameter 1 is const float v[2], not the Progra",
    ),
    (
        "double g[arm_NV]",
        "const double g[arm_NV]",
        None,
        "parameter 2 is const double g[arm_NV], not",
    ),
    ("g[arm_NV]", "g[arm_NQ]", None, "parameter 2 is double g[arm_NQ], not the Program's g"),
    (", double g[arm_NV]", "", None, "arm_gravity_force has 2 parameters, not 3"),
    ("[arm_NV])", "[arm_NV], int n)", None, "arm_gravity_force has 4 parameters, not 3"),
    (
        "#include <math.h>",
        "#include <float.h>",
        None,
        "the directive '#include <float.h>' does not",
    ),
    (
        HEAD,
        f"{HEAD}#define arm_ANGLES 2\n",
        None,
        "arm_ANGLES and an array of angles must occur together",
    ),
]


@pytest.mark.parametrize(("old", "new", "offset", "sentence"), PLAIN_ERRORS)
def test_a_difference_of_a_plain_text_has_its_sentence(
    old: str, new: str, offset: int | None, sentence: str
) -> None:
    assert old in PLAIN
    text = PLAIN.replace(old, new, 1)
    (first, *_) = differences(text)
    expected = sentence.format(second=PROGRAM.outputs[0].rows[1], s=row_named("s"))
    assert first.startswith(changed_line(PLAIN, text, offset) + expected)


def row_named(name: str) -> int:
    return next(i for i, row in enumerate(PROGRAM.rows) if row.name == name)


def test_a_parameter_may_have_a_size_in_words_or_numbers_and_an_underscore() -> None:
    for old, new in (("q[arm_NQ]", "q[2]"), ("g[arm_NV]", "g[2]")):
        assert differences(PLAIN.replace(old, new, 1)) == []
    renamed = PLAIN.replace("double v[2]", "double v_[2]").replace("- v[0]", "- v_[0]")
    assert differences(renamed) == []


def test_an_argument_that_is_not_read_may_be_cast_to_void() -> None:
    builder = Builder("gravity_force", [vector("q"), vector("v")])
    form = builder.program([Port("g", (1,), (builder.op("neg", builder.input(0, 0)),))])
    text = PLAIN[: PLAIN.index("    const double s")].replace("g[arm_NV]", "g[1]")
    assert differences(f"{text}    (void)v;\n    g[0] = -q[0];\n}}\n", form) == []
    assert differences(f"{text}    g[0] = -q[0];\n}}\n", form) == []


def test_a_sign_in_front_of_a_constant_is_no_operation() -> None:
    builder = Builder("gravity_force", [vector("q"), vector("v")])
    half = builder.const("1/2")
    values = builder.op("neg", half), builder.op("mul", builder.input(0, 0), builder.const("-2"))
    form = builder.program([Port("g", (2,), values)])
    text = PLAIN[: PLAIN.index("    const double s")]
    for first in ("-0.5", "-h"):
        local = "const double h = 0.5;" if first == "-h" else ""
        assert (
            differences(f"{text}    {local} g[0] = {first};\n g[1] = q[0]*-2.0;\n}}\n", form) == []
        )
    locals_of_text = "const double h = 0.5; const double k = -2.0;"
    wrong = f"{text}    {locals_of_text}\n g[0] = -h;\n g[1] = q[0]*-k;\n}}\n"
    assert (
        "no constant of the Program is the opposite of that constant" in differences(wrong, form)[0]
    )


TURNED_ERRORS = [
    ("turn_1.sine", "turn_1.cosine", "s is not the Program's row 3 of that name"),
    ("turn_1.sine", "turn_2.sine", "s: an expression (StructRef) that generated code never holds"),
    ("turn_1.sine", "turn_1->sine", "s: an expression (StructRef) that generated code never holds"),
    ("turn_1.sine", "turn_1.tangent", "s: an expression (StructRef) that generated code never ho"),
    ("arm_sincos(q[0])", "arm_sincos(v[1])", "turn_1: no row of the Program is v[1]"),
    ("arm_sincos(q[0])", "arm_sincos(q[0], q[1])", "turn_1 is not the sine and cosine of an angle"),
    ("arm_sincos(q[0])", "leg_sincos(q[0])", "turn_1 is not the sine and cosine of an angle"),
    ("arm_sincos(q[0])", "arm_sincos[0]", "turn_1 is not the sine and cosine of an angle"),
    ("arm_sincos(q[0])", "arm_sincos()", "turn_1 is not the sine and cosine of an angle"),
    ("arm_sincos(q[0])", "q[0]", "turn_1 is not the sine and cosine of an angle, is declared twic"),
    (" turn_2 = ", " s = ", "s is not the sine and cosine of an angle, is declared twice, or"),
    (
        "force_sincos(q[1])",
        "force_sincos(q[0])",
        "turn_2 computes the sine and cosine of an angle a second",
    ),
    (
        "const arm_pair turn_1",
        "arm_pair turn_1",
        "turn_1 is declared as arm_pair, is declared twice, or follows",
    ),
    ("const arm_pair turn_1", "const arm_turns turn_1", "turn_1 is declared as const arm_turns"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), TURNED_ERRORS)
def test_a_difference_of_sines_has_its_sentence(old: str, new: str, sentence: str) -> None:
    assert TURNED.count(old) == 1
    text = TURNED.replace(old, new, 1)
    (first, *_) = differences(text)
    assert first.startswith(changed_line(TURNED, text, 0) + sentence)


def test_a_sine_behind_a_store_or_without_a_use_is_reported() -> None:
    turn = "    const arm_pair turn_2 = arm_gravity_force_sincos(q[1]);\n"
    late = TURNED.replace("    const double x", f"    g[0] = t;\n{turn}    const double x")
    assert "turn_2 is not the sine" in " ".join(differences(late.replace(turn, "", 1)))
    unused = TURNED.replace(turn, f"{turn}    const arm_pair turn_3 = arm_sincos(t);\n")
    assert "turn_3 is never used" in differences(unused)


LOOPED_ERRORS = [
    ("{q[0], q[1], 0.0, 0.0}", "{q[0], q[1], 0.0}", "angle is not an array of 4 angles, is a sec"),
    ("{q[0], q[1], 0.0, 0.0}", "{q[0], 0.0, q[1], 0.0}", "angle has an argument twice, or an angl"),
    ("{q[0], q[1], 0.0, 0.0}", "{q[0], q[1], q[0], 0.0}", "angle has an argument twice, or an ang"),
    ("{q[0], q[1], 0.0, 0.0}", "{q[0], q[1], 0.0f, 0.0}", "angle: the literal 0.0f is not of the"),
    ("angle[arm_ANGLES]", "angle[5]", "angle is not an array of 4 angles, is a second one"),
    ("angle[arm_ANGLES]", "angle[arm_NQ]", "angle is not an array of 4 angles, is a second one"),
    ("const double angle", "double angle", "angle is not an array of 4 angles, is a second one"),
    (" angle[arm_ANGLES]", " q[arm_ANGLES]", "q is not an array of 4 angles, is a second one, or"),
    ("arm_sincos(angle)", "arm_sincos(q)", "turn is not the sine and cosine of an angle, is decl"),
    ("arm_sincos(angle)", "arm_sincos(q[0])", "turn is not the sine and cosine of an angle, is d"),
    ("turn.sine[0]", "turn.sine[1]", "s: no row of the Program is this sin of these operands"),
    ("turn.sine[0]", "turn.sine[2]", "s: ?[2] is not an element of an argument"),
    ("turn.sine[0]", "turn.sine[4]", "s: ?[4] is not an element of an argument"),
    ("turn.sine[0]", "turn.sine[i]", "s: ?[?] is not an element of an argument"),
    ("turn.sine[0]", "turn.sine", "s: an expression (StructRef) that generated code never holds"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), LOOPED_ERRORS)
def test_a_difference_of_angles_in_an_array_has_its_sentence(
    old: str, new: str, sentence: str
) -> None:
    assert LOOPED.count(old) == 1
    text = LOOPED.replace(old, new, 1)
    (first, *_) = differences(text)
    assert first.startswith(changed_line(LOOPED, text, 0) + sentence)


def test_an_array_of_angles_may_state_its_size_as_a_number() -> None:
    assert differences(LOOPED.replace("angle[arm_ANGLES]", "angle[4]")) == []


def test_only_one_array_holds_angles_and_only_before_the_stores() -> None:
    array = "    const double angle[arm_ANGLES] = {q[0], q[1], 0.0, 0.0};\n"
    twice = LOOPED.replace(array, array + array.replace("angle[", "more["))
    assert "more is not an array of 4 angles, is a second one" in differences(twice)[0]
    turn = "    const arm_turns turn = arm_sincos(angle);\n"
    again = LOOPED.replace(turn, turn + turn.replace("turn =", "more ="))
    assert "more is not the sine and cosine of an angle" in differences(again)[0]
    uncounted = LOOPED.replace("#define arm_ANGLES 4\n", "")
    assert differences(uncounted) != []


def test_parts_are_read_where_they_are_called() -> None:
    parts = parts_text()
    assert differences(parts) == []


def parts_text() -> str:
    """Return the text of the Program in two parts that share an array of two numbers."""
    return f"""{HEAD}{REFUSAL}static void {F}_part_1(const double q[arm_NQ], double w[2])
{{
    const double s = sin(q[0]);
    const double t = s*cos(q[0]);
    w[0] = t;
    w[1] = t*cos(q[1]);
}}
static void arm_gravity_force_part_2(const double v[2], double w[2])
{{
    const double t = w[0];
    w[0] = (sqrt(t + 0.5) - v[0])/t;
}}
static void arm_gravity_force_part_3(const double w[2], double g[arm_NV])
{{
    g[0] = w[0];
    g[1] = -w[1];
}}
void {SIGNATURE}{{
    double w[2];
    arm_gravity_force_part_1(q, w);
    arm_gravity_force_part_2(v, w);
    arm_gravity_force_part_3(w, g);
}}
"""


PART_ERRORS = [
    ("    w[0] = t;\n", "    w[1] = t;\n", 5, "t: w[0] is read before it is stored"),
    ("w[0] = t;", "w[0] = s;", 5, "t is not the Program's row {t} of that name"),
    ("w[1] = t*", "w[2] = t*", 0, "w[2] is beyond the 2 numbers of that array"),
    ("double w[2]", "float w[2]", None, "line 28: w is not a local array of double"),
    ("    double w[2];", "    double w[3];", -19, "the parameters of arm_gravity_force_part_1 are"),
    (
        "(const double v[2], d",
        "(const double v[3], d",
        0,
        "the parameters of arm_gravity_force_part",
    ),
    ("t + 0.5", "s + 0.5", 0, "w[0]: s is not a local that is declared before"),
    ("- v[0]", "- q[0]", 0, "w[0]: q[0] is not an element of an argument"),
    ("    w[0] = t;", "    (void)q;\n    w[0] = t;", 0, "q is not at its place in generated code"),
    ("w[0] = t;", "g[0] = t;", 0, "g[0] is stored twice, or is not an element of a result"),
]


@pytest.mark.parametrize(("old", "new", "offset", "sentence"), PART_ERRORS)
def test_a_difference_of_parts_has_its_sentence(
    old: str, new: str, offset: int | None, sentence: str
) -> None:
    parts = parts_text()
    assert old in parts
    text = parts.replace(old, new)
    (first, *_) = differences(text)
    expected = sentence.format(t=row_named("t"))
    assert first.startswith(changed_line(parts, text, offset) + expected)


def test_no_part_reads_an_argument_behind_a_store_of_a_result() -> None:
    parts = parts_text()
    early = parts.replace(
        "part_2(const double v[2], double w[2])",
        "part_2(const double v[2], double w[2], double g[arm_NV])",
    ).replace("part_2(v, w)", "part_2(v, w, g)")
    early = early.replace(
        "    const double t = w[0];\n", "    const double t = w[0];\n    g[1] = -w[1];\n"
    )
    early = early.replace("    g[0] = w[0];\n    g[1] = -w[1];\n", "    g[0] = w[0];\n")
    assert (
        "v[0] is read although a result is stored before, which may alias it"
        in differences(early)[0]
    )


def test_an_element_of_the_work_array_holds_what_was_put_there_last() -> None:
    again = parts_text().replace("    w[0] = t;\n", "    w[0] = s;\n    w[0] = t;\n")
    assert differences(again) == []
    writable = parts_text().replace("const double w[2], double g", "double w[2], double g")
    assert differences(writable) == []
    late = writable.replace("    g[0] = w[0];\n", "    w[1] = w[0];\n    g[0] = w[0];\n")
    assert f"g[1]: {NO_ROW} neg of these operands" in differences(late)[0]


def test_the_function_is_named_by_the_robot_and_what_it_computes() -> None:
    text = PLAIN.replace("arm_gravity_force", "arm_bias_force")
    assert "the function is called arm_bias_force, which does not end in _gravity_force" in (
        differences(text)
    )


def test_a_result_is_not_stored_from_an_argument() -> None:
    builder = Builder("gravity_force", [vector("q"), vector("v")])
    form = builder.program([Port("g", (1,), (builder.input(0, 0),))])
    text = PLAIN[: PLAIN.index("    const double s")].replace("g[arm_NV]", "g[1]")
    assert differences(f"{text}    const double x = q[0];\n    g[0] = x;\n}}\n", form) == []
    (sentence,) = differences(f"{text}    g[0] = q[0];\n}}\n", form)
    assert sentence.endswith("g[0] is stored from an argument that a result may alias")


def test_prepared_values_are_read_behind_a_pointer() -> None:
    builder = Builder("gravity_force", [vector("q", 1), vector(PREPARED.name, 3)])
    product = builder.op("mul", builder.input(0, 0), builder.input(1, 2))
    form = builder.program([Port("g", (1,), (product,))])
    signature = "arm_gravity_force(const double q[1], const arm_prepared *prepared, double g[1])"
    text = f"{HEAD}{REFUSAL}void {signature}\n{{\n    g[0] = q[0]*prepared->value[2];\n}}\n"
    assert differences(text, form) == []
    assert (
        "no row of the Program is prepared->value[1]"
        in differences(text.replace("value[2]", "value[1]"), form)[0]
    )
    assert (
        "parameter 1 is const leg_prepared"
        in differences(text.replace("arm_prepared", "leg_prepared"), form)[0]
    )
    assert (
        "parameter 1 is const arm_prepared"
        in differences(text.replace("*prepared,", "*p,").replace("prepared->", "p->"), form)[0]
    )


# -- checked functions ---------------------------------------------------------------------------

CHECKS = {
    "another order": (
        "status = arm_DIVISOR",
        "status = arm_NOT_UNIT",
        "the checks are not those of NOT_FINITE, OUT_OF_RANGE, DIVISOR, RESULT_NOT_FINITE, in t",
    ),
    "another number": (
        "status = arm_DIVISOR",
        "status = 4",
        "the checks are not those of NOT_FINITE, OUT_OF_RANGE, DIVISOR, RESULT_NOT_FINITE, in t",
    ),
    "another beginning": (
        "status = arm_OK",
        "status = arm_DIVISOR",
        "the status is not initialized with arm_OK",
    ),
    "a product by another number": ("0.0*q[1]", "1.0*q[1]", "this is not the sum of zero times ev"),
    "another element": ("0.0*q[1]", "0.0*q[0]", "this is not the sum of zero times every element"),
    "a literal of float": ("0.0*q[1]", "0.0f*q[1]", "this is not the sum of zero times every ele"),
    "another type": ("const double none", "double none", "this is not the sum of zero times every"),
    "an index in another base": (
        "0.0*q[1]",
        "0.0*q[01]",
        "this is not the sum of zero times every",
    ),
    "a sum that is greater": (
        "none >= 0.0",
        "none > 0.0",
        "the condition of arm_NOT_FINITE is not",
    ),
    "another limit of the sum": (
        "none >= 0.0",
        "none >= 1.0",
        "the condition of arm_NOT_FINITE is",
    ),
    "another sum": (
        "none >= 0.0",
        "status >= 0.0",
        "the condition of arm_NOT_FINITE is not the one",
    ),
    "another range": (
        "(fabs(q[0]) <= 32768.0)",
        "(fabs(q[0]) <= 32767.0)",
        "the condition of arm_OUT",
    ),
    "an angle twice": (
        "fabs(q[1])",
        "fabs(q[0])",
        "the condition of arm_OUT_OF_RANGE is not the one",
    ),
    "one angle": (
        " && (fabs(q[1]) <= 32768.0)",
        "",
        "the condition of arm_OUT_OF_RANGE is not the o",
    ),
    "an angle with its sign": (
        "fabs(q[1])",
        "q[1]",
        "the condition of arm_OUT_OF_RANGE is not the",
    ),
    "another function": (
        "fabs(q[1])",
        "sqrt(q[1])",
        "the condition of arm_OUT_OF_RANGE is not the",
    ),
    "a sum of angles": (
        "fabs(q[1])",
        "fabs(q[1] + q[0])",
        "the condition of arm_OUT_OF_RANGE is n",
    ),
    "an angle too many": (
        "(fabs(q[1]) <= 32768.0)",
        "(fabs(q[1]) <= 32768.0) && (fabs(q[1]) <= 32768.0)",
        "the condition of arm_OUT_OF_RANGE is not the one that the Program asks for",
    ),
    "a sum above an element": (
        "none >= 0.0",
        "none >= q[0]",
        "the condition of arm_NOT_FINITE is not the one that the Program asks for",
    ),
    "a bound that is a local": (
        "(u >= 0.0)",
        "(u >= t)",
        "the condition of arm_DIVISOR is not the one that the Program asks for",
    ),
    "a divisor with its sign": (
        "fabs(t) >=",
        "t >=",
        "the condition of arm_DIVISOR is not the one",
    ),
    "a root by magnitude": (
        "(u >= 0.0)",
        "(fabs(u) >= 0.0)",
        "the condition of arm_DIVISOR is not",
    ),
    "the other way": (
        "(u >= 0.0)",
        "(u <= 0.0)",
        "the condition of arm_DIVISOR is not the one that",
    ),
    "a root of another number": ("(u >= 0.0)", "(t >= 0.0)", "the condition of arm_DIVISOR is not"),
    "a smaller bound": ("2.2250738585072014e-308", "1e-308", "the condition of arm_DIVISOR is not"),
    "either": (
        "(u >= 0.0) &&",
        "(u >= 0.0) ||",
        "the condition of arm_DIVISOR is not the one that",
    ),
    "a result twice": (
        "(0.0*y)",
        "(0.0*x)",
        "the condition of arm_RESULT_NOT_FINITE is not the one",
    ),
    "a result less": (
        " + (0.0*y)",
        "",
        "the condition of arm_RESULT_NOT_FINITE is not the one that",
    ),
    "a result by itself": ("(0.0*y)", "y", "the condition of arm_RESULT_NOT_FINITE is not the one"),
    "a result by one": (
        "(0.0*y)",
        "(1.0*y)",
        "the condition of arm_RESULT_NOT_FINITE is not the on",
    ),
    "results above one": (
        "(0.0*t)) >= 0.0",
        "(0.0*t)) >= 1.0",
        "the condition of arm_RESULT_NOT_F",
    ),
    "a local that is not there": (
        "(0.0*y)",
        "(0.0*z)",
        "a check: z is not a local that is declared",
    ),
    "a literal of float in a check": (
        "(u >= 0.0)",
        "(u >= 0.0f)",
        "a check: the literal 0.0f is not",
    ),
}


@pytest.mark.parametrize("change", CHECKS)
def test_a_difference_of_checks_has_its_sentence(change: str) -> None:
    old, new, sentence = CHECKS[change]
    assert CHECKED.count(old) == 1
    assert sentence in " ".join(differences(CHECKED.replace(old, new), checked=True)[:1])


def test_statuses_may_be_numbers_and_results_compared_one_by_one() -> None:
    numbered = CHECKED
    for number, status in enumerate(("OK", "NOT_FINITE", "OUT_OF_RANGE", "DIVISOR")):
        numbered = numbered.replace(f"arm_{status}", str(number))
    assert differences(numbered.replace("arm_RESULT_NOT_FINITE", "6"), checked=True) == []
    apart = CHECKED.replace(
        "((0.0*x) + (0.0*y) + (0.0*t)) >= 0.0", "(((0.0*x) + (0.0*t)) >= 0.0) && ((0.0*y) >= 0.0)"
    )
    assert differences(apart, checked=True) == []
    exchanged = CHECKED.replace(
        "(u >= 0.0) && (fabs(t) >= 2.2250738585072014e-308)",
        "(fabs(t) >= 2.2250738585072014e-308) && (u >= 0.0)",
    )
    assert differences(exchanged, checked=True) == []


def test_a_certified_divisor_keeps_to_its_bound() -> None:
    t = next(i for i, row in enumerate(PROGRAM.rows) if row.name == "t")
    text = CHECKED.replace("fabs(t) >= 2.2250738585072014e-308", "t >= 0.125")
    assert compare(PROGRAM, text, checked={t: Fraction(1, 8)}) == []
    for bounds in ({}, {t: Fraction(1, 4)}):
        (sentence,) = compare(PROGRAM, text, checked=bounds)
        assert sentence.startswith("the condition of arm_DIVISOR is not the one")


def test_a_result_is_stored_behind_all_checks() -> None:
    early = CHECKED.replace("        if (!((u", "        g[0] = x;\n        if (!((u").replace(
        "            g[0] = x;\n            g[1]", "            g[1]"
    )
    assert "a result is stored before the last check" in differences(early, checked=True)


def test_only_a_checked_function_returns_a_status() -> None:
    assert differences(CHECKED)[-1] == (
        "arm_gravity_force returns a status, unlike the requested function"
    )
    assert differences(PLAIN, checked=True)[-1] == (
        "arm_gravity_force returns nothing, unlike the requested function"
    )


def test_a_looped_sine_needs_no_range_of_angles() -> None:
    """Angles beyond the range of the sines in an array have those of <math.h>."""
    text = CHECKED.replace(SINES, f"#define arm_ANGLES 2\n{SINES}")
    text = re.sub(r" else if \(!\(\(fabs\(q.*?\} else", " else", text, flags=re.DOTALL)
    text = text.replace(
        "const arm_pair turn_1 = arm_sincos(q[0]);",
        "const double angle[2] = {q[0], q[1]};\n        const arm_turns turn = arm_sincos(angle);",
    )
    text = text.replace("        const arm_pair turn_2 = arm_sincos(q[1]);\n", "")
    for pair, element in (("turn_1.sine", "turn.sine[0]"), ("turn_1.cosine", "turn.cosine[0]")):
        text = text.replace(pair, element)
    text = text.replace("turn_2.cosine", "turn.cosine[1]")
    assert differences(text, checked=True) == []


CHECKED_PARTS = f"""{HEAD}{FINITE}static void {F}_part_1(const double q[arm_NQ], double w[3])
{{
    const double s = sin(q[0]);
    const double t = s*cos(q[0]);
    w[0] = t;
    w[1] = t*cos(q[1]);
    w[2] = t + 0.5;
}}
static void arm_gravity_force_part_2(const double v[2], double w[3])
{{
    w[2] = (sqrt(w[2]) - v[0])/w[0];
    w[1] = -w[1];
}}
static void arm_gravity_force_part_3(const double w[3], double g[arm_NV])
{{
    g[0] = w[2];
    g[1] = w[1];
}}
int {SIGNATURE}{{
    double w[3];
    int status = arm_OK;
    const double none = (0.0*q[0]) + (0.0*q[1]) + (0.0*v[0]) + (0.0*v[1]);
    if (!(none >= 0.0)) {{
        status = arm_NOT_FINITE;
    }} else {{
        arm_gravity_force_part_1(q, w);
        if (!((w[2] >= 0.0) && (fabs(w[0]) >= 2.2250738585072014e-308))) {{
            status = arm_DIVISOR;
        }} else {{
            arm_gravity_force_part_2(v, w);
            if (!(((0.0*w[2]) + (0.0*w[1]) + (0.0*w[0])) >= 0.0)) {{
                status = arm_RESULT_NOT_FINITE;
            }} else {{
                arm_gravity_force_part_3(w, g);
            }}
        }}
    }}
    return status;
}}
"""


def test_checks_between_parts_compare_what_the_work_array_holds_there() -> None:
    assert differences(CHECKED_PARTS, checked=True) == []
    first, second = "        arm_gravity_force_part_1(q, w);\n", "arm_gravity_force_part_2(v, w);\n"
    both = CHECKED_PARTS.replace(f"            {second}", "").replace(
        first, f"{first}        {second}"
    )
    (sentence,) = differences(both, checked=True)
    assert sentence.startswith("the condition of arm_DIVISOR is not the one that the Program asks")
    late = CHECKED_PARTS.replace(f"            {second}", "").replace(
        "                arm_gravity_force_part_3", f"{second}arm_gravity_force_part_3"
    )
    assert differences(late, checked=True)[0].startswith(
        "the condition of arm_RESULT_NOT_FINITE is"
    )
    stored = CHECKED_PARTS.replace("                arm_gravity_force_part_3(w, g);\n", "").replace(
        second, f"{second}arm_gravity_force_part_3(w, g);\n"
    )
    assert differences(stored, checked=True) == ["a result is stored before the last check"]


def test_only_prepared_parameters_are_behind_a_pointer() -> None:
    text = PLAIN.replace("const double v[2]", "const arm_prepared *v").replace(
        "v[0]", "v->value[0]"
    )
    assert differences(text)[0] == "parameter 1 is const arm_prepared v[], not the Program's v"


def quaternion() -> tuple[Program, str]:
    """Return a Program of a joint with a unit quaternion q_1 … q_4, and its checked text."""
    builder = Builder("gravity_force", [vector("q", 5)])
    product = builder.op("mul", builder.input(0, 1), builder.input(0, 4))
    form = replace(builder.program([Port("g", (1,), (product,))]), quaternions=(1,))
    squares = " + ".join(f"(q[{k}]*q[{k}])" for k in range(1, 5))
    zeros = " + ".join(f"(0.0*q[{k}])" for k in range(5))
    text = f"""{HEAD}{FINITE}int arm_gravity_force(const double q[arm_NQ], double g[1])
{{
    int status = arm_OK;
    const double none = {zeros};
    if (!(none >= 0.0)) {{
        status = arm_NOT_FINITE;
    }} else if (!(fabs({squares} - 1.0) <= 9.5367431640625e-07)) {{
        status = arm_NOT_UNIT;
    }} else {{
        const double x = q[1]*q[4];
        if (!((0.0*x) >= 0.0)) {{
            status = arm_RESULT_NOT_FINITE;
        }} else {{
            g[0] = x;
        }}
    }}
    return status;
}}
"""
    return form, text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(q[2]*q[2])", "(q[2]*q[3])"),
        ("(q[4]*q[4])", "(q[0]*q[0])"),
        (" + (q[4]*q[4])", ""),
        ("(q[1]*q[1]) + (q[2]*q[2])", "(q[2]*q[2]) + (q[1]*q[1])"),
        ("- 1.0)", "- 2.0)"),
        ("- 1.0)", "+ 1.0)"),
        ("9.5367431640625e-07", "9.5367431640626e-07"),
        ("<= 9", ">= 9"),
        ("fabs((q", "sqrt((q"),
        ("(q[1]*q[1]) +", "(q[1]*q[1]) -"),
        ("(q[2]*q[2])", "(q[02]*q[02])"),
        ("(q[2]*q[2])", "q[2]"),
        ("9.5367431640625e-07", "q[0]"),
        ("fabs((q[1]", "((q[1]"),
    ],
)
def test_a_quaternion_has_unit_length_within_a_bound(old: str, new: str) -> None:
    form, text = quaternion()
    assert differences(text, form, checked=True) == []
    assert text.count(old) == 1
    assert differences(text.replace(old, new), form, checked=True) == [
        "the condition of arm_NOT_UNIT is not the one that the Program asks for"
    ]
