"""Frama-C's Eva over the joints' ranges: what is proved of every function, and that it sees what is planted.

The floors admitted here are half of the least divisor that random states show; what they are in truth is another proof's matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from symgen import eva, generation, load, readback
from symgen.backends import c99
from symgen.errors import BuildError, RequestError
from symgen.generation import Options, tip
from symgen.ir import Port, Program
from symgen.mechanism import Mechanism
from symgen.multipliers import ROUND_OFF, multiplier_sizes
from tests.c_programs import scrambled
from tests.robots_for_tests import draw, run
from tests.test_clean_c import REALS, REQUIRED, ROBOTS, tool

pytestmark = pytest.mark.firmware

CASES = [(robot, real) for robot in ROBOTS for real in REALS] if REQUIRED else [("scara", "double"), ("panda", "float")]
SOME = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "mass_matrix_log_determinant")
"""The functions of Panda that are looked at where the tools are not required."""

NOT_PROVED = {
    ("panda", "float"): {"link_accelerations", "interbody_forces"},
    ("planar_point_mass", "float"): {"link_accelerations", "interbody_forces"},
}
"""Intervals alone cannot say that these do not overflow a float; those of double stay far from it."""


def ranges(mechanism: Mechanism) -> dict[str, list[tuple[float, float]]]:
    """Positions, rates and forces within the declared limits, and by what is usual where there are none."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("q", "v", "a", "tau", "b")}
    for joint in mechanism.joints:
        low, high = joint.limits.lower, joint.limits.upper
        wide = 1.0 if joint.kind == "prismatic" else math.pi
        found["q"].append((-wide, wide) if low is None or high is None else (float(low), float(high)))
        for name, size in (("v", joint.limits.velocity or 10), ("tau", joint.limits.effort or 100), ("a", 20), ("b", 20)):
            found[name].append((-float(size), float(size)))
    return found


def values(program: Program, mechanism: Mechanism, rows: Iterable[int], count: int = 300) -> dict[int, np.ndarray]:
    """What some rows are at random states."""
    chosen = tuple(rows)
    if not chosen:
        return {}
    found = run(program.with_rows(program.rows, [Port("chosen", (len(chosen),), chosen)]), draw(mechanism, count))["chosen"]
    return dict(zip(chosen, found.T, strict=True))


def floors(program: Program, mechanism: Mechanism) -> dict[int, Fraction]:
    """A floor for all that is divided by, and all whose logarithm or root is taken."""
    rows = {row.args[-1] for row in program.rows if row.op in ("div", "log", "sqrt")}
    return {row: Fraction(float(found.min()))/2 for row, found in values(program, mechanism, sorted(rows)).items()}


def own(mechanism: Mechanism) -> c99.Target:
    return c99.Target(mechanism.name, mechanism.nq, mechanism.nv)


@cache
def made(robot: str, real: str) -> dict[str, Program]:
    mechanism = load(robot)
    return generation.programs(mechanism, None if REQUIRED or robot != "panda" else SOME, Options(real, frame=tip(mechanism)))


@cache
def proofs(robot: str, real: str) -> dict[str, eva.Proof]:
    tool("frama-c")
    mechanism, programs, spans = load(robot), made(robot, real), ranges(load(robot))
    lowest = {function: floors(program, mechanism) for function, program in programs.items()}
    sizes = {function: multiplier_sizes(program, spans, lowest[function]) for function, program in programs.items()}
    return eva.prove(programs, own(mechanism), spans, lowest, sizes)


@pytest.mark.parametrize(("robot", "real"), CASES)
def test_everything_is_proved_but_what_is_listed(robot: str, real: str) -> None:
    found = proofs(robot, real)
    wanted = NOT_PROVED.get((robot, real), set()) & set(found)
    assert {function for function, proof in found.items() if not proof.proved} == wanted
    alarms = [alarm for proof in found.values() for alarm in proof.alarms]
    assert {alarm.kind for alarm in alarms} <= {"is nan or infinite"}


