"""The C read back is the Program; a planted error of each kind is reported."""

from __future__ import annotations

import io
import random
import re
import time
from fractions import Fraction

import pytest
from pycparser import c_parser

from symgen.emission.backends import c99
from symgen.ir.program import Program
from symgen.readback import parsing
from symgen.readback.literals import nearest
from symgen.readback.preprocessor import disguises
from symgen.readback.rows import compare
from symgen.verification.compiled import preprocess
from symgen.verification.text import Source, check_text
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TRIG, TextOptions
from symgen.vocabulary.reals import REALS
from tests.shared.c_programs import (
    arm,
    determinant,
    forward_dynamics,
    gravity,
    mass_matrix_and_bias,
    scrambled,
)

ARM = c99.Target("arm", Sizes(2, 2, 2))
TEXT = c99.source(forward_dynamics(), ARM)


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("trig", TRIG)
def test_the_text_is_the_program(real: str, trig: str) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions(trig))
    programs = arm(real) | {"payload": gravity(real, payload=True)}
    header = c99.header(programs, target)
    for program in programs.values():
        assert compare(program, c99.source(program, target), header) == []


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("seed", range(12))
def test_scrambled_programs_come_back(seed: int, real: str) -> None:
    program = scrambled(seed, 200, real)
    for trig in TRIG:
        assert (
            compare(
                program, c99.source(program, c99.Target("arm", Sizes(3, 3, 3), TextOptions(trig)))
            )
            == []
        )


PLANTED = {
    "sign flipped": ("g_1 - (k_2*", "g_1 + (k_2*"),
    "sign added": ("= 0.7*s_2", "= -0.7*s_2"),
    "operands of a difference swapped": ("tau[0] - bias_1", "bias_1 - tau[0]"),
    "operands of a sum swapped": ("h_2 + 0.35", "0.35 + h_2"),
    "last digit of a literal": ("6.867*", "6.868*"),
    "seventeenth digit of a literal": ("6.867*", "6.8670000000000009*"),
    "term dropped": ("(M_1_1*0.35) - (M_1_2*M_1_2)", "(M_1_1*0.35)"),
    "term doubled": ("(k_2*(v[0]*v[0])) + g_2", "(k_2*(v[0]*v[0])) + g_2 + g_2"),
    "grouping changed": ("(2.0*h_2) + 1.9 + 0.35", "(2.0*h_2) + (1.9 + 0.35)"),
    "wrong argument": ("tau[1] - bias_2", "v[1] - bias_2"),
    "wrong element": ("tau[1] - bias_2", "tau[0] - bias_2"),
    "sine for cosine": ("cos(q[1])", "sin(q[1])"),
    "another function": ("cos(q[1])", "tan(q[1])"),
    "an octal element": ("cos(q[1])", "cos(q[01])"),
    "wrong store": ("a[0] = a_1", "a[1] = a_1"),
    "stores swapped": ("a[0] = a_1;\n    a[1] = out_a_1", "a[0] = out_a_1;\n    a[1] = a_1"),
    "store lost": ("    a[1] = out_a_1;\n", ""),
    "store out of range": ("    a[1] = out_a_1;\n", "    a[1] = out_a_1;\n    a[2] = a_1;\n"),
    "store twice": ("    a[1] = out_a_1;\n", "    a[1] = out_a_1;\n    a[1] = out_a_1;\n"),
    "store to an argument": ("    a[1] = out_a_1;\n", "    a[1] = out_a_1;\n    q[1] = a_1;\n"),
    "names exchanged": (
        "const double r_1 = tau[0] - bias_1;\n    const double r_2 = tau[1] - bias_2",
        "const double r_2 = tau[0] - bias_1;\n    const double r_1 = tau[1] - bias_2",
    ),
    "single precision in double": ("6.867*", "6.867f*"),
    "an integer literal": ("2.0*h_2", "2*h_2"),
    "a float local": ("const double det", "const float det"),
    "a local that changes": ("const double det", "double det"),
    "declared twice": ("const double r_2", "const double r_1"),
    "a local before it stands": ("= tau[0] - bias_1", "= tau[0] - a_1"),
    "work that nothing uses": ("    /* solve */", "    const double t9 = k_2*k_2;"),
    "the same work twice": ("    /* solve */", "    const double t9 = 0.7*s_2;"),
    "another statement": ("    /* solve */", "    if (q[0] > 0.0) return;"),
    "another call": ("    /* solve */", "    abort();"),
    "a macro": ("#include <math.h>", "#include <math.h>\n#define cos sin"),
    "another header": ("#include <math.h>", "#include <tgmath.h>"),
    "read behind a store": ("a[1] = out_a_1", "a[1] = tau[1]"),
    "another parameter": ("const double v[arm_NV]", "const double w[arm_NV]"),
    "a parameter less": ("const double v[arm_NV], ", ""),
    "another size": ("double a[arm_NV]", "double a[4]"),
    "parameters exchanged": (
        "const double q[arm_NQ], const double v[arm_NV]",
        "const double v[arm_NV], const double q[arm_NQ]",
    ),
    "a second function": ("#include <math.h>", "#include <math.h>\ndouble x;"),
    "a comment that swallows": ("    /* bias */", "    /* bias"),
    "a semicolon behind": ("    a[1] = out_a_1;\n}", "    a[1] = out_a_1;\n};"),
    "another function's name": ("void arm_forward", "void arm_backward"),
    "junk": ("const double det =", "const double det ="[:-1]),
}


