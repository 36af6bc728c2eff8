"""Robots with drawn run-time numbers: ranges of the numbers, and physical bodies for all draws."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.adjustable import adjust_mechanism, adjustable_parameters
from symgen.mechanism.mechanism import Mechanism
from symgen.verification import adjusted
from symgen.verification.adjusted import (
    AdjustedRobot,
    broadcast,
    draw_adjusted_robot,
    draw_parameters,
)
from symgen.vocabulary.functions import REGROUP
from symgen.vocabulary.options import ProgramOptions


@cache
def robot() -> Mechanism:
    """Return an arm of 20 kg, whose centre is 2 m away, with a drive."""
    builder = symgen.Robot("arm", gravity=("0.3", 0, "-9.81"))
    builder.body(
        "bar", parent="base", type="revolute", axis=(0, 0, 1), mass=20, centre=(1, -1, 2),
        inertia=("0.3", "0.02", "-0.01", "0.4", "0.03", "0.35"), damping=3, armature="0.5",
    )  # fmt: skip
    builder.body(
        "tip", parent="bar", type="revolute", axis=(1, 0, 0), mass=1, centre=("0.1", 0, 0),
        inertia=("0.1", 0, 0, "0.1", 0, "0.1"),
    )  # fmt: skip
    return builder.build()


def drawn_numbers(*names: str, seed: int = 3) -> dict[str, tuple[Fraction, ...]]:
    return draw_parameters(robot(), adjustable_parameters(robot(), names), seed)


def central_moments(mass: float, centre: Any, six: Any) -> np.ndarray:
    """Return the principal moments about the mass centre, from the moments about the frame's
    origin.
    """
    xx, xy, xz, yy, yz, zz = map(float, six)
    c = np.array([float(x) for x in centre])
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.asarray(
        np.linalg.eigvalsh(about_origin - mass * (c @ c * np.eye(3) - np.outer(c, c)))
    )


@pytest.mark.parametrize(
    "kinds",
    [("inertia",), ("mass", "inertia"), ("centre", "inertia"), ("mass", "centre", "inertia")],
)
@pytest.mark.parametrize("seed", [3, 4])
def test_drawn_moments_belong_to_a_small_physical_body(kinds: tuple[str, ...], seed: int) -> None:
    """About the centre that the link then has, as declared or drawn, they are those of a load
    within 0.1 m.
    """
    numbers = drawn_numbers(*(f"bar.{kind}" for kind in kinds), seed=seed)
    mass = float(numbers["bar.mass"][0]) if "mass" in kinds else 20.0
    centre = numbers["bar.centre"] if "centre" in kinds else (1, -1, 2)
    moments = central_moments(mass, centre, numbers["bar.inertia"])
    assert moments[0] > 1e-4
    assert moments[2] < moments[0] + moments[1]
    assert moments[2] < 2 * (0.1**2 + 0.1**2) + 0.01


def test_without_an_inertia_mass_and_centre_are_those_of_a_load() -> None:
    numbers = drawn_numbers("bar.mass", "bar.centre")
    assert sorted(numbers) == ["bar.centre", "bar.mass"]
    assert 0.5 <= numbers["bar.mass"][0] <= 2
    assert max(map(abs, numbers["bar.centre"])) <= Fraction(1, 10)
    (changed,) = adjust_mechanism(robot(), {"bar.mass": (Fraction(1),)}).bodies[0].parts
    assert changed.mass == 1


def test_numbers_of_drives_are_on_a_grid_between_a_sixteenth_and_one() -> None:
    values = [
        drawn_numbers("bar_joint.damping", "bar_joint.armature", seed=seed)[name][0]
        for seed in range(100)
        for name in ("bar_joint.damping", "bar_joint.armature")
    ]
    assert all((x * 1024).denominator == 1 for x in values)
    assert Fraction(1, 16) <= min(values) < Fraction(1, 8)
    assert Fraction(15, 16) < max(values) <= 1


def test_gravity_changes_by_at_most_a_quarter() -> None:
    declared = np.array([0.3, 0, -9.81])
    changes = (
        np.array(
            [
                [float(x) for x in drawn_numbers("gravity", seed=seed)["gravity"]]
                for seed in range(60)
            ]
        )
        - declared
    )
    assert np.abs(changes).max() <= 0.25 + 1 / 2048
    assert changes.min() < -0.2
    assert changes.max() > 0.2
    numbers = drawn_numbers("gravity")["gravity"]
    assert all((x * 1024).denominator == 1 for x in numbers)


def test_loads_and_links_are_drawn_apart() -> None:
    numbers = drawn_numbers("bar.mass", "payload:bar.mass", "tip.mass", "gravity")
    assert len({numbers[name] for name in ("bar.mass", "payload:bar.mass", "tip.mass")}) == 3
    assert numbers == drawn_numbers("bar.mass", "payload:bar.mass", "tip.mass", "gravity")
    assert numbers != drawn_numbers("bar.mass", "payload:bar.mass", "tip.mass", "gravity", seed=4)


def test_moments_of_a_unit_mass() -> None:
    assert adjusted._steiner([Fraction(2), Fraction(3), Fraction(5)]) == (34, -6, -10, 29, -15, 13)


def test_a_robot_without_run_time_numbers_is_as_described() -> None:
    as_described = draw_adjusted_robot(robot(), {}, ProgramOptions(), 0)
    assert as_described == AdjustedRobot(robot())
    assert as_described.arguments == {}


def test_a_robot_with_run_time_numbers_has_them_as_arguments() -> None:
    """The prepared numbers are those that the function REGROUP computes from the parameters."""

    def run(arguments: Any, _: Any) -> dict[str, list[Any]]:
        return {"prepared": [2 * x for x in arguments["parameters"]]}

    programs: Any = {REGROUP: SimpleNamespace(run=run)}
    options = ProgramOptions(parameters=("bar.mass", "bar.centre"))
    changed = draw_adjusted_robot(robot(), programs, options, 3)
    numbers = drawn_numbers("bar.mass", "bar.centre")
    parameters = (*numbers["bar.mass"], *numbers["bar.centre"])
    assert changed.arguments == {
        "parameters": parameters,
        "prepared": tuple(2 * x for x in parameters),
    }
    assert changed.mechanism == adjust_mechanism(robot(), numbers)


def test_numbers_are_repeated_at_every_state() -> None:
    values = broadcast((Fraction(1), Fraction(2)), 3)
    assert values.tolist() == [[1, 2]] * 3
