"""A LoopProgram in C: the bits of its evaluation over floats, and no compiler warnings.

Read-back reports each error planted in the text.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

import symgen
from symgen.description.tip import tip
from symgen.emission import loop_work
from symgen.emission.backends import c99
from symgen.ir.loops import FinalCarry, LoopProgram, evaluate
from symgen.ir.program import Port
from symgen.pipeline.loops import build
from symgen.readback.loops import compare
from symgen.verification.compiled import preprocess
from symgen.verification.text import Source, check_text
from symgen.vocabulary.options import TRIG, TextOptions
from tests.shared.analysers import SANITIZERS, UNWANTED, built, misra, tool
from tests.shared.c_programs import DOUBLES
from tests.shared.folders import run
from tests.shared.loop_libraries import REAL, called, shared, states
from tests.shared.recursions import TOYS, mixed, sizes
from tests.shared.robots_for_tests import random_mechanism


def target(recursion: LoopProgram, trig: str = "libm") -> c99.Target:
    return c99.Target("arm", sizes(recursion), TextOptions(trig))


def write_c(folder: Path, recursion: LoopProgram, trig: str = "libm") -> Path:
    """Write the C function and its headers; return the function's file."""
    names = target(recursion, trig)
    for name, text in (
        c99.headers({recursion.function: recursion}, names)
        | {"function.c": c99.source(recursion, names)}
    ).items():
        (folder / name).write_text(text)
    return folder / "function.c"


@pytest.mark.parametrize(
    ("toy", "flags"), [*((toy, "-O2") for toy in TOYS), ("tree of three classes", "-O0")]
)
def test_bits_are_those_of_the_recursion(tmp_path: Path, toy: str, flags: str) -> None:
    recursion = TOYS[toy]()
    library = shared(write_c(tmp_path, recursion), flags)
    for state in states(recursion, 5):
        assert called(library, recursion, state) == evaluate(recursion, state, DOUBLES)


@pytest.mark.parametrize("trig", TRIG)
@pytest.mark.parametrize("real", REAL)
def test_results_of_each_kind_of_sine_are_near_the_exact_ones(
    tmp_path: Path, real: str, trig: str
) -> None:
    recursion = TOYS["tree of three classes"](real)
    library = shared(write_c(tmp_path, recursion, trig), "-O1")
    near = {"double": 1e-13, "float": 1e-4}[real]
    for state in states(recursion, 3):
        for name, exact in evaluate(recursion, state, DOUBLES).items():
            assert called(library, recursion, state)[name] == pytest.approx(
                exact, rel=near, abs=near
            )


@pytest.mark.parametrize("trig", TRIG)
@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("toy", TOYS)
def test_read_back_accepts_the_text(toy: str, real: str, trig: str) -> None:
    recursion = TOYS[toy](real)
    names = target(recursion, trig)
    assert (
        compare(
            recursion,
            c99.source(recursion, names),
            c99.header({recursion.function: recursion}, names),
        )
        == []
    )


