"""Identities of the derivatives of the dynamics with the dynamics, and with each other."""

from __future__ import annotations

import numpy as np

from symgen.reference.arrays import cross, identity, times
from symgen.reference.precision import Array
from symgen.verification.evaluating import Results
from symgen.verification.identities._drives import (
    resistance,
    velocity_derivatives,
    without_armature,
)
from symgen.verification.identities._identity import Distance, Functions, Identity
from symgen.verification.scales.dynamics_derivatives import DERIVATIVES


def _slope_along_q(f: Functions) -> Distance:
    """Return the distance dtau_dq v − d/dt ID(q ⊕ v t)."""
    v, sizes = f.states["v"], f.exact_results.scales
    size = times(
        sizes.of("inverse_dynamics_derivatives", "dtau_dq"), np.abs(f.exact_results.floats["v"])
    )
    difference = (
        times(f("inverse_dynamics_derivatives")["dtau_dq"], v)
        - f.time_derivatives("inverse_dynamics")["tau"]
    )
    return difference, size + sizes.of(
        "inverse_dynamics", "tau"
    )  # the size of the slope is zero where tau does not change


def _quadratic_in_rates(f: Functions) -> Distance:
    """Return the distance dtau_dv v − 2 (ID(v) − ID(v=0)): except for drive forces, tau is
    quadratic in rates.
    """
    v, sizes = f.states["v"], f.exact_results.scales
    velocity_terms = f("inverse_dynamics")["tau"] - f("inverse_dynamics", v=0 * v)["tau"]
    velocity_terms = velocity_terms - (resistance(f, v) - resistance(f, 0 * v))
    size = times(
        sizes.of("inverse_dynamics_derivatives", "dtau_dv"), np.abs(f.exact_results.floats["v"])
    )
    body_slopes = f("inverse_dynamics_derivatives")["dtau_dv"] - velocity_derivatives(f)
    return times(body_slopes, v) - 2 * velocity_terms, size + 2 * sizes.of(
        "inverse_dynamics", "tau"
    )


def _rate_of_the_mass_matrix(f: Functions) -> Distance:
    """Return the distance dtau_dv + dtau_dvᵀ − 2 dM/dt + adᵀ M + M ad.

    ad maps a joint's velocities x to v × x; it is zero where they commute.
    """
    results, rate = (
        f("inverse_dynamics_derivatives"),
        f.time_derivatives("inverse_dynamics_derivatives")["M"],
    )
    slope_term, bracket_term = (
        results["dtau_dv"] - velocity_derivatives(f) - rate,
        without_armature(f, results["M"]) @ _brackets(f),
    )
    difference = slope_term + bracket_term
    size = f.exact_results.scales.of("inverse_dynamics_derivatives", "dtau_dv")
    size = (
        size
        + f.exact_results.scales.mass()
        * (1 + np.abs(f.exact_results.floats["v"]).sum(axis=-1))[:, None, None]
    )
    return difference + np.swapaxes(difference, -1, -2), size + np.swapaxes(size, -1, -2)


def _brackets(f: Functions) -> Array:
    """Return v × e_k in the velocities of e_k's joint, column k (count, NV, NV).

    The velocities of a joint without an axis are twists about and along its body's axes; only their
    brackets are nonzero.
    """
    reference, v = f.exact_results.reference, f.states["v"]
    brackets = 0 * (v[:, :, None] * v[:, None, :])
    for index, (joint, v_slice) in enumerate(
        zip(f.exact_results.mechanism.joints, f.exact_results.mechanism.v_slices, strict=True)
    ):
        if joint.type.directed:
            continue
        units = reference.twists(index, identity(reference.scalars))
        for rate, (w, u) in zip(np.moveaxis(v[:, v_slice], -1, 0), units, strict=True):
            for k, (z, s) in enumerate(units, v_slice.start):
                angular, linear = cross(w, z), cross(w, s) + cross(u, z)
                for i, (e, d) in enumerate(units, v_slice.start):
                    brackets[:, i, k] += rate * ((angular * e).sum() + (linear * d).sum())
    return brackets


def _mass_beside(f: Functions) -> Distance:
    return f("inverse_dynamics_derivatives")["M"] - f("mass_matrix")[
        "M"
    ], f.exact_results.scales.mass()


def _derivative_residual(f: Functions, by: str, inverse: Results) -> Distance:
    """Return the distance M da + dtau, a column for each coordinate."""
    columns, sizes = f("forward_dynamics_derivatives")[f"da_d{by}"], f.exact_results.scales
    size = sizes.roots[..., None] * (
        sizes.roots[:, None, :] @ np.abs(np.asarray(columns, dtype=float))
    )
    size = size + DERIVATIVES[f"dtau_d{by}"](
        sizes, f.exact_results.floats["v"], sizes.joint_accelerations()
    )
    return inverse["M"] @ columns + inverse[f"dtau_d{by}"], size


def _residual_along_q(f: Functions) -> Distance:
    """Return the residual by q, at the a of forward dynamics."""
    return _derivative_residual(
        f, "q", f("inverse_dynamics_derivatives", a=f("forward_dynamics")["a"])
    )


def _residual_along_v(f: Functions) -> Distance:
    """Return the residual by v, at any a: ∂τ/∂v does not depend on a."""
    return _derivative_residual(f, "v", f("inverse_dynamics_derivatives"))


def _inverse_beside(f: Functions) -> Distance:
    sizes = f.exact_results.scales
    mass, inverse = f("mass_matrix")["M"], f("forward_dynamics_derivatives")["Minv"]
    size = sizes.roots[..., None] * (sizes.roots[:, None, :] @ sizes.inverse())
    return mass @ inverse - np.eye(f.exact_results.mechanism.nv, dtype=int), size


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
    Identity("M da_dq = −dtau_dq(FD)", (_FD, _ID, "forward_dynamics"), _residual_along_q),
    Identity("M da_dv = −dtau_dv", (_FD, _ID), _residual_along_v),
    Identity("M Minv beside da_dq = 1", (_FD, "mass_matrix"), _inverse_beside),
)
