"""Coordinates of every joint type: pose, `integrate` and `difference`, compared with products and
exponentials of 4×4 matrices to 50 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
import sympy as sp

from symgen.mechanism.joints import Orienting, Placing, Sliding, Turning, joint_type, kinds
from symgen.mechanism.joints._joint import ANGLE, LENGTH, JointType
from symgen.mechanism.joints._quaternion import ENTRIES, LEAST, SCALE
from symgen.mechanism.joints._series import stumpff
from symgen.support.errors import UnknownName

DIGITS = 60
KINDS = kinds()
MOVING = [kind for kind in KINDS if joint_type(kind).along is not None]
"""Types whose velocities are those of the moved frame."""
BALLS = [kind for kind in KINDS if joint_type(kind).quaternion is not None]
ROUNDED = mpmath.mpf(2) ** -148
"""Bound of errors: `_quaternion` adds 2⁻¹⁵⁰ to a square."""


def stumpff_function(k: int, y: Any) -> Any:
    """Return c_k(y) = Σ (−y)ⁱ/(2i + k)!, by definition; for y below 20 the rest is below 10⁻⁶⁰."""
    return sum((-y) ** i / mpmath.factorial(2 * i + k) for i in range(40))


STILL: list[Any] = []
"""Value of the function `still`, if not that of its argument."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"stumpff{k}": lambda y, k=k: stumpff_function(k, y) for k in range(4)},
    "arc": lambda x, c: x,
    "arc_square": lambda x, c: x * x * (1 - c * c),
    "still": lambda dt: STILL[0] if STILL else dt,
}
"""Values of the functions that are differentiated by series (`symgen.ir.program.BY_SERIES`)."""
Compiled = Callable[[Mapping[Any, Any]], list[Any]]


def compiled(equations: Sequence[tuple[Any, Any]], expressions: Sequence[Any]) -> Compiled:
    """Return the function from values of symbols to those of expressions, which may have the
    symbols of the equations.
    """

    def function(expression: Any) -> tuple[list[Any], Callable[..., Any]]:
        symbols = sorted(sp.sympify(expression).free_symbols, key=str)
        return symbols, sp.lambdify(symbols, expression, [FUNCTIONS, "mpmath"])

    defined = [(symbol, *function(expression)) for symbol, expression in equations]
    results = [function(expression) for expression in expressions]

    def values_of(numbers: Mapping[Any, Any]) -> list[Any]:
        values = dict(numbers)
        for symbol, symbols, compute in defined:
            values[symbol] = compute(*(values[operand] for operand in symbols))
        return [
            mpmath.mpf(compute(*(values[operand] for operand in symbols)))
            for symbols, compute in results
        ]

    return values_of


def symbols_of(name: str, count: int) -> tuple[Any, ...]:
    return tuple(sp.symbols(f"{name}:{count}", real=True))


Q, V, GOAL, DT = "given_q", "given_v", "given_goal", sp.Symbol("given_dt", real=True)


@cache
def compiled_step(kind: str, name: str) -> Compiled:
    joint = joint_type(kind)
    q = symbols_of(Q, joint.nq)
    if name.startswith("integrate"):
        return compiled(*getattr(joint, name)(q, symbols_of(V, joint.nv), DT))
    return compiled(*getattr(joint, name)(q, symbols_of(GOAL, joint.nq)))


def end_of_step(
    kind: str, q: Sequence[Any], v: Sequence[Any], dt: Any, name: str = "integrate"
) -> list[Any]:
    """Return `integrate`, or `integrate_by_series`, of a type in numbers."""
    numbers = {**dict(zip(symbols_of(Q, len(q)), q, strict=True)), DT: dt}
    return compiled_step(kind, name)(
        {**numbers, **dict(zip(symbols_of(V, len(v)), v, strict=True))}
    )


def displacement(
    kind: str, q: Sequence[Any], goal: Sequence[Any], name: str = "difference"
) -> list[Any]:
    """Return `difference`, or `difference_by_series`, of a type in numbers."""
    numbers = zip(symbols_of(Q, len(q)), q, strict=True)
    return compiled_step(kind, name)(
        {**dict(numbers), **dict(zip(symbols_of(GOAL, len(q)), goal, strict=True))}
    )


def cross_matrix(x: Any, y: Any, z: Any) -> Any:
    return mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def homogeneous(rotation: Any, shift: Sequence[Any]) -> Any:
    matrix = mpmath.eye(4)
    for i in range(3):
        matrix[i, 3] = shift[i]
        for j in range(3):
            matrix[i, j] = rotation[i, j]
    return matrix


