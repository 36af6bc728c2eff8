"""Dynamics of closed loops in the reference: the equations that define them, and a parallelogram in
closed form.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import closing
from symgen.reference.assembling import assemble, closed_states
from symgen.reference.contacts import all_rows, contact_forward_dynamics, contact_impulse
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from tests.shared.looped import doubled

TORQUE = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@cache
def parallelogram(actuated: tuple[str, ...] = ("crank_joint",)) -> Mechanism:
    """Return bars of 0.3, 0.5 and 0.3 m, whose coupler only translates."""
    bar: dict[str, Any] = {"type": "revolute", "axis": (0, 0, 1)}
    masses = (
        ("crank", "base", (0, 0, 0), 2, ("0.1", 0, 0), "0.03"),
        ("coupler", "crank", ("0.3", 0, 0), "1.2", ("0.25", "0.02", 0), "0.05"),
        ("rocker", "base", ("0.5", 0, 0), 3, ("0.15", 0, 0), "0.02"),
    )
    builder = symgen.Robot("parallelogram", gravity=(0, "-9.81", 0))
    for name, parent, xyz, mass, centre, zz in masses:
        builder.body(name, parent=parent, xyz=xyz, mass=mass, centre=centre,
                     inertia=("0.01", 0, 0, "0.01", 0, zz), **bar)  # fmt: skip
    builder.loop(
        "closing", "revolute", first=("coupler", ("0.5", 0, 0)), second=("rocker", ("0.3", 0, 0))
    )
    builder.start(crank_joint=1, coupler_joint=-1, rocker_joint=1)
    return builder.actuated(*actuated).build()


INERTIA = (0.03 + 2 * 0.1**2) + (0.02 + 3 * 0.15**2) + 1.2 * 0.3**2
"""kg m²: of all three bars, by the angle of the crank."""
MOMENT = 2 * 0.1 + 3 * 0.15 + 1.2 * 0.3
"""kg m, of their weight."""
DIRECTIONS = np.array([1.0, -1.0, 1.0])


@cache
def robot(redundant: bool = False) -> Mechanism:
    return doubled(parallelogram()) if redundant else parallelogram()


@cache
def states(redundant: bool = False) -> tuple[Reference, Array, Array]:
    """Return the reference in doubles, with q and v of closed states."""
    drawn = closed_states(robot(redundant), assemble(robot(redundant)), 2, 1)
    return Reference(robot(redundant)), drawn["q"].astype(float), drawn["v"].astype(float)


def rows(reference: Reference, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return A, γ and C."""
    kept = assemble(reference.mechanism).kept
    return (
        closing.jacobian(reference, kept, q),
        closing.bias(reference, kept, q, v),
        closing.residual(reference, kept, q),
    )


def times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def transposed(matrix: Array) -> Array:
    return np.asarray(np.swapaxes(matrix, -1, -2))


@pytest.mark.parametrize("redundant", [False, True])
def test_accelerations_satisfy_the_equations_of_motion_and_the_loops(redundant: bool) -> None:
    """M a + c = τ + Aᵀ λ and A a + γ = 0; equal rows have equal forces."""
    reference, q, v = states(redundant)
    A, gamma, _ = rows(reference, q, v)
    results = reference.evaluate("constrained_forward_dynamics", {"q": q, "v": v, "tau": TORQUE})
    a, forces = results["a"], results["lambda"]
    left = times(reference.mass_matrix(q), a) + reference.bias_force(q, v)
    assert np.allclose(left, TORQUE + times(transposed(A), forces), atol=1e-9)
    assert np.allclose(times(A, a), -gamma, atol=1e-8)
    assert np.abs(gamma).max() > 1e-3
    if redundant:
        assert np.allclose(forces[:, :2], forces[:, 2:], atol=1e-9)


def test_gains_pull_an_open_loop_together() -> None:
    """A a + γ = −K_d A v − K_p C at a position that is open by 0.1 rad of the rocker."""
    reference, q, _ = states()
    q = q + np.array([0, 0, 0.1])
    v, gains = np.array([[1.0, 0.5, -2], [0.3, -1, 0.25]]), np.array([[100.0, 20], [50, 3]])
    A, gamma, C = rows(reference, q, v)
    arguments = {"q": q, "v": v, "tau": TORQUE, "gains": gains}
    a = reference.evaluate("constrained_forward_dynamics", arguments)["a"]
    pull = -gains[:, 1:] * times(A, v) - gains[:, :1] * C
    assert np.abs(pull).max() > 0.1
    assert np.allclose(times(A, a) + gamma, pull, atol=1e-9)


@pytest.mark.parametrize("redundant", [False, True])
def test_an_impulse_reverses_the_rates_of_the_rows_by_the_restitution(redundant: bool) -> None:
    reference, q, _ = states(redundant)
    v, restitution = np.array([[1.0, 0.5, -2], [0.3, -1, 0.25]]), np.array([0.0, 0.75])
    A, _, _ = rows(reference, q, v)
    arguments = {"q": q, "v": v, "restitution": restitution}
    results = reference.evaluate("constraint_impulse", arguments)
    after = results["v_next"]
    assert np.allclose(times(A, after), -restitution[:, None] * times(A, v), atol=1e-9)
    momentum = times(reference.mass_matrix(q), after - v)
    assert np.allclose(momentum, times(transposed(A), results["impulse"]), atol=1e-9)


