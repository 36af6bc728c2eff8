"""Sines and cosines that a text brings with it: each slip has its sentence."""

from __future__ import annotations

import math
import re
from functools import cache

import pytest

from symgen.emission import printer, wrapper
from symgen.readback import sines
from symgen.readback.c_machine import Terms
from symgen.readback.device import Names, as_rows, plain_device
from symgen.support.errors import ProgramError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import DOUBLE, REALS
from symgen.vocabulary.target import Target
from tests.readback.c_texts import number
from tests.shared.c_programs import gravity


@pytest.mark.parametrize("angle", [0.0, 1e-300, 0.3, -0.8, 2.0, -3.0, 4.5, 100.25, -32768.0])
def test_the_terms_are_the_sine_and_cosine(angle: float) -> None:
    """Each is within two units in the last place of the exact value, as NAME_sincos.h promises."""
    terms = Terms(DOUBLE)
    results = sines.sine_and_cosine(terms.of("input", "x", 0), "double")
    for term, exact in zip(results, (math.sin(angle), math.cos(angle)), strict=True):
        value = number(term, {"x": [angle]})
        assert abs(value - exact) <= 2 * math.ulp(exact)
    assert number(results[0], {"x": [-0.0]}) == 0
    assert math.copysign(1, number(results[0], {"x": [-0.0]})) == -1


@cache
def of_host(trig: str, real: str = "double") -> str:
    return printer().sincos(real, Target("arm", Sizes(2, 2, 2), TextOptions(trig)))


@cache
def of_device(trig: str) -> str:
    target = Target("arm", Sizes(2, 2, 2), TextOptions(trig))
    return wrapper("cuda").files({"gravity_force": gravity()}, target, {})["arm_sincos.cuh"]


OTHERWISE = " of 1 differs from the verified computation"
LATER = " of 2 differs from the verified computation"
RANGE = "this is not a comparison of angles with the range"
HOST = [
    ("(x*0.6366197723675814)", "(x*0.6366197723675815)", f"the sine of angle 0{OTHERWISE}"),
    ("1.0 + (y*((y*c_0) - 0.5))", "1.0 + (y*((y*c_0) - 0.25))", f"the sine of angle 0{OTHERWISE}"),
    ("(turned*cosine) +", "(turned*cosine) -", f"the cosine of angle 0{OTHERWISE}"),
    ("angle[i];\n        /*", "angle[0];\n        /*", RANGE),
    ("found.sine[i] = (turned", "found.sine[0] = (turned", f"the sine of angle 0{LATER}"),
    ("found.sine[i] = sin", "found.sine[i] = cos", f"the sine of angle 0{OTHERWISE}"),
    (
        "found.cosine[i] = cos(angle[i])",
        "found.cosine[i] = cos(angle[0])",
        f"the cosine of angle 1{LATER}",
    ),
    ("if (!(sizes <= 32768.0)) {", "if (!(sizes <= 16384.0)) {", RANGE),
    ("if (!(sizes <= 32768.0)) {", "if (!(sizes >= 32768.0)) {", RANGE),
    ("sizes += fabs(x)", "sizes += x", RANGE),
    ("double sizes = 0.0", "double sizes = 1.0", RANGE),
    ("(fabs(angle[i]) <= 32768.0)", "(fabs(angle[0]) <= 32768.0)", f"the sine of angle 1{LATER}"),
    ("++i;\n    } while", "} while", "this loop does not end"),
    ("static arm_turns arm_sincos", "arm_turns arm_sincos", "arm_sincos is not static"),
    (
        "} arm_turns;",
        "} arm_pair;\ntypedef int arm_turns;",
        "arm_turns is not a function or a struct, or is defined twice",
    ),
    (
        "typedef struct",
        "typedef union",
        "arm_turns is not a function or a struct, or is defined twice",
    ),
    (
        "double sine[arm_ANGLES];",
        "double sines[arm_ANGLES];",
        "arm_turns holds cosine, sines, not a sine and a co",
    ),
    ("double sine[arm_ANGLES];", "", "arm_turns holds cosine, not a sine and a cosine"),
    (
        "static arm_turns arm_sincos",
        "static int more(int x) { return x; }\nstatic arm_turns arm_sincos",
        "arm_sincos, more are defined, not arm_sincos",
    ),
    (
        "#endif",
        "typedef struct { double x; } more;\n#endif",
        "arm_turns, more are defined, not arm_turns",
    ),
    ("#endif", "int more;\n#endif", "more is not a function or a struct, or is defined twice"),
    ("#include <math.h>\n", "", "its directives differ from those of generated headers"),
    (
        "#define arm_SINCOS_H\n",
        "#define arm_SINCOS\n",
        "its directives differ from those of generated headers",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), HOST)
