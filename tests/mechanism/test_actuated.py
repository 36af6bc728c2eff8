"""Joints that are declared independent or actuated: what moves a closed chain, by any joint of it, and the least of many."""

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
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
from tests.shared.looped import arms

INVERSE, REDUCED, FORWARD = (
    "constrained_inverse_dynamics",
    "reduced_mass_matrix",
    "constrained_forward_dynamics",
)
SLIDES = tuple(f"slide{k}" for k in range(1, 7))
SHARED = "constrained FD(least tau) = constrained FD(tau)"
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


def error(mechanism: Mechanism, function: str, baumgarte: bool = False) -> float:
    """How far a function is from the reference, relative to its answer."""
    truth = Truth(mechanism, 2, 5, baumgarte=baumgarte)
    return check_algebra(program(mechanism, function, baumgarte=baumgarte), truth, function).error


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "legs"])
def test_whatever_is_driven_the_reference_says_the_same(name: str) -> None:
    assert error(robot(name), INVERSE) < 1e-40


@pytest.mark.parametrize("name", ["driven at the coupler", "bennett elsewhere"])
def test_whatever_is_independent_the_reduced_mass_is_the_references(name: str) -> None:
    assert error(robot(name), REDUCED) < 1e-40


@pytest.mark.parametrize("mode", ["jvp", "vjp", "jacobian"])
def test_forces_of_more_joints_than_move_have_their_derivatives(mode: str) -> None:
    assert error(robot("driven at both ends"), f"{INVERSE}:{mode}") < 1e-40


def test_beside_the_loops_too() -> None:
    assert error(robot("driven at both ends"), INVERSE, baumgarte=True) < 1e-40


@pytest.mark.parametrize("name", ["driven at both ends", "bennett elsewhere", "legs"])
def test_forces_are_those_that_the_null_space_says(name: str) -> None:
    """N from singular values, whoever is independent; tau by the pseudo-inverse of what drives it, and so λ. FD gives a again."""
    mechanism = robot(name)
    at, floats, found = (
        assemble(mechanism),
        Reference(mechanism, FLOAT),
        closed_states(mechanism, assemble(mechanism), 2, 3),
    )
    q, v = (found[x].astype(float) for x in "qv")
    A, gamma = closing.jacobian(floats, at.kept, q), closing.bias(floats, at.kept, q, v)
    N = np.swapaxes(np.linalg.svd(A)[2][:, at.rank :], -1, -2)
    a = -(np.linalg.pinv(A, rcond=1e-8) @ gamma[..., None])[..., 0] + N.sum(axis=-1)
    f = floats.inverse_dynamics(q, v, a)
    driven = list(at.actuated)
    across = np.swapaxes(N[:, driven], -1, -2)
    tau = np.zeros_like(v)
    tau[:, driven] = (np.linalg.pinv(across) @ (np.swapaxes(N, -1, -2) @ f[..., None]))[..., 0]
    held = (np.linalg.pinv(np.swapaxes(A, -1, -2), rcond=1e-8) @ (f - tau)[..., None])[..., 0]
    mine = machine_runner(program(mechanism, INVERSE))({"q": q, "v": v, "a": a})
    size = np.abs(f).max()
    np.testing.assert_allclose(mine["tau_independent"], tau[:, driven], atol=1e-9 * size)
    np.testing.assert_allclose(mine["lambda"], held, atol=1e-9 * size)
    again = machine_runner(program(mechanism, FORWARD))({"q": q, "v": v, "tau": tau})["a"]
    np.testing.assert_allclose(again, a, atol=1e-7 * np.abs(a).max())


# -- closed forms ------------------------------------------------------------------------------------------------------------


