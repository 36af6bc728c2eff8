"""Omissions: what the description declares, or the request names, and the C leaves out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.delivery.omissions import MISSING, missing_words, omissions
from symgen.mechanism.mechanism import Limits, Mechanism, Mimic, Note, Part
from tests.shared.folders import mechanism


def changed(**of_joint: list[Any]) -> Mechanism:
    """Return the arm of two joints with other fields of its joints."""
    joints = mechanism().joints
    for name, values in of_joint.items():
        joints = tuple(
            replace(joint, **{name: value}) for joint, value in zip(joints, values, strict=True)
        )
    return replace(mechanism(), joints=joints)


FIXED = {"kind": "fixed base", "text": "the base base is fixed in the world"}


def test_a_plain_robot_lacks_a_base_that_moves() -> None:
    assert omissions(mechanism()) == [FIXED]
    carried = replace(
        mechanism(),
        base_parts=(Part("table", (), Fraction(3, 2)), Part("box", (), Fraction(1))),
    )
    assert omissions(carried) == [
        FIXED | {"text": f"{FIXED['text']}, and the 2.5 kg that are fixed to it have no effect"}
    ]


def test_numbers_that_are_not_applied_are_listed_by_kind() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    robot = changed(
        unapplied=[(("damping", half), ("friction", third)), (("damping", Fraction(2)),)]
    )
    damping, friction, _ = omissions(robot)
    assert damping == {
        "kind": "damping",
        "text": "damping is declared and not applied: shoulder 0.5, elbow 2",
        "joints": {"shoulder": 0.5, "elbow": 2.0},
    }
    assert friction["joints"] == {"shoulder": float(third)}


def test_mimic_joints_that_move_by_themselves_are_listed() -> None:
    robot = changed(mimic=[None, Mimic("shoulder", Fraction(-1, 2), Fraction(1, 4))])
    mimic, _ = omissions(robot)
    assert mimic == {
        "kind": "mimic",
        "text": "mimic joints are modelled as independent joints: elbow = -0.5 shoulder + 0.25",
        "joints": {"elbow": {"joint": "shoulder", "multiplier": -0.5, "offset": 0.25}},
    }
    assert omissions(replace(robot, coupled=True)) == [FIXED]


def test_declared_limits_are_counted() -> None:
    limits = Limits(lower=Fraction(0), effort=Fraction(7))
    _, entry = omissions(changed(limits=[Limits(), limits]))
    assert entry == {
        "kind": "limits",
        "text": "limits of position, velocity and effort are declared for 1 of 2 joints and not "
        "enforced",
        "joints": {"elbow": {"lower": 0.0, "effort": 7.0}},
    }
    robot = changed(
        limits=[limits, limits], mimic=[None, Mimic("shoulder", Fraction(1), Fraction(0))]
    )
    (_, entry) = omissions(replace(robot, coupled=True))
    assert "for 2 of 2 joints" in entry["text"]


def test_some_notes_of_the_reading_are_omissions() -> None:
    notes = tuple(Note(kind, f"{kind}!") for kind in ("lock", "warning", "unit", "snap"))
    entries = omissions(replace(mechanism(), notes=notes))
    assert [(entry["kind"], entry["text"]) for entry in entries[1:]] == [
        ("locked", "lock!"),
        ("warning", "warning!"),
        ("snapped", "snap!"),
    ]


def test_functions_that_are_left_out_are_listed_by_reason() -> None:
    left_out = {
        "first": "not requested",
        "second": "second divides by zero",
        "third": "not requested",
        "fourth": "fourth divides by zero",
        "fifth": "fifth is too long",
    }
    missing = {"sixth=riccati": "it has too many rows"}
    entries = omissions(mechanism(), left_out, missing)[1:]
    assert entries == [
        {"kind": MISSING, "text": "it has too many rows", "functions": ["sixth=riccati"]},
        {
            "kind": "functions",
            "text": "first, third: not requested",
            "functions": ["first", "third"],
        },
        {
            "kind": "functions",
            "text": "second divides by zero; likewise fourth",
            "functions": ["second", "fourth"],
        },
        {"kind": "functions", "text": "fifth is too long", "functions": ["fifth"]},
    ]
    assert missing_words(entries) == ["sixth=riccati"]


@pytest.mark.parametrize(
    "recorded",
    [
        None,
        "missing",
        ["missing"],
        [{"kind": MISSING}],
        [{"kind": MISSING, "functions": "M"}],
        [{"kind": "functions", "functions": ["M"]}],
    ],
)
def test_a_list_of_another_form_has_no_missing_functions(recorded: object) -> None:
    assert missing_words(recorded) == []
    assert missing_words([{"kind": MISSING, "functions": ["M", 3]}]) == ["M", "3"]
