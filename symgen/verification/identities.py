"""(d) The functions against each other: relations that hold for every robot, without a reference.

An identity is written once and run twice: over the Programs in balls (tolerance 1e-40) and over the compiled C in its own real
type (tolerance: the round-offs of the functions that take part). Differences are relative to the size of the terms, as in
`residuals`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from symgen.ir.recursion import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification import derivative_identities
from symgen.verification.algebra import TOLERANCE, centres, differ
from symgen.verification.calling import DAMPED, Distance, Functions, Identity
from symgen.verification.contact_identities import OF_CONTACTS
from symgen.verification.coriolis_identities import OF_CORIOLIS
from symgen.verification.driving import resistance, taken
from symgen.verification.dynamics_identities import OF_DERIVATIVES
from symgen.verification.elimination import determinant, is_positive
from symgen.verification.evaluating import Runner, over
from symgen.verification.floating import allowance
from symgen.verification.loop_identities import OF_LOOPS
from symgen.verification.parameter_identities import OF_PARAMETERS
from symgen.verification.report import Check
from symgen.verification.residuals import solved, times, worst
from symgen.verification.sizes import largest
from symgen.verification.step_identities import OF_STEPS
from symgen.verification.stepping_identities import OF_STEPPING
from symgen.verification.task_identities import OF_TASKS
from symgen.verification.truth import SHARPENINGS, Truth
from symgen.verification.whole_identities import OF_THE_WHOLE
from symgen.vocabulary.functions import FUNCTIONS, USUAL
from symgen.vocabulary.options import PLAIN, TextOptions
from symgen.vocabulary.reals import REALS, loses


def _inverse_of_forward(f: Functions) -> Distance:
    a, tau = f("forward_dynamics")["a"], f.states["tau"]
    back, sizes = f("inverse_dynamics", a=a)["tau"], f.truth.sizes
    # the inverse dynamics' own round-off is relative to its terms at this a, the forward dynamics' to the residual's
    return back - tau, sizes.driven(a) + sizes.forces(
        f.truth.floats["v"], np.asarray(a, dtype=float)
    )


def _mass_times_inverse(f: Functions) -> Distance:
    """What M⁻¹ is off by, in the sizes of its entries, M takes to √s_i Σ_k √s_k of them."""
    mass, inverse, sizes = f("mass_matrix")["M"], f("inverse_mass_matrix")["Minv"], f.truth.sizes
    size = sizes.roots[..., None] * (sizes.roots[:, None, :] @ sizes.inverse())
    return mass @ inverse - np.eye(f.truth.mechanism.nv, dtype=int), size


def _mass_times_solution(f: Functions) -> Distance:
    return solved(f("mass_matrix")["M"], f("mass_matrix_solve")["x"], f.states["b"], f.truth)[:2]


def _symmetric(f: Functions) -> Distance:
    mass = f("mass_matrix")["M"]
    return mass - np.swapaxes(mass, -1, -2), f.truth.sizes.mass()


def _positive(f: Functions) -> Distance:
    """1 where a pivot of the Program's M is not positive although the description's own are; NaN where balls do not show it."""
    found = []
    for mine, true, terms in zip(
        f("mass_matrix")["M"], f.truth.mass_matrix, f.truth.sizes.diagonal(), strict=True
    ):
        own = is_positive(mine, terms)
        declared = True if own else is_positive(true, terms)
        found.append(
            0.0 if own or declared is False else 1.0 if own is False and declared else np.nan
        )
    return np.array(found)[:, None], np.ones(len(found))


def _determinant(f: Functions) -> Distance:
    det = f("mass_matrix_determinant")["det"]
    product = np.array(
        [
            determinant(*one)
            for one in zip(f("mass_matrix")["M"], f.truth.sizes.diagonal(), strict=True)
        ]
    )
    if f.exact and np.isfinite(f.truth.condition):
        return (det - product)[:, None], largest(product[:, None])
    return (det - product)[:, None], f.truth.sizes.determinant()


def _log_determinant(f: Functions) -> Distance:
    logarithm, det = f("mass_matrix_log_determinant")["logdet"], f("mass_matrix_determinant")["det"]
    return (logarithm - np.log(det))[:, None], f.truth.sizes.of(
        "mass_matrix_log_determinant", "logdet"
    )


def _slope_of_the_log_determinant(f: Functions) -> Distance:
    slope = (f("mass_matrix_log_determinant_gradient")["grad"] * f.states["v"]).sum(axis=-1)
    size = (
        f.truth.sizes.of("mass_matrix_log_determinant_gradient", "grad")
        * np.abs(f.truth.floats["v"])
    ).sum(axis=-1)
    size = size + f.truth.sizes.of(
        "mass_matrix_log_determinant", "logdet"
    )  # where no angle enters, that of the slope is zero
    return (slope - f.slopes("mass_matrix_log_determinant")["logdet"])[:, None], size


def _mass_from_inverse_dynamics(f: Functions) -> Distance:
    a, zero = f.states["a"], 0 * f.states["a"]
    difference = f("inverse_dynamics")["tau"] - f("inverse_dynamics", a=zero)["tau"]
    return times(f("mass_matrix")["M"], a) - difference, f.truth.sizes.of("inverse_dynamics", "tau")


def _bias_is_inverse_dynamics(f: Functions) -> Distance:
    return f("bias_force")["c"] - f("inverse_dynamics", a=0 * f.states["a"])[
        "tau"
    ], f.truth.sizes.of("bias_force", "c")


def _gravity_is_bias_at_rest(f: Functions) -> Distance:
    left = f("bias_force", **f.at_rest("v"))["c"] - resistance(f, 0 * f.states["v"])
    return f("gravity_force")["g"] - left, _size_at_rest(f)


def _gravity_is_inverse_dynamics_at_rest(f: Functions) -> Distance:
    left = f("inverse_dynamics", **f.at_rest("v", "a"))["tau"] - resistance(f, 0 * f.states["v"])
    return f("gravity_force")["g"] - left, _size_at_rest(f)


def _size_at_rest(f: Functions) -> Array:
    """Of gravity, and of the springs."""
    still = 0 * f.truth.floats["v"]
    return f.truth.sizes.of("gravity_force", "g") + f.truth.sizes.resisting(still, still)


def _both_masses(f: Functions) -> Distance:
    return f("mass_matrix_and_bias")["M"] - f("mass_matrix")["M"], f.truth.sizes.mass()


def _both_biases(f: Functions) -> Distance:
    return f("mass_matrix_and_bias")["c"] - f("bias_force")["c"], f.truth.sizes.of(
        "bias_force", "c"
    )


def _jacobian_is_the_derivative(f: Functions) -> Distance:
    moved, twist = f.slopes("forward_kinematics"), times(f.jacobian(), f.states["v"])
    spin = moved["R"] @ np.swapaxes(f("forward_kinematics")["R"], -1, -2)
    rate = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    size = np.maximum(1.0, times(f.truth.sizes.jacobian(), np.abs(f.truth.floats["v"])))
    return np.concatenate([rate, moved["p"]], axis=-1) - twist, size


def _operational_inertia(f: Functions) -> Distance:
    jacobian, inverse = f.jacobian(), f("inverse_mass_matrix")["Minv"]
    turned = np.swapaxes(jacobian, -1, -2)
    # in floats, the inverse's own error is that of its residual times itself
    sizes = f.truth.sizes
    ends = sizes.inverse_entries()
    reach = (
        np.abs(np.asarray(jacobian, dtype=float)) @ ends[..., None] * sizes.weighed(ends)[..., None]
    )
    size = sizes.mobility() + reach * np.swapaxes(reach, -1, -2)
    if f.truth.convention != USUAL:  # as it was stated, perhaps far from the frame, and turned back
        carried = (
            2 * sizes.jacobian(sizes.lever()) @ np.abs(np.asarray(inverse @ turned, dtype=float))
        )
        size = size + carried + np.swapaxes(carried, -1, -2)
    return f("operational_inertia_inverse")["Lambda_inv"] - jacobian @ inverse @ turned, size


def _acceleration_of_the_frame(f: Functions) -> Distance:
    moving = times(f.jacobian(), f("forward_dynamics")["a"]) + times(
        f.slope_of_the_jacobian(), f.states["v"]
    )
    return f("link_accelerations")["alpha_tip"] - moving, f.truth.sizes.tip_acceleration()


def _acceleration_across_the_joints(f: Functions) -> Distance:
    return f("interbody_forces")["a"] - f("forward_dynamics")[
        "a"
    ], f.truth.sizes.joint_accelerations()


def _force_along_the_joints(f: Functions) -> Distance:
    """Each wrench along its joint's own twists; of a joint that others follow, the sum of theirs. It is tau, less what the drives
    take of it.
    """
    results, reference = f("interbody_forces"), f.truth.reference if f.exact else f.truth.rough
    placed, a, tau = reference.placements(f.states["q"]), results["a"], f.states["tau"]
    found, crossed = [0 * tau[:, 0]] * tau.shape[-1], [np.zeros(len(tau))] * tau.shape[-1]
    crossing = f.truth.sizes.wrenches(f.truth.floats["v"], np.asarray(a, dtype=float))
    for i, placement in enumerate(placed):
        for unit, (k, rate) in zip(
            reference.twists(i, placement.turn[0]), reference.shares[i], strict=True
        ):
            twist = np.concatenate(
                np.broadcast_arrays(*unit), axis=-1
            ) * reference.scalars.constant(rate)
            found[k] = found[k] + (results["F"][:, i] * twist).sum(axis=-1)
            crossed[k] = crossed[k] + abs(float(rate)) * crossing[:, i]
    # a residual as `_inverse_of_forward` is, out of wrenches that may be far larger than what they do along the joints
    sizes = f.truth.sizes
    size = sizes.driven(a) + np.stack(crossed, axis=-1)
    taken_size = sizes.resisting(f.truth.floats["v"], np.asarray(a, dtype=float))
    return np.stack(found, axis=-1) - (tau - taken(f, a)), size + taken_size


def _rotation(f: Functions) -> Distance:
    turn = f("forward_kinematics")["R"]
    return turn @ np.swapaxes(turn, -1, -2) - np.eye(3, dtype=int), np.ones(len(turn))


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
    *OF_THE_WHOLE,
    *OF_STEPS,
    *OF_DERIVATIVES,
    *OF_STEPPING,
    *OF_CORIOLIS,
    *OF_PARAMETERS,
    *OF_TASKS,
    *OF_LOOPS,
    *OF_CONTACTS,
)


def companions(function: str, mechanism: Mechanism) -> tuple[str, ...]:
    """Other functions that make the function's first identity checkable, when it is verified alone."""
    if (wanted := FUNCTIONS[function].derivative) is not None:
        return derivative_identities.companions(wanted, mechanism)
    found = (one.needs for one in IDENTITIES if function in one.needs and one.speaks_of(mechanism))
    return tuple(name for name in next(found, ()) if name != function)


