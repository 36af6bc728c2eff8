"""Identities of q ⊕ v dt and of its inverse: zero time changes nothing, the rate is the velocity,
and two halves make a whole.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.identities._identity import Distance, Functions, Identity


def _zero_time(f: Functions) -> Distance:
    """Return the distance q ⊕ v 0 − q."""
    return f("integrate", dt=0 * f.states["dt"])["q_next"] - f.states["q"], _size(f)


def _rate_is_the_velocity(f: Functions) -> Distance:
    """Return the distance of d/dt q ⊕ v dt at dt = 0, by central differences with h = 1e-25, from
    the slope of q ⊕ δ.
    """
    h, zero_time = f.exact_results.scalars.constant(Fraction(1, 10**25)), 0 * f.states["dt"]
    up, down = (f("integrate", dt=zero_time + s)["q_next"] for s in (h, -h))
    slope = (f.displaced(f.states["v"] * h) - f.displaced(-f.states["v"] * h)) / (2 * h)
    return (up - down) / (2 * h) - slope, 1 + np.abs(f.exact_results.floats["v"]).sum(axis=-1)


def _two_halves_make_a_whole(f: Functions) -> Distance:
    """Return the distance (q ⊕ v dt/2) ⊕ v dt/2 − q ⊕ v dt."""
    half = f.states["dt"] / 2
    between = f("integrate", dt=half)["q_next"]
    return f("integrate", q=between, dt=half)["q_next"] - f("integrate")["q_next"], _size(f)


def _quaternions_keep_their_length(f: Functions) -> Distance:
    """Return the change of |quaternion|²; zero without quaternions."""
    after, size = f("integrate")["q_next"], _size(f)
    changes = [(0 * size[:, 0], np.ones(len(size)))]
    for first in f.exact_results.mechanism.quaternions:
        entries = slice(first, first + 4)
        change = (after[:, entries] * after[:, entries]).sum(axis=-1) - (
            f.states["q"][:, entries] * f.states["q"][:, entries]
        ).sum(axis=-1)
        changes.append((change, 2 * size[:, entries].max(axis=-1)))
    differences, sizes = (
        np.stack(np.broadcast_arrays(*pair), axis=-1) for pair in zip(*changes, strict=True)
    )
    return differences, sizes


def _size(f: Functions) -> Array:
    return f.exact_results.scales.of("integrate", "q_next")


def _difference_reaches_the_goal(f: Functions) -> Distance:
    """Return the distance q ⊕ δ − q_next, up to the sign of a quaternion and full turns of a planar
    joint.
    """
    goal, unit_time = f.states["q_next"], 1 + 0 * f.states["dt"]
    arrived = f("integrate", v=f("difference")["delta"], dt=unit_time)["q_next"]
    size = f.exact_results.scales.of("difference", "delta").max(axis=-1)
    return _pose_difference(f, arrived, goal), 1 + size


def _difference_is_the_step(f: Functions) -> Distance:
    """Return the distance (q ⊕ v t) ⊖ q − v t, for an eighth of the time, so that every rotation is
    below half a turn.
    """
    short = f.states["dt"] / 8
    reached = f("integrate", dt=short)["q_next"]
    step = f.states["v"] * short[:, None]
    return f("difference", q_next=reached)["delta"] - step, f.exact_results.scales.of(
        "difference", "delta"
    ) + _reach(f)[:, None]


def _back_is_the_negative(f: Functions) -> Distance:
    """Return the distance q ⊖ q_next + (q_next ⊖ q)."""
    reverse = f("difference", q=f.states["q_next"], q_next=f.states["q"])["delta"]
    return reverse + f("difference")["delta"], f.exact_results.scales.of("difference", "delta")


def _difference_to_itself(f: Functions) -> Distance:
    """Return q ⊖ q, with the signs of its quaternions reversed."""
    negated = f.states["q"].copy()
    for first in f.exact_results.mechanism.quaternions:
        negated[:, first : first + 4] = -negated[:, first : first + 4]
    return f("difference", q_next=negated)["delta"], f.exact_results.scales.of(
        "difference", "delta"
    )


def _pose_difference(f: Functions, actual: Array, expected: Array) -> Array:
    """Return the differences of two positions (count, NQ), up to signs of quaternions and full
    turns of joints without an axis.
    """
    differences = actual - expected
    for joint, q_slice in zip(
        f.exact_results.mechanism.joints, f.exact_results.mechanism.q_slices, strict=True
    ):
        if joint.type.directed:
            continue
        for i, coordinate in enumerate(joint.type.positions):
            if coordinate.unit == "rad":
                differences[:, q_slice.start + i] = 2 * np.sin(
                    differences[:, q_slice.start + i] / 2
                )
        if (first := joint.type.quaternion) is not None:
            entries = slice(q_slice.start + first, q_slice.start + first + 4)
            same_sign = (
                np.asarray((actual[:, entries] * expected[:, entries]).sum(axis=-1), dtype=float)
                >= 0
            )
            differences[:, entries] = np.where(
                same_sign[:, None],
                differences[:, entries],
                actual[:, entries] + expected[:, entries],
            )
    return differences


def _reach(f: Functions) -> Array:
    """Return the size of the positions, per state."""
    return np.asarray(f.exact_results.scales.of("integrate", "q_next").max(axis=-1))


RANK = 2
IDENTITIES = (
    Identity("integrate by halves = integrate", ("integrate",), _two_halves_make_a_whole),
    Identity("integrate(dt=0) = q", ("integrate",), _zero_time),
    Identity("d/dt integrate = v", ("integrate",), _rate_is_the_velocity, exact_only=True),
    Identity("integrate keeps |quaternion|", ("integrate",), _quaternions_keep_their_length),
    Identity(
        "integrate(difference) = q_next", ("difference", "integrate"), _difference_reaches_the_goal
    ),
    Identity("difference(integrate) = v dt", ("difference", "integrate"), _difference_is_the_step),
    Identity("difference(back) = −difference", ("difference",), _back_is_the_negative),
    Identity("difference(q, q) = 0", ("difference",), _difference_to_itself),
)
