"""Directives of generated C are recognised word for word, and any other one is named."""

from __future__ import annotations

import pytest

from symgen.ir.program import Port, Program
from symgen.readback import preprocessor
from symgen.readback.preprocessor import BatchLines, Lines
from symgen.vocabulary.functions import PREPARED
from tests.shared.c_programs import Builder, vector

FAST = preprocessor.refusal(False).replace("NAME", "arm")
FINITE = preprocessor.refusal(True).replace("NAME", "arm")


def directives(text: str, checked: bool = False, batch: bool = False) -> list[str]:
    return preprocessor.directives(text, "arm", "arm_f", checked, batch)


def unknown(line: str) -> str:
    return f"the directive '{line}' does not belong in generated code"


def test_a_text_refuses_compilers_that_change_its_arithmetic() -> None:
    assert directives(FAST) == directives(FINITE, checked=True) == []
    assert "__FAST_MATH__" in FAST
    assert "__FINITE_MATH_ONLY__" not in FAST
    assert directives("") == ["the text does not refuse -ffast-math"]
    assert directives("", checked=True) == ["the text does not refuse -ffinite-math-only"]
    assert directives(FAST, checked=True)[0] == "the text does not refuse -ffinite-math-only"
    assert directives(FAST + FAST)[:1] == [unknown("#ifndef arm_UNVERIFIED")]
    assert directives(FAST.replace("arm", "leg"))[0] == "the text does not refuse -ffast-math"


def test_the_reasons_of_symgen_0_1_0_are_read() -> None:
    former = FINITE.replace(
        "is verified for operations in the written order", "is verified as it is written"
    ).replace("tests for infinity and NaN", "looks for what is not finite")
    assert former != FINITE
    assert directives(former, checked=True) == []


INCLUDES = ["#include <math.h>", '#include "arm.h"', '#include "arm_sincos.h"']
OF_BATCHES = [
    '#include "arm_batch.h"',
    '#include "arm_lanes.h"',
    "#define arm_load arm_f_load",
    "#define arm_store arm_f_store",
    "#define arm_count arm_f_count",
    "#define arm_sincos arm_f_batch_sincos",
]


@pytest.mark.parametrize("line", [*INCLUDES, "#define arm_ANGLES 12"])
@pytest.mark.parametrize("batch", [False, True])
def test_headers_and_the_count_of_angles_belong_in_all_texts(line: str, batch: bool) -> None:
    assert directives(f"  {line}  \n{FAST}", batch=batch) == []


@pytest.mark.parametrize("line", OF_BATCHES)
def test_two_headers_and_three_names_belong_in_texts_for_many_states(line: str) -> None:
    assert directives(f"{line}\n{FAST}", batch=True) == []
    assert directives(f"{line}\n{FAST}") == [unknown(line)]


def test_the_name_of_the_sine_is_that_of_the_function() -> None:
    line = "#define arm_sincos arm_f_sincos"
    assert directives(f"{line}\n{FAST}") == []
    assert directives(f"{line}\n{FAST}", batch=True) == [unknown(line)]


@pytest.mark.parametrize(
    "line",
    [
        "#define arm_ANGLES 0",
        "#define arm_ANGLES 012",
        "#define leg_ANGLES 12",
        '#include "leg.h"',
        "#include <tgmath.h>",
        "#define sin cos",
        "#pragma omp parallel for",
        "#undef arm_NQ",
    ],
)
def test_another_directive_is_named(line: str) -> None:
    assert directives(f"{line}\n{FAST}") == [unknown(line)]
    assert directives(f"/* {line} */\n{FAST}") == []


def test_angles_are_counted_once() -> None:
    text = "#define arm_ANGLES 3\n"
    assert directives(text + FAST) == []
    assert directives(2 * text + FAST) == ["arm_ANGLES is defined twice"]
    assert preprocessor.angles_at_once(FAST + text, "arm") == 3
    assert preprocessor.angles_at_once("#define arm_ANGLES 10 /* joints */\n", "arm") == 10
    for text in (
        "",
        "/* #define arm_ANGLES 3 */",
        " #define arm_ANGLES 3",
        "#define arm_ANGLES 3x",
    ):
        assert preprocessor.angles_at_once(text, "arm") == 0


def test_the_workspace_is_that_of_the_header() -> None:
    assert preprocessor.work("#define arm_NQ 2\n#define arm_WORK 70 /* numbers */\n", "arm") == 70
    assert preprocessor.work("#define leg_WORK 70\n", "arm") is None


# -- headers -------------------------------------------------------------------------------------


def program(*more: Port) -> Program:
    builder = Builder("gravity_force", [vector("q", 3), *more])
    return builder.program([Port("g", (2,), (builder.input(0, 0), builder.input(0, 1)))])


