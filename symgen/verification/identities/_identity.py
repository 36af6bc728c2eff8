"""What an identity is written in: the functions under test, called by name at the states, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.reference.twists import to_base_axes
from symgen.verification.evaluating import Results, Runner
from symgen.verification.truth import Truth
from symgen.vocabulary.arrays import USUAL
from symgen.vocabulary.functions import FUNCTIONS

Distance = tuple[Array, Array]
"""Differences (count, …), and the size that they are relative to: per state (count,), or per entry."""


class Functions:
    """The functions under test, called by name at the states; `replaced` arguments stand in for the drawn ones."""

    def __init__(
        self, runners: Mapping[str, Runner], states: Mapping[str, Array], truth: Truth, exact: bool
    ) -> None:
        self.runners, self.states, self.truth, self.exact = runners, states, truth, exact
        self._known: dict[str, Results] = {}

    def __call__(self, function: str, **replaced: Array) -> Results:
        self.truth.draw(function)
        if replaced:
            instead = {
                FUNCTIONS[function].sample_kind(name): values for name, values in replaced.items()
            }
            return self.runners[function](
                self.truth.arguments(function, {**self.states, **instead})
            )
        if function not in self._known:
            self._known[function] = self.runners[function](
                self.truth.arguments(function, self.states)
            )
        return self._known[function]

    @property
    def reference(self) -> Reference:
        """The reference over the scalars of the states: balls where they are exact, else floats."""
        return self.truth.reference if self.exact else self.truth.rough

    def given(self, function: str, name: str) -> Array:
        """The drawn values of an argument."""
        return self.states[FUNCTIONS[function].sample_kind(name)]

    def of_each_frame(self, needs: Iterable[str]) -> list[Functions]:
        """The functions once for each frame, as if it were the only one; of the first alone where one of `needs` is."""
        frames = self.truth.of_each_frame
        if len(frames) == 1:
            return [self]
        single = any(
            FUNCTIONS[name].needs_frame and not FUNCTIONS[name].uses_all_frames for name in needs
        )
        return [
            _OfFrame(self, truth, k) for k, truth in enumerate(frames[:1] if single else frames)
        ]

    def moved(self, step: Array) -> Array:
        """q ⊕ δ."""
        return self.truth.reference.displaced(self.states["q"], step)

    def slopes(self, function: str) -> Results:
        """d/dt of the results along v, in balls: central differences with h = 1e-25, whose error, of order h², stays below the
        tolerance.
        """
        return self._slopes(lambda q: self(function, q=q))

    def _slopes(self, function: Callable[[Array], Results]) -> Results:
        h, v = self.truth.scalars.constant(Fraction(1, 10**25)), self.states["v"]
        up, down = (function(self.moved(v * s)) for s in (h, -h))
        return {name: (up[name] - down[name]) / (2 * h) for name in up}

    def jacobian(self, q: Array | None = None) -> Array:
        """J in the axes of the base at the frame's origin, angular first: brought back, where it is stated otherwise."""
        found = self("jacobian")["J"] if q is None else self("jacobian", q=q)["J"]
        if self.truth.convention == USUAL:
            return found
        return to_base_axes(
            self.truth.convention,
            *self.reference.forward_kinematics(self.states["q"] if q is None else q),
            found,
        )

    def slope_of_the_jacobian(self) -> Array:
        """d/dt of that along v."""
        return self._slopes(lambda q: {"J": self.jacobian(q)})["J"]

    def at_rest(self, *names: str) -> dict[str, Array]:
        """Zeros for these arguments, and for wrenches if there are any. Only gravity is then left."""
        return {name: 0 * self.states[name] for name in (*names, "wrench") if name in self.states}

    def unladen(self) -> dict[str, Array]:
        """Zeros for payloads and wrenches if there are any."""
        return {
            name: 0 * self.states[name] for name in ("payload", "wrench") if name in self.states
        }


class _OfFrame(Functions):
    """Functions of several frames, as they speak of frame k."""

    def __init__(self, together: Functions, truth: Truth, k: int) -> None:
        super().__init__(together.runners, together.states, truth, together.exact)
        self.together, self.k = together, k

    def __call__(self, function: str, **replaced: Array) -> Results:
        found = self.together(function, **replaced)
        return (
            {name: values[:, self.k] for name, values in found.items()}
            if FUNCTIONS[function].uses_all_frames
            else found
        )


def terms(*values: Array) -> Array:
    """The largest of all terms, per state."""
    flat = [
        np.abs(np.asarray(one, dtype=float)).reshape(len(one), -1).max(axis=-1) for one in values
    ]
    return np.asarray(np.max(flat, axis=0))


DAMPED = 1e-15
"""Of the terms: what damped solves of redundant forces may leave (`symgen.reference.minimum_norm`)."""


@dataclass(frozen=True)
class Identity:
    """`distance(functions)` must vanish. `needs` names the functions. `exact_only` ones are not checked in floats, and those
    `together` are of all frames at once.
    """

    title: str
    needs: tuple[str, ...]
    distance: Callable[[Functions], Distance]
    exact_only: bool = False
    together: bool = False
    damped: Callable[[Truth], bool] | None = None
    """Where forces are redundant, and what they are to keep is kept to DAMPED of its terms alone, in balls as well."""
    absent: Callable[[Truth], bool] | None = None
    """Where it need not hold, and is not among the checks."""
    loops: bool | None = None
    """Whether it is one of robots with joints that close loops, or of those without; None where it is of both."""

    def speaks_of(self, mechanism: Mechanism) -> bool:
        """Whether it is one of such robots."""
        return self.loops is None or self.loops == bool(mechanism.loops)
