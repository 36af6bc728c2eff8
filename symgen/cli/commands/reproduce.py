"""`symgen reproduce`: the papers' results again, as a picture, a table and a page."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import account

SUMMARY = "a paper's result again: picture, CSV, and a page beside what the paper says"


def arguments(parser: Parser) -> None:
    """Which result, and where to."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the result; without it they are listed"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="reproduce",
        help="the folder for NAME.svg, .png, .csv and .md (default %(default)s)",
    )


def run(options: Namespace) -> int:
    """List, or measure and write."""
    from symgen.pages import reproduce

    if options.name is None:
        width = max(len(name) for name in reproduce.names()) + 2
        for name in reproduce.names():
            print(f"{name:<{width}}{reproduce.module(name).TITLE}")
        return 0
    with Progress() as progress:
        written = reproduce.reproduce(options.name, options.output, progress)
    account(options, "\n".join(map(str, written)))
    return 0
