"""Relations: two problems, and how the results of one follow from the results of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, Protocol

import flint
import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import build_program
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, Scalars
from symgen.verification.evaluating import Results, scalar_runner
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Pose, Shift, Slide, Step, Turn, Vector3, compose
from tests.metamorphic._tangents import Tangents

States = Mapping[str, Array]
"""Arguments by name, one state each: q (1, NQ), v (1, NV) …"""
Pairs = Mapping[str, tuple[Array, Array]]
"""For each comparable result, its value by the relation and its computed value."""


@dataclass(frozen=True)
class Links:
    """The chosen frames, the link with a run-time payload and the links with wrenches."""

    frame: str | tuple[str, ...]
    payload: str | None = None
    wrench: str | tuple[str, ...] | None = None

    @property
    def options(self) -> ProgramOptions:
        return ProgramOptions(frame=self.frame, payload=self.payload, wrench=self.wrench)


@dataclass(frozen=True)
class Setting:
    """A problem: mechanism, chosen links, one state in Fractions, a source of random choices."""

    mechanism: Mechanism
    links: Links
    exact: States
    random: Random

    def fraction(self, low: float, high: float) -> Fraction:
        return Fraction(self.random.randint(round(low * 1000), round(high * 1000)), 1000)

    def vector(self, size: float) -> Vector3:
        components = (
            self.fraction(-size, size),
            self.fraction(-size, size),
            self.fraction(-size, size),
        )
        return components if any(components) else (Fraction(1), Fraction(2), Fraction(3))


class Asked(Protocol):
    """One side of a relation: the functions of one mechanism."""

    scalars: Scalars

    def __call__(self, function: str, states: States) -> Results: ...


class OfReference:
    """Results of the reference."""

    name = "reference"

    def __init__(self, mechanism: Mechanism, links: Links, scalars: Scalars) -> None:
        self.scalars, self.links = scalars, links
        self.reference = Reference(
            mechanism, scalars, frame=links.frame, payload=links.payload, wrench=links.wrench
        )

    def __call__(self, function: str, states: States) -> Results:
        declaration, relevant_links = FUNCTIONS[function], self.links.options.at_run_time
        names = [a.name for a in declaration.arguments] + [
            a.name for a in declaration.depends_on if a.name in relevant_links
        ]
        return self.reference.evaluate(
            function, {name: states_by_argument(function, states)[name] for name in names}
        )


class OfPrograms:
    """Results of Programs, by a named method or the default one."""

    name = "Programs"

    def __init__(
        self,
        mechanism: Mechanism,
        links: Links,
        scalars: Scalars,
        methods: Mapping[str, str | None],
    ) -> None:
        self.mechanism, self.links, self.scalars, self.methods = mechanism, links, scalars, methods

    def __call__(self, function: str, states: States) -> Results:
        program = build_program(
            self.mechanism, function, self.methods.get(function), self.links.options
        )
        return scalar_runner(self.scalars, program)(
            {port.name: states_by_argument(function, states)[port.name] for port in program.inputs}
        )


def states_by_argument(function: str, states: States) -> States:
    """Return the states by the argument names of a function."""
    return {
        **states,
        **{
            a.name: states[FUNCTIONS[function].sample_kind(a.name)]
            for a in FUNCTIONS[function].arguments
        },
    }


SIX = np.ones((1, 6))
"""As long as what is compared in part alone."""
STEPS = ("step", "step_rk4")
"""Functions whose resulting velocities differ from the initial ones."""


class Case(Protocol):
    """A relation at one setting: the second problem, and the pairs of values that must be equal."""

    mechanism: Mechanism
    links: Links
    before: tuple[Mechanism, Links] | None
    """Problem to compare with, if it is not the setting's own."""
    amiss: str
    """Error in reading the second problem, '' if there is none."""

    def pairs(self, function: str, states: States, old: Asked, new: Asked) -> Pairs: ...


@dataclass(frozen=True)
class Judged:
    """A case whose pairs come from a callable (function, states, old, new) → pairs."""

    mechanism: Mechanism
    links: Links
    judge: Callable[[str, States, Asked, Asked], Pairs]
    before: tuple[Mechanism, Links] | None = None
    amiss: str = ""
    derived: Callable[[str, States, Asked, Asked], Pairs] = lambda *_: {}

    def pairs(self, function: str, states: States, old: Asked, new: Asked) -> Pairs:
        judge = self.judge if FUNCTIONS[function].derivative is None else self.derived
        return judge(function, states, old, new)


