"""The default frame of trees without names of tools, and of names that hold a word of a tool."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.description.tip import choose_tip
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Mimic, Part
from symgen.support.errors import RequestError


def tree(*links: str, frames: str = "", massless: str = "", mimics: str = "") -> Mechanism:
    """Return a tree of links 'name' (on the previous one) or 'name parent', 'base' for the base.

    `frames` are massless, each 'name link'; links in `massless` have no mass; joints of `mimics`
    follow the first joint.
    """
    names = [link.split()[0] for link in links]
    parents = [
        BASE if link.endswith(" base") else names.index(link.split()[1]) if " " in link else k - 1
        for k, link in enumerate(links)
    ]
    follows = Mimic("j0", Fraction(1), Fraction(0))
    joints = tuple(
        Joint(f"j{k}", "revolute", parent, mimic=follows if name in mimics.split() else None)
        for k, (name, parent) in enumerate(zip(names, parents, strict=True))
    )
    bodies = tuple(
        Body(name, (Part(name, (), Fraction(int(name not in massless.split()))),)) for name in names
    )
    extra = tuple(
        Frame(name, names.index(link)) for name, link in (f.split() for f in frames.split(",") if f)
    )
    named = tuple(Frame(name, k) for k, name in enumerate(names))
    return Mechanism("r", joints, bodies, (Frame("base", BASE), *named, *extra))


def name(*links: str, **more: str) -> str:
    return choose_tip(tree(*links, **more)).name


def test_the_end_of_the_longest_chain_is_the_default_frame() -> None:
    assert name("a", "b", "c") == "c"
    assert name("a", "b base", "c b") == "c"
    tip = choose_tip(tree("a", "b", "c base", "d c"))
    assert (tip.name, tip.alike) == ("b", ("d",))
    assert tip.why == "the end of the longest chain"


def test_on_one_body_a_link_without_mass_is_preferred_then_the_last() -> None:
    assert name("a", "b", frames="x b,y b") == "y"
    assert name("a", "b", massless="b") == "b"
    assert name("a", "b", massless="b", frames="x b") == "x"
    assert name("a", "b", frames="x b,b_camera b") == "x"
    assert name("a", "b", frames="x_camera b,y_imu b") == "b"
    assert name("a", "b_sensor", frames="x_camera b_sensor") == "x_camera"


def test_a_lumped_link_with_mass_comes_after_one_without() -> None:
    mechanism = tree("a", "b", frames="x b", massless="b")
    lumped = replace(mechanism.bodies[1], parts=(Part("x", (), Fraction(1)),))
    bodies = (mechanism.bodies[0], lumped)
    assert choose_tip(replace(mechanism, bodies=bodies)).name == "b"


def test_a_hand_is_the_last_link_before_short_branches() -> None:
    """A branch is a finger if it has at most five joints, and at most as many as its arm."""
    tip = choose_tip(tree("a", "b", "c", "d b"))
    assert (tip.name, tip.why) == ("b", "the last link before it branches")
    assert name("a", "b", "c b", "d c", "e b") == "b"
    # the branch is longer than the arm
    assert name("a", "b", "c", "d a") == "c"
    assert name("a", "b", "c a") == "a"
    arm = [f"x{k}" for k in range(7)]
    for joints, hand in ((5, "x6"), (6, "f5")):
        finger = [f"f{k}" for k in range(joints)]
        assert name(*arm, *finger, "thumb_ x6") == hand
    # the first body with branches on the way from the base is the hand
    assert name(*arm, "p", "q", "r q", "s q", "t x6") == "x6"


def test_a_tool_is_found_by_the_last_word_of_its_name() -> None:
    for tool, word in (
        ("arm_tcp", "tcp"),
        ("LeftGraspTarget", ""),
        ("tool0", "tool"),
        ("left_tool_link", "tool"),
        ("tool_base_frame_2", "tool"),
        ("end_effector", "effector"),
        ("r_flange", "flange"),
        ("hand_palm_link", "palm"),
        ("gripperR", "gripper"),
        ("eeLink", "ee"),
        ("TCP", "tcp"),
    ):
        tip = choose_tip(tree("a", tool, "c"))
        if word:
            assert (tip.name, tip.why) == (tool, f"its name says '{word}'")
        else:
            assert tip.name == "c"
    assert name("a", "7") == "7"  # a name without a word
    for part in ("effector", "tool_camera", "toolbox", "hand_finger", "hand_x", "tool_thumb_link"):
        assert name("a", part, "c") == "c"


def test_more_specific_words_come_first_then_deeper_links() -> None:
    assert name("tool", "hand", "tcp") == "tcp"
    assert name("tcp", "tool", "hand") == "tcp"
    assert name("hand", "gripper", "flange", "c") == "flange"
    assert name("tool1", "b", "tool2", "d") == "tool2"
    tip = choose_tip(tree("a", "left_tool", "c base", "right_tool c"))
    assert (tip.name, tip.alike) == ("left_tool", ("right_tool",))
    assert name("a", "b", frames="tool b,last_tool b") == "last_tool"
    assert name("a", "tool", frames="old_tool tool", massless="tool") == "old_tool"


def test_two_links_of_one_word_on_one_body_are_jaws() -> None:
    assert name("a", "b", "left_gripper b", "right_gripper b", "hand a") == "hand"
    assert name("a", "left_gripper a", "right_gripper a") == "a"
    # on the base they are two arms
    assert name("left_gripper base", "right_gripper base", "c right_gripper") == "left_gripper"


def test_links_that_a_mimic_joint_moves_are_chosen_last() -> None:
    assert name("a", "b", "c", mimics="c") == "b"
    assert name("a", "b", "c", "d", mimics="c") == "d"
    assert name("a", "b", "tool", mimics="tool") == "b"
    # the driven link f carries two jaws with joints of their own: it may be no hand
    assert name("a", "b", "f b", "c f", "d f", mimics="f") == "c"
    assert name("a", "b", "f b", "c f", "e c", "d f", mimics="f") == "e"
    alone = tree("a", "b base", mimics="a b")
    tip = choose_tip(alone)
    assert tip.name == "base"
    assert tip.why == "the only choice, since no link but those behind a mimic joint moves"


def test_a_mechanism_without_named_links_has_no_default_frame() -> None:
    nameless = Mechanism("r", (Joint("j", "revolute", BASE),), (Body("a", ()),))
    with pytest.raises(RequestError, match="r has no named link to use as a frame; declare one"):
        choose_tip(nameless)
