"""The subject of a verification: Programs of a robot, and the C that is printed for them or that a folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from symgen.ir.loops import Form
from symgen.ir.program import Bound
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions

Floors = Mapping[str, Mapping[int, Bound]]
"""The certified bounds of divisors, by function and row."""


@dataclass(frozen=True)
class Files:
    """The C of a folder; what is empty is printed for the check.

    `sources` are by function, `blocks` (for many states) and `device` (for a GPU) by file. `header` is NAME.h, `sincos` is
    NAME_sincos.h, and `name` the NAME in them. The C is compiled as it is, and what is read is what the compiler's own
    preprocessor makes of it; of many states and for a GPU, what the text says. C that does not compile has failed.
    """

    name: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)
    header: str | None = None
    sincos: str = ""


@dataclass(frozen=True)
class Subject:
    """The `programs` (by function) of a mechanism that are checked against the reference at `states` seeded states.

    `helpers` are Programs that only stand in for the functions that an identity needs. Where nothing is `compiled`, the Programs
    run over NumPy's reals. `floors` are given where they are known already.
    """

    mechanism: Mechanism
    programs: Mapping[str, Form]
    options: ProgramOptions = field(default_factory=ProgramOptions)
    text: TextOptions = PLAIN
    states: int = 16
    seed: int = 0
    compiled: bool = True
    helpers: Mapping[str, Form] = field(default_factory=dict)
    files: Files = field(default_factory=Files)
    floors: Floors | None = None

    def __post_init__(self) -> None:
        validate_states(self.states)


def validate_states(states: int) -> None:
    """Raise ArgumentError for no state at all."""
    if states < 1:
        raise ArgumentError(f"verification at {states} states checks nothing; ask for one or more")
