"""The reference's derivatives of inverse and forward dynamics: its own inverse dynamics over jets, and a general linear solve.

Along q a joint is displaced by velocities, q ⊕ δ. ∂FD follows from M a + c = tau: M ∂a = −∂ID at the a that tau causes. Arrays
are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from symgen.reference.jets import derivatives
from symgen.reference.precision import Array, arb

DIGITS = 40
"""Of the balls that floats are entered into: jets are made of balls."""


def _slopes(reference: Any, arguments: Mapping[str, Array]) -> tuple[Array, Array]:
    """∂τ/∂q and ∂τ/∂v (..., NV, NV) of inverse dynamics."""
    found = derivatives(reference, "inverse_dynamics", arguments, ("q", "v"))
    return found["q"]["tau"], found["v"]["tau"]


def inverse_dynamics_derivatives(
    reference: Any, /, q: Array, v: Array, a: Array, **loads: Array
) -> dict[str, Array]:
    """dtau_dq, dtau_dv and M at (q, v, a)."""
    by_q, by_v = _slopes(reference, {"q": q, "v": v, "a": a, **loads})
    return {"dtau_dq": by_q, "dtau_dv": by_v, "M": _mass(reference, q, loads)}


def forward_dynamics_derivatives(
    reference: Any, /, q: Array, v: Array, tau: Array, **loads: Array
) -> dict[str, Array]:
    """da_dq, da_dv and Minv at (q, v, tau)."""
    a = reference.forward_dynamics(q, v, tau, **loads)
    by_q, by_v = _slopes(reference, {"q": q, "v": v, "a": a, **loads})
    payload = {name: given for name, given in loads.items() if name == "payload"}
    inverse = reference.inverse_mass_matrix(q, **payload)
    with reference.scalars.working():
        found = reference.scalars.solve(
            _mass(reference, q, loads), -np.concatenate([by_q, by_v], axis=-1)
        )
    n = reference.mechanism.nv
    return {"da_dq": found[..., :n], "da_dv": found[..., n:], "Minv": inverse}


def _mass(reference: Any, q: Array, loads: Mapping[str, Array]) -> Array:
    return np.asarray(reference.mass_matrix(q, loads.get("payload")))


def _in_a_row(
    oracle: Callable[..., dict[str, Array]], reference: Any, /, **arguments: Array
) -> dict[str, Array]:
    """The oracle at stacks of states of any shape, and for a reference over floats too."""
    within = {
        name: 2 if name == "wrench" and len(reference.wrenches) > 1 else 1 for name in arguments
    }
    batch = np.broadcast_shapes(
        *(given.shape[: given.ndim - within[name]] for name, given in arguments.items())
    )
    row: dict[str, Array] = {}
    for name, given in arguments.items():
        own = given.shape[given.ndim - within[name] :]
        row[name] = np.broadcast_to(given, (*batch, *own)).reshape(-1, *own)
    if reference.scalars.dtype is object:
        found = oracle(reference, **row)
    else:
        frame, wrench = (
            [one.name for one in links] for links in (reference.frames, reference.wrenches)
        )
        payload = None if reference.payload is None else reference.payload.name
        exact = type(reference)(
            reference.mechanism, arb(DIGITS), frame=frame, payload=payload, wrench=wrench
        )
        found = oracle(exact, **{name: exact.scalars.array(given) for name, given in row.items()})
        found = {name: values.astype(float) for name, values in found.items()}
    return {name: values.reshape(*batch, *values.shape[1:]) for name, values in found.items()}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "inverse_dynamics_derivatives": partial(_in_a_row, inverse_dynamics_derivatives),
    "forward_dynamics_derivatives": partial(_in_a_row, forward_dynamics_derivatives),
}
"""One oracle per function: (reference, arguments by name) → results by name."""
