"""The reference's base parameters: the first independent columns of its regressor, from products of columns over random states.

With G = Σ Yᵀ Y over the states, a column depends on those before it if nothing of it is left in G when these are eliminated,
pivot by pivot (Cholesky). The map from all parameters to those of the columns K that stay is G_KK⁻¹ G_K, by least squares.
Arrays are as `symgen.reference.mechanics` has them; over floats, balls of DIGITS digits are asked.
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
"""As many for each body that there is to an entry of v: more rows than there are columns."""
NOTHING = 1e-40
"""Of what a column's product with itself was: what is left of it in G then is nothing."""
LEAST = 1e-20
"""Of the largest such product: no column counts as smaller."""


def base(motion: Motion) -> tuple[list[int], Array]:
    """(the columns that stay, the map (NR, 10·NB) to their parameters), once for a motion."""
    known = motion.answers.get("base parameters")
    if known is None:
        exact = arb(DIGITS)
        with exact.working():
            columns, found = _worked_out(Motion(motion.mechanism, exact))
        known = motion.answers["base parameters"] = ({}, (columns, found))
    columns, found = known[1]
    return list(columns), found if motion.scalars.dtype is object else found.astype(float)


def _worked_out(motion: Motion) -> tuple[list[int], Array]:
    states = STATES * -(-len(motion.mechanism.bodies) // motion.mechanism.nv)
    drawn = {
        name: motion.scalars.array(values)
        for name, values in draw_states(motion.mechanism, states, SEED).items()
    }
    Y = regressor(motion, drawn["q"], drawn["v"], drawn["a"]).reshape(
        -1, 10 * len(motion.mechanism.bodies)
    )
    G = motion.scalars.product(transposed(Y), Y)
    columns, left = [], G.copy()
    own = [abs(G[c, c]).upper() for c in range(len(G))]
    for c in range(len(G)):
        if not abs(left[c, c]).upper() > NOTHING * max(own[c], LEAST * max(own)):
            continue
        columns.append(c)
        rest = np.array([i for i in range(c + 1, len(G)) if not left[c, i].is_zero()], dtype=int)
        if len(rest):
            left[np.ix_(rest, rest)] -= (
                left[rest, c][:, None] * (left[c, rest] / left[c, c])[None, :]
            )
    return columns, motion.scalars.solve(G[np.ix_(columns, columns)], G[columns])


def _base_regressor(motion: Motion, /, q: Array, v: Array, a: Array) -> dict[str, Array]:
    return {"Y_base": regressor(motion, q, v, a)[..., base(motion)[0]]}


def _base_parameters(motion: Motion, /, pi: Array) -> dict[str, Array]:
    with motion.scalars.working():
        return {"pi_base": times(base(motion)[1], pi)}


ORACLES: dict[str, Callable[..., dict[str, Any]]] = {
    "base_regressor": _base_regressor,
    "base_parameters": _base_parameters,
}
"""One oracle per function: (motion, arguments by name) → results by name."""
