"""Values of inputs by their names: joints, coordinates, rates, quaternions and their units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from symgen.description.loading import load
from symgen.inspection.at import parse_values, quaternions, values_from_mapping
from symgen.inspection.coordinates import angle_indices, coordinate_notes, quaternion_indices
from symgen.inspection.request import (
    check_index_count,
    find_entry,
    has_several_coordinates,
    parse_frame,
    parse_index,
    parse_joint,
    parse_request,
    parse_task_row,
    parse_velocity,
    refuse_several,
)
from symgen.mechanism.mechanism import Mechanism, Mimic
from symgen.support.errors import ArgumentError, RequestError, SymgenError, UnknownName
from symgen.vocabulary.arrays import TASK_ROWS
from symgen.vocabulary.poses import Angle
from tests.shared.bars import chain_of_bars


@cache
def bars() -> Mechanism:
    return chain_of_bars(3).build()


@cache
def mixed() -> Mechanism:
    """Return a ball joint, a slide and a hinge: q has x y z w, a length and an angle."""
    ball, slide, hinge = bars().joints
    return replace(
        bars(),
        joints=(replace(ball, kind="spherical"), replace(slide, kind="prismatic"), hinge),
    )


NAMES = tuple(joint.name for joint in bars().joints)
UNIT = "q0=0.5,q1=-0.5,q2=0.5,q3=0.5"


def test_values_are_given_by_number_or_by_name() -> None:
    values = parse_values(bars(), f" q0 = pi/2 , {NAMES[2]}=0.25, v1=-2, a2=3, tau0=1, b1=4")
    assert values == {
        ("q", 0): Angle(pi=Fraction(1, 2)),
        ("q", 2): Angle(Fraction(1, 4)),
        ("v", 1): Angle(Fraction(-2)),
        ("a", 2): Angle(Fraction(3)),
        ("tau", 0): Angle(Fraction(1)),
        ("b", 1): Angle(Fraction(4)),
    }
    assert parse_values(bars(), f"q1=0.5,{NAMES[1]}=0.5") == {("q", 1): Angle(Fraction(1, 2))}
    mapping: dict[str, str | int | float | Fraction] = {
        "q0": "pi/2",
        "v1": 0.1,
        "a0": 2,
        "q2": Fraction(1, 3),
    }
    assert values_from_mapping(bars(), mapping) == {
        ("q", 0): Angle(pi=Fraction(1, 2)),
        ("v", 1): Angle(Fraction(1, 10)),
        ("a", 0): Angle(Fraction(2)),
        ("q", 2): Angle(Fraction(1, 3)),
    }
    assert values_from_mapping(bars(), {}) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q0", "'q0' is not an assignment; write --at q0=pi/2"),
        ("=1", "'=1' is not an assignment"),
        ("q0=", "'q0=' is not an assignment"),
        ("q0=1,", "'' is not an assignment"),
        (f"q1=1,{NAMES[1]}=2", "is given two values; give it once"),
        ("q3=1", "'q3' is outside this robot's joints; they count from 0 to 2$"),
        ("v3=1", "'v3' is outside this robot's joints; they count from 0 to 2$"),
        ("elbow=1", "no joint is named 'elbow'"),
    ],
)
def test_a_value_that_is_not_one_is_refused(text: str, message: str) -> None:
    with pytest.raises(SymgenError, match=message):
        parse_values(bars(), text)


def test_lengths_are_no_multiples_of_pi() -> None:
    slides = parse_values(mixed(), "q4=1/8,q5=pi/4")
    assert slides == {("q", 4): Angle(Fraction(1, 8)), ("q", 5): Angle(pi=Fraction(1, 4))}
    for text in ("q4=pi", "q0=pi"):
        with pytest.raises(SymgenError):
            parse_values(mixed(), text)


def test_entries_of_joints_with_several_coordinates_have_names() -> None:
    ball = NAMES[0]
    values = parse_values(mixed(), f"{ball}.x=0.6,{ball}.w=0.8,{ball}.y=0,{ball}.z=0")
    assert values[("q", 0)] == Angle(Fraction(3, 5))
    assert values[("q", 3)] == Angle(Fraction(4, 5))
    with pytest.raises(ArgumentError, match=f"joint '{ball}' has 4 coordinates; name one of them"):
        parse_values(mixed(), f"{ball}=1")
    with pytest.raises(UnknownName, match=r"robot's coordinates; they count from 0 to 5$"):
        parse_values(mixed(), "q6=1")
    assert len(mixed().velocity_names) == 5
    with pytest.raises(UnknownName, match=r"robot's velocities; .* from 0 to 4 \(NV = 5; q alone"):
        parse_values(mixed(), "v5=1")
    with pytest.raises(UnknownName, match=r"robot's velocities; they count from 0 to 4$"):
        parse_values(mixed(), "v6=1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q0=0,q1=0,q2=0,q3=0", "q0 … q3 are a quaternion x y z w, and four zeros are not"),
        ("q0=0.5,q1=0.5,q2=0.5,q3=0.51", "its length is not 1; give a unit quaternion"),
        ("q0=0.5,q1=0.5,q2=0.5,q3=0.49", "its length is not 1"),
        ("q0=0.9,q1=0.5", "its length is not 1"),
    ],
)
def test_a_quaternion_has_the_length_one(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parse_values(mixed(), text)


def test_a_quaternion_of_four_digits_or_a_part_of_one_is_accepted() -> None:
    assert len(parse_values(mixed(), UNIT)) == 4
    assert len(parse_values(mixed(), "q0=0.7071,q1=0,q2=0,q3=0.7071")) == 4
    assert len(parse_values(mixed(), "q0=0.5,q1=0.5")) == 2
    assert parse_values(mixed(), "q0=0") == {("q", 0): Angle()}


# -- coordinates -----------------------------------------------------------------------------------


def test_angles_and_quaternions_are_found_in_q() -> None:
    assert angle_indices(mixed()) == [5]
    assert angle_indices(bars()) == [0, 1, 2]
    assert quaternion_indices(mixed()) == [(0, 1, 2, 3)]
    assert quaternions(mixed()) == [0]
    assert quaternion_indices(bars()) == []
    kinds = ("prismatic", "revolute", "spherical")
    joints = tuple(
        replace(joint, kind=kind) for joint, kind in zip(bars().joints, kinds, strict=True)
    )
    last = replace(bars(), joints=joints)
    assert quaternion_indices(last) == [(2, 3, 4, 5)]
    assert quaternions(last) == [2]
    assert angle_indices(last) == [1]
    floating = replace(
        bars(), joints=(replace(joints[0], kind="free"), *joints[1:2], bars().joints[2])
    )
    assert quaternion_indices(floating) == [(3, 4, 5, 6)]  # after the position
    assert quaternions(floating) == [3]


def test_notes_name_the_coordinates_that_are_shown() -> None:
    assert coordinate_notes(bars(), frozenset({0})) == []
    slide, hinge = (f"q{i} is {mixed().coordinate_names[i]}" for i in (4, 5))
    assert coordinate_notes(mixed(), frozenset({5, 4})) == [
        f"coordinates count from 0: {slide}, {hinge}"
    ]
    assert coordinate_notes(mixed(), frozenset()) == []
    of_ball = coordinate_notes(mixed(), frozenset({3}))
    assert of_ball[1] == (
        "q0, q1, q2, q3 are a unit quaternion; q3**2 is written as 1 - q0**2 - q1**2 - q2**2"
    )
    equations = coordinate_notes(mixed(), frozenset({3}), is_canonical=False)
    assert equations[1] == "q0, q1, q2, q3 are a unit quaternion"


# -- indices ---------------------------------------------------------------------------------------


def test_a_request_has_a_letter_indices_and_a_position() -> None:
    words = parse_request(' P["a, b", 2 ][0,-1] ')
    assert words is not None
    assert (words.letter, words.indices, words.position) == ("P", ("a, b", "2"), ("0", "-1"))
    assert words.what == 'P["a, b", 2 ][0,-1]'
    quoted = parse_request('M["say ""no""",1]')
    assert quoted is not None
    assert quoted.indices == ('say "no"', "1")
    plain = parse_request("tau")
    assert plain is not None
    assert plain.indices is None
    assert plain.position is None
    for text in ("", "1", "M[", "M]", "M[0]]", "M[0][1][2]", "M N"):
        assert parse_request(text) is None
    two = parse_request("M[0,1]")
    assert two is not None
    check_index_count(two, ("0", "1"), 2)
    with pytest.raises(ArgumentError, match=r"'M\[0,1\]' has 2 indices, M takes 1"):
        check_index_count(two, ("0", "1"), 1)


