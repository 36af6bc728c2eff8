"""Frama-C's Eva over the joint ranges: every function is proved free of run-time errors, and
planted errors are found.

The lower bounds of divisors admitted here are half of the least divisor at random states; another
proof certifies them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from symgen import load
from symgen.certificate.recognition import Recognition
from symgen.derivation.model.links import declared
from symgen.description.tip import tip
from symgen.emission.backends import c99
from symgen.emission.writer import live_rows
from symgen.ir.program import Port, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.derive import models
from symgen.readback.rows import compare
from symgen.support.errors import BuildError, RequestError
from symgen.verification.proof import eva
from symgen.verification.proof.finite import ROUND_OFF, carried_inertias, multiplier_sizes
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared import robots_for_tests
from tests.shared.analysers import REALS, REQUIRED, ROBOTS, tool
from tests.shared.c_programs import scrambled
from tests.shared.robots_for_tests import BUILT_IN, draw, point_mass_arm, robot, run

pytestmark = pytest.mark.firmware

CASES = (
    [(robot, real) for robot in ROBOTS for real in REALS]
    if REQUIRED
    else [("scara", "double"), ("panda", "float")]
)
FEW_FUNCTIONS = (
    "inverse_dynamics",
    "mass_matrix",
    "forward_dynamics",
    "mass_matrix_log_determinant",
)
"""Functions of Panda that are analysed if the tools are not required."""


def ranges(mechanism: Mechanism) -> dict[str, list[tuple[float, float]]]:
    """Return ranges of positions, rates and forces: the declared limits, or else usual values."""
    spans: dict[str, list[tuple[float, float]]] = {name: [] for name in ("q", "v", "a", "tau", "b")}
    for joint in mechanism.joints:
        low, high = joint.limits.lower, joint.limits.upper
        half_width = 1.0 if joint.kind == "prismatic" else math.pi
        spans["q"].append(
            (-half_width, half_width) if low is None or high is None else (float(low), float(high))
        )
        for name, size in (
            ("v", joint.limits.velocity or 10),
            ("tau", joint.limits.effort or 100),
            ("a", 20),
            ("b", 20),
        ):
            spans[name].append((-float(size), float(size)))
    return spans | {"dt": [(-1.0, 1.0)], "q_next": spans["q"]}


def values_of_rows(
    program: Program, mechanism: Mechanism, rows: Iterable[int], count: int = 300
) -> dict[int, np.ndarray]:
    """Return the values of some rows at random states."""
    chosen = tuple(rows)
    if not chosen:
        return {}
    results = run(
        program.with_rows(program.rows, [Port("chosen", (len(chosen),), chosen)]),
        draw(mechanism, count),
    )["chosen"]
    return dict(zip(chosen, results.T, strict=True))


def lower_bounds(program: Program, mechanism: Mechanism) -> dict[int, Fraction]:
    """Return a lower bound for each row that is a divisor or an argument of log or sqrt."""
    rows = {row.args[-1] for row in program.rows if row.op in ("div", "log", "sqrt")}
    return {
        row: Fraction(float(samples.min())) / 2
        for row, samples in values_of_rows(program, mechanism, sorted(rows)).items()
    }


def target_of(mechanism: Mechanism) -> c99.Target:
    return c99.Target(mechanism.name, mechanism.sizes)


@cache
def programs_of(robot: str, real: str) -> dict[str, Program]:
    mechanism = load(robot)
    return build.programs(
        mechanism,
        None if REQUIRED or robot != "panda" else FEW_FUNCTIONS,
        ProgramOptions(real, frame=tip(mechanism)),
    )


@cache
def proofs(robot: str, real: str) -> dict[str, eva.Proof]:
    tool("frama-c")
    mechanism, programs, spans = load(robot), programs_of(robot, real), ranges(load(robot))
    lowest = {f: lower_bounds(program, mechanism) for f, program in programs.items()}
    options = ProgramOptions(real, frame=tip(mechanism))
    sizes = {
        f: multiplier_sizes(Recognition(mechanism, program, options), spans, lowest[f])
        for f, program in programs.items()
    }
    return eva.prove(programs, target_of(mechanism), spans, lowest, sizes)


@pytest.mark.parametrize(("robot", "real"), CASES)
def test_every_function_is_proved(robot: str, real: str) -> None:
    assert [line for line in eva.lines(proofs(robot, real)) if "possible: " in line] == []
    assert all(proof.proved for proof in proofs(robot, real).values())


@pytest.mark.parametrize(("robot", "real"), CASES)
def test_only_divisors_have_admitted_bounds(robot: str, real: str) -> None:
    assert {"inverse_dynamics", "mass_matrix"} <= {
        f for f, proof in proofs(robot, real).items() if not proof.admitted
    }
    for function, proof in proofs(robot, real).items():
        divisors = {
            row.args[-1]
            for row in programs_of(robot, real)[function].rows
            if row.op in ("div", "log", "sqrt")
        }
        assert len([line for line in proof.admitted if not line.startswith("-")]) == len(divisors)
        assert bool(proof.admitted) == bool(divisors)


def test_panda_in_float_has_one_admitted_multiplier_besides_divisors() -> None:
    admitted = proofs("panda", "float")["forward_dynamics"].admitted
    assert [re.findall(r"[a-z]\w+", line) for line in admitted if not line.startswith("D_")] == [
        ["alpha_1_2"]
    ]


def test_inline_sines_are_admitted_at_most_one_and_otherwise_analysed() -> None:
    tool("frama-c")
    mechanism, programs, spans = (
        load("scara"),
        programs_of("scara", "double"),
        ranges(load("scara")),
    )
    target = c99.Target("scara", mechanism.sizes, TextOptions("inline"))
    lowest = {f: lower_bounds(program, mechanism) for f, program in programs.items()}
    proofs_of_scara = eva.prove(programs, target, spans, lowest)
    assert all(proof.proved for proof in proofs_of_scara.values())
    assert all(
        (eva.TURNS in proof.admitted)
        == bool(programs[f].operations["sin"] + programs[f].operations["cos"])
        for f, proof in proofs_of_scara.items()
    )
    texts, _ = eva.sources(programs, target, lowest, {})
    assert texts["scara_sincos.h"].count(f"//@ admit {eva.TURNS};") == 1
    texts["scara_sincos.h"] = texts["scara_sincos.h"].replace("fabs(m)", "sqrt(m)")
    assert any(
        alarm.file == "scara_sincos.h"
        for alarm in eva.analyse(texts, programs, target, spans)["mass_matrix"]
    )


def test_inline_sines_in_a_loop_are_analysed_angle_by_angle() -> None:
    """The mass matrix has one angle and no loop; beyond the range of inline sines, libm's sines are
    analysed.
    """
    tool("frama-c")
    mechanism, spans = load("planar_arm"), ranges(load("planar_arm"))
    programs = {
        f: programs_of("planar_arm", "double")[f]
        for f in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    }
    target = c99.Target("planar_arm", mechanism.sizes, TextOptions("auto"))
    lowest = {f: lower_bounds(program, mechanism) for f, program in programs.items()}
    proofs_of_arm = eva.prove(programs, target, spans, lowest)
    assert all(proof.proved for proof in proofs_of_arm.values())
    assert [f for f, proof in proofs_of_arm.items() if eva.ALL_TURNS in proof.admitted] == [
        "inverse_dynamics",
        "forward_dynamics",
    ]

    inverse_dynamics, far_spans = (
        {"inverse_dynamics": programs["inverse_dynamics"]},
        spans | {"q": [(-(10**6), 10**6)] * 2},
    )
    texts, _ = eva.sources(inverse_dynamics, target, {}, {})

    def has_alarm(old: str, new: str, argument_spans: dict[str, list[tuple[float, float]]]) -> bool:
        assert texts["planar_arm_sincos.h"].count(old) == 1
        broken = texts | {"planar_arm_sincos.h": texts["planar_arm_sincos.h"].replace(old, new)}
        alarms = eva.analyse(broken, inverse_dynamics, target, argument_spans)["inverse_dynamics"]
        return any(alarm.file == "planar_arm_sincos.h" for alarm in alarms)

    assert not has_alarm("fabs(m)", "fabs(m)", far_spans)
    assert has_alarm("fabs(m)", "sqrt(m)", spans)
    assert has_alarm("x = angle[i]", "x = angle[i + 1]", spans)
    assert has_alarm(" cos(angle[i])", " sqrt(angle[i])", far_spans)
    assert not has_alarm(" cos(angle[i])", " sqrt(angle[i])", spans)


def test_every_admitted_line_is_printed() -> None:
    proofs_of_scara = proofs("scara", "double")
    printed = eva.lines(proofs_of_scara)
    for function, proof in proofs_of_scara.items():
        opening = f"{function} ({proof.method}, double): no out-of-bounds"
        index = next(i for i, line in enumerate(printed) if line.startswith(opening))
        assert printed[index + 1 :][: len(proof.admitted)] == [
            f"  admitted: {line}" for line in proof.admitted
        ]
        assert proof.facts["proved"] is True
        assert proof.facts["admitted"] == proof.admitted
    assert len(printed) == sum(1 + len(proof.admitted) for proof in proofs_of_scara.values())


@pytest.mark.parametrize(
    ("function", "method"),
    [
        ("forward_dynamics", "composite_body"),
        ("forward_dynamics", "riccati"),
        ("link_accelerations", "riccati"),
    ],
)
@pytest.mark.parametrize("name", [*BUILT_IN, "chain5", "tree5"])
def test_multipliers_stay_below_their_bounds(name: str, function: str, method: str) -> None:
    mechanism, program = robot(name), robots_for_tests.program(name, function, method)
    sizes = multiplier_sizes(
        Recognition(mechanism, program, ProgramOptions()),
        ranges(mechanism),
        lower_bounds(program, mechanism),
    )
    samples = values_of_rows(program, mechanism, sizes)
    for row, multiplier in samples.items():
        assert np.abs(multiplier).max() <= float(sizes[row]) / ROUND_OFF
    assert len(sizes) >= 15 or name != "panda"


def test_the_bound_of_carried_inertia_is_that_of_the_stretched_arm() -> None:
    """Masses of 1, 2, 3 kg, 1 m apart; (moment of inertia about the joint, mass) for each joint."""
    model = models(point_mass_arm(1, 2, 3))[0]
    assert np.array(carried_inertias(model, [0, 0, 0])) == pytest.approx(
        np.array([(1 + 2 * 4 + 3 * 9, 6), (2 + 3 * 4, 5), (3, 3)])
    )
    sliding = replace(
        point_mass_arm(1, 2),
        joints=tuple(replace(j, kind="prismatic") for j in point_mass_arm(1, 2).joints),
    )
    assert np.array(carried_inertias(declared(sliding), [5, 7])) == pytest.approx(
        np.array([(1 + 2 * (1 + 1 + 7) ** 2, 3), (2, 2)])
    )


# Errors planted in the C of forward dynamics; all lower bounds of divisors are admitted.


def alarms_with_error(
    robot: str, pattern: str, spoilt: str, admit_bounds: bool = True
) -> tuple[eva.Alarm, ...]:
    """Return Eva's alarms on forward dynamics in float with one match of a pattern replaced."""
    tool("frama-c")
    mechanism, function = load(robot), "forward_dynamics"
    programs = build.programs(mechanism, [function], ProgramOptions("float"))
    lowest = {function: lower_bounds(programs[function], mechanism)} if admit_bounds else {}
    texts, _ = eva.sources(programs, target_of(mechanism), lowest, {})
    file = target_of(mechanism).c_file(function)
    text, count = re.subn(pattern, spoilt, texts[file], count=1)
    assert count == 1
    return eva.analyse(texts | {file: text}, programs, target_of(mechanism), ranges(mechanism))[
        function
    ]


