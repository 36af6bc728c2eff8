"""The C of loop programs and of functions for many states is interpreted: a slip is refused,
another way to write is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

import symgen
from symgen.certificate import checked_bounds
from symgen.emission import printer
from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Bound, Program
from symgen.pipeline import build
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.planar_scan import build_scan as levelled
from symgen.pipeline.loops.planar_segments import build_parts as segmented
from symgen.readback import batches, loops
from symgen.readback.batches import BatchText
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests.segments import aimed
from tests.shared.planar_scan import levels
from tests.shared.planar_segments import chain_in_parts

SEGMENTS = {
    "an index off by one": ("q[first_links[3] + row]", "q[first_links[3] + row - 1]"),
    "a first row too late": ("for (row = 0; row < 4", "for (row = 1; row < 4"),
    "a last row too early": ("for (row = 3; row >= 0", "for (row = 2; row >= 0"),
    "the other way": ("for (row = 3; row >= 0; --row)", "for (row = 0; row < 4; ++row)"),
    "another lane": ("local_q[0][6] = q[first_links[6]", "local_q[0][6] = q[first_links[7]"),
    "a lane of another segment": ("const int lane = segment % 8", "const int lane = segment / 8"),
    "a segment too few": ("for (segment = 15; segment", "for (segment = 14; segment"),
    "another first segment": ("if (segment == 15)", "if (segment == 14)"),
    "a row of the workspace": ("&group_work[11*row]", "&group_work[10*row]"),
    "a place of the workspace": ("&group_work[(11*row) + 3]", "&group_work[(11*row) + 4]"),
    "the workspace of another group": ("&work[352*group]", "&work[351*group]"),
    "carries of two groups in one place": ("work[704 + 16*group]", "work[704 + 8*group]"),
    "carries not exchanged": ("        next_carry = carry;\n", ""),
    "a carry in place": (
        "carry, next_carry, &group_work[(11*row) + 3]",
        "carry, carry, &group_work[(11*row) + 3]",
    ),
    "a final carry of another buffer": ("8*(0 + k) + lane", "8*(1 + k) + lane"),
    "a combine with another step": (
        "solve_2_other(final_carry, carry",
        "solve_2_other(carry, final_carry",
    ),
    "a step for another": (
        "solve_2_first(final_carry, next_carry",
        "solve_2_other(final_carry, carry, next_carry",
    ),
    "a carry across that is dropped": ("                carry[k] = next_carry[k];\n", ""),
    "a sweep that is dropped": (
        "        arm_mass_matrix_solve_sweep_6(q, b, x, work, group);\n",
        "",
    ),
    "sweeps exchanged": ("_sweep_9(q, b, x, work, group)", "_sweep_10(q, b, x, work, group)"),
    "a group too few": ("group < 2", "group < 1"),
    "a constant of another place": ("_table[first_row + row]", "_table[row]"),
    "a result of another link": ("x[first_links[lane] + row] =", "x[first_links[lane]] ="),
    "a result before an argument is read": (
        "        local_b[0][7] = b[first_links[7] + row];\n        arm_mass_matrix_solve_3(",
        "        x[first_links[7] + row] = 0.0;\n"
        "        local_b[0][7] = b[first_links[7] + row];\n        arm_mass_matrix_solve_3(",
    ),
    "a buffer for all groups": (
        "static const int arm_mass_matrix_solve_first_links",
        "static int arm_mass_matrix_solve_first_links",
    ),
    "an operation of a step": ("local_x[0][lane]", "2.0*local_x[0][lane]"),
    "a lane of a step": ("[0][lane] =", "[0][0] ="),
    "a loop over lanes": (
        "for (lane = 0; lane < 8; ++lane) {\n            x[first_links",
        "for (lane = 1; lane < 8; ++lane) {\n            x[first_links",
    ),
    "an argument that is not loaded": ("        local_q[0][5] = q[first_links[5] + row];\n", ""),
    "another schedule": ("schedule(static, 1)", "schedule(dynamic, 1)"),
    "a counter of all iterations": (
        "    for (group = 0; group < 2; ++group) {\n        arm_mass_matrix_solve_sweep_1(",
        "    for (group = 0; group < 2; ++group) {\n        k = 0;\n"
        "        arm_mass_matrix_solve_sweep_1(",
    ),
}
SCANS = {
    "an element off by one": ("q[joint]", "q[joint - 1]"),
    "a bound that is swapped": ("(joint > 0) &&", "(joint >= 0) &&"),
    "a level too few": ("level <= arm_mass_matrix_solve_", "level < arm_mass_matrix_solve_"),
    "a level too early": ("for (level = 1; level", "for (level = 2; level"),
    "a pair of another level": ("row >> level", "row >> 1"),
    "another neighbour": ("right = left + ", "right = left + 0*"),
    "neighbours exchanged": ("_up_1(left, right,", "_up_1(right, left,"),
    "a combine in another buffer": ("_up_1(left, right, combined", "_up_1(left, right, left"),
    "an upsweep that is dropped": ("solve_upsweep_1(work, group, level, row);", ";"),
    "a downsweep that is dropped": ("solve_downsweep_1(work, group, level, row);", ";"),
    "the scan over segments that is dropped": (
        "    arm_mass_matrix_solve_over_segments_1(work);\n",
        "",
    ),
    "a segment's root": ("(segment % 8)", "(segment % 4)"),
    "a level over segments": ("for (level = 1; level < 5", "for (level = 1; level < 4"),
    "the last element": ("(group == 1) &&", "(group == 0) &&"),
    "the last element's lane": ("[4] = 0.0", "[5] = 0.0"),
    "elements handed on": ("combined[k][lane] = left[k][lane]", "combined[k][lane] = left[k][0]"),
    "a result's own element": ("? group_work[", "? 0.0*group_work["),
    "a result's neighbour": ("group_work[(", "group_work[1 + ("),
    "the neighbour of the last row": ("(segment + 1) % 8", "segment % 8"),
    "a sum that is dropped": ("x[joint] = ", "x[joint] = 0.0*"),
    "an exit": ("        ++level;\n", ""),
}


CLASSES = {
    "a link of another class": ("_classes[4] = {\n    0, 0, 1", "_classes[4] = {\n    0, 2, 1"),
    "a class that is not visited": ("_classes[i] == 2) {", "_classes[i] == 3) {"),
    "classes exchanged": ("_classes[i] == 1) {", "_classes[i] == 2) {"),
    "a step of another class": ("determinant_3_1(arm", "determinant_3_3(arm"),
    "constants of another class": (
        "_3_3(arm_mass_matrix_log_determinant_table_3",
        "_3_3(arm_mass_matrix_log_determinant_table_1",
    ),
    "constants of another link": ("_table_row[4] = {\n    0, 1", "_table_row[4] = {\n    0, 0"),
    "a carry that is not passed on": ("carry_3, carry_3);", "carry_3, carry_2);"),
    "a place of the workspace": ("carry_2, &work[43*i]);", "carry_2, &work[(43*i) + 2]);"),
}


@cache
def classes() -> tuple[LoopProgram, str]:
    """Logarithm of det M of an arm by constraint forces, with link classes by their neighbours."""
    form = recursion(symgen.load("scara"), "mass_matrix_log_determinant", "constraint_force")
    return form, c99.source(form, aimed(form, "libm"))


@cache
def segments() -> tuple[LoopProgram, str]:
    form = chain_in_parts("masses", 16)
    return form, c99.source(form, aimed(form, "libm"))


@cache
def scan() -> tuple[LoopProgram, str]:
    form = levels("masses", 16)
    return form, c99.source(form, aimed(form, "libm"))


@pytest.mark.parametrize("slip", SEGMENTS)
def test_a_slip_in_segments_is_refused(slip: str) -> None:
    form, text = segments()
    _is_refused(form, text, *SEGMENTS[slip])


@pytest.mark.parametrize("slip", SCANS)
def test_a_slip_in_a_parallel_scan_is_refused(slip: str) -> None:
    form, text = scan()
    _is_refused(form, text, *SCANS[slip])


@pytest.mark.slow
@pytest.mark.parametrize("slip", CLASSES)
def test_a_slip_in_classes_of_links_is_refused(slip: str) -> None:
    form, text = classes()
    _is_refused(form, text, *CLASSES[slip])


def _is_refused(form: LoopProgram, text: str, old: str, new: str) -> None:
    assert old in text
    differences = loops.compare(form, text.replace(old, new, 1))
    assert differences
    assert len(differences[0]) > 20


@pytest.mark.slow
def test_generated_text_is_accepted() -> None:
    for form, text in (segments(), scan(), classes()):
        assert loops.compare(form, text) == []


def test_a_refusal_names_the_line_and_the_step() -> None:
    form, text = segments()
    slipped = text.replace("q[first_links[0] + row]", "q[first_links[0]]", 1)
    (sentence,) = loops.compare(form, slipped)
    line = slipped.count("\n", 0, slipped.index("    arm_mass_matrix_solve_1(local_q")) + 1
    assert f"line {line}: arm_mass_matrix_solve_1 is called with other numbers" in sentence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("local_q[0][0] = q[first_links[0] + row]", "local_q[0][0] = q[row + first_links[0]]"),
        ("for (row = 0; row < 4; ++row)", "for (row = 0; row <= 3; ++row)"),
        ("&group_work[11*row]", "group_work + (row*11)"),
        ("if (segment == 15)", "if (segment > 14)"),
    ],
)
def test_how_a_loop_is_written_is_not_asked(old: str, new: str) -> None:
    form, text = segments()
    assert old in text
    assert loops.compare(form, text.replace(old, new)) == []


@cache
def epilogue() -> tuple[LoopProgram, str]:
    """Momentum of an arm, whose results an epilogue computes from final carries."""
    form = recursion(symgen.load("scara"), "centroidal_momentum", "newton_euler")
    return form, c99.source(form, aimed(form, "libm"))


NAMES_OF_0_1_0 = {
    r"\bnew_saved\b": "keeps",
    r"\bsaved\b": "kept",
    r"\bnext_carry\b": "handed",
    r"\bcarry\b": "carried",
    r"\binitial_carry\b": "start",
    r"\bfinal_carry\b": "ended",
    r"\bupsweep\b": "run",
    r"\bdownsweep\b": "known",
    r"\bleft\b": "front",
    r"\bright\b": "behind",
    r"_epilogue\b": "_last",
    r"(_(?:up|down)_\d+)_segments\b": r"\1_alone",
}
"""Names in the C of symgen 0.1.0, by patterns of the names that are printed now."""


@pytest.mark.parametrize("loop_program", [segments, scan, epilogue])
def test_names_of_0_1_0_are_read(loop_program: Callable[[], tuple[LoopProgram, str]]) -> None:
    form, text = loop_program()
    old_text = text
    for pattern, old_name in NAMES_OF_0_1_0.items():
        old_text = re.sub(pattern, old_name, old_text)
    assert " handed[" in old_text or " known[" in old_text
    assert loops.compare(form, old_text) == []


LANES = {
    "a tail that is too long": ("(lane < lanes) ? lane", "(lane <= lanes) ? lane"),
    "a tail behind the last state": ("(lanes - 1))*state", "lanes)*state"),
    "a state too many": ("for (lane = 0; lane < lanes", "for (lane = 0; lane <= lanes"),
    "an element too few": ("for (k = 0; k < size", "for (k = 1; k < size"),
    "a stride that is left out": ("own[k*element] = from[k][lane]", "own[k] = from[k][lane]"),
    "strides exchanged": ("&to[lane*state]", "&to[lane*element]"),
    "the case of one element after the other": ("if (element == 1)", "if (element != 1)"),
    "a lane of a result": ("= from[k][lane]", "= from[lane][k]"),
    "a state that is refused": ("if (status[lane] == 0)", "if (status[lane] >= 0)"),
    "a state that is not counted": ("if (found[lane] != 0)", "if (found[lane] > 1)"),
    "a status of another lane": ("status[lane] = found[lane]", "status[lane] = found[0]"),
}
DRIVER = {
    "a block too few": ("first < count; first +=", "first + 7 < count; first +="),
    "a block of other length": ("first += 8", "first += 7"),
    "a tail that is missed": ("(int)(count - first) : 8", "8 : 8"),
    "a state of an argument": ("&q[first*q_state]", "&q[first*v_state]"),
    "an element of an argument": ("q_state, q_element, 4", "q_state, v_element, 4"),
    "an argument that is not read": (
        "        scara_load(&v[first*v_state], v_state, v_element, 4, lanes, v_block);\n",
        "",
    ),
    "arguments exchanged": ("q_block, v_block, tau_block,", "q_block, tau_block, v_block,"),
    "a result that is not stored": (
        "        scara_store(a_block, found, 4, lanes, &a[first*a_state], a_state, a_element);\n",
        "",
    ),
    "statuses of another block": ("&status[first])", "&status[0])"),
    "a count that is left out": ("refused += scara_count", "refused = scara_count"),
    "an argument of the batch": ("q, 4, 1, v, 4, 1", "v, 4, 1, q, 4, 1"),
    "a stride of the batch": ("tau, 4, 1, a, 4, 1", "tau, 4, 1, a, 1, 4"),
}
BLOCK = {
    "another lane": ("v[0][lane]*v[0][lane]", "v[0][0]*v[0][lane]"),
    "a lane too few": (
        "lane < 8; ++lane) {\n        /* joint",
        "lane < 7; ++lane) {\n        /* joint",
    ),
    "an element": ("tau[1][lane]", "tau[2][lane]"),
    "an operation": ("D_1 = M_1_1 -", "D_1 = M_1_1 +"),
    "a result": ("a[1][lane] = out_a_1", "a[1][lane] = out_a_0"),
    "a status": ("scara_DIVISOR :", "scara_NOT_FINITE :"),
    "a bound": (">= 0.30124", ">= 0.20124"),
    "a result that is not compared": ("(0.0*a[3][lane]) +", "(0.0*a[2][lane]) +"),
    "an argument that is not compared": ("(0.0*q[3][lane])", "(0.0*q[2][lane])"),
    "a status of one lane": ("status[lane] =", "status[0] ="),
    "a condition turned": ("!(none >= 0.0)", "(none >= 0.0)"),
    "a place of work": ("work[0][lane] >=", "a[0][lane] >="),
}


@cache
def batch() -> tuple[Program, BatchText, dict[int, Bound]]:
    """Forward dynamics of an arm for many states, checked."""
    mechanism, text = symgen.load("scara"), TextOptions("auto", checked=True, batch=True)
    options = ProgramOptions()
    programs = build.programs(mechanism, ["forward_dynamics"], options)
    divisor_bounds = checked_bounds(mechanism, programs, options, text)
    target = Target("scara", mechanism.sizes, text)
    files = printer().batches(programs, target, divisor_bounds)
    source = files[target.batch_file("forward_dynamics")]
    read = BatchText(source, files[target.lanes_file], files[target.batch_header])
    return programs["forward_dynamics"], read, divisor_bounds["forward_dynamics"]


def _compared(text: BatchText) -> list[str]:
    program, _, divisor_bounds = batch()
    return batches.compare(program, text, "scara", True, divisor_bounds)


@pytest.mark.parametrize("slip", LANES)
def test_a_slip_in_reading_and_writing_lanes_is_refused(slip: str) -> None:
    (old, new), (_, text, _) = LANES[slip], batch()
    assert old in text.lanes
    (sentence,) = _compared(text._replace(lanes=text.lanes.replace(old, new, 1)))
    assert "scara_forward_dynamics_" in sentence


@pytest.mark.parametrize("slip", [*DRIVER, *BLOCK])
def test_a_slip_in_a_function_for_many_states_is_refused(slip: str) -> None:
    (old, new), (_, text, _) = (DRIVER | BLOCK)[slip], batch()
    assert old in text.source
    assert _compared(text) == []
    (sentence,) = _compared(text._replace(source=text.source.replace(old, new, 1)))
    assert len(sentence) > 20


CHECKED_SEGMENTS = {
    "an array that is too small": ("if (size < 835)", "if (size < 834)"),
    "a part that begins refused": ("statuses[segment] = arm_OK", "statuses[segment] = arm_DIVISOR"),
    "statuses of another group": ("&statuses[8*group]", "&statuses[0*group + 1]"),
    "a status of another lane": ("status[lane] = ((status[lane]", "status[0] = ((status[0]"),
    "a status that is taken back": (
        ">= 0.0))) ? arm_DIVISOR : status[lane]",
        ">= 0.0))) ? arm_DIVISOR : arm_OK",
    ),
    "parts that are left out": ("? statuses[segment] :", "? arm_OK :"),
    "another part's status": ("? statuses[segment] :", "? statuses[segment/2] :"),
    "an idle part that is compared": ("(row >= idle[lane]) && !((", "(row >= 0) && !(("),
    "a row that is not compared": ("(row >= idle[lane]) && !(", "(row > idle[lane]) && !("),
    "another bound": ("fabs(guard[0][lane]) >= 2.2", "fabs(guard[0][lane]) >= 3.2"),
    "an infinite divisor": (" && ((0.0*guard[0][lane]) >= 0.0)", ""),
    "an angle": ("fabs(guard[0][lane]) <= 32768.0", "fabs(guard[0][lane]) <= 65536.0"),
    "another status": ("? arm_OUT_OF_RANGE", "? arm_DIVISOR"),
    "a status across the parts": ("status = arm_DIVISOR;", "status = arm_OK;"),
    "stages that follow a refusal": ("(status == arm_OK) && (segment >= 0)", "segment >= 0"),
    "a result that is stored at once": ("10(q, b, &work[800]", "10(q, b, x"),
    "a result that is not compared": ("0.0*work[800 + i]", "0.0*work[800]"),
    "a result of another place": ("x[i] = work[800 + i]", "x[i] = work[799 + i]"),
}
EVERYWHERE = {"parts that are left out", "another part's status"}
"""Slips after one stage alone do no harm: the statuses are looked at after the next stage as well.
"""
CHECKED_SCANS = {
    "a pair": ("fabs(guard[0][lane]) >= 2.2", "fabs(guard[0][lane]) >= 3.2"),
    "a pair over the parts": ("fabs(guard[0]) >= 2.2", "fabs(guard[0]) >= 3.2"),
    "a status of the scan over the parts": (
        "    return status;\n}\n\n",
        "    return arm_OK;\n}\n\n",
    ),
    "which is dropped": ("status = arm_mass_matrix_solve_over_segments_2(work);", ";"),
    "numbers that are not there": (
        "(status == arm_OK) && (segment < 8)",
        "segment < 8",
    ),
    "an angle": ("? arm_OUT_OF_RANGE : status[lane]", "? arm_OUT_OF_RANGE : arm_OK"),
}
STATES_OF_SEGMENTS = {
    "another lane's status": ("? arm_DIVISOR : status[lane]", "? arm_DIVISOR : status[0]"),
    "an idle row that is compared": (
        "(row >= arm_mass_matrix_solve_lanes_idle[group]) && !((",
        "(row >= 0) && !((",
    ),
    "a segment too few": ("for (segment = 3; segment", "for (segment = 2; segment"),
    "carries of another segment": (
        "solve_lanes_first_links[group] + row",
        "solve_lanes_first_links[0] + row",
    ),
    "a lane of all": ("final_carry[k][lane] = work", "final_carry[k][0] = work"),
    "the workspace of another segment": ("&work[55*group]", "&work[54*group]"),
    "a constant of another row": ("_table[first_row + row]", "_table[row]"),
    "an argument of another state": (
        "none_[lane] + (0.0*q[i][lane])",
        "none_[lane] + (0.0*q[i][0])",
    ),
}
STATES_OF_SCANS = {
    "an element of another part": ("(5*group) + row", "(4*group) + row"),
    "a root of another part": ("*segment) + ", "*0*segment) + "),
    "another level": ("row >> level", "row >> 1"),
    "the last element": ("(group == 3) &&", "(group == 2) &&"),
    "a neighbour of the next part": ("*(group + 1)) + ", "*group) + "),
    "a lane": ("combined[k][lane] = left[k][lane]", "combined[k][lane] = left[k][0]"),
}


@cache
def _parts(scanned: bool, links: int, count: int) -> tuple[LoopProgram, Target, dict[str, str]]:
    """A chain in parts with its checked text: of one state in eight parts, of many states in any
    number of them.
    """
    build_form = levelled if scanned else segmented
    form = build_form(symgen.load(f"planar_point_mass:{links}"), count)
    target = aimed(form, "inline")
    target = replace(target, text=replace(target.text, checked=True, batch=True))
    programs = {form.function: form}
    files = c99.texts(programs, target) if count == 8 else c99.batches(programs, target)
    return form, target, files


@pytest.mark.parametrize(
    ("scanned", "slip"),
    [*((False, slip) for slip in CHECKED_SEGMENTS), *((True, slip) for slip in CHECKED_SCANS)],
)
def test_a_slip_in_a_checked_chain_in_parts_is_refused(scanned: bool, slip: str) -> None:
    form, target, files = _parts(scanned, 35, 8)
    text, header = files[target.c_file(form.function)], files[target.header]
    old, new = (CHECKED_SCANS if scanned else CHECKED_SEGMENTS)[slip]
    assert old in text
    slipped = text.replace(old, new, -1 if slip in EVERYWHERE else 1)
    assert loops.compare(form, slipped, header, checked=True)


@pytest.mark.parametrize(
    ("scanned", "slip"),
    [*((False, slip) for slip in STATES_OF_SEGMENTS), *((True, slip) for slip in STATES_OF_SCANS)],
)
def test_a_slip_in_states_of_a_chain_in_parts_is_refused(scanned: bool, slip: str) -> None:
    form, target, files = _parts(scanned, 18, 4)
    names = target.batch_file(form.function), target.lanes_file, target.batch_header
    text = BatchText(*(files[name] for name in names))
    old, new = (STATES_OF_SCANS if scanned else STATES_OF_SEGMENTS)[slip]
    assert old in text.source
    slipped = text._replace(source=text.source.replace(old, new, 1))
    assert batches.compare(form, slipped, "arm", True, {})


@pytest.mark.slow
@pytest.mark.parametrize("scanned", [False, True])
def test_checked_chains_in_parts_are_accepted(scanned: bool) -> None:
    form, target, files = _parts(scanned, 35, 8)
    text, header = files[target.c_file(form.function)], files[target.header]
    assert loops.compare(form, text, header, checked=True) == []
    form, target, files = _parts(scanned, 18, 4)
    names = target.batch_file(form.function), target.lanes_file, target.batch_header
    assert batches.compare(form, BatchText(*(files[n] for n in names)), "arm", True, {}) == []
