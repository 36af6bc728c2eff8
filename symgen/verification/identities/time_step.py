"""What one step of the dynamics obeys on every robot: what it is made of, what no time does, and the order of Runge-Kutta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array
from symgen.verification import drive_scales
from symgen.verification.identities._identity import Distance, Functions, Identity

SHORT = Fraction(4, 10**9)
"""Of the time that a motion takes to change: as much of an error of order 5 is below the tolerance, and of order 4 far above."""


def _euler_is_forward_dynamics(f: Functions) -> Distance:
    """v⁺ = v + a dt, q⁺ = q ⊕ v⁺ dt."""
    dt, found = f.given("step", "dt"), f("step")
    later = f.states["v"] + f("forward_dynamics")["a"] * dt[:, None]
    moved = f("integrate", v=found["v_next"], dt=dt)["q_next"]
    return _both(found["q_next"] - moved, found["v_next"] - later), _sizes(f, "step")


def _no_time_moves_nothing(f: Functions) -> Distance:
    """q and v again where dt = 0, of Euler's step."""
    return _still(f, "step"), _sizes(f, "step")


def _no_time_moves_nothing_either(f: Functions) -> Distance:
    """The same of Runge and Kutta's."""
    return _still(f, "step_rk4"), _sizes(f, "step_rk4")


def _still(f: Functions, function: str) -> Array:
    found = f(function, dt=0 * f.given("step", "dt"))
    return _both(found["q_next"] - f.states["q"], found["v_next"] - f.states["v"])


def _at_once_it_is_the_acceleration(f: Functions) -> Distance:
    """d/dt v⁺ at dt = 0 is a, by central differences with h = 1e-25."""
    h, still = f.truth.scalars.constant(Fraction(1, 10**25)), 0 * f.given("step", "dt")
    up, down = (f("step_rk4", dt=still + s)["v_next"] for s in (h, -h))
    return (up - down) / (2 * h) - f("forward_dynamics")["a"], f.truth.scales.joint_accelerations()


def _two_halves_are_the_whole(f: Functions) -> Distance:
    """Two steps of dt/2 and one of dt differ by what goes with dt⁵, at a dt so short that this is nothing and dt⁴ is not."""
    a = np.asarray(f.truth.results("forward_dynamics")["a"], dtype=float)
    quick = (
        1
        + np.abs(f.truth.floats["v"]).max(axis=-1)
        + np.sqrt(np.abs(a).max(axis=-1))
        + _quick_drives(f, a)
    )
    dt = f.truth.scalars.array([SHORT / Fraction(float(rate)) for rate in quick])
    between, whole = f("step_rk4", dt=dt / 2), f("step_rk4", dt=dt)
    found = f("step_rk4", q=between["q_next"], v=between["v_next"], dt=dt / 2)
    far = 1 + np.abs(f.truth.floats["q"]).max(axis=-1)
    sizes = [
        np.broadcast_to(far[:, None], whole["q_next"].shape),
        np.broadcast_to(quick[:, None], whole["v_next"].shape),
    ]
    return _both(
        found["q_next"] - whole["q_next"], found["v_next"] - whole["v_next"]
    ), np.concatenate(sizes, axis=-1)


def _quick_drives(f: Functions, a: Array) -> Array:
    """How often in a second what drives do changes (count,): by damping, by a spring, and where friction turns its sign."""
    mechanism, v = f.truth.mechanism, f.truth.floats["v"]
    free = np.abs(np.asarray(f.truth.results("inverse_mass_matrix")["Minv"], dtype=float))
    sprung = np.sqrt(free @ drive_scales.stiffness(mechanism)[:, None])
    slowed = free @ drive_scales.slopes(mechanism, v)[..., None] + sprung
    turned = np.abs(a) * drive_scales.bend(mechanism, v)
    return np.asarray((slowed[..., 0] + turned).max(axis=-1))


def _both(q: Array, v: Array) -> Array:
    return np.concatenate([q, v], axis=-1)


def _sizes(f: Functions, function: str) -> Array:
    return np.concatenate(
        [f.truth.scales.of(function, name) for name in ("q_next", "v_next")], axis=-1
    )


RANK = 4
IDENTITIES = (
    Identity(
        "step = integrate after FD",
        ("step", "forward_dynamics", "integrate"),
        _euler_is_forward_dynamics,
    ),
    Identity("step(dt=0) = q, v", ("step",), _no_time_moves_nothing),
    Identity("step_rk4(dt=0) = q, v", ("step_rk4",), _no_time_moves_nothing_either),
    Identity(
        "d/dt step_rk4 = FD",
        ("step_rk4", "forward_dynamics"),
        _at_once_it_is_the_acceleration,
        exact_only=True,
    ),
    Identity(
        "step_rk4 by halves − step_rk4 = O(dt⁵)",
        ("step_rk4",),
        _two_halves_are_the_whole,
        exact_only=True,
    ),
)
