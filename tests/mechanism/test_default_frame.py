"""The default frame is the end of an arm: a link named as a tool, before the fingers, never beyond
a mimic joint.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from symgen.cli import main
from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.description.tip import choose_tip
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Mimic, Part


def tree(*links: str, mimics: str = "", frames: str = "") -> Mechanism:
    """Build a tree of links 'name parent' and massless frames 'name body'; `mimics` follow the
    first joint.
    """
    names = [link.split()[0] for link in links]
    parents = [
        names.index(link.split()[1]) if " " in link else i - 1 for i, link in enumerate(links)
    ]
    coupled = Mimic("j0", Fraction(1), Fraction(0))
    joints = (
        Joint(f"j{i}", "revolute", p, mimic=coupled if n in mimics.split() else None)
        for i, (n, p) in enumerate(zip(names, parents, strict=True))
    )
    bodies = tuple(Body(n, (Part(n, (), Fraction(1)),)) for n in names)
    extra = (
        Frame(name, BASE if on == "base" else names.index(on))
        for name, on in (f.split() for f in frames.split(", ") if f)
    )
    return Mechanism(
        "made",
        tuple(joints),
        bodies,
        (Frame("base", BASE), *(Frame(n, i) for i, n in enumerate(names)), *extra),
    )


PANDA = ("a", "b", "c", "left_finger c", "right_finger c")
TIPS = {
    "a finger that is mimicked, and one that mimics": (
        tree(*PANDA, mimics="right_finger", frames="link8 c, panda_hand c, panda_hand_tcp c"),
        "panda_hand_tcp",
    ),
    "no tcp": (tree(*PANDA, mimics="right_finger", frames="link8 c, panda_hand c"), "panda_hand"),
    "a flange before a hand": (tree(*PANDA, frames="flange c, panda_hand c"), "flange"),
    "nothing is named: the last link before the fingers": (
        tree(*PANDA, mimics="right_finger"),
        "c",
    ),
    "nothing is named: a massless one on it": (tree(*PANDA, frames="link8 c"), "link8"),
    "a gripper's motor": (
        tree(
            "a",
            "b",
            "gripper_left_motor_link",
            frames="gripper_left_base_link b, wrist_ft_tool_link b",
        ),
        "gripper_left_base_link",
    ),
    "tool0 and ee_link": (tree("a", "b", frames="tool0 b, ee_link b"), "tool0"),
    "a camera on the hand": (
        tree("a", "b", frames="right_hand_camera b, right_hand b, right_hand_imu b"),
        "right_hand",
    ),
    "camel case": (
        tree("a", "b", frames="LeftSakePalmLink b, LeftGripperYawLink b"),
        "LeftSakePalmLink",
    ),
    "no word is part of another": (
        tree("a", "b", "kneel", frames="handle b, toolbox a, Head_effector a"),
        "kneel",
    ),
    "two jaws called gripper": (tree("a", "b", "gripper_left b", "gripper_right b"), "b"),
    "a tool on the base": (tree("a", "b", frames="tool base"), "b"),
    "beyond a mimic joint": (tree("a", "b", "c", "d", mimics="c", frames="tool d"), "tool"),
    "on a mimic joint": (tree("a", "b", "c", mimics="c", frames="tool c"), "b"),
    "no gripper: two long arms": (tree("a", "b", "l0 b", "l1", "l2", "r0 b", "r1", "r2"), "l2"),
    "the last massless one of the longest chain": (
        tree("a", "b", "c", "d a", frames="mark c, point c"),
        "point",
    ),
    "all mimic": (tree("a", "b", mimics="a b"), "base"),
}


@pytest.mark.parametrize("case", TIPS)
def test_the_default_frame_is_the_expected_tip(case: str, tmp_path: Path) -> None:
    mechanism, tip = TIPS[case]
    assert choose_tip(mechanism).name == tip
    again = tmp_path / "again.toml"
    again.write_text(to_toml(mechanism), encoding="utf-8")
    assert choose_tip(load(again)) == choose_tip(mechanism)
    assert choose_tip(replace(mechanism, name="another")).name == tip


def test_of_equal_limbs_the_first_is_chosen_and_the_others_are_named() -> None:
    legs = tree(
        *(
            f"{leg}{i} {'base' if i == 0 else leg + str(i - 1)}".removesuffix(" base")
            for leg in "ab"
            for i in range(2)
        )
    )
    legs = replace(
        legs,
        joints=tuple(
            replace(j, parent=-1) if i in (0, 2) else j for i, j in enumerate(legs.joints)
        ),
    )
    assert choose_tip(legs)[0::2] == ("a1", ("b1",))
    hands = tree("a", "l a", "r a", "l1 l", "r1 r", frames="left_hand l1, right_hand r1")
    assert choose_tip(hands) == ("left_hand", "its name says 'hand'", ("right_hand",))


@pytest.mark.parametrize("command", ["verify", "inspect", "generate"])
def test_a_command_names_the_default_frame_if_it_is_used(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    of_a_frame, of_none = (
        (["J[0,0]"], ["M[0,0]"])
        if command == "inspect"
        else (["-f", "jacobian"], ["-f", "mass_matrix"])
    )
    for options, noted in (
        (of_a_frame, True),
        ([*of_a_frame, "--frame", "link1"], False),
        (of_none, False),
    ):
        assert main([command, "planar_arm", *options]) == 0
        assert ("note: the frame is link2 (" in capsys.readouterr().err) is noted
