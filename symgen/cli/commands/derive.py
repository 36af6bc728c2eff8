"""`symgen derive`: re-derive a paper for one robot, equation by equation."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import account, read, robot_arguments, say_notes
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

SUMMARY = "re-derive a paper for a robot: its equations, this robot's instances, exact checks"
EPILOG = """\
Every numbered equation of the paper is written in its general form, with this robot's operators in canonical form, an exact
check of both sides, and the lines of the generated C. Methods and papers: riccati (Rodriguez & Kreutz), udut (Saha), fixman
(Lee & Chirikjian for planar point masses, else Wang & Chirikjian), constraint_force (Fijany & Featherstone); all: the
factorizations of the mass matrix side by side. Exit code: 0 if every equation holds, 1 otherwise."""
METHODS = ("riccati", "udut", "fixman", "constraint_force", "all")
FORMATS = ("markdown", "latex", "notebook", "html")


def arguments(parser: Parser) -> None:
    """Add the robot, the method, the format and the file."""
    robot_arguments(parser)
    parser.add_argument(
        "--method", metavar="|".join(METHODS), required=True, help="the method, or all"
    )
    parser.add_argument(
        "--format",
        metavar="|".join(FORMATS),
        help="the format (default: by the suffix of the file, else markdown); html needs latex2mathml",
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
    mechanism = read(options)
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
    """Return the format by its name, or by the suffix of the file."""
    if format is not None:
        return nearest(format, FORMATS, "format")
    suffixes = {".md": "markdown", ".tex": "latex", ".ipynb": "notebook", ".html": "html"}
    if output is None:
        return "markdown"
    suffix = Path(output).suffix
    if suffix not in suffixes:
        raise RequestError(
            f"no format has the suffix '{suffix}' of '{output}'; use {', '.join(suffixes)}, or name the format with --format"
        )
    return suffixes[suffix]
