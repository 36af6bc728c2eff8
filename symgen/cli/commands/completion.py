"""`symgen completion`: print a completion script for a shell, made by the package shtab."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli import commands
from symgen.cli.commands import Parser, add_verbosity
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.names import nearest

SUMMARY = "print a completion script for bash, zsh, tcsh or fish"
EPILOG = """examples:
  symgen completion bash > ~/.local/share/bash-completion/completions/symgen
  symgen completion zsh > ~/.zfunc/_symgen"""
SHELLS = ("bash", "zsh", "tcsh", "fish")


def arguments(parser: Parser) -> None:
    """Add the shell."""
    parser.add_argument("shell", metavar="SHELL", help=", ".join(SHELLS))


def run(options: Namespace) -> int:
    """Print the script. RequestError if shtab is not installed."""
    nearest(options.shell, SHELLS, "shell")
    try:
        import shtab
    except ModuleNotFoundError:
        raise RequestError(
            "completion needs the package shtab; install it with pip install 'symgen[completion]'"
        ) from None
    print(shtab.complete(whole_parser(), shell=options.shell))
    return 0


def whole_parser() -> Parser:
    """Return one parser of all commands, with choices where an option has a fixed set of values."""
    import shtab

    parser = Parser(prog="symgen")
    of_commands = parser.add_subparsers(dest="command")
    for name in commands.NAMES:
        command = commands.find(name)
        of_command = of_commands.add_parser(name, help=command.SUMMARY)
        command.arguments(of_command)
        add_verbosity(of_command)
        for action in of_command._actions:
            # argparse's actions declare no `complete`; shtab reads it.
            metavar = action.metavar if isinstance(action.metavar, str) else ""
            if metavar.startswith("FUNCTION"):
                action.choices = tuple(FUNCTIONS)
            elif "|" in metavar:
                action.choices = [word for word in metavar.split("|") if word.islower()]
            elif metavar == "SHELL":
                action.choices = SHELLS
            elif metavar in ("ROBOT", "FILE", "FILE.html", "NAME=DIR"):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return parser
