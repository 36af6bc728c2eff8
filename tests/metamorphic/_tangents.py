"""How derivatives go over from one description of a motion to another: as the arguments and the results themselves prescribe.

What a description changes of them, units, axes, frames and zeros, is affine. A change of an argument therefore goes over as the
difference of two arguments does, a change of a result likewise, and a weight by the transpose of that.
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
    """Of one state: `arguments` (states, scalars) → those of the other description, and `results` (results, states, scalars)."""

    arguments: Callable[[States, Scalars], States]
    results: Callable[[Mapping[str, Array], States, Scalars], Mapping[str, Array]]

    def pairs(self, function: str, states: States, old: Asked, new: Asked) -> Pairs:
        """Of a derivative of any mode, what it has to be and what it is."""
        wanted = FUNCTIONS[function].derivative
        assert wanted is not None
        given = {
            name: values for name, values in states.items() if name != "pi"
        }  # which is long, and no argument of these
        with old.scalars.working():
            return {"jvp": _along, "jacobian": _slopes, "vjp": _weighed, "hvp": _bent}[wanted.mode](
                _Going(self, wanted.of, differentiated_by(function), given, old.scalars),
                function,
                old,
                new,
            )


def differentiated_by(function: str) -> list[Port]:
    """The arguments that a derivative is by."""
    wanted = FUNCTIONS[function].derivative
    assert wanted is not None
    of = FUNCTIONS[wanted.of]
    named = wanted.by or [one.name for one in of.arguments]
    return [one for one in (*of.arguments, *of.depends_on) if one.name in named]


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
    def there(self) -> States:
        """The function's arguments in the other description."""
        return self.tangents.arguments(self.states, self.scalars)

    def images(self, x: Port) -> Array:
        """Of a unit of each number of an argument what it is there, a row each (n, n): positions change by velocities."""
        if x.name not in self._images:
            self._images[x.name] = self._images_of(FUNCTIONS[self.of].sample_kind(x.name))
        return self._images[x.name]

    def _images_of(self, name: str) -> Array:
        if name in POSITIONS:
            units = self.scalars.array(np.eye(self.states["v"].shape[-1], dtype=int))
            return self.tangents.results({"delta": units}, self.states, self.scalars)["delta"]
        shape = self.states[name].shape[1:]
        units = np.eye(prod(shape), dtype=int).reshape(-1, *shape)
        moved = self.tangents.arguments(
            {**self.states, name: self.states[name] + units}, self.scalars
        )[name]
        return (moved - self.there[name]).reshape(len(units), -1)

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
        """Changes of all results (n, …) there, where the payload changes by `load` (n, 10) if at all: some depend on both."""
        called = {"delta" if name in POSITIONS else name: name for name in changes}
        given = {other: changes[name] for other, name in called.items()}
        still = {name: 0 * values for name, values in given.items()}
        rest = {
            name: 0 * values if name == "payload" else values
            for name, values in self.states.items()
        }
        moving = rest if load is None else {**rest, "payload": load}
        found, none = (
            self.tangents.results(one, at, self.scalars)
            for one, at in ((given, moving), (still, rest))
        )
        return {called[name]: found[name] - none[name] for name in given}

    def weights(self) -> dict[str, Array]:
        """The weights here that are those of `states` there: whatever the results change by, both weigh it alike."""
        shapes = {
            one.name: self.states[derivatives.weight_name(one.name)].shape[1:]
            for one in FUNCTIONS[self.of].results
        }
        found = {}
        for name, shape in shapes.items():
            n = prod(shape)
            units = {
                other: self.scalars.array(
                    (
                        np.eye(n, dtype=int) if other == name else np.zeros((n, prod(its)), int)
                    ).reshape(n, *its)
                )
                for other, its in shapes.items()
            }
            found[derivatives.weight_name(name)] = self.weighed(self.over(units, None)).reshape(
                1, *shape
            )
        return found

    def weighed(self, changes: Mapping[str, Array]) -> Array:
        """What changes of the results there weigh (n,)."""
        return sum(
            (values * self.states[derivatives.weight_name(name)])
            .reshape(len(values), -1)
            .sum(axis=-1)
            for name, values in changes.items()
        )

    def by_load(self, x: Port) -> Any:
        """What a unit of the payload weighs there beside what the results here tell of it."""
        if x.name != "payload":
            return 0
        units = self.scalars.array(np.eye(10, dtype=int))
        still = {
            one.name: 0 * np.repeat(self.states[derivatives.weight_name(one.name)], 10, axis=0)
            for one in FUNCTIONS[self.of].results
        }
        return self.weighed(self.over(still, units))


def _along(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    wanted = old(function, going.states)
    found = new(function, {**going.there, **going.changed()})
    called = {one.name: derivatives.change_name(one.name) for one in FUNCTIONS[going.of].results}
    load = going.states["dpayload"] if any(x.name == "payload" for x in going.by) else None
    carried = going.over({name: wanted[change] for name, change in called.items()}, load)
    return {change: (carried[name], found[change]) for name, change in called.items()}


def _slopes(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    wanted, found, pairs = old(function, going.states), new(function, going.there), {}
    for x in going.by:
        images = going.images(x)
        called = {
            one.name: derivatives.derivative_name(one.name, x.name)
            for one in FUNCTIONS[going.of].results
        }
        own, other = (
            {name: in_front(side[slope], x) for name, slope in called.items()}
            for side in (wanted, found)
        )
        carried = going.over(
            own, going.scalars.array(np.eye(10, dtype=int)) if x.name == "payload" else None
        )
        pairs |= {
            slope: (carried[name], np.tensordot(images, other[name], axes=(1, 0)))
            for name, slope in called.items()
        }
    return pairs


def in_front(slope: Array, x: Port) -> Array:
    """A slope (1, *result, *argument) of one state, the numbers of the argument first: (n, *result)."""
    result = slope.shape[1 : slope.ndim - len(x.shape)]
    return np.moveaxis(slope.reshape(*result, -1), -1, 0)


def _weighed(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    return _back(
        going,
        function,
        old(function, {**going.states, **going.weights()}),
        new(function, {**going.there, **_given_weights(going)}),
        derivatives.weight_name,
        going.by_load,
    )


def _bent(going: _Going, function: str, old: Asked, new: Asked) -> Pairs:
    return _back(
        going,
        function,
        old(function, {**going.states, **going.weights()}),
        new(function, {**going.there, **_given_weights(going), **going.changed()}),
        lambda name: derivatives.change_name(derivatives.weight_name(name)),
        lambda x: 0,
    )


def _given_weights(going: _Going) -> dict[str, Array]:
    return {
        name: going.states[name]
        for one in FUNCTIONS[going.of].results
        for name in [derivatives.weight_name(one.name)]
    }


def _back(
    going: _Going,
    function: str,
    wanted: Mapping[str, Array],
    found: Mapping[str, Array],
    called: Callable[[str], str],
    besides: Callable[[Port], Any],
) -> Pairs:
    """Weights of the arguments there, as they are here."""
    return {
        called(x.name): (
            wanted[called(x.name)].reshape(1, -1) + besides(x),
            found[called(x.name)].reshape(1, -1) @ going.images(x).T,
        )
        for x in going.by
    }
