"""Closed chains with declared independent or actuated joints, also with more actuated joints than
degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.description.canonical import to_toml
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import program, requested
from symgen.pipeline.loop_closure import assembly
from symgen.reference import closing
from symgen.reference.assembling import assemble, closed_states
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import (
    ArgumentError,
    DescriptionError,
    MechanismError,
    OutOfReach,
    RequestError,
    UnknownName,
)
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from tests.shared.looped import arms

INVERSE, REDUCED, FORWARD = (
    "constrained_inverse_dynamics",
    "reduced_mass_matrix",
    "constrained_forward_dynamics",
)
SLIDES = tuple(f"slide{k}" for k in range(1, 7))
SHARED = "constrained FD(minimum-norm tau) = constrained FD(tau)"
ROBOTS: dict[str, dict[str, Any]] = {
    "driven at the rocker": {"robot": "four_bar", "actuated": "rocker_joint"},
    "driven at the coupler": {
        "robot": "four_bar",
        "actuated": "coupler_joint",
        "independent": "rocker_joint",
    },
    "driven at both ends": {"robot": "four_bar", "actuated": "crank_joint,rocker_joint"},
    "driven everywhere": {
        "robot": "four_bar",
        "actuated": ["rocker_joint", "crank_joint", "coupler_joint"],
    },
    "bennett elsewhere": {"robot": "bennett", "actuated": "joint3", "independent": "joint2"},
    "bennett at two": {"robot": "bennett", "actuated": "joint1,joint3"},
    "legs": {"robot": "stewart"},
    "legs and two hinges more": {"robot": "stewart", "actuated": [*SLIDES, "leg1_1", "leg3_2"]},
}


def robot(name: str) -> Mechanism:
    return symgen.load(**ROBOTS[name])


def relative_error(mechanism: Mechanism, function: str, baumgarte: bool = False) -> float:
    """Return the relative error of a function against the reference."""
    exact_results = ExactResults(mechanism, 2, 5, baumgarte=baumgarte)
    return check_algebra(
        program(mechanism, function, baumgarte=baumgarte), exact_results, function
    ).error


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "legs"])
def test_inverse_dynamics_equals_the_reference_for_any_actuated_joints(name: str) -> None:
    assert relative_error(robot(name), INVERSE) < 1e-40


@pytest.mark.parametrize("name", ["driven at the coupler", "bennett elsewhere"])
def test_the_reduced_mass_matrix_equals_the_reference_for_any_independent_joints(name: str) -> None:
    assert relative_error(robot(name), REDUCED) < 1e-40


@pytest.mark.parametrize("mode", ["jvp", "vjp", "jacobian"])
def test_derivatives_with_redundant_actuators_equal_the_reference(mode: str) -> None:
    assert relative_error(robot("driven at both ends"), f"{INVERSE}:{mode}") < 1e-40


def test_inverse_dynamics_with_stabilization_equals_the_reference() -> None:
    assert relative_error(robot("driven at both ends"), INVERSE, baumgarte=True) < 1e-40


@pytest.mark.parametrize("name", ["driven at both ends", "bennett elsewhere", "legs"])
def test_forces_follow_from_the_null_space_of_the_constraints(name: str) -> None:
    """Compute N by singular values, tau and λ by pseudo-inverses; forward dynamics inverts the
    result.
    """
    mechanism = robot(name)
    assembled, floats, states = (
        assemble(mechanism),
        Reference(mechanism, FLOAT),
        closed_states(mechanism, assemble(mechanism), 2, 3),
    )
    q, v = (states[x].astype(float) for x in "qv")
    A, gamma = (
        closing.jacobian(floats, assembled.kept, q),
        closing.bias(floats, assembled.kept, q, v),
    )
    N = np.swapaxes(np.linalg.svd(A)[2][:, assembled.rank :], -1, -2)
    a = -(np.linalg.pinv(A, rcond=1e-8) @ gamma[..., None])[..., 0] + N.sum(axis=-1)
    f = floats.inverse_dynamics(q, v, a)
    driven = list(assembled.actuated)
    across = np.swapaxes(N[:, driven], -1, -2)
    tau = np.zeros_like(v)
    tau[:, driven] = (np.linalg.pinv(across) @ (np.swapaxes(N, -1, -2) @ f[..., None]))[..., 0]
    multipliers = (np.linalg.pinv(np.swapaxes(A, -1, -2), rcond=1e-8) @ (f - tau)[..., None])[
        ..., 0
    ]
    results = machine_runner(program(mechanism, INVERSE))({"q": q, "v": v, "a": a})
    size = np.abs(f).max()
    np.testing.assert_allclose(results["tau_independent"], tau[:, driven], atol=1e-9 * size)
    np.testing.assert_allclose(results["lambda"], multipliers, atol=1e-9 * size)
    acceleration = machine_runner(program(mechanism, FORWARD))({"q": q, "v": v, "tau": tau})["a"]
    np.testing.assert_allclose(acceleration, a, atol=1e-7 * np.abs(a).max())


# -- closed forms ----------------------------------------------------------------------------------


def parallelogram(actuated: Sequence[str]) -> Mechanism:
    """Return a parallelogram: crank and rocker of 0.3 m, 0.5 m apart; its coupler translates."""
    return (
        symgen.Robot("parallelogram", gravity=(0, "-9.81", 0))
        .body(
            "crank",
            parent="base",
            type="revolute",
            axis=(0, 0, 1),
            mass=2,
            centre=(0.1, 0, 0),
            inertia=(0.01, 0, 0, 0.01, 0, 0.03),
        )
        .body(
            "coupler",
            parent="crank",
            type="revolute",
            axis=(0, 0, 1),
            xyz=(0.3, 0, 0),
            mass="1.2",
            centre=(0.25, 0.02, 0),
            inertia=(0.01, 0, 0, 0.01, 0, 0.05),
        )
        .body(
            "rocker",
            parent="base",
            type="revolute",
            axis=(0, 0, 1),
            xyz=(0.5, 0, 0),
            mass=3,
            centre=(0.15, 0, 0),
            inertia=(0.01, 0, 0, 0.01, 0, 0.02),
        )
        .loop("closing", "revolute", first=("coupler", (0.5, 0, 0)), second=("rocker", (0.3, 0, 0)))
        .start(crank_joint=1, coupler_joint=-1, rocker_joint=1)
        .actuated(*actuated)
        .independent("rocker_joint")
        .build()
    )


@pytest.mark.parametrize(
    "actuated",
    [
        ["crank_joint"],
        ["rocker_joint"],
        ["crank_joint", "rocker_joint"],
        ["crank_joint", "rocker_joint", "coupler_joint"],
    ],
)
def test_forces_of_a_parallelogram_equal_the_closed_form(actuated: list[str]) -> None:
    """All joints turn at one rate (the coupler backwards), so that actuators share I θ̈ + g cos θ Σ
    m r.
    """
    mechanism = parallelogram(actuated)
    theta, rate, acceleration = 0.7, 1.3, 2.1
    directions = np.array([[1.0, -1.0, 1.0]])
    results = machine_runner(program(mechanism, INVERSE))(
        {"q": theta * directions, "v": rate * directions, "a": acceleration * directions}
    )
    inertia = (0.03 + 2 * 0.1**2) + (0.02 + 3 * 0.15**2) + 1.2 * 0.3**2
    torque = inertia * acceleration + 9.81 * np.cos(theta) * (2 * 0.1 + 3 * 0.15 + 1.2 * 0.3)
    signs = np.array(
        [
            -1.0 if name == "coupler_joint" else 1.0
            for name in ("crank_joint", "coupler_joint", "rocker_joint")
            if name in actuated
        ]
    )
    np.testing.assert_allclose(
        results["tau_independent"], [torque * signs / len(actuated)], rtol=1e-12
    )
    reduced = machine_runner(program(mechanism, REDUCED))({"q": theta * directions})["M_reduced"]
    np.testing.assert_allclose(reduced, [[[inertia]]], rtol=1e-12)


# -- planted errors --------------------------------------------------------------------------------


def with_wrong_sign(program: Program, row: int) -> Program:
    rows = list(program.rows)
    rows[row] = rows[row]._replace(op={"add": "sub", "sub": "add"}[rows[row].op])
    return replace(program, rows=tuple(rows))


def test_a_wrong_sign_in_any_row_fails_verification() -> None:
    mechanism = robot("driven at both ends")
    correct, exact_results = program(mechanism, INVERSE), ExactResults(mechanism, 2, 5)
    sums = [i for i, row in enumerate(correct.rows) if row.op in ("add", "sub")]
    assert len(sums) > 20
    assert all(
        not check_algebra(with_wrong_sign(correct, i), exact_results, INVERSE).passed for i in sums
    )


def test_valid_forces_that_are_not_least_fail_verification() -> None:
    """Forces of one actuator alone cause the same acceleration; an identity detects that they are
    not least.
    """
    mechanism = robot("driven at both ends")
    programs = {name: program(mechanism, name) for name in (FORWARD, INVERSE)}
    verdicts = {
        check.subject: check.passed
        for check in verify_programs(Subject(mechanism, programs, states=2, compiled=False)).checks
    }
    assert verdicts[SHARED]
    assert "constrained ID(constrained FD(tau)) = tau" not in verdicts
    single_drive = program(symgen.load("four_bar"), INVERSE)
    tau, multipliers = single_drive.outputs
    rows = [
        *single_drive.rows,
        single_drive.rows[0]._replace(op="const", args=(), value=Fraction(0), name=""),
    ]
    padded = replace(
        single_drive,
        rows=tuple(rows),
        outputs=(tau._replace(shape=(2,), rows=(*tau.rows, len(rows) - 1)), multipliers),
    )
    programs[INVERSE] = padded
    verdicts = {
        check.subject: check.passed
        for check in verify_programs(Subject(mechanism, programs, states=2, compiled=False)).checks
    }
    assert not verdicts[SHARED]


# -- declarations ----------------------------------------------------------------------------------


def test_declared_joints_survive_conversion(tmp_path: Path) -> None:
    first, second = (
        symgen.load("four_bar", **{option: "rocker_joint"})
        for option in ("independent", "actuated")
    )
    assert len({symgen.load("four_bar").content, first.content, second.content}) == 3
    converted = symgen.load(
        "four_bar", independent="rocker_joint", actuated=["crank_joint", "rocker_joint"]
    )
    assert symgen.load(to_toml(converted)).content == converted.content
    assert symgen.load(to_toml(converted), actuated=[]).actuated == ()
    stewart = symgen.load("stewart", independent="plate")
    assert symgen.load("stewart").actuated == SLIDES
    notes = symgen.convert(stewart, tmp_path / "stewart.xml")
    assert "the choice of independent joints is left out: plate" in notes
    assert symgen.load(tmp_path / "stewart.xml").actuated == SLIDES
    assert any(
        "and actuated joints is left out" in note
        for note in symgen.convert(stewart, tmp_path / "stewart.urdf")
    )


def test_actuators_of_mujoco_become_actuated_joints() -> None:
    mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = f"""<mujoco><worldbody><body name="a"><joint name="ja" axis="0 0 1"/>{mass}
        <body name="b" pos="0.5 0 0"><joint name="jb" axis="0 0 1"/>{mass}
        <body name="c" pos="0 0.5 0"><joint name="jc" axis="0 0 1"/>{mass}</body></body></body>
        </worldbody>{{}}
        <actuator><motor joint="jc"/><position joint="ja"/><motor site="s"/></actuator></mujoco>"""
    loop = '<equality><connect body1="c" anchor="-0.5 0 0"/></equality>'
    assert symgen.load(text.format(loop)).actuated == ("ja", "jc")
    assert symgen.load(text.format("")).actuated == ()
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(text.format(loop).replace('<motor site="s"/>', ""))
    assert symgen.from_mujoco(model).actuated == ("ja", "jc")


def test_locked_joints_are_removed_and_mimic_followers_replaced_by_leaders() -> None:
    assert symgen.load("stewart", lock=["slide2"]).actuated == tuple(
        name for name in SLIDES if name != "slide2"
    )
    text = to_toml(symgen.load("four_bar")).replace(
        "[[loop]]",
        """[[body]]
