"""`symgen inspect`: one quantity as a formula."""

from __future__ import annotations

from argparse import Namespace

from symgen.commands import Parser
from symgen.commands._sharing import read, robot_arguments

SUMMARY = "one quantity as a formula: M[1,2], tau[0], g[1], p[2], B[0,1]"
EPILOG = "Indices count from 0; a joint's name does as well: 'M[panda_joint2,panda_joint3]'."
FORMATS = ("text", "latex", "python", "c")


def arguments(parser: Parser) -> None:
    """The robot, what to show, by which method and how it is written."""
    robot_arguments(parser)
    parser.add_argument("what", metavar="WHAT", help="such as M[1,2]")
    parser.add_argument("--method", metavar="METHOD", help="the method whose formula it is")
    parser.add_argument("--format", default="text", metavar="|".join(FORMATS), help="how it is written (default text)")


def run(options: Namespace) -> int:
    """Print the expression."""
    from symgen.mechanism import nearest

    nearest(options.format, FORMATS, "format")
    from symgen.inspection import render

    print(render(read(options), options.what, options.method, options.format))
    return 0
