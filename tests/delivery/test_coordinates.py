"""Entries of q and v, and drives, as README, header and manifest name them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.delivery import coordinates, drives
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Mimic, Part


def robot(*kinds: str, **settings: Any) -> Mechanism:
    """Return a chain of joints of these kinds, joint0 on the base."""
    pitch = (("pitch", Fraction(1, 10)),)
    joints = tuple(
        Joint(f"joint{i}", kind, i - 1, parameters=pitch if kind == "helical" else ())
        for i, kind in enumerate(kinds)
    )
    bodies = tuple(
        Body(f"link{i}", (Part(f"link{i}", (), Fraction(1)),)) for i in range(len(kinds))
    )
    frames = tuple(Frame(f"link{i}", i) for i in range(len(kinds)))
    return Mechanism("arm", joints, bodies, frames, **settings)


KINDS = {
    "free": ("m", "q[0..2] place x y z (m), q[3..6] unit quaternion x y z w"),
    "revolute": ("rad", "q[7] (rad)"),
    "planar": ("m", "q[8..9] place x y (m), q[10] angle (rad)"),
    "spherical": ("1", "q[11..14] unit quaternion x y z w"),
    "cylindrical": ("rad", "q[15] angle (rad), q[16] distance (m)"),
    "prismatic": ("m", "q[17] (m)"),
    "helical": ("rad", "q[18] (rad)"),
}
"""The unit of the first entry of q and the entries of q, of joints in a row."""
VELOCITIES = {
    "free": "v[0..2] linear velocity x y z (m/s), v[3..5] angular velocity x y z (rad/s), "
    "in the body's axes",
    "revolute": "v[6] its rate",
    "planar": "v[7..8] linear velocity x y (m/s), v[9] angular velocity z (rad/s), "
    "in the body's axes",
    "spherical": "v[10..12] angular velocity x y z (rad/s), in the body's axes",
    "cylindrical": "v[13..14] the rates",
    "prismatic": "v[15] its rate",
    "helical": "v[16] its rate",
}
MIXED = robot(*KINDS)
PLAIN = robot("revolute", "prismatic")


def test_entries_are_counted_over_all_joints() -> None:
    for words, (kind, (unit, q)) in zip(coordinates.entries(MIXED), KINDS.items(), strict=True):
        assert words == {"unit": unit, "q": q, "v": VELOCITIES[kind]}


def test_the_header_lists_joints_of_several_entries() -> None:
    first, *lines, of_v, linear, unit = coordinates.of_header(MIXED)
    assert first.endswith("in the order of the joints, from joint 0. Other joints:")
    several = [
        (i, kind) for i, kind in enumerate(KINDS) if "," in KINDS[kind][1] or kind == "spherical"
    ]
    assert lines == [
        line
        for i, kind in several
        for line in (f"  joint {i}, {kind}: {KINDS[kind][1]}", f"    {VELOCITIES[kind]}")
    ]
    assert of_v == "a and tau have the entries of v."
    assert "first in v[0..5], v[7..9];" in linear
    assert "normalize q[3..6], q[11..14] after each" in unit
    assert coordinates.of_header(PLAIN) == ()
    assert coordinates.of_header(robot("cylindrical"))[-1] == of_v


def test_names_distinguish_the_entries_of_a_joint_that_has_several() -> None:
    free, revolute, planar, spherical, cylindrical, *others = map(
        coordinates.entry_names, MIXED.joints
    )
    assert free == {
        "q_names": ["px", "py", "pz", "x", "y", "z", "w"],
        "v_names": ["vx", "vy", "vz", "wx", "wy", "wz"],
    }
    assert planar == {"q_names": ["x", "y", "angle"], "v_names": ["vx", "vy", "w"]}
    assert spherical == {"q_names": ["x", "y", "z", "w"], "v_names": ["wx", "wy", "wz"]}
    assert cylindrical == {key: ["angle", "distance"] for key in ("q_names", "v_names")}
    assert [revolute, *others] == [{}] * 3


@pytest.mark.parametrize(
    ("kinds", "several", "quaternions", "linear_first", "rates"),
    [
        (("revolute", "prismatic"), False, "", "", True),
        (("revolute", "cylindrical"), True, "", "", True),
        (("revolute", "planar"), True, "", "v[1..3]", False),
        (("prismatic", "spherical"), True, "q[1..4]", "", False),
        (("free", "free"), True, "q[3..6], q[10..13]", "v[0..5], v[6..11]", False),
    ],
)
def test_a_robot_is_described_by_what_its_joints_have(
    kinds: tuple[str, ...], several: bool, quaternions: str, linear_first: str, rates: bool
) -> None:
    mechanism = robot(*kinds)
    common = {
        "several": several,
        "coupled": False,
        "quaternions": quaternions,
        "linear_first": linear_first,
        "rates": rates,
    }
    neither, both = {"turns_back": False, "along_v": False}, {"turns_back": True, "along_v": True}
    assert coordinates.mentioned(mechanism, ["M"]) == common | neither
    assert coordinates.mentioned(mechanism, ["delta", "grad"]) == common | (
        neither if rates else both
    )
    assert coordinates.mentioned(mechanism, ["grad"])["turns_back"] is False
    assert coordinates.mentioned(mechanism, ["delta"])["along_v"] is False


def test_a_sample_begins_at_the_neutral_pose() -> None:
    """The neutral pose is zero but for w = 1 of each quaternion; C and C++ fill up with zeros."""
    of_free = "0, 0, 0, 0, 0, 0, 1"
    for name in ("q", "q_next"):
        assert coordinates.at_rest(robot("free", "revolute"), name) == {
            "c": f"{{{of_free}}}",
            "cpp": f"{{{of_free}}}",
        }
        assert coordinates.at_rest(PLAIN, name) == {"c": "{0}", "cpp": "{}"}
    assert coordinates.at_rest(robot("spherical", "spherical"), "q")["c"] == (
        "{0, 0, 0, 1, 0, 0, 0, 1}"
    )
    assert coordinates.at_rest(robot("free"), "v") == {"c": "{0}", "cpp": "{}"}


def followers() -> Mechanism:
    """Return an arm whose second and third joints follow the first."""
    plain = robot("revolute", "prismatic", "revolute", "revolute", coupled=False)
    mimics = {
        1: Mimic("joint0", Fraction(1, 2), Fraction(1, 20)),
        2: Mimic("joint0", Fraction(-1), Fraction(0)),
    }
    joints = tuple(replace(joint, mimic=mimics.get(i)) for i, joint in enumerate(plain.joints))
    return replace(plain, joints=joints, coupled=True)


def test_a_follower_has_no_entries_but_those_of_its_leader() -> None:
    mechanism = followers()
    assert coordinates.entries(mechanism) == [
        {"unit": "rad", "q": "q[0] (rad)", "v": "v[0] its rate"},
        {"unit": "m", "q": "none: 0.5*q[0] + 0.05 (m)", "v": "none: 0.5*v[0]"},
        {"unit": "rad", "q": "none: -q[0] (rad)", "v": "none: -v[0]"},
        {"unit": "rad", "q": "q[1] (rad)", "v": "v[1] its rate"},
    ]
    assert coordinates.followed(mechanism, 0) == {}
    assert coordinates.followed(mechanism, 1) == {
        "mimic": {"joint": "joint0", "multiplier": 0.5, "offset": 0.05}
    }
    assert coordinates.several(mechanism)
    first, *lines, _, leader = coordinates.of_header(mechanism)
    assert first.startswith("Mimic joints (followers) have no entries of q and v.")
    assert lines == [
        f"  joint {i}, {joint.kind}: {words['q']}"
        for i, (joint, words) in enumerate(
            zip(mechanism.joints, coordinates.entries(mechanism), strict=True)
        )
    ]
    assert leader.startswith("tau of a leader includes the forces of its followers")
    assert coordinates.mentioned(mechanism, [])["coupled"] is True


# -- drives --------------------------------------------------------------------------------------


def driven(*of_joints: Drive, kinds: tuple[str, ...] = ("revolute", "prismatic")) -> Mechanism:
    plain = robot(*kinds)
    joints = (replace(j, drive=d) for j, d in zip(plain.joints, of_joints, strict=True))
    return replace(plain, joints=tuple(joints), friction_speed=Fraction(1, 50))


NONE = Drive()
SPRING = Drive(stiffness=Fraction(5, 2), rest=Fraction(-1, 8))
FRICTION = Drive(friction=Fraction(3, 10), armature=Fraction(1, 4))
COMPENSATED = replace(
    PLAIN,
    bodies=(
        Body("link0", (Part("link0", (), Fraction(1), gravcomp=Fraction(1, 2)),)),
        PLAIN.bodies[1],
    ),
)


def test_a_robot_without_drives_has_no_words_about_them() -> None:
    assert drives.applied(PLAIN) == frozenset()
    assert drives.forces(PLAIN) == ""
    assert drives.of_header(PLAIN) == ()
    assert drives.friction_speed(PLAIN) == drives.gravity_compensation(PLAIN) == {}
    assert drives.of_joint(PLAIN.joints[0]) == {}
    assert drives.of_readme(PLAIN) == {"drives": [], "friction_speed": "", "compensated": []}


def test_terms_of_the_bias_force_are_those_of_the_drives() -> None:
    assert drives.forces(driven(NONE, SPRING)) == " + stiffness (q - rest)"
    assert drives.forces(driven(SPRING, FRICTION)) == (
        " + friction v/sqrt(v^2 + e^2) + stiffness (q - rest)"
    )
    assert drives.forces(driven(Drive(damping=Fraction(1)), NONE)) == " + damping v"
    assert drives.forces(driven(Drive(armature=Fraction(1)), NONE)) == ""
    assert drives.forces(COMPENSATED) == " - compensated weight"
    assert drives.applied(driven(SPRING, FRICTION)) == {"stiffness", "friction", "armature"}


def test_run_time_parameters_of_a_joint_count_as_drives() -> None:
    mechanism = driven(NONE, NONE)
    assert drives.applied(mechanism, ["joint1.damping"]) == {"damping"}
    assert drives.applied(mechanism, ["joint1.rest"]) == {"stiffness"}
    assert drives.applied(mechanism, ["link0.mass"]) == frozenset()
    assert drives.forces(mechanism, ["joint1.rest"]) == " + stiffness (q - rest)"
    assert drives.friction_speed(mechanism, ["joint0.friction"]) == {"friction_speed": 0.02}
    (row,) = drives.of_readme(mechanism, ["joint1.damping"])["drives"]
    assert row["index"] == 1
    assert drives.of_readme(mechanism, ["link0.mass"])["drives"] == []


def test_the_manifest_has_the_nonzero_numbers_of_a_drive() -> None:
    mechanism = driven(FRICTION, SPRING)
    assert drives.of_joint(mechanism.joints[0]) == {"drive": {"armature": 0.25, "friction": 0.3}}
    assert drives.of_joint(mechanism.joints[1]) == {"drive": {"stiffness": 2.5, "rest": -0.125}}
    assert drives.friction_speed(mechanism) == {"friction_speed": 0.02}
    assert drives.friction_speed(driven(NONE, SPRING)) == {}
    several = Drive.of_velocities(
        {"damping": [Fraction(1), Fraction(2)], "armature": [Fraction(3), Fraction(3)]}
    )
    assert drives.numbers(several) == {"armature": 3.0, "damping": [1.0, 2.0]}


def test_the_header_says_what_the_drives_change() -> None:
    note = "g, C, U, Y, forces between bodies and momenta do not include drives."
    assert drives.of_header(driven(Drive(armature=Fraction(1)), NONE)) == (
        "Drives are modelled: M includes the armature on its diagonal.",
        note,
    )
    assert drives.of_header(driven(NONE, SPRING)) == (
        "Drives are modelled: tau and c include",
        "  stiffness (q - rest)",
        f"of each joint. {note}",
    )
    assert drives.of_header(driven(FRICTION, SPRING)) == (
        "Drives are modelled: M includes the armature on its diagonal, and tau and c include",
        "  friction v/sqrt(v^2 + e^2) + stiffness (q - rest); e = 0.02",
        f"of each joint. {note}",
    )
    first, second = drives.of_header(COMPENSATED)
    assert first.startswith("Part of the weight of some links is compensated (gravcomp).")
    assert second.endswith("include the whole weight.")


def test_the_readme_has_a_row_for_each_drive_and_each_compensated_link() -> None:
    facts = drives.of_readme(driven(NONE, FRICTION))
    assert facts["drives"] == [
        {
            "index": 1,
            "armature": "0.25",
            "damping": "0",
            "friction": "0.3",
            "stiffness": "0",
            "rest": "0",
        }
    ]
    assert facts["friction_speed"] == "0.02"
    assert drives.of_readme(driven(NONE, SPRING))["friction_speed"] == ""
    several = Drive.of_velocities({"damping": [Fraction(1), Fraction(2)]})
    (row,) = drives.of_readme(driven(several, kinds=("cylindrical",)))["drives"]
    assert (row["damping"], row["friction"]) == ("1, 2", "0")
    assert drives.of_readme(COMPENSATED)["compensated"] == [{"link": "`link0`", "gravcomp": "0.5"}]
    assert drives.gravity_compensation(COMPENSATED) == {
        "gravcomp": [{"link": "link0", "fraction": 0.5}]
    }
