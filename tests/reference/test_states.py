"""Drawn states: ranges, grids, loads, time steps, and the special rotations of joints without an
axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import atan, pi
from random import Random

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Limits, Mechanism
from symgen.reference import states
from symgen.reference.precision import Array
from symgen.reference.states import GRID, draw_derivative_arguments, draw_load, draw_states
from tests.shared.robots_for_tests import random_mechanism

MANY = 400
"""Number of states of which some come near both ends of a range, by all odds."""
KINDS = ("revolute", "prismatic", "free", "planar", "spherical", "cylindrical")


@cache
def tree(*kinds: str) -> Mechanism:
    """Return a mechanism with joints of these types on the base, in this order."""
    mechanism = random_mechanism(len(kinds), 1, joints=("revolute",))
    joints = []
    for joint, kind in zip(mechanism.joints, kinds, strict=True):
        (changed,) = random_mechanism(1, 1, joints=(kind,)).joints
        joints.append(replace(changed, name=joint.name, parent=-1))
    return replace(mechanism, joints=tuple(joints))


def limited(kind: str, lower: str | None, upper: str | None) -> Mechanism:
    """Return a mechanism of one joint with declared limits."""
    (joint,) = (mechanism := tree(kind)).joints
    ends = (None if end is None else Fraction(end) for end in (lower, upper))
    return replace(mechanism, joints=(replace(joint, limits=Limits(*ends)),))


def ends(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


# -- ranges --


def test_states_have_the_documented_names_and_shapes() -> None:
    mechanism = tree(*KINDS)
    nq, nv, nb = mechanism.nq, mechanism.nv, len(mechanism.bodies)
    drawn = draw_states(mechanism, 5, payload="link0", wrench=("link1", "link2"))
    assert {name: values.shape for name, values in drawn.items()} == {
        **dict.fromkeys(("q", "q_next"), (5, nq)),
        **dict.fromkeys(("v", "a", "tau", "b"), (5, nv)),
        **dict.fromkeys(("dt", "instant"), (5,)),
        "pi": (5, 10 * nb),
        "payload": (5, 10),
        "wrench": (5, 2, 6),
    }
    assert draw_states(mechanism, 5, wrench="link1")["wrench"].shape == (5, 6)
    assert "pi" not in draw_states(mechanism, 5, inertial=False)


@pytest.mark.parametrize(
    ("name", "largest"), [("v", 2), ("a", 2), ("b", 2), ("pi", 2), ("tau", 20), ("wrench", 20)]
)
def test_rates_and_forces_fill_their_ranges(name: str, largest: int) -> None:
    values = draw_states(tree("revolute", "prismatic"), MANY, wrench="link0")[name]
    assert all(x * GRID == int(x * GRID) for x in values.ravel())
    low, high = ends(values)
    assert -largest <= low < -0.97 * largest
    assert 0.97 * largest < high <= largest


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "low", "high"),
    [
        ("revolute", "-1/2", "3", -0.5, 3),
        ("prismatic", "1/8", "1/4", 0.125, 0.25),
        ("revolute", None, None, -pi, pi),
        ("prismatic", None, None, -1, 1),
        ("revolute", "1", None, -pi, pi),
        ("revolute", None, "1", -pi, pi),
        ("revolute", "1", "1", -pi, pi),
        ("revolute", "1", "-1", -pi, pi),
        ("continuous", "1", "2", -pi, pi),
        ("prismatic", "-100", "100", -4, 4),
        ("prismatic", "-100", "1/2", -4, 0.5),
        ("prismatic", "3", "100", 3, 4),
        ("revolute", "5", "7", 5, 7),
        ("revolute", "-7", "-5", -7, -5),
        ("revolute", "-20", "20", -4 * pi, 4 * pi),
        ("revolute", "13", "15", -pi, pi),
        ("prismatic", "5", "6", -1, 1),
        ("prismatic", "-6", "-5", -1, 1),
        ("prismatic", "4", "6", -1, 1),
        ("prismatic", "-6", "-4", -1, 1),
    ],
)
def test_positions_fill_the_usable_part_of_the_declared_range(
    kind: str, lower: str | None, upper: str | None, low: float, high: float
) -> None:
    """It is within four times the usual range; a range that is out of reach, empty or half declared
    is not used.
    """
    drawn = draw_states(limited(kind, lower, upper), MANY)
    for name in ("q", "q_next"):
        least, largest = ends(drawn[name])
        tolerance = 0.03 * (high - low)
        assert low - 1e-3 <= least < low + tolerance
        assert high - tolerance < largest <= high + 1e-3


def test_a_range_without_a_point_of_the_grid_gives_the_nearest_one() -> None:
    drawn = draw_states(limited("prismatic", "0.5002", "0.5004"), 4)
    assert set(drawn["q"].ravel()) == {Fraction(1, 2)}
    just_one = draw_states(limited("prismatic", "0.4999", "0.5001"), 4)
    assert set(just_one["q"].ravel()) == {Fraction(1, 2)}


def test_a_leader_keeps_its_followers_within_their_limits() -> None:
    """A continuous joint has no limits, but a revolute joint that follows it twice as fast has."""
    robot = symgen.Robot("led", mimic="couple")
    robot.body("a", parent="base", type="continuous", axis=(0, 0, 1), mass=1, centre=(1, 0, 0))
    robot.body(
        "b", parent="a", type="revolute", axis=(0, 0, 1), mass=1, centre=(1, 0, 0),
        limits=(-1, 2), mimic=("a_joint", 2, 0),
    )  # fmt: skip
    drawn = draw_states(robot.build(), MANY)
    assert drawn["q"].shape == (MANY, 1)
    low, high = ends(drawn["q"])
    assert -0.5 <= low < -0.47
    assert 0.97 < high <= 1


def test_coordinates_of_joints_of_several_fill_their_usual_ranges() -> None:
    for kind, angles, lengths in (("planar", [2], [0, 1]), ("cylindrical", [0], [1])):
        q = draw_states(tree(kind), MANY)["q"]
        usual = q[::4]  # the states that are not special
        for columns, bound in ((angles, pi), (lengths, 1)):
            for k in columns:
                low, high = ends(usual[:, k])
                assert -bound - 1e-3 < low < -0.9 * bound
                assert 0.9 * bound < high < bound + 1e-3


def test_streams_of_random_numbers_depend_on_the_seed_only() -> None:
    mechanism = tree("revolute", "free")
    first, again, of_next_seed = (draw_states(mechanism, 8, seed, "link0") for seed in (0, 0, 1))
    assert (first["q"] == draw_states(mechanism, 8)["q"]).all()
    for name, values in first.items():
        assert (values == again[name]).all()
        assert (values != of_next_seed[name]).any(), name


def test_every_fourth_target_is_the_position_itself() -> None:
    drawn = draw_states(tree("revolute", "prismatic"), 12)
    equal = (drawn["q"] == drawn["q_next"]).all(axis=1)
    assert equal.tolist() == [False, False, False, True] * 3


def test_an_instant_is_a_time_step_divided_by_4096() -> None:
    drawn = draw_states(tree("revolute"), 8)
    assert (drawn["instant"] == drawn["dt"] / 4096).all()


def test_time_steps_cycle_through_four_ranges() -> None:
    """Count in units of 1/1024 s, 1000 steps each: 1 to 128, 512 to 4096, −128 to −1, and zero."""
    steps = states._time_steps(4000, 0) * GRID
    for k, (low, high) in enumerate(((1, 128), (512, 4096), (-128, -1), (0, 0))):
        least, largest = ends(steps[k::4])
        tolerance = 0 if k != 1 else 12
        assert low <= least <= low + tolerance
        assert high - tolerance <= largest <= high
        assert all(x == int(x) for x in steps[k::4])


# -- loads --


class Given:
    """Numbers in the place of random ones, in their order."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers: Iterator[int] = iter(numbers)

    def randint(self, low: int, high: int) -> int:
        number = next(self.numbers)
        assert low <= number <= high
        return number


