"""Steps of the reference: brackets in closed form, linear equations, and convergence order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.reference.time_step import bracket, rk4, semi_implicit_euler
from tests.shared.turning_robots import tree_of

X = np.array([[0.3, -0.7, 1.1, 0.5, 0.2, -0.9], [1.3, 0.4, -0.6, -0.2, 0.8, 0.7]])
Y = np.array([[-0.4, 0.9, 0.6, 1.2, -0.3, 0.5], [0.1, -1.1, 0.2, 0.6, 0.5, -0.4]])


def one_joint(kind: str) -> Motion:
    return Motion(tree_of(kind), FLOAT)


# -- brackets --


def test_the_bracket_of_rotations_is_the_cross_product() -> None:
    x, y = X[:, :3], Y[:, :3]
    assert np.allclose(bracket(one_joint("spherical"), x, y), np.cross(x, y), rtol=0, atol=1e-15)


def test_the_bracket_of_a_free_body_is_that_of_screws() -> None:
    """[(v, w), (v', w')] = (w × v' − w' × v, w × w')."""
    (v, w), (v_y, w_y) = ((twist[:, :3], twist[:, 3:]) for twist in (X, Y))
    linear, angular = np.cross(w, v_y) - np.cross(w_y, v), np.cross(w, w_y)
    expected = np.concatenate([linear, angular], axis=-1)
    assert np.allclose(bracket(one_joint("free"), X, Y), expected, rtol=0, atol=1e-15)


def test_the_bracket_of_a_planar_body_has_no_rotation() -> None:
    """With e = z × the linear part, it is w e(v') − w' e(v)."""
    (a, b, w), (a_y, b_y, w_y) = X[:, :3].T, Y[:, :3].T
    expected = np.stack([-w * b_y + w_y * b, w * a_y - w_y * a, 0 * w], axis=-1)
    result = bracket(one_joint("planar"), X[:, :3], Y[:, :3])
    assert np.allclose(result, expected, rtol=0, atol=1e-15)


def test_motions_along_one_axis_commute_and_joints_do_not_mix() -> None:
    motion = Motion(tree_of("cylindrical", "spherical", "revolute"), FLOAT)
    result = bracket(motion, X, Y)
    assert (result[:, [0, 1, 5]] == 0).all()
    assert np.allclose(result[:, 2:5], np.cross(X[:, 2:5], Y[:, 2:5]), rtol=0, atol=1e-15)


# -- linear equations --

STIFFNESS, DAMPING = 3.0, 0.5


def spring(q: Array, v: Array, tau: Array, **loads: Array) -> Array:
    """Return the acceleration of a unit mass on a damped spring under a force and a pull."""
    return np.asarray(-STIFFNESS * q - DAMPING * v + tau + loads["pull"])


@pytest.fixture
def arguments() -> dict[str, Array]:
    """Two states of a slide."""
    return {
        "q": np.array([[0.4], [-0.3]]),
        "v": np.array([[-0.9], [0.7]]),
        "tau": np.array([[0.2], [0.1]]),
        "dt": np.array([0.3, -0.2]),
        "pull": np.array([[0.6], [-0.5]]),
    }


def test_semi_implicit_euler_moves_with_the_new_velocity(arguments: dict[str, Array]) -> None:
    result = semi_implicit_euler(one_joint("prismatic"), spring, **arguments)
    q, v, tau, dt, pull = (arguments[name] for name in ("q", "v", "tau", "dt", "pull"))
    v_next = v + (-STIFFNESS * q - DAMPING * v + tau + pull) * dt[:, None]
    assert np.allclose(result["v_next"], v_next, rtol=0, atol=1e-15)
    assert np.allclose(result["q_next"], q + v_next * dt[:, None], rtol=0, atol=1e-15)


def test_four_stages_give_the_taylor_series_of_a_linear_equation(
    arguments: dict[str, Array],
) -> None:
    """x⁺ = Σ (h A)ᵏ/k! x up to k = 4, with x = (q, v, 1)."""
    result = rk4(one_joint("prismatic"), spring, **arguments)
    for k in range(2):
        force = float(arguments["tau"][k, 0] + arguments["pull"][k, 0])
        A = np.array([[0, 1, 0], [-STIFFNESS, -DAMPING, force], [0, 0, 0]])
        h = float(arguments["dt"][k])
        x = term = np.array([arguments["q"][k, 0], arguments["v"][k, 0], 1.0])
        for power in (1, 2, 3, 4):
            term = h * A @ term / power
            x = x + term
        assert float(result["q_next"][k, 0]) == pytest.approx(x[0], abs=1e-14)
        assert float(result["v_next"][k, 0]) == pytest.approx(x[1], abs=1e-14)


# -- order --


def final_state(
    step: Callable[..., dict[str, Array]], reference: Reference, steps: int, time: float
) -> Array:
    nq, nv = reference.mechanism.nq, reference.mechanism.nv
    q, v = np.zeros(nq), np.linspace(-2, 3, nv)
    q[nq - 4 :] = (0.1, -0.5, 0.7, 0.5)  # the quaternion, of length one
    dt = np.array(time / steps)
    for _ in range(steps):
        result = step(reference, reference.forward_dynamics, q, v, np.linspace(1, -1, nv), dt)
        q, v = result["q_next"], result["v_next"]
    return np.concatenate([q, v])


@pytest.mark.parametrize("kind", ["spherical", "free"])
@pytest.mark.parametrize(("step", "order"), [(semi_implicit_euler, 1), (rk4, 4)])
def test_half_a_step_has_an_error_smaller_by_two_to_the_order_and_one(
    step: Callable[..., dict[str, Array]], order: int, kind: str
) -> None:
    """A heavy body makes a single step; its accelerations depend on orientation and velocity."""
    reference = Reference(tree_of(kind), FLOAT)
    errors = []
    for time in (0.08, 0.04):
        fine = final_state(rk4, reference, 8, time)
        errors.append(np.abs(final_state(step, reference, 1, time) - fine).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.35)
