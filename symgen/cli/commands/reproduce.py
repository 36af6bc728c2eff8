"""`symgen reproduce`: measure a result of the papers again."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import account

SUMMARY = "measure a paper's result again: picture, CSV, and a page that compares both"


def arguments(parser: Parser) -> None:
    """Add the result and the folder."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="the result; without it, list all")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="reproduce",
        help="the folder for NAME.svg, .png, .csv and .md (default %(default)s)",
    )


def run(options: Namespace) -> int:
    """List the results, or measure one and write it."""
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
