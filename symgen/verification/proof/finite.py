"""Frama-C's Eva over the declared ranges, given the results of the other proofs.

Eva's intervals forget that a mass matrix is positive definite. So it is given the certified floors of the divisors
(`certificate`), how large the multipliers of an elimination can get (`symgen.verification.proof.multipliers`), and that
a share of a length is no longer than it (`symgen.certificate.sum_of_squares`). What it was given is listed.
A divisor without a certificate is not admitted, and the function then counts as not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symgen.certificate.divisors import Floor
from symgen.certificate.ranges import Ranges
from symgen.certificate.recognition import Recognition
from symgen.certificate.sum_of_squares import shares
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.verification.proof import eva
from symgen.verification.proof.multipliers import multiplier_sizes
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.target import Target


def finite(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    certified: Mapping[str, Iterable[Floor]],
    ranges: Ranges,
    target: Target,
) -> dict[str, eva.Proof]:
    """What Eva proves of the C of each function over `ranges`; `certified` are the certificates of its divisors.

    Raises ToolMissing without Frama-C.
    """
    lowest = {
        f: {one.row: one.floor for one in found if one.floor is not None}
        for f, found in certified.items()
    }
    sizes = {
        f: shares(programs[f])
        | multiplier_sizes(
            Recognition(mechanism, programs[f], options), ranges.of, rows, options.payload
        )
        for f, rows in lowest.items()
        if rows
    }
    return eva.prove(programs, target, ranges.of, lowest, sizes)