LAST_STORE = r"    a\[3\] = (.*);"
DIVISOR = "D_1"


@pytest.mark.parametrize(
    ("pattern", "spoilt", "kind"),
    [
        (rf"/{DIVISOR};", f"/({DIVISOR} - {DIVISOR});", "division by zero|is nan or infinite"),
        (rf"/{DIVISOR};", "/v[0];", "division by zero|is nan or infinite"),
        (LAST_STORE, r"    a[4] = \1;", "mem access|index bound"),
        (LAST_STORE, r"    a[3] = q[4];", "mem access|index bound|initialization"),
        (LAST_STORE, r"    float t0; a[3] = t0;", "initialization"),
        (LAST_STORE, "", "user assertion"),
        (LAST_STORE, r"    a[3] = (\1)*1e30f*1e30f;", "is nan or infinite"),
        (LAST_STORE, r"    a[3] = sqrtf(q[0]);", "is nan or infinite|precondition of sqrtf"),
        (LAST_STORE, r"    a[3] = logf(q[0]);", "is nan or infinite|precondition of logf"),
        (
            rf"const float {DIVISOR} = .*;",
            f"const float {DIVISOR} = 0.0f;",
            "user assertion",
        ),  # contradicts the admitted bound
    ],
)
def test_a_planted_error_raises_an_alarm(pattern: str, spoilt: str, kind: str) -> None:
    raised = alarms_with_error("scara", pattern, spoilt)
    assert raised
    assert any(re.fullmatch(kind, alarm.kind) for alarm in raised), raised


