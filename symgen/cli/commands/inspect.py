"""`symgen inspect`: print one quantity as a formula, or list all quantities."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    add_options,
    name_frame,
    read_mechanism,
    robot_arguments,
)
from symgen.support.errors import RequestError
from symgen.vocabulary.options import FormulaRequest

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism

SUMMARY = "print a quantity as a formula: M[1,2], tau[0], P[2], U; without one, list all"
EPILOG = """\
Indices count from 0. A joint's name may replace its index: \
'M[panda_joint2,panda_joint3]' (in double quotes if it has a
comma), or the name of one of its several velocities: \
'M[base.vx,base.wz]'. Without an index the whole matrix is printed;
'P[2][0,5]' is one entry of a block. \
Named equations count links, rows and columns from 0 too, the C from 1. Results are those
of the generated C; a method's letters are in the declared link frames. Notes go to stderr."""
FORMATS = ("text", "latex", "python", "c")
FORMS = ("recursive", "closed", "multiangle", "looped")


def arguments(parser: Parser) -> None:
    """Add the robot, the quantity, the method and the notation."""
    robot_arguments(parser)
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        help=(
            "a quantity such as M[1,2]; M[i,j] for every link of a chain of like links; without it,"
            " list all"
        ),
    )
    parser.add_argument("--method", metavar="METHOD", help="the method whose formula is printed")
    parser.add_argument(
        "--format",
        default="text",
        metavar="|".join(FORMATS),
        help="the notation (default %(default)s)",
    )
    add_options(parser, FormulaRequest, only=("form",))
    parser.add_argument(
        "--full",
        action="store_true",
        help="print all terms of a multi-angle form, not the twenty largest and "
        "+ … the others; required for python and c",
    )
    add_options(parser, FormulaRequest, only=("symbols", "at", "frame", "task_rows"))
    parser.add_argument(
        "--structure",
        action="store_true",
        help="of M, c, g or tau: print the joints and parameters that every entry "
        "depends on, and the base parameters",
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="print the file and the lines of the generated C that compute it",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the sizes of the matrix entries at a pose, and mark those that are "
        "zero in every pose, to a .svg or .png file",
    )


def run(options: Namespace) -> int:
    """Print the formula; notes go to stderr."""
    from symgen.vocabulary.names import nearest

    nearest(options.format, FORMATS, "format")
    if options.form is not None:
        nearest(options.form, FORMS, "form")
    mechanism = read_mechanism(options)
    if options.what is None:
        _refuse_without_what(options)
        from symgen.inspection.catalogue import listing

        print(listing(mechanism))
        return 0
    _refuse_for_all_links(mechanism, options)
    if options.structure:
        if options.task_rows is not None:
            raise RequestError("--structure does not depend on task rows; leave --task-rows out")
        from symgen.inspection.structure import structure

        print(structure(mechanism, options.what))
        return 0
    if options.where:
        from symgen.inspection.where import where

        _name_frame(mechanism, options)
        return _say(
            *where(mechanism, options.what, options.method, options.frame, options.task_rows)
        )
    if options.plot is not None:
        _name_frame(mechanism, options)
        return _plot(mechanism, options)
    from symgen.inspection.at import parse_values
    from symgen.inspection.parameters import parse_kinds
    from symgen.inspection.reading import FormulaOptions, render

    _name_frame(mechanism, options)
    formula = FormulaOptions(
        options.form,
        at=parse_values(mechanism, options.at) if options.at is not None else None,
        frame=options.frame,
        keep=parse_kinds(options.symbols),
        task_rows=options.task_rows,
    )
    with Progress() as progress:
        answer = render(
            mechanism,
            options.what,
            options.method,
            options.format,
            formula,
            options.full,
            progress,
        )
    return _say(*answer)


def _refuse_for_all_links(mechanism: Mechanism, options: Namespace) -> None:
    """Raise RequestError for an option that needs one entry, if letters stand for all links."""
    from symgen.inspection.general.request import is_general

    for option in ("structure", "where", "plot"):
        if getattr(options, option) and is_general(mechanism, options.what):
            raise RequestError(
                f"--{option} does not apply to '{options.what}', which stands for all links; write"
                " numbers in place of the letters"
            )


def _name_frame(mechanism: Mechanism, options: Namespace) -> None:
    """Print a note on the frame, if the quantity depends on one."""
    from symgen.inspection.catalogue import choose
    from symgen.inspection.general.request import is_general

    if is_general(mechanism, options.what):
        return
    function = getattr(choose(mechanism, options.what, options.method).target, "function", None)
    if function is not None:
        name_frame(mechanism, [function], options.frame)


def _plot(mechanism: Mechanism, options: Namespace) -> int:
    """Draw the magnitudes, and print a note on the pose."""
    from symgen.inspection.at import parse_values
    from symgen.inspection.pattern import pattern
    from symgen.pages.pictures.pattern import drawer

    draw = drawer(options.plot)
    at = parse_values(mechanism, options.at) if options.at is not None else None
    magnitudes = pattern(
        mechanism, options.what, options.method, options.frame, at, options.task_rows
    )
    draw(mechanism.name, magnitudes)
    if magnitudes.pose and not magnitudes.chosen:
        print(
            f"symgen: note: magnitudes at {magnitudes.pose}; --at chooses another pose",
            file=sys.stderr,
        )
    return 0


def _refuse_without_what(options: Namespace) -> None:
    names = ("method", "form", "full", "at", "structure", "where", "plot", "frame", "task_rows")
    flags = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    if flags:
        raise RequestError(f"{flags[0]} needs a quantity; name one, such as M[1,2]")


def _say(text: str, notes: tuple[str, ...]) -> int:
    for note in notes:
        print(f"symgen: note: {note}", file=sys.stderr)
    print(text)
    return 0