EXPORTS = """
#ifndef arm_API
#if defined(arm_SHARED) && defined(_WIN32) && defined(arm_EXPORTS)
#define arm_API __declspec(dllexport)
#elif defined(arm_SHARED) && defined(_WIN32)
#define arm_API __declspec(dllimport)
#elif defined(arm_SHARED) && defined(__GNUC__)
#define arm_API __attribute__((visibility("default")))
#else
#define arm_API
#endif
#endif
"""
ASSERTION = "extern const char arm_double_has_8_bytes[(sizeof(double) == 8U) ? 1 : -1];\n"
HEADER = f"""#ifndef arm_H
#define arm_H
#define arm_NQ 3
# define  arm_NV   2
#define arm_NF 6
#define arm_WORK 40
#define arm_SIN(x) sin(x)
#define arm_COS(x) cos(x)
{EXPORTS}{ASSERTION}#endif
"""


def errors(header: str, checked: bool = False, form: Program | None = None) -> list[str]:
    return preprocessor.macros(form or program(), header, "arm", checked)


def test_a_header_defines_sizes_and_sines() -> None:
    assert errors(HEADER) == []
    assert errors(HEADER.replace("#define arm_NQ 3\n", "")) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("arm_NQ 3", "arm_NQ 2", "the header defines arm_NQ as '2', not '3'"),
        ("arm_NV   2", "arm_NV   3", "the header defines arm_NV as '3', not '2'"),
        ("define arm_H", "define arm_H 1", "the header defines arm_H as '1', not ''"),
        ("sin(x)", "cos(x)", "the header defines arm_SIN(x) as 'cos(x)', not 'sin(x)'"),
        ("cos(x)", "cosf(x)", "the header defines arm_COS(x) as 'cosf(x)', not 'cos(x)'"),
        ("arm_NF 6", "arm_NX 6", "the header defines arm_NX, which does not belong there"),
        ("arm_NF 6", "leg_NF 6", "the header defines leg_NF, which does not belong there"),
        ("arm_NF 6", "arm_OK 0", "the header defines arm_OK, which does not belong there"),
        ("dllexport", "dllimport", "the header does not define arm_API as generated headers do"),
        ("== 8U", "== 4U", "the header does not assert the size of double"),
        (ASSERTION, 2 * ASSERTION, "the header does not assert the size of double"),
        (ASSERTION, ASSERTION + "// x\n", "the header's line 22 contains '//'"),
    ],
)
def test_an_error_of_a_header_is_named(old: str, new: str, sentence: str) -> None:
    assert old in HEADER
    assert errors(HEADER.replace(old, new, 1))[0].startswith(sentence)


def test_only_headers_of_checked_functions_define_statuses() -> None:
    header = HEADER.replace("#define arm_NF 6", "#define arm_OK 0\n#define arm_DIVISOR 3")
    assert errors(header, checked=True) == []
    assert errors(header.replace("DIVISOR 3", "DIVISOR 4"), checked=True) == [
        "the header defines arm_DIVISOR as '4', not '3'"
    ]
    assert len(errors(header)) == 2


def test_a_function_of_prepared_parameters_needs_their_type() -> None:
    form = program(vector(PREPARED.name, 4))
    struct = "typedef struct { double value[arm_NS]; } arm_prepared;\n"
    header = HEADER.replace("#define arm_NF 6\n", "#define arm_NS 4\n")
    missing = "the header does not declare arm_prepared as generated headers do"
    assert errors(header.replace(ASSERTION, ASSERTION + struct), form=form) == []
    assert errors(header, form=form) == [missing]
    for line in (struct.replace("double", "float"), f"const {struct}", f"/* {struct[:-1]} */\n"):
        assert errors(header.replace(ASSERTION, ASSERTION + line), form=form) == [missing]
    assert errors(HEADER) == []


# -- texts of loops ------------------------------------------------------------------------------


CLONES = 'target_clones("avx512f", "avx2", "default")'
CLONED = (
    "#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)"
    " && !defined(arm_NO_CLONES)\n"
)
PART = f"""{CLONED}#define arm_f_PART __attribute__((noinline, flatten, {CLONES}))
#elif defined(__GNUC__)
#define arm_f_PART __attribute__((noinline, flatten))
#else
#define arm_f_PART
#endif
#if defined(__GNUC__)
#define arm_f_LINE __attribute__((aligned(64)))
#else
#define arm_f_LINE
#endif
"""
OPENMP = "#if defined(_OPENMP)\n#pragma omp parallel for schedule(static, 1)\n#endif\n"
BODY = "arm_f_PART static void g(double *x) { }\nstatic const double t[2] arm_f_LINE;\n"


