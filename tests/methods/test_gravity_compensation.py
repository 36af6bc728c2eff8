"""Gravity compensation of links (MuJoCo's gravcomp): every dependent function by every method, and
its declaration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.benchmarks import peers
from symgen.cli import main
from symgen.description.canonical import to_toml
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.layout import layouts
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.support.errors import SymgenError
from tests.shared.bars import pendulum
from tests.shared.driven import UNFELT, answers, arguments_of, differing, driven
from tests.shared.judged_drives import answers as answers_of
from tests.shared.judged_drives import draw_float_states, error
from tests.shared.mjcf_texts import HINGE, ROD, arm, mjcf
from tests.shared.robots_for_tests import BALLS, PROVIDED, largest, of_kind, random_mechanism, run

EXACT = 1e-40
DEPENDENT_FUNCTIONS = (
    "inverse_dynamics",
    "forward_dynamics",
    "bias_force",
    "mass_matrix_and_bias",
    "link_accelerations",
    "interbody_forces",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "mass_matrix_coriolis_and_bias",
)
FRACTIONS = (Fraction(7, 10), Fraction(0), Fraction(-1, 3), Fraction(3, 2))


def compensated(mechanism: Mechanism, fractions: Sequence[Fraction] = FRACTIONS) -> Mechanism:
    """Return the robot with these gravity-compensated fractions, one body after the other, and
    gravity along no axis.
    """
    bodies = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, gravcomp=fractions[i % len(fractions)]) for part in body.parts
            ),
        )
        for i, body in enumerate(mechanism.bodies)
    )
    return replace(mechanism, bodies=bodies, gravity=(Fraction(1, 2), Fraction(-1), Fraction(-9)))


def compensated_tree(name: str, *types: str) -> Mechanism:
    """Return a tree of joints of these types with gravity compensation; a fourth joint is on the
    first link.
    """
    mechanism = random_mechanism(len(types), 11)
    joints = tuple(
        replace(of_kind(joint, kind), parent=(i - 1, 0)[i == 3])
        for i, (joint, kind) in enumerate(zip(mechanism.joints, types, strict=True))
    )
    return compensated(replace(mechanism, name=name, joints=joints))


@cache
def small() -> Mechanism:
    return driven(compensated_tree("small", "revolute", "helical", "prismatic", "continuous"))


@cache
def mixed() -> Mechanism:
    return compensated_tree("mixed", "free", "cylindrical", "spherical", "planar")


ROBOTS = {"small": small, "mixed": mixed}
CASES = [
    (name, function, method)
    for function, method in PROVIDED
    if function in DEPENDENT_FUNCTIONS
    and method != "fixman:planar"
    and not methods.find(method).mimic_only
    for name in ROBOTS
    if name == "small" or function not in ("link_accelerations", "interbody_forces")
    if name == "small" or methods.find(method).refusal(ROBOTS[name]()) is None
]


@pytest.mark.parametrize(("name", "function", "method"), CASES)
def test_every_method_agrees_with_the_reference(name: str, function: str, method: str) -> None:
    mechanism = ROBOTS[name]()
    frame = mechanism.frames[-1].name if function == "link_accelerations" else None
    results = run(
        symgen.program(mechanism, function, method, frame=frame),
        arguments_of(mechanism, function),
        BALLS,
    )
    assert (
        differing(
            results,
            Reference(mechanism, BALLS, frame=frame).evaluate(
                function, arguments_of(mechanism, function)
            ),
        )
        < EXACT
    )


def test_gravity_compensation_is_correct_with_shifted_frames() -> None:
    mechanism = replace(compensated(symgen.load("panda")), gravity=symgen.load("panda").gravity)
    assert layouts(mechanism).general.slides
    assert (
        differing(
            answers(mechanism, "inverse_dynamics"),
            Reference(mechanism, BALLS).evaluate(
                "inverse_dynamics", arguments_of(mechanism, "inverse_dynamics")
            ),
        )
        < EXACT
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_gravity_compensation_reduces_the_bias_by_the_compensated_weight(name: str) -> None:
    """The bias force decreases by the gravity force of a robot that has only the compensated
    masses.
    """
    mechanism = ROBOTS[name]()
    of_compensated_mass = replace(
        mechanism,
        bodies=tuple(
            replace(
                body,
                parts=tuple(
                    replace(part, mass=abs(part.gravcomp) * part.mass) for part in body.parts
                ),
            )
            for body in mechanism.bodies
        ),
    )
    up = replace(
        of_compensated_mass,
        bodies=tuple(
            replace(body, parts=tuple(part for part in body.parts if part.gravcomp > 0))
            for body in of_compensated_mass.bodies
        ),
    )
    down = replace(
        of_compensated_mass,
        bodies=tuple(
            replace(body, parts=tuple(part for part in body.parts if part.gravcomp < 0))
            for body in of_compensated_mass.bodies
        ),
    )
    with BALLS.working():
        weights = [answers(mechanism_, "gravity_force")["g"] for mechanism_ in (up, down)]
        reduction = (
            answers(mechanism.without_gravity_compensation, "bias_force")["c"]
            - answers(mechanism, "bias_force")["c"]
        )
        assert largest(reduction - weights[0] + weights[1]) < EXACT
        assert largest(reduction) > 1


@pytest.mark.parametrize("function", UNFELT)
def test_other_functions_do_not_depend_on_gravity_compensation(function: str) -> None:
    mechanism = small()
    assert (
        symgen.program(mechanism, function).rows
        == symgen.program(mechanism.without_gravity_compensation, function).rows
    )


def test_interbody_forces_include_the_whole_weight() -> None:
    """As in MuJoCo's cfrc_int, compensation acts in the joints and does not change the wrenches
    between bodies.
    """
    mechanism = small()
    (first, *_), a = (
        answers(mechanism, "interbody_forces", "riccati")[name] for name in ("F", "a")
    )
    states = arguments_of(mechanism, "interbody_forces")
    reference = Reference(mechanism.without_drives, BALLS)
    tau = reference.inverse_dynamics(states["q"], states["v"], a)
    expected = reference.evaluate("interbody_forces", {**states, "tau": tau})["F"]
    with BALLS.working():
        assert largest(first - expected[0]) < EXACT * (1 + largest(expected))


# -- one fraction for all links --------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", ["bias_force", "forward_dynamics", "inverse_dynamics_derivatives"]
)
@pytest.mark.parametrize("fraction", [Fraction(1), Fraction(1, 4)])
def test_equal_fractions_for_all_links_are_a_smaller_gravity(
    function: str, fraction: Fraction
) -> None:
    mechanism = compensated(random_mechanism(3, 2), [fraction])
    x, y, z = mechanism.gravity
    lighter = replace(
        mechanism.without_gravity_compensation,
        gravity=((1 - fraction) * x, (1 - fraction) * y, (1 - fraction) * z),
    )
    assert symgen.program(mechanism, function).rows == symgen.program(lighter, function).rows
    assert (
        differing(
            answers(mechanism, function),
            Reference(mechanism, BALLS).evaluate(function, arguments_of(mechanism, function)),
        )
        < EXACT
    )


def test_a_payload_is_not_compensated() -> None:
    mechanism = compensated(random_mechanism(3, 2), [Fraction(1)])
    link = mechanism.bodies[-1].name
    states = {
        name: BALLS.array(values)
        for name, values in draw_states(mechanism, 2, payload=link).items()
    }
    program = symgen.program(mechanism, "inverse_dynamics", payload=link)
    inputs = {port.name: states[port.name] for port in program.inputs}
    expected = Reference(mechanism, BALLS, payload=link).evaluate("inverse_dynamics", inputs)
    assert differing(run(program, inputs, BALLS), expected) < EXACT


def test_gravity_compensation_of_mimic_joints_equals_the_reference() -> None:
    text = to_toml(compensated(random_mechanism(3, 5))).replace(
        'name = "joint2"',
        'name = "joint2"\nmimic = { joint = "joint0", multiplier = -2, offset = "1/3" }',
    )
    mechanism = symgen.load(text, mimic="couple")
    assert mechanism.nv == 2
    for function in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"):
        assert (
            differing(
                answers(mechanism, function),
                Reference(mechanism, BALLS).evaluate(function, arguments_of(mechanism, function)),
            )
            < EXACT
        )


# -- declaration -----------------------------------------------------------------------------------

TEXT = mjcf(arm(ROD, attributes='gravcomp="0.7"'))


def test_the_canonical_description_keeps_gravity_compensation() -> None:
    mechanism = symgen.load(TEXT.replace("0.7", "0.333", 1))
    assert (
        symgen.load(to_toml(mechanism)).content
        == mechanism.content
        != mechanism.without_gravity_compensation.content
    )
    assert symgen.load(to_toml(mechanism)).compensated_parts == mechanism.compensated_parts


def test_gravity_compensation_follows_the_option_drives() -> None:
    assert [part.gravcomp for part in symgen.load(TEXT).compensated_parts] == [Fraction(7, 10)] * 2
    assert [
        part.gravcomp for part in symgen.load(TEXT, drives="gravcomp,damping").compensated_parts
    ] == [Fraction(7, 10)] * 2
    for drives in ("off", "damping"):
        uncompensated = symgen.load(TEXT, drives=drives)
        assert not uncompensated.compensated_parts
        assert [note.text for note in uncompensated.notes if "in C" not in note.text] == [
            "gravcomp of a, b is not applied: these links have their full weight"
        ]
        assert symgen.load(to_toml(uncompensated)).notes == uncompensated.notes


def test_gravity_compensation_is_declared_in_python_and_in_a_table(tmp_path: Path) -> None:
    by_hand = symgen.Robot("r").body(
        "a",
        parent="base",
        type="revolute",
        axis=(0, 1, 0),
        mass=2,
        centre=(1, 0, 0),
        gravcomp="1/4",
    )
    sheet = "name,parent,type,axis_y,mass,cx,gravcomp\na,base,revolute,1,2,1,1/4\n"
    (tmp_path / "r.csv").write_text(sheet)
    for mechanism in (by_hand.build(), symgen.load(tmp_path / "r.csv")):
        assert str(symgen.inspect(mechanism, "c[0]")) == "-2943*cos(q0)/200"
        assert str(symgen.inspect(mechanism, "g[0]")) == "-981*cos(q0)/50"


def test_masses_with_gravity_compensation_cannot_be_parameters() -> None:
    mechanism = symgen.load(TEXT)
    with pytest.raises(
        SymgenError,
        match=r"parameter 'a.mass': link 'a' has gravity compensation",
    ):
        symgen.program(mechanism, "bias_force", parameters=["a.mass"])
    with pytest.raises(
        SymgenError, match=r"which is not available in symbols m and c; keep l and I"
    ):
        symgen.inspect(mechanism, "c[0]", symbols="m")
    assert symgen.program(
        mechanism, "bias_force", parameters=["gravity", "payload:b.mass"]
    ).operations


def test_gravity_at_run_time_is_compensated() -> None:
    mechanism, gravity = symgen.load(TEXT), [1.0, 2.0, -3.0]
    solver = symgen.compile(mechanism, ["bias_force"], parameters=["gravity"])
    q, v = np.array([0.3, 0.4, -0.2, 1.0]), np.zeros(4)
    with_gravity = replace(mechanism, gravity=(Fraction(1), Fraction(2), Fraction(-3)))
    solver.parameters["gravity"] = gravity
    assert np.abs(solver.bias_force(q, v) - Reference(with_gravity).bias_force(q, v)).max() < 1e-12


@pytest.mark.slow
def test_a_folder_lists_compensated_links_and_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.xml").write_text(TEXT)
    folder = tmp_path / "out"
    assert (
        main(
            [
                "generate",
                str(tmp_path / "r.xml"),
                "-o",
                str(folder),
                "-f",
                "inverse_dynamics",
                "-f",
                "forward_dynamics",
            ]
        )
        == 0
    )
    assert "| `a` | 0.7 |" in (folder / "README.md").read_text()
    assert '"fraction": 0.7' in (folder / "manifest.json").read_text()
    assert (
        "Part of the weight of some links is compensated (gravcomp)"
        in (folder / "m_robot.h").read_text()
    )
    assert main(["verify", str(folder)]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "r.xml")]) == 0
    assert (
        "compensated fraction of the weight (gravcomp): 0.7 of a, 0.7 of b"
        in capsys.readouterr().out
    )


# -- MuJoCo ----------------------------------------------------------------------------------------


def in_mujoco(text: str) -> tuple[Array, Array]:
    """Return MuJoCo's forces of gravity compensation and its passive forces at one state."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = [0.3, 0.4], [1, -2]
    mujoco.mj_forward(model, data)
    return np.array(data.qfrc_gravcomp), np.array(data.qfrc_passive)


