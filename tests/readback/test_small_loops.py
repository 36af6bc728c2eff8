"""Loops over the two links of an arm, and steps written by hand: each slip has its sentence."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import symgen
from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Port, Program
from symgen.pipeline.loops import recursion
from symgen.readback import loops
from symgen.readback.c_machine import Memory, Pointer, Terms
from symgen.readback.loops import Reading, StepFunction, StepText
from symgen.readback.preprocessor import without_comments
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import DOUBLE
from tests.readback.c_texts import declarations, empty, machine
from tests.segments import aimed
from tests.shared.c_programs import Builder


@cache
def form() -> LoopProgram:
    """Return the gravity force of an arm of two links, as loops."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recursion(symgen.load("planar_arm"), "gravity_force", "newton_euler")


@cache
def text_and_header(trig: str, checked: bool = False) -> tuple[str, str]:
    target = aimed(form(), trig)
    target = replace(target, text=replace(target.text, checked=checked))
    files = c99.texts({form().function: form()}, target)
    return files[target.c_file(form().function)], files[target.header]


def slipped(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


BASE = "arm_gravity_force_3_base"
SLIPS = [
    ("const double q[arm_NQ], d", "double q[arm_NQ], d", "parameter 0 is double q[arm_NQ], not q"),
    ("double g[arm_NV], d", "float g[arm_NV], d", "parameter 1 is float g[arm_NV], not g"),
    ("double g[arm_NV], d", "double h[arm_NV], d", "parameter 1 is double h[arm_NV], not g"),
    ("double g[arm_NV], d", "double g[arm_NQ], d", "parameter 1 is double g[arm_NQ], not g"),
    (
        "double work[arm_WORK])",
        "const double work[arm_WORK])",
        "the workspace parameter is const double work[arm_WORK], not [arm_WORK]",
    ),
    (
        "double work[arm_WORK])",
        "float work[arm_WORK])",
        "the workspace parameter is float work[arm_WORK], not [arm_WORK]",
    ),
    (
        "double work[arm_WORK])",
        "double work[arm_NV])",
        "the workspace parameter is double work[arm_NV], not [arm_WORK]",
    ),
    (
        "double work[arm_WORK])",
        "double work[1000])",
        "the header states a workspace of fewer than 1000 numbers",
    ),
    (", double work[arm_WORK])", ")", "arm_gravity_force has 2 parameters, not 3"),
    (
        "void arm_gravity_force(",
        "int arm_gravity_force(",
        "arm_gravity_force does not return nothing",
    ),
    ("_table[2][11] =", "_table[3][11] =", "arm_gravity_force_table has 2 rows, not 3"),
    (
        "static const double arm_",
        "static double arm_",
        "arm_gravity_force_table is not const, or has a wrong number of rows",
    ),
    (
        "static const double arm_",
        "static const double x[1] = {3.0};\nstatic const double arm_",
        "x has a number that is not a constant of a link",
    ),
    (
        "static const double arm_",
        "static const double x[1];\nstatic const double arm_",
        "x is not a table, or is defined twice",
    ),
    (
        "static const double arm_",
        "static const double x = 1.0;\nstatic const double arm_",
        "x is not a table, or is defined twice",
    ),
    (
        "static const double arm_",
        "static const double x[1] = {1.0}, x[1] = {1.0};\nstatic const double arm_",
        "x is not a table, or is defined twice",
    ),
    (
        "0.0, 0.25, 0.0, 0.0}",
        "0.0, 0.5, 0.0, 0.0}",
        "g[0] differs from the loop program: arm_gravity_force_3 is",
    ),
    (
        "table[11], const double saved[5], const double carry[3]",
        "saved[5], const double table[11], const double carry[3]",
        "saved of arm_gravity_force_2 is not table[11]",
    ),
    (
        "double new_saved[3])",
        "double new_saved[4])",
        "new_saved of arm_gravity_force_2 is not new_saved[3]",
    ),
    (
        "double new_saved[3])",
        "double *new_saved)",
        "new_saved of arm_gravity_force_2 is not new_saved[3]",
    ),
    (
        "double new_saved[3])",
        "int new_saved[3])",
        "new_saved of arm_gravity_force_2 is not new_saved[3]",
    ),
    (
        "double new_saved[3])",
        "double new_saved[3][1][1])",
        "new_saved of arm_gravity_force_2 is not new_saved[3]",
    ),
    (
        "    new_saved[1] = vdot_1;\n",
        "",
        "arm_gravity_force_2: new_saved[1] is never stored, not row",
    ),
    (
        "new_saved[1] = vdot_1;",
        "new_saved[1] = vdot_2;",
        "arm_gravity_force_2: new_saved[1] is another row, not row",
    ),
    (
        "(table[0]*carry[0]) +",
        "(table[0]*carry[0]) -",
        "arm_gravity_force_2: no row of the Program is this sub of",
    ),
    (
        "const double vdot_1 =",
        "const double x = table[0]*carry[0];\n    const double vdot_1 =",
        "arm_gravity_force_2 does 19 operations where the Program does 18",
    ),
    (
        "new_saved[2] = vdot_2;",
        "new_saved[2] = carry[0];",
        "arm_gravity_force_2: carry[0] is read after a result that may alias",
    ),
    (
        "carry[3], double next_carry[3], double new_saved[3])",
        "carry[3], double next_carry[3])",
        "arm_gravity_force_2 has 4 parameters, not 5",
    ),
    ("&work[(5*i) + 2]", "&work[(5*i) + 1]", "work[9] is read before it is stored"),
    (
        "i <= 1; ++i) {\n        arm_gravity_force_2",
        "i <= 0; ++i) {\n        arm_gravity_force_2",
        "work[7] is read before it is stored",
    ),
    (
        "carry_2[1] = 9.81",
        "carry_2[1] = 9.80",
        "g[0] differs from the loop program: another number is computed",
    ),
    ("double carry_2[3]", "double carry_2[4]", "carry_2 has 4 numbers, but carry has another size"),
    ("double carry_2[3]", "double carry_2[2]", "carry_2[2] is outside of the elements 0 to 1"),
    (
        "carry_2, carry_2, ",
        "carry_2, carry_3, ",
        "carry_3 has 6 numbers, but next_carry has another size",
    ),
    ("carry_2, carry_2, ", "carry_2, ", "arm_gravity_force_2 is given 4 arguments"),
    (
        f"{BASE}(arm_gravity_force_table[0]",
        f"{BASE}(arm_gravity_force_table[1]",
        "g[0] differs from the loop program: arm_gravity_force_3_base is called",
    ),
    ("&g[0])", "&g[1])", "the result g[0] is never stored"),
    ("carry_3, &g[0])", "carry_3, &q[0])", "q[0] may not be stored to"),
    ("carry_3, &g[0])", "carry_3, carry_3)", "carry_3 has 6 numbers, but g has another size"),
    (
        "carry_3, &g[0]);",
        "carry_3, &g[0]);\n    g[0] = g[1];",
        "g[0] holds a number that belongs to another result, or is stored too early",
    ),
    (
        "carry_3, &g[0]);",
        "carry_3, &g[0]);\n    while (i < 5) { i = 1; }",
        "the function runs more statements than its loops can need and does not seem to end",
    ),
]
"""Slips, and the sentence that says what is wrong."""


@pytest.mark.parametrize(("old", "new", "sentence"), SLIPS)
def test_a_slip_in_loops_has_its_sentence(old: str, new: str, sentence: str) -> None:
    text, header = text_and_header("libm")
    (first, *_) = loops.compare(form(), slipped(text, old, new), header)
    assert re.sub(r"line \d+: ", "", first).startswith(sentence)


def test_generated_loops_are_accepted_with_any_statement_of_the_workspace() -> None:
    text, header = text_and_header("libm")
    assert loops.compare(form(), text, header) == loops.compare(form(), text) == []
    (size,) = re.findall(r"arm_WORK (\d+)", header)
    for number in (size, str(int(size) + 9)):
        stated = text.replace("work[arm_WORK]", f"work[{number}]")
        larger = header.replace(f"arm_WORK {size}", f"arm_WORK {number}")
        assert loops.compare(form(), stated, larger) == loops.compare(form(), stated) == []
    (first, *_) = loops.compare(form(), text.replace("work[arm_WORK]", "work[5]"), header)
    assert (
        "work[5] and the following elements do not match new_saved of arm_gravity_force_1" in first
    )
    in_words = text.replace("g[arm_NV]", "g[2]").replace("double q[arm_NQ]", "double q_[2]")
    in_words = in_words.replace("&q[", "&q_[")
    assert loops.compare(form(), in_words, header) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("#define arm_WORK", "#define arm_NS", "the header does not define arm_WORK"),
        ("arm_NQ 2", "arm_NQ 3", "the header defines arm_NQ as '3', not '2'"),
    ],
)
def test_a_slip_in_the_header_of_loops_has_its_sentence(old: str, new: str, sentence: str) -> None:
    text, header = text_and_header("libm")
    assert loops.compare(form(), text, slipped(header, old, new)) == [sentence]


