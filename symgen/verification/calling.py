"""What an identity is written in: the functions under test, called by name at the states, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from symgen.reference.precision import Array
from symgen.verification.evaluating import Results, Runner
from symgen.verification.truth import Truth

Distance = tuple[Array, Array]
"""Differences (count, …), and the size that they are relative to: per state (count,), or per entry."""


class Functions:
    """The functions under test, called by name at the states; `replaced` arguments stand in for the drawn ones."""

    def __init__(self, runners: Mapping[str, Runner], states: Mapping[str, Array], truth: Truth, exact: bool) -> None:
        self.runners, self.states, self.truth, self.exact = runners, states, truth, exact
        self._known: dict[str, Results] = {}

    def __call__(self, function: str, **replaced: Array) -> Results:
        if replaced:
            return self.runners[function](self.truth.arguments(function, {**self.states, **replaced}))
        if function not in self._known:
            self._known[function] = self.runners[function](self.truth.arguments(function, self.states))
        return self._known[function]

    def moved(self, step: Array) -> Array:
        """q ⊕ δ."""
        return self.truth.reference.moved(self.states["q"], step)

    def slopes(self, function: str) -> Results:
        """d/dt of the results along v, in balls: central differences with h = 1e-25, whose error, of order h², stays below the
        tolerance.
        """
        h, v = self.truth.scalars.constant(Fraction(1, 10**25)), self.states["v"]
        up, down = (self(function, q=self.moved(v * s)) for s in (h, -h))
        return {name: (up[name] - down[name]) / (2 * h) for name in up}

    def at_rest(self, *names: str) -> dict[str, Array]:
        """Zeros for these arguments, and for a wrench if there is one. Only gravity is then left."""
        return {name: 0 * self.states[name] for name in (*names, "wrench") if name in self.states}


@dataclass(frozen=True)
class Identity:
    """`distance(functions)` must vanish. `needs` names the functions. `exact_only` ones are not checked in floats."""

    title: str
    needs: tuple[str, ...]
    distance: Callable[[Functions], Distance]
    exact_only: bool = False