def parallelogram(actuated: Sequence[str]) -> Mechanism:
    """Crank and rocker of 0.3 m side by side, 0.5 m apart; the coupler of 1.2 kg only shifts."""
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
def test_a_parallelogram_is_lifted_by_what_the_textbook_says(actuated: list[str]) -> None:
    """Crank, rocker and, backwards, coupler turn alike, so that drives share I θ̈ + g cos θ Σ m r evenly."""
    mechanism = parallelogram(actuated)
    theta, rate, bent = 0.7, 1.3, 2.1
    turned = np.array([[1.0, -1.0, 1.0]])
    found = machine_runner(program(mechanism, INVERSE))(
        {"q": theta * turned, "v": rate * turned, "a": bent * turned}
    )
    inertia = (0.03 + 2 * 0.1**2) + (0.02 + 3 * 0.15**2) + 1.2 * 0.3**2
    wanted = inertia * bent + 9.81 * np.cos(theta) * (2 * 0.1 + 3 * 0.15 + 1.2 * 0.3)
    signs = np.array(
        [
            -1.0 if name == "coupler_joint" else 1.0
            for name in ("crank_joint", "coupler_joint", "rocker_joint")
            if name in actuated
        ]
    )
    np.testing.assert_allclose(
        found["tau_independent"], [wanted * signs / len(actuated)], rtol=1e-12
    )
    reduced = machine_runner(program(mechanism, REDUCED))({"q": theta * turned})["M_reduced"]
    np.testing.assert_allclose(reduced, [[[inertia]]], rtol=1e-12)


# -- planted errors ----------------------------------------------------------------------------------------------------------


def bent(one: Program, row: int) -> Program:
    rows = list(one.rows)
    rows[row] = rows[row]._replace(op={"add": "sub", "sub": "add"}[rows[row].op])
    return replace(one, rows=tuple(rows))


def test_a_sign_that_is_wrong_is_seen_wherever_it_stands() -> None:
    mechanism = robot("driven at both ends")
    one, truth = program(mechanism, INVERSE), Truth(mechanism, 2, 5)
    places = [i for i, row in enumerate(one.rows) if row.op in ("add", "sub")]
    assert len(places) > 20
    assert all(not check_algebra(bent(one, i), truth, INVERSE).passed for i in places)


def test_forces_that_are_right_and_not_the_least_are_seen() -> None:
    """Those of one drive alone cause the same accelerations; the identity tells, without a reference."""
    mechanism = robot("driven at both ends")
    there = {name: program(mechanism, name) for name in (FORWARD, INVERSE)}
    found = {
        one.subject: one.passed
        for one in verify_programs(Subject(mechanism, there, states=2, compiled=False)).checks
    }
    assert found[SHARED]
    assert "constrained ID(constrained FD(tau)) = tau" not in found
    alone = program(symgen.load("four_bar"), INVERSE)
    tau, held = alone.outputs
    rows = [*alone.rows, alone.rows[0]._replace(op="const", args=(), value=Fraction(0), name="")]
    padded = replace(
        alone,
        rows=tuple(rows),
        outputs=(tau._replace(shape=(2,), rows=(*tau.rows, len(rows) - 1)), held),
    )
    there[INVERSE] = padded
    found = {
        one.subject: one.passed
        for one in verify_programs(Subject(mechanism, there, states=2, compiled=False)).checks
    }
    assert not found[SHARED]


# -- declared, kept and refused ----------------------------------------------------------------------------------------------


def test_what_is_declared_is_kept_wherever_a_robot_goes(tmp_path: Path) -> None:
    first, other = (
        symgen.load("four_bar", **{what: "rocker_joint"}) for what in ("independent", "actuated")
    )
    assert len({symgen.load("four_bar").content, first.content, other.content}) == 3
    both = symgen.load(
        "four_bar", independent="rocker_joint", actuated=["crank_joint", "rocker_joint"]
    )
    assert symgen.load(to_toml(both)).content == both.content
    assert symgen.load(to_toml(both), actuated=[]).actuated == ()
    stewart = symgen.load("stewart", independent="plate")
    assert symgen.load("stewart").actuated == SLIDES
    said = symgen.convert(stewart, tmp_path / "stewart.xml")
    assert "the choice of independent joints is left out: plate" in said
    assert symgen.load(tmp_path / "stewart.xml").actuated == SLIDES
    assert any(
        "and actuated joints is left out" in one
        for one in symgen.convert(stewart, tmp_path / "stewart.urdf")
    )


def test_actuators_of_mujoco_are_what_is_driven() -> None:
    mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = f"""<mujoco><worldbody><body name="a"><joint name="ja" axis="0 0 1"/>{mass}
        <body name="b" pos="0.5 0 0"><joint name="jb" axis="0 0 1"/>{mass}
        <body name="c" pos="0 0.5 0"><joint name="jc" axis="0 0 1"/>{mass}</body></body></body></worldbody>{{}}
        <actuator><motor joint="jc"/><position joint="ja"/><motor site="s"/></actuator></mujoco>"""
    loop = '<equality><connect body1="c" anchor="-0.5 0 0"/></equality>'
    assert symgen.load(text.format(loop)).actuated == ("ja", "jc")
    assert symgen.load(text.format("")).actuated == ()
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(text.format(loop).replace('<motor site="s"/>', ""))
    assert symgen.from_mujoco(model).actuated == ("ja", "jc")