def test_a_header_without_a_workspace_has_one_of_no_numbers() -> None:
    text, header = text_and_header("libm")
    (size,) = re.findall(r"arm_WORK (\d+)", header)
    stated = text.replace("work[arm_WORK]", f"work[{size}]")
    assert loops.compare(form(), stated, slipped(header, "#define arm_WORK", "#define arm_NS")) == [
        f"the header states a workspace of fewer than {size} numbers"
    ]


def test_a_table_of_whole_numbers_may_hold_any_number() -> None:
    text, header = text_and_header("libm")
    table = "static const int more[2] = {3, 7};\nstatic const double arm_"
    assert loops.compare(form(), slipped(text, "static const double arm_", table), header) == []


def test_the_prototype_of_a_preprocessed_header_is_that_of_the_function() -> None:
    text, header = text_and_header("libm")
    (size,) = re.findall(r"arm_WORK (\d+)", header)
    code = without_comments(text)
    for macro, value in (("arm_NQ", "2"), ("arm_NV", "2"), ("arm_WORK", size)):
        code = code.replace(f"[{macro}]", f"[{value}]")
    code = re.sub(r"^#.*\n", "", code, flags=re.MULTILINE)
    prototype = f"void arm_gravity_force(const double q[2], double g[2], double work[{size}]);"
    seen = f'# 1 "arm.h" 1\n{prototype}\n# 2 "arm_gravity_force.c" 2\n{code}'
    assert loops.compare(form(), text, header, seen) == []
    for old, new in (("q[2]", "q[3]"), ("void", "int")):
        assert loops.compare(form(), text, header, slipped(seen, old, new)) == [
            "the header declares arm_gravity_force with other parameters, or another result, "
            "than its definition"
        ]
    assert loops.compare(form(), text, header, seen.replace(prototype, "int x(int y);")) == [
        "the header declares arm_gravity_force 0 times"
    ]


