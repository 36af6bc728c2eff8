"""Origins of chosen link frames: feet of common normals, projected origins and mass centres."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from symgen.derivation import constants as k
from symgen.derivation.model import reframe
from symgen.derivation.model.links import Link, Model
from symgen.derivation.model.reframe import refuse_many_joints
from symgen.mechanism.mechanism import Body, Joint, Mechanism, Part
from symgen.support.errors import TooLong
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Shift, Vector3
from tests.shared.robots_for_tests import random_mechanism

F = Fraction
TREES = [(("revolute",), 0), (("revolute", "prismatic"), 1), (("revolute", "spherical"), 2)]
NEARLY_PARALLEL = 1e-2
"""Largest sin² of the angle between axes that are placed as if they were parallel."""


def vanishes(value: k.Constant) -> bool:
    return k.is_zero(k.normalize(value))


def axis_in_parent(link: Link) -> k.Vec3:
    return k.transpose(link.rotation)[2]


def sine_squared(link: Link) -> float:
    """Return sin² of the angle between the axes of a link and of its parent."""
    return 1 - k.as_float(axis_in_parent(link)[2]) ** 2


def main_child(model: Model, i: int) -> int | None:
    """Return the child with the largest subtree; of equal ones, the first."""
    size = [
        sum(i == j or i in model.ancestors(j) for j in range(len(model.links)))
        for i in range(len(model.links))
    ]
    return max(model.children(i), key=lambda child: (size[child], -child), default=None)


@pytest.mark.parametrize(("kinds", "seed"), TREES)
def test_a_turning_link_starts_at_the_foot_of_the_normal_with_its_main_child(
    kinds: tuple[str, ...], seed: int
) -> None:
    with k.precision():
        model = reframe(random_mechanism(6, seed, "tree", kinds))
        for i, link in enumerate(model.links):
            child = main_child(model, i)
            if child is None or not (link.turns and link.directed):
                continue
            inner = model.links[child]
            if inner.directed and sine_squared(inner) > NEARLY_PARALLEL:
                # its z axis, from the foot on, and the child's axis have a common normal along x
                _, y, z = inner.shift
                along = axis_in_parent(inner)
                assert vanishes(along[0])
                assert vanishes(y * along[2] - z * along[1])
            else:
                assert vanishes(inner.shift[2])


@pytest.mark.parametrize(("kinds", "seed"), TREES)
def test_a_turning_leaf_starts_nearest_to_the_axis_of_its_parent(
    kinds: tuple[str, ...], seed: int
) -> None:
    with k.precision():
        model = reframe(random_mechanism(6, seed, "tree", kinds))
        leaves = [i for i in range(6) if not model.children(i)]
        assert len(leaves) > 1
        for i in leaves:
            link = model.links[i]
            if link.parent < 0 or not (link.turns and link.directed):
                continue
            x, y, z = link.shift
            parent = model.links[link.parent]
            across = (
                (x, y, k.ZERO)
                if parent.directed and sine_squared(link) > NEARLY_PARALLEL
                else (x, y, z)  # nearest to the parent's origin
            )
            assert vanishes(k.dot(axis_in_parent(link), across))


def test_a_sliding_leaf_starts_at_its_mass_centre_and_another_sliding_link_at_its_child() -> None:
    with k.precision():
        model = reframe(random_mechanism(6, 3, "tree", ("prismatic",)))
        for i, link in enumerate(model.links):
            child = main_child(model, i)
            if child is not None:
                assert all(vanishes(x) for x in model.links[child].shift)
            elif link.parent >= 0:
                assert all(vanishes(x) for x in link.inertia.h)
                assert not vanishes(link.inertia.m)


def two_axes(tilt: Fraction) -> Model:
    """Return two turning joints whose axes are at an angle with this tangent, at a distance along
    z.
    """
    axis: Vector3 = (F(0), tilt, F(1))
    part = Part("p", (), F(1), (F(1), F(0), F(0), F(1), F(0), F(1)))
    joints = (
        Joint("a", "revolute", -1),
        Joint("b", "revolute", 0, (Shift((F(1), F(2), F(3))),), axis),
        Joint("c", "prismatic", 1, (Shift(X_AXIS),), Z_AXIS),
    )
    return reframe(Mechanism("m", joints, tuple(Body(joint.name, (part,)) for joint in joints)))


@pytest.mark.parametrize(("degrees_tangent", "parallel"), [(F(9, 100), True), (F(11, 100), False)])
def test_axes_within_about_six_degrees_are_placed_as_parallel(
    degrees_tangent: Fraction, parallel: bool
) -> None:
    """sin² is 0.008 and 0.012. The feet of the normal would be 2/tan = 20 m away."""
    with k.precision():
        model = two_axes(degrees_tangent)
        origin = model.links[0].placement[1]
        child = model.links[1]
        assert vanishes(child.shift[2]) == parallel
        assert (abs(k.as_float(origin[2])) > 10) == (not parallel)


def test_a_root_without_children_keeps_its_declared_origin() -> None:
    robot = random_mechanism(1, 4)
    with k.precision():
        assert reframe(robot).links[0].placement[1] == k.ORIGIN
        sliding = random_mechanism(1, 4, joints=("prismatic",))
        assert reframe(sliding).links[0].placement[1] == k.ORIGIN
        massless = replace(
            random_mechanism(2, 4, joints=("prismatic",)), bodies=(robot.bodies[0], Body("b"))
        )
        assert reframe(massless).links[1].placement[1] == k.ORIGIN


def test_robots_with_more_than_5000_joints_are_refused() -> None:
    at_most, more = (SimpleNamespace(name="long", joints=range(n)) for n in (5000, 5001))
    refuse_many_joints(at_most)  # type: ignore[arg-type]
    with pytest.raises(TooLong, match="5001 joints move, and symgen writes rows for at most 5000"):
        refuse_many_joints(more)  # type: ignore[arg-type]
