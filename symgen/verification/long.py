"""Loops over the links of a long robot, judged in a time that grows with it.

The reference of `symgen.verification.truth` takes the mass matrix apart, which a robot of a thousand joints has no time for. Here
the algebra is judged by inverse dynamics that sum the parts' wrenches (`symgen.reference.long`): what gives forces directly, and
what gives accelerations by the forces that these ask for; det M and what else comes of it by inertias about the origin of the
base (`symgen.reference.articulated`). The C is compared with the same loops over numbers of many digits; a sum of terms may be
off by as many units of round-off as it has operations one after another, each of the size of the terms, and what is no such sum
by SEEN times as much as the same operations are off by in NumPy's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from symgen.verification.evaluating import Runner, in_decimals, in_machine_reals
from symgen.verification.report import Check, lost_digits
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS, loses

LONG = 100
"""Joints beyond which loops over links are judged so."""
DIGITS = 100
STATES = 2
"""States of a robot that is longer, at most: each takes some seconds for ten thousand links."""
SEEN = 1000
"""Times that the error of what is solved for may be what it is in NumPy's numbers: three digits."""
ROADS = {
    "forces that are summed part by part": ("forces", "solution", "link_dynamics"),
    "inertias through joints that give way": ("determinant", "link_dynamics", "frame_inertia"),
    "motions that are carried from link to link": ("totals", "frame", "frame_inertia"),
}
"""What judges them, in words: by `Function.long_check`."""