def check_identities(
    programs: Mapping[str, Form],
    compiled: Mapping[str, Runner] | None,
    truth: Truth,
    text: TextOptions = PLAIN,
    lost: Collection[str] = (),
) -> Iterator[Check]:
    """Every identity whose functions are there, over the balls and then, where it makes sense, over the compiled C.

    In the compiled C an identity is not judged when one of its functions is in `lost`.
    """
    over_balls = [_exactly(programs, truth)]
    over_floats = None if compiled is None else Functions(compiled, truth.floats, truth, False)
    for identity in (*IDENTITIES, *derivative_identities.of_derivatives(programs)):
        if (
            any(function not in programs for function in identity.needs)
            or not identity.speaks_of(truth.mechanism)
            or (identity.absent and identity.absent(truth))
        ):
            continue
        damped = identity.damped is not None and identity.damped(truth)
        for attempt in range(SHARPENINGS + 1):
            if attempt == len(over_balls):
                over_balls.append(_exactly(programs, over_balls[-1].truth.sharper))
            found, blurred = _check(
                identity, over_balls[attempt], DAMPED if damped else TOLERANCE, "", 1.0
            )
            if found.passed or not blurred:
                break
        yield found
        if over_floats is not None and not identity.exact_only:
            real = next(iter(programs.values())).real
            units = sum(allowance(programs[function], truth, text) for function in identity.needs)
            found, _ = _check(identity, over_floats, units, " eps", REALS[real].eps)
            open_ = next(
                (
                    f
                    for f in identity.needs
                    if f in lost or loses(allowance(programs[f], truth, text), real)
                ),
                "",
            )
            beyond = loses(units, real) or not np.isfinite(
                found.error
            )  # what is too large for the type has its own check
            yield (
                replace(found, unjudged=f"{open_} loses its digits here", lost=beyond)
                if open_
                else found
            )


def _exactly(programs: Mapping[str, Form], truth: Truth) -> Functions:
    return Functions(
        {f: over(truth.scalars, program) for f, program in programs.items()},
        truth.balls,
        truth,
        True,
    )


def _check(
    identity: Identity, functions: Functions, bound: float, unit: str, scale: float
) -> tuple[Check, bool]:
    """The check, and whether it may have failed only because the balls are too wide: no ball says that there is a difference, or
    the midpoints say that there is none.
    """
    with functions.truth.scalars.working(), np.errstate(all="ignore"):
        found, told = [], False
        for one in [functions] if identity.together else functions.of_each_frame(identity.needs):
            difference, size = identity.distance(one)
            found.append(
                (*worst(difference, size * scale), worst(centres(difference), size * scale)[0])
            )
            told = told or differ(difference)
        error, state, _ = max(found)
        centre = max(centre for _, _, centre in found)
    where = f"largest at state {state}{', compiled' if unit else ''}"
    blurred = not np.isfinite(centre) or centre <= bound < error or not told
    return Check("identities", identity.title, error, bound, unit, where), blurred
