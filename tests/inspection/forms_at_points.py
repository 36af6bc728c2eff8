"""Letters of a robot and their canonical forms at random rational points, with 60 digits."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from symgen import methods
from symgen.inspection.canonical import Names, Quotient
from symgen.inspection.catalogue import methods_with_quantities, refusal_reason
from symgen.inspection.coordinates import angle_indices, quaternion_indices
from symgen.inspection.entries import Layout, layout
from symgen.inspection.multiangle import MultiAngle
from symgen.ir.program import Numbers, Program
from symgen.mechanism.mechanism import Mechanism
from tests.shared.robots_for_tests import BALLS

POINTS = 3
BALL = Numbers(BALLS.constant, np.sin, np.cos, np.sqrt, np.log)
Form = MultiAngle | Quotient


def letters(mechanism: Mechanism) -> Iterator[tuple[str, str, Layout]]:
    """Yield (method, letter, layout) of every letter of every paper that the robot has."""
    for method in methods_with_quantities():
        for letter, quantity in methods.find(method).quantities.items():
            if refusal_reason(mechanism, method, quantity) is None:
                yield method, letter, layout(mechanism, method, letter)


def names_of(mechanism: Mechanism, program: Program) -> Names:
    """Return the names of the inputs of a letter's Program, as `inspect` has them."""
    ports = [port for port, argument in enumerate(program.inputs) if argument.name == "q"]
    return Names(
        {(port, entry): entry for port in ports for entry in angle_indices(mechanism)},
        lambda x: f"{program.inputs[x[0]].name}{x[1]}",
        mechanism.nq,
        "it",
        tuple(
            tuple((port, entry) for entry in entries)
            for port in ports
            for entries in quaternion_indices(mechanism)
        ),
    )


def unit_quaternion(a: Fraction, b: Fraction, c: Fraction) -> tuple[Fraction, ...]:
    """Return a rational point of the sphere, by stereographic projection."""
    square = a * a + b * b + c * c
    return tuple(x / (1 + square) for x in (2 * a, 2 * b, 2 * c, 1 - square))


def random_positions(mechanism: Mechanism, generator: np.random.Generator) -> list[Any]:
    """Return q as balls of 60 digits at POINTS states, with rational unit quaternions."""

    def fractions() -> list[Fraction]:
        return [Fraction(int(x), 1000) for x in generator.integers(-3000, 3000, POINTS)]

    q = [fractions() for _ in range(mechanism.nq)]
    for entries in quaternion_indices(mechanism):
        vectors = zip(fractions(), fractions(), fractions(), strict=True)
        points = [unit_quaternion(*vector) for vector in vectors]
        for entry, values in zip(entries, zip(*points, strict=True), strict=True):
            q[entry] = list(values)
    return [BALLS.array(values) for values in q]


def value_of(form: Form, state: dict[str, list[Any]]) -> Any:
    if isinstance(form, Quotient):
        return value_of(form.numerator, state) / value_of(form.denominator, state)
    q, v, a = (state.get(name, ()) for name in ("q", "v", "a"))
    others = {
        f"{name}{i}": x
        for name, values in state.items()
        if name not in ("q", "v", "a")
        for i, x in enumerate(values)
    }
    return form.evaluate(q, v, a, others, BALL)