def test_attributes_and_parallel_loops_are_taken_out_line_by_line() -> None:
    raw = f"{FAST}{PART}{BODY}{OPENMP}for\n  {OPENMP}for\n"
    lines = Lines(raw, "arm", "arm_f", False)
    assert lines.differences == []
    before = (FAST + PART).count("\n")
    text, kept = lines.text.splitlines(), lines.raw.splitlines()
    assert len(text) == len(kept) == raw.count("\n")
    assert "arm_f_" not in lines.text.replace("arm_f_sincos", "")
    assert " ".join(text[before].split()) == "static void g(double *x) { }"
    pragma = "#pragma omp parallel for schedule(static, 1)"
    assert text[before + 2 :] == ["", pragma, "", "for", "", pragma, "", "for"]
    assert kept[before : before + 2] == BODY.splitlines()
    assert kept[before + 2 :] == ["", "", "", "for", "", "", "", "for"]


def test_a_second_block_of_attributes_does_not_belong_there() -> None:
    first = PART.splitlines()[0]
    assert Lines(FAST + PART, "arm", "arm_f", False).differences == []
    (twice, *_) = Lines(FAST + PART + PART, "arm", "arm_f", False).differences
    assert twice == unknown(first)
    changed = PART.replace("aligned(64)", "packed")
    assert Lines(FAST + changed, "arm", "arm_f", False).differences[0] == unknown(first)
    pragma = OPENMP.replace("static, 1", "dynamic, 1")
    assert Lines(FAST + pragma, "arm", "arm_f", False).differences[0] == unknown(
        "#if defined(_OPENMP)"
    )


LANES = f"""#ifndef arm_LANES_H
#define arm_LANES_H
#include <stddef.h>
{CLONED}#define arm_CLONES __attribute__((flatten, target_clones("avx512f", "avx2", "default")))
#elif defined(__GNUC__)
#define arm_CLONES __attribute__((flatten))
#else
#define arm_CLONES
#endif
#if defined(__GNUC__)
#define arm_PART __attribute__((noinline)) arm_CLONES
#else
#define arm_PART
#endif
#define arm_RESTRICT restrict
static arm_PART void load(double *arm_RESTRICT x) {{ }}
#endif
"""


def test_texts_for_many_states_are_read_without_attributes() -> None:
    source = f'#include "arm_lanes.h"\n{FAST}arm_CLONES void f(double *x) {{ }} /* c */\n'
    lines = BatchLines(source, LANES, "arm", "arm_f", False)
    assert lines.differences == []
    assert " ".join(lines.source.split()) == "void f(double *x) { }"
    assert " ".join(lines.lanes.split()) == "static void load(double *restrict x) { }"
    assert lines.source.count("\n") == source.count("\n")
    assert lines.lanes.count("\n") == LANES.count("\n")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("#define arm_RESTRICT restrict\n", "", "arm_lanes.h has other directives than generated"),
        ("noinline", "cold", "arm_lanes.h has other directives than generated headers"),
        (
            "static arm_PART",
            'static __attribute__((target_clones("avx512f", "avx2", "default"))) arm_PART',
            "line 17 contains '\"'",
        ),
        ("static arm_PART", "// static arm_PART", "line 17 contains '//'"),
        ("static arm_PART", "static 'x' arm_PART", 'line 17 contains "\'"'),
    ],
)
def test_other_headers_of_lanes_are_refused(old: str, new: str, sentence: str) -> None:
    lines = BatchLines(FAST, LANES.replace(old, new, 1), "arm", "arm_f", False)
    assert lines.differences[0].startswith(sentence)


@pytest.mark.parametrize(
    ("text", "line", "mark"),
    [
        ("a\nb \\\nc", 2, r"'\\'"),
        ("a ??/ b", 1, "'??'"),
        ("/* \u00e4 */", 1, r"'\xe4'"),
        ("\n\nint a[1] = <% 1 %>;", 3, "'<%'"),
        ("/* closed */ /* open", 1, "'/*'"),
        ("*/", 1, "'*/'"),
        ('x = "y"; // z', 1, "'\"'"),
        ('#include "a b.h"', 1, "'\"'"),
        ("/* a */\n\n%: b /* \\ */", 3, r"'\\'"),
    ],
)
def test_the_first_ambiguous_character_is_named_with_its_line(
    text: str, line: int, mark: str
) -> None:
    (sentence,) = preprocessor.disguises(text)
    assert sentence.startswith(f"line {line} contains {mark}, which compilers may interpret")


def test_comments_become_a_space_and_their_line_ends() -> None:
    assert preprocessor.without_comments("a/* b */c/* d\n\ne */f\n/**/") == "a c \n\nf\n "
