"""What a row of a Program is to the proofs: a pivot of the mass matrix, a multiplier, or an element of a gain.

One rule for all of them. Something proposes: a divisor may be the pivot of any joint, and any other row what its name says. The
values at random states decide (`samples`). So a certificate may be missed where rows have lost their names, but a name alone
certifies nothing, and no pass has to carry names along.
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
from symgen.pipeline.layout import choices
from symgen.vocabulary import derivatives
from symgen.vocabulary.options import ProgramOptions

POSITIVE = ("div", "log", "sqrt")
"""Operations whose last operand must not vanish, or change its sign."""
_NAMED = re.compile(r"(?:neg_)?(alpha|G)_([1-9]\d*)_([1-9]\d*)")
"""How derivations name multipliers and gains; joints and elements count from 1."""


@dataclass(frozen=True)
class Pivot:
    """D_k of M = U D Uᵀ, k = `joint`; here and below, the entry of v, of which a joint may have several."""

    joint: int


@dataclass(frozen=True)
class Multiplier:
    """α_ik of the elimination (SA 26-30): i = `joint`, k = `over`, by whose pivot it is divided."""

    joint: int
    over: int


@dataclass(frozen=True)
class Gain:
    """One of the six elements of G_k (RK 5.12), moment first, in a frame that derivations choose for the link of `joint` k."""

    joint: int
    element: int


Meaning = TypeVar("Meaning", Pivot, Multiplier | Gain)


class Recognition:
    """What the rows of `program` are. The sign is left open: a row may hold the negative of a multiplier or a gain."""

    def __init__(
        self,
        mechanism: Mechanism,
        program: Program,
        options: ProgramOptions,
        samples: Samples | None = None,
    ) -> None:
        """`samples` where another matrix than M is eliminated."""
        self.mechanism, self.function, self.rows = (
            mechanism,
            derivatives.base_function(program.function),
            program.rows,
        )
        self.samples = samples or Samples.drawn(mechanism, program, options)

    @cached_property
    def divisors(self) -> dict[int, int | None]:
        """{row: joint whose pivot it is, None where it is none} of every row that something is divided by, or whose logarithm
        or root is taken, constants left out."""
        return {row: self.pivot(row) for row in divided(self.rows)}

    def pivot(self, row: int) -> int | None:
        """The joint whose pivot a row is."""
        what = self._decided(row, [Pivot(joint) for joint in self.samples.joints])
        return None if what is None else what.joint

    @cached_property
    def multipliers(self) -> dict[int, Multiplier | Gain]:
        """The rows that are what their names say, a multiplier or an element of a gain."""
        proposed = {
            index: what
            for index, row in enumerate(self.rows)
            if (what := proposal(row.name)) is not None
        }
        return {index: what for index, what in proposed.items() if self._decided(index, [what])}

    def _decided(self, row: int, proposed: Iterable[Meaning]) -> Meaning | None:
        """The first of what is proposed that the row's values bear out."""
        return next((what for what in proposed if self._holds(row, what)), None)

    def _holds(self, row: int, what: Pivot | Multiplier | Gain) -> bool:
        if isinstance(what, Gain):
            return any(
                self.samples.same(self.samples.rows[row], values) for values in self._elements(what)
            )
        values = self._values(what)
        sign = 0 if values is None else self.samples.same(self.samples.rows[row], values)
        return sign == 1 if isinstance(what, Pivot) else sign != 0

    def _values(self, what: Pivot | Multiplier) -> Values | None:
        """What the quantity is at the states, by the reference; None where the mechanism has no such quantity."""
        found = self.samples.elimination
        if isinstance(what, Pivot):
            return found.reduced.get((what.joint, what.joint))
        return found.factors.get((what.joint, what.over))

    def _elements(self, what: Gain) -> list[Values]:
        """What an element of a gain is at the states, in each of the frames that it may be written in."""
        known = what.joint in self.samples.joints and what.element < 6
        return [gain[what.element] for gain in self._gains[what.joint]] if known else []

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The frames that derivations choose."""
        return tuple(
            derive.laid(self.mechanism, where)
            for where in choices(self.mechanism.uncoupled, self.function)
        )

    @cached_property
    def _gains(self) -> dict[int, list[list[Values]]]:
        """Of every degree of freedom, in each of those frames of its link that differ."""
        found = {}
        for k, (body, _) in enumerate(self.mechanism.dofs):
            *others, plain = (model.links[body] for model in self.models)
            links = [
                plain,
                *(
                    one
                    for one in others
                    if one.placement is not plain.placement or not one.slack.is_zero
                ),
            ]
            found[k] = [self.samples.gain(k, one.placement, one.slack) for one in links]
        return found


def divided(rows: Sequence[Row]) -> list[int]:
    """What something is divided by, or its logarithm or root taken, constants left out; ascending."""
    return [
        row
        for row in sorted({one.args[-1] for one in rows if one.op in POSITIVE})
        if rows[row].op != "const"
    ]


def proposal(name: str) -> Multiplier | Gain | None:
    """What a row of this name should be; names count degrees of freedom from 1."""
    said = _NAMED.fullmatch(name)
    if said is None:
        return None
    first, second = int(said[2]) - 1, int(said[3]) - 1
    return Multiplier(first, second) if said[1] == "alpha" else Gain(first, second)
