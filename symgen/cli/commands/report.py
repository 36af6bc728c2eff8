"""`symgen report`: write one robot's facts as one page."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import account, read_mechanism, robot_arguments, say_notes

SUMMARY = "write one robot's facts as one self-contained HTML page"


def arguments(parser: Parser) -> None:
    """Add the robot and the file."""
    robot_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", required=True, help="the page to write"
    )
    parser.add_argument(
        "--states",
        type=int,
        default=16,
        metavar="N",
        help="verify at N random states (default %(default)s)",
    )


def run(options: Namespace) -> int:
    """Write the page and print its path."""
    from symgen.pages.report import report

    mechanism = read_mechanism(options)
    say_notes(mechanism, options.robot, drives=options.drives)
    with Progress() as progress:
        written = report(mechanism, options.output, states=options.states, progress=progress)
    account(options, str(written))
    return 0
