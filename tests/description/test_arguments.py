"""Types of arguments."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from symgen.description.arguments import validate
from symgen.support.errors import ArgumentError
from symgen.vocabulary.poses import Angle


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        (
            "q",
            [[1, 2.5], np.array([1.0])],
            ["12", ["1"], [True], [None], 3, {"a": 1}, np.array(1.0)],
        ),
        ("snap", ["off", 1, 0.5, Fraction(1, 3)], [True, None, [1]]),
        ("gravity", ["0,0,1", [0, 0, "1"]], [[True], 3, b"1", {"a": 1}]),
        ("strict", [True, False, np.True_, 0, 1], [2, "True", None, -1]),
        ("seed", [3, np.int64(3)], [True, 3.0, "3"]),
        ("mimic", ["x"], [3, ["x"]]),
        ("drives", ["x", ["x", "y"]], [3, [3], {"x": 1}, b"x"]),
        ("task_rows", ["x", ["x", 3], [3]], [3, [True], [3.5]]),
        ("packages", [{"a": "b"}], [{1: "b"}, {"a": 1}, ["a"]]),
        ("xacro", [{"a": "b"}], [{"a": 1}, "a"]),
        ("at", [{"a": 1, "b": "2"}], [{"a": True}, {"a": None}]),
        ("lock", [{"a": None, "b": Angle()}, ["a"], "a"], [{"a": [1]}, 3, [3]]),
        ("progress", [print], ["print"]),
    ],
)
def test_an_argument_has_the_type_of_its_name(
    name: str, accepted: list[Any], refused: list[Any]
) -> None:
    for value in accepted:
        assert validate(name, value) is value
    for value in refused:
        with pytest.raises(ArgumentError, match=f"^{name} is "):
            validate(name, value)
    assert validate("nothing", refused[0]) is refused[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "mimic is 3, which is not a string; give a string"),
        ([1, 2], "mimic is [1, 2], which is not a string"),
        (object(), "mimic is an object, which is not a string"),
        (iter(()), "mimic is a tuple_iterator, which"),
        (["a" * 56], f"mimic is ['{'a' * 56}'], which"),
        (["a" * 57], f"mimic is the list '['{'a' * 38}…', which"),
        (["\n"], "mimic is ['\\n'], which"),
        (np.array([[1], [2]]), "mimic is the ndarray 'array([[1],� "),  # of two lines
    ],
)
def test_a_refused_value_is_shown_briefly(value: Any, text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        validate("mimic", value)
    assert str(caught.value).startswith(text)


def test_an_iterator_becomes_a_list() -> None:
    assert validate("drives", iter(["a"])) == ["a"]
