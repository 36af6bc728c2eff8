"""Sizes of the terms of q ⊕ v dt, coordinate by coordinate, and of its inverse, velocity by
velocity.

A relative error eps of an angle rotates a quaternion, and a displacement in the body's axes, by the
same amount.
"""

from __future__ import annotations

import numpy as np

from symgen.mechanism.joints import Orienting, Placing
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification.reference_results import ReferenceResults
from symgen.vocabulary.derivatives import Derivative, change_name, weight_name
from symgen.vocabulary.functions import FUNCTIONS


def integrated_size(exact_results: ReferenceResults) -> Array:
    """Return the size of q_next (count, NQ) of `integrate`."""
    return displaced_size(
        exact_results.mechanism,
        exact_results.floats["q"],
        exact_results.floats["v"] * exact_results.floats["dt"][:, None],
    )


def displaced_size(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """Return the size of q ⊕ δ (count, NQ), for δ (count, NV) of the size of `step`."""
    q, step = np.abs(q), np.abs(step)
    total = q.copy()
    for joint, q_slice, v_slice in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        coordinates = total[:, q_slice]  # a view of the result
        displacement, start = step[:, v_slice], q[:, q_slice]
        if joint.type.directed:
            coordinates += displacement
            continue
        turns = np.array([coordinate.unit == "rad" for coordinate in joint.type.velocities])
        turn, travel = (
            displacement[:, turns].sum(axis=-1, keepdims=True),
            displacement[:, ~turns].sum(axis=-1, keepdims=True),
        )
        angles = [
            i for i, coordinate in enumerate(joint.type.positions) if coordinate.unit == "rad"
        ]
        for motion in joint.motions:
            if isinstance(motion, Placing):
                coordinates[:, motion.of : motion.of + motion.axes] += travel * (
                    1 + turn + start[:, angles].sum(axis=-1, keepdims=True)
                )
            elif isinstance(motion, Orienting):
                coordinates[:, motion.of : motion.of + 4] = 1 + turn
            else:
                coordinates[:, [motion.of]] += turn
    return np.asarray(total)


def derivative_sizes(exact_results: ReferenceResults, derivative: Derivative) -> Array:
    """Return the size of a derivative of a smooth function (count,).

    It is a factor for each differentiation, times the sums of the changes and weights.
    """

    def total(name: str) -> Array:
        return np.asarray(
            np.abs(exact_results.floats[name]).reshape(exact_results.count, -1).sum(axis=-1)
        )

    function = FUNCTIONS[derivative.of]
    if derivative.of == "integrate":
        travel, time = total("v"), np.abs(exact_results.floats["dt"])
        rate = (1 + travel) * (1 + time) * (1 + travel * time)
    else:
        rate = (1 + total("q") + total("q_next")) * (1 + np.pi)
    size = rate**2 if derivative.mode == "hvp" else rate
    if derivative.mode in ("jvp", "hvp"):
        size = size * sum(
            total(change_name(name)) for name in derivative.by or function.own_arguments
        )
    if derivative.mode in ("vjp", "hvp"):
        size = size * sum(total(weight_name(result.name)) for result in function.results)
    return np.asarray(size)


def difference_size(exact_results: ReferenceResults) -> Array:
    """Return the size of delta (count, NV): a rotation is at most half a turn and rotates the
    displacement between both positions.
    """
    mechanism = exact_results.mechanism
    coordinates = np.abs(exact_results.floats["q"]) + np.abs(exact_results.floats["q_next"])
    total = np.empty((exact_results.count, mechanism.nv))
    for joint, q_slice, v_slice in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        joint_coordinates = coordinates[:, q_slice]
        if joint.type.directed:
            total[:, v_slice] = joint_coordinates
            continue
        turn = (
            1
            + np.pi
            + joint_coordinates[
                :,
                [
                    i
                    for i, coordinate in enumerate(joint.type.positions)
                    if coordinate.unit == "rad"
                ],
            ].sum(axis=-1)
        )
        travel = joint_coordinates[
            :, [i for i, coordinate in enumerate(joint.type.positions) if coordinate.unit == "m"]
        ].sum(axis=-1)
        for i, velocity in enumerate(joint.type.velocities):
            total[:, v_slice.start + i] = turn if velocity.unit == "rad" else travel * turn
    return total


BY_RESULT = {
    "q_next": lambda bodies: integrated_size(bodies.exact_results),
    "delta": lambda bodies: difference_size(bodies.exact_results),
}
