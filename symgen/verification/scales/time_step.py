"""Sizes of the terms of one step of the dynamics, including the round-off that each stage passes to
the next.

The error of a stage has the size of its own accelerations, plus the errors of its position and
velocity times |∂a/∂q| and |∂a/∂v|. These derivatives are central differences of the reference's
forward dynamics.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.integrate import integrate
from symgen.reference.precision import Array
from symgen.reference.time_step import bracket
from symgen.verification import drive_scales
from symgen.verification.reference_results import ReferenceResults
from symgen.verification.scales._bodies import Bodies
from symgen.verification.scales.integration import displaced_size

STEP = 2.0**-17
"""Step of a central difference over a rotation: accurate to eight digits."""


def semi_implicit_euler(bodies: Bodies) -> dict[str, Array]:
    """Return the sizes of q_next (count, NQ) and of v_next (count, NV)."""
    floats, h = bodies.exact_results.floats, np.abs(bodies.exact_results.floats["instant"])[:, None]
    v_next = np.abs(floats["v"]) + h * bodies.joint_accelerations()
    return {
        "q_next": displaced_size(bodies.exact_results.mechanism, floats["q"], h * v_next),
        "v_next": v_next,
    }


def rk4(bodies: Bodies) -> dict[str, Array]:
    """Return the sizes of q_next and v_next, through four stages (q_k, v_k), each at the position
    of the rates before it.
    """
    exact_results, mechanism = bodies.exact_results, bodies.exact_results.mechanism
    q, v, dt = (exact_results.floats[name] for name in ("q", "v", "instant"))
    speed, time, h = np.abs(v), dt[:, None], np.abs(dt)[:, None]

    def stage(
        rates: Array, terms: Array, fraction: float, a: Array, size: Array
    ) -> tuple[Array, Array]:
        """Return a and its size at q ⊕ rates part dt and v + a part dt.

        `terms` are the sizes of the rates and `size` is the size of a.
        """
        stage_results = _at(
            exact_results,
            integrate(exact_results.rough, q, rates, fraction * dt),
            v + fraction * time * a,
        )
        by_position, by_velocity = _acceleration_derivatives(stage_results)
        position_error = _tangent(exact_results, displaced_size(mechanism, q, fraction * h * terms))
        own_size = Bodies(stage_results).joint_accelerations() + times(by_position, position_error)
        return stage_results.results("forward_dynamics")["a"], own_size + times(
            by_velocity, speed + fraction * h * size
        )

    a1 = np.asarray(
        exact_results.rough.evaluate(
            "forward_dynamics",
            exact_results.reference_arguments("forward_dynamics", exact_results.floats),
        )["a"]
    )
    s1 = bodies.joint_accelerations()
    a2, s2 = stage(v, speed, 0.5, a1, s1)
    rotation_change = bracket(exact_results.rough, v, a1) * time**2 / 8
    a3, s3 = stage(
        v + a1 * time / 2 + rotation_change,
        speed + h * s1 / 2 + h**2 * _bracket_size(exact_results, speed, s1) / 8,
        0.5,
        a2,
        s2,
    )
    _, s4 = stage(v + a2 * time / 2, speed + h * s2 / 2, 1.0, a3, s3)
    mean_speed = (
        speed + h * (s1 + s2 + s3) / 6 + h**2 * _bracket_size(exact_results, speed, s3) / 12
    )
    return {
        "q_next": displaced_size(mechanism, q, h * mean_speed),
        "v_next": speed + h * (s1 + 2 * s2 + 2 * s3 + s4) / 6,
    }


def _at(exact_results: ReferenceResults, q: Array, v: Array) -> ReferenceResults:
    """Return the answers at other states, of floats."""
    results = copy(exact_results)
    results.floats = exact_results.floats | {"q": q, "v": v}
    results.replace_results(
        {
            name: exact_results.rough.evaluate(
                name, results.reference_arguments(name, results.floats)
            )
            for name in ("inverse_mass_matrix", "forward_dynamics")
        }
    )
    return results


def _acceleration_derivatives(exact_results: ReferenceResults) -> tuple[Array, Array]:
    """Return |∂a/∂q| along q ⊕ δ and |∂a/∂v|, (count, NV, NV) each.

    a is quadratic in v, so a difference of any step is exact in v. Friction is the exception, and
    its slope is added.
    """
    arguments = exact_results.reference_arguments("forward_dynamics", exact_results.floats)
    steps = np.eye(exact_results.mechanism.nv)[:, None, :]

    def change(name: str, up: Array, down: Array) -> Array:
        displaced = [
            exact_results.rough.evaluate("forward_dynamics", arguments | {name: x})["a"]
            for x in (up, down)
        ]
        return np.asarray(np.abs(np.moveaxis(displaced[0] - displaced[1], 0, -1)) / 2)

    positions = [
        exact_results.rough.displaced(arguments["q"], step)
        for step in (STEP * steps, -STEP * steps)
    ]
    M_inverse = np.abs(
        np.asarray(exact_results.results("inverse_mass_matrix")["Minv"], dtype=float)
    )
    friction_slope = (
        M_inverse
        * drive_scales.velocity_derivatives(exact_results.mechanism, arguments["v"])[:, None, :]
    )
    return change("q", *positions) / STEP, change(
        "v", arguments["v"] + steps, arguments["v"] - steps
    ) + friction_slope


def _tangent(exact_results: ReferenceResults, sizes: Array) -> Array:
    """Return the sizes of coordinates (count, NQ) as sizes of a step (count, NV)."""
    mechanism = exact_results.mechanism
    total = np.empty((len(sizes), mechanism.nv))
    for joint, q_slice, v_slice in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        if joint.type.directed:
            total[:, v_slice] = sizes[:, q_slice]
            continue
        along_axes = np.array([coordinate.unit == "m" for coordinate in joint.type.positions])
        for k, velocity in enumerate(joint.type.velocities):
            total[:, v_slice.start + k] = sizes[:, q_slice][
                :, along_axes == (velocity.unit == "m")
            ].max(axis=-1)
    return total


def _bracket_size(exact_results: ReferenceResults, x: Array, y: Array) -> Array:
    """Return the size of the bracket of two velocities (count, NV)."""
    total = np.zeros(x.shape)
    for joint, v_slice in zip(
        exact_results.mechanism.joints, exact_results.mechanism.v_slices, strict=True
    ):
        if not joint.type.directed:
            total[:, v_slice] = (
                2
                * x[:, v_slice].sum(axis=-1, keepdims=True)
                * y[:, v_slice].sum(axis=-1, keepdims=True)
            )
    return total


BY_FUNCTION = {"step": semi_implicit_euler, "step_rk4": rk4}
