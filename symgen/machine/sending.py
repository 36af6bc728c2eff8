"""Contents of a pickled solver."""

from __future__ import annotations

from typing import Any, NamedTuple

from symgen.ir.program import Outline
from symgen.machine.building import Build, Packed
from symgen.vocabulary.functions import Sizes
from symgen.vocabulary.options import TextOptions


class Sent(NamedTuple):
    """Contents of a pickled solver, with which it needs no compiler where it arrives."""

    name: str
    outlines: dict[str, Outline]
    sizes: Sizes
    text: TextOptions
    build: Build
    library: Packed | None
    blocks: dict[str, Packed]
    """By function."""
    defaults: dict[str, tuple[float, ...]]
    now: dict[str, Any]
    """The parameters as they were set."""
    when: str
    """When functions are compiled for blocks of states."""
