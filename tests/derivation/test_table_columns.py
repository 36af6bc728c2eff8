"""Tables of a robot's links: their constants, and the columns in which they are stored."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.geometry import Dof, LinkGeometry
from symgen.derivation.gravity_compensation import (
    CompensatedMatter,
    compensated_matter,
    compensation_derivatives,
    compensation_forces,
    has_gravity_compensation,
)
from symgen.derivation.loads import link_wrench, payload_inertia
from symgen.derivation.model import Frame
from symgen.derivation.model.links import declared
from symgen.derivation.scalars import Derivation
from symgen.derivation.spatial import Rotation, SplitShift
from symgen.derivation.table_linkage import (
    COMPARED_FIRST,
    FRAME_POSE,
    INERTIAL,
    Columns,
    Naming,
    constants_of,
)
from tests.derivation.exact_scalars import array, number, numbers, scalars, vector
from tests.shared.robots_for_tests import random_mechanism

F = Fraction


def rows_of(*rows: dict[str, int]) -> list[dict[str, k.Constant]]:
    return [{name: k.rational(x) for name, x in row.items()} for row in rows]


# -- columns ---------------------------------------------------------------------------------------


def test_equal_values_are_common_and_equal_columns_are_shared() -> None:
    rows = rows_of(
        {"a": 1, "b": 2, "c": 5, "d": 2, "e": 3},
        {"a": 1, "b": 4, "c": 6, "d": 4, "e": 3},
        {"a": 1, "b": 2, "c": 5, "d": 2, "e": 4},
    )
    columns = Columns.of(rows)
    assert columns.common == {"a": 1}
    assert columns.width == 3
    assert columns.names == ("b = d", "c", "e")
    assert [columns.row(row) for row in rows] == [[2, 5, 3], [4, 6, 3], [2, 5, 4]]
    unshared = Columns.of(rows, unshared=("a", "d"))
    assert unshared.common == {}
    assert unshared.names == ("a", "b", "c", "d", "e")
    assert Columns.of(rows[:1]).width == 0


def test_columns_that_differ_only_in_a_later_link_are_not_shared() -> None:
    """The first links are compared first; a full comparison decides."""
    count = COMPARED_FIRST + 2
    rows = rows_of(
        *({"a": n, "b": n, "c": n if n < count - 1 else 0, "d": 7} for n in range(count))
    )
    columns = Columns.of(rows)
    assert columns.names == ("a = b", "c")
    assert columns.common == {"d": 7}


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "helical"])
def test_constants_of_a_link_are_its_pose_inertia_and_drive(kind: str) -> None:
    with k.precision():
        model = declared(random_mechanism(3, 1, joints=(kind,)))
        for link in model.links:
            constants = constants_of(link, with_pose=True)
            floats = {name: k.as_float(x) for name, x in constants.items()}
            if kind in ("revolute", "helical"):
                beta = floats["offset"]
                assert "cos_beta" not in floats
            else:
                beta = math.atan2(floats["sin_beta"], floats["cos_beta"])
                assert "offset" not in floats
            gamma, alpha = (
                math.atan2(floats[f"sin_{name}"], floats[f"cos_{name}"])
                for name in ("gamma", "alpha")
            )
            rotation = (
                rotation_matrix("z", gamma)
                @ rotation_matrix("x", alpha)
                @ rotation_matrix("z", beta)
            )
            expected = np.array([[k.as_float(x) for x in row] for row in link.rotation])
            assert np.allclose(rotation, expected, atol=1e-14)
            shift = np.array([floats[name] for name in "xyz"])
            outer = np.array([floats[f"outer_{name}"] for name in "xyz"])
            if link.directed:
                axis = expected[:, 2]
                assert np.allclose(outer + floats["along"] * axis, shift, atol=1e-14)
                assert abs(outer @ axis) < 1e-14
            else:
                assert np.allclose(outer, shift)
                assert floats["along"] == 0
            values = (link.inertia.m, *link.inertia.h, *link.inertia.S)
            assert [constants[name] for name in INERTIAL] == list(values)
            centre = [constants[f"centre_{name}"] for name in "xyz"]
            assert centre == list(link.center)
            c1, s1, c2, s2, c3, s3, *position = (floats[name] for name in FRAME_POSE)
            placed = (
                rotation_matrix("z", math.atan2(s1, c1))
                @ rotation_matrix("x", math.atan2(s2, c2))
                @ rotation_matrix("z", math.atan2(s3, c3))
            )
            axes, origin = link.placement
            inverse = np.array([[k.as_float(x) for x in row] for row in axes]).T
            assert np.allclose(placed, inverse, atol=1e-14)
            assert np.allclose(position, -inverse @ [k.as_float(x) for x in origin], atol=1e-14)
            assert not {*FRAME_POSE} & {*constants_of(link)}


def rotation_matrix(axis: str, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    if axis == "z":
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def test_all_names_of_a_row_are_recorded_and_a_negated_row_has_its_own() -> None:
    derivation = Naming({"x": 2})
    x, y = derivation.inputs["x"]
    derivation.step("first")
    total = x + y
    derivation.step("second")
    derivation.name("a", total)
    derivation.name("b", total)
    negated, again = -total, -total
    derivation.name("c", negated)
    derivation.name("d", again)
    assert derivation.all_names[total.row] == ["a", "b"]
    assert derivation.all_names[negated.row] == ["c", "d"]
    assert negated.row == again.row != total.row
    assert (negated.sign, derivation.rows[negated.row][:2]) == (1, ("neg", total.row))
    assert derivation.step_of[negated.row] == derivation.step_of[total.row] == 0
    assert derivation.name("e", derivation.one) is derivation.one


# -- loads -----------------------------------------------------------------------------------------

QUARTER = ((0, -1, 0), (1, 0, 0), (0, 0, 1))
"""A quarter turn about z."""


def rotation_of(derivation: Derivation) -> Rotation:
    x, y, z = (vector(derivation, *row) for row in QUARTER)
    return Rotation([(x, y, z)])


def test_a_payload_has_the_inertia_of_its_numbers_in_the_frame_of_the_link() -> None:
    derivation = Derivation({})
    with k.precision():
        frame = Frame("hand", 0, k.IDENTITY, k.ORIGIN)
        mass, centre, moments = F(2), (F(1), F(-1), F(3)), [F(x) for x in (30, 2, -5, 25, 7, 9)]
        payload = scalars(derivation, (mass, *centre, *moments))
        shift = (F(1), F(2), F(4))
        pose = rotation_of(derivation), vector(derivation, *shift)
        inertia = payload_inertia(derivation, frame, pose, payload)
        xx, xy, xz, yy, yz, zz = moments
        half = (xx + yy + zz) / 2
        sigma = np.array([[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]])
        turn, h = np.array(QUARTER), mass * np.array(centre)
        first, arm = turn @ h, np.array(shift)
        second = (
            turn @ sigma @ turn.T
            + np.outer(first, arm)
            + np.outer(arm, first)
            + mass * np.outer(arm, arm)
        )
        assert number(inertia.m) == mass
        assert numbers(inertia.h) == list(first + mass * arm)
        assert numbers(inertia.S.entries) == list(second[np.triu_indices(3)])
        assert number(inertia.about_z) == second[0, 0] + second[1, 1]


def test_a_wrench_is_moved_to_the_origin_of_its_link() -> None:
    derivation = Derivation({})
    with k.precision():
        frame = Frame("hand", 0, k.IDENTITY, k.ORIGIN)
        shift = np.array([1, 2, 4])
        pose = rotation_of(derivation), vector(derivation, *shift.tolist())
        wrench = scalars(derivation, (1, 2, 3, 4, 5, 6))
        moment, force = link_wrench(derivation, frame, pose, wrench)
        turned_force = np.array(QUARTER) @ [4, 5, 6]
        assert numbers(force) == list(turned_force)
        assert numbers(moment) == list(
            np.array(QUARTER) @ [1, 2, 3] + np.cross(shift, turned_force)
        )


# -- gravity compensation --------------------------------------------------------------------------


def chain(derivation: Derivation, split: bool) -> list[LinkGeometry]:
    """Return two links: the second is turned by a quarter turn and displaced by (1, 2, 4)."""
    z, zero = vector(derivation, 0, 0, 1), vector(derivation, 0, 0, 0)
    slanted = vector(derivation, 0, 2, 1)
    shift = vector(derivation, 1, 2, 4)
    if split:  # z does not turn, so that a part along it may be applied before the rotation
        shift = SplitShift(shift, vector(derivation, 0, 0, 3), vector(derivation, 1, 2, 1))
    first = LinkGeometry(
        -1, (1,), Rotation([]), zero, zero, (Dof(0, 0, 0, z, zero), Dof(1, 0, 1, zero, z)), "first"
    )
    second = LinkGeometry(
        0, (), rotation_of(derivation), shift, shift, (Dof(2, 1, 0, z, slanted),), "second"
    )
    return [first, second]


@pytest.mark.parametrize("split", [False, True])
def test_compensated_matter_is_summed_about_the_origin_of_each_link(split: bool) -> None:
    derivation = Derivation({})
    with k.precision():
        (m1, m2), h1 = scalars(derivation, (2, 3)), vector(derivation, 1, 0, -1)
        h2, up = vector(derivation, 5, 6, 7), vector(derivation, 1, 2, 3)
        first, second = compensated_matter(
            chain(derivation, split), [(m1, h1), (m2, h2)], [up, vector(derivation, 2, -1, 3)]
        )
        assert (number(first.m), number(second.m)) == (5, 3)
        assert numbers(second.h) == [5, 6, 7]
        expected = np.array([1, 0, -1]) + np.array(QUARTER) @ [5, 6, 7] + 3 * np.array([1, 2, 4])
        assert numbers(first.h) == list(expected)
        assert numbers(first.a) == [1, 2, 3]


def test_forces_of_compensation_and_their_derivatives_are_those_of_points() -> None:
    """A wrench (ĥ × a, m̂ a) on each link; displaced by S_k, ancestors get the couple δ_k × a."""
    derivation = Derivation({})
    turn, z, zero = np.array(QUARTER), np.array([0, 0, 1]), np.zeros(3, int)
    up_1 = np.array([3, 5, 7])
    up = [up_1, turn.T @ up_1]
    masses, moments = [5, 3], [np.array([1, -2, 4]), np.array([2, 3, -1])]
    columns = [(0, z, zero), (0, zero, z), (1, z, np.array([0, 2, 1]))]
    with k.precision():
        matters = [
            CompensatedMatter(
                scalars(derivation, [m])[0],
                vector(derivation, *h.tolist()),
                vector(derivation, *a.tolist()),
            )
            for m, h, a in zip(masses, moments, up, strict=True)
        ]
        links = chain(derivation, False)
        forces = [w @ np.cross(moments[i], up[i]) + v @ (masses[i] * up[i]) for i, w, v in columns]
        assert numbers(compensation_forces(links, matters)) == forces
        expected = np.zeros((3, 3), int)
        for c, (i, w, v) in enumerate(columns):
            couple = np.cross(np.cross(w, moments[i]) + masses[i] * v, up[i])
            for r, (j, outer, _) in enumerate(columns):
                if j == i:
                    expected[r, c] = outer @ couple
                elif j < i:
                    expected[r, c] = expected[c, r] = outer @ (turn @ couple)
        derivatives = array(compensation_derivatives(links, matters)).astype(int)
        # for two columns k and j of one joint, row k has z_j · c_k
        assert (derivatives[:2, :2] == expected[:2, :2].T).all()
        assert (derivatives[2] == expected[2]).all()
        assert (derivatives[:, 2] == expected[:, 2]).all()


def test_a_model_is_compensated_if_a_link_has_compensated_mass_or_moment() -> None:
    robot = random_mechanism(2, 1)
    part = robot.bodies[1].parts[0]
    body = replace(robot.bodies[1], parts=(replace(part, gravcomp=F(1)),))
    with k.precision():
        assert not has_gravity_compensation(declared(robot))
        assert has_gravity_compensation(declared(replace(robot, bodies=(robot.bodies[0], body))))
