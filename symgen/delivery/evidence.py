"""Evidence of a folder of C: costs on a target and proofs, as plain data for manifest and README.

The same compiler and emulator give the same cost sheet. It names both, since the folder's bytes depend on them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.machine import targets
from symgen.machine.cost import SEED, STATES, Arguments, Floors, Measured, Source, Written, measure
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
    floors: Floors | None = None,
) -> dict[str, Any]:
    """The measured cost of the programs on a target; with "missing", a sentence, in its place where a tool is missing or fails.
    There "refused" is True where the target's compiler works and refuses the text.

    Functions by name, with the fields of `symgen.machine.cost.Cost`. "flash" is the sum of theirs in bytes. "flash_with_libm" and
    "ram_with_libm" are those of all functions together with everything that they call. "newlib" are the same two with
    newlib in place of picolibc, None where it is not installed. "timing" names the source of the cycles.
    "untold" says what could not be found out. A target that does not count instructions has no sheet: the answer is empty. Raises
    RequestError when the target cannot hold the functions.
    """
    machine = targets.find(target)
    if not machine.counter:
        return {}
    sheet: dict[str, Any] = {"target": target, "title": machine.title}
    try:
        with tempfile.TemporaryDirectory(prefix="symgen-cost-") as folder:
            compiler, emulator = Toolchain(machine, Path(folder)).versions()
        costs = measured(mechanism, programs, target, options, text, floors)
    except BuildError as missing:
        refused = {"refused": True} if isinstance(missing, TextRefused) else {}
        return sheet | {"missing": str(missing)} | refused
    found = [cost.facts(None) for cost in costs.costs]
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
        "untold": list(costs.untold),
        "functions": {cost.pop("function"): cost for cost in found},
    }


def measured(
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    target: str,
    options: ProgramOptions,
    text: TextOptions,
    floors: Floors | None = None,
) -> Measured:
    """`measure` the programs, by function, with numbers at run time that a robot can have."""
    return measure(
        mechanism,
        programs.values(),
        target,
        source=Source(text, floors),
        arguments=Arguments(
            options, draw_adjusted_robot(mechanism, programs, options, SEED).arguments
        ),
    )


def measured_folder(
    place: Path, functions: Iterable[str] | None, target: str | None
) -> tuple[Measured, Folder]:
    """Measure the C that lies in a generated folder, on `target` (None: the one that it was generated for).

    Raises RequestError where there is no target, and whatever `read_folder` and `measure` raise.
    """
    folder = read_folder(place, functions)
    machine = target or folder.text.target
    if machine is None:
        raise RequestError(
            f"the folder {place} was generated for no target; name one with --target, one of "
            f"{', '.join(targets.counting())}"
        )
    made = programs_of(folder)
    headers = {f"{folder.name}.h": folder.header} | (
        {f"{folder.name}_sincos.h": folder.sincos} if folder.sincos else {}
    )
    forms = [form for name, form in made.items() if name in folder.methods]
    return measure(
        folder.mechanism,
        forms,
        machine,
        source=Source(folder.text, written=Written(folder.name, headers, folder.sources)),
        arguments=Arguments(
            folder.options,
            draw_adjusted_robot(folder.mechanism, made, folder.options, SEED).arguments,
        ),
    ), folder


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
        if derivatives.parse_derivative(function) is None
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
