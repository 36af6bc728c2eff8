"""Sizes of the terms of the regressor, entry by entry at each state.

For every link: the force and the moment that a unit of a parameter requires, at the levers of the
joints.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.base import base_parameter_map
from symgen.reference.precision import Array
from symgen.verification.levers import point_levers
from symgen.verification.scales._bodies import Bodies


def regressor(bodies: Bodies) -> Array:
    """Return the size of Y (count, NV, 10·NB)."""
    exact_results, placements = bodies.exact_results, bodies.placements
    reference = exact_results.rough
    v, a = np.abs(exact_results.floats["v"]), np.abs(exact_results.floats["a"])
    total = np.zeros((*v.shape, 10 * len(placements)))
    for body in range(len(placements)):
        support, path = reference.supports[body], reference.paths[body]
        distances = np.stack(
            [
                np.broadcast_to(
                    np.linalg.norm(placements[body].shift[0] - placements[joint].shift[0], axis=-1),
                    (exact_results.count,),
                )
                for joint in path
            ],
            axis=-1,
        )
        distances = np.maximum.accumulate(distances[:, ::-1], axis=-1)[
            :, ::-1
        ]  # along the path joint by joint, as for the parts
        turns, levers = point_levers(reference, body, distances)
        (rate, speed), (angular_acceleration, linear_acceleration) = (
            (
                (rates_of_joints[:, support] * turns).sum(axis=-1),
                (rates_of_joints[:, support] * levers).sum(axis=-1),
            )
            for rates_of_joints in (v, a)
        )
        field, gravity_field = (
            (angular_acceleration + 2 * rate * rate)[:, None],
            (linear_acceleration + 2 * rate * speed + bodies.gravity)[:, None],
        )
        columns = (
            [levers * gravity_field]
            + [levers * field + turns * gravity_field] * 3
            + [turns * field] * 6
        )
        total[:, support, 10 * body : 10 * body + 10] = np.stack(columns, axis=-1)
    return total


def base_regressor(bodies: Bodies) -> Array:
    """Return the size of Y_base (count, NV, NR)."""
    return regressor(bodies)[..., base_parameter_map(bodies.exact_results.rough)[0]]


def base_parameters(bodies: Bodies) -> Array:
    """Return the size of pi_base (count, NR)."""
    return np.asarray(
        np.abs(bodies.exact_results.floats["pi"])
        @ np.abs(base_parameter_map(bodies.exact_results.rough)[1]).T
    )


BY_RESULT = {"Y": regressor, "Y_base": base_regressor, "pi_base": base_parameters}
