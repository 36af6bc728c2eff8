"""Loops over the links of a long robot, judged in a time that grows with it.

The reference of `symgen.verification.truth` takes the mass matrix apart, which a robot of a thousand joints has no time for. Here
the algebra is judged by inverse dynamics that sum the parts' wrenches (`symgen.reference.long`): what gives forces directly, and
what gives accelerations by the forces that these ask for. The C is compared with the same loops over numbers of many digits; a
sum of terms may be off by as many units of round-off as it has operations one after another, each of the size of the terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from random import Random

import numpy as np

from symgen.backends import printer
from symgen.mechanism import BASE, Mechanism
from symgen.options import TextOptions
from symgen.reals import REALS
from symgen.recursion import Recursion
from symgen.reference.long import inverse_dynamics
from symgen.reference.motion import Motion
from symgen.reference.points import points
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states
from symgen.verification.algebra import TOLERANCE
from symgen.verification.evaluating import Runner, in_decimals
from symgen.verification.report import Check

LONG = 100
"""Joints beyond which loops over links are judged so."""
DIGITS = 100
STATES = 2
PUSHES = 2
"""States of a robot that is longer, at most: each takes some seconds for ten thousand links."""
FORCES = ("inverse_dynamics", "bias_force", "gravity_force")
SOLVES = ("forward_dynamics", "mass_matrix_solve")
WHY = "nothing here gives it of so long a robot but the loops themselves; symgen verify judges it on a shorter one"


class LongTruth:
    """States of a long robot, and the forces that they ask for."""

    def __init__(self, mechanism: Mechanism, count: int, seed: int) -> None:
        self.mechanism, self.count = mechanism, min(count, STATES)
        self.scalars = points(DIGITS)
        drawn = draw_states(mechanism, self.count, seed)
        self.floats = {name: drawn[name].astype(float) for name in ("q", "v", "a", "tau", "b")}
        with self.scalars.working():
            self.states = {name: self.scalars.array(values) for name, values in self.floats.items()}
            self.states["still"] = 0 * self.states["v"]
        self.motion, self.rough = Motion(mechanism, self.scalars), Motion(mechanism, FLOAT)
        self.results: dict[str, Mapping[str, Array]] = {}

    def arguments(self, form: Recursion, source: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Those of a function at the states, (count, …) each."""
        given = self.states if source is None else source
        return {port.name: given[port.name] for port in form.inputs}

    def exact(self, form: Recursion) -> Array:
        """What the loops give over numbers of many digits, of their first result."""
        if form.function not in self.results:
            self.results[form.function] = in_decimals(DIGITS, form)(self.arguments(form))
        return self.results[form.function][form.outputs[0].name]

    def forces(self, v: str, a: Array) -> Array:
        """What the reference says that an acceleration asks for, where the velocities are so named."""
        return inverse_dynamics(self.motion, self.states["q"], self.states[v], a)

    @cached_property
    def at_rest(self) -> Array:
        """Forces that hold it still."""
        return self.forces("still", self.states["still"])

    def terms(self, form: Recursion, a: Array | None) -> Array:
        """The sizes (count, NV) of the terms of a function's forces, or of those that accelerations are an answer to."""
        still = np.zeros_like(self.floats["v"])
        v = still if form.function in ("gravity_force", "mass_matrix_solve") else self.floats["v"]
        given = a if a is not None else self.floats["a"] if form.function == "inverse_dynamics" else still
        return sizes(self.rough, self.floats["q"], v, given)

    def bounds(self, form: Recursion, text: TextOptions, more: int) -> list[float]:
        """How far any entry of the C's answer may be off, at each state: of forces what round-off takes of their terms, of
        accelerations what so much, pushing this way and that way at random, changes them by.
        """
        a = None if form.function in FORCES else self.exact(form).astype(float)
        allowed = self.terms(form, a) * (REALS[form.real].eps * (_allowed(form, text) + more))
        if form.function in FORCES:
            return [float(row.max()) for row in allowed]
        given, name, random = self.arguments(form), form.inputs[-1].name, Random(f"{self.mechanism.nv}")
        found = [0.0] * self.count
        for _ in range(PUSHES):
            with self.scalars.working():
                pushed = given[name] + self.scalars.array(allowed * np.array([random.choice((-1, 1)) for _ in allowed[0]]))
                moved = in_decimals(DIGITS, form)(given | {name: pushed})[form.outputs[0].name] - self.exact(form)
            found = [max(one, float(np.abs(row.astype(float)).max())) for one, row in zip(found, moved, strict=True)]
        return [PUSHES * one for one in found]

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


def check_long_algebra(form: Recursion, truth: LongTruth, label: str) -> Check:
    """The largest error of a component, against the largest of what is to be."""
    if form.function not in FORCES + SOLVES:
        return Check("algebra", label, 0.0, TOLERANCE, unjudged=WHY)
    wanted, found = truth.wanted(form.function, truth.exact(form))
    with truth.scalars.working():
        error = _largest(found - wanted) / max(_largest(wanted), float(np.finfo(float).tiny))
    return Check("algebra", label, error, TOLERANCE, detail=f"{DIGITS} digits, {truth.count} states")


