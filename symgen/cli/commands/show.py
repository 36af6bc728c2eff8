"""`symgen show`: print the robot that was read."""

from __future__ import annotations

import sys
from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._sharing import as_json, read_mechanism, robot_arguments
from symgen.support.errors import collected

SUMMARY = "print what was read: tree, joints, inertias, lumped and snapped parts, warnings"


def arguments(parser: Parser) -> None:
    """Add the robot and --json."""
    robot_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the same facts as JSON")


def run(options: Namespace) -> int:
    """Print the mechanism."""
    from symgen.pages.report.show import facts, show

    with collected():  # the output has the warnings
        mechanism = read_mechanism(options)
    print(
        as_json(facts(mechanism))
        if options.json
        else show(mechanism, uncut=not sys.stdout.isatty()).rstrip("\n")
    )
    return 0
