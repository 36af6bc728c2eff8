"""Bounds by energy of a cart, an arm and a lift, in closed form; values of an elimination at
states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import sqrt
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen.certificate.bodies import Bodies, LinearForm
from symgen.certificate.divisors import lower_bound
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.samples import Samples, eliminate
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.reference.precision import arb
from tests.shared.bars import chain_of_bars

M_CART, M_ARM, M_LIFT = 3.0, 2.0, 0.5
ARMATURE = 0.5
MOMENT = 0.25
"""kg m²: every principal moment of a link about its mass centre."""
STROKE = 1.0
"""m: assumed range of a slide."""


def link(mass: str, *centre: str, **numbers: Any) -> dict[str, Any]:
    return {"mass": mass, "centre": centre, "inertia": ("0.25", 0, 0, "0.25", 0, "0.25"), **numbers}


@cache
def carriage() -> Mechanism:
    """Return a cart along x, an arm about z on it, and a lift along z on the arm."""
    return (
        symgen.Robot("carriage")
        .body(
            "cart",
            parent="base",
            type="prismatic",
            axis=(1, 0, 0),
            xyz=(0, 2, 0),
            armature="0.5",
            **link("3", "0.3", "0.4", "0"),
        )
        .body(
            "arm",
            parent="cart",
            type="revolute",
            axis=(0, 0, 1),
            xyz=(0, "1.5", 0),
            **link("2", "0.75", "1", "0"),
        )
        .body(
            "lift",
            parent="arm",
            type="prismatic",
            axis=(0, 0, 1),
            xyz=(0, "0.5", 0),
            **link("0.5", "0.45", "0", "0.6"),
        )
        .frame("hook", "lift", xyz=("0.3", 0, "0.4"))
        .build()
    )


def bodies(mechanism: Mechanism, payload: str | None = None) -> Bodies:
    return Bodies(mechanism, declared_ranges(mechanism), payload)


def spread(mass: float, radius: float) -> float:
    """Return ∫ρ r² about a link's origin: half the trace of its moments there."""
    return 3 * MOMENT / 2 + mass * radius**2


# -- how large M can get --


def test_bodies_reach_as_far_as_their_poses_and_slides() -> None:
    """The hinge's offset is 1.5 m; the slides reach 1 m more."""
    assert [float(x) for x in bodies(carriage()).reach] == pytest.approx([3, 1.5, 1.5])


def test_stretched_links_bound_the_diagonal() -> None:
    result = bodies(carriage())
    carried = spread(M_LIFT, 0.75) + 2 * 1.5 * M_LIFT * 0.75 + M_LIFT * 1.5**2
    expected = [
        ARMATURE + M_CART + M_ARM + M_LIFT,
        spread(M_ARM, 1.25) + carried,
        M_LIFT,
    ]
    assert [float(result.composite(k)) for k in range(3)] == pytest.approx(expected)


def test_a_load_adds_its_largest_mass_centre_and_moments() -> None:
    """Up to 5 kg, 0.2 m along each axis and moments of 0.2 kg m², at the hook 1/2 m out on the
    lift.
    """
    result = bodies(carriage(), "hook")
    without = bodies(carriage())
    distance, centre = 1.5 + 0.5, 0.2 * sqrt(3)
    turned = 0.3 + 2 * distance * 5 * centre + 5 * distance**2
    added = [float(result.composite(k)) - float(without.composite(k)) for k in range(3)]
    assert added == pytest.approx([5, turned, 5])


def test_a_load_counts_its_trace_and_the_farther_end_of_each_range() -> None:
    """Twice ∫ρ r² is the sum of the moments about x, y and z; products of inertia do not count."""
    declared = declared_ranges(carriage())
    ends = (
        (0, 4),
        ("-0.3", "0.1"),
        ("-0.1", "0.4"),
        (0, 0),
        (0, "0.1"),
        (-9, 9),
        (-9, 9),
        (0, "0.2"),
        (-9, 9),
        (0, "0.5"),
    )
    payload = tuple((Fraction(low), Fraction(high)) for low, high in ends)
    ranges = replace(declared, of={**declared.of, "payload": payload})
    loaded, without = Bodies(carriage(), ranges, "hook"), bodies(carriage())
    turned = (0.1 + 0.2 + 0.5) / 2 + 2 * 2 * 4 * 0.5 + 4 * 2**2
    added = [float(loaded.composite(k)) - float(without.composite(k)) for k in range(3)]
    assert added == pytest.approx([4, turned, 4])


