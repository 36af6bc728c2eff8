"""The folder `firmware/`: a minimal program for one target that runs the self-test and exits with
its result.
"""

from __future__ import annotations

from collections.abc import Mapping

from symgen.emission import render
from symgen.ir.loops import Form
from symgen.machine import targets
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING, REGROUP
from symgen.vocabulary.target import Target

TEMPLATES = "firmware"
OPTIMIZE = "-O2"
"""Optimization level of all measurements."""
BASE_FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno")
"""C99, without fused a*b + c: the self-test passes either way, but the bits are equal at every -O
only without fusion.

No function reads errno, and a square root that sets it adds newlib's 1 kB of data.
"""


def measured_flags(machine: str | None) -> dict[str, str]:
    """Return the compiler and the flags of all measurements on a target (None: this machine), by
    the templates' names.
    """
    chosen = targets.find(machine or "host")
    return {
        "compiler": chosen.compiler,
        "optimize": OPTIMIZE,
        "base_flags": " ".join(BASE_FLAGS[1:]),
        "flags": " ".join(chosen.flags),
        "scheduling": " ".join(chosen.scheduling),
        "architecture": chosen.architecture,
    }


def firmware_texts(target: Target, machine: str, programs: Mapping[str, Form]) -> dict[str, str]:
    """Return every file of `firmware/` by its path in the robot's folder."""
    chosen = targets.find(machine)
    settings = ["set_parameters"] if REGROUP in programs else []
    drivers = [ASSEMBLE] if all(name in programs for name in ASSEMBLING) else []
    frames = (
        chosen.frame(p.real, target.sizes.NV, sum(port.size for port in p.outputs))
        for p in programs.values()
    )
    context = target.context | {
        "target": machine,
        "title": chosen.title,
        "compiler": chosen.compiler,
        "flags": " ".join((*BASE_FLAGS, *chosen.flags)),
        "optimize": OPTIMIZE,
        "link": " ".join(chosen.link),
        "emulator": " ".join(chosen.emulator),
        "packages": chosen.packages,
        "stack": max(frames),
        "objects": [
            f"{target.symbol(function)}.o" for function in (*programs, *settings, *drivers)
        ],
        "adjustable": REGROUP in programs,
    }
    return {
        f"firmware/{file}": render(TEMPLATES, f"{file}.j2", **context)
        for file in ("main.c", "Makefile")
    }
