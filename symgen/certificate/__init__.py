"""Divisors that cannot vanish: the certificate that D_k ≥ H_kᵀ M_k H_k, less what round-off can take (`divisors`).

`ranges` is the box of states that it speaks of, and `boxes` its cells; `bodies` is what the links say of the exact D_k.
`recognition` tells which rows are pivots, by their values at the states of `samples`. Two analyses bound the round-off:
`rounding` the forward errors of the rows, in `intervals`; `backward` the backward error of what `elimination` reads. `held` has
the pivots of what forces of loops and contacts feel.
"""

from __future__ import annotations

from collections.abc import Mapping

from symgen.certificate.at_run_time import run_time_floors
from symgen.certificate.divisors import divisor_floors
from symgen.ir.loops import Form
from symgen.ir.program import Bound, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.options import ProgramOptions, TextOptions

__all__ = ["checked_floors", "divisor_floors"]


def checked_floors(
    mechanism: Mechanism, forms: Mapping[str, Form], options: ProgramOptions, text: TextOptions
) -> dict[str, dict[int, Bound]]:
    """By function, what the divisors of checked functions are compared with, by row; nothing where `text` asks for no checks, and
    of a loop over links, which there is without them.
    """
    programs = {function: form for function, form in forms.items() if isinstance(form, Program)}
    if not text.checked or len(programs) < len(forms):
        return {function: {} for function in forms}
    if options.parameters:
        return run_time_floors(mechanism, programs, options)
    return {
        function: {**divisor_floors(mechanism, program, options, text)}
        for function, program in programs.items()
    }