def load_of(points: list[tuple[int, int, int]], mass: int) -> list[Fraction]:
    numbers = Given([x for point in points for x in point] + [mass * GRID])
    return draw_load(numbers)  # type: ignore[arg-type]


PAD = Fraction(4, GRID)
"""Added to each moment."""


def test_a_load_of_six_masses_at_one_point_is_a_point_mass() -> None:
    x, y, z = (Fraction(k, GRID) for k in (32, 64, -96))
    mass, *centre, xx, xy, xz, yy, yz, zz = load_of([(32, 64, -96)] * 6, 1)
    assert (mass, *centre) == (1, x, y, z)
    assert (xy, xz, yz) == (-x * y, -x * z, -y * z)
    assert (xx, yy, zz) == (y * y + z * z + PAD, x * x + z * z + PAD, x * x + y * y + PAD)


def test_a_load_of_masses_around_the_origin_has_its_centre_there() -> None:
    """Pairs at ±a on the axes: each pair has 2 a² m/6 about both other axes, with a = 96/1024 m."""
    pairs = [(96, 0, 0), (-96, 0, 0), (0, 96, 0), (0, -96, 0), (0, 0, 64), (0, 0, -64)]
    mass, *centre, xx, xy, xz, yy, yz, zz = load_of(pairs, 2)
    wide, narrow = Fraction(96, GRID) ** 2 * 2 / 3, Fraction(64, GRID) ** 2 * 2 / 3
    assert (mass, *centre, xy, xz, yz) == (2, *[0] * 6)
    half = Fraction(1, 2 * GRID)  # of the grid
    for moment, expected in ((xx, wide + narrow), (yy, wide + narrow), (zz, 2 * wide)):
        assert abs(moment - PAD - expected) <= half


