"""Mimic joints: reading, writing, showing, and refusals in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.benchmarks.peers import available_peers as peers
from symgen.description.canonical import to_toml
from symgen.inspection.request import parse_velocity
from symgen.mechanism.coupling import Mimic
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, DescriptionError, MechanismError, RequestError
from tests.shared.mimic_robots import GRIPPER


@pytest.fixture(scope="module")
def gripper() -> Mechanism:
    return symgen.load(GRIPPER)


def test_a_follower_of_a_follower_follows_the_first_leader(gripper: Mechanism) -> None:
    assert [
        follower and (follower.leader, follower.multiplier, follower.offset)
        for follower in gripper.joint_couplings
    ] == [
        None,
        None,
        (1, -1, 0),
        (1, Fraction(3, 4), Fraction(1, 20)),
        (1, Fraction(3, 40), Fraction(3, 1000)),
    ]
    assert (gripper.nq, gripper.nv, gripper.uncoupled.nv) == (2, 2, 5)
    assert gripper.coordinate_names == ("roll", "knuckle")
    shared = gripper.ranges[1]
    assert (shared.lower, shared.upper, shared.velocity) == (
        0,
        Fraction(3, 5),
        2,
    )  # (0.5 − 0.05)/0.75, 1.5/0.75
    drawn = draw_states(gripper, 64)["q"][:, 1]
    assert 0 <= min(drawn) < max(drawn) <= Fraction(3, 5)


def test_a_coupled_description_is_read_back_unchanged(gripper: Mechanism) -> None:
    again = symgen.load(to_toml(gripper))
    assert again.content == gripper.content
    assert again.notes == gripper.notes
    assert gripper.content != gripper.uncoupled.content
    assert gripper.uncoupled.content == symgen.load(GRIPPER, mimic="independent").content


@pytest.mark.parametrize(
    ("lock", "joints"),
    [({"knuckle": "0.4"}, {"roll"}), ({"other_knuckle": "0.1"}, {"roll", "knuckle", "left_tip"})],
)
def test_followers_of_a_locked_joint_are_locked(
    gripper: Mechanism, lock: dict[str, str], joints: set[str]
) -> None:
    """The follower is locked at its own value: poses equal those of the coupled robot there."""
    locked = symgen.load(GRIPPER, lock=lock)
    assert {joint.name for joint in locked.joints} == joints
    if "knuckle" in lock:
        cases = {"whole": (gripper, [0.3, 0.4]), "locked": (locked, [0.3])}
        tip_positions = {
            key: Reference(robot, frame="rack").forward_kinematics(np.array(q))[1]
            for key, (robot, q) in cases.items()
        }
        assert np.allclose(tip_positions["whole"], tip_positions["locked"], atol=1e-15)
        assert "joint slide locked at 0.033 m" in " ".join(note.text for note in locked.notes)


MIMIC = 'mimic = { joint = "knuckle", multiplier = -1 }'


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ('mimic = { joint = "thumb" }', "it mimics joint 'thumb', which is not declared"),
        (
            'mimic = { joint = "left_tip" }',
            r"it mimics joint 'left_tip', in a circle \(left_tip → left_tip\)",
        ),
        ('mimic = { joint = "slide" }\nmimicry = 1', "mimicry"),
    ],
)
def test_a_faulty_mimic_is_refused(written: str, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        symgen.load(GRIPPER.replace(MIMIC, written))


def test_a_leader_with_several_degrees_of_freedom_is_refused() -> None:
    led = (
        GRIPPER.replace('name = "roll", type = "revolute"', 'name = "roll", type = "cylindrical"')
        .replace(", limits = { lower = -2, upper = 2 }", "")
        .replace(MIMIC, 'mimic = { joint = "roll" }')
    )
    with pytest.raises(DescriptionError, match="'roll' has more than one degree of freedom"):
        symgen.load(led)
    assert symgen.load(led, mimic="independent").nv == 6


def test_a_multiplier_of_zero_locks_the_joint_at_the_offset() -> None:
    still = symgen.load(
        GRIPPER.replace(MIMIC, 'mimic = { joint = "knuckle", multiplier = 0, offset = 0.3 }')
    )
    assert "joint left_tip locked at 0.3 rad" in " ".join(note.text for note in still.notes)
    assert still.nv == 2


def test_an_unreadable_multiplier_is_refused_when_joints_are_coupled() -> None:
    text = (
        '<robot name="r"><link name="a"/>'
        + "".join(
            f'<link name="{name}"><inertial><mass value="1"/>'
            '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
            for name in "bc"
        )
        + '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
        '<joint name="k" type="continuous"><parent link="b"/><child link="c"/>'
        '<mimic joint="j" multiplier="two"/></joint>'
        "</robot>"
    )
    assert symgen.load(text).nv == 2
    with pytest.raises(DescriptionError, match="in its multiplier 'two' is no"):
        symgen.load(text, mimic="couple")


def test_a_faulty_mimic_in_a_mechanism_made_in_python_is_refused(gripper: Mechanism) -> None:
    def mimicking(mimic: Mimic | None) -> Mechanism:
        joints = [
            replace(joint, mimic=mimic if joint.name == "left_tip" else None)
            for joint in gripper.joints
        ]
        return replace(gripper, joints=tuple(joints))

    for mimic, sentence in (
        (None, "no joint mimics another"),
        (Mimic("thumb", Fraction(1), Fraction(0)), "not a moving joint"),
        (Mimic("left_tip", Fraction(1), Fraction(0)), "in a circle"),
        (Mimic("roll", Fraction(0), Fraction(0)), "multiplier of zero"),
        (Mimic("roll", Fraction(10**40), Fraction(0)), "look for a misplaced exponent or unit"),
    ):
        with pytest.raises(MechanismError, match=sentence):
            mimicking(mimic)


def test_unknown_mimic_options_and_refused_mimics_raise() -> None:
    with pytest.raises(ArgumentError, match="give 'independent', 'couple' or 'refuse'"):
        symgen.load(GRIPPER, mimic="coupled")
    with pytest.raises(DescriptionError, match="and mimic joints are refused"):
        symgen.load(GRIPPER, mimic="refuse")


# -- messages and generated text -------------------------------------------------------------------


@pytest.mark.slow
def test_a_generated_folder_names_leaders_and_followers(gripper: Mechanism, tmp_path: Path) -> None:
    symgen.generate(gripper, tmp_path / "gripper", ["mass_matrix"])
    manifest = json.loads((tmp_path / "gripper/manifest.json").read_text())
    assert (manifest["nq"], manifest["nv"]) == (2, 2)
    assert manifest["joints"][-1]["mimic"] == {
        "joint": "knuckle",
        "multiplier": 0.075,
        "offset": 0.003,
    }
    assert manifest["joints"][-1]["q"] == [2, 0]
    assert "mimic" not in manifest["joints"][1]
    assert not [entry for entry in manifest["not_modelled"] if entry["kind"] == "mimic"]
    assert (
        " *   joint 4, prismatic: none: 0.075*q[1] + 0.003 (m)\n"
        in (tmp_path / "gripper/gripper.h").read_text()
    )
    assert "none: -q[1] (rad)" in (tmp_path / "gripper/README.md").read_text()
    assert symgen.verify(tmp_path / "gripper", states=2).passed


def test_entries_count_leaders_only(gripper: Mechanism) -> None:
    assert parse_velocity(gripper, "knuckle") == 1
    with pytest.raises(
        ArgumentError,
        match="'slide' mimics 'knuckle' and has no velocities of its own; name 'knuckle'",
    ):
        parse_velocity(gripper, "slide")
    assert str(symgen.inspect(gripper, "M[1,1]"))
    with pytest.raises(RequestError, match="riccati does not support mimic joints"):
        symgen.inspect(gripper, "P[0]")
    assert set(peers(gripper)[1].values()) == {"mimic joints are not supported for peers"}
