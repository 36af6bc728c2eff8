"""Loops over the links of a long robot, judged in a time that grows with it.

The reference of `symgen.verification.truth` takes the mass matrix apart, which a robot of a thousand joints has no time for. Here
the algebra is judged by inverse dynamics that sum the parts' wrenches (`symgen.reference.long`): what gives forces directly, and
what gives accelerations by the forces that these ask for. The C is compared with the same loops over numbers of many digits; a
sum of terms may be off by as many units of round-off as it has operations one after another, each of the size of the terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from symgen.backends import printer
from symgen.mechanism import Mechanism
from symgen.options import TextOptions
from symgen.reals import REALS
from symgen.recursion import Looped
from symgen.reference.long import inverse_dynamics
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.points import points
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states
from symgen.verification.algebra import TOLERANCE
from symgen.verification.evaluating import Runner, in_decimals, in_machine_reals
from symgen.verification.long_sizes import sizes, wholes
from symgen.verification.report import Check

LONG = 100
"""Joints beyond which loops over links are judged so."""
DIGITS = 100
STATES = 2
"""States of a robot that is longer, at most: each takes some seconds for ten thousand links."""
SEEN = 1000
"""Times that the error of accelerations may be what it is in NumPy's numbers: three digits."""
FORCES = ("inverse_dynamics", "bias_force", "gravity_force")
SOLVES = ("forward_dynamics", "mass_matrix_solve")
WHOLES = ("forward_kinematics", "link_poses", "center_of_mass", "kinetic_energy", "potential_energy", "centroidal_momentum",
          "centroidal_momentum_rate", "integrate", "difference")
WHY = "nothing here gives it of so long a robot but the loops themselves; symgen verify judges it on a shorter one"