def matrix_at(joint: JointType, q: Sequence[Any]) -> Any:
    """Return the 4×4 matrix of the pose at q: the product of the elementary motions."""
    total, no_shift = mpmath.eye(4), [0, 0, 0]
    for motion in joint.elementary_motions({p.name: Fraction(1, 4) for p in joint.parameters}):
        match motion:
            case Turning(of, rate):
                angle = q[of] * mpmath.mpf(rate.numerator) / rate.denominator
                total *= homogeneous(mpmath.expm(cross_matrix(0, 0, angle)), no_shift)
            case Sliding(of, rate):
                total *= homogeneous(
                    mpmath.eye(3), [0, 0, q[of] * mpmath.mpf(rate.numerator) / rate.denominator]
                )
            case Placing(of, axes):
                shift = (
                    [*q[of : of + axes], *no_shift][:3] if axes == 3 else [*q[of : of + axes], 0]
                )
                total *= homogeneous(mpmath.eye(3), shift)
            case Orienting(of):
                x, y, z, w = q[of : of + 4]
                turned = cross_matrix(x, y, z)
                # Rodrigues' formula with half the angle: sin and cos of it are |(x, y, z)| and w
                rotation = mpmath.eye(3) + 2 * (w * turned + turned * turned)
                total *= homogeneous(rotation, no_shift)
    return total


def exponential(joint: JointType, step: Sequence[Any]) -> Any:
    """Return exp of the twist whose component along each velocity is that of `step`."""
    assert joint.along is not None
    twist = {"rad": [mpmath.mpf(0)] * 3, "m": [mpmath.mpf(0)] * 3}
    for velocity, axis, component in zip(joint.velocities, joint.along, step, strict=True):
        twist[velocity.unit][axis] += component
    matrix = mpmath.zeros(4)
    matrix[:3, :3] = cross_matrix(*twist["rad"])
    for i in range(3):
        matrix[i, 3] = twist["m"][i]
    return mpmath.expm(matrix)


def coordinates(kind: str, seed: int = 0) -> list[Any]:
    """Return coordinates of which a quaternion has length 1."""
    joint = joint_type(kind)
    numbers = [mpmath.mpf(3 + 5 * seed - 4 * k) / (7 + k) for k in range(joint.nq)]
    if (at := joint.quaternion) is not None:
        length = mpmath.sqrt(sum(x * x for x in numbers[at : at + 4]))
        numbers[at : at + 4] = [x / length for x in numbers[at : at + 4]]
    return numbers


def velocities(kind: str) -> list[Any]:
    """Return velocities of which the angular part has length 1, so that dt is the angle."""
    joint = joint_type(kind)
    numbers = [mpmath.mpf(5 - 3 * k) / 4 for k in range(joint.nv)]
    angular = [k for k, velocity in enumerate(joint.velocities) if velocity.unit == "rad"]
    length = mpmath.sqrt(sum(numbers[k] ** 2 for k in angular))
    return [x / length if k in angular else x for k, x in enumerate(numbers)]


