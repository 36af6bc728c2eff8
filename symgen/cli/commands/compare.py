"""`symgen compare`: table of all methods that compute a function, with their cost and round-off."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    add_options,
    as_json,
    functions,
    name_frame,
    read_mechanism,
    robot_arguments,
)
from symgen.vocabulary.options import ProgramChoices

SUMMARY = "compare all methods side by side: operations, size, time, round-off"


def arguments(parser: Parser) -> None:
    """Add the arguments of the command: the robot, the functions, and their form, unrolled or
    looped.
    """
    robot_arguments(parser)
    parser.add_argument(
        "-f",
        "--function",
        action="append",
        dest="functions",
        metavar="FUNCTION[=METHOD,…]",
        help=(
            "a function, by all methods or by those named; repeatable (default: all with a choice"
            " of methods)"
        ),
    )
    add_options(parser, ProgramChoices, only=("task_rows", "contact", "baumgarte"))
    parser.add_argument(
        "--form",
        default="unrolled",
        metavar="unrolled|looped",
        help=(
            "looped: list the unrolled and the looped form; unrolled: rows alone (default"
            " %(default)s)"
        ),
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw operations, time and round-off as bars, to a .svg or .png file",
    )
    parser.add_argument("--json", action="store_true", help="print the same facts as JSON")


def run(options: Namespace) -> int:
    """Compare all methods, then print the tables and draw the picture that `--plot` names."""
    from symgen.benchmarks.compare import compare
    from symgen.vocabulary.names import nearest

    mechanism = read_mechanism(options)
    draw = None  # function that draws the picture, if `--plot` is given
    if options.plot is not None:
        from symgen.pages.pictures.comparison import drawer

        # `drawer` reports a missing library or an unknown file ending now, before the long
        # comparison.
        draw = drawer(options.plot)
    with Progress() as progress:
        compared = compare(
            mechanism,
            functions(options.functions),
            progress=progress,
            task_rows=options.task_rows,
            contact=options.contact,
            baumgarte=options.baumgarte,
            form=nearest(options.form, ("unrolled", "looped"), "form"),
        )
    name_frame(mechanism, options.functions)  # prints a note: the frame that the functions refer to
    if draw is not None:
        draw(compared)
    print(as_json(compared.facts()) if options.json else str(compared))
    return 0