def test_loads_are_physical_bodies() -> None:
    loads = draw_states(tree("revolute"), 100, payload="link0")["payload"].astype(float)
    assert 0.5 <= loads[:, 0].min() < 0.55
    assert 1.95 < loads[:, 0].max() <= 2
    for mass, x, y, z, xx, xy, xz, yy, yz, zz in loads:
        c = np.array([x, y, z])
        assert np.abs(c).max() < 0.1
        about_centre = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - mass * (
            c @ c * np.eye(3) - np.outer(c, c)
        )
        moments = np.linalg.eigvalsh(about_centre)
        assert moments[0] > 0
        assert moments[2] < moments[0] + moments[1]


# -- arguments of derivatives, contacts, gains --


def test_gains_are_positive_and_fill_their_ranges() -> None:
    gains = draw_derivative_arguments({"gains": (2,)}, 2000)["gains"]
    for column, largest in zip(gains.T, (400, 40), strict=True):
        low, high = ends(column)
        assert 1 <= low < 2
        assert 0.95 * largest < high <= largest


def test_weights_have_the_range_of_velocities() -> None:
    values = draw_derivative_arguments({"tau_bar": (3, 2)}, MANY)["tau_bar"]
    assert values.shape == (MANY, 3, 2)
    low, high = ends(values)
    assert -2 <= low < -1.95
    assert 1.95 < high <= 2
    assert (values != draw_derivative_arguments({"tau_bar": (3, 2)}, MANY, 1)["tau_bar"]).any()


def test_patterns_of_contacts_are_all_none_and_then_every_other_one() -> None:
    patterns = draw_derivative_arguments({"active": (2,)}, 6)["active"]
    assert patterns.tolist() == [[1, 1], [0, 0], [1, 0], [0, 1], [1, 1], [1, 0]]
    assert draw_derivative_arguments({"active": (3,)}, 1)["active"].tolist() == [[1, 1, 1]]


# -- special rotations --


def product(a: Array, b: Array) -> Array:
    """Return the product of two quaternions x y z w, from the table of i, j, k."""
    table = {
        (0, 1): (2, 1), (1, 2): (0, 1), (2, 0): (1, 1),
        (1, 0): (2, -1), (2, 1): (0, -1), (0, 2): (1, -1),
    }  # fmt: skip
    entries = [Fraction(0)] * 4
    for i in range(4):
        for j in range(4):
            if 3 in (i, j):
                k, sign = (i if j == 3 else j), 1
            elif i == j:
                k, sign = 3, -1
            else:
                k, sign = table[i, j]
            entries[k] += sign * a[i] * b[j]
    return np.array(entries, dtype=object)


