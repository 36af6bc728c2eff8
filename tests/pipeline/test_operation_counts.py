"""Exact operation counts of every built-in robot; they may only decrease.

`python -m tests.operation_counts --write` records lower counts.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

import symgen
from tests.operation_counts import counted, measured, recorded, risen, text, write
from tests.shared.robots_for_tests import OPEN

pytestmark = pytest.mark.usefixtures("all_as_users_have_them")
LONG = ("panda", "puma560", "ur5", "quadruped")
"""Robots whose derivation with every search takes seconds."""
BOUNDS = {  # mul + add + div of the default method
    ("panda", "inverse_dynamics"): 545,
    ("panda", "mass_matrix"): 307,
    ("panda", "forward_dynamics"): 987,
    ("panda", "inverse_mass_matrix"): 649,
    ("ur5", "inverse_dynamics"): 229,
    ("ur5", "mass_matrix"): 78,
    ("ur5", "forward_dynamics"): 341,
    ("ur5", "inverse_mass_matrix"): 229,
    ("panda", "inverse_dynamics:vjp"): 1346,
    ("panda", "forward_dynamics:vjp"): 2205,
    ("panda", "inverse_dynamics:hvp"): 3420,
    ("ur5", "inverse_dynamics:vjp"): 561,
    ("ur5", "forward_dynamics:vjp"): 801,
    ("ur5", "inverse_dynamics:hvp"): 1400,
    ("panda", "coriolis_matrix"): 1100,
    ("panda", "mass_matrix_coriolis_and_bias"): 1287,
    ("panda", "base_regressor"): 1080,
    ("ur5", "coriolis_matrix"): 269,
    ("ur5", "mass_matrix_coriolis_and_bias"): 375,
    ("ur5", "base_regressor"): 576,
    ("puma560", "inverse_dynamics"): 280,
    ("puma560", "mass_matrix"): 126,
    ("puma560", "forward_dynamics"): 457,
}


@pytest.mark.parametrize(
    "robot",
    [pytest.param(robot, marks=pytest.mark.slow if robot in LONG else ()) for robot in OPEN],
)
def test_counts_are_the_recorded_ones(robot: str) -> None:
    """Record lower counts; a higher count is a regression."""
    assert measured([robot])[robot] == recorded()[robot]


def test_every_function_of_every_built_in_robot_is_recorded() -> None:
    assert {robot: set(functions) for robot, functions in recorded().items()} == {
        r: set(counted(r)) for r in OPEN
    }


@pytest.mark.parametrize(("robot", "function"), BOUNDS)
def test_counts_stay_within_their_bounds(robot: str, function: str) -> None:
    assert symgen.program(robot, function).cost <= BOUNDS[robot, function]


@pytest.mark.parametrize(
    "robot",
    [pytest.param(robot, marks=pytest.mark.slow if robot in LONG else ()) for robot in OPEN],
)
def test_one_pass_for_mass_matrix_and_bias_costs_no_more_than_two(robot: str) -> None:
    in_one_pass, mass, bias = (
        symgen.program(robot, f) for f in ("mass_matrix_and_bias", "mass_matrix", "bias_force")
    )
    assert in_one_pass.cost <= mass.cost + bias.cost
    for op in ("sin", "cos"):  # one set of sines and cosines
        assert in_one_pass.operations[op] <= max(mass.operations[op], bias.operations[op])
    assert (
        symgen.program(robot, "gravity_force").cost
        <= bias.cost
        <= symgen.program(robot, "inverse_dynamics").cost
    )


def test_a_higher_count_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "counts.json"
    before = {"arm": {"f": {"mul": 5, "add": 4, "div": 1}}}
    assert write(before, file) == []
    lower, higher, divides = (deepcopy(before) for _ in range(3))
    lower["arm"]["f"] = {"mul": 6, "add": 2, "div": 1}
    higher["arm"]["f"]["add"] = 5
    divides["arm"]["f"] = {"mul": 1, "add": 1, "div": 2}
    for worse in (higher, divides):
        assert len(write(worse, file)) == 1
        assert file.read_text(encoding="utf-8") == text(before)
    assert write(lower, file) == []
    assert file.read_text(encoding="utf-8") == text(lower)
    assert risen({"new": {"f": {"mul": 1, "add": 1, "div": 1}}}, before) == []