PLANTED = {
    "a constant of a table": ("{0.3333333333333333", "{0.3333333333333334", "sums"),
    "a row of a table": ("    {0.6666666666666666},\n", "", "sums"),
    "rows of a table exchanged": (
        "    {0.6666666666666666},\n    {1.0},\n",
        "    {1.0},\n    {0.6666666666666666},\n",
        "sums",
    ),
    "a start": ("carry_1[0] = 0.3333333333333333", "carry_1[0] = 0.3333333333333334", "chain"),
    "no start": ("    carry_2[2] = 1.0;\n", "", "chain"),
    "a loop that begins late": ("for (i = 0;", "for (i = 1;", "chain"),
    "a loop that ends early": ("i <= 5", "i < 5", "chain"),
    "a loop that ends late": ("i >= 0", "i >= 1", "chain"),
    "a loop reversed": ("for (i = 5; i >= 0; --i)", "for (i = 0; i <= 5; ++i)", "chain"),
    "a loop without end": ("i <= 5; ++i", "i <= 5; --i", "chain"),
    "another link's argument": ("&v[i]", "&v[0]", "chain"),
    "another offset in the workspace": ("&work[(4*i) + 2]", "&work[(4*i) + 1]", "chain"),
    "work beyond its end": ("&work[(4*i) + 2]", "&work[(5*i) + 2]", "chain"),
    "carries exchanged": ("carry_2, carry_2", "carry_1, carry_2", "chain"),
    "a sign in a step": ("= -f", "= f", "chain"),
    "operands in a step": ("(saved[1]*f) - carry[1]", "carry[1] - (saved[1]*f)", "chain"),
    "another step": ("        arm_toy_3(&work", "        arm_toy_1(&work", "chain"),
    "a step twice": (
        "        arm_toy_1(arm_toy_table[i]",
        "        arm_toy_1(arm_toy_table[0], q, carry_1, carry_1, work);\n"
        "        arm_toy_1(arm_toy_table[i]",
        "chain",
    ),
    "the end of another sweep": ("det[0] = carry_2[2]", "det[0] = carry_1[2]", "chain"),
    "the end too early": ("if (i == 2)", "if (i == 1)", "chain, its middle"),
    "a parent": ("-1, 0, 0, 1, 1, 2, -1, 6, 6, 6", "-1, 0, 0, 1, 1, 1, -1, 6, 6, 6", "tree"),
    "a latest child": ("6, 2, 4, 5, -1", "6, 1, 4, 5, -1", "tree"),
    "a join": ("parent_carry[k]*link_carry[k]", "parent_carry[k] + link_carry[k]", "tree"),
    "the order of a join": (
        "parent_carry[k] + link_carry[k]",
        "link_carry[k] + parent_carry[k]",
        "tree",
    ),
    "a start of a table": (
        "    0.0, 0.1111111111111111, 1.0",
        "    0.0, 0.1111111111111111, 0.0",
        "tree",
    ),
    "a class": (
        "0, 2, 1, 0, 2, 2, 1, 0, 1, 2",
        "0, 2, 1, 0, 2, 2, 1, 0, 2, 2",
        "tree of three classes",
    ),
    "an element's number": ("0, 1, 3, 4, 5, 7", "0, 1, 2, 4, 5, 7", "tree of three classes"),
    "a row's number": ("0, 0, 0, 1, 1, 2, 1", "0, 0, 0, 1, 1, 1, 1", "tree of three classes"),
    "a column's place": ("J[i + 6] =", "J[i + 5] =", "chain, from its middle"),
    "a column's number": ("J[i + 6] = column[1]", "J[i + 6] = column[0]", "chain, from its middle"),
    "no zeros": ("        J[i] = 0.0;\n", "", "chain, from its middle"),
    "zeros too late": (
        "    for (i = 0; i <= 11; ++i) {\n        J[i] = 0.0;\n    }\n"
        "    for (i = 2; i >= 0; --i) {",
        "    for (i = 2; i >= 0; --i) {\n        J[i] = 0.0;",
        "chain, from its middle",
    ),
    "a loop beyond its tip": ("for (i = 2; i >= 0", "for (i = 3; i >= 0", "chain, from its middle"),
    "a link off the path to the base": ("0, 1, 4", "0, 1, 3", "tree, on a way"),
    "another type": ("double carry_1[3]", "float carry_1[3]", "chain"),
    "a static array": ("    double carry_1[3]", "    static double carry_1[3]", "chain"),
    "a table that is not constant": (
        "static const double arm_toy_table",
        "static double arm_toy_table",
        "chain",
    ),
    "another function": ("        arm_toy_3(&work", "        abort(&work", "chain"),
    "a counter of another type": ("    int i;", "    long i;", "chain"),
    "a static counter": ("    int i;", "    static int i;", "chain"),
    "a constant counter": ("    int i;", "    const int i;", "chain"),
    "a loop from a half": ("for (i = 0;", "for (i = 0.5;", "chain"),
    "a loop over another thing": ("for (i = 0; i <= 5; ++i)", "for (q = 0; q <= 5; ++q)", "chain"),
    "an array of variable size": ("double carry_1[3]", "double carry_1[i]", "chain"),
    "a place of another type": ("double *const carries", "float *const carries", "tree"),
    "a name twice": ("    int i;", "    int i;\n    int q;", "chain"),
    "a step without its last argument": ("&v[i], carry_3", "carry_3", "chain"),
    "a table of other numbers": (
        "static const short arm_toy_parents",
        "static const char arm_toy_parents",
        "tree",
    ),
    "a table that is too long": ("arm_toy_parents[10]", "arm_toy_parents[11]", "tree"),
    "a table twice": (
        "static const short arm_toy_last_child",
        "static const short arm_toy_parents",
        "tree",
    ),
    "a macro": ("#include <math.h>", "#include <math.h>\n#define cos sin", "chain"),
    "another statement": ("    det[0] =", "    if (q[0] > 0.0) {}\n    det[0] =", "chain"),
    "a store to an argument": ("    det[0] =", "    q[0] = 0.0;\n    det[0] =", "chain"),
    "a result overwritten": (
        "    det[0] = carry_2[2];",
        "    det[0] = carry_2[2];\n    det[0] = carry_2[1];",
        "chain",
    ),
}


