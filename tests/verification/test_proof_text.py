"""The text that Frama-C analyses, its bounds, and the reading of its report, without Frama-C."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.certificate.ranges import declared_ranges
from symgen.derivation.model.links import declared
from symgen.ir.program import Port, Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, BuildError, ToolMissing
from symgen.verification.proof import eva
from symgen.verification.proof.finite import carried_inertias, heaviest, travels
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target

FUNCTION = "gravity_force"
ROWS = (
    Row("input", (), (0, 0)),
    Row("input", (), (0, 1)),
    Row("cos", (0,), None, "c_1"),
    Row("const", (), Fraction(3)),
    Row("add", (3, 2), None, "D_1"),
    Row("div", (1, 4)),
    Row("mul", (5, 2), None, "x_1"),
    Row("sub", (2, 5)),
)
"""Rows of c = cos q₁, D = 3 + c and q₂/D, of which the results are c q₂/D and c − q₂/D."""


def program(real: str = "double") -> Program:
    return Program(FUNCTION, "m", (Port("q", (2,)),), (Port("g", (2,), (6, 7)),), ROWS, real=real)


def target(trig: str = "libm") -> Target:
    return Target("arm", Sizes(2, 2, 2), TextOptions(trig))


def text(
    lowest: Mapping[int, Fraction] = {}, largest: Mapping[int, Fraction] = {}, trig: str = "libm"
) -> tuple[str, tuple[str, ...]]:
    """Return the annotated C and its admitted lines."""
    texts, admitted = eva.sources(
        {FUNCTION: program()}, target(trig), {FUNCTION: lowest}, {FUNCTION: largest}
    )
    return texts["arm_gravity_force.c"], admitted[FUNCTION]


def annotated(source: str) -> dict[str, str]:
    """Return the admitted line behind the declaration of each local."""
    pairs = re.findall(r"^    const double (\w+) = .*;\n    //@ admit (.*);$", source, re.MULTILINE)
    return dict(pairs)


# -- annotations --


def test_bounds_stand_behind_the_declarations_of_their_rows() -> None:
    source, admitted = text({4: Fraction(2)})
    assert admitted == ("D_1 >= 2",)
    assert annotated(source) == {"D_1": "D_1 >= 2"}


def test_negative_bounds_are_upper_ones_and_sizes_bound_both_sides() -> None:
    """Lower bounds are rounded to zero, and sizes away from it."""
    third = Fraction(1, 3)
    assert text({4: -third})[1] == ("D_1 <= -0.333333",)
    assert text({4: Fraction(0)})[1] == ("D_1 >= 0",)
    assert text({}, {6: third})[1] == ("-0.333334 <= x_1 <= 0.333334",)
    source, admitted = text({4: third}, {4: Fraction(5), 6: Fraction(7)})
    assert admitted == ("D_1 >= 0.333333 && D_1 <= 5", "-7 <= x_1 <= 7")
    assert annotated(source) == {"D_1": admitted[0], "x_1": admitted[1]}


def test_a_bounded_row_that_is_no_local_becomes_one() -> None:
    """Row 5 has no name of its own."""
    source, admitted = text({5: Fraction(1)})
    assert admitted == ("bounded_5 >= 1",)
    assert annotated(source) == {"bounded_5": "bounded_5 >= 1"}
    assert "bounded_5 = q[1]/D_1;" in source


def test_without_bounds_nothing_is_annotated() -> None:
    source, admitted = text()
    assert admitted == ()
    assert "//@" not in source
    assert "bounded" not in source


def test_sines_of_the_folder_are_admitted_to_be_at_most_one() -> None:
    _, admitted = text({4: Fraction(2)}, trig="inline")
    assert admitted == (eva.TURNS, "D_1 >= 2")
    texts, _ = eva.sources({FUNCTION: program()}, target("inline"), {}, {})
    assert f"//@ admit {eva.TURNS};" in texts["arm_sincos.h"]
    assert "arm_sincos.h" not in eva.sources({FUNCTION: program()}, target(), {}, {})[0]


def test_loops_over_angles_are_unrolled_with_their_range() -> None:
    header = "  for (int i = 0; i < n; i++) {\n    found.cosine[i] = (turned*cosine) - s;\n  }\n"
    assert eva._annotated_sincos(header, "arm", "x <= 1").splitlines() == [
        "  //@ loop unroll arm_ANGLES;",
        "  for (int i = 0; i < n; i++) {",
        "    found.cosine[i] = (turned*cosine) - s;",
        "    //@ admit x <= 1;",
        "  }",
    ]
    assert eva._annotated_sincos("  do {\n", "arm", "") == "  //@ loop unroll arm_ANGLES;\n  do {\n"


@pytest.mark.parametrize(
    ("bound", "down", "above"),
    [("2/3", "0.666666", "0.666667"), ("5", "5", "5"), ("1234567", "1.23456E+6", "1.23457E+6")],
)
def test_decimals_have_six_digits(bound: str, down: str, above: str) -> None:
    assert eva.decimal(Fraction(bound)) == down
    assert eva.decimal(Fraction(bound), eva.ROUND_CEILING) == above


@pytest.mark.parametrize(("real", "kind"), [("double", np.float64), ("float", np.float32)])
@pytest.mark.parametrize("bound", ["1/3", "-1/3", "1", "0", "0.1", "123456789.123"])
def test_ranges_are_rounded_outward_by_less_than_a_unit(real: str, kind: type, bound: str) -> None:
    exact = Fraction(bound)
    numbers = {}
    for sign in (-1, 1):
        literal = eva.outward(exact, sign, real)
        assert literal.endswith("f") == (real == "float")
        numbers[sign] = float.fromhex(literal.rstrip("f"))
        assert numbers[sign] == float(kind(numbers[sign]))
    assert Fraction(numbers[-1]) <= exact <= Fraction(numbers[1])
    beyond = float(np.nextafter(kind(numbers[-1]), kind(np.inf)))
    assert numbers[1] in (numbers[-1], beyond)
    assert (numbers[1] == numbers[-1]) == (exact == Fraction(numbers[1]))


# -- calls --


def test_a_call_has_every_element_within_its_range() -> None:
    call = eva._call(program(), target(), {"q": [(-1, 2), (Fraction(1, 2), 4)]})
    assert call["function"] == FUNCTION
    assert call["symbol"] == "arm_gravity_force"
    assert call["ports"] == [{"name": "q", "size": 2}, {"name": "g", "size": 2}]
    ranges = [
        (
            element["name"],
            element["index"],
            *(float.fromhex(element[end]) for end in ("low", "high")),
        )
        for element in call["elements"]
    ]
    assert ranges == [("q", 0, -1, 2), ("q", 1, 0.5, 4)]
    assert call["results"] == [{"name": "g", "last": 1}]


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({}, "gravity_force takes 2 numbers for q, but 0 ranges are given"),
        ({"q": [(0, 1)]}, "gravity_force takes 2 numbers for q, but 1 ranges are given"),
        ({"q": [(0, 1), (1, 0)]}, r"the range of q\[1\], from 1 to 0, is empty or infinite"),
        ({"q": [(0, np.inf), (0, 1)]}, r"the range of q\[0\], from 0 to inf, is empty or infinite"),
        ({"q": [(-np.inf, 0), (0, 1)]}, r"the range of q\[0\], from -inf to 0, is empty or"),
    ],
)
def test_wrong_ranges_are_refused(ranges: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        eva._call(program(), target(), ranges)


def test_a_range_of_one_number_is_a_range() -> None:
    assert (
        eva._call(program(), target(), {"q": [(1, 1), (0, 0)]})["elements"][0]["low"]
        == "0x1.0000000000000p+0"
    )


# -- the report --

TEXTS = {"arm_gravity_force.c": "first\n  second;\n", "driver.c": "call\n", "arm.h": "header\n"}


def row(
    file: str, function: str, status: str, kind: str = "user_assertion", line: int = 1
) -> dict[str, str]:
    kind = kind.replace("_", " ") if kind == "user_assertion" else kind
    return {
        "file": f"x/{file}",
        "function": function,
        "status": status,
        "property kind": kind,
        "line": str(line),
    }


ENDS = [row("driver.c", "run_gravity_force", "Valid")] * 2
"""Both assertions behind the call of a function of one result."""


def alarms(*rows: Mapping[str, str], also: str = "") -> dict[str, tuple[eva.Alarm, ...]]:
    programs = {FUNCTION: program()} | ({also: program()} if also else {})
    return eva._alarms_by_function(rows, TEXTS, programs, target())


def test_a_function_whose_end_is_reached_without_alarms_is_proved() -> None:
    valid = row("arm_gravity_force.c", "arm_gravity_force", "Considered valid", "division_by_zero")
    assert alarms(*ENDS, valid) == {FUNCTION: ()}


@pytest.mark.parametrize("ends", [[], ENDS[:1], ENDS + ENDS[:1]])
def test_a_function_whose_end_is_not_reached_is_not_proved(ends: list[dict[str, str]]) -> None:
    (alarm,) = alarms(*ends)[FUNCTION]
    assert (alarm.kind, alarm.file) == ("end not reached", "arm_gravity_force.c")


def test_each_result_has_two_assertions_at_the_end() -> None:
    two_results = replace(program(), outputs=(Port("g", (1,), (6,)), Port("h", (1,), (7,))))
    for count, proved in ((2, False), (4, True)):
        result = eva._alarms_by_function(ENDS[:1] * count, TEXTS, {FUNCTION: two_results}, target())
        assert (result[FUNCTION] == ()) is proved


def test_a_status_that_is_not_valid_is_an_alarm_with_its_line() -> None:
    unknown = row("arm_gravity_force.c", "arm_gravity_force", "Unknown", "division_by_zero", 2)
    (alarm,) = alarms(*ENDS, unknown)[FUNCTION]
    assert alarm == eva.Alarm("division by zero", "arm_gravity_force.c", 2, "second;")
    failed_end = alarms(ENDS[0], row("driver.c", "run_gravity_force", "Unknown"))
    assert [alarm.text for alarm in failed_end[FUNCTION]] == ["call"]


def test_an_alarm_in_a_shared_file_is_one_of_every_function() -> None:
    ends = [*ENDS, *[row("driver.c", "run_mass_matrix", "Valid")] * 2]
    shared = alarms(*ends, row("arm.h", "x", "Unknown"), also="mass_matrix")
    assert shared[FUNCTION] == shared["mass_matrix"]
    assert [alarm.text for alarm in shared[FUNCTION]] == ["header"]
    single = alarms(*ends, row("arm_gravity_force.c", "x", "Unknown"), also="mass_matrix")
    assert (len(single[FUNCTION]), len(single["mass_matrix"])) == (1, 0)


def test_dead_lines_of_the_sines_are_no_alarms() -> None:
    texts = TEXTS | {"arm_sincos.h": "sine\n"}
    for file, count in (("arm_sincos.h", 0), ("arm.h", 1)):
        rows = [*ENDS, row(file, "x", "Dead")]
        result = eva._alarms_by_function(rows, texts, {FUNCTION: program()}, target("inline"))
        assert len(result[FUNCTION]) == count


# -- attempts --


def test_sizes_are_admitted_only_as_far_as_they_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With none, then one, two and four of five; a function that is proved is not tried again."""
    attempts: list[dict[str, list[int]]] = []

    def attempt(
        programs: Any, _: Any, ranges: Any, divisors: Any, sizes: Any
    ) -> dict[str, eva.Proof]:
        attempts.append({f: list(sizes.get(f, ())) for f in programs})
        alarm = eva.Alarm("k", "f", 1, "t")
        needed = {FUNCTION: 3, "mass_matrix": 0, "bias_force": 99}
        return {
            f: eva.Proof(
                f, "m", "double", () if len(sizes.get(f, ())) >= needed[f] else (alarm,), ()
            )
            for f in programs
        }

    monkeypatch.setattr(eva, "_attempt", attempt)
    programs = dict.fromkeys((FUNCTION, "mass_matrix", "bias_force"), program())
    sizes = {f: dict.fromkeys(range(10, 15), Fraction(1)) for f in (FUNCTION, "mass_matrix")}
    proofs = eva.prove(programs, target(), {}, {}, sizes)
    assert attempts == [
        {FUNCTION: [], "mass_matrix": [], "bias_force": []},
        {FUNCTION: [10]},
        {FUNCTION: [10, 11]},
        {FUNCTION: [10, 11, 12, 13]},
    ]
    assert [proofs[f].proved for f in programs] == [True, True, False]
    attempts.clear()
    eva.prove({"bias_force": program()}, target(), {}, {}, {"bias_force": sizes[FUNCTION]})
    assert [len(next(iter(x.values()))) for x in attempts] == [0, 1, 2, 4, 5]
    attempts.clear()
    assert eva.prove({}, target(), {}) == {}
    assert not attempts


