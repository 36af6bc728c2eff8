"""`symgen bench`: times on this machine."""

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
    read,
    robot_arguments,
)
from symgen.vocabulary.options import ProgramChoices

SUMMARY = "times on this machine, against the peers that are installed (pinocchio, mujoco, casadi)"


def arguments(parser: Parser) -> None:
    """The robot, which functions, and in what form."""
    robot_arguments(parser)
    function_arguments(parser)
    add_options(parser, ProgramChoices, only=("contact", "baumgarte", "form"))
    parser.add_argument(
        "--native", action="store_true", help="compile for this processor (-march=native)"
    )
    parser.add_argument("--json", action="store_true", help="the same facts for programs")


def run(options: Namespace) -> int:
    """Time everything, then print the table."""
    from symgen.benchmarks.bench import bench

    mechanism = read(options)
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