class LongTruth:
    """States of a long robot, and the forces that they ask for."""

    def __init__(self, mechanism: Mechanism, count: int, seed: int, frame: str | Sequence[str] | None = None) -> None:
        self.mechanism, self.count = mechanism, min(count, STATES)
        self.scalars = points(DIGITS)
        drawn = draw_states(mechanism, self.count, seed)
        self.floats = {name: drawn[name].astype(float) for name in ("q", "v", "a", "tau", "b", "q_next", "dt")}
        with self.scalars.working():
            self.states = {name: self.scalars.array(drawn[name]) for name in self.floats}   # a quaternion exactly of length 1
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

    def arguments(self, form: Looped, source: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Those of a function at the states, (count, …) each."""
        given = self.states if source is None else source
        return {port.name: given[port.name] for port in form.inputs}

    def exact(self, form: Looped) -> Array:
        """What the loops give over numbers of many digits, of their first result."""
        return self.all_of(form)[form.outputs[0].name]

    def all_of(self, form: Looped) -> Mapping[str, Array]:
        """Likewise of each."""
        if form.function not in self.results:
            self.results[form.function] = in_decimals(DIGITS, form)(self.arguments(form))
        return self.results[form.function]

    def told(self, form: Looped) -> dict[str, Array]:
        """What the reference gives of one of WHOLES."""
        with self.scalars.working():
            return self.motion.evaluate(form.function, self.arguments(form))

    @cached_property
    def wholes(self) -> dict[str, Array]:
        """The sizes (count,) of the terms of their results, by name."""
        return wholes(self.rough, *(self.floats[name] for name in ("q", "v", "a", "dt")))

    def forces(self, v: str, a: Array) -> Array:
        """What the reference says that an acceleration asks for, where the velocities are so named."""
        return inverse_dynamics(self.motion, self.states["q"], self.states[v], a)

    @cached_property
    def at_rest(self) -> Array:
        """Forces that hold it still."""
        return self.forces("still", self.states["still"])

    def terms(self, form: Looped, a: Array | None) -> Array:
        """The sizes (count, NV) of the terms of a function's forces, or of those that accelerations are an answer to."""
        still = np.zeros_like(self.floats["v"])
        v = still if form.function in ("gravity_force", "mass_matrix_solve") else self.floats["v"]
        given = a if a is not None else self.floats["a"] if form.function == "inverse_dynamics" else still
        return sizes(self.rough, self.floats["q"], v, given)

    def bounds(self, form: Looped, text: TextOptions, more: int) -> list[float]:
        """How far any entry of the C's answer may be off, at each state: of forces what round-off takes of their terms; of
        accelerations SEEN times as far as the same operations are off there in NumPy's numbers. What bounds these grows with the
        chain, and soon says nothing, while their errors do not.
        """
        eps = REALS[form.real].eps
        if form.function in FORCES:
            return [float(row.max()) for row in self.terms(form, None) * (eps * (_allowed(form, text) + more))]
        exact = self.exact(form).astype(float)
        found = in_machine_reals(form)(self.arguments(form, self.floats))[form.outputs[0].name].astype(float)
        return [SEEN * float(np.nan_to_num(np.maximum(np.abs(one - wanted), eps * np.abs(wanted)), nan=np.inf).max())
                for one, wanted in zip(found, exact, strict=True)]

    def bounds_of_wholes(self, form: Looped, text: TextOptions, more: int) -> list[list[float]]:
        """Likewise of each result of one of WHOLES, at each state."""
        eps = REALS[form.real].eps * (_allowed(form, text) + more)
        return [[float(eps * self.wholes[port.name][state]) for port in form.outputs] for state in range(self.count)]

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


def check_long_algebra(form: Looped, truth: LongTruth, label: str) -> Check:
    """The largest error of a component, against the largest of what is to be."""
    if form.function in WHOLES:
        told = truth.told(form)
        with truth.scalars.working():
            error = max(_largest(x - told[name]) / max(_largest(told[name]), float(np.finfo(float).tiny))
                        for name, x in truth.all_of(form).items())
        return Check("algebra", label, error, TOLERANCE, detail=f"{DIGITS} digits, {truth.count} states")
    if form.function not in FORCES + SOLVES:
        return Check("algebra", label, 0.0, TOLERANCE, unjudged=WHY)
    wanted, found = truth.wanted(form.function, truth.exact(form))
    with truth.scalars.working():
        error = _largest(found - wanted) / max(_largest(wanted), float(np.finfo(float).tiny))
    return Check("algebra", label, error, TOLERANCE, detail=f"{DIGITS} digits, {truth.count} states")


def check_long_floating(form: Looped, run: Runner, truth: LongTruth, label: str, text: TextOptions) -> Check:
    """The compiled loops in units of round-off of their terms; of what solves, those of the forces that it is an answer to."""
    eps = REALS[form.real].eps
    allowed = _allowed(form, text)
    answers = run(truth.arguments(form, truth.floats))
    if form.function in WHOLES:
        return _floating_wholes(form, answers, truth, label, allowed)
    answer = next(iter(answers.values()))
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


def _floating_wholes(form: Looped, answers: Mapping[str, Array], truth: LongTruth, label: str, allowed: float) -> Check:
    """Of results of links, of a frame or of all, against the largest that their terms may be."""
    worst = 0.0
    for name, answer in answers.items():
        with truth.scalars.working():
            error = np.abs((truth.scalars.array(answer.astype(float)) - truth.all_of(form)[name]).astype(float))
        if not np.isfinite(error).all():
            return Check("floating", label, np.inf, allowed, " eps", f"{name} is not finite")
        worst = max(worst, float((error.reshape(truth.count, -1).max(axis=1) / truth.wholes[name]).max()))
    return Check("floating", label, worst / REALS[form.real].eps, allowed, " eps", f"{truth.count} states")


def _allowed(form: Looped, text: TextOptions) -> float:
    """Units of round-off: one an operation on the longest way, one for constants, those of a sine."""
    return float(form.depth + 1 + printer().ulps[text.trig])


def _largest(values: Array) -> float:
    return float(np.abs(values.astype(float)).max())
