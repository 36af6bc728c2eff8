"""Verdict "not judged": results whose precision loss leaves no certain digit, as in chains of very
light links.
"""

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
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import allowance, check_floating
from symgen.verification.report import Check, Report
from symgen.verification.run import UNCOMPILED
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Y_AXIS, Shift
from symgen.vocabulary.reals import DOUBLE, LOST, loses
from tests.shared.robots_for_tests import point_mass_arm, random_mechanism, robot

HARD, EASY = "forward_dynamics=constraint_force:parallel", "forward_dynamics=composite_body"


@cache
def light_chain(mass_factor: str, n: int = 4) -> Mechanism:
    """Return a chain whose links, except the last, have their masses multiplied by `least`."""
    chain, factor = random_mechanism(n, 3), Fraction(mass_factor)
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
            for body in chain.bodies[:-1]
        ),
        chain.bodies[-1],
    )
    return replace(chain, name="light", bodies=bodies)


@cache
def report_of_light_chain() -> Report:
    return symgen.verify(light_chain("1e-20", 3), [HARD], states=2)


@pytest.mark.slow
def test_results_with_a_precision_loss_are_not_judged() -> None:
    """Verification once accepted such a chain with a tolerance of 1e20 round-offs."""
    verification = report_of_light_chain()
    (floating,) = verification.of("floating")
    assert floating.bound * DOUBLE.eps > LOST
    assert floating.verdict == "not judged"
    assert (
        f"not judged floating point, {HARD}: precision loss ({floating.bound:.2g} round-offs)"
        in str(verification)
    )
    assert "verified" not in str(verification)
    assert verification.lost == (HARD,)
    assert verification.verdicts == {HARD: "not judged"}
    assert not verification.passed
    assert {check.verdict for kind in ("algebra", "text") for check in verification.of(kind)} == {
        "passed"
    }
    identities = {check.unit: check.verdict for check in verification.of("identities")}
    assert identities == {
        "": "passed",
        " eps": "not judged",
    }  # the compiled identity includes the constraint forces


def test_facts_contain_the_verdict_not_judged() -> None:
    facts = json.loads(json.dumps(report_of_light_chain().facts(), allow_nan=False))
    assert facts["functions"] == {HARD: "not judged"}
    assert facts["passed"] is False
    assert "not judged" in facts["closing"]
    assert [check["why"] != "" for check in facts["checks"]] == [
        check["verdict"] != "passed" for check in facts["checks"]
    ]


