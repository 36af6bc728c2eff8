"""Divisors that cannot vanish: the certificate that D_k ≥ H_kᵀ M_k H_k, less what round-off can take (`divisors`).

`ranges` is the box of states that it speaks of, and `boxes` its cells; `bodies` is what the links say of the exact D_k.
`recognition` tells which rows are pivots, by their values at the states of `samples`. Two analyses bound the round-off:
`rounding` the forward errors of the rows, in `intervals`; `backward` the backward error of what `elimination` reads.
"""

from __future__ import annotations

from fractions import Fraction

from symgen.certificate.divisors import divisor_floors
from symgen.ir import Program
from symgen.mechanism import Mechanism
from symgen.options import ProgramOptions, TextOptions

__all__ = ["checked_floors", "divisor_floors"]


def checked_floors(mechanism: Mechanism, program: Program, options: ProgramOptions, text: TextOptions) -> dict[int, Fraction]:
    """What checked functions compare their divisors with; nothing where `text` does not ask for checks, and where inertia
    may change at run time."""
    return divisor_floors(mechanism, program, options, text) if text.checked and not options.parameters else {}
