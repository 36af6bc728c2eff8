"""Frama-C's Eva over the joints' ranges: what is proved of every function, and that it sees what is planted.

The floors admitted here are half of the least divisor that random states show; what they are in truth is another proof's matter.
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
SOME = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "mass_matrix_log_determinant")
"""The functions of Panda that are looked at where the tools are not required."""


def ranges(mechanism: Mechanism) -> dict[str, list[tuple[float, float]]]:
    """Positions, rates and forces within the declared limits, and by what is usual where there are none."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("q", "v", "a", "tau", "b")}
    for joint in mechanism.joints:
        low, high = joint.limits.lower, joint.limits.upper
        wide = 1.0 if joint.kind == "prismatic" else math.pi
        found["q"].append(
            (-wide, wide) if low is None or high is None else (float(low), float(high))
        )
        for name, size in (
            ("v", joint.limits.velocity or 10),
            ("tau", joint.limits.effort or 100),
            ("a", 20),
            ("b", 20),
        ):
            found[name].append((-float(size), float(size)))
    return found | {"dt": [(-1.0, 1.0)], "q_next": found["q"]}


def values(
    program: Program, mechanism: Mechanism, rows: Iterable[int], count: int = 300
) -> dict[int, np.ndarray]:
    """What some rows are at random states."""
    chosen = tuple(rows)
    if not chosen:
        return {}
    found = run(
        program.with_rows(program.rows, [Port("chosen", (len(chosen),), chosen)]),
        draw(mechanism, count),
    )["chosen"]
    return dict(zip(chosen, found.T, strict=True))


def floors(program: Program, mechanism: Mechanism) -> dict[int, Fraction]:
    """A floor for all that is divided by, and all whose logarithm or root is taken."""
    rows = {row.args[-1] for row in program.rows if row.op in ("div", "log", "sqrt")}
    return {
        row: Fraction(float(found.min())) / 2
        for row, found in values(program, mechanism, sorted(rows)).items()
    }


def own(mechanism: Mechanism) -> c99.Target:
    return c99.Target(mechanism.name, mechanism.sizes)


@cache
def made(robot: str, real: str) -> dict[str, Program]:
    mechanism = load(robot)
    return build.programs(
        mechanism,
        None if REQUIRED or robot != "panda" else SOME,
        ProgramOptions(real, frame=tip(mechanism)),
    )


@cache
def proofs(robot: str, real: str) -> dict[str, eva.Proof]:
    tool("frama-c")
    mechanism, programs, spans = load(robot), made(robot, real), ranges(load(robot))
    lowest = {f: floors(program, mechanism) for f, program in programs.items()}
    options = ProgramOptions(real, frame=tip(mechanism))
    sizes = {
        f: multiplier_sizes(Recognition(mechanism, program, options), spans, lowest[f])
        for f, program in programs.items()
    }
    return eva.prove(programs, own(mechanism), spans, lowest, sizes)


@pytest.mark.parametrize(("robot", "real"), CASES)
def test_everything_is_proved(robot: str, real: str) -> None:
    assert [line for line in eva.lines(proofs(robot, real)) if "possible: " in line] == []
    assert all(proof.proved for proof in proofs(robot, real).values())


@pytest.mark.parametrize(("robot", "real"), CASES)
def test_only_what_divides_takes_anything_on_trust(robot: str, real: str) -> None:
    assert {"inverse_dynamics", "mass_matrix"} <= {
        f for f, proof in proofs(robot, real).items() if not proof.admitted
    }
    for function, proof in proofs(robot, real).items():
        divisors = {
            row.args[-1]
            for row in made(robot, real)[function].rows
            if row.op in ("div", "log", "sqrt")
        }
        assert len([line for line in proof.admitted if not line.startswith("-")]) == len(divisors)
        assert bool(proof.admitted) == bool(divisors)


def test_panda_in_float_takes_one_multiplier_on_trust_besides_the_divisors() -> None:
    admitted = proofs("panda", "float")["forward_dynamics"].admitted
    assert [re.findall(r"[a-z]\w+", line) for line in admitted if not line.startswith("D_")] == [
        ["alpha_1_2"]
    ]


def test_an_own_sine_is_admitted_to_be_one_and_looked_through_for_the_rest() -> None:
    tool("frama-c")
    mechanism, programs, spans = load("scara"), made("scara", "double"), ranges(load("scara"))
    target = c99.Target("scara", mechanism.sizes, TextOptions("inline"))
    lowest = {f: floors(program, mechanism) for f, program in programs.items()}
    found = eva.prove(programs, target, spans, lowest)
    assert all(proof.proved for proof in found.values())
    assert all(
        (eva.TURNS in proof.admitted)
        == bool(programs[f].operations["sin"] + programs[f].operations["cos"])
        for f, proof in found.items()
    )
    texts, _ = eva.sources(programs, target, lowest, {})
    assert texts["scara_sincos.h"].count(f"//@ admit {eva.TURNS};") == 1
    texts["scara_sincos.h"] = texts["scara_sincos.h"].replace("fabs(m)", "sqrt(m)")
    assert any(
        alarm.file == "scara_sincos.h"
        for alarm in eva.analyse(texts, programs, target, spans)["mass_matrix"]
    )


