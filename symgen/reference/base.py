"""Base parameters of the reference: the first independent columns of its regressor at random
states.

With G = Σ Yᵀ Y over the states, a column depends on the columns before it if the elimination of
those leaves zero of it in G, pivot by pivot (Cholesky). The map from all parameters to those of the
kept columns K is G_KK⁻¹ G_K, by least squares. Arrays are as in `symgen.reference.mechanics`; a
reference over floats uses balls of DIGITS digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgen.reference.arrays import times, transposed
from symgen.reference.motion import Motion
from symgen.reference.parameters import regressor
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states

DIGITS = 120
STATES, SEED = 14, 1234
"""Number of states for each body per entry of v: the stacked regressor has more rows than columns.
"""
ZERO_SHARE = 1e-40
"""A column depends on the columns before it if its remainder in G is below this fraction of its own
entry.
"""
LEAST = 1e-20
"""Least size of a column, as a fraction of the largest diagonal entry of G."""


def base_parameter_map(motion: Motion) -> tuple[list[int], Array]:
    """Return (indices of the kept columns, map (NR, 10·NB) to their parameters). The result is
    cached in the motion.
    """
    cached = motion.cached_results.get("base parameters")
    if cached is None:
        exact = arb(DIGITS)
        with exact.working():
            columns, parameter_map = _compute_base(Motion(motion.mechanism, exact))
        cached = motion.cached_results["base parameters"] = ({}, (columns, parameter_map))
    columns, parameter_map = cached[1]
    if motion.scalars.dtype is not object:
        parameter_map = parameter_map.astype(float)
    return list(columns), parameter_map


def _compute_base(motion: Motion) -> tuple[list[int], Array]:
    """Return kept columns and the map to their parameters, from the regressor at random states."""
    states = STATES * -(-len(motion.mechanism.bodies) // motion.mechanism.nv)
    values = {
        name: motion.scalars.array(values)
        for name, values in draw_states(motion.mechanism, states, SEED).items()
    }
    Y = regressor(motion, values["q"], values["v"], values["a"]).reshape(
        -1, 10 * len(motion.mechanism.bodies)
    )
    G = motion.scalars.product(transposed(Y), Y)
    columns, remaining = [], G.copy()
    diagonal = [abs(G[c, c]).upper() for c in range(len(G))]
    for c in range(len(G)):
        if not abs(remaining[c, c]).upper() > ZERO_SHARE * max(diagonal[c], LEAST * max(diagonal)):
            continue
        columns.append(c)
        following = np.array(
            [i for i in range(c + 1, len(G)) if not remaining[c, i].is_zero()], dtype=int
        )
        if len(following):
            remaining[np.ix_(following, following)] -= (
                remaining[following, c][:, None]
                * (remaining[c, following] / remaining[c, c])[None, :]
            )
    return columns, motion.scalars.solve(G[np.ix_(columns, columns)], G[columns])


def _base_regressor(motion: Motion, /, q: Array, v: Array, a: Array) -> dict[str, Array]:
    return {"Y_base": regressor(motion, q, v, a)[..., base_parameter_map(motion)[0]]}


def _base_parameters(motion: Motion, /, pi: Array) -> dict[str, Array]:
    with motion.scalars.working():
        return {"pi_base": times(base_parameter_map(motion)[1], pi)}


ORACLES: dict[str, Callable[..., dict[str, Any]]] = {
    "base_regressor": _base_regressor,
    "base_parameters": _base_parameters,
}
"""One oracle per function: (motion, arguments by name) → results by name."""