def distance(first: Any, second: Any) -> Any:
    return max(abs(x - y) for x, y in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_the_pose_of_a_joint_is_the_product_of_its_elementary_motions(kind: str) -> None:
    joint = joint_type(kind)
    at = symbols_of(Q, joint.nq)
    parameters = {p.name: sp.Rational(1, 4) for p in joint.parameters}
    rotation, shift = joint.pose(at, parameters)
    pose = compiled(joint.steps(at), [*rotation, *shift])
    with mpmath.workdps(DIGITS):
        for q in (coordinates(kind), [mpmath.mpf(x.numerator) for x in joint.neutral]):
            entries = pose(dict(zip(at, q, strict=True)))
            expected = matrix_at(joint, q)
            assert distance(entries, [*expected[:3, :3], *expected[:3, 3]]) < 1e-55
        assert distance(expected, mpmath.eye(4)) < 1e-55  # at the neutral coordinates


@pytest.mark.parametrize("dt", ["0", "1e-25", "0.3", "-3.2"])
@pytest.mark.parametrize("kind", MOVING)
def test_integrate_multiplies_the_pose_by_the_exponential_of_the_twist(kind: str, dt: str) -> None:
    joint = joint_type(kind)
    with mpmath.workdps(DIGITS):
        q, v, time = coordinates(kind), velocities(kind), mpmath.mpf(dt)
        q_next = end_of_step(kind, q, v, time)
        expected = matrix_at(joint, q) * exponential(joint, [rate * time for rate in v])
        assert distance(matrix_at(joint, q_next), expected) < ROUNDED * (1 + abs(time))
        by_series = end_of_step(kind, q, v, time, name="integrate_by_series")
        assert distance(by_series, q_next) < ROUNDED * (1 + abs(time))


@pytest.mark.parametrize("kind", BALLS)
def test_a_quaternion_keeps_its_length_and_turns_continuously(kind: str) -> None:
    """The scalar part of q⁻¹ ∘ q_next is the cosine of half the angle, here of w dt = 7 rad."""
    joint = joint_type(kind)
    assert joint.quaternion is not None
    entries = slice(joint.quaternion, joint.quaternion + 4)
    with mpmath.workdps(DIGITS):
        q = coordinates(kind)
        q_next = end_of_step(kind, q, velocities(kind), mpmath.mpf(7))
        scalar = sum(x * y for x, y in zip(q[entries], q_next[entries], strict=True))
        assert abs(scalar - mpmath.cos(mpmath.mpf(7) / 2)) < ROUNDED
        assert abs(sum(x * x for x in q_next[entries]) - 1) < ROUNDED


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in MOVING])
def test_other_joints_move_by_the_rates_of_their_coordinates(kind: str) -> None:
    joint = joint_type(kind)
    with mpmath.workdps(DIGITS):
        q, v, dt = coordinates(kind), velocities(kind), mpmath.mpf(3) / 4
        expected = [x + rate * dt for x, rate in zip(q, v, strict=True)]
        for name in ("integrate", "integrate_by_series"):
            assert distance(end_of_step(kind, q, v, dt, name=name), expected) < 1e-55
        for name in ("difference", "difference_by_series"):
            step = displacement(kind, q, expected, name)
            assert distance(step, [rate * dt for rate in v]) < 1e-55
        assert (
            distance(joint.integrate_first_order(q, v), end_of_step(kind, q, v, mpmath.mpf(1)))
            < 1e-55
        )


@pytest.mark.parametrize("kind", MOVING)
def test_the_linear_step_of_a_joint_is_the_first_order_of_integrate(kind: str) -> None:
    joint, small = joint_type(kind), mpmath.mpf("1e-20")
    at, speed = symbols_of(Q, joint.nq), symbols_of(V, joint.nv)
    with mpmath.workdps(DIGITS):
        q, step = coordinates(kind), [rate * small for rate in velocities(kind)]
        numbers = {**dict(zip(at, q, strict=True)), **dict(zip(speed, step, strict=True))}
        q_next = compiled([], joint.integrate_first_order(at, speed))(numbers)
        difference = distance(q_next, end_of_step(kind, q, step, mpmath.mpf(1)))
        assert 0 < difference < 10 * small**2
        # an error in a single component is one of the first order
        assert distance(q_next, q) > small / 10


@pytest.mark.parametrize("kind", MOVING)
def test_the_time_after_the_still_part_enters_to_the_second_order(kind: str) -> None:
    """`integrate_by_series` differentiates by dt through the part that `still` does not hold."""
    with mpmath.workdps(DIGITS):
        q, v, still, small = coordinates(kind), velocities(kind), mpmath.mpf(2), mpmath.mpf("1e-9")
        try:
            STILL.append(still)
            later = end_of_step(kind, q, v, still + small, "integrate_by_series")
        finally:
            STILL.clear()
        assert distance(later, end_of_step(kind, q, v, still + small)) < 10 * small**3


@pytest.mark.parametrize("dt", ["1e-25", "-3.1", "7"])
@pytest.mark.parametrize("kind", MOVING)
def test_difference_is_the_shorter_displacement_that_integrate_undoes(kind: str, dt: str) -> None:
    joint = joint_type(kind)
    with mpmath.workdps(DIGITS):
        q, v, time = coordinates(kind), velocities(kind), mpmath.mpf(dt)
        goal = end_of_step(kind, q, v, time)
        step = displacement(kind, q, goal)
        assert distance(
            matrix_at(joint, q) * exponential(joint, step), matrix_at(joint, goal)
        ) < ROUNDED * (1 + abs(time))
        angular = [
            component
            for component, velocity in zip(step, joint.velocities, strict=True)
            if velocity.unit == "rad"
        ]
        whole_turns = mpmath.nint(time / (2 * mpmath.pi)) * 2 * mpmath.pi
        angle = mpmath.sqrt(sum(x * x for x in angular))
        assert abs(angle - abs(time - whole_turns)) < ROUNDED * (1 + abs(time))
        by_series = displacement(kind, q, goal, "difference_by_series")
        assert distance(by_series, step) < ROUNDED * (1 + abs(time))


