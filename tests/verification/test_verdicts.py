"""What a verification says of what it could not judge: a chain of light links, whose constraint forces leave no digit over."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.benchmarks import compare
from symgen.delivery import folder
from symgen.delivery.contents import FolderContents
from symgen.delivery.selftest import cases
from symgen.description.canonical import to_toml
from symgen.description.tip import tip
from symgen.machine.footprint import Footprint
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, choose, derive
from symgen.reference.free_bodies import freedom
from symgen.verification import verify
from symgen.verification.compiled import LONG
from symgen.verification.evaluating import Results, Runner, machine_runner
from symgen.verification.floating import allowance, check_floating
from symgen.verification.report import Check, Report
from symgen.verification.run import UNCOMPILED
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Y_AXIS, Shift
from symgen.vocabulary.reals import DOUBLE, LOST, loses
from tests.shared.robots_for_tests import point_mass_arm, random_mechanism, robot

HARD, EASY = "forward_dynamics=constraint_force:parallel", "forward_dynamics=composite_body"


@cache
def light(least: str, n: int = 4) -> Mechanism:
    """A chain whose links weigh `least` of what the last one does."""
    made, factor = random_mechanism(n, 3), Fraction(least)
    bodies = (
        *(
            replace(
                body,
                parts=tuple(
                    replace(
                        part,
                        mass=part.mass * factor,
                        moments=tuple(x * factor for x in part.moments),
                    )
                    for part in body.parts
                ),
            )
            for body in made.bodies[:-1]
        ),
        made.bodies[-1],
    )
    return replace(made, name="light", bodies=bodies)


@cache
def report() -> Report:
    return symgen.verify(light("1e-20", 3), [HARD], states=2)


def test_digits_that_are_lost_are_not_verified() -> None:
    """Such a chain was "verified" against 1e20 round-offs and more."""
    found = report()
    (floating,) = found.of("floating")
    assert floating.bound * DOUBLE.eps > LOST
    assert floating.verdict == "not judged"
    assert (
        f"not judged floating point, {HARD}: precision loss ({floating.bound:.2g} round-offs)"
        in str(found)
    )
    assert "verified" not in str(found)
    assert found.lost == (HARD,)
    assert found.verdicts == {HARD: "not judged"}
    assert not found.passed
    assert {check.verdict for kind in ("algebra", "text") for check in found.of(kind)} == {"passed"}
    identities = {check.unit: check.verdict for check in found.of("identities")}
    assert identities == {
        "": "passed",
        " eps": "not judged",
    }  # the constraint forces take part in the compiled one


def test_the_facts_say_it_as_well() -> None:
    facts = json.loads(json.dumps(report().facts(), allow_nan=False))
    assert facts["functions"] == {HARD: "not judged"}
    assert facts["passed"] is False
    assert "not judged" in facts["closing"]
    assert [check["why"] != "" for check in facts["checks"]] == [
        check["verdict"] != "passed" for check in facts["checks"]
    ]


def test_the_exit_code_is_that_of_an_answer_that_is_not_yes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "light.toml"
    path.write_text(to_toml(light("1e-20", 2)), encoding="utf-8")
    assert cli.main(["verify", str(path), "--states", "1", "-f", HARD]) == 1
    out = capsys.readouterr().out
    assert out.endswith(" not judged\n")
    assert cli.main(["generate", str(path), "-o", str(tmp_path / "out"), "-f", HARD]) == 0
    assert (
        "forward_dynamics by constraint_force:parallel has a precision loss in double"
        in capsys.readouterr().err
    )
    assert cli.main(["verify", str(path), "--states", "1", "-f", EASY]) == 0
    assert capsys.readouterr().out.endswith("light: verified\n")


@pytest.mark.parametrize("real", ["double", "float"])
def test_the_default_never_loses_its_digits(real: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the method that does so needs the fewest operations."""
    made = light("1e-20", 3)
    for function in ("forward_dynamics", "mass_matrix_determinant", "mass_matrix_log_determinant"):
        chosen = choose.best_program(made, function, ProgramOptions(real))
        assert not loses(allowance(chosen, Truth(made, 1)), real), function
    alone = (
        "constraint_force",
        "riccati",
    )  # of which the first has fewer operations, as if it were so here
    monkeypatch.setattr(choose, "methods_for", lambda *_: alone)
    derived = choose.polished

    def cheap(mechanism: Mechanism, function: str, method: str, *rest: object) -> object:
        found = derived(mechanism, function, method, ProgramOptions(real))
        return replace(found, rows=(), outputs=()) if method == "constraint_force" else found

    monkeypatch.setattr(choose, "polished", cheap)
    monkeypatch.setattr(
        choose, "attempt", lambda *of: SimpleNamespace(program=lambda **_: cheap(*of))
    )
    assert choose.best_program(made, "mass_matrix_solve", ProgramOptions(real)).method == "riccati"
    assert (
        choose.best_program(light("1"), "mass_matrix_solve", ProgramOptions("double")).method
        == "constraint_force"
    )


