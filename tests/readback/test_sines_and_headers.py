"""The sine and cosine of a text, and the header of functions for many states, are read: a slip is
refused.
"""

from __future__ import annotations

from functools import cache

import pytest

import symgen
from symgen.emission import printer
from symgen.pipeline import build
from symgen.readback import batches, sines
from symgen.readback.batches import BatchText
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

SINES = {
    "a quarter turn": ("0.6366197723675814", "0.6366197723675815"),
    "a part of pi/2": ("2.5633441515905732e-12", "2.5633441515905742e-12"),
    "a coefficient": ("-0.1666666666666663", "-0.1666666666666664"),
    "a sign": ("- (y*1.136796430280546e-11)", "+ (y*1.136796430280546e-11)"),
    "another power": ("(y*s_1)", "(y*s_2)"),
    "an order": ("(r_1 - r) - w_2", "r_1 - (r + w_2)"),
    "a zero that keeps a sign": ("(y*s_0) + 0.0", "(y*s_0) - 0.0"),
    "another quadrant": ("(4.0*j) - k", "(2.0*j) - k"),
    "sine and cosine exchanged": ("found.sine[i] = (turned", "found.cosine[i] = (turned"),
    "an angle that is left out": ("int i = 0;", "int i = 1;"),
    "an angle that is not counted": ("sizes += fabs(x)", "sizes += fabs(y)"),
    "a range": ("if (!(sizes <= 32768.0))", "if (!(sizes <= 65536.0))"),
    "a comparison that lets NaN pass": ("!(fabs(angle[i]) <= 32768.0)", "fabs(angle[i]) > 32768.0"),
    "the library's cosine": ("= sin(angle[i])", "= cos(angle[i])"),
    "an angle behind the end": ("} while (i < arm_ANGLES)", "} while (i <= arm_ANGLES)"),
    "a type": ("typedef struct", "typedef union"),
    "a macro": ("#include <math.h>\n", "#include <math.h>\n#define fabs(x) (x)\n"),
    "a line that goes on": ("/* cos(r) */", "/* cos(r) \\ */"),
}
HEADER = {
    "another type": ("const double *q, const", "const float *q, const"),
    "a result that is constant": ("double *a);", "const double *a);"),
    "arguments exchanged": ("*q, const double *v", "*v, const double *q"),
    "another type of a stride": ("ptrdiff_t q_state", "int q_state"),
    "a name": ("arm_forward_dynamics_batch", "arm_forward_dynamics_batches"),
    "less stack than is taken": ("STACK 1216", "STACK 1215"),
    "a macro": ("#include <stddef.h>\n", "#include <stddef.h>\n#define restrict\n"),
    "another linkage": (
        "arm_API void arm_forward_dynamics_batch",
        "static void arm_forward_dynamics_batch",
    ),
    "a variable": ("arm_API void arm", "arm_API int more;\narm_API void arm"),
}


def target(real: str = "double", trig: str = "auto") -> Target:
    mechanism = symgen.load("scara")
    return Target("arm", mechanism.sizes, TextOptions(trig, batch=True))


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("trig", ["auto", "inline"])
def test_generated_sines_are_accepted(real: str, trig: str) -> None:
    text = printer().sincos(real, target(real, trig))
    assert sines.compare(text, "arm", real, trig == "auto") == ()
    assert sines.compare(text, "arm", "float" if real == "double" else "double", trig == "auto")


@pytest.mark.parametrize("slip", SINES)
def test_a_slip_in_sines_is_refused(slip: str) -> None:
    old, new = SINES[slip]
    text = printer().sincos("double", target())
    assert old in text
    assert sines.compare(text.replace(old, new, 1), "arm", "double", True)


@cache
def batch() -> tuple[object, BatchText]:
    mechanism = symgen.load("scara")
    programs = build.programs(mechanism, ["forward_dynamics"], ProgramOptions())
    files = printer().batches(programs, target())
    names = target()
    source = files[names.batch_file("forward_dynamics")]
    return programs["forward_dynamics"], BatchText(
        source, files[names.lanes_file], files[names.batch_header]
    )


@pytest.mark.parametrize("slip", HEADER)
def test_a_slip_in_a_header_is_refused(slip: str) -> None:
    (old, new), (program, text) = HEADER[slip], batch()
    assert old in text.header
    slipped = text._replace(header=text.header.replace(old, new, 1))
    assert batches.compare(program, slipped, "arm", False, {})  # type: ignore[arg-type]


def test_a_header_may_declare_more_functions_and_state_more_stack() -> None:
    program, text = batch()
    more = "\narm_API void arm_mass_matrix_batch(int count, const double *q, double *M);\n"
    header = text.header.replace("STACK 1216", "STACK 4000").replace("\n/* ", f"{more}\n/* ", 1)
    assert "mass_matrix" in header
    assert batches.compare(program, text, "arm", False, {}) == []  # type: ignore[arg-type]
    text = text._replace(header=header)
    assert batches.compare(program, text, "arm", False, {}) == []  # type: ignore[arg-type]