@dataclass(frozen=True)
class Change:
    """A case in which another description of the same motion maps arguments and results."""

    mechanism: Mechanism
    links: Links
    arguments: Callable[[States, Scalars], States]
    results: Callable[[Results, States, Scalars], Results]
    comparable: Callable[[str, Array], Array] = lambda _, values: values
    """Part of a result, by its name, that is compared."""
    before: tuple[Mechanism, Links] | None = None
    amiss: str = ""

    def pairs(self, function: str, states: States, old: Asked, new: Asked) -> Pairs:
        if (derivative := FUNCTIONS[function].derivative) is not None:
            are_six_vectors = all(
                self.comparable(result.name, SIX) is SIX
                for result in FUNCTIONS[derivative.of].results
            )
            return (
                Tangents(self.arguments, self.results).pairs(function, states, old, new)
                if are_six_vectors
                else {}
            )
        expected = self.results(old(function, states), states, old.scalars)
        computed = new(function, self.arguments(states, old.scalars))
        return {
            name: (self.comparable(name, values), self.comparable(name, computed[name]))
            for name, values in expected.items()
        }

    def then(self, second: Change) -> Change:
        """Return the composition with another change of description."""

        def compose_comparable(name: str, values: Array) -> Array:
            return second.comparable(name, self.comparable(name, values))

        return Change(
            second.mechanism,
            second.links,
            lambda states, scalars: second.arguments(self.arguments(states, scalars), scalars),
            lambda results, states, scalars: second.results(
                self.results(results, states, scalars), self.arguments(states, scalars), scalars
            ),
            compose_comparable,
        )


# -- exact displacements ---------------------------------------------------------------------------


def negated(xyz: Vector3) -> Vector3:
    return -xyz[0], -xyz[1], -xyz[2]


def inverse(pose: Pose) -> Pose:
    """Return the inverse change of description."""

    def invert(step: Step) -> Step:
        if isinstance(step, Shift):
            return Shift(negated(step.xyz))
        return (
            Turn(step.axis, -step.angle)
            if isinstance(step, Turn)
            else Slide(step.axis, -step.distance)
        )

    return compose(tuple(invert(step) for step in reversed(pose)))


def quarter(xyz: Vector3, axis: int, times: int = 1) -> Vector3:
    """Rotate a vector by quarter turns about x, y or z."""
    out = list(xyz)
    first, two = (axis + 1) % 3, (axis + 2) % 3
    for _ in range(times % 4):
        out[first], out[two] = -out[two], out[first]
    return out[0], out[1], out[2]


def placement(pose: Pose, scalars: Scalars) -> tuple[Array, Array]:
    """Return rotation (3, 3), from unit quaternions, and translation (3,) of a pose, in balls."""
    with scalars.working():
        turn, shift = scalars.array(np.eye(3)), scalars.array([0, 0, 0])
        for step in pose:
            if isinstance(step, Shift):
                shift = shift + turn @ scalars.array(list(step.xyz))
                continue
            length = scalars.constant(Fraction(sum(x * x for x in step.axis))).sqrt()
            axis = [scalars.constant(x) / length for x in step.axis]
            if isinstance(step, Slide):
                shift = shift + turn @ np.array(
                    [x * scalars.constant(step.distance) for x in axis], dtype=object
                )
                continue
            half = (
                scalars.constant(step.angle.radians)
                + flint.arb.pi() * scalars.constant(step.angle.pi)
            ) / 2
            sine, w = half.sin_cos()
            x, y, z = (sine * component for component in axis)
            turn = turn @ np.array(
                [
                    [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
                ],
                dtype=object,
            )
        return turn, shift


def times(matrix: Array, vector: Array) -> Array:
    """Return the product of (1, n, m) and (1, m), one state each."""
    return (matrix @ vector[..., None])[..., 0]


def cross(a: Array, b: Array) -> Array:
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def integrated(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """Return q ⊕ δ of one state, to first order in δ, at the current precision."""
    coordinates = np.array(q)
    for joint, of_q, of_v in zip(
        mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True
    ):
        rates, by = q[..., of_q], step[..., of_v]
        if joint.type.along is None:
            coordinates[..., of_q] = rates + by
            continue
        turning = np.array([velocity.unit == "rad" for velocity in joint.type.velocities])
        spin, slide = 0 * by[..., [0, 0, 0]], 0 * by[..., [0, 0, 0]]
        for k, along in enumerate(joint.type.along):
            (spin if turning[k] else slide)[..., along] = by[..., k]
        first = joint.type.quaternion
        change = 0 * rates
        if first is None:  # a place in a plane, and an angle
            c, s = np.cos(rates[..., 2]), np.sin(rates[..., 2])
            change[..., 0], change[..., 1] = (
                c * slide[..., 0] - s * slide[..., 1],
                s * slide[..., 0] + c * slide[..., 1],
            )
            change[..., 2] = spin[..., 2]
        else:
            u, w = rates[..., first : first + 3], rates[..., first + 3 :]
            change[..., first : first + 3] = (w * spin + cross(u, spin)) / 2
            change[..., first + 3] = -(u * spin).sum(axis=-1) / 2
            if first:
                change[..., :3] = slide + 2 * (w * cross(u, slide) + cross(u, cross(u, slide)))
        coordinates[..., of_q] = rates + change
    return coordinates


def with_(states: States, **replaced: Any) -> States:
    return {**states, **replaced}
