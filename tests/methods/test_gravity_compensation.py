"""The weight that is borne for links, MuJoCo's gravcomp: in all functions that feel it, by all methods, and as it is declared."""

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
from tests.shared.driven import UNFELT, answers, arguments_of, differing, driven
from tests.shared.judged_drives import answers as answers_of
from tests.shared.judged_drives import draw_float_states, error
from tests.shared.mjcf_texts import HINGE, ROD, arm, mjcf
from tests.shared.robots_for_tests import BALLS, PROVIDED, largest, of_kind, random_mechanism, run

EXACT = 1e-40
FELT = (
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


def borne(made: Mechanism, fractions: Sequence[Fraction] = FRACTIONS) -> Mechanism:
    """The robot with these fractions of the weight of its bodies borne, one after the other, and gravity along no axis."""
    bodies = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, gravcomp=fractions[i % len(fractions)]) for part in body.parts
            ),
        )
        for i, body in enumerate(made.bodies)
    )
    return replace(made, bodies=bodies, gravity=(Fraction(1, 2), Fraction(-1), Fraction(-9)))


def shaped(name: str, *types: str) -> Mechanism:
    """Two links behind each other, and others on both."""
    made = random_mechanism(len(types), 11)
    joints = tuple(
        replace(of_kind(joint, kind), parent=(i - 1, 0)[i == 3])
        for i, (joint, kind) in enumerate(zip(made.joints, types, strict=True))
    )
    return borne(replace(made, name=name, joints=joints))


@cache
def small() -> Mechanism:
    return driven(shaped("small", "revolute", "helical", "prismatic", "continuous"))


@cache
def mixed() -> Mechanism:
    return shaped("mixed", "free", "cylindrical", "spherical", "planar")


ROBOTS = {"small": small, "mixed": mixed}
CASES = [
    (name, function, method)
    for function, method in PROVIDED
    if function in FELT and method != "fixman:planar" and not methods.find(method).mimic_only
    for name in ROBOTS
    if name == "small" or function not in ("link_accelerations", "interbody_forces")
    if name == "small" or methods.find(method).refusal(ROBOTS[name]()) is None
]


@pytest.mark.parametrize(("name", "function", "method"), CASES)
def test_every_method_agrees_with_the_reference(name: str, function: str, method: str) -> None:
    made = ROBOTS[name]()
    frame = made.frames[-1].name if function == "link_accelerations" else None
    found = run(
        symgen.program(made, function, method, frame=frame), arguments_of(made, function), BALLS
    )
    assert (
        differing(
            found,
            Reference(made, BALLS, frame=frame).evaluate(function, arguments_of(made, function)),
        )
        < EXACT
    )


def test_it_goes_along_with_frames_that_are_slid() -> None:
    made = replace(borne(symgen.load("panda")), gravity=symgen.load("panda").gravity)
    assert layouts(made).general.slides
    assert (
        differing(
            answers(made, "inverse_dynamics"),
            Reference(made, BALLS).evaluate(
                "inverse_dynamics", arguments_of(made, "inverse_dynamics")
            ),
        )
        < EXACT
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_it_spares_the_joints_the_weight_of_what_is_borne(name: str) -> None:
    """Which is the gravity force of a robot of those masses alone."""
    made = ROBOTS[name]()
    held = replace(
        made,
        bodies=tuple(
            replace(
                body,
                parts=tuple(
                    replace(part, mass=abs(part.gravcomp) * part.mass) for part in body.parts
                ),
            )
            for body in made.bodies
        ),
    )
    up = replace(
        held,
        bodies=tuple(
            replace(body, parts=tuple(part for part in body.parts if part.gravcomp > 0))
            for body in held.bodies
        ),
    )
    down = replace(
        held,
        bodies=tuple(
            replace(body, parts=tuple(part for part in body.parts if part.gravcomp < 0))
            for body in held.bodies
        ),
    )
    with BALLS.working():
        weights = [answers(one, "gravity_force")["g"] for one in (up, down)]
        spared = (
            answers(made.without_gravity_compensation, "bias_force")["c"]
            - answers(made, "bias_force")["c"]
        )
        assert largest(spared - weights[0] + weights[1]) < EXACT
        assert largest(spared) > 1


@pytest.mark.parametrize("function", UNFELT)
def test_what_is_of_the_whole_weight_does_not_feel_it(function: str) -> None:
    made = small()
    assert (
        symgen.program(made, function).rows
        == symgen.program(made.without_gravity_compensation, function).rows
    )


def test_forces_between_bodies_are_of_the_whole_weight() -> None:
    """As MuJoCo's cfrc_int are: what bears it acts in the joints."""
    made = small()
    (first, *_), a = (answers(made, "interbody_forces", "riccati")[name] for name in ("F", "a"))
    states = arguments_of(made, "interbody_forces")
    wanted = Reference(made.without_drives, BALLS)
    tau = wanted.inverse_dynamics(states["q"], states["v"], a)
    whole = wanted.evaluate("interbody_forces", {**states, "tau": tau})["F"]
    with BALLS.working():
        assert largest(first - whole[0]) < EXACT * (1 + largest(whole))


# -- the same fraction of all ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", ["bias_force", "forward_dynamics", "inverse_dynamics_derivatives"]
)
@pytest.mark.parametrize("fraction", [Fraction(1), Fraction(1, 4)])
def test_the_same_fraction_of_all_costs_nothing(function: str, fraction: Fraction) -> None:
    made = borne(random_mechanism(3, 2), [fraction])
    x, y, z = made.gravity
    less = replace(
        made.without_gravity_compensation,
        gravity=((1 - fraction) * x, (1 - fraction) * y, (1 - fraction) * z),
    )
    assert symgen.program(made, function).rows == symgen.program(less, function).rows
    assert (
        differing(
            answers(made, function),
            Reference(made, BALLS).evaluate(function, arguments_of(made, function)),
        )
        < EXACT
    )