@pytest.mark.parametrize(("robot", "real"), CASES)
def test_only_what_divides_takes_anything_on_trust(robot: str, real: str) -> None:
    for function, proof in proofs(robot, real).items():
        divisors = {row.args[-1] for row in made(robot, real)[function].rows if row.op in ("div", "log", "sqrt")}
        assert len([line for line in proof.admitted if not line.startswith("-")]) == len(divisors)
        assert bool(proof.admitted) == bool(divisors)
    for function in ("inverse_dynamics", "mass_matrix"):
        assert proofs(robot, real)[function].proved
        assert not proofs(robot, real)[function].admitted


def test_panda_in_float_takes_one_multiplier_on_trust_besides_the_divisors() -> None:
    admitted = proofs("panda", "float")["forward_dynamics"].admitted
    assert [re.findall(r"[a-z]\w+", line) for line in admitted if not line.startswith("D_")] == [["alpha_1_2"]]


def test_every_admitted_line_is_printed() -> None:
    found = proofs("scara", "double")
    printed = eva.lines(found)
    for function, proof in found.items():
        said = f"{function} ({proof.method}, double): no out-of-bounds"
        place = next(i for i, line in enumerate(printed) if line.startswith(said))
        assert printed[place + 1:][:len(proof.admitted)] == [f"  admitted: {line}" for line in proof.admitted]
        assert proof.facts["proved"] is True
        assert proof.facts["admitted"] == proof.admitted
    assert len(printed) == sum(1 + len(proof.admitted) for proof in found.values())


@pytest.mark.parametrize("robot", ["panda", "ur5", "puma560"])
def test_multipliers_keep_to_their_sizes(robot: str) -> None:
    mechanism = load(robot)
    program = generation.program(mechanism, "forward_dynamics", "composite_body")
    sizes = multiplier_sizes(program, ranges(mechanism), floors(program, mechanism))
    assert len(sizes) > 5
    for row, found in values(program, mechanism, sizes).items():
        assert np.abs(found).max() <= float(sizes[row])/ROUND_OFF


# Planted: into the C of Panda's or scara's forward dynamics, all floors admitted.


def alarms(robot: str, pattern: str, spoilt: str, admit: bool = True) -> tuple[eva.Alarm, ...]:
    """Eva's on forward dynamics in float, one match of a pattern replaced in the text."""
    tool("frama-c")
    mechanism, function = load(robot), "forward_dynamics"
    programs = generation.programs(mechanism, [function], Options("float"))
    lowest = {function: floors(programs[function], mechanism)} if admit else {}
    texts, _ = eva.sources(programs, own(mechanism), lowest, {})
    file = own(mechanism).file(function)
    text, count = re.subn(pattern, spoilt, texts[file], count=1)
    assert count == 1
    return eva.analyse(texts | {file: text}, programs, own(mechanism), ranges(mechanism))[function]


LAST = r"    a\[3\] = (.*);"


@pytest.mark.parametrize(("pattern", "spoilt", "kind"), [
    (r"/P_1_33;", "/(P_1_33 - P_1_33);", "division by zero|is nan or infinite"),
    (r"/P_1_33;", "/v[0];", "division by zero|is nan or infinite"),
    (LAST, r"    a[4] = \1;", "mem access|index bound"),
    (LAST, r"    a[3] = q[4];", "mem access|index bound|initialization"),
    (LAST, r"    float t0; a[3] = t0;", "initialization"),
    (LAST, "", "user assertion"),
    (LAST, r"    a[3] = (\1)*1e30f*1e30f;", "is nan or infinite"),
    (LAST, r"    a[3] = sqrtf(q[0]);", "is nan or infinite|precondition of sqrtf"),
    (LAST, r"    a[3] = logf(q[0]);", "is nan or infinite|precondition of logf"),
    (r"const float P_1_33 = .*;", "const float P_1_33 = 0.0f;", "user assertion"),   # what is admitted contradicts the text
])
def test_a_planted_error_is_caught(pattern: str, spoilt: str, kind: str) -> None:
    found = alarms("scara", pattern, spoilt)
    assert found
    assert any(re.fullmatch(kind, alarm.kind) for alarm in found), found


