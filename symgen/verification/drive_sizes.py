"""How large the terms of the drives' forces are, entry by entry at each state. Of a mechanism without drives all is zero."""

from __future__ import annotations

import numpy as np

from symgen.drives import NUMBERS
from symgen.mechanism import Mechanism
from symgen.reference.precision import Array


def numbers(mechanism: Mechanism, name: str) -> Array:
    """A number of the drive of every entry of v (NV,), as floats."""
    return np.array([float(getattr(one, name)) for one in (mechanism.joints[i].drive for i, _ in mechanism.dofs)])


def forces(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Sizes of the terms of the drives' forces (count, NV); friction counts whole, since what it loses is of that size."""
    first = [mechanism.q_slices[i].start for i, _ in mechanism.dofs]
    armature, damping, friction, stiffness, rest = (np.abs(numbers(mechanism, name)) for name in NUMBERS)
    rubbing = friction * np.minimum(1, np.abs(v) / float(mechanism.friction_speed))
    return np.asarray(armature * np.abs(a) + damping * np.abs(v) + rubbing + stiffness * (np.abs(q[:, first]) + rest))


def slopes(mechanism: Mechanism, v: Array) -> Array:
    """Sizes of how damping and friction change with v (count, NV)."""
    speed = float(mechanism.friction_speed)
    squares = v * v + speed * speed
    return np.asarray(numbers(mechanism, "damping") + numbers(mechanism, "friction") * speed**2 / squares**1.5)
