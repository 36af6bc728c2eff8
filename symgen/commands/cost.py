"""`symgen cost`: what the C takes on a target, measured."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from symgen import targets
from symgen.commands import Parser
from symgen.commands._sharing import as_json, functions, program_arguments, read, robot_arguments, warn
from symgen.errors import RequestError
from symgen.tables import table

if TYPE_CHECKING:
    from symgen.cost import Cost

SUMMARY = "instructions, flash, stack and RAM of every function on a target, measured in QEMU"
EPILOG = """instructions: of one call, least and most over 64 random states; 'alone' without what libm executes
flash: code and constants; stack: the function's own frame, without that of what it calls; ram: .data and .bss
rate: calls per second if every instruction took one cycle. Divisions, roots, loads and waits for flash take more."""


def arguments(parser: Parser) -> None:
    """The robot, the target, and which functions."""
    robot_arguments(parser)
    measured = ", ".join(name for name in targets.names() if targets.find(name).counter)
    parser.add_argument("--target", required=True, metavar="TARGET", help=f"what runs the C: {measured}")
    parser.add_argument("--clock", metavar="HZ", help="the target's clock, as 168e6: adds the control rate that it allows")
    program_arguments(parser, on_a_target=True)
    parser.add_argument("--trig", default="libm", metavar="libm|macro|inline", help="where sine and cosine come from")
    parser.add_argument("--checked", action="store_true", help="the functions as they are with their checks")
    parser.add_argument("--json", action="store_true", help="the same facts for programs")


def run(options: Namespace) -> int:
    """Measure everything, then print the table."""
    from symgen.certificate import checked_floors
    from symgen.cost import OPTIMIZE, STATES, measure
    from symgen.generation import Options, programs

    clock = _clock(options.clock)
    real = options.real or targets.real(options.target)
    slow, why = targets.slow(options.target, real), targets.why(options.target, options.real)
    mechanism = read(options)
    warn(mechanism, options.robot, ("warning",))
    chosen = Options(real, options.frame, options.payload, options.trig, options.wrench, options.checked)
    made = programs(mechanism, functions(options.functions), chosen)
    floors = {name: checked_floors(mechanism, program, chosen) for name, program in made.items()} if options.checked else None
    found = measure(mechanism, made.values(), options.target, at_run_time=chosen.at_run_time, trig=options.trig, floors=floors)
    if slow is not None:
        print(f"symgen: warning: {slow}", file=sys.stderr)
    if why is not None:
        print(f"symgen: note: {why}", file=sys.stderr)
    if options.json:
        print(as_json({"robot": mechanism.name, "target": options.target, "real": real, "optimize": OPTIMIZE,
                       "states": STATES, "clock": clock, "functions": [cost.facts(clock) for cost in found]}))
        return 0
    print(f"{mechanism.name} on {targets.find(options.target).title}, {real}, {OPTIMIZE}\n")
    print("\n".join(_table(found, clock)))
    print(f"\n{EPILOG}")
    return 0


def _clock(text: str | None) -> float | None:
    """Hz; RequestError for what is not a positive number."""
    try:
        clock = None if text is None else float(text)
    except ValueError:
        clock = -1.0
    if clock is not None and not 0 < clock < float("inf"):
        raise RequestError(f"--clock {text} is no frequency; give it in Hz, as --clock 168e6")
    return clock


def _table(found: list[Cost], clock: float | None) -> list[str]:
    rate = ["rate/s"] if clock is not None else []
    rows: list[list[object]] = [["function", "method", "least", "most", "alone least", "alone most", "flash", "stack", "ram",
                                 *rate, "needs"]]
    for cost in found:
        rates = [f"{cost.rate(clock):.0f}"] if clock is not None else []
        rows.append([cost.function, cost.method, *cost.instructions, *cost.alone, cost.flash, cost.stack, cost.ram, *rates,
                     " ".join(cost.undefined) or "nothing"])
    return table(rows, texts=(0, 1, len(rows[0]) - 1))
