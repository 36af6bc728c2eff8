"""Exact results at a set of states and the sizes of their terms, computed once and shared by the
checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from symgen.ir.program import Program
from symgen.reference.precision import Array
from symgen.verification.evaluating import Runner
from symgen.verification.reference_results import ReferenceResults
from symgen.verification.scales import Scales, ScalesOfFrames

SHARPENINGS = 4
"""Maximum number of times that the digits are doubled if balls are too wide."""


class ExactResults(ReferenceResults):
    """The exact results and the sizes to which the errors of Programs are relative."""

    @cached_property
    def bounds(self) -> dict[tuple[str, ...], tuple[Program, dict[str, Array]]]:
        """Return the cache of `symgen.verification.running_error`, by function, method, real type
        and trigonometry.
        """
        return {}

    def set_results(self, functions: Mapping[str, Runner]) -> None:
        """Set the results of functions from these runners; other checks verify them."""
        for function, run in functions.items():
            self._results[function] = run(self.arguments(function))

    @cached_property
    def scales(self) -> Scales:
        """Return the sizes to which round-off is relative."""
        if len(self.of_each_frame) == 1:
            return Scales(self)
        return ScalesOfFrames(self, [results.scales for results in self.of_each_frame])
