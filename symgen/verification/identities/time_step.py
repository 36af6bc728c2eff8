"""Identities of one step of the dynamics: its parts, zero time, and the order of Runge-Kutta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array
from symgen.verification import drive_scales
from symgen.verification.identities._identity import Distance, Functions, Identity

SHORT = Fraction(4, 10**9)
"""Step as a fraction of the time scale of the motion: an error of order 5 is below the tolerance,
one of order 4 far above.
"""


def _euler_is_forward_dynamics(f: Functions) -> Distance:
    """Return the distance of the step from v⁺ = v + a dt, q⁺ = q ⊕ v⁺ dt."""
    dt, results = f.drawn_argument("step", "dt"), f("step")
    v_next = f.states["v"] + f("forward_dynamics")["a"] * dt[:, None]
    q_next = f("integrate", v=results["v_next"], dt=dt)["q_next"]
    return _concatenated(results["q_next"] - q_next, results["v_next"] - v_next), _sizes(f, "step")


def _zero_time_euler(f: Functions) -> Distance:
    """Return the change of q and v in a semi-implicit Euler step of dt = 0."""
    return _change_in_zero_time(f, "step"), _sizes(f, "step")


def _zero_time_rk4(f: Functions) -> Distance:
    """Return the change of q and v in a Runge-Kutta step of dt = 0."""
    return _change_in_zero_time(f, "step_rk4"), _sizes(f, "step_rk4")


def _change_in_zero_time(f: Functions, function: str) -> Array:
    results = f(function, dt=0 * f.drawn_argument("step", "dt"))
    return _concatenated(results["q_next"] - f.states["q"], results["v_next"] - f.states["v"])


def _rate_is_the_acceleration(f: Functions) -> Distance:
    """Return the distance of d/dt v⁺ at dt = 0 from a, by central differences with h = 1e-25."""
    h, zero_time = (
        f.exact_results.scalars.constant(Fraction(1, 10**25)),
        0 * f.drawn_argument("step", "dt"),
    )
    up, down = (f("step_rk4", dt=zero_time + s)["v_next"] for s in (h, -h))
    return (up - down) / (2 * h) - f("forward_dynamics")[
        "a"
    ], f.exact_results.scales.joint_accelerations()


def _two_halves_make_a_whole(f: Functions) -> Distance:
    """Return the difference of two steps of dt/2 and one of dt: it is proportional to dt⁵.

    dt is so short that dt⁵ is below the tolerance and dt⁴ is not.
    """
    a = np.asarray(f.exact_results.results("forward_dynamics")["a"], dtype=float)
    rates = (
        1
        + np.abs(f.exact_results.floats["v"]).max(axis=-1)
        + np.sqrt(np.abs(a).max(axis=-1))
        + _drive_rates(f, a)
    )
    dt = f.exact_results.scalars.array([SHORT / Fraction(float(rate)) for rate in rates])
    between, full_step = f("step_rk4", dt=dt / 2), f("step_rk4", dt=dt)
    halves = f("step_rk4", q=between["q_next"], v=between["v_next"], dt=dt / 2)
    distance = 1 + np.abs(f.exact_results.floats["q"]).max(axis=-1)
    sizes = [
        np.broadcast_to(distance[:, None], full_step["q_next"].shape),
        np.broadcast_to(rates[:, None], full_step["v_next"].shape),
    ]
    return _concatenated(
        halves["q_next"] - full_step["q_next"], halves["v_next"] - full_step["v_next"]
    ), np.concatenate(sizes, axis=-1)


def _drive_rates(f: Functions, a: Array) -> Array:
    """Return the largest rate (1/s) at which drive forces change (count,): by damping, by a spring,
    and at a friction reversal.
    """
    mechanism, v = f.exact_results.mechanism, f.exact_results.floats["v"]
    M_inverse = np.abs(
        np.asarray(f.exact_results.results("inverse_mass_matrix")["Minv"], dtype=float)
    )
    spring_rates = np.sqrt(M_inverse @ drive_scales.stiffness(mechanism)[:, None])
    damping_rates = (
        M_inverse @ drive_scales.velocity_derivatives(mechanism, v)[..., None] + spring_rates
    )
    friction_rates = np.abs(a) * drive_scales.friction_curvature(mechanism, v)
    return np.asarray((damping_rates[..., 0] + friction_rates).max(axis=-1))


def _concatenated(q_difference: Array, v_difference: Array) -> Array:
    return np.concatenate([q_difference, v_difference], axis=-1)


def _sizes(f: Functions, function: str) -> Array:
    return np.concatenate(
        [f.exact_results.scales.of(function, name) for name in ("q_next", "v_next")], axis=-1
    )


RANK = 4
IDENTITIES = (
    Identity(
        "step = integrate after FD",
        ("step", "forward_dynamics", "integrate"),
        _euler_is_forward_dynamics,
    ),
    Identity("step(dt=0) = q, v", ("step",), _zero_time_euler),
    Identity("step_rk4(dt=0) = q, v", ("step_rk4",), _zero_time_rk4),
    Identity(
        "d/dt step_rk4 = FD",
        ("step_rk4", "forward_dynamics"),
        _rate_is_the_acceleration,
        exact_only=True,
    ),
    Identity(
        "step_rk4 by halves − step_rk4 = O(dt⁵)",
        ("step_rk4",),
        _two_halves_make_a_whole,
        exact_only=True,
    ),
)