def check_long_floating(form: Recursion, run: Runner, truth: LongTruth, label: str, text: TextOptions) -> Check:
    """The compiled loops in units of round-off of their terms; of what solves, those of the forces that it is an answer to."""
    eps = REALS[form.real].eps
    allowed = _allowed(form, text)
    answer = next(iter(run(truth.arguments(form, truth.floats)).values()))
    if not np.isfinite(answer).all():
        return Check("floating", label, np.inf, allowed, " eps", f"{form.outputs[0].name} is not finite")
    with truth.scalars.working():
        if form.function in FORCES:
            found, wanted, terms = truth.scalars.array(answer.astype(float)), truth.exact(form), truth.terms(form, None)
        elif form.function in SOLVES:
            wanted, found = truth.wanted(form.function, truth.scalars.array(answer.astype(float)))
            terms = truth.terms(form, answer.astype(float))
        else:
            wanted = truth.exact(form)
            error = _largest(truth.scalars.array(answer.astype(float)) - wanted) / (_largest(wanted) * eps)
            return Check("floating", label, error, allowed, " eps", "of the largest", WHY)
        units = np.abs((found - wanted).astype(float)) / (terms * eps)
    return Check("floating", label, float(units.max()), allowed, " eps", f"{truth.count} states")


def _allowed(form: Recursion, text: TextOptions) -> float:
    """Units of round-off: one an operation on the longest way, one for constants, those of a sine."""
    return float(form.depth + 1 + printer().ulps[text.trig])


def sizes(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """Of every force (count, NV) the sum of the norms of its terms, from the base to the tips and back: how fast links may turn,
    what that and gravity accelerate, what it takes to move the parts so, and what they weigh on the joints that carry them.
    """
    count, mechanism = len(q), motion.mechanism
    shape = (len(mechanism.joints), count)
    turns, stirs, rises, arms = (np.zeros(shape) for _ in range(4))
    forces, moments = np.zeros(shape), np.zeros(shape)
    gravity = float(np.linalg.norm(motion.gravity.astype(float)))
    for i, joint in enumerate(mechanism.joints):
        up = joint.parent
        turn, stir, rise = (turns[up], stirs[up], rises[up]) if up != BASE else (0.0, 0.0, gravity)
        (turning, sliding), (turned, slid) = (_rates(motion, i, x) for x in (v, a))
        arms[i] = np.linalg.norm(motion.poses[i][1].astype(float)) + _slides(motion, i, q)
        rises[i] = rise + (stir + turn**2) * arms[i] + slid + 2 * turn * sliding + turning * sliding
        turns[i] = turn + turning
        stirs[i] = stir + turned + turn * turning
    for part in motion.parts():
        i, r = part.body, float(np.linalg.norm(part.centre.astype(float)))
        force = float(part.mass) * (rises[i] + (stirs[i] + turns[i]**2) * r)
        forces[i] += force
        moments[i] += np.linalg.norm(part.inertia.astype(float)) * (stirs[i] + turns[i]**2) + r * force
    for i in reversed(range(len(mechanism.joints))):
        up = mechanism.joints[i].parent
        if up != BASE:
            forces[up] += forces[i]
            moments[up] += moments[i] + arms[i] * forces[i]
    out = np.zeros((count, mechanism.nv))
    for i, (joint, own) in enumerate(zip(mechanism.joints, mechanism.v_slices, strict=True)):
        angular, linear = _twists(motion, i)
        felt = angular[:, None] * moments[i] + linear[:, None] * (forces[i] + (angular > 0)[:, None] * moments[i])
        drive, places = joint.drive, np.abs(q[:, mechanism.q_slices[i]]).max(axis=-1, keepdims=True)
        out[:, own] = felt.T + float(drive.armature) * np.abs(a[:, own]) + float(drive.damping) * np.abs(v[:, own]) + float(
            drive.friction) + float(drive.stiffness) * (float(abs(drive.rest)) + places)
    return out


def _twists(motion: Motion, i: int) -> tuple[Array, Array]:
    """Norms (n,) of the angular and the linear part of what each velocity of a joint gives its link."""
    units = motion.twists(i, np.eye(3))
    return tuple(np.array([np.linalg.norm(unit[part].astype(float)) for unit in units]) for part in (0, 1))  # type: ignore[return-value]


def _rates(motion: Motion, i: int, x: Array) -> tuple[Array, Array]:
    """How fast (count,) a joint turns and slides its link, at most."""
    angular, linear = _twists(motion, i)
    own = np.abs(x[:, motion.mechanism.v_slices[i]])
    return own @ angular, own @ linear


def _slides(motion: Motion, i: int, q: Array) -> Array:
    """How far (count,) it has slid, at most."""
    joint = motion.mechanism.joints[i]
    return np.abs(q[:, motion.mechanism.q_slices[i]]).sum(axis=-1) if joint.type.slides else np.zeros(len(q))


def _largest(values: Array) -> float:
    return float(np.abs(values.astype(float)).max())
