"""What q ⊕ v dt obeys on every robot: no time moves nothing, slowly it is the velocity, and two halves are the whole; and what
the way back obeys.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.reference.precision import Array
from symgen.verification.identities._identity import Distance, Functions, Identity


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
        grown = (after[:, own] * after[:, own]).sum(axis=-1) - (
            f.states["q"][:, own] * f.states["q"][:, own]
        ).sum(axis=-1)
        found.append((grown, 2 * size[:, own].max(axis=-1)))
    differences, sizes = (
        np.stack(np.broadcast_arrays(*part), axis=-1) for part in zip(*found, strict=True)
    )
    return differences, sizes


def _size(f: Functions) -> Array:
    return f.truth.scales.of("integrate", "q_next")


def _the_way_leads_there(f: Functions) -> Distance:
    """q ⊕ δ = q_next, but for the sign of a quaternion and whole turns of a planar joint."""
    goal, one = f.states["q_next"], 1 + 0 * f.states["dt"]
    arrived = f("integrate", v=f("difference")["delta"], dt=one)["q_next"]
    size = f.truth.scales.of("difference", "delta").max(axis=-1)
    return _one_pose(f, arrived, goal), 1 + size


def _the_way_back_is_the_step(f: Functions) -> Distance:
    """(q ⊕ v t) ⊖ q = v t, for an eighth of the time: by less than half a turn."""
    short = f.states["dt"] / 8
    reached = f("integrate", dt=short)["q_next"]
    gone = f.states["v"] * short[:, None]
    return f("difference", q_next=reached)["delta"] - gone, f.truth.scales.of(
        "difference", "delta"
    ) + _reach(f)[:, None]


def _back_is_the_negative(f: Functions) -> Distance:
    """q ⊖ q_next = −(q_next ⊖ q)."""
    back = f("difference", q=f.states["q_next"], q_next=f.states["q"])["delta"]
    return back + f("difference")["delta"], f.truth.scales.of("difference", "delta")


def _nothing_is_apart_from_itself(f: Functions) -> Distance:
    """q ⊖ q = 0, whatever the sign of its quaternions."""
    turned = f.states["q"].copy()
    for first in f.truth.mechanism.quaternions:
        turned[:, first : first + 4] = -turned[:, first : first + 4]
    return f("difference", q_next=turned)["delta"], f.truth.scales.of("difference", "delta")


def _one_pose(f: Functions, found: Array, wanted: Array) -> Array:
    """Differences of two positions (count, NQ), signs of quaternions and whole turns of a joint without an axis apart."""
    missed = found - wanted
    for joint, own in zip(f.truth.mechanism.joints, f.truth.mechanism.q_slices, strict=True):
        if joint.type.directed:
            continue
        for i, one in enumerate(joint.type.positions):
            if one.unit == "rad":
                missed[:, own.start + i] = 2 * np.sin(missed[:, own.start + i] / 2)
        if (first := joint.type.quaternion) is not None:
            four = slice(own.start + first, own.start + first + 4)
            same = np.asarray((found[:, four] * wanted[:, four]).sum(axis=-1), dtype=float) >= 0
            missed[:, four] = np.where(
                same[:, None], missed[:, four], found[:, four] + wanted[:, four]
            )
    return missed


def _reach(f: Functions) -> Array:
    """What a step is large against, per state."""
    return np.asarray(f.truth.scales.of("integrate", "q_next").max(axis=-1))


RANK = 2
IDENTITIES = (
    Identity("integrate by halves = integrate", ("integrate",), _two_halves_are_the_whole),
    Identity("integrate(dt=0) = q", ("integrate",), _no_time_moves_nothing),
    Identity("d/dt integrate = v", ("integrate",), _slowly_it_is_the_velocity, exact_only=True),
    Identity("integrate keeps |quaternion|", ("integrate",), _quaternions_keep_their_length),
    Identity("integrate(difference) = q_next", ("difference", "integrate"), _the_way_leads_there),
    Identity(
        "difference(integrate) = v dt", ("difference", "integrate"), _the_way_back_is_the_step
    ),
    Identity("difference(back) = −difference", ("difference",), _back_is_the_negative),
    Identity("difference(q, q) = 0", ("difference",), _nothing_is_apart_from_itself),
)
