"""Report of the assembly of closed loops, as facts and as sentences."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import assembly_report, loop_closure
from symgen.pipeline.loop_closure import assembly
from symgen.support.errors import ArgumentError, OutOfReach

BALL = """
name = "ball"
start = { neck = [0, 0, 0, 1] }
[base]
name = "ground"
[[body]]
name = "head"
parent = "ground"
joint = { name = "neck", type = "spherical" }
mass = 1
inertia = { xx = 0.1, yy = 0.2, zz = 0.25 }
[[loop]]
name = "string"
type = "distance"
distance = 0.6
first = { link = "ground", xyz = [0.3, 0, 0] }
second = { link = "head", xyz = [0, 0.1, -0.5] }
"""
IDLE = ["force along z", "moment about x", "moment about y"]
"""Forces of a hinge that no motion in a plane violates."""


def four_bar(copies: int = 1, **options: str) -> Mechanism:
    """Return a four-bar whose loop is closed by so many equal hinges."""
    robot = symgen.load("four_bar", **options)
    names = ("closing", "again")[:copies]
    return replace(robot, loops=tuple(replace(robot.loops[0], name=name) for name in names))


# -- facts -----------------------------------------------------------------------------------------


def test_facts_of_a_planar_loop_count_its_rows_and_freedoms() -> None:
    """A hinge in a plane has two rows, which leave one of three velocities free."""
    data = assembly_report.facts(four_bar())
    assert (data["mobility"], data["rows"], data["redundant"]) == (1, 2, 0)
    assert data["idle"] == {"closing": IDLE}
    assert not {"independent", "actuated", "refused"} & {*data}


def test_a_repeated_closure_is_redundant() -> None:
    data = assembly_report.facts(four_bar(2))
    assert (data["mobility"], data["rows"], data["redundant"]) == (1, 4, 2)
    assert data["idle"] == {"closing": IDLE, "again": IDLE}


def test_the_assembled_pose_is_rounded_and_closes_the_loop() -> None:
    data = assembly_report.facts(four_bar())
    pose = data["assembled"]
    assert [*pose] == ["crank_joint", "coupler_joint", "rocker_joint"]
    assert all(x == round(x, 6) for values in pose.values() for x in values)
    exact = assembly(four_bar()).q
    assert [x for values in pose.values() for x in values] == pytest.approx(exact, abs=5e-7)
    assert 0 < data["open_by"] == float(f"{assembly(four_bar()).start:.2g}")


def test_a_distance_is_open_by_half_the_difference_of_squares() -> None:
    """The ends of the string are (0.3, -0.1, 0.5) apart, which makes (0.6² - 0.35)/2 = 0.005."""
    data = assembly_report.facts(symgen.load(BALL))
    assert data["open_by"] == 0.005
    assert data["idle"] == {}
    assert len(data["assembled"]["neck"]) == 4
    assert (data["mobility"], data["rows"], data["redundant"]) == (2, 1, 0)


def test_zero_has_no_sign_in_a_pose() -> None:
    values = assembly_report.facts(symgen.load(BALL))["assembled"]["neck"]
    assert not any(str(x).startswith("-0.0") and x == 0 for x in values)


def test_declared_velocities_are_facts() -> None:
    declared = four_bar(actuated="crank_joint,rocker_joint", independent="rocker_joint")
    data = assembly_report.facts(declared)
    assert data["independent"] == ["rocker_joint"]
    assert data["actuated"] == ["crank_joint", "rocker_joint"]
    actuated = assembly_report.facts(four_bar(actuated="crank_joint"))
    assert actuated["actuated"] == ["crank_joint"]
    assert "independent" not in actuated
    independent = assembly_report.facts(four_bar(independent="coupler_joint"))
    assert independent["independent"] == ["coupler_joint"]
    assert "actuated" not in independent


def test_independent_velocities_are_those_that_are_not_eliminated() -> None:
    for options, entries in (({}, [0]), ({"independent": "rocker_joint"}, [2])):
        robot = four_bar(**options)
        assert assembly_report.independent_entries(robot, assembly(robot)) == entries


# -- sentences -------------------------------------------------------------------------------------


def test_a_robot_without_loops_has_no_sentence() -> None:
    assert assembly_report.sentences(symgen.load("planar_arm")) == []


def test_sentences_state_the_pose_the_rows_and_those_left_out() -> None:
    closes, counts, idle = assembly_report.sentences(four_bar())
    crank = assembly(four_bar()).q[0]
    assert closes.startswith(f"the loops close at crank_joint {crank:.6f}, coupler_joint ")
    assert " (rad, m); the declared start is open by " in closes
    assert closes.endswith(" m or rad")
    assert counts == "3 velocities minus 2 constrained by the loops leave 1 free; A has 2 rows"
    assert idle == (
        "loop closing: no motion violates its force along z, moment about x and moment "
        "about y; A omits these rows"
    )


def test_sentences_of_redundant_rows_say_that_forces_are_not_unique() -> None:
    _, counts, *idle = assembly_report.sentences(four_bar(2))
    assert counts == (
        "3 velocities minus 2 constrained by the loops leave 1 free; A has 4 rows, 2 of "
        "them redundant: "
        "the constraint forces are not unique; the forces of least norm are computed"
    )
    assert [line.partition(":")[0] for line in idle] == ["loop closing", "loop again"]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"independent": "rocker_joint"}, ["independent: rocker_joint"]),
        ({"actuated": "rocker_joint"}, ["actuated: rocker_joint"]),
        (
            {"actuated": "crank_joint,rocker_joint", "independent": "crank_joint"},
            [
                "independent: crank_joint",
                "actuated: crank_joint, rocker_joint; there are more actuated joints than "
                "degrees of freedom; "
                "tau_independent has the forces with the least sum of squares",
            ],
        ),
    ],
)
def test_sentences_list_declared_velocities(options: dict[str, str], lines: list[str]) -> None:
    assert assembly_report.sentences(four_bar(**options))[3:] == lines


def test_more_actuated_joints_than_freedoms_share_the_load() -> None:
    assert assembly_report.shared(four_bar(actuated="crank_joint,rocker_joint"))
    assert not assembly_report.shared(four_bar(actuated="rocker_joint"))
    assert not assembly_report.shared(four_bar())


def test_loops_that_cannot_be_closed_have_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(mechanism: Mechanism) -> None:
        raise OutOfReach(f"the loops of '{mechanism.name}' cannot be closed")

    monkeypatch.setattr(loop_closure, "assembly", refuse)
    sentence = "the loops of 'four_bar' cannot be closed"
    assert assembly_report.sentences(four_bar()) == [sentence]
    assert assembly_report.facts(four_bar()) == {"refused": sentence}


def test_the_meaning_of_rows_names_loop_force_and_unit() -> None:
    hinge = (
        "rows of A, C and lambda, in the axes of each loop's first frame: closing force "
        "along x (N); "
        "closing force along y (N). Independent: crank_joint"
    )
    assert assembly_report.rows(four_bar()) == hinge
    assert assembly_report.rows(four_bar(actuated="rocker_joint")) == (
        f"{hinge}. Actuated: rocker_joint"
    )


def test_words_are_listed_with_commas_and_a_last_and() -> None:
    assert assembly_report._listed(["a"]) == "a"
    assert assembly_report._listed(["a", "b"]) == "a and b"
    assert assembly_report._listed(["a", "b", "c"]) == "a, b and c"


# -- positions -------------------------------------------------------------------------------------


def test_a_start_has_unit_quaternions() -> None:
    """A length that differs from 1 by 1e-6 is a rounded one."""
    ball = symgen.load(BALL)
    half = 0.1
    positions = symgen.assemble(ball, [sin(half), 0, 0, cos(half)])
    assert sum(x * x for x in positions["neck"]) == pytest.approx(1, abs=1e-30)
    symgen.assemble(ball, [0, 0, 0, 1 + 0.9e-6])
    for length in (1 + 1.1e-6, 1 - 1.1e-6, 2):
        with pytest.raises(
            ArgumentError,
            match=r"q\[0\] to q\[3\] are a quaternion of length [\d.]+; scale it to length 1",
        ):
            symgen.assemble(ball, [0, 0, 0, length])


def test_only_the_elements_of_a_quaternion_need_unit_length() -> None:
    ball = symgen.load(BALL)
    rail = replace(ball.joints[0], name="rail", kind="prismatic")
    chain = replace(
        ball,
        joints=(rail, replace(ball.joints[0], parent=0)),
        bodies=(replace(ball.bodies[0], name="slide", parts=()), ball.bodies[0]),
    )
    assembly_report._refuse_no_position(chain, [7.0, 0, 0, 0, 1])
    with pytest.raises(ArgumentError, match=r"q\[1\] to q\[4\] are a quaternion of length 7;"):
        assembly_report._refuse_no_position(chain, [1.0, 0, 0, 0, 7])
    with pytest.raises(ArgumentError, match="infinite"):
        assembly_report._refuse_no_position(chain, [float("inf"), 0, 0, 0, 1])
