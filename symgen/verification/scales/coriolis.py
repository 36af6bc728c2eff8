"""How large the terms of the Coriolis matrix are, entry by entry at each state.

Of every part: its velocity for a unit of degree of freedom i, times how fast that of j changes.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.scales._bodies import Bodies


def coriolis(bodies: Bodies) -> Array:
    """Size of C (count, NV, NV)."""
    v = bodies.truth.floats["v"]
    total = np.zeros((*v.shape, v.shape[-1]))
    for part in bodies.parts:
        rate, speed = (one[:, None] for one in part.moving(v))
        own = np.array(part.joints)
        changed = rate * part.levers + part.turns * speed
        mass, inertia = (
            np.abs(np.asarray(part.mass))[..., None, None],
            np.asarray(part.inertia)[..., None, None],
        )
        turned = 2 * inertia * rate[:, :, None] * (part.turns[:, None] * part.turns)
        total[:, own[:, None], own] += mass * part.levers[:, :, None] * changed[:, None, :] + turned
    return total


BY_RESULT = {"C": coriolis}
