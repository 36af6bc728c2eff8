"""Meaning of a Program's rows for the proofs: a pivot of the mass matrix, a multiplier, or an
element of a gain.

One rule serves all. A candidate is proposed: a divisor may be the pivot of any joint, and any other
row what its name says. The values at random states confirm it (`samples`). So a certificate may be
missed if rows have lost their names, but a name alone certifies nothing, and no pass has to
preserve names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from symgen.certificate.samples import Samples, Values
from symgen.derivation.model import Model
from symgen.ir.program import Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive
from symgen.pipeline.layout import candidate_layouts
from symgen.vocabulary import derivatives
from symgen.vocabulary.options import ProgramOptions

POSITIVE = ("div", "log", "sqrt")
"""Operations whose last operand must not vanish or change its sign."""
_NAMED = re.compile(r"(?:neg_)?(alpha|G)_([1-9]\d*)_([1-9]\d*)")
"""Names of multipliers and gains in derivations; joints and elements count from 1."""


@dataclass(frozen=True)
class Pivot:
    """D_k of M = U D Uᵀ, k = `joint`; in this file "joint" means one entry of v."""

    joint: int


@dataclass(frozen=True)
class Multiplier:
    """α_ik of the elimination (SA 26-30): i = `joint`; it is divided by the pivot of k = `over`."""

    joint: int
    over: int


@dataclass(frozen=True)
class Gain:
    """One of the six elements of G_k (RK 5.12), moment first, in a frame that derivations choose
    for the link of `joint` k.
    """

    joint: int
    element: int


Meaning = TypeVar("Meaning", Pivot, Multiplier | Gain)


class Recognition:
    """Meaning of the rows of `program`. The sign is left open: a row may be the negative of a
    multiplier or a gain.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        program: Program,
        options: ProgramOptions,
        samples: Samples | None = None,
    ) -> None:
        """`samples` are given if a matrix other than M is eliminated."""
        self.mechanism, self.function, self.rows = (
            mechanism,
            derivatives.base_function(program.function),
            program.rows,
        )
        self.samples = samples or Samples.at_random_states(mechanism, program, options)

    @cached_property
    def divisors(self) -> dict[int, int | None]:
        """{row: joint whose pivot it is, or None} of every variable row that is a divisor, or whose
        logarithm or root is taken.
        """
        return {row: self.pivot(row) for row in divisor_rows(self.rows)}

    def pivot(self, row: int) -> int | None:
        """Return the joint whose pivot a row is, or None."""
        meaning = self._confirmed(row, [Pivot(joint) for joint in self.samples.joints])
        return None if meaning is None else meaning.joint

    @cached_property
    def multipliers(self) -> dict[int, Multiplier | Gain]:
        """The rows whose values confirm the meaning of their names: multipliers and elements of
        gains.
        """
        proposed = {
            index: meaning
            for index, row in enumerate(self.rows)
            if (meaning := named_meaning(row.name)) is not None
        }
        return {
            index: meaning
            for index, meaning in proposed.items()
            if self._confirmed(index, [meaning])
        }

    def _confirmed(self, row: int, proposed: Iterable[Meaning]) -> Meaning | None:
        """Return the first proposed meaning that the row's values confirm."""
        return next((meaning for meaning in proposed if self._values_confirm(row, meaning)), None)

    def _values_confirm(self, row: int, meaning: Pivot | Multiplier | Gain) -> bool:
        if isinstance(meaning, Gain):
            return any(
                self.samples.same(self.samples.rows[row], values)
                for values in self._elements(meaning)
            )
        values = self._values(meaning)
        sign = 0 if values is None else self.samples.same(self.samples.rows[row], values)
        return sign == 1 if isinstance(meaning, Pivot) else sign != 0

    def _values(self, meaning: Pivot | Multiplier) -> Values | None:
        """Return the quantity at the states, by the reference; None if the mechanism has no such
        quantity.
        """
        elimination = self.samples.elimination
        if isinstance(meaning, Pivot):
            return elimination.reduced.get((meaning.joint, meaning.joint))
        return elimination.factors.get((meaning.joint, meaning.over))

    def _elements(self, meaning: Gain) -> list[Values]:
        """Return an element of a gain at the states, in each of the frames in which it may be
        written.
        """
        exists = meaning.joint in self.samples.joints and meaning.element < 6
        return [gain[meaning.element] for gain in self._gains[meaning.joint]] if exists else []

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models in the frames that derivations choose."""
        return tuple(
            derive.model_in_layout(self.mechanism, where)
            for where in candidate_layouts(self.mechanism.uncoupled, self.function)
        )

    @cached_property
    def _gains(self) -> dict[int, list[list[Values]]]:
        """Gains of each degree of freedom, in each distinct frame of its link."""
        gains = {}
        for k, (body, _) in enumerate(self.mechanism.dofs):
            *regrouped, reframed = (model.links[body] for model in self.models)
            links = [
                reframed,
                *(
                    link
                    for link in regrouped
                    if link.placement is not reframed.placement or not link.slack.is_zero
                ),
            ]
            gains[k] = [self.samples.gain(k, link.placement, link.slack) for link in links]
        return gains


def divisor_rows(rows: Sequence[Row]) -> list[int]:
    """Return the rows that are divisors, or whose logarithm or root is taken, without constants;
    ascending.
    """
    return [
        row
        for row in sorted({row_.args[-1] for row_ in rows if row_.op in POSITIVE})
        if rows[row].op != "const"
    ]


def named_meaning(name: str) -> Multiplier | Gain | None:
    """Return the meaning that a row's name states; names count degrees of freedom from 1."""
    match = _NAMED.fullmatch(name)
    if match is None:
        return None
    first, second = int(match[2]) - 1, int(match[3]) - 1
    return Multiplier(first, second) if match[1] == "alpha" else Gain(first, second)
