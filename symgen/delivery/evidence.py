"""Evidence of a folder of C: costs on a target and proofs, as plain data for manifest and README.

The same compiler and emulator give the same cost sheet. It names both, because the folder's bytes
depend on them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.machine import targets
from symgen.machine.cost import (
    SEED,
    STATES,
    Arguments,
    DivisorBounds,
    Measured,
    Source,
    Written,
    measure,
)
from symgen.machine.cycles import TIMINGS
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import BASE_FLAGS, OPTIMIZE
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import BuildError, RequestError, TextRefused
from symgen.verification.adjusted import draw_adjusted_robot
from symgen.verification.folder import Folder, read_folder
from symgen.verification.folder import programs as programs_of
from symgen.verification.proof import prove_programs
from symgen.verification.subject import Files
from symgen.vocabulary import derivatives
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions


def cost_sheet(
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    target: str,
    options: ProgramOptions,
    text: TextOptions = PLAIN,
    divisor_bounds: DivisorBounds | None = None,
) -> dict[str, Any]:
    """Return the measured costs of the programs on a target, as plain data.

    The sheet has the functions by name, with the fields of `symgen.machine.cost.Cost`. "flash" is
    the sum of their bytes. "flash_with_libm" and "ram_with_libm" are those of all functions with
    everything that they call; "newlib" is the same pair with newlib instead of picolibc, None if
    newlib is not installed. "timing" names the source of the cycles. "unknown" lists figures that
    could not be determined, with reasons.

    If a tool is missing or fails, the sheet has "missing", a sentence, instead; "refused" is True
    if the target's compiler works and rejects the text. A target that does not count instructions
    has an empty sheet. Raises RequestError if the target cannot hold the functions.
    """
    machine = targets.find(target)
    if not machine.counter:
        return {}
    sheet: dict[str, Any] = {"target": target, "title": machine.title}
    try:
        with tempfile.TemporaryDirectory(prefix="symgen-cost-") as folder:
            compiler, emulator = Toolchain(machine, Path(folder)).versions()
        costs = measured(mechanism, programs, target, options, text, divisor_bounds)
    except BuildError as missing:
        refused = {"refused": True} if isinstance(missing, TextRefused) else {}
        return sheet | {"missing": str(missing)} | refused
    facts = [cost.facts(None) for cost in costs.costs]
    timing = TIMINGS.get(machine.core)
    return sheet | {
        "compiler": compiler,
        "emulator": emulator,
        "optimize": OPTIMIZE,
        "states": STATES,
        "flags": [*BASE_FLAGS[1:], *machine.flags],
        "flash": costs.flash,
        "flash_with_libm": costs.flash_with_libm,
        "ram_with_libm": costs.ram_with_libm,
        "newlib": None if costs.newlib is None else list(costs.newlib),
        "timing": None if timing is None else timing.words,
        "unknown": list(costs.unknown),
        "functions": {cost.pop("function"): cost for cost in facts},
    }


def measured(
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    target: str,
    options: ProgramOptions,
    text: TextOptions,
    divisor_bounds: DivisorBounds | None = None,
) -> Measured:
    """Measure the programs by function, with run-time parameters of a possible robot."""
    return measure(
        mechanism,
        programs.values(),
        target,
        source=Source(text, divisor_bounds),
        arguments=Arguments(
            options, draw_adjusted_robot(mechanism, programs, options, SEED).arguments
        ),
    )


def measured_folder(
    path: Path, functions: Iterable[str] | None, target: str | None
) -> tuple[Measured, Folder]:
    """Measure the C of a generated folder on `target` (None: the target of its generation).

    Raises RequestError without a target, and the errors of `read_folder` and `measure`.
    """
    folder = read_folder(path, functions)
    machine = target or folder.text.target
    if machine is None:
        raise RequestError(
            f"the folder {path} was generated for no target; name one with --target, one of "
            f"{', '.join(targets.targets_with_costs())}"
        )
    programs = programs_of(folder)
    headers = {f"{folder.name}.h": folder.header} | (
        {f"{folder.name}_sincos.h": folder.sincos} if folder.sincos else {}
    )
    forms = [form for name, form in programs.items() if name in folder.methods]
    return measure(
        folder.mechanism,
        forms,
        machine,
        source=Source(folder.text, written=Written(folder.name, headers, folder.sources)),
        arguments=Arguments(
            folder.options,
            draw_adjusted_robot(folder.mechanism, programs, folder.options, SEED).arguments,
        ),
    ), folder


def proof_sheet(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    text: TextOptions,
    name: str = "",
) -> dict[str, Any]:
    """Return `Proof.facts` with the verdict of Frama-C under "eva", or "eva_missing", a sentence,
    if Frama-C fails.

    The sheet has no observations, because these depend on the machine's library. `name` is the NAME
    in the C. It is empty with run-time parameters, and if all functions are derivatives, for which
    nothing is proved.
    """
    programs = {
        function: program
        for function, program in programs.items()
        if derivatives.parse_derivative(function) is None
    }
    if not programs or options.parameters:
        return {}
    try:
        return prove_programs(
            mechanism, programs, options, text, compiled=False, with_eva=True, files=Files(name)
        ).facts()
    except BuildError as missing:
        proof_without_eva = prove_programs(
            mechanism, programs, options, text, compiled=False, files=Files(name)
        )
        return proof_without_eva.facts() | {"eva_missing": str(missing)}
