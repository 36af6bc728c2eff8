"""The C text: no compiler warnings, the bits of the Program, and names without collisions."""

from __future__ import annotations

import ctypes
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from symgen import emission
from symgen.emission import c_text as words
from symgen.emission.backends import c99
from symgen.ir.program import Port, evaluate
from symgen.support.errors import RequestError
from symgen.vocabulary import identifiers
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TRIG, TextOptions
from symgen.vocabulary.reals import DOUBLE, FLOAT, REALS
from tests.shared.c99 import WARNINGS, build, call, states
from tests.shared.c_programs import (
    DOUBLES,
    Builder,
    arm,
    forward_dynamics,
    gravity,
    scrambled,
    vector,
)


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",)])
def test_bits_are_those_of_the_program(tmp_path: Path, flags: tuple[str]) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2))
    library = build(tmp_path, arm(), target, *flags)
    for program in arm().values():
        for state in states(program, 20):
            assert call(library, program, target, state) == evaluate(program, state, DOUBLES)


@pytest.mark.parametrize("seed", range(6))
def test_bits_of_random_programs_are_those_of_the_c(tmp_path: Path, seed: int) -> None:
    program, target = scrambled(seed), c99.Target("arm", Sizes(3, 3, 3))
    library = build(tmp_path, {program.function: program}, target, "-O1")
    for state in states(program, 10, seed):
        assert call(library, program, target, state) == evaluate(program, state, DOUBLES)


@pytest.mark.parametrize("trig", TRIG)
def test_float_text_has_no_double(tmp_path: Path, trig: str) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions(trig))
    programs = arm("float")
    library = build(tmp_path, programs, target, "-O1")
    for program in programs.values():
        text = c99.source(program, target)
        body = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert "double" not in body
        assert all(
            number.endswith("f")
            for number in re.findall(r"(?<![\w.])\d+\.\d*(?:e[+-]?\d+)?f?", body)
        )
        for state in states(program, 5):
            for name, exact in evaluate(program, state, DOUBLES).items():
                assert call(library, program, target, state)[name] == pytest.approx(
                    exact, rel=1e-4, abs=1e-4
                )


def test_a_random_float_program_compiles_without_warnings(tmp_path: Path) -> None:
    program = scrambled(3, real="float")
    build(tmp_path, {program.function: program}, c99.Target("arm", Sizes(3, 3, 3)), "-O1")


def test_results_may_alias_arguments(tmp_path: Path) -> None:
    program, target = forward_dynamics(), c99.Target("arm", Sizes(2, 2, 2))
    library = build(tmp_path, {"forward_dynamics": program}, target, "-O2")
    (state,) = states(program, 1)
    expected = evaluate(program, state, DOUBLES)["a"]
    for over in ("q", "v", "tau"):
        arrays = {name: (ctypes.c_double * 2)(*values) for name, values in state.items()}
        library.arm_forward_dynamics(arrays["q"], arrays["v"], arrays["tau"], arrays[over])
        assert list(arrays[over]) == expected
    text = c99.source(scrambled(2), target)
    first_store = text.index("\n    tau[0] =")
    assert not re.search(r"= .*\b[qva]\[", text[first_store:]), (
        "an argument is read after the first store"
    )


@pytest.mark.slow
def test_cpp_programs_include_the_header_and_link(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed: make firmware-tools")
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions("macro"))
    build(tmp_path, arm(), target)
    (tmp_path / "main.cpp").write_text(
        '#include "arm.h"\n'
        "int main() { double q[arm_NQ] = {0.5, 0.5}, M[arm_NV*arm_NV];"
        " arm_mass_matrix(q, M); return M[1] == M[2] ? 0 : 1; }\n"
    )
    objects = tmp_path / "mass.o"
    flags = ["-Wall", "-Wextra", "-pedantic-errors", "-Werror"]
    subprocess.run(
        ["gcc", "-std=c99", "-c", str(tmp_path / "arm_mass_matrix.c"), "-o", str(objects)],
        check=True,
    )
    program = tmp_path / "main"
    subprocess.run(
        ["g++", *flags, str(tmp_path / "main.cpp"), str(objects), "-lm", "-o", str(program)],
        check=True,
    )
    assert subprocess.run([str(program)], check=False).returncode == 0
    # Some targets compile every source as C++.
    for name in arm():
        subprocess.run(
            [
                "g++",
                *flags,
                "-x",
                "c++",
                "-c",
                str(tmp_path / target.c_file(name)),
                "-o",
                str(objects),
            ],
            check=True,
        )