# -- the program frama-c --


def tool(folder: Path, script: str) -> None:
    path = folder / "frama-c"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="on Debian 'apt install frama-c-base' brings it"):
        eva._run(tmp_path, [])


def test_rows_of_the_report_are_read_without_those_of_the_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    report = 'directory\\tfile\\n.\\ta"b.c\\nFRAMAC_SHARE/libc\\tmath.h\\n'
    tool(tmp_path, f"printf '{report}' > properties.csv")
    assert eva._run(tmp_path, ["a.c"]) == [{"directory": ".", "file": 'a"b.c'}]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo; echo '  [kernel] User Error: no main '; exit 1",
            r"\[kernel\] User Error: no main$",
        ),
        ("echo nothing; exit 1", "no reason given"),
        ("echo 'error: late'; exit 0", "error: late"),
        ("touch properties.csv; exit 3", "no reason given"),
    ],
)
def test_a_refused_text_has_the_first_error_as_its_reason(
    script: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    tool(tmp_path, script)
    with pytest.raises(BuildError, match=f"^frama-c refused the generated text: {reason}"):
        eva._run(tmp_path, [])


# -- inertias of stretched arms --


def carriage() -> Mechanism:
    """Return a slide, a hinge 1.5 m from it, and a slide 1/2 m from that."""
    builder = symgen.Robot("carriage")
    parent = "base"
    for name, kind, offset, mass, centre in (
        ("cart", "prismatic", 2, 3, (0.5, 0, 0)),
        ("arm", "revolute", 1.5, 2, (0, 1, 0)),
        ("lift", "prismatic", 0.5, 1, (0, 0, 2)),
    ):
        builder.body(
            name, parent=parent, type=kind, axis=(0, 0, 1), xyz=(0, offset, 0), mass=mass,
            centre=centre, inertia=(1, 0, 0, 1, 0, 1),
        )  # fmt: skip
        parent = name
    return builder.frame("hook", "lift", xyz=(3, 0, 4)).build()


def test_joints_travel_within_their_ranges() -> None:
    assert travels(carriage(), declared_ranges(carriage()).of) == [1, 0, 1]


def test_carried_inertias_are_those_of_the_stretched_arm() -> None:
    """A body of the spread s = tr/2 + m c² at the distance d has at most (d √m + √s)²."""
    model = declared(carriage())
    spreads = [1.5 + 3 * 0.25, 1.5 + 2, 1.5 + 4]
    lift = spreads[2]
    arm = spreads[1] + (1.5 + np.sqrt(spreads[2])) ** 2  # 1/2 m and the travel of 1 m
    cart = (
        spreads[0] + (1.5 * np.sqrt(2) + np.sqrt(spreads[1])) ** 2 + (3 + np.sqrt(spreads[2])) ** 2
    )
    expected = [(cart, 6), (arm, 3), (lift, 1)]
    assert np.allclose(carried_inertias(model, [1, 0, 1]), expected, rtol=1e-12)


def test_the_heaviest_load_is_at_the_edge_of_its_ranges() -> None:
    """5 kg at the hook, 5 m from the lift's origin, with half the trace of 0.2 kg m² thrice."""
    model = declared(carriage())
    load = heaviest(carriage(), model, "hook", declared_ranges(carriage()).of)
    assert (load.link, load.away, load.mass) == (2, pytest.approx(5), 5)
    assert load.spread == pytest.approx(0.3)
    with_load = np.array(carried_inertias(model, [1, 0, 1], load))
    added = with_load - np.array(carried_inertias(model, [1, 0, 1]))
    reach = np.array([5 + 1.5 + 1.5, 5 + 1.5, 5])
    assert np.allclose(added[:, 0], (reach * np.sqrt(5) + np.sqrt(0.3)) ** 2)
    assert np.allclose(added[:, 1], 5)
