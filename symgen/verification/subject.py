"""Subject of a verification: Programs of a robot, and the C that is printed for them or read from a
folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from symgen.ir.loops import Form
from symgen.ir.program import Bound
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions

DivisorBounds = Mapping[str, Mapping[int, Bound]]
"""Certified lower bounds of divisors, by function and row."""


@dataclass(frozen=True)
class Files:
    """The C files of a folder. Empty entries are printed for the check.

    `sources` are by function; `blocks` (blocks of states) and `device` (GPU) are by file name.
    `header` is NAME.h, `sincos` is NAME_sincos.h, and `name` is the NAME in them. The C is compiled
    unchanged. For single states, the reader parses the output of the compiler's own preprocessor;
    for blocks of states and for a GPU, it parses the text itself. C that does not compile fails the
    check.
    """

    name: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)
    header: str | None = None
    sincos: str = ""


@dataclass(frozen=True)
class Subject:
    """The `programs` (by function) of a mechanism that are compared with the reference at `states`
    seeded states.

    `helpers` are Programs of further functions that an identity needs. If `compiled` is False, the
    Programs run over NumPy's reals. `divisor_bounds` are passed if they are already known.
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
    divisor_bounds: DivisorBounds | None = None

    def __post_init__(self) -> None:
        validate_states(self.states)


def validate_states(states: int) -> None:
    """Raise ArgumentError if the number of states is below 1."""
    if states < 1:
        raise ArgumentError(f"verification at {states} states checks nothing; use one or more")