def test_distances_add_up_along_a_chain() -> None:
    """Bars of 1 kg and 1 m: ∫ρ r² about the origin of a bar is 0.4, and its centre is at 1/2 m."""
    chain = bodies(chain_of_bars(3).build())
    carried = [0.4 + 2 * away * 0.5 + away**2 for away in (0, 1, 2)]
    expected = [sum(carried[:n]) for n in (3, 2, 1)]
    assert [float(chain.composite(k)) for k in range(3)] == pytest.approx(expected)


def test_a_load_on_another_branch_is_not_carried() -> None:
    mechanism = carriage()
    joints = (*mechanism.joints[:2], replace(mechanism.joints[2], parent=-1))
    forked = replace(mechanism, joints=joints)
    result, without = bodies(forked, "hook"), bodies(forked)
    assert [float(result.composite(k) - without.composite(k)) for k in range(3)] == [0, 0, 5]


@pytest.mark.parametrize("pitch", ["0.5", "-0.5"])
def test_a_screw_has_both_parts(pitch: str) -> None:
    screw = symgen.Robot("screw").body(
        "nut",
        parent="base",
        type="helical",
        axis=(0, 0, 1),
        pitch=pitch,
        **link("2", "1", "0", "0"),
    )
    assert float(bodies(screw.build()).composite(0)) == pytest.approx(spread(2, 1) + 2 * 0.25)


@cache
def led() -> Mechanism:
    """Return two hinges side by side, of which the second follows the first −3 times as fast."""
    return (
        symgen.Robot("led", mimic="couple")
        .body("a", parent="base", type="revolute", axis=(0, 0, 1), **link("2", "1", "0", "0"))
        .body(
            "b",
            parent="base",
            type="revolute",
            axis=(0, 0, 1),
            mimic=("a_joint", -3, "0.5"),
            armature=1,
            **link("1", "0", "2", "0"),
        )
        .build()
    )


def test_roots_of_a_leader_and_its_followers_add_up() -> None:
    expected = (sqrt(spread(2, 1)) + 3 * sqrt(spread(1, 2) + 1)) ** 2
    assert float(bodies(led()).composite(0)) == pytest.approx(expected)


# -- the own link --


def test_own_inertias_are_moments_about_the_axis_and_masses_with_armatures() -> None:
    result = bodies(carriage())
    expected = [M_CART + ARMATURE, MOMENT + M_ARM * 1.25**2, M_LIFT]
    assert [float(result.own_inertia(k)) for k in range(3)] == pytest.approx(expected)
    assert [result.turns(k) for k in range(3)] == [False, True, False]


def test_own_inertias_of_followers_on_other_branches_count_by_squared_rates() -> None:
    expected = MOMENT + 2 + 9 * (MOMENT + 4 + 1)
    assert float(bodies(led()).own_inertia(0)) == pytest.approx(expected)


def test_a_follower_that_turns_twice_as_fast_counts_four_times() -> None:
    joints = led().joints
    coupling = replace(joints[1].mimic, multiplier=Fraction(2))  # type: ignore[type-var]
    twice = replace(led(), joints=(joints[0], replace(joints[1], mimic=coupling)))
    expected = MOMENT + 2 + 4 * (MOMENT + 4 + 1)
    assert float(lower_bound(bodies(twice).own_inertia(0))) == pytest.approx(expected)


def test_a_follower_on_the_same_branch_is_not_independent() -> None:
    mechanism = led()
    stacked = replace(
        mechanism, joints=(mechanism.joints[0], replace(mechanism.joints[1], parent=0))
    )
    result = bodies(stacked)
    assert [body.body for body in result.independent_bodies(0)] == [0]
    assert float(result.own_inertia(0)) == pytest.approx(MOMENT + 2)
    assert [body.body for body in bodies(mechanism).independent_bodies(0)] == [0, 1]


