"""Coupling of mimic joints: G and q_0 as a matrix and a vector, and drives of the joints."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.coupling import UNCOUPLED, Coupling, MimicCoupling
from symgen.derivation.drives import DriveScalars, drive_forces, drive_scalars
from symgen.derivation.geometry import Dof, LinkGeometry
from symgen.derivation.model.links import declared
from symgen.derivation.scalars import Derivation
from symgen.derivation.spatial import Rotation
from symgen.ir.program import EXACT, evaluate
from symgen.mechanism.drives import NUMBERS, Drive
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Mimic, Part
from tests.derivation.exact_scalars import array, number, numbers, scalars, vector

F = Fraction
JOINTS = (
    Joint("a", "revolute", BASE, mimic=Mimic("c", F(-2), F(1, 3))),
    Joint("ball", "spherical", 0),
    Joint("c", "revolute", 1),
    Joint("d", "prismatic", 2, mimic=Mimic("c", F(3), F(5))),
    Joint("e", "revolute", 3),
    Joint("f", "revolute", 4, mimic=Mimic("e", F(1, 2), F(0))),
)
PART = Part("p", (), F(1), (F(1), F(0), F(0), F(1), F(0), F(1)))
ROBOT = Mechanism(
    "coupled",
    JOINTS,
    tuple(Body(f"{joint.name}_link", (PART,)) for joint in JOINTS),
    coupled=True,
)
# v of all joints: a, ball (3), c, d, e, f; of the leaders: ball (3), c, e
G = np.array(
    [
        [0, 0, 0, F(-2), 0],
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 3, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, F(1, 2)],
    ],
    dtype=object,
)


def random_square(size: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    square = generator.integers(-5, 6, (size, size))
    return np.array(square.tolist(), dtype=object)


def test_a_robot_without_mimic_joints_is_not_coupled() -> None:
    assert Coupling.of(ROBOT.uncoupled) is UNCOUPLED
    assert not UNCOUPLED.has_mimic_joints
    coupling = Coupling.of(ROBOT)
    assert isinstance(coupling, MimicCoupling)
    assert coupling.has_mimic_joints


def test_rates_are_expanded_by_the_matrix_and_forces_reduced_by_its_transpose() -> None:
    coupling, derivation = MimicCoupling(ROBOT), Derivation({})
    with k.precision():
        rates, forces = [F(n + 2) for n in range(5)], [F(3 * n - 5) for n in range(8)]
        expanded = coupling.expand_rates(scalars(derivation, rates))
        assert numbers(expanded) == list(G @ np.array(rates, dtype=object))
        reduced = coupling.reduce_forces(scalars(derivation, forces))
        assert numbers(reduced) == list(G.T @ np.array(forces, dtype=object))
        assert coupling.leader_entries(range(8)) == [1, 2, 3, 4, 6]
        all_positions = scalars(derivation, range(9))
        assert numbers(coupling.leader_positions(all_positions)) == [1, 2, 3, 4, 5, 7]
        square = random_square(8, 1)
        rows = [scalars(derivation, row) for row in square]
        assert (array(coupling.reduce_square(rows)) == G.T @ square @ G).all()
        assert (array(UNCOUPLED.reduce_square(rows)) == square).all()


@pytest.mark.parametrize("absent", [(), ((6, 0), (7, 4), (5, 1), (7, 6)), ((4, 0), (5, 0), (5, 4))])
def test_a_triangle_is_reduced_like_the_whole_matrix(absent: tuple[tuple[int, int], ...]) -> None:
    coupling, derivation = MimicCoupling(ROBOT), Derivation({})
    square = random_square(8, 2)
    symmetric = square + square.T
    for i, j in absent:
        symmetric[i, j] = symmetric[j, i] = 0
    with k.precision():
        triangle = [
            {
                j: scalars(derivation, [symmetric[i, j]])[0]
                for j in range(i + 1)
                if (i, j) not in absent
            }
            for i in range(8)
        ]
        expected = G.T @ symmetric @ G
        reduced = coupling.reduce_triangle(triangle)
        assert len(reduced) == 5
        for i in range(5):
            for j in range(i + 1):
                value = number(reduced[i][j]) if j in reduced[i] else 0
                assert value == expected[i, j]
        assert UNCOUPLED.reduce_triangle(triangle) is triangle


def test_entries_that_are_zero_by_structure_stay_so() -> None:
    coupling, derivation = MimicCoupling(ROBOT), Derivation({})
    with k.precision():
        diagonal = [{i: derivation.constant(k.rational(i + 1))} for i in range(8)]
        reduced = coupling.reduce_triangle(diagonal)
        assert [[*row] for row in reduced] == [[0], [1], [2], [3], [4]]
        # Σ multiplier² · entry: of c (5) with a (1·4) and d (6·9); of e (7) with f (8/4)
        assert [number(row[i]) for i, row in enumerate(reduced)] == [2, 3, 4, 5 + 4 + 54, 7 + 2]


def test_arguments_are_expanded_to_all_joints_with_the_offsets_of_positions() -> None:
    coupling = MimicCoupling(ROBOT)
    derivation = Derivation({"q": 6, "v": 5, "tau": 5})
    with k.precision():
        arguments = coupling.expand_inputs(derivation)
    assert {name: len(entries) for name, entries in arguments.items()} == {
        "q": 9,
        "v": 8,
        "tau": 5,
    }
    assert arguments["tau"] is derivation.inputs["tau"]
    shapes = {"q": (6,), "v": (5,), "tau": (5,)}
    expanded = [("q_all", (9,), arguments["q"]), ("v_all", (8,), arguments["v"])]
    program = derivation.freeze("f", "m", expanded, shapes)
    q, v = [F(n + 1) for n in range(6)], [F(n + 2) for n in range(5)]
    results = evaluate(program, {"q": q, "v": v, "tau": v}, EXACT)
    assert results["v_all"] == list(G @ np.array(v, dtype=object))
    # the leader of a and d is c, the fifth of the six leading coordinates
    assert results["q_all"] == [-2 * 5 + F(1, 3), 1, 2, 3, 4, 5, 3 * 5 + 5, 6, 3]


# -- drives ----------------------------------------------------------------------------------------


def drive(derivation: Derivation, **values: int) -> DriveScalars:
    chosen = dict.fromkeys(NUMBERS, 0) | {"speed": 4} | values
    return DriveScalars(**dict(zip(chosen, scalars(derivation, chosen.values()), strict=True)))


def test_a_drive_takes_the_force_of_its_equation() -> None:
    """At v = 3 and ε = 4 the root is 5; the slope of v/√(v² + ε²) is ε²/5³ = 16/125."""
    derivation = Derivation({})
    with k.precision():
        q, v = scalars(derivation, (7, 3))
        whole = drive(derivation, armature=9, damping=2, friction=10, stiffness=3, rest=5)
        assert number(whole.force(q, v)) == 2 * 3 + 10 * F(3, 5) + 3 * (7 - 5)
        assert number(whole.slope(v)) == 2 + 10 * F(16, 125)
        damper = drive(derivation, damping=2)
        assert (number(damper.force(q, v)), number(damper.slope(v))) == (6, 2)
        friction = drive(derivation, friction=10)
        assert (number(friction.force(q, v)), number(friction.slope(v))) == (6, F(32, 25))
        spring = drive(derivation, stiffness=3, rest=5)
        assert (number(spring.force(q, v)), number(spring.slope(v))) == (6, 0)
        with_forces = [
            scalar_drive.has_forces for scalar_drive in (whole, damper, friction, spring)
        ]
        assert with_forces == [True] * 4
        assert not drive(derivation, armature=1, rest=2).has_forces


def test_drives_are_those_of_each_velocity_or_of_run_time_parameters() -> None:
    several = Drive.of_velocities({"damping": (F(1), F(2), F(3))})
    joints = (
        replace(JOINTS[0], drive=Drive(F(7), F(4), F(0), F(5), F(6))),
        replace(JOINTS[1], drive=several),
        *JOINTS[2:],
    )
    robot = replace(ROBOT, joints=joints, coupled=False, friction_speed=F(1, 8))
    derivation = Derivation({})
    with k.precision():
        model = declared(robot)
        (changed,) = scalars(derivation, [11])
        drives = drive_scalars(model, derivation, {(0, "rest"): changed})
        assert [number(entry.damping) for entry in drives] == [4, 1, 2, 3, 0, 0, 0, 0]
        assert (number(drives[0].armature), number(drives[0].rest)) == (7, 11)
        assert {number(entry.speed) for entry in drives} == {F(1, 8)}
        inputs = {"q": scalars(derivation, range(1, 10)), "v": scalars(derivation, range(10, 18))}
        forces = numbers(drive_forces(model, drives, derivation, inputs))
        assert forces == [4 * 10 + 5 * (1 - 11), 11, 2 * 12, 3 * 13, 0, 0, 0, 0]
        at_rest = numbers(drive_forces(model, drives, derivation, {"q": inputs["q"]}))
        assert at_rest == [5 * (1 - 11), *[0] * 7]


def test_a_degree_of_freedom_projects_a_wrench_on_its_column() -> None:
    derivation = Derivation({})
    with k.precision():
        angular, linear = vector(derivation, 1, 2, 3), vector(derivation, -1, 0, 4)
        first = Dof(1, 0, 0, angular, linear)
        second = Dof(0, 0, 1, vector(derivation, 0, 1, 0), vector(derivation, 1, 1, 1))
        moment, force = vector(derivation, 5, 6, 7), vector(derivation, 8, 9, 10)
        assert number(first.project(moment, force)) == 5 + 12 + 21 - 8 + 40
        link = LinkGeometry(-1, (), Rotation([]), linear, linear, (first, second), "label")
        v = scalars(derivation, (10, 2))
        assert numbers(link.turning(v)) == [2, 4 + 10, 6]
        assert numbers(link.sliding(v)) == [-2 + 10, 10, 8 + 10]
        alone = replace(link, dofs=(second,))
        assert alone.dof is second
        assert numbers(alone.turning(v)) == [0, 10, 0]
