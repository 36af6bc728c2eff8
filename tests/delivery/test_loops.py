"""Loop closures of a robot in the header, the manifest and the README."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import symgen
from symgen.delivery.loops import of_header, of_manifest, of_readme
from symgen.ir.program import Port
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import assembly_report
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import ASSEMBLING, GAINS
from symgen.vocabulary.options import PLAIN
from symgen.vocabulary.target import Target
from tests.shared.c_programs import arm
from tests.shared.folders import mechanism

WIDTH = 120
"""Columns of a comment in the header, without its stars."""
TARGET = Target("arm", Sizes(3, 3, 3), PLAIN)
ARM = mechanism()
TOO_LONG = """
name = "pendulum"
[[body]]
name = "bob"
parent = "base"
joint = { name = "pivot", type = "revolute", axis = [0, 0, 1] }
mass = 1
[[loop]]
name = "string"
type = "distance"
distance = 60
first = { link = "base", xyz = [0.3, 0, 0] }
second = { link = "bob", xyz = [0, 0.1, 0] }
"""
"""A pendulum on a string of 60 m, which its tip cannot reach."""


def four_bar(copies: int = 1, actuated: str = "") -> Mechanism:
    """Return a four-bar whose loop is closed by so many equal hinges."""
    robot = symgen.load("four_bar", actuated=actuated) if actuated else symgen.load("four_bar")
    return replace(
        robot, loops=tuple(replace(robot.loops[0], name=f"hinge{k}") for k in range(copies))
    )


def unreachable() -> Mechanism:
    return symgen.load(TOO_LONG)


def driver_programs() -> dict[str, Any]:
    """Return stand-ins for the two functions that the driver calls."""
    both = arm()["mass_matrix_and_bias"]
    return {name: replace(both, function=name) for name in ASSEMBLING}


def header(robot: Mechanism) -> str:
    lines = of_header(robot)
    assert all(len(line) <= WIDTH for line in lines)
    widths = [len(f"{line} {following.split()[0]}") for line, following in pairwise(lines)]
    assert all(width > WIDTH for width in widths)  # a line has room for no further word
    return " ".join(lines)


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def test_a_robot_without_loops_has_no_texts() -> None:
    assert of_header(ARM) == []
    assert of_manifest(ARM, driver_programs(), TARGET) == {}
    assert of_readme(ARM, {}) == {"loops": [], "assembly": {}}


def test_the_header_names_the_rows_of_the_loops() -> None:
    text = header(four_bar())
    assert text == " ".join(
        [
            "Joints close loops of this robot.",
            sentence(assembly_report.AS_IF_OPEN),
            sentence(assembly_report.rows(four_bar())),
        ]
    )
    assert "Rows of A, C and lambda" in text


def test_the_header_says_that_redundant_rows_have_no_unique_forces() -> None:
    assert header(four_bar(2)).endswith(f" {sentence(assembly_report.LEAST)}")
    assert sentence(assembly_report.LEAST) not in header(four_bar())


@pytest.mark.parametrize(
    ("actuated", "shared"), [("crank_joint,rocker_joint", True), ("crank_joint", False)]
)
def test_the_header_says_how_more_motors_than_freedoms_share_forces(
    actuated: str, shared: bool
) -> None:
    """A four-bar has one degree of freedom."""
    text = header(four_bar(actuated=actuated))
    assert text.endswith(f" {sentence(assembly_report.SHARED)}") is shared
    assert (sentence(assembly_report.SHARED) in text) is shared


def test_loops_that_do_not_close_have_no_rows() -> None:
    robot = unreachable()
    assert (
        header(robot) == f"Joints close loops of this robot. {sentence(assembly_report.AS_IF_OPEN)}"
    )
    assert [*of_manifest(robot, {}, TARGET)["closing"]] == ["refused"]
    loops = of_readme(robot, {})["loops"]
    assert len(loops) == 2
    assert loops[1].startswith("Only constrained")
    assert not any("lambda" in line for line in loops)


def test_the_manifest_describes_the_driver_if_there_is_one() -> None:
    facts = assembly_report.facts(four_bar())
    assert of_manifest(four_bar(), {}, TARGET) == {"closing": facts}
    first, second = driver_programs().items()
    assert of_manifest(four_bar(), dict([first]), TARGET) == {"closing": facts}
    closing = of_manifest(four_bar(), dict([first, second]), TARGET)["closing"]
    driver = closing.pop("assemble")
    assert closing == facts
    assert driver["symbol"] == "arm_assemble"
    assert (driver["header"], driver["file"]) == ("arm_assemble.h", "arm_assemble.c")
    assert driver["calls"] == [*ASSEMBLING]
    assert driver["arguments"] == [{"name": "q", "shape": [3]}]
    assert driver["result"] == {"name": "q_out", "shape": [3]}
    assert driver["turns"] > 0
    assert driver["tolerance"] == 1e-12
    assert [status["name"] for status in driver["statuses"]] == ["ASSEMBLED", "NOT_CLOSED"]


def test_the_readme_states_the_assembly_the_rows_and_the_tree() -> None:
    robot = four_bar()
    loops = of_readme(robot, {})["loops"]
    assert loops[0].startswith("The loops close at crank_joint")
    count = len(assembly_report.sentences(robot))
    assert len(loops) == count + 2
    assert loops[count].startswith("Rows of A, C and lambda")
    assert loops[-1].startswith("Only constrained")
    assert all(line.endswith(".") for line in loops)
    readme = of_readme(robot, driver_programs())
    assert readme["loops"] == loops
    assert readme["assembly"]["turns"] > 0
    assert of_readme(robot, {})["assembly"] == {}


def test_the_readme_explains_gains_if_a_function_takes_them() -> None:
    function = arm()["mass_matrix"]
    pulled = replace(function, inputs=(*function.inputs, Port(GAINS.name, (2,))))
    plain, explained = (
        of_readme(four_bar(), {"mass_matrix": form})["loops"] for form in (function, pulled)
    )
    (sentence_on_gains,) = [line for line in explained if line not in plain]
    assert sentence_on_gains.startswith("For open loops, A is the derivative of C")
    assert explained[-1] == plain[-1]
    assert of_readme(ARM, {"mass_matrix": pulled})["loops"] == []