def test_a_text_without_the_function_is_refused() -> None:
    text, _ = text_and_header("libm")
    assert loops.compare(form(), "int x;") == ["the C has no function"]
    renamed = re.sub(r"\barm_gravity_force\b", "arm_bias", text)
    assert "the function is called arm_bias, which does not end in _gravity_force" in (
        loops.compare(form(), renamed)
    )


CHECKED_SLIPS = [
    ("size < 12", "size < 11", "work[11] and the following elements do not match g of"),
    (
        "size < 12",
        "size < 13",
        "the header states a workspace of fewer than 13 numbers",
    ),
    ("size < 12", "size > 12", "work[0] is outside of the elements 0 to -1"),
    ("size < 12", "size < arm_NV", "size is not compared with one number"),
    (
        "status = arm_NO_WORK",
        "status = arm_DIVISOR",
        "arm_gravity_force does not refuse an array of",
    ),
    (", int size)", ", double size[1])", "the last parameter of a checked function is not an int"),
    (", int size)", ", const int size)", "a parameter is not an array of known size"),
    (
        "int arm_gravity_force(",
        "void arm_gravity_force(",
        "arm_gravity_force does not return a stat",
    ),
    (
        "return status;",
        "return arm_DIVISOR;",
        "arm_gravity_force returns 3 although all comparisons hold",
    ),
    ("return status;", "return arm_OK;", "arm_gravity_force does not refuse an array of"),
    (
        "status = arm_NOT_FINITE",
        "status = arm_DIVISOR",
        "if this comparison is false, arm_gravity_force s",
    ),
    (
        "status = arm_RESULT_NOT_FINITE",
        "status = arm_OK",
        "if this comparison is false, arm_gravity_for",
    ),
    (
        "for (i = 0; i <= 1; ++i) {\n            none",
        "for (i = 1; i <= 1; ++i) {\n            none",
        "",
    ),
    ("(status == arm_OK) && (i <= 1); ++i) {\n        g", "(i <= 1); ++i) {\n        g", ""),
    (
        "if (!(none >= 0.0)) {\n            status = arm_R",
        "if (!(none >= 1.0)) {\n            status = arm_R",
        "this is not a comparison that the checked function needs",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), CHECKED_SLIPS)
