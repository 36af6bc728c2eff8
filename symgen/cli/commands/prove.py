"""`symgen prove`: what the C is proved to keep to, and what is only observed."""

from __future__ import annotations

from argparse import Namespace
from fractions import Fraction
from pathlib import Path

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    add_options,
    as_json,
    functions,
    generated_folder,
    name_frame,
    of_options,
    program_arguments,
    read,
    robot_arguments,
    say_notes,
)
from symgen.support.errors import DescriptionError, RequestError
from symgen.vocabulary.functions import PROVED_BY_DEFAULT
from symgen.vocabulary.options import (
    PLAIN,
    ProgramOptions,
    RowChoices,
    TextOptions,
    TrigChoice,
    VerifyRequest,
    values_of,
)

SUMMARY = "divisors that cannot vanish and bounds of the round-off, over the joint ranges"
EPILOG = """D exact >=: the link's own inertia, for every configuration; round-off: the most that the C's D can be below
that, over the joint ranges; least seen: of the computed D over the random states. Joints that are missing are not divided by.
bound: of |computed - exact|, for all states of the ranges, or, where the function divides, at each of the random states
(then nothing is proved of the states between); seen: by the compiled C against the reference, in double at the first 64.
Exit code 0 when nothing seen exceeds its bound, 1 when something does."""


def arguments(parser: Parser) -> None:
    """The robot or folder, and over what to prove it."""
    robot_arguments(parser, "a built-in name, a path, or a folder that symgen generated")
    program_arguments(
        parser,
        functions=f"{', '.join(PROVED_BY_DEFAULT)}, as far as the robot has them; of a folder, all its functions",
        kind=RowChoices,
        parameters="refused: nothing is proved of numbers that may change at run time",
    )
    add_options(parser, TrigChoice, trig="what computes sines and cosines (default %(default)s)")
    parser.add_argument(
        "--ulps",
        metavar="N",
        help="error of sines and cosines in units in the last place (default 2; libm and macro 1)",
    )
    parser.add_argument(
        "--acceleration",
        default="10",
        metavar="A",
        help="range of accelerations, rad/s² and m/s² (default %(default)s)",
    )
    parser.add_argument(
        "--eva",
        action="store_true",
        help="run Frama-C too: nothing beyond an array, every number finite",
    )
    parser.add_argument(
        "--states",
        type=int,
        default=10_000,
        metavar="N",
        help="how many random states (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="the same facts for programs")


def run(options: Namespace) -> int:
    """Run the proofs, and print them."""
    from symgen.mechanism.mechanism import Mechanism
    from symgen.verification.proof import prove

    acceleration, ulps = (
        _positive(options.acceleration, "acceleration"),
        _positive(options.ulps, "ulps"),
    )
    robot: Mechanism | Path | None = generated_folder(options, "proved")
    chosen, text = None, PLAIN
    if robot is None:
        robot = read(options)
        say_notes(robot, options.robot, drives=options.drives)
        asked = of_options(options, VerifyRequest)
        chosen, text = values_of(ProgramOptions, asked), values_of(TextOptions, asked)
    with Progress() as progress:
        proof = prove(
            robot,
            options.functions and functions(options.functions),
            chosen,
            text,
            states=options.states,
            acceleration=acceleration or Fraction(10),
            trig_ulps=None if ulps is None else float(ulps),
            with_eva=options.eva,
            progress=progress,
        )
    name_frame(
        robot, options.functions, options.frame, (options.jacobian_frame, options.jacobian_order)
    )
    print(as_json(proof.facts()) if options.json else str(proof))
    return 0 if proof.holds else 1


def _positive(text: str | None, option: str) -> Fraction | None:
    """The number; RequestError for a text that is no positive number."""
    from symgen.description.quantities import number

    if text is None:
        return None
    try:
        value = number(text)
    except DescriptionError:
        value = Fraction(0)
    if value <= 0:
        raise RequestError(f"--{option} {text} is not a positive number; give one, as --{option} 2")
    return value
