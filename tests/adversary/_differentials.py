"""The recursion's answers for derivatives in every mode: differences of its own answers, where arguments are a little elsewhere.

symgen differentiates rows, and its reference goes by jets; nothing of either is here.
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
"""A difference loses 45, that of differences 90, and what is a difference itself as many more."""
NOTHING = Fraction(1, 10**80)
"""Below it is what differences leave of something that does not change."""
TOO_LONG = ("step_rk4", "base_regressor", "base_parameters", "regressor")
"""What takes minutes here to differentiate."""
SLOPES = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "coriolis_matrix",
    "mass_matrix_coriolis_and_bias",
)
"""What has first derivatives alone, since it is made of some."""

Answers = Callable[[Mapping[str, Array]], Mapping[str, Array]]
"""States by argument, (count, …) balls each → the results of a function by name."""


def some(
    random: Random, function: str, loads: Collection[str], modes: Sequence[str] = tuple(MODES)
) -> str | None:
    """The name of a derivative by all of a function's arguments or by one of them, its own or one of `loads` at run time.

    None for what is not tried.
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
    ):  # what is a function in its own right is called as that
        return None
    return FUNCTIONS[name].name


def relevant_arguments(mechanism: Mechanism, options: ProgramOptions) -> list[str]:
    """The arguments at run time that are about a link that moves: others no Program has."""
    return [
        name
        for name, links in options.at_run_time.items()
        if any(mechanism.frame(link).body != BASE for link in links)
    ]


def answers(
    mechanism: Mechanism, wanted: Derivative, states: Mapping[str, Array], function: Answers
) -> dict[str, Array]:
    """The results of a derivative of `function` by name, from `states` with its changes and weights. Inside enough digits."""
    return _Differences(
        mechanism, wanted, {name: _balls(x) for name, x in states.items()}, function
    ).answers()


class _Differences:
    def __init__(
        self, mechanism: Mechanism, wanted: Derivative, states: dict[str, Array], function: Answers
    ) -> None:
        self.mechanism, self.wanted, self.states, self.function = (
            mechanism,
            wanted,
            states,
            function,
        )
        of = FUNCTIONS[wanted.of]
        self.by = [
            argument
            for name, argument in differentiable(of).items()
            if name in (wanted.by or [x.name for x in of.arguments])
        ]
        self.drawn = {argument.name: of.sample_kind(argument.name) for argument in self.by}
        self.step = _newton_euler.ball(STEP)

    def answers(self) -> dict[str, Array]:
        whole = {
            argument.name: self.states[derivatives.change_name(argument.name)]
            for argument in self.by
            if self.wanted.mode in ("jvp", "hvp")
        }
        if self.wanted.mode == "jvp":
            return {
                derivatives.change_name(name): _settled(x)
                for name, x in self.slope(self.states, whole).items()
            }
        results: dict[str, Array] = {}
        for argument in self.by:
            units = self.units(argument.name)
            if self.wanted.mode == "jacobian":
                each = [self.slope(self.states, {argument.name: unit}) for unit in units]
                for name in each[0]:
                    rows = np.stack([slope[name] for slope in each], axis=-1)
                    results[derivatives.derivative_name(name, argument.name)] = _settled(
                        rows if argument.shape else rows[..., 0]
                    )
                continue
            if self.wanted.mode == "vjp":
                each, name = (
                    [self.weighed(self.states, argument.name, unit) for unit in units],
                    derivatives.weight_name(argument.name),
                )
            else:
                each = [self.bent(argument.name, unit, whole) for unit in units]
                name = derivatives.change_name(derivatives.weight_name(argument.name))
            results[name] = _settled(np.stack(each, axis=-1).reshape(units[0].shape))
        return results

    def units(self, name: str) -> list[Array]:
        """A unit of each number that an argument is changed by, at every state."""
        drawn = self.states[self.drawn[name]]
        shape = (self.mechanism.nv,) if name in POSITIONS else drawn.shape[1:]
        eye = np.eye(prod(shape), dtype=int).reshape(-1, 1, *shape)
        return [_balls(np.repeat(unit, len(drawn), axis=0)) for unit in eye]

    def slope(self, states: Mapping[str, Array], along: Mapping[str, Array]) -> dict[str, Array]:
        """What each result changes by along changes of arguments; of positions the step that makes the same change."""
        before, after = (
            self.function(self.moved(states, along, step)) for step in (-self.step, self.step)
        )
        slopes = {}
        for name, x in after.items():
            if name in POSITIONS:
                ends = {"q": before[name], "q_next": x}
                way = _newton_euler.answers(
                    self.mechanism,
                    "difference",
                    ends,
                    flint.ctx.dps,
                    {"delta": (self.mechanism.nv,)},
                )
                slopes[name] = way["delta"] / (2 * self.step)
            else:
                slopes[name] = (x - before[name]) / (2 * self.step)
        return slopes

    def weighed(self, states: Mapping[str, Array], name: str, unit: Array) -> Array:
        """What the results weigh (count,) that a unit of an argument changes."""
        return sum(
            (self.states[derivatives.weight_name(result)] * x).reshape(len(x), -1).sum(axis=-1)
            for result, x in self.slope(states, {name: unit}).items()
        )

    def bent(self, name: str, unit: Array, along: Mapping[str, Array]) -> Array:
        before, after = (
            self.weighed(self.moved(self.states, along, step), name, unit)
            for step in (-self.step, self.step)
        )
        return (after - before) / (2 * self.step)

    def moved(
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

    def _advanced(self, places: Array, change: Array, step: Any) -> Array:
        """q ⊕ δ, to the first order."""
        coordinates = []
        for q, increment in zip(places, change, strict=True):
            at, total = _newton_euler.Recursion(self.mechanism, {"q": q}), np.array(q)
            for k, rate in enumerate(increment):
                if rate != 0:
                    total = total + np.array(at.advanced(list(q), k, step * rate), dtype=object) - q
            coordinates.append(total)
        return np.array(coordinates, dtype=object)


def _balls(values: Array) -> Array:
    return np.vectorize(_newton_euler.ball, otypes=[object])(values)


def _settled(values: Array) -> Array:
    """Of what does not change, a difference leaves a radius, or the square of its step."""
    least = _newton_euler.ball(NOTHING)
    return np.vectorize(
        lambda x: flint.arb(0) if abs(x) < least or x.contains(0) else x, otypes=[object]
    )(values)
