"""Exact derivatives of every function, from the reference's own formulas over jets
(`symgen.reference.jets`).

All derivatives follow from the derivatives of every result along each coordinate of each argument.
Positions move by velocities, q ⊕ δ. The derivative of a result that is a position is the step δ
that makes the same change.

Some functions are derivatives of inverse and forward dynamics: inverse dynamics over jets, and a
general linear solve. ∂FD follows from M a + c = tau: M ∂a = −∂ID at the a that tau causes. Arrays
are as in `symgen.reference.mechanics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from symgen.reference.jets import (
    POSITIONS,
    ThirdDerivative,
    derivatives,
    displaced_argument,
    jet_derivatives,
    lifted,
)
from symgen.reference.precision import Array, arb
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary import derivatives as names
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS

Blocks = dict[str, dict[str, Array]]
"""Slopes by argument and result: (count, *result, n) for n coordinates of the argument."""


def differential(
    reference: Any, derivative: Derivative, arguments: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the results of a derivative by name, (count, …).

    `arguments` are balls, stacks of states; `reference` is a Reference over balls. Raises
    ArgumentError over floats, and RequestError for a third derivative.
    """
    if reference.scalars.dtype is not object:
        raise ArgumentError(
            f"{derivative.name} needs a reference over balls; give it scalars of arb(digits)"
        )
    function = FUNCTIONS[derivative.of]
    inputs = list(derivative.by or function.own_arguments)
    names_of_inputs = (*(array.name for array in function.arguments), *_AT_RUN_TIME)
    values = {name: arguments[name] for name in names_of_inputs if name in arguments}
    with reference.scalars.working():
        if derivative.mode == "jvp":
            return _directional(reference, derivative.of, inputs, values, arguments)
        if derivative.mode == "hvp":
            try:
                return _gradient_changes(reference, derivative.of, inputs, values, arguments)
            except ThirdDerivative:
                raise RequestError(
                    f"{derivative.name} is not judged: {derivative.of} contains derivatives, and"
                    f" the reference has no third derivatives; request {derivative.of}:jvp,"
                    f" {derivative.of}:vjp or {derivative.of}:jacobian"
                ) from None
        blocks = _blocks(reference, derivative.of, inputs, values)
        if derivative.mode == "vjp":
            return _weighted_derivatives(blocks, arguments)
        scalars = {name for name in inputs if values[name].ndim == 1}
        return {
            names.derivative_name(result.name, x): blocks[x][result.name][..., 0]
            if x in scalars
            else blocks[x][result.name]
            for result in function.results
            for x in inputs
        }


_AT_RUN_TIME = ("payload", "wrench", "gains")


def _blocks(
    reference: Any, function: str, by: Sequence[str], values: Mapping[str, Array]
) -> Blocks:
    """Return the derivatives of all results along each argument. They are cached by argument, since
    the modes share them.
    """
    missing = [x for x in by if not _is_cached(reference, function, x, values)]
    if missing:
        derivatives_by = derivatives(reference, function, values, missing)
        positions = [array.name for array in FUNCTIONS[function].results if array.name in POSITIONS]
        results = reference.evaluate(function, values) if positions else {}
        for x in missing:
            derivatives_by[x] |= {
                name: _as_steps(reference, results[name], derivatives_by[x][name])
                for name in positions
            }
            reference.cached_results[f"{function} by {x}"] = (
                {name: np.array(value) for name, value in values.items()},
                derivatives_by[x],
            )
    return {x: reference.cached_results[f"{function} by {x}"][1] for x in by}


def _is_cached(reference: Any, function: str, x: str, values: Mapping[str, Array]) -> bool:
    """True if the derivatives along this argument are cached for these values."""
    cached, _ = reference.cached_results.get(f"{function} by {x}", ({}, None))
    return cached.keys() == values.keys() and all(
        a.shape == values[name].shape and bool(np.all(a == values[name]))
        for name, a in cached.items()
    )


def _as_steps(reference: Any, positions: Array, rates: Array) -> Array:
    """Return the steps δ (count, NV, n) that change positions (count, NQ) by `rates` (count, NQ,
    n): Ωᵀ Ω δ = Ωᵀ q̇.
    """
    lifted_reference, nv = lifted(reference), reference.mechanism.nv
    directions = reference.scalars.array(
        np.broadcast_to(np.eye(nv, dtype=int)[:, None, :], (nv, len(positions), nv))
    )
    omega_transposed = np.moveaxis(
        jet_derivatives(
            displaced_argument(lifted_reference, "q", positions, directions),
            nv,
            lifted_reference.scalars,
        ),
        0,
        1,
    )  # Ωᵀ (count, NV, NQ)
    return np.asarray(
        reference.scalars.solve(
            omega_transposed @ np.swapaxes(omega_transposed, -1, -2), omega_transposed @ rates
        )
    )


