"""Drives of joints: armature, damping, friction and springs, in every function that depends on
them, by every method.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.certificate.divisors import own_inertias
from symgen.cli import main
from symgen.description.canonical import to_toml
from symgen.ir.program import evaluate
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.support.errors import SymgenError
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.c_programs import DOUBLES
from tests.shared.driven import UNFELT, answers, arguments_of, differing, driven, outermost
from tests.shared.robots_for_tests import (
    BALLS,
    PROVIDED,
    flat_chain,
    largest,
    of_kind,
    random_mechanism,
    robot,
    run,
)

EXACT = 1e-40
DEPENDENT = (
    "inverse_dynamics",
    "forward_dynamics",
    "bias_force",
    "mass_matrix",
    "mass_matrix_and_bias",
    "inverse_mass_matrix",
    "mass_matrix_solve",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant",
    "mass_matrix_log_determinant_gradient",
    "operational_inertia_inverse",
    "link_accelerations",
    "interbody_forces",
    "kinetic_energy",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "mass_matrix_coriolis_and_bias",
)


@cache
def mixed() -> Mechanism:
    """Return a floating root with a prismatic, a helical and a spherical joint on it."""
    types = ("free", "prismatic", "helical", "spherical")
    mechanism = random_mechanism(4, 5, "tree")
    joints = tuple(
        replace(of_kind(joint, kind), parent=min(i, 1) - 1)
        for i, (joint, kind) in enumerate(zip(mechanism.joints, types, strict=True))
    )
    return driven(replace(mechanism, name="mixed", joints=joints))


@cache
def small() -> Mechanism:
    """Return a chain of three different joints with a branch at the end."""
    mechanism = random_mechanism(4, 149, joints=("helical", "prismatic", "revolute", "continuous"))
    joints = tuple(
        replace(of_kind(joint, kind), parent=min(i, 2) - 1)
        for i, (joint, kind) in enumerate(
            zip(mechanism.joints, ("revolute", "helical", "prismatic", "continuous"), strict=True)
        )
    )
    return driven(replace(mechanism, name="small", joints=joints))


ROBOTS = {"small": small, "mixed": mixed}
CASES = [
    (name, function, method)
    for function, method in PROVIDED
    if function in DEPENDENT and method != "fixman:planar" and not methods.find(method).mimic_only
    for name in ROBOTS
    if name == "small"
    or function
    in (
        "mass_matrix",
        "forward_dynamics",
        "mass_matrix_coriolis_and_bias",
        "operational_inertia_inverse",
    )
]


@pytest.mark.parametrize(("name", "function", "method"), CASES)
def test_every_method_agrees_with_the_reference(name: str, function: str, method: str) -> None:
    mechanism = ROBOTS[name]()
    expected = Reference(mechanism, BALLS, frame=outermost(mechanism, function)).evaluate(
        function, arguments_of(mechanism, function)
    )
    assert differing(answers(mechanism, function, method), expected) < EXACT


# -- definition of drives ------------------------------------------------------------


def drive_values(mechanism: Mechanism, name: str) -> Array:
    return BALLS.array(
        [BALLS.constant(getattr(mechanism.joints[i].drive, name)) for i, _ in mechanism.dofs]
    )


def drive_forces(mechanism: Mechanism) -> Array:
    """Return damping v + friction v/√(v² + ε²) + stiffness (q − rest) of every velocity."""
    at = arguments_of(mechanism, "bias_force")
    q, v = at["q"][:, [mechanism.q_slices[i].start for i, _ in mechanism.dofs]], at["v"]
    with BALLS.working():
        root = np.sqrt(v * v + BALLS.constant(mechanism.friction_speed**2))
        spring = drive_values(mechanism, "stiffness") * (q - drive_values(mechanism, "rest"))
        return np.asarray(
            drive_values(mechanism, "damping") * v
            + drive_values(mechanism, "friction") * v / root
            + spring
        )


@pytest.mark.parametrize("name", ROBOTS)
def test_armature_adds_to_the_diagonal_and_drive_forces_to_the_bias(name: str) -> None:
    mechanism = ROBOTS[name]()
    bare = mechanism.without_drives
    a = arguments_of(mechanism, "inverse_dynamics")["a"]

    def added(function: str, result: str, method: str) -> Array:
        return np.asarray(
            answers(mechanism, function, method)[result] - answers(bare, function, method)[result]
        )

    with BALLS.working():
        assert (
            largest(
                added("mass_matrix", "M", "composite_body")
                - np.diag(drive_values(mechanism, "armature"))
            )
            < EXACT
        )
        assert largest(added("bias_force", "c", "newton_euler") - drive_forces(mechanism)) < EXACT
        tau = added("inverse_dynamics", "tau", "newton_euler")
        assert (
            largest(tau - drive_forces(mechanism) - drive_values(mechanism, "armature") * a) < EXACT
        )


@pytest.mark.parametrize("function", UNFELT)
def test_functions_of_bodies_alone_do_not_depend_on_drives(function: str) -> None:
    mechanism = small()
    assert (
        symgen.program(mechanism, function).rows
        == symgen.program(mechanism.without_drives, function).rows
    )


def test_the_mass_matrix_is_linear_in_the_armature() -> None:
    once = small()
    twice = replace(
        once,
        joints=tuple(
            replace(j, drive=replace(j.drive, armature=2 * j.drive.armature)) for j in once.joints
        ),
    )
    with BALLS.working():
        first, second, third = (
            answers(mechanism, "mass_matrix")["M"]
            for mechanism in (once.without_drives, once, twice)
        )
        assert largest((third - second) - (second - first)) < EXACT


@pytest.mark.parametrize("mode", ["jvp", "vjp", "jacobian", "hvp"])
def test_derivatives_of_kinetic_energy_include_the_armature(mode: str) -> None:
    """A wheel has T = (J + armature) v²/2 with the derivative (J + armature) v."""
    wheel = symgen.load("""