@pytest.mark.parametrize("what", PLANTED)
def test_planted_errors_are_reported(what: str) -> None:
    old, new = PLANTED[what]
    assert TEXT.count(old) == 1, f"the text no longer holds '{old}'"
    assert compare(forward_dynamics(), TEXT.replace(old, new)) != []


def test_one_error_gives_one_sentence_with_its_line() -> None:
    broken = TEXT.replace("0.7*s_2", "0.8*s_2")
    line = 1 + next(i for i, text in enumerate(broken.splitlines()) if "0.8*s_2" in text)
    assert compare(forward_dynamics(), broken) == [
        f"line {line}: k_2: no constant of the Program is the literal 0.8"
    ]


def test_the_first_of_many_differences_is_the_detail() -> None:
    broken = TEXT.replace("0.7*s_2", "0.8*s_2").replace("6.867*", "6.868*")
    wrong = compare(forward_dynamics(), broken)
    check = check_text(forward_dynamics(), Source(broken), "f", c99.Target("arm", Sizes(2, 2, 2)))
    assert (check.error, check.detail) == (len(wrong), wrong[0])
    assert len(wrong) > 1


@pytest.mark.parametrize(
    "value",
    [
        Fraction(2**53 + 1),
        Fraction(2**53 + 3),
        Fraction(2**53 + 1, 3),
        Fraction(2**54 + 2, 2**200),
        Fraction(-1, 3),
        Fraction(0),
        Fraction(5, 2**1075),
        Fraction(7, 2**1075),
        Fraction(1, 2**1074),
    ],
)
def test_the_nearest_number_is_the_even_one_of_two(value: Fraction) -> None:
    """Python's own division of whole numbers rounds like that."""
    negative, size = nearest(value, REALS["double"])
    assert (negative, float(size)) == (value < 0, abs(value.numerator / value.denominator))
    assert float(size) == size


def test_every_single_digit_counts() -> None:
    program, target = scrambled(4), c99.Target("arm", Sizes(3, 3, 3))
    text = c99.source(program, target)
    start = text.index("{\n")
    for match in re.finditer(r"(?<![\w.])\d+\.\d+(?:e[+-]\d+)?", text[start:]):
        at = start + match.start()
        digit = "3" if text[at] != "3" else "4"
        assert compare(program, text[:at] + digit + text[at + 1 :]) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [forward_dynamics(), scrambled(3), mass_matrix_and_bias("float")],
    ids=lambda p: p.function,
)
def test_any_slip_of_a_finger_is_reported(program: Program) -> None:
    pick = random.Random(11)
    text = c99.source(program, c99.Target("arm", Sizes(*[program.inputs[0].size] * 3)))
    start = text.index("#include")
    for _ in range(250):
        at = pick.randrange(start, len(text))
        slip = pick.choice(["", *"+-*/()[];=,.0123456789efqvstau_ {}#\\\"'<&?\n"])
        broken = text[:at] + slip + text[at + pick.randrange(2) :]
        if tokens(broken) != tokens(text):
            assert compare(program, broken) != [], broken[at - 40 : at + 40]


def tokens(text: str) -> str:
    """The text without comments and white space, and each decimal in one spelling."""
    bare = re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r"(?<![\w.\[])\d+\.\d+", lambda m: repr(float(m.group())), bare)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arm_NV 2", "arm_NV 3"),
        ("sin(x)", "cos(x)"),
        ("sin(x)", "sinf(x)"),
        ("#define arm_NQ 2", "#define arm_NQ 2\n#define double float"),
        ("sizeof(double) == 8U", "sizeof(double) == 4U"),
    ],
)
def test_the_header_cannot_change_the_meaning(old: str, new: str) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions("macro"))
    header = c99.header(arm(), target)
    assert compare(determinant(), c99.source(determinant(), target), header) == []
    assert (
        compare(
            forward_dynamics(), c99.source(forward_dynamics(), target), header.replace(old, new)
        )
        != []
    )