@pytest.mark.parametrize("compiler", [("gcc", "-std=c99"), ("g++", "-std=c++17")])
@pytest.mark.parametrize("real", ["double", "float"])
def test_a_real_type_of_another_size_does_not_compile(
    tmp_path: Path, real: str, compiler: tuple[str, str]
) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed: make firmware-tools")
    sizes = {"double": ("float", "double_has_8_bytes"), "float": ("double", "float_has_4_bytes")}
    (tmp_path / "arm.h").write_text(c99.header(arm(real), c99.Target("arm", Sizes(2, 2, 2))))
    (tmp_path / "sound.cpp").write_text('#include "arm.h"\n')
    (tmp_path / "spoilt.cpp").write_text(f'#define {real} {sizes[real][0]}\n#include "arm.h"\n')
    language = "c++" if compiler[0] == "g++" else "c"

    def diagnostics(name: str) -> str:
        command = [*compiler, *WARNINGS, "-x", language, "-fsyntax-only", str(tmp_path / name)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert diagnostics("sound.cpp") == ""
    assert f"arm_{sizes[real][1]}" in diagnostics("spoilt.cpp")


def test_user_macros_replace_sine_and_cosine(tmp_path: Path) -> None:
    target = c99.Target("arm", Sizes(2, 2, 2), TextOptions("macro"))
    library = build(tmp_path, arm(), target, "-Darm_SIN(x)=(0*(x))", "-Darm_COS(x)=(1+0*(x))")
    out = (ctypes.c_double * 4)()
    library.arm_mass_matrix((ctypes.c_double * 2)(1, 1), out)
    assert list(out) == pytest.approx([3.65, 1.05, 1.05, 0.35])


def test_optional_payload_comes_last() -> None:
    target = c99.Target("arm", Sizes(2, 2, 2))
    signature = (
        "void arm_gravity_force(const double q[arm_NQ], const double payload[10], double g[arm_NV])"
    )
    assert signature in c99.source(gravity(payload=True), target)
    assert "double det[1])" in c99.source(arm()["mass_matrix_determinant"], target)


def test_text_is_deterministic_and_its_lines_are_short() -> None:
    target = c99.Target("arm", Sizes(3, 3, 3))
    assert c99.source(scrambled(5), target) == c99.source(scrambled(5), target)
    assert (
        max(map(len, c99.source(scrambled(5, 600), target).splitlines())) <= 140
    )  # the signature, one long line
    body = [
        line
        for line in c99.source(scrambled(5, 600), target).splitlines()
        if line.startswith("    const")
    ]
    assert max(map(len, body)) <= words.WIDTH


def test_robot_names_become_valid_c_names() -> None:
    names = {
        "panda": "panda",
        "my-arm v2": "my_arm_v2",
        "2R": "robot_2R",
        "": "robot",
        "Ümlaut": "mlaut",
        "int": "int_robot",
    }
    names |= {
        "math": "math_robot",
        "sin": "sin_robot",
        "test": "test_robot",
        "_x__y": "x_y",
        "a/../b": "a_b",
    }
    names |= {
        "far": "far_robot",
        "NAN": "NAN_robot",
        "arm_": "arm",
        "arm__b": "arm_b",
        "x" * 300: "x" * 100,
    }
    for robot, expected in names.items():
        assert c99.Target(robot, Sizes(1, 1, 1)).name == expected
        assert identifiers.name_fault(expected) == "", "symgen accepts the names that it makes"
        assert (identifiers.name_fault(robot) == "") == (robot == expected)
    for local in ("class", "y1", "_Bool", "1x", "", "a-b"):
        assert re.fullmatch(r"[A-Za-z_]\w*", words.C.local(local, ()))
        assert words.C.local(local, ()) not in identifiers.KEYWORDS | identifiers.MATH
    assert words.C.local("q", {"q", "q_"}) == "q__"


@pytest.mark.parametrize(
    "text", ["*/ int main;", "**//", "/*/*", "line\nbreak", "tail\\", "*\\/", "??/", "\u202e"]
)
def test_a_comment_cannot_end_early(text: str) -> None:
    out = words.comment(text)
    assert "*/" not in out
    assert "/*" not in out
    assert "\n" not in out
    assert not out.endswith("\\")
    assert out.isprintable()


def single_bits(text: str) -> int:
    return int(struct.unpack("<I", struct.pack("<f", float(text.rstrip("f"))))[0])


def test_literals_are_rounded_once() -> None:
    assert words.literal(Fraction(2), DOUBLE) == "2.0"
    assert words.literal(Fraction("0.1"), FLOAT) == "0.1f"
    assert words.literal(Fraction(16777217), FLOAT) == "16777216.0f"
    assert words.literal(Fraction(-1, 3), DOUBLE) == "-0.3333333333333333"
    # Just above the midpoint of two floats: via double it rounds to the midpoint, then to even.
    twice = 1 + Fraction(1, 2**24) + Fraction(1, 2**70)
    assert FLOAT.rounded(twice) == 1 + 2.0**-23
    assert struct.unpack("<f", struct.pack("<f", float(twice)))[0] == 1.0
    # Subnormal numbers, the smallest float, and a number below half of it.
    assert FLOAT.rounded(Fraction(1, 2**149)) == 2.0**-149
    assert FLOAT.rounded(Fraction(3, 2**150)) == 2.0**-148
    assert words.literal(Fraction(1, 2**150), FLOAT) == "0.0f"
    assert words.literal(Fraction(-1, 2**151), FLOAT) == "-0.0f"
    assert words.literal(Fraction(1, 2**1074), DOUBLE) == "5e-324"
    largest = Fraction(2) ** 128 - Fraction(2) ** 104
    assert words.literal(largest, FLOAT) == "3.4028235e+38f"


@pytest.mark.parametrize("real", ["double", "float"])
def test_literals_round_trip(real: str) -> None:
    generator = random.Random(7)
    for _ in range(300):
        value = Fraction(
            generator.randint(-(10**20), 10**20), generator.randint(1, 10**9)
        ) * Fraction(10) ** generator.randint(-45, 15)
        text = words.literal(value, REALS[real])
        number = REALS[real].rounded(value)
        if real == "float":
            assert single_bits(text) == struct.unpack("<I", struct.pack("<f", number))[0]
            assert FLOAT.rounded(Fraction(text.rstrip("f"))) == number
        else:
            assert float(text) == float(value) == number


@pytest.mark.parametrize(
    ("value", "real"), [("1e400", "double"), ("1e39", "float"), ("-1e9000", "double")]
)
def test_a_constant_beyond_the_real_type_is_refused(value: str, real: str) -> None:
    b = Builder("gravity_force", [vector("q", 1)], real)
    program = b.program([Port("g", (1,), (b.op("mul", b.input(0, 0), b.const(value)),))])
    with pytest.raises(RequestError, match=f"does not fit into a {real}"):
        c99.source(program, c99.Target("arm", Sizes(1, 1, 1)))


def test_division_by_a_constant_that_rounds_to_zero_is_refused() -> None:
    b = Builder("gravity_force", [vector("q", 1)], "float")
    program = b.program([Port("g", (1,), (b.op("div", b.input(0, 0), b.const("1e-60")),))])
    with pytest.raises(RequestError, match="divides by a constant"):
        c99.source(program, c99.Target("arm", Sizes(1, 1, 1)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: c99.Target("arm", Sizes(2, 2, 2), TextOptions("cordic")),
        lambda: c99.single_real([forward_dynamics("half")]),
        lambda: c99.header(
            {"a": forward_dynamics("float"), "b": forward_dynamics()},
            c99.Target("arm", Sizes(2, 2, 2)),
        ),
        lambda: emission.find("c9"),
    ],
)
def test_unknown_requests_are_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(RequestError):
        ask()


def test_backends_are_found_in_their_folder() -> None:
    assert "c99" in emission.names()
    assert emission.find("c99") is emission.printer() is c99.BACKEND
