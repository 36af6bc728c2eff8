"""How large the terms of q ⊕ v dt are, coordinate by coordinate, and those of the way back, velocity by velocity.

An angle that is rounded by eps of itself turns what it acts on by as much: a quaternion, and a displacement in its body's axes.
"""

from __future__ import annotations

import numpy as np

from symgen.mechanism.joints import Orienting, Placing
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification.exact import ExactAnswers
from symgen.vocabulary.derivatives import Derivative, change_name, weight_name
from symgen.vocabulary.functions import FUNCTIONS


def moved(truth: ExactAnswers) -> Array:
    """Size of q_next (count, NQ) of `integrate`."""
    return along(
        truth.mechanism, truth.floats["q"], truth.floats["v"] * truth.floats["dt"][:, None]
    )


def along(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """Size of q ⊕ δ (count, NQ), with δ (count, NV) of the size of `step`."""
    q, step = np.abs(q), np.abs(step)
    total = q.copy()
    for joint, of_q, of_v in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        own, aside, given = total[:, of_q], step[:, of_v], q[:, of_q]  # a view of what is returned
        if joint.type.directed:
            own += aside
            continue
        turns = np.array([one.unit == "rad" for one in joint.type.velocities])
        turn, way = (
            aside[:, turns].sum(axis=-1, keepdims=True),
            aside[:, ~turns].sum(axis=-1, keepdims=True),
        )
        angles = [i for i, one in enumerate(joint.type.positions) if one.unit == "rad"]
        for word in joint.motions:
            if isinstance(word, Placing):
                own[:, word.of : word.of + word.axes] += way * (
                    1 + turn + given[:, angles].sum(axis=-1, keepdims=True)
                )
            elif isinstance(word, Orienting):
                own[:, word.of : word.of + 4] = 1 + turn
            else:
                own[:, [word.of]] += turn
    return np.asarray(total)


def slopes(truth: ExactAnswers, wanted: Derivative) -> Array:
    """Size of a derivative of a smooth function (count,): a factor for each time that it is differentiated, of what the steps are
    multiplied by, and the sums of changes and weights.
    """

    def total(name: str) -> Array:
        return np.asarray(np.abs(truth.floats[name]).reshape(truth.count, -1).sum(axis=-1))

    function = FUNCTIONS[wanted.of]
    if wanted.of == "integrate":
        way, time = total("v"), np.abs(truth.floats["dt"])
        rate = (1 + way) * (1 + time) * (1 + way * time)
    else:
        rate = (1 + total("q") + total("q_next")) * (1 + np.pi)
    size = rate**2 if wanted.mode == "hvp" else rate
    if wanted.mode in ("jvp", "hvp"):
        size = size * sum(total(change_name(name)) for name in wanted.by or function.own_arguments)
    if wanted.mode in ("vjp", "hvp"):
        size = size * sum(total(weight_name(one.name)) for one in function.results)
    return np.asarray(size)


def parted(truth: ExactAnswers) -> Array:
    """Size of delta (count, NV): a turn is half a turn at most, and takes with it what lies between both places."""
    mechanism = truth.mechanism
    both = np.abs(truth.floats["q"]) + np.abs(truth.floats["q_next"])
    total = np.empty((truth.count, mechanism.nv))
    for joint, of_q, of_v in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        own = both[:, of_q]
        if joint.type.directed:
            total[:, of_v] = own
            continue
        turn = (
            1
            + np.pi
            + own[:, [i for i, one in enumerate(joint.type.positions) if one.unit == "rad"]].sum(
                axis=-1
            )
        )
        way = own[:, [i for i, one in enumerate(joint.type.positions) if one.unit == "m"]].sum(
            axis=-1
        )
        for i, one in enumerate(joint.type.velocities):
            total[:, of_v.start + i] = turn if one.unit == "rad" else way * turn
    return total


BY_RESULT = {
    "q_next": lambda bodies: moved(bodies.truth),
    "delta": lambda bodies: parted(bodies.truth),
}