def test_own_sines_in_a_loop_are_looked_at_angle_by_angle() -> None:
    """The mass matrix has one angle, and no loop. Beyond the range of the own sines it is libm's that count."""
    tool("frama-c")
    mechanism, spans = load("planar_arm"), ranges(load("planar_arm"))
    programs = {
        f: made("planar_arm", "double")[f]
        for f in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    }
    target = c99.Target("planar_arm", mechanism.sizes, TextOptions("auto"))
    lowest = {f: floors(program, mechanism) for f, program in programs.items()}
    found = eva.prove(programs, target, spans, lowest)
    assert all(proof.proved for proof in found.values())
    assert [f for f, proof in found.items() if eva.ALL_TURNS in proof.admitted] == [
        "inverse_dynamics",
        "forward_dynamics",
    ]

    one, far = (
        {"inverse_dynamics": programs["inverse_dynamics"]},
        spans | {"q": [(-(10**6), 10**6)] * 2},
    )
    texts, _ = eva.sources(one, target, {}, {})

    def seen(old: str, new: str, given: dict[str, list[tuple[float, float]]]) -> bool:
        assert texts["planar_arm_sincos.h"].count(old) == 1
        broken = texts | {"planar_arm_sincos.h": texts["planar_arm_sincos.h"].replace(old, new)}
        alarms = eva.analyse(broken, one, target, given)["inverse_dynamics"]
        return any(alarm.file == "planar_arm_sincos.h" for alarm in alarms)

    assert not seen("fabs(m)", "fabs(m)", far)
    assert seen("fabs(m)", "sqrt(m)", spans)
    assert seen("x = angle[i]", "x = angle[i + 1]", spans)
    assert seen(" cos(angle[i])", " sqrt(angle[i])", far)
    assert not seen(" cos(angle[i])", " sqrt(angle[i])", spans)


def test_every_admitted_line_is_printed() -> None:
    found = proofs("scara", "double")
    printed = eva.lines(found)
    for function, proof in found.items():
        said = f"{function} ({proof.method}, double): no out-of-bounds"
        place = next(i for i, line in enumerate(printed) if line.startswith(said))
        assert printed[place + 1 :][: len(proof.admitted)] == [
            f"  admitted: {line}" for line in proof.admitted
        ]
        assert proof.facts["proved"] is True
        assert proof.facts["admitted"] == proof.admitted
    assert len(printed) == sum(1 + len(proof.admitted) for proof in found.values())


@pytest.mark.parametrize(
    ("function", "method"),
    [
        ("forward_dynamics", "composite_body"),
        ("forward_dynamics", "riccati"),
        ("link_accelerations", "riccati"),
    ],
)
@pytest.mark.parametrize("name", [*BUILT_IN, "chain5", "tree5"])
def test_multipliers_keep_to_their_sizes(name: str, function: str, method: str) -> None:
    mechanism, program = robot(name), robots_for_tests.program(name, function, method)
    sizes = multiplier_sizes(
        Recognition(mechanism, program, ProgramOptions()),
        ranges(mechanism),
        floors(program, mechanism),
    )
    found = values(program, mechanism, sizes)
    for row, seen in found.items():
        assert np.abs(seen).max() <= float(sizes[row]) / ROUND_OFF
    assert len(sizes) >= 15 or name != "panda"


def test_what_a_stretched_arm_carries_is_the_most_that_it_can() -> None:
    """Masses of 1, 2 and 3 kg, 1 m apart; the moment about each joint, and the mass."""
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


# Planted: into the C of Panda's or scara's forward dynamics, all floors admitted.


def alarms(robot: str, pattern: str, spoilt: str, admit: bool = True) -> tuple[eva.Alarm, ...]:
    """Eva's on forward dynamics in float, one match of a pattern replaced in the text."""
    tool("frama-c")
    mechanism, function = load(robot), "forward_dynamics"
    programs = build.programs(mechanism, [function], ProgramOptions("float"))
    lowest = {function: floors(programs[function], mechanism)} if admit else {}
    texts, _ = eva.sources(programs, own(mechanism), lowest, {})
    file = own(mechanism).file(function)
    text, count = re.subn(pattern, spoilt, texts[file], count=1)
    assert count == 1
    return eva.analyse(texts | {file: text}, programs, own(mechanism), ranges(mechanism))[function]


LAST = r"    a\[3\] = (.*);"
DIVISOR = "D_1"