def test_an_index_is_a_number_or_a_name() -> None:
    assert [parse_joint(bars(), text) for text in ("0", "2", NAMES[1])] == [0, 2, 1]
    for text in ("3", "-1"):
        with pytest.raises(
            UnknownName, match="outside this robot's joints; they count from 0 to 2"
        ):
            parse_joint(bars(), text)
        with pytest.raises(
            UnknownName, match="outside this robot's joints; they count from 0 to 2"
        ):
            parse_velocity(bars(), text)
    assert [parse_velocity(bars(), text) for text in ("2", NAMES[1])] == [2, 1]
    assert parse_velocity(mixed(), f"{NAMES[0]}.wy") == 1
    assert parse_velocity(mixed(), NAMES[1]) == 3
    with pytest.raises(UnknownName, match=r"outside this robot's velocities; .* from 0 to 4"):
        parse_velocity(mixed(), "5")
    with pytest.raises(ArgumentError, match="has 3 velocities; name one of them"):
        parse_velocity(mixed(), NAMES[0])
    with pytest.raises(UnknownName, match="no velocity is named 'nothing'"):
        parse_velocity(mixed(), "nothing")
    with pytest.raises(UnknownName, match="no coordinate is named 'nothing'"):
        find_entry(mixed(), "nothing", mixed().coordinate_names, "coordinates")
    with pytest.raises(UnknownName, match="no joint is named 'nothing'"):
        find_entry(bars(), "nothing", bars().coordinate_names, "coordinates")