def test_locked_joints_are_left_and_followers_stand_for_their_leaders() -> None:
    assert symgen.load("stewart", lock=["slide2"]).actuated == tuple(
        one for one in SLIDES if one != "slide2"
    )
    own = to_toml(symgen.load("four_bar")).replace(
        "[[loop]]",
        """[[body]]
name = "gear"
parent = "ground"
joint = { name = "gear_joint", type = "revolute", axis = [0, 0, 1], mimic = { joint = "crank_joint", multiplier = 2 } }
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
[[loop]]""",
    )
    base = symgen.load("four_bar").base
    mechanism = symgen.load(
        own.replace('"ground"', f'"{base}"'), mimic="couple", actuated="gear_joint"
    )
    assert mechanism.actuated == ("crank_joint",)


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
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
            "'crank' is declared to be independent, but no moving joint has this name; use names of crank_joint",
        ),
    ],
)
def test_what_is_no_joint_is_refused_in_a_sentence(
    given: dict[str, Any], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        symgen.load(**given)
    assert "\n" not in str(caught.value)


def test_a_mechanism_refuses_them_as_well() -> None:
    for fields in ({"actuated": ("nobody",)}, {"independent": ("crank_joint", "crank_joint")}):
        with pytest.raises(MechanismError, match=r"is declared to be (actuated|independent)"):
            replace(symgen.load("four_bar"), **fields)


def seven(independent: int = 0, actuated: int = 0) -> Mechanism:
    """Two arms of three joints on a trunk, whose tips are a given way apart: six move. The first joints are named."""
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
"""One link that a loop holds still, and one that it leaves alone."""


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: symgen.load("four_bar", independent="crank_joint,rocker_joint"),
            "2 velocities are declared independent, and the closed loops have 1 independent; name one of "
            "crank_joint, coupler_joint, rocker_joint",
        ),
        (
            lambda: symgen.load(SIDE_BY_SIDE),
            "1 velocity is .* have 1 independent; name free_joint$",
        ),
        (
            lambda: seven(independent=5),
            "5 velocities are .* have 6 independent; name trunk_joint, left0_joint, .*, right0_joint",
        ),
        (
            lambda: seven(independent=7),
            "7 velocities are .* have 6 independent; name trunk_joint, left0_joint",
        ),
        (
            lambda: replace(seven(), independent=(*(joint.name for joint in seven().joints[1:]),)),
            "6 velocities are .* have 6 independent; name trunk_joint, ",
        ),
    ],
)
def test_independent_joints_that_are_not_are_refused_with_those_that_are(
    make: Callable[[], Mechanism], sentence: str
) -> None:
    """The trunk, which the loop says nothing of, hangs on no other joint."""
    with pytest.raises(OutOfReach, match=sentence):
        assembly(make())


def test_drives_that_cannot_move_every_freedom_are_refused_with_what_is_missing() -> None:
    mechanism = seven(actuated=5)
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


def test_a_folder_says_who_drives_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    told = capsys.readouterr().err
    readme, header, manifest = (
        " ".join((out / name).read_text().replace("*", " ").split())
        for name in ("README.md", "four_bar.h", "manifest.json")
    )
    for text in (told, readme, header):
        assert (
            "here are more actuated joints than degrees of freedom; tau_independent has the forces with "
            "the least sum of squares" in text
        )
    assert "Independent: rocker_joint. Actuated: crank_joint, rocker_joint." in header
    assert '"actuated": [ "crank_joint", "rocker_joint" ]' in manifest
    assert symgen.verify(out, states=2, compiled=False).passed
    assert main(["verify", str(out), "--actuated", "crank_joint"]) == 2
    assert "so --actuated does not apply" in capsys.readouterr().err
    assert main(["show", "four_bar", "--actuated", "coupler_joint"]) == 0
    assert "actuated: coupler_joint" in capsys.readouterr().out