class LongTruth:
    """States of a long robot, and the forces that they ask for."""

    def __init__(
        self, mechanism: Mechanism, count: int, seed: int, frame: str | Sequence[str] | None = None
    ) -> None:
        self.mechanism, self.count = mechanism, min(count, STATES)
        self.scalars = points(DIGITS)
        drawn = draw_states(mechanism, self.count, seed)
        self.floats = {
            name: drawn[name].astype(float) for name in ("q", "v", "a", "tau", "b", "q_next", "dt")
        }
        with self.scalars.working():
            self.states = {
                name: self.scalars.array(drawn[name]) for name in self.floats
            }  # a quaternion exactly of length 1
            self.states["still"] = 0 * self.states["v"]
        self.frame = frame
        self.results: dict[str, Mapping[str, Array]] = {}

    @cached_property
    def motion(self) -> Reference:
        """The reference in numbers of many digits."""
        return Reference(self.mechanism, self.scalars, frame=self.frame)

    @cached_property
    def rough(self) -> Motion:
        """The reference's motion in doubles, for sizes."""
        return Motion(self.mechanism, FLOAT, frame=self.frame)

    def arguments(self, form: Form, source: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Those of a function at the states, (count, …) each."""
        given = self.states if source is None else source
        return {port.name: given[port.name] for port in form.inputs}

    def exact(self, form: Form) -> Array:
        """What the loops give over numbers of many digits, of their first result."""
        return self.all_of(form)[form.outputs[0].name]

    def all_of(self, form: Form) -> Mapping[str, Array]:
        """Likewise of each."""
        if form.function not in self.results:
            self.results[form.function] = in_decimals(DIGITS, form)(self.arguments(form))
        return self.results[form.function]

    @cached_property
    def articulated(self) -> Articulated:
        """Of the robot at the states."""
        with self.scalars.working():
            return Articulated(self.motion, self.states["q"])

    @cached_property
    def caused(self) -> dict[str, Array]:
        """What the states' forces cause."""
        return forward_dynamics_results(
            self.motion, self.articulated, *(self.states[name] for name in ("q", "v", "tau"))
        )

    def told(self, form: Form) -> dict[str, Array]:
        """What the reference gives of a function whose results it has."""
        check = FUNCTIONS[form.function].long_check
        if check == "link_dynamics":
            return {port.name: self.caused[port.name] for port in form.outputs}
        with self.scalars.working():
            if check == "determinant":
                answer = {
                    "mass_matrix_determinant": self.articulated.determinant,
                    "mass_matrix_log_determinant": self.articulated.log_determinant,
                    "mass_matrix_log_determinant_gradient": self.articulated.gradient,
                }[form.function]
                return {form.outputs[0].name: answer()}
            if check == "frame_inertia":
                return {
                    form.outputs[0].name: operational_inertia_inverse(
                        self.motion, self.articulated, self.states["q"]
                    )
                }
            return self.motion.evaluate(form.function, self.arguments(form))

    @cached_property
    def wholes(self) -> dict[str, Array]:
        """The sizes (count,) of the terms of their results, by name."""
        return total_sizes(self.rough, *(self.floats[name] for name in ("q", "v", "a", "dt")))

    def forces(self, v: str, a: Array) -> Array:
        """What the reference says that an acceleration asks for, where the velocities are so named."""
        return inverse_dynamics(self.motion, self.states["q"], self.states[v], a)

    @cached_property
    def at_rest(self) -> Array:
        """Forces that hold it still."""
        return self.forces("still", self.states["still"])

    def terms(self, form: Form, a: Array | None) -> Array:
        """The sizes (count, NV) of the terms of a function's forces, or of those that accelerations are an answer to."""
        still = np.zeros_like(self.floats["v"])
        moves = "v" in FUNCTIONS[form.function].own_arguments
        v = self.floats["v"] if moves else still
        given = (
            a
            if a is not None
            else self.floats["a"]
            if form.function == "inverse_dynamics"
            else still
        )
        return force_sizes(self.rough, self.floats["q"], v, given)

    def bounds(self, form: Form, text: TextOptions, more: int) -> list[list[float]]:
        """How far any entry of each of the C's results may be off, at each state: what round-off takes of their terms; of what is
        solved for SEEN times as far as the same operations are off there in NumPy's numbers. What bounds these grows with the
        chain, and soon says nothing, while their errors do not.
        """
        eps = REALS[form.real].eps
        check = FUNCTIONS[form.function].long_check
        if check == "forces":
            return [
                [float(row.max())]
                for row in self.terms(form, None) * (eps * (_allowed(form, text) + more))
            ]
        if check == "totals":
            of = eps * (_allowed(form, text) + more)
            return [
                [float(of * self.wholes[port.name][state]) for port in form.outputs]
                for state in range(self.count)
            ]
        return [[SEEN * one for one in row] for row in self.rounded(form)]

    def rounded(self, form: Form) -> list[list[float]]:
        """How far the same operations are off in NumPy's numbers, of each result at each state; at least a unit of round-off."""
        eps, found = REALS[form.real].eps, in_machine_reals(form)(self.arguments(form, self.floats))
        exact = {name: values.astype(float) for name, values in self.all_of(form).items()}

        def off(name: str, state: int) -> float:
            one, wanted = found[name][state].astype(float), exact[name][state]
            return float(
                np.nan_to_num(
                    np.maximum(np.abs(one - wanted), eps * np.abs(wanted)), nan=np.inf
                ).max()
            )

        return [[off(port.name, state) for port in form.outputs] for state in range(self.count)]

    def wanted(self, function: str, answer: Array) -> tuple[Array, Array]:
        """(what is to be, what is): of forces these, of accelerations the forces that they are an answer to."""
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


def check_long_algebra(form: Form, truth: LongTruth, label: str) -> Check:
    """The largest error of a component, against the largest of what is to be."""
    check = FUNCTIONS[form.function].long_check
    if check in ("forces", "solution"):
        wanted, found = truth.wanted(form.function, truth.exact(form))
        pairs = [(found, wanted)]
    else:
        told = truth.told(form)
        pairs = [(x, told[name]) for name, x in truth.all_of(form).items()]
    with truth.scalars.working():
        # the reference's motion is trusted if inverse dynamics gives the applied forces for it
        if check == "link_dynamics":
            pairs.append((truth.caused["left"] + truth.states["tau"], truth.states["tau"]))
        error = max(_largest((found - wanted) / _scale(wanted)) for found, wanted in pairs)
    return Check(
        "algebra", label, error, TOLERANCE, detail=f"{DIGITS} digits, {truth.count} states"
    )


def check_long_floating(
    form: Form, run: Runner, truth: LongTruth, label: str, text: TextOptions
) -> Check:
    """The compiled loops in units of round-off of their terms; of what solves, those of the forces that it is an answer to."""
    eps = REALS[form.real].eps
    allowed = _allowed(form, text) * (
        segment_lengths.larger(truth.mechanism, form.real)
        if find(form.method).segments_end_free
        else 1.0
    )
    answers = run(truth.arguments(form, truth.floats))
    if loses(allowed, form.real):
        return Check("floating", label, 0.0, allowed, " eps", "", lost_digits(allowed), True)
    if (why := _out_of_range(form, truth)) is not None:
        return Check("floating", label, 0.0, allowed, " eps", unjudged=why)
    for name, values in answers.items():
        if not np.isfinite(values).all():
            return Check("floating", label, np.inf, allowed, " eps", f"{name} is not finite")
    check = FUNCTIONS[form.function].long_check
    if check == "totals":
        return _floating_wholes(form, answers, truth, label, allowed)
    if check not in ("forces", "solution"):
        return _floating_as_numpy(form, answers, truth, label)
    answer = next(iter(answers.values()))
    with truth.scalars.working():
        if check == "forces":
            found, wanted, terms = (
                truth.scalars.array(answer.astype(float)),
                truth.exact(form),
                truth.terms(form, None),
            )
        else:
            wanted, found = truth.wanted(form.function, truth.scalars.array(answer.astype(float)))
            terms = truth.terms(form, answer.astype(float))
        units = np.abs((found - wanted).astype(float)) / (terms * eps)
    return Check("floating", label, float(units.max()), allowed, " eps", f"{truth.count} states")


def _out_of_range(form: Form, truth: LongTruth) -> str | None:
    """Why a determinant is no number of the type."""
    real = np.finfo(REALS[form.real].numpy)
    if form.function != "mass_matrix_determinant" or all(
        real.tiny < abs(float(x)) < real.max for x in truth.exact(form)
    ):
        return None
    return f"det M of so long a robot is no {form.real}; take mass_matrix_log_determinant"


def _floating_wholes(
    form: Form, answers: Mapping[str, Array], truth: LongTruth, label: str, allowed: float
) -> Check:
    """Of results of links, of a frame or of all, against the largest that their terms may be."""
    worst = 0.0
    for name, error in _errors(answers, truth.all_of(form), truth).items():
        worst = max(worst, float((error / truth.wholes[name]).max()))
    return Check(
        "floating", label, worst / REALS[form.real].eps, allowed, " eps", f"{truth.count} states"
    )


def _floating_as_numpy(
    form: Form, answers: Mapping[str, Array], truth: LongTruth, label: str
) -> Check:
    """Units of round-off of the largest entry of each result, against SEEN times those of the same operations in NumPy's numbers;
    of the result that is nearest to that.
    """
    errors, eps, worst = (
        _errors(answers, truth.all_of(form), truth),
        REALS[form.real].eps,
        (0.0, float(SEEN)),
    )
    for state, own in enumerate(truth.rounded(form)):
        for port, rounded in zip(form.outputs, own, strict=True):
            unit = eps * (
                _largest(truth.all_of(form)[port.name][state]) or 1.0
            )  # what is zero has no largest entry
            one = float(errors[port.name][state]) / unit, SEEN * max(rounded / unit, 1.0)
            worst = max(worst, one, key=lambda pair: pair[0] / pair[1])
    return Check("floating", label, *worst, " eps", f"{truth.count} states")


def _errors(
    answers: Mapping[str, Array], exact: Mapping[str, Array], truth: LongTruth
) -> dict[str, Array]:
    """Of each result the largest error (count,)."""
    with truth.scalars.working():
        return {
            name: np.abs((truth.scalars.array(answer.astype(float)) - exact[name]).astype(float))
            .reshape(truth.count, -1)
            .max(axis=1)
            for name, answer in answers.items()
        }


def _allowed(form: Form, text: TextOptions) -> float:
    """Units of round-off: one an operation on the longest way, one for constants, those of a sine."""
    return float(form.depth + 1 + printer().ulps[text.trig])


def _scale(values: Array) -> Any:
    """The largest entry, whatever its exponent, or 1 where all are zero."""
    found = max(np.abs(values).ravel(), key=_ball)
    return found if _ball(found) != 0 else found + 1


def _ball(x: Any) -> Any:
    return x.ball


def _largest(values: Array) -> float:
    return float(np.abs(np.asarray(values).astype(float)).max())


# -- sizes of the terms, from sums of norms along the links --


def force_sizes(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """Of every force (count, NV) the sum of the norms of its terms, from the base to the tips and back: how fast links may turn,
    what that and gravity accelerate, what it takes to move the parts so, and what they weigh on the joints that carry them.
    """
    count, mechanism = len(q), motion.mechanism
    shape = (len(mechanism.joints), count)
    turns, stirs, rises, arms, *_ = _outward(motion, q, v, a, _length(motion.gravity))
    forces, moments = np.zeros(shape), np.zeros(shape)
    for part in motion.parts():
        i, r = part.body, float(np.linalg.norm(part.centre.astype(float)))
        force = float(part.mass) * (rises[i] + (stirs[i] + turns[i] ** 2) * r)
        forces[i] += force
        moments[i] += (
            np.linalg.norm(part.inertia.astype(float)) * (stirs[i] + turns[i] ** 2) + r * force
        )
    for i in reversed(range(len(mechanism.joints))):
        up = mechanism.joints[i].parent
        if up != BASE:
            forces[up] += forces[i]
            moments[up] += moments[i] + arms[i] * forces[i]
    out = np.zeros((count, mechanism.nv))
    for i, (joint, own) in enumerate(zip(mechanism.joints, mechanism.v_slices, strict=True)):
        angular, linear = _twists(motion, i)
        felt = angular[:, None] * moments[i] + linear[:, None] * (
            forces[i] + (angular > 0)[:, None] * moments[i]
        )
        drive, places = joint.drive, np.abs(q[:, mechanism.q_slices[i]]).max(axis=-1, keepdims=True)
        armature, damping, friction = (
            np.array([float(getattr(drive.at(n), kind)) for n in range(own.stop - own.start)])
            for kind in ("armature", "damping", "friction")
        )
        out[:, own] = felt.T + armature * np.abs(a[:, own]) + damping * np.abs(v[:, own]) + friction
        out[:, own] += float(drive.stiffness) * (float(abs(drive.rest)) + places)
    return out


def _twists(motion: Motion, i: int) -> tuple[Array, Array]:
    """Norms (n,) of the angular and the linear part of what each velocity of a joint gives its link."""
    units = motion.twists(i, np.eye(3))
    return tuple(
        np.array([np.linalg.norm(unit[part].astype(float)) for unit in units]) for part in (0, 1)
    )  # type: ignore[return-value]


def _rates(motion: Motion, i: int, x: Array) -> tuple[Array, Array]:
    """How fast (count,) a joint turns and slides its link, at most."""
    angular, linear = _twists(motion, i)
    own = np.abs(x[:, motion.mechanism.v_slices[i]])
    return own @ angular, own @ linear


def _slides(motion: Motion, i: int, q: Array) -> Array:
    """How far (count,) it has slid, at most."""
    joint = motion.mechanism.joints[i]
    return (
        np.abs(q[:, motion.mechanism.q_slices[i]]).sum(axis=-1)
        if joint.type.slides
        else np.zeros(len(q))
    )


def total_sizes(motion: Motion, q: Array, v: Array, a: Array, dt: Array) -> dict[str, Array]:
    """Of results (count,) of functions that take no mass matrix apart, by their names, the sums of the norms of their terms."""
    turns, stirs, rises, _, speeds, spans = _outward(motion, q, v, a, 0.0)
    gravity, count = _length(motion.gravity), len(q)
    T, U, total, mass, linear, angular, push, moment = (np.zeros(count) for _ in range(8))
    for part in motion.parts():
        i, r, m, own = part.body, _length(part.centre), float(part.mass), _length(part.inertia)
        speed, rise, reach = (
            speeds[i] + turns[i] * r,
            rises[i] + (stirs[i] + turns[i] ** 2) * r,
            spans[i] + r,
        )
        T += m * speed**2 / 2 + own * turns[i] ** 2 / 2
        U += m * gravity * reach
        total, mass = total + m * reach, mass + m
        linear += m * speed
        angular += 2 * m * speed * reach + own * turns[i]
        push += m * (rise + gravity)
        moment += 2 * m * (rise + gravity) * reach + own * (stirs[i] + turns[i] ** 2)
    for joint, places in zip(motion.mechanism.joints, motion.mechanism.v_slices, strict=True):
        T += float(joint.drive.armature) * (v[:, places] ** 2).sum(axis=-1) / 2
    far = spans.max(axis=0) + (
        _length(motion.pose(motion.frame.pose)[1]) if motion.frame is not None else 0.0
    )
    gone = 1 + np.abs(q).max(axis=-1) + np.abs(v).max(axis=-1) * np.abs(dt)
    return {
        "R_links": 1 + 0 * T,
        "R": 1 + 0 * T,
        "p_links": far,
        "p": far,
        "T": T,
        "U": U,
        "com": total / np.maximum(mass, np.finfo(float).tiny),
        "h": linear + angular,
        "hdot": push + moment,
        "q_next": gone,
        "delta": 8 + np.abs(q).max(axis=-1),
    }


def _outward(motion: Motion, q: Array, v: Array, a: Array, rising: float) -> list[Array]:
    """Of every link (links, count), at most: how fast it turns, how fast that changes, what its origin accelerates by where the
    base rises so, how far that is from its parent's, how fast it moves, and how far it is from the base's.
    """
    shape = (len(motion.mechanism.joints), len(q))
    turns, stirs, rises, arms, speeds, spans = found = [np.zeros(shape) for _ in range(6)]
    for i, joint in enumerate(motion.mechanism.joints):
        up = joint.parent
        turn, stir, rise, speed, span = (
            (one[up] for one in (turns, stirs, rises, speeds, spans))
            if up != BASE
            else (0.0, 0.0, rising, 0.0, 0.0)
        )
        (turning, sliding), (turned, slid) = (_rates(motion, i, x) for x in (v, a))
        arms[i] = _length(motion.poses[i][1]) + _slides(motion, i, q)
        rises[i] = rise + (stir + turn**2) * arms[i] + slid + 2 * turn * sliding + turning * sliding
        turns[i] = turn + turning
        stirs[i] = stir + turned + turn * turning
        speeds[i] = speed + turn * arms[i] + sliding
        spans[i] = span + arms[i]
    return found


def _length(values: Array) -> float:
    return float(np.linalg.norm(values.astype(float)))