def test_the_correct_text_raises_no_alarm() -> None:
    assert alarms_with_error("scara", LAST_STORE, r"    a[3] = \1;") == ()


def test_an_alarm_in_a_shared_file_counts_for_every_function() -> None:
    tool("frama-c")
    mechanism = load("scara")
    programs = build.programs(mechanism, ["gravity_force", "mass_matrix"])
    texts, _ = eva.sources(programs, target_of(mechanism), {}, {})
    texts["scara.h"] = texts["scara.h"].replace(
        "#define scara_NQ", "double scara_shared(double x);\n#define scara_NQ", 1
    )
    texts["scara_shared.c"] = (
        '#include "scara.h"\ndouble scara_shared(double x)\n{\n    return 1.0/x;\n}\n'
    )
    file = "scara_mass_matrix.c"
    texts[file] = texts[file].replace("cos(q[1])", "scara_shared(q[1])")
    raised = eva.analyse(texts, programs, target_of(mechanism), ranges(mechanism))
    assert {alarm.text for alarm in raised["gravity_force"]} == {"return 1.0/x;"}
    assert raised["gravity_force"][0] in raised["mass_matrix"]


def test_an_empty_report_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eva, "_run", lambda *_: [])
    mechanism = load("scara")
    unproved = eva.prove(
        build.programs(mechanism, ["gravity_force"]), target_of(mechanism), ranges(mechanism)
    )
    assert [alarm.kind for alarm in unproved["gravity_force"].alarms] == ["end not reached"]
    assert eva.lines(unproved)[0].startswith("gravity_force (composite_body, double): not proved")


