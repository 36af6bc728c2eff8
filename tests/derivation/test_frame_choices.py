"""Choices of link frames: rotations about parallel axes, shared axes, shifted origins, and their
record.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.constants import Mat3
from symgen.derivation.model.links import Model, declared, inertia_of
from symgen.derivation.model.record import PARAMETERS, record
from symgen.derivation.model.regroup import regroup
from symgen.derivation.model.share import GROUND, members, share
from symgen.derivation.model.slide import axial_offset, slide
from symgen.derivation.model.spin import NO_SPIN, Spin
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Shift, Turn, Vector3
from tests.shared.robots_for_tests import random_mechanism

F = Fraction
THIRD = (k.rational(F(3, 5)), k.rational(F(4, 5)))


def about_z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def about_x(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def floats(matrix: Mat3) -> np.ndarray:
    return np.array([[k.as_float(x) for x in row] for row in matrix])


def value(spin: Spin, q: np.ndarray) -> float:
    cosine, sine = (k.as_float(x) for x in spin.constant)
    return math.atan2(sine, cosine) + sum(sign * float(q[link]) for link, sign in spin.terms)


# -- spin ------------------------------------------------------------------------------------------


def test_a_spin_is_a_sum_of_angles() -> None:
    q = np.array([0.3, -1.1, 0.7])
    with k.precision():
        eighth = (k.square_root(k.rational(F(1, 2))),) * 2  # cosine and sine of pi/4
        first, second = Spin(((0, 1), (2, -1)), THIRD), Spin(((1, 1), (2, 1)), eighth)
        for total, expected in (
            (first + second, value(first, q) + value(second, q)),
            (first - second, value(first, q) - value(second, q)),
            (-first, -value(first, q)),
        ):
            assert np.allclose(about_z(value(total, q)), about_z(expected), atol=1e-14)
        assert (first + second).terms == ((0, 1), (1, 1))  # in order, without those that cancel
        assert (first + first).terms == ((0, 2), (2, -2))
        assert (first - first).is_zero
        assert (first - first) == NO_SPIN


def test_only_a_spin_without_angles_is_constant_and_only_the_identity_is_zero() -> None:
    constant, turned = Spin((), THIRD), Spin(((0, 1),))
    assert constant.is_constant
    assert not constant.is_zero
    assert not turned.is_constant
    assert not turned.is_zero
    assert NO_SPIN.is_zero
    assert not Spin((), (-k.ONE, k.ZERO)).is_zero


# -- shared axes -----------------------------------------------------------------------------------


def axis_parallel(seed: int) -> Mechanism:
    """Return a tree with quarter turns between axes, many of which are parallel or opposite."""
    return random_mechanism(7, seed, "tree", ("revolute", "prismatic"), general=False)


def rotation_from_parent(model: Model, i: int, q: np.ndarray) -> np.ndarray:
    link = model.links[i]
    angle = float(q[i]) if link.turns else 0.0
    return floats(link.rotation) @ about_z(angle)


def rotation_from_ground(model: Model, i: int, group: int, q: np.ndarray) -> np.ndarray:
    """Return the rotation to link i from the axes of its group's joints at zero: those before Rz(β
    + q) of the first joint.
    """
    gamma, alpha, _ = k.zxz(model.links[group].rotation)
    (gamma_angle, alpha_angle) = (value(Spin((), angle), q) for angle in (gamma, alpha))
    rotation = (about_z(gamma_angle) @ about_x(alpha_angle)).T
    path = [i]
    while path[-1] != group:
        path.append(model.links[path[-1]].parent)
    for link in reversed(path):
        rotation = rotation @ rotation_from_parent(model, link, q)
    return rotation


def flip(sign: int) -> np.ndarray:
    return about_x(0 if sign > 0 else math.pi)


@pytest.mark.parametrize("seed", range(4))
def test_a_link_is_rotated_by_its_angle_about_the_axis_of_its_group(seed: int) -> None:
    q = np.random.default_rng(seed).uniform(-3, 3, 7)
    with k.precision():
        model = declared(axis_parallel(seed))
        for i, member in enumerate(members(model)):
            rotation = rotation_from_ground(model, i, member.group, q)
            expected = about_z(value(member.angle, q)) @ flip(member.sign)
            assert np.allclose(rotation, expected, atol=1e-12)


def test_axes_of_a_group_are_parallel_and_groups_are_as_large_as_possible() -> None:
    parallel_links = opposite_links = 0
    with k.precision():
        for seed in range(4):
            model = declared(axis_parallel(seed))
            group_members = members(model)
            for i, link in enumerate(model.links):
                along = k.as_float(link.rotation[2][2])
                joined = group_members[i].group != i
                assert joined == (link.parent >= 0 and abs(along) == 1)
                parallel_links += joined
                opposite_links += joined and along == -1
    assert parallel_links > opposite_links > 0


@pytest.mark.parametrize("seed", range(4))
def test_shared_axes_are_those_of_the_chosen_link_or_do_not_turn(seed: int) -> None:
    """A link written in the axes of link c has there the rotation of c, with its own z axis."""
    q = np.random.default_rng(seed).uniform(-3, 3, 7)
    with k.precision():
        model = declared(axis_parallel(seed))
        group_members = members(model)
        joined = [i for i, member in enumerate(group_members) if member.group != i]
        for choice in ("ground", "first", "own"):
            chosen = {
                i: {"ground": GROUND, "first": group_members[i].group, "own": i}[choice]
                for i in joined
            }
            shared = share(model, chosen)
            assert shared.changes == ("share",)
            for i in joined:
                member, slack = group_members[i], value(shared.links[i].slack, q)
                axes = rotation_from_ground(model, i, member.group, q) @ about_z(-slack)
                angle = 0.0 if choice == "ground" else value(group_members[chosen[i]].angle, q)
                assert np.allclose(axes, about_z(angle) @ flip(member.sign), atol=1e-12)
                assert shared.links[i].slack.is_zero or choice != "own"
            others = [i for i in range(7) if i not in joined]
            assert all(shared.links[i] == model.links[i] for i in others)
        assert share(model, {}).links == model.links


# -- shifted origins -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["revolute", "helical"])
def test_an_origin_that_is_shifted_along_its_axis_changes_no_pose_and_no_inertia(kind: str) -> None:
    robot = random_mechanism(5, 1, "tree", (kind,))
    part = replace(robot.bodies[1].parts[0], gravcomp=F(1, 2))
    robot = replace(
        robot, bodies=(robot.bodies[0], replace(robot.bodies[1], parts=(part,)), *robot.bodies[2:])
    )
    with k.precision():
        model, distance = declared(robot), k.rational(F(3, 7))
        shifted = slide(model, 1, distance)
        before, after = model.links[1], shifted.links[1]
        axes, origin = after.placement
        assert k.sub(origin, before.placement[1]) == k.scale(distance, k.transpose(axes)[2])
        assert axes == before.placement[0]
        z = k.transpose(before.rotation)[2]
        assert k.sub(k.sub(after.shift, before.shift), k.scale(distance, z)) == k.ORIGIN
        # the mass centre and the children stay where they are
        step = (k.ZERO, k.ZERO, distance)
        assert k.add(after.center, step) == before.center
        for i, link in enumerate(model.links):
            if link.parent == 1:
                assert k.add(shifted.links[i].shift, step) == link.shift
            elif i != 1:
                assert shifted.links[i] == link
        expected = inertia_of(robot.bodies[1], after.placement)
        assert (k.sub(after.inertia.h, expected.h), after.inertia.m) == (k.ORIGIN, expected.m)
        assert all(
            k.is_zero(k.normalize(x - y)) for x, y in zip(after.inertia.S, expected.S, strict=True)
        )
        assert k.is_zero(k.normalize(2 * after.compensated.m - after.inertia.m))
        assert k.sub(k.scale(2 * k.ONE, after.compensated.h), after.inertia.h) == k.ORIGIN


def test_the_axial_offset_leads_to_the_plane_of_a_neighbour() -> None:
    robot = random_mechanism(5, 1, "tree", ("revolute",))
    with k.precision():
        model = declared(robot)
        for child, link in enumerate(model.links):
            if link.parent < 0:
                assert k.is_zero(axial_offset(model, child, BASE))
                continue
            shifted = slide(model, link.parent, axial_offset(model, link.parent, child))
            assert k.is_zero(shifted.links[child].shift[2])
            shifted = slide(model, child, axial_offset(model, child, BASE))
            axis = k.transpose(link.rotation)[2]
            assert k.is_zero(k.normalize(k.dot(axis, shifted.links[child].shift)))
        trunk = declared(random_mechanism(3, 1, joints=("spherical",)))
        assert [axial_offset(trunk, i, BASE) for i in range(3)] == [k.ZERO] * 3


# -- record ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("general", [True, False])
def test_the_record_has_the_frames_as_shift_and_angles(general: bool) -> None:
    robot = random_mechanism(4, 2, "tree", ("revolute", "prismatic"), general=general)
    with k.precision():
        model = declared(robot)
        entries = record(model, regroup(model), {})
        for entry, link in zip(entries, model.links, strict=True):
            rotation = about_z(entry["gamma"]) @ about_x(entry["alpha"]) @ about_z(entry["offset"])
            assert np.allclose(rotation, floats(link.rotation), atol=1e-14)
            assert entry["shift"] == [k.as_float(x) for x in link.shift]
            assert np.allclose(entry["axes"], floats(link.placement[0]), atol=0)
            assert entry["origin"] == [k.as_float(x) for x in link.placement[1]]
            assert entry["link"] == entry["written_in"] == link.name
            parent = robot.body_names[link.parent] if link.parent >= 0 else None
            assert entry["parent"] == parent


def test_the_record_names_the_inertial_parameters_that_are_not_zero() -> None:
    def vector(*xyz: int) -> Vector3:
        x, y, z = (F(n) for n in xyz)
        return x, y, z

    part = Part("a", (Shift(vector(1, 0, 2)),), F(1), (F(3), F(0), F(0), F(3), F(0), F(3)))
    joints = (Joint("a", "revolute", BASE), Joint("b", "prismatic", 0, axis=Z_AXIS))
    robot = Mechanism("m", joints, (Body("a", (part,)), Body("b", (replace(part, link="b"),))))
    with k.precision():
        model = declared(robot)
        first, second = record(model, regroup(model), {})
    # the centre is at (1, 0, 2): hy, Sxy and Syz are zero
    everything = [name for name in PARAMETERS if name not in ("hy", "Sxy", "Syz")]
    assert first["declared"] == second["declared"] == everything
    # a rotation about z keeps neither m, hz nor Szz; a sliding link keeps only mass and first
    # moments
    assert first["kept"] == [name for name in everything if name not in ("m", "hz", "Szz")]
    assert second["kept"] == ["m", "hx", "hz"]


def test_the_record_names_the_link_in_whose_axes_a_link_is_written() -> None:
    joints = tuple(
        Joint(f"j{i}", "revolute", i - 1, (Shift(X_AXIS),), axis)
        for i, axis in enumerate((Y_AXIS, Z_AXIS, Z_AXIS, Z_AXIS))
    )
    robot = Mechanism("m", joints, tuple(Body(f"b{i}") for i in range(4)))
    with k.precision():
        model = declared(robot)
        assert [member.group for member in members(model)] == [0, 1, 1, 1]
        entries = record(model, model, {0: GROUND, 1: GROUND, 2: GROUND, 3: 2})
    # the ground of a group is the parent of its first link
    assert [entry["written_in"] for entry in entries] == [None, "b0", "b0", "b2"]


def test_a_half_turn_about_z_is_an_offset() -> None:
    joint = Joint("j", "revolute", BASE, (Turn(Z_AXIS, Angle(pi=F(1))),))
    with k.precision():
        model = declared(Mechanism("m", (joint,), (Body("b"),)))
        (entry,) = record(model, model, {})
    assert (entry["gamma"], entry["alpha"], entry["offset"]) == (0.0, 0.0, math.pi)
