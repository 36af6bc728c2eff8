"""Derivatives in every mode, as differences of the results of the recursion.

Neither method of symgen is used: symgen differentiates rows, and its reference uses jets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import prod
from random import Random
from typing import Any

import flint
import numpy as np

from symgen.ir.program import POSITIONS
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.precision import Array
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import MODES, Derivative
from symgen.vocabulary.functions import FUNCTIONS, differentiable
from symgen.vocabulary.options import ProgramOptions
from tests.adversary import _newton_euler
from tests.adversary._on_request import STEP

DIGITS = 400
"""Decimal digits: a difference loses 45, a second difference 90, one of differences even more."""
NOTHING = Fraction(1, 10**80)
"""Magnitude below which a difference counts as that of a constant."""
TOO_LONG = ("step_rk4", "base_regressor", "base_parameters", "regressor")
"""Functions whose differentiation takes minutes here."""
SLOPES = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "coriolis_matrix",
    "mass_matrix_coriolis_and_bias",
)
"""Functions of derivatives, which have first derivatives only."""

Answers = Callable[[Mapping[str, Array]], Mapping[str, Array]]
"""States by argument, (count, …) balls each → the results of a function by name."""


def some(
    random: Random, function: str, loads: Collection[str], modes: Sequence[str] = tuple(MODES)
) -> str | None:
    """Draw a derivative of a function with respect to all its arguments or to one of them.

    The one argument may also be one of `loads`. Return None for derivatives that are not tried.
    """
    mode = random.choice([mode for mode in modes if mode != "hvp" or function not in SLOPES])
    argument_names = [argument.name for argument in FUNCTIONS[function].arguments]
    named = random.choice(
        (
            None,
            *(
                name
                for name in differentiable(FUNCTIONS[function])
                if name in argument_names or name in loads
            ),
        )
    )
    if mode == "hvp" and named is None:
        named = FUNCTIONS[function].arguments[0].name
    name = f"{function}:{mode}" + (f"({named})" if named else "")
    if (
        function in TOO_LONG or name not in FUNCTIONS
    ):  # a derivative that is itself a function has that function's name
        return None
    return FUNCTIONS[name].name


def relevant_arguments(mechanism: Mechanism, options: ProgramOptions) -> list[str]:
    """Return the run-time arguments of links that move; Programs have no others."""
    return [
        name
        for name, links in options.at_run_time.items()
        if any(mechanism.frame(link).body != BASE for link in links)
    ]


def answers(
    mechanism: Mechanism, derivative: Derivative, states: Mapping[str, Array], function: Answers
) -> dict[str, Array]:
    """Return the results of a derivative at `states`; the caller sets enough digits."""
    return _Differences(
        mechanism, derivative, {name: _balls(x) for name, x in states.items()}, function
    ).answers()


class _Differences:
    def __init__(
        self,
        mechanism: Mechanism,
        derivative: Derivative,
        states: dict[str, Array],
        function: Answers,
    ) -> None:
        self.mechanism, self.wanted, self.states, self.function = (
            mechanism,
            derivative,
            states,
            function,
        )
        of = FUNCTIONS[derivative.of]
        self.by = [
            argument
            for name, argument in differentiable(of).items()
            if name in (derivative.by or [x.name for x in of.arguments])
        ]
        self.drawn = {argument.name: of.sample_kind(argument.name) for argument in self.by}
        self.step = _newton_euler.ball(STEP)

    def answers(self) -> dict[str, Array]:
        directions = {
            argument.name: self.states[derivatives.change_name(argument.name)]
            for argument in self.by
            if self.wanted.mode in ("jvp", "hvp")
        }
        if self.wanted.mode == "jvp":
            return {
                derivatives.change_name(name): _zero_if_constant(x)
                for name, x in self.slope(self.states, directions).items()
            }
        results: dict[str, Array] = {}
        for argument in self.by:
            units = self.units(argument.name)
            if self.wanted.mode == "jacobian":
                columns = [self.slope(self.states, {argument.name: unit}) for unit in units]
                for name in columns[0]:
                    rows = np.stack([slope[name] for slope in columns], axis=-1)
                    results[derivatives.derivative_name(name, argument.name)] = _zero_if_constant(
                        rows if argument.shape else rows[..., 0]
                    )
                continue
            if self.wanted.mode == "vjp":
                columns, name = (
                    [self.weighed(self.states, argument.name, unit) for unit in units],
                    derivatives.weight_name(argument.name),
                )
            else:
                columns = [self.bent(argument.name, unit, directions) for unit in units]
                name = derivatives.change_name(derivatives.weight_name(argument.name))
            results[name] = _zero_if_constant(np.stack(columns, axis=-1).reshape(units[0].shape))
        return results

    def units(self, name: str) -> list[Array]:
        """Return the unit changes of an argument, one for each of its numbers, at every state."""
        drawn = self.states[self.drawn[name]]
        shape = (self.mechanism.nv,) if name in POSITIONS else drawn.shape[1:]
        eye = np.eye(prod(shape), dtype=int).reshape(-1, 1, *shape)
        return [_balls(np.repeat(unit, len(drawn), axis=0)) for unit in eye]

    def slope(self, states: Mapping[str, Array], along: Mapping[str, Array]) -> dict[str, Array]:
        """Return the directional derivative of each result; for positions, as a velocity."""
        before, after = (
            self.function(self.displaced(states, along, step)) for step in (-self.step, self.step)
        )
        derivatives = {}
        for name, x in after.items():
            if name in POSITIONS:
                positions = {"q": before[name], "q_next": x}
                difference = _newton_euler.answers(
                    self.mechanism,
                    "difference",
                    positions,
                    flint.ctx.dps,
                    {"delta": (self.mechanism.nv,)},
                )
                derivatives[name] = difference["delta"] / (2 * self.step)
            else:
                derivatives[name] = (x - before[name]) / (2 * self.step)
        return derivatives

    def weighed(self, states: Mapping[str, Array], name: str, unit: Array) -> Array:
        """Return the weighted sum (count,) of the derivatives of all results in one direction."""
        return sum(
            (self.states[derivatives.weight_name(result)] * x).reshape(len(x), -1).sum(axis=-1)
            for result, x in self.slope(states, {name: unit}).items()
        )

    def bent(self, name: str, unit: Array, along: Mapping[str, Array]) -> Array:
        before, after = (
            self.weighed(self.displaced(self.states, along, step), name, unit)
            for step in (-self.step, self.step)
        )
        return (after - before) / (2 * self.step)

    def displaced(
        self, states: Mapping[str, Array], along: Mapping[str, Array], step: Any
    ) -> dict[str, Array]:
        moved_states = dict(states)
        for name, change in along.items():
            drawn = self.drawn[name]
            moved_states[drawn] = (
                self._advanced(moved_states[name], change, step)
                if name in POSITIONS
                else moved_states[drawn] + step * change
            )
        return moved_states

    def _advanced(self, positions: Array, change: Array, step: Any) -> Array:
        """Return q ⊕ step·δ to first order."""
        coordinates = []
        for q, increment in zip(positions, change, strict=True):
            at, total = _newton_euler.Recursion(self.mechanism, {"q": q}), np.array(q)
            for k, rate in enumerate(increment):
                if rate != 0:
                    total = total + np.array(at.advanced(list(q), k, step * rate), dtype=object) - q
            coordinates.append(total)
        return np.array(coordinates, dtype=object)


def _balls(values: Array) -> Array:
    return np.vectorize(_newton_euler.ball, otypes=[object])(values)


def _zero_if_constant(values: Array) -> Array:
    """Replace by zero a difference of equal constants, which has a radius or the size of the
    squared step.
    """
    least = _newton_euler.ball(NOTHING)
    return np.vectorize(
        lambda x: flint.arb(0) if abs(x) < least or x.contains(0) else x, otypes=[object]
    )(values)