def test_a_joint_that_mimics_another_is_no_index() -> None:
    """The other joints are found by their names, also beside one with several coordinates."""
    robot = load("planar_arm")
    leader, follower = robot.joints
    coupled = replace(
        robot,
        joints=(leader, replace(follower, mimic=Mimic(leader.name, Fraction(2), Fraction(0)))),
        coupled=True,
    )
    assert find_entry(coupled, leader.name, coupled.coordinate_names, "coordinates") == 0
    message = f"joint '{follower.name}' mimics '{leader.name}' and has no coordinates of its own"
    with pytest.raises(ArgumentError, match=message):
        find_entry(coupled, follower.name, coupled.coordinate_names, "coordinates")


def test_frames_task_rows_and_rows_of_a_block_are_counted() -> None:
    frames = ("elbow", "tip")
    assert [parse_frame(frames, text) for text in ("0", "1", "tip")] == [0, 1, 1]
    with pytest.raises(UnknownName, match="outside this robot's frames; they count from 0 to 1"):
        parse_frame(frames, "2")
    with pytest.raises(UnknownName, match="no frame is named 'hand'"):
        parse_frame(frames, "hand")
    for at, row in enumerate((5, 3)):  # counted among the requested ones
        assert parse_task_row((5, 3), str(at)) == parse_task_row((5, 3), TASK_ROWS[row]) == at
    with pytest.raises(UnknownName, match=r"outside this robot's rows of the task; .* from 0 to 1"):
        parse_task_row((5, 3), "2")
    assert parse_index("5", 6, "the block") == 5
    for text in ("6", "-1", "x"):
        with pytest.raises(UnknownName, match="outside the block, which counts from 0 to 5"):
            parse_index(text, 6, "the block")


def test_joints_of_several_coordinates_are_refused_by_name() -> None:
    assert not has_several_coordinates(bars())
    assert has_several_coordinates(mixed())
    refuse_several(bars(), "a form", "take another")
    message = f"a form needs joints of one coordinate, and joint '{NAMES[0]}' of 'bars' has 4; take"
    with pytest.raises(RequestError, match=message):
        refuse_several(mixed(), "a form", "take another")
