"""Verification of looped functions of a long robot, in linear time.

The reference of `symgen.verification.exact_results` factorizes the mass matrix, which takes too
long for a thousand joints. The algebra is checked by inverse dynamics that sum the parts' wrenches
(`symgen.reference.long`): forces directly, and accelerations by the forces that they need. det M
and related results are checked by inertias about the origin of the base
(`symgen.reference.articulated`).

The C is compared with the same loops over numbers of many digits. A sum of terms may be off by as
many units of round-off as the length of its longest chain of operations, relative to the size of
the terms. All other results may be off by ERROR_FACTOR times the error of the same operations in
NumPy's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.methods import find
from symgen.pipeline import segment_lengths
from symgen.reference.articulated import Articulated
from symgen.reference.long import (
    forward_dynamics_results,
    inverse_dynamics,
    operational_inertia_inverse,
)
from symgen.reference.mechanics import Reference
from symgen.reference.midpoint_numbers import points
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states
from symgen.verification.algebra import TOLERANCE
from symgen.verification.evaluating import Runner, decimal_runner, machine_runner
from symgen.verification.report import Check, precision_loss
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS, loses

LONG = 100
"""Number of joints above which looped functions are checked in this way."""
DIGITS = 100
STATES = 2
"""Maximum number of states of a long robot: each takes some seconds for ten thousand links."""
ERROR_FACTOR = 1000
"""Allowed error of solved results, as a multiple of their error in NumPy's numbers: three digits.
"""
CHECK_METHODS = {
    "forces summed part by part": ("forces", "solution", "link_dynamics"),
    "articulated inertias": ("determinant", "link_dynamics", "frame_inertia"),
    "motions from link to link": ("totals", "frame", "frame_inertia"),
}
"""Methods of the check, in words, with their values of `Function.long_check`."""


class LongExactResults:
    """States of a long robot, and the exact results there."""

    def __init__(
        self, mechanism: Mechanism, count: int, seed: int, frame: str | Sequence[str] | None = None
    ) -> None:
        self.mechanism, self.count = mechanism, min(count, STATES)
        self.scalars = points(DIGITS)
        drawn = draw_states(mechanism, self.count, seed, inertial=False)
        self.floats = {
            name: drawn[name].astype(float) for name in ("q", "v", "a", "tau", "b", "q_next", "dt")
        }
        with self.scalars.working():
            self.states = {
                name: self.scalars.array(drawn[name]) for name in self.floats
            }  # the exact quaternion has length 1, a rounded one has not
            self.states["still"] = 0 * self.states["v"]
        self.frame = frame
        self.results: dict[str, Mapping[str, Array]] = {}

    @cached_property
    def motion(self) -> Reference:
        """Return the reference in numbers of many digits."""
        return Reference(self.mechanism, self.scalars, frame=self.frame)

    @cached_property
    def rough(self) -> Motion:
        """Return the reference's motion in doubles, for sizes."""
        return Motion(self.mechanism, FLOAT, frame=self.frame)

    def arguments(self, form: Form, source: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return the arguments of a function at the states, (count, …) each."""
        values = self.states if source is None else source
        return {port.name: values[port.name] for port in form.inputs}

    def exact(self, form: Form) -> Array:
        """Return the first result of the loops over numbers of many digits."""
        return self.exact_results(form)[form.outputs[0].name]

    def exact_results(self, form: Form) -> Mapping[str, Array]:
        """Return every result of the loops over numbers of many digits."""
        if form.function not in self.results:
            self.results[form.function] = decimal_runner(DIGITS, form)(self.arguments(form))
        return self.results[form.function]

    @cached_property
    def articulated(self) -> Articulated:
        """Return the articulated inertias of the robot at the states."""
        with self.scalars.working():
            return Articulated(self.motion, self.states["q"])

    @cached_property
    def forward_results(self) -> dict[str, Array]:
        """Return the motion that the drawn forces cause."""
        return forward_dynamics_results(
            self.motion, self.articulated, *(self.states[name] for name in ("q", "v", "tau"))
        )

    def reference_results(self, form: Form) -> dict[str, Array]:
        """Return the reference's results of a function that it evaluates directly."""
        check = FUNCTIONS[form.function].long_check
        if check == "link_dynamics":
            return {port.name: self.forward_results[port.name] for port in form.outputs}
        with self.scalars.working():
            if check == "determinant":
                evaluate = {
                    "mass_matrix_determinant": self.articulated.determinant,
                    "mass_matrix_log_determinant": self.articulated.log_determinant,
                    "mass_matrix_log_determinant_gradient": self.articulated.gradient,
                }[form.function]
                return {form.outputs[0].name: evaluate()}
            if check == "frame_inertia":
                return {
                    form.outputs[0].name: operational_inertia_inverse(
                        self.motion, self.articulated, self.states["q"]
                    )
                }
            return self.motion.evaluate(form.function, self.arguments(form))

    @cached_property
    def term_sizes(self) -> dict[str, Array]:
        """Return the sizes (count,) of the terms of results, by name."""
        return total_sizes(self.rough, *(self.floats[name] for name in ("q", "v", "a", "dt")))

    def forces(self, v: str, a: Array) -> Array:
        """Return the forces that the reference computes for an acceleration, at the velocities of
        this name.
        """
        return inverse_dynamics(self.motion, self.states["q"], self.states[v], a)

    @cached_property
    def at_rest(self) -> Array:
        """Return the forces that hold the robot still."""
        return self.forces("still", self.states["still"])

    def terms(self, form: Form, a: Array | None) -> Array:
        """Return the sizes (count, NV) of the terms of a function's forces, or of the forces that
        accelerations `a` need.
        """
        still = np.zeros_like(self.floats["v"])
        depends_on_v = "v" in FUNCTIONS[form.function].own_arguments
        v = self.floats["v"] if depends_on_v else still
        accelerations = (
            a
            if a is not None
            else self.floats["a"]
            if form.function == "inverse_dynamics"
            else still
        )
        return force_sizes(self.rough, self.floats["q"], v, accelerations)

    def bounds(self, form: Form, text: TextOptions, extra_units: int) -> list[list[float]]:
        """Return the error bound of the C's results, at each state: the round-off of their terms.

        Solved results may be off by ERROR_FACTOR times the error of the same operations in NumPy's
        numbers. An a-priori bound of these grows with the chain until it is useless, while their
        errors do not.
        """
        eps = REALS[form.real].eps
        check = FUNCTIONS[form.function].long_check
        if check == "forces":
            return [
                [float(row.max())]
                for row in self.terms(form, None) * (eps * (_allowed(form, text) + extra_units))
            ]
        if check == "totals":
            unit = eps * (_allowed(form, text) + extra_units)
            return [
                [float(unit * self.term_sizes[port.name][state]) for port in form.outputs]
                for state in range(self.count)
            ]
        return [[ERROR_FACTOR * error for error in row] for row in self.numpy_errors(form)]

    def numpy_errors(self, form: Form) -> list[list[float]]:
        """Return the errors of the same operations in NumPy's numbers, for each result at each
        state; at least a unit of round-off.
        """
        eps, results = REALS[form.real].eps, machine_runner(form)(self.arguments(form, self.floats))
        exact = {name: values.astype(float) for name, values in self.exact_results(form).items()}

        def error(name: str, state: int) -> float:
            actual, expected = results[name][state].astype(float), exact[name][state]
            return float(
                np.nan_to_num(
                    np.maximum(np.abs(actual - expected), eps * np.abs(expected)), nan=np.inf
                ).max()
            )

        return [[error(port.name, state) for port in form.outputs] for state in range(self.count)]

    def expected_and_actual(self, function: str, answer: Array) -> tuple[Array, Array]:
        """Return (expected, actual): forces directly, accelerations by forces that they need."""
        with self.scalars.working():
            if function == "inverse_dynamics":
                return self.forces("v", self.states["a"]), answer
            if function == "bias_force":
                return self.forces("v", self.states["still"]), answer
            if function == "gravity_force":
                return self.at_rest, answer
            if function == "forward_dynamics":
                return self.states["tau"], self.forces("v", answer)
            return self.states["b"], self.forces("still", answer) - self.at_rest


def check_long_algebra(form: Form, long_results: LongExactResults, label: str) -> Check:
    """Return the check of the largest error of a component, relative to the largest expected
    component.
    """
    check = FUNCTIONS[form.function].long_check
    if check in ("forces", "solution"):
        expected, actual = long_results.expected_and_actual(form.function, long_results.exact(form))
        pairs = [(actual, expected)]
    else:
        results = long_results.reference_results(form)
        pairs = [(x, results[name]) for name, x in long_results.exact_results(form).items()]
    with long_results.scalars.working():
        # the reference's motion is trusted if inverse dynamics gives the applied forces for it
        if check == "link_dynamics":
            pairs.append(
                (
                    long_results.forward_results["left"] + long_results.states["tau"],
                    long_results.states["tau"],
                )
            )
        error = max(_largest((actual - expected) / _scale(expected)) for actual, expected in pairs)
    return Check(
        "algebra", label, error, TOLERANCE, detail=f"{DIGITS} digits, {long_results.count} states"
    )


def check_long_floating(
    form: Form, run: Runner, long_results: LongExactResults, label: str, text: TextOptions
) -> Check:
    """Return the check of the compiled loops in units of round-off of their terms.

    For functions that solve, the terms are those of the forces that the accelerations need.
    """
    eps = REALS[form.real].eps
    allowed = _allowed(form, text) * (
        segment_lengths.term_ratio(long_results.mechanism, form.real)
        if find(form.method).segments_end_free
        else 1.0
    )
    results_by_name = run(long_results.arguments(form, long_results.floats))
    if loses(allowed, form.real):
        return Check("floating", label, 0.0, allowed, " eps", "", precision_loss(allowed), True)
    if (why := _out_of_range(form, long_results)) is not None:
        return Check("floating", label, 0.0, allowed, " eps", unjudged=why)
    for name, values in results_by_name.items():
        if not np.isfinite(values).all():
            return Check("floating", label, np.inf, allowed, " eps", f"{name} is not finite")
    check = FUNCTIONS[form.function].long_check
    if check == "totals":
        return _check_totals(form, results_by_name, long_results, label, allowed)
    if check not in ("forces", "solution"):
        return _check_against_numpy(form, results_by_name, long_results, label)
    result = next(iter(results_by_name.values()))
    with long_results.scalars.working():
        if check == "forces":
            actual, expected, terms = (
                long_results.scalars.array(result.astype(float)),
                long_results.exact(form),
                long_results.terms(form, None),
            )
        else:
            expected, actual = long_results.expected_and_actual(
                form.function, long_results.scalars.array(result.astype(float))
            )
            terms = long_results.terms(form, result.astype(float))
        units = np.abs((actual - expected).astype(float)) / (terms * eps)
    return Check(
        "floating", label, float(units.max()), allowed, " eps", f"{long_results.count} states"
    )


def _out_of_range(form: Form, long_results: LongExactResults) -> str | None:
    """Return why a determinant cannot be represented in the real type; None if it can."""
    real = np.finfo(REALS[form.real].numpy)
    if form.function != "mass_matrix_determinant" or all(
        real.tiny < abs(float(x)) < real.max for x in long_results.exact(form)
    ):
        return None
    return (
        f"det M of so long a robot is outside the range of {form.real}; use"
        " mass_matrix_log_determinant"
    )


def _check_totals(
    form: Form,
    results: Mapping[str, Array],
    long_results: LongExactResults,
    label: str,
    allowed: float,
) -> Check:
    """Return the check of results without a solve, relative to the largest size of their terms."""
    worst = 0.0
    for name, error in _errors(results, long_results.exact_results(form), long_results).items():
        worst = max(worst, float((error / long_results.term_sizes[name]).max()))
    return Check(
        "floating",
        label,
        worst / REALS[form.real].eps,
        allowed,
        " eps",
        f"{long_results.count} states",
    )


def _check_against_numpy(
    form: Form, results: Mapping[str, Array], long_results: LongExactResults, label: str
) -> Check:
    """Return the check of results against ERROR_FACTOR times the errors of the same operations in
    NumPy's numbers.

    The unit is a round-off of the largest entry of each result. The check holds the result that is
    nearest to its bound.
    """
    errors, eps, worst = (
        _errors(results, long_results.exact_results(form), long_results),
        REALS[form.real].eps,
        (0.0, float(ERROR_FACTOR)),
    )
    for state, errors_of_state in enumerate(long_results.numpy_errors(form)):
        for port, numpy_error in zip(form.outputs, errors_of_state, strict=True):
            unit = eps * (
                _largest(long_results.exact_results(form)[port.name][state]) or 1.0
            )  # a zero result has no largest entry
            error_and_bound = (
                float(errors[port.name][state]) / unit,
                ERROR_FACTOR * max(numpy_error / unit, 1.0),
            )
            worst = max(worst, error_and_bound, key=lambda pair: pair[0] / pair[1])
    return Check("floating", label, *worst, " eps", f"{long_results.count} states")


def _errors(
    results: Mapping[str, Array], exact: Mapping[str, Array], long_results: LongExactResults
) -> dict[str, Array]:
    """Return the largest error (count,) of each result."""
    with long_results.scalars.working():
        return {
            name: np.abs(
                (long_results.scalars.array(result.astype(float)) - exact[name]).astype(float)
            )
            .reshape(long_results.count, -1)
            .max(axis=1)
            for name, result in results.items()
        }


def _allowed(form: Form, text: TextOptions) -> float:
    """Return the bound in units of round-off: the longest chain of operations, one for constants,
    and the ulps of a sine.
    """
    return float(form.depth + 1 + printer().ulps[text.trig])


def _scale(values: Array) -> Any:
    """Return the largest entry, whatever its exponent, or 1 if all are zero."""
    largest = max(np.abs(values).ravel(), key=_ball)
    return largest if _ball(largest) != 0 else largest + 1


def _ball(x: Any) -> Any:
    return x.ball


def _largest(values: Array) -> float:
    return float(np.abs(np.asarray(values).astype(float)).max())


# -- sizes of the terms, from sums of norms along the links --


def force_sizes(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """Return for every force (count, NV) the sum of the norms of its terms, from the base to the
    tips and back.

    The terms are the rotation rates of the links, the accelerations from these and from gravity,
    the wrenches that move the parts, and their moments about the joints.
    """
    mechanism = motion.mechanism
    turns, stirs, rises, arms, *_ = _outward(motion, q, v, a, _length(motion.gravity))
    body, mass, reach, inertia_norm = _part_sizes(motion)
    forces_of_parts = mass * (rises[body] + (stirs[body] + turns[body] ** 2) * reach)
    moments_of_parts = inertia_norm * (stirs[body] + turns[body] ** 2) + reach * forces_of_parts
    forces, moments = np.zeros(arms.shape), np.zeros(arms.shape)
    np.add.at(forces, body, forces_of_parts)
    np.add.at(moments, body, moments_of_parts)
    for i in reversed(range(len(mechanism.joints))):
        up = mechanism.joints[i].parent
        if up != BASE:
            forces[up] += forces[i]
            moments[up] += moments[i] + arms[i] * forces[i]
    angular, linear = (norms[:, None] for norms in _twists(motion))
    joint, drive_numbers = _drives(mechanism)
    armature, damping, friction, stiffness, rest_position = drive_numbers
    joint_forces = angular * moments[joint] + linear * (
        forces[joint] + (angular > 0) * moments[joint]
    )
    sizes = joint_forces.T + armature * np.abs(a) + damping * np.abs(v) + friction
    coordinates = _over_slices(np.abs(q), mechanism.q_slices, lambda entries: entries.max(axis=-1))
    return np.asarray(sizes + stiffness * (rest_position + coordinates[joint].T))


def _part_sizes(motion: Motion) -> tuple[Array, Array, Array, Array]:
    """Return for all parts the body (parts,), and the mass, the distance of the centre and the norm
    of the inertia (parts, 1).
    """
    sizes = [
        (part.body, float(part.mass), _length(part.centre), _length(part.inertia))
        for part in motion.parts()
    ]
    body, *numbers = zip(*sizes, strict=True) if sizes else ((), (), (), ())
    mass, reach, inertia_norm = (np.array(column, dtype=float)[:, None] for column in numbers)
    return np.array(body, dtype=int), mass, reach, inertia_norm


def _drives(mechanism: Mechanism) -> tuple[Array, Array]:
    """Return for every velocity (nv,) its joint, and the numbers of its drive: armature, damping,
    friction, stiffness and the magnitude of the rest coordinate (5, nv).
    """
    rows = []
    for i, n in mechanism.dofs:
        spring = mechanism.joints[i].drive
        drive = spring.at(n)
        rows.append(
            (drive.armature, drive.damping, drive.friction, spring.stiffness, abs(spring.rest))
        )
    numbers = [[float(number) if number else 0.0 for number in row] for row in rows]
    joints = [i for i, _ in mechanism.dofs]
    return np.array(joints, dtype=int), np.array(numbers, dtype=float).reshape(-1, 5).T


def _over_slices(values: Array, slices: Sequence[slice], reduce: Callable[[Array], Array]) -> Array:
    """Return (joints, count) the result of `reduce` for the entries of each joint, (count, n) each;
    a single entry is its own result.
    """
    reduced = np.empty((len(slices), len(values)))
    single = [i for i, entries in enumerate(slices) if entries.stop - entries.start == 1]
    reduced[single] = values.T[[slices[i].start for i in single]]
    for i, entries in enumerate(slices):
        if entries.stop - entries.start != 1:
            reduced[i] = reduce(values[:, entries])
    return reduced


def _twists(motion: Motion) -> tuple[Array, Array]:
    """Return the norms (nv,) of the angular and linear part of the unit twist of each velocity."""
    norms: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    """Norms by the joint's kind, parameters and axes, which determine its twists."""
    rows = []
    for i, n in motion.mechanism.dofs:
        joint = motion.mechanism.joints[i]
        key = joint.kind, joint.parameters, motion.axes[i].tobytes()
        if key not in norms:
            units = motion.twists(i, np.eye(3))
            norms[key] = [(_length(angular), _length(linear)) for angular, linear in units]
        rows.append(norms[key][n])
    angular, linear = np.array(rows, dtype=float).reshape(-1, 2).T
    return angular, linear


def _rates(motion: Motion, norms: Array, x: Array) -> Array:
    """Return the largest rate (joints, count) that each joint gives its link, where its velocities
    `x` have unit twists of these `norms`.
    """
    slices, entries = motion.mechanism.v_slices, np.abs(x)
    rates = _over_slices(entries * norms, slices, lambda terms: terms[:, 0])
    for i, of_joint in enumerate(slices):
        if of_joint.stop - of_joint.start != 1:
            rates[i] = entries[:, of_joint] @ norms[of_joint]
    return rates


def _slides(motion: Motion, q: Array) -> Array:
    """Return the largest translation (joints, count) of each joint."""
    mechanism = motion.mechanism
    sums = _over_slices(np.abs(q), mechanism.q_slices, lambda entries: entries.sum(axis=-1))
    slides = np.array([joint.type.slides for joint in mechanism.joints])
    return np.where(slides[:, None], sums, 0.0)


def total_sizes(motion: Motion, q: Array, v: Array, a: Array, dt: Array) -> dict[str, Array]:
    """Return the sums of the norms of the terms (count,) of results that need no solve, by name."""
    turns, stirs, rises, _, speeds, spans = _outward(motion, q, v, a, 0.0)
    gravity, count = _length(motion.gravity), len(q)
    T, U, total, mass, linear, angular, force, moment = (np.zeros(count) for _ in range(8))
    for part in motion.parts():
        i, r, m, inertia_norm = (
            part.body,
            _length(part.centre),
            float(part.mass),
            _length(part.inertia),
        )
        speed, rise, reach = (
            speeds[i] + turns[i] * r,
            rises[i] + (stirs[i] + turns[i] ** 2) * r,
            spans[i] + r,
        )
        T += m * speed**2 / 2 + inertia_norm * turns[i] ** 2 / 2
        U += m * gravity * reach
        total, mass = total + m * reach, mass + m
        linear += m * speed
        angular += 2 * m * speed * reach + inertia_norm * turns[i]
        force += m * (rise + gravity)
        moment += 2 * m * (rise + gravity) * reach + inertia_norm * (stirs[i] + turns[i] ** 2)
    for joint, v_slice in zip(motion.mechanism.joints, motion.mechanism.v_slices, strict=True):
        T += float(joint.drive.armature) * (v[:, v_slice] ** 2).sum(axis=-1) / 2
    reach_of_frame = spans.max(axis=0) + (
        _length(motion.pose(motion.frame.pose)[1]) if motion.frame is not None else 0.0
    )
    travel = 1 + np.abs(q).max(axis=-1) + np.abs(v).max(axis=-1) * np.abs(dt)
    return {
        "R_links": 1 + 0 * T,
        "R": 1 + 0 * T,
        "p_links": reach_of_frame,
        "p": reach_of_frame,
        "T": T,
        "U": U,
        "com": total / np.maximum(mass, np.finfo(float).tiny),
        "h": linear + angular,
        "hdot": force + moment,
        "q_next": travel,
        "delta": 8 + np.abs(q).max(axis=-1),
    }


def _outward(motion: Motion, q: Array, v: Array, a: Array, rising: float) -> tuple[Array, ...]:
    """Return upper bounds for every link (links, count), from the base outward.

    They are: rotation rate, its rate of change, acceleration of the origin (with the base
    accelerating by `rising`), distance from the parent's origin, speed, and distance from the base.
    """
    joints = motion.mechanism.joints
    shape = len(joints), len(q)
    lengths = np.array([_length(shift) for _, shift in motion.poses])
    arms = lengths[:, None] + _slides(motion, q)
    norms = _twists(motion)
    rates = [_rates(motion, norms_of_part, x) for x in (v, a) for norms_of_part in norms]
    bounds = np.empty((5, *shape))
    for state in range(len(q)):
        numbers = zip(*(array[:, state].tolist() for array in (arms, *rates)), strict=True)
        # Bounds of the base come last, where the index of its links' parents finds them.
        rows = [(0.0, 0.0, 0.0, 0.0, 0.0)] * len(joints) + [(0.0, 0.0, rising, 0.0, 0.0)]
        for i, (arm, turning, sliding, angular, linear) in enumerate(numbers):
            turn, stir, rise, speed, span = rows[joints[i].parent]
            rows[i] = (
                turn + turning,
                stir + angular + turn * turning,
                rise + (stir + turn * turn) * arm + linear + 2 * turn * sliding + turning * sliding,
                speed + turn * arm + sliding,
                span + arm,
            )
        bounds[:, :, state] = np.array(rows[:-1]).T
    turns, stirs, rises, speeds, spans = bounds
    return turns, stirs, rises, arms, speeds, spans


def _length(values: Array) -> float:
    flat = values.astype(float).ravel(order="K")
    return math.sqrt(flat.dot(flat))  # as np.linalg.norm, in half of its time