def test_links_with_negative_moments_are_named() -> None:
    mechanism = carriage()
    (part,) = mechanism.bodies[1].parts
    odd = replace(part, moments=(Fraction(-1), *part.moments[1:]))
    weak = replace(
        mechanism, bodies=(mechanism.bodies[0], Body("arm", (odd,)), mechanism.bodies[2])
    )
    assert bodies(weak).weakness(1) == "the inertia of link 'arm' is not positive"
    assert bodies(weak).weakness(0) is None


# -- the tree --


def test_subtrees_and_outward_entries() -> None:
    mechanism = carriage()
    joints = (*mechanism.joints[:2], replace(mechanism.joints[2], parent=0))
    result = bodies(replace(mechanism, joints=joints))
    assert [result.subtree(i) for i in range(3)] == [[0, 1, 2], [1], [2]]
    assert [result.outward(k) for k in range(3)] == [[0, 1, 2], [1], [2]]
    assert [result.moved_bodies(k) for k in range(3)] == [[0, 1, 2], [1], [2]]
    assert result.name(1) == "joint 'arm_joint'"
    assert [result.branching(k) for k in range(3)] == [None] * 3
    assert list(result.joints) == [0, 1, 2]


def test_earlier_velocities_of_a_joint_are_locked() -> None:
    """On a planar joint with a hinge, the entries from each one on remain free."""
    builder = symgen.Robot("puck").body(
        "puck", parent="base", type="planar", **link("1", "0", "0", "0")
    )
    builder.body("arm", parent="puck", type="revolute", axis=(0, 0, 1), **link("1", "1", "0", "0"))
    result = bodies(builder.build())
    assert [result.outward(k) for k in range(4)] == [[0, 1, 2, 3], [1, 2, 3], [2, 3], [3]]
    assert list(result.entries(0)) == [0, 1, 2]
    assert list(result.entries(1)) == [3]


def test_coupling_across_branches_is_named() -> None:
    """A hinge on the leader is coupled with the follower on the other branch, and with what that
    carries.
    """
    builder = (
        symgen.Robot("led", mimic="couple")
        .body("a", parent="base", type="revolute", axis=(0, 0, 1), **link("1", "1", "0", "0"))
        .body(
            "b",
            parent="base",
            type="revolute",
            axis=(0, 0, 1),
            mimic=("a_joint", 2, 0),
            **link("1", "1", "0", "0"),
        )
        .body("c", parent="b", type="revolute", axis=(0, 0, 1), **link("1", "1", "0", "0"))
    )
    result = bodies(builder.build())
    assert result.branching(0) == "'c_joint' is coupled with it from another branch"
    assert result.branching(1) is None
    assert result.rates(0) == result.branching(0)
    assert result.moved_bodies(0) == [0, 1, 2]
    assert result.moved_bodies(1) == [2]


def test_an_ancestor_that_follows_is_named() -> None:
    builder = (
        symgen.Robot("led", mimic="couple")
        .body(
            "b",
            parent="base",
            type="revolute",
            axis=(0, 0, 1),
            mimic=("a_joint", 2, 0),
            **link("1", "1", "0", "0"),
        )
        .body("a", parent="b", type="revolute", axis=(0, 0, 1), **link("1", "1", "0", "0"))
    )
    result = bodies(builder.build())
    assert result.branching(0) == "an ancestor of joint 'a_joint' mimics it, or a joint beyond it"


# -- how energies bound rates --


def shares(mechanism: Mechanism, k: int) -> dict[int, dict[int, float]]:
    rates = bodies(mechanism).rates(k)
    assert not isinstance(rates, str), rates
    return {j: {c: float(x) for c, x in row.items()} for j, row in rates.items()}


def test_energies_bound_the_rates_of_a_carriage() -> None:
    """A link of moments I turns by 1/√I of its energy; the arm's centre is at (0.75, 1), the lift's
    at (0.45, 1/2).

    So a point of the arm below the lift's centre rises by the tilts about x and y at the levers 1/2
    and 0.3 m.
    """
    rates = shares(carriage(), 0)
    lever = sqrt(0.5**2 + 0.3**2)
    rises = sqrt(1 / M_ARM + lever**2 / MOMENT)
    assert rates[0] == pytest.approx({0: 1 / sqrt(M_CART + ARMATURE)})
    assert rates[1] == pytest.approx({1: 1 / sqrt(MOMENT), 0: 0})
    assert rates[2] == pytest.approx({2: 1 / sqrt(M_LIFT), 1: rises})


