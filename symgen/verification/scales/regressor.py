"""How large the terms of the regressor are, entry by entry at each state.

Of every link: the force and the moment that a unit of a parameter takes, at the levers of the joints.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.base import base_parameter_map
from symgen.reference.precision import Array
from symgen.verification.levers import felt
from symgen.verification.scales._bodies import Bodies


def regressor(bodies: Bodies) -> Array:
    """Size of Y (count, NV, 10·NB)."""
    truth, placed = bodies.truth, bodies.placed
    reference = truth.rough
    v, a = np.abs(truth.floats["v"]), np.abs(truth.floats["a"])
    total = np.zeros((*v.shape, 10 * len(placed)))
    for body in range(len(placed)):
        support, way = reference.supports[body], reference.paths[body]
        far = np.stack(
            [
                np.broadcast_to(
                    np.linalg.norm(placed[body].shift[0] - placed[one].shift[0], axis=-1),
                    (truth.count,),
                )
                for one in way
            ],
            axis=-1,
        )
        far = np.maximum.accumulate(far[:, ::-1], axis=-1)[
            :, ::-1
        ]  # out and back joint by joint, as of the parts
        turns, levers = felt(reference, body, far)
        (rate, speed), (turning, moving) = (
            ((one[:, support] * turns).sum(axis=-1), (one[:, support] * levers).sum(axis=-1))
            for one in (v, a)
        )
        field, pull = (
            (turning + 2 * rate * rate)[:, None],
            (moving + 2 * rate * speed + bodies.gravity)[:, None],
        )
        columns = [levers * pull] + [levers * field + turns * pull] * 3 + [turns * field] * 6
        total[:, support, 10 * body : 10 * body + 10] = np.stack(columns, axis=-1)
    return total


def base_regressor(bodies: Bodies) -> Array:
    """Size of Y_base (count, NV, NR)."""
    return regressor(bodies)[..., base_parameter_map(bodies.truth.rough)[0]]


def base_parameters(bodies: Bodies) -> Array:
    """Size of pi_base (count, NR)."""
    return np.asarray(
        np.abs(bodies.truth.floats["pi"]) @ np.abs(base_parameter_map(bodies.truth.rough)[1]).T
    )


BY_RESULT = {"Y": regressor, "Y_base": base_regressor, "pi_base": base_parameters}
