"""Warnings of a reading: which notes are shown without a request, and with which remedies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.description.announcing import announce, unapplied_drives
from symgen.description.quantities import Location
from symgen.description.snapping import DEFAULT_TOLERANCE, Snapper
from symgen.description.tree import Tree
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Note
from symgen.mechanism.notes import KINDS, LOUD
from symgen.support.errors import collected

DAMPED = Joint("j", "revolute", BASE, unapplied=(("damping", Fraction(1)), ("gear", Fraction(2))))
ROBOT = Mechanism("r", (DAMPED,), (Body("a"),), (Frame("base", BASE), Frame("a", 0)))
TREE = Tree("r", (), ())


def announced(
    notes: list[Note],
    tree: Tree = TREE,
    snapper: Snapper | None = None,
    mimic: bool = False,
    drives: bool = False,
) -> list[tuple[str, str]]:
    """Return (kind, text) of each warning for a robot with these notes."""
    robot = replace(ROBOT, notes=tuple(notes))
    with collected() as warnings:
        announce(robot, tree, Snapper() if snapper is None else snapper, mimic, drives)
    return [(warning.kind, str(warning)) for warning in warnings]


NOTES = [Note(kind, f"a {kind} is read") for kind in KINDS]
REMEDIES = {
    "snap": "; snap='off' reads rotations as written",
    "mimic": "; mimic='couple' lets them follow",
    "unapplied": "; drives='on' applies damping",
}
SHOWN = [(kind, f"a {kind} is read{REMEDIES.get(kind, '')}") for kind in LOUD]


def test_loud_notes_are_shown_with_their_remedies() -> None:
    assert announced(NOTES) == SHOWN
    assert announced([note for note in NOTES if note.kind not in LOUD]) == []


@pytest.mark.parametrize(
    ("decision", "tree", "snapper", "silent"),
    [
        ({}, TREE, Snapper(DEFAULT_TOLERANCE, chosen=True), {"snap"}),
        ({"mimic": True}, TREE, Snapper(), {"mimic"}),
        ({}, replace(TREE, mimic="couple"), Snapper(), {"mimic"}),
        ({"drives": True}, TREE, Snapper(), {"unapplied"}),
        ({}, replace(TREE, names_unapplied=True), Snapper(), {"unapplied"}),
        ({}, replace(TREE, read_before=True), Snapper(), {"snap", "mimic", "unapplied"}),
    ],
)
def test_no_warning_repeats_what_the_user_or_the_description_decided(
    decision: dict[str, bool], tree: Tree, snapper: Snapper, silent: set[str]
) -> None:
    expected = [(kind, text) for kind, text in SHOWN if kind not in silent]
    assert announced(NOTES, tree, snapper, **decision) == expected


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("1.5707963267948966", False),  # π/2 in a double, 6.1e-17 away
        ("1.570796326794897", False),  # 3.8e-16 away; doubles near π are 4.4e-16 apart
        ("1.570796326794896", True),  # 6.2e-16 away
        ("1.5707963267949", True),
    ],
)
def test_a_snap_within_the_precision_of_doubles_is_not_shown(token: str, shown: bool) -> None:
    snapper = Snapper()
    snapper.angle(token, Location("r.urdf", 3, "joint 'a'"))
    (snap,) = snapper.snaps
    texts = [text for _, text in announced([Note("snap", snap.text)], snapper=snapper)]
    assert texts == ([f"{snap.text}; snap='off' reads rotations as written"] if shown else [])


def test_drives_that_are_off_are_named_by_their_kinds() -> None:
    numbers = [
        (("rotor inertia", "gear ratio"), "armature"),
        (("friction", "damping", "armature"), "armature, damping, friction"),
        (("stiffness",), ""),
        ((), ""),
    ]
    for names, kinds in numbers:
        unapplied = tuple((name, Fraction(1)) for name in names)
        robot = replace(ROBOT, joints=(replace(DAMPED, unapplied=unapplied),))
        assert unapplied_drives(robot) == kinds
    robot = replace(ROBOT, joints=(replace(DAMPED, unapplied=()),))
    robot = replace(robot, notes=(Note("unapplied", "a number"),))
    with collected() as warnings:
        announce(robot, TREE, Snapper(), mimic=False, drives=False)
    assert [str(warning) for warning in warnings] == ["a number"]
