"""The exact answers at a set of states, computed once."""

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
from symgen.verification.adjusted import Given, broadcast
from symgen.vocabulary.arrays import ALL_ROWS, USUAL
from symgen.vocabulary.functions import CLOSED, FUNCTIONS, GAINS, Function

GUARD = 25
"""Working digits beyond those asked for. Balls lose them because operands depend on each other."""
KNOWN = 50
"""Digits that an answer has at least."""
_WORKED_OUT = ("sharper", "scales", "of_each_frame")
"""What depends on the frame and is kept once it is known."""


class ExactAnswers:
    """Reference answers of `mechanism` at `count` seeded states, over balls.

    `digits` = 60 + ⌈log₁₀ cond M⌉ are asked for; `working` digits are carried. Raises RequestError for an unknown
    `frame`, `payload` or `wrench` (links' names; of frames and wrenches there may be several). Where numbers may change at run
    time, the answers are those of the `adjusted` robot, and the arguments that hold its numbers are the same at every state. With
    `baumgarte` there are gains, and what is about loops is asked for beside them: off closed positions, at velocities that open
    them.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        count: int = 16,
        seed: int = 0,
        *,
        adjusted: Given | None = None,
        baumgarte: bool = False,
        working: int | None = None,
        **attachments: Unpack[Attachments],
    ) -> None:
        self.adjusted = adjusted or Given(mechanism)
        self.mechanism, self.described = self.adjusted.mechanism, mechanism
        self.count, self.seed, self.baumgarte = count, seed, baumgarte
        self.given: dict[str, Sequence[Fraction]] = dict(self.adjusted.arguments)
        self.attachments, self.convention = attachments, attachments.get("convention", USUAL)
        payload, wrench = attachments.get("payload"), attachments.get("wrench")
        self.states = draw_states(
            self.mechanism, count, seed, payload, wrench, {GAINS.name: (2,)} if baumgarte else None
        )
        self.states |= {name: broadcast(numbers, count) for name, numbers in self.given.items()}
        self.floats = {name: values.astype(float) for name, values in self.states.items()}
        self.rough = Reference(self.mechanism, FLOAT, **attachments)
        self.load = self.floats.get("payload")
        with np.errstate(all="ignore"):
            rough = self.rough.mass_matrix(self.floats["q"], self.load)
        if not np.isfinite(rough).all():
            raise RequestError(
                f"the mass matrix of '{self.mechanism.name}' is larger than any double holds; look for a misplaced "
                "exponent or unit in the description"
            )
        self.condition = _condition(rough)
        lowest = np.linalg.eigvalsh(rough)[..., 0]
        self.indefinite = int((lowest < -1e-12 * _norm(rough)).sum())
        """States at which the declared inertias give an M that is not even positive semidefinite."""
        self.digits = 60 + int(np.ceil(np.log10(min(self.condition, 1e40))))
        self.working = working or self.digits + GUARD
        self.scalars = arb(self.working)
        self.reference = Reference(self.mechanism, self.scalars, **attachments)
        self.rough.described = self.reference.described = self.described
        self.balls = {name: self.scalars.array(values) for name, values in self.states.items()}
        self._known: dict[str, dict[str, Array]] = {}
        self._among: tuple[ExactAnswers, int] | None = None
        """Where its frame is one of several: the answers of all, and which it is."""

    @property
    def links(self) -> dict[str, Any]:
        """The attachments that are options of a Program."""
        links: dict[str, Any] = {"task_rows": ALL_ROWS, **self.attachments}
        links.pop("convention", None)
        return links

    @cached_property
    def sharper(self) -> Self:
        """The same states with twice the working digits."""
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
        """The same answers once for each frame, where only that one is named; itself alone where that is so already."""
        if len(self.rough.frames) < 2:
            return [self]
        found = []
        pairs = zip(self.rough.of_each_frame(), self.reference.of_each_frame(), strict=True)
        for k, (rough, reference) in enumerate(pairs):
            one = copy(self)
            one.take({})
            one.rough, one.reference = rough, reference
            one.attachments = {**self.attachments, "frame": self.rough.frames[k].name}
            one._among = (self, k)
            found.append(one)
        return found

    def arguments(
        self, function: str, source: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """The function's arguments at the states, (count, …) each; `source` chooses balls (default) or floats."""
        self.draw(function)
        source = self.balls if source is None else source
        spec = FUNCTIONS[function]
        return {
            a.name: source[spec.sample_kind(a.name)]
            for a in (*spec.arguments, *spec.depends_on)
            if a in spec.arguments
            or self.attachments.get(a.name)
            or a.name in self.given
            or (a == GAINS and self.baumgarte)
        }

    def reference_arguments(
        self, function: str, source: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """The function's `arguments` without those that are `given`, which the reference has in its mechanism."""
        return {
            name: values
            for name, values in self.arguments(function, source).items()
            if name not in self.given
        }

    def draw(self, function: str) -> None:
        """Draw what a derivative takes besides: changes and weights, each as often as there are states."""
        count = {"NF": len(self.rough.frames), "NW": len(self.rough.wrenches)}
        sizes = self.mechanism.sizes._replace(
            **count,
            NK=len(self.rough.task_rows),
            NT=len(self.rough.contacts),
            NR=len(base_parameter_map(self.rough)[0]) if FUNCTIONS[function].counts("NR") else 0,
            **self._of_loops(FUNCTIONS[function]),
        )
        if (
            any(array.drawn in CLOSED for array in FUNCTIONS[function].arguments)
            and CLOSED[0] not in self.states
        ):
            self._take(
                dict(zip(CLOSED, self._beside() if self.baumgarte else self._closed(), strict=True))
            )
        for array in FUNCTIONS[function].arguments:
            shape = (array.of_each(count[array.each]) if array.each else array).sizes(sizes)
            known = self.states.get(
                array.name
            )  # results of one name may have two shapes, as the C of two functions
            if known is None or (array.name not in self.given and known.shape[1:] != shape):
                self._take(draw_derivative_arguments({array.name: shape}, self.count, self.seed))

    def _closed(self) -> tuple[Array, Array]:
        """Positions on the loops, and velocities that they allow; any where there are none."""
        if not self.mechanism.loops:
            return self.states["q"], self.states["v"]
        found = closed_states(self.mechanism, assemble(self.mechanism), self.count, self.seed)
        return found["q"], found["v"]

    def _beside(self) -> tuple[Array, Array]:
        """Positions near them, and any velocities."""
        apart = open_states(self.mechanism, assemble(self.mechanism), self.count, self.seed, APART)
        return np.array([list(q) for q in apart], dtype=object), self.states["v"]

    def _of_loops(self, what: Function) -> dict[str, int]:
        """The sizes of what is about loops."""
        if not (what.holds_loops_closed and self.mechanism.loops):
            return {}
        at = assemble(self.mechanism)
        return {"NL": at.rows, "NI": self.mechanism.nv - at.rank, "NA": len(at.actuated)}

    def _take(self, drawn: Mapping[str, Array]) -> None:
        """Add to the states."""
        self.states |= drawn
        self.floats |= {name: values.astype(float) for name, values in drawn.items()}
        self.balls |= {name: self.scalars.array(values) for name, values in drawn.items()}

    def results(self, function: str) -> dict[str, Array]:
        """The function's results by name, (count, …) each, over balls."""
        if (
            function not in self._known
            and self._among is not None
            and FUNCTIONS[function].derivative is None
        ):
            together, k = self._among
            whole = together.results(function)
            self._known[function] = (
                {name: values[:, k] for name, values in whole.items()}
                if FUNCTIONS[function].uses_all_frames
                else whole
            )
        if function not in self._known:
            self._known[function] = evaluate_adaptively(
                self.reference, self.working, function, self.reference_arguments(function), KNOWN
            )
        return self._known[function]

    def take(self, known: dict[str, dict[str, Array]]) -> None:
        """Take these for the results of functions, in the place of all that is known."""
        for name in _WORKED_OUT:
            vars(self).pop(name, None)
        self._known, self._among = known, None

    @property
    def mass_matrix(self) -> Array:
        return self.results("mass_matrix")["M"]

    @property
    def bias(self) -> Array:
        return self.results("bias_force")["c"]


def _norm(matrices: Array) -> Array:
    """Largest row sum per state (count,) of (count, n, n)."""
    return np.asarray(np.abs(matrices).sum(axis=-1).max(axis=-1))


def _condition(matrices: Array) -> float:
    values = np.linalg.svd(matrices, compute_uv=False)
    smallest = values[..., -1].min()
    return float((values[..., 0] / values[..., -1]).max()) if smallest > 0 else float("inf")