def test_a_payload_is_borne_by_nobody() -> None:
    made = borne(random_mechanism(3, 2), [Fraction(1)])
    link = made.bodies[-1].name
    states = {
        name: BALLS.array(values) for name, values in draw_states(made, 2, payload=link).items()
    }
    program = symgen.program(made, "inverse_dynamics", payload=link)
    taken = {port.name: states[port.name] for port in program.inputs}
    wanted = Reference(made, BALLS, payload=link).evaluate("inverse_dynamics", taken)
    assert differing(run(program, taken, BALLS), wanted) < EXACT


def test_joints_that_follow_others_are_spared_through_their_leaders() -> None:
    text = to_toml(borne(random_mechanism(3, 5))).replace(
        'name = "joint2"',
        'name = "joint2"\nmimic = { joint = "joint0", multiplier = -2, offset = "1/3" }',
    )
    made = symgen.load(text, mimic="couple")
    assert made.nv == 2
    for function in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"):
        assert (
            differing(
                answers(made, function),
                Reference(made, BALLS).evaluate(function, arguments_of(made, function)),
            )
            < EXACT
        )


# -- how it is declared --------------------------------------------------------------------------------------------------------

TEXT = mjcf(arm(ROD, attributes='gravcomp="0.7"'))


def test_the_canonical_description_keeps_it() -> None:
    made = symgen.load(TEXT.replace("0.7", "0.333", 1))
    assert (
        symgen.load(to_toml(made)).content
        == made.content
        != made.without_gravity_compensation.content
    )
    assert symgen.load(to_toml(made)).compensated_parts == made.compensated_parts


def test_what_bears_weight_is_a_drive() -> None:
    assert [part.gravcomp for part in symgen.load(TEXT).compensated_parts] == [Fraction(7, 10)] * 2
    assert [
        part.gravcomp for part in symgen.load(TEXT, drives="gravcomp,damping").compensated_parts
    ] == [Fraction(7, 10)] * 2
    for drives in ("off", "damping"):
        off = symgen.load(TEXT, drives=drives)
        assert not off.compensated_parts
        assert [note.text for note in off.notes if "in C" not in note.text] == [
            "gravcomp of a, b is not applied: these links have their full weight"
        ]
        assert symgen.load(to_toml(off)).notes == off.notes


def test_it_is_declared_by_hand_and_in_a_table(tmp_path: Path) -> None:
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
    for made in (by_hand.build(), symgen.load(tmp_path / "r.csv")):
        assert str(symgen.inspect(made, "c[0]")) == "-2943*cos(q0)/200"
        assert str(symgen.inspect(made, "g[0]")) == "-981*cos(q0)/50"


