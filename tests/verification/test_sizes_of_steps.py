"""Sizes of terms of steps, displacements, task rows and regressors, in closed form."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification.exact_results import ExactResults
from symgen.verification.scales import time_step
from symgen.verification.scales.integration import (
    derivative_sizes,
    difference_size,
    displaced_size,
    integrated_size,
)
from symgen.vocabulary.derivatives import parse_derivative
from tests.shared.bars import pendulum

BAR: dict[str, Any] = {"mass": 2, "centre": (0, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}


@cache
def bodies_of_every_kind() -> Mechanism:
    """Return a slide, a planar body, a ball and a free body, one after the other."""
    builder = symgen.Robot("kinds", gravity=(0, 0, 0))
    builder.body("slide", parent="base", type="prismatic", axis=(1, 0, 0), **BAR)
    for name, parent in (("planar", "slide"), ("spherical", "planar"), ("free", "spherical")):
        builder.body(name, parent=parent, type=name, **BAR)
    return builder.build()


Q = np.array([[0.5, 2, -3, -0.25, 0.6, 0, 0, 0.8, 1, -2, 4, 0, 0.6, 0.8, 0]])
STEP = np.array([[-0.25, 3, -1, 0.5, 0.1, -0.2, 0.3, 2, -4, 8, 0.5, 0.25, -0.75]])


# -- displacements --


def test_displaced_coordinates_add_travel_and_rotate_it() -> None:
    """Positions move by their travel times 1 plus the turn and the angle at the start; entries of a
    quaternion by the turn.
    """
    slide = 0.5 + 0.25
    turn, travel = 0.5, 3 + 1
    moved = travel * (1 + turn + 0.25)
    ball = 1 + 0.1 + 0.2 + 0.3
    free_turn, free_travel = 0.5 + 0.25 + 0.75, 2 + 4 + 8
    free = free_travel * (1 + free_turn)
    expected = [
        slide, 2 + moved, 3 + moved, 0.25 + turn, *[ball] * 4,
        1 + free, 2 + free, 4 + free, *[1 + free_turn] * 4,
    ]  # fmt: skip
    result = displaced_size(bodies_of_every_kind(), Q, STEP)
    np.testing.assert_allclose(result, [expected], rtol=1e-14)
    np.testing.assert_array_equal(displaced_size(bodies_of_every_kind(), -Q, -STEP), result)


@pytest.fixture(scope="module")
def exact() -> ExactResults:
    return ExactResults(bodies_of_every_kind(), 4, 1)


def test_the_size_of_integrate_is_that_of_the_displacement_by_v_dt(exact: ExactResults) -> None:
    floats = exact.floats
    expected = displaced_size(exact.mechanism, floats["q"], floats["v"] * floats["dt"][:, None])
    np.testing.assert_array_equal(integrated_size(exact), expected)
    np.testing.assert_array_equal(exact.scales.of("integrate", "q_next"), expected)


def test_the_size_of_a_difference_adds_both_positions(exact: ExactResults) -> None:
    """A rotation has 1 + π and the angles; a displacement is multiplied by it."""
    total = np.abs(exact.floats["q"]) + np.abs(exact.floats["q_next"])
    slide, x, y, angle = total[:, :4].T
    px, py, pz = total[:, 8:11].T
    whole = 1 + np.pi
    planar = whole + angle
    linear, free = (x + y) * planar, (px + py + pz) * whole
    columns = [
        slide,
        linear,
        linear,
        planar,
        *[whole + 0 * x] * 3,
        *[free] * 3,
        *[whole + 0 * x] * 3,
    ]
    np.testing.assert_allclose(difference_size(exact), np.stack(columns, axis=1), rtol=1e-14)


@pytest.mark.parametrize("of", ["integrate", "difference"])
def test_sizes_of_derivatives_are_products_over_their_differentiations(
    exact: ExactResults, of: str
) -> None:
    """A rate for each, times the sums of the changes and of the weights."""
    for mode in ("jacobian", "jvp", "vjp", "hvp"):
        exact.draw(f"{of}:{mode}")

    def total(name: str) -> Array:
        return np.asarray(np.abs(exact.floats[name]).reshape(4, -1).sum(axis=1))

    travel, time = total("v"), np.abs(exact.floats["dt"])
    if of == "integrate":
        rate = (1 + travel) * (1 + time) * (1 + travel * time)
        changes = total("dq") + total("dv") + total("ddt")
        weights = total("q_next_bar")
    else:
        rate = (1 + total("q") + total("q_next")) * (1 + np.pi)
        changes = total("dq") + total("dq_next")
        weights = total("delta_bar")
    for mode, expected in (
        ("jacobian", rate),
        ("jvp", rate * changes),
        ("vjp", rate * weights),
        ("hvp", rate**2 * changes * weights),
    ):
        derivative = parse_derivative(f"{of}:{mode}")
        assert derivative is not None
        np.testing.assert_allclose(derivative_sizes(exact, derivative), expected, rtol=1e-12)


# -- steps --


def test_sizes_of_coordinates_become_sizes_of_steps(exact: ExactResults) -> None:
    """A body without an axis has the largest of its lengths and the largest other entry."""
    sizes = np.arange(1.0, 16.0)[None]
    expected = [1, 3, 3, 4, *[8] * 3, *[11] * 3, *[15] * 3]
    np.testing.assert_array_equal(time_step._tangent(exact, sizes), [expected])


def test_sizes_of_brackets_are_twice_the_products_of_sums(exact: ExactResults) -> None:
    x, y = np.abs(STEP), np.ones((1, 13))
    result = time_step._bracket_size(exact, x, y)
    expected = [0, *[2 * 4.5 * 3] * 3, *[2 * 0.6 * 3] * 3, *[2 * 15.5 * 6] * 6]
    np.testing.assert_allclose(result, [expected], rtol=1e-14)


def springs() -> Mechanism:
    """Return a damped slide of 2 kg on a spring of 3 N/m."""
    builder = symgen.Robot("spring", gravity=(0, 0, 0))
    builder.body(
        "a", parent="base", type="prismatic", axis=(1, 0, 0), damping=5, stiffness=3, **BAR
    )
    return builder.build()


def test_derivatives_of_accelerations_are_those_of_a_damped_spring() -> None:
    """a = (τ − 3 q − 5 v)/2; the slope of the damping is added to that of the differences."""
    by_position, by_velocity = time_step._acceleration_derivatives(ExactResults(springs(), 2, 1))
    np.testing.assert_allclose(by_position, 1.5, rtol=1e-8)
    np.testing.assert_allclose(by_velocity, 2.5 + 2.5, rtol=1e-12)


def test_sizes_of_euler_steps_add_the_accelerations_of_the_terms() -> None:
    exact = ExactResults(springs(), 3, 1)
    h = np.abs(exact.floats["instant"])[:, None]
    v_next = np.abs(exact.floats["v"]) + h * exact.scales.joint_accelerations()
    sizes = time_step.semi_implicit_euler(exact.scales)
    np.testing.assert_allclose(sizes["v_next"], v_next, rtol=1e-14)
    np.testing.assert_allclose(sizes["q_next"], np.abs(exact.floats["q"]) + h * v_next, rtol=1e-14)


def test_sizes_of_four_stages_pass_their_errors_on() -> None:
    """A stage of the damped spring adds 3/2 of the size of its position and 5 of its rates'."""
    exact = ExactResults(springs(), 3, 1)
    q, v, tau, dt = (exact.floats[name] for name in ("q", "v", "tau", "instant"))
    h, time, speed = np.abs(dt)[:, None], dt[:, None], np.abs(v)

    def acceleration(at: Array, rates: Array) -> Array:
        return np.asarray((tau - 3 * at - 5 * rates) / 2)

    def size(at: Array, rates: Array) -> Array:
        """Return the sum of the terms by 1/2: M a, the drive and the force."""
        solved = 2 * np.abs(acceleration(at, rates))
        return np.asarray((solved + 3 * np.abs(at) + 5 * np.abs(rates) + np.abs(tau)) / 2)

    def stage(
        rates: Array, terms: Array, part: float, a: Array, inherited: Array
    ) -> tuple[Array, Array]:
        at, speeds = q + part * time * rates, v + part * time * a
        position = np.abs(q) + part * h * terms
        error = size(at, speeds) + 1.5 * position + 5 * (speed + part * h * inherited)
        return acceleration(at, speeds), error

    a1, s1 = acceleration(q, v), size(q, v)
    a2, s2 = stage(v, speed, 0.5, a1, s1)
    a3, s3 = stage(v + a1 * time / 2, speed + h * s1 / 2, 0.5, a2, s2)
    _, s4 = stage(v + a2 * time / 2, speed + h * s2 / 2, 1.0, a3, s3)
    sizes = time_step.rk4(exact.scales)
    v_next = speed + h * (s1 + 2 * s2 + 2 * s3 + s4) / 6
    np.testing.assert_allclose(sizes["v_next"], v_next, rtol=1e-7)
    mean = speed + h * (s1 + s2 + s3) / 6
    np.testing.assert_allclose(sizes["q_next"], np.abs(q) + h * mean, rtol=1e-7)