@pytest.mark.parametrize("slip", PLANTED)
def test_read_back_reports_a_planted_error(slip: str) -> None:
    old, new, toy = PLANTED[slip]
    recursion = TOYS[toy]()
    text = c99.source(recursion, target(recursion))
    assert old in text
    (sentence, *_) = compare(recursion, text.replace(old, new, 1))
    assert len(sentence) > 20


def test_too_small_a_workspace_is_reported() -> None:
    recursion = TOYS["tree"]()
    names = target(recursion)
    text, header = c99.source(recursion, names), c99.header({recursion.function: recursion}, names)
    size = f"arm_WORK {c99.work(recursion)}"
    assert compare(recursion, text, header) == []
    assert (
        compare(recursion, text, header.replace(size, f"arm_WORK {c99.work(recursion) - 1}")) != []
    )


@pytest.mark.slow
@pytest.mark.parametrize("toy", ["chain", "tree of three classes"])
def test_any_changed_digit_is_reported_or_changes_no_result(tmp_path: Path, toy: str) -> None:
    """Unreported digits are harmless: longer arrays, and class numbers beyond the last class."""
    recursion = TOYS[toy]()
    text, (state, *_) = write_c(tmp_path, recursion).read_text(), states(recursion, 1)
    generator = random.Random(5)
    start = text.index("static const")
    digits = [match.start() for match in re.finditer(r"(?<=[\[ (*])\d(?=[\]; ,*])", text[start:])]
    for at in generator.sample(digits, 40):
        slipped = (
            text[: start + at]
            + str((int(text[start + at]) + generator.randint(1, 8)) % 10)
            + text[start + at + 1 :]
        )
        if not compare(recursion, slipped):
            file = tmp_path / f"slipped_{at}.c"
            file.write_text(slipped)
            assert called(shared(file, "-O1"), recursion, state) == evaluate(
                recursion, state, DOUBLES
            ), text[: start + at][-60:]


