"""Attacks on symgen's claims, one per file, with fresh seeds (`python -m tests.adversary`).

Every file except this one, the tests and files that start with `_` is an attack. An attack declares
`WORD`, the claim that it tries to refute, and the endless generator `tries(seed)`. Each step is one
try; it yields None if the claim held, otherwise a `Failure`. A try takes a few seconds at most, so
that the runner can stop in time. `seed` alone determines the tries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """A refuted claim: one sentence, and the files (name -> content) that reproduce it."""

    sentence: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
