"""What is made of other functions: it calls them on rows of its own, and their finished Programs stand where they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from symgen.derivation.scalars import Derivation, Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.factor import Results


class Calls(Protocol):
    """The functions of one robot, to be called in one derivation. `inputs` are the arguments of what is composed."""

    mechanism: Mechanism
    home: Derivation
    inputs: Mapping[str, list[Scalar]]

    def __call__(self, function: str, stage: str = "", **arguments: Sequence[Scalar]) -> Results:
        """The results of a function. Arguments that are not given are those of `inputs`; names of rows begin with the stage."""


Compose = Callable[[Calls], Results]
