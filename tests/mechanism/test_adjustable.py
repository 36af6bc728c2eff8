"""Parameters that can change at run time: names, sizes, refusals, mechanisms with new values."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from symgen.description.writers._links import sum_of_parts
from symgen.mechanism.adjustable import (
    SIZES,
    adjust_mechanism,
    adjustable_parameters,
    centre_and_rotation,
    declared_centre,
    declared_part,
)
from symgen.mechanism.drives import NO_DRIVE, Drive
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary.poses import ZERO3, Angle, Rotate, Shift, Slide, Turn, Vector3

F = Fraction
CENTRE: Vector3 = (F(1), F(-2), F(3))
ROTATION = Rotate((F(1), F(2), F(0), F(-1)))
MOMENTS = (F(5), F(1), F(-1, 2), F(6), F(1, 3), F(7))
POSE = (Shift((F(0), F(1), F(1, 2))), Turn((F(0), F(0), F(1)), Angle(pi=F(1, 2))))
TOOL = Part("tool", (*POSE, Shift(CENTRE), ROTATION), F(2), MOMENTS)
ARM = Part("arm", (), F(3))
ROBOT = Mechanism(
    "robot",
    (
        Joint("hinge", "revolute", BASE, drive=Drive(damping=F(1, 2))),
        Joint("ball", "spherical", 0),
    ),
    (Body("arm", (ARM, TOOL)), Body("hand", ())),
    (Frame("base", BASE), Frame("arm", 0), Frame("tool", 0, POSE), Frame("hand", 1)),
)


def names(*words: str, robot: Mechanism = ROBOT) -> list[str]:
    return [parameter.name for parameter in adjustable_parameters(robot, words)]


def test_parameters_are_selected_in_the_order_of_the_description() -> None:
    assert names() == []
    assert names("tool.mass", "gravity", "arm.centre", "tool.mass") == [
        "arm.centre",
        "tool.mass",
        "gravity",
    ]
    assert names("hand") == ["hand.mass", "hand.centre", "hand.inertia"]
    assert names("payload:hand") == [f"payload:hand.{kind}" for kind in SIZES]
    assert names("hinge") == [
        f"hinge.{kind}" for kind in ("armature", "damping", "friction", "stiffness", "rest")
    ]
    assert names("ball") == ["ball.armature", "ball.damping", "ball.friction"]


def test_a_pattern_selects_links_with_mass_gravity_and_declared_drives() -> None:
    assert names("*.mass") == ["arm.mass", "tool.mass"]
    assert names("[ag]*") == ["arm.mass", "arm.centre", "arm.inertia", "gravity"]
    assert names("h*") == ["hinge.damping"]
    assert names("?????.damping") == ["hinge.damping"]
    with_moments = Body("hand", (Part("hand", (), F(0), MOMENTS),))
    robot = replace(ROBOT, bodies=(ROBOT.bodies[0], with_moments))
    assert names("*.mass", robot=robot) == ["arm.mass", "tool.mass", "hand.mass"]


def test_a_link_is_meant_where_a_joint_has_its_name() -> None:
    robot = replace(ROBOT, joints=(replace(ROBOT.joints[0], name="arm"), ROBOT.joints[1]))
    assert names("arm", robot=robot) == ["arm.mass", "arm.centre", "arm.inertia"]
    assert names("arm.damping", robot=robot) == ["arm.damping"]


def test_a_parameter_has_a_size_a_unit_and_words() -> None:
    words = ("tool", "payload:tool", "gravity", "hinge.rest")
    parameters = {p.name: p for p in adjustable_parameters(ROBOT, words)}
    assert {name: p.size for name, p in parameters.items()} == {
        "tool.mass": 1,
        "tool.centre": 3,
        "tool.inertia": 6,
        "payload:tool.mass": 1,
        "payload:tool.centre": 3,
        "payload:tool.inertia": 6,
        "gravity": 3,
        "hinge.rest": 1,
    }
    assert parameters["tool.mass"].words == ("tool", "mass")
    assert parameters["payload:tool.mass"].words == ("payload", "tool", "mass")
    assert parameters["gravity"].words == ("gravity",)
    assert parameters["hinge.rest"].words == ("hinge", "rest")
    assert parameters["hinge.rest"].unit == "rad (m)"
    assert parameters["tool.mass"].unit == "kg"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("base", "link 'base' is fixed to the base"),
        ("base.mass", "link 'base' is fixed to the base"),
        ("payload:base.mass", "link 'base' is fixed to the base"),
        (f"base.{'k' * 55}", f"parameter 'base.{'k' * 55}': link"),
        (f"base.{'k' * 56}", f"parameter 'base.{'k' * 55}…': link"),
        ("tool.pose", "lengths and axes are constants"),
        ("hinge.axis", "lengths and axes are constants"),
        ("tool.colour", "a link has tool.mass, .centre and .inertia$"),
        ("tool.COM", "did you mean 'tool.centre'?"),
        ("payload:tool.m", "a link has payload:tool.mass, .centre and .inertia; did you mean"),
        ("ball.rest", "the last two need a joint with one coordinate"),
        ("tol.mass", "did you mean 'tool'"),
        ("payload:hnad", "did you mean 'hand'"),
        ("hing.rest", "did you mean 'hinge'"),
        ("gravty", "did you mean 'gravity'"),
        ("xyz.pose", "no link, joint or parameter is named 'xyz.pose'"),
        ("mass", "no link, joint or parameter is named 'mass'"),
        ("q*", "no parameter matches 'q*'"),
    ],
)
def test_a_name_without_a_parameter_is_refused_with_the_reason(word: str, reason: str) -> None:
    with pytest.raises(RequestError) as refusal:
        names(word)
    text = str(refusal.value)
    assert text.endswith(reason[:-1]) if reason.endswith("$") else reason in text


def test_links_with_gravity_compensation_have_no_parameters_but_loads() -> None:
    arm = replace(ARM, gravcomp=F(1))
    robot = replace(ROBOT, bodies=(Body("arm", (arm, TOOL)), ROBOT.bodies[1]))
    with pytest.raises(ArgumentError, match=r"'arm.mass': link 'arm' has gravity compensation"):
        names("arm.mass", robot=robot)
    assert names("payload:arm.mass", "tool.mass", robot=robot) == ["payload:arm.mass", "tool.mass"]


def test_a_declared_drive_that_is_not_applied_is_refused_with_the_option_that_applies_it() -> None:
    hinge = replace(
        ROBOT.joints[0], drive=Drive(damping=F(1)), withheld=Drive(stiffness=F(3), rest=F(1))
    )
    robot = replace(ROBOT, joints=(hinge, ROBOT.joints[1]))
    for word in ("hinge.rest", "hinge.stiffness"):
        with pytest.raises(ArgumentError, match=r"stiffness = 3, .* --drives damping,stiffness "):
            names(word, robot=robot)
    assert names("hinge.damping", "ball.friction", robot=robot) == [
        "hinge.damping",
        "ball.friction",
    ]
    spare = replace(ROBOT.joints[0], drive=NO_DRIVE, unapplied=(("damping", F(1, 2)),))
    robot = replace(ROBOT, joints=(spare, ROBOT.joints[1]))
    for word in ("hinge.damping", "*.damping"):
        with pytest.raises(ArgumentError, match=re.escape("declares damping = 0.5, which is not")):
            names(word, robot=robot)
    assert names("hinge.friction", robot=robot) == ["hinge.friction"]


def test_a_joint_whose_velocities_have_different_drives_has_no_parameters() -> None:
    drive = Drive.of_velocities({"damping": (F(1), F(2), F(3))})
    robot = replace(ROBOT, joints=(ROBOT.joints[0], replace(ROBOT.joints[1], drive=drive)))
    with pytest.raises(RequestError, match="a drive with the same values for each velocity"):
        names("ball.damping", robot=robot)


# -- new values ------------------------------------------------------------------------------------


def pseudo_inertia(mass: Fraction, centre: Vector3, moments: Any, about_origin: bool) -> Any:
    """Return ∫ p pᵀ dm, p = (x, y, z, 1), of moments about the origin or about the mass centre."""
    xx, xy, xz, yy, yz, zz = moments
    half = (xx + yy + zz) / 2
    second = np.array([[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]])
    arm = np.array(centre)
    matter = np.full((4, 4), mass)
    matter[:3, :3] = second + (0 if about_origin else mass * np.outer(arm, arm))
    matter[:3, 3] = matter[3, :3] = mass * arm
    return matter


def in_frame(part: Part, frame: Frame) -> Any:
    """Return the matter of a part in the axes of a frame."""
    centre, rotations = centre_and_rotation(frame, part)
    turned = sum_of_parts([Part("", rotations, part.mass, part.moments), Part("", (), F(0))])
    return pseudo_inertia(part.mass, centre, turned.moments, False)


def values_of(**values: Any) -> dict[str, tuple[Fraction, ...]]:
    return {
        name.replace("__", ":").replace("_", "."): tuple(map(F, numbers))
        for name, numbers in values.items()
    }


def test_new_values_of_a_link_replace_the_declared_ones() -> None:
    tool, inertia = ROBOT.frame("tool"), (9, 1, 2, 8, -1, 10)
    changed = adjust_mechanism(
        ROBOT, values_of(tool_mass=[4], tool_centre=[3, 2, -4], tool_inertia=inertia)
    )
    part = declared_part(changed, "tool")
    expected = pseudo_inertia(F(4), (F(3), F(2), F(-4)), [F(x) for x in inertia], True)
    assert (in_frame(part, tool) == expected).all()
    assert declared_part(changed, "arm") == ARM
    assert changed.joints == ROBOT.joints


def test_a_new_mass_or_centre_keeps_the_moments_about_the_mass_centre() -> None:
    tool = ROBOT.frame("tool")
    for values, mass, centre in (
        (values_of(tool_mass=[5]), F(5), CENTRE),
        (values_of(tool_centre=[0, 0, 1]), F(2), (F(0), F(0), F(1))),
    ):
        part = declared_part(adjust_mechanism(ROBOT, values), "tool")
        assert (part.mass, part.moments) == (mass, MOMENTS)
        assert centre_and_rotation(tool, part) == (centre, (ROTATION,))


def test_a_load_is_added_to_its_link() -> None:
    values = values_of(payload__tool_mass=[2], payload__tool_inertia=[1, 0, 0, 2, 0, 3])
    changed = adjust_mechanism(ROBOT, values)
    *declared, load = changed.bodies[0].parts
    assert tuple(declared) == (ARM, TOOL)
    moments = [F(x) for x in (1, 0, 0, 2, 0, 3)]
    expected = pseudo_inertia(F(2), ZERO3, moments, True)
    assert (in_frame(load, ROBOT.frame("tool")) == expected).all()


def test_new_gravity_and_drives_replace_the_declared_ones() -> None:
    changed = adjust_mechanism(ROBOT, values_of(gravity=[1, 2, 3], hinge_rest=[7]))
    assert changed.gravity == (1, 2, 3)
    assert changed.joints[0].drive == Drive(damping=F(1, 2), rest=F(7))
    assert changed.joints[1:] == ROBOT.joints[1:]
    assert changed.bodies == ROBOT.bodies
    assert adjust_mechanism(ROBOT, {}) == ROBOT


def test_the_declared_centre_of_a_link_is_in_its_frame_and_that_of_a_load_is_zero() -> None:
    assert declared_centre(ROBOT, "tool", False) == (2, CENTRE)
    assert declared_centre(ROBOT, "hand", False) == (0, ZERO3)
    assert declared_centre(ROBOT, "tool", True) == (0, ZERO3)


def test_several_inertias_or_a_slid_centre_cannot_change() -> None:
    several = replace(ROBOT, bodies=(Body("arm", (ARM, ARM)), ROBOT.bodies[1]))
    with pytest.raises(ArgumentError, match="link 'arm' declares 2 inertias"):
        declared_part(several, "arm")
    slid = Part("hand", (Slide((F(1), F(1), F(0)), F(1)),), F(1))
    with pytest.raises(ArgumentError, match="link 'hand' places its mass centre along an axis"):
        centre_and_rotation(ROBOT.frame("hand"), slid)