def test_the_hinged_link_moves_by_its_own_joint_only() -> None:
    """With the cart locked, the arm turns about z, which raises no point."""
    rates = shares(carriage(), 1)
    assert rates[1] == pytest.approx({1: 1 / sqrt(MOMENT + M_ARM * 1.25**2)})
    assert rates[2] == pytest.approx({2: 1 / sqrt(M_LIFT), 1: 0})


def test_a_locked_joint_has_no_share() -> None:
    result = bodies(carriage())
    rates = result.rates(1)
    assert not isinstance(rates, str)
    locked = result.locked(1, rates)
    assert locked is not None
    assert {j: sorted(row) for j, row in locked.items()} == {2: [2]}


def test_a_locked_velocity_leaves_the_later_ones_of_its_joint() -> None:
    puck = symgen.Robot("puck").body(
        "puck", parent="base", type="planar", **link("2", "1", "0", "0")
    )
    result = bodies(puck.build())
    rates = result.rates(0)
    assert not isinstance(rates, str)
    locked = result.locked(0, rates)
    assert locked is not None
    later = result.rates(1)
    assert not isinstance(later, str)
    assert {j: float(row[0]) for j, row in locked.items()} == pytest.approx(
        {j: float(row[0]) for j, row in later.items()}
    )


def test_nothing_is_left_of_a_joint_whose_last_velocity_is_locked() -> None:
    puck = symgen.Robot("puck").body(
        "puck", parent="base", type="planar", **link("2", "1", "0", "0")
    )
    result = bodies(puck.build())
    rates = result.rates(2)
    assert not isinstance(rates, str)
    assert result.locked(2, rates) == {}


def test_a_link_needs_no_moments_about_its_centre_if_only_its_own_joint_moves_it() -> None:
    """A point mass of 2 kg at 1 m turns by 1/√2, but carries no hinge that another joint moves."""
    builder = symgen.Robot("arm")
    builder.body("a", parent="base", type="revolute", axis=(0, 0, 1), **link("2", "1", "0", "0"))
    builder.body("b", parent="a", type="revolute", axis=(0, 0, 1), mass=2, centre=(1, 0, 0))
    builder.body("c", parent="b", type="revolute", axis=(0, 0, 1), **link("2", "1", "0", "0"))
    mechanism = builder.build()
    rates = shares(mechanism, 1)
    assert rates[1] == pytest.approx({1: 1 / sqrt(2)})
    assert rates[2] == pytest.approx({2: 1 / sqrt(MOMENT), 1: 1 / sqrt(2)})
    reason = "body 'b' has no moment of inertia about some axis through its mass centre"
    assert bodies(mechanism).rates(0) == reason


def test_a_cylinder_on_a_planar_body_feels_its_rotation_and_the_velocity_of_its_place() -> None:
    """Along n, the velocity of the body's point r is n · (v + ω × r). With g for the values of this
    form, it is at most √(gᵀ M⁻¹ g) per root of twice the energy. Of the cylinder itself n · v of a
    point on the axis is √(1/m + lᵀ J⁻¹ l), with l = −c × n.
    """
    inertia = ("0.5", "0.1", "-0.05", "0.4", "0.08", "0.6")
    n, r, c = np.array([2, -1, 2]) / 3, np.array([1, 2, -0.5]), np.array([0.25, 0.5, -0.125])
    builder = symgen.Robot("cylinder")
    builder.body(
        "puck", parent="base", type="planar", mass=2, centre=("0.5", "0.25", 0), inertia=inertia
    )
    builder.body(
        "pin",
        parent="puck",
        type="cylindrical",
        axis=(2, -1, 2),
        xyz=(1, 2, "-0.5"),
        mass=4,
        centre=("0.25", "0.5", "-0.125"),
        inertia=inertia,
    )
    mechanism = builder.build()
    J = np.array([[0.5, 0.1, -0.05], [0.1, 0.4, 0.08], [-0.05, 0.08, 0.6]])
    M = np.array([[2, 0, -2 * 0.25], [0, 2, 2 * 0.5], [-0.5, 1, 0.6 + 2 * (0.25**2 + 0.5**2)]])
    turning = np.array([0, 0, n[2]])
    moving = np.array([n[0], n[1], np.cross([0, 0, 1], r) @ n])
    rates, lever = shares(mechanism, 0), np.cross(-c, n)
    for j, form, square in (
        (3, turning, n @ np.linalg.solve(J, n)),
        (4, moving, 1 / 4 + lever @ np.linalg.solve(J, lever)),
    ):
        of_puck = sqrt(form @ np.linalg.solve(M, form))
        assert rates[j] == pytest.approx({0: of_puck, 1: sqrt(square)}), j


