"""Names of robots as identifiers of C."""

from __future__ import annotations

import pytest

from symgen.vocabulary.identifiers import LONGEST, identifier, name_fault, renaming_note

VALID = ["arm", "Arm2", "a_b", "x", "mass_matrix", "n" * 100]
FAULTS = {
    "": ("is empty", "robot"),
    "my-arm v2": ("has characters other than letters", "my_arm_v2"),
    "Ärmchen": ("has characters other than letters", "rmchen"),
    "7axes": ("begins with a digit", "robot_7axes"),
    "_arm": ("begins or ends with an underscore", "arm"),
    "arm_": ("begins or ends with an underscore", "arm"),
    "a__b": ("begins or ends with an underscore, or has two in a row", "a_b"),
    "___": ("begins or ends with an underscore", "robot"),
    "while": ("is a keyword of C or C++", "while_robot"),
    "class": ("is a keyword of C or C++", "class_robot"),
    "linux": ("is a macro or a function", "linux_robot"),
    "sinf": ("is a macro or a function", "sinf_robot"),
    "read": ("is a macro or a function", "read_robot"),
    "Math": ("is the name of a header or a library", "Math_robot"),
    "all": ("is the name of a header or a library", "all_robot"),
    "n" * 101: ("is longer than 100 characters", "n" * 100),
}


@pytest.mark.parametrize("name", VALID)
def test_a_valid_name_is_unchanged(name: str) -> None:
    assert (identifier(name), name_fault(name), renaming_note(name)) == (name, "", "")


@pytest.mark.parametrize("name", FAULTS)
def test_an_invalid_name_is_changed_to_a_valid_one_and_the_reason_is_stated(name: str) -> None:
    reason, valid = FAULTS[name]
    assert name_fault(name).startswith(reason)
    assert identifier(name) == valid
    assert name_fault(valid) == ""
    note = renaming_note(name)
    assert note.startswith(f"the robot '{name}' is called {valid} in C, since its name {reason}")


def test_the_longest_name_leaves_room_for_the_name_of_a_function_in_a_file() -> None:
    assert 255 - len("_mass_matrix_log_determinant_gradient_jacobian_q_batch.c") >= LONGEST
    assert len(identifier("ab " * 200)) <= LONGEST
