"""The exact answers at a set of states and how large their terms are, computed once and shared by the checks."""

from __future__ import annotations

from functools import cached_property

from symgen.verification.exact import ExactAnswers
from symgen.verification.sizes import Sizes

SHARPENINGS = 4
"""How often the digits are doubled where only the radii of balls are too wide."""


class Truth(ExactAnswers):
    """What a Program is held against."""

    @cached_property
    def sizes(self) -> Sizes:
        """What its round-off is measured by."""
        return Sizes(self)