def test_a_form_of_a_twist_is_at_most_the_root_of_its_square_over_the_inertia() -> None:
    """About the body's origin, the form is g·(ω, v). The angular part has the moment of its
    point. Twice the energy is that of the inertia [[J, m c×], [−m c×, m]].
    """
    builder = symgen.Robot("arm")
    for name, parent in (("a", "base"), ("b", "a")):
        builder.body(
            name,
            parent=parent,
            type="revolute",
            axis=(0, 0, 1),
            mass=2,
            centre=("0.5", "0.25", "-1"),
            inertia=("0.5", "0.1", "-0.05", "0.4", "0.08", "0.6"),
        )
    J = np.array([[0.5, 0.1, -0.05], [0.1, 0.4, 0.08], [-0.05, 0.08, 0.6]])
    c = np.array([0.5, 0.25, -1])
    skew = np.array([[0, 1, 0.25], [-1, 0, -0.5], [-0.25, 0.5, 0]])
    inertia = np.block([[J - 2 * skew @ skew, 2 * skew], [-2 * skew, 2 * np.eye(3)]])
    np.testing.assert_allclose(skew @ [1, 2, 3], np.cross(c, [1, 2, 3]))
    for angular, linear, at in (
        ((1, -2, 3), (2, 1, -1), (1, 0.5, 2)),
        ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
        ((2, 0, 1), (0, 0, 0), (5, 5, 5)),
    ):
        g = np.concatenate([angular + np.cross(at, linear), linear])
        form = LinearForm(*([flint.arb(x) for x in part] for part in (angular, linear, at)))
        expected = sqrt(g @ np.linalg.solve(inertia, g))
        assert float(bodies(builder.build())._on_body(1, form)) == pytest.approx(expected)


def test_rates_of_a_planar_body_are_roots_of_its_inverse_inertia() -> None:
    """2 kg at 1 m along x, I = 1/4: the block of (vx, vy, w) is [[2, 0, 0], [0, 2, 2], [0, 2,
    2.25]].
    """
    puck = symgen.Robot("puck").body(
        "puck", parent="base", type="planar", **link("2", "1", "0", "0")
    )
    for k in range(3):
        block = np.array([[2, 0, 0], [0, 2, 2], [0, 2, 2.25]])[k:, k:]
        expected = {k + n: {0: sqrt(x)} for n, x in enumerate(np.diag(np.linalg.inv(block)))}
        rates = shares(puck.build(), k)
        assert {j: row[0] for j, row in rates.items()} == pytest.approx(
            {j: row[0] for j, row in expected.items()}
        )


def on_puck(kind: str, axis: tuple[int, int, int]) -> Mechanism:
    """Return a joint on a planar body, 1.5 m along its x axis."""
    builder = symgen.Robot("puck").body(
        "puck", parent="base", type="planar", **link("2", "1", "0", "0")
    )
    builder.body(
        "top", parent="puck", type=kind, axis=axis, xyz=("1.5", 0, 0), **link("3", "0.5", "0", "0")
    )
    return builder.build()


PUCK = np.linalg.inv(np.array([[2, 0, 0], [0, 2, 2], [0, 2, 2.25]]))
"""Inverse inertia of the planar body along vx, vy and w."""


