"""The C of loop programs is interpreted: a slip anywhere in it is refused, and what only looks otherwise is not."""

from __future__ import annotations

from functools import cache

import pytest

from symgen.emission.backends import c99
from symgen.ir.loops import LoopProgram
from symgen.readback import loops
from tests.segments import aimed
from tests.test_point_levels import levels
from tests.test_pointwise import parted

SEGMENTS = {
    "an index off by one": ("q[places[lane] + row]", "q[places[lane] + row - 1]"),
    "a first row too late": ("for (row = 0; row < 4", "for (row = 1; row < 4"),
    "a last row too early": ("for (row = 3; row >= 0", "for (row = 2; row >= 0"),
    "the other way": ("for (row = 3; row >= 0; --row)", "for (row = 0; row < 4; ++row)"),
    "another lane": ("own_q[0][lane] = q[places[lane]", "own_q[0][lane] = q[places[lane ^ 1]"),
    "a lane of another segment": ("const int lane = segment % 8", "const int lane = segment / 8"),
    "a segment too few": ("for (segment = 15; segment", "for (segment = 14; segment"),
    "another first segment": ("if (segment == 15)", "if (segment == 14)"),
    "a row of the workspace": ("&work[11*row]", "&work[10*row]"),
    "a place of the workspace": ("&work[(11*row) + 3]", "&work[(11*row) + 4]"),
    "the workspace of another group": ("&numbers[352*group]", "&numbers[351*group]"),
    "carries of two groups in one place": ("numbers[704 + 16*group]", "numbers[704 + 8*group]"),
    "carries not exchanged": ("        behind = before;\n", ""),
    "a carry in place": (
        "before, behind, &work[(11*row) + 3]",
        "before, before, &work[(11*row) + 3]",
    ),
    "a final carry of another buffer": ("8*(0 + k) + lane", "8*(1 + k) + lane"),
    "a combine with another step": ("solve_2_other(ended, carried", "solve_2_other(carried, ended"),
    "a step for another": ("solve_2_first(ended, handed", "solve_2_other(ended, carried, handed"),
    "a carry across that is dropped": ("                carried[k] = handed[k];\n", ""),
    "a sweep that is dropped": (
        "        arm_mass_matrix_solve_swept_6(q, b, x, numbers, group);\n",
        "",
    ),
    "sweeps exchanged": ("_swept_9(q, b, x, numbers, group)", "_swept_10(q, b, x, numbers, group)"),
    "a group too few": ("group < 2", "group < 1"),
    "a constant of another place": ("_table[first + row]", "_table[row]"),
    "a result of another link": ("x[places[lane] + row] =", "x[places[lane]] ="),
    "a result before an argument is read": (
        "            own_b[0][lane] = b[places[lane] + row];\n        }\n        arm_mass_matrix_solve_3(",
        "            x[places[lane] + row] = 0.0;\n"
        "            own_b[0][lane] = b[places[lane] + row];\n        }\n        arm_mass_matrix_solve_3(",
    ),
    "a buffer for all groups": (
        "static const int arm_mass_matrix_solve_places",
        "static int arm_mass_matrix_solve_places",
    ),
    "an operation of a step": ("own_x[0][lane]", "2.0*own_x[0][lane]"),
    "a lane of a step": ("[0][lane] =", "[0][0] ="),
    "a loop over lanes": (
        "for (lane = 0; lane < 8; ++lane) {\n            own_q",
        "for (lane = 1; lane < 8; ++lane) {\n            own_q",
    ),
    "another schedule": ("schedule(static, 1)", "schedule(dynamic, 1)"),
    "a counter of all iterations": (
        "    for (group = 0; group < 2; ++group) {\n        arm_mass_matrix_solve_swept_1(",
        "    for (group = 0; group < 2; ++group) {\n        k = 0;\n        arm_mass_matrix_solve_swept_1(",
    ),
}
SCANS = {
    "an element off by one": ("q[place]", "q[place - 1]"),
    "a bound that is swapped": ("(place > 0) &&", "(place >= 0) &&"),
    "a level too few": ("level <= arm_mass_matrix_solve_", "level < arm_mass_matrix_solve_"),
    "a level too early": ("for (level = 1; level", "for (level = 2; level"),
    "a pair of another level": ("row >> level", "row >> 1"),
    "another neighbour": ("behind = front + ", "behind = front + 0*"),
    "neighbours exchanged": ("_up_1(front, behind,", "_up_1(behind, front,"),
    "a combine in another buffer": ("_up_1(front, behind, both", "_up_1(front, behind, front"),
    "an upsweep that is dropped": ("solve_raised_1(numbers, group, level, row);", ";"),
    "a downsweep that is dropped": ("solve_lowered_1(numbers, group, level, row);", ";"),
    "the scan over segments that is dropped": (
        "    arm_mass_matrix_solve_over_all_1(numbers);\n",
        "",
    ),
    "a segment's root": ("(segment % 8)", "(segment % 4)"),
    "a level over segments": ("for (level = 1; level < 5", "for (level = 1; level < 4"),
    "the last element": ("(group == 1) &&", "(group == 0) &&"),
    "the last element's lane": ("[4] = 0.0", "[5] = 0.0"),
    "elements handed on": ("both[k][lane] = front[k][lane]", "both[k][lane] = front[k][0]"),
    "a result's own element": ("? work[", "? 0.0*work["),
    "a result's neighbour": ("work[(", "work[1 + ("),
    "the neighbour of the last row": ("(segment + 1) % 8", "segment % 8"),
    "a sum that is dropped": ("x[place] = ", "x[place] = 0.0*"),
    "an exit": ("        ++level;\n", ""),
}


@cache
def segments() -> tuple[LoopProgram, str]:
    form = parted("masses", 16)
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


def _is_refused(form: LoopProgram, text: str, old: str, new: str) -> None:
    assert old in text
    differences = loops.compare(form, text.replace(old, new, 1))
    assert differences
    assert len(differences[0]) > 20


def test_generated_text_is_accepted() -> None:
    for form, text in (segments(), scan()):
        assert loops.compare(form, text) == []


def test_a_refusal_names_the_line_and_the_step() -> None:
    form, text = segments()
    slipped = text.replace("q[places[lane] + row]", "q[places[lane]]", 1)
    (sentence,) = loops.compare(form, slipped)
    line = slipped.count("\n", 0, slipped.index("    arm_mass_matrix_solve_1(own_q")) + 1
    assert f"line {line}: arm_mass_matrix_solve_1 is given other numbers" in sentence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("own_q[0][lane] = q[places[lane] + row]", "own_q[0][lane] = q[row + places[lane]]"),
        ("for (row = 0; row < 4; ++row)", "for (row = 0; row <= 3; ++row)"),
        ("&work[11*row]", "work + (row*11)"),
        ("if (segment == 15)", "if (segment > 14)"),
    ],
)
def test_how_a_loop_is_written_is_not_asked(old: str, new: str) -> None:
    form, text = segments()
    assert old in text
    assert loops.compare(form, text.replace(old, new)) == []
