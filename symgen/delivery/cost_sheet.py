"""The cost sheet of a folder of C: what `symgen.machine.cost` measured and with what, as plain data for manifest and README.

The same compiler and emulator give the same sheet. It names both, since the folder's bytes depend on them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from symgen.errors import ToolMissing
from symgen.machine import targets
from symgen.machine.cost import OPTIMIZE, STATES, Floors, measure
from symgen.machine.cycles import TIMINGS
from symgen.machine.emulation import Toolchain
from symgen.mechanism import Mechanism
from symgen.options import PLAIN, ProgramOptions, TextOptions
from symgen.recursion import Form


def cost_sheet(mechanism: Mechanism, programs: Iterable[Form], target: str, options: ProgramOptions,
               text: TextOptions = PLAIN, floors: Floors | None = None) -> dict[str, Any]:
    """The measured cost of the programs on a target; with "missing", a sentence, in its place where a tool is not installed.

    Functions by name, with the fields of `symgen.machine.cost.Cost`. "flash" is the sum of theirs in bytes. "flash_with_libm" and
    "ram_with_libm" are those of all functions together with everything that they call. "timing" names the source of the cycles.
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
        measured = measure(mechanism, programs, target, options=options, text=text, floors=floors)
    except ToolMissing as missing:
        return sheet | {"missing": str(missing)}
    found = [cost.facts(None) for cost in measured.costs]
    timing = TIMINGS.get(machine.core)
    return sheet | {
        "compiler": compiler, "emulator": emulator, "flags": list(machine.flags), "optimize": OPTIMIZE, "states": STATES,
        "flash": measured.flash, "flash_with_libm": measured.flash_with_libm, "ram_with_libm": measured.ram_with_libm,
        "timing": None if timing is None else timing.words, "untold": list(measured.untold),
        "functions": {cost.pop("function"): cost for cost in found},
    }
