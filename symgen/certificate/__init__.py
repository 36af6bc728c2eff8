"""Divisors that cannot vanish: the certificate that D_k ≥ H_kᵀ M_k H_k, less what round-off can take (`divisors`).

`ranges` is the box of states that it speaks of; `bodies` what the links say of the exact D_k; `rounding` and `elimination`
bound the round-off, the rows' own forward errors and the backward error of an elimination.
"""

from __future__ import annotations

from fractions import Fraction

from symgen.certificate.divisors import divisor_floors
from symgen.ir import Program
from symgen.mechanism import Mechanism
from symgen.options import ProgramOptions, TextOptions

__all__ = ["checked_floors", "divisor_floors"]


def checked_floors(mechanism: Mechanism, program: Program, options: ProgramOptions, text: TextOptions) -> dict[int, Fraction]:
    """What checked functions compare their divisors with; nothing where `text` does not ask for checks."""
    return divisor_floors(mechanism, program, options, text) if text.checked else {}
