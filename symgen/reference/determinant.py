"""The reference's gradient of ln det M, from body Jacobians: tr(M⁻¹ ∂M/∂q_i), with ∂M/∂q_i in closed form.

M's entries are products of vectors, so they may be taken in axes that turn with what joint i carries: the columns of the joints
after i stand still in these. Of a joint j before i, with w the axis a joint turns about (0 for a slide) and v, w its columns of
Jv and Jw, in the base's axes, the rates against them are

    δv_j = ∂v_j/∂q_i − w_i × v_j = w_j × v_i − w_i × v_j,    δw_j = −w_i × w_j,

the part's tensor turns with it, and each part adds twice the sum over j of δv_j·F_j + δw_j·N_j with the columns F_j of
m Jv M⁻¹ and N_j of I Jw M⁻¹. A joint on the base has none before it: 0. A joint without an axis turns all its columns.
"""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import cross, times, transposed
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def log_determinant_gradient(
    motion: Motion, inverse: Array, q: Array, payload: Array | None = None
) -> Array:
    """∂ ln det M/∂q (..., NV), with `inverse` M⁻¹ (..., NV, NV) at q; in the working precision of its caller."""
    placed = motion.placements(q)
    grad = 0 * inverse[..., 0]
    for part in motion.parts(payload):
        at, support = placed[part.body], np.array(motion.supports[part.body])
        angular, linear = motion.columns(
            part.body, at.shift[0] + times(at.turn[0], part.centre), placed
        )
        inertia = at.turn[0] @ part.inertia @ transposed(at.turn[0])
        solved = inverse[..., support[:, None], support[None, :]]
        product = motion.scalars.product
        forces = (
            part.mass[..., None, None] * product(linear, solved),
            inertia @ product(angular, solved),
        )
        w, v, F, N = (
            np.moveaxis(columns, -1, 0) for columns in np.broadcast_arrays(angular, linear, *forces)
        )
        first = [support.tolist().index(motion.first_of(k)) for k in support]
        of_v, of_w = _before(cross(F, w), first), _before(cross(N, w) - cross(v, F), first)
        slopes = (v * of_v + w * of_w).sum(axis=-1)
        grad[..., support] += 2 * np.moveaxis(slopes, 0, -1)
    return grad


def _before(rates: Array, first: list[int]) -> Array:
    """Σ_{j < first[i]} along the first axis."""
    return np.concatenate([0 * rates[:1], np.cumsum(rates[:-1], axis=0)])[first]
