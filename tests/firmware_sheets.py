"""Cost sheets of four robots on every target, `docs/reference/microcontroller-costs.md`.

`python -m tests.firmware_sheets` measures and rewrites them.

The page names the compilers and emulators; the same versions give the same page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from symgen import load
from symgen.delivery.evidence import cost_sheet
from symgen.machine import targets
from symgen.pipeline.build import programs
from symgen.support.tables import span
from symgen.vocabulary.options import ProgramOptions

FILE = Path(__file__).parents[1] / "docs" / "reference" / "microcontroller-costs.md"
ROBOTS = ("panda", "ur5", "puma560", "scara")
COUNTING = tuple(name for name in targets.names() if targets.find(name).counter)

HEAD = """# Costs on microcontrollers

`symgen cost` on four of the built-in robots, rewritten by `make firmware`
([Microcontrollers](../how-to/microcontrollers.md)). Tests check bounds of these figures in
`tests/machine/test_cost.py`.

- **instructions** of one call, least and most over {states} random states, counted in \
QEMU. **alone** excludes the
  instructions of libm. The functions have no branch, so only libm's sine, cosine and logarithm \
depend on the state.
- **cycles**, least and most of one call, and **alone**: an estimate from the executed \
instructions, if a core's manual states
  their cycles, for memory without wait states. The sources are above the tables. RISC-V is an \
instruction set without a core,
  so no cycles are stated for it.
- **flash** is code and constants, **stack** the function's own frame, both in bytes. \
**+libm** includes everything that the function
  calls, in a linked image. Its stack is the deepest of all paths through the code: that of a \
sine of a huge angle. `all` has
  every function, and libm once. No function keeps data in RAM.
- `host` counts no instructions: `symgen bench` gives times there.
"""


def targets_and_reals() -> list[tuple[str, str]]:
    """Return (target, real) of every sheet: float, and double if the FPU supports it."""
    return [
        (t, real)
        for t in COUNTING
        for real in ("float", "double")
        if real == "float" or not targets.reason_for_slowness(t, real)
    ]


def sheet(robot: str, target: str, real: str) -> dict[str, Any]:
    """Return the cost sheet of one robot; RuntimeError names a missing tool."""
    mechanism, options = load(robot), ProgramOptions(real)
    costs = cost_sheet(mechanism, programs(mechanism, None, options), target, options)
    if "missing" in costs:
        raise RuntimeError(costs["missing"])
    return costs


def table(facts: dict[str, Any]) -> list[str]:
    timed = ["cycles", "alone"] if facts["timing"] else []
    heads = [
        "function",
        "method",
        "instructions",
        "alone",
        *timed,
        "flash",
        "+libm",
        "stack",
        "+libm",
        "needs",
    ]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for function, cost in facts["functions"].items():
        assert cost["ram"] == 0, f"{function} keeps something in RAM, which the page denies"
        spans = [
            span(cost[key])
            for key in ("instructions", "alone", *(("cycles", "cycles_alone") if timed else ()))
        ]
        sizes = [cost["flash"], cost["flash_with_libm"], cost["stack"], cost["stack_with_libm"]]
        cells = [
            f"`{function}`",
            cost["method"],
            *spans,
            *sizes,
            " ".join(cost["undefined"]) or "nothing",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    empty = "| " * (3 + len(timed))
    return [*lines, f"| all {empty}| {facts['flash']} | {facts['flash_with_libm']} | | | |"]


def text() -> str:
    sections = []
    states = 0
    for target, real in targets_and_reals():
        sheets = {robot: sheet(robot, target, real) for robot in ROBOTS}
        first = sheets[ROBOTS[0]]
        states = first["states"]
        sections += [
            f"## {first['title']}, {real}\n",
            (
                f"`{first['compiler']}`, `{first['optimize']} {' '.join(first['flags'])}`;"
                f" `{first['emulator']}`.\n"
            ),
            *([f"Cycles: {first['timing']}\n"] if first["timing"] else []),
        ]
        for robot, facts in sheets.items():
            sections += [f"### {robot} on {first['title']}, {real}\n", *table(facts), ""]
    return "\n".join([HEAD.format(states=states), *sections])


def main() -> int:
    try:
        written = text()
    except RuntimeError as missing:
        print(f"{missing}; or run 'make firmware-tools'", file=sys.stderr)
        return 1
    FILE.write_text(written.rstrip("\n") + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