def test_gravity_compensation_equals_that_of_mujoco() -> None:
    text = mjcf(arm(ROD, HINGE, 'gravcomp="0.7"'), '<option gravity="1 2 -3"/>')
    mechanism = symgen.load(text)
    q, v = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    reduction = Reference(mechanism.without_gravity_compensation).bias_force(q, v) - Reference(
        mechanism
    ).bias_force(q, v)
    assert np.abs(reduction - in_mujoco(text)[0]).max() < 1e-13


def test_from_mujoco_reads_gravity_compensation() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = mjcf(arm(ROD, HINGE, 'gravcomp="0.7"'))
    q, v = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    mechanism = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert (
        np.abs(
            Reference(mechanism).bias_force(q, v) - Reference(symgen.load(text)).bias_force(q, v)
        ).max()
        < 1e-12
    )
    without_passive_forces = text.replace(
        "<worldbody>", '<option><flag spring="disable" damper="disable"/></option><worldbody>'
    )
    assert not symgen.from_mujoco(
        mujoco.MjModel.from_xml_string(without_passive_forces)
    ).compensated_parts


def test_actuator_gravity_compensation_is_reported() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = mjcf(
        f'<body name="a" gravcomp="1"><joint name="j" actuatorgravcomp="true"/>{ROD}</body>'
    )
    (note_,) = [note for note in symgen.load(text).notes if "gravcomp" in note.text]
    assert (
        note_.text == "at j MuJoCo adds gravcomp to the actuator forces; here it is not part of tau"
    )
    mechanism = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert any("adds gravcomp to the actuator forces" in note.text for note in mechanism.notes)
    without = symgen.load(text.replace('gravcomp="1"', ""))
    assert not [note for note in without.notes if "gravcomp" in note.text]