def test_a_hinge_on_a_planar_body_feels_its_rotation() -> None:
    rates = shares(on_puck("revolute", (0, 0, 1)), 0)
    assert rates[3] == pytest.approx({1: 1 / sqrt(MOMENT), 0: sqrt(PUCK[2, 2])})


def test_a_slide_on_a_planar_body_feels_the_point_at_its_centre() -> None:
    """The centre is 2 m along x, so that a slide along y subtracts vy + 2 w."""
    form = np.array([0, 1, 2])
    rates = shares(on_puck("prismatic", (0, 1, 0)), 0)
    assert rates[3] == pytest.approx({1: 1 / sqrt(3), 0: sqrt(form @ PUCK @ form)})


def test_a_free_joint_on_a_hinge_feels_its_rotation_within_reach() -> None:
    """The body is within 1.5 m and √3 strokes of the hinge, whose moment is 1/4 + 2."""
    builder = symgen.Robot("arm").body(
        "arm", parent="base", type="revolute", axis=(0, 0, 1), **link("2", "1", "0", "0")
    )
    builder.body("box", parent="arm", type="free", xyz=("1.5", 0, 0), **link("3", "0", "0", "0"))
    rates = shares(builder.build(), 0)
    spin = 1 / sqrt(MOMENT + 2)
    for j in (1, 2, 3):
        assert rates[j] == pytest.approx({1: 1 / sqrt(3), 0: spin * (1.5 + sqrt(3) * STROKE)})
    for j in (4, 5, 6):
        assert rates[j] == pytest.approx({1: 1 / sqrt(MOMENT), 0: spin})


def test_nothing_moves_beyond_the_last_joint_if_it_is_locked() -> None:
    result = bodies(carriage())
    rates = result.rates(2)
    assert not isinstance(rates, str)
    assert result.locked(2, rates) == {}


def with_ball(kind: str = "spherical") -> Mechanism:
    return (
        symgen.Robot("ball")
        .body("cart", parent="base", type="prismatic", axis=(1, 0, 0), **link("3", "0", "0", "0"))
        .body("ball", parent="cart", type=kind, xyz=(0, "1.5", 0), **link("2", "0", "0", "0"))
        .build()
    )


def test_the_rates_of_a_ball_are_those_of_its_own_link_on_a_cart() -> None:
    """The cart does not turn, so that the velocities of a ball are those of its link."""
    rates = shares(with_ball(), 0)
    for j in (1, 2, 3):
        assert rates[j] == pytest.approx({1: 1 / sqrt(MOMENT), 0: 0})


def test_a_free_joint_on_a_cart_counts_the_cart_in_any_direction() -> None:
    """1/√2 of its own mass, and 1/√3 of the cart's; its rotations are as those of a ball."""
    rates = shares(with_ball("free"), 0)
    for j in (1, 2, 3):
        assert rates[j] == pytest.approx({1: 1 / sqrt(2), 0: 1 / sqrt(3)})
    for j in (4, 5, 6):
        assert rates[j] == pytest.approx({1: 1 / sqrt(MOMENT), 0: 0})


def test_a_free_joint_beyond_another_link_counts_any_motion_of_that_link() -> None:
    """The centre of the arm is 1.25 m from its origin, and the body reaches 1/2 m and three
    strokes, √3 m, from there.
    """
    mechanism = carriage()
    (freed,) = (joint for joint in with_ball("free").joints if joint.kind == "free")
    joints = (*mechanism.joints[:2], replace(freed, parent=1, pose=mechanism.joints[2].pose))
    rates = shares(replace(mechanism, joints=joints), 0)
    reach = 0.5 + sqrt(3) * STROKE
    spin = sqrt(3 / MOMENT)
    speed = sqrt(1 / M_ARM + spin**2 * (reach + 1.25) ** 2)
    for j in (2, 3, 4):
        assert rates[j] == pytest.approx(
            {2: sqrt(1 / M_LIFT + 0.75**2 / MOMENT * partial(j)), 1: speed}
        )
    for j in (5, 6, 7):
        assert rates[j] == pytest.approx({2: 1 / sqrt(MOMENT), 1: spin})


