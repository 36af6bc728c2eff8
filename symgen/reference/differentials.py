"""The true derivatives of every function, from the reference's own formulas over jets (`symgen.reference.jets`).

All of them follow from the slopes of every result along each coordinate of each argument. Positions are moved by velocities,
q ⊕ δ, and a result that is positions changes by the step δ that makes the same change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symgen.reference.jets import POSITIONS, ThirdDerivative, derivatives, lifted, moved, slopes
from symgen.reference.precision import Array
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