def test_mujoco_models_built_from_compensated_robots_agree() -> None:
    """MuJoCo accepts one fraction per body; several fractions are refused, and all fractions for
    Pinocchio.
    """
    pytest.importorskip("mujoco")
    mechanism = compensated(symgen.load("panda"))
    states = draw_float_states(mechanism)
    for function in ("inverse_dynamics", "forward_dynamics"):
        assert (
            error(mechanism, function, states, answers_of("mujoco", mechanism, function, states))
            < 1e-11
        )
        assert (
            error(
                mechanism,
                function,
                states,
                answers_of("mujoco", mechanism.without_gravity_compensation, function, states),
            )
            > 1e-3
        )
    first, *other_bodies = mechanism.bodies
    another = replace(first.parts[0], gravcomp=Fraction(2))
    several = replace(
        mechanism, bodies=(replace(first, parts=(*first.parts, another)), *other_bodies)
    )
    for judge, refused_robot in (("mujoco", several), ("pinocchio", mechanism)):
        pytest.importorskip(judge)
        with pytest.raises(
            SymgenError,
            match="has no such gravcomp as link 'panda_link1' has; leave it out with --drives",
        ):
            peers.PEERS[judge](refused_robot)


def test_derivatives_of_a_compensated_pendulum_are_the_closed_form() -> None:
    """tau = 3/4 · 3 · 10 (0.3 cos q − 0.4 sin q) holds the pendulum; a payload keeps the
    compensation apart from gravity.
    """
    bob = pendulum()
    (body,) = bob.bodies
    (part,) = body.parts
    parts = (replace(part, gravcomp=Fraction(1, 4)),)
    robot = replace(bob, bodies=(replace(body, parts=parts),))
    program = symgen.program(robot, "inverse_dynamics_derivatives", payload="bob")
    q = 0.7
    states = {name: np.zeros((1, 1)) for name in ("v", "a")} | {"q": np.array([[q]])}
    size = next(port.size for port in program.inputs if port.name == "payload")
    results = run(program, {**states, "payload": np.zeros((1, size))})
    weight = 3 / 4 * 3 * 10
    slope = weight * (-0.3 * np.sin(q) - 0.4 * np.cos(q))
    np.testing.assert_allclose(results["dtau_dq"].reshape(-1), [slope], rtol=1e-12)
    tau = run(symgen.program(robot, "inverse_dynamics"), states)["tau"]
    np.testing.assert_allclose(
        tau.reshape(-1), [weight * (0.3 * np.cos(q) - 0.4 * np.sin(q))], rtol=1e-12
    )
