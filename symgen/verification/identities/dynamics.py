"""Identities of inverse and forward dynamics, the mass matrix, and the motion of the frame.

Positive definiteness and the determinant are tested by the elimination of one dense matrix from its
last row to its first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symgen.reference.arrays import times
from symgen.reference.precision import Array
from symgen.verification.identities._drives import drive_forces, resistance
from symgen.verification.identities._identity import Distance, Functions, Identity
from symgen.verification.magnitude import largest
from symgen.verification.residuals import solve_distance
from symgen.vocabulary.arrays import USUAL


def _inverse_of_forward(f: Functions) -> Distance:
    a, tau = f("forward_dynamics")["a"], f.states["tau"]
    recovered, sizes = f("inverse_dynamics", a=a)["tau"], f.exact_results.scales
    # round-off of inverse dynamics is relative to its terms at this a, that of forward dynamics to
    # the residual's terms
    return recovered - tau, sizes.dynamics_residual(a) + sizes.forces(
        f.exact_results.floats["v"], np.asarray(a, dtype=float)
    )


def _mass_times_inverse(f: Functions) -> Distance:
    """Return the distance M M⁻¹ − 1, relative to √s_i Σ_k √s_k times the sizes of the entries of
    M⁻¹.
    """
    mass, inverse, sizes = (
        f("mass_matrix")["M"],
        f("inverse_mass_matrix")["Minv"],
        f.exact_results.scales,
    )
    size = sizes.roots[..., None] * (sizes.roots[:, None, :] @ sizes.inverse())
    return mass @ inverse - np.eye(f.exact_results.mechanism.nv, dtype=int), size


def _mass_times_solution(f: Functions) -> Distance:
    return solve_distance(
        f("mass_matrix")["M"], f("mass_matrix_solve")["x"], f.states["b"], f.exact_results
    )[:2]


def _symmetric(f: Functions) -> Distance:
    mass = f("mass_matrix")["M"]
    return mass - np.swapaxes(mass, -1, -2), f.exact_results.scales.mass()


def _positive(f: Functions) -> Distance:
    """Return 1 if a pivot of the Program's M is not positive although the description's are; NaN if
    the balls do not decide.
    """
    verdicts = []
    for program_mass, declared_mass, terms in zip(
        f("mass_matrix")["M"],
        f.exact_results.mass_matrix,
        f.exact_results.scales.diagonal(),
        strict=True,
    ):
        positive = is_positive(program_mass, terms)
        declared_positive = positive or is_positive(declared_mass, terms)
        verdicts.append(
            0.0
            if positive or declared_positive is False
            else 1.0
            if positive is False and declared_positive
            else np.nan
        )
    return np.array(verdicts)[:, None], np.ones(len(verdicts))


def _determinant(f: Functions) -> Distance:
    det = f("mass_matrix_determinant")["det"]
    product = np.array(
        [
            determinant(*matrix_and_terms)
            for matrix_and_terms in zip(
                f("mass_matrix")["M"], f.exact_results.scales.diagonal(), strict=True
            )
        ]
    )
    if f.exact and np.isfinite(f.exact_results.condition):
        return (det - product)[:, None], largest(product[:, None])
    return (det - product)[:, None], f.exact_results.scales.of("mass_matrix_determinant", "det")


def _log_determinant(f: Functions) -> Distance:
    logarithm, det = f("mass_matrix_log_determinant")["logdet"], f("mass_matrix_determinant")["det"]
    return (logarithm - np.log(det))[:, None], f.exact_results.scales.of(
        "mass_matrix_log_determinant", "logdet"
    )


def _slope_of_the_log_determinant(f: Functions) -> Distance:
    slope = (f("mass_matrix_log_determinant_gradient")["grad"] * f.states["v"]).sum(axis=-1)
    size = (
        f.exact_results.scales.of("mass_matrix_log_determinant_gradient", "grad")
        * np.abs(f.exact_results.floats["v"])
    ).sum(axis=-1)
    size = size + f.exact_results.scales.of(
        "mass_matrix_log_determinant", "logdet"
    )  # the size of the slope is zero if M is constant
    return (slope - f.time_derivatives("mass_matrix_log_determinant")["logdet"])[:, None], size


def _mass_from_inverse_dynamics(f: Functions) -> Distance:
    a, zero = f.states["a"], 0 * f.states["a"]
    difference = f("inverse_dynamics")["tau"] - f("inverse_dynamics", a=zero)["tau"]
    return times(f("mass_matrix")["M"], a) - difference, f.exact_results.scales.of(
        "inverse_dynamics", "tau"
    )


def _bias_is_inverse_dynamics(f: Functions) -> Distance:
    return f("bias_force")["c"] - f("inverse_dynamics", a=0 * f.states["a"])[
        "tau"
    ], f.exact_results.scales.of("bias_force", "c")


def _gravity_is_bias_at_rest(f: Functions) -> Distance:
    bias = f("bias_force", **f.at_rest("v"))["c"] - resistance(f, 0 * f.states["v"])
    return f("gravity_force")["g"] - bias, _size_at_rest(f)


def _gravity_is_inverse_dynamics_at_rest(f: Functions) -> Distance:
    torque = f("inverse_dynamics", **f.at_rest("v", "a"))["tau"] - resistance(f, 0 * f.states["v"])
    return f("gravity_force")["g"] - torque, _size_at_rest(f)


def _size_at_rest(f: Functions) -> Array:
    """Return the size of gravity and of the springs."""
    still = 0 * f.exact_results.floats["v"]
    return f.exact_results.scales.of("gravity_force", "g") + f.exact_results.scales.drive_forces(
        still, still
    )


def _both_masses(f: Functions) -> Distance:
    return f("mass_matrix_and_bias")["M"] - f("mass_matrix")["M"], f.exact_results.scales.mass()


def _both_biases(f: Functions) -> Distance:
    return f("mass_matrix_and_bias")["c"] - f("bias_force")["c"], f.exact_results.scales.of(
        "bias_force", "c"
    )


def _jacobian_is_the_derivative(f: Functions) -> Distance:
    pose_rates, twist = f.time_derivatives("forward_kinematics"), times(f.jacobian(), f.states["v"])
    spin = pose_rates["R"] @ np.swapaxes(f("forward_kinematics")["R"], -1, -2)
    rate = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    size = np.maximum(
        1.0, times(f.exact_results.scales.jacobian(), np.abs(f.exact_results.floats["v"]))
    )
    return np.concatenate([rate, pose_rates["p"]], axis=-1) - twist, size


def _operational_inertia(f: Functions) -> Distance:
    jacobian, inverse = f.jacobian(), f("inverse_mass_matrix")["Minv"]
    J_transposed = np.swapaxes(jacobian, -1, -2)
    # in floats, the error of the inverse is its residual times itself
    sizes = f.exact_results.scales
    root_diagonal = sizes.inverse_entries()
    reach = (
        np.abs(np.asarray(jacobian, dtype=float))
        @ root_diagonal[..., None]
        * sizes.weighted_sum(root_diagonal)[..., None]
    )
    size = sizes.mobility() + reach * np.swapaxes(reach, -1, -2)
    if (
        f.exact_results.convention != USUAL
    ):  # J was converted, perhaps from a point far from the frame
        conversion_error = (
            2
            * sizes.jacobian(sizes.lever())
            @ np.abs(np.asarray(inverse @ J_transposed, dtype=float))
        )
        size = size + conversion_error + np.swapaxes(conversion_error, -1, -2)
    return f("operational_inertia_inverse")["Lambda_inv"] - jacobian @ inverse @ J_transposed, size


def _acceleration_of_the_frame(f: Functions) -> Distance:
    moving = times(f.jacobian(), f("forward_dynamics")["a"]) + times(
        f.slope_of_the_jacobian(), f.states["v"]
    )
    return f("link_accelerations")["alpha_tip"] - moving, f.exact_results.scales.tip_acceleration()


def _acceleration_across_the_joints(f: Functions) -> Distance:
    return f("interbody_forces")["a"] - f("forward_dynamics")[
        "a"
    ], f.exact_results.scales.joint_accelerations()


def _force_along_the_joints(f: Functions) -> Distance:
    """Return the distance Hᵀ F − tau: each wrench along the twists of its joint, without the drive
    forces.

    For a leader, the wrenches of its mimic joints are added.
    """
    results, reference = f("interbody_forces"), f.reference
    placed, a, tau = reference.placements(f.states["q"]), results["a"], f.states["tau"]
    projected = [np.zeros(len(tau))] * tau.shape[-1]
    wrench_sizes = projected.copy()
    sizes_by_body = f.exact_results.scales.wrenches(
        f.exact_results.floats["v"], np.asarray(a, dtype=float)
    )
    for i, placement in enumerate(placed):
        for unit, (k, rate) in zip(
            reference.twists(i, placement.turn[0]), reference.shares[i], strict=True
        ):
            twist = np.concatenate(
                np.broadcast_arrays(*unit), axis=-1
            ) * reference.scalars.constant(rate)
            projected[k] = projected[k] + (results["F"][:, i] * twist).sum(axis=-1)
            wrench_sizes[k] = wrench_sizes[k] + abs(float(rate)) * sizes_by_body[:, i]
    # a residual as in `_inverse_of_forward`; the wrenches may be far larger than their projection
    # on the joints
    sizes = f.exact_results.scales
    size = sizes.dynamics_residual(a) + np.stack(wrench_sizes, axis=-1)
    drive_size = sizes.drive_forces(f.exact_results.floats["v"], np.asarray(a, dtype=float))
    return np.stack(projected, axis=-1) - (tau - drive_forces(f, a)), size + drive_size


def _rotation(f: Functions) -> Distance:
    turn = f("forward_kinematics")["R"]
    return turn @ np.swapaxes(turn, -1, -2) - np.eye(3, dtype=int), np.ones(len(turn))


# -- the elimination of M --

ROUNDING = 1e-13
"""Fraction of the largest entry of M, times its size: M's rounding to double and its computed
eigenvalues have a smaller error.
"""
VANISHING = 1e-60
"""Fraction of the largest diagonal term. A pivot whose ball contains zero and is no wider than this
is zero.
"""


def pivots(matrix: Array) -> list[Any]:
    """Return D of M = U D Uᵀ for one symmetric (n, n) matrix over any scalar, by elimination from
    the last row to the first.

    D[k] is the inertia of joint k when every joint after it (its descendants among them) is free.
    The elimination stops before a division by a pivot that may be zero; then only the last entries
    are returned.
    """
    schur_complement = matrix.copy()
    values: list[Any] = []
    for k in range(len(schur_complement) - 1, -1, -1):
        pivot = schur_complement[k, k]
        values.insert(0, pivot)
        if not abs(pivot) > 0:  # a ball may contain zero
            return values
        column = schur_complement[:k, k]
        # A ball is neither == nor != 0.
        nonzero = [i for i in range(k) if not column[i] == 0]  # noqa: SIM201
        coupled = np.array(nonzero, dtype=int)
        if len(coupled):
            gain = column[coupled] / pivot
            schur_complement[coupled[:, None], coupled[None, :]] -= (
                gain[:, None] * column[coupled][None, :]
            )
    return values


def determinant(matrix: Array, terms: Array) -> Any:
    """Return Π D; NaN if a ball does not decide whether a pivot is zero. `terms` (n,) are the sizes
    of the diagonal terms.
    """
    values = pivots(matrix)
    if abs(values[0]) > 0:  # the elimination has not stopped before its end
        return np.prod(np.array(values))
    return 0 * matrix[0, 0] if _vanishes(values, terms) else np.nan


def is_positive(matrix: Array, terms: Array) -> bool | None:
    """Return whether a symmetric ball matrix is positive definite; None if its balls do not decide.
    `terms` as for `determinant`.
    """
    rounded = np.asarray(np.frompyfunc(lambda ball: float(ball.mid()), 1, 1)(matrix), dtype=float)
    widest = max(float(ball.rad()) for ball in matrix.ravel())
    size = float(np.abs(rounded).max())
    # Weyl: no eigenvalue moves by more than the norm of the change
    if np.isfinite(rounded).all() and widest <= ROUNDING * size:
        lowest = np.linalg.eigvalsh(rounded)[0]
        if lowest > ROUNDING * len(matrix) * size:
            return True
    values = pivots(matrix)
    if all(pivot > 0 for pivot in values):
        return True
    return False if any(pivot < 0 for pivot in values) or _vanishes(values, terms) else None


def _vanishes(values: list[Any], terms: Array) -> bool:
    """True if the pivot at which an elimination stopped is zero, as for a point mass on its joint's
    axis.
    """
    return bool(abs(values[0]) <= VANISHING * terms.max())


RANK = 0
IDENTITIES = (
    Identity("ID(FD(tau)) = tau", ("inverse_dynamics", "forward_dynamics"), _inverse_of_forward),
    Identity("M Minv = 1", ("mass_matrix", "inverse_mass_matrix"), _mass_times_inverse),
    Identity("M x = b", ("mass_matrix", "mass_matrix_solve"), _mass_times_solution),
    Identity("M = Mᵀ", ("mass_matrix",), _symmetric),
    Identity("M positive definite", ("mass_matrix",), _positive, exact_only=True),
    Identity("det M = Π D", ("mass_matrix", "mass_matrix_determinant"), _determinant),
    Identity(
        "exp logdet = det M",
        ("mass_matrix_log_determinant", "mass_matrix_determinant"),
        _log_determinant,
        exact_only=True,
    ),
    Identity(
        "grad · v = d/dt logdet",
        ("mass_matrix_log_determinant_gradient", "mass_matrix_log_determinant"),
        _slope_of_the_log_determinant,
        exact_only=True,
    ),
    Identity(
        "M a = ID(a) − ID(0)", ("mass_matrix", "inverse_dynamics"), _mass_from_inverse_dynamics
    ),
    Identity("c = ID(a=0)", ("bias_force", "inverse_dynamics"), _bias_is_inverse_dynamics),
    Identity("g = c(v=0)", ("gravity_force", "bias_force"), _gravity_is_bias_at_rest),
    Identity(
        "g = ID(v=0, a=0)",
        ("gravity_force", "inverse_dynamics"),
        _gravity_is_inverse_dynamics_at_rest,
    ),
    Identity("M in one pass = M", ("mass_matrix_and_bias", "mass_matrix"), _both_masses),
    Identity("c in one pass = c", ("mass_matrix_and_bias", "bias_force"), _both_biases),
    Identity(
        "Lambda_inv = J Minv Jᵀ",
        ("operational_inertia_inverse", "jacobian", "inverse_mass_matrix"),
        _operational_inertia,
    ),
    Identity(
        "alpha_tip = J a + J̇ v",
        ("link_accelerations", "jacobian", "forward_dynamics"),
        _acceleration_of_the_frame,
        exact_only=True,
    ),
    Identity(
        "a across the joints = FD(tau)",
        ("interbody_forces", "forward_dynamics"),
        _acceleration_across_the_joints,
    ),
    Identity("Hᵀ F = tau", ("interbody_forces",), _force_along_the_joints),
    Identity("R Rᵀ = 1", ("forward_kinematics",), _rotation),
    Identity(
        "J v = d/dt pose",
        ("jacobian", "forward_kinematics"),
        _jacobian_is_the_derivative,
        exact_only=True,
    ),
)
