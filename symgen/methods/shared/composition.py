"""Interface of composed functions: a method calls other functions, whose finished Programs are
inserted at the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from symgen.derivation.scalars import Derivation, Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.factor import Results


class Calls(Protocol):
    """Callable functions of one robot, within one derivation.

    `inputs` are the arguments of the composed function.
    """

    mechanism: Mechanism
    derivation: Derivation
    inputs: Mapping[str, list[Scalar]]

    def __call__(self, function: str, stage: str = "", **arguments: Sequence[Scalar]) -> Results:
        """Return the results of a function.

        Arguments that are left out are taken from `inputs`. Row names start with the stage.
        """


Compose = Callable[[Calls], Results]