def test_what_drives_the_joints_is_the_bias_where_nothing_accelerates() -> None:
    """The size of M a + c − tau at a = 0, less that of tau, is the size of c."""
    known = Truth(symgen.load("scara"), 4)
    rest = known.scales.dynamics_residual(0 * known.floats["v"]) - np.abs(known.floats["tau"])
    np.testing.assert_allclose(rest, known.scales.of("bias_force", "c"), rtol=1e-9)


def test_freedom_grows_as_the_links_get_lighter_and_no_unit_changes_it() -> None:
    of = [freedom(light(least)) for least in ("1", "1e-3", "1e-6", "1e-20")]
    assert of[0] < 1e4
    assert 500 < of[2] / of[1] < 2000
    assert 1e13 < of[3] / of[2] < 1e15
    heavy = replace(
        light("1"),
        bodies=tuple(
            replace(
                body,
                parts=tuple(
                    replace(
                        part, mass=part.mass * 1000, moments=tuple(x * 1000 for x in part.moments)
                    )
                    for part in body.parts
                ),
            )
            for body in light("1").bodies
        ),
    )
    assert freedom(heavy) == of[0]


def test_where_on_its_axis_a_joint_is_declared_changes_no_expectation() -> None:
    """`fixman` takes the wrench across a joint where the axes are nearest. It lost more there than at the declared origin."""
    made = light("1e-3")
    joint, way = made.joints[-1], (Fraction(0), Fraction(2), Fraction(0))
    assert joint.axis == Y_AXIS
    back = tuple(
        replace(part, pose=(Shift((way[0], -way[1], way[2])), *part.pose))
        for part in made.bodies[-1].parts
    )
    moved = replace(
        made,
        name="along",
        joints=(*made.joints[:-1], replace(joint, pose=(*joint.pose, Shift(way)))),
        bodies=(*made.bodies[:-1], replace(made.bodies[-1], parts=back)),
    )
    assert freedom(moved) > 1.1 * freedom(made)
    foreseen = [
        choose.term_ratio(one, "mass_matrix_solve", "fixman", ProgramOptions())
        for one in (moved, made)
    ]
    assert foreseen[0] == foreseen[1]


def test_a_screw_that_has_to_shift_its_link_is_harder_to_move_than_the_link() -> None:
    """A steep screw and a small link: free, it would turn hundreds of times as easily. Its float was called wrong at 311 eps."""
    nut, flat = (
        symgen.load(f"""
        name = "nut"
        base = {{ name = "base" }}
        [[body]]
        name = "nut"
        parent = "base"
        joint = {{ name = "turn", type = "helical", pitch = {pitch}, limits = {{ lower = -1, upper = 0 }}, axis = [0, 0, -1] }}
        mass = 0.232
        centre = [-0.0111, 0.0097, -0.0004]
        inertia = [3.45e-5, -7.95e-6, 4.29e-6, 3.59e-5, -9.39e-6, 4.54e-5]
        """)
        for pitch in ("0.2416", "1e-9")
    )
    assert freedom(nut) > 20 * freedom(flat)
    assert not symgen.verify(
        nut, ["interbody_forces=constraint_force"], real="float", states=16
    ).failures


def test_directions_in_which_no_joint_moves_count_as_well() -> None:
    """Slides keep small links from turning. M knows nothing of that, and det M by way of the constraints lost seven digits."""
    made = random_mechanism(3, 5, joints=("prismatic",))
    small = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, moments=tuple(x / 10**6 for x in part.moments)) for part in body.parts
            ),
        )
        for body in made.bodies
    )
    gantry = replace(made, bodies=small)
    assert freedom(gantry) > 1e3 * freedom(made)
    truth = Truth(gantry, 2)
    for method, verdict in (
        ("constraint_force", "not judged"),
        ("fixman:spatial", "not judged"),
        ("riccati", "passed"),
    ):
        program = derive.derive(gantry, "mass_matrix_determinant", method, ProgramOptions("float"))
        assert check_floating(program, machine_runner(program), truth, method).verdict == verdict, (
            method
        )


def nearly_singular() -> tuple[Mechanism, Mechanism]:
    """An arm, and two joints of it about one axis, the body between them of 1e-9 of the other's inertia."""
    arm = point_mass_arm(1, 1, 1)
    speck = replace(
        arm.bodies[0],
        parts=tuple(replace(part, mass=Fraction(1, 10**9)) for part in arm.bodies[1].parts),
    )
    joints = (*arm.joints[:2], replace(arm.joints[2], pose=()))
    return arm, replace(arm, joints=joints, bodies=(arm.bodies[0], speck, arm.bodies[2]))


