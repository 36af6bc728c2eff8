"""The derivatives of the dynamics against the dynamics, and against each other."""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import cross, identity, times
from symgen.reference.precision import Array
from symgen.verification.evaluating import Results
from symgen.verification.identities._drives import of_bodies, resistance, slopes
from symgen.verification.identities._identity import Distance, Functions, Identity
from symgen.verification.scales.dynamics_derivatives import DERIVATIVES


def _slope_along_q(f: Functions) -> Distance:
    """dtau_dq v = d/dt ID(q ⊕ v t)."""
    v, sizes = f.states["v"], f.truth.scales
    size = times(sizes.of("inverse_dynamics_derivatives", "dtau_dq"), np.abs(f.truth.floats["v"]))
    found = (
        times(f("inverse_dynamics_derivatives")["dtau_dq"], v) - f.slopes("inverse_dynamics")["tau"]
    )
    return found, size + sizes.of(
        "inverse_dynamics", "tau"
    )  # where nothing changes, the slope of what does not is nothing


def _quadratic_in_rates(f: Functions) -> Distance:
    """dtau_dv v = 2 (ID(v) − ID(v=0)): rates are there as squares, but in the forces of drives."""
    v, sizes = f.states["v"], f.truth.scales
    moved = f("inverse_dynamics")["tau"] - f("inverse_dynamics", v=0 * v)["tau"]
    moved = moved - (resistance(f, v) - resistance(f, 0 * v))
    size = times(sizes.of("inverse_dynamics_derivatives", "dtau_dv"), np.abs(f.truth.floats["v"]))
    along = f("inverse_dynamics_derivatives")["dtau_dv"] - slopes(f)
    return times(along, v) - 2 * moved, size + 2 * sizes.of("inverse_dynamics", "tau")


def _rate_of_the_mass_matrix(f: Functions) -> Distance:
    """dtau_dv + dtau_dvᵀ = 2 dM/dt − adᵀ M − M ad, where ad takes a joint's velocities x to v × x, nothing where they commute."""
    found, rate = f("inverse_dynamics_derivatives"), f.slopes("inverse_dynamics_derivatives")["M"]
    half, turned = found["dtau_dv"] - slopes(f) - rate, of_bodies(f, found["M"]) @ _brackets(f)
    difference = half + turned
    size = f.truth.scales.of("inverse_dynamics_derivatives", "dtau_dv")
    size = (
        size + f.truth.scales.mass() * (1 + np.abs(f.truth.floats["v"]).sum(axis=-1))[:, None, None]
    )
    return difference + np.swapaxes(difference, -1, -2), size + np.swapaxes(size, -1, -2)


def _brackets(f: Functions) -> Array:
    """v × e_k in the velocities of the joint that e_k is of, column k (count, NV, NV). Those of a joint without an axis are
    twists about and along the axes of its body, and only they turn each other.
    """
    reference, v = f.truth.reference, f.states["v"]
    out = 0 * (v[:, :, None] * v[:, None, :])
    for index, (joint, own) in enumerate(
        zip(f.truth.mechanism.joints, f.truth.mechanism.v_slices, strict=True)
    ):
        if joint.type.directed:
            continue
        units = reference.twists(index, identity(reference.scalars))
        for rate, (w, u) in zip(np.moveaxis(v[:, own], -1, 0), units, strict=True):
            for k, (z, s) in enumerate(units, own.start):
                angular, linear = cross(w, z), cross(w, s) + cross(u, z)
                for i, (e, d) in enumerate(units, own.start):
                    out[:, i, k] += rate * ((angular * e).sum() + (linear * d).sum())
    return out


def _mass_beside(f: Functions) -> Distance:
    return f("inverse_dynamics_derivatives")["M"] - f("mass_matrix")["M"], f.truth.scales.mass()


def _solved(f: Functions, by: str, inverse: Results) -> Distance:
    """M da + dtau = 0, a column for each coordinate."""
    found, sizes = f("forward_dynamics_derivatives")[f"da_d{by}"], f.truth.scales
    size = sizes.roots[..., None] * (
        sizes.roots[:, None, :] @ np.abs(np.asarray(found, dtype=float))
    )
    size = size + DERIVATIVES[f"dtau_d{by}"](
        sizes, f.truth.floats["v"], sizes.joint_accelerations()
    )
    return inverse["M"] @ found + inverse[f"dtau_d{by}"], size


def _solved_along_q(f: Functions) -> Distance:
    """At the a of forward dynamics."""
    return _solved(f, "q", f("inverse_dynamics_derivatives", a=f("forward_dynamics")["a"]))


def _solved_along_v(f: Functions) -> Distance:
    """At any a, on which ∂τ/∂v does not hang."""
    return _solved(f, "v", f("inverse_dynamics_derivatives"))


def _inverse_beside(f: Functions) -> Distance:
    sizes = f.truth.scales
    mass, inverse = f("mass_matrix")["M"], f("forward_dynamics_derivatives")["Minv"]
    size = sizes.roots[..., None] * (sizes.roots[:, None, :] @ sizes.inverse())
    return mass @ inverse - np.eye(f.truth.mechanism.nv, dtype=int), size


_ID, _FD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
RANK = 3
IDENTITIES = (
    Identity(
        "dtau_dq v = d/dt ID(q ⊕ v t)", (_ID, "inverse_dynamics"), _slope_along_q, exact_only=True
    ),
    Identity("dtau_dv v = 2 (ID(v) − ID(0))", (_ID, "inverse_dynamics"), _quadratic_in_rates),
    Identity(
        "dtau_dv + dtau_dvᵀ = 2 d/dt M − adᵀM − M ad",
        (_ID,),
        _rate_of_the_mass_matrix,
        exact_only=True,
    ),
    Identity("M beside dtau_dq = M", (_ID, "mass_matrix"), _mass_beside),
    Identity("M da_dq = −dtau_dq(FD)", (_FD, _ID, "forward_dynamics"), _solved_along_q),
    Identity("M da_dv = −dtau_dv", (_FD, _ID), _solved_along_v),
    Identity("M Minv beside da_dq = 1", (_FD, "mass_matrix"), _inverse_beside),
)
