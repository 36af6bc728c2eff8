"""What a folder of C says of its proofs: `symgen.verification.proof.prove_programs` as plain data for manifest and README."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import BuildError
from symgen.verification.proof import prove_programs
from symgen.verification.subject import Files
from symgen.vocabulary import derivatives
from symgen.vocabulary.options import ProgramOptions, TextOptions


def proof_sheet(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    text: TextOptions,
    name: str = "",
) -> dict[str, Any]:
    """`Proof.facts` with Frama-C's verdict under "eva", or with "eva_missing", a sentence, where Frama-C is not installed or
    fails.

    It holds no observations, since these depend on the machine's library. `name` is the NAME in the C. Of derivatives nothing is
    proved, nor where numbers may change at run time; then, and where there are no other functions, nothing is said.
    """
    programs = {
        function: program
        for function, program in programs.items()
        if derivatives.told(function) is None
    }
    if not programs or options.parameters:
        return {}
    try:
        return prove_programs(
            mechanism, programs, options, text, compiled=False, with_eva=True, files=Files(name)
        ).facts()
    except BuildError as missing:
        without = prove_programs(
            mechanism, programs, options, text, compiled=False, files=Files(name)
        )
        return without.facts() | {"eva_missing": str(missing)}