def test_a_slip_in_sines_of_many_angles_has_its_sentence(old: str, new: str, sentence: str) -> None:
    text = of_host("auto")
    assert sines.compare(text, "arm", "double", True) == ()
    assert old in text
    (first, *_) = sines.compare(text.replace(old, new, 1), "arm", "double", True)
    assert re.sub(r"^line \d+: ", "", first).startswith(sentence)


def test_a_disguise_in_sines_is_reported() -> None:
    text = of_host("inline")
    assert sines.compare(text, "arm", "double", False) == ()
    (sentence,) = sines.compare(
        text.replace("/* cos(r) */", "/* cos(r) ??/ */"), "arm", "double", False
    )
    assert "contains '??'" in sentence
    assert sines.compare(text, "leg", "double", False) != ()
    assert sines.compare(text, "arm", "double", True) != ()
    assert sines.compare(of_host("auto"), "arm", "double", False) != ()


def test_sines_are_those_of_the_real_type() -> None:
    for real in REALS:
        for several, trig in ((True, "auto"), (False, "inline")):
            text = of_host(trig, real)
            assert sines.compare(text, "arm", real, several) == ()
            other_type = next(name for name in REALS if name != real)
            assert sines.compare(text, "arm", other_type, several) != ()


@pytest.mark.parametrize("trig", ["libm", "macro", "auto", "inline"])
def test_sines_for_a_gpu_are_those_of_their_option(trig: str) -> None:
    text = of_device(trig)
    assert sines.compare_device(text, "arm", "double", trig) == []
    of_libm = ("libm", "macro")
    for wrong in ("libm", "auto", "inline"):
        if wrong != trig and not (wrong in of_libm and trig in of_libm):
            assert sines.compare_device(text, "arm", "double", wrong) != []


INLINE = "static __device__ inline arm_pair arm_sincos"
DEVICE = [
    (
        "libm",
        "&found.sine, &found.cosine",
        "&found.cosine, &found.sine",
        f"the sine of angle 0{OTHERWISE}",
    ),
    (
        "libm",
        "&found.sine, &found.cosine",
        "&found.sine, &found.sine",
        f"the sine of angle 0{OTHERWISE}",
    ),
    (
        "libm",
        "sincos(x, &found.sine",
        "sincos(found, &found.sine",
        "a FuncCall that generated code never",
    ),
    (
        "libm",
        "sincos(x, &found.sine",
        "sincos(x, x",
        "a FuncCall that generated code never holds there",
    ),
    (
        "libm",
        "(x, &found.sine, &found.cosine)",
        "(x, &found.sine)",
        "a FuncCall that generated code never",
    ),
    ("libm", "#endif", "/* ??/ */\n#endif", "line 24 contains '??'"),
    (
        "libm",
        INLINE,
        "static __device__ arm_pair arm_sincos",
        "__device__ is not at its place in generat",
    ),
    (
        "libm",
        INLINE,
        "static inline arm_pair arm_sincos",
        "inline is not at its place in generated code",
    ),
    (
        "auto",
        "static __device__ __noinline__ arm_pair arm_far",
        "static __device__ inline arm_pair arm_far",
        "__device__ is not at its place",
    ),
    ("auto", "(fabs(x) <= 32768.0)", "(fabs(x) <= 32767.0)", RANGE),
    (
        "auto",
        "if (!(fabs(x) <= 32768.0)) {\n        found = arm_far(x);\n    }\n",
        "",
        f"the sine of angle 0{OTHERWISE}",
    ),
    ("inline", "(turned*sine) -", "(turned*sine) +", f"the sine of angle 0{OTHERWISE}"),
]