name = "gear"
parent = "ground"
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
[body.joint]
name = "gear_joint"
type = "revolute"
axis = [0, 0, 1]
mimic = { joint = "crank_joint", multiplier = 2 }
[[loop]]""",
    )
    base = symgen.load("four_bar").base
    mechanism = symgen.load(
        text.replace('"ground"', f'"{base}"'), mimic="couple", actuated="gear_joint"
    )
    assert mechanism.actuated == ("crank_joint",)


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        (
            {"robot": "four_bar", "independent": "crank"},
            UnknownName,
            "no joint is named 'crank'; did you mean 'crank_joint'?",
        ),
        (
            {"robot": "four_bar", "actuated": "rocker_joint,rocker_joint,x"},
            UnknownName,
            "no joint is named 'x'",
        ),
        (
            {"robot": "stewart", "independent": "plate,plate.vx"},
            ArgumentError,
            "'plate.vx' is declared to be independent twice",
        ),
        (
            {"robot": "panda", "actuated": "panda_joint1"},
            ArgumentError,
            "but the mechanism has no closed loop; remove",
        ),
        (
            {
                "robot": to_toml(symgen.load("four_bar")).replace(
                    'snap = "off"', 'snap = "off"\nactuated = "crank_joint"'
                )
            },
            DescriptionError,
            r"'crank_joint' is not an array of strings; write actuated = \[",
        ),
        (
            {
                "robot": to_toml(symgen.load("four_bar")).replace(
                    'snap = "off"', 'snap = "off"\nindependent = ["crank"]'
                )
            },
            DescriptionError,
            "'crank' is declared to be independent, but no moving joint has this name;"
            " use names of crank_joint",
        ),
    ],
)
def test_a_wrong_declaration_is_refused_in_one_line(
    arguments: dict[str, Any], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        symgen.load(**arguments)
    assert "\n" not in str(caught.value)


def test_a_mechanism_refuses_wrong_declarations() -> None:
    for fields in ({"actuated": ("nobody",)}, {"independent": ("crank_joint", "crank_joint")}):
        with pytest.raises(MechanismError, match=r"is declared to be (actuated|independent)"):
            replace(symgen.load("four_bar"), **fields)


def two_arms(independent: int = 0, actuated: int = 0) -> Mechanism:
    """Return two arms on a trunk with tips at a fixed distance: 7 joints, 6 degrees of freedom."""
    mechanism = arms("distance")
    names = [joint.name for joint in mechanism.joints]
    return replace(
        mechanism, independent=tuple(names[:independent]), actuated=tuple(names[:actuated])
    )


SIDE_BY_SIDE = (
    """name = "side"