def turn_between(q: Array, goal: Array) -> Array:
    """Return the quaternion that leads from one rotation to another."""
    return product(np.array([*(-q[:3]), q[3]], dtype=object), goal)


def is_about_an_axis(vector: Array, places: int = 0) -> bool:
    """True if a vector is a multiple of one of the drawn axes, to some places."""
    tolerance = 10.0**-places if places else 0
    return any(
        max(abs(vector[i] * axis[j] - vector[j] * axis[i]) for i, j in ((0, 1), (1, 2), (2, 0)))
        <= tolerance
        for axis in states.AXES
    )


@pytest.mark.parametrize("u", [(0, 0, 0), (Fraction(2, 3), 0, 0), (1, Fraction(-1, 2), 1)])
@pytest.mark.parametrize("positive", [True, False])
def test_a_drawn_quaternion_is_a_stereographic_image(
    u: tuple[Fraction, ...], positive: bool
) -> None:
    """The line from the pole w = −1 through it meets w = 0 at 3 u/2; or both are mirrored in w."""
    x, y, z, w = states._unit_quaternion([Fraction(k) for k in u], positive)
    assert x * x + y * y + z * z + w * w == 1
    pole = 1 + (w if positive else -w)
    assert [entry / pole for entry in (x, y, z)] == [Fraction(3, 2) * k for k in u]


def test_all_quaternions_are_of_unit_length_and_all_entries_change_sign() -> None:
    drawn = draw_states(tree("spherical", "free"), 60)
    for name in ("q", "q_next"):
        for first in (0, 7):
            quaternions = drawn[name][:, first : first + 4]
            assert (sum(quaternions.T**2) == 1).all()
            usual = quaternions[::4]
            assert all(low < 0 < high for low, high in zip(usual.min(0), usual.max(0), strict=True))


@pytest.mark.parametrize(("k", "low", "high"), [(1, 2.0**-50, 2.0**-20), (5, 0, 1)])
def test_the_second_of_four_states_turns_little_from_the_neutral_rotation(
    k: int, low: float, high: float
) -> None:
    mechanism = tree("spherical", "free", "planar", "revolute")
    drawn = draw_states(mechanism, 8)
    q, v, q_next = (drawn[name][k] for name in ("q", "v", "q_next"))
    assert drawn["dt"][k] > Fraction(1, 2)  # the usual time step
    for angular in (v[:3], v[6:9], v[11:12]):
        assert 0 < max(abs(x) for x in angular) <= 2 * high
        assert max(abs(x) for x in angular) >= low / GRID
        assert len(set(angular)) == len(angular)
    for entry in (*v[3:6], *v[9:11], v[12], *q[4:7], *q[11:13], q[14]):
        assert entry * GRID == int(entry * GRID)
    assert max(abs(x) for x in (*v[3:6], *v[9:11])) > 0.1
    assert (*q[:4], *q[7:11], q[13]) == (0, 0, 0, 1, 0, 0, 0, 1, 0)
    for turn in (q_next[:4], q_next[7:11]):
        assert sum(turn**2) == 1
        half_sine = float(sum(turn[:3] ** 2)) ** 0.5  # of half the angle
        assert low / 2 * 0.9 <= half_sine <= high / 2
        assert is_about_an_axis(turn[:3])
        assert turn[3] > 0
    assert low <= float(q_next[13]) <= high
    assert (q_next[4:7] != q[4:7]).any()


@pytest.mark.parametrize("exponents", [(20, 50), (0, 1000)])
def test_a_small_rotation_is_a_power_of_two(exponents: tuple[int, int]) -> None:
    """Read it off the target angle of a planar joint, which starts at the angle zero."""
    k = 1 if exponents == (20, 50) else 5
    powers = set()
    for seed in range(40):
        angle = draw_states(tree("planar"), 8, seed)["q_next"][k, 2]
        assert angle.numerator == 1
        assert angle.denominator.bit_count() == 1
        powers.add(angle.denominator.bit_length() - 1)
    assert min(powers) >= exponents[0]
    assert max(powers) <= exponents[1]
    assert max(powers) - min(powers) > 0.7 * (exponents[1] - exponents[0])


