"""The reference's pivots of M = U D Uᵀ: what each joint feels once every joint that it carries is free.

An articulated recursion on the declared bodies, from the leaves to the base (Rodriguez and Kreutz 1988, (4.9)-(4.12): the Riccati
equation of a filter), in the axes of each body's own frame and over any scalars. With P of a body what a twist of it meets,
h the twist of its joint and X the body's twist for one of its parent,

    D = hᵀ P h + A,    P_parent += Xᵀ (P − P h hᵀ P / D) X,    M_kk = hᵀ I_c h + A with I_c_parent += Xᵀ I_c X

and A the armature of the joint's drive, which is felt at the joint alone.

Its length grows with the number of joints, where M itself grows with its square. What it is made of is `Mechanism` and the
reference's poses: nothing of the derivation, whose `riccati` prints another form of the same paper in frames of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference import coupled
from symgen.reference.arrays import identity, skewed, transposed
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Carried, Motion
from symgen.reference.precision import Array


class Felt(NamedTuple):
    """What degree of freedom k feels, (...) each: kg·m² where it turns, kg where it slides."""

    dof: int
    free: Array
    """D_k, all joints behind it free."""
    held: Array
    """M_kk, all other joints held."""
    spread: Array
    """M_kk summed over three axes at right angles through the body's origin: as much as it could be, however the axis points."""


def pivots(reference: Reference, q: Array, payload: Array | None = None) -> Iterator[Felt]:
    """Every pivot at stacked states q (..., NQ), from the last entry of v to the first; `payload` (..., 10) as in Reference.

    A joint of several degrees of freedom is one step each, without a way between them.

    To be run in the working precision of the reference's scalars. Beyond a pivot that may be zero the rest means nothing:
    NaN in floats, balls without an end.
    """
    yield from (_of_matrix if reference.mechanism.coupled else _along_tree)(reference, q, payload)


def _along_tree(reference: Motion, q: Array, payload: Array | None) -> Iterator[Felt]:
    """By the recursion."""
    mechanism, parts = reference.mechanism, reference.parts(payload)
    batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
    met = [
        reference.scalars.array(np.zeros((*batch, 2, 6, 6))) for _ in mechanism.bodies
    ]  # P and I_c
    for part in parts:
        met[part.body] = met[part.body] + _rigid(reference, part)[..., None, :, :]
    for body in reversed(range(len(mechanism.bodies))):
        parent, own, here = mechanism.joints[body].parent, mechanism.v_slices[body], met[body]
        twists = dict(
            zip(
                range(own.start, own.stop),
                reference.twists(body, identity(reference.scalars)),
                strict=True,
            )
        )
        for k, twist in reversed(twists.items()):
            h = np.concatenate(twist)
            felt = here @ h  # P h, I_c h
            rotor = reference.scalars.constant(
                mechanism.joints[body].drive.at(k - own.start).armature
            )
            free, held = np.moveaxis((felt * h).sum(axis=-1) + rotor, -1, 0)
            yield Felt(k, free, held, _spread(here[..., 1, :, :], twist) + rotor)
            across = felt[..., 0, :]
            here[..., 0, :, :] -= across[..., :, None] * (across / free[..., None])[..., None, :]
        if parent != BASE:
            inward = _inward(reference, body, q)[..., None, :, :]
            met[parent] = met[parent] + transposed(inward) @ (here @ inward)


def _of_matrix(reference: Reference, q: Array, payload: Array | None) -> Iterator[Felt]:
    """Where joints follow others, which couples branches: by elimination of M, entry by entry from the last."""
    mechanism, spread = reference.mechanism, dict[int, Array]()
    of = [pair for pairs in reference.shares for pair in pairs]
    for one in _along_tree(coupled.whole(reference), coupled.every(reference, q), payload):
        k, rate = of[one.dof]
        spread[k] = spread.get(k, 0 * one.spread) + one.spread * reference.scalars.constant(
            rate * rate
        )
    left = reference.mass_matrix(q, payload).copy()
    held = [left[..., k, k].copy() for k in range(mechanism.nv)]
    for k in reversed(range(mechanism.nv)):
        yield Felt(k, left[..., k, k], held[k], spread[k])
        column = left[..., :k, k].copy()
        left[..., :k, :k] -= column[..., :, None] * (column / left[..., k, k, None])[..., None, :]


def _spread(inertia: Array, twist: tuple[Array, Array]) -> Array:
    """Of (..., 6, 6) and a twist: its moments and its masses along three axes, as often as the twist turns and slides."""
    moments, masses = (
        np.trace(inertia[..., part, part], axis1=-2, axis2=-1)
        for part in (slice(0, 3), slice(3, 6))
    )
    turning, sliding = ((part * part).sum() for part in twist)
    return np.asarray(turning * moments + sliding * masses)


def _rigid(reference: Motion, part: Carried) -> Array:
    """(..., 6, 6) of a part about its body's origin: (moment, force) = it times (angular, linear)."""
    mass, arm = part.mass[..., None, None], skewed(part.centre)
    whole = mass * identity(reference.scalars)
    return np.concatenate(
        [
            np.concatenate([part.inertia - mass * (arm @ arm), mass * arm], axis=-1),
            np.concatenate([-mass * arm, whole], axis=-1),
        ],
        axis=-2,
    )


def _inward(reference: Motion, body: int, q: Array) -> Array:
    """X (..., 6, 6): the twist of a body at its origin, in its axes, for one of its parent."""
    turn, shift = reference.across(body, q)
    turn = np.broadcast_to(turn, (*q.shape[:-1], 3, 3))
    back, lever = transposed(turn), -transposed(turn) @ skewed(shift)
    return np.concatenate(
        [np.concatenate([back, 0 * back], axis=-1), np.concatenate([lever, back], axis=-1)], axis=-2
    )
