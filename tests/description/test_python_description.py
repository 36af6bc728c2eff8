"""Robots declared in Python: equal to the same declaration in TOML; the faulty call raises."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description import by_hand
from symgen.description.canonical import to_toml
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, DescriptionError, SymgenError

TOML = """name = "arm"
gravity = [0, "1/3", "-9.81"]
mimic = "couple"
[base]
name = "ground"
[[body]]
name = "upper"
parent = "ground"
mass = 2.5
centre = [0.2, 0, 0]
inertia = [0.01, 0.001, 0, 0.03, 0, 0.03]
[body.joint]
name = "shoulder"
type = "revolute"
axis = [0, 1, 0]
rpy = ["pi/2", 0, "30 deg"]
limits = { lower = -2, upper = 2 }
armature = 0.5
damping = 0.1
[[body]]
name = "fore"
parent = "upper"
part = [{ mass = 1, centre = [0.1, 0, 0], rpy = [0.1, 0.2, 0.3] }, { mass = 2 }]
[body.joint]
type = "helical"
axis = [0, 0, 1]
steps = [{ shift = [0.4, 0, 0] }, { quaternion = [1, 2, 3, 4] }]
pitch = 0.25
mimic = { joint = "shoulder", multiplier = "1/2", offset = 0.1 }
[[body]]
name = "cross"
parent = "fore"
mass = 1
[body.joint]
type = "universal"
axes = [[1, 0, 0], [0, 1, 0]]
limits = [{ lower = -1, upper = 1 }, { effort = 3 }]
[[body]]
name = "ball"
parent = "cross"
joint = { type = "spherical", xyz = [0, 0, 1] }
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
[[frame]]
name = "tool"
body = "ball"
steps = [{ shift = [0, 0, 0.1] }, { turn = "pi/3", axis = [1, 1, 0] }]
"""
ROWS = """name = "rows"
convention = "mdh"
[[row]]
alpha = "pi/2"
a = 0.5
mass = 1
limits = { lower = -1, upper = 1 }
[[row]]
type = "prismatic"
d = "1/3"
theta = 1.5707963267948966
mass = 2
inertia = [1, 0, 0, 1, 0, 1]
repeat = 2
"""


def arm() -> symgen.Robot:
    return (
        symgen.Robot("arm", gravity=(0, Fraction(1, 3), "-9.81"), base="ground", mimic="couple")
        .body(
            "upper",
            parent="ground",
            joint="shoulder",
            type="revolute",
            axis=(0, 1, 0),
            rpy=("pi/2", 0, "30 deg"),
            limits=(-2, 2),
            armature=0.5,
            damping=0.1,
            mass=2.5,
            centre=np.array([0.2, 0, 0]),
            inertia=np.array([[0.01, 0.001, 0], [0.001, 0.03, 0], [0, 0, 0.03]]),
        )
        .body(
            "fore",
            parent="upper",
            type="helical",
            axis=[0, 0, 1],
            xyz=(0.4, 0, 0),
            quaternion=(1, 2, 3, 4),
            pitch=0.25,
            mimic=("shoulder", "1/2", 0.1),
            parts=[
                {"mass": 1, "centre": (0.1, 0, 0), "rpy": (0.1, 0.2, 0.3)},
                {"mass": np.int64(2)},
            ],
        )
        .body(
            "cross",
            parent="fore",
            type="universal",
            axes=[(1, 0, 0), (0, 1, 0)],
            limits=[(-1, 1), {"effort": 3}],
            mass=1,
        )
        .body(
            "ball",
            parent="cross",
            type="spherical",
            xyz=(0, 0, 1),
            mass=np.float64(1.0),
            inertia=(1, 0, 0, 1, 0, 1),
        )
        .frame("tool", "ball", steps=[{"shift": (0, 0, 0.1)}, {"turn": "pi/3", "axis": (1, 1, 0)}])
    )


def rows() -> symgen.Robot:
    return symgen.Robot("rows").rows(
        "mdh",
        [
            {"alpha": "pi/2", "a": 0.5, "mass": 1, "limits": (-1, 1)},
            {
                "type": "prismatic",
                "d": Fraction(1, 3),
                "theta": np.pi / 2,
                "mass": 2,
                "inertia": np.eye(3),
                "repeat": 2,
            },
        ],
    )


def unsourced(mechanism: Mechanism) -> str:
    """Return the TOML of a mechanism with its notes, but without source hash and line numbers."""
    lines = [
        re.sub(r"line \d+, ", "", line)
        for line in to_toml(mechanism).splitlines()
        if "sha256" not in line
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(("make_robot", "text"), [(arm, TOML), (rows, ROWS)])
@pytest.mark.parametrize("options", [{}, {"base": "free", "snap": "off", "drives": "off"}])
def test_python_and_toml_declare_the_same_robot(
    make_robot: Callable[[], symgen.Robot], text: str, options: dict[str, Any]
) -> None:
    built = make_robot().build(**options)
    assert built.content == symgen.load(text, **options).content
    assert unsourced(built) == unsourced(symgen.load(text, **options))
    assert unsourced(symgen.load(make_robot(), **options)) == unsourced(built)


def test_a_float_is_read_as_its_shortest_decimal() -> None:
    mechanism = (
        symgen.Robot("r")
        .body("b", parent="base", type="free", mass=0.1, inertia=(1 / 3, 0, 0, 1e-5, 0, 1))
        .build()
    )
    (part,) = mechanism.bodies[0].parts
    assert part.mass == Fraction(1, 10)
    assert (part.moments[0], part.moments[3]) == (
        Fraction("0.3333333333333333"),
        Fraction(1, 10**5),
    )


def test_the_source_hash_depends_on_the_declaration_only() -> None:
    assert arm().build().source_sha256 == arm().build().source_sha256
    assert arm().build().source_sha256 != arm().frame("other", "ball").build().source_sha256


@pytest.mark.parametrize("source", ["", "data sheet 7"])
def test_a_robot_has_the_source_that_it_declares(source: str) -> None:
    robot = symgen.Robot("r", source=source)
    robot.body("a", parent="base", type="revolute", axis=(0, 0, 1), mass=1)
    assert robot.build().source == source


def test_a_robot_declared_in_python_is_read_back_from_toml() -> None:
    built = arm().build()
    assert symgen.load(to_toml(built)).content == built.content


def test_a_robot_declared_in_python_can_be_compiled() -> None:
    solver = symgen.compile(rows().build(), ["mass_matrix"])
    assert solver.mass_matrix(np.zeros(3)).shape == (3, 3)


def robot_with(**changes: Any) -> symgen.Robot:
    return symgen.Robot("r").body(
        "b", **{"parent": "base", "type": "revolute", "axis": (0, 0, 1), **changes}
    )


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "no axis": (
        lambda: robot_with(axis=None),
        "robot 'r': body 'b': joint: the key 'axis' is missing; add axis = …",
    ),
    "axis of zero": (
        lambda: robot_with(axis=(0, 0, 0)),
        "robot 'r': body 'b': joint.axis: the axis is zero; give a nonzero axis",
    ),
    "two numbers": (
        lambda: robot_with(xyz=(1, 2)),
        "body 'b': joint.xyz: '[1, 2]' is not an array of 3 numbers",
    ),
    "no number": (
        lambda: robot_with(mass="heavy"),
        "body 'b': mass: 'heavy' is not a number; write a plain decimal",
    ),
    "no finite number": (
        lambda: robot_with(mass=float("nan")),
        "body 'b': mass: 'nan' is not a number",
    ),
    "a number that is none": (
        lambda: robot_with(mass=True),
        "body 'b': mass: 'True' is not a number",
    ),
    "no angle": (lambda: robot_with(rpy=("x", 0, 0)), "body 'b': joint.rpy: 'x' is not an angle"),
    "two poses": (
        lambda: robot_with(rpy=(0, 0, 0), quaternion=(1, 0, 0, 0)),
        "'b': rpy and quaternion both give its pose; keep one",
    ),
    "a shift and steps": (
        lambda: robot_with(xyz=(0, 0, 0), steps=[]),
        "'b': xyz and steps both give its pose",
    ),
    "no turn": (lambda: robot_with(quaternion=(0, 0, 0, 0)), "the quaternion is zero"),
    "a word that is none": (
        lambda: robot_with(armatur=1),
        "the key 'armatur' is not known here; did you mean 'armature'?",
    ),
    "five limits": (
        lambda: robot_with(limits=(1, 2, 3, 4, 5)),
        "has 5 entries; give lower, upper, velocity, effort",
    ),
    "a matrix that is not symmetric": (
        lambda: robot_with(mass=1, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]),
        "is not symmetric",
    ),
    "no parent": (
        lambda: robot_with(parent="c").build(),
        "robot 'r': body 'b': joint: its parent link 'c' is not declared",
    ),
    "no such type": (lambda: robot_with(type="hinge").build(), "its type 'hinge' is not supported"),
    "a negative mass": (lambda: robot_with(mass=-1).build(), "has the negative mass -1 kg"),
    "nothing": (lambda: symgen.Robot("r").build(), "robot 'r': no joint moves"),
    "a frame on nothing": (
        lambda: robot_with(mass=1).frame("f", "c").build(),
        "robot 'r': frame 'f': its body 'c' is not declared",
    ),
    "rows and bodies": (
        lambda: robot_with(mass=1).rows("dh", [{}]),
        "a description has either [[body]] or [[row]], not both",
    ),
    "a wrong convention": (
        lambda: symgen.Robot("r").rows("khalil", [{}]),
        "'khalil' is not known; write one of: dh, mdh",
    ),
    "a wrong row": (
        lambda: symgen.Robot("r").rows("dh", [{"alfa": 1}]),
        "row[0]: the key 'alfa' is not known here; did you",
    ),
    "gravity of two": (
        lambda: symgen.Robot("r", gravity=(0, 1)),
        "gravity: '[0, 1]' is not an array",
    ),
    "no name": (
        lambda: symgen.Robot("  ").body("b", parent="base", type="free", mass=1).build(),
        "is not a valid name",
    ),
    "a model": (
        lambda: symgen.load(robot_with(mass=1), model="x"),
        "--model has no meaning for a file such as 'robot 'r''",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_faulty_declaration_is_refused_in_one_sentence(case: str) -> None:
    work, message = FAULTS[case]
    with pytest.raises(SymgenError) as caught:
        work()
    assert isinstance(caught.value, DescriptionError | ArgumentError)
    assert message in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)


# -- values ----------------------------------------------------------------------------------------


def test_values_of_python_are_those_of_toml() -> None:
    values = {
        "text": np.str_("a"),
        "truth": True,
        "count": np.int64(3),
        "fraction": Fraction(1, 3),
        "float": np.float32(0.5),
        "nothing": None,
        "vector": np.array([1.0, 2.5]),
        1: (1, "x"),
    }
    table = by_hand._toml_value(values)
    assert table == {
        "text": "a",
        "truth": True,
        "count": 3,
        "fraction": "1/3",
        "float": "0.5",
        "vector": ["1.0", "2.5"],
        "1": [1, "x"],
    }
    assert type(table["text"]) is str
    assert (type(table["count"]), type(table["truth"])) == (int, bool)
    assert by_hand._toml_value(1j) == "1j"


def test_a_matrix_of_inertia_is_symmetric() -> None:
    matrix = np.array([[1, 2, 3], [2, 4, 5], [3, 5, 6]])
    assert by_hand._six_moments(matrix) == [1, 2, 3, 4, 5, 6]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        crooked = matrix.copy()
        crooked[i, j] += 1
        with pytest.raises(ArgumentError, match="the matrix of inertia is not symmetric"):
            by_hand._six_moments(crooked)
    assert by_hand._six_moments([1, 2, 3, 4, 5, 6]) == [1, 2, 3, 4, 5, 6]
    assert by_hand._six_moments([[1, 2], [2, 3]]) == [[1, 2], [2, 3]]
    uneven = [[1, 2, 3], [4, 5], [6]]
    assert by_hand._six_moments(uneven) == uneven
    assert by_hand._six_moments({"xx": 1}) == {"xx": 1}
    assert by_hand._six_moments("x") == "x"


def test_positional_values_get_their_names() -> None:
    names = ("lower", "upper")
    assert by_hand._with_names((1, 2), names) == {"lower": 1, "upper": 2}
    assert by_hand._with_names([1], names) == by_hand._with_names(1, names) == {"lower": 1}
    assert by_hand._with_names("j", ("joint", "multiplier")) == {"joint": "j"}
    assert by_hand._with_names({"upper": 3}, names) == {"upper": 3}
    assert by_hand._with_names(None, names) is None
    assert by_hand._with_names(((1, 2), {"upper": 3}), names) == [
        {"lower": 1, "upper": 2},
        {"upper": 3},
    ]
    assert by_hand._with_names([], names) == {}
    with pytest.raises(ArgumentError, match="has 3 entries; give lower, upper"):
        by_hand._with_names((1, 2, 3), names)


def test_a_pose_is_given_in_one_way() -> None:
    robot = symgen.Robot("r")
    here: dict[str, Any] = {"parent": "base", "type": "revolute", "axis": (0, 0, 1)}
    for pose, message in (
        ({"rpy": (0, 0, 0), "quaternion": (1, 0, 0, 0)}, "rpy and quaternion both give its pose"),
        ({"steps": [], "quaternion": (1, 0, 0, 0)}, "quaternion and steps both give its pose"),
        ({"steps": [], "xyz": (0, 0, 0)}, "xyz and steps both give its pose; keep one of them"),
    ):
        with pytest.raises(DescriptionError, match=message):
            robot.body("b", **here, **pose)
    robot.body("b", **here, xyz=(1, 2, 3), quaternion=(3, 4, 0, 0), mass=1)
    robot.body("c", **{**here, "parent": "b"}, quaternion=(3, 4, 0, 0), mass=1)
    first, second = robot.build().joints
    assert [type(step).__name__ for step in first.pose] == ["Shift", "Rotate"]
    assert [type(step).__name__ for step in second.pose] == ["Rotate"]