def test_what_is_off_is_no_error_where_m_is_singular_within_the_round_off() -> None:
    """A pivot in float may be any multiple of what it is, and so is what is made of its inverse; M itself is not."""
    arm, nearly = nearly_singular()
    for made, function, verdict in (
        (arm, "mass_matrix_log_determinant_gradient", "failed"),
        (nearly, "mass_matrix", "failed"),
        (nearly, "mass_matrix_log_determinant_gradient", "not judged"),
    ):
        method = "composite_body" if function == "mass_matrix" else "riccati"
        program = derive.derive(made, function, method, ProgramOptions("float"))
        honest = machine_runner(program)

        def off(arguments: Any, run: Runner = honest) -> Results:
            return {result: 1e4 * values + 1e12 for result, values in run(arguments).items()}

        assert check_floating(program, off, Truth(made, 2), function).verdict == verdict, function


def test_a_division_by_nothing_is_no_error_where_m_is_singular_within_the_round_off() -> None:
    """A pivot in float may well be zero."""
    arm, nearly = nearly_singular()

    def broken(made: Mechanism, function: str) -> Check:
        program = derive.derive(made, function, "composite_body", ProgramOptions("float"))
        honest = machine_runner(program)

        def infinite(arguments: Any) -> Results:
            return {
                result: np.full_like(values, np.inf) for result, values in honest(arguments).items()
            }

        return check_floating(program, infinite, Truth(made, 2), function)

    for function in ("mass_matrix_solve", "inverse_mass_matrix", "mass_matrix"):
        assert broken(arm, function).verdict == "failed", function
        assert broken(nearly, function).verdict == (
            "failed" if function == "mass_matrix" else "not judged"
        ), function
    assert broken(nearly, "mass_matrix_solve").unjudged.startswith("precision loss (")


def test_the_logarithm_of_nothing_is_no_error_where_m_is_singular_within_the_round_off() -> None:
    """A speck that a free body is carried by: the free body's pivots are constants, so that nothing is divided by."""
    arm = point_mass_arm(1, 1)
    speck, solid = (
        replace(own, parts=(replace(own.parts[0], mass=mass, moments=(mass, 0, 0, mass, 0, mass)),))
        for own, mass in zip(arm.bodies, (Fraction(1, 10**9), Fraction(4)), strict=True)
    )
    nearly = replace(
        arm, bodies=(speck, solid), joints=(arm.joints[0], replace(arm.joints[1], kind="free"))
    )
    program = derive.derive(
        nearly, "mass_matrix_log_determinant", "composite_body", ProgramOptions("float")
    )
    assert program.operations["div"] == 0
    honest = machine_runner(program)

    def broken(arguments: Any) -> Results:
        return {
            result: np.full_like(values, np.nan) for result, values in honest(arguments).items()
        }

    assert check_floating(program, broken, Truth(nearly, 2), "").verdict == "not judged"
    heavy = replace(nearly, bodies=(replace(solid, name=speck.name), solid))
    program = derive.derive(
        heavy, "mass_matrix_log_determinant", "composite_body", ProgramOptions("float")
    )
    assert check_floating(program, broken, Truth(heavy, 2), "").verdict == "failed"


def test_a_wrong_digit_of_a_light_joint_is_seen_in_float() -> None:
    """Scara's wrist has 1e-4 of the shoulder's inertia: what the shoulder may lose hid an error of 1e-2 in it, and conversely."""
    made = robot("scara")
    truth = Truth(made, 2, frame=tip(made))
    for function in (
        "forward_dynamics",
        "mass_matrix_solve",
        "inverse_mass_matrix",
        "mass_matrix_determinant",
        "operational_inertia_inverse",
        "link_accelerations",
    ):
        program = choose.best_program(made, function, ProgramOptions("float"))
        honest = machine_runner(program)
        assert check_floating(program, honest, truth, function).passed, function

        def wrong(arguments: Any, run: Runner = honest) -> Results:
            found = run(arguments)
            return {result: values * np.float32(1.01) for result, values in found.items()}

        assert check_floating(program, wrong, truth, function).verdict == "failed", function