def test_a_step_of_the_assembly_is_that_of_damped_least_squares() -> None:
    reference, q, _ = states()
    q, damping = q + np.array([0.05, 0, -0.1]), np.array([1e-2, 1e-3])
    A, _, C = rows(reference, q, 0 * q)
    S = A @ transposed(A)
    mu = damping * np.trace(S, axis1=1, axis2=2)
    expected = -times(
        transposed(A), np.linalg.solve(S + mu[:, None, None] * np.eye(2), C[..., None])[..., 0]
    )
    results = reference.evaluate("assembly_step", {"q": q, "damping": damping})
    assert np.allclose(results["delta"], expected, atol=1e-12)
    assert np.allclose(results["C"], C)
    assert np.allclose(results["turned"], 0, atol=1e-12)


def test_the_reduced_mass_of_a_parallelogram_is_known_in_closed_form() -> None:
    reference, q = Reference(parallelogram()), np.array([[0.7], [-0.4]]) * DIRECTIONS
    reduced = reference.evaluate("reduced_mass_matrix", {"q": q})["M_reduced"]
    assert np.allclose(reduced, INERTIA, rtol=1e-10)


@pytest.mark.parametrize(
    ("actuated", "signs"),
    [
        (("crank_joint",), [1]),
        (("crank_joint", "rocker_joint"), [1, 1]),
        (("crank_joint", "rocker_joint", "coupler_joint"), [1, -1, 1]),
    ],
)
def test_actuators_of_a_parallelogram_share_its_torque(
    actuated: tuple[str, ...], signs: list[int]
) -> None:
    """The coupler turns backwards; with τ and λ the tree accelerates as asked."""
    mechanism = parallelogram(actuated)
    reference, theta, acceleration = Reference(mechanism), 0.7, 2.1
    q, v, a = (x * DIRECTIONS[None] for x in (theta, 1.3, acceleration))
    results = reference.evaluate("constrained_inverse_dynamics", {"q": q, "v": v, "a": a})
    torque = INERTIA * acceleration + 9.81 * MOMENT * np.cos(theta)
    tau = results["tau_independent"]
    assert np.allclose(tau, [[torque * sign / len(signs) for sign in signs]], rtol=1e-9)
    total = np.zeros((1, 3))
    total[:, list(assemble(mechanism).actuated)] = tau
    A = closing.jacobian(reference, assemble(mechanism).kept, q)
    forces = total + times(transposed(A), results["lambda"])
    assert np.allclose(forces, reference.inverse_dynamics(q, v, a), atol=1e-9)


# -- contacts beside loops --


def test_contacts_and_loops_stop_together_and_inactive_contacts_have_no_force() -> None:
    """A point of the coupler is held along x and y, which leaves no motion: velocities stop, and
    accelerations vanish.
    """
    _, q, v = states()
    reference = Reference(parallelogram(), contact="coupler")
    rows_of_all = all_rows(reference, q)
    assert rows_of_all.shape == (2, 5, 3)
    active = np.array([[1.0], [0.0]])
    results = contact_impulse(reference, q=q, v=v, active=active)
    assert np.allclose(results["v_after"][0], 0, atol=1e-6)
    assert np.allclose(results["v_after"][1], v[1], atol=1e-6)
    assert np.allclose(results["impulses"][1], 0, atol=1e-9)
    assert np.abs(results["impulses"][0]).max() > 1e-3
    still = contact_forward_dynamics(reference, q=q, v=0 * v, tau=TORQUE, active=active)
    assert np.allclose(still["a"][0], 0, atol=1e-4)
    free = Reference(parallelogram()).evaluate(
        "constrained_forward_dynamics", {"q": q, "v": 0 * v, "tau": TORQUE}
    )["a"]
    assert np.allclose(still["a"][1], free[1], atol=1e-5)
    assert np.allclose(still["forces"][1], 0, atol=1e-9)


def test_a_contact_of_a_tree_holds_its_point() -> None:
    """M a + c = τ + Jᵀ f and the point's acceleration is zero; an impulse stops the point."""
    arm = symgen.load("puma560")
    name = arm.frames[-1].name
    reference = Reference(arm, contact=name)
    draw = np.random.default_rng(1)
    q, v, tau = draw.uniform(-1, 1, (3, 2, 6))
    active = np.ones((2, 1))
    J = all_rows(reference, q)
    results = contact_forward_dynamics(reference, q=q, v=v, tau=tau, active=active)
    force = times(transposed(J), results["forces"].reshape(2, 3))
    left = times(reference.mass_matrix(q), results["a"]) + reference.bias_force(q, v)
    assert np.allclose(left, tau + force, atol=1e-8)
    h = 1e-6
    rate = (all_rows(reference, q + h * v) - all_rows(reference, q - h * v)) / (2 * h)
    assert np.allclose(times(J, results["a"]) + times(rate, v), 0, atol=1e-6)
    impact = contact_impulse(reference, q=q, v=v, active=active)
    assert np.allclose(times(J, impact["v_after"]), 0, atol=1e-9)
    momentum = times(reference.mass_matrix(q), impact["v_after"] - v)
    assert np.allclose(momentum, times(transposed(J), impact["impulses"].reshape(2, 3)), atol=1e-9)
