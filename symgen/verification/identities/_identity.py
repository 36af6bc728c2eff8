"""Identities, and the interface in which they are written: the functions under test, called by name
at the states.
"""

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
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.arrays import USUAL
from symgen.vocabulary.functions import FUNCTIONS

Distance = tuple[Array, Array]
"""Differences (count, …), and their reference size: per state (count,), or per entry."""


class Functions:
    """The functions under test, called by name at the states; `replaced` arguments replace the
    drawn ones.
    """

    def __init__(
        self,
        runners: Mapping[str, Runner],
        states: Mapping[str, Array],
        exact_results: ExactResults,
        exact: bool,
    ) -> None:
        self.runners, self.states, self.exact_results, self.exact = (
            runners,
            states,
            exact_results,
            exact,
        )
        self._results: dict[str, Results] = {}

    def __call__(self, function: str, **replaced: Array) -> Results:
        self.exact_results.draw(function)
        if replaced:
            replacements = {
                FUNCTIONS[function].sample_kind(name): values for name, values in replaced.items()
            }
            return self.runners[function](
                self.exact_results.arguments(function, {**self.states, **replacements})
            )
        if function not in self._results:
            self._results[function] = self.runners[function](
                self.exact_results.arguments(function, self.states)
            )
        return self._results[function]

    @property
    def reference(self) -> Reference:
        """Return the reference over the states' scalars: balls for exact states, else floats."""
        return self.exact_results.reference if self.exact else self.exact_results.rough

    def drawn_argument(self, function: str, name: str) -> Array:
        """Return the drawn values of an argument."""
        return self.states[FUNCTIONS[function].sample_kind(name)]

    def of_each_frame(self, needs: Iterable[str]) -> list[Functions]:
        """Return one object for each frame, as if it were the only one; for the first frame only if
        one of `needs` has a single frame.
        """
        frames = self.exact_results.of_each_frame
        if len(frames) == 1:
            return [self]
        single = any(
            FUNCTIONS[name].needs_frame and not FUNCTIONS[name].uses_all_frames for name in needs
        )
        return [
            _OfFrame(self, exact_results, k)
            for k, exact_results in enumerate(frames[:1] if single else frames)
        ]

    def displaced(self, step: Array) -> Array:
        """Return q ⊕ δ."""
        return self.exact_results.reference.displaced(self.states["q"], step)

    def time_derivatives(self, function: str) -> Results:
        """Return d/dt of the results along v, in balls, by central differences with h = 1e-25.

        Their error, of order h², stays below the tolerance.
        """
        return self._differentiate_along_v(lambda q: self(function, q=q))

    def _differentiate_along_v(self, function: Callable[[Array], Results]) -> Results:
        h, v = self.exact_results.scalars.constant(Fraction(1, 10**25)), self.states["v"]
        up, down = (function(self.displaced(v * s)) for s in (h, -h))
        return {name: (up[name] - down[name]) / (2 * h) for name in up}

    def jacobian(self, q: Array | None = None) -> Array:
        """Return J in base axes at the frame's origin, angular rows first, converted from its
        convention.
        """
        J = self("jacobian")["J"] if q is None else self("jacobian", q=q)["J"]
        if self.exact_results.convention == USUAL:
            return J
        return to_base_axes(
            self.exact_results.convention,
            *self.reference.forward_kinematics(self.states["q"] if q is None else q),
            J,
        )

    def slope_of_the_jacobian(self) -> Array:
        """Return d/dt of `jacobian` along v."""
        return self._differentiate_along_v(lambda q: {"J": self.jacobian(q)})["J"]

    def at_rest(self, *names: str) -> dict[str, Array]:
        """Return zeros for these arguments, and for wrenches if there are any, so that only gravity
        acts.
        """
        return {name: 0 * self.states[name] for name in (*names, "wrench") if name in self.states}

    def unladen(self) -> dict[str, Array]:
        """Return zeros for payloads and wrenches if there are any."""
        return {
            name: 0 * self.states[name] for name in ("payload", "wrench") if name in self.states
        }


class _OfFrame(Functions):
    """Functions of several frames, restricted to frame k."""

    def __init__(self, all_frames: Functions, exact_results: ExactResults, k: int) -> None:
        super().__init__(all_frames.runners, all_frames.states, exact_results, all_frames.exact)
        self.together, self.k = all_frames, k

    def __call__(self, function: str, **replaced: Array) -> Results:
        results = self.together(function, **replaced)
        return (
            {name: values[:, self.k] for name, values in results.items()}
            if FUNCTIONS[function].uses_all_frames
            else results
        )


def terms(*values: Array) -> Array:
    """Return the largest magnitude of all terms, per state."""
    flat = [
        np.abs(np.asarray(value, dtype=float)).reshape(len(value), -1).max(axis=-1)
        for value in values
    ]
    return np.asarray(np.max(flat, axis=0))


DAMPED = 1e-15
"""Fraction of the terms: error of damped solves of redundant forces
(`symgen.reference.minimum_norm`).
"""


@dataclass(frozen=True)
class Identity:
    """A relation between functions: `distance(functions)` must vanish. `needs` names the functions.

    `exact_only` identities are not checked in floats; `together` identities are for all frames at
    once.
    """

    title: str
    needs: tuple[str, ...]
    distance: Callable[[Functions], Distance]
    exact_only: bool = False
    together: bool = False
    damped: Callable[[ExactResults], bool] | None = None
    """True for robots with redundant forces: then the relation holds only to DAMPED of its terms,
    in balls as well.
    """
    absent: Callable[[ExactResults], bool] | None = None
    """True where the relation need not hold; it is then not checked."""
    loops: bool | None = None
    """True for robots with closed loops only, False for robots without them only, None for both."""

    def applies_to(self, mechanism: Mechanism) -> bool:
        """True if the identity applies to such a robot."""
        return self.loops is None or self.loops == bool(mechanism.loops)