@pytest.mark.parametrize(("trig", "old", "new", "sentence"), DEVICE)
def test_a_slip_in_sines_for_a_gpu_has_its_sentence(
    trig: str, old: str, new: str, sentence: str
) -> None:
    text = of_device(trig)
    assert old in text
    (first,) = sines.compare_device(text.replace(old, new, 1), "arm", "double", trig)
    first = first if "contains" in first else re.sub(r"^line \d+: ", "", first)
    assert first.startswith(sentence)


# -- texts for a GPU as C --------------------------------------------------------------------------


@cache
def device_text() -> str:
    target = Target("arm", Sizes(2, 2, 2), TextOptions("inline"))
    files = wrapper("cuda").files({"gravity_force": gravity()}, target, {})
    return files[target.device_file("gravity_force")]


NAMES = Names("arm", "arm_gravity_force")


def test_what_only_cuda_knows_is_taken_out_line_by_line() -> None:
    text = device_text()
    code = plain_device(text, NAMES, False)
    assert code.count("\n") == text.count("\n")
    assert not re.search(r"^[ \t]*#|__|inline|/\*", code, re.MULTILINE)
    assert code.split()[:2] == ["void", "arm_gravity_force(const"]
    helpers = """static __device__ inline void arm_gravity_force_1(double x) { }
static __device__ __noinline__ void arm_gravity_force_part_12(double x) { }
static __constant__ const double arm_gravity_force_table[1] = {1.0};
static __device__ const short arm_gravity_force_row[1] = {1};
static __device__ const int arm_gravity_force_k[1] = {1};
static __constant__ const float arm_gravity_force_f[1] = {1};
"""
    code = plain_device(
        text.replace("static __device__", f"{helpers}static __device__", 1), NAMES, False
    )
    lines = [line for line in code.splitlines() if line.strip()]
    assert lines[:6] == [
        "static void arm_gravity_force_1(double x) { }",
        "static void arm_gravity_force_part_12(double x) { }",
        "static const double arm_gravity_force_table[1] = {1.0};",
        "static const short arm_gravity_force_row[1] = {1};",
        "static const int arm_gravity_force_k[1] = {1};",
        "static const float arm_gravity_force_f[1] = {1};",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("#include <math.h>", "// #include <math.h>", "contains '//'"),
        (
            "#include <math.h>",
            "#include <float.h>",
            "its directives differ from those of generated text",
        ),
        ('#include "arm_sincos.cuh"\n', "", "its directives differ from those of generated text"),
        (
            "#define arm_gravity_force_CUH\n",
            "",
            "its directives differ from those of generated text",
        ),
        (
            "static __device__",
            "static int x;\nstatic __device__",
            "a static function or table lacks __device__",
        ),
        (
            "_device(",
            "_devices(",
            "arm_gravity_force_device is defined 0 times as",
        ),
        (
            "static __device__ inline void",
            "static __device__ void",
            "arm_gravity_force_device is def",
        ),
        (
            "static __device__",
            "__global__ int x;\nstatic __device__",
            "__global__ is not at its place",
        ),
        (
            "static __device__",
            "static __device__ __noinline__ void arm_gravity_force_1(double);\nstatic __device__",
            "__device__ is not at its place in generated code",
        ),
        (
            "static __device__",
            "static __constant__ const long arm_gravity_force_1[1] = {1};\nstatic __device__",
            "__constant__ is not at its place in generated code",
        ),
    ],
)
def test_a_text_with_other_words_of_cuda_is_refused(old: str, new: str, message: str) -> None:
    text = device_text()
    assert old in text
    with pytest.raises(ProgramError, match=message):
        plain_device(text.replace(old, new, 1), NAMES, False)


def test_a_text_refuses_what_its_checks_need() -> None:
    with pytest.raises(ProgramError, match="its directives differ from those of generated text"):
        plain_device(device_text(), NAMES, True)


def test_the_c_of_a_straight_line_has_the_directives_of_a_file() -> None:
    code = as_rows("\nvoid f(void);\n\n", NAMES, bounded=True, checked=False)
    assert code.startswith(
        '#include <math.h>\n#include "arm.h"\n'
        '#define arm_sincos arm_gravity_force_sincos\n#include "arm_sincos.h"\n'
    )
    assert code.endswith("#endif\nvoid f(void);\n")
    plain = as_rows("void f(void);", NAMES, bounded=False, checked=True)
    assert "sincos" not in plain
    assert "__FINITE_MATH_ONLY__" in plain
    assert "__FINITE_MATH_ONLY__" not in code