def test_a_slip_in_checked_loops_has_its_sentence(old: str, new: str, sentence: str) -> None:
    text, header = text_and_header("auto", checked=True)
    assert sentence in loops.compare(form(), slipped(text, old, new), header, checked=True)[0]


def test_generated_checked_loops_are_accepted() -> None:
    text, header = text_and_header("auto", checked=True)
    assert loops.compare(form(), text, header, checked=True) == []
    assert loops.compare(form(), text, checked=True) == []
    assert loops.compare(form(), text, header) != []


# -- steps by themselves ---------------------------------------------------------------------------


def step_program() -> Program:
    """Return c = (a_0 b_0, a_2) and d = -a_0, which do not need a_1 nor b_1."""
    builder = Builder("arm_step", [Port("a", (3,)), Port("b", (2,))])
    a_0, a_2, b_0 = builder.input(0, 0), builder.input(0, 2), builder.input(1, 0)
    builder.input(0, 1)
    product = builder.op("mul", a_0, b_0)
    return builder.program(
        [Port("c", (2,), (product, a_2)), Port("d", (1,), (builder.op("neg", a_0),))]
    )


STEP = """void arm_f_1(const double a[3], const double b[2], double c[2], double d[1]) {
    const double x = a[0]*b[0];
    const double y = a[2];
    const double z = -a[0];
    d[0] = z;
    c[0] = x;
    c[1] = y;
}
"""
LANES = """void arm_f_1(const double a[restrict 3][4], const double b[restrict 2],
    double c[restrict 2][4], double d[restrict 1][4]) {
    int lane;
    double t[3];
    for (lane = 0; lane < 4; ++lane) {
        const double x = a[0][lane]*b[0];
        const double y = a[2][lane];
        t[0] = -a[0][lane];
        c[0][lane] = x;
        c[1][lane] = y;
        d[0][lane] = t[0];
    }
}
"""


def read(text: str) -> StepFunction:
    (function,) = declarations(text)
    program = step_program()
    reading = Reading("arm", "arm_f", {"arm_f_1": function}, 0, {})
    return loops.read_step(StepText("arm_f_1", program, program), reading)


def test_a_step_reads_what_its_results_depend_on() -> None:
    step = read(STEP)
    assert step.reads == [(0, 0), (0, 2), (1, 0)]
    assert step.results == [(0, 2), (1, 3)]
    assert (step.lanes, step.gives_angle, step.stack) == (0, False, 0)
    assert [parameter.restrict for parameter in step.parameters] == [False] * 4
    in_lanes = read(LANES)
    assert in_lanes.lanes == 4
    assert in_lanes.stack == 3 * 8
    assert [parameter.lanes for parameter in in_lanes.parameters] == [4, 0, 4, 4]
    assert all(parameter.restrict for parameter in in_lanes.parameters)
    assert loops.operations_of(step_program()) == 2
    assert loops.elements_read(step_program()) == step.reads


def test_signs_of_constants_are_no_operations() -> None:
    builder = Builder("arm_step", [Port("a", (1,))])
    minus = builder.op("neg", builder.const(2))
    turned = builder.op("neg", minus)
    product = builder.op("mul", builder.op("neg", builder.input(0, 0)), turned)
    program = builder.program([Port("c", (3,), (minus, turned, product))])
    assert loops.operations_of(program) == 2, "the product, and the sign of an argument"


