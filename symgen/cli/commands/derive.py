"""`symgen derive`: re-derive a paper for one robot, equation by equation."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import account, read_mechanism, robot_arguments, say_notes
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

SUMMARY = "re-derive a paper for a robot: its equations, this robot's instances, exact checks"
EPILOG = """\
Every numbered equation of the paper is written in its general form, \
with this robot's operators in canonical form, an exact
check of both sides, and the lines of the generated C. \
Methods and papers: riccati (Rodriguez & Kreutz), udut (Saha), fixman
(Lee & Chirikjian for planar point masses, else Wang & Chirikjian), \
constraint_force (Fijany & Featherstone); all: the
factorizations of the mass matrix side by side. \
Exit code: 0 if every equation holds, 1 otherwise."""
METHODS = ("riccati", "udut", "fixman", "constraint_force", "all")
SUFFIXES = {".md": "markdown", ".tex": "latex", ".ipynb": "notebook", ".html": "html"}
FORMATS = tuple(SUFFIXES.values())


def arguments(parser: Parser) -> None:
    """Add the robot, the method, the format and the file."""
    robot_arguments(parser)
    parser.add_argument(
        "--method", metavar="|".join(METHODS), required=True, help="the method, or all"
    )
    parser.add_argument(
        "--format",
        metavar="|".join(FORMATS),
        help=(
            "the format (default: by the suffix of the file, else markdown); html needs"
            " latex2mathml"
        ),
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the file to write (default: standard output)"
    )


def run(options: Namespace) -> int:
    """Write or print the document."""
    from symgen.pages.derivation import derive, written
    from symgen.support.files import write_file

    nearest(options.method, METHODS, "method to derive")
    format = _format(options.format, options.output)
    mechanism = read_mechanism(options)
    say_notes(mechanism, options.robot)
    with Progress() as progress:
        document = derive(mechanism, options.method, progress, options.robot)
    text = written(document, format)
    if options.output is None:
        print(text, end="")
    else:
        path = Path(options.output)
        try:
            write_file(path, text.encode())
        except OSError as error:
            raise RequestError(
                f"cannot write '{path}': {error.strerror or error}; choose another file with -o"
            ) from None
        account(options, str(path))
    return 0 if document.holds else 1


def _format(format: str | None, output: str | None) -> str:
    """Return the format by its name, or by the suffix of the file.

    RequestError if the suffix is that of another format than the one named.
    """
    by_suffix = None if output is None else SUFFIXES.get(Path(output).suffix.lower())
    if format is None:
        if output is not None and by_suffix is None:
            raise RequestError(
                f"the name of '{output}' ends in no suffix of a format; use {', '.join(SUFFIXES)},"
                " or name the format with --format"
            )
        return by_suffix or "markdown"
    named = nearest(format, FORMATS, "format")
    if by_suffix not in (None, named):
        raise RequestError(
            f"'{output}' has the suffix of the format {by_suffix}, and --format is {named}; rename"
            " the file, or leave --format out"
        )
    return named
