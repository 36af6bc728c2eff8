"""The adversary: attacks on each of symgen's words, one a file, with fresh seeds (`python -m tests.adversary`, `make adversary`).

Every file but this one and those that start with `_` is an attack. It declares `WORD`, the sentence of symgen's that it tries to
make false, and `tries(seed)`, which goes on without end: each step is one try, and gives None where symgen's word held, else a
`Failure`. A try takes seconds at most, so that the runner can stop in time, and `seed` alone decides what is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """A word that did not hold: one sentence, and the files that show it again (their names, texts or bytes)."""

    sentence: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