def partial(j: int) -> float:
    """Return the squared lever of the lift's centre (0.45, 0, 0.6) about the axis j − 2, as a share
    of 0.75².
    """
    squares = (0.6**2, 0.45**2 + 0.6**2, 0.45**2)
    return squares[j - 2] / 0.75**2


@pytest.mark.parametrize(
    ("empty", "reason"),
    [
        ("cart", "body 'cart' has no inertia about its joint"),
        ("arm", "body 'arm' has no moment of inertia about some axis through its mass centre"),
        ("lift", "body 'lift' has no moment of inertia about some axis through its mass centre"),
    ],
)
def test_links_without_inertia_bound_no_rates(empty: str, reason: str) -> None:
    mechanism = carriage()
    joints = (replace(mechanism.joints[0], drive=mechanism.joints[1].drive), *mechanism.joints[1:])
    emptied = tuple(Body(body.name) if body.name == empty else body for body in mechanism.bodies)
    assert bodies(replace(mechanism, joints=joints, bodies=emptied)).rates(0) == reason


# -- samples of an elimination --


def samples(size: float = 1.0) -> Samples:
    """Return samples that know nothing but the size of M and 80 digits."""
    reference: Any = SimpleNamespace(scalars=arb(80))
    nothing: Any = None
    return Samples(nothing, (), nothing, flint.arb(size), reference, {})


def test_an_entry_vanishes_if_its_balls_contain_zero_and_are_narrow_for_m() -> None:
    narrow, wide, near = flint.arb(0, 1e-45), flint.arb(0, 1e-35), flint.arb(1e-50, 1e-60)
    assert samples().is_zero((narrow, narrow))
    assert not samples().is_zero((narrow, wide))
    assert not samples().is_zero((near, narrow))
    assert samples(1e8).is_zero((narrow, wide))
    assert not samples(1e-8).is_zero((narrow,))
    assert not samples().is_zero((flint.arb(1, 2),))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda x: x, 1),
        (lambda x: -x, -1),
        (lambda x: x * (1 + flint.arb(10) ** -41), 1),
        (lambda x: x * (1 + flint.arb(10) ** -38), 0),
        (lambda x: -x * (1 + flint.arb(10) ** -38), 0),
        (lambda x: 2 * x, 0),
    ],
)
def test_values_are_the_same_up_to_their_sign_and_forty_digits(
    change: Callable[[Any], Any], expected: int
) -> None:
    with arb(80).working():
        values = tuple(flint.arb(x).sqrt() for x in (2, 3e12, 5e-9))
        changed = tuple(map(change, values))
    assert samples().same(values, changed) == expected
    assert samples().same(changed, values) == expected


def test_a_sign_has_to_be_the_same_at_all_states() -> None:
    x, y = flint.arb(2), flint.arb(3)
    assert samples().same((x, y), (x, -y)) == 0
    assert samples().same((x, y), (x, y + 1)) == 0
    assert samples().constant((x, x, x))
    assert not samples().constant((x, -x, x))
    assert not samples().constant((x, y, x))
    assert samples().product((x, y), (y, y)) == (flint.arb(6), flint.arb(9))


def test_an_elimination_gives_the_factors_of_m_from_its_last_row() -> None:
    """M = U D Uᵀ, of a chain and of two branches on one link."""
    random = np.random.default_rng(1)
    root = random.integers(-3, 4, (2, 3, 3))
    full = root @ root.swapaxes(1, 2) + 5 * np.eye(3, dtype=int)
    branched = full.copy()
    branched[:, 1, 2] = branched[:, 2, 1] = 0
    for M, supports in ((full, [[0], [0, 1], [0, 1, 2]]), (branched, [[0], [0, 1], [0, 2]])):
        result = eliminate(M.astype(float), supports)
        for state in range(2):
            U, D = np.eye(3), np.zeros((3, 3))
            for (i, k), values in result.factors.items():
                U[i, k] = values[state]
            for k in range(3):
                D[k, k] = result.reduced[k, k][state]
            assert np.allclose(U @ D @ U.T, M[state], rtol=0, atol=1e-12)
            for (i, k), values in result.reduced.items():
                assert values[state] == pytest.approx(U[i, k] * D[k, k])
