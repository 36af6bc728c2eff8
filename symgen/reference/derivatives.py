"""The reference's derivatives of inverse and forward dynamics: its own inverse dynamics over jets, and a general linear solve.

Along q a joint is displaced by velocities, q ⊕ δ. ∂FD follows from M a + c = tau: M ∂a = −∂ID at the a that tau causes. Arrays
are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symgen.reference.arrays import stacked
from symgen.reference.jets import derivatives
from symgen.reference.precision import Array


def _slopes(reference: Any, arguments: Mapping[str, Array]) -> tuple[Array, Array]:
    """∂τ/∂q and ∂τ/∂v (..., NV, NV) of inverse dynamics."""
    found = derivatives(reference, "inverse_dynamics", arguments, ("q", "v"))
    return found["q"]["tau"], found["v"]["tau"]


def inverse_dynamics_derivatives(reference: Any, /, q: Array, v: Array, a: Array, **loads: Array) -> dict[str, Array]:
    """dtau_dq, dtau_dv and M at (q, v, a)."""
    by_q, by_v = _slopes(reference, {"q": q, "v": v, "a": a, **loads})
    return {"dtau_dq": by_q, "dtau_dv": by_v, "M": _mass(reference, q, loads)}


def forward_dynamics_derivatives(reference: Any, /, q: Array, v: Array, tau: Array, **loads: Array) -> dict[str, Array]:
    """da_dq, da_dv and Minv at (q, v, tau)."""
    q, v, tau = stacked(q, v, tau)
    a = reference.forward_dynamics(q, v, tau, **loads)
    by_q, by_v = _slopes(reference, {"q": q, "v": v, "a": a, **loads})
    payload = {name: given for name, given in loads.items() if name == "payload"}
    inverse = reference.inverse_mass_matrix(q, **payload)
    with reference.scalars.working():
        found = reference.scalars.solve(_mass(reference, q, loads), -np.concatenate([by_q, by_v], axis=-1))
    n = reference.mechanism.nv
    return {"da_dq": found[..., :n], "da_dv": found[..., n:], "Minv": inverse}


def _mass(reference: Any, q: Array, loads: Mapping[str, Array]) -> Array:
    return np.asarray(reference.mass_matrix(q, loads.get("payload")))


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": forward_dynamics_derivatives,
}
"""One oracle per function: (reference, arguments by name) → results by name."""