@pytest.mark.slow
def test_a_verdict_not_judged_gives_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "light.toml"
    path.write_text(to_toml(light_chain("1e-20", 2)), encoding="utf-8")
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
def test_the_default_method_has_no_precision_loss(
    real: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The method with a precision loss is not chosen even if it has the fewest operations."""
    mechanism = light_chain("1e-20", 3)
    for function in ("forward_dynamics", "mass_matrix_determinant", "mass_matrix_log_determinant"):
        chosen = choose.best_program(mechanism, function, ProgramOptions(real))
        assert not loses(allowance(chosen, ExactResults(mechanism, 1)), real), function
    two_methods = (
        "constraint_force",
        "riccati",
    )  # `cheap` gives the first no operations
    monkeypatch.setattr(choose, "methods_for", lambda *_: two_methods)
    original = choose.polished

    def cheap(mechanism: Mechanism, function: str, method: str, *arguments: object) -> object:
        program = original(mechanism, function, method, ProgramOptions(real))
        return replace(program, rows=(), outputs=()) if method == "constraint_force" else program

    monkeypatch.setattr(choose, "polished", cheap)
    monkeypatch.setattr(
        choose, "attempt", lambda *of: SimpleNamespace(program=lambda **_: cheap(*of))
    )
    assert (
        choose.best_program(mechanism, "mass_matrix_solve", ProgramOptions(real)).method
        == "riccati"
    )
    assert (
        choose.best_program(light_chain("1"), "mass_matrix_solve", ProgramOptions("double")).method
        == "constraint_force"
    )


def test_without_acceleration_the_scale_of_the_dynamics_is_that_of_the_bias() -> None:
    """At a = 0 the scale of M a + c − tau is the scale of tau plus that of c."""
    exact_results = ExactResults(symgen.load("scara"), 4)
    bias_scale = exact_results.scales.dynamics_residual(0 * exact_results.floats["v"]) - np.abs(
        exact_results.floats["tau"]
    )
    np.testing.assert_allclose(bias_scale, exact_results.scales.of("bias_force", "c"), rtol=1e-9)


def test_freedom_grows_with_lighter_links_and_does_not_depend_on_units() -> None:
    freedoms = [freedom(light_chain(least)) for least in ("1", "1e-3", "1e-6", "1e-20")]
    assert freedoms[0] < 1e4
    assert 500 < freedoms[2] / freedoms[1] < 2000
    assert 1e13 < freedoms[3] / freedoms[2] < 1e15
    heavy = replace(
        light_chain("1"),
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
            for body in light_chain("1").bodies
        ),
    )
    assert freedom(heavy) == freedoms[0]


def test_the_expected_loss_does_not_depend_on_the_joint_origin_along_its_axis() -> None:
    """`fixman` places the joint wrench where the axes are nearest, so the declared origin must not
    matter.
    """
    original = light_chain("1e-3")
    joint, offset = original.joints[-1], (Fraction(0), Fraction(2), Fraction(0))
    assert joint.axis == Y_AXIS
    parts_moved_back = tuple(
        replace(part, pose=(Shift((offset[0], -offset[1], offset[2])), *part.pose))
        for part in original.bodies[-1].parts
    )
    displaced = replace(
        original,
        name="along",
        joints=(*original.joints[:-1], replace(joint, pose=(*joint.pose, Shift(offset)))),
        bodies=(*original.bodies[:-1], replace(original.bodies[-1], parts=parts_moved_back)),
    )
    assert freedom(displaced) > 1.1 * freedom(original)
    ratios = [
        choose.term_ratio(mechanism, "mass_matrix_solve", "fixman", ProgramOptions())
        for mechanism in (displaced, original)
    ]
    assert ratios[0] == ratios[1]


def test_the_freedom_of_a_steep_screw_exceeds_that_of_a_flat_one() -> None:
    """A steep screw on a small link: its correct float result was once called wrong at 311 eps."""
    nut, flat = (
        symgen.load(f"""
        name = "nut"
        base = {{ name = "base" }}
        [[body]]
        name = "nut"
        parent = "base"
        mass = 0.232
        centre = [-0.0111, 0.0097, -0.0004]
        inertia = [3.45e-5, -7.95e-6, 4.29e-6, 3.59e-5, -9.39e-6, 4.54e-5]
        [body.joint]
        name = "turn"
        type = "helical"
        pitch = {pitch}
        limits = {{ lower = -1, upper = 0 }}
        axis = [0, 0, -1]
        """)
        for pitch in ("0.2416", "1e-9")
    )
    assert freedom(nut) > 20 * freedom(flat)
    assert not symgen.verify(
        nut, ["interbody_forces=constraint_force"], real="float", states=16
    ).failures


def test_directions_without_joint_motion_count_for_constraint_methods() -> None:
    """Prismatic joints block rotation of small links; det M by constraint forces loses seven digits
    there.
    """
    mechanism = random_mechanism(3, 5, joints=("prismatic",))
    small = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, moments=tuple(x / 10**6 for x in part.moments)) for part in body.parts
            ),
        )
        for body in mechanism.bodies
    )
    gantry = replace(mechanism, bodies=small)
    assert freedom(gantry) > 1e3 * freedom(mechanism)
    exact_results = ExactResults(gantry, 2)
    for method, verdict in (
        ("constraint_force", "not judged"),
        ("fixman:spatial", "not judged"),
        ("riccati", "passed"),
    ):
        program = derive.derive(gantry, "mass_matrix_determinant", method, ProgramOptions("float"))
        assert (
            check_floating(program, machine_runner(program), exact_results, method).verdict
            == verdict
        ), method


def nearly_singular() -> tuple[Mechanism, Mechanism]:
    """Return an arm, and the arm with two coaxial joints and a body of 1e-9 of the mass between
    them.
    """
    arm = point_mass_arm(1, 1, 1)
    speck = replace(
        arm.bodies[0],
        parts=tuple(replace(part, mass=Fraction(1, 10**9)) for part in arm.bodies[1].parts),
    )
    joints = (*arm.joints[:2], replace(arm.joints[2], pose=()))
    return arm, replace(arm, joints=joints, bodies=(arm.bodies[0], speck, arm.bodies[2]))


def test_wrong_results_are_not_judged_if_m_is_singular_within_round_off() -> None:
    """A nearly zero pivot in float has no certain digit, nor its inverse; M itself is judged."""
    arm, nearly = nearly_singular()
    for mechanism, function, verdict in (
        (arm, "mass_matrix_log_determinant_gradient", "failed"),
        (nearly, "mass_matrix", "failed"),
        (nearly, "mass_matrix_log_determinant_gradient", "not judged"),
    ):
        method = "composite_body" if function == "mass_matrix" else "riccati"
        program = derive.derive(mechanism, function, method, ProgramOptions("float"))
        honest = machine_runner(program)

        def off(arguments: Any, run: Runner = honest) -> Results:
            return {result: 1e4 * values + 1e12 for result, values in run(arguments).items()}

        assert (
            check_floating(program, off, ExactResults(mechanism, 2), function).verdict == verdict
        ), function


def test_infinite_results_are_not_judged_if_m_is_singular_within_round_off() -> None:
    """A nearly zero pivot may round to zero in float."""
    arm, nearly = nearly_singular()

    def broken(mechanism: Mechanism, function: str) -> Check:
        program = derive.derive(mechanism, function, "composite_body", ProgramOptions("float"))
        honest = machine_runner(program)

        def infinite(arguments: Any) -> Results:
            return {
                result: np.full_like(values, np.inf) for result, values in honest(arguments).items()
            }

        return check_floating(program, infinite, ExactResults(mechanism, 2), function)

    for function in ("mass_matrix_solve", "inverse_mass_matrix", "mass_matrix"):
        assert broken(arm, function).verdict == "failed", function
        assert broken(nearly, function).verdict == (
            "failed" if function == "mass_matrix" else "not judged"
        ), function
    assert broken(nearly, "mass_matrix_solve").unjudged.startswith("precision loss (")


def test_an_undefined_logarithm_is_not_judged_if_m_is_singular_within_round_off() -> None:
    """A tiny mass carries a free body, whose pivots are constants, so that the Program has no
    division.
    """
    arm = point_mass_arm(1, 1)
    speck, solid = (
        replace(
            body, parts=(replace(body.parts[0], mass=mass, moments=(mass, 0, 0, mass, 0, mass)),)
        )
        for body, mass in zip(arm.bodies, (Fraction(1, 10**9), Fraction(4)), strict=True)
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

    assert check_floating(program, broken, ExactResults(nearly, 2), "").verdict == "not judged"
    heavy = replace(nearly, bodies=(replace(solid, name=speck.name), solid))
    program = derive.derive(
        heavy, "mass_matrix_log_determinant", "composite_body", ProgramOptions("float")
    )
    assert check_floating(program, broken, ExactResults(heavy, 2), "").verdict == "failed"


def test_an_error_of_a_light_joint_fails_in_float() -> None:
    """Scara's wrist has 1e-4 of the shoulder's inertia, so each joint needs its own tolerance."""
    mechanism = robot("scara")
    exact_results = ExactResults(mechanism, 2, frame=tip(mechanism))
    for function in (
        "forward_dynamics",
        "mass_matrix_solve",
        "inverse_mass_matrix",
        "mass_matrix_determinant",
        "operational_inertia_inverse",
        "link_accelerations",
    ):
        program = choose.best_program(mechanism, function, ProgramOptions("float"))
        honest = machine_runner(program)
        assert check_floating(program, honest, exact_results, function).passed, function

        def wrong(arguments: Any, run: Runner = honest) -> Results:
            results = run(arguments)
            return {result: values * np.float32(1.01) for result, values in results.items()}

        assert check_floating(program, wrong, exact_results, function).verdict == "failed", function


def test_an_observed_precision_loss_is_not_judged() -> None:
    """The bound is below 1e-3 of the terms but not of their sum, and the result is off by that
    bound.
    """
    mechanism = symgen.load("planar_point_mass:6")
    program = choose.best_program(mechanism, "interbody_forces", ProgramOptions("float"))
    exact_results, honest = ExactResults(mechanism, 2), machine_runner(program)
    honest_results = honest(exact_results.arguments(program.function, exact_results.floats))

    def off(by: float) -> Check:
        results = honest_results | {"F": honest_results["F"] * np.float32(1 + by)}
        return check_floating(program, lambda _: results, exact_results, "f")

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


def test_the_closing_line_claims_only_checks_that_ran() -> None:
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
    """TALOS, with 60 000 rows in total, once ran over NumPy only and was called verified."""
    from symgen.verification import compiled

    levels: list[str] = []
    run = compiled._compile

    def watched(where: Path, arguments: list[str], output: str) -> str:
        levels.extend(word for word in arguments if word.startswith("-O"))
        return run(where, arguments, output)

    monkeypatch.setattr(compiled, "_compile", watched)
    monkeypatch.setattr(compiled, "LONG", 20)
    assert (
        symgen.verify("planar_arm", ["inverse_dynamics", "mass_matrix"], states=2).closing
        == "verified"
    )
    assert sorted({*levels}) == ["-O0", "-O1"]
    assert LONG < 10_000
    assert not hasattr(verify, "COMPILED_ROWS")


def test_compare_marks_unjudged_round_off_and_prints_a_refusal_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compare, "ROUND_OFF_STATES", 1)
    monkeypatch.setattr(
        compare, "_times", lambda programs, *_: dict.fromkeys(programs, 1.0)
    )  # this test ignores times
    monkeypatch.setattr(compare, "footprint", lambda *_: Footprint(None, None, {}))
    chosen = "constraint_force,fixman:planar,riccati"
    comparison = compare.compare(
        light_chain("1e-20", 2),
        [f"mass_matrix_solve={chosen}", f"mass_matrix_determinant={chosen}"],
    )
    rows = {row.method: row for row in comparison.compared[0].rows}
    assert set(rows["constraint_force"].unjudged) == {"round_off_double", "round_off_float"}
    assert not rows["riccati"].unjudged
    text = str(comparison)
    line = next(line for line in text.splitlines() if line.startswith("constraint_force "))
    assert line.rstrip().endswith("?")
    assert line.count("?") == 2
    assert "double eps, float eps: not judged: precision loss (" in text
    assert text.count("needs a serial chain of revolute joints with parallel axes") == 1
    facts = json.loads(json.dumps(comparison.facts(), allow_nan=False))
    assert (
        facts["functions"]["mass_matrix_solve"]["methods"]["constraint_force"]["not_judged"].keys()
        == rows["constraint_force"].unjudged.keys()
    )


def test_the_reason_of_a_singular_robot_is_printed_once() -> None:
    arm = symgen.load("planar_arm")
    bare = replace(arm, bodies=(arm.bodies[0], replace(arm.bodies[1], parts=())))
    verification = symgen.verify(bare, states=2, compiled=False)
    inverted = [name for name in FUNCTIONS if name in verification.refused]
    assert len(inverted) > 5
    assert str(verification).count("divides by the mass matrix") == 1
    assert all(name in str(verification).partition("likewise")[2] for name in inverted[1:])


def test_a_self_test_prints_a_wide_tolerance() -> None:
    mechanism = light_chain("1e-20", 2)
    programs = {
        "forward_dynamics": derive.derive(
            mechanism, "forward_dynamics", "constraint_force", ProgramOptions()
        )
    }
    printed = {
        name: folder.texts(
            FolderContents(mechanism, derived, cases=cases(mechanism, derived, ProgramOptions()))
        )[f"{mechanism.name}_selftest.c"]
        for name, derived in (
            ("hard", programs),
            ("easy", build.programs(mechanism, ["forward_dynamics"])),
        )
    }
    assert 'report("forward_dynamics (to within ' in printed["hard"]
    assert 'report("forward_dynamics", 3' in printed["easy"]