SLIP = "if (q[0] > 0.0) return;"
DISGUISED = {
    "a comment's end over two lines": f"    /* bias *\\\n/ {SLIP} /* */",
    "a comment's end with a trigraph": f"    /* bias *??/\n/ {SLIP} /* */",
    "a comment in a comment of one line": f"    // /*\n    {SLIP}\n    // */",
    "a comment in quotation marks": f'    "/*"; {SLIP} "*/";',
    "a carriage return": "    /* bias */\r",
    "a letter of another alphabet": "    /* b\u0456as */",
    "a line that goes on": "    /* bias */ \\",
}


@pytest.mark.parametrize("how", DISGUISED)
def test_what_a_compiler_reads_otherwise_is_reported(how: str) -> None:
    program = forward_dynamics()
    text = c99.source(program, c99.Target("arm", Sizes(2, 2, 2)))
    assert "    /* bias */" in text
    assert compare(program, text.replace("    /* bias */", DISGUISED[how], 1)) != []


@pytest.mark.parametrize(
    "line",
    [
        "%:define sin(x) cos(x)",
        "// /*\n#define sin(x) cos(x)\n// */",
        "/* *\\\n/\n#define sin cos\n/* */",
        '#include "/*"\n#define sin cos\n#include "*/"',
        '_Pragma("x")',
        "int a<:2:>;",
        "#define\rsin cos",
    ],
)
def test_a_macro_in_disguise_is_seen_in_the_header(line: str) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2))
    header = c99.header(arm(), target)
    changed = header.replace("#ifdef __cplusplus", f"{line}\n#ifdef __cplusplus", 1)
    assert changed != header
    assert compare(forward_dynamics(), c99.source(forward_dynamics(), target), header) == []
    assert compare(forward_dynamics(), c99.source(forward_dynamics(), target), changed) != []


def test_the_line_of_a_disguise_is_that_of_the_file() -> None:
    (sentence,) = disguises("/* a\n b */ int x;\n// c\n")
    assert (
        sentence
        == "line 3 contains '//', which compilers may interpret differently and generated C does"
        " not contain"
    )
    assert disguises('#include "arm.h"\nextern "C" {\n/* // "quoted" %: */\n') == []


def test_a_program_of_a_thousand_rows_takes_less_than_a_second() -> None:
    program = scrambled(8, 2200)
    assert sum(program.operations.values()) > 1200
    text = c99.source(program, c99.Target("arm", Sizes(3, 3, 3)))
    start = time.process_time()
    assert compare(program, text) == []
    assert time.process_time() - start < 1.0


def comparable_text(units: parsing.Units) -> tuple[object, ...]:
    """Return the parsed units of a file as text that can be compared."""
    trees = io.StringIO()
    for unit in units.declarations:
        unit.show(buf=trees, attrnames=True, nodenames=True, showcoord=True)
    return trees.getvalue(), units.header_prototypes, units.function.decl.name


@pytest.mark.parametrize("trig", TRIG)
def test_a_header_is_parsed_once_for_all_files_and_each_is_read_as_if_whole(
    trig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions(trig))
    programs = arm()
    texts = {name: c99.source(program, target) for name, program in programs.items()}
    headers = c99.headers(programs, target)
    struct = "typedef struct { double value[3]; } arm_prepared;\n#ifdef __cplusplus\n"
    headers[target.header] = headers[target.header].replace("#ifdef __cplusplus\n", struct, 1)
    seen = preprocess(texts, headers, target)
    lengths: list[int] = []

    class Counted(c_parser.CParser):
        def parse(self, text: str, *rest: object) -> object:
            lengths.append(text.count("void arm_"))
            return super().parse(text, *rest)

    monkeypatch.setattr(parsing.c_parser, "CParser", Counted)
    parsing._parse_header.cache_clear()
    split = {
        name: comparable_text(parsing.parse_units(texts[name], seen[name])) for name in programs
    }
    assert sum(lengths) == 2 * len(programs)  # each prototype once, each function once
    monkeypatch.setattr(parsing, "_HEADER", re.compile("(?!)"))
    assert split == {
        name: comparable_text(parsing.parse_units(texts[name], seen[name])) for name in programs
    }


@pytest.mark.parametrize(
    "end",
    ["static", "typedef int arm_real;", "extern int extra;", "void arm_extra(", "typedef double"],
)
def test_the_end_of_a_header_is_read_with_what_follows_it(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open declaration at the end of a header takes in what stands behind the include, as it
    does for a compiler.
    """
    program = forward_dynamics()
    headers, text = c99.headers(arm(), ARM), TEXT
    if "arm_real" in end:
        text = re.sub(r"const double (q\[)", r"const arm_real \1", text, count=1)
        assert text != TEXT
    headers[ARM.header] += f"{end}\n"
    (seen,) = preprocess({program.function: text}, headers, ARM).values()
    split = compare(program, text, preprocessed=seen)
    monkeypatch.setattr(parsing, "_HEADER", re.compile("(?!)"))
    assert split == compare(program, text, preprocessed=seen) != []
