"""Maps of derivatives between two descriptions of one motion, from the maps of arguments and
results.

These maps are affine, since the descriptions differ in units, axes, frames and zeros. So a change
of an argument is mapped as the difference of two arguments, and a change of a result as the
difference of two results. Weights are mapped by the transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from symgen.ir.program import POSITIONS
from symgen.reference.precision import Array, Scalars
from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import Array as Port
from symgen.vocabulary.functions import FUNCTIONS

if TYPE_CHECKING:
    from tests.metamorphic._core import Asked, Pairs, States


@dataclass(frozen=True)
class Tangents:
    """Derivatives of a change of description at one state.

    `arguments` maps (states, scalars) and `results` maps (results, states, scalars) to the other
    description.
    """

    arguments: Callable[[States, Scalars], States]
    results: Callable[[Mapping[str, Array], States, Scalars], Mapping[str, Array]]

    def pairs(self, function: str, states: States, old: Asked, new: Asked) -> Pairs:
        """Return the expected and the computed values of a derivative of any mode."""
        derivative = FUNCTIONS[function].derivative
        assert derivative is not None
        arguments = {
            name: values for name, values in states.items() if name != "pi"
        }  # which is long, and no argument of these
        with old.scalars.working():
            return {
                "jvp": _along,
                "jacobian": _expected_and_computed_blocks,
                "vjp": _weighed,
                "hvp": _bent,
            }[derivative.mode](
                _Going(self, derivative.of, differentiated_by(function), arguments, old.scalars),
                function,
                old,
                new,
            )


def differentiated_by(function: str) -> list[Port]:
    """The arguments that a derivative is by."""
    derivative = FUNCTIONS[function].derivative
    assert derivative is not None
    of = FUNCTIONS[derivative.of]
    named = derivative.by or [argument.name for argument in of.arguments]
    return [argument for argument in (*of.arguments, *of.depends_on) if argument.name in named]


@dataclass
class _Going:
    """Arguments and results of a function on their way, from `states` of the old description."""

    tangents: Tangents
    of: str
    by: Sequence[Port]
    states: States
    scalars: Scalars
    _images: dict[str, Array] = field(default_factory=dict)

    @cached_property
    def new_states(self) -> States:
        """The function's arguments in the other description."""
        return self.tangents.arguments(self.states, self.scalars)

    def images(self, x: Port) -> Array:
        """Return the image of a unit change of each number of an argument, a row each (n, n);
        positions change by velocities.
        """
        if x.name not in self._images:
            self._images[x.name] = self._images_of(FUNCTIONS[self.of].sample_kind(x.name))
        return self._images[x.name]

    def _images_of(self, name: str) -> Array:
        if name in POSITIONS:
            units = self.scalars.array(np.eye(self.states["v"].shape[-1], dtype=int))
            return self.tangents.results({"delta": units}, self.states, self.scalars)["delta"]
        shape = self.states[name].shape[1:]
        units = np.eye(prod(shape), dtype=int).reshape(-1, *shape)
        displaced = self.tangents.arguments(
            {**self.states, name: self.states[name] + units}, self.scalars
        )[name]
        return (displaced - self.new_states[name]).reshape(len(units), -1)

    def changed(self) -> dict[str, Array]:
        """The changes of the arguments there."""
        return {
            name: (self.states[name].reshape(1, -1) @ self.images(x)).reshape(
                self.states[name].shape
            )
            for x in self.by
            for name in [derivatives.change_name(x.name)]
        }

    def over(self, changes: Mapping[str, Array], load: Array | None) -> dict[str, Array]:
        """Changes of all results (n, …) there, where the payload changes by `load` (n, 10) if at
        all: some depend on both.
        """
        called = {"delta" if name in POSITIONS else name: name for name in changes}
        changes_of_results = {result: changes[name] for result, name in called.items()}
        still = {name: 0 * values for name, values in changes_of_results.items()}
        unloaded = {
            name: 0 * values if name == "payload" else values
            for name, values in self.states.items()
        }
        moving = unloaded if load is None else {**unloaded, "payload": load}
        loaded_changes, unloaded_changes = (
            self.tangents.results(tangent, at, self.scalars)
            for tangent, at in ((changes_of_results, moving), (still, unloaded))
        )
        return {
            called[name]: loaded_changes[name] - unloaded_changes[name]
            for name in changes_of_results
        }

    def weights(self) -> dict[str, Array]:
        """The weights here that are those of `states` there: whatever the results change by, both
        weigh it alike.
        """
        shapes = {
            result.name: self.states[derivatives.weight_name(result.name)].shape[1:]
            for result in FUNCTIONS[self.of].results
        }
        weights = {}
        for name, shape in shapes.items():
            n = prod(shape)
            units = {
                result_name: self.scalars.array(
                    (
                        np.eye(n, dtype=int)
                        if result_name == name
                        else np.zeros((n, prod(its)), int)
                    ).reshape(n, *its)
                )
                for result_name, its in shapes.items()
            }
            weights[derivatives.weight_name(name)] = self.weighed(self.over(units, None)).reshape(
                1, *shape
            )
        return weights

    def weighed(self, changes: Mapping[str, Array]) -> Array:
        """Return the weighted sums (n,) of changes of the results there."""
        return sum(
            (values * self.states[derivatives.weight_name(name)])
            .reshape(len(values), -1)
            .sum(axis=-1)
            for name, values in changes.items()
        )

    def by_load(self, x: Port) -> Any:
        """Return the weight of a unit of the payload there that the results here do not contain."""
        if x.name != "payload":
            return 0
        units = self.scalars.array(np.eye(10, dtype=int))
        still = {
            result.name: 0
            * np.repeat(self.states[derivatives.weight_name(result.name)], 10, axis=0)
            for result in FUNCTIONS[self.of].results
        }
        return self.weighed(self.over(still, units))


