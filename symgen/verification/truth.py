"""The exact answers at a set of states and how large their terms are, computed once and shared by the checks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from symgen.ir.program import Program
from symgen.reference.precision import Array
from symgen.verification.evaluating import Runner
from symgen.verification.exact import ExactAnswers
from symgen.verification.scales import Scales, ScalesOfFrames

SHARPENINGS = 4
"""How often the digits are doubled when only the balls are too wide."""


class Truth(ExactAnswers):
    """The exact answers and the sizes that Programs are compared with."""

    @cached_property
    def bounds(self) -> dict[tuple[str, ...], tuple[Program, dict[str, Array]]]:
        """What `symgen.verification.running_error` has worked out, by function, method, real type and trigonometry."""
        return {}

    def know(self, functions: Mapping[str, Runner]) -> None:
        """Take the answers of functions from these, which are judged otherwise."""
        for function, run in functions.items():
            self._known[function] = run(self.arguments(function))

    @cached_property
    def scales(self) -> Scales:
        """The sizes that round-off is measured against."""
        if len(self.of_each_frame) == 1:
            return Scales(self)
        return ScalesOfFrames(self, [one.scales for one in self.of_each_frame])
