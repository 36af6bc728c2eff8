"""The real types of the C: their unit of round-off, and when an answer in one has lost its digits."""

from __future__ import annotations

EPS = {"double": 2.0**-52, "float": 2.0**-23}
"""The spacing of the numbers at 1."""
LOST = 1e-3
"""Share of an answer. When more than this may be wrong, the digits of the answer say nothing."""


def loses(round_offs: float, real: str) -> bool:
    """Whether so many round-offs of an answer are more than LOST of it. True for NaN and infinity."""
    return not round_offs * EPS[real] <= LOST