# -- task rows and regressors of a pendulum --

LENGTH, MASS, INERTIA = 0.5, 3.0, 0.25


@cache
def swinging() -> ExactResults:
    """Return results of the pendulum with a frame at its mass centre, and the task of turning about
    z.
    """
    return ExactResults(pendulum(), 3, 2, frame="bob", task_rows=(2,))


def test_sizes_of_task_rows_of_a_pendulum() -> None:
    """For rotation about z, J is 1 and X is 1/I; with the size s of M, Λ⁻¹ is off by s/I² + 2/I,
    and Λ is I.
    """
    true, size = MASS * LENGTH**2 + INERTIA, MASS * LENGTH**2 + INERTIA * np.sqrt(3)
    scales = swinging().scales
    mobility = size / true**2 + 2 / true
    np.testing.assert_allclose(
        scales.of("operational_inertia_inverse", "Lambda_inv")[:, 2, 2], mobility
    )
    np.testing.assert_allclose(scales.of("operational_inertia", "Lambda"), true**2 * mobility)
    inverse = (size / true**2 + 1 / true) * true + true * mobility
    np.testing.assert_allclose(scales.of("dynamically_consistent_inverse", "Jbar"), inverse)


def test_sizes_of_the_regressor_of_a_pendulum() -> None:
    """At the joint itself the lever is 0: gravity counts in the first moments, the accelerations in
    the second ones.
    """
    exact = ExactResults(pendulum(), 3, 2)
    v, a = (np.abs(exact.floats[name]) for name in "va")
    field = a + 2 * v**2
    expected = np.concatenate([0 * v, *[10 + 0 * v] * 3, *[field] * 6], axis=1)[:, None]
    np.testing.assert_allclose(exact.scales.of("regressor", "Y"), expected, rtol=1e-12, atol=1e-15)


def test_sizes_of_the_regressor_grow_with_levers() -> None:
    """The second of two bars in a row has the lever 1 m to the first joint."""
    builder = symgen.Robot("bars", gravity=(0, -10, 0))
    builder.body("a", parent="base", type="revolute", axis=(0, 0, 1), **BAR)
    builder.body("b", parent="a", type="revolute", axis=(0, 0, 1), xyz=(1, 0, 0), **BAR)
    exact = ExactResults(builder.build(), 3, 2)
    v, a = (np.abs(exact.floats[name]).T for name in "va")
    rate, stir = v[0] + v[1], a[0] + a[1]
    field, gravity = stir + 2 * rate**2, a[0] + 2 * rate * v[0] + 10
    sizes = exact.scales.of("regressor", "Y")
    for row, lever in ((0, 1), (1, 0)):
        columns = [lever * gravity, *[lever * field + gravity] * 3, *[field] * 6]
        np.testing.assert_allclose(
            sizes[:, row, 10:], np.stack(columns, axis=1), rtol=1e-12, atol=1e-9
        )
    assert (sizes[:, 1, :10] < 1e-9).all()