@pytest.mark.parametrize(
    "toy", ["idle", "chain, its middle", "three classes", "tree of three classes", "tree, on a way"]
)
def test_analysers_are_silent(tmp_path: Path, toy: str) -> None:
    file = write_c(tmp_path, TOYS[toy]("float"), "auto")
    without = [f"-Wno-{name}" for name in ("unknown-warning-option", *UNWANTED)]
    done = run(
        tool("clang"), "-std=c99", "-Weverything", *without, "-Werror", "-fsyntax-only", file
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = run(
        "g++", "-Wall", "-Wextra", "-pedantic-errors", "-Werror", "-x", "c++", "-fsyntax-only", file
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_misra_reports_rule_8_9_alone(tmp_path: Path) -> None:
    """Rule 8.9 (advisory) wants tables that one function reads inside that function.

    There, thousands of lines would precede the first statement. The headers of these toys define
    macros that the source does not use (rule 2.5).
    """
    for toy in ("chain, its middle", "tree of three classes", "tree, on a way"):
        assert misra(write_c(tmp_path, TOYS[toy]())) - {"Rule 2.5"} == {"Rule 8.9"}


MAIN = """
#include "arm.h"
#include <stdlib.h>
int main(void)
{{
    double *const q = calloc({q}, sizeof(double));
    double *const v = calloc({v}, sizeof(double));
    double *const tau = calloc({v}, sizeof(double));
    double *const det = calloc(1, sizeof(double));
    double *const work = malloc(arm_WORK*sizeof(double));
    int status = !q || !v || !tau || !det || !work;
    if (!status) {{
        arm_toy(q, v, tau, det, work);
        status = !(det[0] > -1000.0);
    }}
    free(q);
    free(v);
    free(tau);
    free(det);
    free(work);
    return status;
}}
"""


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("toy", ["chain", "tree of three classes"])
def test_sanitizers_are_silent(tmp_path: Path, toy: str, sanitizer: str) -> None:
    """Every array has exactly the length that the header states."""
    recursion = TOYS[toy]()
    file = write_c(tmp_path, recursion)
    (tmp_path / "main.c").write_text(
        MAIN.format(q=recursion.inputs[0].size, v=recursion.inputs[1].size)
    )
    compiler, *flags = SANITIZERS[sanitizer]
    built(
        run(
            tool(compiler),
            "-std=c99",
            "-O1",
            "-ffp-contract=off",
            *flags,
            file,
            tmp_path / "main.c",
            "-o",
            tmp_path / "main",
            "-lm",
        )
    )
    done = run(tmp_path / "main")
    assert (done.returncode, done.stderr) == (0, "")


def test_text_without_tables_does_not_grow_with_the_links() -> None:
    def without_tables(count: int) -> str:
        recursion = mixed(range(-1, count - 1), (0,) * count)
        text = c99.source(recursion, target(recursion))
        return re.sub(
            r"\d+",
            "",
            re.sub(r"(?s)static const double.*?\n};", "", text[text.index("#include") :]),
        )

    assert without_tables(3) == without_tables(500)


def test_further_lines_of_a_call_are_indented_by_four() -> None:
    """Calls of steps are indented in the same way at any depth."""
    recursion = TOYS["three classes"]()
    indents = set()
    for line, further in itertools.pairwise(c99.source(recursion, target(recursion)).splitlines()):
        if re.match(r" +arm_toy_\w+\(.*,$", line):
            indents.add(len(further) - len(further.lstrip()) - len(line) + len(line.lstrip()))
    assert indents == {4}


def test_the_opening_comment_states_sizes_of_tables_and_workspace() -> None:
    for toy, sizes_in_text in {
        "sums": "Tables of 72 bytes; the caller provides a workspace of 1 numbers",
        "chain": "Tables of 144 bytes; the caller provides a workspace of 24 numbers",
        "idle": "Tables of 36 bytes; the caller provides a workspace of 1 numbers",
        "tree": f"Tables of {240 + 56 + 42} bytes; the caller provides a workspace of 73 numbers",
    }.items():
        assert sizes_in_text in c99.source(TOYS[toy](), target(TOYS[toy]()))


@pytest.mark.slow
def test_the_opening_comment_names_the_columns_of_the_table() -> None:
    """Each link class has one name per column; column m has the masses."""
    dynamics = build.recursion(symgen.load("scara"), "forward_dynamics", "riccati")
    head = " ".join(
        c99.source(dynamics, target(dynamics)).split("*/")[0].replace("\n *", " ").split()
    )
    for kind in dynamics.link_classes:
        names = re.search(
            rf"Link constants of a {kind.name} link, one row of the table: ([^.]*)\.", head
        )
        assert names is not None
        assert names[1].split(", ") == list(kind.columns)
        assert len(kind.columns) == kind.width == len(set(kind.columns))
    mass = dynamics.link_classes[0].columns.index("m")
    assert [
        float(row[mass])
        for row, link_class in zip(dynamics.constants, dynamics.class_of, strict=True)
        if link_class == 0
    ] == [
        float(sum(part.mass for part in body.parts))
        for body, link_class in zip(symgen.load("scara").bodies, dynamics.class_of, strict=True)
        if link_class == 0
    ]


def test_results_may_alias_arguments_where_no_later_step_reads_them() -> None:
    """A final carry is stored after its sweep, other results link by link."""
    without_final_carries = {
        name: replace(
            TOYS[name](), final_carries=(), outputs=(Port("tau", (6 if name == "chain" else 10,)),)
        )
        for name in ("chain", "tree of three classes")
    }
    assert all(map(loop_work.may_alias, without_final_carries.values()))
    assert not loop_work.may_alias(TOYS["chain"]())  # det is stored before the last v is read
    late = replace(
        without_final_carries["chain"],
        final_carries=(FinalCarry("det", 2, (0,)),),
        outputs=TOYS["chain"]().outputs,
    )
    assert loop_work.may_alias(late)
    first, second, third = without_final_carries["chain"].sweeps
    assert not loop_work.may_alias(
        replace(without_final_carries["chain"], stages=(third, first, second))
    )
    assert not loop_work.may_alias(TOYS["idle"]())
    for robot, alias in (
        ("panda", True),
        ("quadruped", False),
    ):  # quadruped has more positions than velocities
        assert (
            loop_work.may_alias(
                build.recursion(symgen.load(robot), "inverse_dynamics", "newton_euler")
            )
            == alias
        )


def test_aliased_results_have_the_same_bits(tmp_path: Path) -> None:
    recursion = TOYS["sums"]()
    assert loop_work.may_alias(recursion)
    library = shared(write_c(tmp_path, recursion), "-O2")
    (state,) = states(recursion, 1)
    q, work = (ctypes.c_double * 9)(*state["q"]), (ctypes.c_double * 1)()
    library.arm_gravity_force(q, q, work)
    assert list(q) == evaluate(recursion, state, DOUBLES)["g"]


@pytest.mark.parametrize("trig", TRIG)
def test_read_back_checks_the_preprocessed_text(trig: str) -> None:
    recursion = TOYS["tree of three classes"]()
    names, function = target(recursion, trig), recursion.function
    headers, text = c99.headers({function: recursion}, names), c99.source(recursion, names)
    for slip, count in (("", 0), ("parent_carry[k]*link_carry[k]", 1)):
        slipped = text.replace(slip, "parent_carry[k] + link_carry[k]") if slip else text
        (seen,) = preprocess({function: slipped}, headers, names).values()
        sincos = headers.get(names.sincos_file, "")
        assert (
            check_text(
                recursion, Source(slipped, headers[names.header], sincos, seen), "toy", names
            ).error
            == count
        )


@pytest.mark.parametrize(
    ("robot", "function"),
    [
        *itertools.product(
            ("panda", "scara", "quadruped", "two_pandas_bar"),
            ("inverse_dynamics=newton_euler", "forward_dynamics=riccati"),
        ),
        ("panda", "forward_kinematics=kinematics"),
        ("quadruped", "forward_kinematics=kinematics"),
        ("two_pandas_bar", "link_poses=kinematics"),
        ("scara", "integrate=kinematics"),
        ("quadruped", "center_of_mass=composite_body"),
        ("two_pandas_bar", "potential_energy=composite_body"),
        ("panda", "mass_matrix_solve=constraint_force"),
    ],
)
def test_loops_of_robots_have_the_bits_of_their_evaluation(
    tmp_path: Path, robot: str, function: str
) -> None:
    """Chains of one and two link classes, a tree, a floating base; results of links and frames."""
    mechanism, (name, _, method) = symgen.load(robot), function.partition("=")
    recursion = build.recursion(mechanism, name, method, tip(mechanism))
    names = c99.Target("arm", mechanism.sizes)
    headers, text = c99.headers({name: recursion}, names), c99.source(recursion, names)
    for file, content in (headers | {"function.c": text}).items():
        (tmp_path / file).write_text(content)
    library = shared(tmp_path / "function.c", "-O2")
    for state in states(recursion, 3):
        assert called(library, recursion, state) == evaluate(recursion, state, DOUBLES)
    assert compare(recursion, text, headers[names.header]) == []


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (
            "forward_kinematics=kinematics",
            "final_carry[3] = carry_2[3];",
            "final_carry[3] = carry_2[4];",
        ),
        (
            "forward_kinematics=kinematics",
            "arm_forward_kinematics_epilogue(final_carry, R, p);",
            ";",
        ),
        (
            "forward_kinematics=kinematics",
            "_epilogue(final_carry, R, p)",
            "_epilogue(final_carry, p, R)",
        ),
        ("link_poses=kinematics", "&R_links[9*i]", "&R_links[3*i]"),
        ("link_poses=kinematics", "&p_links[3*i]", "&p_links[0]"),
        ("integrate=kinematics", "&v[i], dt,", "&v[i], v,"),
    ],
)
def test_errors_in_results_of_links_and_frames_are_reported(
    function: str, old: str, new: str
) -> None:
    mechanism, (name, _, method) = symgen.load("panda"), function.partition("=")
    recursion = build.recursion(mechanism, name, method, tip(mechanism))
    names = c99.Target("arm", mechanism.sizes)
    header, text = c99.headers({name: recursion}, names)[names.header], c99.source(recursion, names)
    assert compare(recursion, text, header) == []
    assert text.count(old) == 1
    assert compare(recursion, text.replace(old, new), header)


def test_no_alias_where_every_link_reads_the_argument() -> None:
    """Each link stores its part of q_next and reads dt."""
    assert not loop_work.may_alias(build.recursion(symgen.load("panda"), "integrate", "kinematics"))


def test_comments_say_where_a_sweep_goes() -> None:
    """A sweep to a frame ends there, also if it is on the first link."""
    chain = random_mechanism(4, 1)
    for frame in (chain.frames[0].name, chain.frames[-1].name):
        recursion = build.recursion(chain, "jacobian", "kinematics", frame)
        assert "outward, from the base to the frame" in c99.source(recursion, target(recursion))
    recursion = build.recursion(chain, "inverse_dynamics", "newton_euler")
    text = c99.source(recursion, target(recursion))
    assert "outward, from the base" in text
    assert "inward, from the tips" in text
    assert "to the frame" not in text
