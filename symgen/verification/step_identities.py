"""What q ⊕ v dt obeys on every robot: no time moves nothing, slowly it is the velocity, and two halves are the whole."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.calling import Distance, Functions, Identity


def _no_time_moves_nothing(f: Functions) -> Distance:
    """q ⊕ v 0 = q."""
    return f("integrate", dt=0 * f.states["dt"])["q_next"] - f.states["q"], _size(f)


def _slowly_it_is_the_velocity(f: Functions) -> Distance:
    """d/dt q ⊕ v dt at dt = 0, by central differences with h = 1e-25, and the slope of q ⊕ δ to the first order."""
    h, still = f.truth.scalars.constant(Fraction(1, 10**25)), 0 * f.states["dt"]
    up, down = (f("integrate", dt=still + s)["q_next"] for s in (h, -h))
    slope = (f.moved(f.states["v"] * h) - f.moved(-f.states["v"] * h)) / (2 * h)
    return (up - down) / (2 * h) - slope, 1 + np.abs(f.truth.floats["v"]).sum(axis=-1)


def _two_halves_are_the_whole(f: Functions) -> Distance:
    """(q ⊕ v dt/2) ⊕ v dt/2 = q ⊕ v dt."""
    half = f.states["dt"] / 2
    between = f("integrate", dt=half)["q_next"]
    return f("integrate", q=between, dt=half)["q_next"] - f("integrate")["q_next"], _size(f)


def _quaternions_keep_their_length(f: Functions) -> Distance:
    """|quaternion|² before and after; nothing where there is none."""
    after, size = f("integrate")["q_next"], _size(f)
    found = [(0 * size[:, 0], np.ones(len(size)))]
    for first in f.truth.mechanism.quaternions:
        own = slice(first, first + 4)
        grown = (after[:, own] * after[:, own]).sum(axis=-1) - (f.states["q"][:, own] * f.states["q"][:, own]).sum(axis=-1)
        found.append((grown, 2 * size[:, own].max(axis=-1)))
    differences, sizes = (np.stack(np.broadcast_arrays(*part), axis=-1) for part in zip(*found, strict=True))
    return differences, sizes


def _size(f: Functions) -> Array:
    return f.truth.sizes.of("integrate", "q_next")


OF_STEPS = (
    Identity("integrate by halves = integrate", ("integrate",), _two_halves_are_the_whole),
    Identity("integrate(dt=0) = q", ("integrate",), _no_time_moves_nothing),
    Identity("d/dt integrate = v", ("integrate",), _slowly_it_is_the_velocity, exact_only=True),
    Identity("integrate keeps |quaternion|", ("integrate",), _quaternions_keep_their_length),
)
