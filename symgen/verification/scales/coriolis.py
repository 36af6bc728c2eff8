"""Sizes of the terms of the Coriolis matrix, entry by entry at each state.

For every part: its velocity for a unit of degree of freedom i, times the rate of change of its
velocity for a unit of j.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.scales._bodies import Bodies


def coriolis(bodies: Bodies) -> Array:
    """Return the size of C (count, NV, NV)."""
    v = bodies.exact_results.floats["v"]
    total = np.zeros((*v.shape, v.shape[-1]))
    for part in bodies.parts:
        rate, speed = (size[:, None] for size in part.speeds(v))
        joints = np.array(part.joints)
        rates_of_change = rate * part.levers + part.turns * speed
        mass, inertia = (
            np.abs(np.asarray(part.mass))[..., None, None],
            np.asarray(part.inertia)[..., None, None],
        )
        moment = 2 * inertia * rate[:, :, None] * (part.turns[:, None] * part.turns)
        total[:, joints[:, None], joints] += (
            mass * part.levers[:, :, None] * rates_of_change[:, None, :] + moment
        )
    return total


BY_RESULT = {"C": coriolis}
