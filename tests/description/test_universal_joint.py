"""Universal joints in TOML: equal to two revolute joints written by hand and to MuJoCo's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.description.canonical import to_toml
from symgen.description.quantities import Location
from symgen.description.tree import Connection
from symgen.description.universal import KIND, two_hinges
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Limits, Mechanism
from symgen.pages.report.show import show
from symgen.reference.mechanics import Reference
from symgen.support.errors import DescriptionError, RequestError
from symgen.vocabulary.poses import Vector3

BODY = """
mass = 1.5
centre = [0.1, 0.02, 0.3]
inertia = [0.02, 0.001, 0.002, 0.03, 0.003, 0.04]
"""
ARM = f"""
name = "antenna"
[[body]]
name = "mast"
parent = "base"
joint = {{ name = "turn", type = "revolute", axis = [0, 0, 1] }}
{BODY}
[[body]]
name = "dish"
parent = "mast"
{BODY}
[body.joint]
"""
TYPE = """name = "gimbal"
type = "universal"
"""
AXES = "axes = [[1, 0, 0], [0, 0.6, 0.8]]\n"
ONE = f"""{TYPE}{AXES}
xyz = [0.2, 0, 0.4]
rpy = [0.3, 0, 0]
limits = [{{ lower = -0.5, upper = 0.7 }}, {{ upper = 1.5, effort = 20 }}]
"""
TWO = """name = "gimbal_2"
type = "revolute"
axis = [0, 0.6, 0.8]
limits = { upper = 1.5, effort = 20 }
"""
CROSS = """[[body]]
name = "gimbal_cross"
parent = "mast"
[body.joint]
name = "gimbal_1"
type = "revolute"
axis = [1, 0, 0]
xyz = [0.2, 0, 0.4]
rpy = [0.3, 0, 0]
limits = { lower = -0.5, upper = 0.7 }
"""
MJCF = """
<mujoco><option gravity="0 0 -9.81"><flag contact="disable"/></option>
<compiler angle="radian" eulerseq="XYZ"/><worldbody>
  <body><inertial INERTIAL/><joint axis="0 0 1"/>
    <body pos="0.2 0 0.4" euler="0.3 0 0"><inertial INERTIAL/>
      <joint axis="1 0 0"/><joint axis="0 0.6 0.8"/></body></body>
