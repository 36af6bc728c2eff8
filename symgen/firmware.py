"""The folder `firmware/`: a minimal program for one target that runs the self-test, and exits with its result."""

from __future__ import annotations

from collections.abc import Sequence

from symgen import targets
from symgen.backends import c99, render

TEMPLATES = "firmware"
BASE_FLAGS = ("-std=c99", "-ffp-contract=off")
"""C99, and no fused a*b + c: the answers of the self-test hold either way, equal bits at every -O only so."""


def texts(target: c99.Target, machine: str, sources: Sequence[str]) -> dict[str, str]:
    """Every file of `firmware/` by its path in the robot's folder; `sources` are the robot's C files."""
    chosen = targets.find(machine)
    context = target.context | {
        "target": machine,
        "title": chosen.title,
        "compiler": chosen.compiler,
        "flags": " ".join((*BASE_FLAGS, *chosen.flags)),
        "link": " ".join(chosen.link),
        "emulator": " ".join(chosen.emulator),
        "packages": chosen.packages,
        "objects": [f"{source.removesuffix('.c')}.o" for source in sources],
    }
    return {f"firmware/{file}": render(TEMPLATES, f"{file}.j2", **context) for file in ("main.c", "Makefile")}
