"""`symgen convert`: write the robot in another format."""

from __future__ import annotations

import sys
from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._sharing import (
    account,
    read_mechanism,
    robot_arguments,
    say_notes,
    shortened,
)
from symgen.support.errors import RequestError

SUMMARY = "write the robot as TOML, URDF or MJCF, and say what the format cannot express"


def arguments(parser: Parser) -> None:
    """Add the robot, the file, and its format."""
    robot_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the file to write: .toml, .urdf, or .xml or .mjcf for MuJoCo; '-' prints it",
    )
    parser.add_argument(
        "--to",
        metavar="toml|urdf|mjcf",
        help="the format, if the name of the file does not state it",
    )


def run(options: Namespace) -> int:
    """Write the file, then print what it leaves out."""
    from symgen.delivery.converting import STDOUT, target, write_whole, writer_of

    printed = options.output == STDOUT
    if printed and options.to is None:
        raise RequestError(
            "'-o -' does not state the format; add --to toml, --to urdf or --to mjcf"
        )
    of_format = writer_of(options.output, options.to)
    path = None if printed else target(options.output, options.robot)
    mechanism = read_mechanism(options)
    written = of_format.write(mechanism)
    if path is not None:
        write_whole(path, written.text)
    say_notes(mechanism, options.robot, drives=options.drives)
    for sentence in written.left_out:
        line = f"symgen: note: {sentence}"
        print(shortened(line) if sys.stderr.isatty() else line, file=sys.stderr)
    if printed:
        print(written.text, end="")
    else:
        account(options, f"wrote {mechanism.name} as {of_format.NAME} to {path}")
    return 0