def test_nothing_is_caught_where_nothing_is_planted() -> None:
    assert alarms("scara", LAST, r"    a[3] = \1;") == ()


def test_a_report_that_says_nothing_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eva, "_run", lambda *_: [])
    mechanism = load("scara")
    found = eva.prove(generation.programs(mechanism, ["gravity_force"]), own(mechanism), ranges(mechanism))
    assert [alarm.kind for alarm in found["gravity_force"].alarms] == ["end not reached"]
    assert eva.lines(found)[0].startswith("gravity_force (composite_body, double): not proved")


def test_a_divisor_whose_floor_is_not_admitted_is_caught() -> None:
    (first, *_) = alarms("scara", LAST, r"    a[3] = \1;", admit=False)
    assert "/P_1_33" in first.text
    assert first.file == "scara_forward_dynamics.c"


# What is analysed is the emitted text.


@pytest.mark.parametrize("real", REALS)
def test_the_copy_with_annotations_is_the_program(real: str) -> None:
    for seed in range(8):
        program = scrambled(seed, real=real)
        rows = sorted({row.args[-1] for row in program.rows if row.op in ("div", "log", "sqrt")} & set(c99.live_rows(program)))
        lowest = {row: Fraction(k - 2, 7) for k, row in enumerate(rows)}
        texts, admitted = eva.sources({"inverse_dynamics": program}, c99.Target("arm", 3, 3), {"inverse_dynamics": lowest}, {})
        text = texts["arm_inverse_dynamics.c"]
        said = re.findall(r"^    const \w+ (\w+) = .*;\n    //@ admit ((\w+) [<>]= \S+);$", text, re.MULTILINE)
        assert len(said) == len(rows) > 0
        assert all(declared == bounded for declared, _, bounded in said)
        assert {line for _, line, _ in said} == set(admitted["inverse_dynamics"])
        assert readback.compare(program, re.sub(r"    //@ .*\n", "", text), texts["arm.h"]) == []


def test_without_floors_the_text_is_the_emitted_one() -> None:
    mechanism = load("scara")
    programs = generation.programs(mechanism, ["forward_dynamics"])
    texts, admitted = eva.sources(programs, own(mechanism), {}, {})
    assert texts["scara_forward_dynamics.c"] == c99.source(programs["forward_dynamics"], own(mechanism))
    assert admitted == {"forward_dynamics": ()}


@pytest.mark.parametrize("real", REALS)
def test_ranges_and_floors_are_rounded_to_the_safe_side(real: str) -> None:
    source = Random(5)
    for _ in range(500):
        bound = Fraction(source.randint(-10**6, 10**6), source.randint(1, 10**6))*Fraction(10)**source.randint(-20, 20)
        low, high = (Fraction(float.fromhex(eva.outward(bound, sign, real).rstrip("f"))) for sign in (-1, 1))
        assert low <= bound <= high
        assert high - low <= abs(bound)/2**20
        if bound > 0:
            assert bound*(1 - Fraction(1, 10**5)) <= Fraction(eva.decimal(bound)) <= bound


def test_what_cannot_be_asked_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = load("scara")
    programs, spans = generation.programs(mechanism, ["gravity_force"]), ranges(mechanism)
    with pytest.raises(RequestError, match=r"takes 4 numbers for q; there are ranges for 0"):
        eva.prove(programs, own(mechanism), {})
    with pytest.raises(RequestError, match=r"the range of q\[1\] is from 1 to -1"):
        eva.prove(programs, own(mechanism), spans | {"q": [(0, 1), (1, -1), (0, 1), (0, 1)]})
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="frama-c is not installed; on Debian 'apt install frama-c-base'"):
        eva.prove(programs, own(mechanism), spans)
