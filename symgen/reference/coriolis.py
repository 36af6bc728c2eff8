"""The reference's Coriolis matrix, from M(q) alone: how M changes along each degree of freedom, and how these do not commute.

M is a metric on the velocities. One connection keeps lengths and has no torsion, that of Levi-Civita, and C v is what it makes of
v along v. By Koszul's formula, with E_k the rate of degree of freedom k, ∂_k the derivative along it and
[E_k, E_j] = Σ_l c_kjl E_l,

    2 C_ij = Σ_k v_k (∂_k M_ij + ∂_j M_ik − ∂_i M_jk)
           + Σ_kl v_k (c_kjl M_li + c_ijl M_lk + c_ikl M_lj),

that is Christoffel's formula where velocities are the rates of coordinates, and all c are 0. Those of a joint without an axis are
twists of its body in the body's axes, whose bracket is their cross product. ∂M is exact (`symgen.reference.jets`).
Arrays are as `symgen.reference.mechanics` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symgen.reference.arrays import cross, identity, stacked, times, transposed
from symgen.reference.drives import with_armature
from symgen.reference.jets import derivatives
from symgen.reference.motion import Motion
from symgen.reference.precision import Array, arb

DIGITS = 30


def coriolis_matrix(reference: Any, q: Array, v: Array, payload: Array | None = None) -> Array:
    """C (..., NV, NV) of a `Reference`; over floats, by balls of DIGITS digits."""
    if reference.scalars.dtype is not object:
        links = {} if reference.payload is None else {"payload": reference.payload.name}
        exact, given = arb(DIGITS), [x for x in (q, v, payload) if x is not None]
        found = coriolis_matrix(
            type(reference)(reference.mechanism, exact, **links), *map(exact.array, given)
        )
        return np.asarray(found, dtype=float)
    q, v = stacked(q, v)
    states = {"q": q.reshape(-1, q.shape[-1])} | (
        {} if payload is None else {"payload": payload.reshape(-1, 10)}
    )
    bent = derivatives(reference, "mass_matrix", states, ["q"])["q"]["M"]
    with reference.scalars.working():
        bent = bent.reshape(*q.shape[:-1], *bent.shape[1:])  # ∂_k M_ij at [i, j, k]
        # of the bodies: rotors add to M what never changes, whatever their joint, and to C nothing
        mass = with_armature(reference, reference.mass_matrix(q, payload), -1)
        across = (bent * v[..., None, :, None]).sum(axis=-2)  # ∂_k (M v)_i at [i, k]
        brackets = commutators(reference)  # c_kjl at [k, j, l]
        turned = mass @ np.einsum("...k,kjl->...lj", v, brackets)  # Σ_kl v_k c_kjl M_li at [i, j]
        spun = np.einsum("ijl,...l->...ij", brackets, times(mass, v))  # Σ_kl v_k c_ijl M_lk
        along = (bent * v[..., None, None, :]).sum(axis=-1)
        return np.asarray(
            (along + across - transposed(across) + turned + spun - transposed(turned)) / 2
        )


def commutators(motion: Motion) -> Array:
    """c_kjl (NV, NV, NV) with [E_k, E_j] = Σ_l c_kjl E_l. Those of a joint with an axis are zero."""
    out = motion.scalars.array(np.zeros((motion.mechanism.nv,) * 3, dtype=int))
    for index, joint in enumerate(motion.mechanism.joints):
        if joint.type.directed:
            continue
        units = motion.twists(index, identity(motion.scalars))
        first = motion.mechanism.v_slices[index].start
        for k, (w, u) in enumerate(units):
            for j, (spin, slide) in enumerate(units):
                both = cross(w, spin), cross(w, slide) + cross(u, spin)
                for place, one in enumerate(units, first):  # which are orthonormal
                    out[first + k, first + j, place] = sum(
                        (a * b).sum() for a, b in zip(both, one, strict=True)
                    )
    return out


def _coriolis_matrix(
    reference: Any, /, q: Array, v: Array, payload: Array | None = None
) -> dict[str, Array]:
    return {"C": coriolis_matrix(reference, q, v, payload)}


def _in_one_pass(
    reference: Any, /, q: Array, v: Array, payload: Array | None = None, wrench: Array | None = None
) -> dict[str, Array]:
    return {
        "M": reference.mass_matrix(q, payload),
        "C": coriolis_matrix(reference, q, v, payload),
        "c": reference.bias_force(q, v, payload, wrench),
    }


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "coriolis_matrix": _coriolis_matrix,
    "mass_matrix_coriolis_and_bias": _in_one_pass,
}
"""One oracle per function: (reference, arguments by name) → results by name."""