independent = ["held_joint"]
"""
    + "".join(
        f"""[[body]]
name = "{name}"
parent = "base"
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
joint = {{ type = "revolute", axis = [0, 0, 1] }}
"""
        for name in ("held", "free")
    )
    + """[[loop]]
type = "weld"
first = { link = "held" }
second = { link = "base" }
"""
)
"""One link that a closed loop immobilizes, and one outside the loop."""


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: symgen.load("four_bar", independent="crank_joint,rocker_joint"),
            "2 velocities are declared independent, and the closed loops have 1 independent;"
            " name one of "
            "crank_joint, coupler_joint, rocker_joint",
        ),
        (
            lambda: symgen.load(SIDE_BY_SIDE),
            "1 velocity is .* have 1 independent; name free_joint$",
        ),
        (
            lambda: two_arms(independent=5),
            "5 velocities are .* have 6 independent;"
            " name trunk_joint, left0_joint, .*, right0_joint",
        ),
        (
            lambda: two_arms(independent=7),
            "7 velocities are .* have 6 independent; name trunk_joint, left0_joint",
        ),
        (
            lambda: replace(
                two_arms(), independent=(*(joint.name for joint in two_arms().joints[1:]),)
            ),
            "6 velocities are .* have 6 independent; name trunk_joint, ",
        ),
    ],
)
def test_wrong_independent_joints_are_refused_with_valid_ones_named(
    make: Callable[[], Mechanism], sentence: str
) -> None:
    """The trunk is not part of the closed loop and depends on no other joint."""
    with pytest.raises(OutOfReach, match=sentence):
        assembly(make())


@pytest.mark.slow
def test_too_few_actuated_joints_are_refused_with_a_missing_one_named() -> None:
    mechanism = two_arms(actuated=5)
    with pytest.raises(
        RequestError,
        match="'arms': 5 velocities are actuated, which cannot move all 6 degrees of freedom "
        r"of the closed loops; name (\w+) as well, with --actuated or in the description",
    ) as caught:
        program(mechanism, INVERSE)
    more = str(caught.value).partition("name ")[2].partition(" ")[0]
    assert program(mechanism, "constraint_residual").cost
    assert program(replace(mechanism, actuated=(*mechanism.actuated, more)), INVERSE).outputs[
        0
    ].shape == (6,)
    assert INVERSE not in requested(mechanism, None)


@pytest.mark.slow
def test_a_folder_lists_its_actuated_joints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "four_bar"
    chosen = [
        "--actuated",
        "crank_joint",
        "--actuated",
        "rocker_joint",
        "--independent",
        "rocker_joint",
    ]
    assert main(["generate", "four_bar", *chosen, "-f", INVERSE, "-o", str(out)]) == 0
    printed = capsys.readouterr().err
    readme, header, manifest = (
        " ".join((out / name).read_text().replace("*", " ").split())
        for name in ("README.md", "four_bar.h", "manifest.json")
    )
    for text in (printed, readme, header):
        assert (
            "here are more actuated joints than degrees of freedom; tau_independent has the forces"
            " with the least sum of squares" in text
        )
    assert "Independent: rocker_joint. Actuated: crank_joint, rocker_joint." in header
    assert '"actuated": [ "crank_joint", "rocker_joint" ]' in manifest
    assert symgen.verify(out, states=2, compiled=False).passed
    assert main(["verify", str(out), "--actuated", "crank_joint"]) == 2
    assert "so --actuated does not apply" in capsys.readouterr().err
    assert main(["show", "four_bar", "--actuated", "coupler_joint"]) == 0
    assert "actuated: coupler_joint" in capsys.readouterr().out
