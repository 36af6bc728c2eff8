"""`symgen cost`: measure the C on a target."""

from __future__ import annotations

import sys
from argparse import Namespace
from textwrap import fill
from typing import TYPE_CHECKING

from symgen.cli.commands import Parser
from symgen.cli.commands._sharing import (
    LINE,
    USUAL_FUNCTIONS,
    add_options,
    as_json,
    functions,
    generated_folder,
    of_options,
    program_arguments,
    read_mechanism,
    robot_arguments,
)
from symgen.machine import targets
from symgen.support.errors import RequestError
from symgen.support.tables import span, table
from symgen.vocabulary.options import TextChoices, TextRequest

if TYPE_CHECKING:
    from symgen.machine.cost import Measured

SUMMARY = "measure instructions, cycles, flash, stack and RAM of every function on a target"
EPILOG = """\
instructions: of one call, least and most over 64 random states; 'alone' without what libm executes
flash: code and constants; stack: the function's own frame; ram: .data and .bss; \
'+libm' with all that it calls, once linked
work: bytes of the array that loops over links (--form looped) ask of their caller, \
who may have one for all functions
rate: calls per second by the most cycles; where these are unknown, if every instruction took one"""


def arguments(parser: Parser) -> None:
    """Add the robot or folder, the target, and the functions."""
    robot_arguments(parser, "a built-in name, a path, or a folder that symgen generated")
    parser.add_argument(
        "--target",
        metavar="TARGET",
        help=(
            f"what runs the C: {', '.join(targets.targets_with_costs())} (default: the target that"
            " a folder was generated for)"
        ),
    )
    parser.add_argument(
        "--clock",
        metavar="HZ",
        help="the target's clock, as 168e6: adds the control rate that it allows",
    )
    program_arguments(
        parser, on_a_target=True, functions=f"{USUAL_FUNCTIONS}; of a folder, all its functions"
    )
    add_options(
        parser,
        TextChoices,
        trig="what computes sine and cosine (default libm)",
        checked="measure the functions with their checks",
    )
    parser.set_defaults(trig=None)
    parser.add_argument("--json", action="store_true", help="print the same facts as JSON")


def run(options: Namespace) -> int:
    """Measure all functions, then print the table."""
    from symgen.delivery.evidence import measured_folder
    from symgen.machine.cost import STATES
    from symgen.machine.cycles import TIMINGS
    from symgen.machine.firmware import OPTIMIZE

    clock = _clock(options.clock)
    folder = generated_folder(options, "measured", {"real": None, "trig": None})
    if folder is None:
        figures, name, target, real = _robot(options)
    else:
        figures, generated = measured_folder(folder, functions(options.functions), options.target)
        name, real, target = (
            generated.mechanism.name,
            generated.options.real,
            options.target or str(generated.text.target),
        )
    timing = TIMINGS.get(targets.find(target).core)
    if (slow := targets.reason_for_slowness(target, real)) is not None:
        print(f"symgen: warning: {slow}", file=sys.stderr)
    if folder is None and (why := targets.reason_for_float(target, options.real)) is not None:
        print(f"symgen: note: {why}", file=sys.stderr)
    if options.json:
        print(
            as_json(
                {
                    "robot": name,
                    "folder": None if folder is None else str(folder),
                    "target": target,
                    "real": real,
                    "optimize": OPTIMIZE,
                    "states": STATES,
                    "clock": clock,
                    "flash": figures.flash,
                    "flash_with_libm": figures.flash_with_libm,
                    "ram_with_libm": figures.ram_with_libm,
                    "newlib": figures.newlib,
                    "unknown": figures.unknown,
                    "timing": None if timing is None else timing.words,
                    "functions": [cost.facts(clock) for cost in figures.costs],
                }
            )
        )
        return 0
    subject = name if folder is None else f"{name}, the folder {folder},"
    print(f"{subject} on {targets.find(target).title}, {real}, {OPTIMIZE}\n")
    print("\n".join(_table(figures, clock, timing is not None)))
    print(f"\n{EPILOG}")
    if figures.newlib is not None:
        flash, ram = figures.newlib
        print(
            f"+libm: picolibc's, with which all functions take {figures.flash_with_libm} bytes of"
            f" flash and {figures.ram_with_libm} of RAM;\nwith newlib {flash} and {ram}"
        )
    if timing is not None:
        print(fill(f"cycles: {timing.words}", LINE))
    for sentence in figures.unknown:
        print(f"symgen: note: {sentence}", file=sys.stderr)
    return 0


def _robot(options: Namespace) -> tuple[Measured, str, str, str]:
    """Measure the requested functions of a robot; return the figures, the robot's name, the target
    and the real type.
    """
    from symgen.certificate import checked_bounds
    from symgen.delivery.evidence import measured
    from symgen.pipeline.build import programs_and_refusals
    from symgen.pipeline.noticing import LEFT_OUT, absence_notices
    from symgen.pipeline.request import make_request

    if options.target is None:
        raise RequestError(
            "cost: name what runs the C with --target, one of"
            f" {', '.join(targets.targets_with_costs())}"
        )
    request = make_request(
        read_mechanism(options),
        functions(options.functions),
        of_options(options, TextRequest),
        real=options.real or targets.default_real(options.target),
        trig=options.trig or "libm",
    )
    programs, refused = programs_and_refusals(request)
    for _, sentence in absence_notices(refused, LEFT_OUT):
        print(f"symgen: note: {sentence}", file=sys.stderr)
    mechanism, chosen, text = request.mechanism, request.options, request.text
    divisor_bounds = checked_bounds(mechanism, programs, chosen, text)
    figures = measured(mechanism, programs, options.target, chosen, text, divisor_bounds)
    return figures, mechanism.name, options.target, chosen.real


def _clock(text: str | None) -> float | None:
    """Return the frequency in Hz. RequestError for a text that is not a positive number."""
    try:
        clock = None if text is None else float(text)
    except ValueError:
        clock = -1.0
    if clock is not None and not 0 < clock < float("inf"):
        raise RequestError(f"--clock {text} is not a frequency; give it in Hz, as --clock 168e6")
    return clock


def _table(measured: Measured, clock: float | None, timed: bool) -> list[str]:
    rate = ["rate/s"] if clock is not None else []
    cycles = ["cycles", "alone"] if timed else []
    work = ["work"] if any(cost.work for cost in measured.costs) else []
    heading = [
        "function",
        "method",
        "instructions",
        "alone",
        *cycles,
        "flash",
        "+libm",
        "stack",
        "+libm",
        "ram",
        *work,
        *rate,
        "needs",
    ]
    rows: list[list[object]] = [list(heading)]
    for cost in measured.costs:
        rates = [f"{cost.rate(clock):.0f}"] if clock is not None else []
        spans = [span(cost.cycles), span(cost.cycles_alone)] if timed else []
        deepest = "unknown" if cost.stack_with_libm is None else cost.stack_with_libm
        works = [cost.work] if work else []
        rows.append(
            [
                cost.function,
                cost.method,
                span(cost.instructions),
                span(cost.alone),
                *spans,
                cost.flash,
                cost.flash_with_libm,
                cost.stack,
                deepest,
                cost.ram,
                *works,
                *rates,
                " ".join(cost.undefined) or "nothing",
            ]
        )
    empty, behind = [""] * (2 + len(cycles)), [""] * (4 + len(work) + len(rate))
    rows.append(["all", "", *empty, measured.flash, measured.flash_with_libm, *behind])
    return table(rows, texts=(0, 1, len(heading) - 1))