def test_masses_that_are_borne_are_constants() -> None:
    made = symgen.load(TEXT)
    with pytest.raises(
        SymgenError,
        match=r"parameter 'a.mass': link 'a' has gravity compensation",
    ):
        symgen.program(made, "bias_force", parameters=["a.mass"])
    with pytest.raises(
        SymgenError, match=r"which is not available in symbols m and c; keep l and I"
    ):
        symgen.inspect(made, "c[0]", symbols="m")
    assert symgen.program(made, "bias_force", parameters=["gravity", "payload:b.mass"]).operations


def test_gravity_at_run_time_is_borne_as_well() -> None:
    made, gravity = symgen.load(TEXT), [1.0, 2.0, -3.0]
    solver = symgen.compile(made, ["bias_force"], parameters=["gravity"])
    q, v = np.array([0.3, 0.4, -0.2, 1.0]), np.zeros(4)
    there = replace(made, gravity=(Fraction(1), Fraction(2), Fraction(-3)))
    solver.parameters["gravity"] = gravity
    assert np.abs(solver.bias_force(q, v) - Reference(there).bias_force(q, v)).max() < 1e-12


def test_a_folder_says_what_is_borne_and_is_verified(
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
    assert "Part of the weight of links is borne (gravcomp)" in (folder / "m_robot.h").read_text()
    assert main(["verify", str(folder)]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "r.xml")]) == 0
    assert (
        "part of the weight that is borne (gravcomp): 0.7 of a, 0.7 of b" in capsys.readouterr().out
    )


# -- MuJoCo --------------------------------------------------------------------------------------------------------------------


def in_mujoco(text: str) -> tuple[Array, Array]:
    """(forces that it spares, the wrench across the first joint about the world's origin) at some state, of MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = [0.3, 0.4], [1, -2]
    mujoco.mj_forward(model, data)
    return np.array(data.qfrc_gravcomp), np.array(data.qfrc_passive)


def test_mujoco_spares_the_same() -> None:
    text = mjcf(arm(ROD, HINGE, 'gravcomp="0.7"'), '<option gravity="1 2 -3"/>')
    made = symgen.load(text)
    q, v = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    spared = Reference(made.without_gravity_compensation).bias_force(q, v) - Reference(
        made
    ).bias_force(q, v)
    assert np.abs(spared - in_mujoco(text)[0]).max() < 1e-13


def test_from_mujoco_it_is_the_same() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = mjcf(arm(ROD, HINGE, 'gravcomp="0.7"'))
    q, v = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    made = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert (
        np.abs(
            Reference(made).bias_force(q, v) - Reference(symgen.load(text)).bias_force(q, v)
        ).max()
        < 1e-12
    )
    off = text.replace(
        "<worldbody>", '<option><flag spring="disable" damper="disable"/></option><worldbody>'
    )
    assert not symgen.from_mujoco(mujoco.MjModel.from_xml_string(off)).compensated_parts


def test_what_actuators_bear_is_said() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = mjcf(
        f'<body name="a" gravcomp="1"><joint name="j" actuatorgravcomp="true"/>{ROD}</body>'
    )
    (said,) = [note for note in symgen.load(text).notes if "gravcomp" in note.text]
    assert (
        said.text == "at j MuJoCo adds gravcomp to the actuator forces; here it is not part of tau"
    )
    made = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert any("adds gravcomp to the actuator forces" in note.text for note in made.notes)
    without = symgen.load(text.replace('gravcomp="1"', ""))
    assert not [note for note in without.notes if "gravcomp" in note.text]


def test_mujoco_built_of_it_says_the_same() -> None:
    """Where a body has one fraction; else, and for Pinocchio, it is refused."""
    pytest.importorskip("mujoco")
    made = borne(symgen.load("panda"))
    states = draw_float_states(made)
    for function in ("inverse_dynamics", "forward_dynamics"):
        assert error(made, function, states, answers_of("mujoco", made, function, states)) < 1e-11
        assert (
            error(
                made,
                function,
                states,
                answers_of("mujoco", made.without_gravity_compensation, function, states),
            )
            > 1e-3
        )
    first, *others = made.bodies
    another = replace(first.parts[0], gravcomp=Fraction(2))
    several = replace(made, bodies=(replace(first, parts=(*first.parts, another)), *others))
    for judge, one in (("mujoco", several), ("pinocchio", made)):
        pytest.importorskip(judge)
        with pytest.raises(
            SymgenError,
            match="has no such gravcomp as link 'panda_link1' has; leave it out with --drives",
        ):
            peers.PEERS[judge](one)