</worldbody></mujoco>
""".replace(
    "INERTIAL", 'pos="0.1 0.02 0.3" mass="1.5" fullinertia="0.02 0.03 0.04 0.001 0.002 0.003"'
)


def antenna(joint: str = ONE) -> Mechanism:
    return symgen.load(ARM + joint)


def by_hand() -> Mechanism:
    head, dish = ARM.split('[[body]]\nname = "dish"')
    return symgen.load(
        head + CROSS + '[[body]]\nname = "dish"' + dish.replace('"mast"', '"gimbal_cross"') + TWO
    )


def test_a_universal_joint_is_two_revolute_joints_and_a_massless_link() -> None:
    mechanism = antenna()
    assert (mechanism.nq, mechanism.nv) == (3, 3)
    assert [joint.name for joint in mechanism.joints] == ["turn", "gimbal_1", "gimbal_2"]
    assert mechanism.bodies[1].mass == 0
    assert mechanism.content == by_hand().content


def test_the_c_of_a_universal_joint_equals_that_of_two_revolute_joints(tmp_path: Path) -> None:
    names = ("inverse_dynamics", "mass_matrix")
    for where, mechanism in (("one", antenna()), ("two", by_hand())):
        symgen.generate(mechanism, tmp_path / where, names)
    for name in names:
        lines, lines_by_hand = (
            (tmp_path / where / f"antenna_{name}.c").read_text().splitlines()
            for where in ("one", "two")
        )
        differ = [
            line
            for line, line_by_hand in zip(lines, lines_by_hand, strict=True)
            if line != line_by_hand
        ]
        assert len(lines) > 30
        assert all("Source SHA-256" in line for line in differ), (
            differ
        )  # the hash of the description differs


def test_a_universal_joint_equals_two_hinges_of_one_mujoco_body() -> None:
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    q, v, a = np.random.default_rng(5).normal(size=(3, 4, 3))
    expected = []
    for state in zip(q, v, a, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = state
        mujoco.mj_inverse(model, data)
        expected.append(data.qfrc_inverse.copy())
    forces = Reference(antenna()).evaluate("inverse_dynamics", {"q": q, "v": v, "a": a})["tau"]
    np.testing.assert_allclose(forces, expected, atol=1e-12)


def test_a_universal_joint_is_written_as_two_joints() -> None:
    mechanism = antenna()
    text = to_toml(mechanism)
    assert "universal" not in text
    assert symgen.load(text).content == mechanism.content


def test_show_prints_one_line_for_each_axis() -> None:
    text = show(antenna())
    assert "gimbal_1 → gimbal_cross" in text
    assert "gimbal_2 → dish" in text


def test_each_axis_can_be_locked_by_name() -> None:
    first, second = (
        symgen.load(ARM + ONE, lock={name: "0.25"}) for name in ("gimbal_1", "gimbal_2")
    )
    assert [joint.name for joint in first.joints] == ["turn", "gimbal_2"]
    assert [joint.name for joint in second.joints] == ["turn", "gimbal_1"]
    q = np.array([[0.3, 0.25, -0.4], [0.3, -0.4, 0.25]])
    unlocked = Reference(antenna()).evaluate("mass_matrix", {"q": q})["M"]
    for k, (locked, free_entries) in enumerate(((first, [0, 2]), (second, [0, 1]))):
        mass = Reference(locked).evaluate("mass_matrix", {"q": q[k : k + 1, free_entries]})["M"]
        np.testing.assert_allclose(
            mass[0], unlocked[k][np.ix_(free_entries, free_entries)], atol=1e-12
        )
    with pytest.raises(RequestError, match="did you mean 'gimbal_2'"):
        symgen.load(ARM + ONE, lock={"gimbal": 0})


def test_names_have_defaults_and_limits_are_optional() -> None:
    mechanism = antenna('type = "universal"\naxes = [[1, 0, 0], [0, 1, 0]]')
    assert [joint.name for joint in mechanism.joints] == ["turn", "dish_joint_1", "dish_joint_2"]
    assert all(joint.limits.lower is None for joint in mechanism.joints)


@pytest.mark.parametrize(
    ("joint", "why"),
    [
        (
            "axis = [1, 0, 0]",
            "body 'dish': joint: the key 'axis' is not known here; did you mean 'axes'?",
        ),
        (
            "",
            "body 'dish': joint: the key 'axes' of a universal joint is missing;"
            " add axes = [[1, 0, 0], [0, 1, 0]]",
        ),
        (
            "axes = [[1, 0, 0]]",
            "joint.axes: '[[1, 0, 0]]' is not an array of 2 vectors; write [[…], […]]",
        ),
        ("axes = [1, 0, 0]", "joint.axes: '[1, 0, 0]' is not an array of 2 vectors"),
        ("axes = [[1, 0, 0], [0, 1]]", "joint.axes[1]: '[0, 1]' is not an array of 3 numbers"),
        ("axes = [[1, 0, 0], [0, 0, 0]]", "joint.axes: the axis is zero; give a nonzero axis"),
        (
            "axes = [[1, 2, 0], [-0.5, -1, 0]]",
            "its two axes are parallel; give two",
        ),
        (
            f"{AXES}limits = {{ lower = 0 }}",
            "joint.limits: '{'lower': 0}' is not an array of 2 tables; write [{…}, {…}]",
        ),
        (
            f"{AXES}limits = [{{}}, {{ uper = 1 }}]",
            "joint.limits[1]: the key 'uper' is not known here; did you mean 'upper'?",
        ),
        (f'{AXES}mimic = {{ joint = "turn" }}', "the key 'mimic' is not known here; there are"),
    ],
)
def test_a_faulty_universal_joint_is_refused_in_one_sentence(joint: str, why: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        antenna(TYPE + joint)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "mast",
            "gimbal_cross",
            "body 'dish': joint 'gimbal_cross': this name is already a link at line 3",
        ),
        (
            "turn",
            "gimbal_1",
            "body 'dish': joint 'gimbal_1': this name is already a joint at line 3",
        ),
    ],
)
def test_a_name_already_in_use_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        symgen.load((ARM + ONE).replace(f'"{old}"', f'"{new}"'))
    assert why in str(caught.value)


def test_a_universal_joint_in_a_row_is_refused() -> None:
    with pytest.raises(
        DescriptionError,
        match="write it as joints of one coordinate with massless links between them",
    ):
        symgen.load('name = "r"\nconvention = "dh"\n[[row]]\ntype = "universal"\nmass = 1\n')


def direction(x: int, y: int, z: int) -> Vector3:
    return Fraction(x), Fraction(y), Fraction(z)


GIMBAL = Connection("gimbal", KIND, "mast", "dish", location=Location("r.toml", 3, "joint"))
RANGES = Limits(upper=Fraction(1)), Limits(upper=Fraction(2))


@pytest.mark.parametrize(
    ("second", "parallel"),
    [
        ((-2, -4, -6), True),
        ((2, 3, 4), False),
        ((1, 2, 4), False),
        ((1, 3, 3), False),
        ((2, 2, 3), False),
    ],
)
def test_the_axes_of_a_universal_joint_are_not_parallel(
    second: tuple[int, int, int], parallel: bool
) -> None:
    axes = direction(1, 2, 3), direction(*second)
    if parallel:
        with pytest.raises(DescriptionError, match="its two axes are parallel; give two"):
            two_hinges(GIMBAL, axes, RANGES)
        return
    cross, hinges = two_hinges(GIMBAL, axes, RANGES)
    assert [hinge.axis for hinge in hinges] == [*axes]
    assert [(hinge.name, hinge.parent, hinge.child) for hinge in hinges] == [
        ("gimbal_1", "mast", cross.name),
        ("gimbal_2", cross.name, "dish"),
    ]
    assert [hinge.limits for hinge in hinges] == [*RANGES]
    assert [hinge.location.element for hinge in hinges] == ["joint 'gimbal_1'", "joint 'gimbal_2'"]


def test_each_axis_of_a_universal_joint_has_its_value_of_the_drive() -> None:
    axes = direction(1, 0, 0), direction(0, 1, 0)
    for values, expected in (((3,), [3, 3]), ((3, 5), [3, 5])):
        drive = Drive.of_velocities({"damping": [Fraction(value) for value in values]})
        _, hinges = two_hinges(replace(GIMBAL, drive=drive), axes, RANGES)
        assert [hinge.drive.damping for hinge in hinges] == expected
    three = Drive.of_velocities({"damping": [Fraction(value) for value in (1, 2, 3)]})
    with pytest.raises(DescriptionError, match="its drive has 3 values for 2 velocities"):
        two_hinges(replace(GIMBAL, drive=three), axes, RANGES)
