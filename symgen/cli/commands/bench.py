"""`symgen bench`: measure times on this machine."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    add_options,
    as_json,
    function_arguments,
    functions,
    name_frame,
    read_mechanism,
    robot_arguments,
)
from symgen.vocabulary.options import ProgramChoices

SUMMARY = "measure times on this machine, beside installed peers (pinocchio, mujoco, casadi)"


def arguments(parser: Parser) -> None:
    """Add the robot, the functions, and their form."""
    robot_arguments(parser)
    function_arguments(parser)
    add_options(parser, ProgramChoices, only=("contact", "baumgarte", "form"))
    parser.add_argument(
        "--native", action="store_true", help="compile for this processor (-march=native)"
    )
    parser.add_argument("--json", action="store_true", help="print the same facts as JSON")


def run(options: Namespace) -> int:
    """Measure all times, then print the table."""
    from symgen.benchmarks.bench import bench

    mechanism = read_mechanism(options)
    with Progress() as progress:
        measured = bench(
            mechanism,
            functions(options.functions),
            native=options.native,
            progress=progress,
            contact=options.contact,
            baumgarte=options.baumgarte,
            form=options.form,
        )
    name_frame(mechanism, options.functions)
    print(as_json(measured.facts()) if options.json else str(measured))
    return 0
