"""Request of one call: a robot, its functions and the options, validated once and passed as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions, values_of


@dataclass(frozen=True)
class Request:
    """Functions of a robot by name, "forward_dynamics" or "forward_dynamics=riccati", and the
    options of Programs and text.

    `functions` None means every function that the robot has. With `strict`, a named function that
    is too long raises an error.
    """

    mechanism: Mechanism
    functions: tuple[str, ...] | None = None
    options: ProgramOptions = field(default_factory=ProgramOptions)
    text: TextOptions = PLAIN
    strict: bool = True


def make_request(
    robot: Mechanism | str | PathLike[str],
    functions: str | Iterable[str] | None,
    options: Mapping[str, Any],
    **more: Any,
) -> Request:
    """Return the Request of a public function from its options, a TypedDict of
    `symgen.vocabulary.options`.

    `more` are options that the function takes by position, or has computed. Raises ArgumentError
    for an invalid value.
    """
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    names = (functions,) if isinstance(functions, str) else functions
    chosen = {**options, **more}
    text = values_of(TextOptions, chosen)
    return Request(
        mechanism,
        None if names is None else tuple(names),
        values_of(ProgramOptions, chosen).guarded(text.checked),
        text,
        chosen.get("strict", True),
    )
