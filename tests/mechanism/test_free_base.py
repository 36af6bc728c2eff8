"""--base free: the root link of a description moved by a free joint, and the joints of URDF that have several coordinates."""

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
  <link name="trunk"><inertial><mass value="3"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
  <link name="leg"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.001"/></inertial></link>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"
    velocity="5" effort="10"/></joint>
</robot>"""
HELD = LEG.replace('<link name="trunk">', '<link name="world"/><link name="trunk">').replace(
    "</robot>",
    '<joint name="KIND" type="KIND"><parent link="world"/><child link="trunk"/></joint></robot>',
)


def free() -> Mechanism:
    return load(LEG, base="free")


def test_the_root_link_becomes_a_body() -> None:
    fixed, made = load(LEG), free()
    assert [joint.name for joint in made.joints] == ["root_joint", "hip"]
    assert (made.joints[0].type.free, made.joints[0].parent, made.joints[1].parent, made.base) == (
        True,
        BASE,
        0,
        "world",
    )
    assert (made.nq, made.nv, fixed.nv) == (8, 7, 1)
    assert made.bodies[0].mass == 3
    assert not made.base_parts
    assert any("use --base free" in note.text for note in fixed.notes if note.kind == "warning")
    assert not any("is fixed, since no joint" in note.text for note in made.notes)


def test_the_canonical_description_says_it_in_full() -> None:
    made = free()
    again = load(to_toml(made))
    assert again.content == made.content
    assert to_toml(again) == to_toml(made)


def test_what_floats_in_urdf_is_free() -> None:
    """The same robot said in two ways."""
    said = load(HELD.replace("KIND", "floating"))
    assert [joint.type for joint in said.joints] == [joint.type for joint in free().joints]
    at = np.random.default_rng(1).normal(size=(3, 7))
    q = np.array([0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5, 0.4])
    one, other = (
        symgen.compile(m, ["inverse_dynamics"], optimize=0).inverse_dynamics(q, at[0], at[1])
        for m in (said, free())
    )
    assert np.abs(one - other).max() < 1e-12


def test_a_planar_joint_of_urdf_moves_across_z() -> None:
    across = '<child link="trunk"/><axis xyz="0 0 1"/>'
    planar = load(HELD.replace("KIND", "planar").replace('<child link="trunk"/>', across))
    assert (planar.nq, planar.nv) == (4, 4)
    with pytest.raises(DescriptionError, match="the normal of a planar joint must be the z axis"):
        load(HELD.replace("KIND", "planar"))


@pytest.mark.parametrize(
    ("text", "why"),
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
            HELD.replace("KIND", "floating")
            .replace('<link name="world"/>', '<link name="ground"/><link name="world"/>')
            .replace(
                "</robot>",
                '<joint name="set" type="fixed"><parent link="ground"/><child link="world"/></joint></robot>',
            ),
            "it is a free joint on the root link already; leave out --base free",
        ),
        (
            LEG.replace('"leg"', '"world"'),
            "--base free adds a link 'world', but a link of that name exists; rename it",
        ),
        (
            LEG.replace('"hip"', '"root_joint"'),
            "--base free adds a joint 'root_joint', but a joint of that name exists; rename it",
        ),
    ],
)
def test_a_base_that_cannot_float_says_why(text: str, why: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        load(text, base="free")
    assert why in str(caught.value)


def test_two_free_joints_in_a_row_are_a_warning() -> None:
    """Where anything hangs between them, both are felt."""
    first = '[[body]]\nname = "a"\nparent = "base"\njoint = { name = "one", type = "free" }\n'
    second = (
        '[[body]]\nname = "b"\nparent = "a"\nmass = 1\njoint = { name = "two", type = "free" }\n'
    )
    third = '[[body]]\nname = "c"\nparent = "a"\nmass = 1\njoint = { name = "three", type = "revolute", axis = [0, 0, 1] }\n'
    (note,) = [note.text for note in load(first + second).notes if note.kind == "warning"]
    assert note == (
        "the free joints one and two have only a massless link between them: only their combined motion has "
        "an effect; remove one of them"
    )
    for felt in (first + "mass = 1\n" + second, first + second + third):
        assert not [note for note in load(felt).notes if note.kind == "warning"]
    with pytest.raises(
        DescriptionError, match="strict reading refuses this warning: the free joints one and two"
    ):
        load(first + second, strict=True)


@pytest.mark.parametrize("command", ["show", "generate", "verify", "inspect"])
def test_every_command_says_so_in_one_sentence(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of an arm that a joint holds to the world, fixed or not."""
    monkeypatch.chdir(tmp_path)
    for kind, why in (
        ("fixed", "to which joint 'fixed' connects 'trunk'; leave out --base free"),
        ("revolute", "to which joint 'revolute' connects 'trunk'; leave out --base free"),
    ):
        Path("arm.urdf").write_text(HELD.replace("KIND", kind))
        assert cli.main((command, "arm.urdf", "--base", "free")) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("symgen: arm.urdf: its root link 'world' is")
        assert why in err
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_base_is_fixed_or_free(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="base is 'floating'; give 'fixed' or 'free'"):
        load(LEG, base="floating")


@pytest.mark.parametrize(
    ("joint", "why"),
    [
        ('{ name = "j", type = "spherical", axis = [0, 0, 1] }', "axis"),
        ('{ name = "j", type = "free", limits = { lower = 0, upper = 1 } }', "limits"),
        ('{ name = "j", type = "floating" }', "write 'free'"),
        ('{ name = "j", type = "ball" }', "write 'spherical'"),
    ],
)
def test_toml_says_what_such_a_joint_takes(joint: str, why: str) -> None:
    with pytest.raises(DescriptionError, match=why):
        load(f'name = "r"\n[[body]]\nname = "b"\nparent = "base"\njoint = {joint}\nmass = 1\n')


def test_a_row_is_a_joint_of_one_coordinate() -> None:
    with pytest.raises(
        DescriptionError, match="a row needs a joint of one coordinate, but a spherical joint has 4"
    ):
        load('name = "r"\nconvention = "dh"\n[[row]]\ntype = "spherical"\nmass = 1\n')


def test_it_is_locked_at_its_zero_alone() -> None:
    assert load(LEG, base="free", lock={"root_joint": None}).nv == 1
    with pytest.raises(ArgumentError, match="has 7 coordinates and can be locked only at zero"):
        load(LEG, base="free", lock={"root_joint": "0.3"})
