"""Rows of closed loops in closed form: a pendulum on a rod, links that turn against each other,
misassembled frames.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism
from symgen.reference import closing
from symgen.reference.arrays import quaternion
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Shift, Turn

R, A, B, L = (Fraction(x) for x in ("0.7", "0.4", "-0.3", "0.9"))
"""m: the tip of a pendulum, the anchor (A, B) of a rod on the base, and the length of the rod."""
Q, V, ACC = np.array([[0.6], [-1.2]]), np.array([[0.8], [-0.5]]), np.array([[0.3], [1.1]])


def shift(x: Fraction, y: Fraction = Fraction(0)) -> Shift:
    return Shift((x, y, Fraction(0)))


def pendulum(*loops: Loop) -> Motion:
    joint = Joint("swing", "revolute", BASE, (), Z_AXIS)
    return Motion(Mechanism("pendulum", (joint,), (Body("bar"),), loops=loops), FLOAT)


def to_anchor(kind: str, **numbers: Fraction) -> Loop:
    anchor = End(BASE, (shift(A, B),))
    return Loop("closing", kind, anchor, End(0, (shift(R),)), tuple(numbers.items()))


def test_rows_of_a_rod_are_half_the_square_of_its_length() -> None:
    """C = (d·d − L²)/2 with d = R (cos q, sin q) − (A, B), and its derivatives by t."""
    rows = closing.rows(pendulum(to_anchor("distance", distance=L)), None, Q, V, ACC)
    r, a, b, length = (float(x) for x in (R, A, B, L))
    sine, cosine = np.sin(Q), np.cos(Q)
    C = (r * r + a * a + b * b - 2 * r * (a * cosine + b * sine) - length**2) / 2
    slope = r * (a * sine - b * cosine)
    bend = r * (a * cosine + b * sine)
    for power, expected in enumerate((C, slope * V, (slope * ACC + bend * V**2) / 2)):
        assert np.allclose(rows[power], expected, rtol=0, atol=1e-15)


def test_the_residual_the_jacobian_and_the_bias_are_those_of_a_point_on_a_circle() -> None:
    loop = to_anchor("point")
    motion, kept = pendulum(loop), ((0, 1),)
    r, a, b = (float(x) for x in (R, A, B))
    radial = r * np.concatenate([np.cos(Q), np.sin(Q)], axis=-1)
    tangent = r * np.concatenate([-np.sin(Q), np.cos(Q)], axis=-1)
    assert np.allclose(closing.residual(motion, kept, Q), radial - (a, b), rtol=0, atol=1e-15)
    assert np.allclose(closing.jacobian(motion, kept, Q), tangent[..., None], rtol=0, atol=1e-15)
    assert np.allclose(closing.bias(motion, kept, Q, V), -radial * V**2, rtol=0, atol=1e-15)
    (all_rows,) = closing.rows(motion, None, Q)
    assert (all_rows[:, 2] == 0).all()


def test_the_jacobian_has_the_shape_of_its_states() -> None:
    motion = pendulum(to_anchor("point"))
    for batch in ((), (3,), (2, 3)):
        assert closing.jacobian(motion, None, np.zeros((*batch, 1))).shape == (*batch, 3, 1)


def test_other_loops_replace_those_of_the_mechanism() -> None:
    distance = to_anchor("distance", distance=L)
    motion = pendulum(to_anchor("point"))
    (replaced,) = closing.rows(motion, None, Q, loops=(distance,))
    assert (replaced == closing.residual(pendulum(distance), None, Q)).all()


# -- rotations of one frame against the other --


def two_balls() -> Motion:
    """Return two bodies on spherical joints at the base."""
    joints = tuple(Joint(name, "spherical", BASE) for name in ("first", "second"))
    return Motion(Mechanism("balls", joints, (Body("a"), Body("b"))), FLOAT)


def rotations() -> tuple[Array, Array, Array]:
    """Return q, v and a of three states of the two bodies."""
    draw = np.random.default_rng(4)
    q = draw.normal(size=(3, 2, 4))
    q /= np.linalg.norm(q, axis=-1)[..., None]
    return q.reshape(3, 8), *draw.uniform(-1, 1, (2, 3, 6))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_rate_of_a_spin_is_the_relative_angular_velocity_and_its_derivative(axis: int) -> None:
    """In axes of the first body, with R = R₁ᵀ R₂: ω = R w₂ − w₁ and ω̇ = R ẇ₂ − ẇ₁ − w₁ × R w₂."""
    motion, (q, v, a) = two_balls(), rotations()
    loop = Loop("turning", "spherical", End(0), End(1))
    relative = closing.relative(motion, loop, motion.placements(q, v, a), (3,))
    value, first, second = closing._spin_integral(axis, relative)
    R = np.swapaxes(quaternion(q[:, :4]), -1, -2) @ quaternion(q[:, 4:])
    turned, turned_rate = ((R @ x[:, 3:, None])[..., 0] for x in (v, a))
    omega = turned - v[:, :3]
    rate = turned_rate - a[:, :3] - np.cross(v[:, :3], turned)
    assert (value == 0).all()
    assert np.allclose(first, omega[:, axis], rtol=0, atol=1e-15)
    assert np.allclose(2 * second, rate[:, axis], rtol=0, atol=1e-14)


def test_a_spin_without_velocities_is_zero() -> None:
    motion, (q, *_) = two_balls(), rotations()
    loop = Loop("turning", "soft_finger", End(0), End(1))
    (C,) = closing.rows(motion, None, q, loops=(loop,))
    assert C.shape == (3, 4)
    assert (C[:, 3] == 0).all()


def test_axes_of_a_cross_have_the_cosine_of_their_angle() -> None:
    """A universal joint keeps −e_x · E_y zero, which is the sine of the angle that a hinge about z
    has turned.
    """
    motion = pendulum(Loop("cross", "universal", End(BASE), End(0)))
    rows = closing.rows(motion, ((3,),), Q, V, ACC)
    assert np.allclose(rows[0], np.sin(Q), rtol=0, atol=1e-15)
    assert np.allclose(rows[1], np.cos(Q) * V, rtol=0, atol=1e-15)
    bend = np.cos(Q) * ACC - np.sin(Q) * V**2
    assert np.allclose(2 * rows[2], bend, rtol=0, atol=1e-15)


def test_series_of_scalar_products_are_those_of_polynomials() -> None:
    """(1 + 2 t + 3 t²) (4 + 5 t + 6 t²) along each of three axes, up to t²."""
    a, b = ([np.full(3, x) for x in numbers] for numbers in ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)))
    assert [float(x) for x in closing._dot_series(a, b)] == [12, 39, 84]


# -- misassembled loops --


@pytest.mark.parametrize(
    ("kind", "axis", "cosines"),
    [
        ("weld", Z_AXIS, (0, 0, 1)),
        ("weld", X_AXIS, (1, 0, 0)),
        ("revolute", Z_AXIS, (0, 0, 1)),
        ("revolute", Y_AXIS, (0, 0, 0)),
        ("spherical", Y_AXIS, (0, 0, 0)),
    ],
)
def test_frames_that_disagree_by_a_turn_are_misassembled(
    kind: str, axis: tuple[Fraction, ...], cosines: tuple[int, ...]
) -> None:
    """The misalignment adds 1 − cos of each axis that both frames share: three of a weld, z of a
    hinge.
    """
    turn = Turn(axis, Angle(pi=Fraction(1, 2)))  # type: ignore[arg-type]
    turned = End(0, (turn, Shift((R, A, B))))
    motion, still = pendulum(Loop("closing", kind, End(BASE), turned)), np.zeros((2, 1))
    shared = {"weld": (0, 1, 2), "revolute": (2,), "spherical": ()}[kind]
    expected = sum(1 - cosines[k] for k in shared)
    assert np.allclose(closing.misalignment(motion, still), expected, rtol=0, atol=1e-15)
    assert (closing.is_misassembled(motion, still) == (expected > 0)).all()


def test_every_state_is_judged_and_every_loop_counts() -> None:
    """A weld to the base holds at q = 0, and both its x and its y point backwards at q = π; a hinge
    always holds.
    """
    held = Loop("held", "revolute", End(BASE), End(0))
    welded = Loop("welded", "weld", End(BASE), End(0))
    q = np.array([[0.0], [np.pi], [1.0], [1.2]])  # cos 1 is 0.54, cos 1.2 is 0.36
    for loops in ((held, welded), (welded, held)):
        motion = pendulum(*loops)
        assert closing.is_misassembled(motion, q).tolist() == [False, True, False, True]
        expected = 2 * (1 - np.cos(q[:, 0]))
        assert np.allclose(closing.misalignment(motion, q), expected, rtol=0, atol=1e-15)
