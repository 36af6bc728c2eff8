"""`symgen verify`: check that the C is the robot's dynamics."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    USUAL_FUNCTIONS,
    as_json,
    functions,
    generated_folder,
    name_frame,
    of_options,
    program_arguments,
    read_mechanism,
    robot_arguments,
    say_notes,
)
from symgen.vocabulary.options import VerifyRequest

SUMMARY = (
    "check the C of a robot or of a generated folder: algebra, text, floating point, identities"
)
EPILOG = (
    "exit code: 0 if nothing failed, 1 if a check failed or a function has precision loss and is"
    " not judged"
)


def arguments(parser: Parser) -> None:
    """Add the robot or folder, and what to check."""
    robot_arguments(parser, "a built-in name, a path, or a folder that symgen generated")
    program_arguments(parser, functions=f"{USUAL_FUNCTIONS}; of a folder, all its functions")
    parser.add_argument(
        "--states",
        type=int,
        default=16,
        metavar="N",
        help="number of random states (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the same facts as JSON")


def run(options: Namespace) -> int:
    """Print the report; the exit code is its verdict."""
    from symgen.delivery.verifying import verify
    from symgen.description.loading import load
    from symgen.mechanism.mechanism import Mechanism

    robot: Mechanism | Path | None = generated_folder(options, "verified")
    if robot is None:
        robot = read_mechanism(options)
    say_notes(
        robot if isinstance(robot, Mechanism) else load(robot), options.robot, drives=options.drives
    )
    with Progress() as progress:
        report = verify(
            robot,
            functions(options.functions),
            options.states,
            **of_options(options, VerifyRequest),
            progress=progress,
        )
    name_frame(
        robot, options.functions, options.frame, (options.jacobian_frame, options.jacobian_order)
    )
    print(as_json(report.facts()) if options.json else str(report))
    return 0 if report.passed else 1
