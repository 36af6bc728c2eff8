"""How large the terms of one step of the dynamics are, and with them the round-off that its stages hand on to each other.

A stage errs by the size of its own accelerations, and by what those of its place and its velocities do to them: |∂a/∂q| and
|∂a/∂v| there, of the reference's forward dynamics by central differences. All is of absolute values.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.integrate import integrate
from symgen.reference.precision import Array
from symgen.reference.time_step import bracket
from symgen.verification import drive_scales
from symgen.verification.exact import ExactAnswers
from symgen.verification.scales._bodies import Bodies
from symgen.verification.scales.integration import along

STEP = 2.0**-17  # of a central difference over a turn: good to eight digits


def semi_implicit_euler(bodies: Bodies) -> dict[str, Array]:
    """Sizes of q_next (count, NQ) and of v_next (count, NV)."""
    floats, h = bodies.truth.floats, np.abs(bodies.truth.floats["instant"])[:, None]
    later = np.abs(floats["v"]) + h * bodies.joint_accelerations()
    return {"q_next": along(bodies.truth.mechanism, floats["q"], h * later), "v_next": later}


def rk4(bodies: Bodies) -> dict[str, Array]:
    """The same, through four stages (q_k, v_k), each at the place that the rates before it lead to."""
    truth, mechanism = bodies.truth, bodies.truth.mechanism
    q, v, dt = (truth.floats[name] for name in ("q", "v", "instant"))
    speed, time, h = np.abs(v), dt[:, None], np.abs(dt)[:, None]

    def stage(
        rates: Array, terms: Array, part: float, a: Array, size: Array
    ) -> tuple[Array, Array]:
        """a and its size at q ⊕ rates part dt and v + a part dt, where `terms` are those of the rates and `size` is that of a."""
        place = _at(truth, integrate(truth.rough, q, rates, part * dt), v + part * time * a)
        by_place, by_velocity = _slopes(place)
        erring = _tangent(truth, along(mechanism, q, part * h * terms))
        found = Bodies(place).joint_accelerations() + times(by_place, erring)
        return place.results("forward_dynamics")["a"], found + times(
            by_velocity, speed + part * h * size
        )

    a1 = np.asarray(
        truth.rough.evaluate(
            "forward_dynamics", truth.reference_arguments("forward_dynamics", truth.floats)
        )["a"]
    )
    s1 = bodies.joint_accelerations()
    a2, s2 = stage(v, speed, 0.5, a1, s1)
    turned = bracket(truth.rough, v, a1) * time**2 / 8
    a3, s3 = stage(
        v + a1 * time / 2 + turned,
        speed + h * s1 / 2 + h**2 * _turning(truth, speed, s1) / 8,
        0.5,
        a2,
        s2,
    )
    _, s4 = stage(v + a2 * time / 2, speed + h * s2 / 2, 1.0, a3, s3)
    through = speed + h * (s1 + s2 + s3) / 6 + h**2 * _turning(truth, speed, s3) / 12
    return {
        "q_next": along(mechanism, q, h * through),
        "v_next": speed + h * (s1 + 2 * s2 + 2 * s3 + s4) / 6,
    }


def _at(truth: ExactAnswers, q: Array, v: Array) -> ExactAnswers:
    """The answers at other states, of floats."""
    one = copy(truth)
    one.floats = truth.floats | {"q": q, "v": v}
    one.take(
        {
            name: truth.rough.evaluate(name, one.reference_arguments(name, one.floats))
            for name in ("inverse_mass_matrix", "forward_dynamics")
        }
    )
    return one


def _slopes(truth: ExactAnswers) -> tuple[Array, Array]:
    """|∂a/∂q| by q ⊕ δ and |∂a/∂v|, (count, NV, NV) each. a is quadratic in v, so that any difference in v is exact; but for
    friction, whose slope is added.
    """
    given = truth.reference_arguments("forward_dynamics", truth.floats)
    aside = np.eye(truth.mechanism.nv)[:, None, :]

    def change(name: str, up: Array, down: Array) -> Array:
        ends = [
            truth.rough.evaluate("forward_dynamics", given | {name: x})["a"] for x in (up, down)
        ]
        return np.asarray(np.abs(np.moveaxis(ends[0] - ends[1], 0, -1)) / 2)

    moved = [truth.rough.displaced(given["q"], way) for way in (STEP * aside, -STEP * aside)]
    free = np.abs(np.asarray(truth.results("inverse_mass_matrix")["Minv"], dtype=float))
    rubbed = free * drive_scales.slopes(truth.mechanism, given["v"])[:, None, :]
    return change("q", *moved) / STEP, change("v", given["v"] + aside, given["v"] - aside) + rubbed


def _tangent(truth: ExactAnswers, sizes: Array) -> Array:
    """Sizes of coordinates (count, NQ) as those of a step (count, NV)."""
    mechanism = truth.mechanism
    total = np.empty((len(sizes), mechanism.nv))
    for joint, of_q, of_v in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        if joint.type.directed:
            total[:, of_v] = sizes[:, of_q]
            continue
        along_axes = np.array([one.unit == "m" for one in joint.type.positions])
        for k, one in enumerate(joint.type.velocities):
            total[:, of_v.start + k] = sizes[:, of_q][:, along_axes == (one.unit == "m")].max(
                axis=-1
            )
    return total


def _turning(truth: ExactAnswers, x: Array, y: Array) -> Array:
    """Size of the bracket of two velocities (count, NV)."""
    total = np.zeros(x.shape)
    for joint, own in zip(truth.mechanism.joints, truth.mechanism.v_slices, strict=True):
        if not joint.type.directed:
            total[:, own] = (
                2 * x[:, own].sum(axis=-1, keepdims=True) * y[:, own].sum(axis=-1, keepdims=True)
            )
    return total


BY_FUNCTION = {"step": semi_implicit_euler, "step_rk4": rk4}
