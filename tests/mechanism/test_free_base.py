"""--base free: a free joint moves the root link; also floating and planar joints of URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.support.errors import ArgumentError, DescriptionError

LEG = """<robot name="hopper">
  <link name="trunk"><inertial><mass value="3"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
  <link name="leg"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.001"/></inertial></link>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="5" effort="10"/></joint>
</robot>"""
HELD = LEG.replace('<link name="trunk">', '<link name="world"/><link name="trunk">').replace(
    "</robot>",
    '<joint name="KIND" type="KIND"><parent link="world"/><child link="trunk"/></joint></robot>',
)

FOOT = """<link name="ankle"/><link name="foot"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="end" type="fixed"><parent link="leg"/><child link="ankle"/></joint>
  <joint name="roll" type="continuous"><parent link="ankle"/><child link="foot"/></joint>"""
"""A joint beyond a fixed joint, which does not lead from the root link."""


def load_free() -> Mechanism:
    return load(LEG, base="free")


def test_base_free_makes_the_root_link_a_body() -> None:
    fixed, floating = load(LEG), load_free()
    assert [joint.name for joint in floating.joints] == ["root_joint", "hip"]
    assert (
        floating.joints[0].type.free,
        floating.joints[0].parent,
        floating.joints[1].parent,
        floating.base,
    ) == (
        True,
        BASE,
        0,
        "world",
    )
    assert (floating.nq, floating.nv, fixed.nv) == (8, 7, 1)
    assert floating.bodies[0].mass == 3
    assert not floating.base_parts
    assert any("use --base free" in note.text for note in fixed.notes if note.kind == "warning")
    assert not any("is fixed, since no joint" in note.text for note in floating.notes)


def test_the_canonical_description_contains_the_free_joint() -> None:
    floating = load_free()
    again = load(to_toml(floating))
    assert again.content == floating.content
    assert to_toml(again) == to_toml(floating)


def test_a_floating_joint_of_urdf_equals_a_free_base() -> None:
    """A floating joint of URDF and --base free describe one robot."""
    declared = load(HELD.replace("KIND", "floating"))
    assert [joint.type for joint in declared.joints] == [joint.type for joint in load_free().joints]
    at = np.random.default_rng(1).normal(size=(3, 7))
    q = np.array([0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5, 0.4])
    first, second = (
        symgen.compile(m, ["inverse_dynamics"], optimize=0).inverse_dynamics(q, at[0], at[1])
        for m in (declared, load_free())
    )
    assert np.abs(first - second).max() < 1e-12


def test_a_planar_joint_of_urdf_must_have_the_z_axis_as_normal() -> None:
    across = '<child link="trunk"/><axis xyz="0 0 1"/>'
    planar = load(HELD.replace("KIND", "planar").replace('<child link="trunk"/>', across))
    assert (planar.nq, planar.nv) == (4, 4)
    with pytest.raises(DescriptionError, match="the normal of a planar joint must be the z axis"):
        load(HELD.replace("KIND", "planar"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            HELD.replace("KIND", "fixed"),
            "its root link 'world' is the fixed world, to which joint 'fixed' connects 'trunk'",
        ),
        (
            HELD.replace("KIND", "floating"),
            "it is a free joint on the root link already; leave out --base free",
        ),
        (
            HELD.replace("KIND", "floating").replace('"world"', '"ground"'),
            "it is a free joint on the root link already",
        ),
        (
            HELD.replace("KIND", "floating").replace("</robot>", FOOT + "</robot>"),
            "it is a free joint on the root link already",
        ),
        (
            HELD.replace("KIND", "floating")
            .replace('<link name="world"/>', '<link name="ground"/><link name="world"/>')
            .replace(
                "</robot>",
                '<joint name="set" type="fixed">'
                '<parent link="ground"/><child link="world"/></joint></robot>',
            ),
            "it is a free joint on the root link already; leave out --base free",
        ),
        (
            LEG.replace('"leg"', '"world"'),
            "--base free adds a link 'world', but a link of that name exists;"
            " rename the link in the description",
        ),
        (
            LEG.replace('"hip"', '"root_joint"'),
            "--base free adds a joint 'root_joint', but a joint of that name exists;"
            " rename the joint in the description",
        ),
    ],
)
def test_a_base_that_cannot_float_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        load(text, base="free")
    assert reason in str(caught.value)


def test_two_consecutive_free_joints_cause_a_warning() -> None:
    """With a mass or another joint between them, both free joints have an effect."""
    first = '[[body]]\nname = "a"\nparent = "base"\njoint = { name = "one", type = "free" }\n'
    second = (
        '[[body]]\nname = "b"\nparent = "a"\nmass = 1\njoint = { name = "two", type = "free" }\n'
    )
    third = (
        '[[body]]\nname = "c"\nparent = "a"\nmass = 1\n'
        'joint = { name = "three", type = "revolute", axis = [0, 0, 1] }\n'
    )
    (note,) = [note.text for note in load(first + second).notes if note.kind == "warning"]
    assert (
        note
        == "the free joints one and two have only a massless link between them: only their combined"
        " motion has an effect; remove one of them"
    )
    for text in (first + "mass = 1\n" + second, first + second + third):
        assert not [note for note in load(text).notes if note.kind == "warning"]
    with pytest.raises(
        DescriptionError, match="strict reading refuses this warning: the free joints one and two"
    ):
        load(first + second, strict=True)


@pytest.mark.parametrize("command", ["show", "generate", "verify", "inspect"])
def test_every_command_refuses_base_free_of_a_fixed_arm_in_one_line(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A joint connects the arm to the world."""
    monkeypatch.chdir(tmp_path)
    for kind, reason in (
        ("fixed", "to which joint 'fixed' connects 'trunk'; leave out --base free"),
        ("revolute", "to which joint 'revolute' connects 'trunk'; leave out --base free"),
    ):
        Path("arm.urdf").write_text(HELD.replace("KIND", kind))
        assert cli.main((command, "arm.urdf", "--base", "free")) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("symgen: arm.urdf: its root link 'world' is")
        assert reason in err
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_base_must_be_fixed_or_free(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="base is 'floating'; give 'fixed' or 'free'"):
        load(LEG, base="floating")


@pytest.mark.parametrize(
    ("joint", "reason"),
    [
        ('{ name = "j", type = "spherical", axis = [0, 0, 1] }', "axis"),
        ('{ name = "j", type = "free", limits = { lower = 0, upper = 1 } }', "limits"),
        ('{ name = "j", type = "floating" }', "write 'free'"),
        ('{ name = "j", type = "ball" }', "write 'spherical'"),
    ],
)
def test_toml_refuses_wrong_keys_of_free_and_spherical_joints(joint: str, reason: str) -> None:
    with pytest.raises(DescriptionError, match=reason):
        load(f'name = "r"\n[[body]]\nname = "b"\nparent = "base"\njoint = {joint}\nmass = 1\n')


def test_a_denavit_hartenberg_row_needs_a_joint_of_one_coordinate() -> None:
    with pytest.raises(
        DescriptionError, match="a row needs a joint of one coordinate, but a spherical joint has 4"
    ):
        load('name = "r"\nconvention = "dh"\n[[row]]\ntype = "spherical"\nmass = 1\n')


def test_a_free_joint_can_be_locked_only_at_zero() -> None:
    assert load(LEG, base="free", lock={"root_joint": None}).nv == 1
    with pytest.raises(ArgumentError, match="has 7 coordinates and can be locked only at zero"):
        load(LEG, base="free", lock={"root_joint": "0.3"})
