"""How much easier a joint would move, were its links free of all others: what a method loses that takes the constraints away.

M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ is a difference: of what each link would do were it free, and of what its neighbours keep
it from. Where the links are light beside what they carry, the two nearly cancel.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from symgen.joints import Turning
from symgen.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4
NO_MOMENT = 1e-12
"""Of the largest principal moment: less is rounding, and a method that divides by it refuses the link."""


@lru_cache(maxsize=64)
def freedom(mechanism: Mechanism, payload: str | None = None) -> float:
    """Round-offs of M⁻¹ that one of H_aa's terms comes to, the most at a few seeded states.

    With M_jj and h_j, the acceleration of joint j by a unit of force once the two links beside it are free, they are
    (Σ √(M_jj h_j))²/n: no joint's unit changes that, and no frame. Two digits are kept, so that whatever is decided by it
    does not hang on the last ones of a machine's library.
    """
    states = draw_states(mechanism, STATES, payload=payload)
    reference = Reference(mechanism, FLOAT, payload=payload)
    load = states["payload"].astype(float) if payload is not None else None
    weights = np.diagonal(reference.mass_matrix(states["q"].astype(float), load), axis1=-2, axis2=-1)
    terms = np.sqrt(np.abs(weights) * _free(reference, load)).sum(axis=-1) ** 2
    return float(f"{terms.max() / weights.shape[-1]:.1e}")


def _free(reference: Reference, load: Array | None) -> Array:
    """h_j (NV,): a torque on two free bodies turns them by at most 1/λ each, with λ the least principal moment; a force at a
    distance d from the centre moves them by at most 1/m + d²/λ. Loads (count, 10) are judged by the first one."""
    mechanism, first = reference.mechanism, None if load is None else load[:1]
    bodies = [_body(reference, i, first) for i in range(len(mechanism.bodies))]
    found = np.zeros(mechanism.nv)
    for k, (i, _) in enumerate(mechanism.dofs):
        beside = [bodies[b] for b in (i, mechanism.joints[i].parent) if b >= 0]
        turning, sliding = _shares(mechanism, k)
        light = any(not m > 0 for m, _, _ in beside)
        found[k] = np.inf if light else sum(sliding * (1 / m + far**2 / least) + turning / least for m, far, least in beside)
    return found


def _shares(mechanism: Mechanism, k: int) -> tuple[float, float]:
    """Squares of the torque and of the force along the axis that a unit of generalized force comes to."""
    joint, of = mechanism.dofs[k]
    rates = [(isinstance(step, Turning), float(step.rate)) for step in mechanism.joints[joint].motions if step.of == of]
    whole = sum(rate**2 for _, rate in rates)
    turning, sliding = (sum((rate / whole) ** 2 for turns, rate in rates if turns is wanted) for wanted in (True, False))
    return turning, sliding


def _body(reference: Reference, index: int, load: Array | None) -> tuple[float, float, float]:
    """Mass, distance of the centre from the joint and least principal moment about it of all that a body carries."""
    parts = [part for part in reference.parts(load) if part.body == index]
    m = float(sum(np.ravel(part.mass)[0] for part in parts))
    if not m > 0:
        return m, 0.0, 0.0
    centre = sum(np.ravel(part.mass)[0] * part.centre.reshape(-1, 3)[0] for part in parts) / m
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.centre.reshape(-1, 3)[0] - centre
        inertia += part.inertia.reshape(-1, 3, 3)[0] + np.ravel(part.mass)[0] * (d @ d * np.eye(3) - np.outer(d, d))
    moments = np.linalg.eigvalsh(inertia)
    felt = moments[moments > NO_MOMENT * moments[-1]]   # a flat link turns about one axis, a thin rod about two
    return m, float(np.linalg.norm(centre)), float(felt[0]) if len(felt) else float("inf")
