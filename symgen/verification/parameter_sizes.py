"""How large the terms of the regressor are, entry by entry at each state.

Of every link: the force and the moment that a unit of a parameter takes, at the levers of the joints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symgen.reference.motion import Placement
from symgen.reference.precision import Array
from symgen.verification.exact import ExactAnswers
from symgen.verification.levers import felt


def regressor(truth: ExactAnswers, placed: Sequence[Placement], gravity: float) -> Array:
    """Size of Y (count, NV, 10·NB)."""
    reference = truth.rough
    v, a = np.abs(truth.floats["v"]), np.abs(truth.floats["a"])
    total = np.zeros((*v.shape, 10 * len(placed)))
    for body in range(len(placed)):
        support, way = reference.supports[body], reference.ways[body]
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
            (moving + 2 * rate * speed + gravity)[:, None],
        )
        columns = [levers * pull] + [levers * field + turns * pull] * 3 + [turns * field] * 6
        total[:, support, 10 * body : 10 * body + 10] = np.stack(columns, axis=-1)
    return total
