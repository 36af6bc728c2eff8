"""The true derivatives of every function, from the reference's own formulas over jets (`symgen.reference.jets`).

All of them follow from the slopes of every result along each coordinate of each argument. Positions are moved by velocities,
q ⊕ δ, and a result that is positions changes by the step δ that makes the same change.

Some functions are derivatives of inverse and forward dynamics: inverse dynamics over jets, and a general linear solve. Along q a
joint is displaced by velocities, q ⊕ δ. ∂FD follows from M a + c = tau: M ∂a = −∂ID at the a that tau causes. Arrays are as
`symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from symgen.reference.jets import POSITIONS, ThirdDerivative, derivatives, lifted, moved, slopes
from symgen.reference.precision import Array, arb
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary import derivatives as names
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS

Blocks = dict[str, dict[str, Array]]
"""By argument and result: (count, *result, n), n coordinates of the argument."""


def differential(
    reference: Any, wanted: Derivative, arguments: Mapping[str, Array]
) -> dict[str, Array]:
    """The results of a derivative by name, (count, …); `arguments` are balls, stacks of states. `reference` is a Reference."""
    if reference.scalars.dtype is not object:
        raise ArgumentError(
            f"{wanted.name} is told by the reference over balls alone; give it scalars of arb(digits)"
        )
    function = FUNCTIONS[wanted.of]
    by = list(wanted.by or function.own)
    known = (*(array.name for array in function.arguments), *_AT_RUN_TIME)
    given = {name: arguments[name] for name in known if name in arguments}
    with reference.scalars.working():
        if wanted.mode == "jvp":
            return _along(reference, wanted.of, by, given, arguments)
        if wanted.mode == "hvp":
            try:
                return _bent(reference, wanted.of, by, given, arguments)
            except ThirdDerivative:
                raise RequestError(
                    f"{wanted.name} is not judged: {wanted.of} holds derivatives, and the reference has none of "
                    f"the third order; ask for {wanted.of}:jvp, {wanted.of}:vjp or {wanted.of}:jacobian"
                ) from None
        blocks = _blocks(reference, wanted.of, by, given)
        if wanted.mode == "vjp":
            return _weighed(blocks, arguments)
        scalars = {name for name in by if given[name].ndim == 1}
        return {
            names.slope(one.name, x): blocks[x][one.name][..., 0]
            if x in scalars
            else blocks[x][one.name]
            for one in function.results
            for x in by
        }


_AT_RUN_TIME = ("payload", "wrench", "gains")


def _blocks(reference: Any, function: str, by: Sequence[str], given: Mapping[str, Array]) -> Blocks:
    """Remembered by argument: the modes ask for the same."""
    missing = [x for x in by if not _known(reference, function, x, given)]
    if missing:
        found = derivatives(reference, function, given, missing)
        places = [array.name for array in FUNCTIONS[function].results if array.name in POSITIONS]
        values = reference.evaluate(function, given) if places else {}
        for x in missing:
            found[x] |= {one: _as_steps(reference, values[one], found[x][one]) for one in places}
            reference.answers[f"{function} by {x}"] = (
                {name: np.array(value) for name, value in given.items()},
                found[x],
            )
    return {x: reference.answers[f"{function} by {x}"][1] for x in by}


def _known(reference: Any, function: str, x: str, given: Mapping[str, Array]) -> bool:
    before, _ = reference.answers.get(f"{function} by {x}", ({}, None))
    return before.keys() == given.keys() and all(
        a.shape == given[name].shape and bool(np.all(a == given[name]))
        for name, a in before.items()
    )


def _as_steps(reference: Any, place: Array, rates: Array) -> Array:
    """The steps δ (count, NV, n) that change positions (count, NQ) by `rates` (count, NQ, n): Ωᵀ Ω δ = Ωᵀ q̇."""
    above, nv = lifted(reference), reference.mechanism.nv
    ways = reference.scalars.array(
        np.broadcast_to(np.eye(nv, dtype=int)[:, None, :], (nv, len(place), nv))
    )
    turned = np.moveaxis(
        slopes(moved(above, "q", place, ways), nv, above.scalars), 0, 1
    )  # Ωᵀ (count, NV, NQ)
    return np.asarray(reference.scalars.solve(turned @ np.swapaxes(turned, -1, -2), turned @ rates))


def _moved(
    above: Any, by: Sequence[str], given: Mapping[str, Array], arguments: Mapping[str, Array]
) -> dict[str, Array]:
    """The arguments, those of `by` moved by ε times their changes, all of them at once."""
    return {**given, **{x: moved(above, x, given[x], arguments[names.change(x)][None]) for x in by}}


def _along(
    reference: Any,
    function: str,
    by: Sequence[str],
    given: Mapping[str, Array],
    arguments: Mapping[str, Array],
) -> dict[str, Array]:
    """What the results change by."""
    above = lifted(reference)
    found = {
        name: slopes(value, 1, above.scalars)[0]
        for name, value in above.evaluate(function, _moved(above, by, given, arguments)).items()
    }
    places = reference.evaluate(function, given) if any(name in POSITIONS for name in found) else {}
    return {
        names.change(name): _as_steps(reference, places[name], rates[..., None])[..., 0]
        if name in POSITIONS
        else rates
        for name, rates in found.items()
    }


def _weighed(blocks: Blocks, arguments: Mapping[str, Array]) -> dict[str, Array]:
    """What each argument weighs, from the weights of the results among `arguments`."""
    found = {}
    for x, block in blocks.items():
        total: Any = 0
        for one, slope in block.items():
            weight = arguments[names.weight(one)]
            total = total + (slope * weight[..., None]).reshape(
                len(slope), -1, slope.shape[-1]
            ).sum(axis=1)
        found[names.weight(x)] = (
            total.reshape(np.shape(arguments[x])) if x not in POSITIONS else total
        )
    return found


def _bent(
    reference: Any,
    function: str,
    by: Sequence[str],
    given: Mapping[str, Array],
    arguments: Mapping[str, Array],
) -> dict[str, Array]:
    """What the weights of the arguments change by: their slope along the changes of all of `by` at once."""
    above = lifted(reference)
    there = _moved(above, by, given, arguments)
    weights = _weighed(_blocks(above, function, by, there), {**arguments, **there})
    return {
        names.change(name): slopes(value, 1, above.scalars)[0] for name, value in weights.items()
    }


# -- the functions that are derivatives of inverse and forward dynamics --

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
