"""Functions of an arm of two links for many states: each slip has its sentence."""

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
from symgen.readback import batches
from symgen.readback.batches import RESULT_LAYOUTS, BatchText, Block, _cases, _layouts
from symgen.readback.c_machine import Memory, Pointer, array
from symgen.support.errors import ProgramError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.readback.c_texts import machine
from tests.segments import aimed
from tests.shared.c_programs import Builder, arm, vector


@cache
def form() -> LoopProgram:
    """Return the gravity force of an arm of two links, as loops."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recursion(symgen.load("planar_arm"), "gravity_force", "newton_euler")


@cache
def batch(checked: bool = True) -> BatchText:
    target = aimed(form(), "libm")
    target = replace(target, text=replace(target.text, checked=checked, batch=True))
    files = c99.batches({form().function: form()}, target)
    names = target.batch_file(form().function), target.lanes_file, target.batch_header
    return BatchText(*(files[name] for name in names))


def slipped(part: str, old: str, new: str, checked: bool = True) -> list[str]:
    """Return the differences of a text with a slip, without the numbers of lines."""
    text = getattr(batch(checked), part)
    assert old in text
    changed = batch(checked)._replace(**{part: text.replace(old, new, 1)})
    differences = batches.compare(form(), changed, "arm", checked, {})
    return [re.sub(r"line \d+: ", "", sentence) for sentence in differences]


F = "arm_gravity_force"
NONE = "none_[lane] = 0.0;\n    }\n    for (i"
STRIDED = f"{F}_strided"
SOURCE = [
    (f"{F}_block(", f"{F}_blocks(", f"there is no function {F}_block"),
    (f"int {F}_batch(", f"static int {F}_batch(", f"{F}_batch must not be static"),
    (f"ptrdiff_t {F}_str", f"static ptrdiff_t {F}_str", f"{F}_strided must not be static"),
    (f"static void {F}_block(", f"void {F}_block(", f"{F}_block must be static"),
    ("(double q[][8], double g[][8]", "(double g[][8], double q[][8]", f"{F}_block has the param"),
    ("work[][8], int status[8])\n", "work[][8])\n", f"{F}_block has the parameters q, g, work"),
    (
        f"lane < 8; ++lane) {{\n        {NONE}",
        f"lane < 7; ++lane) {{\n        {NONE}",
        "none_[7] is",
    ),
    (
        "arm_NOT_FINITE :\n            arm_OK",
        "3 :\n            arm_OK",
        "if this comparison is false,",
    ),
    ("_FINITE : status[lane];", "_FINITE : 3;", f"{F}_block stores a status other than OK"),
    (
        "? arm_RESULT_NOT_FINITE",
        "? arm_DIVISOR",
        f"if this comparison is false, {F}_block stores a result",
    ),
    ("(0.0*q[i][lane])", "(0.0*q[0][lane])", "a required comparison is missing before this call"),
    ("(0.0*g[i][lane])", "(0.0*g[0][lane])", f"{F}_block lacks a required comparison"),
    (
        "next_carry,\n                    &g[i]",
        "next_carry,\n                    &g[0]",
        "g[8] is read",
    ),
    ("size < 112", "size < 111", f"{STRIDED}: work does not have the elements of a block"),
    ("size < 112", "size < 113", "the header states a workspace of fewer than 113 numbers"),
    ("size < 112", "size <= 112", f"{STRIDED} of 8 states, state by state: g[0] differs from the"),
    (
        "status[first] = arm_NO_WORK",
        "status[first] = 0",
        f"{STRIDED} of 8 states: the statuses are",
    ),
    ("return (count > 0) ? count : 0", "return count", f"{STRIDED} of -1 states returns -1"),
    ("return (count > 0) ? count : 0", "return 8*(int)1", f"{STRIDED} of -1 states returns 8"),
    (
        "if (size < 112) {",
        "if (size < 112) { work[0] = 0.0;",
        f"{STRIDED} of -1 states: a workspace that is too small is stored to",
    ),
    ("&work[80]", "&work[72]", f"{STRIDED}: two arrays of a block overlap"),
    ("&work[96]", "&work[88]", f"{STRIDED}: two arrays of a block overlap"),
    ("&work[96]", "&work[97]", f"{STRIDED}: work does not have the elements of a block"),
    (
        "(double (*)[8])work, found",
        "(double (*)[8])&work[1], found",
        f"{STRIDED}: two arrays of a b",
    ),
    ("refused += arm_count", "arm_count", f"{STRIDED} of 8 states returns 0"),
    (
        "(status == 0) ? 0 : &status",
        "&status",
        f"{STRIDED}: a ID that generated code never holds there",
    ),
    (
        "int found[8];",
        "int found[7];",
        f"{STRIDED}: the array of statuses is too small for a block",
    ),
    (
        "int found[8];",
        "double found[8];",
        f"{STRIDED}: the array of statuses is too small for a block",
    ),
    ("first += 8", "first += 4", f"{STRIDED} of 8 states returns 5"),
    ("found, 2,", "found, 1,", f"{STRIDED} of 8 states, state by state: g[1] differs from the exp"),
    (
        "q_state, q_element, 2,",
        "q_state, q_element, 3,",
        f"{STRIDED}: q[16] is outside of the elem",
    ),
    ("count, q, 2, 1, g", "count, q, 1, 2, g", f"{F}_batch: lane 0 of the block does not hold all"),
    ("q_block, g_block, (double", "q_block, (double", f"{STRIDED}: a block is given 3 arguments"),
    (
        f"{F}_block(q_block, g",
        f"{F}_block(q, g",
        f"{STRIDED}: q does not have the elements of a block",
    ),
    ("for (first = 0; first < count; first += 8)", "while (first < 1)", ""),
]
LANES = [
    ("static int arm_count(", "int arm_count(", "arm_count must be static"),
    ("static int arm_count(", "static int arm_load(", "a function is defined twice"),
    (
        "status[lane] == 0)",
        "status[lane] != 1)",
        f"{STRIDED} of 8 states, state by state: g[2] diff",
    ),
    ("own[k] = from[k][lane]", "own[0] = from[k][lane]", f"{STRIDED} of 8 states, state by state:"),
    (
        "own[k*element] = from",
        "own[k] = from",
        f"{STRIDED} of 1 states, element by element: g[1] d",
    ),
    ("&to[lane*state]", "&to[lane*2]", f"{STRIDED} of 3 states, element by element: g["),
    (
        "status[lane] = found[lane]",
        "status[lane] = found[0]",
        f"{STRIDED} of 8 states: the statuses",
    ),
]
HEADERS = [
    ("WORK 112", "WORK 111", "the header states a workspace of fewer than 112 numbers"),
    (
        "int *status);",
        "int *state);",
        f"arm_batch.h declares {F}_batch differently from its defini",
    ),
    ("#include <stddef.h>", "", "arm_batch.h has other lines than generated headers around its"),
    ("arm_API int", "int", "arm_batch.h: 'int arm_gravity_force_batch(int count, const double *q,"),
    (f"{F}_strided", f"{F}_striding", f"arm_batch.h does not declare {F}_strided"),
    ("int *status);", "int *status) { }", "arm_batch.h: a declaration does not declare a function"),
    (
        "/* g(q) */",
        "arm_API int x(int y);",
        "arm_batch.h declares x, which is not a function of th",
    ),
    ("/* g(q) */", "// g(q)", "arm_batch.h: "),
    (
        "STACK 3008",
        "STACK 0",
        "arm_batch.h has other lines than generated headers around its decla",
    ),
]


@pytest.mark.parametrize(
    ("part", "old", "new", "sentence"),
    [
        *(("source", *row) for row in SOURCE),
        *(("lanes", *row) for row in LANES),
        *(("header", *row) for row in HEADERS),
    ],
)
def test_a_slip_in_a_text_for_many_states_has_its_sentence(
    part: str, old: str, new: str, sentence: str
) -> None:
    (first, *_) = slipped(part, old, new)
    assert first.startswith(sentence)


UNCHECKED = [
    (
        "carry[1][lane] = 9.81",
        "carry[1][lane] = 9.82",
        "lane 0: g[0] differs from the loop program",
    ),
    (
        "&work[5*i], carry, next_carry,\n                    &work",
        "&work[0], carry, next_carry,\n                    &work",
        "lane 0: g",
    ),
    (
        "new_saved[1][lane] = vdot_1;",
        "new_saved[1][0] = vdot_1;",
        f"{F}_lanes_2: new_saved[1][0] is another",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), UNCHECKED)
def test_a_slip_in_an_unchecked_text_has_its_sentence(old: str, new: str, sentence: str) -> None:
    assert slipped("source", old, new, checked=False)[0].startswith(sentence)


@pytest.mark.parametrize("checked", [True, False])
def test_the_header_states_enough_stack_and_workspace(checked: bool) -> None:
    """Count the arrays of doubles that are alive at a time.

    The last stage has two carries of 6 rows of 8 lanes, and a checked block one row of zeros. The
    largest step has its angles, sines and cosines: three rows.
    """
    text = batch(checked)
    stack = 8 * 8 * (2 * 6 + 3 + checked)
    for stated, expected in (
        (stack, []),
        (
            stack - 1,
            [f"arm_batch.h states {stack - 1} bytes of stack, but the functions use {stack}"],
        ),
    ):
        header = re.sub(r"STACK \d+", f"STACK {stated}", text.header)
        assert batches.compare(form(), text._replace(header=header), "arm", checked, {}) == expected
    (work,) = re.findall(r"WORK (\d+)", text.header)
    header = text.header.replace(f"WORK {work}", f"WORK {int(work) - 1}")
    (sentence,) = batches.compare(form(), text._replace(header=header), "arm", checked, {})
    assert re.search(r"work does not have|fewer than|is outside", sentence)


# -- the rows of a Program -------------------------------------------------------------------------


@cache
def rows_batch(checked: bool = True) -> tuple[Program, BatchText]:
    """Return g_0 = (sqrt(s cos q_0 + 1/2) - v_0)/s and g_1 = -(s cos q_1) with s = sin q_0."""
    builder = Builder("gravity_force", [vector("q"), vector("v")])
    q_0, q_1, v_0 = builder.input(0, 0), builder.input(0, 1), builder.input(1, 0)
    s = builder.op("sin", q_0)
    product = builder.op("mul", s, builder.op("cos", q_0))
    root = builder.op("sqrt", builder.op("add", product, builder.const("1/2")))
    first = builder.op("div", builder.op("sub", root, v_0), s)
    second = builder.op("neg", builder.op("mul", s, builder.op("cos", q_1)))
    program = builder.program([Port("g", (2,), (first, second))])
    target = Target("arm", Sizes(2, 2, 2), TextOptions("libm", checked=checked, batch=True))
    files = c99.batches({"gravity_force": program}, target, {"gravity_force": {}})
    names = target.batch_file("gravity_force"), target.lanes_file, target.batch_header
    return program, BatchText(*(files[name] for name in names))


ROWS = [
    (
        " v[arm_RESTRICT 2][8]",
        " v[2][8]",
        f"{F}_block: v[1] is read after a result that may alias it is stored",
    ),
    (
        " v[arm_RESTRICT 2][8]",
        " v[arm_RESTRICT 2]",
        f"{F}_block: a ArrayRef that generated code nev",
    ),
    (" v[arm_RESTRICT 2][8]", " v[arm_RESTRICT 3][8]", f"v of {F}_block is not v[2]"),
    (", int status[8])", ")", f"{F}_block has 3 parameters, not 4"),
    (
        "lane < 8; ++lane) {\n        const double",
        "lane < 7; ++lane) {\n        const double",
        f"{F}_block:",
    ),
    (
        "- v[0][lane]",
        "+ v[0][lane]",
        f"{F}_block: this is not a comparison that the checked function",
    ),
    (
        "(0.0*v[1][lane])",
        "(0.0*v[0][lane])",
        f"{F}_block: this is not a comparison that the checked",
    ),
    (
        "arm_DIVISOR :",
        "arm_NOT_FINITE :",
        f"if this comparison is false, {F}_block stores a result, or",
    ),
    (
        "status[lane] =",
        "status[0] =",
        f"{F}_block stores a status other than OK although all comparisons hold",
    ),
    (
        "            arm_OK;",
        "            3;",
        f"{F}_block stores a status other than OK although all comparisons hold",
    ),
    (
        "? arm_RESULT_NOT_FINITE :",
        "? arm_OK :",
        f"if this comparison is false, {F}_block stores a result",
    ),
    ("g[1][lane] = out_g_1;", "g[1][lane] = out_g_0;", f"{F}_block:"),
    ("q_block, v_block, g", "v_block, q_block, g", f"{STRIDED}: lane 0 of the block does not hold"),
    ("&v[first*v_state], v_state", "&v[first*q_state], v_state", f"{STRIDED}"),
    (
        "double g_block[2][8];",
        "double g_block[1][8];",
        f"{STRIDED}: g_block does not have the elements of a block",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), ROWS)
def test_a_slip_in_a_block_of_rows_has_its_sentence(old: str, new: str, sentence: str) -> None:
    program, text = rows_batch()
    assert old in text.source
    changed = text._replace(source=text.source.replace(old, new, 1))
    (first, *_) = batches.compare(program, changed, "arm", True, {})
    assert re.sub(r"\bline \d+: ", "", first).startswith(sentence)


@pytest.mark.parametrize("checked", [True, False])
def test_a_function_with_several_results_is_accepted(checked: bool) -> None:
    program = arm()["mass_matrix_and_bias"]
    target = Target("arm", Sizes(2, 2, 2), TextOptions("libm", checked=checked, batch=True))
    files = c99.batches({program.function: program}, target, {program.function: {}})
    names = target.batch_file(program.function), target.lanes_file, target.batch_header
    text = BatchText(*(files[name] for name in names))
    assert batches.compare(program, text, "arm", checked, {}) == []
    exchanged = text.source.replace("&M[first*M_state]", "&c[first*c_state]")
    assert exchanged != text.source
    assert batches.compare(program, text._replace(source=exchanged), "arm", checked, {}) != []


UNCHECKED_ROWS = [
    ("- v[0][lane]", "+ v[0][lane]", "no row of the Program is this add of these operands"),
    (
        "g[1][lane] = out_g_1;",
        "g[1][lane] = out_g_0;",
        f"{F}_block: g[1][0] is another row, not row",
    ),
    (
        "        g[0][lane]",
        "        const double more = out_g_0*out_g_0;\n        g[0][lane]",
        "no row of the Pro",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), UNCHECKED_ROWS)
def test_a_slip_in_an_unchecked_block_of_rows_has_its_sentence(
    old: str, new: str, sentence: str
) -> None:
    program, text = rows_batch(checked=False)
    assert batches.compare(program, text, "arm", False, {}) == []
    assert old in text.source
    changed = text._replace(source=text.source.replace(old, new, 1))
    assert sentence in batches.compare(program, changed, "arm", False, {})[0]


@pytest.mark.parametrize(
    ("declared", "read"), [(" v[2][8]", "v[0][lane]"), (" v[arm_RESTRICT 2]", "v[0]")]
)
def test_all_arrays_of_a_block_have_lanes_and_do_not_overlap(declared: str, read: str) -> None:
    """Read v before a result is stored, so that nothing else is wrong."""
    program, text = rows_batch(checked=False)
    source = text.source.replace(" v[arm_RESTRICT 2][8]", declared, 1)
    source = source.replace(
        "    double angle[16];\n", "    double angle[16];\n    double copy[8];\n"
    )
    source = source.replace("= q[0][lane];\n", f"= q[0][lane];\n        copy[lane] = {read};\n", 1)
    source = source.replace("- v[0][lane]", "- copy[lane]")
    (sentence,) = batches.compare(program, text._replace(source=source), "arm", False, {})
    assert sentence == f"{F}_block has an array without lanes, or without restrict"


@pytest.mark.parametrize("checked", [True, False])
def test_the_stack_of_a_block_is_added_to_that_of_its_caller(checked: bool) -> None:
    """Count rows of 8 doubles: q, v and g in the caller; angles, sines and cosines in the block.

    A checked block has two rows more, for the numbers that it compares.
    """
    program, text = rows_batch(checked)
    stack = 8 * 8 * (3 * 2 + 3 * 2 + 2 * checked)
    for stated, expected in (
        (stack, []),
        (
            stack - 1,
            [f"arm_batch.h states {stack - 1} bytes of stack, but the functions use {stack}"],
        ),
    ):
        header = re.sub(r"STACK \d+", f"STACK {stated}", text.header)
        assert (
            batches.compare(program, text._replace(header=header), "arm", checked, {}) == expected
        )


# -- the calls that are tried ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_elements_of_states_have_room_and_lie_apart(size: int, count: int) -> None:
    layouts = _layouts(size, count)
    assert set(RESULT_LAYOUTS) < set(layouts)
    for name, layout in layouts.items():
        elements = [
            layout.base + state * layout.state + k * layout.element
            for state in range(count)
            for k in range(size)
        ]
        assert all(0 <= element < layout.room for element in elements)
        distinct = {"one number": count, "shared": size if count else 0}.get(name, count * size)
        assert len(set(elements)) == distinct
    assert layouts["state by state"] == (size, 1, 0, size * max(count, 1))
    dense = layouts["dense"]
    assert (dense.element, dense.room) == (max(count, 1), size * max(count, 1))
    assert layouts["backward"].state == -size
    assert layouts["elements backward"].element == -1
    assert layouts["shared"].state == layouts["one number"].element == 0


def block(inputs: int = 2, outputs: int = 1, lanes: int = 4, **settings: Any) -> Block:
    ports = [Port(name, (2,)) for name in "qvgh"]
    values: dict[str, Any] = {"used": 0, "checked": False, "stack": 0} | settings
    return Block(tuple(ports[:inputs]), tuple(ports[2 : 2 + outputs]), lanes, **values)


def test_all_numbers_of_states_and_all_layouts_are_tried() -> None:
    cases = [*_cases(block())]
    assert {case.states for case in cases} == {-1, *range(7), 9}
    by_element = [c.states for c in cases if set(c.layouts) == {"element by element"}]
    assert by_element == [1, 2, 3, 4], "any number of lanes is filled"
    for port in range(3):
        strided = [case.layouts[port] for case in cases if not case.batch]
        assert set(RESULT_LAYOUTS) <= set(strided)
        assert {"shared", "one number"} <= set(strided) or port != 1
    for k, first in enumerate(RESULT_LAYOUTS):
        second = RESULT_LAYOUTS[(k + 1) % len(RESULT_LAYOUTS)]
        assert any(case.layouts[:2] == (first, second) for case in cases)
    assert {case.layouts[0] for case in cases if "shared" in case.layouts} == {
        "state by state",
        "element by element",
    }
    assert all(case.layouts[2] in RESULT_LAYOUTS for case in cases)
    without_statuses = [case for case in cases if not case.statuses]
    assert {case.batch for case in without_statuses} == {True, False}
    assert len([case for case in cases if case.in_place]) == 1
    assert {case.states for case in cases if case.batch} == {0, 6}


def test_a_block_reads_one_state_in_each_lane() -> None:
    operation, reading = block(lanes=2), machine("void f(int x) { }")
    terms = reading.terms
    q, v = ([terms.of("x", name, k, lane) for k in range(2) for lane in range(2)] for name in "qv")
    states = [terms.of("block", q[k], q[2 + k], v[k], v[2 + k]) for k in range(2)]
    operation.statuses = dict.fromkeys(states, 0)
    memories = [Memory("q", q, True), Memory("v", v, True), Memory("g", [None] * 4)]
    arguments = [array(memory, 2) for memory in memories]
    operation(reading, arguments, None)
    assert memories[2].cells == [terms.of("result", s, 0, k) for k in range(2) for s in states]
    memories[0].cells[1] = q[0]
    with pytest.raises(
        ProgramError, match="lane 1 of the block does not hold all arguments of one"
    ):
        operation(reading, arguments, None)


def test_a_checked_block_gives_statuses_and_uses_its_workspace() -> None:
    operation = block(1, 1, lanes=2, checked=True, used=3, has_work=True)
    reading = machine("void f(int x) { }")
    terms = reading.terms
    q = [terms.of("x", k, lane) for k in range(2) for lane in range(2)]
    states = [terms.of("block", q[k], q[2 + k]) for k in range(2)]
    operation.statuses = {states[0]: 0, states[1]: 3}
    work = Memory("work", [q[0]] * 6)
    status = Memory("status", [None] * 5, integers=True)
    result = Memory("g", [None] * 4)
    arguments = [array(Memory("q", q, True), 2), array(result, 2), array(work, 2)._replace(at=2)]
    operation(reading, [*arguments, array(status)._replace(at=1)], None)
    assert status.cells == [None, 0, 3, None, None]
    assert work.cells == [q[0], q[0], None, None, None, q[0]]
    assert None not in result.cells
    for at, message in ((4, "the array of statuses is too small for a block"), (3, "")):
        call = [*arguments, array(status)._replace(at=at)]
        if message:
            with pytest.raises(ProgramError, match=message):
                operation(reading, call, None)
        else:
            operation(reading, call, None)


@pytest.mark.parametrize(
    ("port", "change", "message"),
    [
        (0, {"at": 1}, "x does not have the elements of a block"),
        (0, {"at": -1}, "x does not have the elements of a block"),
        (0, {"low": 1}, "x does not have the elements of a block"),
        (0, {"shape": ()}, "x does not have the elements of a block"),
        (0, {"shape": (3,)}, "x does not have the elements of a block"),
        (1, {"at": 4}, "two arrays of a block overlap"),
        (1, {"at": 3}, "two arrays of a block overlap"),
        (1, {"at": 7}, "two arrays of a block overlap"),
        (1, {"at": 8}, ""),
        (1, {"at": 0}, ""),
    ],
)
def test_the_arrays_of_a_block_have_room_and_lie_apart(
    port: int, change: dict[str, Any], message: str
) -> None:
    """Give a state at 4 of an array of 12 numbers, and a result elsewhere or in the same array."""
    operation, reading = block(1, 1, lanes=2), machine("void f(int x) { }")
    terms = reading.terms
    cells = [terms.of("x", k) for k in range(12)]
    operation.statuses = {
        terms.of("block", *(cells[4 + k + lane] for k in (0, 2))): 0 for lane in (0, 1)
    }
    whole = Memory("x", cells)
    arguments = [Pointer(whole, 4, (2,), 0, 12), Pointer(whole, 8, (2,), 0, 12)]
    if port == 0 and "at" in change:
        arguments[0] = arguments[0]._replace(low=4 if change["at"] < 0 else 0, high=8)
        change = {"at": 4 + change["at"]}
    if "low" in change:
        change = {"low": 5}
    arguments[port] = arguments[port]._replace(**change)
    if not message:
        operation(reading, arguments, None)
        return
    with pytest.raises(ProgramError, match=message):
        operation(reading, arguments, None)


def test_a_block_is_given_all_its_arrays() -> None:
    operation, reading = block(1, 1), machine("void f(int x) { }")
    with pytest.raises(ProgramError, match="a block is given 1 arguments"):
        operation(reading, [array(Memory("q", [None] * 8), 4)], None)