def _displaced_arguments(
    lifted_reference: Any,
    by: Sequence[str],
    values: Mapping[str, Array],
    arguments: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the arguments; those of `by` are moved by ε times their changes, all at once."""
    return {
        **values,
        **{
            x: displaced_argument(
                lifted_reference, x, values[x], arguments[names.change_name(x)][None]
            )
            for x in by
        },
    }


def _directional(
    reference: Any,
    function: str,
    by: Sequence[str],
    values: Mapping[str, Array],
    arguments: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the directional derivatives of the results (mode jvp)."""
    lifted_reference = lifted(reference)
    changes = {
        name: jet_derivatives(value, 1, lifted_reference.scalars)[0]
        for name, value in lifted_reference.evaluate(
            function, _displaced_arguments(lifted_reference, by, values, arguments)
        ).items()
    }
    positions = (
        reference.evaluate(function, values) if any(name in POSITIONS for name in changes) else {}
    )
    return {
        names.change_name(name): _as_steps(reference, positions[name], rates[..., None])[..., 0]
        if name in POSITIONS
        else rates
        for name, rates in changes.items()
    }


def _weighted_derivatives(blocks: Blocks, arguments: Mapping[str, Array]) -> dict[str, Array]:
    """Return the gradients of the arguments, from the weights of the results among `arguments`
    (mode vjp).
    """
    gradients = {}
    for x, block in blocks.items():
        total: Any = 0
        for result, derivative in block.items():
            weight = arguments[names.weight_name(result)]
            total = total + (derivative * weight[..., None]).reshape(
                len(derivative), -1, derivative.shape[-1]
            ).sum(axis=1)
        gradients[names.weight_name(x)] = (
            total.reshape(np.shape(arguments[x])) if x not in POSITIONS else total
        )
    return gradients


def _gradient_changes(
    reference: Any,
    function: str,
    by: Sequence[str],
    values: Mapping[str, Array],
    arguments: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the directional derivatives of the gradients along the changes of all of `by` at once
    (mode hvp).
    """
    lifted_reference = lifted(reference)
    displaced = _displaced_arguments(lifted_reference, by, values, arguments)
    weights = _weighted_derivatives(
        _blocks(lifted_reference, function, by, displaced), {**arguments, **displaced}
    )
    return {
        names.change_name(name): jet_derivatives(value, 1, lifted_reference.scalars)[0]
        for name, value in weights.items()
    }


# -- the functions that are derivatives of inverse and forward dynamics --

DIGITS = 40
"""Digits of the balls that replace floats: jets are made of balls."""


def _force_derivatives(reference: Any, arguments: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return ∂τ/∂q and ∂τ/∂v (..., NV, NV) of inverse dynamics."""
    blocks = derivatives(reference, "inverse_dynamics", arguments, ("q", "v"))
    return blocks["q"]["tau"], blocks["v"]["tau"]


def inverse_dynamics_derivatives(
    reference: Any, /, q: Array, v: Array, a: Array, **loads: Array
) -> dict[str, Array]:
    """Return dtau_dq, dtau_dv and M at (q, v, a)."""
    by_q, by_v = _force_derivatives(reference, {"q": q, "v": v, "a": a, **loads})
    return {"dtau_dq": by_q, "dtau_dv": by_v, "M": _mass(reference, q, loads)}


def forward_dynamics_derivatives(
    reference: Any, /, q: Array, v: Array, tau: Array, **loads: Array
) -> dict[str, Array]:
    """Return da_dq, da_dv and Minv at (q, v, tau)."""
    a = reference.forward_dynamics(q, v, tau, **loads)
    by_q, by_v = _force_derivatives(reference, {"q": q, "v": v, "a": a, **loads})
    payload = {name: value for name, value in loads.items() if name == "payload"}
    inverse = reference.inverse_mass_matrix(q, **payload)
    with reference.scalars.working():
        solution = reference.scalars.solve(
            _mass(reference, q, loads), -np.concatenate([by_q, by_v], axis=-1)
        )
    n = reference.mechanism.nv
    return {"da_dq": solution[..., :n], "da_dv": solution[..., n:], "Minv": inverse}


def _mass(reference: Any, q: Array, loads: Mapping[str, Array]) -> Array:
    return np.asarray(reference.mass_matrix(q, loads.get("payload")))


def _over_states(
    oracle: Callable[..., dict[str, Array]], reference: Any, /, **arguments: Array
) -> dict[str, Array]:
    """Return the oracle's results at stacks of states of any shape, also for a reference over
    floats.
    """
    ranks = {
        name: 2 if name == "wrench" and len(reference.wrenches) > 1 else 1 for name in arguments
    }
    batch = np.broadcast_shapes(
        *(value.shape[: value.ndim - ranks[name]] for name, value in arguments.items())
    )
    flat: dict[str, Array] = {}
    for name, value in arguments.items():
        shape = value.shape[value.ndim - ranks[name] :]
        flat[name] = np.broadcast_to(value, (*batch, *shape)).reshape(-1, *shape)
    if reference.scalars.dtype is object:
        results = oracle(reference, **flat)
    else:
        frame, wrench = (
            [link.name for link in links] for links in (reference.frames, reference.wrenches)
        )
        payload = None if reference.payload is None else reference.payload.name
        exact = type(reference)(
            reference.mechanism, arb(DIGITS), frame=frame, payload=payload, wrench=wrench
        )
        results = oracle(
            exact, **{name: exact.scalars.array(value) for name, value in flat.items()}
        )
        results = {name: values.astype(float) for name, values in results.items()}
    return {name: values.reshape(*batch, *values.shape[1:]) for name, values in results.items()}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "inverse_dynamics_derivatives": partial(_over_states, inverse_dynamics_derivatives),
    "forward_dynamics_derivatives": partial(_over_states, forward_dynamics_derivatives),
}
"""One oracle per function: (reference, arguments by name) → results by name."""