STEP_SLIPS = [
    (STEP, "c[1] = y", "c[1] = x", "arm_f_1: c[1] is another row, not row"),
    (STEP, "    c[1] = y;\n", "", "arm_f_1: c[1] is never stored, not row"),
    (STEP, "= x;", "= z;", "arm_f_1: c[0] is another row, not row"),
    (
        STEP,
        "    c[0]",
        "    const double u = a[0]*b[0];\n    c[0]",
        "arm_f_1: line 6: a[0] is read after",
    ),
    (
        STEP,
        "    d[0]",
        "    const double u = a[0]*b[0];\n    d[0]",
        "arm_f_1 does 3 operations where",
    ),
    (
        STEP,
        "a[0]*b[0]",
        "b[0]*a[0]",
        "arm_f_1: line 2: no row of the Program is this mul of these op",
    ),
    (
        STEP,
        "a[0]*b[0]",
        "a[0]*b[1]",
        "arm_f_1: line 2: no row of the Program is this mul of these op",
    ),
    (LANES, "c[1][lane] = y", "c[1][0] = y", r"arm_f_1: c\[1\]\[0\] is another row, not row"),
    (LANES, "lane < 4", "lane < 3", r"arm_f_1: c\[0\]\[3\] is never stored, not row"),
    (
        LANES,
        "double c[restrict 2][4]",
        "double c[restrict 2][3]",
        "the arrays of arm_f_1 have different",
    ),
    (LANES, "a[2][lane]", "a[1][lane]", r"arm_f_1: c\[1\]\[0\] is another row, not row"),
]


@pytest.mark.parametrize(("text", "old", "new", "message"), STEP_SLIPS)
def test_a_step_does_the_rows_of_its_program(text: str, old: str, new: str, message: str) -> None:
    pattern = message if "\\" in message else re.escape(message)
    with pytest.raises(ProgramError, match=pattern):
        read(slipped(text, old, new))


class _Call:
    """The node of a call whose arguments are expressions, not names of arrays."""

    def __init__(self, count: int) -> None:
        self.args = type("Arguments", (), {"exprs": [None] * count})()
        self.coord = None


def applied(step: StepFunction, *arguments: Pointer) -> tuple[Terms, list[Any]]:
    reading = machine(STEP)
    calls = step(reading, arguments, _Call(len(arguments)))
    return reading.terms, calls


def memory(name: str, count: int, **settings: Any) -> Memory:
    terms = TERMS
    return Memory(name, [terms.of("cell", name, k) for k in range(count)], **settings)


TERMS = Terms(DOUBLE)


def at(of: Memory, offset: int, *shape: int) -> Pointer:
    return Pointer(of, offset, shape, 0, len(of.cells))


def test_a_step_stores_its_results_and_nothing_else() -> None:
    step = read(STEP)
    a, b, result = memory("a", 5), memory("b", 2), memory("r", 5)
    before = [*result.cells]
    terms, (call,) = applied(step, at(a, 1), at(b, 0), at(result, 0), at(result, 4))
    assert call.operands == (a.cells[1], a.cells[3], b.cells[0])
    assert result.cells == [
        terms.of("result", call, 0, 0),
        terms.of("result", call, 0, 1),
        *before[2:4],
        terms.of("result", call, 1, 0),
    ]


def test_each_lane_of_a_step_has_elements_of_its_own() -> None:
    step = read(LANES)
    a, b, c, d = memory("a", 13), memory("b", 2), memory("c", 8), memory("d", 4)
    terms, calls = applied(step, at(a, 1, 4), at(b, 0), at(c, 0, 4), at(d, 0, 4))
    for lane, call in enumerate(calls):
        assert call.operands == (a.cells[1 + lane], a.cells[1 + 8 + lane], b.cells[0])
        assert c.cells[lane] is terms.of("result", call, 0, 0)
        assert c.cells[4 + lane] is terms.of("result", call, 0, 1)
        assert d.cells[lane] is terms.of("result", call, 1, 0)


