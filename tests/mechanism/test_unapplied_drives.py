"""Parameters of drives that a description declares but that are not applied."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.description.loading import load
from symgen.mechanism.adjustable import adjustable_parameters
from symgen.support.errors import ArgumentError

BODY = (
    '[[body]]\nname = "{name}"\nparent = "{parent}"\nmass = 1{gravcomp}\n'
    'joint = {{ name = "{joint}", type = "revolute", axis = [0, 0, 1]{drive} }}\n'
)


def robot(first: str = "", second: str = "", gravcomp: str = "", **options: Any) -> Any:
    """Return two links a and b, behind the joints j and k with these drives."""
    text = BODY.format(name="a", parent="base", joint="j", drive=first, gravcomp=gravcomp)
    text += BODY.format(name="b", parent="a", joint="k", drive=second, gravcomp="")
    return load(text, **options)


def refusal(mechanism: Any, *names: str) -> str:
    with pytest.raises(ArgumentError) as caught:
        adjustable_parameters(mechanism, names)
    return str(caught.value)


def test_the_first_parameter_whose_declared_drive_is_off_is_refused() -> None:
    drives = (", damping = 1.5", ", stiffness = 2, rest = 0.5")
    off = robot(*drives, drives="off")
    message = (
        "parameter '{}': joint '{}' declares {}, which is not applied; read the robot with "
        "--drives {} (drives='{}' in Python), or remove this parameter"
    )
    damping, stiffness, both = "damping", "stiffness", "damping,stiffness"
    for names, expected in (
        (("j.damping",), ("j.damping", "j", "damping = 1.5", damping, damping)),
        (("k.stiffness",), ("k.stiffness", "k", "stiffness = 2", stiffness, stiffness)),
        (("k.rest",), ("k.rest", "k", "stiffness = 2", stiffness, stiffness)),
        (("k.stiffness", "j.damping"), ("j.damping", "j", "damping = 1.5", both, both)),
    ):
        assert refusal(off, *names) == message.format(*expected)
    on = robot(*drives, drives="on")
    names = [parameter.name for parameter in adjustable_parameters(on, ["k", "j.damping"])]
    assert names[0] == "j.damping"
    # a drive that is not declared starts from zero
    (armature,) = adjustable_parameters(off, ["j.armature"])
    assert (armature.kind, armature.joint, armature.size) == ("armature", "j", 1)


def test_the_remedy_keeps_the_drives_that_are_applied() -> None:
    mechanism = robot(
        ", damping = 1", ", armature = 2", gravcomp="\ngravcomp = 0.5", drives="armature,gravcomp"
    )
    assert "read the robot with --drives armature,damping,gravcomp (drives=" in refusal(
        mechanism, "j.damping"
    )


def test_a_number_that_is_declared_as_unapplied_must_be_declared_as_a_drive() -> None:
    mechanism = robot(", unapplied = { damping = 3 }")
    assert (
        refusal(mechanism, "j.damping")
        == "parameter 'j.damping': joint 'j' declares damping = 3, which is not applied; declare it"
        " as the joint's damping, not as unapplied, or remove this parameter"
    )
    assert len(adjustable_parameters(mechanism, ["j.friction", "k.damping"])) == 2