@pytest.mark.parametrize(("k", "turns"), [(2, 1), (6, 2), (10, 1), (14, 2)])
def test_the_third_of_four_states_turns_about_half_a_turn_or_a_full_one(k: int, turns: int) -> None:
    """In its time step of 1 s, and from q to q_next; it misses the turn by 2⁻⁸ to 2⁻¹⁷ times one,
    two or four.
    """
    mechanism = tree("spherical", "free", "planar", "revolute")
    for seed in range(3):
        drawn = draw_states(mechanism, 16, seed)
        q, v, q_next = (drawn[name][k] for name in ("q", "v", "q_next"))
        assert drawn["dt"][k] == 1
        near, far = 0.9 * 2.0**-17, 4.1 * 2.0**-8
        for angular in (v[:3], v[6:9], v[11:12]):
            assert all(x * 2**20 == int(x * 2**20) for x in angular)
            rate = float(sum(angular**2)) ** 0.5
            assert near < abs(rate - turns * pi) < far / 4
            assert len(angular) == 1 or is_about_an_axis(angular, 4)
        for first in (0, 7):
            turn = turn_between(q[first : first + 4], q_next[first : first + 4])
            assert sum(turn**2) == 1
            assert is_about_an_axis(turn[:3])
            sine = float(sum(turn[:3] ** 2)) ** 0.5
            angle = 2 * np.arctan2(sine, float(turn[3]))
            assert near < abs(angle - turns * pi) < far
            assert (q[first : first + 4] != [0, 0, 0, 1]).any()
        assert near < abs(float(q_next[13] - q[13]) - turns * pi) < far
        assert (q_next[13] - q[13]) * 2**20 == int((q_next[13] - q[13]) * 2**20)
        assert (q_next[11:13] * GRID == np.floor(q_next[11:13].astype(float) * GRID)).all()


def test_a_state_that_is_not_special_and_joints_with_an_axis_are_as_drawn() -> None:
    drawn = draw_states(tree("free", "revolute", "prismatic"), 8)
    for k in (0, 3, 4, 7):
        for x in (*drawn["v"][k], *drawn["q"][k][:3]):
            assert x * GRID == int(x * GRID)
    for x in drawn["v"][:, 6:].ravel():
        assert x * GRID == int(x * GRID)
    without = draw_states(tree("revolute", "prismatic"), 8)
    assert (without["dt"] == without["instant"] * 4096).all()
    assert (drawn["dt"][[0, 1, 3, 4]] == 4096 * drawn["instant"][[0, 1, 3, 4]]).all()


@pytest.mark.parametrize(
    "tangent",
    [
        *(Fraction(sign, 2**n) for sign in (1, -1) for n in (10, 20, 60)),
        *(1 + Fraction(sign, 2**n) for sign in (1, -1) for n in (8, 17)),
        *(Fraction(sign * 2**n) for sign in (1, -1) for n in (8, 17)),
    ],
)
def test_an_angle_is_four_times_the_arctangent(tangent: Fraction) -> None:
    """The series leave out 4/3 t³ at zero, t² at one and at infinity less; 355/113 is 2.7e-7 above
    π.
    """
    expected = 4 * atan(tangent)
    if tangent < -1:  # beyond a full turn, which is the same after two of them
        expected += 4 * pi
    offset = min(abs(tangent), abs(tangent - 1), 1 / abs(tangent))
    tolerance = 2 * float(offset) ** (3 if abs(tangent) < 0.5 else 2) + (
        0 if abs(tangent) < 0.5 else 2e-6
    )
    assert abs(float(states._angle(tangent)) - expected) <= tolerance + 1e-15 * abs(expected)


def test_small_offsets_have_both_signs_and_every_size() -> None:
    random = Random(0)
    offsets = {states._small_offset(random) for _ in range(400)}
    assert offsets == {Fraction(sign, 2**n) for sign in (1, -1) for n in range(8, 18)}
