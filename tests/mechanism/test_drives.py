"""Drives of joints: armature, damping, friction and springs, in every function that feels them, by every method."""

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
FELT = (
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
    """A floating root, a slide, a screw and a ball on it."""
    types = ("free", "prismatic", "helical", "spherical")
    made = random_mechanism(4, 5, "tree")
    joints = tuple(
        replace(of_kind(joint, kind), parent=min(i, 1) - 1)
        for i, (joint, kind) in enumerate(zip(made.joints, types, strict=True))
    )
    return driven(replace(made, name="mixed", joints=joints))


@cache
def small() -> Mechanism:
    """Joints that turn, slide and wind, three behind each other and one beside the last."""
    made = random_mechanism(4, 149, joints=("helical", "prismatic", "revolute", "continuous"))
    joints = tuple(
        replace(of_kind(joint, kind), parent=min(i, 2) - 1)
        for i, (joint, kind) in enumerate(
            zip(made.joints, ("revolute", "helical", "prismatic", "continuous"), strict=True)
        )
    )
    return driven(replace(made, name="small", joints=joints))


ROBOTS = {"small": small, "mixed": mixed}
CASES = [
    (name, function, method)
    for function, method in PROVIDED
    if function in FELT and method != "fixman:planar" and not methods.find(method).mimic_only
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
    made = ROBOTS[name]()
    wanted = Reference(made, BALLS, frame=outermost(made, function)).evaluate(
        function, arguments_of(made, function)
    )
    assert differing(answers(made, function, method), wanted) < EXACT


# -- what drives are, of the reference and of the Programs alike ------------------------------------------------------------


def numbers(made: Mechanism, name: str) -> Array:
    return BALLS.array([BALLS.constant(getattr(made.joints[i].drive, name)) for i, _ in made.dofs])


def forces(made: Mechanism) -> Array:
    """damping v + friction v/√(v² + ε²) + stiffness (q − rest), written once more."""
    at = arguments_of(made, "bias_force")
    q, v = at["q"][:, [made.q_slices[i].start for i, _ in made.dofs]], at["v"]
    with BALLS.working():
        root = np.sqrt(v * v + BALLS.constant(made.friction_speed**2))
        spring = numbers(made, "stiffness") * (q - numbers(made, "rest"))
        return np.asarray(
            numbers(made, "damping") * v + numbers(made, "friction") * v / root + spring
        )


@pytest.mark.parametrize("name", ROBOTS)
def test_armature_is_on_the_diagonal_and_forces_are_in_the_bias(name: str) -> None:
    made = ROBOTS[name]()
    bare = made.without_drives
    a = arguments_of(made, "inverse_dynamics")["a"]

    def added(function: str, result: str, method: str) -> Array:
        return np.asarray(
            answers(made, function, method)[result] - answers(bare, function, method)[result]
        )

    with BALLS.working():
        assert (
            largest(
                added("mass_matrix", "M", "composite_body") - np.diag(numbers(made, "armature"))
            )
            < EXACT
        )
        assert largest(added("bias_force", "c", "newton_euler") - forces(made)) < EXACT
        tau = added("inverse_dynamics", "tau", "newton_euler")
        assert largest(tau - forces(made) - numbers(made, "armature") * a) < EXACT


@pytest.mark.parametrize("function", UNFELT)
def test_what_is_of_the_bodies_alone_has_no_drive_in_it(function: str) -> None:
    made = small()
    assert symgen.program(made, function).rows == symgen.program(made.without_drives, function).rows


def test_the_armature_doubled_is_there_twice() -> None:
    once = small()
    twice = replace(
        once,
        joints=tuple(
            replace(j, drive=replace(j.drive, armature=2 * j.drive.armature)) for j in once.joints
        ),
    )
    with BALLS.working():
        first, second, third = (
            answers(made, "mass_matrix")["M"] for made in (once.without_drives, once, twice)
        )
        assert largest((third - second) - (second - first)) < EXACT


@pytest.mark.parametrize("mode", ["jvp", "vjp", "jacobian", "hvp"])
def test_derivatives_of_the_kinetic_energy_have_the_rotor_in_them(mode: str) -> None:
    """A wheel has T = (J + armature) v²/2, whose slope is (J + armature) v; friction is no energy."""
    wheel = symgen.load("""
name = "wheel"
[[body]]
name = "disc"
parent = "base"
mass = 1
inertia = { xx = 1, yy = 1, zz = 0.5 }
joint = { name = "axle", type = "revolute", axis = [0, 0, 1], armature = 0.25, damping = 1, friction = 1.5 }
""")
    exact = Reference(wheel, BALLS)
    argument_values = {
        "q": [[Fraction(1)]],
        "v": [[Fraction(3)]],
        "dq": [[Fraction(1)]],
        "dv": [[Fraction(2)]],
        "T_bar": [Fraction(4)],
    }
    asked = {
        a.name: np.array(argument_values[a.name], dtype=object)
        for a in FUNCTIONS[f"kinetic_energy:{mode}"].arguments
    }
    found = {
        name: float(np.ravel(value)[0])
        for name, value in exact.evaluate(f"kinetic_energy:{mode}", asked).items()
    }
    assert (
        found
        == {
            "jvp": {"dT": 4.5},
            "vjp": {"q_bar": 0.0, "v_bar": 9.0},
            "jacobian": {"dT_dq": 0.0, "dT_dv": 2.25},
            "hvp": {"dq_bar": 0.0, "dv_bar": 6.0},
        }[mode]
    )


def test_energy_goes_where_the_drives_take_it() -> None:
    """d/dt (T + U) along the motion that tau causes = v·(tau − what the drives resist with)."""
    made = small()
    at = arguments_of(made, "forward_dynamics")
    a = answers(made, "forward_dynamics", "riccati")["a"]
    kinetic = run(
        symgen.program(made, "kinetic_energy:jvp"),
        {"q": at["q"], "v": at["v"], "dq": at["v"], "dv": a},
        BALLS,
    )["dT"]
    potential = run(
        symgen.program(made, "potential_energy:jvp"), {"q": at["q"], "dq": at["v"]}, BALLS
    )["dU"]
    with BALLS.working():
        power = (at["v"] * (at["tau"] - forces(made))).sum(axis=-1)
        assert largest(kinetic + potential - power) < 1e-35 * (1 + largest(power))


def test_friction_opposes_motion_and_is_odd() -> None:
    made = driven(robot("tree3"), "friction")
    program, at = symgen.program(made, "bias_force"), arguments_of(made, "bias_force")
    with BALLS.working():
        there, back, still = (
            run(program, {"q": at["q"], "v": way * at["v"]}, BALLS)["c"] for way in (1, -1, 0)
        )
        rubbing = (there - back) / 2  # what else c has of v is even
        assert all(bool(r * v > 0) for r, v in zip(rubbing.ravel(), at["v"].ravel(), strict=True))
        weight = run(symgen.program(made, "gravity_force"), {"q": at["q"]}, BALLS)["g"]
        assert largest(still - weight) < EXACT


# -- what they cost, and what they do not change ----------------------------------------------------------------------------


@pytest.mark.usefixtures("finished_here")
def test_a_rotor_costs_an_addition_a_joint_in_forward_dynamics() -> None:
    made = symgen.load("ur5")
    costs = [
        symgen.program(one, "forward_dynamics").cost for one in (made, driven(made, "armature"))
    ]
    assert costs[0] < costs[1] <= costs[0] + made.nv


def test_a_robot_without_drives_is_called_what_it_was() -> None:
    made = symgen.load("scara")
    assert made.content == "9794cb4eb3ca097942199c9d8fa52daac9a148a69a6f95d4be8c3a604832ea22"
    assert replace(made, friction_speed=Fraction(1)).content != made.content
    assert driven(made).without_drives.content == made.content


def test_an_armature_makes_a_massless_joint_move() -> None:
    bare = random_mechanism(2, 3)
    light = replace(bare, bodies=(bare.bodies[0], replace(bare.bodies[1], parts=())))
    with pytest.raises(
        SymgenError, match=r"moves no inertia that other joints do not move as well"
    ):
        symgen.program(light, "forward_dynamics")
    made = driven(light, "armature")
    assert (
        differing(
            answers(made, "forward_dynamics"),
            Reference(made, BALLS).evaluate(
                "forward_dynamics", arguments_of(made, "forward_dynamics")
            ),
        )
        < EXACT
    )


def test_the_certificate_counts_the_armature() -> None:
    made = mixed()
    with_rotors, without = own_inertias(made), own_inertias(made.without_drives)
    for k, (i, _) in enumerate(made.dofs):
        own, bare = with_rotors[k].value, without[k].value
        assert own is not None
        assert bare is not None
        rotor = made.joints[i].drive.armature
        assert own >= bare + rotor - Fraction(1, 10**12)
        assert made.joints[i].type.nv > 1 or own - bare - rotor < Fraction(1, 10**12)


# -- how they are declared ---------------------------------------------------------------------------------------------------

HEAVY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
MOTOR = (
    "<actuator name='m'><mechanicalReduction>-50</mechanicalReduction><motorInertia>2e-5</motorInertia></actuator>",
    "<actuator name='m'><drake:gear_ratio value='50'/><drake:rotor_inertia value='2e-5'/></actuator>",
)


def urdf(dynamics: str = "", motor: str = "", kind: str = "revolute", **asked: Any) -> Mechanism:
    """One joint with these <dynamics> and this actuator."""
    return symgen.load(urdf_text(dynamics, motor, kind), **asked)


def urdf_text(dynamics: str = "", motor: str = "", kind: str = "revolute") -> str:
    limit = "<limit effort='1' velocity='1' lower='-1' upper='1'/>"
    joint = f"<joint name='j' type='{kind}'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/>{limit}{dynamics}</joint>"
    drive = f"<transmission name='t'><joint name='j'/>{motor}</transmission>" if motor else ""
    return f"<robot name='r'><link name='a'/><link name='b'>{HEAVY}</link>{joint}{drive}</robot>"


def toml(joint: str, kind: str = "revolute", top: str = "", **asked: Any) -> Mechanism:
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
        **asked,
    )


@pytest.mark.parametrize("motor", MOTOR)
def test_a_urdf_has_its_drives_off_until_they_are_asked_for(motor: str) -> None:
    dynamics = "<dynamics damping='0.1' friction='0.2'/>"
    quiet, some, all_of_it = (
        urdf(dynamics, motor, drives=words) for words in (None, "damping", "on")
    )
    assert not quiet.joints[0].drive
    assert [name for name, _ in quiet.joints[0].unapplied] == [
        "damping",
        "friction",
        "gear ratio",
        "rotor inertia",
    ]
    assert some.joints[0].drive == Drive(damping=Fraction(1, 10))
    assert [name for name, _ in some.joints[0].unapplied] == [
        "friction",
        "gear ratio",
        "rotor inertia",
    ]
    assert all_of_it.joints[0].drive == Drive(Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
    assert not all_of_it.joints[0].unapplied
    assert not [note for note in all_of_it.notes if note.kind == "unapplied"]


def test_a_gear_without_a_rotor_and_two_ratios_make_no_armature() -> None:
    gear, other = (
        "<mechanicalReduction>50</mechanicalReduction>",
        "<mechanicalReduction>40</mechanicalReduction>",
    )
    for motor in (gear, gear + other + "<motorInertia>1</motorInertia>"):
        made = urdf(motor=f"<actuator name='m'>{motor}</actuator>", drives="on")
        assert not made.joints[0].drive
        assert made.joints[0].unapplied
    assert urdf("<dynamics armature='0.3'/>", drives="armature").joints[0].drive == Drive(
        armature=Fraction(3, 10)
    )


def test_a_malformed_number_is_a_note_where_it_is_not_applied_and_refused_where_it_is() -> None:
    bad = "<dynamics damping='much' friction='0.2'/>"
    assert any("'much' is not a number" in note.text for note in urdf(bad).notes)
    assert urdf(bad, drives="friction").joints[0].drive == Drive(friction=Fraction(1, 5))
    with pytest.raises(
        SymgenError,
        match=r"joint 'j': dynamics damping: 'much' is not a number; write a plain decimal",
    ):
        urdf(bad, drives="on")


def test_toml_says_itself_what_applies() -> None:
    words = "rotor_inertia = 2e-5, gear_ratio = 50, damping = 0.1, friction = 0.3, stiffness = 4, rest = 0.5"
    whole = Drive(Fraction(1, 20), Fraction(1, 10), Fraction(3, 10), Fraction(4), Fraction(1, 2))
    made, off = toml(words, top="friction_speed = 0.01"), toml(words, drives="off")
    assert made.joints[0].drive == whole
    assert made.friction_speed == Fraction(1, 100)
    assert toml(words, friction_speed="0.2").friction_speed == Fraction(1, 5)
    assert not off.joints[0].drive
    assert dict(off.joints[0].unapplied) == dict(whole.declared)
    assert toml(words, drives=["stiffness", "armature"]).joints[0].drive == whole.only(
        ["stiffness", "armature"]
    )
    row = 'convention = "dh"\nname = "r"\n[[row]]\narmature = 0.1\nmass = 1\na = 1\nrepeat = 2\n'
    assert [joint.drive.armature for joint in symgen.load(row).joints] == [Fraction(1, 10)] * 2


@pytest.mark.parametrize("words", ["on", "off", "armature,friction"])
def test_the_canonical_description_carries_them(words: str) -> None:
    numbers = 'damping = "1/3", friction = 0.3, stiffness = 4, rest = -0.5, armature = 1'
    made = toml(numbers, top="friction_speed = 0.01", drives=words)
    again = symgen.load(to_toml(made))
    assert replace(again, source_sha256=made.source_sha256) == made
    assert again.joints[0].drive == made.joints[0].drive


@pytest.mark.parametrize(
    ("joint", "says"),
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
def test_a_drive_that_cannot_be_is_refused(joint: str, says: str) -> None:
    with pytest.raises(SymgenError, match=says):
        toml(joint)


def test_other_refusals_are_one_sentence_each() -> None:
    with pytest.raises(
        SymgenError,
        match=r"it has a spring and 4 coordinates, but a spring needs a joint with one coordinate; ",
    ):
        toml("stiffness = 1", "spherical")
    for speed in ("0", "-1", "1e-10", "1e10"):  # whose square no float may have
        says = rf"the friction speed is {re.escape(format(float(speed), 'g'))}; give 1e-09 to 1e\+09 rad/s or m/s"
        with pytest.raises(SymgenError, match=says):
            toml("friction = 1", top=f"friction_speed = {speed}")
        with pytest.raises(SymgenError, match=says):
            toml("friction = 1", friction_speed=speed)
        with pytest.raises(SymgenError, match=says):
            replace(toml("friction = 1"), friction_speed=Fraction(speed))
    assert toml("friction = 1", friction_speed=1e-9).friction_speed == Fraction(1, 10**9)
    with pytest.raises(
        SymgenError, match=r"drives has 'clutch'; give 'on', 'off' or a list of armature, damping, "
    ):
        toml("friction = 1", drives="damping,clutch")
    with pytest.raises(SymgenError, match=r"joint 'joint0': its friction is negative"):
        replace(
            robot("one"),
            joints=(replace(robot("one").joints[0], drive=Drive(friction=Fraction(-1))),),
        )


def test_a_method_without_a_place_for_a_rotor_says_so_and_takes_the_rest() -> None:
    """In a plane Fixman's soft coordinates are the links' directions; `fixman` goes to space where a joint has a rotor."""
    arm = flat_chain(2)
    made = driven(arm)
    with pytest.raises(
        SymgenError,
        match=r"uses the directions of links .* and joint 'j0' of 'flat' has an armature; ",
    ):
        symgen.program(made, "forward_dynamics", "fixman:planar")
    for one, method in (
        (made, "fixman"),
        (driven(arm, "damping", "friction", "stiffness"), "fixman:planar"),
    ):
        wanted = Reference(one, BALLS).evaluate(
            "forward_dynamics", arguments_of(one, "forward_dynamics")
        )
        assert differing(answers(one, "forward_dynamics", method), wanted) < EXACT
    assert "fixman:planar" not in methods_for(made, "forward_dynamics")


# -- a folder of C -----------------------------------------------------------------------------------------------------------

STIFF = "armature = 3, damping = 2e3, friction = 1e3, stiffness = 400, rest = 40"
SPOKEN = (
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


def test_the_compiled_c_is_verified_and_its_folder_tells(tmp_path: Path) -> None:
    """Next to these drives the bodies are nothing: who measures round-off by the bodies' terms alone finds too much of it."""
    arm, strong = robot("planar_arm"), Drive(*map(Fraction, (10**6, 2000, 1000, 10**9, 40)))
    made = replace(
        arm,
        joints=tuple(replace(joint, drive=strong) for joint in arm.joints),
        friction_speed=Fraction(1, 2),
    )
    manifest = symgen.generate(made, tmp_path / "out", functions=SPOKEN)
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
    assert symgen.load(tmp_path / "out").joints == made.joints
    report = symgen.verify(tmp_path / "out")
    assert report.passed, str(report)


def test_nothing_is_told_where_nothing_is_driven(tmp_path: Path) -> None:
    made = toml("damping = 1", drives="off")
    manifest = symgen.generate(made, tmp_path / "out", functions=["mass_matrix"])
    assert "friction_speed" not in manifest
    assert "drive" not in manifest["joints"][0]
    assert manifest["not_modelled"][0] == {
        "kind": "damping",
        "text": "damping is declared and not applied: j 1",
        "joints": {"j": 1.0},
    }
    assert "rive" not in (tmp_path / "out" / "r.h").read_text(encoding="utf-8")


def test_formulas_have_them() -> None:
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
        match=r"its equations contain a sqrt; leave friction out with --drives, or use --form recursive",
    ):
        symgen.inspect(rubbing, "tau[0]", form="multiangle")


def test_show_lists_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(to_toml(toml(STIFF)), encoding="utf-8")
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
    ("asked", "said"), [((), True), (("--drives", "off"), False), (("--drives", "on"), False)]
)
def test_the_console_says_what_drives_would_apply(
    asked: tuple[str, ...], said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.urdf").write_text(
        urdf_text('<dynamics damping="1" rotor_inertia="2"/>'), encoding="utf-8"
    )
    folder, hint = tmp_path / "out", "symgen: note: --drives on applies armature, damping\n"
    assert (
        main(["generate", str(tmp_path / "r.urdf"), "-o", str(folder), "-f", "mass_matrix", *asked])
        == 0
    )
    assert (hint in capsys.readouterr().err) == said
    assert main(["verify", str(folder)]) == 0
    assert main(["convert", str(folder / "r.toml"), "-o", str(tmp_path / "again.toml")]) == 0
    assert hint not in capsys.readouterr().err


# -- what the header says ------------------------------------------------------------------------------------------------------

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
    """The sentence of inverse_dynamics, evaluated with M, C v and g of the bodies, is the torque of the compiled function."""
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
        said = re.search(r"(?:/\*|//) tau = (.*)", text)[1]
        assert {kind for kind, term in TERMS.items() if term in said} == kinds
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
        words = {
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
            said.replace("M(q) a", "M*a")
            .replace("C(q,v) v", "Cv")
            .replace("g(q)", "g")
            .replace("^", "**")
        )
        code = re.sub(r"(damping|friction|stiffness) ", r"\1*", code)
        assert number(robot, "inverse_dynamics", q=q, v=v, a=a) == pytest.approx(
            eval(code, words), rel=1e-12
        )


def test_the_header_states_borne_weight_and_wrenches(tmp_path: Path) -> None:
    text = WRITTEN.replace("mass = 2.0", "mass = 2.0\ngravcomp = 0.5")
    symgen.generate(symgen.load(text, drives="gravcomp"), tmp_path, ["bias_force"], wrench="a")
    assert (
        "/* c = C(q,v) v + g(q) - compensated weight - J^T wrench\n"
        in (tmp_path / "n.h").read_text()
    )