name = "wheel"
[[body]]
name = "disc"
parent = "base"
mass = 1
inertia = { xx = 1, yy = 1, zz = 0.5 }
[body.joint]
name = "axle"
type = "revolute"
axis = [0, 0, 1]
armature = 0.25
damping = 1
friction = 1.5
""")
    exact = Reference(wheel, BALLS)
    argument_values = {
        "q": [[Fraction(1)]],
        "v": [[Fraction(3)]],
        "dq": [[Fraction(1)]],
        "dv": [[Fraction(2)]],
        "T_bar": [Fraction(4)],
    }
    arguments = {
        a.name: np.array(argument_values[a.name], dtype=object)
        for a in FUNCTIONS[f"kinetic_energy:{mode}"].arguments
    }
    derivatives = {
        name: float(np.ravel(value)[0])
        for name, value in exact.evaluate(f"kinetic_energy:{mode}", arguments).items()
    }
    assert (
        derivatives
        == {
            "jvp": {"dT": 4.5},
            "vjp": {"q_bar": 0.0, "v_bar": 9.0},
            "jacobian": {"dT_dq": 0.0, "dT_dv": 2.25},
            "hvp": {"dq_bar": 0.0, "dv_bar": 6.0},
        }[mode]
    )


def test_the_power_of_drives_equals_the_change_of_energy() -> None:
    """d/dt (T + U) = v·(tau − drive forces) along the motion."""
    mechanism = small()
    at = arguments_of(mechanism, "forward_dynamics")
    a = answers(mechanism, "forward_dynamics", "riccati")["a"]
    kinetic = run(
        symgen.program(mechanism, "kinetic_energy:jvp"),
        {"q": at["q"], "v": at["v"], "dq": at["v"], "dv": a},
        BALLS,
    )["dT"]
    potential = run(
        symgen.program(mechanism, "potential_energy:jvp"), {"q": at["q"], "dq": at["v"]}, BALLS
    )["dU"]
    with BALLS.working():
        power = (at["v"] * (at["tau"] - drive_forces(mechanism))).sum(axis=-1)
        assert largest(kinetic + potential - power) < 1e-35 * (1 + largest(power))


def test_friction_opposes_motion_and_is_odd() -> None:
    mechanism = driven(robot("tree3"), "friction")
    program, at = symgen.program(mechanism, "bias_force"), arguments_of(mechanism, "bias_force")
    with BALLS.working():
        forward, backward, still = (
            run(program, {"q": at["q"], "v": direction * at["v"]}, BALLS)["c"]
            for direction in (1, -1, 0)
        )
        rubbing = (forward - backward) / 2  # all other terms of c are even in v
        assert all(bool(r * v > 0) for r, v in zip(rubbing.ravel(), at["v"].ravel(), strict=True))
        weight = run(symgen.program(mechanism, "gravity_force"), {"q": at["q"]}, BALLS)["g"]
        assert largest(still - weight) < EXACT


# -- cost of drives ----------------------------------------------------------------------------


@pytest.mark.usefixtures("finished_here")
def test_an_armature_costs_one_addition_per_joint_in_forward_dynamics() -> None:
    mechanism = symgen.load("ur5")
    costs = [
        symgen.program(robot, "forward_dynamics").cost
        for robot in (mechanism, driven(mechanism, "armature"))
    ]
    assert costs[0] < costs[1] <= costs[0] + mechanism.nv


def test_the_content_hash_of_a_robot_without_drives_is_unchanged() -> None:
    mechanism = symgen.load("scara")
    assert mechanism.content == "9794cb4eb3ca097942199c9d8fa52daac9a148a69a6f95d4be8c3a604832ea22"
    assert replace(mechanism, friction_speed=Fraction(1)).content != mechanism.content
    assert driven(mechanism).without_drives.content == mechanism.content


def test_an_armature_makes_a_massless_joint_regular() -> None:
    bare = random_mechanism(2, 3)
    light = replace(bare, bodies=(bare.bodies[0], replace(bare.bodies[1], parts=())))
    with pytest.raises(
        SymgenError, match=r"moves no inertia that other joints do not move as well"
    ):
        symgen.program(light, "forward_dynamics")
    mechanism = driven(light, "armature")
    assert (
        differing(
            answers(mechanism, "forward_dynamics"),
            Reference(mechanism, BALLS).evaluate(
                "forward_dynamics", arguments_of(mechanism, "forward_dynamics")
            ),
        )
        < EXACT
    )


def test_the_certificate_includes_the_armature() -> None:
    mechanism = mixed()
    with_rotors, without = own_inertias(mechanism), own_inertias(mechanism.without_drives)
    for k, (i, _) in enumerate(mechanism.dofs):
        with_rotor, bare = with_rotors[k].value, without[k].value
        assert with_rotor is not None
        assert bare is not None
        rotor = mechanism.joints[i].drive.armature
        assert with_rotor >= bare + rotor - Fraction(1, 10**12)
        assert mechanism.joints[i].type.nv > 1 or with_rotor - bare - rotor < Fraction(1, 10**12)


# -- declaration of drives -------------------------------------------------------------------------

HEAVY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)
MOTOR = (
    "<actuator name='m'><mechanicalReduction>-50</mechanicalReduction>"
    "<motorInertia>2e-5</motorInertia></actuator>",
    "<actuator name='m'><drake:gear_ratio value='50'/>"
    "<drake:rotor_inertia value='2e-5'/></actuator>",
)


def load_urdf(
    dynamics: str = "", motor: str = "", kind: str = "revolute", **options: Any
) -> Mechanism:
    """Load a URDF of one joint with these <dynamics> and this actuator."""
    return symgen.load(urdf_text(dynamics, motor, kind), **options)


def urdf_text(dynamics: str = "", motor: str = "", kind: str = "revolute") -> str:
    limit = "<limit effort='1' velocity='1' lower='-1' upper='1'/>"
    joint = (
        f"<joint name='j' type='{kind}'><parent link='a'/><child link='b'/>"
        f"<axis xyz='0 0 1'/>{limit}{dynamics}</joint>"
    )
    drive = f"<transmission name='t'><joint name='j'/>{motor}</transmission>" if motor else ""
    return f"<robot name='r'><link name='a'/><link name='b'>{HEAVY}</link>{joint}{drive}</robot>"


def load_toml(joint: str, kind: str = "revolute", top: str = "", **options: Any) -> Mechanism:
    axis = "" if kind == "spherical" else "axis = [0, 0, 1],"
    return symgen.load(
        f"""name = "r"
{top}
[[body]]
name = "b"
parent = "base"
joint = {{ name = "j", type = "{kind}", {axis} {joint} }}
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
""",
        **options,
    )


@pytest.mark.parametrize("motor", MOTOR)
def test_drives_of_a_urdf_apply_only_on_request(motor: str) -> None:
    dynamics = "<dynamics damping='0.1' friction='0.2'/>"
    quiet, damped, all_of_it = (
        load_urdf(dynamics, motor, drives=words) for words in (None, "damping", "on")
    )
    assert not quiet.joints[0].drive
    assert [name for name, _ in quiet.joints[0].unapplied] == [
        "damping",
        "friction",
        "gear ratio",
        "rotor inertia",
    ]
    assert damped.joints[0].drive == Drive(damping=Fraction(1, 10))
    assert [name for name, _ in damped.joints[0].unapplied] == [
        "friction",
        "gear ratio",
        "rotor inertia",
    ]
    assert all_of_it.joints[0].drive == Drive(Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
    assert not all_of_it.joints[0].unapplied
    assert not [note for note in all_of_it.notes if note.kind == "unapplied"]


def test_a_gear_without_a_rotor_or_with_two_ratios_gives_no_armature() -> None:
    gear, second_gear = (
        "<mechanicalReduction>50</mechanicalReduction>",
        "<mechanicalReduction>40</mechanicalReduction>",
    )
    for motor in (gear, gear + second_gear + "<motorInertia>1</motorInertia>"):
        mechanism = load_urdf(motor=f"<actuator name='m'>{motor}</actuator>", drives="on")
        assert not mechanism.joints[0].drive
        assert mechanism.joints[0].unapplied
    assert load_urdf("<dynamics armature='0.3'/>", drives="armature").joints[0].drive == Drive(
        armature=Fraction(3, 10)
    )


def test_a_malformed_number_is_noted_if_unapplied_and_refused_if_applied() -> None:
    bad = "<dynamics damping='much' friction='0.2'/>"
    assert any("'much' is not a number" in note.text for note in load_urdf(bad).notes)
    assert load_urdf(bad, drives="friction").joints[0].drive == Drive(friction=Fraction(1, 5))
    with pytest.raises(
        SymgenError,
        match=r"joint 'j': dynamics damping: 'much' is not a number; write a plain decimal",
    ):
        load_urdf(bad, drives="on")


def test_drives_of_toml_apply_by_default() -> None:
    words = (
        "rotor_inertia = 2e-5, gear_ratio = 50, damping = 0.1, friction = 0.3, stiffness = 4, rest"
        " = 0.5"
    )
    declared_drive = Drive(
        Fraction(1, 20), Fraction(1, 10), Fraction(3, 10), Fraction(4), Fraction(1, 2)
    )
    mechanism, off = load_toml(words, top="friction_speed = 0.01"), load_toml(words, drives="off")
    assert mechanism.joints[0].drive == declared_drive
    assert mechanism.friction_speed == Fraction(1, 100)
    assert load_toml(words, friction_speed="0.2").friction_speed == Fraction(1, 5)
    assert not off.joints[0].drive
    assert dict(off.joints[0].unapplied) == dict(declared_drive.declared)
    assert load_toml(words, drives=["stiffness", "armature"]).joints[
        0
    ].drive == declared_drive.only(["stiffness", "armature"])
    row = 'convention = "dh"\nname = "r"\n[[row]]\narmature = 0.1\nmass = 1\na = 1\nrepeat = 2\n'
    assert [joint.drive.armature for joint in symgen.load(row).joints] == [Fraction(1, 10)] * 2


@pytest.mark.parametrize("words", ["on", "off", "armature,friction"])
def test_the_canonical_description_contains_drives(words: str) -> None:
    numbers = 'damping = "1/3", friction = 0.3, stiffness = 4, rest = -0.5, armature = 1'
    mechanism = load_toml(numbers, top="friction_speed = 0.01", drives=words)
    again = symgen.load(to_toml(mechanism))
    assert replace(again, source_sha256=mechanism.source_sha256) == mechanism
    assert again.joints[0].drive == mechanism.joints[0].drive


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("damping = -1", r"body 'b': joint: its damping is negative; give zero or more"),
        ("rotor_inertia = -1", r"its armature is negative; give zero or more"),
        ("rest = 1", r"a rest position needs a stiffness; add stiffness"),
        ("gear_ratio = 2", r"a gear ratio needs a rotor inertia; add rotor_inertia"),
        (
            "armature = 1, rotor_inertia = 1",
            r"armature conflicts with rotor_inertia; give one of the two",
        ),
    ],
)
def test_an_invalid_drive_is_refused(joint: str, message: str) -> None:
    with pytest.raises(SymgenError, match=message):
        load_toml(joint)


def test_invalid_springs_friction_speeds_and_drive_lists_are_refused() -> None:
    with pytest.raises(
        SymgenError,
        match=(
            r"it has a spring and 4 coordinates, but a spring needs a joint with one coordinate; "
        ),
    ):
        load_toml("stiffness = 1", "spherical")
    for speed in ("0", "-1", "1e-10", "1e10"):  # its square is not representable in float
        message = (
            rf"the friction speed is {re.escape(format(float(speed), 'g'))}; give 1e-09 to 1e\+09"
            r" rad/s or m/s"
        )
        with pytest.raises(SymgenError, match=message):
            load_toml("friction = 1", top=f"friction_speed = {speed}")
        with pytest.raises(SymgenError, match=message):
            load_toml("friction = 1", friction_speed=speed)
        with pytest.raises(SymgenError, match=message):
            replace(load_toml("friction = 1"), friction_speed=Fraction(speed))
    assert load_toml("friction = 1", friction_speed=1e-9).friction_speed == Fraction(1, 10**9)
    with pytest.raises(
        SymgenError, match=r"drives has 'clutch'; give 'on', 'off' or a list of armature, damping, "
    ):
        load_toml("friction = 1", drives="damping,clutch")
    with pytest.raises(SymgenError, match=r"joint 'joint0': its friction is negative"):
        replace(
            robot("one"),
            joints=(replace(robot("one").joints[0], drive=Drive(friction=Fraction(-1))),),
        )


def test_a_method_without_armature_refuses_it_and_accepts_other_drives() -> None:
    """The planar variant uses link directions as coordinates; `fixman` is spatial if a joint has an
    armature.
    """
    arm = flat_chain(2)
    mechanism = driven(arm)
    with pytest.raises(
        SymgenError,
        match=r"uses the directions of links .* and joint 'j0' of 'flat' has an armature; ",
    ):
        symgen.program(mechanism, "forward_dynamics", "fixman:planar")
    for arm_with_drives, method in (
        (mechanism, "fixman"),
        (driven(arm, "damping", "friction", "stiffness"), "fixman:planar"),
    ):
        expected = Reference(arm_with_drives, BALLS).evaluate(
            "forward_dynamics", arguments_of(arm_with_drives, "forward_dynamics")
        )
        assert differing(answers(arm_with_drives, "forward_dynamics", method), expected) < EXACT
    assert "fixman:planar" not in methods_for(mechanism, "forward_dynamics")


# -- a folder of C ---------------------------------------------------------------------------------

STIFF = "armature = 3, damping = 2e3, friction = 1e3, stiffness = 400, rest = 40"
WITH_DRIVES = (
    "inverse_dynamics",
    "forward_dynamics",
    "bias_force",
    "gravity_force",
    "mass_matrix",
    "inverse_mass_matrix",
    "kinetic_energy",
    "interbody_forces",
    "coriolis_matrix",
    "regressor",
    "inverse_dynamics_derivatives",
    "step",
)


@pytest.mark.slow
def test_a_folder_with_drives_passes_verification_and_lists_them(tmp_path: Path) -> None:
    """The drive forces exceed those of the bodies by far, so the scale of round-off must include
    drives.
    """
    arm, strong = robot("planar_arm"), Drive(*map(Fraction, (10**6, 2000, 1000, 10**9, 40)))
    mechanism = replace(
        arm,
        joints=tuple(replace(joint, drive=strong) for joint in arm.joints),
        friction_speed=Fraction(1, 2),
    )
    manifest = symgen.generate(mechanism, tmp_path / "out", functions=WITH_DRIVES)
    assert manifest["friction_speed"] == 0.5
    assert manifest["joints"][0]["drive"] == {
        "armature": 1e6,
        "damping": 2e3,
        "friction": 1e3,
        "stiffness": 1e9,
        "rest": 40.0,
    }
    header, readme = (
        (tmp_path / "out" / name).read_text(encoding="utf-8")
        for name in ("planar_arm.h", "README.md")
    )
    assert "damping v + friction v/sqrt(v^2 + e^2) + stiffness (q - rest); e = 0.5" in header
    assert "| 1 | 1000000 | 2000 | 1000 | 1000000000 | 40 |" in readme
    assert symgen.load(tmp_path / "out").joints == mechanism.joints
    report = symgen.verify(tmp_path / "out")
    assert report.passed, str(report)


def test_a_folder_without_drives_does_not_mention_them(tmp_path: Path) -> None:
    mechanism = load_toml("damping = 1", drives="off")
    manifest = symgen.generate(mechanism, tmp_path / "out", functions=["mass_matrix"])
    assert "friction_speed" not in manifest
    assert "drive" not in manifest["joints"][0]
    assert manifest["not_modelled"][0] == {
        "kind": "damping",
        "text": "damping is declared and not applied: j 1",
        "joints": {"j": 1.0},
    }
    assert "rive" not in (tmp_path / "out" / "r.h").read_text(encoding="utf-8")


def test_formulas_contain_drives() -> None:
    springy, rubbing = (
        driven(robot("one"), "stiffness", "armature"),
        driven(robot("one"), "friction"),
    )
    drive = springy.joints[0].drive
    assert f"{float(drive.stiffness):g}*q0" in str(
        symgen.inspect(springy, "tau[0]", form="multiangle")
    )
    assert "9*v0/(100*sqrt(v0**2 + 1/2500))" in str(
        symgen.inspect(rubbing, "tau[0]", form="closed")
    )
    with pytest.raises(
        SymgenError,
        match=(
            r"its equations contain a sqrt; leave friction out with --drives, or use --form"
            r" recursive"
        ),
    ):
        symgen.inspect(rubbing, "tau[0]", form="multiangle")


def test_show_lists_drives(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(to_toml(load_toml(STIFF)), encoding="utf-8")
    assert main(["show", str(tmp_path / "r.toml"), "--friction-speed", "0.25"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^j +3 +2000 +1000 +400 +40$", shown, re.M)
    assert "ε = 0.25" in shown
    assert main(["show", str(tmp_path / "r.toml"), "--drives", "damping"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^j +0 +2000 +0 +0 +0$", shown, re.M)
    assert (
        "Read and not applied\n  armature of j; friction of j; stiffness of j; rest of j\n" in shown
    )


@pytest.mark.parametrize(
    ("options", "hinted"), [((), True), (("--drives", "off"), False), (("--drives", "on"), False)]
)
def test_the_console_hints_at_unapplied_drives(
    options: tuple[str, ...], hinted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.urdf").write_text(
        urdf_text('<dynamics damping="1" rotor_inertia="2"/>'), encoding="utf-8"
    )
    folder, hint = tmp_path / "out", "symgen: note: --drives on applies armature, damping\n"
    assert (
        main(
            ["generate", str(tmp_path / "r.urdf"), "-o", str(folder), "-f", "mass_matrix", *options]
        )
        == 0
    )
    assert (hint in capsys.readouterr().err) == hinted
    assert main(["verify", str(folder)]) == 0
    assert main(["convert", str(folder / "r.toml"), "-o", str(tmp_path / "again.toml")]) == 0
    assert hint not in capsys.readouterr().err


# -- header ----------------------------------------------------------------------------------------

WRITTEN = """
name = "n"
[[body]]
name = "a"
parent = "base"
mass = 2.0
centre = [0.3, 0.1, 0]
inertia = [0.01, 0, 0, 0.02, 0, 0.02]
[body.joint]
name = "j1"
type = "revolute"
axis = [0, 1, 0]
armature = 0.1
damping = 0.4
friction = 0.3
stiffness = 3
rest = 0.2
"""
TERMS = {
    "damping": "damping v",
    "friction": "friction v/sqrt(v^2 + e^2)",
    "stiffness": "stiffness (q - rest)",
}


@pytest.mark.parametrize(
    ("drives", "parameters", "kinds"),
    [
        ("on", (), {*TERMS}),
        ("damping,armature", (), {"damping"}),
        ("off", (), set()),
        ("stiffness", ("j1.rest",), {"stiffness"}),
        ("friction", ("j1.friction",), {"friction"}),
    ],
)
def test_the_header_states_the_equation_that_the_functions_compute(
    tmp_path: Path, drives: str, parameters: tuple[str, ...], kinds: set[str]
) -> None:
    """The equation in the header, evaluated with M, C v and g of the bodies, gives the function's
    torque.
    """
    robot = symgen.load(WRITTEN, drives=drives)
    symgen.generate(
        robot,
        tmp_path,
        ["inverse_dynamics", "forward_dynamics", "mass_matrix"],
        parameters=parameters,
        wrap=["cpp17"],
    )
    for header in ("n.h", "n.hpp"):
        text = (tmp_path / header).read_text()
        equation = re.search(r"(?:/\*|//) tau = (.*)", text)[1]
        assert {kind for kind, term in TERMS.items() if term in equation} == kinds
        assert ("a = M(q)^-1 (tau - c); c = C(q,v) v + g(q) + " in text) == bool(kinds)
        assert ("armature on its diagonal" in text) == ("armature" in drives or drives == "on")
    bodies = symgen.load(WRITTEN, drives="off")

    def number(of: Mechanism, function: str, **arguments_of: float) -> float:
        (values,) = evaluate(
            symgen.program(of, function), {name: [x] for name, x in arguments_of.items()}, DOUBLES
        ).values()
        return values[0]

    for q, v, a in ((0.5, -0.7, 1.5), (1.0, 2e-4, -0.3)):
        g = number(bodies, "gravity_force", q=q)
        names = {
            "M": number(robot, "mass_matrix", q=q),
            "Cv": number(bodies, "bias_force", q=q, v=v) - g,
            "g": g,
            "q": q,
            "v": v,
            "a": a,
            "e": 1e-3,
            "sqrt": np.sqrt,
            "damping": 0.4,
            "friction": 0.3,
            "stiffness": 3,
            "rest": 0.2,
        }
        code = (
            equation.replace("M(q) a", "M*a")
            .replace("C(q,v) v", "Cv")
            .replace("g(q)", "g")
            .replace("^", "**")
        )
        code = re.sub(r"(damping|friction|stiffness) ", r"\1*", code)
        assert number(robot, "inverse_dynamics", q=q, v=v, a=a) == pytest.approx(
            eval(code, names), rel=1e-12
        )


def test_the_header_states_gravity_compensation_and_wrenches(tmp_path: Path) -> None:
    text = WRITTEN.replace("mass = 2.0", "mass = 2.0\ngravcomp = 0.5")
    symgen.generate(symgen.load(text, drives="gravcomp"), tmp_path, ["bias_force"], wrench="a")
    assert (
        "/* c = C(q,v) v + g(q) - compensated weight - J^T wrench\n"
        in (tmp_path / "n.h").read_text()
    )