def test_a_divisor_without_an_admitted_bound_raises_an_alarm() -> None:
    (first, *_) = alarms_with_error("scara", LAST_STORE, r"    a[3] = \1;", admit_bounds=False)
    assert f"/{DIVISOR}" in first.text
    assert first.file == "scara_forward_dynamics.c"


# The analysed text is the emitted text.


@pytest.mark.parametrize("real", REALS)
def test_the_annotated_text_without_annotations_is_the_program(real: str) -> None:
    for seed in range(8):
        program = scrambled(seed, real=real)
        guarded = sorted(
            {row.args[-1] for row in program.rows if row.op in ("div", "log", "sqrt")}
            & set(live_rows(program))
        )
        lowest = {row: Fraction(k - 2, 7) for k, row in enumerate(guarded)}
        texts, admitted = eva.sources(
            {"inverse_dynamics": program},
            c99.Target("arm", Sizes(3, 3, 3)),
            {"inverse_dynamics": lowest},
            {},
        )
        text = texts["arm_inverse_dynamics.c"]
        annotations = re.findall(
            r"^    const \w+ (\w+) = .*;\n    //@ admit ((\w+) [<>]= \S+);$", text, re.MULTILINE
        )
        assert len(annotations) == len(guarded) > 0
        assert all(declared == bounded for declared, _, bounded in annotations)
        assert sorted(line for _, line, _ in annotations) == sorted(admitted["inverse_dynamics"])
        for line, bound in zip(admitted["inverse_dynamics"], lowest.values(), strict=True):
            _, relation, number = line.split()
            assert relation == (">=" if bound >= 0 else "<=")
            assert 0 <= abs(bound) - abs(Fraction(number)) <= abs(bound) / 10**5
            assert bound * Fraction(number) >= 0
        assert compare(program, re.sub(r"    //@ .*\n", "", text), texts["arm.h"]) == []


def test_without_bounds_the_analysed_text_is_the_emitted_text() -> None:
    mechanism = load("scara")
    programs = build.programs(mechanism, ["forward_dynamics"])
    texts, admitted = eva.sources(programs, target_of(mechanism), {}, {})
    assert texts["scara_forward_dynamics.c"] == c99.source(
        programs["forward_dynamics"], target_of(mechanism)
    )
    assert admitted == {"forward_dynamics": ()}


@pytest.mark.parametrize("real", REALS)
def test_ranges_are_rounded_outward_and_bounds_toward_zero(real: str) -> None:
    source = Random(5)
    for _ in range(500):
        bound = Fraction(source.randint(-(10**6), 10**6), source.randint(1, 10**6)) * Fraction(
            10
        ) ** source.randint(-20, 20)
        low, high = (
            Fraction(float.fromhex(eva.outward(bound, sign, real).rstrip("f"))) for sign in (-1, 1)
        )
        assert low <= bound <= high
        assert high - low <= abs(bound) / 2**20
        if bound > 0:
            assert bound * (1 - Fraction(1, 10**5)) <= Fraction(eva.decimal(bound)) <= bound


def test_missing_or_empty_ranges_and_a_missing_tool_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = load("scara")
    programs, spans = build.programs(mechanism, ["gravity_force"]), ranges(mechanism)
    with pytest.raises(RequestError, match=r"takes 4 numbers for q, but 0 ranges are given"):
        eva.prove(programs, target_of(mechanism), {})
    with pytest.raises(RequestError, match=r"the range of q\[1\], from 1 to -1, is empty"):
        eva.prove(programs, target_of(mechanism), spans | {"q": [(0, 1), (1, -1), (0, 1), (0, 1)]})
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        BuildError, match="frama-c is not installed; on Debian 'apt install frama-c-base'"
    ):
        eva.prove(programs, target_of(mechanism), spans)