def _along(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    expected = old(function, going.states)
    computed = new(function, {**going.new_states, **going.changed()})
    called = {
        result.name: derivatives.change_name(result.name) for result in FUNCTIONS[going.of].results
    }
    load = going.states["dpayload"] if any(x.name == "payload" for x in going.by) else None
    carried = going.over({name: expected[change] for name, change in called.items()}, load)
    return {change: (carried[name], computed[change]) for name, change in called.items()}


def _expected_and_computed_blocks(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    expected, computed, pairs = old(function, going.states), new(function, going.new_states), {}
    for x in going.by:
        images = going.images(x)
        called = {
            result.name: derivatives.derivative_name(result.name, x.name)
            for result in FUNCTIONS[going.of].results
        }
        slopes_here, slopes_there = (
            {name: in_front(side[slope], x) for name, slope in called.items()}
            for side in (expected, computed)
        )
        carried = going.over(
            slopes_here, going.scalars.array(np.eye(10, dtype=int)) if x.name == "payload" else None
        )
        pairs |= {
            slope: (carried[name], np.tensordot(images, slopes_there[name], axes=(1, 0)))
            for name, slope in called.items()
        }
    return pairs


def in_front(slope: Array, x: Port) -> Array:
    """A slope (1, *result, *argument) of one state, the numbers of the argument first: (n,
    *result).
    """
    result = slope.shape[1 : slope.ndim - len(x.shape)]
    return np.moveaxis(slope.reshape(*result, -1), -1, 0)


def _weighed(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    return _argument_weights(
        going,
        function,
        old(function, {**going.states, **going.weights()}),
        new(function, {**going.new_states, **_given_weights(going)}),
        derivatives.weight_name,
        going.by_load,
    )


def _bent(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    return _argument_weights(
        going,
        function,
        old(function, {**going.states, **going.weights()}),
        new(function, {**going.new_states, **_given_weights(going), **going.changed()}),
        lambda name: derivatives.change_name(derivatives.weight_name(name)),
        lambda x: 0,
    )


def _given_weights(going: _Going) -> dict[str, Array]:
    return {
        name: going.states[name]
        for result in FUNCTIONS[going.of].results
        for name in [derivatives.weight_name(result.name)]
    }


def _argument_weights(
    going: _Going,
    function: str,
    expected: Mapping[str, Array],
    computed: Mapping[str, Array],
    called: Callable[[str], str],
    besides: Callable[[Port], Any],
) -> Pairs:
    """Weights of the arguments there, as they are here."""
    return {
        called(x.name): (
            expected[called(x.name)].reshape(1, -1) + besides(x),
            computed[called(x.name)].reshape(1, -1) @ going.images(x).T,
        )
        for x in going.by
    }
