"""Frama-C's Eva over the declared ranges, with what the other proofs know admitted to it.

Eva's intervals forget that a mass matrix is positive definite. So it is told the certified floors of the divisors
(`certificate`) and how large the multipliers of an elimination can get (`symgen.proof.multipliers`). What it was told is listed;
a divisor without a certificate is not admitted, and the function then counts as not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symgen.backends._target import Target
from symgen.certificate.divisors import Floor
from symgen.certificate.ranges import Ranges
from symgen.ir import Program
from symgen.mechanism import Mechanism
from symgen.programs import deriving
from symgen.proof import eva
from symgen.proof.multipliers import multiplier_sizes


def finite(mechanism: Mechanism, programs: Mapping[str, Program], certified: Mapping[str, Iterable[Floor]], ranges: Ranges,
           target: Target) -> dict[str, eva.Proof]:
    """What Eva proves of the C of each function over `ranges`; `certified` are the certificates of its divisors.

    Raises ToolMissing without Frama-C.
    """
    lowest = {f: {one.row: one.floor for one in found if one.floor is not None} for f, found in certified.items()}
    plain = deriving.models(mechanism)[0]
    sizes = {f: multiplier_sizes(plain, program, ranges.of, lowest[f]) for f, program in programs.items()}
    return eva.prove(programs, target, ranges.of, lowest, sizes)