def test_an_array_of_a_step_has_room_and_the_right_elements() -> None:
    step, in_lanes = read(STEP), read(LANES)
    a, b, c, d = memory("a", 3), memory("b", 2), memory("c", 2), memory("d", 1)
    good = [at(a, 0), at(b, 0), at(c, 0), at(d, 0)]
    applied(step, *good)
    for k, name in enumerate("abcd"):
        for bad in (good[k]._replace(at=1), good[k]._replace(low=1), good[k]._replace(shape=(1,))):
            with pytest.raises(ProgramError, match=f"do not match {name} of arm_f_1"):
                applied(step, *good[:k], bad, *good[k + 1 :])
    integers = at(memory("n", 2, integers=True), 0)
    with pytest.raises(
        ProgramError, match=r"n\[0\] and the following elements do not match b of arm"
    ):
        applied(step, good[0], integers, *good[2:])
    with pytest.raises(ProgramError, match="arm_f_1 is given 3 arguments"):
        applied(step, *good[:3])
    a, c, d = memory("a", 12), memory("c", 8), memory("d", 4)
    good = [at(a, 0, 4), at(b, 0), at(c, 0, 4), at(d, 0, 4)]
    applied(in_lanes, *good)
    for k, bad in ((0, at(a, 1, 4)), (0, at(a, 0)), (0, at(a, 0, 3)), (3, at(d, 1, 4))):
        with pytest.raises(ProgramError, match=f"do not match {'abcd'[k]} of arm_f_1"):
            applied(in_lanes, *good[:k], bad, *good[k + 1 :])


@pytest.mark.parametrize(
    ("c", "d", "refused"),
    [
        (10, 12, ""),
        (10, 11, "arm_f_1 stores c over d"),
        (10, 10, "arm_f_1 stores c over d"),
        (10, 9, ""),
        (0, 10, ""),
        (2, 5, ""),
        (1, 0, ""),
    ],
)
def test_results_lie_over_no_other_result_but_may_lie_over_arguments(
    c: int, d: int, refused: str
) -> None:
    """Put a and b at 0 and 3 of one array; without `restrict` all is read before a store."""
    step, whole = read(STEP), memory("x", 14)
    arguments = [at(whole, 0), at(whole, 3), at(whole, c), at(whole, d)]
    if refused:
        with pytest.raises(ProgramError, match=refused):
            applied(step, *arguments)
    else:
        applied(step, *arguments)


@pytest.mark.parametrize(
    ("shift", "refused"),
    [(-8, False), (-7, True), (-4, True), (0, True), (1, True), (4, True), (8, True), (12, False)],
)
def test_restricted_results_lie_over_no_element_that_is_read(shift: int, refused: bool) -> None:
    """The result c, of 8 numbers, is `shift` numbers behind the argument a, of 12."""
    step, whole, b, d = read(LANES), memory("x", 40), memory("b", 2), memory("d", 4)
    arguments = [at(whole, 10, 4), at(b, 0), at(whole, 10 + shift, 4), at(d, 0, 4)]
    if refused:
        with pytest.raises(ProgramError, match="arm_f_1 stores c over a"):
            applied(step, *arguments)
    else:
        applied(step, *arguments)


def test_a_restricted_result_may_lie_over_elements_that_are_not_read() -> None:
    """The result d has the place of a_1, which no result depends on, lane by lane."""
    step, whole, b, c = read(LANES), memory("x", 16), memory("b", 2), memory("c", 8)
    applied(step, at(whole, 0, 4), at(b, 0), at(c, 0, 4), at(whole, 4, 4))
    for offset in (0, 8, 5, 3):
        with pytest.raises(ProgramError, match="arm_f_1 stores d over a"):
            applied(step, at(whole, 0, 4), at(b, 0), at(c, 0, 4), at(whole, offset, 4))


def test_a_whole_local_array_has_the_size_of_the_parameter() -> None:
    text = "static void g(const double x[1], double *y) { double c[%d]; h(x, x, c, y); } "
    text += "void f(const double x[3], double y[1]) { g(x, y); }"
    for size, refused in ((2, False), (3, True)):
        steps = {"h": read(STEP)}
        reading = machine((text % size).replace("x[1]", "*x"), steps=steps)
        arguments = [at(memory("x", 3, role="argument"), 0), empty("y", 1)]
        if refused:
            with pytest.raises(ProgramError, match="c has 3 numbers, but c has another size"):
                reading.call("f", arguments)
        else:
            reading.call("f", arguments)
