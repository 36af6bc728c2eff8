"""Certificate that divisors cannot vanish: D_k ≥ H_kᵀ M_k H_k, less a bound of round-off
(`divisors`).

`ranges` defines the box of states, and `boxes` its cells; `bodies` has the energy bounds on the
exact D_k. `recognition` determines which rows are pivots, by their values at the states of
`samples`. Two analyses bound the round-off: `rounding` the forward errors of the rows, in
`intervals`; `backward` the backward error of the elimination that `elimination` reads. `divisors`
also bounds the pivots of A M⁻¹ Aᵀ of closed loops and contacts.
"""

from __future__ import annotations

from collections.abc import Mapping

from symgen.certificate.at_run_time import run_time_bounds
from symgen.certificate.divisors import certified_bounds
from symgen.ir.loops import Form
from symgen.ir.program import Bound
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.options import ProgramOptions, TextOptions

__all__ = ["certified_bounds", "checked_bounds"]


def checked_bounds(
    mechanism: Mechanism, forms: Mapping[str, Form], options: ProgramOptions, text: TextOptions
) -> dict[str, dict[int, Bound]]:
    """Return the lower bounds of the divisors of checked functions, by function and row.

    The bounds are empty without `checked`, and for functions in looped form, which have none.
    """
    programs = {function: form for function, form in forms.items() if not form.looped}
    if not text.checked or len(programs) < len(forms):
        return {function: {} for function in forms}
    if options.parameters:
        return run_time_bounds(mechanism, programs, options)
    return {
        function: {**certified_bounds(mechanism, program, options, text)}
        for function, program in programs.items()
    }
