"""Rational robots next to robots with irrational constants, and the fields of these constants."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.derivation import constants as k
from symgen.inspection.stand_ins import (
    Neighbour,
    NoStandIn,
    Record,
    Residues,
    Roots,
    decimal_angles,
    field_of_robot,
    has_rational_constants,
    onto,
    primes_of,
    rational_robot,
    sharp,
)
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
ARMS: dict[str, tuple[tuple[Any, tuple[Any, Any, Any]], ...]] = {
    "decimals": ((Z, (0, 0, 0)), (Y, ("0.3", "0.2", "-0.4")), (X, ("0.5", "-0.7", "0.2"))),
    "one decimal": ((Z, (0, 0, 0)), (Z, ("0.5", 0, 0))),
    "quarter": ((Z, (0, 0, 0)), (Y, ("pi/4", 0, 0)), (X, (0, "-pi/4", 0))),
    "sixth": ((Z, (0, 0, 0)), (Z, ("pi/3", 0, 0))),
    "twelfth": ((Z, (0, 0, 0)), (Z, ("pi/12", 0, 0))),
    "diagonal": ((Z, (0, 0, 0)), ((1, 1, 0), (0, 0, 0)), (X, (0, 0, 0))),
    "below": (((1, 0, -1), ("pi/2", 0, 0)), ((1, -1, -1), (0, 0, 0)), ((0, 1, -1), (0, 0, 0))),
    "decimals on diagonals": (((1, 1, 0), (0, 0, 0)), ((0, 1, 1), ("0.3", 0, 0))),
}


@cache
def arm(name: str) -> Mechanism:
    """Return an arm with these axes and rotations between its links."""
    robot = symgen.Robot(name, gravity=(0, 0, -10))
    for i, (axis, rpy) in enumerate(ARMS[name]):
        robot.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "base",
            type="revolute",
            axis=axis,
            xyz=("0.3", "-0.1", "0.2"),
            rpy=rpy,
            mass=2,
            centre=("0.1", "0.05", "-0.2"),
            inertia=("0.11", "0.01", "-0.02", "0.13", "0.03", "0.17"),
        )
    return robot.build()


def places_of_links(mechanism: Mechanism) -> Any:
    """Return the rotations and origins of all links at one pose."""
    q = np.array([[0.3, -1.2, 2.1]])[:, : mechanism.nq]
    return [
        [*np.ravel(pose.turn[0]).astype(float), *np.ravel(pose.shift[0]).astype(float)]
        for pose in Reference(mechanism).placements(q)
    ]


@pytest.mark.parametrize("name", ARMS)
def test_a_rational_robot_is_next_to_the_robot(name: str) -> None:
    """All constants are rational; links are at the same places to the digits of a double."""
    mechanism = arm(name)
    with sharp():
        robot = rational_robot(mechanism, Neighbour(decimal_angles(mechanism)))
        assert has_rational_constants(robot)
        assert not has_rational_constants(mechanism)
    assert np.allclose(places_of_links(robot), places_of_links(mechanism), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "generators"),
    [
        ("decimals", ()),
        ("decimals on diagonals", (2,)),
        ("quarter", (2,)),
        ("sixth", (3,)),
        ("twelfth", (2, 3)),
        ("diagonal", (2,)),
    ],
)
def test_the_field_of_a_robot_has_the_roots_of_its_constants(
    name: str, generators: tuple[int, ...]
) -> None:
    """Numbers that are computed from decimal angles are none of them."""
    with sharp():
        assert field_of_robot(arm(name)) == Roots(generators)


def test_a_record_has_the_sums_of_square_roots_only() -> None:
    with sharp():
        record = Record(decimal_angles(arm("one decimal")))
        rational_robot(arm("one decimal"), record)
        assert record.numbers == []
        record = Record([])
        robot = rational_robot(arm("quarter"), record)
        assert record.numbers
        assert robot == rational_robot(arm("quarter"), Neighbour([]))


@pytest.mark.parametrize("name", ["quarter", "diagonal"])
def test_residues_of_a_robot_are_those_of_its_roots(name: str) -> None:
    """Both signs of √2 give robots; a field without √2 has none."""
    with sharp():
        robots = [
            rational_robot(arm(name), Residues((), Roots((2,)), primes_of(Roots((2,)))[0], (sign,)))
            for sign in (1, -1)
        ]
        assert robots[0] != robots[1]
        assert all(map(has_rational_constants, robots))
        with pytest.raises(NoStandIn, match="not sums of square roots of integers"):
            rational_robot(arm(name), Residues((), Roots((3,)), primes_of(Roots((3,)))[0], (1,)))


def test_decimal_angles_are_those_of_joints_bodies_and_frames() -> None:
    robot = symgen.Robot("angles", gravity=(0, 0, -10))
    inertia: dict[str, Any] = {"mass": 1, "centre": (1, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}
    robot.body("a", parent="base", type="revolute", axis=Z, rpy=("0.5", "pi/2", 0), **inertia)
    robot.body("b", parent="a", type="revolute", axis=Z, xyz=(1, 0, 0), **inertia)
    robot.frame("tip", body="b", rpy=(0, 0, "-0.25"))
    angles = [float(angle) for angle in decimal_angles(robot.build())]
    assert sorted(angles) == [-0.25, 0.5]
    assert decimal_angles(arm("quarter")) == []


def test_a_rotation_onto_an_axis_has_it_as_its_third_column() -> None:
    with sharp():
        axis = (Fraction(1), Fraction(2), Fraction(2))
        matrix = np.array([[k.as_float(x) for x in row] for row in onto(axis)])
    assert np.allclose(matrix @ [0, 0, 1], [1 / 3, 2 / 3, 2 / 3], atol=1e-15)
    assert np.allclose(matrix.T @ matrix, np.eye(3), atol=1e-15)