@pytest.mark.parametrize("name", ["difference", "difference_by_series"])
@pytest.mark.parametrize("kind", MOVING)
def test_difference_from_a_configuration_to_itself_is_exactly_zero(kind: str, name: str) -> None:
    with mpmath.workdps(DIGITS):
        for seed in range(3):
            q = coordinates(kind, seed)
            assert displacement(kind, q, q, name) == [0] * joint_type(kind).nv


@pytest.mark.parametrize("name", ["difference", "difference_by_series"])
@pytest.mark.parametrize("kind", BALLS)
def test_both_quaternions_of_a_rotation_have_the_same_difference(kind: str, name: str) -> None:
    at = joint_type(kind).quaternion
    assert at is not None
    with mpmath.workdps(DIGITS):
        q, goal = coordinates(kind), coordinates(kind, 1)
        opposite = [*goal[:at], *(-x for x in goal[at:])]
        steps = (displacement(kind, q, end, name) for end in (goal, opposite))
        assert distance(*steps) < ROUNDED


def test_the_least_square_of_an_angle_is_two_to_the_minus_150() -> None:
    """The root of the square, scaled, is 2⁻⁴⁵, and that square is a normal float."""
    assert Fraction(1, 2**150) * SCALE**2 == LEAST
    assert Fraction(1, 2**126) < LEAST


def test_the_first_stumpff_functions_are_cosine_and_sine() -> None:
    y = sp.Symbol("y")
    assert [str(name) for name, _ in stumpff(3, y)] == ["c", "s1", "s2"]
    with mpmath.workdps(DIGITS):
        angle = mpmath.mpf(2) / 3
        c, s1 = compiled([], [function for _, function in stumpff(2, y)])({y: angle**2})
        assert abs(c - mpmath.cos(angle)) < 1e-55
        assert abs(s1 - mpmath.sin(angle) / angle) < 1e-55


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_of_a_joint_have_units_and_different_names(kind: str) -> None:
    joint = joint_type(kind)
    for entries in (joint.positions, joint.velocities):
        assert len({entry.name for entry in entries}) == len(entries)
    for velocity in joint.velocities:
        assert velocity.rate_unit == f"{velocity.unit}/s"
        # power is force times rate: N m for rad/s, N for m/s
        expected = {"rad": ("N m", "kg m²"), "m": ("N", "kg")}
        assert (velocity.force_unit, velocity.inertia_unit) == expected[velocity.unit]
    if joint.quaternion is not None:
        entries = joint.positions[joint.quaternion : joint.quaternion + 4]
        assert "".join(entry.name for entry in entries) == "xyzw"
    # a joint without a quaternion has a velocity for every coordinate
    assert joint.nq - joint.nv == (joint.quaternion is not None)


def test_states_are_drawn_from_half_a_turn_a_metre_and_unit_entries() -> None:
    assert ANGLE.usual == pytest.approx((-mpmath.pi, mpmath.pi), abs=1e-3)
    assert LENGTH.usual == (-1, 1)
    assert [entry.usual for entry in ENTRIES] == [(-1, 1)] * 4


def test_a_joint_type_knows_whether_it_turns_slides_or_is_free() -> None:
    motions = {kind: (joint_type(kind).turns, joint_type(kind).slides) for kind in KINDS}
    assert motions == {
        "continuous": (True, False),
        "cylindrical": (True, True),
        "free": (True, True),
        "helical": (True, True),
        "planar": (True, True),
        "prismatic": (False, True),
        "revolute": (True, False),
        "spherical": (True, False),
    }
    assert [kind for kind in KINDS if joint_type(kind).free] == ["free"]
    undirected = [kind for kind in KINDS if not joint_type(kind).directed]
    assert undirected == ["free", "planar", "spherical"]


def test_an_unknown_joint_type_is_refused_with_the_list_of_types() -> None:
    with pytest.raises(
        UnknownName, match=r"'hinge' is not known; there are: continuous, .*spherical"
    ):
        joint_type("hinge")