def test_what_was_seen_to_lose_its_digits_is_not_judged_either() -> None:
    """A bound that is below 1e-3 of the terms, but not of what they leave over, and an answer that is off by as much."""
    made = symgen.load("planar_point_mass:6")
    program = choose.best_program(made, "interbody_forces", ProgramOptions("float"))
    truth, honest = Truth(made, 2), machine_runner(program)
    answers = honest(truth.arguments(program.function, truth.floats))

    def off(by: float) -> Check:
        found = answers | {"F": answers["F"] * np.float32(1 + by)}
        return check_floating(program, lambda _: found, truth, "f")

    assert [off(by).verdict for by in (0, 1e-4, 0.005, 10)] == [
        "passed",
        "passed",
        "not judged",
        "failed",
    ]
    assert off(0.005).unjudged.startswith("precision loss (")
    assert (
        Report("r", "float", 1, 60, 1.0, (off(0.005),)).closing
        == "0 of 1 checks passed, 1 not judged"
    )


def test_the_closing_line_says_no_more_than_was_run() -> None:
    good = Check("algebra", "f", 1e-60, 1e-40)
    assert Report("r", "double", 1, 60, 1.0, (good,)).closing == "verified"
    less = Report("r", "double", 1, 60, 1.0, (good,), refused={"g": "g of 'r' divides"})
    assert less.closing == "verified, except 1 left out: g"
    assert Report("r", "double", 1, 60, 1.0, ()).closing == "nothing was checked"
    without = symgen.verify("planar_arm", ["mass_matrix"], states=1, compiled=False)
    assert without.passed
    assert "verified" not in without.closing
    assert {check.unjudged for check in without.of("floating")} == {UNCOMPILED}


def test_long_functions_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """TALOS, of 60 000 rows in sum, was run over NumPy and called verified."""
    from symgen.verification import compiled

    levels: list[str] = []
    run = compiled._compile

    def watched(where: Path, arguments: list[str], made: str) -> str:
        levels.extend(word for word in arguments if word.startswith("-O"))
        return run(where, arguments, made)

    monkeypatch.setattr(compiled, "_compile", watched)
    monkeypatch.setattr(compiled, "LONG", 20)
    assert (
        symgen.verify("planar_arm", ["inverse_dynamics", "mass_matrix"], states=2).closing
        == "verified"
    )
    assert sorted({*levels}) == ["-O0", "-O1"]
    assert LONG < 10_000
    assert not hasattr(verify, "COMPILED_ROWS")


def test_compare_marks_it_and_says_a_refusal_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "ROUND_OFF_STATES", 1)
    monkeypatch.setattr(
        compare, "_times", lambda programs, *_: dict.fromkeys(programs, 1.0)
    )  # what is timed is not looked at
    monkeypatch.setattr(compare, "footprint", lambda *_: Footprint(None, None, {}))
    asked = "constraint_force,fixman:planar,riccati"
    found = compare.compare(
        light("1e-20", 2), [f"mass_matrix_solve={asked}", f"mass_matrix_determinant={asked}"]
    )
    rows = {row.method: row for row in found.compared[0].rows}
    assert set(rows["constraint_force"].unjudged) == {"round_off_double", "round_off_float"}
    assert not rows["riccati"].unjudged
    text = str(found)
    line = next(line for line in text.splitlines() if line.startswith("constraint_force "))
    assert line.rstrip().endswith("?")
    assert line.count("?") == 2
    assert "double eps, float eps: not judged: precision loss (" in text
    assert text.count("needs a serial chain of revolute joints with parallel axes") == 1
    facts = json.loads(json.dumps(found.facts(), allow_nan=False))
    assert (
        facts["functions"]["mass_matrix_solve"]["methods"]["constraint_force"]["not_judged"].keys()
        == rows["constraint_force"].unjudged.keys()
    )


def test_a_singular_robot_s_reason_is_said_once() -> None:
    arm = symgen.load("planar_arm")
    bare = replace(arm, bodies=(arm.bodies[0], replace(arm.bodies[1], parts=())))
    found = symgen.verify(bare, states=2, compiled=False)
    inverted = [name for name in FUNCTIONS if name in found.refused]
    assert len(inverted) > 5
    assert str(found).count("divides by the mass matrix") == 1
    assert all(name in str(found).partition("likewise")[2] for name in inverted[1:])


def test_a_self_test_says_what_its_tolerance_leaves_open() -> None:
    made = light("1e-20", 2)
    programs = {
        "forward_dynamics": derive.derive(
            made, "forward_dynamics", "constraint_force", ProgramOptions()
        )
    }
    printed = {
        name: folder.texts(
            FolderContents(made, derived, cases=cases(made, derived, ProgramOptions()))
        )[f"{made.name}_selftest.c"]
        for name, derived in (
            ("hard", programs),
            ("easy", build.programs(made, ["forward_dynamics"])),
        )
    }
    assert 'report("forward_dynamics (to within ' in printed["hard"]
    assert 'report("forward_dynamics", 3' in printed["easy"]
