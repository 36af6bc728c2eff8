"""`verify`: reports, refusals, and options that reach all four checks."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.delivery.verifying import verify
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.pipeline import choose
from symgen.reference.singularity import find_rank_loss
from symgen.reference.states import GRID, INSTANT, draw_states
from symgen.support.errors import RequestError
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import IDENTITIES
from symgen.verification.identities.dynamics import pivots
from symgen.verification.magnitude import largest
from symgen.verification.report import Check, Report
from symgen.verification.residuals import largest_ratio
from symgen.verification.scales.centroidal import BY_RESULT as WHOLE
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.oracles import CLOSED_FORMS, random_tree
from tests.shared.placed_bases import FAR, based
from tests.shared.robots_for_tests import MOVING, OF_ANY_ROBOT, random_mechanism, robot, rows_of

OF_THE_WHOLE = tuple(
    name for name, f in FUNCTIONS.items() if {r.name for r in f.results} <= set(WHOLE)
)
ROBOTS = ("panda", "ur5", "puma560", "scara", "planar_arm", "planar_point_mass:6")


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("scara", "planar_arm") else pytest.param(name, marks=pytest.mark.slow)
        for name in ROBOTS
    ],
)
def test_every_function_of_every_builtin_robot_passes(name: str) -> None:
    report = verify(name)
    assert report.passed, str(report)
    assert {c.subject.split("=")[0] for c in report.of("algebra")} == set(BY_DEFAULT)
    assert (
        len(report.of("algebra"))
        == len(report.of("text"))
        == len(report.of("floating"))
        == len(BY_DEFAULT)
    )
    assert {c.subject for c in report.of("identities")} == {
        identity.title for identity in IDENTITIES if {*identity.needs} <= {*BY_DEFAULT}
    }
    assert not report.refused


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MOVING if robot(name).nv <= 6])
def test_every_function_of_a_robot_with_free_or_spherical_joints_passes(name: str) -> None:
    report = verify(name, states=4, compiled=False)
    assert report.passed, str(report)
    assert {check.subject.partition("=")[0] for check in report.of("algebra")} == set(BY_DEFAULT)


@pytest.mark.parametrize("function", OF_ANY_ROBOT)
def test_a_single_function_is_checked_by_an_identity(function: str) -> None:
    """One method on one tree; tests/verification/test_random_robots.py has every method."""
    tree = random_tree(20, 4, generic=True)
    request = f"{function}={choose.methods_for(tree, function)[0]}"
    report = verify(tree, [request], states=2, compiled=False, task_rows=rows_of(tree, function))
    assert report.passed, str(report)
    assert report.of("identities")
    assert request in report.costs


@pytest.mark.slow
def test_options_float_payload_frame_and_macros_pass() -> None:
    report = verify("scara", states=4, real="float", payload="link4", frame="link3", trig="macro")
    assert report.passed, str(report)
    assert report.real == "float"


def test_facts_are_json_and_agree_with_the_text() -> None:
    report = verify("planar_arm", ["mass_matrix", "forward_dynamics=riccati"], states=2)
    facts = json.loads(json.dumps(report.facts()))
    assert facts["passed"] is True
    assert set(facts["operations"]) >= {"forward_dynamics=riccati"}
    assert "forward_dynamics=riccati" in str(report)
    assert str(report).endswith("planar_arm: verified")
    assert str(report) == str(
        verify("planar_arm", ["mass_matrix", "forward_dynamics=riccati"], states=2)
    )


def test_a_failed_check_fails_the_report() -> None:
    good, nan = Check("algebra", "f", 1e-60, 1e-40), Check("floating", "f", float("nan"), 10.0)
    assert Report("r", "double", 1, 60, 1.0, (good,)).passed
    broken = Report("r", "double", 1, 60, float("inf"), (good, nan))
    assert not broken.passed
    assert "1 of 2 checks failed" in str(broken)
    assert json.dumps(broken.facts(), allow_nan=False)
    assert not Report("r", "double", 1, 60, 1.0, ()).passed


def _massless_tip(tree: Mechanism) -> Mechanism:
    return replace(tree, bodies=(*tree.bodies[:-1], Body(tree.bodies[-1].name)))


def test_a_singular_mass_matrix_is_refused_by_naming_the_joint() -> None:
    robot = _massless_tip(symgen.load("planar_arm"))
    joint = robot.joints[-1].name
    lost = find_rank_loss(robot)
    assert lost is not None
    assert lost.joint == joint
    report = verify(robot, states=4, compiled=False)
    assert report.passed, str(report)
    inverted = {name for name in BY_DEFAULT if FUNCTIONS[name].needs_inverse}
    # a determinant that vanishes at every state may be refused or derived as 0
    assert inverted <= set(report.refused) <= inverted | {"mass_matrix_determinant"}
    assert all(f"'{joint}'" in report.refused[name] for name in inverted)
    assert f"'{joint}'" in str(report)
    with pytest.raises(RequestError, match=f"singular: joint '{joint}'"):
        verify(robot, ["forward_dynamics"])
    # a run-time payload gives the same joint inertia
    assert find_rank_loss(robot, payload=robot.frames[-1].name) is None


def test_regular_robots_have_no_singular_joint() -> None:
    assert [find_rank_loss(symgen.load(name)) for name in ROBOTS] == [None] * len(ROBOTS)
    # the second of two coaxial hinges leaves the first without inertia of its own
    arm = CLOSED_FORMS["planar_2r"]().mechanism
    coaxial = replace(
        arm,
        joints=(arm.joints[0], replace(arm.joints[1], pose=())),
        bodies=(Body("upper"), arm.bodies[1]),
    )
    lost = find_rank_loss(coaxial)
    assert lost is not None
    assert lost.joint == arm.joints[0].name


def test_pivots_multiply_to_the_determinant() -> None:
    draw = np.random.default_rng(3)
    root = draw.normal(size=(5, 5))
    matrix = root @ root.T
    assert np.isclose(np.prod(pivots(matrix)), np.linalg.det(matrix))
    assert len(pivots(np.diag([1.0, 0.0, 2.0]))) == 2


def test_states_are_exact_seeded_and_within_limits() -> None:
    robot = symgen.load("panda")
    states = draw_states(robot, 50, seed=2, payload="panda_link8")
    again = draw_states(robot, 50, seed=2, payload="panda_link8")
    assert all((states[name] == again[name]).all() for name in states)
    assert (states["q"] != draw_states(robot, 50, seed=3)["q"]).any()
    for column, joint in zip(states["q"].T, robot.joints, strict=True):
        assert joint.limits.lower is not None
        assert joint.limits.upper is not None
        assert all(joint.limits.lower <= x <= joint.limits.upper for x in column)
    for name, values in states.items():
        grid = GRID / INSTANT if name == "instant" else GRID
        assert all(
            Fraction(float(np.float32(float(x)))) == x and (x * grid).denominator == 1
            for x in values.ravel()
        )


@pytest.mark.slow
def test_scales_bound_the_results() -> None:
    """The scale of round-off is at least each entry of the result and at most 1e4 times the
    largest.
    """
    for seed in range(5):
        exact_results = ExactResults(random_tree(40 + seed, 6), 6, frame="tool")
        for function in (
            "inverse_dynamics",
            "bias_force",
            "gravity_force",
            "mass_matrix",
            "forward_kinematics",
            "jacobian",
            "operational_inertia_inverse",
            "link_accelerations",
            "interbody_forces",
            "mass_matrix_log_determinant_gradient",
            *OF_THE_WHOLE,
        ):
            for result, values in exact_results.results(function).items():
                entries, size = (
                    np.abs(np.asarray(values, dtype=float)),
                    exact_results.scales.of(function, result),
                )
                assert size.shape == entries.shape
                assert (size >= entries * (1 - 1e-12)).all(), result
                assert (largest(size) <= 1e4 * largest(entries)).all(), result


def test_the_scale_of_momentum_does_not_depend_on_base_placement() -> None:
    """Scales of positions and of potential energy grow with the distance from the origin."""
    tree = replace(random_tree(7, 5), gravity=(Fraction(0), Fraction(0), Fraction(-10)))
    original, displaced = (
        ExactResults(mechanism, 4, frame="tool") for mechanism in (tree, based(tree, (FAR,)))
    )
    for function in OF_THE_WHOLE:
        for result in FUNCTIONS[function].results:
            original_scale, displaced_scale = (
                exact_results.scales.of(function, result.name)
                for exact_results in (original, displaced)
            )
            if result.name in ("com", "p_links", "U"):
                assert (displaced_scale > 100 * original_scale).all()
                assert (displaced_scale < 2e5).all()
            else:
                assert original_scale == pytest.approx(displaced_scale, rel=1e-9)


def test_a_light_wrist_has_its_own_scale() -> None:
    """The load of the shoulder must not widen the tolerance of the wrist."""
    exact_results = ExactResults(robot("panda"), 4)
    for function, result in (
        ("inverse_dynamics", "tau"),
        ("bias_force", "c"),
        ("gravity_force", "g"),
    ):
        size = exact_results.scales.of(function, result)
        assert (size[:, 6] < size[:, 1] / 10).all(), result


def test_the_scale_of_a_robot_of_prismatic_joints_does_not_depend_on_velocity() -> None:
    """Without rotation there are no velocity-product forces, so that the bias is gravity."""
    exact_results = ExactResults(robot("prismatic_prismatic"), 4)
    np.testing.assert_array_equal(
        exact_results.scales.of("bias_force", "c"), exact_results.scales.of("gravity_force", "g")
    )


def test_progress_is_reported_and_zero_states_are_refused() -> None:
    steps: list[tuple[str, int, int]] = []
    verify(
        "planar_arm",
        ["mass_matrix"],
        states=1,
        compiled=False,
        progress=lambda *step: steps.append(step),
    )
    assert steps[-1][0] == "done"
    assert steps[-1][1] == steps[-1][2]
    with pytest.raises(RequestError, match="0 states"):
        verify("planar_arm", states=0)


def test_symgen_verify_is_a_function_despite_the_module_of_that_name() -> None:
    for _ in range(2):
        assert symgen.verify("planar_arm", ["mass_matrix"], states=1, compiled=False).passed


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(RequestError, match="did you mean 'mass_matrix'"):
        verify("planar_arm", ["mass_matrx"])
    with pytest.raises(RequestError, match="link"):
        verify("planar_arm", ["jacobian"], frame="nowhere")


@pytest.mark.slow
def test_a_generated_folder_passes_and_a_changed_file_fails(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    symgen.generate("scara", folder, ["mass_matrix", "inverse_dynamics"], name="arm")
    report = verify(folder, states=4)
    assert report.passed, str(report)
    assert {c.subject.split("=")[0] for c in report.of("text")} == {
        "mass_matrix",
        "inverse_dynamics",
    }
    with pytest.raises(RequestError, match="not by riccati"):
        verify(folder, ["mass_matrix=riccati"])
    with pytest.raises(RequestError, match="function in this folder"):
        verify(folder, ["jacobian"])
    source = folder / "arm_mass_matrix.c"
    text = source.read_text(encoding="utf-8")
    parameter = "const double q[arm_NQ], "
    for wrong, kinds in (
        (text.replace(" + ", " - ", 1), {"text", "floating", "identities"}),
        (text.replace("M[0] =", "M[40] ="), {"text", "floating", "identities"}),
        (text.replace(parameter, parameter + "const double *r, "), {"text", "floating"}),
        (text.replace("}", ""), {"text", "floating"}),
    ):
        assert wrong != text
        source.write_text(wrong, encoding="utf-8")
        report = verify(folder, states=4)
        assert {c.kind for c in report.failures} >= kinds, str(report)
    (folder / "arm.h").unlink()
    with pytest.raises(symgen.SymgenError, match="generate it again"):
        verify(folder)


@pytest.mark.slow
def test_verification_of_a_folder_uses_its_options(tmp_path: Path) -> None:
    symgen.generate(
        "panda",
        tmp_path / "out",
        ["inverse_dynamics", "forward_dynamics=riccati", "jacobian"],
        real="float",
        payload="panda_link8",
        frame="panda_link4",
        trig="macro",
        name="My_Arm",
    )
    report = verify(tmp_path / "out", states=4)
    assert report.passed, str(report)
    assert report.real == "float"
    assert "forward_dynamics=riccati" in report.costs


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("length", [0, 1])
def test_a_joint_without_inertia_causes_no_failure(real: str, length: int) -> None:
    """A thin rod or a point mass on the joint axis gives a zero entry of M.

    Verification once called the determinant wrong, because it related the zero pivot to zero terms.
    """
    mechanism = random_mechanism(2, 4)
    rod = Body(
        "link1",
        (
            Part(
                "link1",
                (),
                Fraction(1),
                tuple(Fraction(x * length, 10) for x in (1, 0, 0, 1, 0, 0)),
            ),
        ),
    )
    turning = replace(mechanism.joints[1], axis=Z_AXIS)
    report = symgen.verify(
        replace(
            mechanism, joints=(mechanism.joints[0], turning), bodies=(mechanism.bodies[0], rod)
        ),
        None,
        2,
        real=real,
    )
    assert not report.failures
    assert {"mass_matrix_determinant=composite_body", "mass_matrix=composite_body"} <= set(
        report.verdicts
    )
    names = {check.subject for check in report.of("identities")}
    assert {"M positive definite", "det M = Π D"} <= names


def test_a_balanced_wheel_passes_and_a_wrong_zero_fails() -> None:
    """All terms of the gravity force are zero, but balls around zero have a width."""
    mechanism = random_mechanism(1, 4)
    balanced_part = replace(mechanism.bodies[0].parts[0], pose=())
    wheel = replace(mechanism, bodies=(replace(mechanism.bodies[0], parts=(balanced_part,)),))
    report = symgen.verify(wheel, ["gravity_force", "bias_force"], 2)
    assert report.passed, str(report)
    assert largest_ratio(np.array([1e-30]), np.zeros(1))[0] > 1e9
    assert largest_ratio(np.zeros(1), np.zeros(1)) == (0.0, 0)
