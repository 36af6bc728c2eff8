"""Exact results at a set of states, computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, Unpack

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.adaptive_precision import evaluate_adaptively
from symgen.reference.assembling import APART, assemble, closed_states, open_states
from symgen.reference.base import base_parameter_map
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Attachments
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import draw_derivative_arguments, draw_states
from symgen.support.errors import RequestError
from symgen.verification.adjusted import AdjustedRobot, broadcast
from symgen.vocabulary.arrays import ALL_ROWS, USUAL
from symgen.vocabulary.functions import CLOSED, FUNCTIONS, GAINS, Function

GUARD = 25
"""Extra working digits. Balls lose digits because their operands depend on each other."""
KNOWN = 50
"""Least number of correct digits of a result."""
_WORKED_OUT = ("sharper", "scales", "of_each_frame")
"""Cached attributes that depend on the frame."""


class ReferenceResults:
    """Reference results of `mechanism` at `count` seeded states, over balls.

    Results have `digits` = 60 + ⌈log₁₀ cond M⌉ digits; `working` digits are carried. Raises
    RequestError for an unknown `frame`, `payload` or `wrench` (names of links; frames and wrenches
    may be several).

    If numbers change at run time, the results are those of the `adjusted` robot, and the arguments
    that hold its numbers are equal at every state. With `baumgarte` there are gains. Then functions
    of closed loops are evaluated at open positions, and at velocities that violate the constraints.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        count: int = 16,
        seed: int = 0,
        *,
        adjusted: AdjustedRobot | None = None,
        baumgarte: bool = False,
        working: int | None = None,
        **attachments: Unpack[Attachments],
    ) -> None:
        self.adjusted = adjusted or AdjustedRobot(mechanism)
        self.mechanism, self.described = self.adjusted.mechanism, mechanism
        self.count, self.seed, self.baumgarte = count, seed, baumgarte
        self.adjusted_arguments: dict[str, Sequence[Fraction]] = dict(self.adjusted.arguments)
        self.attachments, self.convention = attachments, attachments.get("convention", USUAL)
        payload, wrench = attachments.get("payload"), attachments.get("wrench")
        self.states = draw_states(
            self.mechanism, count, seed, payload, wrench, {GAINS.name: (2,)} if baumgarte else None
        )
        self.states |= {
            name: broadcast(numbers, count) for name, numbers in self.adjusted_arguments.items()
        }
        self.floats = {name: values.astype(float) for name, values in self.states.items()}
        self.rough = Reference(self.mechanism, FLOAT, **attachments)
        self.load = self.floats.get("payload")
        with np.errstate(all="ignore"):
            rough = self.rough.mass_matrix(self.floats["q"], self.load)
        if not np.isfinite(rough).all():
            raise RequestError(
                f"the mass matrix of '{self.mechanism.name}' is larger than any double holds; look"
                " for a misplaced exponent or unit in the description"
            )
        self.condition = _condition(rough)
        lowest = np.linalg.eigvalsh(rough)[..., 0]
        self.indefinite = int((lowest < -1e-12 * _norm(rough)).sum())
        """Number of states at which the declared inertias give an M that is not positive
        semidefinite.
        """
        self.digits = 60 + int(np.ceil(np.log10(min(self.condition, 1e40))))
        self.working = working or self.digits + GUARD
        self.scalars = arb(self.working)
        self.reference = Reference(self.mechanism, self.scalars, **attachments)
        self.rough.described = self.reference.described = self.described
        self.balls = {name: self.scalars.array(values) for name, values in self.states.items()}
        self._results: dict[str, dict[str, Array]] = {}
        self._all_frames: tuple[ReferenceResults, int] | None = None
        """Results for all frames, and the index of the frame, if it is one of several."""

    @property
    def links(self) -> dict[str, Any]:
        """Return the attachments that are options of a Program."""
        links: dict[str, Any] = {"task_rows": ALL_ROWS, **self.attachments}
        links.pop("convention", None)
        return links

    @cached_property
    def sharper(self) -> Self:
        """Return the answers at the same states with twice the working digits."""
        return type(self)(
            self.described,
            self.count,
            self.seed,
            adjusted=self.adjusted,
            baumgarte=self.baumgarte,
            working=2 * self.working,
            **self.attachments,
        )

    @cached_property
    def of_each_frame(self) -> list[Self]:
        """Return one object for each frame, with that frame only; [self] if there is at most one
        frame.
        """
        if len(self.rough.frames) < 2:
            return [self]
        by_frame = []
        pairs = zip(self.rough.of_each_frame(), self.reference.of_each_frame(), strict=True)
        for k, (rough, reference) in enumerate(pairs):
            results = copy(self)
            results.replace_results({})
            results.rough, results.reference = rough, reference
            results.attachments = {**self.attachments, "frame": self.rough.frames[k].name}
            results._all_frames = (self, k)
            by_frame.append(results)
        return by_frame

    def arguments(
        self, function: str, source: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Return the function's arguments at the states, (count, …) each; `source` selects balls
        (default) or floats.
        """
        self.draw(function)
        source = self.balls if source is None else source
        spec = FUNCTIONS[function]
        return {
            a.name: source[spec.sample_kind(a.name)]
            for a in (*spec.arguments, *spec.depends_on)
            if a in spec.arguments
            or self.attachments.get(a.name)
            or a.name in self.adjusted_arguments
            or (a == GAINS and self.baumgarte)
        }

    def reference_arguments(
        self, function: str, source: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Return the function's `arguments` without the adjusted numbers, which the reference has
        in its mechanism.
        """
        return {
            name: values
            for name, values in self.arguments(function, source).items()
            if name not in self.adjusted_arguments
        }

    def draw(self, function: str) -> None:
        """Draw the additional arguments of a derivative, changes and weights, at every state."""
        count = {"NF": len(self.rough.frames), "NW": len(self.rough.wrenches)}
        sizes = self.mechanism.sizes._replace(
            **count,
            NK=len(self.rough.task_rows),
            NT=len(self.rough.contacts),
            NR=len(base_parameter_map(self.rough)[0]) if FUNCTIONS[function].counts("NR") else 0,
            **self._closed_loop_sizes(FUNCTIONS[function]),
        )
        if (
            any(array.drawn in CLOSED for array in FUNCTIONS[function].arguments)
            and CLOSED[0] not in self.states
        ):
            self._add_states(
                dict(
                    zip(
                        CLOSED,
                        self._open_states() if self.baumgarte else self._closed_states(),
                        strict=True,
                    )
                )
            )
        for array in FUNCTIONS[function].arguments:
            shape = (array.of_each(count[array.each]) if array.each else array).sizes(sizes)
            drawn = self.states.get(
                array.name
            )  # the results of two functions may share a name and differ in shape
            if drawn is None or (
                array.name not in self.adjusted_arguments and drawn.shape[1:] != shape
            ):
                self._add_states(
                    draw_derivative_arguments({array.name: shape}, self.count, self.seed)
                )

    def _closed_states(self) -> tuple[Array, Array]:
        """Return closed positions and velocities that satisfy the constraints; any states without
        closed loops.
        """
        if not self.mechanism.loops:
            return self.states["q"], self.states["v"]
        states = closed_states(self.mechanism, assemble(self.mechanism), self.count, self.seed)
        return states["q"], states["v"]

    def _open_states(self) -> tuple[Array, Array]:
        """Return open positions near the closed ones, and unconstrained velocities."""
        positions = open_states(
            self.mechanism, assemble(self.mechanism), self.count, self.seed, APART
        )
        return np.array([list(q) for q in positions], dtype=object), self.states["v"]

    def _closed_loop_sizes(self, function: Function) -> dict[str, int]:
        """Return the sizes NL, NI and NA of the closed loops, if the function depends on them."""
        if not (function.holds_loops_closed and self.mechanism.loops):
            return {}
        assembly = assemble(self.mechanism)
        return {
            "NL": assembly.rows,
            "NI": self.mechanism.nv - assembly.rank,
            "NA": len(assembly.actuated),
        }

    def _add_states(self, drawn: Mapping[str, Array]) -> None:
        """Add drawn arguments to the states."""
        self.states |= drawn
        self.floats |= {name: values.astype(float) for name, values in drawn.items()}
        self.balls |= {name: self.scalars.array(values) for name, values in drawn.items()}

    def results(self, function: str) -> dict[str, Array]:
        """Return the function's results by name, (count, …) each, over balls."""
        if (
            function not in self._results
            and self._all_frames is not None
            and FUNCTIONS[function].derivative is None
        ):
            all_frames, k = self._all_frames
            results = all_frames.results(function)
            self._results[function] = (
                {name: values[:, k] for name, values in results.items()}
                if FUNCTIONS[function].uses_all_frames
                else results
            )
        if function not in self._results:
            self._results[function] = evaluate_adaptively(
                self.reference, self.working, function, self.reference_arguments(function), KNOWN
            )
        return self._results[function]

    def replace_results(self, results: dict[str, dict[str, Array]]) -> None:
        """Replace all cached results by these results of functions."""
        for name in _WORKED_OUT:
            vars(self).pop(name, None)
        self._results, self._all_frames = results, None

    @property
    def mass_matrix(self) -> Array:
        return self.results("mass_matrix")["M"]

    @property
    def bias(self) -> Array:
        return self.results("bias_force")["c"]


def _norm(matrices: Array) -> Array:
    """Return the largest row sum per state (count,) of matrices (count, n, n)."""
    return np.asarray(np.abs(matrices).sum(axis=-1).max(axis=-1))


def _condition(matrices: Array) -> float:
    """Return the largest condition number over the states; infinite if a matrix is singular."""
    values = np.linalg.svd(matrices, compute_uv=False)
    smallest = values[..., -1].min()
    return float((values[..., 0] / values[..., -1]).max()) if smallest > 0 else float("inf")