@pytest.mark.parametrize(
    ("pattern", "spoilt", "kind"),
    [
        (rf"/{DIVISOR};", f"/({DIVISOR} - {DIVISOR});", "division by zero|is nan or infinite"),
        (rf"/{DIVISOR};", "/v[0];", "division by zero|is nan or infinite"),
        (LAST, r"    a[4] = \1;", "mem access|index bound"),
        (LAST, r"    a[3] = q[4];", "mem access|index bound|initialization"),
        (LAST, r"    float t0; a[3] = t0;", "initialization"),
        (LAST, "", "user assertion"),
        (LAST, r"    a[3] = (\1)*1e30f*1e30f;", "is nan or infinite"),
        (LAST, r"    a[3] = sqrtf(q[0]);", "is nan or infinite|precondition of sqrtf"),
        (LAST, r"    a[3] = logf(q[0]);", "is nan or infinite|precondition of logf"),
        (
            rf"const float {DIVISOR} = .*;",
            f"const float {DIVISOR} = 0.0f;",
            "user assertion",
        ),  # what is admitted contradicts it
    ],
)
def test_a_planted_error_is_caught(pattern: str, spoilt: str, kind: str) -> None:
    found = alarms("scara", pattern, spoilt)
    assert found
    assert any(re.fullmatch(kind, alarm.kind) for alarm in found), found


def test_nothing_is_caught_where_nothing_is_planted() -> None:
    assert alarms("scara", LAST, r"    a[3] = \1;") == ()


def test_what_is_caught_in_a_shared_file_counts_for_every_function() -> None:
    tool("frama-c")
    mechanism = load("scara")
    programs = build.programs(mechanism, ["gravity_force", "mass_matrix"])
    texts, _ = eva.sources(programs, own(mechanism), {}, {})
    texts["scara.h"] = texts["scara.h"].replace(
        "#define scara_NQ", "double scara_shared(double x);\n#define scara_NQ", 1
    )
    texts["scara_shared.c"] = (
        '#include "scara.h"\ndouble scara_shared(double x)\n{\n    return 1.0/x;\n}\n'
    )
    file = "scara_mass_matrix.c"
    texts[file] = texts[file].replace("cos(q[1])", "scara_shared(q[1])")
    found = eva.analyse(texts, programs, own(mechanism), ranges(mechanism))
    assert {alarm.text for alarm in found["gravity_force"]} == {"return 1.0/x;"}
    assert found["gravity_force"][0] in found["mass_matrix"]


def test_a_report_that_says_nothing_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eva, "_run", lambda *_: [])
    mechanism = load("scara")
    found = eva.prove(
        build.programs(mechanism, ["gravity_force"]), own(mechanism), ranges(mechanism)
    )
    assert [alarm.kind for alarm in found["gravity_force"].alarms] == ["end not reached"]
    assert eva.lines(found)[0].startswith("gravity_force (composite_body, double): not proved")


def test_a_divisor_whose_floor_is_not_admitted_is_caught() -> None:
    (first, *_) = alarms("scara", LAST, r"    a[3] = \1;", admit=False)
    assert f"/{DIVISOR}" in first.text
    assert first.file == "scara_forward_dynamics.c"


# What is analysed is the emitted text.


@pytest.mark.parametrize("real", REALS)
def test_the_copy_with_annotations_is_the_program(real: str) -> None:
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
        said = re.findall(
            r"^    const \w+ (\w+) = .*;\n    //@ admit ((\w+) [<>]= \S+);$", text, re.MULTILINE
        )
        assert len(said) == len(guarded) > 0
        assert all(declared == bounded for declared, _, bounded in said)
        assert sorted(line for _, line, _ in said) == sorted(admitted["inverse_dynamics"])
        for line, bound in zip(admitted["inverse_dynamics"], lowest.values(), strict=True):
            _, relation, number = line.split()
            assert relation == (">=" if bound >= 0 else "<=")
            assert 0 <= abs(bound) - abs(Fraction(number)) <= abs(bound) / 10**5
            assert bound * Fraction(number) >= 0
        assert compare(program, re.sub(r"    //@ .*\n", "", text), texts["arm.h"]) == []


def test_without_floors_the_text_is_the_emitted_one() -> None:
    mechanism = load("scara")
    programs = build.programs(mechanism, ["forward_dynamics"])
    texts, admitted = eva.sources(programs, own(mechanism), {}, {})
    assert texts["scara_forward_dynamics.c"] == c99.source(
        programs["forward_dynamics"], own(mechanism)
    )
    assert admitted == {"forward_dynamics": ()}


@pytest.mark.parametrize("real", REALS)
def test_ranges_and_floors_are_rounded_to_the_safe_side(real: str) -> None:
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


def test_what_cannot_be_asked_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = load("scara")
    programs, spans = build.programs(mechanism, ["gravity_force"]), ranges(mechanism)
    with pytest.raises(RequestError, match=r"takes 4 numbers for q, but 0 ranges are given"):
        eva.prove(programs, own(mechanism), {})
    with pytest.raises(RequestError, match=r"the range of q\[1\], from 1 to -1, is empty"):
        eva.prove(programs, own(mechanism), spans | {"q": [(0, 1), (1, -1), (0, 1), (0, 1)]})
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        BuildError, match="frama-c is not installed; on Debian 'apt install frama-c-base'"
    ):
        eva.prove(programs, own(mechanism), spans)
