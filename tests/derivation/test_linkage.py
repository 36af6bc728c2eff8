"""Linkages: products and sums over links, degrees of freedom that move others, and split shifts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model.links import Model, declared
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import SplitShift
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.mechanism import Body, Joint, Mechanism
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Rotate, Shift, Turn, Vector3
from tests.derivation.exact_scalars import number, numbers, scalars
from tests.shared.robots_for_tests import random_mechanism

F = Fraction
FLOATS = Numbers(float, np.sin, np.cos, np.sqrt, np.log)


def linkage(mechanism: Mechanism) -> Linkage:
    return Linkage(declared(mechanism), Derivation({"q": mechanism.uncoupled.nq}))


def value(derivation: Derivation, result: Scalar, q: list[float]) -> float:
    program = derivation.freeze("f", "m", [("y", (1,), [result])], {"q": (len(q),)})
    return float(evaluate(program, {"q": q}, FLOATS)["y"][0])


def test_products_and_logarithms_of_constant_and_variable_factors() -> None:
    with k.precision():
        links = linkage(random_mechanism(2, 1))
        derivation = links.derivation
        x, y = derivation.inputs["q"]
        two, three = scalars(derivation, (2, 3))
        q = [1.25, 3.5]
        factors = [x, two, y, three]
        assert value(derivation, links.product(factors), q) == pytest.approx(1.25 * 2 * 3.5 * 3)
        assert links.product([]) is derivation.one
        by_link = {0: [x, two], 1: [y, three]}
        over_links = links.product_over_links(by_link)
        assert value(derivation, over_links, q) == pytest.approx(1.25 * 2 * 3.5 * 3)
        logarithm = np.log(1.25 * 2 * 3.5 * 3)
        for result in (links.log_product(factors), links.log_product_over_links(by_link)):
            assert value(derivation, result, q) == pytest.approx(logarithm)
        assert number(links.product([two, three])) == 6
        logs = [op for op, _, _ in derivation.rows if op == "log"]
        assert len(logs) == 2  # of x and of y; all constants have one, which is no row


def test_sums_over_links_start_from_a_total() -> None:
    with k.precision():
        links = linkage(random_mechanism(2, 1))
        first, two, five = scalars(links.derivation, (1, 2, 5))
        assert number(links.sum_over_links([(0, first), (1, two)])) == 3
        assert number(links.sum_over_links([(0, first), (1, two)], five)) == 8
        assert links.sum_over_links([]).is_zero
        assert number(links.dot([first, two], [five, five])) == 15


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_values_of_links_are_combined_in_a_balanced_tree(count: int) -> None:
    with k.precision():
        links = linkage(random_mechanism(2, 1))
        depth: dict[int, int] = {}

        def join(a: Scalar, b: Scalar) -> Scalar:
            total = a + b
            depth[id(total)] = 1 + max(depth.get(id(a), 0), depth.get(id(b), 0))
            totals.append(total)
            return total

        totals: list[Scalar] = []
        values = dict(enumerate(scalars(links.derivation, (2**n for n in range(count)))))
        result = links.combine_over_links(join, values)
        assert number(result) == 2**count - 1
        assert len(totals) == count - 1
        assert depth.get(id(result), 0) == (count - 1).bit_length()


def test_the_degrees_of_freedom_that_move_another_are_those_before_it_up_to_the_root() -> None:
    joints = (
        Joint("a", "revolute", -1),
        Joint("ball", "spherical", 0),
        Joint("aside", "prismatic", 0),
        Joint("tube", "cylindrical", 1),
    )
    robot = Mechanism("m", joints, tuple(Body(joint.name) for joint in joints))
    with k.precision():
        links = linkage(robot)
        # v: a = 0, ball = 1 2 3, aside = 4, tube = 5 6
        assert len(links) == 4
        assert [links.carriers(index) for index in range(7)] == [
            [],
            [0],
            [1, 0],
            [2, 1, 0],
            [0],
            [3, 2, 1, 0],
            [5, 3, 2, 1, 0],
        ]
        assert [(dof.index, dof.link, dof.column) for dof in links.dofs][4:] == [
            (4, 2, 0),
            (5, 3, 0),
            (6, 3, 1),
        ]


def vector(x: int, y: int, z: int) -> Vector3:
    return F(x), F(y), F(z)


def turning_pair(shift: Vector3, axis: Vector3, kind: str = "revolute") -> Model:
    joints = (Joint("a", "revolute", -1), Joint("b", kind, 0, (Shift(shift),), axis))
    return declared(Mechanism("m", joints, (Body("a"), Body("b"))))


@pytest.mark.parametrize(
    ("shift", "axis", "kind", "split"),
    [
        (vector(1, 0, 0), Z_AXIS, "revolute", False),  # nothing along the axis
        (vector(0, 0, 1), Z_AXIS, "revolute", True),
        (vector(1, 0, 1), Z_AXIS, "revolute", True),  # a length before and one after the joint
        (vector(1, 1, 0), X_AXIS, "revolute", True),
        (vector(1, 2, 3), Y_AXIS, "revolute", True),
        (vector(1, 1, 0), vector(3, 4, 0), "revolute", False),  # 3 lengths instead of 2
        (vector(0, 0, 1), Z_AXIS, "prismatic", False),  # no rotation between both sides
        (vector(0, 0, 1), Z_AXIS, "planar", False),  # slides across
        (vector(1, 0, 0), Z_AXIS, "helical", True),  # slides along
    ],
)
def test_a_shift_is_split_if_that_takes_no_more_lengths(
    shift: Vector3, axis: Vector3, kind: str, split: bool
) -> None:
    parameters = (("pitch", F(1, 4)),) if kind == "helical" else ()
    joints = (
        Joint("a", "revolute", -1),
        Joint("b", kind, 0, (Shift(shift),), axis, parameters=parameters)
        if kind != "planar"
        else Joint("b", kind, 0, (Shift(shift),)),
    )
    robot = Mechanism("m", joints, (Body("a"), Body("b")))
    with k.precision():
        links = linkage(robot)
        result = links.links[1].shift
        assert isinstance(result, SplitShift) == split
        if kind == "revolute":
            assert numbers(result) == list(shift)
        if isinstance(result, SplitShift) and kind == "revolute":
            # the part along the axis before the rotation, and that across it after it
            along = sum(x * y for x, y in zip(shift, axis, strict=True))
            assert numbers(result.inner) == [0, 0, along]
            assert numbers(result.outer) == [
                x - along * y for x, y in zip(shift, axis, strict=True)
            ]


def test_a_constant_rotation_has_one_factor_if_it_maps_axes_to_axes_and_else_three() -> None:
    with k.precision():
        links = linkage(random_mechanism(2, 1))
        for pose, factors in (
            ((Turn(X_AXIS, Angle(pi=F(1, 2))), Turn(Z_AXIS, Angle(pi=F(-1, 2)))), 1),
            ((Rotate((F(1), F(2), F(3), F(4))),), 3),
        ):
            rotation, _ = k.displacement(pose)
            factored = links.constant_rotation(rotation)
            assert len(factored.factors) == factors
            column = factored.to_parent(links.vector(k.IDENTITY[0]))
            expected = [k.to_fraction(x) for x in k.transpose(rotation)[0]]
            assert [float(x) for x in numbers(column)] == pytest.approx(list(map(float, expected)))


def test_the_end_of_a_link_is_the_next_joint_or_its_mass_centre() -> None:
    with k.precision():
        links = linkage(random_mechanism(2, 1, joints=("spherical",)))
        assert numbers(links.end_point(0)) == numbers(links.links[1].shift)
        centre = [k.to_fraction(x) for x in links.model.links[1].center]
        assert numbers(links.end_point(1)) == centre
        assert numbers(links.center(1)) == centre


def test_gravity_in_the_axes_of_a_root_is_turned_by_its_coordinates() -> None:
    for kind in ("revolute", "spherical", "free"):
        for gravity in (vector(0, 0, -10), vector(1, 2, 3), vector(0, 5, 0)):
            joint = Joint("a", kind, -1)
            robot = Mechanism("m", (joint,), (Body("a"),), gravity=gravity)
            with k.precision():
                links = linkage(robot)
                upward = links.against_gravity(0)
                rotation = links.links[0].rotation
                expected = rotation.to_child(-links.gravity[0])
                # a quaternion of length 1 at the end of q: (1, 4, 8, 0)/9
                q = ([0.5] * 7)[: joint.type.nq]
                if joint.type.quaternion is not None:
                    q[-4:] = [1 / 9, 4 / 9, 8 / 9, 0.0]
                for x, y in zip(upward, expected, strict=True):
                    assert value(links.derivation, x, q) == pytest.approx(
                        value(links.derivation, y, q), abs=1e-12
                    )
